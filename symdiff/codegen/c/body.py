"""The body of a generated kernel: the operations of a program, and how values come in and go out.

A short program is one function, whose values the compiler keeps in registers. A large one becomes many functions of
bounded length around a workspace, because the time a compiler needs for one function grows faster than its length.

**Interleaving.** A processor looks some hundred instructions ahead, which is hardly more than one vector takes, and in
a chain of functions each instruction waits for the one before. A second vector of samples, one operation for each in
turn, hides that latency as long as registers hold the values of both.

**Sines and cosines.** Derivatives have both of nearly every angle. Whichever comes first in the program computes them,
so the order of other operations does not change; the bits are those of either function alone.

**Constants of outputs**, structural zeros above all, are filled by loops over tables: the text grows with the number
of runs of equal constants, and not with their lengths. In rows, short runs are stored as other blocks are; in columns,
each element is a column of its own.

**Software prefetch.** The hardware prefetcher follows a stream to the end of its page and begins anew behind it, and
it follows a few streams only. So the code asks for memory itself. Narrow rows of consecutive samples are one stream:
all of its lines are asked for, some kilobytes ahead, and come to the first-level cache; so are columns, as long as
they are few. More of them, and wide rows, which are a stream for each lane, come to the second-level cache: the
first-level cache holds few outstanding requests. The code of a block of wide rows asks for the same block of later
samples, which keeps few lines in flight at a time. Of short batches, which are in a cache, only wide rows and columns
are asked for: light kernels on narrow rows would take a tenth longer there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...lowering.program import CHEAP, GIVEN, MASK_OPS, Program
from ..row_blocks import Run, cover_row, cover_wanted, split_runs
from .preamble import ITEM, block_widths
from .spelling import literal

__all__ = [
    "ARGUMENTS",
    "CHUNK",
    "FAR",
    "FILL_COLUMNS",
    "FILL_ROWS",
    "BatchLayout",
    "ColumnPrefetch",
    "Functions",
    "NoPrefetch",
    "Pieces",
    "RowPrefetch",
    "Whole",
    "fills",
    "is_function",
    "is_interleaved",
    "length",
    "sines_and_cosines",
    "together",
]


#: Bytes of a sample's rows from which on rows are wide.
WIDE = 512
#: Bytes of narrow rows, of inputs and of outputs, between what is asked for and what is used. Memory answers within
#: half of them, and a page has as many again; a first-level cache of 32 KB holds them.
AHEAD = 1 << 13
#: Bytes of a batch from which on narrow rows are prefetched.
FAR = 1 << 22
#: Most bytes of wide rows in flight; so many stay in the second-level cache until they are used.
AT_ONCE = 1 << 18
#: Vectors of samples from the current one to the one prefetched, of wide rows.
VECTORS = 2
#: Distance in bytes between two prefetches of a wide row. A cache line has 64 bytes. Lines that are read are prefetched
#: twice, because the processor drops some requests; for lines that are written, one request is enough.
STEPS = {"in": 32, "out": 64}
#: Bytes of a line. Wide samples have rows of no more bytes too: the next ones are on the same or the next line.
LINE = 64
#: Least and most lines between what is asked for and what is used of a column, and of all columns together.
LEAST, MOST, ALL = 8, 32, 256
#: Prefetches of a line to the first-level cache, and to the second.
FIRST_LEVEL, SECOND_LEVEL = {"in": "READ_SOON", "out": "WRITTEN_SOON"}, {"in": "COME", "out": "COME"}


class RowPrefetch:
    """Prints prefetches for a program in rows, each line once.

    Parameters
    ----------
    program : Program
    item : int
        Bytes of a number.
    lanes : int
        Samples in a vector.
    macro : str
        Name of the C macro that prefetches wide rows, given an address and the stride between rows.
    told : bool
        Whether the code is told, by ``far``, that a batch is long enough for narrow rows to be prefetched.
    still : sequence of bool
        Inputs that are read from one sample.
    """

    def __init__(
        self, program: Program, item: int, lanes: int, macro: str, *, told: bool, still: Sequence[bool] = ()
    ) -> None:
        self.rows = {"in": program.inputs, "out": program.outputs}
        self.item, self.lanes, self.macro = item, lanes, macro
        moving = [port.size for p, port in enumerate(program.inputs) if not (still and still[p])]
        sizes = {"in": item * sum(moving), "out": item * sum(port.size for port in program.outputs)}
        #: Bytes of a sample.
        self.row = row = sum(sizes.values())
        self.narrow, self.told = row < WIDE, told and row < WIDE
        #: Number of samples by which wide rows are prefetched, or 0 if they are not.
        self.samples = VECTORS * lanes if WIDE <= row <= AT_ONCE // (VECTORS * lanes) else 0
        #: Number of samples by which narrow rows are prefetched.
        self.ahead = {kind: max(1, round(AHEAD / (lanes * size or 1))) * lanes for kind, size in sizes.items()}
        self._printed: set[tuple[str, int]] = set()
        self._moved: dict[str, int] = {}

    def emit(self, kind: str, port: int, row: str, start: int, count: int) -> str:
        """Return the prefetches of a block of later samples, without those that an earlier block has printed.

        Parameters
        ----------
        kind : {"in", "out"}
        port : int
        row : str
            C expression for the address of this vector's rows.
        start, count : int
            First element and number of elements of the block.
        """
        stride = f"s{kind[0]}{port}"
        size = self.item * self.rows[kind][port].size
        if self.narrow and not self.told and size == self.item:
            return ""  # a sum takes as long as that
        if self.narrow:
            # the lines of all rows of a vector, as they lie without gaps: each by its row and its place there
            lines = -(-size * self.lanes // LINE)
            self._moved[row] = moved = self._moved.get(row, 0) + self.item * count
            new = self._new(row, range(min(lines, -(-moved * lines // size))))
            places = [divmod(LINE * k, size) for k in new]
            text = "".join(f"{FIRST_LEVEL[kind]}({row}+{at}+{self.ahead[kind] + r}*{stride})\n" for r, at in places)
            return f"if(far){{\n{text}}}\n" if text and self.told else text
        if not self.samples or size <= LINE:
            return ""
        step = STEPS[kind]
        new = self._new(row, range(self.item * start // step, (self.item * (start + count) - 1) // step + 1))
        return "".join(f"{self.macro}({row}+{step * k}+{self.samples}*{stride},{stride});\n" for k in new)

    def _new(self, row: str, lines: range) -> Iterator[int]:
        """Yield the lines that no earlier call yielded."""
        for k in lines:
            if (row, k) not in self._printed:
                self._printed.add((row, k))
                yield k


class ColumnPrefetch:
    """Prints prefetches for a program in columns.

    Parameters
    ----------
    program : Program
    """

    #: As in :class:`RowPrefetch`: columns are prefetched always.
    row, told = 0, False

    def __init__(self, program: Program) -> None:
        columns = sum(port.size for port in (*program.inputs, *program.outputs))
        self.macros = FIRST_LEVEL if LEAST * columns <= ALL else SECOND_LEVEL
        #: Number of bytes ahead.
        self.ahead = LINE * min(MOST, max(LEAST, ALL // max(1, columns)))

    def emit(self, kind: str, port: int, row: str, start: int, count: int) -> str:
        """Return the prefetches of some columns, as :meth:`RowPrefetch.emit` does of rows."""
        stride = f"s{kind[0]}{port}"
        return "".join(f"{self.macros[kind]}({row}+{self.ahead}+{e}*{stride})\n" for e in range(start, start + count))


class NoPrefetch:
    """Prints nothing, for arrays that are in a cache."""

    #: As in :class:`RowPrefetch`.
    row, told, narrow = 0, False, False

    def emit(self, kind: str, port: int, row: str, start: int, count: int) -> str:
        """Return nothing."""
        return ""


#: Functions that write the runs: in columns those of a tile of samples, in rows those of a vector of samples.
FILL_COLUMNS, FILL_ROWS = "fill_columns", "fill_rows"

_COLUMNS = (
    f"static void {FILL_COLUMNS}(long begin,long end,char*const*out,const long*so){{\n"
    "for(int k=0;k<%d;k++){V v=B(fill_number[k]);long s=so[fill_port[k]];\n"
    "char*y=out[fill_port[k]]+fill_start[k]*s;\n"
    "for(int e=fill_start[k];e<fill_stop[k];e++,y+=s)"
    "for(char*stop=y+end*(long)sizeof(D),*p=y+begin*(long)sizeof(D);p<stop;p+=sizeof(U)){V_PUT(p,v)COME(p+2048)}}}\n"
)
# Without a distance between samples there is one only. The last vector of a run overlaps the one before it.
_ROWS = (
    f"static void {FILL_ROWS}(long i,char*const*out,const long*so){{\n"
    "for(int k=0;k<%d;k++){V v=B(fill_number[k]);long s=so[fill_port[k]],n=fill_stop[k]-fill_start[k];\n"
    "char*y=out[fill_port[k]]+i*s+fill_start[k]*(long)sizeof(D);\n"
    "for(int l=0;l<(s?W:1);l++,y+=s){D*p=(D*)y;for(long e=0;e+W<n;e+=W)V_PUT(p+e,v)V_PUT(p+n-W,v)}}}\n"
)


def fills(program: Program, *, columns: bool, single: bool) -> str:
    """Print the function that fills the runs of constants of all outputs, or nothing where there are none.

    Parameters
    ----------
    program : Program
    columns, single : bool
        As in :func:`symdiff.codegen.c.emit.emit_c`.
    """
    found = [
        (port, run)
        for port, values in enumerate(program.stores)
        if len(values) > 1
        for run in split_runs(values, program.consts, 1 if columns else None)[0]
    ]
    return _table(found, program, single) + (_COLUMNS if columns else _ROWS) % len(found) if found else ""


def _table(found: Sequence[tuple[int, Run]], program: Program, single: bool) -> str:
    ports, starts, stops = (
        ",".join(map(str, row)) for row in zip(*((port, run.start, run.stop) for port, run in found), strict=True)
    )
    numbers = ",".join(literal(program.consts[run.value], single) for _, run in found)
    return (
        f"static const int fill_port[]={{{ports}}},fill_start[]={{{starts}}},fill_stop[]={{{stops}}};\n"
        f"static const T fill_number[]={{{numbers}}};\n"
    )


def sines_and_cosines(program: Program, near: Callable[[int, int], bool] = lambda i, j: True) -> dict[int, int]:
    """Return the second value of each pair by its first.

    Parameters
    ----------
    program : Program
    near : callable, optional
        Whether two values may be computed at one place.
    """
    first: dict[int, int] = {}
    pairs: dict[int, int] = {}
    for i, op in enumerate(program.ops):
        if op in ("sin", "cos"):
            other = first.setdefault(program.args[i][0], i)
            if other not in pairs and program.ops[other] != op and near(other, i):
                pairs[other] = i
    return pairs


def together(program: Program, pair: tuple[int, int], names: Sequence[str], otherwise: Mapping[int, str]) -> str:
    """Print both values of a pair.

    Parameters
    ----------
    program : Program
    pair : tuple of int
        The two values, the first one first.
    names : sequence of str
        What values are called, by their numbers.
    otherwise : mapping of int to str
        What both are where the second of two vectors is the first once more; empty for a first vector.
    """
    sine, cosine = sorted(pair, key=lambda i: program.ops[i] == "cos")
    starts = [f"{names[i]}={otherwise[i]}" if otherwise else names[i] for i in (sine, cosine)]
    call = f"{names[sine]}=do_sin_cos({names[program.args[sine][0]]},&{names[cosine]});"
    return f"V {','.join(starts)};{'if(j!=i)' if otherwise else ''}{call}"


class BatchLayout(NamedTuple):
    """The layout of a unit's arrays, and whether it sums its results.

    Parameters
    ----------
    columns : bool
        Neighbours in memory are an element's values in consecutive samples; else they are the
        elements of one sample.
    single : bool
        Numbers are float32.
    reduce : bool
        Results are summed over the batch.
    constant : tuple of bool
        Inputs of which all samples share one value; () for none.
    packed : bool
        Columns whose strides are known when the code is printed: consecutive samples are adjacent, and a port of
        several elements holds one vector of samples for each element, one after the other.
    narrow : bool
        Of float32: computed with in float64.
    """

    columns: bool = False
    single: bool = False
    reduce: bool = False
    constant: tuple[bool, ...] = ()
    packed: bool = False
    narrow: bool = False

    @property
    def computes_single(self) -> bool:
        """True where arithmetic is in float32."""
        return self.single and not self.narrow

    def one_sample(self, port: int) -> bool:
        """Tell whether an input is read from one sample."""
        return bool(self.constant) and self.constant[port]

    def moved(self, program: Program) -> list[int]:
        """Return the elements of each port that differs from sample to sample."""
        inputs = [port.size for p, port in enumerate(program.inputs) if not self.one_sample(p)]
        return inputs + ([] if self.reduce else [port.size for port in program.outputs])


#: The additions that an operation counts as that is not cheap.
_SLOW = 8
#: Operations that take longer than an addition, but are instructions.
_BRIEF = frozenset(("divide", "sqrt", "floor", "ceil", "rint", "trunc", "sign", "copysign"))
#: From so many operations for each number read or written on, a kernel is bound by arithmetic and not by memory, for
#: rows and for columns. In columns each number is a stream of memory of its own, and two vectors ask twice as much of
#: each, which processors prefetch less well.
_WORK = {False: 2, True: 4}
#: Bytes of a vector where a processor has 32 registers for sure; for shorter vectors it may have 16.
_LONG = 64


def is_interleaved(program: Program, lanes: int, layout: BatchLayout) -> bool:
    """Tell whether a program is printed for two vectors, interleaved.

    Parameters
    ----------
    program : Program
    lanes : int
        Numbers in a vector.
    layout : BatchLayout
    """
    if layout.packed and max(layout.moved(program), default=1) > 1:
        return False  # there is one vector
    slow = sum(op not in CHEAP for op in program.ops)
    moved = sum(port.size for port in (*program.inputs, *program.outputs))
    registers = 32 if lanes * ITEM[layout.computes_single] >= _LONG else 16
    busy = len(program.ops) - len(program.consts) + _SLOW * slow >= _WORK[layout.columns and not layout.packed] * moved
    waits = any(map(is_function, program.ops))
    return waits and busy and 2 * alive(program) <= registers


def is_function(op: str) -> bool:
    """Tell whether the latency of an operation leaves the processor idle with one vector."""
    return op not in CHEAP and op not in _BRIEF


def alive(program: Program) -> int:
    """Return the most values that are alive at once, together with the one that is computed; constants do not count."""
    last: dict[int, int] = {}
    for i, (op, args) in enumerate(zip(program.ops, program.args, strict=True)):
        if op not in GIVEN:
            last.update(dict.fromkeys(args, i))
    ends = [0] * len(program.ops)
    for v, i in last.items():
        ends[i] += v not in program.consts
    most = now = 0
    for i, op in enumerate(program.ops):
        now += i in last and op != "const"
        most = max(most, now)
        now -= ends[i]
    return most


#: Operations in one C function; code up to twice as long stays whole.
CHUNK = 500
#: Blocks of four or eight elements moved by one C function of a large program.
MOVES = 100
#: Blocks transposed in place; a program with more calls a function for each, which builds faster.
INLINE_STORES = 16

#: Elements of rows that are moved whole.
SHORT = (2, 3)
#: Operations of a program of numbers up to which there is a loop for neighbours by itself: in all, for each number read
#: or written, and in all where these are many. What tells how a number is read takes as long as some operations.
FEW, FEW_EACH, FEW_OF_MANY = 32, 4, 512

#: Sums over the batch that are held in registers, by lanes; of more than these, all are in memory.
HELD = {8: 8, 4: 4, 2: 4}
#: Suffix of the names that belong to the second of two vectors.
SECOND = "_"

ARGUMENTS = "long i,const char*const*in,const long*si,char*const*out,const long*so,V*w,void*const*fn"


def length(program: Program) -> int:
    """Estimate the length of the code, in operations; moving a block of eight elements is about two, filling none."""
    moved = sum(end - begin for values in program.stores for begin, end in split_runs(values, program.consts)[1])
    return len(program.ops) - len(program.consts) + moved // 4


class Functions:
    """The functions of a program: the common part of one function and of many."""

    def __init__(self, program: Program, lanes: int, forms: dict[str, str], layout: BatchLayout) -> None:
        self.program, self.forms, self.layout = program, forms, layout
        #: True where one function computes the sine and the cosine of one angle.
        self.together = False
        self.reduce, self.item = layout.reduce, ITEM[layout.single]
        #: Number of sums that :meth:`definitions` takes as ``acc``; 0 where it finds them in memory.
        self.held = 0
        self.lanes = lanes
        self.loads, self.stores = block_widths(lanes, layout.single)
        self.workspace = len(program.checks)
        #: Vectors of samples that the functions take at once.
        self.vectors = 1
        #: Suffix of the names of values and addresses: nothing, or :data:`SECOND` for the second vector.
        self.end = ""
        #: True where the function is told, by ``near``, that all numbers are neighbours, or one number's copies.
        self.near = False
        #: Spelling of each value as an operand.
        self.names = self.fresh_names()
        self.calls: list[str] = []
        blocks = (block for _, _, block in self.store_blocks() if len(block) > 1)
        few = sum(not self.constant(block) for block in blocks) <= INLINE_STORES
        self.store_name = "STORE" if few else "store"
        self.prefetch = self.prefetches("ASK" if few else "ask", told=not self.reduce)

    def prefetches(self, macro: str, *, told: bool) -> RowPrefetch | ColumnPrefetch | NoPrefetch:
        """Return what prints the prefetches; ``macro`` and ``told`` as in :class:`RowPrefetch`."""
        if self.layout.packed:
            return NoPrefetch()
        if self.layout.columns:
            return ColumnPrefetch(self.program)
        rows = RowPrefetch(self.program, self.item, self.lanes, macro, told=told, still=self.layout.constant)
        # many arrays of one number a sample are columns, however the others of the unit's layout lie
        scalars = all(port.size == 1 for port in (*self.program.inputs, *self.program.outputs))
        return ColumnPrefetch(self.program) if scalars and not rows.narrow else rows

    def fresh_names(self) -> list[str]:
        """Name all values of one vector of samples."""
        consts = self.program.consts
        return [f"k{i}" if i in consts else f"v{i}{self.end}" for i in range(len(self.program.ops))]

    def constant(self, values: tuple[int, ...]) -> bool:
        """Tell whether a block holds numbers only."""
        return all(v in self.program.consts for v in values)

    def one_sample(self, port: int) -> bool:
        """Tell whether an input is read from one sample."""
        return self.layout.one_sample(port)

    def column(self, size: int) -> bool:
        """Tell whether a port of this size lies in columns that are some distance apart."""
        return self.layout.columns and size > 1

    def packed(self, kind: str, port: int, element: int) -> str:
        """Print where this vector's samples of an element are in a packed port: known but for the port's address."""
        sample = "j" if self.end else "i"
        return f"{kind}[{port}]+{sample}*{self.item}+{element * self.lanes * self.item}"

    def pointers(self, numbers: Iterable[int], kind: str) -> str:
        """Print the addresses of this vector's samples in the ports ``numbers``."""
        if self.layout.packed:
            return ""
        lines = []
        for p in sorted(set(numbers)):
            if kind == "in" and self.one_sample(p):
                lines.append(f"const char*x{p}=in[{p}];\n")
                continue
            const, letter, s = ("const ", "x", "si") if kind == "in" else ("", "y", "so")
            ports = self.program.inputs if kind == "in" else self.program.outputs
            across = str(self.item) if self.column(ports[p].size) else f"{s}[{p}]"
            lines.append(f"{const}char*{letter}{p}={kind}[{p}]+i*{across};long {s}{p}={s}[{p}];\n")
            if self.vectors > 1:
                lines.append(f"{const}char*{letter}{p}{SECOND}={kind}[{p}]+j*{across};\n")
        return "".join(lines)

    def load_blocks(self) -> Iterator[tuple[int, int, int, dict[int, list[int]]]]:
        """Yield an input, start and width of each block to load, and the values each element is."""
        wanted: dict[int, dict[int, list[int]]] = {}
        for i, op in enumerate(self.program.ops):
            if op == "load":
                port, element = self.program.args[i]
                wanted.setdefault(port, {}).setdefault(element, []).append(i)
        for port, elements in wanted.items():
            size = self.program.inputs[port].size
            widths = (1,) if self.one_sample(port) or self.column(size) else (*self.loads, 1)
            if len(widths) > 1 and size in SHORT and len(elements) > 1:
                widths = (size,)
            for start, width, first in cover_wanted(elements, size, widths):
                yield port, start, width, {e: elements[e] for e in range(first, start + width) if e in elements}

    def store_blocks(self) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Yield the number of an output, the start of a block in it, and the block's values."""
        offset = 0
        for port, values in enumerate(self.program.stores):
            consts = self.program.consts
            if self.reduce:
                # Sums begin with 0, to which a 0 adds nothing.
                yield from ((0, offset + e, (v,)) for e, v in enumerate(values) if consts.get(v) != 0.0)
                offset += len(values)
                continue
            if self.column(len(values)):
                # Columns of constants are filled by the tile, see fills().
                yield from ((port, e, (v,)) for e, v in enumerate(values) if v not in consts)
                continue
            widths = (len(values),) if len(values) in SHORT else (*self.stores, 1)
            for begin, end in split_runs(values, consts)[1]:
                for start, width in cover_row(end - begin, widths):
                    yield port, begin + start, values[begin + start : begin + start + width]

    def store(self, port: int, start: int, values: tuple[int, ...]) -> str:
        """Print the store of one block, and prefetches of its place in later samples."""
        text = self.store_block(port, start, values)
        if not self.reduce:
            text += self.prefetch.emit("out", port, f"y{port}{self.end}", start, len(values))
        return text

    def store_block(self, port: int, start: int, values: tuple[int, ...]) -> str:
        """Print the store of one block."""
        if self.reduce:
            return f"{'HOLD' if self.held else 'ADD'}({start},{self.names[values[0]]})\n"
        if self.layout.packed and len(values) == 1:
            return f"STOREPACKED({self.packed('out', port, start)},{self.names[values[0]]})\n"
        if self.column(self.program.outputs[port].size):
            return f"STOREC(y{port}{self.end},so{port},{start},{self.names[values[0]]})\n"
        at, row = f"y{port}{self.end}+{self.item * start},so{port}", ",".join([self.names[v] for v in values])
        if len(values) in self.stores and self.constant(values):
            # Structural zeros need no transposing: every row gets the same numbers.
            numbers = ",".join(literal(self.program.consts[v], self.layout.single) for v in values)
            if self.store_name == "store":
                return f"fill{len(values)}({at},(R{len(values)}){{{numbers}}});\n"
            return f"FILL{len(values)}({at},{numbers});\n"
        if self.program.outputs[port].size in SHORT:
            return f"STOREROW{len(values)}(y{port}{self.end},so{port},{row})\n"
        if len(values) == 1 and self.program.outputs[port].size > 1:
            return f"SCATTER({at},({row}));\n"
        if len(values) == 1:
            return f"{self.one('STORE')}({at},{row});\n"
        return f"{self.store_name}{len(values)}({at},{row});\n"

    def load(self, port: int, start: int, targets: list[str], *, call: bool = False) -> str:
        """Print the load of one block, in place or by a call, and prefetches of it in later samples."""
        text = self.load_block(port, start, targets, call=call)
        if not self.one_sample(port):
            text += self.prefetch.emit("in", port, f"x{port}{self.end}", start, len(targets))
        return text

    def load_block(self, port: int, start: int, targets: list[str], *, call: bool) -> str:
        """Print the load of one block, in place or by a call."""
        size = self.program.inputs[port].size
        if self.one_sample(port):
            address = f"in[{port}]" if self.layout.packed else f"x{port}"
            return f"SHARED({address},{start},{targets[0]})\n"
        if self.layout.packed:
            return f"LOADPACKED({self.packed('in', port, start)},{targets[0]})\n"
        if self.column(size):
            return f"LOADC(x{port}{self.end},si{port},{start},{targets[0]})\n"
        at = f"x{port}{self.end}+{self.item * start},si{port}"
        if len(targets) == 1:
            return f"{self.one('LOAD') if size == 1 else 'GATHER'}({at},{targets[0]});\n"
        if size in SHORT and len(targets) == size:  # not where only a part of the row is used
            return f"LOADROW{size}(x{port}{self.end},si{port},{','.join(targets)})\n"
        if call:
            return f"load{len(targets)}({at},{','.join(f'&{t}' for t in targets)});\n"
        return f"LOAD{len(targets)}({at},{','.join(targets)});\n"

    def one(self, macro: str) -> str:
        """Return the macro that moves one number of each sample."""
        return f"{macro}{'NEAR' if self.near else 1}"

    def fills(self) -> str:
        """Print the function that writes runs of constants, or nothing."""
        return "" if self.reduce else fills(self.program, columns=self.layout.columns, single=self.layout.single)

    def function(self, name: str, kind: str, body: Iterable[str], reads: Iterable[int], writes: Iterable[int]) -> str:
        """Print one function around ``body``."""
        self.calls.append(name)
        column = "V*acc=(V*)out[0]+(i/W&1);\n" if self.reduce and not self.held else ""
        targets = () if self.reduce else writes
        start = f"{self.pointers(reads, 'in')}{self.pointers(targets, 'out')}{column}"
        unused = "V z;(void)z;" + ("(void)acc;" if self.reduce else "")
        before = "int near," * self.near + "long far," * self.prefetch.told + "long j," * (self.vectors > 1)
        taken = before + ARGUMENTS + ",V*acc" * bool(self.held)
        return f"{kind} void {name}({taken}){{\n{start}{unused}\n{''.join(body)}}}\n"


class Whole(Functions):
    """A program short enough for one function: values are local, the compiler keeps them in registers."""

    def __init__(self, program: Program, lanes: int, forms: dict[str, str], layout: BatchLayout) -> None:
        super().__init__(program, lanes, forms, layout)
        sums = sum(map(len, program.stores)) if layout.reduce else 0
        self.held = sums if sums <= HELD[lanes // (2 if layout.computes_single else 1)] else 0
        moved = layout.moved(program)
        few = max(FEW, min(FEW_EACH * len(moved), FEW_OF_MANY))
        self.near = set(moved) == {1} and len(program.ops) <= few and not layout.packed

    def definitions(self) -> list[str]:
        """Print the function."""
        program = self.program
        layout = self.layout
        if not self.reduce and is_interleaved(program, self.lanes, layout):
            self.vectors, self.workspace = 2, 2 * self.workspace
        steps = self.steps()
        if self.vectors > 1:
            self.end = SECOND
            self.names = self.fresh_names()
            steps = [line for both in zip(steps, self.steps(), strict=True) for line in both]
        reads = program.read
        writes = {port for port, _, _ in self.store_blocks()}
        return [self.function("whole", "INLINE" if self.near else "static inline", steps, reads, writes)]

    def not_twice(self, i: int, line: str) -> str:
        """Print a function of the second vector such that it is not called where that is the first once more."""
        declared, _, value = line.partition("=")
        name = declared.split()[-1]
        return f"{declared}=v{i};if(j!=i){name}={value}"

    def steps(self) -> list[str]:
        """Print the operations in order, with the loads before them and the stores after them."""
        program, names = self.program, self.names
        before: dict[int, str] = {}
        # Where nothing is stored, gcc would rather read memory again than keep what it read.
        kept: Counter[int] = Counter()
        if self.near and self.reduce:
            kept.update(a for i in program.computed for a in program.args[i])
        for port, start, width, elements in self.load_blocks():
            targets = ["z"] * width
            for e, values in elements.items():
                targets[e - start] = names[values[0]]
                for other in values[1:]:
                    names[other] = names[values[0]]
            first = min(values[0] for values in elements.values())
            declared = ",".join(t for t in targets if t != "z")
            before[first] = f"V {declared};" + self.load(port, start, targets)
            again = (names[values[0]] for values in elements.values() if sum(kept[v] for v in values) > 1)
            before[first] += "".join(f"IN_REGISTER({name})\n" for name in again)
        after: dict[int, list[str]] = {}
        at = len(program.checks) if self.end else 0
        for k, (value, _) in enumerate(program.checks):
            after.setdefault(value, []).append(f"w[{at + k}]={names[value]};\n")
        # A block is stored as soon as its last value is known: fewer values are alive at once.
        for output, start, block in self.store_blocks():
            after.setdefault(max(block), []).append(self.store(output, start, block))
        lines: list[str] = []
        forms, arguments = self.forms, program.args
        pairs = sines_and_cosines(program) if self.together else {}
        seconds = set(pairs.values())
        for i, op in enumerate(program.ops):
            form = forms.get(op)
            if form is None:
                if i in before:
                    lines.append(before[i])
            elif i in pairs:
                pair = i, pairs[i]
                lines.append(together(program, pair, names, {k: f"v{k}" for k in pair} if self.end else {}) + "\n")
            elif i in seconds:
                lines.append("\n")
            else:
                line = form % (f"{i}{self.end}", *[names[a] for a in arguments[i]])
                lines.append((self.not_twice(i, line) if self.end and is_function(op) else line) + "\n")
            if i in after:
                lines += after[i]
        return lines


class Pieces(Functions):
    """A long program: functions of bounded length, values that cross between them in the workspace."""

    def __init__(self, program: Program, lanes: int, forms: dict[str, str], layout: BatchLayout) -> None:
        super().__init__(program, lanes, forms, layout)
        self.prefetch = self.prefetches("ask", told=False)

    def definitions(self) -> list[str]:
        """Print the functions in the order they are called."""
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
                names[value] = f"OF_LANES(w[{slots[value]}])" if mask else f"w[{slots[value]}]"

        for k, (value, _) in enumerate(program.checks):
            if value in last and value not in slots:
                slots[value] = k
        settle(-1)
        texts = list(self.prologue(slots))
        rename(-1)
        forms, arguments, ops = self.forms, program.args, program.ops
        pairs = sines_and_cosines(program, lambda i, j: piece[i] == piece[j]) if self.together else {}
        seconds = set(pairs.values())
        for number, values in enumerate(self.members):
            settle(number)
            lines: list[str] = []
            writes: set[int] = set()
            for i in values:
                if i in pairs:
                    lines.append(together(program, (i, pairs[i]), names, {}))
                elif i not in seconds:
                    lines.append(forms[ops[i]] % (i, *[names[a] for a in arguments[i]]))
                kept = f"LANES(v{i})" if ops[i] in MASK_OPS else f"v{i}"
                lines.append(f"w[{slots[i]}]={kept};\n" if i in slots else "\n")
                for block in self.after.get(i, ()):
                    lines.append(self.store(*block))
                    writes.add(block[0])
            texts.append(self.function(f"piece{number}", "PIECE", lines, (), writes))
            rename(number)
        return texts + list(self.epilogue(slots))

    def crossings(self) -> tuple[list[int], dict[int, int]]:
        """Assign each value to a piece; give the last piece that reads or stores each value of an earlier one."""
        program, consts = self.program, self.program.consts
        piece: list[int] = []
        last: dict[int, int] = {}
        self.members: list[list[int]] = [[]]
        for i, (op, args) in enumerate(zip(program.ops, program.args, strict=True)):
            if op in GIVEN:
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
        # A block is stored as soon as its last value is known; the last piece stores those of inputs and numbers alone.
        self.after: dict[int, list[tuple[int, int, tuple[int, ...]]]] = {}
        self.late: list[tuple[int, int, tuple[int, ...]]] = []
        end = len(self.members)
        for block in self.store_blocks():
            made = [v for v in block[2] if piece[v] >= 0]
            number = piece[max(made)] if made else end
            if made:
                self.after.setdefault(max(made), []).append(block)
            else:
                self.late.append(block)
            for v in block[2]:
                if piece[v] < number and v not in consts:
                    last[v] = max(number, last.get(v, number))
        last.update((v, end) for v, _ in program.checks if v not in consts)
        return piece, last

    def prologue(self, slots: dict[int, int]) -> Iterator[str]:
        """Print the functions that bring the inputs into the workspace."""
        lines: list[str] = []
        reads: set[int] = set()
        for count, (port, start, width, elements) in enumerate(self.load_blocks(), 1):
            targets = ["z"] * width
            copies = []
            for e, values in elements.items():
                used = [v for v in values if v in slots]
                if used:
                    targets[e - start] = f"w[{slots[used[0]]}]"
                    copies += [f"w[{slots[v]}]={targets[e - start]};\n" for v in used[1:]]
            lines += [self.load(port, start, targets, call=True), *copies]
            reads.add(port)
            if count % MOVES == 0:
                yield self.function(f"loads{count}", "PIECE", lines, reads, ())
                lines, reads = [], set()
        if lines:
            yield self.function("loads", "PIECE", lines, reads, ())

    def epilogue(self, slots: dict[int, int]) -> Iterator[str]:
        """Print the functions that write what no piece has written."""
        # Checks of constants, and second checks of one value, are copied to where checks are read.
        lines = [f"w[{k}]={self.names[v]};\n" for k, (v, _) in enumerate(self.program.checks) if slots.get(v) != k]
        writes: set[int] = set()
        for count, (port, start, values) in enumerate(self.late, 1):
            lines.append(self.store(port, start, values))
            writes.add(port)
            if count % MOVES == 0:
                yield self.function(f"stores{count}", "PIECE", lines, (), writes)
                lines, writes = [], set()
        if lines:
            yield self.function("stores", "PIECE", lines, (), writes)
