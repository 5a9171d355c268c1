"""Second derivatives of smooth functions of |x| and of norm(x), at 0 too, where sign(x) and unit(x) are 0."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import symdiff as sd

#: Functions of r whose first derivative is 0 at 0, as text and in many digits.
EVEN: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "Matern 3/2": ("(1 + r)*exp(-r)", lambda r: (1 + r) * mp.exp(-r)),
    "Matern 5/2": ("(1 + r + r**2/3)*exp(-r)", lambda r: (1 + r + r**2 / 3) * mp.exp(-r)),
    "Matern 7/2": ("(1 + r + 2*r**2/5 + r**3/15)*exp(-r)",
                   lambda r: (1 + r + 2 * r**2 / 5 + r**3 / 15) * mp.exp(-r)),
    "cos": ("cos(r)", mp.cos),
    "cosh": ("cosh(r)", mp.cosh),
    "r tanh": ("r*tanh(r)", lambda r: r * mp.tanh(r)),
    "r sin": ("r*sin(r)", lambda r: r * mp.sin(r)),
    "r atan": ("r*arctan(r)", lambda r: r * mp.atan(r)),
    "log": ("r - log(1 + r)", lambda r: r - mp.log(1 + r)),
    "exp": ("exp(-r) + r", lambda r: mp.exp(-r) + r),
    "Huber": ("where(r < 1, r**2/2, r - 0.5)", lambda r: r**2 / 2),
    "square": ("r**2*exp(-r)", lambda r: r**2 * mp.exp(-r)),
    "log cosh": ("log(cosh(r))", lambda r: mp.log(mp.cosh(r))),
    "rational": ("r**2/(1 + r)", lambda r: r**2 / (1 + r)),
    "cube": ("r**3", lambda r: r**3),
}  # fmt: skip


def second(f: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """Return the Hessian of f(norm(x))."""
    r = mp.norm([mp.mpf(float(one)) for one in x.ravel()])
    twice = float(mp.diff(f, r, 2, direction=1 if r == 0 else 0))
    if r == 0:
        return twice * np.eye(x.size)
    once, u = float(mp.diff(f, r) / r), x.ravel() / float(r)
    return twice * np.outer(u, u) + once * (np.eye(x.size) - np.outer(u, u))


AT = [np.zeros(3), np.array([0.3, 0.0, -0.4]), np.array([1e-3, 2e-3, 0.0])]


@pytest.mark.parametrize("name", EVEN)
def test_functions_of_a_size(name: str) -> None:
    text, f = EVEN[name]
    once = {"x": (), "y": (), "c": ()}
    for x in (0.0, 0.4, -0.02):
        with mp.workdps(40):
            right = float(second(f, np.array([x]))[0, 0])
        own = sd.hessian(f"r = abs(x)\n{text}", "x", x=())
        assert sd.compile(own)(x=x) == pytest.approx(right, rel=1e-9, abs=1e-11)
        f_of_gap = text.replace("r", "(abs(x - y)*c)") if name == "cos" else f"r = c*abs(x - y)\n{text}"
        mixed = sd.compile(sd.jacobian(sd.gradient(f_of_gap, "x", shapes=once), "y"))
        assert mixed(x=x / 2 + 0.7, y=0.7, c=2.0) == pytest.approx(-4.0 * right, rel=1e-6, abs=1e-11)


@pytest.mark.parametrize("name", EVEN)
def test_functions_of_sizes_of_vectors(name: str) -> None:
    text, f = EVEN[name]
    v = np.array([0.0, 0.3, -0.2])
    with mp.workdps(40):
        right = np.diag([float(second(f, v[k : k + 1])[0, 0]) for k in range(3)])
    formula = f"r = abs(v)\nsum({text})"
    np.testing.assert_allclose(sd.compile(sd.hessian(formula, "v", v=3))(v), right, rtol=1e-8, atol=1e-11)
    product = sd.compile(sd.hvp(formula, "v", "d", v=3, d=3))
    np.testing.assert_allclose(product(v, np.array([1.0, 2.0, 3.0])), right @ [1.0, 2.0, 3.0], rtol=1e-8, atol=1e-11)


LENGTHS = {
    "whole": ("r = norm(x - y)\n{}", (3,)),
    "scaled": ("r = norm((x - y)*c)/c\n{}", (3,)),
    "root": ("r = sqrt(sum((x - y)**2))\n{}", (3,)),
    "rows": ("r = norm(x - y, axis=1)\nsum({})", (1, 3)),
    "kept": ("r = norm(x - y, axis=1, keepdims=True)\nsum({})", (1, 3)),
    "columns": ("r = norm(x - y, axis=0)\nsum({})", (3, 1)),
}


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", EVEN)
def test_functions_of_a_length(name: str, length: str) -> None:
    (text, f), (form, shape) = EVEN[name], LENGTHS[length]
    shapes = {"x": shape, "y": shape, **({"c": ()} if "c)" in form else {})}
    formula = form.format(text)
    twice = sd.compile(sd.hessian(formula, "x", shapes=shapes))
    mixed = sd.compile(sd.jacobian(sd.gradient(formula, "x", shapes=shapes), "y"))
    product = sd.compile(sd.hvp(formula, "x", "d", shapes={**shapes, "d": shape}))
    for at in AT:
        with mp.workdps(40):
            right = second(f, at)
        given = {"x": 0.5 + at.reshape(shape), "y": np.full(shape, 0.5), **({"c": 1.7} if "c" in shapes else {})}
        close = {"rtol": 1e-6, "atol": 1e-9 if at.any() else 1e-14}
        np.testing.assert_allclose(np.reshape(twice(**given), (3, 3)), right, **close)
        np.testing.assert_allclose(np.reshape(mixed(**given), (3, 3)), -right, **close)
        d = np.array([1.0, -2.0, 0.5])
        np.testing.assert_allclose(np.ravel(product(**given, d=d.reshape(shape))), right @ d, **close)


def test_rows_at_0_beside_others() -> None:
    text, f = EVEN["Matern 7/2"]
    at = np.array([[0.0, 0.0], [0.3, 0.4]])
    twice = sd.compile(sd.hessian(f"r = norm(X, axis=1)\nsum({text})", "X", X=("n", 2)))(at)
    for i in range(2):
        for j in range(2):
            right = second(f, at[i]) if i == j else np.zeros((2, 2))
            np.testing.assert_allclose(twice[i, :, j, :], right, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("formula", ["norm(x)", "exp(-norm(x))", "sqrt(norm(x))", "norm(x)*y"])
def test_lengths_with_a_kink_have_no_second_derivative_at_0(formula: str) -> None:
    shapes = {"x": 2, **({"y": ()} if "y" in formula else {})}
    given = {"x": np.zeros(2), **({"y": 2.0} if "y" in formula else {})}
    assert not np.isfinite(sd.compile(sd.hessian(formula, "x", shapes=shapes))(**given)).all()


K = "(1 + abs({0}) + abs({0})**2/3)*exp(-abs({0}))"


OUTER = ["sqrt(1 + ({0})**2)", "({0})**2", "({0})**3", "log(({0}) + y)", "exp({0})*({0})", "1/(({0}) + y)", "({0})**y"]


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("inner", ["x", "tanh(x)", "2*x - x**2"])
def test_functions_of_kernels_of_a_size(outer: str, inner: str) -> None:
    formula = outer.format(K.format(f"({inner})"))
    twice = sd.compile(sd.hessian(formula, "x", x=(), **({"y": ()} if "y" in outer else {})))
    product = sd.compile(sd.hvp(formula, "x", "d", x=(), d=(), **({"y": ()} if "y" in outer else {})))
    given = {"y": 1.3} if "y" in outer else {}
    beside = 0.5 * (twice(x=1e-8, **given) + twice(x=-1e-8, **given))
    assert twice(x=0.0, **given) == pytest.approx(beside, rel=1e-6)
    assert product(x=0.0, d=2.0, **given) == pytest.approx(2 * beside, rel=1e-6)


@pytest.mark.parametrize(
    ("formula", "right"),
    [
        ("(x + abs(x))**2", 4.0),  # 0 on the left, 8 on the right
        ("tanh(x + exp(-abs(x)) + abs(x))", -0.219725666835199),
    ],
)
def test_sides_are_taken_together(formula: str, right: float) -> None:
    twice = sd.compile(sd.hessian(formula, "x"))
    assert twice(0.0) == pytest.approx(0.5 * (twice(1e-8) + twice(-1e-8)), rel=1e-6)
    assert twice(0.0) == pytest.approx(right)


@pytest.mark.parametrize(
    ("formula", "right"),
    [("maximum(x, -x)**2", 2.0), ("minimum(-x, x)**2", 2.0), ("cos(maximum(-x, x))", -1.0), ("maximum(x, -x)**3", 0.0)],
)
def test_the_larger_of_a_number_and_its_negative_is_its_size(formula: str, right: float) -> None:
    assert sd.compile(sd.hessian(formula, "x"))(0.0) == right
    assert sd.compile(sd.gradient(formula, "x"))(0.0) == 0.0


@pytest.mark.parametrize(
    ("formula", "right"),
    [
        ("abs(x)*abs(3*x)", 6.0),
        ("abs(-2*x)*cos(x)*abs(x)", 4.0),
        ("abs(sinh(x))*abs(arctan(x))", 2.0),
        ("sin(abs(2*x))*abs(x/3)", 4 / 3),
        ("exp(-abs(tanh(x)))*(1 + abs(expm1(x)))*(1 + x**2)", 1.0),  # 2 on the right, 0 on the left
        ("abs(x - 0)*abs(0 - x)", 2.0),
    ],
)
def test_sizes_that_vanish_together(formula: str, right: float) -> None:
    twice = sd.compile(sd.hessian(formula, "x"))
    assert twice(0.0) == pytest.approx(right)
    assert 0.5 * (twice(1e-8) + twice(-1e-8)) == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize("length", ["norm([x, 2*x])", "norm([1, 2]*x)", "hypot(x, -2*x)", "sqrt(x**2 + 4*x**2)"])
@pytest.mark.parametrize(
    ("outer", "right"), [("{}*sinh(x)", 0.0), ("cos({})", -5.0), ("({})**2", 10.0), ("{}*abs(x)", 2 * 5**0.5)]
)
def test_lengths_of_one_number(length: str, outer: str, right: float) -> None:
    formula = outer.format(length)
    assert sd.compile(sd.hessian(formula, "x"))(0.0) == pytest.approx(right, abs=1e-15)
    value = sd.compile(formula)
    slope = sd.compile(sd.gradient(formula, "x"))
    for x in (-0.7, 1.3):
        assert slope(x) == pytest.approx((value(x + 1e-6) - value(x - 1e-6)) / 2e-6, rel=1e-8)


@pytest.mark.parametrize("seed", range(12))
def test_a_sign_that_was_written_is_a_number(seed: int) -> None:
    rng = random.Random(seed)
    other = rng.choice(["sign(x)**2", "sign(x)*sign(x)", "sign(x)", "abs(x)*sign(x)**2"])
    g = rng.choice(["{}*y", "y**2*{} + abs(x)", "sin(y)*({}) - abs(x)*y", "exp(y)*{}*abs(x)"]).format(other)
    kernel = sd.compile(sd.gradient(g, "y", x=(), y=()))
    y = 0.7
    for x in (0.0, 0.5, -0.5):
        step = 1e-6
        value = sd.compile(g, x=(), y=())
        slope = (value(x, y + step) - value(x, y - step)) / (2 * step)
        assert kernel(x=x, y=y) == pytest.approx(slope, abs=1e-8)
