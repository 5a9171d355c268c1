"""Scalar functions in forward and reverse mode: a partial derivative of the table, and broadcasting.

A function of numbers acts on arrays element by element and repeats the smaller of its arguments. A tangent
is repeated in the same way (:func:`fit`), a cotangent summed (:func:`shrink`), and both are multiplied by the
partial derivative, where it counts.
"""

from __future__ import annotations

from ..errors import NotDifferentiableError
from ..graph import Node
from ..graph.deltas.einsum import einsum, scale_by
from ..graph.scalars.functions import FUNCTIONS, Partial
from ..graph.sizes import Dim, Shape
from .linear import Product
from .masking import Masked, both, multiply


def fit(x: Node, prefix: int, own: int, shape: Shape) -> Node:
    """Repeat ``x``, whose last ``own`` axes follow the prefix, to ``shape`` behind the prefix."""
    if x.shape[prefix:] == shape:
        return x
    lead = tuple(range(prefix))
    gap = len(shape) - own
    labels = list(lead)
    sizes: dict[int, Dim] = {}
    out = [*lead, *range(prefix, prefix + len(shape))]
    for axis, size in enumerate(shape):
        sizes[prefix + axis] = size
        if axis >= gap:
            at = prefix + axis - gap
            labels.append(-1 - at if x.shape[at] == 1 and size != 1 else prefix + axis)
    return einsum([x], [tuple(labels)], tuple(out), sizes)


def shrink(slope: Masked, prefix: int, shape: Shape, kept: bool) -> Masked:
    """Sum over what broadcasting repeated, down to ``shape`` behind the prefix."""
    x = slope.value
    if x.shape[prefix:] == shape:
        return slope
    gap = x.ndim - len(shape)
    out = list(range(prefix))
    sizes: dict[int, Dim] = {}
    for axis, size in enumerate(shape, gap):
        same = size == x.shape[axis]
        out.append(axis if same else -1 - axis)
        sizes[-1 - axis] = 1
    labels = tuple(range(x.ndim))
    product = Product([x], [labels], tuple(out), sizes, 0, labels[prefix:], tuple(out[prefix:]))
    return multiply(product, slope.mask, lambda factor: False, kept)


def partial_of(node: Node, i: int) -> tuple[Node | None, Node | None]:
    """Return the partial derivative by argument ``i`` and the condition under which it counts.

    The first is None for a function that is constant, or is so in pieces.
    """
    row = FUNCTIONS.get(node.op)
    if row is None:
        raise NotDifferentiableError(f"symdiff has no derivative rule for {node.op!r}")
    rule = row.partials[i]
    if rule is Partial.ZERO:
        return None, None
    if isinstance(rule, Partial):
        raise NotDifferentiableError(f"{node.op} is {rule.value} by its argument {i + 1}")
    support = row.supports[i] if row.supports else None
    condition = support(*node.args, node) if support is not None else None
    return rule(*node.args, node), condition


def scaled_by(node: Node, factor: Node, slope: Masked, condition: Node | None, kept: bool) -> Masked:
    """Multiply by a partial derivative that counts under a condition."""
    scaled = scale_by(factor, slope.value)
    if condition is not None and slope.mask is None and node.op == "power" and not kept:
        # no branch, but the one point (0, 0): settled where it stands
        return Masked(Masked(scaled, condition).settle(), None)
    return Masked(scaled, both(slope.mask, condition))
