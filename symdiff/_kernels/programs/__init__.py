"""Scalar programs in C arrays: what passes over a million operations read and write without objects.

Takes
    operations and their operands, one after the other; what the caller says happens between steps
Gives
    equal operations as one value; orders, counts of uses, the operations as Python's sequences; words of the
    interpreter's code
Invariants
    * An operand of an operation that computes is an earlier value; what is read outside an array's bounds is refused,
      whatever a program says.
    * No other code runs while arrays are read, and no object of Python's is made for a step.
Files
    tape.pxd   the arrays as other modules see them
    tape.pyx   operations under construction, and finished ones; sums among them; tapes of and as sequences
    steps.pxd  the arrays of steps as other modules see them
    steps.pyx  steps, the instructions of an accumulator machine: selected for a tape, and put in order
    words.pyx  register allocation, by weighted interval scheduling; places in memory, and words
Add
    a pass over all operations: a function of tapes, where Python's objects would take most of its time; an
    instruction: see ``codegen/bytecode/__init__.py``, which decides what these passes are given
"""
