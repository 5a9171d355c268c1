"""A long program as several functions of bounded length, for compilers whose time grows faster than a function does.

What one part computes and a later one reads has a place in a workspace. Emitters for C and Cython print the same parts.
"""

from __future__ import annotations

from ..lower.program import Program

__all__ = ["Parts"]


class Parts:
    """The functions that compute one sample: one, or for a long program several around a workspace.

    Parameters
    ----------
    program : Program
    chunk : int
        Operations of one function; a program up to twice as long stays whole.

    Attributes
    ----------
    parts : list of list of int
        The values that each function computes.
    whole : bool
        Whether there is one function only.
    part : dict of int to int
        The function of each value.
    slots : dict of int to int
        Place in the workspace of each value that a later function reads.
    """

    def __init__(self, program: Program, chunk: int) -> None:
        values = [i for i, op in enumerate(program.ops) if op not in ("load", "const")]
        step = chunk if len(values) + sum(map(len, program.stores)) > 2 * chunk else max(len(values), 1)
        self.parts = [values[start : start + step] for start in range(0, len(values), step)]
        self.whole = len(self.parts) <= 1 and step != chunk
        self.part = {i: number for number, part in enumerate(self.parts) for i in part}
        self.slots: dict[int, int] = {}
        if not self.whole:
            readers = ((a, self.part[i]) for i in values for a in program.args[i])
            ends = [v for store in program.stores for v in store] + [v for v, _ in program.checks]
            for a, reader in [*readers, *((v, len(self.parts)) for v in ends)]:
                if a in self.part and self.part[a] < reader:
                    self.slots.setdefault(a, len(self.slots))

    def crosses(self, value: int, number: int | None) -> bool:
        """Tell whether function ``number``, or the last one for None, reads a value from the workspace."""
        return not self.whole and (number is None or self.part[value] != number)
