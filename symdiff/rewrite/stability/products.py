"""Products decomposed into a number and whole powers, and into one exponent, sums of exponentials and the rest."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from ...graph import Node, constant, elementwise
from ...graph.kinds import EXPONENTIAL, bit_of
from ...graph.scalars.arithmetic import PowerProduct, factors_of, peel, times_power
from ...graph.scalars.functions import scalar_constant
from ...graph.sizes import Shape
from ...ground.gc_pause import noted
from ..facts import is_positive
from ..rewriter import spread
from .exponents import FACTORS, Linear, Sum, added, as_node, as_sum, is_sum_along_axes, linear, multiple

#: Operations of products, and of what may be a number.
_MADE_OF = frozenset(("multiply", "divide", "negative", "power", "named", "constant", "reshape", "contract"))
#: The highest power of a number.
_HIGHEST = 8


def as_monomial(node: Node) -> PowerProduct | None:
    """Decompose a product; None if it has too many factors or a power that is no whole number."""
    found = decomposed(node)
    return None if found is None else PowerProduct(found.number, found.powers.copy())


@noted
def decomposed(node: Node) -> PowerProduct | None:
    """Return the same, for whoever does not change it."""
    if node.op not in _MADE_OF:
        return PowerProduct(1.0, {node: 1})
    sign, parts, whole = factors_of(node, steps=2 * FACTORS, powers=math.inf, look=peel)
    if not whole:
        return None
    result = PowerProduct(float(sign), {})
    for part, exponent in parts:
        value, power = scalar_constant(part), int(exponent)
        if value is None:
            result.powers[part] = result.powers.get(part, 0) + power
        elif value == 0 or not math.isfinite(value) or abs(power) > _HIGHEST:
            return None
        else:
            result.number = times_power(result.number, value, power)
            if not (result.number and math.isfinite(result.number)):
                return None
    result.powers = {base: n for base, n in result.powers.items() if n}
    return result


def powers_multiplied(powers: Sequence[tuple[Node, int]], number: float) -> Node:
    """Multiply powers and a number, divisors at last."""
    total: Node | None = None
    for base, n in powers:
        if n > 0:
            part = base if n == 1 else elementwise("power", (base, constant(float(n))))
            total = part if total is None else elementwise("multiply", (total, part))
    if total is None:
        total = constant(number)
    elif number == -1.0:
        total = elementwise("negative", (total,))
    elif number != 1.0:
        total = elementwise("multiply", (constant(number), total))
    for base, n in powers:
        if n < 0:
            part = base if n == -1 else elementwise("power", (base, constant(float(-n))))
            total = elementwise("divide", (total, part))
    return total


class ExponentialProduct:
    """``number * exp(exponent) * sums**powers * others**powers``."""

    def __init__(self, number: float = 1.0) -> None:
        self.number = number
        self.exponent: Linear = {}
        self.sums: dict[Sum, float] = {}
        self.others: dict[Node, float] = {}
        #: What stands in exponents, in the order of first use.
        self.moving: dict[Node, None] = {}
        self.exponentials = self.raw = self.under = 0

    def take_sum(self, found: Sum, power: float) -> None:
        """Multiply by a power of a sum."""
        for exponent in found.exponents:
            self.take_moving(exponent)
        total = self.sums.get(found, 0.0) + power
        if total:
            self.sums[found] = total
        else:
            self.sums.pop(found, None)

    def take_moving(self, exponent: Linear) -> None:
        """Note what stands in an exponent."""
        self.moving.update((node, None) for node in exponent if node is not None)


def _one_and(b: Node, c: Node, t: Linear) -> Sum:
    """Return ``b + c exp(t)``."""
    return Sum.of((b, c), ({}, t))


ONE = constant(1.0)
#: What holds an exponential in a form of its own.
SHAPES = frozenset(("exp", "sigmoid", "sigmoid_slope", "sech", "csch", "exp_share", "cosh", "sinh", "expm1"))
_SUMS = frozenset(("add", "subtract", "cosh", "sinh", "expm1"))
#: Differences of exponentials that keep their digits near 0.
_DIFFERENCES = bit_of("sinh") | bit_of("expm1")
_THROUGH = frozenset(("multiply", "divide", "negative", "power", "named", "add", "subtract", "sqrt"))


def may_hold_exponentials(node: Node, more: Collection[str] = ()) -> bool:
    """Tell whether an exponential is among the factors, or the terms of a factor, as far as a short look goes.

    Operations in ``more`` count as exponentials.
    """
    if not more and not node.below & EXPONENTIAL:
        return False
    todo = list(node.args)
    steps = 0
    while todo and steps < FACTORS:
        part = todo.pop()
        steps += 1
        if part.op in SHAPES or part.op in more or (part.is_contraction and is_sum_along_axes(part)):
            return True
        if part.op in _THROUGH:
            todo.extend(part.args)
    return False


def as_product(node: Node) -> ExponentialProduct | None:
    """Decompose a product; None if it has too many factors, or is 0 times something, which stays in front of that."""
    found = _parts(node)
    return None if found is None else _product(*found)


def product_that_meets(node: Node) -> ExponentialProduct | None:
    """Decompose a product, but for those that hold nothing that may meet as 0 and inf."""
    found = _parts(node)
    return None if found is None or not _may_meet(found[1]) else _product(*found)


def _parts(node: Node) -> tuple[int, list[tuple[Node, float]]] | None:
    sign, parts, whole = factors_of(node, steps=2 * FACTORS, enter=_is_product, look=peel)
    return (sign, parts) if whole else None


def _may_meet(parts: Sequence[tuple[Node, float]]) -> bool:
    """Tell whether two factors have exponentials, or one in another power than 1; those of most products do not."""
    seen = 0
    for part, power in parts:
        if part.below & EXPONENTIAL and (part.op in SHAPES or _is_smooth(part) or _summed(part) is not None):
            seen += 1
            if seen > 1 or power != 1.0:
                return True
    return False


@noted
def _summed(part: Node) -> Sum | None:
    """Return a factor as a sum of exponentials; None where it is none."""
    return as_sum(part) if part.op in _SUMS and (part.op in SHAPES or may_hold_exponentials(part)) else None


def _product(sign: int, parts: Sequence[tuple[Node, float]]) -> ExponentialProduct | None:
    result = ExponentialProduct(float(sign))
    closed = [pair for pair in parts if _is_smooth(pair[0])]
    for part, power in parts:
        if _is_smooth(part):
            continue
        n = scalar_constant(part)
        if n == 0.0:
            return None
        if (n is not None and n > 0 and math.isfinite(n)) or (n is not None and n < 0 and power.is_integer()):
            result.number = times_power(result.number, n, power)
        else:
            _take(result, part, power)
    for part, power in closed:
        # opened for an exponent that may be taken in; smooth quotients would be made of all others again
        if any(node in result.moving or node in result.exponent for node in linear(part.args[1]) if node is not None):
            _take(result, part, power)
        else:
            _take_other(result, part, power)
    return result if result.number and math.isfinite(result.number) else None


def _is_smooth(part: Node) -> bool:
    """Tell whether a factor is u / (exp(u) - 1) or u / sinh(u)."""
    return part.op in ("bernoulli_quotient", "csch_quotient") and scalar_constant(part.args[0]) == 0.0


def _is_product(part: Node, power: float) -> bool:
    """Tell whether a power of a part is the product of powers of what it is made of."""
    if part.op in ("multiply", "negative"):
        return power.is_integer()
    if part.is_power:
        return _whole_power(part, power) is not None
    if part.is_division:  # roots of two numbers below 0 are nan, that of their quotient is not
        return power.is_integer() or any(_is_positive(peel(arg)) for arg in part.args)
    return part.is_root and _is_positive(peel(part.args[0]))


#: What overflows only when it is divided by.
_BOUNDED = frozenset(("sigmoid", "sigmoid_slope", "sech", "csch", "exp_share"))
_POSITIVE = frozenset(("exp", "sigmoid", "sigmoid_slope", "sech", "cosh"))


def _is_positive(node: Node) -> bool:
    """Tell whether a node is an exponential or a sum of such with positive coefficients."""
    if node.is_addition:
        found = as_sum(node)
        return found is not None and found.sign() == 1
    if node.op == "exp_share":
        return all((scalar_constant(c) or 0.0) > 0 for c in node.args[:2])
    return node.op in _POSITIVE or (scalar_constant(node) or 0.0) > 0 or is_positive(node)


def _whole_power(part: Node, power: float) -> float | None:
    """Return n m for a factor (x**n)**m where that is x**(n m)."""
    n = scalar_constant(part.args[1])
    if n is None or not math.isfinite(n) or n == 0:
        return None
    positive = not n.is_integer() and _is_positive(peel(part.args[0]))
    return n * power if positive or (n.is_integer() and power.is_integer()) or power == 1.0 else None


def _take(result: ExponentialProduct, part: Node, power: float) -> None:
    if part.op == "exp":
        exponent = linear(part.args[0])
        result.take_moving(exponent)
        result.exponent = added(result.exponent, exponent, power)
        result.exponentials += 1
        result.under += power < 0
        if power != 1.0:
            result.raw += 1
        return
    if part.op in _BOUNDED:
        result.raw += power < 0
    if part.op == "sigmoid":
        result.take_sum(_one_and(ONE, ONE, linear(part.args[0], -1.0)), -power)
    elif part.op == "sigmoid_slope":
        t = linear(part.args[0], -1.0)
        result.take_sum(_one_and(ONE, ONE, t), -2.0 * power)
        result.exponent = added(result.exponent, t, power)
    elif part.op == "sech":
        t = linear(part.args[0])
        result.number *= 2.0**power
        result.take_sum(_one_and(ONE, ONE, multiple(t, -2.0)), -power)
        result.exponent = added(result.exponent, t, -power)
    elif part.op == "csch" and power.is_integer():
        t = linear(part.args[0])
        result.number *= (-2.0) ** power
        result.take_sum(_one_and(ONE, constant(-1.0), multiple(t, -2.0)), -power)
        result.number *= (-1.0) ** power
        result.exponent = added(result.exponent, t, -power)
    elif _is_smooth(part):
        u = part.args[1]  # what is 1 at 0 is u times what exponents can be taken into
        _take_other(result, u, power)
        inner = ("exp_share", (constant(-1.0), ONE, u)) if part.op == "bernoulli_quotient" else ("csch", (u,))
        _take(result, elementwise(*inner), power)
    elif part.op == "exp_share":
        b, c, exponent_node = part.args
        result.take_sum(_one_and(b, c, linear(exponent_node)), -power)
    else:
        found = _summed(part)
        if found is None or (power > 0 and part.below & _DIFFERENCES and found.cancels):
            _take_other(result, part, power)
        else:
            result.take_sum(found, power)
            result.raw += 1
            result.under += power < 0


def _take_other(result: ExponentialProduct, part: Node, power: float) -> None:
    result.others[part] = result.others.get(part, 0.0) + power


def raised(base: Node, n: float) -> Node:
    """Return base**n, a root or a quotient where it is one."""
    if abs(n) == 0.5:
        base, n = elementwise("sqrt", (base,)), 2.0 * n
    if n == 1.0:
        return base
    return 1.0 / base if n == -1.0 else elementwise("power", (base, constant(n)))


def sum_of(terms: Sequence[tuple[Node, Linear]]) -> Node:
    """Return the sum of coefficients times exponentials."""
    result: Node | None = None
    for coefficient, exponent in terms:
        c = scalar_constant(coefficient)
        power = elementwise("exp", (as_node(exponent),)) if exponent else None
        size = coefficient if power is None else power if c is not None and abs(c) == 1.0 else coefficient * power
        if power is not None and c is not None and c == -1.0:
            result = -size if result is None else result - size
        else:
            result = size if result is None else result + size
    assert result is not None
    return result


def scaled_node(c: float, x: Node) -> Node:
    """Return c x."""
    return x if c == 1.0 else c * x


def multiplied(p: ExponentialProduct, number: float, factors: Sequence[Node], shape: Shape | None) -> Node:
    """Multiply what was not looked at, a number and the factors; divisors at last. Without a shape it keeps its own."""
    over = [raised(base, n) for base, n in p.others.items() if n > 0]
    under = [raised(base, -n) for base, n in p.others.items() if n < 0]
    result: Node | None = None
    for factor in (*over, *factors):
        result = factor if result is None else result * factor
    if result is None:
        result = constant(number)
    elif abs(number) != 1.0:
        result = constant(number) * result
    elif number < 0:
        result = -result
    for divisor in under:
        result = result / divisor
    return result if shape is None else spread(result, shape)
