"""Matrices made from vectors and blocks: block diagonals, Toeplitz matrices and their kin, companions."""

from __future__ import annotations

import numpy as np

from ....errors import ArgumentError, LimitError, ShapeError, UnsupportedError
from ....graph import Node, concatenate, constant, pad, reshape, whole, zeros
from ....graph.scalars.functions import apply, to_real
from ....graph.sizes import Dim, show
from ....ground.budget import limits, reserve
from ..creation import like
from ..indexing import gather_array, getitem
from ..operations import diag
from ..shaping import at_least, flip, join, ravel, stack, whole_number


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
