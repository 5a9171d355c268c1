# mypy: disable-error-code="attr-defined, call-arg, list-item, misc, no-any-return, operator"
"""Reductions, scans, copies and lists of positions in plans, against the reference (``plan_reference.py``)."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from symdiff.lowering.plan import bound
from symdiff.lowering.plan.bound import (
    BEFORE,
    INPUT,
    OUTPUT,
    TILE,
    CopyStep,
    FillStep,
    GatherStep,
    ProgramStep,
    ReduceStep,
    ScanStep,
    View,
)
from tests.support.plan_layouts import (
    Drawn,
    Layout,
    check,
    program,
    rng,
    x,
    y,
)
from tests.support.plan_reference import Reference


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
