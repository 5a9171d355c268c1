"""From a scalar program to the code of the embedded interpreter (``_kernels/interpreter.h``).

The machine has one accumulator, a tile of samples wide, and tiles in memory. Writing code for it
is deciding what stays in the accumulator: a value goes to memory only if something else needs
the accumulator while the value is still wanted. Sums of products, which are most of linear
algebra, therefore hardly touch memory: a product or sum that is wanted once is not computed where
it stands but together with the operation that takes it. What is done to the numbers is exactly
what generated C does, operation by operation.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ._kernels.interpreter import OPCODES, VECTORS
from .codegen.c import Target
from .codegen.operations import spelling
from .program import Program

__all__ = ["WAITING", "Bytecode", "assemble"]

#: Values that wait in memory to be stored together. Rows are written from their beginning to
#: their end where this allows it, which caches and their prefetchers like; but what waits has
#: to fit the cache.
WAITING = 128
#: Operations whose first two operands may change places.
_SYMMETRIC = frozenset(("add", "multiply", "equal", "not_equal", "logical_and", "logical_or", "fma"))
#: Operations that take another one's result along in one instruction, and those they take along.
_OUTER = frozenset(("add", "subtract", "multiply", "divide"))
_INNER = frozenset(("add", "subtract", "multiply"))


@dataclass(frozen=True)
class Bytecode:
    """Code for the embedded interpreter.

    Parameters
    ----------
    code : tuple of int
        Instructions: an opcode, then operands. Operands are distances in bytes from the
        workspace, or below 0 from the end of the numbers.
    numbers : tuple of float
        The constants, the last one first in memory: number ``k`` is ``k + 1`` tiles before the end.
    rows : tuple of float
        Rows of eight constants that are stored as they are, one after another.
    functions : tuple of str
        Functions called, by their names in the vector library, or the operation's own name
        where that lacks them.
    checks : tuple of int
        Operands that must not be zero.
    lanes : int
        Numbers in one vector.
    workspace : int
        Bytes.
    """

    code: tuple[int, ...]
    numbers: tuple[float, ...]
    rows: tuple[float, ...]
    functions: tuple[str, ...]
    checks: tuple[int, ...]
    lanes: int
    workspace: int


def assemble(
    program: Program,
    target: Target,
    *,
    reduce: bool = False,
    columns: bool = False,
    single: bool = False,
    constant: Sequence[bool] = (),
) -> Bytecode:
    """Write ``program`` for the interpreter.

    Parameters
    ----------
    program : Program
    target : Target
        The machine that will run it.
    reduce, columns, single, constant
        As in :func:`symdiff.codegen.c.emit_c`.

    Returns
    -------
    Bytecode
    """
    writer = _Assembler(program, target, reduce, columns, single, constant)
    writer.write()
    return Bytecode(
        tuple(writer.code),
        tuple([struct.unpack("d", key)[0] for key in writer.numbers]),
        tuple([x for key in writer.rows for x in struct.unpack("8d", key)]),
        tuple(writer.functions),
        tuple([writer.operand(v) for v in writer.checks]),
        writer.lanes,
        writer.registers * writer.tile,
    )


@dataclass(frozen=True)
class _Block:
    """Values stored side by side: the first one's element, and up to eight values. Port -1 is the column of sums."""

    port: int
    start: int
    values: tuple[int, ...]


class _Assembler:
    """One program on its way into bytecode."""

    def __init__(
        self, program: Program, target: Target, reduce: bool, columns: bool, single: bool, constant: Sequence[bool]
    ) -> None:
        self.program, self.target, self.columns, self.single = program, target, columns, single
        self.constant = [*constant] or [False] * len(program.inputs)
        self.lanes = target.lanes * (2 if single else 1)
        self.item = 4 if single else 8
        #: Bytes of a tile.
        self.tile = VECTORS * self.lanes * self.item
        self.code: list[int] = []
        self.numbers: dict[bytes, int] = {}
        self.rows: dict[bytes, int] = {}
        self.functions: dict[str, int] = {}
        self.free: list[int] = []
        self.registers = 0
        #: The value in the accumulator, or -1.
        self.held = -1
        #: The operand of each value that is in memory; numbers always are.
        self.place = {i: self._number(x) for i, x in program.consts.items()}
        #: Values that will be computed together with the operation that reads them.
        self.delayed: set[int] = set()

        # What is loaded twice is one value.
        first: dict[tuple[int, ...], int] = {}
        pairs = list(enumerate(zip(program.ops, program.args, strict=True)))
        same = [first.setdefault(a, i) if op == "load" else i for i, (op, a) in pairs]
        self.args = [a if op == "load" else tuple([same[v] for v in a]) for _, (op, a) in pairs]
        self.stores = [tuple([same[v] for v in values]) for values in program.stores]
        self.checks = [same[v] for v, _ in program.checks]
        self.blocks: list[_Block] = list(self._sums() if reduce else self._stores())
        self._count_uses()
        self.loads: dict[int, tuple[int, int, list[int]]] = {}
        self._plan_loads()

    def _count_uses(self) -> None:
        """Count how often each value is read, by what is computed at all."""
        self.uses = [0] * len(self.args)
        #: The last operation that reads a value; -1 where something else does too.
        self.reader = [-1] * len(self.args)
        for block in self.blocks:
            for v in dict.fromkeys(block.values):
                self.uses[v] += 1
        for v in self.checks:
            self.uses[v] += 1
        for i in range(len(self.args) - 1, -1, -1):
            if self.uses[i] and self.program.ops[i] != "load":
                for v in self.args[i]:
                    self.reader[v] = i if self.uses[v] == 0 else -1
                    self.uses[v] += 1

    def _plan_loads(self) -> None:
        """Find, for each loaded value, the block that brings it: port, start, and what each element is, or -1."""
        wanted: dict[int, dict[int, int]] = {}
        for i, op in enumerate(self.program.ops):
            if op == "load" and self.uses[i]:
                port, element = self.args[i]
                wanted.setdefault(port, {})[element] = i
        for port, elements in wanted.items():
            if self.columns or self.constant[port]:
                self.loads |= {v: (port, e, [v]) for e, v in elements.items()}
                continue
            covered = -1
            size = self.program.inputs[port].size
            for e in sorted(elements):
                if e <= covered:
                    continue
                ahead = sum(k in elements for k in range(e, min(e + 8, size)))
                # rows of three have a way of their own
                width = 3 if size == 3 else next(w for w in (1, 2, 4, 8) if w >= ahead or 2 * w > size)
                start = min(e, size - width)
                covered = start + width - 1
                values = [elements.get(k, -1) if k >= e else -1 for k in range(start, start + width)]
                for v in values:
                    if v >= 0:
                        self.loads[v] = port, start, values

    def _stores(self) -> Iterator[_Block]:
        """Cover the outputs' rows by blocks of 8, 4, 2 and 1, or 3 that are a row; the last may overlap another."""
        for port, values in enumerate(self.stores):
            done = 0
            for width in (1,) if self.columns else (3,) if len(values) == 3 else (8, 4, 2, 1):
                while len(values) - done >= width or (0 < len(values) - done > width // 2 and len(values) >= width > 1):
                    start = min(done, len(values) - width)
                    yield _Block(port, start, values[start : start + width])
                    done = start + width

    def _sums(self) -> Iterator[_Block]:
        """Put the outputs one after another, as the column of sums has them."""
        values = [v for store in self.stores for v in store]
        for start in range(0, len(values), 8):
            yield _Block(-1, start, tuple(values[start : start + 8]))

    # ---------------------------------------------------------------------------- the walk

    def write(self) -> None:
        """Write everything."""
        ready: dict[int, list[_Block]] = {}
        for block in self.blocks:
            ready.setdefault(max(block.values), []).append(block)
        waiting: list[_Block] = []
        values: set[int] = set()
        for i, op in enumerate(self.program.ops):
            if op not in ("load", "const") and self.uses[i]:
                if self._can_wait(i):
                    self.delayed.add(i)
                else:
                    self._compute(i)
            for block in ready.get(i, ()):
                waiting.append(block)
                values.update(block.values)
                if len(values) >= WAITING:
                    self._store(waiting)
                    waiting, values = [], set()
        self._store(waiting)
        for v in self.checks:
            self.operand(v)
        self._emit("end")

    def _can_wait(self, i: int) -> bool:
        """Whether a value is wanted once, by an operation that takes it along."""
        ops, reader = self.program.ops, self.reader[i]
        return (
            reader >= 0
            and ops[i] in _INNER
            and ops[reader] in _OUTER
            and not any(v in self.delayed for v in self.args[i])
        )

    def _compute(self, i: int) -> None:
        """Write the code that brings value ``i`` into the accumulator."""
        op, args = self.program.ops[i], self.args[i]
        if op in _OUTER:
            late = [v for v in args if v in self.delayed]
            if len(late) == 2:
                # the one that needs what is in the accumulator now comes first
                first = late[1] if self.held in self.args[late[1]] else late[0]
                self._compute_late(first)
                late.remove(first)
            if late and self.held in args and self.held not in self.args[late[0]]:
                self._compute_pair(i, late[0])
                return
        for v in args:
            if v in self.delayed:
                self._compute_late(v)
        if f"{op}_m" in OPCODES or f"{op}_mm" in OPCODES or f"{op}_mmm" in OPCODES:
            self._compute_simple(i, op, args)
        else:
            self._call(i, op, args)

    def _compute_late(self, i: int) -> None:
        self.delayed.remove(i)
        self._compute(i)

    def _compute_pair(self, i: int, inner: int) -> None:
        """Write an operation on the accumulator and the result of another one on values in memory."""
        self.delayed.remove(inner)
        form = "ma" if self.args[i][0] == inner else "am"
        operands = [self.operand(v) for v in self.args[inner]]
        self._release((self.held, *self.args[inner]), i)
        self._emit(f"{self.program.ops[i]}_{self.program.ops[inner]}_{form}", *operands)

    def _compute_simple(self, i: int, op: str, args: tuple[int, ...]) -> None:
        """Write an operation whose operands may be the accumulator or in memory."""
        if op in _SYMMETRIC and args[1] == self.held:
            args = (args[1], args[0], *args[2:])
        form = "".join("a" if v == self.held else "m" for v in args)
        if f"{op}_{form}" not in OPCODES:
            form = "m" * len(args)
        operands = [self.operand(v) for v, kind in zip(args, form, strict=True) if kind == "m"]
        self._release(args, i)
        self._emit(f"{op}_{form}", *operands)

    def _call(self, i: int, op: str, args: tuple[int, ...]) -> None:
        """Write the call of a function, which goes from memory to memory."""
        symbol = spelling(op, self.lanes, self.target.prefix, self.target.vector_math, self.single).symbol
        number = self.functions.setdefault(symbol or op, len(self.functions))
        operands = [self.operand(v) for v in args]
        self._release(args, i)
        self.place[i] = self._room()
        self._emit(f"{'call' if symbol else 'lanes'}{len(args)}", number, self.place[i], *operands)

    # ---------------------------------------------------------------------------- values in memory

    def operand(self, v: int) -> int:
        """Return where a value is in memory; bring it there if it is not."""
        if v not in self.place:
            if v in self.loads:
                self._load(*self.loads[v])
            else:
                assert v == self.held, "a value that is neither in memory nor in the accumulator"
                self.place[v] = self._room()
                self._emit("save", self.place[v])
        return self.place[v]

    def _load(self, port: int, start: int, values: list[int]) -> None:
        spare = [self._room()] if -1 in values else []
        for v in values:
            if v >= 0:
                self.place[v] = self._room()
        if self.constant[port]:
            self._emit("shared", port, self.item * start, self.place[values[0]])
        elif self.columns and self.program.inputs[port].size > 1:
            self._emit("column", port, start, self.place[values[0]])
        else:
            targets = [self.place[v] if v >= 0 else spare[0] for v in values]
            self._emit("rows", len(values), port, self.item * start, *targets)
        self.free += spare

    def _release(self, read: Iterable[int], result: int) -> None:
        """Count ``read`` as read once each; put what the accumulator still holds for others into memory."""
        for v in read:
            self.uses[v] -= 1
        if self.held >= 0 and self.uses[self.held]:
            self.operand(self.held)
        for v in read:
            self._forget(v)
        self.held = result

    def _forget(self, v: int) -> None:
        """Give up the room of a value nobody wants any more."""
        if not self.uses[v] and self.place.get(v, -1) >= 0:
            self.free.append(self.place.pop(v))

    def _room(self) -> int:
        if self.free:
            return self.free.pop()
        self.registers += 1
        return (self.registers - 1) * self.tile

    def _number(self, x: float) -> int:
        key = struct.pack("d", x)
        return -self.tile * (self.numbers.setdefault(key, len(self.numbers)) + 1)

    # ---------------------------------------------------------------------------- outputs

    def _store(self, blocks: list[_Block]) -> None:
        """Write values to the outputs, one row after another, each from its beginning on."""
        rows: list[list[int]] = []
        columns: list[int] = []
        fill = (-1, -1, -1)
        for block in sorted(blocks, key=lambda b: (b.port, b.start)):
            row = self._row(block)
            if row >= 0:
                if fill == (block.port, block.start, row):
                    rows[-1][3] += 1
                else:
                    rows.append([0, block.port, self.item * block.start, 1, row])
                fill = block.port, block.start + 8, row
                continue
            operands = [self.operand(v) for v in block.values]
            if block.port < 0:
                self._emit("sums", block.start, len(operands), *operands)
            elif self.columns and self.program.outputs[block.port].size > 1:
                columns += block.port, block.start, operands[0]
            else:
                rows.append([len(operands), block.port, self.item * block.start, *operands])
        if rows:
            self._emit("stores", len(rows), *(word for row in rows for word in row))
        if columns:
            self._emit("columns", len(columns) // 3, *columns)
        for block in blocks:
            for v in dict.fromkeys(block.values):
                self.uses[v] -= 1
                self._forget(v)

    def _row(self, block: _Block) -> int:
        """Return the number of the row of constants that a block is, or -1."""
        consts = self.program.consts
        if block.port < 0 or len(block.values) < 8 or not all(v in consts for v in block.values):
            return -1
        return self.rows.setdefault(struct.pack("8d", *(consts[v] for v in block.values)), len(self.rows))

    def _emit(self, name: str, *operands: int) -> None:
        self.code += (OPCODES[name], *operands)
