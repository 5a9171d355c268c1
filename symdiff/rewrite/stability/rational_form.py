"""The normal form of a sum: rational numbers times powers times one exponential each; equal formulas have equal forms.

A formula that is not 0 at a random point is not 0 by any rule. The normal form of a sum takes milliseconds, a point
microseconds, and nearly all sums are not 0. Numbers stand for whatever is no sum, product, power, exponential or
logarithm. Each value has a bound of its rounding errors, in units of the precision; where that is as large as the
value, or the value is none, a point says nothing.

Imported when two exponentials are compared for the first time: rational and random numbers are not needed before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, pairwise
from random import Random
from typing import NamedTuple, TypeAlias

from ...graph import Node, constant
from ...graph.dump import brief
from ...graph.scalars.arithmetic import peel
from ...graph.scalars.functions import scalar_constant
from ...ground.gc_pause import notes

#: A value, and a bound of its error in units of the precision.
Bounded: TypeAlias = tuple[float, float]
#: The values that are known at a point, what draws its numbers, and what has no value there.
_Point: TypeAlias = "tuple[dict[Node, Bounded], Callable[[], float], set[Node]]"

#: Ranges of points; in the second, exponentials of exponentials do not overflow.
_RANGES = ((0.5, 1.5), (5e-4, 1.5e-3))
#: Precision, with a margin for what bounds of the first order leave out.
_PRECISION = 2.0**-42


def is_nonzero(parts: Iterable[tuple[float, Node]]) -> bool:
    """Tell whether a sum of terms with signs is not 0 at a random point; False where nothing is known.

    Examples
    --------
    >>> import symdiff as sd
    >>> x = sd.scalar("x")
    >>> is_nonzero([(1.0, sd.exp(x).node), (-1.0, x.node)])
    True
    >>> is_nonzero([(1.0, sd.exp(x + 1).node), (-1.0, (sd.exp(x) * sd.exp(1.0)).node)])
    False
    """
    parts = list(parts)
    for point in _points():
        found = [(sign, _value(part, point)) for sign, part in parts]
        known = [(sign, value) for sign, value in found if value is not None]
        if len(known) == len(parts):
            return _is_apart(known)
    return False


def all_apart(nodes: Iterable[Node]) -> bool:
    """Tell whether each node differs from each other one at a random point; False where nothing is known."""
    nodes, points = list(nodes), _points()
    if _differ([_value(node, points[0]) for node in nodes]):  # so it is of nearly all
        return True
    found = [[_value(node, point) for point in points] for node in nodes]
    for a, b in combinations(found, 2):
        pair = next(((x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None), None)
        if pair is None or not _is_apart([(1.0, pair[0]), (-1.0, pair[1])]):
            return False
    return True


def _differ(found: list[Bounded | None]) -> bool:
    """Tell whether the least difference of some values is more than the largest error of one; False where one is none.

    The errors of pairs are compared one by one where this says no.
    """
    known = [value for value in found if value is not None]
    if len(known) < max(len(found), 2):
        return False
    values = sorted([value for value, _ in known])
    largest = max(values[-1], -values[0]) + 2.0 * max([bound for _, bound in known])
    least = min([b - a for a, b in pairwise(values)])
    return math.isfinite(math.fsum(values)) and least * (1.0 - 2.0 * _PRECISION) > largest * _PRECISION


def _is_apart(parts: Iterable[tuple[float, Bounded]]) -> bool:
    """Tell whether a sum of values with signs is not 0, whatever their errors are."""
    total = error = 0.0
    for sign, (value, bound) in parts:
        total += sign * value
        error += bound + abs(total)
    return abs(total) > error * _PRECISION


def _points() -> list[_Point]:
    """Return a random point of each range, which stays while nodes are noted."""
    known = notes()
    found: list[_Point] | None = known.get(_points)
    if found is None:
        draws = [partial(Random(7).uniform, *numbers) for numbers in _RANGES]  # noqa: S311 - no secret
        found = known[_points] = [({}, draw, set()) for draw in draws]
    return found


def _value(node: Node, point: _Point) -> Bounded | None:
    """Return the value of a node; None where it has none."""
    known, random, without = point
    value = known.get(node)
    if value is not None or node in without:
        return value
    try:
        return _at(node, known, random)
    except (ArithmeticError, ValueError):
        without.add(node)
        return None


def _at(root: Node, known: dict[Node, Bounded], random: Callable[[], float]) -> Bounded:
    """Return the value of a node, after those below it."""
    todo = [root]
    while todo:
        node = todo[-1]
        if node in known:
            todo.pop()
            continue
        rule = None if scalar_constant(node) is not None else _RULES.get(peel(node).op)
        if rule is None:
            number = scalar_constant(node)
            value = random() if number is None else number
            known[node] = value, abs(value)
            continue
        args = peel(node).args
        waiting = [arg for arg in args if arg not in known]
        if waiting:
            todo += waiting
            continue
        value, error = rule(*[known[arg] for arg in args])
        if not math.isfinite(value) or not math.isfinite(error):
            raise ArithmeticError("no number at this point")
        known[node] = value, error + abs(value)
    return known[root]


def _multiply(a: Bounded, b: Bounded) -> Bounded:
    return a[0] * b[0], abs(a[0]) * b[1] + abs(b[0]) * a[1]


def _divide(a: Bounded, b: Bounded) -> Bounded:
    value = a[0] / b[0]
    return value, (a[1] + abs(value) * b[1]) / abs(b[0])


def _power(a: Bounded, b: Bounded) -> Bounded:
    if a[0] > 0:
        exponent, error = _multiply(_log(a), b)
        return _exp((exponent, error))
    value = math.pow(a[0], b[0])  # of a negative number, of whole exponents alone
    if a[0]:
        return value, abs(b[0] * value / a[0]) * a[1]
    if value or not b[0].is_integer():
        raise ArithmeticError("a power of 0, or a root of it, near which there is no bound")
    return 0.0, b[0] * (a[1] * _PRECISION) ** (b[0] - 1.0) * a[1]


def _exp(a: Bounded) -> Bounded:
    value = math.exp(a[0])
    return value, value * a[1]


def _log(a: Bounded) -> Bounded:
    return math.log(a[0]), a[1] / a[0]


def _sqrt(a: Bounded) -> Bounded:
    value = math.sqrt(a[0])
    return value, a[1] / (2 * value)  # that of 0 has no bound: ZeroDivisionError says so


_RULES: dict[str, Callable[..., Bounded]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "subtract": lambda a, b: (a[0] - b[0], a[1] + b[1]),
    "negative": lambda a: (-a[0], a[1]),
    "multiply": _multiply,
    "divide": _divide,
    "power": _power,
    "sqrt": _sqrt,
    "exp": _exp,
    "log": _log,
}


#: A rational number; whole ones, which most are, as what is computed with in less time.
Rational: TypeAlias = "Fraction | int"
#: Nodes with their powers.
Powers: TypeAlias = "frozenset[tuple[Node, Rational]]"
#: Powers, and an exponent as a sum: what a rational number stands in front of.
Key: TypeAlias = "tuple[Powers, frozenset[tuple[Key, Rational]]]"
Form: TypeAlias = "dict[Key, Rational]"
_Exponent: TypeAlias = "frozenset[tuple[Key, Rational]]"

#: Most terms of a normal form, power that is multiplied out, and bits of a number.
_LONG, _POWER, _BITS = 48, 4, 512
#: Most nodes and products of terms in all normal forms of a formula, and how deep one of them goes beyond those known.
_STEPS, _DEPTH = 4_000, 100

#: Numbers that differ from a short fraction, or from the root of one, by so much at most are taken for it.
_DENOMINATOR, _ROUNDING = 1_000, Fraction(1, 2**51)
_ONE: Key = (frozenset(), frozenset())


class _TooLongError(Exception):
    """A normal form of too many terms or digits."""


class _TooFarError(Exception):
    """A normal form that is not looked for any further."""


def is_zero(parts: Iterable[tuple[float, Node]]) -> bool:
    """Tell whether a sum has no terms in its normal form; its terms have some."""
    parts = list(parts)
    return not is_nonzero(parts) and _total(_reader(), parts) == {}


def _reader() -> _NormalForm:
    noted = notes()
    if _reader not in noted:
        noted[_reader] = _NormalForm()
    reader: _NormalForm = noted[_reader]
    return reader


def _total(reader: _NormalForm, parts: Iterable[tuple[float, Node]]) -> Form | None:
    """Return the normal form of a sum; None where it is long."""
    total: Form = {}
    try:
        for sign, part in parts:
            total = reader.sum(total, reader.of(part), int(sign))
    except (_TooLongError, _TooFarError):
        return None
    return total


class WrittenTerm(NamedTuple):
    """A number times powers times one exponential, or none."""

    number: float
    powers: list[tuple[Node, Rational]]
    exponential: Node | None


def by_few_exponentials(
    parts: Sequence[tuple[float, Node]], exponentials: Iterable[Node]
) -> list[WrittenTerm] | None:
    """Return fewer terms of a sum, where each has one of some exponentials: of those with equal exponents, the first.

    None where there are not fewer or none, the normal form is long, or an exponent is none of theirs.
    """
    reader = _reader()
    total = _total(reader, parts)
    if not total or len(total) >= len(parts):
        return None
    known: dict[_Exponent, tuple[Node | None, Powers, Rational]] = {frozenset(): (None, frozenset(), 1)}
    for node in exponentials:
        form = _total(reader, [(1.0, node)])
        if form is not None and len(form) == 1:
            (((powers, exponent), c),) = form.items()
            known.setdefault(exponent, (node, powers, c))
    found = []
    for (powers, exponent), number in total.items():
        if exponent not in known:
            return None
        exponential, own, c = known[exponent]
        scale, rest = _joined(powers, frozenset((base, -n) for base, n in own))
        found.append(WrittenTerm(float(Fraction(number * scale) / c), sorted(rest, key=_place), exponential))
    return found


def _place(power: tuple[Node, Rational]) -> tuple[bool, str]:
    """Put names before all else, in an order that does not depend on the process."""
    base, _ = power
    return not base.is_input, str(base.name) if base.is_input else brief(base)


class _NormalForm:
    """Writes formulas as sums of rational numbers times powers times one exponential.

    One reader serves all parts of a formula: what one needs, others need again.
    """

    def __init__(self) -> None:
        self.known: dict[Node, Form | None] = {}  # None where it is too long
        self.joined: dict[tuple[Powers, Powers], tuple[Rational, Powers]] = {}
        self.added: dict[tuple[_Exponent, _Exponent], _Exponent] = {}
        self.left = _STEPS
        self.depth = 0

    def of(self, node: Node) -> Form:
        """Return the normal form of a node; what is none of sum, product, power and exponential is itself."""
        node = peel(node)
        if node not in self.known:
            self.left -= 1
            if self.left < 0 or self.depth == _DEPTH:
                raise _TooFarError
            self.depth += 1
            try:
                self.known[node] = self._read(node)
            except _TooLongError:
                self.known[node] = None
            finally:
                self.depth -= 1
        found = self.known[node]
        if found is None:
            raise _TooLongError
        return found

    def _read(self, node: Node) -> Form:
        value = scalar_constant(node)
        if value is not None and math.isfinite(value):
            return _number(value) if value else {}
        if node.is_additive:
            sign = 1 if node.is_addition else -1
            return self.sum(self.of(node.args[0]), self.of(node.args[1]), sign)
        if node.is_negation:
            return self.sum({}, self.of(node.args[0]), -1)
        if node.is_multiplication:
            return self.product(self.of(node.args[0]), self.of(node.args[1]))
        if node.is_division:
            below = self._inverse(self.of(node.args[1]))
            return self.product(self.of(node.args[0]), below or _atom(node.args[1], -1))
        if node.is_power:
            return self._power(*node.args) or _atom(node)
        if node.is_root:
            inside = peel(node.args[0])
            number = scalar_constant(inside)
            root = number > 0 if number is not None else self.of(inside) == _atom(inside)
            return _atom(inside, Fraction(1, 2)) if root else _atom(node)
        if node.op == "exp":
            return self._exponential(self.of(node.args[0])) or _atom(node)
        return _atom(node)

    def sum(self, a: Form, b: Form, scale: int) -> Form:
        """Return a + scale b."""
        result = dict(a)
        for key, c in b.items():
            total = result.pop(key, 0) + (c if scale == 1 else scale * c)
            if total:
                result[key] = total
        return _bounded(result)

    def product(self, a: Form, b: Form) -> Form:
        """Return a b."""
        if len(a) * len(b) > _LONG:
            raise _TooLongError
        self.left -= len(a) * len(b)
        result: Form = {}
        for (powers, exponent), c in a.items():
            for (others, more), d in b.items():
                number, joined = self._join(powers, others)
                key = (joined, self._add(exponent, more))
                total = result.pop(key, 0) + (c * d if number == 1 else c * d * number)
                if total:
                    result[key] = total
                    if len(result) > _LONG or _is_long(total):
                        raise _TooLongError
        return result

    def _join(self, a: Powers, b: Powers) -> tuple[Rational, Powers]:
        """Return a product of powers; terms of other products have the same."""
        if not b:
            return 1, a
        found = self.joined.get((a, b))
        if found is None:
            found = self.joined[a, b] = _joined(a, b)
        return found

    def _add(self, a: _Exponent, b: _Exponent) -> _Exponent:
        """Return a sum of exponents."""
        found = self.added.get((a, b))
        if found is None:
            found = self.added[a, b] = frozenset(self.sum(dict(a), dict(b), 1).items())
        return found

    def _inverse(self, a: Form) -> Form | None:
        if len(a) != 1:
            return None
        (((powers, exponent), c),) = a.items()
        turned = frozenset((base, -n) for base, n in powers)
        return {(turned, frozenset((key, -d) for key, d in exponent)): _whole(Fraction(1) / c)}

    def _power(self, base: Node, exponent: Node) -> Form | None:
        n = scalar_constant(exponent)
        if n is None or n != int(n) or not 0 < abs(n) <= _POWER:
            return None
        form = self.of(base)
        factor = form if n > 0 else self._inverse(form)
        if factor is None:
            return None
        result: Form = {_ONE: 1}
        for _ in range(int(abs(n))):
            result = self.product(result, factor)
        return result

    def _exponential(self, exponent: Form) -> Form | None:
        """Return exp of a form that has no exponentials; whole multiples of logarithms become powers."""
        if any(key[1] for key in exponent):
            return None
        result: Form = {_ONE: 1}
        kept: Form = {}
        for key, c in exponent.items():
            log, whole = _logarithm(key), math.floor(c)
            form = None if log is None else self.of(log.args[0])
            factor = form if whole > 0 or form is None else self._inverse(form)
            if factor is None or abs(whole) > _POWER:
                kept[key] = c
                continue
            if c != whole:  # a root of what the logarithm is of is left in the exponent, whatever the signs in it are
                kept[key] = c - whole
            for _ in range(abs(whole)):
                result = self.product(result, factor)
        return self.product(result, {(frozenset(), frozenset(kept.items())): 1})


def _number(value: float) -> Form:
    """Return a number, or the root of one, that it is the nearest to but for rounding."""
    rational = Fraction(value).limit_denominator(_DENOMINATOR)
    if abs(rational - Fraction(value)) <= _ROUNDING * abs(Fraction(value)):
        return {_ONE: _whole(rational)}
    square = Fraction(value * value).limit_denominator(_DENOMINATOR)
    if abs(square - Fraction(value) ** 2) > _ROUNDING * Fraction(value) ** 2:
        return {_ONE: Fraction(value)}
    root = _atom(constant(float(square)), Fraction(1, 2))
    return root if value > 0 else {key: -c for key, c in root.items()}


def _atom(node: Node, n: Rational = 1) -> Form:
    return {(frozenset([(peel(node), n)]), frozenset()): 1}


def _logarithm(key: Key) -> Node | None:
    """Return the logarithm that a term is, if it is one."""
    powers, exponent = key
    if exponent or len(powers) != 1:
        return None
    ((base, n),) = powers
    return base if base.op == "log" and n == 1 else None


def _whole(c: Fraction) -> Rational:
    return c.numerator if c.denominator == 1 else c


def _joined(a: Powers, b: Powers) -> tuple[Rational, Powers]:
    """Return a product of powers as a number and powers: those of numbers, roots of which are kept, become one."""
    powers = dict(a)
    number: Rational = 1
    for base, n in b:
        total = powers.pop(base, 0) + n
        value = scalar_constant(base) if total.denominator == 1 else None
        if value is not None and math.isfinite(value) and value:
            number *= Fraction(value) ** total.numerator
        elif total:
            powers[base] = total
    return number, frozenset(powers.items())


def _bounded(form: Form) -> Form:
    if len(form) > _LONG or any(map(_is_long, form.values())):
        raise _TooLongError
    return form


def _is_long(c: Rational) -> bool:
    return c.numerator.bit_length() + c.denominator.bit_length() > _BITS
