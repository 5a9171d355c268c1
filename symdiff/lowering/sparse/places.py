"""Places of the elements of a piece: one place for each axis of the result, as a function of the piece's indices.

The kinds of terms are a small closed set: an index times a step, an index into a constant list, and an index into
an integer input, whose numbers come with a call, or into several arrays of positions one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ...errors import UnsupportedError
from ...graph import Node, gather, pad, reshape, scatter, slicing, take, transpose, whole
from ...graph.sizes import Dim, divide, sign, value

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
    "equal_numbers",
    "fixed_at",
    "from_start",
    "from_whole",
    "in_digits",
    "larger",
    "listed_at",
    "parted",
    "placed",
    "put_among_zeros",
    "read",
    "read_at",
    "regular",
    "shifted",
    "sign_of_step",
    "smaller",
    "stepped",
    "times",
]

Indices: TypeAlias = npt.NDArray[np.int64]
#: Which elements of an axis are taken: (start, step, length), or a list.
Part: TypeAlias = "tuple[Dim, Dim, Dim] | Indices"
#: The positions that a call brings.
Taken: TypeAlias = Mapping[Node, Indices]


class UndecidedError(UnsupportedError):
    """Raised where the rules of pieces do not tell the nonzeros of a formula."""


class IndexTerm(NamedTuple):
    """Term that an index of a piece adds to a place.

    Parameters
    ----------
    axis : int
        Of the piece.
    step : int or Size
        By which an index counts.
    listed : bytes or None
        The places for each index in order (int64) instead.
    taken : tuple of (Node or bytes)
        ``step`` times positions that a call brings, one for each index, instead: arrays of one axis or lists (int64),
        of which each is read at what the one before it says.
    """

    axis: int
    step: Dim
    listed: bytes | None = None
    taken: tuple[Node | bytes, ...] = ()

    @property
    def positions(self) -> Indices:
        """Entries of the list."""
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
        """True where it depends on positions that a call brings."""
        return any(term.taken for term in self.terms)

    def numbers(self, shape: tuple[int, ...], sizes: Mapping[str, int], taken: Taken) -> Indices:
        """Return the places of all elements of a piece of ``shape``, as an array that broadcasts to it."""
        total: Indices = np.full((1,) * len(shape), value(self.start, sizes), np.int64)
        for axis, step, listed, at in self.terms:
            own = np.arange(shape[axis], dtype=np.int64)
            for k, link in enumerate(at):
                array = np.frombuffer(link, np.int64) if isinstance(link, bytes) else taken[link]
                own = array[own] if k else array
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
        """True of the whole result as it stands."""
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
    if term.taken:
        return 0, IndexTerm(axis, term.step, None, (_read_link(term.taken[0], part), *term.taken[1:]))
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


def _read_link(link: Node | bytes, part: Part) -> Node | bytes:
    """Take a part of an array of positions, or of a list of them."""
    if not isinstance(link, bytes):
        return read(link, 0, part)
    numbers = np.frombuffer(link, np.int64)
    if isinstance(part, tuple):
        start, step, length = (as_int(size) for size in part)
        part = start + step * np.arange(length)
    return numbers[part].tobytes()


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
            if term.taken:  # beside what else depends on the index
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


def placed(place: Position, axis: int, by: Position) -> Position:
    """Let an index be a place of one term, at positions that a call brings."""
    (at,) = by.terms
    start, terms = place.start, []
    for term in place.terms:
        if term.axis != axis:
            terms.append(term)
        elif term.listed is None and not term.taken:
            start = start + term.step * by.start
            terms.append(IndexTerm(at.axis, term.step * at.step, None, at.taken))
        else:
            first, *rest = term.taken or (term.listed or b"",)
            links = (*at.taken, from_start(first, by.start, at.step), *rest)
            terms.append(IndexTerm(at.axis, term.step if term.taken else 1, None, links))
    return Position(start, tuple(terms))


def from_start(link: Node | bytes, start: Dim, step: Dim) -> Node | bytes:
    """Return an array of positions, to be read at places that are counted from a start in steps."""
    if (start, step) == (0, 1):
        return link
    size = len(link) // 8 if isinstance(link, bytes) else link.shape[0]
    return _read_link(link, (start, step, stepped(size, start, step)))


def stepped(size: Dim, start: Dim, step: Dim) -> Dim:
    """Return how many positions from a start are in an axis."""
    if step == 1:
        return size - start
    if as_int(step) < 1:
        raise UndecidedError("positions that a call brings are counted from the end")
    return -((as_int(start) - as_int(size)) // as_int(step))


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


def equal_numbers(left: Indices, right: Indices) -> tuple[Indices, Indices]:
    """Return all pairs of places in two lists at which the same number stands."""
    order = np.argsort(right, kind="stable")
    first = np.searchsorted(right[order], left, "left")
    counts = np.searchsorted(right[order], left, "right") - first
    mine = np.repeat(np.arange(left.size), counts)
    within = np.arange(mine.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return mine, order[np.repeat(first, counts) + within]


def sign_of_step(term: IndexTerm, among: Sequence[IndexTerm]) -> int:
    """Return how many steps of others a step is at least as long as."""
    return sum(sign(term.step - other.step) == 1 for other in among)


def listed_at(axis: int, positions: Indices) -> IndexTerm:
    """Return the term of an index into a list."""
    return IndexTerm(axis, 1, positions.astype(np.int64).tobytes())


def read_at(node: Node, axis: int, place: Position, by: int | None) -> Node:
    """Read one axis of an array at the places of one term, as an axis in its stead.

    Parameters
    ----------
    node : Node
    axis : int
    place : Position
        Of one term, at positions that a call brings.
    by : int or None
        An axis of the array that has the index of these positions already: the other one goes, then.
    """
    (term,) = place.terms
    for k, link in reversed(list(enumerate(term.taken))):
        if k == len(term.taken) - 1 and (place.start, term.step) != (0, 1):
            node = _from(node, axis, place)
        if by is None or k:
            node = _read(node, axis, link)
            continue
        order = [by, axis, *(a for a in range(node.ndim) if a not in (by, axis))]
        turned = transpose(node, tuple(order))
        count, rows = turned.shape[:2]
        if isinstance(link, bytes):
            flat = np.arange(as_int(count)) * as_int(rows) + np.frombuffer(link, np.int64)
            joined = reshape(turned, (as_int(count) * as_int(rows), *turned.shape[2:]))
            turned = gather(joined, 0, tuple(flat.tolist()))
        else:
            turned = take(turned, link, 1, 1)
        kept = [a for a in range(node.ndim) if a != axis]
        return transpose(turned, tuple([by, *(a for a in order[2:])].index(a) for a in kept))
    return node


def _from(node: Node, axis: int, place: Position) -> Node:
    """Take an axis from a start in steps."""
    (term,) = place.terms
    return read(node, axis, (place.start, term.step, stepped(node.shape[axis], place.start, term.step)))


def _read(node: Node, axis: int, link: Node | bytes) -> Node:
    if isinstance(link, bytes):
        return gather(node, axis, tuple(np.frombuffer(link, np.int64).tolist()))
    return take(node, link, axis)


def put_among_zeros(node: Node, axis: int, place: Position, size: Dim) -> Node:
    """Put the elements along an axis at the places of one term, in an axis of a given size."""
    (term,) = place.terms
    if term.listed is not None:
        at = as_int(place.start) + term.positions
        if np.unique(at).size != at.size:
            raise UndecidedError("positions that a call brings meet a list with repeats")
        return scatter(node, axis, tuple(at.tolist()), size)
    step = as_int(term.step)
    if step < 1:
        raise UndecidedError("positions that a call brings meet places in the other order")
    item = (place.start, step, node.shape[axis])
    shape = tuple(size if a == axis else n for a, n in enumerate(node.shape))
    return pad(node, tuple(item if a == axis else whole(n) for a, n in enumerate(node.shape)), shape)


def from_whole(place: Position, by: Position, back: Indices | None, new: int) -> Position:
    """Return a place that depends on an index by the place ``by`` of that index instead, which ``back`` inverts."""
    start, ((axis, step, *_),) = by
    if all(term.axis != axis for term in place.terms):
        return place
    first, terms = place.start, []
    for term in place.terms:
        if term.axis != axis:
            terms.append(term)
        elif back is not None:
            links = (back.tobytes(), *(term.taken or (() if term.listed is None else (term.listed,))))
            if len(links) == 1:
                terms.append(IndexTerm(new, 1, (as_int(term.step) * back).tobytes()))
            elif term.taken:
                terms.append(IndexTerm(new, term.step, None, links))
            else:
                terms.append(IndexTerm(new, 1, term.positions[back].tobytes()))
        else:
            slope = None if term.listed is not None or term.taken else divide(term.step, step)
            if slope is None:
                raise UndecidedError("positions that a call brings are moved, in an array of symbolic size")
            first = first - slope * start
            terms.append(IndexTerm(new, slope))
    return Position(first, tuple(terms))


def parted(place: Position, axis: int, part: Part, new: int) -> Position:
    """Return a place of which a part of an index is taken, under another number."""
    start, terms = place.start, []
    for term in place.terms:
        added, own = chosen(term, part, new) if term.axis == axis else (0, term)
        start = start + added
        terms.append(own)
    return times((Position(start, tuple(terms)),), (1,))


def fixed_at(place: Position, axis: int, index: Dim) -> Position:
    """Return a place of which an index is one number."""
    start, terms = place.start, []
    for term in place.terms:
        if term.axis != axis:
            terms.append(term)
        elif term.taken:
            raise UndecidedError("one of the positions that a call brings")
        else:
            start = start + (term.step * index if term.listed is None else int(term.positions[as_int(index)]))
    return Position(start, tuple(terms))


def in_digits(place: Position, axis: int, new: Sequence[int], strides: Sequence[Dim]) -> Position:
    """Return a place of which an index has become several."""
    terms: list[IndexTerm] = []
    for term in place.terms:
        if term.axis != axis:
            terms.append(term)
        elif term.listed is not None or term.taken:
            raise UndecidedError("a list of positions is split")
        else:
            terms += [IndexTerm(name, term.step * stride) for name, stride in zip(new, strides, strict=True)]
    return Position(place.start, tuple(terms))
