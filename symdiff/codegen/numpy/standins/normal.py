"""Error functions without their exponential, their inverses, and the normal distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .basic import each, erfc, product_error

__all__ = [
    "erfcinv",
    "erfcx",
    "erfinv",
    "ierfcx",
    "log_ndtr",
    "log_ndtr_derivative",
    "ndtr",
    "ndtri",
]


def erfcx_beside_zero(x: float) -> float:
    """Return exp(x^2) erfc(x) where erfc does not vanish; the square's rounding error is made good."""
    square = x * x
    if square > 709.7:
        return math.inf if x < 0 else 0.0
    return math.exp(square) * (1.0 + product_error(x, x)) * math.erfc(x)


def ierfcx_quotients(count: int, x: float) -> Any:
    """Return I(k) / I(k-1), k = 0 to count, of I(k) = exp(x^2) i^k erfc(x) for x > 0, downward (DLMF 7.18.7)."""
    start = count + 12 + int(220.0 / (x * x) + 30.0 * math.sqrt(count) / x)
    q = 1.0 / (x + math.sqrt(x * x + 2.0 * start))
    found = [0.0] * (count + 1)
    for k in range(start - 1, -1, -1):
        q = 1.0 / (2.0 * (x + (k + 1) * q))
        if k <= count:
            found[k] = q
    return found


def ierfcx_of_number(order: float, x: float) -> float:
    """Return exp(x^2) i^n erfc(x), the repeated integrals of the error function, for 0 <= n <= 30."""
    if math.isnan(x) or not 0 <= order <= 30:
        return math.nan
    if x == math.inf:
        return 0.0
    n = int(order)
    if x > 1e8:  # DLMF 7.18.14
        return 1.1283791670955126 * (0.5 / x) ** (n + 1)
    if x < (0.6 if n else 10.0):  # upward recurrence, DLMF 7.18.7: terms of one sign below 0
        before, here = 1.1283791670955126, erfcx_beside_zero(x)
        for k in range(1, n + 1):
            before, here = here, (0.5 * before - x * here) / k
        return here
    value = 1.1283791670955126
    for quotient in ierfcx_quotients(n, x):
        value *= quotient
    return value


def ierfcx(order: Any, x: Any) -> Any:
    """Return exp(x^2) i^n erfc(x); between 0 and 0.6 the error grows with the order, to 1e-12 of order 30."""
    return each(ierfcx_of_number, order, x)


def erfcx(x: Any) -> Any:
    """Return exp(x^2) erfc(x)."""
    return each(ierfcx_of_number, 0.0, x)


def ndtr(x: Any) -> Any:
    """Return the standard normal distribution's integral up to x."""
    return 0.5 * erfc(-0.7071067811865476 * np.asarray(x))


def log_ndtr_of_number(x: float) -> float:
    """Return the logarithm of the standard normal distribution's integral."""
    if x < -1.0:  # the tail by erfc without its exponential, so that nothing underflows
        if x == -math.inf:
            return x
        return math.log(0.5 * ierfcx_of_number(0.0, -0.7071067811865476 * x)) - 0.5 * (x * x)
    return math.log1p(-0.5 * math.erfc(0.7071067811865476 * x))


def log_ndtr(x: Any) -> Any:
    """Return log(ndtr(x))."""
    return each(log_ndtr_of_number, x)


def log_ndtr_derivative_of_number(order: float, x: float) -> float:
    """Return the derivative of order 1 <= n <= 10 of log(ndtr(x))."""
    if math.isnan(x) or not 1 <= order <= 10:
        return math.nan
    n = int(order)
    if x < -0.85:  # cumulants of the density exp(-t u - u^2 / 2) of u > 0, t = -x, from its moments
        if x == -math.inf:
            return math.inf if n == 1 else -1.0 if n == 2 else 0.0
        quotients = ierfcx_quotients(n, -0.7071067811865476 * x)
        moment = [1.0]
        for k in range(1, n + 1):
            moment.append(moment[k - 1] * quotients[k] * k * 1.4142135623730951)
        if n == 1:
            return moment[1] - x
        cumulant = [0.0]
        for k in range(1, n + 1):
            total, choose = moment[k], 1.0
            for j in range(1, k):
                total -= choose * cumulant[j] * moment[k - j]
                choose *= (k - j) / j
            cumulant.append(total)
        return cumulant[2] - 1.0 if n == 2 else cumulant[n]
    if x > 39.0:
        return 0.0
    # h = phi / Phi has h' = -h (x + h), differentiated by Leibniz's rule
    h = [0.7978845608028654 * math.exp(-0.5 * x * x) / math.erfc(-0.7071067811865476 * x)]
    g = [x + h[0]]
    for k in range(1, n):
        total, choose = 0.0, 1.0
        for j in range(k):
            total -= choose * h[j] * g[k - 1 - j]
            choose *= (k - 1 - j) / (j + 1.0)
        h.append(total)
        g.append(total + (k == 1))
    return h[n - 1] if h[0] else 0.0


def log_ndtr_derivative(order: Any, x: Any) -> Any:
    """Return a derivative of log(ndtr(x))."""
    return each(log_ndtr_derivative_of_number, order, x)


def erfinv_of_number(y: float) -> float:
    """Return x with erf(x) = y, by Newton's method; far out with the logarithm of erfc."""
    if not -1.0 <= y <= 1.0:
        return math.nan
    if abs(y) > 0.9:
        return math.copysign(erfcinv_of_tail(1.0 - abs(y)), y)
    x = 0.886226925452758 * y
    for _ in range(12):
        step = (math.erf(x) - y) * 0.886226925452758 * math.exp(x * x)
        x -= step / (1.0 + x * step)
        if abs(step) <= 1e-9 * abs(x):
            break
    return x


def erfcinv_of_tail(q: float) -> float:
    """Return x with erfc(x) = q, for 0 <= q <= 0.2."""
    if q == 0.0:
        return math.inf
    wanted = math.log(q)
    x = math.sqrt(-wanted)
    for _ in range(60):
        value = ierfcx_of_number(0.0, x)
        step = ((math.log(value) - x * x) - wanted) * value * 0.886226925452758
        x += step
        if abs(step) <= 1e-15 * x:
            break
    return x


def erfinv(y: Any) -> Any:
    """Return the inverse of erf."""
    return each(erfinv_of_number, y)


def erfcinv_of_number(y: float) -> float:
    """Return x with erfc(x) = y."""
    if not 0.0 <= y <= 2.0:
        return math.nan
    if 0.1 < y < 1.9:
        return erfinv_of_number(1.0 - y)
    return erfcinv_of_tail(y) if y < 1.0 else -erfcinv_of_tail(2.0 - y)


def erfcinv(y: Any) -> Any:
    """Return the inverse of erfc."""
    return each(erfcinv_of_number, y)


def ndtri_of_number(p: float) -> float:
    """Return x with ndtr(x) = p."""
    if not 0.0 <= p <= 1.0:
        return math.nan
    if 0.05 < p < 0.95:
        return 1.4142135623730951 * erfinv_of_number(2.0 * (p - 0.5))
    tail = 1.4142135623730951 * erfcinv_of_tail(2.0 * min(p, 1.0 - p))
    return -tail if p < 0.5 else tail


def ndtri(p: Any) -> Any:
    """Return the inverse of ndtr."""
    return each(ndtri_of_number, p)
