"""Programs of numbers and of pairs of rows: which inputs elements share, and how these lie, change no bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd
from symdiff.lowering.plan.calls import plan_call
from symdiff.lowering.plan.steps import LoopStep, Product

Floats = npt.NDArray[np.floating[Any]]


def laid_out(rng: np.random.Generator, array: Floats) -> Floats:
    """Return the same numbers with other strides."""
    way = rng.integers(0, 4)
    if way == 0:
        return np.asfortranarray(array)
    if way == 1:
        return np.repeat(array, 2, axis=0)[::2]
    if way == 2:
        return array[::-1].copy()[::-1]
    return array


def pairs(form: int, x: Any, y: Any) -> Any:
    """Return one of some formulas of all pairs of rows."""
    difference = x[:, None, :] - y[None, :, :]
    square = (difference**2).sum(axis=2)
    if form == 0:
        return np.exp(-square)
    if form == 1:
        return np.sqrt(1 + square) * x[:, None, 0]
    if form == 2:
        return np.exp(-square)[:, :, None] * difference
    return np.log(1 + square) + y[None, :, 1]


@pytest.mark.parametrize("seed", range(24))
def test_pairs_of_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    few, many, width = int(rng.integers(1, 70)), int(rng.integers(1, 90)), int(rng.integers(2, 23))
    form, letters, single = int(rng.integers(0, 4)), bool(rng.integers(0, 2)), bool(rng.integers(0, 4) == 0)
    x = sd.matrix("x", "i" if letters else few, width)
    y = sd.matrix("y", "j" if letters else many, width)
    dtype = np.float32 if single else np.float64
    a, b = (laid_out(rng, rng.normal(scale=0.25, size=(n, width)).astype(dtype)) for n in (few, many))
    formula = pairs(form, x, y)
    results = [
        sd.compile(formula, [x, y], batch=[], backend=backend, threads=threads)(a, b)
        for backend in ("native", "interpreter")
        for threads in (1, 2)
    ]
    rtol, atol = (2e-4, 1e-6) if single else (1e-12, 1e-14)
    np.testing.assert_allclose(results[0], pairs(form, a, b), rtol=rtol, atol=atol)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def test_a_row_that_stays_along_the_inner_loop_is_read_from_one_place() -> None:
    x, y = sd.matrix("x", 40, 3), sd.matrix("y", 50, 3)
    plan = plan_call([x.node, y.node], [pairs(0, x, y).node], [False, False], 10_000)
    (step,) = plan.steps
    assert isinstance(step, LoopStep)
    (piece,) = step.pieces
    assert sorted(step.shared(piece)) == [False, True]
    plan = plan_call([x.node, y.node], [pairs(0, x, y).sum().node], [False, False], 10_000)
    for step in plan.steps:  # sums go over all runs in one order
        if isinstance(step, LoopStep) and step.total:
            assert not any(any(step.shared(piece)) for piece in step.pieces)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_as_they_lie(backend: str, dtype: type[np.floating[Any]]) -> None:
    rng = np.random.default_rng(5)
    maps: list[tuple[Any, Any]] = [
        (sd.compile("a*x + b", a=(), x=(), b=(), backend=backend), lambda a, x, b: a * x + b),
        (sd.compile("where(a < x, abs(b), a - x)", a=(), x=(), b=(), backend=backend),
         lambda a, x, b: np.where(a < x, np.abs(b), a - x)),
    ]  # fmt: skip
    sums = sd.compile("a*x + b", a=(), x=(), b=(), reduce="sum", backend=backend)
    for n in (1, 2, 7, 8, 9, 40, 1003):
        for _ in range(12):
            ways = [
                np.full(1, 0.75, dtype), rng.normal(size=n).astype(dtype), rng.normal(size=3 * n).astype(dtype)[::3],
                rng.normal(size=n).astype(dtype)[::-1], np.broadcast_to(dtype(1.5), n),
            ]  # fmt: skip
            given = [ways[int(k)] for k in rng.integers(0, len(ways), 3)]
            for kernel, function in maps:
                want = function(*given)
                np.testing.assert_array_equal(kernel(*given), want)
                out = np.full(2 * len(want), np.nan, dtype)[::2]
                kernel(*given, out=out)
                np.testing.assert_array_equal(out, want)
            want = np.sum(np.broadcast_to(maps[0][1](*given), max(map(len, given))).astype(float))
            np.testing.assert_allclose(sums(*given), want, rtol=1e-4 if dtype is np.float32 else 1e-12, atol=1e-3)


def test_from_where_on_products_over_samples_are_steps() -> None:
    def steps(rows: int, columns: int, total: bool) -> list[type]:
        w, x, z = sd.matrix("w", rows, columns), sd.vector("x", columns), sd.vector("z", rows)
        if total:  # an outer product summed over the samples
            formula: Any = np.multiply.outer(np.tanh(z), np.tanh(x))
            inputs, batched = (z, x), [True, True]
        else:
            formula, inputs, batched = np.tanh(w @ x), (w, x), [False, True]
        plan = plan_call([a.node for a in inputs], [formula.node], batched, 10_000, total=total)
        return [type(step) for step in plan.steps]

    assert Product in steps(16, 16, False)
    assert Product not in steps(16, 15, False)
    assert Product in steps(8, 8, True)
    assert Product not in steps(7, 9, True)


@pytest.mark.parametrize("backend", ["interpreter", "auto"])
@pytest.mark.parametrize("n", [16, 17, 31, 40, 64, 65])
def test_sums_of_short_rows_have_the_bits_of_each_row_alone(n: int, backend: Any) -> None:
    """Elements of many rows are computed at once; each row is added up as it is by itself."""
    rng = np.random.default_rng(n)
    x, w, s = sd.vector("x", "n"), sd.vector("w", "n"), sd.scalar("s")
    results = np.sum(w * np.exp(x)), np.sum(np.sin(s * x)), np.sum(x[1:] * x[:-1])
    options: dict[str, Any] = {"inputs": [x, w, s], "reproducible": True, "backend": backend}
    kernel = sd.compile(results, **options)
    for dtype in (np.float64, np.float32):
        given = [rng.normal(size=shape).astype(dtype) for shape in ((700, n), (n,), (700,))]
        given[0][3] = -0.0
        given[0][5, 2] = np.nan
        rows = laid_out(rng, given[0]), given[1], laid_out(rng, given[2])
        found = kernel(*rows)
        for k in (0, 3, 5, 127, 128, 699):
            alone = kernel(given[0][k], given[1], given[2][k])
            for several, one in zip(found, alone, strict=True):
                np.testing.assert_array_equal(several[k], one)
                np.testing.assert_array_equal(np.signbit(several[k]), np.signbit(one))
        known = np.isfinite(given[0]).all(axis=1)
        wanted = (np.exp(given[0]) @ given[1].astype(float))[known]
        np.testing.assert_allclose(found[0][known], wanted, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-4)
    if backend == "auto":  # with native code of both kinds
        kernel.wait()
        for got, wanted in zip(kernel(*rows), found, strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_a_check_that_fails_in_a_short_row_names_the_row() -> None:
    x = sd.array("x", ("n", 2, 2))
    kernel = sd.compile(np.sum(np.linalg.inv(x)[:, 0, 0]))
    X = np.random.default_rng(3).normal(size=(900, 20, 2, 2))
    X[611, 7] = 1.0
    with pytest.raises(sd.SingularMatrixError) as caught:
        kernel(X)
    assert caught.value.index == (611,)


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_written_in_parts_have_the_bits_of_their_elements(backend: Any, dtype: Any) -> None:
    rng = np.random.default_rng(8)
    A, x = sd.matrix("A", "m", "n"), sd.vector("x", "n")
    formulas: list[Callable[[Any, Any], Any]] = [
        (lambda A, x: np.roll(A, 1, axis=1) * A),
        (lambda A, x: np.roll(A * x, -2, axis=1) - A),
        (lambda A, x: np.concatenate([A[:, 3:] * x[:-3], A * A], axis=1)),
        (lambda A, x: np.pad(A[:, 1:] * A[:, :-1], [(1, 0), (2, 1)], constant_values=2.0)),
        (lambda A, x: np.stack([A, A * x])[:, :, 1:]),
    ]
    for formula in formulas:
        kernel = sd.compile(formula(A, x), inputs=[A, x], backend=backend)
        for n in (4, 7, 8, 9, 15, 16, 17, 23, 24, 31, 40, 63, 64, 65, 97, 130):
            m = int(rng.integers(1, 9))
            given = rng.normal(size=(m, n)).astype(dtype), rng.normal(size=n).astype(dtype)
            np.testing.assert_array_equal(kernel(*(laid_out(rng, part) for part in given)), formula(*given))
            several = rng.normal(size=(5, m, n)).astype(dtype)
            wanted = np.stack([formula(one, given[1]) for one in several])
            np.testing.assert_array_equal(kernel(several, given[1]), wanted)
            room = np.empty((*wanted.shape[:-1], 2 * wanted.shape[-1]), dtype)[..., ::2]
            np.testing.assert_array_equal(kernel(several, given[1], out=room), wanted)


def test_rows_in_parts_do_not_depend_on_threads() -> None:
    rng = np.random.default_rng(9)
    A = sd.matrix("A", "m", "n")
    formula = np.exp(-np.roll(A, 1, axis=1) * A) / (1 + A * A)
    one, three = (sd.compile(formula, backend="interpreter", threads=threads) for threads in (1, 3))
    for n in (17, 100, 1001):
        values = rng.normal(size=(300_000 // n, n))
        np.testing.assert_array_equal(one(values), three(values))
