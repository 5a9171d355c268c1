"""Reductions that leave out nan: a choice in front of the ordinary ones.

Where an element is nan, the choice has taken the other branch, so that its derivative is 0.
"""

from __future__ import annotations

import math

from ....graph import Node, broadcast_to, constant
from ....graph.scalars.functions import apply, compare, to_real
from ....graph.scalars.functions import where as _choose
from .. import reductions
from ..shaping import Axis
from . import chosen


def _unknown(x: Node) -> Node:
    return compare("not_equal", x, x)


def without_nan(x: Node, value: float) -> Node:
    """Return ``x`` with a number in place of nan."""
    return _choose(_unknown(x), value, to_real(x))


def known(x: Node, axis: Axis, keepdims: bool = False) -> Node:
    """Return how many elements over axes are no nan."""
    return reductions.sum(_choose(_unknown(x), 0.0, broadcast_to(constant(1.0), x.shape)), axis, keepdims)


def nansum(
    x: Node, axis: Axis = None, keepdims: bool = False, initial: Node | None = None, where: Node | None = None
) -> Node:
    """Sum over axes, nan left out, from ``initial`` on."""
    return chosen.sum(without_nan(x, 0.0), axis, keepdims, initial, where)


def nanprod(
    x: Node, axis: Axis = None, keepdims: bool = False, initial: Node | None = None, where: Node | None = None
) -> Node:
    """Multiply over axes, nan left out, from ``initial`` on."""
    return chosen.prod(without_nan(x, 1.0), axis, keepdims, initial, where)


def nancumsum(x: Node, axis: int | None = None) -> Node:
    """Take running sums along an axis, nan left out."""
    return reductions.accumulate("cumsum", without_nan(x, 0.0), axis)


def nancumprod(x: Node, axis: int | None = None) -> Node:
    """Take running products along an axis, nan left out."""
    return reductions.accumulate("cumprod", without_nan(x, 1.0), axis)


def nanmean(x: Node, axis: Axis = None, keepdims: bool = False, where: Node | None = None) -> Node:
    """Take the mean over axes of what is no nan; nan where all are."""
    x = _of_chosen("nanmean", x, where)
    return apply("divide", nansum(x, axis, keepdims), known(x, axis, keepdims))


def nanmax(
    x: Node, axis: Axis = None, keepdims: bool = False, initial: Node | None = None, where: Node | None = None
) -> Node:
    """Take the maximum over axes of what is no nan, and of ``initial``, without which it is nan where all are."""
    found = chosen.max(without_nan(x, -math.inf), axis, keepdims, initial, where)
    if initial is not None:
        return found
    return _choose(compare("equal", known(x, axis, keepdims), 0.0), math.nan, found)


def nanmin(
    x: Node, axis: Axis = None, keepdims: bool = False, initial: Node | None = None, where: Node | None = None
) -> Node:
    """Take the minimum over axes of what is no nan, and of ``initial``, without which it is nan where all are."""
    found = chosen.min(without_nan(x, math.inf), axis, keepdims, initial, where)
    if initial is not None:
        return found
    return _choose(compare("equal", known(x, axis, keepdims), 0.0), math.nan, found)


def nanvar(x: Node, axis: Axis = None, ddof: float = 0, keepdims: bool = False, where: Node | None = None) -> Node:
    """Take the variance over axes of what is no nan, divided by its count less ``ddof``."""
    x = _of_chosen("nanvar", x, where)
    degrees = _degrees(x, axis, ddof, keepdims)
    total = reductions.sum(apply("power", _gap(x, axis), 2.0), axis, keepdims)
    return apply("divide", total, degrees)


def nanstd(x: Node, axis: Axis = None, ddof: float = 0, keepdims: bool = False, where: Node | None = None) -> Node:
    """Take the standard deviation over axes of what is no nan; nan where there are not more than ``ddof``."""
    x = _of_chosen("nanstd", x, where)
    length = reductions.euclid(_gap(x, axis), axis, keepdims)
    return apply("divide", length, apply("sqrt", _degrees(x, axis, ddof, keepdims)))


def _of_chosen(what: str, x: Node, mask: Node | None) -> Node:
    """Return an array with nan where it is not chosen."""
    return x if mask is None else _choose(chosen.mask_of(what, x, mask), to_real(x), math.nan)


def _gap(x: Node, axis: Axis) -> Node:
    return _choose(_unknown(x), 0.0, apply("subtract", x, nanmean(x, axis, keepdims=True)))


def _degrees(x: Node, axis: Axis, ddof: float, keepdims: bool) -> Node:
    # nan where there are not more than ``ddof``
    degrees = apply("subtract", known(x, axis, keepdims), float(ddof))
    return _choose(compare("less", 0.0, degrees), degrees, math.nan)


def nan_to_num(x: Node, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Node:
    """Return numbers in place of nan and infinities: 0 and the largest numbers, if none are given."""
    most = 1.7976931348623157e308
    finite = _choose(compare("equal", x, math.inf), most if posinf is None else float(posinf), to_real(x))
    finite = _choose(compare("equal", x, -math.inf), -most if neginf is None else float(neginf), finite)
    return _choose(_unknown(x), float(nan), finite)
