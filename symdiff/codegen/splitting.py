"""A long program as several functions of bounded length, for compilers whose time grows faster than a function does.

What one part computes and a later one reads has a place in a workspace. Emitters for C and Cython print the same parts.
"""

from __future__ import annotations

from ..lowering.program import MASK_OPS, Program
from . import scalars

__all__ = ["CHUNK", "Parts"]

#: Operations in one function; a program up to twice as long stays whole.
CHUNK = 1000


class Parts:
    """The functions that compute one sample: one, or for a long program several around a workspace.

    Their arguments are ``x0``, ``x1``, ... for inputs, ``y0``, ``y1``, ... for outputs, and ``w`` for the workspace.
    Values are ``v`` and their number, and conditions ``m`` and theirs.

    Parameters
    ----------
    program : Program

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
    ports : list of str
        Names of the arguments.
    declared, passed : str
        The arguments where a function is defined, and where it is called.
    """

    #: What ends a statement.
    end = ""

    def __init__(self, program: Program) -> None:
        self.program = program
        values = program.computed
        step = CHUNK if len(values) + sum(map(len, program.stores)) > 2 * CHUNK else max(len(values), 1)
        self.parts = [values[start : start + step] for start in range(0, len(values), step)]
        self.whole = len(self.parts) <= 1 and step != CHUNK
        self.part = {i: number for number, part in enumerate(self.parts) for i in part}
        self.slots: dict[int, int] = {}
        if not self.whole:
            readers = ((a, self.part[i]) for i in values for a in program.args[i])
            ends = [v for store in program.stores for v in store] + [v for v, _ in program.checks]
            for a, reader in [*readers, *((v, len(self.parts)) for v in ends)]:
                if a in self.part and self.part[a] < reader:
                    self.slots.setdefault(a, len(self.slots))
        kinds = {f"x{p}": "const double *" for p in range(len(program.inputs))}
        kinds |= {f"y{p}": "double *" for p in range(len(program.outputs))}
        kinds |= {"w": "double *"} if self.slots else {}
        self.ports = list(kinds)
        self.declared = ", ".join(f"{kind}{name}" for name, kind in kinds.items())
        self.passed = ", ".join(kinds)

    def literal(self, x: float) -> str:
        """Print a number."""
        return scalars.literal(x)

    def crosses(self, value: int, number: int | None) -> bool:
        """Tell whether function ``number``, or the last one for None, reads a value from the workspace."""
        return not self.whole and (number is None or self.part[value] != number)

    def operand(self, i: int, number: int | None = None) -> str:
        """Print a value as function ``number`` reads it, or the last one."""
        op = self.program.ops[i]
        if op == "const":
            return self.literal(self.program.consts[i])
        if op == "load":
            port, element = self.program.args[i]
            return f"x{port}[{element}]"
        mask = op in MASK_OPS
        if self.crosses(i, number):
            return f"(w[{self.slots[i]}] != 0.0)" if mask else f"w[{self.slots[i]}]"
        return f"m{i}" if mask else f"v{i}"

    @property
    def stores(self) -> list[list[str]]:
        """The statements that write outputs, those of one function at a time."""
        targets = [(port, e, v) for port, store in enumerate(self.program.stores) for e, v in enumerate(store)]
        lines = [f"y{port}[{e}] = {self.operand(v)}{self.end}" for port, e, v in targets]
        step = max(len(lines), 1) if self.whole else CHUNK
        return [lines[start : start + step] for start in range(0, len(lines), step)]
