"""The reference implementation of the graph in NumPy: slow, obvious, and the measure of all others.

Takes
    nodes, and a number or array for each input
Gives
    NumPy arrays of float64, one sample at a time; the functions of ``numeric`` also serve emitted NumPy source
Invariants
    * One short function for each operation, without fusing or reordering.
    * NaN passes through, and singular matrices raise as in the other backends.
Files
    scipy_special   SciPy's functions, imported with the first use
    many_digits     functions of the table in many digits, by mpmath
    numeric         functions that NumPy lacks or defines otherwise
    interpret       the meaning of each operation, and the walk over a graph
    constants       functions of constants as the numbers they are, for readers who would compute them without end
Add
    the meaning of a primitive: a function in ``interpret``; what NumPy lacks for it: one in ``numeric``
"""
