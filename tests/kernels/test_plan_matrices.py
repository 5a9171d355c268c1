# mypy: disable-error-code="attr-defined, call-arg, list-item, misc, no-any-return, operator"
"""Factorizations in plans: every kind of matrix in one batch, beside plan_reference.py and alone."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff._kernels.matrix.batches import USUAL
from symdiff.errors import SingularMatrixError
from symdiff.lowering.plan import bound
from symdiff.lowering.plan.bound import BEFORE, INPUT, OUTPUT, FactorStep
from symdiff.lowering.plan.calls import plan_call
from symdiff.runtime.toolchain.load import native_target
from tests.support.plan_layouts import (
    Floats,
    Layout,
    check,
    factored,
    rng,
    use,
)
from tests.support.plan_reference import Reference

SIZES = [1, 2, 3, 5, 8, 13, 17, 31, 48, 49, 64, 65, 70]
#: Samples of a batch: of a last tile, and of a last group of lanes, some are missing.
COUNT = 29
DETERMINANTS = ("det", "logdet", "logabsdet")
DTYPES = (np.float64, np.float32)


def same(one: Any, other: Any) -> bool:
    """Tell whether all bits are the same; nan is nan."""
    return np.array_equal(one, other, equal_nan=True)


def kinds(n: int, seed: int = 0) -> Floats:
    """Return matrices of all kinds that have inverses: general, definite, symmetric and not definite."""
    g = np.random.default_rng([n, seed])
    a = g.normal(size=(COUNT, n, n)) / np.sqrt(n) + 2 * np.eye(n) * g.choice([-1.0, 1.0], size=(COUNT, 1, n))
    a = a[:, g.permutation(n)]  # pivots are not on the diagonal
    square = a @ a.transpose(0, 2, 1)
    a[::3] = ((square + square.transpose(0, 2, 1)) / 2)[::3]
    if n > 1:
        a[6::9, n - 1, n - 1] *= -1.0  # symmetric, of which elimination from above sees the end last
        a[12, 0, n - 1] += 1.0  # positive, and not symmetric
    return a


def spoil(a: Floats) -> Floats:
    """Make some of the matrices singular, or have a nan, or both."""
    n = a.shape[-1]
    a[2, n // 2] = 0.0
    a[9, :, n - 1] = a[9, n - 1] = 0.0
    a[10, n - 1, 0] = np.nan
    a[18, 0, 0] = np.nan
    a[19] = 0.0
    a[19, n - 1, n - 1] = np.nan
    return a


def laid(layout: Layout, a: int, op: str, step: FactorStep, outs: list[Floats], b: int = -1, k: int = 0) -> Any:
    """Return a use of a factorization whose result is one more output, with an array for it."""
    n = layout.arrays[a].shape[-1]
    own = () if op in DETERMINANTS else (n, n) if b < 0 else (n, k) if k else (n,)
    out = layout.given(OUTPUT, len(outs), *own, tiled=True)
    outs.append(np.empty((COUNT, *own), np.float32 if layout.single else np.float64))
    return use(op, step, b, out, "" if op in DETERMINANTS else "singular", True)


def everything(n: int, symmetric: int, single: bool, tile: int = 12, lanes: int = 0) -> Any:
    """Return a layout with steps that ask all of one factorization, and outputs for a batch."""
    layout = Layout(tile, single, lanes or native_target().lanes)
    a = layout.given(INPUT, 0, n, n, tiled=True)
    sides = [(layout.given(INPUT, 1, n, tiled=True), 0)]
    sides += [(layout.given(INPUT, 2, n, 3, tiled=True), 3), (layout.given(INPUT, 3, n, 17, tiled=True), 17)]
    step = factored(layout, a, symmetric)
    steps: list[bound.BoundStep] = [step]
    outs: list[Floats] = []
    steps += [laid(layout, a, op, step, outs) for op in (*DETERMINANTS, "inv", "inv_transposed")]
    for op in ("solve", "solve_transposed"):
        steps += [laid(layout, a, op, step, outs, b, k) for b, k in sides]
    return layout, steps, outs


def right_sides(n: int, dtype: Any) -> list[Floats]:
    g = np.random.default_rng(n)
    return [g.normal(size=(COUNT, n, *own)).astype(dtype) for own in ((), (3,), (17,))]


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("symmetric", [0, 1])
@pytest.mark.parametrize("n", SIZES)
def test_all_kinds_of_matrices_in_one_batch(n: int, symmetric: int, single: bool) -> None:
    dtype = np.float32 if single else np.float64
    layout, steps, outs = everything(n, symmetric, single)
    inputs = [kinds(n).astype(dtype), *right_sides(n, dtype)]
    check(layout, steps, inputs, outs, COUNT, tolerance=2e-5 if single else 1e-11)
    turned = [np.asfortranarray(x) for x in outs]
    check(layout, steps, [np.asfortranarray(x) for x in inputs], turned, COUNT, tolerance=2e-5 if single else 1e-11)
    assert all(same(one, other) for one, other in zip(outs, turned, strict=True))


@pytest.mark.parametrize("symmetric", [0, 1])
@pytest.mark.parametrize("n", SIZES)
def test_determinants_of_singular_matrices_and_of_nan(n: int, symmetric: int) -> None:
    layout = Layout(12)
    a = layout.given(INPUT, 0, n, n, tiled=True)
    step = factored(layout, a, symmetric)
    outs: list[Floats] = []
    steps = [step, *(laid(layout, a, op, step, outs) for op in DETERMINANTS)]
    values = spoil(kinds(n))
    wanted = [np.empty(COUNT) for _ in outs]
    with np.errstate(all="ignore"):
        Reference(layout.arrays, steps, [], False).run([values], wanted, COUNT)
    assert layout.plan(1, 3, steps).run([values], outs, COUNT) is None
    assert np.isnan(outs[0][[10, 18, 19]]).all()
    assert (outs[0][[2, 9]] == 0).all()
    for found, expected in zip(outs, wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("symmetric", [0, 1])
@pytest.mark.parametrize("n", [1, 3, 8, 13, 30, 48, 64, 65])
def test_a_sample_has_the_bits_that_it_has_alone(n: int, symmetric: int, single: bool) -> None:
    dtype = np.float32 if single else np.float64
    inputs = [kinds(n).astype(dtype), *right_sides(n, dtype)]
    layout, steps, outs = everything(n, symmetric, single)
    plan = layout.plan(4, len(outs), steps)
    assert plan.run(inputs, outs, COUNT) is None
    for k in range(COUNT):
        alone = [np.empty_like(out[:1]) for out in outs]
        assert plan.run([x[k : k + 1] for x in inputs], alone, 1) is None
        assert all(same(one[0], out[k]) for one, out in zip(alone, outs, strict=True))
    for lanes in (2, 4, 8):
        if n <= 64 and lanes <= native_target().lanes:
            layout, steps, others = everything(n, symmetric, single, 16, lanes)
            assert layout.plan(4, len(outs), steps).run(inputs, others, COUNT, 2) is None
            assert all(same(one, other) for one, other in zip(outs, others, strict=True))
    spoiled = inputs[0].copy()
    spoiled[[4, 6]] = np.nan  # one general, one definite
    spoiled[5] = np.inf
    after = [np.empty_like(out) for out in outs]
    found = plan.run([spoiled, *inputs[1:]], after, COUNT)
    assert found is None
    others = [k for k in range(COUNT) if k not in (4, 5, 6)]
    assert all(same(one[others], other[others]) for one, other in zip(outs, after, strict=True))
    assert all(np.isnan(one[[4, 6]]).all() for one in after)


@pytest.mark.parametrize("op", ["inv", "inv_transposed"])
@pytest.mark.parametrize("symmetric", [0, 1])
@pytest.mark.parametrize("n", [2, 13, 30, 64, 65])
def test_the_only_use_of_a_factorization(n: int, symmetric: int, op: str) -> None:
    """Where an inverse is all that is asked, bits and failures are those beside other uses."""
    values = kinds(n)
    found: list[Floats] = []
    for others in ((), ("det",)):
        layout = Layout(12)
        a = layout.given(INPUT, 0, n, n, tiled=True)
        step = factored(layout, a, symmetric)
        outs: list[Floats] = []
        steps = [step, *(laid(layout, a, name, step, outs) for name in (op, *others))]
        plan = layout.plan(1, len(outs), steps)
        for matrices in (values, values[1::3], np.asfortranarray(values)):  # the second has no definite one
            assert plan.run([matrices], [out[: len(matrices)] for out in outs], len(matrices)) is None
            found.append(outs[0][: len(matrices)].copy())
        bad = values.copy()
        bad[7, 0] = np.nan
        assert plan.run([bad], outs, COUNT) is None
        assert np.isnan(outs[0][7]).all()
        assert not np.isnan(np.delete(outs[0], 7, 0)).any()
        bad[20] = 0.0
        assert plan.run([bad], outs, COUNT) == ((20,), "singular")
        bad[3, n - 1] = 0.0
        assert plan.run([bad], outs, COUNT, 2) == ((3,), "singular")
    assert all(same(one, other) for one, other in zip(found[:3], found[3:], strict=True))
    exact = np.linalg.inv(values)
    np.testing.assert_allclose(found[0], exact.swapaxes(1, 2) if "trans" in op else exact, rtol=0, atol=1e-10)


@pytest.mark.parametrize("definite", [False, True])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 6, 9, 12, 30, 47, 64, 65])
def test_samples_share_a_matrix(n: int, single: bool, definite: bool) -> None:
    dtype = np.float32 if single else np.float64
    layout = Layout(40, single)
    a = layout.given(INPUT, 0, n, n)
    sides = [layout.given(INPUT, 1 + k, n, *own, tiled=True) for k, own in enumerate(((), (2,), (3,), (11,)))]
    step = factored(layout, a, 1)
    steps: list[bound.BoundStep] = [step]
    shapes = []
    for op in ("solve", "solve_transposed"):
        for b in sides:
            shapes.append(layout.arrays[b].shape[1:])
            steps.append(use(op, step, b, layout.given(OUTPUT, len(shapes) - 1, *shapes[-1], tiled=True), "no", True))
    g = np.random.default_rng(n)
    matrix = kinds(n)[0 if definite else 1].astype(dtype)
    for count in (1, 2, 7, 8, 9, 33, 100):
        outs = [np.empty((count, *shape), dtype) for shape in shapes]
        inputs = [matrix, *(g.normal(size=(count, *shape)).astype(dtype) for shape in shapes[:4])]
        check(layout, steps, inputs, outs, count, tolerance=1e-5 if single else 1e-11)
        turned = [np.empty((*shape[::-1], count), dtype).T for shape in shapes]
        check(layout, steps, [np.asfortranarray(x) for x in inputs], turned, count, tolerance=1e-5 if single else 1e-11)
        plan = layout.plan(5, len(outs), steps)
        last = [np.empty_like(out[:1]) for out in outs]
        assert plan.run([matrix, *(x[-1:] for x in inputs[1:])], last, 1) is None
        for out, other, alone in zip(outs, turned, last, strict=True):
            assert same(out, other)
            if n <= 64:
                assert same(out[-1], alone[0])
    assert plan.run([matrix * 0, *inputs[1:]], outs, count) == ((), "no")
    inputs[2][5] = np.nan
    before = [out.copy() for out in outs]
    plan.run(inputs, before, count)
    if n <= 64:
        assert all(not np.isnan(np.delete(one, 5, 0)).any() for one in before)


@pytest.mark.parametrize("n", [3, 20, 66])
def test_stacks_of_each_sample(n: int) -> None:
    """Several matrices for each sample, and right sides or matrices that samples share."""
    layout = Layout(4)
    a, shared = layout.given(INPUT, 0, 3, n, n, tiled=True), layout.given(INPUT, 1, 3, n, n)
    b, few = layout.given(INPUT, 2, 3, n, 2, tiled=True), layout.given(INPUT, 3, 3, n, 2)
    own, one = factored(layout, a, 1), factored(layout, shared, 1)
    assert one.phase == BEFORE
    outs: list[Floats] = []
    steps: list[bound.BoundStep] = [own, one]
    for step, right in ((own, b), (own, few), (one, b), (one, few)):
        for op in ("solve", "solve_transposed"):
            steps.append(use(op, step, right, layout.given(OUTPUT, len(outs), 3, n, 2, tiled=True), "singular", True))
            outs.append(np.empty((9, 3, n, 2)))
    steps.append(use("inv", own, -1, layout.given(OUTPUT, len(outs), 3, n, n, tiled=True), "singular", True))
    outs.append(np.empty((9, 3, n, n)))
    values = kinds(n)[:27].reshape(9, 3, n, n)
    g = np.random.default_rng(0)
    inputs = [values, values[4].copy(), g.normal(size=(9, 3, n, 2)), g.normal(size=(3, n, 2))]
    check(layout, steps, inputs, outs, 9, tolerance=1e-10)
    values[5, 1] = 0.0
    assert layout.plan(4, len(outs), steps).run(inputs, outs, 9) == ((5,), "singular")


@pytest.mark.parametrize("n", [3, 13, 64, 65])
def test_factors_of_matrices_declared_definite(n: int) -> None:
    values = kinds(n)
    square = values @ values.transpose(0, 2, 1)
    values[...] = np.tril(square) + np.triu(np.full((n, n), 7.0), 1)  # the upper triangle is not read
    layout = Layout(12)
    a = layout.given(INPUT, 0, n, n, tiled=True)
    step = factored(layout, a, 2)
    outs: list[Floats] = []
    steps = [step, laid(layout, a, "cholesky", step, outs), laid(layout, a, "inv", step, outs)]
    plan = layout.plan(1, 2, steps)
    assert plan.run([values], outs, COUNT) is None
    symmetric = np.tril(values) + np.tril(values, -1).transpose(0, 2, 1)
    np.testing.assert_allclose(outs[0], np.linalg.cholesky(symmetric), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(outs[1], np.linalg.inv(symmetric), rtol=1e-8, atol=1e-8)
    before = [out.copy() for out in outs]
    values[11, n - 1, n - 1] = np.nan
    assert plan.run([values], outs, COUNT) is None
    assert all(np.isnan(out[11]).any() for out in outs)
    for one, other in zip(before, outs, strict=True):
        assert same(np.delete(one, 11, 0), np.delete(other, 11, 0))
    values[21, 1, 1] = -1.0
    assert plan.run([values], outs, COUNT) == ((21,), "singular")
    values[4] = 0.0
    assert plan.run([values], outs, COUNT, 2) == ((4,), "singular")


def test_the_gradient_of_a_determinant_is_no_transposed_copy() -> None:
    A = sd.matrix("A", 20, 20)
    slope = sd.gradient(sd.logdet(A), A)
    (step,) = plan_call([A.node], [slope.node], [True], 2000).steps
    assert getattr(step, "op", None) == "inv_transposed"
    both = plan_call([A.node], [slope.node, sd.inv(A).node], [True], 2000).steps
    assert [getattr(step, "op", "") for step in both] == ["inv", ""]
    for n in (20, 65):
        A = sd.matrix("A", n, n)
        values = kinds(n)
        compute = sd.compile(sd.gradient(sd.logdet(A), A), [A], backend="interpreter")
        wanted = np.linalg.inv(values).swapaxes(1, 2)
        np.testing.assert_allclose(compute(values), wanted, rtol=0, atol=1e-10)
        np.testing.assert_allclose(compute(values[1]), wanted[1], rtol=0, atol=1e-10)


def test_small_matrices_need_no_scipy() -> None:
    """SciPy's modules take tens of milliseconds to import."""
    text = """
import sys, numpy as np, symdiff as sd
A, b = sd.matrix("A", 20, 20), sd.vector("b", 20)
compute = sd.compile([sd.gradient(sd.logdet(A), A), sd.solve(A, b)], [A, b], backend="interpreter")
compute(np.stack([np.eye(20)] * 3), np.ones(20))
assert compute.stats["numpy_steps"] == []
print("scipy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("first", ["cholesky", "inv"])
def test_what_is_made_beside_a_cholesky_factor_is_made_of_the_whole_matrix(first: str) -> None:
    """A Cholesky factor is of the lower triangle alone; an inverse, of which the upper one is other, is not."""
    a = sd.matrix("A", 20, 20)
    outputs = {"cholesky": np.linalg.cholesky(a), "inv": np.linalg.inv(a), "logdet": sd.logdet(a)}
    kernel = sd.compile({name: outputs[name] for name in sorted(outputs, key=lambda name: name != first)}, [a])
    rng = np.random.default_rng(0)
    whole = rng.normal(size=(20, 20)) / 20 + 4 * np.eye(20)
    found = kernel(whole)
    np.testing.assert_allclose(found["inv"], np.linalg.inv(whole), rtol=1e-12)
    np.testing.assert_allclose(found["logdet"], np.linalg.slogdet(whole)[1], rtol=1e-12)
    np.testing.assert_allclose(found["cholesky"], np.linalg.cholesky(np.tril(whole)), rtol=1e-12, atol=1e-15)


def test_matrices_beyond_the_kernels_are_of_lapack() -> None:
    n = USUAL + 1
    rng = np.random.default_rng(11)
    general, vector = rng.normal(size=(2, n, n)) + 40 * np.eye(n), rng.normal(size=n)
    definite, right = general @ general.swapaxes(1, 2) / n, np.broadcast_to(vector, (2, n))[..., None]
    for batch in (general, definite):
        for text, wanted in (
            ("inv(A)", np.linalg.inv(batch)),
            ("inv(A).T", np.linalg.inv(batch).swapaxes(1, 2)),
            ("solve(A, x)", np.linalg.solve(batch, right)[..., 0]),
            ("solve(A.T, x)", np.linalg.solve(batch.swapaxes(1, 2), right)[..., 0]),
            ("logabsdet(A)", np.linalg.slogdet(batch)[1]),
        ):
            shapes = {"A": (n, n), **({"x": n} if "x" in text else {})}
            kernel = sd.compile(text, shapes=shapes, backend="interpreter")
            assert kernel.stats["bits"] == "library"
            result = kernel(batch, vector) if "x" in text else kernel(batch)
            np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-9)
    factors = sd.compile("cholesky(A)", A=(n, n), backend="interpreter")(definite)
    np.testing.assert_allclose(factors, np.linalg.cholesky(definite), rtol=1e-9, atol=1e-9)
    general[1, :, 5] = general[1, :, 9] = 0.0
    with pytest.raises(SingularMatrixError, match="sample 1 of the batch"):
        sd.compile("inv(A)", A=(n, n), backend="interpreter")(general)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 16, 17, 25, 26, 32, 33])
def test_spectra_of_batches_are_those_of_each_matrix(n: int) -> None:
    """Equal, zero, clustered, huge and tiny eigenvalues, and nan: the same alone and in a batch."""
    rng = np.random.default_rng(n)
    matrices = rng.normal(size=(29, n, n))
    turned = np.linalg.qr(rng.normal(size=(n, n)))[0]
    spectra = {
        0: np.ones(n),
        1: np.zeros(n),
        2: 1 + 1e-13 * rng.normal(size=n),
        3: np.eye(n)[0],
        4: np.repeat([-2.0, 3.0], n)[:: 2][:n],
        5: np.logspace(0, -12, n),
    }
    for k, values in spectra.items():
        matrices[k] = (turned * values) @ turned.T
    matrices[6], matrices[7], matrices[8] = 1e300 * matrices[9], 1e-300 * matrices[9], np.diag(np.arange(n)[::-1])
    matrices[10, 0, -1], matrices[11, -1, 0] = np.nan, np.inf
    x = sd.matrix("x", n, n)
    both, alone = sd.xp.linalg.eigh(x), sd.compile(np.linalg.eigvalsh(x), [x])
    kernel = sd.compile([both.eigenvalues, both.eigenvectors], [x])
    values, vectors = kernel(matrices)
    only = alone(matrices)
    for found in (values, vectors, only):
        assert np.isnan(found[10:12]).all()
    for k, own in enumerate(matrices):
        again = kernel(own)
        np.testing.assert_array_equal(again[0], values[k])
        np.testing.assert_array_equal(again[1], vectors[k])
        np.testing.assert_array_equal(alone(own), only[k])
        if k in (10, 11):
            continue
        part = own / 2 + own.T / 2
        size, expected = np.abs(part).max() or 1.0, np.linalg.eigvalsh(part)
        for found in (values[k], only[k]):
            assert (np.diff(found) >= 0).all()
            np.testing.assert_allclose(found / size, expected / size, rtol=0, atol=4e-15 * n)
        np.testing.assert_allclose(vectors[k].T @ vectors[k], np.eye(n), rtol=0, atol=4e-15 * n)
        residual = (part / size) @ vectors[k] - vectors[k] * (values[k] / size)
        np.testing.assert_allclose(residual, 0, rtol=0, atol=4e-15 * n)
        if k > 11:  # of which no two eigenvalues are near each other: LAPACK's signs
            np.testing.assert_allclose(vectors[k], np.linalg.eigh(part)[1], rtol=0, atol=1e-9)
    shuffled = rng.permutation(29)
    np.testing.assert_array_equal(kernel(matrices[shuffled])[1], vectors[shuffled])
    np.testing.assert_array_equal(alone(matrices.swapaxes(-1, -2)), only)
    narrow = alone(matrices[12:].astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, only[12:], rtol=0, atol=2e-6 * n)


# ---------------------------------------------------------------------------- plan factors
# Factorizations as steps of a plan, against the reference in NumPy (``plan_reference.py``).


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
