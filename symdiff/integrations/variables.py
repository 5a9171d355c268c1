"""Arrays in any structure as the one vector that optimizers and solvers move, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ShapeError
from ..frontend.outputs import pack, unpack
from ..graph.sizes import Shape, Size, show, value
from ..runtime.calls.arguments import as_floats

__all__ = ["Point", "Variables"]

Floats = npt.NDArray[np.float64]


class Point:
    """What was computed last, and at which inputs."""

    def __init__(self, inputs: Sequence[npt.NDArray[Any]], results: Any) -> None:
        self.inputs = [np.array(one) for one in inputs]
        self.results = results

    def is_at(self, inputs: Sequence[npt.NDArray[Any]]) -> bool:
        """Tell whether inputs have the same numbers; nan, unequal to itself, is computed anew."""
        return all(
            own.shape == one.shape and bool((own == one).all()) for own, one in zip(self.inputs, inputs, strict=True)
        )


class Variables:
    """The variables of an objective.

    Parameters
    ----------
    template : template
        Their structure, as :mod:`symdiff.frontend.outputs` says.
    names : sequence of str
    shapes : sequence of shape
        Letters for sizes are known from the other inputs; one more is told by the length of the vector.
    """

    def __init__(self, template: Any, names: Sequence[str], shapes: Sequence[Shape]) -> None:
        self.template = template
        self.names, self.shapes = tuple(names), tuple(shapes)
        self._is_vector = len(self.shapes) == 1 and len(self.shapes[0]) == 1

    def join(self, structure: Any) -> Floats:
        """Return the variables as one vector.

        Raises
        ------
        ArgumentError, ShapeError
            If the structure, or the shape of a variable, is another one.
        """
        parts = []
        for name, shape, part in zip(self.names, self.shapes, unpack(self.template, structure, "x"), strict=True):
            array = as_floats(name, part)
            fits = [isinstance(size, Size) or size == length for size, length in zip(shape, array.shape, strict=False)]
            if array.ndim != len(shape) or not all(fits):
                raise ShapeError(f"{name} has shape {show(array.shape)}; expected {show(shape)}")
            parts.append(array.ravel())
        return np.concatenate(parts) if parts else np.empty(0)

    def lengths(self, known: Mapping[str, int]) -> list[int]:
        """Return the number of elements of each variable, for numbers of the letters."""
        return [math.prod(value(size, known) for size in shape) for shape in self.shapes]

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
        known = self._with_last(len(vector), known)
        shapes = [tuple(self._number(size, known) for size in shape) for shape in self.shapes]
        lengths = [math.prod(shape) for shape in shapes]
        if sum(lengths) != len(vector):
            told = ", ".join(f"{name} {show(shape)}" for name, shape in zip(self.names, shapes, strict=True))
            raise ShapeError(f"x has {len(vector)} elements; expected {sum(lengths)}, those of {told}")
        bounds = np.cumsum([0, *lengths])
        return [vector[low:high].reshape(own) for low, high, own in zip(bounds[:-1], bounds[1:], shapes, strict=True)]

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
