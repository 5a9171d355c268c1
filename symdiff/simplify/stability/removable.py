"""Quotients that are 0 / 0 where their variable is 0, and right there: ``sin(k * x) / x``, ``x / (exp(x) - 1)``.

A product is decomposed into factors. One that vanishes at u = 0 as u**m does is u**m times a
quotient of the table in :mod:`symdiff.graph.scalars.remainders`, which is smooth; what u**m is made of cancels
against what stands on the other side of the line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from ...graph import Node, constant, elementwise
from ...graph.scalars.arithmetic import PRODUCTS, factors_of, peel, terms_of, without_numbers
from ...graph.scalars.functions import scalar_constant
from ...graph.scalars.remainders import REMAINDERS, Remainder, series_of
from ..rewriter import spread
from .exponents import added, as_node, as_sum, multiple, ratio
from .lengths import Scalar, by_square, is_length, root_of, squares_of, times_power
from .products import may_hold_exponentials

#: Most factors and terms that are searched.
_FACTORS, _TERMS = 12, 7
#: The highest power of a number.
_POWER = 8
TWO = constant(2.0)
_TABLE: dict[str, list[Remainder]] = {}
for _each in REMAINDERS:
    _TABLE.setdefault(_each.function, []).append(_each)
#: Functions as their rows are called, in the words of the table.
_NAMES = {name: name for name in _TABLE if name not in ("bernoulli", "csch")}
_ROWS = {each.name: each for each in REMAINDERS if each.order > 0}
_ROWS |= {each.name_by_square: each for each in REMAINDERS if each.order > 0 and each.even}
_VANISH = frozenset(("sin", "sinh", "tan", "tanh", "arcsin", "arctan", "log1p", "expm1", "csch", "exp_share"))
#: Scalars that are searched for within linear operations: lengths, inputs and their entries. Searching for every
#: factor would make the work on long scalar formulas ten times as much.
_DIVISORS = frozenset(("norm", "sqrt", "hypot", "input", "named", "slice", "gather", "contract"))
_EXPONENTIAL = frozenset(("sinh", "tanh", "exp", "csch", "bernoulli", "cosh"))


@dataclass
class Monomial:
    """A number and nodes with whole powers."""

    number: float = 1.0
    powers: dict[Node, int] = field(default_factory=dict)

    def take(self, node: Node, power: int) -> None:
        """Multiply by ``node**power``."""
        if node.op == "subtract" and node not in self.powers:
            turned = elementwise("subtract", node.args[::-1])
            if turned in self.powers:
                node = turned
                self.number *= -1.0 if power % 2 else 1.0
        total = self.powers.get(node, 0) + power
        if total:
            self.powers[node] = total
        else:
            del self.powers[node]


def _is_product(part: Node, power: float) -> bool:
    """Tell whether a part is a product or a whole power."""
    return part.op in PRODUCTS or (part.op == "power" and (scalar_constant(part.args[1]) or 0.5).is_integer())


def as_monomial(node: Node) -> Monomial | None:
    """Decompose a product; None if it has too many factors or a power that is no whole number."""
    sign, parts, whole = factors_of(node, steps=2 * _FACTORS, enter=_is_product, look=peel)
    if not whole:
        return None
    result = Monomial(float(sign))
    for part, exponent in parts:
        value, power = scalar_constant(part), int(exponent)
        if value is None:
            result.powers[part] = result.powers.get(part, 0) + power
        elif value == 0 or not math.isfinite(value) or abs(power) > _POWER:
            return None
        else:
            result.number *= value**power
    result.powers = {base: n for base, n in result.powers.items() if n}
    return result


class Vanishing(NamedTuple):
    """A factor that is ``number * beside * u**order * quotient(u)``."""

    number: float
    argument: Node
    kind: Remainder
    order: int
    beside: Node | None = None


def vanishing(node: Node) -> Vanishing | None:
    """Return how a factor vanishes at 0, if it is known to."""
    if node.op == "expm1":
        return Vanishing(1.0, node.args[0], _TABLE["exp"][0], 1)
    if node.op in ("sin", "sinh", "tan", "tanh", "arcsin", "arctan", "log1p"):
        return Vanishing(1.0, node.args[0], _TABLE[node.op][0], 1)
    if node.op == "csch":
        return Vanishing(1.0, node.args[0], _TABLE["csch"][0], -1)
    if node.op == "exp_share":
        b, c, t = node.args
        if scalar_constant(b) == -1.0 and scalar_constant(c) == 1.0:
            return Vanishing(1.0, t, _TABLE["bernoulli"][0], -1)
        if scalar_constant(b) == 1.0 and scalar_constant(c) == -1.0:
            return Vanishing(-1.0, t, _TABLE["bernoulli"][0], -1)
    if node.op not in ("add", "subtract"):
        return None
    return _remainder(node) or _difference(node)


def _difference(node: Node) -> Vanishing | None:
    """Return how c (exp(a) - exp(b)) vanishes, if the factor before it does not grow where the rest falls."""
    found = as_sum(node) if may_hold_exponentials(node) else None
    if found is None or found.sign() != -1:
        return None
    (b, low), (_, high) = found.parts()
    scale = -(scalar_constant(b) or 0.0)
    if low == multiple(high, -1.0):
        return Vanishing(2.0 * scale, as_node(high), _TABLE["sinh"][0], 1)
    for first, second, sign in ((low, high, 1.0), (high, low, -1.0)):
        t = added(second, first, -1.0)
        r = ratio(first, t) if first else None
        if r is not None and r > 0:
            return Vanishing(sign * scale, as_node(t), _TABLE["exp"][0], 1, elementwise("exp", (as_node(first),)))
    return None


def _remainder(node: Node) -> Vanishing | None:
    """Return a function less the beginning of its series, a polynomial of its argument."""
    terms, whole = terms_of(node, _TERMS, look=peel)
    if not whole:
        return None
    found: tuple[float, str, Node, int] | None = None
    rest: list[tuple[float, Node]] = []
    constant_part = 0.0
    for c, part in terms:
        value = scalar_constant(part)
        if value is not None:
            constant_part += c * value
            continue
        scale, base = without_numbers(part)
        if base.op in _NAMES or base.op == "expm1":
            if found is not None:
                return None
            name = "exp" if base.op == "expm1" else base.op
            constant_part -= c * scale if base.op == "expm1" else 0.0
            found = c * scale, name, base.args[0], 0
        elif base.op in _ROWS and scalar_constant(base.args[0]) == 0.0 and found is None:
            known = _ROWS[base.op]
            u = root_of(base.args[1]) if base.op == known.name_by_square else base.args[1]
            found = c * scale, known.function, u, known.order
        else:
            rest.append((c, part))
    if found is None:
        return None
    scale, name, u, skipped = found
    own = as_monomial(u)
    if own is None:
        return None
    polynomial = {0: constant_part}
    for c, part in rest:
        term = as_monomial(part)
        k = None if term is None else _exponent_of(term, own)
        if term is None or k is None:
            return None
        polynomial[k] = polynomial.get(k, 0.0) + c * term.number / own.number**k
    series = series_of(name)[skipped:]
    for kind in _TABLE[name]:
        start = {i: -scale * float(series[i]) for i in range(kind.order - skipped)}
        keys = {k for k, c in polynomial.items() if c} | {k for k, c in start.items() if c}
        if all(math.isclose(polynomial.get(k, 0.0), start.get(k, 0.0), rel_tol=4e-16) for k in keys):
            return Vanishing(scale, u, kind, kind.order - skipped) if kind.order > skipped else None
    return None


def _exponent_of(term: Monomial, own: Monomial) -> int | None:
    """Return k with term = number * u**k, for the factors of u."""
    if not own.powers:
        return None
    base, n = next(iter(own.powers.items()))
    k, left = divmod(term.powers.get(base, 0), n)
    if left or k < 1 or term.powers != {node: m * k for node, m in own.powers.items()}:
        return None
    return k


# ---------------------------------------------------------------------------- the rule


def smooth_quotient(node: Node) -> Node | None:
    """Return a quotient that is 0 / 0 at 0 as a product of smooth ones; None for any other."""
    if not _may_vanish(node):
        return None
    product = as_monomial(node)
    if product is None:
        return None
    found: dict[Node, tuple[Vanishing, Monomial]] = {}
    for base in product.powers:
        known = vanishing(base)
        own = None if known is None else as_monomial(known.argument)
        if known is not None and own is not None and own.powers:
            found[base] = known, own
    for base, (known, own) in list(found.items()):
        for length in own.powers:
            _gather_squares(product, length)
        _take_out(product, base, known, own)
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
        smooth.append((quotient, times))
        if known.beside is not None:
            smooth.append((known.beside, power))
    left = {length: n for length, n in rest.powers.items() if is_length(length) and n > 0}
    rest.powers = {factor: n for factor, n in rest.powers.items() if factor not in left}
    result = spread(_multiplied(rest, smooth), node.shape)
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
        if arg.op in _NAMES or arg.op in _ROWS or arg.op in ("expm1", "subtract", "add"):
            return True
        if arg.op not in ("multiply", "divide", "negative"):
            return False
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
            both = {known.kind.function, theirs.kind.function}
            if away and (both == {"tanh"} or not both <= _EXPONENTIAL):  # others have a form of their own
                return True
    return False


def _written(known: Vanishing, power: int) -> tuple[float, int, Node, int]:
    """Return (number, order, quotient, times) with factor**power = number u**order quotient**times."""
    u, kind, order = known.argument, known.kind, known.order
    if power < 0 and kind.function in ("exp", "sinh") and kind.order == 1:  # which overflow
        inverse = _TABLE["bernoulli" if kind.function == "exp" else "csch"][0]
        return known.number**power, power, _quotient(inverse, u), -power
    if power < 0 and kind.function == "cosh" and kind.order == 2:  # cosh(u) - 1 = 2 sinh(u / 2)**2
        half = elementwise("multiply", (constant(0.5), u))
        return (known.number / 2.0) ** power, 2 * power, _quotient(_TABLE["csch"][0], half), -2 * power
    return known.number**power, order * power, _quotient(kind, u), power


def _quotient(kind: Remainder, u: Node) -> Node:
    """Return a quotient of the table; by the square of its argument where that is a length, which has a kink."""
    square = by_square(u) if kind.even else None
    if square is not None:
        return elementwise(kind.name_by_square, (constant(0.0), square))
    return elementwise(kind.name, (constant(0.0), u))


def _multiplied(rest: Monomial, smooth: list[tuple[Node, int]]) -> Node:
    """Multiply everything, divisors at last."""
    powers = [*rest.powers.items(), *smooth]
    total: Node | None = None
    for base, n in powers:
        if n > 0:
            part = base if n == 1 else elementwise("power", (base, constant(float(n))))
            total = part if total is None else elementwise("multiply", (total, part))
    if total is None:
        total = constant(rest.number)
    elif rest.number == -1.0:
        total = elementwise("negative", (total,))
    elif rest.number != 1.0:
        total = elementwise("multiply", (constant(rest.number), total))
    for base, n in powers:
        if n < 0:
            part = base if n == -1 else elementwise("power", (base, constant(float(-n))))
            total = elementwise("divide", (total, part))
    return total
