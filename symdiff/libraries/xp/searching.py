"""Functions of the standard that search, sort, compare sets and reduce.

What only numbers can tell (a position, a count of distinct values) is computed of arrays made of numbers alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...frontend.array import Array
from ...frontend.array import asarray as of_values
from .calls import among, of_numbers, parts_of_numbers, plain, run

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
    """What :func:`unique_all` gives, with the standard's names."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class Counted(NamedTuple):
    """What :func:`unique_counts` gives, with the standard's names."""

    values: Any
    counts: Any


class Inverse(NamedTuple):
    """What :func:`unique_inverse` gives, with the standard's names."""

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


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
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


FUNCTIONS = {
    function.__name__: function
    for function in (
        *(argmax, argmin, count_nonzero, nonzero, searchsorted, where, argsort, sort, isin),
        *(unique_all, unique_counts, unique_inverse, unique_values),
        *(cumulative_prod, cumulative_sum, max, mean, min, prod, std, sum, var, all, any, diff),
    )
}
