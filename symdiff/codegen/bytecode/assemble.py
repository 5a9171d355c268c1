"""From a scalar program to the code of the interpreter (``_kernels/machine/interpreter.h``).

``select.py`` has selected instructions for the accumulator and their order; ``registers.py`` allocates
the other registers. This module decides where in memory all other values are, when inputs are
loaded and results stored, and how instructions are encoded.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence

from ..._kernels.interpreter import OPCODES, VECTORS, registers
from ...ground.gc_pause import paused
from ...lowering.program import Program
from ..c.emit import Target
from ..c.spelling import spelling
from ..row_blocks import Block, Run, load_blocks, split_runs, store_blocks
from .addressing import form_of
from .format import Bytecode
from .prefetch import prefetches, spread
from .registers import allocate_registers
from .select import ACCUMULATOR, Instruction, schedule, select_instructions

__all__ = ["WAITING", "assemble"]

#: Values that wait in memory to be stored together. Rows are written from their beginning to
#: their end where this allows it, which caches and their prefetchers like; but what waits has
#: to fit the cache.
WAITING = 128
#: Steps that inputs may be brought to memory too early.
SHORT = 16
_NOWHERE: dict[int, str] = {}


@paused
def assemble(
    program: Program,
    target: Target,
    *,
    reduce: bool = False,
    columns: bool = False,
    single: bool = False,
    constant: Sequence[bool] = (),
    brief: bool = False,
) -> Bytecode:
    """Write ``program`` for the interpreter.

    Parameters
    ----------
    program : Program
    target : Target
        The machine that will run it.
    reduce, columns, single, constant
        As in :func:`symdiff.codegen.c.emit.emit_c`.
    brief : bool
        Write in less time code that takes more, as for what native code replaces soon: steps in
        the order of the program, and no values in registers.

    Returns
    -------
    Bytecode
    """
    writer = _Assembler(program, target, reduce, columns, single, constant, brief)
    writer.write()
    return Bytecode(
        tuple([word for instruction in writer.instructions for word in instruction]),
        tuple([struct.unpack("d", key)[0] for key in writer.numbers]),
        tuple([struct.unpack("d", key)[0] for key in writer.vectors]),
        tuple([x for key in writer.rows for x in struct.unpack("8d", key)]),
        tuple(writer.functions),
        tuple([writer.bring(v) for v in writer.checks]),
        writer.lanes,
        writer.tiles * writer.tile,
    )


class _Assembler:
    """One program on its way into bytecode."""

    def __init__(
        self,
        program: Program,
        target: Target,
        reduce: bool,
        columns: bool,
        single: bool,
        constant: Sequence[bool],
        brief: bool,
    ) -> None:
        self.program, self.target, self.reduce, self.columns, self.single = program, target, reduce, columns, single
        self.constant = [*constant] or [False] * len(program.inputs)
        self.lanes = target.lanes * (2 if single else 1)
        self.item = 4 if single else 8
        #: Bytes of a tile.
        self.tile = VECTORS * self.lanes * self.item
        self.instructions: list[tuple[int, ...]] = []
        self.numbers: dict[bytes, int] = {}
        self.vectors: dict[bytes, int] = {}
        self.rows: dict[bytes, int] = {}
        self.functions: dict[str, int] = {}
        #: The instruction and the number of each operation that is called.
        self.spelled: dict[str, tuple[str, int]] = {}
        self.free: list[int] = []
        self.tiles = 0
        #: The operand of each value that is in memory.
        self.place: dict[int, int] = {}

        # What is loaded twice is one value.
        first: dict[tuple[int, ...], int] = {}
        ops, args = tuple(program.ops), tuple(program.args)
        again: dict[int, int] = {}
        for i, op in enumerate(ops):
            if op == "load" and first.setdefault(args[i], i) != i:
                again[i] = first[args[i]]
        if again:
            pairs = zip(ops, args, strict=True)
            args = tuple([a if op == "load" else tuple([again.get(v, v) for v in a]) for op, a in pairs])
        self.outputs = [tuple([again.get(v, v) for v in values]) for values in program.stores]
        self.checks = [again.get(v, v) for v, _ in program.checks]
        wanted = {v for values in self.outputs for v in values} | set(self.checks)
        calls = {op for op in {*ops} if not any(f"{op}_{form}" in OPCODES for form in ("m", "mm", "mmm"))}
        steps = select_instructions(ops, args, wanted, calls)
        self.steps = steps if brief else schedule(steps)
        self.registers = 0 if brief else registers(self.lanes, self.single)
        self.calls = [step.name in calls for step in self.steps]

        self._plan_loads(args, wanted)
        self._plan_stores()
        self._plan_registers()

    # ---------------------------------------------------------------------------- what happens when

    def _plan_loads(self, args: Sequence[tuple[int, ...]], wanted: set[int]) -> None:
        """Find the block that brings each input, and the step that it is brought before."""
        read = wanted.copy()
        for step in self.steps:
            read.update(step.reads)
        elements: dict[int, dict[int, int]] = {}
        for i, op in enumerate(self.program.ops):
            if op == "load" and i in read:
                port, element = args[i]
                elements.setdefault(port, {})[element] = i
        #: The block of each value that is loaded.
        self.loads = {
            v: block
            for port, values in elements.items()
            for block in load_blocks(values, port, self.program.inputs[port].size, self.columns or self.constant[port])
            for v in block.values
            if v >= 0
        }
        #: Blocks that are loaded before a step.
        self.before: dict[int, list[Block]] = {}
        seen: set[Block] = set()
        begin = 0
        for t, step in enumerate(self.steps):
            if ACCUMULATOR not in step.args:
                begin = t
            for v in step.reads:
                block = self.loads.get(v)
                if block is not None and block not in seen:
                    seen.add(block)
                    # before a chain, if it is short: what is in the accumulator would have to be kept
                    self.before.setdefault(begin if t - begin <= SHORT else t, []).append(block)

    def _plan_stores(self) -> None:
        """Find what goes to an output from the accumulator, and the blocks that are stored after each step."""
        made = {step.value: t for t, step in enumerate(self.steps)}
        #: For values in the accumulator, the instructions that store them.
        self.direct: dict[int, list[tuple[int, ...]]] = {}
        #: Runs of constants in outputs, and the outputs they are in.
        self.runs: list[tuple[int, Run]] = []
        blocks: list[Block] = []
        outputs = self.outputs
        if self.reduce:
            outputs = [tuple([v for values in outputs for v in values])]
        for port, values in enumerate(outputs):
            one_by_one = self.reduce or self.columns or len(values) == 1
            runs, rest = ([], None) if self.reduce else split_runs(values, self.program.consts)
            self.runs += [(port, run) for run in runs]
            for block in store_blocks(values, port, one_by_one, rest):
                v = block.values[0]
                if self.reduce and self.program.consts.get(v) == 0.0:
                    continue  # sums begin with 0, to which a 0 adds nothing
                if not one_by_one or v not in made:
                    blocks.append(block)
                elif self.reduce:
                    self.direct.setdefault(v, []).append((OPCODES["to_sum"], block.start))
                elif len(values) == 1:
                    self.direct.setdefault(v, []).append((OPCODES["to_number"], port))
                else:
                    self.direct.setdefault(v, []).append((OPCODES["to_column"], port, block.start))
        ready: dict[int, list[Block]] = {}
        last = len(self.steps) - 1
        for block in blocks:
            # what is not computed is stored as far into the steps as it stands in the program; -1 is before all
            times = [made.get(v, min(v * last // len(self.program.ops), last)) for v in block.values]
            ready.setdefault(max(times), []).append(block)
        #: Blocks that are stored after a step.
        self.after: dict[int, list[Block]] = {}
        waiting: list[Block] = []
        different: set[int] = set()
        for t in sorted(ready):
            for block in ready[t]:
                waiting.append(block)
                different.update(block.values)
                if len(different) >= WAITING:
                    self.after[t] = self.after.get(t, []) + waiting
                    waiting, different = [], set()
        self.after[last] = self.after.get(last, []) + waiting

    def _plan_registers(self) -> None:
        """Choose what stays in registers, and count how often each value is read from memory."""
        barriers = {t - 0.6 for t, blocks in self.before.items() if not all(self._is_column(b.port) for b in blocks)}
        barriers |= {t - 0.1 for t, call in enumerate(self.calls) if call} | {t + 0.1 for t in self.after}
        stored = [v for blocks in self.after.values() for block in blocks for v in dict.fromkeys(block.values)]
        called = [step.value for step, call in zip(self.steps, self.calls, strict=True) if call]
        kept = {*stored, *called, *self.checks}
        consts = self.program.consts
        self.stays = allocate_registers(self.steps, self.registers, kept, consts.keys(), sorted(barriers))
        #: For each step the registers of what it reads there.
        self.held: dict[int, dict[int, str]] = {}
        for (t, v), register in self.stays.reads.items():
            self.held.setdefault(t, {})[v] = register
        #: How often each value will be read from memory.
        self.uses: dict[int, int] = {}
        for v in (*stored, *self.checks):
            self.uses[v] = self.uses.get(v, 0) + 1
        for t, step in enumerate(self.steps):
            held = self.held.get(t, _NOWHERE)
            for v in step.reads:
                if v not in consts and v not in held:
                    self.uses[v] = self.uses.get(v, 0) + 1
        for loads in self.stays.loads.values():
            for _, v in loads:
                self.uses[v] = self.uses.get(v, 0) + 1

    def _is_column(self, port: int) -> bool:
        return self.constant[port] or (self.columns and self.program.inputs[port].size > 1)

    # ---------------------------------------------------------------------------- writing

    def write(self) -> None:
        """Write everything."""
        save, loads, puts, uses = OPCODES["save"], self.stays.loads, self.stays.puts, self.uses
        for t, step in enumerate(self.steps):
            if t in self.before:
                self._keeping(t, self.before[t], self._load_all)
            if t in loads:
                for register, v in loads[t]:
                    self._emit(f"load_{register}", self.place[v])
                    self._read(v)
            if self.calls[t]:
                self._call(step)
            else:
                self._operate(t, step)
            v = step.value
            if v in uses and v not in self.place:
                self.place[v] = place = self._room()
                self.instructions.append((save, place))
            if t in puts:
                for register in puts[t]:
                    self._emit(f"put_{register}")
            if v in self.direct:
                self.instructions += self.direct[v]
            if t in self.after:
                self._keeping(t + 1, self.after[t], self._store)
        if not self.steps:
            self._store(self.after[-1])
        self._fill()
        for v in self.checks:
            self.bring(v)
        self.instructions = spread(self.instructions, self._prefetches())
        self._emit("end")

    def _keeping(self, t: int, blocks: list[Block], move: Callable[[list[Block]], None]) -> None:
        """Move blocks, and keep what step ``t`` reads in the accumulator, which moves overwrite."""
        if not blocks:
            return
        if t == len(self.steps) or ACCUMULATOR not in self.steps[t].args:
            move(blocks)
            return
        held = self.steps[t - 1].value
        here = self.place.get(held, -1)
        place = here if here >= 0 else self._room()
        if here < 0:
            self._emit("save", place)
        move(blocks)
        self._emit("load", place)
        if here < 0:
            self.free.append(place)

    def _operate(self, t: int, step: Instruction) -> None:
        """Write an operation, or two in one, on operands wherever they are."""
        args, consts, held = step.args, self.program.consts, self.held.get(t, _NOWHERE)
        kinds = ""
        for v in args:
            kinds += "a" if v == ACCUMULATOR else held.get(v, "n" if v in consts else "m")
        twice = len(args) > 1 and len({*args}) < len(args)
        opcode, order = form_of(step.name, kinds, tuple([args.index(v) for v in args]) if twice else ())
        words = [opcode]
        place, uses = self.place, self.uses
        for k, is_vector in order:
            v = args[k]
            words.append(self._vector(consts[v]) if is_vector else place[v] if v in place else self.bring(v))
        for v in step.reads:
            if v not in held and v not in consts:
                left = uses[v] = uses[v] - 1
                if not left:
                    self.free.append(place.pop(v))
        self.instructions.append(tuple(words))

    def _call(self, step: Instruction) -> None:
        """Write the call of a function, which goes from memory to memory."""
        op = step.name
        known = self.spelled.get(op)
        if known is None:
            spelled = spelling(op, self.lanes, self.target.prefix, self.target.vector_math, self.single)
            number = self.functions.setdefault(spelled.pointer or spelled.own or op, len(self.functions))
            means = "call" if spelled.symbol or spelled.own else "library" if spelled.library else "lanes"
            known = self.spelled[op] = f"{means}{len(step.args)}", number
        operands = [self.bring(v) for v in step.args]
        for v in step.reads:
            self._read(v)
        place = self.place[step.value] = self._room()
        self._emit(known[0], known[1], place, *operands)
        if step.value not in self.uses:
            self.free.append(self.place.pop(step.value))

    # ---------------------------------------------------------------------------- values in memory

    def bring(self, v: int) -> int:
        """Return where in memory a value is; bring it there if it is an input or a number."""
        if v not in self.place:
            if v in self.loads:
                self._load(self.loads[v])
            else:
                return self._number(self.program.consts[v])
        return self.place[v]

    def _load_all(self, blocks: list[Block]) -> None:
        for block in blocks:
            self._load(block)

    def _load(self, block: Block) -> None:
        for v in block.values:
            if v >= 0:
                self.place[v] = self._room()
        port, start, values = block.port, block.start, block.values
        if self.constant[port]:
            self._emit("shared", port, self.item * start, self.place[values[0]])
        elif self._is_column(port):
            self._emit("column", port, start, self.place[values[0]])
        else:
            spare = [self._room()] if -1 in values else []
            targets = [self.place[v] if v >= 0 else spare[0] for v in values]
            self._emit(f"rows{len(values)}", port, self.item * start, *targets)
            self.free += spare

    def _read(self, v: int) -> None:
        """Count a value as read once, and give up its room when nobody wants it any more."""
        if v not in self.program.consts:
            self.uses[v] -= 1
            if not self.uses[v]:
                self.free.append(self.place.pop(v))

    def _room(self) -> int:
        if self.free:
            return self.free.pop()
        self.tiles += 1
        return (self.tiles - 1) * self.tile

    def _number(self, x: float) -> int:
        key = struct.pack("d", x)
        return -self.tile * (self.numbers.setdefault(key, len(self.numbers)) + 1)

    def _vector(self, x: float) -> int:
        key = struct.pack("d", x)
        return self.tile // VECTORS * self.vectors.setdefault(key, len(self.vectors))

    # ---------------------------------------------------------------------------- outputs

    def _store(self, blocks: list[Block]) -> None:
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
            operands = [self.bring(v) for v in block.values]
            if self.reduce:
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
                self._read(v)

    def _fill(self) -> None:
        """Fill runs of constants: columns one by one, rows by eight, of which the last may overlap others."""
        consts = self.program.consts
        rows: list[int] = []
        for port, run in self.runs:
            if self.columns:
                number = self._number(consts[run.value])
                self._emit("fill_columns", port, run.start, run.stop - run.start, number)
                continue
            row = self.rows.setdefault(struct.pack("8d", *[consts[run.value]] * 8), len(self.rows))
            rows += 0, port, self.item * run.start, (run.stop - run.start) // 8, row
            if (run.stop - run.start) % 8:
                rows += 0, port, self.item * (run.stop - 8), 1, row
        if rows:
            self._emit("stores", len(rows) // 5, *rows)

    def _row(self, block: Block) -> int:
        """Return the number of the row of constants that a block is, or -1."""
        consts = self.program.consts
        if self.reduce or len(block.values) < 8 or not all(v in consts for v in block.values):
            return -1
        return self.rows.setdefault(struct.pack("8d", *(consts[v] for v in block.values)), len(self.rows))

    def _prefetches(self) -> Iterator[tuple[int, ...]]:
        """Give the prefetches of what is loaded, and of what is stored one by one."""
        used: dict[int, set[int]] = {}
        for block in self.loads.values():
            if not self.constant[block.port]:
                used.setdefault(block.port, set()).update(range(block.start, block.start + len(block.values)))
        if not self.reduce:
            for port, values in enumerate(self.outputs):
                # rows of constants are long and written as they come
                used[~port] = {e for e, v in enumerate(values) if v not in self.program.consts}
        for port, elements in used.items():
            size = (self.program.inputs[port] if port >= 0 else self.program.outputs[~port]).size
            yield from prefetches(port, elements, size, self.item, self.lanes, self.columns and size > 1)

    def _emit(self, name: str, *operands: int) -> None:
        self.instructions.append((OPCODES[name], *operands))
