"""NumPy's longer functions, composed of operations that the other files of the folder above have.

Takes
    nodes where arrays are expected; axes, modes and positions as plain Python values
Gives
    nodes, or tuples of them
Invariants
    * What decides how many elements there are is known when the formula is built.
    * Nothing is divided, and no root is taken, of what a choice leaves out.
Files
    sequences           differences, slopes on a grid, areas, convolutions, running sums, grids
    pieces              arrays cut, joined, turned and put together
    padding             zeros around an array, shifts, the matrix of a cross product
    borders             what np.pad puts around an array in other modes
    choices             elements chosen by constants, conditions and functions
    order               sorting, medians and quantiles
    piecewise_constant  places of extrema, orders, and questions about numbers, whose derivative is 0
    lookups             interpolation and search in a table
    missing             reductions that leave out nan
    moments             covariances and correlations
    chosen              reductions of the elements for which a condition holds
    polynomial          polynomials by their coefficients
Add
    a function here and a row in ``library`` of the folder above
"""
