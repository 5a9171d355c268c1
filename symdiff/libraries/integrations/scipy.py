"""Kernels as functions that SciPy's compiled code calls: integrands, and filters of images."""

from __future__ import annotations

import ctypes
from typing import Any

from scipy import LowLevelCallable

from ...codegen.c.standalone import FILTER, INTEGRAND
from ...errors import ArgumentError, UnsupportedError
from ...runtime.kernel import Kernel

__all__ = ["wrap"]

_KINDS: dict[str, tuple[str, Any]] = {
    "integrand": (INTEGRAND, ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, ctypes.POINTER(ctypes.c_double))),
    "filter": (
        FILTER,
        ctypes.CFUNCTYPE(
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_double),
            ctypes.c_ssize_t,
            ctypes.POINTER(ctypes.c_double),
            ctypes.c_void_p,
        ),
    ),
}


def wrap(kernel: Kernel, kind: str = "integrand") -> LowLevelCallable:
    """Return a kernel as a ``scipy.LowLevelCallable``.

    Parameters
    ----------
    kernel : Kernel
        Of one number. For "integrand" its inputs are numbers, for "filter" one vector.
    kind : {"integrand", "filter"}
        For ``scipy.integrate.quad`` and ``nquad``, or for ``scipy.ndimage.generic_filter``.

    Returns
    -------
    scipy.LowLevelCallable
        It keeps the native code loaded for as long as the process.

    Raises
    ------
    ArgumentError
        For another kind.
    UnsupportedError
        For a kernel of other shapes, or one that has no address.
    """
    if kind not in _KINDS:
        raise ArgumentError(f"kind={kind!r}; expected 'integrand' or 'filter'")
    shapes = [p.shape for p in kernel.inputs]
    if [p.shape for p in kernel.outputs] != [()]:
        raise UnsupportedError(f"a function for SciPy of a kernel {kernel.signature}; expected one number as result")
    if kind == "integrand" and (not shapes or any(shapes)):
        raise UnsupportedError(f"an integrand of a kernel {kernel.signature}; expected numbers as its inputs")
    if kind == "filter" and [len(shape) for shape in shapes] != [1]:
        raise UnsupportedError(f"a filter of a kernel {kernel.signature}; expected one vector as its input")
    name, signature = _KINDS[kind]
    return LowLevelCallable(signature(kernel.function_address(name)))
