# mypy: disable-error-code="attr-defined, call-arg, list-item, misc, no-any-return, operator"
"""The executor of plans (``symdiff/_kernels/plan``) against its reference in NumPy (``plan_reference.py``)."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from plan_reference import Reference

import symdiff as sd
from symdiff._kernels.plan import Plan, PlanUnits, bind
from symdiff.errors import SingularMatrixError
from symdiff.graph import Node
from symdiff.lower import unroll
from symdiff.lower.program import Program
from symdiff.plan import bound
from symdiff.plan.bound import (
    AFTER,
    ARENA,
    BEFORE,
    CONSTANT,
    COUNT,
    INPUT,
    OUTPUT,
    TILE,
    CallStep,
    CopyStep,
    FactorStep,
    FactorUse,
    FillStep,
    GatherStep,
    PlanArray,
    ProductStep,
    ProgramStep,
    ReduceStep,
    ScanStep,
    View,
)
from symdiff.runtime.runners.interpreter import InterpreterRunner
from symdiff.runtime.toolchain.machine import native_target

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
    return PlanUnits(lambda number, *variant: runners[number].call(*variant), ports, [columns] * len(programs))


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


# ---------------------------------------------------------------------------- programs


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("count", [0, 1, 3, 8, 29, 3000])
def test_a_program_over_samples_and_elements(count: int, single: bool) -> None:
    layout = Layout(8 if count < 100 else 1024, single)
    dtype = np.float32 if single else np.float64
    a, b = layout.given(INPUT, 0, 5, tiled=True), layout.given(INPUT, 1, 5)
    between, out = layout.arena(5, tiled=True), layout.given(OUTPUT, 0, 5, tiled=True)
    steps = [
        ProgramStep(TILE, 0, (0, 5), True, (layout.view(a, 0, 1), layout.view(b, 1)), (layout.view(between, 0, 1),)),
        ProgramStep(TILE, 0, (0, 5), True, (layout.view(between, 0, 1),) * 2, (layout.view(out, 0, 1),)),
    ]
    inputs = [rng.normal(size=(count, 5)).astype(dtype), rng.normal(size=5).astype(dtype)]
    check(
        layout, steps, inputs, [np.empty((count, 5), dtype)], count, [TIMES_SINE], tolerance=1e-5 if single else 1e-12
    )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 64, 65, 200])
def test_sums_over_the_batch_and_within_a_sample(count: int, threads: int) -> None:
    layout = Layout(8)
    a, b = layout.given(INPUT, 0, 5, tiled=True), layout.given(INPUT, 1, tiled=True)
    within, total = layout.given(OUTPUT, 0, tiled=True), layout.given(OUTPUT, 1)
    sums = (layout.view(a, 0, 1), layout.view(b, 0))
    steps = [
        ProgramStep(TILE, 0, (0, 5), True, sums, (layout.view(within, 0),), sums=True, kept=True),
        ProgramStep(TILE, 0, (0, 5), True, sums, (layout.view(total),), sums=True, accumulate=True),
    ]
    inputs = [rng.normal(size=(count, 5)), rng.normal(size=count)]
    check(layout, steps, inputs, [np.empty(count), np.empty(())], count, [TIMES_SINE], threads)


def test_the_elements_of_a_program_may_lie_anywhere() -> None:
    v = sd.vector("v", 3)
    m = sd.matrix("m", 2, 3)
    lengths = unroll([m.node, v.node], [(m @ v).node, (np.sin(m)).node])
    layout = Layout(4)
    a, b = layout.given(INPUT, 0, 4, 7, tiled=True), layout.given(INPUT, 1, 3)
    between = layout.arena(6, 5, tiled=True)
    one, other = layout.given(OUTPUT, 0, 2, tiled=True), layout.given(OUTPUT, 1, 3, 2, tiled=True)
    part = View(a, ((0, 0, 1, -1), (-1, 1, 2, 2), (-1, 6, -3, 3)))
    inside = View(between, ((0, 0, 1, -1), (-1, 5, -2, 3), (-1, 1, 3, 2)))
    steps = [
        FillStep(TILE, (0, 6, 5), True, 0.5, layout.view(between, 0, 1, 2)),
        ProgramStep(
            TILE,
            0,
            (0,),
            True,
            (part, layout.view(b, None)),
            (layout.view(one, 0, None), View(between, ((0, 0, 1, -1), (-1, 0, 4, 2), (-1, 4, -2, 3)))),
        ),
        ProgramStep(TILE, 1, (0,), True, (inside,), (layout.view(other, 0, None, None),)),
    ]
    t = sd.matrix("t", 3, 2)
    turned = unroll([t.node], [(np.cos(t)).node])
    inputs = [rng.normal(size=(11, 4, 7))[:, ::-1], rng.normal(size=6)[::2]]
    check(layout, steps, inputs, [np.empty((2, 11)).T, np.empty((11, 3, 2))], 11, [lengths, turned])


def test_a_program_of_many_ports() -> None:
    inputs = [sd.scalar(f"x{i}") for i in range(30)]
    total = sum(inputs[1:], inputs[0])
    layout = Layout(16)
    views = [layout.view(layout.given(INPUT, i, tiled=True), 0) for i in range(30)]
    out = layout.given(OUTPUT, 0)
    steps = [
        ProgramStep(TILE, 0, (0,), True, tuple(views), (layout.view(out),), sums=True, accumulate=True),
    ]
    check(layout, steps, [rng.normal(size=40) for _ in views], [np.empty(())], 40, [program(total, *inputs)])


@pytest.mark.parametrize("columns", [False, True])
def test_threads_layouts_and_tiles_change_no_bit_of_programs(columns: bool) -> None:
    v = sd.vector("v", 3)
    f = unroll([v.node], [(np.exp(v) * v.sum()).node])
    results = []
    data = rng.normal(size=(20_000, 3))
    for tile, threads in ((64, 1), (1024, 1), (1024, 2), (32768, 3)):
        layout = Layout(tile)
        a, out = layout.given(INPUT, 0, 3, tiled=True), layout.given(OUTPUT, 0, 3, tiled=True)
        steps = [ProgramStep(TILE, 0, (0,), True, (layout.view(a, 0, None),), (layout.view(out, 0, None),))]
        plan = layout.plan(1, 1, steps, units_of(f, columns=columns))
        for order in "CF":
            result = np.empty((20_000, 3), order=order)
            plan.run([np.asarray(data, order=order)], [result], 20_000, threads)
            results.append(result)
    assert all(np.array_equal(result, results[0]) for result in results[1:])


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("length", [1, 3, 8, 13, 63, 64, 100, 1030])
def test_broadcast_loops_of_all_lengths_give_the_same_bits(length: int, single: bool) -> None:
    dtype = np.float32 if single else np.float64
    count = 5000 // length
    z = rng.normal(size=(count, length, 2)).astype(dtype)
    c, s = rng.normal(size=(length, 2)).astype(dtype), rng.normal(size=count).astype(dtype)
    results = []
    for spread in (False, True):
        layout = Layout(64, single)
        a = layout.given(INPUT, 0, length, 2, tiled=True)
        shape = (length, 2)
        b = layout.given(INPUT, 1, *shape, tiled=True) if spread else layout.given(INPUT, 1, *shape)
        d = layout.given(INPUT, 2, *shape, tiled=True) if spread else layout.given(INPUT, 2, tiled=True)
        outs = [layout.given(OUTPUT, k, *shape, tiled=True) for k in range(2)]
        row = (layout.view(b, 0, 1, 2) if spread else layout.view(b, 1, 2),)
        one = (layout.view(d, 0, 1, 2) if spread else layout.view(d, 0),)
        whole = layout.view(a, 0, 1, 2)
        steps = [
            ProgramStep(TILE, 0, (0, *shape), True, (whole, *other), (layout.view(out, 0, 1, 2),))
            for other, out in zip((row, one), outs, strict=True)
        ]
        inputs = [z, np.broadcast_to(c, z.shape).copy(), np.broadcast_to(s[:, None, None], z.shape).copy()]
        found = [np.empty(z.shape, dtype), np.empty((2, length, count), dtype).T]
        plan = layout.plan(3, 2, steps, units_of(TIMES_SINE))
        assert plan.run(inputs if spread else [z, c, s], found, count, 1) is None
        results.append(found)
    for broadcast, full in zip(*results, strict=True):
        np.testing.assert_array_equal(broadcast, full)
    np.testing.assert_allclose(results[0][0], np.sin(z) * c, rtol=1e-5 if single else 1e-12)
    np.testing.assert_allclose(results[0][1], np.sin(z) * s[:, None, None], rtol=1e-5 if single else 1e-12)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 13, 29, 100])
def test_a_program_that_writes_where_it_reads_runs_each_sample_once(count: int) -> None:
    layout = Layout(64)
    a, b, out = layout.given(INPUT, 0, tiled=True), layout.given(INPUT, 1), layout.given(OUTPUT, 0, tiled=True)
    here = layout.view(layout.arena(tiled=True), 0)
    steps = [
        CopyStep(TILE, (0,), True, layout.view(a, 0), here),
        ProgramStep(TILE, 0, (0,), True, (here, layout.view(b)), (here,)),
        CopyStep(TILE, (0,), True, here, layout.view(out, 0)),
    ]
    check(layout, steps, [rng.normal(size=count), np.array(0.7)], [np.empty(count)], count, [TIMES_SINE])


LISTS = {
    "random": np.random.default_rng(1).integers(0, 6, 37),
    "rows": np.repeat(np.arange(6), 7)[:37],
    "neighbours": np.concatenate([np.arange(k, 6) for k in range(6)] * 2)[:37],
    "one": np.full(37, 5),
    "down": np.arange(37)[::-1] % 6,
}


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("kind", LISTS)
def test_lists_of_positions(kind: str, single: bool, columns: bool) -> None:
    dtype = np.float32 if single else np.float64
    v, w = sd.vector("v", 3), sd.vector("w", 3)
    f = unroll([v.node, w.node], [(np.sin(v) * w).node])
    g = unroll([v.node, w.node], [(np.sin(v) * w).sum().node])
    positions = LISTS[kind].astype(np.int64)
    layout = Layout(4, single)
    a, b = layout.given(INPUT, 0, 6, 3, tiled=True), layout.given(INPUT, 1, 3, 2, 6)
    kept = layout.arena(6, 3)
    outs = [layout.given(OUTPUT, 0, 37, 3, tiled=True), layout.given(OUTPUT, 1, 2, 3, 37)]
    outs += [layout.given(OUTPUT, 2, tiled=True), layout.given(OUTPUT, 3, 37, 2, 3)]
    first = View(a, ((0, 0, 1, -1), (1, 0, 1, -1), (-1, 0, 1, 3)), ((1, positions.tobytes()),))
    fixed = View(b, ((-1, 2, -1, 3), (-1, 1, 0, -1), (1, 0, 1, -1)), ((2, positions[::-1].tobytes()),))
    second = View(b, ((-1, 0, 1, 3), (0, 0, 1, -1), (1, 0, 1, -1)), ((2, positions.tobytes()),))
    outer = View(b, ((-1, 0, 1, 3), (1, 0, 1, -1), (0, 0, 1, -1)), ((2, positions.tobytes()),))
    known = View(kept, ((1, 0, 1, -1), (-1, 0, 1, 3)), ((0, positions.tobytes()),))
    rows = View(kept, ((0, 0, 1, -1), (-1, 0, 1, 3)), ((0, positions.tobytes()),))
    turned = View(b, ((1, 0, 1, -1), (-1, 1, 0, -1), (0, 0, 1, -1)))
    steps = [
        CopyStep(BEFORE, (6, 3), False, turned, layout.view(kept, 0, 1)),
        ProgramStep(TILE, 0, (0, 37), True, (first, fixed), (layout.view(outs[0], 0, 1, None),)),
        ProgramStep(BEFORE, 0, (2, 37), False, (second, known), (layout.view(outs[1], 0, None, 1),)),
        ProgramStep(TILE, 1, (0, 37), True, (first, known), (layout.view(outs[2], 0),), sums=True, kept=True),
        ProgramStep(BEFORE, 0, (37, 2), False, (outer, rows), (layout.view(outs[3], 0, 1, None),)),
    ]
    targets: list[Floats] = [np.empty(shape, dtype) for shape in ((9, 37, 3), (2, 3, 37), (9,), (37, 2, 3))]
    inputs = [rng.normal(size=(9, 6, 3)).astype(dtype), rng.normal(size=(3, 2, 6)).astype(dtype)]
    arrays = [inputs, [np.asfortranarray(inputs[0]), rng.normal(size=(6, 2, 6)).astype(dtype)[::-2, ::-1]]]
    for given_arrays in arrays:
        expected = [np.empty_like(target) for target in targets]
        Reference(layout.arrays, steps, [f, g], single).run(given_arrays, expected, 9)
        plan = layout.plan(2, 4, steps, units_of(f, g, columns=columns))
        assert plan.run(given_arrays, targets, 9, 1) is None
        for found, wanted in zip(targets, expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4 if single else 1e-12, atol=1e-5 if single else 1e-13)


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


def run_random_product(draw: Any) -> None:
    single = draw(st.booleans())
    layout = Layout(draw(st.sampled_from([1, 3, 16])), single)
    dtype = np.float32 if single else np.float64
    number = draw(st.integers(1, 5))
    tiled = draw(st.booleans())
    count = draw(st.sampled_from([1, 2, 3, 7, 50, 150])) if tiled else 1
    lengths = [draw(st.sampled_from([1, 2, 3, 6])) for _ in range(number)]
    if tiled:
        lengths[0] = 0
    sets = [draw(st.integers(1, 7)) for _ in range(number)]
    if tiled and not sets[0] & 3:
        sets[0] |= 1
    steps: list[bound.BoundStep] = []
    inputs: list[Floats] = []
    views = []
    for k in range(2):
        labels = [label for label in range(number) if sets[label] >> k & 1]
        mine = Drawn(draw, layout, labels, lengths, tiled and 0 in labels, count)
        given_array = layout.given(INPUT, len(inputs), *mine.shape, tiled=mine.tiled)
        inputs.append(mine.strided(draw, dtype))
        if mine.kind == ARENA:
            array = layout.arena(*mine.shape, tiled=mine.tiled)
            loops = range(len(mine.whole))
            shape = tuple(layout.arrays[array].shape)
            steps.append(
                CopyStep(
                    TILE if mine.tiled else BEFORE,
                    shape,
                    mine.tiled,
                    layout.view(given_array, *loops)
                    if not mine.tiled
                    else View(given_array, tuple((k, 0, 1, -1) for k in loops)),
                    layout.view(array, *loops) if not mine.tiled else View(array, tuple((k, 0, 1, -1) for k in loops)),
                )
            )
        else:
            array = given_array
        views.append(View(array, mine.axes_seen))
    kept = [label for label in range(number) if sets[label] >> 2 & 1]
    result = Drawn(draw, layout, kept, lengths, tiled and 0 in kept, count)
    out = layout.given(OUTPUT, 0, *result.shape, tiled=result.tiled)
    steps.append(
        ProductStep(
            TILE if tiled else BEFORE,
            tuple(lengths),
            tiled,
            *views,
            View(out, result.axes_seen),
            draw(st.sampled_from([1.0, -0.5, 0.0])),
            tiled and 0 not in kept,
        )
    )
    target = np.empty(result.whole, dtype, order=draw(st.sampled_from(["C", "F"])))
    if draw(st.booleans()):
        target = target[every(-1, target)]
    expected = np.zeros_like(target)
    Reference(layout.arrays, steps, (), single).run(inputs, [expected], count)
    target[...] = 0.0  # where the view does not reach
    plan = layout.plan(2, 1, steps)
    assert plan.run(inputs, [target], count, draw(st.integers(1, 2))) is None
    scale = np.max(np.abs(expected), initial=1.0)
    np.testing.assert_allclose(target, expected, rtol=0, atol=scale * (2e-4 if single else 1e-12))


@pytest.mark.parametrize("plain", [0, 64])
def test_random_products(plain: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By BLAS throughout, and with plain loops for small ones."""

    @settings(max_examples=300, deadline=None)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        run_random_product(data.draw)

    monkeypatch.setattr(bind, "PLAIN", plain)
    run()


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("order", ["C", "F", "strided"])
@pytest.mark.parametrize("count", [1, 2, 9, 64, 65, 400])
def test_a_matrix_times_its_transpose(count: int, order: str, single: bool) -> None:
    dtype = np.float32 if single else np.float64
    layout = Layout(8, single)
    a = layout.given(INPUT, 0, 7, tiled=True)
    total, within = layout.given(OUTPUT, 0, 7, 7), layout.given(OUTPUT, 1, 20, 20)
    wide = layout.given(INPUT, 1, 20, 9)
    steps = [
        ProductStep(
            TILE,
            (0, 7, 7),
            True,
            layout.view(a, 0, 1),
            layout.view(a, 0, 2),
            layout.view(total, 1, 2),
            2.0,
            accumulate=True,
            symmetric=True,
        ),
        ProductStep(
            AFTER,
            (20, 20, 9),
            False,
            layout.view(wide, 0, 2),
            layout.view(wide, 1, 2),
            layout.view(within, 0, 1),
            symmetric=True,
        ),
    ]
    both = (
        np.zeros((2 * count, 14), dtype)[::2, ::2] if order == "strided" else np.zeros((count, 7), dtype, order=order)
    )
    both[...] = rng.normal(size=(count, 7))
    inputs = [both, rng.normal(size=(20, 9)).astype(dtype)]
    outputs = [np.empty((7, 7), dtype), np.empty((40, 40), dtype)[::-2, ::2]]
    found = check(layout, steps, inputs, outputs, count, tolerance=1e-5 if single else 1e-12)
    for square in found:
        np.testing.assert_array_equal(square, square.T)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("count", [1, 9, 200])
def test_a_product_of_two_arrays_that_is_symmetric(count: int, single: bool) -> None:
    dtype = np.float32 if single else np.float64
    layout = Layout(16, single)
    a, b = layout.given(INPUT, 0, 60, tiled=True), layout.given(INPUT, 1, 60, tiled=True)
    total = layout.given(OUTPUT, 0, 60, 60)
    views = [layout.view(a, 0, 1), layout.view(b, 0, 2), layout.view(total, 1, 2)]
    steps = [ProductStep(TILE, (0, 60, 60), True, *views, accumulate=True, symmetric=True)]
    x, weights = rng.normal(size=(count, 60)).astype(dtype), rng.normal(size=(count, 1)).astype(dtype)
    inputs = [x, x * weights]
    for target in (np.empty((60, 60), dtype), np.empty((60, 60), dtype).T, np.empty((120, 180), dtype)[::2, ::3]):
        (found,) = check(layout, steps, inputs, [target], count, tolerance=1e-5 if single else 1e-12)
        np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("sizes", [(1, 30), (30, 1), (17, 40), (300, 20), (9, 9)])
@pytest.mark.parametrize("turned", [False, True])
def test_products_of_a_sample_have_the_bits_that_they_have_in_a_batch(sizes: tuple[int, int], turned: bool) -> None:
    k, n = sizes
    layout = Layout(16)
    given_, shared = layout.given(INPUT, 0, 3, k, tiled=True), layout.given(INPUT, 1, k, n)
    out, vectors = layout.given(OUTPUT, 0, 3, n, tiled=True), layout.given(OUTPUT, 1, 3, k, tiled=True)
    rows, matrix = layout.view(given_, 0, 1, 2), layout.view(shared, 2, 3)
    factors = (matrix, rows) if turned else (rows, matrix)
    again = (layout.view(given_, 0, 1, 3), layout.view(shared, 3, 2))
    steps = [
        ProductStep(TILE, (0, 3, k, n), True, *factors, layout.view(out, 0, 1, 3)),
        ProductStep(TILE, (0, 3, k, k), True, *again, layout.view(vectors, 0, 1, 2))
        if n == k
        else CopyStep(TILE, (0, 3, k), True, layout.view(given_, 0, 1, 2), layout.view(vectors, 0, 1, 2)),
    ]
    plan = layout.plan(2, 2, steps)
    x, w = rng.normal(size=(37, 3, k)), rng.normal(size=(k, n))
    whole = [np.empty((37, 3, n)), np.empty((37, 3, k))]
    plan.run([x, w], whole, 37)
    for order in "CF":
        for first, count in ((0, 1), (36, 1), (3, 20), (5, 2)):
            some = [np.empty((count, 3, n), order=order), np.empty((count, 3, k), order=order)]
            part = np.array(x[first : first + count], order=order)
            plan.run([part, np.array(w, order=order)], some, count)
            for found, expected in zip(some, whole, strict=True):
                np.testing.assert_array_equal(found, expected[first : first + count])


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("op", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("sizes", [(1, 9), (3, 300), (200, 7), (150, 64)])
def test_rows_of_a_matrix_are_combined(op: str, sizes: tuple[int, int], single: bool) -> None:
    rows, columns = sizes
    dtype = np.float32 if single else np.float64
    layout = Layout(1, single)
    a, down, across = (
        layout.given(INPUT, 0, 2, *sizes),
        layout.given(OUTPUT, 0, 2, columns),
        layout.given(OUTPUT, 1, 2, rows),
    )
    steps = [
        ReduceStep(BEFORE, (2, *sizes), False, op, layout.view(a, 0, 1, 2), layout.view(down, 0, 2)),
        ReduceStep(BEFORE, (2, *sizes), False, op, layout.view(a, 0, 1, 2), layout.view(across, 0, 1)),
    ]
    values = (1 + 0.1 * rng.normal(size=(2, *sizes))).astype(dtype)
    for x in (values, np.asfortranarray(values), np.repeat(values, 2, 2)[:, :, ::2], values[:, ::-1]):
        outputs = [np.empty((2, columns), dtype), np.empty((4, rows), dtype)[::2]]
        check(layout, steps, [x], outputs, 1, tolerance=1e-5 if single else 1e-12)
        x[1, rows // 2, columns - 1] = np.nan
        layout.plan(1, 2, steps).run([x], outputs, 1)
        assert np.flatnonzero(np.isnan(outputs[0])).tolist() == [2 * columns - 1]
        assert np.flatnonzero(np.isnan(outputs[1])).tolist() == [rows + rows // 2]
        x[1, rows // 2, columns - 1] = 1.0


def test_sums_of_many_rows_of_float32_keep_their_digits() -> None:
    layout = Layout(1, single=True)
    rows = 1_000_000
    a, out = layout.given(INPUT, 0, rows, 3), layout.given(OUTPUT, 0, 3)
    step = ReduceStep(BEFORE, (rows, 3), False, "sum", layout.view(a, 0, 1), layout.view(out, 1))
    values, found = np.full((rows, 3), 0.1, np.float32), np.empty(3, np.float32)
    assert layout.plan(1, 1, [step]).run([values], [found], 1) is None
    np.testing.assert_allclose(found, rows * float(np.float32(0.1)), rtol=2e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("operand", [0, 1])
@pytest.mark.parametrize("sizes", [(1, 1), (1, 9), (9, 1), (9, 9), (2, 2)])
def test_what_is_not_finite_stays_in_its_sample(bad: float, operand: int, sizes: tuple[int, int]) -> None:
    """One number of one sample; other samples, and arrays that held nan before, have none of it."""
    k, n = sizes
    layout = Layout(4)
    shared, each, given_ = (
        layout.given(INPUT, 1, k, n),
        layout.given(INPUT, 2, k, n, tiled=True),
        layout.given(INPUT, 0, k, tiled=True),
    )
    out, other = layout.given(OUTPUT, 0, n, tiled=True), layout.given(OUTPUT, 1, n, tiled=True)
    steps = [
        ProductStep(
            TILE, (0, k, n), True, layout.view(given_, 0, 1), layout.view(shared, 1, 2), layout.view(out, 0, 2)
        ),
        ProductStep(
            TILE, (0, k, n), True, layout.view(given_, 0, 1), layout.view(each, 0, 1, 2), layout.view(other, 0, 2)
        ),
    ]
    inputs = [rng.normal(size=(10, k)), rng.normal(size=(k, n)), rng.normal(size=(10, k, n))]
    if operand == 0:
        inputs[0][5, 0] = bad
    else:
        inputs[2][5, k - 1, n - 1] = bad
    first, second = check(layout, steps, inputs, [np.empty((10, n)), np.empty((10, n))], 10)
    assert np.isfinite(np.delete(first, 5, 0)).all()
    assert np.isfinite(np.delete(second, 5, 0)).all()
    assert not np.isfinite(second[5]).all()


@pytest.mark.parametrize("where", [0, 1])
def test_a_nan_of_a_shared_matrix_reaches_what_numpy_says(where: int) -> None:
    layout = Layout(16)
    a, b = layout.given(INPUT, 0, 9, tiled=True), layout.given(INPUT, 1, 9, 9)
    c = layout.given(OUTPUT, 0, 9, tiled=True)
    steps = [ProductStep(TILE, (0, 9, 9), True, layout.view(a, 0, 1), layout.view(b, 1, 2), layout.view(c, 0, 2))]
    inputs = [np.zeros((5, 9)), rng.normal(size=(9, 9))]
    inputs[where][2, 3] = np.nan  # nan times zero is nan
    check(layout, steps, inputs, [np.empty((5, 9))], 5)


def test_a_product_of_many_places_and_one_with_wide_strides() -> None:
    layout = Layout(8)
    a, b = layout.given(INPUT, 0, 12, 13, tiled=True), layout.given(INPUT, 1, 13, 14, tiled=True)
    c = layout.given(OUTPUT, 0, 12, 14, tiled=True)
    steps = [
        ProductStep(
            TILE, (0, 12, 13, 14), True, layout.view(a, 0, 1, 2), layout.view(b, 0, 2, 3), layout.view(c, 0, 1, 3)
        )
    ]
    inputs = [rng.normal(size=(21, 12, 13)), rng.normal(size=(14, 21, 13)).transpose(1, 2, 0)]
    check(layout, steps, inputs, [np.empty((14, 12, 21)).T], 21, threads=2)


# ---------------------------------------------------------------------------- moves, reductions, scans


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("op", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("count", [1, 5, 100])
def test_reductions(op: str, count: int, single: bool) -> None:
    dtype = np.float32 if single else np.float64
    layout = Layout(4, single)
    a = layout.given(INPUT, 0, 37, 3, tiled=True)
    outs = [layout.given(OUTPUT, 0, tiled=True), layout.given(OUTPUT, 1, 3, tiled=True), layout.given(OUTPUT, 2, 37)]
    views = [(layout.view(outs[0], 0), False), (layout.view(outs[1], 0, 2), False), (layout.view(outs[2], 1), True)]
    steps = [ReduceStep(TILE, (0, 37, 3), True, op, layout.view(a, 0, 1, 2), v, total) for v, total in views]
    values = rng.uniform(0.9, 1.1, size=(count, 37, 3)).astype(dtype)
    outputs = [np.empty(count, dtype), np.empty((count, 3), dtype), np.empty(74, dtype)[::2]]
    for bad in (1.0, np.nan, -np.inf):
        values[count // 2, 20, 1] = bad
        for order in "CF":
            given_values = np.array(values, order=order)
            found = check(layout, steps, [given_values], outputs, count, tolerance=1e-4 if single else 1e-12)
            assert np.isnan(found[0]).sum() == np.isnan(bad)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("step", [1, 3, -1])
@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_reductions_of_long_axes(op: str, step: int, single: bool) -> None:
    dtype = np.float32 if single else np.float64
    layout = Layout(1, single)
    a, out = layout.given(INPUT, 0, 10_007), layout.given(OUTPUT, 0)
    steps = [ReduceStep(BEFORE, (10_007,), False, op, layout.view(a, 0), layout.view(out))]
    values = rng.normal(size=3 * 10_007).astype(dtype)[:: 3 if step == 3 else 1][:10_007][:: step // abs(step)]
    target = [np.empty((), dtype)]
    check(layout, steps, [values], target, 1, tolerance=1e-6 if single else 1e-13)
    for place in (0, 5000, 10_006):
        values[place] = 100.0 if op == "max" else -100.0
        check(layout, steps, [values], target, 1, tolerance=1e-6 if single else 1e-13)
        kept, values[place] = values[place], np.nan
        check(layout, steps, [values], target, 1)
        values[place] = kept


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("op", bound.SCANS)
def test_scans(op: str, reverse: bool) -> None:
    layout = Layout(4)
    a, out = layout.given(INPUT, 0, 3, 11, tiled=True), layout.given(OUTPUT, 0, 11, 3, tiled=True)
    steps = [ScanStep(TILE, (0, 3, 11), True, op, reverse, layout.view(a, 0, 1, 2), layout.view(out, 0, 2, 1))]
    values = rng.normal(size=(9, 3, 11))
    values[3, 1, 4], values[4, 1, 4] = np.nan, np.inf
    check(layout, steps, [values], [np.empty((9, 11, 3))], 9)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("scatter", [False, True])
@pytest.mark.parametrize("axis", [1, 2])
def test_listed_positions(axis: int, scatter: bool, width: int, single: bool) -> None:
    indices = np.array([4, 0, 0, 0, 3, 4, 1, 2, 3, 3, 4], np.int64)
    few, many = [width, width], [width, width]
    few[axis - 1], many[axis - 1] = len(indices), 5
    dtype = np.float32 if single else np.float64
    layout = Layout(4, single)
    source, target = (few, many) if scatter else (many, few)
    a, out = layout.given(INPUT, 0, *source, tiled=True), layout.given(OUTPUT, 0, *target, tiled=True)
    lengths = (0, *few)
    steps = [
        GatherStep(
            TILE, lengths, True, scatter, axis, indices.tobytes(), layout.view(a, 0, 1, 2), layout.view(out, 0, 1, 2)
        )
    ]
    for out_of_order in (np.empty((*target, 9), dtype).transpose(2, 0, 1), np.empty((9, *target), dtype)):
        given_array = rng.normal(size=(9, *source)).astype(dtype)
        check(layout, steps, [given_array], [out_of_order], 9, tolerance=1e-6 if single else 1e-15)


def test_constants_and_the_length_of_the_batch() -> None:
    for single in (False, True):
        dtype = np.float32 if single else np.float64
        layout = Layout(4, single)
        numbers, count = layout.constant([[1.5, -2.0], [0.25, 3.0]]), layout.count()
        a = layout.given(INPUT, 0, 2, tiled=True)
        kept, out = layout.arena(2), layout.given(OUTPUT, 0, 2, tiled=True)
        steps = [
            ProgramStep(
                BEFORE,
                0,
                (2,),
                False,
                (View(numbers, ((-1, 1, 0, -1), (0, 0, 1, -1))), layout.view(count)),
                (layout.view(kept, 0),),
            ),
            ProgramStep(TILE, 0, (0, 2), True, (layout.view(a, 0, 1), layout.view(kept, 1)), (layout.view(out, 0, 1),)),
        ]
        times = program(x * y, x, y)
        check(
            layout,
            steps,
            [rng.normal(size=(9, 2)).astype(dtype)],
            [np.empty((9, 2), dtype)],
            9,
            [times],
            tolerance=1e-6 if single else 1e-15,
        )


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_random_copies(data: st.DataObject) -> None:
    layout = Layout(3)
    number = data.draw(st.integers(0, 4))
    lengths = [data.draw(st.integers(0 if k else 1, 4)) for k in range(number)]
    tiled = number > 0 and data.draw(st.booleans())
    count = data.draw(st.integers(0, 7)) if tiled else 1
    drawn = [Drawn(data.draw, layout, list(range(number)), lengths, tiled, count) for _ in range(2)]
    source = layout.given(INPUT, 0, *drawn[0].shape, tiled=tiled)
    target = layout.given(OUTPUT, 0, *drawn[1].shape, tiled=tiled)
    phase = TILE if tiled else BEFORE
    views = View(source, drawn[0].axes_seen), View(target, drawn[1].axes_seen)
    steps = [FillStep(phase, tuple(lengths), tiled, -0.0, views[1]), CopyStep(phase, tuple(lengths), tiled, *views)]
    inputs = [drawn[0].strided(data.draw, np.float64)]
    expected, found = np.zeros(drawn[1].whole), np.zeros(drawn[1].whole)
    Reference(layout.arrays, steps).run(inputs, [expected], count)
    assert layout.plan(1, 1, steps).run(inputs, [found], count) is None
    np.testing.assert_array_equal(found, expected)


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


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("symmetric", [0, 1])
@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_factorizations(n: int, symmetric: int, single: bool) -> None:
    dtype = np.float32 if single else np.float64
    rng = np.random.default_rng([n, symmetric])
    layout = Layout(4, single)
    a = layout.given(INPUT, 0, n, n, tiled=True)
    b, v = layout.given(INPUT, 1, n, 3, tiled=True), layout.given(INPUT, 2, n)
    step = factored(layout, a, symmetric)
    outs: list[Floats] = []
    steps: list[bound.BoundStep] = [step]
    for op in ("det", "logdet", "logabsdet"):
        steps.append(use(op, step, -1, layout.given(OUTPUT, len(outs), tiled=True)))
        outs.append(np.empty(9, dtype))
    steps.append(use("inv", step, -1, layout.given(OUTPUT, len(outs), n, n, tiled=True), "singular"))
    outs.append(np.empty((n, n, 9), dtype).T)
    for op in ("solve", "solve_transposed"):
        steps.append(use(op, step, b, layout.given(OUTPUT, len(outs), n, 3, tiled=True), "singular"))
        outs.append(np.empty((9, n, 3), dtype))
        steps.append(use(op, step, v, layout.given(OUTPUT, len(outs), n, tiled=True), "singular"))
        outs.append(np.empty((9, n), dtype))
    values = rng.normal(size=(9, n, n)) + 3 * np.eye(n)
    if symmetric:
        values[:5] = values[:5] @ values[:5].transpose(0, 2, 1)
        values[4] -= 2 * np.linalg.eigvalsh(values[4])[0] * np.eye(n)  # symmetric, and not definite
        values[:5] = (values[:5] + values[:5].transpose(0, 2, 1)) / 2
    values = np.asfortranarray(values.astype(dtype))
    inputs = [values, rng.normal(size=(9, n, 3)).astype(dtype), rng.normal(size=n).astype(dtype)]
    check(layout, steps, inputs, outs, 9, tolerance=1e-4 if single else 1e-9)


def test_one_factor_serves_all_samples() -> None:
    layout = Layout(4)
    a = layout.given(INPUT, 0, 6, 6)
    vectors, matrices = layout.given(INPUT, 1, 6, tiled=True), layout.given(INPUT, 2, 6, 2, tiled=True)
    step = factored(layout, a)
    steps: list[bound.BoundStep] = [step]
    outs: list[Floats] = []
    for op in ("solve", "solve_transposed"):
        steps.append(use(op, step, vectors, layout.given(OUTPUT, len(outs), 6, tiled=True), "singular", True))
        steps.append(use(op, step, matrices, layout.given(OUTPUT, len(outs) + 1, 6, 2, tiled=True), "singular", True))
        outs += [np.empty((11, 6)), np.empty((11, 6, 2))]
    inputs = [rng.normal(size=(6, 6)), rng.normal(size=(6, 11)).T, rng.normal(size=(11, 6, 2))]
    check(layout, steps, inputs, outs, 11, tolerance=1e-10)
    plan = layout.plan(3, len(outs), steps)
    assert plan.run([np.zeros((6, 6)), *inputs[1:]], outs, 11) == ((), "singular")


@pytest.mark.parametrize("threads", [1, 2])
def test_the_lowest_sample_that_fails_is_told(threads: int) -> None:
    layout = Layout(4)
    a, b = layout.given(INPUT, 0, 2, 2, tiled=True), layout.given(INPUT, 1, 2, 2, tiled=True)
    first, second = factored(layout, a), factored(layout, b)
    outs = [layout.given(OUTPUT, k, 2, 2, tiled=True) for k in range(2)]
    det = layout.given(OUTPUT, 2, tiled=True)
    steps = [
        first,
        second,
        use("det", first, -1, det),
        use("inv", first, -1, outs[0], "the first"),
        use("inv", second, -1, outs[1], "the second"),
    ]
    plan = layout.plan(2, 3, steps)
    targets = [np.empty((50, 2, 2)), np.empty((50, 2, 2)), np.empty(50)]
    good = np.broadcast_to(np.eye(2), (50, 2, 2))
    one, other = good.copy(), good.copy()
    assert plan.run([one, other], targets, 50, threads) is None
    one[30:] = 1.0
    assert plan.run([one, other], targets, 50, threads) == ((30,), "the first")
    other[30] = 0.0
    assert plan.run([one, other], targets, 50, threads) == ((30,), "the first")
    other[29] = 0.0  # of the same tile, and found later
    assert plan.run([one, other], targets, 50, threads) == ((29,), "the second")
    one[17, 0] = np.nan
    one[17, 1] = 0.0  # a nan is no failure
    other[29:] = np.eye(2)
    one[30:] = np.eye(2)
    assert plan.run([one, other], targets, 50, threads) is None
    assert np.isnan(targets[0][17]).all()
    assert np.isnan(targets[2][17])
    assert not np.isnan(np.delete(targets[0], 17, 0)).any()


def test_the_factor_of_a_definite_matrix() -> None:
    layout = Layout(4)
    a = layout.given(INPUT, 0, 5, 5, tiled=True)
    step = factored(layout, a, 2)
    steps = [
        step,
        use("cholesky", step, -1, layout.given(OUTPUT, 0, 5, 5, tiled=True), "not definite"),
        use("logdet", step, -1, layout.given(OUTPUT, 1, tiled=True), "not definite"),
    ]
    roots = rng.normal(size=(6, 5, 5))
    values = roots @ roots.transpose(0, 2, 1) + np.eye(5)
    values[:, 0, 4] = 7.0  # not read
    lower = np.tril(values) + np.tril(values, -1).transpose(0, 2, 1)
    outs = [np.empty((6, 5, 5)), np.empty(6)]
    assert layout.plan(1, 2, steps).run([values], outs, 6) is None
    np.testing.assert_allclose(outs[0], np.linalg.cholesky(lower), rtol=1e-12)
    np.testing.assert_allclose(outs[1], np.linalg.slogdet(lower)[1], rtol=1e-12)
    values[3, 2, 2] = -1.0
    assert layout.plan(1, 2, steps).run([values], outs, 6) == ((3,), "not definite")
    values[3, 2, 1] = np.nan
    assert layout.plan(1, 2, steps).run([values], outs, 6) is None
    assert np.isnan(outs[0][3]).any()
    assert np.isfinite(np.delete(outs[0], 3, 0)).all()


# ---------------------------------------------------------------------------- Python


@pytest.mark.parametrize("single", [False, True])
def test_a_function_in_python(single: bool) -> None:
    dtype = np.float32 if single else np.float64
    layout = Layout(4, single)
    a, b = layout.given(INPUT, 0, 3, tiled=True), layout.given(INPUT, 1, 3)
    between, out = layout.arena(3, tiled=True), layout.given(OUTPUT, 0, 3, tiled=True)
    steps = [
        CallStep(TILE, True, lambda p, q: np.sort(p * q, axis=-1), (a, b), between),
        CopyStep(TILE, (0, 3), True, layout.view(between, 0, 1), layout.view(out, 0, 1)),
    ]
    inputs = [rng.normal(size=(10, 3)).astype(dtype), rng.normal(size=3).astype(dtype)]
    check(layout, steps, inputs, [np.empty((10, 3), dtype)], 10, threads=2, tolerance=1e-6)


def test_what_a_function_raises_is_raised() -> None:
    layout = Layout(4)
    a, out = layout.given(INPUT, 0, tiled=True), layout.given(OUTPUT, 0, tiled=True)

    def one(p: Floats) -> Floats:
        raise KeyError("mine")

    def other(p: Floats) -> Floats:
        if (p < 0).any():
            raise SingularMatrixError("singular there", (int(np.argmax(p < 0)),))
        return p

    values = np.arange(20.0)
    with pytest.raises(KeyError, match="mine"):
        layout.plan(1, 1, [CallStep(TILE, True, one, (a,), out)]).run([values], [np.empty(20)], 20)
    plan = layout.plan(1, 1, [CallStep(TILE, True, other, (a,), out)])
    assert plan.run([values], [np.empty(20)], 20) is None
    values[14:] = -1.0
    assert plan.run([values], [np.empty(20)], 20) == ((14,), "singular there")


# ---------------------------------------------------------------------------- calls


def network() -> tuple[Layout, list[bound.BoundStep], Program]:
    """A layer over a batch and the sum of its weights' gradients: a product, a program, a product over the batch."""
    layout = Layout(16)
    a, w = layout.given(INPUT, 0, 7, tiled=True), layout.given(INPUT, 1, 7, 12)
    hidden, active = layout.arena(12, tiled=True), layout.arena(12, tiled=True)
    out, total = layout.given(OUTPUT, 0, 12, tiled=True), layout.given(OUTPUT, 1, 7, 12)
    scalar = sd.scalar("s")
    steps: list[bound.BoundStep] = [
        ProductStep(TILE, (0, 7, 12), True, layout.view(a, 0, 1), layout.view(w, 1, 2), layout.view(hidden, 0, 2)),
        ProgramStep(TILE, 0, (0, 12), True, (layout.view(hidden, 0, 1),), (layout.view(active, 0, 1),)),
        ProgramStep(TILE, 0, (0, 12), True, (layout.view(active, 0, 1),), (layout.view(out, 0, 1),)),
        ProductStep(
            TILE,
            (0, 7, 12),
            True,
            layout.view(a, 0, 1),
            layout.view(active, 0, 2),
            layout.view(total, 1, 2),
            accumulate=True,
        ),
    ]
    return layout, steps, program(np.tanh(scalar), scalar)


def test_results_do_not_depend_on_threads() -> None:
    layout, steps, f = network()
    inputs = [rng.normal(size=(40_000, 7)), rng.normal(size=(7, 12))]
    plan = layout.plan(2, 2, steps, units_of(f))
    found = []
    for threads in (1, 2, 3, 64):
        outs = [np.empty((40_000, 12)), np.empty((7, 12))]
        assert plan.run(inputs, outs, 40_000, threads) is None
        found.append(outs)
    for outs in found[1:]:
        np.testing.assert_array_equal(outs[0], found[0][0])
        np.testing.assert_array_equal(outs[1], found[0][1])
    active = np.tanh(inputs[0] @ inputs[1])
    np.testing.assert_allclose(found[0][1], inputs[0].T @ active, rtol=1e-11)


def test_sums_of_float32_over_a_long_batch_keep_their_digits() -> None:
    layout = Layout(64, single=True)
    a, b = layout.given(INPUT, 0, 9, tiled=True), layout.given(INPUT, 1, 9, tiled=True)
    total = layout.given(OUTPUT, 0, 9, 9)
    steps = [
        ProductStep(
            TILE, (0, 9, 9), True, layout.view(a, 0, 1), layout.view(b, 0, 2), layout.view(total, 1, 2), accumulate=True
        )
    ]
    count = 1_000_000
    inputs = [np.broadcast_to(np.float32(0.1), (count, 9)), np.broadcast_to(np.float32(0.3), (count, 9))]
    out = np.empty((9, 9), np.float32)
    assert layout.plan(2, 1, steps).run(inputs, [out], count) is None
    np.testing.assert_allclose(out, count * (float(np.float32(0.1)) * float(np.float32(0.3))), rtol=1e-5)


def test_threads_of_python_share_a_plan() -> None:
    layout, steps, f = network()
    plan = layout.plan(2, 2, steps, units_of(f))
    wrong: list[int] = []

    def work(seed: int) -> None:
        mine = np.random.default_rng(seed)
        for _ in range(60):
            count = int(mine.integers(1, 600))
            inputs = [mine.normal(size=(count, 7)), mine.normal(size=(7, 12))]
            outs = [np.empty((count, 12)), np.empty((7, 12))]
            failed = plan.run(inputs, outs, count, 2)
            active = np.tanh(inputs[0] @ inputs[1])
            if (
                failed is not None
                or not np.allclose(outs[0], np.tanh(active))
                or not np.allclose(outs[1], inputs[0].T @ active)
            ):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_plan_runs_after_a_fork() -> None:
    layout, steps, f = network()
    plan = layout.plan(2, 2, steps, units_of(f))
    inputs = [rng.normal(size=(5_000, 7)), rng.normal(size=(7, 12))]
    outs, again = ([np.empty((5_000, 12)), np.empty((7, 12))] for _ in range(2))
    plan.run(inputs, outs, 5_000, 2)
    child = os.fork()
    if child == 0:
        failed = plan.run(inputs, again, 5_000, 2)
        same = all(np.array_equal(one, other) for one, other in zip(outs, again, strict=True))
        os._exit(0 if failed is None and same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_units_are_made_when_needed_and_replaced() -> None:
    layout = Layout(4096)
    v = sd.vector("v", 3)
    f = unroll([v.node], [(v * 2.0).node])
    a, out = layout.given(INPUT, 0, 3, tiled=True), layout.given(OUTPUT, 0, 3, tiled=True)
    steps = [ProgramStep(TILE, 0, (0,), True, (layout.view(a, 0, None),), (layout.view(out, 0, None),))]
    runner = InterpreterRunner(f)
    asked: list[tuple[int, ...]] = []

    def make(number: int, *variant: bool) -> Any:
        asked.append((number, *variant))
        return runner.call(*variant)

    units = PlanUnits(make, [([3], [3])], [False])
    plan = layout.plan(1, 1, steps, units)
    for order in "CFCF":
        values = np.array(rng.normal(size=(2000, 3)), order=order)
        result = np.empty((2000, 3), order=order)
        assert plan.run([values], [result], 2000) is None
        np.testing.assert_array_equal(result, 2 * values)
    assert asked == [(0, False, False, False), (0, False, True, False)]  # rows, then columns
    other = InterpreterRunner(unroll([v.node], [(v * 3.0).node]))
    units.install(0, other.call())
    result = np.empty((5, 3))
    assert plan.run([np.ones((5, 3))], [result], 5) is None
    np.testing.assert_array_equal(result, np.full((5, 3), 3.0))
    with pytest.raises(ValueError, match="another program"):
        units.install(0, InterpreterRunner(TIMES_SINE).call())

    def fail(*_: Any) -> Any:
        raise KeyError("no unit")

    with pytest.raises(KeyError, match="no unit"):
        layout.plan(1, 1, steps, PlanUnits(fail, [([3], [3])], [False])).run([np.ones((5, 3))], [result], 5)


def test_arrays_that_do_not_fit_are_refused() -> None:
    layout, steps, f = network()
    plan = layout.plan(2, 2, steps, units_of(f))
    a, w, out, total = np.ones((3, 7)), np.ones((7, 12)), np.empty((3, 12)), np.empty((7, 12))
    frozen = np.empty((3, 12))
    frozen.flags.writeable = False
    for inputs, outputs, count in (
        ([a], [out, total], 3),
        ([a, w], [out, total], 4),
        ([a, w], [out, total], -1),
        ([a, w.T], [out, total], 3),
        ([a, w], [out[:2], total], 3),
        ([a, w], [frozen, total], 3),
        ([a, w[0]], [out, total], 3),
    ):
        with pytest.raises(ValueError, match=r"for a plan of|were expected|samples|read-only"):
            plan.run(inputs, outputs, count)
    with pytest.raises(TypeError):
        plan.run([a.astype(np.float32), w], [out, total], 3)
    with pytest.raises(TypeError):
        plan.run([a.tolist(), w], [out, total], 3)


def test_descriptions_that_lead_out_of_an_array_are_refused() -> None:
    """Each change of a right plan makes a wrong one."""
    layout = Layout(8)
    a, out, total = (
        layout.given(INPUT, 0, 5, tiled=True),
        layout.given(OUTPUT, 0, 5, tiled=True),
        layout.given(OUTPUT, 1, 5),
    )
    shared, between = layout.given(INPUT, 1, 5), layout.arena(5, tiled=True)
    square = layout.given(INPUT, 2, 5, 5)
    factors = factored(layout, square)
    whole, here = layout.view(a, 0, 1), layout.view(out, 0, 1)
    copy = CopyStep(TILE, (0, 5), True, whole, layout.view(between, 0, 1))
    run = ProgramStep(TILE, 0, (0, 5), True, (whole, layout.view(shared, 1)), (here,))
    product = ProductStep(TILE, (0, 5), True, whole, layout.view(shared, 1), layout.view(total, 1), accumulate=True)
    product = product._replace(b=layout.view(a, 0, 1))
    gather = GatherStep(TILE, (0, 5), True, False, 1, np.zeros(5, np.int64).tobytes(), whole, here)
    solve = FactorUse(BEFORE, False, "solve", *factors[2:6], shared, total, "singular")
    reduce = ReduceStep(TILE, (0, 5), True, "max", whole, layout.view(total, 1), True)
    units = units_of(TIMES_SINE)
    layout.plan(3, 2, [copy, run, product, gather, factors, solve, reduce], units)

    def axis(step: Any, field: str, *numbers: int) -> Any:
        view = getattr(step, field)
        view = view[0] if isinstance(view, tuple) and not isinstance(view, View) else view
        changed = View(view.array, (*view.axes[:-1], numbers))
        return step._replace(**{field: (changed, *getattr(step, field)[1:]) if field.endswith("s") else changed})

    def listed(*places: int, axis: int = 1, view: View = whole) -> View:
        return view._replace(listed=((axis, np.array(places, np.int64).tobytes()),))

    fixed = View(a, ((0, 0, 1, -1), (1, 1, 0, -1)))
    part = View(a, ((0, 0, 1, -1), (-1, 0, 1, 1)))
    several = whole._replace(listed=listed(0, 1, 2, 3, 4).listed * 2)
    layout.plan(3, 2, [run._replace(inputs=(listed(4, 0, 0, 1, 2), run.inputs[1]))], units)
    wrong: list[list[Any]] = [
        *(
            [run._replace(inputs=(view, run.inputs[1]))]
            for view in (
                listed(0, 0, 5, 0, 0),
                listed(0, 0, -1, 0, 0),
                listed(0, 0, 0, 0),
                listed(0, 0, 0, 0, 0, 0),
                listed(0, 0, 0, 0, 0, axis=0),
                listed(0, 0, 0, 0, 0, axis=2),
                listed(0, 0, 0, 0, 0, view=fixed),
                listed(0, view=part),
                several,
            )
        ),
        [run._replace(outputs=(listed(0, 1, 2, 3, 4, view=here),))],
        [copy._replace(input=listed(0, 1, 2, 3, 4))],
        [axis(copy, "input", 1, 1, 1, -1)],
        [axis(copy, "input", 1, 0, -1, -1)],
        [axis(copy, "input", 1, -1, 1, -1)],
        [axis(copy, "input", 2, 0, 1, -1)],
        [axis(copy, "input", 0, 0, 1, -1)],
        [axis(copy, "input", -1, 0, 1, 5)],
        [axis(copy, "output", 1, 0, 0, -1)],
        [axis(copy, "output", -1, 5, 0, -1)],
        [axis(run, "inputs", -1, 0, 1, 5)],
        [axis(run, "inputs", -1, 0, 2, 3)],
        [copy._replace(tiled=False)],
        [copy._replace(phase=BEFORE)],
        [copy._replace(phase=3)],
        [copy._replace(lengths=(0, 6))],
        [copy._replace(lengths=(0, -1))],
        [copy._replace(lengths=(0, *[1] * 9))],
        [copy._replace(input=View(99, whole.axes))],
        [copy._replace(input=View(a, ((0, 0, 1, -1),)))],
        [copy._replace(input=View(a, ((0, 1, 1, -1), (1, 0, 1, -1))))],
        [copy._replace(output=whole)],
        [copy._replace(output=layout.view(total, 1))],
        [run._replace(units=1)],
        [run._replace(sums=True)],
        [run._replace(kept=True)],
        [run._replace(accumulate=True)],
        [run._replace(inputs=(whole,))],
        [product._replace(accumulate=False)],
        [product._replace(c=here)],
        [gather._replace(indices=np.array([0, 0, 5, 0, 0]).tobytes())],
        [gather._replace(indices=np.array([0, 0, -1, 0, 0]).tobytes())],
        [gather._replace(indices=b"")],
        [gather._replace(axis_loop=0)],
        [gather._replace(axis_loop=2)],
        [reduce._replace(op="mean")],
        [solve],
        [factors, solve._replace(b=-1)],
        [factors, solve._replace(c=out)],
        [factors, solve._replace(op="pinv")],
        [factors, solve._replace(pivots=factors.state)],
        [factors._replace(a=shared)],
        [factors._replace(symmetric=3)],
        [factors._replace(pivots=factors.factor)],
        [factors._replace(tiled=True)],
        [CopyStep(BEFORE, (5,), False, layout.view(factors.pivots, 0), layout.view(total, 0))],
        [CallStep(TILE, True, abs, (a,), total)],
        [CallStep(BEFORE, False, abs, (a,), total)],
    ]
    for steps in wrong:
        with pytest.raises(ValueError, match=r"^a plan with "):
            layout.plan(3, 2, steps, units)
    good = layout.arrays
    for number, changes in (
        (a, {"kind": 7}),
        (a, {"number": 3}),
        (a, {"integer": True}),
        (out, {"number": 1}),
        (between, {"number": layout.bytes[True] - 8}),
        (between, {"number": -8}),
        (between, {"number": 4}),
        (between, {"shape": (7, 5)}),
        (factors.pivots, {"number": layout.arrays[factors.factor].number}),
        (shared, {"kind": CONSTANT, "number": 0, "data": b"12345678"}),
        (shared, {"kind": CONSTANT, "number": 0}),
        (shared, {"kind": COUNT}),
    ):
        layout.arrays = list(good)
        layout.arrays[number] = good[number]._replace(**changes)
        with pytest.raises(ValueError, match=r"^a plan with "):
            layout.plan(3, 2, [copy, factors], units)


def test_an_overwritten_array_is_read_in_order_of_the_steps() -> None:
    """Arrays of the arena may share memory: a later step's result where an earlier one's was."""
    layout = Layout(4)
    a, out = layout.given(INPUT, 0, 3, tiled=True), layout.given(OUTPUT, 0, 3, tiled=True)
    one, other = layout.arena(3, tiled=True), layout.arena(3, tiled=True)
    again = layout.arena(3, tiled=True)
    layout.arrays[again] = layout.arrays[again]._replace(number=layout.arrays[one].number)
    views = [layout.view(k, 0, 1) for k in (a, one, other, again, out)]
    steps = [
        ProgramStep(TILE, 0, (0, 3), True, (before, layout.view(a, 0, 1)), (after,))
        for before, after in itertools.pairwise(views)
    ]
    check(layout, steps, [rng.normal(size=(10, 3))], [np.empty((10, 3))], 10, [TIMES_SINE])
