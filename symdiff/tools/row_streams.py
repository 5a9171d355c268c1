"""Rows of files, some at a time: for files that are longer than memory.

The checks are those of files that are read whole (:mod:`symdiff.tools.read_files`), made where each row is met.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import DataError
from ..graph.dump import record_text
from .array_files import begin_array, open_array
from .parquet import ParquetColumns
from .read_files import SUFFIXES, read_table, split_source

__all__ = ["RowStream", "open_rows"]

Numbers: TypeAlias = npt.NDArray[Any]


class RowStream(NamedTuple):
    """Rows of a file, in order.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    first : ndarray
        Its first row, in one of a batch.
    rows : int or None
        How many there are, where the file tells.
    batches : callable
        Takes a number of rows, and gives arrays of so many, fewer at the end.
    """

    name: str
    first: Numbers
    rows: int | None
    batches: Callable[[int], Iterator[Numbers]]

    def __repr__(self) -> str:
        return record_text(self)


def open_rows(source: str, name: str = "") -> RowStream:
    """Return the rows of a file, as :func:`symdiff.tools.read_files.read_array` names files.

    Parameters
    ----------
    source : str
    name : str, optional
        The input that it is for.

    Raises
    ------
    DataError
        If there is no such file, it has no rows, or it is not sound.
    """
    path, part = split_source(source)
    kind = path.suffix.lower()
    rows: int | None = None
    batches: Callable[[int], Iterator[Numbers]]
    if kind == ".csv":
        batches = partial(read_table(path, in_memory=False).batches, part)
    elif kind == ".parquet":
        columns = ParquetColumns(path, part)
        rows, batches = columns.rows, columns.batches
    elif kind in SUFFIXES:
        batches = partial(_array_batches, source, path, part, name)
        with open_array(path, part, name) as opened:
            rows = (*begin_array(opened.stream, opened.where, opened.size)[0], 0)[0]
    else:
        raise DataError(f"{str(path)!r}: expected a file of numbers called {', '.join('*' + s for s in SUFFIXES)}")
    first = next(batches(1), None)
    if first is None:
        raise DataError(f"{source} has no rows; expected one sample a row")
    return RowStream(source, first, rows, batches)


def _array_batches(source: str, path: Path, part: str, name: str, count: int) -> Iterator[Numbers]:
    with open_array(path, part, name) as opened:
        shape, fortran, dtype = begin_array(opened.stream, opened.where, opened.size)
        if not shape:
            raise DataError(f"{source} holds a single number; expected one sample a row")
        if fortran and len(shape) > 1:
            raise DataError(f"{source} holds its columns one after the other; save it in rows, np.ascontiguousarray(x)")
        own = math.prod(shape[1:]) * dtype.itemsize
        for low in range(0, shape[0], count):
            length = min(count, shape[0] - low)
            text = opened.stream.read(length * own)
            if len(text) < length * own:
                raise DataError(f"{source} is cut off; write it anew")
            yield np.frombuffer(text, dtype).reshape(length, *shape[1:])
