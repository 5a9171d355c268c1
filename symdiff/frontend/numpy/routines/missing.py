"""Reductions that leave out nan: a choice in front of the ordinary ones.

Where an element is nan, the choice has taken the other branch, so that its derivative is 0.
"""

from __future__ import annotations

import math

from ....graph import Node, broadcast_to, constant
from ....graph.scalars.functions import apply, compare, to_real, where
from .. import reductions
from ..shaping import Axis


def _unknown(x: Node) -> Node:
    return compare("not_equal", x, x)


def without_nan(x: Node, value: float) -> Node:
    """Return ``x`` with a number in place of nan."""
    return where(_unknown(x), value, to_real(x))


def known(x: Node, axis: Axis, keepdims: bool = False) -> Node:
    """Return how many elements over axes are no nan."""
    return reductions.sum(where(_unknown(x), 0.0, broadcast_to(constant(1.0), x.shape)), axis, keepdims)


def nansum(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Sum over axes, nan left out."""
    return reductions.sum(without_nan(x, 0.0), axis, keepdims)


def nanprod(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Multiply over axes, nan left out."""
    return reductions.prod(without_nan(x, 1.0), axis, keepdims)


def nancumsum(x: Node, axis: int | None = None) -> Node:
    """Take running sums along an axis, nan left out."""
    return reductions.accumulate("cumsum", without_nan(x, 0.0), axis)


def nancumprod(x: Node, axis: int | None = None) -> Node:
    """Take running products along an axis, nan left out."""
    return reductions.accumulate("cumprod", without_nan(x, 1.0), axis)


def nanmean(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Take the mean over axes of what is no nan; nan where all are."""
    return apply("divide", nansum(x, axis, keepdims), known(x, axis, keepdims))


def nanmax(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Take the maximum over axes of what is no nan; nan where all are."""
    found = reductions.max(without_nan(x, -math.inf), axis, keepdims)
    return where(compare("equal", known(x, axis, keepdims), 0.0), math.nan, found)


def nanmin(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Take the minimum over axes of what is no nan; nan where all are."""
    found = reductions.min(without_nan(x, math.inf), axis, keepdims)
    return where(compare("equal", known(x, axis, keepdims), 0.0), math.nan, found)


def nanvar(x: Node, axis: Axis = None, ddof: float = 0, keepdims: bool = False) -> Node:
    """Take the variance over axes of what is no nan, divided by its count less ``ddof``."""
    degrees = _degrees(x, axis, ddof, keepdims)
    total = reductions.sum(apply("power", _gap(x, axis), 2.0), axis, keepdims)
    return apply("divide", total, degrees)


def nanstd(x: Node, axis: Axis = None, ddof: float = 0, keepdims: bool = False) -> Node:
    """Take the standard deviation over axes of what is no nan; nan where there are not more than ``ddof``."""
    length = reductions.euclid(_gap(x, axis), axis, keepdims)
    return apply("divide", length, apply("sqrt", _degrees(x, axis, ddof, keepdims)))


def _gap(x: Node, axis: Axis) -> Node:
    return where(_unknown(x), 0.0, apply("subtract", x, nanmean(x, axis, keepdims=True)))


def _degrees(x: Node, axis: Axis, ddof: float, keepdims: bool) -> Node:
    # nan where there are not more than ``ddof``
    degrees = apply("subtract", known(x, axis, keepdims), float(ddof))
    return where(compare("less", 0.0, degrees), degrees, math.nan)


def nan_to_num(x: Node, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Node:
    """Return numbers in place of nan and infinities: 0 and the largest numbers, if none are given."""
    most = 1.7976931348623157e308
    finite = where(compare("equal", x, math.inf), most if posinf is None else float(posinf), to_real(x))
    finite = where(compare("equal", x, -math.inf), -most if neginf is None else float(neginf), finite)
    return where(_unknown(x), float(nan), finite)
