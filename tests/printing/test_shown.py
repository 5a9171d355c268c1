"""Derivatives are shown in forms that are not computed, and mean what the kernel computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.frontend.formula import read_formula
from symdiff.graph import inputs_of
from symdiff.graph.reference.interpret import evaluate

SHOWN = [
    ("(x**2 - 1) / (x - 1)", "x", "1"),
    ("x**2 / x - y / x", "x", "1 + y / x ** 2"),
    ("sqrt(x*y) / x", "x", "-0.5 * y / (x * sqrt(x * y))"),
    ("sqrt(1 + x**2) / x", "x", "-1 / (sqrt(1 + x ** 2) * x ** 2)"),
    ("lgamma(y + 1/a) - lgamma(1/a) - (y + 1/a) * log1p(a*m) + y * log(a*m)", "m", "(y / m - 1) / (1 + a * m)"),
    ("log(x) - log(1 + x)", "x", "1 / (x * (1 + x))"),
    ("x / (1 + x) - log(1 + x)", "x", "-x / (1 + x) ** 2"),
    ("1 / (1/x + 1/y)", "x", "y ** 2 / (x + y) ** 2"),
    ("(x - 1) * (y - 2) / (x - 1)**2", "x", "(2 - y) / (x - 1) ** 2"),
    ("a / (x - y) - b / (x - y)", "x", "(b - a) / (x - y) ** 2"),
    ("1 / (x * (1 - x))", "x", "(2 * x - 1) / (x * (1 - x)) ** 2"),
    ("exp(-a*t) / (x + y * exp(-a*t))", "x", "-exp(a * t) / (y + x * exp(a * t)) ** 2"),
    ("-log(g * (1 + ((x - m) / g)**2))", "m", "2 * (x - m) / ((x - m) ** 2 + g ** 2)"),
]


@pytest.mark.parametrize(("text", "wrt", "shown"), SHOWN, ids=[text for text, _, _ in SHOWN])
def test_quotients_are_shown_in_lowest_terms(text: str, wrt: str, shown: str) -> None:
    assert str(sd.gradient(text, wrt)) == shown


CLOSED: list[tuple[str, str, dict[str, Any], str]] = [
    ("x**n", "x", {}, "n * x ** (n - 1)"),
    ("x**a * y**b", "x", {}, "a * y ** b * x ** (a - 1)"),
    ("x**x", "x", {}, "x ** x * (1 + log(x))"),
    ("x**n / (k**n + x**n)", "x", {}, "n * x ** (n - 1) * k ** n / (k ** n + x ** n) ** 2"),
    ("log(x**a)", "x", {}, "a / x"),
    ("trace(inv([[x, 1], [1, y]]))", "x", {}, "-(y ** 2 + 1) / (x * y - 1) ** 2"),
    ("[1, 2] @ inv([[x, 1], [1, y]]) @ [1, 2]", "x", {}, "-(y - 2) ** 2 / (x * y - 1) ** 2"),
    ("solve([[x, 1], [1, y]], [1, 2])[0]", "x", {}, "y * (2 - y) / (x * y - 1) ** 2"),
    ("where(x * s <= 0, 1, y**2)", "y", {"x": sd.positive(), "s": sd.positive(), "y": ()}, "2 * y"),
    ("where(exp(x) <= 0, 1, x**2)", "x", {}, "2 * x"),
    ("a * exp(x[0] * x[1])", "x", {"x": 2, "a": ()}, "a * exp(x[0] * x[1]) * [x[1], x[0]]"),
    ("sum(concatenate([[0], [1]]) * x)", "x", {"x": 2}, "[0, 1]"),
]


@pytest.mark.parametrize(("text", "wrt", "shapes", "shown"), CLOSED, ids=[text for text, _, _, _ in CLOSED])
def test_what_is_decided_is_not_shown(text: str, wrt: str, shapes: dict[str, Any], shown: str) -> None:
    assert str(sd.gradient(text, wrt, **shapes)) == shown


def test_a_kernel_keeps_what_is_not_shown() -> None:
    slope = sd.compile(sd.gradient("x**n", "x"))
    assert slope(x=0.0, n=0.0) == 0.0
    assert slope(x=0.0, n=1.0) == 1.0
    rounded = sd.compile(sd.gradient("where(exp(x) <= 0, 1, x**2)", "x"))
    assert rounded(x=-1000.0) == 0.0


def test_conditions_of_ones_own_are_shown() -> None:
    text = "where((x != 0) | (y != 0), x * y / (x**2 + y**2), 0)"
    assert str(sd.gradient(text, "x")).startswith("where((x != 0) | (y != 0), ")


def test_negative_binomial_regression_is_shown_as_in_books() -> None:
    text = "sum(y * (X @ b) - (y + 1/a) * log(1 + a * exp(X @ b)))"
    shown = str(sd.gradient(text, "b", X=("n", "d"), y="n", b="d", a=()))
    assert shown == "X.T @ ((y - exp(X @ b)) / (1 + a * exp(X @ b)))"


@pytest.mark.parametrize("seed", range(40))
def test_small_matrices_are_shown_in_closed_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    entries = [str(rng.choice(["x", "y", "1", "x*y", "exp(x)", "0", "2", "cos(y)"])) for _ in range(4)]
    matrix = f"([[{entries[0]} + 3, {entries[1]}], [{entries[2]}, {entries[3]} + 4]] + 0 * x)"
    form = ["trace(inv({}))", "[x, 1] @ inv({}) @ [1, y]", "solve({}, [x, y])[1]", "det(inv({}))"][seed % 4]
    f = read_formula("x * " + form.format(matrix), {"x": (), "y": ()}, ("shapes",)).value
    leaf = next(node for node in inputs_of([f.node]) if node.name == "x")
    gradient = sd.gradient(f, sd.Array(leaf))
    again = read_formula(str(gradient), {"x": (), "y": ()}, ("shapes",)).value.node
    inputs = inputs_of([gradient.node, again])
    for _ in range(3):
        point = {str(node.name): rng.uniform(0.3, 1.2) for node in inputs}
        (got,), (back,) = (evaluate([node], point, inputs) for node in (gradient.node, again))
        np.testing.assert_allclose(back, got, rtol=1e-10, atol=1e-12)


ATOMS = ("x", "y", "a", "2", "1", "exp(x)", "exp(-x)", "exp(x*y)", "sqrt(x*y)", "log(y)", "sin(x)", "abs(x)", "x**a")


def _random_formula(rng: np.random.Generator, depth: int) -> str:
    """Return sums, products and quotients, some with terms that cancel or are alike."""
    if depth == 0:
        return str(rng.choice(ATOMS))
    one, other = (_random_formula(rng, int(rng.integers(0, depth))) for _ in range(2))
    kind = rng.choice(["+", "-", "*", "/", "cancel", "alike"])
    if kind == "cancel":
        third = _random_formula(rng, 1)
        return f"({one} + ({third}) * ({other}) - ({other}) * ({third}))"
    if kind == "alike":
        return f"(({one}) * ({other}) + 2 * ({one}) - ({one}) * 3)"
    return f"({one}) {kind} ({other})"


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(150))
def test_what_is_shown_is_what_the_kernel_computes(seed: int, order: int) -> None:
    rng = np.random.default_rng(seed)
    text = f"x**3 * ({_random_formula(rng, 4)}) / (y + {_random_formula(rng, 2)})"
    shapes: dict[str, Any] = dict.fromkeys(("x", "y", "a"), ())
    f = read_formula(text, shapes, ("shapes",)).value
    leaf = next(node for node in inputs_of([f.node]) if node.name == "x")
    gradient = sd.gradient(f, sd.Array(leaf)) if order == 1 else sd.hessian(f, sd.Array(leaf))
    again = read_formula(str(gradient), shapes, ("shapes",)).value.node
    for _ in range(5):
        inputs = inputs_of([gradient.node, again])
        point = {str(node.name): rng.uniform(0.3, 2.0) for node in inputs}
        (got,), (back,) = (evaluate([node], point, inputs) for node in (gradient.node, again))
        if np.isfinite(got):
            np.testing.assert_allclose(back, got, rtol=1e-8, atol=1e-8 * max(1.0, abs(float(got))))


def test_exponentials_that_cancel_leave_a_quotient() -> None:
    k = sd.compile(sd.gradient("(a * exp(x) - 2) / (y + exp(x) * z - exp(x) * z)", "x"))
    assert k(a=0.9, x=0.7, y=1.3, z=0.6) == pytest.approx(0.9 * np.exp(0.7) / 1.3, rel=1e-14)
