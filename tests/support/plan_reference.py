# mypy: disable-error-code="operator"
"""The executor of plans, slow and obvious: every step on whole arrays with NumPy, without tiles or an arena."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from symdiff.errors import SingularMatrixError
from symdiff.graph.reference import numeric
from symdiff.lowering.plan import bound
from symdiff.lowering.program import Program
from tests.support.program_reference import evaluate

Floats = npt.NDArray[np.floating[Any]]

REDUCTIONS = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}
SCANS = {
    "cumsum": np.add,
    "cumprod": np.multiply,
    "cummax": np.maximum,
    "cummin": np.minimum,
}


class Reference:
    """Runs a plan.

    Parameters
    ----------
    arrays : sequence of PlanArray
    steps : sequence of BoundStep
    programs : sequence of Program
        What the numbers of units mean.
    single : bool
        Whether what is between the steps is float32.
    """

    def __init__(
        self,
        arrays: Sequence[bound.PlanArray],
        steps: Sequence[bound.BoundStep],
        programs: Sequence[Program] = (),
        single: bool = False,
    ) -> None:
        self.arrays = arrays
        self.steps = steps
        self.programs = programs
        self.dtype = np.float32 if single else np.float64
        self.values: list[Floats] = []
        self.count = 0

    def run(self, inputs: Sequence[Floats], outputs: Sequence[Floats], count: int) -> None:
        """Fill the outputs; raise SingularMatrixError where a check fails."""
        self.count = count
        if count == 0:
            for output in outputs:
                output[...] = 0.0
            return
        lengths = [step.length for step in self.steps if isinstance(step, bound.BlockStep)]
        factors = {step.factor for step in self.steps if isinstance(step, bound.FactorStep)}
        self.values = []
        for k, array in enumerate(self.arrays):
            shape = (lengths[0] if lengths else count, *array.shape[1:]) if array.tiled else array.shape
            if array.kind == bound.INPUT:
                self.values.append(inputs[array.number])
            elif array.kind == bound.OUTPUT:
                self.values.append(outputs[array.number])
            elif array.kind == bound.CONSTANT:
                assert array.data is not None
                self.values.append(np.frombuffer(array.data).reshape(shape).astype(self.dtype))
            elif array.kind == bound.COUNT:
                self.values.append(np.array(float(count), self.dtype))
            else:
                self.values.append(np.full(shape, np.nan, np.float64 if k in factors else self.dtype))
        for phase in (bound.BEFORE, bound.TILE, bound.AFTER):
            for step in self.steps:
                if step.phase == phase:
                    with np.errstate(all="ignore"):
                        getattr(self, type(step).__name__)(step)

    def lengths(self, step: Any) -> tuple[int, ...]:
        """Return the lengths of a step's loops."""
        # in a block, the first loop has the length of the whole axis
        return (self.count, *step.lengths[1:]) if step.tiled and step.phase == bound.TILE else tuple(step.lengths)

    def place(self, view: bound.View, index: Sequence[int]) -> tuple[Any, ...]:
        """Return what a view is at a place in the loops, as an index of the array."""
        where: list[Any] = []
        listed = {axis: np.frombuffer(data, np.int64) for axis, data in view.listed}
        for axis, (loop, start, step, length) in enumerate(view.axes):
            if axis in listed:
                where.append(int(listed[axis][index[loop]]))
            elif loop >= 0:
                where.append(start + step * index[loop])
            elif length >= 0:
                where.append(np.array([start + step * k for k in range(length)], np.intp))
            else:
                where.append(start)
        own = [i for i, part in enumerate(where) if isinstance(part, np.ndarray)]
        for rank, i in enumerate(own):
            where[i] = where[i].reshape([-1 if k == rank else 1 for k in range(len(own))])
        return tuple(where)

    def spread(self, view: bound.View, lengths: Sequence[int]) -> Floats:
        """Return the elements of a view without own axes, at every place in the loops."""
        places = np.meshgrid(*(np.arange(n) for n in lengths), indexing="ij", sparse=True)
        at = tuple(start if loop < 0 else start + step * places[loop] for loop, start, step, _ in view.axes)
        return np.broadcast_to(self.values[view.array][at], lengths)

    def write(self, view: bound.View, lengths: Sequence[int], numbers: Floats) -> None:
        """Write elements, which have each loop of the view as an axis and the others with length 1."""
        loops = [loop for loop, *_ in view.axes if loop >= 0]
        places = np.meshgrid(*(np.arange(n if k in loops else 1) for k, n in enumerate(lengths)), indexing="ij")
        at = tuple(start if loop < 0 else start + step * places[loop] for loop, start, step, _ in view.axes)
        shape = tuple(n if k in loops else 1 for k, n in enumerate(lengths))
        self.values[view.array][at] = numbers.reshape(shape if loops else ())

    def ProgramStep(self, step: bound.ProgramStep) -> None:
        program, lengths = self.programs[step.units], self.lengths(step)
        groups: dict[tuple[int, ...], list[list[Floats]]] = {}
        kept = len(lengths) if not step.sums else 1 if step.kept else 0
        for index in itertools.product(*map(range, lengths)):
            inputs = [self.values[view.array][self.place(view, index)] for view in step.inputs]
            shaped = [np.asarray(x).reshape(port.shape) for x, port in zip(inputs, program.inputs, strict=True)]
            try:
                results = evaluate(program, shaped)
            except SingularMatrixError as error:
                raise SingularMatrixError(str(error), index[:1] if step.tiled else ()) from None
            groups.setdefault(index[:kept], []).append([result.reshape(-1) for result in results])
        if step.sums and not kept and not groups:
            groups[()] = [[np.zeros(port.size) for port in program.outputs]]
        for index, samples in groups.items():
            for k, view in enumerate(step.outputs):
                target = self.values[view.array]
                place = self.place(view, (*index, *[0] * (len(lengths) - len(index))))
                total = np.sum([sample[k] for sample in samples], axis=0)
                target[place] = total.reshape(np.shape(target[place]))

    def BlockStep(self, step: bound.BlockStep) -> None:
        """Run nothing: the steps behind it go over the whole axis here."""

    def ProductStep(self, step: bound.ProductStep) -> None:
        lengths = self.lengths(step)
        a, b = (np.asarray(self.spread(view, lengths), np.float64) for view in (step.a, step.b))
        kept = {loop for loop, *_ in step.c.axes}
        summed = tuple(k for k in range(len(lengths)) if k not in kept)
        self.write(step.c, lengths, step.alpha * np.sum(a * b, axis=summed, keepdims=True))

    def ReduceStep(self, step: bound.ReduceStep) -> None:
        lengths = self.lengths(step)
        kept = {loop for loop, *_ in step.output.axes}
        over = tuple(k for k in range(len(lengths)) if k not in kept)
        found = REDUCTIONS[step.op](self.spread(step.input, lengths).astype(np.float64), axis=over, keepdims=True)
        self.write(step.output, lengths, found)

    def ScanStep(self, step: bound.ScanStep) -> None:
        lengths = self.lengths(step)
        x = self.spread(step.input, lengths).astype(np.float64)
        way = slice(None, None, -1) if step.reverse else slice(None)
        self.write(step.output, lengths, SCANS[step.op].accumulate(x[..., way], axis=-1)[..., way])

    def GatherStep(self, step: bound.GatherStep) -> None:
        lengths = self.lengths(step)
        indices = np.frombuffer(step.indices, np.int64)
        if step.scatter:
            self.values[step.output.array][...] = 0.0
        for index in itertools.product(*map(range, lengths)):
            listed = list(index)
            listed[step.axis_loop] = int(indices[index[step.axis_loop]])
            if step.scatter:
                to = self.place(step.output, listed)
                self.values[step.output.array][to] += self.values[step.input.array][self.place(step.input, index)]
            else:
                found = self.values[step.input.array][self.place(step.input, listed)]
                self.values[step.output.array][self.place(step.output, index)] = found

    def CopyStep(self, step: bound.CopyStep) -> None:
        lengths = self.lengths(step)
        self.write(step.output, lengths, self.spread(step.input, lengths))

    def FillStep(self, step: bound.FillStep) -> None:
        lengths = self.lengths(step)
        self.write(step.output, lengths, np.full(lengths, step.value))

    def FactorStep(self, step: bound.FactorStep) -> None:
        self.values[step.factor][...] = self.values[step.a]

    def FactorUse(self, step: bound.FactorUse) -> None:
        a = self.values[step.factor]
        c = self.values[step.c]
        try:
            if step.op in ("solve", "solve_transposed"):
                b = np.asarray(self.values[step.b], np.float64)
                lead = a.ndim - 2 + (step.tiled and not self.arrays[step.factor].tiled)
                wide = np.broadcast_to(b, c.shape)
                wide = wide[..., None] if c.ndim == lead + 1 else wide
                matrices = np.broadcast_to(a, (*c.shape[:lead], *a.shape[-2:]))
                found = numeric.solve(np.swapaxes(matrices, -1, -2) if "transposed" in step.op else matrices, wide)
                c[...] = found.reshape(c.shape)
            elif step.op == "inv_transposed":
                c[...] = np.swapaxes(numeric.inv(a), -1, -2)
            else:
                c[...] = getattr(numeric, step.op)(a)
        except SingularMatrixError as error:
            shared = not self.arrays[step.factor].tiled
            raise SingularMatrixError(step.check, () if shared else error.index[:1]) from None

    def CallStep(self, step: bound.CallStep) -> None:
        self.values[step.output][...] = step.function(*(self.values[k].astype(np.float64) for k in step.inputs))
