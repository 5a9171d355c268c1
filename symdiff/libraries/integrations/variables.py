"""Arrays in any structure as the one vector that optimizers and solvers move, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...errors import ShapeError
from ...frontend.outputs import pack, unpack
from ...graph.primitives import NOTHING_KNOWN, Assumptions
from ...graph.sizes import Shape, Size, show, value
from ...runtime.calls.arguments import as_floats
from .free_entries import count, free_positions, spread

__all__ = ["Point", "Variables", "in_square", "point_of"]

Floats = npt.NDArray[np.float64]


#: The numbers of inputs, bit by bit, with their shapes and types.
Point: TypeAlias = list[tuple[tuple[int, ...], str, bytes]]


def point_of(inputs: Sequence[npt.NDArray[Any]], most: int) -> Point | None:
    """Return what tells whether inputs are those of the call before, or None if they are more than ``most`` bytes.

    Bits are compared and not numbers: at -0.0 a formula may have another value than at 0.0.
    """
    if sum([one.nbytes for one in inputs]) > most:
        return None
    return [(one.shape, one.dtype.char, one.tobytes()) for one in inputs]


def in_square(blocks: Any, lengths: Sequence[int]) -> Floats:
    """Return the Hessian by all variables in one, of the Hessians by two of them (of one alone, of it itself)."""
    total = sum(lengths)
    if len(lengths) == 1:
        return np.asarray(blocks, np.float64).reshape(total, total)
    result = np.empty((total, total))
    places = [slice(end - n, end) for n, end in zip(lengths, accumulate(lengths), strict=True)]
    for rows, m, row in zip(places, lengths, blocks, strict=True):
        for columns, n, block in zip(places, lengths, row, strict=True):
            result[rows, columns] = block.reshape(m, n)
    return result


class Variables:
    """The variables of an objective.

    Parameters
    ----------
    template : template
        Their structure, as :mod:`symdiff.frontend.outputs` says.
    names : sequence of str
    shapes : sequence of shape
        Letters for sizes are known from the other inputs; one more is told by the length of the vector.
    facts : sequence of Assumptions, optional
        What is declared of each, where the vector holds the free entries alone.
    """

    def __init__(
        self, template: Any, names: Sequence[str], shapes: Sequence[Shape], facts: Sequence[Assumptions] | None = None
    ) -> None:
        self.template = template
        self.names, self.shapes = tuple(names), tuple(shapes)
        self.facts = None if facts is None or not any(map(any, facts)) else tuple(facts)
        self._is_fixed = not any(isinstance(size, Size) for shape in self.shapes for size in shape)
        self._is_vector = self.facts is None and len(self.shapes) == 1 and len(self.shapes[0]) == 1

    def join(self, structure: Any) -> Floats:
        """Return the variables as one vector.

        Raises
        ------
        ArgumentError, ShapeError
            If the structure, or the shape of a variable, is another one.
        """
        parts = []
        every = zip(self.names, self.shapes, self._known, unpack(self.template, structure, "x"), strict=True)
        for name, shape, facts, part in every:
            array = as_floats(name, part)
            fits = [isinstance(size, Size) or size == length for size, length in zip(shape, array.shape, strict=False)]
            if array.ndim != len(shape) or not all(fits):
                raise ShapeError(f"{name} has shape {show(array.shape)}; expected {show(shape)}")
            parts.append(array.ravel() if self.facts is None else array.ravel()[free_positions(array.shape, facts)])
        return np.concatenate(parts) if parts else np.empty(0)

    @property
    def _known(self) -> tuple[Assumptions, ...]:
        return (NOTHING_KNOWN,) * len(self.shapes) if self.facts is None else self.facts

    def by_entries(self, derivative: Any, shapes: Sequence[tuple[int, ...]], both: bool = False) -> Any:
        """Return a derivative by all elements, along its last axis or along both, as one by what the vector holds."""
        if self.facts is None:
            return derivative
        matrix = spread(tuple(shapes), self.facts)
        reduced = derivative @ matrix
        return matrix.T @ reduced if both else reduced

    def lengths(self, known: Mapping[str, int]) -> list[int]:
        """Return the number of elements of each variable, for numbers of the letters."""
        known_shapes = [tuple(value(size, known) for size in shape) for shape in self.shapes]
        return [count(shape, facts) for shape, facts in zip(known_shapes, self._known, strict=True)]

    def split(self, x: Any, known: Mapping[str, int]) -> list[Floats]:
        """Return the parts of a vector, each of the shape of its variable.

        Raises
        ------
        DtypeError, ShapeError
            If it is no vector of real numbers, or has another length.
        """
        vector = np.asarray(as_floats("x", x), np.float64)
        if vector.ndim != 1:
            raise ShapeError(f"x has shape {show(vector.shape)}; expected a vector (flatten structures with join)")
        if self._is_vector:
            size = self.shapes[0][0]
            if isinstance(size, int) and size != len(vector):
                raise ShapeError(f"x has {len(vector)} elements; expected {size}, those of {self.names[0]}")
            return [vector]
        if not self._is_fixed:
            known = self._with_last(len(vector), known)
        shapes = tuple(tuple(self._number(size, known) for size in shape) for shape in self.shapes)
        lengths = [count(shape, facts) for shape, facts in zip(shapes, self._known, strict=True)]
        if sum(lengths) != len(vector):
            told = ", ".join(f"{name} {show(shape)}" for name, shape in zip(self.names, shapes, strict=True))
            told = told if self.facts is None else f"the free entries of {told}"
            raise ShapeError(f"x has {len(vector)} elements; expected {sum(lengths)}, those of {told}")
        if self.facts is not None:
            vector = spread(shapes, self.facts) @ vector
            lengths = [math.prod(shape) for shape in shapes]
        ends = accumulate(lengths)
        return [vector[end - n : end].reshape(own) for n, end, own in zip(lengths, ends, shapes, strict=True)]

    def structure(self, x: Any, known: Mapping[str, int]) -> Any:
        """Return the parts of a vector in the structure of the variables."""
        return pack(self.template, iter(self.split(x, known)))

    def _with_last(self, length: int, known: Mapping[str, int]) -> Mapping[str, int]:
        """Return the numbers of letters, with that of a single unknown one from the length of the vector."""
        letters = {name for shape in self.shapes for size in shape if isinstance(size, Size) for name in size.names}
        unknown = letters - known.keys()
        if len(unknown) != 1:
            return known
        (letter,) = unknown
        low, high = 1, max(1, length)
        while low < high:  # the number of elements grows with the letter
            middle = (low + high) // 2
            if sum(self.lengths({**known, letter: middle})) < length:
                low = middle + 1
            else:
                high = middle
        return {**known, letter: low} if sum(self.lengths({**known, letter: low})) == length else known

    def _number(self, size: Any, known: Mapping[str, int]) -> int:
        try:
            return value(size, known)
        except ShapeError:
            raise ShapeError(
                f"the size {size} of {', '.join(self.names)} cannot be told from one vector and the other arguments; "
                "expected numbers in the place of all letters but one, such as sd.matrix('A', 6, 3)"
            ) from None
