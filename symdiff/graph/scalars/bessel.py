"""Rows of Bessel functions.

Sources are sections of the NIST Digital Library of Mathematical Functions (DLMF).
"""

from __future__ import annotations

from .. import Node, constant, elementwise
from .making import ANY, NONE, named, order_of, row, unary

sign, i0, i1 = named("sign"), named("i0"), named("i1")


def _moment(order: float, x: Node) -> Node:
    return elementwise("i_moment", (constant(order), x))


def _spherical(n: Node, x: Node, f: Node) -> Node:
    # (2n+1) j_n' = n j_(n-1) - (n+1) j_(n+1): no division by x, so exact at 0
    order = order_of(n)
    below = elementwise("spherical_jn", (constant(abs(order - 1.0)), x))
    above = elementwise("spherical_jn", (constant(order + 1.0), x))
    return constant(order / (2 * order + 1)) * below - constant((order + 1) / (2 * order + 1)) * above


# Modified Bessel functions, scaled                       DLMF 10.25
# the mean of (1 - cos t)^n exp(-|x| (1 - cos t)), DLMF 10.32.1: i1e(x) - i0e(x), the slope as books have it, cancels
row("i_moment", (NONE, lambda n, x, f: -(sign(x) * _moment(order_of(n) + 1.0, x))), ((1.0, 1.0), (0.1, 3.0)),
    numpy="i_moment", source="10.32.1", special="sd_i_moment", orders=10)
unary("i0e", lambda x, f: -(sign(x) * _moment(1.0, x)), (0.1, 3.0), numpy="special.i0e", source="10.32.1",
      library="i0e")
unary("i1e", lambda x, f: _moment(2.0, x) - _moment(1.0, x), (0.1, 3.0), numpy="special.i1e", source="10.32.1",
      library="i1e")

# Spherical Bessel functions
row("spherical_jn", (NONE, _spherical), ((2.0, 2.0), ANY), numpy="spherical_jn", source="10.51.2",
    special="sd_spherical_jn", orders=100)
