"""Small matrices as straight-line code: cofactors up to 4×4, elimination with pivoting above."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..errors import UnsupportedError
from ..graph import Node
from .code import ZERO, Code, Ids, fixed_shape

#: Largest matrix inverted and differentiated by cofactors.
COFACTOR_LIMIT = 4
#: Largest matrix eliminated as straight-line code.
ELIMINATION_LIMIT = 12
SINGULAR = "a matrix to invert is singular"
INDEFINITE = "a matrix to factorise is not positive definite"

Matrix: TypeAlias = list[list[int]]


def _each_matrix(lower: Callable[..., Any], result: int) -> Callable[[Code, Node, list[Ids]], Ids]:
    """Lift a function of one matrix (lists of rows) to stacks; ``result`` is the rank it gives."""

    def run(code: Code, node: Node, args: list[Ids]) -> Ids:
        lead = args[0].shape[:-2]
        parts = [lower(code, node.op, *[a[index].tolist() for a in args]) for index in np.ndindex(lead)]
        shape = fixed_shape(node.shape)
        return np.array(parts, np.int64).reshape(shape) if result else np.array(parts, np.int64).reshape(lead)

    return run


def _require_small(op: str, n: int, limit: int) -> None:
    if n > limit:
        raise UnsupportedError(f"{op} of a {n}×{n} matrix as straight-line code; the limit is {limit}×{limit}")


def _minors(code: Code, rows: Matrix, columns: Sequence[int], from_below: bool = False) -> int:
    """Return the determinant of ``rows`` over ``columns`` by Laplace's expansion along an outer row."""
    if not rows:
        return code.number(1.0)
    along, others = (rows[-1], rows[:-1]) if from_below else (rows[0], rows[1:])
    total = ZERO
    for place, column in enumerate(columns):
        if along[column] == ZERO:
            continue
        rest = [c for c in columns if c != column]
        term = code.multiply(along[column], _minors(code, others, rest, from_below))
        odd = (place + (len(rows) - 1 if from_below else 0)) % 2
        total = code.subtract(total, term) if odd else code.add(total, term)
    return total


def _cofactors(code: Code, a: Matrix) -> Matrix:
    """Return adj(a): the transposed cofactors.

    Cofactors of upper rows are expanded downwards and those of lower rows upwards, so that they
    share the minors of the lower and of the upper half.
    """
    n = len(a)
    result = [[ZERO] * n for _ in range(n)]
    for i in range(n):
        others = [row for r, row in enumerate(a) if r != i]
        for j in range(n):
            minor = _minors(code, others, [c for c in range(n) if c != j], from_below=2 * i >= n)
            result[j][i] = code.negative(minor) if (i + j) % 2 else minor
    return result


def _det(code: Code, op: str, a: Matrix) -> int:
    n = len(a)
    if n <= COFACTOR_LIMIT:
        value = code.real(_minors(code, a, range(n)))
    else:
        _require_small(op, n, ELIMINATION_LIMIT)
        upper, sign = _eliminate(code, a, [[] for _ in a])[1:]
        value = sign
        for i in range(n):
            value = code.multiply(value, upper[i][i])
        value = code.real(value)
    if op == "logdet":
        return code.emit("log", value)
    return code.emit("log", code.emit("abs", value)) if op == "logabsdet" else value


def _inv(code: Code, op: str, a: Matrix) -> Matrix:
    n = len(a)
    if n <= COFACTOR_LIMIT:
        adjugate = _cofactors(code, a)
        det = code.real(code.dot(a[0], [row[0] for row in adjugate])) if n else code.number(1.0)
        code.check(det, SINGULAR)
        scale = code.divide(code.number(1.0), det)
        return [[code.multiply(v, scale) for v in row] for row in adjugate]
    one = code.number(1.0)
    return _solve(code, op, a, [[one if i == j else ZERO for j in range(n)] for i in range(n)])


def _solve(code: Code, op: str, a: Matrix, b: Matrix) -> Matrix:
    n = len(a)
    _require_small(op, n, ELIMINATION_LIMIT)
    right, upper, _ = _eliminate(code, a, b)
    for i in range(n):
        code.check(upper[i][i], SINGULAR)
    width = len(b[0]) if b else 0
    x = [[ZERO] * width for _ in range(n)]
    for i in reversed(range(n)):
        for j in range(width):
            known = code.dot(upper[i][i + 1 :], [x[k][j] for k in range(i + 1, n)])
            x[i][j] = code.divide(code.subtract(right[i][j], known), upper[i][i])
    return x


def _eliminate(code: Code, a: Matrix, b: Matrix) -> tuple[Matrix, Matrix, int]:
    """Eliminate [a b] with partial pivoting: rows change places by selection, without a branch.

    Returns the right side, the upper triangle, and the sign of the permutation.
    """
    rows = [[*p, *q] for p, q in zip(a, b, strict=True)]
    n = len(a)
    sign = code.number(1.0)
    for k in range(n):
        for i in range(k + 1, n):
            if rows[i][k] == ZERO:
                continue
            if rows[k][k] == ZERO:
                rows[k], rows[i] = rows[i], rows[k]
                sign = code.negative(sign)
                continue
            larger = code.emit("less", code.emit("abs", rows[k][k]), code.emit("abs", rows[i][k]))
            top, low = rows[k], rows[i]
            rows[k] = [*top[:k], *(code.where(larger, q, p) for p, q in zip(top[k:], low[k:], strict=True))]
            rows[i] = [*low[:k], *(code.where(larger, p, q) for p, q in zip(top[k:], low[k:], strict=True))]
            sign = code.where(larger, code.negative(sign), sign)
        for i in range(k + 1, n):
            if rows[i][k] == ZERO:
                continue
            factor = code.divide(rows[i][k], rows[k][k])
            pairs = zip(rows[i][k + 1 :], rows[k][k + 1 :], strict=True)
            rows[i] = [*rows[i][:k], ZERO, *(code.subtract(p, code.multiply(factor, q)) for p, q in pairs)]
    return [row[n:] for row in rows], [row[:n] for row in rows], sign


def _adjugate(code: Code, op: str, a: Matrix) -> Matrix:
    _require_small(op, len(a), COFACTOR_LIMIT)
    return _cofactors(code, a)


def _adjugate_differential(code: Code, op: str, a: Matrix, e: Matrix) -> Matrix:
    """Differentiate each cofactor: a minor is linear in each row, so one row at a time is exchanged."""
    n = len(a)
    _require_small(op, n, COFACTOR_LIMIT)
    result = [[ZERO] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            columns = [c for c in range(n) if c != j]
            others = [r for r in range(n) if r != i]
            total = code.sum(_minors(code, [e[r] if r == p else a[r] for r in others], columns) for p in others)
            result[j][i] = code.negative(total) if (i + j) % 2 else total
    return result


def _cholesky(code: Code, op: str, a: Matrix) -> Matrix:
    n = len(a)
    _require_small(op, n, ELIMINATION_LIMIT)
    lower = [[ZERO] * n for _ in range(n)]
    for j in range(n):
        rest = code.real(code.subtract(a[j][j], code.dot(lower[j][:j], lower[j][:j])))
        # 1 where the pivot is positive or NaN: NaN in gives NaN out
        fails = code.emit("less_equal", rest, code.number(0.0))
        code.check(code.emit("to_real", code.emit("logical_not", fails)), INDEFINITE)
        lower[j][j] = code.emit("sqrt", rest)
        for i in range(j + 1, n):
            lower[i][j] = code.divide(code.subtract(a[i][j], code.dot(lower[i][:j], lower[j][:j])), lower[j][j])
    return lower


MATRICES: dict[str, Callable[[Code, Node, list[Ids]], Ids]] = {
    "det": _each_matrix(_det, 0),
    "logdet": _each_matrix(_det, 0),
    "logabsdet": _each_matrix(_det, 0),
    "inv": _each_matrix(_inv, 2),
    "solve": _each_matrix(_solve, 2),
    "adjugate": _each_matrix(_adjugate, 2),
    "adjugate_differential": _each_matrix(_adjugate_differential, 2),
    "cholesky": _each_matrix(_cholesky, 2),
}
