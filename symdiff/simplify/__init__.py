"""Rewrites that make a formula as short as the book's, and as stable as it can be computed.

engine       the table of rules and the pass that applies them
stability    forms that do not overflow or cancel; applied before differentiation, too
exponentials quotients of exponentials in one normal form
exponents    exponents as numbers times nodes, and sums of exponentials
products     products taken apart into numbers, exponents, sums and the rest
many         sums of many exponentials, and logarithms
weights      sums of exponentials along axes
removable    quotients that are 0 / 0 where their variable is 0
roots        roots of sums of squares
algebra      numbers, signs, like terms, common factors
arrays       contractions, slices, inverses
symmetry     what is symmetric, and its transposes
inlining     names, barriers and custom functions put out of the way before compilation
terms        products as a number and powers, sums of them
collect      like factors and like terms of a derivative, for reading
powers       derivatives of high order as polynomials in a few functions
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
