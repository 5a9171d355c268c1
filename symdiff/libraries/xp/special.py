"""Special functions by SciPy's names, as ``xp.special``: where SciPy looks for those of an array's own library."""

from __future__ import annotations

from typing import Any

from ...errors import AbsentError
from ...frontend.numpy.library import LIBRARY
from ...frontend.symbols import function
from ...graph.scalars.compositions import COMPOSED
from ...graph.scalars.functions import FUNCTIONS
from ...ground.advice import advice

#: Functions of each element, which mean the same wherever they are asked for.
NAMES = frozenset(name for name, entry in LIBRARY.items() if entry.name in FUNCTIONS or entry.name in COMPOSED)


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return function(name)
    raise AbsentError(f"xp.special has no {name!r}{advice(name, {}, NAMES)}")


def __dir__() -> list[str]:
    return sorted(NAMES)
