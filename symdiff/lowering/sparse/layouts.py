"""Layouts of sparse results: which formulas a kernel computes, and where their values go.

Small results of fixed size are one formula, their nonzeros in order, so that a scalar program computes these and
nothing else. Large ones, and those of symbolic size, are a few arrays that fill parts of the data. Where rows are not
alike, the elements of all pieces are computed, and then put in order.

**Results in blocks** are the same pieces, with blocks as rows and the elements of a block side by side. A matrix of
n×m blocks of R×C elements has the axes (n, m, R, C). Where n are rows and all others columns, its entries in order
are the data of ``scipy.sparse.bsr_array``: so blocks are a matter of places alone, and values are computed as those
of any other matrix.

**Rows that are alike are boxes**: the values of a large or symbolic result are a few arrays that fill its data in
place. The rows of a band are a few rows at its ends and one box between them, whose rows have the same number of
entries. The entries of a box are one array, (rows, entries of a row), which is a view of the data. Which pieces a box
has, and in which order, is read off at sample sizes; the positions are then written down from the boxes for the sizes
at hand, and checked to be sorted and complete, so that no guess is left.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from ...errors import UnsupportedError
from ...graph import Node, concatenate, constant, contract, elementwise, gather, inputs_of, reshape, scatter
from ...graph.sizes import LEAST, Dim, Shape, divide, fixed, product, value
from ...graph.traversal import resize
from .decompose import decompose
from .entries import Entries, Matrix, SparsePattern, counted, index_type, list_entries, refuse_large
from .formats import Format
from .joins import Join
from .places import IndexTerm, Indices, Position, SparsePiece, Taken, as_int, read
from .structure import nonzeros

__all__ = [
    "Bound",
    "Box",
    "BoxRun",
    "BoxedLayout",
    "DataView",
    "Layout",
    "ListedLayout",
    "OrderedLayout",
    "Slots",
    "in_blocks",
    "lay_out",
    "lay_out_result",
    "make_boxes",
    "place_boxes",
    "with_blocks",
]


#: Most boxes of one matrix, and most entries that stand side by side in one array.
BOXES, TOGETHER = 64, 32


class BoxRun(NamedTuple):
    """Entries of each row of a box.

    Parameters
    ----------
    value : Node
        Of the shape of the box, then ``lengths``.
    lengths : tuple of int or Size
        How many, along one or more indices.
    columns : tuple of (start, steps of the box, steps of the lengths)
        Where they stand; one for each of several that are side by side, or one for all.
    """

    value: Node
    lengths: tuple[Dim, ...]
    columns: tuple[tuple[Dim, tuple[Dim, ...], tuple[Dim, ...]], ...]


class Box(NamedTuple):
    """Rows that are alike: a range along each axis of them, and the entries of each row in order."""

    at: tuple[int, ...]
    runs: tuple[BoxRun, ...]


class Slots(NamedTuple):
    """The boxes of a matrix.

    Parameters
    ----------
    cuts : tuple of tuple of int or Size
        Where each axis of the rows is cut.
    boxes : tuple of Box
        What stands between the cuts.
    sides : tuple of int
        On which side of a triangle each piece stands, if only one is kept.
    """

    cuts: tuple[tuple[Dim, ...], ...]
    boxes: tuple[Box, ...]
    sides: tuple[int, ...] = ()

    @property
    def values(self) -> list[Node]:
        """The array of each run."""
        return [run.value for box in self.boxes for run in box.runs]


class DataView(NamedTuple):
    """Place of a run in the data, counted in elements."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def of(self, data: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the run's part of data, whose last axis is that of the entries."""
        if data.flags.c_contiguous and data.ndim == 1:
            size = data.itemsize
            start = self.offset * size if self.offset < data.size else 0
            strides = tuple([size * stride for stride in self.strides])
            return np.ndarray(self.shape, data.dtype, data, start, strides)
        size = data.strides[-1]
        lead = data.shape[:-1]
        return as_strided(
            data[..., self.offset :] if self.offset < data.shape[-1] else data,
            (*lead, *self.shape),
            (*data.strides[:-1], *(size * stride for stride in self.strides)),
        )


# ---------------------------------------------------------------------------- from pieces to boxes


def make_boxes(matrix: Matrix, sample: Mapping[str, int]) -> Slots | None:
    """Return the boxes of a matrix, None where its rows are not alike in that way.

    Parameters
    ----------
    matrix : Matrix
    sample : mapping
        Numbers for the letters, at which cuts and entries are put in order.
    """
    pieces = [_ascending(piece, matrix.major) for piece in matrix.pieces]
    spans = []
    for piece in pieces:
        if piece is None:
            return None
        spans.append(_span(piece, matrix.major))
    sides = tuple(_triangle_of(matrix, piece, sample) for piece in matrix.pieces) if matrix.triangle else ()
    if matrix.triangle:
        if any(side == 0 for side in sides):
            return None
        spans = [span for span, side in zip(spans, sides, strict=True) if side > 0]
        pieces = [piece for piece, side in zip(pieces, sides, strict=True) if side > 0]
    cuts = []
    for k, axis in enumerate(matrix.major):
        edges: dict[Dim, None] = dict.fromkeys((0, matrix.shape[axis]))
        edges.update((edge, None) for span in spans for edge in span[k])
        cuts.append(tuple(sorted(edges, key=lambda edge: value(edge, sample))))
    if math.prod(len(own) - 1 for own in cuts) > BOXES:
        return None
    boxes = []
    for at in itertools.product(*(range(len(own) - 1) for own in cuts)):
        low = tuple(own[i] for own, i in zip(cuts, at, strict=True))
        high = tuple(own[i + 1] for own, i in zip(cuts, at, strict=True))
        here = [
            piece
            for piece, span in zip(pieces, spans, strict=True)
            if piece is not None and _covers(span, low, high, sample)
        ]
        runs = _runs(matrix, here, low, high, sample)
        if runs:
            boxes.append(Box(at, runs))
    return Slots(tuple(cuts), tuple(boxes), sides)


def _ascending(piece: SparsePiece, major: Sequence[int]) -> SparsePiece | None:
    """Return a piece with an index of its own, by steps of 1, along each axis of the rows; None where it has not."""
    if any(term.listed is not None for place in piece.places for term in place.terms):
        return None
    used: set[int] = set()
    for axis in major:
        terms = piece.places[axis].terms
        if len(terms) > 1 or any(term.step not in (1, -1) or term.axis in used for term in terms):
            return None
        used.update(term.axis for term in terms)
    for axis in major:
        if any(term.step == -1 for term in piece.places[axis].terms):
            number = piece.places[axis].terms[0].axis
            length = piece.value.shape[number]
            places = range(len(piece.places))
            join = Join([piece], [tuple(places)], {})
            join.select(number, (length - 1, -1, length))
            piece = join.product(places)
    return piece


def _span(piece: SparsePiece, major: Sequence[int]) -> list[tuple[Dim, Dim]]:
    result = []
    for axis in major:
        start, terms = piece.places[axis]
        length = piece.value.shape[terms[0].axis] if terms else 1
        result.append((start, start + length))
    return result


def _covers(
    span: Sequence[tuple[Dim, Dim]], low: tuple[Dim, ...], high: tuple[Dim, ...], sample: Mapping[str, int]
) -> bool:
    return all(
        value(first, sample) <= value(a, sample) and value(b, sample) <= value(last, sample)
        for (first, last), a, b in zip(span, low, high, strict=True)
    )


def _triangle_of(matrix: Matrix, piece: SparsePiece, sizes: Mapping[str, int]) -> int:
    """Return 1 for a piece that is within the triangle, -1 for one beyond it, 0 for one that is partly within."""
    rows, columns = range(matrix.rows), range(matrix.rows, len(matrix.shape))
    lower, upper = (matrix.flat(piece, axes) for axes in (rows, columns))
    low = high = value(lower.start, sizes) - value(upper.start, sizes)
    for axis, size in enumerate(piece.value.shape):
        terms = ((1, lower.at(axis)), (-1, upper.at(axis)))
        step = sum(way * value(term.step, sizes) for way, term in terms if term is not None)
        reach = step * (value(size, sizes) - 1)
        low, high = low + min(0, reach), high + max(0, reach)
    if matrix.triangle == "upper":
        low, high = -high, -low
    return 1 if low >= 0 else -1 if high < 0 else 0


def _runs(
    matrix: Matrix,
    pieces: Sequence[SparsePiece],
    low: tuple[Dim, ...],
    high: tuple[Dim, ...],
    sample: Mapping[str, int],
) -> tuple[BoxRun, ...]:
    lengths = tuple(b - a for a, b in zip(low, high, strict=True))
    found: dict[Any, Node] = {}
    for piece in pieces:
        column = matrix.flat(piece, matrix.minor)
        value_, start = piece.value, column.start
        steps: list[Dim] = []
        axes: list[int | None] = []
        for axis, first in zip(matrix.major, low, strict=True):
            begin, terms = piece.places[axis]
            if not terms:
                axes.append(None)
                steps.append(0)
                continue
            number = terms[0].axis
            own = column.at(number)
            step = own.step if own is not None else 0
            start = start + step * (first - begin)
            steps.append(0 if lengths[len(axes)] == 1 else step)
            axes.append(number)
            value_ = read(value_, number, (first - begin, 1, lengths[len(axes) - 1]))
        free = [term for term in column.terms if term.axis not in axes]
        free.sort(key=lambda term: -abs(value(term.step, sample)))
        labels = tuple(range(value_.ndim))
        names = [a if a is not None else value_.ndim + k for k, a in enumerate(axes)]
        order = (*names, *(term.axis for term in free))
        value_ = contract([value_], [labels], order, dict(zip(names, lengths, strict=True)))
        key = (start, tuple(steps), tuple(piece.value.shape[t.axis] for t in free), tuple(t.step for t in free))
        found[key] = value_ if key not in found else elementwise("add", (found[key], value_))
    ordered = sorted(found.items(), key=lambda one: value(one[0][0], sample))
    return tuple(_together(ordered, lengths))


def _together(ordered: Sequence[tuple[Any, Node]], lengths: tuple[Dim, ...]) -> list[BoxRun]:
    """Put single entries that follow each other into one array."""
    runs: list[BoxRun] = []
    for single, group in itertools.groupby(ordered, key=lambda one: not one[0][2]):
        several = list(group)
        if not single:
            runs += [BoxRun(node, key[2], ((key[0], key[1], key[3]),)) for key, node in several]
            continue
        for k in range(0, len(several), TOGETHER):
            part = several[k : k + TOGETHER]
            columns = tuple((key[0], key[1], ()) for key, _ in part)
            nodes = [reshape(node, (*lengths, 1)) for _, node in part]
            runs.append(BoxRun(concatenate(nodes, len(lengths)), (len(part),), columns))
    return runs


# ---------------------------------------------------------------------------- positions for numbers


def place_boxes(matrix: Matrix, slots: Slots, sizes: Mapping[str, int]) -> tuple[SparsePattern, list[DataView]] | None:
    """Return the pattern of a matrix for some sizes and where each run stands; None where the boxes do not hold."""
    cuts = [[value(edge, sizes) for edge in own] for own in slots.cuts]
    if any(a > b for own in cuts for a, b in itertools.pairwise(own)):
        return None
    if matrix.triangle and tuple(_triangle_of(matrix, piece, sizes) for piece in matrix.pieces) != slots.sides:
        return None
    if any(value(n, sizes) < 0 for box in slots.boxes for run in box.runs for n in run.lengths):
        return None
    lengths = [[b - a for a, b in itertools.pairwise(own)] for own in cuts]
    widths = {
        box.at: sum(math.prod(value(n, sizes) for n in run.lengths) for run in box.runs) for box in slots.boxes
    }
    room = _Room(lengths, widths)
    shape = (value(matrix.sides[0], sizes), value(matrix.sides[1], sizes))
    count = room.size(())
    kind = index_type(shape, count)
    indices = np.full(count, -1, kind)
    rows = np.zeros([own[-1] for own in cuts], np.int64)
    views = []
    for box in slots.boxes:
        offset, strides = room.place(box.at)
        own = tuple(each[i] for each, i in zip(lengths, box.at, strict=True))
        rows[tuple(slice(edges[i], edges[i + 1]) for edges, i in zip(cuts, box.at, strict=True))] = widths[box.at]
        for run in box.runs:
            inner = tuple(value(n, sizes) for n in run.lengths)
            dense = tuple(math.prod(inner[k + 1 :]) for k in range(len(inner)))
            view = DataView(offset, (*own, *inner), (*strides, *dense))
            views.append(view)
            offset += math.prod(inner)
            if math.prod(view.shape):
                _fill(view.of(indices), run, len(own), sizes)
    pointers = np.concatenate(([0], np.cumsum(rows.reshape(-1))))
    if not _is_sorted(indices, pointers, shape[0] if matrix.by_columns else shape[1]):
        return None
    return SparsePattern(shape, pointers.astype(kind), indices, matrix.by_columns), views


def _fill(target: npt.NDArray[Any], run: BoxRun, rank: int, sizes: Mapping[str, int]) -> None:
    """Write the columns of a run."""
    side_by_side = len(run.columns) > 1 or not run.columns[0][2]
    for k, (start, steps, inner) in enumerate(run.columns):
        own = target[..., k] if side_by_side else target
        total: Any = value(start, sizes)
        for axis, step in enumerate((*steps, *inner)):
            by = value(step, sizes)
            if by:
                line = by * np.arange(own.shape[axis], dtype=np.int64)
                total = total + line.reshape([-1 if a == axis else 1 for a in range(own.ndim)])
        own[...] = total


def _is_sorted(indices: npt.NDArray[Any], pointers: npt.NDArray[Any], width: int) -> bool:
    """Tell whether the columns of each row ascend, within the matrix and without gaps."""
    if not indices.size:
        return True
    if indices.min() < 0 or indices.max() >= width:
        return False
    ascending = indices[1:] > indices[:-1]
    inside = pointers[1:-1]
    ascending[inside[(inside > 0) & (inside < indices.size)] - 1] = True
    return bool(ascending.all())


class _Room:
    """Places of the entries of each row: rows in order, each with the width of its box."""

    def __init__(self, lengths: Sequence[Sequence[int]], widths: Mapping[tuple[int, ...], int]) -> None:
        self.lengths = lengths
        self.widths = widths
        self.known: dict[tuple[int, ...], int] = {}

    def size(self, at: tuple[int, ...]) -> int:
        """Return the entries of one position along the first axes, given the segment of each."""
        if len(at) == len(self.lengths):
            return self.widths.get(at, 0)
        if at not in self.known:
            self.known[at] = sum(length * self.size((*at, k)) for k, length in enumerate(self.lengths[len(at)]))
        return self.known[at]

    def place(self, at: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """Return where the first entry of a box stands, and the distance of its rows along each axis."""
        offset, strides = 0, []
        for k in range(len(at)):
            before = self.lengths[k][: at[k]]
            offset += sum(length * self.size((*at[:k], s)) for s, length in enumerate(before))
            strides.append(self.size(at[: k + 1]))
        return offset, tuple(strides)


class _Side(NamedTuple):
    """Number of axes of rows or columns that count blocks, and of elements of the last of these within a block."""

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


#: Elements of all pieces, and nonzeros, up to which a result of fixed size is one formula.
ELEMENTS, NONZEROS = 100_000, 4_096
#: Numbers that are put in for letters to see in which order entries come.
SAMPLES = (1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049, 1051, 1061)


#: Elements of all pieces from which it is seen at sizes of some tens first whether boxes hold.
_MANY, _TENS = 10_000_000, 40


class Bound(NamedTuple):
    """A layout for given sizes.

    Parameters
    ----------
    pattern : SparsePattern
    views : list of DataView
        Where each of the kernel's arrays stands: in the data, or in the elements that are to be put in order.
    entries : Entries or None
        In which order these are put.
    interleaved : bool
        Whether an array has room for others between its rows.
    """

    pattern: SparsePattern
    views: list[DataView]
    entries: Entries | None
    interleaved: bool = False


class OrderedLayout(NamedTuple):
    """The nonzeros in order, as one formula."""

    matrix: Matrix
    node: Node
    pattern: SparsePattern

    @property
    def values(self) -> list[Node]:
        """Formulas that a kernel computes."""
        return [self.node]


class BoxedLayout(NamedTuple):
    """Arrays that fill parts of the data."""

    matrix: Matrix
    slots: Slots

    @property
    def values(self) -> list[Node]:
        """Formulas that a kernel computes."""
        return self.slots.values

    def bind(self, sizes: Mapping[str, int], taken: Taken) -> Bound | None:
        """Put in numbers; None where the boxes do not hold for them."""
        refuse_large(self.matrix, sizes, listed=False)
        if any(mask.ndim or not mask for mask in nonzeros(self.matrix.values, sizes)):
            return None
        if counted(self.matrix, sizes) > _MANY and place_boxes(self.matrix, self.slots, _smaller(sizes)) is None:
            refuse_large(self.matrix, sizes, listed=True)  # what it will be, before anything of that size is made
        placed = place_boxes(self.matrix, self.slots, sizes)
        if placed is None:
            return None
        pattern, views = placed
        blocks = with_blocks(pattern, self.matrix, sizes)
        return Bound(blocks, views, None, any(len(box.runs) > 1 for box in self.slots.boxes))


def _smaller(sizes: Mapping[str, int]) -> dict[str, int]:
    """Return sizes of some tens, equal ones and greater ones as they were."""
    scale = max(sizes.values(), default=0) // _TENS + 1
    return {name: max(LEAST, size // scale) for name, size in sizes.items()}


class ListedLayout(NamedTuple):
    """The elements of all pieces, to be put in order."""

    matrix: Matrix

    @property
    def values(self) -> list[Node]:
        """Formulas that a kernel computes: pieces with inputs; the values of others are known with the positions."""
        values = self.matrix.values
        return [node for node in values if inputs_of([node])] or values

    def bind(self, sizes: Mapping[str, int], taken: Taken) -> Bound:
        """Put in numbers, for letters and for positions that a call brings."""
        entries = list_entries(self.matrix, sizes, taken)
        every, computed = self.matrix.values, self.values
        if len(computed) < len(every):
            entries = entries.with_constants(
                [
                    math.prod(value(n, sizes) for n in node.shape) if inputs_of([node]) else _numbers(node, sizes)
                    for node in every
                ]
            )
        views, offset = [], 0
        for node in computed:
            shape = tuple(value(n, sizes) for n in node.shape)
            strides = tuple(int(np.prod(shape[k + 1 :])) for k in range(len(shape)))
            views.append(DataView(offset, shape, strides))
            offset += int(np.prod(shape))
        return Bound(with_blocks(entries.pattern, self.matrix, sizes), views, entries)


def _numbers(node: Node, sizes: Mapping[str, int]) -> npt.NDArray[np.float64]:
    """Return the values of a piece without inputs."""
    from ...graph.reference.interpret import evaluate

    (found,) = evaluate(resize([node], {}, sizes), {})
    return np.asarray(found, np.float64)


Layout = OrderedLayout | BoxedLayout | ListedLayout


def lay_out_result(name: str, node: Node, form: Format) -> Layout:
    """Choose how the nonzeros of a result are computed."""
    pieces = decompose(node)
    matrix = Matrix(name, node.shape, form.rows, pieces, form.kind == "csc", form.triangle, form.symmetric)
    return lay_out(in_blocks(matrix) if form.kind == "bsr" else matrix)


def lay_out(matrix: Matrix) -> Layout:
    """Choose how the values of a matrix are computed.

    Raises
    ------
    LimitError
        If a pattern of fixed size does not fit into memory.
    """
    if matrix.taken:
        return ListedLayout(matrix)
    shapes = [node.shape for node in matrix.values]
    is_fixed = all(fixed(shape) is not None for shape in (matrix.shape, *shapes))
    if is_fixed:
        refuse_large(matrix, {}, listed=False)
        if counted(matrix, {}) <= ELEMENTS:
            entries = list_entries(matrix, {}, {})
            if entries.pattern.size <= NONZEROS:
                pattern = with_blocks(entries.pattern, matrix, {})
                return OrderedLayout(matrix, _in_order(matrix, entries), pattern)
            listed = ListedLayout(matrix)
            if len(listed.values) < len(matrix.values):
                return listed  # what is the same in each call is copied
    sample = {name: SAMPLES[k % len(SAMPLES)] for k, name in enumerate(_letters([matrix.shape, *shapes]))}
    slots = make_boxes(matrix, sample)
    if slots is None or (is_fixed and BoxedLayout(matrix, slots).bind({}, {}) is None):
        return ListedLayout(matrix)
    return BoxedLayout(matrix, slots)


def _letters(shapes: Iterable[Shape]) -> list[str]:
    return sorted({name for shape in shapes for size in shape if not isinstance(size, int) for name in size.names})


def _in_order(matrix: Matrix, entries: Entries) -> Node:
    """Return the nonzeros as one formula."""
    parts = [reshape(node, (product(node.shape),)) for node in matrix.values]
    if not entries.pattern.size:
        return constant(np.zeros(0))
    flat = concatenate(parts, 0) if len(parts) > 1 else parts[0]
    count = entries.pattern.size
    assert entries.take is not None  # as they are listed
    starts = np.arange(count) if entries.starts is None else entries.starts
    ends = np.append(starts[1:], entries.take.size)
    if matrix.symmetric and not matrix.triangle:
        lower = _mirrored(entries.pattern)
        starts, ends = starts[lower], ends[lower]
    lengths = ends - starts
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    take: Indices = entries.take[np.repeat(starts, lengths) + within]
    whole = np.array_equal(take, np.arange(entries.total))
    picked = flat if whole else gather(flat, 0, tuple(take.tolist()))
    if (lengths == 1).all():
        return picked
    return scatter(picked, 0, tuple(np.repeat(np.arange(count), lengths).tolist()), count)


def _mirrored(pattern: SparsePattern) -> Indices:
    """Return for each entry of a symmetric matrix the number of its mirror image in the lower triangle."""
    rows, columns = (own.astype(np.int64) for own in pattern.coordinates())
    side = max(pattern.shape)
    major, minor = (columns, rows) if pattern.by_columns else (rows, columns)
    keys = major * side + minor
    found = np.searchsorted(keys, minor * side + major)
    found = np.minimum(found, keys.size - 1)
    other = (keys[found] == minor * side + major) & (rows < columns)
    return np.where(other, found, np.arange(keys.size))
