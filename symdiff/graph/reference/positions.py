"""Elements taken at positions that a call brings, and added up at them: what runs, for whole arrays at once.

Positions lie in range: a call is refused before anything is computed where they do not
(:mod:`symdiff.runtime.calls.declared`). Whoever calls these functions in another way is refused here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import ShapeError

Array = npt.NDArray[Any]


def _checked(at: Array, size: int) -> Array:
    if at.size and not 0 <= at.min() <= at.max() < size:
        raise ShapeError(f"an index is out of range for an axis of size {size}; expected 0 to {size - 1}")
    return at.astype(np.intp, copy=False)


def take(x: Array, at: Array, axis: int, shared: int) -> Array:
    """Take positions of an axis.

    Parameters
    ----------
    x : ndarray, shape (..., *M, N, ...)
    at : ndarray, shape (*M, *K)
    axis : int
        That of length N, negative.
    shared : int
        Number of axes M.

    Returns
    -------
    ndarray, shape (..., *M, *K, ...)
    """
    at = _checked(at, x.shape[axis])
    if not shared:
        return np.take(x, at, axis=axis)
    place = axis + x.ndim
    lead, own, rest = x.shape[: place - shared], at.shape[:shared], x.shape[place + 1 :]
    rows = x.reshape(math.prod(lead), math.prod(own), x.shape[axis], math.prod(rest))
    lines = at.reshape(rows.shape[1], math.prod(at.shape[shared:]))
    taken: Array = rows[:, np.arange(len(lines))[:, None], lines]
    return taken.reshape(*lead, *at.shape, *rest)


def put(x: Array, at: Array, size: int, axis: int, shared: int) -> Array:
    """Add the slices of ``x`` into zeros, in order.

    Parameters
    ----------
    x : ndarray, shape (..., *M, *K, ...)
    at : ndarray, shape (*M, *K)
    size : int
        Length of the axis that positions are of.
    axis : int
        That axis of the result, negative.
    shared : int
        Number of axes M.

    Returns
    -------
    ndarray, shape (..., *M, size, ...)
    """
    at = _checked(at, size)
    end = x.ndim + axis + 1
    lead, rest = x.shape[: end - at.ndim], x.shape[end:]
    own = at.shape[:shared]
    outer, lines, inner = math.prod(lead), math.prod(own), math.prod(rest)
    # one sum for each element of the result, over all elements of x that go there
    first = np.arange(outer * lines).reshape(outer, lines, 1) * size
    targets = (first + at.reshape(1, lines, math.prod(at.shape[shared:])))[..., None] * inner + np.arange(inner)
    sums: Array = np.bincount(targets.ravel(), x.ravel(), outer * lines * size * inner)
    return sums.reshape(*lead, *own, size, *rest).astype(x.dtype, copy=False)


def take_each(x: Array, at: Array, axis: int, shared: int) -> Array:
    """Take positions of an axis, each array with a batch axis in front, of length 1 for what samples share."""
    if len(at) == 1:
        return take(x, at[0], axis, shared)
    place = x.ndim + axis - shared - 1
    if len(x) == 1:
        result = take(x[0], np.moveaxis(at, 0, shared), axis, shared)
        return np.moveaxis(result, place + shared, 0)
    moved = np.moveaxis(x, 0, place)
    whole = take(moved, np.moveaxis(at, 0, 0), axis, shared + 1)
    return np.moveaxis(whole, place, 0)


def put_each(x: Array, at: Array, size: int, axis: int, shared: int) -> Array:
    """Add slices into zeros, each array with a batch axis in front, of length 1 for what samples share."""
    if len(at) == 1:
        return put(x, at[0], size, axis, shared)
    if len(x) == 1:
        x = np.broadcast_to(x, (len(at), *x.shape[1:]))
    place = x.ndim + axis + 1 - (at.ndim - 1) - 1
    whole = put(np.moveaxis(x, 0, place), at, size, axis, shared + 1)
    return np.moveaxis(whole, place, 0)
