"""The functions of the table in many digits: the reference of :func:`symdiff.check`, of evaluation in SymPy, of tests.

It shares nothing with the package but names: functions are mpmath's, or sums of their definitions. Each is computed at
mpmath's working precision, and raises an error of mpmath's, or gives a complex number, where it has no real value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import mpmath

from ..scalars.differences import BY_SECOND, DIFFERENCES, Difference
from ..scalars.functions import FUNCTIONS
from ..scalars.remainders import REMAINDERS, Remainder, series_of
from . import scipy_special as special


def mod(x: Any, y: Any) -> Any:
    """Return the remainder with the sign of the divisor."""
    with mpmath.workdps(mpmath.mp.dps + 60):  # what is left may be far smaller than x
        return x - y * mpmath.floor(x / y)


def power(x: Any, y: Any) -> Any:
    """Return a power; 0**0 and 1**y are 1, and 1**inf has no value."""
    if y == 0 or x == 1:
        return mpmath.mpf(1) if mpmath.isfinite(y) else mpmath.nan
    if x < 0 and y != mpmath.floor(y):
        return mpmath.nan
    if x == 0 and y < 0:
        return mpmath.inf
    return mpmath.re(mpmath.power(x, y))


def spherical_jn(n: Any, x: Any) -> Any:
    """DLMF 10.53.1: the power series, summed until it stands still; exact at 0 too. Far out DLMF 10.47.3."""
    n = int(n)
    if abs(x) > 100:
        value = mpmath.sqrt(mpmath.pi / (2 * abs(x))) * mpmath.besselj(n + mpmath.mpf(0.5), abs(x))
        return -value if x < 0 and n % 2 else value
    with mpmath.workdps(mpmath.mp.dps + 10 + int(abs(x))):
        term = mpmath.mpf(x) ** n / mpmath.fac2(2 * n + 1)
        total, k = mpmath.mpf(0), 0
        while True:
            total += term
            k += 1
            term = term * (-(mpmath.mpf(x) ** 2) / 2) / (k * (2 * n + 2 * k + 1))
            if abs(term) <= mpmath.eps * abs(total) * mpmath.mpf("1e-5") or term == 0:
                return total


@cache
def _psi(n: int, x: Any, digits: int) -> Any:
    return mpmath.psi(n, x)


def ierfcx(n: Any, x: Any) -> Any:
    """DLMF 12.7.5 and 7.18.11, in digits that what cancels does not reach."""
    n = int(n)
    with mpmath.workdps(2 * mpmath.mp.dps):
        before, here = 2 / mpmath.sqrt(mpmath.pi), erfcx(x)
        for k in range(1, n + 1):
            before, here = here, (before / 2 - x * here) / k
        return here


def erfcx(x: Any) -> Any:
    """Return the scaled complement of the error function."""
    if x < 1e4:
        return mpmath.exp(x * x) * mpmath.erfc(x)
    with mpmath.workdps(mpmath.mp.dps + 20):  # DLMF 7.12.1
        total, term, k = mpmath.mpf(0), mpmath.mpf(1), 0
        while abs(term) > mpmath.eps:
            total += term
            k += 1
            term *= -(2 * k - 1) / (2 * mpmath.mpf(x) ** 2)
        return total / (x * mpmath.sqrt(mpmath.pi))


def log_rising(order: Any, y: Any, a: Any) -> Any:
    """Return a derivative by a of log(a**y rf(1/a, y))."""
    with mpmath.workdps(3 * mpmath.mp.dps + 20):
        def value(each: Any) -> Any:
            return mpmath.loggamma(y + 1 / each) - mpmath.loggamma(1 / each) + y * mpmath.log(each)

        return +(value(a) if not order else mpmath.diff(value, a, int(order)))


def _erfc_half(x: Any) -> Any:
    return mpmath.erfc(x / mpmath.sqrt(2))


def log_ndtr(x: Any) -> Any:
    """Return the logarithm of the normal distribution."""
    z = -x / mpmath.sqrt(2)
    if x < -1:
        return mpmath.log(erfcx(z) / 2) - z * z
    return mpmath.log1p(-mpmath.erfc(-z) / 2)


def log_ndtr_derivative(n: Any, x: Any) -> Any:
    """H' = -h (x + h), in digits that what cancels does not reach."""
    with mpmath.workdps(2 * mpmath.mp.dps):
        z = -x / mpmath.sqrt(2)
        h = mpmath.sqrt(2 / mpmath.pi) / erfcx(z)
        found = [h]
        for k in range(1, int(n)):
            g = [x + h, *(1 + found[1] if j == 1 else found[j] for j in range(1, k))]
            found.append(-mpmath.fsum(mpmath.binomial(k - 1, j) * found[j] * g[k - 1 - j] for j in range(k)))
        return found[-1]


def inverse_erfc(y: Any) -> Any:
    """Newton's method from a double's digits on, in the logarithm where the function is small."""
    guess = mpmath.mpf(float(special.erfcinv(float(y))))
    for _ in range(12):
        step = (mpmath.erfc(guess) / y - 1) * y / (-2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-guess * guess))
        guess -= step
        if abs(step) <= abs(guess) * mpmath.eps * 100:
            break
    return guess


def i_moment(n: Any, x: Any) -> Any:
    """DLMF 10.32.1 and 13.4.1."""
    half, n = mpmath.mpf(1) / 2, int(n)
    return mpmath.mpf(2) ** n * mpmath.rf(half, n) / mpmath.factorial(n) * mpmath.hyp1f1(n + half, n + 1, -2 * abs(x))


def besselk(v: Any, x: Any) -> Any:
    """DLMF 10.32.9 by the trapezoidal rule, where mpmath's power series cancel exp(2 x); mpmath's own elsewhere."""
    if not 1 <= x <= 1000 + 3 * mpmath.mp.dps:
        return mpmath.besselk(v, x)
    with mpmath.workdps(mpmath.mp.dps + 15):
        # of a function that is analytic where abs(Im t) < pi/2: the error is exp(-pi^2 / h)
        h = mpmath.pi**2 / (x + mpmath.mp.dps * mpmath.log(10))
        step, e, term = mpmath.exp(h), mpmath.mpf(1), mpmath.mpf(1)
        turn, power, total = mpmath.exp(v * h), mpmath.mpf(1), mpmath.mpf(1) / 2
        while term > total * mpmath.eps:
            e, power = e * step, power * turn
            term = mpmath.exp(x * (1 - (e + 1 / e) / 2)) * (power + 1 / power) / 2
            total += term
        return h * total * mpmath.exp(-x)


def bessely(v: Any, x: Any) -> Any:
    """DLMF 10.17.4 far out, where a whole order takes mpmath as many terms as x; mpmath's own before."""
    with mpmath.workdps(mpmath.mp.dps + 15):
        if not mpmath.isfinite(x) or x < 2 * mpmath.mp.dps + v * v:
            return mpmath.bessely(v, x)
        parts, term, k = [mpmath.mpf(0), mpmath.mpf(0)], mpmath.mpf(1), 0
        while abs(term) > mpmath.eps:
            parts[k % 2] += term if k % 4 < 2 else -term
            k += 1
            term *= (4 * v * v - (2 * k - 1) ** 2) / (k * 8 * mpmath.mpf(x))
        with mpmath.workdps(mpmath.mp.dps + max(0, int(mpmath.log10(x)))):
            angle = x - (mpmath.mpf(v) / 2 + 0.25) * mpmath.pi
            sine, cosine = mpmath.sin(angle), mpmath.cos(angle)
        return mpmath.sqrt(2 / (mpmath.pi * x)) * (parts[0] * sine + parts[1] * cosine)


def k_moment(n: Any, v: Any, x: Any) -> Any:
    """Sum the powers of cosh t - 1 by cosh(j t), DLMF 10.32.9, in digits that what cancels does not reach."""
    n = int(n)
    if x <= 0:
        return mpmath.nan
    with mpmath.workdps(2 * mpmath.mp.dps + n * max(0, math.ceil(2 * mpmath.log10(x)))):
        # (cosh t - 1)^n = 2^-n (e^(t/2) - e^(-t/2))^(2 n); orders by the recurrence DLMF 10.29.1
        known = {v: besselk(v, x), v + 1: besselk(v + 1, x)}
        for j in range(1, n):
            known[v + j + 1] = known[v + j - 1] + 2 * (v + j) / x * known[v + j]
        for j in range(n):
            known[v - j - 1] = known[v - j + 1] - 2 * (v - j) / x * known[v - j]
        parts = [(-1) ** j * mpmath.binomial(2 * n, j) * known[v + n - j] for j in range(2 * n + 1)]
        return mpmath.exp(x) * mpmath.fsum(parts) / mpmath.mpf(2) ** n


def ive(v: Any, x: Any) -> Any:
    """Scale I_v, which is a product with a power of x that has no value at negative x and orders that are not whole."""
    if x < 0 and v != mpmath.floor(v):
        return mpmath.nan
    return mpmath.exp(-abs(x)) * mpmath.besseli(v, x)


def ive_derivative(n: Any, v: Any, x: Any) -> Any:
    """Sum the derivatives of I_v, DLMF 10.29.5, times those of the exponential, in digits that what cancels leaves."""
    n, mirror = int(n), -1 if x < 0 else 1
    with mpmath.workdps(2 * mpmath.mp.dps + n * math.ceil(mpmath.log10(abs(x) + 1))):
        scaled = {j: ive(v + j, x) for j in range(-n, n + 1)}
        parts = [
            mpmath.binomial(n, m) * (-mirror) ** (n - m) * mpmath.mpf(2) ** -m
            * mpmath.fsum(mpmath.binomial(m, j) * scaled[2 * j - m] for j in range(m + 1))
            for m in range(n + 1)
        ]
        return mpmath.fsum(parts)


def elliptic_derivative(n: Any, start: int, p: Any) -> Any:
    """Term by term from DLMF 19.5.1 and 19.5.2."""
    half, n = mpmath.mpf(1) / 2, int(n)
    factor = mpmath.rf(half, n) * mpmath.rf(start * half, n) / mpmath.factorial(n) * mpmath.pi / 2
    return factor * mpmath.hyp2f1(n + half, n + start * half, n + 1, 1 - p)


def arctan2(y: Any, x: Any) -> Any:
    """Return the angle of a point."""
    return mpmath.atan2(y, x)


def remainder(each: Remainder) -> Callable[..., Any]:
    """Return a quotient of the table of remainders, by its definition or near 0 by its series."""
    functions: dict[str, Callable[..., Any]] = {
        "bernoulli": lambda x: x / mpmath.expm1(x),
        "csch": lambda x: x * mpmath.csch(x),
    }

    def plain(x: Any) -> Any:
        start = series_of(each.function)[: max(each.order, 0)]
        f = functions.get(each.function) or SCALARS[each.function]
        less = mpmath.fsum(mpmath.mpf(c.numerator) / c.denominator * x**i for i, c in enumerate(start))
        return (f(x) - less) / x ** len(start)

    def value(n: Any, x: Any) -> Any:
        if n:
            with mpmath.workdps(2 * mpmath.mp.dps):
                return mpmath.diff(lambda x: value(0, x), x, int(n))
        if abs(x) > 1e-40:
            with mpmath.workdps(mpmath.mp.dps + 50 * len(each.coefficients()[:6])):
                return plain(x)
        terms = enumerate(each.coefficients()[:8])
        return mpmath.fsum(mpmath.mpf(c.numerator) / c.denominator * x**i for i, c in terms)

    return value


def dawson(n: Any, x: Any) -> Any:
    """DLMF 7.5.1 and 7.10.3, in digits that what cancels does not reach."""
    with mpmath.workdps(2 * mpmath.mp.dps):
        value = mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x)
        found = [value, 1 - 2 * x * value]
        for k in range(1, int(n)):
            found.append(-2 * x * found[k] - 2 * k * found[k - 1])
        return +found[int(n)]


def wofz(n: Any, x: Any, y: Any) -> Any:
    """Return the derivative of order ``n`` of exp(-z^2) erfc(-iz), by the functions of a complex variable."""
    z = mpmath.mpc(x, y)
    with mpmath.workdps(2 * mpmath.mp.dps + 30):
        return mpmath.diff(lambda t: mpmath.exp(-t * t) * mpmath.erfc(-1j * t), z, int(n))


def voigt(n: Any, x: Any, sigma: Any, gamma: Any) -> Any:
    """Return a derivative by x of Voigt's profile, and of its conjugate function as the imaginary part."""
    scale = mpmath.sqrt(2) * sigma
    return wofz(n, x / scale, gamma / scale) / (mpmath.sqrt(mpmath.pi) * scale ** (int(n) + 1))


def owens_t(h: Any, a: Any) -> Any:
    """Owen (1956), 2.1, by a series in a**2 within 1 and by 2.3 beyond; odd in a and even in h."""
    h = abs(h)
    if a < 0:
        return -owens_t(h, -a)
    if a == 1:  # the series does not end
        return ncdf(h) * ncdf(-h) / 2
    if a > 1:
        one, other = ncdf(h), ncdf(a * h)
        return (one + other) / 2 - one * other - owens_t(a * h, 1 / a)
    half, power = h * h / 2, a
    term = share = mpmath.exp(-half)
    total, j = mpmath.mpf(0), 0
    while abs(power) > mpmath.eps * abs(a) / 1000:  # 1.5: integrals of the powers of x, term by term
        total += (-1) ** j * share * power / (2 * j + 1)
        j += 1
        term *= half / j
        share += term
        power *= a * a
    return total / (2 * mpmath.pi)


def ncdf(x: Any) -> Any:
    """Return the normal distribution."""
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def solved(function: Callable[..., Any], slope: Callable[..., Any], guess: Any, y: Any) -> Any:
    """Newton's method from a double's digits on; what has none has no inverse there, or one at infinity."""
    x = mpmath.mpf(float(guess))
    for _ in range(14):
        if not mpmath.isfinite(x):
            return x
        step = (function(x) - y) / slope(x)
        x -= step
        if abs(step) <= abs(x) * mpmath.eps * 100:
            break
    return x


def _not_negative(x: Any) -> Any:
    if x < 0:
        raise ValueError("a function that has no real value for negative numbers")
    return x


def gamma_tail(a: Any, x: Any, upper: bool) -> Any:
    """DLMF 8.7.1 below the middle and mpmath's own above, in digits that no difference from 1 takes away."""
    with mpmath.workdps(mpmath.mp.dps + 5 + int(mpmath.log10(2 + x) + abs(a) + x) * upper):
        below = mpmath.power(x, a) * mpmath.exp(-x) / mpmath.gamma(a + 1) * mpmath.hyp1f1(1, a + 1, x)
        return 1 - below if upper else below


def beta_tail(a: Any, b: Any, x: Any) -> Any:
    """DLMF 8.17.8."""
    front = mpmath.power(x, a) * mpmath.power(1 - x, b) / (a * mpmath.beta(a, b))
    return front * mpmath.hyp2f1(a + b, 1, a + 1, x)


def derived(function: Callable[..., Any], by: str) -> Callable[..., Any]:
    """Return a derivative of a function of a, b and x, or a and x, by central differences."""

    def call(*args: Any) -> Any:
        names = "ax" if len(args) == 2 else "abx"
        counts = [by.count(name) for name in names]
        digits = mpmath.mp.dps
        with mpmath.workdps(3 * digits + 20):
            steps = [abs(x) * mpmath.mpf(10) ** (-digits // 2 - 8) for x in map(mpmath.mpf, args)]
            total = mpmath.mpf(0)
            for moves in itertools.product(*[range(n + 1) for n in counts]):
                weight = math.prod((-1) ** k * math.comb(n, k) for k, n in zip(moves, counts, strict=True))
                at = [x + (n - 2 * k) * h for x, k, n, h in zip(args, moves, counts, steps, strict=True)]
                total += weight * function(*at)
            return total / mpmath.fprod((2 * h) ** n for h, n in zip(steps, counts, strict=True))

    return call


def incomplete() -> dict[str, Callable[..., Any]]:
    """Return incomplete functions, their logarithms, and the derivatives of these that have names."""
    whole: dict[str, Callable[..., Any]] = {
        "gammainc": lambda a, x: gamma_tail(a, x, False),
        "gammaincc": lambda a, x: gamma_tail(a, x, True),
        "betainc": beta_tail,
    }
    found = {f"log_{name}": lambda *args, f=f: mpmath.log(f(*args)) for name, f in whole.items()}
    for name, f in (*whole.items(), *list(found.items())):
        known = [name for name in FUNCTIONS if "_by_" in name]
        for other in known:
            if other.split("_by_")[0] == name:
                found[other] = derived(f, other.split("_by_")[1])
    return found


def gammaincinv(a: Any, y: Any, upper: bool) -> Any:
    """Return the inverse of an incomplete gamma function."""
    sign = -1 if upper else 1
    guess = (special.gammainccinv if upper else special.gammaincinv)(float(a), float(y))
    value = SCALARS["gammaincc" if upper else "gammainc"]
    return solved(lambda x: value(a, x), lambda x: sign * SCALARS["gamma_density"](0, a, x), guess, y)


def betaincinv(a: Any, b: Any, y: Any) -> Any:
    """Return the inverse of the incomplete beta function."""
    guess = special.betaincinv(float(a), float(b), float(y))
    return solved(
        lambda x: mpmath.betainc(a, b, 0, x, regularized=True),
        lambda x: x ** (a - 1) * (1 - x) ** (b - 1) / mpmath.beta(a, b),
        guess,
        y,
    )


def stdtr(df: Any, t: Any) -> Any:
    """Return Student's distribution."""
    if not mpmath.isfinite(t):  # a series of nan does not end
        return mpmath.nan if mpmath.isnan(t) else mpmath.mpf(t > 0)
    half = mpmath.mpf(1) / 2
    inner = t * mpmath.hyp2f1(half, (df + 1) / 2, half * 3, -t * t / df)
    return half + inner / mpmath.sqrt(df) / mpmath.beta(df / 2, half)


def stdtrit(df: Any, p: Any) -> Any:
    """Return the inverse of Student's distribution."""
    def slope(t: Any) -> Any:
        return (1 + t * t / df) ** (-(df + 1) / 2) / mpmath.sqrt(df) / mpmath.beta(df / 2, mpmath.mpf(1) / 2)

    return solved(lambda t: stdtr(df, t), slope, special.stdtrit(float(df), float(p)), p)


def power_remainder(n: Any, x: Any, t: Any) -> Any:
    """Return a derivative of (x**t - 1) / t by t, by the power series in t or Leibniz's rule."""
    n, step = int(n), mpmath.log(x)
    if abs(t * step) < 1:
        terms = (step ** (k + n + 1) * mpmath.mpf(t) ** k / (mpmath.factorial(k) * (k + n + 1)) for k in range(150))
        return mpmath.fsum(terms)
    parts = (
        mpmath.binomial(n, k) * (-1) ** k * mpmath.factorial(k) / t ** (k + 1) * (x**t * step ** (n - k) - (k == n))
        for k in range(n + 1)
    )
    return mpmath.fsum(parts)


def extremum(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for the largest or the least of numbers that is nan where one of them is, as NumPy's are."""
    return lambda *xs: mpmath.nan if any(map(mpmath.isnan, xs)) else function(xs)


#: Scalar functions by the names of the table, in mpmath's words.
SCALARS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "power": power,
    "power_log": lambda n, x, y: mpmath.mpf(0) if x == 0 and y > 0 else power(x, y) * mpmath.log(x) ** n,
    "power_remainder": power_remainder,
    "pseudo_huber_loss": lambda d, r: d * (mpmath.hypot(d, r) - d),
    "pseudo_huber_force": lambda d, r: d * r / mpmath.hypot(d, r),
    "pseudo_huber_slope": lambda d, r: (mpmath.hypot(d, r) - d) ** 2 / mpmath.hypot(d, r),
    "negative": lambda x: -x,
    "sqrt": mpmath.sqrt,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "log10": lambda x: mpmath.log(x) / mpmath.log(10),
    "log1p": mpmath.log1p,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "arctan2": arctan2,
    "hypot": lambda x, y: mpmath.sqrt(x * x + y * y),
    "direction_cos": lambda x, y: x / mpmath.sqrt(x * x + y * y) if x or y else mpmath.mpf(0),
    "direction_sin": lambda x, y: y / mpmath.sqrt(x * x + y * y) if x or y else mpmath.mpf(0),
    "inversion_x": lambda x, y: x / (x * x + y * y),
    "inversion_y": lambda x, y: y / (x * x + y * y),
    "one_minus_square": lambda x: 1 - x * x,
    "lorentzian": lambda x: 1 / (1 + x * x),
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "sech": mpmath.sech,
    "csch": mpmath.csch,
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "gamma": mpmath.gamma,
    "lgamma": lambda x: mpmath.log(abs(mpmath.gamma(x))),
    "digamma": mpmath.digamma,
    "polygamma": lambda n, x: mpmath.psi(int(n), x),
    "polygamma_gap": lambda n, x, d: _psi(int(n), x + d, mpmath.mp.dps) - _psi(int(n), x, mpmath.mp.dps),
    "spherical_jn": spherical_jn,
    "erfcx": erfcx,
    "ierfcx": ierfcx,
    "erfinv": lambda x: inverse_erfc(1 - x),
    "erfcinv": inverse_erfc,
    "ndtr": lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2,
    "log_ndtr": log_ndtr,
    "log_ndtr_derivative": log_ndtr_derivative,
    "ndtri": lambda p: -mpmath.sqrt(2) * inverse_erfc(2 * p),
    "beta": mpmath.beta,
    "betaln": lambda a, b: mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b),
    "poch": mpmath.rf,
    "binom": mpmath.binomial,
    "i_moment": i_moment,
    "k_moment": k_moment,
    "ellipk": mpmath.ellipk,
    "ellipkm1": lambda p: mpmath.ellipk(1 - p),
    "ellipe": mpmath.ellipe,
    "ellipk_derivative": lambda n, p: elliptic_derivative(n, 1, p),
    "ellipe_derivative": lambda n, p: elliptic_derivative(n, -1, p),
    "si": mpmath.si,
    "ci": lambda x: mpmath.ci(abs(x)),
    "fresnels": mpmath.fresnels,
    "fresnelc": mpmath.fresnelc,
    "airyai": mpmath.airyai,
    "airyaiprime": lambda x: mpmath.airyai(x, derivative=1),
    "airybi": mpmath.airybi,
    "airybiprime": lambda x: mpmath.airybi(x, derivative=1),
    "lambertw": lambda x: mpmath.re(mpmath.lambertw(x)),
    "lambertwm1": lambda x: mpmath.re(mpmath.lambertw(x, -1)),
    "k0e": lambda x: mpmath.exp(x) * besselk(0, x),
    "k1e": lambda x: mpmath.exp(x) * besselk(1, x),
    "kve": lambda v, x: mpmath.exp(x) * besselk(v, x),
    "j0": lambda x: mpmath.besselj(0, x),
    "j1": lambda x: mpmath.besselj(1, x),
    "jv": mpmath.besselj,
    "y0": lambda x: bessely(0, x),
    "y1": lambda x: bessely(1, x),
    "yv": bessely,
    "yv_near": bessely,
    "jv_near": mpmath.besselj,
    "j0_near": lambda x: mpmath.besselj(0, x),
    "j1_near": lambda x: mpmath.besselj(1, x),
    "y0_near": lambda x: bessely(0, x),
    "y1_near": lambda x: bessely(1, x),
    "bessel_far": lambda which, v, x: (mpmath.besselj, bessely, besselk)[int(which)](v, x),
    "kve_near": lambda v, x: mpmath.exp(x) * besselk(v, x),
    "i0": lambda x: mpmath.besseli(0, x),
    "i1": lambda x: mpmath.besseli(1, x),
    "iv": mpmath.besseli,
    "iv_far": mpmath.besseli,
    "k0": lambda x: besselk(0, x),
    "k1": lambda x: besselk(1, x),
    "kv": besselk,
    "gammainc": lambda a, x: mpmath.gammainc(_not_negative(a), 0, _not_negative(x), regularized=True),
    "gammaincc": lambda a, x: mpmath.gammainc(_not_negative(a), _not_negative(x), mpmath.inf, regularized=True),
    "gamma_density": lambda n, a, x: mpmath.power(x, a - 1 - n) * mpmath.exp(-x) / mpmath.gamma(a),
    "beta_slope": lambda a, b: mpmath.beta(a, b) * (mpmath.digamma(a) - mpmath.digamma(a + b)),
    "betainc": lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
    "dawsn": lambda x: dawson(0, x),
    "dawsn_derivative": dawson,
    "owens_t": owens_t,
    "gammaincinv": lambda a, y: gammaincinv(a, y, False),
    "gammainccinv": lambda a, y: gammaincinv(a, y, True),
    "beta_density": lambda a, b, x: x ** (a - 1) * (1 - x) ** (b - 1) / mpmath.beta(a, b),
    "betaincinv": betaincinv,
    "betaincinv_near": betaincinv,
    **incomplete(),
    "stdtr_by_df": derived(stdtr, "a"),
    "log_stdtr": lambda df, t: mpmath.log(stdtr(df, t)),
    "log_stdtr_by_df": derived(lambda df, t: mpmath.log(stdtr(df, t)), "a"),
    "log_stdtr_by_x": derived(lambda df, t: mpmath.log(stdtr(df, t)), "x"),
    "stdtr": stdtr,
    "stdtrit": stdtrit,
    "hyp0f1": mpmath.hyp0f1,
    "hyp1f1": mpmath.hyp1f1,
    "hyp2f1": mpmath.hyp2f1,
    "wofz_real": lambda n, x, y: mpmath.re(wofz(n, x, y)),
    "wofz_imag": lambda n, x, y: mpmath.im(wofz(n, x, y)),
    "voigt_real": lambda *args: mpmath.re(voigt(*args)),
    "voigt_imag": lambda *args: mpmath.im(voigt(*args)),
    "voigt_profile": lambda *args: mpmath.re(voigt(0, *args)),
    "zeta_by_s": lambda n, s, q: mpmath.zeta(s, q, int(n)),
    "zeta": mpmath.zeta,
    "exp1": mpmath.e1,
    "expi": mpmath.ei,
    "expn": lambda n, x: mpmath.expint(int(n), x),
    "spence": lambda x: mpmath.re(mpmath.polylog(2, 1 - x)),
    "ive": ive,
    "ive_near": ive,
    "ive_derivative": ive_derivative,
    "i0e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x),
    "i1e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "sigmoid_slope": lambda x: mpmath.sech(x / 2) ** 2 / 4,
    "log_sigmoid": lambda x: -mpmath.log1p(mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "logaddexp": lambda x, y: max(x, y) + mpmath.log1p(mpmath.exp(-abs(x - y))),
    "exp_gap": lambda a, t: mpmath.exp(a) * mpmath.expm1(t),
    "exp_share": lambda b, c, t: 1 / (b + c * mpmath.exp(t)),
    "log_exp_sum": lambda b, c, t: mpmath.log(b + c * mpmath.exp(t)),
    "cos_of_root": lambda s: mpmath.re(mpmath.cos(mpmath.sqrt(s))),
    "cosh_of_root": lambda s: mpmath.re(mpmath.cosh(mpmath.sqrt(s))),
    "log_cosh": lambda x: mpmath.log(mpmath.cosh(x)),
    "log_sinh_quotient": lambda x: mpmath.log(mpmath.sinh(x) / x) if x else mpmath.mpf(0),
    "log_exp_quotient": lambda x: mpmath.log(mpmath.expm1(x) / x) if x else mpmath.mpf(0),
    "xlogy": lambda x, y: mpmath.mpf(0) if x == 0 else x * mpmath.log(y),
    "part_of": lambda x, y: mpmath.mpf(0) if x == 0 and y == 0 else x / y,
    "xlog_sigmoid": lambda a, x: mpmath.mpf(0) if a == 0 else -a * mpmath.log1p(mpmath.exp(-x)),
    "xlog1py": lambda x, y: mpmath.mpf(0) if x == 0 else x * mpmath.log1p(y),
    "logit": lambda x: mpmath.log(x / (1 - x)),
    "log_gamma": lambda x: mpmath.log(mpmath.gamma(x)),
    "log_beta": lambda a, b: mpmath.log(mpmath.beta(a, b)),
    "log_binom": lambda n, k: mpmath.log(mpmath.binomial(n, k)),
    "log_poch": lambda a, m: mpmath.log(mpmath.rf(a, m)),
    "log_erfc": lambda x: mpmath.log(mpmath.erfc(x)),
    "log_erfcx": lambda x: x * x + mpmath.log(mpmath.erfc(x)),
    "log_ndtr_between": lambda x, y: mpmath.log((_erfc_half(y) - _erfc_half(x)) / 2),
    "root_gap": lambda b, d: mpmath.sqrt(b * b + d) - b,
    "root_quotient": lambda b, d: 1 / (b + mpmath.sqrt(b * b + d)),
    "log_rising": log_rising,
    "log_rising_slope": lambda order, y, a: mpmath.diff(lambda each: log_rising(order, each, a), y),
    "erfc_ratio": lambda x, y: mpmath.erfc(x) / mpmath.erfc(y),
    "ndtr_ratio": lambda x, y: _erfc_half(-x) / _erfc_half(-y),
    "log_i0": lambda x: mpmath.log(mpmath.besseli(0, x)),
    "log_i1": lambda x: mpmath.log(mpmath.besseli(1, x)),
    "log_k0": lambda x: mpmath.log(besselk(0, x)),
    "log_k1": lambda x: mpmath.log(besselk(1, x)),
    "log_kv": lambda v, x: mpmath.log(besselk(v, x)),
    # beyond their domains the squares of these are real, and no values
    "arccos_square": lambda x: mpmath.acos(x) ** 2 if abs(x) <= 1 else mpmath.acos(x),
    "arccosh_square": lambda x: mpmath.acosh(x) ** 2 if x >= 1 else mpmath.acosh(x),
    "arccos_quotient": lambda n, x: _of_angle(int(n), x),
    "arccosh_quotient": lambda n, x: _of_angle(int(n), x),
    "size_of_distance": abs,
    "gated": lambda x, w: x * w,
    "bounded": lambda x: x,
    "log_iv": lambda v, x: mpmath.log(mpmath.besseli(v, x)),
    "log_exp1": lambda x: mpmath.log(mpmath.e1(x)),
    "log_expi": lambda x: mpmath.log(mpmath.ei(x)),
    "log_exp1_slope": lambda x: -mpmath.exp(-x) / (x * mpmath.e1(x)),
    "log_expi_slope": lambda x: mpmath.exp(x) / (x * mpmath.ei(x)),
    "exp1_moment": lambda n, x: mpmath.factorial(n) * mpmath.exp(x) * mpmath.expint(int(n) + 1, x) / x ** int(n),
    "expi_scaled": lambda n, x: (-1) ** int(n)
    * (mpmath.exp(-x) * mpmath.ei(x) - sum(mpmath.factorial(j) / x ** (j + 1) for j in range(int(n)))),
    "i_ratio": lambda x: mpmath.besseli(1, x) / mpmath.besseli(0, x),
    "k_ratio": lambda x: besselk(1, x) / besselk(0, x),
    "log1mexp": lambda x: mpmath.log(-mpmath.expm1(-x)),
    "entr": lambda x: mpmath.mpf(0) if x == 0 else -x * mpmath.log(x),
    "rel_entr": lambda x, y: mpmath.mpf(0) if x == 0 else x * mpmath.log(x / y),
    "kl_div": lambda x, y: y if x == 0 else x * mpmath.log(x / y) - x + y,
    "log_ratio": lambda x, y: mpmath.log(x / y),
    "log_product": lambda x, y: mpmath.log(x * y),
    "log_quotient": lambda x, y: mpmath.log(x / y),
    "sinc": lambda x: spherical_jn(0, mpmath.pi * x),
    "abs": abs,
    "soft_sign": lambda x: x / (1 + abs(x)),
    "gelu_argument": lambda x: max(min(x, mpmath.mpf(24)), mpmath.mpf(-24)),
    "gelu_inside": lambda x: mpmath.mpf(int(abs(x) <= 24)),
    "sign": mpmath.sign,
    "floor": mpmath.floor,
    "ceil": mpmath.ceil,
    "rint": mpmath.nint,
    "trunc": lambda x: mpmath.sign(x) * mpmath.floor(abs(x)),
    "mod": mod,
    "floor_divide": lambda x, y: mpmath.floor(x / y),
    "maximum": extremum(max),
    "minimum": extremum(min),
    "unless_nan": lambda x: mpmath.mpf(1),
    "where": lambda c, x, y: x if c else y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "logical_and": lambda x, y: bool(x) and bool(y),
    "logical_or": lambda x, y: bool(x) or bool(y),
    "logical_xor": lambda x, y: bool(x) != bool(y),
    "logical_not": lambda x: not x,
    "to_real": lambda x: mpmath.mpf(int(x)),
}

SCALARS |= {each.name: remainder(each) for each in REMAINDERS}
SCALARS |= {
    each.name_by_square: lambda n, s, of=each.name: SCALARS[of](n, mpmath.sqrt(s)) for each in REMAINDERS if each.even
}


def difference(each: Difference) -> Callable[..., Any]:
    """Return the derivatives of a divided difference, by Leibniz's rule where its places are apart."""

    def slope(k: int, x: Any) -> Any:
        f = SCALARS[each.function]
        return mpmath.diff(f, x, k) if k else f(x)

    def quotient(m: int, n: int, x: Any, y: Any) -> Any:
        top = -m * quotient(m - 1, n, x, y) if m else -slope(n, y)
        top += n * quotient(m, n - 1, x, y) if n else slope(m, x)
        return top / (x - y)

    def call(order: Any, x: Any, y: Any) -> Any:
        n, m = divmod(int(order), BY_SECOND)
        digits, gap = mpmath.mp.dps, abs(x - y)
        if gap <= mpmath.mpf(10) ** -digits * max(abs(x), abs(y)):
            return slope(m + n + 1, (x + y) / 2) * mpmath.beta(m + 1, n + 1)
        lost = max(0, int(mpmath.log10(max(1, abs(x), abs(y)) / gap)))
        with mpmath.workdps(digits + (m + n + 1) * (lost + 4)):
            return quotient(m, n, mpmath.mpf(x), mpmath.mpf(y))

    return call


def _of_angle(n: int, x: Any) -> Any:
    """Return a derivative of arccos(x) / sqrt(1 - x^2) as a hypergeometric function, DLMF 15.4.10 with 15.5.2."""
    scale = mpmath.rf(1, n) ** 2 / mpmath.rf(mpmath.mpf(3) / 2, n) / (-2) ** n
    return scale * mpmath.hyp2f1(n + 1, n + 1, n + mpmath.mpf(3) / 2, (1 - x) / 2)


SCALARS |= {each.name: difference(each) for each in DIFFERENCES}

#: Functions that take numbers of any size: all others need as many digits as the exponent of theirs has.
_OF_ANY_SIZE = frozenset(
    {
        *("add", "subtract", "multiply", "divide", "negative", "abs", "sqrt", "cbrt", "hypot", "sign"),
        *("log", "log2", "log10", "log1p", "log_ratio", "log_product", "log_quotient", "lorentzian", "soft_sign"),
        *("gelu_argument", "gelu_inside", "gated", "bounded", "size_of_distance"),
        *("arctan", "arctan2", "direction_cos", "direction_sin", "inversion_x", "inversion_y", "one_minus_square"),
        *("less", "less_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_xor", "logical_not"),
        *("floor", "ceil", "rint", "trunc", "maximum", "minimum", "part_of", "to_real", "unless_nan", "where"),
    }
)
#: Bits of the exponent of a number above which it has no function in a moment: exp(exp(1e8)) takes a hundred million.
_LARGEST = 1 << 15


def bounded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse numbers whose exponents are so large that a function of them would take minutes."""

    def call(*args: Any) -> Any:
        for arg in args:
            if isinstance(arg, mpmath.mpf) and mpmath.isfinite(arg) and arg and mpmath.mag(arg) > _LARGEST:
                raise OverflowError(f"a number of {mpmath.mag(arg)} bits")
        return function(*args)

    return call


SCALARS |= {name: bounded(function) for name, function in SCALARS.items() if name not in _OF_ANY_SIZE}

#: Errors of mpmath where it gives up, though a function may have a value.
GIVEN_UP = (RecursionError, mpmath.libmp.NoConvergence)
#: Errors of mpmath where a function has no value, or none is found.
NO_VALUE = (ZeroDivisionError, ValueError, OverflowError, *GIVEN_UP)


def real(function: Callable[..., Any], given_up: Callable[[], object] = lambda: None) -> Callable[..., Any]:
    """Give nan where a function has no real value, or none is found, which ``given_up`` is told."""

    def call(*args: Any) -> Any:
        try:
            result = function(*args)
        except NO_VALUE as error:
            if isinstance(error, GIVEN_UP):
                given_up()
            return mpmath.nan
        if isinstance(result, mpmath.mpc):
            return result.real if result.imag == 0 else mpmath.nan
        return result

    return call


#: Bits beyond those asked for, and how often they are doubled while digits are being lost.
MORE, DOUBLINGS = 30, 10


def digits_of(name: str, args_to: Callable[[int], Sequence[Any]], prec: int) -> Any:
    """Return a function of numbers to ``prec`` bits, of which cancellation takes none; nan where it has no value.

    Parameters
    ----------
    name : str
        The row.
    args_to : callable
        Takes a number of bits, gives the arguments to as many, numbers of mpmath.
    prec : int
        Bits.
    """
    before, work = None, prec + MORE
    for _ in range(DOUBLINGS):
        args = args_to(work)
        with mpmath.workprec(work):
            try:
                value = SCALARS[name](*map(mpmath.mpmathify, args))
            except NO_VALUE:
                return mpmath.nan
            if isinstance(value, mpmath.mpc) and not any(isinstance(arg, mpmath.mpc) for arg in args):
                value = value.real if abs(value.imag) <= abs(value) * mpmath.mpf(2) ** -prec else mpmath.nan
            if not mpmath.isfinite(value):
                return value
            if before is not None and value != 0 and abs(value - before) <= abs(value) * mpmath.mpf(2) ** -(prec + 5):
                return value
        before, work = value, 2 * work
    return before
