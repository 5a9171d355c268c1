"""Print a scalar program as C over lanes: one vector of samples for each value.

The function that comes out reads arrays of one layout and type as NumPy users hold them, rows
or columns, and takes whole vectors of samples only; what is left over at the end of a batch,
and arrays that lie in any other way, are packed by the call path (``symdiff/_kernels``), which
is compiled once and for all. Nothing of the user's text is printed: ports and values are
numbers.

The order of the operations and the way each is rounded are the program's own, whatever the
layout and the number of lanes; so all units of one type give the same bits, and so does the
interpreter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...lowering.plan.plan import Wiring
from ...lowering.program import GIVEN, Program
from .body import ARGUMENTS, CHUNK, Functions, Pieces, Whole, length
from .fills import FILL_COLUMNS, FILL_ROWS
from .layout import BatchLayout
from .preamble import moving_functions, preamble
from .prefetch import FAR
from .spelling import Spelling, literal, spelling
from .target import Target
from .turns import SHORTEST, LoopBody, fits_shortest

__all__ = ["CHUNK", "CSource", "Target", "emit_c"]

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
