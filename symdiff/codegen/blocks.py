"""How the interpreter reads samples and writes results: in blocks of neighbouring elements.

A row is moved by whole registers, eight, four or two elements of it at once, and a column as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

__all__ = ["SUMS", "Block", "load_blocks", "store_blocks"]

#: The port of the column of sums.
SUMS = -1


class Block(NamedTuple):
    """Neighbouring elements of a sample.

    Parameters
    ----------
    port : int
    start : int
        Element of the first one.
    values : tuple of int
        Up to eight; -1 for what nobody wants.
    """

    port: int
    start: int
    values: tuple[int, ...]


def load_blocks(wanted: Mapping[int, int], port: int, size: int, single: bool) -> Iterator[Block]:
    """Cover the elements of an input that are read.

    Parameters
    ----------
    wanted : mapping of int to int
        The value of each wanted element.
    port, size : int
        The input, and the number of its elements.
    single : bool
        Whether elements are brought one by one.

    Yields
    ------
    Block
    """
    covered = -1
    for e in sorted(wanted):
        if e <= covered:
            continue
        if single:
            width = 1
        elif size == 3:  # rows of three have a way of their own
            width = 3
        else:
            ahead = sum(k in wanted for k in range(e, min(e + 8, size)))
            width = next(w for w in (1, 2, 4, 8) if w >= ahead or 2 * w > size)
        start = min(e, size - width)
        covered = start + width - 1
        yield Block(port, start, tuple([wanted.get(k, -1) if k >= e else -1 for k in range(start, start + width)]))


def store_blocks(values: Sequence[int], port: int, single: bool) -> Iterable[Block]:
    """Cover an output by blocks of 8, 4, 2 and 1, or 3 that are a row; the last may overlap another.

    Parameters
    ----------
    values : sequence of int
        The value of each element.
    port : int
    single : bool
        Whether elements are stored one by one.

    Yields
    ------
    Block
    """
    done = 0
    for width in (1,) if single else (3,) if len(values) == 3 else (8, 4, 2, 1):
        while len(values) - done >= width or (0 < len(values) - done > width // 2 and len(values) >= width > 1):
            start = min(done, len(values) - width)
            yield Block(port, start, tuple(values[start : start + width]))
            done = start + width
