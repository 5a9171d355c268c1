"""Sums of fractions are put on one denominator, and powers of one base cancel."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symdiff as sd
from symdiff.graph.reference.interpret import evaluate
from symdiff.rewrite import simplify

s, t, K, v = (sd.scalar(name) for name in "stKv")
x = sd.vector("x", "n")
A, b = sd.matrix("A", "m", "n"), sd.vector("b", "m")
r = A @ x - b

#: Formulas, what they are differentiated by, and their first derivative.
SHOWN: list[tuple[Any, sd.Array, str]] = [
    (v * s / (K + s), s, "v * K / (K + s) ** 2"),
    (v * s**2 / (K**2 + s**2), s, "2 * v * s * K ** 2 / (K ** 2 + s ** 2) ** 2"),
    (v * s / (K * (1 + t) + s), s, "v * K * (1 + t) / (K * (1 + t) + s) ** 2"),
    (s / (1 + s**2), s, "(1 - s ** 2) / (1 + s ** 2) ** 2"),
    (s**2 / (1 + s), s, "s * (2 + s) / (1 + s) ** 2"),
    ((s - t) / (s + t), s, "2 * t / (s + t) ** 2"),
    ((K * s + v) / (t * s + 3), s, "(3 * K - t * v) / (t * s + 3) ** 2"),
    ((K + v * s) / (1 + t * s), s, "(v - t * K) / (1 + t * s) ** 2"),
    (-np.log(1 + ((s - t) / v) ** 2), t, "2 * (s - t) / ((s - t) ** 2 + v ** 2)"),
    (-K * (s - t) ** 2 / (2 * t**2 * s), t, "K * (s - t) / t ** 3"),
    (1 / (1 / s + 1 / t), s, "t ** 2 / (s + t) ** 2"),
    (v * np.log(v * t) - (v + 1 / s) * np.log1p(s * t), t, "(v - t) / (t * (1 + s * t))"),
    (s * (1 + s) / (1 + s + s**2), s, "(1 + 2 * s) / (1 + s + s ** 2) ** 2"),
    (v * s / (K + s + s**2 / t), s, "q = s ** 2 / t\nv * (K - q) / (K + s + q) ** 2"),
    (s / np.sqrt(1 + s**2), s, "1 / (1 + s ** 2) ** 1.5"),
    (s / (1 + s**2) ** 0.5, s, "1 / (1 + s ** 2) ** 1.5"),
    (s / np.sqrt(t + s), s, "(t + 0.5 * s) / (t + s) ** 1.5"),
    (np.sum(x**2 / (1 + x**2)), x, "2 * x / (1 + x ** 2) ** 2"),
]
JACOBIANS: list[tuple[Any, str]] = [
    (x / (1 + x), "diag(1 / (1 + x) ** 2)"),
    (t * x / (s + x), "diag(t * s / (s + x) ** 2)"),
    (sd.gradient(np.sum(x**2 / (1 + x**2)), x), "diag((2 - 6 * x ** 2) / (1 + x ** 2) ** 3)"),
    (sd.gradient(np.sum(np.sqrt(1 + r**2)), x), "(A.T / (1 + (A @ x - b) ** 2) ** 1.5) @ A"),
    (sd.gradient(np.linalg.norm(x) ** 3, x), "3 * (norm(x) * eye(n) + outer(x, unit(x)))"),
    (sd.gradient(np.linalg.norm(x) ** 4, x), "4 * sum(x ** 2) * eye(n) + 8 * outer(x, x)"),
]


@pytest.mark.parametrize(("formula", "wrt", "shown"), SHOWN, ids=[shown for _, _, shown in SHOWN])
def test_derivatives_of_fractions_are_one_fraction(formula: Any, wrt: sd.Array, shown: str) -> None:
    assert str(sd.gradient(formula, wrt)) == shown


@pytest.mark.parametrize(("formula", "shown"), JACOBIANS, ids=[shown for _, shown in JACOBIANS])
def test_jacobians_with_fractions(formula: Any, shown: str) -> None:
    assert str(sd.jacobian(formula, x)) == shown


#: Formulas that level off, by mpmath.
FAR: dict[str, Callable[[Any], Any]] = {
    "s/(1 + s)": lambda s: s / (1 + s),
    "3*s/(7 + s)": lambda s: 3 * s / (7 + s),
    "s**2/(1 + s**2)": lambda s: s**2 / (1 + s**2),
    "s/sqrt(1 + s**2)": lambda s: s / mp.sqrt(1 + s**2),
    "s/(1 + s**2)**0.5": lambda s: s / mp.sqrt(1 + s**2),
    "s*(1 + s)/(1 + s + s**2)": lambda s: s * (1 + s) / (1 + s + s**2),
    "(3*s + 2)/(5*s + 7)": lambda s: (3 * s + 2) / (5 * s + 7),
    "s/(1 + s**2)**1.5": lambda s: s / mp.sqrt(1 + s**2) ** 3,
    "(1 + s**2)**(-0.5)": lambda s: 1 / mp.sqrt(1 + s**2),
    "s**3/(1 + s**2)": lambda s: s**3 / (1 + s**2),
    "(s - 2)/(s + 2)": lambda s: (s - 2) / (s + 2),
    "s**4/(16 + s**4)": lambda s: s**4 / (16 + s**4),
    "sqrt(1 + s**2)": lambda s: mp.sqrt(1 + s**2),
    "1/(1 + 1/s)": lambda s: 1 / (1 + 1 / s),
}


@pytest.mark.parametrize("text", FAR)
def test_slopes_are_right_where_formulas_level_off(text: str) -> None:
    kernel = sd.compile([f"gradient({text}, s)", f"gradient(gradient({text}, s), s)"], s=())
    f = FAR[text]
    for at in (1e-20, 0.3, 5.0, 1e6, 1e15, 1e20, 1e25):
        with mp.workdps(300):
            point = mp.mpf(at)
            h = point * mp.mpf(10) ** -80
            up, here, down = f(point + h), f(point), f(point - h)
            wanted = (up - down) / (2 * h), (up - 2 * here + down) / h**2
        for value, want in zip(kernel(at), wanted, strict=True):
            assert value == pytest.approx(float(want), rel=2e-14, abs=1e-300), (text, at)


def test_a_fraction_that_is_shown_does_not_shrink_the_range_of_its_kernel() -> None:
    a, b, c, d, x = symbols = [sd.scalar(name) for name in "abcdx"]
    slope = sd.gradient((a * x + b) / (c * x + d), x)
    assert str(slope) == "(a * d - c * b) / (c * x + d) ** 2"
    for backend in ("interpreter", "numpy", "native"):
        kernel = sd.compile(slope, symbols, backend=backend)
        assert kernel(1e200, 1.0, 1.0, 1e200, 1.0) == pytest.approx(1.0, rel=1e-14)
        assert kernel(2.0, 3.0, 5.0, 7.0, 11.0) == pytest.approx(-1 / 62**2, rel=1e-14)


Formula = Callable[[Any, Callable[[Any], Any]], Any]


def drawn(rng: random.Random, depth: int) -> Formula:
    """Draw a formula of sums, products, quotients and whole powers of positive numbers, now and then a difference."""
    if depth == 0:
        place, number = rng.randrange(3), rng.randint(1, 5)
        return rng.choice([lambda at, root: at[place], lambda at, root: at[place], lambda at, root: number])
    f, g, h = drawn(rng, depth - 1), drawn(rng, depth - rng.randint(1, depth)), drawn(rng, 0)
    n = rng.randint(2, 3)
    kinds: list[Formula] = [
        lambda at, root: f(at, root) + g(at, root),
        lambda at, root: f(at, root) / (g(at, root) + h(at, root)),
        lambda at, root: f(at, root) / (f(at, root) + g(at, root)),
        lambda at, root: f(at, root) * g(at, root),
        lambda at, root: f(at, root) ** n,
        lambda at, root: root(f(at, root) + h(at, root)),
        lambda at, root: f(at, root) / (f(at, root) + g(at, root)) ** 1.5,
        lambda at, root: f(at, root) - g(at, root) / (g(at, root) + f(at, root)),
        lambda at, root: 1 / (1 / f(at, root) + 1 / h(at, root)),
        lambda at, root: f(at, root) / (1 + (g(at, root) / h(at, root)) ** n) ** n,
        lambda at, root: h(at, root) * (f(at, root) + g(at, root) / h(at, root)),
    ]
    return rng.choice(kinds)


@pytest.mark.parametrize("seed", range(20))
def test_random_fractions_to_second_order(seed: int) -> None:
    rng = random.Random(seed)
    symbols = [sd.scalar(name) for name in "abc"]
    orders = [(1, 0), (0, 1), (2, 0), (1, 1)]
    for _ in range(6):
        formula = drawn(rng, 3)
        written = sd.asarray(formula(symbols, np.sqrt))
        first = [sd.gradient(written, symbols[k], disconnected="zero") for k in (0, 1)]
        second = [sd.gradient(first[0], symbols[k], disconnected="zero") for k in (0, 1)]
        kernel = sd.compile([written, *first, *second], inputs=symbols, backend="numpy")
        at = [rng.uniform(0.3, 3) for _ in "abc"]
        with mp.workdps(60):
            here = [mp.mpf(number) for number in at]

            def along(a: Any, b: Any, formula: Formula = formula, last: Any = here[2]) -> Any:
                return mp.mpf(1) * formula((a, b, last), mp.sqrt)

            wanted = [along(here[0], here[1]), *(mp.diff(along, (here[0], here[1]), order) for order in orders)]
            size = float(1 + max(abs(want) for want in wanted))
        if not all(isinstance(want, mp.mpf) for want in wanted):  # the root of a negative number
            continue
        values = [float(want) for want in wanted]
        np.testing.assert_allclose(kernel(*at), values, rtol=1e-9, atol=size * 1e-11, err_msg=str(written))


@pytest.mark.parametrize("text", ["s/(s + sqrt(s)*sqrt(s))", "1 - sqrt(s)*sqrt(s)/(1 + s)", "s/sqrt(s - 3)"])
def test_what_is_nan_below_a_root_stays(text: str) -> None:
    """Of the value: its derivative may have a number there."""
    assert np.isnan(sd.compile(text, s=())(-0.5))


# ---------------------------------------------------------------------------- same bases
# Powers of one base above and below in derivatives: they cancel, and values keep what is nan.


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


@pytest.mark.exhaustive
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
