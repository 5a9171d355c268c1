"""Sums of diagonal matrices."""

from __future__ import annotations

from ...graph import Node, constant, elementwise
from ...graph.deltas.affine import is_identity
from ...graph.deltas.einsum import einsum
from ...graph.scalars.arithmetic import scaled
from ..rewriter import make, rule, settle


@rule("add subtract", "diag(x) + diag(y)", "diag(x + y)", "reading", inside="contract multiply negative")
def _sum_of_diagonals(node: Node) -> Node | None:
    """Add the diagonals, whose terms may cancel or have a factor in common."""
    if node.ndim != 2 or any(arg.shape != node.shape for arg in node.args):
        return None
    parts = [(c, _diagonal(x)) for c, x in map(scaled, node.args)]
    vectors = [x if c == 1.0 else make("multiply", constant(c), x) for c, x in parts if x is not None]
    if len(vectors) < 2:
        return None
    one = next(arg for arg in scaled(node.args[0])[1].args if _is_one(arg))
    return einsum([one, settle(elementwise(node.op, tuple(vectors)))], [(0, 1), (0,)], (0, 1))


def _is_one(node: Node) -> bool:
    return node.is_delta and is_identity(node)


def _diagonal(node: Node) -> Node | None:
    """Return the vector on the diagonal of a product with one identity; None where it is a number, or none at all."""
    if not node.is_contraction or node.payload.repeated:
        return None
    labels, out, _ = node.payload
    at = [place for place, arg in enumerate(node.args) if _is_one(arg)]
    if len(at) != 1 or sorted(labels[at[0]]) != sorted(out) or len({*out}) != 2:
        return None
    rest = [(arg, own) for place, (arg, own) in enumerate(zip(node.args, labels, strict=True)) if place != at[0]]
    if not any(arg.shape for arg, _ in rest) or any(len(own) > 1 or not {*own} <= {*out} for _, own in rest):
        return None
    total, *others = (arg for arg, _ in rest)
    for arg in others:
        total = make("multiply", total, arg)
    return total
