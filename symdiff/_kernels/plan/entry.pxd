"""Plans as calls find them, for ``call.pyx``."""

cimport numpy as cnp

from ..arrays.arguments cimport sd_given
from ..arrays.describe cimport sd_call
from .executor cimport Plan

cdef enum:
    #: Named sizes of a kernel, at most, that is called without Python on the way.
    LETTERS = 16


cdef class PlanEntry:
    cdef Plan plan  # None where the kernel's units serve
    cdef bytes pattern  # for each input 1 if it has the batch
    cdef bint single
    cdef int letters
    cdef long values[16]
    cdef int rows  # the input whose first axis is the axis of tiles; -1 for the batch
    cdef cnp.npy_intp *extents  # of the outputs, one after the other
    cdef double elements  # of one sample of all outputs

    cdef bint matches(self, const char *pattern, bint single, const long *values) noexcept
    cdef bint replaces(self, PlanEntry other)
    cdef bint run(self, sd_given *given, const sd_call *call, const int *ranks, int inputs, int outputs, bint behind,
                  bint reduce, object targets, bint alone, int threads, list made) except -1


cdef class PlanTable:
    cdef tuple entries
    cdef bint alone
    cdef PlanEntry latest

    cdef int enter(self, PlanEntry entry) except -1
    cdef PlanEntry find(self, const sd_given *given, const sd_call *call, const int *ranks, int inputs, bint behind,
                        const long *letters, bint units)
