"""Hypergeometric functions, Faddeeva's and Voigt's, and zeta by its exponent: many digits over their whole domains."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special

import symdiff as sd
from symdiff.graph.reference import many_digits as exact

RNG = np.random.default_rng
Points = list[tuple[float, ...]]


def drawn(count: int, seed: int, *draw: Callable[[np.random.Generator], float]) -> Points:
    rng = RNG(seed)
    return [tuple(float(one(rng)) for one in draw) for _ in range(count)]


def uniform(low: float, high: float) -> Callable[[np.random.Generator], float]:
    return lambda rng: rng.uniform(low, high)


def tenth(low: float, high: float, sign: float = 1.0, base: float = 0.0) -> Callable[[np.random.Generator], float]:
    return lambda rng: base + sign * 10 ** rng.uniform(low, high)


def whole(low: int, high: int, over: int = 1) -> Callable[[np.random.Generator], float]:
    return lambda rng: rng.integers(low, high) / over


REGIONS: dict[str, tuple[str, Points]] = {
    "0F1 near 0": ("hyp0f1", drawn(30, 0, uniform(0.1, 30), uniform(-250, 1000))),
    "0F1 oscillating": ("hyp0f1", drawn(30, 1, uniform(-10, 30), tenth(2, 5, -1))),
    "0F1 of large orders": ("hyp0f1", drawn(20, 2, tenth(0, 4), tenth(2, 6, -1))),
    "1F1 of any sign": ("hyp1f1", drawn(30, 3, uniform(-20, 20), uniform(-20, 20), uniform(-30, 30))),
    "1F1 far out": ("hyp1f1", drawn(30, 4, uniform(0.1, 20), uniform(0.1, 20), uniform(-600, 600))),
    "1F1 further": ("hyp1f1", drawn(30, 5, uniform(0.1, 5), uniform(0.1, 5), tenth(1, 9, -1))),
    "1F1 of waves": ("hyp1f1", drawn(30, 11, uniform(20, 200), uniform(0.1, 50), uniform(-300, -30))),
    "1F1 of waves, of any sign": ("hyp1f1", drawn(30, 12, uniform(-60, 60), uniform(-60, 60), uniform(-100, 100))),
    "2F1 of any sign": ("hyp2f1", drawn(30, 6, *[uniform(-5, 5)] * 2, uniform(0.1, 5), uniform(-3, 1))),
    "2F1 beside 1": ("hyp2f1", drawn(30, 7, *[uniform(-5, 5)] * 3, tenth(-16, 0, -1, 1.0))),
    "2F1 of whole gaps": ("hyp2f1", drawn(30, 8, whole(-4, 5), whole(1, 5, 2), whole(1, 5), tenth(-12, 0, -1, 1.0))),
    "2F1 far below": ("hyp2f1", drawn(30, 9, *[uniform(-5, 5)] * 3, tenth(0, 20, -1))),
    "2F1 of polynomials": ("hyp2f1", drawn(30, 10, whole(-20, 1), uniform(-3, 20), uniform(0.1, 5), uniform(-3, 3))),
}


@pytest.mark.parametrize("region", REGIONS)
def test_hypergeometric_functions_by_many_digits(region: str) -> None:
    name, points = REGIONS[region]
    symbols = [sd.scalar(f"x{i}") for i in range(len(points[0]))]
    columns = list(np.array(points).T)
    formula = getattr(special, name)(*symbols)
    native, machine, numpy = (
        sd.compile(formula, symbols, backend=b)(*columns) for b in ("native", "interpreter", "numpy")
    )
    np.testing.assert_array_equal(native, machine)
    np.testing.assert_array_equal(native, numpy)
    with mpmath.workdps(60):
        for point, got in zip(points, native, strict=True):
            args = [mpmath.mpf(x) for x in point]
            want = mpmath.re(getattr(mpmath, name)(*args, maxterms=10**6))
            # what rounding the arguments moves, beside zeros and poles
            steps = [
                [x * (1 + (mpmath.mpf(2) ** -53 if i == j else 0)) for i, x in enumerate(args)]
                for j in range(len(args))
            ]
            moved = sum(abs(mpmath.re(getattr(mpmath, name)(*step, maxterms=10**6)) - want) for step in steps)
            if abs(want) < 1e308:
                assert abs(got - want) <= 2e-14 * abs(want) + 4 * moved + 1e-307, (point, got)


def test_hypergeometric_functions_that_lose_all_digits_are_nan() -> None:
    b, a, c, x = (sd.scalar(name) for name in "bacx")
    kernel = sd.compile(special.hyp2f1(a, b, c, x), [a, b, c, x])
    rng = RNG(11)
    found = 0
    for _ in range(100):
        point = (*rng.uniform(1, 60, 3), rng.uniform(-3, 1))
        got = float(kernel(*point))
        if math.isnan(got):
            found += 1
            continue
        with mpmath.workdps(60):
            want = mpmath.hyp2f1(*map(mpmath.mpf, point))
            assert abs(got - want) <= 1e-13 * abs(want), point
    assert found < 20
    assert math.isnan(kernel(1.0, 2.0, 3.0, 1.5))  # a cut
    assert [float(kernel(*p)) for p in [(1, 2, -1, 0.5), (1, 1, 1, 1), (1, 1, 2, 1)]] == [math.inf] * 3
    np.testing.assert_allclose(kernel(-2.0, 1.0, 3.0, 5.0), special.hyp2f1(-2, 1, 3, 5.0), rtol=1e-15)


@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
def test_voigt_profiles_and_their_slopes(backend: str) -> None:
    x, sigma, gamma = (sd.scalar(name) for name in ("x", "sigma", "gamma"))
    f = special.voigt_profile(x, sigma, gamma)
    symbols = [x, sigma, gamma]
    kernel = sd.compile([f, *[sd.gradient(f, v) for v in symbols]], symbols, backend=backend)
    rng = RNG(12)
    for _ in range(25):
        point = (rng.uniform(-3, 3) * 10 ** rng.uniform(-3, 3), rng.uniform(0.1, 3), 10 ** rng.uniform(-8, 1))
        got = kernel(*point)
        np.testing.assert_allclose(got[0], special.voigt_profile(*point), rtol=1e-12)
        with mpmath.workdps(40):
            for order, value in enumerate(got):
                derived = tuple(int(order == i + 1) for i in range(3))
                want = mpmath.diff(
                    lambda *args: mpmath.re(exact.voigt(0, *args)), tuple(map(mpmath.mpf, point)), derived
                )
                assert abs(value - want) <= 5e-12 * abs(want), (point, order)


def test_faddeeva_of_complex_arrays() -> None:
    z = sd.complex_array("z")
    w = special.wofz(z)
    kernel = sd.compile(w, [z])
    rng = RNG(13)
    for _ in range(40):
        at = complex(rng.normal() * 10 ** rng.uniform(-3, 1), rng.normal() * 10 ** rng.uniform(-3, 0.5))
        np.testing.assert_allclose(complex(kernel(at)), special.wofz(at), rtol=1e-12)
    slope = sd.compile([sd.gradient(w.real, z.real), sd.gradient(w.imag, z.real)], list(z.parts))
    at = 0.7 + 0.2j
    want = -2 * at * special.wofz(at) + 2j / math.sqrt(math.pi)
    np.testing.assert_allclose(slope(at.real, at.imag), [want.real, want.imag], rtol=1e-13)


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
def test_zeta_by_both_arguments(backend: str) -> None:
    s, q = sd.scalar("s"), sd.scalar("q")
    f = special.zeta(s, q)
    kernel = sd.compile(
        [sd.derivative(f, s, n) for n in (1, 2, 3)] + [sd.gradient(sd.gradient(f, s), q)], [s, q], backend=backend
    )
    for first, second in drawn(20, 14, tenth(-3, 1.5, 1.0, 1.0), tenth(-2, 3)):
        got: Any = kernel(first, second)
        with mpmath.workdps(150):  # its error is an absolute one
            p, at = mpmath.mpf(first), mpmath.mpf(second)
            want = [mpmath.zeta(p, at, n) for n in (1, 2, 3)]
            want.append(-mpmath.zeta(p + 1, at) - p * mpmath.zeta(p + 1, at, 1))
            terms = mpmath.zeta(p, at) * (1 + abs(mpmath.log(at))) ** 3
            for value, exactly in zip(got, want, strict=True):
                assert abs(value - exactly) <= 1e-13 * abs(exactly) + (1e-14 * terms if second < 1 else 0), (
                    first,
                    second,
                )
