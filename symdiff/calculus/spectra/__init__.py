"""Eigenvalues, eigenvectors and functions of symmetric matrices.

Takes
    a node, and tangents of its arguments or the cotangent of its value; or a formula with eigenvectors
Gives
    its differential, or the cotangents of its arguments; or the formula with functions of the matrix in their place
Invariants
    * What is smooth where eigenvalues are equal has right derivatives there; the rest is nan.
Files
    divided_differences  divided differences of scalar formulas, without cancellation
    isotropic            functions of all eigenvalues at once, V diag(g(x)) V^T
    projectors           formulas with functions of the matrix in place of pairs of columns
    recognition          cotangents and weights that are one function of each eigenvalue
    spectral             eigenvalues, eigenvectors and functions of symmetric matrices
Add
    a function with divided differences: a row of ``divided_differences``
"""
