"""Arrays in .npy and .npz files: their headers, checked before memory is spent, and their numbers.

A header may claim more than there is, an archive unpack to a thousand times its size, an array hold pickled objects.
All of that is told in words, and nothing in a file is executed.
"""

from __future__ import annotations

import io
import math
import os
import stat
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import DataError
from ..ground.limits import LIMITS, Limits

__all__ = ["OpenArray", "begin_array", "check_memory", "open_array", "read_npy", "size_of"]

Numbers: TypeAlias = npt.NDArray[Any]


@contextmanager
def open_array(path: Path, part: str, name: str, limits: Limits = LIMITS) -> Iterator[OpenArray]:
    """Open the array of a .npy or .npz file at its header.

    Raises
    ------
    DataError
    """
    size = size_of(path)
    try:
        if path.suffix.lower() == ".npz":
            with _open_member(path, part, name, limits) as opened:
                yield opened
        else:
            with path.open("rb") as stream:
                yield OpenArray(stream, str(path), size, None)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def size_of(path: Path) -> int:
    """Return the length of a file in bytes, which must be one that can be read."""
    try:
        state = path.stat()
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file (looked in {Path.cwd()})") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{str(path)!r:.200} cannot be read: {error}") from error
    if stat.S_ISDIR(state.st_mode):
        raise DataError(f"{path} is a folder; expected a file")
    if not stat.S_ISREG(state.st_mode):
        raise DataError(f"{path} is no ordinary file (a device or a pipe); save the data to a file first")
    if state.st_size == 0:
        raise DataError(f"{path} is empty; expected numbers")
    return state.st_size


class OpenArray(NamedTuple):
    """A stream that begins with an array's header.

    Parameters
    ----------
    stream : file
    where : str
        Its name, for messages.
    size : int
        Bytes that are there.
    limit : int or None
        Bytes that it may have.
    """

    stream: IO[bytes]
    where: str
    size: int
    limit: int | None


def begin_array(stream: IO[bytes], where: str, size: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of the .npy format, believing it only as far as there are bytes: shape, order and type."""
    try:
        version = np.lib.format.read_magic(stream)
    except ValueError:
        raise DataError(f"{where} is not a .npy file (it does not begin as one); write it with numpy.save") from None
    if version not in _LENGTHS:
        raise DataError(f"{where} is a .npy file of version {version}; expected 1.0 or 2.0, which hold plain arrays")
    shape, fortran, dtype = _read_header(stream, where, _LENGTHS[version])
    _check_dtype(dtype, where)
    counts = all(type(length) is int and 0 <= length < _MOST for length in shape)
    if len(shape) > _AXES or not counts or math.prod(length or 1 for length in shape) * dtype.itemsize >= _MOST:
        told = f"{len(shape)} axes" if len(shape) > _AXES else f"the shape {shape!s:.100}"
        raise DataError(f"{where} has a damaged header: {told}; expected up to {_AXES} sizes from 0 up")
    wanted, there = math.prod(shape) * dtype.itemsize, size - stream.tell()
    if wanted > there:
        raise DataError(f"{where} is cut off: an array of shape {shape} takes {wanted} bytes and {there} are there")
    return shape, fortran, dtype


def read_npy(stream: IO[bytes], where: str, size: int, limit: int | None) -> Numbers:
    """Read the .npy format."""
    shape, fortran, dtype = begin_array(stream, where, size)
    wanted = math.prod(shape) * dtype.itemsize
    check_memory(wanted, where)
    if limit is not None and wanted > limit:
        raise DataError(
            f"{where} unpacks to {wanted} bytes, more than the {limit} that a compressed file of this size may; save "
            "it as .npy, or with numpy.savez"
        )
    data = np.empty(wanted, np.uint8)
    read = 0
    while read < wanted:
        count = stream.readinto(data[read : read + _CHUNK])  # type: ignore[attr-defined]
        if not count:
            raise DataError(f"{where} is cut off: an array of shape {shape} takes {wanted} bytes, {read} were read")
        read += count
    return data.view(dtype).reshape(shape, order="F" if fortran else "C")


#: How the length of the header is written in each version of the format.
_LENGTHS = {(1, 0): "<H", (2, 0): "<I"}
#: Bytes of a header, levels of brackets in it, and axes of an array, at most.
_HEADER, _LEVELS, _AXES = 10_000, 10, 32
#: No array has so many bytes, or so long an axis.
_MOST = 2**63
#: Bytes read at a time, and bytes of the table of contents of an archive.
_CHUNK, _CONTENTS = 2**20, 2**22


def _read_header(stream: IO[bytes], where: str, length: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, order and type; the text of them is small and flat, whatever it says it is."""
    count = stream.read(struct.calcsize(length))
    (size,) = struct.unpack(length, count) if len(count) == struct.calcsize(length) else (0,)
    text = stream.read(min(size, _HEADER + 1))
    problem = ""
    if not text or len(text) < size <= _HEADER:
        problem = "it ends within it"
    elif size > _HEADER or text.count(b"(") + text.count(b"[") + text.count(b"{") > _LEVELS * 10 or b"\0" in text:
        problem = f"{size} bytes, which are no description of a plain array"
    else:
        try:
            return np.lib.format.read_array_header_2_0(io.BytesIO(struct.pack("<I", size) + text))
        except (Exception, RecursionError) as error:  # whatever Python says of text that is no description
            problem = (str(error).splitlines() or [type(error).__name__])[0]
    raise DataError(f"{where} has a damaged header: {problem:.200}")


def _check_dtype(dtype: np.dtype[Any], where: str) -> None:
    if dtype.hasobject:
        raise DataError(f"{where} holds pickled Python objects, which are never loaded; save an array of floats")
    if dtype.kind not in "fiub" or dtype.itemsize > 8 or dtype.shape:
        remedy = "give its parts as two inputs" if dtype.kind == "c" else "convert it with .astype(float)"
        found = f"{dtype!s:.100}"
        raise DataError(f"{where} holds {found}; expected real numbers (float64, float32, integers or bool); {remedy}")


def check_memory(wanted: int, where: str) -> None:
    """Refuse what takes more bytes than the machine has, where the system tells that."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # a system that does not tell
        return
    if wanted > memory:
        raise DataError(f"{where} takes {wanted} bytes, more than the memory of this machine; read some rows at a time")


@contextmanager
def _open_member(path: Path, part: str, name: str, limits: Limits) -> Iterator[OpenArray]:
    try:
        with path.open("rb") as file, _Archive(file) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            wanted = part or (name if name in members else next(iter(members), "") if len(members) == 1 else "")
            if wanted not in members:
                asked = f"no array {part!r:.80}" if part else f"{len(members)} arrays, none called {name!r:.80}"
                listed = f"{', '.join([*islice(members, 20)]) or 'at least one':.300}"
                raise DataError(f"{path} has {asked}; expected one of {listed}, as {path}:NAME")
            info = members[wanted]
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise DataError(f"{path}:{wanted:.80} is packed in a way that numpy.savez does not know")
            # compressed data may unpack to a thousand times its length, and a small file to more than the memory
            limit = max(limits.unpacked_bytes, 20 * info.compress_size)
            with archive.open(info) as stream:
                yield OpenArray(stream, f"{path}:{wanted:.80}", info.file_size, limit)
    except (DataError, OSError):
        raise
    except Exception as error:  # an archive can be damaged in as many ways as zipfile has errors
        raise DataError(f"{path} is not a sound .npz file: {error!s:.200}; write it with numpy.savez") from error


class _Archive(zipfile.ZipFile):
    """An archive whose table of contents is looked at before it is read: each entry of it takes memory."""

    def __init__(self, file: IO[bytes]) -> None:
        file.seek(0, os.SEEK_END)
        file.seek(-min(file.tell(), 2**16 + 22), os.SEEK_CUR)
        tail = file.read()
        at = tail.rfind(b"PK\x05\x06")
        if 0 <= at <= len(tail) - 22:
            (size,) = struct.unpack_from("<I", tail, at + 12)
            wide = tail.rfind(b"PK\x06\x06", 0, at)
            if wide >= 0 and len(tail) >= wide + 48:
                size = max(size % 0xFFFFFFFF, *struct.unpack_from("<Q", tail, wide + 40))
            if size > _CONTENTS:
                raise zipfile.BadZipFile(f"a table of contents of {size} bytes")
        super().__init__(file)
