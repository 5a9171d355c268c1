"""Products that are symmetric by construction: one triangle is computed, in whatever way they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import symdiff as sd

Way = Callable[[Any, Any], Any]

#: X.T diag(w) X in several ways, and what is near it and is not symmetric.
SYMMETRIC: dict[str, Way] = {
    "scaled columns": lambda x, w: (x.T * w) @ x,
    "scaled rows": lambda x, w: x.T @ (w[:, None] * x),
    "both": lambda x, w: (x.T * np.sqrt(w)) @ (np.sqrt(w)[:, None] * x),
    "twice": lambda x, w: ((x.T * w) * np.exp(w)) @ x,
    "einsum": lambda x, w: np.einsum("ki,k,kj->ij", x, w, x),
    "rows of a matrix": lambda x, w: x.T @ x,
}
OTHERS: dict[str, Way] = {
    "scaled one column": lambda x, w: (x.T * w) @ (x * x[:1]),
    "scaled the other way": lambda x, w: (x.T * x[:, :1].sum()) @ (np.exp(w)[:, None] * (x + 1)),
}


@pytest.mark.parametrize("way", [*SYMMETRIC, *OTHERS])
@settings(max_examples=8)
@given(rows=st.sampled_from([9, 40, 65]), columns=st.sampled_from([33, 79, 80, 100]), single=st.booleans())
def test_one_triangle_of_what_is_symmetric(way: str, rows: int, columns: int, single: bool) -> None:
    build = {**SYMMETRIC, **OTHERS}[way]
    x, w = sd.matrix("x", rows, columns), sd.vector("w", rows)
    kernel = sd.compile(build(x, w), [x, w], backend="interpreter")
    rng = np.random.default_rng(rows)
    dtype = np.float32 if single else np.float64
    a, b = rng.normal(size=(3, rows, columns)).astype(dtype), rng.uniform(0.5, 2, (3, rows)).astype(dtype)
    assert ("one triangle" in str(kernel.plan)) == (way in SYMMETRIC)
    for k, found in enumerate(kernel(a, b)):
        wanted = build(a[k].astype(float), b[k].astype(float))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=(1e-5 if single else 1e-13) * np.abs(wanted).max())
        if way in SYMMETRIC:
            np.testing.assert_array_equal(found, found.T)


def test_the_hessian_of_a_logistic_likelihood_is_one_triangle() -> None:
    x, w, y = sd.matrix("x", 60, 40), sd.vector("w", 40), sd.vector("y", 60)
    h = sd.compile(sd.hessian(np.log(1 + np.exp(-y * (x @ w))).sum(), w), [x, w, y])
    assert "one triangle" in str(h.plan)
