"""The command line.

Takes
    what a person typed
Gives
    text on a terminal, files, an exit code
Invariants
    * Whatever symdiff refuses is printed as its message, with exit code 2. A traceback is a defect.
    * With ``--json`` standard output is one JSON object, and the exit code is the same.
    * Results are written complete or not at all, and what would prevent it is found out first.
Files
    functions     functions of modules that a formula may call
    options       shapes, numbers and kinds of derivative from options
    tables        which columns of a table are which inputs
    write_files   results into files
    summary       what is said of numbers
    stream        evaluation of some rows at a time
    doctor        what this machine offers to kernels
    frame         what all commands have in common
    shown         derivatives and derivations in each notation
    inspect       check, report, bench, completion
    web           a page in the browser to try formulas on
    cli           one function a command
Add
    a command: a function in ``cli`` or ``inspect`` with click
"""
