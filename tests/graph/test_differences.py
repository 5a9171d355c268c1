"""Divided differences of smooth functions: read from quotients, exact where both places meet, shown as written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symdiff as sd
from symdiff.graph.reference.many_digits import SCALARS
from symdiff.graph.scalars.differences import DIFFERENCES

#: Distances of the places, as parts of the distance to the nearest singularity.
GAPS = (0.0, 1e-300, 1e-15, 1e-8, 1e-3, 0.1, 0.24, 0.26, 0.5)


def reference(function: str, x: Any, y: Any, orders: tuple[int, int]) -> Any:
    """Return a derivative of (f(x) - f(y)) / (x - y) in many digits, by its mean over the way between."""
    f, (m, n) = SCALARS[function], orders
    with mp.workdps(40):
        x, y = mp.mpf(x), mp.mpf(y)

        def inside(t: Any) -> Any:
            return t**m * (1 - t) ** n * mp.diff(f, y + t * (x - y), m + n + 1)

        return mp.quad(inside, [0, 1], maxdegree=4)


@pytest.mark.rows(1)
@pytest.mark.parametrize("each", DIFFERENCES, ids=lambda each: each.function)
def test_differences_to_second_order(each: Any) -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    f = sd.function(each.function)
    value = (f(x) - f(y)) / (x - y)
    orders = ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
    outputs = []
    for m, n in orders:
        out = value
        for by, times in ((x, m), (y, n)):
            for _ in range(times):
                out = sd.gradient(out, by)
        outputs.append(out)
    low, high = each.domain
    at = low + 0.41 * (high - low)
    scale = {"arcsin": 0.5, "arctanh": 0.5, "log1p": at + 1.0}.get(each.function, at if low > 0 else 1.0)
    for backend in ("interpreter", "numpy"):
        kernel = sd.compile(outputs, inputs=[x, y], backend=backend)
        for gap in GAPS:
            near = at + gap * scale * 0.9
            got = kernel(at, near)
            for (m, n), number in zip(orders, got, strict=True):
                want = reference(each.function, at, near, (m, n))
                error = abs(mp.mpf(float(number)) - want) / abs(want)
                assert error < 4e-14 * 5 ** (m + n), (backend, gap, m, n, float(number), want)


@pytest.mark.parametrize(
    ("text", "at", "true"),
    [
        ("(exp(-a*t) - exp(-b*t)) / (b - a)", {"a": 1.0, "b": 1.0, "t": 2.0}, 2 * np.exp(-2)),
        ("(sin(x) - sin(y)) / (x - y)", {"x": 1.0, "y": 1.0}, np.cos(1.0)),
        ("(x - y) / (log(x) - log(y))", {"x": 3.0, "y": 3.0}, 3.0),
        ("z * (tanh(2*x) - tanh(2*y)) / (3*x - 3*y)", {"x": 0.5, "y": 0.5, "z": 3.0}, 2 / np.cosh(1.0) ** 2),
        ("log((exp(x) - exp(y)) / (x - y))", {"x": 2.0, "y": 2.0}, 2.0),
        ("((ndtr(x) - ndtr(y)) / (y - x))**2", {"x": 0.0, "y": 0.0}, 1 / (2 * np.pi)),
        ("log(u / v) / (u - v)", {"u": -2.0, "v": -2.0}, -0.5),
        ("(u - v) / log(u / v)", {"u": 3.0, "v": 3.0}, 3.0),
        ("(sqrt(u*v) - sqrt(w*v)) / (u - w)", {"u": 4.0, "v": 9.0, "w": 4.0}, 0.75),
    ],
)
def test_quotients_are_read_as_differences(text: str, at: dict[str, float], true: float) -> None:
    np.testing.assert_allclose(sd.compile(text)(**at), true, rtol=1e-14)


def test_differences_are_shown_as_written() -> None:
    assert str(sd.gradient("(exp(x) - exp(y)) / (x - y)", "x")) == (
        "(exp(x) - (exp(x) - exp(y)) / (x - y)) / (x - y)"
    )


@pytest.mark.exhaustive
@given(st.sampled_from([each.function for each in DIFFERENCES]), st.floats(-12.0, 0.0), st.booleans())
def test_gradients_are_right_at_any_distance(function: str, exponent: float, above: bool) -> None:
    each = next(each for each in DIFFERENCES if each.function == function)
    low, high = each.domain
    at = low + 0.6 * (high - low)
    room = min(at - low, high - at) if low > 0 or high < 1 or low > -1 else 1.0
    near = at + (1 if above else -1) * 10.0**exponent * room * 0.9
    kernel = sd.compile(sd.gradient(f"({function}(x) - {function}(y)) / (x - y)", ["x", "y"]), backend="interpreter")
    got = kernel(x=at, y=near)
    for number, orders in zip(got, ((1, 0), (0, 1)), strict=True):
        want = float(reference(function, at, near, orders))
        np.testing.assert_allclose(number, want, rtol=1e-12)


#: Sums in which terms come twice, or cancel, as text and as functions of a, b and c.
SUMS: dict[str, Callable[[float, float, float], float]] = {
    "a": lambda a, b, c: a,
    "2*b": lambda a, b, c: 2 * b,
    "a + a": lambda a, b, c: 2 * a,
    "b + b": lambda a, b, c: 2 * b,
    "c*a - a": lambda a, b, c: c * a - a,
    "b - a/c": lambda a, b, c: b - a / c,
    "c*b + b*c": lambda a, b, c: 2 * b * c,
    "a + b - a": lambda a, b, c: b,
    "b - a/c - b": lambda a, b, c: -a / c,
    "c - c*b + c": lambda a, b, c: 2 * c - c * b,
}


@pytest.mark.parametrize("seed", range(60))
def test_a_term_of_the_divisor_stands_for_one_of_the_distance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y, below = (str(each) for each in rng.choice([*SUMS], 3))
    at = rng.uniform(0.4, 1.6, 3)
    kernel = sd.compile(f"(sin({x}) - sin({y})) / ({below})", list("abc"), backend="interpreter", a=(), b=(), c=())
    true = (np.sin(SUMS[x](*at)) - np.sin(SUMS[y](*at))) / SUMS[below](*at)
    np.testing.assert_allclose(kernel(*at), true, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("function", ["exp", "sin", "tanh", "log", "sqrt"])
def test_a_name_of_a_number_is_not_written_for_orders(function: str) -> None:
    text = f"t = y / y\n({function}(x) - {function}(t)) / (x - t)"
    shown = str(sd.gradient(text, "x", x=(), y=()))
    plain = sd.gradient(f"({function}(x) - {function}(1)) / (x - 1)", "x", x=())
    at = {"x": 2.5}
    np.testing.assert_allclose(sd.compile(shown, x=())(**at), sd.compile(plain)(**at), rtol=1e-12)
