"""How much work something is, counted and not timed: a count is the same on every machine and under any load."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls(function: Callable[..., Any], *args: Any) -> tuple[int, Any]:
    """Return how many calls of Python and C functions ``function(*args)`` makes, and what it returns."""
    count = 0

    def see(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    sys.setprofile(see)
    try:
        result = function(*args)
    finally:
        sys.setprofile(None)
    return count, result
