"""The arrays of an allocation of registers as other compiled modules see them."""

from libc.stdint cimport int32_t, uint8_t

from .steps cimport Steps

#: Registers besides the accumulator, at most.
cdef enum:
    REGISTERS = 2


cdef class Allocation:
    cdef readonly Steps steps
    #: For each step the registers that take its value, a bit each.
    cdef uint8_t *into
    #: For each step and register the value that the register takes from memory before the step, or -1.
    cdef int32_t *brought
