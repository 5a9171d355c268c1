"""Arrays of many elements along axes of which each is short: loops go over these, as over long ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.lowering.plan.calls import MOST_ELEMENTS

rng = np.random.default_rng(5)
SHAPES = [(30, 30, 30), (20, 20, 20, 20), (8, 8, 8, 8, 8), (32, 4, 32, 2), (32, 32, 6)]
FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "map": lambda x, v: np.exp(-(x**2)) * v,
    "sum": lambda x, v: np.sum(x * v, axis=(0, -1)),
    "max": lambda x, v: np.max(x, axis=1),
    "differences": lambda x, v: x[1:] - x[:-1],
    "softmax": lambda x, v: sd.softmax(x, axis=-1),
    "all": lambda x, v: np.sum(np.log1p(x**2)) + np.sum(v),
    "gradient": lambda x, v: sd.gradient(np.sum(np.exp(-(x**2)) * v), x),
    "gradient of differences": lambda x, v: sd.gradient(np.sum((x[1:] - x[:-1]) ** 2), x),
    "product": lambda x, v: x @ v,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", FORMULAS)
def test_many_elements_along_short_axes(name: str, shape: tuple[int, ...]) -> None:
    x, v = sd.array("x", shape), sd.vector("v", shape[-1])
    formula = FORMULAS[name](x, v)
    kernel, reference = sd.compile(formula), sd.compile(formula, backend="numpy")
    assert kernel.stats["steps"] >= 1
    assert not kernel.stats["numpy_steps"]
    assert kernel.stats["operations"] < MOST_ELEMENTS
    X, V = rng.normal(size=shape), rng.normal(size=shape[-1])
    arguments = {"x": X, "v": V}
    given = [arguments[p.name] for p in kernel.inputs]
    np.testing.assert_allclose(kernel(*given), reference(*given), rtol=1e-12, atol=1e-12)
    several = [np.stack([a, 2 * a, -a]) if a is X else a for a in given]
    np.testing.assert_allclose(kernel(*several), reference(*several), rtol=1e-12, atol=1e-12)
    single = [a.astype(np.float32) for a in given]
    np.testing.assert_allclose(kernel(*single), reference(*single), rtol=2e-4, atol=2e-4)
