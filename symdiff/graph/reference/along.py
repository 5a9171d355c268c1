"""Functions of the elements along one axis whose results have the same axis: running products and extrema."""

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
