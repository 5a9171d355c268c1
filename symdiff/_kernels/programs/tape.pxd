"""The arrays of a tape as other compiled modules see them."""

from libc.stdint cimport int32_t, uint8_t, uint32_t

#: Numbers of the operations that compute nothing.
cdef enum:
    LOAD = 0
    CONST = 1
#: Operands of one operation at most, of which a program's own have far fewer.
cdef enum:
    SEVERAL = 16


cdef struct Slot:
    uint32_t hash
    int32_t value


cdef class Tape:
    cdef readonly tuple names
    cdef readonly Py_ssize_t count
    cdef uint8_t *codes
    #: Where the operands of each value begin, and where those of the last one end.
    cdef int32_t *starts
    cdef int32_t *operands
    cdef Py_ssize_t room, space
    #: Values by what they compute, -1 where a slot is free; none once the tape is finished.
    cdef Slot *table
    cdef Py_ssize_t slots, held
    cdef bint closed

    cdef int _extend(self, Py_ssize_t arity) except -1
    cdef int _widen(self) except -1
    cdef Py_ssize_t _find(self, uint32_t hash, int code, const int32_t *args, Py_ssize_t arity) noexcept
    cdef Py_ssize_t _value(self, int code, const int32_t *args, Py_ssize_t arity) except -1
    cdef int _append(self, int code, const int32_t *args, Py_ssize_t arity) except -1
    cpdef int code(self, Py_ssize_t v) except -1
    cpdef int operand(self, Py_ssize_t v, Py_ssize_t k=*) except? -1
    cpdef Py_ssize_t one(self, int code, Py_ssize_t a) except -1
    cpdef Py_ssize_t two(self, int code, Py_ssize_t a, Py_ssize_t b) except -1
    cpdef Py_ssize_t known(self, int code, tuple args) except? -1
    cpdef Py_ssize_t value(self, int code, tuple args) except -1
    cpdef Py_ssize_t const(self) except -1


cdef Py_ssize_t numbers_of(tuple args, int32_t *own) except -1
