"""What runs a formula: one runner for each backend, with ``run(inputs, outs, reduce)``.

Takes
    a program, loops or NumPy source
Gives
    results in arrays that the kernel allocated
Invariants
    * A unit is a function for one layout (rows or columns) and one type (float64 or float32).
    * A kernel has the usual unit at first, and others when a long batch wants one.
    * Interpreter and native code give the same bits, so one may replace the other between two calls.
Files
    variants      units of one program, and which of them a batch takes
    native        C, built and loaded
    interpreter   bytecode, without a compiler
    tiered        the interpreter at once, native code when it is built
    numpy         NumPy source, in tiles of the batch
    loops         loops over long arrays, by one of the runners above
    cython        the module that a user would ship
Add
    a backend: a file with a runner, and a line in ``compiler``
"""
