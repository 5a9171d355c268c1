"""Numbers for the letters of a plan: where each array stands in memory, and what each step reads and writes.

The length of the batch stays open. Arrays that have its axis are kept for one tile of samples, which is so long that
they fit into the second-level cache together.

Some steps run for one part of a long axis after the other, so that the arrays between them stay in the cache. The
forces of a million pairs are written and read again, once for each end of a pair. In parts of some thousand they
never leave the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...graph import Node
from ...graph.reference import numeric
from ...graph.sizes import Dim, value
from . import bound
from .access import BATCH, Access, LoopInput
from .plan import Plan
from .steps import (
    Call,
    LoopPiece,
    LoopStep,
    MatrixFunction,
    Move,
    Product,
    Reduction,
    Repacked,
    Repeated,
    Routine,
    Scan,
    Step,
    is_tiled,
    loops_of,
    nested,
    sources,
)

__all__ = ["BoundPlan", "arrays_of", "bind", "in_blocks", "lay_out"]


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
    results = [number for number in step.results if number >= 0]
    for number in (*results, *step.held, *(number for pair in step.swaps for number in pair)):
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


#: Stands for the length of the batch while numbers are put in: no step's sizes depend on it.
_ANY = 1

_ADVICE = "check the data, or add a small multiple of the identity"
_MESSAGES = {
    "inv": f"the inverse of a singular matrix; {_ADVICE}",
    "inv_transposed": f"the inverse of a singular matrix; {_ADVICE}",
    "solve": f"the solution for a singular matrix; {_ADVICE}",
    "solve_transposed": f"the solution for a singular matrix; {_ADVICE}",
    "cholesky": f"a Cholesky factor of a matrix that is not positive definite; {_ADVICE}",
}


def bind(
    plan: Plan, sizes: Mapping[str, int], single: bool, functions: Mapping[Node, Callable[..., Any]]
) -> BoundPlan | None:
    """Put numbers in for the letters of a plan.

    Parameters
    ----------
    plan : Plan
    sizes : mapping of str to int
        The number of each letter.
    single : bool
        Whether arrays are of float32.
    functions : mapping of Node to callable
        The Python function that a call runs, by the result of the call.

    Returns
    -------
    BoundPlan or None
        None where sizes are too small for the plan.

    Raises
    ------
    ShapeError
        If a slice does not fit its axis.
    """
    known = {**sizes, str(BATCH): _ANY}
    for (start, step, length), size in plan.checks:
        if length is None:
            numeric.at(value(start, known), value(size, known))
        else:
            numeric.span(value(start, known), step, value(length, known), value(size, known))
    if any(value(size, known) < 1 for step in nested(plan.steps) for size in loops_of(step)):
        return None
    if not all(step.stays_within(known) for step in nested(plan.steps) if isinstance(step, LoopStep)):
        return None
    if any(number < plan.least for number in sizes.values()):
        return None
    return _Binder(plan, known, single, functions).bind()


class _Binder:
    """The arrays and steps of one plan while numbers are put in."""

    def __init__(
        self, plan: Plan, sizes: Mapping[str, int], single: bool, functions: Mapping[Node, Callable[..., Any]]
    ) -> None:
        self.plan = plan
        self.functions = functions
        self.sizes = sizes
        self.item = 4 if single else 8
        self.arrays: list[bound.PlanArray] = []
        self.where: dict[Node, int] = {}
        self.steps: list[bound.BoundStep] = []
        self.phases: dict[Node, int] = {}
        self.units = 0
        self.factors: dict[tuple[Node, bool], tuple[int, int, int]] = {}
        self.wide: set[int] = set()
        #: The phase of all steps of a loop's body, None outside of loops.
        self.loop: int | None = None
        #: Arrays that a step of the plan, or of a loop in it, reads, and what loops give.
        self.read = set(plan.outputs)
        for step in nested(plan.steps):
            self.read.update(sources(step))
            self.read.update(step.outputs if isinstance(step, Repeated) else ())
        #: Windows in that body, which follow their arrays from turn to turn.
        self.views: list[tuple[int, int]] = []

    def bind(self) -> BoundPlan:
        """Put numbers into all steps."""
        plan = self.plan
        for number, node in enumerate(plan.inputs):
            self.where[node] = self._array(bound.INPUT, number, node)
            self.phases[node] = bound.BEFORE
        targets = [self._array(bound.OUTPUT, number, node) for number, node in enumerate(plan.outputs)]
        self._bind_steps(plan, targets)
        arrays, steps = in_blocks(self.arrays, self.steps)
        return lay_out(arrays, steps, self.item, self.wide)

    def _bind_steps(self, plan: Plan | Repeated, targets: Sequence[int]) -> None:
        """Bind the steps of a plan whose inputs are there; ``targets`` are the arrays of its outputs."""
        copies: list[tuple[Node, int]] = []
        results = {node for step in plan.steps if not isinstance(step, Repacked | Repeated) for node in step.results}
        for node, array in zip(plan.outputs, targets, strict=True):
            if node in results and node not in self.where:
                self.where[node] = array
            else:
                copies.append((node, array))
        for step in plan.steps:
            for node in step.results:
                unread = isinstance(step, Repeated) and step.parts and node not in self.read
                if node not in self.where and not isinstance(step, Repacked) and not unread:
                    self.where[node] = self._array(bound.ARENA, 0, node)
            phase = self._phase(step)
            _BIND[type(step)](self, step, phase)
        for node, array in copies:
            self._copy(node, array)

    # ------------------------------------------------------------------ arrays

    def _number(self, size: Dim) -> int:
        return value(size, self.sizes)

    def _array(self, kind: int, number: int, node: Node, integer: bool = False) -> int:
        tiled = node.ndim > 0 and node.shape[0] == BATCH
        shape = tuple(self._number(size) for size in node.shape)
        return self._add(bound.PlanArray(kind, number, shape, tiled, None, integer))

    def _add(self, array: bound.PlanArray) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _of(self, node: Node) -> int:
        """Return the array of a node that a step reads."""
        if node not in self.where:
            if node.is_size and node.payload.size == BATCH:
                array = bound.PlanArray(bound.COUNT, 0, ())
            else:
                data = self._number(node.payload.size) if node.is_size else node.value
                numbers = np.array(data, np.float64, order="C")
                array = bound.PlanArray(bound.CONSTANT, 0, numbers.shape, False, numbers.tobytes())
            self.where[node] = self._add(array)
            self.phases[node] = bound.BEFORE
        return self.where[node]

    def _view(self, source: int, access: Access, lows: Sequence[int] = ()) -> bound.View:
        axes, listed = [], []
        for axis, index in enumerate(access):
            start = self._number(index.start)
            if index.listed is not None:
                assert index.loop is not None
                axes.append((index.loop, 0, 1, -1))
                listed.append((axis, np.asarray(index.listed, np.int64).tobytes()))
            elif index.loop is not None:
                low = lows[index.loop] if lows else 0
                axes.append((index.loop, start + index.step * low, index.step, -1))
            elif index.length is not None:
                axes.append((-1, start, index.step, self._number(index.length)))
            else:
                axes.append((-1, start, 0, -1))
        return bound.View(source, tuple(axes), tuple(listed))

    def _input(self, port: LoopInput, lows: Sequence[int] = ()) -> bound.View:
        return self._view(self._of(port.source), port.access, lows)

    # ------------------------------------------------------------------ phases

    def _phase(self, step: Step) -> int:
        """Return when a step runs: in each tile if it goes over the samples, afterwards if it reads sums over them."""
        read = [self.phases.get(node, bound.BEFORE) for node in sources(step)]
        if self.loop is not None:
            phase = own = self.loop
        elif is_tiled(step):
            phase = bound.TILE
            own = bound.TILE if any(node.shape[:1] == (BATCH,) for node in step.results) else bound.AFTER
        else:
            phase = own = bound.AFTER if bound.AFTER in read else bound.BEFORE
        for node in step.results:
            self.phases[node] = own
        return phase

    # ------------------------------------------------------------------ steps

    def _loop(self, step: LoopStep, phase: int) -> None:
        tiled = phase == bound.TILE
        results = [self.where[node] for node in step.results]
        if step.fills:
            self._fill(results, phase, tiled)
        several = step.total and len(step.pieces) > 1 and not (step.kept and self._are_apart(step))
        parts: list[list[int]] = []
        for piece in step.pieces:
            targets = [self._array(bound.ARENA, 0, node) for node in step.results] if several else results
            if several and step.kept and self._rows(piece) != (0, self._number(step.loops[0])):
                self._fill(targets, phase, tiled)
            parts.append(targets)
            self._piece(step, piece, phase, tiled, targets)
        if step.total and len(step.pieces) > 1:
            self._add_up(step, phase, tiled, parts, results)

    def _rows(self, piece: LoopPiece) -> tuple[int, int]:
        """Return from where to where along the first loop a piece of a sum has results."""
        low, high = piece.ranges[0]
        return self._number(low), self._number(high)

    def _are_apart(self, step: LoopStep) -> bool:
        """Tell whether each piece of a sum has results of its own."""
        rows = sorted(self._rows(piece) for piece in step.pieces)
        return all(before <= low for (_, before), (low, _) in pairwise(rows))

    def _fill(self, arrays: Sequence[int], phase: int, tiled: bool) -> None:
        for array in arrays:
            shape = self.arrays[array].shape
            view = bound.View(array, tuple((axis, 0, 1, -1) for axis in range(len(shape))))
            self.steps.append(bound.FillStep(phase, shape, tiled, 0.0, view))

    def _add_up(self, step: LoopStep, phase: int, tiled: bool, parts: list[list[int]], results: list[int]) -> None:
        """Add up the sums of pieces by the program that is there for it, unless they are the results."""
        if parts[0] is not results:
            lengths: tuple[int, ...] = ()
            if step.kept:
                inputs = [self._view(part[k], place) for k, place in enumerate(step.places) for part in parts]
                outputs = tuple(self._view(array, place) for array, place in zip(results, step.places, strict=True))
                lengths, after = (self._number(step.loops[0]),), phase
            else:
                inputs = [self._whole(part[k]) for k in range(len(results)) for part in parts]
                outputs = tuple(self._whole(array) for array in results)
                tiled, after = False, bound.AFTER if tiled else phase
            self.steps.append(bound.ProgramStep(after, self.units, lengths, tiled, tuple(inputs), outputs))
        self.units += 1

    def _piece(self, step: LoopStep, piece: LoopPiece, phase: int, tiled: bool, targets: Sequence[int]) -> None:
        ends = [(self._number(low), self._number(high)) for low, high in piece.ranges]
        lows = [low for low, _ in ends]
        self.steps.append(
            bound.ProgramStep(
                phase,
                self.units,
                tuple(high - low for low, high in ends),
                tiled,
                tuple(self._input(port, lows) for port in piece.ports),
                tuple(
                    self._view(array, place, lows) for array, place in zip(targets, step.places, strict=True)
                ),
                step.total,
                step.kept,
                step.total and tiled and not step.kept,
                tuple(message for _, message in piece.program.checks),
            )
        )
        self.units += 1

    def _whole(self, array: int) -> bound.View:
        return bound.View(array, tuple((-1, 0, 1, length) for length in self.arrays[array].shape))

    def _lengths(self, sizes: Sequence[Dim]) -> tuple[int, ...]:
        return tuple(self._number(size) for size in sizes)

    def _product(self, step: Product, phase: int) -> None:
        tiled = phase == bound.TILE
        accumulate = tiled and not self.arrays[self.where[step.result]].tiled
        self.steps.append(
            bound.ProductStep(
                phase,
                self._lengths(step.sizes),
                tiled,
                self._input(step.first),
                self._input(step.second),
                self._view(self.where[step.result], step.place),
                step.scale,
                accumulate,
                step.symmetric,
            )
        )

    def _reduction(self, step: Reduction, phase: int) -> None:
        tiled = phase == bound.TILE
        accumulate = tiled and not self.arrays[self.where[step.result]].tiled
        view = self._view(self.where[step.result], step.place)
        lengths = self._lengths(step.sizes)
        self.steps.append(
            bound.ReduceStep(phase, lengths, tiled, step.op, self._input(step.source), view, accumulate)
        )

    def _scan(self, step: Scan, phase: int) -> None:
        view = self._view(self.where[step.result], step.place)
        lengths = self._lengths(step.sizes)
        tiled = phase == bound.TILE
        self.steps.append(
            bound.ScanStep(phase, lengths, tiled, step.op, step.reverse, self._input(step.source), view)
        )

    def _gather(self, step: Move, phase: int) -> None:
        view = self._view(self.where[step.result], step.place)
        indices = np.asarray(step.indices, np.int64).tobytes()
        lengths = self._lengths(step.sizes)
        tiled = phase == bound.TILE
        source = self._input(step.source)
        self.steps.append(
            bound.GatherStep(phase, lengths, tiled, step.scatter, step.loop, indices, source, view)
        )

    def _matrix(self, step: MatrixFunction, phase: int) -> None:
        matrix = self._of(step.matrix)
        array = self.arrays[matrix]
        # Cholesky's factorization reads the lower triangle alone. Inverses and the like share a factor made so only
        # where the matrix is declared definite.
        declared = bool(step.indefinite) or step.op == "cholesky"
        if (step.matrix, declared) not in self.factors:
            own = bound.TILE if array.tiled else min(phase, self.phases.get(step.matrix, bound.BEFORE))
            factor = self._add(bound.PlanArray(bound.ARENA, 0, array.shape, array.tiled))
            pivots = self._add(bound.PlanArray(bound.ARENA, 0, array.shape[:-1], array.tiled, None, True))
            state = self._add(bound.PlanArray(bound.ARENA, 0, array.shape[:-2], array.tiled, None, True))
            self.factors[step.matrix, declared] = factor, pivots, state
            self.wide.add(factor)
            symmetric = 2 if declared else 1
            self.steps.append(bound.FactorStep(own, array.tiled, matrix, factor, pivots, state, symmetric))
        factor, pivots, state = self.factors[step.matrix, declared]
        other = -1 if step.other is None else self._of(step.other)
        target = self.where[step.result]
        message = step.indefinite or _MESSAGES.get(step.op, "")
        tiled = phase == bound.TILE
        self.steps.append(
            bound.FactorUse(phase, tiled, step.op, matrix, factor, pivots, state, other, target, message)
        )

    def _repeated(self, step: Repeated, phase: int) -> None:
        """Bind a loop: rows are windows that move, and each carried array has a second one to change places with."""
        if step.parts:
            self._by_sample(step, phase)
            return
        turns, whole = self._number(step.length), self.where[step.result]
        kept = self.where, self.phases, self.factors, self.loop, self.views
        given = [self._of(node) for node in step.given]
        inside: dict[Node, int] = {}
        windows: list[tuple[int, int]] = []
        pairs: list[tuple[int, int]] = []
        for node, source in zip(step.inputs[: step.carried], given, strict=False):
            pair = self._array(bound.ARENA, 0, node), self._array(bound.ARENA, 0, node)
            self._move(source, pair[0], phase)
            pairs.append(pair)
            inside[node] = pair[0]
        rows = step.carried + step.read
        for node, source in zip(step.inputs[step.carried : rows], given[step.carried : rows], strict=True):
            inside[node] = self._window(self._own(source, phase), node, 0)
            windows.append((inside[node], self._number(node.size)))
        inside |= dict(zip(step.inputs[rows:-1], [self._own(source, phase) for source in given[rows:]], strict=True))
        counter = self._add(bound.PlanArray(bound.ARENA, 0, ())) if step.counts else -1
        inside |= {step.inputs[-1]: counter} if step.counts else {}
        targets, last, start = [], [], 0
        for k, node in enumerate(step.outputs):
            part, size = self._window(whole, node, start), self._number(node.size)
            if k < step.carried:
                last.append(part)
                targets.append(pairs[k][1])
            else:
                windows.append((part, size))
                targets.append(part)
            start += size * (1 if k < step.carried else turns)
        place = len(self.steps)
        repeat = bound.RepeatStep(phase, False, 0, turns, step.reverse, (), tuple(pairs), counter)
        self.steps.append(repeat)
        self.where, self.phases, self.factors, self.loop = inside, dict.fromkeys(inside, phase), {}, phase
        self.views = windows
        self._bind_steps(step, targets)
        self.where, self.phases, self.factors, self.loop, self.views = kept
        self.steps[place] = repeat._replace(span=len(self.steps) - place - 1, windows=tuple(windows))
        for (now, _), part in zip(pairs, last, strict=True):
            self._move(now, part, phase)

    def _by_sample(self, step: Repeated, phase: int) -> None:
        """Bind a loop of each sample of a tile: what turns read are copies, so that rows can move."""
        turns, tiled = self._number(step.length), phase == bound.TILE
        kept = self.where, self.phases, self.factors, self.loop
        inside: dict[Node, int] = {}
        pairs: list[tuple[int, int]] = []
        held: list[int] = []
        for node, arg in zip(step.inputs[: step.carried], step.given, strict=False):
            pair = self._array(bound.ARENA, 0, node), self._array(bound.ARENA, 0, node)
            self._move(self._of(arg), pair[0], phase)
            pairs.append(pair)
            inside[node] = pair[0]
        for node, arg in zip(step.inputs[step.carried : -1], step.given[step.carried :], strict=True):
            inside[node] = self._of(arg)
            if self.arrays[inside[node]].tiled:
                inside[node] = self._array(bound.ARENA, 0, node)
                self._move(self._of(arg), inside[node], phase)
                held.append(inside[node])
        results = tuple([self.where[node] if node in self.read else -1 for node in step.parts])
        place = len(self.steps)
        repeat = bound.RepeatStep(phase, tiled, 0, turns, step.reverse, (), tuple(pairs), -1, results, tuple(held))
        repeat = repeat if step.lasting is None else repeat._replace(lasting=step.lasting)
        self.steps.append(repeat)
        self.where, self.phases, self.factors, self.loop = inside, dict.fromkeys(inside, phase), {}, phase
        self._bind_steps(step, [later for _, later in pairs])
        self.where, self.phases, self.factors, self.loop = kept
        self.steps[place] = repeat._replace(span=len(self.steps) - place - 1)

    def _repacked(self, step: Repacked, phase: int) -> None:
        source = self._own(self._of(step.source), phase)
        self.where[step.result] = self._window(source, step.result, self._number(step.start))
        self.views.append((self.where[step.result], 0))

    def _window(self, source: int, row: Node, start: int) -> int:
        shape = tuple(self._number(size) for size in row.shape)
        return self._add(bound.PlanArray(bound.WINDOW, source, shape, False, None, False, start))

    def _own(self, source: int, phase: int) -> int:
        """Return an array in C order, as programs read it: of a caller's, which may have any strides, a copy."""
        if self.arrays[source].kind not in (bound.INPUT, bound.OUTPUT):
            return source
        copy = self._add(bound.PlanArray(bound.ARENA, 0, self.arrays[source].shape))
        self._move(source, copy, phase)
        return copy

    def _move(self, source: int, target: int, phase: int) -> None:
        shape, tiled = self.arrays[target].shape, self.arrays[target].tiled
        axes = tuple((axis, 0, 1, -1) for axis in range(len(shape)))
        self.steps.append(bound.CopyStep(phase, shape, tiled, bound.View(source, axes), bound.View(target, axes)))

    def _routine(self, step: Routine, phase: int) -> None:
        given = [self._of(node) for node in step.operands]
        made = [-1 if node is None else self.where[node] for node in step.made]
        a, b, c = (*given, *[-1] * (3 - len(given) - len(made)), *made)
        tiled = phase == bound.TILE
        self.steps.append(bound.RoutineStep(phase, tiled, step.op, a, b, c, step.axis, step.own, step.reverse))

    def _call(self, step: Call, phase: int) -> None:
        inputs = tuple(self._of(node) for node in (*step.sized(self.plan.inputs), *step.operands))
        function, output = self.functions[step.result], self.where[step.result]
        direct = step.direct(self.plan.inputs) is not None
        self.steps.append(bound.CallStep(phase, phase == bound.TILE, function, inputs, output, direct))

    def _copy(self, node: Node, array: int) -> None:
        """Copy an array that is an output, and an input, a number or another output as well."""
        source = self._of(node)
        tiled = self.arrays[array].tiled
        axes = tuple((axis, 0, 1, -1) for axis in range(node.ndim))
        phase = bound.TILE if tiled else max(self.phases[node], bound.BEFORE)
        phase = phase if self.loop is None else self.loop
        lengths = self.arrays[array].shape
        self.steps.append(bound.CopyStep(phase, lengths, tiled, bound.View(source, axes), bound.View(array, axes)))


_BIND: dict[type, Callable[..., None]] = {
    LoopStep: _Binder._loop,
    Product: _Binder._product,
    Reduction: _Binder._reduction,
    Scan: _Binder._scan,
    Move: _Binder._gather,
    Repacked: _Binder._repacked,
    Repeated: _Binder._repeated,
    MatrixFunction: _Binder._matrix,
    Routine: _Binder._routine,
    Call: _Binder._call,
}
