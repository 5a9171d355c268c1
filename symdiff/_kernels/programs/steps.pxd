"""The arrays of steps as other compiled modules see them."""

from libc.stdint cimport int32_t, uint8_t, uint16_t

#: What a step reads in the accumulator.
cdef enum:
    ACCUMULATOR = -1

#: Where a step reads an operand: in memory, among the numbers, in the accumulator, in the registers from here on.
cdef enum:
    MEMORY = 0
    NUMBER = 1
    HELD = 2
    REGISTER = 3

#: What an operation is to the passes, as :class:`Steps` has it.
cdef enum:
    OUTER = 1
    INNER = 2
    THREE = 4
    FUSED = 8
    FUNCTION = 16
    ABLE = 32
    ABLE_OUTER = 64
    ABLE_INNER = 128

#: Operands of one step at most.
cdef enum:
    MOST = 16


cdef class Steps:
    cdef readonly tuple names
    #: For each operation what it is to the passes.
    cdef readonly bytes roles
    cdef readonly Py_ssize_t count
    #: Values are below this.
    cdef readonly Py_ssize_t values
    #: The operation of each step, and above eight bits the one inside.
    cdef uint16_t *codes
    cdef int32_t *made
    cdef int32_t *starts
    cdef int32_t *args
    #: Where each operand is.
    cdef uint8_t *kinds
    #: The form of each step, a place in what :meth:`forms` gives.
    cdef uint16_t *shapes
    cdef Py_ssize_t room, space
    #: Whether other arrays are as long as these, so that no step may be added.
    cdef bint finished

    cdef int _reserve(self, Py_ssize_t steps, Py_ssize_t operands) except -1
    cdef int _append(
        self, int code, Py_ssize_t value, const int32_t *args, const uint8_t *kinds, Py_ssize_t arity
    ) except -1
    cdef bint _chained(self, Py_ssize_t t) noexcept
    cdef bint _first(self, Py_ssize_t k, Py_ssize_t begin) noexcept
    cdef bint _calls(self, Py_ssize_t t) noexcept
    cdef bint _able(self, Py_ssize_t t) noexcept
