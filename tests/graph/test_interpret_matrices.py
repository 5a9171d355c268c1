"""What functions of matrices mean, against NumPy and exact fractions, singular and not finite ones among them."""

from __future__ import annotations

import itertools
from typing import Any

import mpmath
import numpy as np
import pytest

from symdiff.errors import SingularMatrixError
from symdiff.graph import (
    input as variable,
)
from symdiff.graph import (
    matrix,
)
from symdiff.graph.reference import numeric
from tests.graph.test_interpret import RNG, SQUARE, compute


@pytest.mark.parametrize("op", ["det", "logabsdet", "inv"])
def test_matrix_functions_of_stacks(op: str) -> None:
    want = {
        "det": np.linalg.det(SQUARE),
        "logabsdet": np.log(np.abs(np.linalg.det(SQUARE))),
        "inv": np.linalg.inv(SQUARE),
    }
    np.testing.assert_allclose(compute(matrix(op, variable("A", (2, 3, 3))), A=SQUARE), want[op], rtol=1e-12)


def test_solve_broadcasts_stacks() -> None:
    A, B = variable("A", (2, 3, 3)), variable("B", (3, 5))
    b = RNG.normal(size=(3, 5))
    np.testing.assert_allclose(compute(matrix("solve", A, B), A=SQUARE, B=b), np.linalg.inv(SQUARE) @ b, rtol=1e-12)


def test_cholesky_is_lower_and_reads_the_lower_triangle() -> None:
    spd = SQUARE[0] @ SQUARE[0].T
    got = compute(matrix("cholesky", variable("A", (3, 3))), A=np.tril(spd))
    assert (np.triu(got, 1) == 0).all()
    np.testing.assert_allclose(got @ got.T, spd, rtol=1e-12)


def test_logdet_of_each_sign() -> None:
    stack = np.array([np.eye(2), -np.eye(2) * [[1, 1], [1, -1]], np.zeros((2, 2)), np.full((2, 2), np.nan)])
    got = compute(matrix("logdet", variable("A", (4, 2, 2))), A=stack)
    np.testing.assert_array_equal(got, [0.0, np.nan, -np.inf, np.nan])


@pytest.mark.parametrize("op", ["inv", "solve", "cholesky"])
def test_singular_matrices_are_refused(op: str) -> None:
    A = variable("A", (2, 3, 3))
    node = matrix(op, A, A) if op == "solve" else matrix(op, A)
    with pytest.raises(SingularMatrixError, match=rf"{op}.*index \(1,\)") as caught:
        compute(node, A=[np.eye(3), np.zeros((3, 3))])
    assert caught.value.index == ()
    assert isinstance(caught.value, np.linalg.LinAlgError)


@pytest.mark.parametrize("op", ["inv", "solve", "cholesky", "adjugate", "adjugate_differential", "det", "logdet"])
def test_nan_passes_through_the_matrix_it_is_in(op: str) -> None:
    A = variable("A", (2, 3, 3))
    node = matrix(op, A, A) if op in ("solve", "adjugate_differential") else matrix(op, A)
    got = compute(node, A=[np.eye(3), np.full((3, 3), np.nan)])
    assert np.isfinite(got[0]).all()
    assert np.isnan(got[1][np.tril_indices(3)] if got.ndim == 3 else got[1]).all()


@pytest.mark.parametrize("op", ["inv", "solve"])
def test_nan_beside_a_zero_pivot_is_not_called_singular(op: str) -> None:
    A = variable("A", (2, 2, 2))
    node = matrix(op, A, A) if op == "solve" else matrix(op, A)
    unknown = [[0.0, np.nan], [0.0, 1.0]]
    assert np.isnan(compute(node, A=[np.eye(2), unknown])[1]).all()
    with pytest.raises(SingularMatrixError, match=r"index \(1,\)"):
        compute(node, A=[unknown, np.zeros((2, 2))])


@pytest.mark.parametrize("size", [0, 1])
def test_the_smallest_matrices(size: int) -> None:
    A = variable("A", (size, size))
    a = np.full((size, size), 5.0)
    assert compute(matrix("adjugate", A), A=a).tolist() == np.ones((size, size)).tolist()
    assert compute(matrix("adjugate_differential", A, A), A=a).tolist() == np.zeros((size, size)).tolist()
    assert compute(matrix("det", A), A=a) == pytest.approx(5.0 if size else 1.0)
    assert compute(matrix("inv", A), A=a).shape == (size, size)


def exact_adjugate(a: Any) -> Any:
    """Return the adjugate by cofactors, each a sum over permutations: no division, so no rank matters."""
    n = a.rows
    result = mpmath.matrix(n, n)
    for i, j in itertools.product(range(n), repeat=2):
        rows, columns = [r for r in range(n) if r != j], [c for c in range(n) if c != i]
        result[i, j] = (-1) ** (i + j) * exact_determinant([[a[r, c] for c in columns] for r in rows])
    return result


def exact_determinant(rows: Any) -> Any:
    if not rows:
        return mpmath.mpf(1)
    return sum(
        (-1) ** c * rows[0][c] * exact_determinant([row[:c] + row[c + 1 :] for row in rows[1:]])
        for c in range(len(rows))
        if rows[0][c] != 0
    )


@pytest.mark.parametrize(("n", "rank"), [(n, rank) for n in range(1, 6) for rank in range(n + 1)])
def test_adjugate_and_its_differential_at_every_rank(n: int, rank: int) -> None:
    rng = np.random.default_rng(10 * n + rank)
    a = (rng.integers(-3, 4, (n, rank)) @ rng.integers(-3, 4, (rank, n))).astype(float)
    e = rng.normal(size=(n, n))
    with mpmath.workdps(80):
        step = mpmath.mpf(10) ** -25
        at, towards = mpmath.matrix(a.tolist()), step * mpmath.matrix(e.tolist())
        value = exact_adjugate(at)
        slope = (exact_adjugate(at + towards) - exact_adjugate(at - towards)) / (2 * step)
        value, slope = (np.array(m.tolist(), dtype=float).reshape(n, n) for m in (value, slope))
    largest, change = max(1.0, float(np.linalg.norm(a, 2))), float(np.linalg.norm(e))
    np.testing.assert_allclose(numeric.adjugate(a), value, rtol=0, atol=1e-13 * largest ** (n - 1))
    np.testing.assert_allclose(
        numeric.adjugate_differential(a, e), slope, rtol=0, atol=1e-13 * largest ** max(0, n - 2) * change
    )


def test_adjugate_of_stacks_broadcasts() -> None:
    got = numeric.adjugate_differential(SQUARE[:, None], SQUARE)
    assert got.shape == (2, 2, 3, 3)
    for i, k in itertools.product(range(2), repeat=2):
        np.testing.assert_allclose(
            got[i, k], numeric.adjugate_differential(SQUARE[i], SQUARE[k]), rtol=1e-10, atol=1e-12
        )
