"""What inputs are declared to be, looked at before a call runs; ``runtime/calls/declared.py`` says what is wrong.

Functions for ``call.pyx`` and ``unit.pyx``, compiled into them.
"""

cimport numpy as cnp
from libc.stdlib cimport calloc

from .arguments cimport sd_given

cdef extern from "arrays/declared.h":
    bint sd_is_declared(const char *data, int axes, const Py_ssize_t *lengths, const Py_ssize_t *strides, int at,
                        int facts, int single) noexcept nogil


cdef inline int *facts_of(facts) except? NULL:
    """Return the bits of each input; NULL where none is declared to be anything."""
    cdef int *result
    cdef Py_ssize_t p
    if not any(facts):
        return NULL
    result = <int *>calloc(len(facts), sizeof(int))
    if result == NULL:
        raise MemoryError
    for p in range(len(facts)):
        result[p] = facts[p]
    return result


cdef inline bint is_array_declared(cnp.ndarray array, int at, int facts) noexcept:
    """Whether an array of float64 or float32 is what is declared, its matrices' axes from ``at`` on."""
    return sd_is_declared(<const char *>cnp.PyArray_DATA(array), cnp.PyArray_NDIM(array),
                          <const Py_ssize_t *>cnp.PyArray_DIMS(array), <const Py_ssize_t *>cnp.PyArray_STRIDES(array), at,
                          facts, cnp.PyArray_TYPE(array) == cnp.NPY_FLOAT32)


cdef inline bint are_declared(const sd_given *given, int inputs, const int *ranks, bint behind,
                              const int *facts) noexcept:
    """Whether every argument is what its input is declared to be."""
    cdef int p, at
    for p in range(inputs if facts != NULL else 0):
        if facts[p] == 0:
            continue
        if given.arrays[p] == NULL:
            if not sd_is_declared(<const char *>&given.numbers[p], 0, NULL, NULL, -1, facts[p], False):
                return False
            continue
        at = (ranks[p] if behind else cnp.PyArray_NDIM(<cnp.ndarray>given.arrays[p])) - 2
        if not is_array_declared(<cnp.ndarray>given.arrays[p], at, facts[p]):
            return False
    return True
