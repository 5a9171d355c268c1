"""Formulas at a random point: what is not 0 there is not 0 by any rule.

The normal form of a sum takes milliseconds, a point microseconds, and nearly all sums are not 0. Numbers stand for
whatever is no sum, product, power, exponential or logarithm. Each value has a bound of its rounding errors, in units of
the precision; where that is as large as the value, or the value is none, a point says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from random import Random
from typing import TypeAlias

from ...graph import Node
from ...graph.scalars.arithmetic import peel
from ...graph.scalars.functions import scalar_constant
from ...ground.gc_pause import notes

#: A value, and a bound of its error in units of the precision.
Bounded: TypeAlias = tuple[float, float]

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
    for numbers in _RANGES:
        try:
            value, error = _sum(parts, numbers)
        except (ArithmeticError, ValueError):
            continue
        return abs(value) > error * _PRECISION
    return False


def _sum(parts: list[tuple[float, Node]], numbers: tuple[float, float]) -> Bounded:
    noted = notes().setdefault(__name__, {})
    if numbers not in noted:
        noted[numbers] = {}, partial(Random(7).uniform, *numbers)  # noqa: S311 - no secret
    known, random = noted[numbers]
    total = error = 0.0
    for sign, part in parts:
        value, bound = _at(part, known, random)
        total += sign * value
        error += bound + abs(total)
    return total, error


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
    return value, abs(b[0] * value / a[0]) * a[1]


def _exp(a: Bounded) -> Bounded:
    value = math.exp(a[0])
    return value, value * a[1]


def _log(a: Bounded) -> Bounded:
    return math.log(a[0]), a[1] / a[0]


def _sqrt(a: Bounded) -> Bounded:
    value = math.sqrt(a[0])
    return value, a[1] / (2 * value)


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
