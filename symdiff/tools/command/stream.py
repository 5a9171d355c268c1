"""Evaluation of some rows at a time, for files that are longer than memory.

Rows of all streamed files go together, one batch after the other, with the checks of files that are read whole. Results
are summed, or written as they come.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ...calculus.cost import cost
from ...errors import ArgumentError, DataError
from ...frontend.array import Array
from ...graph.dump import record_text
from ...ground.budget import spend
from ...ground.files import replace_file
from ...runtime.kernel import Kernel
from .frame import say
from .options import split_pair
from .read_files import SUFFIXES, ParquetColumns, begin_array, open_array, read_table, split_source
from .shown import summarise
from .write_files import parquet_writer, write_arrays, write_rows

__all__ = ["RowStream", "check_streamed", "open_rows", "open_streams", "run_streamed"]


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
    """Return the rows of a file, as :func:`symdiff.tools.command.read_files.read_array` names files.

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


Numbers: TypeAlias = npt.NDArray[Any]
Add: TypeAlias = Callable[[Mapping[str, Numbers]], None]


def open_streams(data: Sequence[str], batch: str | None) -> dict[str, RowStream]:
    """Return the rows of the files that ``--batch`` names.

    Parameters
    ----------
    data : sequence of str
        As given: ``X=x.npy``.
    batch : str or None
        As given: names, or "auto" for all files.

    Raises
    ------
    ArgumentError
        If it names none, or an input that has no file.
    """
    pairs = [split_pair("--data", one, "X=x.npy") for one in data]
    sources = dict(pairs)
    if len(sources) < len(pairs):
        raise ArgumentError("the numbers of an input come twice; give them once")
    names = list(sources) if batch == "auto" else [name.strip() for name in (batch or "").split(",") if name.strip()]
    for name in names:
        if name not in sources:
            raise ArgumentError(f"--rows-at-once with --batch {name}, which has no --data; expected names of files")
    if not names:
        raise ArgumentError("--rows-at-once without --batch; say which files have one sample a row, --batch X or auto")
    return {name: open_rows(sources[name], name) for name in names}


def check_streamed(out: Path | None, reduce: str | None, results: Sequence[str]) -> None:
    """Refuse results that have nowhere to go, or a file that cannot be written row by row.

    Raises
    ------
    ArgumentError, DataError
    """
    if reduce is None and out is None:
        raise ArgumentError("--rows-at-once keeps no rows in memory; add --out FILE, or --reduce sum")
    if reduce is None and out is not None and out.suffix.lower() == ".npz":
        raise DataError(f"--out {out} is not written row by row; expected a name ending in .npy, .csv or .parquet")


def run_streamed(
    console: Console,
    kernel: Kernel,
    fixed: Mapping[str, Numbers],
    streams: Mapping[str, RowStream],
    count: int,
    reduce: str | None,
    out: Path | None,
    results: Mapping[str, Array],
) -> None:
    """Compute some rows at a time, and say what came of it."""
    start = time.perf_counter()
    operations = cost([one.node for one in results.values()])
    rows, sums, size = _run_rows(kernel, fixed, streams, count, reduce, out, operations)
    seconds = time.perf_counter() - start
    say(console, f"{rows} rows of {', '.join(streams)}, {count} at a time, in {seconds:.3g} s", "dim")
    for name, one in (sums or {}).items():
        summarise(console, name, results[name], one, out is None)
    if out is not None:
        say(console, f"wrote {out} ({size if sums is None else write_arrays(out, sums)} bytes)")


def _run_rows(
    kernel: Kernel,
    fixed: Mapping[str, Numbers],
    streams: Mapping[str, RowStream],
    count: int,
    reduce: str | None,
    out: Path | None,
    operations: float,
) -> tuple[int, dict[str, Numbers] | None, int]:
    """Compute results of some rows at a time.

    Parameters
    ----------
    kernel : Kernel
        Of results by name.
    fixed : mapping of str to ndarray
        The other inputs.
    streams : mapping of str to RowStream
    count : int
        Rows at a time.
    reduce : {None, "sum"}
    out : Path or None
        Written row by row unless results are summed.
    operations : float
        Of one row, which the budget is charged for.

    Returns
    -------
    rows : int
    sums : dict of str to ndarray, or None
    size : int
        Bytes written.

    Raises
    ------
    DataError
        If a file is not sound, or has fewer rows than another.
    """
    rows = 0
    sums: dict[str, Numbers] = {}

    def results() -> Iterator[dict[str, Numbers]]:
        nonlocal rows
        for batch in _batches(streams, count):
            own = len(next(iter(batch.values())))
            rows += own
            spend(int(operations * own) // 200)
            yield {name: np.asarray(one) for name, one in kernel(inputs={**fixed, **batch}).items()}

    if reduce is not None:
        for found in results():
            sums = {name: sums[name] + one if sums else one for name, one in found.items()}
        return rows, sums, 0
    assert out is not None

    def fill(stream: IO[bytes]) -> None:
        with _WRITERS[out.suffix.lower()](stream) as add:
            for found in results():
                add(found)

    size = replace_file(out, fill)
    return rows, None, size


def _batches(streams: Mapping[str, RowStream], count: int) -> Iterator[dict[str, Numbers]]:
    """Give rows of all streams, as many of each."""
    total = next((stream.rows for stream in streams.values() if stream.rows is not None), None)
    columns = (TextColumn("rows"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    several = {name: stream.batches(count) for name, stream in streams.items()}
    with bar:
        task = bar.add_task("rows", total=total)
        while True:
            found = {name: next(one, None) for name, one in several.items()}
            lengths = {name: 0 if one is None else len(one) for name, one in found.items()}
            if len(set(lengths.values())) > 1:
                short, long = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
                raise DataError(f"{streams[short].name} ends before {streams[long].name} does; expected as many rows")
            if not any(lengths.values()):
                return
            yield {name: one for name, one in found.items() if one is not None}
            bar.advance(task, next(iter(lengths.values())))


@contextmanager
def _npy_writer(stream: IO[bytes]) -> Iterator[Add]:
    """Give a function that adds rows to a .npy file, whose header has room for any number of them."""
    first: list[Numbers] = []
    rows = 0

    def header() -> None:
        own = first[0]
        kind, shape = np.lib.format.dtype_to_descr(own.dtype), (rows, *own.shape[1:])
        form = {"descr": kind, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, form)

    def add(results: Mapping[str, Numbers]) -> None:
        nonlocal rows
        (array,) = results.values()
        if not first:
            first.append(array[:0])
            header()
        rows += len(array)
        stream.write(np.ascontiguousarray(array, first[0].dtype).tobytes())

    yield add
    if first:
        end = stream.tell()
        stream.seek(0)
        header()
        stream.seek(end)


@contextmanager
def _csv_writer(stream: IO[bytes]) -> Iterator[Add]:
    def add(results: Mapping[str, Numbers]) -> None:
        write_rows(stream, results)

    yield add


_WRITERS = {".npy": _npy_writer, ".csv": _csv_writer, ".parquet": parquet_writer}
