"""Weighted sums of deviations from the weighted mean, which are 0: where one is nan, all are, and these stay."""

from __future__ import annotations

from collections import Counter

from ...graph import Node, number
from ...graph.kinds import CONTRACTED
from ...graph.scalars.arithmetic import factors_of, terms_of
from ..rewriter import rule, spread
from .parts import FACTORS, TERMS, factors_in, total_of, without_scalars


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
