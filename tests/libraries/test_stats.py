"""Densities and distribution functions: values against SciPy, derivatives and tails against mpmath."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.stats

import symdiff as sd
from symdiff.frontend.text.vocabulary import TEXT_FUNCTIONS, VOCABULARY
from symdiff.libraries.stats.table import DISTRIBUTIONS, Distribution, named_functions

CONTINUOUS = [row for row in DISTRIBUTIONS.values() if row.module == "continuous"]
DISCRETE = [row for row in DISTRIBUTIONS.values() if row.module == "discrete"]
#: Where a standard variable is drawn from, and places beyond the support.
PLACES = {"beta": (0.05, 0.95), "uniform": (0.05, 0.95), "pareto": (1.1, 6.0), "vonmises": (-3.0, 3.0),
          "wrapcauchy": (0.1, 6.0), "truncnorm": (-0.15, 0.25)}  # fmt: skip
OUTSIDE = {"beta": (-0.5, 1.5), "uniform": (-0.5, 1.5), "pareto": (0.5,), "halfnorm": (-1.0,), "expon": (-1.0,),
           **dict.fromkeys(("lognorm", "gamma", "chi2", "invgamma", "weibull_min", "f"), (-1.0,))}  # fmt: skip

Real = Any


def lbeta(a: Real, b: Real) -> Real:
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


#: Log densities of the standard variable and log probabilities, by mpmath.
LOGARITHMS: dict[str, Callable[..., Real]] = {
    "norm": lambda z: -z * z / 2 - mp.log(2 * mp.pi) / 2,
    "halfnorm": lambda z: -z * z / 2 + mp.log(2 / mp.pi) / 2,
    "lognorm": lambda z, s: -((mp.log(z) / s) ** 2) / 2 - mp.log(z * s) - mp.log(2 * mp.pi) / 2,
    "t": lambda z, v: (
        mp.loggamma((v + 1) / 2) - mp.loggamma(v / 2) - mp.log(v * mp.pi) / 2 - (v + 1) / 2 * mp.log1p(z * z / v)
    ),
    "cauchy": lambda z: -mp.log(mp.pi * (1 + z * z)),
    "gamma": lambda z, a: (a - 1) * mp.log(z) - z - mp.loggamma(a),
    "chi2": lambda z, v: (v / 2 - 1) * mp.log(z) - z / 2 - v / 2 * mp.log(2) - mp.loggamma(v / 2),
    "invgamma": lambda z, a: -(a + 1) * mp.log(z) - 1 / z - mp.loggamma(a),
    "beta": lambda z, a, b: (a - 1) * mp.log(z) + (b - 1) * mp.log1p(-z) - lbeta(a, b),
    "f": lambda z, n, m: (
        n / 2 * mp.log(n / m) + (n / 2 - 1) * mp.log(z) - (n + m) / 2 * mp.log1p(n * z / m) - lbeta(n / 2, m / 2)
    ),
    "weibull_min": lambda z, c: mp.log(c) + (c - 1) * mp.log(z) - z**c,
    "expon": lambda z: -z,
    "laplace": lambda z: -abs(z) - mp.log(2),
    "logistic": lambda z: -z - 2 * mp.log1p(mp.exp(-z)),
    "uniform": lambda z: 0 * z,
    "gumbel_r": lambda z: -z - mp.exp(-z),
    "gumbel_l": lambda z: z - mp.exp(z),
    "pareto": lambda z, b: mp.log(b) - (b + 1) * mp.log(z),
    "vonmises": lambda z, k: k * mp.cos(z) - mp.log(2 * mp.pi * mp.besseli(0, k)),
    "wrapcauchy": lambda z, c: mp.log((1 - c * c) / (2 * mp.pi * (1 + c * c - 2 * c * mp.cos(z)))),
    "gennorm": lambda z, b: mp.log(b / 2) - mp.loggamma(1 / b) - abs(z) ** b,
    "truncnorm": lambda z, a, b: -z * z / 2 - mp.log(2 * mp.pi) / 2 - mp.log(mp.ncdf(b) - mp.ncdf(a)),
    "betabinom": lambda k, n, a, b: (
        -lbeta(n - k + 1, k + 1) - mp.log(n + 1) + lbeta(k + a, n - k + b) - lbeta(a, b)
    ),
    "bernoulli": lambda k, p: mp.log(p if k else 1 - p),
    "binom": lambda k, n, p: -lbeta(n - k + 1, k + 1) - mp.log(n + 1) + k * mp.log(p) + (n - k) * mp.log1p(-p),
    "poisson": lambda k, mu: k * mp.log(mu) - mu - mp.loggamma(k + 1),
    "geom": lambda k, p: mp.log(p) + (k - 1) * mp.log1p(-p),
    "nbinom": lambda k, n, p: (
        mp.loggamma(n + k) - mp.loggamma(k + 1) - mp.loggamma(n) + n * mp.log(p) + k * mp.log1p(-p)
    ),
}


def seeded(name: str) -> np.random.Generator:
    return np.random.default_rng(sum(map(ord, name)))


def drawn(row: Distribution, rng: np.random.Generator) -> list[float]:
    """Return a place and parameters, as plain numbers."""
    shapes = [float(rng.uniform(*bounds)) for bounds in row.draws]
    if row.name in ("binom", "betabinom"):
        shapes[0] = float(round(shapes[0]))
    if row.module == "discrete":
        top = {"bernoulli": 1, "binom": int(shapes[0]), "betabinom": int(shapes[0])}.get(row.name, 9)
        start = int(row.name == "geom")
        loc = float(rng.integers(-3, 4))
        return [float(rng.integers(start, top + 1)) + loc, *shapes, loc]
    loc, scale = float(rng.normal()), float(rng.uniform(0.3, 3.0))
    low, high = PLACES.get(row.name, (0.1, 4.0) if row.name in OUTSIDE else (-3.0, 3.0))
    return [float(rng.uniform(low, high)) * scale + loc, *shapes, loc, scale]


def symbols(row: Distribution) -> list[sd.Array]:
    names = row.place, *row.shapes, *(name for name, _ in row.defaults)
    return [sd.scalar(name if name != "beta" else "shape") for name in names]  # beta is a function of text


def of(name: str) -> Any:
    return getattr(sd.stats, name)


def test_the_table_is_tested_whole() -> None:
    assert LOGARITHMS.keys() | {row.name for row in DISTRIBUTIONS.values() if row.module == "multivariate"} == (
        DISTRIBUTIONS.keys()
    )


@pytest.mark.parametrize("row", [*CONTINUOUS, *DISCRETE], ids=lambda row: row.name)
def test_values_are_those_of_scipy(row: Distribution) -> None:
    rng, args = seeded(row.name), symbols(row)
    points = [drawn(row, rng) for _ in range(4)]
    outputs = [getattr(of(row.name), function)(*args) for function in row.functions]
    kernel = sd.compile(outputs, args, backend="interpreter")
    for point in points:
        for function, got in zip(row.functions, kernel(*point), strict=True):
            want = getattr(getattr(scipy.stats, row.name), function)(*point)
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-14, err_msg=f"{row.name}.{function}{point}")
            by_numbers = getattr(of(row.name), function)(*point)
            assert isinstance(by_numbers, float)
            np.testing.assert_allclose(by_numbers, want, rtol=1e-10, atol=1e-14)


def exact(row: Distribution, point: list[Real]) -> Real:
    if row.module == "discrete":
        *rest, loc = point
        return LOGARITHMS[row.name](rest[0] - loc, *rest[1:])
    *rest, loc, scale = point
    return LOGARITHMS[row.name]((rest[0] - loc) / scale, *rest[1:]) - mp.log(scale)


@pytest.mark.parametrize("row", [*CONTINUOUS, *DISCRETE], ids=lambda row: row.name)
def test_gradients_and_hessians_are_exact(row: Distribution) -> None:
    args = symbols(row)
    first = 0 if row.module == "continuous" else 1
    by = args[first:] if first == 0 else args[1:-1]
    f = getattr(of(row.name), row.functions[0])(*args)
    slopes = [sd.gradient(f, x, disconnected="zero") for x in by]
    pairs = list(itertools.combinations_with_replacement(range(len(by)), 2))
    curves = [sd.gradient(slopes[i], by[j], disconnected="zero") for i, j in pairs]
    kernel = sd.compile([*slopes, *curves], args, backend="interpreter")
    rng = seeded(row.name)
    with mp.workdps(50):
        for _ in range(2):
            point = drawn(row, rng)
            at = [mp.mpf(x) for x in point]
            got = kernel(*point)

            def moved(steps: dict[int, Real], at: list[Real] = at) -> Real:
                return exact(row, [x + steps.get(i, 0) for i, x in enumerate(at)])

            h = mp.mpf(10) ** -14
            wanted = [(moved({i + first: h}) - moved({i + first: -h})) / (2 * h) for i in range(len(by))]
            for i, j in pairs:
                total = mp.mpf(0)
                for a, b in itertools.product((1, -1), repeat=2):
                    steps = {i + first: a * h}
                    steps[j + first] = steps.get(j + first, 0) + b * h
                    total += a * b * moved(steps)
                wanted.append(total / (4 * h * h))
            for value, want in zip(got, wanted, strict=True):
                assert abs(float(value) - float(want)) <= 1e-10 * (1 + abs(float(want))), (row.name, point)


@pytest.mark.parametrize("row", [row for row in CONTINUOUS if row.name in OUTSIDE], ids=lambda row: row.name)
def test_outside_of_the_support_densities_are_0_and_flat(row: Distribution) -> None:
    args = symbols(row)
    shapes = [sum(bounds) / 2 for bounds in row.draws]
    for function in row.functions:
        f = getattr(of(row.name), function)(*args)
        slopes = [sd.gradient(f, x, disconnected="zero") for x in args]
        curves = [sd.gradient(s, args[0], disconnected="zero") for s in slopes]
        kernel = sd.compile([f, *slopes, *curves], args, backend="interpreter")
        for place in OUTSIDE[row.name]:
            value, *rest = kernel(place, *shapes, 0.0, 1.0)
            assert value == getattr(getattr(scipy.stats, row.name), function)(place, *shapes)
            assert not any(rest), function


@pytest.mark.parametrize("row", [row for row in CONTINUOUS if row.name in OUTSIDE], ids=lambda row: row.name)
def test_values_at_the_ends_of_the_support(row: Distribution) -> None:
    ends = {"beta": (0.0, 1.0), "uniform": (0.0, 1.0), "pareto": (1.0,)}.get(row.name, (0.0,))
    for shapes in itertools.product((0.5, 1.0, 2.0, 3.0), repeat=len(row.shapes)):
        for end in ends:
            for function in row.functions:
                with np.errstate(all="ignore"):
                    want = getattr(getattr(scipy.stats, row.name), function)(end, *shapes)
                got = getattr(of(row.name), function)(end, *shapes)
                told = f"{row.name}.{function}({end}, {shapes})"
                np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14, err_msg=told)


#: Functions far in a tail, and the logarithm of what they are there.
TAILS: list[tuple[str, str, tuple[float, ...], Callable[[Real], Real], tuple[float, ...]]] = [
    ("norm", "logcdf", (), lambda z: mp.log(mp.erfc(-z / mp.sqrt(2)) / 2), (-40.0, -12.0, 3.0, 9.0)),
    ("norm", "logsf", (), lambda z: mp.log(mp.erfc(z / mp.sqrt(2)) / 2), (40.0, 12.0, -3.0)),
    ("lognorm", "logsf", (0.7,), lambda z: mp.log(mp.erfc(mp.log(z) / mp.mpf(0.7) / mp.sqrt(2)) / 2), (1e5, 1e12)),
    ("t", "logpdf", (1e8,), lambda z: LOGARITHMS["t"](z, mp.mpf(10) ** 8), (0.5, 30.0)),
    ("vonmises", "logpdf", (1e4,), lambda z: LOGARITHMS["vonmises"](z, mp.mpf(10) ** 4), (0.01, 3.0)),
    ("logistic", "logsf", (), lambda z: -mp.log1p(mp.exp(z)), (-800.0, 30.0, 800.0)),
    ("logistic", "logpdf", (), lambda z: -z - 2 * mp.log1p(mp.exp(-z)), (-800.0, -1e-9, 800.0)),
    ("laplace", "logcdf", (), lambda z: mp.log(mp.exp(z) / 2) if z < 0 else mp.log(1 - mp.exp(-z) / 2), (-800.0, 50.0)),
    ("expon", "logcdf", (), lambda z: mp.log(-mp.expm1(-z)), (1e-20, 0.5, 40.0)),
    ("weibull_min", "logcdf", (2.0,), lambda z: mp.log(-mp.expm1(-(z**2))), (1e-20, 0.5, 6.0)),
    ("gumbel_r", "logsf", (), lambda z: mp.log(-mp.expm1(-mp.exp(-z))), (-800.0, -5.0, 2.0, 700.0, 800.0)),
    ("gumbel_l", "logcdf", (), lambda z: mp.log(-mp.expm1(-mp.exp(z))), (-800.0, -700.0, 1.0, 3.0, 800.0)),
    ("cauchy", "logcdf", (), lambda z: mp.log(mp.atan2(1, -z) / mp.pi), (-1e30, -3.0, 1e8)),
    ("cauchy", "sf", (), lambda z: mp.atan2(1, z) / mp.pi, (1e30, 3.0, -1e8)),
    ("pareto", "logcdf", (1.5,), lambda z: mp.log1p(-(z ** mp.mpf(-1.5))), (1 + 1e-9, 1e9)),
]


@pytest.mark.parametrize(("name", "function", "shapes", "reference", "places"), TAILS, ids=lambda v: str(v)[:12])
def test_tails_keep_their_digits(
    name: str, function: str, shapes: tuple[float, ...], reference: Callable[[Real], Real], places: tuple[float, ...]
) -> None:
    z = sd.scalar("z")
    f = getattr(of(name), function)(z, *shapes)
    first = sd.gradient(f, z)
    kernel = sd.compile([f, first, sd.gradient(first, z)], [z], backend="interpreter")
    for at in places:
        with mp.workdps(900):
            x = mp.mpf(at)
            h = abs(x) * mp.mpf(10) ** -200
            a, b, c = reference(x - h), reference(x), reference(x + h)
            for got, want in zip(kernel(at), (b, (c - a) / (2 * h), (c - 2 * b + a) / h**2), strict=True):
                assert abs(float(got) - float(want)) <= 1e-11 * abs(float(want)) + 1e-290, f"{at}: {got} {float(want)}"


def test_truncated_normal_distributions_far_out_and_at_their_ends() -> None:
    """Intervals in either tail, across 0, tiny and without an end, to second order in each argument."""
    args = [sd.scalar(name) for name in "xab"]
    outputs = []
    for function in ("logpdf", "logcdf", "logsf"):
        f = getattr(sd.stats.truncnorm, function)(*args)
        outputs += [f, *(sd.gradient(f, one) for one in args), sd.gradient(sd.gradient(f, args[0]), args[0])]
    kernel = sd.compile(outputs, args, backend="interpreter")

    def between(a: Real, b: Real) -> Real:
        return mp.log(mp.ncdf(b) - mp.ncdf(a))

    def density(x: Real, a: Real, b: Real) -> Real:
        return -x * x / 2 - mp.log(2 * mp.pi) / 2 - between(a, b)

    references = (
        density,
        lambda x, a, b: between(a, x) - between(a, b),
        lambda x, a, b: between(x, b) - between(a, b),
    )
    for place in ((8.5, 8.0, 9.0), (-30.2, -31.0, -30.0), (0.1, -2.0, 1.0), (1e-3, -2e-3, 3e-3), (20.5, 20.0, 60.0)):
        with mp.workdps(1200):
            at = tuple(map(mp.mpf, place))
            wanted = []
            for reference in references:
                orders = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 0, 0))
                wanted += [mp.diff(reference, at, order) if any(order) else reference(*at) for order in orders]
        for k, (got, want) in enumerate(zip(kernel(*place), wanted, strict=True)):
            assert abs(float(got) - float(want)) <= 2e-10 * (1 + abs(float(want))), (place, k, got, float(want))
    for function in ("logpdf", "pdf", "logcdf", "cdf", "logsf", "sf"):
        with np.errstate(all="ignore"):
            want = getattr(scipy.stats.truncnorm, function)([-3.0, -1.0, 2.0, 3.0], -1.0, 2.0)
        got = getattr(sd.stats.truncnorm, function)([-3.0, -1.0, 2.0, 3.0], -1.0, 2.0)
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(
        sd.stats.wrapcauchy.pdf([-0.1, 0.0, 1.0, 7.0], 0.3), scipy.stats.wrapcauchy.pdf([-0.1, 0.0, 1.0, 7.0], 0.3)
    )


@pytest.mark.parametrize("form", ["gumbel_r_logsf(-x, 0, 1)", "gumbel_l_logcdf(x, 0, 1)", "log1mexp(exp(x))"])
@pytest.mark.parametrize("backend", ["numpy", "interpreter"])
def test_tails_of_gumbel_at_random_places(form: str, backend: str) -> None:
    kernel = sd.compile([form, f"derivative({form}, x)", f"derivative({form}, x, 2)"], backend=backend)
    rng = np.random.default_rng(41)
    for at in [*rng.uniform(-1000, 1000, 12), *rng.uniform(-40, 7, 20), -1e4, 0.0]:
        with mp.workdps(900 if abs(at) > 100 else 400):
            x = mp.mpf(float(at))
            u = mp.exp(x)
            rest = -mp.expm1(-u) if u < 2000 else mp.mpf(1)
            slope = u * mp.exp(-u) / rest if u < 2000 else mp.mpf(0)
            wanted = [mp.log(rest), slope, slope * (1 - u - slope) if u < 2000 else mp.mpf(0)]
        for got, want in zip(kernel(float(at)), wanted, strict=True):
            assert abs(float(got) - float(want)) <= 1e-11 * abs(float(want)) + 1e-290, f"{at}: {got} {float(want)}"


@pytest.mark.parametrize("row", DISCRETE, ids=lambda row: row.name)
def test_between_and_beyond_whole_numbers_there_is_nothing(row: Distribution) -> None:
    args = symbols(row)
    f = getattr(of(row.name), row.functions[0])(*args)
    kernel = sd.compile([f, *(sd.gradient(f, x, disconnected="zero") for x in args[1:-1])], args, backend="interpreter")
    middle = {name: round(sum(bounds) / 2, 1) for name, bounds in zip(row.shapes, row.draws, strict=True)}
    shapes = list((middle | ({"n": 6.0} if "n" in middle else {})).values())
    for place in (-1.0, 0.5, 1.5, *((9.0,) if row.name in ("bernoulli", "binom", "betabinom") else ())):
        value, *slopes = kernel(place, *shapes, 0.0)
        assert value == -math.inf == getattr(scipy.stats, row.name).logpmf(place, *shapes)
        assert not any(slopes)
        assert of(row.name).pmf(place, *shapes) == 0


def test_probabilities_of_0_and_1() -> None:
    for p, count in itertools.product((0.0, 1.0), (0, 1, 3)):
        np.testing.assert_array_equal(sd.stats.binom.pmf(count, 3, p), scipy.stats.binom.pmf(count, 3, p))
        if count < 2:
            np.testing.assert_array_equal(sd.stats.bernoulli.pmf(count, p), scipy.stats.bernoulli.pmf(count, p))
    k, mu = sd.scalar("k"), sd.scalar("mu")
    assert sd.compile(sd.gradient(sd.stats.poisson.logpmf(k, mu), mu), [k, mu])(0.0, 0.0) == -1.0


# ---------------------------------------------------------------------------- how they are called


def test_parameters_broadcast() -> None:
    x, m, s = sd.vector("x", 5), sd.matrix("m", 4, 1), sd.scalar("s")
    f = sd.stats.norm.logpdf(x, loc=m, scale=s)
    assert f.shape == (4, 5)
    at, mean = np.linspace(-1, 1, 5), np.arange(4.0)[:, None]
    np.testing.assert_allclose(sd.compile(f, [x, m, s])(at, mean, 2.0), scipy.stats.norm.logpdf(at, mean, 2.0))
    np.testing.assert_allclose(sd.stats.norm.logpdf(at, mean, 2.0), scipy.stats.norm.logpdf(at, mean, 2.0))


@pytest.mark.rows(1000)
@pytest.mark.parametrize("name", sorted(named_functions()))
def test_text_calls_each_function(name: str) -> None:
    row, function = named_functions()[name]
    if row.module == "multivariate":
        return
    args = symbols(row)
    names = [str(a) for a in args]
    f = sd.compile(f"{name}({', '.join(names)})", args, backend="interpreter")
    given = sd.compile(getattr(of(row.name), function)(*args), args, backend="interpreter")
    point = drawn(row, seeded(name))
    if function in row.quantiles:
        point[0] = 0.3
    assert float(f(*point)) == float(given(*point))


def test_text_takes_parameters_by_name_and_leaves_out_the_rest() -> None:
    assert str(sd.gradient("norm_logpdf(x, scale=s)", "x")) == "-x / s ** 2"
    assert sd.compile("norm_logpdf(x)")(1.0) == pytest.approx(scipy.stats.norm.logpdf(1.0))
    assert sd.compile("multivariate_normal_logpdf(x, cov=S)", x=2, S=(2, 2))(np.ones(2), np.eye(2)) == pytest.approx(
        scipy.stats.multivariate_normal.logpdf(np.ones(2), np.zeros(2))
    )
    assert not named_functions().keys() & TEXT_FUNCTIONS.keys()
    assert named_functions().keys() | TEXT_FUNCTIONS.keys() == VOCABULARY.keys()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: sd.stats.norm.rvs, "scipy.stats"),
        (lambda: sd.stats.norm.logpfd, "logpdf"),
        (lambda: sd.stats.normal, "norm"),
        (sd.stats.norm.logpdf, "missing a required argument"),
        (lambda: sd.stats.norm.logpdf(sd.scalar("x"), mean=1), "unexpected keyword"),
        (lambda: sd.stats.multivariate_normal.logpdf(sd.vector("x", 3), cov=np.eye(2)), r"shape \(3, 3\)"),
        (lambda: sd.stats.dirichlet.logpdf(sd.vector("x", 3), [1.0, 2.0]), "as many parts"),
        (lambda: sd.stats.norm.logpdf("x"), "expected"),
        (lambda: sd.gradient("norm.logpdf(x)", "x"), "norm_logpdf"),
        (lambda: sd.hessian("t_cdf(x, df)", "df"), "stdtr_by_df"),
    ],
)
def test_what_is_wrong_is_told(call: Callable[[], object], told: str) -> None:
    with pytest.raises(sd.SymdiffError, match=told):
        call()


@pytest.mark.parametrize("row", [*CONTINUOUS, *DISCRETE], ids=lambda row: row.name)
def test_of_nan_every_function_is_nan(row: Distribution) -> None:
    args = symbols(row)
    functions = row.all_functions
    outputs = [getattr(of(row.name), function)(*args) for function in functions]
    point = [math.nan, *drawn(row, seeded(row.name))[1:]]
    for backend in ("interpreter", "numpy"):
        for function, value in zip(functions, sd.compile(outputs, args, backend=backend)(*point), strict=True):
            assert np.isnan(value), f"{row.name}.{function}, {backend}"
    for function in functions:
        assert np.isnan(getattr(of(row.name), function)(*point)), f"{row.name}.{function} of numbers"


def test_of_nan_probabilities_of_several_numbers_are_nan() -> None:
    half = np.array([0.5, 0.5])
    assert np.isnan(sd.stats.dirichlet.logpdf(np.array([math.nan, 0.5]), np.array([1.0, 2.0])))
    assert np.isnan(sd.stats.multinomial.logpmf(np.array([1.0, math.nan]), 2.0, half))
    assert np.isnan(sd.stats.categorical.logpmf(math.nan, half))
    assert sd.stats.categorical.logpmf(3.0, half) == -math.inf
    assert sd.stats.multinomial.logpmf(np.array([1.0, 2.0]), 2.0, half) == -math.inf
    assert sd.stats.multinomial.logpmf(np.array([1.5, 0.5]), 2.0, half) == -math.inf


# ---------------------------------------------------------------------------- multivariate
# Densities of vectors and matrices: values against SciPy, derivatives against books and mpmath.


def definite(rng: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    a = rng.normal(size=(n, n))
    found: np.ndarray[Any, Any] = a @ a.T + np.eye(n)
    return found


def slope(f: Callable[[np.ndarray[Any, Any]], float], at: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the gradient of a function of NumPy's by differences of the fourth order."""
    found = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        h = 1e-3
        step = np.zeros_like(at)
        step[place] = h
        near, far = f(at + step) - f(at - step), f(at + 2 * step) - f(at - 2 * step)
        found[place] = (8 * near - far) / (12 * h)
    return found


def test_multivariate_normal() -> None:
    rng = np.random.default_rng(5)
    n, at, mean, cov = 3, rng.normal(size=(6, 3)), rng.normal(size=3), definite(rng, 3)
    x, m, s = sd.matrix("x", 6, n), sd.vector("m", n), sd.symbol("s", (n, n), positive_definite=True)
    f = sd.stats.multivariate_normal.logpdf(x, m, s)
    kernel = sd.compile([f, sd.gradient(f.sum(), m), sd.gradient(f.sum(), s)], [x, m, s])
    value, by_mean, by_cov = kernel(at, mean, cov)
    reference = scipy.stats.multivariate_normal
    np.testing.assert_allclose(value, reference.logpdf(at, mean, cov), rtol=1e-12)
    np.testing.assert_allclose(by_mean, slope(lambda v: reference.logpdf(at, v, cov).sum(), mean), rtol=1e-8)
    gap, inverse = at - mean, np.linalg.inv(cov)
    np.testing.assert_allclose(by_cov, 0.5 * (inverse @ gap.T @ gap @ inverse - len(at) * inverse), rtol=1e-9)
    for cov_ in (2.5, np.array([0.5, 1.0, 3.0]), cov):
        full = np.diag(np.broadcast_to(cov_, 3)) if np.ndim(cov_) < 2 else cov_
        got = sd.stats.multivariate_normal.logpdf(at, mean, cov_)
        np.testing.assert_allclose(got, reference.logpdf(at, mean, full), rtol=1e-12)
    np.testing.assert_allclose(sd.stats.multivariate_normal.pdf(at[0], mean), reference.pdf(at[0], mean), rtol=1e-12)
    np.testing.assert_allclose(sd.stats.multivariate_normal.logpdf(0.3, 0.1, 2.0), reference.logpdf(0.3, 0.1, 2.0))
    stacked = rng.normal(size=(2, 4, 3))
    np.testing.assert_allclose(
        sd.stats.multivariate_normal.logpdf(stacked, mean, cov), reference.logpdf(stacked, mean, cov), rtol=1e-12
    )


@pytest.mark.rows(1000)
@pytest.mark.parametrize("name", ["gamma", "chi2", "invgamma", "lognorm", "weibull_min", "f", "expon", "halfnorm"])
def test_places_that_are_declared_positive_are_asked_for_no_support(name: str) -> None:
    """With the same numbers as of places that may be anywhere; what is computed may round to 0, and is asked."""
    own: Any = getattr(sd.stats, name)
    shapes = [sd.scalar(letter) for letter in DISTRIBUTIONS[name].shapes]
    y, x, scale = sd.vector("y", "n", positive=True), sd.vector("y", "n"), sd.scalar("scale")
    free, asked = (own.logpdf(place, *shapes, scale=scale).sum() for place in (y, x))
    assert "where" not in str(sd.gradient(free, scale))
    values = (np.array([0.1, 0.7, 2.5]), *[1.5 + k for k in range(len(shapes))], 1.25)
    for wrt in [*shapes, scale]:
        kernels = [sd.compile(sd.gradient(f, wrt), [place, *shapes, scale]) for f, place in ((free, y), (asked, x))]
        np.testing.assert_allclose(*(k(*values) for k in kernels), rtol=1e-14)
    assert "where" in str(own.logpdf(np.exp(x), *shapes))


def test_the_gradient_of_a_normal_is_the_book_s() -> None:
    x, m, s = sd.vector("x", "n"), sd.vector("m", "n"), sd.symbol("S", ("n", "n"), positive_definite=True)
    f = sd.stats.multivariate_normal.logpdf(x, m, s)
    assert str(sd.gradient(f, m)) == "solve(S, x - m)"
    a, b = sd.scalar("x"), sd.scalar("m")
    assert str(sd.gradient(sd.stats.norm.logpdf(a, b), b)) == "x - m"


def test_dirichlet() -> None:
    rng = np.random.default_rng(6)
    alpha = rng.uniform(0.5, 4.0, size=4)
    at = rng.dirichlet(np.ones(4), size=5).T
    x, a = sd.matrix("x", 4, 5), sd.vector("a", 4)
    f = sd.stats.dirichlet.logpdf(x, a)
    value, by_alpha = sd.compile([f, sd.gradient(f.sum(), a)], [x, a])(at, alpha)
    np.testing.assert_allclose(value, scipy.stats.dirichlet.logpdf(at, alpha), rtol=1e-12)
    want = slope(lambda v: scipy.stats.dirichlet.logpdf(at, v).sum(), alpha)
    np.testing.assert_allclose(by_alpha, want, rtol=1e-8)
    assert sd.stats.dirichlet.logpdf([-0.5, 1.5], [1.0, 2.0]) == -math.inf
    assert sd.stats.dirichlet.logpdf([0.0, 1.0], [1.0, 2.0]) == pytest.approx(math.log(2.0))


def test_wishart() -> None:
    rng = np.random.default_rng(7)
    at, scale, df = definite(rng, 3), definite(rng, 3), 5.5
    x, s, v = sd.matrix("x", 3, 3), sd.matrix("s", 3, 3), sd.scalar("v")
    f = sd.stats.wishart.logpdf(x, v, s)
    value, by_df = sd.compile([f, sd.gradient(f, v)], [x, s, v])(at, scale, df)
    reference = scipy.stats.wishart
    np.testing.assert_allclose(value, reference.logpdf(at, df, scale), rtol=1e-12)
    want = slope(lambda d: reference.logpdf(at, float(d[0]), scale), np.array([df]))
    np.testing.assert_allclose(by_df, want[0], rtol=1e-8)


def test_multinomial_and_categorical() -> None:
    p, x = np.array([0.2, 0.3, 0.5]), np.array([[1, 2, 3], [6, 0, 0], [2, 2, 1], [-1, 3, 4]])
    got = sd.stats.multinomial.logpmf(x, 6, p)
    np.testing.assert_allclose(got, scipy.stats.multinomial.logpmf(x, 6, p), rtol=1e-12)
    np.testing.assert_allclose(sd.stats.categorical.pmf([0, 2, 1, 3, -1], p), [0.2, 0.5, 0.3, 0.0, 0.0], rtol=1e-12)
    idx, q = sd.indices("idx", 4), sd.vector("q", 3)
    total = sd.stats.categorical.logpmf(idx, q).sum()
    slopes = sd.compile(sd.gradient(total, q), [idx, q])(np.array([0, 2, 2, 1]), p)
    np.testing.assert_allclose(slopes, np.array([1, 1, 2]) / p, rtol=1e-12)


def test_distributions_with_parameters() -> None:
    x, m, s = sd.vector("x", 3), sd.scalar("m"), sd.scalar("s")
    for frozen in (sd.stats.norm(m, s), sd.stats.norm(loc=m, scale=s)):
        assert str(frozen.logpdf(x)) == str(sd.stats.norm.logpdf(x, m, s))
        assert str(frozen.ppf(0.3)) == str(sd.stats.norm.ppf(0.3, m, s))
    assert str(sd.stats.norm(m, scale=s)) == "<norm(m, scale=s)>"
    with pytest.raises(sd.SymdiffError, match=r"norm has no 'fitt'"):
        sd.stats.norm(0, 1).fitt  # noqa: B018
    with pytest.raises(sd.ArgumentError, match="too many positional"):
        sd.stats.norm(1, 2, 3).logpdf(x)
