"""Cython modules that can be shipped without symdiff.

Takes
    a :class:`~symdiff.lowering.program.Program`, the text of its formula, which inputs have batch axes
Gives
    the text of a module: a ``nogil`` function for one sample, and a Python function around it
Invariants
    * The module needs NumPy to run and Cython to be built, nothing else.
    * User text appears as names of arguments, if these are plain identifiers, and in docstrings it cannot end.
Files
    module   arguments, batches, errors and documentation around the arithmetic
    emit     the arithmetic, and the whole text
Add
    an operation: its spelling in ``emit``
"""
