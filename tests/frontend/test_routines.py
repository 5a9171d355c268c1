"""NumPy's longer functions on symbols: values against NumPy's own, derivatives against differences of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import symdiff as sd
from symdiff.errors import ArgumentError, DtypeError, ParseError, ShapeError, SymdiffError

Values = npt.NDArray[Any]
RNG = np.random.default_rng(20)
MASK = [True, False, True, True, False]


class Case(NamedTuple):
    """A function that takes symbols as well as numbers, and the shapes of what it takes."""

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]


def case(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Case:
    return Case(function, shapes)


CASES: dict[str, Case] = {
    "cumprod": case(lambda x: np.cumprod(x, axis=1), (2, 4)),
    "cumprod of all": case(np.cumprod, (2, 3)),
    "multiply.accumulate": case(np.multiply.accumulate, (5,)),
    "maximum.accumulate": case(lambda x: np.maximum.accumulate(x, axis=0), (4, 2)),
    "minimum.accumulate": case(np.minimum.accumulate, (6,)),
    "cumulative_sum": case(lambda x: np.cumulative_sum(x, axis=1, include_initial=True), (2, 3)),
    "cumulative_prod": case(lambda x: np.cumulative_prod(x, include_initial=True), (4,)),
    "diff": case(lambda x, s: np.diff(x, n=2, axis=0, prepend=s, append=1.5), (4, 2), ()),
    "diff of arrays": case(lambda x, y: np.diff(x, prepend=y, append=[[1.0], [2.0]]), (2, 4), (2, 3)),
    "ediff1d": case(lambda x, s: np.ediff1d(x, to_begin=[0.5, 2.0], to_end=s), (2, 3), ()),
    "gradient": case(np.gradient, (6,)),
    "gradient at edges": case(lambda x: np.gradient(x, 0.5, edge_order=2), (6,)),
    "gradient of a distance": case(lambda x, h: np.gradient(x, h, axis=1), (3, 4), ()),
    "gradient of axes": case(lambda x: np.stack(np.gradient(x, 2.0, [0.0, 1.0, 3.0, 3.5])), (3, 4)),
    "gradient of chosen axes": case(lambda x: np.stack(np.gradient(x, 2.0, axis=(1, 0), edge_order=2)), (3, 4)),
    "gradient at coordinates": case(
        lambda x, g: np.gradient(x, np.cumsum(np.exp(g)), axis=0, edge_order=2), (5, 2), (5,)
    ),
    "trapezoid": case(lambda x: np.trapezoid(x, dx=0.3, axis=0), (4, 2)),
    "trapezoid at coordinates": case(np.trapezoid, (2, 5), (5,)),
    "trapezoid at all coordinates": case(np.trapezoid, (2, 4), (2, 4)),
    "trapezoid at coordinates of more axes": case(np.trapezoid, (4,), (2, 4)),
    "cov": case(np.cov, (3, 5)),
    "cov of columns": case(lambda x, y: np.cov(x, y, rowvar=False, bias=True), (5, 2), (5, 1)),
    "cov of one": case(np.cov, (5,)),
    "cov of weights": case(lambda x, w: np.cov(x, fweights=[1, 2, 0, 3], aweights=np.exp(w), ddof=2), (2, 4), (4,)),
    "corrcoef": case(np.corrcoef, (3, 5)),
    "corrcoef of two": case(np.corrcoef, (5,), (5,)),
    "average": case(lambda x, w: np.average(x, axis=0, weights=np.exp(w)), (3, 2), (3,)),
    "sum of chosen": case(lambda x: np.sum(x, axis=1, where=MASK, initial=0.5), (2, 5)),
    "prod of chosen": case(lambda x: np.prod(x, where=MASK, initial=-2.0, keepdims=True), (2, 5)),
    "max of chosen": case(lambda x: np.max(x, axis=1, where=MASK, initial=-3.0), (2, 5)),
    "min of an initial number": case(lambda x: np.min(x, axis=0, initial=0.1), (4, 3)),
    "mean of chosen": case(lambda x: np.mean(x, axis=1, where=MASK, keepdims=True), (2, 5)),
    "var of chosen": case(lambda x: np.var(x, axis=1, ddof=1, where=MASK), (2, 5)),
    "var with a correction": case(lambda x: np.var(x, axis=1, correction=1), (2, 5)),
    "std of chosen": case(lambda x: np.std(x, axis=1, where=MASK), (2, 5)),
    "polyadd": case(np.polyadd, (2,), (4,)),
    "polysub": case(np.polysub, (4,), (2,)),
    "polymul": case(np.polymul, (4,), (2,)),
    "polyder": case(lambda p: np.polyder(p, 2), (5,)),
    "polyder to nothing but a constant": case(np.polyder, (2,)),
    "polyint": case(lambda p, k: np.polyint(p, 2, k), (3,), (2,)),
    "polyint of one constant": case(lambda p: np.polyint(p, k=2.5), (3,)),
    "logspace": case(lambda a, b: np.logspace(a, b, 4, base=2.0, axis=1), (2,), ()),
    "geomspace": case(lambda a, b: np.geomspace(np.exp(a), np.exp(b), 4, endpoint=False), (2,), (2,)),
    "geomspace to its end": case(lambda a: np.geomspace(-np.exp(a), -2.0, 3, axis=1), (2,)),
    "real": case(lambda x: np.real(x) * np.conj(x) + np.imag(x), (3,)),
    "ptp": case(lambda x: np.ptp(x, axis=0), (4, 2)),
    "meshgrid": case(lambda x, y: np.stack(np.meshgrid(x, y)), (3,), (2,)),
    "meshgrid ij": case(lambda x, y, z: np.stack(np.meshgrid(x, y, z, indexing="ij")), (3,), (2,), (2,)),
    "meshgrid sparse": case(lambda x, y: np.multiply(*np.meshgrid(x, y, sparse=True)), (3,), (2,)),
    "broadcast_arrays": case(lambda x, y: np.stack(np.broadcast_arrays(x, y)), (3, 1), (2,)),
    "split": case(lambda x: np.concatenate(np.split(x, 3)[::-1]), (6,)),
    "split at places": case(lambda x: np.concatenate(np.split(x, [1, 4], axis=1)[::-1], axis=1), (2, 6)),
    "array_split": case(lambda x: np.concatenate(np.array_split(x, 3)[::-1]), (7,)),
    "hsplit": case(lambda x: np.multiply(*np.hsplit(x, 2)), (2, 4)),
    "hsplit of a vector": case(lambda x: np.multiply(*np.hsplit(x, 2)), (4,)),
    "vsplit": case(lambda x: np.multiply(*np.vsplit(x, 2)), (4, 2)),
    "dsplit": case(lambda x: np.multiply(*np.dsplit(x, 2)), (2, 1, 4)),
    "unstack": case(lambda x: np.multiply(*np.unstack(x, axis=1)), (3, 2)),
    "append": case(np.append, (2, 2), (3,)),
    "append along an axis": case(lambda x, y: np.append(x, y, axis=1), (2, 2), (2, 1)),
    "insert": case(lambda x, s: np.insert(x, 2, s), (2, 3), ()),
    "insert several": case(lambda x, y: np.insert(x, [3, 1, 1], y), (4,), (3,)),
    "insert along an axis": case(lambda x, y: np.insert(x, [-1, 0], y, axis=1), (2, 3), (2, 2)),
    "insert at one place": case(lambda x, y: np.insert(x, 1, y, axis=1), (2, 3), (2,)),
    "delete": case(lambda x: np.delete(x, [0, -1]), (2, 3)),
    "delete along an axis": case(lambda x: np.delete(x, slice(0, None, 2), axis=1), (2, 5)),
    "delete by a mask": case(lambda x: np.delete(x, np.array(MASK)), (5,)),
    "dstack": case(lambda x, y: np.dstack([x, y]), (2, 3), (2, 3)),
    "dstack of vectors": case(lambda x, y: np.dstack([x, y]), (3,), (3,)),
    "fliplr": case(np.fliplr, (2, 3)),
    "flipud": case(np.flipud, (2, 3)),
    "rot90": case(np.rot90, (2, 3)),
    "rot90 back": case(lambda x: np.rot90(x, -1, axes=(2, 0)), (2, 3, 2)),
    "rot90 twice": case(lambda x: np.rot90(x, 2), (2, 3)),
    "rollaxis": case(lambda x: np.rollaxis(x, 2, 1), (2, 3, 2)),
    "rollaxis to the end": case(lambda x: np.rollaxis(x, 0, 3), (2, 3, 2)),
    "roll of axes": case(lambda x: np.roll(x, (1, -2), axis=(0, 1)), (2, 5)),
    "roll by one number": case(lambda x: np.roll(x, 1, axis=(0, 1)), (2, 5)),
    "repeat by counts": case(lambda x: np.repeat(x, [2, 0, 1], axis=1), (2, 3)),
    "diagflat": case(lambda x: np.diagflat(x, 1), (2, 2)),
    "resize": case(lambda x: np.resize(x, (2, 4)), (3,)),
    "vander": case(np.vander, (3,)),
    "vander of powers": case(lambda x: np.vander(x, 4, increasing=True), (3,)),
    "bincount": case(lambda w: np.bincount([0, 3, 1, 1], w, minlength=6), (4,)),
    "unwrap": case(lambda x: np.unwrap(9.0 * x, axis=0), (6, 2)),
    "unwrap by a period": case(lambda x: np.unwrap(9.0 * x, period=1.5, discont=2.0), (6,)),
    "linspace": case(lambda a, b: np.linspace(a, b, 4), (), ()),
    "linspace of arrays": case(lambda a, b: np.linspace(a, b, 3, endpoint=False, axis=-1), (2,), (2,)),
    "linspace of one": case(lambda a, b: np.linspace(a, b, 1), (), ()),
    "reshape F": case(lambda x: np.reshape(x, (3, -1), order="F"), (2, 3, 2)),
    "ravel F": case(lambda x: np.ravel(x, order="F"), (2, 3)),
    "method reshape F": case(lambda x: x.reshape(3, 2, order="F"), (2, 3)),
    "method flatten F": case(lambda x: x.flatten("F"), (2, 3)),
    "trace of a diagonal": case(lambda x: np.trace(x, 1, 2, 0), (3, 2, 3)),
    "take_along_axis": case(lambda x: np.take_along_axis(x, np.array([[0, 2], [1, 1]]), axis=1), (2, 3)),
    "compress": case(lambda x: np.compress([True, False, True], x, axis=1), (2, 3)),
    "extract": case(lambda x: np.extract(np.array([[True, False], [True, True]]), x), (2, 2)),
    "choose": case(lambda x, y: np.choose([[0, 1, 1], [1, 0, 0]], [x, y]), (2, 3), (3,)),
    "piecewise": case(lambda x: np.piecewise(x, [x < 0, x > 0.5], [lambda t: t**2, 3.0, np.sin]), (6,)),
    "apply_along_axis": case(lambda x: np.apply_along_axis(lambda v: np.cumsum(v)[1:] ** 2, 0, x), (3, 2)),
    "apply_along_axis to numbers": case(lambda x: np.apply_along_axis(lambda v: v @ v, 1, x), (3, 2)),
    "apply_along_axis to matrices": case(lambda x: np.apply_along_axis(lambda v: np.outer(v, v), 0, x), (2, 3)),
    "apply_over_axes": case(lambda x: np.apply_over_axes(np.sum, x, [0, 2]), (2, 3, 2)),
    "count_nonzero": case(lambda x: np.count_nonzero(np.maximum(x, 0.0), axis=0) * x, (4, 2)),
    "isin": case(lambda x: np.where(np.isin(np.sign(x), [1.0, 3.0]), x, x**2), (5,)),
    "sizes": case(lambda x: np.copy(x) * (np.ndim(x) + np.size(x) + np.size(x, 1) + np.shape(x)[0]), (2, 3)),
    "nansum": case(lambda x: np.nansum(x, axis=0), (3, 2)),
    "nan_to_num": case(np.nan_to_num, (3,)),
    **{
        f"{f.__name__} {mode} {n} {m}": case(lambda a, v, f=f, mode=mode: f(a, v, mode), (n,), (m,))
        for f in (np.convolve, np.correlate)
        for mode, sizes in (("full", [(5, 3)]), ("same", [(5, 4), (3, 6), (4, 4)]), ("valid", [(6, 3), (2, 5)]))
        for n, m in sizes
    },
    "convolve with a long one": case(lambda a, v: np.convolve(a, v, "same"), (19,), (18,)),
    **{
        f"pad {mode}{options or ''}": case(lambda x, m=mode, o=options: np.pad(x, ((2, 1), (0, 3)), m, **o), (3, 2))
        for mode, options in (
            ("constant", {"constant_values": 2.0}),
            ("constant", {"constant_values": ((1.0, 2.0), (3.0, 4.0))}),
            ("edge", {}),
            ("linear_ramp", {}),
            ("linear_ramp", {"end_values": (1.0, -2.0)}),
            *((mode, {"stat_length": length}) for mode in ("maximum", "minimum", "mean") for length in (None, 2)),
            *((mode, {"reflect_type": kind}) for mode in ("reflect", "symmetric") for kind in ("even", "odd")),
            ("wrap", {}),
        )
    },
    "pad with symbols": case(lambda x, s, t: np.pad(x, 1, constant_values=(s, t)), (3,), (), ()),
    "pad far": case(lambda x: np.pad(x, 11, mode="reflect", reflect_type="odd"), (4,)),
    "pad far symmetric": case(lambda x: np.pad(x, 11, mode="symmetric", reflect_type="odd"), (4,)),
    "pad one": case(lambda x: np.pad(x, 2, mode="reflect"), (1,)),
}


def symbols_of(shapes: tuple[tuple[int, ...], ...]) -> list[sd.Array]:
    return [sd.array(f"x{k}", shape) for k, shape in enumerate(shapes)]


def numbers_of(shapes: tuple[tuple[int, ...], ...], rng: np.random.Generator) -> list[Values]:
    return [np.asarray(rng.uniform(-1.0, 1.0, shape)) for shape in shapes]


def differences(function: Callable[..., Any], args: list[Values], k: int, step: float = 1e-4) -> Values:
    """Return the derivative with respect to argument ``k``, of fourth order in the step."""
    columns = []
    for i in range(args[k].size):

        def moved(t: float, i: int = i) -> Values:
            own = args[k].copy()
            own.flat[i] += t
            return np.asarray(function(*args[:k], own, *args[k + 1 :]), dtype=float)

        near, far = moved(step) - moved(-step), moved(2 * step) - moved(-2 * step)
        columns.append((8 * near - far) / (12 * step))
    return np.stack(columns, -1).reshape((*columns[0].shape, *args[k].shape))


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives_are_those_of_numpy(name: str) -> None:
    function, shapes = CASES[name]
    rng = np.random.default_rng(len(name))
    args, inputs = numbers_of(shapes, rng), symbols_of(shapes)
    f = sd.asarray(function(*inputs))
    wanted = np.asarray(function(*args), dtype=float)
    assert f.shape == wanted.shape
    weights = rng.uniform(0.5, 1.5, f.shape)
    total = (weights * f * f).sum()
    jacobians = [sd.jacobian(f, x, disconnected="zero") for x in inputs]
    gradients = [sd.gradient(total, x, disconnected="zero") for x in inputs]
    for backend in ("interpreter", "numpy"):
        found, *slopes = sd.compile((f, *jacobians, *gradients), inputs, backend=backend)(*args)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
        for k, slope in enumerate(slopes[: len(inputs)]):
            exact = differences(function, args, k)
            np.testing.assert_allclose(slope, exact, rtol=1e-8, atol=1e-8)
            back = np.tensordot(2 * weights * wanted, exact, wanted.ndim)
            np.testing.assert_allclose(slopes[len(inputs) + k], back, rtol=1e-8, atol=1e-7)


#: Cases that are linear in no argument; the second derivative of others is 0.
CURVED = [
    *("cumprod", "cumprod of all", "cumulative_prod", "gradient at coordinates", "trapezoid at all coordinates", "cov"),
    *("cov of weights", "corrcoef", "corrcoef of two", "average", "hsplit", "unstack", "vander of powers", "piecewise"),
    *("apply_along_axis", "apply_along_axis to matrices", "convolve same 3 6", "isin", "maximum.accumulate", "unwrap"),
    *("gradient of a distance", "pad far", "prod of chosen", "var of chosen", "std of chosen", "polymul", "geomspace"),
]


@pytest.mark.parametrize("name", CURVED)
def test_second_derivatives_are_those_of_the_first(name: str) -> None:
    function, shapes = CASES[name]
    rng = np.random.default_rng(len(name) + 1)
    args, inputs = numbers_of(shapes, rng), symbols_of(shapes)
    f = sd.asarray(function(*inputs))
    total = (rng.uniform(0.5, 1.5, f.shape) * np.sin(f)).sum()
    x = inputs[0]
    slope = sd.compile(sd.gradient(total, x), inputs, backend="numpy")
    direction = rng.uniform(-1.0, 1.0, x.shape)
    bend = sd.compile(sd.hvp(total, x, direction), inputs, backend="interpreter")(*args)
    wanted = np.tensordot(differences(slope, args, 0), direction, direction.ndim)
    np.testing.assert_allclose(bend, wanted, rtol=1e-7, atol=1e-7)


def test_native_code_agrees() -> None:
    """All cases of a vector of five and one of three in one kernel."""
    shapes = ((4, 2),)
    some = {name: one for name, one in CASES.items() if one.shapes == shapes}
    assert len(some) > 4
    (x,) = symbols_of(shapes)
    formulas = [sd.asarray(one.function(x)) for one in some.values()]
    slopes = [sd.jacobian(f, x) for f in formulas]
    kernel = sd.compile((*formulas, *slopes), [x], backend="native")
    (value,) = numbers_of(shapes, RNG)
    found = kernel(value)
    for one, got, slope in zip(some.values(), found[: len(some)], found[len(some) :], strict=True):
        np.testing.assert_allclose(got, one.function(value), rtol=1e-12)
        np.testing.assert_allclose(slope, differences(one.function, [value], 0), rtol=1e-8, atol=1e-8)


# ---------------------------------------------------------------------------- without nan
# ---------------------------------------------------------------------------- zeros and ties


def test_running_products_at_zeros() -> None:
    x = sd.vector("x", 5)
    f = np.cumprod(x)
    first = sd.compile((sd.jacobian(f, x), sd.jacobian(sd.jacobian(f, x), x)), [x], backend="interpreter")
    for place in ([1], [1, 3], [0, 1, 4]):
        value = RNG.uniform(0.5, 1.5, 5)
        value[place] = 0.0
        slope, bend = first(value)
        basis = np.eye(5)

        # a polynomial of degree one in each element: differences are exact but for rounding
        def exact(v: Values, basis: Values = basis) -> Values:
            return np.stack([np.cumprod(v + e) - np.cumprod(v) for e in basis], -1)

        np.testing.assert_allclose(slope, exact(value), atol=1e-14)
        second = np.stack([exact(value + e) - exact(value) for e in basis], -1)
        second[:, np.arange(5), np.arange(5)] = 0.0
        np.testing.assert_allclose(bend, second, atol=1e-14)


@pytest.mark.parametrize(("function", "sign"), [(np.maximum.accumulate, 1.0), (np.minimum.accumulate, -1.0)])
def test_running_extrema_share_ties(function: Callable[..., Any], sign: float) -> None:
    x = sd.vector("x", 5)
    kernel = sd.compile(sd.jacobian(function(x), x), [x], backend="interpreter")
    wanted = [[1, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0], [0.5, 0.5, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0.5, 0.5]]
    np.testing.assert_array_equal(kernel(sign * np.array([1.0, 1.0, 0.0, 2.0, 2.0])), wanted)
    found = sd.compile(function(x), [x], backend="interpreter")(np.array([1.0, np.nan, 2.0, 0.0, 3.0]))
    np.testing.assert_array_equal(found, [1.0, *[np.nan] * 4])


# ---------------------------------------------------------------------------- letters


LETTERS: dict[str, Callable[..., Any]] = {
    "cumprod": np.cumprod,
    "maximum.accumulate": np.maximum.accumulate,
    "gradient": lambda x: np.gradient(x, edge_order=2),
    "gradient at coordinates": lambda x: np.gradient(x, np.cumsum(1.0 + x * x)),
    "diff": lambda x: np.diff(x, prepend=0.0),
    "trapezoid": np.trapezoid,
    "convolve": lambda x: np.convolve(x, [1.0, -2.0, 0.5], "same"),
    "convolve full": lambda x: np.convolve(x, x[:3]),
    "correlate": lambda x: np.correlate(x, [1.0, 3.0]),
    "pad edge": lambda x: np.pad(x, 2, mode="edge"),
    "pad reflect": lambda x: np.pad(x, (2, 1), mode="reflect", reflect_type="odd"),
    "pad symmetric": lambda x: np.pad(x, (0, 3), mode="symmetric"),
    "pad wrap": lambda x: np.pad(x, (3, 0), mode="wrap"),
    "pad mean": lambda x: np.pad(x, 1, mode="mean"),
    "roll": lambda x: np.roll(x, 2) - np.roll(x, -1, axis=0),
    "cov": lambda x: np.cov(np.stack([x, x * x])),
    "unwrap": lambda x: np.unwrap(9.0 * x),
    "vander": lambda x: np.vander(x, 3),
    "split": lambda x: np.split(x, [2])[1],
    "nanmean": np.nanmean,
    "fliplr": lambda x: np.fliplr(np.outer(x, x[:2])),
}


@pytest.mark.parametrize("name", LETTERS)
def test_sizes_may_be_letters(name: str) -> None:
    function = LETTERS[name]
    x = sd.vector("x", "n")
    f = sd.asarray(function(x))
    kernel = sd.compile((f, sd.gradient((np.cos(f) * f).sum(), x)), [x], backend="numpy")
    for size in (7, 20):
        value = RNG.uniform(-1.0, 1.0, size)
        found, slope = kernel(value)
        wanted = np.asarray(function(value))
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)
        exact = differences(function, [value], 0)
        back = np.tensordot(np.cos(wanted) - np.sin(wanted) * wanted, exact, wanted.ndim)
        np.testing.assert_allclose(slope, back, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("size", ["n", 50])
@pytest.mark.parametrize("function", [np.cumprod, np.maximum.accumulate, np.minimum.accumulate])
def test_running_operations_along_long_axes_need_no_python(function: Callable[..., Any], size: Any) -> None:
    x = sd.vector("x", size)
    f = function(1.0 + 0.1 * x)
    kernel = sd.compile((f, sd.gradient((f * f).sum(), x)), [x], backend="interpreter")
    value = RNG.uniform(-1.0, 1.0, 50)
    found, slope = kernel(value)
    wanted = function(1.0 + 0.1 * value)
    np.testing.assert_allclose(found, wanted, rtol=1e-13)
    exact = differences(lambda v: function(1.0 + 0.1 * v), [value], 0)
    np.testing.assert_allclose(slope, 2 * wanted @ exact, rtol=1e-8, atol=1e-8)


def test_a_kernel_longer_than_an_array_of_letters_is_refused_at_the_call() -> None:
    x = sd.vector("x", "n")
    for mode in ("same", "valid"):
        kernel = sd.compile(np.convolve(x, [1.0, 2.0, 3.0], mode), [x], backend="numpy")
        with pytest.raises(sd.ShapeError):
            kernel(np.ones(1))


# ---------------------------------------------------------------------------- refusals


X, V = sd.matrix("X", 3, 4), sd.vector("v", "n")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: np.histogram(X), "smooth weight"),
        (lambda: np.unique(X), "integer input"),
        (lambda: np.fft.fft(V), "symbolic size"),
        (lambda: sd.compile("rfft(x)", x=4), "real numbers alone"),
        (lambda: np.flatnonzero(X), "where"),
        (lambda: np.putmask(X, X > 0, 1.0), "where"),
        (lambda: np.gradient(X, [0.0, 1.0], axis=0), "coordinates"),
        (lambda: np.gradient(X[:, :1], axis=1), "at least 2"),
        (lambda: np.gradient(X, edge_order=3), "1 or 2"),
        (lambda: np.gradient(X, 1.0, 2.0, 3.0), "one for each"),
        (lambda: np.convolve(X, X[0]), "vectors"),
        (lambda: np.convolve(X[0], X[1], "some"), "'full'"),
        (lambda: np.convolve(V, sd.vector("w", "m"), "same"), "longer"),
        (lambda: np.split(X, 5), "divisor"),
        (lambda: np.split(V, 2), "positions"),
        (lambda: np.insert(X, [0.5], 1.0), "whole numbers"),
        (lambda: np.insert(V, 1, 0.0), "concatenate"),
        (lambda: np.delete(X, 7, axis=0), "size 3"),
        (lambda: np.bincount(X[0]), "weights"),
        (lambda: np.bincount(X[0], X[0]), "add_at"),
        (lambda: np.extract(X > 0, X), "where"),
        (lambda: np.choose(X > 0, [X, X]), "select"),
        (lambda: np.choose([3], [X, X]), "among 2"),
        (lambda: np.pad(X, 1, mode="empty"), "'reflect'"),
        (lambda: np.pad(X, 1, mode="edge", constant_values=1.0), "another mode"),
        (lambda: np.pad(X[:0], 1, mode="wrap"), "elements"),
        (lambda: np.unstack(V), "fixed"),
        (lambda: np.piecewise(X, [X > 0], [1.0, 2.0, 3.0]), "one more"),
        (lambda: np.apply_along_axis(np.sum, 0, sd.matrix("M", "m", "n")), "whole array"),
        (lambda: np.reshape(X, (4, 3), order="A"), "'F'"),
        (lambda: np.take_along_axis(X, np.array([0.5]), axis=0), "whole numbers"),
        (lambda: np.cov(X, fweights=[0.5] * 4), "constant count"),
        (lambda: np.isin(X, X), "=="),
        (lambda: np.rot90(X, axes=(0, 0)), "different"),
        (lambda: np.repeat(X, [1, 2], axis=0), "one for each"),
    ],
)
def test_what_is_refused_says_what_to_write(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(sd.SymdiffError, match=said):
        call()


# ---------------------------------------------------------------------------- missing
# Functions that leave out elements, by where= or as nan: values, derivatives, conditions.


NAN_FUNCTIONS = ("nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd", "nancumsum", "nancumprod")


def test_what_where_leaves_out_is_not_observed() -> None:
    x, mask = sd.vector("x", 4), np.array([True, False, True, False])
    numbers = np.array([1.5, np.nan, 2.5, np.inf])
    for function in (np.sum, np.prod, np.mean, np.var, np.std):
        f = function(x, where=mask)
        value, slope, bend = sd.compile((f, sd.gradient(f, x), sd.hessian(f, x)), backend="interpreter")(numbers)
        short = sd.vector("s", 2)
        g = function(short)
        wanted = sd.compile((g, sd.gradient(g, short), sd.hessian(g, short)), backend="interpreter")(numbers[mask])
        np.testing.assert_allclose(value, function(numbers[mask]))
        np.testing.assert_allclose(slope[mask], wanted[1], atol=1e-15)
        np.testing.assert_array_equal(slope[~mask], 0.0)
        np.testing.assert_allclose(bend[np.ix_(mask, mask)], wanted[2], atol=1e-14)
        np.testing.assert_array_equal(bend[~mask], 0.0)


def test_conditions_of_chosen_elements() -> None:
    x, mask = sd.matrix("x", 2, 3), np.array([True, False, True])
    numbers = np.array([[1.0, -1.0, 2.0], [-1.0, 2.0, -3.0]])
    for function in (np.any, np.all):
        f = sd.compile(np.where(function(x > 0, axis=1, where=mask), 1.0, 0.0), backend="interpreter")
        np.testing.assert_array_equal(f(numbers), function(numbers > 0, axis=1, where=mask))


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", NAN_FUNCTIONS)
def test_nan_is_left_out_of_value_and_derivative(name: str, axis: int | None) -> None:
    x = sd.array("x", (3, 4))
    function = getattr(np, name)
    values = RNG.uniform(0.5, 1.5, (3, 4))
    values[[0, 2, 1], [1, 1, 3]] = np.nan
    f = function(x, axis=axis)
    weights = RNG.uniform(0.5, 1.5, f.shape)
    for backend in ("interpreter", "numpy"):
        value, slope = sd.compile((f, sd.gradient((weights * f).sum(), x)), [x], backend=backend)(values)
        np.testing.assert_allclose(value, function(values, axis=axis), rtol=1e-13)
        wanted = np.tensordot(weights, differences(lambda v: function(v, axis=axis), [values], 0), weights.ndim)
        np.testing.assert_allclose(slope, np.where(np.isnan(values), 0.0, wanted), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", NAN_FUNCTIONS[:-2])
def test_nan_functions_of_chosen_elements(name: str) -> None:
    """Neither nan nor what is not chosen has an influence; ``initial`` is there where nothing is left."""
    x, function = sd.matrix("x", 3, 4), getattr(np, name)
    values = RNG.uniform(0.5, 1.5, (3, 4))
    values[[0, 2, 1, 0], [1, 1, 3, 2]] = np.nan
    mask = np.array([[True, True, False, True], [True, False, True, True], [True, True, True, False]])
    options = {"where": mask} | ({"initial": 0.7} if name in ("nanmax", "nanmin") else {})
    f = function(x, axis=1, **options)
    value, slope = sd.compile((f, sd.gradient(f.sum(), x)), [x], backend="interpreter")(values)
    np.testing.assert_allclose(value, function(values, axis=1, **options), rtol=1e-13)
    wanted = differences(lambda v: function(v, axis=1, **options).sum(), [values], 0)
    np.testing.assert_allclose(slope, np.where(np.isnan(values) | ~mask, 0.0, wanted), rtol=1e-8, atol=1e-9)
    if name in ("nansum", "nanprod", "nanmax", "nanmin"):
        lost = np.array([[1.0, np.nan, 2.0, 0.1]] * 2 + [[np.nan] * 4])
        got = sd.compile(function(x, axis=1, initial=0.5), [x])(lost)
        np.testing.assert_allclose(got, function(lost, axis=1, initial=0.5))
    with pytest.raises(sd.DtypeError, match="conditions"):
        function(x, where=np.ones((3, 4)), **{k: v for k, v in options.items() if k == "initial"})


def test_weights_of_logsumexp() -> None:
    """SciPy's values; a weight of 0 with a larger exponent, a negative one, no weight at all, and their slopes."""
    v, b = sd.vector("v", 3), sd.vector("b", 3)
    f = sd.logsumexp(v, b=b)
    kernel = sd.compile([f, sd.gradient(f, v), sd.gradient(f, b)], [v, b], backend="interpreter")
    for at, weights in (
        ([1000.0, 1.0, 2.0], [0.0, 1.0, 1.0]),
        ([1.0, 2.0, 3.0], [1.0, -0.5, 2.0]),
        ([-1000.0, -1001.0, 3.0], [1.0, 1.0, 0.0]),
        ([-np.inf, 1.0, 2.0], [1.0, 1.0, 1.0]),
        ([1.0, 2.0, 3.0], [0.0, 0.5, 0.0]),
    ):
        value, by_v, by_b = kernel(at, weights)
        total = special.logsumexp(at, b=weights)
        np.testing.assert_allclose(value, total, rtol=1e-14)
        gap = np.array(at) - total
        far = gap > 700  # a slope that no double has, and its weight is 0
        slopes = np.exp(np.where(far, 0.0, gap))
        np.testing.assert_allclose(by_v, np.where(far, 0.0, weights * slopes), rtol=1e-12)
        np.testing.assert_allclose(by_b[~far], slopes[~far], rtol=1e-12)
        assert np.all(by_b[far] > 1e300)
    assert kernel([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])[0] == -np.inf
    assert np.isnan(kernel([1.0, 2.0, 3.0], [0.0, -1.0, 0.0])[0])


def test_lines_of_nan() -> None:
    x = sd.array("x", (2, 3))
    values = np.array([[np.nan] * 3, [1.0, 2.0, np.nan]])
    with np.errstate(all="ignore"):
        for name, wanted in (("nanmax", 2.0), ("nanmin", 1.0), ("nanmean", 1.5), ("nanvar", 0.25), ("nanstd", 0.5)):
            kernel = sd.compile(getattr(np, name)(x, axis=1), [x], backend="interpreter")
            np.testing.assert_array_equal(kernel(values), [np.nan, wanted])
    assert sd.compile(np.nanvar(x, axis=1, ddof=2), [x], backend="numpy")(values)[1] != 0.0


# ---------------------------------------------------------------------------- select
# NumPy's select on symbols and in text: NumPy itself is the reference.


SHAPES: list[tuple[int, ...]] = [(), (3,), (1,), (2, 3), (2, 1)]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_it_is_numpys(data: st.DataObject) -> None:
    """Conditions and choices of any shapes that broadcast, numbers among them; the first true condition counts."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    symbols: dict[str, sd.Array] = {}
    numbers: dict[str, Any] = {}

    def draw(kind: str) -> tuple[Any, Any]:
        if kind == "choice" and data.draw(st.booleans()):
            return 2.5, 2.5
        name = f"x{len(symbols)}"
        shape = data.draw(st.sampled_from(SHAPES))
        symbols[name], numbers[name] = sd.array(name, shape), rng.integers(-2, 3, shape).astype(float)
        if kind == "condition":
            return symbols[name] > 0, np.asarray(numbers[name] > 0)
        return 1 / symbols[name], 1 / np.asarray(numbers[name])

    with np.errstate(divide="ignore"):
        count = data.draw(st.integers(1, 3))
        conditions = [draw("condition") for _ in range(count)]
        choices = [draw("choice") for _ in range(count)]
        default = data.draw(st.booleans())
        last: Any = draw("choice") if default else (0, 0)
        given_default = {"default": last[0]} if default else {}
        made = np.select([c for c, _ in conditions], [c for c, _ in choices], **given_default)
        wanted = np.select([c for _, c in conditions], [c for _, c in choices], default=last[1])
        assert isinstance(made, sd.Array)
        assert made.shape == wanted.shape
        for backend in ("interpreter", "numpy"):
            kernel = sd.compile(made, list(symbols.values()), backend=backend)
            np.testing.assert_array_equal(kernel(inputs=numbers), wanted)


def test_in_text() -> None:
    kernel = sd.compile("select([x > 1, x > 0], [x, 10], -x)", x=4, backend="interpreter")
    np.testing.assert_array_equal(kernel([2.0, 0.5, 0.0, -3.0]), [2.0, 10.0, 0.0, 3.0])
    assert sd.compile("select([x > 1], [x], default=7)", backend="interpreter")(0.0) == 7.0
    assert sd.compile("select([x > 1], [[x, 2]])", backend="interpreter")(3.0).tolist() == [3.0, 2.0]


def test_what_is_not_chosen_is_not_observed() -> None:
    for slope in ("gradient", "hessian"):
        kernel = sd.compile(f"{slope}(select([x > 0, x < -1], [x * log(x), sqrt(-1 - x)], x**2), x)", backend="native")
        x = np.array([0.5, 0.0, -0.5, -2.0])
        first, second = [np.log(0.5) + 1, 0, -1, -0.5], [2, 2, 2, -0.25]
        np.testing.assert_allclose(kernel(x), first if slope == "gradient" else second)


def test_conditions_are_chosen_as_conditions() -> None:
    x = sd.scalar("x")
    assert np.select([x > 0], [x > 1], default=False).dtype == bool
    assert np.select([x > 0], [x > 1]).dtype == float  # the default is the number 0, as in NumPy
    assert np.select(condlist=[x > 0, True], choicelist=[x, 3.0]).shape == ()


REFUSED: list[tuple[Callable[[sd.Array], Any], type[SymdiffError], str]] = [
    (lambda v: np.select([v], [v]), DtypeError, "condition 0 is of real numbers"),
    (lambda v: np.select([v > 0, v > 1], [v]), ArgumentError, "2 conditions and 1 choices"),
    (lambda v: np.select([], [v]), ArgumentError, "0 conditions"),
    (lambda v: np.select([v > 0], [sd.vector("w", 4)]), ShapeError, "do not broadcast"),
    (lambda v: sd.select(v[0] > 0, 1.0, 2.0), ArgumentError, "expected lists"),
    (lambda v: sd.compile("select(x > 0, 1, 2)"), ArgumentError, "expected lists"),
    (lambda v: sd.compile("select([x > 0], [1], other=2)"), ParseError, "no argument 'other'"),
]


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_what_is_refused(place: int) -> None:
    call, error, words = REFUSED[place]
    with pytest.raises(error, match=words):
        call(sd.vector("v", 3))


@settings(max_examples=6, deadline=None)
@given(n=st.integers(130, 300), m=st.integers(17, 300), mode=st.sampled_from(["full", "same", "valid"]))
def test_convolutions_with_kernels_of_any_length(n: int, m: int, mode: Any) -> None:
    """Sums of moved arrays, a product with a matrix, or blocks and what is left over."""
    x, w = sd.vector("x", n), sd.vector("w", m)
    y = np.convolve(x, w, mode)
    rng = np.random.default_rng(n + m)
    a, b, c = rng.normal(size=n), rng.normal(size=m), rng.normal(size=y.shape[0])
    kernel = sd.compile([y, *sd.gradient(np.sum(c * y), (x, w))], [x, w], batch=[], backend="interpreter")
    value, by_x, by_w = kernel(a, b)
    np.testing.assert_allclose(value, np.convolve(a, b, mode), rtol=1e-10, atol=1e-10)
    # linear in each: the slope times a direction is the value there
    np.testing.assert_allclose(by_x @ a, c @ value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(by_w @ b, c @ value, rtol=1e-9, atol=1e-9)
    direction = rng.normal(size=n)
    np.testing.assert_allclose(by_x @ direction, c @ np.convolve(direction, b, mode), rtol=1e-8, atol=1e-8)
