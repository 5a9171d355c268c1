"""Digits of values and derivatives where a rewritten form could lose them: far out, near 0, beside what is large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(x))


def exact(function: Callable[..., Any], at: dict[str, float], by: str = "", order: int = 0) -> float:
    """Return a derivative by differences with many digits."""
    with mp.workdps(400):
        values = {name: mp.mpf(value) for name, value in at.items()}
        if not order:
            return float(function(**values))
        step = max(abs(values[by]), mp.mpf(10) ** -20) * mp.mpf(10) ** -70
        weights = {1: (-0.5, 0, 0.5), 2: (1, -2, 1), 3: (-0.5, 1, 0, -1, 0.5)}[order]
        middle = len(weights) // 2
        moved = (w * function(**{**values, by: values[by] + (k - middle) * step}) for k, w in enumerate(weights) if w)
        return float(mp.fsum(moved) / step**order)


def agrees(text: str, function: Callable[..., Any], at: dict[str, float], by: str = "", order: int = 0) -> None:
    """Compare a formula, or its derivative, with many digits on all backends."""
    formula = sd.derivative(text, by, order) if order else sd.compile(text)
    expected = exact(function, at, by, order)
    for backend in ("native", "interpreter", "numpy"):
        kernel = sd.compile(formula, backend=backend) if order else sd.compile(text, backend=backend)
        named = {one.name: at[one.name] for one in kernel.inputs}
        assert kernel(**named) == pytest.approx(expected, rel=2e-12, abs=1e-300), (text, backend, at, order)


# ---------------------------------------------------------------------------- exponents that are joined

JOINED: list[tuple[str, Callable[..., Any]]] = [
    ("exp(y)*sigmoid(x)", lambda x, y: mp.exp(y) * sigmoid(x)),
    ("exp(x)*exp(y)/(2 + 3*exp(x))", lambda x, y: mp.exp(x) * mp.exp(y) / (2 + 3 * mp.exp(x))),
    ("exp(y)*exp(2*x)/(exp(x) + exp(2*x) + 1)", lambda x, y: mp.exp(y + 2 * x) / (mp.exp(x) + mp.exp(2 * x) + 1)),
    ("exp(y)*sigmoid(x)*sigmoid(-x/2)", lambda x, y: mp.exp(y) * sigmoid(x) * sigmoid(-x / 2)),
]


@pytest.mark.parametrize(("text", "function"), JOINED, ids=[text for text, _ in JOINED])
@pytest.mark.parametrize("x", [1e16, 1e9, 30.0, -0.5, -40.0])
def test_exponents_that_cancel_are_not_added(text: str, function: Callable[..., Any], x: float) -> None:
    if "x/2" in text:
        x = min(x, 1000.0)
    agrees(text, function, {"x": x, "y": 1.0})


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("y", [36.1, 25.1, 15.0, 2.0, -3.0])
def test_softplus_of_an_exponential(y: float, order: int) -> None:
    agrees("softplus(exp(y))", lambda y: softplus(mp.exp(y)), {"y": y}, "y", order)


# ---------------------------------------------------------------------------- hyperbolic functions beside others

BESIDE: list[tuple[str, Callable[..., Any]]] = [
    ("log(cosh(y) + c)", lambda y, c: mp.log(mp.cosh(y) + c)),
    ("1/(cosh(y) + c)", lambda y, c: 1 / (mp.cosh(y) + c)),
    ("sinh(y)/(cosh(y) + c)", lambda y, c: mp.sinh(y) / (mp.cosh(y) + c)),
    ("y/(cosh(y) + c)", lambda y, c: y / (mp.cosh(y) + c)),
    ("1/(exp(y) + exp(-y) + c)", lambda y, c: 1 / (mp.exp(y) + mp.exp(-y) + c)),
    ("log(exp(y) + exp(2*y) + c)", lambda y, c: mp.log(mp.exp(y) + mp.exp(2 * y) + c)),
]


@pytest.mark.parametrize(("text", "function"), BESIDE, ids=[text for text, _ in BESIDE])
@pytest.mark.parametrize("c", [1e30, 1e12, 1.0, 1e-5])
@pytest.mark.parametrize("y", [1e-20, 1e-8, 2.0, -40.0])
def test_hyperbolic_functions_beside_a_number(text: str, function: Callable[..., Any], c: float, y: float) -> None:
    for order in (0, 1, 2):
        agrees(text, function, {"y": y, "c": c}, "y", order)


def test_large_hyperbolic_functions_beside_a_number() -> None:
    slope = sd.compile(sd.gradient("log(cosh(y) + c)", "y"))
    assert [float(slope(c=c, y=y)) for c, y in ((1.0, 800.0), (1e30, -800.0))] == [1.0, -1.0]
    assert sd.compile("log(cosh(y) + c)")(c=3.0, y=800.0) == pytest.approx(800 - np.log(2), rel=1e-15)


SMALL: list[tuple[str, Callable[..., Any]]] = [
    ("log(expm1(x) + y)", lambda x, y: mp.log(mp.expm1(x) + y)),
    ("log(3*expm1(2*x) + y)", lambda x, y: mp.log(3 * mp.expm1(2 * x) + y)),
    ("log(y*expm1(x) + y**2)", lambda x, y: mp.log(y * mp.expm1(x) + y**2)),
    ("log(sinh(x) + y)", lambda x, y: mp.log(mp.sinh(x) + y)),
    ("expm1(x)/(expm1(x) + exp(y))", lambda x, y: mp.expm1(x) / (mp.expm1(x) + mp.exp(y))),
]


@pytest.mark.parametrize(("text", "function"), SMALL, ids=[text for text, _ in SMALL])
@pytest.mark.parametrize(("x", "y"), [(1e-12, 1e-12), (1e-20, 1e-18), (0.3, 2.0)])
def test_small_arguments_of_differences(text: str, function: Callable[..., Any], x: float, y: float) -> None:
    for order in (0, 1):
        agrees(text, function, {"x": x, "y": y}, "x", order)


# ---------------------------------------------------------------------------- quotients by a factor of the argument

QUOTIENTS: dict[str, Callable[[Any], Any]] = {
    "expm1": mp.expm1,
    "sin": mp.sin,
    "sinh": mp.sinh,
    "tanh": mp.tanh,
    "erf": mp.erf,
    "arctan": mp.atan,
    "arcsinh": mp.asinh,
    "log1p": mp.log1p,
}


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(QUOTIENTS)),
    st.sampled_from([1.0, -1.0, 2.0, 0.5]),
    *(st.floats(0.05, 5.0), st.floats(0.05, 5.0), st.sampled_from([1, 2])),
)
def test_the_slope_by_the_other_factor_is_that_of_the_function(
    name: str, c: float, x: float, y: float, order: int
) -> None:
    own = QUOTIENTS[name]
    if name == "log1p":
        c = abs(c)
    agrees(f"{name}({c}*x*y)/y", lambda x, y: own(c * x * y) / y, {"x": x, "y": y}, "x", order)


@pytest.mark.parametrize(("x", "y"), [(10.0, 4.0), (10.0, 10.0), (3.0, 5.0)])
def test_the_factor_of_yield_curves(x: float, y: float) -> None:
    text = "(1 - exp(-x*y))/y"
    assert str(sd.gradient(text, "x")) == "exp(-x * y)"
    assert sd.compile(sd.gradient(text, "x"))(x, y) == pytest.approx(np.exp(-x * y), rel=1e-14)
    agrees(text, lambda x, y: (1 - mp.exp(-x * y)) / y, {"x": x, "y": y}, "y", 1)
    agrees(text, lambda x, y: (1 - mp.exp(-x * y)) / y, {"x": x, "y": y * 1e-12}, "y", 1)


# ---------------------------------------------------------------------------- functions of lengths, far out

FAR: list[tuple[str, Callable[..., Any]]] = [
    ("arctan(x)*x", lambda x: mp.atan(x) * x),
    ("arctan(x)/x", lambda x: mp.atan(x) / x),
    ("x**2*arctan(x)", lambda x: x * x * mp.atan(x)),
    ("x - arctan(x)", lambda x: x - mp.atan(x)),
    ("x*arctan(x) - log(1 + x**2)/2", lambda x: x * mp.atan(x) - mp.log(1 + x * x) / 2),
    ("arctan2(x, 2)*x", lambda x: mp.atan2(x, 2) * x),
    ("arcsinh(x)*x", lambda x: mp.asinh(x) * x),
    ("x*sqrt(1 + x**2)", lambda x: x * mp.sqrt(1 + x * x)),
    ("x**2/sqrt(1 + x**2)", lambda x: x * x / mp.sqrt(1 + x * x)),
    ("x**3/(4 + x**2)", lambda x: x**3 / (4 + x * x)),
    ("x/(1 + abs(x))", lambda x: x / (1 + abs(x))),
    ("3*x/(2 + sqrt(x*x))", lambda x: 3 * x / (2 + abs(x))),
    ("x*abs(x)/(1 + x*x)", lambda x: x * abs(x) / (1 + x * x)),
]


@pytest.mark.parametrize(("text", "function"), FAR, ids=[text for text, _ in FAR])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_what_levels_off(text: str, function: Callable[..., Any], order: int) -> None:
    for x in (0.7, 30.0, 1e8, 1e20, -1e30):
        if abs(exact(function, {"x": x}, "x", order)) > 1e-200:
            agrees(text, function, {"x": x}, "x", order)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x*arctan(x) - log(1 + x**2)/2", "arctan(x)"),
        ("gradient(arctan(x)*x, x)", "2 / (1 + x ** 2) ** 2"),
        ("gradient(gradient(x*sqrt(1 + x**2), x), x)", "3 / (1 + x ** 2) ** 2.5"),
        ("gradient(gradient(x**2*arctan(x), x), x)", "2 * (3 - x ** 2) / (1 + x ** 2) ** 3"),
        ("erf(x*y)/y", "2 * exp(-(x * y) ** 2) / sqrt(pi)"),
    ],
)
def test_what_cancels_is_not_shown(text: str, expected: str) -> None:
    assert str(sd.gradient(text, "x")) == expected


# ---------------------------------------------------------------------------- medians


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([-np.inf, -2.0, 0.0, 1.0, 3.5, np.inf, np.nan]), min_size=1, max_size=7))
def test_medians_of_infinite_numbers_are_numpys(values: list[float]) -> None:
    x = np.array(values)
    with np.errstate(invalid="ignore"):
        for name in ("median", "nanmedian"):
            if name == "nanmedian" and np.isnan(x).all():
                continue
            expected = getattr(np, name)(x)
            for size in ("n", len(values)):
                np.testing.assert_array_equal(sd.compile(f"{name}(x)", x=size)(x), expected)


# ---------------------------------------------------------------------------- roots of quotients below 0

SIGNED: dict[str, Callable[[Any], Any]] = {"expm1": mp.expm1, "erf": mp.erf, "sinh": mp.sinh, "tanh": mp.tanh}


@pytest.mark.exhaustive
@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(SIGNED)),
    st.sampled_from(["({f}/y)**{p}", "(y/{f})**{p}", "({f}*y)**{p}", "(exp(x)/y*{f})**{p}"]),
    *(st.sampled_from([1.5, 0.5, -0.5, 2.5]), st.floats(0.3, 3.0), st.floats(0.3, 3.0), st.sampled_from([-1, 1])),
)
def test_roots_of_two_numbers_below_zero(name: str, form: str, p: float, x: float, y: float, sign: int) -> None:
    own = SIGNED[name]
    inside: dict[str, Callable[[Any, Any], Any]] = {
        "({f}/y)": lambda x, y: own(x) / y,
        "(y/{f})": lambda x, y: y / own(x),
        "({f}*y)": lambda x, y: own(x) * y,
        "(exp(x)/y*{f})": lambda x, y: mp.exp(x) / y * own(x),
    }
    base = inside[form.partition("**")[0]]
    for order in (0, 1, 2):
        text = form.format(f=f"{name}(x)", p=p)
        agrees(text, lambda x, y: base(x, y) ** p, {"x": sign * x, "y": sign * y}, "x", order)


# ---------------------------------------------------------------------------- powers of small exponents

POWERS: list[tuple[str, str, Callable[..., Any]]] = [
    ("(x**t - 1)/t", "t", lambda x, t: (x**t - 1) / t),
    ("(1 - x**(-2*t))/t", "t", lambda x, t: (1 - x ** (-2 * t)) / t),
    ("3*y*(x**t - 1)/(2*t)", "t", lambda x, y, t: 3 * y * (x**t - 1) / (2 * t)),
    ("(x**(1 - g) - 1)/(1 - g)", "g", lambda x, g: (x ** (1 - g) - 1) / (1 - g)),
    ("(sinh(x)**(t*y) - 1)/t", "t", lambda x, y, t: (mp.sinh(x) ** (t * y) - 1) / t),
]


@pytest.mark.parametrize(("text", "name", "function"), POWERS, ids=[text for text, _, _ in POWERS])
@pytest.mark.parametrize("small", [1e-60, 1e-12, -1e-6, 1e-3, 0.3, 2.0])
def test_powers_of_small_exponents(text: str, name: str, function: Callable[..., Any], small: float) -> None:
    for x in (2.5, 0.02):
        at = {"x": x, "y": 0.7, name: small if name == "t" else 1.0 - small}
        at = {key: value for key, value in at.items() if key in text.replace("sinh", "")}
        for by, order in ((name, 0), (name, 1), (name, 2), ("x", 1), ("x", 2)):
            agrees(text, function, at if at.get("g") != 1.0 else at | {"g": 1.0 + 1e-16 * 3}, by, order)


def test_powers_of_small_exponents_are_as_written_elsewhere() -> None:
    kernel = sd.compile("(x**t - 1)/t")
    assert kernel(x=-2.0, t=2.0) == 1.5
    assert kernel(x=0.0, t=2.0) == -0.5
    assert kernel(x=3.0, t=0.0) == pytest.approx(np.log(3.0), rel=1e-15)
    assert np.isnan(kernel(x=-2.0, t=0.5))
    assert str(sd.gradient("(x**t - 1)/t", "x")) == "x ** (t - 1)"


MEANS: list[tuple[str, Callable[..., Any]]] = [
    ("(a*x**r + (1 - a)*y**r)**(1/r)", lambda x, y, a, r: (a * x**r + (1 - a) * y**r) ** (1 / r)),
    ("log(a/x**(2*r) + (1 - a)/y**r)/r", lambda x, y, a, r: mp.log(a / x ** (2 * r) + (1 - a) / y**r) / r),
    ("a*((x**r + y**r)/2)**(-3/r)", lambda x, y, a, r: a * ((x**r + y**r) / 2) ** (-3 / r)),
    ("(a*x**r + (1 - a))**(1/r) + y", lambda x, y, a, r: (a * x**r + (1 - a)) ** (1 / r) + y),
]  # fmt: skip


@pytest.mark.parametrize(("text", "function"), MEANS, ids=[text for text, _ in MEANS])
@pytest.mark.parametrize("r", [1e-60, 1e-12, -1e-6, 1e-3, 0.3])
def test_means_of_powers(text: str, function: Callable[..., Any], r: float) -> None:
    for x in (2.5, 0.02):
        for by, order in (("r", 0), ("r", 1), ("r", 2), ("x", 1), ("x", 2), ("a", 1)):
            agrees(text, function, {"x": x, "y": 0.7, "a": 0.3, "r": r}, by, order)


def test_means_of_powers_have_their_limit_and_are_as_written_elsewhere() -> None:
    kernel = sd.compile("(a*x**r + (1 - a)*y**r)**(1/r)")
    assert kernel(a=0.5, x=2.0, y=8.0, r=0.0) == pytest.approx(4.0, rel=1e-15)
    assert kernel(a=0.5, x=-2.0, y=3.0, r=2.0) == pytest.approx(np.sqrt(6.5), rel=1e-15)
    assert kernel(a=0.5, x=0.0, y=3.0, r=0.5) == pytest.approx(0.75, rel=1e-15)
    weights = sd.compile("(a*x**r + b*y**r)**(1/r)")  # no mean, whose limit is 0 or infinite
    want = (0.5 * 2**1e-4 + 0.4 * 8**1e-4) ** 1e4
    assert weights(a=0.5, b=0.4, x=2.0, y=8.0, r=1e-4) == pytest.approx(want, rel=1e-11)
    assert str(sd.gradient("(a*x**r + (1 - a)*y**r)**(1/r)", "x")) == (
        "a * (a * x ** r + (1 - a) * y ** r) ** (1 / r - 1) * x ** (r - 1)"
    )


VANISHING_ELSEWHERE: list[tuple[str, float, Callable[..., Any]]] = [
    ("log(x)/(x - 1)", 1.0, lambda x: mp.log(x) / (x - 1)),
    ("(2 - 2*x)/log(x)", 1.0, lambda x: (2 - 2 * x) / mp.log(x)),
    ("lgamma(x)/(x - 1)", 1.0, lambda x: mp.loggamma(x) / (x - 1)),
    ("lgamma(x)/(3*x - 6)", 2.0, lambda x: mp.loggamma(x) / (3 * x - 6)),
]


@pytest.mark.parametrize(("text", "zero", "function"), VANISHING_ELSEWHERE, ids=[row[0] for row in VANISHING_ELSEWHERE])
@pytest.mark.parametrize("distance", [1e-14, -1e-9, 1e-5, 0.1, 3.0])
def test_functions_that_vanish_at_other_numbers_than_0(
    text: str, zero: float, function: Callable[..., Any], distance: float
) -> None:
    for order in (0, 1, 2):
        agrees(text, function, {"x": zero + distance}, "x", order)


def test_divided_differences_are_shown_in_lowest_powers() -> None:
    assert str(sd.derivative("log(x)/(x - 1)", "x")) == "(1 / x - log(x) / (x - 1)) / (x - 1)"
    slope = sd.derivative("(sqrt(x) - sqrt(y))/(x - y)", "x")
    assert "x ** 1" not in str(slope)
    assert "x ** 1" not in str(sd.derivative("(log(x) - log(y))/(x - y)", "x"))


@pytest.mark.parametrize(("delta", "r"), [(1e8, 1.0), (1.0, 1e8), (3.0, 1e-9), (2.0, 0.0), (1e30, -1e20)])
def test_pseudo_huber_far_out(delta: float, r: float) -> None:
    for by, order in (("d", 0), ("d", 1), ("d", 2), ("r", 1), ("r", 2)):
        agrees("pseudo_huber(d, r)", lambda d, r: d * (mp.hypot(d, r) - d), {"d": delta, "r": r}, by, order)


# ---------------------------------------------------------------------------- far out

EXPONENTIALS: list[tuple[str, Callable[..., Any]]] = [
    ("arctan(exp(x))", lambda x: mp.atan(mp.exp(x))),
    ("arctan(exp(-2*x))", lambda x: mp.atan(mp.exp(-2 * x))),
    ("arctan(sinh(x))", lambda x: mp.atan(mp.sinh(x))),
    ("log(1 + exp(x) + exp(2*x))", lambda x: mp.log1p(mp.exp(x) + mp.exp(2 * x))),
    ("log(1 + 3*exp(-x) + 2*exp(-2*x))", lambda x: mp.log1p(3 * mp.exp(-x) + 2 * mp.exp(-2 * x))),
]


@pytest.mark.parametrize(("text", "function"), EXPONENTIALS, ids=[text for text, _ in EXPONENTIALS])
@pytest.mark.parametrize("x", [-400.0, -40.0, -0.3, 2.0, 40.0, 340.0])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_formulas_of_exponentials_far_out(text: str, function: Callable[..., Any], x: float, order: int) -> None:
    if order == 2 and "log(" in text:
        return  # the slopes of shares, of which one is 1, are what docs/functions.md lists
    agrees(text, function, {"x": x}, "x", order)


def test_the_slope_of_an_angle_of_an_exponential() -> None:
    assert str(sd.gradient("arctan(exp(x))", "x")) == "0.5 * sech(x)"
    assert sd.compile(sd.hessian("arctan(sinh(x))", "x"))(1e4) == 0.0
    assert sd.compile(sd.hessian("xlogy(x, 2*x) + 0*y", "y", x=(), y=()))(0.0, 1.0) == 0.0
    twice = sd.compile(sd.hessian("xlogy(x, sum(p)*x)", "p", p=2, x=()))
    assert (twice(p=np.ones(2), x=0.0) == 0.0).all()


# ---------------------------------------------------------------------------- roots, poles, ratios


def _normal(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _erf_between(x: Any, y: Any) -> Any:
    return mp.erfc(y) - mp.erfc(x) if x + y > 0 else mp.erfc(-x) - mp.erfc(-y)


def _normal_between(x: Any, y: Any) -> Any:
    return _erf_between(x / mp.sqrt(2), y / mp.sqrt(2)) / 2


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("small", [1e-30, 1e-12, -1e-9, 1e-3, 0.1])
def test_roots_of_quadratic_equations(small: float, order: int) -> None:
    def root(a: Any, b: Any, c: Any) -> Any:
        return (-b + mp.sqrt(b * b - 4 * a * c)) / (2 * a)

    agrees("(-b + sqrt(b**2 - 4*a*c)) / (2*a)", root, {"a": small, "b": 1.5, "c": 0.7}, "a", order)
    agrees("(sqrt(1 + 4*k*x) - 1) / (2*k)", lambda k, x: (mp.sqrt(1 + 4 * k * x) - 1) / (2 * k),
           {"k": abs(small), "x": 0.8}, "k", order)  # fmt: skip


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("x", [1e-6, 0.4, 1e6, 1e14])
def test_differences_of_roots(x: float, order: int) -> None:
    agrees("sqrt(x + 1) - sqrt(x)", lambda x: mp.sqrt(x + 1) - mp.sqrt(x), {"x": x}, "x", order)
    agrees("3*sqrt(x + y) - 3*sqrt(x - 2*y)", lambda x, y: 3 * mp.sqrt(x + y) - 3 * mp.sqrt(x - 2 * y),
           {"x": x, "y": 1e-7}, "y", order)  # fmt: skip
    agrees("2*x - sqrt(4*x**2 + y)", lambda x, y: 2 * x - mp.sqrt(4 * x**2 + y), {"x": x, "y": 0.3}, "y", order)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("small", [1e-12, 1e-8, 1e-4, 0.02])
def test_likelihoods_at_the_end_of_a_family(small: float, order: int) -> None:
    def pareto(g: Any, z: Any) -> Any:
        return (1 + 1 / g) * mp.log1p(g * z)

    def negative_binomial(a: Any, m: Any, y: Any) -> Any:
        return mp.loggamma(y + 1 / a) - mp.loggamma(1 / a) - (y + 1 / a) * mp.log1p(a * m) + y * mp.log(a * m)

    agrees("(1 + 1/g) * log1p(g*z)", pareto, {"g": small, "z": 1.1176}, "g", order)
    text = "lgamma(y + 1/a) - lgamma(1/a) - (y + 1/a)*log1p(a*m) + y*log(a*m)"
    for y in (0.5, 7.0, 40.0):
        agrees(text, negative_binomial, {"a": small, "m": 3.2, "y": y}, "a", order)


@pytest.mark.parametrize("a", [0.3, 1.5, 20.0])
def test_negative_binomial_likelihoods_are_as_written_elsewhere(a: float) -> None:
    value = sd.compile("lgamma(y + 1/a) - lgamma(1/a) + y*log(a*m)")
    want = float(mp.loggamma(7 + 1 / mp.mpf(a)) - mp.loggamma(1 / mp.mpf(a)) + 7 * mp.log(mp.mpf(a) * mp.mpf(3.2)))
    assert value(a=a, m=3.2, y=7.0) == pytest.approx(want, rel=1e-13)
    assert str(sd.gradient("lgamma(y + 1/a) - lgamma(1/a) + y*log(a*m)", "m")) == "y / m"


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("x", [41.0, 3.0, 0.2, -4.0, -60.0])
def test_ratios_and_differences_of_tails(x: float, order: int) -> None:
    at = {"x": x, "y": x - 1.0}
    agrees("log(ndtr(x) - ndtr(y))", lambda x, y: mp.log(_normal_between(x, y)), at, "x", min(order, 1))
    agrees("log(erf(x) - erf(y))", lambda x, y: mp.log(_erf_between(x, y)), at, "y", min(order, 1))
    agrees("ndtr(x) / ndtr(y)", lambda x, y: _normal(x) / _normal(y), at, "x", order)
    agrees("erfc(x) / erfc(y)", lambda x, y: mp.erfc(x) / mp.erfc(y), at, "y", order)
    agrees("log(erfcx(x))", lambda x: x * x + mp.log(mp.erfc(x)), {"x": x}, "x", order)


@pytest.mark.parametrize("gap", [1e-9, 1e-3, 0.4999, 0.5001])
def test_differences_of_tails_at_near_places(gap: float) -> None:
    at = {"x": 40.0 + gap, "y": 40.0}
    agrees("log(ndtr(x) - ndtr(y))", lambda x, y: mp.log(_normal_between(x, y)), at)


@pytest.mark.parametrize(
    ("text", "limit", "slope"),
    [
        ("(sqrt(1 + x) - 1) / sin(x)", 0.5, -0.125),
        ("sin(x) / (sqrt(1 + x) - 1)", 2.0, 0.5),
        ("(sqrt(1 + x) - 1) / log1p(x)", 0.5, 0.125),
        ("(sqrt(4 + x) - 2) / (exp(x) - 1)", 0.25, -0.140625),
        ("(sqrt(1 + x) - sqrt(1 - x)) / x", 1.0, 0.0),
        ("(sqrt(1 + x) - 1)**2 / x**2", 0.25, -0.125),
        ("(sqrt(1 + sin(x)) - 1) / x", 0.5, -0.125),
    ],
)
def test_differences_of_roots_have_their_limits(text: str, limit: float, slope: float) -> None:
    for backend in ("native", "interpreter", "numpy"):
        assert sd.compile(text, backend=backend)(0.0) == pytest.approx(limit, rel=1e-14)
        assert sd.compile(sd.gradient(text, "x"), backend=backend)(0.0) == pytest.approx(slope, rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("argument", ["x", "3*x", "a*x", "-x/2"])
@pytest.mark.parametrize(
    "function", ["expm1", "log1p", "tanh", "tan", "sinh", "sin", "arctan", "arctanh", "arcsin", "arcsinh"]
)
def test_slopes_of_quotients_have_their_digits_when_they_are_read_back(function: str, argument: str) -> None:
    text = f"cos(a) * {function}({argument}) / ({argument})"
    slope = sd.gradient(text, "x", x=(), a=())
    ours = sd.compile(slope, ["x", "a"], backend="interpreter")
    read = sd.compile(str(slope), ["x", "a"], x=(), a=(), backend="interpreter")
    for x in (0.0, 1e-300, 1e-12, -1e-8, 1e-5, 0.1, -0.2):
        np.testing.assert_allclose(read(x, 0.7), ours(x, 0.7), rtol=1e-9, atol=1e-20)


@pytest.mark.parametrize("text", ["(exp(x) - 1 - x)/x**2", "(1 - cos(x))/x**2"])
def test_slopes_of_other_quotients_too(text: str) -> None:
    slope = sd.gradient(text, "x", x=())
    kernels = [sd.compile(slope, backend="interpreter"), sd.compile(str(slope), backend="interpreter", x=())]
    for x in (0.0, 1e-12, -1e-8, 1e-5, 0.1, -0.2, 3.0):
        one, other = (kernel(x) for kernel in kernels)
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-20)


def _dawson(x: Any) -> Any:
    return mp.exp(-x * x) * mp.erfi(x) * mp.sqrt(mp.pi) / 2


def _scaled_tail(x: Any) -> Any:
    return mp.exp(x * x) * mp.erfc(x)


#: Differences that are derivatives of a function, up to a factor, and the same with many digits.
DIFFERENCES: list[tuple[str, Callable[..., Any]]] = [
    ("{c} - {d}*({u})*dawsn({u})", lambda u, c: c - 2 * c * u * _dawson(u)),
    ("dawsn({u}) + ({u})*(1 - 2*({u})*dawsn({u}))", lambda u, c: _dawson(u) + u * (1 - 2 * u * _dawson(u))),
    ("{d}*(({u})*erfcx({u}) - 1/sqrt(pi))", lambda u, c: 2 * c * (u * _scaled_tail(u) - 1 / mp.sqrt(mp.pi))),
    (
        "erfcx({u})/2 + ({u})*(({u})*erfcx({u}) - 1/sqrt(pi))",
        lambda u, c: _scaled_tail(u) / 2 + u * (u * _scaled_tail(u) - 1 / mp.sqrt(mp.pi)),
    ),
]
#: Arguments in x and y, and what they are.
ARGUMENTS: list[tuple[str, Callable[..., Any]]] = [
    ("x", lambda x, y: x),
    ("2*x*y", lambda x, y: 2 * x * y),
    ("(x*y)**2", lambda x, y: (x * y) ** 2),
    ("x - y", lambda x, y: x - y),
    ("x/(3*y)", lambda x, y: x / (3 * y)),
]


@pytest.mark.parametrize(("argument", "inside"), ARGUMENTS, ids=[text for text, _ in ARGUMENTS])
@pytest.mark.parametrize(("text", "function"), DIFFERENCES, ids=[text for text, _ in DIFFERENCES])
@pytest.mark.rows(4)
def test_differences_that_are_derivatives_of_dawsn_and_erfcx(
    text: str, function: Callable[..., Any], argument: str, inside: Callable[..., Any]
) -> None:
    for c, size in ((1, 4.0), (3, 60.0), (2, 900.0)):
        numbers = np.random.default_rng(c).uniform(0.5, 1.0, 2) * [size, 0.3]
        at = dict(zip("xy", map(float, numbers), strict=True))
        at = {name: value for name, value in at.items() if name in argument}
        wanted = exact(lambda x, y=0, c=c: function(inside(x, y), c), at)
        kernel = sd.compile(text.format(u=argument, c=c, d=2 * c), inputs=list(at), backend="interpreter")
        # the argument is rounded once or twice
        assert float(kernel(**at)) == pytest.approx(wanted, rel=5e-15)


@pytest.mark.parametrize("name", ["dawsn", "erfcx"])
@pytest.mark.parametrize("order", [1, 2])
def test_printed_derivatives_that_cancel_are_read_back(name: str, order: int) -> None:
    found = sd.derivative(f"{name}(x)", "x", order)
    places = np.concatenate([[0.01, 0.5, 1.0], 10.0 ** np.random.default_rng(order).uniform(0, 5, 20)])
    there, back = (np.asarray(sd.compile(f, backend="interpreter")(places)) for f in (found, found.text()))
    np.testing.assert_allclose(back, there, rtol=1e-14)


# ---------------------------------------------------------------------------- poles that cancel

VANISH_ONCE = {
    "tanh": mp.tanh, "tan": mp.tan, "sin": mp.sin, "sinh": mp.sinh, "arctan": mp.atan, "arcsin": mp.asin,
    "arcsinh": mp.asinh, "arctanh": mp.atanh, "expm1": mp.expm1, "log1p": mp.log1p,
}  # fmt: skip


def nearly(text: str, function: Callable[..., Any], x: float) -> None:
    """Compare a formula and its slope with many digits; the reference is taken beside 0 itself."""
    kernels = [sd.compile(f, backend="interpreter") for f in (text, sd.derivative(text, "x"))]
    for order, kernel in enumerate(kernels):
        want = exact(function, {"x": x or 1e-30}, "x", order)
        assert float(kernel(x)) == pytest.approx(want, rel=1e-11, abs=1e-29), (text, x, order)


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(sorted(VANISH_ONCE)), st.sampled_from((1.0, 2.0, 0.5, -3.0)), st.booleans(),
    st.one_of(st.just(0.0), st.floats(-14.0, -0.7).map(lambda e: 10.0**e)), st.sampled_from((1, -1)),
)  # fmt: skip
def test_poles_that_cancel_leave_their_digits(name: str, c: float, over: bool, size: float, sign: int) -> None:
    f, x = VANISH_ONCE[name], sign * size
    if over:
        nearly(f"{c} * x / {name}({c} * x) - 1", lambda x: c * x / f(c * x) - 1, x)
    else:
        nearly(f"1 / {name}({c} * x) - 1 / ({c} * x)", lambda x: 1 / f(c * x) - 1 / (c * x), x)


@pytest.mark.parametrize("name", ["tanh", "sinh", "tan", "expm1", "erf", "j1", "arctan", "log1p"])
@pytest.mark.parametrize("x", [0.0, 1e-12, -1e-8, 1e-4, 0.3, 4.0])
def test_slopes_of_inverse_quotients_are_read_back(name: str, x: float) -> None:
    slope = sd.derivative(f"x / {name}(x)", "x")
    again = sd.derivative(str(slope), "x")
    for kernel, other in ((sd.compile(str(slope)), sd.compile(slope)), (sd.compile(again), sd.compile(
            sd.derivative(slope, "x")))):  # fmt: skip
        assert float(kernel(x)) == pytest.approx(float(other(x)), rel=1e-9, abs=1e-12)


def test_poles_that_cancel_are_shown_as_they_were_written() -> None:
    assert "where" not in str(sd.derivative("1 / tanh(x) - 1 / x", "x"))
    assert float(sd.compile("1 / sinh(x) - 1 / x")(1e200)) == -1e-200


# ---------------------------------------------------------------------------- ends and angles


@pytest.mark.parametrize("name", ["silu", "mish", "gelu"])
def test_gated_functions_have_limits_at_both_ends(name: str) -> None:
    for order, ends in enumerate([(0.0, np.inf), (0.0, 1.0), (0.0, 0.0)]):
        formula = sd.derivative(f"{name}(x)", "x", order) if order else f"{name}(x)"
        for backend in ("native", "interpreter", "numpy"):
            kernel = sd.compile(formula, x=(), backend=backend) if not order else sd.compile(formula, backend=backend)
            np.testing.assert_array_equal(kernel(np.array([-np.inf, np.inf])), ends)


def test_squares_of_angles_are_smooth_where_the_angle_is_0() -> None:
    both = (-2.0, 2 / 3)
    for text, want in (("arccos(x)**2", both), ("arccosh(x)**2", (2.0, -2 / 3)), ("sin(arccos(x)**2)", both)):
        got = [float(sd.compile(sd.derivative(text, "x", n), backend="interpreter")(1.0)) for n in (1, 2)]
        np.testing.assert_allclose(got, want, rtol=1e-14)
    hessian = sd.hessian("arccos(x @ y)**2", "x", x=2, y=2)
    at = np.array([0.6, 0.8])
    np.testing.assert_allclose(sd.compile(hessian, x=2, y=2)(at, at), 2 / 3 * np.outer(at, at), rtol=1e-7)


LOGARITHMS_OF_INTEGRALS: list[tuple[str, Callable[..., Any]]] = [
    ("log(exp1(x))", lambda x: mp.log(mp.e1(x))),
    ("log(expi(x))", lambda x: mp.log(mp.ei(x))),
    ("log(iv(2, x))", lambda x: mp.log(mp.besseli(2, x))),
    ("log(iv(0.5, x))", lambda x: mp.log(mp.besseli(0.5, x))),
    ("log(exp1(x) * exp(x))", lambda x: mp.log(mp.e1(x)) + x),
]


@pytest.mark.parametrize(("text", "function"), LOGARITHMS_OF_INTEGRALS, ids=[t for t, _ in LOGARITHMS_OF_INTEGRALS])
@pytest.mark.parametrize("x", [0.8, 9.99, 10.1, 60.0, 720.0, 2e3])
def test_logarithms_of_exponential_integrals_far_out(text: str, function: Callable[..., Any], x: float) -> None:
    for order in (0, 1):
        agrees(text, function, {"x": x}, "x", order)


# ---------------------------------------------------------------------------- powers at near places

ANNUITIES: list[tuple[str, Callable[..., Any]]] = [
    ("(x**y - 1)/(x - 1)", lambda u, y: ((1 + u) ** y - 1) / u),
    ("((1 + u)**y - 1)/u", lambda u, y: ((1 + u) ** y - 1) / u),
    ("(1 - (1 + u)**(-y))/u", lambda u, y: (1 - (1 + u) ** -y) / u),
    ("u*(1 + u)**y/((1 + u)**y - 1)", lambda u, y: u * (1 + u) ** y / ((1 + u) ** y - 1)),
]


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(ANNUITIES), st.sampled_from([1e-12, -1e-9, 1e-6, 1e-3, 0.07, 3.0]),
    st.sampled_from([-3.0, 0.3, 2.2, 12.0, 360.0]), st.integers(0, 2),
)  # fmt: skip
def test_quotients_of_powers_near_1(row: tuple[str, Callable[..., Any]], u: float, y: float, order: int) -> None:
    text, function = row
    if "x" not in text:
        agrees(text, function, {"u": u, "y": y}, "u", order)
        return
    x = 1 + u
    agrees(text, lambda x, y: function(x - 1, y), {"x": x, "y": y}, "x", order)


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from([0.3, 1.5, 2.0, 3.0, 5.0, 12.0, -1.0, -2.5, -7.0]), st.sampled_from([1e-9, -1e-6, 1e-3, 0.5]),
    st.integers(0, 2), st.sampled_from(["({}**{p} - {}**{p})/({} - {})", "({} - {})/({}**{p} - {}**{p})"]),
)  # fmt: skip
def test_divided_differences_of_powers(p: float, distance: float, order: int, form: str) -> None:
    text = form.format("x", "y", "x", "y", p=f"({p})")
    turned = form.startswith("({} -")

    def function(x: Any, y: Any) -> Any:
        slope = (x**p - y**p) / (x - y)
        return 1 / slope if turned else slope

    agrees(text, function, {"x": 1.3 + distance, "y": 1.3}, "x", order)


# ---------------------------------------------------------------------------- squares of poles

SQUARED: dict[str, Callable[[Any], Any]] = {
    "sin": mp.sin, "sinh": mp.sinh, "tan": mp.tan, "tanh": mp.tanh, "arctan": mp.atan, "arcsin": mp.asin,
    "log1p": mp.log1p, "expm1": mp.expm1,
}  # fmt: skip


@pytest.mark.rows(8)
@pytest.mark.parametrize("name", SQUARED)
@pytest.mark.parametrize("c", [1.0, 2.0, 0.3])
@pytest.mark.parametrize("x", [1e-6, -1e-3, 0.2])
def test_squares_of_poles_that_cancel(name: str, c: float, x: float) -> None:
    def function(x: Any, y: Any) -> Any:
        return y / SQUARED[name](mp.mpf(c) * x) ** 2 - y / (mp.mpf(c) * x) ** 2

    for order in (0, 1, 2):
        agrees(f"y/{name}({c}*x)**2 - y/({c}*x)**2", function, {"x": x, "y": 1.7}, "x", order)


# ---------------------------------------------------------------------------- logarithms of quotients

OF_QUOTIENTS: list[tuple[str, Callable[..., Any]]] = [
    ("log(sinh(x)/x)", lambda x: mp.log(mp.sinh(x) / x)),
    ("log(x/(4*sinh(x)))", lambda x: mp.log(x / (4 * mp.sinh(x)))),
    ("log((exp(x) - 1)/x)", lambda x: mp.log(mp.expm1(x) / x)),
    ("log(x/(exp(x) - 1))", lambda x: mp.log(x / mp.expm1(x))),
    ("log(3*x/(1 - exp(-x)))", lambda x: mp.log(-3 * x / mp.expm1(-x))),
]


@pytest.mark.parametrize(("text", "function"), OF_QUOTIENTS, ids=[text for text, _ in OF_QUOTIENTS])
@pytest.mark.parametrize("x", [1e-9, -1e-3, 0.4, -3.0, 40.0, 1e3, -900.0])
def test_logarithms_of_quotients_near_0_and_far_out(text: str, function: Callable[..., Any], x: float) -> None:
    for order in (0, 1, 2):
        agrees(text, function, {"x": x}, "x", order)


@pytest.mark.parametrize("text", ["1 - cos(x)**2", "sqrt(1 - cos(x)**2)"])
def test_squares_that_make_up_1(text: str) -> None:
    power = 0.5 if "sqrt" in text else 1
    for order in (0, 1, 2):
        agrees(text, lambda x: mp.sin(x) ** (2 * power), {"x": 1e-9}, "x", order)


#: Two numbers that are nearly equal at the number beside them, and what their difference is there.
NEARLY_EQUAL = [
    ("exp(x)", "1", 1e-18, 1e-18), ("1", "cos(x)", 1e-9, 5e-19), ("sqrt(1 + x)", "1", 1e-18, 5e-19),
    ("cosh(x)", "1", 1e-9, 5e-19), ("1", "exp(-x)", 1e-18, 1e-18), ("1", "sqrt(1 - x)", 1e-18, 5e-19),
    ("2", "sqrt(4 - x)", 1e-18, 2.5e-19), ("sqrt(9 + x)", "3", 1e-18, 1e-18 / 6), ("hypot(x, 1)", "1", 1e-9, 5e-19),
    ("sqrt(x + 1)", "sqrt(x)", 1e18, 5e-10), ("sqrt(x**2 + 1)", "x", 1e9, 5e-10),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "x", "right"), NEARLY_EQUAL)
def test_differences_keep_digits_however_they_are_arranged(a: str, b: str, x: float, right: float) -> None:
    texts = [f"{a} - {b}", f"-{b} + {a}", f"{a} + (-{b})", f"-({b} - {a})"]
    kernels = [sd.compile(text, backend="interpreter") for text in texts]
    kernels += [sd.compile(formula) for text in texts for formula in (sd.parse(text), sd.compile(text).sympy)]
    for kernel in kernels:
        assert kernel(x) == pytest.approx(right, rel=1e-8), a
