"""Kernels of matrices where these are singular, not finite, badly conditioned, or not taken at all."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from bench.conditions import FAMILIES, exact
from symdiff._kernels.matrix.batches import MOST, Matrices
from tests.kernels.test_conditioning import SINGULAR, error, rounded
from tests.kernels.test_matrix_kernels import (
    DTYPES,
    KERNELS,
    LANES,
    WIDEST,
    definite,
    everything,
    same,
    well_conditioned,
)


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
