"""The C text that every generated kernel starts with: vectors, and how they are filled from rows.

A value is one vector register holding the same scalar of ``W`` consecutive samples. A sample's scalars are neighbours
in memory, so filling lanes is transposing small blocks; this is done by whole-register shuffles, which on rows costs
little more than a copy. Nothing is included: system headers of vector intrinsics take longer to read than most kernels
to build. Text that generated code and the compiled package share is read from the package's own headers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ...errors import InternalError

__all__ = [
    "ITEM",
    "SCALAR",
    "block_widths",
    "kernel_text",
    "moving_functions",
    "preamble",
    "texts_with",
    "with_needs",
    "without_comments",
]


#: Headers of functions of numbers that C's library lacks, or has otherwise.
SCALAR = ("scalar.h", "special.h", "error.h", "incomplete.h", "tails.h", "integrals.h", "hypergeometric.h")
#: Headers whose functions call those of another one.
_NEEDS = {"tails.h": ("special.h", "error.h", "incomplete.h")}

_DEFINED = re.compile(r"^(?:INLINE|SLOW) \w+ NAME\((\w+)\)\(", re.MULTILINE)
_CALLED = re.compile(r"NAME\((\w+)\)")
_COMMENT = re.compile(r"/\*.*?\*/\n?", re.DOTALL)


def kernel_text(header: str) -> str:
    """Return a header of functions from the compiled package."""
    return Path(__file__).parents[2].joinpath("_kernels", "functions", header).read_text(encoding="utf-8")


@cache
def texts_with(function: str) -> tuple[str, ...]:
    """Return the header that has a function of numbers, as the compiled package has it, behind those that it needs."""
    for header in SCALAR:
        if f" {function}(" in kernel_text(header):
            return tuple(kernel_text(each) for each in (*_NEEDS.get(header, ()), header))
    raise InternalError(f"no header has the text of {function}")


def without_comments(text: str) -> str:
    """Return C text without its comments, which the compiler would read again for every kernel."""
    return _COMMENT.sub("", text)


@cache
def _functions_of(header: str) -> dict[str, str]:
    """Return the functions of whole vectors that a header defines, a paragraph each, by name."""
    paragraphs = re.split(r"\n{2,}", without_comments(kernel_text(header)).strip())
    return {match[1]: text + "\n" for text in paragraphs if (match := _DEFINED.search(text))}


@cache
def with_needs(name: str, *headers: str) -> tuple[str, ...]:
    """Return the text of a function behind those of the functions that it calls, each once and in order.

    Examples
    --------
    >>> [text.split("(")[1].split(")")[0] for text in with_needs("do_floor", "vector.h")]
    ['do_pick', 'do_rint', 'do_floor']
    """
    known = {key: text for header in headers for key, text in _functions_of(header).items()}
    needed = {name}
    for other in reversed(known):
        if other in needed:
            needed.update(_CALLED.findall(known[other]))
    return tuple(text for key, text in known.items() if key in needed)


#: Bytes of one number, by whether numbers are float32.
ITEM = {False: 8, True: 4}

_TYPES = """\
#define W {lanes}
#define BITS {bits}
typedef {number} T;
typedef T V __attribute__((vector_size({bytes})));
typedef {held} D __attribute__((may_alias));
typedef {held} U __attribute__((vector_size({held_bytes}),aligned({item}),may_alias));
typedef {integer} M __attribute__((vector_size({bytes})));
typedef {held} H __attribute__((vector_size(32),aligned({item}),may_alias));
typedef {held} Q __attribute__((vector_size(16),aligned({item}),may_alias));
#define ALL(x) {copies}
#define B(x) ((V){{ALL(x)}})
#define SIGN ((M)B(-0.0))
#define INLINE static inline __attribute__((always_inline,unused))
#define SLOW static __attribute__((noinline,unused))
#define CONST static const __attribute__((unused))
#ifdef PARTS
#define PIECE __attribute__((noinline,visibility("hidden")))
#else
#define PIECE static __attribute__((noinline))
#endif
#define NAME(x) x
#define KIND(before,after) before##{letter}##after
#define SINGLE {single}
#define NARROW {narrow}
#if defined __AVX512F__ && BITS==512
#define X86 512
#elif defined __FMA__ && BITS==256
#define X86 256
#elif defined __SSE2__ && BITS==128
#define X86 128
#else
#define X86 0
#endif
#ifndef __has_builtin
#define __has_builtin(x) 0
#endif
"""

# Two numbers of float32 as one of float64.
_PAIRS = """\
typedef int N __attribute__((vector_size(4*W)));
typedef double F __attribute__((aligned(4),may_alias));
typedef double G __attribute__((vector_size(8*W/2),aligned(4),may_alias));
"""

# A port of one element is a column when its samples are neighbours, and one number when it has no batch axis. What
# later samples need is asked for as prefetch.py says.
_SINGLE = """\
#define LOAD1(p,s,c0) if((s)==sizeof(D))c0=V_GET(p);else if((s)==0)c0=B(*(const D*)(p));else GATHER(p,s,c0)
#define STORE1(p,s,c0) if((s)==sizeof(D))V_PUT(p,c0)else SCATTER(p,s,c0)
#if X86==512
#define IN_REGISTER(v) __asm__("":"+v"(v));
#elif X86
#define IN_REGISTER(v) __asm__("":"+x"(v));
#else
#define IN_REGISTER(v)
#endif
#define LOADNEAR(p,s,c0) if(near)c0=V_GET(p);else LOAD1(p,s,c0)
#define STORENEAR(p,s,c0) if(near)V_PUT(p,c0)else STORE1(p,s,c0)
#define COME(p) __builtin_prefetch(p,0,2);
#define READ_SOON(p) __builtin_prefetch(p,0,3);
#define WRITTEN_SOON(p) __builtin_prefetch(p,1,3);
#define ASK(p,s) {{{asks}}}
#define LOADC(p,s,k,c0) c0=V_GET((p)+(k)*(s));
#define STOREC(p,s,k,c0) V_PUT((p)+(k)*(s),c0)
#define LOADPACKED(p,c0) c0=V_GET(p);
#define STOREPACKED(p,c0) V_PUT(p,c0)
#define SHARED(p,k,c0) c0=B(*(const D*)((p)+(k)*sizeof(D)));
"""


def _fills(lanes: int, single: bool, narrow: bool) -> str:
    """Print the stores of blocks of constants: the same row for every sample."""
    text, item = "", ITEM[single or narrow]
    for width in block_widths(lanes, single or narrow)[1]:
        names = ",".join(f"c{k}" for k in range(width))
        rows = "".join(f"*(R{width}*)((p)+{k}*(s))=r;" for k in range(lanes))
        size = f"vector_size({width * item}),aligned({item})"
        text += f"typedef D R{width} __attribute__(({size},may_alias));\n"
        text += f"#define FILL{width}(p,s,{names}) {{R{width} r={{{names}}};{rows}}}\n"
    return text


def _alone(numbers: Sequence[str], item: int) -> str:
    """Print the store of a part of one row by 16 bytes at a time.

    Rows begin at a multiple of that, hardly ever of a cache's line, and wider stores that cross lines are slow.
    """
    step = min(len(numbers), 16 // item)
    return "".join(
        f"*(R{step}*)(p+{k * item})=(R{step}){{{','.join(numbers[k : k + step])}}};"
        for k in range(0, len(numbers), step)
    )


def moving_functions(lanes: int, single: bool = False, *, narrow: bool = False) -> str:
    """Print functions that move blocks, for programs with so many that code in place would take long to build."""
    # What only asks has no effect that a compiler knows of, and is not called unless something in it is volatile.
    # Without a distance between samples there is no later one.
    text = 'SLOW void ask_rows(const char*p,long s){ASK(p,s)__asm__ volatile("");}\n'
    text += "#define ask(p,s) if(s)ask_rows(p,s)\n"
    loads, stores = block_widths(lanes, single or narrow)
    for width in loads:
        targets, values = (",".join(f"{kind}c{k}" for k in range(width)) for kind in ("V*", "*"))
        text += f"SLOW void load{width}(const char*p,long s,{targets}){{LOAD{width}(p,s,{values})}}\n"
    for width in stores:
        values, names = (",".join(f"{kind}c{k}" for k in range(width)) for kind in ("V ", ""))
        # Without a distance between samples there is one only, and it fills all lanes.
        text += f"SLOW void store{width}(char*p,long s,{values}){{if(s==0){{"
        text += _alone([f"c{k}[0]" for k in range(width)], ITEM[single or narrow])
        text += f"return;}}STORE{width}(p,s,{names})}}\n"
        rows = "".join(f"*(R{width}*)(p+{k}*s)=r;" for k in range(lanes))
        text += f"SLOW void fill{width}(char*p,long s,R{width} r){{if(s==0){{"
        text += _alone([f"r[{k}]" for k in range(width)], ITEM[single or narrow])
        text += f"return;}}{rows}}}\n"
    return text


#: Widths of the blocks of float64 that LOADn and STOREn move, by lanes; of float32 four and two.
_WIDTHS = {8: ((4, 2), (8, 4, 2)), 4: ((4, 2), (4, 2)), 2: ((2,), (2,))}


@cache
def _transposes() -> str:
    """Return the C text that moves rows, as the compiled package has it."""
    return without_comments(kernel_text("transpose.h"))


def preamble(lanes: int, single: bool = False, *, narrow: bool = False) -> str:
    """Print types and block transposes.

    Parameters
    ----------
    lanes : int
        Numbers in a vector: 2, 4 or 8 doubles, or 4, 8 or 16 of float32.
    single : bool
        Whether vectors are of float32.
    narrow : bool
        Whether arrays are float32, and vectors float64.
    """
    item = ITEM[single or narrow]
    number, integer = ("float", "int") if single else ("double", "long long")
    types = _TYPES.format(
        lanes=lanes,
        number=number,
        integer=integer,
        item=item,
        held="float" if single or narrow else "double",
        held_bytes=item * lanes,
        bytes=ITEM[single] * lanes,
        bits=8 * ITEM[single] * lanes,
        copies=",".join(["x"] * lanes),
        letter="ds"[single],
        single=int(single),
        narrow=int(narrow),
    )
    asks = "".join(f"COME((p)+{k}*(s))" for k in range(lanes))
    pairs = _PAIRS * (single or narrow)
    return "".join([types, pairs, _transposes(), _fills(lanes, single, narrow), _SINGLE.format(asks=asks)])


def block_widths(lanes: int, single: bool = False) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Widths of the blocks that LOADn and STOREn move, widest first."""
    return ((4, 2), (4, 2)) if single and lanes > 2 else _WIDTHS[lanes]
