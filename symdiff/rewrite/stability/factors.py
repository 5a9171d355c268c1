"""Factors that vanish at 0, and how: as a power of their variable times what is smooth there.

``sin(u)`` is u times a quotient of the table in :mod:`symdiff.graph.scalars.remainders`, ``sqrt(1 + u) - 1`` is u over
``sqrt(1 + u) + 1``, and of ``sin(x) - x*cos(x)`` the beginnings of the series cancel up to x**3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...graph import REAL, Node, constant, elementwise, postorder
from ...graph.scalars.arithmetic import PRODUCTS, PowerProduct, factors_of, peel, terms_of, without_numbers
from ...graph.scalars.functions import FUNCTIONS, scalar_constant
from ...graph.scalars.remainders import REMAINDERS, Remainder, beginning_of
from ...ground.gc_pause import noted
from .exponents import (
    added,
    as_monomial,
    as_node,
    as_sum,
    decomposed,
    has_factors,
    may_hold_exponentials,
    multiple,
    powers_multiplied,
    ratio,
)
from .lengths import by_square, is_length, root_of

#: Most terms that are searched.
_TERMS = 7
#: The highest power that is one of a sum, and of a variable that cancels.
_POWER, _ORDER = 8, 5
#: Most nodes of which numbers are computed, and at how many points.
_NODES, _DRAWS = 64, 8
ONE = constant(1.0)
TABLE: dict[str, list[Remainder]] = {}
for _each in REMAINDERS:
    TABLE.setdefault(_each.function, []).append(_each)
#: Functions as their rows are called, in the words of the table.
NAMES = {name: name for name in TABLE if name not in ("bernoulli", "csch")}
#: Functions that vanish once at 0 themselves.
_ONCE = frozenset(NAMES) - {"exp", "cos", "cosh"}
ROWS = {each.name: each for each in REMAINDERS if each.order > 0}
ROWS |= {each.name_by_square: each for each in REMAINDERS if each.order > 0 and each.even}
#: Functions of which no sum of two is expanded: far out, a sum may be smaller than the beginnings of the series.
_GROWING = frozenset(("exp", "sinh", "cosh"))


class Vanishing(NamedTuple):
    """A factor that is ``number * beside * u**order * quotient(u)``, where ``kind`` None has the quotient 1."""

    number: float
    argument: Node
    kind: Remainder | None
    order: int
    beside: Node | None = None


def vanishing(node: Node, divided: bool = True) -> Vanishing | None:
    """Return how a factor vanishes at 0, if it is known to; roots and sums of functions if ``divided``."""
    if node.op == "expm1":
        return Vanishing(1.0, node.args[0], TABLE["exp"][0], 1)
    if node.op in _ONCE:
        return Vanishing(1.0, node.args[0], TABLE[node.op][0], 1)
    if node.op == "csch":
        return Vanishing(1.0, node.args[0], TABLE["csch"][0], -1)
    if node.op == "exp_share":
        b, c, t = node.args
        if scalar_constant(b) == -1.0 and scalar_constant(c) == 1.0:
            return Vanishing(1.0, t, TABLE["bernoulli"][0], -1)
        if scalar_constant(b) == 1.0 and scalar_constant(c) == -1.0:
            return Vanishing(-1.0, t, TABLE["bernoulli"][0], -1)
    if not node.is_additive:
        return None
    return _vanishing_quotient(node) if divided else _vanishing_sum(node)


class _Parts(NamedTuple):
    """The terms of a sum: all of them, how many are no numbers, and whether these may be of one variable."""

    terms: Sequence[tuple[float, Node]]
    whole: bool
    moving: int
    of_one: bool


@noted
def _parts(node: Node) -> _Parts:
    terms, whole = terms_of(node, _TERMS, look=peel)
    moving = [part for _, part in terms if scalar_constant(part) is None] if whole else []
    return _Parts(terms, whole, len(moving), whole and (len(moving) < 2 or _may_be_of_one_variable(moving)))


def _may_be_of_one_variable(parts: Sequence[Node]) -> bool:
    """Tell whether terms may be powers of one product and functions of it; in most sums they are not.

    The terms of the variable may stand among those of the sum, where it is a sum itself.
    """
    products = [decomposed(part) for part in parts]
    if None in products:
        return False
    known = [product for product in products if product is not None]
    for product in known:
        for base in product.powers:
            own = _argument(base)
            if own and (any(u.is_additive for u in own) or _holds_nothing_else(known, own)):
                return True
    return False


@noted
def _vanishing_sum(node: Node) -> Vanishing | None:
    parts = _parts(node)
    return (_remainder(parts.terms) if parts.of_one else None) or _difference(node) or _slope(node, parts.terms)


@noted
def _vanishing_quotient(node: Node) -> Vanishing | None:
    found, parts = _vanishing_sum(node), _parts(node)
    if found is None and parts.moving == 1:
        found = _algebraic(parts.terms) or _exponent(parts.terms)
    if found is None and parts.of_one:
        found = _several(parts.terms)
    found = found or _squares(parts.terms)
    return found or _slope(node, parts.terms, functions=True)


def _squares(terms: Sequence[tuple[float, Node]]) -> Vanishing | None:
    """Return how r (p**2 - q**2) vanishes, by p - q and p + q: ``sinh(x)**2 - x**2``."""
    if len(terms) != 2 or not any(_holds_square(part) for _, part in terms):
        return None
    products = [decomposed(part) for _, part in terms]
    if None in products:
        return None
    (c, one), (d, other) = ((sign * own.number, own.powers)
                            for (sign, _), own in zip(terms, products, strict=True) if own)  # fmt: skip
    common = [(base, n) for base, n in one.items() if other.get(base) == n]
    roots = [[(base, n) for base, n in powers.items() if (base, n) not in common] for powers in (one, other)]
    if c * d >= 0.0 or not any(roots) or any(n % 2 for own in roots for _, n in own):
        return None
    p, q = (powers_multiplied([(base, n // 2) for base, n in own], math.sqrt(abs(number)))
            for number, own in zip((c, d), roots, strict=True))  # fmt: skip
    both = [_parts(elementwise(op, (p, q))) for op in ("subtract", "add")]
    gap, total = ((_remainder(own.terms) or _several(own.terms)) if own.of_one else None for own in both)
    if gap is None or total is None:
        return None
    own, along = decomposed(gap.argument), decomposed(total.argument)
    if own is None or along is None or own.powers != along.powers:
        return None
    quotient = None if total.kind is None else quotient_of(total.kind, total.argument)
    factors = [*common, *((each, 1) for each in (quotient, gap.beside, total.beside) if each is not None)]
    number = math.copysign(total.number, c) * (along.number / own.number) ** total.order
    return Vanishing(gap.number, gap.argument, gap.kind, gap.order + total.order, powers_multiplied(factors, number))


def _holds_square(part: Node) -> bool:
    """Tell whether a term has a power of a function that vanishes as a factor."""
    part = peel(part)
    if part.op in PRODUCTS:
        return any(map(_holds_square, part.args))
    return part.is_power and (part.args[0].op in _ONCE or part.args[0].op == "expm1")


def _exponent(terms: Sequence[tuple[float, Node]]) -> Vanishing | None:
    """Return how c (x**t - 1) vanishes with t, for any x."""
    if len(terms) != 2:
        return None
    for (c, part), (side, other) in (terms, terms[::-1]):
        scale, base = without_numbers(part)
        value = scalar_constant(other)
        if base.is_power and value is not None and c * scale == -side * value:
            x, t = base.args
            if scalar_constant(t) is None and scalar_constant(x) is None:
                return Vanishing(c * scale, t, None, 1, elementwise("power_remainder", (constant(0.0), x, t)))
    return None


def _difference(node: Node) -> Vanishing | None:
    """Return how c (exp(a) - exp(b)) vanishes, if the factor before it does not grow where the rest falls."""
    found = as_sum(node) if may_hold_exponentials(node) and not has_factors(node) else None
    if found is None or found.sign() != -1:
        return None
    (b, low), (_, high) = found.parts()
    scale = -(scalar_constant(b) or 0.0)
    if low == multiple(high, -1.0):
        return Vanishing(2.0 * scale, as_node(high), TABLE["sinh"][0], 1)
    for first, second, sign in ((low, high, 1.0), (high, low, -1.0)):
        t = added(second, first, -1.0)
        r = ratio(first, t) if first else None
        if r is not None and r > 0:
            return Vanishing(sign * scale, as_node(t), TABLE["exp"][0], 1, elementwise("exp", (as_node(first),)))
    return None


def _slope(node: Node, terms: Sequence[tuple[float, Node]], functions: bool = False) -> Vanishing | None:
    """Return how the slope of a quotient vanishes times a power of its variable: exp(x) - (exp(x) - 1) / x.

    Times one power more, it is the difference of one of the ``functions`` and its slope: tanh(x) - x * sech(x)**2.
    """
    for c, term in terms:
        number, rest = without_numbers(term)
        for base, n in factors_of(rest, _TERMS, look=peel).parts:
            kind, more = ROWS.get(base.op), 0
            if functions and n == 1.0 and base.op in _ONCE and peel(rest) is base:
                kind, more, u = TABLE[base.op][0], 1, base.args[0]
            elif functions or n != 1.0 or kind is None or kind.name != base.op or scalar_constant(base.args[0]) != 0.0:
                continue
            else:
                u = base.args[1]
            slope = elementwise(kind.name, (ONE, u))
            scale = -c * number / kind.order
            if _are_alike(node, powers_multiplied([(slope, 1), (u, kind.order + more)], scale), kind.function):
                return Vanishing(scale, u, None, kind.order + more, slope)
    return None


def _are_alike(node: Node, other: Node, function: str) -> bool:
    """Tell whether two formulas of the same numbers have the same values at random points; False of what has axes.

    The first one may have no special function beside those of the other and the ``function`` that this comes from.
    """
    from ...graph.reference.interpret import evaluate  # not needed by an import

    if node.shape or other.shape or len(postorder([node, other], most=_NODES + 1)) > _NODES:
        return False
    one, two = postorder([node]), postorder([other])
    inputs, others = ({part for part in order if not (part.args or part.is_constant)} for order in (one, two))
    if inputs != others or not all(part.is_input and part.dtype is REAL and not part.shape for part in inputs):
        return False
    added = {part.op for part in one} - {part.op for part in two} - {function}
    if any(FUNCTIONS[op].numpy.startswith("special.") for op in added if op in FUNCTIONS):
        return False
    names = [part.name for part in one if part in inputs]
    held = 0
    rng = np.random.default_rng(0)
    for _ in range(_DRAWS):
        point = {name: float(rng.choice((-1.0, 1.0)) * rng.uniform(0.02, 0.25)) for name in names}
        with np.errstate(all="ignore"):
            value, wanted = map(float, evaluate([node, other], point))
        if math.isfinite(value) and math.isfinite(wanted):
            if not math.isclose(value, wanted, rel_tol=1e-9):
                return False
            held += 1
    return held >= _DRAWS // 2


def _remainder(terms: Sequence[tuple[float, Node]]) -> Vanishing | None:
    """Return a function less the beginning of its series, a polynomial of its argument: ``sin(u) - u`` for any u."""
    for i, (c, part) in enumerate(terms):
        scale, base = without_numbers(part)
        known = _function(base)
        if known is not None:
            found = _rest_of_series(c * scale, known, base.op == "expm1", [*terms[:i], *terms[i + 1 :]])
            if found is not None:
                return found
    return None


def _rest_of_series(
    scale: float, known: tuple[str, Node, int], less_one: bool, others: Sequence[tuple[float, Node]]
) -> Vanishing | None:
    """Return how ``scale * function(u)`` vanishes with other terms that are powers of u."""
    name, u, skipped = known
    polynomial = {0: -scale if less_one else 0.0}
    own: PowerProduct | None = None
    for c, part in _gathered(others, u):
        value = scalar_constant(part)
        if value is not None:
            polynomial[0] += c * value
            continue
        own = decomposed(u) if own is None else own
        term = None if own is None else decomposed(part)
        k = None if term is None or own is None else _exponent_of(term, own)
        if term is None or own is None or k is None:
            return None
        polynomial[k] = polynomial.get(k, 0.0) + c * term.number / own.number**k
    series = beginning_of(name)
    for kind in TABLE[name]:
        start = {i: -scale * series[skipped + i] for i in range(kind.order - skipped)}
        keys = {k for k, c in polynomial.items() if c} | {k for k, c in start.items() if c}
        if all(math.isclose(polynomial.get(k, 0.0), start.get(k, 0.0), rel_tol=4e-16) for k in keys):
            return Vanishing(scale, u, kind, kind.order - skipped) if kind.order > skipped else None
    return None


def _gathered(terms: Sequence[tuple[float, Node]], u: Node) -> Sequence[tuple[float, Node]]:
    """Put a multiple of u in place of its terms, where u is a sum that was decomposed among others."""
    if len(terms) < 2 or not u.is_additive:
        return terms
    inside, whole = terms_of(u, _TERMS, look=peel)
    if not whole or len(inside) < 2:
        return terms
    left, times, number = list(terms), None, 0.0
    for sign, part in inside:
        c, base = without_numbers(part)
        value = scalar_constant(base)
        if value is not None:
            number += sign * c * value
            continue
        k = next((k for k, (_, other) in enumerate(left) if without_numbers(other)[1] is base), None)
        if k is None:
            return terms
        side, other = left.pop(k)
        factor = side * without_numbers(other)[0] / (sign * c)
        if times is not None and not math.isclose(factor, times, rel_tol=4e-16):
            return terms
        times = factor
    return terms if times is None else [*left, (times, u), (-times * number, ONE)]


def _function(base: Node) -> tuple[str, Node, int] | None:
    """Return a function of the table, its argument, and how many terms of its series it is without; expm1 as exp."""
    if base.op in NAMES or base.op == "expm1":
        return "exp" if base.op == "expm1" else base.op, base.args[0], 0
    if base.op in ROWS and scalar_constant(base.args[0]) == 0.0:
        known = ROWS[base.op]
        return known.function, root_of(base.args[1]) if base.op == known.name_by_square else base.args[1], known.order
    number = 2.0 if base.op == "exp2" else scalar_constant(base.args[0]) if base.is_power else None
    if number is None or not 0.0 < number < math.inf or number == 1.0:
        return None
    return "exp", elementwise("multiply", (constant(math.log(number)), base.args[-1])), 0


def _exponent_of(term: PowerProduct, own: PowerProduct) -> int | None:
    """Return k with term = number * u**k, for the factors of u."""
    if not own.powers:
        return None
    base, n = next(iter(own.powers.items()))
    k, left = divmod(term.powers.get(base, 0), n)
    if left or k < 1 or term.powers != {node: m * k for node, m in own.powers.items()}:
        return None
    return k


# ---------------------------------------------------------------------------- roots and powers of sums


def _algebraic(terms: Sequence[tuple[float, Node]]) -> Vanishing | None:
    """Return how c (d + w)**p - c d**p vanishes with w, for roots and whole powers, without a difference."""
    numbers = [c * value for c, part in terms if (value := scalar_constant(part)) is not None]
    rest = [(c, part) for c, part in terms if scalar_constant(part) is None]
    if len(rest) != 1 or not numbers:
        return None
    scale, base = without_numbers(rest[0][1])
    scale *= rest[0][0]
    inverse = base.is_division and scalar_constant(base.args[0]) is not None
    if inverse:
        scale, base = scale * (scalar_constant(base.args[0]) or 0.0), peel(base.args[1])
    value = -sum(numbers) / scale if scale else 0.0
    if value <= 0.0:  # d is positive
        return None
    for found in (_sum_within(base), _less_its_value(base, value, inverse)):
        if found is not None:
            d, number, w, order, p = found
            p = -p if inverse else p
            if math.isclose(value, d**p, rel_tol=4e-16) and decomposed(w) is not None:
                break
    else:
        return None
    if abs(p) == 0.5:
        s = base if base.op in ("sqrt", "hypot") else elementwise("sqrt", (base.args[0],))
        r = constant(math.sqrt(d))
        beside = elementwise("divide", (ONE, elementwise("add", (s, r))))
        if p < 0:
            beside = elementwise("divide", (beside, elementwise("multiply", (s, r))))
    else:
        q, n = base.args[0] if base.is_power else base, abs(int(p))
        total = constant(d ** (n - 1))
        for k in range(1, n):
            total = elementwise("add", (total, powers_multiplied([(q, k)], d ** (n - 1 - k))))
        beside = total if p > 0 else elementwise("divide", (total, powers_multiplied([(q, n)], d**n)))
    return Vanishing(number * scale * (1.0 if p > 0 else -1.0), w, None, order, beside)


def _sum_within(base: Node) -> tuple[float, float, Node, int, float] | None:
    """Return (d, c, w, m, p) of a power (d + c w**m)**p; None if it is another."""
    if base.op == "hypot":
        for number, other in (base.args, base.args[::-1]):
            value = scalar_constant(number)
            if value:
                return value**2, 1.0, other, 2, 0.5
        return None
    p = 0.5 if base.is_root else scalar_constant(base.args[1]) if base.is_power else 1.0
    if p is None or not (p in (0.5, -0.5) or (p.is_integer() and 0 < abs(p) <= _POWER)):
        return None
    inner = peel(base.args[0]) if base.op in ("sqrt", "power") else base
    if not inner.is_additive:
        return None
    terms, whole = terms_of(inner, _TERMS, look=peel)
    d = sum(c * (scalar_constant(part) or 0.0) for c, part in terms)
    rest = [(c, part) for c, part in terms if scalar_constant(part) is None]
    if not whole or len(rest) != 1 or d <= 0.0:
        return None
    return d, rest[0][0], rest[0][1], 1, p


def _less_its_value(base: Node, value: float, inverse: bool) -> tuple[float, float, Node, int, float] | None:
    """Return (d, 1, y - d, 1, p) of a power y**p that has a value where y is d: ``sqrt(x)`` where x is 1."""
    p = 0.5 if base.is_root else scalar_constant(base.args[1]) if base.is_power else None
    if p is None or not (p == 0.5 or (p.is_integer() and 2.0 <= p <= _POWER)) or not 0.0 < value < math.inf:
        return None
    d = (1.0 / value if inverse else value) ** (1.0 / p)
    if round(d) ** p == value:
        d = float(round(d))  # which a root may miss by a rounding
    return d, 1.0, elementwise("subtract", (peel(base.args[0]), constant(d))), 1, p


# ---------------------------------------------------------------------------- sums of several functions


def _several(terms: Sequence[tuple[float, Node]]) -> Vanishing | None:
    """Return how a sum of functions of multiples of one variable, times powers of it, vanishes: ``sin(x) - x*cos(x)``.

    Each function is written as the beginning of its series and a quotient of the table. The beginnings cancel.
    """
    tried: list[dict[Node, int]] = []
    if not any(_holds_function(part) for _, part in terms):
        return None
    products = [product for _, part in terms if (product := decomposed(part)) is not None]
    for product in products if len(products) == len(terms) else ():
        for base in product.powers:
            own = _argument(base)
            if own and own not in tried and not any(map(is_length, own)):
                tried.append(own)
                found = _of_one_variable(terms, PowerProduct(1.0, own)) if _holds_nothing_else(products, own) else None
                if found is not None:
                    return found
    return None


@noted
def _argument(base: Node) -> dict[Node, int] | None:
    """Return the powers of the argument of a function of the table; None of what is none."""
    known = _function(base)
    own = None if known is None else decomposed(known[1])
    return None if own is None else own.powers


def _holds_nothing_else(products: Sequence[PowerProduct], own: dict[Node, int]) -> bool:
    """Tell whether all factors are those of one product, or functions of multiples of it."""
    for product in products:
        for base in product.powers:
            if base not in own and _argument(base) != own:
                return False
    return True


def _of_one_variable(terms: Sequence[tuple[float, Node]], own: PowerProduct) -> Vanishing | None:
    """Return how a sum of functions of multiples of one product, times powers of it, vanishes."""
    parts: list[tuple[float, str, Node, float, int, int]] = []
    polynomial: dict[int, float] = {}
    for c, part in terms:
        product = as_monomial(part)
        if product is None:
            return None
        inside = []
        for base in product.powers:
            known = _function(base)
            argument = None if known is None else decomposed(known[1])
            if known is not None and argument is not None and argument.powers == own.powers:
                inside.append((base, known, argument.number))
        if len(inside) > 1 or any(product.powers[base] != 1 for base, _, _ in inside):
            return None
        less_one = any(base.op == "expm1" for base, _, _ in inside)
        for base, _, _ in inside:
            del product.powers[base]
        k = _exponent_of(product, own) if product.powers else 0
        if k is None:
            return None
        number = c * product.number
        for _, (name, u, skipped), a in inside:
            parts.append((number, name, u, a, skipped, k))
        if less_one or not inside:
            polynomial[k] = polynomial.get(k, 0.0) + (-number if less_one else number)
    if not parts or sum(name in _GROWING for _, name, *_ in parts) > 1:
        return None
    return _cancelled(parts, polynomial, own)


def _holds_function(part: Node) -> bool:
    """Tell whether a term is likely to have a function of the table as a factor."""
    todo = [part]
    for _ in range(_TERMS):
        if not todo:
            break
        part = peel(todo.pop())
        if part.op in NAMES or part.op in ROWS or part.op in ("exp2", "expm1"):
            return True
        if part.op in PRODUCTS:
            todo += part.args
        elif part.is_power and scalar_constant(part.args[0]) is not None:
            return True
    return False


def _cancelled(
    parts: Sequence[tuple[float, str, Node, float, int, int]], polynomial: dict[int, float], v: PowerProduct
) -> Vanishing | None:
    """Return a sum of c v**k f(a v) and of powers as the first power that does not cancel, times the rest."""

    def coefficients(at: int) -> list[float]:
        found = [polynomial.get(at, 0.0)]
        for c, name, _, a, skipped, k in parts:
            found.append(c * beginning_of(name)[skipped + at - k] * a ** (at - k) if at >= k else 0.0)
        return found

    order = 0
    while order <= _ORDER and abs(math.fsum(found := coefficients(order))) <= 4e-16 * max(map(abs, found)):
        order += 1
    if not 0 < order <= _ORDER:
        return None
    powers = {k: c for k, c in polynomial.items() if k >= order}
    total: Node | None = None
    for c, name, u, a, skipped, k in parts:
        kind = next((each for each in TABLE[name] if each.order > skipped and each.order - skipped + k >= order), None)
        if kind is None:
            return None
        taken = kind.order - skipped
        for i in range(max(0, order - k), taken):
            powers[i + k] = powers.get(i + k, 0.0) + c * beginning_of(name)[skipped + i] * a**i
        factors = [(base, n * (k + taken - order)) for base, n in v.powers.items()]
        one = powers_multiplied([(quotient_of(kind, u), 1), *factors], c * a**taken)
        total = one if total is None else elementwise("add", (total, one))
    for k, c in sorted(powers.items()):
        if c and total is not None:
            one = powers_multiplied([(base, n * (k - order)) for base, n in v.powers.items()], c)
            total = elementwise("add", (total, one))
    return None if total is None else Vanishing(1.0, powers_multiplied(list(v.powers.items()), 1.0), None, order, total)


# ---------------------------------------------------------------------------- written as nodes


def quotient_of(kind: Remainder, u: Node) -> Node:
    """Return a quotient of the table; by the square of its argument where that is a length, which has a kink."""
    square = by_square(u) if kind.even else None
    if square is not None:
        return elementwise(kind.name_by_square, (constant(0.0), square))
    return elementwise(kind.name, (constant(0.0), u))
