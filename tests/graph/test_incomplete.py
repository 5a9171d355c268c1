"""Incomplete gamma and beta functions by their parameters, and distributions far in their tails, against mpmath.

Arguments are drawn from where a series, an integral and the other tail each do the work, and from far out, where the
functions themselves underflow and their logarithms do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import symdiff as sd
from symdiff.graph.reference.many_digits import SCALARS
from symdiff.graph.scalars.functions import FUNCTIONS
from symdiff.libraries.stats.table import DISTRIBUTIONS

BACKENDS = ("native", "interpreter", "numpy")
OF_GAMMA = [name for name in FUNCTIONS if name.startswith(("gammainc_by", "log_gammainc"))]
OF_BETA = [name for name in FUNCTIONS if name.startswith(("betainc_by", "log_betainc"))]


def places(rng: np.random.Generator, count: int) -> list[tuple[float, float]]:
    found = []
    for k in range(count):
        a = 10 ** rng.uniform(-2.5, 2.3)
        x = (a * 10 ** rng.uniform(-1.5, 0.5), a + math.sqrt(a) * rng.uniform(-5, 5), 10 ** rng.uniform(-3, 2))[k % 3]
        found.append((float(a), float(min(max(x, 1e-3), 300.0))))
    return found


def inner_places(rng: np.random.Generator, count: int) -> list[tuple[float, float, float]]:
    found = []
    for k in range(count):
        a, b = 10 ** rng.uniform(-2, 2.7, 2)
        mean = a / (a + b)
        spread = math.sqrt(mean * (1 - mean) / (a + b + 1))
        x = (rng.uniform(), mean * 10 ** rng.uniform(-1, 0), mean + spread * rng.uniform(-4, 4))[k % 3]
        found.append((float(a), float(b), float(min(max(x, 1e-6), 1 - 1e-6))))
    return found


def exact(name: str, at: tuple[float, ...]) -> Any:
    """Return a value with so many digits that no difference from 1 takes them away."""
    *_, x = at
    lost = at[0] + x if len(at) == 2 else -(at[0] * math.log(x) + at[1] * math.log1p(-x))
    with mp.workdps(40 + int(lost)):
        a, *rest = map(mp.mpf, at)
        if len(at) == 3 and x > 0.5 and "_by_" not in name:  # by the other tail
            b, x = rest
            return mp.log1p(-SCALARS["betainc"](b, a, 1 - x))
        return SCALARS[name](a, *rest)


@pytest.mark.parametrize("name", [*OF_GAMMA, *OF_BETA])
def test_values_everywhere(name: str) -> None:
    """Relative error 1e-13 but for the rounding of exponents far out, and of what is nearly 1 for tiny parameters."""
    letters = "ax" if name in OF_GAMMA else "abx"
    rng = np.random.default_rng(sum(map(ord, name)))
    drawn: list[Any] = [*(places(rng, 6) if letters == "ax" else inner_places(rng, 6))]
    kernels = [sd.compile(f"{name}({', '.join(letters)})", backend=backend) for backend in BACKENDS]
    _, _, by = name.partition("_by_")
    for at in drawn:
        want = exact(name, at)
        if not 1e-280 < abs(want) < 1e280:
            continue
        far = sum(abs(c * math.log(t)) for c, t in zip(at[:-1], (at[-1], 1 - at[-1]), strict=False) if t > 0)
        far += (at[0] + at[-1] if letters == "ax" else sum(at[:-1])) * 0.1
        near_one = 1 / min(1.0, *at[:-1])
        # second and third derivatives have zeros, beside which their errors are those of the first one's square
        curved = abs(float(exact(name[: name.index("_by_") + 5], at))) ** len(by) if len(by) > 1 else 0.0
        allowed = (1e-13 + 4e-16 * far) * abs(want) + 1e-15 * near_one * abs(want) + 1e-13 * curved
        values = [float(kernel(**dict(zip(letters, at, strict=True)))) for kernel in kernels]
        assert len(set(values)) == 1, (name, at)
        assert abs(values[0] - want) <= allowed, (name, at, values[0], float(want))


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "log_gammainc", "log_gammaincc"])
def test_at_the_ends_of_the_domain(name: str) -> None:
    a, x = sd.scalar("a"), sd.scalar("x")
    f = sd.function(name)(a, x)
    kernel = sd.compile([f, sd.gradient(f, a), sd.gradient(f, x)], [a, x], backend="interpreter")
    below, log = "cc" not in name, "log" in name
    value, by_a, _ = kernel(2.5, math.inf)
    assert value == ((0.0 if below else -math.inf) if log else float(below))
    assert by_a == 0 or (log and not below)
    value, by_a, by_x = kernel(2.5, 0.0)
    assert value == ((-math.inf if below else 0.0) if log else float(not below))
    if not log or not below:
        assert [by_a, by_x] == [0, 0]
    assert np.isnan(kernel(-1.0, 0.5)[:2]).all()
    assert np.isnan(kernel(math.nan, 0.5)).all()


def test_inverses_have_slopes_by_every_argument() -> None:
    """By the rule of implicit functions: along with a parameter the function stays what it is."""
    a, b, y = sd.scalar("a"), sd.scalar("b"), sd.scalar("y")
    pairs: list[tuple[Any, Any, list[Any]]] = [
        (sd.special.gammaincinv(a, y), lambda v: sd.gammainc(a, v), [a]),
        (sd.special.gammainccinv(a, y), lambda v: sd.gammaincc(a, v), [a]),
        (sd.special.betaincinv(a, b, y), lambda v: sd.betainc(a, b, v), [a, b]),
        (sd.special.stdtrit(a, y), lambda v: sd.special.stdtr(a, v), [a]),
    ]
    rng = np.random.default_rng(4)
    for inverse, forward, parameters in pairs:
        symbols = [*parameters, y]
        again = forward(inverse)
        slopes = [sd.gradient(again, by, disconnected="zero") for by in symbols]
        curves = [sd.gradient(slopes[-1], by, disconnected="zero") for by in symbols]
        kernel = sd.compile([again, *slopes, *curves], symbols)
        for _ in range(20):
            point = [*rng.uniform(0.4, 9, len(parameters)), 10 ** rng.uniform(-12, -0.05)]
            value, *rest = kernel(*point)
            np.testing.assert_allclose(value, point[-1], rtol=1e-10)
            wanted = [*[0] * len(parameters), 1, *[0] * len(symbols)]
            scales = [point[-1]] * len(parameters) + [1.0] + [1 / min(point)] * len(symbols)
            for got, want, scale in zip(rest, wanted, scales, strict=True):
                assert abs(got - want) <= 1e-9 * scale, (point, rest)


def below(name: str) -> Callable[..., Any]:
    """Return the probability up to z, and that above it, as sums and integrals with all digits of the smaller one."""

    def gamma(a: Any, x: Any, upper: bool) -> Any:
        return mp.gammainc(a, x, mp.inf, regularized=True) if upper else mp.gammainc(a, 0, x, regularized=True)

    def beta(a: Any, b: Any, x: Any, y: Any) -> Any:
        return mp.power(x, a) * mp.power(y, b) / (a * mp.beta(a, b)) * mp.hyp2f1(a + b, 1, a + 1, x)

    half = mp.mpf(1) / 2
    return {
        "gamma": lambda u, z, a: gamma(a, z, u),
        "chi2": lambda u, z, k: gamma(k / 2, z / 2, u),
        "invgamma": lambda u, z, a: gamma(a, 1 / z, not u),
        "beta": lambda u, z, a, b: beta(b, a, 1 - z, z) if u else beta(a, b, z, 1 - z),
        "f": lambda u, z, n, m: (
            beta(m / 2, n / 2, m / (m + n * z), n * z / (m + n * z))
            if u
            else beta(n / 2, m / 2, n * z / (m + n * z), m / (m + n * z))
        ),
        "t": lambda u, z, v: (
            beta(v / 2, half, v / (v + z * z), z * z / (v + z * z)) / 2
            if (z > 0) == u
            else 1 - beta(v / 2, half, v / (v + z * z), z * z / (v + z * z)) / 2
        ),
        "gennorm": lambda u, z, b: (
            gamma(1 / b, abs(z) ** b, True) / 2 if (z > 0) == u else 1 - gamma(1 / b, abs(z) ** b, True) / 2
        ),
        "halfnorm": lambda u, z: mp.erfc(z / mp.sqrt(2)) if u else mp.erf(z / mp.sqrt(2)),
        "binom": lambda u, k, n, p: beta(k + 1, n - k, p, 1 - p) if u else beta(n - k, k + 1, 1 - p, p),
        "poisson": lambda u, k, mu: gamma(k + 1, mu, not u),
        "nbinom": lambda u, k, n, p: beta(k + 1, n, 1 - p, p) if u else beta(n, k + 1, p, 1 - p),
        "geom": lambda u, k, p: (1 - p) ** k if u else 1 - (1 - p) ** k,
    }[name]


#: Places and shapes: in the middle, in either tail, and where the probability is below the smallest double.
FAR: list[tuple[str, tuple[float, ...]]] = [
    *(("gamma", (z, a)) for z, a in ((2.0, 3.0), (1e-60, 2.5), (900.0, 3.0), (1500.0, 40.0), (0.5, 300.0))),
    *(("chi2", (z, k)) for z, k in ((2.0, 3.0), (1e-60, 5.0), (2000.0, 4.0))),
    *(("invgamma", (z, a)) for z, a in ((2.0, 3.0), (1e-3, 2.5), (1e60, 3.0))),
    *(("beta", (z, a, b)) for z, a, b in ((0.3, 2.0, 3.0), (1e-60, 3.5, 2.0), (0.999, 2.0, 60.0), (0.01, 300.0, 2.0))),
    *(("f", (z, n, m)) for z, n, m in ((1.5, 2.0, 3.0), (1e-60, 5.0, 2.0), (1e60, 3.0, 5.0))),
    *(("t", (z, v)) for z, v in ((0.7, 3.0), (-3.0, 2.5), (-1e70, 3.5), (-200.0, 400.0), (40.0, 2000.0), (1e-9, 3.0))),
    *(("gennorm", (z, b)) for z, b in ((0.7, 1.5), (-80.0, 2.0), (30.0, 3.0))),
    *(("halfnorm", (z,)) for z in (1e-60, 0.8, 60.0)),
    *(("binom", (k, n, p)) for k, n, p in ((0.0, 9.0, 0.3), (8.0, 9.0, 0.3), (3.0, 900.0, 0.7), (700.0, 900.0, 1e-3))),
    *(("poisson", (k, m)) for k, m in ((0.0, 2.5), (0.0, 900.0), (400.0, 3.0), (7.0, 6.5))),
    *(("nbinom", (k, n, p)) for k, n, p in ((0.0, 3.5, 0.3), (4000.0, 3.5, 0.3), (1.0, 300.0, 0.01))),
    *(("geom", (k, p)) for k, p in ((1.0, 0.3), (4000.0, 0.3), (2.0, 1e-12))),
]


@pytest.mark.parametrize(("name", "point"), FAR, ids=str)
@pytest.mark.parametrize("function", ["logcdf", "logsf", "cdf", "sf"])
def test_distribution_functions_and_their_gradients_far_out(function: str, name: str, point: tuple[float, ...]) -> None:
    row = DISTRIBUTIONS[name]
    symbols = [sd.scalar(f"v{k}") for k in range(len(point))]
    value = getattr(getattr(sd.stats, name), function)(*symbols)
    by = [k for k in range(len(point)) if k or row.module == "continuous"]
    slopes = [sd.gradient(value, symbols[k], disconnected="zero") for k in by]
    kernel = sd.compile([value, *slopes], symbols, backend="interpreter")
    got = kernel(*point)
    tail = below(name)

    def exact(*at: Any) -> Any:
        upper = function.endswith("sf")
        here, other = tail(upper, *at), tail(not upper, *at)
        if "log" not in function:
            return here if here < 0.5 else 1 - other
        return mp.log(here) if here < 0.5 else mp.log1p(-other)

    with mp.workdps(340):
        at = [mp.mpf(x) for x in point]
        wanted = [exact(*at)]
        for k in by:
            h = abs(at[k]) * mp.mpf(10) ** -20
            wanted.append((exact(*at[:k], at[k] + h, *at[k + 1 :]) - exact(*at[:k], at[k] - h, *at[k + 1 :])) / (2 * h))
    for own, want in zip(got, wanted, strict=True):
        if abs(want) < 1e-290:
            assert abs(own) < 1e-280, (own, float(want))
        else:
            assert abs(own - want) <= 4e-12 * abs(want), (own, float(want))


@pytest.mark.parametrize("name", ["bernoulli", "binom", "poisson", "geom", "nbinom"])
def test_counts_at_the_ends_of_their_support_and_between_whole_numbers(name: str) -> None:
    import scipy.stats

    shapes: tuple[float, ...] = {"binom": (7.0, 0.3), "poisson": (2.5,), "nbinom": (2.5, 0.4)}.get(name, (0.3,))
    k, *parameters = (sd.scalar(f"v{i}") for i in range(1 + len(shapes)))
    for function in ("cdf", "sf", "logcdf", "logsf"):
        value = getattr(getattr(sd.stats, name), function)(k, *parameters)
        slopes = [sd.gradient(value, p, disconnected="zero") for p in parameters]
        kernel = sd.compile([value, *slopes], [k, *parameters])
        for place in (-math.inf, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 6.0, 6.9, 7.0, 8.0, math.inf):
            got, *rest = kernel(place, *shapes)
            with np.errstate(all="ignore"):
                want = getattr(getattr(scipy.stats, name), function)(place, *shapes)
            np.testing.assert_allclose(got, want, rtol=1e-12, err_msg=f"{function} at {place}")
            if got in (0.0, 1.0, -math.inf):  # beyond the support the probability does not move
                assert not np.any(rest), (function, place)
        assert np.isnan(kernel(math.nan, *shapes)[0])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("gammainc(a, x)", "gammainc_by_a(a, x)"),
        ("gammaincc(a, x)", "-gammainc_by_a(a, x)"),
        ("betainc(a, b, x)", "betainc_by_a(a, b, x)"),
        ("log_gammaincc(a, x)", "log_gammaincc_by_a(a, x)"),
    ],
)
def test_derivatives_by_parameters_are_shown_by_name_and_read_back(text: str, shown: str) -> None:
    slope = sd.gradient(text, "a")
    assert str(slope) == shown
    again = sd.gradient(shown, "x")
    twice = sd.gradient(sd.gradient(text, "a"), "x")
    at = {name: value for name, value in (("a", 2.5), ("b", 1.5), ("x", 0.4)) if f"{name}," in text or name == "x"}
    assert sd.compile(again)(**at) == sd.compile(twice)(**at)


def test_more_than_three_derivatives_by_parameters_are_refused_by_name() -> None:
    a = sd.scalar("a")
    f = sd.gammainc(a, sd.scalar("x"))
    for _ in range(3):
        f = sd.gradient(f, a)
    with pytest.raises(sd.NotDifferentiableError, match=r"gammainc_by_aaa .* argument 1 is not offered"):
        sd.gradient(f, a)


@pytest.mark.parametrize("t", [-1e-10, 1e-10, -1e-5, 0.3, -7.0, 20.0])
@pytest.mark.parametrize("df", [1e15, 1e16, 1e30, 1e300])
def test_students_distribution_of_many_degrees_of_freedom(df: float, t: float) -> None:
    """It is the normal distribution there, but for a term of the order of t**4 / df."""
    with mp.workdps(150):
        x = mp.mpf(t)
        density = mp.npdf(x)
        whole = mp.ncdf(x) - density * (x**3 + x) / (4 * mp.mpf(df))
        by_df = density * (x**3 + x) / (4 * mp.mpf(df) ** 2)
    kernel = sd.compile("[stdtr(a, x), derivative(stdtr(a, x), x), log(stdtr(a, x))]", a=(), x=())
    wanted = [float(v) for v in (whole, density, mp.log(whole))]
    np.testing.assert_allclose(kernel(df, t), wanted, rtol=1e-11 + t**4 / df)
    if abs(t) < 0.01 and 1e15 < df < 1e100:
        slope = sd.compile("derivative(stdtr(a, x), a)", a=(), x=())(df, t)
        np.testing.assert_allclose(slope, float(by_df), rtol=1e-12)


def _near_one(name: str, a: Any, *rest: Any) -> Any:
    """Return the logarithm of a tail by the smaller of both."""
    if name == "log_betainc":
        b, x = rest
        lower = mp.betainc(a, b, 0, x, regularized=True)
        return mp.log(lower) if lower < 0.5 else mp.log1p(-mp.betainc(b, a, 0, 1 - x, regularized=True))
    (x,) = rest
    tails = [mp.gammainc(a, 0, x, regularized=True), mp.gammainc(a, x, mp.inf, regularized=True)]
    here, other = tails if name == "log_gammainc" else tails[::-1]
    return mp.log(here) if here < 0.5 else mp.log1p(-other)


@pytest.mark.rows(1)
@pytest.mark.parametrize("name", ["log_gammainc", "log_gammaincc", "log_betainc"])
@pytest.mark.parametrize("order", ["", "a", "aa", "b", "ab"])
def test_small_parameters_take_no_digits(name: str, order: str) -> None:
    two = name == "log_betainc"
    if "b" in order and not two:
        pytest.skip("a function of one parameter")
    inputs = [sd.scalar(each) for each in ("abx" if two else "ax")]
    function = sd.function(name + ("_by_" + order if order else ""))
    rng = np.random.default_rng(17)
    at = 10.0 ** rng.uniform(-25, 0, (25, len(inputs) - 1))
    near, far = rng.uniform(0.01, 1.0, 25), 10.0 ** rng.uniform(-12, 0.5 if not two else 0, 25)
    points = np.column_stack([at, np.where(rng.random(25) < 0.5, near, far)])
    got = sd.compile(function(*inputs), inputs, backend="interpreter")(*points.T)
    for point, value in zip(points, got, strict=True):
        with mp.workdps(150):
            place = tuple(map(mp.mpf, point))
            steps = tuple(order.count(each) for each in ("abx" if two else "ax"))
            want = _near_one(name, *place)
            if order:
                want = mp.diff(
                    lambda *q: _near_one(name, *q), place, steps, h=min(place[:-1]) * mp.mpf(10) ** -20, direction=1
                )
        assert abs(value - want) <= 1e-13 * abs(want), (point, value, want)


def _log_betainc(a: float, b: float, x: float) -> mp.mpf:
    """Return the logarithm of the incomplete beta function below its mean, by the integral over the log odds."""
    low, high, place = mp.mpf(a), mp.mpf(b), mp.log(mp.mpf(x) / (1 - mp.mpf(x)))

    def density(y: mp.mpf) -> mp.mpf:
        return low * y - (low + high) * mp.log1p(mp.exp(y))

    top, reach = density(place), 60 / (low - (low + high) * mp.mpf(x))
    tail = mp.quad(lambda u: mp.exp(density(place - u) - top), [reach * k / 8 for k in (0, 1, 2, 4, 8)])
    return top + mp.log(tail) + mp.loggamma(low + high) - mp.loggamma(low) - mp.loggamma(high)


def test_inverse_of_betainc_of_large_parameters() -> None:
    a, b, y = sd.scalar("a"), sd.scalar("b"), sd.scalar("y")
    kernel = sd.compile(sd.special.betaincinv(a, b, y), [a, b, y], backend="interpreter")
    rng = np.random.default_rng(6)
    for _ in range(12):
        first, second = 10 ** rng.uniform(9.01, 14, 2)
        wanted = 10 ** rng.uniform(-300, -1)
        with mp.workdps(50):
            x = float(kernel(first, second, wanted))
            found = _log_betainc(first, second, x)
            # the slope of the logarithm by that of x, which is rounded
            slope = (first - (first + second) * x + 10 * mp.sqrt(first * second / (first + second))) / (1 - x)
            assert abs(found - mp.log(wanted)) <= 1e-15 * slope, (first, second, wanted)
    edges = kernel([1e30, 1e100, 1e300, 2e9, 2e9, 2e9], [1e100, 1e30, 1e300, 3e9, 3e9, 3e9], [0.5, 0.3, 0.2, 0, 1, -1])
    np.testing.assert_allclose(edges, [1e-70, 1.0, 0.5, 0.0, 1.0, np.nan], rtol=1e-15)
