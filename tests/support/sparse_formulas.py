"""Random formulas whose Jacobians and Hessians have structure: slices, shifts, lists, products, joins, branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["draw_scalar", "draw_vector", "probe"]


def draw_vector(rng: np.random.Generator, x: Any, X: Any, depth: int = 3) -> Any:
    """Return a random formula of one axis, of a vector and a matrix."""
    n = x.shape[0]
    if depth == 0:
        return _leaf(rng, x, X)
    a = draw_vector(rng, x, X, depth - 1)
    size = a.shape[0]
    fixed = isinstance(size, int)
    kinds: list[Callable[[], Any]] = [
        lambda: a * _number(rng) + _number(rng) * _like(rng, a, x, X, depth),
        lambda: a * _like(rng, a, x, X, depth),
        lambda: np.sin(a),
        lambda: a**2,
        lambda: a / (2 + _like(rng, a, x, X, depth) ** 2),
        lambda: np.where(a > 0.1 * _number(rng), a * _number(rng), _like(rng, a, x, X, depth)),
        lambda: a[::-1],
        lambda: np.concatenate([a[1:], a[:1]]),
        lambda: np.concatenate([a, _leaf(rng, x, X)]),
        lambda: a[1:] * a[:-1],
        lambda: np.concatenate([np.stack([a[0] * a[1], a[2]]), a[2:] * a[1:-1] + a[:-2]]),
        lambda: a[2:] - _number(rng) * a[:-2],
    ]
    if fixed:
        kinds += [
            lambda: a[rng.integers(0, size, size=rng.integers(2, 7))],
            lambda: a[::2],
            lambda: np.maximum(a, 0.1 * _number(rng)),
            lambda: np.stack([a, a * a], axis=1).reshape(-1),
            lambda: np.cumsum(a),
            lambda: a * np.sum(a[:2]),
            lambda: np.array(rng.integers(0, 3, (4, size)), float) @ a,
            lambda: a * np.array(rng.integers(0, 2, size), float),
            lambda: np.stack([a[0] * a[-1], np.sum(a[1:]), a[1]]),
        ]
        kinds.append(lambda: np.outer(a, a[:2]).reshape(-1))
        if n == size:
            kinds.append(lambda: X @ a)
    return kinds[rng.integers(len(kinds))]()


def draw_scalar(rng: np.random.Generator, x: Any, X: Any, depth: int = 3) -> Any:
    """Return a random formula of no axis, of high enough order to have second derivatives."""
    a = draw_vector(rng, x, X, depth)
    return np.sum(a * a[::-1] if rng.random() < 0.3 else a**2) + np.sum(x[1:] * x[:-1])


def _number(rng: np.random.Generator) -> float:
    return float(np.round(rng.uniform(0.5, 1.5), 3))


def _leaf(rng: np.random.Generator, x: Any, X: Any) -> Any:
    return [lambda: x, lambda: x * x, lambda: X[0], lambda: X[:, 1], lambda: np.tanh(x)][rng.integers(5)]()


def _like(rng: np.random.Generator, a: Any, x: Any, X: Any, depth: int) -> Any:
    """Return a formula of the length of another."""
    for _ in range(4):
        b = draw_vector(rng, x, X, depth - 1)
        if b.shape == a.shape:
            return b
    return np.cos(a)


def probe(kernel: Any, rng: np.random.Generator, shapes: list[tuple[int, ...]], times: int = 8) -> Any:
    """Return which elements of a dense result are not zero at some of several random points, of both signs."""
    found: Any = False
    for _ in range(times):
        found = found | (kernel(*[rng.uniform(-2, 2, shape) for shape in shapes]) != 0)
    return found


