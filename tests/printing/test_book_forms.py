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
    ("sinh(x) / (1 + cosh(x))", "x", {}, "sech(x) / (1 + sech(x))"),
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
]


@pytest.mark.parametrize(("text", "wrt", "shapes", "shown"), SHOWN, ids=[text for text, *_ in SHOWN])
def test_derivatives_are_shown_as_in_a_book(text: str, wrt: str, shapes: dict[str, Any], shown: str) -> None:
    assert str(sd.gradient(text, wrt, **shapes)) == shown


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
