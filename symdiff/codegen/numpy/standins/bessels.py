"""Bessel functions."""

from __future__ import annotations

import math
from typing import Any

from .basic import each

__all__ = [
    "bessel_far",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "i_moment",
    "j0",
    "j1",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "k_moment",
    "kve",
    "spherical_jn",
    "y0",
    "y1",
]


def i_moment_of_number(order: float, x: float) -> float:
    """Return the mean of (1 - cos t)^n exp(-abs(x) (1 - cos t)) over a period, 0 <= n <= 10."""
    z, factor, term, total = 2.0 * abs(x), 1.0, 1.0, 1.0
    if math.isnan(x) or not 0 <= order <= 10:
        return math.nan
    if z == math.inf:
        return 0.0
    n, s = int(order), 0
    if z < 80.0:  # M(n + 1/2, n + 1, -z) by Kummer's transformation, DLMF 13.2.39
        for k in range(1, n + 1):
            factor *= (2 * k - 1.0) / k
        while s < 400 and term > 1e-18 * total:
            term *= (s + 0.5) * z / ((n + 1.0 + s) * (s + 1.0))
            total += term
            s += 1
        return factor * math.exp(-z) * total
    for k in range(1, n + 1):  # DLMF 13.7.2
        factor *= (2 * k - 1.0) / z
    while s < 60 and term > 1e-18 * total:
        term *= (n + 0.5 + s) * (s + 0.5) / ((s + 1.0) * z)
        total += term
        s += 1
    return factor * total * 0.5641895835477563 / math.sqrt(z)


def i_moment(order: Any, x: Any) -> Any:
    """Return a derivative of exp(-x) I_0(x) for x > 0, up to sign."""
    return each(i_moment_of_number, order, x)


def i_scaled(order: int, x: float) -> float:
    """Return exp(-abs(x)) I_n(x) for n of 0 or 1."""
    a, term, total, k = abs(x), 1.0, 1.0, 0
    if math.isnan(x) or a == math.inf:
        return x if math.isnan(x) else 0.0
    if a < 40.0:  # DLMF 10.25.2: terms of one sign
        while term > 1e-18 * total:
            k += 1
            term *= (0.25 * a * a) / (k * (k + order))
            total += term
        return math.exp(-a) * total * (0.5 * x if order else 1.0)
    while k < 40 and abs(term) > 1e-18:  # DLMF 10.40.1
        k += 1
        term *= -(4.0 * order - (2.0 * k - 1.0) ** 2) / (8.0 * k * a)
        total += term
    result = total * 0.3989422804014327 / math.sqrt(a)
    return math.copysign(result, x) if order else result


def i0e_of_number(x: float) -> float:
    """Return exp(-abs(x)) I_0(x)."""
    return i_scaled(0, x)


def i0e(x: Any) -> Any:
    """Return exp(-abs(x)) I_0(x)."""
    return each(i0e_of_number, x)


def i1e_of_number(x: float) -> float:
    """Return exp(-abs(x)) I_1(x)."""
    return i_scaled(1, x)


def i1e(x: Any) -> Any:
    """Return exp(-abs(x)) I_1(x)."""
    return each(i1e_of_number, x)


def i_grown(order: int, x: float) -> float:
    """Return I_n(x), whose exponential comes in two factors."""
    if abs(x) > 720.0:
        return math.copysign(math.inf, x) if order else math.inf
    half = math.exp(0.5 * abs(x))
    return half * i_scaled(order, x) * half


def i0_of_number(x: float) -> float:
    """Return I_0(x)."""
    return i_grown(0, x)


def i0(x: Any) -> Any:
    """Return the modified Bessel function I_0."""
    return each(i0_of_number, x)


def i1_of_number(x: float) -> float:
    """Return I_1(x)."""
    return i_grown(1, x)


def i1(x: Any) -> Any:
    """Return the modified Bessel function I_1."""
    return each(i1_of_number, x)


def bessel_far_of_number(which: float, v: float, x: float) -> float:
    """Return J_v(x) or Y_v(x) for x from 1e8 on, DLMF 10.19.6, or K_v(x) for v from 600 on, DLMF 10.41.4; else 0."""
    if math.isnan(v) or math.isnan(x):
        return math.nan
    if which == 2:
        v = abs(v)
        if v < 600 or not v < 1e300 or not x > 0:
            return 0.0
        r = math.hypot(v, x)
        p = v / r
        square = p * p
        total = 1 - p * (3 - 5 * square) / 24 / v + square * (81 - square * (462 - 385 * square)) / 1152 / v / v
        total -= square * p * (30375 - square * (369603 - square * (765765 - 425425 * square))) / 414720 / v / v / v
        half = 0.5 * (v * math.asinh(v / x) - r)
        if half > 709.0:
            return math.inf
        return math.exp(half) * (math.sqrt(0.5 * math.pi / r) * total) * math.exp(half)
    if x < 1e8:
        return 0.0
    if x == math.inf:
        return math.nan if math.isinf(v) else 0.0
    s = v / x
    if not abs(s) <= 0.5:
        return math.nan if not v > 4 * x else 0.0 if which == 0 else -math.inf
    size = math.sqrt((1 - s) * (1 + s))
    turn = x * (s * (math.asin(s) - s / (1 + size))) - (1 + 5.0 / 3 * (s / size) * (s / size)) / (8 * x * size)
    turn -= math.pi * (0.5 * (v - 4 * math.floor(0.25 * v)) + 0.25)
    if which == 1:
        turn -= 0.5 * math.pi
    wave = math.cos(x) * math.cos(turn) - math.sin(x) * math.sin(turn)
    return wave * (math.sqrt(2 / math.pi) / math.sqrt(x * size))


def bessel_far(which: Any, v: Any, x: Any) -> Any:
    """Return J, Y or K (0, 1, 2) where others have no digits."""
    return each(bessel_far_of_number, which, v, x)


def k_moment_of_number(order: float, v: float, x: float) -> float:
    """Return the integral of (cosh t - 1)^n cosh(v t) exp(-x (cosh t - 1)) over t > 0, 0 <= n <= 10, DLMF 10.32.9."""
    if math.isnan(x) or math.isnan(v) or x < 0 or not 0 <= order <= 10 or math.isinf(v):
        return math.nan
    if x in (0, math.inf):
        return 0.0 if x else math.inf
    n, v = int(order), abs(v)
    step = 0.42 / math.sqrt(max(x, v + n) + 6.0)
    total = 0.0 if n else 0.5
    for k in range(1, 200000):
        t = k * step
        half = math.sinh(0.5 * t)
        u = 2.0 * half * half
        if v * t - x * u > 709.0:
            return math.inf
        term = 0.5 * (math.exp(v * t - x * u) + math.exp(-v * t - x * u))
        if term > 0:
            for _ in range(n):
                term *= u
        total += term
        if total == math.inf or (
            term <= 1e-18 * total and (t > 700.0 or x * math.sinh(t) > v + n / math.tanh(0.5 * t))
        ):
            break
    return total * step


def k_moment(order: Any, v: Any, x: Any) -> Any:
    """Return a derivative of exp(x) K_v(x) for x > 0, up to sign."""
    return each(k_moment_of_number, order, v, x)


def kve(v: Any, x: Any) -> Any:
    """Return exp(x) K_v(x)."""
    return each(k_moment_of_number, 0.0, v, x)


def k0e(x: Any) -> Any:
    """Return exp(x) K_0(x)."""
    return each(k_moment_of_number, 0.0, 0.0, x)


def k1e(x: Any) -> Any:
    """Return exp(x) K_1(x)."""
    return each(k_moment_of_number, 0.0, 1.0, x)


def k0_of_number(x: float) -> float:
    """Return K_0(x)."""
    return k_moment_of_number(0.0, 0.0, x) * math.exp(-x) if x > -700.0 else math.nan


def k0(x: Any) -> Any:
    """Return the modified Bessel function K_0."""
    return each(k0_of_number, x)


def k1_of_number(x: float) -> float:
    """Return K_1(x)."""
    return k_moment_of_number(0.0, 1.0, x) * math.exp(-x) if x > -700.0 else math.nan


def k1(x: Any) -> Any:
    """Return the modified Bessel function K_1."""
    return each(k1_of_number, x)


def hankel(order: int, a: float) -> tuple[float, float, float, float]:
    """Return the sums of Hankel's expansion, DLMF 10.17.3, and the cosine and sine of its phase times the root of 2."""
    even, odd, term, mu = 0.0, 0.0, 1.0, 4.0 * order
    for k in range(40):
        sign = -1.0 if k % 4 > 1 else 1.0
        if k % 2:
            odd += sign * term
        else:
            even += sign * term
        step = (mu - (2.0 * k + 1.0) ** 2) / (8.0 * (k + 1.0) * a)
        if abs(step) >= 1.0 or abs(term) < 1e-19:
            break
        term *= step
    c, s = math.cos(a), math.sin(a)
    cosine, sine = (s - c, -(s + c)) if order else (c + s, s - c)
    return even, odd, cosine, sine


def j_of_order(order: int, x: float) -> float:
    """Return J_n(x) for n of 0 or 1; beside its zeros the error is an absolute one."""
    a = abs(x)
    if math.isnan(x) or a == math.inf:
        return x if math.isnan(x) else 0.0
    if a < 3.0:  # DLMF 10.2.2
        term = total = 0.5 * x if order else 1.0
        for k in range(1, 25):
            term *= -0.25 * x * x / (k * (k + order))
            total += term
        return total
    if (
        a < 30.0
    ):  # the mean of cos(n t - x sin t), DLMF 10.9.2: the trapezoidal rule converges as for periodic functions
        many = 2 * (int(a) + 25)
        total = math.fsum(
            math.cos(order * t - a * math.sin(t)) for t in [math.pi * (k + 0.5) / many for k in range(many)]
        )
        return math.copysign(1.0, x) ** order * total / many
    even, odd, cosine, sine = hankel(order, a)
    value = (cosine * even - sine * odd) * 0.5641895835477563 / math.sqrt(a)
    return math.copysign(1.0, x) ** order * value


def j0_of_number(x: float) -> float:
    """Return J_0(x)."""
    return j_of_order(0, x)


def j0(x: Any) -> Any:
    """Return the Bessel function J_0."""
    return each(j0_of_number, x)


def j1_of_number(x: float) -> float:
    """Return J_1(x)."""
    return j_of_order(1, x)


def j1(x: Any) -> Any:
    """Return the Bessel function J_1."""
    return each(j1_of_number, x)


def spherical_jn_of_number(order: float, x: float) -> float:
    """Return the spherical Bessel function of order 0 <= n <= 100; where it oscillates, the error is one of 1 / x."""
    sign = -1.0 if x < 0 and int(order) % 2 else 1.0
    if math.isnan(x) or not 0 <= order <= 100:
        return math.nan
    n, x = int(order), abs(x)
    if x == math.inf:
        return 0.0
    if x * x < n + 1.5:  # power series, DLMF 10.53.1: its terms fall from the first one on
        term, half = sign, 0.5 * x * x
        for k in range(1, n + 1):
            term *= x / (2 * k + 1)
        total = term
        for k in range(1, 40):
            term *= -half / (k * (2 * n + 2 * k + 1.0))
            total += term
        return total
    before = math.sin(x) / x  # DLMF 10.49.3
    if n == 0:
        return before
    here = (before - math.cos(x)) / x
    if n <= x:  # upward recurrence, DLMF 10.51.1, is stable here
        for k in range(1, n):
            before, here = here, (2 * k + 1) / x * here - before
        return sign * here
    # Miller's algorithm, DLMF 3.6(iii): downward from far above, scaled by the larger of orders 0 and 1
    up, now, found = 0.0, 1e-290, 0.0
    for k in range(n + 40, 0, -1):
        if k == n:
            found = now
        if k == 1:
            break
        up, now = now, (2 * k + 1) / x * now - up
    down = 3.0 / x * now - up  # now of order 1, down of order 0
    return sign * found * (before / down if abs(before) > abs(here) else here / now)


def spherical_jn(order: Any, x: Any) -> Any:
    """Return a spherical Bessel function."""
    return each(spherical_jn_of_number, order, x)


def y_of_order(order: int, x: float) -> float:
    """Return Y_n(x) for n of 0 or 1; beside its zeros the error is an absolute one."""
    if math.isnan(x) or x < 0:
        return math.nan
    if x == 0:
        return -math.inf
    if x == math.inf:
        return 0.0
    logarithm = math.log(x) - 0.6931471805599453 + 0.5772156649015329
    if x < 3.0:  # DLMF 10.8.1, 10.8.2
        term, total, harmonic = (0.5 * x if order else 1.0), 0.0, 0.0
        for k in range(25):
            total += term * (2.0 * (logarithm - harmonic) - (1.0 / (k + 1.0) if order else 0.0))
            harmonic += 1.0 / (k + 1.0)
            term *= -0.25 * x * x / ((k + 1.0) * (k + 1.0 + order))
        return (total - (2.0 / x if order else 0.0)) / math.pi
    if x < 30.0:  # J_k by its recurrence downward, and Neumann's series, DLMF 10.8.3, Abramowitz and Stegun 9.1.88
        before, here, first, scale, rest = 0.0, 1e-280, 0.0, 0.0, 0.0
        for k in range(2 * (int(0.5 * x) + 30), 0, -1):
            sign = -1.0 if (k // 2) % 2 else 1.0
            if k % 2 == 0:
                scale += 2.0 * here
                rest += 0.0 if order else sign * here / (0.5 * k)
            elif order and k > 1:
                half = k // 2
                rest += sign * here * k / (half * (half + 1.0))
            first = here
            before, here = here, 2.0 * k / x * here - before
        scale += here
        if order:
            value = (2.0 / math.pi) * ((logarithm - 1.0) * first - rest) - (2.0 / math.pi) / x * here
        else:
            value = (2.0 / math.pi) * (logarithm * here - 2.0 * rest)
        return value / scale
    even, odd, cosine, sine = hankel(order, x)
    return (sine * even + cosine * odd) * 0.5641895835477563 / math.sqrt(x)


def y0_of_number(x: float) -> float:
    """Return Y_0(x)."""
    return y_of_order(0, x)


def y0(x: Any) -> Any:
    """Return the Bessel function Y_0."""
    return each(y0_of_number, x)


def y1_of_number(x: float) -> float:
    """Return Y_1(x)."""
    return y_of_order(1, x)


def y1(x: Any) -> Any:
    """Return the Bessel function Y_1."""
    return each(y1_of_number, x)
