"""Rows of logarithms of functions that overflow or vanish far out, and of ratios of such.

``log(gamma(x))`` is finite where gamma(x) is not. As a function of its own it has a value there, and a slope that
divides nothing by a number that overflowed. A person sees what was written.

Sources are sections of the NIST Digital Library of Mathematical Functions (DLMF).
"""

from __future__ import annotations

import math

from .. import BOOL, Node, constant, elementwise
from .differences import GAUSS
from .functions import compare, partial_of, where
from .making import ABSENT, ANY, LOGARITHMS, NONE, POSITIVE, named, order_of, row, unary
from .special import ROOT_TWO_PI

log, log1p, absolute, digamma, power = (named(name) for name in ("log", "log1p", "abs", "digamma", "power"))
gamma, lgamma, beta, betaln, binom, poch = (
    named(name) for name in ("gamma", "lgamma", "beta", "betaln", "binom", "poch")
)
erf, erfc, erfcx, log_erfc, log_ndtr_derivative = (
    named(name) for name in ("erf", "erfc", "erfcx", "log_erfc", "log_ndtr_derivative")
)
exp, log1mexp, ndtr, log_ndtr = (named(name) for name in ("exp", "log1mexp", "ndtr", "log_ndtr"))
i0, i1, k0, k1, kv, i0e, i1e, k0e, k1e, kve = (
    named(name) for name in ("i0", "i1", "k0", "k1", "kv", "i0e", "i1e", "k0e", "k1e", "kve")
)
iv, ive, exp1, expi, expn = (named(name) for name in ("iv", "ive", "exp1", "expi", "expn"))
i_ratio, k_ratio, polygamma_gap = named("i_ratio"), named("k_ratio"), named("polygamma_gap")

#: Terms of the series of I_0 that are added up where its logarithm is near 0.
_TERMS = 10
#: From where continued fractions and asymptotic series of exponential integrals have their digits, and from how many
#: levels or terms.
_FRACTION, _LEVELS, _SERIES, _ASYMPTOTIC = 10.0, 14, 50.0, 34
#: Below which a product is computed as it is written.
_LARGE = 1e300


def _both(a: Node, b: Node) -> Node:
    return elementwise("logical_and", (a, b), BOOL)


def _gap(x: Node, d: Node) -> Node:
    return polygamma_gap(constant(0.0), x, d)


def _log_gamma(x: Node) -> Node:
    return where(compare("less", 0.0, x), lgamma(x), log(gamma(x)))


def _log_beta(a: Node, b: Node) -> Node:
    return where(_both(compare("less", 0.0, a), compare("less", 0.0, b)), betaln(a, b), log(beta(a, b)))


def _log_binom(n: Node, k: Node) -> Node:
    inside = _both(compare("less", -1.0, k), compare("less", k - 1.0, n))
    return where(inside, -log1p(n) - betaln(n - k + 1.0, k + 1.0), log(binom(n, k)))


def _log_poch(a: Node, m: Node) -> Node:
    # as a difference it would lose digits where the product is finite
    whole = poch(a, m)
    far = _both(compare("less", 0.0, a), _both(compare("less", 0.0, a + m), compare("less", _LARGE, absolute(whole))))
    return where(far, lgamma(a + m) - lgamma(a), log(whole))


def _log_erfc(x: Node) -> Node:
    return where(compare("less", x, 0.5), log1p(-erf(x)), log(erfcx(x)) - x * x)


def _log_erfc_slope(x: Node, f: Node) -> Node:
    return -math.sqrt(2.0) * log_ndtr_derivative(constant(1.0), -math.sqrt(2.0) * x)


def _log_erfcx(x: Node) -> Node:
    return where(compare("less", x, 0.5), x * x + log_erfc(x), log(erfcx(x)))


def _log_erfcx_slope(x: Node, f: Node) -> Node:
    near = 2.0 * x + _log_erfc_slope(x, f)
    return where(compare("less", x, 0.5), near, -2.0 * (elementwise("ierfcx", (constant(1.0), x)) / erfcx(x)))


def _log_ndtr_between(x: Node, y: Node) -> Node:
    # both in the lower tail, where the larger one counts; near each other by the mean of the slope between them
    above = compare("less", 0.0, x + y)
    u, v = where(above, -y, x), where(above, -x, y)
    near = constant(0.0)
    for t, weight in GAUSS:
        near = near + weight * log_ndtr_derivative(constant(1.0), v + t * (x - y))
    near = where(compare("equal", x, y), 0.0, (x - y) * near)
    gap = where(compare("less", x - y, 0.5), near, log_ndtr(u) - log_ndtr(v))
    return log_ndtr(u) + log1mexp(gap)


def _density_within(x: Node, f: Node) -> Node:
    return (1.0 / ROOT_TWO_PI) * exp(-0.5 * (x * x) - f)


def _ratio(name: str) -> None:
    """Add f(x) / f(y), which is computed by logarithms where one of the two left the range of numbers."""
    function, logarithm = named(name), named(LOGARITHMS[name])

    def slope(x: Node) -> Node:
        found, _ = partial_of(logarithm(x), 0)
        assert found is not None
        return found

    def expansion(x: Node, y: Node) -> Node:
        above, below = function(x), function(y)
        ordinary = _both(_is_ordinary(above), _is_ordinary(below))
        return where(ordinary, above / below, exp(logarithm(x) - logarithm(y)))

    row(f"{name}_ratio", (lambda x, y, f: f * slope(x), lambda x, y, f: -(f * slope(y))),
        ((-2.0, 2.0), (-2.0, 2.0)), numpy="", source="1.5", expansion=expansion,
        written=lambda x, y: function(x) / function(y), singular=True)


def _is_ordinary(x: Node) -> Node:
    return _both(compare("less", 1.0 / _LARGE, x), compare("less", x, _LARGE))


def _log_i0(x: Node) -> Node:
    square = 0.25 * (x * x)
    total = constant(0.0)
    for k in range(_TERMS, 0, -1):  # DLMF 10.25.2
        total = (1.0 + total) * square / float(k * k)
    return where(compare("less", absolute(x), 1.0), log1p(total), log(i0e(x)) + absolute(x))


def _moment(n: float, x: Node) -> Node:
    return elementwise("i_moment", (constant(n), x)) / i0e(x)


def _i_ratio_slope(x: Node, f: Node) -> Node:
    # the variance of cos t by the weights exp(x cos t): no difference of what is nearly equal, DLMF 10.32.1
    return _moment(2.0, x) - power(_moment(1.0, x), 2.0)


def _k_moment(n: float, x: Node) -> Node:
    return elementwise("k_moment", (constant(n), constant(0.0), x)) / k0e(x)


def _k_ratio_slope(x: Node, f: Node) -> Node:
    # less the variance of cosh t by the weights exp(-x cosh t), DLMF 10.32.9
    return power(_k_moment(1.0, x), 2.0) - _k_moment(2.0, x)


def _exp1_moment(order: float, x: Node) -> Node:
    return elementwise("exp1_moment", (constant(order), x))


def _exp1_share(order: float, x: Node) -> Node:
    return _exp1_moment(order, x) / _exp1_moment(0.0, x)


def _exp1_moment_written(n: Node, x: Node) -> Node:
    order = order_of(n)
    if order == 0.0:
        return exp(x) * exp1(x)
    return math.factorial(int(order)) * (exp(x) * expn(constant(order + 1.0), x)) / power(x, order)


def _exp1_moment_value(n: Node, x: Node) -> Node:
    order = order_of(n)
    far = compare("less", _FRACTION, x)
    z, below = where(far, x, _FRACTION), constant(0.0)
    for k in range(_LEVELS, 0, -1):  # DLMF 8.19.17, two of its levels in one
        below = k * (order + k) / (z + (order + 1.0 + 2.0 * k) - below)
    scale = math.factorial(int(order)) / power(z, order)
    near = where(far, 1.0, x)
    return where(far, scale / (z + (order + 1.0) - below), _exp1_moment_written(n, near))


def _log_exp1(x: Node) -> Node:
    return where(compare("less", _FRACTION, x), log(_exp1_moment(0.0, x)) - x, log(exp1(x)))


def _expi_scaled(order: float, x: Node) -> Node:
    return elementwise("expi_scaled", (constant(order), x))


def _expi_share(order: float, x: Node) -> Node:
    return _expi_scaled(order, x) / _expi_scaled(0.0, x)


def _expi_scaled_written(n: Node, x: Node) -> Node:
    order = int(order_of(n))
    result = exp(-x) * expi(x)
    for j in range(order):
        result = result - math.factorial(j) / (power(x, j + 1.0) if j else x)
    return result if order % 2 == 0 else -result


def _expi_scaled_value(n: Node, x: Node) -> Node:
    order = int(order_of(n))
    far = compare("less", _SERIES, x)
    z, terms = where(far, x, _SERIES), constant(1.0)
    for k in range(_ASYMPTOTIC, 0, -1):  # DLMF 6.12.2, term by term
        terms = 1.0 + terms * (k + order) / z
    scale = (-1.0) ** order * math.factorial(order)
    return where(far, terms * scale / power(z, order + 1.0), _expi_scaled_written(n, where(far, 1.0, x)))


def _log_expi(x: Node) -> Node:
    return where(compare("less", _SERIES, x), log(_expi_scaled(0.0, x)) + x, log(expi(x)))


# Gamma functions                                         DLMF 5.2, 5.12
unary("log_gamma", lambda x, f: digamma(x), POSITIVE, numpy="", source="5.2.2", expansion=_log_gamma,
      written=lambda x: log(gamma(x)), singular=True)
row("log_beta", (lambda a, b, f: -_gap(a, b), lambda a, b, f: -_gap(b, a)), (POSITIVE, POSITIVE), numpy="",
    source="5.12.1", expansion=_log_beta, written=lambda a, b: log(beta(a, b)), singular=True)
row("log_binom", (lambda n, k, f: _gap(n - k + 1.0, k), lambda n, k, f: _gap(k + 1.0, n - 2.0 * k)),
    ((4.0, 9.0), (0.5, 3.5)), numpy="", source="1.2.6", expansion=_log_binom,
    written=lambda n, k: log(binom(n, k)), singular=True)
row("log_poch", (lambda a, m, f: _gap(a, m), lambda a, m, f: digamma(a + m)), (POSITIVE, POSITIVE), numpy="",
    source="5.2.5", expansion=_log_poch, written=lambda a, m: log(poch(a, m)), singular=True)

# Error functions                                         DLMF 7.2
unary("log_erfc", _log_erfc_slope, ANY, numpy="", source="7.2.2", expansion=_log_erfc, written=lambda x: log(erfc(x)),
      monotone="decreasing", curvature="concave")

unary("log_erfcx", _log_erfcx_slope, ANY, numpy="", source="7.18.9", expansion=_log_erfcx,
      written=lambda x: log(erfcx(x)), monotone="decreasing", curvature="convex")
row("log_ndtr_between", (lambda x, y, f: _density_within(x, f), lambda x, y, f: -_density_within(y, f)),
    ((0.5, 2.0), (-2.0, 0.4)), numpy="", source="7.2.2", expansion=_log_ndtr_between,
    written=lambda x, y: log(ndtr(x) - ndtr(y)), singular=True)
for _name in ("erfc", "ndtr"):
    _ratio(_name)

# Modified Bessel functions                               DLMF 10.29, 10.32
unary("i_ratio", _i_ratio_slope, ANY, numpy="", source="10.32.1", expansion=lambda x: i1e(x) / i0e(x),
      written=lambda x: i1(x) / i0(x), range="(-1, 1)", parity="odd", monotone="increasing", at_zero=(0.0, 0.5))
unary("k_ratio", _k_ratio_slope, POSITIVE, numpy="", source="10.32.9", expansion=lambda x: k1e(x) / k0e(x),
      written=lambda x: k1(x) / k0(x), singular=True, range="(1, inf)", monotone="decreasing", curvature="convex")
unary("log_i0", lambda x, f: i_ratio(x), ANY, numpy="", source="10.29.3", expansion=_log_i0,
      written=lambda x: log(i0(x)), range="[0, inf)", parity="even", curvature="convex", at_zero=(0.0, 0.0))
unary("log_i1", lambda x, f: 1.0 / i_ratio(x) - 1.0 / x, POSITIVE, numpy="", source="10.29.1",
      expansion=lambda x: log(i1e(x)) + absolute(x), written=lambda x: log(i1(x)), singular=True)
unary("log_k0", lambda x, f: -k_ratio(x), POSITIVE, numpy="", source="10.29.3",
      expansion=lambda x: log(k0e(x)) - x, written=lambda x: log(k0(x)), singular=True, monotone="decreasing")
unary("log_k1", lambda x, f: -1.0 / k_ratio(x) - 1.0 / x, POSITIVE, numpy="", source="10.29.1",
      expansion=lambda x: log(k1e(x)) - x, written=lambda x: log(k1(x)), singular=True, monotone="decreasing")
row("log_kv", (ABSENT, lambda v, x, f: -0.5 * (kve(v - 1.0, x) + kve(v + 1.0, x)) / kve(v, x)), ((0.2, 3.7), POSITIVE),
    numpy="", source="10.29.1", expansion=lambda v, x: log(kve(v, x)) - x, written=lambda v, x: log(kv(v, x)),
    singular=True)
row("log_iv", (ABSENT, lambda v, x, f: 0.5 * (ive(v - 1.0, x) + ive(v + 1.0, x)) / ive(v, x)), ((0.2, 3.7), POSITIVE),
    numpy="", source="10.29.1", expansion=lambda v, x: log(ive(v, x)) + absolute(x), written=lambda v, x: log(iv(v, x)),
    singular=True)

# Exponential integrals: integrals of t^n exp(-x t) / (1 + t), and derivatives of exp(-x) Ei(x)     DLMF 6.2, 8.19
row("exp1_moment", (NONE, lambda n, x, f: -_exp1_moment(order_of(n) + 1.0, x)), ((1.0, 1.0), POSITIVE), numpy="",
    source="6.2.2", expansion=_exp1_moment_value, written=_exp1_moment_written, orders=10, singular=True)
unary("log_exp1_slope", lambda x, f: _exp1_share(2.0, x) - power(_exp1_share(1.0, x), 2.0), POSITIVE, numpy="",
      source="6.2.1", expansion=lambda x: -1.0 - _exp1_share(1.0, x), written=lambda x: -(exp(-x) / (x * exp1(x))),
      singular=True)
unary("log_exp1", lambda x, f: named("log_exp1_slope")(x), POSITIVE, numpy="", source="6.2.1", expansion=_log_exp1,
      written=lambda x: log(exp1(x)), singular=True, monotone="decreasing")
row("expi_scaled", (NONE, lambda n, x, f: _expi_scaled(order_of(n) + 1.0, x)), ((1.0, 1.0), (0.5, 4.0)), numpy="",
    source="6.2.5", expansion=_expi_scaled_value, written=_expi_scaled_written, orders=10, singular=True)
unary("log_expi_slope", lambda x, f: _expi_share(2.0, x) - power(_expi_share(1.0, x), 2.0), (0.5, 4.0), numpy="",
      source="6.2.5", expansion=lambda x: 1.0 + _expi_share(1.0, x), written=lambda x: exp(x) / (x * expi(x)),
      singular=True)
unary("log_expi", lambda x, f: named("log_expi_slope")(x), (0.5, 4.0), numpy="", source="6.2.5", expansion=_log_expi,
      written=lambda x: log(expi(x)), singular=True, monotone="increasing")
