"""How many threads a call may take when its kernel does not say: one, unless the user asks for more.

NumPy's own functions run in one thread, programs that use several processes or threads of
their own count on that, and a batch of small kernels gains nothing; so more threads are asked
for: in ``compile(..., threads=2)``, by ``SYMDIFF_NUM_THREADS``, or by ``set_num_threads``, here
or through threadpoolctl. Threads wait a second for the next call and then leave; at a fork and
when the process ends they leave at once. Results have the same bits with any number of them.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import warnings
from functools import cache
from importlib import import_module
from typing import Any

from ..._kernels import unit
from ...errors import ArgumentError

__all__ = ["get_num_threads", "register", "set_num_threads"]


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
