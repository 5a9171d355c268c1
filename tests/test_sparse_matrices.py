"""Sparse matrices that calls bring: values and derivatives against dense ones, patterns that change between calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import symdiff as sd
from symdiff.errors import ArgumentError, ShapeError

A = sd.matrix("A", "m", "n", sparse=True)
X, Y, B = sd.vector("x", "n"), sd.vector("y", "m"), sd.matrix("B", "n", 3)
_LOSS = np.sum(sd.softplus(-Y * (A @ X)))
LOSS = sd.compile([_LOSS, sd.gradient(_LOSS, X), sd.gradient(_LOSS, A.data), sd.hessian(_LOSS, X)], [A, X, Y])


def drawn(rng: np.random.Generator, rows: int, columns: int) -> Any:
    return sparse.random_array((rows, columns), density=0.4, format="csr", rng=rng, data_sampler=rng.normal)


def at_pattern(matrix: Any, dense: Any) -> Any:
    """Elements of a dense matrix in the order of the nonzeros by rows."""
    csr = matrix.tocsr()
    return dense[np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr)), csr.indices]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 9), st.sampled_from(["csr", "csc", "coo"]))
def test_a_loss_of_a_product_has_the_derivatives_of_the_dense_one(seed: int, m: int, n: int, form: Any) -> None:
    rng = np.random.default_rng(seed)
    matrix, x, y = drawn(rng, m, n), rng.normal(size=n), rng.choice([-1.0, 1.0], m)
    value, slope, by_data, curvature = LOSS(matrix.asformat(form), x, y)
    dense = matrix.toarray()
    z = dense @ x
    sigma = 1 / (1 + np.exp(y * z))
    np.testing.assert_allclose(value, np.logaddexp(0, -y * z).sum(), rtol=1e-13)
    np.testing.assert_allclose(slope, dense.T @ (-y * sigma), atol=1e-13)
    np.testing.assert_allclose(by_data, at_pattern(matrix, np.outer(-y * sigma, x)), atol=1e-13)
    np.testing.assert_allclose(curvature, dense.T * (sigma * (1 - sigma)) @ dense, atol=1e-13)


FORMS: dict[str, tuple[Callable[[], Any], Callable[[Any, Any, Any, Any], Any]]] = {
    "transpose": (lambda: A.T @ Y, lambda a, x, y, b: a.T @ y),
    "left": (lambda: Y @ A, lambda a, x, y, b: y @ a),
    "dense left": (lambda: B.T @ A.T, lambda a, x, y, b: b.T @ a.T),
    "dense": (lambda: A @ B, lambda a, x, y, b: a @ b),
    "gram": (lambda: A.T @ (A @ X), lambda a, x, y, b: a.T @ (a @ x)),
    "columns": (lambda: (A * X) @ B, lambda a, x, y, b: (a * x) @ b),
    "rows": (lambda: A.scale_rows(Y) @ X, lambda a, x, y, b: (y[:, None] * a) @ x),
    "both": (lambda: (A.T * Y).scale_rows(X).T @ X, lambda a, x, y, b: (y[:, None] * a * x) @ x),
    "number": (lambda: (2 * A / 3 @ X) - (-A) @ X, lambda a, x, y, b: 5 / 3 * a @ x),
    "sums": (lambda: A.sum(0) * A.sum(), lambda a, x, y, b: a.sum(0) * a.sum()),
    "row sums": (lambda: A.sum(1), lambda a, x, y, b: a.sum(1)),
    "sums of the transpose": (lambda: A.T.sum(1), lambda a, x, y, b: a.sum(0)),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_have_the_values_and_derivatives_of_dense_ones(form: str) -> None:
    make, dense = FORMS[form]
    formula = make()
    weighted = np.sum(sd.sin(formula))
    kernel = sd.compile([formula, sd.gradient(weighted, A.data)], [A, X, Y, B])
    rng = np.random.default_rng(1)
    for m, n in ((5, 4), (3, 7)):
        matrix, x, y, b = drawn(rng, m, n), rng.normal(size=n), rng.normal(size=m), rng.normal(size=(n, 3))
        value, slope = kernel(matrix, x, y, b)
        np.testing.assert_allclose(value, dense(matrix.toarray(), x, y, b), atol=1e-13)
        step, numbers = 1e-6, []
        for k in range(matrix.nnz):
            ends = []
            for sign in (1, -1):
                moved = matrix.copy()
                moved.data[k] += sign * step
                ends.append(np.sin(dense(moved.toarray(), x, y, b)).sum())
            numbers.append((ends[0] - ends[1]) / (2 * step))
        np.testing.assert_allclose(slope, numbers, atol=1e-7)


S = sd.matrix("S", "n", "n", sparse=True)
_DENSITY = X @ S.solve(X) / 2 + S.logdet() / 2
DENSITY = sd.compile([_DENSITY, sd.gradient(_DENSITY, X), sd.gradient(_DENSITY, S.data)], [S, X])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_positive_definite_matrices_are_solved_and_have_a_determinant(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    root = drawn(rng, n, n)
    matrix = (root @ root.T + sparse.eye_array(n)).tocsr()
    x, dense = rng.normal(size=n), matrix.toarray()
    value, slope, by_data = DENSITY(matrix, x)
    inverse = np.linalg.inv(dense)
    np.testing.assert_allclose(value, x @ inverse @ x / 2 + np.linalg.slogdet(dense)[1] / 2, rtol=1e-10)
    np.testing.assert_allclose(slope, inverse @ x, rtol=1e-9, atol=1e-12)
    expected = (inverse - np.outer(inverse @ x, inverse @ x)) / 2
    np.testing.assert_allclose(by_data, at_pattern(matrix, expected), rtol=1e-8, atol=1e-11)


def test_second_derivatives_of_solutions() -> None:
    whole = np.sum(sd.sin(S.solve(X)))
    kernel = sd.compile(sd.hessian(whole, X), [S, X])
    matrix = sparse.csr_array(np.array([[2.0, 0.5, 0], [0.5, 3, 0], [0, 0, 1.5]]))
    x = np.array([0.3, -1.0, 2.0])
    inverse = np.linalg.inv(matrix.toarray())
    np.testing.assert_allclose(kernel(matrix, x), inverse * -np.sin(inverse @ x) @ inverse, atol=1e-14)


def test_many_patterns_come_and_go() -> None:
    kernel = sd.compile(A @ X, [A, X])
    rng = np.random.default_rng(2)
    kept = [drawn(rng, 4, 6) for _ in range(100)]
    x = rng.normal(size=6)
    for _ in range(2):
        for matrix in kept:
            np.testing.assert_allclose(kernel(matrix, x), matrix @ x, atol=1e-14)
            np.testing.assert_allclose(kernel(A=matrix, x=x), matrix @ x, atol=1e-14)


def test_what_comes_wrong_is_refused_by_name() -> None:
    kernel = sd.compile(A @ X, [A, X])
    square = sparse.eye_array(3).tocsr()
    refused: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (ArgumentError, "must be a sparse matrix", lambda: kernel(np.eye(3), np.ones(3))),
        (ArgumentError, "of real numbers", lambda: kernel(square * 1j, np.ones(3))),
        (ShapeError, "n", lambda: kernel(square, np.ones(4))),
        (ShapeError, "expected n rows", lambda: A @ Y),
        (ShapeError, "expected a number or n elements", lambda: A * Y),
        (ShapeError, "not square", lambda: A.solve(X)),
        (ArgumentError, "axis=2", lambda: A.sum(2)),
        (ArgumentError, "sparse=True alone", lambda: sd.matrix("A", 2, 2, sparse=True, symmetric=True)),
        (sd.SingularMatrixError, "positive definite", lambda: DENSITY(-square, np.ones(3))),
    ]
    for error, message, call in refused:
        with pytest.raises(error, match=message):
            call()
