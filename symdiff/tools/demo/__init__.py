"""The demonstration: softmax regression on Fisher's iris data, checked and timed against other ways.

Takes
    the data set, a ridge, and where to save a plot
Gives
    fitted coefficients, a plot, and results and times beside those of other ways
Invariants
    * Results are compared before times are.
Files
    data         the data set
    comparison   the same by hand in NumPy, and by SymPy
    demo         the whole piece of work
Add
    another way to compare with: a function in ``comparison``
"""
