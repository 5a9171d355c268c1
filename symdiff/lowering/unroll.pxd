"""C types of what unrolling looks at: read where the module is compiled, and by nothing else."""

cimport cython

from symdiff._kernels.system.unique cimport Unique
from symdiff.lowering.builder cimport ProgramBuilder as Builder

cdef int _OTHER, _NONE, _FUNCTION
cdef dict _SCALAR


@cython.locals(
    order=list, node=Unique, starts="int[::1]", places="int[::1]", i=Py_ssize_t, k=Py_ssize_t, begin=Py_ssize_t,
    end=Py_ssize_t, place=Py_ssize_t, code=int,
)
cdef _lower_all(Builder builder, dict given, graph, int[::1] numbers, dict arrays)
