"""C types of what unrolling looks at: read where the module is compiled, and by nothing else."""

cimport cython

from symdiff.lowering.builder cimport ProgramBuilder


@cython.locals(args=list)
cdef _lower_all(ProgramBuilder builder, list order, dict values)
