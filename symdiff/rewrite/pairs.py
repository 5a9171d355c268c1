"""Functions of pairs: arrays that are equal, or opposite, when two of their axes are exchanged.

``X[:, None, :] - X[None, :, :]`` is the negative of itself with its first two axes exchanged, so the sum of its squares
along the last one is a symmetric matrix, and so is any function of that: of the distances between points, say.
"""

from __future__ import annotations

from ..graph import Node
from ..graph.scalars.arithmetic import peel
from ..graph.scalars.functions import FUNCTIONS, scalar_constant

__all__ = ["exchanged"]

#: Operations of two arguments that may come in either order.
_EITHER = frozenset(("add", "multiply", "maximum", "minimum", "hypot", "logaddexp", "equal", "not_equal"))
_REDUCING = frozenset(("norm", "max", "min", "prod", "logsumexp"))


def exchanged(node: Node, i: int, j: int, depth: int) -> int:
    """Return 1 where an array is equal to itself with two axes exchanged, -1 where it is opposite, 0 for unknown.

    Parameters
    ----------
    node : Node
    i, j : int
        The axes, counted from the last one, which is -1: an array that lacks one is repeated along it.
    depth : int
        How many operations down to look.

    Examples
    --------
    >>> from symdiff.graph import input, reshape
    >>> x = input("x", (3,))
    >>> distance = reshape(x, (3, 1)) - x
    >>> exchanged(distance, -2, -1, 4), exchanged(distance * distance, -2, -1, 4), exchanged(x, -2, -1, 4)
    (-1, 1, 0)
    """
    node = peel(node)
    if not _has(node, i) and not _has(node, j):
        return 1
    if depth == 0 or node.ndim < 2:
        return 0
    if node.is_delta:
        return int(node.payload == (0, 1) and (i, j) == (-2, -1))
    if node.is_input:
        return int(node.assumptions.symmetric and (i, j) == (-2, -1))
    if node.is_contraction or node.op in _REDUCING:
        inside = _exchanged_inside(node, i, j, depth - 1)
        return inside if node.is_contraction else abs(inside) if node.op == "norm" else max(inside, 0)
    row = FUNCTIONS.get(node.op)
    if row is None:
        return 0
    n = scalar_constant(node.args[1]) if node.is_power else None
    if n is not None:
        inside = exchanged(node.args[0], i, j, depth - 1)
        return inside if n % 2.0 == 1.0 else abs(inside) if n % 2.0 == 0.0 else max(inside, 0)
    if node.op in _EITHER or node.is_subtraction:
        one, other = node.args
        if _are_mirrored(one, other, i, j, depth - 1):
            return -1 if node.is_subtraction else 1
    parts = [exchanged(arg, i, j, depth - 1) for arg in node.args]
    if 0 in parts:
        return 0
    if node.is_additive:
        return parts[0] if parts[0] == parts[1] else 0
    if node.is_multiplicative:
        return parts[0] * parts[1]
    if len(parts) == 1 and row.parity[0:1] in (("even",), ("odd",)):
        return 1 if row.parity[0] == "even" else parts[0]
    return 1 if min(parts) == 1 else 0


def _has(node: Node, axis: int) -> bool:
    return node.ndim >= -axis and node.shape[axis] != 1


def _exchanged_inside(node: Node, i: int, j: int, depth: int) -> int:
    """Return the same of a sum, or another reduction, along other axes."""
    if len(node.args) != 1 or node.ndim < max(-i, -j):
        return 0
    (arg,) = node.args
    if node.is_contraction:
        (own,), out, repeated = node.payload
        wanted = (out[i], out[j])
        if repeated or len({*own}) < len(own):
            return 0
        places = [own.index(label) for label in wanted]
        rest = [label for label in own if label in out and label not in wanted]
        if rest != [label for label in out if label not in wanted]:
            return 0
    else:
        kept = [axis for axis in range(arg.ndim) if axis - arg.ndim not in node.payload.axes]
        places = [kept[i], kept[j]]
    first, second = (place - arg.ndim for place in places)
    return exchanged(arg, first, second, depth)


def _are_mirrored(a: Node, b: Node, i: int, j: int, depth: int) -> bool:
    """Tell whether one of two arrays is the other with two axes exchanged."""
    a, b = peel(a), peel(b)
    (first, own), (second, other) = _placed(a), _placed(b)
    if first is second:
        turned = {i: j, j: i}
        return {turned.get(axis, axis): place for axis, place in own.items()} == other
    if depth == 0 or a.op != b.op or a.op not in FUNCTIONS or len(a.args) != len(b.args):
        return False
    return all(
        _are_mirrored(one, two, i, j, depth - 1) or (one is two and exchanged(one, i, j, depth - 1) == 1)
        for one, two in zip(a.args, b.args, strict=True)
    )


def _placed(node: Node) -> tuple[Node, dict[int, int]]:
    """Return an array without axes of size 1 that were put into it, and by axis of the result that of the array."""
    inside = node.args[0] if node.is_reshape else node
    places: dict[int, int] = {}
    k = 0
    for axis, size in enumerate(node.shape):
        if k < inside.ndim and size == inside.shape[k]:
            places[axis - node.ndim] = k
            k += 1
        elif size != 1:
            return node, {axis - node.ndim: axis for axis in range(node.ndim)}
    return (inside, places) if k == inside.ndim else (node, {axis - node.ndim: axis for axis in range(node.ndim)})
