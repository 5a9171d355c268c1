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
    "owens_t",
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


def owens_t_beside_zero(h: float, a: float) -> float:
    """Return Owen's T for h >= 0 and 0 <= a <= 1, by Gauss's rule for its integral (Owen 1956)."""
    if h > 38.7:
        return 0.0
    nodes = (
        (0.09501250983763744, 0.1894506104550685),
        (0.2816035507792589, 0.18260341504492358),
        (0.45801677765722737, 0.16915651939500254),
        (0.6178762444026438, 0.14959598881657674),
        (0.755404408355003, 0.12462897125553388),
        (0.8656312023878318, 0.09515851168249279),
        (0.9445750230732326, 0.062253523938647894),
        (0.9894009349916499, 0.027152459411754096),
    )
    end = min(a, 9.5 / h) if h > 0 else a
    width = 0.125 * end
    signed = [(sign * node, weight) for node, weight in nodes for sign in (1, -1)]
    places = [((2 * panel + 1 + node) * width, weight) for panel in range(4) for node, weight in signed]
    terms = [weight * math.exp(-0.5 * (h * t) ** 2) / (1.0 + t * t) for t, weight in places]
    outside = math.exp(-0.5 * h * h) * (1.0 - 0.5 * product_error(h, h))
    return outside * width * math.fsum(terms) / (2.0 * math.pi)


def owens_t_of_number(h: float, a: float) -> float:
    """Return Owen's T, odd in a and even in h."""
    if math.isnan(h) or math.isnan(a):
        return math.nan
    h, size = abs(h), abs(a)
    if h == math.inf or a == 0:
        value = 0.0
    elif h == 0:
        value = math.atan(size) / (2.0 * math.pi)
    elif size <= 1.0:
        value = owens_t_beside_zero(h, size)
    else:  # of what lies above both limits
        one, other = 0.5 * math.erfc(0.7071067811865476 * h), 0.5 * math.erfc(0.7071067811865476 * h * size)
        value = 0.5 * (one + other) - one * other - owens_t_beside_zero(h * size, 1.0 / size)
    return math.copysign(value, a)


def owens_t(h: Any, a: Any) -> Any:
    """Return Owen's T function."""
    return each(owens_t_of_number, h, a)
