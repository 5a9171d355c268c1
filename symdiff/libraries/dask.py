"""Calls of kernels on arrays of Dask: lazy, chunk by chunk along the batch, on threads, processes or a cluster.

A chunk is an ordinary call. A kernel travels as its pickle, which is a formula, and is made once in each process; what
compiling gave is kept on each machine, so that its processes build native code once.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import dask.array as da
import numpy as np

from ..errors import ArgumentError, DtypeError, UnsupportedError
from ..graph import INT
from ..runtime.calls.arguments import Batch, Parameter, sample_shape, stack_batches
from ..runtime.calls.containers import is_lazy, numbers_of
from ..runtime.kernel import Kernel
from ..runtime.sparse.kernel import SparseKernel

__all__ = ["call_lazily"]


def call_lazily(kernel: Kernel, arguments: Sequence[Any]) -> list[Any]:
    """Return the results of a call, in order, as arrays of Dask.

    Parameters
    ----------
    kernel : Kernel
    arguments : sequence
        One for each input: arrays of Dask, or of NumPy, numbers and lists.

    Returns
    -------
    list of dask.array.Array
        In the chunks of the batch; with ``reduce="sum"`` each is the sum over all chunks, added in a tree as Dask does.

    Raises
    ------
    ArgumentError, ShapeError, DtypeError
        For arguments that a call would refuse, and axes of a sample whose length is not known yet.
    UnsupportedError
        For kernels with sparse results.
    """
    if isinstance(kernel, SparseKernel):
        raise UnsupportedError("sparse results of arrays of Dask; compile without sparse=, or write x.map_blocks(...)")
    columns = kernel.options.in_columns
    given = [
        _checked(p, argument, columns) if is_lazy(argument) else numbers_of(p.name, argument)
        for p, argument in zip(kernel.inputs, arguments, strict=True)
    ]
    stand_ins = [_stand_in(p, one) if is_lazy(one) else one for p, one in zip(kernel.inputs, given, strict=True)]
    batch = stack_batches(kernel.inputs, stand_ins, kernel.options.batch, columns)
    lead = [f"batch{k}" for k in range(len(batch.shape))]
    pairs: list[Any] = []
    for number, (p, argument) in enumerate(zip(kernel.inputs, given, strict=True)):
        if not is_lazy(argument) and np.ndim(argument) == 0:
            pairs += [argument, None]
            continue
        array = argument if is_lazy(argument) else da.from_array(np.asarray(argument), chunks=-1)
        own = [f"input{number}_{axis}" for axis in range(len(p.shape))]
        extra = lead[len(lead) - (array.ndim - len(own)) :]
        pairs += [_whole_samples(array, len(own), columns), (*own, *extra) if columns else (*extra, *own)]
    return _spread(kernel, pairs, lead, batch)


def _spread(kernel: Kernel, pairs: Sequence[Any], lead: Sequence[str], batch: Batch) -> list[Any]:
    """Return the results of the chunks of arguments, each with the names of its axes behind it."""
    shapes = [sample_shape(p.shape, batch.sizes) for p in kernel.outputs]
    columns, reduced = kernel.options.in_columns, kernel.options.is_reduced
    chunk = _Chunk(pickle.dumps(kernel), len(lead) if reduced else 0, None if len(shapes) > 1 else 0)
    options: dict[str, Any] = {"adjust_chunks": dict.fromkeys(lead, 1)} if reduced else {}

    def call(function: Any, pairs: Sequence[Any], number: int, **more: Any) -> Any:
        own = {f"output{number}_{axis}": length for axis, length in enumerate(shapes[number])}
        meta = np.empty((0,) * (len(own) + len(lead)), batch.dtype)
        axes = (*own, *lead) if columns and not reduced else (*lead, *own)
        return da.blockwise(function, axes, *pairs, new_axes=own, dtype=batch.dtype, meta=meta, name=None, **more)

    if len(shapes) == 1:
        results = [call(chunk, pairs, 0, **options)]
    else:
        # one call a chunk gives all results, which are separated afterwards
        meta = np.empty((0,) * len(lead), object)
        together = da.blockwise(chunk, tuple(lead), *pairs, dtype=object, meta=meta, **options)
        results = [call(_Part(number), [together, tuple(lead)], number) for number in range(len(shapes))]
    return [result.sum(axis=tuple(range(len(lead)))) for result in results] if reduced and lead else results


class _Chunk:
    """A kernel as a function of chunks.

    Parameters
    ----------
    kernel : bytes
        Its pickle.
    ones : int
        Axes of length 1 in front of a result, in place of a batch that was summed.
    number : int or None
        Which of its results; None for a list of all.
    """

    def __init__(self, kernel: bytes, ones: int, number: int | None) -> None:
        self.kernel, self.ones, self.number = kernel, ones, number
        self.__name__ = "symdiff"

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return type(self).__name__, self.kernel, self.ones, self.number

    def __call__(self, *chunks: Any) -> Any:
        results = _made(self.kernel)._parts([_only(chunk) for chunk in chunks])
        shaped = [np.asarray(result).reshape((1,) * self.ones + np.shape(result)) for result in results]
        return shaped if self.number is None else shaped[self.number]


class _Part:
    """The function that takes one of several results."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.__name__ = "symdiff-part"

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return type(self).__name__, self.number

    def __call__(self, results: Any) -> Any:
        return results[self.number]


@lru_cache(32)
def _made(pickled: bytes) -> Kernel:
    """Return a kernel of a pickle, one for each in a process."""
    kernel: Kernel = pickle.loads(pickled)  # noqa: S301 (made by this module)
    return kernel


def _only(chunk: Any) -> Any:
    """Return the one block of axes that are not in the result, which comes in lists."""
    while isinstance(chunk, list):
        (chunk,) = chunk
    return chunk


def _checked(p: Parameter, array: Any, columns: bool) -> Any:
    """Return an array whose samples have axes of known lengths, of numbers that a call takes.

    Raises
    ------
    ArgumentError, DtypeError
    """
    kinds = "iu" if p.dtype is INT else "fiub"
    if array.dtype.kind not in kinds or array.dtype.itemsize > 8:
        expected = "integers" if p.dtype is INT else "real numbers (float64, float32, integers or bool)"
        raise DtypeError(f"{p.name} is an array of {array.dtype} (Dask); expected {expected}: convert it with .astype")
    if type(array._meta) is not np.ndarray:
        kind = type(array._meta).__name__
        raise DtypeError(f"{p.name} is an array of Dask of {kind}; expected chunks that are ndarrays: .map_blocks")
    own = array.shape[: len(p.shape)] if columns else array.shape[max(array.ndim - len(p.shape), 0) :]
    if any(map(math.isnan, own)):
        raise ArgumentError(f"{p.name} has samples of unknown length; call {p.name}.compute_chunk_sizes() first")
    return array


def _stand_in(p: Parameter, array: Any) -> Any:
    """Return an array of one number in memory for the checks of a call; a batch of unknown length counts as one."""
    single = array.dtype == np.float32
    kind = array.dtype if p.dtype is INT else np.float32 if single else np.float64
    return np.broadcast_to(np.zeros((), kind), [1 if math.isnan(length) else length for length in array.shape])


def _whole_samples(array: Any, own: int, columns: bool) -> Any:
    """Return an array in chunks that hold samples whole."""
    axes = range(own) if columns else range(array.ndim - own, array.ndim)
    return array.rechunk(dict.fromkeys(axes, -1)) if any(array.numblocks[axis] > 1 for axis in axes) else array
