"""Programs as text for those who work on the compiler: numbered lines, in the order in which they run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from ..graph.dump import clip, word
from ..graph.sizes import show

__all__ = ["Listed", "Scalars", "program_lines"]

#: Values of one line that says what is stored, and lines of a ``repr``.
_ROW, _LINES = 8, 30


class Scalars(Protocol):
    """What is printed of a program; see :class:`symdiff.lowering.program.Program`."""

    @property
    def inputs(self) -> tuple[Any, ...]:
        """Ports."""

    @property
    def outputs(self) -> tuple[Any, ...]:
        """Ports."""

    @property
    def ops(self) -> Sequence[str]:
        """Operations."""

    @property
    def args(self) -> Sequence[tuple[int, ...]]:
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
