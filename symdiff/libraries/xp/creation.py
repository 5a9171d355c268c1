"""Functions of the standard that make arrays, of numbers or of symbols."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...frontend.array import Array
from ...frontend.array import asarray as of_values
from ...frontend.numpy.shaping import check_device
from .calls import among, run, run_parts


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


FUNCTIONS = {
    function.__name__: function
    for function in (
        *(asarray, arange, empty, empty_like, eye, from_dlpack, full, full_like, linspace, meshgrid),
        *(ones, ones_like, tril, triu, zeros, zeros_like),
    )
}
