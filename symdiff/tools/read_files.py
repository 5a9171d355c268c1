"""Arrays from a user's own files: .npy, .npz, .csv and .parquet.

Files come from anywhere: half-copied, with text for numbers, holding pickled objects, or with
a header that claims more than there is. All of that is told in words that name the file and
the place, before memory is spent on it, and nothing in a file is ever executed.
"""

from __future__ import annotations

import codecs
import csv
import math
import os
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import DataError
from ..ground.limits import LIMITS, Limits
from .array_files import check_memory, open_array, read_npy, size_of
from .parquet import ParquetColumns

__all__ = ["SUFFIXES", "Table", "read_array", "read_table", "split_source"]

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
        raise DataError(f"{str(path)!r}: expected a file of numbers called {', '.join('*' + s for s in SUFFIXES)}")
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
