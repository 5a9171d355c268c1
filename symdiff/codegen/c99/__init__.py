"""Portable C99 for other programs: scalar, with a loop over samples, and with the standard library alone.

Takes
    graph nodes, and a function that lowers them to a scalar program
Gives
    :class:`~symdiff.codegen.c99.emit.Exported`: a source and its header, which are C++ as well
Invariants
    * No compiler's builtins, attributes or vectors; no warning with ``-Wall -Wextra -pedantic``.
    * A name of a user's reaches the source only where it is harmless in C and C++; comments say what others are.
    * Loops over arrays are those of a plan; sizes that are letters are arguments.
Files
    arrays      how each operation is written; scalar programs, matrices, and a plan as loops
    emit        the two files
Add
    an operation: a row of ``arrays``; a kind of step: a method in ``arrays``
"""
