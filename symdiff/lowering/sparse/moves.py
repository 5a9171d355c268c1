"""Pieces through operations that move elements: slices, paddings, joins, lists, triangles and reshapes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ...graph import Node
from ...graph.sizes import Dim, divide, product, same_elements, sign
from .joins import Join
from .places import IndexTerm, Part, Position, SparsePiece, UndecidedError, as_int, placed, regular, shifted, times

__all__ = ["MOVES", "Pieces", "Rule"]

Pieces: TypeAlias = list[SparsePiece]
#: Takes a node and the pieces of its arguments; gives its pieces, or None where it is one dense piece.
Rule: TypeAlias = Callable[[Node, Sequence[Pieces]], Pieces | None]


def _slice(node: Node, several: Sequence[Pieces]) -> Pieces:
    (arg,) = node.args
    own = tuple(range(arg.ndim))
    made = []
    for piece in several[0]:
        join = Join([piece], [own], dict(enumerate(arg.shape)))
        out = []
        for axis, (start, step, length) in enumerate(node.payload.items):
            if length is not None:
                out.append(axis)
            if (start, step, length) != (0, 1, arg.shape[axis]) and not join.is_empty:
                join.restrict(axis, start if length is None else (start, step, length))
        if not join.is_empty:
            made.append(join.product(out))
    return made


def _pad(node: Node, several: Sequence[Pieces]) -> Pieces:
    made = []
    for value, places in several[0]:
        rest = iter(places)
        put = tuple(
            Position(start, ()) if length is None else shifted(next(rest), start, step)
            for start, step, length in node.payload.items
        )
        made.append(SparsePiece(value, put))
    return made


def _concatenate(node: Node, several: Sequence[Pieces]) -> Pieces:
    axis = node.payload.axis + node.ndim
    made, start = [], 0
    for arg, pieces in zip(node.args, several, strict=True):
        for value, places in pieces:
            moved = tuple(shifted(p, start) if a == axis else p for a, p in enumerate(places))
            made.append(SparsePiece(value, moved))
        start = start + arg.shape[axis]
    return made


def _gather(node: Node, several: Sequence[Pieces]) -> Pieces:
    (arg,) = node.args
    axis = node.payload.axis + arg.ndim
    own = tuple(range(arg.ndim))
    part: Part = np.array(node.payload.indices, np.int64)
    made = []
    for piece in several[0]:
        join = Join([piece], [own], dict(enumerate(arg.shape)))
        join.restrict(axis, part)
        if not join.is_empty:
            made.append(join.product(own))
    return made


def _scatter(node: Node, several: Sequence[Pieces]) -> Pieces:
    axis = node.payload.axis + node.ndim
    indices = np.array(node.payload.indices, np.int64)
    made = []
    for value, places in several[0]:
        start, terms = places[axis]
        if not terms:
            moved = Position(int(indices[as_int(start)]), ())
        elif len(terms) == 1:
            (term,) = terms
            if term.taken:
                own = Position(0, (IndexTerm(0, 1, indices.tobytes()),))
                moved = placed(own, 0, places[axis])
                made.append(SparsePiece(value, tuple(moved if a == axis else p for a, p in enumerate(places))))
                continue
            length = as_int(value.shape[term.axis])
            at = as_int(start) + (term.positions if term.listed else as_int(term.step) * np.arange(length))
            moved = Position(0, (IndexTerm(term.axis, 1, indices[at].tobytes()),))
        else:
            raise UndecidedError("places of several indices are listed")
        made.append(SparsePiece(value, tuple(moved if a == axis else p for a, p in enumerate(places))))
    return made


def _triangle(node: Node, several: Sequence[Pieces]) -> Pieces:
    upper, offset = node.payload
    made = []
    for value, places in several[0]:
        row, column = places[-2:]
        gap = times((column, row, Position(-offset, ())), (1, -1, 1))
        gap = gap if upper else shifted(gap, 0, -1)
        if gap.terms:
            made += _beyond(SparsePiece(value, places), gap)
        elif sign(gap.start) == 1:
            made.append(SparsePiece(value, places))
        elif sign(-gap.start - 1) != 1:
            raise UndecidedError("whether a diagonal is in a triangle depends on sizes that are known at call time")
    return made


def _beyond(piece: SparsePiece, gap: Position) -> Pieces:
    """Keep the elements of a piece at which a place is not negative."""
    if len(gap.terms) > 1 or gap.is_taken:
        raise UndecidedError("a triangle of what is no diagonal")
    (term,) = gap.terms
    length = as_int(piece.value.shape[term.axis])
    at = term.positions if term.listed is not None else as_int(term.step) * np.arange(length)
    (kept,) = np.nonzero(as_int(gap.start) + at >= 0)
    if not kept.size:
        return []
    join, axes = _alone(piece)
    join.select(term.axis, regular(kept))
    return [join.product(axes)]


def _alone(piece: SparsePiece) -> tuple[Join, range]:
    """Return a join of one piece, whose indices have its axes as their numbers, and its labels."""
    axes = range(len(piece.places))
    return Join([piece], [tuple(axes)], {}), axes


def _reshape(node: Node, several: Sequence[Pieces]) -> Pieces:
    old = node.args[0].shape
    groups = same_elements(old, node.shape)
    made = []
    for piece in several[0]:
        apart = piece
        for own, new in groups:
            lengths = [node.shape[k] for k in new]
            apart = _apart(apart, lambda p, own=own: _merged(p, own, old), lengths)  # type: ignore[misc]
        places: list[Position] = []
        for own, new in groups:
            lengths = [node.shape[k] for k in new]
            merged = _merged(apart, own, old)
            if len(new) == 1:
                places.append(merged)
            elif merged.is_taken:
                places += _taken_digits(own, new, piece, old, node.shape)
            elif any(term.listed for term in merged.terms):
                places += _listed_digits(merged, lengths)
            elif new:
                places += _affine_digits(apart.value, merged, lengths)
        made.append(SparsePiece(apart.value, tuple(places)))
    return made


def _merged(piece: SparsePiece, axes: list[int], shape: Sequence[Dim]) -> Position:
    """Return the place along several axes as one."""
    strides = tuple(product(shape[k + 1 : axes[-1] + 1]) for k in axes)
    return times(tuple(piece.places[k] for k in axes), strides)


def _apart(piece: SparsePiece, place_of: Callable[[SparsePiece], Position], lengths: list[Dim]) -> SparsePiece:
    """Split those indices of a piece that run over several of the axes into which one axis is reshaped."""
    strides = _strides(lengths)
    ranges = [(first, last + 1) for last in range(1, len(lengths)) for first in range(last)]
    while True:
        for term, (first, end) in itertools.product(place_of(piece).terms, ranges):
            runs_over = term.step == strides[end - 1] and piece.value.shape[term.axis] == product(lengths[first:end])
            if runs_over and term.listed is None and not term.taken:
                join, axes = _alone(piece)
                join.split(term.axis, lengths[first:end])
                piece = join.product(axes)
                break
        else:
            return piece


def _strides(lengths: Sequence[Dim]) -> list[Dim]:
    return [product(lengths[k + 1 :]) for k in range(len(lengths))]


def _listed_digits(place: Position, lengths: list[Dim]) -> list[Position]:
    if len(place.terms) > 1:
        raise UndecidedError("positions in a list are split")
    (term,) = place.terms
    at = as_int(place.start) + term.positions
    digits = []
    for length, stride in zip(lengths, _strides(lengths), strict=True):
        own = at // as_int(stride) % as_int(length)
        digits.append(Position(0, (IndexTerm(term.axis, 1, own.astype(np.int64).tobytes()),)))
    return digits


def _taken_digits(
    own: Sequence[int], new: Sequence[int], piece: SparsePiece, old: Sequence[Dim], shape: Sequence[Dim]
) -> list[Position]:
    """Return the places along axes of a group that differ by axes of length 1 alone."""
    wide = [axis for axis in own if old[axis] != 1]
    if [old[axis] for axis in wide] != [shape[axis] for axis in new if shape[axis] != 1]:
        raise UndecidedError("positions that a call brings are split")
    rest = iter(wide)
    return [piece.places[next(rest)] if shape[axis] != 1 else Position(0, ()) for axis in new]


def _affine_digits(value: Node, place: Position, lengths: list[Dim]) -> list[Position]:
    """Return a place along several axes of what was one, where each index runs over one of them."""
    strides = _strides(lengths)
    terms: list[list[IndexTerm]] = [[] for _ in lengths]
    rest = place.start
    starts: list[Dim] = []
    for stride in strides:
        if isinstance(rest, int) and isinstance(stride, int):
            starts.append(rest // stride)
            rest = rest % stride
        elif sign(stride - 1 - rest) == 1:
            starts.append(0)
        elif (whole := divide(rest, stride)) is not None:
            starts.append(whole)
            rest = 0
        else:
            raise UndecidedError("where a part of an array stands depends on its sizes")
    ends = list(starts)
    for term in place.terms:
        span = value.shape[term.axis]
        for k, stride in enumerate(strides):
            step = divide(term.step, stride)
            if step is not None and sign(lengths[k] - 1 - step * (span - 1)) == 1 == sign(step * (span - 1)):
                terms[k].append(IndexTerm(term.axis, step))
                ends[k] = ends[k] + step * (span - 1)
                break
        else:
            raise UndecidedError("an index runs over several axes")
    for end, length in zip(ends, lengths, strict=True):
        if sign(length - 1 - end) != 1:
            raise UndecidedError("an index runs over the end of an axis")
    return [Position(start, tuple(sorted(own))) for start, own in zip(starts, terms, strict=True)]


#: The rule of each operation that moves elements.
MOVES: dict[str, Rule] = {
    "slice": _slice,
    "pad": _pad,
    "concatenate": _concatenate,
    "gather": _gather,
    "scatter": _scatter,
    "triangle": _triangle,
    "reshape": _reshape,
}
