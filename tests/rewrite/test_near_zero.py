"""Formulas that have a limit at 0 and no value there, and slopes of quotients that are read back from their text."""

from __future__ import annotations

import random
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import symdiff as sd

QUOTIENTS = [
    "expm1(x)/x", "log1p(x)/x", "sin(x)/x", "tanh(x)/x", "(1-cos(x))/x**2", "x/(exp(x)-1)", "(exp(x)-1-x)/x**2",
    "tanh(x**2)/x**2", "log1p(x**2)/x**2", "arctan(2*x)/x", "expm1(-x)/x", "(x-sin(x))/x**3", "(cosh(x)-1)/x**2",
    "x/tanh(x)", "x/sin(x)", "1/tanh(x)-1/x", "log(1+x)/x", "(sqrt(1+x)-1)/x",
]  # fmt: skip
OUTER = ["{q}", "{q} + sin(x)", "cos(x) - {q}", "{q}*exp(x)", "exp({q})", "({q})**2", "log({q} + 3)", "{q}*({p})",
         "lgamma(abs(x-1)) - {q}", "x*{q}", "a*{q} + x", "a*{q} + {p}"]  # fmt: skip
NEAR = (0.0, 1e-300, 1e-20, -1e-9, 1e-5, -0.01, 0.3)


def values(formula: Any, shapes: dict[str, Any]) -> np.ndarray[Any, Any]:
    given: dict[str, Any] = {"shapes": shapes} if isinstance(formula, str) else {}
    kernel = sd.compile(formula, list(shapes), backend="interpreter", **given)
    return np.array([kernel(*[x, 0.7][: len(shapes)]) for x in NEAR])


@pytest.mark.rows(12)
@pytest.mark.parametrize("seed", range(60))
def test_slopes_that_are_read_back_are_what_is_computed(seed: int) -> None:
    rng = random.Random(seed)
    quotients = [f"({one})" for one in rng.sample(QUOTIENTS, 2)]
    text = rng.choice(OUTER).format(q=quotients[0], p=quotients[1])
    shapes: dict[str, Any] = {"x": ()} | ({"a": ()} if "a*" in text else {})
    slope = sd.gradient(text, "x", shapes=shapes)
    read = slope.text()
    np.testing.assert_allclose(values(read, shapes), values(slope, shapes), rtol=1e-8, atol=1e-15, err_msg=read)
    again, second = sd.gradient(read, "x", shapes=shapes), sd.gradient(slope, "x")
    np.testing.assert_allclose(values(again, shapes), values(second, shapes), rtol=1e-7, atol=1e-9, err_msg=read)


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("log(cosh(x))/x**2", lambda x: mp.log(mp.cosh(x)) / x**2),
        ("log((1+x)/(1-x))/x", lambda x: mp.log((1 + x) / (1 - x)) / x),
        ("(1-x/tan(x))/x**2", lambda x: (1 - x / mp.tan(x)) / x**2),
        ("arctan2(x, 1)/x", lambda x: mp.atan(x) / x),
        ("log(1+tanh(x))/tanh(x)", lambda x: mp.log(1 + mp.tanh(x)) / mp.tanh(x)),
        ("((1+x)**1.5-1)/x", lambda x: ((1 + x) ** mp.mpf(1.5) - 1) / x),
        ("(exp(x)+exp(2*x)-2)/x", lambda x: (mp.exp(x) + mp.exp(2 * x) - 2) / x),
        ("jv(3, x)/x**3", lambda x: mp.besselj(3, x) / x**3),
        ("(sin(x)-tan(x))/(x*(1-cos(x)))", lambda x: (mp.sin(x) - mp.tan(x)) / (x * (1 - mp.cos(x)))),
    ],
)
def test_limits_have_their_digits_to_second_order(text: str, exact: Any) -> None:
    with mp.workdps(60):
        for order in range(3):
            formula: Any = text
            for _ in range(order):
                formula = sd.gradient(formula, "x", x=())
            kernel = sd.compile(formula, backend="interpreter", x=())
            for x in (0.0, 1e-12, -1e-5, 0.01, -0.1):
                at = mp.mpf(x) if x else mp.mpf(10) ** -25
                wanted = float(mp.diff(exact, at, order, h=mp.mpf(10) ** -28) if order else exact(at))
                assert kernel(x) == pytest.approx(wanted, rel=2e-9, abs=1e-12), (order, x)


@pytest.mark.parametrize("text", ["exp(x)/x", "sin(x)/x**2", "log(x)*sin(x)", "abs(x)*cos(x)/x", "1/(x*tanh(x))"])
def test_poles_and_kinks_stay(text: str) -> None:
    assert not any("series" in line or "abs(x) <" in line for line in sd.compile(text, x=()).rewrites)
    assert not np.isfinite(sd.compile(text, x=(), backend="interpreter")(0.0)) or "log" in text


def test_elements_and_other_variables_have_it_too() -> None:
    kernel = sd.compile("a[0] * (exp(v) * (1 - v) - 1) / v**2 + a[1]", v=4, a=2, backend="interpreter")
    np.testing.assert_allclose(kernel([0.0, 1e-9, -1e-9, 0.1], [2.0, 1.0])[:3], [0.0, 0.0, 0.0], atol=1e-9)
