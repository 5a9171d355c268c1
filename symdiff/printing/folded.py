"""Numbers that the parser computes from text, so that none is written which it refuses.

Text such as ``2 / 0`` and ``1e300 * 1e300`` is refused, as a slip of the pen. A formula may come to it all the same,
by ``2 / radians(0)``, and is then written by calls, ``divide(2, 0)``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from .notation import Term

_OPERATORS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_CALLS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}


class Folded:
    """The numbers of the terms written so far, by the terms' ids."""

    def __init__(self) -> None:
        self.numbers: dict[int, float] = {}

    def note(self, term: Term, value: float | None) -> None:
        """Keep the number that the parser makes of a term; None where it makes none."""
        if value is not None:
            self.numbers[id(term)] = value

    def of(self, term: Term) -> float | None:
        """Return the number that the parser makes of a term."""
        return self.numbers.get(id(term))

    def both(self, a: Term, b: Term) -> bool:
        """Tell whether the parser would compute with two terms."""
        return id(a) in self.numbers and id(b) in self.numbers

    def join(
        self, symbol: str, left: tuple[str, float | None], right: tuple[str, float | None], plain: str
    ) -> tuple[str, float | None]:
        """Return two texts joined by an operator, and the number of it; as a call where it would be refused.

        Parameters
        ----------
        symbol : {"+", "-", "*", "/"}
        left, right : tuple of str and float or None
            Texts as they stand beside the operator, and their numbers.
        plain : str
            Text on the right as an argument of a call.
        """
        (a, x), (b, y) = left, right
        if x is None or y is None:
            return f"{a} {symbol} {b}", None
        value = math.inf if symbol == "/" and y == 0 else _OPERATORS[symbol](x, y)
        refused = (symbol == "/" and y == 0) or (math.isfinite(x) and math.isfinite(y) and not math.isfinite(value))
        return (f"{_CALLS[symbol]}({a}, {plain})", None) if refused else (f"{a} {symbol} {b}", value)
