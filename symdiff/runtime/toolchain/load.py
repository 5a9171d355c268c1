"""Native code in this process: loaded from memory, shared, and unloaded when nobody can be in it.

The number of mappings of a process is limited, and a library takes some of them. A program that
compiles formulas for days would run out of them, so code is unloaded with the last reference to
its :class:`Code`. Every unit holds its code (``NativeCall.library``), whoever calls a unit holds
the unit until the call returns, and no call returns before the threads that it hired have left
the unit. So no thread is in the code when the last reference goes, whatever threads, forks and
replaced units there are. Code whose address was given to other languages is never unloaded, and
no code is once the interpreter ends.

The libraries that were used last stay for a while, as the same kernel is often made again. More
code is refused long before the system's limit is reached: a process at that limit can load
nothing, start no thread, and may end at any allocation of memory.

What code depends on is asked here as well: the processor, the width of its vectors, the C library.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import os
import platform
import re
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TypeVar

from ..._kernels.interpreter import VECTOR_FUNCTIONS
from ..._kernels.system.scopes import Code, loaded
from ...codegen.c.target import Target
from ...errors import BuildError
from ...graph.scalars.functions import FUNCTIONS
from ...lowering.program import SIGNATURES
from .cache import build_folder
from .processes import uninterrupted

__all__ = [
    "Code",
    "RoomError",
    "c_library",
    "function_address",
    "keep",
    "load_bytes",
    "load_code",
    "native_target",
    "processor",
    "require_room",
    "use",
    "vector_address",
]


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


T = TypeVar("T")

#: Libraries that stay loaded for a while after their last use.
RECENT = 64
#: Mappings that a library takes at most, and the part (one in so many) of a process's mappings and address space that
#: all libraries may take together. Where the system tells no limit of mappings, Linux's usual one is taken.
MAPPINGS, PART, USUAL_MAPPINGS = 5, 2, 65530
#: Bytes of a library beside those of its file: pages begun, and what the loader notes.
_MORE = 32768
#: Bytes of the header of a 64-bit ELF file, and of what it tells of each part that is mapped.
_ELF_HEADER, _ELF_SEGMENT = 64, 56

_numbers = itertools.count(1)


class RoomError(BuildError):
    """The limit of native code in this process is reached."""


class _Held:
    """Libraries that stay loaded without a unit."""

    # Without locks, in steps that are one operation each: a thread that loads while another forks would leave the child
    # a locked one.
    def __init__(self) -> None:
        self.recent: OrderedDict[Code, None] = OrderedDict()
        self.kept: set[Code] = set()
        #: Number of libraries unloaded when there was last no room, not even after a collection.
        self.searched = -1


_held = _Held()


def load_code(contents: bytes) -> Code:
    """Load a library.

    Raises
    ------
    BuildError
        When the loader does not take it.
    """
    code = load_bytes(contents, lambda path: Code(path, len(contents) + _MORE))
    return code if _unloads() else keep(code)


def use(code: Code) -> Code:
    """Keep code for a while."""
    recent = _held.recent
    recent[code] = None
    with contextlib.suppress(KeyError):  # another thread may remove anything meanwhile
        recent.move_to_end(code)
        while len(recent) > RECENT:
            recent.popitem(last=False)
    return code


def keep(code: Code) -> Code:
    """Keep code for as long as the process."""
    _held.kept.add(code)
    return code


def require_room() -> None:
    """Raise ``RoomError`` if as much native code is loaded as this process may hold."""
    if _has_room():
        return
    with contextlib.suppress(KeyError):
        while _held.recent:
            _held.recent.popitem()
    if not _has_room() and _held.searched != loaded()[2]:
        # Kernels may be held by reference cycles. A collection takes long, so it is not repeated in vain.
        gc.collect()
    if not _has_room():
        count, _, _held.searched = loaded()
        raise RoomError(
            f"{count} libraries of native code are loaded, as many as this process may hold ({_limits()}). Drop "
            "kernels that are not needed, use backend='auto' or 'interpreter', or raise that limit before the start"
        )


def _has_room() -> bool:
    (count, size, _), (most, most_bytes) = loaded(), budget()
    return count < most and size < most_bytes


@cache
def budget() -> tuple[int, int]:
    """Return how many libraries may be loaded at once, and how many bytes they may take."""
    return _mappings() // (PART * MAPPINGS), _address_space() // PART


def _mappings() -> int:
    """Return how many mappings this process may have."""
    with contextlib.suppress(OSError, ValueError), open("/proc/sys/vm/max_map_count", encoding="ascii") as file:
        return int(file.read())
    return USUAL_MAPPINGS


def _address_space() -> int:
    """Return how many bytes of addresses this process may have."""
    try:
        resource = import_module("resource")
    except ImportError:  # not on this system
        return sys.maxsize
    limit: int
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit


def _limits() -> str:
    space = _address_space()
    return f"vm.max_map_count is {_mappings()}" + (f", RLIMIT_AS {space} bytes" if space < sys.maxsize else "")


@cache
def _unloads() -> bool:
    """Tell if the loader unloads anything. The loader of musl does not; its library has no name."""
    if sys.platform != "linux":
        return True
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (ValueError, OSError):
        return False


def _is_cut_short(contents: bytes) -> bool:
    """Tell if a library (64-bit ELF; others are not looked at) is shorter than it says: loaders map that and crash."""
    if contents[:6] != b"\x7fELF\x02\x01":
        return False
    if len(contents) < _ELF_HEADER:
        return True
    segments, sections = struct.unpack_from("<QQ", contents, 32)
    count, section, section_count = struct.unpack_from("<3H", contents, 56)
    ends: list[int] = [segments + _ELF_SEGMENT * count, sections + section * section_count]
    if max(ends) <= len(contents):
        for place in range(segments, ends[0], _ELF_SEGMENT):
            offset, length = struct.unpack_from("<8xQ16xQ", contents, place)
            ends.append(offset + length)
    return max(ends) > len(contents)


def _load_file(contents: bytes, load: Callable[[str], T]) -> T:
    with build_folder() as folder:
        path = folder / "kernel.so"
        path.write_bytes(contents)
        return load(str(path))


def load_bytes(contents: bytes, load: Callable[[str], T]) -> T:
    """Load a library from bytes, by a function that takes a path.

    The system maps a file, so truncating it afterwards would crash the process. Nobody
    else can reach a file in memory, nor is it refused where disks are full or not for programs.

    Raises
    ------
    BuildError
        When the loader does not take it.
    """
    if _is_cut_short(contents):
        raise BuildError("the built library cannot be loaded: its end is missing")
    if hasattr(os, "memfd_create"):
        with contextlib.suppress(OSError, ImportError):
            handle = os.memfd_create("symdiff-kernel")
            with os.fdopen(handle, "wb") as stream:
                stream.write(contents)
                stream.flush()
                # The loader takes two libraries of one name for the same, and numbers of closed
                # files come again; so each gets a spelling of its own: a count in "./" and "/".
                spelling = "".join("./" if bit == "1" else "/" for bit in f"{next(_numbers):b}")
                return load(f"/proc/self/fd/{spelling}{handle}")
    try:
        return uninterrupted(lambda: _load_file(contents, load))
    except (OSError, ImportError) as error:
        raise BuildError(f"the built library cannot be loaded: {error}") from error
