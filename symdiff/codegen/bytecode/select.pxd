"""C types of what instruction selection keeps: read where the module is compiled, and by nothing else."""

cdef class Instruction:
    cdef public str name
    cdef public Py_ssize_t value
    cdef public tuple args
    cdef public tuple reads


cdef class _Walk:
    cdef tuple ops
    cdef object args
    cdef object functions
    cdef public list steps
    cdef Py_ssize_t held
    cdef set delayed
    cdef list wanted
    cdef list reader

    cdef bint can_wait(self, Py_ssize_t i) except -1
    cdef compute(self, Py_ssize_t i)
    cdef _compute_late(self, Py_ssize_t i)
    cdef _compute_pair(self, Py_ssize_t i, Py_ssize_t inner)
    cdef _step(self, str name, Py_ssize_t i, tuple args)
