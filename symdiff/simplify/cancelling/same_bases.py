"""Powers of one base above and below in a product: ``p y / p`` is y, ``x**(a - 1) / x**a`` is ``1 / x``.

A value stays nan where it divides 0 by 0. A derivative may have a value there: what divides it and multiplies it again
comes from the chain rule, as in ``gamma(x) digamma(x) / gamma(x)``, and would be nan where gamma overflows, too.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

from ...graph import Node, constant, number
from ...graph.scalars.arithmetic import factors_of, fraction_of, scaled, terms_of
from ..rewriter import make, rule, spread
from .parts import FACTORS, TERMS, product_of, total_of

#: An exponent as numbers times terms; the number alone is that of None.
_Exponent: TypeAlias = dict[Node | None, float]


class _Factor(NamedTuple):
    """A factor of a product, the power that it stands in, and its exponent of the base that it is a power of."""

    part: Node
    n: float
    exponent: _Exponent


@rule("multiply divide", "p y / p, x**3 / x, x**(a - 1) / x**a", "y, x**2, 1 / x", "derived")
def _powers_of_same_base(node: Node) -> Node | None:
    """Cancel a base that stands above and below; where a whole power is left below, printing collects powers."""
    found = factors_of(node, FACTORS)
    if not found.whole or len(found.parts) < 2:
        return None
    powers: dict[Node, list[_Factor]] = {}
    for part, n in found.parts:
        base, exponent = _as_power(part)
        powers.setdefault(base, []).append(_Factor(part, n, {term: n * c for term, c in exponent.items()}))
    if len(powers) == len(found.parts):
        return None
    totals = {base: total for base, own in powers.items() if (total := _total(base, own)) is not None}
    if not totals:
        return None
    kept = [(factor.part, factor.n) for base, own in powers.items() if base not in totals for factor in own]
    kept += [_written(base, total) for base, total in totals.items() if total]
    above, below = ([_to_the(part, abs(n)) for part, n in kept if n * sign > 0] for sign in (1.0, -1.0))
    result = make("divide", product_of(above), product_of(below)) if below else product_of(above)
    return spread(result if found.sign > 0 else make("negative", result), node.shape)


def _as_power(part: Node) -> tuple[Node, _Exponent]:
    """Return what a factor is a power of, and its exponent."""
    if part.is_root:
        return part.args[0], {None: 0.5}
    if not part.is_power or part.shape != part.args[0].shape:
        return part, {None: 1.0}
    value = number(part.args[1])
    if value is not None:
        return part.args[0], {None: value}
    exponent: _Exponent = {}
    for sign, term in terms_of(part.args[1], TERMS).parts:
        own = number(term)
        c, x = (own, None) if own is not None else scaled(term)
        exponent[x] = exponent.get(x, 0.0) + sign * c
    return part.args[0], exponent


def _total(base: Node, factors: list[_Factor]) -> _Exponent | None:
    """Return a sum of exponents, without terms that are 0; None where nothing cancels."""
    alone = {None}
    above = {(factor.exponent[None] if factor.exponent.keys() == alone else factor.n) > 0 for factor in factors}
    if base.is_constant or len(above) == 1:
        return None
    total: _Exponent = {}
    for factor in factors:
        for term, c in factor.exponent.items():
            total[term] = _sum(total.get(term, 0.0), c)
    total = {term: c for term, c in total.items() if c}
    rest = total.get(None, 0.0)
    if all(factor.exponent.keys() == alone for factor in factors):
        return total if rest >= 0.0 and rest.is_integer() else None
    return total if len(total) < max(len(factor.exponent) for factor in factors) else None


def _sum(a: float, b: float) -> float:
    """Return a + b, of fractions the double nearest to their sum."""
    p, q = fraction_of(a), fraction_of(b)
    return a + b if p is None or q is None else float(p + q)


def _written(base: Node, exponent: _Exponent) -> tuple[Node, float]:
    """Return a factor, and the power that it stands in."""
    if exponent.keys() == {None}:
        return base, exponent[None]
    terms = [(c, constant(1.0) if x is None else x) for x, c in exponent.items()]
    sign = 1.0 if any(c > 0 for c, _ in terms) else -1.0
    terms.sort(key=lambda term: term[0] * sign < 0)  # a - 1, not -1 + a
    parts = [(math.copysign(1.0, c) * sign, make("multiply", constant(abs(c)), x)) for c, x in terms]
    return make("power", base, total_of(parts)), sign


def _to_the(base: Node, exponent: float) -> Node:
    return base if exponent == 1.0 else make("power", base, constant(exponent))
