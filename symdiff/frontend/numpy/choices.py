"""Elements chosen by constants, conditions, functions and tables; places of extrema and questions about elements.

Places, orders and answers have the derivative 0: a whole number of NumPy's is a number of the formula here, as of
``searchsorted``. Interpolation and search compare with all entries of a sorted table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError, LimitError, ShapeError, SymbolError, UnsupportedError
from ...graph import BOOL, Node, as_node, broadcast_to, constant, elementwise, reshape, stop_gradient, take, transpose
from ...graph.scalars.functions import apply, compare, to_real, where
from ...graph.sizes import show
from ...ground.guard import is_function, users
from . import reductions
from .indexing import gather_array, getitem, iota
from .operations import numbers_in
from .pieces import broadcast_arrays, unstack
from .reductions import max as largest
from .reductions import min as least
from .reductions import sum
from .shaping import Axis, along, axis_of, moveaxis, ravel, several, shown
from .statistics import arrange


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{name}={shown(value)}; expected True or False")
    return bool(value)


def _either(a: Node, b: Node) -> Node:
    return elementwise("logical_or", (a, b), BOOL)


def _places(x: Node, axis: int) -> Node:
    """Return the number of each element along an axis, in an array that broadcasts with ``x``."""
    along = tuple(n if k == axis else 1 for k, n in enumerate(x.shape))
    return broadcast_to(reshape(iota(x.shape[axis]), along), x.shape)


def _first(x: Node, axis: int | None, keepdims: bool, extremum: Callable[..., Node]) -> Node:
    whole, x = x.ndim, to_real(x)
    if axis is None:
        x, at = ravel(x), 0
    else:
        at = axis_of(x, axis)
    best = extremum(x, at, keepdims=True)
    # an extremum of what holds a nan is nan, and so is its place the first nan's
    found = _either(compare("equal", x, best), compare("not_equal", x, x))
    place = least(where(found, _places(x, at), math.inf), at, keepdims=keepdims)
    place = reshape(place, (1,) * whole) if axis is None and keepdims else place
    return stop_gradient(place)


def argmax(x: Node, axis: int | None = None, keepdims: bool = False) -> Node:
    """Return where along an axis the largest element first stands, as a number whose derivative is 0.

    Parameters
    ----------
    x : Node
    axis : int or None
        None for the place among all elements, in C order.
    keepdims : bool
    """
    return _first(x, axis, keepdims, largest)


def argmin(x: Node, axis: int | None = None, keepdims: bool = False) -> Node:
    """Return where along an axis the smallest element first stands: see :func:`argmax`."""
    return _first(x, axis, keepdims, least)


def _known(x: Node, instead: float) -> Node:
    return where(compare("not_equal", x, x), instead, to_real(x))


def nanargmax(x: Node, axis: int | None = None, keepdims: bool = False) -> Node:
    """Return where the largest element stands that is no nan; 0 where all are."""
    return argmax(_known(x, -math.inf), axis, keepdims)


def nanargmin(x: Node, axis: int | None = None, keepdims: bool = False) -> Node:
    """Return where the smallest element stands that is no nan; 0 where all are."""
    return argmin(_known(x, math.inf), axis, keepdims)


def argsort(x: Node, axis: int | None = -1, kind: Any = None, stable: Any = None) -> Node:
    """Return the places of elements in ascending order, ties in the order in which they stand, nan last.

    Numbers, whose derivative is 0. Each element is compared with each other one, so that ties are told apart; the order
    is a stable one, whatever ``kind`` and ``stable`` ask for.
    """
    if kind not in (None, "stable", "quicksort", "mergesort", "heapsort"):
        raise ArgumentError(f"argsort with kind={shown(kind)}; expected 'stable', which it is")
    if stable is not None:
        _flag("stable", stable)
    x = to_real(x)
    if axis is None:
        x, at = ravel(x), 0
    else:
        at = axis_of(x, axis)
    one = reshape(x, (*x.shape[: at + 1], 1, *x.shape[at + 1 :]))
    other = reshape(x, (*x.shape[:at], 1, *x.shape[at:]))
    n = x.shape[at]
    places = reshape(iota(n), (n, *(1,) * (x.ndim - at - 1)))
    rows = reshape(places, (n, 1, *(1,) * (x.ndim - at - 1)))
    first_nan, other_nan = compare("not_equal", one, one), compare("not_equal", other, other)
    less = _either(compare("less", one, other), _both(apply("logical_not", first_nan), other_nan))
    tied = _either(compare("equal", one, other), _both(first_nan, other_nan))
    before = _either(less, _both(tied, compare("less", rows, places)))
    rank = reductions.sum(to_real(before), at)
    return stop_gradient(arrange(_places(x, at), rank, at - x.ndim))


def _both(a: Node, b: Node) -> Node:
    return elementwise("logical_and", (a, b), BOOL)


def isclose(a: Node, b: Node, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Node:
    """Return where two numbers differ by at most ``atol + rtol * abs(b)``, as a condition."""
    a, b = to_real(a), to_real(b)
    close = compare("less_equal", apply("abs", a - b), atol + rtol * apply("abs", b))
    finite = compare("less", apply("abs", b), math.inf)
    close = _either(_both(close, finite), compare("equal", a, b))
    if not _flag("equal_nan", equal_nan):
        return close
    return _either(close, _both(compare("not_equal", a, a), compare("not_equal", b, b)))


def allclose(a: Node, b: Node, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Node:
    """Return whether all elements are close, as a condition: see :func:`isclose`."""
    return reductions.all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a: Node, b: Node, equal_nan: bool = False) -> Node:
    """Return whether two arrays of one shape are equal everywhere, as a condition."""
    if show(a.shape) != show(b.shape):
        return constant(False)
    same = compare("equal", to_real(a), to_real(b))
    if _flag("equal_nan", equal_nan):
        same = _either(same, _both(compare("not_equal", a, a), compare("not_equal", b, b)))
    return reductions.all(same)


def signbit(x: Node) -> Node:
    """Return where elements are below 0; zeros of a formula have no sign."""
    return compare("less", to_real(x), 0.0)


def isreal(x: Node) -> Node:
    """Return a condition that holds everywhere: each symbol is real."""
    return broadcast_to(constant(True), x.shape)


def iscomplex(x: Node) -> Node:
    """Return a condition that holds nowhere: each symbol is real."""
    return broadcast_to(constant(False), x.shape)


def angle(x: Node, deg: bool = False) -> Node:
    """Return the angle of real numbers in the complex plane: pi below 0, else 0."""
    x = to_real(x)
    turned = where(compare("less", x, 0.0), 180.0 if _flag("deg", deg) else math.pi, 0.0)
    return where(compare("equal", x, x), turned, x)


def modf(x: Node) -> tuple[Node, Node]:
    """Return the parts of numbers behind the point, and those before it."""
    x = to_real(x)
    whole = apply("trunc", x)
    endless = compare("equal", apply("abs", x), math.inf)
    return where(endless, 0.0, x - whole), whole


def frexp(x: Node) -> tuple[Node, Node]:
    """Return numbers as mantissas from 1/2 to 1 times powers of 2, and the exponents of these."""
    x = to_real(x)
    size = apply("abs", stop_gradient(x))
    odd = _either(compare("equal", size, 0.0), apply("logical_not", compare("less", size, math.inf)))
    exponent = apply("floor", apply("log2", where(odd, 1.0, size))) + 1.0
    # the logarithm of what lies beside a power of 2 may be rounded to that of the power
    scaled = size * apply("exp2", -exponent)
    exponent = where(compare("less", scaled, 0.5), exponent - 1.0, exponent)
    exponent = where(compare("less_equal", 1.0, scaled), exponent + 1.0, exponent)
    exponent = stop_gradient(where(odd, 0.0, exponent))
    half = apply("exp2", apply("trunc", -0.5 * exponent))  # in two steps, since a whole one may overflow
    return x * half * apply("exp2", -exponent - apply("trunc", -0.5 * exponent)), exponent


def interp(x: Node, xp: Node, fp: Node, left: Node | None = None, right: Node | None = None) -> Node:
    """Interpolate linearly between the points of a table, as ``numpy.interp``.

    Parameters
    ----------
    x : Node
        Where.
    xp, fp : Node, shape (n,)
        The points, in ascending order of ``xp``, and the values there.
    left, right : Node, optional
        The value before the first point and behind the last: the first and the last of ``fp``.

    Notes
    -----
    The derivative at a point is that of the piece that begins there, at the last point that of the piece before it.
    Each element is compared with each point.
    """
    if xp.ndim != 1 or fp.shape != xp.shape or xp.shape[0] == 0:
        raise ShapeError(
            f"interp in a table of shapes {show(xp.shape)} and {show(fp.shape)}; expected two vectors of one size"
        )
    _check_ascending("interp", xp)
    x, xp, fp = to_real(x), to_real(xp), to_real(fp)
    first, last = getitem(xp, 0), getitem(xp, -1)
    below = getitem(fp, 0) if left is None else left
    above = getitem(fp, -1) if right is None else right
    if xp.shape[0] == 1:
        inside = broadcast_to(getitem(fp, 0), x.shape)
    else:
        wide = reshape(x, (*x.shape, 1))
        (a, b), (c, d) = [(along(v, 0, slice(None, -1)), along(v, 0, slice(1, None))) for v in (xp, fp)]
        # a piece that has no length holds no element, and is not divided by
        here = apply("logical_and", compare("less_equal", a, wide), compare("less", wide, b))
        slope = apply("divide", apply("subtract", d, c), apply("subtract", b, a))
        piece = apply("add", apply("multiply", slope, apply("subtract", wide, a)), c)
        inside = sum(where(here, piece, 0.0), -1)
        # the last point belongs to the piece before it
        rise, run = (apply("subtract", getitem(v, -1), getitem(v, -2)) for v in (fp, xp))
        end = apply("divide", rise, run)
        at_end = apply("add", getitem(fp, -1), apply("multiply", end, apply("subtract", x, last)))
        inside = where(compare("equal", x, last), at_end, inside)
    result = where(compare("less", x, first), below, where(compare("less", last, x), above, inside))
    return where(compare("not_equal", x, x), x, result)


def searchsorted(a: Node, v: Node, side: Any = "left") -> Node:
    """Return where elements would be inserted into a sorted vector, as ``numpy.searchsorted``.

    Parameters
    ----------
    a : Node, shape (n,)
        In ascending order.
    v : Node
    side : {"left", "right"}
        Before elements that are equal, or behind them.

    Returns
    -------
    Node
        Numbers, whose derivative is 0.
    """
    if a.ndim != 1:
        raise ShapeError(f"searchsorted in an array of shape {show(a.shape)}; expected a vector")
    if side not in ("left", "right"):
        raise ArgumentError(f"searchsorted with side={shown(side)}; expected 'left' or 'right'")
    _check_ascending("searchsorted", a)
    wide = reshape(v, (*v.shape, 1))
    # nan stands behind all numbers
    later = compare("less_equal", wide, a) if side == "left" else compare("less", wide, a)
    return sum(to_real(apply("logical_not", later)), -1)


def digitize(x: Node, bins: Node, right: bool = False) -> Node:
    """Return the numbers of the bins that elements are in, as ``numpy.digitize``: numbers whose derivative is 0."""
    return searchsorted(bins, x, "left" if right else "right")


def _check_ascending(what: str, table: Node) -> None:
    values = numbers_in(table)
    if values is not None and (np.diff(np.asarray(values)) < 0).any():
        raise UnsupportedError(f"{what} in a table that does not ascend; sort it, and its values with it, before")


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
