"""Formulas of one variable that have a limit at 0 and no value there: near 0 they are the polynomial of their series.

Slopes of quotients that are 0 / 0 at 0 are sums whose poles cancel, put on one denominator, multiplied out or shared
among terms as is short: ``(exp(x) * (1 - x) - 1) / (exp(x) - 1)**2``. What text and SymPy bring may be such a slope of
anything. No table has them all, so their numbers tell: in many digits at points near 0, a formula whose polynomial
through some of the points meets the others has a limit, and those are the terms of its series. Tables come first: a
quotient that is a function of its own keeps its digits farther out.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from ...graph import Node, constant, elementwise, input, postorder, rebuild
from ...graph.kinds import INVERSE
from ...graph.scalars.arithmetic import PowerProduct, peel, terms_of
from ...graph.scalars.functions import FUNCTIONS, compare, scalar_constant, where
from ...graph.sizes import Shape
from ...ground.budget import spend
from ...ground.gc_pause import noted, notes
from ..rewriter import rule, spread
from .exponents import decomposed, powers_multiplied
from .factors import ROWS
from .removable import is_by_distance

#: Most nodes of a formula that is looked at, and most factors and terms.
_NODES, _FACTORS = 64, 7
#: Distances from 0 up to which a series may stand, its terms, points that must lie on it, and digits.
_RADII, _TERMS, _OTHERS, _DIGITS = [2.0**-n for n in range(1, 7)], 28, 6, 80
#: The largest number below the line of a fraction that a number may stand for.
_SIMPLE = 1000
#: What the next terms may be beside the largest, so that third derivatives have their digits too.
_REST = 1e-24
#: Functions of one number whose values in many digits take long.
_SLOW = frozenset(("erfinv", "y0", "y1"))
#: Operations of numbers, of which no function of a table is made.
_ARITHMETIC = frozenset(("add", "subtract", "multiply", "divide", "negative"))


class _Numbers(NamedTuple):
    """What is seen of a formula by its number at 0.

    Parameters
    ----------
    variable : Node or None
        What it is a function of; None of a number, and of functions of several variables.
    value : float or None
        Its number at 0; None of functions of several variables.
    singular, is_more : bool
        Whether it or a part of it has no number at 0, and whether one is more than arithmetic.
    """

    variable: Node | None
    value: Any
    singular: bool = False
    is_more: bool = False


@rule(
    "divide multiply add subtract", "(exp(x) * (1 - x) - 1) / x**2", "its series near 0", "stability", below=(INVERSE,)
)
def _series_near_zero(node: Node) -> Node | None:
    """Write a formula of one variable as its series near 0, where it has a limit and no value."""
    seen = _known(node)
    if not seen.is_more or not (seen.singular or _cancels(node)):
        return None
    if seen.value is not None:
        return _written(node)
    return _of_terms(node) if node.is_additive else _of_factors(node)


def _written(node: Node) -> Node | None:
    """Return a formula of one variable as its series near 0; None where a factor cancels alone, as in x * y / x."""
    seen = _known(node)
    u = seen.variable if _has_pole(seen) or _cancels(node) else None
    product = None if u is None or node.is_additive else decomposed(node)
    if product is not None:
        cancelled = powers_multiplied([*product.powers.items()], product.number)
        u = u if _has_pole(_known(cancelled)) else None
    found = None if u is None else _of_one(node, u)
    series = _series(found[1]) if found is not None and _has_limit(found[1]) else None
    if u is None or found is None or series is None:
        return None
    radius, numbers = series
    near = compare("less", elementwise("size_of_distance", (u,)), radius)
    return where(near, spread(_sum_of_powers(numbers, u), node.shape), found[0])


def _by_variable(product: PowerProduct) -> dict[Node | None, list[tuple[Node, int]]]:
    """Return the factors of a product by what they are functions of; None for those of several variables."""
    found: dict[Node | None, list[tuple[Node, int]]] = {}
    for base, n in product.powers.items():
        found.setdefault(_known(base).variable, []).append((base, n))
    return found


def _of_factors(node: Node) -> Node | None:
    """Write the factors of one variable as their series, beside those of others: ``a * (exp(x) - cos(x)) / x``."""
    whole = decomposed(node)
    if whole is None or len(whole.powers) > _FACTORS:
        return None
    found = _by_variable(whole)
    for u, factors in found.items():
        if u is None:
            continue
        rest = PowerProduct(whole.number, {base: n for base, n in whole.powers.items() if (base, n) not in factors})
        part = powers_multiplied(factors, 1.0)
        made = _written(part) if len(factors) > 1 else None
        if made is not None:
            return _times(made, rest, node.shape)
        for base, n in found.get(None, []):
            if n == 1 and base.is_additive and _has_pole(_known(part)):
                del rest.powers[base]
                total = _of_terms(base, PowerProduct(1.0, dict(factors)))
                return None if total is None else _times(total, rest, node.shape)
    return None


def _times(node: Node, rest: PowerProduct, shape: Shape) -> Node:
    return spread(powers_multiplied([(node, 1), *rest.powers.items()], rest.number), shape)


def _cancels(node: Node) -> bool:
    """Tell whether terms of one variable that do not vanish at 0 cancel there: ``x / arcsin(x) - 1``."""
    return node.is_additive and _known(node).value == 0.0 and _known(node.args[0]).value != 0.0


def _has_pole(seen: _Numbers) -> bool:
    return seen.value is not None and not math.isfinite(seen.value)


def _of_terms(node: Node, times: PowerProduct | None = None) -> Node | None:
    """Write terms that have the factors of other variables in common as their series: ``a/x - a/tanh(x) + b``.

    Each is multiplied with ``times``, of one variable, if that is given; then none may be left without a value.
    """
    # terms of one side alone were looked at as a sum of their own
    if times is None and not all(_known(side).singular for side in node.args):
        return None
    terms, whole = terms_of(node, _FACTORS, look=peel)
    if not whole:
        return None
    groups: dict[tuple[Node | None, frozenset[tuple[Node, int]]], list[Node]] = {}
    for c, term in terms:
        product = decomposed(term) if times is not None or term.below & INVERSE else PowerProduct(1.0, {term: 1})
        if product is None:
            return None
        product = product if times is None else product.times(times)
        found = {u: factors for u, factors in _by_variable(product).items() if u is not None}
        u = next((u for u, factors in found.items() if _has_pole(_known(powers_multiplied(factors, 1.0)))), None)
        factors = [] if u is None else found[u]
        rest = frozenset(product.powers.items()) - frozenset(factors)
        groups.setdefault((u, rest), []).append(powers_multiplied(factors, c * product.number))
    total, some = None, False
    for (u, rest), alike in groups.items():
        part = reduce(add, alike)
        made = None if u is None else _written(part)
        if made is None and u is not None and times is not None:
            return None
        some = some or made is not None
        own = powers_multiplied([(part if made is None else made, 1), *rest], 1.0)
        total = own if total is None else total + own
    return None if total is None or not some else spread(total, node.shape)


def _known(node: Node) -> _Numbers:
    """Return what is seen of a formula by its number at 0."""
    known: dict[Node, _Numbers] = notes().setdefault(_known, {})
    found = known.get(node)
    if found is None:
        missing = [node]
        for arg in node.args:
            if arg not in known:
                missing = postorder([node], known.__contains__)
                break
        for part in missing:
            found = known[part] = _numbers(part, known)
    assert found is not None
    return found


def _numbers(part: Node, known: Mapping[Node, _Numbers]) -> _Numbers:
    """Return what is seen of a part by that of its arguments."""
    if part.is_named:
        return known[part.args[0]]
    if not _is_quick(part.op):
        value = scalar_constant(part)
        return _Numbers(part, 0.0) if value is None else _Numbers(None, value)
    variable, several, singular, is_more = None, False, False, False
    args = [known[arg] for arg in part.args]
    for each in args:
        several = several or each.value is None or (variable is not None and each.variable not in (None, variable))
        variable = variable or each.variable
        singular, is_more = singular or each.singular, is_more or each.is_more
    if several:
        return _Numbers(None, None, singular or (part.is_division and not args[1].value), is_more)
    plain, numbers = _PLAIN.get(part.op), [each.value for each in args]
    value = float(_applied(part, numbers) if plain is None else plain(*numbers))
    return _Numbers(variable, value, singular or not math.isfinite(value), is_more or not _is_rational(part))


@cache
def _is_quick(op: str) -> bool:
    """Tell whether a function has its numbers in many digits in a moment; others are taken for a variable."""
    row = FUNCTIONS.get(op)
    if row is None or op in _SLOW:
        return False
    return row.arity == 1 or not row.numpy or row.numpy.startswith("np.") or op in ROWS


def _quotient(a: float, b: float) -> float:
    return a / b if b else math.inf if a else math.nan


#: Arithmetic of numbers, which most formulas are made of.
_PLAIN: dict[str, Callable[..., float]] = {
    **{"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "negative": operator.neg},
    "divide": _quotient,
}


def _applied(part: Node, args: Sequence[float]) -> Any:
    """Apply the function of a part to numbers."""
    spelling = FUNCTIONS[part.op].numpy
    if spelling.startswith("np."):
        with np.errstate(all="ignore"):
            return getattr(np, spelling.removeprefix("np."))(*args)
    import mpmath  # not needed by most formulas

    from ...graph.reference.many_digits import SCALARS, real

    return real(SCALARS[part.op])(*map(mpmath.mpf, args))


def _is_rational(part: Node) -> bool:
    """Tell whether a part is a number, the variable, or arithmetic with whole powers."""
    if part.is_power:
        exponent = scalar_constant(part.args[1])
        return exponent is not None and exponent.is_integer()
    return part.op in _ARITHMETIC or not part.args


def _of_one(node: Node, u: Node) -> tuple[Node, Node] | None:
    """Return a formula without the series of its parts, and that of a number; None where only arithmetic is done."""
    number = input("near")
    away: dict[Node, Node] = {u: u}
    alone: dict[Node, Node] = {u: number}
    for part in postorder([node], lambda part: part is u):
        value = scalar_constant(part)
        if value is not None or part.is_named:
            away[part] = part if value is not None else away[part.args[0]]
            alone[part] = constant(value) if value is not None else alone[part.args[0]]
            continue
        made = rebuild(part, tuple([away[arg] for arg in part.args]))
        if is_by_distance(made):
            away[part], alone[part] = made.args[2], alone[part.args[2]]
        else:
            away[part] = made
            alone[part] = elementwise(part.op, tuple([alone[arg] for arg in part.args]), part.dtype)
    order = postorder([alone[node]], most=_NODES)
    if len(order) > _NODES or all(map(_is_rational, order)):
        return None
    return spread(away[node], node.shape), alone[node]


@noted
def _has_limit(alone: Node) -> bool:
    """Tell whether a formula may have a limit at 0: near it, it is no larger than farther away."""
    import mpmath  # not needed by most formulas

    order = postorder([alone])
    near, far, left = (abs(float(_value(order, mpmath.mpf(x)))) for x in (0.02, 0.05, -0.02))
    return near <= 1.8 * far < math.inf and math.isfinite(left)


@noted
def _series(alone: Node) -> tuple[float, Sequence[float]] | None:
    """Return how far from 0 a formula is the first terms of its series, and their numbers; None where it has none."""
    import mpmath  # not needed by most formulas

    order = postorder([alone])
    spend(len(order) * (_TERMS + _OTHERS))
    with mpmath.workdps(_DIGITS):
        for radius in _RADII:
            # an even number of points has none at 0
            points = [radius * mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * _TERMS)) for k in range(_TERMS)]
            others = [radius * mpmath.cos(1 + 5 * k) for k in range(_OTHERS)]
            values = [_value(order, x) for x in points]
            if not all(map(mpmath.isfinite, values)):  # beyond a domain
                continue
            numbers = _through(points, values)
            largest = max(map(abs, values))
            beside = [_value(order, x) - mpmath.polyval(numbers[::-1], x) for x in others]
            if not largest:
                return None
            if all(abs(each) <= _REST * largest for each in beside):
                least = [abs(each) * radius**k > _REST * largest for k, each in enumerate(numbers)]
                last = max(k for k, counts in enumerate(least) if counts)
                return radius, [float(numbers[k]) if least[k] else 0.0 for k in range(last + 1)]
    return None


def _value(order: Sequence[Node], x: Any) -> Any:
    """Return a formula of a number in many digits."""
    from ...graph.reference.many_digits import SCALARS, real  # not needed by most formulas

    known: dict[Node, Any] = {}
    for part in order:
        if part.is_input:
            known[part] = x
        elif part.is_constant:
            over, under = _as_fraction(float(part.value))
            known[part] = type(x)(over) / under
        else:
            known[part] = real(SCALARS[part.op])(*[known[arg] for arg in part.args])
    return known[order[-1]]


@cache
def _as_fraction(value: float) -> tuple[float, int]:
    """Return the simple fraction that a number stands for, with 1 below the line if there is none: folded thirds."""
    from fractions import Fraction  # not needed by most formulas

    simple = Fraction(value).limit_denominator(_SIMPLE) if math.isfinite(value) else None
    if simple is None or simple.numerator / simple.denominator != value:
        return value, 1
    return simple.numerator, simple.denominator


def _through(points: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Return the polynomial through points, by divided differences."""
    table = list(values)
    for k in range(1, len(points)):
        for i in range(len(points) - 1, k - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (points[i] - points[i - k])
    numbers = [table[-1]]
    for x, c in zip(points[-2::-1], table[-2::-1], strict=True):
        numbers = [a - x * b for a, b in zip([0, *numbers], [*numbers, 0], strict=True)]
        numbers[0] += c
    return numbers


def _sum_of_powers(numbers: Sequence[float], u: Node) -> Node:
    """Return a polynomial of u by Horner's rule: of its square, where no odd power is in it."""
    odd = any(numbers[1::2])
    x = u if odd else elementwise("multiply", (u, u))
    numbers = numbers if odd else numbers[::2]
    total = constant(numbers[-1])
    for c in numbers[-2::-1]:
        total = elementwise("add", (constant(c), elementwise("multiply", (x, total))))
    return total
