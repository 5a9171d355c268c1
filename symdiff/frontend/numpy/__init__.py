"""Array operations with NumPy's meaning, on nodes: one table for NumPy's protocols and for formula text.

Takes
    nodes where arrays are expected; axes, shapes and indices as plain Python values
Gives
    nodes
Invariants
    * Shapes, axes, broadcasting and indices are NumPy's.
    * Keywords and kinds of arguments that are not understood are refused by name.
Files
    foreign     arrays with a mask, which would be lost; functions of SciPy's that ask for numbers
    indexing    whole numbers, slices, None, Ellipsis, constant index arrays and integer inputs
    positions   elements at the positions of integer inputs, taken and added up
    shaping     what moves elements and computes nothing
    creation    arrays of numbers alone: filled ones, identities, ranges
    reductions  sums, means, norms, softmax, cumulative sums
    routines    NumPy's longer functions, composed of the others
    operations  products, diagonals, matrices, selection
    linalg      norms, factors, solutions, structured matrices
    library     the table: names, arguments, keywords
    signatures  arguments by name, each of its kind
    operands    symbols, numbers and lists of them as nodes
Add
    a function in ``operations``, ``reductions``, ``shaping`` or a file of ``routines``, and a row in ``library``
"""
