"""Print software prefetches of the rows of later samples.

Consecutive rows are as many streams as there are lanes, each read and written in steps. Of wide rows
the processor does not predict what comes next. Their lines are prefetched beside the block at the same
place, so that a few lines at a time are in flight, and go to the second-level cache: the first-level
cache waits for a few lines only, and computing waits for it.
"""

from __future__ import annotations

from ...lower.program import Program

__all__ = ["Prefetch"]

#: Bytes of a sample's rows from which on the next samples' are prefetched: the processor predicts narrower ones.
WIDE = 512
#: Bytes prefetched at most, which stay in the second-level cache until they are used.
AT_ONCE = 1 << 18
#: Vectors of samples from the current one to the one prefetched.
VECTORS = 2
#: Bytes of a row from one prefetch to the next. Caches have lines of 64. Lines that are read are prefetched twice, for
#: not all arrive that are prefetched once; lines that are written arrive in the end.
STEPS = {"in": 32, "out": 64}
#: Bytes of a row that is not prefetched: the next ones are beside it.
LINE = 64


class Prefetch:
    """The lines of a program's rows that are prefetched already.

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
        self._asked: set[tuple[str, int]] = set()

    def ask(self, macro: str, kind: str, port: int, row: str, start: int, count: int) -> str:
        """Print prefetches of the places of a block in later samples, unless an earlier block has printed them.

        Parameters
        ----------
        macro : str
            What asks at an address and a distance from row to row.
        kind : {"in", "out"}
        port : int
        row : str
            Name of the address of this vector's rows.
        start, count : int
            The block's elements.
        """
        if not self.samples or self.item * self.rows[kind][port].size <= LINE:
            return ""
        step, stride, text = STEPS[kind], f"s{kind[0]}{port}", ""
        for k in range(self.item * start // step, (self.item * (start + count) - 1) // step + 1):
            if (row, k) not in self._asked:
                self._asked.add((row, k))
                text += f"{macro}({row}+{step * k}+{self.samples}*{stride},{stride});\n"
        return text
