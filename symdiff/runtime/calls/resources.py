"""Threads of a call, one unless the user asks for more, and memory of its results, which later ones use again.

NumPy's own functions run in one thread, programs that use several processes or threads of
their own count on that, and a batch of small kernels gains nothing; so more threads are asked
for: in ``compile(..., threads=2)``, by ``SYMDIFF_NUM_THREADS``, or by ``set_num_threads``, here
or through threadpoolctl. Threads wait a second for the next call and then leave; at a fork and
when the process ends they leave at once. Results have the same bits with any number of them.

Large results without ``out=`` reuse memory freed by earlier results. A system clears every page that it gives to a
process, which takes longer than most kernels take to fill it; a loop of ``y = kernel(x)`` gets the same two blocks
again and again instead. What is kept is bounded, by 512 MB and an eighth of the machine's memory or by
``SYMDIFF_RESULT_MEMORY`` in megabytes (0 for nothing), and marked as free to be taken back by the system when it is
short.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._kernels import call, unit
from ...errors import ArgumentError, LimitError
from ...graph.sizes import Shape, fixed, show

__all__ = ["empty", "get_num_threads", "refuse_beyond_memory", "register", "set_num_threads"]


MEGABYTE = 1 << 20
#: Memory kept unless the environment says otherwise: so many bytes, and such a part of the machine's memory.
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


def get_num_threads() -> int:
    """Return the number of threads of calls whose kernels do not say how many."""
    return unit.get_num_threads()


def set_num_threads(count: int) -> None:
    """Set the number of threads of calls whose kernels do not say how many.

    Parameters
    ----------
    count : int
        At least 1. A call takes fewer where there is too little to do, and never more than 64.

    Raises
    ------
    ArgumentError
        If it is not a whole number of at least 1.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ArgumentError(f"{count!r} threads; expected a whole number of at least 1")
    unit.set_num_threads(min(count, 64))


def read_environment() -> None:
    """Take the number from ``SYMDIFF_NUM_THREADS``, if it is one; warn if it is something else."""
    wish = os.environ.get("SYMDIFF_NUM_THREADS", "").strip()
    if not wish:
        return
    if wish.isascii() and wish.isdigit() and int(wish) > 0:
        set_num_threads(int(wish))
    else:
        warnings.warn(f"SYMDIFF_NUM_THREADS={wish!r} is no number of threads; using 1", RuntimeWarning, stacklevel=2)


@cache
def register() -> None:
    """Let threadpoolctl see and limit the number, if it is installed; with the first kernel, as that takes time."""
    with contextlib.suppress(ImportError):
        threadpoolctl = import_module("threadpoolctl")
        # threadpoolctl has no types to derive from.
        threadpoolctl.register(type("SymdiffController", (threadpoolctl.LibController,), dict(_CONTROLLER)))


_CONTROLLER: dict[str, Any] = {
    "__doc__": "The threads of symdiff's kernels.",
    "user_api": "symdiff",
    "internal_api": "symdiff",
    # the compiled module's file; the symbol tells it from others of that name
    "filename_prefixes": ("unit.",),
    "check_symbols": ("symdiff_set_num_threads",),
    "get_num_threads": lambda self: self.dynlib.symdiff_get_num_threads(),
    "set_num_threads": lambda self, count: self.dynlib.symdiff_set_num_threads(count),
    "get_version": lambda self: None,
}

read_environment()
atexit.register(unit.end_threads)
