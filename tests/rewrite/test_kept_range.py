"""No rewrite shrinks the range in which a formula is finite.

The reference is the graph as it was written (of a derivative, the one before anything is simplified), computed
operation by operation. Wherever that is right, what is compiled is right, too: no partial product of the new form may
overflow or vanish alone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

import symdiff as sd
from symdiff.calculus.modes import pullback, pushforward
from symdiff.frontend.array import Array
from symdiff.graph import Node, constant, elementwise, inputs_of
from symdiff.graph.nodes import input as input_node
from symdiff.graph.reference.interpret import evaluate
from symdiff.rewrite import RULES, Rule
from symdiff.rewrite.kept_range import PRODUCTS, keeps_range
from symdiff.tools.checking.multiprecision import exact_values

KNOWN = [
    ("(exp(-x)*y)**2", {"x": 371.0, "y": 1e153}),
    ("(exp(-x)/k0(x))**2", {"x": 368.0}),
    ("(exp(-x)/k0(x))**2", {"x": 400.0}),
    ("(exp(x)*y)*(exp(x)*z)", {"x": 400.0, "y": 1e-170, "z": 1e-170}),
    ("derivative(log(exp1(x)), x, 2)", {"x": 400.0}),
    ("x*y*x", {"x": 1e200, "y": 1e-200}),
    ("(gamma(x)*y)**3", {"x": 150.0, "y": 1e-250}),
    ("(exp(x)*y/z)**2", {"x": 500.0, "y": 1e-200, "z": 1e10}),
    ("(exp(x)*y)/(exp(w)*z)", {"x": 500.0, "w": -500.0, "y": 1e-217, "z": 1e217}),
    ("derivative((z/k0(x))**3, x)", {"x": 257.0, "z": 2e-82}),
    ("derivative(1e-190*i1(x)**0.5 * i1(x)**0.5 * y/y, x)", {"x": 682.0, "y": 1e-300}),
    ("derivative(3e190*k1(x)/i1(x), x, 2)", {"x": 28.0}),
    ("derivative(sqrt(5e-121*exp(x)), x, 2)", {"x": 661.0}),
    ("derivative(gamma(x)*x/(z*2e-27), x, 2)", {"x": 151.0, "z": 3.5e263}),
    ("derivative((exp(x)*y - exp(z))**2, x)", {"x": 500.0, "y": 1e-200, "z": 30.0}),
    ("derivative(sin(exp(x)*y)*exp(z)*w, x)", {"x": 600.0, "y": 1e-260, "z": 500.0, "w": 1e-200}),
    ("derivative(exp(-x)*x**y/gamma(y + 1), y)", {"x": 300.0, "y": 120.0}),
    ("derivative(exp(x)*y/(exp(z)*w + 1), z)", {"x": 600.0, "y": 1e-200, "z": 600.0, "w": 1e-200}),
    ("derivative(prod(exp([x, y, z])), y)", {"x": 600.0, "y": -700.0, "z": 650.0}),
]
TRUE: list[Any] = [
    lambda: (mpmath.exp(-371) * mpmath.mpf("1e153")) ** 2,
    lambda: (mpmath.exp(-368) / mpmath.besselk(0, 368)) ** 2,
    lambda: (mpmath.exp(-400) / mpmath.besselk(0, 400)) ** 2,
    lambda: mpmath.exp(800) * mpmath.mpf("1e-340"),
    lambda: mpmath.diff(lambda x: mpmath.log(mpmath.e1(x)), 400, 2),
    lambda: mpmath.mpf("1e200"),
    lambda: (mpmath.gamma(150) * mpmath.mpf("1e-250")) ** 3,
    lambda: (mpmath.exp(500) * mpmath.mpf("1e-210")) ** 2,
    lambda: mpmath.exp(1000) * mpmath.mpf("1e-434"),
    lambda: mpmath.diff(lambda x: (mpmath.mpf("2e-82") / mpmath.besselk(0, x)) ** 3, 257),
    lambda: mpmath.diff(lambda x: mpmath.mpf("1e-190") * mpmath.besseli(1, x), 682),
    lambda: mpmath.diff(lambda x: mpmath.mpf("3e190") * mpmath.besselk(1, x) / mpmath.besseli(1, x), 28, 2),
    lambda: mpmath.diff(lambda x: mpmath.sqrt(mpmath.mpf("5e-121") * mpmath.exp(x)), 661, 2),
    lambda: mpmath.diff(lambda x: mpmath.gamma(x) * x / mpmath.mpf("7e236"), 151, 2),
    lambda: 2 * (mpmath.exp(500) * mpmath.mpf("1e-200") - mpmath.exp(30)) * mpmath.exp(500) * mpmath.mpf("1e-200"),
    lambda: mpmath.diff(lambda x: mpmath.sin(mpmath.exp(x) * mpmath.mpf("1e-260")), 600) * mpmath.exp(500) / 10**200,
    lambda: mpmath.diff(lambda y: mpmath.exp(-300) * mpmath.mpf(300) ** y / mpmath.gamma(y + 1), 120),
    lambda: -1 / (1 + mpmath.mpf("1e200") / mpmath.exp(600)) ** 2,
    lambda: mpmath.exp(550),
]


@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
@pytest.mark.parametrize("case", range(len(KNOWN)), ids=[text for text, _ in KNOWN])
def test_formulas_whose_factors_meet_in_the_middle(case: int, backend: str) -> None:
    (text, point), true = KNOWN[case], TRUE[case]
    kernel = sd.compile(text, list(point), backend=backend, **dict.fromkeys(point, ()))
    with mpmath.workdps(50):
        expected = float(true())
    np.testing.assert_allclose(kernel(*point.values()), expected, rtol=1e-9 if "derivative" in text else 1e-12)


X, Y, Z = (input_node(name, ()) for name in "xyz")


def drawn(draw: random.Random, depth: int) -> Node:
    """Return a product, quotient or power of exponentials, special functions, numbers and inputs."""
    if depth == 0:
        leaf = draw.choice(["exp", "exp", "exp", "gamma", "k0", "i1", "input", "input", "number"])
        if leaf == "exp":
            return elementwise("exp", (constant(draw.choice([-2.0, -1.0, 0.5, 1.0, 2.0])) * draw.choice([X, X, Y]),))
        if leaf == "number":
            return constant(10.0 ** draw.uniform(-300.0, 300.0))
        return draw.choice([Y, Z]) if leaf == "input" else elementwise(leaf, (X,))
    way = draw.choice(["multiply", "multiply", "divide", "power"])
    first = drawn(draw, depth - draw.choice([1, 1, depth]))
    if way == "power":
        return elementwise("power", (first, constant(draw.choice([2.0, 3.0, 0.5, -1.0, -2.0]))))
    return elementwise(way, (first, drawn(draw, depth - draw.choice([1, 1, depth]))))


def points(draw: random.Random, number: int) -> list[dict[str, float]]:
    return [
        {
            "x": draw.choice([draw.uniform(0.5, 3.0), draw.uniform(100.0, 170.0), draw.uniform(170.0, 700.0)]),
            "y": draw.choice([draw.uniform(-700.0, 700.0), 10.0 ** draw.uniform(-300.0, 2.8)]),
            "z": 10.0 ** draw.uniform(-300.0, 300.0),
        }
        for _ in range(number)
    ]


def right_as_written(written: Sequence[Node], point: dict[str, float]) -> list[float | None]:
    """Return the exact values, and None where the formula as it is written has not its digits."""
    with np.errstate(all="ignore"):
        values = evaluate(written, point)
    exact = [float(value) for value in exact_values(written, point, {})]
    result: list[float | None] = []
    for value, true in zip(values, exact, strict=True):
        is_right = np.isfinite(true) and abs(true) > 1e-300 and abs(float(value) - true) <= 2e-13 * abs(true)
        result.append(true if is_right else None)
    return result


def raw_slopes(f: Node) -> list[Node]:
    """Return the slope by x as forward and as reverse mode give it, before anything is simplified."""
    found = [*pushforward([f], {X: constant(1.0)}), *pullback({f: constant(1.0)}, [X])]
    return [constant(0.0) if slope is None else slope for slope in found]


@pytest.mark.rows(1)
@pytest.mark.parametrize("seed", range(6))
def test_values_and_derivatives_have_the_range_of_what_was_written(seed: int) -> None:
    draw, compared = random.Random(seed), 0
    for _ in range(5):
        f = drawn(draw, 3)
        slopes = raw_slopes(f)
        written = [[f], slopes, [second for slope in slopes for second in raw_slopes(slope)]]
        x = Array(X)
        formulas = [Array(f), *(sd.derivative(Array(f), x, n) for n in (1, 2))] if X in inputs_of([f]) else [Array(f)]
        kernels = [
            sd.compile(formulas, [Array(X), Array(Y), Array(Z)], backend=backend)
            for backend in ("interpreter", "numpy")
        ]
        for point in points(draw, 5):
            forms = [right_as_written(own, point) for own in written[: len(formulas)]]
            expected = [None if None in form else form[0] for form in forms]
            for kernel in kernels:
                with np.errstate(all="ignore"):
                    found = kernel(**point)
                for n, (value, true) in enumerate(zip(found, expected, strict=True)):
                    if true is not None:
                        assert abs(value - true) <= 4e-12 * abs(true), (str(formulas[n]), n, point, value, true)
                        compared += 1
    assert compared > 10


ROWS = [row for row in RULES if row.kind != "arrays" and not PRODUCTS.isdisjoint(row.ops)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_rule_by_itself(row: Rule) -> None:
    draw = random.Random(row.name)
    for _ in range(60):
        old = drawn(draw, 2)
        new = row.rewrite(old) if old.op in row.ops else None
        if new is None or new is old or not keeps_range(old, new):
            continue
        for point in points(draw, 12):
            (true,) = right_as_written([old], point)
            if true is not None:
                with np.errstate(all="ignore"):
                    (value,) = evaluate([new], point)
                assert abs(float(value) - true) <= 4e-12 * abs(true), (str(Array(old)), str(Array(new)), point)


def test_a_rewrite_that_shrinks_the_range_is_seen() -> None:
    def exp(t: Node) -> Node:
        return elementwise("exp", (t,))

    two = constant(2.0)
    assert not keeps_range(elementwise("power", (exp(X) * Y, two)), exp(two * X) * elementwise("power", (Y, two)))
    assert not keeps_range(X * Y * X, elementwise("power", (X, two)) * Y)
    assert keeps_range(exp(X) * exp(Y), exp(X + Y))
    assert keeps_range(X * Y / X / Z, Y / Z)
    assert keeps_range(exp(X) * exp(-X) * Y, Y)


@pytest.mark.exhaustive
def test_numbers_whose_powers_leave_the_range_are_no_errors() -> None:
    draw = random.Random(9)
    sizes = ["1e-300", "1e300", "-1e-170", "2e200", "3e-120", "1e-200", "2e110"]
    others = ["x", "exp(x)", "exp(2*x)", "(1 + exp(x))", "(exp(x) - 1)", "sinh(x)", "hypot(x, y)", "sqrt(x)", "x**2"]

    def drawn(depth: int) -> str:
        if not depth:
            size = draw.choice(sizes)
            sums = [f"({size} + exp(x))", f"({size} + {draw.choice(sizes)} * exp(x))"]
            return draw.choice([*others, f"({size})", *sums])
        first = drawn(depth - 1)
        way = draw.choice("*/^")
        return f"({first})**({draw.choice([-3, -2, 2, 5])})" if way == "^" else f"({first}) {way} ({drawn(depth - 1)})"

    for _ in range(120):
        text = f"x * ({drawn(draw.choice([2, 3]))})"
        try:
            formula = sd.parse(text)
        except sd.SymdiffError:
            continue  # a number in it is none
        for order in (1, 2):
            assert str(sd.derivative(formula, "x", order))
