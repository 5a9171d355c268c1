"""Whose share of a tie a factor is: of maximum(x, y) and minimum(x, y), where both are equal.

The slope of F(maximum(x, y)) by x is F' times a share of x, which is 1 where x is larger, 0 where it is less and a
half where both are equal. The slope of that has the product of two shares, whose mean over both sides of a tie is no
product of means: it is a half again for two shares of x, and 0 for one of x and one of y.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

from ...graph import Node, constant, postorder, substitute
from ...graph.scalars.arithmetic import peel, without_numbers
from ...graph.scalars.functions import scalar_constant, where

__all__ = ["Tie", "by_ties", "on_a_side", "tie_of", "ties_in"]


#: A sum of nodes with their coefficients, and a number under None.
_Sum: TypeAlias = frozenset[tuple[Node | None, float]]
#: Most terms of the difference of two nodes.
_TERMS = 40


class Tie(NamedTuple):
    """A difference that may be 0, and the sign that it has where the share is 1."""

    difference: _Sum
    side: float


def tie_of(node: Node) -> Tie | None:
    """Return the tie that a node is a share of, as the slopes of maximum and minimum write it; None for other nodes.

    Examples
    --------
    >>> from symdiff.graph import elementwise, input
    >>> from symdiff.graph.scalars.functions import FUNCTIONS
    >>> x, y = input("x"), input("y")
    >>> tied = elementwise("maximum", (x, y))
    >>> first, second = (by(x, y, tied) for by in FUNCTIONS["maximum"].partials)
    >>> tie_of(first) == ({(x, 1.0), (y, -1.0)}, 1.0), tie_of(second) == ({(y, 1.0), (x, -1.0)}, 1.0)
    (True, True)
    """
    if not node.is_choice or scalar_constant(node.args[1]) != 0.5:
        return None
    condition, _, rest = node.args
    condition = peel(condition)
    if condition.op != "equal" or peel(rest).op != "unless_nan":
        return None
    whole, own = peel(peel(rest).args[0]), [peel(arg) for arg in condition.args]
    if whole.op in ("maximum", "minimum"):
        first, second = (peel(arg) for arg in whole.args)
        if own in ([first, second], [second, first]) or any(_is_zero_of(part, own) for part in (first, second)):
            return _between(first, second, 1.0 if whole.op == "maximum" else -1.0)
    if whole in own:  # of maximum(x, number), that of x
        return _between(whole, own[0] if own[1] is whole else own[1], 1.0)
    return _between(whole, constant(0.0), 1.0) if _is_zero_of(whole, own) else None


def _is_zero_of(node: Node, own: Sequence[Node]) -> bool:
    """Tell whether x and 0 are compared, where the node is -x."""
    return node.is_negation and peel(node.args[0]) in own and 0.0 in map(scalar_constant, own)


def _between(first: Node, second: Node, side: float) -> Tie | None:
    """Return the tie of two nodes as the sum that their difference is, up to a positive factor."""
    terms: dict[Node | None, float] = {}
    one, other = _unbounded(first, scalar_constant(second)), _unbounded(second, scalar_constant(first))
    stack = [(one, 1.0), (other, -1.0)]
    for _ in range(_TERMS):
        if not stack:
            break
        node, times = stack.pop()
        node = peel(node)
        number = scalar_constant(node)
        scale, rest = without_numbers(node)
        if number is not None:
            terms[None] = terms.get(None, 0.0) + times * number
        elif node.is_additive:
            stack += [(node.args[1], -times if node.is_subtraction else times), (node.args[0], times)]
        elif node.is_negation:
            stack.append((node.args[0], -times))
        elif rest is not node and 0.0 < abs(scale) < math.inf:
            stack.append((rest, times * scale))
        else:
            terms[node] = terms.get(node, 0.0) + times
    kept = {node: times for node, times in terms.items() if times != 0.0}
    size = max(map(abs, kept.values()), default=0.0)
    if stack or not 0.0 < size < math.inf:
        return None
    return Tie(frozenset((node, times / size) for node, times in kept.items()), side)


def _unbounded(node: Node, number: float | None) -> Node:
    """Leave out bounds that are not reached near a number: maximum(x, -1) is x near 0."""
    node = peel(node)
    while number is not None and node.op in ("maximum", "minimum"):
        bounds = [(x, bound) for x, bound in (node.args, node.args[::-1]) if scalar_constant(bound) is not None]
        if len(bounds) != 1:
            break
        ((x, bound),) = bounds
        limit = scalar_constant(bound)
        if limit is None or not (limit < number if node.op == "maximum" else limit > number):
            break
        node = peel(x)
    return node


def ties_in(roots: Sequence[Node]) -> dict[Node, Tie]:
    """Return the shares below some nodes, each tie in the order of its first share."""
    found: dict[Node, Tie] = {}
    known: set[_Sum] = set()
    for part in postorder(roots):
        tie = tie_of(part)
        if tie is not None:
            turned = frozenset((node, -times) for node, times in tie.difference)
            found[part] = Tie(turned, -tie.side) if turned in known else tie
            known.add(found[part].difference)
    return found


def by_ties(roots: Sequence[Node], shares: Collection[Node]) -> list[Node]:
    """Write shares of the same ties, of the same side and shape, as those that are known."""
    known = {(tie, share.shape): share for share, tie in ties_in([*shares, *roots]).items() if share in shares}
    new = {part: known.get((tie, part.shape), part) for part, tie in ties_in([*shares, *roots]).items()}
    new = {part: share for part, share in new.items() if part is not share}
    return substitute(roots, new) if new else list(roots)


def on_a_side(share: Node, tie: Tie, side: float) -> Node:
    """Return a share on one side of its tie."""
    return where(share.args[0], 1.0 if tie.side == side else 0.0, share.args[2])
