"""What scalar C and scalar Cython write alike: arithmetic, functions, numbers.

Each adds the forms of its own to these: C has other words for logic than Cython, and needs casts that Cython does not.
Functions that C's library lacks are the package's own, as portable C: no compiler's builtins, attributes or vectors.
Numbers in them are decimal, since C++ had no hexadecimal ones before 2017.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache

from ..graph.scalars.functions import FUNCTIONS
from ..lowering.program import SIGNATURES
from .c.texts import SCALAR, kernel_text

__all__ = ["ARITHMETIC", "LIBM", "LIBRARY", "OWN", "literal", "text_of"]

#: Operations that are operators in both languages.
ARITHMETIC = {"negative": "-{}", **{op: f"{{}} {row.infix} {{}}" for op, row in FUNCTIONS.items() if row.infix}}

_INSTRUCTIONS = {row.c: row.instruction for row in FUNCTIONS.values() if row.instruction}

#: Operations by the names that C's mathematical library has for them.
LIBM = {
    **{op: name for op, name in _INSTRUCTIONS.items() if not name.startswith("sd_")},
    **{op: op for op in ("copysign", "fma")},
    **{row.c: row.vector for row in FUNCTIONS.values() if row.vector and row.c in SIGNATURES},
    "abs": "fabs",
    "exponent": "logb",
    "gamma": "tgamma",
    "lgamma": "lgamma",
}

#: Operations by the package's own functions.
OWN = {
    **{op: f"sd_{op}" for op in ("minimum", "maximum", "fraction", "mod")},
    **{op: name for op, name in _INSTRUCTIONS.items() if name.startswith("sd_")},
    **{row.c: row.special for row in FUNCTIONS.values() if row.special},
}

#: Operations by SciPy's functions, which Cython alone can call.
LIBRARY = {row.c: row.library for row in FUNCTIONS.values() if row.library}


def text_of(functions: Iterable[str]) -> str:
    """Return some of the package's own functions as C, each behind those that it calls.

    Examples
    --------
    >>> print(text_of(["sd_minimum"]).strip())
    /* The smaller number; nan is kept, as NumPy keeps it. */
    static double sd_minimum(double a, double b) { return a <= b || a != a ? a : b; }
    """
    wanted = set(functions)
    pieces = _pieces()
    for name in reversed(pieces):
        if name in wanted:
            wanted.update(other for other in pieces if re.search(rf"\b{other}\(", pieces[name]))
    text = "".join(pieces[name] for name in pieces if name in wanted)
    return f"#define SD_PI {math.pi!r}\n\n{text}" if "SD_PI" in text else text


@cache
def _pieces() -> dict[str, str]:
    """Return the package's functions of numbers, each with the comment before it, by name and in order."""
    text = "\n".join(map(kernel_text, SCALAR))
    text = text.replace("__attribute__((unused)) ", "").replace('__builtin_nan("")', "(double)NAN")
    text = re.sub(r"__builtin_(\w+)", r"\1", text.replace("__builtin_inf()", "(double)INFINITY"))
    text = re.sub(r"\b0x1\.[0-9a-f]+p[-+]?[0-9]+", lambda match: repr(float.fromhex(match[0])), text)
    found: dict[str, str] = {}
    for paragraph in re.split(r"\n{2,}(?=/\*)", text):
        name = re.search(r"^static (?:double|void) (\w+)\(", paragraph, re.MULTILINE)
        if name is not None:
            found[name[1]] = paragraph.strip("\n") + "\n\n"
    return found


def literal(x: float, cast: str = "") -> str:
    """Print a number that a compiler reads back as the same double.

    Parameters
    ----------
    x : float
    cast : str
        What stands before the macros of C's library, which may be of type float.

    Examples
    --------
    >>> literal(0.1), literal(-2.0), literal(float("inf"), "(double)")
    ('0.1', '(-2.0)', '(double)INFINITY')
    """
    if math.isnan(x):
        return f"{cast}NAN"
    if math.isinf(x):
        return f"{cast}INFINITY" if x > 0 else f"(-{cast}INFINITY)"
    return repr(x) if math.copysign(1.0, x) > 0 else f"({x!r})"
