"""Ranges of a loop's index, whose ends may be sizes that are known at call time only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ....graph.sizes import Dim, sign

__all__ = ["Range", "cut"]

#: A half-open range of indices.
Range: TypeAlias = tuple[Dim, Dim]

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
