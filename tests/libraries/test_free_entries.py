"""Free entries of declared matrices as the variables of an optimizer: derivatives are those by these numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import symdiff as sd

KINDS: dict[str, tuple[Any, Any]] = {
    "lower": (lambda v, n: fill(v, n, "lower"), lambda n: n * (n + 1) // 2),
    "upper": (lambda v, n: fill(v, n, "upper"), lambda n: n * (n + 1) // 2),
    "symmetric": (lambda v, n: fill(v, n, "lower") + np.tril(fill(v, n, "lower"), -1).T, lambda n: n * (n + 1) // 2),
    "diagonal": (lambda v, n: np.diag(v), lambda n: n),
    "skew": (lambda v, n: fill(v, n, "strict") - fill(v, n, "strict").T, lambda n: n * (n - 1) // 2),
}


def fill(v: Any, n: int, which: str) -> Any:
    """Return a matrix with numbers in one triangle, row by row."""
    matrix = np.zeros((n, n))
    places = {"lower": np.tril_indices(n), "upper": np.triu_indices(n), "strict": np.tril_indices(n, -1)}[which]
    matrix[places] = v
    return matrix


@given(st.sampled_from(sorted(KINDS)), st.integers(2, 4), st.booleans(), st.booleans())
@settings(max_examples=40)
def test_derivatives_by_free_entries_are_differences_in_them(kind: str, n: int, letters: bool, sparse: bool) -> None:
    matrix_of, count_of = KINDS[kind]
    A = sd.matrix("A", *(("n", "n") if letters else (n, n)), **{kind: True})
    c, x = sd.symbol("C", A.shape), sd.vector("x", 2)
    f = sd.objective(
        np.sum(np.sin(A) * c) + np.trace(A @ A @ c) * x[0] + x[1] ** 3,
        (A, x),
        free=True,
        sparse="csr" if sparse else None,
    )
    rng = np.random.default_rng(n)
    v, C = np.asarray(rng.normal(size=count_of(n) + 2)), rng.normal(size=(n, n))
    A0, x0 = f.split(v, C)
    np.testing.assert_array_equal(A0, matrix_of(v[:-2], n))
    np.testing.assert_array_equal(f.join((A0, x0)), v)

    def plain(v: Any) -> Any:
        A, x = matrix_of(v[:-2], n), v[-2:]
        return np.sum(np.sin(A) * C) + np.trace(A @ A @ C) * x[0] + x[1] ** 3

    def differences(g: Any) -> Any:
        steps = 1e-5 * np.eye(len(v))
        return np.array([(g(v + step) - g(v - step)) / 2e-5 for step in steps])

    assert f.fun(v, C) == pytest.approx(plain(v), rel=1e-12)
    slope, curvature = f.jac(v, C), f.hess(v, C)
    np.testing.assert_allclose(slope, differences(plain), rtol=1e-6, atol=1e-7)
    curvature = curvature.toarray() if sparse else curvature
    np.testing.assert_allclose(curvature, differences(lambda v: f.jac(v, C)), rtol=1e-6, atol=1e-6)
    p = np.asarray(rng.normal(size=len(v)))
    np.testing.assert_allclose(f.hessp(v, p, C), curvature @ p, rtol=1e-10, atol=1e-10)


def test_jacobians_by_free_entries_and_stacks() -> None:
    A = sd.symbol("A", (2, 3, 3), lower=True)
    f = sd.objective(A @ np.ones(3), A, free=True)
    v = np.arange(12.0)
    np.testing.assert_array_equal(f.split(v)[1], fill(v[6:], 3, "lower"))
    jacobian = f.jac(v)
    assert jacobian.shape == (6, 12)
    np.testing.assert_array_equal(jacobian @ v, f.fun(v))
    sparse = sd.objective(A @ np.ones(3), A, free=True, sparse="csc")
    assert sparse.jac(v).format == "csc"
    np.testing.assert_array_equal(sparse.jac(v).toarray(), jacobian)


def test_a_factor_is_fitted_by_its_free_entries() -> None:
    target = np.array([[4.0, 2.0, 0.6], [2.0, 2.0, 0.5], [0.6, 0.5, 1.0]])
    f = sd.objective("sum((L @ L.T - S)**2)", "L", L=sd.lower(3), S=(3, 3), free=True)
    found = minimize(f.fun, np.ones(6), args=(target,), jac=f.jac, hess=f.hess, method="trust-exact")
    L = f.split(found.x, target)
    np.testing.assert_allclose(L @ L.T, target, atol=1e-6)
    assert not np.triu(L, 1).any()


def test_what_does_not_fit_is_refused() -> None:
    f = sd.objective("sum(L**2)", "L", L=sd.lower(3), free=True)
    with pytest.raises(sd.ShapeError, match=r"x has 9 elements; expected 6, those of the free entries of L \(3, 3\)"):
        f.fun(np.ones(9))
    with pytest.raises(sd.ArgumentError, match="free=1; expected True or False"):
        sd.objective("sum(L**2)", "L", L=sd.lower(3), free=1)
    with pytest.raises(sd.UnsupportedError, match="Ipopt of free entries"):
        f.ipopt(np.ones(6))
    assert sd.objective("x @ x", "x", x=3, free=True).jac([1.0, 2.0, 3.0]).tolist() == [2, 4, 6]
