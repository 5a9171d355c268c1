"""A recorder of scalar programs, so that tests can write them by hand."""

from __future__ import annotations

import math

from symdiff.lowering.program import Port, Program


class Tape:
    """Records operations; every method returns the number of a value."""

    def __init__(self, *inputs: tuple[str, tuple[int, ...]]) -> None:
        self.inputs = [Port(name, shape, math.prod(shape)) for name, shape in inputs]
        self.outputs: list[Port] = []
        self.ops: list[str] = []
        self.args: list[tuple[int, ...]] = []
        self.consts: dict[int, float] = {}
        self.stores: list[tuple[int, ...]] = []
        self.checks: list[tuple[int, str]] = []

    def op(self, name: str, *args: int) -> int:
        self.ops.append(name)
        self.args.append(args)
        return len(self.ops) - 1

    def const(self, x: float) -> int:
        self.consts[len(self.ops)] = x
        return self.op("const")

    def mask(self, value: int) -> int:
        """Record whether a value is not 0."""
        return self.op("not_equal", value, self.const(0.0))

    def load(self, port: int, element: int = 0) -> int:
        return self.op("load", port, element)

    def row(self, port: int) -> list[int]:
        return [self.load(port, e) for e in range(self.inputs[port].size)]

    def check(self, value: int, message: str) -> None:
        self.checks.append((value, message))

    def out(self, shape: tuple[int, ...], values: list[int]) -> None:
        self.outputs.append(Port(f"out{len(self.outputs)}", shape, math.prod(shape)))
        self.stores.append(tuple(values))

    def program(self) -> Program:
        made = Program(
            tuple(self.inputs),
            tuple(self.outputs),
            tuple(self.ops),
            tuple(self.args),
            dict(self.consts),
            tuple(self.stores),
            tuple(self.checks),
        )
        made.validate()
        return made
