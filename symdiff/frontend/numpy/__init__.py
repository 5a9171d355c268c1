"""Array operations with NumPy's meaning, on nodes: one table for NumPy's protocols and for formula text.

Takes
    nodes where arrays are expected; axes, shapes and indices as plain Python values
Gives
    nodes
Invariants
    * Shapes, axes, broadcasting and indices are NumPy's.
    * Keywords and kinds of arguments that are not understood are refused by name.
Files
    indexing    whole numbers, slices, None, Ellipsis, constant index arrays and integer inputs
    shaping     functions that move elements and compute nothing; arrays of numbers alone
    reductions  sums, means, extremes, norms, softmax, running sums; of chosen elements, without nan
    operations  products, diagonals, matrices, selection, elements at the positions of integer inputs
    pieces      arrays cut, joined, turned and padded
    statistics  covariances, sorting, medians and quantiles
    choices     elements by constants, conditions and tables; places of extrema
    linalg      products, structured matrices, solutions and factors
    spectra     eigenvalues, singular values, functions of matrices, norms
    sequences   differences, areas, convolutions, grids, polynomials
    library     the table: names, arguments, keywords
    operands    arguments: symbols, numbers and lists of them as nodes, others by name
Add
    a function in the file of its theme, and a row in ``library``
"""
