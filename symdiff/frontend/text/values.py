"""Values of terms that are no single array yet: numbers, and lists and tuples of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ParseError, ShapeError
from ...graph import Node, placeholder, substitute
from ...graph.sizes import Shape
from ..array import Array, asarray
from ..outputs import Sparse, leaves
from .indexed import Axis, Indexed


@dataclass(frozen=True)
class Listing:
    """A list in brackets, before it becomes an array, an index or the arguments of ``stack``."""

    items: list[Any]
    levels: int
    rank: int  # the largest of its leaves' ranks: 0 whole numbers, 1 numbers, 2 arrays, 3 tuples
    misplaced: int = -1  # the first term that is a tuple, which is no part of an array


@dataclass(frozen=True)
class Mapped:
    """A function of a letter, ``x -> exp(x)``: of a number for ``funm``, of an array where a start says its shape."""

    variable: Node
    body: Array

    @classmethod
    def of(cls, name: str, shape: Shape = ()) -> Node:
        """Return what stands for an array of this name."""
        return placeholder(("mapped", name), shape)

    def __call__(self, x: Array) -> Array:
        """Return the function of a symbol."""
        return Array(substitute([self.body.node], {self.variable: x.node})[0])


@dataclass(frozen=True)
class Shifted:
    """Positions of an integer input and a whole number together, ``i + 1`` in ``x[i + 1]``."""

    positions: Array
    by: int

    def of(self, x: Array, axis: int) -> Array:
        """Return an array of which the positions alone take the same as these of ``x``."""
        ahead = (slice(None),) * axis
        if self.by >= 0:
            return x[(*ahead, slice(self.by, None))]
        if isinstance(x.shape[axis], int) and -self.by > x.shape[axis]:
            raise ShapeError(f"positions {-self.by} in front of those of an axis of length {x.shape[axis]}")
        before: Array = np.concatenate([x[(*ahead, slice(self.by, None))], x], axis)  # type: ignore[assignment]
        return before


def levels_of(value: Any) -> int:
    """Return how deep tuples and lists are nested in each other."""
    return 1 + max(map(levels_of, value), default=0) if isinstance(value, tuple | list) else 0


def shape_of(value: Any) -> Shape | None:
    """Return the shape of an array, number or list of such; None where no array is made of it."""
    if not isinstance(value, list):
        return value.shape if isinstance(value, Array) else None if isinstance(value, tuple) else ()
    first, *rest = map(shape_of, value) if value else [None]
    return None if first is None or any(shape != first for shape in rest) else (len(value), *first)


def results_of(value: Any) -> Any:
    """Return several results, nested as they are written; a list is an array where its parts have one shape."""
    if isinstance(value, tuple):
        if not value:
            raise ParseError("an empty tuple among the results; expected formulas")
        return tuple(map(results_of, value))
    if not isinstance(value, list):
        return asarray(value)
    if not any(isinstance(leaf, Array) for leaf in leaves(value)):
        return matrix_of(value)
    return asarray(value) if shape_of(value) is not None else list(map(results_of, value))


def matrix_of(rows: list[Any]) -> Array:
    """Return rows of numbers as an array."""
    try:
        numbers = np.array(rows, float)
    except ValueError:
        raise ShapeError("the rows of this matrix differ in length; expected equal lengths") from None
    return asarray(numbers)


def ndim_of(value: Any) -> int:
    """Return the number of axes of a value; a plain number has none."""
    return value.ndim if isinstance(value, Array) else 0


def described(value: Any) -> str:
    """Return how a message calls a value."""
    if isinstance(value, Array | Listing):
        return "a formula"
    if isinstance(value, Sparse):
        return "a sparse matrix, which products make vectors of"
    if isinstance(value, Indexed | Axis):
        return "elements by index" if isinstance(value, Indexed) else f"the index {value.name}"
    if isinstance(value, Shifted):
        return "positions, which stand in an index"
    if isinstance(value, Mapped):
        return "a function of a letter"
    if isinstance(value, tuple | slice):
        return f"a {type(value).__name__}"
    return "'...'" if value is ... else repr(value)


def shortened(text: str, length: int) -> str:
    """Return a text without its middle where it is longer than a message takes."""
    half = length // 2 - 2
    return text if len(text) <= length else f"{text[:half]} ... {text[-half:]}"


def no_index(value: Any) -> str:
    """Say of a value that it is no index, and what to write."""
    message = "expected a whole number, a slice, None, ... or a list of whole numbers as index, found "
    if isinstance(value, Listing):
        return f"{message}a list with other things; take elements one by one, as in [x[0], x[i]]"
    if isinstance(value, Array):
        return (
            f"{message}a formula; declare positions that a call brings: i=int for one, i=(int, 'm') for several (to "
            "choose by a condition, write where)"
        )
    return message + described(value)
