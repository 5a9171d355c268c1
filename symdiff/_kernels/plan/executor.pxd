"""Plans as ``call.pyx`` sees them, and as it finds them."""

cimport numpy as cnp

from ..arrays cimport sd_call, sd_given, sd_unit
from ..unit cimport NativeCall
from .bind cimport BoundPlan, sd_array

cdef enum:
    #: Memory of calls that a plan keeps for the next ones, at most.
    MOST_ARENAS = 4


cdef class UnitTable:
    cdef const sd_unit **units  # SD_UNITS of each program, as plan.h says
    cdef list held


cdef class PlanUnits:
    cdef UnitTable table  # replaced in one step, while calls that run keep what they have
    cdef object make
    cdef char *usual
    cdef readonly tuple ports  # of each program the elements of inputs and outputs, and which inputs are shared
    cdef readonly tuple wirings

    cdef const sd_unit *provide(self, int number, int place, list held) except NULL
    cdef int put(self, int place, NativeCall unit) except -1


cdef class Plan(BoundPlan):
    cdef PlanUnits units
    cdef char *arenas[4]
    cdef int arena_count

    cdef int examine(self, cnp.ndarray array, const sd_array *wanted, long count, bint written) except -1


#: Run a plan on the data and the strides in bytes of its inputs, then outputs: None, or what failed, as Plan.run says.
cdef tuple run_plan(Plan plan, char *const *data, const long *const *strides, long count, int threads)


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
