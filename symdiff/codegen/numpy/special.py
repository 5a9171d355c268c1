"""Functions that exported source has of its own: those of Python's ``math``, and those that SciPy lacks.

The file is read as text, and what source calls is put in front of it, so a function uses ``math``, NumPy, SciPy's
``special`` and others of this file alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

# ---------------------------------------------------------------------------- by Python's math


def expit(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return np.exp(-np.logaddexp(0.0, -x))


def log_expit(x: Any) -> Any:
    """Return log(expit(x)) without overflow."""
    return -np.logaddexp(0.0, -x)


def xlogy(x: Any, y: Any) -> Any:
    """Return x log(y), and 0 where x is 0."""
    return np.where((x == 0) & ~np.isnan(y), 0.0, x * np.log(y))


def sinc(x: Any) -> Any:
    """Return sin(pi x) / (pi x), its limits 1 at 0 and 0 at infinity included."""
    return np.where(np.abs(x) > 1e300, 0.0, np.sinc(x))


def each(function: Any, *arguments: Any) -> Any:
    """Apply a function of numbers to each element of arrays that broadcast."""
    arrays = np.broadcast_arrays(*[np.asarray(one, np.float64) for one in arguments])
    results = map(function, *[one.ravel().tolist() for one in arrays])
    return np.fromiter(results, np.float64, arrays[0].size).reshape(arrays[0].shape)


def erf(x: Any) -> Any:
    """Return the error function."""
    return each(math.erf, x)


def erfc(x: Any) -> Any:
    """Return 1 - erf(x) with full accuracy."""
    return each(math.erfc, x)


def ndtr(x: Any) -> Any:
    """Return the standard normal distribution's integral up to x."""
    return 0.5 * erfc(-0.7071067811865476 * np.asarray(x))


def gamma_of_number(x: float) -> float:
    """Return gamma(x): inf where it overflows, nan at its poles below 0."""
    if x == 0:
        return math.copysign(math.inf, x)
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf if x > 0 or math.floor(x) % 2 == 0 else -math.inf
    except ValueError:
        return math.nan


def gamma(x: Any) -> Any:
    """Return the gamma function."""
    return each(gamma_of_number, x)


def lgamma_of_number(x: float) -> float:
    """Return log(abs(gamma(x))), inf at the poles."""
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):
        return math.inf


def gammaln(x: Any) -> Any:
    """Return log(abs(gamma(x)))."""
    return each(lgamma_of_number, x)


# ---------------------------------------------------------------------------- SciPy's in symdiff's words


def beta(a: Any, b: Any) -> Any:
    """Return the beta function."""
    return special.beta(a, b)


def betaln(a: Any, b: Any) -> Any:
    """Return log(abs(beta(a, b)))."""
    return special.betaln(a, b)


def zeta(s: Any, q: Any) -> Any:
    """Return Hurwitz's zeta function."""
    return special.zeta(s, q)


def si(x: Any) -> Any:
    """Return the sine integral."""
    return special.sici(x)[0]


def ci(x: Any) -> Any:
    """Return the cosine integral."""
    return np.where(np.asarray(x) < 0, np.nan, special.sici(x)[1])


def fresnels(x: Any) -> Any:
    """Return Fresnel's integral S."""
    return special.fresnel(x)[0]


def fresnelc(x: Any) -> Any:
    """Return Fresnel's integral C."""
    return special.fresnel(x)[1]


def lambertw(x: Any) -> Any:
    """Return the upper real branch of Lambert's W."""
    value = special.lambertw(x)
    return np.where(value.imag == 0, value.real, np.nan)


def lambertwm1(x: Any) -> Any:
    """Return the lower real branch of Lambert's W."""
    value = special.lambertw(x, -1)
    return np.where(value.imag == 0, value.real, np.nan)


def airyai(x: Any) -> Any:
    """Return the Airy function Ai."""
    return special.airy(x)[0]


def airyaiprime(x: Any) -> Any:
    """Return the derivative of Ai."""
    return special.airy(x)[1]


def airybi(x: Any) -> Any:
    """Return the Airy function Bi."""
    return special.airy(x)[2]


def airybiprime(x: Any) -> Any:
    """Return the derivative of Bi."""
    return special.airy(x)[3]


def spherical_jn(order: Any, x: Any) -> Any:
    """Return a spherical Bessel function."""
    return special.spherical_jn(int(order), x)


def stdtr(df: Any, x: Any) -> Any:
    """Return Student's distribution, near 0 by an incomplete beta function: SciPy's has nine digits there."""
    x = np.asarray(x)
    inner = 0.5 * special.betainc(0.5, 0.5 * df, x * x / (df + x * x))
    return np.where(np.abs(x) < 1.0, 0.5 + np.copysign(inner, x), special.stdtr(df, x))


def hyp0f1(b: Any, x: Any) -> Any:
    """Return the confluent hypergeometric limit function."""
    return special.hyp0f1(b, x)


def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Return Kummer's confluent hypergeometric function."""
    return special.hyp1f1(a, b, x)


def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Return Gauss's hypergeometric function."""
    return special.hyp2f1(a, b, c, x)


# ---------------------------------------------------------------------------- derivatives that SciPy lacks


def cotangent_derivative(n: int, x: Any) -> Any:
    """Return the derivative of order n of pi cot(pi x), up to sign: a polynomial in the cotangent of one sign."""
    c = np.where(np.abs(x) <= 0.25, 1.0 / np.tan(np.pi * x), np.copysign(np.tan(np.pi * (0.5 - np.abs(x))), x))
    p, y = np.zeros(n + 3), np.zeros_like(c)
    p[1] = np.pi
    for k in range(1, n + 1):  # from degree k to degree k + 1
        slopes = np.pi * np.arange(1, k + 1) * p[1 : k + 1]
        p[:k], p[k] = slopes, 0.0
        p[2 : k + 2] += slopes
    for i in range(n + 1, -1, -1):
        y = y * c + p[i]
    return y


def polygamma(order: Any, x: Any) -> Any:
    """Return a derivative of digamma, below 0 by reflection (DLMF 5.15.6)."""
    n, x = int(order), np.asarray(x, np.float64)
    if n == 0 or not np.any(x < 0):
        return special.polygamma(n, x)
    odd = 1.0 if n % 2 else -1.0
    below = odd * cotangent_derivative(n, x - np.rint(x)) - odd * special.polygamma(n, 1.0 - x)
    return np.where(x < 0, below, special.polygamma(n, np.abs(x)))


def factorial_over_power(n: int, x: float) -> float:
    """Return n! / x^(n+1), without the overflow of its parts."""
    y = 1.0 / x
    for k in range(n, 0, -1):
        y *= k / x
    return y


def polygamma_gap_of_number(order: float, x: float, d: float) -> float:
    """Return polygamma(n, x + d) - polygamma(n, x), without their cancellation where d is small."""
    # B(2j + 2) / (2j + 2)!, DLMF 24.2.1
    bernoulli = [1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600]
    bernoulli += [-3617 / 10670622842880000, 43867 / 5109094217170944000, -174611 / 802857662698291200000]
    n = int(order)
    if not x > 0 or not x + d > 0 or x + d > 1e300 or d > 3 * x or d < -0.5 * x:
        return float(polygamma(n, x + d) - polygamma(n, x))
    if d == 0.0:
        return 0.0
    total, above = 0.0, 15.0 + n / 2.0 - min(d, 0.0)
    while x < above:  # terms of n! zeta(n+1, x), DLMF 25.11.1
        total += factorial_over_power(n, x) * math.expm1(-(n + 1) * math.log1p(d / x))
        x += 1.0
    # the rest by Euler and Maclaurin, DLMF 25.11.5
    wide, far = math.log1p(d / x), factorial_over_power(n, x)
    total += factorial_over_power(n - 1, x) * math.expm1(-n * wide) if n else -wide
    total += 0.5 * far * math.expm1(-(n + 1) * wide)
    scale = far * (n + 1) / x
    for j in range(10):
        total += bernoulli[j] * scale * math.expm1(-(n + 2 + 2 * j) * wide)
        scale *= (n + 2.0 * j + 2.0) * (n + 2.0 * j + 3.0) / (x * x)
    return total if n % 2 else -total


def polygamma_gap(order: Any, x: Any, d: Any) -> Any:
    """Return polygamma(order, x + d) - polygamma(order, x)."""
    return each(polygamma_gap_of_number, order, x, d)


def ierfcx_quotients(count: int, x: float) -> Any:
    """Return I(k) / I(k-1), k = 0 to count, of I(k) = exp(x^2) i^k erfc(x) for x > 0, downward (DLMF 7.18.7)."""
    start = count + 12 + int(220.0 / (x * x) + 30.0 * math.sqrt(count) / x)
    q = 1.0 / (x + math.sqrt(x * x + 2.0 * start))
    found = [0.0] * (count + 1)
    for k in range(start - 1, -1, -1):
        q = 1.0 / (2.0 * (x + (k + 1) * q))
        if k <= count:
            found[k] = q
    return found


def ierfcx_of_number(order: float, x: float) -> float:
    """Return exp(x^2) i^n erfc(x), the repeated integrals of the error function."""
    n, value = int(order), 1.1283791670955126
    if math.isnan(x) or x == math.inf:
        return x if math.isnan(x) else 0.0
    if x > 1e8:  # DLMF 7.18.14
        return value * (0.5 / x) ** (n + 1)
    if x < 0.6:  # upward recurrence, DLMF 7.18.7: terms of one sign below 0
        before, here = value, float(special.erfcx(x))
        for k in range(1, n + 1):
            before, here = here, (0.5 * before - x * here) / k
        return here
    for quotient in ierfcx_quotients(n, x):
        value *= quotient
    return value


def ierfcx(order: Any, x: Any) -> Any:
    """Return exp(x^2) i^n erfc(x); between 0 and 0.6 the error grows with the order, to 1e-12 of order 30."""
    return each(ierfcx_of_number, order, x)


def log_ndtr_derivative_of_number(order: float, x: float) -> float:
    """Return the derivative of order n > 0 of log(ndtr(x))."""
    n = int(order)
    if x < -0.85:  # cumulants of the density exp(-t u - u^2 / 2) of u > 0, t = -x, from its moments
        if x == -math.inf:
            return math.inf if n == 1 else -1.0 if n == 2 else 0.0
        quotients = ierfcx_quotients(n, -0.7071067811865476 * x)
        moment, cumulant = [1.0], [0.0]
        for k in range(1, n + 1):
            moment.append(moment[k - 1] * quotients[k] * k * 1.4142135623730951)
        for k in range(1, n + 1):
            cumulant.append(moment[k] - sum(math.comb(k - 1, j - 1) * cumulant[j] * moment[k - j] for j in range(1, k)))
        return cumulant[1] - x if n == 1 else cumulant[2] - 1.0 if n == 2 else cumulant[n]
    # h = phi / Phi has h' = -h (x + h), differentiated by Leibniz's rule
    h = [0.7978845608028654 * math.exp(-0.5 * x * x) / math.erfc(-0.7071067811865476 * x)]
    if h[0] == 0.0:
        return 0.0
    g = [x + h[0]]
    for k in range(1, n):
        h.append(-sum(math.comb(k - 1, j) * h[j] * g[k - 1 - j] for j in range(k)))
        g.append(h[k] + (k == 1))
    return h[n - 1]


def log_ndtr_derivative(order: Any, x: Any) -> Any:
    """Return a derivative of log(ndtr(x))."""
    return each(log_ndtr_derivative_of_number, order, x)


def ellipk_derivative(order: Any, p: Any) -> Any:
    """Return a derivative of the elliptic integral K by its parameter m, at m = 1 - p (DLMF 15.5.2, 15.8.1)."""
    near, far = np.minimum(p, 1.0), np.maximum(p, 1.0)
    value = special.hyp2f1(0.5, 0.5, order + 1.0, 1.0 - near)
    value = np.where(p > 1.0, special.hyp2f1(order + 0.5, 0.5, order + 1.0, 1.0 - 1.0 / far) / np.sqrt(far), value)
    return 0.5 * np.pi * special.poch(0.5, order) ** 2 / special.gamma(order + 1.0) * value / p**order


def ellipe_derivative(order: Any, p: Any) -> Any:
    """Return a derivative of the elliptic integral E by its parameter m, at m = 1 - p (DLMF 15.5.2, 15.8.1)."""
    near, far = np.minimum(p, 1.0), np.maximum(p, 1.0)
    value = special.hyp2f1(1.5, 0.5, order + 1.0, 1.0 - near)
    value = np.where(p > 1.0, special.hyp2f1(order - 0.5, 0.5, order + 1.0, 1.0 - 1.0 / far) / np.sqrt(far), value)
    factor = special.poch(0.5, order) * special.poch(-0.5, order) / special.gamma(order + 1.0)
    value = 0.5 * np.pi * factor * value / p ** (order - 1.0)
    # the first one is as log(p) beside 0, where 1 - p has lost p; DLMF 19.4.2
    first = 0.5 * (special.ellipe(1.0 - p) - special.ellipkm1(p)) / (1.0 - p)
    return np.where((p < 0.5) & (order == 1), first, value)


def i_moment(order: Any, x: Any) -> Any:
    """Return the mean of (1 - cos t)^n exp(-abs(x) (1 - cos t)) over a period, DLMF 13.4.1."""
    factor = 2.0**order * special.poch(0.5, order) / special.gamma(order + 1.0)
    return factor * special.hyp1f1(order + 0.5, order + 1.0, -2.0 * np.abs(x))


def k_moment_of_number(order: float, v: float, x: float) -> float:
    """Return the integral of (cosh t - 1)^n cosh(v t) exp(-x (cosh t - 1)) over t > 0, DLMF 10.32.9."""
    if math.isnan(x) or math.isnan(v) or x < 0 or math.isinf(v):
        return math.nan
    if x in (0, math.inf):
        return 0.0 if x else math.inf
    n, v = int(order), abs(v)
    step = 0.42 / math.sqrt(max(x, v + n) + 6.0)
    total = 0.0 if n else 0.5
    for k in range(1, 200000):
        t = k * step
        half = math.sinh(0.5 * t)
        u = 2.0 * half * half
        if v * t - x * u > 709.0:
            return math.inf
        term = 0.5 * (math.exp(v * t - x * u) + math.exp(-v * t - x * u))
        for _ in range(n if term > 0 else 0):
            term *= u
        total += term
        far = t > 700.0 or x * math.sinh(t) > v + n / math.tanh(0.5 * t)
        if total == math.inf or (term <= 1e-18 * total and far):
            break
    return total * step


def k_moment(order: Any, v: Any, x: Any) -> Any:
    """Return a derivative of exp(x) K_v(x) for x > 0, up to sign."""
    return each(k_moment_of_number, order, v, x)
def bessel_far_of_number(which: float, v: float, x: float) -> float:
    """Return J_v(x) or Y_v(x) for x from 1e8 on, DLMF 10.19.6, or K_v(x) for v from 600 on, DLMF 10.41.4; else 0."""
    if math.isnan(v) or math.isnan(x):
        return math.nan
    if which == 2:
        v = abs(v)
        if v < 600 or not v < 1e300 or not x > 0:
            return 0.0
        r = math.hypot(v, x)
        p = v / r
        square = p * p
        total = 1 - p * (3 - 5 * square) / 24 / v + square * (81 - square * (462 - 385 * square)) / 1152 / v / v
        total -= square * p * (30375 - square * (369603 - square * (765765 - 425425 * square))) / 414720 / v / v / v
        half = 0.5 * (v * math.asinh(v / x) - r)
        if half > 709.0:
            return math.inf
        return math.exp(half) * (math.sqrt(0.5 * math.pi / r) * total) * math.exp(half)
    if x < 1e8:
        return 0.0
    if x == math.inf:
        return math.nan if math.isinf(v) else 0.0
    s = v / x
    if not abs(s) <= 0.5:
        return math.nan if not v > 4 * x else 0.0 if which == 0 else -math.inf
    size = math.sqrt((1 - s) * (1 + s))
    turn = x * (s * (math.asin(s) - s / (1 + size))) - (1 + 5.0 / 3 * (s / size) * (s / size)) / (8 * x * size)
    turn -= math.pi * (0.5 * (v - 4 * math.floor(0.25 * v)) + 0.25)
    if which == 1:
        turn -= 0.5 * math.pi
    wave = math.cos(x) * math.cos(turn) - math.sin(x) * math.sin(turn)
    return wave * (math.sqrt(2 / math.pi) / math.sqrt(x * size))


def bessel_far(which: Any, v: Any, x: Any) -> Any:
    """Return J, Y or K (0, 1, 2) where others have no digits."""
    return each(bessel_far_of_number, which, v, x)
