"""Functions of the elements along one axis whose results have the same axis: running products and extrema, sorting."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def cumprod(x: Array, axis: int, reverse: bool) -> Array:
    """Return the products of all elements so far along ``axis``, from the end when ``reverse``."""
    return _accumulated(np.multiply, x, axis, reverse)


def cummax(x: Array, axis: int, reverse: bool) -> Array:
    """Return the largest of all elements so far along ``axis``, from the end when ``reverse``."""
    return _accumulated(np.maximum, x, axis, reverse)


def cummin(x: Array, axis: int, reverse: bool) -> Array:
    """Return the smallest of all elements so far along ``axis``, from the end when ``reverse``."""
    return _accumulated(np.minimum, x, axis, reverse)


def _accumulated(function: np.ufunc, x: Array, axis: int, reverse: bool) -> Array:
    turned = np.flip(x, axis) if reverse else x
    found: Array = function.accumulate(turned, axis)
    return np.flip(found, axis) if reverse else found


def sort(x: Array, axis: int, reverse: bool) -> Array:
    """Return the elements along ``axis`` in ascending order, nan last; of the turned axis, turned, when ``reverse``."""
    found = np.sort(x, axis)
    return np.flip(found, axis) if reverse else found


def arrange(x: Array, key: Array, axis: int, back: bool) -> Array:
    """Return elements in the order of ``key`` along ``axis`` (negative), or ``back`` from it; of ties the mean."""
    lines = np.moveaxis(key, axis, -1)
    order = np.argsort(lines, axis=-1, kind="stable")
    ordered = np.take_along_axis(lines, order, -1)
    with np.errstate(invalid="ignore"):
        same = (ordered[..., 1:] == ordered[..., :-1]) | (np.isnan(ordered[..., 1:]) & np.isnan(ordered[..., :-1]))
    values = np.moveaxis(x, axis, -1)
    shape = np.broadcast_shapes(values.shape, order.shape)
    values, order = np.broadcast_to(values, shape), np.broadcast_to(order, shape)
    if back:
        result = np.empty(shape)
        np.put_along_axis(result, order, _mean_of_ties(values, same), -1)
    else:
        result = _mean_of_ties(np.take_along_axis(values, order, -1), same)
    return np.moveaxis(result, -1, axis)


def arrange_each(x: Array, key: Array, axis: int, back: bool) -> Array:
    """Return :func:`arrange` of samples, whose axis stands first in both: 1, or common to the others."""
    lead = [1] * (x.ndim - key.ndim)
    return arrange(x, key.reshape(key.shape[0], *lead, *key.shape[1:]), axis, back)


def _mean_of_ties(x: Array, same: npt.NDArray[np.bool_]) -> Array:
    """Return the mean of neighbours along the last axis that are the same as the one before."""
    if not same.any():
        return x
    starts = np.ones(x.shape, bool)
    starts[..., 1:] = ~same
    first = np.flatnonzero(starts)
    means = np.add.reduceat(x.ravel(), first) / np.diff(first, append=x.size)
    result: Array = means[np.cumsum(starts) - 1].reshape(x.shape)
    return result
