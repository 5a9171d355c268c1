"""Quotients that cancel: p / p, and derivatives of f(x y) / y.

**Ratios p / p are 1** where the rest of the formula is nan or infinite wherever p / p would be nan. ``p / p`` stays,
since it is nan at 0. Beside ``log(p)``, as in the derivative of ``p * log(p)``, it is 1: the logarithm is infinite
there. And it is 1 where p is declared positive, since calls refuse other numbers.

**Derivatives of** ``f(x y) / y`` **with respect to x** are ``f'(x y)``. The quotient is written ``x q(x y)`` with
``q(t) = f(t) / t``, which is right where t is 0. By the product rule its derivative is ``q(t) + t q'(t)``: that is
``f'(t)``, and loses its digits where f' is small beside f(t) / t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import permutations

from ...graph import Node, constant, elementwise
from ...graph.kinds import INVERSE, LOGARITHM, LOGARITHMS, QUOTIENT, holds
from ...graph.scalars.arithmetic import PowerProduct, factors_of, terms_of
from ...graph.scalars.functions import FUNCTIONS, scalar_constant
from ...graph.scalars.remainders import DERIVATIVES, REMAINDERS
from ..facts import hides_nan, is_surely_positive
from ..rewriter import make, multiplied, rule, settle, spread
from .monomials import FACTORS, TERMS, monomial, product_of, total_of, written

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


#: Most nodes of a product that are searched for logarithms.
_LOOKED = 96


@rule("divide", "p x / (p y), p positive or in a logarithm of x", "x / y", "reading")
def _ratio_of_positive(node: Node) -> Node | None:
    """Cancel equal factors above and below that are declared positive, or whose logarithm is in another factor."""
    above, below = (factors_of(arg, FACTORS) for arg in node.args)
    if not above.whole or not below.whole:
        return None
    top, bottom = list(above.parts), list(below.parts)
    for base, n in above.parts:
        if (base, n) in bottom and not base.is_constant and is_surely_positive(base):
            bottom.remove((base, n))
            top.remove((base, n))
    for base, n in _alike(top, bottom):
        if base in _bases_of_logarithms(part for part, _ in [*top, *bottom]):
            bottom.remove((base, n))
            top.remove((base, n))
    if len(top) == len(above.parts):
        return None
    return _quotient(node, above.sign * below.sign, [*top, *((base, -n) for base, n in bottom)])


def _quotient(node: Node, sign: int, parts: list[tuple[Node, float]]) -> Node:
    """Return a product of powers, of the shape of another one."""
    result, under = product_of(_bases(parts, 1.0)), _bases(parts, -1.0)
    if under:
        result = make("divide", result, product_of(under))
    return spread(result if sign > 0 else make("negative", result), node.shape)


def _alike(top: list[tuple[Node, float]], bottom: list[tuple[Node, float]]) -> list[tuple[Node, float]]:
    return [part for part in dict.fromkeys(top) if part in bottom and not part[0].is_constant]


def _inside(parts: Iterable[Node], past: Callable[[Node], bool]) -> Iterator[Node]:
    """Yield the first nodes of some factors: below a node only where ``past`` is true of it."""
    todo = list(parts)
    for _ in range(_LOOKED):
        if not todo:
            break
        node = todo.pop()
        yield node
        if past(node):
            todo.extend(node.args)


def _bases_of_logarithms(parts: Iterable[Node]) -> set[Node]:
    """Return the factors that logarithms are taken of: where one is 0, its logarithm is infinite."""
    found: set[Node] = set()
    for node in _inside(parts, lambda node: node.op not in LOGARITHMS and not hides_nan(node)):
        if node.op in LOGARITHMS:
            found.update(_bases_inside(node))
    return found


def _bases_inside(log: Node) -> Iterator[Node]:
    """Give the factors of a logarithm's argument: where one is 0, the logarithm is infinite."""
    if log.op == "log1p":
        (x,) = log.args
        yield make("subtract", constant(1.0), x.args[0]) if x.is_negation else make("add", constant(1.0), x)
        return
    for arg in log.args:
        for base, _ in factors_of(arg, FACTORS).parts:
            yield base


def _bases(parts: list[tuple[Node, float]], sign: float) -> list[Node]:
    return [
        base if abs(n) == 1.0 else elementwise("power", (base, constant(abs(n)))) for base, n in parts if n * sign > 0
    ]


@rule("add subtract", "log(p / q) + p / (p / q) / q", "log(p / q) + 1", "reading",
      below=(INVERSE, LOGARITHM))
def _ratio_beside_logarithm(node: Node) -> Node | None:
    """Write 1 for a ratio of equal products beside the logarithm of all that is in them."""
    terms = terms_of(node, TERMS)
    if not terms.whole:
        return None
    inside: set[Node] = set()
    for _, term in terms.parts:
        for factor, _ in factors_of(term, FACTORS).parts:
            if factor.op in LOGARITHMS:
                inside.update(_bases_inside(factor))
    if not inside:
        return None
    parts = [(sign, _without_ratio(term, inside)) for sign, term in terms.parts]
    if all(new is term for (_, new), (_, term) in zip(parts, terms.parts, strict=True)):
        return None
    return spread(total_of(parts), node.shape)


def _without_ratio(term: Node, inside: set[Node]) -> Node:
    """Return a product without factors that cancel, all of which are among some."""
    found = factors_of(term, FACTORS)
    powers: dict[Node, float] = {}
    for base, n in found.parts:
        powers[base] = powers.get(base, 0.0) + n
    both = {base for base in powers if base in inside and len({n > 0 for part, n in found.parts if part is base}) == 2}
    if not found.whole or not both:
        return term
    kept = [(part, n) for part, n in found.parts if part not in both]
    return multiplied(constant(float(found.sign)), [*kept, *((base, powers[base]) for base in both)])
