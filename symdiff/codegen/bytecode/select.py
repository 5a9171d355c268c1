"""Instruction selection and scheduling for a machine with one accumulator.

The result of a step stays in the accumulator for the next one; steps that pass on their results in
this way are a chain. A product or sum with a single use is computed together with its consumer, so
sums of products, which are most of linear algebra, hardly touch memory. List scheduling orders the
chains so that divisions, which occupy a unit of their own for long, run beside other work. The
operations on numbers are exactly those of generated C.

This module says what each operation is to these passes, which are compiled and work on arrays
(``_kernels/programs``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache

from ..._kernels.interpreter import OPCODES
from ..._kernels.programs.steps import Selection, Steps
from ..._kernels.programs.steps import schedule as ordered
from ..._kernels.programs.tape import Tape

__all__ = ["ABLE", "ACCUMULATOR", "is_called", "schedule", "select_instructions"]

#: What a step reads in the accumulator.
ACCUMULATOR = -1
#: Operations that fuse with the one that computes their argument, and those they fuse with.
_OUTER = frozenset(("add", "subtract", "multiply", "divide"))
_INNER = frozenset(("add", "subtract", "multiply"))
#: Operations of three operands, of which one may be in the accumulator; of "fma" the first or the last.
_THREE = frozenset(("where", "fma"))
#: Operations that may read registers: some, and of two in one each of some outer ones with each of some inner ones.
ABLE = frozenset(("add", "subtract", "multiply", "divide", "add_multiply", "subtract_multiply"))
#: Times of one vector in the unit for divisions, measured, in those of a step that reads one operand from memory.
_SLOW = {"divide": 7.0, "sqrt": 12.0}


def is_called(op: str) -> bool:
    """Tell whether an operation is a function that is called: it takes nothing from the accumulator."""
    return not any(f"{op}_{form}" in OPCODES for form in ("m", "mm", "mmm"))


@cache
def _roles(names: tuple[str, ...], functions: Collection[str] | None) -> bytes:
    """Return what each operation is to the passes."""
    called = frozenset(filter(is_called, names)) if functions is None else functions
    pairs = [both.partition("_")[::2] for both in ABLE if "_" in both]
    outer, inner = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    kinds: tuple[Collection[str], ...] = (_OUTER, _INNER, _THREE, ("fma",), called, ABLE, outer, inner)
    return bytes(sum(1 << bit for bit, kind in enumerate(kinds) if op in kind) for op in names)


@cache
def _times(names: tuple[str, ...]) -> tuple[float, ...]:
    return tuple([sum(_SLOW.get(part, 0.0) for part in op.split("_")) for op in names])


def select_instructions(
    tape: Tape, outputs: Iterable[Sequence[int]], functions: frozenset[str] | None = None
) -> Selection:
    """Return the steps that compute the given values, in the program's order except for fused operations.

    Parameters
    ----------
    tape : Tape
        A program.
    outputs : iterable of sequence of int
        Values that are wanted.
    functions : frozenset of str, optional
        Operations that take nothing from the accumulator; by default those that have no instruction.

    Returns
    -------
    Selection
    """
    return Selection(tape, outputs, _roles(tape.names, functions))


def empty_steps(names: tuple[str, ...]) -> Steps:
    """Return no steps, to which some may be added by hand."""
    return Steps(names, _roles(names, None))


def schedule(steps: Steps) -> Steps:
    """Return the steps in an order that has divisions run beside other work.

    A list schedule: of the next few chains whose operands are there, one that divides when the
    unit for that is free, else the first one that need not wait for it.
    """
    return ordered(steps, _times(steps.names))
