"""Densities of vectors and matrices: values against SciPy, derivatives against books and mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

import symdiff as sd


def definite(rng: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    a = rng.normal(size=(n, n))
    found: np.ndarray[Any, Any] = a @ a.T + np.eye(n)
    return found


def slope(f: Callable[[np.ndarray[Any, Any]], float], at: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the gradient of a function of NumPy's by differences of the fourth order."""
    found = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        h = 1e-3
        step = np.zeros_like(at)
        step[place] = h
        near, far = f(at + step) - f(at - step), f(at + 2 * step) - f(at - 2 * step)
        found[place] = (8 * near - far) / (12 * h)
    return found


def test_multivariate_normal() -> None:
    rng = np.random.default_rng(5)
    n, at, mean, cov = 3, rng.normal(size=(6, 3)), rng.normal(size=3), definite(rng, 3)
    x, m, s = sd.matrix("x", 6, n), sd.vector("m", n), sd.symbol("s", (n, n), positive_definite=True)
    f = sd.stats.multivariate_normal.logpdf(x, m, s)
    kernel = sd.compile([f, sd.gradient(f.sum(), m), sd.gradient(f.sum(), s)], [x, m, s])
    value, by_mean, by_cov = kernel(at, mean, cov)
    reference = scipy.stats.multivariate_normal
    np.testing.assert_allclose(value, reference.logpdf(at, mean, cov), rtol=1e-12)
    np.testing.assert_allclose(by_mean, slope(lambda v: reference.logpdf(at, v, cov).sum(), mean), rtol=1e-8)
    gap, inverse = at - mean, np.linalg.inv(cov)
    np.testing.assert_allclose(by_cov, 0.5 * (inverse @ gap.T @ gap @ inverse - len(at) * inverse), rtol=1e-9)
    for cov_ in (2.5, np.array([0.5, 1.0, 3.0]), cov):
        full = np.diag(np.broadcast_to(cov_, 3)) if np.ndim(cov_) < 2 else cov_
        got = sd.stats.multivariate_normal.logpdf(at, mean, cov_)
        np.testing.assert_allclose(got, reference.logpdf(at, mean, full), rtol=1e-12)
    np.testing.assert_allclose(sd.stats.multivariate_normal.pdf(at[0], mean), reference.pdf(at[0], mean), rtol=1e-12)
    np.testing.assert_allclose(sd.stats.multivariate_normal.logpdf(0.3, 0.1, 2.0), reference.logpdf(0.3, 0.1, 2.0))
    stacked = rng.normal(size=(2, 4, 3))
    np.testing.assert_allclose(
        sd.stats.multivariate_normal.logpdf(stacked, mean, cov), reference.logpdf(stacked, mean, cov), rtol=1e-12
    )


def test_the_gradient_of_a_normal_is_the_book_s() -> None:
    x, m, s = sd.vector("x", "n"), sd.vector("m", "n"), sd.symbol("S", ("n", "n"), positive_definite=True)
    f = sd.stats.multivariate_normal.logpdf(x, m, s)
    assert str(sd.gradient(f, m)) == "solve(S, x - m)"
    a, b = sd.scalar("x"), sd.scalar("m")
    assert str(sd.gradient(sd.stats.norm.logpdf(a, b), b)) == "x - m"


def test_dirichlet() -> None:
    rng = np.random.default_rng(6)
    alpha = rng.uniform(0.5, 4.0, size=4)
    at = rng.dirichlet(np.ones(4), size=5).T
    x, a = sd.matrix("x", 4, 5), sd.vector("a", 4)
    f = sd.stats.dirichlet.logpdf(x, a)
    value, by_alpha = sd.compile([f, sd.gradient(f.sum(), a)], [x, a])(at, alpha)
    np.testing.assert_allclose(value, scipy.stats.dirichlet.logpdf(at, alpha), rtol=1e-12)
    want = slope(lambda v: scipy.stats.dirichlet.logpdf(at, v).sum(), alpha)
    np.testing.assert_allclose(by_alpha, want, rtol=1e-8)
    assert sd.stats.dirichlet.logpdf([-0.5, 1.5], [1.0, 2.0]) == -math.inf
    assert sd.stats.dirichlet.logpdf([0.0, 1.0], [1.0, 2.0]) == pytest.approx(math.log(2.0))


def test_wishart() -> None:
    rng = np.random.default_rng(7)
    at, scale, df = definite(rng, 3), definite(rng, 3), 5.5
    x, s, v = sd.matrix("x", 3, 3), sd.matrix("s", 3, 3), sd.scalar("v")
    f = sd.stats.wishart.logpdf(x, v, s)
    value, by_df = sd.compile([f, sd.gradient(f, v)], [x, s, v])(at, scale, df)
    reference = scipy.stats.wishart
    np.testing.assert_allclose(value, reference.logpdf(at, df, scale), rtol=1e-12)
    want = slope(lambda d: reference.logpdf(at, float(d[0]), scale), np.array([df]))
    np.testing.assert_allclose(by_df, want[0], rtol=1e-8)


def test_multinomial_and_categorical() -> None:
    p, x = np.array([0.2, 0.3, 0.5]), np.array([[1, 2, 3], [6, 0, 0], [2, 2, 1], [-1, 3, 4]])
    got = sd.stats.multinomial.logpmf(x, 6, p)
    np.testing.assert_allclose(got, scipy.stats.multinomial.logpmf(x, 6, p), rtol=1e-12)
    np.testing.assert_allclose(sd.stats.categorical.pmf([0, 2, 1, 3, -1], p), [0.2, 0.5, 0.3, 0.0, 0.0], rtol=1e-12)
    idx, q = sd.indices("idx", 4), sd.vector("q", 3)
    total = sd.stats.categorical.logpmf(idx, q).sum()
    slopes = sd.compile(sd.gradient(total, q), [idx, q])(np.array([0, 2, 2, 1]), p)
    np.testing.assert_allclose(slopes, np.array([1, 1, 2]) / p, rtol=1e-12)
