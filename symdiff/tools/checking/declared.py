"""Numbers that are what an input is declared to be: points to check at, and directions to move in."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...graph.primitives import Assumptions

__all__ = ["conform", "projected"]

Numbers: TypeAlias = npt.NDArray[Any]
#: Least eigenvalue of a matrix that is declared definite.
_LEAST = 1e-2


def conform(known: Assumptions, array: Numbers) -> Numbers:
    """Return numbers near by that are what is declared.

    Examples
    --------
    >>> conform(Assumptions(skew=True), np.array([[1.0, 3.0], [1.0, 0.0]]))
    array([[ 0.,  1.],
           [-1.,  0.]])
    """
    if any(known.of_matrices) and array.size:
        array = projected(known.space, array)
        if known.definite:
            values, vectors = np.linalg.eigh(array)
            array = (vectors * np.maximum(values, _LEAST)[..., None, :]) @ vectors.swapaxes(-1, -2)
        elif known.orthogonal and known.diagonal:
            array = projected("diagonal", np.where(array < 0, -1.0, 1.0))
        elif known.orthogonal and known.symmetric:
            values, vectors = np.linalg.eigh(array)
            array = (vectors * np.where(values < 0, -1.0, 1.0)[..., None, :]) @ vectors.swapaxes(-1, -2)
        elif known.orthogonal:  # triangular ones are diagonal; skew ones of an odd number of rows do not exist
            left, _, right = np.linalg.svd(projected("diagonal", array) if known.lower or known.upper else array)
            array = left @ right
        if known.correlation:
            scale = np.sqrt(np.diagonal(array, axis1=-2, axis2=-1))
            array = np.where(np.eye(array.shape[-1], dtype=bool), 1.0, array / scale[..., None] / scale[..., None, :])
        array = projected(known.space, array)  # exactly
    if known.between:
        low, high = known.between
        ends = (max(low, min(high, 0.0) - 4.0), min(high, max(low, 0.0) + 4.0))
        array = ends[0] + (ends[1] - ends[0]) * (0.5 + np.arctan(array) / np.pi)
    if known.simplex:
        array = np.abs(array) / np.abs(array).sum(-1, keepdims=True)
    if known.ordered:
        array = np.sort(array, -1)
    return np.maximum(np.abs(array), np.finfo(float).tiny) if known.positive else array


def projected(space: str, array: Numbers) -> Numbers:
    """Return the matrices of a linear space that are nearest to those in the last two axes."""
    turned = array.swapaxes(-1, -2) if space in ("symmetric", "skew") else array
    match space:
        case "symmetric":
            return np.asarray(0.5 * (array + turned))
        case "skew":
            return np.asarray(0.5 * (array - turned))
        case "diagonal":
            return np.where(np.eye(array.shape[-1], dtype=bool), array, 0.0)
        case "lower":
            return np.tril(array)
        case "upper":
            return np.triu(array)
    return array
