"""Equations that follow from the table of scalar functions: functions of their inverses, and exact values.

``tan(arctan(x))`` is x wherever it has a value, and has one everywhere. ``sin(arcsin(x))`` has none beyond 1, where x
has one: in its place x is only differentiated.
"""

from __future__ import annotations

from ...graph.scalars.functions import FUNCTIONS, Function
from ..equations import Identity


def _of_inverse(row: Function) -> Identity:
    inner = FUNCTIONS[row.inverse]
    parameters = "".join(f"{letter}, " for letter in "ab"[: row.arity - 1])
    kind = "stability" if inner.total else "differentiated"
    return Identity(f"{row.name}({parameters}{inner.name}({parameters}x)) -> x", kind, source=inner.source)


PAGE = (
    *[_of_inverse(row) for row in FUNCTIONS.values() if row.inverse],
    *[
        Identity(f"{row.name}({argument!r}) -> {value!r}", "algebra", source=row.source)
        for row in FUNCTIONS.values()
        for argument, value in row.exact
    ],
)
