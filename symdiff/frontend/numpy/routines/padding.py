"""What stands around an array: padding, shifts along an axis, and the matrix of a cross product."""

from __future__ import annotations

from typing import Any

from ....errors import ShapeError
from ....graph import Node, delta, gather
from ....graph import pad as put_into_zeros
from ....graph.deltas.einsum import einsum
from ....graph.scalars.functions import apply, to_real
from ....graph.sizes import Dim, show
from ..indexing import getitem
from ..shaping import axis_of, countable, parse_size, several, whole_number
from .borders import extend


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
