"""The graph evaluated in as many digits as wanted, and derivatives by differences of such values.

It shares nothing with the package but the nodes: scalar functions are mpmath's, matrix functions are written out
over arrays of its numbers, whose exponents have no end. So what symdiff computes in doubles has a reference that
neither cancellation nor overflow reaches. Slow and obvious: :func:`symdiff.check` and the tests ask it at one point.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
from scipy import special

from ...errors import UnsupportedError
from ...graph import Node, inputs_of, label_sizes, postorder, step_number
from ...graph.reference.interpret import Bindings, bind_sizes
from ...graph.scalars.functions import FUNCTIONS, as_written
from ...graph.scalars.remainders import REMAINDERS, Remainder
from ...graph.scalars.series import series_of
from ...graph.sizes import value

Exact = npt.NDArray[np.object_]

DIGITS = 80
STEP = "1e-16"
#: Digits that values are checked with, the step of differences in them, and how far beside a point its limit is.
CHECKED = 120
CHECK_STEP, BESIDE = mpmath.mpf(10) ** -40, mpmath.mpf(10) ** -30
#: Elements of an array, rows of a matrix that is factorized, and steps of a loop, up to which they are computed.
MOST, MATRIX, LOOP = 4_000, 30, 1_000


def mod(x: Any, y: Any) -> Any:
    """Return the remainder with the sign of the divisor."""
    with mpmath.workdps(mpmath.mp.dps + 60):  # what is left may be far smaller than x
        return x - y * mpmath.floor(x / y)


def power(x: Any, y: Any) -> Any:
    """Return a power; 0**0 and 1**y are 1."""
    if y == 0 or x == 1:
        return mpmath.mpf(1)
    if x < 0 and y != mpmath.floor(y):
        return mpmath.nan
    if x == 0 and y < 0:
        return mpmath.inf
    return mpmath.re(mpmath.power(x, y))


def spherical_jn(n: Any, x: Any) -> Any:
    """DLMF 10.53.1: the power series, summed until it stands still; exact at 0 too."""
    n = int(n)
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


def k_moment(n: Any, v: Any, x: Any) -> Any:
    """Sum the powers of cosh t - 1 by cosh(j t), DLMF 10.32.9, in digits that what cancels does not reach."""
    n = int(n)
    with mpmath.workdps(2 * mpmath.mp.dps + n * max(0, math.ceil(2 * mpmath.log10(x)))):
        # (cosh t - 1)^n = 2^-n (e^(t/2) - e^(-t/2))^(2 n); orders by the recurrence DLMF 10.29.1
        known = {v: mpmath.besselk(v, x), v + 1: mpmath.besselk(v + 1, x)}
        for j in range(1, n):
            known[v + j + 1] = known[v + j - 1] + 2 * (v + j) / x * known[v + j]
        for j in range(n):
            known[v - j - 1] = known[v - j + 1] - 2 * (v - j) / x * known[v - j]
        parts = [(-1) ** j * mpmath.binomial(2 * n, j) * known[v + n - j] for j in range(2 * n + 1)]
        return mpmath.exp(x) * mpmath.fsum(parts) / mpmath.mpf(2) ** n


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
        assert n == 0
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
        return mpmath.nan if t != t else mpmath.mpf(t > 0)
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
    "k0e": lambda x: mpmath.exp(x) * mpmath.besselk(0, x),
    "k1e": lambda x: mpmath.exp(x) * mpmath.besselk(1, x),
    "kve": lambda v, x: mpmath.exp(x) * mpmath.besselk(v, x),
    "j0": lambda x: mpmath.besselj(0, x),
    "j1": lambda x: mpmath.besselj(1, x),
    "jv": mpmath.besselj,
    "y0": lambda x: mpmath.bessely(0, x),
    "y1": lambda x: mpmath.bessely(1, x),
    "yv": mpmath.bessely,
    "yv_near": mpmath.bessely,
    "i0": lambda x: mpmath.besseli(0, x),
    "i1": lambda x: mpmath.besseli(1, x),
    "iv": mpmath.besseli,
    "iv_far": mpmath.besseli,
    "k0": lambda x: mpmath.besselk(0, x),
    "k1": lambda x: mpmath.besselk(1, x),
    "kv": mpmath.besselk,
    "gammainc": lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
    "gammaincc": lambda a, x: mpmath.gammainc(a, x, mpmath.inf, regularized=True),
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
    "i0e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x),
    "i1e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "sigmoid_slope": lambda x: mpmath.sech(x / 2) ** 2 / 4,
    "log_sigmoid": lambda x: -mpmath.log1p(mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "logaddexp": lambda x, y: max(x, y) + mpmath.log1p(mpmath.exp(-abs(x - y))),
    "exp_share": lambda b, c, t: 1 / (b + c * mpmath.exp(t)),
    "log_exp_sum": lambda b, c, t: mpmath.log(b + c * mpmath.exp(t)),
    "cos_of_root": lambda s: mpmath.re(mpmath.cos(mpmath.sqrt(s))),
    "cosh_of_root": lambda s: mpmath.re(mpmath.cosh(mpmath.sqrt(s))),
    "log_cosh": lambda x: mpmath.log(mpmath.cosh(x)),
    "xlogy": lambda x, y: mpmath.mpf(0) if x == 0 else x * mpmath.log(y),
    "part_of": lambda x, y: mpmath.mpf(0) if x == 0 and y == 0 else x / y,
    "xlog_sigmoid": lambda a, x: mpmath.mpf(0) if a == 0 else -a * mpmath.log1p(mpmath.exp(-x)),
    "xlog1py": lambda x, y: mpmath.mpf(0) if x == 0 else x * mpmath.log1p(y),
    "logit": lambda x: mpmath.log(x / (1 - x)),
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
    "sign": mpmath.sign,
    "floor": mpmath.floor,
    "ceil": mpmath.ceil,
    "rint": mpmath.nint,
    "trunc": lambda x: mpmath.sign(x) * mpmath.floor(abs(x)),
    "mod": mod,
    "floor_divide": lambda x, y: mpmath.floor(x / y),
    "maximum": max,
    "minimum": min,
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

_mpf = np.frompyfunc(mpmath.mpf, 1, 1)

#: What mpmath raises where a function has no value.
_NO_VALUE = (ZeroDivisionError, ValueError, OverflowError, mpmath.libmp.NoConvergence)


def _real(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give nan where a function has no real value."""

    def call(*args: Any) -> Any:
        try:
            result = function(*args)
        except _NO_VALUE:
            return mpmath.nan
        if isinstance(result, mpmath.mpc):
            return result.real if result.imag == 0 else mpmath.nan
        return result

    return call


def exact(array: npt.ArrayLike) -> Exact:
    """Return numbers as mpmath numbers."""
    with np.errstate(invalid="ignore"):  # nan, in branches
        return np.asarray(_mpf(np.asarray(array, dtype=float)), dtype=object)


def doubles(array: Any) -> npt.NDArray[np.float64]:
    """Return mpmath numbers (or conditions) as doubles."""
    return np.array(np.frompyfunc(float, 1, 1)(array), dtype=float)


# ---------------------------------------------------------------------------- matrices


#: Rows up to which determinants are expanded.
_SUBSETS = 6


def determinant(a: Exact) -> Any:
    """Expand over subsets of columns: no division, so no rank matters; large ones by elimination."""
    n = len(a)
    if n > _SUBSETS:
        return mpmath.det(mpmath.matrix(a.tolist()))
    minors: dict[int, Any] = {0: mpmath.mpf(1)}
    for row in range(n):
        following: dict[int, Any] = {}
        for used, minor in minors.items():
            for column in range(n):
                bit = 1 << column
                if not used & bit:
                    sign = -1 if (used >> (column + 1)).bit_count() % 2 else 1
                    following[used | bit] = following.get(used | bit, 0) + sign * minor * a[row, column]
        minors = following
    return minors[(1 << n) - 1]


def adjugate(a: Exact) -> Exact:
    """Return the adjugate by minors."""
    n = len(a)
    if n > _SUBSETS:
        scaled: Exact = determinant(a) * inverse(a)
        return scaled
    result = np.empty((n, n), dtype=object)
    for i, j in itertools.product(range(n), repeat=2):
        minor = np.delete(np.delete(a, j, axis=0), i, axis=1)
        result[i, j] = (-1) ** (i + j) * determinant(minor)
    return result


def inverse(a: Exact) -> Exact:
    """Return the inverse of a matrix."""
    if len(a) > _SUBSETS:
        return np.array(mpmath.inverse(mpmath.matrix(a.tolist())).tolist(), dtype=object)
    result: Exact = adjugate(a) / determinant(a)
    return result


def cholesky(a: Exact) -> Exact:
    """Return the lower factor; it reads the lower triangle alone."""
    n = len(a)
    result = exact(np.zeros((n, n)))
    for j in range(n):
        result[j, j] = mpmath.sqrt(a[j, j] - sum(result[j, k] ** 2 for k in range(j)))
        for i in range(j + 1, n):
            result[i, j] = (a[i, j] - sum(result[i, k] * result[j, k] for k in range(j))) / result[j, j]
    return result


def adjugate_differential(a: Exact, e: Exact) -> Exact:
    """D adj(A)[E], by differences: adj is a polynomial of degree n - 1 in the step."""
    with mpmath.workdps(2 * mpmath.mp.dps):
        h = mpmath.mpf(10) ** -(mpmath.mp.dps // 4)
        slope: Exact = (adjugate(a + h * e) - adjugate(a - h * e)) / (2 * h)
    return slope


def eigen(a: Exact) -> tuple[Exact, Exact]:
    """Eigenvalues in rising order, and eigenvectors with the signs that NumPy gives."""
    part = (a + a.T) / 2
    values, vectors = mpmath.eigsy(mpmath.matrix(part.tolist()))
    v = np.array(vectors.tolist(), dtype=object)
    near = np.linalg.eigh(part.astype(float)).eigenvectors
    return np.array(list(values), dtype=object), v * np.sign((v * near).sum(axis=0).astype(float))


def exponential(args: Sequence[Exact], shape: tuple[int, ...]) -> Exact:
    """Mpmath's exponential of each matrix; its derivative by the corner of that of [[A, E], [0, A]]."""
    result, n = exact(np.zeros(shape)), shape[-1]
    for own in np.ndindex(*shape[:-2]):
        a, *direction = (np.broadcast_to(x, (*shape[:-2], n, n))[own] for x in args)
        whole = mpmath.zeros(n * len(args))
        for k in range(len(args)):
            whole[k * n : (k + 1) * n, k * n : (k + 1) * n] = mpmath.matrix(a.tolist())
        for e in direction:
            whole[:n, n:] = mpmath.matrix(e.tolist())
        result[own] = np.array(mpmath.expm(whole, method="taylor").tolist(), dtype=object)[:n, -n:]
    return result


def spectral(node: Node, args: Sequence[Exact], sizes: Mapping[str, int]) -> Exact:
    """Return the sum over all chains of eigenvalues, each weighted by a quotient of differences, points being apart."""
    count = node.payload.parameters
    directions = args[1 + count :]
    result = exact(np.zeros(tuple(value(n, sizes) for n in node.shape)))
    for own in np.ndindex(*result.shape[:-2]):
        x, v = eigen(np.broadcast_to(args[0], (*own_shape(result), *args[0].shape[-2:]))[own])
        inside = [v.T @ np.broadcast_to(e, (*own_shape(result), *e.shape[-2:]))[own] @ v for e in directions]
        numbers = {
            ("parameter", k): np.broadcast_to(n, own_shape(result))[own] for k, n in enumerate(args[1 : 1 + count])
        }

        for chain in np.ndindex(*[len(x)] * (len(directions) + 1)):
            term = difference(partial(of_one, node.payload.function, numbers), [x[i] for i in chain])
            for e, i, j in zip(inside, chain, chain[1:], strict=False):
                term = term * e[i, j]
            result[own] += term * np.outer(v[:, chain[0]], v[:, chain[-1]])
    return result


def isotropic(node: Node, args: Sequence[Exact]) -> Exact:
    """V diag(g) V^T of one matrix; its derivatives along directions are quotients of differences."""
    count, formula = node.payload.parameters, node.payload.function
    numbers: dict[Any, Exact] = {("spectrum parameter", k): x for k, x in enumerate(args[1 : 1 + count])}

    def at(a: Exact) -> Exact:
        x, v = eigen(a)
        known: dict[Any, Exact] = {("spectrum",): x, **numbers}
        (g,) = evaluate_exact([formula], {leaf.payload: known[leaf.payload.key] for leaf in inputs_of([formula])})
        turned = np.empty((*g.shape, len(x)), dtype=object)
        for own in np.ndindex(*g.shape[:-1]):
            turned[own] = (v * g[own]) @ v.T
        return turned

    if len(args) == 1 + count:
        return at(args[0])
    e, h = args[1 + count], mpmath.mpf(10) ** -(mpmath.mp.dps // 3)
    result = np.empty(node.shape, dtype=object)
    slopes = np.empty((*e.shape[:-2], *formula.shape, formula.shape[-1]), dtype=object)
    for own in np.ndindex(*e.shape[:-2]):
        slopes[own] = (at(args[0] + h * e[own]) - at(args[0] - h * e[own])) / (2 * h)
    for own in np.ndindex(*node.shape[:-2]):
        along = [k if n > 1 else 0 for k, n in zip(own[len(own) - e.ndim + 2 :], e.shape[:-2], strict=True)]
        lead = own[len(own) - formula.ndim + 1 :]
        result[own] = slopes[(*along, *lead)]
    return result


def of_one(formula: Node, numbers: Mapping[Any, Any], x: Any) -> Any:
    """Return a formula of one eigenvalue."""
    known = {("eigenvalue", 0): x, **numbers}
    given = {leaf.payload: np.asarray(known[leaf.payload.key], dtype=object) for leaf in inputs_of([formula])}
    return evaluate_exact([formula], given)[0].item()


def own_shape(stack: Exact) -> tuple[int, ...]:
    """Return the axes of a stack of matrices before the last two."""
    return stack.shape[:-2]


def difference(f: Callable[[Any], Any], points: Sequence[Any]) -> Any:
    """Return a divided difference; equal points move apart by more than the digits and less than the answer's."""
    apart = [p + i * mpmath.mpf(10) ** -(mpmath.mp.dps // 6) for i, p in enumerate(points)]
    values = [f(p) for p in apart]
    for width in range(1, len(points)):
        values = [(b - a) / (apart[i + width] - apart[i]) for i, (a, b) in enumerate(itertools.pairwise(values))]
    return values[0]


MATRICES: dict[str, Callable[..., Any]] = {
    "det": determinant,
    "logdet": lambda a: mpmath.log(determinant(a)),
    "logabsdet": lambda a: mpmath.log(abs(determinant(a))),
    "inv": inverse,
    "adjugate": adjugate,
    "cholesky": cholesky,
    "adjugate_differential": adjugate_differential,
    "solve": lambda a, b: inverse(a) @ b,
    "eigvalsh": lambda a: eigen(a)[0],
    "eigenvectors": lambda a: eigen(a)[1],
}


def _stacked(function: Callable[..., Any], node: Node, args: Sequence[Exact], shape: tuple[int, ...]) -> Exact:
    lead = shape[: len(args[0].shape) - 2]
    result = np.empty(shape, dtype=object)
    for place in np.ndindex(*lead):
        result[place] = function(*(a[place] for a in args))
    return result


# ---------------------------------------------------------------------------- the interpreter


def _arranged(x: Exact, key: Any, axis: int, back: bool) -> Exact:
    """Multiply each line by the matrix of which element stands where, a mean over the orders of ties."""
    x, key = np.moveaxis(x, axis, -1), np.moveaxis(key, axis, -1)
    result = np.empty(x.shape, dtype=object)
    for index in np.ndindex(key.shape[:-1]):
        line = key[index]
        first = (line[None, :] < line[:, None]).sum(axis=1)
        ties = (line[None, :] == line[:, None]).sum(axis=1)
        place = np.arange(line.size)[:, None]
        weights = exact((first <= place) & (place < first + ties)) / exact(ties)
        result[(..., *index, slice(None))] = x[(..., *index, slice(None))] @ (weights if back else weights.T)
    return np.moveaxis(result, -1, axis)


_RUNNING = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}


def evaluate_exact(roots: Sequence[Node], values: Mapping[Any, Exact], more: Sequence[Node] = ()) -> list[Exact]:
    """Compute ``roots`` with the digits mpmath is set to; ``more`` are inputs that only sizes are told from."""
    inputs = list(dict.fromkeys([*more, *inputs_of(roots)]))
    sizes = bind_sizes(inputs, [values[node.payload].shape for node in inputs])
    done: dict[Node, Exact] = {node: values[node.payload] for node in inputs}
    for node in postorder(roots):
        if node not in done:
            shape = tuple(value(n, sizes) for n in node.shape)
            result = np.asarray(_compute(node, [done[a] for a in node.args], shape, sizes), dtype=object)
            assert result.shape == shape, (node, result.shape, shape)
            done[node] = result
    return [done[root] for root in roots]


def _compute(node: Node, args: list[Exact], shape: tuple[int, ...], sizes: Mapping[str, int]) -> Any:
    op, payload = node.op, node.payload
    if op in SCALARS:
        return np.frompyfunc(_real(SCALARS[op]), len(args), 1)(*args)
    if op in MATRICES:
        return _stacked(MATRICES[op], node, args, shape)
    if op == "spectral":
        return spectral(node, args, sizes)
    if op == "isotropic":
        return isotropic(node, args)
    if op == "pinv":
        (a,) = args
        turned = a.swapaxes(-1, -2)
        return _stacked(MATRICES["solve"], node, [turned @ a, turned], shape)
    if op == "expm":
        return exponential(args, shape)
    if op == "constant":
        return exact(node.value)
    if op == "size":
        return mpmath.mpf(value(payload.size, sizes))
    if op == "contract":
        return _contract(node, args, shape, sizes)
    if op == "delta":
        (start, step), result = payload, exact(np.zeros(shape))
        for i in range(shape[0]):
            k = value(start, sizes) + step * i
            if 0 <= k < shape[1]:
                result[i, k] = mpmath.mpf(1)
        return result
    if op == "onehot":
        result = exact(np.zeros(shape))
        result[value(payload.at, sizes)] = mpmath.mpf(1)
        return result
    if op in _OVER_AXES:
        return _OVER_AXES[op](args[0], payload.axes)
    if op == "sort":
        axis, reverse = payload
        x = np.sort(args[0], axis)
        return np.flip(x, axis) if reverse else x
    if op == "arrange":
        axis, back = payload
        return _arranged(args[0], np.asarray(args[1], dtype=float), axis, back)
    if op in _RUNNING:
        axis, reverse = payload
        x = np.flip(args[0], axis) if reverse else args[0]
        x = _RUNNING[op].accumulate(x, axis)
        return np.flip(x, axis) if reverse else x
    if op == "slice":
        return args[0][_places(payload.items, args[0].shape, sizes)]
    if op == "pad":
        result = exact(np.zeros(shape))
        result[_places(payload.items, shape, sizes)] = args[0]
        return result
    if op == "gather":
        return np.take(args[0], list(payload.indices), axis=payload.axis)
    if op == "scatter":
        axis, indices = payload
        result = exact(np.zeros(shape))
        for place, index in enumerate(indices):
            np.moveaxis(result, axis, 0)[index] += np.moveaxis(args[0], axis, 0)[place]
        return result
    if op in ("take", "put"):
        place, lead = payload.axis + len(shape if op == "put" else args[0].shape), payload.shared
        result = exact(np.zeros(shape))
        for own in np.ndindex(args[1].shape):
            before = (slice(None),) * (place - lead) + own[:lead]
            whole, part = (*before, int(args[1][own])), (*before, *own[lead:])
            if op == "take":
                result[part] = args[0][whole]
            else:
                result[whole] += args[0][part]
        return result
    if op == "triangle":
        upper, offset = payload
        keep = (np.triu if upper else np.tril)(np.ones(shape), offset).astype(bool)
        return np.where(keep, args[0], mpmath.mpf(0))
    if op == "reshape":
        return args[0].reshape(shape)
    if op == "concatenate":
        return np.concatenate(args, axis=payload.axis)
    if op in ("stop_gradient", "named"):
        return args[0]
    if op == "recurrence":
        return _repeated(node, args)
    raise LookupError(f"the exact interpreter has no {op}")


def _repeated(node: Node, args: list[Exact]) -> Exact:
    body, length, reverse = node.payload
    first, second = len(body.carried), len(body.carried) + len(body.read)
    carried, along = args[:first], list(zip(body.read, args[first:second], strict=True))
    written: dict[int, list[Exact]] = {}
    for k in range(length)[:: -1 if reverse else 1]:
        given = dict(zip(body.carried, carried, strict=True))
        given |= {own: np.asarray(rows[k], dtype=object) for own, rows in along}
        given |= dict(zip(body.held, args[second:], strict=True))
        given[step_number()] = np.asarray(mpmath.mpf(k), dtype=object)
        results = evaluate_exact(body.results, {own.payload: value for own, value in given.items()})
        carried, written[k] = results[:first], results[first:]
    rows = [part for j in range(len(body.results) - first) for part in (written[k][j] for k in range(length))]
    return np.concatenate([part.ravel() for part in (*carried, *rows)])


def _places(items: Any, shape: tuple[int, ...], sizes: Mapping[str, int]) -> tuple[Any, ...]:
    places: list[Any] = []
    for (start, step, length), _ in zip(items, shape, strict=True):
        first = value(start, sizes)
        places.append(first if length is None else [first + step * i for i in range(value(length, sizes))])
    keys = [[p] if isinstance(p, int) else p for p in places]
    grid = np.ix_(*keys) if keys else ()
    drop = tuple(i for i, p in enumerate(places) if isinstance(p, int))
    return tuple(np.squeeze(g, axis=drop) if drop else g for g in grid)


def _contract(node: Node, args: list[Exact], shape: tuple[int, ...], sizes: Mapping[str, int]) -> Any:
    labels, out, _ = node.payload
    extents = {label: value(size, sizes) for label, size in label_sizes(node).items()}
    order = list(extents)
    total: Any = np.asarray(mpmath.mpf(1), dtype=object)  # mpmath's own product with an array is slow
    for arg, own in zip(args, labels, strict=True):
        distinct = list(dict.fromkeys(own))
        diagonal = arg
        if len(distinct) != len(own):
            grid = np.ix_(*(range(extents[label]) for label in distinct))
            diagonal = arg[tuple(grid[distinct.index(label)] for label in own)]
        ordered = sorted(distinct, key=order.index)
        moved = diagonal.transpose([distinct.index(label) for label in ordered])
        total = total * moved.reshape([extents[label] if label in own else 1 for label in order])
    total = np.broadcast_to(np.asarray(total, dtype=object), [extents[label] for label in order])
    gone = tuple(i for i, label in enumerate(order) if label not in out)
    kept = [label for label in order if label in out]
    if gone and any(total.shape[i] == 0 for i in gone):
        summed = exact(np.zeros([extents[label] for label in kept]))
    else:
        summed = np.asarray(total.sum(axis=gone) if gone else total, dtype=object)
    return summed.transpose([kept.index(label) for label in out])


def _reduced(function: Callable[[list[Any]], Any]) -> Callable[[Exact, tuple[int, ...]], Any]:
    def reduce(x: Exact, axes: tuple[int, ...]) -> Any:
        gone = sorted(axis % x.ndim for axis in axes)
        kept = [axis for axis in range(x.ndim) if axis not in gone]
        moved = x.transpose([*kept, *gone])
        result = np.empty([x.shape[axis] for axis in kept], dtype=object)
        for place in np.ndindex(*result.shape):
            result[place] = function(list(np.asarray(moved[place], dtype=object).ravel()))
        return result

    return reduce


_exp, _log, _sqrt = (np.frompyfunc(_real(f), 1, 1) for f in (mpmath.exp, mpmath.log, mpmath.sqrt))


def _softmax(x: Exact, axes: tuple[int, ...]) -> Any:
    powers = _exp(x)
    return powers / np.sum(powers, axis=axes, keepdims=True) if axes else powers / powers


_OVER_AXES: dict[str, Callable[[Exact, tuple[int, ...]], Any]] = {
    "max": _reduced(max),
    "min": _reduced(min),
    "prod": _reduced(mpmath.fprod),
    "norm": _reduced(lambda xs: mpmath.sqrt(mpmath.fsum(x * x for x in xs))),
    "logsumexp": _reduced(lambda xs: mpmath.log(mpmath.fsum(map(mpmath.exp, xs)))),
    "softmax": _softmax,
    "log_softmax": lambda x, axes: _log(_softmax(x, axes)),
    "unit": lambda x, axes: x / _sqrt(np.sum(x * x, axis=axes, keepdims=True)),
}


# ---------------------------------------------------------------------------- derivatives by differences


def directional(
    roots: Sequence[Node],
    values: Mapping[Any, npt.ArrayLike],
    directions: Sequence[Mapping[Any, npt.ArrayLike]],
    more: Sequence[Node] = (),
) -> list[npt.NDArray[np.float64]]:
    """Return D^k roots[u, v, ...] for k = len(directions), by central differences at 80 digits."""
    with mpmath.workdps(DIGITS):
        step = mpmath.mpf(STEP)
        total: list[Any] = [0] * len(roots)
        start = {name: exact(x) for name, x in values.items()}
        ways = [{name: exact(x) for name, x in way.items()} for way in directions]
        for signs in itertools.product((1, -1), repeat=len(ways)):
            point = dict(start)
            for sign, way in zip(signs, ways, strict=True):
                for name, x in way.items():
                    point[name] = np.asarray(point[name] + sign * step * x, dtype=object)
            for i, part in enumerate(evaluate_exact(roots, point, more)):
                total[i] = total[i] + int(np.prod(signs)) * part
        scale = (2 * step) ** len(ways)
        return [doubles(part / scale) for part in total]


def missing_scalars() -> set[str]:
    """Return the functions of the table this module does not know."""
    return set(FUNCTIONS) - set(SCALARS)


# ---------------------------------------------------------------------------- whole formulas, as check asks for them


def exact_values(
    roots: Sequence[Node], point: Mapping[Any, Any], sizes: Bindings, digits: int = CHECKED, most: int = MOST
) -> list[Exact]:
    """Evaluate nodes in many digits.

    Parameters
    ----------
    roots : sequence of Node
        Without names, barriers and custom functions (see :func:`symdiff.simplify.inline`).
    point : mapping
        An array for each input, by the input's name: of floats or of mpmath's numbers.
    sizes : mapping of str to int
        Numbers of named sizes.
    digits : int
    most : int
        Elements up to which an array is computed.

    Returns
    -------
    list of ndarray of objects
        nan where there is no real value.

    Raises
    ------
    UnsupportedError
        If an operation is not known here, or an array, a matrix that is factorized or a loop is too large.
    """
    written = as_written(roots)
    refuse_large(written, sizes, most)
    done: dict[Node, Any] = {}
    with mpmath.workdps(digits), np.errstate(all="ignore"):
        for node in postorder(written):
            if node.is_input:
                done[node] = numbers_of(point[node.name])
                continue
            shape = tuple(value(n, sizes) for n in node.shape)
            args = [done[arg] for arg in node.args]
            try:
                done[node] = np.asarray(_compute(node, args, shape, sizes), dtype=object)
            except LookupError:
                raise UnsupportedError(f"{node.op} in many digits") from None
            except _NO_VALUE:
                done[node] = np.full(shape, mpmath.nan, dtype=object)
    return [done[root] for root in written]


def refuse_large(roots: Sequence[Node], sizes: Bindings, most: int) -> None:
    """Refuse formulas that take long in many digits."""
    for node in postorder(roots):
        if math.prod(value(size, sizes) for size in node.shape) > most:
            raise UnsupportedError(f"an array of more than {most} elements in many digits")
        if node.op in (*MATRICES, "spectral", "pinv", "expm") and max(_lengths(node, sizes)) > MATRIX:
            raise UnsupportedError(f"{node.op} of a matrix beyond {MATRIX} by {MATRIX} in many digits")
        if node.is_recurrence and node.payload.length > LOOP:
            raise UnsupportedError(f"a loop of more than {LOOP} steps in many digits")
        if node.is_contraction:
            length = [value(size, sizes) for size in label_sizes(node).values()]
            if math.prod(length) > 100 * most:
                raise UnsupportedError("a product of arrays that are large in many digits")


def _lengths(node: Node, sizes: Bindings) -> tuple[int, ...]:
    return tuple(value(n, sizes) for n in node.args[0].shape[-2:])


def numbers_of(array: Any) -> Exact:
    """Return an array of mpmath's numbers; conditions and positions stay what they are."""
    array = np.asarray(array)
    return exact(array) if array.dtype.kind == "f" else np.asarray(array, dtype=object)


def limit(f: Callable[[Any], Any], smooth: bool = False) -> Any:
    """Return f(0) in many digits, or the number that f is close to on both sides of 0; nan where there is none.

    Parameters
    ----------
    f : callable
        Takes a number of mpmath, gives an array of such.
    smooth : bool
        Whether f(0) itself counts only where f is close to it on both sides.
    """

    def choose(here: Any, *beside: Any) -> Any:
        if mpmath.isfinite(here) and not smooth:
            return here
        if not all(map(mpmath.isfinite, beside)):
            return mpmath.nan
        near = [x for x in (here, *beside) if mpmath.isfinite(x)]
        middle = (beside[-2] + beside[-1]) / 2
        close = all(abs(x - middle) <= mpmath.mpf(10) ** -8 * (1 + abs(middle)) for x in near)
        return (here if mpmath.isfinite(here) else middle) if close else mpmath.nan

    with mpmath.workdps(CHECKED):
        steps = (mpmath.mpf(0), -1000 * BESIDE, 1000 * BESIDE, -BESIDE, BESIDE)
        found = [np.asarray(f(t), dtype=object) for t in steps]
        return np.asarray(np.frompyfunc(choose, len(steps), 1)(*found), dtype=object)


def slope(f: Callable[[Any], Any]) -> Any:
    """Return the derivative of f at 0 by central differences in many digits; nan where f is not smooth."""
    with mpmath.workdps(CHECKED):
        return limit(
            lambda t: (np.asarray(f(t + CHECK_STEP)) - np.asarray(f(t - CHECK_STEP))) / (2 * CHECK_STEP), smooth=True
        )
