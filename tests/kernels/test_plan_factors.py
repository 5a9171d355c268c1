# mypy: disable-error-code="attr-defined, call-arg, list-item, misc, no-any-return, operator"
"""Factorizations as steps of a plan, against the reference in NumPy (``plan_reference.py``)."""

from __future__ import annotations

import numpy as np
import pytest

from symdiff.lowering.plan import bound
from symdiff.lowering.plan.bound import INPUT, OUTPUT
from tests.support.plan_layouts import (
    Floats,
    Layout,
    check,
    factored,
    rng,
    use,
)


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
