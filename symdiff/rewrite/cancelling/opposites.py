"""Sums with f(z) and f(-z) = 1 - f(z), before they are differentiated again.

The slope of a logistic loss is ``y sigmoid(-z) - (1 - y) sigmoid(z)``, which keeps the digits that ``y - sigmoid(z)``
loses where the two are nearly equal. Its own derivative does not depend on y, and loses nothing: so a slope is
differentiated in the short form, and computed in the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...graph import Node, constant, number, postorder, rebuild
from ...graph.scalars.arithmetic import COMPLEMENTED, SUMS, factors_of, scaled, terms_of
from ..rewriter import make, spread
from .monomials import FACTORS, TERMS, total_of

__all__ = ["opened_shares"]

#: How many operations are looked through to a sum.
_LEVELS = 12


def opened_shares(node: Node, wrt: Sequence[Node]) -> Node:
    """Write a f(-z) + b f(z) as a + (b - a) f(z) where b - a is a number, and no derivative has the sum as a factor.

    Parameters
    ----------
    node : Node
    wrt : sequence of Node
        The inputs by which it will be differentiated.

    Examples
    --------
    >>> from symdiff.graph import elementwise, input
    >>> y, z = input("y"), input("z")
    >>> near, far = (elementwise("sigmoid", (x,)) for x in (z, -z))
    >>> opened_shares(y * far + (y - 1) * near, [z]) is y - near
    True
    """
    if not any(part.op in COMPLEMENTED for part in postorder([node])):
        return node
    known: dict[Node, bool] = {}
    for part in postorder([node]):
        known[part] = part in wrt or any(known[arg] for arg in part.args)
    return _linear(node, known, _LEVELS)


def _linear(node: Node, moves: dict[Node, bool], levels: int) -> Node:
    """Rewrite sums below operations that are linear in them."""
    if levels == 0 or not moves[node]:
        return node
    if node.is_additive:
        found = _opened(node)
        if found is not None:
            return found
        places = [place for place, arg in enumerate(node.args) if arg.shape == node.shape]
    elif node.op in ("negative", "reshape"):
        places = [0]
    elif node.op in ("multiply", "contract", "divide"):
        places = [place for place, arg in enumerate(node.args) if moves[arg]]
        if len(places) > 1 or (node.is_division and places != [0]):
            return node
    else:
        return node
    args = [_linear(arg, moves, levels - 1) if place in places else arg for place, arg in enumerate(node.args)]
    if all(new is old for new, old in zip(args, node.args, strict=True)):
        return node
    return make(node.op, *args) if node.op in SUMS else rebuild(node, tuple(args))


def _opened(node: Node) -> Node | None:
    """Return a sum with two such terms as one with one of them."""
    terms = terms_of(node, TERMS)
    if not terms.whole:
        return None
    shares = {place: found for place, (sign, term) in enumerate(terms.parts) if (found := _share_in(sign, term))}
    for i, (a, far) in shares.items():
        for j, (b, near) in shares.items():
            if far.op != near.op or scaled(far.args[0]) != (-1.0, near.args[0]):
                continue
            common = a & b
            first = _product_of(a - common)
            c = _difference(_product_of(b - common), first)
            if c is None or far.shape != node.shape:
                continue
            rest = [part for place, part in enumerate(terms.parts) if place not in (i, j)]
            share = make("multiply", constant(abs(c)), near)
            both = _product_of(common, total_of([(1.0, first), (1.0 if c > 0 else -1.0, share)]))
            return spread(total_of([*rest, (1.0, both)]), node.shape)
    return None


def _share_in(sign: float, term: Node) -> tuple[Counter[tuple[Node, float]], Node] | None:
    """Return the coefficient, by its factors, and f(z) of a term."""
    found = factors_of(term, FACTORS)
    shares = [base for base, n in found.parts if base.op in COMPLEMENTED and n == 1.0]
    if len(shares) != 1 or not found.whole or any(n not in (1.0, -1.0) for _, n in found.parts):
        return None
    factors = Counter(part for part in found.parts if part[0] is not shares[0])
    if sign * found.sign < 0:
        factors[constant(-1.0), 1.0] += 1
    return factors, shares[0]


def _product_of(factors: Counter[tuple[Node, float]], start: Node | None = None) -> Node:
    result = constant(1.0) if start is None else start
    for base, n in factors.elements():
        result = make("multiply" if n > 0 else "divide", result, base)
    return result


def _difference(b: Node, a: Node) -> float | None:
    """Return b - a where it is a number other than 0: what differs in them is numbers."""
    left: Counter[Node] = Counter()
    total = 0.0
    for way, side in ((1.0, b), (-1.0, a)):
        for sign, term in terms_of(side, TERMS).parts:
            c, x = scaled(term)
            value = number(term)
            if value is not None:
                total += way * sign * value
            else:
                left[x] += way * sign * c  # type: ignore[assignment]
    return total if total and not any(left.values()) else None
