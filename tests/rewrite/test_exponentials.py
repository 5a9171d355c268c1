"""Quotients of exponentials are finite and right wherever the mathematics is, however they are written."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from tests.support.multiprecision import FUNCTIONS as EXACT
from tests.support.multiprecision import read

FAR = (-1e5, -1e3, -745.0, -300.0, -40.0, -1.7, 0.0, 0.3, 2.5, 40.0, 300.0, 745.0, 1e3, 1e5)


def derivatives(f: Any, x: float) -> list[float]:
    """Return value, slope and curvature in many digits."""
    with mpmath.workdps(60):
        step = mpmath.mpf(10) ** -15
        low, here, high = (f(mpmath.mpf(x) + k * step) for k in (-1, 0, 1))
        # closed forms below lose nothing, so that differences have their digits everywhere
        return [float(here), float((high - low) / (2 * step)), float((high - 2 * here + low) / step**2)]


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x)) if x > 0 else mpmath.exp(x) / (1 + mpmath.exp(x))


def _sech(x: Any) -> Any:
    return 2 * mpmath.exp(-abs(x)) / (1 + mpmath.exp(-2 * abs(x)))


def _tanh(x: Any) -> Any:
    return mpmath.sign(x) * (1 - 2 / (1 + mpmath.exp(2 * abs(x)))) if abs(x) > 1 else mpmath.tanh(x)


#: A function in mpmath's words, and its numerator and denominator: numbers and multiples of x in the exponents.
Terms = list[tuple[float, float]]
FUNCTIONS: dict[str, tuple[Any, Terms, Terms]] = {
    "sigmoid": (_sigmoid, [(1, 0)], [(1, 0), (1, -1)]),
    "tanh": (_tanh, [(1, 1), (-1, -1)], [(1, 1), (1, -1)]),
    "sech": (_sech, [(2, 0)], [(1, 1), (1, -1)]),
    "slope": (lambda x: _sigmoid(x) * _sigmoid(-x), [(1, 1)], [(1, 0), (2, 1), (1, 2)]),
    "fermi": (lambda x: 1 / (2 + 3 * mpmath.exp(2 * x)), [(1, 0)], [(2, 0), (3, 2)]),
    "three": (lambda x: mpmath.exp(-abs(x)) / sum(mpmath.exp(k * x - abs(x)) for k in (-1, 0, 1)), [(1, 0)],
              [(1, 1), (1, 0), (1, -1)]),
    "mixed": (lambda x: (1 - 2 * mpmath.exp(x)) / (1 + mpmath.exp(x)), [(1, 0), (-2, 1)], [(1, 0), (1, 1)]),
}


def written(terms: Terms, shift: float, scale: float, style: str) -> str:
    """Write a sum of exponentials, each moved by ``shift`` and multiplied by ``scale``."""
    parts = []
    for number, exponent in terms:
        c, k = number * scale, exponent + shift
        power = {
            "plain": f"exp({k!r}*x)",
            "halved": f"exp({k / 2!r}*x)**2",
            "under": f"1/exp({-k!r}*x)",
            "product": f"exp({k - 0.5!r}*x)*exp(x/2)",
            "named": f"exp({k!r}*t)",
        }[style]
        parts.append(f"({c!r})" if k == 0 else power if c == 1 else f"({c!r})*{power}")
    return " + ".join(parts)


FORMS = st.tuples(
    st.sampled_from(sorted(FUNCTIONS)),
    st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0]),
    st.sampled_from([1.0, -1.0, 3.0, 0.25]),
    st.sampled_from(["plain", "halved", "under", "product", "named"]),
    st.sampled_from(["({n})/({d})", "({n})*({d})**-1", "({n})*(1/({d}))", "1/({d})*({n})", "({n})/(2*({d}))*2"]),
)


@settings(max_examples=15, deadline=None)
@given(form=FORMS)
def test_random_forms(form: Any) -> None:
    name, shift, scale, style, shape = form
    f, top, bottom = FUNCTIONS[name]
    quotient = shape.format(n=written(top, shift, scale, style), d=written(bottom, shift, scale, style))
    text = f"t = 1*x\n{quotient}" if style == "named" else quotient
    x = sd.scalar("x")
    parsed = sd.compile(text, x=(), backend="numpy")
    by_x = [sd.compile(sd.derivative(text, "x", order), [x], backend="numpy") for order in (1, 2)]
    for at in FAR:
        want = derivatives(f, at)
        got = [float(kernel(at)) for kernel in (parsed, *by_x)]
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-14, err_msg=f"{text} at {at}")
        small = 0 < abs(want[0]) < 1e-14 and abs(want[0]) > 1e-300
        if small:  # what is nearly 0 has its digits as well
            np.testing.assert_allclose(got, want, rtol=1e-9, err_msg=f"{text} at {at}")


#: Formulas in x, and y; each must be finite, with slopes and curvatures, wherever the mathematics is.
FORMULAS = [
    *("x/(1+exp(-x))", "y/(1+exp(-x))", "1/(2+exp(-x))", "1/(1+exp(-x))**2", "x*exp(x)/(1+exp(x))"),
    *("exp(-x)/(1+exp(-x))**2", "exp(x)/(exp(x)+1)**2", "sinh(x)/cosh(x)", "1/cosh(x)", "cosh(x)/sinh(x)"),
    *("1-2/(exp(2*x)+1)", "2/(1+exp(-2*x))-1", "exp(x-y)/(1+exp(x-y))", "exp(x)/(exp(x)+exp(y))"),
    *("(1+exp(-x))**-1", "1-1/(1+exp(-x))", "log(cosh(x))", "log(exp(x)+exp(-x))", "log(1+exp(-abs(x)))"),
    *("y/(2+y*exp(0.5*x))", "1/(exp(x)-1)", "exp(x)/(exp(x)-1)**2", "3*exp(-2*exp(-x))", "exp(x)/exp(y)"),
    *("(exp(x)-2)/(exp(x)+1)", "(1+exp(x))**2/(1+exp(2*x))", "1/sqrt(1+exp(x))"),
    *("exp(x)*cosh(x)*exp(-2*abs(x))", "exp(-x**2)/(1+exp(-x))", "log(x**2*exp(-x))", "log(2+exp(x))"),
    *("exp(x)/(1+exp(x)+exp(y))", "1/(1+exp(-x))**0.3", "exp(-x)*(1+exp(x))*exp(-abs(x))", "tanh(x)/cosh(x)"),
]


@pytest.mark.parametrize("text", FORMULAS)
def test_formula_far_out(text: str) -> None:
    shapes: dict[str, Any] = {"x": (), "y": ()} if "y" in text else {"x": ()}
    parts = [text, *(f"derivative({text}, x, {order})" for order in (1, 2))]
    if "y" in text:
        parts += [f"derivative({text}, y)", f"derivative(derivative({text}, x), y)"]
    exact = sd.compile(f"[{', '.join(parts)}]", shapes=shapes, backend="interpreter")
    for at in (-1e5, -1e3, -745.0, 745.0, 1e3, 1e5):
        values = {"x": at, "y": 0.7} if "y" in text else {"x": at}
        got = exact(**values)
        with mpmath.workdps(50):
            want = reference(text, values)
        assert abs(float(got[0]) - want) <= 1e-9 * abs(want) + 1e-200 or abs(want) > 1e308, (text, at, got, want)
        if abs(want) < 1e300:
            assert np.isfinite(got).all(), (text, at, got)


def reference(text: str, values: dict[str, float]) -> Any:
    """Evaluate text by Python's own operators on mpmath's numbers."""
    from tests.support import multiprecision

    known = {name: mpmath.mpf(number) for name, number in values.items()}
    return multiprecision.value(text, known).item()


@pytest.mark.parametrize("backend", ["numpy", "interpreter", "native"])
def test_backends_agree(backend: str) -> None:
    at = np.array(FAR)
    three = "exp(x)/(1+exp(2*x)+exp(-x))"
    for text in ("exp(-x)/(1+exp(-x))**2", "1/(2+exp(-x))", "log(cosh(x))", "1/(exp(x)-1)", three):
        parts = f"[{text}, derivative({text}, x), derivative({text}, x, 2)]"
        where_finite = at if text != "1/(exp(x)-1)" else at[at != 0]
        want = sd.compile(parts, x=(), backend="numpy")(where_finite)
        got = sd.compile(parts, x=(), backend=backend)(where_finite)
        assert np.isfinite(got).all()
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-300)


SUMS = [
    "exp(x) / sum(exp(x))",
    "sum(w * exp(x)) / sum(exp(x))",
    "exp(x) @ w / sum(exp(x))",
    "sum(w * exp(x)) / sum(w**2 * exp(x))",
    "w * exp(x) / (3 * sum(exp(x)))",
    "exp(x) / (1 + sum(exp(x)))",
    "exp(x[0]) / sum(exp(x))",
    "sum(exp(-x) * w) / sum(exp(-x))",
]


@pytest.mark.parametrize("text", SUMS)
def test_weighted_sums(text: str) -> None:
    """Moved by a large number, shares are those of numbers moved back; the 1 of a reference counts for nothing."""
    shapes = {"x": 3, "w": 3} if "w" in text else {"x": 3}
    both = f"[ravel({text})[0], sum(jacobian({text}, x)**2)]"
    for backend in ("numpy", "native"):
        kernel = sd.compile(both, shapes=shapes, backend=backend)
        values: dict[str, Any] = {"w": np.array([0.3, -2.0, 1.1])} if "w" in text else {}
        near, far = np.array([0.1, -0.4, 0.9]), 1e4 * (-1 if "-x" in text else 1)
        got, want = kernel(x=near + far, **values), kernel(x=near + far / 2, **values)
        assert np.isfinite(got).all()
        np.testing.assert_allclose(got, want, rtol=1e-9)
        if "1 +" not in text:
            np.testing.assert_allclose(got, kernel(x=near, **values), rtol=1e-9)


def test_nan_stays_nan() -> None:
    for text in ("exp(x)/exp(x)", "exp(x+1)/exp(x)", "exp(-x)*(1+exp(x))", "x/(1+exp(-x))", "1/(1+exp(x))/(1+exp(-x))"):
        assert np.isnan(sd.compile(text, x=(), backend="numpy")(np.nan)), text


def test_what_is_shown_stays_short() -> None:
    for text, shown in (
        ("x/(1+exp(-x))", "sigmoid(x) * (1 + x * sigmoid(-x))"),
        ("sinh(x)/cosh(x)", "sech(x) ** 2"),
        ("1/(2+exp(-x))", "exp(-x) / (2 + exp(-x)) ** 2"),
        ("log(cosh(x))", "tanh(x)"),
        ("exp(-x)/(1+exp(-x))**2", "-sigmoid(x) * sigmoid(-x) * tanh(0.5 * x)"),
    ):
        assert str(sd.gradient(text, "x")) == shown


@pytest.mark.parametrize(
    "formula",
    [
        lambda a, b, c: np.sqrt(2 + np.exp(a + b)) * np.exp(-a - b),
        lambda a, b, c: (2 + np.exp(a + b)) / (3 + np.exp(a + b + c)) * np.exp(-c),
        lambda a, b, c: np.log(2 + np.exp(a * b + c)),
        lambda a, b, c: np.log(2 * np.exp(a + b) + c * np.exp(-c)),
    ],
)
def test_what_is_shown_does_not_depend_on_where_nodes_lie_in_memory(formula: Callable[..., sd.Array]) -> None:
    shown, kept = set(), []
    for k in range(40):
        a, b, c = (sd.scalar(f"{name}{k}") for name in "abc")
        slope = sd.gradient(formula(a, b, c), a)
        shown.add(re.sub(r"\b([abc])\d+\b", r"\1", str(slope)))
        kept += [slope, *(sd.scalar(f"other{k}_{i}") for i in range(k % 7))]  # so that later nodes lie elsewhere
    assert len(shown) == 1


def test_long_products_and_sums_take_linear_time() -> None:
    x = sd.scalar("x")
    product, total = np.exp(x), np.exp(x)
    for i in range(400):
        product, total = product * (x + float(i)), total + np.exp(x * float(i + 2))
    assert len(sd.compile(product / total, [x], backend="numpy").source("numpy")) < 200_000


def test_quotients_of_exponentials_of_whole_arrays_keep_their_shape() -> None:
    text = "sum(hypot(2 + sin(exp(tanh(A))), log(1 + exp(B))))"
    A, B = np.array([[0.5, -1.0], [2.0, 0.0]]), np.array([[1.0, 800.0], [-800.0, 0.5]])
    kernel = sd.compile([f"gradient({text}, B)", f"hessian({text}, B)"], A=(2, 2), B=(2, 2), backend="numpy")
    slope, curvature = kernel(A, B)
    b = np.logaddexp(0.0, B)
    share = 0.5 * (1.0 + np.tanh(0.5 * B))
    np.testing.assert_allclose(slope, b / np.hypot(2 + np.sin(np.exp(np.tanh(A))), b) * share, rtol=1e-13)
    assert np.isfinite(curvature).all()


def _softplus(x: Any) -> Any:
    return max(x, mpmath.mpf(0)) + mpmath.log1p(mpmath.exp(-abs(x)))


@pytest.mark.parametrize("share", ["1/(1 + exp(-x))", "sigmoid(x)", "exp(x)/(1 + exp(x))"])
def test_logarithms_of_shares_times_counts(share: str) -> None:
    """Of a share that is 0 or 1 in the arithmetic, to second order; 0 times an infinite logarithm stays 0."""
    for text, f in {
        f"xlogy(y, {share})": lambda t, y: -y * _softplus(-t),
        f"xlog1py(y, -{share})": lambda t, y: -y * _softplus(t),
        f"bernoulli_logpmf(y, {share})": lambda t, y: -y * _softplus(-t) - (1 - y) * _softplus(t),
        f"binom_logpmf(y, 1, {share})": lambda t, y: -y * _softplus(-t) - (1 - y) * _softplus(t),
        f"entr({share}) + 0*y": lambda t, y: _softplus(-t) * _sigmoid(t),
    }.items():
        kernel = sd.compile(f"[{text}, derivative({text}, x), derivative({text}, x, 2)]", x=(), y=(), backend="numpy")
        for t in (-1e300, -800.0, -40.0, 0.5, 40.0, 800.0, 1e300):
            for y in (0.0, 1.0):
                got = kernel(t, y)
                assert np.isfinite(got).all(), (text, t, y)
                if abs(t) < 1e3:
                    want = derivatives(lambda s, f=f, y=y: f(s, y), t)
                    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15, err_msg=f"{text} {t} {y}")
    kernel = sd.compile(f"bernoulli_logpmf(y, {share})", x=(), y=(), backend="numpy")
    assert kernel(np.inf * np.array([1, -1, 1, -1]), np.array([1.0, 0, 0, 1])).tolist() == [0, 0, -np.inf, -np.inf]


def test_differences_of_exponentials_beside_other_terms_keep_their_digits() -> None:
    draw = random.Random(11)
    beside = ["exp(x)", "exp(-2*x)", "1/cosh(x)", "sigmoid(-x)", "1/(1 + exp(x))", "exp(3*x)/(2 + exp(x))"]
    for _ in range(40):
        first, second = (f"{draw.choice(['sinh', 'expm1'])}({draw.choice([1, 2, 3])}*x)" for _ in range(2))
        other = draw.choice(["x", "y*x", second, f"y*{second}", "x**2"])
        text = f"({other} + {draw.uniform(0.5, 2.0):.3f}*{first}) * {draw.choice(beside)}"
        at = {"x": draw.choice([-1.0, 1.0]) * 10.0 ** draw.uniform(-15.0, -2.0), "y": draw.uniform(0.5, 2.0)}
        used = {name: at[name] for name in "xy" if name in text.replace("exp", "")}
        names: dict[str, Any] = {name: getattr(mpmath, name) for name in ("exp", "cosh", "sinh", "expm1")}
        names["sigmoid"] = lambda x: 1 / (1 + mpmath.exp(-x))
        with mpmath.workdps(60):
            expected = float(read(text, {**names, "number": mpmath.mpf, **{n: mpmath.mpf(v) for n, v in used.items()}}))
        found = float(sd.compile(text, backend="interpreter")(**used))
        assert abs(found - expected) <= 1e-14 * abs(expected), text


# ---------------------------------------------------------------------------- exponential quotients
# Random products and quotients of sums of exponentials are derived without end or error, and rightly.


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


# ---------------------------------------------------------------------------- long exponentials
# Long chains of operations with exponentials: putting quotients of their sums in normal form comes to an end.


def chain(seed: int, count: int, starts: list[Any]) -> Any:
    """Return a random formula, each operation of which takes what the one before gave."""
    draw, values = random.Random(seed), list(starts)
    for _ in range(count):
        a, b = values[-1], draw.choice(values)
        made: dict[str, Any] = {
            "+": lambda a, b: a + b,
            "*": lambda a, b: a * b,
            "-": lambda a, b: a - b,
            "s": lambda a, b: np.sin(a),
            "d": lambda a, b: a / (1.5 + b * b),
            "e": lambda a, b: np.exp(-a * a),
        }
        values.append(made[draw.choice("+*-sde")](a, b))
    return values[-1]


@pytest.mark.rows(1)
@pytest.mark.parametrize("seed", [1, 2, 5, 6, 9])
def test_gradients_of_long_chains(seed: int) -> None:
    x = [sd.scalar(f"x{i}") for i in range(10)]
    formula = chain(seed, 200, x)
    kernel = sd.compile([formula, *sd.gradient(formula, x, disconnected="zero")], x, backend="interpreter")
    at = np.random.default_rng(seed).uniform(-1.0, 1.0, 10)
    value, *found = kernel(*at)
    np.testing.assert_allclose(value, chain(seed, 200, list(at)), rtol=1e-9, atol=1e-12)
    for k, slope in enumerate(found):
        moved = at.astype(complex)
        moved[k] += 1e-30j
        np.testing.assert_allclose(slope, np.imag(chain(seed, 200, list(moved))) / 1e-30, rtol=1e-7, atol=1e-10)


#: Exponents of two letters, and points of them, of which some leave one factor 0 where the other is infinite.
_EXPONENTS = ("x", "-x", "2*x", "x - y", "-x/3")
_GAPS = ("exp({t}) - 1", "1 - exp({t})", "3*exp({t}) - 3", "expm1({t})")
_AT = ((0.5, 0.3), (0.5, 1e-9), (-3.0, -1e-6), (2.0, -40.0), (-600.0, 601.0), (500.0, -650.0), (1.0, 0.25))


@pytest.mark.rows(8)
@pytest.mark.parametrize("seed", range(40))
def test_an_exponential_beside_a_difference(seed: int) -> None:
    """Values and derivatives to second order are those in many digits, and shown without functions nobody wrote."""
    rng = random.Random(seed)
    first, gap = rng.choice(_EXPONENTS), rng.choice(_GAPS).format(t=rng.choice(("y", "-y", "y/2", "x + y")))
    text = rng.choice(["exp({a})*({g})", "({g})*exp({a})", "({g})/exp(-({a}))", "2*exp({a})*({g})/c"]).format(
        a=first, g=gap
    )
    shapes = {"x": (), "y": ()} | ({"c": ()} if "c" in text else {})
    slopes = [sd.gradient(text, name, shapes=shapes) for name in "xy"]
    forms = {(): text, (0,): str(slopes[0]), (1,): str(slopes[1])}
    forms |= {(i, j): f"gradient(gradient({text}, {'xy'[i]}), {'xy'[j]})" for i, j in ((0, 0), (0, 1), (1, 1))}
    assert not any(name in f"{slopes}" for name in ("tanh", "sech", "sigmoid", "exp_gap"))
    kernels = {order: sd.compile(form, inputs=[*shapes], **shapes) for order, form in forms.items()}
    names = {"exp": mpmath.exp, "expm1": mpmath.expm1, "number": mpmath.mpf, "c": mpmath.mpf(7)}

    def written_at(x: Any, y: Any) -> Any:
        return read(text, {**names, "x": x, "y": y})

    for (x, y), (order, kernel) in itertools.product(_AT, kernels.items()):
        with mpmath.workdps(60):
            right = float(mpmath.diff(written_at, (x, y), (order.count(0), order.count(1))))
        if 1e-300 < abs(right) < 1e300:
            assert kernel(x, y, *[7.0] * (len(shapes) - 2)) == pytest.approx(right, rel=1e-11), (text, order, x, y)


@pytest.mark.parametrize("inside", ["sinh(0*y)", "expm1(0*x)", "sqrt(1 + exp(0*x))", "(exp(0*y) - exp(0*x))"])
def test_exponents_that_are_zero(inside: str) -> None:
    text = f"exp(x)*{inside} + y*exp(x)"
    kernel = sd.compile([f"derivative({text}, x)", text], backend="interpreter")
    assert len({float(one) for one in kernel(x=0.5, y=2.0)}) == 1


_PIECES = ("exp({u}) - 1", "exp({u}) + 1", "exp({u}) - x", "sinh({u})", "cosh({u})", "tanh({u})", "sech({u})",
           "sigmoid({u})", "exp({u})", "exp(-{u})", "x", "(x + 2)", "(cosh({u}) + 1)", "1 - exp({u})",
           "exp(a) - exp(x)")  # fmt: skip


def _at(text: str, a: float, x: Any) -> Any:
    return read(text, {**EXACT, "x": x, "a": mpmath.mpf(a)})


@pytest.mark.parametrize("seed", range(24))
def test_slopes_that_are_shown_by_hyperbolic_functions_have_their_values(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(4):
        pieces = [rng.choice(_PIECES).format(u=rng.choice(("x", "2*x", "a*x", "x + a", "a - x"))) for _ in range(3)]
        parts = [f"({piece})" + rng.choice(("", "", "", "**0.5", "**(-1.5)")) for piece in pieces]
        text = f"{parts[0]} {rng.choice('*/+-')} {parts[1]} {rng.choice('*/')} {parts[2]}"
        slope = sd.gradient(f"{text} + 0*a", "x")
        shown = sd.compile(f"{slope} + 0*a + 0*x", ["x", "a"], backend="interpreter")
        for x, a in ((0.7, 0.4), (1.3, -0.6), (-0.9, 1.1)):
            with mpmath.workdps(40):
                is_real = not any(mpmath.im(_at(part, a, mpmath.mpf(x))) for part in parts)
                wanted = mpmath.diff(partial(_at, text, a), mpmath.mpf(x)) if is_real else None
            if wanted is not None:
                assert float(shown(x, a)) == pytest.approx(float(mpmath.re(wanted)), rel=1e-9), (text, str(slope))
