"""Sorting as straight-line code: comparisons in an order that no number changes.

Elements are sorted by Batcher's network of odd-even merges (Knuth, The Art of Computer Programming, 5.3.4), and arrays
are put into the order of others by counting which come before each. nan comes last, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import UnsupportedError
from ..graph import Node
from .builder import ZERO, Ids, ProgramBuilder

#: The longest line that is sorted as straight-line code: it takes some thousand operations.
LIMIT = 32


def lower_sort(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    """Sort the lines along an axis."""
    axis, reverse = node.payload
    lines = np.moveaxis(args[0], axis, -1).copy()
    _check(node, lines.shape[-1])
    for index in np.ndindex(lines.shape[:-1]):
        line = [builder.real(int(v)) for v in lines[index]]
        for i, j in comparators(len(line)):
            a, b = line[i], line[j]
            later = _before(builder, b, a)
            line[i], line[j] = builder.where(later, b, a), builder.where(later, a, b)
        lines[index] = line[::-1] if reverse else line
    return np.moveaxis(lines, -1, axis)


def _check(node: Node, count: int) -> None:
    if count > LIMIT:
        raise UnsupportedError(f"{node.op} of {count} elements as straight-line code; the limit is {LIMIT}")


def comparators(n: int) -> Iterator[tuple[int, int]]:
    """Return the pairs that are compared and exchanged, in order, to sort ``n`` elements."""
    p = 1
    while p < n:
        k = p
        while k >= 1:
            for start in range(k % p, n - k, 2 * k):
                for i in range(start, min(start + k, n - k)):
                    if i // (2 * p) == (i + k) // (2 * p):
                        yield i, i + k
            k //= 2
        p *= 2


def _before(builder: ProgramBuilder, a: int, b: int) -> int:
    """Tell whether ``a`` comes before ``b``: it is less, or a number where ``b`` is nan."""
    if a == b:
        return builder.call("not_equal", builder.number(0.0), builder.number(0.0))
    greater = builder.call("logical_not", builder.call("less_equal", b, a))
    return builder.call("logical_and", greater, builder.call("equal", a, a))


def lower_arrange(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    """Put lines into the order of others: of those that tie, each place gets the mean."""
    axis, back = node.payload
    x, key = np.moveaxis(args[0], axis, -1), np.moveaxis(args[1], axis, -1)
    n = key.shape[-1]
    _check(node, n)
    result = np.full(x.shape, ZERO, np.int64)
    lead = x.shape[: x.ndim - key.ndim]
    for index in np.ndindex(key.shape[:-1]):
        weights = _weights(builder, [builder.real(int(v)) for v in key[index]])
        for first in np.ndindex(lead):
            line = [int(v) for v in x[first + index]]
            for k in range(n):
                total = ZERO
                for i in range(n):
                    condition, share = weights[k][i] if back else weights[i][k]
                    value = line[i]
                    if value != ZERO:
                        term = builder.where(condition, builder.multiply(share, value), ZERO)
                        total = builder.add(total, term)
                result[(*first, *index, k)] = total
    return np.moveaxis(result, -1, axis)


def _weights(builder: ProgramBuilder, key: list[int]) -> list[list[tuple[int, int]]]:
    """Return for each element and each place of the order whether it may stand there, and its share of the place."""
    n = len(key)
    before = {(i, j): _before(builder, key[i], key[j]) for i in range(n) for j in range(n) if i != j}
    one = builder.number(1.0)
    weights = []
    for j in range(n):
        first, ties = builder.number(0.0), one
        for i in range(n):
            if i != j:
                less = builder.call("to_real", before[i, j])
                more = builder.call("to_real", before[j, i])
                first = builder.add(first, less)
                ties = builder.add(ties, builder.subtract(builder.subtract(one, less), more))
        end, share = builder.add(first, ties), builder.divide(one, ties)
        row = []
        for k in range(n):
            place = builder.number(float(k))
            reached = builder.call("less_equal", first, place)
            row.append((builder.call("logical_and", reached, builder.call("less", place, end)), share))
        weights.append(row)
    return weights
