"""Emitters: each prints a program or graph as source of one language, and does nothing else.

Takes
    a :class:`~symdiff.lower.program.Program` (C, Cython, bytecode), or graph nodes (NumPy)
Gives
    source text or bytecode, with what a runner must know to call it
Invariants
    * An emitter does no algebra; what restructures is a pass before it.
    * No text of a user reaches source, except checked names of arguments, and docstrings, in Cython modules.
    * C and bytecode run the same operations in the same order, and give the same bits.
Files
    blocks     rows of a sample by blocks of neighbouring elements
    numpy      readable NumPy source, for every operation and size
    c          C over vectors of samples, the native backend
    cython     a module that can be shipped without symdiff
    bytecode   code of the interpreter
Add
    a target: a folder here, a runner in ``runtime/runners``, a line in ``compiler``
"""
