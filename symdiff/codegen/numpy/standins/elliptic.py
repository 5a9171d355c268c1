"""Complete elliptic integrals and their derivatives."""

from __future__ import annotations

import math
from typing import Any

from .basic import each

__all__ = ["ellipe", "ellipe_derivative", "ellipk", "ellipk_derivative", "ellipkm1"]


def gauss(a: float, b: float, k: int, z: float, x: float) -> float:
    """Return F(a, b; a + b + k; z) for 0 <= z < 1 and x = 1 - z > 0, where a and b are half of odd numbers."""
    c, term, total, finite, s = a + b + k, 1.0, 1.0, 0.0, 0
    if z <= 0.5:  # DLMF 15.2.1
        while s < 100 and term > 1e-18 * total:
            term *= (a + s) * (b + s) / ((c + s) * (s + 1)) * z
            total += term
            s += 1
        return total
    for s in range(1, k):
        term *= s  # DLMF 15.8.10
    for s in range(k):
        finite += term
        if s < k - 1:
            term *= -(a + s) * (b + s) * x / ((s + 1.0) * (k - s - 1))
    finite /= math.gamma(a + k) * math.gamma(b + k)
    psi = math.log(x) - 2.772588722239781  # digammas of halves, DLMF 5.4.15: less 4 log 2
    for start in (a, b):
        psi += math.fsum(1.0 / (j + 0.5) for j in range(round(start + k - 0.5)))
    for s in range(1, k + 1):
        psi -= 1.0 / s
    term, total, s = 1.0, 0.0, 0
    for j in range(1, k + 1):
        term *= -x / j
    while s < 100 and abs(term * psi) > 1e-19 * abs(total):
        total += term * psi
        psi += 1.0 / (a + k + s) + 1.0 / (b + k + s) - 1.0 / (s + 1.0) - 1.0 / (k + s + 1.0)
        term *= (a + k + s) * (b + k + s) * x / ((s + 1.0) * (k + s + 1.0))
        s += 1
    return math.gamma(c) * (finite - total / (math.gamma(a) * math.gamma(b)))


def elliptic_factor(n: int, start: float) -> float:
    """Return (1/2)_n (start)_n / n! pi / 2."""
    factor = 0.5 * math.pi
    for k in range(n):
        factor *= (0.5 + k) * (start + k) / (k + 1)
    return factor


def ellipk_derivative_of_number(order: float, p: float) -> float:
    """Return the derivative of order 1 <= n <= 10 of K by its parameter m, at m = 1 - p, DLMF 19.5.1."""
    if math.isnan(p) or p < 0 or not 1 <= order <= 10:
        return math.nan
    if p in (0, math.inf):
        return 0.0 if p else math.inf
    n = int(order)
    factor = elliptic_factor(n, 0.5)
    for _ in range(n):
        factor /= p
    if p <= 1:
        return factor * gauss(0.5, 0.5, n, 1.0 - p, p)
    return factor / math.sqrt(p) * gauss(n + 0.5, 0.5, 0, (p - 1.0) / p, 1.0 / p)


def ellipk_derivative(order: Any, p: Any) -> Any:
    """Return a derivative of K by its parameter, at 1 - p."""
    return each(ellipk_derivative_of_number, order, p)


def ellipe_derivative_of_number(order: float, p: float) -> float:
    """Return the derivative of order 1 <= n <= 10 of E by its parameter m, at m = 1 - p."""
    if math.isnan(p) or p < 0 or not 1 <= order <= 10:
        return math.nan
    if p in (0, math.inf):
        return 0.0 if p else -math.inf
    n = int(order)
    factor = elliptic_factor(n, -0.5)
    for _ in range(1, n):
        factor /= p
    if p <= 1:
        return factor * gauss(1.5, 0.5, n - 1, 1.0 - p, p)
    return factor / math.sqrt(p) * gauss(n - 0.5, 0.5, 1, (p - 1.0) / p, 1.0 / p)


def ellipe_derivative(order: Any, p: Any) -> Any:
    """Return a derivative of E by its parameter, at 1 - p."""
    return each(ellipe_derivative_of_number, order, p)


def ellipkm1_of_number(p: float) -> float:
    """Return K at the parameter 1 - p, by the arithmetic and geometric mean, DLMF 19.8.5."""
    if math.isnan(p) or p < 0:
        return math.nan
    if p in (0, math.inf):
        return 0.0 if p else math.inf
    a, g = 1.0, math.sqrt(p)
    while abs(a - g) > 1e-15 * a:
        a, g = 0.5 * (a + g), math.sqrt(a * g)
        if abs(a - g) < 4e-16 * a:
            break
    return 0.5 * math.pi / a


def ellipkm1(p: Any) -> Any:
    """Return the complete elliptic integral K at the parameter 1 - p."""
    return each(ellipkm1_of_number, p)


def ellipk_of_number(m: float) -> float:
    """Return K at the parameter m."""
    return ellipkm1_of_number(1.0 - m)


def ellipk(m: Any) -> Any:
    """Return the complete elliptic integral of the first kind."""
    return each(ellipk_of_number, m)


def ellipe_of_number(m: float) -> float:
    """Return E at the parameter m, by the arithmetic and geometric mean, DLMF 19.8.6."""
    if math.isnan(m) or m > 1:
        return math.nan
    if m in (1, -math.inf):
        return 1.0 if m == 1 else math.inf
    if m < 0:  # DLMF 19.7.2
        return math.sqrt(1.0 - m) * ellipe_of_number(m / (m - 1.0))
    a, g, power, rest = 1.0, math.sqrt(1.0 - m), 0.5, 0.5 * m
    for _ in range(40):
        c = 0.5 * (a - g)
        a, g = 0.5 * (a + g), math.sqrt(a * g)
        power *= 2.0
        rest += power * c * c
        if c < 1e-17:
            break
    return 0.5 * math.pi / a * (1.0 - rest)


def ellipe(m: Any) -> Any:
    """Return the complete elliptic integral of the second kind."""
    return each(ellipe_of_number, m)
