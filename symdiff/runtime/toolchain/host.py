"""The machine: its processor, the width of its vectors, its C library, and the vector library's functions."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import re
import sys
from functools import cache
from importlib import import_module

from ..._kernels.interpreter import VECTOR_FUNCTIONS
from ...codegen.c.target import Target
from ...errors import BuildError
from ...graph.scalars.functions import FUNCTIONS
from ...lowering.program import SIGNATURES

__all__ = ["c_library", "function_address", "native_target", "processor", "vector_address"]


@cache
def processor() -> tuple[str, ...]:
    """List the features of this processor that programs may use; empty where the system does not tell."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        for line in lines:  # the first processor's only: a large machine takes long to list them all
            key, _, value = line.partition(":")
            if key.strip() in ("flags", "Features"):
                return tuple(sorted(value.split()))
    return ()


@cache
def native_target() -> Target:
    """Describe this machine: the width of its vectors and the vector library's functions it has."""
    features = set(processor())
    lanes, prefix = 2, "_ZGVn" if platform.machine() == "aarch64" else "_ZGVb"
    if features >= {"avx512f", "avx512dq", "avx512vl", "avx512bw"}:
        lanes, prefix = 8, "_ZGVe"
    elif features >= {"avx2", "fma"}:
        lanes, prefix = 4, "_ZGVd"
    names = {
        f"{prefix}N{lanes * (2 if suffix else 1)}{'v' * len(SIGNATURES[row.c])}_{row.vector}{suffix}"
        for row in FUNCTIONS.values()
        for suffix in ("", "f")
        if row.vector and row.c in SIGNATURES
    }
    return Target(lanes, prefix, frozenset(name for name in names if vector_address(name)))


@cache
def _vector_library() -> ctypes.CDLL | None:
    # glibc's; elsewhere (musl, macOS) there is none, and lanes go through libm one by one.
    if sys.platform != "linux":
        return None
    try:
        return ctypes.CDLL("libmvec.so.1")
    except OSError:
        return None


@cache
def vector_address(name: str) -> int:
    """Return the address of a function of the vector library, or 0 where there is none of this name."""
    library = _vector_library()
    if library is None:
        return 0
    try:
        return ctypes.cast(library[name], ctypes.c_void_p).value or 0
    except AttributeError:
        return 0


def function_address(name: str) -> int:
    """Return the address of a function that compiled code calls through a pointer, or 0 where there is none.

    Parameters
    ----------
    name : str
        One of the vector library's, one of our own in float32, or what
        :func:`~symdiff.codegen.c.spelling.library_symbol` makes of one of SciPy's.

    Raises
    ------
    BuildError
        If this SciPy has no such function of numbers.
    """
    library, _, function = name.partition(":")
    if library != "scipy":
        return VECTOR_FUNCTIONS.get(name) or vector_address(name)
    function, _, arity = function.partition(":")
    return _scipy_address(function, int(arity))


@cache
def _scipy_address(name: str, arity: int) -> int:
    """Return the address of a function of SciPy's: of those of one name, that of so many numbers in float64."""
    functions = import_module("scipy.special.cython_special").__pyx_capi__
    signature = f"double ({'double, ' * arity}int __pyx_skip_dispatch)".encode()
    api = ctypes.pythonapi
    api.PyCapsule_IsValid.argtypes = api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    for key, capsule in functions.items():
        if re.fullmatch(rf"(__pyx_fuse_\d+)?{name}", key) and api.PyCapsule_IsValid(capsule, signature):
            return int(api.PyCapsule_GetPointer(capsule, signature))
    raise BuildError(
        f"scipy.special.cython_special of SciPy {import_module('scipy').__version__} has no {name} of {arity} numbers; "
        "another version of SciPy is needed, or backend='numpy'"
    )


def c_library() -> str:
    """Return the C library's name and version, where it tells: a home may be shared by systems that differ."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return ""
