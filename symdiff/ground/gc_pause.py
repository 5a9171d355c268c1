"""A pause of Python's cyclic garbage collector while a graph is built or rewritten, and what is noted meanwhile.

Nodes hold their arguments and nothing holds a node back, so there are no cycles to find; yet
a growing graph makes the collector walk all of it again and again, which more than doubles
the time of every pass over 10⁵ nodes. Reference counting goes on as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

from .._kernels.system.scopes import pausing

T = TypeVar("T")
A = TypeVar("A")

_notes: ContextVar[dict[Any, Any] | None] = ContextVar("symdiff_notes", default=None)
_MISSING = object()

#: A decorator: the function runs with the collector paused. Calls may nest, in several threads.
paused = pausing(_notes)


def notes() -> dict[Any, Any]:
    """Return what rules have noted since the outermost pause of this context began; a new dict outside of one.

    Nodes hold no notes of what is only found out for a while, and a table of them would keep nodes alive.
    """
    found = _notes.get()
    return {} if found is None else found


def noted(function: Callable[[A], T]) -> Callable[[A], T]:
    """Have a function of a node note what it finds: a part of many terms is asked for in each of them."""

    @wraps(function)
    def run(node: A) -> T:
        found = _notes.get()
        if found is None:
            return function(node)
        known = found.get(function)
        if known is None:
            known = found[function] = {}
        result = known.get(node, _MISSING)
        if result is _MISSING:
            result = known[node] = function(node)
        return result  # type: ignore[no-any-return]

    return run
