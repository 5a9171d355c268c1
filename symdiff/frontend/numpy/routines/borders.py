"""What ``numpy.pad`` puts around an array in modes other than zeros: one axis after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....errors import ArgumentError, ShapeError, UnsupportedError
from ....graph import Node, as_node, broadcast_to, constant, reshape
from ....graph.scalars.functions import apply, to_real
from ....graph.sizes import Dim, show
from .. import reductions
from ..indexing import gather_array
from ..shaping import along, flip, join, shown, whole_number
from .order import median

#: Which options a mode has.
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


def _pad_axis(
    x: Node, axis: int, widths: tuple[Dim, Dim], mode: str, options: dict[str, Any], rank: int
) -> Node:
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


def _values(given: Any, axis: int, rank: int) -> list[Node]:
    """Return the values before and behind an axis, of one for all, a pair, or a pair for each axis."""
    rows = list(given) if isinstance(given, list | tuple | np.ndarray) and np.ndim(given) != 0 else [given]
    if any(isinstance(row, list | tuple | np.ndarray) and np.ndim(row) for row in rows):
        if len(rows) not in (1, rank):
            raise ShapeError(f"pad with {len(rows)} pairs of values for {rank} axes")
        rows = list(rows[axis if len(rows) > 1 else 0])
    if len(rows) not in (1, 2):
        raise ShapeError(f"pad with {len(rows)} values for an axis; expected (before, behind) or one for both")
    values = [to_real(as_node(getattr(row, "node", row))) for row in (rows * 2)[: 2]]
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
        parts = [
            apply("subtract", apply("multiply", 2.0, edge), part) for edge, part in zip(edges, parts, strict=True)
        ]
    kept = [part for part, width in zip(parts, widths, strict=True) if width]
    return join([*kept[: 1 if before else 0], x, *kept[1 if before else 0 :]], axis)
