"""Quotients that are 0 / 0 where their variable is 0, and right there: ``sin(k * x) / x``, ``x / (exp(x) - 1)``.

So are those of a normal density and its integral, which are 0 / 0 or inf * 0 far out, and logarithms of a root beside
what it is of, which cancel there.

A product is decomposed into factors. One that vanishes at u = 0 as u**m does is u**m times a
quotient of the table in :mod:`symdiff.graph.scalars.remainders`, which is smooth; what u**m is made of cancels
against what stands on the other side of the line.
"""

from __future__ import annotations

import math

from ...graph import Node, constant, elementwise
from ...graph.kinds import EXPONENTIAL
from ...graph.scalars.arithmetic import PRODUCTS, peel, terms_of, without_numbers
from ...graph.scalars.functions import scalar_constant
from ..rewriter import is_number, rule, spread
from .factors import (
    NAMES,
    ROWS,
    TABLE,
    Monomial,
    Vanishing,
    as_monomial,
    multiplied,
    quotient_of,
    vanishing,
)
from .lengths import Scalar, is_length, squares_of, times_power

#: Most factors that are searched, and terms.
_FACTORS, _TERMS = 12, 6
_VANISH = frozenset((*NAMES, "expm1", "csch", "exp_share")) - {"cos", "cosh", "exp"}
#: What may be, or stand beside, what vanishes in a sum.
_SUMS = frozenset(("expm1", "exp2", "subtract", "add", "sqrt", "hypot"))
#: Scalars that are searched for within linear operations: lengths, inputs and their entries. Searching for every
#: factor would make the work on long scalar formulas ten times as much.
_DIVISORS = frozenset(("norm", "sqrt", "hypot", "input", "named", "slice", "gather", "contract"))
_EXPONENTIAL = frozenset(("sinh", "tanh", "exp", "csch", "bernoulli", "cosh"))


# ---------------------------------------------------------------------------- the rule


def smooth_quotient(node: Node) -> Node | None:
    """Return a quotient that is 0 / 0 at 0 as a product of smooth ones; None for any other."""
    if not _may_vanish(node):
        return None
    product = as_monomial(node)
    if product is None:
        return None
    found: dict[Node, tuple[Vanishing, Monomial]] = {}
    sides = {n > 0 for n in product.powers.values()}
    for base in product.powers:
        known = vanishing(base, len(sides) > 1)
        known = None if known is None else _aligned(known, product.powers[base], product)
        own = None if known is None else as_monomial(known.argument)
        if known is not None and own is not None and own.powers:
            found[base] = known, own
    for base, (known, own) in list(found.items()):
        for length in own.powers:
            _gather_squares(product, length)
        if base in product.powers:
            _take_out(product, base, known, own)
    found = {base: each for base, each in found.items() if base in product.powers}  # others are in what was taken out
    chosen = [base for base, (known, own) in found.items() if _is_met(base, known, own, product, found)]
    if not chosen:
        return None
    rest = Monomial(product.number, {n: p for n, p in product.powers.items() if n not in chosen})
    smooth: list[tuple[Node, int]] = []
    for base in chosen:
        known, own = found[base]
        power = product.powers[base]
        number, order, quotient, times = _written(known, power)
        rest.number *= number * own.number**order
        for factor, n in own.powers.items():
            rest.take(factor, n * order)
        if quotient is not None:
            smooth.append((quotient, times))
        if known.beside is not None:
            smooth.append((known.beside, power))
    left = {length: n for length, n in rest.powers.items() if is_length(length) and n > 0}
    rest.powers = {factor: n for factor, n in rest.powers.items() if factor not in left}
    result = spread(multiplied([*rest.powers.items(), *smooth], rest.number), node.shape)
    for length, n in left.items():
        result = times_power(result, length, n)
    return result


def _proportional(node: Node, other: Node) -> float | None:
    """Return c with node = c other, for sums whose terms may stand in another order; None where they are others."""
    both = []
    one = constant(1.0)
    for each in (node, other):
        terms, whole = terms_of(each, _TERMS, look=peel)
        found: dict[Node, float] = {}
        for sign, part in terms if whole else ():
            scale, base = without_numbers(part)
            value = scalar_constant(base)
            key = base if value is None else one
            found[key] = found.get(key, 0.0) + sign * scale * (1.0 if value is None else value)
        both.append({key: value for key, value in found.items() if value})
    ours, theirs = both
    if not ours or ours.keys() != theirs.keys():
        return None
    ratios = [ours[key] / theirs[key] for key in ours]
    return ratios[0] if all(math.isclose(each, ratios[0], rel_tol=4e-16) for each in ratios) else None


def _aligned(known: Vanishing, power: int, product: Monomial) -> Vanishing:
    """Write the argument, where it is a sum, as a multiple of that on the other side of the fraction."""
    u = peel(known.argument)
    if not u.is_additive or u in product.powers:
        return known
    for other, n in product.powers.items():
        c = _proportional(u, other) if other.is_additive and n * power * known.order < 0 else None
        if c is not None:
            return known._replace(argument=other if c == 1.0 else elementwise("multiply", (constant(c), other)))
    return known


def _gather_squares(product: Monomial, length: Node) -> None:
    """Write what is the square of a length, ``w @ w`` for norm(w), as its second power."""
    for square in squares_of(length):
        power = product.powers.pop(square, 0)
        if power:
            product.powers[length] = product.powers.get(length, 0) + 2 * power
            if not product.powers[length]:
                del product.powers[length]


def _take_out(product: Monomial, base: Node, known: Vanishing, own: Monomial) -> None:
    """Move divisors out of linear operations to a factor that vanishes with them, and factors to a divisor."""
    side = product.powers[base] * known.order
    for scalar, n in own.powers.items():
        if scalar.shape or scalar.op not in _DIVISORS:
            continue
        inside = Scalar(scalar)
        for other, power in list(product.powers.items()):
            if other not in (base, scalar) and inside.power(other) * power * n * side < 0:
                del product.powers[other]
                product.take(inside.without(other), power)
                product.take(scalar, power * inside.power(other))


def _may_vanish(node: Node) -> bool:
    todo = list(node.args)
    steps = 0
    while todo and steps < _FACTORS:
        part = peel(todo.pop())
        steps += 1
        if part.op in _VANISH or (part.is_additive and any(_is_known(arg) for arg in part.args)):
            return True
        if part.op in ("multiply", "divide", "power", "negative"):
            todo.extend(part.args)
    return False


def _is_known(arg: Node) -> bool:
    for _ in range(3):
        arg = peel(arg)
        if arg.op in NAMES or arg.op in ROWS or arg.op in _SUMS:
            return True
        if arg.is_power:
            return scalar_constant(arg.args[1]) is None or peel(arg.args[0]).is_additive
        if arg.op not in PRODUCTS:
            return False
        if arg.is_division and peel(arg.args[1]).op in ("sqrt", "hypot"):
            return scalar_constant(arg.args[0]) is not None
        arg = arg.args[arg.is_multiplication and scalar_constant(arg.args[0]) is not None]
    return False


def _is_met(
    base: Node, known: Vanishing, own: Monomial, product: Monomial, found: dict[Node, tuple[Vanishing, Monomial]]
) -> bool:
    """Tell whether the base with which a factor vanishes stands on the other side of the fraction."""
    side = product.powers[base] * known.order
    for factor, n in own.powers.items():
        if product.powers.get(factor, 0) * n * side < 0:
            return True
        if factor.is_subtraction:
            turned = elementwise("subtract", factor.args[::-1])
            if product.powers.get(turned, 0) * n * side < 0:
                return True
        for other, (theirs, owned) in found.items():
            away = product.powers[other] * theirs.order * side < 0 and owned.powers.get(factor, 0) * n > 0
            both = {"" if each.kind is None else each.kind.function for each in (known, theirs)}
            if away and (both == {"tanh"} or not both <= _EXPONENTIAL):  # others have a form of their own
                return True
    return False


def _written(known: Vanishing, power: int) -> tuple[float, int, Node | None, int]:
    """Return (number, order, quotient, times) with factor**power = number u**order quotient**times."""
    u, kind, order = known.argument, known.kind, known.order
    if kind is None:
        return known.number**power, order * power, None, power
    if power < 0 and kind.function in ("exp", "sinh") and kind.order == 1:  # which overflow
        inverse = TABLE["bernoulli" if kind.function == "exp" else "csch"][0]
        return known.number**power, power, quotient_of(inverse, u), -power
    if power < 0 and kind.function == "cosh" and kind.order == 2:  # cosh(u) - 1 = 2 sinh(u / 2)**2
        half = elementwise("multiply", (constant(0.5), u))
        return (known.number / 2.0) ** power, 2 * power, quotient_of(TABLE["csch"][0], half), -2 * power
    return known.number**power, order * power, quotient_of(kind, u), power


# ---------------------------------------------------------------------------- far out

#: Integrals of exp(-c x**2) from one side, by c.
_TAILS = {"ndtr": 0.5, "erfc": 1.0}


@rule("multiply divide", "exp(-x**2 / 2) / ndtr(x), exp(x**2) * erfc(x), exp(-x**2) / erfc(x)",
      "a derivative of log_ndtr(x), erfcx(x), 1 / erfcx(x)", "stability", below=(EXPONENTIAL,))
def _tail_beside_density(node: Node) -> Node | None:
    """Scale the tail of a normal distribution by its density: both are 0 far out, and their quotient is not."""
    if not any(_has_tail(arg) for arg in node.args):
        return None
    product = as_monomial(node)
    if product is None:
        return None
    for tail, n in product.powers.items():
        if tail.op in _TAILS and abs(n) == 1:
            own = _squared(tail.args[0])
            for density, m in product.powers.items():
                if density.op == "exp" and abs(m) == 1 and own is not None:
                    rest = _without_square(density.args[0], own, m * n * _TAILS[tail.op])
                    if rest is not None:
                        return _scaled_tail(product, (tail, n), (density, m), rest, node)
    return None


def _has_tail(node: Node) -> bool:
    """Tell whether a tail is among the first factors of a product."""
    todo, steps = [node], 0
    while todo and steps < _FACTORS:
        part = peel(todo.pop())
        steps += 1
        if part.op in _TAILS:
            return True
        if part.op in PRODUCTS:
            todo.extend(part.args)
    return False


def _squared(node: Node) -> Monomial | None:
    """Return the square of a product; that of a root is what is below it."""
    own = as_monomial(node)
    if own is None:
        return None
    result = Monomial(own.number * own.number)
    for base, n in own.powers.items():
        inside = as_monomial(base.args[0]) if base.is_root else Monomial(powers={base: 2})
        if inside is None:
            return None
        result.number *= inside.number**n
        for part, m in inside.powers.items():
            result.powers[part] = result.powers.get(part, 0) + m * n
    result.powers = {base: n for base, n in result.powers.items() if n}
    return result


def _is_multiple(found: Monomial | None, square: Monomial | None, rate: float) -> bool:
    """Tell whether a product is another one times a number, but for rounding."""
    if found is None or square is None or not square.powers or found.powers != square.powers:
        return False
    wanted = rate * square.number
    return abs(found.number - wanted) <= 2.0**-50 * abs(wanted)


def _without_square(exponent: Node, square: Monomial, rate: float) -> list[tuple[float, Node]] | None:
    """Return the terms of an exponent but for a square times ``rate``, where the tail is one of the root."""
    terms = terms_of(exponent, _TERMS, look=peel)
    for i, (sign, term) in enumerate(terms.parts if terms.whole else ()):
        if _is_multiple(as_monomial(term), square, sign * rate):
            return [*terms.parts[:i], *terms.parts[i + 1 :]]
    return None


def _scaled_tail(
    product: Monomial, tail: tuple[Node, int], density: tuple[Node, int], rest: list[tuple[float, Node]], node: Node
) -> Node:
    (x,), n = tail[0].args, tail[1]
    if tail[0].op == "erfc":
        scaled = (elementwise("erfcx", (x,)), n)
    elif n > 0:
        scaled = (elementwise("erfcx", (elementwise("multiply", (constant(-math.sqrt(0.5)), x)),)), 1)
        product.number *= 0.5
    else:
        scaled = (elementwise("log_ndtr_derivative", (constant(1.0), x)), 1)
        product.number *= math.sqrt(2.0 * math.pi)
    others = [(base, m) for base, m in product.powers.items() if base not in (tail[0], density[0])]
    total: Node | None = None
    for sign, term in rest:
        part = term if sign > 0 else elementwise("negative", (term,))
        total = part if total is None else elementwise("add", (total, part))
    if total is not None:
        others.append((elementwise("exp", (total,)), density[1]))
    return spread(multiplied([*others, scaled], product.number), node.shape)


@rule("lorentzian", "1 / (1 + exp(x)**2), 1 / (1 + sinh(x)**2)", "sigmoid(-2 x), sech(x)**2", "stability",
      inside="exp sinh named")
def _lorentzian_of_exponential(node: Node) -> Node | None:
    """Write the slope of ``arctan(exp(x))`` by what exponents are taken into."""
    inside = peel(node.args[0])
    if inside.op == "exp":
        return elementwise("sigmoid", (elementwise("multiply", (constant(-2.0), inside.args[0])),))
    if inside.op == "sinh":
        return elementwise("power", (elementwise("sech", inside.args), constant(2.0)))
    return None


@rule("log", "log(x + sqrt(x**2 + 1)), log(x + sqrt(x**2 - 1))", "arcsinh(x), arccosh(x)", "stability",
      inside="add subtract named")
def _inverse_hyperbolic(node: Node) -> Node | None:
    """Write a logarithm by the inverse function: ``sqrt(x**2 + c**2) = c cosh(t)`` for ``x = c sinh(t)``."""
    parts, whole = terms_of(node.args[0], 2, look=peel)
    if not whole or len(parts) != 2:
        return None
    for (sign, root), (side, x) in (parts, parts[::-1]):
        known = _root_of_square_and_number(root, x)
        if known is None or (known > 0 and sign < 0):
            continue
        c = math.sqrt(abs(known))
        positive = x if known > 0 or side > 0 else elementwise("negative", (x,))
        scaled = positive if c == 1.0 else elementwise("divide", (positive, constant(c)))
        result = elementwise("arcsinh" if known > 0 else "arccosh", (scaled,))
        result = result if (side if known > 0 else sign) > 0 else elementwise("negative", (result,))
        return spread(result if c == 1.0 else result + math.log(c), node.shape)
    return None


def _root_of_square_and_number(root: Node, x: Node) -> float | None:
    """Return c with ``root = sqrt(x**2 + c)``, where that is a number other than 0."""
    if root.op == "hypot":
        for base, other in (root.args, root.args[::-1]):
            c = scalar_constant(other)
            if base is x and c:
                return c * c
        return None
    inside = peel(root.args[0]) if root.is_root or (root.is_power and is_number(root.args[1], 0.5)) else None
    parts, whole = terms_of(inside, 2, look=peel) if inside is not None else ([], False)
    if not whole or len(parts) != 2:
        return None
    square = _squared(x)
    for (sign, part), (side, number) in (parts, parts[::-1]):
        c = scalar_constant(number)
        if c and math.isfinite(c) and sign > 0 and _is_multiple(as_monomial(part), square, 1.0):
            return side * c
    return None


@rule("maximum minimum", "maximum(x, -x), minimum(x, -x)", "abs(x), -abs(x)", "form", inside="negative")
def _size_as_extremum(node: Node) -> Node | None:
    """Write the larger of a number and its negative as its size, whose square has a second derivative."""
    a, b = node.args
    if not (a.is_negation and a.args[0] is b) and not (b.is_negation and b.args[0] is a):
        return None
    size = elementwise("abs", (b if a.is_negation else a,))
    return size if node.op == "maximum" else elementwise("negative", (size,))
