"""Elements chosen by constants, by conditions, and by functions of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....errors import ArgumentError, LimitError, ShapeError, SymbolError, UnsupportedError
from ....graph import Node, as_node, constant, take, transpose
from ....graph.scalars.functions import apply, compare, to_real, where
from ....graph.sizes import show
from ....ground.guard import is_function, users
from .. import reductions
from ..indexing import gather_array, getitem
from ..shaping import Axis, axis_of, moveaxis, ravel, several, shown
from .pieces import broadcast_arrays, unstack


def take_along_axis(x: Node, indices: Any, axis: Any = -1) -> Node:
    """Take for each line along an axis the positions that stand in the same line, as ``numpy.take_along_axis``.

    Parameters
    ----------
    x : Node
    indices : array of int, or the node of integers
        As many axes as ``x``; constant, an integer input, or what argmax and its like give.
    axis : int or None
    """
    if axis is None:
        x, axis = ravel(x), 0
    at = axis_of(x, axis)
    node = getattr(indices, "node", None)
    if isinstance(node, Node):
        return _along_positions(x, node, at)
    places = np.asarray(indices)
    if places.dtype.kind not in "iu" or places.ndim != x.ndim:
        raise ArgumentError(
            f"take_along_axis with indices {shown(indices)}; expected whole numbers in an array of {x.ndim} axes"
        )
    grid: list[Any] = []
    for a, size in enumerate(x.shape):
        if a == at:
            grid.append(places)
        elif not isinstance(size, int):
            raise UnsupportedError(f"take_along_axis of an axis of symbolic size {size}; expected fixed sizes")
        else:
            grid.append(np.arange(size).reshape([-1 if b == a else 1 for b in range(x.ndim)]))
    try:
        grid = list(np.broadcast_arrays(*grid))
    except ValueError:
        raise ShapeError(f"take_along_axis of shapes {show(x.shape)} and {places.shape} do not fit") from None
    return getitem(x, tuple(grid))


def _along_positions(x: Node, at: Node, axis: int) -> Node:
    lead = tuple(n for a, n in enumerate(x.shape) if a != axis)
    if at.ndim != x.ndim or tuple(n for a, n in enumerate(at.shape) if a != axis) != lead:
        raise ShapeError(
            f"take_along_axis of an array of shape {show(x.shape)} with integers of shape {show(at.shape)}; expected "
            f"equal sizes on every axis but {axis}"
        )
    last = [*(a for a in range(x.ndim) if a != axis), axis]
    picked = take(transpose(x, last), transpose(at, last), x.ndim - 1, x.ndim - 1)
    return moveaxis(picked, -1, axis)


def compress(condition: Any, x: Node, axis: int | None = None) -> Node:
    """Keep the positions of an axis where a constant condition holds, as ``numpy.compress``."""
    if axis is None:
        x, axis = ravel(x), 0
    mask = _constant_mask("compress", condition)
    if mask.ndim != 1:
        raise ShapeError(f"compress by a condition of shape {mask.shape}; expected a vector")
    return gather_array(x, axis_of(x, axis), np.flatnonzero(mask))


def extract(condition: Any, x: Node) -> Node:
    """Keep the elements, in C order, where a constant condition holds, as ``numpy.extract``."""
    return compress(_constant_mask("extract", condition).ravel(), ravel(x), 0)


def _constant_mask(what: str, condition: Any) -> np.ndarray[Any, Any]:
    if hasattr(condition, "node"):
        raise UnsupportedError(
            f"{what} by a condition of symbols, whose count is not known before the call; write where(condition, x, 0)"
        )
    return np.asarray(condition).astype(bool)


def choose(a: Any, choices: Any, mode: Any = "raise") -> Node:
    """Choose for each element one of some arrays by a constant number, as ``numpy.choose``."""
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentError(f"choose with mode={shown(mode)}; expected 'raise', 'wrap' or 'clip'")
    numbers = np.array(None) if hasattr(a, "node") else np.asarray(a)
    if numbers.dtype.kind not in "iu":
        raise UnsupportedError(f"choose by {shown(a)}; expected constant whole numbers (by conditions, write select)")
    given = getattr(choices, "node", choices)
    parts = list(unstack(given)) if isinstance(given, Node) else [as_node(getattr(c, "node", c)) for c in given]
    count = len(parts)
    if not count or (mode == "raise" and numbers.size and not 0 <= numbers.min() <= numbers.max() < count):
        raise ShapeError(f"choose by numbers from {numbers.min()} to {numbers.max()} among {count} arrays")
    numbers = numbers % count if mode == "wrap" else np.clip(numbers, 0, count - 1)
    *parts, _ = broadcast_arrays(*map(to_real, parts), constant(numbers.astype(float)))
    result = parts[0]
    for k, part in enumerate(parts[1:], 1):
        result = where(constant(numbers == k), part, result)
    return result


# ---------------------------------------------------------------------------- functions of the user's own


def _node_of(what: str, x: Any) -> Node:
    node = getattr(x, "node", None)
    if not isinstance(node, Node):
        raise ArgumentError(f"{what} of {shown(x)}; expected an array of symbols")
    return node


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Apply the function of the last condition that holds, as ``numpy.piecewise``; 0 where none does.

    Parameters
    ----------
    x : Array
    condlist : list of conditions
    funclist : list of functions and numbers
        One for each condition, and perhaps one for the rest.
    *args, **kw
        What functions take besides ``x``.
    """
    _node_of("piecewise", x)
    if not isinstance(funclist, list | tuple):
        raise ArgumentError(f"piecewise with {shown(funclist)}; expected a list of functions and numbers")
    conditions = list(condlist) if isinstance(condlist, list | tuple) else [condlist]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ArgumentError(
            f"piecewise of {len(conditions)} conditions and {len(funclist)} functions; expected as many, or one more"
        )
    values = [users(f)(x, *args, **kw) if is_function(f) else f for f in funclist]
    default = values.pop() if len(values) > len(conditions) else 0.0
    # of several conditions that hold, NumPy's last one is what stays
    return np.select(conditions[::-1], [np.broadcast_to(value, x.shape) for value in values[::-1]], default)


def apply_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply a function to each line along an axis, as ``numpy.apply_along_axis``: it is called once a line."""
    at = axis_of(_node_of("apply_along_axis", arr), axis)
    lead = [n for a, n in enumerate(arr.shape) if a != at]
    if not all(isinstance(n, int) for n in lead):
        raise UnsupportedError(
            f"apply_along_axis of shape {show(arr.shape)}: the number of lines is known at call time only; write the "
            "function for the whole array, with axis="
        )
    if not is_function(func1d):
        raise ArgumentError(f"apply_along_axis of {shown(func1d)}; expected a function")
    moved = np.moveaxis(arr, at, -1)
    spots = list(np.ndindex(*lead))
    if not spots:
        raise ShapeError(f"apply_along_axis of an array of shape {show(arr.shape)} without lines")
    made = [users(func1d)(moved[spot], *args, **kwargs) for spot in spots]
    lines = np.stack(made)
    own = tuple(lines.shape[1:])
    grid = lines.reshape((*lead, *own))
    # what the function gave stands where the axis stood
    places = list(range(len(lead), len(lead) + len(own)))
    return np.moveaxis(grid, places, list(range(at, at + len(own)))) if own else grid


def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """Apply a function of an array and an axis along several axes in turn, as ``numpy.apply_over_axes``."""
    _node_of("apply_over_axes", a)
    result, rank = a, len(a.shape)
    for axis in several(axes):
        at = axis_of(a.node, axis)
        found = users(func)(result, at)
        _node_of("apply_over_axes", found)
        if len(found.shape) == rank - 1:
            found = np.expand_dims(found, at)
        if len(found.shape) != rank:
            raise ShapeError(f"apply_over_axes: the function gave an array of shape {show(found.shape)}")
        result = found
    return result


# ---------------------------------------------------------------------------- questions


def isin(x: Node, test_elements: Any, invert: bool = False) -> Node:
    """Tell which elements equal one of some constants."""
    try:
        values = np.unique(np.asarray(test_elements, dtype=float))
    except (TypeError, ValueError, SymbolError):
        raise UnsupportedError("isin of elements that are no constants; write (x == a) | (x == b)") from None
    if values.size > 1000:
        raise LimitError(f"isin of {values.size} constants; at most 1000 are compared with")
    found = compare("equal", x, values[0]) if values.size else compare("not_equal", x, x)
    for value in values[1:]:
        found = apply("logical_or", found, compare("equal", x, value))
    return apply("logical_not", found) if invert else found


def count_nonzero(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Count over axes what is not 0: a number whose derivative is 0."""
    return reductions.sum(to_real(compare("not_equal", to_real(x), 0.0)), axis, keepdims)
