"""How each operation of a scalar program is written in C99, and the functions that C's library lacks.

The text is scalar and portable: no compiler's builtins, attributes or vectors. Numbers are decimal, since C++ had no
hexadecimal ones before 2017.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from functools import cache

from ...errors import UnsupportedError
from ...graph.primitives import complete
from ...graph.scalars.functions import FUNCTIONS
from ...lowering.program import MASK_OPS, SIGNATURES, Program
from .. import scalars
from ..c.spelling import SPECIAL
from ..c.texts import kernel_text
from ..scalars import ARITHMETIC, LIBM

__all__ = ["functions_text", "literal", "statement"]

_FORMS = {
    **ARITHMETIC,
    "logical_and": "{} && {}",
    "logical_or": "{} || {}",
    "logical_not": "!{}",
    "to_real": "{} ? 1.0 : 0.0",
    "where": "{} ? {} : {}",
}

_LIBM = {**LIBM, "exponent": "logb"}

#: Operations that are short functions of their own.
_OWN = {
    "minimum": """\
static double sd_minimum(double a, double b) { return a <= b || a != a ? a : b; } /* keeps nan */
""",
    "maximum": """\
static double sd_maximum(double a, double b) { return a >= b || a != a ? a : b; } /* keeps nan */
""",
    "sign": """\
static double sd_sign(double x) { return x != x ? x : (double)(x > 0.0) - (double)(x < 0.0); }
""",
    "fraction": """\
static double sd_fraction(double x) {
  int exponent;
  if (x != x) return x;
  return copysign(x == 0.0 || x - x != 0.0 ? 1.0 : 2.0 * frexp(fabs(x), &exponent), x);
}
""",
    "mod": """\
static double sd_mod(double a, double b) {
  double r = fmod(a, b);
  if (b == 0.0) return r;
  if (r == 0.0) return copysign(0.0, b);
  return (r < 0.0) != (b < 0.0) ? r + b : r;
}
""",
}

_SPECIAL = {row.c: row.special for row in FUNCTIONS.values() if row.special}
#: Functions of SciPy's, which C that stands alone cannot call.
_LIBRARY = {row.c: row.library for row in FUNCTIONS.values() if row.library}
complete((*_FORMS, *_LIBM, *_OWN, *_SPECIAL, *_LIBRARY), __name__, SIGNATURES)


def literal(x: float) -> str:
    """Print a number as C, whose macros of infinity and nan are of type float.

    Examples
    --------
    >>> literal(0.1), literal(float("-inf"))
    ('0.1', '(-(double)INFINITY)')
    """
    return scalars.literal(x, "(double)")


def statement(op: str, number: int, operands: Sequence[str]) -> str:
    """Return the declaration of value ``number``, which is ``op`` of some operands.

    Examples
    --------
    >>> statement("add", 3, ["x0[0]", "v2"])
    'const double v3 = x0[0] + v2;'
    """
    _refuse_library(op)
    if op in _FORMS:
        text = _FORMS[op].format(*operands)
    else:
        name = _LIBM.get(op) or (f"sd_{op}" if op in _OWN else _SPECIAL[op])
        text = f"{name}({', '.join(operands)})"
    return f"const {'int m' if op in MASK_OPS else 'double v'}{number} = {text};"


def _refuse_library(op: str) -> None:
    if op in _LIBRARY:
        raise UnsupportedError(
            f"{_LIBRARY[op]} is computed by SciPy, which C that stands alone cannot call; export it with "
            "target='cython', or call the kernel"
        )


def functions_text(programs: Collection[Program], more: Collection[str] = ()) -> str:
    """Return the functions that some programs need beside C's library, each behind those that it calls.

    Parameters
    ----------
    programs : collection of Program
    more : collection of str
        Operations that are needed besides.
    """
    used = {op for program in programs for op in program.ops} | set(more)
    for op in _LIBRARY:
        if op in used:
            raise UnsupportedError(
                f"{op} is computed by SciPy, which C that stands alone cannot call; export it with target='cython', or "
                "call the kernel"
            )
    text = "".join(f"{_OWN[op]}\n" for op in _OWN if op in used)
    wanted = {_SPECIAL[op] for op in used if op in _SPECIAL}
    if not wanted:
        return text
    pieces = _special_pieces()
    for name in reversed(pieces):
        if name in wanted:
            wanted.update(other for other in pieces if re.search(rf"\b{other}\(", pieces[name]))
    return text + f"#define SD_PI {math.pi!r}\n\n" + "".join(pieces[name] for name in pieces if name in wanted)


@cache
def _special_pieces() -> dict[str, str]:
    """Return the package's special functions as C99, each with the comment before it, by name and in order."""
    text = "\n".join(map(kernel_text, SPECIAL))
    text = text.replace("__attribute__((unused)) ", "").replace('__builtin_nan("")', "(double)NAN")
    text = re.sub(r"__builtin_(\w+)", r"\1", text.replace("__builtin_inf()", "(double)INFINITY"))
    text = re.sub(r"\b0x1\.[0-9a-f]+p[-+]?[0-9]+", lambda match: repr(float.fromhex(match[0])), text)
    found: dict[str, str] = {}
    for paragraph in re.split(r"\n{2,}(?=/\*)", text):
        name = re.search(r"^static (?:double|void) (\w+)\(", paragraph, re.MULTILINE)
        if name is not None:
            found[name[1]] = paragraph.strip("\n") + "\n\n"
    return found
