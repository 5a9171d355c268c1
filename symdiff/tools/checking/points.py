"""Numbers for the inputs of a formula: random points to evaluate and differentiate at, as inputs are declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...compiler import compile
from ...errors import SingularMatrixError
from ...frontend.array import Array
from ...graph import Node, inputs_of, postorder
from ...graph.primitives import Assumptions

__all__ = ["Draw", "Systems", "conform", "definite", "projected", "ways_to_draw"]


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


#: Takes a shape and gives numbers.
Draw: TypeAlias = Callable[[tuple[int, ...]], npt.NDArray[np.floating[Any]]]
#: Operations that have no value, or no derivative, where their first matrix is singular.
_OF_REGULAR = ("cholesky", "inv", "logdet", "solve")
#: Condition of a matrix beyond which differences tell nothing of derivatives with respect to it.
_WORST_CONDITION = 1e10
#: Mixed ways that are tried when no single one will do.
_MIXED = 40


def ways_to_draw(rng: np.random.Generator) -> Iterator[Draw]:
    """Give ways of drawing an array: a formula may need numbers in (0, 1), or definite matrices."""
    kinds: list[Draw] = [
        lambda shape: rng.normal(size=shape),
        lambda shape: rng.uniform(0.2, 0.9, shape),
        lambda shape: rng.uniform(1.1, 3.0, shape),
        lambda shape: definite(rng, shape),
    ]

    def mixed(shape: tuple[int, ...]) -> npt.NDArray[np.floating[Any]]:
        return kinds[int(rng.integers(len(kinds)))](shape)

    yield from kinds
    for _ in range(_MIXED):  # each array in a way of its own
        yield mixed


def definite(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.floating[Any]]:
    """Draw positive definite matrices where the shape allows them."""
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return rng.uniform(0.2, 0.9, shape)
    half = rng.uniform(0.0, 1.0, shape)
    return np.asarray(half @ half.swapaxes(-1, -2) + np.eye(shape[-1]))


class Systems:
    """The matrices that a formula inverts or factorizes.

    Rounding makes a regular matrix of a singular one: ``A.T @ A`` of a wide ``A`` has values and derivatives that mean
    nothing, and differ.

    Parameters
    ----------
    outputs : sequence of Node
    """

    def __init__(self, outputs: Sequence[Node]) -> None:
        found = [part.args[0] for part in postorder(outputs) if part.op in _OF_REGULAR]
        matrices = [matrix for matrix in dict.fromkeys(found) if inputs_of([matrix])]
        self._names = [str(node.name) for node in inputs_of(matrices)]
        self._matrices = compile(list(map(Array, matrices)), backend="interpreter") if matrices else None

    def are_regular(self, point: Mapping[str, npt.NDArray[Any]]) -> bool:
        """Tell whether they are, at some numbers of the inputs."""
        if self._matrices is None:
            return True
        try:
            found = self._matrices(inputs={name: point[name] for name in self._names})
        except SingularMatrixError:
            return False
        conditions = [np.linalg.cond(one) for one in found if np.size(one)]
        return all(bool((condition < _WORST_CONDITION).all()) for condition in conditions)
