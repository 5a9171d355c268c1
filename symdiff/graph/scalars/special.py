"""Rows of special functions: error functions, the normal distribution, gamma functions, integrals, Lambert's W.

Sources are sections of the NIST Digital Library of Mathematical Functions (DLMF). Relations by which books write the
slopes of elliptic integrals divide differences of them by m: their derivatives are rows of their own.
"""

from __future__ import annotations

import math
from functools import partial

from .. import Node, constant, elementwise
from .functions import Interval, Partial, Slope, compare, scalar_constant, where
from .making import ANY, NONE, POSITIVE, TWO_OVER_ROOT_PI, UNIT, named, next_order, order_of, row, unary

exp, log, log1p, sin, cos = (named(name) for name in ("exp", "log", "log1p", "sin", "cos"))
erfc, erfcx, digamma, lgamma = named("erfc"), named("erfcx"), named("digamma"), named("lgamma")
xlogy, xlog1py = named("xlogy"), named("xlog1py")
#: polygamma(n, x + d) - polygamma(n, x)
polygamma_gap = named("polygamma_gap")

#: Beyond which Dawson's integral has its digits from so many terms of its asymptotic series.
DAWSON_RADIUS, DAWSON_TERMS = 7.0, 34
#: Parameters of elliptic integrals, and complements of them.
PARAMETER: Interval = (-3.0, 0.95)
COMPLEMENT: Interval = (0.05, 4.0)
#: Factors up to which a product of neighbouring numbers is differentiated as a polynomial.
FACTORS = 6
ROOT_HALF, ROOT_PI, ROOT_TWO_PI = math.sqrt(0.5), math.sqrt(math.pi), math.sqrt(2.0 * math.pi)

# ---------------------------------------------------------------------------- partial derivatives that need words


def _expn_slope(n: Node, x: Node, f: Node) -> Node:
    order = order_of(n)
    return -elementwise("expn", (constant(order - 1.0), x)) if order > 0 else -(f * (1.0 + 1.0 / x))


def _voigt(part: str, n: Node, x: Node, sigma: Node, gamma: Node) -> Node:
    scale = math.sqrt(2.0) * sigma
    value = elementwise(f"wofz_{part}", (n, x / scale, gamma / scale))
    return value / (ROOT_PI * named("power")(scale, order_of(n) + 1.0))


def _voigt_slopes(part: str, other: str, sign: float) -> tuple[Slope | Partial, ...]:
    # of the equation of heat by sigma, and of Cauchy and Riemann's by gamma
    def of(name: str, more: float, n: Node, *args: Node) -> Node:
        return elementwise(f"voigt_{name}", (constant(order_of(n) + more), *args))

    return (NONE, lambda n, x, s, g, f: of(part, 1.0, n, x, s, g), lambda n, x, s, g, f: s * of(part, 2.0, n, x, s, g),
            lambda n, x, s, g, f: sign * of(other, 1.0, n, x, s, g))


def _voigt_profile_slopes() -> tuple[Slope, ...]:
    first = _voigt_slopes("real", "imag", -1.0)[1:]
    return tuple(lambda x, s, g, f, slope=slope: slope(constant(0.0), x, s, g, f) for slope in first)


def _rising_slope(start: Node, factors: int) -> Node:
    """Return the derivative of ``start * (start + 1) * ...``, a polynomial that has it at the zeros, too."""
    product, slope = start, constant(1.0)
    for k in range(1, factors):
        factor = start + float(k)
        slope = factor * slope + product
        product = factor * product
    return slope


def _whole(n: Node) -> int | None:
    """Return a whole number of factors that are written out."""
    number = scalar_constant(n)
    return int(number) if number is not None and number.is_integer() and abs(number) <= FACTORS else None


def _poch_slope(a: Node, m: Node, f: Node) -> Node | None:
    factors = _whole(m)
    if factors is None:
        return f * _gap(0.0, a, m)
    if factors >= 0:
        return _rising_slope(a, factors) if factors else None
    return -(_rising_slope(a + float(factors), -factors) * (f * f))  # 1 / ((a - 1) (a - 2) ...)


def _binom_slope(n: Node, k: Node, f: Node) -> Node | None:
    factors = _whole(k)
    if factors is None or factors < 0:
        return f * _gap(0.0, n - k + 1.0, k)
    if not factors:
        return None
    return _rising_slope(n - float(factors - 1), factors) / math.factorial(factors)


def _zeta_slope(n: Node, s: Node, q: Node, f: Node) -> Node:
    # by q, of which -s zeta(s + 1, q) is differentiated n times by s
    order = order_of(n)
    if order == 0.0:
        return -(s * named("zeta")(s + 1.0, q))
    before = elementwise("zeta_by_s", (constant(order - 1.0), s + 1.0, q))
    return -(s * elementwise("zeta_by_s", (n, s + 1.0, q)) + order * before)


def _spence_slope(x: Node, f: Node) -> Node:
    # log(x) / (1 - x), whose singularity at 1 is removable
    near = elementwise("log1p_remainder_1", (constant(0.0), x - 1.0))
    return where(compare("less", x, 0.5), log(x) / (1.0 - x), -near)


def _next_order(name: str, n: Node, x: Node) -> Node:
    return elementwise(name, (next_order(n), x))


def _ierfcx_slope(n: Node, x: Node, f: Node) -> Node:
    order = order_of(n)
    return (-2.0 * (order + 1.0)) * elementwise("ierfcx", (constant(order + 1.0), x))


def _ierfcx_written(n: Node, x: Node) -> Node:
    # DLMF 7.18.7 from 7.18.1
    before, here = constant(TWO_OVER_ROOT_PI), erfcx(x)
    for k in range(1, int(order_of(n)) + 1):
        before, here = here, (0.5 * before - x * here) / float(k)
    return here


def _ndtr(x: Node) -> Node:
    return 0.5 * erfc(-ROOT_HALF * x)


def _log_ndtr(x: Node) -> Node:
    # the tail by erfc without its exponential, so that nothing underflows
    tail = log(0.5 * erfcx(-ROOT_HALF * x)) - 0.5 * (x * x)
    return where(compare("less", x, -1.0), tail, log1p(-0.5 * erfc(ROOT_HALF * x)))


def _gap(order: float, x: Node, d: Node) -> Node:
    return polygamma_gap(constant(order), x, d)


def _beta_slope(a: Node, b: Node) -> Node:
    return -(named("beta")(a, b) * _gap(0.0, a, b))


def _beta_twice(a: Node, b: Node) -> Node:
    return -(named("beta_slope")(a, b) * _gap(0.0, a, b)) - named("beta")(a, b) * _gap(1.0, a, b)


def _beta_mixed(a: Node, b: Node) -> Node:
    # gap(a, b) gap(b, a) - trigamma(a + b) by DLMF 5.5.2, whose poles at 0 have the sum 0
    both, upper, lower = a + b, _gap(0.0, 1.0 + a, b), _gap(0.0, 1.0 + b, a)
    means = a / both * (upper / b) + b / both * (lower / a)
    return named("beta")(a, b) * (means - elementwise("polygamma", (constant(1.0), 1.0 + both)) + upper * lower)


def _gap_by_start(n: Node, x: Node, d: Node, f: Node) -> Node:
    return _gap(order_of(n) + 1.0, x, d)


def _gap_by_distance(n: Node, x: Node, d: Node, f: Node) -> Node:
    return elementwise("polygamma", (constant(order_of(n) + 1.0), x + d))


def _gap_written(n: Node, x: Node, d: Node) -> Node:
    if order_of(n) == 0.0:
        return digamma(x + d) - digamma(x)
    return elementwise("polygamma", (n, x + d)) - elementwise("polygamma", (n, x))


def _dawson_written(n: Node, x: Node) -> Node:
    # D' = 1 - 2 x D, DLMF 7.10.3
    before, here = named("dawsn")(x), 1.0 - 2.0 * (x * named("dawsn")(x))
    for k in range(1, int(order_of(n))):
        before, here = here, -2.0 * (x * here) - float(2 * k) * before
    return here


def _dawson_far(n: Node, x: Node) -> Node:
    # term by term from DLMF 7.12.1 at an imaginary argument, since 1 - 2 x D cancels far out
    order, square = int(order_of(n)), 1.0 / (x * x)
    # by the quotients of terms, which fit into any format of numbers, as the terms themselves do not
    total = constant(1.0)
    for k in range(DAWSON_TERMS - 1, 0, -1):
        quotient = 0.5 * (2 * k + order) * (2 * k + order - 1) / (2 * k)
        total = 1.0 + quotient * square * total
    size = (-0.5 if order % 2 else 0.5) * math.factorial(order)
    return size * total / named("power")(x, float(order + 1))


def _dawson_computed(n: Node, x: Node) -> Node:
    near = compare("less", named("abs")(x), DAWSON_RADIUS)
    return where(near, _dawson_written(n, x), _dawson_far(n, x))


def _elliptic(name: str, order: float, complement: Node) -> Node:
    return elementwise(name, (constant(order), complement))


def _next_elliptic(name: str, n: Node, p: Node) -> Node:
    # by p = 1 - m
    return -_elliptic(name, order_of(n) + 1.0, p)


def _lambert_slope(x: Node, f: Node) -> Node:
    # W / (x (1 + W)), whose singularity at 0 is removable
    return exp(-f) / (1.0 + f)


# ---------------------------------------------------------------------------- the rows

# Error functions                                         DLMF 7
unary("erf", lambda x, f: TWO_OVER_ROOT_PI * exp(-(x * x)), numpy="special.erf", sympy="erf", source="7.2.1",
      vector="erf", range="(-1, 1)", parity="odd", monotone="increasing", at_zero=(0.0, TWO_OVER_ROOT_PI))
unary("erfc", lambda x, f: -TWO_OVER_ROOT_PI * exp(-(x * x)), numpy="special.erfc", sympy="erfc", source="7.2.2",
      vector="erfc", range="(0, 2)", monotone="decreasing", at_zero=(1.0, -TWO_OVER_ROOT_PI))
unary("erfcx", lambda x, f: -2.0 * elementwise("ierfcx", (constant(1.0), x)), numpy="special.erfcx", source="7.18.9",
      special="sd_erfcx", singular=True,
      range="(0, inf)", monotone="decreasing", curvature="convex", at_zero=(1.0, -TWO_OVER_ROOT_PI))
# exp(x^2) i^n erfc(x), a row of its own: 2 x erfcx(x) - 2 / sqrt(pi) cancels far out
row("ierfcx", (NONE, _ierfcx_slope), ((1.0, 1.0), ANY), numpy="ierfcx", source="7.18.9", special="sd_ierfcx", orders=30,
    written=_ierfcx_written, singular=True, range="(0, inf)")
unary("erfinv", lambda x, f: (0.5 * ROOT_PI) * exp(f * f), UNIT, numpy="special.erfinv", sympy="erfinv",
      source="7.17.1", library="erfinv", singular=True,
      parity="odd", monotone="increasing", at_zero=(0.0, 0.5 * ROOT_PI))
unary("erfcinv", lambda x, f: (-0.5 * ROOT_PI) * exp(f * f), (0.1, 1.9), numpy="special.erfcinv",
      sympy="erfcinv", source="7.17.1", library="erfcinv", singular=True, monotone="decreasing")
# Dawson's integral, and its derivatives, which are differences of it
unary("dawsn", lambda x, f: elementwise("dawsn_derivative", (constant(1.0), x)), numpy="special.dawsn", source="7.10.3",
      library="dawsn", range="[-0.55, 0.55]", parity="odd", at_zero=(0.0, 1.0))
row("dawsn_derivative", (NONE, lambda n, x, f: _next_order("dawsn_derivative", n, x)), ((1.0, 1.0), ANY), numpy="",
    source="7.10.3", expansion=_dawson_computed, written=_dawson_written, orders=10)

# The standard normal distribution, by erfc               DLMF 7.1.2
unary("ndtr", lambda x, f: (1.0 / ROOT_TWO_PI) * exp(-0.5 * (x * x)), numpy="special.ndtr", source="7.2.2",
      expansion=_ndtr, range="(0, 1)", monotone="increasing", at_zero=(0.5, 1.0 / ROOT_TWO_PI))
unary("log_ndtr", lambda x, f: elementwise("log_ndtr_derivative", (constant(1.0), x)), numpy="special.log_ndtr",
      source="7.2.2", expansion=_log_ndtr, range="(-inf, 0)", monotone="increasing", curvature="concave")
# in both tails x plus the slope cancels, by which the slope is multiplied when it is differentiated
row("log_ndtr_derivative", (NONE, lambda n, x, f: _next_order("log_ndtr_derivative", n, x)), ((1.0, 1.0), ANY),
    numpy="log_ndtr_derivative", source="7.18.9", special="sd_log_ndtr_derivative", orders=10)
unary("ndtri", lambda x, f: ROOT_TWO_PI * exp(0.5 * (f * f)), (0.05, 0.95), numpy="special.ndtri", source="7.17.1",
      library="ndtri", singular=True, monotone="increasing")
# Owen, Tables for computing bivariate normal probabilities (1956), 2.2 and 2.4
row("owens_t", (lambda h, a, f: (-0.5 / ROOT_TWO_PI) * exp(-0.5 * (h * h)) * named("erf")(ROOT_HALF * (a * h)),
                lambda h, a, f: (0.5 / math.pi) * exp(-0.5 * (h * h) * (1.0 + a * a)) / (1.0 + a * a)),
    (ANY, (-0.8, 0.8)), numpy="special.owens_t", source="7.8", library="owens_t",
    range="[-0.25, 0.25]", parity=("even", "odd"))

# Gamma and beta functions                                DLMF 5
unary("gamma", lambda x, f: f * digamma(x), POSITIVE, numpy="special.gamma", sympy="gamma", source="5.2.2",
      singular=True)
unary("lgamma", lambda x, f: digamma(x), POSITIVE, numpy="lgamma", sympy="loggamma", source="5.2.2", singular=True)
unary("digamma", lambda x, f: elementwise("polygamma", (constant(1.0), x)), POSITIVE, numpy="special.digamma",
      sympy="digamma", source="5.15.1", special="sd_digamma", singular=True)
row("polygamma", (NONE, lambda n, x, f: _next_order("polygamma", n, x)), ((1.0, 1.0), POSITIVE), numpy="polygamma",
    sympy="polygamma", source="5.15.1", special="sd_polygamma", orders=100, singular=True)
row("polygamma_gap", (NONE, _gap_by_start, _gap_by_distance), ((0.0, 0.0), POSITIVE, POSITIVE), numpy="polygamma_gap",
    source="5.15.1", special="sd_polygamma_gap", orders=100, written=_gap_written, singular=True)
row("betaln", (lambda a, b, f: -_gap(0.0, a, b), lambda a, b, f: -_gap(0.0, b, a)), (POSITIVE, POSITIVE),
    numpy="betaln", source="5.12.1", special="sd_betaln", singular=True)
row("beta", (lambda a, b, f: named("beta_slope")(a, b), lambda a, b, f: named("beta_slope")(b, a)),
    (POSITIVE, POSITIVE), numpy="beta", sympy="beta", source="5.12.1", special="sd_beta", singular=True)
# a row of its own: its slope by b is a difference of poles
row("beta_slope", (lambda a, b, f: _beta_twice(a, b), lambda a, b, f: _beta_mixed(a, b)), (POSITIVE, POSITIVE),
    numpy="", source="5.12.1", expansion=_beta_slope, written=_beta_slope, singular=True)
row("poch", (_poch_slope, lambda a, m, f: f * digamma(a + m)), (POSITIVE, POSITIVE),
    numpy="special.poch", source="5.2.5", library="poch", singular=True)
row("binom", (_binom_slope, lambda n, k, f: f * _gap(0.0, k + 1.0, n - 2.0 * k)),
    ((4.0, 9.0), (0.5, 3.5)), numpy="special.binom", source="1.2.6", library="binom", singular=True)

row("zeta", (lambda s, q, f: elementwise("zeta_by_s", (constant(1.0), s, q)),
             lambda s, q, f: -(s * named("zeta")(s + 1.0, q))), ((1.5, 6.0), POSITIVE), numpy="zeta",
    source="25.11.17", special="sd_zeta", singular=True)
row("zeta_by_s", (NONE, lambda n, s, q, f: elementwise("zeta_by_s", (next_order(n), s, q)), _zeta_slope),
    ((1.0, 1.0), (1.5, 6.0), POSITIVE), numpy="zeta_by_s", source="25.11.17", special="sd_zeta_by_s", orders=10,
    singular=True)

# Faddeeva's function at x + iy: parts of its derivatives, by Cauchy and Riemann's equations   DLMF 7.10.2
row("wofz_real", (NONE, lambda n, x, y, f: elementwise("wofz_real", (next_order(n), x, y)),
                  lambda n, x, y, f: -elementwise("wofz_imag", (next_order(n), x, y))), ((0.0, 0.0), ANY, POSITIVE),
    numpy="wofz_real", source="7.10.2", special="sd_wofz_real", orders=10)
row("wofz_imag", (NONE, lambda n, x, y, f: elementwise("wofz_imag", (next_order(n), x, y)),
                  lambda n, x, y, f: elementwise("wofz_real", (next_order(n), x, y))), ((0.0, 0.0), ANY, POSITIVE),
    numpy="wofz_imag", source="7.10.2", special="sd_wofz_imag", orders=10)

# The density of a normal number of deviation sigma > 0 plus a Cauchy number of width gamma >= 0, DLMF 7.19.1, and its
# derivatives by x: that by sigma is a multiple of one of them, and no difference
row("voigt_profile", _voigt_profile_slopes(), (ANY, POSITIVE, POSITIVE), numpy="", source="7.19.1",
    expansion=lambda x, s, g: _voigt("real", constant(0.0), x, s, g), range="(0, inf)")
for _part, _other, _sign in (("real", "imag", -1.0), ("imag", "real", 1.0)):
    row(f"voigt_{_part}", _voigt_slopes(_part, _other, _sign), ((0.0, 0.0), ANY, POSITIVE, POSITIVE), numpy="",
        source="7.19.1", expansion=partial(_voigt, _part), orders=10)

# Exponential integrals and the dilogarithm               DLMF 6, 8.19, 25.12
unary("exp1", lambda x, f: -exp(-x) / x, POSITIVE, numpy="special.exp1", source="6.2.1", library="exp1", singular=True)
unary("expi", lambda x, f: exp(x) / x, (0.5, 4.0), numpy="special.expi", source="6.2.5", library="expi", singular=True)
row("expn", (NONE, _expn_slope), ((2.0, 2.0), POSITIVE), numpy="special.expn", source="8.19.13", library="expn",
    orders=100, singular=True)
unary("spence", _spence_slope, POSITIVE, numpy="special.spence", source="25.12.2", library="spence", singular=True,
      monotone="decreasing")

# Complete elliptic integrals of the parameter m, or 1 - m     DLMF 19.2.8, 19.5.1
unary("ellipk", lambda x, f: _elliptic("ellipk_derivative", 1.0, 1.0 - x), PARAMETER, numpy="special.ellipk",
      sympy="elliptic_k", source="19.5.1", library="ellipk", singular=True,
      range="(0, inf)", monotone="increasing", curvature="convex")
unary("ellipkm1", lambda x, f: -_elliptic("ellipk_derivative", 1.0, x), COMPLEMENT, numpy="special.ellipkm1",
      source="19.5.1", library="ellipkm1", singular=True, range="(0, inf)", monotone="decreasing")
unary("ellipe", lambda x, f: _elliptic("ellipe_derivative", 1.0, 1.0 - x), PARAMETER, numpy="special.ellipe",
      sympy="elliptic_e", source="19.5.2", library="ellipe", singular=True, range="[1, inf)", monotone="decreasing")
# the derivative of order n by m, as a function of 1 - m
row("ellipk_derivative", (NONE, lambda n, p, f: _next_elliptic("ellipk_derivative", n, p)), ((1.0, 1.0), COMPLEMENT),
    numpy="ellipk_derivative", source="19.5.1", special="sd_ellipk_derivative", orders=10, singular=True)
row("ellipe_derivative", (NONE, lambda n, p, f: _next_elliptic("ellipe_derivative", n, p)), ((1.0, 1.0), COMPLEMENT),
    numpy="ellipe_derivative", source="19.5.2", special="sd_ellipe_derivative", orders=10, singular=True)

# Sine, cosine and Fresnel integrals                      DLMF 6.2, 7.2
unary("si", lambda x, f: elementwise("spherical_jn", (constant(0.0), x)), ANY, numpy="si", sympy="Si", source="6.2.9",
      special="sd_si", range="[-2, 2]", parity="odd", at_zero=(0.0, 1.0))
unary("ci", lambda x, f: cos(x) / x, POSITIVE, numpy="ci", sympy="Ci", source="6.2.11", special="sd_ci", singular=True)
unary("fresnels", lambda x, f: sin((0.5 * math.pi) * (x * x)), ANY, numpy="fresnels", sympy="fresnels", source="7.2.8",
      special="sd_fresnels", range="[-1, 1]", parity="odd", at_zero=(0.0, 0.0))
unary("fresnelc", lambda x, f: cos((0.5 * math.pi) * (x * x)), ANY, numpy="fresnelc", sympy="fresnelc", source="7.2.7",
      special="sd_fresnelc", range="[-1, 1]", parity="odd", at_zero=(0.0, 1.0))

# Lambert's W, the inverse of w exp(w), on its two real branches   DLMF 4.13.4
unary("lambertw", _lambert_slope, (-0.3, 4.0), numpy="lambertw", source="4.13.4", special="sd_lambertw", singular=True,
      range="[-1, inf)", monotone="increasing", at_zero=(0.0, 1.0))
unary("lambertwm1", _lambert_slope, (-0.35, -0.05), numpy="lambertwm1", source="4.13.4", special="sd_lambertwm1",
      singular=True, range="(-inf, -1]", monotone="decreasing")
