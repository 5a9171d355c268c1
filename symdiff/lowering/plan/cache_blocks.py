"""Steps that run for one part of a long axis after the other, so that the arrays between them stay in the cache.

The forces of a million pairs are written and read again, once for each end of a pair. In parts of some thousand they
never leave the cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from . import bound
from .memory import arrays_of

__all__ = ["in_blocks"]

#: Bytes of the arrays between steps from which on parts are worth it.
LARGE = 1 << 18
#: Steps that may run in parts.
Part: TypeAlias = bound.ProgramStep | bound.ReduceStep | bound.GatherStep


def in_blocks(
    arrays: Sequence[bound.PlanArray], steps: Sequence[bound.BoundStep]
) -> tuple[list[bound.PlanArray], list[bound.BoundStep]]:
    """Put steps of one long axis in a block, where the arrays between them are large.

    Parameters
    ----------
    arrays : sequence of PlanArray
        None of them has a place yet.
    steps : sequence of BoundStep
        In the order in which they run.
    """
    new, order = list(arrays), list(steps)
    if any(step.tiled or isinstance(step, bound.RepeatStep) for step in steps):
        return new, order
    bytes_of: dict[int, int] = {}
    for array in arrays:
        if array.kind == bound.ARENA and array.shape:
            bytes_of[array.shape[0]] = bytes_of.get(array.shape[0], 0) + 8 * math.prod(array.shape)
    lengths = [length for length, size in bytes_of.items() if size > LARGE]  # of others nothing is worth it
    best: tuple[int, int, list[int], set[int]] = LARGE, 0, [], set()
    for length in lengths:
        inside, between = _block(arrays, steps, length)
        size = sum(8 * math.prod(arrays[number].shape) for number in between)
        best = max(best, (size, length, inside, between), key=lambda one: one[0])
    _, length, inside, between = best
    if not between:
        return new, order
    phase = max(steps[k].phase for k in inside)
    late = _behind(arrays, steps, inside)
    first = [k for k in range(len(steps)) if k not in late and k not in inside]
    body = [_tiled(steps[k], phase) for k in inside]
    for number in between:
        new[number] = arrays[number]._replace(tiled=True)
    block = bound.BlockStep(phase, False, len(body), length)
    return new, [*(steps[k] for k in first), block, *body, *(steps[k] for k in sorted(late))]


def _block(
    arrays: Sequence[bound.PlanArray], steps: Sequence[bound.BoundStep], length: int
) -> tuple[list[int], set[int]]:
    """Return the steps that may be in a block along axes of one length, and the arrays that only they have."""
    inside = [k for k, step in enumerate(steps) if isinstance(step, Part) and _goes_along(step, length)]
    while len(inside) > 1:
        own = set(inside)
        between = {
            number
            for number, array in enumerate(arrays)
            if array.kind == bound.ARENA
            and not array.integer
            and array.shape[:1] == (length,)
            and (users := [k for k, step in enumerate(steps) if number in _touched(arrays, step)])
            and own.issuperset(users)
            and all(
                view.array == number and _is_by_row(steps[k], view)
                for k in users
                for view in _views(steps[k])
                if _whole(arrays, view.array) == number
            )
        }
        apart = {k for k in inside if between.isdisjoint(_touched(arrays, steps[k]))}
        if apart:
            inside = [k for k in inside if k not in apart]
            continue
        late = _behind(arrays, steps, inside)
        dropped = {
            k
            for k in inside
            # what one of them writes as a whole, another one may read when all is there
            if any(
                view.array not in between
                and any(_whole(arrays, view.array) in _written(arrays, steps[j]) for j in inside)
                for view in _views(steps[k])[: _inputs(steps[k])]
            )
            or any(_needs(arrays, steps[k], steps[j]) for j in late if j < k)
        }
        if not dropped:
            return inside, between
        inside = [k for k in inside if k not in dropped]
    return [], set()


def _goes_along(step: Part, length: int) -> bool:
    """Tell whether a step may run for parts of its first loop, of a given length."""
    if not step.lengths or step.lengths[0] != length or length < 2:
        return False
    if isinstance(step, bound.GatherStep):
        return step.scatter and step.axis_loop == 0
    if isinstance(step, bound.ReduceStep):
        return step.op == "sum" or _has_first(step.output)
    if step.checks:
        return False
    return all(_has_first(view) for view in step.outputs) if step.kept or not step.sums else True


def _has_first(view: bound.View) -> bool:
    return any(axis[0] == 0 for axis in view.axes)


def _is_by_row(step: bound.BoundStep, view: bound.View) -> bool:
    """Tell whether a view of an array has a row of it for each turn of the first loop."""
    if isinstance(step, bound.GatherStep) and view is step.output:  # its rows are at listed positions
        return False
    rest = [loop for loop, *_ in view.axes[1:]]
    return view.axes[0] == (0, 0, 1, -1) and 0 not in rest and all(axis for axis, _ in view.listed)


def _tiled(step: bound.BoundStep, phase: int) -> bound.BoundStep:
    """Return a step as it is in a block."""
    step = step._replace(phase=phase, tiled=True)
    if isinstance(step, bound.ProgramStep) and step.sums and not step.kept:
        return step._replace(accumulate=True)
    if isinstance(step, bound.ReduceStep) and not _has_first(step.output):
        return step._replace(accumulate=True)
    return step


def _behind(
    arrays: Sequence[bound.PlanArray], steps: Sequence[bound.BoundStep], inside: Sequence[int]
) -> set[int]:
    """Return the other steps that have to wait for some of those in a block."""
    late: set[int] = set()
    for k in range(inside[0] if inside else len(steps), len(steps)):
        if k not in inside and any(_needs(arrays, steps[k], steps[j]) for j in (*inside, *late) if j < k):
            late.add(k)
    return late


def _needs(arrays: Sequence[bound.PlanArray], step: bound.BoundStep, before: bound.BoundStep) -> bool:
    """Tell whether a step has to wait for one before it: one of them writes what the other has."""
    read = _touched(arrays, step) & _written(arrays, before)
    return bool(read or _written(arrays, step) & _touched(arrays, before))


def _views(step: bound.BoundStep) -> tuple[bound.View, ...]:
    if isinstance(step, bound.ProgramStep):
        return (*step.inputs, *step.outputs)
    if isinstance(step, bound.ReduceStep | bound.GatherStep | bound.ScanStep | bound.CopyStep):
        return step.input, step.output
    return ()


def _inputs(step: bound.BoundStep) -> int:
    return len(step.inputs) if isinstance(step, bound.ProgramStep) else 1


def _whole(arrays: Sequence[bound.PlanArray], number: int) -> int:
    """Return the array that one is the same memory as, or a part of."""
    while arrays[number].kind == bound.WINDOW:
        number = arrays[number].number
    return number


def _touched(arrays: Sequence[bound.PlanArray], step: bound.BoundStep) -> set[int]:
    return {_whole(arrays, number) for number in arrays_of(step)}


def _written(arrays: Sequence[bound.PlanArray], step: bound.BoundStep) -> set[int]:
    views = _views(step)
    return {_whole(arrays, view.array) for view in views[_inputs(step) :]} if views else _touched(arrays, step)
