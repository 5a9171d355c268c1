"""Exponential, sine, cosine, Fresnel's and Dawson's integrals, and Lambert's W."""

from __future__ import annotations

import math
from typing import Any

from .basic import each, product_error

__all__ = ["ci", "dawsn", "exp1", "expi", "expn", "fresnelc", "fresnels", "lambertw", "lambertwm1", "si", "spence"]


def e1_turned(x: float) -> tuple[float, float]:
    """Return Re and Im of exp(ix) E1(ix), x >= 4, by the continued fraction DLMF 6.9.1, from its end."""
    many = 12 + (int(400.0 / x) if x < 400.0 else 0)
    re, im = 1.0 + 2.0 * many, x
    for i in range(many, 0, -1):
        size = i * i / (re * re + im * im)
        re, im = 2.0 * i - 1.0 - size * re, x + size * im
    size = im * (1.0 + re / im * (re / im))
    return re / im / size, -1.0 / size


def si_of_number(x: float) -> float:
    """Return the sine integral, DLMF 6.2.9."""
    if math.isnan(x):
        return x
    a = abs(x)
    if a == math.inf:
        return math.copysign(0.5 * math.pi, x)
    if a < 4.0:  # DLMF 6.6.5
        term = total = x
        for k in range(1, 30):
            term *= -x * x / ((2.0 * k) * (2 * k + 1))
            total += term / (2 * k + 1)
        return total
    re, im = e1_turned(a)
    return math.copysign(0.5 * math.pi + (math.cos(a) * im - math.sin(a) * re), x)


def si(x: Any) -> Any:
    """Return the sine integral."""
    return each(si_of_number, x)


def ci_of_number(x: float) -> float:
    """Return the cosine integral of abs(x), DLMF 6.2.11; beside its zeros the error is an absolute one."""
    if math.isnan(x):
        return x
    a = abs(x)
    if a in (math.inf, 0.0):
        return 0.0 if a else -math.inf
    if a < 4.0:  # DLMF 6.6.6
        term, total = 1.0, 0.0
        for k in range(1, 30):
            term *= -x * x / ((2.0 * k) * (2 * k - 1))
            total += term / (2 * k)
        return 0.5772156649015329 + math.log(a) + total
    re, im = e1_turned(a)
    return -(math.cos(a) * re + math.sin(a) * im)


def ci(x: Any) -> Any:
    """Return the cosine integral."""
    return each(ci_of_number, x)


def fresnel_of_number(x: float) -> tuple[float, float]:
    """Return both of Fresnel's integrals, DLMF 7.2.7 and 7.2.8, for x >= 0."""
    if x > 1e17:
        return 0.5, 0.5
    square, rest = x * x, product_error(x, x)
    if x < 1.5:  # DLMF 7.6.4 and 7.6.6
        term, t, s, c = x, 0.5 * math.pi * square, 0.0, 0.0
        for k in range(30):
            c += term / (4 * k + 1)
            term *= t / (2 * k + 1)
            s += term / (4 * k + 3)
            term *= -t / (2 * k + 2)
        return s, c
    # erfc's continued fraction, DLMF 7.9.2, at (1 - i) sqrt(pi) x / 2, from its end
    many = 12 + (int(150.0 / square) if x < 12.0 else 0)
    turn = -math.pi * square
    re, im = 1.0 + 4.0 * many, turn
    for j in range(many, 0, -1):
        size = -(2.0 * j - 1.0) * (2.0 * j) / (re * re + im * im)
        re, im = 4.0 * j - 3.0 + size * re, turn - size * im
    size = x / (re * re + im * im)
    hr, hi = size * (re - im), -size * (re + im)
    phase = 0.5 * math.pi * (math.fmod(square, 4.0) + rest)
    cosine, sine = math.cos(phase), math.sin(phase)
    pr, pi = cosine * hr - sine * hi, cosine * hi + sine * hr
    return 0.5 * ((1.0 - pr) - pi), 0.5 * ((1.0 - pr) + pi)


def fresnels_of_number(x: float) -> float:
    """Return Fresnel's sine integral."""
    return x if math.isnan(x) else math.copysign(fresnel_of_number(abs(x))[0], x)


def fresnels(x: Any) -> Any:
    """Return Fresnel's sine integral."""
    return each(fresnels_of_number, x)


def fresnelc_of_number(x: float) -> float:
    """Return Fresnel's cosine integral."""
    return x if math.isnan(x) else math.copysign(fresnel_of_number(abs(x))[1], x)


def fresnelc(x: Any) -> Any:
    """Return Fresnel's cosine integral."""
    return each(fresnelc_of_number, x)


def lambert_of_number(x: float, lower: bool) -> float:
    """Return w of w exp(w) = x on one branch, DLMF 4.13; ``lower`` below -1."""
    # DLMF 4.13.6: w in powers of sqrt(2 (e x + 1))
    branch = [
        *(-1.0, 1.0, -0.3333333333333333, 0.1527777777777778),
        *(-0.07962962962962963, 0.044502314814814814, -0.02598471487360376, 0.01563563253233392),
        *(-0.009616892024299432, 0.006014543252956118, -0.0038112980348919993, 0.0024408779911439826),
        *(-0.0015769303446867841, 0.0010262633205076071, -0.0006720616311561362, 0.0004424730618146209),
        *(-0.00029267722472962746, 0.00019438727605453933, -0.00012957426685274883, 8.665035805208128e-05),
        *(-5.811360750441382e-05, 3.907668486743905e-05, -2.63380647472311e-05, 1.7790345805079586e-05),
    ]
    power = 2.718281828459045 * x
    t = (power + 1.0) + (product_error(2.718281828459045, x) if abs(x) < 1.0 else 0.0) + 1.4456468917292502e-16 * x
    if math.isnan(x) or t < -4e-16 or (lower and x > 0):
        return math.nan
    if x in (0.0, math.inf):
        return -math.inf if lower else x
    p = math.sqrt(2.0 * t) if t > 0 else 0.0
    p = -p if lower else p
    if abs(p) < 0.4:
        w = 0.0
        for coefficient in reversed(branch):
            w = w * p + coefficient
        return w
    if lower:
        size = math.log(-x)
        turned = math.log(-size)
        w = -1.0 + p * (1.0 - p / 3.0) if x < -0.25 else size - turned + turned / size
    else:
        size = math.log1p(x)
        w = size * (1.0 - math.log1p(size) / (2.0 + size))
    for _ in range(3):  # Fritsch, Shafer and Crowley, "Algorithm 443" (1973)
        z = (math.log(x / w) if abs(w) > 1e-290 else 0.0) - w
        q = 2.0 * (1.0 + w) * (1.0 + w + 2.0 * z / 3.0)
        w *= 1.0 + z / (1.0 + w) * (q - z) / (q - 2.0 * z)
    return w


def lambertw_of_number(x: float) -> float:
    """Return Lambert's W on its main branch."""
    return lambert_of_number(x, False)


def lambertw(x: Any) -> Any:
    """Return Lambert's W on its main branch."""
    return each(lambertw_of_number, x)


def lambertwm1_of_number(x: float) -> float:
    """Return W on the branch -1."""
    return lambert_of_number(x, True)


def lambertwm1(x: Any) -> Any:
    """Return W on the branch -1, from -1/e to 0."""
    return each(lambertwm1_of_number, x)


def exp1_of_number(x: float) -> float:
    """Return the exponential integral E1, DLMF 6.2.1, for x > 0."""
    if math.isnan(x) or x < 0:
        return math.nan
    if x == 0 or x > 745.0:
        return math.inf if x == 0 else 0.0
    if x < 1.0:  # DLMF 6.6.2
        term, total = -1.0, 0.0
        for k in range(1, 25):
            term *= -x / k
            total += term / k
        return total - 0.5772156649015329 - math.log(x)
    # DLMF 6.9.1, from its end
    many = 20 + int(400.0 / x)
    tail = x + 1.0 + 2.0 * many
    for k in range(many, 0, -1):
        tail = x + 2.0 * k - 1.0 - k * k / tail
    return math.exp(-x) / tail


def exp1(x: Any) -> Any:
    """Return the exponential integral E1."""
    return each(exp1_of_number, x)


def expn_of_number(order: float, x: float) -> float:
    """Return the exponential integral of order 0 <= n <= 100, DLMF 8.19.3, for x > 0."""
    if math.isnan(x) or x < 0 or not 0 <= order <= 100:
        return math.nan
    n = int(order)
    if x == 0:
        return 1.0 / (n - 1.0) if n > 1 else math.inf
    if x > 745.0:
        return 0.0
    if n == 0:
        return math.exp(-x) / x
    if x < 1.0:  # upward recurrence, DLMF 8.19.12: errors fall by x / n
        value = exp1_of_number(x)
        for k in range(1, n):
            value = (math.exp(-x) - x * value) / k
        return value
    # DLMF 8.19.17, from its end
    many = 20 + int(400.0 / x)
    tail = x + n + 2.0 * many
    for k in range(many, 0, -1):
        tail = x + n + 2.0 * k - 2.0 - k * (n + k - 1.0) / tail
    return math.exp(-x) / tail


def expn(order: Any, x: Any) -> Any:
    """Return the exponential integral E_n."""
    return each(expn_of_number, order, x)


def expi_of_number(x: float) -> float:
    """Return the exponential integral Ei, DLMF 6.2.5; beside its zero the error is an absolute one."""
    if math.isnan(x) or x == 0:
        return x if x else -math.inf
    if x < 0:
        return -exp1_of_number(-x)
    if x > 716.4:
        return math.inf
    if x < 40.0:  # DLMF 6.6.2: terms of one sign
        term, total, k = 1.0, 0.0, 0
        while k < 200:
            k += 1
            term *= x / k
            total += term / k
        return 0.5772156649015329 + math.log(x) + total
    term = total = 1.0  # DLMF 6.12.2
    for k in range(1, 40):
        term *= k / x
        total += term
        if term < 1e-17:
            break
    half = math.exp(0.5 * x)
    return half * (total / x) * half


def expi(x: Any) -> Any:
    """Return the exponential integral Ei."""
    return each(expi_of_number, x)


def dawsn_of_number(x: float) -> float:
    """Return Dawson's integral, DLMF 7.2.5, by Rybicki's sum."""
    if math.isnan(x):
        return x
    a = abs(x)
    if a < 0.5:  # Taylor's series, from D' = 1 - 2 x D
        term = total = x
        for k in range(1, 25):
            term *= -2.0 * x * x / (2 * k + 1)
            total += term
        return total
    if a > 50.0:  # DLMF 7.12.1
        square = 2.0 * min(a, 1e150) ** 2
        return (1.0 + (1.0 + (3.0 + (15.0 + 105.0 / square) / square) / square) / square) / (2.0 * x)
    step, total = 0.2, 0.0
    middle = 2 * round(0.5 * a / step)
    for k in range(middle - 59, middle + 61, 2):
        total += math.exp(-((a - k * step) ** 2)) / k
    return math.copysign(total * 0.5641895835477563, x)


def dawsn(x: Any) -> Any:
    """Return Dawson's integral."""
    return each(dawsn_of_number, x)


def spence_of_number(x: float) -> float:
    """Return the dilogarithm of 1 - x, the integral of log(t) / (1 - t) from 1 to x, DLMF 25.12.2."""
    if math.isnan(x) or x < 0:
        return math.nan
    if x == 0.0:
        return math.pi**2 / 6.0
    if x == math.inf:
        return -math.inf
    if x > 2.0:  # DLMF 25.12.4
        return -spence_of_number(1.0 / x) - 0.5 * math.log(x) ** 2
    if x < 0.5:  # DLMF 25.12.6
        return math.pi**2 / 6.0 - math.log(x) * math.log1p(-x) - spence_of_number(1.0 - x)
    # in powers of -log(x), with Bernoulli's numbers: converges fast from 1/2 to 2
    u = -math.log(x)
    terms = [1 / 36, -1 / 3600, 1 / 211680, -1 / 10886400, 1 / 526901760, -691 / 16999766784000, 1 / 1120863744000]
    square, power, total = u * u, u * u * u, 0.0
    for number in terms:
        total += number * power
        power *= square
    return u - 0.25 * square + total


def spence(x: Any) -> Any:
    """Return the dilogarithm of 1 - x."""
    return each(spence_of_number, x)
