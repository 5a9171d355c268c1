"""Reductions of chosen elements, as NumPy has them with ``where=``, and those that begin at a number, ``initial=``.

What is left out is replaced before anything is computed of it, so it may be nan or infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from ....errors import ArgumentError, DtypeError, ShapeError
from ....graph import BOOL, Node, broadcast_to, concatenate, constant
from ....graph.scalars.functions import apply, to_real
from ....graph.sizes import show
from .. import operations, reductions
from ..shaping import Axis, axes_of

__all__ = ["all", "any", "mask_of", "max", "mean", "min", "prod", "std", "sum", "var"]


def mask_of(what: str, x: Node, where: Node) -> Node:
    """Return the conditions that choose elements, in the shape of the array."""
    if where.dtype is not BOOL:
        raise DtypeError(f"{what} with numbers for where=; expected conditions such as x > 0")
    return broadcast_to(where, x.shape)


def _left(x: Node, mask: Node, value: Node | float | bool) -> Node:
    return operations.choose(mask, x, value if isinstance(value, Node) else constant(value))


def _sums(op: str, join: str, neutral: float) -> Callable[..., Node]:
    def call(
        x: Node, axis: Axis = None, keepdims: bool = False, initial: Node | None = None, where: Node | None = None
    ) -> Node:
        if where is not None:
            x = _left(to_real(x), mask_of(op, x, where), neutral)
        result: Node = getattr(reductions, op)(x, axis, keepdims)
        return result if initial is None else apply(join, result, _beginning(op, initial))

    call.__name__, call.__doc__ = op, f"Take the {op} of chosen elements over axes, from ``initial`` on."
    return call


def _extremes(op: str, join: str, neutral: float) -> Callable[..., Node]:
    def call(
        x: Node, axis: Axis = None, keepdims: bool = False, initial: Node | None = None, where: Node | None = None
    ) -> Node:
        if where is not None:
            if initial is None:
                raise ArgumentError(f"{op} with where= alone; expected initial=, the {op} of no elements, as well")
            x = _left(to_real(x), mask_of(op, x, where), _beginning(op, initial))
        if not x.ndim and isinstance(axis, int):
            raise ShapeError(f"{op} of a number along axis {axis}; of a number and {axis}, write {join}(x, {axis})")
        if initial is not None:  # an axis that may have no elements gets one that counts for nothing
            for a in axes_of(x, axis):
                if not (isinstance(x.shape[a], int) and x.shape[a]):
                    one = broadcast_to(constant(neutral), (*x.shape[:a], 1, *x.shape[a + 1 :]))
                    x = concatenate((to_real(x), one), a)
        result: Node = getattr(reductions, op)(x, axis, keepdims)
        return result if initial is None else apply(join, result, _beginning(op, initial))

    call.__name__, call.__doc__ = op, f"Take the {op} of chosen elements and of ``initial`` over axes."
    return call


def _beginning(what: str, initial: Node) -> Node:
    if initial.ndim:
        raise ShapeError(f"{what} with initial= of shape {show(initial.shape)}; expected a number")
    return to_real(initial)


def _conditions(op: str, neutral: bool) -> Callable[..., Node]:
    def call(x: Node, axis: Axis = None, keepdims: bool = False, where: Node | None = None) -> Node:
        if where is not None:
            x = _left(x, mask_of(op, x, where), neutral if x.dtype is BOOL else float(neutral))
        result: Node = getattr(reductions, op)(x, axis, keepdims)
        return result

    call.__name__, call.__doc__ = op, f"Tell whether a condition holds for {op} chosen elements over axes."
    return call


sum, prod = _sums("sum", "add", 0.0), _sums("prod", "multiply", 1.0)
max, min = _extremes("max", "maximum", -inf), _extremes("min", "minimum", inf)
any, all = _conditions("any", False), _conditions("all", True)


def mean(x: Node, axis: Axis = None, keepdims: bool = False, where: Node | None = None) -> Node:
    """Take the mean of chosen elements over axes."""
    if where is None:
        return reductions.mean(x, axis, keepdims)
    mask = mask_of("mean", x, where)
    return apply("divide", sum(_left(to_real(x), mask, 0.0), axis, keepdims), sum(to_real(mask), axis, keepdims))


def _spread(what: str, x: Node, axis: Axis, ddof: float, keepdims: bool, where: Node) -> tuple[Node, Node]:
    """Return chosen elements less their mean, 0 for the others, and the count less ``ddof``."""
    mask = mask_of(what, x, where)
    gap = _left(apply("subtract", x, mean(x, axes_of(x, axis), True, mask)), mask, 0.0)
    count = sum(to_real(mask), axis, keepdims)
    return gap, apply("maximum", apply("subtract", count, float(ddof)), 0.0) if ddof else count


def var(x: Node, axis: Axis = None, ddof: float = 0, keepdims: bool = False, where: Node | None = None) -> Node:
    """Take the variance of chosen elements over axes, divided by their count less ``ddof``."""
    if where is None:
        return reductions.var(x, axis, ddof, keepdims)
    gap, degrees = _spread("var", x, axis, ddof, keepdims, where)
    return apply("divide", sum(apply("power", gap, 2.0), axis, keepdims), degrees)


def std(x: Node, axis: Axis = None, ddof: float = 0, keepdims: bool = False, where: Node | None = None) -> Node:
    """Take the standard deviation of chosen elements over axes."""
    if where is None:
        return reductions.std(x, axis, ddof, keepdims)
    gap, degrees = _spread("std", x, axis, ddof, keepdims, where)
    return apply("divide", reductions.euclid(gap, axis, keepdims), apply("sqrt", degrees))
