"""Runs an emitted NumPy function over a batch, in tiles, so that temporaries stay bounded.

A kernel of N samples needs memory for its inputs, its outputs and the temporaries of one
tile. Tiles also keep temporaries in the processor's cache. Sums over the batch add the
tiles up in order, so that equal calls give equal bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...errors import SingularMatrixError
from ...graph import BOOL, INT
from ...graph.reference.interpret import bind_sizes
from ...graph.sizes import value

#: Bytes of temporaries that fit the cache, and the most that a tile may take.
CACHE_BYTES, MOST_BYTES = 1 << 22, 1 << 26
#: Samples a tile should have, so that the cost of calling NumPy is spread.
WANTED = 4096

if TYPE_CHECKING:
    from ...codegen.numpy.emit import NumpySource


class NumpyRunner:
    """The "numpy" backend of one kernel.

    Parameters
    ----------
    source : NumpySource
    """

    def __init__(self, source: NumpySource) -> None:
        from ...codegen.numpy.emit import load_numpy  # not needed by other backends

        self._emitted = source
        self._function = load_numpy(source)
        kinds = {BOOL: np.bool_, INT: np.intp}
        self._dtypes = [kinds.get(node.dtype, np.float64) for node in source.inputs]

    def __reduce__(self) -> tuple[Any, ...]:
        return NumpyRunner, (self._emitted,)

    def source(self) -> str:
        """Return the NumPy text."""
        return self._emitted.text

    def run(self, inputs: Sequence[npt.NDArray[Any]], outs: Sequence[npt.NDArray[Any]], reduce: bool) -> None:
        """Compute all samples of a batch.

        Parameters
        ----------
        inputs : sequence of ndarray, shape (N, ...) or (1, ...)
            One for each input of the source; computed with as float64, or as conditions.
        outs : sequence of ndarray, shape (N, ...)
            Filled; of shape (1, ...) when ``reduce``.
        reduce : bool
            Sum over the batch; a sum over no samples is zero.

        Raises
        ------
        SingularMatrixError
            With the index, along the batch, of the first sample that has such a matrix.
        ShapeError
            If shapes do not fit the formula's symbolic sizes.
        """
        batch = batch_length(inputs, outs, reduce)
        tile = self._tile([array.shape[1:] for array in inputs])
        totals = [np.zeros(out.shape[1:]) for out in outs] if reduce else []
        with np.errstate(all="ignore"):  # of sums, and of what float32 cannot hold
            self._run_tiles(inputs, outs, totals, batch, tile)
        for out, total in zip(outs, totals, strict=reduce):
            out[0] = total

    def _run_tiles(
        self,
        inputs: Sequence[npt.NDArray[Any]],
        outs: Sequence[npt.NDArray[Any]],
        totals: Sequence[npt.NDArray[Any]],
        batch: int,
        tile: int,
    ) -> None:
        """Compute tile by tile; add to ``totals`` where there are some, else fill ``outs``."""
        for start in range(0, batch, tile):
            stop = min(start + tile, batch)
            results = self._call([array if len(array) == 1 else array[start:stop] for array in inputs], start)
            if totals:
                for total, result in zip(totals, results, strict=True):
                    total[...] += np.broadcast_to(result, (stop - start, *result.shape[1:])).sum(axis=0)
            else:
                for out, result in zip(outs, results, strict=True):
                    out[start:stop] = result

    def _call(self, parts: Sequence[npt.NDArray[Any]], start: int) -> tuple[npt.NDArray[Any], ...]:
        typed: list[npt.NDArray[Any]] = [
            np.asarray(part, dtype=dtype) for part, dtype in zip(parts, self._dtypes, strict=True)
        ]
        try:
            return self._function(*typed)
        except SingularMatrixError as error:
            raise SingularMatrixError(str(error), (start + error.index[0],)) from None

    def _tile(self, shapes: Sequence[tuple[int, ...]]) -> int:
        sizes = bind_sizes(self._emitted.inputs, shapes)
        sample = 8 * max(1, value(self._emitted.footprint, sizes))
        return max(1, min(MOST_BYTES // sample, max(WANTED, CACHE_BYTES // sample)))


def batch_length(inputs: Sequence[npt.NDArray[Any]], outs: Sequence[npt.NDArray[Any]], reduce: bool) -> int:
    """Return the number of samples: the length of the inputs' batch axes, or the outputs' when all share one sample."""
    lengths = {len(array) for array in inputs} - {1}
    if lengths:
        return lengths.pop()
    return 1 if reduce or not outs else len(outs[0])
