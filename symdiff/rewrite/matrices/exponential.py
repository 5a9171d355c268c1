"""The exponential of any square matrix, by scaling, Padé's approximant of degree 13, and squaring (Higham 2005).

The number of squarings depends on the norm: a loop runs for the largest number, and squares in as many of its turns as
the norm needs. The derivative in a direction is that of the approximant and of the squarings. It is as accurate as they
are (Al-Mohy and Higham 2009, section 4).
"""

from __future__ import annotations

from math import nan
from typing import NamedTuple

from ...graph import (
    Node,
    broadcast_to,
    canonical,
    contract,
    delta,
    matmul,
    matrix,
    parts_of,
    placeholder,
    recurrence,
    reduce,
    reshape,
    result_of,
)
from ...graph.primitives import Body
from ...graph.scalars.functions import apply, compare, where

#: Norm up to which the approximant is exact to double precision, and the largest number of squarings.
THETA, SQUARINGS = 5.371920351148152, 12
#: Coefficients of the numerator, the constant one first.
PADE = (
    *(64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0),
    *(10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0),
)


class _Moving(NamedTuple):
    """A matrix, and its change in a direction: None for a constant, and where no direction is asked for."""

    value: Node
    change: Node | None

    def times(self, other: _Moving) -> _Moving:
        """Return the matrix product."""
        parts = [] if self.change is None else [matmul(self.change, other.value)]
        parts += [] if other.change is None else [matmul(self.value, other.change)]
        return _Moving(matmul(self.value, other.value), _sum(parts))

    def plus(self, other: _Moving, sign: float = 1.0) -> _Moving:
        """Return the sum, or the difference."""
        change = _sum([part for part in (self.change, other.change) if part is not None])
        if self.change is not None and other.change is not None and sign < 0:
            change = self.change - other.change
        return _Moving(self.value + other.value if sign > 0 else self.value - other.value, change)


def exponential_of(x: Node, direction: Node | None = None) -> Node:
    """Return the exponential of matrices, or its derivative in a direction; nan where the 1-norm is above 22,000."""
    lead = x.shape[:-2]
    axes = tuple(range(x.ndim))
    norm = reduce("max", contract([apply("abs", x)], [axes], (*axes[:-2], axes[-1])), (x.ndim - 2,))
    # as many halvings as bring the norm below THETA
    times = apply("maximum", apply("ceil", apply("log2", norm / THETA)), 0.0)
    known = where(compare("less_equal", times, float(SQUARINGS)), 1.0, nan)
    scale = reshape(apply("exp2", -apply("minimum", times, float(SQUARINGS))), (*lead, 1, 1))
    small = _Moving(apply("multiply", x, scale), None if direction is None else apply("multiply", direction, scale))
    squared = _squared(_approximant(small), times)
    return apply("multiply", squared, reshape(known, (*lead, 1, 1)))


def _sum(parts: list[Node]) -> Node | None:
    total = None
    for part in parts:
        total = part if total is None else total + part
    return total


def _approximant(x: _Moving) -> _Moving:
    b = PADE
    one = broadcast_to(delta(x.value.shape[-1], x.value.shape[-1]), x.value.shape)
    two = x.times(x)
    four = two.times(two)
    six = four.times(two)

    def combined(*terms: tuple[float, _Moving]) -> _Moving:
        def of(c: float, part: Node) -> Node:
            return part if c == 1.0 else c * part

        value = _sum([of(c, power.value) for c, power in terms])
        assert value is not None
        return _Moving(value, _sum([of(c, power.change) for c, power in terms if power.change is not None]))

    unit = _Moving(one, None)
    high = six.times(combined((b[13], six), (b[11], four), (b[9], two)))
    odd = x.times(high.plus(combined((b[7], six), (b[5], four), (b[3], two), (b[1], unit))))
    high = six.times(combined((b[12], six), (b[10], four), (b[8], two)))
    even = high.plus(combined((b[6], six), (b[4], four), (b[2], two), (b[0], unit)))
    over, under = even.plus(odd), even.plus(odd, -1.0)
    value = matrix("solve", under.value, over.value)
    if over.change is None or under.change is None:
        return _Moving(value, None)
    return _Moving(value, matrix("solve", under.value, over.change - matmul(under.change, value)))


def _squared(x: _Moving, times: Node) -> Node:
    """Square each matrix of a stack its own number of times, and return the results, or their change.

    The number is counted down, so that a turn depends on what is carried alone and the loop ends with its last change.
    """
    carried, left = placeholder(("matrix",), x.value.shape), placeholder(("times",), times.shape)
    again = reshape(compare("greater", left, 0.0), (*times.shape, 1, 1))
    if x.change is None:
        own, start = _Moving(carried, None), [x.value]
    else:
        own, start = _Moving(carried, placeholder(("change",), x.change.shape)), [x.value, x.change]
    square = own.times(own)
    results = [where(again, square.value, carried)]
    if own.change is not None and square.change is not None:
        results.append(where(again, square.change, own.change))
    names = [carried, left] if own.change is None else [carried, own.change, left]
    results.append(apply("maximum", left - 1.0, 0.0))
    body = canonical(Body(tuple(names), (), (), tuple(results)))
    loop = recurrence(body, [*start, times], SQUARINGS)
    return result_of(loop, parts_of(loop)[len(start) - 1])
