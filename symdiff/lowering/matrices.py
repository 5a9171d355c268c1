"""Small matrices as straight-line code: elimination with pivoting, and cofactors where they are the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ..errors import UnsupportedError
from ..graph import Node
from ..graph.primitives import Placeholder
from .builder import ZERO, Ids, ProgramBuilder, fixed_shape
from .pivoting import Factorization, Matrix, factorise, factorise_definite, largest_first, parity, product, sign

#: Largest matrix of which the cofactors are computed.
COFACTOR_LIMIT = 4
#: Largest matrix eliminated as straight-line code.
ELIMINATION_LIMIT = 12
SINGULAR = "a matrix to invert is singular"
INDEFINITE = "a matrix to factorise is not positive definite"


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
