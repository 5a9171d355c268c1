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
    functions  functions of the standard, by its chapters
    linalg     linear algebra, also as the extension
Add
    a function: a row of ``functions.ONE`` or ``functions.TWO``, or a function there and in the table of its chapter

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
from typing import TYPE_CHECKING, Any

from ...errors import AbsentError
from ...frontend.numpy.library import LIBRARY
from ...frontend.numpy.operands import STANDARD
from ...frontend.symbols import function as _operation
from ...graph.scalars.compositions import COMPOSED
from ...graph.scalars.functions import FUNCTIONS
from ...ground.advice import REFUSED, advice
from ...ground.guard import guarded
from . import functions, linalg

_COMPLEX = "complex numbers are not offered; write the real and the imaginary part as two arrays"

#: Functions of the standard that are not offered, and what to write instead.
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
    "element by element": functions.OF_ELEMENTS,
    "creation": functions.CREATION,
    "dtypes": functions.OF_DTYPES,
    "shapes and positions": functions.SHAPING,
    "searching, sorting, statistics": functions.SEARCHING,
    "linear algebra": linalg.FUNCTIONS,
}


class Special:
    """Special functions by SciPy's names, as ``xp.special``: SciPy asks there for those of an array's own library."""

    #: Functions of each element, which mean the same wherever they are asked for.
    names = frozenset(name for name, entry in LIBRARY.items() if entry.name in FUNCTIONS or entry.name in COMPOSED)

    @guarded
    def __getattr__(self, name: str) -> Any:
        if name in self.names:
            return _operation(name)
        raise AbsentError(f"xp.special has no {name!r}{advice(name, {}, self.names)}")

    def __dir__(self) -> list[str]:
        return sorted(self.names)


_NAMES: dict[str, Any] = {
    "linalg": linalg,
    "special": Special(),
    "__array_api_version__": STANDARD[-1],
    **CONSTANTS,
    **functions.DTYPES,
    **{name: guarded(function) for chapter in CHAPTERS.values() for name, function in chapter.items()},
}


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Functions of the array interface standard."""

else:

    @guarded
    def __getattr__(name):
        return _found(name)


def _found(name: str) -> Any:
    if name in _NAMES:
        return _NAMES[name]
    raise AbsentError(f"symdiff.xp has no {name!r}{advice(name, ABSENT, _NAMES)}")


def __dir__() -> list[str]:
    return sorted(_NAMES)
