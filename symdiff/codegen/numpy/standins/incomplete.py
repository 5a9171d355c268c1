"""Incomplete gamma and beta functions, Student's distribution, and quotients of gamma functions.

Where parameters are so large (beyond about 1e9) that series and fractions take too many terms, results are nan.
"""

from __future__ import annotations

import math
from typing import Any

from .basic import each, gamma_of_number
from .gammas import beta_of_number, betaln_of_number, lgamma_gap, log_gamma, stirling

__all__ = ["betainc", "binom", "gammainc", "gammaincc", "poch", "stdtr"]


def log_less(t: float, ratio: float) -> float:
    """Return t - log(1 + t), of 1 + t = ratio, without cancellation near 0."""
    if ratio <= 0.0:
        return math.inf
    if abs(t) > 0.3:
        return t - math.log(ratio)
    u = t / (2.0 + t)  # log1p(t) = 2 (u + u^3 / 3 + ...), and t = 2 u / (1 - u)
    square, power, total = u * u, u, 0.0
    for k in range(3, 41, 2):
        power *= square
        total += power / k
    return t * u - 2.0 * total


def gamma_weight(a: float, x: float) -> float:
    """Return x^a exp(-x) / gamma(a + 1), without the cancellation of large logarithms."""
    if a < 15.0:
        power = a * math.log(x) - x
        return math.exp(power) / math.gamma(a + 1.0) if power > -700.0 else math.exp(power - log_gamma(a + 1.0))
    rest, power = 0.0, 1.0 / a
    for j in range(8):
        rest += stirling(j) * power
        power /= a * a
    power = a * log_less((x - a) / a, x / a) + rest
    return math.exp(-power) / math.sqrt(2.0 * math.pi * a)


def gamma_parts(a: float, x: float) -> tuple[float, float]:
    """Return the two incomplete gamma functions, lower and upper, that are regularized."""
    if math.isnan(a) or math.isnan(x) or a < 0 or x < 0 or (a == 0 and x == 0) or a == x == math.inf:
        return math.nan, math.nan
    if a == 0 or x == math.inf:
        return 1.0, 0.0
    if x == 0 or a == math.inf:
        return 0.0, 1.0
    weight = gamma_weight(a, x)
    if x < a + 1.0:  # DLMF 8.11.4
        term = total = 1.0
        n = 0
        while term > 1e-17 * total and n < 200_000:
            n += 1
            term *= x / (a + n)
            total += term
        lower = weight * total
        if term > 1e-17 * total:
            return math.nan, math.nan
        return lower, upper_of_small(a, x) if a < 1.0 else 1.0 - lower  # it may be small for small a
    # the continued fraction DLMF 8.9.2 by Lentz's method
    b = x + 1.0 - a
    c, d = 1e300, 1.0 / (b or 1e-300)
    h = d
    for n in range(1, 200_000):
        an = n * (a - n)
        b += 2.0
        d = 1.0 / ((an * d + b) or 1e-300)
        c = (b + an / c) or 1e-300
        h *= c * d
        if abs(c * d - 1.0) < 4e-16:
            break
    else:
        return math.nan, math.nan
    upper = weight * a * h
    return 1.0 - upper, upper


def upper_of_small(a: float, x: float) -> float:
    """Return the regularized upper function for a < 1 and x < 2, DLMF 8.7.3."""
    # 1 - x^a / gamma(a+1) (1 + a sum (-x)^n / (n! (a + n))); lgamma(1 + a) by the gap is small with a
    head = -math.expm1(a * math.log(x) - lgamma_gap(1.0, a))
    term, total = 1.0, 0.0
    for n in range(1, 50):
        term *= -x / n
        total += term / (a + n)
    return head - math.exp(a * math.log(x)) / math.gamma(a + 1.0) * a * total


def gammainc_of_number(a: float, x: float) -> float:
    """Return the lower incomplete gamma function over gamma(a)."""
    return gamma_parts(a, x)[0]


def gammainc(a: Any, x: Any) -> Any:
    """Return the regularized lower incomplete gamma function."""
    return each(gammainc_of_number, a, x)


def gammaincc_of_number(a: float, x: float) -> float:
    """Return the upper incomplete gamma function over gamma(a)."""
    return gamma_parts(a, x)[1]


def gammaincc(a: Any, x: Any) -> Any:
    """Return the regularized upper incomplete gamma function."""
    return each(gammaincc_of_number, a, x)


def beta_weight(a: float, b: float, x: float, y: float) -> float:
    """Return x^a y^b / beta(a, b) for x + y = 1, without the cancellation of large logarithms."""
    if min(a, b) < 15.0:
        log_x, log_y = (math.log(one) if one < 0.5 else math.log1p(-other) for one, other in ((x, y), (y, x)))
        return math.exp(a * log_x + b * log_y - betaln_of_number(a, b))
    n = a + b
    rest, pa, pb, pn = 0.0, 1.0 / a, 1.0 / b, 1.0 / n
    for j in range(8):
        rest += stirling(j) * (pa + pb - pn)
        pa, pb, pn = pa / (a * a), pb / (b * b), pn / (n * n)
    off = x * b - y * a  # x = a / n (1 + off / a), y = b / n (1 - off / b)
    power = a * log_less(off / a, x * n / a) + b * log_less(-off / b, y * n / b) + rest
    return math.exp(-power) * math.sqrt(a / n) * math.sqrt(b / (2.0 * math.pi))


def beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function, DLMF 8.17.22, by Lentz's method."""
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > 1e-300 else 1e-300)
    h = d
    for m in range(1, 200_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0)),
        ):
            d = 1.0 + term * d
            c = 1.0 + term / c
            d = 1.0 / (d if abs(d) > 1e-300 else 1e-300)
            c = c if abs(c) > 1e-300 else 1e-300
            h *= c * d
        if abs(c * d - 1.0) < 4e-16:
            return h
    return math.nan  # of parameters so large that it does not converge


def beta_part(a: float, b: float, x: float, y: float) -> float:
    """Return the regularized incomplete beta function at x = 1 - y."""
    if math.isnan(a) or math.isnan(b) or math.isnan(x) or a < 0 or b < 0 or not 0 <= x <= 1:
        return math.nan
    if a == b and (a in (0, math.inf)):
        return math.nan
    if x == 0 or y == 0:
        return 0.0 if x == 0 else 1.0
    if 0 in (a, b) or math.inf in (a, b):
        return 1.0 if a == 0 or b == math.inf else 0.0
    if max(a, b) < 1e-290:
        return 1.0 / (1.0 + a / b)
    a, b = max(a, 1e-300), max(b, 1e-300)
    weight = beta_weight(a, b, x, y)
    if x < (a + 1.0) / (a + b + 2.0):
        return weight * beta_fraction(a, b, x) / a
    return 1.0 - weight * beta_fraction(b, a, y) / b


def betainc_of_number(a: float, b: float, x: float) -> float:
    """Return the regularized incomplete beta function."""
    return beta_part(a, b, x, 1.0 - x)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """Return the regularized incomplete beta function."""
    return each(betainc_of_number, a, b, x)


def stdtr_of_number(df: float, x: float) -> float:
    """Return the integral of Student's distribution up to x."""
    if math.isnan(df) or math.isnan(x) or df <= 0:
        return math.nan
    if abs(x) == math.inf:
        return 1.0 if x > 0 else 0.0
    if df == math.inf:
        return 0.5 * math.erfc(-0.7071067811865476 * x)
    df, square = max(df, 1e-290), x * x
    if square > df:  # the tail
        tail = 0.5 * beta_part(0.5 * df, 0.5, df / (df + square), square / (df + square))
        return 1.0 - tail if x > 0 else tail
    half = 0.5 * beta_part(0.5, 0.5 * df, square / (df + square), df / (df + square))
    return 0.5 + half if x > 0 else 0.5 - half


def stdtr(df: Any, x: Any) -> Any:
    """Return the integral of Student's distribution."""
    return each(stdtr_of_number, df, x)


def poch_of_number(a: float, m: float) -> float:
    """Return gamma(a + m) / gamma(a)."""
    if not math.isfinite(a + m):
        return math.nan
    if abs(m) <= 170 and m == math.floor(m):  # a product, whose factors may be 0
        result = 1.0
        for i in range(abs(int(m))):
            result *= a + i if m > 0 else a - 1.0 - i
        return result if m >= 0 else 1.0 / result if result else math.nan
    if a > 0 and m > 0 and a + m < 1e300:
        power = lgamma_gap(a, m)
        return math.exp(power) if power < 709.78 else math.inf
    if a > 0 and a + m > 0 and m < 0:
        up = poch_of_number(a + m, -m)
        return 1.0 / up if up else math.inf
    below, above = gamma_of_number(a), gamma_of_number(a + m)
    if a <= 0 and a == math.floor(a):  # a pole below
        return math.nan if a + m <= 0 and a + m == math.floor(a + m) else 0.0
    return above / below if below else math.nan


def poch(a: Any, m: Any) -> Any:
    """Return Pochhammer's symbol, gamma(a + m) / gamma(a)."""
    return each(poch_of_number, a, m)


def binom_of_number(n: float, k: float) -> float:
    """Return the binomial coefficient n over k."""
    if not (math.isfinite(n) and math.isfinite(k)):
        return math.nan
    if k <= 40 and k == math.floor(k):
        result = 1.0 if k >= 0 else 0.0
        for i in range(int(k)):
            result *= (n - i) / (i + 1.0)
        return result if k >= 0 or n >= 0 or n != math.floor(n) else math.nan
    if n + 1.0 > 0 and n - k + 1.0 > 0 and k + 1.0 > 0:
        below = (n + 1.0) * beta_of_number(n - k + 1.0, k + 1.0)
        return 1.0 / below if below else math.inf
    if n + 1.0 > 0 and k > n:  # reflection, DLMF 5.5.3
        turn, whole = (n - round(n)) - (k - round(k)), round(n) - round(k)
        turn, whole = turn - round(turn), whole + round(turn)
        sign = -1.0 if whole % 2 == 0 else 1.0
        return sign * math.sin(math.pi * turn) / math.pi * beta_of_number(n + 1.0, k - n) if turn else 0.0
    below = gamma_of_number(k + 1.0) * gamma_of_number(n - k + 1.0)
    return gamma_of_number(n + 1.0) / below if below and math.isfinite(below) else math.nan


def binom(n: Any, k: Any) -> Any:
    """Return the binomial coefficient."""
    return each(binom_of_number, n, k)
