"""The table of scalar functions: one row a function, which parser, calculus, emitters and tests read.

Takes
    a row: partial derivatives, names in other languages, expansion, domain for tests, source
Gives
    ``FUNCTIONS`` by name; ``apply``, ``compare`` and ``where``, which make nodes of them
Invariants
    * Partial derivatives are formulas of the table's own functions, so they can be differentiated again.
    * A row cites the section of the DLMF that it follows.
    * A function whose derivative may be infinite where it is finite itself is marked singular.
Files
    functions     what a row is, and the functions that make nodes
    making        what rows are written with
    rows          the rows of elementary functions and of pieces
    special       the rows of error, gamma and beta functions, elliptic and oscillating integrals, Lambert's W
    incomplete    the rows of incomplete gamma and beta functions, their inverses, and hypergeometric functions
    bessel        the rows of Bessel and Airy functions
    beyond_range  the rows of logarithms and ratios of functions that overflow or vanish
    compositions  functions made of rows: activations, the rest of NumPy's ufuncs
    arithmetic    sums as terms, products as factors
    logarithms    how logarithmic rows are computed
    remainders    rows of quotients that are 0 / 0 at 0
    differences   the rows of divided differences
Add
    a row in one of the files of rows (CONTRIBUTING.md has an example), or in ``remainders`` for a removable
    singularity; a function made of others in ``compositions``
"""

from . import bessel, beyond_range, differences, incomplete, rows, special

__all__ = ["bessel", "beyond_range", "differences", "incomplete", "rows", "special"]
