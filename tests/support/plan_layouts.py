# mypy: disable-error-code="attr-defined, call-arg, list-item, misc, no-any-return, operator"
"""Arrays and steps of plans for tests, and the comparison of a plan with its reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt

import symdiff as sd
from symdiff._kernels.plan import Plan, PlanUnits
from symdiff.graph import Node
from symdiff.lowering.plan import bound
from symdiff.lowering.plan.bound import (
    ARENA,
    BEFORE,
    CONSTANT,
    COUNT,
    INPUT,
    TILE,
    FactorStep,
    FactorUse,
    PlanArray,
    View,
)
from symdiff.lowering.program import Program
from symdiff.lowering.unroll import unroll
from symdiff.runtime.runners.programs import InterpreterRunner
from symdiff.runtime.toolchain.load import native_target
from tests.support.plan_reference import Reference

Floats = npt.NDArray[np.floating[Any]]
LINE = 64


class Layout:
    """Arrays of a plan, the arena's one behind the other."""

    def __init__(self, tile: int, single: bool = False, lanes: int = native_target().lanes) -> None:
        self.arrays: list[PlanArray] = []
        self.lanes = lanes
        self.tile = tile
        self.single = single
        self.bytes = {True: 0, False: 0}

    def given(self, kind: int, number: int, *shape: int, tiled: bool = False) -> int:
        self.arrays.append(PlanArray(kind, number, (0, *shape) if tiled else shape, tiled))
        return len(self.arrays) - 1

    def arena(self, *shape: int, tiled: bool = False, integer: bool = False) -> int:
        whole = (self.tile, *shape) if tiled else shape
        self.arrays.append(PlanArray(ARENA, self.bytes[tiled], whole, tiled, None, integer))
        self.bytes[tiled] += -(-int(np.prod(whole)) * 8 // LINE) * LINE
        return len(self.arrays) - 1

    def constant(self, values: Any) -> int:
        x = np.asarray(values, np.float64)
        self.arrays.append(PlanArray(CONSTANT, 0, x.shape, False, x.tobytes()))
        return len(self.arrays) - 1

    def count(self) -> int:
        self.arrays.append(PlanArray(COUNT, 0, ()))
        return len(self.arrays) - 1

    def view(self, array: int, *loops: int | None) -> View:
        """View all of an array: each axis has a loop, or is the element's own (None)."""
        shape = self.arrays[array].shape
        axes = [(-1, 0, 1, n) if loop is None else (loop, 0, 1, -1) for loop, n in zip(loops, shape, strict=True)]
        return View(array, tuple(axes))

    def plan(self, inputs: int, outputs: int, steps: Sequence[bound.BoundStep], units: PlanUnits | None = None) -> Plan:
        return Plan(
            inputs=inputs,
            outputs=outputs,
            arrays=self.arrays,
            steps=steps,
            tile=self.tile,
            tile_bytes=self.bytes[True],
            kept_bytes=self.bytes[False],
            single=self.single,
            lanes=self.lanes,
            units=units,
        )


def units_of(*programs: Program, columns: bool = False) -> PlanUnits:
    runners = [InterpreterRunner(program, columns=columns) for program in programs]
    ports = [([p.size for p in program.inputs], [p.size for p in program.outputs]) for program in programs]
    count = len(programs)
    return PlanUnits(lambda number, *variant: runners[number].call(*variant), ports, [columns] * count, [()] * count)


def check(
    layout: Layout,
    steps: Sequence[bound.BoundStep],
    inputs: Sequence[Floats],
    outputs: Sequence[Floats],
    count: int,
    programs: Sequence[Program] = (),
    threads: int = 1,
    tolerance: float = 1e-12,
) -> list[Floats]:
    """Run a plan and its reference implementation; outputs are filled with nan before."""
    expected = [np.full_like(output, np.nan) for output in outputs]
    Reference(layout.arrays, steps, programs, layout.single).run(inputs, expected, count)
    for output in outputs:
        output[...] = np.nan
    plan = layout.plan(len(inputs), len(outputs), steps, units_of(*programs) if programs else None)
    assert plan.run(inputs, outputs, count, threads) is None
    for output, wanted in zip(outputs, expected, strict=True):
        scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1.0)
        np.testing.assert_allclose(output, wanted, rtol=tolerance, atol=tolerance * scale)
    return list(outputs)


def program(f: Any, *inputs: Any) -> Program:
    nodes: list[Node] = [x.node for x in inputs]
    return unroll(nodes, [np.asarray(f, dtype=object).item().node if isinstance(f, np.ndarray) else f.node])


x, y = sd.scalar("x"), sd.scalar("y")
TIMES_SINE = program(np.sin(x) * y, x, y)
rng = np.random.default_rng(0)


# ---------------------------------------------------------------------------- products


def every(step: int, array: Floats) -> tuple[Any, ...]:
    """Return the index that goes through all axes of an array by some step; of none, the array itself."""
    return (*[slice(None, None, step)] * array.ndim, ...)


class Drawn:
    """A random array of a plan with random axes, and what a caller passes for it."""

    def __init__(
        self, draw: Any, layout: Layout, labels: list[int], lengths: list[int], tiled: bool, count: int
    ) -> None:
        self.labels = draw(st.permutations(labels))
        if tiled:
            self.labels = [0, *(label for label in self.labels if label != 0)]
        self.kind = draw(st.sampled_from([INPUT, ARENA]))
        self.fixed = draw(st.booleans())
        self.axes = [(label, draw(st.integers(0, 2)), draw(st.sampled_from([1, 1, 2, -1]))) for label in self.labels]
        self.tiled = tiled
        self.shape: list[int] = []
        axes = []
        for label, start, step in self.axes:
            if tiled and label == 0:
                axes.append((0, 0, 1, -1))
                continue
            reach = step * (lengths[label] - 1)
            axes.append((label, start - min(reach, 0), step, -1))
            self.shape.append(start + abs(reach) + 1 + draw(st.integers(0, 1)))
        if self.fixed:
            axes.append((-1, 1, 0, -1))
            self.shape.append(2)
        self.axes_seen = tuple(axes)
        self.whole = (count, *self.shape) if tiled else tuple(self.shape)

    def strided(self, draw: Any, dtype: Any) -> Floats:
        """Return numbers with any strides."""
        values = np.asarray(rng.normal(size=self.whole)).astype(dtype)
        kind = draw(st.sampled_from(["C", "F", "negative", "spread", "zero", "odd"]))
        if kind == "F":
            return np.array(values, order="F")
        if kind == "negative":
            return values[every(-1, values)]
        if kind == "spread":
            wide = np.zeros([2 * n for n in self.whole], dtype)
            wide[every(2, wide)] = values
            return wide[every(2, wide)]
        if kind == "zero" and values.size:
            axis = draw(st.integers(0, values.ndim - 1)) if values.ndim else 0
            if values.ndim:
                return np.broadcast_to(np.take(values, [0], axis), self.whole)
        if kind == "odd":
            raw = np.zeros(values.nbytes + 1, np.uint8)[1:].view(dtype)
            unaligned = np.ndarray(self.whole, dtype, raw.data) if values.size else values
            unaligned[...] = values
            return unaligned
        return values


# ---------------------------------------------------------------------------- factorizations


def factored(layout: Layout, a: int, symmetric: int = 0) -> FactorStep:
    """Return the step that factorizes an array, with room for it."""
    array = layout.arrays[a]
    shape = array.shape[1:] if array.tiled else array.shape
    factor = layout.arena(*shape, tiled=array.tiled)
    pivots = layout.arena(*shape[:-1], tiled=array.tiled, integer=True)
    state = layout.arena(*shape[:-2], tiled=array.tiled, integer=True)
    return FactorStep(TILE if array.tiled else BEFORE, array.tiled, a, factor, pivots, state, symmetric)


def use(op: str, step: FactorStep, b: int, c: int, check: str = "", tiled: bool | None = None) -> FactorUse:
    tiled = step.tiled if tiled is None else tiled
    arrays = (step.a, step.factor, step.pivots, step.state)
    return FactorUse(TILE if tiled else step.phase, tiled, op, *arrays, b, c, check)
