"""A slow, obvious twin of the embedded interpreter, in Python: one number where the machine has a tile."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from symdiff._kernels.interpreter import OPCODES, VECTORS
from symdiff.bytecode import Bytecode
from symdiff.program import MASK_OPS, SIGNATURES, Program
from symdiff.twin import TWINS

NAMES = {number: name for name, number in OPCODES.items()}
Instruction = tuple[str, list[int]]


def instructions(code: Bytecode) -> Iterator[Instruction]:
    """Take the words of a program apart."""
    words = list(code.code)
    at = 0
    while at < len(words):
        name = NAMES[words[at]]
        if name == "stores":
            end = at + 2
            for _ in range(words[at + 1]):
                end += 3 + (words[end] or 2)
        else:
            end = at + length(name, words[at:])
        yield name, words[at + 1 : end]
        at = end


def length(name: str, words: list[int]) -> int:
    """Return the number of words of an instruction, its opcode included."""
    fixed = {"end": 1, "load": 2, "save": 2, "column": 4, "shared": 4, "call1": 4, "lanes1": 4, "call2": 5, "lanes2": 5}
    if name in fixed:
        return fixed[name]
    if name == "rows":
        return 4 + words[1]
    if name == "columns":
        return 2 + 3 * words[1]
    if name == "sums":
        return 3 + words[2]
    operation, form = split(name)
    return 3 if len(operation) == 2 else 1 + form.count("m")


def split(name: str) -> tuple[tuple[str, ...], str]:
    """Return the operation or the two operations of an instruction, and its form."""
    stem, _, form = name.rpartition("_")
    if stem in SIGNATURES:
        return (stem,), form
    outer, _, inner = stem.partition("_")
    return (outer, inner), form


class Machine:
    """Runs bytecode on one sample, and watches that nothing is read that was not written."""

    def __init__(self, program: Program, code: Bytecode) -> None:
        self.program, self.code = program, code
        self.tile = VECTORS * code.lanes * 8
        self.memory: dict[int, float] = {}
        self.held: float | None = None

    def at(self, operand: int) -> float:
        assert operand % self.tile == 0
        if operand < 0:
            return self.code.numbers[-operand // self.tile - 1]
        assert operand < self.code.workspace
        return self.memory[operand]

    def write(self, operand: int, value: float) -> None:
        assert operand % self.tile == 0
        assert 0 <= operand < self.code.workspace
        self.memory[operand] = value

    def accumulator(self) -> float:
        assert self.held is not None
        return self.held

    def run(self, inputs: list[npt.NDArray[np.float64]]) -> list[npt.NDArray[np.float64]]:
        """Compute the outputs of one sample, of rows."""
        flat = [np.asarray(x, np.float64).ravel() for x in inputs]
        outputs = [np.full(port.size, np.nan) for port in self.program.outputs]
        for name, words in instructions(self.code):
            if name == "end":
                break
            if name == "rows":
                width, port, start = words[0], words[1], words[2] // 8
                for element, target in enumerate(words[3:]):
                    self.write(target, flat[port][start + element])
                assert len(words) == 3 + width
            elif name == "stores":
                self.store(words, outputs)
            elif name == "save":
                self.write(words[0], self.accumulator())
            elif name == "load":
                self.held = self.at(words[0])
            elif name.startswith(("call", "lanes")):
                operation = self.code.functions[words[0]]
                self.held = compute(operation, *map(self.at, words[2:]))
                self.write(words[1], self.held)
            else:
                self.held = self.operate(name, words)
        return [out.reshape(port.shape) for out, port in zip(outputs, self.program.outputs, strict=True)]

    def operate(self, name: str, words: list[int]) -> float:
        operations, form = split(name)
        operands = [self.at(word) for word in words]
        if len(operations) == 2:
            inner = compute(operations[1], *operands)
            pair = (self.accumulator(), inner) if form == "am" else (inner, self.accumulator())
            return compute(operations[0], *pair)
        return compute(operations[0], *(self.accumulator() if kind == "a" else operands.pop(0) for kind in form))

    def store(self, words: list[int], outputs: list[npt.NDArray[np.float64]]) -> None:
        rest = words[1:]
        while rest:
            width, port, start = rest[0], rest[1], rest[2] // 8
            if width:
                values, rest = [self.at(word) for word in rest[3 : 3 + width]], rest[3 + width :]
            else:
                row = self.code.rows[8 * rest[4] : 8 * rest[4] + 8]
                values, rest = list(row) * rest[3], rest[5:]
            outputs[port][start : start + len(values)] = values


def compute(operation: str, *operands: float) -> float:
    """Compute with the program's own twins; a mask is the number 0 or 1 here."""
    kinds = SIGNATURES[operation]
    given = [bool(x) if kind == "mask" else np.float64(x) for x, kind in zip(operands, kinds, strict=True)]
    with np.errstate(all="ignore"):
        result = TWINS[operation](*given)
    return float(bool(result)) if operation in MASK_OPS else float(result)
