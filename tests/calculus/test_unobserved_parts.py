"""What a slice leaves out, and what an order does not choose, is not observed: no nan of it comes through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd

#: Functions whose slope at 0 is infinite.
STEEP: dict[str, Callable[[Any], Any]] = {
    "root": np.sqrt,
    "power": lambda x: x**0.3,
    "arc": lambda x: np.arcsin(1 - x),
    "length": lambda x: np.sqrt(x**2 + x),
    "quotient": lambda x: 1 / (1 + np.log1p(x) ** 0.5),
}
#: Numbers made of all but the first of some, each with what it is made of.
PARTS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda y: y[1:].sum(),
    "element": lambda y: y[1] * y[2],
    "squares": lambda y: (y[1:] ** 2).sum(),
    "neighbours": lambda y: (y[1:-1] * y[2:]).sum(),
    "product": lambda y: y[1:] @ np.cos(y[1:]),
    "gathered": lambda y: y[np.array([1, 2, 2])].sum(),
    "rolled": lambda y: np.roll(y, -1)[:-1].sum(),
    "turned": lambda y: y[::-1][:-1].sum(),
    "padded": lambda y: np.pad(y[1:], 1).sum(),
    "running": lambda y: np.cumsum(y[1:])[-1],
    "rows": lambda y: (np.ones((2, 3)) @ y[1:4]).sum(),
    "row of a product": lambda y: np.outer(y, y)[1, 1:3].sum(),
    "column of a product": lambda y: (y[:, None] * np.cos(y))[1:, 2].sum(),
    "part times an element": lambda y: y[1:].sum() * y[2],
    "part and an element": lambda y: (y[1:] * np.cos(y[2])).sum() + y[3] ** 2,
    "part of a product": lambda y: np.outer(y, y)[1:3, 2:].sum(),
}
#: Numbers that the smallest of some does not reach.
CHOSEN: dict[str, Callable[[Any], Any]] = {
    "sort": lambda y: np.sort(y)[2],
    "several": lambda y: (np.sort(y)[1:] * 2).sum(),
    "weights": lambda y: np.sort(y)[:3] @ np.array([0.0, 1.0, 2.0]),
    "from the top": lambda y: np.sort(y)[::-1][:2].sum(),
    "partition": lambda y: np.partition(y, 2)[2],
    "median": np.median,
    "quantile": lambda y: np.quantile(y, 0.5),
    "largest so far": lambda y: sd.cummax(y)[2] if isinstance(y, sd.Array) else np.maximum.accumulate(y)[2],
}


def check(formula: Callable[[Any], Any], size: Any, backend: Any, at: Any) -> None:
    x = sd.vector("x", size)
    value = sd.asarray(formula(x))
    way = sd.vector("way", size)
    outputs = [sd.gradient(value, x), sd.vjp(value, x, 2.0), sd.hvp(value, x, way)]
    gradient, pulled, curved = sd.compile(outputs, [x, way], backend=backend)(at, np.ones(at.size))
    h = 1e-6
    wanted = np.zeros(at.size)
    for i in range(1, at.size):  # the first does not count, and differences cannot go below 0
        step = np.zeros(at.size)
        step[i] = h
        wanted[i] = (formula(at + step) - formula(at - step)) / (2 * h)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(pulled, 2 * gradient, rtol=1e-12)
    assert gradient[0] == 0.0
    assert curved[0] == 0.0
    assert np.isfinite(curved).all()


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
@pytest.mark.parametrize("size", [5, "n", 40])
@pytest.mark.parametrize("steep", STEEP)
def test_what_a_slice_leaves_out(steep: str, size: Any, backend: Any) -> None:
    at = np.r_[0.0, np.linspace(0.3, 0.9, (40 if size == 40 else 5) - 1)]
    for part in PARTS.values():
        check(lambda x, part=part: part(STEEP[steep](x)), size, backend, at)  # type: ignore[misc]


@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
@pytest.mark.parametrize("size", [5, "n"])
@pytest.mark.parametrize("steep", ["root", "power", "length"])
def test_what_an_order_does_not_choose(steep: str, size: Any, backend: Any) -> None:
    at = np.array([0.0, 0.5, 0.7, 0.9, 0.3])
    for name, choice in CHOSEN.items():
        if size == "n" and name in ("weights", "from the top"):
            continue
        check(lambda x, choice=choice: choice(STEEP[steep](x)), size, backend, at)  # type: ignore[misc]


def test_rows_of_data_that_are_left_out_may_be_nan() -> None:
    A, x = sd.matrix("A", 4, 3), sd.vector("x", 3)
    kernel = sd.compile(sd.gradient(((A @ x)[1:] ** 2).sum(), x), [A, x], backend="numpy")
    data = np.arange(12.0).reshape(4, 3)
    data[0] = np.nan
    at = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(kernel(data, at), 2 * data[1:].T @ (data[1:] @ at))


def test_what_is_left_of_a_derivative_is_shorter() -> None:
    assert str(sd.gradient("sum(sqrt(x)[1:])", "x", x="n")) == "pad((0.5 / sqrt(x))[1:], (1, 0))"
