"""Ranges of a loop's index, whose ends may be sizes that are known at call time only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ...graph.sizes import Dim, Size, named

__all__ = ["LEAST", "Range", "cut", "sign"]

#: A half-open range of indices.
Range: TypeAlias = tuple[Dim, Dim]

#: The least number of each symbolic size for which cuts are in the order that :func:`sign` finds.
LEAST = 16


def sign(size: Dim) -> int:
    """Return 1 for a size that is never negative, -1 for one that always is, 0 if that depends.

    Symbolic sizes count as at least :data:`LEAST`: each is that and something more, and if a
    polynomial in what is more has no negative coefficient, it is never negative.
    """
    if isinstance(size, int):
        return 1 if size >= 0 else -1
    total: Dim = 0
    for names, coefficient in size.terms:
        term: Dim = coefficient
        for name in names:
            term = term * (named(name) + LEAST)
        total = total + term
    coefficients = [c for _, c in total.terms] if isinstance(total, Size) else [total]
    constant = next((c for m, c in total.terms if not m), 0) if isinstance(total, Size) else total
    if all(c >= 0 for c in coefficients):
        return 1
    return -1 if all(c <= 0 for c in coefficients) and constant < 0 else 0


def cut(ranges: list[Range], places: Sequence[Dim], most: int = 32) -> list[Range]:
    """Cut adjoining ranges at those of ``places`` that stand within one of them; stop when there are too many."""
    result: list[Range] = []
    todo = [(part, list(dict.fromkeys(places))) for part in ranges[::-1]]
    while todo:
        (low, high), within = todo.pop()
        inside = [at for at in within if sign(at - low - 1) == 1 and sign(high - at - 1) == 1]
        if inside and len(result) + len(todo) + 2 <= most:
            todo += [((inside[0], high), inside), ((low, inside[0]), inside)]
        else:
            result.append((low, high))
    return result
