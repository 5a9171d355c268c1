"""C types of what factoring keeps: read where the module is compiled, and by nothing else."""

from symdiff.lowering.builder cimport ProgramBuilder


cdef class _Sums:
    cdef ProgramBuilder builder
    cdef list uses
    cdef public list new

    cpdef shorter(self, root)
    cdef bint _may_share(self, root) except -1
    cdef list _terms(self, root)
    cdef _value(self, tree)
