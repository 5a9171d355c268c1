"""Sorting, quantiles and tables: values of NumPy, derivatives by differences, and what happens at ties."""

from __future__ import annotations

import itertools
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd
from symdiff import graph
from symdiff.frontend import array
from symdiff.frontend.numpy.library import LIBRARY, Entry
from symdiff.frontend.numpy.routines import piecewise_constant
from symdiff.graph.reference import numeric
from symdiff.lowering.arrays import comparators
from tests.frontend.test_routines import CASES as ROUTINES
from tests.frontend.test_routines import NAN_FUNCTIONS, differences, symbols_of

Values = npt.NDArray[Any]
RNG = np.random.default_rng(8)
TABLE = np.array([-0.9, -0.5, 0.1, 0.3, 0.8])

CASES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "sort": (np.sort, ((2, 5),)),
    "sort of rows": (lambda x: np.sort(x, axis=0), ((4, 3),)),
    "sort of all": (lambda x: np.sort(x, axis=None), ((2, 3),)),
    "sort of functions": (lambda x: np.sort(np.sin(3 * x)), ((6,),)),
    "largest": (lambda x: np.sort(x)[-3:].sum(), ((7,),)),
    "partition": (lambda x: np.partition(x, 2)[2] ** 2, ((6,),)),
    "median": (np.median, ((5,),)),
    "median of rows": (lambda x: np.median(x, axis=1, keepdims=True), ((2, 4),)),
    "median of axes": (lambda x: np.median(x, axis=(0, 2)), ((2, 3, 3),)),
    "quantile": (lambda x: np.quantile(x, [0.1, 0.5, 0.9, 1.0], axis=0), ((5, 2),)),
    "percentile": (lambda x: np.percentile(x, 30.0), ((6,),)),
    "percentiles": (lambda x: np.percentile(x, [[5, 20], [60, 99]], axis=-1, keepdims=True), ((2, 5),)),
    "squares of a quantile": (lambda x: np.quantile(x**2, 0.4), ((5,),)),
    "interp": (lambda x, f: np.interp(x, TABLE, f), ((3, 4), (5,))),
    "interp at all": (lambda x, p, f: np.interp(x, np.cumsum(np.exp(p)) - 2.0, f), ((6,), (4,), (4,))),
    "interp with ends": (lambda x, f: np.interp(3 * x, TABLE, f, left=2.0, right=-1.0), ((7,), (5,))),
    "interp in one point": (lambda x, f: np.interp(x, [0.2], f), ((3,), (1,))),
    "searchsorted": (lambda x: np.searchsorted(TABLE, x) * x, ((6,),)),
    "searchsorted behind": (lambda x: np.searchsorted(TABLE, np.round(x, 1), side="right") * x, ((6,),)),
    "digitize": (lambda x: np.digitize(x, TABLE) * x, ((6,),)),
    "pad median": (lambda x: np.pad(x, 2, mode="median", stat_length=3), ((3, 4),)),
    **{
        f"quantile {method}": (lambda x, m=method: np.quantile(x, [0.05, 0.3, 0.77], method=m), ((6,),))
        for method in (
            *("lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased", "normal_unbiased"),
            *("interpolated_inverted_cdf", "linear"),
        )
    },
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives_are_those_of_numpy(name: str) -> None:
    function, shapes = CASES[name]
    rng = np.random.default_rng(len(name))
    args = [np.asarray(rng.uniform(-1.0, 1.0, shape)) for shape in shapes]
    inputs = [sd.array(f"x{k}", shape) for k, shape in enumerate(shapes)]
    f = sd.asarray(function(*inputs))
    wanted = np.asarray(function(*args), dtype=float)
    assert f.shape == wanted.shape
    weights = rng.uniform(0.5, 1.5, f.shape)
    total = (weights * np.sin(f)).sum()
    slopes = [sd.jacobian(f, x, disconnected="zero") for x in inputs]
    back = [sd.gradient(total, x, disconnected="zero") for x in inputs]
    direction = rng.uniform(-1.0, 1.0, shapes[0])
    bend = sd.hvp(total, inputs[0], direction)
    gradient = sd.compile(back[0], inputs, backend="numpy")
    curve = np.tensordot(differences(gradient, args, 0), direction, direction.ndim)
    for backend in ("interpreter", "numpy"):
        found = sd.compile((f, *slopes, *back, bend), inputs, backend=backend)(*args)
        np.testing.assert_allclose(found[0], wanted, rtol=1e-13, atol=1e-15)
        for k in range(len(args)):
            exact = differences(function, args, k)
            np.testing.assert_allclose(found[1 + k], exact, rtol=1e-8, atol=1e-8)
            pulled = np.tensordot(weights * np.cos(wanted), exact, wanted.ndim)
            np.testing.assert_allclose(found[1 + len(args) + k], pulled, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(found[-1], curve, rtol=1e-7, atol=1e-7)


def test_native_code_agrees() -> None:
    x = sd.array("x", (6,))
    some = [function for function, shapes in CASES.values() if shapes == ((6,),)]
    assert len(some) > 10
    formulas = [sd.asarray(function(x)) for function in some]
    slopes = [sd.jacobian(f, x) for f in formulas]
    kernel = sd.compile((*formulas, *slopes), [x], backend="native")
    value = RNG.uniform(-1.0, 1.0, 6)
    found = kernel(value)
    for function, got, slope in zip(some, found[: len(some)], found[len(some) :], strict=True):
        np.testing.assert_allclose(got, function(value), rtol=1e-13)
        np.testing.assert_allclose(slope, differences(function, [value], 0), rtol=1e-8, atol=1e-8)


# ---------------------------------------------------------------------------- ties


def orders(key: Values) -> list[tuple[int, ...]]:
    """Return all permutations that put a short vector into ascending order."""
    every = itertools.permutations(range(key.size))
    return [p for p in every if np.array_equal(key[list(p)], np.sort(key))]


@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
def test_at_ties_the_derivative_is_the_mean_over_all_orders(backend: str) -> None:
    x, y = sd.vector("x", 6), sd.vector("y", 6)
    jacobian = sd.compile(sd.jacobian(np.sort(x), x), [x], backend=backend)
    forth = sd.compile(sd.arrange(y, x), [y, x], backend=backend)
    back = sd.compile(sd.function("restore")(y, x), [y, x], backend=backend)
    for _ in range(12):
        value, other = RNG.integers(0, 3, 6) / 10.0, RNG.uniform(-1.0, 1.0, 6)
        mean = np.mean([np.eye(6)[list(p)] for p in orders(value)], axis=0)
        np.testing.assert_allclose(jacobian(value), mean, atol=1e-15)
        np.testing.assert_allclose(forth(other, value), mean @ other, atol=1e-15)
        np.testing.assert_allclose(back(other, value), mean.T @ other, atol=1e-15)
        # equal elements stay as they are: no mean of them is rounded
        found = sd.compile(np.sort(x), [x], backend=backend)(value)
        np.testing.assert_array_equal(found, np.sort(value))


def test_a_median_at_a_tie_shares() -> None:
    x = sd.vector("x", 5)
    kernel = sd.compile(sd.gradient(np.median(x), x), [x], backend="interpreter")
    np.testing.assert_allclose(kernel(np.array([2.0, 1.0, 2.0, 0.0, 2.0])), [1 / 3, 0, 1 / 3, 0, 1 / 3])
    # the largest of sorted elements is the maximum, and shares as it does
    largest = sd.compile((sd.gradient(np.sort(x)[-1], x), sd.gradient(x.max(), x)), [x], backend="interpreter")
    np.testing.assert_allclose(*largest(np.array([0.0, 1.0, 0.5, 1.0, 0.2])))


def test_check_lists_ties() -> None:
    x = sd.vector("x", 3)
    report = sd.check(np.sort(x) @ np.array([1.0, 2.0, 4.0]), at={"x": np.array([1.0, 1.0, 2.0])})
    assert "tie" in str(report)


@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
def test_nan_comes_last_and_makes_a_median_nan(backend: str) -> None:
    x = sd.vector("x", 7)
    value = np.array([3.0, np.nan, -np.inf, 1.0, np.nan, np.inf, -0.0])
    kernel = sd.compile((np.sort(x), np.median(x), np.nanmedian(x)), [x], backend=backend)
    ordered, middle, known = kernel(value)
    np.testing.assert_array_equal(ordered, np.sort(value))
    assert np.isnan(middle)
    assert known == np.nanmedian(value)
    slope = sd.compile(sd.jacobian(np.sort(x), x), [x], backend=backend)(value)
    np.testing.assert_allclose(slope.sum(axis=0), np.ones(7))


def test_lines_of_nan_alone_have_no_quantile() -> None:
    x = sd.array("x", (3, 5))
    value = RNG.uniform(-1.0, 1.0, (3, 5))
    value[0], value[1, [0, 3]] = np.nan, np.nan
    quantiles = [0.2, 0.5, 0.95]
    f = np.nanquantile(x, quantiles, axis=1)
    found, slope = sd.compile((f, sd.gradient(f.sum(), x)), [x], backend="interpreter")(value)
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning, match="All-NaN"):
        np.testing.assert_allclose(found, np.nanquantile(value, quantiles, axis=1), rtol=1e-14)
    assert (slope[1, [0, 3]] == 0).all()
    np.testing.assert_allclose(slope[1:].sum(axis=1), [3.0, 3.0])
    percentile = sd.compile(np.nanpercentile(x, 40, axis=0, method="hazen"), [x], backend="numpy")(value)
    np.testing.assert_allclose(percentile, np.nanpercentile(value, 40, axis=0, method="hazen"), rtol=1e-14)


# ---------------------------------------------------------------------------- the network and the reference


@pytest.mark.parametrize("n", [*range(1, 18), 31, 32])
def test_the_network_sorts(n: int) -> None:
    """By the 0-1 principle (Knuth 5.3.4, theorem Z) all vectors of zeros and ones suffice; of many, some."""
    every = itertools.product((0, 1), repeat=n) if n <= 10 else RNG.integers(0, 2, (200, n))
    lines = np.array(list(every))
    for i, j in comparators(n):
        assert 0 <= i < j < n
        lines[:, [i, j]] = np.sort(lines[:, [i, j]], axis=1)
    assert (np.diff(lines, axis=1) >= 0).all()


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("axis", [-1, -2])
def test_arranging_is_a_product_with_the_mean_permutation(axis: int, back: bool) -> None:
    key, x = RNG.integers(0, 3, (4, 5)).astype(float), RNG.uniform(-1.0, 1.0, (2, 4, 5))
    found = numeric.arrange(x, key, axis, back)
    lines, sources = np.moveaxis(key, axis, -1), np.moveaxis(x, axis, -1)
    for k in range(lines.shape[0]):
        mean = np.mean([np.eye(lines.shape[1])[list(p)] for p in orders(lines[k])], axis=0)
        wanted = sources[:, k] @ (mean if back else mean.T)
        np.testing.assert_allclose(np.moveaxis(found, axis, -1)[:, k], wanted, atol=1e-15)


# ---------------------------------------------------------------------------- batches, long arrays, letters


@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
def test_each_sample_has_an_order_of_its_own(backend: str) -> None:
    x, y = sd.array("x", (2, 4)), sd.array("y", (3, 2, 4))
    f = sd.arrange(y, x, axis=-2) + np.sort(x, axis=0)
    kernel = sd.compile((f, sd.gradient((f * f).sum(), (x, y))), [x, y], backend=backend)
    xs, ys = RNG.uniform(-1.0, 1.0, (5, 2, 4)), RNG.uniform(-1.0, 1.0, (5, 3, 2, 4))
    for first, second in ((xs, ys), (xs, ys[0]), (xs[0], ys)):
        value, slopes = kernel(first, second)
        for k in range(5):
            own = (first[k] if first.ndim == 3 else first, second[k] if second.ndim == 4 else second)
            one, ones = kernel(*own)
            np.testing.assert_allclose(value[k], one, rtol=1e-14)
            for slope, alone in zip(slopes, ones, strict=True):
                np.testing.assert_allclose(slope[k], alone, rtol=1e-13, atol=1e-14)


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
@pytest.mark.parametrize("size", ["n", 400])
def test_long_arrays_are_sorted(size: Any, backend: str) -> None:
    x = sd.vector("x", size)
    f = np.sort(x * x)
    total = (f[1:] * f[:-1]).sum() + np.quantile(x, 0.3) * np.median(x)
    kernel = sd.compile((total, sd.gradient(total, x)), [x], backend=backend)
    value = RNG.uniform(-1.0, 1.0, 400)
    found, slope = kernel(value)
    order, places = np.argsort(value * value), np.argsort(value)
    s = (value * value)[order]
    assert found == pytest.approx((s[1:] * s[:-1]).sum() + np.quantile(value, 0.3) * np.median(value), rel=1e-13)
    wanted = np.zeros(400)
    wanted[order] = 2 * value[order] * (np.append(s[1:], 0.0) + np.append(0.0, s[:-1]))
    at = 0.3 * 399
    low, part = int(at), at - int(at)
    wanted[places[[low, low + 1]]] += np.median(value) * np.array([1 - part, part])
    wanted[places[[199, 200]]] += 0.5 * np.quantile(value, 0.3)
    np.testing.assert_allclose(slope, wanted, rtol=1e-12, atol=1e-14)


def test_short_lines_are_sorted_beside_long_axes() -> None:
    x, w = sd.array("x", ("n", 4)), sd.vector("w", "n")
    f = (w[:, None] * sd.arrange(np.exp(x), np.sin(x))).sum() + (np.sort(x, axis=1)[:, 1:] ** 2).sum()
    value, weights = RNG.uniform(-1.0, 1.0, (50, 4)), RNG.uniform(-1.0, 1.0, 50)
    formulas = (f, *sd.gradient(f, (x, w)))
    results = [sd.compile(formulas, [x, w], backend=backend)(value, weights) for backend in ("interpreter", "numpy")]
    for got, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-14)
    order = np.argsort(np.sin(value), axis=1)
    total = (weights[:, None] * np.take_along_axis(np.exp(value), order, 1)).sum()
    assert results[0][0] == pytest.approx(total + (np.sort(value, axis=1)[:, 1:] ** 2).sum(), rel=1e-13)


def test_quantiles_and_tables_of_letters() -> None:
    x, p, f = sd.vector("x", "m"), sd.vector("p", "n"), sd.vector("f", "n")
    parts = (np.quantile(x, [0.0, 0.41, 1.0], method="hazen"), np.interp(x, p, f), np.searchsorted(p, x, side="right"))
    kernel = sd.compile(parts, [x, p, f], backend="interpreter")
    for m, n in ((3, 6), (41, 4)):
        value, points, heights = RNG.uniform(-1.0, 1.0, m), np.sort(RNG.uniform(-1.0, 1.0, n)), RNG.uniform(size=n)
        quantiles, between, counts = kernel(value, points, heights)
        np.testing.assert_allclose(quantiles, np.quantile(value, [0.0, 0.41, 1.0], method="hazen"), rtol=1e-13)
        np.testing.assert_allclose(between, np.interp(value, points, heights), rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(counts, np.searchsorted(points, value, side="right"))


def test_interpolation_at_points_and_ends() -> None:
    x, f = sd.vector("x", 7), sd.vector("f", 4)
    table = [0.0, 1.0, 1.0, 3.0]
    value, heights = np.array([-1.0, 0.0, 0.5, 1.0, 3.0, 4.0, np.nan]), np.array([1.0, 2.0, 5.0, 6.0])
    formula = np.interp(x, table, f)
    found, slope = sd.compile((formula, sd.gradient(formula.sum(), x)), [x, f], backend="interpreter")(value, heights)
    np.testing.assert_array_equal(found, np.interp(value, table, heights))
    np.testing.assert_array_equal(slope[:-1], [0.0, 1.0, 1.0, 0.5, 0.5, 0.0])


# ---------------------------------------------------------------------------- writing


def test_text_says_it_again() -> None:
    x, y = sd.array("x", (2, 3)), sd.array("y", (2, 3))
    value, other = RNG.uniform(-1.0, 1.0, (2, 3)), RNG.uniform(-1.0, 1.0, (2, 3))
    median = np.median(x, axis=1)
    formulas: list[Any] = [np.sort(x, axis=0) + y, sd.arrange(y, x), sd.function("restore")(y, x, axis=-2)]
    for f in (*formulas, sd.gradient((median * y[0, 0]).sum(), x)):
        again = sd.compile(str(f), y=(2, 3), x=(2, 3), backend="interpreter")
        values = {"x": value, "y": other}
        wanted = sd.compile(f, [x, y], backend="interpreter")(value, other)
        np.testing.assert_array_equal(again(**{one.name: values[one.name] for one in again.inputs}), wanted)
        assert f.latex()
        assert f.unicode()
    assert "restore" in str(sd.gradient((sd.arange(3) * np.sort(x[0])).sum(), x))
    with pytest.raises(sd.UnsupportedError, match="order of elements"):
        getattr(np.sort(x), "sympy")  # noqa: B009


def test_exported_source_sorts_without_symdiff(tmp_path: Path) -> None:
    x = sd.vector("x", "n")
    f = np.sort(x) * np.cumprod(x) + np.maximum.accumulate(x)
    kernel = sd.compile((f, sd.gradient((f * f).sum(), x)), [x], backend="numpy")
    sd.export(kernel, tmp_path, "ordered", target="numpy")
    text = (tmp_path / "ordered.py").read_text(encoding="utf-8")
    assert "import symdiff" not in text
    assert "from symdiff" not in text
    names: dict[str, Any] = runpy.run_path(str(tmp_path / "ordered.py"))
    value = RNG.integers(-3, 4, 9) / 4.0
    for got, wanted in zip(names["evaluate"](value), kernel(value), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-14)


def test_structure_of_what_is_sorted() -> None:
    x = sd.vector("x", 4)
    f = np.cumprod(np.sort(x)[:2])
    k = sd.compile(sd.hessian(f.sum(), x), [x], sparse="csr")
    value = np.array([0.3, -0.2, 0.9, 0.5])
    wanted = np.zeros((4, 4))
    wanted[0, 1] = wanted[1, 0] = 1.0
    np.testing.assert_allclose(k(value).toarray(), wanted)


def test_graph_refuses_shapes_that_do_not_fit() -> None:
    x, key = graph.input("x", (3, 4)), graph.input("key", (3,))
    with pytest.raises(sd.ShapeError, match="in the order"):
        graph.arrange(x, key, 0)
    with pytest.raises(sd.ShapeError):
        graph.arrange(key, key, 1)


X = sd.array("X", (3, 4))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: np.argpartition(X, 1), "arrange"),
        (lambda: X.argsort(axis=0), "np.argsort"),
        (lambda: X.sort(axis=0), "np.sort"),
        (lambda: X.argmax(axis=0), "np.argmax"),
        (lambda: X[np.argmax(X)], "constants"),
        (lambda: np.quantile(X, X), "constants"),
        (lambda: np.quantile(X, 1.5), "from 0 to 1"),
        (lambda: np.percentile(X, [-1, 50]), "0 to 100"),
        (lambda: np.quantile(X, 0.5, method="inverted_cdf"), "hazen"),
        (lambda: np.nanquantile(X, 0.5, method="lower"), "hazen"),
        (lambda: np.quantile(sd.vector("v", "n"), 0.5, method="lower"), "linear"),
        (lambda: np.median(X[:, :0]), "at least one"),
        (lambda: np.partition(X, 9), "within"),
        (lambda: np.interp(X, [1.0, 0.0], [0.0, 1.0]), "ascend"),
        (lambda: np.interp(X, [1.0, 2.0], X[0]), "one size"),
        (lambda: np.interp(X, [0.0, 1.0], [0.0, 1.0], period=2.0), "period"),
        (lambda: np.searchsorted(X, 1.0), "vector"),
        (lambda: np.digitize(X, [2.0, 1.0]), "ascend"),
        (lambda: np.histogram(X), "smooth"),
    ],
)
def test_what_is_refused_says_what_to_write(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(sd.SymdiffError, match=said):
        call()


# ---------------------------------------------------------------------------- the table


def test_every_entry_of_the_folder_is_called_here(monkeypatch: pytest.MonkeyPatch) -> None:
    called: set[str] = set()
    real = array.call

    def spied(entry: Entry, args: Any, kwargs: Any) -> Any:
        called.add(entry.name)
        return real(entry, args, kwargs)

    monkeypatch.setattr(array, "call", spied)
    for function, shapes in (*ROUTINES.values(), *CASES.values()):
        function(*symbols_of(shapes))
    own = {name for name, entry in LIBRARY.items() if ".routines." in entry.call.__module__ and entry.name == name}
    assert len(own) > 50
    elsewhere = {"nanquantile", "nanpercentile", "nanmedian", "arrange", "restore", "shift", "skew", "tri"}
    elsewhere |= {"any", "all"}  # of conditions, among the calls of the library
    elsewhere |= {*piecewise_constant.__all__, "poly", "polyfit"}  # test_piecewise_constant.py
    assert own - called - elsewhere - set(NAN_FUNCTIONS) == set()
    np.testing.assert_array_equal(sd.compile(sd.tri(2, 3, 1) * sd.scalar("s"))(1.0), np.tri(2, 3, 1))
