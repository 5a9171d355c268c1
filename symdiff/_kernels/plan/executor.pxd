"""Plans as ``call.pyx`` sees them."""

cimport numpy as cnp

from ..arrays.describe cimport sd_unit
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
