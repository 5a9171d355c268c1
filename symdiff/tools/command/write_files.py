"""Results into files: under its name a result appears complete or not at all.

What would go wrong at the end of a long computation (a missing folder, a name that is taken by
something else, an input that would be overwritten) is found out before it begins.
"""

from __future__ import annotations

import csv
import io
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...errors import DataError
from ...ground.files import check_writable, replace_file
from .read_files import SUFFIXES, parquet_library

__all__ = ["check_target", "column_names", "write_arrays", "write_rows"]

Numbers: TypeAlias = npt.NDArray[Any]


def check_target(path: Path, sources: Sequence[Path], axes: Sequence[int] = (0,), *, overwrite: bool = False) -> None:
    """Refuse a file that a result cannot be written to, before the result is computed.

    Parameters
    ----------
    path : Path
        The file wanted.
    sources : sequence of Path
        Files that must stay as they are.
    axes : sequence of int
        How many axes each of the arrays has that it must hold.
    overwrite : bool
        Whether a file that is there is to be replaced.

    Raises
    ------
    DataError
    """
    if path.suffix.lower() not in SUFFIXES:
        raise DataError(f"--out {str(path)!r}: expected a name ending in .npy, .npz, .csv or .parquet")
    kind = path.suffix.lower()
    told = f"--out {path}"
    if kind in (".csv", ".parquet") and max(axes) > 2:
        raise DataError(f"{told}: a {kind} file holds two axes, the result has {max(axes)}; expected .npy or .npz")
    if len(axes) > 1 and kind == ".npy":
        raise DataError(f"{told}: {len(axes)} arrays for a .npy file; expected a name ending in .npz, .csv or .parquet")
    check_writable(path)
    for source in sources:
        if os.path.exists(path) and os.path.exists(source) and path.samefile(source):
            raise DataError(f"--out {path} is the input {source}; write to another file")
    check_writable(path, overwrite=overwrite)


def write_arrays(path: Path, arrays: Mapping[str, Numbers]) -> int:
    """Write results, in the format that the name tells.

    Parameters
    ----------
    path : Path
        Replaced if it exists. Until all is written, it is as it was.
    arrays : mapping of str to ndarray
        One; for .npz, .csv and .parquet, one or more. Those of a table have as many rows.

    Returns
    -------
    int
        Bytes written.

    Raises
    ------
    DataError
        If the file cannot be written.
    """
    kind = path.suffix.lower()
    first = next(iter(arrays.values()))

    def fill(stream: IO[bytes]) -> None:
        if kind == ".npz":
            with zipfile.ZipFile(stream, "w") as archive:
                for name, array in arrays.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, array, allow_pickle=False)
        elif kind == ".parquet":
            with parquet_writer(stream) as add:
                add(arrays)
        elif kind == ".npy":
            np.save(stream, first, allow_pickle=False)
        else:
            write_rows(stream, arrays)

    return replace_file(path, fill)


def write_rows(stream: IO[bytes], arrays: Mapping[str, Numbers]) -> None:
    """Write the rows of results side by side, below a line of names where the file is empty.

    Raises
    ------
    DataError
        If one has more rows than another.
    """
    counts = {name: array.shape[:1] for name, array in arrays.items()}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name} has {count[0] if count else 'no'} rows" for name, count in counts.items())
        raise DataError(f"results of one .csv file: {told}; expected as many, or a name ending in .npz")
    if not stream.tell():
        stream.write(column_names(arrays))
    np.savetxt(stream, np.column_stack([np.atleast_1d(one) for one in arrays.values()]), fmt="%.17g", delimiter=",")


def column_names(arrays: Mapping[str, Numbers]) -> bytes:
    r"""Return the first line of a .csv file: the name of each result, or of each of its columns.

    Examples
    --------
    >>> column_names({"x": np.ones((5, 3)), "y": np.ones(5)})
    b'x[0],x[1],x[2],y\n'
    """
    columns = [
        column
        for name, array in arrays.items()
        for column in ([name] if array.ndim < 2 else [f"{name}[{k}]" for k in range(array.shape[1])])
    ]
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(columns)
    return line.getvalue().encode()


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
    parquet = parquet_library()
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
