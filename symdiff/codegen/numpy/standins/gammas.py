"""Polygamma, beta and zeta functions, and incomplete gamma and beta functions."""

from __future__ import annotations

import math
from typing import Any

from .basic import each, gamma_of_number

__all__ = [
    "beta",
    "betaln",
    "digamma",
    "polygamma",
    "polygamma_gap",
    "zeta",
]


def cotangent(x: float) -> float:
    """Return cot(pi x), exactly 0 at a half."""
    if abs(x) <= 0.25:
        return 1.0 / math.tan(math.pi * x)
    return math.copysign(math.tan(math.pi * (0.5 - abs(x))), x)


def digamma_of_number(x: float) -> float:
    """Return the derivative of log(gamma(x)): relative error below 1e-14, beside its zeros below 0 an absolute one."""
    # Taylor series at the zero above 0: (-1)^(k+1) zeta(k+1, zero), DLMF 5.15.1
    taylor = [
        *(0.9676722454476212, -0.4427631689835922, 0.2584997609556511, -0.16394270544240658),
        *(0.10782405069126241, -0.07219956125645474, 0.04880428816414313, -0.033161126474847376),
        *(0.022597648232218118, -0.01542476590494897, 0.010538791616612184, -0.007204534386356875),
        *(0.004926781395729858, -0.0033698016554393312, 0.00230512632673493, -0.001576936771430199),
        *(0.0010788252019162978, -0.000738070938996006, 0.0005049532658346027, -0.0003454680251063082),
        *(0.00023635601564027086, -0.00016170622091974827, 0.00011063372768747428, -7.569179582195078e-05),
    ]
    if math.isnan(x) or x == math.inf:
        return x
    if x == 0.0:
        return math.copysign(math.inf, -x)
    total = 0.0
    if x < 0.0:  # reflection, DLMF 5.5.4
        t = 0.0 if x == -math.inf else x - round(x)
        if t == 0.0:
            return math.nan
        total = -math.pi * cotangent(t)
        x = 1.0 - x
    t = x - 1.4616321449683622
    if abs(t) < 0.25:
        y = 0.0
        for coefficient in reversed(taylor):
            y = y * t + coefficient
        return total + (y * t - 9.241265521729427e-17)
    while x < 10.0:  # recurrence, DLMF 5.5.2
        total -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)  # asymptotic expansion, DLMF 5.11.2
    t = 1 / 132 - y * (691 / 32760 - y * (1 / 12 - y * (3617 / 8160)))
    t = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * t))))
    return total + ((math.log(x) - 0.5 / x) - t)


def digamma(x: Any) -> Any:
    """Return the derivative of log(gamma(x))."""
    return each(digamma_of_number, x)


def bernoulli(j: int) -> float:
    """Return B(2j + 2) / (2j + 2)!, DLMF 24.2.1."""
    numbers = [
        *(1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600),
        *(-3617 / 10670622842880000, 43867 / 5109094217170944000, -174611 / 802857662698291200000),
    ]
    return numbers[j]


def factorial_over_power(n: int, x: float) -> float:
    """Return n! / x^(n+1), without the overflow of its parts."""
    y = 1.0 / x
    for k in range(n, 0, -1):
        y *= k / x
    return y


def cotangent_derivative(n: int, x: float) -> float:
    """Return the derivative of order n of pi cot(pi x), up to sign: a polynomial in the cotangent of one sign."""
    p, c, y = [0.0] * (n + 3), cotangent(x), 0.0
    p[1] = math.pi
    for k in range(1, n + 1):  # from degree k to degree k + 1
        for i in range(k):
            p[i] = math.pi * (i + 1) * p[i + 1]
        p[k] = 0.0
        for i in range(k + 1, 1, -1):
            p[i] += p[i - 2]
    for i in range(n + 1, -1, -1):
        y = y * c + p[i]
    return y


def polygamma_of_number(order: float, x: float) -> float:
    """Return the derivative of digamma of order 0 <= n <= 100; beside its zeros the error is an absolute one."""
    if order == 0.0:
        return digamma_of_number(x)
    if math.isnan(x) or x == -math.inf or not 0 < order <= 100:
        return math.nan
    n, mirrored, reflected, total = int(order), x < 0.0, 0.0, 0.0
    odd = 1.0 if n % 2 else -1.0
    if x == math.inf:
        return odd * 0.0
    if x == 0.0:
        return math.inf if odd > 0 else math.copysign(math.inf, -x)
    if mirrored:  # reflection, DLMF 5.15.6
        t = x - round(x)
        if t == 0.0:
            return math.inf if odd > 0 else math.nan
        reflected = odd * cotangent_derivative(n, t)
        x = 1.0 - x
    # n! zeta(n+1, x) by Euler and Maclaurin, DLMF 25.11.5, from where its terms fall quickly
    power = factorial_over_power(n, x)
    while x < 15.0 + n / 2.0 and power > 1e-19 * total:
        total += power
        x += 1.0
        power = factorial_over_power(n, x)
    if total == 0.0 or power > 1e-19 * total:  # far out, power underflows before the integral does
        total += factorial_over_power(n - 1, x) + 0.5 * power
        scale = power * (n + 1) / x
        for j in range(10):
            total += bernoulli(j) * scale
            scale *= (n + 2.0 * j + 2.0) * (n + 2.0 * j + 3.0) / (x * x)
    return reflected - total if mirrored else odd * total


def polygamma(order: Any, x: Any) -> Any:
    """Return a derivative of digamma."""
    return each(polygamma_of_number, order, x)


def polygamma_gap_of_number(order: float, x: float, d: float) -> float:
    """Return polygamma(n, x + d) - polygamma(n, x), without their cancellation where d is small."""
    if math.isnan(x) or math.isnan(d) or not 0 <= order <= 100:
        return math.nan
    n = int(order)
    if not x > 0 or not x + d > 0 or x + d > 1e300 or d > 3 * x or d < -0.5 * x:
        return polygamma_of_number(order, x + d) - polygamma_of_number(order, x)
    if d == 0.0:
        return 0.0
    total, above = 0.0, 15.0 + n / 2.0 - min(d, 0.0)
    while x < above:  # terms of n! zeta(n+1, x), DLMF 25.11.1
        total += factorial_over_power(n, x) * math.expm1(-(n + 1) * math.log1p(d / x))
        x += 1.0
    # the rest by Euler and Maclaurin, DLMF 25.11.5
    wide, far = math.log1p(d / x), factorial_over_power(n, x)
    total += factorial_over_power(n - 1, x) * math.expm1(-n * wide) if n else -wide
    total += 0.5 * far * math.expm1(-(n + 1) * wide)
    scale = far * (n + 1) / x
    for j in range(10):
        total += bernoulli(j) * scale * math.expm1(-(n + 2 + 2 * j) * wide)
        scale *= (n + 2.0 * j + 2.0) * (n + 2.0 * j + 3.0) / (x * x)
    return total if n % 2 else -total


def polygamma_gap(order: Any, x: Any, d: Any) -> Any:
    """Return polygamma(order, x + d) - polygamma(order, x)."""
    return each(polygamma_gap_of_number, order, x, d)


def stirling(j: int) -> float:
    """Return B(2j + 2) / ((2j + 1) (2j + 2)), the coefficients of DLMF 5.11.1."""
    return [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400][j]


def lgamma_gap(x: float, d: float) -> float:
    """Return log(gamma(x + d) / gamma(x)) for x > 0 and d > 0, without the cancellation of large logarithms."""
    total = 0.0
    while x < 15.0:  # DLMF 5.5.1
        total -= math.log1p(d / x)
        x += 1.0
    wide = math.log1p(d / x)
    total += d * (math.log(x + d) - 1.0) + (x - 0.5) * wide  # DLMF 5.11.1
    power = 1.0 / x
    square = power * power
    for j in range(8):
        total += stirling(j) * power * math.expm1(-(2 * j + 1) * wide)
        power *= square
    return total


def log_gamma(x: float) -> float:
    """Return log(gamma(x)) for x > 0; beside its zeros the error is an absolute one."""
    if x < 1e-100:
        return -math.log(x)
    if x < 20.0:
        return math.log(math.gamma(x))
    power = 1.0 / x
    square, total = power * power, 0.9189385332046728 + ((x - 0.5) * math.log(x) - x)
    for j in range(8):
        total += stirling(j) * power
        power *= square
    return total


def betaln_of_number(a: float, b: float) -> float:
    """Return log(abs(beta(a, b))); beside its zeros the error is an absolute one."""
    if math.isnan(a) or math.isnan(b):
        return math.nan
    small, large = min(a, b), max(a, b)
    if small > 0 and large < 1e300:
        return log_gamma(small) - lgamma_gap(large, small)
    size = abs(beta_of_gammas(small, large))
    return math.log(size) if size > 0 else size - math.inf


def beta_of_gammas(small: float, large: float) -> float:
    """Return beta by gamma functions, which overflow."""
    below = gamma_of_number(small + large)
    if below == 0.0 or math.isnan(below):
        return math.nan
    return gamma_of_number(small) * (gamma_of_number(large) / below)


def betaln(a: Any, b: Any) -> Any:
    """Return log(abs(beta(a, b)))."""
    return each(betaln_of_number, a, b)


def beta_of_number(a: float, b: float) -> float:
    """Return gamma(a) gamma(b) / gamma(a + b); its relative error is that of its logarithm."""
    small, large = min(a, b), max(a, b)
    if small > 0 and large < 1e300:
        power = betaln_of_number(a, b)
        return math.exp(power) if power < 709.78 else math.inf
    return beta_of_gammas(small, large)


def beta(a: Any, b: Any) -> Any:
    """Return the beta function."""
    return each(beta_of_number, a, b)


def zeta_of_number(s: float, q: float) -> float:
    """Return Hurwitz's zeta function for s > 1 and q > 0 by Euler and Maclaurin, DLMF 25.11.5."""
    if math.isnan(s) or math.isnan(q) or s < 1 or q < 0:
        return math.nan
    if s == 1 or q == 0:
        return math.inf
    if s == math.inf:
        return 0.0 if q > 1 else 1.0 if q == 1 else math.inf
    if q == math.inf:
        return 0.0
    if q < 1 and -s * math.log(q) > 709.7:
        return math.inf
    total, power = 0.0, math.pow(q, -s)
    # what is left is about power (1 + q / (s - 1)), which near s = 1 is far more than its first term
    while q < 15.0 + s / 2.0 and power * (1.0 + q / (s - 1.0)) > 1e-19 * total:
        total += power
        q += 1.0
        power = math.pow(q, -s)
    if total > 0 and power * (1.0 + q / (s - 1.0)) <= 1e-19 * total:
        return total
    total += math.pow(q, 1.0 - s) / (s - 1.0) + 0.5 * power  # far out, power underflows before the integral does
    scale = power * s / q
    for j in range(10):
        total += bernoulli(j) * scale
        scale *= (s + 2.0 * j + 1.0) * (s + 2.0 * j + 2.0) / (q * q)
    return total


def zeta(s: Any, q: Any) -> Any:
    """Return Hurwitz's zeta function."""
    return each(zeta_of_number, s, q)
