"""Where the arrays between steps are in memory, and how many samples a tile has."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from . import bound

__all__ = ["BoundPlan", "arrays_of", "lay_out"]

#: Bytes of the arrays of one tile of samples, and the least and the most samples of one.
CACHE, FEWEST, MOST = 1 << 19, 64, 1 << 14
#: Bytes beyond which a tile has fewer samples than that.
ROOM = 1 << 23
#: Bytes to which arrays are aligned.
LINE = 64


class BoundPlan(NamedTuple):
    """A plan with numbers for its sizes.

    Parameters
    ----------
    arrays : tuple of PlanArray
    steps : tuple of BoundStep
    tile : int
        Samples of a tile.
    tile_bytes, kept_bytes : int
        Of the arrays of one tile, and of those that a whole call keeps.
    """

    arrays: tuple[bound.PlanArray, ...]
    steps: tuple[bound.BoundStep, ...]
    tile: int
    tile_bytes: int
    kept_bytes: int


def lay_out(
    arrays: Sequence[bound.PlanArray], steps: Sequence[bound.BoundStep], item: int, wide: Collection[int]
) -> BoundPlan:
    """Give each array of the arena its place: those of a tile share memory when they are not alive together.

    Parameters
    ----------
    arrays : sequence of PlanArray
        Those of the arena have no place yet.
    steps : sequence of BoundStep
        In the order in which they run.
    item : int
        Bytes of a number of the plan.
    wide : collection of int
        Arrays of float64 in any plan.
    """

    def row_bytes(number: int) -> int:
        array = arrays[number]
        own = 4 if array.integer else 8 if number in wide else item
        return own * math.prod(array.shape[1:] if array.tiled else array.shape)

    arena = [number for number, array in enumerate(arrays) if array.kind == bound.ARENA]
    rows = sum(row_bytes(number) for number in arena if arrays[number].tiled)
    tile = MOST
    if rows:
        tile = max(FEWEST, min(MOST, CACHE // rows // LINE * LINE))
        tile = max(1, min(tile, ROOM // rows))
    lives = _lives(arrays, steps)
    kept = top = 0
    taken: list[tuple[int, int, int, int]] = []  # offset, bytes, first and last step of arrays that have a place
    placed = list(arrays)
    for number in sorted(arena, key=lambda number: lives.get(number, (0, 0))[0]):
        array = arrays[number]
        if not array.tiled:
            placed[number] = array._replace(number=kept)
            kept += _aligned(row_bytes(number))
            continue
        length = _aligned(tile * row_bytes(number))
        offset = _place(taken, length, lives.get(number, (0, 0)))
        taken.append((offset, length, *lives.get(number, (0, 0))))
        top = max(top, offset + length)
        placed[number] = array._replace(number=offset, shape=(tile, *array.shape[1:]))
    return BoundPlan(tuple(placed), tuple(steps), tile, top, kept)


def _place(taken: Sequence[tuple[int, int, int, int]], length: int, life: tuple[int, int]) -> int:
    """Return the first place where an array fits beside those that are alive with it."""
    offset = 0
    for start, own, first, last in sorted(taken):
        if first <= life[1] and life[0] <= last and offset < start + own and start < offset + length:
            offset = start + own
    return offset


def _lives(arrays: Sequence[bound.PlanArray], steps: Sequence[bound.BoundStep]) -> dict[int, tuple[int, int]]:
    """Return the first and the last step that has each array."""
    lives: dict[int, tuple[int, int]] = {}
    for at, step in enumerate(steps):
        for number in arrays_of(step):
            first, _ = lives.get(number, (at, at))
            # positions are never where numbers may be: the executor relies on them
            lives[number] = (0, len(steps)) if arrays[number].integer else (first, at)
    for at, step in reversed([*enumerate(steps)]):
        if isinstance(step, bound.RepeatStep) and step.tiled:
            _keep(lives, step, at)
    return lives


def _keep(lives: dict[int, tuple[int, int]], step: bound.RepeatStep, at: int) -> None:
    """Keep what all turns of a loop read for all of it, and what changes places as long as either is used."""
    end = at + step.span
    for number in (*step.results, *step.held, *(number for pair in step.swaps for number in pair)):
        first, last = lives.get(number, (at, at))
        lives[number] = min(first, at), max(last, end)
    for number, (first, last) in lives.items():
        if first < at <= last < end:
            lives[number] = first, end


def _aligned(length: int) -> int:
    return (length + LINE - 1) // LINE * LINE


def arrays_of(step: bound.BoundStep) -> list[int]:
    """Return the arrays that a step reads or writes."""
    if isinstance(step, bound.ProgramStep):
        return [view.array for view in (*step.inputs, *step.outputs)]
    if isinstance(step, bound.ProductStep):
        return [step.a.array, step.b.array, step.c.array]
    if isinstance(step, bound.FactorStep):
        return [step.a, step.factor, step.pivots, step.state]
    if isinstance(step, bound.FactorUse):
        return [array for array in (step.a, step.factor, step.pivots, step.state, step.b, step.c) if array >= 0]
    if isinstance(step, bound.RoutineStep):
        return [array for array in (step.a, step.b, step.c) if array >= 0]
    if isinstance(step, bound.CallStep):
        return [*step.inputs, step.output]
    if isinstance(step, bound.RepeatStep | bound.BlockStep):
        return []  # what it moves and keeps lives as long as all of it; arrays outside tiles share no memory
    if isinstance(step, bound.FillStep):
        return [step.output.array]
    return [step.input.array, step.output.array]
