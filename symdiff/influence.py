"""Where a strong zero reaches: which elements an operation lets depend on which.

A tangent or cotangent that counts in some places only has passed a branch that was not
taken. Behind a sum, a slice or a matrix product the places are others; the functions here
say which. They err towards more places, never towards fewer, and None stands for all.
"""

from __future__ import annotations

from collections.abc import Sequence

from .deltas import ONE
from .functions import compare, to_real
from .graph import (
    BOOL,
    MATRIX_OPS,
    NORMALIZATIONS,
    REDUCTIONS,
    Node,
    broadcast_to,
    elementwise,
    remake,
    reshape,
    sum_axes,
)
from .rules import Linear, reaches
from .sizes import Shape


def both(a: Node | None, b: Node | None) -> Node | None:
    """Return where both conditions hold; None holds everywhere."""
    if a is None or b is None or a is b:
        return a if b is None else b
    return elementwise("logical_and", (a, b), BOOL)


def push_mask(linear: Linear, node: Node, i: int, mask: Node | None) -> Node | None:
    """Return where a linear operation's value can depend on any of the masked elements of argument ``i``."""
    if mask is None:
        return None
    spread = to_real(broadcast_to(mask, node.args[i].shape))
    return compare("not_equal", linear.push(_even(node, i), i, spread, 0), 0.0)


def pull_mask(linear: Linear, node: Node, i: int, mask: Node | None) -> Node | None:
    """Return where any of the masked elements can have an influence through a linear operation."""
    if mask is None:
        return None
    spread = to_real(broadcast_to(mask, node.shape))
    return compare("not_equal", linear.pull(_even(node, i), i, spread, 0), 0.0)


def _even(node: Node, i: int) -> Node:
    """Return a linear operation with ones for what argument ``i`` is multiplied by."""
    if node.op != "contract" or len(node.args) == 1:
        return node
    return remake(node, tuple(arg if j == i else broadcast_to(ONE, arg.shape) for j, arg in enumerate(node.args)))


def push_reach(node: Node, arg: Node, mask: Node | None) -> Node | None:
    """Return where an array operation's value can depend on any of the masked elements of ``arg``."""
    together = _together(node, arg)
    if mask is None or together is None:
        return None
    total = sum_axes(to_real(broadcast_to(mask, arg.shape)), together)
    if node.ndim != total.ndim:
        total = broadcast_to(reshape(total, _with_units(arg.shape, together)), node.shape)
    return compare("not_equal", total, 0.0)


def pull_reach(node: Node, arg: Node, mask: Node | None) -> Node | None:
    """Return where elements of ``arg`` can influence any of the masked elements of an array operation's value."""
    together = _together(node, arg)
    if together is None:
        return None
    reached = None
    if node.op in ("max", "min"):
        reached = reaches(node, arg, reshape(node, _with_units(arg.shape, together)))
    if mask is None:
        return reached
    total = to_real(broadcast_to(mask, node.shape))
    if node.ndim == arg.ndim:
        total = sum_axes(total, together)
    total = broadcast_to(reshape(total, _with_units(arg.shape, together)), arg.shape)
    return both(compare("not_equal", total, 0.0), reached)


def _together(node: Node, arg: Node) -> tuple[int, ...] | None:
    """Return the axes of ``arg`` along which an array operation mixes all elements, or None if not known."""
    if node.op in MATRIX_OPS:
        return (arg.ndim - 2, arg.ndim - 1)
    if node.op in REDUCTIONS or node.op in NORMALIZATIONS:
        return tuple(axis + arg.ndim for axis in node.payload)
    return None


def _with_units(shape: Shape, axes: Sequence[int]) -> Shape:
    return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
