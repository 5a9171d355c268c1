"""What inputs are declared to be, looked at before a call runs; ``runtime/calls/declared.py`` says what is wrong.

Positions among them are whole numbers within the axes that they index; ``runtime/calls/declared.py`` says what is wrong.
Functions for ``call.pyx`` and ``unit.pyx``, compiled into them.
"""

cimport numpy as cnp
from cpython.object cimport PyObject
from libc.stdlib cimport calloc

from .arguments cimport MOST_PORTS, sd_given

cdef extern from "arrays/declared.h":
    bint sd_is_declared(const char *data, int axes, const Py_ssize_t *lengths, const Py_ssize_t *strides, int at,
                        int facts, int single) noexcept nogil
    bint sd_are_within(const char *data, int axes, const Py_ssize_t *lengths, const Py_ssize_t *strides,
                       double size) noexcept nogil

cdef extern from "arrays/numbers.h":
    bint sd_is_whole(PyObject *thing) noexcept


ctypedef struct sd_facts:
    int bits[512]  # of declared.h, one for each input
    int ranges  # how many axes have positions among the inputs
    int brings[512]  # the input that has these positions
    long sizes[512]  # the length of the axis, -1 - k for the named size k


cdef inline sd_facts *facts_of(bits, positions) except? NULL:
    """Return what is known of inputs, from their bits and (input, size of an axis) for positions; NULL for nothing."""
    cdef sd_facts *facts
    cdef Py_ssize_t p
    if not any(bits) and not positions:
        return NULL
    if len(bits) > MOST_PORTS or len(positions) > MOST_PORTS:
        raise ValueError(f"{len(bits)} inputs, {len(positions)} axes that have positions")
    facts = <sd_facts *>calloc(1, sizeof(sd_facts))
    if facts == NULL:
        raise MemoryError
    for p in range(len(bits)):
        facts.bits[p] = bits[p]
    for p in range(len(positions)):
        facts.brings[p], facts.sizes[p] = positions[p]
    facts.ranges = len(positions)
    return facts


cdef inline bint is_array_declared(cnp.ndarray array, int at, int facts) noexcept:
    """Whether an array of float64 or float32 is what is declared, its matrices' axes from ``at`` on."""
    return sd_is_declared(<const char *>cnp.PyArray_DATA(array), cnp.PyArray_NDIM(array),
                          <const Py_ssize_t *>cnp.PyArray_DIMS(array), <const Py_ssize_t *>cnp.PyArray_STRIDES(array), at,
                          facts, cnp.PyArray_TYPE(array) == cnp.NPY_FLOAT32)


cdef inline bint are_declared(PyObject *const *arguments, const sd_given *given, int inputs, const int *ranks,
                              bint behind, const long *letters, const sd_facts *facts) noexcept:
    """Whether every argument is what its input is declared to be, and positions are whole numbers of their axes."""
    cdef int p, at
    if facts == NULL:
        return True
    for p in range(inputs):
        if facts.bits[p] == 0:
            continue
        if given.arrays[p] == NULL:
            if not sd_is_declared(<const char *>&given.numbers[p], 0, NULL, NULL, -1, facts.bits[p], False):
                return False
            continue
        at = (ranks[p] if behind else cnp.PyArray_NDIM(<cnp.ndarray>given.arrays[p])) - 2
        if not is_array_declared(<cnp.ndarray>given.arrays[p], at, facts.bits[p]):
            return False
    # Positions have no part in the type of a call; one with a float32 in it goes the long way.
    if facts.ranges > 0 and given.has_single:
        return False
    for p in range(facts.ranges):
        if not are_positions(arguments[facts.brings[p]], given, facts.brings[p],
                             facts.sizes[p] if facts.sizes[p] >= 0 else letters[-1 - facts.sizes[p]]):
            return False
    return True


cdef inline bint are_positions(PyObject *argument, const sd_given *given, int p, long size) noexcept:
    """Whether an argument holds whole numbers, from 0 on and below ``size``."""
    cdef cnp.ndarray array
    if not sd_is_whole(argument):
        return False
    if given.arrays[p] == NULL:
        return 0 <= given.numbers[p] < size
    array = <cnp.ndarray>given.arrays[p]
    return sd_are_within(<const char *>cnp.PyArray_DATA(array), cnp.PyArray_NDIM(array),
                         <const Py_ssize_t *>cnp.PyArray_DIMS(array), <const Py_ssize_t *>cnp.PyArray_STRIDES(array), size)
