"""Quotients that are 0 / 0 where their variable is 0, and right there: ``sin(k * x) / x``, ``x / (exp(x) - 1)``.

A product is decomposed into factors. One that vanishes at u = 0 as u**m does is u**m times a
quotient of the table in :mod:`symdiff.graph.scalars.remainders`, which is smooth; what u**m is made of cancels
against what stands on the other side of the line.
"""

from __future__ import annotations

from ...graph import Node, constant, elementwise
from ...graph.scalars.arithmetic import peel
from ...graph.scalars.functions import scalar_constant
from ..rewriter import spread
from .factors import NAMES, ROWS, TABLE, Monomial, Vanishing, as_monomial, multiplied, quotient_of, vanishing
from .lengths import Scalar, is_length, squares_of, times_power

#: Most factors that are searched.
_FACTORS = 12
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


def _gather_squares(product: Monomial, length: Node) -> None:
    """Write what is the square of a length, ``w @ w`` for norm(w), as its second power."""
    for square in squares_of(length):
        power = product.powers.pop(square, 0)
        if power:
            product.powers[length] = product.powers.get(length, 0) + 2 * power
            if not product.powers[length]:
                del product.powers[length]


def _take_out(product: Monomial, base: Node, known: Vanishing, own: Monomial) -> None:
    """Take out of linear operations what divides where a factor vanishes, and the other way around."""
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
        if part.op in _VANISH or (part.op in ("add", "subtract") and any(_is_known(arg) for arg in part.args)):
            return True
        if part.op in ("multiply", "divide", "power", "negative"):
            todo.extend(part.args)
    return False


def _is_known(arg: Node) -> bool:
    for _ in range(3):
        arg = peel(arg)
        if arg.op in NAMES or arg.op in ROWS or arg.op in _SUMS:
            return True
        if arg.op == "power":
            return scalar_constant(arg.args[0]) is not None or peel(arg.args[0]).op in ("add", "subtract")
        if arg.op not in ("multiply", "divide", "negative"):
            return False
        if arg.op == "divide" and peel(arg.args[1]).op in ("sqrt", "hypot"):
            return scalar_constant(arg.args[0]) is not None
        arg = arg.args[arg.op == "multiply" and scalar_constant(arg.args[0]) is not None]
    return False


def _is_met(
    base: Node, known: Vanishing, own: Monomial, product: Monomial, found: dict[Node, tuple[Vanishing, Monomial]]
) -> bool:
    """Tell whether what a factor vanishes with stands on the other side of the line."""
    side = product.powers[base] * known.order
    for factor, n in own.powers.items():
        if product.powers.get(factor, 0) * n * side < 0:
            return True
        if factor.op == "subtract":
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
