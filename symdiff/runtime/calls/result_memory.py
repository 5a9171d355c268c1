"""Memory of results when a call has no ``out=``: large results reuse memory freed by earlier results.

A system clears every page that it gives to a process, which takes longer than most kernels take
to fill it; a loop of ``y = kernel(x)`` gets the same two blocks again and again instead. What is
kept is bounded, by 512 MB and an eighth of the machine's memory or by ``SYMDIFF_RESULT_MEMORY``
in megabytes (0 for nothing), and marked as free to be taken back by the system when it is short.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._kernels import call
from ...errors import LimitError
from ...graph.sizes import Shape, fixed, show

__all__ = ["empty", "refuse_beyond_memory"]

MEGABYTE = 1 << 20
#: What is kept unless the environment says otherwise: so many bytes, and such a part of the machine's memory.
MOST, PART = 512 * MEGABYTE, 8


def empty(shapes: Sequence[tuple[int, ...]], dtype: npt.DTypeLike) -> list[npt.NDArray[np.floating[Any]]]:
    """Return arrays of float64 or float32 for the results of one call, whose numbers are to be written."""
    return call.empty(shapes, dtype == np.float32)


def limit() -> int:
    """Return how many bytes are kept, by the environment and the machine."""
    wish = os.environ.get("SYMDIFF_RESULT_MEMORY", "").strip()
    if wish:
        if wish.isascii() and wish.isdigit():
            return min(int(wish), 1 << 40) * MEGABYTE
        warnings.warn(
            f"SYMDIFF_RESULT_MEMORY={wish!r} is no number of megabytes; it is left out", RuntimeWarning, stacklevel=2
        )
    return min(MOST, _memory() // PART)


def refuse_beyond_memory(names: Sequence[str], shapes: Sequence[Shape]) -> None:
    """Refuse a dense result of one sample that takes over half of the machine's memory.

    Raises
    ------
    LimitError
    """
    for name, shape in zip(names, shapes, strict=True):
        needed, there = 8 * math.prod(fixed(shape) or ()), _memory()
        if needed > max(there // 2, MOST):
            raise LimitError(
                f"{name} of shape {show(shape)} needs {needed / 1e9:.0f} GB in each call, over half of this machine's "
                f"{there / 1e9:.0f}; where most of a Jacobian or Hessian is 0, pass sparse='csr' to compute and store "
                "the others alone"
            )


def _memory() -> int:
    """Return the bytes of memory that the machine has, where it tells."""
    try:
        return math.prod(map(os.sysconf, ("SC_PAGE_SIZE", "SC_PHYS_PAGES")))
    except (AttributeError, OSError, ValueError):
        return MOST


call.keep_memory(limit())
