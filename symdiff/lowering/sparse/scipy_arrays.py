"""SciPy's sparse arrays of a pattern: made once, and given other data for each result.

Sparse arrays of results, which share their positions until a method would write there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ...errors import ArgumentError, ShapeError
from ...graph.sizes import show
from .entries import SparsePattern

__all__ = [
    "BsrResult",
    "CscResult",
    "CsrResult",
    "array_of",
    "check_like",
    "draw",
    "flat_data",
    "is_ordinary",
    "kind_of",
    "shares",
    "with_data",
]


class _Shared:
    """Copy positions before SciPy's methods write in them; other results of the kernel keep theirs."""

    def _own(self: Any) -> None:
        self.indices, self.indptr = self.indices.copy(), self.indptr.copy()

    def eliminate_zeros(self) -> None:
        self._own()
        super().eliminate_zeros()  # type: ignore[misc]

    def resize(self, *shape: Any) -> None:
        self._own()
        super().resize(*shape)  # type: ignore[misc]

    @property
    def _csr_container(self) -> type:  # of transposes, which share positions, too
        return CsrResult

    @property
    def _csc_container(self) -> type:
        return CscResult

    @property
    def _bsr_container(self) -> type:
        return BsrResult


class CsrResult(_Shared, sparse.csr_array):  # type: ignore[misc]
    """Rows."""


class CscResult(_Shared, sparse.csc_array):  # type: ignore[misc]
    """Columns."""


class BsrResult(_Shared, sparse.bsr_array):  # type: ignore[misc]
    """Blocks."""


DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
#: Bytes of an array of positions up to which these are compared with those of the calls before.
MOST_POSITIONS = 1 << 16
#: What says where the entries of a sparse array stand.
_PLACES = ("indices", "indptr", "coords", "_shape")


def array_of(kind: str, pattern: SparsePattern) -> Any:
    """Return a sparse array of a pattern, whose data is exchanged for each result."""
    from scipy import sparse

    pass  # MERGED

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
