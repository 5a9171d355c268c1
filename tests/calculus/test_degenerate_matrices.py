"""Matrices without rows, of one row, in stacks and in strange layouts; functions of eigenvalues that come together.

The first are compared with NumPy and with differences of it, the second with mpmath at eigenvalues whose spacing goes
from 1 to 0, to second order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import symdiff as sd

LINALG = np.linalg


def symmetric(a: Any) -> Any:
    return (a + np.swapaxes(a, -1, -2)) / 2


def norm_of(p: Any) -> Callable[[Any], Any]:
    return lambda a: LINALG.norm(a, p, axis=(-2, -1))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "det": LINALG.det,
    "inv": LINALG.inv,
    "slogdet": lambda a: LINALG.slogdet(a)[1],
    "eigvalsh": lambda a: LINALG.eigvalsh(symmetric(a)),
    "cholesky": lambda a: LINALG.cholesky(a @ np.swapaxes(a, -1, -2) + np.eye(a.shape[-1])),
    "square": lambda a: LINALG.matrix_power(a, 2),
    "power -1": lambda a: LINALG.matrix_power(a, -1),
    **{f"norm {p}": norm_of(p) for p in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)},
    "cond": LINALG.cond,
    "pinv": LINALG.pinv,
    "svdvals": lambda a: LINALG.svd(a, compute_uv=False),
    "qr": lambda a: abs(LINALG.qr(a)[1]),
    "trace": lambda a: np.trace(a, axis1=-2, axis2=-1),
    "gram": lambda a: a @ np.swapaxes(a, -1, -2),
    "solve": lambda a: LINALG.solve(a, np.ones((a.shape[-1], 2))),
    "rank": LINALG.matrix_rank,
    "all": lambda a: np.all(a, axis=-1),
    "any": lambda a: np.any(a, axis=-2),
}


@pytest.mark.parametrize("lead", [(), (0,), (2,), (1, 3)], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_small_matrices_stacks_and_layouts(name: str, lead: tuple[int, ...]) -> None:
    f, rng = FUNCTIONS[name], np.random.default_rng(2)
    for n in (0, 1, 2):
        value = rng.normal(size=(*lead, n, n)) + 2 * np.eye(n)
        try:
            want = f(value)
        except (ValueError, LINALG.LinAlgError):  # NumPy has no value either
            continue
        a = sd.symbol("a", value.shape)
        out = f(a)
        spread = np.zeros((*lead, 2 * n, 2 * n))
        spread[..., ::2, ::2] = value
        for backend in ("numpy", "auto"):
            kernel = sd.compile([out, sd.gradient(out.sum(), a, disconnected="zero")], [a], backend=backend)
            got, slope = kernel(value)
            assert np.shape(got) == np.shape(want)
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)
            for other in (np.asfortranarray(value), spread[..., ::2, ::2]):
                for one, two in zip(kernel(other), (got, slope), strict=True):
                    np.testing.assert_array_equal(one, two)
            if value.size and name not in ("rank", "all", "any"):
                along = rng.normal(size=value.shape)
                h = 1e-6
                by_differences = (np.sum(f(value + h * along)) - np.sum(f(value - h * along))) / (2 * h)
                assert np.sum(slope * along) == pytest.approx(by_differences, rel=1e-5, abs=1e-5)


W = symmetric(np.random.default_rng(1).normal(size=(3, 3)))


def eigenvalues(a: Any) -> Any:
    return mp.eigsy(a, eigvals_only=True)


def trace_with(a: Any, f: Callable[[Any], Any]) -> Any:
    values, vectors = mp.eigsy(a)
    whole = mp.matrix(W.tolist()) * (vectors * mp.diag([f(x) for x in values]) * vectors.T)
    return sum(whole[i, i] for i in range(3))


SPECTRAL: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "exp": (lambda a: np.sum(np.exp(LINALG.eigvalsh(a))), lambda a: sum(mp.exp(x) for x in eigenvalues(a))),
    "log": (lambda a: np.sum(np.log(LINALG.eigvalsh(a))), lambda a: sum(mp.log(x) for x in eigenvalues(a))),
    "sqrt": (lambda a: np.sum(np.sqrt(LINALG.eigvalsh(a))), lambda a: sum(mp.sqrt(x) for x in eigenvalues(a))),
    "cube": (lambda a: np.sum(LINALG.eigvalsh(a) ** 3), lambda a: sum(x**3 for x in eigenvalues(a))),
    "nuclear": (lambda a: LINALG.norm(a, "nuc"), lambda a: sum(abs(x) for x in eigenvalues(a))),
    "logm": (lambda a: np.trace(W @ sd.logm(a)), lambda a: trace_with(a, mp.log)),
    "sqrtm": (lambda a: np.trace(W @ sd.sqrtm(a)), lambda a: trace_with(a, mp.sqrt)),
    "expm": (lambda a: np.trace(W @ sd.expm(a)), lambda a: trace_with(a, mp.exp)),
}


@pytest.mark.parametrize("triple", [False, True])
@pytest.mark.parametrize("name", SPECTRAL)
def test_functions_of_eigenvalues_that_come_together(name: str, triple: bool) -> None:
    formula, reference = SPECTRAL[name]
    rng = np.random.default_rng(5)
    a = sd.matrix("A", 3, 3, symmetric=True)
    first, second = (symmetric(rng.normal(size=(3, 3))) for _ in range(2))
    f = formula(a)
    kernels = [
        sd.compile([sd.gradient(f, a), sd.hvp(f, a, second)], [a], backend=backend) for backend in ("numpy", "auto")
    ]
    for gap in (1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-11, 1e-14, 0):
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        at = symmetric(turn @ np.diag([1.0, 1.0 + gap, 1.0 + 2 * gap if triple else 2.0]) @ turn.T)
        with mp.workdps(60):
            center, along, across = (mp.matrix(x.tolist()) for x in (at, first, second))
            h = mp.mpf(10) ** -15
            slope = (reference(center + h * along) - reference(center - h * along)) / (2 * h)
            both, apart = h * (along + across), h * (along - across)
            corners = [reference(center + part) for part in (both, apart, -apart, -both)]
            curve = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * h * h)
        for kernel in kernels:
            for got, want in zip(kernel(at), (slope, curve), strict=True):
                assert abs(np.sum(got * first) - float(want)) <= 2e-14 * (1 + abs(float(want))), (gap, got)
