"""Products of eigenvectors that are functions of the matrix: right where eigenvalues of the columns taken are equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import linalg

import symdiff as sd
from tests.calculus.test_spectra import by_blocks, turned
from tests.frontend.test_linear_algebra import draw

#: Spacings of the two eigenvalues of the columns taken.
GAPS = (0.5, 1e-2, 1e-6, 1e-9, 1e-12, 1e-14, 0.0)
#: Between the eigenvalues of the columns taken and the others.
BETWEEN = 2.0


def step(x: Any) -> Any:
    return x * 0 + 1 if x < BETWEEN else x * 0


def exponential(x: Any) -> Any:
    return mpmath.exp(x) if x < BETWEEN else x * 0


#: Formulas of eigenvalues, eigenvectors, a vector and a matrix, as functions of P = f(A), and f.
FORMS: dict[str, tuple[Callable[..., Any], Callable[..., Any], bool]] = {
    "product": (lambda e, v, x, b: (b * (v[:, :2] @ v[:, :2].T)).sum(), lambda p, x, b: (b * p).sum(), False),
    "projection": (
        lambda e, v, x, b: np.sin(v[:, :2] @ (v[:, :2].T @ x)) @ (b @ x),
        lambda p, x, b: np.sin(p @ x) @ (b @ x),
        False,
    ),
    "squares": (lambda e, v, x, b: ((v[:, :2].T @ x) ** 2).sum(), lambda p, x, b: x @ p @ x, False),
    "dot": (lambda e, v, x, b: (v[:, :2].T @ x) @ (x @ v[:, :2]), lambda p, x, b: x @ p @ x, False),
    "norm": (lambda e, v, x, b: np.linalg.norm(v[:, :2].T @ x), lambda p, x, b: np.linalg.norm(p @ x), False),
    "trace": (lambda e, v, x, b: np.trace(v[:, :2].T @ b @ v[:, :2]), lambda p, x, b: np.trace(b @ p), False),
    "rows": (lambda e, v, x, b: (v[1:3, :2] @ (v[:, :2].T @ x)) @ x[:2], lambda p, x, b: (p @ x)[1:3] @ x[:2], False),
    "leverage": (lambda e, v, x, b: (v[:, :2] ** 2).sum(1) @ x, lambda p, x, b: np.diag(p) @ x, False),
    "sum": (
        lambda e, v, x, b: ((v[:, :2].T @ x - 2 * (v[:, :2].T @ (b @ x)) / x[0]) ** 2).sum(),
        lambda p, x, b: (x - 2 * (b @ x) / x[0]) @ p @ (x - 2 * (b @ x) / x[0]),
        False,
    ),
    "columns": (
        lambda e, v, x, b: (b * (np.outer(v[:, 0], v[:, 0]) + np.outer(v[:, 1], v[:, 1]))).sum(),
        lambda p, x, b: (b * p).sum(),
        False,
    ),
    "diagonal": (
        lambda e, v, x, b: (b * (v[:, :2] @ np.diag(np.exp(e[:2])) @ v[:, :2].T)).sum(),
        lambda p, x, b: (b * p).sum(),
        True,
    ),
    "scaled": (
        lambda e, v, x, b: (b * ((v * np.exp(e))[:, :2] @ v[:, :2].T)).sum(),
        lambda p, x, b: (b * p).sum(),
        True,
    ),
    "einsum": (
        lambda e, v, x, b: np.einsum("ik,k,jk,ij", v[:, :2], np.exp(e[:2]), v[:, :2], b),
        lambda p, x, b: (b * p).sum(),
        True,
    ),
    "columns with weights": (
        lambda e, v, x, b: sum(np.exp(e[k]) * (v[:, k] @ x) ** 2 for k in range(2)),
        lambda p, x, b: x @ p @ x,
        True,
    ),
}
#: Those that need numbers for sizes.
FIXED: dict[str, tuple[Callable[..., Any], Callable[..., Any], bool]] = {
    "indices": (
        lambda e, v, x, b: (b * (v[:, [1, 0]] @ v[:, [1, 0]].T)).sum(),
        lambda p, x, b: (b * p).sum(),
        False,
    ),
    "mask": (
        lambda e, v, x, b: (b * (v @ np.diag([1.0, 1, 0, 0]) @ v.T)).sum(),
        lambda p, x, b: (b * p).sum(),
        False,
    ),
    "weights": (
        lambda e, v, x, b: (b * ((v * np.array([0.5, 0.5, 0, 0])) @ v.T)).sum(),
        lambda p, x, b: (b * p).sum() / 2,
        False,
    ),
}


@pytest.mark.parametrize("size", [4, "n"])
@pytest.mark.parametrize("name", [*FORMS, *FIXED])
def test_derivatives_are_those_of_the_function_of_the_matrix(name: str, size: Any) -> None:
    if name in FIXED and size == "n":
        pytest.skip("a size of four")
    written, meant, weighs = (FORMS | FIXED)[name]
    A = sd.matrix("A", size, size, symmetric=True)
    B, x = sd.matrix("B", size, size), sd.vector("x", size)
    f = written(*np.linalg.eigh(A), x, B)
    P = sd.funm(A, lambda e: np.where(e < BETWEEN, np.exp(e) if weighs else 1.0 + 0 * e, 0.0))
    g = meant(P, x, B)
    ours, wanted = (
        sd.compile([one, sd.gradient(one, A), sd.hessian(one, A)], inputs=[A, B, x], backend="interpreter")
        for one in (f, g)
    )
    b, v = draw(4, 4, seed=3), draw(4, seed=4)
    for gap in GAPS:
        a = turned([1.0, 1.0 + gap, 2.6, 3.1], seed=5)
        for order, (found, right) in enumerate(zip(ours(a, b, v), wanted(a, b, v), strict=True)):
            np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9, err_msg=f"order {order}, gap {gap}")


@pytest.mark.parametrize("weighs", [False, True])
def test_derivatives_are_those_of_many_digits(weighs: bool) -> None:
    A = sd.matrix("A", 4, 4, symmetric=True)
    B, E = sd.matrix("B", 4, 4), sd.matrix("E", 4, 4, symmetric=True)
    e, v = np.linalg.eigh(A)
    w = v[:, :2]
    f = (B * ((w * np.exp(e[:2]) if weighs else w) @ w.T)).sum()
    kernel = sd.compile([f, sd.jvp(f, A, E), sd.jvp(sd.jvp(f, A, E), A, E)], inputs=[A, B, E])
    b, d = draw(4, 4, seed=6), draw(4, 4, seed=7)
    d = d + d.T
    for gap in GAPS:
        a = turned([1.0, 1.0 + gap, 2.6, 3.1], seed=8)
        wanted = by_blocks(exponential if weighs else step, a, d)
        for found, right in zip(kernel(a, b, d), wanted, strict=True):
            np.testing.assert_allclose(found, (b * np.array(right, dtype=float)).sum(), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("shape", [(4, 4), (5, 4), (3, 5), (7, 4)])
@pytest.mark.parametrize("gap", [0.5, 1e-9, 0.0])
def test_the_nearest_matrix_of_lower_rank(shape: tuple[int, int], gap: float) -> None:
    """Derivatives are those of central differences of NumPy's, which are smooth as well."""
    m, n = shape
    X, C = sd.matrix("X", m, n), sd.matrix("C", m, n)
    u, s, vh = np.linalg.svd(X, full_matrices=False)
    f = (C * (u[:, :2] @ np.diag(s[:2]) @ vh[:2])).sum()
    kernel = sd.compile(sd.gradient(f, X), inputs=[X, C])
    left, right = (linalg.qr(draw(k, k, seed=k))[0] for k in shape)
    values = np.array([3.0, 3.0 - gap, 1.2, 0.5])[: min(shape)]
    at = left[:, : len(values)] @ np.diag(values) @ right[: len(values)]
    c, way = (draw(m, n, seed=9 + k) for k in (0, 1))

    def value(x: Any) -> float:
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        return float((c * ((u[:, :2] * s[:2]) @ vh[:2])).sum())

    h = 1e-3
    one, two = (value(at + k * h * way) - value(at - k * h * way) for k in (1, 2))
    np.testing.assert_allclose((kernel(at, c) * way).sum(), (8 * one - two) / (12 * h), rtol=1e-8, atol=1e-8)


def test_stacks_of_matrices() -> None:
    Y, C = sd.array("Y", (2, 3, 3)), sd.array("C", (2, 3, 3))
    e, v = np.linalg.eigh((Y + np.swapaxes(Y, 1, 2)) / 2)
    w = v[:, :, :2]
    together = (C * ((w * np.exp(e[:, None, :2])) @ np.swapaxes(w, 1, 2))).sum()
    apart = sum((C[k] * ((w[k] * np.exp(e[k, :2])) @ w[k].T)).sum() for k in range(2))
    at = np.stack([turned([1.0, 1.0, 2.5], seed=1), turned([1.0, 1.0 + 1e-9, 2.5], seed=2)])
    c = draw(2, 3, 3, seed=3)
    M = sd.matrix("M", 3, 3)
    P = sd.funm((M + M.T) / 2, lambda x: np.where(x < BETWEEN, np.exp(x), 0.0))
    D = sd.matrix("D", 3, 3)
    one = sd.compile(sd.gradient((D * P).sum(), M), inputs=[M, D])
    wanted = [one(a, d) for a, d in zip(at, c, strict=True)]
    for f in (together, apart):
        np.testing.assert_allclose(sd.compile(sd.gradient(f, Y), inputs=[Y, C])(at, c), wanted, rtol=1e-11, atol=1e-11)


def test_what_is_not_smooth_stays_nan() -> None:
    """One column of two with equal eigenvalues has no derivative, nor has a group that parts them."""
    A, x = sd.matrix("A", 3, 3, symmetric=True), sd.vector("x", 3)
    _, v = np.linalg.eigh(A)
    a = turned([1.0, 1.0, 2.5], seed=1)
    for f in ((v[:, 1:].T @ x) @ (v[:, 1:].T @ x), (v[:, 0] @ x) ** 2, (v[:, :2] @ x[:2]).sum()):
        assert np.isnan(sd.compile(sd.gradient(f, A), inputs=[A, x])(a, draw(3, seed=2))).any()


def test_eigenvectors_themselves_are_variables() -> None:
    """With respect to eigenvectors, a product of them is one of arrays."""
    A = sd.matrix("A", 3, 3, symmetric=True)
    _, v = np.linalg.eigh(A)
    slope = sd.gradient((v[:, :2] @ v[:, :2].T).sum(), v)
    found = sd.compile(slope, inputs=[A])(turned([1.0, 2.0, 3.0], seed=1))
    rows = np.linalg.eigh(turned([1.0, 2.0, 3.0], seed=1))[1][:, :2].sum(0) * 2
    np.testing.assert_allclose(np.abs(found), np.abs(np.broadcast_to([*rows, 0.0], (3, 3))), atol=1e-12)
