"""A plan as a call finds it: for which inputs have the batch, of which type, and for which sizes it is bound."""

cimport numpy as cnp
from cpython.object cimport PyObject
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp

from ..arrays.arguments cimport MOST_PORTS, sd_cast, sd_given
from ..arrays.describe cimport sd_call
from .bind cimport SD_RANK
from .executor cimport Plan, run_plan

import math

cnp.import_array()

cdef enum:
    #: Kinds of calls of a kernel whose plans are kept.
    MOST_ENTRIES = 16


cdef class PlanEntry:
    """A plan that serves calls of one kind.

    Parameters
    ----------
    plan : Plan or None
        None where the kernel's units are as good.
    pattern : sequence of bool
        Which inputs have the batch; none in a call of one sample.
    single : bool
        Whether the call computes with float32.
    values : sequence of int
        The kernel's named sizes, in its order.
    rows : int
        The input whose first axis is the plan's axis of tiles, -1 where that is the batch.
    outputs : sequence of tuple of int
        Shapes of one sample.
    """

    def __cinit__(self, plan, pattern, bint single, values, int rows, outputs):
        cdef int k = 0
        if len(values) > LETTERS:
            raise ValueError(f"{len(values)} named sizes")
        self.plan, self.pattern, self.single, self.rows = plan, bytes(pattern), single, rows
        self.letters = len(values)
        for k, value in enumerate(values):
            self.values[k] = value
        self.extents = <cnp.npy_intp *>calloc(sum(map(len, outputs)) + 1, sizeof(cnp.npy_intp))
        if self.extents == NULL:
            raise MemoryError
        k = 0
        for shape in outputs:
            self.elements += math.prod(shape)
            for length in shape:
                self.extents[k] = length
                k += 1

    def __dealloc__(self):
        free(self.extents)

    cdef bint matches(self, const char *pattern, bint single, const long *values) noexcept:
        cdef int k
        if self.single != single or memcmp(<const char *>self.pattern, pattern, len(self.pattern)) != 0:
            return False
        for k in range(self.letters):
            if self.values[k] != values[k]:
                return False
        return True

    cdef bint replaces(self, PlanEntry other):
        return self.matches(<const char *>other.pattern, other.single, other.values)

    cdef bint run(self, sd_given *given, const sd_call *call, const int *ranks, int inputs, int outputs, bint behind,
                  bint reduce, object targets, bint alone, int threads, list made) except -1:
        """Run the plan on arrays that fit; false if one does not lie as plans need it, or a matrix is singular."""
        cdef char *data[MOST_PORTS]
        cdef const long *strides[MOST_PORTS]
        cdef long steps[MOST_PORTS * 18]
        cdef cnp.ndarray array
        cdef object cast
        cdef int p
        cdef long count = call.count
        cdef float *narrow
        for p in range(inputs):
            strides[p] = steps + 18 * p
            if given.arrays[p] == NULL:
                if given.single:
                    narrow = <float *>&given.numbers[p]
                    narrow[0] = <float>given.numbers[p]
                data[p] = <char *>&given.numbers[p]
                steps[18 * p] = 0
                continue
            array = <cnp.ndarray>given.arrays[p]
            if not given.single and cnp.PyArray_TYPE(array) == cnp.NPY_FLOAT32:
                cast = sd_cast(array, cnp.NPY_FLOAT64)
                made.append(cast)
                array = cast
            if not lay_out(array, ranks[p], behind, (<const char *>self.pattern)[p], call, &data[p], steps + 18 * p):
                return False
        for p in range(outputs):
            array = targets if alone else (<list>targets)[p]
            strides[inputs + p] = steps + 18 * (inputs + p)
            if not lay_out(array, ranks[inputs + p], behind, not reduce and call.count > 1, call, &data[inputs + p],
                           steps + 18 * (inputs + p)):
                return False
        if self.rows >= 0:
            array = <cnp.ndarray>given.arrays[self.rows]
            count = cnp.PyArray_DIMS(array)[0 if behind else cnp.PyArray_NDIM(array) - ranks[self.rows]]
        return run_plan(self.plan, data, strides, count, threads) is None


cdef class PlanTable:
    """The plans of a kernel, those that were entered last first; it is replaced in one step.

    Parameters
    ----------
    alone : bool
        Whether there may be one for calls of one sample, beside units.
    """

    def __cinit__(self, bint alone):
        self.entries = ()
        self.alone = alone

    cdef int enter(self, PlanEntry entry) except -1:
        """Let calls of one kind take a plan from now on; of many kinds, the last few are kept."""
        others = [other for other in self.entries if not entry.replaces(other)]
        self.entries = (entry, *others[:MOST_ENTRIES - 1])
        return 0

    cdef PlanEntry find(self, const sd_given *given, const sd_call *call, const int *ranks, int inputs, bint behind,
                        const long *letters, bint units):
        """Return the plan for a call, None where there is none yet; ``units`` serve samples that share nothing."""
        cdef char pattern[MOST_PORTS]
        cdef PlanEntry entry = self.latest
        if find_pattern(given, call, ranks, inputs, behind, pattern) and units and not (self.alone and call.count == 1):
            return units_entry
        if entry is not None and entry.matches(pattern, given.single, letters):
            return entry
        for entry in self.entries:
            if entry.matches(pattern, given.single, letters):
                self.latest = entry
                return entry
        return None


#: Stands for the units of a kernel.
cdef PlanEntry units_entry = PlanEntry(None, (), False, (), -1, ())


cdef bint lay_out(cnp.ndarray array, int rank, bint behind, bint has_batch, const sd_call *call, char **data,
                  long *steps) noexcept:
    """Tell where an array is, and its strides: along the batch as one axis if it has that, then along a sample's axes."""
    cdef int own = cnp.PyArray_NDIM(array) - rank, axis, at = 0
    cdef const cnp.npy_intp *shape = cnp.PyArray_DIMS(array)
    cdef const cnp.npy_intp *strides = cnp.PyArray_STRIDES(array)
    cdef int sample = 0 if behind else own, batch = rank if behind else 0
    cdef long span = 1, stride = 0
    cdef bint found = False
    if not cnp.PyArray_ISALIGNED(array) or rank + 1 > SD_RANK:
        return False
    data[0] = <char *>cnp.PyArray_DATA(array)
    if has_batch:
        for axis in range(own - 1, -1, -1):
            if shape[batch + axis] != call.lengths[axis + call.axes - own]:
                return False  # repeated along one of several axes
            if shape[batch + axis] == 1:
                continue
            if not found:
                stride, found = strides[batch + axis], True
            elif strides[batch + axis] != stride * span:
                return False
            span *= shape[batch + axis]
        if own < call.axes and span != call.count:
            return False
        steps[0] = stride
        at = 1
    for axis in range(rank):
        steps[at + axis] = strides[sample + axis]
    return True


cdef bint find_pattern(const sd_given *given, const sd_call *call, const int *ranks, int inputs, bint behind,
                       char *pattern) noexcept:
    """Tell which inputs have the batch; return whether all have, or there is none."""
    cdef cnp.ndarray array
    cdef int p, axis, own
    cdef bint whole = True
    for p in range(inputs):
        pattern[p] = 0
        if call.count == 1:
            continue
        if given.arrays[p] != NULL:
            array = <cnp.ndarray>given.arrays[p]
            own = cnp.PyArray_NDIM(array) - ranks[p]
            for axis in range(own):
                if cnp.PyArray_DIMS(array)[axis + (ranks[p] if behind else 0)] != 1:
                    pattern[p] = 1
        whole = whole and pattern[p]
    return whole
