"""Scalar programs in C arrays: what passes over a million operations read and write without objects.

Takes
    operations and their operands, one after the other
Gives
    equal operations as one value; orders, counts of uses, and the operations as Python's sequences
Invariants
    * An operand of an operation that computes is an earlier value: nothing reads outside the arrays.
    * No other code runs while arrays are read.
Files
    tape.pxd   the arrays as other modules see them
    tape.pyx   operations under construction, and finished ones
    sums.pyx   how often values are read, and which sums have a factor in common
    views.pyx  tapes made of sequences and of bytes, and tapes as sequences
    bytecode   from a finished tape to words of the interpreter's code
Add
    a pass over all operations: a function of tapes, where Python's objects would take most of its time
"""
