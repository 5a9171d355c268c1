"""Scalar functions where no reference by differences reaches: signs of zero, kinks, ends of domains, far out."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest

import symdiff as sd
from symdiff import Array, UnsupportedError
from symdiff.graph import BOOL
from symdiff.graph import input as variable
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.scalars.functions import FUNCTIONS, apply
from tests.calculus.test_branches import is_offered
from tests.graph.test_functions import LARGEST, ORDERED, PIECES, QUOTIENTS, SMOOTH, active, applied, formula, symbols


def everywhere(f: Array, **values: float) -> set[float]:
    """Evaluate by every means; -0.0 is told from 0.0 by its sign."""
    names = [sd.scalar(name) for name in values]
    found = {float(evaluate([f.node], values, [a.node for a in names])[0])}
    for backend in ("numpy", "native"):
        found.add(float(sd.compile(f, names, backend=backend)(*values.values())))
    return found


ODD = ["sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "expm1", "log1p", "erf", "cbrt", "sqrt"]


@pytest.mark.parametrize("name", [*ODD, "floor", "ceil", "rint", "trunc"])
def test_the_sign_of_zero_stays(name: str) -> None:
    x = sd.scalar("x")
    f = applied(name, [x])
    for value in everywhere(f, x=-0.0):
        assert value == 0
        assert math.copysign(1.0, value) == -1.0
    for value in everywhere(f, x=0.0):
        assert math.copysign(1.0, value) == 1.0
    assert {math.copysign(1.0, v) for v in everywhere(-x, x=0.0)} == {-1.0}
    assert {math.copysign(1.0, v) for v in everywhere(abs(x), x=-0.0)} == {1.0}


@pytest.mark.parametrize("name", PIECES)
def test_pieces_have_slope_zero(name: str) -> None:
    x = sd.scalar("x")
    f = applied(name, [x, *([0.5] * (FUNCTIONS[name].arity - 1))])
    assert everywhere(sd.gradient(f * x, x), x=1.25) == everywhere(f, x=1.25)
    assert everywhere(sd.gradient(f, x, disconnected="zero"), x=1.0) == {0.0}


#: Base, exponent, value, slope by the base for a constant exponent; NumPy's and C's meaning of each.
POWERS = [
    (0.0, 0.0, 1.0, 0.0),
    (0.0, 1.0, 0.0, 1.0),
    (0.0, 2.0, 0.0, 0.0),
    (0.0, 3.0, 0.0, 0.0),
    (0.0, 0.5, 0.0, math.inf),
    (0.0, 1.5, 0.0, 0.0),
    (0.0, -1.0, math.inf, -math.inf),
    (0.0, -2.0, math.inf, -math.inf),
    (-2.0, 0.0, 1.0, 0.0),
    (-2.0, 1.0, -2.0, 1.0),
    (-2.0, 2.0, 4.0, -4.0),
    (-2.0, 3.0, -8.0, 12.0),
    (-2.0, -1.0, -0.5, -0.25),
    (-2.0, -2.0, 0.25, 0.25),
    (-2.0, -3.0, -0.125, -0.1875),
    (-2.0, 0.5, math.nan, math.nan),
    (2.0, 10.0, 1024.0, 5120.0),
    (1.0, 1e300, 1.0, 1e300),
    (math.inf, 2.0, math.inf, math.inf),
    (math.inf, -1.0, 0.0, 0.0),
    (math.nan, 2.0, math.nan, math.nan),
]


@pytest.mark.parametrize(("x0", "y0", "value", "by_base"), POWERS)
def test_powers_by_constant_and_by_variable_exponents(x0: float, y0: float, value: float, by_base: float) -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    for got in everywhere(x**y0, x=x0) | everywhere(x**y, x=x0, y=y0):
        np.testing.assert_equal(got, value)
    slopes = everywhere(sd.gradient(x**y0, x, disconnected="zero"), x=x0) | everywhere(sd.gradient(x**y, x), x=x0, y=y0)
    for got in slopes:
        assert got == by_base or (math.isnan(got) and math.isnan(by_base))


@pytest.mark.parametrize(("y0", "slope_"), [(0.0, -math.inf), (0.5, 0.0), (1.0, 0.0), (2.0, 0.0)])
def test_powers_of_zero_by_the_exponent(y0: float, slope_: float) -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    assert everywhere(sd.gradient(x**y, y), x=0.0, y=y0) == {slope_}


def test_mixed_partials_of_a_power_of_zero_agree() -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    for exponent, want in ((1.0, -math.inf), (1.5, 0.0), (2.0, 0.0)):
        for first, second in ((x, y), (y, x)):
            assert everywhere(sd.gradient(sd.gradient(x**y, first), second), x=0.0, y=exponent) == {want}


def test_mixed_partials_of_a_power_at_exponent_zero() -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    for first, second in ((x, y), (y, x)):
        assert everywhere(sd.gradient(sd.gradient(x**y, first), second), x=2.0, y=0.0) == {0.5}
        got = everywhere(sd.gradient(sd.gradient(sd.xlogy(x, y), first), second), x=0.0, y=2.0)
        assert got == {0.5}


KINKS = [
    ("abs", (0.0,), (0.0,)),
    ("maximum", (1.5, 1.5), (0.5, 0.5)),
    ("minimum", (-2.0, -2.0), (0.5, 0.5)),
    ("maximum", (0.0, -0.0), (0.5, 0.5)),
    ("hypot", (0.0, 0.0), (0.0, 0.0)),
]


@pytest.mark.parametrize(("name", "at", "slopes"), KINKS)
def test_a_kink_has_the_mean_of_its_sides(name: str, at: tuple[float, ...], slopes: tuple[float, ...]) -> None:
    args = symbols(name)
    f = applied(name, args)
    values = {f"x{i}": x for i, x in enumerate(at)}
    for arg, want in zip(args, slopes, strict=True):
        assert everywhere(sd.gradient(f, arg), **values) == {want}


def test_nan_reaches_the_derivative_of_a_maximum() -> None:
    x, y, v = sd.scalar("x"), sd.scalar("y"), sd.vector("v", 3)
    for f in (sd.maximum(x, y), sd.minimum(x, y), sd.clip(x, 0.0, y), sd.max(v * x + y), sd.relu(x) + y):
        for slope_ in (f, sd.gradient(f, x)):
            for backend in ("numpy", "native"):
                kernel = sd.compile(slope_, [x, y, v], backend=backend)
                assert math.isnan(kernel(math.nan, 1.0, [1.0, 2.0, 3.0]))
                assert not math.isnan(kernel(0.5, 1.0, [1.0, 2.0, 3.0]))


def test_a_quotient_that_rounds_up_is_not_reached() -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    assert everywhere(x // y, x=1.0, y=0.1) == {9.0}
    assert everywhere(sd.gradient(x % y, y), x=1.0, y=0.1) == {-9.0}
    for a, b in ((1.0, 0.0), (-1.0, math.inf), (1.0, -math.inf), (math.inf, math.inf), (7.5, -2.0), (-7.5, 2.0)):
        with np.errstate(all="ignore"):
            want = np.floor_divide(a, b)
        for got in everywhere(x // y, x=a, y=b):
            np.testing.assert_equal(got, want)


#: At the end of the domain: the limit of the slope from inside.
ENDS = [
    ("sqrt", 0.0, math.inf),
    ("log", 0.0, math.inf),
    ("log2", 0.0, math.inf),
    ("log10", 0.0, math.inf),
    ("log1p", -1.0, math.inf),
    ("arcsin", 1.0, math.inf),
    ("arcsin", -1.0, math.inf),
    ("arccos", 1.0, -math.inf),
    ("arccosh", 1.0, math.inf),
    ("arctanh", 1.0, math.inf),
    ("cbrt", 0.0, math.inf),
    ("exp", math.inf, math.inf),
    ("exp", -math.inf, 0.0),
    ("tanh", math.inf, 0.0),
    ("sigmoid", math.inf, 0.0),
    ("sigmoid", -math.inf, 0.0),
    ("softplus", math.inf, 1.0),
    ("softplus", -math.inf, 0.0),
    ("log_sigmoid", -math.inf, 1.0),
    ("arctan", math.inf, 0.0),
    ("erf", -math.inf, 0.0),
    ("arcsinh", math.inf, 0.0),
    ("log", math.inf, 0.0),
]


@pytest.mark.parametrize(("name", "at", "want"), ENDS)
def test_ends_of_the_domain(name: str, at: float, want: float) -> None:
    x = sd.scalar("x")
    assert everywhere(sd.gradient(applied(name, [x]), x), x=at) == {want}


@pytest.mark.parametrize("name", SMOOTH)
def test_nan_in_gives_nan_out_of_every_derivative(name: str) -> None:
    args = symbols(name)
    order = 1.0 if name in ORDERED else None
    f = formula(name, order, args)
    for i in [i for i in active(name) if is_offered(name, i, 2)]:
        power = f * f if name == "cbrt" else f * f * f  # the third power of a third root is its argument
        by = sd.gradient(sd.gradient(power, args[i]), args[i])
        values = {f"x{k}": math.nan for k in range(len(args))}
        assert all(math.isnan(v) for v in everywhere(by, **values))


#: Functions that SciPy has no value of where these are infinite.
SCIPY_NAN = ("i0", "i1", "k1", "k1e", "log_i1", "log_k1")
EXTREMES = (0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, LARGEST, -LARGEST, 5e-324, 3.0, -800.0, 1e10)


@pytest.mark.parametrize(
    "name", [n for n, row in FUNCTIONS.items() if row.takes is not BOOL and n not in ("where", *QUOTIENTS)]
)
def test_every_backend_says_the_same_far_out(name: str) -> None:
    args = symbols(name)
    at = np.array(list(itertools.product(EXTREMES, repeat=len(args))))
    if name == "pseudo_huber_slope":  # a difference that cancels for widths below 0, which no loss has
        at = at[~(at[:, 0] < 0)]
    if name in ("erfcinv", "log_i1"):  # half of the least number is 0
        at = at[at[:, 0] != 5e-324]
    if name.endswith("_near"):  # not used further out, where SciPy rounds the phase
        at = at[~(np.abs(at[:, 0]) > 1e8)]
    apart = 1e-300
    if name.startswith("log_rising"):  # differences of log Γ, which each library rounds its own way
        at, apart = at[((at[:, -2:] > 0) & (at[:, -2:] < 100)).all(axis=1)], 1e-13
    row = FUNCTIONS[name]
    orders = [k for k in (0.0, 1.0, 3.0) if row.domain[0][0] <= k <= (row.orders or 3)]
    for order in orders if name in ORDERED else (None,):
        f = formula(name, order, args) * 1.0
        by_numpy, by_interpreter = (
            sd.compile(f, args, backend=backend)(*at.T) for backend in ("numpy", "interpreter")
        )
        known = ~np.isnan(by_numpy) | (name not in SCIPY_NAN)
        np.testing.assert_allclose(by_interpreter[known], by_numpy[known], rtol=1e-12, atol=apart)


@pytest.mark.parametrize("name", [n for n, row in FUNCTIONS.items() if BOOL in (row.gives, row.takes)])
def test_conditions_have_no_slope(name: str) -> None:
    row = FUNCTIONS[name]
    x = variable("x")
    args = [apply("less", x, float(i)) if row.takes is BOOL else x * (i + 1.0) for i in range(row.arity)]
    f = sd.where(Array(apply(name, *args)), 2.0, 3.0) * Array(x)
    (value,) = everywhere(f, x=0.5)
    assert everywhere(sd.gradient(f, Array(x)), x=0.5) == {value / 0.5}


@pytest.mark.rows(1)
@pytest.mark.parametrize("degree", [10**7, -1, 2.5, 201])
def test_a_degree_out_of_range_is_told_with_the_range(degree: float) -> None:
    with pytest.raises(UnsupportedError, match=f"of a degree {re.escape(f'{degree:g}')}; .* from 0 to 200"):
        sd.special.eval_legendre(degree, sd.scalar("x"))
