"""Arrays cut into pieces, joined, turned and padded.

``pad`` goes over one axis after the other, as ``numpy.pad`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...errors import ArgumentError, LimitError, ShapeError, UnsupportedError
from ...graph import Node, as_node, broadcast_to, constant, delta, gather, reshape, scatter, transpose
from ...graph import pad as put_into_zeros
from ...graph.deltas.einsum import einsum
from ...graph.scalars.functions import apply, to_real
from ...graph.sizes import Dim, show
from ...ground.budget import limits
from . import reductions, shaping
from .indexing import gather_array, getitem
from .operations import diag
from .shaping import (
    along,
    at_least,
    axis_of,
    countable,
    flip,
    join,
    members,
    moveaxis,
    parse_size,
    ravel,
    several,
    shown,
    whole_number,
)
from .statistics import median

#: Options that each mode has.
_OPTIONS: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",),
    "edge": (),
    "linear_ramp": ("end_values",),
    **dict.fromkeys(("maximum", "mean", "median", "minimum"), ("stat_length",)),
    **dict.fromkeys(("reflect", "symmetric"), ("reflect_type",)),
    "wrap": (),
}
_STATISTICS: dict[str, Callable[..., Node]] = {
    "maximum": reductions.max,
    "minimum": reductions.min,
    "mean": reductions.mean,
    "median": median,
}


def extend(x: Node, around: Sequence[tuple[Dim, Dim]], mode: Any, options: dict[str, Any]) -> Node:
    """Put elements before and behind each axis.

    Parameters
    ----------
    x : Node
    around : sequence of pairs
        How many, for each axis.
    mode : str
    options : dict
        Those of the mode, by name.

    Raises
    ------
    ShapeError, UnsupportedError
    """
    if not isinstance(mode, str) or mode not in _OPTIONS:
        raise UnsupportedError(f"pad with mode={shown(mode)}; expected one of {', '.join(map(repr, _OPTIONS))}")
    for key in options:
        if key not in _OPTIONS[mode]:
            raise UnsupportedError(f"pad with mode={mode!r} and {key}=; that option belongs to another mode")
    for axis, (before, behind) in enumerate(around):
        if mode != "constant" and x.shape[axis] == 0 and (before, behind) != (0, 0):
            raise ShapeError(f"pad with mode={mode!r} of an array of shape {show(x.shape)}; expected elements")
        if (before, behind) != (0, 0):
            x = _pad_axis(x, axis, (before, behind), mode, options, len(around))
    return x


def _pad_axis(x: Node, axis: int, widths: tuple[Dim, Dim], mode: str, options: dict[str, Any], rank: int) -> Node:
    if mode in ("reflect", "symmetric", "wrap"):
        odd = options.get("reflect_type", "even")
        if odd not in ("even", "odd"):
            raise ArgumentError(f"pad with reflect_type={shown(odd)}; expected 'even' or 'odd'")
        return _mirrored(x, axis, widths, mode, odd == "odd")

    def line(width: Dim, value: Node) -> Node:
        return broadcast_to(value, (*x.shape[:axis], width, *x.shape[axis + 1 :]))

    if mode == "edge":
        ends = [along(x, axis, slice(0, 1)), along(x, axis, slice(-1, None))]
    elif mode in ("constant", "linear_ramp"):
        ends = _values(options.get("constant_values" if mode == "constant" else "end_values", 0), axis, rank)
    else:
        ends = [_statistic(x, axis, mode, end, options.get("stat_length")) for end in (0, 1)]
    if mode == "linear_ramp":
        inner = [along(x, axis, slice(0, 1)), along(x, axis, slice(-1, None))]
        parts = [_ramp(a, b, width, axis) for a, b, width in zip(ends, inner, widths, strict=True)]
        return join([parts[0], x, flip(parts[1], axis)], axis)
    return join([line(widths[0], ends[0]), x, line(widths[1], ends[1])], axis)


def _has_several(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim != 0)


def _values(given: Any, axis: int, rank: int) -> list[Node]:
    """Return the values before and behind an axis, of one for all, a pair, or a pair for each axis."""
    rows = list(given) if _has_several(given) else [given]
    if any(map(_has_several, rows)):
        if len(rows) not in (1, rank):
            raise ShapeError(f"pad with {len(rows)} pairs of values for {rank} axes")
        rows = list(rows[axis if len(rows) > 1 else 0])
    if len(rows) not in (1, 2):
        raise ShapeError(f"pad with {len(rows)} values for an axis; expected (before, behind) or one for both")
    values = [to_real(as_node(getattr(row, "node", row))) for row in (rows * 2)[:2]]
    if any(value.ndim for value in values):
        raise ShapeError("pad with values that are arrays; expected numbers or scalar symbols")
    return values


def _statistic(x: Node, axis: int, mode: str, end: int, length: Any) -> Node:
    size = x.shape[axis]
    if length is not None:
        pairs = np.broadcast_to(np.asarray(length), (x.ndim, 2))
        count = whole_number("stat_length", pairs[axis, end])
        if count < 1:
            raise ArgumentError(f"pad with stat_length={shown(length)}; expected 1 or more")
        if not isinstance(size, int) or count < size:
            x = along(x, axis, slice(0, count) if end == 0 else slice(-count, None))
    return _STATISTICS[mode](x, axis, keepdims=True)


def _ramp(end: Node, edge: Node, width: Dim, axis: int) -> Node:
    """Return equally spaced numbers from ``end`` towards the edge, which they do not reach."""
    if not isinstance(width, int):
        raise UnsupportedError(f"pad with mode='linear_ramp' by {width} elements; expected a fixed number")
    shape = [1] * edge.ndim
    shape[axis] = width
    share = reshape(constant(np.arange(width) / max(width, 1)), tuple(shape))
    return apply("add", end, apply("multiply", share, apply("subtract", edge, end)))


def _mirrored(x: Node, axis: int, widths: tuple[Dim, Dim], mode: str, odd: bool) -> Node:
    size = x.shape[axis]
    before, behind = widths
    if not isinstance(before, int) or not isinstance(behind, int):
        raise UnsupportedError(f"pad with mode={mode!r} by {before} and {behind} elements; expected fixed numbers")
    if not isinstance(size, int):
        return _mirrored_once(x, axis, (before, behind), mode, odd)
    places = np.arange(-before, size + behind)
    period = {"wrap": size, "symmetric": 2 * size, "reflect": max(2 * size - 2, 1)}[mode]
    turn = places // period
    within = places % period
    mirror = within >= size
    indices = np.where(mirror, (period - 1 if mode == "symmetric" else period) - within, within)
    picked = gather_array(x, axis, indices)
    if not odd:
        return picked
    # an odd reflection at an edge is twice the edge less the element
    shape = [1] * x.ndim
    shape[axis] = len(places)

    def row(values: Any) -> Node:
        return reshape(constant(np.asarray(values, dtype=float)), tuple(shape))

    first, last = along(x, axis, slice(0, 1)), along(x, axis, slice(-1, None))
    rise = apply("multiply", 2.0, apply("subtract", last, first))
    sign = apply("multiply", row(np.where(mirror, -1.0, 1.0)), picked)
    # 2 last - x in the mirror image, and a rise of 2 (last - first) with every period
    edge = apply("multiply", row(np.where(mirror, 2.0, 0.0)), last)
    return apply("add", apply("add", sign, edge), apply("multiply", row(turn), rise))


def _mirrored_once(x: Node, axis: int, widths: tuple[int, int], mode: str, odd: bool) -> Node:
    """Pad an axis of symbolic size, which a call refuses to be shorter than what is taken from it."""
    before, behind = widths
    skip = 1 if mode == "reflect" else 0
    if mode == "wrap":
        parts = [along(x, axis, slice(-before, None)), along(x, axis, slice(0, behind))]
    else:
        parts = [
            flip(along(x, axis, slice(skip, before + skip)), axis),
            flip(along(x, axis, slice(-behind - skip, -skip or None)), axis),
        ]
    if odd:
        edges = along(x, axis, slice(0, 1)), along(x, axis, slice(-1, None))
        parts = [apply("subtract", apply("multiply", 2.0, edge), part) for edge, part in zip(edges, parts, strict=True)]
    kept = [part for part, width in zip(parts, widths, strict=True) if width]
    return join([*kept[: 1 if before else 0], x, *kept[1 if before else 0 :]], axis)


def pad(x: Node, pad_width: Any, mode: Any = "constant", **options: Any) -> Node:
    """Put elements before and behind each axis, as ``numpy.pad`` does.

    Parameters
    ----------
    x : Node
    pad_width : int, pair, or a pair for each axis
        How many: the same everywhere, ``(before, behind)`` for every axis, or ``((before, behind), ...)``.
    mode : str
        What they are: "constant" (0, or ``constant_values``), "edge", "linear_ramp" (to ``end_values``),
        "maximum", "minimum", "mean" and "median" (of ``stat_length`` elements at the edge, or all), "reflect" and
        "symmetric" (``reflect_type`` "even" or "odd"), "wrap".
    **options
        The ones named above: numbers or symbols, one, a pair, or a pair for each axis.

    Raises
    ------
    ShapeError
        If the widths are not one for each axis, or one is negative, or a mode needs elements where there are none.
    UnsupportedError
        For another mode, or an option of another mode.
    """
    around = _widths(x, pad_width)
    shape = countable(tuple(before + size + behind for size, (before, behind) in zip(x.shape, around, strict=True)))
    if isinstance(mode, str) and mode == "constant" and options.keys() <= {"constant_values"} and _is_zero(options):
        items = tuple((before, 1, size) for size, (before, _) in zip(x.shape, around, strict=True))
        return put_into_zeros(to_real(x), items, shape)
    return extend(to_real(x), around, mode, options)


def _is_zero(options: dict[str, Any]) -> bool:
    value = options.get("constant_values", 0)
    return isinstance(value, int | float) and value == 0


def _widths(x: Node, given: Any) -> list[tuple[Dim, Dim]]:
    rows = several(given)
    if any(isinstance(row, list | tuple) or getattr(row, "ndim", 0) for row in rows):
        pairs = [_pair(several(row)) for row in rows]
        pairs = pairs * x.ndim if len(pairs) == 1 else pairs
    else:
        pairs = [_pair(rows)] * x.ndim
    if len(pairs) != x.ndim:
        raise ShapeError(
            f"pad with {len(pairs)} pairs of widths of an array of shape {show(x.shape)}; "
            "expected (before, behind) for each axis"
        )
    return pairs


def _pair(widths: list[Any]) -> tuple[Dim, Dim]:
    if len(widths) not in (1, 2):
        raise ShapeError(f"pad with {len(widths)} widths for an axis; expected (before, behind) or one for both")
    before, *rest = [parse_size(width) for width in widths]
    return before, rest[0] if rest else before


def shift(x: Node, k: int, axis: int = 0) -> Node:
    """Move elements by ``k`` places along an axis, zeros coming in: ``shift(x, 1)[i]`` is ``x[i - 1]``.

    Parameters
    ----------
    x : Node
    k : int
        Below 0, elements move to the front: ``shift(x, -1)[i]`` is ``x[i + 1]``.
    axis : int, optional

    Raises
    ------
    ShapeError
        If the array has no such axis.
    """
    at = axis_of(x, axis)
    size = x.shape[at]
    places = whole_number("k", k)
    count: int = min(abs(places), size) if isinstance(size, int) else abs(places)
    if count == 0:
        return to_real(x)
    kept = slice(None, -count) if places > 0 else slice(count, None)
    inner = getitem(to_real(x), (*[slice(None)] * at, kept))
    start = count if places > 0 else 0
    items = tuple((start if a == at else 0, 1, n) for a, n in enumerate(inner.shape))
    return put_into_zeros(inner, items, x.shape)


def skew(v: Node) -> Node:
    """Return the skew-symmetric matrix of a cross product: ``skew(v) @ w`` is ``cross(v, w)``.

    Parameters
    ----------
    v : Node
        Three elements on the last axis.

    Raises
    ------
    ShapeError
        If the last axis has another size.
    """
    if not v.ndim or v.shape[-1] != 3:
        raise ShapeError(f"skew of an array of shape {show(v.shape)}; expected 3 elements on the last axis")
    x, lead = to_real(v), tuple(range(v.ndim - 1))
    i, j = v.ndim - 1, v.ndim

    def half(here: tuple[int, ...], there: tuple[int, ...]) -> Node:
        rows = gather(delta(3, 3), 0, there)
        return einsum([gather(x, x.ndim - 1, here), rows], [(*lead, i), (i, j)], (*lead, i, j))

    return apply("subtract", half((1, 2, 0), (2, 0, 1)), half((2, 0, 1), (1, 2, 0)))


# ---------------------------------------------------------------------------- cutting


def split(x: Node, sections: Any, axis: int = 0) -> tuple[Node, ...]:
    """Cut into parts of equal size, or before the given positions, as ``numpy.split``.

    Raises
    ------
    ShapeError
        If an axis has no such number of equal parts.
    """
    size = x.shape[axis_of(x, axis)]
    if not _is_several(sections) and isinstance(size, int) and size % max(_sections(sections), 1):
        raise ShapeError(f"split of an axis of size {size} into {sections} parts; expected a divisor, or array_split")
    return array_split(x, sections, axis)


def array_split(x: Node, sections: Any, axis: int = 0) -> tuple[Node, ...]:
    """Cut into parts, the first ones larger by one where they cannot be equal, as ``numpy.array_split``."""
    at = axis_of(x, axis)
    size = x.shape[at]
    if _is_several(sections):
        cuts = [whole_number("position", place) for place in several(sections)]
        edges: list[int | None] = [0, *cuts, None]
    else:
        count = _sections(sections)
        if not isinstance(size, int):
            raise UnsupportedError(
                f"a split of an axis of symbolic size {size} into {count} parts; expected the positions of the cuts"
            )
        small, larger = divmod(size, count)
        edges = [k * small + min(k, larger) for k in range(count + 1)]
    return tuple(along(x, at, slice(a, b)) for a, b in pairwise(edges))


def _is_several(sections: Any) -> bool:
    return isinstance(sections, list | tuple | range) or bool(getattr(sections, "ndim", 0))


def _sections(given: Any) -> int:
    count = whole_number("sections", given)
    if not 1 <= count <= limits().elements:
        raise ArgumentError(f"a split into {count} parts; expected 1 or more")
    return count


def hsplit(x: Node, sections: Any) -> tuple[Node, ...]:
    """Cut along the second axis, or the first of a vector."""
    return split(x, sections, 0 if x.ndim == 1 else 1)


def vsplit(x: Node, sections: Any) -> tuple[Node, ...]:
    """Cut along the first axis of a matrix."""
    return _split_of("vsplit", x, sections, 0, 2)


def dsplit(x: Node, sections: Any) -> tuple[Node, ...]:
    """Cut along the third axis."""
    return _split_of("dsplit", x, sections, 2, 3)


def _split_of(what: str, x: Node, sections: Any, axis: int, least: int) -> tuple[Node, ...]:
    if x.ndim < least:
        raise ShapeError(f"{what} of an array of shape {show(x.shape)}; expected at least {least} axes")
    return split(x, sections, axis)


def unstack(x: Node, axis: int = 0) -> tuple[Node, ...]:
    """Return the parts along an axis, without it."""
    at = axis_of(x, axis)
    size = x.shape[at]
    if not isinstance(size, int):
        raise UnsupportedError(f"unstack of an axis of symbolic size {size}; expected a fixed size")
    return tuple(getitem(x, (*(slice(None),) * at, k)) for k in range(size))


# ---------------------------------------------------------------------------- joining


def append(x: Node, values: Node, axis: int | None = None) -> Node:
    """Join two arrays along an axis, or all their elements."""
    return join([x, values], axis)


def insert(x: Node, obj: Any, values: Node, axis: int | None = None) -> Node:
    """Put values before constant positions of an axis, as ``numpy.insert``.

    Parameters
    ----------
    x : Node
    obj : int or sequence of int
        Before which positions of ``x``.
    values : Node
        A number, or an array that is broadcast to the positions.
    axis : int, optional
        None: of all elements in C order.
    """
    if axis is None:
        x, axis = ravel(x), 0
    at = axis_of(x, axis)
    size = _fixed("insert", x, at)
    places = _positions("insert", obj, size, size + 1)
    several_places = bool(places.ndim)
    places = places.ravel()
    lead, rest = x.shape[:at], x.shape[at + 1 :]
    if values.ndim and not several_places and axis is not None:
        # one position takes all of an axis of values that NumPy moves behind
        values = moveaxis(_with_axes(values, x.ndim), 0, at)
        count = values.shape[at]
        if not isinstance(count, int):
            raise UnsupportedError(f"insert of {count} values, a number known at call time only")
        places = np.repeat(places, count)
    values = broadcast_to(to_real(values), (*lead, len(places), *rest))
    order = np.argsort(places, kind="stable")
    both = join([x, values], at)
    sources = np.empty(size + len(places), int)
    taken = np.zeros(len(sources), bool)
    spots = places[order] + np.arange(len(places))
    sources[spots], taken[spots] = size + order, True
    sources[~taken] = np.arange(size)
    return gather_array(both, at, sources)


def _with_axes(values: Node, rank: int) -> Node:
    return reshape(values, (*[1] * (rank - values.ndim), *values.shape)) if values.ndim < rank else values


def delete(x: Node, obj: Any, axis: int | None = None) -> Node:
    """Leave out constant positions of an axis, as ``numpy.delete``."""
    if axis is None:
        x, axis = ravel(x), 0
    at = axis_of(x, axis)
    size = _fixed("delete", x, at)
    if isinstance(obj, slice):
        gone = np.arange(size)[obj]
    elif isinstance(obj, np.ndarray | list) and np.asarray(obj).dtype == bool:
        mask = np.asarray(obj)
        if mask.shape != (size,):
            raise ShapeError(f"delete by a mask of shape {mask.shape} of an axis of size {size}")
        gone = np.flatnonzero(mask)
    else:
        gone = _positions("delete", obj, size, size)
    return gather_array(x, at, np.delete(np.arange(size), gone))


def _fixed(what: str, x: Node, axis: int) -> int:
    size = x.shape[axis]
    if not isinstance(size, int):
        raise UnsupportedError(f"{what} along an axis of symbolic size {size}; write concatenate of slices")
    return size


def _positions(what: str, given: Any, size: int, count: int) -> np.ndarray[Any, Any]:
    """Return constant positions, counted from the front: below ``count``, those below 0 from ``size``."""
    if isinstance(given, slice):
        return np.arange(size)[given]
    try:
        places = np.asarray(given)
    except Exception:  # what a list of symbols raises
        places = np.array(None)
    if places.size == 0:
        return np.zeros(0, int)
    if places.dtype.kind not in "iu":
        raise ArgumentError(f"{what} at {shown(given)}; expected constant whole numbers")
    if places.min() < -size or places.max() >= count:
        raise ShapeError(f"{what} at {shown(given)} of an axis of size {size}; expected -{size} to {count - 1}")
    return np.where(places < 0, places + size, places)


def dstack(parts: Sequence[Node] | Node) -> Node:
    """Join along the third axis, matrices and vectors becoming layers."""
    return join([at_least(part, rank=3) for part in members("dstack", parts, "write stack with axis=2")], 2)


def meshgrid(*lines: Node, indexing: Any = "xy", sparse: Any = False, copy: Any = True) -> tuple[Node, ...]:
    """Return the coordinates of all points of a grid, an array for each line of it, as ``numpy.meshgrid``."""
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid with indexing={shown(indexing)}; expected 'xy' or 'ij'")
    for name, value in (("sparse", sparse), ("copy", copy)):
        if not isinstance(value, bool | np.bool_):
            raise ArgumentError(f"meshgrid with {name}={shown(value)}; expected True or False")
    flat = [ravel(line) for line in lines]
    shape = tuple(line.shape[0] for line in flat)
    grids = []
    for k, line in enumerate(flat):
        wide = reshape(line, (*[1] * k, line.shape[0], *[1] * (len(flat) - k - 1)))
        grid = wide if sparse else broadcast_to(wide, shape)
        grids.append(shaping.swapaxes(grid, 0, 1) if indexing == "xy" and len(flat) > 1 else grid)
    return tuple(grids)


def broadcast_arrays(*parts: Node) -> tuple[Node, ...]:
    """Return arrays repeated to the shape that they have together."""
    return tuple(broadcast_to(part, _together(parts)) for part in parts)


def _together(parts: Sequence[Node]) -> Any:
    rank = max((part.ndim for part in parts), default=0)
    shape = []
    for axis in range(-rank, 0):
        sizes = {part.shape[axis] for part in parts if part.ndim >= -axis} - {1}
        if len(sizes) > 1:
            raise ShapeError(f"arrays of shapes {', '.join(show(p.shape) for p in parts)} do not broadcast")
        shape.append(sizes.pop() if sizes else 1)
    return tuple(shape)


# ---------------------------------------------------------------------------- turning


def fliplr(x: Node) -> Node:
    """Reverse the second axis."""
    return _flip_of("fliplr", x, 1)


def flipud(x: Node) -> Node:
    """Reverse the first axis."""
    return _flip_of("flipud", x, 0)


def _flip_of(what: str, x: Node, axis: int) -> Node:
    if x.ndim <= axis:
        raise ShapeError(f"{what} of an array of shape {show(x.shape)}; expected at least {axis + 1} axes")
    return flip(x, axis)


def rot90(x: Node, k: int = 1, axes: Any = (0, 1)) -> Node:
    """Turn by ``k`` right angles from the first of two axes towards the second, as ``numpy.rot90``."""
    plane = [axis_of(x, axis) for axis in several(axes)]
    if len(plane) != 2 or plane[0] == plane[1]:
        raise ShapeError(f"rot90 with axes={shown(axes)}; expected two different axes")
    first, second = plane
    turns = whole_number("k", k) % 4
    if turns == 2:
        return flip(x, (first, second))
    if turns == 1:
        return shaping.swapaxes(flip(x, second), first, second)
    return flip(shaping.swapaxes(x, first, second), second) if turns == 3 else x


def rollaxis(x: Node, axis: int, start: int = 0) -> Node:
    """Move an axis before another, as ``numpy.rollaxis``."""
    at, place = axis_of(x, axis), whole_number("start", start)
    if not -x.ndim <= place <= x.ndim:
        raise ShapeError(f"rollaxis with start={place} of an array of {x.ndim} axes")
    place = place + x.ndim if place < 0 else place
    order = [a for a in range(x.ndim) if a != at]
    order.insert(place - (at < place), at)
    return transpose(x, order)


def diagflat(x: Node, k: int = 0) -> Node:
    """Return a matrix with all elements, in C order, on diagonal ``k``."""
    return diag(ravel(x), k)


def resize(x: Node, new_shape: Any) -> Node:
    """Return an array of a shape, with the elements in C order repeated as often as it takes."""
    shape = [whole_number("size", size) for size in several(new_shape)]
    flat = ravel(x)
    have, want = _fixed("resize", flat, 0), int(np.prod(shape, dtype=object))
    if min(shape, default=0) < 0 or (want and not have):
        raise ShapeError(f"resize of shape {show(x.shape)} to {tuple(shape)}; expected sizes from 0 up, and elements")
    if want > limits().elements:
        raise LimitError(f"resize to {want} elements; at most {limits().elements} are made")
    return reshape(gather_array(flat, 0, np.arange(want) % max(have, 1)), tuple(shape))


# ---------------------------------------------------------------------------- counting by constants


def bincount(x: Any, weights: Node | None = None, minlength: Any = 0) -> Node:
    """Add weights up by constant positions, as ``numpy.bincount``.

    Raises
    ------
    UnsupportedError
        If the positions are symbols.
    """
    places = np.asarray(x) if isinstance(x, list | tuple | np.ndarray) else None
    if places is None or places.dtype.kind not in "iu" or places.ndim != 1:
        raise UnsupportedError(
            "bincount of what is no constant vector of whole numbers; write add_at(weights, idx, n) with an integer "
            "input made by sd.indices"
        )
    if weights is None:
        raise ArgumentError("bincount without weights; count constants with NumPy")
    if weights.shape != places.shape:
        raise ShapeError(f"bincount of {places.size} positions with weights of shape {show(weights.shape)}")
    if places.size and places.min() < 0:
        raise ShapeError(f"bincount of position {places.min()}; expected 0 or more")
    count = max(int(places.max()) + 1 if places.size else 0, whole_number("minlength", minlength))
    if count > limits().elements:
        raise LimitError(f"bincount of {count} bins; at most {limits().elements} are made")
    return scatter(to_real(weights), 0, tuple(int(p) for p in places), count)


# ---------------------------------------------------------------------------- what is known of an array


def shape(x: Node) -> tuple[Any, ...]:
    """Return the sizes of the axes."""
    return tuple(x.shape)


def ndim(x: Node) -> int:
    """Return the number of axes."""
    return x.ndim


def size(x: Node, axis: int | None = None) -> Any:
    """Return the number of elements, or of those along an axis."""
    return x.size if axis is None else x.shape[axis_of(x, axis)]


def copy(x: Node) -> Node:
    """Return the array itself: symbols do not change."""
    return x
