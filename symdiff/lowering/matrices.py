"""Small matrices as straight-line code: elimination with pivoting, and cofactors where they are the result.

Elimination with partial pivoting as straight-line code: rows change places by selection, without a branch.

A matrix A becomes P A = L U. An element of L or U is the element of A less one sum of products, as
Crout has it: rounded like this, matrices of small integers that are singular show it more often than
when products are subtracted one by one. Elements of L are quotients, and not products with an
inverted pivot: a row that stands twice leaves zeros, and a tiny pivot does not overflow. Value
numbering shares the steps between everything that is made of one matrix.

Source: Higham, Accuracy and Stability of Numerical Algorithms (2002), sections 9.1 to 9.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..errors import UnsupportedError
from ..graph import Node
from ..graph.primitives import Placeholder
from .builder import ZERO, Ids, ProgramBuilder, fixed_shape

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


#: Largest matrix of which the cofactors are computed.
COFACTOR_LIMIT = 4
#: Largest matrix eliminated as straight-line code.
ELIMINATION_LIMIT = 12
SINGULAR = "a matrix to invert is singular; check the data, or add a small multiple of the identity"
INDEFINITE = "a matrix to factorise is not positive definite; check the data, or add a small multiple of the identity"


def said_of_indefinite(matrix: Node) -> str:
    """Return what is said of a matrix that is declared definite and is not; "" where none is declared so."""
    from ..rewrite.facts import is_definite  # not needed by a value that is known

    if not is_definite(matrix):
        return ""
    if not matrix.is_input:
        return "a matrix is positive definite by what is declared of its inputs, and has no Cholesky factor"
    key: Any = matrix.name.key if isinstance(matrix.name, Placeholder) else (matrix.name,)
    if key[0] == "port":  # what a loop reads tells it itself
        return str(key[-1])
    # of an input with the batch the name is behind ("call", number)
    return f"{key[-1]} is declared positive definite, and has no Cholesky factor"


def _each_matrix(
    lower: Callable[..., Any], result: int, *, asks: bool = False
) -> Callable[[ProgramBuilder, Node, list[Ids]], Ids]:
    """Lift a function of one matrix (lists of rows) to stacks; ``result`` is the rank it gives.

    A function that ``asks`` is told what is said where the matrix is declared definite and is not, "" where it is not
    declared so.
    """

    def run(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
        lead = args[0].shape[:-2]
        # as NumPy has it: what float32 loses to the condition of a matrix is soon all of its digits
        builder.wide |= args[0].shape[-1] > 1
        told = (said_of_indefinite(node.args[0]),) if asks else ()
        parts = [lower(builder, node.op, *[a[index].tolist() for a in args], *told) for index in np.ndindex(lead)]
        shape = fixed_shape(node.shape)
        return np.array(parts, np.int64).reshape(shape) if result else np.array(parts, np.int64).reshape(lead)

    return run


def _require_small(op: str, n: int, limit: int) -> None:
    if n > limit:
        raise UnsupportedError(f"{op} of a {n}×{n} matrix as straight-line code; the limit is {limit}×{limit}")


def _minors(builder: ProgramBuilder, rows: Matrix, columns: Sequence[int]) -> int:
    """Return the determinant of ``rows`` over ``columns`` by Laplace's expansion along the first row."""
    if not rows:
        return builder.number(1.0)
    total = ZERO
    for place, column in enumerate(columns):
        if rows[0][column] == ZERO:
            continue
        term = builder.multiply(rows[0][column], _minors(builder, rows[1:], [c for c in columns if c != column]))
        total = builder.subtract(total, term) if place % 2 else builder.add(total, term)
    return total


def _cofactors(builder: ProgramBuilder, a: Matrix) -> Matrix:
    """Return adj(a): the transposed cofactors."""
    n = len(a)
    result = [[ZERO] * n for _ in range(n)]
    for i in range(n):
        others = [row for r, row in enumerate(a) if r != i]
        for j in range(n):
            minor = _minors(builder, others, [c for c in range(n) if c != j])
            result[j][i] = builder.negative(minor) if (i + j) % 2 else minor
    return result


def _factorise(builder: ProgramBuilder, a: Matrix, declared: str) -> Factorization:
    """Eliminate a matrix; one that is declared definite is checked, and ``declared`` said where it is not."""
    if not declared:
        return factorise(builder, a)
    found = factorise_definite(builder, a)
    # 1 where the pivots are positive or NaN: NaN in gives NaN out
    fails = [builder.emit("less_equal", pivot, builder.number(0.0)) for pivot in found.pivots]
    if fails:
        builder.check(builder.emit("to_real", builder.emit("logical_not", _any(builder, fails))), declared)
    return found


def _det(builder: ProgramBuilder, op: str, a: Matrix, declared: str) -> int:
    n = len(a)
    _require_small(op, n, ELIMINATION_LIMIT)
    if op == "det" and n <= 2 and not declared:
        return builder.real(_minors(builder, a, range(n)))
    found = _factorise(builder, a, declared)
    if op == "det" and declared:
        return product(builder, found.pivots)
    if op == "det":
        return builder.multiply(sign(builder, found), product(builder, [builder.emit("abs", p) for p in found.pivots]))
    if not n:
        return builder.number(0.0)
    fraction = reduce(builder.multiply, [builder.emit("fraction", pivot) for pivot in found.pivots])
    value = _log_of_product(builder, fraction, found.pivots)
    if op == "logabsdet" or declared:
        return value
    negative = builder.emit("less", builder.multiply(parity(builder, found.swaps), fraction), builder.number(0.0))
    if found.zeros:
        negative = builder.emit("logical_and", negative, builder.emit("logical_not", _any(builder, found.zeros)))
    return builder.where(negative, builder.number(math.nan), value)


def _log_of_product(builder: ProgramBuilder, fraction: int, factors: Sequence[int]) -> int:
    """Return log |product|, given the product of the fractions: one logarithm, since exponents can be added.

    The product of n fractions is between 1 and 2^n. The first part of log 2 has 32 bits, so that its product with
    an exponent is exact.
    """
    exponent = builder.sum(builder.emit("exponent", factor) for factor in factors)
    first, rest = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
    log = builder.emit("log", builder.emit("abs", fraction))
    return builder.add(
        builder.add(log, builder.multiply(exponent, builder.number(rest))),
        builder.multiply(exponent, builder.number(first)),
    )


def _any(builder: ProgramBuilder, conditions: Sequence[int]) -> int:
    first, *rest = conditions
    for condition in rest:
        first = builder.emit("logical_or", first, condition)
    return first


def _require_regular(builder: ProgramBuilder, found: Factorization) -> None:
    if found.zeros:
        builder.check(builder.emit("to_real", builder.emit("logical_not", _any(builder, found.zeros))), SINGULAR)


def _inv(builder: ProgramBuilder, op: str, a: Matrix, declared: str) -> Matrix:
    """Return U⁻¹ (L⁻¹ P).

    The columns of L⁻¹ are put in order, not those of the result: fewer choices, as half of L⁻¹ is 0 or 1,
    and none of them waits for the end.
    """
    n = len(a)
    _require_small(op, n, ELIMINATION_LIMIT)
    found = _factorise(builder, a, declared)
    _require_regular(builder, found)
    one = builder.number(1.0)
    x = [[one if i == j else ZERO for j in range(n)] for i in range(n)]
    _forwards(builder, found, x)
    columns = [list(column) for column in zip(*x, strict=True)]
    for swap in reversed(found.swaps):
        swap.apply(builder, columns)
    x = [list(row) for row in zip(*columns, strict=True)]
    inverses = [builder.divide(one, pivot) for pivot in found.pivots]
    _backwards(builder, found, x, lambda i, value: builder.multiply(value, inverses[i]))
    return x


def _solve(builder: ProgramBuilder, op: str, a: Matrix, b: Matrix, declared: str) -> Matrix:
    _require_small(op, len(a), ELIMINATION_LIMIT)
    found = _factorise(builder, a, declared)
    _require_regular(builder, found)
    x = [list(row) for row in b]
    for swap in found.swaps:
        swap.apply(builder, x)
    _forwards(builder, found, x)
    _backwards(builder, found, x, lambda i, value: builder.divide(value, found.pivots[i]))
    return x


def _forwards(builder: ProgramBuilder, found: Factorization, x: Matrix) -> None:
    """Put L⁻¹ x in the place of x."""
    for i, row in enumerate(found.rows):
        for j in range(len(x[i])):
            x[i][j] = builder.subtract(x[i][j], builder.dot(row[:i], [x[k][j] for k in range(i)]))


def _backwards(builder: ProgramBuilder, found: Factorization, x: Matrix, over: Callable[[int, int], int]) -> None:
    """Put U⁻¹ x in the place of x; ``over`` divides a value by a pivot.

    Products are subtracted one by one, that of the value found last at the end, so that little waits for it.
    """
    n = len(x)
    for i in reversed(range(n)):
        for j in range(len(x[i])):
            rest = x[i][j]
            for k in reversed(range(i + 1, n)):
                rest = builder.subtract(rest, builder.multiply(found.rows[i][k], x[k][j]))
            x[i][j] = over(i, rest)


def _adjugate(builder: ProgramBuilder, op: str, a: Matrix) -> Matrix:
    """Return cofactors; of a 4×4 matrix after one step of elimination with complete pivoting.

    Minors of two rows lose no more digits than an inverse does, those of three do. The step leaves
    P A Q = [[1, 0], [l, I]] [[d, u], [0, S]], and the adjugate of the second matrix is
    [[det S, -u adj S], [0, d adj S]]. As d is the largest element, det S = (s/d) (d adj S) for the
    first row s of S does not lose more than d adj S has. Nothing is divided but by d. The adjugate of
    sqrt(d) S is d adj S, and neither overflows nor underflows unless that does.
    """
    n = len(a)
    _require_small(op, n, COFACTOR_LIMIT)
    if n < COFACTOR_LIMIT:
        return _cofactors(builder, a)
    step = largest_first(builder, a)
    d, inside = step.pivot, step.rest
    root = builder.emit("sqrt", builder.emit("abs", d))
    minors = _cofactors(builder, [[builder.multiply(root, v) for v in row] for row in inside])
    turned = builder.multiply(step.sign, builder.emit("copysign", builder.number(1.0), d))
    minors = [[builder.multiply(turned, v) for v in row] for row in minors]
    det = builder.dot([step.over(builder, v) for v in inside[0]], [row[0] for row in minors])
    top = [builder.dot(step.right, column) for column in zip(*minors, strict=True)]
    result = [[builder.add(det, builder.dot(top, step.left)), *(builder.negative(v) for v in top)]]
    result += [[builder.negative(builder.dot(row, step.left)), *row] for row in minors]
    return step.put_back(builder, result)


def _adjugate_differential(builder: ProgramBuilder, op: str, a: Matrix, e: Matrix) -> Matrix:
    """Differentiate each cofactor: a minor is linear in each row, so one row at a time is exchanged."""
    n = len(a)
    _require_small(op, n, COFACTOR_LIMIT)
    result = [[ZERO] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            columns = [c for c in range(n) if c != j]
            others = [r for r in range(n) if r != i]
            total = builder.sum(_minors(builder, [e[r] if r == p else a[r] for r in others], columns) for p in others)
            result[j][i] = builder.negative(total) if (i + j) % 2 else total
    return result


def _cholesky(builder: ProgramBuilder, op: str, a: Matrix) -> Matrix:
    n = len(a)
    _require_small(op, n, ELIMINATION_LIMIT)
    lower = [[ZERO] * n for _ in range(n)]
    for j in range(n):
        rest = builder.real(builder.subtract(a[j][j], builder.dot(lower[j][:j], lower[j][:j])))
        # 1 where the pivot is positive or NaN: NaN in gives NaN out
        fails = builder.emit("less_equal", rest, builder.number(0.0))
        builder.check(builder.emit("to_real", builder.emit("logical_not", fails)), INDEFINITE)
        lower[j][j] = builder.emit("sqrt", rest)
        for i in range(j + 1, n):
            rest = builder.subtract(a[i][j], builder.dot(lower[i][:j], lower[j][:j]))
            lower[i][j] = builder.divide(rest, lower[j][j])
    return lower


def _iterated(builder: ProgramBuilder, op: str, a: Matrix) -> Matrix:
    raise UnsupportedError(f"{op} of a matrix as straight-line code; it is iterated until it converges")


MATRICES: dict[str, Callable[[ProgramBuilder, Node, list[Ids]], Ids]] = {
    "det": _each_matrix(_det, 0, asks=True),
    "logdet": _each_matrix(_det, 0, asks=True),
    "logabsdet": _each_matrix(_det, 0, asks=True),
    "inv": _each_matrix(_inv, 2, asks=True),
    "solve": _each_matrix(_solve, 2, asks=True),
    "adjugate": _each_matrix(_adjugate, 2),
    "adjugate_differential": _each_matrix(_adjugate_differential, 2),
    "cholesky": _each_matrix(_cholesky, 2),
    **dict.fromkeys(("eigvalsh", "eigenvectors"), _each_matrix(_iterated, 2)),
}
