"""What a caller passes and gets: arguments, checked and brought into one form, and calls that are out of the ordinary.

Takes
    the arguments of one call, and what a kernel knows of its inputs
Gives
    arrays with the axes of the batch in front, and results
Invariants
    * Nothing is computed or written before all arguments are checked.
    * What a call computes does not depend on the way it takes.
Files
    threads         how many threads a call may take
    result_memory   memory of large results, kept for later ones
    arguments       what a caller passes, checked and brought into one form
    strange         what to write in place of an argument that is no array of numbers
    overlaps        which of them share memory with results
    containers      columns and arrays of pandas, Polars, Arrow and xarray
    labels          labels of a batch, kept from the arguments to the results
    declared        what inputs are declared to be, checked on the numbers of a call
    positions       those of integer inputs lie in range
Add
    a check of arguments: ``arguments``
"""
