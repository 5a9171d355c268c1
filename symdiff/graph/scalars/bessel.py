"""Rows of Bessel and Airy functions.

Sources are sections of the NIST Digital Library of Mathematical Functions (DLMF).
"""

from __future__ import annotations

import math

from .. import BOOL, Node, constant, elementwise
from .functions import Formula, Interval, compare, where
from .making import ABSENT, ANY, NONE, named, order_of, row, unary

sign, j0, j1, jv, y0, y1, yv = (named(name) for name in ("sign", "j0", "j1", "jv", "y0", "y1", "yv"))
i0, i1, iv, ive, k0, k1, kv, kve = (named(name) for name in ("i0", "i1", "iv", "ive", "k0", "k1", "kv", "kve"))
airyai, airyaiprime, airybi, airybiprime = (
    named(name) for name in ("airyai", "airyaiprime", "airybi", "airybiprime")
)
absolute, exp, floor, gamma, power = (named(name) for name in ("abs", "exp", "floor", "gamma", "power"))

#: Orders, and arguments that none of the functions has a zero near.
ORDERS: Interval = (0.2, 3.7)
NEAR: Interval = (0.3, 2.0)
#: From where on two terms of Debye's expansion have all digits.
FAR = 1e8


def _moment(order: float, x: Node) -> Node:
    return elementwise("i_moment", (constant(order), x))


def _k_moment(order: float, v: Node, x: Node) -> Node:
    return elementwise("k_moment", (constant(order), v, x))


def _spherical(n: Node, x: Node, f: Node) -> Node:
    # (2n+1) j_n' = n j_(n-1) - (n+1) j_(n+1): no division by x, so exact at 0
    order = order_of(n)
    below = elementwise("spherical_jn", (constant(abs(order - 1.0)), x))
    above = elementwise("spherical_jn", (constant(order + 1.0), x))
    return constant(order / (2 * order + 1)) * below - constant((order + 1) / (2 * order + 1)) * above


def _first_term(v: Node, x: Node) -> Node:
    """Return the first term of DLMF 10.25.2, which is all of I near 0."""
    mirrored = elementwise("logical_and", (compare("less", v, 0.0), compare("equal", v, floor(v))), BOOL)
    order = where(mirrored, -v, v)
    return power(0.5 * x, order) / gamma(order + 1.0)


def _iv(v: Node, x: Node) -> Node:
    # SciPy's function is 0 from where x^(v+1) underflows
    near = _first_term(v, x)
    # beyond 1e9 it is infinite, unless the order is as large; SciPy's has places of nan there
    no_further = where(compare("less", absolute(v), 1e8), named("minimum")(x, 1e9), x)
    return where(compare("less", absolute(x), 1e-8), near, named("iv_far")(v, no_further))


def _ive_derivative(order: float, v: Node, x: Node) -> Node:
    return elementwise("ive_derivative", (constant(order), v, x))


def _is_far(v: Node, x: Node) -> Node:
    # from here on the terms of the series vanish before they grow
    return compare("less_equal", named("maximum")(20.0, 0.5 * v * v), absolute(x))


def _ive_far(order: int, v: Node, x: Node) -> Node:
    """Return the derivative of DLMF 10.40.1, term by term; of a negative x by DLMF 10.27.1."""
    size = where(_is_far(v, x), absolute(x), 1e3)
    terms = constant(1.0)
    for k in range(30, 0, -1):
        factor = (2 * k - 1 + 2 * order) / ((2 * k - 1) * 8.0 * k)
        terms = 1.0 - terms * factor * (4.0 * v * v - (2.0 * k - 1) ** 2) / size
    rising = math.prod(-0.5 - k for k in range(order)) / math.sqrt(2 * math.pi)
    turned = (-1.0) ** order * where(compare("equal", v, floor(v)), 1.0 - 4.0 * (0.5 * v - floor(0.5 * v)), math.nan)
    return where(compare("less", x, 0.0), turned, 1.0) * (terms * rising / power(size, order + 0.5))


def _ive(v: Node, x: Node) -> Node:
    # SciPy's function has no digits far out
    far = _is_far(v, x)
    near = named("ive_near")(where(far, 0.0, v), where(far, 1.0, x))
    first = _first_term(v, x) * exp(-absolute(x))
    return where(far, _ive_far(0, v, x), where(compare("less", absolute(x), 1e-8), first, near))


def _ive_slopes(n: Node, v: Node, x: Node) -> Node:
    # DLMF 10.29.5 and the powers of the exponential's slope, which cancel far out
    order, near = int(order_of(n)), constant(0.0)
    for m in range(order + 1):
        factor = math.comb(order, m) / 2.0**m
        scale = power(-sign(x), float((order - m) % 2)) * factor if m < order else constant(factor)
        for j in range(m + 1):
            near = near + scale * float(math.comb(m, j)) * ive(v + float(2 * j - m), x)
    return where(_is_far(v, x), _ive_far(order, v, x), near)


def _or_far(which: int, near: str) -> Formula:
    """Return a function as SciPy's, and beyond 1e8, where that has a rounded phase or no value, by an expansion."""

    def call(v: Node, x: Node) -> Node:
        # nan as the order is answered at once: SciPy's may recur for seconds, and a choice computes both
        far = compare("less_equal", FAR, x)
        nothing = where(far, float("nan"), v)
        return where(far, _bessel_far(which, v, x), named(near)(nothing, x))

    return call


def _order_or_far(which: int, order: int) -> Formula:
    """Return J or Y of order 0 or 1 in the same way."""
    near = ("j", "y")[which] + f"{order}_near"

    def call(x: Node) -> Node:
        size = x if which else absolute(x)
        far = _bessel_far(which, constant(float(order)), size)
        far = far if which or not order else sign(x) * far
        return where(compare("less_equal", FAR, size), far, named(near)(x))

    return call


def _bessel_far(which: int, v: Node, x: Node) -> Node:
    return elementwise("bessel_far", (constant(float(which)), v, x))


def _kve(v: Node, x: Node) -> Node:
    far = compare("less", 1e9, x)
    return where(far, _k_moment(0.0, v, where(far, x, 0.0)), named("kve_near")(v, x))


def _kv(v: Node, x: Node) -> Node:
    # SciPy's function is 0 from 698 on; two factors, since exp(-x) alone loses digits beyond 708
    half, scaled = exp(-0.5 * x), named("kve_near")(v, x)
    beyond = elementwise("logical_and", (compare("equal", scaled, math.inf), compare("less", 600.0, absolute(v))), BOOL)
    whole = where(beyond, _bessel_far(2, where(beyond, v, 0.0), x), scaled * half * half)
    return where(compare("less", 1e9, x), _k_far(v, x), whole)


def _k_far(v: Node, x: Node) -> Node:
    # an order as large makes up for exp(-x)
    return _bessel_far(2, where(compare("less", 1e9, x), v, 0.0), x)


# Bessel functions; by the order no derivative is offered  DLMF 10.6.1, 10.29.1
unary("j0", lambda x, f: -j1(x), ANY, numpy="", source="10.6.3", expansion=_order_or_far(0, 0),
      range="[-0.5, 1]", parity="even", at_zero=(1.0, 0.0))
unary("j1", lambda x, f: 0.5 * (j0(x) - jv(2.0, x)), ANY, numpy="", source="10.6.1", expansion=_order_or_far(0, 1),
      range="[-0.6, 0.6]", parity="odd", at_zero=(0.0, 0.5))
unary("y0", lambda x, f: -y1(x), NEAR, numpy="", source="10.6.3", expansion=_order_or_far(1, 0), singular=True)
unary("y1", lambda x, f: 0.5 * (y0(x) - yv(2.0, x)), NEAR, numpy="", source="10.6.1", expansion=_order_or_far(1, 1),
      singular=True)
unary("j0_near", lambda x, f: -j1(x), ANY, numpy="special.j0", source="10.6.3", library="j0", written=j0,
      parity="even")
unary("j1_near", lambda x, f: 0.5 * (j0(x) - jv(2.0, x)), ANY, numpy="special.j1", source="10.6.1", library="j1",
      written=j1, parity="odd")
unary("y0_near", lambda x, f: -y1(x), NEAR, numpy="special.y0", source="10.6.3", library="y0", written=y0,
      singular=True)
unary("y1_near", lambda x, f: 0.5 * (y0(x) - yv(2.0, x)), NEAR, numpy="special.y1", source="10.6.1", library="y1",
      written=y1, singular=True)
row("jv", (ABSENT, lambda v, x, f: 0.5 * (jv(v - 1.0, x) - jv(v + 1.0, x))), (ORDERS, NEAR), numpy="",
    sympy="besselj", source="10.6.1", expansion=_or_far(0, "jv_near"), singular=True)
row("jv_near", (ABSENT, lambda v, x, f: 0.5 * (jv(v - 1.0, x) - jv(v + 1.0, x))), (ORDERS, NEAR), numpy="special.jv",
    source="10.6.1", library="jv", written=jv, singular=True)
row("yv", (ABSENT, lambda v, x, f: 0.5 * (yv(v - 1.0, x) - yv(v + 1.0, x))), (ORDERS, NEAR), numpy="",
    sympy="bessely", source="10.6.1", expansion=_or_far(1, "yv_near"), singular=True)
row("yv_near", (ABSENT, lambda v, x, f: 0.5 * (yv(v - 1.0, x) - yv(v + 1.0, x))), (ORDERS, NEAR), numpy="special.yv",
    source="10.6.1", library="yv", written=yv, singular=True)
unary("i0", lambda x, f: i1(x), ANY, numpy="special.i0", source="10.29.3", library="i0", singular=True,
      range="[1, inf)", parity="even", curvature="convex", at_zero=(1.0, 0.0))
unary("i1", lambda x, f: 0.5 * (i0(x) + iv(2.0, x)), ANY, numpy="special.i1", source="10.29.1", library="i1",
      singular=True, parity="odd", monotone="increasing", at_zero=(0.0, 0.5))
unary("k0", lambda x, f: -k1(x), NEAR, numpy="special.k0", source="10.29.3", library="k0", singular=True,
      range="(0, inf)", monotone="decreasing", curvature="convex")
unary("k1", lambda x, f: -0.5 * (k0(x) + kv(2.0, x)), NEAR, numpy="special.k1", source="10.29.1", library="k1",
      singular=True, range="(0, inf)", monotone="decreasing", curvature="convex")
row("iv", (ABSENT, lambda v, x, f: 0.5 * (iv(v - 1.0, x) + iv(v + 1.0, x))), (ORDERS, NEAR), numpy="",
    sympy="besseli", source="10.29.1", expansion=_iv, singular=True)
row("iv_far", (ABSENT, lambda v, x, f: 0.5 * (iv(v - 1.0, x) + iv(v + 1.0, x))), (ORDERS, NEAR), numpy="special.iv",
    source="10.29.1", library="iv", written=iv, singular=True)
row("kv", (ABSENT, lambda v, x, f: -0.5 * (kv(v - 1.0, x) + kv(v + 1.0, x))), (ORDERS, NEAR), numpy="",
    sympy="besselk", source="10.29.1", expansion=_kv, singular=True)

# Modified Bessel functions, scaled                       DLMF 10.25
# the mean of (1 - cos t)^n exp(-|x| (1 - cos t)), DLMF 10.32.1: i1e(x) - i0e(x), the slope as books have it, cancels
row("i_moment", (NONE, lambda n, x, f: -(sign(x) * _moment(order_of(n) + 1.0, x))), ((1.0, 1.0), (0.1, 3.0)),
    numpy="i_moment", source="10.32.1", special="sd_i_moment", orders=10)
unary("i0e", lambda x, f: -(sign(x) * _moment(1.0, x)), (0.1, 3.0), numpy="special.i0e", source="10.32.1",
      library="i0e", range="(0, 1]", parity="even")
row("ive", (ABSENT, lambda v, x, f: _ive_derivative(1.0, v, x)), (ORDERS, NEAR), numpy="", source="10.29.1",
    expansion=_ive, singular=True)
row("ive_near", (ABSENT, lambda v, x, f: _ive_derivative(1.0, v, x)), (ORDERS, NEAR), numpy="special.ive",
    source="10.29.1", library="ive", written=ive, singular=True)
row("ive_derivative", (NONE, ABSENT, lambda n, v, x, f: _ive_derivative(order_of(n) + 1.0, v, x)),
    ((1.0, 1.0), ORDERS, NEAR), numpy="", source="10.29.5", expansion=_ive_slopes, orders=10, singular=True)
unary("i1e", lambda x, f: _moment(2.0, x) - _moment(1.0, x), (0.1, 3.0), numpy="special.i1e", source="10.32.1",
      library="i1e", range="[-1, 1]", parity="odd", at_zero=(0.0, 0.5))

# (cosh t - 1)^n cosh(v t) exp(-x (cosh t - 1)) over t > 0, DLMF 10.32.9: k0e(x) - k1e(x) cancels far out
row("k_moment", (NONE, ABSENT, lambda n, v, x, f: -_k_moment(order_of(n) + 1.0, v, x)), ((1.0, 1.0), ORDERS, NEAR),
    numpy="k_moment", source="10.32.9", special="sd_k_moment", orders=10, singular=True)
unary("k0e", lambda x, f: -_k_moment(1.0, constant(0.0), x), NEAR, numpy="special.k0e", source="10.32.9",
      library="k0e", singular=True, range="(0, inf)", monotone="decreasing")
unary("k1e", lambda x, f: -_k_moment(1.0, constant(1.0), x), NEAR, numpy="special.k1e", source="10.32.9",
      library="k1e", singular=True, range="(0, inf)", monotone="decreasing")
row("kve", (ABSENT, lambda v, x, f: -_k_moment(1.0, v, x)), (ORDERS, NEAR), numpy="", source="10.32.9",
    expansion=_kve, singular=True)
row("kve_near", (ABSENT, lambda v, x, f: -_k_moment(1.0, v, x)), (ORDERS, NEAR), numpy="special.kve", source="10.32.9",
    library="kve", written=kve, singular=True)
row("bessel_far", (NONE, ABSENT, ABSENT), ((0.0, 0.0), ORDERS, (1e8, 1e9)), numpy="bessel_far", source="10.19.6",
    special="sd_bessel_far", orders=2, singular=True)

# Spherical Bessel functions
row("spherical_jn", (NONE, _spherical), ((2.0, 2.0), ANY), numpy="spherical_jn", source="10.51.2",
    special="sd_spherical_jn", orders=100)

# Airy functions                                          DLMF 9.2
unary("airyai", lambda x, f: airyaiprime(x), ANY, numpy="airyai", sympy="airyai", source="9.2.2", special="sd_airyai")
unary("airyaiprime", lambda x, f: x * airyai(x), ANY, numpy="airyaiprime", sympy="airyaiprime", source="9.2.1",
      special="sd_airyaiprime")
unary("airybi", lambda x, f: airybiprime(x), ANY, numpy="airybi", sympy="airybi", source="9.2.2", special="sd_airybi")
unary("airybiprime", lambda x, f: x * airybi(x), ANY, numpy="airybiprime", sympy="airybiprime", source="9.2.1",
      special="sd_airybiprime")


def of_order_one(name: str, n: int, x: Node) -> Node:
    """Return the derivative of order ``n`` of J_1 or I_1, by the orders around it: DLMF 10.6.7, 10.29.5."""
    sign = -1 if name == "j" else 1
    orders: dict[int, float] = {}
    for k in range(n + 1):
        v = 1 - n + 2 * k  # J_(-v) = (-1)^v J_v, and I_(-v) = I_v
        c = math.comb(n, k) / 2.0**n * sign**k * (sign**v if v < 0 else 1)
        orders[abs(v)] = orders.get(abs(v), 0.0) + c
    first = {"j": (j0, j1), "i": (i0, i1)}[name]
    others = jv if name == "j" else iv
    parts = [c * (first[v](x) if v < 2 else others(float(v), x)) for v, c in sorted(orders.items()) if c]
    return sum(parts[1:], parts[0])
