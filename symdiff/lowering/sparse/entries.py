"""The nonzeros of a result as lists of positions: sorted, without duplicates, for given sizes.

A matrix has its rows and columns numbered, the axes of the formula and those of the variable flattened. Along the
major one entries are sorted first: rows for csr and coo, columns for csc.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._kernels.call import put_entries
from ...errors import LimitError
from ...graph import Node
from ...graph.sizes import Dim, Shape, product, show, value
from .places import Indices, SparsePiece, Taken, times
from .structure import deciding, nonzeros

__all__ = ["Entries", "Matrix", "SparsePattern", "counted", "list_entries", "refuse_large"]

#: Bytes that an entry takes while its position is looked for, and when it is known.
_WORK, _KEPT = 48, 16


class Matrix(NamedTuple):
    """A result as a matrix.

    Parameters
    ----------
    name : str
        Of the output.
    shape : tuple of int or Size
    rows : int
        How many of the axes are rows.
    pieces : list of SparsePiece
    by_columns : bool
        Whether entries are sorted by columns first.
    triangle : {"", "lower", "upper"}
        The part that is kept.
    symmetric : bool
        Whether it is symmetric, whatever its form.
    block : tuple of int or Size, optional
        Rows and columns of the blocks, the last axes, that it is to come back in.
    """

    name: str
    shape: Shape
    rows: int
    pieces: list[SparsePiece]
    by_columns: bool = False
    triangle: str = ""
    symmetric: bool = False
    block: tuple[Dim, Dim] = (1, 1)

    @property
    def sides(self) -> tuple[Dim, Dim]:
        """Number of rows and columns."""
        return product(self.shape[: self.rows]), product(self.shape[self.rows :])

    @property
    def major(self) -> list[int]:
        """The axes that entries are sorted by first."""
        return [*range(self.rows, len(self.shape))] if self.by_columns else [*range(self.rows)]

    @property
    def minor(self) -> list[int]:
        """The other axes."""
        return [*range(self.rows)] if self.by_columns else [*range(self.rows, len(self.shape))]

    @property
    def taken(self) -> list[Node]:
        """The positions that a call brings and that say where something stands."""
        terms = [term for piece in self.pieces for place in piece.places for term in place.terms]
        links = [link for term in terms for link in term.taken if isinstance(link, Node)]
        return list(dict.fromkeys([*links, *deciding(self.values)]))

    @property
    def values(self) -> list[Node]:
        """The elements of all pieces."""
        return [piece.value for piece in self.pieces]

    def flat(self, piece: SparsePiece, axes: Sequence[int]) -> Any:
        """Return the place of a piece along some axes as one."""
        strides = tuple(product([self.shape[b] for b in axes[k + 1 :]]) for k in range(len(axes)))
        return times(tuple(piece.places[axis] for axis in axes), strides)


class SparsePattern(NamedTuple):
    """Where the entries of a matrix stand, in the order of their values.

    Parameters
    ----------
    shape : tuple of int
    pointers : ndarray
        Where each row's entries begin, or each column's.
    indices : ndarray
        The column of each entry, or its row.
    by_columns : bool
    block : tuple of int, optional
        Rows and columns of the dense blocks that pointers and indices count, which are single entries by default.
    """

    shape: tuple[int, int]
    pointers: npt.NDArray[Any]
    indices: npt.NDArray[Any]
    by_columns: bool
    block: tuple[int, int] = (1, 1)

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(self.indices.size) * math.prod(self.block)

    def coordinates(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the row and the column of each entry."""
        lengths = np.diff(self.pointers)
        kind = self.indices.dtype
        major = np.repeat(np.arange(lengths.size, dtype=kind), lengths)
        if self.block != (1, 1):
            high, wide = self.block
            rows = (major * high)[:, None, None] + np.arange(high, dtype=kind)[:, None]
            columns = (self.indices * wide)[:, None, None] + np.arange(wide, dtype=kind)
            both = np.broadcast_arrays(rows, columns)
            return both[0].reshape(-1), both[1].reshape(-1)
        return (self.indices, major) if self.by_columns else (major, self.indices)


class Entries(NamedTuple):
    """A pattern, and which elements of the pieces, one piece after the other, its values are.

    Parameters
    ----------
    pattern : SparsePattern
    take : ndarray or None
        Numbers of elements, those of one entry side by side; None where each element is one entry, in order.
    starts : ndarray or None
        Where in ``take`` each entry begins; None where each is one element.
    total : int
        Elements of all pieces.
    at : ndarray or None
        The numbers of the entries that these are; None for all.
    constant : ndarray or None
        What does not depend on inputs, of each entry: the others are added to it.
    """

    pattern: SparsePattern
    take: Indices | None
    starts: Indices | None
    total: int
    at: Indices | None = None
    constant: npt.NDArray[np.float64] | None = None

    def put_in_order(self, data: npt.NDArray[Any], target: npt.NDArray[Any]) -> None:
        """Write the values, of elements of all pieces along the last axis."""
        if self.constant is not None:
            target[...] = self.constant
        if put_entries(data, self.take, self.starts, self.at, target, self.constant is not None) or not self.total:
            return
        taken = data if self.take is None else data[..., self.take]
        own = taken if self.starts is None else np.add.reduceat(taken, self.starts, axis=-1)
        if self.constant is None:
            target[...] = own
        else:
            target[..., self.at] += own

    def with_constants(self, constants: Sequence[npt.NDArray[np.float64] | int]) -> Entries:
        """Return the entries where some pieces are constant: an array, in place of how many elements a piece has.

        The elements of the others are then those of all pieces.
        """
        sizes = [own if isinstance(own, int) else own.size for own in constants]
        if sum(sizes) != self.total:
            raise ValueError(f"{sum(sizes)} elements of pieces; expected {self.total}")
        fixed = np.repeat([not isinstance(own, int) for own in constants], sizes)
        values = np.concatenate([np.zeros(own) if isinstance(own, int) else own.reshape(-1) for own in constants])
        count = self.pattern.size
        every = np.arange(self.total) if self.take is None else self.take
        starts = np.arange(count) if self.starts is None else self.starts
        entry = np.repeat(np.arange(count), np.diff(np.append(starts, every.size)))
        is_fixed = fixed[every]
        constant = np.full(count, -0.0)  # to which any number is added as it is
        np.add.at(constant, entry[is_fixed], values[every[is_fixed]])
        take = (np.cumsum(~fixed) - 1)[every[~is_fixed]]
        at, begins = np.unique(entry[~is_fixed], return_index=True)
        total, alone = int((~fixed).sum()), at.size == take.size
        in_order = alone and np.array_equal(take, np.arange(total))
        return Entries(
            self.pattern, None if in_order else take, None if alone else begins, total, at, constant
        )


def counted(matrix: Matrix, sizes: Mapping[str, int]) -> int:
    """Return the number of elements of all pieces."""
    return sum(math.prod(value(n, sizes) for n in node.shape) for node in matrix.values)


def refuse_large(matrix: Matrix, sizes: Mapping[str, int], *, listed: bool) -> None:
    """Refuse a pattern that does not fit into memory, before anything of it is made.

    Raises
    ------
    LimitError
        With the number of entries and bytes.
    """
    count = counted(matrix, sizes)
    needed = count * (_WORK if listed else _KEPT)
    memory = _memory()
    if needed > memory:
        shape = tuple(value(n, sizes) for n in matrix.shape)
        raise LimitError(
            f"the pattern of {matrix.name}, of shape {show(shape)}, has up to {count:,} entries and takes "
            f"{needed / 1e9:,.0f} GB; there are {memory / 1e9:,.0f} GB of memory. Give smaller sizes, or take products "
            "with it: sd.linear_operator, jvp, vjp and hvp need no matrix"
        )


def _memory() -> int:
    """Return the bytes of memory that the machine has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 2**34


def index_type(shape: tuple[int, int], count: int) -> Any:
    """Return the type of indices: int32 unless there are too many."""
    return np.int32 if max(*shape, count) < 2**31 else np.int64


def _order(minor: Indices, major: Indices) -> Indices:
    """Return the order by one list and then another: what ``lexsort`` gives, in time proportional to their length."""
    order: Indices | None = None
    for places in (minor, major):
        most = int(places.max(initial=0))
        for shift in range(0, max(most.bit_length(), 1), 16):
            digit = (places >> shift).astype(np.uint16)  # NumPy sorts numbers of 16 bits by counting them
            own = np.argsort(digit if order is None else digit[order], kind="stable")
            order = own if order is None else order[own]
    assert order is not None
    return order


def list_entries(matrix: Matrix, sizes: Mapping[str, int], taken: Taken) -> Entries:
    """Return the entries of a matrix whose letters have numbers.

    Raises
    ------
    LimitError
        If they do not fit into memory.
    """
    refuse_large(matrix, sizes, listed=True)
    shape = (value(matrix.sides[0], sizes), value(matrix.sides[1], sizes))
    majors, minors, numbers = [], [], []
    total = 0
    masks = nonzeros(matrix.values, sizes, taken)
    for piece, mask in zip(matrix.pieces, masks, strict=True):
        own = tuple(value(n, sizes) for n in piece.value.shape)
        count = math.prod(own)
        major, minor = (
            np.broadcast_to(matrix.flat(piece, axes).numbers(own, sizes, taken), own).reshape(-1)
            for axes in (matrix.major, matrix.minor)
        )
        kept = np.ones(count, bool) if mask.ndim == 0 and mask else np.broadcast_to(mask, own).reshape(-1).copy()
        if matrix.triangle:
            row, column = (minor, major) if matrix.by_columns else (major, minor)
            kept &= row >= column if matrix.triangle == "lower" else row <= column
        (at,) = np.nonzero(kept)
        majors.append(major[at])
        minors.append(minor[at])
        numbers.append(at + total)
        total += count
    major, minor, number = (
        np.concatenate(parts) if parts else np.zeros(0, np.int64) for parts in (majors, minors, numbers)
    )
    order = _order(minor, major)
    major, minor, number = major[order], minor[order], number[order]
    new = np.ones(major.size, bool)
    new[1:] = (major[1:] != major[:-1]) | (minor[1:] != minor[:-1])
    (starts,) = np.nonzero(new)
    kind = index_type(shape, starts.size)
    lengths = np.bincount(major[starts], minlength=shape[1] if matrix.by_columns else shape[0])
    pointers = np.concatenate(([0], np.cumsum(lengths))).astype(kind)
    pattern = SparsePattern(shape, pointers, minor[starts].astype(kind), matrix.by_columns)
    return Entries(pattern, number, None if starts.size == number.size else starts, total)
