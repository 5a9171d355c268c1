"""Solutions of linear equations, factors of matrices and what is made of them.

What is of full rank is divided by a Cholesky factor of A^T A twice, which has the digits of Householder's reflections
up to condition numbers of some 1e6. Where columns depend on others, results are nan.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ....errors import ArgumentError, LimitError, ShapeError, UnsupportedError
from ....graph import Node, broadcast_to, delta, matrix, pseudo_inverse, reshape, swap, triangle
from ....graph import matmul as stack_matmul
from ....graph.scalars.functions import apply, to_real
from ....graph.sizes import product, show
from ..indexing import getitem
from ..operations import solve
from ..shaping import axis_of, moveaxis, ravel, several, shown
from .products import kron


class SignAndLog(NamedTuple):
    """What :func:`slogdet` gives, with NumPy's names."""

    sign: Any
    logabsdet: Any


class Orthogonal(NamedTuple):
    """What :func:`qr` gives, with NumPy's names."""

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
    from ....rewrite.matrices.functions import conditioned  # few formulas have it

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
