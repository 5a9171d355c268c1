"""Each backend gives the same numbers, NumPy's where it defines them, at special points and for no elements."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest

import symdiff as sd
from symdiff.frontend.formula import read_formula
from symdiff.graph.scalars.functions import FUNCTIONS

BACKENDS = ("native", "interpreter", "numpy")
MAX = np.finfo(float).max
_SIZES = [0.0, 5e-324, 1e-308, 1e-200, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0, 2.0**52 + 0.5, 1e200, 1e308, MAX, np.inf]
POINTS = np.array([*_SIZES, *(-x for x in _SIZES), np.nan])
PAIRS = np.array([*product(POINTS, POINTS)]).T

#: Functions of two numbers whose value NumPy defines everywhere.
TWO = {
    "x // y": np.floor_divide,
    "x % y": np.remainder,
    "hypot(x, y)": np.hypot,
    "arctan2(x, y)": np.arctan2,
    "x ** y": np.power,
}
ONE: dict[str, Any] = {
    "floor(x)": np.floor, "ceil(x)": np.ceil, "rint(x)": np.rint, "trunc(x)": np.trunc,
    "x**(-0.5)": lambda x: np.power(x, -0.5),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def same(found: Any, right: Any, ulps: int = 4) -> bool:
    """Tell whether numbers agree, with the signs of zeros and infinities; any nan is one."""
    found, right = np.asarray(found), np.asarray(right)
    plain = np.isfinite(right) & (right != 0)
    exact = (found == right) & (np.signbit(found) == np.signbit(right)) | (np.isnan(found) & np.isnan(right))
    near = np.abs(found - right) <= ulps * np.spacing(np.abs(np.where(plain, right, 1.0)))
    return bool(np.all(np.where(plain, near, exact)))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", TWO)
def test_two_numbers(text: str, backend: Any) -> None:
    x, y = PAIRS
    found = np.asarray(sd.compile(text, x=(), y=(), backend=backend)(x, y))
    right = TWO[text](x, y)
    wrong = [(a, b, f, r) for a, b, f, r in zip(x, y, found, right, strict=True) if not same(f, r)]
    assert not wrong


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", ONE)
def test_one_number(text: str, backend: Any) -> None:
    points = POINTS[~np.isneginf(POINTS)] if text.startswith("x**") else POINTS
    assert same(sd.compile(text, x=(), backend=backend)(points), ONE[text](points))


#: A function, the order of its derivative, and points far out.
SINGLE = [
    *(("dawsn(x)", k, (7.0, 7.5, 8.0, 30.0, 1e4, -50.0)) for k in (1, 2, 3, 4)),
    *(("exprel(x)", 0, (x,)) for x in (-89.0, -1e30, 0.5, 88.0, 89.0, 92.0)),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("text", "order", "points"), SINGLE)
def test_float32_far_out(text: str, order: int, points: tuple[float, ...], backend: Any) -> None:
    read = read_formula(text, {"x": ()})
    f = sd.derivative(read.value, read.inputs["x"], order)
    kernel = sd.compile(f, backend=backend)
    given = np.array(points, np.float32)
    right = np.asarray(kernel(given.astype(float)))
    kept = np.abs(right) > np.finfo(np.float32).tiny  # below, digits are lost
    found = np.asarray(kernel(given))
    condition = 1.0 + (np.abs(given) if text.startswith("exprel") else 8.0)
    np.testing.assert_array_less(np.abs(found / right - 1)[kept], (4 * condition * 2.0**-23 + 0 * right)[kept])


#: exp(x) less the terms of its series over a power, and that power.
QUOTIENTS = {"(exp(x) - 1)/x": 1, "(exp(x) - 1 - x)/x**2": 2, "(exp(x) - 1 - x - x**2/2)/x**3": 3}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", QUOTIENTS)
def test_quotients_up_to_where_they_overflow(text: str, backend: Any) -> None:
    """exp(x) has no number where the quotient by a power of x still has."""
    read, power = read_formula(text, {"x": ()}), QUOTIENTS[text]
    orders = [sd.derivative(read.value, read.inputs["x"], n) if n else read.value for n in (0, 1, 2, 3)]
    kernel = sd.compile(orders, [read.inputs["x"]], backend=backend)
    drawn = np.random.default_rng(power).uniform(size=40)
    for kind, low, high in ((float, 709.0, 715.0), (np.float32, 78.0, 92.0)):
        points = (low + (high - low) * drawn).astype(kind)
        with mpmath.workdps(40):
            terms = [
                # the terms of the series are nothing beside exp(x): derivatives of exp(x) / x**power
                [mpmath.exp(x) * sum(mpmath.binomial(n, k) * mpmath.rf(power, k) * (-1) ** k / x ** (power + k)
                                     for k in range(n + 1)) for x in map(mpmath.mpf, map(float, points))]
                for n in (0, 1, 2, 3)
            ]  # fmt: skip
            assert all(value < np.finfo(kind).max for row in terms for value in row)
            right = np.array([[float(value) for value in row] for row in terms])
        np.testing.assert_allclose(np.asarray(kernel(points), float), right, rtol=float(4 * high * np.finfo(kind).eps))


@pytest.mark.parametrize("size", [2, 3, 40, "n"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_norms_within_their_range(backend: Any, size: int | str) -> None:
    """The range that docs/kernels.md names; NumPy's backend goes to the ends of floating point."""
    rng, kernel = np.random.default_rng(3), sd.compile("norm(x)", x=size, backend=backend)
    count = 40 if isinstance(size, str) else size
    ranges = ((-300.0, 306.0), (-30.0, 37.0)) if backend == "numpy" else ((-145.0, 152.0), (-15.0, 18.0))
    for kind, (low, high) in zip((float, np.float32), ranges, strict=True):
        for exponent in np.linspace(low, high, 25):
            with mpmath.workdps(30):
                x = (rng.uniform(0.1, 1.0, count) * 10.0**exponent).astype(kind)
                right = float(mpmath.norm([mpmath.mpf(float(each)) for each in x]))
            assert abs(float(kernel(x)) / right - 1) < 8 * float(np.finfo(x.dtype).eps)


EMPTY = [
    "sum(x)", "cos(0.3*sum(logsumexp(x)*x))", "sum(exp(logsumexp(x))*x)", "sum(x/norm(x))", "prod(x)", "norm(x)",
    "x @ x", "sum(log(sum(x))*x)", "sum(x*x/sum(x))", "(x/prod(x - x)) @ x", "sum(softmax(x))",
]  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", EMPTY)
@pytest.mark.parametrize("size", [0, "n"])
def test_no_elements(text: str, backend: Any, size: int | str) -> None:
    read = read_formula(text, {"x": (size,)})
    x = read.inputs["x"]
    value, slope = sd.compile([read.value, sd.gradient(read.value, x, disconnected="zero")], [x], backend=backend)([])
    right = 1.0 if "cos" in text or text == "prod(x)" else 0.0
    assert value == right
    assert slope.shape == (0,)


def _calls() -> Iterator[str]:
    """Write a call of each function that compiled code has from elsewhere, those of an order with order 1."""
    for name, row in FUNCTIONS.items():
        if not (row.special or row.library or row.vector):
            continue
        call = f"{name}({', '.join(['1' if row.orders else 'x', 'y', 'x', 'y'][: row.arity])})"
        try:
            read_formula(call, {name: () for name in "xy" if name in call})
        except sd.SymdiffError:  # a function of programs alone
            continue
        yield call


CALLS = list(_calls())


@pytest.mark.parametrize("first", range(0, len(CALLS), 20))
@pytest.mark.rows(2)
def test_float32_beside_a_factorization(first: int) -> None:
    """Such a kernel reads float32 and computes in doubles: functions lane by lane take the numbers as they are."""
    calls = CALLS[first : first + 20]
    f = {"inverse": "inv(P)", "values": f"[{', '.join(['x + y', *calls])}]"}
    kernels = [sd.compile(f, shapes={"P": (2, 2), "x": (), "y": ()}, backend=b) for b in ("native", "interpreter")]
    x, y = np.random.default_rng(first).uniform(-4, 4, (2, 40)).astype(np.float32)
    native, interpreted = [np.asarray(k(np.array([[2, 1], [1, 3]], np.float32), x, y)["values"]) for k in kernels]
    wrong = [t for t, a, b in zip(["x + y", *calls], native.T, interpreted.T, strict=True)
             if not np.array_equal(a, b, equal_nan=True)]  # fmt: skip
    assert not wrong
    assert np.isfinite(native).any(axis=0).sum() > len(calls) / 2


@pytest.mark.parametrize("name", [call.partition("(")[0] for call in CALLS if call.endswith("(1, y)")])
@pytest.mark.rows(2)
def test_functions_of_an_order_beside_other_elements(name: str) -> None:
    """The order stays one number when its function is moved to where it stands in an array."""
    kernels = [
        sd.compile(text, x=3, backend="interpreter")
        for text in (f"[0, x[0], {name}(1, x[2])]", f"[[{name}(1, x[2])], [2]]", f"{name}(1, x[2])")
    ]
    row, column, alone = [np.asarray(k([0.5, 1.0, 1.5])) for k in kernels]
    assert (row[2], column[0, 0]) == (alone, alone)
    assert np.isfinite(alone)
