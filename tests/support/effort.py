"""How much work something is, counted and not timed: a count is the same on every machine and under any load."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import symdiff
from symdiff.graph import traversal as walk

#: Whether the passes run from their Python sources; calls inside compiled ones are seen by nobody.
FROM_SOURCES = Path(walk.__file__).suffix == ".py"


def stale() -> list[str]:
    """Return the modules whose compiled form, which is what is imported, is older than their source."""
    kinds = ["*.pyx"] if FROM_SOURCES else ["*.py", "*.pyx"]
    sources = [source for kind in kinds for source in Path(symdiff.__file__).parent.rglob(kind)]
    pairs = [(source, source.with_suffix(suffix)) for source in sources for suffix in EXTENSION_SUFFIXES]
    compiled = [(source, built.stat().st_mtime) for source, built in pairs if built.exists()]
    read = [(part, made) for source, made in compiled for part in (source, source.with_suffix(".pxd")) if part.exists()]
    return [part.name for part, made in read if made < part.stat().st_mtime]


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
