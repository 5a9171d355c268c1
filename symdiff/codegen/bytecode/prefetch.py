"""Software prefetch for the interpreter: a tile asks for the memory that a later tile will use."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..._kernels.interpreter import LINE, LINES, OPCODES, VECTORS

__all__ = ["prefetches"]


def prefetches(
    port: int, elements: Collection[int], size: int, item: int, lanes: int, columns: bool
) -> Iterator[tuple[int, ...]]:
    """Give the instructions that ask for the elements of one input or output.

    Parameters
    ----------
    port : int
        Number of the input; ``~number`` of an output.
    elements : collection of int
        What is read or written of it.
    size : int
        Elements of one sample.
    item : int
        Bytes of an element.
    lanes : int
        Numbers in one vector.
    columns : bool
        Neighbours in memory are samples.
    """
    if columns:
        yield from ((OPCODES["ask_column"], port, e) for e in sorted(elements))
        return
    # short rows without gaps are fewer lines than samples
    count = min(LINE, size * item) * VECTORS * lanes // LINE
    for line in sorted({e * item // LINE for e in elements}):
        yield from ((OPCODES["ask_rows"], port, line * LINE, first) for first in range(0, count, LINES))
