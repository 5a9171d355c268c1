"""C types of what factoring keeps: read where the module is compiled, and by nothing else."""

cimport cython

from symdiff._kernels.programs.tape cimport Tape
from symdiff.lowering.builder cimport ProgramBuilder

cdef int _ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _NEGATIVE


cdef class _Sums:
    cdef ProgramBuilder builder
    cdef Tape tape
    cdef object uses
    cdef public object new

    cpdef shorter(self, root)
    @cython.locals(code=int, v=long)
    cdef list _terms(self, root)
    @cython.locals(code=int, a=long, b=long)
    cdef _tree(self, long v, bint within)
    cdef _value(self, tree)
