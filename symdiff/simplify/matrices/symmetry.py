"""Matrices that are symmetric, by construction (``X @ X.T``, its inverse, sums and functions of such) or declared so.

A derivative is full of transposes that change nothing. Without them ``logdet(X @ X.T)`` has
the gradient ``2 * inv(X @ X.T) @ X`` in place of two terms.
"""

from __future__ import annotations

from ...graph import Node, contract
from ..facts import is_symmetric
from ..rewriter import rule

#: Comes after every summed label.
_LAST = 1_000


def upright(node: Node) -> Node:
    """Write the labels of symmetric operands in the order of the result, and of a symmetric result in theirs."""
    labels, out, repeated = node.payload
    if len(out) == 2 and out[0] > out[1] and is_symmetric(node):
        out = out[::-1]
    rank = {label: place for place, label in enumerate(out)}
    turned = tuple(
        own[::-1] if len(own) == 2 and _place(rank, own[0]) > _place(rank, own[1]) and is_symmetric(arg) else own
        for arg, own in zip(node.args, labels, strict=True)
    )
    return node if (turned, out) == (labels, node.payload.out) else contract(node.args, turned, out, dict(repeated))


@rule("contract", "Sᵀ with S = X Xᵀ, its inverse, ...", "S", "arrays")
def _symmetric_operand(node: Node) -> Node | None:
    found = upright(node)
    return None if found is node else found


def _place(rank: dict[int, int], label: int) -> int:
    """Return where a label stands from the result's first axis to its last: summed labels are between the two."""
    place = rank.get(label)
    if place is None:
        return 1 + label
    return place if place == 0 else _LAST + place
