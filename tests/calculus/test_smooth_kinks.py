"""Second and third derivatives of formulas that are smooth although their parts have kinks, at zeros and ties."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.frontend.formula import read_formula
from symdiff.rewrite.facts import bounds_of

#: Kinks of one formula u and smooth forms of even functions of them.
SIZES = ["abs({u})", "sqrt(({u})**2)", "maximum({u}, -({u}))", "max(stack([{u}, -({u})]))", "relu({u}) + relu(-({u}))"]
EVEN = ["({a})**2", "cos({a})", "({a})**4", "cosh({a}) - 1", "exp(-({a})**2)", "({a}) * tanh({a})", "1 - cos({a})"]
INNER = ["x[0]", "x[0] - x[1]", "sin(x[0])", "x[0]*x[1] - 1", "exp(x[1]) - exp(x[0])", "x[0]**2 - x[1]"]
#: What is never negative, and 0 at the points.
NEVER_BELOW = ["({u})**2", "1 - cos({u})", "exp({u}) - 1 - ({u})", "({u}) - log1p({u})", "({u})**4 + ({u})**2",
               "cosh({u}) - 1", "({u})*tanh({u})", "log(cosh({u}))", "v @ v"]  # fmt: skip
CHOSEN = ["abs({p})", "sqrt(({p})**2)", "maximum({p}, 0)", "maximum({p}, -({p}))", "max(stack([{p}, 0.]))", "relu({p})",
          "clip({p}, 0, 10)", "norm(stack([{p}]))"]  # fmt: skip
#: Symmetric functions of an array by its order, and the same without it.
SYMMETRIC = [
    ("sum(sort({v})**2)", "sum(({v})**2)"),
    ("prod(sort({v}))", "prod({v})"),
    ("var(sort({v}))", "var({v})"),
    ("sum(exp(sort({v})) * sort({v}))", "sum(exp({v}) * ({v}))"),
    ("sum(sort({v}))*sum(sin(sort({v})))", "sum({v})*sum(sin({v}))"),
    ("log(sum(exp(sort({v}))))", "log(sum(exp({v})))"),
    ("norm(sort({v}))**2 * sum({v})", "sum(({v})**2) * sum({v})"),
]
#: Those of two numbers.
OF_TWO = [
    ("max({v}) * min({v})", "prod({v})"),
    ("ptp({v})**2", "(({v})[0] - ({v})[1])**2"),
    ("max({v})**3 + min({v})**3", "sum(({v})**3)"),
    ("median({v})**2", "mean({v})**2"),
    ("cummax({v})[1] * cummin({v})[1]", "prod({v})"),
    ("exp(quantile({v}, 0.25) + quantile({v}, 0.75))", "exp(sum({v}))"),
    ("maximum(({v})[0], ({v})[1]) * min({v})", "prod({v})"),
    ("abs(({v})[0] - ({v})[1]) * ptp({v})", "(({v})[0] - ({v})[1])**2"),
]
ARRAYS = ["x", "2*x", "-x", "x**2", "sin(x)", "exp(x) - 1", "abs(x) + 3"]
#: Products of kinks of formulas that vanish together.
PAIRS = [
    ("abs(x[0]) * abs(sin(x[0]))", "x[0]*sin(x[0])"),
    ("abs(x[0] * abs(x[0]))", "x[0]**2"),
    ("abs(x[0]) * max(stack([abs(x[0]), 0.]))", "x[0]**2"),
    ("abs(x[0] * sin(x[0])) * cos(x[1])", "x[0]*sin(x[0])*cos(x[1])"),
    ("abs(x[0] - x[1]) * abs(exp(x[0]) - exp(x[1]))", "(x[0] - x[1]) * (exp(x[0]) - exp(x[1]))"),
    ("norm(abs(x))**2", "x @ x"),
    ("norm(x) * norm(-2*x)", "2*(x @ x)"),
    ("hypot(x[0], 0)**2 + hypot(0, x @ x)", "x[0]**2 + x @ x"),
    ("hypot(x[0]**2, x[0]**2)", "sqrt(2)*x[0]**2"),
    ("max(abs(x))**2 * min(abs(x))**2", "x[0]**2 * x[1]**2"),
    ("sum(sort(abs(x))**2)", "x @ x"),
    ("maximum(x[0], sin(x[0])) * minimum(x[0], sin(x[0]))", "x[0]*sin(x[0])"),
    ("abs(x[0]) * where(x[0] < 0, -x[0], x[0])", "x[0]**2"),
    ("where(x[0] > x[1], x[0] - x[1], x[1] - x[0]) * abs(x[0] - x[1])", "(x[0] - x[1])**2"),
    ("abs(x[0]*exp(x[1])) * where(0 <= x[0], sin(x[0]), sin(-x[0]))", "x[0]*exp(x[1])*sin(x[0])"),
]
#: Roots and powers of what is a square or a length, and the same without roots.
ROOTS = [
    ("hypot({a}, {b})**2", "({a})**2 + ({b})**2"),
    ("sqrt(({a})**2 + ({b})**2)**2 * cos({a})", "(({a})**2 + ({b})**2) * cos({a})"),
    ("hypot(hypot({a}, {b}), 1)", "sqrt(({a})**2 + ({b})**2 + 1)"),
    ("hypot(hypot({a}, {b}), 2)**3", "(({a})**2 + ({b})**2 + 4)**1.5"),
    ("hypot({a}, {b})**4", "(({a})**2 + ({b})**2)**2"),
    ("hypot({a}, -({a}))**2", "2*({a})**2"),
    ("hypot(({a})*({a}), 0*({a}))", "({a})**2"),
    ("hypot(({a})**2, ({a})**4)", "({a})**2 * sqrt(1 + ({a})**4)"),
    ("hypot(({a})**2*exp({b}), ({a})**2*cos({b}))", "({a})**2 * sqrt(exp(2*({b})) + cos({b})**2)"),
    ("norm([({a})**2, ({a})**3, -2*({a})**2])", "({a})**2 * sqrt(5 + ({a})**2)"),
    ("sqrt(({a})**4 + ({a})**6)", "({a})**2 * sqrt(1 + ({a})**2)"),
    ("sqrt((({v}) @ ({v}))**2 + (({v}) @ ({v}))**4)", "({v}) @ ({v}) * sqrt(1 + (({v}) @ ({v}))**2)"),
    ("norm(outer({v}, {v}))", "({v}) @ ({v})"),
    ("sqrt(sum(outer({v}, {v})**2))", "({v}) @ ({v})"),
    ("norm(({v})*norm({v}))", "({v}) @ ({v})"),
    ("norm((({v}) @ ({v}))*ones(4))", "2*(({v}) @ ({v}))"),
    ("norm(({a})**2*ones(3))", "sqrt(3)*({a})**2"),
    ("sqrt(x[0]**2 + x[1]**2) * norm(x)", "x @ x"),
    ("norm({v} - mean({v})) * std({v})", "sqrt(2)*var({v})"),
    ("(({v}) @ ({v}))**1.5 * norm({v})", "(({v}) @ ({v}))**2"),
    ("cbrt(({a})**3) + cbrt({b})**3", "({a}) + ({b})"),
    ("cbrt(({a})**6) * cos({b})", "({a})**2 * cos({b})"),
    ("cbrt({a})**6", "({a})**2"),
    ("(({a})**6)**(1/3)", "({a})**2"),
    ("(({a})**4)**1.5", "({a})**6"),
    ("cbrt(({v}) @ ({v}))**6", "(({v}) @ ({v}))**2"),
    ("(abs({a})**3)**(4/3)", "({a})**4"),
    ("abs({a})**1.5 * abs({a})**0.5 * sin({b})", "({a})**2 * sin({b})"),
    ("({a}) * cbrt({a})**3", "({a})**2"),
    ("abs({a})**0.5 * abs({a})**3.5 * cos({b})", "({a})**4 * cos({b})"),
]
#: Powers of what is 0 at 0, whose second derivatives are 0 there.
FLAT = ["(({v}) @ ({v}))**({p}/2)", "abs({a})**{p}", "(({a})**2)**({p}/2)", "hypot({a}, {b})**{p}", "norm({v})**{p}",
        "(({a})**4)**({p}/4)", "cbrt(({v}) @ ({v}))**(3*{p}/2)", "cbrt(({a})**2)**(3*{p}/2)", "(abs({a})**3)**({p}/3)",
        "abs({a})**({p} - 0.5)*sqrt(abs({a}))", "(3*({a})**2)**({p}/2)", "(({v}) @ ({v})/3)**({p}/2)",
        "(({a})**2)**({p}/2)*exp({b})", "norm(2*({v}))**{p}",
        "(5*({a})**4)**({p}/4)", "(({a})**2 + ({b})**2)**({p}/2)", "(2*hypot({a}, {b}))**{p}*cos({a})"]  # fmt: skip
#: What is never negative and 0 at the points, and what it is without roots and determinants.
NOT_NEGATIVE = [
    ("({a})**2 - 2*({a})*({b}) + ({b})**2", "(({a}) - ({b}))**2"),
    ("2*({a})**2 + 2*({a})*({b}) + 3*({b})**2", "2*({a})**2 + 2*({a})*({b}) + 3*({b})**2"),
    ("1 - 2*cos({a}) + cos({a})**2", "(1 - cos({a}))**2"),
    ("trace(outer({v}, {v}))", "({v}) @ ({v})"),
    ("({v}) @ (eye(2) + ones((2, 2))) @ ({v})", "({v}) @ ({v}) + sum({v})**2"),
    ("2*(({v}) @ (3*eye(2) + ones((2, 2))/2)) @ ({v})", "6*(({v}) @ ({v})) + sum({v})**2"),
    ("det(outer({v}, {v}) + eye(2)) - 1", "({v}) @ ({v})"),
    ("hypot({a}, 1) - 1", "sqrt(1 + ({a})**2) - 1"),
    ("pseudo_huber(1, {a})", "sqrt(1 + ({a})**2) - 1"),
    ("det(({a})*eye(2))", "({a})**2"),
    ("det(({a})*(eye(2) + ones((2, 2))))", "3*({a})**2"),
    ("sin({a})*tan({a})", "sin({a})*tan({a})"),
    ("exp({a}) + exp(-({a})) - 2", "exp({a}) + exp(-({a})) - 2"),
    ("2*exp({a}) + exp(-2*({a})) - 3 + ({b})**2", "2*exp({a}) + exp(-2*({a})) - 3 + ({b})**2"),
    ("exp({a}) - log1p({a}) - 1 + cosh({b}) - 1", "exp({a}) - log1p({a}) - 1 + cosh({b}) - 1"),
]
#: Kinks of elements that vanish together, and of arrays whose elements are moved; the two numbers tie or vanish.
TOGETHER = [
    ("sum(abs({v} - mean({v})))**2", "(({v})[0] - ({v})[1])**2"),
    ("sum(abs(diff({v})))**2", "(({v})[0] - ({v})[1])**2"),
    ("std({v}) * ptp({v})", "(({v})[0] - ({v})[1])**2 / 2"),
    ("ptp({v}) * ptp(({v})[::-1])", "(({v})[0] - ({v})[1])**2"),
    ("sort({v}) @ sort(({v})[::-1])", "({v}) @ ({v})"),
    ("sum(abs(stack([{a}, -({a})])))**2", "4*({a})**2"),
    ("prod(abs(stack([{a}, -({a})])))", "({a})**2"),
    ("maximum({a}, 0) * minimum({a}, 0)", "0*({a})"),
    ("sin(maximum({a}, 0)) * maximum({a}, 0) * minimum({a}, 0)**2", "0*({a})"),
    ("maximum({a}, {b}) * minimum({a}, {b}) * cos({a})", "({a}) * ({b}) * cos({a})"),
    ("sum(abs(({v})[:, None] - ({v})[None, :]))**2", "4*(({v})[0] - ({v})[1])**2"),
    ("mean(abs({v} - ({v})[::-1]))**2", "(({v})[0] - ({v})[1])**2"),
    ("norm({v} - ({v})[::-1], 1)**2", "4*(({v})[0] - ({v})[1])**2"),
    ("norm(stack([{a}, -({a})]), 1)**2", "4*({a})**2"),
    ("sum(relu(stack([{a}, -({a})])))**2", "({a})**2"),
    ("sum(maximum(stack([{a}, -({a})]), 0))**2", "({a})**2"),
    ("max(stack([{a}, 0.])) * min(stack([{a}, 0.]))", "0*({a})"),
    ("relu({a}) * minimum({a}, 0)", "0*({a})"),
    ("sum((sort({v}) - sort(({v})[::-1]))**2)", "0*sum({v})"),
    ("max({v}) * max(({v})[::-1]) + min({v}) * min(({v})[::-1])", "({v}) @ ({v})"),
    ("sum(sqrt(stack([({a})**2, 4*({a})**2])))**2", "9*({a})**2"),
    ("sign(({a})**2) * ({a})**2", "({a})**2"),
    ("sign({a}) * abs({a}) * ({a})", "({a})**2"),
]
ZEROS = [("x[0]", "x[1]", "x"), ("x[0] - x[1]", "x[0]*x[1]*(x[0] - x[1])", "x - x[::-1]"), ("sin(x[1])", "x[0]", "3*x"),
         ("x[0]", "2*x[1]", "x*cos(x)")]  # fmt: skip
POINTS = [(0.0, 0.0), (0.0, 0.7), (1.0, 1.0), (-0.5, -0.5), (2.0, 0.5), (0.3, -0.4)]


def derivatives(text: str, point: tuple[float, ...], gradient: Any = None) -> list[np.ndarray[Any, Any]]:
    """Return the value and derivatives to third order; third ones by both ways."""
    n = len(point)
    slope = sd.gradient(text, "x", x=n)
    second = sd.hessian(text, "x", x=n)
    again = sd.jacobian(slope, "x", disconnected="zero")
    read = sd.jacobian(str(slope), "x", x=n, disconnected="zero") if "x" in str(slope) else again
    third = sd.jacobian(second, "x", disconnected="zero")
    formulas = [slope, second, again, read, third]
    return [np.asarray(sd.compile(one, ["x"], backend="interpreter")(np.array(point))) for one in formulas]


def check(text: str, smooth: str, point: tuple[float, ...]) -> None:
    slope, second, again, read, third = derivatives(text, point)
    wanted = derivatives(smooth, point)
    np.testing.assert_allclose(slope, wanted[0], rtol=1e-9, atol=1e-9, err_msg=f"gradient of {text} at {point}")
    for got in (second, again, read):
        np.testing.assert_allclose(got, wanted[1], rtol=1e-9, atol=1e-9, err_msg=f"Hessian of {text} at {point}")
    np.testing.assert_allclose(third, wanted[4], rtol=1e-9, atol=1e-9, err_msg=f"third of {text} at {point}")
    for order in itertools.permutations(range(3)):
        np.testing.assert_allclose(third, third.transpose(order), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_even_functions_of_sizes(seed: int) -> None:
    rng = random.Random(seed)
    u, size, even = rng.choice(INNER), rng.choice(SIZES), rng.choice(EVEN)
    for point in rng.sample(POINTS, 3):
        check(even.format(a=size.format(u=u)), even.format(a=u), point)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_never_negative(seed: int) -> None:
    rng = random.Random(seed)
    p = rng.choice(NEVER_BELOW).format(u=rng.choice(["x[0]", "x[0] - x[1]", "sin(x[0])"])).replace("v @ v", "x @ x")
    text = rng.choice(CHOSEN).format(p=p)
    for point in rng.sample([(0.0, 0.0), (0.0, 0.7), (1.0, 1.0), (0.3, -0.4)], 2):
        check(text, p, point)


@pytest.mark.parametrize(("text", "smooth"), ROOTS)
def test_roots_of_squares(text: str, smooth: str) -> None:
    rng = random.Random(text)
    for a, b, v in [("x[0]", "x[1]", "x"), rng.choice(ZEROS)]:
        for point in [(0.0, 0.0), rng.choice([(0.0, 0.7), (1.0, 1.0), (0.3, -0.4)])]:
            check(text.format(a=a, b=b, v=v), smooth.format(a=a, b=b, v=v), point)


@pytest.mark.parametrize("text", FLAT)
def test_powers_above_two_are_flat_at_zero(text: str) -> None:
    rng = random.Random(text)
    for p in (2.5, rng.choice([10 / 3, 3.5, 2.6, 8 / 3]), round(rng.uniform(2.1, 4.0), 3)):
        slope, *seconds, _ = derivatives(text.format(a="x[0]", b="x[1]", v="x", p=repr(p)), (0.0, 0.0))
        for got in (slope, *seconds):
            np.testing.assert_array_equal(got, np.zeros(got.shape), err_msg=f"{text} for {p}")


@pytest.mark.parametrize(
    "text", ["(exp(y)*x**2)**{p}", "y*(x**2/7)**{p}", "(x**2)**{p}/y", "(cosh(y)*x**4/3)**({p}/2)*cos(x)"]
)
def test_powers_of_multiples_of_squares_are_flat_at_zero(text: str) -> None:
    rng = random.Random(text)
    for p in (1.25, 4 / 3, round(rng.uniform(1.05, 2.5), 3)):
        second = sd.derivative(text.format(p=repr(p)), "x", 2)
        assert sd.compile(second, ["x", "y"], backend="interpreter")(0.0, 0.7) == 0.0, p


def test_norms_of_products_at_sizes_that_are_letters() -> None:
    for text in ("norm(x*norm(x))", "norm(outer(x, x))", "norm(x)*sqrt(sum(x**2))"):
        np.testing.assert_array_equal(sd.compile(sd.hessian(text, "x", x="n"), ["x"])(np.zeros(3)), 2.0 * np.eye(3))


def test_a_square_to_a_power_that_is_an_input() -> None:
    k = sd.compile(sd.hessian("(x**2)**a", "x", x=(), a=()), ["x", "a"], backend="interpreter")
    assert [k(0.0, 1.3), k(0.0, 2.0), k(0.0, 1.0)] == [0.0, 0.0, 2.0]


@pytest.mark.parametrize(("text", "smooth"), NOT_NEGATIVE)
def test_sizes_of_what_is_never_negative(text: str, smooth: str) -> None:
    rng = random.Random(text)
    for a, b, v in [("x[0]", "x[1]", "x"), rng.choice(ZEROS[1:])]:
        size = rng.choice(["abs({p})", "sqrt(({p})**2)", "relu({p})"] if "tan" not in text else ["abs({p})"])
        for point in [(0.0, 0.0), rng.choice([(0.0, 0.7), (1.0, 1.0), (0.3, -0.4)])]:
            check(size.format(p=text).format(a=a, b=b, v=v), smooth.format(a=a, b=b, v=v), point)


#: Even functions of a length r, and their second slope at 0.
OF_LENGTHS = [("cos(r)", -1.0), ("r*sin(r)", 2.0), ("log(cosh(r))", 1.0), ("arctan(r/2)**2", 0.5),
              ("arctan2(r, 2)**2", 0.5), ("r*arctan2(3*r, 2)", 3.0), ("r*tanh(r)", 2.0), ("r*arctan(r)", 2.0),
              ("arcsinh(r)**2", 2.0)]  # fmt: skip


@pytest.mark.parametrize(("text", "second"), OF_LENGTHS)
@pytest.mark.parametrize("length", ["norm(x)", "hypot(x[0], x[1])", "sqrt(x[0]**2 + x[1]**2)", "sqrt(x @ x)"])
def test_even_functions_of_lengths(text: str, second: float, length: str) -> None:
    hessian = sd.hessian(f"r = {length}\n{text}", "x", x=2)
    for backend in ("interpreter", "numpy"):
        kernel = sd.compile(hessian, backend=backend)
        for point in ([0.0, 0.0], [3e-9, -4e-9]):
            np.testing.assert_allclose(kernel(np.array(point)), second * np.eye(2), rtol=1e-7, atol=1e-7)
    third = sd.derivative(f"r = {length}\n{text}", "x", 3, x=2)
    for dtype in (np.float64, np.float32):
        got = sd.compile(third, ["x"], backend="interpreter")(np.zeros(2, dtype))
        np.testing.assert_allclose(got, 0.0, atol=1e-6 if dtype is np.float32 else 1e-12)


#: Functions that vanish at 0 with a slope, and the same of numbers with many digits.
RISING: dict[str, Callable[[Any], Any]] = {
    "x": lambda a: a,
    "sin(x)": mp.sin,
    "2*x": lambda a: 2 * a,
    "tanh(x)": mp.tanh,
    "-x - x**3": lambda a: -a - a**3,
    "expm1(x)": mp.expm1,
    "arctan(x)/3": lambda a: mp.atan(a) / 3,
}
#: Products with lengths of them, some of which have second derivatives at 0, and the same of x, y and three lengths.
PRODUCTS: list[tuple[str, Callable[..., Any]]] = [
    ("norm({a}) * norm({b})", lambda x, y, r, a, b: a * b),
    ("x[0] * x[1] * norm({a})", lambda x, y, r, a, b: x * y * a),
    ("x[0]**2 * norm({a}) * cos(x[1])", lambda x, y, r, a, b: x**2 * a * mp.cos(y)),
    ("hypot(x[0], x[1]) * norm({b}) + x[1]", lambda x, y, r, a, b: r * b + y),
    ("exp(x[0]) * norm({a}) * norm({b})", lambda x, y, r, a, b: mp.exp(x) * a * b),
    ("norm({a}) * sin(norm({b}))", lambda x, y, r, a, b: a * mp.sin(b)),
    ("(x @ x) * norm({b})", lambda x, y, r, a, b: r**2 * b),
    ("norm({a}) * norm({b}) * norm({a})", lambda x, y, r, a, b: a * b * a),
    ("x[0] * norm({a})", lambda x, y, r, a, b: x * a),
    ("norm({a}) + x[0]**2", lambda x, y, r, a, b: a + x**2),
    ("norm({a}) * norm(x * [1, 2])", lambda x, y, r, a, b: a * mp.hypot(x, 2 * y)),
]


def _seconds_beside(formula: Callable[..., Any], one: str, other: str) -> list[np.ndarray[Any, Any]]:
    """Return second derivatives near 0 in several directions, by differences in many digits."""

    def value(x: Any, y: Any) -> Any:
        return formula(x, y, mp.hypot(x, y), *(mp.hypot(RISING[name](x), RISING[name](y)) for name in (one, other)))

    found = []
    with mp.workdps(80):
        h = mp.mpf(10) ** -30
        for angle in (0.3, 1.9, 3.3, 5.0):
            at = [mp.mpf(10) ** -10 * mp.cos(angle), mp.mpf(10) ** -10 * mp.sin(angle)]
            second = np.zeros((2, 2))
            for i, j in itertools.product(range(2), repeat=2):
                total = mp.mpf(0)
                for s, t in itertools.product((-1, 1), repeat=2):
                    total += s * t * value(*(a + h * (s * (k == i) + t * (k == j)) for k, a in enumerate(at)))
                second[i, j] = float(total / (4 * h * h))
            found.append(second)
    return found


@pytest.mark.parametrize("seed", range(30))
def test_products_of_lengths_have_the_limits_of_their_second_derivatives(seed: int) -> None:
    rng = random.Random(seed)
    one, other = (rng.choice(sorted(RISING)) for _ in range(2))
    product, formula = PRODUCTS[seed % len(PRODUCTS)]
    text = product.format(a=one, b=other)
    beside = _seconds_beside(formula, one, other)
    at_zero = np.zeros(2)
    for hessian in (sd.hessian(text, "x", x=2), sd.jacobian(sd.gradient(text, "x", x=2), "x")):
        for dtype in (np.float64, np.float32):
            got = sd.compile(hessian, ["x"], backend="interpreter")(at_zero.astype(dtype))
            if np.ptp(beside, axis=0).max() < 1e-6:
                np.testing.assert_allclose(got, beside[0], rtol=1e-6, atol=1e-6, err_msg=text)
            else:  # no limit, no number
                assert not np.isfinite(got).all(), text


@pytest.mark.parametrize("seed", range(12))
def test_products_of_lengths_have_the_limits_of_their_third_derivatives(seed: int) -> None:
    rng = random.Random(seed)
    one, other = (rng.choice(["x", "sin(x)", "tanh(x)", "-x - x**3", "expm1(x)", "arctan(x)/3"]) for _ in range(2))
    text = f"norm({one}) * norm({other}) * (1 + x[0])"
    found = []
    with mp.workdps(120):
        h = mp.mpf(10) ** -30
        for i, j, k in itertools.product(range(2), repeat=3):
            total = mp.mpf(0)
            for signs in itertools.product((-1, 1), repeat=3):
                at = [h * sum(s * (n == m) for s, n in zip(signs, (i, j, k), strict=True)) for m in range(2)]
                a, b = (mp.hypot(RISING[name](at[0]), RISING[name](at[1])) for name in (one, other))
                total += math.prod(signs) * a * b * (1 + at[0])
            found.append(float(total / (8 * h**3)))
    third = sd.derivative(text, "x", 3, x=2)
    got = sd.compile(third, ["x"], backend="interpreter")(np.zeros(2))
    np.testing.assert_allclose(got.ravel(), found, atol=1e-6, err_msg=text)


def test_limits_beside_ties_rows_and_letters() -> None:
    two = 2 * np.eye(2)
    at_tie = sd.compile(sd.hessian("norm(x - y)*norm(sin(x - y))", "x", x=2, y=2), ["x", "y"], backend="interpreter")
    np.testing.assert_allclose(at_tie([1.0, 2.0], [1.0, 2.0]), two, atol=1e-15)
    rows = sd.hessian("sum(norm(X, axis=1)*norm(sin(X), axis=1))", "X", X=(2, 2))
    by_rows = sd.compile(rows, backend="interpreter")([[1.0, 2.0], [0.0, 0.0]])
    np.testing.assert_allclose(by_rows[1, :, 1], two, atol=1e-15)
    shown = sd.hessian("norm(x)*norm(sin(x))", "x", x="n")
    assert "where" not in str(shown)  # as quotients that are right at 0, it is shown as written
    letters = sd.compile(shown, ["x"], backend="interpreter")
    np.testing.assert_allclose(letters(np.zeros(5)), 2 * np.eye(5), atol=1e-15)
    along = sd.compile("hvp(norm(x)*norm(sin(x)), x, v)", x=2, v=2, backend="interpreter")
    np.testing.assert_allclose(along([0.0, 0.0], [1.0, 2.0]), [2.0, 4.0], rtol=1e-15)


def test_a_limit_at_some_zeros_alone_is_none() -> None:
    for text, point in [
        ("sin(x[2])**2*hypot(x[0], x[1])", [0.0, 0.0, 1.0]),
        ("(x[0] + x[1])**2*hypot(x[0] - x[1], x[2])", [1.0, 1.0, 0.0]),
        ("norm(A)**2*norm(A @ x)", [0.0, 0.0, 0.0]),
    ]:
        shapes = {"x": 3, **({"A": (3, 3)} if "A" in text else {})}
        numbers = {"A": np.eye(3)} if "A" in text else {}
        got = sd.compile(sd.hessian(text, "x", shapes=shapes), backend="interpreter")(x=np.array(point), **numbers)
        assert not np.isfinite(got).all(), text


def test_a_length_beside_a_negative_number_has_a_kink() -> None:
    for length in ("norm(x)", "hypot(x[0], x[1])"):
        text = f"arctan2({length}, w)**2"
        slope, second = (sd.compile(f(text, "x", x=2, w=()), backend="interpreter") for f in (sd.gradient, sd.hessian))
        np.testing.assert_array_equal(slope(x=np.zeros(2), w=-1.0), 0.0)
        assert np.isnan(second(x=np.zeros(2), w=-1.0)).all()


#: Products of vectors and matrices that are sums of squares: one half mirrors the other.
MIRRORED = ["(B @ x) @ (B @ x)", "x @ B.T @ B @ x", "x @ B.T @ C.T @ C @ B @ x", "(C @ B @ x) @ (C @ (B @ x))",
            "trace(outer(B @ x, x) @ B.T)", "einsum('ij,j,ik,k->', B, x, B, x)"]  # fmt: skip


@pytest.mark.parametrize("text", MIRRORED)
@pytest.mark.parametrize("size", ["abs({})", "sqrt(({})**2)", "relu({})", "maximum({0}, -({0}))"])
def test_sizes_of_products_that_mirror_themselves(text: str, size: str) -> None:
    shapes = {"x": 2, "B": (2, 2), **({"C": (3, 2)} if "C" in text else {})}
    wanted, got = (sd.hessian(each, "x", shapes=shapes) for each in (text, size.format(text)))
    values = {"B": np.array([[1.0, 2.0], [0.0, 1.0]]), "C": np.arange(6.0).reshape(3, 2)}
    one, other = (sd.compile(each, backend="interpreter") for each in (wanted, got))
    used = {parameter.name: values.get(parameter.name, np.zeros(2)) for parameter in other.inputs}
    np.testing.assert_array_equal(other(**used), one(**{p.name: used[p.name] for p in one.inputs}))


@pytest.mark.parametrize("seed", range(8))
def test_what_is_said_to_be_a_sum_of_squares_is_never_negative(seed: int) -> None:
    draw, rng, said = random.Random(seed), np.random.default_rng(seed), 0
    shapes = {"x": (2,), "y": (2,), "A": (2, 2), "B": (2, 2), "T": (2, 2, 2)}
    for _ in range(150):
        names = [draw.choice("xyABT") for _ in range(draw.choice([1, 2, 2, 3]))] * 2
        labels = [letter for letter in "ijklmnopq"[: sum(len(shapes[name]) for name in names) // 2] for _ in range(2)]
        draw.shuffle(labels)
        rest = iter(labels)
        rows = ["".join(next(rest) for _ in shapes[name]) for name in names]
        formula = f"einsum('{','.join(rows)}->', {', '.join(names)})"
        if bounds_of(read_formula(formula, {name: shapes[name] for name in names}).value.node).low < 0.0:
            continue
        said += 1
        for _ in range(40):
            arrays = {name: rng.normal(size=shapes[name]) for name in names}
            assert np.einsum(",".join(rows) + "->", *(arrays[name] for name in names)) > -1e-9, formula
    assert said > 20


@pytest.mark.parametrize(("text", "smooth"), TOGETHER)
def test_elements_that_vanish_together(text: str, smooth: str) -> None:
    rng = random.Random(text)
    for a, b, v in [("x[0]", "x[1]", "x"), rng.choice(ZEROS[:1] + ZEROS[2:])]:
        for point in [(0.0, 0.0), (1.0, 1.0), rng.choice([(0.0, 0.7), (0.3, -0.4)])]:
            check(text.format(a=a, b=b, v=v), smooth.format(a=a, b=b, v=v), point)


@pytest.mark.parametrize("seed", range(20))
def test_multiples_of_one_number(seed: int) -> None:
    rng = random.Random(seed)
    numbers = [rng.choice([-2.0, -1.0, 0.5, 1.0, 3.0]) for _ in range(rng.choice([2, 2, 3, 4]))]
    u = rng.choice(INNER)
    v = f"stack([{', '.join(f'({c})*({u})' for c in numbers)}])"
    sizes = np.abs(numbers)
    total, powers, n = float(sizes.sum()), float(np.prod(sizes)), len(numbers)
    text, smooth = rng.choice([
        ("sum(abs({v}))**2", f"{total**2}*({{u}})**2"),
        ("norm({v}, 1)**2 * cos(x[1])", f"{total**2}*({{u}})**2 * cos(x[1])"),
        ("cosh(sum(abs({v})))", f"cosh({total}*({{u}}))"),
        ("prod(abs({v}))**2", f"{powers**2}*({{u}})**{2 * n}"),
        ("sum(abs({v})) * abs({u})", f"{total}*({{u}})**2"),
        ("sum(relu({v}) + relu(-({v})))**2", f"{total**2}*({{u}})**2"),
        ("sum(maximum({v}, -({v})))**2", f"{total**2}*({{u}})**2"),
    ])  # fmt: skip
    for point in rng.sample(POINTS, 3):
        check(text.format(v=v, u=u), smooth.format(u=u), point)


@pytest.mark.parametrize("seed", range(20))
def test_sums_of_squares_written_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, size=(2, 3))
    whole = rows.T @ rows
    names = ["x[0]", "x[1]", "1"] if seed % 2 else ["x[0]", "sin(x[1])", "tanh(x[1])"]
    pairs = [(i, j) for i in range(3) for j in range(i + 1)]
    text = " + ".join(f"({whole[i, j] * (1 + (i != j))})*{names[i]}*{names[j]}" for i, j in pairs)
    point = (0.0, 0.0)
    if seed % 2 and abs(np.linalg.det(rows[:, :2])) > 0.5:
        point = tuple(np.linalg.solve(rows[:, :2], -rows[:, 2]))
    if np.abs(whole).sum():
        check(f"abs({text})", text, point)


@pytest.mark.parametrize("seed", range(30))
def test_symmetric_functions_of_the_order(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.choice([2, 2, 3, 4])
    text, smooth = rng.choice(SYMMETRIC if n > 2 else SYMMETRIC + OF_TWO)
    v = rng.choice(ARRAYS)
    for _ in range(2):
        point = tuple(rng.choice([0.5, 0.5, 1.0, -0.25]) for _ in range(n))
        check(text.format(v=v), smooth.format(v=v), point)


@pytest.mark.parametrize(("text", "smooth"), PAIRS)
def test_kinks_that_meet(text: str, smooth: str) -> None:
    for point in [(0.0, 0.0), (1.0, 1.0), (0.0, 0.7)]:
        check(text, smooth, point)


@pytest.mark.parametrize("seed", range(20))
def test_derivatives_by_another_input_of_a_mean_of_sides(seed: int) -> None:
    """A further derivative of what is a mean of both sides is one, too, though no kink moves with its input."""
    rng = random.Random(seed)
    text, smooth = rng.choice(SYMMETRIC + OF_TWO + PAIRS)
    v = rng.choice(["x*y", "y + x", "x*x*y"])
    form = rng.choice(["y*({f})", "sin(y*({f}))", "({f}) + y**2*sum(x)"])
    of = [one.format(v=v) if "{v}" in one else one.replace("x[", "(y*x)[") for one in (text, smooth)]
    found, wanted = (form.format(f=one) for one in of)
    for order in (["x", "x", "y"], ["x", "y", "x"], ["y", "x", "x"], ["x", "x", "y", "y"]):
        kernels = []
        for text in (found, wanted):
            one: Any = read_formula(text, {"x": (2,), "y": ()}).value
            for name in order:
                one = sd.jacobian(one, name, disconnected="zero")
            kernels.append(sd.compile(one, ["x", "y"], backend="interpreter"))
        for point in ((0.5, 0.5), (0.0, 0.0)):
            numbers = [k(np.array(point), 0.75) for k in kernels]
            np.testing.assert_allclose(*numbers, rtol=1e-9, atol=1e-9, err_msg=f"{found} by {order} at {point}")


def test_what_is_no_smooth_formula_is_the_mean_of_two_orders() -> None:
    by_max = sd.compile(sd.hessian("max(x)**2", "x", x=2), ["x"])(np.ones(2))
    by_two = sd.compile(sd.hessian("maximum(x[0], x[1])**2", "x", x=2), ["x"])(np.ones(2))
    np.testing.assert_array_equal(by_max, np.eye(2))
    np.testing.assert_array_equal(by_two, np.eye(2))


def test_first_derivatives_share_equally() -> None:
    k = sd.compile(sd.gradient("max(x)**2 + sum(sort(x)**2)", "x", x=3), ["x"])
    np.testing.assert_allclose(k(np.ones(3)), np.full(3, 2.0 / 3.0 + 2.0))


# ---------------------------------------------------------------------------- moved masks
# Second derivatives of kinks whose branches are moved: reversed, rolled, taken in part. All products agree.


VIEWS: dict[str, Callable[[Any], Any]] = {
    "rows reversed": lambda x: x[::-1],
    "columns reversed": lambda x: x[:, ::-1],
    "rolled": lambda x: np.roll(x, 1, 0),
    "both reversed": lambda x: x[::-1, ::-1],
    "transposed": lambda x: x.T[::-1].T,
}
PARTS: dict[str, Callable[[Any], Any]] = {
    "column": lambda a: a[:, 0],
    "row": lambda a: a[0],
    "columns": lambda a: a[:, :1],
    "column of the reverse": lambda a: a[::-1][:, 0],
    "rest": lambda a: a[1:],
    "every other": lambda a: a.reshape(-1)[::2],
    "backwards": lambda a: a[::-2],
    "joined": lambda a: np.concatenate([a[:, 0], a[:, 1]])[::-1],
}
KINKS: dict[str, Callable[[Any, Any], Any]] = {
    "maximum": np.maximum,
    "where": lambda x, y: sd.where(x > y, x * x, y),
    "clip": lambda x, y: np.clip(x, y - 0.5, y + 0.5),
    "abs": lambda x, y: np.abs(x - y),
}


@settings(max_examples=60, deadline=None)
@given(
    *(st.sampled_from(sorted(table)) for table in (VIEWS, PARTS, KINKS)),
    *(st.sampled_from([(2, 2), (3, 2)]), st.integers(0, 2**32 - 1)),
)
def test_products_with_hessians_agree(view: str, part: str, kink: str, shape: tuple[int, int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, v = sd.matrix("x", *shape), sd.matrix("v", *shape)
    f = (PARTS[part](KINKS[kink](x, VIEWS[view](x))) ** 2).sum()
    at, along = rng.normal(size=shape), rng.normal(size=shape)
    whole = sd.compile(sd.hessian(f, x), backend="numpy")(at)
    step = 1e-6 * along
    slope = sd.compile(sd.gradient(f, x), backend="numpy")
    expected = np.einsum("ijkl,kl->ij", whole, along)
    np.testing.assert_allclose(expected, (slope(at + step) - slope(at - step)) / 2e-6, atol=1e-6)
    gradient = sd.gradient(f, x)
    for product in (sd.hvp(f, x, v), sd.jvp(gradient, x, v), sd.vjp(gradient, x, v), sd.gradient(sd.jvp(f, x, v), x)):
        found = sd.compile(product, inputs=[x, v], backend="numpy")(at, along)
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
def test_a_reversed_branch_counts_where_it_came_to(backend: str) -> None:
    kernel = sd.compile("hvp(sum(maximum(x, x[::-1])[:, 0]**2), x, V)", x=(2, 1), V=(2, 1), backend=backend)
    np.testing.assert_array_equal(kernel([[1.0], [2.0]], [[10.0], [20.0]]), [[0.0], [80.0]])


# ---------------------------------------------------------------------------- ties
# Second derivatives through maximum, minimum, relu and clip where their arguments are equal: means of both sides.


Function = Callable[[Any, Any], Any]

#: Two formulas of x and y that are equal at the point: as text, in many digits, and the point.
TIES: list[tuple[str, str, Function, Function, tuple[float, float]]] = [
    ("x", "y", lambda x, y: x, lambda x, y: y, (0.5, 0.5)),
    ("x", "0", lambda x, y: x, lambda x, y: mp.mpf(0), (0.0, 0.75)),
    ("-x", "0", lambda x, y: -x, lambda x, y: mp.mpf(0), (0.0, 0.75)),
    ("1", "x*y", lambda x, y: mp.mpf(1), lambda x, y: x * y, (2.0, 0.5)),
    ("x*y", "1 - y", lambda x, y: x * y, lambda x, y: 1 - y, (1.0, 0.5)),
    ("sin(x)", "x*cos(y)", lambda x, y: mp.sin(x), lambda x, y: x * mp.cos(y), (0.0, 0.3)),
]
#: What a formula makes of the two.
TIED: list[tuple[str, Function]] = [
    ("maximum({u}, {v})", max),
    ("minimum({u}, {v})", min),
    ("maximum({v}, {u})", max),
    ("minimum({v}, {u})", min),
    ("relu({u} - ({v}))", lambda u, v: max(u - v, 0)),
    ("relu({v} - ({u}))", lambda u, v: max(v - u, 0)),
    ("clip({u} - ({v}), -1, 0)", lambda u, v: max(min(u - v, 0), -1)),
]
OUTER: list[tuple[str, Callable[..., Any]]] = [
    ("({0})**2", lambda a: a**2),
    ("exp({0})", mp.exp),
    ("log(3 + {0})", lambda a: mp.log(3 + a)),
    ("sin({0})", mp.sin),
    ("({0} + 0.5)**3", lambda a: (a + mp.mpf(0.5)) ** 3),
]


def drawn(rng: random.Random) -> tuple[str, Function, tuple[float, float]]:
    """Return a formula, the same in many digits, and where it has a tie."""
    first, second, u, v, point = rng.choice(TIES)
    text, f = "", None
    for _ in range(rng.randint(1, 3)):
        inner, tied = rng.choice(TIED)
        outer, over = rng.choice(OUTER)
        term = outer.format(inner.format(u=first, v=second))

        def g(x: Any, y: Any, tied: Function = tied, over: Callable[..., Any] = over) -> Any:
            return over(tied(u(x, y), v(x, y)))

        times = rng.choice("*+")
        text, before = f"({text}) {times} {term}" if text else term, f
        f = g if before is None else joined(before, g, times)
    assert f is not None
    return text, f, point


def joined(f: Function, g: Function, times: str) -> Function:
    return lambda x, y: f(x, y) * g(x, y) if times == "*" else f(x, y) + g(x, y)


def sides(f: Function, point: tuple[float, float], rng: random.Random) -> np.ndarray[Any, Any]:
    """Return the mean of the second derivatives on both sides of a tie, very near to it."""
    with mp.workdps(80):
        step = mp.mpf(10) ** -30
        direction = [rng.uniform(0.5, 1.0), rng.choice([-1, 1]) * rng.uniform(0.1, 0.4)]
        near = [[p + s * step * d for p, d in zip(point, direction, strict=True)] for s in (1, -1)]
        orders = [(2, 0), (1, 1), (0, 2)]
        # steps within one side of the tie
        found = [[float(mp.diff(f, at, order, h=mp.mpf(10) ** -38)) for order in orders] for at in near]
    xx, xy, yy = np.mean(found, axis=0)
    return np.array([[xx, xy], [xy, yy]])


@pytest.mark.parametrize("seed", range(150))
def test_the_mean_of_both_sides(seed: int) -> None:
    rng = random.Random(seed)
    text, f, point = drawn(rng)
    expected = sides(f, point, rng)
    whole = sd.compile(sd.hessian(f"x = z[0]\ny = z[1]\n{text}", "z", z=2), ["z"], backend="interpreter")
    assert whole(np.array(point)) == pytest.approx(expected, abs=1e-9), text
    along = sd.compile(sd.hvp(f"x = z[0]\ny = z[1]\n{text}", "z", "d", z=2, d=2), ["z", "d"], backend="numpy")
    for direction, wanted in zip(np.eye(2), expected, strict=True):
        assert along(np.array(point), direction) == pytest.approx(wanted, abs=1e-9), text


@pytest.mark.parametrize("seed", range(20))
def test_kinks_within_kinks_of_two_inputs(seed: int) -> None:
    """On a tie of two inputs no side may be taken along the tie."""
    rng = random.Random(seed)
    c, t = round(rng.uniform(-2.0, 2.0), 2), "(sin(x) - sin(y))" if seed % 2 else "(x - y)*(1 + x)"
    kinks: list[tuple[str, Callable[[float], float]]] = [
        (f"relu(abs({t}) + {c}*{t})**2", lambda s: 2 * max(0.0, 1 + c * s) ** 2),
        (f"minimum({c}*{t} + abs({t}), 0)**2", lambda s: 2 * min(0.0, 1 + c * s) ** 2),
        (f"abs(abs({t}) + {c}*{t})*abs({t})", lambda s: 2 * abs(1 + c * s)),
        (f"maximum(abs({t}), {c}*{t})*abs({t})", lambda s: 2 * max(1.0, c * s)),
    ]
    text, second = rng.choice(kinks)
    at = 0.3
    slope = math.cos(at) if seed % 2 else 1 + at
    wanted = 0.5 * (second(1.0) + second(-1.0)) * slope**2
    for a, b, sign in (("x", "x", 1.0), ("x", "y", -1.0), ("y", "x", -1.0), ("y", "y", 1.0)):
        got = sd.jacobian(sd.jacobian(text, a, x=(), y=()), b)
        value = sd.compile(got, ["x", "y"], backend="interpreter")(at, at)
        np.testing.assert_allclose(value, sign * wanted, rtol=1e-12, atol=1e-12, err_msg=text)


@pytest.mark.parametrize("seed", range(10))
def test_third_derivatives_by_two_inputs_that_tie(seed: int) -> None:
    rng = random.Random(seed)
    f = rng.choice(["({})**3", "1/({})", "exp({})", "sin({})", "({})**4"])
    u, v = rng.choice([("x", "y"), ("x*y", "y"), ("sin(x)", "sin(y)")])
    kinked = " + ".join(f.format(f"{name}({u}, {v})") for name in ("maximum", "minimum"))
    smooth = f"{f.format(u)} + {f.format(v)}"
    point = (1.0, 0.7) if u == "x*y" else (0.7, 0.7)
    order = rng.sample("xxxyyy", 3)
    found = []
    for text in (kinked, smooth):
        slope = sd.jacobian(text, order[0], x=(), y=())
        for w in order[1:]:
            slope = sd.jacobian(slope, w, disconnected="zero")
        found.append(sd.compile(slope, ["x", "y"], backend="interpreter")(*point))
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-9, err_msg=f"{kinked} by {order}")


def test_what_is_smooth_through_a_tie() -> None:
    k = sd.compile(sd.hessian("maximum(x, y)**2 + minimum(x, y)**2", ["x", "y"], x=(), y=()), ["x", "y"])
    assert np.array(k(1.0, 1.0), dtype=float).ravel().tolist() == [2.0, 0.0, 0.0, 2.0]
    x = sd.compile(sd.hessian("relu(x) * relu(-x)", "x", x=()), ["x"])
    assert x(0.0) == 0.0


def test_a_choice_of_the_user_keeps_its_branch() -> None:
    text = "where(x == 0, 0, x*log(abs(x))) * 0 + exp(relu(x))*where(0 < x, 2, 1)"
    k = sd.compile(sd.hessian(text, "x", x=()), ["x"])
    assert k(0.0) == 0.5


@pytest.mark.parametrize("text", ["log(1 + relu(x))", "exp(maximum(x, y))", "(1 - relu(1 - x*y))**2"])
def test_forms_stay_short(text: str) -> None:
    shapes: dict[str, tuple[int, ...]] = {"x": (), "y": ()} if "y" in text else {"x": ()}
    assert len(str(sd.hessian(text, "x", **shapes))) < 100


@pytest.mark.parametrize("c", [1.0, 2.0, 0.3])
def test_gaps_of_roots_are_never_negative(c: float) -> None:
    for text in (f"abs(sqrt({c}**2 + x**2) - {c})", f"maximum(sqrt(x**2 + {c}**2) - {c}, 0)"):
        assert float(sd.compile(sd.hessian(text, "x"), backend="interpreter")(0.0)) == pytest.approx(1 / c)
