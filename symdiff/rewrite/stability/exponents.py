"""Products by their exponentials: a number, whole powers, one exponent, sums of exponentials, and the rest.

Exponents are numbers times nodes, and sums of exponentials have their coefficients beside them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from ...graph import Node, constant, elementwise, reduce
from ...graph.kinds import EXPONENTIAL, bit_of
from ...graph.scalars.arithmetic import SUMS, PowerProduct, factors_of, peel, terms_of, times_power
from ...graph.scalars.functions import scalar_constant
from ...graph.sizes import Shape
from ...ground.gc_pause import noted, notes
from ..facts import is_positive
from ..rewriter import spread

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
        #: Nodes in exponents, in the order of first use.
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
#: Operations that hold an exponential in a form of their own.
SHAPES = frozenset(("exp", "sigmoid", "sigmoid_slope", "sech", "csch", "exp_gap", "exp_share", "cosh", "sinh", "expm1"))
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
    found = _parts(node) if _holds_several(node) else None
    return None if found is None or not _may_meet(found[1]) else _product(*found)


def _parts(node: Node) -> tuple[int, list[tuple[Node, float]]] | None:
    sign, parts, whole = factors_of(node, steps=2 * FACTORS, enter=_is_product, look=peel)
    return (sign, parts) if whole else None


def _may_meet(parts: Sequence[tuple[Node, float]]) -> bool:
    """Tell whether two factors have exponentials, or one in another power than 1; those of most products do not."""
    seen = 0
    for part, power in parts:
        if part.below & EXPONENTIAL and (part.op in SHAPES or _is_smooth(part) or _summed(part) is not None):
            seen += 1 + (part.op == "exp_gap")
            if seen > 1 or power != 1.0:
                return True
    return False


def _holds_several(node: Node) -> bool:
    """Tell whether a product may have two factors with exponentials, or one in another power; a first look."""
    seen, todo = 0, [node]
    for _ in range(2 * FACTORS):
        if not todo:
            return False
        part = todo.pop()
        if not part.below & EXPONENTIAL:
            continue
        op = part.op
        if op == "multiply":
            todo += part.args
        elif op in ("negative", "named"):
            todo.append(part.first)
        elif op == "divide":
            if part.second.below & EXPONENTIAL:
                return True
            todo.append(part.first)
        elif op in ("power", "sqrt"):
            return True
        else:
            seen += 2 * (op == "exp_gap") or op in SHAPES or op in _SUMS or _is_smooth(part)
            if seen > 1:
                return True
    return bool(todo)


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


#: Operations that overflow only as divisors.
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
    elif part.op == "exp_gap":
        _take(result, elementwise("exp", part.args[:1]), power)
        result.take_sum(_one_and(constant(-1.0), ONE, linear(part.args[1])), power)
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


#: Numbers times nodes, added up; the constant stands under None.
Linear: TypeAlias = "dict[Node | None, float]"
#: Most factors of a product, terms of a sum, terms of an exponent and nodes of a sum that are searched.
FACTORS, TERMS, EXPONENTS, STEPS = 12, 8, 12, 32
#: Part of the largest coefficient below which what is left of several has lost digits.
_REST = 0.25


# ---------------------------------------------------------------------------- exponents


def linear(node: Node, scale: float = 1.0) -> Linear:
    """Return an exponent as numbers times nodes; beyond a few terms a sum is one node."""
    if scale == 1.0:
        return _linear(node)
    return multiple(_linear(node), scale) if scale == -1.0 else _scaled_terms(node, scale)


@noted
def _linear(node: Node) -> Linear:
    return _scaled_terms(node, 1.0)


def _scaled_terms(node: Node, scale: float) -> Linear:
    found: Linear = {}
    seen: set[Node] = set()
    for c, part in terms_of(node, steps=EXPONENTS, look=peel, multiple=_scaled).parts:
        value = scalar_constant(part)
        if value is not None and math.isfinite(value):
            _put(found, None, scale * c * value)
        else:
            seen.add(part)
            _put(found, part, scale * c)
    # x - x is nan where x is, so nothing is cancelled within an exponent
    return found if seen <= found.keys() else {node: scale}


def _scaled(part: Node) -> tuple[float, Node] | None:
    """Return (c, x) with a product or quotient = c x."""
    if not part.is_multiplicative:
        return None
    first, second = (scalar_constant(arg) for arg in part.args)
    if part.is_multiplication and first is not None:
        return first, part.args[1]
    if second is None:
        (c, x), (d, y) = (_stripped(arg) for arg in part.args)
        if part.is_multiplication and x.is_input and y.is_input and repr(x.name) > repr(y.name):
            x, y = y, x
        stripped = elementwise(part.op, (x, y))
        scale = c * d if part.is_multiplication else c / d
        return None if stripped is part else (scale, stripped)
    if second == 0:
        return None
    return (second if part.is_multiplication else 1.0 / second), part.args[0]


def _stripped(factor: Node) -> tuple[float, Node]:
    """Return (c, x) with factor = c x, as far as one look goes."""
    factor = peel(factor)
    if factor.is_negation:
        return -1.0, factor.args[0]
    c = scalar_constant(factor.args[0]) if factor.is_multiplication else None
    return (c, factor.args[1]) if c else (1.0, factor)


def _put(found: Linear, node: Node | None, c: float) -> None:
    total = found.get(node, 0.0) + c
    if total:
        found[node] = total
    else:
        found.pop(node, None)


def added(a: Linear, b: Linear, scale: float = 1.0) -> Linear:
    """Return a + scale b."""
    result = dict(a)
    for node, c in b.items():
        _put(result, node, scale * c)
    return result


def multiple(a: Linear, scale: float) -> Linear:
    """Return scale a."""
    return {node: c * scale for node, c in a.items()} if scale else {}


def as_node(a: Linear) -> Node:
    """Return an exponent as a node: positive terms first."""
    result: Node | None = None
    for node, c in sorted(a.items(), key=lambda pair: (pair[1] < 0, pair[0] is None)):
        size = constant(abs(c)) if node is None else node if abs(c) == 1.0 else constant(abs(c)) * node
        if result is None:
            result = size if c > 0 else constant(c) if node is None else -node if c == -1.0 else constant(c) * node
        else:
            result = result + size if c > 0 else result - size
    return constant(0.0) if result is None else result


def ratio(a: Linear, b: Linear) -> float | None:
    """Return r with a = r b, or None."""
    first = next(iter(b))
    r = a.get(first, 0.0) / b[first]
    return r if a.keys() <= b.keys() and all(a.get(node, 0.0) == r * c for node, c in b.items()) else None


# ---------------------------------------------------------------------------- sums of exponentials


class ExponentialTerm(NamedTuple):
    """``number * product of factors * exp(exponent)``; ``taken`` is what a difference such as expm1 takes away."""

    number: float
    factors: tuple[Node, ...]
    exponent: Linear
    taken: bool = False


#: Forms that parts of sums were read as, and the number of nodes that took; less than 0 where no room was left.
_Known: TypeAlias = "dict[Node, tuple[list[ExponentialTerm] | None, int]]"


def exponential_terms(node: Node) -> list[ExponentialTerm] | None:
    """Return a sum as terms with their exponents; None if it has too many.

    Each term of the sum has room for so many nodes: what is found in one does not depend on their order.
    """
    return _read(peel(node), [STEPS], True, notes().setdefault(__name__, {}))


def _terms(node: Node, room: list[int], known: _Known) -> list[ExponentialTerm] | None:
    """Return the terms of a part, for which there may be room; those that were read before, if there is room again.

    ``room`` counts how many nodes are left.
    """
    node = peel(node)
    before = room[0]
    if before <= 0:
        room[0] = -1
        return [ExponentialTerm(1.0, (node,), {})]
    found = known.get(node)
    if found is not None:
        terms, used = found
        if 0 < used <= before:
            room[0] = before - used
            return terms
        if before <= -used:  # as little room as there was, or less
            room[0] = -1
            return terms
    terms = _read(node, room, False, known)
    if room[0] >= 0:
        known[node] = terms, before - room[0]
    elif node.is_multiplication and not node.below & EXPONENTIAL and _has_no_number(node):
        known[node] = terms, -before
    return terms


def _has_no_number(node: Node) -> bool:
    return all(scalar_constant(arg) is None for arg in node.args)


def _read(node: Node, room: list[int], is_whole: bool, known: _Known) -> list[ExponentialTerm] | None:
    room[0] -= 1
    value = scalar_constant(node)
    if value is not None and math.isfinite(value):
        return [ExponentialTerm(value, (), {})] if value else []
    if node.op == "exp":
        return [ExponentialTerm(1.0, (), linear(node.args[0]))]
    if node.is_contraction and is_sum_along_axes(node):
        x = node.args[0].args[0]
        axes = tuple(a for a, label in enumerate(node.payload.labels[0]) if label not in node.payload.out)
        return [ExponentialTerm(1.0, (), {reduce("logsumexp", x, axes): 1.0})]
    if node.op == "expm1":
        return [ExponentialTerm(1.0, (), linear(node.args[0])), ExponentialTerm(-1.0, (), {}, taken=True)]
    if node.op in ("cosh", "sinh"):
        sign = 0.5 if node.op == "cosh" else -0.5
        up = linear(node.args[0])
        return [ExponentialTerm(0.5, (), up), ExponentialTerm(sign, (), multiple(up, -1.0))]
    if node.op in SUMS:
        found: list[ExponentialTerm] = []
        for sign, part in terms_of(node, TERMS, look=peel).parts:
            own = _times_number(_terms(part, [STEPS] if is_whole else room, known), sign)
            if own is None or len(found) + len(own) > TERMS:
                return None
            found += own
        return found
    if node.is_multiplication:
        left, right = _terms(node.args[0], room, known), _terms(node.args[1], room, known)
        if left is not None and right is not None and (_moves(left) or _moves(right)) and len(left) * len(right) <= 4:
            return [
                ExponentialTerm(
                    a.number * b.number, a.factors + b.factors, added(a.exponent, b.exponent), a.taken or b.taken
                )
                for a in left
                for b in right
            ]
        for c, x in (node.args, node.args[::-1]):
            number = scalar_constant(c)
            if number is not None:
                return _times_number(_terms(x, room, known), number)
    if node.is_division:
        by = _terms(node.args[1], room, known)
        if by is not None and len(by) == 1 and not by[0].factors:
            top = _times_number(_terms(node.args[0], room, known), 1.0 / by[0].number)
            return None if top is None else [t._replace(exponent=added(t.exponent, by[0].exponent, -1.0)) for t in top]
    if node.is_power:
        n, base = scalar_constant(node.args[1]), peel(node.args[0])
        if n is not None and base.op == "exp":
            return [ExponentialTerm(1.0, (), linear(base.args[0], n))]
    return [ExponentialTerm(1.0, (node,), {})]


def is_sum_along_axes(node: Node) -> bool:
    """Tell whether a contraction is the sum of exponentials along some axes, the others in their order."""
    if len(node.args) != 1 or node.args[0].op != "exp":
        return False
    (own,), out, repeated = node.payload
    kept = tuple(label for label in own if label in out)
    return not repeated and len(set(own)) == len(own) > len(out) and out == kept


#: Operations of terms that may be nothing but a number and an exponential.
_READ = frozenset(("constant", "reshape", "contract", "exp", "expm1", "cosh", "sinh", "multiply", "divide", "power"))
#: Depth to which factors are looked for.
_DEPTH = 6


def has_factors(node: Node, depth: int = _DEPTH) -> bool:
    """Tell whether a term of a sum surely has a factor that is no number and no exponential, as a short look tells."""
    node = peel(node)
    op = node.op
    if op in SUMS or op in ("multiply", "divide"):
        if depth == 0:
            return False
        for arg in node.args:
            if has_factors(arg, depth - 1):
                return op != "multiply" or 0.0 not in (scalar_constant(node.args[0]), scalar_constant(node.args[1]))
        return False
    if op == "power":
        return peel(node.args[0]).op != "exp"
    if op in ("reshape", "contract"):
        return scalar_constant(node) is None and not (op == "contract" and is_sum_along_axes(node))
    return op not in _READ


def _times_number(terms: list[ExponentialTerm] | None, c: float) -> list[ExponentialTerm] | None:
    if terms is None or c == 1.0:
        return terms
    return [t._replace(number=t.number * c) for t in terms]


def _moves(terms: Iterable[ExponentialTerm]) -> bool:
    return any(term.exponent for term in terms)


@dataclass(frozen=True)
class Sum:
    """``sum of coefficient * exp(exponent)``, exponents all different.

    Sums whose exponents have the same terms in another order are equal; what is made of them keeps
    the order that the formula has.
    """

    coefficients: tuple[Node, ...]
    keys: tuple[frozenset[tuple[Node | None, float]], ...]
    exponents: tuple[Linear, ...] = field(compare=False)
    #: True where exponentials cancel beside others where all exponents are 0, as those of ``x + sinh(x)`` do.
    cancels: bool = field(compare=False, default=False)

    @staticmethod
    def of(coefficients: Iterable[Node], exponents: Iterable[Linear]) -> Sum:
        """Return a sum with these coefficients and exponents."""
        known = tuple(exponents)
        return Sum(tuple(coefficients), tuple(frozenset(e.items()) for e in known), known)

    def parts(self) -> list[tuple[Node, Linear]]:
        """Return coefficients and exponents."""
        return [(c, dict(e)) for c, e in zip(self.coefficients, self.exponents, strict=True)]

    def sign(self) -> int:
        """Return 1 where all coefficients are positive numbers, -1 where one of two is negative, else 0."""
        numbers = [scalar_constant(c) for c in self.coefficients]
        if any(n is None for n in numbers):
            return 0
        if all(n is not None and n > 0 for n in numbers):
            return 1
        return -1 if len(numbers) == 2 and numbers[0] == -(numbers[1] or 0.0) else 0


@noted
def as_sum(node: Node) -> Sum | None:
    """Return a sum of exponentials, one of which moves; None for anything else."""
    terms = exponential_terms(node)
    if terms is None or not _moves(terms):
        return None
    found: dict[frozenset[tuple[Node | None, float]], Node] = {}
    exponents: dict[frozenset[tuple[Node | None, float]], Linear] = {}
    taken: set[frozenset[tuple[Node | None, float]]] = set()
    alike: dict[tuple[Node, ...], dict[frozenset[tuple[Node | None, float]], float]] = {}
    for term in terms:
        shift = term.exponent.get(None, 0.0)
        moving: Linear = {n: c for n, c in term.exponent.items() if n is not None}
        if shift and abs(shift) > 100.0:
            moving[None] = shift
            shift = 0.0
        number = term.number * math.exp(shift)
        coefficient = constant(number)
        for i, factor in enumerate(term.factors):
            coefficient = factor if i == 0 and number == 1.0 else coefficient * factor
        key = frozenset(moving.items())
        exponents.setdefault(key, moving)
        own = alike.setdefault(term.factors, {})
        own[key] = own.get(key, 0.0) + number
        if term.taken:
            taken.add(key)
        if key in found:
            first, second = scalar_constant(found[key]), scalar_constant(coefficient)
            total = found[key] + coefficient if first is None or second is None else constant(first + second)
            if key in taken and (first is None or second is None or 0.0 < abs(first + second) < _REST):
                return None  # expm1(x) + y is near y for a small x, and exp(x) + (y - 1) is not
            found[key] = total
        else:
            found[key] = coefficient
    kept = {key: c for key, c in found.items() if scalar_constant(c) != 0.0}
    if len(kept) < 2:
        return None
    result = Sum.of(kept.values(), [exponents[key] for key in kept])
    return replace(result, cancels=True) if _cancel(alike) else result


def _cancel(alike: Mapping[tuple[Node, ...], Mapping[frozenset[tuple[Node | None, float]], float]]) -> bool:
    """Tell whether the numbers of exponentials with the same factors nearly add up to 0.

    Those of two alone need not: their difference is a hyperbolic tangent times their sum.
    """
    if len(alike) == 1 and not next(iter(alike)) and sum(map(bool, alike[()].values())) < 3:
        return False
    for own in alike.values():
        largest = max(map(abs, own.values()))
        if len(own) > 1 and abs(sum(own.values())) < _REST * largest:
            return True
    return False
