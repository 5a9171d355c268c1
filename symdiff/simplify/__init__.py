"""Rewrites of graphs: formulas become as short as in a book, and as stable as they can be computed.

Takes
    graph nodes
Gives
    equal nodes, shorter or more stable, and the list of rewrites that a reader is told of
Invariants
    * Finite values stay. Nothing is cancelled that could hide a NaN: ``x - x`` and ``0 * x`` stay.
    * A rule sees one node whose arguments are simplified, and makes it smaller or more regular, so the pass ends.
    * Rules of the kind *stability* run before differentiation too, since a derivative inherits its formula's form.
Files
    rewriter    the table of rules, and the bottom-up pass
    algebra     numbers, signs, like terms, common factors, branches
    arrays      contractions, slices, inverses, paddings
    symmetry    matrices that are symmetric by construction
    stability   forms that do not overflow or cancel
    powers      derivatives of high order as polynomials in a few functions
    inlining    names, barriers and custom functions removed before lowering
Add
    a function with ``@rule`` in ``algebra`` or ``arrays`` (mathematics) or in ``stability`` (numbers)
"""

from __future__ import annotations

from . import algebra, arrays, stability, symmetry
from .inlining import inline
from .powers import as_polynomial
from .rewriter import RULES, Rule, simplify, stabilize
from .stability.lengths import join_cosines
from .symmetry import is_symmetric

#: The modules whose rules make up the table, in its order.
SOURCES = (algebra, arrays, symmetry, stability)

__all__ = [
    "RULES",
    "SOURCES",
    "Rule",
    "as_polynomial",
    "inline",
    "is_symmetric",
    "join_cosines",
    "simplify",
    "stabilize",
]
