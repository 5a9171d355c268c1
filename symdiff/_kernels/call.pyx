"""The call path of kernels: from NumPy's arrays to the machine's addresses and back.

A call looks at each array once, decides whether the unit (``unit.pyx``) can read it where it is or
needs it packed tile by tile, lets go of the GIL when there is enough to do, and runs. An ordinary
call meets no Python on its way, and nothing is done once a sample. A call allocates what it needs,
so threads may share a kernel.

Results are new arrays, and the lists, tuples and dicts that several of them come back in: a template, which is the
structure with a string for each output, as ``symdiff/frontend/outputs/structure.py`` says. Memory of small arrays is
NumPy's; many small ones and large ones have that of ``batch/buffers.h``. Values of a sparse result are put in order.
"""

cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_New
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

from .arrays cimport (
    accept, are_declared, broadcast, describe, describe_new, extent, facts_of, first_above, fits, library_of,
    lie_in_columns, MANY, MOST_PORTS, number, put_apart, SD_AXES, sd_call, sd_facts, sd_given, sd_port, SD_RAISED,
)
from .plan.executor cimport LETTERS, PlanEntry, PlanTable
from .system.scopes cimport shorten_error
from .unit cimport NativeCall, raise_kept, run_unit, usual_threads

cnp.import_array()

cdef extern from *:
    """
    /* Python's protocol for calls without a tuple of arguments, for a class written in Cython, which has no way to say
       that its objects are called so. */
    typedef PyObject *(*sd_vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *);

    static Py_ssize_t sd_vectorcall_count(size_t nargsf) { return PyVectorcall_NARGS(nargsf); }

    static PyObject *const *sd_items(PyObject *tuple) { return ((PyTupleObject *)tuple)->ob_item; }

    static Py_ssize_t sd_offset(PyObject *self, void *member) { return (char *)member - (char *)self; }

    /* Let a class use the protocol; `offset` is where its objects hold the function, 0 to keep what is inherited. */
    static void sd_enable_vectorcall(PyObject *cls, Py_ssize_t offset) {
      PyTypeObject *type = (PyTypeObject *)cls;
      if (offset) type->tp_vectorcall_offset = offset;
      type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
      PyType_Modified(type);
    }
    """
    ctypedef PyObject *(*sd_vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *)
    Py_ssize_t sd_vectorcall_count(size_t nargsf) noexcept nogil
    void sd_enable_vectorcall(object cls, Py_ssize_t offset) noexcept
    PyObject *const *sd_items(object arguments) noexcept
    Py_ssize_t sd_offset(object self, void *member) noexcept

#: Source of the memory of large results, and that of many small ones, as NumPy takes it.
cdef object _large = PyCapsule_New(&sd_result_memory, "mem_handler", NULL)
cdef object _cells = PyCapsule_New(&sd_cell_memory, "mem_handler", NULL)


def empty(shapes, bint single):
    """Return arrays of float64 or float32 for the results of a call, of memory that earlier ones gave up if they are
    large together or many."""
    return make_arrays(shapes, single, _large, _cells)


def container_library(thing):
    """Return "pandas", "polars", "pyarrow", "xarray" or "dask" for what these made, whose labels, missing values or
    promises an array would lose; None for anything else."""
    return library_of(thing)


def keep_memory(size_t most):
    """Keep at most so many bytes of results that are given up, for the next ones."""
    sd_keep(most)
    sd_keep_cells()


def kept_memory():
    """Return how many bytes of results that were given up are kept."""
    return sd_kept_bytes()


cdef class CallPath:
    """The call of a kernel: finds the unit that fits the arrays, and runs it.

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
    cdef cnp.npy_intp *output_extents  # those of the outputs
    cdef double elements  # of one sample of all outputs
    cdef char *batched
    cdef sd_facts *facts  # what inputs are declared to be; NULL where none is anything
    cdef bint behind
    cdef bint reduce
    cdef bint alone
    cdef object flat  # list or tuple if that is all the structure there is
    cdef object structure  # of several outputs, with strings in their places; None for one output alone
    cdef int threads
    # By type and layout; replaced in one step, while calls that run keep what they have.
    cdef NativeCall rows
    cdef NativeCall columns
    cdef NativeCall single_rows
    cdef NativeCall single_columns
    cdef int letters  # named sizes
    cdef PlanTable plans  # for calls that share inputs or sum over the batch, or all; None where there are none

    def __cinit__(self, *args, **kwargs):
        self.vectorcall = <sd_vectorcall>enter

    def __dealloc__(self):
        free(self.ranks)
        free(self.sizes)
        free(self.extents)
        free(self.batched)
        free(self.facts)

    def _prepare(self, names, inputs, outputs, batched, bint behind, bint reduce, structure, threads, int letters=0,
                 int planned=0, facts=(), positions=()):
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
        structure : template or None
            How several outputs come back, as ``symdiff/frontend/outputs.py`` says; None for one output alone.
        threads : int or None
            At most so many in one call; None for what :func:`symdiff._kernels.unit.set_num_threads` said.
        letters : int, optional
            Named sizes: the one of number k is -1 - k in shapes of inputs. Outputs' come with each plan.
        planned : int, optional
            1 where plans serve calls; beside units, those that share inputs or sum over the batch. 2 where they serve
            those of one sample, too.
        facts : sequence of int, optional
            What each input is declared to be, as bits of ``batch/arguments.h``; empty where none is anything.
        positions : sequence of tuple of int, optional
            An input that brings positions, and the size of their axis as in shapes, for each such axis.
        """
        cdef int p = 0, k = 0
        shapes = (*inputs, *outputs)
        if len(shapes) > MOST_PORTS or max(map(len, shapes), default=0) > SD_AXES or self.names is not None:
            return
        if letters > LETTERS:
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
        self.facts = facts_of(facts, positions)
        self.inputs, self.outputs = len(inputs), len(outputs)
        self.output_extents = self.extents + <int>sum(map(len, inputs))
        for p in range(self.inputs, self.inputs + self.outputs):
            self.elements += self.sizes[p]
        self.behind, self.reduce, self.structure = behind, reduce, structure
        self.alone = structure is None
        if isinstance(structure, (list, tuple)) and all([isinstance(part, str) for part in structure]):
            self.flat = type(structure)
        self.threads = threads or 0
        self.letters = letters
        self.plans = PlanTable(planned > 1) if planned else None
        self.names = tuple(names)

    def _enter(self, PlanEntry entry not None):
        """Let calls of one kind take a plan, or units, from now on; where every call goes the long way, nothing."""
        if self.plans is not None:
            self.plans.enter(entry)

    def _install(self, NativeCall unit not None):
        """Use a unit from now on, for its type and layout."""
        if self.names is not None and (unit.unit.inputs != self.inputs or unit.unit.outputs != self.outputs
                                       or unit.unit.reduce != self.reduce):
            raise ValueError("a unit of another kernel")
        if unit.unit.single or unit.wide:
            if unit.unit.columns:
                self.single_columns = unit
            else:
                self.single_rows = unit
        if not unit.unit.single and unit.wide != 2:
            if unit.unit.columns:
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

    @cython.final
    cdef NativeCall unit_for(self, const sd_port *ports, bint single, long count):
        """Return the unit in whose layout most of the arrays lie, or None where that one is to be built."""
        cdef NativeCall rows = self.single_rows if single else self.rows
        cdef NativeCall columns = self.single_columns if single else self.columns
        if count < MANY and (rows is not None) != (columns is not None):
            return columns if rows is None else rows
        if lie_in_columns(ports, self.inputs + (0 if self.reduce else self.outputs), count, self.behind):
            return columns
        return rows

    @cython.final
    cdef bint arrange(self, PyObject *const *args, Py_ssize_t given, tuple names, PyObject **arguments,
                      PyObject **out):
        """Put the arguments of a call, of which ``names`` come by name behind the others, into the order of the inputs;
        false if some are missing, unknown or given twice, or come in a dict."""
        cdef Py_ssize_t i, k, missing = self.inputs - given
        cdef object name
        if missing < 0:
            return False
        for i in range(self.inputs):
            arguments[i] = args[i] if i < given else NULL
        for i in range(PyTuple_GET_SIZE(names)):
            name = <object>PyTuple_GET_ITEM(names, i)
            if name == "out":
                out[0] = args[given + i]
                continue
            for k in range(given, self.inputs):
                if arguments[k] == NULL and name == <object>PyTuple_GET_ITEM(self.names, k) and name != "inputs":
                    arguments[k] = args[given + i]
                    missing -= 1
                    break
            else:
                return False
        return missing == 0

    @cython.final
    cdef object quick(self, PyObject *const *arguments, object out):
        """Run on arguments that fit. NotImplemented when anything is out of the ordinary:
        nothing is computed then or, when a check failed, nothing is to be used."""
        cdef sd_given given
        cdef sd_call call
        cdef long letters[LETTERS]
        cdef PlanEntry entry = None
        cdef const cnp.npy_intp *extents = self.output_extents
        cdef double elements = self.elements
        cdef object made, targets
        cdef int k
        for k in range(self.letters):
            letters[k] = -1
        made = accept(arguments, self.ranks, self.inputs, &given)
        if made is NotImplemented or not broadcast(
                &given, self.inputs, self.ranks, self.extents, self.batched, self.behind, letters, &call):
            return NotImplemented
        if not are_declared(arguments, &given, self.inputs, self.ranks, self.behind, letters, self.facts):
            return NotImplemented
        if self.plans is not None:
            entry = self.entry_for(&given, &call, letters)
            if entry is None:
                return NotImplemented
            if entry.plan is not None:
                extents, elements = entry.extents, entry.elements
            else:
                entry = None
        if out is None:
            targets = self.new_targets(&given, &call, extents, elements)
        else:
            targets = self.given_targets(&given, &call, extents, out)
        if targets is NotImplemented:
            return NotImplemented
        if entry is None:
            if not self.run(&given, &call, targets, out is None):
                return NotImplemented
        elif not entry.run(&given, &call, self.ranks, self.inputs, self.outputs, self.behind, self.reduce, targets,
                           self.alone, self.threads or usual_threads(), [] if made is None else made):
            return NotImplemented
        return self.results(targets, call.axes == 0 or self.reduce) if out is None else out

    @cython.final
    cdef PlanEntry entry_for(self, const sd_given *given, const sd_call *call, const long *letters):
        """Return the plan for a call of this kind, :data:`units_entry` for units, None where there is neither yet."""
        cdef bint units = self.rows is not None or self.columns is not None or self.single_rows is not None
        units = (units or self.single_columns is not None) and (not self.reduce or call.count == 1)
        return self.plans.find(given, call, self.ranks, self.inputs, self.behind, letters, units)

    @cython.final
    cdef int shape_of(self, int port, const cnp.npy_intp *extents, const sd_call *call, cnp.npy_intp *shape) noexcept:
        """Fill in the shape of an output of this call, whose samples have the lengths ``extents``; return its rank."""
        cdef int axis, rank = self.ranks[port], extra = 0 if self.reduce else call.axes
        cdef int sample = 0 if self.behind else extra, batch = rank if self.behind else 0
        for axis in range(rank):
            shape[sample + axis] = extents[axis]
        for axis in range(extra):
            shape[batch + axis] = call.lengths[axis]
        return rank + extra

    @cython.final
    cdef object new_targets(self, const sd_given *given, const sd_call *call, const cnp.npy_intp *extents,
                            double elements):
        """Return new arrays to write to: a list, or the only one."""
        cdef cnp.npy_intp shape[2 * 8]
        cdef double bytes = (4 if given.single else 8) * (1.0 if self.reduce else call.count), own
        cdef double together = bytes * elements
        cdef int p, axis, ndim, kind = cnp.NPY_FLOAT32 if given.single else cnp.NPY_FLOAT64
        cdef list targets = None
        cdef object target, usual, memory = _large
        if not self.alone:
            targets = [None] * self.outputs  # of its final length: lists that grow leave memory in pieces
        usual = begin_memory(_large, together, self.outputs)
        try:
            for p in range(self.inputs, self.inputs + self.outputs):
                ndim = self.shape_of(p, extents, call, shape)
                if usual is not None:
                    own = bytes
                    for axis in range(self.ranks[p]):
                        own *= extents[axis]
                    memory = next_memory(memory, usual, _large, _cells, own, together)
                target = cnp.PyArray_EMPTY(ndim, shape, kind, 0)
                if self.alone:
                    return target
                extents += self.ranks[p]
                targets[p - self.inputs] = target
        finally:
            end_memory(usual)
        return targets

    @cython.final
    cdef object given_targets(self, const sd_given *given, const sd_call *call, const cnp.npy_intp *extents,
                              object out):
        """Return the arrays given as ``out``: a list, or the only one; NotImplemented if one does not fit."""
        cdef cnp.npy_intp shape[2 * 8]
        cdef size_t low, high, lows[MOST_PORTS]
        cdef size_t highs[MOST_PORTS]  # the memory that each array lies in, in order
        cdef int p, ndim, met
        cdef list targets = None
        cdef object target = out
        if self.flat is not None and (type(out) is tuple or type(out) is list) and len(out) == self.outputs:
            targets = list(out)
        elif not self.alone:
            targets = []
            if not unpack(self.structure, out, targets):
                return NotImplemented
        for p in range(self.outputs):
            if not self.alone:
                target = targets[p]
            ndim = self.shape_of(self.inputs + p, extents, call, shape)
            extents += self.ranks[self.inputs + p]
            if not cnp.PyArray_CheckExact(target) or not fits(<cnp.ndarray>target, ndim, shape, given.single):
                return NotImplemented
            extent(<cnp.ndarray>target, &low, &high)
            if not put_apart(lows, highs, p, low, high):
                return NotImplemented
        for p in range(self.inputs):
            if given.arrays[p] != NULL:
                extent(<cnp.ndarray>given.arrays[p], &low, &high)
                met = first_above(highs, self.outputs, low)
                if met < self.outputs and lows[met] < high:
                    return NotImplemented
        return out if self.alone else targets

    @cython.final
    cdef bint run(self, sd_given *given, sd_call *call, object targets, bint are_new):
        """Compute into arrays that fit, or were made for it. False, and nothing to be used, if there is no unit for them yet, no memory, or a
        check failed."""
        cdef sd_port ports[MOST_PORTS]
        cdef NativeCall unit
        cdef cnp.ndarray target
        cdef int p, axes = 0 if self.reduce else call.axes
        cdef long failed = -1, which = 0
        cdef bint ready = True
        for p in range(self.inputs):
            if given.arrays[p] != NULL:
                ready &= describe(&ports[p], <cnp.ndarray>given.arrays[p], self.ranks[p], self.sizes[p], self.behind,
                                  call.lengths, call.axes)
            else:
                number(&ports[p], &given.numbers[p], given.single)
        for p in range(self.inputs, self.inputs + self.outputs):
            target = targets if self.alone else (<list>targets)[p - self.inputs]
            if are_new and not self.behind:
                describe_new(&ports[p], target, self.sizes[p], call.count if axes else 1, axes)
            else:
                ready &= describe(&ports[p], target, self.ranks[p], self.sizes[p], self.behind, call.lengths, axes)
        unit = self.unit_for(ports, given.single, call.count)
        if ready and unit is not None:
            call.ports = ports
            call.threads = self.threads or usual_threads()
            failed = run_unit(unit, call, &which)
        for p in range(self.inputs + self.outputs):
            if ports[p].offsets != NULL:
                free(<void *>ports[p].offsets)
        if failed == SD_RAISED:
            raise_kept()
        return ready and unit is not None and failed == -1

    @cython.final
    cdef object results(self, object arrays, bint scalars):
        """Return what was written as the kernel's user gets it; ``scalars`` if there is no batch axis."""
        cdef cnp.ndarray array
        cdef Py_ssize_t at = 0
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
        if self.flat is not None:
            return arrays if self.flat is list else tuple(<list>arrays)
        return pack(self.structure, arrays, &at)


cdef object serve(CallPath self, PyObject *const *args, size_t nargsf, PyObject *names):
    """Serve a call: by :meth:`CallPath.quick` if it is an ordinary one, else by the subclass."""
    cdef PyObject *arguments[MOST_PORTS]
    cdef PyObject *out = <PyObject *>None
    cdef Py_ssize_t given = sd_vectorcall_count(nargsf), i
    cdef bint ordinary = self.names is not None
    cdef object result, target, mapping, value
    if ordinary and names == NULL:
        ordinary = given == self.inputs
    elif ordinary:
        ordinary = self.arrange(args, given, <tuple>names, arguments, &out)
    if ordinary:
        try:
            result = self.quick(args if names == NULL else arguments, <object>out)
        except MemoryError:  # the long way tells of what
            result = NotImplemented
        if result is not NotImplemented:
            return result
    others = {<object>PyTuple_GET_ITEM(<object>names, i): <object>args[given + i]
              for i in range(PyTuple_GET_SIZE(<object>names) if names != NULL else 0)}
    target, mapping = others.pop("out", None), others.pop("inputs", None)
    if self.names is not None and type(mapping) is dict and given + len(mapping) + len(others) == self.inputs:
        for i in range(self.inputs):
            if i < given:
                arguments[i] = args[i]
                continue
            value = mapping.get(self.names[i])
            value = others.get(self.names[i]) if value is None else value
            if value is None:
                break
            arguments[i] = <PyObject *>value  # which the dict holds
        else:
            result = self.quick(arguments, target)
            if result is not NotImplemented:
                return result
    return self._call(tuple([<object>args[i] for i in range(given)]), target, mapping, others)


cdef PyObject *enter(PyObject *itself, PyObject *const *args, size_t nargsf, PyObject *names) noexcept:
    """Serve a call as :func:`serve` does, and let an error leave without frames of it."""
    cdef PyObject *result = (<sd_vectorcall>serve)(itself, args, nargsf, names)
    if result == NULL:
        shorten_error()
    return result


def with_vectorcall(cls):
    """Let a subclass of :class:`CallPath` be called without a detour; a decorator.

    Before Python 3.12 a class written in Python does not inherit that.
    """
    sd_enable_vectorcall(cls, 0)
    return cls


cdef CallPath _example = CallPath.__new__(CallPath)
sd_enable_vectorcall(CallPath, sd_offset(_example, &_example.vectorcall))


cdef extern from "batch/buffers.h":
    enum: SD_KEEPS
    enum: SD_CELL_MOST
    cnp.PyDataMem_Handler sd_result_memory
    cnp.PyDataMem_Handler sd_cell_memory
    void sd_keep(size_t most) noexcept
    void sd_keep_cells() noexcept
    size_t sd_kept_bytes() noexcept


cdef enum:
    #: Bytes from which the results of one call, together, are large.
    SD_LARGE_RESULTS = 1 << 16
    #: Results of one call from which they are many: NumPy keeps seven pieces of memory of each length.
    SD_MANY_RESULTS = 8


cdef inline object begin_memory(object large, double bytes, Py_ssize_t count):
    """Let NumPy take memory of results, of so many bytes together, from ``large`` where it is not its own; return where
    it took it from, or None where it still does."""
    if SD_KEEPS and (bytes >= SD_LARGE_RESULTS or count >= SD_MANY_RESULTS):
        return cnp.PyDataMem_SetHandler(large)
    return None


cdef inline object next_memory(object now, object usual, object large, object cells, double own, double bytes):
    """Let NumPy take memory of the next array, of ``own`` bytes, from where it is to be; return where that is."""
    cdef object wanted = cells if own <= SD_CELL_MOST else large if bytes >= SD_LARGE_RESULTS else usual
    if wanted is not now:
        cnp.PyDataMem_SetHandler(wanted)
    return wanted


cdef inline int end_memory(object usual) except -1:
    """Let NumPy take its usual memory again, if :func:`begin_memory` returned it."""
    if usual is not None:
        cnp.PyDataMem_SetHandler(usual)
    return 0


cdef inline list make_arrays(shapes, bint single, object large, object cells):
    """Return arrays of float64 or float32."""
    cdef cnp.npy_intp lengths[64]
    cdef double own, together = 0
    cdef int axis
    cdef list arrays = [], bytes = []
    cdef object usual, memory = large, shape
    for shape in shapes:
        if len(shape) > 64:
            raise ValueError(f"an array of {len(shape)} axes")
        own = 4 if single else 8
        for axis in range(len(shape)):
            own *= shape[axis]
        bytes.append(own)
        together += own
    usual = begin_memory(large, together, len(bytes))
    try:
        for shape, own in zip(shapes, bytes, strict=True):
            for axis in range(len(shape)):
                lengths[axis] = shape[axis]
            if usual is not None:
                memory = next_memory(memory, usual, large, cells, own, together)
            arrays.append(cnp.PyArray_EMPTY(len(shape), lengths, cnp.NPY_FLOAT32 if single else cnp.NPY_FLOAT64, 0))
    finally:
        end_memory(usual)
    return arrays


cdef inline object pack(object template, list results, Py_ssize_t *at):
    """Return the structure with the results from number ``at`` on in place of the strings."""
    cdef list parts
    cdef dict named
    cdef object name, part
    if type(template) is dict:
        named = {}
        for name, part in (<dict>template).items():
            named[name] = pack(part, results, at)
        return named
    if type(template) is tuple or type(template) is list:
        parts = []
        for part in template:
            parts.append(pack(part, results, at))
        return parts if type(template) is list else tuple(parts)
    if type(template) is not str:  # a record, which knows how to be made
        parts = []
        for part in template.parts:
            parts.append(pack(part, results, at))
        return template.make(parts)
    at[0] += 1
    return results[at[0] - 1]


cdef inline bint unpack(object template, object value, list parts):
    """Append the parts of a value in order; tell whether it has the structure, in dicts, lists and tuples alone."""
    cdef object name, part
    cdef Py_ssize_t k
    if type(template) is dict:
        if type(value) is not dict or len(<dict>value) != len(<dict>template):
            return False
        for name, part in (<dict>template).items():
            if name not in <dict>value or not unpack(part, (<dict>value)[name], parts):
                return False
        return True
    if type(template) is tuple or type(template) is list:
        if (type(value) is not tuple and type(value) is not list) or len(value) != len(template):
            return False
        for k in range(len(template)):
            if not unpack(template[k], value[k], parts):
                return False
        return True
    if type(template) is not str:
        return False
    parts.append(value)
    return True


ctypedef fused real:
    float
    double


def put_entries(cnp.ndarray data, take, starts, at, cnp.ndarray target, bint adds):
    """Write entries, or add them to what is there; false where the arrays do not lie as compiled code has them.

    Parameters
    ----------
    data : ndarray
        Elements.
    take : ndarray of int64 or None
        Numbers of elements, those of one entry side by side; None where each element is one entry, in order.
    starts : ndarray of int64 or None
        Where in ``take`` each entry begins; None where each is one element.
    at : ndarray of int64 or None
        Where each entry stands; None where these are all, in order.
    target : ndarray
    adds : bool
        Add to what is there.
    """
    cdef int kind = cnp.PyArray_TYPE(data)
    if cnp.PyArray_NDIM(target) != 1 or cnp.PyArray_NDIM(data) != 1 or cnp.PyArray_TYPE(target) != kind:
        return False
    if not (cnp.PyArray_ISCARRAY(target) and cnp.PyArray_ISCARRAY_RO(data)):
        return False
    cdef const int64_t *begins = NULL if starts is None else <const int64_t *>cnp.PyArray_DATA(<cnp.ndarray>starts)
    cdef const int64_t *places = NULL if at is None else <const int64_t *>cnp.PyArray_DATA(<cnp.ndarray>at)
    cdef const int64_t *numbers = NULL if take is None else <const int64_t *>cnp.PyArray_DATA(<cnp.ndarray>take)
    cdef Py_ssize_t taken = cnp.PyArray_SIZE(data if take is None else <cnp.ndarray>take)
    cdef Py_ssize_t count = taken if starts is None else cnp.PyArray_SIZE(<cnp.ndarray>starts)
    if kind == cnp.NPY_FLOAT64:
        put[double](<double *>cnp.PyArray_DATA(data), numbers, taken, begins, places, count,
                    <double *>cnp.PyArray_DATA(target), adds)
    elif kind == cnp.NPY_FLOAT32:
        put[float](<float *>cnp.PyArray_DATA(data), numbers, taken, begins, places, count,
                   <float *>cnp.PyArray_DATA(target), adds)
    else:
        return False
    return True


cdef void put(const real *data, const int64_t *take, Py_ssize_t taken, const int64_t *starts, const int64_t *at,
              Py_ssize_t count, real *target, bint adds) noexcept nogil:
    cdef Py_ssize_t e, k, end
    cdef real total
    for e in range(count):
        if starts == NULL:
            total = data[take[e]] if take != NULL else data[e]
        else:
            k, end = starts[e], starts[e + 1] if e + 1 < count else taken
            total = data[take[k]]
            for k in range(k + 1, end):
                total = total + data[take[k]]
        k = e if at == NULL else at[e]
        target[k] = target[k] + total if adds else total
