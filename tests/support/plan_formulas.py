"""Formulas over long arrays, and numbers for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
CHAIN = "sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)"


def near(got: Any, wanted: Any, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


#: Formula, shapes; "n" is bound by each test.
FORMULAS: list[tuple[str, dict[str, Any]]] = [
    ("exp(-x**2) * y", {"x": "n", "y": "n"}),
    ("where(x > 1, softmax(X @ A)[:, 0], x)", {"x": "n", "X": ("n", 3), "A": (3, 2)}),
    ("exp(-(x[:, None] - y)**2) * t", {"x": "n", "y": "m", "t": ()}),
    ("gradient(log(sum(exp(x * y))), x)", {"x": "n", "y": "n"}),
    ("hessian(sum(softplus(-y * (X @ t))), t)", {"X": ("n", 3), "y": "n", "t": 3}),
    ("sum((x - mean(x))**2) / sum(x)", {"x": "n"}),
    (f"gradient({CHAIN}, x)", {"x": "n"}),
    ("tanh(W @ x + b)", {"W": ("m", "n"), "x": "n", "b": "m"}),
    ("concatenate([exp(x[1:]), log(y)[::-1]])", {"x": "n", "y": "m"}),
    ("sum(logdet(X) * y)", {"X": ("n", 2, 2), "y": "n"}),
    ("hessian(sum(exp(x) * y), x)", {"x": "n", "y": "n"}),
    ("cumsum(x * y) + max(x)", {"x": "n", "y": "n"}),
]
EACH = pytest.mark.parametrize(("text", "shapes"), FORMULAS)
DIMS = {"n": 70, "m": 41}


def numbers(shapes: dict[str, Any], batch: tuple[int, ...] = (), **dims: int) -> list[Array]:
    rng = np.random.default_rng(3)
    known = {**DIMS, **dims}
    result = []
    for shape in shapes.values():
        axes = shape if isinstance(shape, tuple) else (shape,)
        lengths = tuple(known.get(size, size) for size in axes)
        array = rng.uniform(0.5, 1.5, (*batch, *lengths))
        result.append(array + 2 * np.eye(2) if lengths[-2:] == (2, 2) else array)
    return result
