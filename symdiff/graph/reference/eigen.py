"""Eigenvalues and eigenvectors of the symmetric parts of matrices, for emitted NumPy source and the interpreter."""

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
