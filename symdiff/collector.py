"""A pause of Python's cyclic garbage collector while a graph is built or rewritten.

Nodes hold their arguments and nothing holds a node back, so there are no cycles to find; yet
a growing graph makes the collector walk all of it again and again, which more than doubles
the time of every pass over 10⁵ nodes. Reference counting goes on as ever.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_lock = threading.Lock()
_depth = 0
_was_enabled = False


def paused(function: Callable[P, T]) -> Callable[P, T]:
    """Run ``function`` with the collector paused; calls may nest, in several threads."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        _enter()
        try:
            return function(*args, **kwargs)
        finally:
            _leave()

    return run


def _enter() -> None:
    global _depth, _was_enabled
    with _lock:
        if _depth == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _depth += 1


def _leave() -> None:
    global _depth
    with _lock:
        _depth -= 1
        if _depth == 0 and _was_enabled:
            gc.enable()
