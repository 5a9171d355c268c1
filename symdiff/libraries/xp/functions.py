"""Functions of the array API standard, in its chapters: elements, creation, dtypes, shapes, searching and statistics.

Each calls an operation of the library. Results that depend on numbers (a position, a count of distinct values) are
computed of arrays made of numbers alone.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any, NamedTuple

import numpy as np

from ...errors import ArgumentError, ShapeError, UnsupportedError
from ...frontend.array import Array, call
from ...frontend.array import asarray as of_values
from ...frontend.numpy.creation import check_device, dtype_of, like
from ...frontend.numpy.library import LIBRARY
from ...frontend.numpy.shaping import parse_shape, shown
from ...graph import broadcast_shapes as broadcast
from ...graph.scalars.functions import to_real
from ...ground.advice import REFUSED

__all__ = ["among", "of_numbers", "parts_of_numbers", "plain", "run", "run_parts"]


#: Functions whose results are indices in the standard; NumPy's function gives numbers of a formula.
_OF_NUMBERS = {
    **{
        name: f"the position is not known before the call; np.{name}(x) gives it as a number, no index; use max or min"
        for name in ("argmax", "argmin")
    },
    "argsort": "the order of elements is not known before the call; np.argsort(x) gives it as numbers, and no index; "
    "write sd.arrange(y, x) for y in the order of x",
    "matrix_rank": "the rank is not known before the call; np.linalg.matrix_rank(x) gives it as a number",
}


def run(name: str, *args: Any, **options: Any) -> Array:
    """Call an operation of the library, which takes symbols and numbers; an option that is None is left out."""
    result: Array = run_parts(name, *args, **options)
    return result


def run_parts(name: str, *args: Any, **options: Any) -> Any:
    """Call an operation whose result is several arrays."""
    return call(LIBRARY[name], args, {key: value for key, value in options.items() if value is not None})


def among(x: Any, dtype: Any) -> Array:
    """Return an array in the dtype asked for; as numbers where none is, of conditions too."""
    array = of_values(x)
    return Array(to_real(array.node), array.provenance) if dtype is None else array.astype(dtype)


def plain(value: Any) -> Any:
    """Return positions as whole numbers of NumPy where they are known, and anything else as it is."""
    return value.position() if isinstance(value, Array) else value


def of_numbers(name: str, function: Callable[..., Any], x: Any, **options: Any) -> Array:
    """Compute what only numbers can tell, by NumPy's function, of an array made of numbers alone."""
    result: Array = parts_of_numbers(name, function, x, **options)
    return result


def parts_of_numbers(name: str, function: Callable[..., Any], x: Any, **options: Any) -> Any:
    """Compute what only numbers can tell, as one array or several.

    Raises
    ------
    UnsupportedError
        If it is made of symbols, with what to write instead.
    """
    numbers = of_values(x)._numbers()
    if numbers is None:
        raise UnsupportedError(f"xp.{name} of symbols: {_OF_NUMBERS.get(name) or REFUSED[name]}")
    result = function(numbers, **options)
    if isinstance(result, tuple):
        parts = [of_values(np.asarray(part)) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return of_values(np.asarray(result))


#: The dtypes that arrays may be called by, of each kind; numbers are of double precision in a formula.
KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": (),
}
#: Kinds of several.
_WIDER = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating"),
}

DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(name) for names in KINDS.values() for name in names}


def _of(given: Any) -> np.dtype[Any]:
    return given.dtype if isinstance(given, Array | np.ndarray | np.generic) else dtype_of(given)


def _copied(x: Any, dtype: Any) -> Array:
    return of_values(x).astype(dtype)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """Return numbers as they are for a real dtype, their whole parts for an integer one, or what is not 0."""
    check_device(device)
    return _copied(x, dtype)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Tell whether one dtype holds the values of another."""
    return bool(np.can_cast(_of(from_), dtype_of(to)))


def finfo(type: Any, /) -> Any:
    """Return the limits of a dtype of real numbers, or of that of an array."""
    return np.finfo(_of(type))


def iinfo(type: Any, /) -> Any:
    """Return the limits of a dtype of integers, or of that of an array."""
    return np.iinfo(_of(type))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Tell whether a dtype is another, or of a kind, or one of several."""
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, one) for one in kind)
    own = dtype_of(dtype)
    if not isinstance(kind, str):
        return own == dtype_of(kind)
    return own.name in _names(kind)


def _names(kind: str) -> tuple[str, ...]:
    if kind not in KINDS and kind not in _WIDER:
        raise ArgumentError(f"kind={shown(kind)}; expected one of {', '.join([*KINDS, *_WIDER])}")
    return tuple(name for one in _WIDER.get(kind, (kind,)) for name in KINDS[one])


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """Return the dtype of what arrays, numbers and dtypes come to together."""
    if not arrays_and_dtypes:
        raise ArgumentError("result_type of nothing; expected an array, a number or a dtype")
    given = [each if type(each) in (bool, int, float) else _of(each) for each in arrays_and_dtypes]
    return np.result_type(*given)


class Capabilities:
    """The capabilities of the namespace, as the standard's inspection asks for them."""

    def capabilities(self) -> dict[str, Any]:
        """Return what libraries may leave out: shapes are never of data."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> str:
        """Return the one device."""
        return "cpu"

    def devices(self) -> list[str]:
        """Return all devices."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> Mapping[str, np.dtype[Any]]:
        """Return the dtypes of arrays that are made without one: all numbers are of double precision."""
        check_device(device)
        return {"real floating": DTYPES["float64"], "integral": DTYPES["int64"], "indexing": DTYPES["int64"]}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> Mapping[str, np.dtype[Any]]:
        """Return the dtypes of a kind, or of several, by name."""
        check_device(device)
        kinds = tuple(KINDS) if kind is None else kind if isinstance(kind, tuple) else (kind,)
        return {name: DTYPES[name] for one in kinds for name in _names(one)}


def __array_namespace_info__() -> Capabilities:  # noqa: N807
    """Return what the namespace offers."""
    return Capabilities()


OF_DTYPES = {
    function.__name__: function
    for function in (__array_namespace_info__, astype, can_cast, finfo, iinfo, isdtype, result_type)
}


#: Functions of one array, and what the library calls those that it has under other names.
ONE = {
    **dict.fromkeys(("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1")),
    **dict.fromkeys(("floor", "isfinite", "isinf", "isnan", "log", "log1p", "log2", "log10", "logical_not")),
    **dict.fromkeys(("negative", "positive", "reciprocal", "sign", "sin", "sinh", "square", "sqrt", "tan", "tanh")),
    "bitwise_invert": "invert",
    "conj": "positive",
    "real": "positive",
    "round": "rint",
    "trunc": None,
}

#: Functions of two arrays, which broadcast.
TWO = (
    *("add", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "divide", "equal", "floor_divide"),
    *("greater", "greater_equal", "hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or"),
    *("logical_xor", "maximum", "minimum", "multiply", "not_equal", "pow", "remainder", "subtract"),
)


def _function(name: str, own: str, arguments: tuple[str, ...]) -> Callable[..., Any]:
    signature = Signature([Parameter(argument, Parameter.POSITIONAL_ONLY) for argument in arguments])

    def call(*args: Any) -> Any:
        if len(args) != len(arguments):
            raise ArgumentError(f"xp.{name} takes {len(arguments)} arrays; {len(args)} came")
        return run(own, *args)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Apply ``{own}`` element by element; docs/functions.md has its derivative."
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


OF_ELEMENTS: dict[str, Callable[..., Any]] = {
    **{name: _function(name, own or name, ("x",)) for name, own in ONE.items()},
    **{name: _function(name, name, ("x1", "x2")) for name in TWO},
}


def clip(x: Any, /, min: Any = None, max: Any = None) -> Array:
    """Limit elements to [min, max], where both or one of them may be missing."""
    array = of_values(x)
    if min is None and max is None:
        return array
    return run("clip", array, min, max)


def imag(x: Any, /) -> Array:
    """Return the imaginary part of real numbers: zeros."""
    array = of_values(x)
    return Array(like(array.node, 0.0), array.provenance)


def signbit(x: Any, /) -> Array:
    """Tell which numbers are below 0; zeros have no sign."""
    return run("less", x, 0.0)


OF_ELEMENTS |= {"clip": clip, "imag": imag, "signbit": signbit}


def _made(array: Any, dtype: Any, device: Any) -> Array:
    check_device(device)
    return of_values(array) if dtype is None else among(array, dtype)


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Array:
    """Return symbols, numbers, or (nested) lists of them as an array."""
    return _made(obj, dtype, device)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Array:
    """Return equally spaced numbers; from 0 up to a size that may be a name, ``arange("n")``."""
    given = [float(value) if isinstance(value, Array) else value for value in (start, stop, step)]
    return _made(run("arange", *(given[:1] if stop is None and step == 1 else given)), dtype, device)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Return zeros: symbols cannot be assigned to."""
    return zeros(shape, dtype=dtype, device=device)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Return zeros of the shape of an array."""
    return zeros_like(x, dtype=dtype, device=device)


def eye(n_rows: Any, n_cols: Any = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Array:
    """Return a matrix with ones on diagonal ``k``."""
    return _made(run("eye", n_rows, n_cols, k), dtype, device)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Return the numbers of another library's array."""
    check_device(device)
    return x if isinstance(x, Array) else of_values(np.from_dlpack(x))


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an array with one value everywhere, which may be a symbol."""
    return _made(run("broadcast_to", fill_value, shape), dtype, device)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an array of the shape of another with one value everywhere."""
    array = of_values(x)
    return _made(run("full_like", array, fill_value), array.dtype if dtype is None else dtype, device)


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True
) -> Array:
    """Return equally spaced numbers between two, which may be symbols."""
    return _made(run("linspace", start, stop, num, endpoint), dtype, device)


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Array, ...]:
    """Return the coordinates of the points of a grid, an array for each of the vectors given."""
    parts: tuple[Array, ...] = run_parts("meshgrid", *arrays, indexing=indexing)
    return parts


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Return ones."""
    return full(shape, 1.0, dtype=dtype, device=device)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Return ones of the shape of an array."""
    return full_like(x, 1.0, dtype=dtype, device=device)


def tril(x: Any, /, *, k: int = 0) -> Array:
    """Keep the lower triangle, up to diagonal ``k``."""
    array = of_values(x)
    return _made(run("tril", array, k), bool if array.dtype == bool else None, None)


def triu(x: Any, /, *, k: int = 0) -> Array:
    """Keep the upper triangle, from diagonal ``k``."""
    array = of_values(x)
    return _made(run("triu", array, k), bool if array.dtype == bool else None, None)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Return zeros."""
    return full(shape, 0.0, dtype=dtype, device=device)


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Return zeros of the shape of an array."""
    return full_like(x, 0.0, dtype=dtype, device=device)


CREATION = {
    function.__name__: function
    for function in (
        *(asarray, arange, empty, empty_like, eye, from_dlpack, full, full_like, linspace, meshgrid),
        *(ones, ones_like, tril, triu, zeros, zeros_like),
    )
}


def _sameness(array: Array, *sources: Any) -> Array:
    """Return an array as conditions where all its parts are conditions, since a join of conditions has numbers."""
    return array.astype(bool) if builtins.all(of_values(source).dtype == bool for source in sources) else array


def broadcast_arrays(*arrays: Any) -> tuple[Array, ...]:
    """Return arrays in the one shape that they broadcast to."""
    parts: tuple[Array, ...] = run_parts("broadcast_arrays", *arrays)
    return parts


def broadcast_shapes(*shapes: Any) -> tuple[Any, ...]:
    """Return the one shape that shapes broadcast to."""
    return broadcast([parse_shape(shape) for shape in shapes])


def broadcast_to(x: Any, /, shape: Any) -> Array:
    """Return an array in a shape that it broadcasts to."""
    return run("broadcast_to", x, shape)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Array:
    """Join arrays along an axis; as vectors, for None."""
    return _sameness(run("concatenate", list(arrays), axis), *arrays)


def expand_dims(x: Any, /, axis: Any = 0) -> Array:
    """Put an axis of size 1 at a position."""
    return run("expand_dims", x, axis)


def flip(x: Any, /, *, axis: Any = None) -> Array:
    """Reverse the order along axes."""
    return run("flip", x, axis)


def moveaxis(x: Any, source: Any, destination: Any, /) -> Array:
    """Move axes to other positions."""
    return run("moveaxis", x, source, destination)


def permute_dims(x: Any, /, axes: Any) -> Array:
    """Put the axes in another order."""
    return run("transpose", x, axes)


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Array:
    """Repeat each element, as often as one number says, or one for each element."""
    return run("repeat", x, plain(repeats), axis)


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Array:
    """Return the elements in C order in another shape."""
    return run("reshape", x, shape)


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Array:
    """Shift elements along axes, the last ones coming back first."""
    return run("roll", x, shift, axis)


def squeeze(x: Any, /, axis: Any) -> Array:
    """Drop axes of size 1."""
    return run("squeeze", x, axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Array:
    """Join arrays along a new axis."""
    return _sameness(run("stack", list(arrays), axis), *arrays)


def tile(x: Any, repetitions: Any, /) -> Array:
    """Repeat the whole array along each axis."""
    return run("tile", x, repetitions)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Cut along an axis, whose size must be known, into the arrays without it."""
    parts: tuple[Array, ...] = run_parts("unstack", x, axis=axis)
    return parts


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Array:
    """Take positions along an axis: known ones, or an integer input's."""
    array = of_values(x)
    if axis is None and array.ndim != 1:
        raise ShapeError(f"xp.take of an array with {array.ndim} axes without axis=; expected one, or a vector")
    return run("take", array, plain(indices), 0 if axis is None else axis)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Array:
    """Take for each line along an axis the positions that stand in the same line."""
    at = plain(indices)
    return run("take_along_axis", x, at if isinstance(at, np.ndarray) else indices, axis)


SHAPING = {
    function.__name__: function
    for function in (
        *(broadcast_arrays, broadcast_shapes, broadcast_to, concat, expand_dims, flip, moveaxis, permute_dims),
        *(repeat, reshape, roll, squeeze, stack, tile, unstack, take, take_along_axis),
    )
}


# ---------------------------------------------------------------------------- searching


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the positions of maxima."""
    return of_numbers("argmax", np.argmax, x, axis=axis, keepdims=keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the positions of minima."""
    return of_numbers("argmin", np.argmin, x, axis=axis, keepdims=keepdims)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    """Count what is not 0: a number whose derivative is 0."""
    return run("count_nonzero", x, axis, keepdims=keepdims)


def nonzero(x: Any, /) -> tuple[Array, ...]:
    """Return the positions of what is not 0, a vector for each axis."""
    parts: tuple[Array, ...] = parts_of_numbers("nonzero", np.nonzero, x)
    return parts


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Array:
    """Return before how many elements of a sorted vector others would stand: a number whose derivative is 0."""
    table = x1 if sorter is None else of_values(x1)[plain(of_values(sorter))]
    return run("searchsorted", table, x2, side=side)


def where(condition: Any, x1: Any, x2: Any, /) -> Array:
    """Choose element by element."""
    return run("where", condition, x1, x2)


# ---------------------------------------------------------------------------- sorting and sets


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the positions that put elements in order."""
    return of_numbers("argsort", _descending if descending else _ascending, x, axis=axis)


def _ascending(x: Any, axis: int) -> Any:
    return np.argsort(x, axis=axis, kind="stable")


def _descending(x: Any, axis: int) -> Any:
    backward = np.flip(_ascending(np.flip(x, axis), axis), axis)  # equal elements keep their order
    return x.shape[axis] - 1 - backward


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Put elements in order; the derivative at equal ones is the mean over all orders of the tie."""
    ordered: Array = run("sort", x, axis)
    if descending:
        ordered = run("flip", ordered, axis)
    return ordered


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Array:
    """Tell which elements equal one of some constants."""
    return run("isin", x1, x2, invert=invert)


class Unique(NamedTuple):
    """The result of :func:`unique_all`, with the standard's names."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class Counted(NamedTuple):
    """The result of :func:`unique_counts`, with the standard's names."""

    values: Any
    counts: Any


class Inverse(NamedTuple):
    """The result of :func:`unique_inverse`, with the standard's names."""

    values: Any
    inverse_indices: Any


def _unique(x: Any) -> Unique:
    values, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    return Unique(values, first, np.reshape(inverse, x.shape), counts)


def unique_all(x: Any, /) -> Any:
    """Return the distinct values, the index where each is first, the inverse indices, and the counts."""
    return parts_of_numbers("unique_all", _unique, x)


def unique_counts(x: Any, /) -> Any:
    """Return distinct values, and how often each is there."""
    found = parts_of_numbers("unique_counts", _unique, x)
    return Counted(found.values, found.counts)


def unique_inverse(x: Any, /) -> Any:
    """Return distinct values, and which of them each element is."""
    found = parts_of_numbers("unique_inverse", _unique, x)
    return Inverse(found.values, found.inverse_indices)


def unique_values(x: Any, /) -> Array:
    """Return distinct values."""
    values: Array = parts_of_numbers("unique_values", _unique, x).values
    return values


# ---------------------------------------------------------------------------- statistics


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """Multiply up along an axis."""
    return among(run("cumulative_prod", x, axis, include_initial=include_initial), dtype)


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """Sum up along an axis."""
    return among(run("cumulative_sum", x, axis, include_initial=include_initial), dtype)


def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    """Take the largest element over axes."""
    return run("max", x, axis, keepdims=keepdims)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    """Take the mean over axes."""
    return run("mean", x, axis, keepdims=keepdims)


def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    """Take the smallest element over axes."""
    return run("min", x, axis, keepdims=keepdims)


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """Multiply over axes."""
    return among(run("prod", x, axis, keepdims=keepdims), dtype)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Take the standard deviation over axes, of the count less ``correction``."""
    return run("std", x, axis, ddof=correction, keepdims=keepdims)


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """Sum over axes."""
    return among(run("sum", x, axis, keepdims=keepdims), dtype)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Take the variance over axes, of the count less ``correction``."""
    return run("var", x, axis, ddof=correction, keepdims=keepdims)


# ---------------------------------------------------------------------------- utility


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    """Tell whether a condition holds everywhere over axes."""
    return run("all", x, axis, keepdims=keepdims)


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    """Tell whether a condition holds anywhere over axes."""
    return run("any", x, axis, keepdims=keepdims)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Array:
    """Subtract neighbours along an axis, n times."""
    return run("diff", x, n, axis, prepend=prepend, append=append)


SEARCHING = {
    function.__name__: function
    for function in (
        *(argmax, argmin, count_nonzero, nonzero, searchsorted, where, argsort, sort, isin),
        *(unique_all, unique_counts, unique_inverse, unique_values),
        *(cumulative_prod, cumulative_sum, max, mean, min, prod, std, sum, var, all, any, diff),
    )
}
