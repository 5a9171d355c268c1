"""The Python array API standard over symbols, as ``sd.xp``: code that is written for it gives formulas.

Arrays answer ``__array_namespace__`` with this module, so that functions which ask their arrays for a namespace run
on symbols as they are. What a function of the standard needs numbers for (positions, distinct values, truth) it
computes of arrays made of numbers alone, and refuses of symbols, by name. docs/array_api.md lists the exceptions.

Takes
    symbols, numbers and arrays of them, with the arguments of the standard
Gives
    :class:`~symdiff.frontend.array.Array`, or tuples of it
Invariants
    * A function has the standard's signature; what it means is a row of the library.
    * Every function of the standard is there, or refused by name with what to write instead.
    * Numbers are of double precision in a formula, whichever dtype they are called by.
Files
    calls        calls of the library
    elementwise  functions of each element, one row each
    creation     arrays of numbers or symbols
    dtypes       dtypes, promotion, inspection
    shaping      elements moved, and taken by position
    searching    positions, order, sets, statistics
    linalg       linear algebra, also as the extension
    special      special functions, for SciPy
Add
    a function: a row of ``elementwise``, or a function in one of the other files and in its table

Examples
--------
>>> import symdiff as sd
>>> def spread(x):
...     xp = x.__array_namespace__()
...     return xp.sqrt(xp.mean((x - xp.mean(x)) ** 2))
>>> spread(sd.vector("x", 3)).shape
()
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...errors import AbsentError
from ...frontend.numpy.operands import STANDARD
from ...ground.advice import REFUSED, advice
from ...ground.guard import guarded
from . import creation, dtypes, elementwise, linalg, searching, shaping, special

_COMPLEX = "complex numbers are not offered; write the real and the imaginary part as two arrays"

#: What the standard has and this namespace has not, and what to write instead.
ABSENT = {
    "bitwise_left_shift": "numbers have no bits; write x * 2.0**n",
    "bitwise_right_shift": "numbers have no bits; write xp.floor(x / 2.0**n)",
    "complex64": _COMPLEX,
    "complex128": _COMPLEX,
    "fft": REFUSED["fft"],
    "nextafter": "a step of rounding has no derivative; take it of numbers, before the call",
}

CONSTANTS = {"e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "pi": math.pi}

#: Functions of the standard, by the chapters in which it has them.
CHAPTERS: dict[str, dict[str, Callable[..., Any]]] = {
    "element by element": elementwise.FUNCTIONS,
    "creation": creation.FUNCTIONS,
    "dtypes": dtypes.FUNCTIONS,
    "shapes and positions": shaping.FUNCTIONS,
    "searching, sorting, statistics": searching.FUNCTIONS,
    "linear algebra": linalg.FUNCTIONS,
}

_NAMES: dict[str, Any] = {
    "linalg": linalg,
    "special": special,
    "__array_api_version__": STANDARD[-1],
    **CONSTANTS,
    **dtypes.DTYPES,
    **{name: guarded(function) for chapter in CHAPTERS.values() for name, function in chapter.items()},
}


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return _NAMES[name]
    raise AbsentError(f"symdiff.xp has no {name!r}{advice(name, ABSENT, _NAMES)}")


def __dir__() -> list[str]:
    return sorted(_NAMES)
