"""Graphs to scalar programs, the second IR: straight-line arithmetic on the scalars of one sample.

Small matrices are inverted by elimination with partial pivoting, rows changing places by
selection; a determinant's derivatives take cofactors, which are finite at every rank.

Takes
    graph nodes of fixed size (``unroll``)
Gives
    :class:`~symdiff.lowering.program.Program`
Invariants
    * A program is in single-assignment form; ``Program.validate`` states its rules.
    * Equal scalars are computed once, structural zeros and unused values never.
    * The builder applies identities that are exact in floating point, and no others. Factoring a sum may change
      its rounding.
    * Interpreter and native code run a program as it stands, with the same bits.
Files
    program      the form of a program
    builder      scalar operations with value numbering and exact identities
    polygamma    digamma and trigamma in ordinary operations
    matrices     inverses, determinants, solutions, Cholesky factors, cofactors
    expand       what works along axes in maxima, sums and functions of numbers, once for scalars and nodes
    arrays       each array operation, element by element
    unroll       a whole formula: every node, then the order of values
    plan         what is run how: steps of a whole call over arrays
    sparse       which elements of a result are not zero by construction, and formulas for these alone
Add
    what runs along an axis: a row of ``FOLDS`` in ``expand``; what reduces an axis: one of ``EXPANSIONS``; any other
    array operation: a function in ``arrays``; a scalar operation: a row of ``SIGNATURES`` in ``program``
"""
