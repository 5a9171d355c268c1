"""Arrays made of numbers alone: filled ones, identities, ranges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import ArgumentError, LimitError, UnsupportedError
from ...graph import Node, broadcast_to, constant, cumulative, delta, whole
from ...graph import pad as put_into_zeros
from ...graph.scalars.functions import apply
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
