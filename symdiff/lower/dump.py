"""Programs and loops as text for those who work on the compiler: numbered lines, in the order in which they run."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from ..graph.dump import brief, clip, word
from ..graph.sizes import show

__all__ = ["Listed", "LoopSteps", "Scalars", "loop_lines", "program_lines"]

#: Values of one line that says what is stored, and lines of a ``repr``.
_ROW, _LINES = 8, 30


class Scalars(Protocol):
    """What is printed of a program; see :class:`symdiff.lower.program.Program`."""

    @property
    def inputs(self) -> tuple[Any, ...]:
        """Ports."""

    @property
    def outputs(self) -> tuple[Any, ...]:
        """Ports."""

    @property
    def ops(self) -> tuple[str, ...]:
        """Operations."""

    @property
    def args(self) -> tuple[tuple[int, ...], ...]:
        """Operands."""

    @property
    def consts(self) -> Mapping[int, float]:
        """Numbers."""

    @property
    def stores(self) -> tuple[tuple[int, ...], ...]:
        """Values of each output."""

    @property
    def checks(self) -> tuple[tuple[int, str], ...]:
        """Values that must not be zero."""

    @property
    def wide(self) -> bool:
        """Whether float64 is asked for."""


class LoopSteps(Protocol):
    """What is printed of loops; see :class:`symdiff.lower.loops.plan.Loops`."""

    @property
    def inputs(self) -> tuple[Any, ...]:
        """Nodes."""

    @property
    def outputs(self) -> tuple[Any, ...]:
        """Nodes."""

    @property
    def steps(self) -> tuple[Any, ...]:
        """Loops, and operations on whole arrays."""

    @property
    def checks(self) -> tuple[Any, ...]:
        """Slices."""


def program_lines(program: Scalars) -> Iterator[str]:
    """Give the ports, a line for each value, what is checked, and what is stored."""
    for kind, ports in (("input", program.inputs), ("output", program.outputs)):
        for number, port in enumerate(ports):
            yield f"{kind} {number}: {word(port.name)} {show(port.shape)}"
    if program.wide:
        yield "computed in float64 for inputs of float32 too"
    for i, (op, args) in enumerate(zip(program.ops, program.args, strict=True)):
        if op == "const":
            yield f"v{i} = {program.consts[i]!r}"
        elif op == "load":
            yield f"v{i} = load input {args[0]} [{args[1]}]"
        else:
            yield f"v{i} = {op} {_values(args)}"
    for value, message in program.checks:
        yield f"check v{value}, not 0: {clip(message, 200)}"
    for number, store in enumerate(program.stores):
        for start in range(0, len(store), _ROW):
            yield f"store output {number} [{start}] {_values(store[start : start + _ROW])}"


def _values(numbers: Sequence[int]) -> str:
    return ", ".join([f"v{number}" for number in numbers])


def loop_lines(plan: LoopSteps) -> Iterator[str]:
    """Give each step: its loops, what it reads and writes, and the program of an element."""
    names = {node: word(node.payload) for node in plan.inputs}
    for node in plan.inputs:
        yield f"input {brief(node)}"
    for index, step in enumerate(plan.steps):
        several = hasattr(step, "pieces")
        for k, node in enumerate(step.results if several else (step.result,)):
            names.setdefault(node, f"r{index}" if k == 0 else f"r{index}.{k}")
        if not several:
            yield f"step {index}: array {names[step.result]} = {brief(step.formula)}"
            for node, stand_in in zip(step.operands, step.inputs, strict=True):
                yield f"    {brief(stand_in)} is {names.get(node, brief(node))}"
            continue
        loops = ", ".join([f"i{k}<{word(size)}" for k, size in enumerate(step.loops)]) or "once"
        yield f"step {index}: {'sum' if step.total else 'map'} over {loops}"
        for node, place in zip(step.results, step.places, strict=True):
            yield f"    gives {names[node]}{_place(place)} = {brief(node)}"
        for number, piece in enumerate(step.pieces):
            ends = ", ".join([f"{word(low)}<=i{k}<{word(high)}" for k, (low, high) in enumerate(piece.ranges)])
            yield f"    piece {number}: {ends}"
            for k, port in enumerate(piece.ports):
                yield f"        input {k} is {names.get(port.source, brief(port.source))}{_place(port.access)}"
            yield from (f"        {line}" for line in program_lines(piece.program))
    for item, size in plan.checks:
        yield f"check that {word(item)} fits an axis of size {word(size)}"
    yield f"results: {', '.join([names.get(node, brief(node)) for node in plan.outputs])}"


def _place(access: Iterable[Any]) -> str:
    """Return where an element stands, as an index is written; ``3:+2:n`` are n positions 2 apart."""
    parts = []
    for index in access:
        text = "" if index.start == 0 and index.loop is not None else word(index.start)
        if index.loop is not None:
            step = "" if index.step == 1 else f"{index.step}*"
            text = f"{text}{' + ' if text else ''}{step}i{index.loop}"
        parts.append(text if index.length is None else f"{text}:+{index.step}:{word(index.length)}")
    return f"[{', '.join(parts)}]"


class Listed:
    """What is printed as lines: all of them by ``str``, the first by ``repr``."""

    def lines(self) -> Iterator[str]:
        """Give all lines."""
        raise NotImplementedError

    def text(self) -> str:
        """Return all lines as one text."""
        return "\n".join(self.lines())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        lines = self.lines()
        shown = [clip(line, 200) for line in itertools.islice(lines, _LINES)]
        more = ["… text() has all of it"] if next(lines, None) is not None else []
        return "\n".join([f"<{type(self).__name__}", *(f"  {line}" for line in [*shown, *more])]) + ">"
