"""Which arrays of a call share memory: only those whose addresses meet are compared, so that many are told apart."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Targets"]


def _extent(array: npt.NDArray[Any]) -> tuple[int, int]:
    """Return the first address of an array, and the one behind its last."""
    low = high = int(array.__array_interface__["data"][0])
    if array.flags.c_contiguous or not array.size:
        return low, low + array.nbytes
    for size, stride in zip(array.shape, array.strides, strict=True):
        reach = (size - 1) * stride
        low, high = low + min(0, reach), high + max(0, reach)
    return low, high + array.itemsize


def _share(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    """Tell whether two arrays share an element; arrays for which that is hard to tell are taken to."""
    effort: Any = 1000
    return np.may_share_memory(a, b, max_work=effort)


class Targets:
    """Arrays that are written to, in order of their addresses.

    Parameters
    ----------
    arrays : sequence of ndarray
    """

    def __init__(self, arrays: Sequence[npt.NDArray[Any]]) -> None:
        extents = [_extent(array) for array in arrays]
        self.order = sorted(range(len(arrays)), key=extents.__getitem__)
        self.arrays = arrays
        self.starts = [extents[k][0] for k in self.order]
        #: The furthest end of each and those before it.
        self.ends = list(accumulate((extents[k][1] for k in self.order), max))

    def meet(self, array: npt.NDArray[Any], before: int | None = None) -> bool:
        """Tell whether an array shares an element with one of them, or with one of those before a number."""
        low, high = _extent(array)
        at = bisect_left(self.starts, high) - 1
        while at >= 0 and self.ends[at] > low:
            k = self.order[at]
            if (before is None or k < before) and _share(array, self.arrays[k]):
                return True
            at -= 1
        return False
