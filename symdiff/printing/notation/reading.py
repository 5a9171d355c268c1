"""Terms as they are read: forms that have a name of their own, which the graph spells out.

A unit step is two nested choices in the graph, a cross product four gathers, an array in zeros a
product with a shifted identity. A rule for a kind of term may put the named form in its place. What
a person wrote keeps its order and its factors; the rules of algebra read derivatives only. SymPy's
expressions are written from the terms before this pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import common_factors, entries, named_forms, numbers, sums, unit_steps
from .reader import Reader, Readings
from .terms import Term


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
        rules += [unit_steps.DERIVED, common_factors.RULES, entries.RULES, numbers.RULES, named_forms.DERIVED]
        rules += [sums.RULES, *behind]
    return Reader(rules).read(roots)
