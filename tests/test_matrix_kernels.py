# mypy: disable-error-code="misc"
"""Kernels of matrices: each against the same written out in Python, to the bit, and against NumPy and mpmath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from symdiff._kernels.matrix.batches import MOST, Matrices
from symdiff.runtime.toolchain.load import native_target

#: Widths of vectors of this processor.
LANES = [lanes for lanes in (2, 4, 8) if lanes <= native_target().lanes]
KERNELS = {lanes: Matrices(lanes) for lanes in LANES}
WIDEST = KERNELS[LANES[-1]]
DTYPES = (np.float64, np.float32)


def well_conditioned(seed: int, count: int, n: int, dtype: Any = np.float64) -> Any:
    g = np.random.default_rng([seed, count, n])
    signs = g.choice([-1.0, 1.0], size=(count, n))
    a = g.normal(size=(count, n, n)) + 2 * np.sqrt(n) * np.eye(n) * signs[:, None]
    return a[:, g.permutation(n)].astype(dtype)


def definite(seed: int, count: int, n: int, dtype: Any = np.float64) -> Any:
    a = well_conditioned(seed, count, n)
    return np.ascontiguousarray(a @ a.swapaxes(1, 2) / n + np.eye(n)).astype(dtype)


def same(one: Any, other: Any) -> bool:
    """Tell whether all bits are the same; nan is nan."""
    return bool(np.array_equal(one, other, equal_nan=True)) and bool((np.signbit(one) == np.signbit(other)).all())


# ---------------------------------------------------------------------------- the same, written out


def substituted(rows: Any, x: Any, over: Callable[[int, Any], Any]) -> None:
    """Put what is left of each row of x less the sum of products with those before in its place."""
    for i in range(len(x)):
        total = np.zeros(x.shape[1])
        for k in range(i):
            total = total + rows[i, k] * x[k]
        x[i] = over(i, x[i] - total)


def eliminated(a: Any) -> tuple[Any, list[int]]:
    """Factor P A = L U as symdiff/lowering/pivoting.py does."""
    x, n, pivots = np.array(a, float), len(a), []
    for k in range(n):
        for i in range(n):
            total = 0.0
            for m in range(min(i, k)):
                total += x[i, m] * x[m, k]
            x[i, k] -= total
        p = k
        for i in range(k + 1, n):
            if abs(x[p, k]) < abs(x[i, k]):
                p = i
        x[[k, p]] = x[[p, k]]
        pivots.append(p)
        if x[k, k] != 0:
            x[k + 1 :, k] /= x[k, k]
    return x, pivots


def order_of(pivots: list[int]) -> list[int]:
    order = list(range(len(pivots)))
    for k, p in enumerate(pivots):
        order[k], order[p] = order[p], order[k]
    return order


def solved(a: Any, b: Any, transposed: bool) -> Any:
    lu, pivots = eliminated(a)
    order, x = order_of(pivots), np.array(b, float)
    if transposed:
        substituted(lu.T, x, lambda i, v: v / lu[i, i])
        substituted(lu.T[::-1, ::-1], x[::-1], lambda i, v: v)
        x[order] = x.copy()
    else:
        x = x[order]
        substituted(lu, x, lambda i, v: v)
        substituted(lu[::-1, ::-1], x[::-1], lambda i, v: v / lu[::-1, ::-1][i, i])
    return x


def inverted(a: Any) -> Any:
    lu, pivots = eliminated(a)
    x, over = np.eye(len(a)), 1 / np.diag(lu)
    substituted(lu.T, x, lambda i, v: v * over[i])
    substituted(lu.T[::-1, ::-1], x[::-1], lambda i, v: v)
    x[order_of(pivots)] = x.copy()
    return x.T


def root(a: Any) -> Any:
    n = len(a)
    x = np.zeros((n, n))
    for j in range(n):
        total = np.zeros(n - j)
        for m in range(j):
            total = total + x[j:, m] * x[j, m]
        rest = a[j:, j] - total
        x[j:, j] = rest / np.sqrt(rest[0])
        x[j, j] = np.sqrt(rest[0])
    return x


def inverted_root(factor: Any) -> Any:
    w, over = np.eye(len(factor)), 1 / np.diag(factor)
    substituted(factor, w, lambda i, v: v * over[i])
    total = np.zeros_like(w)
    for row in w:
        total = total + row[:, None] * row
    return total


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24, 33])
def test_the_same_bits_as_written_out(n: int, lanes: int) -> None:
    kernels, count = KERNELS[lanes], lanes + 1  # one of them by itself
    a, s = np.random.default_rng(n).normal(size=(count, n, n)), definite(n, count, n)
    factors, pivots, failed = kernels.lu(a)
    roots, good, refused = kernels.cholesky(s)
    assert failed == refused == -1
    assert good.all()
    inverses, at_once = kernels.inverse_lu(factors, pivots), kernels.inverse(a)[0]
    roots_inverse = kernels.inverse_cholesky(roots)
    for k in range(count):
        want, chosen = eliminated(a[k])
        assert pivots[k].tolist() == chosen
        assert same(factors[k], want)
        assert same(inverses[k], inverted(a[k]))
        assert same(roots[k], root(s[k]))
        assert same(roots_inverse[k], inverted_root(roots[k]))
    assert same(at_once, inverses)
    assert same(kernels.inverse(a, transposed=True)[0], inverses.swapaxes(1, 2))
    assert same(kernels.inverse_lu(factors, pivots, transposed=True), inverses.swapaxes(1, 2))
    for m in (1, 3, 8, 11):
        b = np.random.default_rng(m).normal(size=(count, n, m))
        for transposed in (False, True):
            got = kernels.solve_lu(factors, pivots, b, transposed)
            assert all(same(got[k], solved(a[k], b[k], transposed)) for k in range(count))
        got = kernels.solve_cholesky(roots, b)
        for k in range(count):
            x = b[k].copy()
            substituted(roots[k], x, lambda i, v, k=k: v / roots[k][i, i])
            turned = roots[k].T[::-1, ::-1]
            substituted(turned, x[::-1], lambda i, v, turned=turned: v / turned[i, i])
            assert same(got[k], x)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("n", [2, 3, 5, 8, 11, 20])
def test_equal_elements_zeros_and_no_numbers_are_chosen_as_written_out(n: int, lanes: int) -> None:
    """Pivots are the first of equals; nan is neither larger nor smaller."""
    g = np.random.default_rng(n)
    for bad in (None, np.nan, np.inf, -np.inf):
        a = g.integers(-1, 2, size=(6 * lanes + 1, n, n)).astype(float)
        if bad is not None:
            for each in a:
                each[g.integers(n), g.integers(n)] = bad
        factors, pivots, _ = KERNELS[lanes].lu(a)
        for k, each in enumerate(a):
            with np.errstate(all="ignore"):
                want, chosen = eliminated(each)
            for got, rows in ((factors[k], pivots[k]), KERNELS[lanes].lu(each)[:2]):
                assert rows.tolist() == chosen
                np.testing.assert_array_equal(got, want)


def everything(kernels: Matrices, a: Any, s: Any, b: Any) -> list[Any]:
    """Return what all kernels make of matrices, definite ones and right-hand sides."""
    single = a.dtype == np.float32
    factors, pivots, _ = kernels.lu(a)
    roots, good, _ = kernels.cholesky(s)
    return [
        factors,
        pivots,
        roots,
        good,
        kernels.inverse(a)[0],
        kernels.inverse(a, transposed=True)[0],
        kernels.inverse_lu(factors, pivots, single=single),
        kernels.solve_lu(factors, pivots, b),
        kernels.solve_lu(factors, pivots, b, True),
        kernels.determinant_lu(factors, pivots, single),
        *kernels.log_determinant_lu(factors, pivots, single),
        kernels.inverse_cholesky(roots, single),
        kernels.solve_cholesky(roots, b),
    ]


SIZES = st.one_of(st.integers(1, 16), st.integers(17, 64))


@settings(max_examples=40, deadline=None)
@example(n=65, count=3, m=2, dtype=np.float64, seed=1)
@example(n=190, count=1, m=9, dtype=np.float64, seed=2)
@given(n=SIZES, count=st.integers(0, 21), m=st.integers(1, 12), dtype=st.sampled_from(DTYPES), seed=st.integers(0, 99))
def test_right_and_the_same_alone_and_in_any_batch(n: int, count: int, m: int, dtype: Any, seed: int) -> None:
    a, s = well_conditioned(seed, count, n, dtype), definite(seed, count, n, dtype)
    b = np.random.default_rng(seed).normal(size=(count, n, m)).astype(dtype)
    found = {lanes: everything(kernels, a, s, b) for lanes, kernels in KERNELS.items()}
    for lanes, values in found.items():
        assert all(map(same, values, found[LANES[0]]))
        for k in (0, count // 2, count - 1) if count else ():
            alone = everything(KERNELS[lanes], a[k], s[k], b[k])
            assert all(same(one, value[k]) for one, value in zip(alone, values, strict=True))
    _, _, roots, good, inverse, turned, again, x, y, det, log, sign, s_inverse, z = found[LANES[-1]]
    assert all(v.dtype == dtype for v in (inverse, turned, again, x, y, det, log, sign, s_inverse, z))
    assert same(again, inverse)
    assert same(turned, inverse.swapaxes(1, 2))
    assert good.all()
    wide, loss = a.astype(float), 1e-11 if dtype is np.float64 else 1e-5
    close = {"rtol": loss, "atol": loss}
    np.testing.assert_allclose(inverse @ wide, np.broadcast_to(np.eye(n), wide.shape), **close)
    np.testing.assert_allclose(wide @ x, b, **close)
    np.testing.assert_allclose(wide.swapaxes(1, 2) @ y, b, **close)
    np.testing.assert_allclose(log, np.linalg.slogdet(wide)[1], **close)
    np.testing.assert_array_equal(sign, np.linalg.slogdet(wide)[0])
    if dtype is np.float64:
        np.testing.assert_allclose(det, np.linalg.det(wide), rtol=1e-11)
    np.testing.assert_allclose(roots @ roots.swapaxes(1, 2), s, rtol=1e-12, atol=1e-12 * n)
    np.testing.assert_allclose(s_inverse @ s.astype(float), np.broadcast_to(np.eye(n), wide.shape), **close)
    np.testing.assert_allclose(s.astype(float) @ z, b, rtol=loss, atol=n * loss)
    assert same(s_inverse, s_inverse.swapaxes(1, 2))


@pytest.mark.parametrize("n", [3, 8, 13, 40])
def test_factors_and_pivots_are_as_in_lapack(n: int) -> None:
    a = np.random.default_rng(n).normal(size=(9, n, n))
    factors, pivots, _ = WIDEST.lu(a)
    for k in range(9):
        want, chosen = scipy.linalg.lu_factor(a[k])
        np.testing.assert_array_equal(pivots[k], chosen)
        np.testing.assert_allclose(factors[k], want, rtol=1e-9, atol=1e-12)


def test_the_largest_matrices() -> None:
    a = well_conditioned(0, 1, MOST)
    np.testing.assert_allclose(WIDEST.inverse(a)[0] @ a, np.eye(MOST)[None], rtol=1e-9, atol=1e-9)


def test_any_batch_axes_and_one_matrix_for_all() -> None:
    a, b = well_conditioned(0, 6, 5).reshape(2, 3, 5, 5), np.random.default_rng(1).normal(size=(2, 3, 5, 2))
    factors, pivots, failed = WIDEST.lu(a)
    assert (factors.shape, pivots.shape, failed) == ((2, 3, 5, 5), (2, 3, 5), -1)
    np.testing.assert_allclose(WIDEST.solve_lu(factors, pivots, b), np.linalg.solve(a, b), rtol=1e-11)
    for m in (2, 9):
        b = np.random.default_rng(m).normal(size=(11, 5, m))
        shared = WIDEST.solve_lu(factors[0, 1], pivots[0, 1], b)
        assert all(same(shared[k], WIDEST.solve_lu(factors[0, 1], pivots[0, 1], b[k])) for k in range(11))
