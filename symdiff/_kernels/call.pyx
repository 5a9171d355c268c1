"""The call path of kernels: from NumPy's arrays to the machine's addresses and back.

A call looks at each array once, decides whether the unit (``unit.pyx``) can read it where it is or
needs it packed tile by tile, lets go of the GIL when there is enough to do, and runs. An ordinary
call meets no Python on its way, and nothing is done once a sample. A call allocates what it needs,
so threads may share a kernel.
"""

cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_New
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdlib cimport calloc, free

from .describe cimport (
    SD_AXES,
    SD_MOST,
    describe,
    fits,
    lie_in_columns,
    MANY,
    number,
    overlap,
    sd_call,
    sd_port,
    tangled,
)
from .result_memory cimport fresh, sd_keep, sd_kept_bytes, sd_result_memory
from .unit cimport NativeCall, run_batch, usual_threads

cnp.import_array()

#: Where the memory of large results comes from, as NumPy takes it.
cdef object _memory = PyCapsule_New(&sd_result_memory, "mem_handler", NULL)

cdef extern from "system/vectorcall.h":
    ctypedef PyObject *(*sd_vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *)
    Py_ssize_t sd_vectorcall_count(size_t nargsf) noexcept nogil
    void sd_enable_vectorcall(object cls, Py_ssize_t offset) noexcept
    PyObject *const *sd_items(object arguments) noexcept
    Py_ssize_t sd_offset(object self, void *member) noexcept


cdef enum:
    QUICK_PORTS = 24
    #: Operations of a call for which it lets go of the GIL.
    LONG = 5000


def empty(tuple shape not None, bint single):
    """Return an array of float64 or float32 for results, of memory that earlier ones gave up if it is large."""
    cdef cnp.npy_intp lengths[64]
    cdef int axis
    if len(shape) > 64:
        raise ValueError(f"an array of {len(shape)} axes")
    for axis in range(len(shape)):
        lengths[axis] = shape[axis]
    return fresh(_memory, len(shape), lengths, single)


def is_tangled(cnp.ndarray array not None):
    """Whether elements of an array with elements may share memory."""
    return bool(tangled(array))


def keep_memory(size_t most):
    """Keep at most so many bytes of results that are given up, for the next ones."""
    sd_keep(most)


def kept_memory():
    """Return how many bytes of results that were given up are kept."""
    return sd_kept_bytes()


cdef class CallPath:
    """What a kernel is called through: finds the unit that fits the arrays, and runs it.

    A subclass has a method ``_call(args, out, inputs, named)``, which serves every call that is
    out of the ordinary: wrong in some way, of lists or integers, for a unit not yet there.
    """

    cdef sd_vectorcall vectorcall
    cdef tuple names  # None until prepared
    cdef int inputs
    cdef int outputs
    cdef int *ranks  # axes of one sample of each port
    cdef long *sizes  # its elements
    cdef cnp.npy_intp *extents  # lengths of its axes, port after port
    cdef char *batched
    cdef bint behind
    cdef bint reduce
    cdef bint alone
    cdef object packed  # tuple or list for outputs that come back so, None for one, else a function
    cdef int threads
    # By type and layout; replaced in one step, while calls that run keep what they have.
    cdef NativeCall rows
    cdef NativeCall columns
    cdef NativeCall single_rows
    cdef NativeCall single_columns

    def __cinit__(self, *args, **kwargs):
        self.vectorcall = <sd_vectorcall>serve

    def __dealloc__(self):
        free(self.ranks)
        free(self.sizes)
        free(self.extents)
        free(self.batched)

    def _prepare(self, names, inputs, outputs, batched, bint behind, bint reduce, packed, threads):
        """Tell shapes and options; until then, every call goes the long way.

        Parameters
        ----------
        names : sequence of str
            Of the inputs.
        inputs, outputs : sequence of tuple of int
            Shape of one sample of each port.
        batched : sequence of bool
            Whether each input may have batch axes.
        behind : bool
            Batch axes stand behind a sample's own.
        reduce : bool
            Whether outputs are summed over the batch.
        packed : type, callable or None
            What several outputs are put into; None for one output alone.
        threads : int or None
            At most so many in one call; None for what :func:`symdiff._kernels.unit.set_num_threads` said.
        """
        cdef int p = 0, k = 0
        shapes = (*inputs, *outputs)
        if len(shapes) > QUICK_PORTS or max(map(len, shapes), default=0) > SD_AXES or self.names is not None:
            return
        self.ranks = <int *>calloc(len(shapes) + 1, sizeof(int))
        self.sizes = <long *>calloc(len(shapes) + 1, sizeof(long))
        self.extents = <cnp.npy_intp *>calloc(sum(map(len, shapes)) + 1, sizeof(cnp.npy_intp))
        self.batched = <char *>calloc(len(inputs) + 1, 1)
        if self.ranks == NULL or self.sizes == NULL or self.extents == NULL or self.batched == NULL:
            raise MemoryError
        for p, shape in enumerate(shapes):
            self.ranks[p] = len(shape)
            self.sizes[p] = 1
            for length in shape:
                self.extents[k] = length
                self.sizes[p] *= length
                k += 1
        for p, allowed in enumerate(batched):
            self.batched[p] = allowed
        self.inputs, self.outputs = len(inputs), len(outputs)
        self.behind, self.reduce, self.packed = behind, reduce, packed
        self.alone = packed is None
        self.threads = threads or 0
        self.names = tuple(names)

    def _install(self, NativeCall unit not None):
        """Use a unit from now on, for its type and layout."""
        if self.names is not None and (unit.unit.inputs != self.inputs or unit.unit.outputs != self.outputs
                                       or unit.unit.reduce != self.reduce):
            raise ValueError("a unit of another kernel")
        if unit.unit.single:
            if unit.unit.columns:
                self.single_columns = unit
            else:
                self.single_rows = unit
        elif unit.unit.columns:
            self.columns = unit
        else:
            self.rows = unit

    def __call__(self, *args, out=None, inputs=None, **named):
        # For callers that have a tuple at hand; the others come to serve() below.
        if self.names is not None and inputs is None and not named and len(args) == self.inputs:
            result = self.quick(sd_items(args), out)
            if result is not NotImplemented:
                return result
        return self._call(args, out, inputs, named)

    cdef NativeCall unit_for(self, const sd_port *ports, bint single, long count):
        """Return the unit in whose layout most of the arrays lie, or None where that one is to be built."""
        cdef NativeCall rows = self.single_rows if single else self.rows
        cdef NativeCall columns = self.single_columns if single else self.columns
        if count < MANY and (rows is not None) != (columns is not None):
            return columns if rows is None else rows
        if lie_in_columns(ports, self.inputs + (0 if self.reduce else self.outputs), count, single, self.behind):
            return columns
        return rows

    cdef object quick(self, PyObject *const *arguments, object out):
        """Run on arrays of floats that fit. NotImplemented when anything is out of the ordinary:
        nothing is computed then or, when a check failed, nothing is to be used."""
        cdef sd_port ports[QUICK_PORTS]
        cdef double numbers[QUICK_PORTS]
        cdef sd_call call
        cdef NativeCall unit
        cdef object results
        cdef int p, single
        cdef bint narrow, ready = True
        cdef long failed, which = 0

        single = self.accepts(arguments, &call)
        if single < 0:
            return NotImplemented
        narrow = single
        results = self.targets(arguments, out, &call, narrow)
        if results is NotImplemented:
            return NotImplemented
        for p in range(self.inputs + self.outputs):
            ports[p].offsets = NULL
        for p in range(self.inputs):
            if cnp.PyArray_CheckExact(<object>arguments[p]):
                ready &= describe(&ports[p], <cnp.ndarray>arguments[p], self.ranks[p], self.sizes[p], self.behind,
                                  call.lengths, call.axes)
            else:
                numbers[p] = <object>arguments[p]
                number(&ports[p], &numbers[p], narrow)
        for p in range(self.inputs, self.inputs + self.outputs):
            ready &= describe(&ports[p], <cnp.ndarray>(results if self.alone else (<list>results)[p - self.inputs]),
                              self.ranks[p], self.sizes[p], self.behind, call.lengths, 0 if self.reduce else call.axes)
        unit = self.unit_for(ports, narrow, call.count)
        if ready and unit is not None:
            call.unit = &unit.unit
            call.ports = ports
            call.threads = self.threads or usual_threads()
            if call.count < LONG and call.count * unit.unit.cost < LONG:
                failed = run_batch(&call, &which)
            else:
                with nogil:
                    failed = run_batch(&call, &which)
            ready = failed == -1
        else:
            ready = False
        for p in range(self.inputs + self.outputs):
            if ports[p].offsets != NULL:
                free(<void *>ports[p].offsets)
        if not ready:
            return NotImplemented
        if out is not None:
            return out
        return self.results(results, call.axes == 0 or self.reduce)

    cdef int accepts(self, PyObject *const *arguments, sd_call *call) noexcept:
        """Look at the arguments and tell the batch: 1 for float32, 0 for float64, -1 out of the ordinary."""
        cdef cnp.npy_intp *extents = self.extents
        cdef const cnp.npy_intp *own
        cdef const cnp.npy_intp *sample
        cdef cnp.ndarray array
        cdef PyObject *thing
        cdef int p, axis, rank, extra, at, arrays = 0, singles = 0
        cdef double about = 1.0
        call.axes = call.kept = 0
        call.count = 1
        for p in range(self.inputs):
            thing = arguments[p]
            rank = self.ranks[p]
            if rank == 0 and type(<object>thing) is float:
                continue
            if not cnp.PyArray_CheckExact(<object>thing):
                return -1
            array = <cnp.ndarray>thing
            arrays += 1
            if cnp.PyArray_TYPE(array) == cnp.NPY_FLOAT32:
                singles += 1
            elif cnp.PyArray_TYPE(array) != cnp.NPY_FLOAT64:
                return -1
            if cnp.PyArray_ISBYTESWAPPED(array):
                return -1
            extra = cnp.PyArray_NDIM(array) - rank
            if extra < 0 or extra > SD_AXES or (extra > 0 and not self.batched[p]):
                return -1
            sample = cnp.PyArray_DIMS(array) + (0 if self.behind else extra)
            for axis in range(rank):
                if sample[axis] != extents[axis]:
                    return -1
            extents += rank
            own = cnp.PyArray_DIMS(array) + (rank if self.behind else 0)
            # The batches broadcast together: lengths fill up from the last axis backwards.
            if extra > call.axes:
                for axis in range(call.axes - 1, -1, -1):
                    call.lengths[axis + extra - call.axes] = call.lengths[axis]
                for axis in range(extra - call.axes):
                    call.lengths[axis] = 1
                call.axes = extra
            for axis in range(extra):
                at = axis + call.axes - extra
                if call.lengths[at] == 1:
                    call.lengths[at] = own[axis]
                elif own[axis] != call.lengths[at] and own[axis] != 1:
                    return -1
        for axis in range(call.axes):
            about *= call.lengths[axis]
        if about == 0.0 or about > SD_MOST:
            return -1
        for axis in range(call.axes):
            call.count *= call.lengths[axis]
        return arrays > 0 and singles == arrays

    cdef object targets(self, PyObject *const *arguments, object out, const sd_call *call, bint narrow):
        """Return the arrays to write to, those given as ``out`` or new ones: a list, or the only one."""
        cdef cnp.npy_intp shape[2 * 8]
        cdef const cnp.npy_intp *extents = self.extents
        cdef object thing
        cdef list results = None
        cdef int p, q, axis, rank, extra = 0 if self.reduce else call.axes, at
        for p in range(self.inputs):
            extents += self.ranks[p]
        if not self.alone:
            results = []
            if out is not None and (type(out) is not self.packed or len(out) != self.outputs):
                return NotImplemented
        for p in range(self.inputs, self.inputs + self.outputs):
            rank = self.ranks[p]
            at = 0 if self.behind else extra
            for axis in range(rank):
                shape[at + axis] = extents[axis]
            at = rank if self.behind else 0
            for axis in range(extra):
                shape[at + axis] = call.lengths[axis]
            extents += rank
            if out is None:
                thing = fresh(_memory, extra + rank, shape, narrow)
            else:
                thing = out if self.alone else out[p - self.inputs]
                if not cnp.PyArray_CheckExact(thing) or not fits(<cnp.ndarray>thing, extra + rank, shape, narrow):
                    return NotImplemented
                for q in range(self.inputs):
                    if cnp.PyArray_CheckExact(<object>arguments[q]) and overlap(<cnp.ndarray>thing,
                                                                                <cnp.ndarray>arguments[q]):
                        return NotImplemented
                for q in range(p - self.inputs):
                    if overlap(<cnp.ndarray>thing, <cnp.ndarray>results[q]):
                        return NotImplemented
            if self.alone:
                return thing
            results.append(thing)
        return results

    cdef object results(self, object arrays, bint scalars):
        """Return what was written as the kernel's user gets it; ``scalars`` if there is no batch axis."""
        cdef cnp.ndarray array
        cdef int p
        if self.alone:
            if scalars and self.ranks[self.inputs] == 0:
                array = arrays
                return cnp.PyArray_ToScalar(cnp.PyArray_DATA(array), array)
            return arrays
        if scalars:
            for p in range(self.outputs):
                if self.ranks[self.inputs + p] == 0:
                    array = (<list>arrays)[p]
                    (<list>arrays)[p] = cnp.PyArray_ToScalar(cnp.PyArray_DATA(array), array)
        return arrays if self.packed is list else self.packed(arrays)


cdef object serve(CallPath self, PyObject *const *args, size_t nargsf, PyObject *names):
    """Serve a call: by :meth:`CallPath.quick` if it is an ordinary one, else by the subclass."""
    cdef PyObject *arguments[QUICK_PORTS]
    cdef Py_ssize_t given = sd_vectorcall_count(nargsf), named = 0, i, k
    cdef object out = None, name, result
    cdef PyObject *const *chosen = args
    cdef bint ordinary = self.names is not None
    if ordinary and names != NULL:
        named = PyTuple_GET_SIZE(<object>names)
        ordinary = given <= self.inputs
        if ordinary:
            for i in range(self.inputs):
                arguments[i] = args[i] if i < given else NULL
            chosen = arguments
            for i in range(named):
                name = <object>PyTuple_GET_ITEM(<object>names, i)
                if name == "out":
                    out = <object>args[given + i]
                    continue
                for k in range(given, self.inputs):
                    if name == <object>PyTuple_GET_ITEM(self.names, k) and name != "inputs":
                        arguments[k] = args[given + i]
                        break
                else:
                    ordinary = False
                    break
            for i in range(self.inputs):
                ordinary = ordinary and arguments[i] != NULL
    elif ordinary:
        ordinary = given == self.inputs
    if ordinary:
        result = self.quick(chosen, out)
        if result is not NotImplemented:
            return result
    others = {<object>PyTuple_GET_ITEM(<object>names, i): <object>args[given + i]
              for i in range(PyTuple_GET_SIZE(<object>names) if names != NULL else 0)}
    return self._call(tuple([<object>args[i] for i in range(given)]), others.pop("out", None),
                      others.pop("inputs", None), others)


def with_vectorcall(cls):
    """Let a subclass of :class:`CallPath` be called without a detour; a decorator.

    Before Python 3.12 a class written in Python does not inherit that.
    """
    sd_enable_vectorcall(cls, 0)
    return cls


cdef CallPath _example = CallPath.__new__(CallPath)
sd_enable_vectorcall(CallPath, sd_offset(_example, &_example.vectorcall))
