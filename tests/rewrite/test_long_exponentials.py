"""Long chains of operations with exponentials: putting quotients of their sums in normal form comes to an end."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import symdiff as sd


def chain(seed: int, count: int, starts: list[Any]) -> Any:
    """Return a random formula, each operation of which takes what the one before gave."""
    draw, values = random.Random(seed), list(starts)
    for _ in range(count):
        a, b = values[-1], draw.choice(values)
        made: dict[str, Any] = {
            "+": lambda a, b: a + b,
            "*": lambda a, b: a * b,
            "-": lambda a, b: a - b,
            "s": lambda a, b: np.sin(a),
            "d": lambda a, b: a / (1.5 + b * b),
            "e": lambda a, b: np.exp(-a * a),
        }
        values.append(made[draw.choice("+*-sde")](a, b))
    return values[-1]


@pytest.mark.parametrize("seed", [1, 2, 5, 6, 9])
def test_gradients_of_long_chains(seed: int) -> None:
    x = [sd.scalar(f"x{i}") for i in range(10)]
    formula = chain(seed, 200, x)
    kernel = sd.compile([formula, *sd.gradient(formula, x, disconnected="zero")], x, backend="interpreter")
    at = np.random.default_rng(seed).uniform(-1.0, 1.0, 10)
    value, *found = kernel(*at)
    np.testing.assert_allclose(value, chain(seed, 200, list(at)), rtol=1e-9, atol=1e-12)
    for k, slope in enumerate(found):
        moved = at.astype(complex)
        moved[k] += 1e-30j
        np.testing.assert_allclose(slope, np.imag(chain(seed, 200, list(moved))) / 1e-30, rtol=1e-7, atol=1e-10)
