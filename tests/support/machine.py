"""A slow, obvious reference implementation of the interpreter, in Python: one number where the machine has a tile."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from symdiff._kernels.interpreter import OPCODES, VECTORS
from symdiff.codegen.bytecode.format import Bytecode
from symdiff.lowering.program import MASK_OPS, SIGNATURES, Program
from tests.support.program_reference import TWINS

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


#: Words of instructions that move something, their opcode included.
MOVES = {
    **{"end": 1, "save": 2, "load": 2, "column": 4, "shared": 4, "to_column": 3, "to_number": 2, "to_sum": 2},
    **{"call1": 4, "lanes1": 4, "call2": 5, "lanes2": 5, "lanes3": 6, "ask_rows": 4, "ask_column": 3},
    **{"library1": 4, "library2": 5, "library3": 6},
    **{"put_b": 1, "put_c": 1, "load_b": 2, "load_c": 2},
}


def length(name: str, words: list[int]) -> int:
    """Return the number of words of an instruction, its opcode included."""
    if name in MOVES:
        return MOVES[name]
    if name.startswith("rows"):
        return 3 + int(name[4:])
    if name == "columns":
        return 2 + 3 * words[1]
    if name == "sums":
        return 3 + words[2]
    return 1 + sum(split(name)[1].count(kind) for kind in "mk")


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
        self.registers: dict[str, float] = {}

    def at(self, operand: int) -> float:
        assert operand % self.tile == 0
        if operand < 0:
            return self.code.numbers[-operand // self.tile - 1]
        assert operand < self.code.workspace
        return self.memory[operand]

    def vector(self, operand: int) -> float:
        assert operand % (self.tile // VECTORS) == 0
        return self.code.vectors[operand // (self.tile // VECTORS)]

    def write(self, operand: int, value: float) -> None:
        assert operand % self.tile == 0
        assert 0 <= operand < self.code.workspace
        self.memory[operand] = value

    def run(self, inputs: list[npt.NDArray[np.float64]]) -> list[npt.NDArray[np.float64]]:
        """Compute the outputs of one sample, of rows."""
        flat = [np.asarray(x, np.float64).ravel() for x in inputs]
        outputs = [np.full(port.size, np.nan) for port in self.program.outputs]
        for name, words in instructions(self.code):
            if name == "end":
                break
            if name.startswith("rows"):
                port, start = words[0], words[1] // 8
                for element, target in enumerate(words[2:]):
                    self.write(target, flat[port][start + element])
                self.registers.clear()
            elif name == "stores":
                self.store(words, outputs)
                self.registers.clear()
            elif name == "to_number":
                outputs[words[0]][0] = self.registers["a"]
            elif name == "save":
                self.write(words[0], self.registers["a"])
            elif name.startswith("put_"):
                self.registers[name[-1]] = self.registers["a"]
            elif name.startswith("load"):
                self.registers[name[5:] or "a"] = self.at(words[0])
            elif name.startswith(("call", "lanes", "library")):
                operation = self.code.functions[words[0]].removeprefix("scipy:").partition(":")[0]
                self.registers = {"a": compute(operation, *map(self.at, words[2:]))}
                self.write(words[1], self.registers["a"])
            elif name != "ask_rows":
                self.registers["a"] = self.operate(name, words)
        return [out.reshape(port.shape) for out, port in zip(outputs, self.program.outputs, strict=True)]

    def operate(self, name: str, words: list[int]) -> float:
        operations, form = split(name)
        rest = iter(words)
        operands: list[float] = []
        for kind in form:
            if kind == "m":
                operands.append(self.at(next(rest)))
            elif kind == "k":
                operands.append(self.vector(next(rest)))
            else:
                operands.append(operands[-1] if kind == "s" else self.registers[kind])
        if len(operations) == 1:
            return compute(operations[0], *operands)
        if form[0] == "a":
            return compute(operations[0], operands[0], compute(operations[1], *operands[1:]))
        assert form[-1] == "a"
        return compute(operations[0], compute(operations[1], *operands[:-1]), operands[-1])

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
    """Compute with the program's own reference functions; a mask is the number 0 or 1 here."""
    kinds = SIGNATURES[operation]
    given = [bool(x) if kind == "mask" else np.float64(x) for x, kind in zip(operands, kinds, strict=True)]
    with np.errstate(all="ignore"):
        result = TWINS[operation](*given)
    return float(bool(result)) if operation in MASK_OPS else float(result)
