"""Sums of fractions with one denominator, of which terms cancel.

The derivative of ``v s / (K + s)`` is ``v / (K + s) - v s / (K + s)**2``. On one denominator it is
``v K / (K + s)**2``: shorter, and right where the difference cancels, as for s far beyond K.
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple, TypeAlias

from ...graph import Node, constant
from ...graph.kinds import INVERSE
from ...graph.scalars.arithmetic import PRODUCTS, SUMS, PowerProduct, factors_of, terms_of, without_numbers
from ...ground.gc_pause import noted
from ..rewriter import make, rule, spread
from .monomials import HIGHEST, OF_LENGTHS, TERMS, like, monomial, terms_in, total_of, written

#: Most operations that are looked through from a term to the sum that it is divided by.
_LOOKED = 20
#: The most terms that a product of sums is multiplied out to.
_OPENED = 32
#: Relative tolerance: a sum below it counts as zero.
_ROUNDING = 1e-13


#: The terms of denominators.
_Known: TypeAlias = dict[Node, list[PowerProduct] | None]


@rule("add subtract", "y - y z / (c + z), y / z + y (1 / z)", "c y / (c + z), 2 y / z", "reading", below=(INVERSE,))
def _sum_of_fractions(node: Node) -> Node | None:
    """Put two terms on one denominator, where the numerator has no more terms than the denominator."""
    if not any(_is_fraction(arg) for arg in node.args):
        return None
    terms = terms_of(node, TERMS)
    if not terms.whole:
        return None
    parts = [monomial(sign, term) for sign, term in terms.parts]
    inside = [_seen_in(term) for _, term in terms.parts]
    known: _Known = {}
    for i, j in permutations(range(len(parts)), 2):
        a, b = parts[i], parts[j]
        if a is None or b is None:
            continue
        alike = a.powers == b.powers
        if not alike and not inside[j].divisors:
            continue
        rest = [part for k, part in enumerate(terms.parts) if k not in (i, j)] if alike else []
        if alike and a.number + b.number == 0.0 and any(part.shape == node.shape for _, part in rest):
            return total_of(rest)
        found = _together(a, b, *terms.parts[i], inside[j].divisors, known)
        if found is not None:
            rest = [part for k, part in enumerate(terms.parts) if k not in (i, j)]
            return spread(total_of([(1.0, found), *rest]), node.shape)
    whole = None if None in parts else _all_together([part for part in parts if part is not None], inside)
    return None if whole is None else spread(whole, node.shape)


def _all_together(parts: list[PowerProduct], inside: list[_Seen], as_many: bool = False) -> Node | None:
    """Return a sum over the highest power of one divisor, where the numerator has no more terms than the divisor.

    Products of sums are multiplied out: in ``(2 + s)(1 - s) / (1 + s)**2 + 1`` what is left is ``3 + s``. A sum that is
    a factor of all terms stays one. ``as_many`` terms may be left as there were, if they have fewer factors.
    """
    parts, common = _without_common(parts)
    if common:
        inside = [_seen(part) for part in parts]
    divisors = dict.fromkeys([below for each in inside for below in each.divisors])
    alone = _alone(inside) if divisors else []
    for below in divisors:
        bottom = terms_in(below)
        height = max([-part.powers.get(below, 0) for part in parts])
        if bottom is None or height > HIGHEST:
            continue
        if as_many and (height < 2 or any(part.powers.get(below, 0) >= 0 for part in parts)):
            continue
        most = min(len(bottom), len(parts) - (not as_many))
        if _apart(parts, inside, alone, below, height, len(bottom)) > most:
            continue
        if not _may_cancel(parts, below, height, most):
            continue
        top: list[PowerProduct] = []
        for part in parts:
            rest = {base: n for base, n in part.powers.items() if base is not below}
            terms = _multiplied_out(PowerProduct(part.number, rest), [bottom] * (part.powers.get(below, 0) + height))
            if terms is None:
                break
            top += terms
        else:
            left = like(top)
            if left and len(left) <= most and (len(left) < len(parts) or _length(left) + height < _length(parts)):
                result = total_of([written(term) for term in left])
                for base in common:
                    result = make("multiply", base, result)
                for _ in range(height):  # not by a power, which could overflow where the quotient does not
                    result = make("divide", result, below)
                return result
    return None


@rule("add subtract", "a / (c x + d) - c (a x + b) / (c x + d)**2", "(a d - b c) / (c x + d)**2", "derived",
      below=(INVERSE,))
def _slope_of_quotient(node: Node) -> Node | None:
    """Put the terms of a quotient's derivative on one denominator; those of lengths have forms of their own."""
    if not all(map(_is_fraction, node.args[::-1])):
        return None
    terms = terms_of(node, TERMS)
    if not terms.whole:
        return None
    parts = [part for part in (monomial(sign, term) for sign, term in terms.parts) if part is not None]
    if len(parts) < len(terms.parts):
        return None
    found = _all_together(parts, [_seen_in(term) for _, term in terms.parts], as_many=True)
    factors = [factors_of(term, TERMS, powers=HIGHEST).parts for _, term in terms.parts] if found is not None else []
    if found is None or any(base.op in OF_LENGTHS for own in factors for base, _ in own):
        return None
    return spread(found, node.shape)


def _without_common(parts: list[PowerProduct]) -> tuple[list[PowerProduct], list[Node]]:
    """Return terms without the sums that all of them are multiplied by, and these."""
    first = parts[0].powers
    common = {base: min([part.powers.get(base, 0) for part in parts]) for base, n in first.items() if base.op in SUMS}
    factors = [base for base, n in common.items() for _ in range(n)]
    if not factors:
        return parts, []
    divisor = {base: -n for base, n in common.items() if n > 0}
    return [part.times(PowerProduct(1.0, divisor)) for part in parts], factors


def _length(parts: list[PowerProduct]) -> int:
    """Return how many factors, divisors and terms of sums a sum of products has."""
    return sum(
        abs(n) * (1 + len(terms_in(base) or ()) if n > 0 and base.op in SUMS else 1)
        for part in parts
        for base, n in part.powers.items()
    )


class _Seen(NamedTuple):
    """Sums that a term is divided by, its other factors, those with what is in sums, how many sums, and the first."""

    divisors: list[Node]
    others: list[Node]
    bases: frozenset[Node]
    sums: int
    first: Node | None


_NOTHING = _Seen([], [], frozenset(), 0, None)


@noted
def _seen_in(term: Node) -> _Seen:
    part = monomial(1.0, term)
    return _NOTHING if part is None else _seen(part)


def _seen(part: PowerProduct) -> _Seen:
    sums = _sums(part)
    inside = [base for base, _ in sums]
    # a sum may be multiplied by whatever it is divided by; lengths have forms of their own
    below = [base for base, n in part.powers.items() if n < 0]
    divisors = [base for base in below if base.op in SUMS or (inside and base.op != "norm")]
    others = [base for base in part.powers if base not in inside]
    bases = frozenset(part.powers).union(*map(_bases_in, inside))
    return _Seen(divisors, others, bases, sum([n for _, n in sums]), inside[0] if inside else None)


def _sums(part: PowerProduct) -> list[tuple[Node, int]]:
    """Return the sums that are factors of a term, and their powers."""
    return [(base, n) for base, n in part.powers.items() if n > 0 and base.op in SUMS and _numbered(base) is not None]


def _alone(inside: list[_Seen]) -> list[list[Node]]:
    """Return the factors of each term that no other term has, nor a sum that is a factor of another."""
    uses: dict[Node, int] = {}
    for each in inside:
        for base in each.bases:
            uses[base] = uses.get(base, 0) + 1
    return [[base for base in each.others if uses[base] == 1] for each in inside]


def _apart(
    parts: list[PowerProduct], inside: list[_Seen], alone: list[list[Node]], below: Node, height: int, size: int
) -> int:
    """Return how many terms a numerator has at least that cancel with no other, for a divisor of so many terms."""
    bases = _bases_in(below)
    apart = 0
    for part, each, own in zip(parts, inside, alone, strict=True):
        for base in own:
            if base not in bases and base is not below:
                break
        else:
            continue
        times = height + min(part.powers.get(below, 0), 0)
        if times or each.sums != 1:  # a product of sums has two terms at least
            apart += 1 if not times and not each.sums else size if not each.sums and times == 1 else 2
        elif each.first is not None:
            apart += len(_numbered(each.first) or ())
    return apart


def _may_cancel(parts: list[PowerProduct], below: Node, height: int, most: int) -> bool:
    """Tell whether enough terms of a numerator may cancel for multiplying out to pay; in most sums they do not.

    Products of powers are compared by a hash, and numbers up to their rounding: as many terms are left at least as are
    counted here.
    """
    bottom = _numbered(below) or []
    left: dict[int, float] = {}
    size: dict[int, float] = {}
    for part in parts:
        factors = _sums(part)
        sums = [terms for base, n in factors for terms in [_numbered(base) or []] * n]
        opened = [base for base, _ in factors]
        own = [n * hash((base,)) for base, n in part.powers.items() if base is not below and base not in opened]
        n = part.powers.get(below, 0)
        key = sum(own) + (n - min(n, 0)) * hash((below,)) * (below not in opened)
        total = {key: part.number}
        for terms in [*sums, *[bottom] * (height + min(n, 0))]:
            if len(total) * len(terms) > _OPENED:
                return False
            product: dict[int, float] = {}
            for one, factor in total.items():
                for other, c in terms:
                    product[one + other] = product.get(one + other, 0.0) + factor * c
            total = product
        for one, factor in total.items():
            left[one] = left.get(one, 0.0) + factor
            size[one] = size.get(one, 0.0) + abs(factor)
    return sum([1 for one, factor in left.items() if abs(factor) > _ROUNDING * size[one]]) <= most


@noted
def _numbered(node: Node) -> list[tuple[int, float]] | None:
    """Return the hash of each term's product of powers, and the number that it is multiplied by."""
    terms = terms_in(node)
    if terms is None:
        return None
    return [(sum([n * hash((base,)) for base, n in term.powers.items()]), term.number) for term in terms]


@noted
def _bases_in(node: Node) -> frozenset[Node]:
    """Return the factors of the terms of a sum."""
    return frozenset(base for term in terms_in(node) or () for base in term.powers)


def _multiplied_out(term: PowerProduct, sums: list[list[PowerProduct]]) -> list[PowerProduct] | None:
    """Return the terms of a product with sums, those among its own factors too; None if there are too many."""
    powers = dict(term.powers)
    for base, n in term.powers.items():
        inside = terms_in(base) if n > 0 and base.op in SUMS else None
        if inside is not None:
            sums = [*sums, *[inside] * n]
            del powers[base]
    total = [PowerProduct(term.number, powers)]
    for inside in sums:
        if len(total) * len(inside) > _OPENED:
            return None
        total = like([a.times(b) for a in total for b in inside])
    return total


def _together(
    a: PowerProduct, b: PowerProduct, sign: float, term: Node, divisors: list[Node], known: _Known
) -> Node | None:
    """Return a + b as one product, where ``term`` is a without the sign that it has in the sum, and b has divisors."""
    number = sign * a.number
    if a.powers == b.powers:
        total = a.number + b.number
        return make("multiply", constant(total), _without_number(term, number)) if total else None
    for below in divisors:
        numerator = _numerator(a, b, below, known) if a.powers.get(below, 0) - b.powers[below] == 1 else None
        if numerator is not None:
            # divided once more, and not by a power, which could overflow where the quotient does not
            return make("multiply", _without_number(term, number), make("divide", numerator, below))
    return None


def _without_number(term: Node, c: float) -> Node:
    """Return x for a term that is c x."""
    scale, x = without_numbers(term)
    if abs(scale) != abs(c):
        return make("divide", term, constant(c))
    return x if scale == c else make("negative", x)


def _is_fraction(node: Node) -> bool:
    """Tell whether a sum divides a term, or is divided in it, as far as a short look goes."""
    todo = [(node, False)]
    for _ in range(_LOOKED):
        if not todo:
            break
        part, divided = todo.pop()
        if part.is_division and _base(part.args[1]).op in SUMS:
            return True
        if part.op in OF_LENGTHS or (part.is_power and part.args[0].op in SUMS) or (divided and part.op in SUMS):
            return True
        if part.op in PRODUCTS or (part.is_contraction and not part.args[0].shape):
            divided = divided or part.is_division
            todo.extend([(arg, divided) for arg in part.args])
    return False


def _base(node: Node) -> Node:
    return node.args[0] if node.op in ("power", "sqrt") else node


def _numerator(a: PowerProduct, b: PowerProduct, below: Node, known: _Known) -> Node | None:
    """Return c for a + b = c x / below, where x is a without its number, and ``below`` divides b once more than a."""
    if below not in known:
        known[below] = terms_in(below)
    bottom = known[below]
    if bottom is None or len(b.powers.keys() ^ a.powers.keys()) > max([len(term.powers) for term in bottom]) + 1:
        return None
    rest = _ratio(b, a, below)  # a + b = a (below + rest) / below
    top = [rest]
    if not any(term.powers == rest.powers for term in bottom):
        ((base, n),) = rest.powers.items() if len(rest.powers) == 1 else ((None, 0),)
        inside = terms_in(base) if n == 1 and base is not None and base.op in SUMS else None
        if inside is None:
            return None
        top = [term.scaled(rest.number) for term in inside]
    left = like([*(term.scaled(a.number) for term in bottom), *top])
    if not left or len(left) > len(like(bottom)):
        return None
    return total_of([written(term) for term in left])


def _ratio(b: PowerProduct, a: PowerProduct, below: Node) -> PowerProduct:
    """Return the number of b, and the powers of b times ``below`` over a."""
    powers = dict(b.powers)
    powers[below] += 1
    for base, n in a.powers.items():
        powers[base] = powers.get(base, 0) - n
    return PowerProduct(b.number, {base: n for base, n in powers.items() if n})
