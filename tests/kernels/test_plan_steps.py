# mypy: disable-error-code="attr-defined, call-arg, list-item, misc, no-any-return, operator"
"""Steps of a plan, against the reference in NumPy (``plan_reference.py``): products, moves, programs."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import symdiff as sd
from symdiff._kernels.plan import bind
from symdiff.lowering.plan import bound
from symdiff.lowering.plan.bound import (
    AFTER,
    ARENA,
    BEFORE,
    INPUT,
    OUTPUT,
    TILE,
    CopyStep,
    FillStep,
    GatherStep,
    ProductStep,
    ProgramStep,
    ReduceStep,
    ScanStep,
    View,
)
from symdiff.lowering.unroll import unroll
from tests.support.plan_layouts import (
    TIMES_SINE,
    Drawn,
    Floats,
    Layout,
    check,
    every,
    program,
    rng,
    units_of,
    x,
    y,
)
from tests.support.plan_reference import Reference


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


@pytest.mark.rows(1)
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
    for held in (values, np.asfortranarray(values), np.repeat(values, 2, 2)[:, :, ::2], values[:, ::-1]):
        outputs = [np.empty((2, columns), dtype), np.empty((4, rows), dtype)[::2]]
        check(layout, steps, [held], outputs, 1, tolerance=1e-5 if single else 1e-12)
        held[1, rows // 2, columns - 1] = np.nan
        layout.plan(1, 2, steps).run([held], outputs, 1)
        assert np.flatnonzero(np.isnan(outputs[0])).tolist() == [2 * columns - 1]
        assert np.flatnonzero(np.isnan(outputs[1])).tolist() == [rows + rows // 2]
        held[1, rows // 2, columns - 1] = 1.0


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


# ---------------------------------------------------------------------------- plan moves
# Reductions, scans, copies and lists of positions in plans, against the reference (``plan_reference.py``).


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
@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 8, 12, 16, 20])
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


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("width", [*range(1, 18), 24, 33])
def test_rows_of_one_sample_at_listed_positions(width: int, single: bool) -> None:
    """Rows are added one after the other, whatever vectors they are added by and whatever runs their positions have."""
    dtype = np.float32 if single else np.float64
    runs = [np.repeat(np.arange(9), 7), np.arange(20), np.full(5, 3), np.arange(9)[::-1], [4, 5, 4, 5, 6, 6]]
    positions = np.concatenate([*runs, rng.integers(0, 20, 40)])
    rows = rng.normal(size=(len(positions), width)).astype(dtype)
    layout = Layout(4, single)
    a, out = layout.given(INPUT, 0, *rows.shape), layout.given(OUTPUT, 0, 20, width)
    views = layout.view(a, 0, 1), layout.view(out, 0, 1)
    found, wanted = np.empty((20, width), dtype), np.zeros((20, width), dtype)
    step = GatherStep(BEFORE, rows.shape, False, True, 0, positions.astype(np.int64).tobytes(), *views)
    assert layout.plan(1, 1, [step], units_of()).run([rows], [found], 1, 1) is None
    np.add.at(wanted, positions, rows)
    np.testing.assert_array_equal(found, wanted)
    x = sd.matrix("x", 20, width)
    for backend in ("native", "interpreter"):
        kernel = sd.compile(x[positions] * 2.0, [x], batch=[], backend=backend)
        np.testing.assert_array_equal(kernel(rows[:20]), rows[:20][positions] * dtype(2.0))


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


# ---------------------------------------------------------------------------- plan programs
# Programs as steps of a plan, against the reference in NumPy (``plan_reference.py``).


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
    for f, by, value in (
        (np.linalg.tensorinv(A, ind=2), A, at),
        (np.linalg.norm(B) * B, B, other),
        (np.einsum("abcde,xbcdy->aexy", B, B), B, other),
    ):
        jacobian = sd.compile(sd.jacobian(f, by), inputs=[by], backend=backend)(value)
        kernel, way, h = sd.compile(f, inputs=[by], backend=backend), np.cos(value), 1e-4
        one, two = (kernel(value + k * h * way) - kernel(value - k * h * way) for k in (1, 2))
        found = (jacobian * way).sum(tuple(range(f.ndim, f.ndim + by.ndim)))
        np.testing.assert_allclose(found, (8 * one - two) / (12 * h), rtol=1e-7, atol=1e-7)


def test_an_axis_that_a_matrix_operation_gives_is_no_axis_of_tiles() -> None:
    A, x = sd.matrix("A", "n", "n", symmetric=True), sd.vector("x", "n")
    at, v = np.random.default_rng(3).normal(size=(5, 5)), np.random.default_rng(4).normal(size=5)
    values, vectors = np.linalg.eigh(A)
    f = (vectors[:, :2].T @ x) ** 2 * values[:2]
    own, turned = np.linalg.eigh((at + at.T) / 2)
    found = sd.compile(f, inputs=[A, x], backend="interpreter")((at + at.T) / 2, v)
    np.testing.assert_allclose(found, (turned[:, :2].T @ v) ** 2 * own[:2], rtol=1e-12)
