"""Which axes of a formula are as long as which others, found from its operations alone.

The language declares that ``A`` is a matrix and ``x`` a vector, and no lengths. ``x'*A*x`` says that both axes of ``A``
are as long as ``x``: each axis is a number here, and numbers that stand for one length are joined.
"""

from __future__ import annotations

from typing import NamedTuple

from ....errors import ShapeError
from ....graph.sizes import Dim, show

__all__ = ["SCALAR", "Form", "JoinedAxes"]


class JoinedAxes:
    """Axes of a formula, some of which are known to be of one length."""

    def __init__(self) -> None:
        self._parents: list[int] = []
        self._lengths: dict[int, Dim] = {}

    def new(self, length: Dim | None = None) -> int:
        """Return a further axis, of a length that is known or to be found."""
        self._parents.append(len(self._parents))
        if length is not None:
            self._lengths[len(self._parents) - 1] = length
        return len(self._parents) - 1

    def find(self, axis: int) -> int:
        """Return the axis that stands for all of its length."""
        root = axis
        while self._parents[root] != root:
            root = self._parents[root]
        while self._parents[axis] != root:  # the next one to ask finds it at once
            self._parents[axis], axis = root, self._parents[axis]
        return root

    def join(self, first: int, second: int) -> None:
        """Note that two axes are of one length.

        Raises
        ------
        ShapeError
            If they have different ones.
        """
        a, b = self.find(first), self.find(second)
        if a == b:
            return
        lengths = [self._lengths[each] for each in (a, b) if each in self._lengths]
        if len(lengths) == 2 and lengths[0] != lengths[1]:
            raise ShapeError(f"an axis of {show((lengths[0],))} meets one of {show((lengths[1],))}")
        self._parents[b] = a
        if lengths:
            self._lengths[a] = lengths[0]

    def length(self, axis: int) -> Dim | None:
        """Return the length of an axis, None while it is not known."""
        return self._lengths.get(self.find(axis))

    def set_length(self, axis: int, length: Dim) -> None:
        """Give an axis its length."""
        self._lengths[self.find(axis)] = length


class Form(NamedTuple):
    """What a value is as a factor: its axis along rows and that along columns, None where it has none.

    A number has neither, a column has rows, a row has columns, a matrix has both.
    """

    rows: int | None = None
    columns: int | None = None

    @property
    def axes(self) -> tuple[int, ...]:
        """Return the axes that there are."""
        return tuple(axis for axis in self if axis is not None)

    @property
    def name(self) -> str:
        """Say what it is, for messages."""
        if self.rows is None:
            return "a number" if self.columns is None else "a row (a transposed vector)"
        return "a vector" if self.columns is None else "a matrix"


#: What a number is.
SCALAR = Form()
