"""Arithmetic on the plain numbers of a formula, with bounds.

``2**10``, ``-1`` and ``1/3`` are numbers before they are arrays: an index or an exponent may
be written so. Whole numbers stay whole, as in Python, and Python would spend hours on
``10**10**8``; here the size of a result is known before the result is computed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TypeAlias

from ...errors import LimitError, ParseError
from ...ground.limits import Limits

Number: TypeAlias = int | float

_EXACT = 2**53  # beyond it not every whole number is a double

#: Operators that take two numbers to a number.
ARITHMETIC: dict[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


def folds(symbol: str) -> bool:
    """Tell whether the operator takes two numbers to a number here."""
    return symbol in ARITHMETIC


def fold(symbol: str, a: Number, b: Number, limits: Limits) -> Number:
    """Compute ``a symbol b``.

    Raises
    ------
    LimitError
        If finite numbers give one beyond the range of a double.
    ParseError
        If they divide by zero, or give a complex number.

    Examples
    --------
    >>> from symdiff.ground.limits import LIMITS
    >>> fold("**", 2, 10, LIMITS)
    1024
    """
    if symbol == "**":
        _check_power(a, b, limits)
    if symbol in {"/", "//", "%"} and b == 0:
        raise ParseError(f"a division of numbers by zero, {a:.6g} {symbol} 0")
    try:
        result = ARITHMETIC[symbol](a, b)
        finite = math.isfinite(result)
    except OverflowError:
        finite = False
    if not finite and math.isfinite(a) and math.isfinite(b):
        raise LimitError(f"{a:.6g} {symbol} {b:.6g} is beyond the range of a double, about 1e308")
    return result


def _check_power(a: Number, b: Number, limits: Limits) -> None:
    if a == 0 and b < 0:
        raise ParseError(f"a division of numbers by zero, 0 ** {b:.6g}")
    if a < 0 and not float(b).is_integer() and math.isfinite(b):
        raise ParseError(f"{a:.6g} ** {b:.6g} is complex; complex numbers are not offered")
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1 and b * math.log2(abs(a)) > limits.integer_bits:
        raise LimitError(f"{a:.6g} ** {b:.6g} is beyond the range of a double, about 1e308")


def as_operand(number: Number) -> Number:
    """Return ``number`` as it may meet an array: whole only where a double holds it exactly."""
    return number if isinstance(number, float) or -_EXACT <= number <= _EXACT else float(number)
