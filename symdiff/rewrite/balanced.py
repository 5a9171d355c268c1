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

from ..graph import Node, elementwise, inputs_of, postorder, rebuild
from ..graph.kinds import bit_of
from ..graph.scalars.arithmetic import PRODUCTS, SUMS, factors_of
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
#: Most nodes of exponents, and of a function beside them, whose inputs are compared.
_LOOKED = 64


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
    new: dict[Node, Node] = {}
    ways: dict[Node, float] = {}
    for node in order:
        made = node
        for arg in node.args:
            if new[arg] is not arg:
                made = rebuild(node, tuple([new[arg] for arg in node.args]))
                break
        if made.is_multiplicative and (of_numbers or made.below & _FAR or _has_powers(made)):
            made = _balanced(made, ways)
        new[node] = made
    return [new[root] for root in roots]


def _has_powers(product: Node) -> bool:
    """Tell whether a factor stands above and below."""
    if not (product.first.is_multiplicative or product.second.is_multiplicative):
        return False
    above, below = set[Node](), set[Node]()
    for base, n in factors_of(product, _FACTORS, powers=_HIGHEST).parts:
        if not base.is_constant:
            (above if n > 0 else below).add(base)
    return not above.isdisjoint(below)


def _balanced(product: Node, ways: dict[Node, float]) -> Node:
    sign, parts, whole = factors_of(product, _FACTORS, powers=_HIGHEST)
    if not whole:
        return product
    factors = [factor for base, n in parts for factor in _factors(base, n, ways)]
    steps: dict[Node | None, list[float]] = {}
    for factor in factors:
        if factor.way:
            steps.setdefault(factor.kind, []).append(factor.size)
    large = {kind for kind, own in steps.items() if sum(map(abs, own)) >= 3.0 and min(own) < 0.0 < max(own)}
    if None in large and _has_other_exponents(factors):
        large.discard(None)
    if not large:
        return product
    for factor in factors if None in large else ():
        if factor.kind is None and factor.step > 0 and abs(factor.way) > 1.0 and _is_short_sum(factor.base):
            return _distributed(product, factor, factors, sign, ways)
    far = [factor for factor in factors if factor.way and factor.kind in large]
    rest = [factor for factor in factors if factor not in far and scalar_constant(factor.base) != 1.0]
    if all(factor.base.op == "exp" for factor in far):
        return product
    sizes: dict[Node | None, float] = dict.fromkeys(large, 0.0)
    ordered: list[_Factor] = []
    while far:
        # what brings the product back to 1; exponentials last, whose arguments may have either sign
        following = min(far, key=lambda one: (abs(sizes[one.kind] + one.size), one.base.op == "exp", -one.step))
        far.remove(following)
        sizes[following.kind] += following.size
        ordered.append(following)
    result: Node | None = None
    for factor in (*ordered, *rest):
        result = factor.applied(result)
    assert result is not None
    return spread(result if sign > 0 else elementwise("negative", (result,)), product.shape)


def _factors(base: Node, n: float, ways: dict[Node, float]) -> list[_Factor]:
    """Return a power as factors; what is not known to be large or small is of a kind of its own."""
    way = _way(base, ways)
    kind = None if way or base.is_constant else base
    return [_Factor(base, math.copysign(1.0, n), 1.0 if kind is base else way, kind)] * int(abs(n))


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


def _has_other_exponents(factors: list[_Factor]) -> bool:
    """Tell whether an exponential has other inputs than the functions beside it: its size says nothing of theirs."""
    exponentials = [factor.base for factor in factors if factor.base.op == "exp"]
    if not exponentials:
        return False
    functions = [
        factor.base for factor in factors if factor.way and factor.kind is None and not factor.base.is_constant
    ]
    first = next((base for base in functions if base.op != "exp"), exponentials[0])
    nodes = postorder([first, *exponentials], most=_LOOKED)
    known = set(inputs_of([first])) if len(nodes) <= _LOOKED else set[Node]()
    return not known.issuperset(node for node in nodes if node.is_input)


class _Factor(NamedTuple):
    """A factor, 1 or -1 for its power, how it goes far out, and with what; None is all functions."""

    base: Node
    step: float
    way: float
    kind: Node | None

    @property
    def size(self) -> float:
        """Power of it in the product."""
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


_COMPOSED = frozenset((*PRODUCTS, *SUMS, "power"))


def _size(number: Node) -> float:
    """Return how a number goes, as if it were such a function."""
    c = scalar_constant(number)
    size = math.log(abs(c)) if c and math.isfinite(c) else 0.0
    return size / _LARGE if abs(size) > _ORDINARY else 0.0


def _way_of(node: Node, parts: list[float]) -> float:
    op = node.op
    if op == "exp":
        return _way_of_exponential(node.args[0])
    if node.is_constant:
        return _size(node)
    if not parts:
        return float(op in _GROWING) - float(op in _VANISHING)
    if node.is_power:
        return parts[0] * (scalar_constant(node.args[1]) or 0.0)
    if op in SUMS:
        return max(parts)
    return parts[0] if node.is_negation else parts[0] + (parts[1] if node.is_multiplication else -parts[1])


def _way_of_exponential(exponent: Node) -> float:
    if exponent.is_division and scalar_constant(exponent.args[1]) is None:
        return 0.0  # exp(1 / x) is near 1 far out
    first = scalar_constant(exponent.args[0]) if exponent.is_multiplication else None
    return -1.0 if exponent.is_negation or (first is not None and first < 0) else 1.0
