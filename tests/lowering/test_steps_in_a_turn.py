"""Steps in a turn of a loop read and write where their arrays lie, in whole vectors, also of fewer elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.graph import postorder
from symdiff.lowering.plan.calls import plan_call
from symdiff.lowering.plan.steps import Call, LoopStep, Repeated, nested

#: Lengths around those of vectors, of float32 as well, and around what one element may have to itself.
LENGTHS = (1, 2, 3, 5, 7, 8, 9, 14, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 71, 100)
Body = Callable[[Any, Any, Any], Any]

#: Bodies of a state of n numbers, a row and what is held, by name; each element depends on its own alone.
SINGLE: dict[str, Body] = {
    "map": lambda s, x, w: np.tanh(s * w + x),
    "cheap": lambda s, x, w: 0.5 * s - w * x,
    "gate": lambda s, x, w: sd.sigmoid(w * x) * s + np.exp(-(x**2)) * np.sin(w),
}
#: Others, with sums, maxima, products and neighbours.
TOGETHER: dict[str, Body] = {
    "softmax": lambda s, x, w: np.exp(s - np.max(s)) / np.sum(np.exp(s - np.max(s))) + w * x,
    "norm": lambda s, x, w: (s + x) / np.sqrt(1.0 + np.sum(s * s)) * w,
    "several sums": lambda s, x, w: 0.1 * s * np.sum(s * x) + w / (2.0 + np.sum(x * x) + np.sum(np.cos(s))),
    "outer": lambda s, x, w: np.tanh(np.sum(np.outer(s, x) * np.outer(w, np.cos(s)), axis=1)),
    "neighbours": lambda s, x, w: np.roll(s, 1) * w - np.roll(np.sin(s), -1) + x,
    "stencils": lambda s, x, w: np.roll(np.tanh(np.roll(np.tanh(np.roll(s, 2) - s + x), -1) * w), 1),
    "reversed": lambda s, x, w: np.cos(s[::-1] + x) * w,
}


def loop(body: Body, n: int | str) -> tuple[list[Any], Any]:
    s, X, w = sd.vector("s", n), sd.matrix("X", "T", n), sd.vector("w", n)
    last, rows = sd.scan(lambda state, x: ((new := body(state, x, w)), new * x), s, X)
    return [s, X, w], [last, rows]


def run(body: Body, s: Any, X: Any, w: Any) -> tuple[Any, Any]:
    rows = []
    for x in X:
        s = body(s, x, w)
        rows.append(s * x)
    return s, np.array(rows)


def data(n: int, steps: int = 5) -> list[Any]:
    rng = np.random.default_rng(n)
    return [rng.normal(size=n), rng.normal(size=(steps, n)), rng.normal(size=n)]


@pytest.mark.parametrize("size", ["n", 5, 14, 33])
@pytest.mark.parametrize("name", [*SINGLE, *TOGETHER])
def test_loops_are_those_in_numpy(name: str, size: int | str) -> None:
    body = {**SINGLE, **TOGETHER}[name]
    inputs, outputs = loop(body, size)
    kernel = sd.compile(outputs, inputs)
    kernel.wait()
    for n in LENGTHS[2:] if size == "n" else (size,):
        values = data(int(n))
        expected = run(body, *values)
        for dtype, tolerance in (("float64", 1e-12), ("float32", 2e-4)):
            for found, right in zip(kernel(*[v.astype(dtype) for v in values]), expected, strict=True):
                np.testing.assert_allclose(found, right, rtol=tolerance, atol=tolerance, err_msg=f"{n} {dtype}")


@pytest.mark.rows(1)
@pytest.mark.parametrize("name", [*SINGLE, *TOGETHER])
def test_gradients_of_loops(name: str) -> None:
    body = {**SINGLE, **TOGETHER}[name]
    for n in (3, 14, 33):
        inputs, (last, rows) = loop(body, n)
        total = np.sum(last * np.arange(1.0, n + 1)) + np.sum(rows)
        kernel = sd.compile(sd.gradient(total, inputs), inputs)
        kernel.wait()
        values = data(n)
        rng = np.random.default_rng(0)
        directions = [rng.normal(size=np.shape(v)) for v in values]

        def at(t: float, n: int = n, values: Any = values, directions: Any = directions) -> float:
            last, rows = run(body, *[v + t * d for v, d in zip(values, directions, strict=True)])
            return float(np.sum(last * np.arange(1.0, n + 1)) + np.sum(rows))

        slope = sum(float(np.sum(g * d)) for g, d in zip(kernel(*values), directions, strict=True))
        h = 1e-4  # differences of fourth order
        difference = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
        np.testing.assert_allclose(slope, difference, rtol=1e-6, atol=1e-8, err_msg=str(n))


@pytest.mark.parametrize("name", list(SINGLE))
def test_an_element_has_the_same_bits_among_any_number_of_others(name: str) -> None:
    inputs, outputs = loop(SINGLE[name], 1)
    alone = sd.compile(outputs, inputs)
    alone.wait()
    for size in ("n", 14, 33):
        inputs, outputs = loop(SINGLE[name], size)
        kernel = sd.compile(outputs, inputs)
        kernel.wait()
        for n in LENGTHS if size == "n" else (size,):
            s, X, w = data(int(n))
            last, rows = kernel(s, X, w)
            for k in {0, len(s) // 2, len(s) - 1}:
                one, row = alone(s[k : k + 1], X[:, k : k + 1], w[k : k + 1])
                assert last[k] == one[0], (n, k)
                assert np.array_equal(rows[:, k], row[:, 0]), (n, k)


@pytest.mark.parametrize("name", [*SINGLE, *TOGETHER])
def test_the_interpreter_has_the_same_bits(name: str) -> None:
    for size in ("n", 14):
        inputs, outputs = loop({**SINGLE, **TOGETHER}[name], size)
        native, other = (sd.compile(outputs, inputs, backend=backend) for backend in ("native", "interpreter"))
        for n in (3, 14, 33, 70) if size == "n" else (size,):
            for mine, its in zip(native(*data(int(n))), other(*data(int(n))), strict=True):
                assert np.array_equal(mine, its), n


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_nan_reaches_no_element_beside_it(draw: st.DataObject) -> None:
    n = draw.draw(st.sampled_from([3, 14, 33]))
    name = draw.draw(st.sampled_from(sorted(SINGLE)))
    k = draw.draw(st.integers(0, n - 1))
    inputs, outputs = loop(SINGLE[name], n)
    kernel = sd.compile(outputs, inputs)
    s, X, w = data(n)
    clean, rows = kernel(s, X, w)
    s[k] = draw.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    X[:, k] = np.nan
    last, others = kernel(s, X, w)
    keep = np.arange(n) != k
    assert np.array_equal(last[keep], clean[keep])
    assert np.array_equal(others[:, keep], rows[:, keep])


def bodies(outputs: list[Any]) -> list[list[Any]]:
    """Return the steps of the loops that a kernel's formula has."""
    nodes = [o.node for o in outputs]
    inputs = sorted({node for node in postorder(nodes) if node.op == "input"}, key=lambda node: str(node.name))
    plan = plan_call(inputs, nodes, [False] * len(inputs), 4_000)
    return [list(step.steps) for step in nested(plan.steps) if isinstance(step, Repeated)]


def test_a_turn_goes_over_elements_where_functions_take_time() -> None:
    _, outputs = loop(SINGLE["gate"], 14)
    (steps,) = bodies(outputs)
    assert [step.loops for step in steps if isinstance(step, LoopStep)] == [(14,)]


def test_a_turn_of_small_matrices_is_straight_line_code() -> None:
    F, start = sd.matrix("F", 2, 2), sd.matrix("P", 2, 2)
    last = sd.iterate(lambda P: F @ P @ F.T + np.eye(2), start, 10)
    (steps,) = bodies([last])
    assert [step.loops for step in steps] == [()]


@pytest.mark.exhaustive
@pytest.mark.parametrize("n", [16, 33, 40, 65, 150])
def test_stencils_of_stencils_stay_native(n: int) -> None:
    """Four stages of a method of Runge and Kutta reach ten places on a ring, which has a piece for each at its ends."""
    y = sd.vector("y", n)

    def slope(x: Any) -> Any:
        return (np.roll(x, -1) - np.roll(x, 2)) * np.roll(x, 1) - x + 2.0

    def step(x: Any, h: float = 0.01) -> Any:
        a = slope(x)
        b = slope(x + h / 2 * a)
        c = slope(x + h / 2 * b)
        return x + h / 6 * (a + 2 * b + 2 * c + slope(x + h * c))

    values = np.random.default_rng(n).normal(size=n)
    expected = values
    for _ in range(6):
        expected = step(expected)
    last = sd.iterate(step, y, 6)
    total = np.sum(last**2)
    kernel = sd.compile([total, sd.gradient(total, y)], [y])
    assert not any(isinstance(each, Call) for steps in bodies([total, sd.gradient(total, y)]) for each in steps)
    value, gradient = kernel(values)
    np.testing.assert_allclose(value, np.sum(expected**2), rtol=1e-13)
    direction = np.cos(np.arange(n))
    right: Any = values + 1e-30j * direction
    for _ in range(6):
        right = step(right)
    np.testing.assert_allclose(gradient @ direction, np.imag(np.sum(right**2)) / 1e-30, rtol=1e-11)
    # and the same without a loop
    twice = step(step(y))
    np.testing.assert_allclose(sd.compile(twice, [y])(values), step(step(values)), rtol=1e-13)


@pytest.mark.parametrize(("state", "row"), [(8, 4), (12, 4), (12, 1), (24, 4), (40, 3)])
def test_recurrent_networks(state: int, row: int) -> None:
    """Elements that read rows of a matrix are computed together; those of few states in straight-line code."""
    X, W, U = sd.matrix("X", "T", row), sd.matrix("W", state, row), sd.matrix("U", state, state)
    _, told = sd.scan(lambda s, x: (np.tanh(W @ x + U @ s),) * 2, np.zeros(state), X)
    (steps,) = bodies([told])
    if row == 4:
        assert (len(steps) == 1) == (state <= 12)
    rng = np.random.default_rng(state)
    x, w, u = (rng.normal(size=shape) * 0.4 for shape in ((9, row), (state, row), (state, state)))
    s, rows = np.zeros(state), []
    for one in x:
        s = np.tanh(w @ one + u @ s)
        rows.append(s)
    for backend in ("native", "interpreter"):
        k = sd.compile(told, [X, W, U], backend=backend)
        np.testing.assert_allclose(k(x, w, u), rows, rtol=1e-12, atol=1e-14)
        single = k(*(array.astype(np.float32) for array in (x, w, u)))
        np.testing.assert_allclose(single, rows, rtol=1e-3, atol=1e-4)
