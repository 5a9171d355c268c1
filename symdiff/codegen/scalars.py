"""What scalar C and scalar Cython write alike: arithmetic, the functions of C's library, numbers.

Each adds the forms of its own to these: C has other words for logic than Cython, and needs casts that Cython does not.
"""

from __future__ import annotations

import math

from ..graph.scalars.functions import FUNCTIONS
from ..lowering.program import SIGNATURES

__all__ = ["ARITHMETIC", "LIBM", "literal"]

#: Operations that are operators in both languages.
ARITHMETIC = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "negative": "-{}",
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "equal": "{} == {}",
    "not_equal": "{} != {}",
}

#: Operations by the names that C's mathematical library has for them.
LIBM = {
    **{op: op for op in ("sqrt", "floor", "ceil", "rint", "trunc", "copysign", "fma")},
    **{row.c: row.vector for row in FUNCTIONS.values() if row.vector and row.c in SIGNATURES},
    "abs": "fabs",
    "gamma": "tgamma",
    "lgamma": "lgamma",
}


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
