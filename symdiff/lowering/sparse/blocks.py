"""Results in blocks: the same pieces, with blocks as rows and the elements of a block side by side.

A matrix of n×m blocks of R×C elements has the axes (n, m, R, C). Where n are rows and all others columns, its entries
in order are the data of ``scipy.sparse.bsr_array``: so blocks are a matter of places alone, and values are computed as
those of any other matrix.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...errors import UnsupportedError
from ...graph import reshape
from ...graph.sizes import Dim, divide, product, value
from .entries import Matrix, SparsePattern
from .places import IndexTerm, Position, SparsePiece, as_int

__all__ = ["in_blocks", "with_blocks"]


class _Side(NamedTuple):
    """How many axes of rows or columns count blocks, and how many elements of the last of these are within a block."""

    outer: int
    part: Dim


def in_blocks(matrix: Matrix) -> Matrix:
    """Return a matrix of which each row is a row of blocks.

    Raises
    ------
    UnsupportedError
        If its form has no equal dense blocks.
    """
    rows = _side(matrix, range(matrix.rows))
    columns = _side(matrix, range(matrix.rows, len(matrix.shape)))
    for at, side in ((matrix.rows + columns.outer - 1, columns), (rows.outer - 1, rows)):
        if side.part != 1:
            matrix = _cut(matrix, at, side.part)
    axes = range(len(matrix.shape))
    above, below = axes[: rows.outer], axes[rows.outer : matrix.rows]
    left = axes[matrix.rows : matrix.rows + columns.outer]
    right = axes[matrix.rows + columns.outer :]
    high, wide = (product([matrix.shape[axis] for axis in own]) for own in (below, right))
    if high == wide == 1:
        raise refused(matrix.name)
    order = [*above, *left, *below, *right]
    shape = tuple(matrix.shape[axis] for axis in order)
    pieces = [SparsePiece(node, tuple(places[axis] for axis in order)) for node, places in matrix.pieces]
    return matrix._replace(shape=shape, rows=rows.outer, pieces=pieces, symmetric=False, block=(high, wide))


def refused(name: str) -> UnsupportedError:
    """Return the error for a matrix without blocks."""
    return UnsupportedError(
        f"sparse='bsr' for {name}, whose nonzeros are not equal dense blocks along its last axes of rows and columns; "
        "compile it with 'csr'"
    )


def with_blocks(pattern: SparsePattern, matrix: Matrix, sizes: Mapping[str, int]) -> SparsePattern:
    """Return the pattern of the blocks of a matrix, given that of their elements; where it has none, the pattern.

    Raises
    ------
    UnsupportedError
        If a block is not full, since some of its elements are zero by their form.
    """
    block = value(matrix.block[0], sizes), value(matrix.block[1], sizes)
    size = block[0] * block[1]
    if size == 1:
        return pattern
    indices = pattern.indices
    blocks = indices[::size]
    full = not (indices.size % size or (pattern.pointers % size).any() or (blocks % size).any())
    if not full or not np.array_equal(indices.reshape(-1, size), blocks[:, None] + np.arange(size)):
        raise refused(matrix.name)
    shape = (pattern.shape[0] * block[0], pattern.shape[1] // size * block[1])
    made = blocks // size
    return SparsePattern(shape, pattern.pointers // size, made.astype(indices.dtype), False, block)


# ---------------------------------------------------------------------------- axes within a block


def _side(matrix: Matrix, axes: Sequence[int]) -> _Side:
    """Return which axes, from the last one on, are within a block: those that a piece fills.

    What others leave out is looked at when positions are written down.
    """
    for outer in range(len(axes), 0, -1):
        axis = axes[outer - 1]
        if matrix.pieces and not any(_fills(piece, axis, matrix.shape[axis]) for piece in matrix.pieces):
            return _Side(outer, _part(matrix, axis))
    return _Side(0, 1)


def _is_own(piece: SparsePiece, term: IndexTerm) -> bool:
    """Tell whether an index counts along one axis of the result alone."""
    return sum(one.axis == term.axis for place in piece.places for one in place.terms) == 1


def _fills(piece: SparsePiece, axis: int, size: Dim) -> bool:
    place = piece.places[axis]
    if size == 1:
        return True
    unit = _unit(piece, axis)
    return unit is not None and place == (0, (unit,)) and _is_own(piece, unit) and piece.value.shape[unit.axis] == size


def _unit(piece: SparsePiece, axis: int) -> IndexTerm | None:
    """Return the index that runs through the elements of a block."""
    terms = piece.places[axis].terms
    return next((term for term in terms if term.step == 1 and term.listed is None and not term.taken), None)


def _part(matrix: Matrix, axis: int) -> Dim:
    """Return how many elements of an axis are within a block."""
    lengths: list[Dim] = []
    others: list[Dim] = [matrix.shape[axis]]
    filled = False
    for piece in matrix.pieces:
        unit = _unit(piece, axis)
        if unit is None:
            return 1
        filled = filled or _is_own(piece, unit)
        lengths.append(piece.value.shape[unit.axis])
        others.append(piece.places[axis].start)
        for term in piece.places[axis].terms:
            if term is not unit:
                others += [int(np.gcd.reduce(term.positions))] if term.listed is not None else [term.step]
    part = lengths[0]
    if not filled:
        return 1
    if any(divide(other, part) is None for other in (*lengths, *others)):
        known = [n for n in (*lengths, *others) if isinstance(n, int)]
        return math.gcd(*known) if len(known) == len(lengths) + len(others) else 1
    return part


def _cut(matrix: Matrix, axis: int, part: Dim) -> Matrix:
    """Cut an axis in two: blocks, and the elements within one."""
    blocks = divide(matrix.shape[axis], part)
    assert blocks is not None
    shape = (*matrix.shape[:axis], blocks, part, *matrix.shape[axis + 1 :])
    rows = matrix.rows + (axis < matrix.rows)
    pieces = [_cut_piece(piece, axis, part, matrix.name) for piece in matrix.pieces]
    return matrix._replace(shape=shape, rows=rows, pieces=pieces)


def _cut_piece(piece: SparsePiece, axis: int, part: Dim, name: str) -> SparsePiece:
    node, places = piece
    unit = _unit(piece, axis)
    assert unit is not None
    at = unit.axis
    groups = _quotient(node.shape[at], part)
    terms = [_part_of(term, part) for term in places[axis].terms if term is not unit]
    inner = at + 1
    if groups == 1:
        inner = at
    else:  # several blocks side by side: an index of their own, in front of that within a block
        node = reshape(node, (*node.shape[:at], groups, part, *node.shape[at + 1 :]))
        places = tuple(_in_two(place, at, part, name) for place in places)
        terms = [IndexTerm(at, 1), *_in_two(Position(0, tuple(terms)), at, part, name).terms]
        terms.sort(key=lambda term: term.axis)
    first = Position(_quotient(places[axis].start, part), tuple(terms))
    return SparsePiece(node, (*places[:axis], first, Position(0, (IndexTerm(inner, 1),)), *places[axis + 1 :]))


def _in_two(place: Position, at: int, part: Dim, name: str) -> Position:
    """Return a place of which one index is two: blocks, and the elements of one."""
    terms: list[IndexTerm] = []
    for term in place.terms:
        if term.axis != at:
            terms.append(term._replace(axis=term.axis + 1) if term.axis > at else term)
        elif term.listed is not None or term.taken:
            raise refused(name)
        else:
            terms += [IndexTerm(at, term.step * part), IndexTerm(at + 1, term.step)]
    return Position(place.start, tuple(terms))


def _quotient(size: Dim, part: Dim) -> Dim:
    found = divide(size, part)
    assert found is not None
    return found


def _part_of(term: IndexTerm, part: Dim) -> IndexTerm:
    if term.listed is not None:
        return term._replace(listed=(term.positions // as_int(part)).tobytes())
    return term._replace(step=_quotient(term.step, part))
