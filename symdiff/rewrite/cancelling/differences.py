"""Differences that cancel: of one function at two places, and of large terms.

**Divided differences** are quotients of a difference of one function at two places by the distance of the places.

**Sums of large terms that cancel** are written so that no digits are lost: roots, poles, and the growth of log Γ.

``sqrt(b**2 + d) - b`` is ``d / (sqrt(b**2 + d) + b)``, so that in a root of a quadratic equation, ``(-b + sqrt(b**2 -
4 a c)) / (2 a)``, a cancels. ``(1 + 1/x) log1p(x z)`` is multiplied out: the term with the pole is a quotient that is
0 / 0 there, which is known as a function of its own. ``lgamma(y + 1/a) - lgamma(1/a) + y log(a m)``, of a negative
binomial count, is ``y log(m)`` and what is smooth in a at 0.
"""

from __future__ import annotations

import math
from itertools import permutations, product
from typing import NamedTuple

from ...graph import Node, constant, elementwise
from ...graph.kinds import INVERSE, bit_of
from ...graph.scalars.arithmetic import SUMS, PowerProduct, factors_of, peel, terms_of, without_numbers
from ...graph.scalars.differences import BY_FUNCTION
from ...graph.scalars.functions import FUNCTIONS, compare, scalar_constant, where
from ...ground.gc_pause import noted
from ..rewriter import multiplied, rule, spread, stabilize
from ..stability.exponents import added, as_node, decomposed, linear, powers_multiplied
from .monomials import TERMS, like, monomial, terms_in, total_of, written

#: Most factors of a product that are looked at, and terms of a sum with a pole.
_FACTORS, _POLE_TERMS = 8, 3


@rule("add subtract", "sqrt(b**2 + d) - b", "d / (sqrt(b**2 + d) + b)", "stability",
      inside="sqrt multiply divide negative named", below=(bit_of("sqrt"),))
def _root_gap(node: Node) -> Node | None:
    """Keep the difference of a root and what is near it as a function of its own."""
    terms = terms_of(node, 2, look=peel)
    if not terms.whole or len(terms.parts) != 2:
        return None
    (c, first), (d, second) = (_with_sign(sign, term) for sign, term in terms.parts)
    for (scale, root), (other, x) in (((c, first), (d, second)), ((d, second), (c, first))):
        if not root.is_root or scale * other >= 0.0 or root.shape != node.shape:
            continue
        rest = _without_square(root.args[0], x, other / scale)
        if rest is not None:
            b = x if other == -scale else elementwise("multiply", (constant(-other / scale), x))
            gap = elementwise("root_gap", (b, total_of([written(term) for term in rest])))
            return spread(gap if scale == 1.0 else elementwise("multiply", (constant(scale), gap)), node.shape)
    return None


def _with_sign(sign: float, term: Node) -> tuple[float, Node]:
    """Return c and x for a term c x, of which x is no number below 0."""
    c, x = without_numbers(peel(term))
    value = scalar_constant(x)
    return (-sign * c, constant(-value)) if value is not None and value < 0.0 else (sign * c, x)


def _without_square(under: Node, x: Node, c: float) -> list[PowerProduct] | None:
    """Return the terms of ``under - (c x)**2`` where one of them cancels and not all of them."""
    whole = terms_in(under)
    part = monomial(1.0, x)
    squares = terms_in(x.args[0]) if x.is_root else None if part is None else [part.times(part)]
    if whole is None or squares is None:
        return None
    left = like([*whole, *(term.scaled(-c * c) for term in squares)])
    left.sort(key=lambda term: term.number < 0.0)  # x - 1, not -1 + x, by which the difference may be divided
    return left if left and len(left) < len(whole) else None


@rule("multiply divide", "(sqrt(b**2 + a d) - b) / a", "d / (sqrt(b**2 + a d) + b)", "stability",
      below=(INVERSE, bit_of("root_gap")))
def _root_quotient(node: Node) -> Node | None:
    """Take what is added under a root out of a difference that is divided, or divides."""
    found = decomposed(node)
    gap = None if found is None else next((base for base in found.powers if base.op == "root_gap"), None)
    added = None if gap is None else monomial(1.0, gap.args[1])
    if found is None or gap is None or added is None:
        return None
    power = found.powers[gap]
    if not any(n * power < 0 for n in found.powers.values()):  # what divides it may vanish where d does: sin(x)
        return None
    rest = _raised(added, power).scaled(found.number)
    for base, n in found.powers.items():
        part = monomial(1.0, base) if base is not gap else PowerProduct(1.0, {})
        if part is None:
            return None
        rest = rest.times(_raised(part, n))
    sign, product = written(rest)
    result = multiplied(product, [(elementwise("root_quotient", gap.args), power)])
    return spread(result if sign > 0 else elementwise("negative", (result,)), node.shape)


def _raised(product: PowerProduct, n: int) -> PowerProduct:
    return PowerProduct(product.number**n, {base: n * k for base, k in product.powers.items()})


@rule("multiply", "(a + b / x) log1p(x z)", "a log1p(x z) + b log1p(x z) / x", "stability", inside="add subtract named",
      below=(INVERSE,))
def _pole_beside_zero(node: Node) -> Node | None:
    """Multiply out a sum of which a term has a pole where another factor is 0."""
    for total, other in (node.args, node.args[::-1]):
        whole = peel(total)
        terms = terms_of(whole, _POLE_TERMS, look=peel) if whole.is_additive else None
        if terms is None or not terms.whole or len(terms.parts) < 2 or whole.shape != node.shape:
            continue
        parts = [monomial(sign, term) for sign, term in terms.parts]
        plain = [part for part in parts if part is not None and _is_plain(part)]
        poles = {base for part in plain for base, n in part.powers.items() if n < 0}
        if None not in parts and poles and _vanishes_at(other, poles):
            products = [
                other if scalar_constant(term) == 1.0 else elementwise("multiply", (term, other))
                for _, term in terms.parts
            ]
            signed = zip((sign for sign, _ in terms.parts), stabilize(products), strict=True)
            return spread(total_of(list(signed)), node.shape)
    return None


def _is_plain(product: PowerProduct) -> bool:
    """Tell whether a product is made of numbers and inputs: what is longer would be written several times."""
    return all(not base.args for base in product.powers)


def _vanishes_at(node: Node, poles: set[Node]) -> bool:
    """Tell whether a product has a function of a multiple of a number that vanishes with it."""
    for base, n in factors_of(node, _FACTORS, look=peel).parts:
        row = FUNCTIONS.get(base.op)
        if n > 0.0 and row is not None and row.arity == 1 and row.at_zero is not None and row.at_zero[0] == 0.0:
            argument = monomial(1.0, peel(base.args[0]))
            if argument is not None and any(argument.powers.get(pole, 0) > 0 for pole in poles):
                return True
    return False


@rule("add subtract", "lgamma(y + 1 / a) - lgamma(1 / a) + y log(a m)", "log(a**y Γ(y + 1 / a) / Γ(1 / a)) + y log(m)",
      "stability", below=(INVERSE, bit_of("lgamma")))
def _rising(node: Node) -> Node | None:
    """Take what grows away from a difference of log Γ."""
    terms = terms_of(node, TERMS, look=peel)
    gammas = [(sign, term) for sign, term in terms.parts if peel(term).op == "lgamma"]
    if not terms.whole or len(gammas) < 2:
        return None
    for (s, one), (t, other) in permutations(gammas, 2):
        start = monomial(1.0, peel(other).args[0])
        if s + t or start is None or not start.powers or any(n > 0 for n in start.powers.values()):
            continue
        step = start.inverse()
        count = added(linear(peel(one).args[0]), linear(peel(other).args[0]), -1.0)
        y = as_node(count)
        for sign, term in terms.parts:
            within = _logarithm_times(sign * s, term, y)
            rest = None if within is None else within.times(start)
            if rest is None or not rest.number > 0.0 or any(base in step.powers for base in rest.powers):
                continue
            left = [part for part in terms.parts if part[1] not in (one, other, term)]
            rising = elementwise("log_rising", (_ZERO, y, written(step)[1]))
            logarithm = elementwise("multiply", (y, elementwise("log", (written(rest)[1],))))
            return spread(total_of([(s, rising), (s, logarithm), *left]), node.shape)
    return None


def _logarithm_times(sign: float, term: Node, y: Node) -> PowerProduct | None:
    """Return b for a term y log(b)."""
    part, whole = monomial(sign, term), monomial(1.0, y)
    logs = [] if part is None else [base for base, n in part.powers.items() if n == 1 and base.op == "log"]
    if part is None or len(logs) != 1 or part.times(PowerProduct(1.0, {logs[0]: -1})) != whole:
        return None
    return monomial(1.0, logs[0].args[0])


#: Most terms of a distance that are looked at.
_TERMS = 6
#: Functions that vanish at numbers other than 0, and these numbers.
_ZEROS = {name: [x for x, value in FUNCTIONS[name].exact if not value and x] for name in BY_FUNCTION}
#: Operations of which some are a difference of a function at two places.
_DIFFERENCES = {*SUMS, "log", "log_quotient", *(name for name, zeros in _ZEROS.items() if zeros)}
_ZERO = constant(0.0)


class _Difference(NamedTuple):
    """c (f(x) - f(y)), or c (x**p - y**p); without a name c log(x / y), which is real below 0, too."""

    c: float
    function: str
    x: Node
    y: Node
    exponent: Node | None = None


@rule("multiply divide", "(f(x) - f(y)) / (x - y)", "f'(x), where x = y", "stability", below=(INVERSE,))
def _divided_difference(node: Node) -> Node | None:
    """Write a divided difference as a function of its own, which has a value where both places are equal."""
    factors = decomposed(node)
    if factors is None or not any(base.op in SUMS for base in factors.powers):
        return None
    tops = {base: _differences(base) for base in factors.powers if base.op in _DIFFERENCES}
    powers = factors.powers.items()
    for (top, n), (below, m) in product(powers, powers) if any(tops.values()) else ():
        for found in tops.get(top, ()) if n == -m else ():
            multiple = _multiple(found, below) if below.op in SUMS or found.exponent is not None else None
            if multiple is None:
                continue
            sign, rest = written(multiple)
            value, size = _value(found)
            result = {base: k for base, k in powers if base not in (top, below)}
            for base in (value, rest):
                result[base] = result.get(base, 0) + n
            number = factors.number * (found.c * sign) ** n
            made = spread(powers_multiplied(list(result.items()), number), node.shape)
            if size is None:
                return made
            if size.shape == node.shape:
                near = compare("less", elementwise("size_of_distance", (size,)), 1.0)
                (made,) = stabilize([made])
                return where(near, made, node)
    return None


def _value(found: _Difference) -> tuple[Node, Node | None]:
    """Return the divided difference, and of what the size is small where it is to be used; None where it always is."""
    x, y = found.x, found.y
    if found.exponent is not None:
        return _of_powers(x, y, found.exponent)
    if found.function:
        return elementwise(BY_FUNCTION[found.function].name, (_ZERO, x, y)), None
    return elementwise("log1p_remainder_1", (_ZERO, (x - y) / y)) / y, None


def _of_powers(x: Node, y: Node, p: Node) -> tuple[Node, Node | None]:
    """Return (x**p - y**p) / (x - y), and t: with u = (x - y) / y and t = p log(1 + u), exp(t) = (x / y)**p.

    Where t is large nothing cancels, and the powers have more digits. Of few factors it is a sum, without t.
    """
    n = scalar_constant(p)
    if n is not None and n.is_integer() and 0.0 < n <= _FEW:
        count = int(n)
        powers = [powers_multiplied([(x, count - 1 - k), (y, k)], 1.0) for k in range(count)]
        return total_of([(1.0, power) for power in powers]), None
    is_one = scalar_constant(y) == 1.0
    distance = total_of(_terms_of_distance(x, y))
    u = distance if is_one else distance / y
    t = p * elementwise("log1p", (u,))
    near = p * elementwise("exp_remainder_1", (_ZERO, t)) * elementwise("log1p_remainder_1", (_ZERO, u))
    return (near if is_one else elementwise("power", (y, p - 1.0)) * near), t


#: Most factors of powers whose difference is expanded.
_FEW = 8


def _terms_of_both(x: Node, y: Node) -> list[tuple[float, Node]]:
    return [(side * sign, term) for side, whole in ((1.0, x), (-1.0, y))
            for sign, term in terms_of(whole, _TERMS, look=peel).parts]  # fmt: skip


def _terms_of_distance(x: Node, y: Node) -> list[tuple[float, Node]]:
    """Return the terms of x - y, in which numbers are one."""
    terms = _terms_of_both(x, y)
    numbers = [sign * value for sign, term in terms if (value := scalar_constant(term)) is not None]
    rest = [(sign, term) for sign, term in terms if scalar_constant(term) is None]
    total = math.fsum(numbers)
    return [*rest, (math.copysign(1.0, total), constant(abs(total)))] if total else rest


@noted
def _differences(node: Node) -> list[_Difference]:
    """Return a node as differences of one function at two places, at the second of which it may vanish."""
    found = _difference(node)
    if found is not None:
        return [found]
    return [_Difference(1.0, node.op, node.args[0], constant(zero)) for zero in _ZEROS.get(node.op, ())]


def _difference(node: Node) -> _Difference | None:
    """Return a sum as a difference of one function at two places, and a logarithm of a quotient as one, too."""
    if node.op == "log_quotient" or (node.op == "log" and node.args[0].is_division):
        x, y = node.args if node.op == "log_quotient" else node.args[0].args
        return _Difference(1.0, "", x, y)
    if not node.is_additive or not any(map(_may_be_function, node.args)):
        return None
    terms = terms_of(node, 2, look=peel)
    if not terms.whole or len(terms.parts) != 2:
        return None
    (c, a), (d, b) = ((sign * number, part) for sign, term in terms.parts for number, part in [without_numbers(term)])
    if a.is_power or b.is_power:
        return _difference_of_powers((c, a), (d, b))
    if a.op != b.op or c + d != 0.0 or a.op not in BY_FUNCTION or a.args[0].shape != b.args[0].shape:
        return None
    return _Difference(c, a.op, a.args[0], b.args[0])


def _difference_of_powers(*terms: tuple[float, Node]) -> _Difference | None:
    """Return c (x**p - y**p), where y**p may be a number."""
    for (c, a), (d, b) in (terms, terms[::-1]):
        if not a.is_power or scalar_constant(a.args[0]) is not None:
            continue
        x, p = a.args
        if b.is_power and b.args[1] is p and c + d == 0.0:
            return _Difference(c, "", x, b.args[0], p)
        number, exponent = scalar_constant(b), scalar_constant(p)
        value = 0.0 if number is None else -d * number / c
        if value == 1.0:
            return _Difference(c, "", x, constant(1.0), p)
        root = round(value ** (1.0 / exponent)) if value > 0.0 and exponent else 0
        if root and exponent and root**exponent == value:
            return _Difference(c, "", x, constant(float(root)), p)
    return None


def _may_be_function(term: Node) -> bool:
    """Tell at a glance whether a term may be a number times a function of the table, or a power, as few terms are."""
    while term.is_negation or term.is_named or term.is_multiplicative:
        term = term.args[term.is_multiplication and not term.args[1].is_constant]
    return term.op in BY_FUNCTION or term.is_power


def _multiple(found: _Difference, below: Node) -> PowerProduct | None:
    """Return k with x - y = k d, for a divisor d."""
    known = [monomial(sign, term) for sign, term in _terms_of_both(found.x, found.y)]
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
