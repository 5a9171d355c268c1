"""Random numbers for the inputs of a formula, such as it can be evaluated and differentiated at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...compiler import compile
from ...errors import SingularMatrixError
from ...frontend.array import Array
from ...graph import Node, inputs_of, postorder

__all__ = ["Draw", "Systems", "definite", "ways_to_draw"]

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
