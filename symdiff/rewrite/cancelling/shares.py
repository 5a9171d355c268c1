"""Sums that are 1 or 0: of shares, and of deviations weighted by shares.

**Sums of shares** are 1: in values, beside the shares alone, so that what is nan stays so.

**Weighted sums of deviations from the weighted mean** are 0: where one is nan, all are, and these stay.
"""

from __future__ import annotations

from collections import Counter

from ...graph import Node, axes_of, constant, contract, number
from ...graph.kinds import CONTRACTED, SHARES
from ...graph.scalars.arithmetic import factors_of, terms_of
from ..rewriter import rule, spread
from .monomials import FACTORS, TERMS, factors_in, total_of, without_factor, without_scalars


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


@rule("add subtract", "z - (w @ z), z = x - w @ x / sum(w)", "z", "reading",
      inside="contract divide multiply negative", below=(CONTRACTED,))
def _weighted_sum_of_deviations(node: Node) -> Node | None:
    """Leave the weighted sum of deviations out where the deviations are a factor of another term."""
    terms = terms_of(node, TERMS)
    if not terms.whole:
        return None
    for k, (_, term) in enumerate(terms.parts):
        scalars = _scalars(term)
        if not scalars:
            continue
        others = [part for i, part in enumerate(terms.parts) if i != k]
        beside = {_ground(base) for _, other in others for base, under in factors_in(other) if not under and base.shape}
        if any(_is_nothing(scalar, z) for scalar in scalars for z in beside):
            return spread(total_of(others), node.shape)
    return None


def _ground(base: Node) -> Node:
    """Return what a factor is a power of, above 0."""
    return base.args[0] if base.is_power and (number(base.args[1]) or 0.0) > 0.0 else base


def _scalars(term: Node) -> set[Node]:
    """Return the scalars that a term is multiplied by, each once."""
    found: set[tuple[Node, bool]] = set()
    for base, n in factors_of(term, FACTORS).parts:
        if base.shape:
            without_scalars(base, found, ())
        else:
            found.add((base, n < 0))
    return {base for base, under in found if not under and base.is_contraction}


def _is_nothing(total: Node, z: Node) -> bool:
    """Tell whether a number is the sum of deviations z times the weights that their mean has."""
    if not z.is_subtraction or z.args[0].shape != z.shape or z.args[1].shape:
        return False
    x, mean = z.args
    summed = _summed(total)
    over: list[Node] = []
    under: list[Node] = []
    for base, n in factors_of(mean, FACTORS).parts:
        (over if n == 1.0 else under).append(base)
    if summed is None or summed[z] != 1 or len(over) != 1 or len(under) != 1:
        return False
    weights = summed - Counter([z])
    return _summed(over[0]) == weights + Counter([x]) and _summed(under[0]) == weights


def _summed(node: Node) -> Counter[Node] | None:
    """Return the arrays whose product is summed, without numbers in front of it; None where nothing is."""
    if not node.is_contraction or node.shape or len(set(node.payload.labels)) != 1 or node.payload.repeated:
        return None
    found: Counter[Node] = Counter()
    for arg in node.args:
        for base, n in factors_of(arg, FACTORS).parts:
            if base.shape and (n != 1.0 or base.shape != arg.shape):
                return None
            if base.shape:
                found[base] += 1
    return found
