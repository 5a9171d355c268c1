"""Functions that source for other libraries calls: NumPy code in which shapes decide and numbers do not.

So it can be traced. The text of these functions is copied into the source by :mod:`.libraries`, in the words of the
library. ``numpy`` stands for NumPy itself there, which computes with shapes and positions alone, and ``np`` for the
library.
"""

from __future__ import annotations

from typing import Any

import numpy
import numpy as np

__all__ = ["like_of"]


def like_of(x: Any) -> Any:
    """Return the options of arrays that are made beside ``x``."""
    return {"dtype": x.dtype}


# ---------------------------------------------------------------------------- scalar functions


def to_real(condition: Any, like: Any) -> Any:
    """Return 1.0 where ``condition`` holds and 0.0 elsewhere."""
    return np.where(condition, np.asarray(1.0, **like), np.asarray(0.0, **like))


def softplus(x: Any) -> Any:
    """Return log(1 + exp(x)) without overflow."""
    return np.logaddexp(np.zeros_like(x), x)


def power_log(order: Any, x: Any, y: Any) -> Any:
    """Return x**y log(x)**order, and its limit 0 where x = 0 and y > 0."""
    value = np.power(x, y) * np.power(np.log(x), order)
    return np.where((x == 0) & (y > 0), np.zeros_like(value), value)


def unless_nan(x: Any) -> Any:
    """Return 1.0, and nan where ``x`` is nan."""
    return np.where(np.isnan(x), x, np.ones_like(x))


def direction_cos(x: Any, y: Any) -> Any:
    """Return x / hypot(x, y), and 0 where both are 0."""
    length = np.hypot(x, y)
    return np.where(length == 0, np.zeros_like(length), x / length)


# ---------------------------------------------------------------------------- reductions and normalizations


def norm(x: Any, axes: Any) -> Any:
    """Return the root of the sum of squares over ``axes``, of parts of the largest where squares are no doubles."""
    if not axes or 0 in x.shape:
        return np.sqrt(np.sum(x * x, axis=axes)) if axes else np.abs(x)
    length = np.sqrt(np.sum(x * x, axis=axes, keepdims=True))
    largest = np.max(np.abs(x), axis=axes, keepdims=True)
    ordinary = (length > 1e-140) & (length < np.inf) | (largest == 0) | ~np.isfinite(largest)
    scale = np.where(ordinary, np.ones_like(largest), largest)
    small = x / scale
    return np.sqrt(np.sum(small * small, axis=axes)) * np.sum(scale, axis=axes)


def unit(x: Any, axes: Any) -> Any:
    """Return x / norm(x) over ``axes``, and 0 where the norm is 0."""
    if 0 in x.shape:
        return x
    largest = np.max(np.abs(x), axis=axes, keepdims=True) if axes else np.abs(x)
    one = np.ones_like(largest)
    small = x / np.where((largest == 0) | np.isinf(largest), one, largest)
    length = np.sqrt(np.sum(small * small, axis=axes, keepdims=True)) if axes else np.abs(small)
    return np.where(largest == 0, np.zeros_like(x), small / np.where(largest == 0, one, length))


def logsumexp(x: Any, axes: Any) -> Any:
    """Return log(sum(exp(x))) over ``axes``, shifted by the largest so that nothing overflows."""
    if not axes:
        return x
    shift = _largest(x, axes)
    return np.sum(np.log1p(_beside_one(np.exp(x - shift), axes)) + shift, axis=axes)


def softmax(x: Any, axes: Any) -> Any:
    """Return exp(x) / sum(exp(x)) over ``axes``, shifted by the largest so that nothing overflows; 0 for -inf alone."""
    powers = np.exp(x - _largest(x, axes))
    total = np.sum(powers, axis=axes, keepdims=True) if axes else powers
    return powers / np.where(total == 0, np.ones_like(total), total)


def log_softmax(x: Any, axes: Any) -> Any:
    """Return log(softmax(x)), without the logarithm of what has underflowed."""
    shifted = x - _largest(x, axes)
    return shifted - (np.log1p(_beside_one(np.exp(shifted), axes)) if axes else shifted)


def _largest(x: Any, axes: Any) -> Any:
    """Return the maximum over ``axes``, which stay with length 1; 0 where it is not finite."""
    if 0 in x.shape:
        return np.sum(x, axis=axes, keepdims=True)
    top = np.max(x, axis=axes, keepdims=True) if axes else x
    return np.where(np.isfinite(top), top, np.zeros_like(top))


def _beside_one(parts: Any, axes: Any) -> Any:
    """Return the sum less 1, where the largest of ``parts`` is 1, with the digits that the sum rounds away."""
    total = np.sum(parts, axis=axes, keepdims=True)
    rest = np.sum(np.where(parts == 1.0, np.zeros_like(parts), parts), axis=axes, keepdims=True)
    return np.where(total < np.inf, rest + (np.rint(total - rest) - 1.0), total)


def product_of(x: Any, axes: Any) -> Any:
    """Return the product over ``axes``, one after the other."""
    for axis in sorted(axes if isinstance(axes, tuple) else (axes,)):
        x = np.prod(x, axis=axis, keepdims=True)
    return np.sum(x, axis=axes)


# ---------------------------------------------------------------------------- structure


def placed(x: Any, view: Any, shape: Any) -> Any:
    """Return zeros with ``x`` in the places that ``view`` takes of an array; what meets in a place is added up."""
    size = int(numpy.prod(shape, dtype=numpy.intp))
    spots = view(numpy.reshape(numpy.arange(size), (1, *shape)))
    length = x.shape[0] if x.ndim else 1
    values = np.reshape(np.broadcast_to(x, (length, *spots.shape[1:])), (length, spots.size))
    spots = spots.ravel()
    # the place in ``values`` of each element, and that of a zero behind them; once more for those that meet
    order = numpy.argsort(spots, kind="stable")
    ordered = spots[order]
    turn = numpy.arange(spots.size) - numpy.searchsorted(ordered, ordered)
    if spots.size == 0:
        return np.broadcast_to(np.zeros_like(np.sum(x)), (length, *shape))
    whole = np.concatenate([values, np.zeros_like(values[:, :1])], axis=1)
    sources = numpy.full((int(turn.max(initial=0)) + 1, size), spots.size)
    sources[turn, ordered] = order
    result = np.take(whole, sources[0], axis=1)
    for source in sources[1:]:
        result = result + np.take(whole, source, axis=1)
    return result.reshape(length, *shape)


def shifted_identity(rows: Any, columns: Any, start: Any, step: Any) -> Any:
    """Return the matrix with E[i, start + step*i] = 1, and 0 elsewhere."""
    result = numpy.zeros((rows, columns))
    for row in range(rows):
        if 0 <= start + step * row < columns:
            result[row, start + step * row] = 1.0
    return result


def backwards(x: Any, view: Any) -> Any:
    """Return a part of an array of which some axes run backwards."""
    spots = view(numpy.reshape(numpy.arange(x.numel() // x.shape[0] if x.shape[0] else 0), (1, *x.shape[1:])))
    flat = np.take(np.reshape(x, (x.shape[0], -1)), numpy.ravel(spots), axis=1)
    return np.reshape(flat, (x.shape[0], *spots.shape[1:]))


def join(parts: Any, axis: Any) -> Any:
    """Concatenate along ``axis`` arrays whose first axis is the batch: 1, or common to the others."""
    batch = max((part.shape[0] for part in parts if part.shape[0] != 1), default=1)
    return np.concatenate([np.broadcast_to(part, (batch, *part.shape[1:])) for part in parts], axis=axis)


def common_length(*arrays: Any) -> Any:
    """Return the length of the batch, of which some arrays may have one row for all samples."""
    return next((x.shape[0] for x in arrays if x.shape[0] != 1), 1)


def einsum(text: Any, *arrays: Any) -> Any:
    """Return the sum of products of one or two arrays, with letters for axes."""
    terms, _, out = text.partition("->")
    total: Any = None
    names: list[Any] = []
    for array, letters in zip(arrays, terms.split(","), strict=True):
        x, term = array, letters
        names = list(dict.fromkeys([*names, *term]))
        for name in sorted(set(letters)):
            while term.count(name) > 1:
                x, term = _diagonal(x, term, name)
        order = [name for name in names if name in term]
        x = np.transpose(x, tuple(term.index(name) for name in order))
        factor = np.reshape(x, tuple(x.shape[order.index(name)] if name in order else 1 for name in names))
        if total is not None:
            total = np.reshape(total, (*total.shape, *[1] * (factor.ndim - total.ndim)))
        total = factor if total is None else total * factor
    summed = tuple(k for k, name in enumerate(names) if name not in out)
    total = np.sum(total, axis=summed) if summed else total
    left = [name for name in names if name in out]
    return np.transpose(total, tuple(left.index(name) for name in out))


def _diagonal(x: Any, term: Any, name: Any) -> Any:
    """Return the diagonal of the first two axes of a letter as the first of them, and the letters that are left."""
    first = term.index(name)
    second = term.index(name, first + 1)
    moved = np.moveaxis(np.moveaxis(x, second, -1), first, -2)
    shape = tuple(moved.shape[:-2])
    n = moved.shape[-1]
    line = np.take(np.reshape(moved, (*shape, n * n)), numpy.arange(n) * (n + 1), axis=len(shape))
    return np.moveaxis(line, -1, first), term[:second] + term[second + 1 :]


# ---------------------------------------------------------------------------- along an axis


def cumprod(x: Any, axis: Any, reverse: Any) -> Any:
    """Return the products of all elements so far along ``axis``, from the end when ``reverse``."""
    return np.flip(np.cumprod(np.flip(x, axis), axis), axis) if reverse else np.cumprod(x, axis)


def cummax(x: Any, axis: Any, reverse: Any) -> Any:
    """Return the largest of all elements so far along ``axis``, from the end when ``reverse``."""
    return _so_far(np.maximum, x, axis, reverse)


def cummin(x: Any, axis: Any, reverse: Any) -> Any:
    """Return the smallest of all elements so far along ``axis``, from the end when ``reverse``."""
    return _so_far(np.minimum, x, axis, reverse)


def _so_far(function: Any, x: Any, axis: Any, reverse: Any) -> Any:
    """Return a function of all elements so far that is the same for one met twice, by doubling."""
    x = np.moveaxis(np.flip(x, axis) if reverse else x, axis, -1)
    step = 1
    while step < x.shape[-1]:
        x = np.concatenate([x[..., :step], function(x[..., step:], x[..., :-step])], axis=-1)
        step = 2 * step
    x = np.moveaxis(x, -1, axis)
    return np.flip(x, axis) if reverse else x


def sort(x: Any, axis: Any, reverse: Any) -> Any:
    """Return the elements along ``axis`` in ascending order, of the turned axis, turned, when ``reverse``."""
    found = np.sort(x, axis)
    return np.flip(found, axis) if reverse else found


def arrange_each(x: Any, key: Any, axis: Any, back: Any) -> Any:
    """Return elements in the order of ``key`` along ``axis`` (negative), or ``back`` from it; of ties the mean."""
    key = np.reshape(key, (key.shape[0], *[1] * (x.ndim - key.ndim), *key.shape[1:]))
    lines, values = np.moveaxis(key, axis, -1), np.moveaxis(x, axis, -1)
    shape = numpy.broadcast_shapes(tuple(values.shape), tuple(lines.shape))
    lines, values = np.broadcast_to(lines, shape), np.broadcast_to(values, shape)
    order = np.argsort(lines, axis=-1)
    lines = np.take_along_axis(lines, order, -1)
    unknown = np.isnan(lines)
    same = (lines[..., :, None] == lines[..., None, :]) | (unknown[..., :, None] & unknown[..., None, :])
    values = values if back else np.take_along_axis(values, order, -1)
    rows = np.broadcast_to(values[..., None, :], same.shape)
    ones = np.where(same, np.ones_like(rows), np.zeros_like(rows))
    means = np.sum(np.where(same, rows, np.zeros_like(rows)), axis=-1) / np.sum(ones, axis=-1)
    if back:
        means = np.take_along_axis(means, np.argsort(order, axis=-1), -1)
    return np.moveaxis(means, -1, axis)


# ---------------------------------------------------------------------------- matrices


def _known(a: Any) -> Any:
    """Return whether all elements of each matrix are numbers, with axes of length 1."""
    total = np.sum(np.where(np.isnan(a), np.ones_like(a), np.zeros_like(a)), axis=(-2, -1), keepdims=True)
    return total == 0


def det(a: Any) -> Any:
    """Return the determinant."""
    value = np.linalg.det(a)
    return np.where(_known(a)[..., 0, 0], value, np.nan * np.ones_like(value))


def logdet(a: Any) -> Any:
    """Return log(det(a)): nan where the determinant is negative, -inf where it is zero."""
    sign, value = np.linalg.slogdet(a)
    return np.where((sign >= 0) & _known(a)[..., 0, 0], value, np.nan * np.ones_like(value))


def logabsdet(a: Any) -> Any:
    """Return log(abs(det(a))), -inf where the determinant is zero."""
    _, value = np.linalg.slogdet(a)
    return np.where(_known(a)[..., 0, 0], value, np.nan * np.ones_like(value))


def inv(a: Any) -> Any:
    """Return the inverse of each matrix."""
    return np.linalg.inv(a)


def solve(a: Any, b: Any) -> Any:
    """Return inv(a) @ b."""
    lead = numpy.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    a, b = np.broadcast_to(a, (*lead, *a.shape[-2:])), np.broadcast_to(b, (*lead, *b.shape[-2:]))
    return np.linalg.solve(a, b)


def cholesky(a: Any) -> Any:
    """Return the lower triangular L with L @ L.T = a; only the lower triangle of ``a`` is read."""
    return np.linalg.cholesky(a)


def definite(a: Any, said: Any) -> Any:
    """Return matrices that are declared positive definite as they are."""
    return a


def eigvalsh(a: Any) -> Any:
    """Return the eigenvalues of the symmetric part of each matrix, in rising order."""
    return np.linalg.eigh(0.5 * a + 0.5 * a.mT)[0]


def eigenvectors(a: Any) -> Any:
    """Return orthonormal eigenvectors of the symmetric part of each matrix, as columns, by rising eigenvalue."""
    return np.linalg.eigh(0.5 * a + 0.5 * a.mT)[1]


def adjugate(a: Any) -> Any:
    """Return the transposed cofactor matrix, right at every rank: by the adjugates of singular factors."""
    n = a.shape[-1]
    if n <= 1:
        return np.ones_like(a)
    if n <= 3:
        return _turned(a) if n == 2 else _crosses(a, a).mT
    x, d, y, sign = _revealed(a)
    return (y * (sign * _others(d))[..., None, :]) @ x


def adjugate_differential(a: Any, e: Any) -> Any:
    """Return the derivative of the adjugate at ``a`` in the direction ``e``, right at every rank."""
    n = a.shape[-1]
    shape = numpy.broadcast_shapes(tuple(a.shape), tuple(e.shape))
    a, e = np.broadcast_to(a, shape), np.broadcast_to(e, shape)
    if n <= 1:
        return np.zeros_like(e)
    if n == 2:
        return _turned(e)
    if n == 3:
        return (_crosses(a, e) + _crosses(e, a)).mT
    x, d, y, sign = _revealed(a)
    b = x @ e @ y
    one = np.ones_like(b)
    diagonal = np.tril(np.triu(one)) == 1
    # row i: the pivots with that of i put to 1, each left out in turn
    p = np.where(diagonal, 0.0 * one, _others(np.where(diagonal, one, d[..., None, :] * one)))
    line = np.sum(np.where(diagonal, b, 0.0 * one), axis=-1)
    middle = np.where(diagonal, p @ line[..., None] * one, -p * b)
    return sign[..., None] * (y @ middle @ x)


def _revealed(a: Any) -> Any:
    """Return U^T, the singular values, V and det(U) det(V)."""
    u, d, vt = np.linalg.svd(a)
    sign = np.rint(np.linalg.det(u) * np.linalg.det(vt))
    return u.mT, d, vt.mT, sign[..., None]


def _others(d: Any) -> Any:
    """Return, for each element of the last axis, the product of the others."""
    one = np.ones_like(d[..., :1])
    before = np.cumprod(np.concatenate([one, d[..., :-1]], axis=-1), -1)
    after = np.flip(np.cumprod(np.concatenate([one, np.flip(d, -1)[..., :-1]], axis=-1), -1), -1)
    return before * after


def _turned(a: Any) -> Any:
    """Return the adjugate of 2×2 matrices."""
    top = np.stack([a[..., 1, 1], -a[..., 0, 1]], axis=-1)
    return np.stack([top, np.stack([-a[..., 1, 0], a[..., 0, 0]], axis=-1)], axis=-2)


def _crosses(a: Any, b: Any) -> Any:
    """Return the cross products a1 × b2, a2 × b0 and a0 × b1 of the rows of 3×3 matrices."""
    return np.stack([_cross(a[..., (i + 1) % 3, :], b[..., (i + 2) % 3, :]) for i in range(3)], axis=-2)


def _cross(x: Any, y: Any) -> Any:
    """Return the cross product of vectors along the last axis."""
    parts = [x[..., (i + 1) % 3] * y[..., (i + 2) % 3] - x[..., (i + 2) % 3] * y[..., (i + 1) % 3] for i in range(3)]
    return np.stack(parts, axis=-1)
