"""Interpolation and search in a sorted table, by comparisons with all of its entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import ArgumentError, ShapeError, UnsupportedError
from ....graph import Node, broadcast_to, reshape
from ....graph.scalars.functions import apply, compare, to_real, where
from ....graph.sizes import show
from ..indexing import getitem
from ..operations import numbers_in
from ..reductions import sum
from ..shaping import along, shown


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
