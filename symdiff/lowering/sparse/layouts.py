"""How the values of a sparse result are computed: which formulas a kernel has, and what is done with what they give.

Small results of fixed size are one formula, their nonzeros in order, so that a scalar program computes these and
nothing else. Large ones, and those of symbolic size, are a few arrays that fill parts of the data. Where rows are not
alike, the elements of all pieces are computed, and then put in order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...graph import Node, concatenate, constant, gather, inputs_of, reshape, scatter
from ...graph.sizes import LEAST, Shape, fixed, product, value
from ...graph.traversal import resize
from .blocks import in_blocks, with_blocks
from .boxes import DataView, Slots, make_boxes, place_boxes
from .decompose import decompose
from .entries import Entries, Matrix, SparsePattern, counted, list_entries, refuse_large
from .formats import Format
from .places import Indices, Taken
from .structure import nonzeros

__all__ = ["Bound", "BoxedLayout", "Layout", "ListedLayout", "OrderedLayout", "lay_out", "lay_out_result"]

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
        """What a kernel computes."""
        return [self.node]


class BoxedLayout(NamedTuple):
    """Arrays that fill parts of the data."""

    matrix: Matrix
    slots: Slots

    @property
    def values(self) -> list[Node]:
        """What a kernel computes."""
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
        """What a kernel computes: all pieces but those without inputs, whose values are known with the positions."""
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


