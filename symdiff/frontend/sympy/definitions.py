"""A formula as definitions and a result: what SymPy can hold of a deep formula."""

from __future__ import annotations

from typing import Any, NamedTuple


class Definitions(NamedTuple):
    """A formula too deep or too much shared for one SymPy expression.

    Attributes
    ----------
    definitions : tuple of (symbol, expression)
        In order: each may use those before it.
    result : sympy expression
        In terms of the symbols.

    Examples
    --------
    >>> import sympy
    >>> x, t1 = sympy.symbols("x t1")
    >>> print(Definitions(((t1, x + 1),), t1**2))
    t1 = x + 1
    t1**2
    """

    definitions: tuple[tuple[Any, Any], ...]
    result: Any

    def __str__(self) -> str:
        return "\n".join([*(f"{symbol} = {value}" for symbol, value in self.definitions), str(self.result)])

    def __repr__(self) -> str:
        return f"<symdiff.Definitions of {len(self.definitions)} symbols and a result>\n{self}"
