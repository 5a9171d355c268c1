"""A loop whose body is a program, as one function: all turns, with what is carried in variables.

All lanes of a vector hold the same sample. Vectors are the shortest that there are, whose divisions and roots take the
least time, unless the program calls functions of whole vectors, which have the same bits at one length alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...lowering.plan.plan import COUNTER, HELD, MEMORY, Wiring
from ...lowering.program import Program
from .body import Whole
from .layout import BatchLayout
from .spelling import Spelling

__all__ = ["SHORTEST", "LoopBody", "fits_shortest"]

#: What carries on as it is where a condition does not hold any more.
_CHOSEN = {"where", "load", "const"}
#: Lanes of float64 in the shortest vector.
SHORTEST = 2
#: Numbers that all turns read and that are read before the loop; more of them than registers are left where they are.
KEPT = 16


def fits_shortest(spellings: Mapping[str, Spelling]) -> bool:
    """Tell whether operations have the same bits in vectors of any length, by their spellings in long ones."""
    return not any(spelled.symbol or spelled.own for spelled in spellings.values())


class LoopBody(Whole):
    """A program that is the body of a loop, and the loop.

    Parameters
    ----------
    program, lanes, forms, layout
        As :class:`~.body.Functions` takes them.
    wiring : Wiring
        Which of its arrays are carried.
    """

    def __init__(
        self, program: Program, lanes: int, forms: dict[str, str], layout: BatchLayout, wiring: Wiring
    ) -> None:
        self.wiring = wiring
        super().__init__(program, lanes, forms, layout)
        loaded = [args for op, args in zip(program.ops, program.args, strict=True) if op == "load"]
        held = dict.fromkeys((port, e) for port, e in loaded if wiring.inputs[port] == HELD)
        self.kept = frozenset(held) if len(held) <= KEPT else frozenset()

    def store_blocks(self) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Yield the elements of outputs that are in memory."""
        for port, values in enumerate(self.program.stores):
            if self.wiring.outputs[port] == MEMORY:
                yield from ((port, e, (v,)) for e, v in enumerate(values))

    def store(self, port: int, start: int, values: tuple[int, ...]) -> str:
        """Print the store of one element."""
        return self._put(f"y{port}", start, self.names[values[0]])

    def load(self, port: int, start: int, targets: list[str], *, call: bool = False) -> str:
        """Print how one element is found: in a variable, or in memory."""
        (target,) = targets
        place = self.wiring.inputs[port]
        if place >= 0:
            return f"{target}=c{place}_{start};\n"
        if place == COUNTER:
            return f"{target}=B((T)(first+i*pace));\n"
        if (port, start) in self.kept:
            return f"{target}=h{port}_{start};\n"
        return f"SHARED(x{port},{start},{target})\n"

    def _put(self, address: str, element: int, value: str) -> str:
        return f"*(D*)({address}+{element * self.item})={value}[0];\n"

    def loop(self) -> Iterator[str]:
        """Print the function, which ``_kernels/plan/steps/turns.h`` calls.

        ``begin`` to ``end`` are turns. ``in`` has the inputs of the program in turn 0 and then the sources of copies;
        ``out`` its outputs, the targets of copies, and the arrays that are carried. ``si`` and ``so`` are bytes from
        turn to turn; behind those of ``in`` are the steps of the number of the row, and the first one.
        """
        program, wiring = self.program, self.wiring
        inputs, outputs, copies = len(program.inputs), len(program.outputs), wiring.copies
        held = sorted(p for p in program.read if wiring.inputs[p] == HELD)
        sources = sorted(p for p in program.read if wiring.inputs[p] == MEMORY)
        sources += [inputs + n for n, (_, source, _) in enumerate(copies) if source == MEMORY]
        targets = [q for q, k in enumerate(wiring.outputs) if k == MEMORY]
        targets += [outputs + n for n, (_, _, target) in enumerate(copies) if target == MEMORY]
        row = inputs + len(copies)
        yield f"const long pace=si[{row}],first=si[{row + 1}];(void)pace;(void)first;\n"
        for p in held:
            yield f"const char*x{p}=in[{p}];\n"
        for p in sources:
            yield f"const char*x{p}=in[{p}]+begin*si[{p}];const long sx{p}=si[{p}];\n"
        for q in targets:
            yield f"char*y{q}=out[{q}]+begin*so[{q}];const long sy{q}=so[{q}];\n"
        for p, e in sorted(self.kept):
            yield f"V h{p}_{e};SHARED(x{p},{e},h{p}_{e})\n"
        for k, size in enumerate(wiring.sizes):
            for e in range(size):
                yield f"V c{k}_{e};SHARED(out[{outputs + len(copies) + k}],{e},c{k}_{e})\n"
        yield "for(long i=begin;i<end;i++){\n"
        yield from self.steps()
        if program.checks:
            yield f"for(int k=0;k<{len(program.checks)};k++)if(w[k][0]==0){{LEAVE *which=k;return i;}}\n"
        yield from self._handed_on()
        yield from (f"x{p}+=sx{p};\n" for p in sources)
        yield from (f"y{q}+=sy{q};\n" for q in targets)
        yield "}\n"
        for k, size in enumerate(wiring.sizes):
            yield from (self._put(f"out[{outputs + len(copies) + k}]", e, f"c{k}_{e}") for e in range(size))

    def _handed_on(self) -> Iterator[str]:
        """Print the copies at the end of a turn, and what is carried into the next one."""
        wiring, inputs, outputs = self.wiring, len(self.program.inputs), len(self.program.outputs)
        made: dict[int, list[str]] = {}
        for k, stored in zip(wiring.outputs, self.program.stores, strict=True):
            if k >= 0:
                made[2 * k + 1] = [self.names[v] for v in stored]
        for k, size in enumerate(wiring.sizes):
            made[2 * k] = [f"c{k}_{e}" for e in range(size)]
        for n, (size, source, target) in enumerate(wiring.copies):
            values = made.get(source, [f"m{n}_{e}" for e in range(size)])
            if source == MEMORY:
                yield from (f"V m{n}_{e};SHARED(x{inputs + n},{e},m{n}_{e})\n" for e in range(size))
            if target == MEMORY:
                yield from (self._put(f"y{outputs + n}", e, value) for e, value in enumerate(values))
            else:
                made[target] = values
        carried = [(k, e) for k, size in enumerate(wiring.sizes) for e in range(size)]
        yield from (f"V n{k}_{e}={made[2 * k + 1][e]};\n" for k, e in carried)
        # to ask costs a tenth of a short turn: where nothing is chosen, no turn is the last before its time
        ops = {self.program.ops[v] for stored in self.program.stores for v in stored}
        if wiring.settles and ops <= _CHOSEN:
            same = "&&".join(f"!__builtin_memcmp(&n{k}_{e},&c{k}_{e},{self.item})" for k, e in reversed(carried))
            yield f"if({same})break;\n"
        yield from (f"c{k}_{e}=n{k}_{e};\n" for k, e in carried)
