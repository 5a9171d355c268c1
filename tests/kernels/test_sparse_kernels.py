"""Products and factors of sparse matrices beside those of dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from symdiff._kernels.matrix.sparse import Analysis, product, transposed_product


def pattern_of(rng: np.random.Generator, kind: str) -> Any:
    """Return the lower triangle of a positive definite matrix by columns."""
    if kind == "grid":
        n = int(rng.integers(1, 14))
        line = sparse.diags_array([-np.ones(n - 1), np.full(n, 2.0), -np.ones(n - 1)], offsets=[-1, 0, 1])
        whole = sparse.kronsum(line, line) + sparse.eye_array(n * n)
    elif kind == "dense":
        root = rng.normal(size=(int(rng.integers(1, 70)),) * 2)
        whole = root @ root.T + np.eye(len(root))
    else:
        n = int(rng.integers(1, 90))
        some = sparse.random_array((n, n), density=float(rng.uniform(0, 3 / n)), rng=rng)
        whole = some + some.T + sparse.diags_array(1.0 + abs(some).sum(0) + abs(some).sum(1))
    order = rng.permutation(whole.shape[0])
    return sparse.csc_array(np.tril(sparse.csr_array(whole).toarray()[np.ix_(order, order)]))


@pytest.mark.parametrize("kind", ["grid", "dense", "random"])
@pytest.mark.parametrize("seed", range(8))
def test_factors_solutions_and_elements_of_inverses(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lower = pattern_of(rng, kind)
    n = lower.shape[0]
    rows, columns = lower.tocoo().coords
    analysis = Analysis(lower.indptr.astype(np.int32), lower.indices.astype(np.int32))
    slots = analysis.slots(rows, columns)
    values = np.zeros(analysis.count)
    values[slots] = lower.tocoo().data
    assert analysis.factor(values) == -1
    dense = lower.toarray() + np.tril(lower.toarray(), -1).T
    inverse = np.linalg.inv(dense)
    size = abs(inverse).max()
    np.testing.assert_allclose(2 * np.log(values[analysis.diagonal()]).sum(), np.linalg.slogdet(dense)[1], rtol=1e-12)
    right = rng.normal(size=(3, n))
    found = right.copy()
    analysis.solve(values, found)
    np.testing.assert_allclose(found, right @ inverse, atol=1e-11 * size * n)
    np.testing.assert_allclose(analysis.inverse(values)[slots], inverse[rows, columns], atol=1e-11 * size * n)


@pytest.mark.parametrize("at", [0, 3, 8])
def test_the_column_without_a_positive_pivot_is_told(at: int) -> None:
    lower = sparse.csc_array(np.diag(np.arange(1.0, 10)) + 0.1 * np.eye(9, k=-1))
    analysis = Analysis(lower.indptr.astype(np.int32), lower.indices.astype(np.int32))
    for wrong in (-1.0, 0.0, np.nan, np.inf):
        values = np.zeros(analysis.count)
        values[analysis.slots(*lower.tocoo().coords)] = lower.tocoo().data
        values[analysis.diagonal()[at]] = wrong
        assert analysis.factor(values) == at


def test_products_are_scipy_s_to_the_bit() -> None:
    rng = np.random.default_rng(0)
    for m, n in ((1, 1), (7, 30), (200, 40)):
        matrix = sparse.random_array((m, n), density=0.2, rng=rng, format="csr")
        x, y = rng.normal(size=n), rng.normal(size=m)
        for kind in (np.int32, np.int64):
            positions = matrix.indptr.astype(kind), matrix.indices.astype(kind)
            along, back = np.full(m, np.nan), np.full(n, np.nan)
            product(*positions, matrix.data, x, along)
            transposed_product(*positions, matrix.data, y, back)
            np.testing.assert_array_equal(along, matrix @ x)
            np.testing.assert_array_equal(back, matrix.T @ y)
            single = np.full(m, np.nan, np.float32)
            product(*positions, matrix.data.astype(np.float32), x.astype(np.float32), single)
            np.testing.assert_allclose(single, matrix @ x, rtol=1e-4, atol=1e-5)
