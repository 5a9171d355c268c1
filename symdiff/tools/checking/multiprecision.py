"""What a formula is worth in many digits: the exact value beside a double's nan or inf.

The graph is evaluated on arrays of mpmath's numbers, whose exponents have no end, so that nothing
overflows; what cancels has digits to lose. Slow and obvious: it is asked at one point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mpmath as mp
import numpy as np

from ...errors import UnsupportedError
from ...graph import Node, label_sizes, postorder
from ...graph.reference import scipy_special as special
from ...graph.reference.interpret import STRUCTURE, Bindings
from ...graph.scalars.functions import FUNCTIONS, as_written
from ...graph.sizes import value

#: Decimal digits, the step of differences, and how far beside a point its limit is looked for.
DIGITS = 120
STEP, BESIDE = mp.mpf(10) ** -40, mp.mpf(10) ** -30
#: Elements up to which an array is computed here.
MOST = 400


def _real(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give nan where a function has no real value."""

    def call(*args: Any) -> Any:
        try:
            result = function(*args)
        except (ZeroDivisionError, ValueError, OverflowError, mp.libmp.NoConvergence):
            return mp.nan
        if isinstance(result, mp.mpc):
            return result.real if result.imag == 0 else mp.nan
        return result

    return call


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


_FUNCTIONS: dict[str, Callable[..., Any]] = {
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
    "log_ndtr": lambda x: mp.log(mp.ncdf(x)),
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
    "yv_near": mp.bessely,
    **{"jv": mp.besselj, "yv": mp.bessely, "iv": mp.besseli, "iv_far": mp.besseli, "kv": mp.besselk, "zeta": mp.zeta},
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


def exact_values(roots: Sequence[Node], point: Mapping[Any, Any], sizes: Bindings) -> list[Any]:
    """Evaluate nodes in many digits.

    Parameters
    ----------
    roots : sequence of Node
        Without names, barriers and custom functions (see :func:`symdiff.simplify.inline`).
    point : mapping
        An array for each input, by the input's name: of floats or of mpmath's numbers.
    sizes : mapping of str to int
        What named sizes are.

    Returns
    -------
    list of ndarray of objects
        nan where there is no real value.

    Raises
    ------
    UnsupportedError
        If an operation is not known here, or an array is too large.
    """
    done: dict[Node, Any] = {}
    written = as_written(roots)
    with mp.workdps(DIGITS):
        for node in postorder(written):
            if math.prod(value(size, sizes) for size in node.shape) > MOST:
                raise UnsupportedError(f"an array of more than {MOST} elements in many digits")
            done[node] = _compute(node, [done[arg] for arg in node.args], point, sizes)
    return [done[root] for root in written]


def _objects(array: Any) -> Any:
    """Return an array of mpmath's numbers; conditions stay what they are."""
    array = np.asarray(array)
    if array.dtype.kind == "f":
        return np.frompyfunc(mp.mpf, 1, 1)(array) if array.ndim else np.asarray(mp.mpf(float(array)), dtype=object)
    return np.asarray(array, dtype=object)


def _compute(node: Node, args: list[Any], point: Mapping[Any, Any], sizes: Bindings) -> Any:
    if node.is_input:
        return _objects(point[node.name])
    if node.op in FUNCTIONS:
        if node.op not in _FUNCTIONS:
            raise UnsupportedError(f"{node.op} in many digits")
        return np.asarray(np.frompyfunc(_real(_FUNCTIONS[node.op]), len(args), 1)(*args), dtype=object)
    if node.op in _REDUCED:
        return np.asarray(_REDUCED[node.op](node, args), dtype=object)
    if node.is_contraction:
        return _contract(node, args, sizes)
    if node.op in _AS_THEY_ARE:
        return _objects(STRUCTURE[node.op](node, args, sizes))
    raise UnsupportedError(f"{node.op} in many digits")


def _contract(node: Node, args: list[Any], sizes: Bindings) -> Any:
    """Add up products, one combination of indices at a time."""
    labels, out, _ = node.payload
    length = {label: value(size, sizes) for label, size in label_sizes(node).items()}
    summed = [label for label in length if label not in out]
    if math.prod(length.values()) > MOST * 10:
        raise UnsupportedError("a product of arrays that are large in many digits")
    result = np.empty([length[label] for label in out], dtype=object)
    for place in np.ndindex(*result.shape):
        at = dict(zip(out, place, strict=True))
        total = mp.mpf(0)
        for inner in np.ndindex(*[length[label] for label in summed]):
            at.update(zip(summed, inner, strict=True))
            factors = [arg[tuple(at[label] for label in own)] for arg, own in zip(args, labels, strict=True)]
            total += mp.mpf(0) if 0 in factors else mp.fprod(factors)
        result[place] = total
    return result


def _each(function: Callable[[Any], Any], x: Any) -> Any:
    return np.asarray(np.frompyfunc(_real(function), 1, 1)(x), dtype=object)


def _total(x: Any, axes: tuple[int, ...], keep: bool = False) -> Any:
    return np.asarray(np.sum(x, axis=axes, keepdims=keep), dtype=object)


def _softmax(node: Node, args: list[Any]) -> Any:
    powers = _each(mp.exp, args[0])
    return powers / _total(powers, node.payload.axes, keep=True)


def _unit(node: Node, args: list[Any]) -> Any:
    length = _each(mp.sqrt, _total(args[0] * args[0], node.payload.axes, keep=True))
    return np.frompyfunc(lambda x, r: x / r if r else mp.mpf(0), 2, 1)(args[0], length)


def _by_matrix(function: Callable[..., Any]) -> Callable[[Node, list[Any]], Any]:
    def call(node: Node, args: list[Any]) -> Any:
        if args[0].ndim != 2:
            raise UnsupportedError(f"a stack of matrices in {node.op} in many digits")
        try:
            return function(*[mp.matrix(arg.tolist()) for arg in args])
        except ZeroDivisionError:
            return np.full([len(args[-1])] * (node.ndim > 0) + [args[-1].shape[-1]] * (node.ndim > 1), mp.nan, object)

    return call


def _array(m: Any) -> Any:
    return np.array(m.tolist(), dtype=object).reshape(m.rows, m.cols)


#: Operations that move numbers, or make them, as the interpreter does.
_AS_THEY_ARE = frozenset(("constant", "size", "delta", "onehot", "slice", "reshape", "concatenate"))

_REDUCED: dict[str, Callable[[Node, list[Any]], Any]] = {
    "max": lambda node, args: np.max(args[0], axis=node.payload.axes),
    "min": lambda node, args: np.min(args[0], axis=node.payload.axes),
    "prod": lambda node, args: np.prod(args[0], axis=node.payload.axes),
    "norm": lambda node, args: _each(mp.sqrt, _total(args[0] * args[0], node.payload.axes)),
    "logsumexp": lambda node, args: _each(mp.log, _total(_each(mp.exp, args[0]), node.payload.axes)),
    "softmax": _softmax,
    "log_softmax": lambda node, args: _each(mp.log, _softmax(node, args)),
    "unit": _unit,
    "det": _by_matrix(mp.det),
    "logdet": _by_matrix(lambda a: mp.log(mp.det(a))),
    "logabsdet": _by_matrix(lambda a: mp.log(abs(mp.det(a)))),
    "inv": _by_matrix(lambda a: _array(a**-1)),
    "solve": _by_matrix(lambda a, b: _array(mp.lu_solve(a, b) if b.cols == 1 else a**-1 * b)),
}


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
        if mp.isfinite(here) and not smooth:
            return here
        if not all(map(mp.isfinite, beside)):
            return mp.nan
        near = [x for x in (here, *beside) if mp.isfinite(x)]
        middle = (beside[-2] + beside[-1]) / 2
        close = all(abs(x - middle) <= mp.mpf(10) ** -8 * (1 + abs(middle)) for x in near)
        return (here if mp.isfinite(here) else middle) if close else mp.nan

    with mp.workdps(DIGITS):
        steps = (mp.mpf(0), -1000 * BESIDE, 1000 * BESIDE, -BESIDE, BESIDE)
        found = [np.asarray(f(t), dtype=object) for t in steps]
        return np.asarray(np.frompyfunc(choose, len(steps), 1)(*found), dtype=object)


def slope(f: Callable[[Any], Any]) -> Any:
    """Return the derivative of f at 0 by central differences in many digits; nan where f is not smooth."""
    with mp.workdps(DIGITS):
        return limit(lambda t: (np.asarray(f(t + STEP)) - np.asarray(f(t - STEP))) / (2 * STEP), smooth=True)
