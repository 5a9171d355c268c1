"""Derivatives that are quotients are shown in lowest terms, and mean what the kernel computes."""

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
    ("lgamma(y + 1/a) - lgamma(1/a) - (y + 1/a) * log1p(a*m) + y * log(a*m)", "m", "(y - m) / (m * (1 + a * m))"),
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


def test_negative_binomial_regression_is_shown_as_in_books() -> None:
    text = "sum(y * (X @ b) - (y + 1/a) * log(1 + a * exp(X @ b)))"
    shown = str(sd.gradient(text, "b", X=("n", "d"), y="n", b="d", a=()))
    assert shown == "X.T @ ((y - exp(X @ b)) / (1 + a * exp(X @ b)))"


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
    shapes: dict[str, Any] = {name: () for name in ("x", "y", "a")}
    f = read_formula(text, shapes, ("shapes",)).value
    leaf = next(node for node in inputs_of([f.node]) if node.name == "x")
    gradient = sd.gradient(f, sd.Array(leaf)) if order == 1 else sd.hessian(f, sd.Array(leaf))
    again = read_formula(str(gradient), shapes, ("shapes",)).value.node
    for _ in range(5):
        inputs = inputs_of([gradient.node, again])
        point = {str(node.name): rng.uniform(0.3, 2.0) for node in inputs}
        (got,), (back,) = (evaluate([node], point, inputs) for node in (gradient.node, again))
        if np.isfinite(got):
            np.testing.assert_allclose(back, got, rtol=1e-8, atol=1e-8 * max(1.0, abs(got)))


def test_exponentials_that_cancel_leave_a_quotient() -> None:
    k = sd.compile(sd.gradient("(a * exp(x) - 2) / (y + exp(x) * z - exp(x) * z)", "x"))
    assert k(a=0.9, x=0.7, y=1.3, z=0.6) == pytest.approx(0.9 * np.exp(0.7) / 1.3, rel=1e-14)
