"""Rows that are alike, in boxes: the values of a large or symbolic result as a few arrays that fill its data in place.

The rows of a band are a few rows at its ends and one box between them, whose rows have the same number of entries.
The entries of a box are one array, (rows, entries of a row), which is a view of the data. Which pieces a box has, and
in which order, is read off at sample sizes; the positions are then written down from the boxes for the sizes at hand,
and checked to be sorted and complete, so that no guess is left.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from ...graph import Node, concatenate, contract, elementwise, reshape
from ...graph.sizes import Dim, value
from .entries import Matrix, SparsePattern, index_type
from .joins import Join
from .places import SparsePiece, read

__all__ = ["Box", "BoxRun", "DataView", "Slots", "make_boxes", "place_boxes"]

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
    """Where a run stands in the data, counted in elements."""

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
    sides = tuple(_side(matrix, piece, sample) for piece in matrix.pieces) if matrix.triangle else ()
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


def _side(matrix: Matrix, piece: SparsePiece, sizes: Mapping[str, int]) -> int:
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
    if matrix.triangle and tuple(_side(matrix, piece, sizes) for piece in matrix.pieces) != slots.sides:
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
    """Where the entries of each row stand: rows in order, each with the width of its box."""

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
