"""What is 0 by the rules of powers, exponentials and logarithms is left out, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd

PRICE = """
d1 = (log(S/K) + (r + s**2/2)*T) / (s*sqrt(T))
d2 = d1 - s*sqrt(T)
S*(1 + erf(d1/sqrt(2)))/2 - K*exp(-r*T)*(1 + erf(d2/sqrt(2)))/2
"""
ORDER = ["S", "K", "r", "s", "T"]


def _exact(S: float, K: float, r: float, s: float, T: float) -> mpmath.mpf:
    S, K, r, s, T = map(mpmath.mpf, (S, K, r, s, T))
    d1 = (mpmath.log(S / K) + (r + s**2 / 2) * T) / (s * mpmath.sqrt(T))
    return S * mpmath.ncdf(d1) - K * mpmath.exp(-r * T) * mpmath.ncdf(d1 - s * mpmath.sqrt(T))


@pytest.mark.parametrize(("by", "most"), [("S", 1), ("K", 2), ("r", 2), ("s", 1), ("T", 2)])
def test_derivatives_of_a_price_have_one_term_for_each_of_the_books(by: str, most: int) -> None:
    shown = str(sd.gradient(PRICE, by))
    assert shown.count("exp(") + shown.count("ndtr(") <= 2 * most - (by in "Ss")
    assert "erf" not in shown
    kernel = sd.compile(sd.gradient(PRICE, by), inputs=ORDER)
    rng = np.random.default_rng(4)
    for _ in range(5):
        point = dict(zip(ORDER, rng.uniform([50, 50, 0.01, 0.1, 0.2], [150, 150, 0.1, 0.6, 3.0]), strict=True))
        with mpmath.workdps(40):
            exact = mpmath.diff(lambda value, point=point: _exact(**{**point, by: value}), point[by])
        np.testing.assert_allclose(kernel(**point), float(exact), rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "shown", "exact"),
    [
        ("(1 + erf(x / sqrt(2))) / 2", "ndtr(x)", mpmath.ncdf),
        ("(1 - erf(x * 0.7071067811865476)) / 2", "ndtr(-x)", lambda x: mpmath.ncdf(-x)),
        ("1 + erf(-x / sqrt(2))", "2 * ndtr(-x)", lambda x: 2 * mpmath.ncdf(-x)),
        ("1 - erf(x)", "erfc(x)", mpmath.erfc),
        ("erf(2 * x) + 1", "erfc(-2 * x)", lambda x: mpmath.erfc(-2 * x)),
    ],
)
def test_an_error_function_beside_one_keeps_its_tail(text: str, shown: str, exact: Callable[[float], Any]) -> None:
    assert str(sd.gradient(f"t * ({text})", "t")) == shown
    kernel = sd.compile(text, x=())
    for x in (-12.0, -5.0, -0.3, 0.0, 0.7, 6.0, 12.0):
        np.testing.assert_allclose(kernel(x), float(exact(x)), rtol=2e-13)


def test_gamma_of_a_price() -> None:
    gamma = sd.derivative(PRICE, "S", 2)
    assert str(gamma).count("exp(") == 1
    assert "K * S" not in str(gamma)
    with mpmath.workdps(40):
        exact = mpmath.diff(lambda value: _exact(value, 90.0, 0.03, 0.25, 1.5), 100.0, 2)
    np.testing.assert_allclose(sd.compile(gamma, inputs=ORDER)(100.0, 90.0, 0.03, 0.25, 1.5), float(exact), rtol=1e-12)


_ATOMS = ["a", "b", "c", "sqrt(a)", "log(b / c)", "sin(a)"]
_PRODUCTS = st.lists(st.sampled_from(_ATOMS), min_size=1, max_size=3).map(" * ".join)
_SUMS = st.lists(st.tuples(st.sampled_from(["1", "2", "0.5", "-3"]), _PRODUCTS), min_size=1, max_size=3).map(
    lambda terms: " + ".join(f"{c} * {product}" for c, product in terms)
)


@settings(max_examples=25, deadline=None)
@given(_SUMS, _SUMS, st.integers(-2, 2), st.booleans())
def test_sums_that_are_zero_are_left_out_and_others_stay(x: str, y: str, n: int, is_zero: bool) -> None:
    # a sum in one form less the same in another: the square multiplied out, whole powers beside exponentials
    first = f"exp(({x} + {y})**2 / 2)"
    power = f"(b / c)**{n}" if n >= 0 else f"(c / b)**{-n}"
    off = "" if is_zero else " * 1.5"
    second = f"exp(({x})**2 / 2 + ({x}) * ({y}) + ({y})**2 / 2 - {n} * log(b / c)) * {power}{off}"
    shown = str(sd.gradient(f"(log(b / c) * sqrt(a) * sin(a) + ({first} - {second}) * (a + b)) * t", "t"))
    assert ("exp(" in shown) != is_zero, shown


KEPT = [
    # a logarithm of a product is one of negative numbers, too: half of it is no product of roots
    "log(a * b) + (a * exp(-log(a / b) / 2) - exp(log(a * b) / 2)) * c",
    # nothing else tells of a nan in b
    "a * c + (exp((a + c)**2) - exp(a**2 + 2 * a * c + c**2)) * b",
    # b and c may hide behind a choice
    "where(a > 0, b, c) + (exp((b + c)**2) - exp(b**2 + 2 * b * c + c**2)) * a",
]


@pytest.mark.parametrize("text", KEPT)
def test_what_may_be_nan_or_differs_stays(text: str) -> None:
    shown = str(sd.gradient(f"({text}) * t", "t"))
    assert "exp(" in shown or "sqrt(" in shown


def test_exponentials_with_different_numbers_in_each_place() -> None:
    text = "v + (exp((v + w)**2) * c - exp(v**2 + 2 * v * w + w**2) * c) * v + w"
    formula = sd.gradient(f"sum(({text}) * t)", "t", v=3, w=3, t=3, c=3)
    assert "exp(" not in str(sd.gradient(f"sum(({text.replace('c', '[1, 2, 3]')}) * t)", "t", v=3, w=3, t=3))
    assert "exp(" in str(formula)  # nothing else tells of a nan in c


@pytest.mark.parametrize("name", ORDER)
def test_an_input_that_is_nan_gives_nan(name: str) -> None:
    point = {"S": 100.0, "K": 90.0, "r": 0.03, "s": 0.25, "T": 1.5, name: np.nan}
    for by in ORDER:
        assert np.isnan(sd.compile(sd.gradient(PRICE, by), inputs=ORDER)(**point)), by


# ---------------------------------------------------------------------------- decided conditions
# Conditions of which a part is known: they are shown, and computed, without it.


def test_the_slope_of_a_loss_with_two_branches() -> None:
    loss = "sum(huber(1, r))"
    assert str(sd.gradient(loss, "r", r="n")) == "where(abs(r) <= 1, r, sign(r))"
    assert str(sd.hessian(loss, "r", r="n")) == "diag(where(abs(r) <= 1, 1, 0))"
    at = np.array([-3.0, -0.5, 0.2, 2.0])
    np.testing.assert_array_equal(sd.compile(sd.gradient(loss, "r", r="n"))(at), np.clip(at, -1, 1))


def test_a_number_that_is_no_width_of_a_loss() -> None:
    at = np.array([-3.0, 0.5])
    assert sd.compile("sum(huber(-1, r))", r="n")(at) == np.inf


def test_what_is_known_either_way() -> None:
    x = sd.vector("x", 3)
    at = np.array([-1.0, 0.0, 2.0])
    for known in (True, False):
        both, either = np.logical_and(x > 0, known), np.logical_or(known, x > 0)
        found = sd.compile([np.where(both, x, 7.0), np.where(either, x, 7.0)], [x])(at)
        np.testing.assert_array_equal(found[0], np.where((at > 0) & known, at, 7.0))
        np.testing.assert_array_equal(found[1], np.where((at > 0) | known, at, 7.0))
