"""Logarithms of sums and products that overflow: the values and slopes of mpmath, in many ways of writing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import symdiff as sd

#: Functions of a number, by mpmath.
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "log(1 + 2*exp(x))": lambda x: mp.log(1 + 2 * mp.exp(x)),
    "log(3*exp(x) + 1)": lambda x: mp.log(1 + 3 * mp.exp(x)),
    "log(exp(x) + exp(-x) + 1)": lambda x: mp.log(mp.exp(x) + mp.exp(-x) + 1),
    "log(1 + cosh(x))": lambda x: mp.log(1 + mp.cosh(x)),
    "log(cosh(x) + 2)": lambda x: mp.log(2 + mp.cosh(x)),
    "log(cosh(2*x) + cosh(x))": lambda x: mp.log(mp.cosh(2 * x) + mp.cosh(x)),
    "-log(1/cosh(x))": lambda x: mp.log(mp.cosh(x)),
    "log1p(2*exp(x))": lambda x: mp.log(1 + 2 * mp.exp(x)),
    "log1p(cosh(x))": lambda x: mp.log(1 + mp.cosh(x)),
    "log2(1 + 3*exp(x))": lambda x: mp.log(1 + 3 * mp.exp(x)) / mp.log(2),
    "log10(exp(x) + exp(2*x))": lambda x: mp.log(mp.exp(x) + mp.exp(2 * x)) / mp.log(10),
    "x*log10(10**x)": lambda x: x * x,
    "log2(8**x)**2": lambda x: 9 * x * x,
    "log(0.5**x)*x": lambda x: x * x * mp.log(0.5),
    "(log(exp2(x)) + log(e**x))*x": lambda x: x * x * (mp.log(2) + mp.log(mp.mpf(float(np.e)))),
    "10*log10(10**(x**2/10))": lambda x: x * x,
    "log(ndtr(x)/ndtr(2*x))": lambda x: mp.log(mp.ncdf(x)) - mp.log(mp.ncdf(2 * x)),
    "log(3*ndtr(-x))": lambda x: mp.log(3 * mp.ncdf(-x)),
    "log(3*exp(x) + 1)/x": lambda x: mp.log(3 * mp.exp(x) + 1) / x,
}


def several(one: Callable[[Any], Any]) -> Callable[[Sequence[Any]], Any]:
    return lambda x: mp.fsum(one(each) for each in x)


def shares(x: Sequence[Any]) -> list[Any]:
    return [mp.exp(each) / several(mp.exp)(x) for each in x]


#: Functions of three numbers.
VECTORS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "log(mean(exp(x)))": lambda x: mp.log(several(mp.exp)(x) / 3),
    "log(sum(exp(x))/3)": lambda x: mp.log(several(mp.exp)(x) / 3),
    "log(2*sum(exp(x)))": lambda x: mp.log(several(mp.exp)(x) * 2),
    "log(sum(exp(x)/2))": lambda x: mp.log(several(mp.exp)(x) / 2),
    "log(1 + sum(exp(x)))": lambda x: mp.log(several(mp.exp)(x) + 1),
    "log(3 + 2*sum(exp(x)))": lambda x: mp.log(several(mp.exp)(x) * 2 + 3),
    "log(sum(2 + exp(x)))": lambda x: mp.log(several(mp.exp)(x) + 6),
    "log(sum(exp(x)) + sum(exp(2*x)))": lambda x: mp.log(several(mp.exp)(x) + several(lambda v: mp.exp(2 * v))(x)),
    "log(prod(1 + exp(x)))": several(lambda v: mp.log(1 + mp.exp(v))),
    "log(prod(exp(x)))": several(lambda v: v),
    "sum(softmax(x) * log(softmax(x)/softmax(x**2/900)))": lambda x: mp.fsum(
        p * (mp.log(p) - mp.log(q)) for p, q in zip(shares(x), shares([v**2 / 900 for v in x]), strict=True)
    ),
    "sum(log(2*softmax(x)/softmax(-x)))": lambda x: mp.fsum(
        mp.log(2 * p / q) for p, q in zip(shares(x), shares([-v for v in x]), strict=True)
    ),
    "log(sum(exp(x))**2)": lambda x: 2 * mp.log(several(mp.exp)(x)),
}
H = mp.mpf(10) ** -20


@pytest.mark.parametrize("text", NUMBERS)
def test_of_a_number(text: str) -> None:
    f = NUMBERS[text]
    kernel = sd.compile([text, f"gradient({text}, x)", f"gradient(gradient({text}, x), x)"], x=())
    with mp.workdps(80):
        for at in (800.0, -800.0, 1500.0, -1500.0, 3.0, -3.0, 0.7):
            x = mp.mpf(at)
            wanted = f(x), (f(x + H) - f(x - H)) / (2 * H), (f(x + H) - 2 * f(x) + f(x - H)) / H**2
            for value, want in zip(kernel(at), wanted, strict=True):
                assert value == pytest.approx(float(want), rel=1e-9, abs=1e-25), (at, mp.nstr(want, 12))


@pytest.mark.parametrize("text", VECTORS)
@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
def test_of_three_numbers(text: str, backend: Any) -> None:
    f = VECTORS[text]
    kernel = sd.compile([text, f"gradient({text}, x)"], x=3, backend=backend)
    with mp.workdps(80):
        for at in ([800.0, 801.0, 799.0], [-1000.0, -1001.0, -999.0], [1.0, 2.0, 3.0], [800.0, -800.0, 0.0]):
            x = [mp.mpf(each) for each in at]
            value, slopes = kernel(np.array(at))
            assert value == pytest.approx(float(f(x)), rel=1e-12, abs=1e-300), at
            for i, slope in enumerate(slopes):
                up, down = ([each + (step if k == i else 0) for k, each in enumerate(x)] for step in (H, -H))
                assert slope == pytest.approx(float((f(up) - f(down)) / (2 * H)), rel=1e-9, abs=1e-50), (at, i)


def test_logarithms_of_products_and_of_their_size() -> None:
    product, size = sd.compile(["log(prod(v))", "log(abs(prod(v)))"], v="n"), np.full(400, 0.1)
    for value in product(size):
        assert value == pytest.approx(400 * np.log(0.1))
    for at, wanted, whole in (
        ([-1.0, 2.0], np.nan, np.log(2.0)),
        ([-1.0, -2.0], np.log(2.0), np.log(2.0)),
        ([0.0, -2.0], -np.inf, -np.inf),
        ([np.nan, 1.0], np.nan, np.nan),
    ):
        np.testing.assert_allclose(product(np.array(at)), [wanted, whole])
    np.testing.assert_allclose(sd.compile("gradient(log(prod(v)), v)", v="n")(size), 10.0)
    np.testing.assert_allclose(
        sd.compile("log(prod(M, axis=1))", M=("m", "n"))(np.full((2, 500), 0.1)), np.full(2, 500 * np.log(0.1))
    )


KINDS = [sd.diagonal("n"), sd.lower("n"), sd.upper("n"), sd.positive_definite("n"), ("n", "n")]


@pytest.mark.parametrize("declared", KINDS, ids=str)
@pytest.mark.parametrize("text", (TIMES := {
    "log(det(S))": 1, "log(abs(det(S)))": 1, "log(det(S)**2)": 2, "log(det(S@S.T))": 2, "log(det(inv(S)))": -1,
}))  # fmt: skip
def test_determinants_that_underflow(declared: Any, text: str) -> None:
    value, slope = sd.compile([text, f"gradient({text}, S)"], S=declared)(0.1 * np.eye(400))
    assert value == pytest.approx(TIMES[text] * 400 * np.log(0.1))
    np.testing.assert_allclose(np.diag(slope), TIMES[text] * 10.0)


@pytest.mark.parametrize(
    ("text", "wrt", "at", "slope"),
    [
        ("p*log(p/q) + (1 - p)*log((1 - p)/(1 - q))", "q", {"p": 0.0, "q": 0.3}, 1 / 0.7),
        ("p*log(p/q)", "q", {"p": 0.0, "q": 0.3}, 0.0),
        ("log(a*x)", "x", {"a": 1e-300, "x": 1e-100}, 1e100),
        ("log(x/a)", "x", {"a": 1e300, "x": 1e-100}, 1e100),
        ("-p*log(p) - (1 - p)*log(1 - p)", "p", {"p": 1.0}, -np.inf),
        ("log(ndtr(x))", "x", {"x": -40.0}, 40.02496884720726),
        ("log(1 - ndtr(x))", "x", {"x": 40.0}, -40.02496884720726),
        ("arctan(x/y)", "x", {"x": 1.0, "y": 0.0}, 0.0),
        ("arctan(x/y)", "y", {"x": 1.3, "y": -0.7}, -1.3 / (1.3**2 + 0.7**2)),
    ],
)
def test_slopes_of_logarithms_of_products(text: str, wrt: str, at: dict[str, float], slope: float) -> None:
    kernel = sd.compile(f"gradient({text}, {wrt})", inputs=[*at], backend="numpy")
    assert kernel(**at) == pytest.approx(slope, rel=1e-13)


def test_slopes_of_logarithms_have_no_factor_twice() -> None:
    shown = {
        "log(a*x)": "1 / x",
        "log(x/a)": "1 / x",
        "log(a*x**2)": "2 / x",
        "-p*log(p) - (1 - p)*log(1 - p)": "log1p(-p) - log(p)",
    }
    for text, slope in shown.items():
        assert str(sd.gradient(text, "p" if "p" in text else "x")) == slope
    assert str(sd.hessian("sum(x*log(x/y))", "x", x="n", y="n")) == "diag(1 / x)"


def test_cross_entropy_of_a_label_that_a_call_brings() -> None:
    z, k = sd.vector("z", 2), sd.index("k")
    loss = -np.log(sd.softmax(z)[k])
    value, slope = sd.compile([loss, sd.gradient(loss, z)], [z, k])([0.0, -1000.0], 1)
    assert value == 1000.0
    np.testing.assert_array_equal(slope, [1.0, -1.0])


def test_rates_of_poisson_are_exponentials() -> None:
    e = sd.scalar("e")
    loss = sd.stats.poisson.logpmf(2.0, np.exp(e))
    kernel = sd.compile([loss, sd.gradient(loss, e)], [e])
    np.testing.assert_allclose(kernel(-800.0), [-1600.6931471805598, 2.0], rtol=1e-14)


@pytest.mark.parametrize("text", ["log(c@exp(x))", "log(sum(c*exp(x)))", "log(c@exp(A@x))", "log(c@exp(-t*x))"])
@pytest.mark.parametrize("order", [sd.gradient, sd.hessian])
@pytest.mark.parametrize("far", [-1000.0, 800.0])
def test_slopes_of_logarithms_of_weighted_exponentials_do_not_overflow(text: str, order: Any, far: float) -> None:
    """Exponents that are all greater by a number leave the slope as it is, where all exponentials are 0 or infinite."""
    rng = np.random.default_rng(len(text))
    shapes: dict[str, Any] = {"c": 3, "x": 3, "A": (3, 3), "t": ()}
    shapes = {name: shape for name, shape in shapes.items() if name in text.replace("exp", "").replace("log", "")}
    point = {name: rng.uniform(0.2, 0.9, size=shape) for name, shape in shapes.items()}
    kernel = sd.compile(order(text, "x", shapes=shapes), backend="numpy")
    near = kernel(inputs=point)
    shift = -far / point["t"] if "t" in point else far
    moved = point["x"] + (np.linalg.solve(point["A"], np.full(3, shift)) if "A" in point else shift)
    np.testing.assert_allclose(kernel(inputs={**point, "x": moved}), near, rtol=1e-9, atol=1e-11)


def test_logarithms_of_powers_of_what_is_positive() -> None:
    kernel = sd.compile("log(a**x)", a=sd.positive(), x=())
    assert kernel(10.0, 400.0) == pytest.approx(400 * np.log(10.0), rel=1e-15)
    slopes = [str(sd.gradient("log(a**x)", name, a=sd.positive(), x=())) for name in "ax"]
    assert slopes == ["x / a", "log(a)"]
    assert sd.compile("log(a**x)")(-2.0, 2.0) == np.log(4.0)
