"""Constant arrays that have a name: identities, diagonals, ranges; and those that are too long to print."""

from __future__ import annotations

import numpy as np

from .reader import Reader, ReadingRules
from .terms import Term

RULES = ReadingRules()

#: Elements from which on a vector is read as a range or a unit vector.
_LONG = 9
#: Elements beyond which an array is not printed.
LARGEST = 1_000


@RULES.of("array")
def _known(reader: Reader, term: Term) -> Term | None:
    """Read an array of numbers by its name, if it has one."""
    values: np.ndarray = term.data
    if values.dtype != bool and np.isfinite(values).all():
        if values.ndim == 2 and min(values.shape) >= 3:
            found = _diagonal(reader, values)
        else:
            found = _range(reader, values) if values.ndim == 1 and values.size >= _LONG else None
        if found is not None:
            return found
    return reader.make("elided", (), id(values), term.shape) if values.size > LARGEST else None


def _diagonal(reader: Reader, values: np.ndarray) -> Term | None:
    rows, columns = np.nonzero(values)
    if rows.size == 0 or np.signbit(values[values == 0]).any():
        return None
    offset = int(columns[0] - rows[0])
    length = len(np.diagonal(values, offset))
    numbers = values[rows, columns]
    if (columns - rows != offset).any() or rows.size != length:
        return None
    if (numbers == numbers[0]).all():
        eye = reader.make("eye", (), (offset, 1), values.shape)
        return reader.product([*([] if numbers[0] == 1 else [reader.number(float(numbers[0]))]), eye], [], values.shape)
    if offset or values.shape[0] != values.shape[1]:
        return None
    return reader.make("diag", (reader.make("array", (), numbers, numbers.shape),), None, values.shape)


def _range(reader: Reader, values: np.ndarray) -> Term | None:
    places = np.flatnonzero(values)
    if places.size == 1 and values[places[0]] == 1 and not np.signbit(values).any():
        return reader.make("unit", (), int(places[0]), values.shape)
    first, step = float(values[0]), float(values[1] - values[0])
    stop = first + step * values.size
    again = first + step * np.arange(values.size)
    if step == 0 or not np.array_equal(again, values) or not all(v.is_integer() for v in (first, step)):
        return None
    return reader.make("arange", (), (first, stop, step), values.shape)
