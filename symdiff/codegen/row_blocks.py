"""Covers of rows by blocks: neighbours in a sample that are loaded and stored together.

A block is moved by whole registers, a column as it is. C and the interpreter's instructions are written from the same
two coverings, of the elements of an input that are wanted and of a whole output. They differ in the widths that
there are, and in one choice: C loads the widest blocks at multiples of their width, of which a compiler drops what
nobody reads; the interpreter, which fills a register for each element, takes the narrowest that will do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["SUMS", "Block", "Run", "cover_row", "cover_wanted", "load_blocks", "split_runs", "store_blocks"]

#: The port of the column of sums.
SUMS = -1
#: Widths of the interpreter's blocks, and the length of the rows that it moves by a way of their own.
_WIDTHS, _SHORT = (8, 4, 2, 1), 3
#: Neighbours of one constant from which on they are a run: two vectors of the widest registers, and no row in parts.
_LEAST = 32


def cover_wanted(
    wanted: Collection[int], size: int, widths: Sequence[int], *, narrow: bool = False
) -> Iterator[tuple[int, int, int]]:
    """Cover the wanted elements of a row by blocks inside the row.

    Parameters
    ----------
    wanted : collection of int
        Elements, below ``size``.
    size : int
        Length of the row.
    widths : sequence of int
        Widths of blocks, widest first; the last one fits into the row.
    narrow : bool
        Take the narrowest block that holds what is wanted from an element on, or most of the row; else the
        widest that fits, at a multiple of its width.

    Yields
    ------
    tuple of int
        Start and width of a block, and the first element that no block before has. The last block of a row may
        overlap the one before it, which is cheaper than narrow ones.
    """
    covered = -1
    for e in sorted(wanted):
        if e <= covered:
            continue
        if narrow:
            ahead = sum(k in wanted for k in range(e, min(e + widths[0], size)))
            width = next(w for w in reversed(widths) if w >= ahead or 2 * w > size)
            start = min(e, size - width)
        else:
            width = next(w for w in widths if w <= size)
            start = min(e - e % width, size - width)
        covered = start + width - 1
        yield start, width, e


def cover_row(size: int, widths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Cover a whole row by blocks inside it: start and width of each, widest first; the last may overlap another."""
    done = 0
    for width in widths:
        while size - done >= width or (0 < size - done > width // 2 and size >= width > 1):
            start = min(done, size - width)
            yield start, width
            done = start + width


class Run(NamedTuple):
    """Neighbouring elements of an output that are the same constant.

    Parameters
    ----------
    start, stop : int
        The first one, and the first one behind them.
    value : int
        The constant.
    """

    start: int
    stop: int
    value: int


def split_runs(
    values: Sequence[int], consts: Collection[int], least: int | None = None
) -> tuple[list[Run], list[tuple[int, int]]]:
    """Find the runs of one constant in an output, which are filled by loops and not stored from code.

    Parameters
    ----------
    values : sequence of int
        The value of each element.
    consts : collection of int
        The values that are constants.
    least : int, optional
        Length of the shortest run.

    Returns
    -------
    runs : list of Run
    rest : list of (int, int)
        Where what lies between them begins and ends.
    """
    least = _LEAST if least is None else least
    whole = [(0, len(values))] if values else []
    if len(values) < least:
        return [], whole
    held = np.array(values, np.int64)
    edges = np.concatenate([[0], np.flatnonzero(held[1:] != held[:-1]) + 1, [len(values)]])
    runs: list[Run] = []
    for k in np.flatnonzero(np.diff(edges) >= least).tolist():
        start, stop = int(edges[k]), int(edges[k + 1])
        if values[start] in consts:
            runs.append(Run(start, stop, values[start]))
    ends = [0, *(edge for run in runs for edge in (run.start, run.stop)), len(values)]
    return runs, [(begin, end) for begin, end in zip(ends[::2], ends[1::2], strict=True) if begin < end]


# ---------------------------------------------------------------------------- the interpreter's blocks


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
    for start, width, first in cover_wanted(wanted, size, _widths(size, single), narrow=True):
        places = range(start, start + width)
        yield Block(port, start, tuple([wanted.get(k, -1) if k >= first else -1 for k in places]))


def store_blocks(
    values: Sequence[int], port: int, single: bool, rest: Iterable[tuple[int, int]] | None = None
) -> Iterable[Block]:
    """Cover an output, or the parts of it that are no runs.

    Parameters
    ----------
    values : sequence of int
        The value of each element.
    port : int
    single : bool
        Whether elements are stored one by one.
    rest : iterable of (int, int), optional
        Where these parts begin and end.

    Yields
    ------
    Block
    """
    widths = _widths(len(values), single)
    for begin, end in [(0, len(values))] if rest is None else rest:
        for start, width in cover_row(end - begin, widths):
            yield Block(port, begin + start, tuple(values[begin + start : begin + start + width]))


def _widths(size: int, single: bool) -> tuple[int, ...]:
    if single:
        return (1,)
    return (_SHORT,) if size == _SHORT else _WIDTHS
