"""The parts of source that scalar C and scalar Cython share: arithmetic, functions, numbers, long programs in parts.

Each adds the forms of its own to these: C has other words for logic than Cython, and needs casts that Cython does not.
Functions that C's library lacks are the package's own, as portable C: no compiler's builtins, attributes or vectors.
Numbers in them are decimal, since C++ had no hexadecimal ones before 2017.

A long program becomes several functions of bounded length, since the time of compilers grows faster than a function
does. A value that one part computes and a later one reads has a place in a workspace.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache

from ..graph.scalars.functions import FUNCTIONS
from ..lowering.program import MASK_OPS, SIGNATURES, Program
from .c.preamble import SCALAR, kernel_text

__all__ = ["ARITHMETIC", "CHUNK", "LIBM", "LIBRARY", "OWN", "Parts", "literal", "text_of"]


#: Operations in one function; a program up to twice as long stays whole.
CHUNK = 1000


class Parts:
    """The functions that compute one sample: one, or for a long program several around a workspace.

    Their arguments are ``x0``, ``x1``, ... for inputs, ``y0``, ``y1``, ... for outputs, and ``w`` for the workspace.
    Values are ``v`` and their number, and conditions ``m`` and theirs.

    Parameters
    ----------
    program : Program

    Attributes
    ----------
    parts : list of list of int
        The values that each function computes.
    whole : bool
        Whether there is one function only.
    part : dict of int to int
        The function of each value.
    slots : dict of int to int
        Place in the workspace of each value that a later function reads.
    ports : list of str
        Names of the arguments.
    declared, passed : str
        The arguments where a function is defined, and where it is called.
    """

    #: End of a statement.
    end = ""

    def __init__(self, program: Program) -> None:
        self.program = program
        values = program.computed
        step = CHUNK if len(values) + sum(map(len, program.stores)) > 2 * CHUNK else max(len(values), 1)
        self.parts = [values[start : start + step] for start in range(0, len(values), step)]
        self.whole = len(self.parts) <= 1 and step != CHUNK
        self.part = {i: number for number, part in enumerate(self.parts) for i in part}
        self.slots: dict[int, int] = {}
        if not self.whole:
            readers = ((a, self.part[i]) for i in values for a in program.args[i])
            ends = [v for store in program.stores for v in store] + [v for v, _ in program.checks]
            for a, reader in [*readers, *((v, len(self.parts)) for v in ends)]:
                if a in self.part and self.part[a] < reader:
                    self.slots.setdefault(a, len(self.slots))
        kinds = {f"x{p}": "const double *" for p in range(len(program.inputs))}
        kinds |= {f"y{p}": "double *" for p in range(len(program.outputs))}
        kinds |= {"w": "double *"} if self.slots else {}
        self.ports = list(kinds)
        self.declared = ", ".join(f"{kind}{name}" for name, kind in kinds.items())
        self.passed = ", ".join(kinds)

    def literal(self, x: float) -> str:
        """Print a number."""
        return literal(x)

    def crosses(self, value: int, number: int | None) -> bool:
        """Tell whether function ``number``, or the last one for None, reads a value from the workspace."""
        return not self.whole and (number is None or self.part[value] != number)

    def operand(self, i: int, number: int | None = None) -> str:
        """Print a value as function ``number`` reads it, or the last one."""
        op = self.program.ops[i]
        if op == "const":
            return self.literal(self.program.consts[i])
        if op == "load":
            port, element = self.program.args[i]
            return f"x{port}[{element}]"
        mask = op in MASK_OPS
        if self.crosses(i, number):
            return f"(w[{self.slots[i]}] != 0.0)" if mask else f"w[{self.slots[i]}]"
        return f"m{i}" if mask else f"v{i}"

    @property
    def stores(self) -> list[list[str]]:
        """The statements that write outputs, those of one function at a time."""
        targets = [(port, e, v) for port, store in enumerate(self.program.stores) for e, v in enumerate(store)]
        lines = [f"y{port}[{e}] = {self.operand(v)}{self.end}" for port, e, v in targets]
        step = max(len(lines), 1) if self.whole else CHUNK
        return [lines[start : start + step] for start in range(0, len(lines), step)]


#: Operations that are operators in both languages.
ARITHMETIC = {"negative": "-{}", **{op: f"{{}} {row.infix} {{}}" for op, row in FUNCTIONS.items() if row.infix}}

_INSTRUCTIONS = {row.c: row.instruction for row in FUNCTIONS.values() if row.instruction}

#: Operations by the names that C's mathematical library has for them.
LIBM = {
    **{op: name for op, name in _INSTRUCTIONS.items() if not name.startswith("sd_")},
    **{op: op for op in ("copysign", "fma")},
    **{row.c: row.vector for row in FUNCTIONS.values() if row.vector and row.c in SIGNATURES},
    "abs": "fabs",
    "exponent": "logb",
    "gamma": "tgamma",
    "lgamma": "lgamma",
}

#: Operations by the package's own functions.
OWN = {
    **{op: f"sd_{op}" for op in ("minimum", "maximum", "fraction", "mod")},
    **{op: name for op, name in _INSTRUCTIONS.items() if name.startswith("sd_")},
    **{row.c: row.special for row in FUNCTIONS.values() if row.special},
}

#: Operations by SciPy's functions, which Cython alone can call.
LIBRARY = {row.c: row.library for row in FUNCTIONS.values() if row.library}


def text_of(functions: Iterable[str]) -> str:
    """Return some of the package's own functions as C, each behind those that it calls.

    Examples
    --------
    >>> print(text_of(["sd_minimum"]).strip())
    /* The smaller number; nan is kept, as NumPy keeps it. */
    static double sd_minimum(double a, double b) { return a <= b || a != a ? a : b; }
    """
    wanted = set(functions)
    pieces = _pieces()
    for name in reversed(pieces):
        if name in wanted:
            wanted.update(other for other in pieces if re.search(rf"\b{other}\(", pieces[name]))
    text = "".join(pieces[name] for name in pieces if name in wanted)
    return f"#define SD_PI {math.pi!r}\n\n{text}" if "SD_PI" in text else text


@cache
def _pieces() -> dict[str, str]:
    """Return the package's functions of numbers, each with the comment before it, by name and in order."""
    text = "\n".join(map(kernel_text, SCALAR))
    text = text.replace("__attribute__((unused)) ", "").replace('__builtin_nan("")', "(double)NAN")
    text = re.sub(r"__builtin_(\w+)", r"\1", text.replace("__builtin_inf()", "(double)INFINITY"))
    text = re.sub(r"\b0x1\.[0-9a-f]+p[-+]?[0-9]+", lambda match: repr(float.fromhex(match[0])), text)
    found: dict[str, str] = {}
    for paragraph in re.split(r"\n{2,}(?=/\*)", text):
        name = re.search(r"^static (?:double|void|int) (\w+)\(", paragraph, re.MULTILINE)
        if name is not None:
            found[name[1]] = paragraph.strip("\n") + "\n\n"
    return found


def literal(x: float, cast: str = "") -> str:
    """Print a number that a compiler reads back as the same double.

    Parameters
    ----------
    x : float
    cast : str
        What stands before the macros of C's library, which may be of type float.

    Examples
    --------
    >>> literal(0.1), literal(-2.0), literal(float("inf"), "(double)")
    ('0.1', '(-2.0)', '(double)INFINITY')
    """
    if math.isnan(x):
        return f"{cast}NAN"
    if math.isinf(x):
        return f"{cast}INFINITY" if x > 0 else f"(-{cast}INFINITY)"
    return repr(x) if math.copysign(1.0, x) > 0 else f"({x!r})"
