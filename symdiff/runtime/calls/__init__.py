"""Arguments and results of calls: arguments checked and brought into one form, and calls that are out of the ordinary.

Takes
    the arguments of one call, and what a kernel knows of its inputs
Gives
    arrays with the axes of the batch in front, and results
Invariants
    * Nothing is computed or written before all arguments are checked.
    * What a call computes does not depend on the way it takes.
Files
    resources   threads and memory of results
    arguments   arguments of a call, checked and brought into one form
    containers  columns and arrays of pandas, Polars, Arrow and xarray
    labels      labels of a batch, kept from the arguments to the results
    declared    declarations of inputs and positions in range, checked on numbers
Add
    a check of arguments: ``arguments``
"""
