"""Arrays from a user's own files: .npy, .npz, .csv and .parquet (which needs pyarrow, an extra).

Files come from anywhere: half-copied, with text for numbers, holding pickled objects, with a header that claims more
than there is, or an archive that unpacks to a thousand times its size. All of that is told in words that name the file
and the place, before memory is spent on it, and nothing in a file is ever executed.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import os
import re
import stat
import struct
import zipfile
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ...errors import DataError, DtypeError, UnsupportedError
from ...ground.limits import LIMITS, Limits
from ...runtime.calls.containers import numbers_of

__all__ = [
    "SUFFIXES",
    "OpenArray",
    "Table",
    "begin_array",
    "check_memory",
    "open_array",
    "read_array",
    "read_npy",
    "read_table",
    "size_of",
    "split_source",
]


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


#: Format of the length of the header, by the version of the file format.
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


Numbers: TypeAlias = npt.NDArray[Any]

SUFFIXES = (".npy", ".npz", ".csv", ".parquet")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_MISSING = {"", "nan", "na", "n/a", "null", "none", "-", "?"}


def split_source(source: str) -> tuple[Path, str]:
    """Split ``file:part`` into a file and the part wanted of it.

    Examples
    --------
    >>> split_source("table.csv:length,width")[1]
    'length,width'
    """
    if Path(source).suffix.lower() not in SUFFIXES or not os.path.exists(source):
        name, colon, part = source.rpartition(":")
        if colon and Path(name).suffix.lower() in SUFFIXES:
            return Path(name), part
    return Path(source), ""


def read_array(source: str, name: str = "", limits: Limits = LIMITS) -> Numbers:
    """Read an array of real numbers.

    Parameters
    ----------
    source : str
        A .npy file; a .npz file, with ``:array`` behind it if it holds several; a .csv or .parquet
        file, with ``:column`` or ``:column,column`` behind it for some of its columns.
    name : str, optional
        The input it is for: an array of this name is taken from a .npz file of several.
    limits : Limits, optional
        Bounds on lines of a .csv file and on what a compressed array may unpack to.

    Returns
    -------
    ndarray
        Of integers, floats or bool. A table gives (rows, columns), or (rows,) for a single
        column.

    Raises
    ------
    DataError
        If there is no such file, or it does not hold what it should.
    """
    path, part = split_source(source)
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        named = ", ".join("*" + s for s in SUFFIXES)
        raise DataError(f"{str(path)!r}: expected a file of numbers called {named}; a number itself is --value x=3.5")
    if kind == ".csv":
        return read_table(path, limits).numbers(part)
    if kind == ".parquet":
        size_of(path)
        columns = ParquetColumns(path, part)
        check_memory(8 * columns.rows * len(columns.names), str(path))
        return columns.numbers()
    if kind == ".npy" and part:
        raise DataError(f"{path} holds one array; expected no {':' + part!r} behind it")
    with open_array(path, part, name, limits) as opened:
        return read_npy(*opened)


# ---------------------------------------------------------------------------- .csv


@dataclass(frozen=True)
class Table:
    """A .csv file, which is read row by row when numbers of it are asked for.

    Parameters
    ----------
    path : Path
    header : list of str, optional
        Names of the columns; None when the first line holds numbers.
    count : int
        Number of columns.
    delimiter : str, optional
        Between cells; None for blanks.
    limits : Limits
    """

    path: Path
    header: list[str] | None
    count: int
    delimiter: str | None
    limits: Limits = LIMITS

    def numbers(self, columns: str = "") -> Numbers:
        """Return columns as numbers.

        Parameters
        ----------
        columns : str, optional
            Names, separated by commas, or numbers from 0 where there is no header; by default
            all.

        Returns
        -------
        ndarray of float64, shape (rows, columns), or (rows,) for a single column
        """
        wanted = self._columns(columns)
        return self._array(array("d", chain.from_iterable(self._numbers(wanted))), len(wanted))

    def batches(self, columns: str, count: int) -> Iterator[Numbers]:
        """Give ``count`` rows at a time, in order; fewer at the end."""
        wanted = self._columns(columns)
        rows = self._numbers(wanted)
        while found := array("d", chain.from_iterable(islice(rows, count))):
            yield self._array(found, len(wanted))

    def _numbers(self, wanted: Sequence[int]) -> Iterator[list[float]]:
        """Give the numbers of each row."""
        for k, (number, row) in enumerate(self._rows()):
            yield [self._number(number, row[c], c, k == 0) for c in wanted]

    def _array(self, found: array[float], width: int) -> Numbers:
        values = np.array(found).reshape(-1, width)
        return values[:, 0] if width == 1 else values

    def text(self, column: str) -> list[str]:
        """Return one column as it is written."""
        (place,) = self._columns(column)
        return [row[place] for _, row in self._rows()]

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Give the rows of numbers, each with the line of the file it is on."""
        rows = _cells(self.path, self.delimiter, self.limits)
        first, row = next(rows)
        if self.header is None:
            yield first, row
        for number, row in rows:
            if len(row) != self.count:
                expected = f"expected {self.count}, as in line {first}"
                raise DataError(f"{self.path}, line {number}: {len(row)} cells; {expected}")
            yield number, row

    def _columns(self, wanted: str) -> list[int]:
        if not wanted:
            return list(range(self.count))
        names = [str(k) for k in range(self.count)] if self.header is None else self.header
        found = []
        for name in wanted.split(","):
            key = name.strip()
            if names.count(key) != 1:
                what = "two columns" if key in names else "no column"
                origin = "" if self.header is not None else " (it has no header, so columns are counted from 0)"
                listed = f"{', '.join(names[:100]):.300}"
                raise DataError(f"{self.path} has {what} {key!r:.80}{origin}; expected one of {listed}")
            found.append(names.index(key))
        return found

    def _number(self, line: int, cell: str, column: int, first: bool) -> float:
        if _NUMBER.fullmatch(cell):
            value = float(cell)
            if math.isfinite(value):
                return value
            problem = "is beyond the range of a double"
        elif _INFINITE.fullmatch(cell):
            return float(cell)
        elif cell.lower() in _MISSING:
            problem = "is a missing value; remove the row, or fill in a number"
        elif re.fullmatch(r"[+-]?[0-9]+,[0-9]+", cell):
            problem = "has a decimal comma; expected a decimal point"
        else:
            problem = "is not a number" + (
                "; a header has names only, no numbers" if first and self.header is None else ""
            )
        name = f" ({self.header[column]:.80})" if self.header else ""
        raise DataError(f"{self.path}, line {line}, column {column + 1}{name}: {cell[:40]!r} {problem}")


def read_table(path: Path, limits: Limits = LIMITS, *, in_memory: bool = True) -> Table:
    """Begin to read a .csv file, whose numbers will stand in memory together unless they are read in batches.

    The delimiter is the first of semicolon, tab and comma that the first line has, else blanks.
    Empty lines and lines beginning with ``#`` are skipped. The first line is a header when no
    cell of it is a number.

    Raises
    ------
    DataError
        If it is not text in UTF-8, or has no rows.
    """
    size = size_of(path)
    if in_memory:
        check_memory(4 * size, str(path))  # a number takes eight bytes, and at least two in the file
    first = next(_lines(path, limits), None)
    if first is None:
        raise DataError(f"{path} has no rows; expected numbers")
    delimiter = next((d for d in ";\t," if d in first[1]), None)
    rows = _cells(path, delimiter, limits)
    _, row = next(rows)
    header = None
    if not any(_NUMBER.fullmatch(cell) for cell in row) and any(c.lower() not in _MISSING for c in row):
        header = row
        if next(rows, None) is None:
            raise DataError(f"{path} has a header and no rows; expected numbers below it")
    return Table(path, header, len(row), delimiter, limits)


def _lines(path: Path, limits: Limits) -> Iterator[tuple[int, str]]:
    """Give the lines of a text file that are not empty, with their numbers; none is longer than the limit."""
    number = 0
    try:
        with path.open("rb") as stream:
            for raw in iter(partial(stream.readline, limits.line_bytes + 1), b""):
                if len(raw) > limits.line_bytes:
                    raise DataError(
                        f"{path}, line {number + 1} is longer than {limits.line_bytes} bytes; expected a sample in "
                        "each line (save long rows as .npy)"
                    )
                try:
                    text = raw.removeprefix(codecs.BOM_UTF8 if not number else b"").decode()
                except UnicodeDecodeError as error:
                    byte = error.object[error.start]
                    words = f"byte {byte:#04x} is no UTF-8; save it as UTF-8"
                    raise DataError(f"{path}, line {number + 1}: {words}") from error
                if "\0" in text:
                    raise DataError(f"{path}, line {number + 1}: a zero byte; this is not text")
                for line in text.splitlines():
                    number += 1
                    if line.strip() and not line.lstrip().startswith("#"):
                        yield number, line
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _cells(path: Path, delimiter: str | None, limits: Limits) -> Iterator[tuple[int, list[str]]]:
    """Give the cells of each line."""
    for number, line in _lines(path, limits):
        if delimiter is None:
            yield number, line.split()
            continue
        try:  # line by line, so that an open quotation mark is told at its line and cannot swallow the rest
            yield number, [c.strip() for c in next(csv.reader([line], delimiter=delimiter, strict=True))]
        except csv.Error as error:
            raise DataError(f"{path}, line {number}: {error}") from error


# ------------------------------------------------------------------------ .parquet


def parquet_library() -> Any:
    """Return ``pyarrow.parquet``.

    Raises
    ------
    UnsupportedError
        If it is not installed.
    """
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise UnsupportedError(
            f"a .parquet file without pyarrow ({error}); install it, e.g. by pip install pyarrow, or use .npy or .csv"
        ) from None
    return parquet


class ParquetColumns:
    """Columns of a Parquet file.

    Parameters
    ----------
    path : Path
    columns : str
        Names, separated by commas; "" for all.

    Attributes
    ----------
    rows : int
    names : list of str

    Raises
    ------
    DataError
        If it is no such file, or has no such column.
    """

    def __init__(self, path: Path, columns: str = "") -> None:
        self.path = path
        with self._told():
            self._file = parquet_library().ParquetFile(path)
        known = self._file.schema_arrow.names
        self.names = [name.strip() for name in columns.split(",")] if columns else list(known)
        for name in self.names:
            if known.count(name) != 1:
                what = "two columns" if name in known else "no column"
                raise DataError(f"{path} has {what} {name!r:.80}; expected one of {', '.join(known[:100]):.300}")
        if not self.names:
            raise DataError(f"{path} has no columns; expected numbers")
        self.rows = int(self._file.metadata.num_rows)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say of what pyarrow finds wrong which file it is in."""
        try:
            yield
        except (DataError, UnsupportedError):
            raise
        except Exception as error:  # a file can be damaged in as many ways as pyarrow has errors
            words = (str(error).splitlines() or [type(error).__name__])[0]
            raise DataError(f"{self.path} is not a sound Parquet file: {words:.200}") from error

    def numbers(self) -> Numbers:
        """Return all rows: shape (rows, columns), (rows,) for a single one, (rows, n) for one of lists."""
        with self._told():
            return self._together(self._file.read(columns=self.names), 0)

    def batches(self, count: int) -> Iterator[Numbers]:
        """Give ``count`` rows at a time, in order; fewer at the end."""
        before = 0
        with self._told():
            for batch in self._file.iter_batches(count, columns=self.names):
                yield self._together(batch, before)
                before += batch.num_rows

    def _together(self, table: Any, before: int) -> Numbers:
        where = f"{self.path}" if not before else f"{self.path}, rows from {before}"
        try:
            if len(self.names) == 1:
                return np.asarray(numbers_of(f"{where}: column {self.names[0]!r}", table[self.names[0]]))
            return np.asarray(numbers_of(where, table.select(self.names)))
        except DtypeError as error:
            raise DataError(str(error)) from None
