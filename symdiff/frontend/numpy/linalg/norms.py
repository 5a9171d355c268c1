"""Norms of vectors and matrices, and the condition numbers that are made of them."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from ....errors import ShapeError, UnsupportedError
from ....graph import Node, reduce, reshape
from ....graph.scalars.functions import apply, compare, to_real, where
from ....graph.sizes import product, show
from .. import reductions
from ..indexing import getitem
from ..shaping import Axis, axes_of, axis_of, moveaxis, permute, several, shown
from .solving import inv
from .spectra import mirrored, mirrored_spectrum, svdvals


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
