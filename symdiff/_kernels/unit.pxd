"""A unit as ``call.pyx`` sees it. What runs it is in one module alone: the threads of calls are that module's."""

from .arrays cimport sd_call, sd_unit


cdef class NativeCall:
    cdef sd_unit unit
    cdef void **functions
    cdef long *sizes
    cdef char *constant
    cdef readonly object library
    cdef readonly int wide
    cdef NativeCall before  # what served before it, and gives the same bits; None where there is none, or it was slower
    cdef bint gives_way  # to what served before it, which was faster
    cdef readonly object times
    cdef int compared  # calls that compared the two


#: Run a whole batch: the first failing sample, -1 for none, SD_NO_MEMORY, SD_RAISED where a signal has.
cdef long run_batch(const sd_call *call, long *which) noexcept nogil
#: The same by a unit, or by what it gives way to.
cdef long run_unit(NativeCall unit, sd_call *call, long *which)
#: Tell whether a signal has come in whose handler raises; what it raised is kept until raise_kept raises it.
cdef int ask() noexcept nogil
cdef int raise_kept() except -1
#: Threads of calls whose kernels do not say how many.
cdef int usual_threads() noexcept nogil
#: Do work(parts + t * size) for each t below ``threads``, in threads where there are any.
cdef void run_parts(void *(*work)(void *) noexcept nogil, char *parts, long size, int threads) noexcept nogil
