"""C types of what the assembler keeps: read where the module is compiled, and by nothing else."""

cdef class _Assembler:
    cdef object program, target
    cdef bint reduce, columns, single
    cdef list constant
    cdef public Py_ssize_t lanes, tile, tiles
    cdef Py_ssize_t item
    cdef public list instructions
    cdef public dict numbers, vectors, rows, functions
    cdef dict spelled
    cdef list free
    cdef dict place
    cdef list outputs
    cdef public list checks
    cdef list steps, calls, runs
    cdef Py_ssize_t registers
    cdef dict loads, before, direct, after, held, uses
    cdef object stays

    cdef _operate(self, Py_ssize_t t, step)
    cdef _call(self, step)
    cpdef bring(self, v)
    cdef _load(self, block)
    cdef _read(self, v)
    cdef _room(self)
    cdef _number(self, x)
    cdef _vector(self, x)
