"""Sparse results of random formulas: patterns by probing, and values by the dense result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.lowering.sparse import layouts
from tests.support.sparse_formulas import draw_scalar, draw_vector, probe

KINDS = ("csr", "csc", "coo")


def _drawn(seed: int, n: Any) -> Any:
    rng = np.random.default_rng(seed)
    x, X = sd.vector("x", n), sd.matrix("X", n, n)
    wrt = (x, X)[seed // 3 % 2]
    if seed % 3 == 0:
        derivative = sd.hessian(draw_scalar(rng, x, X), wrt, disconnected="zero")
    else:
        derivative = sd.jacobian(draw_vector(rng, x, X), wrt, disconnected="zero")
    return rng, derivative, [x, X]


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("seed", range(90))
def test_patterns_and_values_are_those_of_the_dense_result(
    seed: int, forced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if forced:  # as large results are laid out
        monkeypatch.setattr(layouts, "ELEMENTS", 0)
    n = 5
    rng, derivative, inputs = _drawn(seed, n)
    shapes = [(n,), (n, n)]
    dense = sd.compile(derivative, inputs, backend="interpreter")
    kernel = sd.compile(derivative, inputs, sparse=KINDS[seed % 3], backend="interpreter")
    _compare(rng, dense, kernel, shapes, derivative, {})


@pytest.mark.parametrize("seed", range(0, 120, 2))
def test_letters_give_the_same_as_numbers(seed: int) -> None:
    rng, derivative, inputs = _drawn(seed, "n")
    dense = sd.compile(derivative, inputs, backend="numpy")
    kernel = sd.compile(derivative, inputs, sparse=KINDS[seed % 3], backend="numpy" if seed % 4 else "auto")
    for n in (6, 17):  # below and above what cuts of ranges are taken to be
        _compare(rng, dense, kernel, [(n,), (n, n)], derivative, {"n": n})


def _compare(rng: Any, dense: Any, kernel: Any, shapes: Any, derivative: Any, sizes: Any) -> None:
    arrays = [rng.uniform(-2, 2, shape) for shape in shapes]
    lead = derivative.provenance.facts.rows[-1][1]
    whole = dense(*arrays)
    sides = (int(np.prod(whole.shape[:lead])), int(np.prod(whole.shape[lead:])))
    result = kernel(*arrays)
    assert result.shape == sides
    np.testing.assert_allclose(result.toarray(), whole.reshape(sides), rtol=1e-12, atol=1e-12)
    rows, columns = kernel.pattern(**sizes)
    order = np.lexsort((rows, columns) if result.format == "csc" else (columns, rows))
    assert (order == np.arange(order.size)).all()
    mask = np.zeros(sides, bool)
    mask[rows, columns] = True
    assert mask.sum() == rows.size == result.nnz  # without duplicates
    for times in (8, 60, 600):  # branches that are rarely taken need many points
        seen = probe(dense, rng, shapes, times).reshape(sides)
        assert not (seen & ~mask).any()
        if (seen == mask).all():
            return
    # a branch that no point takes: what of it is not seen is a part of what its condition chooses from
    assert "where" in str(derivative)
    assert (mask & ~seen).mean() < 0.25


@pytest.mark.parametrize("seed", range(12))
def test_the_same_program_has_the_same_bits(seed: int) -> None:
    n = 6
    rng, derivative, inputs = _drawn(seed, n)
    arrays = [rng.uniform(-2, 2, (7, n)), rng.uniform(-2, 2, (7, n, n))]
    of = {
        backend: sd.compile(derivative, inputs, sparse="values", backend=backend)(*arrays)
        for backend in ("interpreter", "native")
    }
    np.testing.assert_array_equal(of["interpreter"], of["native"])
    one = sd.compile(derivative, inputs, sparse="values", backend="interpreter")(*[array[3] for array in arrays])
    np.testing.assert_array_equal(of["native"][3], one)
