"""Axes, shapes and joins with NumPy's meaning, which move elements and compute nothing; arrays of numbers alone."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np

from ...errors import ArgumentError, LimitError, ShapeError, UnsupportedError
from ...graph import (
    BOOL,
    INT,
    REAL,
    Node,
    as_node,
    broadcast_to,
    concatenate,
    constant,
    delta,
    extent,
    postorder,
    reshape,
    slicing,
    transpose,
    whole,
)
from ...graph import pad as put_into_zeros
from ...graph.scalars.functions import apply, compare, to_real
from ...graph.sizes import Dim, Shape, Size, divide, is_room, named, product, read_size, show
from ...ground.budget import limits, reserve
from .indexing import gather_array, getitem, iota


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


def arange(start: Any, stop: Any = None, step: float = 1) -> Node:
    """Return equally spaced numbers, as ``numpy.arange`` does; in steps of 1 up to a size that may be symbolic."""
    first, last = (0, start) if stop is None else (start, stop)
    if not all(isinstance(end, int | float | np.number) for end in (first, last)):
        try:
            ends = [_end(end) for end in (first, last)]
        except ShapeError:
            raise ArgumentError(
                "arange to an end that depends on values; expected finite numbers, or whole numbers and sizes of inputs"
            ) from None
        if step != 1:
            raise ArgumentError(f"arange to {shown(last)} in steps of {shown(step)}; expected steps of 1 with letters")
        counted = iota(ends[1] - ends[0])
        return counted if ends[0] == 0 else apply("add", counted, extent(ends[0]))
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


def _end(end: Any) -> Dim:
    """Return where counted numbers begin or end: a size, or a whole number of either sign."""
    return int(end) if isinstance(end, int | float | np.number) and float(end).is_integer() else parse_size(end)


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


Axis: TypeAlias = int | Sequence[int] | None

#: Elements of an array, at most: numbers of eight bytes that an address reaches.
_MOST = 2**63 // 8


def axis_of(x: Node, axis: Any) -> int:
    """Return one axis counted from the front."""
    number = whole_number("axis", axis)
    if not -x.ndim <= number < x.ndim:
        expected = f"-{x.ndim} to {x.ndim - 1}" if x.ndim else "an array with axes"
        raise ShapeError(f"axis {number} of an array of shape {show(x.shape)}; expected {expected}")
    return number % x.ndim


def whole_number(name: str, value: Any) -> int:
    """Return ``value`` as a whole number; truth values and fractions are none.

    Raises
    ------
    ArgumentError
    """
    if not isinstance(value, bool | np.bool_):
        with suppress(Exception):  # an array of several numbers; whatever an object's own __index__ raises
            return operator.index(value)
    raise ArgumentError(f"{name}={shown(value)}; expected a whole number")


def shown(value: Any) -> str:
    """Return a value for a message: simple ones as they are written, the kind of others."""
    if isinstance(value, Size):
        return f"{value}, a size that is known at call time only"
    simple = value is None or isinstance(value, int | float | str | list | tuple)
    with suppress(Exception):  # what a list holds may not be printable
        return f"{value!r:.60}" if simple else f"a {type(value).__name__}"
    return f"a {type(value).__name__}"


def axes_of(x: Node, axis: Axis) -> tuple[int, ...]:
    """Return axes counted from the front, sorted; all of them for None."""
    if axis is None:
        return tuple(range(x.ndim))
    if isinstance(axis, tuple | list):
        found = [axis_of(x, a) for a in axis]
        if len(set(found)) != len(found):
            raise ShapeError(f"axis={tuple(axis)} names an axis twice")
        return tuple(sorted(found))
    return (axis_of(x, axis),)


def parse_shape(shape: Any) -> Shape:
    """Return a shape given as a size or a sequence of sizes (whole numbers, names or Size)."""
    return countable(tuple(parse_size(size) for size in several(shape)))


def several(value: Any) -> list[Any]:
    """Return the members of a sequence, or one thing as the only member."""
    return list(value) if isinstance(value, list | tuple | range) or _ndim(value) == 1 else [value]


def _ndim(value: Any) -> int:
    return value.ndim if isinstance(value, np.ndarray) else 0


def countable(shape: Shape) -> Shape:
    """Return a shape whose elements can be counted, as NumPy counts them.

    Raises
    ------
    LimitError
        If it has more than 64 axes, or elements than a machine can address.
    """
    sizes = [size for size in shape if isinstance(size, int)]
    if len(shape) > 64 or math.prod(size or 1 for size in sizes) > _MOST:
        raise LimitError(
            f"an array of {len(shape)} axes and shape {show(shape):.60} has more elements than can be counted"
        )
    return shape


def parse_size(size: Any) -> Dim:
    """Return one size: a whole number not below 0, or a name known at call time."""
    if isinstance(size, Size):
        return size
    node = getattr(size, "node", size)
    if isinstance(node, Node):
        return size_of(node)
    if isinstance(size, str):
        told = named(size) if size.isidentifier() else None if size.isdigit() else read_size(size)
        if not isinstance(told, Size) or any(len(one) > 64 for one in told.names):
            raise ShapeError(
                f"the size {size[:40]!r} is not a name; expected letters, digits and _, e.g. 'n', or products: 'm*n'"
            )
        return told
    try:
        number = whole_number("size", size)
    except ArgumentError:
        raise ShapeError(f"the size {shown(size)} is neither a whole number nor a name") from None
    if number < 0:
        raise ShapeError(f"the size {number} is negative; expected 0 or more")
    return number


def size_of(node: Node) -> Dim:
    """Return the size that a formula of sizes and whole numbers stands for.

    Raises
    ------
    ShapeError
        If it depends on anything else.
    """
    known: dict[Node, Dim] = {}
    for part in postorder([node]):
        found = [known.get(arg) for arg in part.args]
        if part.is_size:
            known[part] = part.payload.size
        elif part.is_constant and part.shape == () and float(part.value).is_integer():
            known[part] = int(part.value)
        elif part.op in ("add", "subtract", "multiply") and found[0] is not None and found[1] is not None:
            a, b = found[0], found[1]
            known[part] = a + b if part.is_addition else a - b if part.is_subtraction else a * b
    if node not in known:
        raise ShapeError("a size that is not made of whole numbers and the sizes of inputs")
    return known[node]


def ravel(x: Node, order: str = "C") -> Node:
    """Return the elements in C order, or in Fortran's, as a vector."""
    return reshape(_in_order("ravel", x, order), (x.size,))


def _in_order(what: str, x: Node, order: Any) -> Node:
    """Return an array whose elements in C order are those of ``x`` in the given one."""
    if order not in ("C", "F"):
        raise UnsupportedError(f"{what} with order={shown(order)}; expected 'C' or 'F': symbols lie nowhere in memory")
    return transpose(x) if order == "F" else x


def at_least(x: Node, rank: int) -> Node:
    """Add axes of size 1 up to a rank, where NumPy's atleast_1d, 2d and 3d do."""
    if x.ndim >= rank:
        return x
    if rank == 3:
        return reshape(x, {0: (1, 1, 1), 1: (1, *x.shape, 1), 2: (*x.shape, 1)}[x.ndim])
    return reshape(x, (*[1] * (rank - x.ndim), *x.shape))


def reshape_to(x: Node, shape: Any, order: str = "C") -> Node:
    """Reshape, in C order or in Fortran's; one size may be -1 and follows from the others."""
    elements = _in_order("reshape", x, order)
    asked = several(shape)
    unknown = [i for i, n in enumerate(asked) if isinstance(n, int | np.integer) and n == -1]
    if len(unknown) > 1:
        raise ShapeError(f"reshape to {tuple(asked)}: only one size may be -1")
    known = [parse_size(n) for i, n in enumerate(asked) if i not in unknown]
    if unknown:
        rest = divide(x.size, product(known))
        if rest is None:
            raise ShapeError(f"cannot reshape {show(x.shape)} to {tuple(asked)}: the sizes do not divide")
        known.insert(unknown[0], rest)
    return reshape(x, tuple(known)) if order == "C" else transpose(reshape(elements, tuple(known[::-1])))


def along(x: Node, axis: int, key: slice) -> Node:
    """Return a part of one axis (counted from the front)."""
    return getitem(x, (*(slice(None),) * axis, key))


def permute(x: Node, axes: Sequence[int] | None = None) -> Node:
    """Permute the axes; reverse them by default."""
    if axes is None:
        return transpose(x)
    order = [axis_of(x, a) for a in several(axes)]
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(f"transpose with axes={axes!r:.60} of an array with {x.ndim} axes; expected each axis once")
    return transpose(x, order)


def swapaxes(x: Node, axis1: int, axis2: int) -> Node:
    """Exchange two axes."""
    order = list(range(x.ndim))
    p, q = axis_of(x, axis1), axis_of(x, axis2)
    order[p], order[q] = order[q], order[p]
    return transpose(x, order)


def moveaxis(x: Node, source: Any, destination: Any) -> Node:
    """Move axes to other places, the rest keeping their order."""
    src = [axis_of(x, a) for a in several(source)]
    dst = [axis_of(x, a) for a in several(destination)]
    if len(src) != len(dst) or len(set(src)) != len(src) or len(set(dst)) != len(dst):
        raise ShapeError(f"moveaxis of {src} to {dst}; expected as many places as axes, and each once")
    order = [a for a in range(x.ndim) if a not in src]
    for place, axis in sorted(zip(dst, src, strict=True)):
        order.insert(place, axis)
    return transpose(x, order)


def expand_dims(x: Node, axis: Axis) -> Node:
    """Add axes of size 1."""
    if axis is None:
        raise ArgumentError("expand_dims without a place; expected axis=0 or the like")
    places = [whole_number("axis", p) for p in several(axis)]
    rank = x.ndim + len(places)
    at = {p % rank for p in places if -rank <= p < rank}
    if len(at) != len(places):
        raise ShapeError(f"expand_dims at {axis} of an array with {x.ndim} axes; expected different axes within {rank}")
    rest = iter(x.shape)
    return reshape(x, tuple(1 if a in at else next(rest) for a in range(rank)))


def squeeze(x: Node, axis: Axis = None) -> Node:
    """Drop axes of size 1."""
    gone = axes_of(x, axis) if axis is not None else tuple(a for a, n in enumerate(x.shape) if n == 1)
    for a in gone:
        if x.shape[a] != 1:
            raise ShapeError(f"squeeze of axis {a} with size {x.shape[a]}; expected size 1")
    return reshape(x, tuple(n for a, n in enumerate(x.shape) if a not in gone))


def _check_rows(x: Node, what: str) -> None:
    """Refuse an array that has no rows to join. Of others the result is a view, however many rows there are."""
    if not x.ndim:
        raise ShapeError(f"{what} of a scalar; expected a list of arrays")
    if x.shape[0] == 0:
        raise ArgumentError(f"{what} of no arrays; expected at least one")


def members(what: str, parts: Sequence[Node] | Node, instead: str) -> Sequence[Node]:
    """Return the arrays that a function takes as a list, of an array its rows.

    Raises
    ------
    UnsupportedError
        If the number of rows is known at call time only; the message says what to write ``instead``.
    """
    if not isinstance(parts, Node):
        return parts
    count = parts.shape[0] if parts.ndim else 0
    if not isinstance(count, int):
        raise UnsupportedError(f"{what} of {count} arrays, a number known at call time only; {instead}")
    return [getitem(parts, k) for k in range(count)]


def join(parts: Sequence[Node] | Node, axis: int | None = 0) -> Node:
    """Concatenate along an axis (flattened for None)."""
    if isinstance(parts, Node):
        _check_rows(parts, "concatenate")
        if axis is None:
            return ravel(parts)
        if parts.ndim == 1:
            raise ShapeError("concatenate of scalars; use stack to make a vector of them")
        at = axis_of(getitem(parts, 0), axis)
        rows, *sizes = parts.shape
        return reshape(moveaxis(parts, 0, at), (*sizes[:at], rows * sizes[at], *sizes[at + 1 :]))
    if not parts:
        raise ArgumentError("concatenate of no arrays; expected at least one")
    if axis is None:
        return join([ravel(p) for p in parts])
    if parts[0].ndim == 0:
        raise ShapeError("concatenate of scalars; use stack to make a vector of them")
    if any(p.dtype is REAL for p in parts):
        parts = [to_real(p) for p in parts]
    return concatenate(parts, axis_of(parts[0], axis))


def stack(parts: Sequence[Node] | Node, axis: int = 0) -> Node:
    """Join arrays of one shape along a new axis."""
    if isinstance(parts, Node):
        _check_rows(parts, "stack")
        expand_dims(getitem(parts, 0), axis)  # refuses an axis out of range
        return moveaxis(parts, 0, operator.index(axis) % parts.ndim)
    if not parts:
        raise ArgumentError("stack of no arrays; expected at least one")
    for part in parts:
        if part.shape != parts[0].shape:
            raise ShapeError(f"stack of shapes {show(parts[0].shape)} and {show(part.shape)}; expected equal shapes")
    return join([expand_dims(p, axis) for p in parts], axis)


def hstack(parts: Sequence[Node] | Node) -> Node:
    """Join along the second axis, or the first of vectors."""
    if isinstance(parts, Node):
        _check_rows(parts, "hstack")
        return parts if parts.ndim == 1 else join(parts, 0 if parts.ndim == 2 else 1)
    wide = [ravel(p) if p.ndim == 0 else p for p in parts]
    return join(wide, 0 if wide and wide[0].ndim == 1 else 1)


def vstack(parts: Sequence[Node] | Node) -> Node:
    """Join along the first axis, vectors becoming rows."""
    if isinstance(parts, Node):
        _check_rows(parts, "vstack")
        if parts.ndim > 2:
            return join(parts, 0)
        return parts if parts.ndim == 2 else reshape(parts, (parts.size, 1))
    return join([reshape(p, (1, *(p.shape or (1,)))) if p.ndim < 2 else p for p in parts], 0)


def column_stack(parts: Sequence[Node] | Node) -> Node:
    """Join along the second axis, vectors becoming columns."""
    if isinstance(parts, Node):
        _check_rows(parts, "column_stack")
        if parts.ndim > 2:
            return join(parts, 1)
        return transpose(parts) if parts.ndim == 2 else reshape(parts, (1, parts.size))
    return join([reshape(p, (p.size, 1)) if p.ndim < 2 else p for p in parts], 1)


def block(rows: Any) -> Node:
    """Join a nested list of arrays, the innermost along the last axis."""
    if not isinstance(rows, list):
        return as_node(rows)
    depth, probe = 0, rows
    while isinstance(probe, list):
        if not probe:
            raise ArgumentError("block of an empty list")
        depth, probe = depth + 1, probe[0]

    def build(part: Any, level: int) -> Node:
        if not isinstance(part, list):
            node = as_node(part)
            return reshape(node, (*([1] * (depth - node.ndim)), *node.shape)) if node.ndim < depth else node
        return join([build(p, level + 1) for p in part], level - depth)

    return build(rows, 0)


def take(x: Node, indices: Any, axis: int | None = None) -> Node:
    """Take positions along an axis (of the flattened array for None)."""
    if axis is None:
        return take(ravel(x), indices, 0)
    at = axis_of(x, axis)
    node = getattr(indices, "node", None)
    if isinstance(node, Node):
        return getitem(x, (*(slice(None),) * at, node))
    return gather_array(x, at, np.asarray(indices))


def flip(x: Node, axis: Axis = None) -> Node:
    """Reverse the order along axes."""
    for a in axes_of(x, axis):
        size = x.shape[a]
        x = slicing(x, tuple((size - 1, -1, size) if b == a else whole(n) for b, n in enumerate(x.shape)))
    return x


def roll(x: Node, shift: Any, axis: Any = None) -> Node:
    """Shift elements along axes, the last ones coming back first; along each axis by a number of its own."""
    if axis is None:
        return reshape(_roll(ravel(x), shift, 0), x.shape)
    axes, shifts = several(axis), several(shift)
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ShapeError(f"roll by {len(shifts)} numbers along {len(axes)} axes; expected one for each")
    if not shifts or not axes:  # NumPy broadcasts one number with none to none
        return x
    count = max(len(shifts), len(axes))
    for k, at in zip(shifts * (count // len(shifts)), axes * (count // len(axes)), strict=True):
        x = _roll(x, k, axis_of(x, at))
    return x


def _roll(x: Node, shift: Any, at: int) -> Node:
    size = x.shape[at]
    k = whole_number("shift", shift)
    if isinstance(size, int):
        k = k % size if size else 0
    if k == 0:
        return x
    # of a symbolic size, a call with a shorter axis is refused
    return join([along(x, at, slice(-k, None)), along(x, at, slice(None, -k))], at)


def repeat(x: Node, repeats: Any, axis: int | None = None) -> Node:
    """Repeat each element along an axis, as often as one number says, or one for each element."""
    if axis is None:
        return repeat(ravel(x), repeats, 0)
    at = axis_of(x, axis)
    counts = several(repeats)
    if len(counts) != 1:
        size = x.shape[at]
        if len(counts) != size:
            raise ShapeError(f"repeat by {len(counts)} counts along an axis of size {size}; expected one for each")
        times = [_count("repeat", each) for each in counts]
        if sum(times) > limits().elements:
            raise LimitError(f"repeat to {sum(times)} elements along an axis; at most {limits().elements} are made")
        return gather_array(x, at, np.repeat(np.arange(len(times)), times))
    n = _count("repeat", counts[0])
    before, after = x.shape[: at + 1], x.shape[at + 1 :]
    wide = broadcast_to(reshape(x, (*before, 1, *after)), (*before, n, *after))
    return reshape(wide, countable((*x.shape[:at], x.shape[at] * n, *x.shape[at + 1 :])))


def _count(what: str, given: Any) -> int:
    """Return how many times something is repeated."""
    times = whole_number(f"the count of {what}", given)
    if times < 0:
        raise ShapeError(f"{what} {times} times; expected 0 or more")
    return times


def tile(x: Node, reps: Any) -> Node:
    """Repeat the whole array along each axis."""
    counts = [_count("tile", r) for r in several(reps)]
    rank = max(x.ndim, len(counts))
    counts = [1] * (rank - len(counts)) + counts
    shape = (1,) * (rank - x.ndim) + x.shape
    x = reshape(x, tuple(m for n in shape for m in (1, n)))
    x = broadcast_to(x, tuple(m for r, n in zip(counts, shape, strict=True) for m in (r, n)))
    return reshape(x, countable(tuple(r * n for r, n in zip(counts, shape, strict=True))))
