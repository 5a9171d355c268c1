"""Products of pieces: where two factors share an index, both are read at the places that they have in common.

A join holds factors, each an array whose axes have numbers, and for each label of the product the places that the
factors give it. Two places of one label are made equal: an index is fixed, two indices become one, or both are
restricted to where they meet. What is left is a product of arrays of the size of the nonzeros.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...graph import Node, broadcast_to, constant, contract, gather, onehot, reshape, slicing, transpose, whole
from ...graph.sizes import Dim, divide, fixed, product, sign
from .places import (
    IndexTerm,
    Indices,
    Part,
    Position,
    SparsePiece,
    UndecidedError,
    as_int,
    equal_numbers,
    fixed_at,
    from_whole,
    in_digits,
    larger,
    listed_at,
    parted,
    placed,
    put_among_zeros,
    read,
    read_at,
    regular,
    sign_of_step,
    smaller,
)

__all__ = ["Join"]

ONE = constant(1.0)


class Join:
    """A product of pieces over labels.

    Parameters
    ----------
    pieces : sequence of SparsePiece
    labels : sequence of tuple of int
        A label for each axis of what a piece is part of.
    sizes : mapping
        The size of each label.

    Raises
    ------
    UndecidedError
        If where factors meet does not follow from sizes that are known at call time only.
    """

    def __init__(
        self, pieces: Sequence[SparsePiece], labels: Sequence[tuple[int, ...]], sizes: Mapping[int, Dim]
    ) -> None:
        self.sizes = sizes
        self.values: list[Node] = []
        self.axes: list[list[int]] = []
        self.lengths: dict[int, Dim] = {}
        self.places: dict[int, list[Position]] = {}
        self.is_empty = False
        for piece, own in zip(pieces, labels, strict=True):
            names = [self._new(size) for size in piece.value.shape]
            self.values.append(piece.value)
            self.axes.append(names)
            for label, (start, terms) in zip(own, piece.places, strict=True):
                place = Position(start, tuple(term._replace(axis=names[term.axis]) for term in terms))
                self.places.setdefault(label, []).append(place)
        for k, (piece, own) in enumerate(zip(pieces, labels, strict=True)):
            if piece.is_dense and len(own) > 1:
                self._read_at_lists(k, own)
        for label in list(self.places):
            while len(self.places[label]) > 1 and not self.is_empty:
                first, second = self.places[label][:2]
                if first != second:
                    self._meet(label, first, second)
                del self.places[label][1]

    def _read_at_lists(self, k: int, labels: Sequence[int]) -> None:
        """Read a whole array at the positions that a list gives for several of its axes together, and at no others."""
        lists: dict[int, list[tuple[int, Position]]] = {}
        for at, label in enumerate(labels):
            for place in self.places[label]:
                if len(place.terms) == 1 and place.terms[0].listed is not None and labels.count(label) == 1:
                    lists.setdefault(place.terms[0].axis, []).append((at, place))
                    break
        for axis, several in lists.items():
            shape = fixed(self.values[k].shape)
            if len(several) < 2 or shape is None:
                continue
            taken = [at for at, _ in several]
            kept = [at for at in range(len(shape)) if at not in taken]
            flat = np.zeros(as_int(self.lengths[axis]), np.int64)
            for at, place in several:
                flat = flat * shape[at] + as_int(place.start) + place.terms[0].positions
            rest = tuple(shape[at] for at in kept)
            turned = transpose(self.values[k], (*taken, *kept))
            joined = reshape(turned, (math.prod(shape[at] for at in taken), *rest))
            self.values[k] = gather(joined, 0, tuple(flat.tolist()))
            for at, _ in several:
                own = Position(0, (IndexTerm(self.axes[k][at], 1),))
                self.places[labels[at]].remove(own)
            self.axes[k] = [axis, *(self.axes[k][at] for at in kept)]
            return

    def _new(self, length: Dim) -> int:
        name = len(self.lengths)
        self.lengths[name] = length
        return name

    def place_of(self, label: int) -> Position:
        """Return the place of a label; one that no factor has gets an index of its own."""
        if label not in self.places:
            self.places[label] = [Position(0, (IndexTerm(self._new(self.sizes[label]), 1),))]
        return self.places[label][0]

    def restrict(self, label: int, part: Part | Dim) -> None:
        """Take a part of a label's positions, or a single one, and count it from 0."""
        place = self.place_of(label)
        if not isinstance(part, tuple | np.ndarray):
            self._meet(label, place, Position(part, ()))
            return
        if isinstance(part, tuple):
            start, step, length = part
        else:
            start, step, length = 0, 1, part.size
        own = self._new(length)
        term = IndexTerm(own, step) if isinstance(part, tuple) else listed_at(own, part)
        other = Position(start, (term,))
        self.places[label] = [place, Position(0, (IndexTerm(own, 1),))]
        self._meet(label, place, other)
        del self.places[label][0]

    # ------------------------------------------------------------------ the product

    def product(self, out: Sequence[int]) -> SparsePiece:
        """Return the product, summed over the labels that ``out`` lacks."""
        kept, places = self._kept(out)
        used = {axis for own in self.axes for axis in own}
        values = list(self.values)
        axes: list[tuple[int, ...]] = [tuple(own) for own in self.axes]
        for axis, length in self.lengths.items():
            if axis in self._summed(out) and axis not in used:
                values.append(broadcast_to(ONE, (length,)))
                axes.append((axis,))
        k = 0
        while k < len(values) and len(values) > 1:
            if _is_one(values[k]) and _elsewhere(k, axes, kept):
                del values[k], axes[k]
            else:
                k += 1
        return SparsePiece(contract(values, axes, kept, self.lengths), places)

    def aligned(self, out: Sequence[int]) -> tuple[list[Node], tuple[Position, ...]]:
        """Return the factors broadcast to the indices of the product, to be multiplied element by element."""
        kept, places = self._kept(out)
        full = any(set(own) == set(kept) for own in self.axes)
        values = [
            value if full and not own else contract([value], [tuple(own)], kept, self.lengths)
            for value, own in zip(self.values, self.axes, strict=True)
        ]
        return values, places

    def _kept(self, out: Sequence[int]) -> tuple[tuple[int, ...], tuple[Position, ...]]:
        places = [self.place_of(label) for label in out]
        kept = tuple(dict.fromkeys(term.axis for place in places for term in place.terms))
        number = {axis: k for k, axis in enumerate(kept)}
        return kept, tuple(
            Position(start, tuple(sorted(term._replace(axis=number[term.axis]) for term in terms)))
            for start, terms in places
        )

    def _summed(self, out: Sequence[int]) -> set[int]:
        kept, _ = self._kept(out)
        over = {term.axis for label in self.places for place in self.places[label] for term in place.terms}
        return over - set(kept)

    # ------------------------------------------------------------------ changes of indices

    def select(self, axis: int, part: Part, new: int | None = None) -> None:
        """Take a part of an index, under another number."""
        if new is None:
            new = self._new(part[2] if isinstance(part, tuple) else part.size)
        for k, own in enumerate(self.axes):
            for at, name in enumerate(own):
                if name == axis:
                    self.values[k] = read(self.values[k], at, part)
                    own[at] = new
        for label, places in self.places.items():
            self.places[label] = [parted(place, axis, part, new) for place in places]

    def _fix(self, axis: int, index: Dim) -> None:
        """Take one index."""
        for k, own in enumerate(self.axes):
            while axis in own:
                at = own.index(axis)
                shape = self.values[k].shape
                items = tuple((index, 1, None) if a == at else whole(n) for a, n in enumerate(shape))
                self.values[k] = slicing(self.values[k], items)
                own.remove(axis)
        for label, places in self.places.items():
            self.places[label] = [fixed_at(place, axis, index) for place in places]

    def split(self, axis: int, lengths: Sequence[Dim]) -> list[int]:
        """Make several indices of one, the last the fastest."""
        new = [self._new(length) for length in lengths]
        strides = [product(lengths[k + 1 :]) for k in range(len(lengths))]
        for k, own in enumerate(self.axes):
            while axis in own:
                at = own.index(axis)
                shape = self.values[k].shape
                self.values[k] = reshape(self.values[k], (*shape[:at], *lengths, *shape[at + 1 :]))
                own[at : at + 1] = new
        for label, places in self.places.items():
            self.places[label] = [in_digits(place, axis, new, strides) for place in places]
        return new

    # ------------------------------------------------------------------ two places of one label

    def _meet(self, label: int, p: Position, q: Position) -> None:
        """Make two places equal."""
        if len(p.terms) > len(q.terms):
            p, q = q, p
        if p.is_taken or q.is_taken:
            self._meet_taken(label, p, q)
        elif not q.terms:
            self._decide(q.start - p.start)
        elif len(q.terms) == 1:
            if not p.terms:
                self._meet_number(q, p.start)
            elif p.terms[0].axis == q.terms[0].axis:
                self._meet_itself(p, q)
            elif self._is_whole(p, label):
                self._follow(p.terms[0].axis, q)
            elif self._is_whole(q, label):
                self._follow(q.terms[0].axis, p)
            else:
                self._intersect(p, q)
        else:
            self._meet_digits(label, p, q)

    def _decide(self, difference: Dim) -> None:
        if isinstance(difference, int):
            self.is_empty = self.is_empty or difference != 0
        elif sign(difference - 1) == 1 or sign(-difference - 1) == 1:
            self.is_empty = True
        else:
            raise UndecidedError("whether two places are the same depends on sizes that are known at call time only")

    def _is_whole(self, place: Position, label: int) -> bool:
        (term,) = place.terms
        return place == (0, (IndexTerm(term.axis, 1),)) and self.lengths[term.axis] == self.sizes[label]

    def _follow(self, axis: int, place: Position) -> None:
        """Let an index that may be anything be the place that another one gives."""
        (term,) = place.terms
        if term.listed is not None:
            self.select(axis, as_int(place.start) + term.positions, term.axis)
        elif (place.start, term.step) == (0, 1) and self.lengths[axis] == self.lengths[term.axis]:
            self._rename(axis, term.axis)
        else:
            self.select(axis, (place.start, term.step, self.lengths[term.axis]), term.axis)

    def _meet_taken(self, label: int, p: Position, q: Position) -> None:
        """Read what may stand anywhere at positions that a call brings."""
        if p.is_taken:
            p, q = q, p
        if p.is_taken or len(p.terms) > 1 or len(q.terms) != 1:
            raise UndecidedError("where positions that a call brings meet others is not known before")
        if not p.terms or not self._is_whole(p, label):
            p = self._whole(label, p)
        (free,), (term,) = p.terms, q.terms
        if free.axis == term.axis:
            raise UndecidedError("positions that a call brings, on a diagonal")
        for k, own in enumerate(self.axes):
            while free.axis in own:
                at = own.index(free.axis)
                self.values[k] = read_at(self.values[k], at, q, own.index(term.axis) if term.axis in own else None)
                if term.axis in own:
                    del own[at]
                else:
                    own[at] = term.axis
        for other, places in self.places.items():
            self.places[other] = [placed(place, free.axis, q) for place in places]

    def _whole(self, label: int, place: Position) -> Position:
        """Put what has an index among zeros, so that the index is that of all places of a label."""
        size = self.sizes[label]
        new = self._new(size)
        whole = Position(0, (IndexTerm(new, 1),))
        if not place.terms:
            self.values.append(onehot(size, place.start))
            self.axes.append([new])
            return whole
        (term,) = place.terms
        if all(term.axis not in own for own in self.axes):
            self.values.append(broadcast_to(ONE, (self.lengths[term.axis],)))
            self.axes.append([term.axis])
        for k, own in enumerate(self.axes):
            while term.axis in own:
                at = own.index(term.axis)
                self.values[k] = put_among_zeros(self.values[k], at, place, size)
                own[at] = new
        back: Indices | None = None
        if isinstance(size, int):
            numbers = self._numbers(place)
            back = np.zeros(size, np.int64)
            back[numbers] = np.arange(numbers.size)
        for other, places in self.places.items():
            self.places[other] = [from_whole(own, place, back, new) for own in places]
        return whole

    def _rename(self, axis: int, new: int) -> None:
        self.axes = [[new if name == axis else name for name in own] for own in self.axes]
        for label, places in self.places.items():
            self.places[label] = [parted(place, axis, (0, 1, self.lengths[axis]), new) for place in places]

    def _meet_number(self, place: Position, at: Dim) -> None:
        (term,) = place.terms
        distance = at - place.start
        if term.listed is not None:
            (found,) = np.nonzero(term.positions == as_int(distance))
            self._take(term.axis, found)
            return
        index = divide(distance, term.step)
        if index is None:
            self._decide(1 if isinstance(distance, int) and isinstance(term.step, int) else distance)
            return
        below, above = sign(index), sign(self.lengths[term.axis] - 1 - index)
        if below == above == 1:
            self._fix(term.axis, index)
        elif below == -1 or above == -1:
            self.is_empty = True
        else:
            raise UndecidedError("whether a place is within an array depends on sizes that are known at call time only")

    def _take(self, axis: int, found: Indices) -> None:
        if not found.size:
            self.is_empty = True
        elif found.size == 1:
            self._fix(axis, int(found[0]))
        else:
            self.select(axis, found)

    def _meet_itself(self, p: Position, q: Position) -> None:
        """Take the indices at which two places that depend on one index are the same."""
        (first,), (second,) = p.terms, q.terms
        if first.listed is None and second.listed is None:
            slope = first.step - second.step
            if slope == 0:
                self._decide(p.start - q.start)
            else:
                self._meet_number(Position(p.start - q.start, (IndexTerm(first.axis, slope),)), 0)
            return
        at = [self._numbers(place) for place in (p, q)]
        self._take(first.axis, np.nonzero(at[0] == at[1])[0])

    def _numbers(self, place: Position) -> Indices:
        (term,) = place.terms
        if term.listed is not None:
            return as_int(place.start) + term.positions
        return as_int(place.start) + as_int(term.step) * np.arange(as_int(self.lengths[term.axis]))

    def _intersect(self, p: Position, q: Position) -> None:
        """Restrict two indices to where their places meet."""
        (a,), (b,) = p.terms, q.terms
        if a.listed is None and b.listed is None:
            if a.step == b.step and (gap := divide(q.start - p.start, a.step)) is not None:
                # i = j + gap
                low = larger(0, -gap)
                length = smaller(self.lengths[b.axis], self.lengths[a.axis] - gap) - low
                self._pair(a.axis, (low + gap, 1, length), b.axis, (low, 1, length))
                return
            if a.step + b.step == 0:
                count = self.lengths[b.axis]
                self.select(b.axis, (count - 1, -1, count))  # in the other order
                turned = IndexTerm(len(self.lengths) - 1, a.step)
                self._intersect(p, Position(q.start + b.step * (count - 1), (turned,)))
                return
            for one, other, term, second in ((p, q, a, b), (q, p, b, a)):
                # all places of one may be places of the other
                ends = (other.start, other.start + second.step * (self.lengths[second.axis] - 1))
                starts = [divide(end - one.start, term.step) for end in ends]
                step = divide(second.step, term.step)
                if step is None or any(x is None for x in starts):
                    continue
                inside = [sign(x) == 1 and sign(self.lengths[term.axis] - 1 - x) == 1 for x in starts if x is not None]
                if all(inside) and starts[0] is not None:
                    self._pair(term.axis, (starts[0], step, self.lengths[second.axis]), second.axis, None)
                    return
        mine, other_index = equal_numbers(self._numbers(p), self._numbers(q))
        self._pair(a.axis, regular(mine), b.axis, regular(other_index))

    def _pair(self, a: int, first: Part, b: int, second: Part | None) -> None:
        """Make one index of parts of two."""
        length = first[2] if isinstance(first, tuple) else first.size
        if sign(length - 1) != 1:
            if sign(-length) != 1:
                raise UndecidedError("whether two parts of an array meet depends on sizes known at call time only")
            self.is_empty = True
            return
        if second is not None:
            self.select(b, second)
            b = len(self.lengths) - 1
        self.select(a, first, b)

    def _meet_digits(self, label: int, p: Position, q: Position) -> None:
        """Make a place of several indices equal to another one."""
        digits = sorted(q.terms, key=lambda term: -sign_of_step(term, q.terms))
        if any(term.listed is not None for term in (*p.terms, *q.terms)):
            raise UndecidedError("positions in a list meet those of several indices")
        lengths = [self.lengths[term.axis] for term in digits]
        strides = [product(lengths[k + 1 :]) for k in range(len(lengths))]
        proper = all(divide(term.step, strides[k]) == digits[-1].step for k, term in enumerate(digits))
        counts = proper and digits[-1].step == 1 and q.start == 0
        if counts and len(p.terms) == 1 and self._is_whole(p, label) and product(lengths) == self.sizes[label]:
            new = self.split(p.terms[0].axis, lengths)
            for name, term in zip(new, digits, strict=True):
                self._rename(name, term.axis)
            return
        if p.start == q.start and len(p.terms) == len(q.terms) and proper:
            others = {term.step: term for term in p.terms}
            pairs = [(others.get(term.step), term) for term in digits]
            same = [(a, b) for a, b in pairs if a is not None and self.lengths[a.axis] == self.lengths[b.axis]]
            if len(same) == len(digits) and len({a.axis for a, _ in same} | {b.axis for _, b in same}) == 2 * len(same):
                for a, b in same:
                    self._rename(a.axis, b.axis)
                return
        raise UndecidedError("places of several indices meet")


def _is_one(node: Node) -> bool:
    """Tell whether all elements are 1."""
    return node is ONE or (node.is_contraction and node.args == (ONE,))


def _elsewhere(k: int, axes: Sequence[tuple[int, ...]], kept: Sequence[int]) -> bool:
    """Tell whether each index of a factor is one of the product, or of another factor that is summed with it."""
    others = {axis for at, own in enumerate(axes) if at != k for axis in own}
    return all(axis in kept or axis in others for axis in axes[k])
