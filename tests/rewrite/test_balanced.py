"""Products of functions that overflow or vanish far out keep their range, however their factors come."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from random import Random
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import symdiff as sd
from symdiff.graph import Node, elementwise
from symdiff.graph.nodes import input as input_node
from symdiff.graph.reference.interpret import evaluate
from symdiff.rewrite.balanced import balance_products
from tests.support.multiprecision import read

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "i0(x)": lambda x: mp.besseli(0, x),
    "i1(x)": lambda x: mp.besseli(1, x),
    "iv(2.5, x)": lambda x: mp.besseli(2.5, x),
    "expi(x)": mp.ei,
    "k0(x)": lambda x: mp.besselk(0, x),
    "k1(x)": lambda x: mp.besselk(1, x),
    "kv(1.5, x)": lambda x: mp.besselk(1.5, x),
    "exp1(x)": mp.e1,
}
OVER: dict[str, Callable[[Any], Any]] = {"1": lambda x: mp.mpf(1), "exp(x)": mp.exp, "exp(-x)": lambda x: mp.exp(-x)}


@pytest.mark.parametrize(("below", "above"), list(product(FUNCTIONS, OVER)))
def test_slopes_of_quotients_are_right_as_far_as_the_quotients_are(below: str, above: str) -> None:
    draw = Random(f"{below} {above}")
    text = f"({above}) / {below}"
    parts = {"0": text, "1": sd.derivative(text, "x"), "2": sd.derivative(text, "x", 2)}
    kernel = sd.compile(parts, backend="interpreter")
    for at in (draw.uniform(200.0, 300.0), draw.uniform(340.0, 650.0)):
        with mp.workdps(60):
            true = [mp.diff(lambda x: OVER[above](x) / FUNCTIONS[below](x), at, order) for order in range(3)]
        found = kernel(x=at)
        for order, expected in enumerate(true):
            if 1e-290 < abs(expected) < 1e290:
                # second slopes cancel to some millionths of their terms
                np.testing.assert_allclose(float(found[str(order)]), float(expected), rtol=1e-3 if order == 2 else 1e-9)


def test_the_order_of_factors_changes_nothing_but_rounding() -> None:
    draw = Random(3)
    x, y = input_node("x", ()), input_node("y", (3,))
    names = ["i0", "i1", "k0", "k1", "expi", "exp1", "gamma", "exp", "sin"]

    def drawn(depth: int) -> Node:
        if not depth:
            return draw.choice([y, elementwise(draw.choice(names), (x,)), elementwise(draw.choice(names), (x,))])
        op = draw.choice(["multiply", "multiply", "divide", "divide", "add", "subtract", "negative"])
        return elementwise(op, tuple(drawn(depth - 1) for _ in range(1 if op == "negative" else 2)))

    changed = 0
    for _ in range(300):
        formula = drawn(draw.randrange(2, 5))
        (found,) = balance_products([formula])
        assert found.shape == formula.shape
        changed += found is not formula
        values = {"x": np.array(draw.uniform(0.5, 3.0)), "y": np.array([draw.uniform(0.5, 2.0) for _ in range(3)])}
        expected = evaluate([formula], values)[0]
        np.testing.assert_allclose(evaluate([found], values)[0], expected, rtol=1e-9, atol=1e-9)
    assert changed > 30


def test_products_of_sums_that_come_again_keep_their_value() -> None:
    draw = Random(5)
    x = input_node("x", ())
    names = ["i1", "k0", "k1", "exp1", "gamma", "exp"]
    changed = 0

    def term() -> Node:
        one, other = (elementwise(draw.choice(names), (x,)) for _ in range(2))
        return elementwise(draw.choice(["multiply", "divide"]), (one, other))

    for _ in range(400):
        sums = [elementwise("add", (term(), term())) for _ in range(2)]
        parts = [*sums, elementwise(draw.choice(names), (x,)), x]
        formula: Node = draw.choice(parts)
        for _ in range(draw.randrange(3, 8)):
            formula = elementwise(draw.choice(["multiply", "divide"]), (formula, draw.choice(parts)))
        (found,) = balance_products([formula], [True])
        changed += found is not formula
        values = {"x": np.array(draw.uniform(0.5, 3.0))}
        np.testing.assert_allclose(evaluate([found], values)[0], evaluate([formula], values)[0], rtol=1e-6)
    assert changed > 40


def _read_at(text: str, names: dict[str, Any], x: Any) -> Any:
    return read(text, {**names, "x": x})


@pytest.mark.parametrize("size", [1e170, 1e-170, -1e200])
@pytest.mark.parametrize("divisor", ["{} * x", "{} * sin(x)", "{} * exp1(x)", "expm1(x) * {}"])
def test_large_and_small_divisors_do_not_end_the_range(divisor: str, size: float) -> None:
    at, y = Random(divisor).uniform(0.5, 2.0), 2.0
    for number in (f"({size})", "z"):
        text = f"y * cos(x) / ({divisor.format(number)})"
        kernel = sd.compile(sd.derivative(text, "x"), backend="interpreter")
        values = {"x": at, "y": y, "z": size}
        names: dict[str, Any] = {"sin": mp.sin, "cos": mp.cos, "expm1": mp.expm1, "exp1": mp.e1, "number": mp.mpf}
        with mp.workdps(500):
            expected = mp.diff(partial(_read_at, text, {**names, "y": y, "z": size}), at)
        found = kernel(**{parameter.name: values[parameter.name] for parameter in kernel.inputs})
        np.testing.assert_allclose(float(found), float(expected), rtol=1e-9)


#: Factors of which the logarithm is large far out, and these.
GROWING: dict[str, Callable[[Any, Any], Any]] = {
    "exp(-x)": lambda x, y: mp.exp(-x),
    "exp(y)": lambda x, y: mp.exp(y),
    "x**y": lambda x, y: x**y,
    "y**-x": lambda x, y: y**-x,
    "x**(y/2)": lambda x, y: x ** (y / 2),
    "1/gamma(y + 1)": lambda x, y: 1 / mp.gamma(y + 1),
    "gamma(x)": lambda x, y: mp.gamma(x),
    "2.5**x": lambda x, y: mp.mpf(2.5) ** x,
}


@pytest.mark.parametrize("seed", range(16))
def test_slopes_of_open_powers_beside_functions_that_grow(seed: int) -> None:
    """A slope of one factor is multiplied by two others, whose product may leave the range."""
    draw = Random(seed)
    names = draw.sample(list(GROWING), 3)
    text = "*".join(f"({name})" for name in names)

    def value(x: Any, y: Any) -> Any:
        return mp.fprod(GROWING[name](x, y) for name in names)

    slopes = [sd.derivative(f"{text} + 0*x*y", name) for name in "xy"]
    kernel = sd.compile(slopes, ["x", "y"], backend="interpreter")
    for _ in range(40):
        x, y = draw.uniform(50.0, 160.0), draw.uniform(50.0, 160.0)
        with mp.workdps(40):
            sizes = [mp.log(abs(GROWING[name](mp.mpf(x), mp.mpf(y)))) for name in names]
            partial_sizes = [sizes[0] + sizes[1], sum(sizes), *sizes]
            if max(map(abs, partial_sizes)) > 690:
                continue
            true = [mp.diff(value, (x, y), order) for order in ((1, 0), (0, 1))]
            noise = 1e-11 * abs(value(mp.mpf(x), mp.mpf(y)))
        for got, expected in zip(kernel(x, y), true, strict=True):
            assert abs(float(got) - expected) <= 1e-9 * abs(expected) + noise, f"{text} {x} {y}"
