"""Where the elements of a piece stand: one place for each axis of the result, as a function of the piece's indices.

The kinds of terms are a small closed set: an index times a step, an index into a constant list, and an index into
an integer input, whose numbers come with a call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import UnsupportedError
from ..graph import Node, gather, slicing, whole
from ..graph.sizes import Dim, sign, value

__all__ = [
    "IndexTerm",
    "Indices",
    "Part",
    "Position",
    "SparsePiece",
    "Taken",
    "UndecidedError",
    "as_int",
    "chosen",
    "larger",
    "listed_at",
    "placed",
    "read",
    "regular",
    "shifted",
    "sign_of_step",
    "smaller",
    "times",
]

Indices: TypeAlias = npt.NDArray[np.int64]
#: Which elements of an axis are taken: (start, step, length), or a list.
Part: TypeAlias = "tuple[Dim, Dim, Dim] | Indices"
#: The positions that a call brings.
Taken: TypeAlias = Mapping[Node, Indices]


class UndecidedError(UnsupportedError):
    """Where the nonzeros of a formula are does not follow from the rules of pieces."""


class IndexTerm(NamedTuple):
    """What an index of a piece adds to a place.

    Parameters
    ----------
    axis : int
        Of the piece.
    step : int or Size
        By which an index counts.
    listed : bytes or None
        The places for each index in order (int64) instead.
    taken : Node or None
        An array of positions that a call brings, one for each index: ``step`` times these instead.
    """

    axis: int
    step: Dim
    listed: bytes | None = None
    taken: Node | None = None

    @property
    def positions(self) -> Indices:
        """What stands in the list."""
        return np.frombuffer(self.listed or b"", np.int64)


class Position(NamedTuple):
    """A place along one axis of the result: a start and a term for each index that it depends on."""

    start: Dim
    terms: tuple[IndexTerm, ...]

    def at(self, axis: int) -> IndexTerm | None:
        """Return the term of an index."""
        return next((term for term in self.terms if term.axis == axis), None)

    @property
    def is_taken(self) -> bool:
        """Whether it depends on positions that a call brings."""
        return any(term.taken is not None for term in self.terms)

    def numbers(self, shape: tuple[int, ...], sizes: Mapping[str, int], taken: Taken) -> Indices:
        """Return the places of all elements of a piece of ``shape``, as an array that broadcasts to it."""
        total: Indices = np.full((1,) * len(shape), value(self.start, sizes), np.int64)
        for axis, step, listed, at in self.terms:
            own = np.arange(shape[axis], dtype=np.int64) if at is None else taken[at]
            own = own * value(step, sizes)
            if listed is not None:
                own = np.frombuffer(listed, np.int64)
            total = total + own.reshape([-1 if a == axis else 1 for a in range(len(shape))])
        return total


class SparsePiece(NamedTuple):
    """Elements that stand somewhere in a result, among zeros; pieces are added.

    Parameters
    ----------
    value : Node
        The elements, of any shape.
    places : tuple of Position
        One for each axis of the result.
    """

    value: Node
    places: tuple[Position, ...]

    @property
    def is_dense(self) -> bool:
        """Whether it is the whole result as it stands."""
        own = tuple(Position(0, (IndexTerm(axis, 1),)) for axis in range(self.value.ndim))
        return self.places == own

    @classmethod
    def dense(cls, node: Node) -> SparsePiece:
        """Return a whole array as one piece."""
        return cls(node, tuple(Position(0, (IndexTerm(axis, 1),)) for axis in range(node.ndim)))


def as_int(size: Dim) -> int:
    """Return a size that is a number."""
    if not isinstance(size, int):
        raise UndecidedError("a list of positions meets a size that is known at call time only")
    return size


def chosen(term: IndexTerm, part: Part, axis: int) -> tuple[Dim, IndexTerm]:
    """Return what a term adds, and the term of the new index, when a part of its indices is taken."""
    if term.taken is not None:
        return 0, IndexTerm(axis, term.step, None, read(term.taken, 0, part))
    if isinstance(part, tuple):
        start, step, length = part
        if term.listed is None:
            return term.step * start, IndexTerm(axis, term.step * step)
        first, by, count = as_int(start), as_int(step), as_int(length)
        return 0, IndexTerm(axis, 1, term.positions[first + by * np.arange(count)].tobytes())
    if term.listed is None:
        return 0, IndexTerm(axis, 1, (as_int(term.step) * part).tobytes())
    return 0, IndexTerm(axis, 1, term.positions[part].tobytes())


def read(node: Node, axis: int, part: Part) -> Node:
    """Take a part of one axis of an array."""
    if not isinstance(part, tuple):
        return gather(node, axis, tuple(part.tolist()))
    start, step, length = part
    item = (start, as_int(step), length)
    return slicing(node, tuple(item if a == axis else whole(n) for a, n in enumerate(node.shape)))


def shifted(place: Position, start: Dim, step: Dim = 1) -> Position:
    """Return ``start + step * place``."""
    terms = []
    for term in place.terms:
        if term.listed is None:
            terms.append(term._replace(step=term.step * step))
        else:
            terms.append(IndexTerm(term.axis, 1, (term.positions * as_int(step)).tobytes()))
    return Position(place.start * step + start, tuple(terms))


def times(places: tuple[Position, ...], strides: tuple[Dim, ...]) -> Position:
    """Return the sum of places, each times its stride: that of several axes as one."""
    start: Dim = 0
    terms: dict[int, IndexTerm] = {}
    taken: list[IndexTerm] = []
    for place, stride in zip(places, strides, strict=True):
        own = shifted(place, 0, stride)
        start = start + own.start
        for term in own.terms:
            if term.taken is not None:  # beside what else depends on the index
                taken.append(term)
                continue
            before = terms.get(term.axis)
            terms[term.axis] = term if before is None else _added(before, term)
    kept = [term for term in terms.values() if term.listed is not None or term.step != 0]
    return Position(start, tuple(sorted([*kept, *taken], key=lambda term: term.axis)))


def _added(a: IndexTerm, b: IndexTerm) -> IndexTerm:
    if a.listed is None and b.listed is None:
        return IndexTerm(a.axis, a.step + b.step)
    if a.listed is None:
        a, b = b, a
    first = a.positions
    second = b.positions if b.listed is not None else as_int(b.step) * np.arange(first.size)
    return IndexTerm(a.axis, 1, (first + second).tobytes())


def placed(place: Position, axis: int, by: IndexTerm) -> Position:
    """Let an index be a position that a call brings."""
    term = place.at(axis)
    if term is None:
        return place
    if term.listed is not None or term.taken is not None or len(place.terms) > 1:
        raise UndecidedError("positions of positions")
    return Position(place.start, (IndexTerm(by.axis, term.step, None, by.taken),))


def larger(a: Dim, b: Dim) -> Dim:
    """Return the larger of two sizes."""
    if sign(a - b) == 1:
        return a
    if sign(b - a) == 1:
        return b
    raise UndecidedError("where a part of an array begins depends on sizes that are known at call time only")


def smaller(a: Dim, b: Dim) -> Dim:
    """Return the smaller of two sizes."""
    return -larger(-a, -b)


def regular(indices: Indices) -> Part:
    """Return a list as a start and a step if it is regular."""
    if indices.size and (indices.size == 1 or np.ptp(np.diff(indices)) == 0):
        step = int(indices[1] - indices[0]) if indices.size > 1 else 1
        if step:
            return int(indices[0]), step, int(indices.size)
    return indices.astype(np.int64)


def sign_of_step(term: IndexTerm, among: Sequence[IndexTerm]) -> int:
    """Return how many steps of others a step is at least as long as."""
    return sum(sign(term.step - other.step) == 1 for other in among)


def listed_at(axis: int, positions: Indices) -> IndexTerm:
    """Return the term of an index into a list."""
    return IndexTerm(axis, 1, positions.astype(np.int64).tobytes())
