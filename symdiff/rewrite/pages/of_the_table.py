"""Equations that follow from the table of scalar functions: inverses, logarithms, parity and exact values.

``tan(arctan(x))`` is x wherever it has a value, and has one everywhere. ``sin(arcsin(x))`` has none beyond 1, where x
has one: in its place x is only differentiated.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...graph.scalars.arithmetic import ARITHMETIC, PRODUCTS
from ...graph.scalars.functions import FUNCTIONS, Function
from ..equations import Identity
from ..rewriter import NUMBERS

_LETTERS = "xyzw"


def _of_inverse(row: Function) -> Identity:
    inner = FUNCTIONS[row.inverse]
    parameters = "".join(f"{letter}, " for letter in "ab"[: row.arity - 1])
    kind = "stability" if inner.total else "differentiated"
    text, ops = f"{row.name}({parameters}{inner.name}({parameters}x)) -> x", (row.name, inner.name)
    return Identity(text, kind, source=inner.source, ops=ops)


def _of_logarithm(row: Function) -> Identity:
    letters = ", ".join(_LETTERS[: row.arity])
    text, ops = f"log({row.name}({letters})) -> {row.logarithm}({letters})", ("log", row.name)
    return Identity(text, "stability", source=row.source, ops=ops)


def _of_parity(row: Function) -> Iterator[Identity]:
    for place, parity in enumerate(row.parity):
        if parity:
            letters = list(_LETTERS[: row.arity])
            plain = f"{row.name}({', '.join(letters)})"
            letters[place] = f"-{letters[place]}"
            sign = "-" if parity == "odd" else ""
            text = f"{row.name}({', '.join(letters)}) -> {sign}{plain}"
            yield Identity(text, "algebra", source=row.source, ops=(row.name, *sorted(PRODUCTS)))


def _of_values(row: Function) -> Iterator[Identity]:
    known = [(0.0, row.at_zero[0])] if row.at_zero else []
    for argument, value in (*known, *row.exact):
        if not (4.0 * value).is_integer():
            continue  # no number that books print
        text = f"{row.name}({argument:.17g}) -> {value:.17g}"
        yield Identity(text, "algebra", source=row.source, ops=(row.name, *NUMBERS))


PAGE = tuple(
    identity
    for row in FUNCTIONS.values()
    if row.name not in ARITHMETIC
    for identity in (
        *([_of_inverse(row)] if row.inverse else []),
        *([_of_logarithm(row)] if row.logarithm else []),
        *_of_parity(row),
        *_of_values(row),
    )
)
