"""Random products and quotients of sums of exponentials are derived without end or error, and rightly."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from typing import Any

import mpmath
import numpy as np
import pytest

import symdiff as sd

NAMES = ["x", "t", "a", "b"]
#: A number or a name in front, and what stands in the exponent: numbers times names, or times their squares.
Term = tuple[float | str, tuple[list[tuple[float, str]], bool] | None]
OUTER: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "itself": (lambda p: p, lambda p: p),
    "tanh": (np.tanh, mpmath.tanh),
    "square": (lambda p: p * p, lambda p: p * p),
    "sinh": (np.sinh, mpmath.sinh),
}


def drawn(draw: random.Random) -> tuple[list[tuple[list[Term], int]], str]:
    """Return sums of exponentials with whole powers, and what is made of their product."""

    def exponent() -> tuple[list[tuple[float, str]], bool]:
        parts = [(draw.choice([-2, -1, -0.5, 0.5, 1, 2, 3]), draw.choice("xt")) for _ in range(draw.choice([1, 1, 2]))]
        return parts, draw.random() < 0.15

    def term(number: int) -> Term:
        moves = number == 0 or draw.random() < 0.8
        return draw.choice([1.0, 1.0, -1.0, 2.0, 0.5, "a", "b"]), exponent() if moves else None

    sums = [
        ([term(k) for k in range(draw.choice([1, 2, 2, 2, 3]))], draw.choice([1, 1, 1, 2, -1, -1, -1, -2]))
        for _ in range(draw.choice([2, 2, 3]))
    ]
    return sums, draw.choice([*OUTER])


def built(
    sums: list[tuple[list[Term], int]], at: Mapping[str, Any], exp: Callable[[Any], Any], outer: Callable[[Any], Any]
) -> Any:
    product: Any = 1
    for terms, power in sums:
        total: Any = 0
        for c, inside in terms:
            part = at[c] if isinstance(c, str) else c
            if inside is not None:
                parts, is_square = inside
                part = part * exp(sum(k * (at[name] ** 2 if is_square else at[name]) for k, name in parts))
            total = total + part
        product = product * (total**power if power > 0 else 1 / total**-power)
    return outer(product)


@pytest.mark.parametrize("seed", range(20))
def test_derivatives_of_quotients_of_exponentials(seed: int) -> None:
    compared = 0
    for number in range(8):
        draw = random.Random(1000 * seed + number)
        sums, outer = drawn(draw)
        ours, theirs = OUTER[outer]
        symbols = {name: sd.scalar(name) for name in NAMES}
        f = built(sums, symbols, sd.exp, ours)
        first, second = draw.choice("xta"), draw.choice("xta")
        if not isinstance(f, sd.Array):
            continue
        g = sd.gradient(f, symbols[first], disconnected="zero")
        h = sd.gradient(g, symbols[second], disconnected="zero")
        kernel = sd.compile([f, g, h], [symbols[name] for name in NAMES], backend="interpreter")
        point = {name: draw.uniform(0.2, 1.5) for name in NAMES}
        try:
            with mpmath.workdps(300):
                exact = _exactly(sums, point, theirs, first, second)
        except ZeroDivisionError:  # a sum that is 0 everywhere
            continue
        for value, expected in zip(kernel(**point), exact, strict=True):
            if abs(expected) < 1e100:
                np.testing.assert_allclose(value, expected, rtol=1e-8, atol=1e-100, err_msg=f"{seed} {number}")
                compared += 1
    assert compared > 5


def _exactly(
    sums: list[tuple[list[Term], int]], point: Mapping[str, float], outer: Callable[[Any], Any], first: str, second: str
) -> list[float]:
    step = mpmath.mpf(10) ** -60

    def value(at: Mapping[str, Any]) -> Any:
        return built(sums, at, mpmath.exp, outer)

    def slope(at: Mapping[str, Any], name: str, of: Callable[[Mapping[str, Any]], Any]) -> Any:
        return (of({**at, name: at[name] + step}) - of({**at, name: at[name] - step})) / (2 * step)

    at = {name: mpmath.mpf(number) for name, number in point.items()}
    return [
        float(value(at)),
        float(slope(at, first, value)),
        float(slope(at, second, lambda moved: slope(moved, first, value))),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "(exp(-x) + exp(x)) / (a + exp(-t))",
        "(exp(-x) - exp(x)) / (a + exp(-t))",
        "(exp(-x) + exp(x)) / (exp(t) - 1)",
        "(exp(-x) + exp(x))**2 / (a + exp(-t))",
        "sigmoid(t) * (exp(-x**2) + exp(-2*x**2))",
        "sinh(x / (a + exp(-t)))",
        "1 / ((exp(3*t + x/2) + exp(-2*x)) * (1 - exp(t**2/2)))",
        "tanh(sqrt((2*exp(-t) + 1) / (exp(x + 2*t) - 1)))",
        "(2*exp(-x) - exp(2*t)) / (a*exp(t/2 - t/2) + 0.5)",
    ],
)
def test_formulas_whose_rewriting_did_not_end(text: str) -> None:
    """A numerator that takes nothing in was multiplied out by one rule and put together by another."""
    names = [name for name in "xta" if name in text.replace("exp", "").replace("tanh", "")]
    value = dict.fromkeys(names, 0.7)
    symbols = {name: sd.scalar(name) for name in names}
    formula = sd.parse(text, **dict.fromkeys(names, ()))
    for first, second in itertools.product("xt", repeat=2):
        slope = sd.gradient(formula, symbols[first])
        both = [slope, sd.gradient(slope, symbols[second], disconnected="zero")]
        assert np.isfinite(sd.compile(both, [symbols[name] for name in names])(**value)).all()
    assert sd.check(text, **dict.fromkeys(names, ()))
