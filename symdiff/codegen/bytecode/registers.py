"""Register allocation for a machine that has a few tiles of registers besides the accumulator.

The time of the interpreter goes into loads and stores. Live ranges that save most of them get a
register, by weighted interval scheduling; a value whose uses all find it there needs no memory at all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from .select import Instruction

__all__ = ["ABLE", "REGISTERS", "Allocation", "allocate_registers"]

#: Names of the registers.
REGISTERS = "bc"
#: Operations that may read them, two in one or one.
ABLE = frozenset(("add", "subtract", "multiply", "divide", "add_multiply", "subtract_multiply"))
#: Times of one vector, measured, in those of a load. Of two operands in memory, one costs little: arithmetic
#: takes as long as the load. An instruction more is cheap as long as the processor foresees the program.
_STORE, _LOAD, _PUT, _SECOND_OPERAND, _ONLY_OPERAND = 1.7, 1.0, 0.2, 0.9, 0.2
_FORESEEN, _INSTRUCTION, _SURPRISE = 1000, 0.1, 2.0
#: Steps that a value stays at most, and times it is read.
_STAY, _READS = 32, 8


@dataclass
class Allocation:
    """The result of register allocation: which values are in registers, and when.

    Parameters
    ----------
    reads : dict of (int, int) to str
        The register in which a step reads a value.
    puts : dict of int to list of str
        Registers that take a step's value.
    loads : dict of int to list of (str, int)
        Registers that take values from memory before a step.
    """

    reads: dict[tuple[int, int], str] = field(default_factory=dict)
    puts: dict[int, list[str]] = field(default_factory=dict)
    loads: dict[int, list[tuple[str, int]]] = field(default_factory=dict)


#: A value in a register: until when, from when, what that gains, the value, and the steps that read it there.
#: Step t reads at t, and something may happen half a step before.
_LiveRange = tuple[int, float, float, int, list[int]]


def allocate_registers(
    steps: Sequence[Instruction], registers: int, kept: Collection[int], numbers: Collection[int], barriers: list[float]
) -> Allocation:
    """Allocate registers: to each in turn the live ranges that together save most.

    Parameters
    ----------
    steps : sequence of Instruction
        In the order they run.
    registers : int
        How many there are besides the accumulator.
    kept : set of int
        Values that are needed in memory in any case.
    numbers : set of int
        Values that are constants, which are never worth a register.
    barriers : list of float
        Times at which registers are lost, ascending.

    Returns
    -------
    Allocation
    """
    found = Allocation()
    if not registers:
        return found
    made = {step.value: t for t, step in enumerate(steps)}
    #: The steps that may read each value in a register, and how many read it at all.
    readers: dict[int, list[int]] = {}
    reads: dict[int, int] = {}
    #: How many operands each step reads from memory, if it may read registers.
    operands = [0] * len(steps)
    for t, step in enumerate(steps):
        able = step.name in ABLE
        for v in step.reads:
            if v not in numbers:
                reads[v] = reads.get(v, 0) + 1
                if able:
                    operands[t] += 1
                    if v in readers:
                        readers[v].append(t)
                    else:
                        readers[v] = [t]
    barriers = [*barriers, float(len(steps))]
    instruction = _INSTRUCTION if len(steps) < _FORESEEN else _SURPRISE
    for register in REGISTERS[:registers]:
        stays: list[_LiveRange] = []
        for v, able_times in readers.items():
            start = made.get(v, -1)
            if len(able_times) == 1 and (start < 0 or able_times[0] - start > _STAY):
                continue  # it would stay too long
            times = [t for t in able_times if operands[t] and (t, v) not in found.reads] if found.reads else able_times
            if start >= 0 and times and times[0] - start <= _STAY:
                # all readers find it there, and it needs no memory
                whole = _STORE + instruction if len(times) == reads[v] and v not in kept else 0.0
                _add(stays, v, times, float(start), -_PUT - instruction, operands, barriers, whole)
            for first in range(len(times) - 1):
                if times[first + 1] - times[first] <= _STAY:
                    some = times[first : first + _READS]
                    _add(stays, v, some, times[first] - 0.5, -_LOAD - instruction, operands, barriers, 0.0)
        for _, begin, _, v, times in _best(stays):
            for t in times:
                found.reads[t, v] = register
                operands[t] -= 1
            if begin == made.get(v):
                found.puts.setdefault(made[v], []).append(register)
            else:
                found.loads.setdefault(times[0], []).append((register, v))
    return found


def _add(
    stays: list[_LiveRange],
    v: int,
    times: list[int],
    start: float,
    gain: float,
    operands: list[int],
    barriers: list[float],
    whole: float,
) -> None:
    """Add the stays of a value from ``start`` to each of ``times``, of which the last gains ``whole`` more."""
    limit = min(barriers[bisect_right(barriers, start)], start + _STAY)
    for k, end in enumerate(times[:_READS]):
        if end > limit:
            return
        gain += _SECOND_OPERAND if operands[end] > 1 else _ONLY_OPERAND
        total = gain + whole if k + 1 == len(times) else gain
        if total > 0:
            stays.append((end, start, total, v, times[: k + 1]))


def _best(stays: list[_LiveRange]) -> list[_LiveRange]:
    """Return the intervals that do not overlap and save most: weighted interval scheduling."""
    stays.sort()
    ends = [stay[0] for stay in stays]
    best = [0.0]
    before = []
    for k, (_, start, gain, _, _) in enumerate(stays):
        before.append(bisect_right(ends, start, 0, k))
        best.append(max(best[-1], best[before[k]] + gain))
    chosen = []
    k = len(stays)
    while k:
        if best[k] == best[k - 1]:
            k -= 1
        else:
            chosen.append(stays[k - 1])
            k = before[k - 1]
    return chosen
