"""Densities and distribution functions of a number, of the standard variable ``z = (x - loc) / scale``.

Tails are written by the function that is small there: ``sf`` is not ``1 - cdf``, and a logarithm of a probability is
not the logarithm of one that has underflowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...graph import Node, number
from ...graph.dump import record_text
from ...graph.scalars.functions import apply, compare, where
from ...graph.scalars.logarithms import log1mexp_of_exp
from .table import DENSITY, QUANTILES, all_of, log, scaled, standard, unless_nan, within

__all__ = ["formula"]

LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


class _Family(NamedTuple):
    """The functions of a standard variable; ``ends`` is the density at the ends of the support, if it has ends."""

    functions: dict[str, Callable[..., Node]]
    low: float = -math.inf
    high: float = math.inf
    ends: Callable[..., Node] | None = None
    closed: bool = True  # whether the formulas hold at the ends of the support as well
    support: Callable[..., tuple[Node, Node]] | None = None  # the ends, where the shapes say them

    def __repr__(self) -> str:
        return record_text(self)


def formula(name: str, function: str) -> Callable[..., Node]:
    """Return a function of a distribution, of x, its shapes, ``loc`` and ``scale``."""
    if function in QUANTILES:
        return _quantile(_QUANTILES[name][QUANTILES.index(function)])
    family = _FAMILIES[name]

    def run(x: Node, *parameters: Node) -> Node:
        *shapes, loc, scale = parameters
        z = standard(x, loc, scale)
        value = scaled(function, _of_standard(family, function, z, shapes), scale)
        if family.support is not None:
            return within(function, z, *family.support(*shapes), value, family.closed)
        if family.low == -math.inf and family.high == math.inf:
            return value
        # a half-line is the same before it is scaled, so that what is known of x and loc is seen, and no slope by scale
        # asks where it ends
        place = standard(x, loc) if (family.low, family.high) == (0.0, math.inf) else z
        if place is not z and _is_declared_positive(place):
            return value
        ends = family.ends
        if ends is None or function not in DENSITY:
            return within(function, place, family.low, family.high, value, family.closed)
        at_end = ends(z, *shapes)
        at_end = scaled(function, at_end if function == "logpdf" else apply("exp", at_end), scale)
        return within(function, place, family.low, family.high, value, False, at_end)

    return run


def _is_declared_positive(place: Node) -> bool:
    """Tell whether elements are those of an input that is declared positive: what is computed may round to 0."""
    while place.op in ("slice", "reshape", "gather", "take"):
        place = place.args[0]
    return place.is_input and place.assumptions.positive


def _quantile(standard_quantile: Callable[..., Node]) -> Callable[..., Node]:
    """Return a quantile of q, the shapes, ``loc`` and ``scale``, nan where q is no probability."""

    def run(q: Node, *parameters: Node) -> Node:
        *shapes, loc, scale = parameters
        z = standard_quantile(q, *shapes)
        value = z if number(scale) == 1 else scale * z
        value = value if number(loc) == 0 else loc + value
        return where(all_of(compare("less_equal", 0.0, q), compare("less_equal", q, 1.0)), value, math.nan)

    return run


def _of_standard(family: _Family, function: str, z: Node, shapes: Sequence[Node]) -> Node:
    found = family.functions.get(function)
    if found is not None:
        return found(z, *shapes)
    return apply("exp", family.functions["log" + function](z, *shapes))


def _ndtr(z: Node) -> Node:
    return apply("ndtr", z)


def _log_ndtr(z: Node) -> Node:
    return apply("log_ndtr", z)


def _square(z: Node) -> Node:
    return apply("power", z, 2.0)


def _log1p(z: Node) -> Node:
    return apply("log1p", z)


def _lgamma(a: Node) -> Node:
    return apply("lgamma", a)


def _log1mexp(z: Node) -> Node:
    return apply("log1mexp", z)


def _exp(z: Node) -> Node:
    return apply("exp", z)


def _less_1(z: Node) -> Node:
    """Return ``1 - exp(z)``."""
    return -apply("expm1", z)


def _angle(z: Node) -> Node:
    """Return the probability above z of the Cauchy distribution, with all digits in its tail."""
    return apply("arctan2", 1.0, z) / math.pi


def _log_angle(z: Node) -> Node:
    return where(compare("less", z, 0.0), _log1p(-_angle(-z)), log(_angle(z)))


def _laplace(z: Node) -> Node:
    tail = 0.5 * _exp(-apply("abs", z))
    return where(compare("less", z, 0.0), tail, 1.0 - tail)


def _log_laplace(z: Node) -> Node:
    tail = -apply("abs", z)
    return where(compare("less", z, 0.0), tail - math.log(2.0), _log1p(-0.5 * _exp(tail)))


def _log_between(a: Node, b: Node) -> Node:
    """Return the logarithm of a normal distribution's probability from a to b, by the tail that both lie in."""

    def in_tail(inner: Node, outer: Node) -> Node:
        whole = _log_ndtr(inner)
        return whole + _log1mexp(whole - _log_ndtr(outer))

    root_half = math.sqrt(0.5)
    across = log(0.5 * apply("erf", root_half * b) + 0.5 * apply("erf", -root_half * a))
    return where(compare("less", 0.0, a), in_tail(-a, -b), where(compare("less", b, 0.0), in_tail(b, a), across))


def _gennorm(z: Node, beta: Node) -> Node:
    """Return the probability below z."""
    tail = 0.5 * apply("gammaincc", 1.0 / beta, _power(apply("abs", z), beta))
    return where(compare("less", z, 0.0), tail, 1.0 - tail)


def _log_gennorm(z: Node, beta: Node) -> Node:
    """Return the logarithm of the probability below z."""
    scaled_place = _power(apply("abs", z), beta)
    tail = apply("log_gammaincc", 1.0 / beta, scaled_place) - math.log(2.0)
    whole = _log1p(-0.5 * apply("gammaincc", 1.0 / beta, scaled_place))
    return where(compare("less", z, 0.0), tail, whole)


def _apart(function: str, tail: Callable[[str], Node], other: Callable[[str], Node], near: Node) -> Node:
    """Return a function of one tail of a beta distribution, by the other tail where that has the digits.

    That is where ``near`` holds: what the tail itself is of is 1 less nearly nothing there.
    """
    whole = other("betainc")
    if function in ("cdf", "sf"):
        return where(near, 1.0 - whole, tail("betainc"))
    return where(compare("less", whole, 0.5), _log1p(-whole), tail("log_betainc"))


def _beta_above(function: str) -> Callable[..., Node]:
    def call(z: Node, a: Node, b: Node) -> Node:
        near = compare("less", z, 0.5)
        return _apart(function, lambda name: apply(name, b, a, 1.0 - z), lambda name: apply(name, a, b, z), near)

    return call


def _f_tail(function: str) -> Callable[..., Node]:
    """Return a function of the F distribution, by the shares of the beta distribution that are small at either end."""

    def call(z: Node, n: Node, m: Node) -> Node:
        def below(name: str) -> Node:
            return apply(name, 0.5 * n, 0.5 * m, n * z / (m + n * z))

        def above(name: str) -> Node:
            return apply(name, 0.5 * m, 0.5 * n, m / (m + n * z))

        if function in ("cdf", "logcdf"):
            return _apart(function, below, above, compare("less", m, n * z))
        return _apart(function, above, below, compare("less", n * z, m))

    return call


def _f_log_density(z: Node, n: Node, m: Node) -> Node:
    # by the share x = n z / (m + n z) of the beta distribution
    return (
        apply("xlogy", 0.5 * n - 1.0, z)
        + 0.5 * n * log(n / m)
        - 0.5 * (n + m) * _log1p(n * z / m)
        - apply("betaln", 0.5 * n, 0.5 * m)
    )


def _weibull_end(z: Node, c: Node) -> Node:
    return log(c) + apply("xlogy", c - 1.0, z)


def _beta_end(z: Node, a: Node, b: Node) -> Node:
    return apply("xlogy", a - 1.0, z) + apply("xlog1py", b - 1.0, -z) - apply("betaln", a, b)


_FAMILIES: dict[str, _Family] = {
    "norm": _Family({
        "logpdf": lambda z: -0.5 * _square(z) - LOG_ROOT_TWO_PI,
        "pdf": lambda z: _exp(-0.5 * _square(z)) / math.sqrt(2.0 * math.pi),
        "cdf": _ndtr,
        "sf": lambda z: _ndtr(-z),
        "logcdf": _log_ndtr,
        "logsf": lambda z: _log_ndtr(-z),
    }),
    "halfnorm": _Family({
        "logpdf": lambda z: 0.5 * math.log(2.0 / math.pi) - 0.5 * _square(z),
        "cdf": lambda z: apply("erf", math.sqrt(0.5) * z),
        "sf": lambda z: apply("erfc", math.sqrt(0.5) * z),
        "logcdf": lambda z: log(apply("erf", math.sqrt(0.5) * z)),
        "logsf": lambda z: where(
            compare("less", z, 0.5), _log1p(-apply("erf", math.sqrt(0.5) * z)), math.log(2.0) + _log_ndtr(-z)
        ),
    }, low=0.0),
    "lognorm": _Family({
        "logpdf": lambda z, s: -0.5 * _square(log(z) / s) - log(z) - log(s) - LOG_ROOT_TWO_PI,
        "cdf": lambda z, s: _ndtr(log(z) / s),
        "sf": lambda z, s: _ndtr(-log(z) / s),
        "logcdf": lambda z, s: _log_ndtr(log(z) / s),
        "logsf": lambda z, s: _log_ndtr(-log(z) / s),
    }, low=0.0, closed=False),
    # DLMF 5.12.1: gamma((df + 1) / 2) / gamma(df / 2) / sqrt(pi) is 1 / beta(df / 2, 1 / 2)
    "t": _Family({
        "logpdf": lambda z, df: (
            -0.5 * ((df + 1.0) * _log1p(_square(z) / df)) - apply("betaln", 0.5 * df, 0.5) - 0.5 * log(df)
        ),
        "cdf": lambda z, df: apply("stdtr", df, z),
        "sf": lambda z, df: apply("stdtr", df, -z),
        "logcdf": lambda z, df: apply("log_stdtr", df, z),
        "logsf": lambda z, df: apply("log_stdtr", df, -z),
    }),
    "cauchy": _Family({
        "logpdf": lambda z: -_log1p(_square(z)) - math.log(math.pi),
        "pdf": lambda z: 1.0 / (math.pi * (1.0 + _square(z))),
        "cdf": lambda z: _angle(-z),
        "sf": _angle,
        "logcdf": lambda z: _log_angle(-z),
        "logsf": _log_angle,
    }),
    "gamma": _Family({
        "logpdf": lambda z, a: (a - 1.0) * log(z) - z - _lgamma(a),
        "cdf": lambda z, a: apply("gammainc", a, z),
        "sf": lambda z, a: apply("gammaincc", a, z),
        "logcdf": lambda z, a: apply("log_gammainc", a, z),
        "logsf": lambda z, a: apply("log_gammaincc", a, z),
    }, low=0.0, closed=False, ends=lambda z, a: apply("xlogy", a - 1.0, z) - _lgamma(a)),
    "chi2": _Family({
        "logpdf": lambda z, df: (0.5 * df - 1.0) * log(z) - 0.5 * z - 0.5 * math.log(2.0) * df - _lgamma(0.5 * df),
        "cdf": lambda z, df: apply("gammainc", 0.5 * df, 0.5 * z),
        "sf": lambda z, df: apply("gammaincc", 0.5 * df, 0.5 * z),
        "logcdf": lambda z, df: apply("log_gammainc", 0.5 * df, 0.5 * z),
        "logsf": lambda z, df: apply("log_gammaincc", 0.5 * df, 0.5 * z),
    }, low=0.0, closed=False, ends=lambda z, df: (
        apply("xlogy", 0.5 * df - 1.0, z) - 0.5 * math.log(2.0) * df - _lgamma(0.5 * df)
    )),
    "invgamma": _Family({
        "logpdf": lambda z, a: -(a + 1.0) * log(z) - 1.0 / z - _lgamma(a),
        "cdf": lambda z, a: apply("gammaincc", a, 1.0 / z),
        "sf": lambda z, a: apply("gammainc", a, 1.0 / z),
        "logcdf": lambda z, a: apply("log_gammaincc", a, 1.0 / z),
        "logsf": lambda z, a: apply("log_gammainc", a, 1.0 / z),
    }, low=0.0, closed=False),
    "beta": _Family({
        "logpdf": lambda z, a, b: (a - 1.0) * log(z) + (b - 1.0) * _log1p(-z) - apply("betaln", a, b),
        "cdf": lambda z, a, b: apply("betainc", a, b, z),
        "sf": _beta_above("sf"),
        "logcdf": lambda z, a, b: apply("log_betainc", a, b, z),
        "logsf": _beta_above("logsf"),
    }, low=0.0, high=1.0, closed=False, ends=_beta_end),
    "f": _Family({
        "logpdf": _f_log_density,
        **{name: _f_tail(name) for name in ("cdf", "sf", "logcdf", "logsf")},
    }, low=0.0, closed=False, ends=_f_log_density),
    "weibull_min": _Family({
        "logpdf": lambda z, c: log(c) + (c - 1.0) * log(z) - apply("power", z, c),
        "cdf": lambda z, c: _less_1(-apply("power", z, c)),
        "logsf": lambda z, c: -apply("power", z, c),
        "logcdf": lambda z, c: _log1mexp(apply("power", z, c)),
    }, low=0.0, closed=False, ends=_weibull_end),
    "expon": _Family({
        "logpdf": lambda z: -z,
        "cdf": lambda z: _less_1(-z),
        "logsf": lambda z: -z,
        "logcdf": _log1mexp,
    }, low=0.0),
    "laplace": _Family({
        "logpdf": lambda z: -apply("abs", z) - math.log(2.0),
        "cdf": _laplace,
        "sf": lambda z: _laplace(-z),
        "logcdf": _log_laplace,
        "logsf": lambda z: _log_laplace(-z),
    }),
    "logistic": _Family({
        "logpdf": lambda z: -z - 2.0 * apply("softplus", -z),
        "pdf": lambda z: apply("sigmoid", z) * apply("sigmoid", -z),
        "cdf": lambda z: apply("sigmoid", z),
        "sf": lambda z: apply("sigmoid", -z),
        "logcdf": lambda z: apply("log_sigmoid", z),
        "logsf": lambda z: apply("log_sigmoid", -z),
    }),
    "uniform": _Family({
        "logpdf": lambda z: unless_nan(z, 0.0),
        "pdf": lambda z: unless_nan(z, 1.0),
        "cdf": lambda z: z,
        "sf": lambda z: 1.0 - z,
        "logcdf": log,
        "logsf": lambda z: _log1p(-z),
    }, low=0.0, high=1.0),
    "gumbel_r": _Family({
        "logpdf": lambda z: -z - _exp(-z),
        "cdf": lambda z: _exp(-_exp(-z)),
        "logcdf": lambda z: -_exp(-z),
        "sf": lambda z: _less_1(-_exp(-z)),
        "logsf": lambda z: log1mexp_of_exp(-z),
    }),
    "gumbel_l": _Family({
        "logpdf": lambda z: z - _exp(z),
        "sf": lambda z: _exp(-_exp(z)),
        "logsf": lambda z: -_exp(z),
        "cdf": lambda z: _less_1(-_exp(z)),
        "logcdf": log1mexp_of_exp,
    }),
    "pareto": _Family({
        "logpdf": lambda z, b: log(b) - (b + 1.0) * log(z),
        "cdf": lambda z, b: _less_1(-b * log(z)),
        "logsf": lambda z, b: -b * log(z),
        "logcdf": lambda z, b: _log1mexp(b * log(z)),
    }, low=1.0),
    # Mardia and Jupp, "Directional statistics", 3.5.4, by the scaled Bessel function
    "vonmises": _Family({
        "logpdf": lambda z, kappa: kappa * (apply("cos", z) - 1.0) - log(2.0 * math.pi * apply("i0e", kappa)),
    }),
    # 1 - 2 c cos z + c^2 without loss beside the mode
    "wrapcauchy": _Family({
        "logpdf": lambda z, c: (
            _log1p(-_square(c)) - math.log(2.0 * math.pi)
            - log(_square(1.0 - c) + 4.0 * c * _square(apply("sin", 0.5 * z)))
        ),
    }, low=0.0, high=2.0 * math.pi),
    "gennorm": _Family({
        "logpdf": lambda z, beta: log(0.5 * beta) - _lgamma(1.0 / beta) - _power(apply("abs", z), beta),
        "cdf": _gennorm,
        "sf": lambda z, beta: _gennorm(-z, beta),
        "logcdf": _log_gennorm,
        "logsf": lambda z, beta: _log_gennorm(-z, beta),
    }),
    "truncnorm": _Family({
        "logpdf": lambda z, a, b: -0.5 * _square(z) - LOG_ROOT_TWO_PI - _log_between(a, b),
        "logcdf": lambda z, a, b: _log_between(a, z) - _log_between(a, b),
        "logsf": lambda z, a, b: _log_between(z, b) - _log_between(a, b),
    }, support=lambda a, b: (a, b)),
}  # fmt: skip


def _ndtri(q: Node) -> Node:
    return apply("ndtri", q)


def _power(x: Node, exponent: Node) -> Node:
    return apply("power", x, exponent)


def _root_two(x: Node) -> Node:
    return math.sqrt(2.0) * x


def _cauchy_quantile(q: Node) -> Node:
    """Return -cot(pi q), by the end that q is nearer to."""
    above = where(compare("less", q, 0.5), q, 1.0 - q)
    size = 1.0 / apply("tan", math.pi * above)
    return where(compare("less", q, 0.5), -size, size)


def _gennorm_quantile(q: Node, beta: Node) -> Node:
    below = compare("less", q, 0.5)
    size = _power(apply("gammainccinv", 1.0 / beta, 2.0 * where(below, q, 1.0 - q)), 1.0 / beta)
    return where(below, -size, size)


def _t_quantile(q: Node, df: Node) -> Node:
    # SciPy's function is inf at 0; -1 / q has the value and the slope of that end
    return where(compare("equal", q, 0.0), -1.0 / q, apply("stdtrit", df, q))


def _f_quantile(q: Node, n: Node, m: Node) -> Node:
    share = apply("betaincinv", 0.5 * n, 0.5 * m, q)
    return m * share / (n * (1.0 - share))


def _laplace_quantile(q: Node) -> Node:
    return where(compare("less", q, 0.5), log(2.0 * q), -log(2.0 - 2.0 * q))


#: Quantiles of the standard variable: where the probability below is q, and where that above is. Each is written by the
#: logarithm that has all digits where its q is small.
_QUANTILES: dict[str, tuple[Callable[..., Node], Callable[..., Node]]] = {
    "norm": (_ndtri, lambda q: -_ndtri(q)),
    "halfnorm": (lambda q: _root_two(apply("erfinv", q)), lambda q: _root_two(apply("erfcinv", q))),
    "lognorm": (lambda q, s: _exp(s * _ndtri(q)), lambda q, s: _exp(-s * _ndtri(q))),
    "cauchy": (_cauchy_quantile, lambda q: -_cauchy_quantile(q)),
    "weibull_min": (lambda q, c: _power(-_log1p(-q), 1.0 / c), lambda q, c: _power(-log(q), 1.0 / c)),
    "expon": (lambda q: -_log1p(-q), lambda q: -log(q)),
    "laplace": (_laplace_quantile, lambda q: -_laplace_quantile(q)),
    "logistic": (lambda q: apply("logit", q), lambda q: -apply("logit", q)),
    "uniform": (lambda q: q, lambda q: 1.0 - q),
    "gumbel_r": (lambda q: -log(-log(q)), lambda q: -log(-_log1p(-q))),
    "gumbel_l": (lambda q: log(-_log1p(-q)), lambda q: log(-log(q))),
    "t": (_t_quantile, lambda q, df: -_t_quantile(q, df)),
    "gamma": (lambda q, a: apply("gammaincinv", a, q), lambda q, a: apply("gammainccinv", a, q)),
    "chi2": (
        lambda q, df: 2.0 * apply("gammaincinv", 0.5 * df, q),
        lambda q, df: 2.0 * apply("gammainccinv", 0.5 * df, q),
    ),
    "invgamma": (lambda q, a: 1.0 / apply("gammainccinv", a, q), lambda q, a: 1.0 / apply("gammaincinv", a, q)),
    "beta": (
        lambda q, a, b: apply("betaincinv", a, b, q),
        lambda q, a, b: 1.0 - apply("betaincinv", b, a, q),
    ),
    "f": (_f_quantile, lambda q, n, m: 1.0 / _f_quantile(q, m, n)),
    "gennorm": (_gennorm_quantile, lambda q, beta: -_gennorm_quantile(q, beta)),
    "pareto": (lambda q, b: _exp(-_log1p(-q) / b), lambda q, b: _power(q, -1.0 / b)),
}
