"""Rows for what books write: sines by cosines, steps, traces, sums of deviations; random members keep their values."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import symdiff as sd

SHOWN: list[tuple[str, str, dict[str, Any], str]] = [
    ("sin(x) / (1 + cos(x))", "x", {}, "1 / (1 + cos(x))"),
    ("cos(x) / (1 - sin(x))", "x", {}, "1 / (1 - sin(x))"),
    ("sin(x) / (a + b * cos(x))", "x", {}, "(b + a * cos(x)) / (a + b * cos(x)) ** 2"),
    ("sin(x) / cos(x)", "x", {}, "1 / cos(x) ** 2"),
    ("log(1 / cos(x) + tan(x))", "x", {}, "1 / cos(x)"),
    ("arctan(sin(x) / (1 + cos(x)))", "x", {}, "0.5"),
    ("arctanh(sin(x))", "x", {}, "1 / cos(x)"),
    ("cos(x)**3 - 3 * cos(x)", "x", {}, "3 * sin(x) ** 3"),
    ("sinh(x) / (1 + cosh(x))", "x", {}, "0.5 * sech(0.5 * x) ** 2"),
    ("tan(x) * cos(x)", "x", {}, "cos(x)"),
    ("arcsin(x) + arccos(x)", "x", {}, "0"),
    ("gammaln(x + 1) - gammaln(x)", "x", {}, "1 / x"),
    ("abs(x)**3", "x", {}, "3 * x * abs(x)"),
    ("maximum(k - x, 0)", "x", {}, "-heaviside(k - x, 0.5)"),
    ("maximum(-x, 0)", "x", {}, "-heaviside(-x, 0.5)"),
    ("maximum(x, 0) - maximum(-x, 0)", "x", {}, "1"),
    ("maximum(x, y) - minimum(y, x)", "x", {}, "sign(x - y)"),
    ("sum(Z @ X @ Z.T)", "X", {"Z": ("m", "n"), "X": ("n", "n")}, "outer(sum(Z, axis=0), sum(Z, axis=0))"),
    ("sum(X @ diag(x) @ X.T)", "x", {"X": ("m", "n"), "x": "n"}, "sum(X, axis=0) ** 2"),
    ("trace(inv(eye(n) + s*A))", "s", {"A": ("n", "n")}, "-trace(A @ inv(eye(n) + s * A) @ inv(eye(n) + s * A))"),
    ("arccos(0) * x + arctan(1) * x + log_ndtr(0)", "x", {}, "3 * pi / 4"),
    ("-sum(y*log(sigmoid(x)) + (1 - y)*log(1 - sigmoid(x)))", "x", {"x": "n", "y": "n"}, "sigmoid(x) - y"),
    ("arcsin(x)", "x", {}, "1 / sqrt(1 - x ** 2)"),
    ("arctanh(x)", "x", {}, "1 / (1 - x ** 2)"),
    ("2 * r * arcsin(sqrt(x))", "x", {}, "r / (sqrt(1 - x) * sqrt(x))"),
    ("arccos(1 - x)", "x", {}, "1 / sqrt(x * (2 - x))"),
    ("arcsin(tanh(x))", "x", {}, "sech(x)"),
    ("x * sqrt(1 - x**2) + arcsin(x)", "x", {}, "2 * sqrt(1 - x ** 2)"),
    ("arctan2(y, x) * hypot(x, y)", "x", {}, "(x * arctan2(y, x) - y) / hypot(x, y)"),
    ("x / hypot(x, a)", "x", {}, "a ** 2 / hypot(x, a) ** 3"),
    ("hypot(x, y) - x**2 / hypot(x, y)", "x", {}, "-x * y ** 2 / hypot(x, y) ** 3"),
    ("log((hypot(1, x) - 1) / x)", "x", {}, "1 / (x * hypot(1, x))"),
    ("(1 + x**2 / v)**(-(v + 1) / 2)", "x", {}, "-x * (v + 1) * (1 + x ** 2 / v) ** -(0.5 * (v + 1) + 1) / v"),
    ("theta / (1 - exp(-theta))", "theta", {}, "(theta / (1 - exp(theta)) + 1) / (1 - exp(-theta))"),
    ("q / (4 * pi * c * norm(r))", "r", {"r": 3}, "-q * unit(r) / (4 * pi * c * norm(r) ** 2)"),
]
#: The same of second derivatives.
SHOWN_TWICE: list[tuple[str, str, dict[str, Any], str]] = [
    ("x * arccos(x) - sqrt(1 - x**2)", "x", {}, "-1 / sqrt(1 - x ** 2)"),
    ("log(x + sqrt(x**2 + a**2))", "x", {}, "-x / hypot(x, a) ** 3"),
    ("x / hypot(x, a)", "x", {}, "-3 * x * a ** 2 / hypot(x, a) ** 5"),
    ("arctan2(y, x) * hypot(x, y)", "x", {}, "y ** 2 * arctan2(y, x) / hypot(x, y) ** 3"),
    ("log(sqrt(x + a) + sqrt(x - a))", "x", {}, "-0.5 * x / ((x + a) ** 1.5 * (x - a) ** 1.5)"),
    ("exp(-x**2) * cos(x)", "x", {}, "exp(-x ** 2) * (cos(x) * (4 * x ** 2 - 3) + 4 * x * sin(x))"),
    ("a * exp(-b * exp(-c * t))", "t", {},
     "c ** 2 * b * a * exp(-c * t) * exp(-b * exp(-c * t)) * (b * exp(-c * t) - 1)"),
    ("norm(x - a) + norm(x - b)", "x", {"x": "n", "a": "n", "b": "n"},
     "u = unit(x - a)\nu1 = unit(x - b)\n"
     "(eye(n) - outer(u, u)) / norm(x - a) + (eye(n) - outer(u1, u1)) / norm(x - b)"),
    ("norm(A @ x)", "x", {"A": ("m", "n"), "x": "n"},
     "u = unit(A @ x)\nA.T @ (eye(m) - outer(u, u)) @ A / norm(A @ x)"),
]


@pytest.mark.parametrize(("text", "wrt", "shapes", "shown"), SHOWN, ids=[text for text, *_ in SHOWN])
def test_derivatives_are_shown_as_in_a_book(text: str, wrt: str, shapes: dict[str, Any], shown: str) -> None:
    assert str(sd.gradient(text, wrt, **shapes)) == shown


@pytest.mark.parametrize(("text", "wrt", "shapes", "shown"), SHOWN_TWICE, ids=[text for text, *_ in SHOWN_TWICE])
def test_second_derivatives_are_shown_as_in_a_book(text: str, wrt: str, shapes: dict[str, Any], shown: str) -> None:
    assert str(sd.hessian(text, wrt, **shapes)) == shown


@pytest.mark.parametrize("seed", range(60))
def test_quotients_of_lengths_and_roots_mean_what_is_computed(seed: int) -> None:
    rng = random.Random(seed)
    leaves = ["x", "y", "hypot(x, y)", "sqrt(x + y)", "sqrt(x)", "hypot(1, x)", "2", "arctan2(y, x)", "arcsin(x / 4)"]

    def drawn(depth: int) -> str:
        if not depth:
            return rng.choice(leaves)
        return f"({drawn(depth - 1)} {rng.choice('++-**/')} {drawn(rng.randrange(depth))})"

    text, order = drawn(3), rng.choice([1, 2])
    shapes = dict.fromkeys("xy", ())
    derivative = sd.derivative(sd.parse(f"x - x + y - y + {text}", shapes), "x", order)
    shown, kernel = sd.compile(str(derivative), **shapes, inputs=["x", "y"]), sd.compile(derivative, inputs=["x", "y"])
    for x, y in ((0.3, 0.7), (1.9, 0.2), (2.7, 3.1)):
        np.testing.assert_allclose(shown(x, y), kernel(x, y), rtol=1e-8, atol=1e-10)


CURVATURES = [
    ("std(x)", "c = x - mean(x)\nu = unit(c)\n(eye(n) - outer(u, u) - 1 / n) / (sqrt(n) * norm(c))"),
    ("norm(x - mean(x))", "c = x - mean(x)\nu = unit(c)\n(eye(n) - outer(u, u) - 1 / n) / norm(c)"),
]


@pytest.mark.parametrize(("text", "shown"), CURVATURES)
def test_directions_of_deviations_sum_to_nothing_in_second_derivatives(text: str, shown: str) -> None:
    curvature = sd.hessian(text, "x", x="n")
    assert str(curvature) == shown
    x = np.array([0.3, -1.2, 2.0, 0.7])
    slope, step = sd.compile(sd.gradient(text, "x", x=4)), 1e-6
    rows = [(slope(x + step * way) - slope(x - step * way)) / (2 * step) for way in np.eye(4)]
    np.testing.assert_allclose(sd.compile(curvature)(x), rows, atol=1e-8)


@pytest.mark.parametrize("seed", range(60))
def test_quotients_of_sines_and_cosines_mean_what_is_computed(seed: int) -> None:
    """Of two functions of one argument, and constants, sums and quotients are drawn."""
    draw = random.Random(seed)
    pair = draw.choice([("sin", "cos"), ("cos", "tan"), ("sinh", "cosh"), ("tanh", "sech"), ("sin", "tan")])
    u = draw.choice(["x", "a * x", "x / 2", "x - a"])

    def side() -> str:
        f, g = (f"{name}({u})" for name in draw.sample(pair, 2))
        forms = ["{f}", "{n} + {f}", "{f} * {g}", "{f}**2 + {n} * {g}", "a * {f} + {n} * {g}", "{f}**2"]
        return draw.choice(forms).format(f=f, g=g, n=draw.choice(["1", "2", "3/2", "a"]))

    text = f"({side()}) / ({side()} + {draw.randint(3, 5)}) + a * x**3"
    for derivative in (sd.gradient(text, "x"), sd.derivative(text, "x", 2)):
        computed = sd.compile(derivative, ["x", "a"])
        back = sd.compile(derivative.text(), ["x", "a"])
        for x in (-0.9, 0.2, 1.1):
            np.testing.assert_allclose(back(x, 0.7), computed(x, 0.7), rtol=1e-10, atol=1e-12)


def test_factors_that_repeat_along_a_summed_axis_are_summed_apart() -> None:
    rng = np.random.default_rng(3)
    z, x = rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    slope = sd.compile(sd.gradient("sum(Z @ X @ Z.T)", "X", Z=(4, 3), X=(3, 3)), ["Z", "X"])
    np.testing.assert_allclose(slope(z, x), np.outer(z.sum(0), z.sum(0)), rtol=1e-14)
    bilinear = sd.compile("sum(A * broadcast_to(v, (4, 3)) @ B)", A=(4, 3), v=3, B=(3, 2))
    b, v = rng.normal(size=(3, 2)), rng.normal(size=3)
    np.testing.assert_allclose(bilinear(A=z, v=v, B=b), (z * v @ b).sum(), rtol=1e-13)
