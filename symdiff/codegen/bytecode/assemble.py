"""From a scalar program to the code of the interpreter (``_kernels/machine/interpreter.h``).

Instructions are selected and ordered for a machine with one accumulator. The result of a step stays there for the next
one, and such steps are a chain. A product or sum with a single use is computed together with its consumer, so sums of
products, which are most of linear algebra, hardly touch memory. List scheduling orders the chains so that divisions,
which occupy a unit of their own for long, run beside other work. The operations on numbers are exactly those of
generated C.

This module says what each operation is to these passes, which form an instruction has (operands in registers, in
memory or numbers), and when inputs are loaded, results stored and later tiles prefetched. The passes over every step
(registers, places in memory, words) are compiled and work on arrays (``_kernels/programs``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache

from ..._kernels.interpreter import LINE, LINES, OPCODES, VECTORS, registers
from ..._kernels.programs.steps import Selection, Steps
from ..._kernels.programs.steps import schedule as ordered
from ..._kernels.programs.tape import Tape
from ..._kernels.programs.words import NAMES as REGISTERS
from ..._kernels.programs.words import Writer, allocate_registers
from ...ground.gc_pause import paused
from ...lowering.program import Program
from ..c.spelling import spelling
from ..c.target import Target
from ..row_blocks import Block, Run, load_blocks, split_runs, store_blocks
from .format import Bytecode

__all__ = [
    "ABLE",
    "ACCUMULATOR",
    "WAITING",
    "assemble",
    "form_of",
    "is_called",
    "prefetches",
    "schedule",
    "select_instructions",
]


def prefetches(
    port: int, elements: Collection[int], size: int, item: int, lanes: int, columns: bool
) -> Iterator[tuple[int, ...]]:
    """Give the instructions that ask for the elements of one input or output.

    Parameters
    ----------
    port : int
        Number of the input; ``~number`` of an output.
    elements : collection of int
        What is read or written of it.
    size : int
        Elements of one sample.
    item : int
        Bytes of an element.
    lanes : int
        Numbers in one vector.
    columns : bool
        Neighbours in memory are samples.
    """
    if columns:
        yield from ((OPCODES["ask_column"], port, e) for e in sorted(elements))
        return
    # short rows without gaps are fewer lines than samples
    count = min(LINE, size * item) * VECTORS * lanes // LINE
    for line in sorted({e * item // LINE for e in elements}):
        yield from ((OPCODES["ask_rows"], port, line * LINE, first) for first in range(0, count, LINES))


#: Operand that a step reads in the accumulator.
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


#: Operations whose two operands may change places.
_SYMMETRIC = frozenset(("add", "multiply"))
#: Operations that have instructions for operands of every kind.
_ARITHMETIC = frozenset(("add", "subtract", "multiply", "divide"))


@cache
def form_of(name: str, kinds: str, same: tuple[int, ...]) -> tuple[int, tuple[tuple[int, bool], ...]]:
    """Return the instruction for an operation on operands of some kinds.

    Parameters
    ----------
    name : str
        The operation, or two in one.
    kinds : str
        Where each operand is: in the accumulator, in a register, in memory ("m"), or a number ("n").
    same : tuple of int
        For each operand the first one that is the same; empty where all differ.

    Returns
    -------
    opcode : int
    operands : tuple of (int, bool)
        Those that are words of the instruction, in its order, and whether they are read among the vectors.
    """
    operands: list[tuple[str, int]] = []
    for i, kind in enumerate(kinds):
        able = i == 2 if name == "fma" else name in ABLE and "k" not in _form(operands)
        operands.append(("k" if kind == "n" and able else "m" if kind == "n" else kind, i))
    outer, _, inner = name.partition("_")
    if outer in _ARITHMETIC and inner:
        pair = [operand for operand in operands if operand[0] != "a"]
        if inner in _SYMMETRIC:
            pair.sort(key=_by_kind)
        first = outer in _SYMMETRIC or operands[0][0] == "a"
        operands = [("a", ACCUMULATOR), *pair] if first else [*pair, ("a", ACCUMULATOR)]
    elif name in _SYMMETRIC:
        operands.sort(key=_by_kind)
    for k in range(1, len(operands)):
        (kind, i), (before, j) = operands[k], operands[k - 1]
        again = bool(same) and kind == before == "m" and same[i] == same[j]
        if again and f"{name}_{_form(operands[:k])}s{_form(operands[k + 1 :])}" in OPCODES:
            operands[k] = "s", ACCUMULATOR
    order = tuple([(i, kind == "k") for kind, i in operands if kind in "mk"])
    return OPCODES[f"{name}_{_form(operands)}"], order


def _by_kind(operand: tuple[str, int]) -> int:
    return "ambck".index(operand[0])


def _form(operands: list[tuple[str, int]]) -> str:
    return "".join([kind for kind, _ in operands])


#: Values that wait in memory to be stored together. Rows are written from their beginning to
#: their end where this allows it, which caches and their prefetchers like; but what waits has
#: to fit the cache.
WAITING = 128
#: Steps that inputs may be brought to memory too early.
SHORT = 16


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
    return _Assembler(program, target, reduce, columns, single, constant, brief).write()


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
        self.rows: dict[bytes, int] = {}
        self.functions: dict[str, int] = {}
        self.outputs: Sequence[Sequence[int]] = program.stores
        self.checks = [v for v, _ in program.checks]
        selected = select_instructions(program.tape, (*self.outputs, self.checks))
        first = selected.first
        if first is not None:  # what is loaded twice is one value
            self.outputs = [tuple([first[v] for v in values]) for values in self.outputs]
            self.checks = [first[v] for v in self.checks]
        self.steps = selected.steps if brief else schedule(selected.steps)
        self.writer = Writer(
            program.tape, program.consts, self.steps, self.tile, self.tile // VECTORS, OPCODES["save"]
        )
        self._plan_loads(selected.loads())
        self._plan_stores()
        self._plan_reads(0 if brief else registers(self.lanes, self.single))

    # ---------------------------------------------------------------------------- what happens when

    def _plan_loads(self, elements: Mapping[int, Mapping[int, int]]) -> None:
        """Find the block that brings each input, and the step that it is brought before."""
        blocks = [
            block
            for port, values in elements.items()
            for block in load_blocks(values, port, self.program.inputs[port].size, self.columns or self.constant[port])
        ]
        #: The block of each value that is loaded.
        self.loads = {v: block for block in blocks for v in block.values if v >= 0}
        #: Blocks that are loaded before a step.
        self.before: dict[int, list[Block]] = {}
        # before a chain, if it is short: what is in the accumulator would have to be kept
        for t, k in self.steps.first_reads([block.values for block in blocks], SHORT):
            self.before.setdefault(t, []).append(blocks[k])

    def _plan_stores(self) -> None:
        """Find what goes to an output from the accumulator, and the blocks that are stored after each step."""
        made = self.steps.times(len(self.program.ops))
        #: The instructions that store a value from the accumulator after a step.
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
                if not one_by_one or made[v] < 0:
                    blocks.append(block)
                elif self.reduce:
                    self.direct.setdefault(made[v], []).append((OPCODES["to_sum"], block.start))
                elif len(values) == 1:
                    self.direct.setdefault(made[v], []).append((OPCODES["to_number"], port))
                else:
                    self.direct.setdefault(made[v], []).append((OPCODES["to_column"], port, block.start))
        ready: dict[int, list[Block]] = {}
        last = len(self.steps) - 1
        for block in blocks:
            # what is not computed is stored as far into the steps as it stands in the program; -1 is before all
            times = [made[v] if made[v] >= 0 else min(v * last // len(made), last) for v in block.values]
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

    def _plan_reads(self, registers: int) -> None:
        """Choose what stays in registers, and count how often each value is read from memory."""
        writer = self.writer
        stored = [v for blocks in self.after.values() for block in blocks for v in dict.fromkeys(block.values)]
        if registers:
            calls = self.steps.calls()
            rows = [t for t, blocks in self.before.items() if not all(self._is_column(b.port) for b in blocks)]
            barriers = [*[t - 0.6 for t in rows], *[t - 0.1 for t in calls], *[t + 0.1 for t in self.after]]
            kept = [*stored, *[self.steps.value(t) for t in calls], *self.checks]
            stays = allocate_registers(self.steps, registers, kept, sorted(barriers))
            writer.use(stays, [OPCODES[f"put_{r}"] for r in REGISTERS], [OPCODES[f"load_{r}"] for r in REGISTERS])
        writer.will_read(stored)
        writer.will_read(self.checks)
        writer.count_reads()

    def _is_column(self, port: int) -> bool:
        return self.constant[port] or (self.columns and self.program.inputs[port].size > 1)

    # ---------------------------------------------------------------------------- writing

    def write(self) -> Bytecode:
        """Write everything."""
        writer, before, direct, after, done = self.writer, self.before, self.direct, self.after, 0
        writer.know([self._instruction(*form) for form in self.steps.forms()])
        for t in sorted({*before, *direct, *after}):
            if t in before:
                writer.run(done, t)
                done = t
                self._keeping(t, before[t], self._load_all)
            if t in direct or t in after:
                writer.run(done, t + 1)
                done = t + 1
                for instruction in direct.get(t, ()):
                    writer.emit(*instruction)
                self._keeping(t + 1, after.get(t, []), self._store)
        writer.run(done, len(self.steps))
        self._fill()
        for v in self.checks:
            self.bring(v)
        return Bytecode(
            writer.code([*self._prefetches()], OPCODES["end"]),
            tuple([struct.unpack("d", key)[0] for key in writer.numbers]),
            tuple([struct.unpack("d", key)[0] for key in writer.vectors]),
            tuple([x for key in self.rows for x in struct.unpack("8d", key)]),
            tuple(self.functions),
            tuple([self.bring(v) for v in self.checks]),
            self.lanes,
            writer.tiles * self.tile,
        )

    def _keeping(self, t: int, blocks: list[Block], move: Callable[[list[Block]], None]) -> None:
        """Move blocks, and keep what step ``t`` reads in the accumulator, which moves overwrite."""
        if not blocks:
            return
        if t == len(self.steps) or not self.steps.chained(t):
            move(blocks)
            return
        here = self.writer.at(self.steps.value(t - 1))
        place = here if here >= 0 else self.writer.take()
        if here < 0:
            self._emit("save", place)
        move(blocks)
        self._emit("load", place)
        if here < 0:
            self.writer.give_back(place)

    def _instruction(
        self, name: str, kinds: str | None, same: tuple[int, ...]
    ) -> tuple[int, int, Sequence[tuple[int, bool]]]:
        """Return the instruction for a form of steps: its opcode, what it calls (-1 for nothing), and its operands."""
        if kinds is not None:
            opcode, order = form_of(name, kinds, same)
            return opcode, -1, order
        spelled = spelling(name, self.lanes, self.target.prefix, self.target.vector_math, self.single)
        number = self.functions.setdefault(spelled.pointer or spelled.own or name, len(self.functions))
        means = "call" if spelled.symbol or spelled.own else "library" if spelled.library else "lanes"
        return OPCODES[f"{means}{len(same)}"], number, ()

    # ---------------------------------------------------------------------------- values in memory

    def bring(self, v: int) -> int:
        """Return where in memory a value is; bring it there if it is an input or a number."""
        if v in self.loads and self.writer.at(v) < 0:
            self._load(self.loads[v])
        return self.writer.bring(v)

    def _load_all(self, blocks: list[Block]) -> None:
        for block in blocks:
            self._load(block)

    def _load(self, block: Block) -> None:
        places = [self.writer.put(v) if v >= 0 else -1 for v in block.values]
        port, start = block.port, self.item * block.start
        if self.constant[port]:
            self._emit("shared", port, start, places[0])
        elif self._is_column(port):
            self._emit("column", port, block.start, places[0])
        elif -1 in block.values:
            spare = self.writer.take()
            self._emit(f"rows{len(places)}", port, start, *[spare if place < 0 else place for place in places])
            self.writer.give_back(spare)
        else:
            self._emit(f"rows{len(places)}", port, start, *places)

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
            self.writer.read(dict.fromkeys(block.values))

    def _fill(self) -> None:
        """Fill runs of constants: columns one by one, rows by eight, of which the last may overlap others."""
        consts = self.program.consts
        rows: list[int] = []
        for port, run in self.runs:
            if self.columns:
                number = self.writer.number(consts[run.value])
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
        self.writer.emit(OPCODES[name], *operands)
