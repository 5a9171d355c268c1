"""Quotients of functions that overflow, or vanish, together: functions of their own, which do neither."""

from __future__ import annotations

from itertools import permutations

from ...graph import Node, constant, elementwise
from ...graph.kinds import INVERSE, bit_of
from ..rewriter import rule, spread, union
from .exponents import added, linear
from .products import decomposed, powers_multiplied

#: Quotients of two functions that overflow, or vanish, together.
_RATIOS = {("i1", "i0"): "i_ratio", ("k1", "k0"): "k_ratio"}
#: Functions whose quotient at two places is a function of its own.
_AT_TWO_PLACES = ("erfc", "ndtr")
_LIKE = frozenset(("gamma", *_AT_TWO_PLACES, *(name for pair in _RATIOS for name in pair)))


@rule("multiply divide", "i1(x) / i0(x), k1(x) / k0(x), gamma(x + c) / gamma(x), erfc(x) / erfc(y)",
      "i_ratio(x), k_ratio(x), poch(x, c), erfc_ratio(x, y)", "stability",
      below=(INVERSE, union(map(bit_of, _LIKE))))
def _ratio_of_like_functions(node: Node) -> Node | None:
    """Divide functions that overflow or vanish together where their quotient has a name."""
    product = decomposed(node)
    if product is None:
        return None
    like = [(base, n) for base, n in product.powers.items() if base.op in _LIKE]
    for (a, n), (b, m) in permutations(like, 2):
        ratio = _ratio(a, b) if n * m < 0 else None
        if ratio is None:
            continue
        both = min(abs(n), abs(m)) * (1 if n > 0 else -1)
        powers = product.powers | {a: n - both, b: m + both}
        powers[ratio] = powers.get(ratio, 0) + both
        return spread(powers_multiplied([pair for pair in powers.items() if pair[1]], product.number), node.shape)
    return None


def _ratio(a: Node, b: Node) -> Node | None:
    """Return a / b where that is a function of its own."""
    (x,), (y,) = a.args, b.args
    if (a.op, b.op) in _RATIOS and x is y:
        return elementwise(_RATIOS[a.op, b.op], (x,))
    if a.op == b.op and a.op in _AT_TWO_PLACES and x is not y:
        return elementwise(f"{a.op}_ratio", (x, y))
    if a.op != b.op or a.op != "gamma" or x.shape != y.shape:
        return None
    rest = added(linear(x), linear(y), -1.0)
    if rest.keys() - {None}:
        return None
    return elementwise("poch", (y, constant(rest.get(None, 0.0))))
