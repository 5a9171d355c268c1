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
from ...lowering.program import GIVEN, MASK_OPS, SIGNATURES, Program
from ..scalars import ARITHMETIC, LIBM, LIBRARY, OWN, text_of
from ..splitting import Parts
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

#: What operations are called, where it is not their own name: outputs are y0 and y1, as Bessel functions are.
_NAMES = {**LIBM, **{op: f"scipy_{op}" for op in LIBRARY}}
complete((*_FORMS, *LIBM, *OWN, *LIBRARY), __name__, SIGNATURES)


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
    used = {*program.ops} - GIVEN
    parts = _Parts(program)
    functions = parts.functions()
    wanted = {LIBM[op] for op in used if op in LIBM}
    own = [op for op in OWN if op in used]
    library = [f"{name} as scipy_{op}" for op, name in LIBRARY.items() if op in used]
    numbers = {name for name in ("INFINITY", "NAN") if any(name in text for text in functions)}
    text = [emit_head(program)]
    if wanted | numbers:
        text.append(f"from libc.math cimport {', '.join(sorted(wanted | numbers))}\n\n")
    if library:
        text.append(f"from scipy.special.cython_special cimport {', '.join(library)}\n\n")
    if own:
        verbatim = text_of(OWN[op] for op in own).replace("\\", "\\\\")
        lines = "".join(f"    {_declaration(op)} noexcept nogil\n" for op in own)
        text.append(f'cdef extern from *:\n    """\n    #include <math.h>\n\n{verbatim}    """\n{lines}\n')
    text += (f"\n{function}\n" for function in functions)
    text.append("\n")
    text.append(emit_interface(program, workspace=len(parts.slots), formula=formula, batched=allowed, reduce=reduce))
    return "".join(text)


def _declaration(op: str) -> str:
    """Declare one of our own functions under the operation's name."""
    return f'double {op} "{OWN[op]}"({", ".join(f"double {x}" for x, _ in zip("xyzu", SIGNATURES[op], strict=False))})'


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
