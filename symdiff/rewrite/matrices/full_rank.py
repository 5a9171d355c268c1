"""Matrices whose columns do not depend on each other, divided by a Cholesky factor of A^T A, and pseudo-inverses.

Functions of such matrices go through A^T A, whose condition number is the square of that of A. So A is divided by the
factor first, after which its columns are orthonormal but for rounding, and then once more (CholeskyQR2; Yamamoto,
Nakatsukasa, Yanagisawa and Fukaya 2015).
"""

from __future__ import annotations

from math import nan

from ...graph import Node, contract, matmul, matrix, reduce, reshape, stop_gradient, swap
from ...graph.scalars.functions import apply, compare, where

#: Square of the sine of the angle between a column and those before it, below which it counts as one of their sums.
DEPENDENT = 1e-13


def of_full_rank(x: Node) -> Node:
    """Return the pseudo-inverse of matrices with as many rows as columns, or more; nan where the rank is less."""
    scale, rough, known = conditioned(x)
    inside = matrix("solve", matmul(swap(rough), rough), swap(rough))
    return apply("multiply", matrix("solve", swap(scale), inside), known)


def conditioned(x: Node) -> tuple[Node, Node, Node]:
    """Return a lower triangular L, x L^-T, whose columns are orthonormal but for rounding, and 1 or nan.

    What follows from the span of the columns is the same for any L, so L is held fixed in derivatives. The last is
    nan where a column depends on others.
    """
    factor = stop_gradient(matrix("cholesky", matmul(swap(x), x)))
    # a column's part that is orthogonal to those before, against the whole of it
    axes = tuple(range(factor.ndim))
    squares = contract([apply("multiply", factor, factor)], [axes], axes[:-1])
    own = contract([factor], [(*axes[:-1], axes[-2])], axes[:-1])
    apart = where(compare("less", apply("multiply", squares, DEPENDENT), apply("multiply", own, own)), 1.0, 0.0)
    every = reduce("prod", apart, (apart.ndim - 1,))  # 1 of no columns
    known = where(compare("equal", every, 1.0), 1.0, nan)
    return factor, swap(matrix("solve", factor, swap(x))), reshape(known, (*known.shape, 1, 1))
