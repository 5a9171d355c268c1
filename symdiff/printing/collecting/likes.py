"""Sums of products as a person writes them: like terms added, common factors in front, f(x) beside 1 - f(x)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from sys import float_info

from ...graph import Node, constant, number, postorder
from ...graph.scalars.arithmetic import COMPLEMENTED, is_leaf, scaled
from .products import WINDOW, CollectedProduct


def like_terms(terms: Iterable[CollectedProduct]) -> list[CollectedProduct]:
    """Add terms that differ by a number only, unless they cancel, which could hide a NaN."""
    found: dict[object, CollectedProduct] = {}
    for term in terms:
        whole, bases = _without_numbers(term)
        key: object = bases.key()
        known = found.get(key)
        if known is None:
            found[key] = CollectedProduct(term.number, term.over, term.under)
            continue
        scale, bases = _without_numbers(known)
        total = Fraction(repr(known.number)) * scale + Fraction(repr(term.number)) * whole
        if not total:
            if all(base.op in ("size", "delta", "onehot") or number(base) for base in (*term.over, *term.under)):
                del found[key]
            else:
                found[object()] = term
        elif abs(total) <= float_info.max and Fraction(repr(float(total))) == total:
            found[key] = CollectedProduct(float(total), bases.over, bases.under)
        elif total.denominator <= WINDOW and abs(total.numerator) < 1e15:
            found[key] = CollectedProduct(float(total.numerator), bases.over, dict(bases.under))
            found[key].take(constant(float(total.denominator)), -1)
        else:
            found[object()] = term
    return list(found.values())


def _without_numbers(term: CollectedProduct) -> tuple[Fraction, CollectedProduct]:
    """Return the whole numbers among the factors as a fraction, and the others."""
    scale = Fraction(1)
    rest = CollectedProduct()
    for base, n in term.factors():
        c = number(base)
        if c is not None and c.is_integer() and c and abs(n) <= 3:
            scale *= Fraction(int(c)) ** n
        else:
            (rest.over if n > 0 else rest.under)[base] = abs(n)
    return scale, rest


def regrouped(
    terms: list[CollectedProduct],
    sums: Mapping[Node, Sequence[CollectedProduct]],
    beginning: Mapping[object, Mapping[Node, int]],
    used: Callable[[Node], bool],
) -> list[CollectedProduct]:
    """Write terms that make up a sum which stands in another term as that sum: r - s + a (r - s) by r - s twice.

    Parameters
    ----------
    terms : list of CollectedProduct
    sums : mapping of Node to sequence of CollectedProduct
        Known sums.
    beginning : mapping
        Those that begin with a like term, each with its place among all of them.
    used : callable
        Tells whether a sum is worth it.
    """
    numbers = {term.key(): term.number for term in terms}
    if len(numbers) < len(terms):  # two that cancel stay
        return terms
    places = {whole: place for key in numbers for whole, place in beginning.get(key, {}).items()}
    for whole in sorted(places, key=places.__getitem__):
        inside = sums[whole]
        if not 1 < len(inside) < len(terms) or not used(whole):
            continue
        scale = numbers.get(inside[0].key(), 0.0) / inside[0].number
        if scale and all(numbers.get(part.key()) == scale * part.number for part in inside):
            keys = {part.key() for part in inside}
            rest = [term for term in terms if term.key() not in keys]
            if any(whole in (*term.over, *term.under) or _holds(term, whole) for term in rest):
                return [CollectedProduct(scale, {whole: 1}), *rest]
    return terms


def _holds(term: CollectedProduct, whole: Node) -> bool:
    """Tell whether a product has a sum in a contraction, or a function of it, among its factors."""
    return any(whole in postorder([base]) for base in (*term.over, *term.under) if base.args)


def by_one_share(
    terms: Sequence[CollectedProduct], expanded: Callable[[Sequence[CollectedProduct], bool], list[CollectedProduct]]
) -> list[CollectedProduct] | None:
    """Write sigmoid(-z) beside sigmoid(z) as 1 - sigmoid(z), multiplied out; None where there are not both.

    What then cancels leaves factors of other terms alone, so that a nan stays one. It is for reading: sigmoid(-z) has
    digits that the difference has not.
    """
    if len(terms) > WINDOW:
        return None
    shares = {base for term in terms for base, n in term.over.items() if n == 1 and base.op in COMPLEMENTED}
    if len(shares) < 2:
        return None
    pair = _opposites([base for term in terms for base in term.over if base in shares])
    if pair is None:
        return None
    share, other = pair
    apart: list[CollectedProduct] = []
    for term in terms:
        if term.over.get(other) != 1:
            apart.append(term)
            continue
        for sign in (1.0, -1.0):
            part = CollectedProduct(sign * term.number, dict(term.over), dict(term.under))
            del part.over[other]
            if sign < 0:
                part.take(share, 1)
            apart.append(part)
    return without_opposites(like_terms(expanded(apart, False)))


def _opposites(shares: Sequence[Node]) -> tuple[Node, Node] | None:
    """Return f(x) and f(-x), the first written without a sign where one is."""
    known: dict[object, Node] = {}
    for share in shares:
        (x,) = share.args
        c, inside = scaled(x)
        other = known.get((share.op, -c, inside))
        if other is None and x.is_subtraction:
            other = known.get((share.op, *x.args[::-1]))
        if other is not None:
            return (other, share) if c < 0 else (share, other)
        known[share.op, c, inside] = share
        if x.is_subtraction:
            known[(share.op, *x.args)] = share
    return None


def without_opposites(terms: list[CollectedProduct]) -> list[CollectedProduct] | None:
    """Cancel each term with its negative; None unless all factors of such a term stand in a term that is left."""
    left = dict(enumerate(terms))
    places: dict[object, list[int]] = {}
    for place, term in left.items():
        places.setdefault((term.number, term.key()), []).append(place)
    gone: set[Node] = set()
    for place, term in enumerate(terms):
        others = places.get((-term.number, term.key()))
        if others and term.number and place in left:
            del left[place], left[others.pop(0)]
            places[term.number, term.key()].remove(place)
            gone |= {base for base in (*term.over, *term.under) if not number(base)}
    if not left or not gone:
        return list(terms) if left else None
    return list(left.values()) if gone <= {b for each in left.values() for b in (*each.over, *each.under)} else None


def common_product(terms: Sequence[CollectedProduct]) -> CollectedProduct:
    """Return what all terms have in common: divisors, factors that are no plain variables, a number.

    Plain variables count where they and the number are several.
    """
    common = _common(terms, lambda base: not is_leaf(base))
    whole = _common(terms, lambda base: True)
    numbers = [abs(term.number) for term in terms]
    if whole.number == 1.0 and all(c.is_integer() and c < _LARGEST for c in numbers):
        whole.number = float(math.gcd(*map(int, numbers)))
    factors = (whole.number != 1.0) + len(whole.over)
    scalars = all(base.shape == () for term in terms for base in (*term.over, *term.under))
    return whole if scalars and factors >= _SEVERAL else common


#: Numbers up to which common divisors are looked for, and factors in common that are written in front of a sum.
_LARGEST, _SEVERAL = 1e9, 3


def _common(terms: Sequence[CollectedProduct], counts: Callable[[Node], bool]) -> CollectedProduct:
    first, *rest = terms
    numbers = {abs(term.number) for term in terms}
    result = CollectedProduct(numbers.pop() if len(numbers) == 1 else 1.0)
    if all(term.number < 0 for term in terms):
        result.number *= -1.0
    for base, n in first.under.items():
        least = min([n, *(term.under.get(base, 0) for term in rest)])
        if least:
            result.under[base] = least
    for base, n in first.over.items():
        least = min([n, *(term.over.get(base, 0) for term in rest)])
        if least and counts(base):
            result.over[base] = least
    return result
