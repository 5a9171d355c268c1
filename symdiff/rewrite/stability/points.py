"""Formulas at a random point: what is not 0 there is not 0 by any rule.

The normal form of a sum takes milliseconds, a point microseconds, and nearly all sums are not 0. Numbers stand for
whatever is no sum, product, power, exponential or logarithm. Each value has a bound of its rounding errors, in units of
the precision; where that is as large as the value, or the value is none, a point says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from itertools import combinations, pairwise
from random import Random
from typing import TypeAlias

from ...graph import Node
from ...graph.scalars.arithmetic import peel
from ...graph.scalars.functions import scalar_constant
from ...ground.gc_pause import notes

#: A value, and a bound of its error in units of the precision.
Bounded: TypeAlias = tuple[float, float]
#: The values that are known at a point, what draws its numbers, and what has no value there.
_Point: TypeAlias = "tuple[dict[Node, Bounded], Callable[[], float], set[Node]]"

#: Where points lie; in the second, exponentials of exponentials do not overflow.
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
    found: list[_Point] | None = known.get(__name__)
    if found is None:
        draws = [partial(Random(7).uniform, *numbers) for numbers in _RANGES]  # noqa: S311 - no secret
        found = known[__name__] = [({}, draw, set()) for draw in draws]
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
