"""How derivatives are shown: collected as a person would, and equal in value to what is computed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import symdiff as sd
from symdiff.errors import SymdiffError
from symdiff.frontend.array import Array
from symdiff.frontend.text.parse import parse_graph
from symdiff.graph import Node, constant, elementwise, inputs_of, postorder
from symdiff.graph import input as variable
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.sizes import Size
from symdiff.printing import text
from symdiff.printing.collect import collect
from tests.support.strategies import SIZES, Formula, formulas, sample

SHOWN: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("x * sin(x)", "x", {}, "sin(x) + x * cos(x)", "2 * cos(x) - x * sin(x)"),
    ("exp(-x**2 / 2)", "x", {}, "-x * exp(-0.5 * x ** 2)", "exp(-0.5 * x ** 2) * (x ** 2 - 1)"),
    ("x**3 + 2 * x**2", "x", {}, "4 * x + 3 * x ** 2", "6 * x + 4"),
    (
        "1 / norm(x)",
        "x",
        {"x": 3},
        "-x / norm(x) ** 3",
        "(3 * outer(x, x) / norm(x) ** 2 - eye(3)) / norm(x) ** 3",
    ),
    (
        "norm(A @ x - b)",
        "x",
        {"A": ("m", "n"), "x": "n", "b": "m"},
        "A.T @ unit(A @ x - b)",
        "u = unit(A @ x - b)\nA.T @ (eye(m) - outer(u, u)) @ A / norm(A @ x - b)",
    ),
    ("var(x)", "x", {"x": "n"}, "2 * (x - mean(x)) / n", "2 * (eye(n) - 1 / n) / n"),
    ("sum(x * sin(x))", "x", {"x": 3}, "sin(x) + x * cos(x)", "diag(2 * cos(x) - x * sin(x))"),
    (
        "exp(-sum((x - y) ** 2) / (2 * s ** 2))",
        "x",
        {"x": "n", "y": "n", "s": ()},
        "-exp(-sum((x - y) ** 2) / (2 * s ** 2)) * (x - y) / s ** 2",
        "exp(-sum((x - y) ** 2) / (2 * s ** 2)) * (outer(x - y, x - y) / s ** 2 - eye(n)) / s ** 2",
    ),
    (
        "x @ y / (norm(x) * norm(y))",
        "y",
        {"x": "n", "y": "n"},
        "(x - (x @ unit(y)) * unit(y)) / (norm(x) * norm(y))",
        "",
    ),
    (
        "log(det(S)) / 2 + (x - m) @ solve(S, x - m) / 2",
        "S",
        {"S": ("n", "n"), "x": "n", "m": "n"},
        "0.5 * (inv(S).T - outer(solve(S.T, x - m), solve(S, x - m)))",
        "",
    ),
    (
        "exp(-b * x) * cos(c * x)",
        "x",
        {"x": (), "b": (), "c": ()},
        "-exp(-b * x) * (c * sin(c * x) + b * cos(c * x))",
        "exp(-b * x) * (cos(c * x) * (b ** 2 - c ** 2) + 2 * c * b * sin(c * x))",
    ),
    ("sqrt(x**2 + 1)", "x", {}, "x / sqrt(x ** 2 + 1)", "1 / (x ** 2 + 1) ** 1.5"),
    ("logdet(X @ X.T)", "X", {"X": ("n", "m")}, "2 * (inv(X @ X.T) @ X)", ""),
    ("sum(log(x))", "x", {"x": "n"}, "1 / x", "-diag(1 / x ** 2)"),
]


@pytest.mark.parametrize(("formula", "wrt", "shapes", "first", "second"), SHOWN, ids=[row[0] for row in SHOWN])
def test_derivatives_read_as_in_a_book(formula: str, wrt: str, shapes: dict[str, Any], first: str, second: str) -> None:
    assert str(sd.gradient(formula, wrt, **shapes)) == first
    if second:
        assert str(sd.hessian(formula, wrt, **shapes)) == second


def test_a_jacobian_of_a_direction() -> None:
    x = sd.vector("x", 3)
    assert str(sd.jacobian(x / np.sqrt(x @ x), x)) == "(eye(3) - outer(unit(x), unit(x))) / norm(x)"


def test_names_are_used_wherever_the_part_stands() -> None:
    formula = "r = sqrt(x**2 + y**2)\n1 / r"
    assert str(sd.gradient(formula, "x")) == "r = hypot(x, y)\n-x / r ** 3"


def test_a_formula_is_shown_as_it_was_written() -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    assert str(x * y * x + y * x / x) == "x * y * x + y * x / x"


def test_numbers_that_do_not_multiply_up_stay_apart() -> None:
    # 0.1 * 3 is 0.30000000000000004, which is not the number a person expects; 0.5 * 3 is
    x = variable("x")
    for factor, shown in ((0.1, "0.1 * 3 * x"), (0.5, "1.5 * x")):
        product = elementwise("multiply", (constant(factor), elementwise("multiply", (constant(3.0), x))))
        assert text(collect(product)) == shown


def test_terms_that_cancel_stay() -> None:
    # at infinity the value is NaN, and what is shown must not say 0; a derivative may have a number there
    x = sd.scalar("x")
    gone = sd.asarray(np.exp(x) - np.exp(x))
    assert np.isnan(evaluate([collect(gone.node)], {"x": 1e4})[0])


def _agrees(root: Node, values: dict[Any, Any], inputs: tuple[Node, ...]) -> None:
    with np.errstate(all="ignore"):
        wanted = np.asarray(evaluate([root], values, inputs)[0], float)
        got = np.asarray(evaluate([collect(root)], values, inputs)[0], float)
    assert got.shape == wanted.shape
    finite = np.isfinite(wanted)
    np.testing.assert_allclose(
        got[finite], wanted[finite], rtol=1e-9, atol=1e-9 * max(1.0, np.abs(wanted[finite]).max(initial=0.0))
    )
    shapes = {
        str(leaf.payload): tuple([size if isinstance(size, int) else str(size) for size in leaf.shape])
        for leaf in inputs
    }
    try:
        again = parse_graph(text(collect(root)), shapes).result.node
    except SymdiffError:  # slices that end at a letter, or go backwards along its axis, are shown and not read
        assert any(isinstance(size, Size) for leaf in inputs for size in leaf.shape)
        return
    with np.errstate(all="ignore"):
        read = np.asarray(evaluate([again], values, inputs)[0], float)
    np.testing.assert_allclose(read, got, rtol=1e-12, atol=1e-12)


@pytest.mark.exhaustive
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(formulas(smooth=True, steps=7), formulas(symbolic=True, smooth=True, steps=5))
def test_what_is_shown_has_the_value_of_what_is_computed(fixed: Formula, symbolic: Formula) -> None:
    for formula in (fixed, symbolic):
        data = sample(formula.inputs, (1,) * len(formula.inputs), 0, SIZES)
        values = {leaf.payload: array[0] for leaf, array in zip(formula.inputs, data, strict=True)}
        f = Array(formula.roots[0])
        f = f if f.ndim == 0 else np.sum(np.sin(f))
        used = [Array(leaf) for leaf in inputs_of([f.node])]
        assume(used)
        try:
            first = sd.gradient(f, used[0])
            second = sd.jacobian(first, used[0], disconnected="zero")
        except SymdiffError:  # no derivative
            assume(False)
        for result in (first, second):
            if len(postorder([result.node])) < 400:
                _agrees(result.node, values, formula.inputs)


def test_reshapes_of_reshapes_are_shown() -> None:
    shapes = {"X": (3, 2), "y": (3,), "lam": ()}
    ridge = sd.jacobian("solve(X.T @ X + lam * eye(2), X.T @ y)", "lam", shapes=shapes)
    assert str(ridge).startswith("-solve(X.T @ X + lam * eye(2), solve(X.T @ X + lam * eye(2), ")


def test_terms_that_cancel_within_a_sum_are_all_shown() -> None:
    gradient = sd.gradient("z * a * (x**2 + y * w - w * y) - z * (x**2 + y * w - w * y)", "z")
    assert str(gradient) == "w * y - x ** 2 - y * w + a * (x ** 2 + y * w - w * y)"


@pytest.mark.exhaustive
def test_roots_of_roots_are_printed_beside_their_bases() -> None:
    draw = random.Random(5)
    for _ in range(60):
        parts = draw.sample(["x", "sqrt(x)", "sqrt(sqrt(x))", "sqrt(sqrt(sqrt(x)))", "sinh(x)", "y"], 4)
        text = " ".join(f"{draw.choice('*/')} ({part})**{draw.choice([1, 1, 2, 3, 5])}" for part in parts)
        shown = str(sd.derivative(f"x {text}", "x", draw.choice([1, 2])))
        values = {"x": 1.7, "y": 0.6}
        kernels = [sd.compile(one, backend="interpreter") for one in (sd.derivative(shown, "x"), shown)]
        assert all(np.isfinite(kernel(**{p.name: values[p.name] for p in kernel.inputs})) for kernel in kernels)


def test_factors_that_lead_back_to_each_other_stay() -> None:
    """The slope of an angle at y = 0 is 0 times what the collector took apart without an end."""
    assert str(sd.gradient("sum(arctan2(zeros(4), z)**2)", "z", z=4)) == "zeros((4,))"
