"""Places of extrema, orders and questions about numbers: NumPy's values, ties and nan, and derivatives of 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd

V = np.array([0.3, -0.2, 0.7, 0.7, 0.1])
WITH_NAN = np.array([0.3, np.nan, 0.7, np.nan, 0.1])
M = np.random.default_rng(3).integers(0, 3, (3, 4)).astype(float)
ENDS = np.array([3.7, -2.5, np.inf, 0.0, -np.inf])
POWERS = np.array([8.0, 0.5, -1.0, 0.0, 1e300])
BESIDE = np.array([np.nextafter(8, 0), np.nextafter(8, 9), 5e-300, 1.7e308, -0.25])

CASES: list[tuple[Callable[[Any], Any], list[Any]]] = [
    *((lambda x, f=f: f(x), [V, WITH_NAN, M]) for f in (np.argmax, np.argmin, np.nanargmax, np.nanargmin)),
    *(
        (lambda x, f=f, axis=axis: f(x, axis=axis, keepdims=True), [M])
        for f in (np.argmax, np.argmin, np.nanargmax, np.nanargmin)
        for axis in (None, 0, 1, -2)
    ),
    *((lambda x, axis=axis: np.argsort(x, axis=axis, kind="stable"), [M]) for axis in (None, 0, 1, -2)),
    (lambda x: np.argsort(x, kind="stable"), [V, WITH_NAN]),
    (lambda x: np.isclose(x, [0.3, -0.2000001, 0.6, 0.7, 0.1]), [V, WITH_NAN]),
    (lambda x: np.isclose(x, x, equal_nan=True), [WITH_NAN, ENDS]),
    (lambda x: np.isclose(x, np.inf), [ENDS]),
    (lambda x: np.allclose(x, V + 1e-9), [V, WITH_NAN]),
    (lambda x: np.allclose(x, V, rtol=0, atol=0.5), [V[::-1]]),
    (lambda x: np.array_equal(x, V), [V, V[::-1], WITH_NAN]),
    (lambda x: np.array_equal(x, x, equal_nan=True), [WITH_NAN]),
    (lambda x: np.array_equal(x, V[:4]), [V]),
    (np.signbit, [V]),
    (np.isreal, [V, M]),
    (np.iscomplex, [V, M]),
    (np.angle, [V, ENDS]),
    (lambda x: np.angle(x, deg=True), [V]),
    (np.modf, [5 * V, WITH_NAN, ENDS]),
    (np.frexp, [5 * V, WITH_NAN, POWERS, BESIDE]),
    (np.poly, [V]),
    (lambda x: np.polyfit(np.arange(5.0), x, 2), [V]),
    (lambda x: np.polyfit(x, np.arange(5.0) ** 2, 3), [np.array([0.1, 0.5, 0.9, 1.3, 2.0])]),
    (lambda x: np.polyfit(np.arange(3.0), x, 1), [M]),
    (np.linalg.matrix_rank, [M, np.outer([1, 2, 3.0], [1, 2, 3, 4.0])]),
    (np.empty_like, []),
]


@pytest.mark.parametrize("backend", ["numpy", "interpreter"])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_values_are_those_of_numpy(case: int, backend: str) -> None:
    call, values = CASES[case]
    for value in values:
        x = sd.array("x", value.shape)
        made = call(x)
        try:
            wanted = call(value)
        except ValueError:  # all of a line is nan
            continue
        several = isinstance(wanted, tuple)
        kernel = sd.compile(list(made) if several else [made], [x], backend=backend)
        for got, want in zip(kernel(value), wanted if several else [wanted], strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("f", [np.argmax, np.argmin, np.argsort, np.nanargmax])
def test_places_are_constants_of_derivatives_and_take_letters(f: Callable[[Any], Any]) -> None:
    x = sd.vector("x", "n")
    want = np.argsort(V, kind="stable") if f is np.argsort else f(V)
    np.testing.assert_array_equal(sd.compile(f(x), [x])(V), want)
    slope = sd.gradient(np.sum(f(x) * x), x)
    np.testing.assert_allclose(sd.compile(slope, [x])(V), np.broadcast_to(want, 5))


def test_parts_of_numbers_have_slopes() -> None:
    x = sd.vector("x", 5)
    behind = np.modf(x)[0]
    np.testing.assert_array_equal(sd.compile(sd.gradient(np.sum(behind * x), x), [x])(5 * V), 5 * V + np.modf(5 * V)[0])
    mantissa, exponent = np.frexp(x)
    slope = sd.compile(sd.gradient(np.sum(mantissa), x), [x])(5 * V)
    np.testing.assert_array_equal(slope, 2.0 ** -np.frexp(5 * V)[1].astype(float))
    assert exponent.shape == (5,)


def test_in_text() -> None:
    assert sd.compile("x[1] * argmax(x)", x=5)(V) == -0.4
    assert bool(sd.compile("allclose(x, y)", x=5, y=5)(V, V + 1e-10))


def test_coefficients_of_polynomials_are_differentiated() -> None:
    r, at = sd.vector("r", 3), np.array([1.0, 2.0, 4.0])
    slopes = sd.compile(sd.jacobian(np.poly(r), r), [r])(at)
    np.testing.assert_allclose(slopes, [[0, 0, 0], [-1, -1, -1], [6, 5, 3], [-8, -4, -2]])
    y = sd.vector("y", 5)
    fit = sd.compile(sd.jacobian(np.polyfit(np.arange(5.0), y, 1), y), [y])(V)
    np.testing.assert_allclose(fit, np.linalg.pinv(np.vander(np.arange(5.0), 2)), atol=1e-12)
