"""Kernels as functions that Numba's compiled code calls, without Python on the way."""

from __future__ import annotations

import ctypes
from typing import Any

import numba
import numpy as np
from numba import literal_unroll

from ..errors import UnsupportedError
from ..graph.sizes import fixed
from ..runtime.kernel import Kernel

__all__ = ["wrap"]

_POINTERS = ctypes.POINTER(ctypes.c_void_p)


def wrap(kernel: Kernel) -> Any:
    """Return a kernel as a function for code under ``numba.njit``.

    Parameters
    ----------
    kernel : Kernel
        Of one program: fixed sizes, one output, without ``reduce``.

    Returns
    -------
    callable
        Takes float64 scalars and arrays for one sample, of the shapes that the kernel has, and returns a new array, or
        a number. A singular matrix raises ``ValueError``.

    Raises
    ------
    UnsupportedError
        For letters for sizes, several outputs, or a kernel that has no address.
    """
    if len(kernel.outputs) != 1 or kernel.options.groups is not None:
        raise UnsupportedError(
            f"a function of Numba of a kernel {kernel.signature}; expected one output, and no structures as arguments"
        )
    shapes = [fixed(p.shape) for p in kernel.inputs]
    out = fixed(kernel.outputs[0].shape)
    if out is None or any(shape is None for shape in shapes):
        raise UnsupportedError(f"a function of Numba of a kernel {kernel.signature}; expected numbers for sizes")
    call = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)(kernel.address)
    sizes = tuple(int(np.prod(shape, dtype=np.int64)) for shape in shapes if shape is not None)
    count, room, inputs = int(np.prod(out, dtype=np.int64)), sum(sizes), len(sizes)
    ranks = tuple(len(shape) for shape in shapes if shape is not None)
    told = kernel.signature
    scalar = out == ()

    @numba.njit
    def results(*args: Any) -> Any:
        if len(args) != inputs:
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
        targets = np.empty(1, np.uintp)
        targets[0] = result.ctypes.data
        if call(1, pointers.ctypes.data, targets.ctypes.data) != -1:
            raise ValueError("a matrix is singular, or there is no memory, in a kernel: " + told)
        return result

    if scalar:

        @numba.njit
        def number(*args: Any) -> Any:
            return results(*args)[0]

        return number

    @numba.njit
    def shaped(*args: Any) -> Any:
        return results(*args)[:count].reshape(out)

    return shaped
