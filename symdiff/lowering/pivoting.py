"""Elimination with partial pivoting as straight-line code: rows change places by selection, without a branch.

A matrix A becomes P A = L U. An element of L or U is the element of A less one sum of products, as
Crout has it: rounded like this, matrices of small integers that are singular show it more often than
when products are subtracted one by one. Elements of L are quotients, and not products with an
inverted pivot: a row that stands twice leaves zeros, and a tiny pivot does not overflow. Value
numbering shares the steps between everything that is made of one matrix.

Source: Higham, Accuracy and Stability of Numerical Algorithms (2002), sections 9.1 to 9.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from .builder import ZERO, ProgramBuilder

Matrix: TypeAlias = list[list[int]]


class Swap(NamedTuple):
    """Two rows that change places where a condition holds, or everywhere (None)."""

    condition: int | None
    first: int
    second: int

    def apply(self, builder: ProgramBuilder, rows: Matrix, start: int = 0) -> None:
        """Exchange two rows of a matrix from the column ``start`` on."""
        a, b = rows[self.first], rows[self.second]
        if self.condition is None:
            rows[self.first], rows[self.second] = b, a
            return
        pairs = list(zip(a[start:], b[start:], strict=True))
        rows[self.first] = [*a[:start], *(builder.where(self.condition, q, p) for p, q in pairs)]
        rows[self.second] = [*b[:start], *(builder.where(self.condition, p, q) for p, q in pairs)]


class Factorization(NamedTuple):
    """P A = L U.

    Parameters
    ----------
    rows : list of list of int
        L below the diagonal (it has ones on it), and U.
    zeros : list of int
        Conditions, one of which holds where A is singular.
    swaps : list of Swap
        The exchanges of rows of A, in order.
    """

    rows: Matrix
    zeros: list[int]
    swaps: list[Swap]

    @property
    def pivots(self) -> list[int]:
        """The diagonal of U."""
        return [row[k] for k, row in enumerate(self.rows)]


def factorise(builder: ProgramBuilder, a: Matrix) -> Factorization:
    """Eliminate a square matrix."""
    n = len(a)
    rows = [list(row) for row in a]
    zeros: list[int] = []
    swaps: list[Swap] = []
    for k in range(n):
        for i in range(1, n):
            above = rows[: min(i, k)]
            rows[i][k] = builder.subtract(rows[i][k], builder.dot(rows[i][: len(above)], [row[k] for row in above]))
        _choose(builder, rows, k, swaps)
        pivot = rows[k][k] = builder.real(rows[k][k])
        zero = _zero(builder, pivot)
        for row in rows[k + 1 :]:
            row[k] = _quotient(builder, row[k], pivot, zero)
        zeros += zero
    return Factorization(rows, zeros, swaps)


def factorise_definite(builder: ProgramBuilder, a: Matrix) -> Factorization:
    """Eliminate a symmetric matrix that is declared positive definite, of which the lower triangle is read.

    No row changes places: elements do not grow (Higham, section 10.1). The matrix is definite just where all pivots are
    above 0, which the caller checks.
    """
    n = len(a)
    rows = [[ZERO] * n for _ in range(n)]
    for k in range(n):
        for i in range(k, n):
            above = [row[i] for row in rows[:k]]
            rows[k][i] = builder.subtract(a[i][k], builder.dot(above, rows[k][:k]))
        rows[k][k] = builder.real(rows[k][k])
        for i in range(k + 1, n):
            rows[i][k] = builder.divide(rows[k][i], rows[k][k])
    return Factorization(rows, [], [])


def _zero(builder: ProgramBuilder, value: int) -> list[int]:
    """Return the condition that a pivot is zero, if it may be."""
    return [] if builder.consts.get(value) else [builder.emit("equal", value, builder.number(0.0))]


def _quotient(builder: ProgramBuilder, value: int, pivot: int, zero: list[int]) -> int:
    """Return value / pivot, and the value where the pivot is zero: it is zero too, or nan."""
    if value == ZERO:
        return ZERO
    quotient = builder.divide(value, pivot)
    return builder.where(zero[0], value, quotient) if zero else quotient


def _choose(builder: ProgramBuilder, rows: Matrix, k: int, swaps: list[Swap]) -> None:
    """Bring the largest element of column ``k`` to the diagonal: the winners of pairs, pairs of these, and so on."""
    if rows[k][k] != ZERO and all(v == ZERO for v in rows[k][k + 1 :]):
        return  # as in a lower triangle: nothing is added to other rows, so nothing grows
    left = list(range(k, len(rows)))
    while len(left) > 1:
        for one, other in zip(left[::2], left[1::2], strict=False):
            swap = _larger(builder, rows, k, one, other)
            if swap is not None:
                swap.apply(builder, rows)
                swaps.append(swap)
        left = left[::2]


def _larger(builder: ProgramBuilder, rows: Matrix, k: int, one: int, other: int) -> Swap | None:
    """Return the exchange that brings the larger element of column ``k`` to the row ``one``."""
    p, q = rows[one][k], rows[other][k]
    if q == ZERO:
        return None
    if p == ZERO:
        return Swap(None, one, other)
    if p in builder.consts and q in builder.consts:
        return Swap(None, one, other) if abs(builder.consts[p]) < abs(builder.consts[q]) else None
    return Swap(builder.emit("less", builder.emit("abs", p), builder.emit("abs", q)), one, other)


def sign(builder: ProgramBuilder, found: Factorization) -> int:
    """Return the sign of the determinant, where it is not zero."""
    value = parity(builder, found.swaps)
    for pivot in found.pivots:
        value = builder.multiply(value, builder.emit("copysign", builder.number(1.0), pivot))
    return value


def product(builder: ProgramBuilder, factors: Sequence[int]) -> int:
    """Return the product of numbers that are not negative, without overflow or underflow on the way.

    The largest is multiplied by the smallest, and so on inwards: where such a product overflows, all
    factors are above 1, and where it underflows, all are below.
    """
    left = list(factors)
    while len(left) > 2:
        left = _sorted(builder, left)
        half = len(left) // 2
        middle = left[half : len(left) - half]
        left = [builder.multiply(p, q) for p, q in zip(left[:half], reversed(left), strict=False)] + middle
    return builder.multiply(*left) if len(left) == 2 else left[0] if left else builder.number(1.0)


def _sorted(builder: ProgramBuilder, values: list[int]) -> list[int]:
    """Sort by Batcher's network of exchanges (Knuth, The Art of Computer Programming 3, algorithm 5.2.2M)."""
    values, n = list(values), len(values)
    top = 1 << (n - 1).bit_length() - 1
    p = top
    while p:
        q, r, d = top, 0, p
        while True:
            for i in range(n - d):
                if i & p == r:
                    a, b = values[i], values[i + d]
                    wrong = builder.emit("less", b, a)
                    values[i], values[i + d] = builder.where(wrong, b, a), builder.where(wrong, a, b)
            if q == p:
                break
            d, q, r = q - p, q >> 1, p
        p >>= 1
    return values


class EliminationStep(NamedTuple):
    """P A Q = [[1, 0], [left, I]] [[pivot, right pivot], [0, rest]].

    Parameters
    ----------
    pivot : int
        The largest element.
    left, right : list of int
        The first column and the first row below and beside it, over the pivot.
    rest : list of list of int
    sign : int
        det(P) det(Q).
    zero : list of int
        The condition that the pivot is zero.
    rows, columns : list of Swap
    """

    pivot: int
    left: list[int]
    right: list[int]
    rest: Matrix
    sign: int
    zero: list[int]
    rows: list[Swap]
    columns: list[Swap]

    def over(self, builder: ProgramBuilder, value: int) -> int:
        """Return a value over the pivot; 0 where both are 0."""
        return _quotient(builder, value, self.pivot, self.zero)

    def put_back(self, builder: ProgramBuilder, x: Matrix) -> Matrix:
        """Return Q x P."""
        x = list(x)
        for swap in reversed(self.columns):
            swap.apply(builder, x)
        columns = [list(column) for column in zip(*x, strict=True)]
        for swap in reversed(self.rows):
            swap.apply(builder, columns)
        return [list(row) for row in zip(*columns, strict=True)]


def largest_first(builder: ProgramBuilder, a: Matrix) -> EliminationStep:
    """Eliminate the first column after the largest element of all came to its head."""
    n, x = len(a), [list(row) for row in a]
    sizes = [[builder.emit("abs", builder.real(v)) for v in row] for row in x]
    rows: list[Swap] = []
    best = _largest(builder, sizes[0])
    for i in range(1, n):
        size = _largest(builder, sizes[i])
        rows.append(Swap(builder.emit("less", best, size), 0, i))
        best = _larger_size(builder, best, size)
        rows[-1].apply(builder, x)
    x, columns = _transposed(x), []
    for j in range(1, n):
        smaller = builder.emit("less", *(builder.emit("abs", builder.real(x[k][0])) for k in (0, j)))
        columns.append(Swap(smaller, 0, j))
        columns[-1].apply(builder, x)
    x = _transposed(x)
    pivot = builder.real(x[0][0])
    zero = _zero(builder, pivot)
    left = [_quotient(builder, row[0], pivot, zero) for row in x[1:]]
    right = [_quotient(builder, v, pivot, zero) for v in x[0][1:]]
    rest = [
        [builder.subtract(v, builder.multiply(factor, above)) for v, above in zip(row[1:], x[0][1:], strict=True)]
        for row, factor in zip(x[1:], left, strict=True)
    ]
    return EliminationStep(pivot, left, right, rest, parity(builder, [*rows, *columns]), zero, rows, columns)


def _largest(builder: ProgramBuilder, sizes: Sequence[int]) -> int:
    best = sizes[0]
    for size in sizes[1:]:
        best = _larger_size(builder, best, size)
    return best


def _larger_size(builder: ProgramBuilder, one: int, other: int) -> int:
    return builder.where(builder.emit("less", one, other), other, one)


def _transposed(x: Matrix) -> Matrix:
    return [list(column) for column in zip(*x, strict=True)]


def parity(builder: ProgramBuilder, swaps: Sequence[Swap]) -> int:
    """Return the sign of a permutation."""
    value = builder.number(1.0)
    for swap in swaps:
        turned = builder.negative(value)
        value = turned if swap.condition is None else builder.where(swap.condition, turned, value)
    return value
