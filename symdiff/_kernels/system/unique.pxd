"""The fields of unique objects, which compiled passes read as they are."""

from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t


#: What is packed into ``what``: an operation's number, the kind of elements, and how many arguments there are.
cdef enum: KIND = 12, COUNT = 14, NUMBER = (1 << 12) - 1, SEVERAL = 3


cdef class Unique:
    # what a walk looks at stands together: memory of a large graph is read slowly
    #: The first argument and the second, None where there is none. Of three and more ``first`` is the tuple.
    cdef object first, second
    #: The last walk that has met it, and where it stands among what that walk gives.
    cdef uint32_t met
    cdef uint32_t place
    cdef uint64_t below
    cdef uint8_t settled
    cdef uint8_t tried
    #: The number of its operation among those that predicates or :func:`assign_alike` are about, 0 for any other;
    #: above it that of the kind of its elements, and above that how many arguments it has, ``SEVERAL`` for more than two.
    cdef uint16_t what
    cdef tuple shape
    cdef object op, payload
    cdef Py_hash_t key


cdef inline Py_ssize_t count_args(Unique one) noexcept:
    """Return how many arguments there are."""
    cdef Py_ssize_t count = one.what >> COUNT
    return count if count < SEVERAL else PyTuple_GET_SIZE(<tuple>one.first)


cdef inline PyObject *arg_of(Unique one, Py_ssize_t k) noexcept:
    """Return argument ``k``, NULL behind the last."""
    cdef Py_ssize_t count = one.what >> COUNT
    if count < SEVERAL:
        return NULL if k >= count else <PyObject *>one.first if k == 0 else <PyObject *>one.second
    return PyTuple_GET_ITEM(<tuple>one.first, k) if k < PyTuple_GET_SIZE(<tuple>one.first) else NULL


cdef inline bint has_args(Unique one, tuple args) noexcept:
    """Tell whether these are the arguments."""
    cdef Py_ssize_t i, count = PyTuple_GET_SIZE(args)
    if count_args(one) != count:
        return False
    for i in range(count):
        if arg_of(one, i) != PyTuple_GET_ITEM(args, i):
            return False
    return True


cdef inline int kind_of(Unique one) noexcept:
    """Return the number of the kind of elements."""
    return one.what >> KIND & (1 << (COUNT - KIND)) - 1


cdef uint32_t next_walk() noexcept
cpdef list walk(roots, int settled=*, Py_ssize_t most=*, int which=*)
cpdef Unique unique(type kind, op, tuple args, payload, tuple shape, dtype)
cpdef mark(Unique one, int level)
cpdef mark_tried(Unique one, int level)
