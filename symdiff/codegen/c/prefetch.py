"""Print software prefetches of the rows of later samples.

The rows of one vector of samples are as many streams as there are lanes. The hardware prefetcher does
not follow so many streams of wide rows. The code of a block therefore prefetches the same block of
later samples, which keeps few lines in flight at a time. The lines go to the second-level cache,
because the first-level cache holds few outstanding requests, and arithmetic would wait for them.
"""

from __future__ import annotations

from ...lower.program import Program

__all__ = ["Prefetch"]

#: Bytes of a sample's rows above which rows are prefetched; the hardware prefetcher serves narrower ones.
WIDE = 512
#: Most bytes in flight; so many stay in the second-level cache until they are used.
AT_ONCE = 1 << 18
#: Vectors of samples from the current one to the one prefetched.
VECTORS = 2
#: Distance in bytes between two prefetches of a row. A cache line has 64 bytes. Lines that are read are prefetched
#: twice, because the processor drops some requests; for lines that are written, one request is enough.
STEPS = {"in": 32, "out": 64}
#: Rows of at most so many bytes are not prefetched: the next rows are on the same or the next line.
LINE = 64


class Prefetch:
    """Prints prefetches for one program, each line once.

    Parameters
    ----------
    program : Program
    item : int
        Bytes of a number.
    lanes : int
        Samples in a vector.
    """

    def __init__(self, program: Program, item: int, lanes: int) -> None:
        self.rows = {"in": program.inputs, "out": program.outputs}
        self.item = item
        row = item * sum(port.size for port in (*program.inputs, *program.outputs))
        #: How many samples ahead rows are prefetched, or 0 if they are not.
        self.samples = VECTORS * lanes if WIDE <= row <= AT_ONCE // (VECTORS * lanes) else 0
        self._printed: set[tuple[str, int]] = set()

    def emit(self, macro: str, kind: str, port: int, row: str, start: int, count: int) -> str:
        """Return the prefetches of a block of later samples, without those that an earlier block has printed.

        Parameters
        ----------
        macro : str
            Name of the C macro that prefetches, given an address and the stride between rows.
        kind : {"in", "out"}
        port : int
        row : str
            C expression for the address of this vector's rows.
        start, count : int
            First element and number of elements of the block.
        """
        if not self.samples or self.item * self.rows[kind][port].size <= LINE:
            return ""
        step, stride, text = STEPS[kind], f"s{kind[0]}{port}", ""
        for k in range(self.item * start // step, (self.item * (start + count) - 1) // step + 1):
            if (row, k) not in self._printed:
                self._printed.add((row, k))
                text += f"{macro}({row}+{step * k}+{self.samples}*{stride},{stride});\n"
        return text
