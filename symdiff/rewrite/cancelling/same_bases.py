"""Powers of one base in a product: ``p y / p`` is y, ``x**(a - 1) / x**a`` is ``1 / x``, ``x x**(a - 1)`` is ``x**a``.

A value stays nan where it divides 0 by 0. A derivative may have a value there: what divides it and multiplies it again
comes from the chain rule, as in ``gamma(x) digamma(x) / gamma(x)``, and would be nan where gamma overflows, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

from ...graph import Node, constant, elementwise, number, postorder
from ...graph.kinds import INVERSE
from ...graph.scalars.arithmetic import ARITHMETIC, PRODUCTS, PowerProduct, factors_of, fraction_of, scaled, terms_of
from ...graph.scalars.functions import FUNCTIONS
from ..rewriter import make, rule, settle, spread
from ..stability.exponents import decomposed, powers_multiplied
from ..stability.roots import length_of
from .monomials import FACTORS, TERMS, total_of

#: An exponent as numbers times terms; the number alone is that of None.
_Exponent: TypeAlias = dict[Node | None, float]

_ONE = constant(1.0)
#: Powers from which on divisors leave the range of numbers where others are ordinary.
_HIGH = 3.0
#: Roots of sums of squares, and operations that make such sums.
_LENGTHS, _OF_SQUARES = ("hypot", "norm"), ("add", "contract")
#: Most nodes of a base that is taken out of a sum.
_SHORT = 3
#: Functions that do so in any power.
_FUNCTIONS = FUNCTIONS.keys() - {*ARITHMETIC, "sqrt", "where", "abs"}


class _Factor(NamedTuple):
    """A factor or a divisor, its exponent of the base that it is a power of, and whether it stands there twice."""

    part: Node
    multiplies: bool
    exponent: _Exponent
    twice: bool = False


@rule("multiply divide", "p y / p, x**3 / x, x**(a - 1) / x**a, x x**(a - 1)", "y, x**2, 1 / x, x**a", "derived",
      below=(INVERSE,))
def _powers_of_same_base(node: Node) -> Node | None:
    """Cancel in exponents of all bases: one alone may leave a product that is larger or smaller."""
    result = node
    while (left := _without_a_base(result)) is not None and left is not result:
        result = left
    return None if result is node else spread(settle(result), node.shape)


def _without_a_base(node: Node) -> Node | None:
    found = factors_of(node, FACTORS)
    if not found.whole or not any(n < 0.0 or part.is_power for part, n in found.parts):
        return None
    if len({part.args[0] if part.is_root or part.is_power else part for part, _ in found.parts}) == len(found.parts):
        return None  # each base stands there once
    sides: dict[bool, dict[Node, list[_Factor]]] = {True: {}, False: {}}
    for part, n in found.parts:
        base, exponent = _as_power(part)
        above = n > 0
        if exponent.keys() == {None} and exponent[None] < 0.0:  # 1 / x**2, written as a power
            above, exponent = not above, {None: -exponent[None]}
        sides[above].setdefault(base, []).append(_Factor(part, n > 0, exponent))
    return _joined(node, sides) or _cancelled(node, sides)


@rule("multiply divide", "x (x / s)**(k - 1) / s", "(x / s)**k", "shown")
def _power_of_product(node: Node) -> Node | None:
    """Raise the exponent by 1 where the base's own factors stand beside the power; for what is shown alone."""
    found = decomposed(node)
    if found is None:
        return None
    for part, n in found.powers.items():
        if n != 1 or not part.is_power or part.first.op not in PRODUCTS:
            continue
        (base, exponent), own = _as_power(part), decomposed(part.first)
        if own is None or exponent.keys() == {None}:
            continue
        rest = found.times(own.inverse())
        if all(found.powers.get(factor, 0) / k >= 1.0 for factor, k in own.powers.items()):
            over, under = _written(base, _added(exponent, {None: 1.0}, 1.0))
            powers = {factor: k for factor, k in rest.powers.items() if factor is not part}
            joint = powers_multiplied([*powers.items(), (_divided(over, under), 1)], rest.number)
            return spread(joint, node.shape)
    return None


@rule("multiply divide", "x x**t, norm(x) sum(x**2)**1.5", "x**(t + 1), sum(x**2)**2", "shown")
def _powers_of_one_base(node: Node) -> Node | None:
    """Join all powers of one base, if the exponent of one is no whole number; for what is shown alone."""
    found = decomposed(node)
    if found is None or not any(part.is_power or part.op in _LENGTHS for part in found.powers):
        return None
    sums = [part.first if part.is_power else part for part in found.powers if part.is_power or part.op in _OF_SQUARES]
    squares = {length_of(part): part for part in sums}
    bases: dict[Node, list[tuple[Node, int, _Exponent]]] = {}
    for part, n in found.powers.items():
        base, exponent = _as_power(part)
        if part in squares:
            base, exponent = squares[part], {None: 0.5}
        bases.setdefault(base, []).append((part, n, exponent))
    for base, factors in bases.items():
        part, n, _ = factors[0]
        several = len(factors) > 1 or (part.is_power and abs(n) > 1)
        if several and not all(_is_whole(exponent) for _, _, exponent in factors):
            joined: _Exponent = {}
            for _, n, exponent in factors:
                joined = _added(joined, exponent, float(n))
            rest = {part: n for part, n in found.powers.items() if part not in [factor for factor, _, _ in factors]}
            joint = powers_multiplied([*rest.items(), (_divided(*_written(base, joined)), 1)], found.number)
            return spread(joint, node.shape)
    return None


def _is_whole(exponent: _Exponent) -> bool:
    return exponent.keys() == {None} and exponent[None].is_integer()


@rule("add subtract", "a x**t - b x**(t + 1), a x**t - b x**(2 t)", "x**t (a - b x), x**t (a - b x**t)", "shown")
def _lowest_power_with_letters(node: Node) -> Node | None:
    """Take the lowest power of a short base out of all terms, if letters stand in its exponent; for what is shown."""
    parts = terms_of(node, TERMS).parts
    products = [term for _, part in parts if (term := decomposed(part)) is not None]
    if len(products) < len(parts):
        return None
    seen = [_with_letters(term) for term in products]
    for base in seen[0]:
        if any(base not in own for own in seen) or len(postorder([base])) > _SHORT:
            continue
        exponents = [own[base][1] for own in seen]
        gaps = next((gaps for low in exponents if (gaps := _above(exponents, low))), None)
        if gaps is None or not any(gaps):
            continue
        left = []
        for (sign, _), whole, own, gap in zip(parts, products, seen, gaps, strict=True):
            powers = [(part, n) for part, n in whole.powers.items() if part is not own[base][0]]
            raised = [(_divided(*_written(base, gap)), 1)] if gap else []
            left.append((sign, powers_multiplied([*powers, *raised], whole.number)))
        common = _divided(*_written(base, exponents[gaps.index({})]))
        return spread(elementwise("multiply", (common, total_of(left))), node.shape)
    return None


def _above(exponents: Sequence[_Exponent], low: _Exponent) -> list[_Exponent] | None:
    """Return by what exponents are above one, in whole numbers of each letter; None where one is not."""
    gaps = [{part: c for part, c in _added(dict(each), low, -1.0).items() if c} for each in exponents]
    return gaps if all(c > 0.0 and c.is_integer() for gap in gaps for c in gap.values()) else None


def _with_letters(product: PowerProduct) -> dict[Node, tuple[Node, _Exponent]]:
    """Return bases with letters in their exponents, each with the power that it stands in and the exponent."""
    found = {}
    for part, n in product.powers.items():
        if part.is_power and number(part.args[1]) is None:
            base, own = _as_power(part)
            found[base] = part, _added({}, own, float(n))
    return found


def _joined(node: Node, sides: dict[bool, dict[Node, list[_Factor]]]) -> Node | None:
    """Make one power of two of a base on one side, where letters cancel in the exponent."""
    for above, bases in sides.items():
        for base, factors in bases.items():
            for one, other in combinations(factors, 2):
                if one.exponent.keys() == other.exponent.keys() == {None}:
                    continue  # printing collects them
                rest = _shorter(one.exponent, other.exponent, 1.0)
                if rest is not None:
                    over, under = _written(base, rest)
                    node = _put(node, other, _ONE)
                    return _put(node, one, _divided(over, under) if above is one.multiplies else _divided(under, over))
    return None


def _cancelled(node: Node, sides: dict[bool, dict[Node, list[_Factor]]]) -> Node | None:
    """Cancel a base that stands above and below."""
    for base in sides[True]:
        if base not in sides[False] or base.is_constant:
            continue
        stays = base.op not in _FUNCTIONS and _is_low(sides[False][base], sides[True][base])
        for over, under in product(sides[True][base], _with_pairs(sides[False][base])):
            rest = None if stays else _shorter(over.exponent, under.exponent, -1.0)
            if rest is not None:
                higher, lower = _written(base, rest)
                node = _put(node, over, higher if over.multiplies else _divided(_ONE, higher))
                node = _put(node, under, _divided(_ONE, lower) if under.multiplies else lower)
                return _put(node, under, _ONE) if under.twice else node
    return None


def _with_pairs(factors: list[_Factor]) -> list[_Factor]:
    """Return factors, and two equal roots as one."""
    roots = [factor.part for factor in factors if factor.part.is_root and not factor.multiplies]
    twice = dict.fromkeys(part for part in roots if roots.count(part) > 1)
    return [*factors, *(_Factor(part, False, {None: 1.0}, True) for part in twice)]


def _is_low(below: list[_Factor], above: list[_Factor]) -> bool:
    """Tell whether low powers are left below: printing collects them, and has forms for them."""
    if any(factor.exponent.keys() != {None} for factor in (*below, *above)):
        return False
    left = sum(factor.exponent[None] for factor in below) - sum(factor.exponent[None] for factor in above)
    return left > 0.0 and all(factor.exponent[None] < _HIGH for factor in below)


def _put(node: Node, factor: _Factor, new: Node) -> Node:
    """Return a product with a node in place of the last such factor or divisor.

    All others stay where they are: products grouped in another way may leave the range of numbers, and quotients that
    were divided first are the formula's own.
    """
    return _changed(node, factor.part, new, factor.multiplies)


def _changed(node: Node, part: Node, new: Node, above: bool) -> Node:
    # nothing is simplified on the way: what is to be put in place next would no longer be found
    if node is part and above:
        return new
    if node.op not in PRODUCTS:
        return node
    for place, arg in [*enumerate(node.args)][::-1]:
        changed = _changed(arg, part, new, above is not (node.is_division and place == 1))
        if changed is not arg:
            others = [changed if k == place else other for k, other in enumerate(node.args)]
            return _applied(node.op, others)
    return node


def _divided(above: Node, below: Node) -> Node:
    return _applied("divide", [above, below])


def _applied(op: str, args: list[Node]) -> Node:
    """Apply an operation of products, without a factor or a divisor that is 1."""
    if op != "negative" and args[1] is _ONE:
        return args[0]
    return args[1] if op == "multiply" and args[0] is _ONE else elementwise(op, tuple(args))


def _as_power(part: Node) -> tuple[Node, _Exponent]:
    """Return what a factor is a power of, and its exponent."""
    if part.is_root:
        return part.args[0], {None: 0.5}
    if not part.is_power:
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


def _shorter(one: _Exponent, other: _Exponent, sign: float) -> _Exponent | None:
    """Return a sum or difference of exponents, without terms that are 0; None where nothing cancels."""
    total = _added(one, other, sign)
    if one.keys() == other.keys() == {None}:
        return total if total.get(None, 0.0).is_integer() else None  # a root stays: others have it in common
    return total if len(total) < max(len(one), len(other)) else None


def _added(one: _Exponent, other: _Exponent, scale: float) -> _Exponent:
    """Return a sum of exponents, without terms that are 0."""
    total = dict(one)
    for term, c in other.items():
        total[term] = _sum(total.get(term, 0.0), scale * c)
    return {term: c for term, c in total.items() if c}


def _sum(a: float, b: float) -> float:
    """Return a + b, of fractions the double nearest to their sum."""
    p, q = fraction_of(a), fraction_of(b)
    return a + b if p is None or q is None else float(p + q)


def _written(base: Node, exponent: _Exponent) -> tuple[Node, Node]:
    """Return what a power multiplies by, and what it divides by."""
    if not exponent:
        return _ONE, _ONE
    sign = 1.0 if any(c > 0 for c in exponent.values()) else -1.0
    terms = [(sign * c, _ONE if x is None else x) for x, c in exponent.items()]
    terms.sort(key=lambda term: (term[0] < 0, term[1] is _ONE))  # a - 1 and a + 1, not -1 + a
    parts = [(math.copysign(1.0, c), make("multiply", constant(abs(c)), x)) for c, x in terms]
    power = make("power", base, total_of(parts))
    return (power, _ONE) if sign > 0 else (_ONE, power)
