"""The logarithm of ``a**y Γ(y + 1/a) / Γ(1/a)``, which is that of a product of ``1 + k a``, and its slopes by a.

The likelihood of a negative binomial count has it. As it is written, it loses all digits where a is small: both
logarithms of Γ grow as log(a) / a. There it is Stirling's series, written so that nothing cancels:

    y**2 a r(y a) + (y - 1/2) log(1 + y a) + sum of c_m ((a / (1 + y a))**m - a**m),    r(u) = (log(1 + u) - u) / u**2

Sources are sections of the NIST Digital Library of Mathematical Functions (DLMF).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .. import BOOL, Node, constant, elementwise
from .functions import compare, where
from .making import NONE, POSITIVE, named, next_order, order_of, row

log, log1p, lgamma, digamma, power = (named(name) for name in ("log", "log1p", "lgamma", "digamma", "power"))
polygamma_gap = named("polygamma_gap")

#: Powers and coefficients of Stirling's series. DLMF 5.11.1
_STIRLING = (
    (1, 1 / 12), (3, -1 / 360), (5, 1 / 1260), (7, -1 / 1680), (9, 1 / 1188), (11, -691 / 360360), (13, 1 / 156),
)  # fmt: skip
#: Up to which a the series is taken.
_SMALL = 0.04


def _near(order: int, y: Node, a: Node) -> Node:
    """Return the derivative of an order by a of the series."""
    whole, u = 1.0 + y * a, y * a

    def remainder(n: int) -> Node:
        return elementwise("log1p_remainder_2", (constant(float(n)), u))

    first = power(y, 2.0 + order) * (a * remainder(order))
    if order:
        first = first + order * power(y, 1.0 + order) * remainder(order - 1)
    total = first + (y - 0.5) * _logarithm(order, y, a)
    for m, c in _STIRLING:
        total = total + c * (_share(order, m, y, a, whole) - _falling(m, order) * _raised(a, m - order))
    return total


def _logarithm(order: int, y: Node, a: Node) -> Node:
    """Return the derivative of an order by a of log(1 + y a)."""
    if order == 0:
        return log1p(y * a)
    whole = 1.0 + y * a
    return math.factorial(order - 1) * (-1.0) ** (order - 1) * power(y / whole, float(order))


def _share(order: int, m: int, y: Node, a: Node, whole: Node) -> Node:
    """Return the derivative of an order by a of (a / (1 + y a))**m."""
    total = constant(0.0)
    for i in range(min(order, m) + 1):
        j = order - i
        outer = _falling(m, i) * math.comb(order, i) * (-1.0) ** j * math.prod(range(m, m + j))
        total = total + outer * (_raised(a, m - i) * _raised(y, j) / power(whole, float(m + j)))
    return total


def _falling(m: int, n: int) -> float:
    return float(math.prod(range(m - n + 1, m + 1)))


def _raised(x: Node, n: int) -> Node:
    return constant(1.0) if n <= 0 else power(x, float(n))


def _terms(order: int, first: int) -> dict[tuple[int, int], float]:
    """Return the coefficients of n**p f_j, by p and j, in a derivative of f_(first - 1)(n) + log(a) by a, n = 1 / a.

    The order is 1 or more. Each f_j is the derivative by n of the one before, and j = -1 stands for the constant 1.
    """
    terms = {(2, first): -1.0, (1, -1): 1.0}
    for _ in range(order - 1):
        following: dict[tuple[int, int], float] = {}
        for (p, j), c in terms.items():
            following[p + 1, j] = following.get((p + 1, j), 0.0) - p * c
            if j >= 0:
                following[p + 2, j + 1] = following.get((p + 2, j + 1), 0.0) - c
        terms = following
    return terms


def _total(terms: dict[tuple[int, int], float], n: Node, function: Callable[[int], Node], one: Node) -> Node:
    total = constant(0.0)
    for (p, j), c in terms.items():
        total = total + c * (power(n, float(p)) * (one if j < 0 else function(j)))
    return total


def _far(order: int, y: Node, a: Node) -> Node:
    """Return the derivative of an order by a, by derivatives of log Γ."""
    n = 1.0 / a
    if order == 0:
        return y * (elementwise("lgamma_difference", (constant(0.0), y + n, n)) + log(a))
    return _total(_terms(order, 0), n, lambda j: polygamma_gap(constant(float(j)), n, y), y)


def _computed(order: Node, y: Node, a: Node) -> Node:
    k = int(order_of(order))
    return where(_is_small(y, a), _near(k, y, a), _far(k, y, a))


def _is_small(y: Node, a: Node) -> Node:
    return elementwise("logical_and", (compare("less", a, _SMALL), compare("less", 0.0, y)), BOOL)


def _written(order: Node, y: Node, a: Node) -> Node:
    n, k = 1.0 / a, int(order_of(order))
    if k == 0:
        return lgamma(y + n) - lgamma(n) + y * log(a)
    return n * (y - n * (digamma(y + n) - digamma(n))) if k == 1 else _far(k, y, a)


def _slope_computed(order: Node, y: Node, a: Node) -> Node:
    k, whole = int(order_of(order)), 1.0 + y * a
    near = _logarithm(k, y, a) - 0.5 * _share(k, 1, y, a, whole)
    for m, c in _STIRLING:
        near = near - m * c * _share(k, m + 1, y, a, whole)
    return where(_is_small(y, a), near, _slope_written(order, y, a))


def _slope_written(order: Node, y: Node, a: Node) -> Node:
    n, k = 1.0 / a, int(order_of(order))
    if k == 0:
        return digamma(y + n) + log(a)
    return _total(_terms(k, 1), n, lambda j: _polygamma(j, y + n), constant(1.0))


def _polygamma(n: int, x: Node) -> Node:
    return elementwise("polygamma", (constant(float(n)), x))


def _slope_by_count(order: Node, y: Node, a: Node, f: Node) -> Node:
    n, k = 1.0 / a, int(order_of(order))
    if k == 0:
        return _polygamma(1, y + n)
    return _total({key: c for key, c in _terms(k, 1).items() if key[1] >= 0}, n, lambda j: _polygamma(j + 1, y + n), n)


def _slope_by_a(order: Node, y: Node, a: Node, f: Node) -> Node:
    return elementwise("log_rising_slope", (next_order(order), y, a))


def _by_count(order: Node, y: Node, a: Node, f: Node) -> Node:
    return elementwise("log_rising_slope", (order, y, a))


def _by_a(order: Node, y: Node, a: Node, f: Node) -> Node:
    return elementwise("log_rising", (next_order(order), y, a))


row("log_rising", (NONE, _by_count, _by_a), ((0.0, 0.0), POSITIVE, POSITIVE), numpy="", source="5.11.1",
    expansion=_computed, written=_written, orders=10, singular=True)
row("log_rising_slope", (NONE, _slope_by_count, _slope_by_a), ((0.0, 0.0), POSITIVE, POSITIVE), numpy="",
    source="5.11.2", expansion=_slope_computed, written=_slope_written, orders=10, singular=True)
