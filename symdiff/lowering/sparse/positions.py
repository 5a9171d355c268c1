"""Pieces at positions that a call brings: products with rows of the identity at these positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...graph import Node, broadcast_to, reshape, slicing
from ...graph.sizes import Dim, fixed, nominal
from .joins import ONE, Join
from .places import IndexTerm, Position, SparsePiece, UndecidedError, as_int, listed_at, placed

__all__ = ["put_pieces", "take_pieces"]

#: What letters are taken to be to compare numbers of elements.
_LONG = 1000
#: Longest axis of positions whose elements are pieces of their own.
_SHORT = 8


def take_pieces(node: Node, several: Sequence[list[SparsePiece]]) -> list[SparsePiece]:
    """Return the pieces of elements at positions."""
    arg, at = node.args
    axis, shared = node.payload.axis + arg.ndim, node.payload.shared
    fresh = tuple(range(arg.ndim, arg.ndim + at.ndim - shared))
    places = (*range(axis - shared, axis), *fresh)
    out = (*range(axis), *fresh, *range(axis + 1, arg.ndim))
    sizes = {**dict(enumerate(arg.shape)), **dict(zip(fresh, at.shape[shared:], strict=True))}
    made = []
    for rows in _rows(at):
        for piece in several[0]:
            join = Join([piece, rows], [tuple(range(arg.ndim)), (*places, axis)], sizes)
            if not join.is_empty:
                made.append(join.product(out))
    return made


def _rows(at: Node) -> list[SparsePiece]:
    """Return rows of the identity at positions, shape ``(*at.shape, n)``: one element each."""
    if not at.ndim:
        return [SparsePiece(broadcast_to(ONE, (1,)), (Position(0, (IndexTerm(0, 1, None, (reshape(at, (1,)),)),)),))]
    if at.ndim == 1:
        row, column = Position(0, (IndexTerm(0, 1),)), Position(0, (IndexTerm(0, 1, None, (at,)),))
        return [SparsePiece(broadcast_to(ONE, at.shape), (row, column))]
    short = [a for a, size in enumerate(at.shape) if isinstance(size, int)]
    which = min(short, key=lambda a: as_int(at.shape[a]), default=0)
    shape = fixed(at.shape)
    if not short or (as_int(at.shape[which]) > _SHORT and shape is None):
        raise UndecidedError("positions along several axes of symbolic size")
    if as_int(at.shape[which]) > _SHORT and shape is not None:
        flat = reshape(at, (int(np.prod(shape)),))
        own = [Position(0, (listed_at(0, n.reshape(-1)),)) for n in np.indices(shape)]
        last = Position(0, (IndexTerm(0, 1, None, (flat,)),))
        return [SparsePiece(broadcast_to(ONE, flat.shape), (*own, last))]
    made = []
    for k in range(as_int(at.shape[which])):
        for value, places in _rows(_part(at, which, k)):
            made.append(SparsePiece(value, (*places[:which], Position(k, ()), *places[which:])))
    return made


def _part(at: Node, axis: int, k: int) -> Node:
    items = tuple((k, 1, None) if a == axis else (0, 1, size) for a, size in enumerate(at.shape))
    return slicing(at, items)


def put_pieces(node: Node, several: Sequence[list[SparsePiece]]) -> list[SparsePiece]:
    """Return the pieces of what is put at positions, which become their places."""
    x, at = node.args
    pieces = several[0]
    if sum(nominal(value.size, _LONG) for value, _ in pieces) >= nominal(x.size, _LONG):
        # its zeros, if any, are looked up one by one
        pieces = [SparsePiece.dense(x)]
    axis, shared = node.payload.axis + node.ndim, node.payload.shared
    return [own for piece in pieces for own in _put_piece(piece, x.shape, at, axis, shared)]


def _put_piece(piece: SparsePiece, shape: Sequence[Dim], at: Node, axis: int, shared: int) -> list[SparsePiece]:
    """Return where a piece of an array of ``shape`` is put, at positions along at most one long axis."""
    if at.ndim > 1:
        short = [a for a, size in enumerate(at.shape) if isinstance(size, int)]
        if not short:
            raise UndecidedError("positions along several axes of symbolic size")
        which = min(short, key=lambda a: as_int(at.shape[a]))
        return _one_by_one(piece, shape, at, axis, shared, which)
    value, places = piece
    if not at.ndim:  # one position for all: an index of its own
        value = reshape(value, (1, *value.shape))
        places = tuple(Position(p.start, tuple(t._replace(axis=t.axis + 1) for t in p.terms)) for p in places)
        own = Position(0, (IndexTerm(0, 1, None, (reshape(at, (1,)),)),))
        return [SparsePiece(value, (*places[:axis], own, *places[axis:]))]
    place = places[axis - shared]
    start, terms = place
    if not terms:
        value = reshape(value, (*value.shape, 1))
        column = Position(0, (IndexTerm(value.ndim - 1, 1, None, (_counted(at, start, 1, 1),)),))
    elif len(terms) > 1:
        raise UndecidedError("positions of several indices")
    else:
        (term,) = terms
        if term.taken or term.listed is not None:
            own = Position(0, (IndexTerm(0, 1, None, (at,)),))
            column = placed(own, 0, place if term.taken else _linked(place))
        elif isinstance(term.step, int) and term.step > 0:
            link = _counted(at, start, term.step, value.shape[term.axis])
            column = Position(0, (IndexTerm(term.axis, 1, None, (link,)),))
        else:
            raise UndecidedError("positions that are counted in steps of unknown length")
    return [SparsePiece(value, (*places[:axis], column, *places[axis - shared + 1 :]))]


def _linked(place: Position) -> Position:
    """Return a place in a list as one of positions."""
    (term,) = place.terms
    return Position(place.start, (IndexTerm(term.axis, 1, None, (term.listed or b"",)),))


def _counted(at: Node, start: Dim, step: Dim, length: Dim) -> Node:
    if (start, step, length) == (0, 1, at.shape[0]):
        return at
    return slicing(at, ((start, as_int(step), length),))


def _one_by_one(
    piece: SparsePiece, shape: Sequence[Dim], at: Node, axis: int, shared: int, which: int
) -> list[SparsePiece]:
    """Put the parts of a piece along one short axis of the positions."""
    place = axis - shared + which
    rest = [*shape[:place], *shape[place + 1 :]]
    made = []
    for k in range(as_int(at.shape[which])):
        join = Join([piece], [tuple(range(len(shape)))], dict(enumerate(shape)))
        join.restrict(place, k)
        if join.is_empty:
            continue
        part = join.product([a for a in range(len(shape)) if a != place])
        own = which < shared  # an axis of the result, too
        for value, places in _put_piece(part, rest, _part(at, which, k), axis - own, shared - own):
            made.append(SparsePiece(value, (*places[:place], Position(k, ()), *places[place:]) if own else places))
    return made
