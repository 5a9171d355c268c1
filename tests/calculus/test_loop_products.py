"""Products that stand before or behind a loop in place of in it, and programs of bodies that hold arrays of a call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.calculus.recursive import lifted
from symdiff.calculus.recursive.lifted import lift_products
from symdiff.graph import postorder, verify

SIZE = 24  # a product of two such vectors has enough elements to be worth it


def cells(tanh: Any, start: Any, W: Any, U: Any, x: Any, outer: Any) -> Any:
    """One step: a cell, and a sum of products that nothing reads."""
    h, M = start[0], start[1]
    h = tanh(W @ x + U @ h)
    return h, M + 2 * outer(h, x) - outer(x, x) + 0.5


def network(n: Any, reverse: bool = False) -> Any:
    W, U, X = sd.matrix("W", SIZE, SIZE), sd.matrix("U", SIZE, SIZE), sd.matrix("X", n, SIZE)

    def step(carried: Any, x: Any) -> Any:
        h, M = cells(np.tanh, carried, W, U, x, sd.outer)
        return (h, M), h[:3]

    start = (np.zeros(SIZE), np.ones((SIZE, SIZE)))
    (h, M), rows = sd.scan(step, start, X, reverse=reverse)
    return [W, U, X], h, M, rows


def reference(W: Any, U: Any, X: Any, *, reverse: bool = False) -> Any:
    h, M = np.zeros(SIZE), np.ones((SIZE, SIZE))
    rows: list[Any] = []
    for x in X[::-1] if reverse else X:
        h, M = cells(np.tanh, (h, M), W, U, x, np.outer)
        rows.append(h[:3])
    return h, M, np.array(rows[::-1] if reverse else rows).reshape(-1, 3)


def numbers(n: int) -> list[Any]:
    rng = np.random.default_rng(n)
    return [0.2 * rng.normal(size=(SIZE, SIZE)), 0.2 * rng.normal(size=(SIZE, SIZE)), rng.normal(size=(n, SIZE))]


def bodies(outputs: Any) -> list[Any]:
    found = []
    for node in postorder(outputs):
        if node.op == "recurrence":
            found += [node, *bodies(node.payload.body.results)]
    return found


def products(outputs: Any) -> int:
    return sum(
        node.op == "contract" and len(node.args) == 2
        for loop in bodies(outputs)
        for node in postorder(loop.payload.body.results)
    )


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", ["n", 5])
def test_one_product_stays_in_a_step(n: Any, reverse: bool) -> None:
    _, h, M, rows = network(n, reverse)
    outputs = [h.node, M.node, rows.node]
    after = lift_products(outputs)
    verify(after)
    assert products(outputs) > products(after) == 1  # U @ h


@pytest.mark.parametrize("backend", ["numpy", "auto", "interpreter"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [0, 1, 6])
def test_values(backend: str, reverse: bool, count: int) -> None:
    inputs, h, M, rows = network("n", reverse)
    values = numbers(count)
    for found, expected in zip(
        sd.compile([h, M, rows], inputs, backend=backend)(*values), reference(*values, reverse=reverse), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("backend", ["numpy", "auto"])
@pytest.mark.parametrize("n", ["n", 7])
def test_gradients_against_the_complex_step(backend: str, n: Any) -> None:
    inputs, h, M, rows = network(n)
    weights = np.random.default_rng(1).normal(size=(SIZE, SIZE))
    loss = (h**2).sum() + (M * weights).sum() + (rows**3).sum()

    def of(values: Any) -> Any:
        own = reference(*values)
        return (own[0] ** 2).sum() + (own[1] * weights).sum() + (own[2] ** 3).sum()

    values = numbers(7)
    kernel = sd.compile([sd.gradient(loss, x) for x in inputs], inputs, backend=backend)
    rng = np.random.default_rng(2)
    for which, found in enumerate(kernel(*values)):
        direction = rng.normal(size=found.shape)
        moved = [v.astype(complex) for v in values]
        moved[which] += 1e-30j * direction
        assert (found * direction).sum() == pytest.approx(np.imag(of(moved)) / 1e-30, rel=1e-11)


def test_what_is_read_again_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum that a step reads is carried, and so is one whose factors are too many numbers to be kept."""
    X = sd.matrix("X", 5, SIZE)
    (M, t), _ = sd.scan(
        lambda s, x: ((s[0] + sd.outer(x, np.sin(x)), s[1] + s[0][0, 1]), None), (np.zeros((SIZE, SIZE)), 0.0), X
    )
    assert products(lift_products([M.node, t.node])) == products([M.node, t.node])
    data = numbers(5)[2]
    expected = sum(np.outer(x, np.sin(x)) for x in data)
    np.testing.assert_allclose(sd.compile(M, [X])(data), expected, rtol=1e-13, atol=1e-14)
    alone, _ = sd.scan(lambda s, x: (s + sd.outer(x, np.sin(x)), None), np.zeros((SIZE, SIZE)), X)
    assert products(lift_products([alone.node])) == 0
    monkeypatch.setattr(lifted, "KEPT", 5 * SIZE - 1)
    assert products(lift_products([alone.node])) == 1
    np.testing.assert_allclose(sd.compile(alone + 0.0, [X])(data), expected, rtol=1e-13, atol=1e-14)


def test_rows_that_are_matrices() -> None:
    W, Y = sd.matrix("W", SIZE, SIZE), sd.array("Y", ("n", SIZE, 2))
    last, _ = sd.scan(lambda s, y: (np.sin(s) + W @ y, None), np.zeros((SIZE, 2)), Y)
    assert products(lift_products([last.node])) == 0
    rng = np.random.default_rng(0)
    own, rows = rng.normal(size=(SIZE, SIZE)), rng.normal(size=(4, SIZE, 2))
    s = np.zeros((SIZE, 2))
    for y in rows:
        s = np.sin(s) + own @ y
    np.testing.assert_allclose(sd.compile(last, [W, Y])(own, rows), s, rtol=1e-12, atol=1e-13)


def test_arrays_of_a_call_in_any_order_are_held() -> None:
    A, y = sd.matrix("A", 2, 2), sd.matrix("y", "n", 2)
    last, rows = sd.scan(lambda s, x: (np.tanh(A @ s + x), s), np.zeros(2), y)
    kernel = sd.compile([last, rows], [A, y])
    a, data = np.random.default_rng(0).normal(size=(2, 4)), np.random.default_rng(1).normal(size=(2, 9))
    for own in (a[:, ::2], a[:, :2].T, a[::-1, 1:3], np.ascontiguousarray(a[:, 2:])):
        s, all_ = np.zeros(2), []
        for x in data.T:
            all_.append(s)
            s = np.tanh(own @ s + x)
        found = kernel(own, data.T)
        np.testing.assert_allclose(found[0], s, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(found[1], all_, rtol=1e-13, atol=1e-14)
