"""Products with Jacobians and Hessians as SciPy's linear operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator, cg

import symdiff as sd

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_are_those_with_the_jacobian(dtype: Any) -> None:
    X, y = sd.matrix("X", "n", 4), sd.vector("y", 4)
    f = np.tanh(X @ y)
    at = sd.linear_operator(f, X)
    point = RNG.random((3, 4)).astype(dtype), RNG.random(4).astype(dtype)
    whole = sd.compile(sd.jacobian(f, X))(*point).reshape(3, 12)
    operator = at(*point)
    assert operator.shape == (3, 12)
    assert operator.dtype == dtype
    near = {"rtol": 1e-5 if dtype == np.float32 else 1e-13, "atol": 1e-6}
    for right in (RNG.random(12), RNG.random((12, 5)), RNG.random((5, 12)).T):
        np.testing.assert_allclose(operator @ right, whole @ right, **near)
    for left in (RNG.random(3), RNG.random((3, 5))):
        np.testing.assert_allclose(operator.T @ left, whole.T @ left, **near)
    assert (operator @ RNG.random(12)).dtype == dtype
    np.testing.assert_allclose((aslinearoperator(operator) * 2) @ np.ones(12), 2 * whole @ np.ones(12), **near)


def test_a_solver_takes_a_hessian() -> None:
    at = sd.linear_operator("sum((x[1:] - x[:-1])**2 + a*x[1:]**2) + x[0]**2", "x", x="n", a=(), hessian=True)
    operator = at(x=np.arange(30.0), a=2.0)
    solution, failed = cg(operator, np.ones(30), rtol=1e-12)
    assert failed == 0
    np.testing.assert_allclose(operator @ solution, np.ones(30), rtol=1e-9)
    np.testing.assert_array_equal(operator.T @ solution, operator @ solution)


def test_a_point_is_kept_as_it_was() -> None:
    at = sd.linear_operator("x * x", "x", x="n")
    point = np.ones(3)
    operator = at(point)
    point[:] = 7
    np.testing.assert_array_equal(operator @ np.ones(3), 2 * np.ones(3))


def test_names_of_vectors_do_not_meet_inputs() -> None:
    vector = sd.vector("vector", 3)
    operator = sd.linear_operator(vector**2, vector)(np.arange(3.0))
    np.testing.assert_array_equal(operator @ np.ones(3), 2 * np.arange(3.0))


def test_what_is_refused() -> None:
    X, y = sd.matrix("X", 3, 4), sd.vector("y", 4)
    with pytest.raises(sd.ShapeError, match="expected a scalar"):
        sd.linear_operator(X @ y, X, hessian=True)
    with pytest.raises(sd.ArgumentError, match="expected one array"):
        sd.linear_operator(X @ y, (X, y))
    with pytest.raises(sd.ArgumentError, match="several formulas"):
        sd.linear_operator([X @ y, y], X)
    at = sd.linear_operator(X @ y, X)
    with pytest.raises(sd.ArgumentError, match="missing y"):
        at(np.ones((3, 4)))
    with pytest.raises(sd.ShapeError, match="X has shape"):
        at(np.ones((2, 3, 4)), np.ones(4))
    with pytest.raises(sd.DtypeError):
        at(np.ones((3, 4), complex), np.ones(4))
