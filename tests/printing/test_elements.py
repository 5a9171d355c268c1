"""Small arrays by their elements, and parts of derivatives as formulas of their own: forms and values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff
from symdiff.graph import inputs_of
from symdiff.graph.reference.interpret import evaluate
from symdiff.printing.elements import by_elements
from symdiff.printing.from_entries import present

sd: Any = symdiff  # whose types do not tell what NumPy's functions make of symbols

Q, R = sd.vector("q", 2), sd.scalar("r")
SPHERE = R * np.array([np.sin(Q[0]) * np.cos(Q[1]), np.sin(Q[0]) * np.sin(Q[1]), np.cos(Q[0])], like=R)


def metric(place: Any) -> Any:
    jacobian = sd.jacobian(place, Q)
    return jacobian.T @ jacobian


def symbols_of_second_kind(g: Any) -> Any:
    dg = sd.jacobian(g, Q)
    first = (np.transpose(dg, (0, 2, 1)) + dg - np.transpose(dg, (2, 0, 1))) / 2
    return np.einsum("il,ljk->ijk", np.linalg.inv(g), first)


def test_metric_and_connection_of_a_sphere_are_those_of_a_book() -> None:
    g = metric(SPHERE)
    assert str(g) == "[[r ** 2, 0], [0, r ** 2 * sin(q[0]) ** 2]]"
    assert str(np.linalg.det(g)) == "r ** 4 * sin(q[0]) ** 2"
    lines = str(symbols_of_second_kind(g)).splitlines()
    assert lines == ["q1 = cos(q[0]) / sin(q[0])", "[[[0, 0], [0, -cos(q[0]) * sin(q[0])]], [[0, q1], [q1, 0]]]"]


X, A = sd.vector("x", "n"), sd.matrix("A", "m", "n")
W = sd.matrix("W", 16, 4)


@pytest.mark.rows(1000)
@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        (sd.jacobian(A @ np.sin(X), X)[2], "A[2] * cos(x)"),
        (sd.jacobian(A @ np.sin(X), X)[2, 1], "A[2, 1] * cos(x[1])"),
        (sd.jacobian(sd.softmax(A @ X), X)[0], "p = softmax(A @ x)\np[0] * (A[0] - A.T @ p)"),
        (sd.jacobian(np.tanh(W @ W[0]), W)[2], None),
        (sd.hessian(np.sum(np.exp(A @ X)), X)[0, 1], "(A[:, 0] * exp(A @ x)) @ A[:, 1]"),
        (np.trace(sd.hessian(np.exp(-X @ X / 2), X)), "exp(-0.5 * (x @ x)) * (x @ x - n)"),
    ],
)
def test_a_part_of_a_derivative_is_a_formula_of_its_own(formula: Any, shown: str | None) -> None:
    text = str(formula)
    assert text == shown if shown is not None else not text.endswith(")[2]")


def random_place(rng: np.random.Generator) -> Any:
    """Return a vector of three products of powers and functions of two variables."""
    functions = (np.sin, np.cos, np.exp, np.tanh, lambda x: x, lambda x: x**2)

    def one() -> Any:
        first, second = (functions[rng.integers(6)](q) for q in Q)
        return R * first * second + rng.integers(3) * Q[rng.integers(2)]

    return np.array([one() for _ in range(3)], like=R)


@pytest.mark.parametrize("seed", range(8))
def test_elements_have_the_values_of_the_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    g = metric(random_place(rng))
    matrix = np.array(rng.integers(-1, 2, size=(2, 3)).astype(float))
    more = g + np.eye(2)
    chosen = sd.jacobian(np.where(np.array([True, False]), Q**2, np.sin(Q)) @ sd.jacobian(random_place(rng), Q).T, Q)
    formulas: list[Any] = [chosen, g, np.linalg.det(g), np.linalg.inv(more), g @ matrix, symbols_of_second_kind(more)]
    for formula in formulas:
        node = formula.node
        inputs = inputs_of([node])
        values = {str(one.name): rng.uniform(0.3, 1.4, size=one.shape) for one in inputs}
        (expected,) = evaluate([node], values, inputs)
        elements = by_elements(node, lambda one: one)
        assert elements is not None
        for form in (elements, present(node, derived=True)):
            np.testing.assert_allclose(evaluate([form], values, inputs)[0], expected, rtol=1e-9, atol=1e-10)


def test_what_has_no_elements_is_left_as_it_is() -> None:
    assert by_elements(sd.jacobian(A @ np.sin(X), X).node, lambda one: one) is None  # letters
    assert by_elements(sd.linalg.eigvalsh(sd.matrix("S", 3, 3)).node, lambda one: one) is None


def test_all_elements_of_an_array_are_the_array() -> None:
    q, w = sd.vector("q", 4), sd.vector("w", 2)
    turned = sd.stack([np.sin(w @ w) * q[k] for k in range(4)])
    assert str(sd.jacobian(turned, w)) == "2 * cos(w @ w) * outer(q, w)"
    squares = q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2
    assert str(sd.gradient(squares / 2, q)) == "q"
    assert str(sd.gradient(np.sum(np.concatenate([X[:2], X[2:]]) ** 2), X)) == "2 * x"
    assert str(sd.gradient(q[1] ** 2 + q[0] ** 2, q)) == "[2 * q[0], 2 * q[1], 0, 0]"
