"""Tools for formulas and kernels: export, check, steps and reports, the command line.

Takes
    formulas, kernels, files, command lines
Gives
    reports, files, text on a terminal
Invariants
    * A tool calls what Python users call.
    * A file appears complete or not at all.
Files
    export    a kernel as C, a Cython module or NumPy source of its own
    checking  the check of a derivative at a point
    reading   the steps of a derivative, and a kernel on one page
    command   the command line
Add
    a command: a function in ``command/cli``
"""
