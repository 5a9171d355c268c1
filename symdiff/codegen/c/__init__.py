"""C over vectors: a value is one vector register of samples.

Takes
    a :class:`~symdiff.lowering.program.Program` and a :class:`~symdiff.codegen.c.target.Target` (lanes, functions)
Gives
    :class:`~symdiff.codegen.c.emit.CSource`: text without headers, and which vector functions it calls
Invariants
    * A lane depends on its own sample alone, so bits do not depend on the place in the batch.
    * Order and rounding of operations are the program's, in every layout and with any number of lanes.
    * Text that the interpreter shares is read from the headers of ``_kernels``.
Files
    target       the machine that code is written for
    preamble     vectors, and how they are filled from rows
    spelling     how each operation is written
    body         the operations, loads, stores, prefetches and constants; interleaved vectors
    emit         the whole function, or a loop with a program in it
    standalone   a function that other languages can call
Add
    an operation: a row in ``spelling``; a function that C lacks: its text in ``_kernels/functions/special.h``
"""
