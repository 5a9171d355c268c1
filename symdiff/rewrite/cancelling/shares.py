"""Sums of shares, which are 1: in values, beside the shares alone, so that what is nan stays so."""

from __future__ import annotations

from ...graph import Node, axes_of, constant, contract
from ...graph.kinds import SHARES
from ...graph.scalars.arithmetic import terms_of
from ..rewriter import rule, spread
from .parts import TERMS, factors_in, total_of, without_factor


@rule("multiply", "p sum(p), p = softmax(x)", "p", "reading", inside="softmax")
def _sum_of_shares(node: Node) -> Node | None:
    """Write 1 for the sum of what softmax gives, beside these: they are nan where it is."""
    for share, other in (node.args, node.args[::-1]):
        if share.op == "softmax" and share.shape == node.shape and _is_sum_of(other, share):
            return share
    return None


@rule("add subtract", "sum(p) x + p, p = softmax(y)", "x + p", "reading", below=(SHARES,))
def _sum_of_shares_beside(node: Node) -> Node | None:
    """Write 1 for the sum of a softmax in one term of a sum, where that softmax is a factor of another term."""
    terms = terms_of(node, TERMS) if node.shape else None
    if terms is None or not terms.whole:
        return None
    factors = [factors_in(term) for _, term in terms.parts]
    for k, (sign, term) in enumerate(terms.parts):
        shares = {base for i, own in enumerate(factors) if i != k for base, under in own
                  if base.op == "softmax" and base.shape == node.shape and not under}  # fmt: skip
        total = next((base for base, under in factors[k] for p in shares if not under and _is_sum_of(base, p)), None)
        if total is not None:
            parts = [*terms.parts[:k], (sign, without_factor(term, total)), *terms.parts[k + 1 :]]
            return spread(total_of(parts), node.shape)
    return None


@rule("contract", "sum(p) x, p = softmax(y)", "x", "derived", inside="softmax")
def _sum_within_a_product(node: Node) -> Node | None:
    """Leave out a softmax that is summed by itself: no other factor has the indices of its shares."""
    labels, out, repeated = node.payload
    for k, (arg, own) in enumerate(zip(node.args, labels, strict=True)):
        if arg.op != "softmax" or len({*own}) < len(own):
            continue
        others = {label for j, row in enumerate(labels) if j != k for label in row}
        summed = {label for label in own if label not in out and label not in others}
        if summed != {own[axis] for axis in axes_of(arg, arg)}:
            continue
        if len(node.args) == 1:
            return spread(constant(1.0), node.shape)
        if {*own} - summed <= others:
            args = [*node.args[:k], *node.args[k + 1 :]]
            return contract(args, [*labels[:k], *labels[k + 1 :]], out, dict(repeated))
    return None


def _is_sum_of(node: Node, share: Node) -> bool:
    """Tell whether a node is the sum of what softmax gives along its axes, of which each may be left with size 1."""
    total = node.args[0] if node.is_reshape else node
    if not total.is_contraction or total.args != (share,) or len({*total.payload.labels[0]}) < share.ndim:
        return False
    (own,), out, _ = total.payload
    over = axes_of(share, share)
    rest = [label for axis, label in enumerate(own) if axis not in over]
    if [label for label in out if label in own] != rest:
        return False
    kept = tuple([1 if axis in over else size for axis, size in enumerate(share.shape)])
    lead = len(kept) - node.ndim
    return all(size == 1 for size in kept[:lead]) and node.shape == kept[lead:]
