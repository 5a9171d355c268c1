"""Print a scalar program as C over lanes: one vector of samples for each value.

The function that comes out reads rows as NumPy users hold them and takes whole vectors of
samples only; what is left over at the end of a batch, and arrays in any other layout, are
packed by the call path (``symdiff/_kernels``), which is compiled once and for all. A large
program becomes many functions of bounded length around a workspace, because the time a
compiler needs for one function grows faster than its length. Nothing of the user's text is
printed: ports and values are numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..program import MASK_OPS, Port, Program
from .lanes import block_widths, moving_functions, preamble
from .operations import spelling

__all__ = ["CSource", "Target", "emit_c"]

#: Operations in one C function; code up to twice as long stays whole.
CHUNK = 500
#: Blocks of four or eight elements moved by one C function of a large program.
MOVES = 100
#: Blocks transposed in place; a program with more calls a function for each, which builds faster.
INLINE_STORES = 16

_ARGS = "long i,const char*const*in,const long*si,char*const*out,const long*so,V*w,void*const*fn"
_CALL = "i,in,si,out,so,w,fn"


@dataclass(frozen=True)
class Target:
    """What a machine offers to generated code.

    Parameters
    ----------
    lanes : int
        Doubles in one vector register: 2, 4 or 8.
    prefix : str
        First part of the vector library's names for this instruction set ("_ZGVe"), or "".
    vector_math : frozenset of str
        The vector library's functions that were found.
    """

    lanes: int = 2
    prefix: str = ""
    vector_math: frozenset[str] = frozenset()


@dataclass(frozen=True)
class CSource:
    """C text of a program and what a caller has to know about it.

    Parameters
    ----------
    text : str
        A whole translation unit. It defines ``long kernel(long begin, long end,
        const char *const *in, const long *si, char *const *out, const long *so, V *w,
        void *const *fn, long *which)``: it runs the samples ``begin`` to ``end`` (a multiple
        of ``lanes`` of them), ``in[p] + i * si[p]`` being the address of sample ``i`` of input
        ``p``. It returns the first sample in which a checked value is zero, the number of that
        check in ``which``, or -1.
    symbols : tuple of str
        Functions of the vector library, whose addresses stand in ``fn`` in this order.
    lanes : int
        Samples in one vector.
    workspace : int
        Vectors at ``w``.
    reduce : bool
        Whether ``out[0]`` is a column of vectors, one for each element of all outputs, to
        which each sample's value is added in its lane.
    """

    text: str
    symbols: tuple[str, ...]
    lanes: int
    workspace: int
    reduce: bool


def emit_c(program: Program, target: Target, *, reduce: bool = False) -> CSource:
    """Print ``program`` as C.

    Parameters
    ----------
    program : Program
    target : Target
        The machine that will run it.
    reduce : bool
        Sum each output over the samples instead of writing it for each.

    Returns
    -------
    CSource
    """
    spell = {
        op: spelling(op, target.lanes, target.prefix, target.vector_math)
        for op in dict.fromkeys(program.ops)
        if op not in ("load", "const")
    }
    symbols = [(op, s) for op, s in spell.items() if s.symbol]
    head = [preamble(target.lanes)]
    head += dict.fromkeys(text for s in spell.values() for text in s.needs)
    for number, (op, s) in enumerate(symbols):
        kinds = ",".join(["V"] * (s.form.count("%s") - 1))
        head.append(f"#define do_{op} ((V(*)({kinds}))fn[{number}])\n")
    head += (f"static const V k{i}={{ALL({_literal(x)})}};\n" for i, x in program.consts.items())

    forms = {op: s.form for op, s in spell.items()}
    write = _Whole if _length(program) <= 2 * CHUNK else _Pieces
    functions = write(program, target.lanes, forms, reduce)
    if functions.store_name == "store" or write is _Pieces:
        head.append(moving_functions(target.lanes))
    text = "".join([*head, *functions.definitions(), _entry(program, functions.calls)])
    return CSource(text, tuple(s.symbol for _, s in symbols), target.lanes, functions.workspace, reduce)


def _length(program: Program) -> int:
    """Estimate the length of the code, in operations; moving a block of eight elements is about two."""
    return len(program.ops) - len(program.consts) + sum(map(len, program.stores)) // 4


def _literal(x: float) -> str:
    if math.isnan(x):
        return '__builtin_nan("")'
    if math.isinf(x):
        return "__builtin_inf()" if x > 0 else "-__builtin_inf()"
    return x.hex()


def _entry(program: Program, calls: Iterable[str]) -> str:
    """Print the function that callers see: all pieces for each vector of samples, and the checks."""
    lines = ["long kernel(long begin,long end,const char*const*in,const long*si,char*const*out,const long*so,"]
    lines.append("V*w,void*const*fn,long*which);\n")
    lines += [lines[0], "V*w,void*const*fn,long*which){\nfor(long i=begin;i<end;i+=W){\n"]
    lines += (f"{name}({_CALL});\n" for name in calls)
    if program.checks:
        # The values of the checks are the first vectors of the workspace.
        lines.append(f"M bad=(M){{0}};for(int k=0;k<{len(program.checks)};k++)bad|=(M)(w[k]==B(0.0));\n")
        lines.append("long long any=0;for(int l=0;l<W;l++)any|=bad[l];\n")
        lines.append("if(any)for(int l=0;l<W;l++)")
        lines.append(f"for(int k=0;k<{len(program.checks)};k++)if(w[k][l]==0){{*which=k;return i+l;}}\n")
    lines.append("}\nreturn -1;}\n")
    return "".join(lines)


def _blocks(elements: Iterable[int], size: int, widths: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Cover ``elements`` of a row by (start, width) of blocks inside the row, widest first.

    The last block of a row may overlap the one before it, which is cheaper than narrow ones.
    """
    covered = -1
    for e in sorted(elements):
        if e <= covered:
            continue
        start, width = e, 1
        for w in widths:
            if w <= size:
                start, width = min(e - e % w, size - w), w
                break
        covered = start + width - 1
        yield start, width


def _pointers(numbers: Iterable[int], kind: str) -> str:
    """Print the addresses of this vector's rows in the ports ``numbers``."""
    const, letter = ("const ", "x") if kind == "in" else ("", "y")
    s = "si" if kind == "in" else "so"
    return "".join(
        f"{const}char*{letter}{p}={kind}[{p}]+i*{s}[{p}];long {s}{p}={s}[{p}];\n" for p in sorted(set(numbers))
    )


class _Functions:
    """The functions of a program: what is common to one and to many."""

    def __init__(self, program: Program, lanes: int, forms: dict[str, str], reduce: bool) -> None:
        self.program, self.forms, self.reduce = program, forms, reduce
        self.loads, self.stores = block_widths(lanes)
        self.workspace = len(program.checks)
        #: How each value is written as an operand.
        self.names = [f"v{i}" for i in range(len(program.ops))]
        for i in program.consts:
            self.names[i] = f"k{i}"
        self.calls: list[str] = []
        blocks = () if reduce else (block for _, _, block in self.store_blocks())
        self.store_name = "STORE" if sum(not self.constant(block) for block in blocks) <= INLINE_STORES else "store"

    def constant(self, values: tuple[int, ...]) -> bool:
        """Whether a block holds numbers only."""
        return all(v in self.program.consts for v in values)

    def load_blocks(self) -> Iterator[tuple[Port, int, int, int, dict[int, list[int]]]]:
        """Yield port, its number, start and width of each block to load, and the values each element is."""
        wanted: dict[int, dict[int, list[int]]] = {}
        for i, op in enumerate(self.program.ops):
            if op == "load":
                port, element = self.program.args[i]
                wanted.setdefault(port, {}).setdefault(element, []).append(i)
        for port, elements in wanted.items():
            size = self.program.inputs[port].size
            done: set[int] = set()
            for start, width in _blocks(elements, size, self.loads):
                mine = {e: elements[e] for e in range(start, start + width) if e in elements and e not in done}
                done.update(mine)
                yield self.program.inputs[port], port, start, width, mine

    def store_blocks(self) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Yield the number of an output, the start of a block in it, and the block's values."""
        offset = 0
        for port, values in enumerate(self.program.stores):
            if self.reduce:
                for e, v in enumerate(values):
                    yield 0, offset + e, (v,)
                offset += len(values)
                continue
            done = 0
            for width in (*self.stores, 1):
                while len(values) - done >= width or (0 < len(values) - done > width // 2 and len(values) >= width > 1):
                    start = min(done, len(values) - width)
                    yield port, start, values[start : start + width]
                    done = start + width

    def store(self, port: int, start: int, values: tuple[int, ...]) -> str:
        """Print the store of one block."""
        if self.reduce:
            return f"acc[{start}]+={self.names[values[0]]};\n"
        at, row = f"y{port}+{8 * start},so{port}", ",".join([self.names[v] for v in values])
        if len(values) > 1 and self.constant(values):
            # Structural zeros need no transposing: every row gets the same numbers.
            numbers = ",".join(_literal(self.program.consts[v]) for v in values)
            return f"FILL{len(values)}({at},{numbers});\n"
        if len(values) == 1 and self.program.outputs[port].size > 1:
            return f"SCATTER({at},({row}));\n"
        return f"{self.store_name if len(values) > 1 else 'STORE'}{len(values)}({at},{row});\n"

    def load(self, port: Port, number: int, start: int, targets: list[str], *, call: bool = False) -> str:
        """Print the load of one block, in place or by a call."""
        at = f"x{number}+{8 * start},si{number}"
        if len(targets) == 1:
            return f"{'LOAD1' if port.size == 1 else 'GATHER'}({at},{targets[0]});\n"
        if call:
            return f"load{len(targets)}({at},{','.join(f'&{t}' for t in targets)});\n"
        return f"LOAD{len(targets)}({at},{','.join(targets)});\n"

    def function(self, name: str, kind: str, body: Iterable[str], reads: Iterable[int], writes: Iterable[int]) -> str:
        """Print one function around ``body``."""
        self.calls.append(name)
        column = "V*acc=(V*)out[0];\n" if self.reduce else ""
        targets = () if self.reduce else writes
        start = f"{_pointers(reads, 'in')}{_pointers(targets, 'out')}{column}"
        unused = "V z;(void)z;" + ("(void)acc;" if self.reduce else "")
        return f"{kind} void {name}({_ARGS}){{\n{start}{unused}\n{''.join(body)}}}\n"


class _Whole(_Functions):
    """A program short enough for one function: values are local, the compiler keeps them in registers."""

    def definitions(self) -> list[str]:
        program, names = self.program, self.names
        before: dict[int, str] = {}
        for port, number, start, width, elements in self.load_blocks():
            targets = ["z"] * width
            for e, values in elements.items():
                targets[e - start] = names[values[0]]
                for other in values[1:]:
                    names[other] = names[values[0]]
            first = min(values[0] for values in elements.values())
            declared = ",".join(t for t in targets if t != "z")
            before[first] = f"V {declared};" + self.load(port, number, start, targets)
        after: dict[int, list[str]] = {}
        for k, (value, _) in enumerate(program.checks):
            after.setdefault(value, []).append(f"w[{k}]={names[value]};\n")
        # A block is stored as soon as its last value is known: fewer values are alive at once.
        for output, start, block in self.store_blocks():
            after.setdefault(max(block), []).append(self.store(output, start, block))
        lines: list[str] = []
        forms, arguments = self.forms, program.args
        for i, op in enumerate(program.ops):
            form = forms.get(op)
            if form is None:
                if i in before:
                    lines.append(before[i])
            else:
                lines.append(form % (i, *[names[a] for a in arguments[i]]))
                lines.append("\n")
            if i in after:
                lines += after[i]
        reads = {a[0] for op, a in zip(program.ops, program.args, strict=True) if op == "load"}
        writes = (p for p, port in enumerate(program.outputs) if port.size)
        return [self.function("whole", "static inline", lines, reads, writes)]


class _Pieces(_Functions):
    """A long program: functions of bounded length, values that cross between them in the workspace."""

    def definitions(self) -> list[str]:
        program, names = self.program, self.names
        piece, last = self.crossings()
        born: dict[int, list[int]] = {}
        for value in last:
            born.setdefault(piece[value], []).append(value)
        slots: dict[int, int] = {}
        free: list[int] = []
        dying: dict[int, list[int]] = {}

        def settle(number: int) -> None:
            # Slots given up by the piece before are free again from here on.
            free.extend(slots[value] for value in dying.pop(number - 1, ()))
            for value in born.get(number, ()):
                if value not in slots:
                    slots[value] = free.pop() if free else self.workspace
                    self.workspace += slots[value] == self.workspace
                dying.setdefault(last[value], []).append(value)

        def rename(number: int) -> None:
            for value in born.get(number, ()):
                mask = program.ops[value] in MASK_OPS
                names[value] = f"((M)w[{slots[value]}])" if mask else f"w[{slots[value]}]"

        for k, (value, _) in enumerate(program.checks):
            if value in last and value not in slots:
                slots[value] = k
        settle(-1)
        texts = list(self.prologue(slots))
        rename(-1)
        forms, arguments, ops = self.forms, program.args, program.ops
        for number, values in enumerate(self.members):
            settle(number)
            lines: list[str] = []
            for i in values:
                lines.append(forms[ops[i]] % (i, *[names[a] for a in arguments[i]]))
                lines.append(f"w[{slots[i]}]=(V)v{i};\n" if i in slots else "\n")
            texts.append(self.function(f"piece{number}", "SLOW", lines, (), ()))
            rename(number)
        return texts + list(self.epilogue(slots))

    def crossings(self) -> tuple[list[int], dict[int, int]]:
        """Assign each value to a piece; give the last piece that reads each value of an earlier one."""
        program, consts = self.program, self.program.consts
        piece: list[int] = []
        last: dict[int, int] = {}
        self.members: list[list[int]] = [[]]
        for i, (op, args) in enumerate(zip(program.ops, program.args, strict=True)):
            if op in ("load", "const"):
                piece.append(-1)
                continue
            if len(self.members[-1]) == CHUNK:
                self.members.append([])
            self.members[-1].append(i)
            number = len(self.members) - 1
            piece.append(number)
            for a in args:
                if piece[a] < number and a not in consts:
                    last[a] = number
        end = len(self.members)
        for value in (*(v for store in program.stores for v in store), *(v for v, _ in program.checks)):
            if value not in consts:
                last[value] = end
        return piece, last

    def prologue(self, slots: dict[int, int]) -> Iterator[str]:
        """Print the functions that bring the inputs into the workspace."""
        lines: list[str] = []
        reads: set[int] = set()
        for count, (port, number, start, width, elements) in enumerate(self.load_blocks(), 1):
            targets = ["z"] * width
            copies = []
            for e, values in elements.items():
                used = [v for v in values if v in slots]
                if used:
                    targets[e - start] = f"w[{slots[used[0]]}]"
                    copies += [f"w[{slots[v]}]={targets[e - start]};\n" for v in used[1:]]
            lines += [self.load(port, number, start, targets, call=True), *copies]
            reads.add(number)
            if count % MOVES == 0:
                yield self.function(f"loads{count}", "SLOW", lines, reads, ())
                lines, reads = [], set()
        if lines:
            yield self.function("loads", "SLOW", lines, reads, ())

    def epilogue(self, slots: dict[int, int]) -> Iterator[str]:
        """Print the functions that write the outputs."""
        # Checks of constants, and second checks of one value, are copied to where checks are read.
        lines = [f"w[{k}]={self.names[v]};\n" for k, (v, _) in enumerate(self.program.checks) if slots.get(v) != k]
        writes: set[int] = set()
        for count, (port, start, values) in enumerate(self.store_blocks(), 1):
            lines.append(self.store(port, start, values))
            writes.add(port)
            if count % MOVES == 0:
                yield self.function(f"stores{count}", "SLOW", lines, (), writes)
                lines, writes = [], set()
        if lines:
            yield self.function("stores", "SLOW", lines, (), writes)
