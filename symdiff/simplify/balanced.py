"""Products of what is large or small far out, multiplied in an order in which partial products are neither.

The slope of ``1 / i0(x)`` is ``-i1(x) / i0(x)**2``. Computed as ``1 / i0(x) / i0(x) * i1(x)`` it is 0 wherever the
square overflows, at half the exponents at which the slope is a number. In pairs, ``i1(x) / i0(x) / i0(x)``, it has all
its digits as far as its functions have. Quotients of exponentials alone have forms of their own.

No rule looks at the order of factors, so this is a pass of its own, behind all rules.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..graph import Node, elementwise, postorder, rebuild
from ..graph.kinds import bit_of
from ..graph.scalars.arithmetic import SUMS, factors_of
from ..graph.scalars.functions import scalar_constant
from .rewriter import spread, union

__all__ = ["balance_products"]

#: Functions that grow, and that vanish, as exponentials do or faster.
_GROWING = frozenset(("i0", "i1", "iv", "expi", "gamma", "airybi", "airybiprime"))
_VANISHING = frozenset(("k0", "k1", "kv", "exp1", "expn", "erfc", "airyai", "airyaiprime"))
_FAR = union(map(bit_of, _GROWING | _VANISHING))
#: Logarithm of a number that counts as one such function, and below which one counts as none.
_LARGE, _ORDINARY = 350.0, 150.0
#: Most factors that are looked at, and the highest power that is taken apart.
_FACTORS, _HIGHEST = 12, 4


def balance_products(roots: Sequence[Node]) -> list[Node]:
    """Order the factors of products in which several overflow or vanish, above and below.

    Examples
    --------
    >>> from symdiff.graph import input
    >>> x = input("x")
    >>> i0, i1 = elementwise("i0", (x,)), elementwise("i1", (x,))
    >>> balance_products([1.0 / i0 / i0 * i1])[0] is i1 / i0 / i0
    True
    """
    order = postorder(roots)
    of_numbers = any(node.is_constant and _size(node) for node in order)
    if not of_numbers and not any(root.below & _FAR for root in roots):
        return list(roots)
    new: dict[Node, Node] = {}
    ways: dict[Node, float] = {}
    for node in order:
        made = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        if made.is_multiplicative and (of_numbers or made.below & _FAR):
            made = _balanced(made, ways)
        new[node] = made
    return [new[root] for root in roots]


def _balanced(product: Node, ways: dict[Node, float]) -> Node:
    sign, parts, whole = factors_of(product, _FACTORS, powers=_HIGHEST)
    factors = [_Factor(base, math.copysign(1.0, n), _way(base, ways)) for base, n in parts for _ in range(int(abs(n)))]
    far = [factor for factor in factors if factor.way]
    if not whole or sum(abs(factor.way) for factor in far) < 3.0 or all(factor.base.op == "exp" for factor in far):
        return product
    if len({factor.size > 0 for factor in far}) < 2:
        return product
    for factor in far:
        if (
            factor.base.op in SUMS
            and factor.step > 0
            and abs(factor.way) > 1
            and not any(arg.op in SUMS for arg in factor.base.args)
        ):
            return _distributed(product, factor, factors, sign, ways)
    result: Node | None = None
    size = 0.0
    while far:
        # what brings the product back to 1; exponentials last, whose arguments may have either sign
        following = min(far, key=lambda one: (abs(size + one.size), one.base.op == "exp", -one.step))
        far.remove(following)
        size += following.size
        result = following.applied(result)
    for factor in factors:
        if not factor.way and scalar_constant(factor.base) != 1.0:
            result = factor.applied(result)
    assert result is not None
    return spread(result if sign > 0 else elementwise("negative", (result,)), product.shape)


def _is_short_sum(node: Node) -> bool:
    return node.op in SUMS and not any(arg.op in SUMS for arg in node.args)


def _distributed(product: Node, total: _Factor, factors: list[_Factor], sign: int, ways: dict[Node, float]) -> Node:
    """Multiply the terms of a sum, each of which overflows or vanishes alone, by the other factors."""
    terms = []
    for term in total.base.args:
        part = term
        for factor in factors:
            part = part if factor is total else factor.applied(part)
        terms.append(_balanced(part, ways))
    result = elementwise(total.base.op, tuple(terms))
    return spread(result if sign > 0 else elementwise("negative", (result,)), product.shape)


class _Factor(NamedTuple):
    """A factor, 1 or -1 for its power, and how it goes far out."""

    base: Node
    step: float
    way: float

    @property
    def size(self) -> float:
        """How the product goes by it."""
        return self.step * self.way

    def applied(self, product: Node | None) -> Node:
        """Multiply or divide a product by it."""
        if product is None:
            return self.base if self.step > 0 else 1.0 / self.base
        return elementwise("multiply" if self.step > 0 else "divide", (product, self.base))


def _way(root: Node, known: dict[Node, float]) -> float:
    """Return how a node goes far out: 2 if it grows as a product of two growing functions, -1 if it vanishes as one."""
    todo = [root]
    while todo:
        node = todo[-1]
        parts = node.args if node.op in _COMPOSED else ()
        waiting = [part for part in parts if part not in known]
        todo += waiting
        if not waiting:
            todo.pop()
            known[node] = _way_of(node, [known[part] for part in parts])
    return known[root]


_COMPOSED = frozenset(("multiply", "divide", "negative", "add", "subtract", "power"))


def _size(number: Node) -> float:
    """Return how a number goes, as if it were such a function."""
    c = scalar_constant(number)
    size = math.log(abs(c)) if c and math.isfinite(c) else 0.0
    return size / _LARGE if abs(size) > _ORDINARY else 0.0


def _way_of(node: Node, parts: list[float]) -> float:
    op = node.op
    if op == "exp":
        return -1.0 if _is_negative(node.args[0]) else 1.0
    if node.is_constant:
        return _size(node)
    if not parts:
        return float(op in _GROWING) - float(op in _VANISHING)
    if op == "power":
        return parts[0] * (scalar_constant(node.args[1]) or 0.0)
    if op in SUMS:
        return max(parts)
    return parts[0] if op == "negative" else parts[0] + (parts[1] if op == "multiply" else -parts[1])


def _is_negative(exponent: Node) -> bool:
    first = scalar_constant(exponent.args[0]) if exponent.is_multiplication else None
    return exponent.is_negation or (first is not None and first < 0)
