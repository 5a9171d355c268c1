"""The passes from a scalar program to words of the interpreter's code, over arrays.

Takes
    a tape; what each operation is to instruction selection; what the caller says happens between steps
Gives
    steps, the instructions of an accumulator machine; their order and registers; words
Invariants
    * Steps are in arrays, a few bytes each: no object of Python's is made for one.
    * What is read outside an array's bounds is refused, whatever a program says.
Files
    steps.pxd      the arrays of steps as other modules see them
    steps.pyx      steps, and passes that look at each of them once
    selection.pyx  instruction selection
    schedule.pyx   the order of chains of steps
    registers.pxd  the arrays of an allocation of registers
    registers.pyx  register allocation, by weighted interval scheduling
    words.pyx      places in memory, and words
Add
    an instruction: see ``codegen/bytecode/__init__.py``, which decides what these passes are given
"""
