"""The functions that emitted NumPy source and the interpreter call besides NumPy's and SciPy's own.

Each takes and returns float64 arrays; matrix functions take stacks of matrices (the last
two axes). They exist because NumPy lacks them (softplus, the adjugate), or because its
errors are not ours (a singular matrix in a stack, a slice out of range), or because NaN
has to pass through (``svd`` and ``cholesky`` raise on it).

They are in parts: running products and extrema, and sorting, along an axis; eigenvalues, exponentials and
pseudo-inverses; elements taken at positions that a call brings, and added up at them; all others. Positions lie in
range: a call is refused before anything is computed where they do not (:mod:`symdiff.runtime.calls.positions`).
Whoever calls these functions in another way is refused here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._kernels.functions import special as compiled
from ...errors import ShapeError, SingularMatrixError
from . import scipy_special as special

Elements = npt.NDArray[Any]


def _checked(at: Elements, size: int) -> Elements:
    if at.size and not 0 <= at.min() <= at.max() < size:
        raise ShapeError(f"an index is out of range for an axis of size {size}; expected 0 to {size - 1}")
    return at.astype(np.intp, copy=False)


def take(x: Elements, at: Elements, axis: int, shared: int) -> Elements:
    """Take positions of an axis.

    Parameters
    ----------
    x : ndarray, shape (..., *M, N, ...)
    at : ndarray, shape (*M, *K)
    axis : int
        That of length N, negative.
    shared : int
        Number of axes M.

    Returns
    -------
    ndarray, shape (..., *M, *K, ...)
    """
    at = _checked(at, x.shape[axis])
    if not shared:
        return np.take(x, at, axis=axis)
    place = axis + x.ndim
    lead, own, rest = x.shape[: place - shared], at.shape[:shared], x.shape[place + 1 :]
    rows = x.reshape(math.prod(lead), math.prod(own), x.shape[axis], math.prod(rest))
    lines = at.reshape(rows.shape[1], math.prod(at.shape[shared:]))
    taken: Elements = rows[:, np.arange(len(lines))[:, None], lines]
    return taken.reshape(*lead, *at.shape, *rest)


def put(x: Elements, at: Elements, size: int, axis: int, shared: int) -> Elements:
    """Add the slices of ``x`` into zeros, in order.

    Parameters
    ----------
    x : ndarray, shape (..., *M, *K, ...)
    at : ndarray, shape (*M, *K)
    size : int
        Length of the axis that positions are of.
    axis : int
        That axis of the result, negative.
    shared : int
        Number of axes M.

    Returns
    -------
    ndarray, shape (..., *M, size, ...)
    """
    at = _checked(at, size)
    end = x.ndim + axis + 1
    lead, rest = x.shape[: end - at.ndim], x.shape[end:]
    own = at.shape[:shared]
    outer, lines, inner = math.prod(lead), math.prod(own), math.prod(rest)
    # one sum for each element of the result, over all elements of x that go there
    first = np.arange(outer * lines).reshape(outer, lines, 1) * size
    targets = (first + at.reshape(1, lines, math.prod(at.shape[shared:])))[..., None] * inner + np.arange(inner)
    sums: Elements = np.bincount(targets.ravel(), x.ravel(), outer * lines * size * inner)
    return sums.reshape(*lead, *own, size, *rest).astype(x.dtype, copy=False)


def take_each(x: Elements, at: Elements, axis: int, shared: int) -> Elements:
    """Take positions of an axis, each array with a batch axis in front, of length 1 for what samples share."""
    if len(at) == 1:
        return take(x, at[0], axis, shared)
    place = x.ndim + axis - shared - 1
    if len(x) == 1:
        result = take(x[0], np.moveaxis(at, 0, shared), axis, shared)
        return np.moveaxis(result, place + shared, 0)
    moved = np.moveaxis(x, 0, place)
    whole = take(moved, np.moveaxis(at, 0, 0), axis, shared + 1)
    return np.moveaxis(whole, place, 0)


def put_each(x: Elements, at: Elements, size: int, axis: int, shared: int) -> Elements:
    """Add slices into zeros, each array with a batch axis in front, of length 1 for what samples share."""
    if len(at) == 1:
        return put(x, at[0], size, axis, shared)
    if len(x) == 1:
        x = np.broadcast_to(x, (len(at), *x.shape[1:]))
    place = x.ndim + axis + 1 - (at.ndim - 1) - 1
    whole = put(np.moveaxis(x, 0, place), at, size, axis, shared + 1)
    return np.moveaxis(whole, place, 0)


def eigvalsh(a: Array) -> Array:
    """Return the eigenvalues of the symmetric part of each matrix, in rising order."""
    unknown, known = _symmetric(a)
    return np.where(unknown[..., None], np.nan, np.linalg.eigvalsh(known))


def eigenvectors(a: Array) -> Array:
    """Return orthonormal eigenvectors of the symmetric part of each matrix, as columns, by rising eigenvalue."""
    unknown, known = _symmetric(a)
    return np.where(unknown[..., None, None], np.nan, np.linalg.eigh(known).eigenvectors)


def _symmetric(a: Array) -> tuple[npt.NDArray[np.bool_], Array]:
    """Return which matrices are not finite, and the symmetric parts, with the identity in place of those."""
    unknown = np.asarray(~np.isfinite(a).all(axis=(-2, -1)))
    part = 0.5 * a + 0.5 * np.swapaxes(a, -1, -2)
    return unknown, np.where(unknown[..., None, None], np.eye(a.shape[-1]), part)


def expm(a: Array, *direction: Array) -> Array:
    """Return the exponential of each matrix, or its derivative in a direction, by Taylor's series and squaring."""
    size = a.shape[-1]
    if direction:
        (e,) = direction
        lead = np.broadcast_shapes(a.shape[:-2], e.shape[:-2])
        largest = np.abs(e).max(axis=(-2, -1), keepdims=True, initial=0.0)
        scale = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
        whole = np.zeros((*lead, 2 * size, 2 * size))
        whole[..., :size, :size] = whole[..., size:, size:] = a
        whole[..., :size, size:] = e / scale
        part: Array = _by_series(whole, a)[..., :size, size:] * scale
        return part
    return _by_series(a, a)


def _by_series(x: Array, of: Array) -> Array:
    """Return exponentials; nan where the norm of another matrix is beyond those that kernels know."""
    norm = np.abs(x).sum(axis=-2, keepdims=True).max(axis=-1, keepdims=True, initial=0.0)
    known = np.abs(of).sum(axis=-2, keepdims=True).max(axis=-1, keepdims=True, initial=0.0) <= 5.371920351148152 * 2**12
    times = np.where(known & (norm > 0.5), np.ceil(np.log2(np.maximum(norm, 0.5))) + 1, 0)
    x = np.where(known, x, 0.0) / 2.0**times
    term = total = np.broadcast_to(np.eye(x.shape[-1]), x.shape)
    for k in range(1, 20):
        term = term @ x / k
        total = total + term
    for k in range(int(times.max(initial=0))):
        total = np.where(k < times, total @ total, total)
    return np.where(known, total, np.nan)


def pinv(a: Array) -> Array:
    """Return the pseudo-inverse of each matrix of full rank, and nan of others."""
    known: npt.NDArray[np.bool_] = np.asarray(np.isfinite(a).all(axis=(-2, -1)))
    safe = np.where(known[..., None, None], a, 0.0)
    full = known & (np.linalg.matrix_rank(safe) == min(a.shape[-2:]))
    return np.where(full[..., None, None], np.linalg.pinv(safe), np.nan)


def cumprod(x: Array, axis: int, reverse: bool) -> Array:
    """Return the products of all elements so far along ``axis``, from the end when ``reverse``."""
    return _accumulated(np.multiply, x, axis, reverse)


def cummax(x: Array, axis: int, reverse: bool) -> Array:
    """Return the largest of all elements so far along ``axis``, from the end when ``reverse``."""
    return _accumulated(np.maximum, x, axis, reverse)


def cummin(x: Array, axis: int, reverse: bool) -> Array:
    """Return the smallest of all elements so far along ``axis``, from the end when ``reverse``."""
    return _accumulated(np.minimum, x, axis, reverse)


def _accumulated(function: np.ufunc, x: Array, axis: int, reverse: bool) -> Array:
    turned = np.flip(x, axis) if reverse else x
    found: Array = function.accumulate(turned, axis)
    return np.flip(found, axis) if reverse else found


def sort(x: Array, axis: int, reverse: bool) -> Array:
    """Return the elements along ``axis`` in ascending order, nan last; of the turned axis, turned, when ``reverse``."""
    found = np.sort(x, axis)
    return np.flip(found, axis) if reverse else found


def arrange(x: Array, key: Array, axis: int, back: bool) -> Array:
    """Return elements in the order of ``key`` along ``axis`` (negative), or ``back`` from it; of ties the mean."""
    lines = np.moveaxis(key, axis, -1)
    order = np.argsort(lines, axis=-1, kind="stable")
    ordered = np.take_along_axis(lines, order, -1)
    with np.errstate(invalid="ignore"):
        same = (ordered[..., 1:] == ordered[..., :-1]) | (np.isnan(ordered[..., 1:]) & np.isnan(ordered[..., :-1]))
    values = np.moveaxis(x, axis, -1)
    shape = np.broadcast_shapes(values.shape, order.shape)
    values, order = np.broadcast_to(values, shape), np.broadcast_to(order, shape)
    if back:
        result = np.empty(shape)
        np.put_along_axis(result, order, _mean_of_ties(values, same), -1)
    else:
        result = _mean_of_ties(np.take_along_axis(values, order, -1), same)
    return np.moveaxis(result, -1, axis)


def arrange_each(x: Array, key: Array, axis: int, back: bool) -> Array:
    """Return :func:`arrange` of samples, whose axis stands first in both: 1, or common to the others."""
    lead = [1] * (x.ndim - key.ndim)
    return arrange(x, key.reshape(key.shape[0], *lead, *key.shape[1:]), axis, back)


def _mean_of_ties(x: Array, same: npt.NDArray[np.bool_]) -> Array:
    """Return the mean of neighbours along the last axis that are the same as the one before."""
    if not same.any():
        return x
    starts = np.ones(x.shape, bool)
    starts[..., 1:] = ~same
    first = np.flatnonzero(starts)
    means = np.add.reduceat(x.ravel(), first) / np.diff(first, append=x.size)
    result: Array = means[np.cumsum(starts) - 1].reshape(x.shape)
    return result


Array = npt.NDArray[np.float64]
#: What other files of the folder have, and is called by its name here.
IMPORTED = (arrange, arrange_each, cummax, cummin, cumprod, sort, eigenvectors, eigvalsh)
Bools = npt.NDArray[np.bool_]

# ---------------------------------------------------------------------------- scalar functions


def to_real(condition: Bools | bool) -> Array:
    """Return 1.0 where ``condition`` holds and 0.0 elsewhere."""
    return np.asarray(condition, dtype=np.float64)


def softplus(x: Array) -> Array:
    """Return log(1 + exp(x)) without overflow (DLMF 4.7.1 is its derivative)."""
    return np.asarray(np.logaddexp(0.0, x), dtype=np.float64)


def sech(x: Array) -> Array:
    """Return 1 / cosh(x)."""
    return np.asarray(1.0 / np.cosh(x), dtype=np.float64)


def power_log(order: Array | float, x: Array, y: Array) -> Array:
    """Return x**y log(x)**order, and its limit 0 where x = 0 and y > 0."""
    factor = np.log(x)
    if np.any(np.asarray(order) != 1):
        factor = factor**order
    return np.asarray(np.where((x == 0) & (y > 0), 0.0, x**y * factor), dtype=np.float64)


def unless_nan(x: Array) -> Array:
    """Return 1.0, and nan where ``x`` is nan."""
    return np.asarray(np.where(np.isnan(x), np.nan, 1.0), dtype=np.float64)


def sigmoid_slope(x: Array) -> Array:
    """Return sigmoid(x) sigmoid(-x), the derivative of the sigmoid."""
    small = np.exp(-np.abs(x))
    return np.asarray(small / (1.0 + small) ** 2, dtype=np.float64)


def one_minus_square(x: Array) -> Array:
    """Return 1 - x**2 with full accuracy near -1 and 1."""
    return np.asarray((1.0 - x) * (1.0 + x), dtype=np.float64)


def lorentzian(x: Array) -> Array:
    """Return 1 / (1 + x**2), the derivative of the arctangent."""
    return np.asarray(1.0 / (1.0 + x * x), dtype=np.float64)


def direction_cos(x: Array, y: Array) -> Array:
    """Return x / hypot(x, y), and 0 where both are 0."""
    length = np.hypot(x, y)
    return np.asarray(np.where(length == 0, 0.0, x / length), dtype=np.float64)


def direction_sin(x: Array, y: Array) -> Array:
    """Return y / hypot(x, y), and 0 where both are 0."""
    return direction_cos(y, x)


def inversion_x(x: Array, y: Array) -> Array:
    """Return x / (x**2 + y**2), whose squares do not overflow."""
    return np.asarray(direction_cos(x, y) / np.hypot(x, y), dtype=np.float64)


def inversion_y(x: Array, y: Array) -> Array:
    """Return y / (x**2 + y**2), whose squares do not overflow."""
    return inversion_x(y, x)


def sinc(x: Array) -> Array:
    """Return sin(pi x) / (pi x), its limits 1 at 0 and 0 at infinity included."""
    return compiled.spherical_jn(0, np.pi * x)


def lgamma(x: Array) -> Array:
    """Return log(abs(gamma(x))) (DLMF 5.2.1), inf at -inf as in C; SciPy has -inf there, and inf next to 0."""
    small = np.abs(x) < np.finfo(np.float64).tiny
    value = np.where(small, -np.log(np.abs(x)), special.gammaln(x))
    return np.asarray(np.where(x == -np.inf, np.inf, value), dtype=np.float64)


def __getattr__(name: str) -> Callable[..., Array]:
    """Return a function whose C text generated kernels share; the compiled module is the only list of these."""
    function: Callable[..., Array] = getattr(compiled, name)
    return function


# ---------------------------------------------------------------------------- reductions and normalizations

Axes = tuple[int, ...]


def norm(x: Array, axes: Axes) -> Array:
    """Return the root of the sum of squares over ``axes``."""
    length = np.sqrt(np.sum(x * x, axis=axes))
    # the squares of 1e200 and 1e-200 are beyond a double
    if axes and not np.all((length > 1e-140) & (length < np.inf)):
        largest = np.max(np.abs(x), axis=axes, keepdims=True, initial=0.0)
        scale = np.where((largest > 0) & (largest < np.inf), largest, 1.0)
        small = x / scale
        length = np.sqrt(np.sum(small * small, axis=axes)) * np.squeeze(scale, axis=axes)
    return np.asarray(length, dtype=np.float64)


def logsumexp(x: Array, axes: Axes) -> Array:
    """Return log(sum(exp(x))) over ``axes``, shifted by the largest so that nothing overflows."""
    shift = _largest(x, axes)
    total = np.log1p(_beside_one(np.exp(x - shift), axes)) + shift
    return np.asarray(np.squeeze(total, axis=axes), dtype=np.float64) if axes else total


def softmax(x: Array, axes: Axes) -> Array:
    """Return exp(x) / sum(exp(x)) over ``axes``, shifted so that nothing overflows; 0 where all are -inf.

    The derivative of ``logsumexp`` by what is impossible is 0.
    """
    powers = np.exp(x - _largest(x, axes))
    share: Array = powers / np.maximum(np.sum(powers, axis=axes, keepdims=True), 1.0)
    return share


def log_softmax(x: Array, axes: Axes) -> Array:
    """Return log(softmax(x)), without the logarithm of what has underflowed."""
    shifted = x - _largest(x, axes)
    result: Array = shifted - np.log1p(_beside_one(np.exp(shifted), axes))
    return result


def _beside_one(parts: Array, axes: Axes) -> Array:
    """Return the sum less 1, where the largest of ``parts`` is 1; the parts are lost."""
    parts = np.asarray(parts)
    total: Array = np.sum(parts, axis=axes, keepdims=True)
    if not np.any(total < 1.5):
        return total - 1.0
    # the sum has rounded away what stands beside a large share
    np.putmask(parts, parts == 1.0, 0.0)
    rest = np.sum(parts, axis=axes, keepdims=True)
    return np.where(total < np.inf, rest + (np.rint(total - rest) - 1.0), total)


def unit(x: Array, axes: Axes) -> Array:
    """Return x / norm(x) over ``axes``, and 0 where the norm is 0."""
    # scaled by the largest element: the squares of 1e200 and 1e-200 are beyond a double
    largest = np.max(np.abs(x), axis=axes, keepdims=True, initial=0.0)
    small = x / np.where((largest == 0) | np.isinf(largest), 1.0, largest)
    length = np.sqrt(np.sum(small * small, axis=axes, keepdims=True))
    return np.where(largest == 0, 0.0, small / length)


def _largest(x: Array, axes: Axes) -> Array:
    """Return the maximum over ``axes``, which stay with length 1; 0 where it is not finite."""
    top = np.max(x, axis=axes, keepdims=True, initial=-np.inf)
    return np.where(np.isfinite(top), top, 0.0)


# ---------------------------------------------------------------------------- structure


def span(start: int, step: int, length: int, size: int) -> slice:
    """Return the slice of ``length`` positions from ``start``, checked against an axis of ``size``.

    Raises
    ------
    ShapeError
        If a position lies outside the axis.
    """
    if length < 0:
        raise ShapeError(f"a slice of length {length}; expected 0 or more: the symbolic size of its axis is too small")
    if length == 0:
        return slice(0, 0)
    last = start + (length - 1) * step
    for index in (start, last):
        if not 0 <= index < size:
            raise ShapeError(f"index {index} is out of range for an axis of size {size}; pass a longer array")
    stop = last + (1 if step > 0 else -1)
    return slice(start, None if stop < 0 else stop, step)


def at(index: int, size: int) -> int:
    """Return ``index`` itself, checked against an axis of ``size``."""
    if not 0 <= index < size:
        raise ShapeError(f"index {index} is out of range for an axis of size {size}; pass a longer array")
    return index


def positions(indices: Sequence[int], size: int) -> list[int]:
    """Return ``indices`` themselves, each checked against an axis of ``size``."""
    return [at(index, size) for index in indices]


def nonempty(x: Array, axes: tuple[int, ...]) -> Array:
    """Return ``x`` itself, checked to have elements along ``axes``: max and min need one."""
    for axis in axes:
        if x.shape[axis] == 0:
            raise ShapeError(f"max or min over axis {axis} of size 0 has no value; expected at least one element")
    return x


def shifted_identity(rows: int, columns: int, start: int, step: int) -> Array:
    """Return the matrix with E[i, start + step*i] = 1, and 0 elsewhere."""
    result = np.zeros((rows, columns))
    for row in range(rows):
        if 0 <= start + step * row < columns:
            result[row, start + step * row] = 1.0
    return result


def join(parts: Sequence[Array], axis: int) -> Array:
    """Concatenate along ``axis`` arrays whose first axis is the batch: 1, or common to the others."""
    batch = max((part.shape[0] for part in parts if part.shape[0] != 1), default=1)
    return np.concatenate([np.broadcast_to(part, (batch, *part.shape[1:])) for part in parts], axis=axis)


def common_length(*arrays: Array) -> int:
    """Return the length of the batch, of which some arrays may have one row for all samples."""
    return next((len(x) for x in arrays if len(x) != 1), 1)


# ---------------------------------------------------------------------------- matrices


def det(a: Array) -> Array:
    """Return the determinant. BLAS passes over NaN when it looks for a pivot, and then sees a singular matrix."""
    return np.where(np.isnan(a).any(axis=(-2, -1)), np.nan, np.linalg.det(a))


def logdet(a: Array) -> Array:
    """Return log(det(a)): nan where the determinant is negative, -inf where it is zero."""
    sign = np.linalg.slogdet(a)[0]
    return np.where(sign < 0, np.nan, logabsdet(a))


def logabsdet(a: Array) -> Array:
    """Return log(abs(det(a))), -inf where the determinant is zero."""
    return np.where(np.isnan(a).any(axis=(-2, -1)), np.nan, np.linalg.slogdet(a)[1])


def inv(a: Array) -> Array:
    """Return the inverse of each matrix."""
    return _guarded("inv", "singular", np.linalg.inv, np.linalg.inv, a)


def solve(a: Array, b: Array) -> Array:
    """Return inv(a) @ b for matrices ``a`` of shape (..., n, n) and ``b`` of shape (..., n, k)."""
    return _guarded("solve", "singular", lambda m: np.linalg.solve(m, b), np.linalg.inv, a)


def cholesky(a: Array) -> Array:
    """Return the lower triangular L with L @ L.T = a; only the lower triangle of ``a`` is read."""
    return _guarded("cholesky", "not positive definite", np.linalg.cholesky, np.linalg.cholesky, a)


Stacked = Callable[..., Any]


def definite(a: Array, said: str) -> Array:
    """Return matrices that are declared positive definite; raise ``said`` where one has no Cholesky factor."""
    known = np.where(np.isnan(a).any(axis=(-2, -1), keepdims=True), np.eye(a.shape[-1]), a)
    try:
        np.linalg.cholesky(known)
    except np.linalg.LinAlgError:
        index = _first_failure(np.linalg.cholesky, known)
        raise SingularMatrixError(said, index) from None
    return a


def _guarded(name: str, trouble: str, function: Stacked, probe: Stacked, a: Array) -> Array:
    """Apply ``function``; on failure let NaN pass through, or name the first matrix that fails ``probe``."""
    try:
        result: Array = function(a)
    except np.linalg.LinAlgError:
        unknown = np.asarray(np.isnan(a).any(axis=(-2, -1)))[..., None, None]
        known = np.where(unknown, np.eye(a.shape[-1]), a)
        try:
            result = function(known)
        except np.linalg.LinAlgError:
            index = _first_failure(probe, known)
        else:
            return np.where(unknown, np.nan, result)
    else:
        return result
    where = f" at index {index} of its stack" if index else ""
    raise SingularMatrixError(
        f"{name} met a matrix that is {trouble}{where}: check the data, or regularise "
        "(add a small multiple of the identity)",
        index,
    )


def _first_failure(probe: Stacked, a: Array) -> tuple[int, ...]:
    """Return the index, in the stack ``a``, of the first matrix that makes ``probe`` raise."""
    lead = a.shape[:-2]
    flat = a.reshape(-1, *a.shape[-2:])
    low, high = 0, len(flat)  # the first failure is in flat[low:high]
    while high - low > 1:
        middle = (low + high) // 2
        try:
            probe(flat[low:middle])
            low = middle
        except np.linalg.LinAlgError:
            high = middle
    return tuple(int(i) for i in np.unravel_index(low, lead)) if lead else ()


def adjugate(a: Array) -> Array:
    """Return the transposed cofactor matrix, right at every rank.

    Notes
    -----
    Up to 3×3, cofactors as they are defined. Beyond, with A = X D Y of :func:`_revealed`: adj(A) =
    det(X) det(Y) Y^-1 diag(product of the other pivots) X^-1, from adj(XY) = adj(Y) adj(X) (Magnus and
    Neudecker, section 2.9). Nothing is divided by a pivot of D.
    """
    n = a.shape[-1]
    if n <= 1:
        return np.ones_like(a)
    if n <= 3:
        return _turned(a) if n == 2 else np.swapaxes(_crosses(a, a), -1, -2)
    x, d, y, sign = _revealed(a)
    product: Array = (y * (sign * _others(d))[..., None, :]) @ x
    return product


def adjugate_differential(a: Array, e: Array) -> Array:
    """Return the derivative of adj at ``a`` in the direction ``e``, right at every rank; nan where ``e`` is not finite.

    Notes
    -----
    Up to 3×3, that of cofactors as they are defined. Beyond, with A = X D Y of :func:`_revealed`,
    B = X^-1 E Y^-1 and P_ik the product of the pivots but those of i and k (P_ii = 0): det(X) det(Y)
    Y^-1 (diag(P diag(B)) - offdiag(P * B)) X^-1, since the adjugate of a diagonal matrix plus B is, to
    first order in B, that bracket.
    """
    n = a.shape[-1]
    shape = np.broadcast_shapes(a.shape, e.shape)
    if n <= 1:
        return np.where(np.isnan(a) | np.isnan(e), np.nan, np.zeros(shape))
    if n == 2:
        return np.where(np.isnan(a).any(axis=(-2, -1), keepdims=True), np.nan, _turned(np.broadcast_to(e, shape)))
    if n == 3:
        return np.swapaxes(_crosses(a, e) + _crosses(e, a), -1, -2)
    x, d, y, sign = _revealed(a)
    known = np.asarray(np.isfinite(e).all(axis=(-2, -1)))
    sign = np.where(known[..., None], sign, np.nan)
    b = x @ e @ y
    eye = np.eye(n, dtype=np.bool_)
    # row i: the pivots with that of i put to 1, each left out in turn
    p = np.where(eye, 0.0, _others(np.where(eye, 1.0, d[..., None, :])))
    on_diagonal = (p @ np.diagonal(b, axis1=-2, axis2=-1)[..., None])[..., 0]
    middle = np.where(eye, on_diagonal[..., None], -p * b)
    result: Array = sign[..., None] * (y @ middle @ x)
    return result


def _turned(a: Array) -> Array:
    """Return the adjugate of 2×2 matrices."""
    turned: Array = a[..., ::-1, ::-1].swapaxes(-1, -2) * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return turned


def _crosses(a: Array, b: Array) -> Array:
    """Return the cross products a1 × b2, a2 × b0 and a0 × b1 of the rows of 3×3 matrices; with b = a the cofactors."""
    a, b = np.broadcast_arrays(a, b)
    return np.stack([np.cross(a[..., (i + 1) % 3, :], b[..., (i + 2) % 3, :]) for i in range(3)], axis=-2)


def _others(d: Array) -> Array:
    """Return, for each element of the last axis, the product of the others, without overflow on the way."""
    mantissas, exponents = np.frexp(d)
    one = np.ones((*d.shape[:-1], 1))
    before = np.cumprod(np.concatenate([one, mantissas[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([one, mantissas[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    product: Array = np.ldexp(before * after, exponents.sum(axis=-1, keepdims=True) - exponents)
    return product


def _revealed(a: Array) -> tuple[Array, Array, Array, Array]:
    """Return X^-1, the diagonal of D, Y^-1 and det(X) det(Y) for A = X D Y; all nan where ``a`` is not finite.

    Elimination with complete pivoting, P A Q = L D U: X = P^T L and Y = U Q^T have elements of at most 1
    and are inverted without loss, as the orthogonal factors of singular values would be. Those are found
    to the largest one's rounding error; pivots have digits of their own where rows or columns are of very
    different size (Demmel and others, Computing the singular value decomposition with high relative
    accuracy, 1999, section 4).
    """
    n = a.shape[-1]
    known = np.asarray(np.isfinite(a).all(axis=(-2, -1)))
    work: Array = np.where(known[..., None, None], a, np.eye(n)).reshape(-1, n, n)
    rows, columns = (np.tile(np.arange(n), (len(work), 1)) for _ in range(2))
    sign = np.ones(len(work))
    every = np.arange(len(work))
    for k in range(n):
        place = np.abs(work[:, k:, k:]).reshape(len(work), (n - k) ** 2).argmax(axis=-1)
        i, j = k + place // (n - k), k + place % (n - k)
        work[every, k], work[every, i] = work[every, i], work[every, k]
        rows[every, k], rows[every, i] = rows[every, i], rows[every, k]
        work[every, :, k], work[every, :, j] = work[every, :, j], work[every, :, k]
        columns[every, k], columns[every, j] = columns[every, j], columns[every, k]
        sign = np.where((i == k) == (j == k), sign, -sign)
        pivot = work[:, k, k, None]
        divisor = np.where(pivot == 0, 1.0, pivot)
        left, right = work[:, k + 1 :, k], work[:, k, k + 1 :]
        left /= divisor
        work[:, k + 1 :, k + 1 :] -= left[:, :, None] * right[:, None, :]
        right /= divisor
    d: Array = np.diagonal(work, axis1=-2, axis2=-1)
    eye = np.eye(n)
    x, y = (np.asarray(np.linalg.inv(part + eye), dtype=np.float64) for part in (np.tril(work, -1), np.triu(work, 1)))
    # the columns of L^-1 and the rows of U^-1 go where those of A were
    x = np.take_along_axis(x, np.argsort(rows, axis=-1)[:, None, :], axis=-1)
    y = np.take_along_axis(y, np.argsort(columns, axis=-1)[:, :, None], axis=-2)
    lead = a.shape[:-2]
    sign = np.where(known.reshape(-1), sign, np.nan)
    return x.reshape(*lead, n, n), d.reshape(*lead, n), y.reshape(*lead, n, n), sign.reshape(*lead, 1)
