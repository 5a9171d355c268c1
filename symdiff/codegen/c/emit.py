"""Print a scalar program as C over lanes: one vector of samples for each value.

The function reads arrays of one layout and type as NumPy users hold them, rows or columns, and takes whole vectors of
samples only; the rest of a batch, and arrays that lie in any other way, are packed by the call path
(``symdiff/_kernels``), which is compiled once and for all. Nothing of the user's text is printed: ports and values are
numbers.

The order of the operations and the way each is rounded are the program's own, whatever the layout and the number of
lanes; so all units of one type give the same bits, and so does the interpreter.

A loop whose body is a program is one function, too, with what is carried in variables. All lanes of its vectors hold
the same sample. Vectors are the shortest that there are, whose divisions and roots take the least time, unless the
program calls functions of whole vectors, which have the same bits at one length alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...lowering.plan.plan import COUNTER, HELD, MEMORY, Wiring
from ...lowering.program import GIVEN, Program
from .body import ARGUMENTS, CHUNK, FAR, FILL_COLUMNS, FILL_ROWS, BatchLayout, Functions, Pieces, Whole, length
from .preamble import moving_functions, preamble
from .spelling import Spelling, literal, spelling
from .target import Target

__all__ = ["CHUNK", "SHORTEST", "CSource", "LoopBody", "Target", "emit_c", "fits_shortest"]


#: Operation that carries on a value as it is where a condition does not hold any more.
_CHOSEN = {"where", "load", "const"}
#: Lanes of float64 in the shortest vector.
SHORTEST = 2
#: Numbers that all turns or all samples read, and that are read before the loop; more of them than registers are left
#: where they are.
KEPT = 16


def fits_shortest(spellings: Mapping[str, Spelling]) -> bool:
    """Tell whether operations have the same bits in vectors of any length, by their spellings in long ones."""
    return not any(spelled.symbol or spelled.own for spelled in spellings.values())


class LoopBody(Whole):
    """A program that is the body of a loop, and the loop.

    Parameters
    ----------
    program, lanes, forms, layout
        As :class:`~.body.Functions` takes them.
    wiring : Wiring
        Which of its arrays are carried.
    """

    def __init__(
        self, program: Program, lanes: int, forms: dict[str, str], layout: BatchLayout, wiring: Wiring
    ) -> None:
        self.wiring = wiring
        super().__init__(program, lanes, forms, layout)
        loaded = [args for op, args in zip(program.ops, program.args, strict=True) if op == "load"]
        held = dict.fromkeys((port, e) for port, e in loaded if wiring.inputs[port] == HELD)
        self.kept = frozenset(held) if len(held) <= KEPT else frozenset()

    def store_blocks(self) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Yield the elements of outputs that are in memory."""
        for port, values in enumerate(self.program.stores):
            if self.wiring.outputs[port] == MEMORY:
                yield from ((port, e, (v,)) for e, v in enumerate(values))

    def store(self, port: int, start: int, values: tuple[int, ...]) -> str:
        """Print the store of one element."""
        return self._put(f"y{port}", start, self.names[values[0]])

    def load(self, port: int, start: int, targets: list[str], *, call: bool = False) -> str:
        """Print how one element is found: in a variable, or in memory."""
        (target,) = targets
        place = self.wiring.inputs[port]
        if place >= 0:
            return f"{target}=c{place}_{start};\n"
        if place == COUNTER:
            return f"{target}=B((T)(first+i*pace));\n"
        if (port, start) in self.kept:
            return f"{target}=h{port}_{start};\n"
        return f"SHARED(x{port},{start},{target})\n"

    def _put(self, address: str, element: int, value: str) -> str:
        return f"*(D*)({address}+{element * self.item})={value}[0];\n"

    def loop(self) -> Iterator[str]:
        """Print the function, which ``_kernels/plan/steps/turns.h`` calls.

        ``begin`` to ``end`` are turns. ``in`` has the inputs of the program in turn 0 and then the sources of copies;
        ``out`` its outputs, the targets of copies, and the arrays that are carried. ``si`` and ``so`` are bytes from
        turn to turn; behind those of ``in`` are the steps of the number of the row, and the first one.
        """
        program, wiring = self.program, self.wiring
        inputs, outputs, copies = len(program.inputs), len(program.outputs), wiring.copies
        held = sorted(p for p in program.read if wiring.inputs[p] == HELD)
        sources = sorted(p for p in program.read if wiring.inputs[p] == MEMORY)
        sources += [inputs + n for n, (_, source, _) in enumerate(copies) if source == MEMORY]
        targets = [q for q, k in enumerate(wiring.outputs) if k == MEMORY]
        targets += [outputs + n for n, (_, _, target) in enumerate(copies) if target == MEMORY]
        row = inputs + len(copies)
        yield f"const long pace=si[{row}],first=si[{row + 1}];(void)pace;(void)first;\n"
        for p in held:
            yield f"const char*x{p}=in[{p}];\n"
        for p in sources:
            yield f"const char*x{p}=in[{p}]+begin*si[{p}];const long sx{p}=si[{p}];\n"
        for q in targets:
            yield f"char*y{q}=out[{q}]+begin*so[{q}];const long sy{q}=so[{q}];\n"
        for p, e in sorted(self.kept):
            yield f"V h{p}_{e};SHARED(x{p},{e},h{p}_{e})\n"
        for k, size in enumerate(wiring.sizes):
            for e in range(size):
                yield f"V c{k}_{e};SHARED(out[{outputs + len(copies) + k}],{e},c{k}_{e})\n"
        yield "for(long i=begin;i<end;i++){\n"
        yield from self.steps()
        if program.checks:
            yield f"for(int k=0;k<{len(program.checks)};k++)if(w[k][0]==0){{LEAVE *which=k;return i;}}\n"
        yield from self._handed_on()
        yield from (f"x{p}+=sx{p};\n" for p in sources)
        yield from (f"y{q}+=sy{q};\n" for q in targets)
        yield "}\n"
        for k, size in enumerate(wiring.sizes):
            yield from (self._put(f"out[{outputs + len(copies) + k}]", e, f"c{k}_{e}") for e in range(size))

    def _handed_on(self) -> Iterator[str]:
        """Print the copies at the end of a turn, and what is carried into the next one."""
        wiring, inputs, outputs = self.wiring, len(self.program.inputs), len(self.program.outputs)
        made: dict[int, list[str]] = {}
        for k, stored in zip(wiring.outputs, self.program.stores, strict=True):
            if k >= 0:
                made[2 * k + 1] = [self.names[v] for v in stored]
        for k, size in enumerate(wiring.sizes):
            made[2 * k] = [f"c{k}_{e}" for e in range(size)]
        for n, (size, source, target) in enumerate(wiring.copies):
            values = made.get(source, [f"m{n}_{e}" for e in range(size)])
            if source == MEMORY:
                yield from (f"V m{n}_{e};SHARED(x{inputs + n},{e},m{n}_{e})\n" for e in range(size))
            if target == MEMORY:
                yield from (self._put(f"y{outputs + n}", e, value) for e, value in enumerate(values))
            else:
                made[target] = values
        carried = [(k, e) for k, size in enumerate(wiring.sizes) for e in range(size)]
        yield from (f"V n{k}_{e}={made[2 * k + 1][e]};\n" for k, e in carried)
        # to ask costs a tenth of a short turn: where nothing is chosen, no turn is the last before its time
        ops = {self.program.ops[v] for stored in self.program.stores for v in stored}
        if wiring.settles and ops <= _CHOSEN:
            same = "&&".join(f"!__builtin_memcmp(&n{k}_{e},&c{k}_{e},{self.item})" for k, e in reversed(carried))
            yield f"if({same})break;\n"
        yield from (f"c{k}_{e}=n{k}_{e};\n" for k, e in carried)


#: Samples of a tile in which columns of constants are written one after the other.
TILE = 512

#: Functions in one translation unit of a long program.
PART = 8

#: Pieces from which on the second-level cache does not keep the code from one vector of samples to the next.
MANY_PIECES = 64

# The code of the next piece comes to the second-level cache while a piece runs: processors look ahead in code by a few
# lines only. A piece is some 20 bytes an operation.
_SOON = """\
SLOW void soon(unsigned long code){for(int k=0;k<160;k++){COME((const char*)code+64*k)}__asm__ volatile("");}
"""

# Where upper parts of vector registers are left in use, code for shorter ones that is not of the same kind, such as
# NumPy's einsum, takes up to three times as long from then on. gcc clears them by itself only where it optimises more.
_LEAVE = """\
#ifdef __AVX__
#define LEAVE __builtin_ia32_vzeroupper();
#else
#define LEAVE
#endif
"""

# Whether a lane of a comparison holds. Asked lane by lane this takes 2 to 4 % of an inverse of a small matrix.
_ANY = """\
#if defined __AVX512F__ && BITS==512 && !defined __clang__
typedef long long ANYV __attribute__((vector_size(64)));
#define ANY(m) __builtin_ia32_ptestmq512((ANYV)(m),(ANYV)(m),-1)
#elif defined __AVX__ && BITS==256
typedef float ANYV __attribute__((vector_size(32)));
#define ANY(m) __builtin_ia32_movmskps256((ANYV)(m))
#else
INLINE long long any_lane(M m){long long any=0;for(int l=0;l<W;l++)any|=m[l];return any;}
#define ANY(m) any_lane(m)
#endif
"""

# A sum waits for its last addition; two run beside each other. In memory it would wait for the store as well, which
# takes several times as long. What is held changes places after each vector, so that the code is the same for all.
_SUMS = """\
#define ADD(e,x) acc[2*e]+=x;
#define HOLD(e,x) {V next=acc[2*e]+x;acc[2*e]=acc[2*e+1];acc[2*e+1]=next;}
"""


_HEAD = """\
long kernel(long begin,long end,const char*const*in,const long*si,char*const*out,const long*so,
V*w,void*const*fn,long*which)"""


class CSource(NamedTuple):
    """C text of a program and what a caller must know about it.

    Parameters
    ----------
    text : str
        A whole translation unit. It defines ``long kernel(long begin, long end,
        const char *const *in, const long *si, char *const *out, const long *so, V *w,
        void *const *fn, long *which)``: it runs the samples ``begin`` to ``end`` (a multiple
        of ``lanes`` of them). In rows ``in[p] + i * si[p]`` is the address of sample ``i`` of
        input ``p``; in columns ``in[p] + e * si[p]`` is the address of its element ``e`` in
        sample 0. It returns the first sample in which a checked value is zero, the number of
        that check in ``which``, or -1.
    symbols : tuple of str
        Functions of the vector library and SciPy's, whose addresses stand in ``fn`` in this order.
    lanes : int
        Samples in one vector.
    workspace : int
        Vectors at ``w``.
    reduce : bool
        Whether ``out[0]`` is a column of vectors, two for each element of all outputs, to
        which each sample's value is added in its lane: vectors of samples go to the first and
        the second in turns, and ``begin`` is 0, for the first.
    columns, single, constant, packed
        As in :func:`emit_c`.
    parts : tuple of str
        The same as several translation units, which may be compiled at once, or () for a program
        that is not long enough. What they share is hidden from outside.
    vectors : int
        Vectors of samples that are taken at once.
    turns : bool
        Whether it is a loop with the program in it, as :meth:`~.turns.LoopBody.loop` says.
    """

    text: str
    symbols: tuple[str, ...]
    lanes: int
    workspace: int
    reduce: bool
    columns: bool = False
    single: bool = False
    constant: tuple[bool, ...] = ()
    parts: tuple[str, ...] = ()
    vectors: int = 1
    packed: bool = False
    turns: bool = False


def emit_c(
    program: Program,
    target: Target,
    *,
    reduce: bool = False,
    columns: bool = False,
    single: bool = False,
    constant: Sequence[bool] = (),
    packed: bool = False,
    wiring: Wiring | None = None,
) -> CSource:
    """Print ``program`` as C.

    Parameters
    ----------
    program : Program
    target : Target
        The machine that will run it.
    reduce : bool
        Sum each output over the samples instead of writing it for each.
    columns : bool
        Read and write columns, whose neighbours are samples, instead of rows.
    single : bool
        Read, compute and write float32, of which a vector holds twice as many. What requires float64 is computed in it,
        but for sums over the samples and packed programs, which have no such unit.
    constant : sequence of bool
        Inputs that have one value for all samples.
    packed : bool
        Of columns: read and write arrays of known distances only, see :class:`~.body.BatchLayout`.
    wiring : Wiring, optional
        Print the loop that a packed program is the body of, too.

    Returns
    -------
    CSource
    """
    narrow = single and program.wide and not reduce and not packed
    layout = BatchLayout(columns, single, reduce, tuple(constant) if any(constant) else (), packed, narrow)
    given, single = single, layout.computes_single
    lanes = target.lanes * (2 if single else 1)
    wiring = wiring if packed else None
    spell = _spellings(program, target, lanes, single)
    if wiring is not None and fits_shortest(spell):
        lanes = SHORTEST * (2 if single else 1)
        spell = _spellings(program, target, lanes, single)
    symbols = [(op, s) for op, s in spell.items() if s.pointer]
    head = [preamble(lanes, single, narrow=narrow), _LEAVE, _ANY * bool(program.checks), _SUMS * reduce]
    head += dict.fromkeys(text for s in spell.values() for text in s.needs)
    for number, (op, s) in enumerate(symbols):
        count = s.form.count("%s") - 1
        if s.library:
            head.append(f"#define do_{op}(...) each_library{count}(fn[{number}],__VA_ARGS__)\n")
        else:
            head.append(f"#define do_{op} ((V(*)({','.join(['V'] * count)}))fn[{number}])\n")
    consts = {f"k{i}": f"CONST V k{i}={{ALL({literal(x, single)})}};\n" for i, x in program.consts.items()}

    forms = {op: s.form for op, s in spell.items()}
    known = tuple(s.pointer for _, s in symbols)
    together = all(op in spell and spell[op].own for op in ("sin", "cos"))
    if wiring is not None:
        body = LoopBody(program, lanes, forms, layout, wiring)
        body.together = together
        text = "".join([*head, *consts.values(), _HEAD, ";\n", _HEAD, "{\n", *body.loop(), "LEAVE return -1;}\n"])
        return CSource(
            text, known, lanes, body.workspace, reduce, columns, given, layout.constant, packed=packed, turns=True
        )
    write = Whole if length(program) <= 2 * CHUNK else Pieces
    functions = write(program, lanes, forms, layout)
    functions.together = together
    if functions.store_name == "store" or write is Pieces:
        head.append(moving_functions(lanes, single, narrow=narrow))
    fills = functions.fills()
    definitions = functions.definitions()
    entry = _entry(functions, bool(fills))
    text = "".join([*head, *consts.values(), fills, *definitions, entry])
    parts = tuple(_parts("".join(head), consts, definitions, functions.calls, fills + entry))
    workspace, vectors = functions.workspace, functions.vectors
    return CSource(text, known, lanes, workspace, reduce, columns, given, layout.constant, parts, vectors, packed)


def _spellings(program: Program, target: Target, lanes: int, single: bool) -> dict[str, Spelling]:
    """Return how each operation of a program is written."""
    every = dict.fromkeys(program.ops)
    return {op: spelling(op, lanes, target.prefix, target.vector_math, single) for op in every if op not in GIVEN}


def _parts(
    head: str, consts: Mapping[str, str], definitions: Sequence[str], names: Iterable[str], entry: str
) -> Iterator[str]:
    """Print a long program as translation units of :data:`PART` functions each, the last with the entry."""
    if len(definitions) <= PART:
        return
    for start in range(0, len(definitions), PART):
        body = "".join(definitions[start : start + PART])
        if start + PART >= len(definitions):
            body = "".join(f"PIECE void {name}({ARGUMENTS});\n" for name in names) + body + entry
        used = dict.fromkeys(re.findall(r"\bk\d+\b", body))
        yield "".join(["#define PARTS\n", head, *(consts[name] for name in used), body])


def _entry(functions: Functions, fills: bool) -> str:
    """Print the function that callers see: all pieces for each vector of samples, and the checks."""
    held, calls, program = functions.held, functions.calls, functions.program
    lines = [_SOON * (len(calls) > MANY_PIECES), _HEAD, ";\n", _HEAD, "{\n"]
    if held:
        lines.append(f"V*sums=(V*)out[0],acc[]={{{','.join(f'sums[{k}]' for k in range(2 * held))}}};\n")
    if functions.prefetch.told:
        lines.append(f"long far=(end-begin)*{functions.prefetch.row}>={FAR};\n")
    if isinstance(functions, Whole) and not functions.layout.packed:
        lines.append(_in_registers(len(program.inputs), 1 if functions.reduce else len(program.outputs)))
        lines += _kept_apart(functions)
    if functions.near:
        outputs = 0 if functions.reduce else len(program.outputs)
        numbers = [p for p in range(len(program.inputs)) if not functions.one_sample(p)]
        alike = [f"(!st[{p}]||st[{p}]==sizeof(D))" for p in numbers] + [f"ts[{p}]==sizeof(D)" for p in range(outputs)]
        lines.append(f"if({'&&'.join(alike)}){{V copies[{len(program.inputs) + 1}];\n")
        copy = "if(!st[%d]){char*to=(char*)(copies+%d);V_PUT(to,B(*(const D*)at[%d]))at[%d]=to;}\n"
        lines += [copy % ((p,) * 4) for p in numbers]
        lines += [*_loop(functions, fills, near=True), "}else{\n", *_loop(functions, fills), "}\n"]
    else:
        lines += _loop(functions, fills)
    if held:
        lines.append("long odd=(end-begin)/W&1;\n")  # after which they have changed places
        lines += (f"sums[{2 * k}+odd]=acc[{2 * k}];sums[{2 * k + 1}-odd]=acc[{2 * k + 1}];\n" for k in range(held))
    lines.append("LEAVE return -1;}\n")
    return "".join(lines)


def _in_registers(inputs: int, outputs: int) -> str:
    """Print copies of addresses and strides that the compiler keeps in registers.

    For all that it knows, each store of a number might change those of the caller.
    """
    copies = [("const char*", "at", "in", inputs), ("long ", "st", "si", inputs)]
    copies += [("char*", "to", "out", outputs), ("long ", "ts", "so", outputs)]
    lists = [(kind, name, "".join(f"{given}[{p}]," for p in range(count))) for kind, name, given, count in copies]
    return "".join(f"{kind}{name}[]={{{values}0}};\n" for kind, name, values in lists)


def _kept_apart(functions: Functions) -> Iterator[str]:
    """Print copies of the numbers that all samples share, which no store changes: registers hold them in the loop."""
    sizes = [port.size for port in functions.program.inputs]
    shared = sorted(p for p in functions.program.read if functions.one_sample(p))
    if sum(sizes[p] for p in shared) <= KEPT:
        for p in shared:
            yield f"D h{p}[{sizes[p]}];__builtin_memcpy(h{p},at[{p}],sizeof h{p});at[{p}]=(char*)h{p};\n"


def _loop(functions: Functions, fills: bool, *, near: bool = False) -> Iterator[str]:
    """Print the loop over the samples; ``near`` as the functions are told."""
    vectors, count, calls = functions.vectors, len(functions.program.checks), functions.calls
    copied = isinstance(functions, Whole) and not functions.layout.packed
    arguments = "i,at,st,to,ts,w,fn" if copied else "i,in,si,out,so,w,fn"
    arguments = f"{'j,' * (vectors > 1)}{arguments}{',acc' * bool(functions.held)}"
    arguments = f"{f'{int(near)},' * functions.near}{'far,' * functions.prefetch.told}{arguments}"
    tiled = fills and functions.layout.columns
    if tiled:
        yield f"for(long t=begin;t<end;t+={TILE}){{long stop=t+{TILE}<end?t+{TILE}:end;\n"
        yield f"{FILL_COLUMNS}(t,stop,out,so);\n"
    first, end = ("t", "stop") if tiled else ("begin", "end")
    yield f"for(long i={first};i<{end};i+={vectors}*W){{\n"
    if vectors > 1:
        # What is left over at the end is taken twice, and written twice.
        yield f"long j=i+W<{end}?i+W:i;\n"
    if fills and not tiled:
        yield f"{FILL_ROWS}(i,out,so);\n"
        yield f"if(j!=i){FILL_ROWS}(j,out,so);\n" * (vectors > 1)
    for number, name in enumerate(calls):
        if len(calls) > MANY_PIECES:
            yield f"soon((unsigned long){calls[(number + 1) % len(calls)]});\n"
        yield f"{name}({arguments});\n"
    if count:
        # The values of the checks are the first vectors of the workspace; a second vector's stand behind them.
        yield f"const V*c=w;long h=i;for(int n=0;n<{vectors};n++,c+={count},h+=W){{\n"
        yield f"M bad=(M){{0}};for(int k=0;k<{count};k++)bad|=(M)(c[k]==B(0.0));\n"
        yield "if(ANY(bad))for(int l=0;l<W;l++)"
        yield f"for(int k=0;k<{count};k++)if(c[k][l]==0){{LEAVE *which=k;return h+l;}}}}\n"
    yield "}}\n" if tiled else "}\n"
