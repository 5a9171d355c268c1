"""Derivatives of ``f(x y) / y`` with respect to x, which are ``f'(x y)``.

The quotient is written ``x q(x y)`` with ``q(t) = f(t) / t``, which is right where t is 0. By the product rule its
derivative is ``q(t) + t q'(t)``: that is ``f'(t)``, and loses its digits where f' is small beside f(t) / t.
"""

from __future__ import annotations

import math
from itertools import permutations

from ...graph import Node
from ...graph.kinds import QUOTIENT, holds
from ...graph.scalars.arithmetic import PowerProduct, terms_of
from ...graph.scalars.functions import FUNCTIONS, scalar_constant
from ...graph.scalars.remainders import REMAINDERS
from ...graph.scalars.series import DERIVATIVES
from ..rewriter import make, rule, settle, spread
from .monomials import monomial, written
from .parts import TERMS, total_of

#: Functions over their argument, by the names of their rows: the quotient's n-th derivative has n for an argument.
_QUOTIENTS = {f"{row.function}_remainder_1": row.function for row in REMAINDERS if row.order == 1}


@rule("add subtract", "q(t) + t q'(t) for q(t) = f(t) / t", "f'(t)", below=(QUOTIENT,))
def _derivative_of_quotient(node: Node) -> Node | None:
    terms = terms_of(node, TERMS)
    if not terms.whole:
        return None
    found = [_with_quotient(sign, term) for sign, term in terms.parts]
    for i, j in permutations([k for k, part in enumerate(found) if part is not None], 2):
        a, b = found[i], found[j]
        assert a is not None
        assert b is not None
        if b[1].args[1] is not a[1].args[1] or b[1].op != a[1].op:
            continue
        order, before = (scalar_constant(part[1].args[0]) for part in (b, a))
        if order is None or before is None or order != before + 1.0:
            continue
        whole = _joined(a[0], b[0], a[1].args[1], int(order))
        if whole is None:
            continue
        sign, factor = whole
        slope = settle(DERIVATIVES[_QUOTIENTS[a[1].op]](int(order), a[1].args[1]))
        rest = [part for k, part in enumerate(terms.parts) if k not in (i, j)]
        return spread(total_of([(sign, make("multiply", factor, slope)), *rest]), node.shape)
    return None


def _with_quotient(sign: float, term: Node) -> tuple[PowerProduct, Node] | None:
    """Return a term without a quotient that is one of its factors, and the quotient."""
    whole = monomial(sign, term)
    if whole is None:
        return None
    quotients = [base for base, n in whole.powers.items() if n == 1 and base.op in _QUOTIENTS]
    if len(quotients) != 1:
        return None
    (quotient,) = quotients
    return whole.times(PowerProduct(1.0, {quotient: -1})), quotient


def _joined(a: PowerProduct, b: PowerProduct, t: Node, order: int) -> tuple[float, Node] | None:
    """Return k, with its sign, for ``a = order k`` and ``b = t k``."""
    argument = monomial(1.0, t)
    if argument is None:
        return None
    wanted = a.times(argument)
    if wanted.powers != b.powers or not math.isclose(wanted.number, order * b.number, rel_tol=1e-15):
        return None
    return written(a.scaled(1.0 / order))


assert all(name in FUNCTIONS and holds(name) & QUOTIENT for name in _QUOTIENTS)
