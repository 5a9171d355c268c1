"""Samples of a batch that are computed one after the other, each as if there were no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...errors import SingularMatrixError
from .numpy import NumpyRunner

__all__ = ["Sampled", "by_numpy", "one_by_one"]

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
#: Computes the sample of a number into arrays of one sample each.
Sampled: TypeAlias = Callable[[int, list[Floats]], None]


def one_by_one(compute: Sampled, outs: Sequence[Floats], count: int, total: bool, dtype: Any = None) -> None:
    """Fill results of a batch, or their sums where ``total``.

    Parameters
    ----------
    compute : callable
    outs : sequence of ndarray, shape (N, ...), or (1, ...) for sums
    count : int
        Samples.
    total : bool
    dtype : dtype, optional
        Of the arrays that are computed into; by default that of the results.

    Raises
    ------
    SingularMatrixError
        With the index of the sample that has such a matrix.
    """
    totals = [np.zeros(out.shape) for out in outs] if total else []
    for k in range(count):
        results = [np.empty((1, *out.shape[1:]), dtype or out.dtype) for out in outs]
        try:
            compute(k, results)
        except SingularMatrixError as error:
            raise SingularMatrixError(str(error), (k,)) from None
        for place, result in enumerate(results):
            if total:
                totals[place] += result
            else:
                outs[place][k : k + 1] = result
    for out, whole in zip(outs, totals, strict=False):
        out[...] = whole


def by_numpy(runner: NumpyRunner, inputs: Sequence[Floats], k: int, results: list[Floats]) -> None:
    """Compute one sample with NumPy."""
    runner.run([np.array(array[k : k + 1] if len(array) > 1 else array) for array in inputs], results, False)
