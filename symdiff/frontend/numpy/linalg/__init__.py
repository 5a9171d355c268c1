"""Linear algebra with the meaning of ``numpy.linalg`` and ``scipy.linalg``, on nodes.

Takes
    nodes where arrays are expected; axes, orders and flags as plain Python values
Gives
    nodes, or named tuples of them where NumPy gives several arrays
Invariants
    * What is composed has the primitives' derivatives, to every order; nothing here knows derivatives.
    * A matrix without the rank that a formula needs gives nan or an error, and no other number.
Files
    products     products of vectors, matrices and blocks: kron, cross, vecdot and its kin
    building     matrices from vectors and blocks: block_diag, toeplitz and its kin, vander
    norms        norms of vectors and matrices, condition numbers
    spectra      eigenvalues, singular values, functions of symmetric matrices, exponentials of any, least squares
    solving      solutions, factors, powers, pseudo-inverses of full rank
Add
    a function in one of these files, and a row in :mod:`symdiff.frontend.numpy.library`
"""
