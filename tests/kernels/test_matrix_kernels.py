# mypy: disable-error-code="misc"
"""Kernels of matrices, singular and badly conditioned ones among them: to the bit, and against NumPy and mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.conditions import FAMILIES, exact
from symdiff._kernels.matrix.batches import MOST, Matrices
from symdiff.runtime.toolchain.host import native_target
from tests.kernels.test_conditioning import SINGULAR, error, rounded

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
    """Factor P A = L U as symdiff/lowering/matrices.py does."""
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


# ---------------------------------------------------------------------------- matrix kernel limits
# Kernels of matrices where these are singular, not finite, badly conditioned, or not taken at all.


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", DTYPES, ids=["float64", "float32"])
def test_singular_matrices_are_told(lanes: int, dtype: Any) -> None:
    kernels = KERNELS[lanes]
    large = [np.ones((n, n)) for n in (13, 33, 64)] + [np.triu(np.ones((n, n)), 1) for n in (20, 50)]
    for singular in [*SINGULAR, *large]:
        n = len(singular)
        for count, at in ((1, [0]), (2, [1]), (5, [3, 4]), (19, [17]), (20, [2, 9, 19])):
            a = np.repeat(2 * np.eye(n, dtype=dtype)[None], count, axis=0)
            a[at] = singular
            factors, pivots, failed = kernels.lu(a)
            assert failed == at[0] == kernels.inverse(a)[1]
            assert (kernels.determinant_lu(factors, pivots)[at] == 0).all()
            log, sign = kernels.log_determinant_lu(factors, pivots)
            assert (log[at] == -np.inf).all()
            assert (sign[at] == 0).all()
            others = np.delete(np.arange(count), at)
            assert (sign[others] == 1).all()
            assert same(kernels.inverse(a)[0][others], np.repeat(np.eye(n, dtype=dtype)[None] / 2, len(others), axis=0))


@pytest.mark.rows(1)
@pytest.mark.parametrize("lanes", LANES)
def test_nan_and_inf_stay_in_their_sample(lanes: int) -> None:
    kernels = KERNELS[lanes]
    for n in (2, 3, 5, 8, 13, 40):
        for count in (1, 2, 7, 17):
            a, s, b = well_conditioned(n, count, n), definite(n, count, n), np.ones((count, n, 2))
            want = everything(kernels, a, s, b)
            for bad in (np.nan, np.inf, -np.inf):
                for k in {0, count // 2, count - 1}:
                    spoiled, spoiled_s = a.copy(), s.copy()
                    spoiled[k, k * n // count, (k + n // 2) % n] = bad
                    spoiled_s[k, n - 1, n // 2] = spoiled_s[k, n // 2, n - 1] = bad
                    got = everything(kernels, spoiled, spoiled_s, b)
                    others = np.delete(np.arange(count), k)
                    assert all(same(x[others], y[others]) for x, y in zip(got, want, strict=True))
                    alone = everything(kernels, spoiled[k], spoiled_s[k], b[k])
                    assert all(
                        same(x[k], y)
                        for i, (x, y) in enumerate(zip(got, alone, strict=True))
                        if i in range(12) and i != 2
                    )
                    assert not got[3][k]


@pytest.mark.parametrize("lanes", LANES)
def test_nan_in_gives_nan_out(lanes: int) -> None:
    for n in (2, 3, 5, 9):
        for start in (np.zeros((n, n)), np.ones((n, n)), np.random.default_rng(n).normal(size=(n, n))):
            a = np.repeat(start[None], n * n, axis=0)
            a[np.arange(n * n), np.arange(n * n) // n, np.arange(n * n) % n] = np.nan
            for part in (a, a[:1], a[-1:]):
                factors, pivots, _ = KERNELS[lanes].lu(part)
                assert np.isnan(KERNELS[lanes].determinant_lu(factors, pivots)).all()
                log, sign = KERNELS[lanes].log_determinant_lu(factors, pivots)
                assert np.isnan(log).all()
                assert np.isnan(sign).all()
                if start[0, 0] not in (0, 1):
                    assert np.isnan(KERNELS[lanes].inverse(part)[0]).all()


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("count", [1, 3, 8, 19])
def test_cholesky_tells_which_matrices_it_is_for(lanes: int, count: int) -> None:
    kernels = KERNELS[lanes]
    for n in (2, 3, 8, 15, 50):
        plain, k = definite(n, count, n), count // 2
        lower = np.tril(plain) + np.triu(np.full((n, n), np.nan), 1)
        wanted = kernels.cholesky(plain)[0]
        got, _, failed = kernels.cholesky(lower, symmetric=False)
        assert failed == -1
        assert same(got, wanted)
        for change in ("asymmetric", "negative", "indefinite", "semidefinite", "nan"):
            s = plain.copy()
            if change == "asymmetric":
                s[k, 0, n - 1] = np.nextafter(s[k, 0, n - 1], 9)
            elif change == "negative":
                s[k, n - 1, n - 1] *= -1
            elif change == "indefinite":
                s[k, 0, n - 1] = s[k, n - 1, 0] = 2 * math.sqrt(s[k, 0, 0] * s[k, n - 1, n - 1])
            elif change == "semidefinite":
                s[k] = 1
            else:
                s[k, n - 1, 0] = s[k, 0, n - 1] = np.nan
            factors, good, failed = kernels.cholesky(s)
            assert failed == k
            assert good.tolist() == [i != k for i in range(count)]
            assert same(factors[good], wanted[good])
            failed = kernels.cholesky(s, symmetric=False)[2]
            assert failed == (-1 if change in ("asymmetric", "nan") else k)


def test_determinants_neither_overflow_nor_underflow_on_the_way() -> None:
    for n in (3, 20, 64):
        powers = np.where(np.arange(n) < n // 2, 1000, -1000)
        a = np.array([np.diag(2.0**powers), np.diag(2.0 ** -powers[::-1])[::-1], np.eye(n) * 1e-320, np.eye(n) * 1e300])
        factors, pivots, _ = WIDEST.lu(a)
        odd = 1000.0 * (n % 2)
        flipped = -1.0 if n * (n - 1) // 2 % 2 else 1.0
        want = [2.0**-odd, flipped * 2.0 ** (odd if n % 2 else 0), 0.0, np.inf]
        np.testing.assert_array_equal(WIDEST.determinant_lu(factors, pivots), want)
        log, sign = WIDEST.log_determinant_lu(factors, pivots)
        np.testing.assert_allclose(log[2:], [n * np.log(1e-320), n * np.log(1e300)], rtol=1e-15)
        np.testing.assert_array_equal(sign, [1, flipped, 1, 1])
        tiny = np.eye(n)
        tiny[0, 0] += 1e-9  # the logarithm keeps its digits
        log, _ = WIDEST.log_determinant_lu(*WIDEST.lu(tiny)[:2])
        assert abs(float(log) / math.log1p(tiny[0, 0] - 1) - 1) < 1e-15


@pytest.mark.rows(1)
@pytest.mark.parametrize("dtype", DTYPES, ids=["float64", "float32"])
@pytest.mark.parametrize("n", [3, 8, 13, 20])
def test_errors_are_at_most_ten_times_those_of_numpy(n: int, dtype: Any) -> None:
    eps, count = float(np.finfo(dtype).eps), 3
    for k, (name, family) in enumerate(FAMILIES.items()):
        if dtype is np.float32 and name.endswith("numbers"):
            continue  # beyond it
        g = np.random.default_rng([n, k])
        digits = 14 if dtype is np.float64 else 6
        a = np.array([family(g, n, 10.0 ** g.uniform(-digits, -digits / 4)) for _ in range(count)]).astype(dtype)
        b = g.normal(size=(count, n, 1)).astype(dtype)
        factors, pivots, _ = WIDEST.lu(a)
        single = dtype is np.float32
        got = {
            "inverse": WIDEST.inverse(a)[0],
            "solution": WIDEST.solve_lu(factors, pivots, b),
            "determinant": WIDEST.determinant_lu(factors, pivots, single),
            "logarithm": WIDEST.log_determinant_lu(factors, pivots, single)[0],
        }
        with np.errstate(all="ignore"):
            numpy = {
                "inverse": np.linalg.inv(a),
                "solution": np.linalg.solve(a, b),
                "determinant": np.linalg.det(a),
                "logarithm": np.linalg.slogdet(a)[1],
            }
        ours, theirs, floor = dict.fromkeys(got, 0.0), dict.fromkeys(got, 0.0), 0.0
        with mpmath.workdps(60):
            for i in range(count):
                inverse, det = exact(a[i])
                side = np.vectorize(lambda v: mpmath.mpf(float(v)), otypes=[object])(b[i])
                want = {
                    "inverse": inverse,
                    "solution": inverse.dot(side),
                    "determinant": det,
                    "logarithm": mpmath.log(abs(det)),
                }
                floor = max(floor, rounded(a[i], np.array(inverse, float)) / 4)
                for key, value in want.items():
                    plain = np.array(value, float)
                    ours[key] = max(ours[key], error(got[key][i], plain, dtype))
                    theirs[key] = max(theirs[key], error(numpy[key][i], plain, dtype))
        for key in got:
            assert ours[key] <= 10 * max(theirs[key], floor) + 4 * eps, f"{key} of {name}: {ours[key]}, {theirs[key]}"


@pytest.mark.rows(1)
@pytest.mark.parametrize("n", [3, 13, 30])
@pytest.mark.parametrize("digits", [2, 8, 13])
def test_errors_of_definite_matrices(n: int, digits: int) -> None:
    """The largest error of several matrices: that of one may be 10 times another's by luck."""
    g = np.random.default_rng([n, digits])
    ours = theirs = 0.0
    for _ in range(12 if n < 20 else 6):
        q = np.linalg.qr(g.normal(size=(n, n)))[0]
        s = q * np.geomspace(1, 10.0**-digits, n) @ q.T
        s = (s + s.T) / 2
        roots, good, _ = WIDEST.cholesky(s)
        assert good
        with mpmath.workdps(60):
            want = np.array(exact(s)[0], float)
        ours = max(ours, error(WIDEST.inverse_cholesky(roots), want, np.float64))
        theirs = max(theirs, error(np.linalg.inv(s), want, np.float64))
    assert ours <= 10 * theirs + 4 * 2.0**-52


def test_what_is_not_taken_is_refused() -> None:
    a = np.eye(3)
    with pytest.raises(ValueError, match="vectors of 3 numbers"):
        Matrices(3)
    with pytest.raises(ValueError, match="square ones of 1 to 1024 rows"):
        WIDEST.lu(np.ones((3, 4)))
    with pytest.raises(ValueError, match="square ones of 1 to 1024 rows"):
        WIDEST.inverse(np.eye(MOST + 1))
    with pytest.raises(ValueError, match="float64 and float32 are taken"):
        WIDEST.lu(np.eye(3, dtype=int))
    factors, pivots, _ = WIDEST.lu(a)
    with pytest.raises(ValueError, match="factors of float32"):
        WIDEST.inverse_lu(factors.astype(np.float32), pivots)
    with pytest.raises(ValueError, match="pivots of shape"):
        WIDEST.inverse_lu(factors, pivots[:2])
    with pytest.raises(ValueError, match="pivots that are no rows"):
        WIDEST.inverse_lu(factors, pivots + np.int32(9))
    with pytest.raises(ValueError, match="right-hand sides of shape"):
        WIDEST.solve_lu(factors, pivots, np.ones((2, 1)))
