"""How each operation of a scalar program is written in C99."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...errors import UnsupportedError
from ...graph.primitives import complete
from ...lowering.program import MASK_OPS, SIGNATURES, Program
from .. import scalars
from ..scalars import ARITHMETIC, LIBM, LIBRARY, OWN, text_of

__all__ = ["functions_text", "literal", "statement"]

_FORMS = {
    **ARITHMETIC,
    "logical_and": "{} && {}",
    "logical_or": "{} || {}",
    "logical_not": "!{}",
    "to_real": "{} ? 1.0 : 0.0",
    "where": "{} ? {} : {}",
}

complete((*_FORMS, *LIBM, *OWN, *LIBRARY), __name__, SIGNATURES)


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
    form = _FORMS.get(op)
    text = form.format(*operands) if form else f"{LIBM.get(op) or OWN[op]}({', '.join(operands)})"
    return f"const {'int m' if op in MASK_OPS else 'double v'}{number} = {text};"


def _refuse_library(op: str) -> None:
    if op in LIBRARY:
        raise UnsupportedError(
            f"{LIBRARY[op]} is computed by SciPy, which C that stands alone cannot call; export it with "
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
    for op in sorted(used):
        _refuse_library(op)
    return text_of(OWN[op] for op in used if op in OWN)
