"""Indexing with NumPy's meaning: whole numbers, slices, None, Ellipsis, constant index arrays."""

from __future__ import annotations

import operator
import sys
from typing import Any, SupportsIndex

import numpy as np

from ...errors import DtypeError, ShapeError, UnsupportedError
from ...graph import (
    BOOL,
    INT,
    Item,
    Node,
    broadcast_to,
    constant,
    cumulative,
    gather,
    placeholder,
    reshape,
    slicing,
    spans_of,
    take,
    transpose,
    whole,
)
from ...graph.scalars.functions import apply
from ...graph.sizes import Dim, Size, Span, product, show, sign


def spans_taken(x: Node, key: Any, taken: Node) -> list[Span]:
    """Return what an index takes of axes whose sizes are letters, where ``taken`` does not show it: a part of ones."""
    if taken.op in ("slice", "gather", "take") or not any(isinstance(size, Size) for size in x.shape):
        return []
    return spans_of([getitem(placeholder("indexed", x.shape), key)])


def getitem(x: Node, key: Any) -> Node:
    """Index as NumPy does: whole numbers, slices, None, Ellipsis, constant index arrays, nodes of integer inputs.

    Raises
    ------
    ShapeError
        If there are too many indices or one is out of range.
    UnsupportedError
        If an index is not known when the formula is built.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    keys = [k.item() if isinstance(k, np.generic) or (isinstance(k, np.ndarray) and k.ndim == 0) else k for k in keys]
    if any(is_masked(k) for k in keys):
        raise DtypeError("a masked array as an index, whose mask would be lost; select first")
    keys = [_constant_positions(k) if isinstance(k, (list, tuple)) else k for k in keys]
    used = sum(
        k.ndim if isinstance(k, np.ndarray) and k.dtype == bool else 1
        for k in keys
        if k is not None and k is not Ellipsis
    )
    if used > x.ndim:
        raise ShapeError(f"{used} indices for an array of shape {show(x.shape)}; expected at most {x.ndim}")
    dots = [i for i, k in enumerate(keys) if k is Ellipsis]
    if len(dots) > 1:
        raise ShapeError("more than one '...' in an index")
    at = dots[0] if dots else len(keys)
    keys[at : at + len(dots)] = [slice(None)] * (x.ndim - used)
    items: list[Item] = []
    shape: list[Dim] = []
    arrays: list[tuple[int, np.ndarray[Any, Any]]] = []
    chosen: list[tuple[int, Node]] = []
    axis = 0
    for k in keys:
        if k is None:
            shape.append(1)
            continue
        size = x.shape[axis]
        if isinstance(k, Node):
            chosen.append((len(shape), k))
            items.append(whole(size))
            shape.append(size)
        elif isinstance(k, np.ndarray):
            arrays.append((len(shape), _mask_index(k, x, axis) if k.dtype == bool else k))
            items.append(whole(size))
            shape.append(size)
        elif isinstance(k, slice):
            items.append(_slice_item(k, size))
            length = items[-1][2]
            assert length is not None
            shape.append(length)
        elif isinstance(k, Size):
            items.append((_position(k, size), 1, None))
        elif type(k) is int or (isinstance(k, SupportsIndex) and not isinstance(k, bool)):
            items.append((_index(operator.index(k), size), 1, None))
        else:
            raise UnsupportedError(
                f"an index of type {type(k).__name__}; expected whole numbers, slices, None, '...' or constant arrays "
                "of them (to choose by a condition, write where)"
            )
        axis += 1
    if x.is_constant and not chosen and not arrays:  # numbers show as what they are
        return constant(x.value[tuple(slice(None) if k is Ellipsis else k for k in keys)])
    result = slicing(x, tuple(items))
    result = reshape(result, tuple(shape))
    if chosen:
        return _pick(result, chosen, arrays, keys, at if dots and used == x.ndim else 0)
    return _gather_points(result, arrays) if arrays else result


#: Axes that an array of NumPy has at most.
_MOST_AXES = 64


def _constant_positions(key: list[Any] | tuple[Any, ...]) -> np.ndarray[Any, Any]:
    """Return a list in an index as an array.

    Raises
    ------
    UnsupportedError
        If symbols are in it.
    ShapeError
        If it is nested deeper than arrays have axes, or holds itself.
    """
    left = [(one, 1) for one in key]
    while left:
        one, depth = left.pop()
        if depth > _MOST_AXES:
            raise ShapeError(f"an index nested deeper than {_MOST_AXES} lists; expected positions: x[[0, 2]]")
        if isinstance(one, Node) or isinstance(getattr(one, "node", None), Node):
            raise UnsupportedError(
                "a list with symbols in it as an index; take elements one by one, sd.stack([x[0], x[i]]) with "
                "i = sd.index('i'), or make the list an integer input: x[idx], with idx = sd.indices('idx', n)"
            )
        left.extend((each, depth + 1) for each in (one if isinstance(one, list | tuple) else ()))
    return np.asarray(key)


def _pick(
    x: Node, chosen: list[tuple[int, Node]], arrays: list[tuple[int, np.ndarray[Any, Any]]], keys: list[Any], gap: int
) -> Node:
    if any(node.dtype is BOOL for _, node in chosen):
        raise UnsupportedError(
            "a condition as an index: how many elements it holds for is not known before the call; write "
            "where(condition, x, 0) and reduce that, or index with a constant mask"
        )
    each = [axis for axis, node in chosen if node.shape == x.shape[axis : axis + 1] and is_counter(node)]
    if any(node.dtype is not INT and axis not in each for axis, node in chosen):
        raise UnsupportedError(
            "an index that is a symbol of real numbers; expected constants, or an integer input made by sd.indices or "
            "sd.index (to choose by a condition, write where)"
        )
    # NumPy's rule of where the axes of points go: whole numbers are positions, and '...' parts them though it is empty
    spots = [spot for spot, k in enumerate(keys) if k is not None and not isinstance(k, slice)]
    apart = spots[-1] - spots[0] >= len(spots) or spots[0] < gap <= spots[-1]
    if each and not arrays and len(chosen) > 1:
        return _pick_of_each(x, chosen, each, apart)
    return _pick_points(x, chosen, arrays, apart) if arrays else pick(x, chosen, apart)


def _pick_of_each(x: Node, chosen: list[tuple[int, Node]], each: list[int], apart: bool) -> Node:
    """Pick one point for each position along an axis whose size is a letter, as ``A[arange(n), idx]``."""
    axes = [axis for axis, _ in chosen]
    others = [(axis, at) for axis, at in chosen if axis not in each]
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    found = transpose(x, [*each, *(axis for axis, _ in others), *rest])
    if len(each) > 1:  # a diagonal
        raise UnsupportedError("arange(n) twice in one index; write diagonal(A, axis1=0, axis2=1)")
    for _, at in others:
        if at.shape not in ((), found.shape[:1]):
            raise ShapeError(
                f"an integer input of shape {show(at.shape)} beside arange({found.shape[0]}) in one index, which picks "
                "points; expected one shape"
            )
        found = take(found, at, 1, 1 if at.shape else 0)
    before = 0 if apart else min(axes)
    return transpose(found, [*range(1, 1 + before), 0, *range(1 + before, found.ndim)])


def _pick_points(
    x: Node, chosen: list[tuple[int, Node]], arrays: list[tuple[int, np.ndarray[Any, Any]]], apart: bool
) -> Node:
    """Pick points by constant positions, and for each of them by integer inputs, as ``A[np.arange(3), idx]``."""
    axes = [axis for axis, _ in [*arrays, *chosen]]
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    found = _gather_points(transpose(x, [*axes, *rest]), [(place, at) for place, (_, at) in enumerate(arrays)])
    count = found.ndim - len(chosen) - len(rest)
    for _, at in chosen:
        if at.shape not in ((), found.shape[:count]):
            raise ShapeError(
                f"an integer input of shape {show(at.shape)} beside a constant list of shape "
                f"{show(found.shape[:count])} in one index, which picks points; expected one shape, or for all "
                "combinations one index after the other: A[[0, 1]][:, idx]"
            )
        found = take(found, at, count, count if at.shape else 0)
    before = 0 if apart else min(axes)
    order = [*range(count, count + before), *range(count), *range(count + before, found.ndim)]
    return transpose(found, order)


def iota(count: Dim) -> Node:
    """Return the numbers from 0 up to a size, which may be known at call time only."""
    if isinstance(count, int):
        return constant(np.arange(count, dtype=float))
    return apply("subtract", cumulative("cumsum", broadcast_to(constant(1.0), (count,)), 0), 1.0)


def is_counter(node: Node) -> bool:
    """Tell whether an array holds the positions of an axis in order, as ``arange(n)`` does."""
    if node.is_constant and node.ndim == 1:
        return bool(np.array_equal(node.value, np.arange(node.value.size)))
    return node.ndim == 1 and isinstance(node.shape[0], Size) and node is iota(node.shape[0])


def pick(x: Node, chosen: list[tuple[int, Node]], apart: bool) -> Node:
    """Index axes with integer inputs; several of them select points jointly, as in NumPy.

    Parameters
    ----------
    x : Node
    chosen : list of (int, Node)
        Axes, in order, and the integers for each: single ones, and others of one shape.
    apart : bool
        Whether something else stands between them in the index: NumPy puts the points first then.
    """
    alone = [axis for axis, at in chosen if not at.shape] if any(at.shape for _, at in chosen) else []
    for axis, at in reversed(chosen):
        x = take(x, at, axis) if axis in alone else x
    chosen = [(axis - sum(one < axis for one in alone), at) for axis, at in chosen if axis not in alone]
    first = chosen[0][1]
    for _, at in chosen[1:]:
        if at.shape != first.shape:
            raise ShapeError(
                f"integer inputs of shapes {show(first.shape)} and {show(at.shape)} in one index; expected one shape "
                "for points, or an index after the other for all combinations: x[i][:, j]"
            )
    axes = [axis for axis, _ in chosen]
    start = axes[0]
    if apart:
        start = 0
        x = transpose(x, [*axes, *(a for a in range(x.ndim) if a not in axes)])
    x = take(x, first, start)
    for _, at in chosen[1:]:
        x = take(x, at, start + at.ndim, at.ndim)
    return x


def _index(i: int, size: Dim) -> Dim:
    if isinstance(size, int):
        if not -size <= i < size:
            raise ShapeError(f"index {i} is out of range for an axis of size {size}; expected {-size} to {size - 1}")
        return i % size
    return i if i >= 0 else size + i


def _slice_item(key: slice, size: Dim) -> Item:
    try:
        start, stop = (v if v is None or isinstance(v, Size) else operator.index(v) for v in (key.start, key.stop))
        step = None if key.step is None else operator.index(key.step)
    except (TypeError, ShapeError):  # what is no number, and what sizes alone tell
        raise UnsupportedError(
            f"the slice {key}; expected whole numbers known when the formula is built, or positions that a call "
            "brings: x[idx], with idx = sd.indices('idx', n)"
        ) from None
    if step == 0:
        raise ShapeError("a slice with step 0")
    if isinstance(size, int):
        for bound in (start, stop):
            _position(0 if bound is None else bound, size)
        first, last, pace = slice(start, stop, step).indices(size)
        length = len(range(first, last, pace))
        return (first if length else 0, pace, length)
    if step not in (None, 1, -1) or (step == -1 and (start is not None or stop is not None)):
        raise UnsupportedError(f"a slice with step {step} along an axis of symbolic size {size}; expected step 1")
    if step == -1:
        return (size - 1, -1, size)
    begin: Dim = 0 if start is None else _position(start, size)
    end: Dim = size if stop is None else _position(stop, size)
    length_: Dim = end - begin
    if isinstance(length_, int) and length_ < 0:
        length_ = 0
    return (begin, 1, length_)


def _position(at: Dim, size: Dim) -> Dim:
    """Return a position counted from the front; a call refuses what is out of range for its sizes."""
    if isinstance(at, int):
        return at if at >= 0 else size + at
    if isinstance(size, int):
        raise UnsupportedError(f"the position {at} along an axis of length {size}; expected a whole number")
    where = sign(at)
    if where == 0:
        raise UnsupportedError(
            f"the position {at}, which is from the front or from the end, as the sizes are; expected a size that is "
            "never negative, as n - 1"
        )
    return at if where > 0 else size + at


def _mask_index(mask: np.ndarray[Any, Any], x: Node, axis: int) -> np.ndarray[Any, Any]:
    if mask.ndim != 1 or mask.shape[0] != x.shape[axis]:
        advice = "; write np.ravel(x)[np.ravel(mask)]" if mask.shape == x.shape else ""
        raise ShapeError(f"a mask of shape {mask.shape} for axis {axis} of an array of shape {show(x.shape)}{advice}")
    return np.flatnonzero(mask)


def gather_array(x: Node, axis: int, indices: np.ndarray[Any, Any]) -> Node:
    """Take positions of one axis, which the axes of ``indices`` replace."""
    if indices.dtype.kind not in "iu" and indices.size:
        convert = "; convert it with .astype(int)" if indices.dtype.kind == "f" else ""
        raise DtypeError(f"an index array of dtype {indices.dtype}; expected whole numbers{convert}")
    size = x.shape[axis]
    if not isinstance(size, int) and (indices < 0).any():
        raise UnsupportedError(
            f"negative positions along an axis of symbolic size {size}; count from the front, or take elements one by "
            "one: sd.stack([x[0], x[-1]])"
        )
    flat = indices.ravel().astype(np.int64)
    if isinstance(size, int) and flat.size:
        for i in (flat.min(), flat.max()):
            _index(int(i), size)
        flat = flat % size
    taken = gather(x, axis, tuple(flat.tolist()))
    return reshape(taken, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def _gather_points(x: Node, arrays: list[tuple[int, np.ndarray[Any, Any]]]) -> Node:
    if len(arrays) == 1:
        return gather_array(x, *arrays[0])
    # several index arrays broadcast together and pick points: flatten their axes into one
    places = [axis for axis, _ in arrays]
    try:
        points = np.broadcast_arrays(*(a for _, a in arrays))
    except ValueError:
        raise ShapeError(f"index arrays of shapes {[a.shape for _, a in arrays]} do not broadcast") from None
    sizes = [x.shape[a] for a in places]
    if not all(isinstance(n, int) for n in sizes):
        raise UnsupportedError(
            "several index arrays along axes of symbolic size; expected fixed sizes, or elements one by one: "
            "sd.stack([A[0, 1], A[1, 2]])"
        )
    together = places == list(range(places[0], places[0] + len(places)))
    rest = [a for a in range(x.ndim) if a not in places]
    front = transpose(x, [*places, *rest])
    line = reshape(front, (product(sizes), *(x.shape[a] for a in rest)))
    whole_sizes = [int(n) for n in sizes if isinstance(n, int)]
    wrapped = [np.where(p < 0, p + n, p) for p, n in zip(points, whole_sizes, strict=True)]
    for p, n in zip(wrapped, whole_sizes, strict=True):
        if p.size and not (0 <= p.min() <= p.max() < n):
            raise ShapeError(f"an index is out of range for an axis of size {n}")
    picked = gather_array(line, 0, np.ravel_multi_index([w.astype(int) for w in wrapped], whole_sizes))
    k = points[0].ndim
    if not together:
        return picked  # NumPy puts the points first when the index arrays are not adjacent
    before = places[0]
    order = [*range(k, k + before), *range(k), *range(k + before, picked.ndim)]
    return transpose(picked, order)


def is_masked(value: object) -> bool:
    """Tell whether a value is an array with a mask; where nobody has imported ``numpy.ma``, none is.

    Importing it takes 10 ms, a third of what a formula that is known may take to its first value.
    """
    kind = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return kind is not None and isinstance(value, kind)
