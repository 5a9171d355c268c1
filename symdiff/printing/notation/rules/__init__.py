"""Forms that have a name in the language of formulas, put in the place of what spells them out.

Takes
    terms, arguments first
Gives
    shorter terms with the same value
Invariants
    * What a rule gives is read back to the same formula.
Files
    differences  differences of neighbours, first and second ones, along any axis
    entries      matrices by their entries, each written where it stands; matrices beside transposes
    squares      common arrays in front of sums, squares of differences
    spectra      traces of products, eigenvectors of eigenvalues that are apart
Add
    a function with ``@RULES.of`` in the file whose pattern it shares
"""
