"""Divided differences: quotients of a difference of one function at two places by the distance of the places."""

from __future__ import annotations

import math
from itertools import product
from typing import NamedTuple

from ...graph import Node, constant, elementwise
from ...graph.kinds import INVERSE
from ...graph.scalars.arithmetic import SUMS, PowerProduct, peel, terms_of, without_numbers
from ...graph.scalars.differences import BY_FUNCTION
from ..rewriter import rule, spread
from ..stability.products import decomposed, powers_multiplied
from .monomials import like, monomial, terms_in, written

#: Most terms of a distance that are looked at.
_TERMS = 6
#: Operations of which some are a difference of a function at two places.
_DIFFERENCES = {*SUMS, "log", "log_quotient"}
_ZERO = constant(0.0)


class _Difference(NamedTuple):
    """c (f(x) - f(y)); without a name of a function c log(x / y), which is real below 0, too."""

    c: float
    function: str
    x: Node
    y: Node


@rule("multiply divide", "(f(x) - f(y)) / (x - y)", "f'(x), where x = y", "stability", below=(INVERSE,))
def _divided_difference(node: Node) -> Node | None:
    """Write a divided difference as a function of its own, which has a value where both places are equal."""
    factors = decomposed(node)
    if factors is None or not any(base.op in SUMS for base in factors.powers):
        return None
    if not any(_difference(base) for base in factors.powers if base.op in _DIFFERENCES):
        return None
    powers = factors.powers.items()
    for (top, n), (below, m) in product(powers, powers):
        found = _difference(top) if n == -m and below.op in SUMS else None
        multiple = None if found is None else _multiple(found, below)
        if found is None or multiple is None:
            continue
        sign, rest = written(multiple)
        result = {base: k for base, k in powers if base not in (top, below)}
        for base in (_value(found), rest):
            result[base] = result.get(base, 0) + n
        number = factors.number * (found.c * sign) ** n
        return spread(powers_multiplied(list(result.items()), number), node.shape)
    return None


def _value(found: _Difference) -> Node:
    """Return the divided difference."""
    x, y = found.x, found.y
    if found.function:
        return elementwise(BY_FUNCTION[found.function].name, (_ZERO, x, y))
    return elementwise("log1p_remainder_1", (_ZERO, (x - y) / y)) / y


def _difference(node: Node) -> _Difference | None:
    """Return a sum as a difference of one function at two places, and a logarithm of a quotient as one, too."""
    if node.op == "log_quotient" or (node.op == "log" and node.args[0].is_division):
        x, y = node.args if node.op == "log_quotient" else node.args[0].args
        return _Difference(1.0, "", x, y)
    if not node.is_additive or not _may_be_function(node.args[1]):
        return None
    terms = terms_of(node, 2, look=peel)
    if not terms.whole or len(terms.parts) != 2:
        return None
    (c, a), (d, b) = ((sign * number, part) for sign, term in terms.parts for number, part in [without_numbers(term)])
    if a.op != b.op or c + d != 0.0 or a.op not in BY_FUNCTION or a.args[0].shape != b.args[0].shape:
        return None
    return _Difference(c, a.op, a.args[0], b.args[0])


def _may_be_function(term: Node) -> bool:
    """Tell at a glance whether a term may be a number times a function of the table, as few terms are."""
    while term.is_negation or term.is_named or term.is_multiplicative:
        term = term.args[term.is_multiplication and not term.args[1].is_constant]
    return term.op in BY_FUNCTION


def _multiple(found: _Difference, below: Node) -> PowerProduct | None:
    """Return k with x - y = k d, for a divisor d."""
    sides = [(side * sign, term) for side, whole in ((1.0, found.x), (-1.0, found.y))
             for sign, term in terms_of(whole, _TERMS, look=peel).parts]  # fmt: skip
    known = [monomial(sign, term) for sign, term in sides]
    terms = terms_in(below)
    if terms is None or None in known:  # a term that is left out would be taken for 0
        return None
    divisor = like(terms)  # x + x is 2 x: a term of the distance stands for one of the divisor
    distance = like([part for part in known if part is not None])
    if not divisor or len(distance) != len(divisor):
        return None
    inverse = divisor[0].inverse()
    for term in distance:
        k = term.times(inverse)
        if all(any(_is_same(k.times(part), other) for other in distance) for part in divisor):
            return k
    return None


def _is_same(a: PowerProduct, b: PowerProduct) -> bool:
    return a.powers == b.powers and math.isclose(a.number, b.number, rel_tol=1e-15)
