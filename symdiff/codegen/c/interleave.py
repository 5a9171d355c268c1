"""Decide which kernels process two vectors of samples, interleaved, one operation for each in turn.

A processor looks some hundred instructions ahead, which is hardly more than one vector takes. In a
chain of functions each instruction waits for the one before. Interleaving hides that latency with the
instructions of a second vector, as long as registers hold the values of both.
"""

from __future__ import annotations

from ...lowering.program import CHEAP, GIVEN, Program
from .layout import BatchLayout
from .preamble import ITEM

__all__ = ["is_function", "is_interleaved"]

#: The additions that an operation counts as that is not cheap.
_SLOW = 8
#: Operations that take longer than an addition, but are instructions.
_BRIEF = frozenset(("divide", "sqrt", "floor", "ceil", "rint", "trunc", "sign", "copysign"))
#: From so many operations for each number read or written on, a kernel is bound by arithmetic and not by memory, for
#: rows and for columns. In columns each number is a stream of memory of its own, and two vectors ask twice as much of
#: each, which processors prefetch less well.
_WORK = {False: 2, True: 4}
#: Bytes of a vector where a processor has 32 registers for sure; for shorter vectors it may have 16.
_LONG = 64


def is_interleaved(program: Program, lanes: int, layout: BatchLayout) -> bool:
    """Tell whether a program is printed for two vectors, interleaved.

    Parameters
    ----------
    program : Program
    lanes : int
        Numbers in a vector.
    layout : BatchLayout
    """
    if layout.packed and max(layout.moved(program), default=1) > 1:
        return False  # there is one vector
    slow = sum(op not in CHEAP for op in program.ops)
    moved = sum(port.size for port in (*program.inputs, *program.outputs))
    registers = 32 if lanes * ITEM[layout.computes_single] >= _LONG else 16
    busy = len(program.ops) - len(program.consts) + _SLOW * slow >= _WORK[layout.columns and not layout.packed] * moved
    waits = any(map(is_function, program.ops))
    return waits and busy and 2 * alive(program) <= registers


def is_function(op: str) -> bool:
    """Tell whether the latency of an operation leaves the processor idle with one vector."""
    return op not in CHEAP and op not in _BRIEF


def alive(program: Program) -> int:
    """Return the most values that are alive at once, together with the one that is computed; constants do not count."""
    last: dict[int, int] = {}
    for i, (op, args) in enumerate(zip(program.ops, program.args, strict=True)):
        if op not in GIVEN:
            last.update(dict.fromkeys(args, i))
    ends = [0] * len(program.ops)
    for v, i in last.items():
        ends[i] += v not in program.consts
    most = now = 0
    for i, op in enumerate(program.ops):
        now += i in last and op != "const"
        most = max(most, now)
        now -= ends[i]
    return most
