"""A scalar program as C99: a function of one sample, whose values are local constants."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from ...lowering.program import MASK_OPS, Program
from ..splitting import Parts
from .spelling import literal, statement

__all__ = ["element_lines", "sample_functions", "unused"]

class _Sample(Parts):
    """The functions of a program, while they are printed."""

    end = ";"

    def literal(self, x: float) -> str:
        return literal(x)

    def functions(self) -> Iterator[str]:
        if self.whole:
            lines = [line for number, part in enumerate(self.parts) for line in self._compute(part, number)]
            yield self._last([*lines, *self._checks(), *chain.from_iterable(self.stores)])
            return
        calls = []
        for number, part in enumerate(self.parts):
            yield self._function(f"sd_part{number}", self._compute(part, number))
            calls.append(f"sd_part{number}({self.passed});")
        stores = []
        for number, lines in enumerate(self.stores):
            yield self._function(f"sd_store{number}", lines)
            stores.append(f"sd_store{number}({self.passed});")
        yield self._last([*calls, *self._checks(), *stores])

    def _function(self, name: str, lines: Iterable[str]) -> str:
        body = "".join(f"  {line}\n" for line in lines)
        return f"static void {name}({self.declared}) {{\n{unused(self.ports, body)}{body}}}\n"

    def _last(self, lines: Iterable[str]) -> str:
        body = "".join(f"  {line}\n" for line in [*lines, "return 0;"])
        return f"static int sd_sample({self.declared}) {{\n{unused(self.ports, body)}{body}}}\n"

    def _checks(self) -> Iterator[str]:
        for value, _ in self.program.checks:
            yield f"if ({self.operand(value)} == 0.0) return 1;"

    def _compute(self, values: Sequence[int], number: int) -> Iterator[str]:
        ops, args = self.program.ops, self.program.args
        for i in values:
            yield statement(ops[i], i, [self.operand(a, number) for a in args[i]])
            if i in self.slots:
                yield f"w[{self.slots[i]}] = {f'm{i} ? 1.0 : 0.0' if ops[i] in MASK_OPS else f'v{i}'};"


def sample_functions(program: Program) -> tuple[str, int]:
    """Print the functions of a program, and return how many numbers of workspace they take.

    The last one is ``int sd_sample(x0, ..., y0, ..., w)``, which returns 0, or 1 where a matrix is singular.
    """
    sample = _Sample(program)
    return "\n".join(sample.functions()), len(sample.slots)


def unused(names: Iterable[str], body: str) -> str:
    """Return a line for each argument that a function does not read, of which compilers would warn."""
    read = set(re.findall(r"\b\w+\b", body))
    return "".join(f"  (void){name};\n" for name in names if name not in read)


def element_lines(program: Program, loads: Mapping[tuple[int, int], str]) -> tuple[list[str], list[list[str]]]:
    """Return the statements of a program within a loop, and what is stored in each output.

    Parameters
    ----------
    program : Program
    loads : mapping of (int, int) to str
        What is read for each element of each input.
    """

    def operand(i: int) -> str:
        op = program.ops[i]
        if op == "const":
            return literal(program.consts[i])
        if op == "load":
            port, element = program.args[i]
            return loads[port, element]
        return f"m{i}" if op in MASK_OPS else f"v{i}"

    lines = [statement(program.ops[i], i, [operand(a) for a in program.args[i]]) for i in program.computed]
    lines += [f"if ({operand(value)} == 0.0) return 1;" for value, _ in program.checks]
    return lines, [[operand(v) for v in store] for store in program.stores]
