"""Pieces at positions that a call brings: the third kind of index, beside steps and lists."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Node, broadcast_to, reshape, slicing
from ..graph.deltas.affine import is_rows
from ..graph.sizes import Dim, nominal
from .joins import ONE, Join
from .places import IndexTerm, Part, Position, SparsePiece, UndecidedError, as_int, read

__all__ = ["put_pieces", "take_pieces"]

#: What letters are taken to be to compare numbers of elements.
_LONG = 1000


def take_pieces(node: Node, several: Sequence[list[SparsePiece]]) -> list[SparsePiece]:
    """Return the pieces of rows of the identity: one element each."""
    at = node.args[1]
    if not is_rows(node) or at.ndim != 1:
        raise UndecidedError("positions that a call brings, of what is no identity")
    places = Position(0, (IndexTerm(0, 1),)), Position(0, (IndexTerm(0, 1, None, at),))
    return [SparsePiece(broadcast_to(ONE, at.shape), places)]


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
        own = Position(0, (IndexTerm(0, 1, None, reshape(at, (1,))),))
        return [SparsePiece(value, (*places[:axis], own, *places[axis:]))]
    start, terms = places[axis - shared]
    if not terms:
        part: Part = (start, 1, 1)
        value = reshape(value, (*value.shape, 1))
        term = IndexTerm(value.ndim - 1, 1)
    elif len(terms) > 1 or terms[0].taken is not None or not isinstance(terms[0].step, int):
        raise UndecidedError("positions of positions")
    else:
        (term,) = terms
        listed = term.listed is not None
        part = as_int(start) + term.positions if listed else (start, term.step, value.shape[term.axis])
    whole = isinstance(part, tuple) and part == (0, 1, at.shape[0])
    column = Position(0, (IndexTerm(term.axis, 1, None, at if whole else read(at, 0, part)),))
    return [SparsePiece(value, (*places[:axis], column, *places[axis - shared + 1 :]))]


def _one_by_one(
    piece: SparsePiece, shape: Sequence[Dim], at: Node, axis: int, shared: int, which: int
) -> list[SparsePiece]:
    """Put the parts of a piece along one short axis of the positions."""
    place = axis - shared + which
    rest = [*shape[:place], *shape[place + 1 :]]
    made = []
    for k in range(as_int(at.shape[which])):
        items = tuple((k, 1, None) if a == which else (0, 1, size) for a, size in enumerate(at.shape))
        join = Join([piece], [tuple(range(len(shape)))], dict(enumerate(shape)))
        join.restrict(place, k)
        if join.is_empty:
            continue
        part = join.product([a for a in range(len(shape)) if a != place])
        own = which < shared  # an axis of the result, too
        for value, places in _put_piece(part, rest, slicing(at, items), axis - own, shared - own):
            made.append(SparsePiece(value, (*places[:place], Position(k, ()), *places[place:]) if own else places))
    return made
