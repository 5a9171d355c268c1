"""C types of what the builder keeps: read where the module is compiled, and by nothing else.

Value numbers stay Python's numbers, as keys of dictionaries.
"""

cdef class ProgramBuilder:
    cdef public object limit, most
    cdef public Py_ssize_t charged, places, uncharged
    cdef public list ops, args, checks
    cdef public dict consts
    cdef public bint wide
    cdef dict _numbers, _known, _quotients, _others

    cpdef charge(self)
    cpdef number(self, value)
    cpdef real(self, value)
    cpdef value(self, op, tuple args)
    cpdef add(self, a, b)
    cpdef subtract(self, a, b)
    cpdef negative(self, a)
    cpdef multiply(self, a, b)
    cpdef divide(self, a, b)
    cdef tuple _scaled(self, a)
    cdef tuple _factored(self, a)
