"""The executor of plans: a list of steps over arrays, bound to sizes, run without Python.

What a plan is, :mod:`symdiff.lowering.plan.bound` says; what each step does is C (``run.h`` has the table). Steps that are
programs run units (``unit.pyx``), products own kernels, factorizations also LAPACK by SciPy's pointers. A call takes
memory for what is between the steps from a pool that its plan keeps, so plans allocate nothing in the usual case.
Both ends of the pool are worked with the GIL held: threads may share a plan, and a process that is forked off has
memory of its own there.

A kernel keeps its plans as calls find them: for which inputs have the batch, of which type, and for which sizes.
"""

cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memset

import math
import numpy as np
from importlib import import_module

from symdiff.errors import SingularMatrixError

from ..arrays cimport MOST_PORTS, sd_call, sd_cast, sd_given, sd_unit
from ..unit cimport ask, NativeCall, raise_kept, run_batch, run_parts
from .bind cimport BoundPlan, sd_array, sd_plan, SD_RANK, sd_step

from ..unit import MOST_SAMPLES

cnp.import_array()

ctypedef int (*sd_sort_function)(void *, cnp.npy_intp, void *) noexcept nogil

cdef extern from "plan/run.h":
    enum: SD_NO_MEMORY, SD_RAISED, SD_UNITS, SD_OF_COLUMNS, SD_OF_SINGLE, SD_OF_SUMS, SD_OF_PACKED
    ctypedef struct sd_hooks:
        long (*run_batch)(const sd_call *, long *) noexcept nogil
        void (*run_parts)(void *(*)(void *) noexcept nogil, char *, long, int) noexcept nogil
        const sd_unit *(*make_unit)(void *, int, int) noexcept nogil
        long (*call_python)(void *, const sd_step *, char *const *, const long *const *, long, long) noexcept nogil
        int (*ask)() noexcept nogil
    ctypedef struct sd_job:
        const sd_plan *plan
        const sd_hooks *hooks
        void *self
        const sd_unit *const *units
        const char *usual
        char *const *data
        const long *const *strides
        long count
        int threads
    ctypedef struct sd_failure:
        long sample, which
        int step, whole
    long sd_call_bytes(const sd_plan *plan) noexcept nogil
    void sd_run_plan(sd_job *job, char *memory, sd_failure *failure) noexcept nogil
    ctypedef struct sd_blas_entry:
        const char *name
        void **place
    const sd_blas_entry *sd_blas_names
    sd_sort_function sd_sorter
    int sd_properties(const sd_unit *unit) noexcept nogil

cdef extern from *:
    """
    /* What sorts numbers of float64 in NumPy, for the processor at hand. */
    static PyArray_SortFunc *sd_find_sorter(void) {
      PyArray_Descr *numbers = PyArray_DescrFromType(NPY_DOUBLE);
      PyArray_SortFunc *found = PyDataType_GetArrFuncs(numbers)->sort[NPY_QUICKSORT];
      Py_DECREF(numbers);
      return found;
    }
    """
    sd_sort_function sd_find_sorter() noexcept


cdef enum:
    QUICK = 24
    #: Operations of a call for which it lets go of the GIL.
    LONG = 5000

cdef sd_hooks hooks
hooks.run_batch = run_batch
hooks.run_parts = run_parts
hooks.make_unit = make_unit
hooks.call_python = call_python
hooks.ask = ask
sd_sorter = sd_find_sorter()
if sd_sorter == NULL:
    raise ImportError("this version of NumPy keeps its sort of float64 in another place; symdiff needs another version")


# ---------------------------------------------------------------------------- units


cdef class UnitTable:
    """The units of all programs at some time; nothing in it is ever changed."""

    def __cinit__(self, long places):
        self.units = <const sd_unit **>calloc(places + 1, sizeof(sd_unit *))
        if self.units == NULL:
            raise MemoryError
        self.held = [None] * places

    def __dealloc__(self):
        free(self.units)


cdef class PlanUnits:
    """The units of a plan's programs, replaced while calls run.

    Parameters
    ----------
    make : callable
        Called with the number of a program and the properties of a unit (reduce, columns, single, packed), as
        :meth:`symdiff.runtime.runners.variants.ProgramRunner.call` takes them, when one is first needed; returns a
        :class:`~symdiff._kernels.unit.NativeCall`.
    ports : sequence of (sequence of int, sequence of int)
        For each program the elements of each input and of each output.
    columns : sequence of bool
        For each program whether it takes columns where both layouts suit.
    constant : sequence of (sequence of bool)
        For each program the inputs that its units read from one sample, () for none.
    wirings : sequence of (Wiring or None), optional
        For each program how the loop that it is the body of hands its arrays over (:mod:`symdiff.lowering.plan.plan`), None
        where units run one turn; by default none has any.
    """

    def __init__(self, make, ports, columns, constant, wirings=None):
        cdef int k
        if self.usual != NULL:
            raise ValueError("units that are there already")
        self.make = make
        self.ports = tuple([(tuple(inputs), tuple(outputs), bytes(map(bool, shared)) or bytes(len(inputs)))
                            for (inputs, outputs), shared in zip(ports, constant)])
        if not len(columns) == len(constant) == len(ports) or any([len(i) != len(c) for i, _, c in self.ports]):
            raise ValueError(f"layouts of {len(columns)} and {len(constant)} programs, or of others, for {len(ports)}")
        self.wirings = (None,) * len(ports) if wirings is None else tuple(wirings)
        if len(self.wirings) != len(ports) or any([
                wiring is not None and (len(wiring.inputs), len(wiring.outputs)) != (len(inputs), len(outputs))
                for wiring, (inputs, outputs, _) in zip(self.wirings, self.ports)]):
            raise ValueError(f"{len(self.wirings)} loops, or of other bodies, for {len(ports)} programs")
        self.usual = <char *>calloc(len(self.ports) + 1, 1)
        if self.usual == NULL:
            raise MemoryError
        for k, usual in enumerate(columns):
            self.usual[k] = bool(usual)
        self.table = UnitTable(SD_UNITS * len(self.ports))

    def __dealloc__(self):
        free(self.usual)

    def install(self, int number, NativeCall unit not None):
        """Use a unit for a program from now on, for its type and layout."""
        cdef int place, single
        if not 0 <= number < len(self.ports):
            raise ValueError(f"a unit of program {number} of {len(self.ports)}")
        place = SD_UNITS * number + sd_properties(&unit.unit)
        if unit.wide == 2:
            self.put(place + SD_OF_SINGLE, unit)
            return
        self.put(place, unit)
        if unit.wide and self.table.held[place + SD_OF_SINGLE] is not None and not (
                <NativeCall>self.table.held[place + SD_OF_SINGLE]).unit.single:
            self.put(place + SD_OF_SINGLE, unit)  # a program that computes in float64 throughout

    def cost(self, int number):
        """Return about how many operations one element of a program takes, as far as its units tell."""
        for unit in self.table.held[SD_UNITS * number:SD_UNITS * (number + 1)]:
            if unit is not None:
                return (<NativeCall>unit).unit.cost
        return 100

    cdef int put(self, int place, NativeCall unit) except -1:
        cdef UnitTable old, new
        cdef int k
        inputs, outputs, shared = self.ports[place // SD_UNITS]
        constant = bytes([unit.constant[k] for k in range(unit.unit.inputs)])
        sizes = tuple([unit.sizes[k] for k in range(unit.unit.inputs + unit.unit.outputs)])
        if sizes != inputs + outputs or unit.unit.inputs != len(inputs) or bool(unit.unit.reduce) != bool(place & SD_OF_SUMS):
            raise ValueError("a unit of another program")
        if constant != shared:
            raise ValueError("a unit that shares other inputs")
        if unit.unit.turns and (self.wirings[place // SD_UNITS] is None or not unit.unit.packed):
            raise ValueError("a unit with a loop, of a program that is the body of none")
        while True:
            old = self.table
            new = UnitTable(len(old.held))
            for k in range(len(old.held)):
                new.units[k], new.held[k] = old.units[k], old.held[k]
            new.units[place], new.held[place] = &unit.unit, unit
            if self.table is old:  # no other thread was faster
                self.table = new
                return 0

    cdef const sd_unit *provide(self, int number, int place, list held) except NULL:
        """Make a unit that a call lacks; ``held`` keeps it for that call."""
        cdef NativeCall unit
        if self.table.units[place] == NULL:
            self.put(place, self.make(number, bool(place & SD_OF_SUMS), bool(place & SD_OF_COLUMNS), bool(place & SD_OF_SINGLE),
                                      bool(place & SD_OF_PACKED)))
        unit = self.table.held[place]
        held.append(unit)
        return &unit.unit


# ---------------------------------------------------------------------------- calls


ctypedef struct sd_flight:
    # what the hooks of a call need of Python: references
    PyObject *plan
    PyObject *held
    PyObject *error
    PyObject *message


cdef const sd_unit *make_unit(void *self, int number, int place) noexcept with gil:
    cdef sd_flight *flight = <sd_flight *>self
    try:
        if flight.held == NULL:
            held = []
            Py_INCREF(held)
            flight.held = <PyObject *>held
        return (<Plan>flight.plan).units.provide(number, place, <list>flight.held)
    except BaseException as error:
        keep(&flight.error, error)
        return NULL


cdef void keep(PyObject **where, object thing) noexcept:
    Py_INCREF(thing)
    Py_XDECREF(where[0])
    where[0] = <PyObject *>thing


cdef long call_python(void *self, const sd_step *step, char *const *data, const long *const *strides, long first,
                      long rows) noexcept with gil:
    """Call a function on a step's arrays, copies unless it only reads them, and write what it returns.

    A function that only reads takes float32 as it is, and may write its value where it belongs.
    """
    cdef sd_flight *flight = <sd_flight *>self
    cdef Plan plan = <Plan>flight.plan
    try:
        function, inputs, output, reads = plan.functions[step.number]
        made = whole(plan, output, data, strides, rows)
        if reads:
            value = function(*[whole(plan, k, data, strides, rows) for k in inputs], out=made)
        else:
            value = function(*[np.array(whole(plan, k, data, strides, rows), np.float64) for k in inputs])
        if value is not made:
            np.copyto(made, value, casting="same_kind")
        return -1
    except SingularMatrixError as error:
        if step.tiled and error.index and 0 <= error.index[0] < rows:
            keep(&flight.message, str(error))
            return error.index[0]
        keep(&flight.error, error)
    except BaseException as error:
        keep(&flight.error, error)
    return SD_RAISED


cdef object whole(Plan plan, int number, char *const *data, const long *const *strides, long rows):
    """Return an array of a plan as NumPy's, for as long as the call runs."""
    cdef const sd_array *array = &plan.plan.arrays[number]
    cdef cnp.npy_intp shape[16]
    cdef cnp.npy_intp steps[16]
    cdef int x
    for x in range(array.rank):
        shape[x] = rows if array.tiled and x == 0 else array.shape[x]
        steps[x] = strides[number][x]
    return cnp.PyArray_New(np.ndarray, array.rank, shape, cnp.NPY_FLOAT32 if array.item == 4 else cnp.NPY_FLOAT64,
                           steps, data[number], array.item, cnp.NPY_ARRAY_WRITEABLE, <object>NULL)


cdef tuple run_plan(Plan plan, char *const *data, const long *const *strides, long count, int threads):
    cdef UnitTable table = plan.units.table if plan.units is not None else None
    cdef sd_flight flight
    cdef sd_failure failure
    cdef sd_job job
    cdef char *arena
    if plan.arena_count:
        plan.arena_count -= 1
        arena = plan.arenas[plan.arena_count]
    else:
        arena = <char *>malloc(sd_call_bytes(&plan.plan))
        if arena == NULL:
            raise MemoryError
    memset(&flight, 0, sizeof(flight))
    flight.plan = <PyObject *>plan
    job.plan = &plan.plan
    job.hooks = &hooks
    job.self = &flight
    job.units = table.units if table is not None else NULL
    job.usual = plan.units.usual if table is not None else NULL
    job.data, job.strides = data, strides
    job.count, job.threads = count, threads
    if plan.plan.fixed_cost + <double>plan.plan.row_cost * count < LONG:
        sd_run_plan(&job, arena, &failure)
    else:
        with nogil:
            sd_run_plan(&job, arena, &failure)
    if plan.arena_count < MOST_ARENAS:
        plan.arenas[plan.arena_count] = arena
        plan.arena_count += 1
    else:
        free(arena)
    if failure.sample == -1 and flight.held == NULL:
        return None
    return land(plan, &flight, &failure)


cdef tuple land(Plan plan, sd_flight *flight, const sd_failure *failure):
    """Let go of what a call needed, and tell what failed."""
    error = <object>flight.error if flight.error != NULL else None
    message = <object>flight.message if flight.message != NULL else None
    Py_XDECREF(flight.held)
    Py_XDECREF(flight.error)
    Py_XDECREF(flight.message)
    if failure.sample == -1:
        return None
    if failure.sample == SD_NO_MEMORY:
        raise MemoryError
    if failure.sample == SD_RAISED:
        if error is None:
            raise_kept()
        raise error
    if plan.functions[failure.step] is None:
        message = plan.messages[failure.step][failure.which]
    return (() if failure.whole else (failure.sample,)), message


cdef class Plan(BoundPlan):
    """A plan bound to sizes, ready to run.

    Parameters
    ----------
    inputs, outputs : int
    arrays : sequence of PlanArray
    steps : sequence of BoundStep
        In the order in which they run, within each phase.
    tile : int
        Samples that are run together.
    tile_bytes, kept_bytes : int
        Of the arena: for the arrays of a tile, and for those of a whole call.
    single : bool
        Whether inputs, outputs and what is between are float32.
    lanes : int
        Numbers of float64 in the vectors of the machine's kernels of matrices: 8, 4 or 2; results do not depend on it.
    units : PlanUnits or None
        Of the programs; None for a plan without.

    reproducible : bool, optional
        Whether a sample alone has the bits that it has among others: LAPACK takes no matrices, and vectors are multiplied
        in the order of matrices.

    Raises
    ------
    ValueError
        For a description that contradicts itself or would lead out of an array.
    """

    def __init__(self, *, inputs, outputs, arrays, steps, tile, tile_bytes, kept_bytes, single, lanes, units,
                 reproducible=False):
        self.units = units
        if self.blas:
            load_blas()

    def __dealloc__(self):
        cdef int k
        for k in range(self.arena_count):
            free(self.arenas[k])

    @property
    def arena_bytes(self):
        """Bytes that a call of one thread takes for what is between its steps."""
        return sd_call_bytes(&self.plan)

    def run(self, inputs, outputs, long count, int threads=1):
        """Run the plan.

        Parameters
        ----------
        inputs, outputs : sequence of ndarray of float64, or of float32
            Of the plan's type and shapes; the first axis of tiled ones has ``count`` rows. Any strides. Outputs
            overlap nothing.
        count : int
            Samples; of none, outputs that have no batch are 0 and no step runs.
        threads : int, optional
            At most so many.

        Returns
        -------
        tuple of (tuple of int, str) or None
            The lowest sample that failed, without an index where all samples share what failed, and the message.
        """
        cdef char *few_data[QUICK]
        cdef const long *few_strides[QUICK]
        cdef long few_steps[QUICK * 16]
        cdef char **data = few_data
        cdef const long **strides = few_strides
        cdef long *steps = few_steps
        cdef int ports = self.plan.inputs + self.outputs, p, x
        cdef cnp.ndarray array
        cdef char *memory = NULL
        if len(inputs) != self.plan.inputs or len(outputs) != self.outputs:
            raise ValueError(f"{len(inputs)} inputs and {len(outputs)} outputs for a plan of {self.plan.inputs} and "
                             f"{self.outputs}")
        if not 0 <= count <= MOST_SAMPLES // 1024:
            raise ValueError(f"{count} samples")
        if ports > QUICK:
            memory = <char *>malloc(ports * (16 + SD_RANK * sizeof(long)))
            if memory == NULL:
                raise MemoryError
            data, strides = <char **>memory, <const long **>(memory + ports * 8)
            steps = <long *>(memory + ports * 16)
        try:
            for p in range(ports):
                thing = inputs[p] if p < self.plan.inputs else outputs[p - self.plan.inputs]
                if not isinstance(thing, np.ndarray):
                    raise TypeError(f"a {type(thing).__name__} where an ndarray was expected")
                array = thing
                if self.ports[p] != NULL:
                    self.examine(array, self.ports[p], count, p >= self.plan.inputs)
                data[p] = <char *>cnp.PyArray_DATA(array)
                strides[p] = steps + p * SD_RANK
                for x in range(min(cnp.PyArray_NDIM(array), SD_RANK)):
                    steps[p * SD_RANK + x] = cnp.PyArray_STRIDES(array)[x]
            return run_plan(self, data, strides, count, threads)
        finally:
            free(memory)

    cdef int examine(self, cnp.ndarray array, const sd_array *wanted, long count, bint written) except -1:
        """Check an array that is to be read or written; memory depends on it."""
        cdef int x, kind = cnp.NPY_FLOAT32 if self.plan.single else cnp.NPY_FLOAT64
        if cnp.PyArray_TYPE(array) != kind or cnp.PyArray_ISBYTESWAPPED(array):
            raise TypeError(f"an array of {array.dtype} in a plan of {'float32' if self.plan.single else 'float64'}")
        if written and not cnp.PyArray_ISWRITEABLE(array):
            raise ValueError("an output array that is read-only")
        if cnp.PyArray_NDIM(array) != wanted.rank:
            raise ValueError(f"an array of {cnp.PyArray_NDIM(array)} axes where {wanted.rank} were expected")
        for x in range(wanted.rank):
            if cnp.PyArray_DIMS(array)[x] != (count if wanted.tiled and x == 0 else wanted.shape[x]):
                raise ValueError(f"an array of shape {(<object>array).shape} for {count} samples")
        return 0


# ---------------------------------------------------------------------------- BLAS and LAPACK

cdef bint loaded = False


cdef int load_blas() except -1:
    """Take the addresses of SciPy's functions, once."""
    global loaded
    cdef int k = 0
    if loaded:
        return 0
    modules = [import_module(f"scipy.linalg.cython_{name}") for name in ("blas", "lapack")]
    while sd_blas_names[k].name != NULL:
        name = sd_blas_names[k].name.decode()
        (capsule,) = [module.__pyx_capi__[name] for module in modules if name in module.__pyx_capi__]
        signature = PyCapsule_GetName(capsule)
        if b"int *" not in signature or b"blas_int" in signature:
            raise ImportError(f"SciPy's {name} takes integers of another size than 32 bits: {signature.decode()}")
        sd_blas_names[k].place[0] = PyCapsule_GetPointer(capsule, signature)
        k += 1
    loaded = True
    return 0


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
