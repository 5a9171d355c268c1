"""Print software prefetches of what later samples read and write.

The hardware prefetcher follows a stream to the end of its page and begins anew behind it, and it follows a
few streams only. So the code asks for memory itself, and a vector of samples waits for its arithmetic alone.

Narrow rows of consecutive samples are one stream. All of its lines are asked for, some kilobytes ahead, and
come to the first-level cache; lines that are written are asked for as such. So are columns, as long as they
are few. More of them, and wide rows, which are a stream for each lane, come to the second-level cache: the
first-level cache holds few outstanding requests, and arithmetic would wait for them. The code of a block of
wide rows asks for the same block of later samples, which keeps few lines in flight at a time.

Of short batches, which are in a cache, only wide rows and columns are asked for: light kernels on narrow rows
would take a tenth longer there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...lowering.program import Program

__all__ = ["FAR", "ColumnPrefetch", "NoPrefetch", "RowPrefetch"]

#: Bytes of a sample's rows from which on rows are wide.
WIDE = 512
#: Bytes of narrow rows, of inputs and of outputs, between what is asked for and what is used. Memory answers within
#: half of them, and a page has as many again; a first-level cache of 32 KB holds them.
AHEAD = 1 << 13
#: Bytes of a batch from which on narrow rows are prefetched.
FAR = 1 << 22
#: Most bytes of wide rows in flight; so many stay in the second-level cache until they are used.
AT_ONCE = 1 << 18
#: Vectors of samples from the current one to the one prefetched, of wide rows.
VECTORS = 2
#: Distance in bytes between two prefetches of a wide row. A cache line has 64 bytes. Lines that are read are prefetched
#: twice, because the processor drops some requests; for lines that are written, one request is enough.
STEPS = {"in": 32, "out": 64}
#: Bytes of a line. Wide samples have rows of no more bytes too: the next ones are on the same or the next line.
LINE = 64
#: Least and most lines between what is asked for and what is used of a column, and of all columns together.
LEAST, MOST, ALL = 8, 32, 256
#: How a line is asked for that comes to the first-level cache, and to the second.
FIRST, SECOND = {"in": "READ_SOON", "out": "WRITTEN_SOON"}, {"in": "COME", "out": "COME"}


class RowPrefetch:
    """Prints prefetches for a program in rows, each line once.

    Parameters
    ----------
    program : Program
    item : int
        Bytes of a number.
    lanes : int
        Samples in a vector.
    macro : str
        Name of the C macro that prefetches wide rows, given an address and the stride between rows.
    told : bool
        Whether the code is told, by ``far``, that a batch is long enough for narrow rows to be prefetched.
    still : sequence of bool
        Inputs that are read from one sample.
    """

    def __init__(
        self, program: Program, item: int, lanes: int, macro: str, *, told: bool, still: Sequence[bool] = ()
    ) -> None:
        self.rows = {"in": program.inputs, "out": program.outputs}
        self.item, self.lanes, self.macro = item, lanes, macro
        moving = [port.size for p, port in enumerate(program.inputs) if not (still and still[p])]
        sizes = {"in": item * sum(moving), "out": item * sum(port.size for port in program.outputs)}
        #: Bytes of a sample.
        self.row = row = sum(sizes.values())
        self.narrow, self.told = row < WIDE, told and row < WIDE
        #: How many samples ahead wide rows are prefetched, or 0 if they are not.
        self.samples = VECTORS * lanes if WIDE <= row <= AT_ONCE // (VECTORS * lanes) else 0
        #: How many samples ahead narrow rows are prefetched.
        self.ahead = {kind: max(1, round(AHEAD / (lanes * size or 1))) * lanes for kind, size in sizes.items()}
        self._printed: set[tuple[str, int]] = set()
        self._moved: dict[str, int] = {}

    def emit(self, kind: str, port: int, row: str, start: int, count: int) -> str:
        """Return the prefetches of a block of later samples, without those that an earlier block has printed.

        Parameters
        ----------
        kind : {"in", "out"}
        port : int
        row : str
            C expression for the address of this vector's rows.
        start, count : int
            First element and number of elements of the block.
        """
        stride = f"s{kind[0]}{port}"
        size = self.item * self.rows[kind][port].size
        if self.narrow and not self.told and size == self.item:
            return ""  # a sum takes as long as that
        if self.narrow:
            # the lines of all rows of a vector, as they lie without gaps: each by its row and its place there
            lines = -(-size * self.lanes // LINE)
            self._moved[row] = moved = self._moved.get(row, 0) + self.item * count
            new = self._new(row, range(min(lines, -(-moved * lines // size))))
            places = [divmod(LINE * k, size) for k in new]
            text = "".join(f"{FIRST[kind]}({row}+{at}+{self.ahead[kind] + r}*{stride})\n" for r, at in places)
            return f"if(far){{\n{text}}}\n" if text and self.told else text
        if not self.samples or size <= LINE:
            return ""
        step = STEPS[kind]
        new = self._new(row, range(self.item * start // step, (self.item * (start + count) - 1) // step + 1))
        return "".join(f"{self.macro}({row}+{step * k}+{self.samples}*{stride},{stride});\n" for k in new)

    def _new(self, row: str, lines: range) -> Iterator[int]:
        """Yield the lines that no earlier call yielded."""
        for k in lines:
            if (row, k) not in self._printed:
                self._printed.add((row, k))
                yield k


class ColumnPrefetch:
    """Prints prefetches for a program in columns.

    Parameters
    ----------
    program : Program
    """

    #: As in :class:`RowPrefetch`: columns are prefetched always.
    row, told = 0, False

    def __init__(self, program: Program) -> None:
        columns = sum(port.size for port in (*program.inputs, *program.outputs))
        self.macros = FIRST if LEAST * columns <= ALL else SECOND
        #: How many bytes ahead.
        self.ahead = LINE * min(MOST, max(LEAST, ALL // max(1, columns)))

    def emit(self, kind: str, port: int, row: str, start: int, count: int) -> str:
        """Return the prefetches of some columns, as :meth:`RowPrefetch.emit` does of rows."""
        stride = f"s{kind[0]}{port}"
        return "".join(f"{self.macros[kind]}({row}+{self.ahead}+{e}*{stride})\n" for e in range(start, start + count))


class NoPrefetch:
    """Prints nothing, for arrays that are in a cache."""

    #: As in :class:`RowPrefetch`.
    row, told, narrow = 0, False, False

    def emit(self, kind: str, port: int, row: str, start: int, count: int) -> str:
        """Return nothing."""
        return ""
