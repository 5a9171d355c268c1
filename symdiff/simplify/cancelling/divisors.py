"""Divisors beside a sum whose terms are divided by them: ``s**2 * (1 + (z / s)**2)`` is ``s**2 + z**2``.

Where the divisor is 0, a term of the sum is outside of its domain, and so is the formula that has been derived.
"""

from __future__ import annotations

from ...graph import Node
from ...graph.kinds import INVERSE
from ...graph.scalars.arithmetic import SUMS, factors_of, terms_of
from ..rewriter import rule, spread
from .monomials import HIGHEST, PowerProduct, monomial, written
from .parts import FACTORS, TERMS, total_of


@rule("divide multiply", "x / (s**2 (1 + (z / s)**2))", "x / (s**2 + z**2)", "derived", below=(INVERSE,))
def _sum_with_divisor(node: Node) -> Node | None:
    """Multiply a divisor into a sum, all terms of which but one at most are divided by it."""
    found = factors_of(node, FACTORS, powers=HIGHEST)
    if not found.whole or not any(n < 0 and base.op in SUMS for base, n in found.parts):
        return None
    powers: dict[Node, int] = {}
    for base, n in found.parts:
        powers[base] = powers.get(base, 0) + int(n)
    above = {base for base, n in found.parts if n > 0 and not base.is_constant}
    if any(n < 0 and base in above and powers[base] >= 0 for base, n in found.parts):
        return None  # the ratio of both may be nan; a divisor that is left is nan or infinite there
    for total, n in powers.items():
        if n >= 0 or total.op not in SUMS:
            continue
        for divisor, m in powers.items():
            taken = _multiplied(total, divisor, -m, -n) if m < 0 and divisor is not total else None
            if taken is not None:
                longer, times = taken
                if powers.get(longer, 0) > 0:
                    return None
                changed = [(longer if base is total else base, k) for base, k in powers.items()]
                new: dict[Node, int] = {}
                for base, k in [*changed, (divisor, times)]:  # there may be such a sum already
                    new[base] = new.get(base, 0) + k
                product = PowerProduct(float(found.sign), {base: k for base, k in new.items() if k})
                return spread(total_of([written(product)]), node.shape)
    return None


def _multiplied(total: Node, divisor: Node, most: int, power: int) -> tuple[Node, int] | None:
    """Return a sum times the power of a divisor of its terms, and what power of the divisor its own power takes."""
    terms = terms_of(total, TERMS)
    parts = [monomial(sign, term) for sign, term in terms.parts] if terms.whole else []
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    times = max(-part.powers.get(divisor, 0) for part in known)
    if times <= 0 or times * power > most or sum(part.powers.get(divisor, 0) > -times for part in known) > 1:
        return None
    moved = [part._replace(powers={**part.powers, divisor: part.powers.get(divisor, 0) + times}) for part in known]
    left = [part._replace(powers={base: n for base, n in part.powers.items() if n}) for part in moved]
    return total_of([written(part) for part in left]), times * power
