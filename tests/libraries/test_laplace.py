"""Laplace's approximation: exact for Gaussian integrals, by its own definition in multiprecision for others."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.errors import ArgumentError, ShapeError

V, A, B = sd.vector("v", 3), sd.matrix("A", 3, 3), sd.vector("b", 3)
GAUSS = sd.laplace(V @ A @ V / 2 - B @ V, V)
GAUSS_KERNEL = sd.compile([GAUSS, sd.gradient(GAUSS, B), sd.gradient(GAUSS, A)], [A, B], backend="interpreter")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 10))
def test_gaussian_integrals_are_exact_and_so_are_their_gradients(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3))
    matrix, right = scale * (root @ root.T + np.eye(3)), rng.normal(size=3)
    mean = np.linalg.solve(matrix, right)
    value, by_right, by_matrix = GAUSS_KERNEL(matrix, right)
    exact = -right @ mean / 2 + np.linalg.slogdet(matrix)[1] / 2 - 1.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(value, exact, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(by_right, -mean, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(by_matrix, (np.outer(mean, mean) + np.linalg.inv(matrix)) / 2, rtol=1e-10, atol=1e-12)


def _binomial() -> tuple[Any, list[Any]]:
    u, y, x = sd.scalar("u"), sd.vector("y", 6), sd.vector("x", 6)
    beta, tau = sd.scalar("beta"), sd.scalar("tau")
    eta = beta * x + u
    f = np.sum(sd.softplus(eta) - y * eta) + u**2 / (2 * tau**2) + np.log(tau) + np.log(2 * np.pi) / 2
    integral = sd.laplace(f, u)
    wanted = [integral, sd.gradient(integral, beta), sd.gradient(integral, tau), sd.hessian(integral, tau)]
    return integral, [wanted, [y, x, beta, tau]]


def test_a_binomial_mixed_model_is_its_definition_in_multiprecision() -> None:
    _, (wanted, inputs) = _binomial()
    rng = np.random.default_rng(0)
    ys, xs = (rng.random((300, 6)) < 0.5) * 1.0, rng.normal(size=(300, 6))
    found = sd.compile(wanted, inputs)(ys, xs, 0.7, 1.3)
    total = sd.compile(wanted, inputs, batch=inputs[:2], reduce="sum")(ys, xs, 0.7, 1.3)
    np.testing.assert_allclose(total, [one.sum() for one in found], rtol=1e-12)
    with mp.workdps(40):

        def exact(beta: Any, tau: Any, k: int) -> Any:
            def f(u: Any) -> Any:
                etas = [beta * mp.mpf(x) + u for x in xs[k]]
                data = sum(mp.log(1 + mp.exp(eta)) - y * eta for eta, y in zip(etas, ys[k], strict=True))
                return data + u * u / (2 * tau**2) + mp.log(tau) + mp.log(2 * mp.pi) / 2

            u = mp.findroot(lambda u: mp.diff(f, u), 0)
            return f(u) + mp.log(mp.diff(f, u, 2)) / 2 - mp.log(2 * mp.pi) / 2

        beta, tau = mp.mpf(0.7), mp.mpf(1.3)
        for k in (0, 7, 150):
            assert abs(found[0][k] - exact(beta, tau, k)) < 1e-13
            assert abs(found[1][k] - mp.diff(lambda b, k=k: exact(b, tau, k), beta)) < 1e-12
            assert abs(found[2][k] - mp.diff(lambda t, k=k: exact(beta, t, k), tau)) < 1e-12
            assert abs(found[3][k] - mp.diff(lambda t, k=k: exact(beta, t, k), tau, 2)) < 1e-10


def test_check_certifies_an_approximation() -> None:
    integral, _ = _binomial()
    rng = np.random.default_rng(1)
    at = {"y": (rng.random(6) < 0.5) * 1.0, "x": rng.normal(size=6), "beta": 0.3, "tau": 0.8}
    assert str(sd.check(integral, at=at)).startswith("ok")


def test_what_has_no_minimum_is_nan() -> None:
    u, s = sd.scalar("u"), sd.scalar("s")
    integral = sd.laplace(s * u**2 + u, u)
    value, slope = sd.compile([integral, sd.gradient(integral, s)])(np.array([1.0, -1.0]))
    assert np.isfinite([value[0], slope[0]]).all()
    assert np.isnan([value[1], slope[1]]).all()


def test_what_comes_wrong_is_refused_by_name() -> None:
    with pytest.raises(ShapeError, match="f of laplace has shape"):
        sd.laplace(V, V)
    with pytest.raises(ArgumentError, match="the unknown of laplace"):
        sd.laplace(V @ V, V + 1)
