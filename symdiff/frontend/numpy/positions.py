"""Elements at the positions of integer inputs, taken and added up: what formulas of derivatives are written with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import DtypeError, ShapeError
from ...graph import INT, Node, delta, put, reshape, scatter, take
from ...graph.scalars.functions import compare, to_real
from ...graph.sizes import Dim, show
from .creation import arange
from .operations import numbers_in
from .shaping import axis_of, parse_size, whole_number

__all__ = ["MOVING", "add_at", "one_hot", "take_at"]

#: Functions of the library that integer inputs may go through: what moves elements alone.
MOVING = frozenset(
    ("reshape", "ravel", "transpose", "matrix_transpose", "swapaxes", "moveaxis", "expand_dims", "squeeze", "flip")
) | {"take", "take_at", "add_at", "one_hot"}


def take_at(x: Node, idx: Node, axis: Any = 0, shared: Any = 0) -> Node:
    """Take positions of an axis; along ``shared`` axes before it each place has positions of its own."""
    place, known = axis_of(x, axis), _shared(shared, idx)
    return take(x, _positions(idx, "take_at"), place, known)


def add_at(x: Node, idx: Node, n: Any, axis: Any = 0, shared: Any = 0) -> Node:
    """Add parts of an array into zeros of length ``n`` along an axis, at positions: the transpose of ``take_at``."""
    known = _shared(shared, idx)
    place, most = whole_number("axis", axis), x.ndim - idx.ndim + known
    if not known <= place <= most:
        raise ShapeError(
            f"axis {place} of add_at of shapes {show(x.shape)} and {show(idx.shape)}; expected {known} to {most}"
        )
    size = parse_size(n)
    given = None if idx.dtype is INT or known else numbers_in(idx)
    if given is None:
        return put(x, _positions(idx, "add_at"), place, size, known)
    places = _places(given, size)
    lead, trail = x.shape[:place], x.shape[place + idx.ndim :]
    if x.shape[place : place + idx.ndim] != idx.shape:
        raise ShapeError(f"positions of shape {show(idx.shape)} do not fit axis {place} of shape {show(x.shape)}")
    return scatter(to_real(reshape(x, (*lead, len(places), *trail))), place, places, size)


def _places(given: Any, size: Dim) -> tuple[int, ...]:
    """Return positions that are known numbers."""
    numbers = np.ravel(given)
    if not (numbers == np.floor(numbers)).all():
        raise DtypeError("add_at at numbers that are not whole; expected positions, or sd.indices('idx', n)")
    wrong = (numbers < 0) | (numbers >= (size if isinstance(size, int) else np.inf))
    if wrong.any():
        raise ShapeError(f"add_at at {numbers[wrong][0]:.0f} of an axis of length {size}; expected 0 or more, below it")
    return tuple(map(int, numbers))


def one_hot(x: Node, num_classes: Any) -> Node:
    """Return rows of zeros with a one at the position that each element of ``x`` is; rows of zeros beyond them.

    ``x`` is an integer input, or whole numbers. ``num_classes`` is the length of a row.
    """
    n = parse_size(num_classes)
    if x.dtype is INT:
        return take(delta(n, n), x, 0, 0)
    if not isinstance(n, int):
        raise ShapeError(f"one_hot of numbers with {n} classes; expected a whole number, or an integer input")
    column = reshape(x, (*x.shape, 1))
    return to_real(compare("equal", column, arange(n)))


def _positions(idx: Node, name: str) -> Node:
    if idx.dtype is not INT:
        raise DtypeError(f"{name} at positions that are no integer input; expected sd.indices('idx', n), or (int, n)")
    return idx


def _shared(shared: Any, idx: Node) -> int:
    known = whole_number("shared", shared)
    if not 0 <= known <= idx.ndim:
        raise ShapeError(f"shared={known} for positions of shape {show(idx.shape)}; expected 0 to {idx.ndim}")
    return known
