"""Matrices of one row or column, shown as vectors where that is shorter: the same shapes and values."""

from __future__ import annotations

import re

import numpy as np
import pytest
import sympy as sp

import symdiff as sd
from symdiff.graph import input as variable
from symdiff.graph import postorder, verify
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.sizes import named
from symdiff.printing.from_entries import as_columns, has_unit_axes, present, without_axes_of_one

RNG = np.random.default_rng(3)
SIZES = {"m": 4, "n": 3, "k": 2}
SHAPES: dict[str, tuple[int | str, ...]] = {
    "X": ("m", "n"),
    "w": ("n", 1),
    "Y": ("m", 1),
    "S": ("n", "n"),
    "r": (1, "n"),
    "u": (1, 1),
    "a": ("n", 1, "k"),
}

#: Formulas of the inputs above, each with the gradient with respect to the input behind it.
FORMULAS = [
    ("((X @ w - Y).T @ (X @ w - Y))[0, 0]", "w", "2 * (X.T @ (X @ w - Y))"),
    ("sum((X @ w - Y)**2)", "X", "2 * ((X @ w - Y) @ w.T)"),
    ("sum((X @ w - Y)**2)", "Y", "-2 * (X @ w - Y)"),
    ("trace(w.T @ S @ w)", "w", "(S.T + S) @ w"),
    ("sum((r @ S)**2)", "r", "2 * (r @ S @ S.T)"),
    ("sum(log(1 + exp(-Y * (X @ w))))", "w", "-X.T @ (Y * sigmoid(-Y * (X @ w)))"),
    ("sum(X * r * u)", "u", None),
    ("sum(exp(a * w[:, :, None]))", "w", None),
    ("det(w @ w.T + S) * u[0, 0]", "S", None),
    ("sum(softmax(r + w)) + sum(u * w[1:2]) + w[1, 0]", "w", None),
    ("norm(w) * norm(r) + (r @ w)[0, 0]**2", "r", None),
    ("sum(reshape(w, (1, n)) * r * eye(1))", "w", None),
    ("max(w) + sum(cumsum(w, axis=0) * w) + sum(inv(u) * w)", "w", None),
]


def _values(names: list[str]) -> dict[str, np.ndarray]:
    shapes = {name: [SIZES[size] if isinstance(size, str) else 1 for size in SHAPES[name]] for name in names}
    return {name: RNG.uniform(0.5, 1.5, shape) for name, shape in shapes.items()}


@pytest.mark.parametrize(("text", "by", "shown"), FORMULAS, ids=[f"{text} by {by}" for text, by, _ in FORMULAS])
def test_columns_are_shown_as_vectors_and_mean_the_same(text: str, by: str, shown: str | None) -> None:
    shapes = {name: SHAPES[name] for name in re.findall(r"\b[A-Za-z]\b", text) if name in SHAPES}
    gradient = sd.gradient(text, by, shapes=shapes)
    if shown is not None:
        assert str(gradient) == shown
    node = gradient.node
    inputs = [variable(name, tuple(named(n) if isinstance(n, str) else n for n in SHAPES[name])) for name in shapes]
    values = _values([*shapes])
    order = postorder([node])
    assert has_unit_axes(order)
    (wanted,) = evaluate([node], values, inputs)
    for made in (without_axes_of_one(order), as_columns(without_axes_of_one(order)), present(node, derived=True)):
        verify([made])
        assert made.shape == node.shape
        np.testing.assert_allclose(evaluate([made], values, inputs)[0], wanted, rtol=1e-12, atol=1e-14)


def test_what_has_no_unit_axes_is_left_alone() -> None:
    gradient = sd.gradient("sum((X @ w - Y)**2)", "w", X=("m", "n"), w="n", Y="m")
    assert not has_unit_axes(postorder([gradient.node]))
    assert str(gradient) == "2 * (X.T @ (X @ w - Y))"


def test_least_squares_from_sympy_reads_as_in_a_book() -> None:
    m, n = sp.symbols("m n", integer=True, positive=True)
    X, w, Y = sp.MatrixSymbol("X", m, n), sp.MatrixSymbol("w", n, 1), sp.MatrixSymbol("Y", m, 1)
    residual = X * w - Y
    gradient = sd.gradient(residual.T * residual, w)
    assert str(gradient) == "2 * (X.T @ (X @ w - Y))"
    assert str(gradient.shape) == "(n, 1)"
    assert str(gradient.sympy) == "2*X.T*(X*w - Y)"
    kernel = sd.compile(gradient, [X, w, Y])
    x, v, y = RNG.normal(size=(5, 3)), RNG.normal(size=(3, 1)), RNG.normal(size=(5, 1))
    np.testing.assert_allclose(kernel(x, v, y), 2 * x.T @ (x @ v - y))
