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


class _Pause:
    """Which calls want the collector paused, and whether it was on before the first."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.calls: set[object] = set()
        self.was_enabled = False

    def begin(self, call: object) -> None:
        with self.lock:
            if not self.calls:
                self.was_enabled = gc.isenabled()
            self.calls.add(call)
            gc.disable()

    def end(self, call: object) -> None:
        """End the pause of a call, which an interruption may have kept from beginning."""
        with self.lock:
            self.calls.discard(call)
            if not self.calls and self.was_enabled:
                gc.enable()


_pause = _Pause()


def paused(function: Callable[P, T]) -> Callable[P, T]:
    """Run ``function`` with the collector paused; calls may nest, in several threads."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        call = object()
        try:
            _pause.begin(call)
            return function(*args, **kwargs)
        finally:
            _pause.end(call)

    return run
