"""Sums of fractions with one denominator, of which terms cancel.

The derivative of ``v s / (K + s)`` is ``v / (K + s) - v s / (K + s)**2``. On one denominator it is
``v K / (K + s)**2``: shorter, and right where the difference cancels, as for s far beyond K.
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple, TypeAlias

from ...graph import Node, constant, elementwise
from ...graph.kinds import INVERSE
from ...graph.scalars.arithmetic import PRODUCTS, SUMS, factors_of, terms_of, without_numbers
from ...graph.scalars.functions import scalar_constant
from ..facts import is_positive
from ..rewriter import make, rule, spread
from .parts import FACTORS, TERMS, total_of

#: How many operations are looked through from a term to the sum that it is divided by.
_LOOKED = 8
#: The highest power that is taken apart.
_HIGHEST = 8


class _Monomial(NamedTuple):
    """A number times powers of what is no product."""

    number: float
    powers: dict[Node, int]

    def scaled(self, by: float) -> _Monomial:
        """Return it times a number."""
        return self._replace(number=by * self.number)


#: The terms of denominators.
_Known: TypeAlias = dict[Node, list[_Monomial] | None]


@rule("add subtract", "y - y z / (c + z), y / z + y (1 / z)", "c y / (c + z), 2 y / z", "reading", below=(INVERSE,))
def _sum_of_fractions(node: Node) -> Node | None:
    """Put two terms on one denominator, where the numerator has no more terms than the denominator."""
    if not any(_is_fraction(arg) for arg in node.args):
        return None
    terms = terms_of(node, TERMS)
    if not terms.whole:
        return None
    parts = [_monomial(sign, term) for sign, term in terms.parts]
    known: _Known = {}
    for i, j in permutations(range(len(parts)), 2):
        a, b = parts[i], parts[j]
        found = None if a is None or b is None else _together(a, b, *terms.parts[i], known)
        if found is not None:
            rest = [part for k, part in enumerate(terms.parts) if k not in (i, j)]
            return spread(total_of([(1.0, found), *rest]), node.shape)
    return None


def _together(a: _Monomial, b: _Monomial, sign: float, term: Node, known: _Known) -> Node | None:
    """Return a + b as one product, where ``term`` is a without the sign that it has in the sum."""
    number = sign * a.number
    if a.powers == b.powers:
        total = a.number + b.number
        return make("multiply", constant(total), _without_number(term, number)) if total else None
    for below in [base for base, n in b.powers.items() if n < 0 and base.op in SUMS]:
        numerator = _numerator(a, b, below, known)
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
    """Tell whether a sum divides a term, as far as a short look goes."""
    todo = [node]
    for _ in range(_LOOKED):
        if not todo:
            break
        part = todo.pop()
        if part.op == "divide" and _base(part.args[1]).op in SUMS:
            return True
        if part.op == "power" and part.args[0].op in SUMS:
            return True
        if part.op in PRODUCTS or (part.op == "contract" and not part.args[0].shape):
            todo.extend(part.args)
    return False


def _base(node: Node) -> Node:
    return node.args[0] if node.op in ("power", "sqrt") else node


def _monomial(sign: float, term: Node) -> _Monomial | None:
    number, powers, halves = sign, dict[Node, int](), dict[Node, int]()
    todo = [(term, 1)]
    while todo:
        part, power = todo.pop()
        found = factors_of(part, FACTORS, enter=_enters)
        if not found.whole or len(powers) > FACTORS:
            return None
        number *= found.sign**power
        for base, n in found.parts:
            value = scalar_constant(base)
            if value == 0.0:
                return None
            if value is not None:
                number *= value ** (n * power)
            elif _halves(base):
                halves[base.args[0]] = halves.get(base.args[0], 0) + int(_halves(base) * n) * power
            elif base.op == "contract" and _is_scaled(base):
                todo += [(arg, int(n) * power) for arg in base.args]
            else:
                powers[base] = powers.get(base, 0) + int(n) * power
    for base, n in halves.items():
        # a root stays, since it is nan below 0, where its square is not
        whole = int(n / 2) if n % 2 or is_positive(base) else 0
        root = elementwise("sqrt", (base,))
        powers[base] = powers.get(base, 0) + whole
        powers[root] = powers.get(root, 0) + n - 2 * whole
    return _Monomial(number, {base: n for base, n in powers.items() if n})


def _halves(node: Node) -> int:
    """Return n for the power n / 2 of something, n odd, and 0 for anything else."""
    if node.op == "sqrt":
        return 1
    exponent = scalar_constant(node.args[1]) if node.op == "power" else None
    return int(2 * exponent) if exponent is not None and exponent % 1 == 0.5 and abs(exponent) < _HIGHEST else 0


def _is_scaled(node: Node) -> bool:
    """Tell whether a contraction is a number times an array."""
    labels, out, repeated = node.payload
    return len(node.args) == 2 and not node.args[0].shape and labels[1] == out and not repeated


def _enters(part: Node, power: float) -> bool:
    if part.op != "power":
        return part.op in PRODUCTS
    n = scalar_constant(part.args[1])
    return n is not None and n.is_integer() and abs(n) <= _HIGHEST


def _numerator(a: _Monomial, b: _Monomial, below: Node, known: _Known) -> Node | None:
    """Return c for a + b = c x / below, where x is a without its number, and ``below`` divides b."""
    if a.powers.get(below, 0) - b.powers[below] != 1:
        return None
    rest = _ratio(b, a, below)  # a + b = a (below + rest) / below
    if below not in known:
        known[below] = _terms(below)
    bottom = known[below]
    if bottom is None:
        return None
    top = [rest]
    if not any(term.powers == rest.powers for term in bottom):
        ((base, n),) = rest.powers.items() if len(rest.powers) == 1 else ((None, 0),)
        inside = _terms(base) if n == 1 and base is not None and base.op in SUMS else None
        if inside is None:
            return None
        top = [term.scaled(rest.number) for term in inside]
    left = _like([*(term.scaled(a.number) for term in bottom), *top])
    if not left or len(left) > len(_like(bottom)):
        return None
    return total_of([_written(term) for term in left])


def _ratio(b: _Monomial, a: _Monomial, below: Node) -> _Monomial:
    """Return the number of b, and the powers of b times ``below`` over a."""
    powers = dict(b.powers)
    powers[below] += 1
    for base, n in a.powers.items():
        powers[base] = powers.get(base, 0) - n
    return _Monomial(b.number, {base: n for base, n in powers.items() if n})


def _like(terms: list[_Monomial]) -> list[_Monomial]:
    """Add like terms; those that cancel are left out."""
    total: dict[tuple[tuple[Node, int], ...], float] = {}
    for number, powers in terms:
        key = tuple(sorted(powers.items(), key=lambda item: id(item[0])))
        total[key] = total.get(key, 0.0) + number
    return [_Monomial(number, dict(key)) for key, number in total.items() if number]


def _terms(node: Node) -> list[_Monomial] | None:
    """Return the terms of a sum; None if there are too many."""
    terms = terms_of(node, TERMS)
    parts = [_monomial(sign, term) for sign, term in terms.parts] if terms.whole else []
    found = [part for part in parts if part is not None]
    return found if found and len(found) == len(parts) else None


def _written(term: _Monomial) -> tuple[float, Node]:
    """Return a product without its sign, and the sign."""
    parts: dict[bool, Node | None] = {True: None, False: None}
    for base, n in term.powers.items():
        power = base if abs(n) == 1 else make("power", base, constant(float(abs(n))))
        known = parts[n > 0]
        parts[n > 0] = power if known is None else make("multiply", known, power)
    size = abs(term.number)
    above, below = parts[True], parts[False]
    if above is None:
        above = constant(size)
    elif size != 1.0:
        above = make("multiply", constant(size), above)
    return (1.0 if term.number > 0 else -1.0), above if below is None else make("divide", above, below)
