"""Arrays made of numbers alone: filled ones, identities, ranges; and what dtypes are of symbols."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import ArgumentError, LimitError, UnsupportedError
from ...graph import BOOL, INT, REAL, Node, broadcast_to, constant, cumulative, delta, whole
from ...graph import pad as put_into_zeros
from ...graph.scalars.functions import apply, compare, to_real
from ...graph.sizes import Dim, Size, is_room
from ...ground.budget import limits, reserve
from .shaping import parse_shape, shown


def full(shape: Any, value: float) -> Node:
    """Return an array with one value everywhere."""
    return broadcast_to(constant(value), parse_shape(shape))


def eye(n: Any, m: Any = None, k: int = 0) -> Node:
    """Return a matrix with ones on diagonal ``k``."""
    rows, columns = parse_shape((n, n if m is None else m))
    if k == 0 and rows == columns:
        return delta(rows, columns)
    if isinstance(rows, int) and isinstance(columns, int):
        most = limits().elements
        if rows * columns > most:
            raise LimitError(f"eye of shape {(rows, columns)!s:.60} has more than {most} elements, the limit")
        reserve(8 * rows * columns)
        return constant(np.eye(rows, columns, max(min(k, columns), -rows)))
    return _off_diagonal(rows, columns, k)


def _off_diagonal(rows: Dim, columns: Dim, k: int) -> Node:
    """Return ones on diagonal ``k``: of a delta, whose rows each have one, between rows of zeros."""
    before = max(0, -k)
    if is_room(columns - k - rows):
        end = rows
    elif is_room(rows - (columns - k)):
        end = columns - k
    else:
        raise UnsupportedError(f"eye of {rows} rows and {columns} columns; expected sizes of which one is the longer")
    inner = delta(end - before, columns, k + before)
    return put_into_zeros(inner, ((before, 1, end - before), whole(columns)), (rows, columns))


def iota(size: Any) -> Node:
    """Return the numbers from 0 up to a size, which may be known at call time only."""
    (count,) = parse_shape(size)
    if isinstance(count, int):
        return constant(np.arange(count, dtype=float))
    return apply("subtract", cumulative("cumsum", broadcast_to(constant(1.0), (count,)), 0), 1.0)


def arange(start: Any, stop: float | None = None, step: float = 1) -> Node:
    """Return equally spaced numbers, as ``numpy.arange`` does; from 0 up to a size that may be symbolic."""
    if stop is None and step == 1 and isinstance(start, str | Size):
        return iota(start)
    first, last = (0.0, start) if stop is None else (start, stop)
    for value in (first, last, step):
        if not isinstance(value, int | float | np.number) or not math.isfinite(value):
            raise ArgumentError(f"arange with {shown(value)}; expected finite numbers")
    if step == 0:
        raise ArgumentError("arange with step 0; expected a step up or down")
    length, most = math.ceil((last - first) / step), limits().elements
    if length > most:
        raise LimitError(f"arange of {length} elements; at most {most} are made")
    reserve(8 * max(length, 0))
    return constant(first + step * np.arange(max(length, 0), dtype=float))


def like(x: Node, value: float) -> Node:
    """Return an array of the shape of ``x`` with one value everywhere."""
    return broadcast_to(constant(value), x.shape)


def dtype_of(given: Any) -> np.dtype[Any]:
    """Return a dtype that symbols may be called by: of booleans, integers or real numbers.

    Raises
    ------
    ArgumentError, UnsupportedError
        If it is none, or one of complex numbers or anything else.
    """
    try:
        dtype: np.dtype[Any] = np.dtype(given)
    except TypeError:
        raise ArgumentError(f"dtype={shown(given)}; expected a dtype such as float64, int64 or bool") from None
    if given is None or dtype.kind not in "buif":
        raise UnsupportedError(f"dtype {'None' if given is None else dtype}; arrays of symbols are of real numbers, "
                               "whole numbers or conditions")  # fmt: skip
    return dtype


def cast(x: Node, dtype: Any) -> Node:
    """Return numbers as they are for a dtype of real numbers, whole parts for one of integers, or what is not 0."""
    kind = dtype_of(dtype).kind
    if kind == "b":
        return x if x.dtype is BOOL else compare("not_equal", x, 0.0)
    if x.dtype is INT:
        if kind == "f":
            raise UnsupportedError(f"astype({dtype!r:.40}) of an integer input; declare another input of real numbers")
        return x
    return apply("trunc", x) if kind in "iu" and x.dtype is REAL and not _is_whole(x) else to_real(x)


def _is_whole(x: Node) -> bool:
    return x.is_constant and bool((np.trunc(x.value) == x.value).all())


def check_device(device: Any) -> None:
    """Refuse a device other than the one that kernels run on.

    Raises
    ------
    UnsupportedError
    """
    if device not in (None, "cpu"):
        raise UnsupportedError(f"device {shown(device)}; expected 'cpu': symbols lie nowhere, and kernels run there")
