"""Linear algebra: products, structured matrices, solutions of linear equations and factors.

A matrix of full rank is divided by a Cholesky factor of A^T A twice, which has the digits of Householder's reflections
up to condition numbers of some 1e6. Where columns depend on others, results are nan.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...errors import ArgumentError, LimitError, ShapeError, UnsupportedError
from ...graph import (
    Node,
    broadcast_shapes,
    broadcast_to,
    concatenate,
    constant,
    contract,
    delta,
    gather,
    matrix,
    pad,
    pseudo_inverse,
    reshape,
    swap,
    triangle,
    whole,
    zeros,
)
from ...graph import matmul as stack_matmul
from ...graph.scalars.functions import apply, to_real
from ...graph.sizes import Dim, hint_of, product, show
from ...ground.budget import limits, reserve
from .indexing import gather_array, getitem
from .operations import diag, diagonal, einsum, solve
from .reductions import sum
from .shaping import at_least, axis_of, flip, join, like, moveaxis, ravel, several, shown, stack, whole_number


def kron(a: Node, b: Node) -> Node:
    """Return the Kronecker product; the array of fewer axes gets axes of size 1 in front."""
    n = max(a.ndim, b.ndim)
    a, b = (reshape(to_real(x), (*[1] * (n - x.ndim), *x.shape)) for x in (a, b))
    whole_product = contract([a, b], [tuple(range(0, 2 * n, 2)), tuple(range(1, 2 * n, 2))], tuple(range(2 * n)))
    return reshape(whole_product, tuple(p * q for p, q in zip(a.shape, b.shape, strict=True)))


def cross(a: Node, b: Node, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Node:
    """Return the cross product of vectors with three elements, along the last axis or those given."""
    if axis is not None:
        axisa = axisb = axisc = axis
    if not a.ndim or not b.ndim:
        raise ShapeError(f"cross of shapes {show(a.shape)} and {show(b.shape)}; expected vectors of 3 elements")
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ShapeError(
            f"cross over axes of sizes {a.shape[-1]} and {b.shape[-1]}; expected 3 elements along both (of vectors in "
            "a plane, write a[..., 0]*b[..., 1] - a[..., 1]*b[..., 0])"
        )

    def turn(x: Node, first: int) -> Node:
        return gather(x, x.ndim - 1, (first, (first + 1) % 3, (first + 2) % 3))

    result = apply("subtract", apply("multiply", turn(a, 1), turn(b, 2)), apply("multiply", turn(a, 2), turn(b, 1)))
    return moveaxis(result, -1, axisc)


def vecdot(x1: Node, x2: Node, axis: int = -1) -> Node:
    """Multiply vectors along an axis (the last one), and sum; the other axes are broadcast."""
    if not x1.ndim or not x2.ndim:
        raise ShapeError(f"vecdot of shapes {show(x1.shape)} and {show(x2.shape)}; expected vectors, not scalars")
    x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    _same(x1, -1, x2, -1, "vecdot")
    return einsum("...i,...i->...", x1, x2)


def matvec(x1: Node, x2: Node) -> Node:
    """Multiply the matrices in the last two axes by the vectors in the last axis; the others are broadcast."""
    if x1.ndim < 2 or not x2.ndim:
        raise ShapeError(f"matvec of shapes {show(x1.shape)} and {show(x2.shape)}; expected a matrix and a vector")
    _same(x1, -1, x2, -1, "matvec")
    return einsum("...ij,...j->...i", x1, x2)


def vecmat(x1: Node, x2: Node) -> Node:
    """Multiply the vectors in the last axis by the matrices in the last two axes; the others are broadcast."""
    if x2.ndim < 2 or not x1.ndim:
        raise ShapeError(f"vecmat of shapes {show(x1.shape)} and {show(x2.shape)}; expected a vector and a matrix")
    _same(x1, -1, x2, -2, "vecmat")
    return einsum("...i,...ij->...j", x1, x2)


def _same(a: Node, i: int, b: Node, j: int, what: str) -> None:
    if a.shape[i] != b.shape[j]:
        raise ShapeError(
            f"{what} of shapes {show(a.shape)} and {show(b.shape)}: size {a.shape[i]} against {b.shape[j]}"
            f"{hint_of(a.shape[i], b.shape[j])}"
        )
    lead = [x.shape[: x.ndim - (2 if what == own else 1)] for x, own in ((a, "matvec"), (b, "vecmat"))]
    broadcast_shapes(lead, what)


def stack_trace(x: Node, offset: int = 0) -> Node:
    """Sum the diagonal of the matrices in the last two axes, as ``numpy.linalg.trace`` does."""
    return sum(diagonal(x, offset, -2, -1), -1)


def stack_diagonal(x: Node, offset: int = 0) -> Node:
    """Take the diagonal of the matrices in the last two axes, as ``numpy.linalg.diagonal`` does."""
    return diagonal(x, offset, -2, -1)


def block_diag(*arrs: Node) -> Node:
    """Put matrices on the diagonal of a larger one, zeros elsewhere; vectors are rows, as in SciPy."""
    parts = [to_real(at_least(x, 2)) for x in arrs]
    for part in parts:
        if part.ndim != 2:
            raise ShapeError(f"block_diag of an array of shape {show(part.shape)}; expected matrices")
    columns: Dim = 0
    starts: list[Dim] = []
    for part in parts:
        starts.append(columns)
        columns = columns + part.shape[1]
    rows = [
        pad(part, (whole(part.shape[0]), (start, 1, part.shape[1])), (part.shape[0], columns))
        for part, start in zip(parts, starts, strict=True)
    ]
    return rows[0] if len(rows) == 1 else concatenate(rows, 0)


def toeplitz(c: Node, r: Node | None = None) -> Node:
    """Return the matrix with equal elements along each diagonal, from its first column and its first row.

    Without a row the matrix is symmetric; the row's own first element is not used, as in SciPy.
    """
    c = ravel(c)
    r = c if r is None else ravel(r)
    n, m = _fixed(c, "toeplitz"), _fixed(r, "toeplitz")
    _room(n, m, "toeplitz")
    if n == 0 or m == 0:
        raise ShapeError(f"toeplitz of a column of {n} and a row of {m} elements; expected one at least in both")
    line = flip(c) if m == 1 else join([flip(c), getitem(r, slice(1, None))])
    return gather_array(line, 0, (n - 1) - np.arange(n)[:, None] + np.arange(m)[None, :])


def circulant(c: Node) -> Node:
    """Return the matrix whose columns are a vector, each turned by one more place."""
    c = ravel(c)
    n = _fixed(c, "circulant")
    _room(n, n, "circulant")
    return gather_array(c, 0, (np.arange(n)[:, None] - np.arange(n)) % n)


def hankel(c: Node, r: Node | None = None) -> Node:
    """Return the matrix with equal elements along each diagonal from the right, by its first column and its last row.

    Without a row it is 0 there. The row's own first element is not used, as in SciPy.
    """
    c = ravel(c)
    r = zeros(c.shape) if r is None else ravel(r)
    n, m = _fixed(c, "hankel"), _fixed(r, "hankel")
    _room(n, m, "hankel")
    if n == 0 or m == 0:
        raise ShapeError(f"hankel of a column of {n} and a row of {m} elements; expected one at least in both")
    line = c if m == 1 else join([to_real(c), to_real(getitem(r, slice(1, None)))])
    return gather_array(line, 0, np.arange(n)[:, None] + np.arange(m))


def convolution_matrix(a: Node, n: int, mode: str = "full") -> Node:
    """Return the matrix whose product with a vector of ``n`` elements is their convolution with ``a``."""
    size, count = _vector(a, "convolution_matrix", 1), whole_number("n", n)
    if count < 1:
        raise ArgumentError(f"convolution_matrix for a vector of {count} elements; expected one at least")
    shorter = min(size, count) - 1
    before = {"full": 0, "same": shorter // 2, "valid": shorter}.get(mode)
    if before is None:
        raise ArgumentError(f"convolution_matrix with mode={mode!r:.40}; expected 'full', 'same' or 'valid'")
    behind = shorter if mode == "valid" else 0 if mode == "full" else shorter - before
    column = join([to_real(a), zeros((count - 1,))]) if count > 1 else to_real(a)
    whole = toeplitz(column, zeros((count,)))
    return getitem(whole, slice(before, size + count - 1 - behind))


def companion(a: Node) -> Node:
    """Return the matrix whose eigenvalues are the roots of a polynomial, the highest coefficient first."""
    n = _vector(a, "companion", 2)
    a = to_real(a)
    first = reshape(-getitem(a, slice(1, None)) / getitem(a, 0), (1, n - 1))
    return first if n == 2 else concatenate([first, constant(np.eye(n - 2, n - 1))], 0)


def leslie(f: Node, s: Node) -> Node:
    """Return the matrix of a population's growth, from fecundities and survival rates."""
    n = _vector(f, "leslie", 2)
    if s.ndim != 1 or s.shape[0] != n - 1:
        raise ShapeError(f"leslie of shapes {show(f.shape)} and {show(s.shape)}; expected one rate less")
    rates = concatenate([diag(to_real(s)), zeros((n - 1, 1))], 1)
    return concatenate([reshape(to_real(f), (1, n)), rates], 0)


def fiedler(a: Node) -> Node:
    """Return the distances of the elements of a vector from each other."""
    _vector(a, "fiedler", 0)
    a = to_real(a)
    return apply("abs", reshape(a, (*a.shape, 1)) - a)


def _vector(x: Node, what: str, least: int) -> int:
    if x.ndim != 1:
        raise ShapeError(f"{what} of an array of shape {show(x.shape)}; expected a vector")
    size = _fixed(x, what)
    if size < least:
        raise ShapeError(f"{what} of a vector of {size} elements; expected {least} at least")
    return size


#: Columns of a matrix of powers, each of which is a part of it.
_COLUMNS = 100_000


def vander(x: Node, N: int | None = None, increasing: bool = False) -> Node:
    """Return the matrix of the powers of a vector's elements, the highest first unless ``increasing``."""
    if x.ndim != 1:
        raise ShapeError(f"vander of an array of shape {show(x.shape)}; expected a vector")
    count = _fixed(x, "vander") if N is None else whole_number("N", N)
    if count < 1:
        raise ArgumentError(f"vander with {count} columns; expected one at least")
    _room(x.shape[0] if isinstance(x.shape[0], int) else 1, count, "vander")
    if count > _COLUMNS:
        raise LimitError(f"vander with {count} columns, each a power; expected {_COLUMNS} at most")
    x = to_real(x)
    powers = [like(x, 1.0) if k == 0 else x if k == 1 else apply("power", x, float(k)) for k in range(count)]
    return stack(powers if increasing else powers[::-1], 1)


def _fixed(x: Node, what: str) -> int:
    size = x.shape[0]
    if not isinstance(size, int):
        raise UnsupportedError(f"{what} of a vector of symbolic size {size}; expected a fixed size")
    return size


def _room(n: int, m: int, what: str) -> None:
    most = limits().elements
    if n * m > most:
        raise LimitError(f"{what} of shape ({n}, {m}) has more than {most} elements, the limit")
    reserve(8 * n * m)


class SignAndLog(NamedTuple):
    """Result of :func:`slogdet`, with NumPy's names."""

    sign: Any
    logabsdet: Any


class Orthogonal(NamedTuple):
    """Result of :func:`qr`, with NumPy's names."""

    Q: Any
    R: Any


def inv(x: Node) -> Node:
    """Return the inverse of a square matrix or of a stack of them."""
    return matrix("inv", to_real(x))


def slogdet(x: Node) -> SignAndLog:
    """Return the sign of the determinant and the logarithm of its magnitude."""
    x = to_real(x)
    return SignAndLog(apply("sign", matrix("det", x)), matrix("logabsdet", x))


def matrix_power(x: Node, n: int) -> Node:
    """Multiply a square matrix by itself; negative powers use the inverse."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"matrix_power of an array of shape {show(x.shape)}; expected a square matrix")
    if abs(n) > 10_000:
        raise LimitError(f"matrix_power with exponent {n}; the limit is 10000")
    if n < 0:
        return matrix_power(inv(x), -n)
    if n == 0:
        return broadcast_to(delta(x.shape[-1], x.shape[-1]), x.shape)
    result: Node | None = None
    while n:
        if n & 1:
            result = x if result is None else stack_matmul(result, x)
        n >>= 1
        x = stack_matmul(x, x) if n else x
    assert result is not None
    return result


# ---------------------------------------------------------------------------- triangular and definite matrices


def cholesky(x: Node, upper: bool = False) -> Node:
    """Return the triangular L with L L^T = x, of which the lower triangle is read; or L^T with the upper one read."""
    if upper:
        _matrix(x, "cholesky")
        return swap(matrix("cholesky", swap(to_real(x))))
    return matrix("cholesky", to_real(x))


def cho_factor(x: Node, lower: bool = False) -> tuple[Node, bool]:
    """Return a Cholesky factor and whether it is the lower one, as :func:`cho_solve` takes them.

    The other triangle holds zeros, where SciPy leaves what was there.
    """
    return cholesky(x, not lower), lower


def cho_solve(pair: tuple[Node, bool], b: Node) -> Node:
    """Return the x with a x = b, from a Cholesky factor of ``a`` and whether it is the lower one."""
    factor, lower = pair
    first = solve_triangular(factor, b, trans=0 if lower else 1, lower=lower)
    return solve_triangular(factor, first, trans=1 if lower else 0, lower=lower)


def solve_triangular(a: Node, b: Node, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False) -> Node:
    """Return the x with a x = b, or a^T x = b for ``trans`` 1, 2, "T" or "C", of one triangle of ``a``.

    With ``unit_diagonal`` the diagonal is taken to be 1 and is not read either.
    """
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ArgumentError(f"solve_triangular with trans={shown(trans)}; expected 0 or 'N', 1 or 'T', 2 or 'C'")
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"solve_triangular of an array of shape {show(a.shape)}; expected a square matrix")
    part = triangle(to_real(a), not lower, 0)
    if unit_diagonal:
        part = apply("add", triangle(to_real(a), not lower, -1 if lower else 1), delta(a.shape[-1], a.shape[-1]))
    return solve(part if trans in (0, "N") else swap(part), b)


def solve_sylvester(a: Node, b: Node, q: Node) -> Node:
    """Return the x with a x + x b = q, as the solution of one system for all of its elements."""
    shapes = f"{show(a.shape)}, {show(b.shape)} and {show(q.shape)}"
    if q.ndim != 2 or a.shape != 2 * q.shape[:1] or b.shape != 2 * q.shape[1:]:
        raise ShapeError(f"solve_sylvester of shapes {shapes}; expected n by n, m by m and n by m")
    n, m = q.shape
    system = kron(to_real(a), delta(m, m)) + kron(delta(n, n), swap(to_real(b)))
    return reshape(solve(system, ravel(q)), q.shape)


# ---------------------------------------------------------------------------- matrices of full rank


def qr(x: Node, mode: str = "reduced") -> Orthogonal | Node:
    """Return Q with orthonormal columns and the upper triangular R with Q R = x, of full rank.

    The diagonal of R is positive, which makes the factors unique; NumPy's may have other signs. With mode "r" R alone.
    Sizes by name are taken to have as many rows as columns, or more.
    """
    if mode not in ("reduced", "r"):
        raise UnsupportedError(f"qr with mode={shown(mode)}; known: 'reduced' and 'r'")
    _matrix(x, "qr")
    m = x.shape[-2]
    square = getitem(x, (..., slice(None, m))) if _is_wide(x) and isinstance(m, int) else x
    from ...rewrite.matrices.functions import conditioned  # few formulas have it

    scale, rough, known = conditioned(to_real(square))
    second = matrix("cholesky", stack_matmul(swap(rough), rough))
    q = apply("multiply", swap(matrix("solve", second, swap(rough))), known)
    if square is x:
        r = apply("multiply", swap(stack_matmul(scale, second)), known)
    else:
        r = triangle(stack_matmul(swap(q), to_real(x)), True, 0)
    return r if mode == "r" else Orthogonal(q, r)


def pinv(x: Node) -> Node:
    """Return the pseudo-inverse of a matrix of full rank, or of a stack of them; nan where the rank is less.

    Sizes by name are taken to have as many rows as columns, or more.
    """
    _matrix(x, "pinv")
    if _is_wide(x):
        return swap(pinv(swap(x)))
    return pseudo_inverse(to_real(x))


def _matrix(x: Node, what: str) -> None:
    if x.ndim < 2:
        raise ShapeError(f"{what} of an array of shape {show(x.shape)}; expected a matrix (or a stack of them)")


def _is_wide(x: Node) -> bool:
    m, n = x.shape[-2:]
    return isinstance(m, int) and isinstance(n, int) and m < n


# ---------------------------------------------------------------------------- tensors as matrices


def tensorinv(a: Node, ind: int = 2) -> Node:
    """Return the inverse of a tensor, whose first ``ind`` axes are the rows of a matrix and the others its columns."""
    if not 0 < ind <= a.ndim:
        raise ShapeError(f"tensorinv with ind={ind} of an array of shape {show(a.shape)}; expected 1 to {a.ndim}")
    rows, columns = a.shape[:ind], a.shape[ind:]
    if product(rows) != product(columns):
        raise ShapeError(
            f"tensorinv with ind={ind} of an array of shape {show(a.shape)}; expected as many elements in the first "
            f"{ind} axes as in the others"
        )
    return reshape(inv(reshape(a, (product(rows), product(columns)))), (*columns, *rows))


def tensorsolve(a: Node, b: Node, axes: Any = None) -> Node:
    """Return the x with tensordot(a, x, x.ndim) = b; ``axes`` of ``a`` are moved to its end before."""
    if axes is not None:
        front = [axis_of(a, axis) for axis in several(axes)]
        a = moveaxis(a, front, list(range(a.ndim - len(front), a.ndim)))
    unknown = a.shape[b.ndim :]
    if a.shape[: b.ndim] != b.shape or product(unknown) != b.size:
        raise ShapeError(
            f"tensorsolve of shapes {show(a.shape)} and {show(b.shape)}; expected the shape of the second, and then "
            "axes of as many elements"
        )
    return reshape(solve(reshape(a, (b.size, product(unknown))), ravel(b)), unknown)
