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
    kept_range  whether a rewrite keeps the range of numbers
    algebra     numbers, signs, like terms, common factors
    equations   rules that are equations in formula text: read, matched and written
    pages       these, by subject
    branches    choices whose branches are numbers, sums of choices
    arrays      contractions, slices, inverses, paddings
    matrices    products, inverses and determinants of matrices
    facts       what is known of the numbers of any node, from its form and from declarations
    declared    rewrites by what is known of numbers
    positions   what is taken and added up at positions that a call brings
    cancelling  ratios and sums that are 1, means that are 0, sums of fractions
    stability   forms that do not overflow or cancel
    narrowing   of an array or a loop that is read in part, that part is computed
    balanced    products of what overflows in an order in which partial products do not
    counting    positions that a call brings counted along whole arrays, the last pass
    inward      how the index that reads a part moves through each operation
    inlining    names, barriers and custom functions removed before lowering
Add
    an equation in ``pages``; what no equation says, a function with ``@rule`` in ``algebra`` or ``arrays``
    (mathematics) or in ``stability`` (numbers)
"""

from __future__ import annotations

from . import algebra, arrays, branches, declared, pages, positions, stability
from .cancelling import deviations, differences, fractions, lowest_terms, ratios, same_bases, shares
from .cancelling.kinks import (
    beside_zeros,
    lengths_of_one,
    named_signs,
    paired_signs,
    smooth_directions,
    without_limits,
    zeros_of_lengths,
)
from .facts import is_symmetric
from .inlining import inline, with_names, without_names
from .matrices import chains, entries, merged, symmetry
from .matrices.entries import by_inverses
from .rewriter import RULES, Rule, arrange, finish, prepare, simplify, stabilize
from .stability import identities, removable, roots, sums
from .stability.lengths import join_cosines

#: The table of rules, in the order in which they are tried: pages of equations, and modules with functions.
SOURCES = (
    *(algebra, pages.OF_MATRICES, arrays, pages.CHOICES, branches, pages.POWERS, declared, positions),
    *(roots, identities, differences, removable, sums),
    *(pages.OF_THE_TABLE, pages.OF_ORDERS, pages.LOGARITHMS, stability),
    *(deviations, fractions, ratios, same_bases, shares, lowest_terms),
    *(chains, entries, merged, symmetry),
)

arrange(SOURCES)
#: The rules that are equations.
IDENTITIES = tuple(identity for source in SOURCES if isinstance(source, tuple) for identity in source)

__all__ = [
    "IDENTITIES",
    "RULES",
    "SOURCES",
    "Rule",
    "beside_zeros",
    "by_inverses",
    "finish",
    "inline",
    "is_symmetric",
    "join_cosines",
    "lengths_of_one",
    "named_signs",
    "paired_signs",
    "prepare",
    "simplify",
    "smooth_directions",
    "stabilize",
    "with_names",
    "without_limits",
    "without_names",
    "zeros_of_lengths",
]
