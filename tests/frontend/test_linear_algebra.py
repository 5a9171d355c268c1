"""Linear algebra as NumPy and SciPy name it: backends, hard matrices, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import linalg

import symdiff as sd

A, B, T = sd.matrix("A", 4, 3), sd.matrix("B", 4, 4), sd.array("T", (2, 3, 4, 4))
V = sd.vector("v", 3)


def draw(*shape: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", ["numpy", "native", "interpreter"])
def test_compositions_on_each_backend(backend: str) -> None:
    a, b = draw(4, 3), draw(4, 4, seed=2) + 3 * np.eye(4)
    outputs = {
        "pinv": np.linalg.pinv(A),
        "cond": np.linalg.cond(B, 1),
        "norm": np.linalg.norm(A, np.inf),
        "solve": sd.solve_triangular(B, A, lower=True),
        "blocks": sd.block_diag(A, B),
        "tensor": np.linalg.tensorinv(B.reshape(2, 2, 4)),
    }
    got = sd.compile(outputs, [A, B], backend=backend)(a, b)
    want = {
        "pinv": np.linalg.pinv(a),
        "cond": np.linalg.cond(b, 1),
        "norm": np.linalg.norm(a, np.inf),
        "solve": linalg.solve_triangular(b, a, lower=True),
        "blocks": linalg.block_diag(a, b),
        "tensor": np.linalg.tensorinv(b.reshape(2, 2, 4)),
    }
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-11, atol=1e-13)


def test_functions_of_numpy_linalg_take_the_last_axes() -> None:
    t = draw(2, 3, 4, 4)
    for name in ("trace", "diagonal"):
        for arguments in ({}, {"offset": 1}):
            function = getattr(np.linalg, name)
            np.testing.assert_array_equal(sd.compile(function(T, **arguments))(t), function(t, **arguments))
    np.testing.assert_array_equal(sd.compile(np.trace(T))(t), np.trace(t))
    np.testing.assert_allclose(sd.compile(np.vecdot(T, T, axis=1))(t), np.vecdot(t, t, axis=1), rtol=1e-14)


def conditioned(number: float, seed: int) -> Any:
    """Return a 9×5 matrix whose columns are of like length and have this condition number."""
    u, v = (linalg.qr(draw(n, n, seed=seed + n))[0] for n in (9, 5))
    return u[:, :5] @ np.diag(np.geomspace(1, 1 / number, 5)) @ v


@pytest.mark.parametrize("number", [1e1, 1e4, 1e6])
def test_full_rank_keeps_the_digits_of_reflections(number: float) -> None:
    x = sd.matrix("x", 9, 5)
    a = conditioned(number, 3)
    q, r, p = sd.compile((*np.linalg.qr(x), np.linalg.pinv(x)))(a)
    np.testing.assert_allclose(q.T @ q, np.eye(5), atol=1e-13)
    np.testing.assert_allclose(q @ r, a, atol=1e-13)
    want = np.linalg.pinv(a)
    assert linalg.norm(p - want) <= 1e-14 * number * linalg.norm(want)
    # the differential of a pseudo-inverse of full column rank (Golub and Pereyra, 1973, 4.12)
    e = draw(9, 5, seed=9)
    got = sd.compile(sd.jvp(np.linalg.pinv(x), x, sd.matrix("e", 9, 5)))(x=a, e=e)
    change = -want @ e @ want + want @ want.T @ e.T @ (np.eye(9) - a @ want)
    assert linalg.norm(got - change) <= 1e-13 * number * linalg.norm(change)


def test_a_column_that_depends_on_others_gives_no_number() -> None:
    a = draw(4, 3)
    a[:, 2] = a[:, 0] - 2 * a[:, 1]
    for outputs in ((np.linalg.pinv(A),), np.linalg.qr(A), (sd.jacobian(np.linalg.pinv(A), A),)):
        kernel = sd.compile(outputs, backend="numpy")
        try:
            found = kernel(a)
        except sd.SingularMatrixError:
            continue
        assert all(np.isnan(part).all() for part in found)


REFUSED: dict[str, tuple[Callable[[], Any], type[sd.SymdiffError], str]] = {
    "rank": (lambda: np.linalg.matrix_rank(V), sd.ShapeError, "matrix"),
    "qr mode": (lambda: np.linalg.qr(A, mode="complete"), sd.UnsupportedError, "'reduced' and 'r'"),
    "qr vector": (lambda: sd.qr(V), sd.ShapeError, "matrix"),
    "pinv vector": (lambda: sd.pinv(V), sd.ShapeError, "matrix"),
    "pinv cutoff": (lambda: np.linalg.pinv(A, rcond=1e-3), sd.UnsupportedError, "rcond="),
    "norm order": (lambda: np.linalg.norm(A, 3), sd.UnsupportedError, "known"),
    "norm axes": (lambda: np.linalg.norm(T, 1, axis=(1, 1)), sd.ShapeError, "two of matrices"),
    "norm of a stack": (lambda: np.linalg.norm(T, 1), sd.ShapeError, "axis="),
    "norm of vectors": (lambda: np.linalg.norm(V, "fro"), sd.UnsupportedError, "number"),
    "matrix_norm of a vector": (lambda: np.linalg.matrix_norm(V), sd.ShapeError, "matrix"),
    "cond order": (lambda: np.linalg.cond(B, 3), sd.UnsupportedError, "known"),
    "cond of a vector": (lambda: np.linalg.cond(V, 1), sd.ShapeError, "matrix"),
    "cross": (lambda: np.cross(B, B), sd.ShapeError, "in a plane"),
    "vecdot": (lambda: np.vecdot(V, A[0, :2]), sd.ShapeError, "3 against 2"),
    "matvec": (lambda: np.matvec(B, V), sd.ShapeError, "4 against 3"),
    "vecmat": (lambda: np.vecmat(V, V), sd.ShapeError, "expected a vector and a matrix"),
    "trans": (lambda: sd.solve_triangular(B, A, trans=3), sd.ArgumentError, "expected 0 or"),
    "triangle": (lambda: sd.solve_triangular(A, V), sd.ShapeError, "square"),
    "lower": (lambda: sd.solve_triangular(B, A, lower="yes"), sd.ArgumentError, "True or False"),
    "factor alone": (lambda: sd.cho_solve(B, A), sd.ArgumentError, r"\(factor, lower\)"),
    "block of many axes": (lambda: sd.block_diag(T), sd.ShapeError, "matrices"),
    "toeplitz by name": (lambda: sd.toeplitz(sd.vector("c", "n")), sd.UnsupportedError, "fixed size"),
    "toeplitz of nothing": (lambda: sd.toeplitz(V[:0]), sd.ShapeError, "one at least"),
    "toeplitz too large": (lambda: sd.toeplitz(sd.vector("c", 10**6)), sd.LimitError, "limit"),
    "vander of a matrix": (lambda: np.vander(A), sd.ShapeError, "vector"),
    "vander of many columns": (lambda: np.vander(sd.vector("v", "n"), 10**20), sd.LimitError, "elements"),
    "vander without columns": (lambda: np.vander(V, 0), sd.ArgumentError, "one at least"),
    "tensorinv": (lambda: np.linalg.tensorinv(T, 1), sd.ShapeError, "as many elements"),
    "tensorinv axes": (lambda: np.linalg.tensorinv(B, 0), sd.ShapeError, "1 to 2"),
    "tensorsolve": (lambda: np.linalg.tensorsolve(B, V), sd.ShapeError, "the shape of the second"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_what_was_expected(name: str) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        call()


# ---------------------------------------------------------------------------- spectra
def test_a_matrix_of_powers_has_a_limit_of_columns() -> None:
    x = sd.vector("x", 2)
    with pytest.raises(sd.LimitError, match="vander with 1000000 columns"):
        np.vander(x, 10**6)
    assert np.vander(x, 300).shape == (2, 300)
