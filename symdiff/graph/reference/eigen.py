"""Eigenvalues and eigenvectors of the symmetric parts of matrices, exponentials and pseudo-inverses of any."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


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
