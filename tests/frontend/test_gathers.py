"""Positions listed by a formula (``x[i]``), read by loops and added to by their gradients, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd

FIRST, SECOND = np.triu_indices(70, 1)
rng = np.random.default_rng(7)
SHUFFLED = rng.permutation(len(FIRST))
RANDOM = rng.integers(0, 5000, 9000)
ROWS, COLUMNS = rng.integers(0, 90, 300), rng.integers(0, 80, 300)

CASES: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "pairs": ((70, 3), lambda x: 1 / (1 + ((x[FIRST] - x[SECOND]) ** 2).sum(axis=1))),
    "shuffled pairs": ((70, 3), lambda x: x[FIRST[SHUFFLED]] * x[SECOND[SHUFFLED]]),
    "elements": ((5000,), lambda x: np.exp(x[RANDOM]) * x[RANDOM[::-1]]),
    "a part of a list": ((5000,), lambda x: x[RANDOM][10:8000:3] * 2),
    "a list in pieces": ((5000,), lambda x: np.concatenate([x[:50] * x[RANDOM][1:51], x[50:] + x[RANDOM][50:5000]])),
    "a list of what is computed": ((5000,), lambda x: np.exp(x)[RANDOM] + 1),
    "columns": ((90, 80), lambda x: np.sin(x[:, COLUMNS]) * 3),
    "rows and columns": ((90, 80), lambda x: x[ROWS][:, COLUMNS] + 1),
    "a product": ((90, 80), lambda x: x[ROWS] @ x[ROWS[:40]].T),
}


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("batch", [(), (1,), (5,)])
@pytest.mark.parametrize("case", CASES)
def test_lists(case: str, batch: tuple[int, ...], backend: str) -> None:
    shape, f = CASES[case]
    x = (sd.matrix if len(shape) == 2 else sd.vector)("x", *shape)
    kernel = sd.compile(f(x), backend=backend)
    assert not kernel.stats.get("numpy_steps")
    for order in "CF":
        data = np.array(rng.normal(size=(*batch, *shape)), order=order)
        wanted = np.stack([f(one) for one in data]) if batch else f(data)
        np.testing.assert_allclose(kernel(data), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_gradients_add_up_what_is_listed_more_than_once(case: str) -> None:
    shape, f = CASES[case]
    x = (sd.matrix if len(shape) == 2 else sd.vector)("x", *shape)
    gradient = sd.gradient(np.sin(f(x)).sum(), x)
    data = rng.normal(size=shape)
    wanted = sd.compile(gradient, backend="numpy")(data)
    np.testing.assert_allclose(sd.compile(gradient, backend="native")(data), wanted, rtol=1e-10, atol=1e-10)


def test_short_axes_of_positions_along_a_long_one_are_in_a_plan() -> None:
    rng = np.random.default_rng(8)
    order = rng.integers(0, 30, 64)
    low, x = sd.matrix("low", 40, 30), sd.matrix("x", 50, 8)
    parts = np.take(low, order, axis=1).reshape(40, 8, 8)
    kernel = sd.compile(sd.gradient((np.einsum("kij,nj->nki", parts, x) ** 2).sum(), low), [low, x], batch=[])
    assert kernel.stats["numpy_steps"] == []
    a, b = rng.normal(size=(40, 30)), rng.normal(size=(50, 8))
    slope = 2 * np.einsum("kij,nj,nl->kil", a[:, order].reshape(40, 8, 8), b, b).reshape(40, 64)
    wanted = np.zeros((40, 30))
    np.add.at(wanted, (slice(None), order), slope)
    np.testing.assert_allclose(kernel(a, b), wanted, rtol=1e-11)
