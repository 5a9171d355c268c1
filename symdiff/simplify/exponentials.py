"""Quotients of exponentials in one normal form, which neither overflows nor loses its derivative.

A product is taken apart into a number, one exponent, sums of exponentials with powers, and the
rest. An exponent and a sum belong together: ``exp(x) / (1 + exp(x))**2`` is ``inf / inf`` far out,
and the same as ``sigmoid(x) * sigmoid(-x)``. With ``F(t) = 1 / (b + c exp(t))``, what is one exponent
further on is ``exp(t) F(t) = 1 / (b exp(-t) + c)``, a function of the same kind: so an exponent is
taken into the functions as far as it reaches, and what is left over cannot meet a 0 with an inf.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ..functions import scalar_constant
from ..graph import Node, concatenate, constant, elementwise, normalize, reduce, reshape, slicing
from ..sizes import Shape
from .engine import is_number, peel, spread

#: Numbers times nodes, added up; the constant stands under None.
Linear: TypeAlias = "dict[Node | None, float]"
#: So many factors of a product, terms of a sum and terms of an exponent are looked at.
FACTORS, TERMS, EXPONENTS = 12, 8, 12


# ---------------------------------------------------------------------------- exponents


def linear(node: Node, scale: float = 1.0) -> Linear:
    """Return an exponent as numbers times nodes; beyond a few terms a sum is one node."""
    found: Linear = {}
    seen: set[Node] = set()
    todo = [(peel(node), scale)]
    steps = 0
    while todo:
        part, c = todo.pop()
        steps += 1
        value = scalar_constant(part)
        if value is not None and math.isfinite(value):
            _put(found, None, c * value)
        elif steps > EXPONENTS:
            seen.add(part)
            _put(found, part, c)
        elif part.op in ("add", "subtract"):
            todo.append((peel(part.args[1]), c if part.op == "add" else -c))
            todo.append((peel(part.args[0]), c))
        elif part.op == "negative":
            todo.append((peel(part.args[0]), -c))
        elif part.op in ("multiply", "divide"):
            inner = _scaled(part)
            if inner is None:
                seen.add(part)
                _put(found, part, c)
            else:
                todo.append((peel(inner[1]), c * inner[0]))
        else:
            seen.add(part)
            _put(found, part, c)
    # x - x is nan where x is, so nothing is cancelled within an exponent
    return found if seen <= found.keys() else {node: scale}


def _scaled(part: Node) -> tuple[float, Node] | None:
    """Return (c, x) with a product or quotient = c x."""
    first, second = (scalar_constant(arg) for arg in part.args)
    if part.op == "multiply" and first is not None:
        return first, part.args[1]
    if second is None:
        (c, x), (d, y) = (_stripped(arg) for arg in part.args)
        if part.op == "multiply" and x.op == y.op == "input" and repr(x.payload) > repr(y.payload):
            x, y = y, x
        stripped = elementwise(part.op, (x, y))
        scale = c * d if part.op == "multiply" else c / d
        return None if stripped is part else (scale, stripped)
    if second == 0:
        return None
    return (second if part.op == "multiply" else 1.0 / second), part.args[0]


def _stripped(factor: Node) -> tuple[float, Node]:
    """Return (c, x) with factor = c x, as far as one look goes."""
    factor = peel(factor)
    if factor.op == "negative":
        return -1.0, factor.args[0]
    c = scalar_constant(factor.args[0]) if factor.op == "multiply" else None
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


@dataclass(frozen=True)
class Term:
    """``number * product of factors * exp(exponent)``."""

    number: float
    factors: tuple[Node, ...]
    exponent: Linear = field(hash=False)


def terms_of(node: Node) -> list[Term] | None:
    """Return a sum as terms with their exponents; None if it has too many."""
    node = peel(node)
    value = scalar_constant(node)
    if value is not None and math.isfinite(value):
        return [Term(value, (), {})] if value else []
    if node.op == "exp":
        return [Term(1.0, (), linear(node.args[0]))]
    if node.op == "contract" and _is_sum_along_axes(node):
        x = node.args[0].args[0]
        axes = tuple(a for a, label in enumerate(node.payload[0][0]) if label not in node.payload[1])
        return [Term(1.0, (), {reduce("logsumexp", x, axes): 1.0})]
    if node.op == "expm1":
        return [Term(1.0, (), linear(node.args[0])), Term(-1.0, (), {})]
    if node.op in ("cosh", "sinh"):
        sign = 0.5 if node.op == "cosh" else -0.5
        up = linear(node.args[0])
        return [Term(0.5, (), up), Term(sign, (), multiple(up, -1.0))]
    if node.op == "negative":
        return _times_number(terms_of(node.args[0]), -1.0)
    if node.op in ("add", "subtract"):
        parts = [terms_of(arg) for arg in node.args]
        if parts[0] is None or parts[1] is None or len(parts[0]) + len(parts[1]) > TERMS:
            return None
        return [*parts[0], *(_times_number(parts[1], -1.0 if node.op == "subtract" else 1.0) or [])]
    if node.op == "multiply":
        left, right = (terms_of(arg) for arg in node.args)
        if left is not None and right is not None and (_moves(left) or _moves(right)) and len(left) * len(right) <= 4:
            return [
                Term(a.number * b.number, a.factors + b.factors, added(a.exponent, b.exponent))
                for a in left
                for b in right
            ]
        for c, x in (node.args, node.args[::-1]):
            number = scalar_constant(c)
            if number is not None:
                return _times_number(terms_of(x), number)
    if node.op == "divide":
        by = terms_of(node.args[1])
        if by is not None and len(by) == 1 and not by[0].factors:
            top = _times_number(terms_of(node.args[0]), 1.0 / by[0].number)
            return None if top is None else [replace(t, exponent=added(t.exponent, by[0].exponent, -1.0)) for t in top]
    if node.op == "power":
        n, base = scalar_constant(node.args[1]), peel(node.args[0])
        if n is not None and base.op == "exp":
            return [Term(1.0, (), linear(base.args[0], n))]
    return [Term(1.0, (node,), {})]


def _is_sum_along_axes(node: Node) -> bool:
    """Tell whether a contraction is the sum of exponentials along some axes, the others in their order."""
    if len(node.args) != 1 or node.args[0].op != "exp":
        return False
    (own,), out, repeated = node.payload
    kept = tuple(label for label in own if label in out)
    return not repeated and len(set(own)) == len(own) > len(out) and out == kept


def _times_number(terms: list[Term] | None, c: float) -> list[Term] | None:
    if terms is None or c == 1.0:
        return terms
    return [replace(t, number=t.number * c) for t in terms]


def _moves(terms: Iterable[Term]) -> bool:
    return any(t.exponent for t in terms)


@dataclass(frozen=True)
class Sum:
    """``sum of coefficient * exp(exponent)``, exponents all different."""

    coefficients: tuple[Node, ...]
    exponents: tuple[frozenset[tuple[Node | None, float]], ...]

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


def as_sum(node: Node) -> Sum | None:
    """Return a sum of exponentials, one of which moves; None for anything else."""
    terms = terms_of(node)
    if terms is None or not _moves(terms):
        return None
    found: dict[frozenset[tuple[Node | None, float]], Node] = {}
    for term in terms:
        shift = term.exponent.get(None, 0.0)
        moving = {n: c for n, c in term.exponent.items() if n is not None}
        if shift and abs(shift) > 100.0:
            moving[None] = shift
            shift = 0.0
        number = term.number * math.exp(shift)
        coefficient = constant(number)
        for i, factor in enumerate(term.factors):
            coefficient = factor if i == 0 and number == 1.0 else coefficient * factor
        key = frozenset(moving.items())
        if key in found:
            first, second = scalar_constant(found[key]), scalar_constant(coefficient)
            total = found[key] + coefficient if first is None or second is None else constant(first + second)
            found[key] = total
        else:
            found[key] = coefficient
    kept = {key: c for key, c in found.items() if scalar_constant(c) != 0.0}
    if len(kept) < 2:
        return None
    return Sum(tuple(kept.values()), tuple(kept))


# ---------------------------------------------------------------------------- products


@dataclass
class Product:
    """``number * exp(exponent) * sums**powers * others**powers``."""

    number: float = 1.0
    exponent: Linear = field(default_factory=dict)
    sums: dict[Sum, float] = field(default_factory=dict)
    others: dict[Node, float] = field(default_factory=dict)
    #: What stands in exponents.
    moving: set[Node] = field(default_factory=set)
    exponentials: int = 0
    raw: int = 0
    under: int = 0

    def take_sum(self, found: Sum, power: float) -> None:
        """Multiply by a power of a sum."""
        self.moving.update(node for exponent in found.exponents for node, _ in exponent if node is not None)
        total = self.sums.get(found, 0.0) + power
        if total:
            self.sums[found] = total
        else:
            self.sums.pop(found, None)


_ONE_AND = frozenset[tuple["Node | None", float]]()


def _one_and(b: Node, c: Node, t: Linear) -> Sum:
    return Sum((b, c), (_ONE_AND, frozenset(t.items())))


ONE = constant(1.0)
#: What holds an exponential in a form of its own.
SHAPES = frozenset(("exp", "sigmoid", "sigmoid_slope", "sech", "csch", "exp_share", "cosh", "sinh", "expm1"))
_THROUGH = frozenset(("multiply", "divide", "negative", "power", "named", "add", "subtract", "sqrt"))


def may_hold_exponentials(node: Node) -> bool:
    """Tell whether an exponential is among the factors, or the terms of a factor, as far as a short look goes."""
    todo = list(node.args)
    steps = 0
    while todo and steps < 2 * FACTORS:
        part = todo.pop()
        steps += 1
        if part.op in SHAPES or (part.op == "contract" and _is_sum_along_axes(part)):
            return True
        if part.op in _THROUGH:
            todo.extend(part.args)
    return False


def as_product(node: Node) -> Product | None:
    """Take a product apart; None if it has too many factors."""
    result = Product()
    todo: list[tuple[Node, float]] = [(node, 1.0)]
    steps = 0
    while todo:
        part, power = todo.pop()
        part = peel(part)
        steps += 1
        if steps > 2 * FACTORS:
            return None
        n = scalar_constant(part)
        if n is not None and n > 0 and math.isfinite(n) or (n is not None and n < 0 and power.is_integer()):
            try:
                result.number *= n**power
            except OverflowError:
                return None
        elif part.op in ("multiply", "divide"):
            if part.op == "divide" or power.is_integer():
                todo.append((part.args[1], power if part.op == "multiply" else -power))
                todo.append((part.args[0], power))
            else:
                _take_other(result, part, power)
        elif part.op == "negative" and power.is_integer():
            result.number *= -1.0 if power % 2 else 1.0
            todo.append((part.args[0], power))
        elif part.op == "power" and _whole_power(part, power) is not None:
            todo.append((part.args[0], _whole_power(part, power) or 0.0))
        elif part.op == "sqrt" and _is_positive(peel(part.args[0])):
            todo.append((part.args[0], power / 2))
        else:
            _take(result, part, power)
    return result


#: What overflows only when it is divided by.
_BOUNDED = frozenset(("sigmoid", "sigmoid_slope", "sech", "csch", "exp_share"))
_POSITIVE = frozenset(("exp", "sigmoid", "sigmoid_slope", "sech", "cosh"))


def _is_positive(node: Node) -> bool:
    """Tell whether a node is an exponential or a sum of such with positive coefficients."""
    if node.op == "add":
        found = as_sum(node)
        return found is not None and found.sign() == 1
    return node.op in _POSITIVE


def _whole_power(part: Node, power: float) -> float | None:
    """Return n m for a factor (x**n)**m where that is x**(n m)."""
    n = scalar_constant(part.args[1])
    if n is None or not math.isfinite(n) or n == 0:
        return None
    positive = not n.is_integer() and _is_positive(peel(part.args[0]))
    return n * power if positive or (n.is_integer() and power.is_integer()) or power == 1.0 else None


def _take(result: Product, part: Node, power: float) -> None:
    if part.op == "exp":
        exponent = linear(part.args[0])
        result.moving.update(node for node in exponent if node is not None)
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
    elif part.op == "csch":
        t = linear(part.args[0])
        result.number *= (-2.0) ** power
        result.take_sum(_one_and(ONE, constant(-1.0), multiple(t, -2.0)), -power)
        result.number *= (-1.0) ** power
        result.exponent = added(result.exponent, t, -power)
    elif part.op in ("bernoulli_quotient", "csch_quotient") and scalar_constant(part.args[0]) == 0.0:
        u = part.args[1]  # what is 1 at 0 is u times what exponents can be taken into
        _take_other(result, u, power)
        inner = ("exp_share", (constant(-1.0), ONE, u)) if part.op == "bernoulli_quotient" else ("csch", (u,))
        _take(result, elementwise(*inner), power)
    elif part.op == "exp_share":
        b, c, t = part.args
        result.take_sum(_one_and(b, c, linear(t)), -power)
    else:
        found = as_sum(part) if part.op in ("add", "subtract", "cosh", "sinh", "expm1") else None
        if found is None:
            _take_other(result, part, power)
        else:
            result.take_sum(found, power)
            result.raw += 1
            result.under += power < 0


def _take_other(result: Product, part: Node, power: float) -> None:
    result.others[part] = result.others.get(part, 0.0) + power


# ---------------------------------------------------------------------------- the normal form


@dataclass(frozen=True)
class Share:
    """``(b + c exp(t))**-power``."""

    b: Node
    c: Node
    t: Linear = field(hash=False)
    power: float = 1.0

    @property
    def kind(self) -> int:
        """1 where b = c > 0, -1 where b = -c, 2 where both are positive numbers, else 0."""
        b, c = scalar_constant(self.b), scalar_constant(self.c)
        if b is None or c is None:
            return 0
        return 1 if b == c > 0 else -1 if b == -c else 2 if b > 0 and c > 0 else 0


def normal_form(node: Node) -> Node | None:
    """Return a product or quotient with exponentials in its normal form; None where it has it, or none is known."""
    if not may_hold_exponentials(node):
        return None
    product = as_product(node)
    if product is None or not _wants_form(product):
        return None
    result = _build(product, node.shape)
    return None if result is None or result is node else result


def _wants_form(p: Product) -> bool:
    """Tell whether a product holds what may meet as 0 and inf."""
    if p.exponentials > 1 or (p.raw and not p.sums and p.exponentials):
        return True
    if any(power < 0 for power in p.sums.values()) and (p.under or p.exponentials or p.raw):
        return True
    return bool(p.exponentials and p.sums)


def _build(p: Product, shape: Shape) -> Node | None:
    """Return the product in its normal form."""
    number, exponent = p.number, dict(p.exponent)
    shares: dict[tuple[Node, Node, frozenset[tuple[Node | None, float]]], Share] = {}
    tops: list[tuple[Share, float]] = []
    wide: list[tuple[Sum, float]] = []
    for found, power in p.sums.items():
        if len(found.coefficients) > 2:
            wide.append((found, power))
            continue
        (b, l1), (c, l2) = sorted(found.parts(), key=lambda part: bool(part[1]))
        t = added(l2, l1, -1.0)
        exponent = added(exponent, l1, power)
        b, c, t, exponent, number = _upright(b, c, t, exponent, number, power)
        if power > 0:
            tops.append((Share(b, c, t), power))
        else:
            key = (b, c, frozenset(t.items()))
            before = shares[key].power if key in shares else 0.0
            shares[key] = Share(b, c, t, before - power)
    seen = {node for t in (exponent, *(share.t for share in (*shares.values(), *(top for top, _ in tops)))) for node in t}
    lost = [] if wide else [node for node in p.moving if node not in seen]
    for node in lost:  # it cancels, but leaves a nan where it is nan or infinite
        exponent[node - node] = 1.0
    if wide or len(shares) + len(tops) > 4:
        return _wide_form(p, shape) if len(p.sums) <= 2 else None
    factors, tops = _without_differences(shares, tops)
    rest: list[tuple[Share, float]] = []
    for top, power in tops:
        key = (top.b, top.c, frozenset(top.t.items()))
        if key in shares and top.kind == 1:  # (1 + exp(t)) / (1 + exp(t))
            common = min(power, shares[key].power)
            shares[key] = replace(shares[key], power=shares[key].power - common)
            power -= common
        if power:
            rest.append((top, power))
    below = [share for share in shares.values() if share.power]
    return _with_tops(p, number, exponent, below, rest, factors, shape)


def _without_differences(
    shares: dict[tuple[Node, Node, frozenset[tuple[Node | None, float]]], Share], tops: list[tuple[Share, float]]
) -> tuple[list[Node], list[tuple[Share, float]]]:
    """Write differences of the numerator as exp(t) - 1 = tanh(t / 2) (exp(t) + 1), since terms of theirs would cancel."""
    factors: list[Node] = []
    found: list[tuple[Share, float]] = []
    one = constant(1.0)
    differences = any(top.kind == -1 for top, _ in tops)
    for top, power in tops:
        if top.kind == -1:
            factors.append(_power(elementwise("tanh", (as_node(multiple(top.t, 0.5)),)), power))
            top = Share(one, one, top.t)
        found.append((top, power))
    sums = [top.t for top, _ in found]
    for key, share in list(shares.items()):
        if share.kind == -1 and (differences or share.t in sums):
            factors.append(_power(elementwise("tanh", (as_node(multiple(share.t, 0.5)),)), -share.power))
            del shares[key]
            key = (one, one, key[2])
            before = shares[key].power if key in shares else 0.0
            shares[key] = Share(one, one, share.t, before + share.power)
    return factors, found


def _upright(
    b: Node, c: Node, t: Linear, exponent: Linear, number: float, power: float
) -> tuple[Node, Node, Linear, Linear, float]:
    """Write a sum so that equal ones look equal: the first number of t positive, b and c free of a common number."""
    if next(iter(sorted(t.items(), key=lambda pair: (pair[0] is None, _rank(pair[0])))))[1] < 0:
        exponent = added(exponent, t, power)
        b, c, t = c, b, multiple(t, -1.0)
    first, second = scalar_constant(b), scalar_constant(c)
    if first is not None and second is not None and abs(first) == abs(second) != 1.0:
        number *= abs(first) ** power
        b, c = constant(math.copysign(1.0, first)), constant(math.copysign(1.0, second))
    if scalar_constant(b) == 1.0 and scalar_constant(c) == -1.0 and float(power).is_integer():
        number *= (-1.0) ** power
        b, c = c, b
    return b, c, t, exponent, number


def _rank(node: Node | None) -> str:
    return "" if node is None else f"{node.op} {node.payload!r:.40}"


def _power(base: Node, n: float) -> Node:
    if abs(n) == 0.5:
        base, n = elementwise("sqrt", (base,)), 2.0 * n
    if n == 1.0:
        return base
    return 1.0 / base if n == -1.0 else elementwise("power", (base, constant(n)))


def _with_tops(
    p: Product,
    number: float,
    exponent: Linear,
    below: list[Share],
    tops: list[tuple[Share, float]],
    factors: list[Node],
    shape: Shape,
) -> Node | None:
    """Multiply sums of the numerator out, if there is one; leave them where nothing meets them."""
    if not tops or not (below or exponent):
        lone = [_power(_open(top), power) for top, power in tops]
        return _join(p, number, exponent, below, [*factors, *lone], shape)
    if len(tops) > 1:
        return _wide_form(p, shape) if len(p.sums) <= 2 else None
    (top, power) = tops[0]
    if below and power in range(2, TERMS):
        return _distributed(p, number, exponent, below, _multiplied_out(top, int(power)), factors, shape)
    if not below:
        part = multiple(exponent, 1.0 / power)
        opened = _sum([(top.b, part), (top.c, added(part, top.t))])
        return _join(p, number, {}, [], [*factors, _power(opened, power)], shape)
    if power != 1.0:
        return _wide_form(p, shape) if len(p.sums) <= 2 else None
    return _distributed(p, number, exponent, below, [(top.b, {}), (top.c, top.t)], factors, shape)


def _multiplied_out(top: Share, power: int) -> list[tuple[Node, Linear]]:
    """Return the terms of (b + c exp(t))**power."""
    parts = []
    for k in range(power + 1):
        first, second = scalar_constant(top.b), scalar_constant(top.c)
        if first is not None and second is not None:
            coefficient = constant(math.comb(power, k) * first ** (power - k) * second**k)
        else:
            coefficient = constant(float(math.comb(power, k)))
            for base, n in ((top.b, power - k), (top.c, k)):
                if n:
                    coefficient = coefficient * _power(base, float(n))
        parts.append((coefficient, multiple(top.t, float(k))))
    return parts


def _distributed(
    p: Product,
    number: float,
    exponent: Linear,
    below: list[Share],
    parts: Sequence[tuple[Node, Linear]],
    factors: list[Node],
    shape: Shape,
) -> Node | None:
    """Return each term of a numerator over all of the denominator, added up."""
    total: Node | None = None
    for coefficient, shift in parts:
        term = _join(Product(), 1.0, added(exponent, shift), below, [], ())
        if term is None:
            return None
        c = scalar_constant(coefficient)
        size = term if c is not None and abs(c) == 1.0 else (coefficient if c is None else constant(abs(c))) * term
        if c is not None and c < 0:
            total = -size if total is None else total - size
        else:
            total = size if total is None else total + size
    assert total is not None
    return _join(p, number, {}, [], [*factors, total], shape)


def _open(share: Share) -> Node:
    return _sum([(share.b, {}), (share.c, share.t)])


def _sum(terms: Sequence[tuple[Node, Linear]]) -> Node:
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


def _join(
    p: Product, number: float, exponent: Linear, below: Sequence[Share], factors: Sequence[Node], shape: Shape
) -> Node | None:
    """Take the exponent into the shares as far as it reaches, and multiply everything."""
    written: list[Node] = []
    left = exponent
    kept: list[tuple[Share, float]] = []
    for share in below:
        moved = _reach(left, share)
        left = added(left, share.t, -moved)
        kept.append((share, moved))
    if left and any(ratio(left, share.t) is None for share in below) and not _is_small(left):
        if all(share.kind > 0 for share in below):
            return _multiply(p, number, [*factors, _logarithmic(exponent, below)], shape)
    for share, moved in kept:
        scale, nodes = _write_share(share, moved)
        number *= scale
        written.extend(nodes)
    if left.keys() - {None}:
        written.append(elementwise("exp", (as_node(left),)))
    elif left:
        number *= math.exp(left[None])
    return _multiply(p, number, [*factors, *written], shape)


def _reach(exponent: Linear, share: Share) -> float:
    """Return how many times t the exponent of a share may take."""
    wanted = ratio(exponent, share.t)
    if wanted is None:
        shared = [exponent.get(node, 0.0) / c for node, c in share.t.items() if node is not None]
        wanted = min(shared, key=abs) if shared and (min(shared) > 0 or max(shared) < 0) else 0.0
    reached = min(max(wanted, 0.0), share.power)
    if share.kind > 0 or (share.kind == -1 and 2.0 * reached == share.power and share.power.is_integer()):
        return reached
    return float(math.floor(reached))


def _is_small(exponent: Linear) -> bool:
    """Tell whether an exponent is negative wherever it moves, as far as a short look goes."""
    for node, c in exponent.items():
        if node is None:
            continue
        square = node.op == "abs" or (node.op == "multiply" and node.args[0] is node.args[1])
        if node.op == "power":
            n = scalar_constant(node.args[1])
            square = n is not None and n % 2 == 0
        if c > 0 or not square:
            return False
    return True


def _logarithmic(exponent: Linear, below: Sequence[Share]) -> Node:
    """Return exp(exponent - power log(b + c exp(t)) - ...): what exponents of several directions need."""
    total = as_node(exponent)
    for share in below:
        b, c = scalar_constant(share.b) or 1.0, scalar_constant(share.c) or 1.0
        shift = math.log(c / b)
        t = added(share.t, {None: shift} if shift else {})
        total = total - _scaled_node(share.power, elementwise("softplus", (as_node(t),)))
        if b != 1.0:
            total = total - share.power * math.log(b)
    return elementwise("exp", (total,))


def _scaled_node(c: float, x: Node) -> Node:
    return x if c == 1.0 else c * x


def _write_share(share: Share, moved: float) -> tuple[float, list[Node]]:
    """Return (number, factors) of exp(moved t) (b + c exp(t))**-power."""
    up, down = share.power - moved, moved
    if share.kind == 1:
        if up == down:
            half = multiple(share.t, 0.5)
            if all(float(c).is_integer() for c in half.values()) or not float(up).is_integer():
                return 0.5**share.power, [_power(elementwise("sech", (as_node(half),)), share.power)]
            return 1.0, [_power(elementwise("sigmoid_slope", (as_node(share.t),)), up)]
        pairs = ((multiple(share.t, -1.0), up), (share.t, down))
        return 1.0, [_power(elementwise("sigmoid", (as_node(t),)), n) for t, n in pairs if n]
    if share.kind == -1 and up == down:
        half = as_node(multiple(share.t, 0.5))  # exp(t / 2) / (exp(t) - 1) = 1 / (2 sinh(t / 2))
        return (2.0 * (scalar_constant(share.c) or 1.0)) ** -share.power, [
            _power(elementwise("csch", (half,)), share.power)
        ]
    ways = ((share.b, share.c, share.t, up), (share.c, share.b, multiple(share.t, -1.0), down))
    return 1.0, [_power(elementwise("exp_share", (b, c, as_node(t))), n) for b, c, t, n in ways if n]


def _multiply(p: Product, number: float, factors: Sequence[Node], shape: Shape) -> Node:
    """Multiply what was not looked at, a number and the factors; divisors at last."""
    over = [_power(base, n) for base, n in p.others.items() if n > 0]
    under = [_power(base, -n) for base, n in p.others.items() if n < 0]
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
    return spread(result, shape)


# ---------------------------------------------------------------------------- sums of many


def _wide_form(p: Product, shape: Shape) -> Node | None:
    """Return a quotient with sums of many exponentials, by logsumexp and softmax of the exponents."""
    tops = [(found, power) for found, power in p.sums.items() if power > 0]
    bottoms = [(found, -power) for found, power in p.sums.items() if power < 0]
    if len(tops) > 1 or any(power != 1.0 for _, power in tops):
        return None
    parts: list[tuple[Node, Linear]] = [(ONE, {})]
    for top, _ in tops:
        parts = top.parts()
    if not bottoms:
        if not p.exponent:
            return None
        total = _sum([(c, added(e, p.exponent)) for c, e in parts])
        return _multiply(p, p.number, [total], shape)
    wide = [(_Wide(found, shape), power) for found, power in bottoms]
    terms = []
    for coefficient, exponent in parts:
        e = added(exponent, p.exponent)
        share = wide[0][0].share(e) if len(wide) == 1 and wide[0][1] == 1.0 else None
        if share is None:
            logarithm = as_node(e)
            for each, power in wide:
                logarithm = logarithm - _scaled_node(power, each.logarithm())
            share = elementwise("exp", (logarithm,))
        terms.append(share if scalar_constant(coefficient) == 1.0 else coefficient * share)
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    weights = [_power(each.weight(), -power) for each, power in wide if not each.positive]
    return _multiply(p, p.number, [total, *weights], shape)


class _Wide:
    """A sum of many exponentials as the sum of ``exp(l)`` times a mean of the coefficients.

    Where all coefficients are positive numbers, they are part of the exponents and the mean is 1.
    """

    def __init__(self, found: Sum, shape: Shape) -> None:
        self.positive = found.sign() == 1
        self.coefficients = found.coefficients
        self.exponents = [e for _, e in found.parts()]
        shifts = [math.log(scalar_constant(c) or 1.0) if self.positive else 0.0 for c in self.coefficients]
        self.shape = shape
        nodes = [as_node(added(e, {None: s} if s else {})) for e, s in zip(self.exponents, shifts, strict=True)]
        self.stacked = concatenate([reshape(spread(n, shape), (*shape, 1)) for n in nodes], len(shape))

    def logarithm(self) -> Node:
        """Return log(sum(exp(l)))."""
        return reduce("logsumexp", self.stacked, (len(self.shape),))

    def _part(self, place: int) -> Node:
        shares = normalize("softmax", self.stacked, (len(self.shape),))
        return slicing(shares, (*((0, 1, n) for n in self.shape), (place, 1, None)))

    def share(self, exponent: Linear) -> Node | None:
        """Return exp(exponent) over the sum of exp(l), where it is one of these."""
        if exponent not in self.exponents:
            return None
        place = self.exponents.index(exponent)
        c = scalar_constant(self.coefficients[place]) if self.positive else 1.0
        return self._part(place) if c == 1.0 or c is None else constant(1.0 / c) * self._part(place)

    def weight(self) -> Node:
        """Return the mean of the coefficients by the shares."""
        total: Node | None = None
        for place, c in enumerate(self.coefficients):
            number = scalar_constant(c)
            part = self._part(place) if number == 1.0 else c * self._part(place)
            total = part if total is None else total + part
        assert total is not None
        return total


def logarithm(node: Node, shape: Shape) -> Node | None:
    """Return the logarithm of a sum of exponentials, or of a product with exponentials; None for anything else."""
    inside = peel(node)
    if inside.op in ("add", "subtract", "cosh", "sinh", "expm1"):
        found = as_sum(inside)
        return None if found is None else _log_of_sum(found, shape)
    if inside.op not in ("multiply", "divide", "power", "negative") or not may_hold_exponentials(inside):
        return None
    product = as_product(inside)
    if product is None or not (product.exponentials or product.sums):
        return None
    total = as_node(product.exponent)
    others = Product(product.number, others=dict(product.others))
    for found, power in product.sums.items():
        if found.sign() != 1:
            return None
        part = _log_of_sum(found, shape)
        if part is None:
            return None
        total = total + _scaled_node(power, part)
    if scalar_constant(total) == 0.0:
        return None
    rest = _multiply(others, others.number, [], shape)
    return total if is_number(rest, 1.0) else total + elementwise("log", (rest,))


def _log_of_sum(found: Sum, shape: Shape) -> Node | None:
    parts = sorted(found.parts(), key=lambda part: bool(part[1]))
    sign = found.sign()
    if len(parts) == 2:
        (b, l1), (c, l2) = parts
        if sign == 1:
            first, second = scalar_constant(b) or 1.0, scalar_constant(c) or 1.0
            if first == second and l1 == multiple(l2, -1.0):
                return _plus(elementwise("log_cosh", (as_node(l2 if next(iter(l2.values())) > 0 else l1),)), 2.0 * first)
            if first == second and not l1:
                return _plus(elementwise("softplus", (as_node(l2),)), first)
            shifted = [as_node(added(e, {None: math.log(n)} if n != 1.0 else {})) for e, n in ((l1, first), (l2, second))]
            return elementwise("logaddexp", tuple(shifted))
        if sign == -1:
            if (scalar_constant(b) or 0.0) < 0:
                (b, l1), (c, l2) = (c, l2), (b, l1)
            rest = -elementwise("expm1", (as_node(added(l2, l1, -1.0)),))
            inner = elementwise("log", (rest,))
            return _plus(as_node(l1) + inner if l1 else inner, scalar_constant(b) or 1.0)
    if sign == 0 and not all(e for _, e in parts) and len(parts) == 2:
        return elementwise("log_exp_sum", (parts[0][0], parts[1][0], as_node(parts[1][1])))
    wide = _Wide(found, shape)
    total = wide.logarithm()
    return total if wide.positive else total + elementwise("log", (wide.weight(),))


def _plus(x: Node, factor: float) -> Node:
    """Return x + log(factor)."""
    return x if factor == 1.0 else x + math.log(factor)
