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
    """

    definitions: tuple[tuple[Any, Any], ...]
    result: Any
