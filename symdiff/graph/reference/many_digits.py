"""The functions of the table in many digits, as mpmath computes them at its working precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp

from ..scalars.functions import FUNCTIONS
from . import scipy_special as special


def _divide(x: Any, y: Any) -> Any:
    return x / y if y else mp.nan


def _newton(f: Callable[[Any], Any], guess: float) -> Any:
    """Find a zero to all digits from a double's; where that is nan or infinite there is none to look for."""
    return mp.findroot(f, guess) if mp.isfinite(guess) else mp.mpf(guess)


def _log_ndtr_derivative(n: Any, x: Any) -> Any:
    # h = phi / Phi has h' = -h (x + h)
    found = [mp.npdf(x) / mp.ncdf(x)]
    for k in range(1, int(n)):
        rest = [x + found[0], *(found[j] + (j == 1) for j in range(1, k))]
        found.append(-mp.fsum(mp.binomial(k - 1, j) * found[j] * rest[k - 1 - j] for j in range(k)))
    return found[-1]


def _i_moment(n: Any, x: Any) -> Any:
    half = mp.mpf(1) / 2
    return mp.mpf(2) ** n * mp.rf(half, n) / mp.factorial(n) * mp.hyp1f1(n + half, n + 1, -2 * abs(x))


def _k_moment(n: Any, v: Any, x: Any) -> Any:
    parts = [(-1) ** j * mp.binomial(2 * n, j) * mp.besselk(v + n - j, x) for j in range(2 * int(n) + 1)]
    return mp.exp(x) * mp.fsum(parts) / mp.mpf(2) ** n


def _elliptic_derivative(start: int) -> Callable[..., Any]:
    def call(n: Any, p: Any) -> Any:
        half = mp.mpf(1) / 2
        factor = mp.rf(half, n) * mp.rf(start * half, n) / mp.factorial(n) * mp.pi / 2
        return factor * mp.hyp2f1(n + half, n + start * half, n + 1, 1 - p)

    return call


def _dawson(n: Any, x: Any) -> Any:
    value = mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)
    found = [value, 1 - 2 * x * value]
    for k in range(1, int(n)):
        found.append(-2 * x * found[k] - 2 * k * found[k - 1])
    return found[int(n)]


def _owens_t(h: Any, a: Any) -> Any:
    return mp.quad(lambda x: mp.exp(-h * h * (1 + x * x) / 2) / (1 + x * x), [0, a]) / (2 * mp.pi)


def _wofz(n: Any, x: Any, y: Any) -> Any:
    # DLMF 7.10.3
    z = mp.mpc(x, y)
    value = mp.exp(-z * z) * mp.erfc(-1j * z)
    found = [value, 2j / mp.sqrt(mp.pi) - 2 * z * value]
    for k in range(1, int(n)):
        found.append(-2 * z * found[k] - 2 * k * found[k - 1])
    return found[int(n)]


def _voigt(n: Any, x: Any, sigma: Any, gamma: Any) -> Any:
    scale = mp.sqrt(2) * sigma
    return _wofz(n, x / scale, gamma / scale) / (mp.sqrt(mp.pi) * scale ** (int(n) + 1))


def _zeta_by_s(n: Any, s: Any, q: Any) -> Any:
    return mp.zeta(s, q, int(n))


def _relative_entropy(x: Any, y: Any) -> Any:
    return mp.mpf(0) if x == 0 else x * mp.log(x / y)


def _stdtr(df: Any, t: Any) -> Any:
    half = mp.mpf(1) / 2
    inner = t * mp.hyp2f1(half, (df + 1) / 2, 3 * half, -t * t / df)
    return half + inner / mp.sqrt(df) / mp.beta(df / 2, half)


def _inverse(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the inverse of a function by its last argument, from SciPy's digits on."""

    def call(*args: Any) -> Any:
        *rest, y = args
        return _newton(lambda x: function(*rest, x) - y, getattr(special, name)(*map(float, args)))

    return call


def _incomplete() -> dict[str, Callable[..., Any]]:
    """Return logarithms of incomplete gamma and beta functions, and their derivatives wrt parameters."""
    known: dict[str, Callable[..., Any]] = {
        "gammainc": lambda a, x: mp.gammainc(a, 0, x, regularized=True),
        "gammaincc": lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True),
        "betainc": lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
        "stdtr": _stdtr,
    }
    known |= {f"log_{name}": lambda *args, f=f: mp.log(f(*args)) for name, f in list(known.items())}

    def derived(function: Callable[..., Any], by: str, letters: str) -> Callable[..., Any]:
        orders = tuple(by.count(letter) for letter in letters)
        return lambda *args: mp.diff(function, args, orders)

    for name in FUNCTIONS:
        start, _, by = name.partition("_by_")
        if by and start in known:
            known[name] = derived(known[start], by.replace("df", "a"), "abx" if "beta" in start else "ax")
    return known


#: By the name of the row; each raises an error of mpmath's, or gives a complex number, where it has no real value.
DIGITS_OF: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": _divide,
    "negative": lambda x: -x,
    "power": mp.power,
    "exp2": lambda x: mp.mpf(2) ** x,
    "log2": lambda x: mp.log(x, 2),
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "abs": abs,
    "rint": mp.nint,
    "trunc": lambda x: mp.sign(x) * mp.floor(abs(x)),
    "mod": lambda x, y: x - y * mp.floor(x / y),
    "floor_divide": lambda x, y: mp.floor(x / y),
    "maximum": max,
    "minimum": min,
    "lgamma": lambda x: mp.log(abs(mp.gamma(x))),
    "polygamma": lambda n, x: mp.psi(int(n), x),
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "log_sigmoid": lambda x: -mp.log1p(mp.exp(-x)),
    "softplus": lambda x: mp.log1p(mp.exp(x)),
    "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
    "xlogy": lambda x, y: mp.mpf(0) if x == 0 else x * mp.log(y),
    "sinc": mp.sincpi,
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
    "ndtr": mp.ncdf,
    "log_ndtr": lambda x: mp.log1p(-mp.ncdf(-x)) if x > 0 else mp.log(mp.ncdf(x)),
    "sech": mp.sech,
    "logit": lambda p: mp.log(p) - mp.log1p(-p),
    "log1mexp": lambda x: mp.log(-mp.expm1(-x)),
    "xlog1py": lambda x, y: mp.mpf(0) if x == 0 else x * mp.log1p(y),
    "entr": lambda x: mp.mpf(0) if x == 0 else -x * mp.log(x),
    "rel_entr": _relative_entropy,
    "kl_div": lambda x, y: _relative_entropy(x, y) - x + y,
    "soft_sign": lambda x: x / (1 + abs(x)),
    "log_ndtr_derivative": _log_ndtr_derivative,
    "ndtri": lambda p: _newton(lambda x: mp.log(mp.ncdf(x)) - mp.log(p), special.ndtri(float(p))),
    "erfinv": mp.erfinv,
    "erfcinv": lambda y: _newton(lambda x: mp.log(mp.erfc(x)) - mp.log(y), special.erfcinv(float(y))),
    "beta": mp.beta,
    "betaln": lambda a, b: mp.log(abs(mp.beta(a, b))),
    "poch": mp.rf,
    "binom": mp.binomial,
    "i_moment": _i_moment,
    "k_moment": _k_moment,
    **{"ellipk": mp.ellipk, "ellipe": mp.ellipe, "ellipkm1": lambda p: mp.ellipk(1 - p)},
    **{"ellipk_derivative": _elliptic_derivative(1), "ellipe_derivative": _elliptic_derivative(-1)},
    **{"si": mp.si, "ci": lambda x: mp.ci(abs(x)), "fresnels": mp.fresnels, "fresnelc": mp.fresnelc},
    **{"airyai": mp.airyai, "airybi": mp.airybi, "lambertw": mp.lambertw, "lambertwm1": lambda x: mp.lambertw(x, -1)},
    "airyaiprime": lambda x: mp.airyai(x, derivative=1),
    "airybiprime": lambda x: mp.airybi(x, derivative=1),
    "k0e": lambda x: mp.exp(x) * mp.besselk(0, x),
    "k1e": lambda x: mp.exp(x) * mp.besselk(1, x),
    "kve": lambda v, x: mp.exp(x) * mp.besselk(v, x),
    "j0": lambda x: mp.besselj(0, x),
    "j1": lambda x: mp.besselj(1, x),
    "y0": lambda x: mp.bessely(0, x),
    "y1": lambda x: mp.bessely(1, x),
    "i0": lambda x: mp.besseli(0, x),
    "i1": lambda x: mp.besseli(1, x),
    "k0": lambda x: mp.besselk(0, x),
    "k1": lambda x: mp.besselk(1, x),
    **{"jv": mp.besselj, "yv": mp.bessely, "yv_near": mp.bessely, "kv": mp.besselk, "zeta": mp.zeta},
    **{"iv": mp.besseli, "iv_far": mp.besseli},
    **_incomplete(),
    "gamma_density": lambda n, a, x: mp.power(x, a - 1 - n) * mp.exp(-x) / mp.gamma(a),
    "beta_density": lambda a, b, x: x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b),
    "beta_slope": lambda a, b: mp.beta(a, b) * (mp.digamma(a) - mp.digamma(a + b)),
    "dawsn": lambda x: _dawson(0, x),
    "dawsn_derivative": _dawson,
    "owens_t": _owens_t,
    "gammaincinv": _inverse("gammaincinv", lambda a, x: mp.gammainc(a, 0, x, regularized=True)),
    "gammainccinv": _inverse("gammainccinv", lambda a, x: mp.gammainc(a, x, regularized=True)),
    "betaincinv": _inverse("betaincinv", lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True)),
    "stdtrit": _inverse("stdtrit", _stdtr),
    **{name: getattr(mp, name) for name in ("hyp0f1", "hyp1f1", "hyp2f1")},
    "wofz_real": lambda n, x, y: mp.re(_wofz(n, x, y)),
    "wofz_imag": lambda n, x, y: mp.im(_wofz(n, x, y)),
    "voigt_real": lambda *args: mp.re(_voigt(*args)),
    "voigt_imag": lambda *args: mp.im(_voigt(*args)),
    "voigt_profile": lambda *args: mp.re(_voigt(0, *args)),
    "zeta_by_s": _zeta_by_s,
    "exp1": mp.e1,
    "expi": mp.ei,
    "expn": lambda n, x: mp.expint(int(n), x),
    "spence": lambda x: mp.re(mp.polylog(2, 1 - x)),
    "i0e": lambda x: mp.exp(-abs(x)) * mp.besseli(0, x),
    "i1e": lambda x: mp.exp(-abs(x)) * mp.besseli(1, x),
    "spherical_jn": lambda n, x: mp.sqrt(mp.pi / (2 * abs(x))) * mp.besselj(n + 0.5, abs(x)) * mp.sign(x) ** int(n)
    if x
    else mp.mpf(int(n) == 0),
    "where": lambda c, x, y: x if c else y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "logical_and": lambda x, y: bool(x) and bool(y),
    "logical_or": lambda x, y: bool(x) or bool(y),
    "logical_xor": lambda x, y: bool(x) != bool(y),
    "logical_not": lambda x: not x,
    "to_real": lambda x: mp.mpf(bool(x)),
    **{name: getattr(mp, name) for name in ("sqrt", "exp", "expm1", "log", "log10", "log1p", "sin", "cos", "tan")},
    **{name: getattr(mp, name) for name in ("sinh", "cosh", "tanh", "erf", "erfc", "gamma", "digamma", "hypot")},
    **{name: getattr(mp, name) for name in ("sign", "floor", "ceil")},
    **{f"arc{name}": getattr(mp, f"a{name}") for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")},
}


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
        with mp.workprec(work):
            try:
                value = DIGITS_OF[name](*map(mp.mpmathify, args))
            except (ZeroDivisionError, ValueError, OverflowError, mp.libmp.NoConvergence):
                return mp.nan
            if isinstance(value, mp.mpc) and not any(isinstance(arg, mp.mpc) for arg in args):
                value = value.real if abs(value.imag) <= abs(value) * mp.mpf(2) ** -prec else mp.nan
            if not mp.isfinite(value):
                return value
            if before is not None and value != 0 and abs(value - before) <= abs(value) * mp.mpf(2) ** -(prec + 5):
                return value
        before, work = value, 2 * work
    return before
