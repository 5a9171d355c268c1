"""Bytecode of the interpreter: an accumulator machine whose accumulator is a tile of samples.

Takes
    a :class:`~symdiff.lowering.program.Program`
Gives
    :class:`~symdiff.codegen.bytecode.assemble.Bytecode`, which ``_kernels/machine/interpreter.h`` runs
Invariants
    * Each operation is the one that generated C has, so the bits are the same.
    * Single-use products and sums are computed together with their consumer, and hardly touch memory.
    * Prefetches run two tiles ahead, spread over the program.
Files
    format      the code as data
    assemble    choice of instructions, loads, stores and prefetches; the passes over all instructions, register
                allocation among them, are in ``_kernels/programs``
Add
    an instruction: its opcode in ``_kernels/machine/interpreter.h``, its choice in ``assemble``
"""
