"""Choices among eigenvalues: those that are not taken add nothing to a derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd

Floats = npt.NDArray[np.float64]

#: Numbers made of the eigenvalues of a matrix, some of which do not count.
CHOICES: dict[str, Callable[[Any], Any]] = {
    "ramp": lambda e: np.maximum(e, 0).sum(),
    "minimum": lambda e: np.minimum(e, 0.2).sum(),
    "clip": lambda e: (np.clip(e, -0.5, 0.7) ** 2).sum(),
    "where": lambda e: np.where(e > 0.1, e**2, 0).sum(),
    "by place": lambda e: np.where(np.array([1, 0, 1]) > 0, e, 0).sum(),
    "logarithm": lambda e: np.log(np.maximum(e, 0.1)).sum(),
    "product": lambda e: np.prod(np.maximum(e, 0.1)),
    "inverse": lambda e: (1 / np.clip(e, 0.1, 9)).sum(),
    "running sum": lambda e: np.cumsum(np.maximum(e, 0))[1],
    "sorted": lambda e: np.sort(np.maximum(e, 0.1))[1],
    "relu": lambda e: (sd.relu(e) if isinstance(e, sd.Array) else np.maximum(e, 0)).sum(),
}


def slopes(function: Callable[[Floats], Any], at: Floats, step: float = 1e-5) -> Floats:
    """Return central differences along symmetric directions."""
    found = np.zeros(at.shape)
    for i, j in np.ndindex(at.shape):
        way = np.zeros(at.shape)
        way[i, j] += step / 2
        way[j, i] += step / 2
        found[i, j] = (function(at + way) - function(at - way)) / (2 * step)
    return found


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
@pytest.mark.parametrize("size", [3, "n"])
def test_derivatives_are_those_of_differences(name: str, backend: Any, size: Any) -> None:
    rng = np.random.default_rng(7)
    A, T = sd.matrix("A", size, size), sd.matrix("T", size, size)
    if size == "n" and name == "by place":
        pytest.skip("three places")
    value = CHOICES[name](np.linalg.eigvalsh(A))
    kernel = sd.compile(
        [sd.gradient(value, A), sd.jacobian(value * np.array([1.0, 2.0]), A), sd.jvp(value, A, T), sd.hvp(value, A, T)],
        inputs=[A, T],
        backend=backend,
    )
    for _ in range(6):
        at, way = rng.normal(size=(2, 3, 3))
        at, way = at + at.T, way + way.T
        wanted = slopes(lambda a: CHOICES[name](np.linalg.eigvalsh(a)), at)
        gradient, jacobian, along, curved = kernel(at, way)
        np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(jacobian, np.stack([wanted, 2 * wanted]), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(along, (wanted * way).sum(), rtol=1e-6, atol=1e-7)
        before, behind = (kernel(at + h * way, way)[0] for h in (-1e-6, 1e-6))
        np.testing.assert_allclose((curved + curved.T) / 2, (behind - before) / 2e-6, rtol=1e-4, atol=1e-4)


def test_the_nearest_semidefinite_matrix() -> None:
    rng = np.random.default_rng(8)
    A = sd.matrix("A", 4, 4)
    values, vectors = np.linalg.eigh(A)
    nearest = (vectors * np.maximum(values, 0)) @ vectors.T
    kernel = sd.compile(sd.gradient((nearest**2).sum(), A))
    stack = rng.normal(size=(5, 4, 4))
    stack = stack + np.swapaxes(stack, 1, 2)
    for at, found in zip(stack, kernel(stack), strict=True):
        own, turned = np.linalg.eigh(at)
        wanted = 2 * (turned * np.maximum(own, 0)) @ turned.T  # the value is the sum of max(e, 0)**2
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("name", ["ramp", "clip", "where", "inverse"])
def test_stacks_of_matrices(name: str) -> None:
    rng = np.random.default_rng(9)
    B = sd.array("B", (2, 3, 3))
    values = np.linalg.eigvalsh(B)
    kernel = sd.compile(sd.gradient(CHOICES[name](values[0]) + CHOICES[name](values[1]), B))
    at = rng.normal(size=(2, 3, 3))
    at = at + np.swapaxes(at, 1, 2)
    wanted = [slopes(lambda a: CHOICES[name](np.linalg.eigvalsh(a)), one) for one in at]
    np.testing.assert_allclose(kernel(at), wanted, rtol=1e-6, atol=1e-7)
