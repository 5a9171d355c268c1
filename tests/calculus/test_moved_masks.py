"""Second derivatives of kinks whose branches are moved: reversed, rolled, taken in part. All products agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd

VIEWS: dict[str, Callable[[Any], Any]] = {
    "rows reversed": lambda x: x[::-1],
    "columns reversed": lambda x: x[:, ::-1],
    "rolled": lambda x: np.roll(x, 1, 0),
    "both reversed": lambda x: x[::-1, ::-1],
    "transposed": lambda x: x.T[::-1].T,
}
PARTS: dict[str, Callable[[Any], Any]] = {
    "column": lambda a: a[:, 0],
    "row": lambda a: a[0],
    "columns": lambda a: a[:, :1],
    "column of the reverse": lambda a: a[::-1][:, 0],
    "rest": lambda a: a[1:],
    "every other": lambda a: a.reshape(-1)[::2],
    "backwards": lambda a: a[::-2],
    "joined": lambda a: np.concatenate([a[:, 0], a[:, 1]])[::-1],
}
KINKS: dict[str, Callable[[Any, Any], Any]] = {
    "maximum": np.maximum,
    "where": lambda x, y: sd.where(x > y, x * x, y),
    "clip": lambda x, y: np.clip(x, y - 0.5, y + 0.5),
    "abs": lambda x, y: np.abs(x - y),
}


@settings(max_examples=60, deadline=None)
@given(
    *(st.sampled_from(sorted(table)) for table in (VIEWS, PARTS, KINKS)),
    *(st.sampled_from([(2, 2), (3, 2)]), st.integers(0, 2**32 - 1)),
)
def test_products_with_hessians_agree(view: str, part: str, kink: str, shape: tuple[int, int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, v = sd.matrix("x", *shape), sd.matrix("v", *shape)
    f = (PARTS[part](KINKS[kink](x, VIEWS[view](x))) ** 2).sum()
    at, along = rng.normal(size=shape), rng.normal(size=shape)
    whole = sd.compile(sd.hessian(f, x), backend="numpy")(at)
    step = 1e-6 * along
    slope = sd.compile(sd.gradient(f, x), backend="numpy")
    expected = np.einsum("ijkl,kl->ij", whole, along)
    np.testing.assert_allclose(expected, (slope(at + step) - slope(at - step)) / 2e-6, atol=1e-6)
    gradient = sd.gradient(f, x)
    for product in (sd.hvp(f, x, v), sd.jvp(gradient, x, v), sd.vjp(gradient, x, v), sd.gradient(sd.jvp(f, x, v), x)):
        found = sd.compile(product, inputs=[x, v], backend="numpy")(at, along)
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
def test_a_reversed_branch_counts_where_it_came_to(backend: str) -> None:
    kernel = sd.compile("hvp(sum(maximum(x, x[::-1])[:, 0]**2), x, V)", x=(2, 1), V=(2, 1), backend=backend)
    np.testing.assert_array_equal(kernel([[1.0], [2.0]], [[10.0], [20.0]]), [[0.0], [80.0]])
