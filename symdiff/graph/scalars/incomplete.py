"""Rows of incomplete gamma and beta functions, of their logarithms and inverses, and of hypergeometric functions.

A derivative with respect to a parameter is a row of its own, named by the parameters: ``betainc_by_ab`` is that of
``betainc`` wrt a, then b. They are offered to third order. Sources are sections of the NIST Digital Library of
Mathematical Functions (DLMF).

**The logarithm of a rising factorial by its step** is that of ``a**y Γ(y + 1/a) / Γ(1/a)``, a product of ``1 + k a``.
The likelihood of a negative binomial count has it. As it is written, it loses all digits where a is small: both
logarithms of Γ grow as log(a) / a. There it is Stirling's series, written so that nothing cancels:

    y**2 a r(y a) + (y - 1/2) log(1 + y a) + sum of c_m ((a / (1 + y a))**m - a**m),    r(u) = (log(1 + u) - u) / u**2

Sources are sections of the NIST Digital Library of Mathematical Functions (DLMF).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .. import BOOL, Node, constant, elementwise
from .functions import Interval, Partial, Slope, compare, where
from .making import ABSENT, ANY, NONE, POSITIVE, named, next_order, order_of, row

exp, log, log1p, power = (named(name) for name in ("exp", "log", "log1p", "power"))
digamma, lgamma, polygamma_gap = (named(name) for name in ("digamma", "lgamma", "polygamma_gap"))
xlogy, xlog1py = named("xlogy"), named("xlog1py")

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


#: Coefficients of a Stirling series in 1 / a, 1 / a^3, ...  DLMF 5.11.1
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)

# ---------------------------------------------------------------------------- partial derivatives that need words


def _gamma_density(a: Node, x: Node) -> Node:
    return elementwise("gamma_density", (constant(0.0), a, x))


def _gamma_density_by_x(n: Node, a: Node, x: Node, f: Node) -> Node:
    # by the next order, not f / x: f may have underflowed; at 0 a constant's slope is not 0 times infinity
    start = next_order(n)
    flat = elementwise("logical_and", (compare("equal", x, 0.0), compare("equal", a, start)), BOOL)
    return where(flat, -f, (a - start - x) * elementwise("gamma_density", (start, a, x)))


def _gamma_density_apart(n: Node, a: Node, x: Node) -> Node:
    return exp(xlogy(a - next_order(n), x) - x - lgamma(a))


def _gamma_density_computed(n: Node, a: Node, x: Node) -> Node:
    # far out lgamma cancels; by Stirling's formula, DLMF 5.11.1, what it cancels with is a deviance (Loader 2000)
    square, rest = 1.0 / (a * a), constant(STIRLING[-1])
    for c in STIRLING[-2::-1]:
        rest = c + square * rest
    scale = 0.5 * log(a / (2.0 * math.pi)) - next_order(n) * log(x)
    far = exp(scale - rest / a - named("kl_div")(a, x))
    close = elementwise("logical_or", (compare("less", a, 15.0), compare("equal", x, 0.0)), BOOL)
    return where(close, _gamma_density_apart(n, a, x), far)


def _beta_density(a: Node, b: Node, x: Node) -> Node:
    return named("beta_density")(a, b, x)


def _beta_density_written(a: Node, b: Node, x: Node) -> Node:
    return exp(xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - named("betaln")(a, b))


def _t_density(df: Node, x: Node) -> Node:
    # gamma((df + 1) / 2) / gamma(df / 2) / sqrt(pi) is 1 / beta(df / 2, 1 / 2), DLMF 5.12.1
    return exp(-0.5 * (df + 1.0) * log1p(x * x / df) - named("betaln")(0.5 * df, 0.5) - 0.5 * log(df))


def _t_exponent(df: Node, x: Node) -> Node:
    """Return the derivative with respect to df of the logarithm of the density."""
    square = x * x
    slope = (df + 1.0) * square / (df * (df + square)) - log1p(square / df) - 1.0 / df
    return 0.5 * (slope + _gap(0, 0.5 * df, constant(0.5)))


#: Derivatives with respect to a and b that have rows, after which there are none.
BY_A = ("a", "aa", "aaa")
BY_BOTH = ("a", "b", "aa", "ab", "bb", "aaa", "aab", "abb", "bbb")
INNER = (POSITIVE, POSITIVE, (0.1, 0.9))


def _trigamma(n: int, x: Node) -> Node:
    return elementwise("polygamma", (constant(float(n)), x))


def _gap(n: int, x: Node, d: Node) -> Node:
    return polygamma_gap(constant(float(n)), x, d)


def _of_logarithm(by: str, logarithmic: Callable[[str], Node]) -> Node:
    """Return a derivative of exp(f) over exp(f), by derivatives of f, each named by what it is taken by."""
    f = logarithmic
    if len(by) == 1:
        return f(by)
    if len(by) == 2:
        return f(by) + f(by[0]) * f(by[1])
    p, q, r = by[0], by[1], by[2]
    pairs = ((p, q + r), (q, p + r), (r, p + q))
    if p == q == r:
        return f(by) + 3.0 * (f(p) * f(p + p)) + f(p) * f(p) * f(p)
    return f(by) + sum((f(one) * f(two) for one, two in pairs[1:]), f(p) * f(q + r)) + f(p) * f(q) * f(r)


def _gamma_exponent(a: Node, x: Node) -> Callable[[str], Node]:
    """Return the derivatives with respect to a of the logarithm of the gamma density."""
    return lambda by: log(x) - digamma(a) if by == "a" else -_trigamma(len(by) - 1, a)


def _beta_exponent(a: Node, b: Node, x: Node) -> Callable[[str], Node]:
    """Return the derivatives with respect to a and b of the logarithm of the beta density."""

    def call(by: str) -> Node:
        n = len(by) - 1
        if len(set(by)) == 2:
            return _trigamma(n, a + b)
        start = _gap(n, a, b) if by[0] == "a" else _gap(n, b, a)
        return start if n else start + (log(x) if by == "a" else log1p(-x))

    return call


def _vanishing(density: Node, factor: Node) -> Node:
    # beyond where it underflows, and at the ends, the density is 0 and its factor may be infinite
    return where(compare("equal", density, 0.0), 0.0, density * factor)


def _less(one: Callable[[str], Node], other: Callable[[str], Node]) -> Callable[[str], Node]:
    return lambda by: one(by) - other(by)


def _after(by: str, further: str, known: tuple[str, ...], name: str) -> Slope | Partial:
    """Return the derivative of a row by one more parameter, which may be a row as well."""
    together = "".join(sorted(by + further))
    if together not in known:
        return ABSENT
    return lambda *args: named(f"{name}_by_{together}")(*args[:-1])


def _gamma_by(name: str, by: str) -> tuple[Slope | Partial, ...]:
    """Return the slopes of the derivative ``by`` of a row by a, and by x."""
    logarithmic = name.startswith("log")

    def by_x(a: Node, x: Node, f: Node) -> Node:
        exponent = _gamma_exponent(a, x)
        if not logarithmic:
            return _vanishing(_gamma_density(a, x), _of_logarithm(by, exponent))
        own = _less(exponent, lambda each: named(f"{name}_by_{each}")(a, x))
        return named(f"{name}_by_x")(a, x) * _of_logarithm(by, own)

    return _after(by, "a", BY_A, name), by_x


def _beta_by(name: str, by: str) -> tuple[Slope | Partial, ...]:
    """Return the slopes of the derivative ``by`` of a row by a, b and x."""

    def by_x(a: Node, b: Node, x: Node, f: Node) -> Node:
        exponent = _beta_exponent(a, b, x)
        if name == "betainc":
            return _vanishing(_beta_density(a, b, x), _of_logarithm(by, exponent))
        own = _less(exponent, lambda each: named(f"{name}_by_{each}")(a, b, x))
        return named(f"{name}_by_x")(a, b, x) * _of_logarithm(by, own)

    return *(_after(by, each, BY_BOTH, name) for each in "ab"), by_x


def _own(name: str, partials: tuple[Slope | Partial, ...], domain: tuple[Interval, ...], source: str) -> None:
    row(name, partials, domain, numpy=name, source=source, special=f"sd_{name}", singular=True)


# ---------------------------------------------------------------------------- the rows

# Incomplete gamma functions, and derivatives of them by a
row("gammainc", (lambda a, x, f: named("gammainc_by_a")(a, x), lambda a, x, f: _gamma_density(a, x)),
    (POSITIVE, POSITIVE), numpy="special.gammainc", source="8.8.13", library="gammainc", singular=True, range="[0, 1]")
row("gammaincc", (lambda a, x, f: -named("gammainc_by_a")(a, x), lambda a, x, f: -_gamma_density(a, x)),
    (POSITIVE, POSITIVE), numpy="special.gammaincc", source="8.8.14", library="gammaincc", singular=True,
    range="[0, 1]")
# x^(a - 1 - n) exp(-x) / gamma(a)
row("gamma_density", (NONE, lambda n, a, x, f: f * (log(x) - digamma(a)), _gamma_density_by_x),
    ((0.0, 0.0), POSITIVE, POSITIVE), numpy="", source="8.8.13", expansion=_gamma_density_computed,
    written=_gamma_density_apart, singular=True)
for _by in BY_A:
    _own(f"gammainc_by_{_by}", _gamma_by("gammainc", _by), (POSITIVE, POSITIVE), "8.7.1")
# their logarithms; the slope by x is the density over the tail
for _name in ("log_gammainc", "log_gammaincc"):
    _own(_name, (lambda a, x, f, name=_name: named(f"{name}_by_a")(a, x),
                 lambda a, x, f, name=_name: named(f"{name}_by_x")(a, x)), (POSITIVE, POSITIVE), "8.8.13")
    _own(f"{_name}_by_x", (
        lambda a, x, f, name=_name: f * (log(x) - digamma(a) - named(f"{name}_by_a")(a, x)),
        lambda a, x, f: f * ((a - 1.0) / x - 1.0 - f),
    ), (POSITIVE, POSITIVE), "8.8.13")
    for _by in BY_A:
        _own(f"{_name}_by_{_by}", _gamma_by(_name, _by), (POSITIVE, POSITIVE), "8.7.1")

# The incomplete beta function in the same way
row("betainc", (lambda a, b, x, f: named("betainc_by_a")(a, b, x), lambda a, b, x, f: named("betainc_by_b")(a, b, x),
                lambda a, b, x, f: _beta_density(a, b, x)), INNER,
    numpy="special.betainc", source="8.17.1", library="betainc", singular=True, range="[0, 1]")
# x^(a - 1) (1 - x)^(b - 1) / beta(a, b)
row("beta_density", (
    lambda a, b, x, f: f * _beta_exponent(a, b, x)("a"), lambda a, b, x, f: f * _beta_exponent(a, b, x)("b"),
    lambda a, b, x, f: f * ((a - 1.0) / x - (b - 1.0) / (1.0 - x)),
), INNER, numpy="beta_density", source="8.17.1", special="sd_beta_density", written=_beta_density_written,
    singular=True)
for _by in BY_BOTH:
    _own(f"betainc_by_{_by}", _beta_by("betainc", _by), INNER, "8.17.8")
_own("log_betainc", tuple(
    lambda a, b, x, f, each=each: named(f"log_betainc_by_{each}")(a, b, x) for each in "abx"
), INNER, "8.17.1")
_own("log_betainc_by_x", (
    lambda a, b, x, f: f * (_beta_exponent(a, b, x)("a") - named("log_betainc_by_a")(a, b, x)),
    lambda a, b, x, f: f * (_beta_exponent(a, b, x)("b") - named("log_betainc_by_b")(a, b, x)),
    lambda a, b, x, f: f * ((a - 1.0) / x - (b - 1.0) / (1.0 - x) - f),
), INNER, "8.17.1")
for _by in BY_BOTH:
    _own(f"log_betainc_by_{_by}", _beta_by("log_betainc", _by), INNER, "8.17.8")


def _turned(name: str, by: str) -> Slope:
    # the slope of an inverse by a parameter is minus that of the function over its slope, both over the function
    def slope(*args: Node) -> Node:
        *parameters, _, f = args
        return -(named(f"{name}_by_{by}")(*parameters, f) / named(f"{name}_by_x")(*parameters, f))

    return slope


def _betaincinv(a: Node, b: Node, y: Node) -> Node:
    # The time of SciPy's grows with the root of the smaller parameter. log(x / (1 - x)) is log(a / b) and t, whose
    # cumulants are differences and sums of polygamma(a) and polygamma(b): Cornish and Fisher's expansion of quantiles
    inside = elementwise("logical_and", (compare("less", 0.0, y), compare("less", y, 1.0)), BOOL)
    far = elementwise("logical_and", (compare("less", 1e9, named("minimum")(a, b)), inside), BOOL)
    near = named("betaincinv_near")(where(far, math.nan, a), b, y)
    one, other, z = 1.0 / where(far, a, 1.0), 1.0 / where(far, b, 1.0), named("ndtri")(where(far, y, 0.5))
    skew, cube = other - one, z * z * z
    spread = named("sqrt")(one + other + 0.5 * (one * one + other * other))
    t = spread * z + skew * (2.0 + z * z) / 6.0
    t = t + (one * one - one * other + other * other) / spread * (cube - 3.0 * z) / 12.0
    t = t - skew * skew / spread * (2.0 * cube - 5.0 * z) / 36.0
    return where(far, 1.0 / (1.0 + one / other * exp(-t)), near)


# inverses by the last argument, whose slopes are those of the functions turned around
row("gammaincinv", (_turned("log_gammainc", "a"), lambda a, y, f: 1.0 / _gamma_density(a, f)), (POSITIVE, (0.1, 0.9)),
    numpy="special.gammaincinv", source="8.8.13", library="gammaincinv", singular=True, range="[0, inf)")
row("gammainccinv", (_turned("log_gammaincc", "a"), lambda a, y, f: -1.0 / _gamma_density(a, f)),
    (POSITIVE, (0.1, 0.9)), numpy="special.gammainccinv", source="8.8.14", library="gammainccinv", singular=True,
    range="[0, inf)")
row("betaincinv", (_turned("log_betainc", "a"), _turned("log_betainc", "b"),
                   lambda a, b, y, f: 1.0 / _beta_density(a, b, f)), INNER,
    numpy="", source="8.17.1", expansion=_betaincinv, singular=True, range="[0, 1]")
row("betaincinv_near", (NONE, NONE, NONE), INNER, numpy="special.betaincinv", source="8.17.1", library="betaincinv",
    written=named("betaincinv"), singular=True)
# Student's distribution of df degrees of freedom, and its inverse
row("stdtr", (lambda df, x, f: named("stdtr_by_df")(df, x), lambda df, x, f: _t_density(df, x)), (POSITIVE, ANY),
    numpy="stdtr", source="8.17.1", special="sd_stdtr", range="[0, 1]")
row("stdtr_by_df", (ABSENT, lambda df, x, f: _t_density(df, x) * _t_exponent(df, x)), (POSITIVE, ANY),
    numpy="stdtr_by_df", source="8.17.4", special="sd_stdtr_by_df")
row("log_stdtr", (lambda df, x, f: named("log_stdtr_by_df")(df, x), lambda df, x, f: named("log_stdtr_by_x")(df, x)),
    (POSITIVE, ANY), numpy="log_stdtr", source="8.17.1", special="sd_log_stdtr")
row("log_stdtr_by_x", (lambda df, x, f: f * (_t_exponent(df, x) - named("log_stdtr_by_df")(df, x)),
                       lambda df, x, f: -(f * ((df + 1.0) * x / (df + x * x) + f))),
    (POSITIVE, ANY), numpy="log_stdtr_by_x", source="8.17.1", special="sd_log_stdtr_by_x")
row("log_stdtr_by_df", (ABSENT, lambda df, x, f: named("log_stdtr_by_x")(df, x) * (_t_exponent(df, x) - f)),
    (POSITIVE, ANY), numpy="log_stdtr_by_df", source="8.17.4", special="sd_log_stdtr_by_df")
row("stdtrit", (lambda df, p, f: -(named("stdtr_by_df")(df, f) / _t_density(df, f)),
                lambda df, p, f: 1.0 / _t_density(df, f)), ((0.5, 4.0), (0.1, 0.9)), numpy="special.stdtrit",
    source="8.17.1", library="stdtrit", singular=True)

# Hypergeometric functions; by their parameters no derivative is offered       DLMF 16.3.1, 13.3.15, 15.5.1
row("hyp0f1", (ABSENT, lambda b, x, f: named("hyp0f1")(b + 1.0, x) / b), (POSITIVE, ANY), numpy="hyp0f1",
    source="16.3.1", special="sd_hyp0f1", singular=True)
row("hyp1f1", (ABSENT, ABSENT, lambda a, b, x, f: a / b * named("hyp1f1")(a + 1.0, b + 1.0, x)),
    (POSITIVE, POSITIVE, ANY), numpy="hyp1f1", source="13.3.15", special="sd_hyp1f1", singular=True)
row("hyp2f1", (ABSENT, ABSENT, ABSENT,
               lambda a, b, c, x, f: a * b / c * named("hyp2f1")(a + 1.0, b + 1.0, c + 1.0, x)),
    (POSITIVE, POSITIVE, POSITIVE, (-0.8, 0.8)), numpy="hyp2f1", source="15.5.1", special="sd_hyp2f1", singular=True)
