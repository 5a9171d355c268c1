"""The standard's linear algebra: what the namespace itself has, and its extension ``xp.linalg``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import AbsentError, UnsupportedError
from ...frontend.array import Array, call
from ...frontend.numpy.library import OF_LINALG
from ...ground.advice import REFUSED, advice
from .functions import among, of_numbers, run, run_parts

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def cholesky(x: Any, /, *, upper: bool = False) -> Array:
    """Return the lower triangular factor of a positive definite matrix, or the upper one."""
    return run("cholesky", x, upper=upper)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Return the cross product of vectors with three elements."""
    return run("cross", x1, x2, axis=axis)


def det(x: Any, /) -> Array:
    """Return the determinant."""
    return run("det", x)


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """Take a diagonal of the matrices in the last two axes."""
    array: Array = call(OF_LINALG["diagonal"], (x,), {"offset": offset})
    return array


def eigh(x: Any, /) -> Any:
    """Return eigenvalues, in rising order, and eigenvectors of a symmetric matrix; of another one's symmetric part."""
    return run_parts("eigh", x)


def eigvalsh(x: Any, /) -> Array:
    """Return the eigenvalues of a symmetric matrix, in rising order; of another one's symmetric part."""
    return run("eigvalsh", x)


def inv(x: Any, /) -> Array:
    """Return the inverse."""
    return run("inv", x)


def matmul(x1: Any, x2: Any, /) -> Array:
    """Multiply matrices: vectors, matrices, stacks of matrices."""
    return run("matmul", x1, x2)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Take a norm of the matrices in the last two axes, Frobenius' by default."""
    return run("matrix_norm", x, keepdims=keepdims, ord=ord)


def matrix_power(x: Any, n: int, /) -> Array:
    """Multiply a square matrix by itself; negative powers use the inverse."""
    return run("matrix_power", x, n)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Array:
    """Return the rank of a matrix of numbers; that of symbols is refused."""
    return of_numbers("matrix_rank", np.linalg.matrix_rank, x, rtol=rtol)


def matrix_transpose(x: Any, /) -> Array:
    """Exchange the last two axes."""
    return run("matrix_transpose", x)


def outer(x1: Any, x2: Any, /) -> Array:
    """Return all products of the elements of two vectors."""
    return run("outer", x1, x2)


def pinv(x: Any, /, *, rtol: Any = None) -> Array:
    """Return the pseudo-inverse of a matrix of full rank."""
    if rtol is not None:
        raise UnsupportedError("xp.linalg.pinv with rtol=; the rank of symbols is not known, and is taken to be full")
    return run("pinv", x)


def qr(x: Any, /, *, mode: str = "reduced") -> Any:
    """Return Q with orthonormal columns and the upper triangular R, whose diagonal is positive."""
    return run_parts("qr", x, mode=mode)


def slogdet(x: Any, /) -> Any:
    """Return the sign of the determinant and the logarithm of its magnitude."""
    return run_parts("slogdet", x)


def solve(x1: Any, x2: Any, /) -> Array:
    """Return the x with x1 x = x2, for a vector or matrices of right-hand sides."""
    return run("solve", x1, x2)


def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    """Return U, S and Vh with U diag(S) Vh = x and the singular values S, the largest first."""
    return run_parts("svd", x, full_matrices=full_matrices)


def svdvals(x: Any, /) -> Array:
    """Return the singular values, the largest first."""
    return run("svdvals", x)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Array:
    """Multiply and sum over the given axes of each."""
    return run("tensordot", x1, x2, axes)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Sum a diagonal of the matrices in the last two axes."""
    return among(call(OF_LINALG["trace"], (x,), {"offset": offset}), dtype)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Multiply vectors along an axis, and sum."""
    return run("vecdot", x1, x2, axis=axis)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """Take a norm of vectors over axes, which are read as one."""
    return run("vector_norm", x, axis=axis, keepdims=keepdims, ord=ord)


#: Functions that the namespace has beside its extension.
FUNCTIONS = {function.__name__: function for function in (matmul, matrix_transpose, tensordot, vecdot)}


def __getattr__(name: str) -> Any:
    raise AbsentError(f"xp.linalg has no {name!r}{advice(name, REFUSED, __all__)}")
