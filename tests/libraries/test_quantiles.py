"""Quantiles of distributions: values against SciPy, derivatives against mpmath, both ends, what is no probability."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.stats

import symdiff as sd
from symdiff.graph.reference.many_digits import betaincinv, gammaincinv, stdtrit
from symdiff.libraries.stats.table import DISTRIBUTIONS, QUANTILES, Distribution

ROWS = [row for row in DISTRIBUTIONS.values() if row.quantiles]
FUNCTIONS = pytest.mark.parametrize("function", QUANTILES)
EACH = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
Q = np.array([0.0, 1e-300, 1e-20, 1e-9, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0, -0.1, 1.1, np.nan])


def of(row: Distribution, function: str) -> Any:
    return getattr(getattr(sd.stats, row.name), function)


def shapes_of(row: Distribution) -> list[float]:
    rng = np.random.default_rng(sum(map(ord, row.name)))
    return [float(rng.uniform(*bounds)) for bounds in row.draws]


@EACH
@FUNCTIONS
def test_values_are_those_of_scipy(row: Distribution, function: str) -> None:
    """At both ends, in the tails, and nan for what is no probability; in text, of symbols and of numbers."""
    parameters = [*shapes_of(row), 1.5, 2.0]
    with np.errstate(all="ignore"):
        want = getattr(getattr(scipy.stats, row.name), function)(Q, *parameters)
        tolerance = 1e-12
        if row.name == "f" and function == "isf":  # SciPy's is infinite where the quantile is only large
            want = 1.5 + 2.0 / scipy.stats.f.ppf(Q, *parameters[1::-1])
        np.testing.assert_allclose(of(row, function)(Q, *parameters), want, rtol=tolerance)
    names = ["q", *(f"{name}_of" for name in row.shapes), "loc", "scale"]
    text = f"{row.name}_{function}({', '.join(names)})"
    for backend in ("numpy", "interpreter"):
        kernel = sd.compile(text, backend=backend, shapes=dict.fromkeys(names, ()))
        np.testing.assert_allclose(kernel(Q, *parameters), want, rtol=tolerance)


@EACH
@FUNCTIONS
def test_slopes_are_those_of_the_inverse(row: Distribution, function: str) -> None:
    """With respect to q to second order and to each parameter, in a tail and between."""
    names = ["q", *row.shapes, "loc", "scale"]
    symbols = [sd.scalar(name) for name in names]
    value = of(row, function)(*symbols)
    by = [*range(len(names))]
    slopes = [sd.gradient(value, symbols[k], disconnected="zero") for k in by]
    curve = sd.gradient(slopes[0], symbols[0], disconnected="zero")
    kernel = sd.compile([*slopes, curve], symbols, backend="interpreter")
    parameters = [*shapes_of(row), 1.5, 2.0]
    exact = _exact(row, function)
    with mp.workdps(140):
        for q in (1e-12, 0.05, 0.3, 0.62, 0.97):
            point = [mp.mpf(x) for x in (q, *parameters)]
            h = mp.mpf(10) ** -20 * point[0]
            wanted = []
            for k in by:
                up, down = list(point), list(point)
                up[k], down[k] = up[k] + h, down[k] - h
                wanted.append((exact(*up) - exact(*down)) / (2 * h))
            second = (exact(point[0] + h, *point[1:]) - 2 * exact(*point) + exact(point[0] - h, *point[1:])) / h**2
            for got, want in zip(kernel(q, *parameters), [*wanted, second], strict=True):
                assert abs(float(got) - float(want)) <= 1e-10 * (1 + abs(float(want))), (q, names)


def _exact(row: Distribution, function: str) -> Any:
    """Return a quantile by mpmath, from the textbook's form with many digits."""

    def normal(p: Any) -> Any:
        return mp.sqrt(2) * mp.erfinv(2 * p - 1)

    standard: dict[str, Any] = {
        "norm": normal,
        "halfnorm": lambda p: mp.sqrt(2) * mp.erfinv(p),
        "lognorm": lambda p, s: mp.exp(s * normal(p)),
        "cauchy": lambda p: mp.tan(mp.pi * (p - mp.mpf(1) / 2)),
        "weibull_min": lambda p, c: (-mp.log(1 - p)) ** (1 / c),
        "expon": lambda p: -mp.log(1 - p),
        "laplace": lambda p: mp.log(2 * p) if p < 0.5 else -mp.log(2 * (1 - p)),
        "logistic": lambda p: mp.log(p / (1 - p)),
        "uniform": lambda p: p,
        "gumbel_r": lambda p: -mp.log(-mp.log(p)),
        "gumbel_l": lambda p: mp.log(-mp.log(1 - p)),
        "pareto": lambda p, b: (1 - p) ** (-1 / b),
        "t": lambda p, v: stdtrit(v, p),
        "gamma": lambda p, a: gammaincinv(a, p, False),
        "chi2": lambda p, v: 2 * gammaincinv(v / 2, p, False),
        "invgamma": lambda p, a: 1 / gammaincinv(a, p, True),
        "beta": lambda p, a, b: betaincinv(a, b, p),
        "f": lambda p, n, m: m / n / (1 / betaincinv(n / 2, m / 2, p) - 1),
        "gennorm": lambda p, b: mp.sign(p - mp.mpf(1) / 2) * gammaincinv(1 / b, abs(2 * p - 1), False) ** (1 / b),
    }
    below = standard[row.name]

    def value(q: Any, *parameters: Any) -> Any:
        *shapes, loc, scale = parameters
        return loc + scale * below(q if function == "ppf" else 1 - q, *shapes)

    return value


def test_quantiles_without_a_function_are_refused_by_name() -> None:
    for name in ("vonmises", "truncnorm", "poisson"):
        with pytest.raises(sd.AbsentError, match="function for them"):
            _ = getattr(sd.stats, name).ppf
    with pytest.raises(sd.ArgumentError, match="q"):
        sd.stats.norm.ppf(x=0.5)
