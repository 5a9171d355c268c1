"""Kernels as functions that Numba's compiled code calls: their native code, or a call of the kernel."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numba import literal_unroll, objmode, types

from ..errors import UnsupportedError
from ..frontend.outputs import unpack
from ..graph import INT
from ..graph.sizes import fixed
from ..runtime.calls.declared import bits, needs_validation
from ..runtime.kernel import Kernel
from .signature import template_of_results

__all__ = ["wrap"]


def wrap(kernel: Kernel) -> Any:
    """Return a kernel as a function for code under ``numba.njit``.

    Parameters
    ----------
    kernel : Kernel
        Without ``reduce``. One that is one program, with numbers for sizes, is called as native code. Any other
        (letters for sizes, large arrays, positions, inputs and results that a call looks at) is called as Python does
        it, under the interpreter lock.

    Returns
    -------
    callable
        Takes float64 scalars and arrays for one sample, of the shapes that the kernel has, and returns a new array, or
        a number; a tuple of them for several outputs, in their order. A singular matrix raises ``ValueError`` (or
        ``SingularMatrixError``, which is one).

    Raises
    ------
    UnsupportedError
        For ``reduce``, or structures as arguments.
    """
    if kernel.options.groups is not None:
        raise UnsupportedError(
            f"a function of Numba of a kernel {kernel.signature}; expected no structures as arguments: compile with "
            "inputs for their parts"
        )
    if kernel.options.reduce is not None:
        raise UnsupportedError(
            f"a function of Numba of a kernel {kernel.signature} with reduce=; expected a kernel of one sample: add in "
            "a loop of the compiled function"
        )
    if kernel.options.in_columns:
        raise UnsupportedError(
            f"a function of Numba of a kernel {kernel.signature} with batch_axis=-1; expected a kernel of one sample"
        )
    shapes = [fixed(p.shape) for p in (*kernel.inputs, *kernel.outputs)]
    is_checked = kernel.options.nonfinite == "raise" or any(
        p.dtype is INT or bits(p.assumptions) or (kernel.options.validate and needs_validation(p.assumptions))
        for p in kernel.inputs
    )
    if is_checked or any(shape is None for shape in shapes):
        return _of_calls(kernel)
    try:
        address = kernel.address
    except UnsupportedError:  # steps over arrays, which have none
        return _of_calls(kernel)
    return _of_code(kernel, address)


def _of_code(kernel: Kernel, address: int) -> Any:
    """Return the function that calls native code."""
    call = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)(address)
    shapes, results = ([p.shape for p in some] for some in (kernel.inputs, kernel.outputs))
    sizes, counts = (tuple(int(math.prod(shape)) for shape in some) for some in (shapes, results))
    ranks = tuple(len(shape) for shape in shapes)
    room, inputs, count, outputs = sum(sizes), len(sizes), sum(counts), len(counts)
    starts = tuple(int(sum(counts[:k])) for k in range(outputs))
    wanted, told = np.array([inputs]), kernel.signature  # of a number Numba would leave out all behind the refusal

    @numba.njit
    def computed(*args: Any) -> Any:
        if len(args) != wanted[0]:
            raise ValueError("another number of arguments than the kernel has: " + told)
        numbers = np.empty(max(room, 1))
        pointers = np.empty(max(inputs, 1), np.uintp)
        at = 0
        k = 0
        for arg in literal_unroll(args):
            array = np.asarray(arg)
            if array.ndim != ranks[k] or array.size != sizes[k]:
                raise ValueError("an argument of another shape than the kernel has: " + told)
            pointers[k] = numbers.ctypes.data + 8 * at
            for value in array.flat:
                numbers[at] = value
                at += 1
            k += 1  # noqa: SIM113 (Numba knows no enumerate of arguments of several types)
        result = np.empty(max(count, 1))
        targets = np.empty(outputs, np.uintp)
        for k in range(outputs):
            targets[k] = result.ctypes.data + 8 * starts[k]
        if call(1, pointers.ctypes.data, targets.ctypes.data) != -1:
            raise ValueError("a matrix is singular, or there is no memory, in a kernel: " + told)
        return result

    pieces = [_piece(start, n, shape) for start, n, shape in zip(starts, counts, results, strict=True)]
    taken = pieces[0] if outputs == 1 else _joined(pieces)

    @numba.njit
    def function(*args: Any) -> Any:
        return taken(computed(*args))

    return function


def _piece(start: int, count: int, shape: Sequence[Any]) -> Any:
    """Return the function that takes an output out of the numbers of all."""
    if not shape:

        @numba.njit
        def number(result: Any) -> Any:
            return result[start]

        return number
    own, stop = tuple(shape), start + count

    @numba.njit
    def shaped(result: Any) -> Any:
        return result[start:stop].reshape(own)

    return shaped


def _joined(pieces: Sequence[Any]) -> Any:
    """Return the function that takes all outputs, as a tuple of things of several types."""
    first = pieces[0]
    if len(pieces) == 1:

        @numba.njit
        def last(result: Any) -> Any:
            return (first(result),)

        return last
    others = _joined(pieces[1:])

    @numba.njit
    def several(result: Any) -> Any:
        return (first(result), *others(result))

    return several


def _of_calls(kernel: Kernel) -> Any:
    """Return the function that calls the kernel."""
    ranks, wanted, told = tuple(len(p.shape) for p in kernel.inputs), np.array([len(kernel.inputs)]), kernel.signature
    made = [types.Array(types.float64, len(p.shape), "C") if p.shape else types.float64 for p in kernel.outputs]
    type_of_result = made[0] if len(made) == 1 else types.Tuple(made)
    is_number = [not p.shape for p in kernel.outputs]
    template = template_of_results(kernel)

    def called(*args: Any) -> Any:
        wide = [np.asarray(arg, np.float64) if np.asarray(arg).dtype.kind == "f" else arg for arg in args]
        flat = unpack(template, kernel(*wide))
        results = [
            float(one) if alone else np.ascontiguousarray(one, np.float64)
            for one, alone in zip(flat, is_number, strict=True)
        ]
        return results[0] if len(results) == 1 else tuple(results)

    @numba.njit
    def function(*args: Any) -> Any:
        if len(args) != wanted[0]:
            raise ValueError("another number of arguments than the kernel has: " + told)
        k = 0
        for arg in literal_unroll(args):
            if np.asarray(arg).ndim != ranks[k]:
                raise ValueError("an argument of another shape than the kernel has: " + told)
            k += 1  # noqa: SIM113 (Numba knows no enumerate of arguments of several types)
        with objmode(result=type_of_result):
            result = called(*args)
        return result  # noqa: RET504 (Numba leaves such a block at its end alone)

    return function
