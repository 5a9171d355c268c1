"""The written form of a formula, apart from any style of writing.

Takes
    graph nodes
Gives
    :class:`Term`: a matrix product, a transpose, an outer product, a trace, a number with a name
Invariants
    * A term has the value of its node; terms are in their shortest form, as ``(A B)ᵀ`` is ``Bᵀ Aᵀ``.
    * A number is spelled (1/3, 2 pi, log(2)) only where the spelling has the same double.
    * What a person wrote keeps its order and its factors; common factors are looked for in derivatives only.
Files
    terms           terms and their constructors
    numbers         numbers as a reader knows them, arrays of numbers that have a name
    contractions    the names of contractions in matrix notation
    from_graph      the term of each node, of loops and functions of matrices, which hold formulas, too
    reader          the pass that makes terms again by rules
    by_index        results of three and more axes as products of elements
    unit_steps      unit steps, conditions of an interval
    named_forms     cross products, zeros around an array, permutations
    common_factors  signs, numbers and matrices in common, in derivatives, by words of matrices
    transposes      matrices beside their transposes, directions in chains
    differences     differences of neighbours, first and second ones, along any axis
    sums            common arrays in front of sums, squares of differences, traces of products, eigenvectors
Add
    the term of a primitive: a function in ``from_graph``; a form of contractions: one in ``contractions``; a named
    form: a function with ``@RULES.of`` in the file whose pattern it shares, which must be read back to the same formula
"""

from __future__ import annotations

from collections.abc import Sequence

from . import common_factors, named_forms, numbers, sums, transposes, unit_steps
from .common_factors import by_quotients
from .differences import DIFFERENCES
from .from_graph import written
from .numbers import in_digits, spelled
from .reader import Reader, Readings
from .terms import LETTERS, Loop, Term, centred, counted, names_in, postorder, reaches_outside, transpose

__all__ = [
    "DIFFERENCES",
    "LETTERS",
    "Loop",
    "Reader",
    "Readings",
    "Term",
    "by_quotients",
    "centred",
    "counted",
    "in_digits",
    "names_in",
    "postorder",
    "reaches_outside",
    "read",
    "spelled",
    "transpose",
    "written",
]


def read(
    roots: Sequence[Term], *, derived: bool, more: Sequence[Readings] = (), behind: Sequence[Readings] = ()
) -> list[Term]:
    """Return the terms of ``roots`` in the forms that have names.

    Parameters
    ----------
    roots : sequence of Term
    derived : bool
        Whether they are derivatives, whose signs, numbers and matrices may be factored out.
    more : sequence of mapping of str to rules, optional
        Rules besides these, which come before them.
    behind : sequence of mapping of str to rules, optional
        Rules for derivatives besides these, which come behind them.

    Returns
    -------
    list of Term
    """
    rules = [*more, numbers.ARRAYS, unit_steps.RULES, named_forms.RULES]
    if derived:
        rules += [unit_steps.DERIVED, common_factors.RULES, transposes.RULES, numbers.RULES, named_forms.DERIVED]
        rules += [sums.RULES, *behind]
    return Reader(rules).read(roots)
