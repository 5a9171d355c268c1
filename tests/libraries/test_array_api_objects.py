"""Array objects of the standard, and code that others wrote for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

import symdiff as sd
from tests.libraries.test_array_api import compare, new_numpy, numbers, symbols, xp


def test_an_array_gives_its_namespace() -> None:
    x = sd.vector("x", 3)
    for version in (None, "2021.12", "2023.12", "2024.12"):
        assert x.__array_namespace__(api_version=version) is xp
    assert xp.__array_api_version__ == "2024.12"
    with pytest.raises(sd.UnsupportedError, match="api_version"):
        x.__array_namespace__(api_version="2019.12")
    assert (x.device, x.to_device("cpu"), x.ndim, x.shape, x.size) == ("cpu", x, 1, (3,), 3)
    assert x.dtype == xp.float64
    assert (x > 0).dtype == xp.bool
    with pytest.raises(sd.UnsupportedError, match="gpu"):
        x.to_device("gpu")
    with pytest.raises(sd.UnsupportedError, match="stream"):
        x.to_device("cpu", stream=1)


def test_arrays_made_of_numbers_alone_answer_for_them() -> None:
    c = xp.asarray([1.5, -2.0, 3.0])
    assert bool(xp.any(c > 2))
    assert not bool(xp.all(c > 2))
    assert (float(xp.sum(c)), int(c[2]), complex(c[1])) == (2.5, 3, -2 + 0j)
    assert [10, 20, 30, 40][c[2]] == 40
    np.testing.assert_array_equal(np.asarray(xp.exp(c)), np.exp([1.5, -2.0, 3.0]))
    assert np.asarray(c, dtype=np.float32).dtype == np.float32
    for make, told in (
        (lambda: bool(c), "one number"),
        (lambda: float(c), "one number"),
        (lambda: [1, 2][c[0]], "whole number"),
        (lambda: [1, 2][c[0] > 0], "whole number"),
    ):
        with pytest.raises(sd.SymbolError, match=told):
            make()


def test_symbols_have_no_numbers_and_say_what_to_write() -> None:
    x, n = sd.vector("x", 3), sd.scalar("s")
    vanished = x - x  # a number, of symbols
    letters = xp.sum(xp.ones("n"))  # a size that is known at call time
    for y in (n, vanished[0], letters, sd.gradient(3 * n, n)):
        for function in (bool, float, int, complex, lambda y: [1, 2][y]):
            with pytest.raises(sd.ShapeError if y is letters else sd.SymbolError, match=r"symbol|size"):
                function(y)
    with pytest.raises(sd.SymbolError, match="no numbers"):
        np.asarray(vanished)
    with pytest.raises(sd.UnsupportedError, match="where\\(condition"):
        x[x > 0]
    with pytest.raises(sd.UnsupportedError, match="symbol of real numbers"):
        x[n]
    with pytest.raises(sd.DtypeError, match="whole"):
        x[xp.asarray([0.5])]


def test_positions_made_by_the_namespace_index() -> None:
    a, *_ = symbols()
    numbers_a = numbers()[0]
    key = xp.asarray([2, 0])
    for got, want in (
        (a[key], numbers_a[[2, 0]]),
        (a[xp.asarray(1)], numbers_a[1]),
        (a[:, xp.arange(2)], numbers_a[:, :2]),
        (a[xp.asarray([True, False, True, False])], numbers_a[[0, 2]]),
        (a[key, xp.asarray([1, 1])], numbers_a[[2, 0], [1, 1]]),
        (a[xp.argsort(xp.asarray([3.0, 1.0, 2.0])), 0], numbers_a[[1, 2, 0], 0]),
    ):
        compare(got, want)


def test_dtypes_by_name() -> None:
    info = xp.__array_namespace_info__()
    assert set(info.dtypes(kind="signed integer")) == {"int8", "int16", "int32", "int64"}
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}
    assert info.dtypes(kind="complex floating") == {}
    assert info.dtypes()["float64"] == xp.float64
    assert info.default_dtypes()["real floating"] == xp.float64
    assert info.capabilities() == {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}
    assert (info.devices(), info.default_device()) == (["cpu"], "cpu")
    for make, error in (
        (lambda: xp.complex64, sd.AbsentError),
        (lambda: xp.zeros(3, dtype=complex), sd.UnsupportedError),
        (lambda: xp.astype(sd.vector("x", 2), "U3"), sd.UnsupportedError),
        (lambda: xp.zeros(3, dtype="number"), sd.ArgumentError),
        (lambda: xp.isdtype(xp.float64, "real"), sd.ArgumentError),
        (xp.result_type, sd.ArgumentError),
        (lambda: xp.ones(2, device="gpu"), sd.UnsupportedError),
        (lambda: xp.asarray(1j), sd.DtypeError),
        (lambda: xp.take(sd.matrix("A", 2, 2), [0]), sd.ShapeError),
        (lambda: xp.linalg.pinv(sd.matrix("A", 2, 2), rtol=0.1), sd.UnsupportedError),
        (lambda: xp.linalg.eig, sd.AbsentError),
    ):
        with pytest.raises(error):
            make()


def test_whole_parts_have_no_derivative() -> None:
    x = sd.vector("x", 3)
    np.testing.assert_array_equal(sd.compile(x.astype(int))(np.array([1.7, -1.7, 2.0])), [1, -1, 2])
    np.testing.assert_array_equal(
        sd.compile(sd.gradient((x * xp.astype(x, xp.int64)).sum(), x))(np.array([1.7, -1.7, 2.5])), [1, -1, 2]
    )


# ---------------------------------------------------------------------------- code written for the standard


def log_sum_exp(x: Any) -> Any:
    xp = x.__array_namespace__()
    top = xp.max(x, axis=-1, keepdims=True)
    return xp.squeeze(top, axis=-1) + xp.log(xp.sum(xp.exp(x - top), axis=-1))


def softmax(x: Any) -> Any:
    xp = x.__array_namespace__()
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def zscore(x: Any) -> Any:
    xp = x.__array_namespace__()
    return (x - xp.mean(x, axis=0)) / xp.std(x, axis=0, correction=1)


def distances(x: Any) -> Any:
    xp = x.__array_namespace__()
    gaps = xp.expand_dims(x, axis=1) - xp.expand_dims(x, axis=0)
    squares = xp.sum(gaps**2, axis=-1)
    return xp.where(squares > 0, xp.sqrt(xp.where(squares > 0, squares, 1.0)), 0.0)


def gaussian_process(x: Any) -> Any:
    """Return the log likelihood of a Gaussian process at the first columns, of data in the last one."""
    xp = x.__array_namespace__()
    places, y = x[:, :-1], x[:, -1]
    squares = xp.sum((xp.expand_dims(places, axis=1) - xp.expand_dims(places, axis=0)) ** 2, axis=-1)
    kernel = xp.exp(-0.5 * squares) + 0.1 * xp.eye(x.shape[0])
    factor = xp.linalg.cholesky(kernel)
    half = xp.sum(xp.log(xp.linalg.diagonal(factor)))
    return -0.5 * xp.vecdot(y, xp.linalg.solve(kernel, y)) - half - 0.5 * x.shape[0] * xp.log(xp.asarray(2 * xp.pi))


WRITTEN = (log_sum_exp, softmax, zscore, distances, gaussian_process)


@new_numpy
@pytest.mark.parametrize("function", WRITTEN)
def test_code_for_the_standard_runs_on_symbols_and_is_differentiated(function: Callable[[Any], Any]) -> None:
    x, values = sd.matrix("x", 4, 3), numbers()[0]
    formula = function(x)
    np.testing.assert_allclose(sd.compile(formula)(values), function(values), rtol=1e-12)
    weights = np.random.default_rng(2).normal(size=formula.shape)
    slope = sd.compile(sd.gradient(xp.sum(formula * xp.asarray(weights)), x))(values)
    step, direction = 1e-6, np.random.default_rng(3).normal(size=values.shape)
    ends = [(weights * function(values + sign * step * direction)).sum() for sign in (1, -1)]
    assert (slope * direction).sum() == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-7)


def test_libraries_find_the_namespace() -> None:
    compat = pytest.importorskip("scipy._lib.array_api_compat")
    x = sd.vector("x", 3)
    assert compat.array_namespace(x, xp.ones(3)) is xp
    assert compat.size(x) == 3
    assert compat.device(x) == "cpu"


OF_SCIPY = """
import numpy as np, symdiff as sd
from scipy import integrate, optimize, special, stats
x, v = sd.vector("x", 4), np.array([0.3, 1.2, -0.4, 2.0])
cases = {
    "softmax": special.softmax, "softplus": special.softplus, "entr": lambda x: special.entr(x**2), "erf": special.erf,
    "xlogy": lambda x: special.xlogy(x, x**2), "gammaln": lambda x: special.gammaln(x**2), "sem": stats.sem,
    "gmean": lambda x: stats.gmean(x**2), "tvar": stats.tvar, "skew": stats.skew, "kurtosis": stats.kurtosis,
    "circmean": stats.circmean, "variation": stats.variation, "entropy": lambda x: stats.entropy(x**2),
    "ttest": lambda x: stats.ttest_1samp(x, 0.5).statistic, "rosen": optimize.rosen,
    "trapezoid": integrate.trapezoid,
}
k = sd.compile([function(x) for function in cases.values()], backend="numpy")
for (name, function), got in zip(cases.items(), k(v), strict=True):
    np.testing.assert_allclose(got, function(v), rtol=1e-12, err_msg=name)
slope = sd.compile(sd.gradient(stats.skew(x), x), backend="numpy")(v)
for i in range(4):
    shift = 1e-6 * np.eye(4)[i]
    want = (stats.skew(v + shift) - stats.skew(v - shift)) / 2e-6
    np.testing.assert_allclose(slope[i], want, rtol=1e-6)
for function in (special.logsumexp, stats.zscore):
    try:
        function(x)
    except sd.SymbolError as error:
        assert "sd.logsumexp" in str(error), error
    else:
        raise AssertionError(function)
"""


def test_functions_of_scipy_that_follow_the_standard() -> None:
    pytest.importorskip("scipy", minversion="1.15")
    told = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", OF_SCIPY],
        env={**os.environ, "SCIPY_ARRAY_API": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr[-2000:]


@pytest.mark.skipif("SCIPY_ARRAY_API" in os.environ, reason="SciPy takes symbols then")
def test_scipy_without_the_standard_is_told_what_to_write() -> None:
    with pytest.raises(sd.SymbolError, match=r"sd\.logsumexp"):
        logsumexp(sd.vector("x", 3))
