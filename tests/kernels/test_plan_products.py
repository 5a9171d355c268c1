# mypy: disable-error-code="attr-defined, call-arg, list-item, misc, no-any-return, operator"
"""Products and sums over rows as steps of a plan, against the reference in NumPy (``plan_reference.py``)."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

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
    ProductStep,
    ReduceStep,
    View,
)
from tests.support.plan_layouts import (
    Drawn,
    Floats,
    Layout,
    check,
    every,
    rng,
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
