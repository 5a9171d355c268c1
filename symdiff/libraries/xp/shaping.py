"""Functions of the standard that move elements, and take them by position."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ShapeError
from ...frontend.array import Array
from ...frontend.array import asarray as of_values
from ...frontend.numpy.shaping import parse_shape
from ...graph import broadcast_shapes as broadcast
from .calls import plain, run, run_parts


def _sameness(array: Array, *sources: Any) -> Array:
    """Return an array as conditions where all its parts are conditions, since a join of conditions has numbers."""
    return array.astype(bool) if all(of_values(source).dtype == bool for source in sources) else array


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


FUNCTIONS = {
    function.__name__: function
    for function in (
        *(broadcast_arrays, broadcast_shapes, broadcast_to, concat, expand_dims, flip, moveaxis, permute_dims),
        *(repeat, reshape, roll, squeeze, stack, tile, unstack, take, take_along_axis),
    )
}
