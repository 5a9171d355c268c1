"""Rewrites of products, inverses and determinants of matrices.

Takes
    a node whose arguments are simplified
Gives
    an equal node that is shorter, or None
Invariants
    * A matrix beside its inverse cancels only where it has one for certain, or where what stays tells that it has none.
    * Determinants are right at singular matrices, unless the reader says that there are none.
Files
    chains       products of matrices as words: like products, inverses, determinants of powers
    entries      determinants of small matrices of explicit entries; determinants and inverses in place of adjugates
    functions    exponentials, pseudo-inverses, functions of all eigenvalues at once in other operations
    merged       sums along the axes of Kronecker products
    symmetry     matrices that are symmetric
Add
    a function with ``@rule`` in the file whose pattern it shares
"""
