"""Quotients that are 0 / 0 at 0, ``sin(k * x) / x`` or ``x / (exp(x) - 1)``, in a form that has their limit there.

Two other forms fail far out: quotients of a normal density and its integral, which are 0 / 0 or inf * 0, and
logarithms such as ``log(x + sqrt(x**2 + 1))``, whose sum cancels.

A product is decomposed into factors. One that vanishes at u = 0 as u**m does is u**m times a
quotient of the table in :mod:`symdiff.graph.scalars.remainders`, which is smooth; what u**m is made of cancels
against what stands on the other side of the line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...graph import Node, axes_of, constant, elementwise, rebuild, reduce, reshape
from ...graph.kinds import EVEN, INVERSE, LOGARITHM, VANISHING, holds
from ...graph.scalars.arithmetic import PRODUCTS, PowerProduct, peel, terms_of, without_numbers
from ...graph.scalars.functions import compare, scalar_constant, where
from ...graph.scalars.remainders import REMAINDERS
from ...ground.gc_pause import noted
from ..rewriter import rule, spread, stabilize
from .exponents import decomposed, powers_multiplied
from .factors import NAMES, ROWS, TABLE, Vanishing, quotient_of, vanishing
from .lengths import LINEAR, ONE, Scalar, is_length, product, squares_of, times_power

#: Most factors that are searched, and terms.
_FACTORS, _TERMS = 12, 6
_VANISH = frozenset((*NAMES, "expm1", "csch", "exp_share")) - {"cos", "cosh", "exp"}
#: Operations of scalars whose squares are factors, too.
_OF_SQUARES = frozenset(("norm", "sqrt", "reshape"))
#: Operations of what may have a scalar as a factor.
_COMPOSED = LINEAR | {"multiply", "divide", "contract", "concatenate", "power", "named", "unit"}
#: Most nodes that a factor is looked for among.
_LONG = 48
#: Operations that are looked through for factors.
_INSIDE = frozenset(("multiply", "divide", "power", "negative"))
#: Operations of terms whose sum may vanish, beside the functions of the tables.
_SUMS = frozenset(("expm1", "exp2", "subtract", "add", "sqrt", "hypot"))
#: Scalars that are searched for within linear operations: lengths, inputs and their entries. Searching for every
#: factor would make the work on long scalar formulas ten times as much.
_DIVISORS = frozenset(("norm", "sqrt", "hypot", "input", "named", "slice", "gather", "contract"))
#: Quotients that are even functions.
_EVEN = frozenset(each.name for each in REMAINDERS if each.even)
assert all(holds(name) & EVEN for name in _EVEN)
#: Linear operations that may move the rows of an array.
_MOVING = frozenset({"pad", "scatter", "reshape", "triangle", "cumsum"})
_EXPONENTIAL = frozenset(("sinh", "tanh", "exp", "csch", "bernoulli", "cosh"))


# ---------------------------------------------------------------------------- the rule


def smooth_quotient(node: Node) -> Node | None:
    """Return a quotient that is 0 / 0 at 0 as a product of smooth ones; None for any other."""
    whole = decomposed(node)
    if whole is None:
        return None
    seen = _that_vanish(whole.powers)
    if not seen or not _may_meet(whole.powers, seen) or not _may_hold_vanishing(node):
        return None
    product = PowerProduct(whole.number, whole.powers.copy())
    found: dict[Node, tuple[Vanishing, PowerProduct]] = {}
    for base, (known, own) in seen.items():
        aligned = _aligned(known, product.powers[base], product)
        argument = own if aligned is known else decomposed(aligned.argument)
        if argument is not None and argument.powers:
            found[base] = aligned, argument
    for base, (known, own) in list(found.items()):
        for length in own.powers:
            _gather_squares(product, length)
        if base in product.powers:
            _take_out(product, base, known, own)
    found = {base: each for base, each in found.items() if base in product.powers}  # others are in what was taken out
    chosen = [base for base, (known, own) in found.items() if _is_met(base, known, own, product, found)]
    if not chosen:
        return None
    rest = PowerProduct(product.number, {n: p for n, p in product.powers.items() if n not in chosen})
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
    lengths = [factor for factor in rest.powers if is_length(factor) or _is_length_of_rows(factor)]
    left = {length: rest.powers[length] for length in lengths if rest.powers[length] > 0}
    rest.powers = {factor: n for factor, n in rest.powers.items() if factor not in left}
    result = spread(powers_multiplied([*rest.powers.items(), *smooth], rest.number), node.shape)
    for length, n in left.items():
        result = times_power(result, length, n)
    return result


def _that_vanish(powers: dict[Node, int]) -> dict[Node, tuple[Vanishing, PowerProduct]]:
    """Return the factors that vanish at 0, and how."""
    numbers = powers.values()
    look = _in_quotient if numbers and min(numbers) < 0 < max(numbers) else _in_product
    seen: dict[Node, tuple[Vanishing, PowerProduct]] = {}
    for base in powers:
        found = look(base) if base.op in _VANISH or base.is_additive else None
        if found is not None:
            seen[base] = found
    return seen


def _may_meet(powers: dict[Node, int], seen: dict[Node, tuple[Vanishing, PowerProduct]]) -> bool:
    """Tell whether the argument of a factor that vanishes may stand on the other side of the fraction; most do not."""
    owned: dict[Node, bool] = {}
    for base, (known, own) in seen.items():
        side = powers[base] * known.order
        for factor, n in own.powers.items():
            away = n * side < 0
            if powers.get(factor, 0) * n * side < 0 or owned.get(factor, away) is not away:
                return True
            owned[factor] = away
            if factor.op in _DIVISORS or factor.is_reshape:
                if factor.op in _OF_SQUARES or any(_may_hold(other, factor) for other in powers if other is not factor):
                    return True
            elif factor.is_subtraction and any(x.is_subtraction and x.args == factor.args[::-1] for x in powers):
                return True
        u = peel(known.argument)
        if u.is_additive:
            for other, n in powers.items():
                if other.is_additive and n * side < 0 and _proportional(u, other) is not None:
                    return True
    return False


@noted
def _in_quotient(base: Node) -> tuple[Vanishing, PowerProduct] | None:
    """Return how a factor that stands beside a divisor vanishes, and its argument as a product; None where it does not.

    Most factors are those of many products.
    """
    return _argued(vanishing(base)) if _may_vanish(base) else None


@noted
def _in_product(base: Node) -> tuple[Vanishing, PowerProduct] | None:
    """Return the same of a factor that stands beside others alone."""
    return _argued(vanishing(base, False)) if _may_vanish(base) else None


def _argued(known: Vanishing | None) -> tuple[Vanishing, PowerProduct] | None:
    own = None if known is None else decomposed(known.argument)
    return None if known is None or own is None or not own.powers else (known, own)


def _proportional(node: Node, other: Node) -> float | None:
    """Return c with node = c other, for sums whose terms may stand in another order; None where they are others."""
    ours, theirs = _coefficients(node), _coefficients(other)
    if not ours or ours.keys() != theirs.keys():
        return None
    ratios = [ours[key] / theirs[key] for key in ours]
    return ratios[0] if all(math.isclose(each, ratios[0], rel_tol=4e-16) for each in ratios) else None


@noted
def _coefficients(node: Node) -> dict[Node, float]:
    """Return the numbers that the terms of a sum are multiplied by; nothing of a sum of many."""
    terms, whole = terms_of(node, _TERMS, look=peel)
    found: dict[Node, float] = {}
    for sign, part in terms if whole else ():
        scale, base = without_numbers(part)
        value = scalar_constant(base)
        key = base if value is None else ONE
        found[key] = found.get(key, 0.0) + sign * scale * (1.0 if value is None else value)
    return {key: value for key, value in found.items() if value}


def _aligned(known: Vanishing, power: int, product: PowerProduct) -> Vanishing:
    """Write the argument, where it is a sum, as a multiple of that on the other side of the fraction."""
    u = peel(known.argument)
    if not u.is_additive or u in product.powers:
        return known
    for other, n in product.powers.items():
        c = _proportional(u, other) if other.is_additive and n * power * known.order < 0 else None
        if c is not None:
            return known._replace(argument=other if c == 1.0 else elementwise("multiply", (constant(c), other)))
    return known


def _gather_squares(product: PowerProduct, length: Node) -> None:
    """Write what is the square of a length, ``w @ w`` for norm(w), as its second power."""
    for square in squares_of(length):
        power = product.powers.pop(square, 0)
        if power:
            product.powers[length] = product.powers.get(length, 0) + 2 * power
            if not product.powers[length]:
                del product.powers[length]


def _take_out(product: PowerProduct, base: Node, known: Vanishing, own: PowerProduct) -> None:
    """Move divisors out of linear operations to a factor that vanishes with them, and factors to a divisor."""
    side = product.powers[base] * known.order
    for scalar, n in own.powers.items():
        others = [other for other in product.powers if other not in (base, scalar)]
        if _is_length_of_rows(scalar):
            inside: Scalar = _RowScalar(scalar)
        elif not scalar.shape and scalar.op in _DIVISORS:
            others = [other for other in others if _may_hold(other, scalar)]
            inside = Scalar(scalar)
        else:
            continue
        for other in others:
            power = product.powers.get(other, 0)
            if power and inside.power(other) * power * n * side < 0:
                del product.powers[other]
                product.take(inside.without(other), power)
                product.take(scalar, power * inside.power(other))


def _may_hold(node: Node, scalar: Node) -> bool:
    """Tell whether a scalar may be a factor of a node, as far as the first terms of sums tell."""
    if scalar.op in _OF_SQUARES:
        return True
    if not (node.is_additive or node.op in _COMPOSED):
        return False
    found = _factors_of_first_terms(node)
    return found is None or scalar in found


@noted
def _factors_of_first_terms(node: Node) -> frozenset[Node] | None:
    """Return the nodes that may be factors of a node; None where 0 or a direction, of which anything may be, is one."""
    found: set[Node] = set()
    todo = [node]
    while todo:
        part = todo.pop()
        if part in found:
            continue
        found.add(part)
        if len(found) > _LONG or part.op == "unit" or scalar_constant(part) == 0.0:
            return None
        if part.is_multiplicative or part.is_contraction:
            todo += part.args
        elif part.is_additive or part.op in _COMPOSED:
            todo.append(part.args[0])
    return frozenset(found)


def _may_hold_vanishing(node: Node) -> bool:
    """Tell whether a factor may vanish, as far as a short look goes."""
    todo = list(node.args)
    steps = 0
    while todo and steps < _FACTORS:
        part = peel(todo.pop())
        steps += 1
        if _may_vanish(part):
            return True
        if part.op in _INSIDE:
            todo.extend(part.args)
    return False


def _may_vanish(base: Node) -> bool:
    """Tell whether a factor may be one that vanishes at 0."""
    return base.op in _VANISH or (base.is_additive and _may_vanish_as_sum(base))


@noted
def _may_vanish_as_sum(base: Node) -> bool:
    return any(_is_known(arg) for arg in base.args)


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
    base: Node, known: Vanishing, own: PowerProduct, product: PowerProduct,
    found: dict[Node, tuple[Vanishing, PowerProduct]],
) -> bool:  # fmt: skip
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


# ---------------------------------------------------------------------------- poles that cancel

#: Distance from 0 up to which poles are put on one denominator: far out, its factors overflow and underflow.
_NEAR = 1.0


@rule("add subtract", "1 / tanh(x) - 1 / x, x / sin(x) - 1", "one quotient near 0", "stability",
      below=(VANISHING, INVERSE))
def _poles_that_cancel(node: Node) -> Node | None:
    """Put terms whose poles cancel at 0 on one denominator near it, where a power of their variable cancels."""
    terms, whole = terms_of(node, _TERMS, look=peel)
    if not whole or len(terms) < 2 or node.shape:
        return None
    written = [decomposed(part) for _, part in terms]
    if not any(_may_be_pole(base, n) for found in written if found is not None for base, n in found.powers.items()):
        return None
    products = []
    for (c, _), own in zip(terms, written, strict=True):
        if own is None:
            return None
        products.append(_without_inverses(own.scaled(c)))
    least: dict[Node, int] = {}
    for found in products:
        for base, n in found.powers.items():
            least[base] = min(least.get(base, 0), n)
    least = {base: n for base, n in least.items() if n < 0}
    if not any(_may_cancel(products, base) for base in least if _vanishes_once(base) or base.op in ROWS):
        return None
    above = PowerProduct(1.0, {base: -n for base, n in least.items()})
    made = [found.times(above) for found in products]
    total: Node | None = None
    for found in made:
        part = powers_multiplied([*found.powers.items()], found.number)
        total = part if total is None else elementwise("add", (total, part))
    assert total is not None
    (total,) = stabilize([total])
    known = vanishing(total) if total.is_additive else None
    own = None if known is None else decomposed(known.argument)
    if known is None or own is None or len(own.powers) != 1 or any(map(is_length, own.powers)):
        return None
    ((variable, times),) = own.powers.items()
    if times != 1 or known.order <= max(_order_at_zero(found, variable) for found in made):
        return None
    number, order, quotient, _ = _written(known, 1)
    rest = PowerProduct(number * own.number**order, {variable: order})
    for factor in (quotient, known.beside):
        rest = rest if factor is None else rest.times(PowerProduct(1.0, {factor: 1}))
    rest = rest.times(above.inverse())
    near = compare("less", elementwise("size_of_distance", (variable,)), _NEAR)
    beside = powers_multiplied([*rest.powers.items()], rest.number)
    (beside,) = stabilize([smooth_quotient(beside) or beside])  # so near nothing leaves the range
    return where(near, beside, node)


def _without_inverses(found: PowerProduct) -> PowerProduct:
    """Write x / (exp(x) - 1) as the inverse of (exp(x) - 1) / x, and x / sinh(x) as that of sinh(x) / x."""
    result = PowerProduct(found.number, {})
    for base, n in found.powers.items():
        inverse = _INVERSES.get(base.op)
        if inverse is not None and scalar_constant(base.args[0]) == 0.0:
            result = result.times(PowerProduct(1.0, {quotient_of(TABLE[inverse][0], base.args[1]): -n}))
        elif base.op == "exp_share" and (share := vanishing(base)) is not None:
            result = result.times(PowerProduct(share.number**n, {elementwise("expm1", (share.argument,)): -n}))
        elif base.op == "csch":
            result = result.times(PowerProduct(1.0, {elementwise("sinh", base.args): -n}))
        else:
            result = result.times(PowerProduct(1.0, {base: n}))
    return result


_INVERSES = {"bernoulli_quotient": "exp", "csch_quotient": "sinh"}
#: Operations that divide by a function that vanishes.
_DIVIDING = _INVERSES.keys() | {"exp_share", "csch"}


def _may_be_pole(base: Node, n: int) -> bool:
    return base.op in _DIVIDING or (n < 0 and (_vanishes_once(base) or base.op in ROWS))


def _vanishes_once(base: Node) -> bool:
    return base.op == "expm1" or (base.op in NAMES and base.op not in ("exp", "cos", "cosh"))


def _may_cancel(products: Sequence[PowerProduct], base: Node) -> bool:
    """Tell whether two of some terms are of the same lowest order where the argument of a function vanishes."""
    argument = decomposed(base.args[-1])
    for variable in () if argument is None else argument.powers:
        orders = [_order_at_zero(found, variable) for found in products]
        if orders.count(min(orders)) > 1:
            return True
    return False


def _order_at_zero(found: PowerProduct, variable: Node) -> int:
    order = 0
    for base, n in found.powers.items():
        own = decomposed(base.args[0]) if _vanishes_once(base) else None
        if base is variable or (own is not None and variable in own.powers):
            order += n
    return order


def _is_by_distance(node: Node) -> bool:
    """Tell whether a choice has a form near 0, and the formula farther away."""
    condition = node.args[0] if node.is_choice else None
    return condition is not None and condition.op == "less" and condition.args[0].op == "size_of_distance"


@rule("divide", "(1 - x / tanh(x)) / sinh(x)", "one quotient near 0", "stability", inside="where",
      below=(VANISHING, INVERSE))
def _over_what_vanishes(node: Node) -> Node | None:
    """Divide both forms, near 0 and far out, of terms whose poles cancel: near 0 the quotient has a form of its own."""
    choice, divisor = node.args
    if not _is_by_distance(choice) or node.shape or not divisor.below & VANISHING:
        return None
    condition, near, far = choice.args
    (beside,) = stabilize([elementwise("divide", (near, divisor))])
    return where(condition, beside, elementwise("divide", (far, divisor)))


@rule("where", "where(size_of_distance(x) < 1, y, z)", "z", "shown")
def _without_distance(node: Node) -> Node | None:
    """Show a formula as it is away from a removable singularity."""
    return spread(node.args[2], node.shape) if _is_by_distance(node) else None


# ---------------------------------------------------------------------------- means of powers

#: The distance of a mean of powers from 1 up to which its logarithm is that of 1 and the distance.
_NEAR_ONE = 0.5


@rule("power divide", "(a x**r + (1 - a) y**r)**(1 / r), log(a x**r + (1 - a) y**r) / r",
      "the same with powers less 1, for small r", "stability", below=(INVERSE,))
def _mean_of_powers(node: Node) -> Node | None:
    """Take 1 from powers of a small exponent where their mean is raised to its inverse."""
    if node.shape or not (node.is_power or node.below & LOGARITHM):
        return None
    mean, outer = node.args[0], decomposed(node.args[1] if node.is_power else node)
    if outer is None:
        return None
    if not node.is_power:
        logs = [base for base, n in outer.powers.items() if base.op == "log" and n == 1]
        if len(logs) != 1:
            return None
        mean, outer = logs[0].args[0], outer.times(PowerProduct(1.0, {logs[0]: -1}))
    for exponent in [base for base, n in outer.powers.items() if n == -1]:
        over = _less_one(mean, exponent)
        if over is not None:
            distance = exponent * over
            rest = outer.times(PowerProduct(1.0, {exponent: 1}))
            quotient = elementwise("log1p_remainder_1", (constant(0.0), distance))
            near = powers_multiplied([*rest.powers.items()], rest.number) * over * quotient
            (near,) = stabilize([elementwise("exp", (near,)) if node.is_power else near])
            return where(compare("less", elementwise("size_of_distance", (distance,)), _NEAR_ONE), near, node)
    return None


def _less_one(mean: Node, exponent: Node) -> Node | None:
    """Return a sum of powers of an exponent, less 1 and over the exponent, where it is 1 at an exponent of 0."""
    whole = decomposed(mean)
    sums = [] if whole is None else [base for base, n in whole.powers.items() if base.is_additive and n == 1]
    if whole is None or len(sums) != 1:
        return None
    weight = whole.times(PowerProduct(1.0, {sums[0]: -1}))
    terms, are_all = terms_of(sums[0], _TERMS, look=peel)
    at_zero, total = [(-1.0, ONE)], constant(0.0)
    for sign, term in terms if are_all else ():
        own = decomposed(term)
        if own is None:
            return None
        found = own.times(weight)
        moving = [base for base in found.powers if base.is_power and scalar_constant(base.args[1]) is None]
        rest = [(base, n) for base, n in found.powers.items() if base not in moving]
        number = powers_multiplied(rest, found.number)
        at_zero.append((sign, number))
        for base in moving:
            n, times = found.powers[base], decomposed(base.args[1])
            if len(moving) > 1 or times is None or times.powers != {exponent: 1}:
                return None
            power = base.args[1] if n == 1 else n * base.args[1]
            less = elementwise("power_remainder", (constant(0.0), base.args[0], power))
            total = total + sign * n * times.number * number * less
    if len(at_zero) < 3:
        return None
    from .rational_form import is_zero  # not needed before two sums are compared

    return total if is_zero(at_zero) else None


# ---------------------------------------------------------------------------- rows of rotations


def _is_length_of_rows(node: Node) -> bool:
    """Tell whether a node is the lengths of the rows of an array, with an axis of one number in place of a row's."""
    if not node.is_reshape or node.args[0].op not in ("norm", "sqrt"):
        return False
    return node.args[0].shape == tuple(size for size in node.shape if size != 1) and node.args[0].ndim < node.ndim


class _RowScalar(Scalar):
    """The length of each row of an array, with an axis of one number for those of a row, as a factor of other nodes.

    Parameters
    ----------
    node : Node
        As :func:`_is_length_of_rows` knows it. Nodes that it is a factor of have as many axes, or are reshaped to it.
    """

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        squares = [reshape(square, node.shape) for square in squares_of(node.args[0])]
        self._powers |= dict.fromkeys(squares, 2)
        self._without |= dict.fromkeys(squares, ONE)
        self._long = [axis for axis, size in enumerate(node.shape) if size != 1]

    def _found(self, node: Node) -> int | None:
        if scalar_constant(node) == 0.0:
            return None
        inside = self._summed(node)
        if inside is not None:
            return self._of_operands(inside, tuple(range(len(self._long))))
        if node.ndim != self._node.ndim:
            return 0
        if node.is_contraction:
            return self._of_operands(node, tuple(self._long))
        if node.op == "unit":
            (x,) = node.args
            length = reshape(reduce("norm", x, axes_of(node, x)), self._node.shape)
            return -1 if length is self._node else 0
        if node.op in ("slice", "gather", "concatenate") and not self._keeps_rows(node):
            return 0
        return super()._found(node) if node.op not in _MOVING else 0

    def _summed(self, node: Node) -> Node | None:
        """Return the contraction over a row that is reshaped to a number a row."""
        x = node.args[0] if node.is_reshape and node.shape == self._node.shape else None
        fits = x is not None and x.is_contraction and x.shape == tuple(node.shape[axis] for axis in self._long)
        return x if fits else None

    def _of_operands(self, node: Node, out: tuple[int, ...]) -> int:
        """Return the power of the operands of a contraction that have all rows in their places."""
        labels, result, repeated = node.payload
        rows = [result[axis] for axis in out]
        if any(label in dict(repeated) for label in rows):
            return 0
        fitting = [arg for arg, own in zip(node.args, labels, strict=True) if self._has_rows(arg, own, rows)]
        return sum(self.power(arg) for arg in fitting)

    def _has_rows(self, arg: Node, own: Sequence[int], rows: Sequence[int]) -> bool:
        return arg.ndim == self._node.ndim and [own[axis] for axis in self._long] == list(rows)

    def _keeps_rows(self, node: Node) -> bool:
        if node.is_slice:
            items = node.payload.items
            whole = all(items[axis] == (0, 1, node.args[0].shape[axis]) for axis in self._long)
            return whole and node.ndim == node.args[0].ndim
        return node.payload.axis % node.ndim not in self._long and node.args[0].ndim == node.ndim

    def _rest(self, node: Node) -> Node:
        inside = self._summed(node)
        if inside is not None:
            return reshape(self._without_rows(inside, tuple(range(len(self._long)))), node.shape)
        if node.is_contraction:
            return self._without_rows(node, tuple(self._long))
        return super()._rest(node)

    def _without_rows(self, node: Node, out: tuple[int, ...]) -> Node:
        labels, result, _ = node.payload
        rows = [result[axis] for axis in out]
        args = [
            spread(self.without(arg), arg.shape) if self._has_rows(arg, own, rows) else arg
            for arg, own in zip(node.args, labels, strict=True)
        ]
        return rebuild(node, tuple(args))


@rule("multiply divide", "norm(x, axis=1) * c(x) * cross(x / norm(x, axis=1), v), ...",
      "c(x) * cross(x, v), for such a quotient c of the lengths of rows", "stability", below=(INVERSE, EVEN))
def _lengths_of_rows_within_products(node: Node) -> Node | None:
    """Cancel lengths of rows that divide one factor and multiply an even quotient of them in another."""
    for length in _rows_left_over(node):
        scalar = _RowScalar(length)
        powers = [scalar.power(arg) for arg in node.args]
        if node.is_division:
            powers[1] = -powers[1]
        if min(powers) < 0 < max(powers):
            args = [spread(scalar.without(arg), arg.shape) for arg in node.args]
            return times_power(spread(product(node.op, args), node.shape), length, sum(powers))
    return None


def _rows_left_over(node: Node) -> list[Node]:
    """Return the lengths of rows by which a product with an even quotient of them is multiplied."""
    found = []
    for arg in node.args:
        part = arg
        while part.op in LINEAR or part.is_named:
            part = part.args[0]
        if part.is_multiplication and _is_length_of_rows(part.args[1]) and _has_even(part.args[0], part.args[1]):
            found.append(part.args[1])
    return found


def _has_even(node: Node, length: Node) -> bool:
    todo = [node]
    while todo:
        part = peel(todo.pop())
        if part.op in PRODUCTS:
            todo.extend(part.args)
        elif part.op in _EVEN and without_numbers(peel(part.args[1]))[1] is length:
            return True
    return False
