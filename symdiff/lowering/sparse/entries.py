"""The nonzeros of a result as lists of positions: sorted, without duplicates, for given sizes.

A matrix has its rows and columns numbered, the axes of the formula and those of the variable flattened. Along the
major one entries are sorted first: rows for csr and coo, columns for csc.

SciPy's sparse arrays of a pattern are made once, and given other data for each result. Results share their positions
until a method would write there.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._kernels.call import put_entries
from ...errors import ArgumentError, LimitError, ShapeError
from ...graph import Node
from ...graph.sizes import Dim, Shape, product, show, value
from .places import Indices, SparsePiece, Taken, times
from .structure import deciding, nonzeros

__all__ = [
    "Entries",
    "Matrix",
    "SparsePattern",
    "array_of",
    "check_like",
    "counted",
    "draw",
    "flat_data",
    "is_ordinary",
    "kind_of",
    "list_entries",
    "refuse_large",
    "shares",
    "with_data",
]


DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
#: Bytes of an array of positions up to which these are compared with those of the calls before.
MOST_POSITIONS = 1 << 16
#: Attributes with the positions of the entries of a sparse array.
_PLACES = ("indices", "indptr", "coords", "_shape")


def array_of(kind: str, pattern: SparsePattern) -> Any:
    """Return a sparse array of a pattern, whose data is exchanged for each result."""
    from scipy import sparse

    from .results import BsrResult, CscResult, CsrResult

    data = np.zeros(pattern.size)
    if kind == "coo":
        rows, columns = pattern.coordinates()
        for own in (rows, columns):
            own.flags.writeable = False
        made = sparse.coo_array((data, (rows, columns)), shape=pattern.shape)
        made.has_canonical_format = True
        return made
    if kind == "bsr":
        blocks = data.reshape(-1, *pattern.block)
        made = BsrResult((blocks, pattern.indices, pattern.pointers), shape=pattern.shape, copy=False)
        made.has_sorted_indices = made.has_canonical_format = True
        return made
    make = CscResult if kind == "csc" else CsrResult
    made = make((data, pattern.indices, pattern.pointers), shape=pattern.shape, copy=False)
    made.has_sorted_indices = made.has_canonical_format = True
    return made


def with_data(template: Any, data: npt.NDArray[Any]) -> Any:
    """Return an array of the same positions, which it shares."""
    made = object.__new__(type(template))
    made.__dict__.update(template.__dict__)
    made.data = data if template.data.ndim == 1 else data.reshape(template.data.shape)
    return made


def flat_data(data: npt.NDArray[Any], pattern: SparsePattern, name: str) -> npt.NDArray[Any]:
    """Return data that is given for a result, the elements of blocks in a row.

    Raises
    ------
    ArgumentError
        If blocks are not side by side in memory.
    """
    if pattern.block == (1, 1) or data.ndim != 3:
        return data
    expected = (pattern.indices.size, *pattern.block)
    if data.shape != expected:
        raise ShapeError(f"out for {name} has shape {show(data.shape)}; expected {show(expected)}")
    if not data.flags.c_contiguous:
        raise ArgumentError(f"out for {name} is not contiguous; blocks are written side by side in memory")
    return data.reshape(-1)


def shares(target: Any, template: Any) -> bool:
    """Tell whether a sparse array is one that was given back before."""
    if type(target) is not type(template):
        return False
    own, same = target.__dict__, template.__dict__
    for name in _PLACES:  # noqa: SIM110 - a generator takes as long as the rest of a short call
        if own.get(name) is not same.get(name):
            return False
    return True


def check_like(target: Any, kind: str, pattern: SparsePattern, name: str) -> None:
    """Check that a sparse array that is given for a result has its pattern."""
    title = f"out for {name}"
    if getattr(target, "format", None) not in ("csr", "csc", "coo", "bsr"):
        raise ArgumentError(f"{title} is a {type(target).__name__}; expected the data, an ndarray, or a {kind} array")
    if kind not in ("values", target.format):
        raise ArgumentError(f"{title} is in the format {target.format}; expected {kind}")
    if target.shape != pattern.shape:
        raise ShapeError(f"{title} has shape {show(target.shape)}; expected {show(pattern.shape)}")
    if target.format == "coo":
        same = all(_equal(a, b) for a, b in zip(target.coords, pattern.coordinates(), strict=True))
    else:
        by_columns = target.format == "csc"
        if target.format == "bsr" and target.blocksize != pattern.block:
            raise ShapeError(f"{title} has blocks of {show(target.blocksize)}; expected {show(pattern.block)}")
        same = by_columns == pattern.by_columns and _equal(target.indices, pattern.indices)
        same = same and _equal(target.indptr, pattern.pointers)
    if not same:
        raise ArgumentError(f"{title} has other positions than the result; pass an array that the kernel gave")


def _equal(a: Any, b: Any) -> bool:
    return a is b or np.array_equal(a, b)


def kind_of(args: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return what decides how a call of a sample is served: shapes and types of arrays, and the numbers of positions.

    Returns
    -------
    tuple or None
        A shape for arrays of float64 and Python's numbers, more for others; None where anything is out of the ordinary.
    """
    kinds: list[Any] = []
    for argument in args:
        if type(argument) is float or type(argument) is int:
            kinds.append(())
        elif type(argument) is not np.ndarray:
            return None
        elif argument.dtype is DOUBLE:
            kinds.append(argument.shape)
        elif argument.dtype is SINGLE:
            kinds.append((argument.shape, "f"))
        elif argument.dtype.kind in "iu" and argument.dtype.isnative and argument.nbytes <= MOST_POSITIONS:
            kinds.append((argument.shape, argument.dtype.char, argument.tobytes()))
        else:
            return None
    return tuple(kinds)


def is_ordinary(target: Any, shape: tuple[int, ...], dtype: Any) -> bool:
    """Tell whether an array may be written to without a further look."""
    return (
        type(target) is np.ndarray
        and target.dtype is dtype
        and target.shape == shape
        and target.flags.c_contiguous
        and target.flags.writeable
    )


def draw(pattern: SparsePattern, ax: Any) -> Any:
    """Draw a pattern on the axes of a figure, by default a new one's."""
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots()
    rows, columns = pattern.coordinates()
    height, width = pattern.shape
    ax.plot(columns, rows, "s", markersize=max(1.0, min(8.0, 200.0 / max(height, width, 1))), linestyle="none")
    ax.set_xlim(-0.5, width - 0.5)
    ax.set_ylim(height - 0.5, -0.5)
    ax.set_aspect("equal")
    ax.set_title(f"{rows.size:,} of {height:,}×{width:,}")
    return ax


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
    """Places of the entries of a matrix, in the order of their values.

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
