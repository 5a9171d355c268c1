"""The order in which units add up samples: the slow, obvious reference implementation of ``_kernels/batch/run.h``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]


def in_order(values: Floats, lanes: int) -> npt.NDArray[np.float64]:
    """Add samples as kernels promise to: lanes of two vectors within blocks of 1024, then pairs of blocks.

    Parameters
    ----------
    values : ndarray of float64 or float32, shape (N, ...)
        In whose type lanes are added up; the rest is in float64.
    lanes : int
        Of one vector.

    Returns
    -------
    ndarray, shape (...)
    """
    levels: list[npt.NDArray[np.float64]] = []
    for number, start in enumerate(range(0, len(values), 1024), 1):
        held = np.zeros((2 * lanes, *values.shape[1:]), values.dtype)
        for i, row in enumerate(values[start : start + 1024]):
            held[i % (2 * lanes)] += row
        folded = held.astype(np.float64)
        while len(folded) > 1:
            folded = folded[: len(folded) // 2] + folded[len(folded) // 2 :]
        levels.append(folded[0])
        pairs = number
        while pairs % 2 == 0:
            last = levels.pop()
            levels[-1] = levels[-1] + last
            pairs //= 2
    while len(levels) > 1:
        last = levels.pop()
        levels[-1] = levels[-1] + last
    return levels[0] if levels else np.zeros(values.shape[1:])
