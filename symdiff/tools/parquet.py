"""Parquet files: columns of numbers in, results out as columns, whole or some rows at a time.

They need pyarrow, which is an extra.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import DataError, DtypeError, UnsupportedError
from ..runtime.calls.containers import numbers_of

__all__ = ["ParquetColumns", "columns_of", "parquet_writer"]

Numbers: TypeAlias = npt.NDArray[Any]


def _library() -> Any:
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
            self._file = _library().ParquetFile(path)
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


def columns_of(results: Mapping[str, Numbers]) -> dict[str, Numbers]:
    """Return results as columns: one of its name for a result of one axis, ``name_0``, ... for one of two.

    Raises
    ------
    DataError
        If results have different numbers of rows.
    """
    found: dict[str, Numbers] = {}
    for name, result in results.items():
        array = np.atleast_1d(result)
        found |= {name: array} if array.ndim == 1 else {f"{name}_{k}": array[:, k] for k in range(array.shape[1])}
    lengths = {len(column) for column in found.values()}
    if len(lengths) > 1:
        raise DataError(f"results of {', '.join(map(str, sorted(lengths)))} rows in one table; write them to .npz")
    return found


@contextmanager
def parquet_writer(stream: IO[bytes]) -> Iterator[Any]:
    """Give a function that adds rows, results by name, to a file."""
    parquet = _library()
    import pyarrow

    writers: list[Any] = []

    def add(results: Mapping[str, Numbers]) -> None:
        table = pyarrow.table(columns_of(results))
        if not writers:
            writers.append(parquet.ParquetWriter(stream, table.schema))
        writers[0].write_table(table)

    try:
        yield add
    finally:
        for writer in writers:
            writer.close()
