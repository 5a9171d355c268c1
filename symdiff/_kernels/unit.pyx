"""Units, ready to run batches: generated code, or the interpreter, with what there is to know about it.

This module compiles the C that runs a batch (``batch/run.h``) and has the threads of all calls. The
ordinary call of a kernel comes from ``call.pyx``; :meth:`NativeCall.run` takes arrays that somebody
has prepared, with any batch axes.
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.stdlib cimport calloc, free

import math
import numpy as np
import threading

from .arrays cimport (
    describe, is_array_declared, lie_in_columns, SD_AXES, sd_call, sd_kernel, SD_MOST, SD_NO_MEMORY, sd_port,
    SD_RAISED, sd_unit, tangled,
)

cnp.import_array()

cdef extern from "batch/run.h":
    int symdiff_get_num_threads() noexcept nogil
    void symdiff_set_num_threads(int count) noexcept nogil
    void sd_end_threads() noexcept nogil
    long sd_run(const sd_call *call, long *which) noexcept nogil
    int (*sd_ask)() noexcept nogil
    long long sd_now() noexcept nogil
    void sd_run_parts(void *(*work)(void *) noexcept nogil, char *parts, long size, int threads) noexcept nogil


cdef extern from *:
    """
    #include <time.h>
    /* Nanoseconds that this thread has run for: what else runs on the machine does not count. */
    static long long sd_own_time(void) {
    #ifdef CLOCK_THREAD_CPUTIME_ID
      struct timespec t;
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
      return t.tv_sec * 1000000000LL + t.tv_nsec;
    #else
      return sd_now();
    #endif
    }
    """
    long long sd_own_time() noexcept nogil


cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident() noexcept nogil

#: Handlers of signals run in this thread alone.
cdef unsigned long main_thread = threading.main_thread().ident
#: Nanoseconds between two looks for a signal, and when it is time for the next one.
cdef long long patience = 50_000_000, due = 0
#: Exception that a handler raised while native code ran.
cdef object kept_error = None


cdef int ask() noexcept nogil:
    global due
    if PyThread_get_thread_ident() != main_thread or sd_now() < due:
        return 0
    due = sd_now() + patience
    with gil:
        return is_raised()


cdef int is_raised() noexcept:
    global kept_error
    try:
        PyErr_CheckSignals()
    except BaseException as error:
        kept_error = error
        return 1
    return 0


cdef int raise_kept() except -1:
    global kept_error
    error, kept_error = kept_error, None
    error.add_note("the call of a kernel ended early: arrays that were given as out= hold a part of the results")
    raise error


sd_ask = ask

#: Samples of one call, at most.
MOST_SAMPLES = SD_MOST


cdef long run_batch(const sd_call *call, long *which) noexcept nogil:
    return sd_run(call, which)


cdef enum:
    #: Samples, and operations, of a call on which two units are compared; most such calls; operations for which one
    #: lets go of the GIL.
    ENOUGH = 512
    LASTING = 50_000
    COMPARISONS = 5
    LONG = 5000

#: Nanoseconds from which on two runs tell how long a call takes.
cdef long long telling = 5_000_000


cdef long run_unit(NativeCall unit, sd_call *call, long *which):
    cdef NativeCall before = unit.before
    if before is not None:
        if unit.gives_way:
            unit = before
        elif call.count >= ENOUGH and call.count * unit.unit.cost >= LASTING:
            return compare(unit, before, call, which)
    call.unit = &unit.unit
    if call.count < LONG and call.count * unit.unit.cost < LONG:
        return sd_run(call, which)
    with nogil:
        return sd_run(call, which)


cdef long compare(NativeCall unit, NativeCall before, sd_call *call, long *which):
    """Run a call by both units, whose results have the same bits, and let later calls have the other one where each of its
    runs was faster than all of this one: a machine with other things to do is no judge. Where the fastest runs say so
    and not each, a later call compares again."""
    cdef long long least[2]
    cdef long long start, took, most = 0
    cdef long failed = -1
    cdef int turn, which_one
    least[0] = least[1] = -1
    for turn in range(6):
        which_one = turn % 2
        call.unit = &before.unit if which_one else &unit.unit
        with nogil:
            start = sd_own_time()
            failed = sd_run(call, which)
            took = sd_own_time() - start
        if failed != -1:
            return failed
        if least[which_one] < 0 or took < least[which_one]:
            least[which_one] = took
        if which_one and took > most:
            most = took
        # the first run of all finds memory that nobody has touched
        if turn == 3 and (least[0] > telling or least[1] > telling):
            break
    unit.gives_way = most < 0.9 * least[0]
    unit.times = least[0] * 1e-9 / call.count, least[1] * 1e-9 / call.count
    unit.compared += 1
    if not unit.gives_way and (least[1] >= 0.9 * least[0] or unit.compared == COMPARISONS):
        unit.before = None
    return failed


cdef void run_parts(void *(*work)(void *) noexcept nogil, char *parts, long size, int threads) noexcept nogil:
    sd_run_parts(work, parts, size, threads)


cdef int usual_threads() noexcept nogil:
    return symdiff_get_num_threads()


def is_declared(cnp.ndarray array not None, int at, int facts):
    """Tell whether an array of float64 or float32 is what its input is declared to be.

    Parameters
    ----------
    array : ndarray
    at : int
        The first axis of its matrices.
    facts : int
        Bits of ``batch/arguments.h``.
    """
    return is_array_declared(array, at, facts)


def set_num_threads(int count):
    """Set the number of threads of calls whose kernels do not say how many."""
    symdiff_set_num_threads(count)


def get_num_threads():
    """Return the number of threads of calls whose kernels do not say how many."""
    return symdiff_get_num_threads()


def end_threads():
    """Send the threads away that wait for the next call, and let later calls do without."""
    with nogil:
        sd_end_threads()


cdef class NativeCall:
    """A unit, ready to run batches: one function for one layout and one type of number.

    Parameters
    ----------
    address : int
        Address of the function, of C type ``sd_kernel`` (``batch/unit.h``).
    functions : sequence of int
        What it gets as ``fn``: addresses of the vector library's functions, for generated code.
    lanes, workspace : int
        As :class:`symdiff.codegen.c.emit.CSource` says.
    inputs, outputs : sequence of int
        Elements of one sample of each port.
    reduce : bool
        Whether the function sums over the batch.
    library : object
        Kept alive for as long as this object.
    columns : bool, optional
        Whether it reads and writes columns (neighbouring samples), not rows.
    single : bool, optional
        Whether it reads and writes float32.
    packed : bool, optional
        Whether it takes arrays of known distances only, as the bodies of loops have them.
    turns : bool, optional
        Whether it is packed, and a loop with its body.
    constant : sequence of bool, optional
        Inputs that it reads from one sample, the same for all.
    cost : int, optional
        About the operations of one sample.
    samples : int, optional
        Samples that the function takes at once, a power of two; the lanes if it is not given.
    wide : int, optional
        Of a unit of float64: 1 if it serves calls in float32, too, since no other unit will, 2 if it serves these alone.
    """

    def __cinit__(self, size_t address, functions, long lanes, long workspace, inputs, outputs, bint reduce, library,
                  *, bint columns=False, bint single=False, bint packed=False, constant=(), long cost=100,
                  long samples=0, bint turns=False, int wide=0):
        cdef bint some = False
        self.library, self.wide = library, wide
        self.functions = <void **>calloc(len(functions) + 1, sizeof(void *))
        self.sizes = <long *>calloc(len(inputs) + len(outputs) + 1, sizeof(long))
        self.constant = <char *>calloc(len(inputs) + 1, 1)
        if self.functions == NULL or self.sizes == NULL or self.constant == NULL:
            raise MemoryError
        for i, function in enumerate(functions):
            self.functions[i] = <void *><size_t>function
        for i, size in enumerate((*inputs, *outputs)):
            self.sizes[i] = size
        for i, value in enumerate(constant):
            self.constant[i] = value
            some = some or value
        self.unit = sd_unit(<sd_kernel>address, self.functions, lanes, workspace, max(samples, lanes), cost,
                            len(inputs), len(outputs), reduce, sum(outputs), columns, single, packed, NULL, turns)
        if some:
            self.unit.constant = self.constant

    def __dealloc__(self):
        free(self.functions)
        free(self.sizes)
        free(self.constant)

    @property
    def columns(self):
        return bool(self.unit.columns)

    @property
    def single(self):
        return bool(self.unit.single)

    @property
    def packed(self):
        return bool(self.unit.packed)

    @property
    def turns(self):
        return bool(self.unit.turns)

    @property
    def gives_way(self):
        return bool(self.gives_way)

    def follow(self, NativeCall before not None):
        """Take the place of a unit that gives the same bits: a long call compares the two.

        ``times`` are then the seconds of a sample, of this one and of the other, and ``gives_way`` tells whether the other
        one was faster and serves on.
        """
        self.before = before

    def run(self, inputs, outputs, batch, int threads=1, *, bint kept=False):
        """Run all samples of a batch.

        Parameters
        ----------
        inputs : sequence of ndarray of float64 or float32
            Each has the batch's axes in front, of the batch's lengths or of length 1. Any strides.
        outputs : sequence of ndarray of float64 or float32
            Each has the batch's axes in front, or axes of length 1 when summing. They overlap nothing.
        batch : int or tuple of int
            Number of samples, or lengths of the batch's axes.
        threads : int, optional
            At most so many.
        kept : bool, optional
            When summing, make a sum for each place along the first of the batch's axes.

        Returns
        -------
        tuple of (int, int) or None
            The first sample in which a check failed, and the number of that check.
        """
        cdef int ports = self.unit.inputs + self.unit.outputs
        cdef sd_call call
        cdef long failed, which = 0
        cdef int p = 0
        if self.unit.packed:
            raise ValueError("a batch for a unit that only the bodies of loops can run")
        shape = (batch,) if isinstance(batch, int) else batch
        arrays = (*inputs, *outputs)
        if len(inputs) != self.unit.inputs or len(outputs) != self.unit.outputs or len(shape) > SD_AXES:
            raise ValueError(f"{len(inputs)} inputs and {len(outputs)} outputs for a kernel of "
                             f"{self.unit.inputs} and {self.unit.outputs}, or {len(shape)} batch axes")
        if math.prod(shape) > SD_MOST:
            raise ValueError(f"a batch of shape {shape}")
        if kept and not (self.unit.reduce and shape):
            raise ValueError("an axis to keep, of a unit that does not sum or a batch without axes")
        call.kept = kept
        call.threads = threads
        call.axes = len(shape)
        call.count = 1
        for p, length in enumerate(shape):
            call.lengths[p] = length
            call.count *= call.lengths[p]
        call.ports = <sd_port *>calloc(ports + 1, sizeof(sd_port))
        if call.ports == NULL:
            raise MemoryError
        try:
            for p in range(ports):
                own = kept if self.unit.reduce and p >= self.unit.inputs else len(shape)
                examine(arrays[p], shape, self.sizes[p], own, p < self.unit.inputs)
                if not describe(&call.ports[p], arrays[p], (<cnp.ndarray>arrays[p]).ndim - call.axes, self.sizes[p],
                                False, call.lengths, call.axes):
                    raise MemoryError
            failed = run_unit(self, &call, &which)
        finally:
            for p in range(ports):
                free(<void *>call.ports[p].offsets)
            free(call.ports)
        if failed == SD_NO_MEMORY:
            raise MemoryError
        if failed == SD_RAISED:
            raise_kept()
        return None if failed < 0 else (failed, which)


cdef int examine(object thing, tuple batch, long size, int kept, bint is_input) except -1:
    """Check an array that is to be read or written; memory depends on it.

    Of the batch's axes all but the first ``kept`` have length 1.
    """
    if not isinstance(thing, np.ndarray):
        raise TypeError(f"a {type(thing).__name__} where an ndarray was expected")
    cdef cnp.ndarray array = thing
    cdef int kind = cnp.PyArray_TYPE(array)
    cdef int axis
    cdef long elements = 1
    if kind not in (cnp.NPY_FLOAT64, cnp.NPY_FLOAT32) or cnp.PyArray_ISBYTESWAPPED(array):
        raise TypeError(f"an array of {thing.dtype} where float64 or float32 was expected")
    if not is_input and not cnp.PyArray_ISWRITEABLE(array):
        raise ValueError("an output array that is read-only")
    if cnp.PyArray_NDIM(array) < len(batch):
        raise ValueError(f"an array of shape {thing.shape} for a batch of shape {batch}")
    for axis, length in enumerate(batch):
        if thing.shape[axis] != (length if axis < kept else 1) and not (is_input and thing.shape[axis] == 1):
            raise ValueError(f"an array of shape {thing.shape} for a batch of shape {batch}")
    for axis in range(len(batch), cnp.PyArray_NDIM(array)):
        elements *= cnp.PyArray_DIMS(array)[axis]
    if elements != size:
        raise ValueError(f"an array of shape {thing.shape} for samples of {size} elements")
    return 0


def prefers_columns(arrays, tuple batch, bint usual):
    """Return whether a unit of columns suits the arrays of a call better than one of rows.

    Parameters
    ----------
    arrays : sequence of ndarray
        With the batch's axes in front, of its lengths or of length 1.
    batch : tuple of int
    usual : bool
        What is returned for few samples, and when both suit equally well.
    """
    cdef sd_port *ports
    cdef cnp.ndarray array
    cdef long lengths[8]
    cdef long count = 1, size
    cdef int axis, p = 0, axes = len(batch)
    if axes > SD_AXES:
        return usual
    for axis in range(axes):
        lengths[axis] = batch[axis]
        count *= lengths[axis]
    ports = <sd_port *>calloc(len(arrays) + 1, sizeof(sd_port))
    if ports == NULL:
        raise MemoryError
    try:
        for array in arrays:
            size = 1
            for axis in range(axes, cnp.PyArray_NDIM(array)):
                size *= cnp.PyArray_DIMS(array)[axis]
            p += 1
            if not describe(&ports[p - 1], array, cnp.PyArray_NDIM(array) - axes, size, False, lengths, axes):
                raise MemoryError
        return bool(lie_in_columns(ports, p, count, usual))
    finally:
        for axis in range(p):
            free(<void *>ports[axis].offsets)
        free(ports)


def is_tangled(cnp.ndarray array not None):
    """Tell whether elements of an array with elements may share memory."""
    return bool(tangled(array))
