"""A pause of Python's cyclic garbage collector while a graph is built or rewritten, and what is noted meanwhile.

Nodes hold their arguments and nothing holds a node back, so there are no cycles to find; yet
a growing graph makes the collector walk all of it again and again, which more than doubles
the time of every pass over 10⁵ nodes. Reference counting goes on as ever.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar, TypeVarTuple

P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


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
_notes: ContextVar[dict[Any, Any] | None] = ContextVar("symdiff_notes", default=None)


def notes() -> dict[Any, Any]:
    """Return what rules have noted since the outermost pause of this context began; a new dict outside of one.

    Nodes hold no notes of what is only found out for a while, and a table of them would keep nodes alive.
    """
    found = _notes.get()
    return {} if found is None else found


def noted(function: Callable[[*Ts], T]) -> Callable[[*Ts], T]:
    """Have a function of nodes note what it finds: a part of many terms is asked for in each of them."""

    @wraps(function)
    def run(*args: *Ts) -> T:
        known = notes().setdefault(function, {})
        if args not in known:
            known[args] = function(*args)
        found: T = known[args]
        return found

    return run


def paused(function: Callable[P, T]) -> Callable[P, T]:
    """Run ``function`` with the collector paused; calls may nest, in several threads."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        call = object()
        outermost = _notes.get() is None
        try:
            if outermost:
                _notes.set({})
            _pause.begin(call)
            return function(*args, **kwargs)
        finally:
            _pause.end(call)
            if outermost:
                _notes.set(None)

    return run
