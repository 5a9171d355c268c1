"""Spelling of each operation of a scalar program in C over lanes.

Arithmetic is an operator. Operations without one are short functions of whole vectors. Functions
of the platform's vector library are called through pointers found at run time; all others are
libm's (or our own text), lane by lane. Every lane's result depends on that lane alone,
so a sample's bits do not depend on its neighbours or its place in the batch.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from ...graph.primitives import complete
from ...graph.scalars.functions import FUNCTIONS
from ...lowering.program import SIGNATURES
from .preamble import texts_with, with_needs

__all__ = ["Spelling", "library_symbol", "literal", "spelling"]


def literal(x: float, single: bool) -> str:
    """Print a number exactly, or rounded to float32."""
    if single:
        with np.errstate(over="ignore"):
            x = float(np.float32(x))
    if math.isnan(x):
        return '__builtin_nan("")'
    if math.isinf(x):
        return "__builtin_inf()" if x > 0 else "-__builtin_inf()"
    return x.hex()


class Spelling(NamedTuple):
    """One operation in C.

    Parameters
    ----------
    form : str
        A declaration with ``%s`` for the number of the value and for each operand.
    needs : tuple of str
        Texts that must stand before it, in order.
    symbol : str
        The vector library's function called through a pointer, or the compiled package's, or "".
    own : str
        The name that our own function of whole vectors has in the interpreter, or "".
    library : str
        The name (:func:`library_symbol`) of SciPy's function of numbers that is called through a pointer, or "".
    """

    form: str
    needs: tuple[str, ...] = ()
    symbol: str = ""
    own: str = ""
    library: str = ""

    @property
    def pointer(self) -> str:
        """The name of what is called through a pointer, or ""."""
        return self.symbol or self.library


_REAL = "V v%s={};"
_MASK = "K v%s={};"

_DIRECT = {
    "add": _REAL.format("%s+%s"),
    "subtract": _REAL.format("%s-%s"),
    "multiply": _REAL.format("%s*%s"),
    "divide": _REAL.format("%s/%s"),
    "negative": _REAL.format("-%s"),
    "abs": _REAL.format("(V)((M)%s&~SIGN)"),
}
_MASKS = {
    "to_real": _REAL.format("NUMBERS(%s)"),
    "less": _MASK.format("LESS(%s,%s)"),
    "less_equal": _MASK.format("LESS_EQUAL(%s,%s)"),
    "equal": _MASK.format("EQUAL(%s,%s)"),
    "not_equal": _MASK.format("NOT_EQUAL(%s,%s)"),
    "logical_and": _MASK.format("%s&%s"),
    "logical_or": _MASK.format("%s|%s"),
    "logical_not": _MASK.format("~%s"),
}

# Of which lanes a condition holds: a bit for each in a register of its own, where there are such and the
# compiler does not find them by itself, or all bits of a lane. gcc takes three operations for what is one.
_CONDITIONS = """\
#if defined __AVX512DQ__ && BITS==512 && !defined __clang__
typedef unsigned BITTYPE K;
#define COMPARE(a,b,how) __builtin_ia32_cmppLETTER512_mask(a,b,how,-1,4)
#define EQUAL(a,b) COMPARE(a,b,0)
#define LESS(a,b) COMPARE(a,b,1)
#define LESS_EQUAL(a,b) COMPARE(a,b,2)
#define NOT_EQUAL(a,b) COMPARE(a,b,4)
#define LANES(k) ((V)__builtin_ia32_cvtmask2WORD512(k))
#define OF_LANES(v) ((K)__builtin_ia32_cvtWORD2mask512((M)(v)))
INLINE V do_where(K k,V a,V b){return __builtin_ia32_blendmpLETTER_512_mask(b,a,k);}
#define NUMBERS(k) do_where(k,B(1.0),B(0.0))
#else
typedef M K;
#define EQUAL(a,b) ((K)((a)==(b)))
#define LESS(a,b) ((K)((a)<(b)))
#define LESS_EQUAL(a,b) ((K)((a)<=(b)))
#define NOT_EQUAL(a,b) ((K)((a)!=(b)))
#define LANES(k) ((V)(k))
#define OF_LANES(v) ((K)(v))
INLINE V do_where(K k,V a,V b){return (V)((k&(M)a)|(~k&(M)b));}
#define NUMBERS(k) ((V)((k)&(M)B(1.0)))
#endif
"""

#: Functions of whole vectors that take conditions.
_CHOICES = {
    "where": (_CONDITIONS,),
    "minimum": (
        _CONDITIONS,
        "INLINE V do_minimum(V a,V b){return do_where(LESS_EQUAL(a,b)|NOT_EQUAL(a,a),a,b);}\n",
    ),
    "maximum": (
        _CONDITIONS,
        "INLINE V do_maximum(V a,V b){return do_where(LESS_EQUAL(b,a)|NOT_EQUAL(a,a),a,b);}\n",
    ),
}
#: Functions of whole vectors that the interpreter has in the same words.
_SHARED = frozenset(
    ("copysign", "fma", "fraction", "exponent", *[row.c for row in FUNCTIONS.values() if row.instruction])
)

#: Functions evaluated lane by lane, by the scalar function.
_LANES = {
    "mod": "sd_mod",
    "gamma": "sd_gamma",
    "lgamma": "sd_lgamma",
    **{row.c: row.special for row in FUNCTIONS.values() if row.special},
}

_BY_NAME = [row.c for row in FUNCTIONS.values() if row.vector or row.library]
complete((*_DIRECT, *_MASKS, *_CHOICES, *_SHARED, *_LANES, *_BY_NAME), __name__, SIGNATURES)

# The lanes are stored, and the upper parts of the registers cleared, before any of them is computed: libm and SciPy
# have code for shorter registers, which takes up to thirty times as long while upper parts are in use.
_APART = """\
#define APART(a) __asm__ volatile(""::"r"(a):"memory");LEAVE
SLOW int alike(const M*m){for(int l=1;l<W;l++)if((*m)[l]!=(*m)[0])return 0;return 1;}
"""
_NAMES = "xyzu"


def _each_lane(head: str, count: int, call: str) -> str:
    """Print a function of vectors that calls one of numbers for each lane, with ``%s`` for the operands.

    One sample fills all lanes: its value is computed once.
    """
    names = _NAMES[:count]
    stored = "".join(f"V {x}_[1]={{{x}}};" for x in names)
    lanes = [f"((T*){x}_)[l]" for x in names]  # T is what is computed with, D what is read and written
    apart = "".join(f"APART({x}_)" for x in names)
    call = call % ",".join(lanes)
    alike = "&&".join(f"alike((M*){x}_)" for x in names)
    loop = f"for(int l=0;l<few;l++){lanes[0]}={call};for(int l=few;l<W;l++){lanes[0]}=*(T*)x_;"
    return f"SLOW V {head}{{{stored}{apart}int few={alike}?1:W;{loop}return *x_;}}\n"


def _vectors(count: int) -> str:
    return ",".join(f"V {x}" for x in _NAMES[:count])


def _library_loop(count: int) -> str:
    """Print calls of a function of SciPy's, whose last argument is Cython's and has no meaning."""
    kind = ",".join(["double"] * count)
    return _each_lane(f"each_library{count}(void*f,{_vectors(count)})", count, f"((double(*)({kind},int))f)(%s,0)")


_VECTORS = ("vector.h",)
_SPECIAL = ("vector.h", "special_vectors.h")

_BESSEL = ("j0_near", "j1_near", "y0_near", "y1_near", "i0", "i1", "k0", "k1", "i0e", "i1e", "k0e", "k1e")

#: Our own functions in place of the vector library's, or of those of numbers: their headers, the lanes of float64 from
#: which on they are used, and the function of numbers that they call for some lanes, or "". Machines of four multiply
#: and add in one instruction; with these, sine and cosine together take as long as the library's two, and one of them
#: takes twice as long.
_OWN = {
    "exp": (_VECTORS, 4, ""),
    "log": (_VECTORS, 4, ""),
    "tanh": (_VECTORS, 4, ""),
    "power": (_VECTORS, 4, ""),
    "sin": (_VECTORS, 8, ""),
    "cos": (_VECTORS, 8, ""),
    "lgamma": (_SPECIAL, 4, "sd_lgamma"),
    "digamma": (_SPECIAL, 4, "sd_digamma"),
    "gamma": (_SPECIAL, 4, "sd_gamma"),
    "erfcx": (_SPECIAL, 4, ""),
    "ndtri": (_SPECIAL, 4, ""),
    "erfinv": (_SPECIAL, 4, ""),
    "erfcinv": (_SPECIAL, 4, ""),
    "ierfcx": (_SPECIAL, 4, "sd_ierfcx"),
    "log_ndtr_derivative": (_SPECIAL, 4, "sd_log_ndtr_derivative"),
    **dict.fromkeys(_BESSEL, (_SPECIAL, 4, "")),
}

#: Functions that float32 has by halves of its vectors: generated code calls the compiled package's through pointers.
_IN_HALVES = frozenset(
    ("power", "lgamma", "gamma", "erfcx", "ierfcx", "log_ndtr_derivative", "ndtri", "erfinv", "erfcinv", *_BESSEL)
)


@cache
def spelling(op: str, lanes: int, prefix: str, vector_math: frozenset[str], single: bool = False) -> Spelling:
    """Spell ``op``, an operation of a program other than "load" and "const".

    Parameters
    ----------
    op : str
    lanes : int
    prefix : str
        First part of the vector library's names for this instruction set, or "" for functions as exact as libm's.
    vector_math : frozenset of str
        The vector library's functions that this machine has.
    single : bool
        Of float32. What is computed lane by lane is computed in double and rounded.
    """
    if op in _DIRECT:
        return Spelling(_DIRECT[op])
    if op in _MASKS:
        return Spelling(_MASKS[op], _of_type((_CONDITIONS,), single))
    if op in _CHOICES:
        return Spelling(_call(op), _of_type(_CHOICES[op], single))
    if op in _SHARED:
        return Spelling(_call(op), with_needs(f"do_{op}", "vector.h"))
    headers, least, scalar = _OWN.get(op, ((), 0, ""))
    if headers and prefix and lanes >= least and not single:
        before = (_APART, *(texts_with(scalar) if scalar else ()))
        return Spelling(_call(op), (*before, *with_needs(f"do_{op}", *headers)), own=f"do_{op}_d{lanes}")
    if op in _IN_HALVES and prefix and lanes >= 2 * least and single:
        return Spelling(_call(op), (), f"do_{op}_f{lanes}")
    if op in _LANES:
        return Spelling(_call(op), (*texts_with(_LANES[op]), _APART, _loop(op, _LANES[op])))
    if FUNCTIONS[op].library:
        symbol = library_symbol(FUNCTIONS[op].library, len(SIGNATURES[op]))
        return Spelling(_call(op), (_APART, _library_loop(len(SIGNATURES[op]))), library=symbol)
    name = FUNCTIONS[op].vector
    symbol = f"{prefix}N{lanes}{'v' * len(SIGNATURES[op])}_{name}{'f' if single else ''}"
    if prefix and symbol in vector_math:
        return Spelling(_call(op), (), symbol)
    return Spelling(_call(op), (_APART, _loop(op, f"__builtin_{name}")))


def library_symbol(name: str, arity: int) -> str:
    """Return what the tables of addresses call a function of SciPy's of so many numbers."""
    return f"scipy:{name}:{arity}"


def _of_type(texts: tuple[str, ...], single: bool) -> tuple[str, ...]:
    """Put the names of builtins for float32 or float64 in."""
    names = {"LETTER": "sd"[not single], "WORD": "qd"[single]}
    names["BITTYPE"] = "short" if single else "char"
    for name, spelled in names.items():
        texts = tuple(text.replace(name, spelled) for text in texts)
    return texts


def _call(op: str) -> str:
    return _REAL.format(f"do_{op}({','.join(['%s'] * len(SIGNATURES[op]))})")


def _loop(op: str, scalar: str) -> str:
    count = len(SIGNATURES[op])
    return _each_lane(f"do_{op}({_vectors(count)})", count, f"{scalar}(%s)")
