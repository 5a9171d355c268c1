"""Print a scalar program as a Cython module that can be shipped without symdiff.

What comes out is what a person would write: one ``nogil`` function for a sample, in scalar C
arithmetic that any compiler takes, and around it one Python function that checks its arguments,
lines up their batch axes and loops. It needs NumPy to run, and SciPy where it
calls functions of SciPy's; nothing but Cython to be built.

Values and ports are numbers in the text; :mod:`symdiff.codegen.cython.module` says which user text
reaches it, and why that is safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from ...graph.primitives import complete
from ...graph.scalars.functions import FUNCTIONS
from ...lowering.program import MASK_OPS, SIGNATURES, Program
from ..c.spelling import special_text
from ..parts import Parts
from ..scalars import ARITHMETIC, LIBM
from .module import emit_head, emit_interface

__all__ = ["emit_cython"]

_FORMS = {
    **ARITHMETIC,
    "logical_and": "{} and {}",
    "logical_or": "{} or {}",
    "logical_not": "not {}",
    "to_real": "1.0 if {} else 0.0",
    "where": "{1} if {0} else {2}",
}

#: Operations that are short functions of their own: what they need from the library, and the text.
_INLINE = {
    "minimum": (
        (),
        """\
cdef inline double minimum(double a, double b) noexcept nogil:
    return a if a <= b or a != a else b  # nan is kept, as NumPy keeps it
""",
    ),
    "maximum": (
        (),
        """\
cdef inline double maximum(double a, double b) noexcept nogil:
    return a if a >= b or a != a else b  # nan is kept, as NumPy keeps it
""",
    ),
    "sign": (
        (),
        """\
cdef inline double sign(double x) noexcept nogil:
    return x if x != x else <double>(x > 0.0) - <double>(x < 0.0)
""",
    ),
    "fraction": (
        ("copysign", "fabs", "frexp"),
        """\
cdef inline double fraction(double x) noexcept nogil:
    cdef int exponent
    return x if x != x else copysign(1.0 if x == 0.0 or x - x != 0.0 else 2 * frexp(fabs(x), &exponent), x)
""",
    ),
    "exponent": (
        ("logb",),
        """\
cdef inline double exponent(double x) noexcept nogil:
    return logb(x)
""",
    ),
    "mod": (
        ("fmod", "copysign"),
        """\
cdef inline double mod(double a, double b) noexcept nogil:
    cdef double r = fmod(a, b)
    if b == 0.0:
        return r
    if r == 0.0:
        return copysign(0.0, b)
    return r + b if (r < 0.0) != (b < 0.0) else r
""",
    ),
}

_PARAMETERS = {1: "double x", 2: "double x, double y", 3: "double x, double y, double z"}
_SPECIAL = {
    row.c: f'double {row.c} "{row.special}"({_PARAMETERS[row.arity]})' for row in FUNCTIONS.values() if row.special
}
#: Functions of SciPy's, which the module imports as C.
_LIBRARY = {row.c: row.library for row in FUNCTIONS.values() if row.library}
#: What operations are called, where it is not their own name: outputs are y0 and y1, as Bessel functions are.
_NAMES = {**LIBM, **{op: f"scipy_{op}" for op in _LIBRARY}}
complete((*_FORMS, *LIBM, *_INLINE, *_SPECIAL, *_LIBRARY), __name__, SIGNATURES)


def emit_cython(
    program: Program, *, formula: str = "", batched: Sequence[bool] | None = None, reduce: bool = False
) -> str:
    """Print ``program`` as a Cython module with one function, ``evaluate``.

    Parameters
    ----------
    program : Program
    formula : str
        What is computed, for the docstring.
    batched : sequence of bool, optional
        Whether each input may have batch axes; by default all may.
    reduce : bool
        Sum each output over the samples.

    Returns
    -------
    str
    """
    allowed = [True] * len(program.inputs) if batched is None else list(batched)
    used = {op for op in program.ops if op not in ("load", "const")}
    parts = _Parts(program)
    functions = parts.functions()
    wanted = {LIBM[op] for op in used if op in LIBM}
    wanted |= {name for op in used if op in _INLINE for name in _INLINE[op][0]}
    special = [op for op in _SPECIAL if op in used]
    library = [f"{name} as scipy_{op}" for op, name in _LIBRARY.items() if op in used]
    numbers = {name for name in ("INFINITY", "NAN") if any(name in text for text in functions)}
    text = [emit_head(program)]
    if wanted | numbers:
        text.append(f"from libc.math cimport {', '.join(sorted(wanted | numbers))}\n\n")
    if library:
        text.append(f"from scipy.special.cython_special cimport {', '.join(library)}\n\n")
    if special:
        texts = dict.fromkeys(special_text(FUNCTIONS[op].special) for op in special)
        verbatim = "".join(texts).replace("\\", "\\\\")
        lines = "".join(f"    {_SPECIAL[op]} noexcept nogil\n" for op in special)
        text.append(f'cdef extern from *:\n    """\n{verbatim}    """\n{lines}\n')
    text += (f"\n{_INLINE[op][1]}\n" for op in _INLINE if op in used)
    text += (f"\n{function}\n" for function in functions)
    text.append("\n")
    text.append(emit_interface(program, workspace=len(parts.slots), formula=formula, batched=allowed, reduce=reduce))
    return "".join(text)


class _Parts(Parts):
    """The functions that compute one sample: one, or for a long program several around a workspace."""

    def functions(self) -> list[str]:
        """Print them; the last is ``sample``, which callers see."""
        if self.whole:
            lines = [line for part in self.parts for line in self._compute(part, 0)]
            return [self._sample(lines)]
        texts, calls = [], []
        for number, part in enumerate(self.parts):
            texts.append(self._function(f"part{number}", self._compute(part, number)))
            calls.append(f"part{number}")
        for number, stores in enumerate(self.stores):
            texts.append(self._function(f"store{number}", stores))
            calls.append(f"store{number}")
        return [*texts, self._sample([f"{name}({self.passed})" for name in calls])]

    def _function(self, name: str, lines: Iterable[str]) -> str:
        body = "".join(f"    {line}\n" for line in lines)
        return f"cdef void {name}({self.declared}) noexcept nogil:\n{body}"

    def _sample(self, lines: list[str]) -> str:
        checks = []
        for number, (value, _) in enumerate(self.program.checks):
            checks += [f"if {self.operand(value)} == 0.0:", f"    return {number + 1}"]
        if self.whole:
            checks += chain.from_iterable(self.stores)
        ports = [(f"x{p}", port, "in") for p, port in enumerate(self.program.inputs)]
        ports += [(f"y{p}", port, "out") for p, port in enumerate(self.program.outputs)]
        told = "".join(f"    {name}: {way}, {port.size} numbers\n" for name, port, way in ports)
        head = f"cdef int sample({self.declared}) noexcept nogil:\n"
        words = f'    """Compute one sample; return 0, or the number of the check that failed.\n\n{told}    """\n'
        return head + words + "".join(f"    {line}\n" for line in [*lines, *checks, "return 0"])

    def _compute(self, values: Sequence[int], number: int) -> list[str]:
        ops, args = self.program.ops, self.program.args
        lines: list[str] = []
        for i in values:
            operands = [self.operand(a, number) for a in args[i]]
            form = _FORMS.get(ops[i])
            text = form.format(*operands) if form else f"{_NAMES.get(ops[i], ops[i])}({', '.join(operands)})"
            mask = ops[i] in MASK_OPS
            lines.append(f"cdef {'bint m' if mask else 'double v'}{i} = {text}")
            if i in self.slots:
                lines.append(f"w[{self.slots[i]}] = {f'1.0 if m{i} else 0.0' if mask else f'v{i}'}")
        return lines
