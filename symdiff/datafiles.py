"""Arrays from a user's own files: .npy, .npz and .csv.

Files come from anywhere: half-copied, with text for numbers, holding pickled objects, or with
a header that claims more than there is. All of that is told in words that name the file and
the place, before memory is spent on it, and nothing in a file is ever executed.
"""

from __future__ import annotations

import csv
import math
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .errors import DataError

__all__ = ["SUFFIXES", "Table", "read_array", "read_table", "split_source"]

Numbers: TypeAlias = npt.NDArray[Any]

SUFFIXES = (".npy", ".npz", ".csv")
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


def read_array(source: str, name: str = "") -> Numbers:
    """Read an array of real numbers.

    Parameters
    ----------
    source : str
        A .npy file; a .npz file, with ``:array`` behind it if it holds several; a .csv file,
        with ``:column`` or ``:column,column`` behind it for some of its columns.
    name : str, optional
        The input it is for: an array of this name is taken from a .npz file of several.

    Returns
    -------
    ndarray
        Of integers, floats or bool. A .csv file gives (rows, columns), or (rows,) for a single
        column.

    Raises
    ------
    DataError
        If there is no such file, or it does not hold what it should.
    """
    path, part = split_source(source)
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise DataError(f"{str(path)!r}: expected a file of numbers called {', '.join('*' + s for s in SUFFIXES)}")
    if kind == ".csv":
        return read_table(path).numbers(part)
    if kind == ".npy" and part:
        raise DataError(f"{path} holds one array; expected no {':' + part!r} behind it")
    size = _size(path)
    try:
        if kind == ".npz":
            return _read_npz(path, part, name)
        with path.open("rb") as stream:
            return _read_npy(stream, str(path), size)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _size(path: Path) -> int:
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


# ---------------------------------------------------------------------------- .npy and .npz


def _read_npy(stream: IO[bytes], where: str, size: int) -> Numbers:
    """Read the .npy format, believing its header only as far as there are bytes."""
    readers: dict[tuple[int, int], Callable[[IO[bytes]], tuple[tuple[int, ...], bool, np.dtype[Any]]]] = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        version = np.lib.format.read_magic(stream)
    except ValueError:
        raise DataError(f"{where} is not a .npy file (it does not begin as one); write it with numpy.save") from None
    if version not in readers:
        raise DataError(f"{where} is a .npy file of version {version}; expected 1.0 or 2.0, which hold plain arrays")
    try:
        shape, fortran, dtype = readers[version](stream)
    except ValueError as error:
        raise DataError(f"{where} has a damaged header: {str(error).splitlines()[0]:.200}") from error
    _check_dtype(dtype, where)
    if any(length < 0 for length in shape):
        raise DataError(f"{where} has a damaged header: the shape {shape}")
    wanted, there = math.prod(shape) * dtype.itemsize, size - stream.tell()
    if wanted > there:
        raise DataError(f"{where} is cut off: an array of shape {shape} takes {wanted} bytes and {there} are there")
    _check_memory(wanted, where)
    data = stream.read(wanted)
    if len(data) != wanted:
        raise DataError(f"{where} is cut off: an array of shape {shape} takes {wanted} bytes, {len(data)} were read")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")


def _check_dtype(dtype: np.dtype[Any], where: str) -> None:
    if dtype.hasobject:
        raise DataError(f"{where} holds pickled Python objects, which are never loaded; save an array of floats")
    if dtype.kind not in "fiub" or dtype.itemsize > 8:
        remedy = "give its parts as two inputs" if dtype.kind == "c" else "convert it with .astype(float)"
        raise DataError(f"{where} holds {dtype}; expected real numbers (float64, float32, integers or bool); {remedy}")


def _check_memory(wanted: int, where: str) -> None:
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # a system that does not tell
        return
    if wanted > memory:
        raise DataError(f"{where} takes {wanted} bytes, more than the memory of this machine; split it into parts")


def _read_npz(path: Path, part: str, name: str) -> Numbers:
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            wanted = part or (name if name in members else next(iter(members), "") if len(members) == 1 else "")
            if wanted not in members:
                asked = f"no array {part!r}" if part else f"{len(members)} arrays, none called {name!r}"
                raise DataError(
                    f"{path} has {asked}; expected one of {', '.join(members) or 'at least one'}, as {path}:NAME"
                )
            info = members[wanted]
            with archive.open(info) as stream:
                return _read_npy(stream, f"{path}:{wanted}", info.file_size)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DataError(f"{path} is not a sound .npz file: {error}; write it with numpy.savez") from error


# ---------------------------------------------------------------------------- .csv


@dataclass(frozen=True)
class Table:
    """The cells of a .csv file.

    Parameters
    ----------
    path : Path
    header : list of str, optional
        Names of the columns; None when the first line holds numbers.
    rows : list of list of str
        All of one length.
    lines : list of int
        The line of the file that each row ends on, for messages.
    """

    path: Path
    header: list[str] | None
    rows: list[list[str]]
    lines: list[int]

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
        values = np.array([[self._number(r, c) for c in wanted] for r in range(len(self.rows))])
        return values[:, 0] if len(wanted) == 1 else values

    def text(self, column: str) -> list[str]:
        """Return one column as it is written."""
        (place,) = self._columns(column)
        return [row[place] for row in self.rows]

    def _columns(self, wanted: str) -> list[int]:
        count = len(self.rows[0])
        if not wanted:
            return list(range(count))
        names = [str(k) for k in range(count)] if self.header is None else self.header
        found = []
        for name in wanted.split(","):
            key = name.strip()
            if names.count(key) != 1:
                what = "two columns" if key in names else "no column"
                origin = "" if self.header is not None else " (it has no header, so columns are counted from 0)"
                raise DataError(f"{self.path} has {what} {key!r}{origin}; expected one of {', '.join(names)[:300]}")
            found.append(names.index(key))
        return found

    def _number(self, row: int, column: int) -> float:
        cell = self.rows[row][column].strip()
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
                "; a header has names only, no numbers" if row == 0 and self.header is None else ""
            )
        name = f" ({self.header[column]})" if self.header else ""
        raise DataError(f"{self.path}, line {self.lines[row]}, column {column + 1}{name}: {cell[:40]!r} {problem}")


def read_table(path: Path) -> Table:
    """Read the cells of a .csv file.

    The delimiter is the first of semicolon, tab and comma that the first line has, else blanks.
    Empty lines and lines beginning with ``#`` are skipped. The first line is a header when no
    cell of it is a number.

    Raises
    ------
    DataError
        If it is not text in UTF-8, or its rows have different lengths.
    """
    _check_memory(_size(path), str(path))
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        byte = error.object[error.start]
        raise DataError(f"{path}, line {line}: byte {byte:#04x} is no UTF-8; save it as UTF-8") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    if "\0" in text:
        raise DataError(f"{path}, line {text[: text.index(chr(0))].count(chr(10)) + 1}: a zero byte; this is not text")
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if not _skipped(line)]
    if not lines:
        raise DataError(f"{path} has no rows; expected numbers")
    delimiter = next((d for d in ";\t," if d in lines[0][1]), None)
    rows, numbers = _cells(path, lines, delimiter)
    header = None
    if not any(_NUMBER.fullmatch(cell) for cell in rows[0]) and any(c.lower() not in _MISSING for c in rows[0]):
        header, rows, numbers = rows[0], rows[1:], numbers[1:]
        if not rows:
            raise DataError(f"{path} has a header and no rows; expected numbers below it")
    return Table(path, header, rows, numbers)


def _skipped(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _cells(path: Path, lines: Sequence[tuple[int, str]], delimiter: str | None) -> tuple[list[list[str]], list[int]]:
    numbers = [number for number, _ in lines]
    if delimiter is None:
        rows = [line.split() for _, line in lines]
    else:
        # Line by line, so that an open quotation mark is told at its line and cannot swallow the rest.
        rows = []
        for number, line in lines:
            try:
                rows.append([c.strip() for c in next(csv.reader([line], delimiter=delimiter, strict=True))])
            except csv.Error as error:
                raise DataError(f"{path}, line {number}: {error}") from error
    for number, row in zip(numbers, rows, strict=True):
        if len(row) != len(rows[0]):
            expected = f"expected {len(rows[0])}, as in line {numbers[0]}"
            raise DataError(f"{path}, line {number}: {len(row)} cells; {expected}")
    return rows, numbers
