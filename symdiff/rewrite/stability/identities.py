"""Parts of a sum that are 0 by the rules of powers, exponentials and logarithms.

The derivative of a price, ``N(d1) + (S n(d1) - K exp(-r T) n(d2)) / (S s sqrt(T))``, has a part that is 0 for every
argument, which no rule sees that compares terms as they are written: one has to put in what d1 and d2 are. Here a
formula is written as a sum of rational numbers times powers times one exponential each, whose exponent is such a sum
again, and ``exp(n log(u))`` is ``u**n``. What has no terms in this form is 0.

Far out, a normal density and its integral are 0 / 0 or inf * 0, and logarithms of a root beside what it is of cancel:
these have forms of their own.

A part is left out where the others are nan wherever it is: they have its inputs, and its roots and logarithms.

Quotients of functions that overflow, or vanish, together are functions of their own, which do neither.

A formula that is not 0 at a random point is not 0 by any rule. The normal form of a sum takes milliseconds, a point
microseconds, and nearly all sums are not 0. Numbers stand for whatever is no sum, product, power, exponential or
logarithm. Each value has a bound of its rounding errors, in units of the precision; where that is as large as the
value, or the value is none, a point says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, pairwise, permutations
from random import Random
from typing import NamedTuple, TypeAlias

from ...graph import Node, constant, elementwise, postorder
from ...graph.dump import brief
from ...graph.kinds import EXPONENTIAL, INVERSE, LOGARITHM, TAIL, bit_of, holds
from ...graph.scalars.arithmetic import PRODUCTS, SUMS, PowerProduct, factors_of, fraction_of, peel, terms_of
from ...graph.scalars.functions import scalar_constant
from ...ground.gc_pause import noted, notes
from ..facts import hides_nan
from ..rewriter import is_number, make, rule, spread, union
from .exponents import added, as_monomial, decomposed, linear, powers_multiplied

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


#: Numbers that densities have below others.
_ROOTS = (math.sqrt(2 * math.pi), math.sqrt(math.pi), math.sqrt(2))
#: Most nodes of a sum of exponentials that is written anew.
_LOOKED = 200
#: Most terms of a sum and factors of a term that are looked at.
_TERMS, _FACTORS = 6, 12
#: Operations that the normal form looks into; they are defined wherever their arguments are, but for poles.
_INSIDE = {*SUMS, *PRODUCTS, "named", "constant", "exp", "power"}


@rule("add subtract", "y + (S exp(a) - K exp(b)) z, b = a + log(S / K)", "y", "reading", below=(EXPONENTIAL,))
def _identically_zero(node: Node) -> Node | None:
    """Leave out what is 0 in its normal form, beside others that are nan where it is."""
    terms = terms_of(node, _TERMS)
    if not terms.whole or not 1 < len(terms.parts) <= _TERMS:
        return None
    gone = next((places for places in _candidates(terms.parts) if _is_seen(terms.parts, places)), None)
    if gone is None:
        return None
    (sign, total), *others = [terms.parts[i] for i in range(len(terms.parts)) if i not in gone]
    total = total if sign > 0 else make("negative", total)
    for sign, part in others:
        total = make("add" if sign > 0 else "subtract", total, part)
    return spread(total, node.shape)


@rule("add subtract", "K t exp(a) + S u exp(b), K exp(a) = S exp(b)", "S (t + u) exp(b)", "reading",
      below=(EXPONENTIAL,))
def _fewer_exponentials(node: Node) -> Node | None:
    """Write a sum by its normal form, where that has fewer terms and shows all that may be nan."""
    terms = terms_of(node, _TERMS)
    if not terms.whole or node.shape or not any(part.below & EXPONENTIAL for _, part in terms.parts):
        return None
    if not _may_join([part for _, part in terms.parts]):
        return None
    exponentials = [part for part in postorder([node], most=_LOOKED) if part.op == "exp"]
    found = by_few_exponentials(terms.parts, exponentials)
    if found is None:
        return None
    result: Node | None = None
    for term in found:
        part = _written(term)
        result = part if result is None else make("add", result, part)
    if result is None or not _leaves([part for _, part in terms.parts], _INSIDE) <= _leaves([result], None):
        return None
    return result


def _may_join(terms: list[Node]) -> bool:
    """Tell whether exponentials of two terms may be multiples of each other: by a logarithm, or at a random point."""
    found: dict[Node, None] = {}
    for term in terms:
        found |= dict.fromkeys(_exponentials(term))
    if len(found) < 2:
        return False
    exponents = [node.args[0] for node in found]
    moving = any(node.below & LOGARITHM for node in exponents)
    if moving and any(node.op == "log" for node in postorder(exponents, most=_LOOKED)):
        return True
    return not all_apart(exponents)


@noted
def _exponentials(term: Node) -> tuple[Node, ...]:
    """Return the exponentials among the factors of a term, and among those of sums that are factors."""
    found: list[Node] = []
    for base, _ in factors_of(term, _FACTORS, look=peel).parts:
        inside = [part for _, part in terms_of(base, _TERMS, look=peel).parts] if base.op in SUMS else [base]
        for part in inside:
            found += [each for each, _ in factors_of(part, _FACTORS, look=peel).parts if each.op == "exp"]
    return tuple(found)


def _written(term: WrittenTerm) -> Node:
    result = constant(term.number)
    for root in _ROOTS:
        value = fraction_of(term.number * root)
        if value is not None and float(value) / root == term.number:
            result = elementwise("divide", (constant(float(value)), constant(root)))
            break
    for base, n in term.powers:
        factor = base
        if abs(n) != 1:
            factor = make("sqrt", base) if abs(n) == 0.5 else make("power", base, constant(float(abs(n))))
        result = make("multiply" if n > 0 else "divide", result, factor)
    return result if term.exponential is None else make("multiply", result, term.exponential)


def _candidates(parts: list[tuple[float, Node]]) -> Iterator[tuple[int, ...]]:
    """Give the places of terms that have a factor that is 0, and of pairs that are 0 together."""
    moving = [i for i, (_, part) in enumerate(parts) if part.below & EXPONENTIAL]
    for i in moving:
        if _has_nothing(parts[i][1]):
            yield (i,)
    exponential = [i for i in moving if _is_exponential(parts[i][1])]
    for a, i in enumerate(exponential):
        for j in exponential[a + 1 :]:
            if len(parts) > 2 and _are_opposite(parts[i], parts[j]):
                yield i, j


def _are_opposite(a: tuple[float, Node], b: tuple[float, Node]) -> bool:
    """Tell whether two terms are 0 together; those that are not are noted, since sums of many terms hold them again."""
    known: set[tuple[Node, Node, bool]] = notes().setdefault(_are_opposite, set())
    key = (a[1], b[1], a[0] == b[0])
    if key in known:
        return False
    if _is_zero([a, b]):
        return True
    known.add(key)
    return False


def _is_zero(parts: list[tuple[float, Node]]) -> bool:
    return is_zero(parts)


@noted
def _has_nothing(term: Node) -> bool:
    """Tell whether a factor of a term is a sum that is 0."""
    factors = factors_of(term, _FACTORS, look=peel).parts
    return any(n > 0 and base.op in SUMS and base.below & EXPONENTIAL and _is_nothing(base) for base, n in factors)


@noted
def _is_nothing(node: Node) -> bool:
    """Tell whether a sum is 0, two terms of which are exponentials with factors."""
    terms = terms_of(node, _TERMS, look=peel)
    exponentials = terms.whole and sum(_is_exponential(term) for _, term in terms.parts) > 1
    return exponentials and _is_zero([(1.0, node)])


@noted
def _is_exponential(term: Node) -> bool:
    return any(base.op == "exp" for base, _ in factors_of(term, _FACTORS, look=peel).parts)


def _is_seen(parts: list[tuple[float, Node]], gone: tuple[int, ...]) -> bool:
    """Tell whether all that may be nan in some terms is in the others, too, and not behind a choice."""
    rest = [part for i, (_, part) in enumerate(parts) if i not in gone]
    return _leaves([parts[i][1] for i in gone], _INSIDE) <= _leaves(rest, None)


def _leaves(roots: Iterable[Node], inside: set[str] | None) -> set[Node]:
    """Return nodes below some, but for numbers; those of ``inside`` are looked through and do not count."""
    found: set[Node] = set()
    seen: set[Node] = set()
    todo = list(roots)
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        plain = inside is not None and node.op in inside and not _is_root(node)
        if not plain and not node.is_constant:
            found.add(node)
        if not hides_nan(node):
            todo.extend(node.args)
    return found


def _is_root(node: Node) -> bool:
    """Tell whether a power is not that of a whole number."""
    n = scalar_constant(node.args[1]) if node.is_power else 1.0
    return n is None or n != int(n)


# ---------------------------------------------------------------------------- far out

#: Integrals of exp(-c x**2) from one side, by c.
_TAILS = {"ndtr": 0.5, "erfc": 1.0}
assert all(holds(name) & TAIL for name in _TAILS)


@rule("multiply divide", "exp(-x**2 / 2) / ndtr(x), exp(x**2) * erfc(x), exp(-x**2) / erfc(x)",
      "a derivative of log_ndtr(x), erfcx(x), 1 / erfcx(x)", "stability", below=(EXPONENTIAL, TAIL))
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


def _squared(node: Node) -> PowerProduct | None:
    """Return the square of a product; that of a root is what is below it."""
    own = as_monomial(node)
    if own is None:
        return None
    result = PowerProduct(own.number * own.number, {})
    for base, n in own.powers.items():
        inside = as_monomial(base.args[0]) if base.is_root else PowerProduct(1.0, {base: 2})
        if inside is None:
            return None
        result.number *= inside.number**n
        for part, m in inside.powers.items():
            result.powers[part] = result.powers.get(part, 0) + m * n
    result.powers = {base: n for base, n in result.powers.items() if n}
    return result


def _is_multiple(found: PowerProduct | None, square: PowerProduct | None, rate: float) -> bool:
    """Tell whether a product is another one times a number, but for rounding."""
    if found is None or square is None or not square.powers or found.powers != square.powers:
        return False
    wanted = rate * square.number
    return abs(found.number - wanted) <= 2.0**-50 * abs(wanted)


def _without_square(exponent: Node, square: PowerProduct, rate: float) -> list[tuple[float, Node]] | None:
    """Return the terms of an exponent but for a square times ``rate``, where the tail is one of the root."""
    terms = terms_of(exponent, _TERMS, look=peel)
    for i, (sign, term) in enumerate(terms.parts if terms.whole else ()):
        if _is_multiple(as_monomial(term), square, sign * rate):
            return [*terms.parts[:i], *terms.parts[i + 1 :]]
    return None


def _scaled_tail(
    product: PowerProduct, tail: tuple[Node, int], density: tuple[Node, int], rest: list[tuple[float, Node]], node: Node
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
    return spread(powers_multiplied([*others, scaled], product.number), node.shape)


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


#: Quotients of two functions that overflow, or vanish, together.
_RATIOS = {("i1", "i0"): "i_ratio", ("k1", "k0"): "k_ratio"}
#: Functions whose quotient at two places is a function of its own.
_AT_TWO_PLACES = ("erfc", "ndtr")
_LIKE = frozenset(("gamma", *_AT_TWO_PLACES, *(name for pair in _RATIOS for name in pair)))


@rule("multiply divide", "i1(x) / i0(x), k1(x) / k0(x), gamma(x + c) / gamma(x), erfc(x) / erfc(y)",
      "i_ratio(x), k_ratio(x), poch(x, c), erfc_ratio(x, y)", "stability",
      below=(INVERSE, union(map(bit_of, _LIKE))))
def _ratio_of_like_functions(node: Node) -> Node | None:
    """Divide functions that overflow or vanish together where their quotient has a name."""
    product = decomposed(node)
    if product is None:
        return None
    like = [(base, n) for base, n in product.powers.items() if base.op in _LIKE]
    for (a, n), (b, m) in permutations(like, 2):
        ratio = _ratio(a, b) if n * m < 0 else None
        if ratio is None:
            continue
        both = min(abs(n), abs(m)) * (1 if n > 0 else -1)
        powers = product.powers | {a: n - both, b: m + both}
        powers[ratio] = powers.get(ratio, 0) + both
        return spread(powers_multiplied([pair for pair in powers.items() if pair[1]], product.number), node.shape)
    return None


def _ratio(a: Node, b: Node) -> Node | None:
    """Return a / b where that is a function of its own."""
    (x,), (y,) = a.args, b.args
    if (a.op, b.op) in _RATIOS and x is y:
        return elementwise(_RATIOS[a.op, b.op], (x,))
    if a.op == b.op and a.op in _AT_TWO_PLACES and x is not y:
        return elementwise(f"{a.op}_ratio", (x, y))
    if a.op != b.op or a.op != "gamma" or x.shape != y.shape:
        return None
    rest = added(linear(x), linear(y), -1.0)
    if rest.keys() - {None}:
        return None
    return elementwise("poch", (y, constant(rest.get(None, 0.0))))
