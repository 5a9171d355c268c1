"""Powers of one base above and below in derivatives: they cancel, and values keep what is nan."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symdiff as sd
from symdiff.graph.reference.interpret import evaluate
from symdiff.rewrite import simplify


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x / sqrt(x)", "0.5 / sqrt(x)"),
        ("x**3 / x", "2 * x"),
        ("log(gamma(x))", "digamma(x)"),
        ("log(a * x) - log(x)", "0"),
        ("x**2 * a / a", "2 * x"),
        ("0 * sqrt(x) + x", "1"),
    ],
)
def test_derivatives_show_no_base_above_and_below(text: str, shown: str) -> None:
    assert str(sd.gradient(text, "x")) == shown


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=9))
def test_products_of_repeated_factors_keep_their_value(factors: list[tuple[int, bool]]) -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    bases: Any = (x, np.exp(x), np.exp(2 * y), sd.gamma(y), x + y)
    above: Any = sd.asarray(1.0)
    below: Any = sd.asarray(1.0)
    for place, is_above in factors:
        above, below = (above * bases[place], below) if is_above else (above, bases[place] * below)
    node = (above / below).node
    (new,) = simplify([node])
    at = {"x": np.array(1.7), "y": np.array(2.3)}
    np.testing.assert_allclose(evaluate([new], at)[0], evaluate([node], at)[0], rtol=1e-12)


def test_logarithms_of_powers_divide_once() -> None:
    assert "a / x" in str(sd.gradient("log(x**a)", "x"))
    assert "**" not in str(sd.gradient("log(x**a)", "x"))


def test_scores_of_densities_show_no_density() -> None:
    text = "log(b**a * x**(a - 1) * exp(-b * x) / gamma(a))"
    positive = dict.fromkeys("abx", sd.positive())
    assert str(sd.gradient(text, "a", **positive)) == "log(x) + log(b) - digamma(a)"


@pytest.mark.parametrize("text", ["x / x", "x**3 / x", "x * cos(x) / x"])
def test_values_stay_nan(text: str) -> None:
    kernel = sd.compile(text, x=())
    assert np.isnan(kernel(np.nan))
    assert np.isnan(kernel(0.0))


_BASES = ("x", "y", "gamma(x)", "(x + y)", "exp(x * y)")


@given(st.lists(st.tuples(st.sampled_from(_BASES), st.sampled_from((-2, -1, 1, 2, 0.5, "a", "a - 1", "-a"))),
                min_size=2, max_size=6))
def test_cancelled_powers_keep_the_derivative(factors: list[tuple[str, Any]]) -> None:
    def of(x: Any) -> Any:
        total = mp.mpf(1)
        y = mp.mpf(0.7)
        values = {"x": x, "y": y, "gamma(x)": mp.gamma(x), "(x + y)": x + y, "exp(x * y)": mp.exp(x * y)}
        powers = {"a": mp.mpf(2.25), "a - 1": mp.mpf(1.25), "-a": -mp.mpf(2.25)}
        for base, power in factors:
            total *= values[base] ** powers.get(power, power)
        return total

    with mp.workdps(40):
        wanted = [mp.diff(of, mp.mpf(1.3), order) for order in (1, 2)]
    x, y, a = map(sd.scalar, "xya")
    arrays = {"x": x, "y": y, "gamma(x)": sd.gamma(x), "(x + y)": x + y, "exp(x * y)": np.exp(x * y)}
    exponents = {"a": a, "a - 1": a - 1, "-a": -a}
    product = sd.asarray(1.0)
    for base, power in factors:
        product = product * arrays[base] ** exponents.get(power, power)
    first = sd.gradient(product, x, disconnected="zero")
    second = sd.gradient(first, x, disconnected="zero")
    got = sd.compile([first, second], inputs=[x, y, a], backend="numpy")(1.3, 0.7, 2.25)
    np.testing.assert_allclose(got, [float(want) for want in wanted], rtol=1e-10, atol=1e-10)
