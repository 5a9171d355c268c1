"""Tables given to the command line: which of their columns are which inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ...errors import ArgumentError, ShapeError
from ..array_files import size_of
from ..parquet import ParquetColumns
from ..read_files import read_table, split_source

__all__ = ["check_tables", "columns_by_name"]

_SUFFIXES = (".csv", ".parquet")
#: A name that stands for an input: none that is called, defined on its line or an attribute.
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*(?!\w|\s*\()")
_DEFINED = re.compile(r"^\s*([^\W\d]\w*)\s*=(?!=)", re.MULTILINE)


def columns_by_name(data: Sequence[str], formula: str, values: Sequence[str]) -> list[str]:
    """Return what ``--data`` holds, with a table that has no name in front as the columns that the formula mentions.

    Parameters
    ----------
    data : sequence of str
        As given: ``X=x.npy``, or ``table.parquet``.
    formula : str
    values : sequence of str
        As given: ``a=3.5``, inputs whose numbers come from elsewhere.

    Raises
    ------
    ArgumentError
        If a table has no column that the formula mentions.
    DataError
        If it is not sound.
    """
    named = {one.partition("=")[0].strip() for one in [*data, *values] if "=" in one}
    inputs = set(_NAME.findall(formula)) - set(_DEFINED.findall(formula))
    found: list[str] = []
    for one in data:
        path = Path(one)
        if "=" in one or path.suffix.lower() not in _SUFFIXES:
            found.append(one)
            continue
        columns = _columns(path)
        taken = [name for name in columns if name in inputs and name not in named]
        if not taken:
            known = f"its columns: {', '.join(columns[:100]):.300}" if columns else "it has no header"
            raise ArgumentError(
                f"--data {path} has no column that the formula mentions ({', '.join(sorted(inputs)) or 'nothing'}); "
                f"{known}. Give a column by --data NAME={path}:COLUMN"
            )
        found += [f"{name}={path}:{name}" for name in taken]
    return found


def check_tables(
    sources: Mapping[str, str],
    numbers: Mapping[str, npt.NDArray[Any]],
    samples: Mapping[str, Sequence[int]],
    declared: Mapping[str, object],
) -> None:
    """Refuse a table of several columns where one is meant, or may be.

    Columns are no samples of an input of one number a row. An input without a shape that has the name of a column would
    take the others in silence.

    Raises
    ------
    ShapeError
    """
    for name, source in sources.items():
        path, part = split_source(source)
        shape = numbers[name].shape
        if path.suffix.lower() not in _SUFFIXES or len(shape) != 2:
            continue
        if not len(samples[name]):
            raise ShapeError(
                f"{path} has {shape[1]} columns, and {name} is one number a row, of shape (); expected one column "
                f"(--data {name}={path}:COLUMN by its name), or a row of numbers: --shape {name}={shape[1]}"
            )
        if not part and name not in declared and name in _columns(path):
            raise ShapeError(
                f"{path} has {shape[1]} columns, one of them called {name}; write --data {name}={path}:{name} for that "
                f"one, --data {path} for each column by its name, or --shape {name}={shape[1]} for a row of all"
            )


def _columns(path: Path) -> list[str]:
    """Return the names of a table's columns, none of a .csv file without a header."""
    if path.suffix.lower() == ".csv":
        return read_table(path, in_memory=False).header or []
    size_of(path)
    return ParquetColumns(path).names
