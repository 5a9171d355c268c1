"""Rows of elliptic, sine, cosine and Fresnel integrals, of Airy functions, and of Lambert's W.

Sources are sections of the NIST Digital Library of Mathematical Functions (DLMF). Relations by which books write the
slopes of elliptic integrals divide differences of them by m: their derivatives are rows of their own.
"""

from __future__ import annotations

import math

from .. import Node, constant, elementwise
from .functions import Interval
from .making import ANY, NONE, POSITIVE, named, order_of, row, unary

exp, sin, cos = named("exp"), named("sin"), named("cos")
airyai, airyaiprime, airybi, airybiprime = (
    named(name) for name in ("airyai", "airyaiprime", "airybi", "airybiprime")
)

#: Parameters of elliptic integrals, and complements of them.
PARAMETER: Interval = (-3.0, 0.95)
COMPLEMENT: Interval = (0.05, 4.0)


def _elliptic(name: str, order: float, complement: Node) -> Node:
    return elementwise(name, (constant(order), complement))


def _next(name: str, n: Node, p: Node) -> Node:
    # by p = 1 - m
    return -_elliptic(name, order_of(n) + 1.0, p)


def _lambert_slope(x: Node, f: Node) -> Node:
    # W / (x (1 + W)), whose singularity at 0 is removable
    return exp(-f) / (1.0 + f)


# Complete elliptic integrals of the parameter m, or 1 - m     DLMF 19.2.8, 19.5.1
unary("ellipk", lambda x, f: _elliptic("ellipk_derivative", 1.0, 1.0 - x), PARAMETER, numpy="special.ellipk",
      sympy="elliptic_k", source="19.5.1", library="ellipk", singular=True)
unary("ellipkm1", lambda x, f: -_elliptic("ellipk_derivative", 1.0, x), COMPLEMENT, numpy="special.ellipkm1",
      source="19.5.1", library="ellipkm1", singular=True)
unary("ellipe", lambda x, f: _elliptic("ellipe_derivative", 1.0, 1.0 - x), PARAMETER, numpy="special.ellipe",
      sympy="elliptic_e", source="19.5.2", library="ellipe", singular=True)
# the derivative of order n by m, as a function of 1 - m
row("ellipk_derivative", (NONE, lambda n, p, f: _next("ellipk_derivative", n, p)), ((1.0, 1.0), COMPLEMENT),
    numpy="ellipk_derivative", source="19.5.1", special="sd_ellipk_derivative", orders=10, singular=True)
row("ellipe_derivative", (NONE, lambda n, p, f: _next("ellipe_derivative", n, p)), ((1.0, 1.0), COMPLEMENT),
    numpy="ellipe_derivative", source="19.5.2", special="sd_ellipe_derivative", orders=10, singular=True)

# Sine, cosine and Fresnel integrals                      DLMF 6.2, 7.2
unary("si", lambda x, f: elementwise("spherical_jn", (constant(0.0), x)), ANY, numpy="si", sympy="Si", source="6.2.9",
      special="sd_si")
unary("ci", lambda x, f: cos(x) / x, POSITIVE, numpy="ci", sympy="Ci", source="6.2.11", special="sd_ci", singular=True)
unary("fresnels", lambda x, f: sin((0.5 * math.pi) * (x * x)), ANY, numpy="fresnels", sympy="fresnels", source="7.2.8",
      special="sd_fresnels")
unary("fresnelc", lambda x, f: cos((0.5 * math.pi) * (x * x)), ANY, numpy="fresnelc", sympy="fresnelc", source="7.2.7",
      special="sd_fresnelc")

# Airy functions                                          DLMF 9.2
unary("airyai", lambda x, f: airyaiprime(x), ANY, numpy="airyai", sympy="airyai", source="9.2.2", special="sd_airyai")
unary("airyaiprime", lambda x, f: x * airyai(x), ANY, numpy="airyaiprime", sympy="airyaiprime", source="9.2.1",
      special="sd_airyaiprime")
unary("airybi", lambda x, f: airybiprime(x), ANY, numpy="airybi", sympy="airybi", source="9.2.2", special="sd_airybi")
unary("airybiprime", lambda x, f: x * airybi(x), ANY, numpy="airybiprime", sympy="airybiprime", source="9.2.1",
      special="sd_airybiprime")

# Lambert's W, the inverse of w exp(w), on its two real branches   DLMF 4.13.4
unary("lambertw", _lambert_slope, (-0.3, 4.0), numpy="lambertw", source="4.13.4", special="sd_lambertw", singular=True)
unary("lambertwm1", _lambert_slope, (-0.35, -0.05), numpy="lambertwm1", source="4.13.4", special="sd_lambertwm1",
      singular=True)
