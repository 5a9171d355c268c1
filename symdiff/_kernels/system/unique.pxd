"""The fields of unique objects, which compiled passes read as they are."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t


cdef class Unique:
    # what a walk looks at stands together
    cdef tuple args
    #: The last walk that has met it, and where it stands among what that walk gives.
    cdef uint32_t met
    cdef uint32_t place
    cdef uint32_t below
    cdef uint8_t settled
    cdef uint8_t tried
    #: The number of its operation among those that predicates or :func:`assign_alike` are about, 0 for any other.
    cdef uint16_t number
    cdef tuple shape
    cdef object op, payload, dtype
    cdef Py_hash_t key


cdef uint32_t next_walk() noexcept
cpdef list walk(roots, int settled=*, Py_ssize_t most=*, int which=*)
cpdef Unique unique(type kind, op, tuple args, payload, tuple shape, dtype)
cpdef int mark(Unique one, int level) except -1
cpdef int mark_tried(Unique one, int level) except -1
