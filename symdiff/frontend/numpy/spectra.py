"""Eigenvalues, singular values, functions of matrices, norms and condition numbers.

Eigenvalues are those of a matrix's symmetric part, (A + A^T) / 2, which is the matrix itself where it is symmetric.
Singular values of A are the positive eigenvalues of [[0, A], [A^T, 0]] (Golub and Van Loan, 8.6.1), which have the
digits that the eigenvalues of A^T A would lose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from ...errors import ArgumentError, ShapeError, UnsupportedError
from ...graph import (
    BOOL,
    Node,
    concatenate,
    dependents,
    elementwise,
    exponential,
    matrix,
    postorder,
    reduce,
    reshape,
    stop_gradient,
    swap,
    zeros,
)
from ...graph import matmul as stack_matmul
from ...graph.contractions import parameter, point
from ...graph.scalars.functions import FUNCTIONS, apply, compare, to_real, where
from ...graph.sizes import Dim, product, show
from . import reductions
from .indexing import getitem
from .linalg import Orthogonal, inv, pinv, qr
from .operations import diag, matmul
from .shaping import Axis, axes_of, axis_of, flip, moveaxis, permute, several, shown


def norm(x: Node, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Node:
    """Take a norm: of all elements by default, of any order over one axis, of a matrix over two.

    Over one axis ``ord`` is any number: p for sum(abs(x)**p)**(1/p), 0 for the count of what is not 0, inf and -inf
    for the largest and the smallest magnitude. Over two axes it is "fro", "nuc", 1, -1, 2, -2, inf or -inf.
    """
    if ord is None:
        return _euclid(x, axes_of(x, axis), keepdims)
    if axis is None and x.ndim not in (1, 2):
        raise ShapeError(f"norm with ord={shown(ord)} of an array of shape {show(x.shape)}; expected a vector, a "
                         "matrix, or axis=")  # fmt: skip
    axes = tuple(range(x.ndim)) if axis is None else tuple(axis_of(x, a) for a in several(axis))
    if len(axes) == 1:
        return _of_vectors(x, ord, axes[0], keepdims)
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ShapeError(
            f"norm with ord={shown(ord)} over axes {axes}; expected one axis of vectors or two of matrices"
        )
    return _of_matrices(x, ord, (axes[0], axes[1]), keepdims)


def vector_norm(x: Node, axis: Axis = None, keepdims: bool = False, ord: Any = 2) -> Node:
    """Take a norm of vectors over the axes given, which are read as one; of all elements by default."""
    axes = axes_of(x, axis)
    if len(axes) == 1 or ord in (2, None):
        return norm(x, None if ord == 2 else ord, axes, keepdims)
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    turned = permute(x, (*rest, *axes))
    line = reshape(turned, (*(x.shape[a] for a in rest), product(x.shape[a] for a in axes)))
    result = _of_vectors(line, ord, line.ndim - 1, False)
    return reshape(result, tuple(1 if a in axes else n for a, n in enumerate(x.shape))) if keepdims else result


def matrix_norm(x: Node, keepdims: bool = False, ord: Any = "fro") -> Node:
    """Take a norm of the matrices in the last two axes, Frobenius' by default."""
    if x.ndim < 2:
        raise ShapeError(f"matrix_norm of an array of shape {show(x.shape)}; expected a matrix (or a stack of them)")
    return norm(x, ord, (-2, -1), keepdims)


def cond(x: Node, p: Any = None) -> Node:
    """Return the condition number of matrices: the ratio of singular values, or norm(x, p) * norm(inv(x), p)."""
    if x.ndim < 2:
        raise ShapeError(f"cond of an array of shape {show(x.shape)}; expected a matrix (or a stack of them)")
    if p in (None, 2, -2):
        largest, smallest = _singular(x, 2, "cond"), _singular(x, -2, "cond")
        return apply("divide", smallest, largest) if p == -2 else apply("divide", largest, smallest)
    if p not in (1, -1, inf, -inf, "fro"):
        raise UnsupportedError(f"cond with p={shown(p)}; known: 'fro', 1, -1, 2, -2, inf and -inf")
    return apply("multiply", norm(x, p, (-2, -1)), norm(inv(x), p, (-2, -1)))


def _euclid(x: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    result = reduce("norm", to_real(x), axes)
    return reshape(result, tuple(1 if a in axes else n for a, n in enumerate(x.shape))) if keepdims else result


def _of_vectors(x: Node, ord: Any, axis: int, keepdims: bool) -> Node:
    if isinstance(ord, bool) or not isinstance(ord, int | float):
        raise UnsupportedError(f"norm with ord={shown(ord)} of vectors; expected a number, inf or -inf")
    if ord == 2:
        return _euclid(x, (axis,), keepdims)
    size = apply("abs", to_real(x))
    if ord in (inf, -inf):
        return (reductions.max if ord > 0 else reductions.min)(size, axis, keepdims)
    if ord == 0:
        return reductions.sum(where(compare("not_equal", x, 0.0), 1.0, 0.0), axis, keepdims)
    if ord == 1:
        return reductions.sum(size, axis, keepdims)
    total = reductions.sum(apply("power", size, float(ord)), axis, keepdims)
    return apply("power", total, 1.0 / ord)


def _of_matrices(x: Node, ord: Any, axes: tuple[int, int], keepdims: bool) -> Node:
    if ord == "fro":
        return _euclid(x, tuple(sorted(axes)), keepdims)
    if 0 in (x.shape[axes[0]], x.shape[axes[1]]) and ord in ("nuc", 2, 1, inf):
        return reductions.sum(apply("abs", to_real(x)), axes, keepdims)  # of no elements, as NumPy has it
    if ord in ("nuc", 2, -2):
        result = _singular(moveaxis(x, axes, (-2, -1)), ord, "norm")
        return reshape(result, tuple(1 if a in axes else n for a, n in enumerate(x.shape))) if keepdims else result
    if ord not in _SUMS:
        known = "'fro', 'nuc', 1, -1, 2, -2, inf and -inf"
        raise UnsupportedError(f"norm with ord={shown(ord)} of matrices; known: {known}")
    along, largest = _SUMS[ord]
    sums = reductions.sum(apply("abs", to_real(x)), axes[along], keepdims=True)
    result = largest(sums, axes[1 - along], keepdims=True)
    return result if keepdims else reshape(result, tuple(n for a, n in enumerate(x.shape) if a not in axes))


def _singular(x: Node, ord: Any, what: str) -> Node:
    """Return the largest singular value, the smallest, or the sum of all."""
    if ord == "nuc" and not all(isinstance(size, int) for size in x.shape[-2:]):  # of letters there are no positions
        return apply("multiply", 0.5, reductions.sum(apply("abs", mirrored_spectrum(x)), -1))
    if ord == "nuc":
        return reductions.sum(svdvals(x), -1)
    values, count = mirrored(x, what)
    return getitem(values, (..., -1 if ord == 2 else -count))


#: Norms of matrices by sums of magnitudes: along the first axis (a column) or the second, then an extremum of the sums.
_SUMS: dict[Any, tuple[int, Callable[..., Node]]] = {
    1: (0, reductions.max),
    -1: (0, reductions.min),
    inf: (1, reductions.max),
    -inf: (1, reductions.min),
}


#: Part of the largest singular value that the smallest one has at least, where signs tell it from its negative.
CLOSEST = 1e-10


class Spectrum(NamedTuple):
    """Result of :func:`eigh`, with NumPy's names."""

    eigenvalues: Any
    eigenvectors: Any


class Polar(NamedTuple):
    """Result of :func:`polar`, in SciPy's order."""

    u: Any
    p: Any


class Singular(NamedTuple):
    """Result of :func:`svd`, with NumPy's names."""

    U: Any
    S: Any
    Vh: Any


def eigvalsh(x: Node) -> Node:
    """Return the eigenvalues of a symmetric matrix, or of a stack of them, in rising order.

    Of a matrix that is not symmetric they are those of its symmetric part, (x + x^T) / 2, where NumPy reads the lower
    triangle alone: so the gradient is symmetric, and that of a matrix which is meant to be symmetric.
    """
    return matrix("eigvalsh", to_real(x))


def eigh(x: Node) -> Spectrum:
    """Return the eigenvalues of a symmetric matrix in rising order, and orthonormal eigenvectors as columns.

    Of a matrix that is not symmetric they are those of its symmetric part, as of :func:`eigvalsh`.
    """
    return Spectrum(eigvalsh(x), matrix("eigenvectors", to_real(x)))


def simple_eigenvalues(x: Node) -> Node:
    """Return 1 for eigenvalues that no other one equals, by 43 bits of the largest, and nan for the others."""
    if not x.ndim:
        raise ShapeError("simple_eigenvalues of one number; expected the eigenvalues of a matrix, as of eigvalsh(A)")
    from ...calculus.spectra.spectral import simple_eigenvalues as marked  # see _value_of

    return marked(to_real(x))


def simple_eigenvectors(x: Node) -> Node:
    """Return the eigenvectors of a symmetric matrix as columns, nan where another eigenvalue equals a column's own."""
    own = simple_eigenvalues(eigvalsh(x))
    return apply("multiply", eigh(x).eigenvectors, reshape(own, (*own.shape[:-1], 1, own.shape[-1])))


def funm(x: Node, func: Callable[[Node], Node | None]) -> Node:
    """Return f(x) for a symmetric matrix, or a stack of them: f of its eigenvalues, in the basis of its eigenvectors.

    ``func`` takes a symbolic number and gives one, by NumPy's functions; what it uses beside are numbers, too. Unlike
    a product of eigenvectors, this has first and second derivatives where eigenvalues are equal.
    """
    x = _symmetric(x, "funm")
    formula = func(point(0))
    if formula is None or formula.shape or formula.dtype is BOOL:
        raise ArgumentError("funm with a function that gives no symbolic number; expected one made of its argument")
    return _function_of(formula, x)


def funm_differential(x: Node, func: Callable[[Node], Node | None], e: Node) -> Node:
    """Return the derivative of :func:`funm` of a symmetric matrix in a direction."""
    return _differential_of(funm(x, func), [to_real(e)])


def funm_differential2(x: Node, func: Callable[[Node], Node | None], e: Node, f: Node) -> Node:
    """Return the terms of :func:`funm`'s second derivative along two directions with these in this order."""
    return _differential_of(funm(x, func), [to_real(e), to_real(f)])


def isotropic(x: Node, g: Node) -> Node:
    """Return V diag(g) V^T for a symmetric matrix with eigenvectors V, or a stack of them.

    ``g`` is a vector, a formula of ``eigvalsh(x)`` and of anything else. It is alike in equal eigenvalues, as the
    gradient of a symmetric function of them is; where it is not, the result is nan.
    """
    from ...calculus.spectra.isotropic import isotropic_function  # see _value_of
    from ...rewrite import without_names

    (x, _), (g, _) = without_names(to_real(x)), without_names(to_real(g))
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or not g.ndim or g.shape[-1] not in (1, x.shape[-1]):
        shapes = f"{show(x.shape)} and {show(g.shape)}"
        raise ShapeError(f"isotropic of shapes {shapes}; expected a square matrix, and a vector of its size")
    return isotropic_function(x, g)


def isotropic_differential(x: Node, g: Node, e: Node, transposed: bool = False) -> Node:
    """Return the derivative of :func:`isotropic` in a direction; transposed, where it is not symmetric."""
    from ...calculus.spectra import isotropic as isotropics  # see _value_of

    return isotropics.isotropic_differential(isotropic(x, g), to_real(e), transposed)


def _value_of(formula: Node, x: Node, parameters: Sequence[Node] = (), name: str = "funm") -> Node:
    """Return a function of a symmetric matrix. Calculus is imported by the calls that need it, not with symdiff."""
    from ...calculus.spectra.spectral import function_of

    return function_of(formula, x, parameters, name)


def _differential_of(value: Node, directions: Sequence[Node]) -> Node:
    from ...calculus.spectra.spectral import differential_of

    return differential_of(value, directions)


def _is_symmetric(x: Node) -> bool:
    from ...rewrite.facts import is_symmetric

    return is_symmetric(x)


def _function_of(formula: Node, x: Node) -> Node:
    """Take the parts of a formula that do not depend on the eigenvalue as parameters."""
    order = postorder([formula])
    moving = dependents(order, [point(0)])
    new: dict[Node, Node] = {point(0): point(0)}
    parameters: list[Node] = []

    def taken(node: Node) -> Node:
        if node not in new:
            if node.is_constant:
                new[node] = node
            elif node.shape:
                raise ShapeError(f"funm of a function with an array of shape {show(node.shape)}; expected numbers")
            else:
                new[node] = parameter(len(parameters))
                parameters.append(node)
        return new[node]

    for node in order:
        if node in new or node not in moving:
            continue
        if node.op not in FUNCTIONS:
            raise UnsupportedError(f"funm of a function that calls {node.op}; expected functions of numbers alone")
        new[node] = elementwise(node.op, tuple([taken(arg) for arg in node.args]), node.dtype)
    return _value_of(taken(formula), x, parameters)


def _symmetric(x: Node, what: str) -> Node:
    x = to_real(x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{what} of an array of shape {show(x.shape)}; expected a square matrix (or a stack of them)")
    if not _is_symmetric(x):
        raise UnsupportedError(
            f"{what} of a matrix that is not known to be symmetric; declare it, in text A=sd.symmetric('n') in place "
            "of its shape, else sd.matrix('A', 'n', 'n', symmetric=True), or write (A + A.T) / 2"
        )
    return x


def _named(name: str, function: str, x: Node) -> Node:
    return _value_of(apply(function, point(0)), _symmetric(x, name), name=name)


def named_differential(name: str, x: Node, *directions: Node) -> Node:
    """Return the derivative of ``expm``, ``logm`` or ``sqrtm`` of a symmetric matrix along others.

    Of second order it is the terms with the directions in this order; the derivative is their sum over both orders.
    The first derivative of ``expm`` is that of any square matrix.
    """
    if name == "expm" and len(directions) == 1 and not _is_symmetric(x):
        return exponential(to_real(x), to_real(directions[0]))
    return _differential_of(_named(name, _FUNCTIONS[name], x), directions)


#: Functions of eigenvalues behind the named functions of matrices.
_FUNCTIONS = {"expm": "exp", "logm": "log", "sqrtm": "sqrt"}


def expm(x: Node) -> Node:
    """Return the exponential of a square matrix: of its eigenvalues where it is known to be symmetric."""
    x = to_real(x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or not _is_symmetric(x):
        return exponential(x)
    return _named("expm", "exp", x)


def expm_frechet(a: Node, e: Node) -> tuple[Node, Node]:
    """Return the exponential of ``a`` and its derivative in the direction ``e``."""
    a, e = to_real(a), to_real(e)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or e.shape != a.shape:
        raise ShapeError(
            f"expm_frechet of shapes {show(a.shape)} and {show(e.shape)}; expected square matrices of one shape"
        )
    return exponential(a), exponential(a, e)


def logm(x: Node) -> Node:
    """Return the logarithm of a symmetric positive definite matrix; nan where an eigenvalue is negative."""
    return _named("logm", "log", x)


def sqrtm(x: Node) -> Node:
    """Return the root of a symmetric matrix without negative eigenvalues that has none either; nan elsewhere."""
    return _named("sqrtm", "sqrt", x)


def polar(a: Node, side: str = "right") -> Polar:
    """Return U with orthonormal columns and the symmetric P with U P = a, or P U = a for ``side="left"``, of full rank.

    U is the corner of the sign of [[0, a], [a^T, 0]], so that derivatives are right where singular values are equal
    (Higham, Functions of Matrices, 8.1). Both are nan where a singular value is below 1e-10 of the largest.
    """
    a = to_real(a)
    if a.ndim < 2:
        raise ShapeError(f"polar of an array of shape {show(a.shape)}; expected a matrix (or a stack of them)")
    if side not in ("left", "right"):
        raise ArgumentError(f"polar with side={shown(side)}; expected 'left' or 'right'")
    values = stop_gradient(svdvals(a))
    least = apply("multiply", reductions.max(values, -1), CLOSEST)
    known = where(compare("less", least, reductions.min(values, -1)), 1.0, nan)
    signs = _value_of(apply("sign", point(0)), _wielandt(a))
    u = getitem(signs, (..., slice(None, a.shape[-2]), slice(a.shape[-2], None)))
    u = apply("multiply", u, reshape(known, (*known.shape, 1, 1)))
    part = stack_matmul(swap(u), a) if side == "right" else stack_matmul(a, swap(u))
    return Polar(u, 0.5 * (part + swap(part)))


def eigh_tridiagonal(d: Node, e: Node, eigvals_only: bool = False) -> Spectrum | Node:
    """Return eigenvalues and eigenvectors of a symmetric tridiagonal matrix, given by its diagonal and off-diagonal."""
    if d.ndim != 1 or e.ndim != 1:
        raise ShapeError(f"eigh_tridiagonal of shapes {show(d.shape)} and {show(e.shape)}; expected vectors")
    d, e = to_real(d), to_real(e)
    x = diag(d) + diag(e, 1) + diag(e, -1)
    return eigvalsh(x) if eigvals_only else eigh(x)


# ---------------------------------------------------------------------------- singular values


def _wielandt(x: Node) -> Node:
    """Return [[0, A], [A^T, 0]], whose eigenvalues are the singular values, their negatives, and zeros."""
    m, n = x.shape[-2:]
    lead = x.shape[:-2]
    upper = concatenate([zeros((*lead, m, m)), x], x.ndim - 1)
    lower = concatenate([swap(x), zeros((*lead, n, n))], x.ndim - 1)
    return concatenate([upper, lower], x.ndim - 2)


def svdvals(x: Node) -> Node:
    """Return the singular values of a matrix, or of a stack of them, the largest first."""
    if x.ndim > 1 and 0 in x.shape[-2:]:
        return zeros((*x.shape[:-2], 0))
    from ...rewrite import without_names  # see _value_of
    from ...rewrite.facts import is_semidefinite

    if is_semidefinite(without_names(x)[0]):
        return flip(apply("abs", eigvalsh(x)), -1)  # what is 0 may be rounded to less
    values, count = mirrored(x, "svdvals")
    return getitem(values, (..., slice(None, -count - 1, -1)))


def matrix_rank(x: Node) -> Node:
    """Return how many singular values are above their rounding, as numpy.linalg: a number whose derivative is 0."""
    values = stop_gradient(svdvals(x))
    if values.shape[-1] == 0:
        return zeros(values.shape[:-1])
    rounding = max(x.shape[-2:]) * np.finfo(np.float64).eps
    least = apply("multiply", reductions.max(values, -1, True), rounding)
    return reductions.sum(to_real(compare("less", least, values)), -1)


def mirrored(x: Node, what: str) -> tuple[Node, int]:
    """Return singular values, zeros and negative singular values in rising order, and how many are positive."""
    x = to_real(x)
    if x.ndim < 2:
        raise ShapeError(f"{what} of an array of shape {show(x.shape)}; expected a matrix (or a stack of them)")
    m, n = x.shape[-2:]
    if not isinstance(m, int) or not isinstance(n, int):
        raise UnsupportedError(f"{what} of a matrix of shape {show((m, n))}; expected fixed sizes")
    if not m or not n:
        raise ShapeError(f"{what} of a matrix of shape {show((m, n))}; expected one row and one column at least")
    return mirrored_spectrum(x), min(m, n)


def mirrored_spectrum(x: Node) -> Node:
    """Return singular values, zeros and negative singular values of a matrix of any size, in rising order."""
    return matrix("eigvalsh", _wielandt(to_real(x)))


def svd(x: Node, full_matrices: bool = True, compute_uv: bool = True) -> Singular | Node:
    """Return U, S and Vh with U diag(S) Vh = x and the singular values S, the largest first; or S alone.

    With ``full_matrices=False``, or for a square matrix. Of matrices with two rows more than columns, or more, the
    columns must be independent (and so of rows).
    """
    if not compute_uv:
        return svdvals(x)
    x = to_real(x)
    mirrored(x, "svd")
    m, n = x.shape[-2:]
    if full_matrices and m != n:
        raise UnsupportedError(f"svd of a matrix of shape {show((m, n))} with full_matrices; write full_matrices=False")
    return _svd(x, m, n)


def _svd(x: Node, m: Dim, n: Dim) -> Singular:
    assert isinstance(m, int)
    assert isinstance(n, int)
    if m < n:
        v, s, uh = _svd(swap(x), n, m)
        return Singular(swap(uh), s, swap(v))
    if m > n + 1:  # a null space would have eigenvectors without a derivative
        factors = qr(x)
        assert isinstance(factors, Orthogonal)
        u, s, vh = _svd(factors.R, n, n)
        return Singular(stack_matmul(factors.Q, u), s, vh)
    vectors = flip(getitem(matrix("eigenvectors", _wielandt(x)), (..., slice(-n, None))), -1)
    scaled = apply("multiply", vectors, sqrt(2.0))
    u = getitem(scaled, (..., slice(None, m), slice(None)))
    v = getitem(scaled, (..., slice(m, None), slice(None)))
    return Singular(u, svdvals(x), swap(v))


# ---------------------------------------------------------------------------- least squares


class LeastSquares(NamedTuple):
    """Result of :func:`lstsq`, in NumPy's order; ``rank`` is that of full rank."""

    x: Any
    residuals: Any
    rank: int
    s: Any


def lstsq(a: Node, b: Node, rcond: None = None) -> LeastSquares:
    """Return the x with the least norm(b - a @ x), of full rank; nan where the rank is less.

    Beside it are the sums of squares of what is left (none where there are as many unknowns as equations, or more), the
    full rank, and the singular values.
    """
    if rcond is not None:
        raise UnsupportedError(f"lstsq with rcond={shown(rcond)}; expected None, for matrices of full rank")
    values = svdvals(a)
    m, n = a.shape[-2:]
    if a.ndim != 2 or b.ndim not in (1, 2) or b.shape[0] != m:
        shapes = f"{show(a.shape)} and {show(b.shape)}"
        raise ShapeError(f"lstsq of shapes {shapes}; expected a matrix, and as many rows in both")
    x = matmul(pinv(a), b)
    left = apply("subtract", b, matmul(a, x))
    squares = reductions.sum(apply("multiply", left, left), 0)
    squares = reshape(squares, (1,)) if b.ndim == 1 else squares
    assert isinstance(m, int)
    assert isinstance(n, int)
    return LeastSquares(x, squares if m > n else zeros((0,)), min(m, n), values)
