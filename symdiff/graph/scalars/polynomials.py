"""Orthogonal polynomials of a degree known beforehand, by recurrences (DLMF 18.9); products of gamma functions.

What is differentiated is the recurrence, so that a derivative of any order is right everywhere, at the ends of the
interval too, where the closed relations divide by zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...errors import UnsupportedError
from .. import Node, as_node, broadcast_to, constant
from .functions import apply, scalar_constant

__all__ = ["POLYNOMIALS", "factorial", "multigammaln", "sph_harm_y_imag", "sph_harm_y_real"]

#: Degrees up to which a polynomial is written out.
DEGREES = 200


def degree_of(name: str, n: Node | float) -> int:
    """Return a degree that is a whole number known beforehand."""
    degree = scalar_constant(n) if isinstance(n, Node) else float(n)
    if degree is None or not degree.is_integer() or not 0 <= degree <= DEGREES:
        came = "that is no constant" if degree is None else f"{degree:g}"
        raise UnsupportedError(f"{name} of a degree {came}; expected a whole number from 0 to {DEGREES}")
    return int(degree)


def _recurrence(n: int, first: Node, step: Callable[[int, Node, Node], Node]) -> Node:
    """Return the polynomial of degree ``n``, whose successors come from the two before them."""
    before, here = broadcast_to(constant(1.0), first.shape), first
    if n == 0:
        return before
    for k in range(1, n):
        before, here = here, step(k, before, here)
    return here


def eval_legendre(n: Node | float, x: Node) -> Node:
    """Return the Legendre polynomial of degree ``n`` (DLMF 18.9.1)."""
    degree = degree_of("eval_legendre", n)
    return _recurrence(degree, x, lambda k, p, q: ((2 * k + 1) * (x * q) - k * p) / (k + 1))


def eval_chebyt(n: Node | float, x: Node) -> Node:
    """Return the Chebyshev polynomial of the first kind (DLMF 18.9.1)."""
    return _recurrence(degree_of("eval_chebyt", n), x, lambda k, p, q: 2.0 * (x * q) - p)


def eval_chebyu(n: Node | float, x: Node) -> Node:
    """Return the Chebyshev polynomial of the second kind (DLMF 18.9.1)."""
    return _recurrence(degree_of("eval_chebyu", n), 2.0 * x, lambda k, p, q: 2.0 * (x * q) - p)


def eval_hermite(n: Node | float, x: Node) -> Node:
    """Return the physicists' Hermite polynomial (DLMF 18.9.1)."""
    return _recurrence(degree_of("eval_hermite", n), 2.0 * x, lambda k, p, q: 2.0 * (x * q) - (2.0 * k) * p)


def eval_hermitenorm(n: Node | float, x: Node) -> Node:
    """Return the probabilists' Hermite polynomial (DLMF 18.9.1)."""
    return _recurrence(degree_of("eval_hermitenorm", n), x, lambda k, p, q: x * q - float(k) * p)


def eval_genlaguerre(n: Node | float, alpha: Node | float, x: Node) -> Node:
    """Return the generalized Laguerre polynomial (DLMF 18.9.13)."""
    a, degree = as_node(alpha), degree_of("eval_genlaguerre", n)
    return _recurrence(
        degree, 1.0 + a - x, lambda k, p, q: ((2.0 * k + 1.0 + a - x) * q - (k + a) * p) / (k + 1.0)
    )


def eval_laguerre(n: Node | float, x: Node) -> Node:
    """Return the Laguerre polynomial (DLMF 18.9.13)."""
    return eval_genlaguerre(degree_of("eval_laguerre", n), 0.0, x)


def _spherical(n: Node | float, m: Node | float, theta: Node) -> tuple[Node, int]:
    """Return the factor of a spherical harmonic that depends on the angle from the pole, and m."""
    degree, order = degree_of("sph_harm_y", n), scalar_constant(m) if isinstance(m, Node) else float(m)
    if order is None or not order.is_integer():
        raise UnsupportedError("sph_harm_y of an order that is no constant whole number; expected one from -n to n")
    most = int(abs(order))
    if most > degree:
        return broadcast_to(constant(0.0), theta.shape), int(order)
    x, first = apply("cos", theta), math.sqrt(0.25 / math.pi)
    for k in range(1, most + 1):
        first *= -math.sqrt((2 * k + 1) / (2 * k))
    before, here = broadcast_to(constant(0.0), theta.shape), broadcast_to(constant(first), theta.shape)
    if most:
        here = first * apply("power", apply("sin", theta), float(most))
    for k in range(most + 1, degree + 1):  # DLMF 14.10.3, normalized, so that no factor overflows
        scale = math.sqrt((4 * k * k - 1) / (k * k - most * most))
        less = math.sqrt(((k - 1) ** 2 - most * most) / (4 * (k - 1) ** 2 - 1))
        before, here = here, scale * (x * here - less * before)
    return (-here if order < 0 and most % 2 else here), int(order)


def sph_harm_y_real(n: Node | float, m: Node | float, theta: Node, phi: Node) -> Node:
    """Return the real part of a spherical harmonic at the angles from the pole and around it (DLMF 14.30.1)."""
    factor, order = _spherical(n, m, theta)
    return factor * apply("cos", float(order) * phi)


def sph_harm_y_imag(n: Node | float, m: Node | float, theta: Node, phi: Node) -> Node:
    """Return the imaginary part of a spherical harmonic (DLMF 14.30.1)."""
    factor, order = _spherical(n, m, theta)
    return factor * apply("sin", float(order) * phi)


def factorial(x: Node) -> Node:
    """Return gamma(x + 1) (DLMF 5.4.1)."""
    return apply("gamma", x + 1.0)


def multigammaln(a: Node, d: Node | float) -> Node:
    """Return the logarithm of the multivariate gamma function of a dimension known beforehand (DLMF 35.3.4)."""
    size = degree_of("multigammaln", d)
    if not size:
        raise UnsupportedError("multigammaln of dimension 0; expected a whole number from 1 on")
    total = apply("lgamma", a)
    for j in range(1, size):
        total = total + apply("lgamma", a - 0.5 * j)
    return total + 0.25 * size * (size - 1) * math.log(math.pi)


#: Functions whose first argument is a degree, and how many arrays follow it.
POLYNOMIALS: dict[str, tuple[Callable[..., Node], int]] = {
    **{
        f.__name__: (f, 1)
        for f in (eval_legendre, eval_chebyt, eval_chebyu, eval_hermite, eval_hermitenorm, eval_laguerre)
    },
    "eval_genlaguerre": (eval_genlaguerre, 2),
}
