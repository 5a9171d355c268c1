# mypy: disable-error-code="attr-defined, call-arg, list-item, misc, no-any-return, operator"
"""Programs as steps of a plan, against the reference in NumPy (``plan_reference.py``)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.lowering.plan.bound import BEFORE, INPUT, OUTPUT, TILE, CopyStep, FillStep, ProgramStep, View
from symdiff.lowering.unroll import unroll
from tests.support.plan_layouts import (
    TIMES_SINE,
    Floats,
    Layout,
    check,
    program,
    rng,
    units_of,
)
from tests.support.plan_reference import Reference


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


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_arrays_of_more_axes_than_a_step_has_loops(backend: Any) -> None:
    A, B = sd.array("A", (4, 3, 6, 1, 2)), sd.array("B", tuple("abcde"))
    at = np.random.default_rng(1).normal(size=(4, 3, 6, 1, 2))
    other = np.random.default_rng(2).normal(size=(2, 3, 2, 2, 3))
    for f, x, value in (
        (np.linalg.tensorinv(A, ind=2), A, at),
        (np.linalg.norm(B) * B, B, other),
        (np.einsum("abcde,xbcdy->aexy", B, B), B, other),
    ):
        jacobian = sd.compile(sd.jacobian(f, x), inputs=[x], backend=backend)(value)
        kernel, way, h = sd.compile(f, inputs=[x], backend=backend), np.cos(value), 1e-4
        one, two = (kernel(value + k * h * way) - kernel(value - k * h * way) for k in (1, 2))
        found = (jacobian * way).sum(tuple(range(f.ndim, f.ndim + x.ndim)))
        np.testing.assert_allclose(found, (8 * one - two) / (12 * h), rtol=1e-7, atol=1e-7)


def test_an_axis_that_a_matrix_operation_gives_is_no_axis_of_tiles() -> None:
    A, x = sd.matrix("A", "n", "n", symmetric=True), sd.vector("x", "n")
    at, v = np.random.default_rng(3).normal(size=(5, 5)), np.random.default_rng(4).normal(size=5)
    values, vectors = np.linalg.eigh(A)
    f = (vectors[:, :2].T @ x) ** 2 * values[:2]
    own, turned = np.linalg.eigh((at + at.T) / 2)
    found = sd.compile(f, inputs=[A, x], backend="interpreter")((at + at.T) / 2, v)
    np.testing.assert_allclose(found, (turned[:, :2].T @ v) ** 2 * own[:2], rtol=1e-12)
