"""Runs a formula over long arrays as loops: a small program over every element of a range.

What a loop's element is has been decided (:mod:`symdiff.lower.loops.plan`). Here sizes become
numbers, arrays become views whose loop axes stand in front, and the element's program runs over
them as over a batch of samples: threads, tails, strides, float32, sums in a fixed order, the
interpreter until native code is built, all of it is the batch's. An array that lacks a loop's
axis is read with stride 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ...codegen.numpy.emit import emit_numpy, load_numpy
from ...errors import SingularMatrixError
from ...graph import Node
from ...graph.reference import numeric
from ...graph.reference.interpret import bind_sizes
from ...graph.sizes import Dim, value
from ...lower.loops.access import Access
from ...lower.loops.plan import ArrayStep, LoopPiece, Loops, LoopStep
from ...lower.loops.ranges import LEAST
from ..result_memory import empty
from ..threads import get_num_threads, register
from .interpreter import InterpreterRunner
from .native import NativeRunner
from .numpy import MOST_BYTES, NumpyRunner, batch_length
from .tiered import TieredRunner
from .variants import ProgramRunner

__all__ = ["LoopRunner"]

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
Kind: TypeAlias = type[TieredRunner] | type[NativeRunner] | type[InterpreterRunner]

#: Elements of a piece that is not worth native code.
FEW = 64


class View(NamedTuple):
    """How a loop reads or writes an array that has a batch axis in front.

    Parameters
    ----------
    part : tuple of slice or int
        What is taken of each axis.
    order : tuple of int or None
        Then the order of axes, where it is another one: the batch's, the loops', the element's own.
    spread : tuple of slice or None
        Then an axis of length 1 for every loop that the array lacks, if it lacks one.
    """

    part: tuple[Any, ...]
    order: tuple[int, ...] | None
    spread: tuple[Any, ...] | None

    def of(self, array: Floats) -> Floats:
        """Return the view of an array."""
        result: Floats = array[self.part]
        if self.order is not None:
            result = result.transpose(self.order)
        return result if self.spread is None else result[self.spread]


class Range(NamedTuple):
    """A piece of a loop whose sizes are known."""

    counts: tuple[int, ...]
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]


class Bound(NamedTuple):
    """Loops whose sizes are known.

    Parameters
    ----------
    sizes : dict of str to int
    shapes : dict of Node to tuple of int
        Of every array that a step computes, for one sample.
    ranges : list of list of Range
        For each step that is a loop, its pieces.
    numbers : dict of Node to ndarray
        Constants and sizes that loops read, as inputs with a batch axis.
    room : int
        Numbers that one sample takes besides inputs and outputs.
    """

    sizes: dict[str, int]
    shapes: dict[Node, tuple[int, ...]]
    ranges: list[list[Range]]
    numbers: dict[Node, npt.NDArray[np.float64]]
    room: int


class LoopRunner:
    """The backend of a kernel whose formula is loops.

    Parameters
    ----------
    plan : Loops
    formula : sequence of Node
        The outputs as they were before, for sizes too small for the plan.
    kind : type
        What runs the elements' programs.
    accuracy : {"default", "high"}
    threads : int, optional
        Threads of one call, at most; None for the number in force when it is called.
    """

    def __init__(
        self, plan: Loops, formula: Sequence[Node], kind: Kind, accuracy: str = "default", threads: int | None = None
    ) -> None:
        self.plan = plan
        self.formula = tuple(formula)
        self.kind = kind
        self.accuracy = accuracy
        self.threads = threads
        self._units = [self._make(step) for step in plan.steps]
        self._sources = [list(dict.fromkeys(q.source for p in _pieces(step) for q in p.ports)) for step in plan.steps]
        self._functions = [_function(plan, step) if isinstance(step, ArrayStep) else None for step in plan.steps]
        self._last: tuple[Any, Bound | None] = (None, None)
        self._small: NumpyRunner | None = None
        register()

    def __reduce__(self) -> tuple[Any, ...]:
        return LoopRunner, (self.plan, self.formula, self.kind, self.accuracy, self.threads)

    def _make(self, step: LoopStep | ArrayStep) -> list[ProgramRunner]:
        made: list[ProgramRunner] = []
        for piece in _pieces(step):
            lengths = [high - low for low, high in piece.ranges]
            edge = len(_pieces(step)) > 1 and math.prod(n if isinstance(n, int) else FEW + 1 for n in lengths) <= FEW
            kind = InterpreterRunner if edge and self.kind is TieredRunner else self.kind
            made.append(kind(piece.program, reduce=isinstance(step, LoopStep) and step.total, accuracy=self.accuracy))
        return made

    # ------------------------------------------------------------------ what it tells

    def _all(self) -> list[ProgramRunner]:
        return [unit for several in self._units for unit in several]

    @property
    def backend(self) -> str:
        """What runs the loops now: "interpreter" or "c"."""
        changing = [unit.backend for unit in self._all() if isinstance(unit, TieredRunner)]
        if self.kind is TieredRunner:
            return "interpreter" if "interpreter" in changing else "c"
        return "c" if self.kind is NativeRunner else "interpreter"

    @property
    def stats(self) -> dict[str, Any]:
        """How many loops there are, what else there is to do, and how far builds are."""
        loops = [step for step in self.plan.steps if isinstance(step, LoopStep)]
        told: dict[str, Any] = {
            "loops": len(loops),
            "operations": sum(len(piece.program.ops) for step in loops for piece in step.pieces),
            "numpy_steps": [step.result.op for step in self.plan.steps if isinstance(step, ArrayStep)],
        }
        units = self._all()
        told["build_seconds"] = sum(u.build_seconds for u in units if isinstance(u, NativeRunner))
        every = [unit.stats for unit in units if isinstance(unit, TieredRunner)]
        if every:
            waiting = [each for each in every if each["building"]]
            failed = [each for each in every if "build_failure" in each]
            told |= (failed or waiting or every)[0]
            told["building"] = bool(waiting)
            told["build_seconds"] = sum(each["build_seconds"] for each in every)
        return told

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is being built for this kernel; tell whether that is so."""
        waited = [unit.wait(timeout) for unit in self._all() if isinstance(unit, TieredRunner)]
        return all(waited)

    def source(self) -> str:
        """Return the C text of every loop, one after the other."""
        texts = []
        for number, (step, units) in enumerate(zip(self.plan.steps, self._units, strict=True)):
            for unit in units:
                assert isinstance(step, LoopStep)
                texts.append(f"/* step {number}: {'sum' if step.total else 'map'} */\n{unit.source()}")
        return "\n".join(texts)

    # ------------------------------------------------------------------ sizes

    def _bind(self, shapes: tuple[tuple[int, ...], ...]) -> Bound | None:
        """Put numbers in for sizes; None where they are too small for the plan."""
        last = self._last
        if last[0] == shapes:
            return last[1]
        bound = self._bound(bind_sizes(self.plan.inputs, shapes))
        self._last = (shapes, bound)
        return bound

    def _bound(self, sizes: dict[str, int]) -> Bound | None:
        plan = self.plan
        for (start, step, length), size in plan.checks:
            if length is None:
                numeric.at(value(start, sizes), value(size, sizes))
            else:
                numeric.span(value(start, sizes), step, value(length, sizes), value(size, sizes))
        loops = [step for step in plan.steps if isinstance(step, LoopStep)]
        if any(value(size, sizes) < 1 for step in loops for size in step.loops):
            return None
        if plan.is_cut and any(number < LEAST for number in sizes.values()):
            return None
        results = [node for step in plan.steps for node in _results(step)]
        shapes = {node: tuple(value(size, sizes) for size in node.shape) for node in results}
        room = sum(math.prod(shapes[node]) for node in results if node not in plan.outputs)
        ranges = [[_range(step, p, sizes) for p in _pieces(step)] for step in plan.steps]
        numbers = {
            node: np.array([value(node.payload.size, sizes) if node.op == "size" else node.value], np.float64)
            for node in {node for nodes in self._sources for node in nodes} - set(plan.inputs)
            if node not in shapes or node.op in ("constant", "size")  # an output may be one itself
        }
        return Bound(sizes, shapes, ranges, numbers, room)

    # ------------------------------------------------------------------ running

    def run(self, inputs: Sequence[Floats], outs: Sequence[Floats], reduce: bool) -> None:
        """Compute all samples of a batch.

        Parameters
        ----------
        inputs : sequence of ndarray, shape (N, ...) or (1, ...)
        outs : sequence of ndarray, shape (N, ...)
            Filled; of shape (1, ...) when ``reduce``. They overlap nothing.
        reduce : bool
            Sum over the batch.

        Raises
        ------
        SingularMatrixError
            With the index, along the batch, of a sample that has such a matrix.
        ShapeError
            If shapes do not fit the formula's symbolic sizes.
        """
        bound = self._bind(tuple([array.shape[1:] for array in inputs]))
        if bound is None:
            if self._small is None:
                self._small = NumpyRunner(emit_numpy(self.plan.inputs, self.formula))
            self._small.run(inputs, outs, reduce)
            return
        threads = self.threads or get_num_threads()
        batch = batch_length(inputs, outs, reduce)
        room = bound.room + (sum(math.prod(out.shape[1:]) for out in outs) if reduce else 0)
        tile = max(1, MOST_BYTES // (8 * room)) if room else batch
        totals = [np.zeros(out.shape[1:]) for out in outs] if reduce else []
        for start in range(0, batch, tile):
            count = min(tile, batch - start)
            parts = [array if len(array) == 1 else array[start : start + count] for array in inputs]
            given = None if reduce else [out[start : start + count] for out in outs]
            try:
                results = self._run_tile(bound, parts, given, threads)
            except SingularMatrixError as error:
                raise SingularMatrixError(str(error), (start + error.index[0],)) from None
            for total, result in zip(totals, results, strict=reduce):
                total[...] += np.broadcast_to(result, (count, *result.shape[1:])).sum(axis=0)
        for out, total in zip(outs, totals, strict=reduce):
            out[0] = total

    def _run_tile(
        self, bound: Bound, inputs: Sequence[Floats], outs: Sequence[Floats] | None, threads: int
    ) -> list[Floats]:
        """Run all steps; return the outputs, each with a batch axis or with one of length 1."""
        plan = self.plan
        single = bool(inputs) and all(array.dtype == np.float32 for array in inputs)
        dtype = np.dtype(np.float32 if single else np.float64)
        arrays: dict[Node, Floats] = {node: array.astype(dtype, copy=False) for node, array in bound.numbers.items()}
        arrays.update(zip(plan.inputs, inputs, strict=True))
        wanted = dict(zip(plan.outputs[::-1], outs[::-1], strict=True)) if outs is not None else {}
        steps = zip(plan.steps, self._units, self._sources, bound.ranges, self._functions, strict=True)
        for step, units, sources, ranges, function in steps:
            if isinstance(step, ArrayStep):
                assert function is not None
                operands = [*inputs, *(arrays[node] for node in step.operands)]
                with np.errstate(all="ignore"):
                    (result,) = function(*(np.asarray(array, np.float64) for array in operands))
                arrays[step.result] = result.astype(dtype, copy=False)
                continue
            read = {node: arrays[node] for node in sources}  # which may be a result as well
            batch = max(map(len, read.values()), default=1)
            targets = []
            for node in step.results:
                target = wanted.get(node)
                if target is None or len(target) != batch:
                    target = empty((batch, *bound.shapes[node]), dtype)
                arrays[node] = target
                targets.append(target)
            for k, (piece, unit, part) in enumerate(zip(step.pieces, units, ranges, strict=True)):
                given = [view.of(read[port.source]) for view, port in zip(part.inputs, piece.ports, strict=True)]
                more = step.total and k > 0
                sums = [np.empty_like(target) for target in targets] if more else targets
                results = [view.of(array) for view, array in zip(part.outputs, sums, strict=True)]
                shape = (batch, *part.counts)
                try:
                    unit.run(given, results, step.total, shape, threads, kept=step.total, single=single)
                except SingularMatrixError as error:
                    raise SingularMatrixError(str(error), (error.index[0] // math.prod(part.counts),)) from None
                if more:
                    for target, rest in zip(targets, sums, strict=True):
                        target[...] += rest
        results = [arrays[node] for node in plan.outputs]
        for result, out in zip(results, outs or (), strict=outs is not None):
            if result is not out:
                out[...] = result
        return results


def _pieces(step: LoopStep | ArrayStep) -> tuple[LoopPiece, ...]:
    return step.pieces if isinstance(step, LoopStep) else ()


def _results(step: LoopStep | ArrayStep) -> tuple[Node, ...]:
    return step.results if isinstance(step, LoopStep) else (step.result,)


def _function(plan: Loops, step: ArrayStep) -> Callable[..., tuple[npt.NDArray[Any], ...]]:
    """Return a function of the kernel's inputs, which tell the sizes, and of the step's operands."""
    return load_numpy(emit_numpy([*plan.inputs, *step.inputs], [step.formula]))


def _range(step: LoopStep | ArrayStep, piece: LoopPiece, sizes: dict[str, int]) -> Range:
    assert isinstance(step, LoopStep)
    ends = [(value(low, sizes), value(high, sizes)) for low, high in piece.ranges]
    inputs = [_view(port.access, port.source.shape, ends, sizes) for port in piece.ports]
    outputs = [_view(place, node.shape, ends, sizes) for place, node in zip(step.places, step.results, strict=True)]
    return Range(tuple(high - low for low, high in ends), tuple(inputs), tuple(outputs))


def _view(access: Access, shape: Sequence[Dim], ends: Sequence[tuple[int, int]], sizes: dict[str, int]) -> View:
    part: list[Any] = [slice(None)]
    kept: list[int | None] = []
    for index, size in zip(access, shape, strict=True):
        start, length = value(index.start, sizes), value(size, sizes)
        if index.loop is not None:
            low, high = ends[index.loop]
            part.append(numeric.span(start + index.step * low, index.step, high - low, length))
            kept.append(index.loop)
        elif index.length is not None:
            part.append(numeric.span(start, index.step, value(index.length, sizes), length))
            kept.append(None)
        else:
            part.append(numeric.at(start, length))
    loops = [loop for loop in kept if loop is not None]
    own = [axis for axis, loop in enumerate(kept, 1) if loop is None]
    order = (0, *(1 + kept.index(loop) for loop in sorted(loops)), *own)
    present = [slice(None) if loop in loops else None for loop in range(len(ends))]
    spread = (slice(None), *present, *(slice(None) for _ in own))
    return View(tuple(part), None if order == tuple(range(len(order))) else order, spread if None in spread else None)
