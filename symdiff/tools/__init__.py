"""What is done with formulas and kernels besides calling them.

Takes
    formulas, kernels, files, command lines
Gives
    reports, files, text on a terminal
Invariants
    * A tool calls what Python users call.
    * A file appears complete or not at all.
Files
    array_files  arrays in .npy and .npz files
    parquet      columns of Parquet files, in and out
    read_files   arrays from .npy, .npz, .csv and .parquet
    row_streams  rows of such files, some at a time
    terminal     lines for people, on any terminal
    export       a kernel as C, a Cython module or NumPy source of its own
    linear_operator  products with a Jacobian or Hessian, for SciPy's solvers
    checking     whether a derivative is right, at a point
    reading      how a derivative comes about
    demo         a piece of work from data to plot
    command      the command line
Add
    a command: a function in ``command/cli``
"""
