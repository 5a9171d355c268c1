"""NumPy's arrays on their way into a call: what a unit sees, what a caller passes, and whether it is what is declared.

NumPy says what a list, a tuple or a foreign array holds, so that nothing differs from
``symdiff/runtime/calls/arguments.py``, which serves what is refused here and says what is wrong with it. Of declared
inputs and positions, ``declared.py`` and ``positions.py`` beside it do. Functions for ``call.pyx``, ``unit.pyx`` and plans,
compiled into them.
"""

cimport numpy as cnp
from cpython.object cimport PyObject
from libc.stdlib cimport calloc, labs, malloc
from libc.string cimport memmove

cdef extern from "Python.h":
    enum: Py_TPFLAGS_HEAPTYPE
    ctypedef struct PyTypeObject:
        unsigned long tp_flags
    PyTypeObject *Py_TYPE(object)

cdef extern from "batch/unit.h":
    enum: SD_AXES
    enum: SD_NO_MEMORY, SD_RAISED
    const long SD_MOST
    ctypedef long (*sd_kernel)(long, long, const char **, const long *, char **, const long *, void *,
                               void **, long *) noexcept nogil
    ctypedef struct sd_port:
        char *data
        long size
        long stride
        long step
        const long *offsets
        long strides[8]
        int scattered
        int single
        int unaligned
    ctypedef struct sd_unit:
        sd_kernel kernel
        void **functions
        long lanes
        long workspace
        long samples
        long cost
        int inputs
        int outputs
        int reduce
        long total
        int columns
        int single
        int packed
        const char *constant
        int turns
    ctypedef struct sd_call:
        const sd_unit *unit
        sd_port *ports
        long count
        long lengths[8]
        int axes
        int threads
        int kept
    bint lie_in_columns "sd_lie_in_columns"(const sd_port *ports, int number, long count,
                                            bint usual) noexcept nogil
    #: Samples from which it pays to build code for another layout.
    enum: MANY "SD_MANY_SAMPLES"


cdef inline long *offsets(const cnp.npy_intp *shape, const cnp.npy_intp *strides, int ndim, long size) noexcept:
    """Return the distance in bytes of each element of a sample, in C order, from its start; NULL without memory."""
    cdef long *result = <long *>malloc(size * sizeof(long))
    cdef long filled = 1, k, i
    cdef int axis
    if result == NULL:
        return NULL
    # Backwards through the axes: what is filled is repeated for each index of the axis before it.
    # Within result the elements of the axes handled so far are neighbours, hence in C order.
    result[0] = 0
    for axis in range(ndim - 1, -1, -1):
        for k in range(shape[axis] - 1, 0, -1):
            for i in range(filled):
                result[k * filled + i] = result[i] + k * strides[axis]
        filled *= shape[axis]
    return result


cdef inline bint describe(sd_port *port, cnp.ndarray array, int rank, long size, bint behind, const long *lengths,
                          int axes) noexcept:
    """Fill ``port`` from an array that fits; tell whether there was memory for it.

    Offsets, if it has any, belong to the caller.

    The array has ``rank`` axes of a sample and, before or behind them, at most ``axes`` of the batch.
    """
    cdef int own = cnp.PyArray_NDIM(array) - rank
    cdef cnp.npy_intp *shape = cnp.PyArray_DIMS(array)
    cdef cnp.npy_intp *strides = cnp.PyArray_STRIDES(array)
    cdef const cnp.npy_intp *sample = shape + (0 if behind else own)
    cdef const cnp.npy_intp *steps = strides + (0 if behind else own)
    cdef int axis, mine
    cdef long stride, span = 1
    cdef bint found = False, even = True
    port.data = <char *>cnp.PyArray_DATA(array)
    port.size = size
    port.single = cnp.PyArray_TYPE(array) == cnp.NPY_FLOAT32
    port.unaligned = not cnp.PyArray_ISALIGNED(array)
    port.offsets = NULL
    port.step = cnp.PyArray_ITEMSIZE(array)
    port.stride = port.scattered = 0
    if axes == 0 and cnp.PyArray_IS_C_CONTIGUOUS(array):
        return True
    for axis in range(rank - 1, -1, -1):
        if sample[axis] == 1:
            continue
        if not found:
            port.step = steps[axis]
            found = True
        elif steps[axis] != port.step * span:
            even = False
        span *= sample[axis]
    if not even and size > 0:
        port.offsets = offsets(sample, steps, rank, size)
        if port.offsets == NULL:
            return False
    span = 1
    found = False
    for axis in range(axes - 1, -1, -1):
        mine = axis - axes + own
        stride = 0
        if mine >= 0:
            if behind:
                mine += rank
            if shape[mine] != 1:
                stride = strides[mine]
        port.strides[axis] = stride
        if lengths[axis] == 1:
            continue
        if not found:
            port.stride = stride
            found = True
        elif stride != port.stride * span:
            port.scattered = 1
        span *= lengths[axis]
    return True


cdef inline void describe_new(sd_port *port, cnp.ndarray array, long size, long samples, int axes) noexcept:
    """Fill ``port`` from an array in C order that was made for it, its batch's axes in front."""
    cdef cnp.npy_intp item = cnp.PyArray_ITEMSIZE(array)
    cdef int axis
    port.data = <char *>cnp.PyArray_DATA(array)
    port.size = size
    port.single = item == 4
    port.unaligned = port.scattered = 0
    port.offsets = NULL
    port.step = item
    port.stride = item * size if samples > 1 else 0
    for axis in range(axes):
        port.strides[axis] = cnp.PyArray_STRIDES(array)[axis]


cdef inline void number(sd_port *port, double *value, bint narrow) noexcept:
    """Fill ``port`` from a Python number, which has no type of its own."""
    if narrow:
        (<float *>value)[0] = <float>value[0]
    port.data = <char *>value
    port.size = 1
    port.stride = port.scattered = port.unaligned = 0
    port.step = 4 if narrow else 8
    port.single = narrow
    port.offsets = NULL


cdef inline void extent(cnp.ndarray array, size_t *low, size_t *high) noexcept:
    cdef int axis
    cdef cnp.npy_intp reach
    low[0] = <size_t>cnp.PyArray_DATA(array)
    high[0] = low[0] + cnp.PyArray_ITEMSIZE(array)
    for axis in range(cnp.PyArray_NDIM(array)):
        reach = (cnp.PyArray_DIMS(array)[axis] - 1) * cnp.PyArray_STRIDES(array)[axis]
        if reach < 0:
            low[0] += reach
        else:
            high[0] += reach


cdef inline int first_above(const size_t *high, int known, size_t low) noexcept:
    """Return which of the ascending ends is the first one above ``low``; ``known`` where none is."""
    cdef int first = 0, last = known, middle
    while first < last:
        middle = (first + last) >> 1
        if high[middle] > low:
            last = middle
        else:
            first = middle + 1
    return first


cdef inline bint put_apart(size_t *lows, size_t *highs, int known, size_t low, size_t high) noexcept:
    """Put a piece of memory among others, which are in order and apart; false, and nothing is put, if it meets one."""
    cdef int place = known
    if known and highs[known - 1] > low:  # arrays that were made one after the other mostly lie so
        place = first_above(highs, known, low)
        if lows[place] < high:
            return False
        memmove(&lows[place + 1], &lows[place], (known - place) * sizeof(size_t))
        memmove(&highs[place + 1], &highs[place], (known - place) * sizeof(size_t))
    lows[place] = low
    highs[place] = high
    return True


cdef inline bint tangled(cnp.ndarray array) noexcept:
    """Whether elements may share memory: a step along some axis is no longer than all smaller steps together reach."""
    cdef cnp.npy_intp *shape = cnp.PyArray_DIMS(array)
    cdef cnp.npy_intp *strides = cnp.PyArray_STRIDES(array)
    cdef cnp.npy_intp reach
    cdef int axis, other, ndim = cnp.PyArray_NDIM(array)
    for axis in range(ndim):
        reach = cnp.PyArray_ITEMSIZE(array)
        for other in range(ndim):
            if other != axis and shape[other] > 1 and (labs(strides[other]) < labs(strides[axis]) or
                                                       labs(strides[other]) == labs(strides[axis]) and other < axis):
                reach += (shape[other] - 1) * labs(strides[other])
        if shape[axis] > 1 and labs(strides[axis]) < reach:
            return True
    return False


cdef inline bint fits(cnp.ndarray array, int ndim, const cnp.npy_intp *wanted, bint narrow) noexcept:
    """Whether an array can take results."""
    cdef int axis, kind = cnp.PyArray_TYPE(array)
    if kind != cnp.NPY_FLOAT64 and not (narrow and kind == cnp.NPY_FLOAT32):
        return False
    if cnp.PyArray_ISBYTESWAPPED(array) or not cnp.PyArray_ISWRITEABLE(array) or cnp.PyArray_NDIM(array) != ndim:
        return False
    for axis in range(ndim):
        if cnp.PyArray_DIMS(array)[axis] != wanted[axis]:
            return False
    return cnp.PyArray_IS_C_CONTIGUOUS(array) or not tangled(array)


cdef extern from "batch/arguments.h":
    enum: SD_NO_NUMBER
    enum: SD_PYTHONS
    enum: SD_SINGLE
    int sd_number(PyObject *thing, double *value) noexcept
    object sd_cast(cnp.ndarray array, int kind)


cdef enum:
    #: Inputs and outputs of a kernel, at most, that is called without Python on the way.
    MOST_PORTS = 512

ctypedef struct sd_given:
    PyObject *arrays[512]  # of float64 or float32 in the machine's order; NULL for a number
    double numbers[512]
    bint single  # whether the call computes with float32
    bint has_single  # whether an array or a number of float32 is among them


cdef inline object accept(PyObject *const *arguments, const int *ranks, int inputs, sd_given *given):
    """Fill ``given``; return arrays made for it, to be held for as long, or NotImplemented where something is wrong.

    All arrays and NumPy's scalars of float32 make a call of float32; Python's numbers have no type of their own.
    """
    cdef PyObject *thing
    cdef object array
    cdef list made = None
    cdef int p, kind, typed = 0, singles = 0
    for p in range(inputs):
        thing = arguments[p]
        if ranks[p] == 0:
            kind = sd_number(thing, &given.numbers[p])
            if kind != SD_NO_NUMBER:
                given.arrays[p] = NULL
                typed += kind != SD_PYTHONS
                singles += kind == SD_SINGLE
                continue
        if cnp.PyArray_CheckExact(<object>thing) and is_plain(<cnp.ndarray>thing):
            given.arrays[p] = thing
        else:
            array = plain(<object>thing)
            if array is None:
                return NotImplemented
            if made is None:
                made = []
            made.append(array)
            given.arrays[p] = <PyObject *>array
        typed += 1
        singles += cnp.PyArray_TYPE(<cnp.ndarray>given.arrays[p]) == cnp.NPY_FLOAT32
    given.single = typed > 0 and singles == typed
    given.has_single = singles > 0
    if given.single:
        for p in range(inputs):
            # NumPy warns of a number that float32 cannot hold.
            if given.arrays[p] == NULL and is_wide(given.numbers[p]):
                return NotImplemented
    return made


cdef inline bint is_plain(cnp.ndarray array) noexcept:
    """Whether an array holds float64 or float32 in the machine's order."""
    cdef int kind = cnp.PyArray_TYPE(array)
    return (kind == cnp.NPY_FLOAT64 or kind == cnp.NPY_FLOAT32) and not cnp.PyArray_ISBYTESWAPPED(array)


cdef inline bint is_wide(double value) noexcept:
    """Whether a finite number is infinite as a float32."""
    cdef double narrow = <double><float>value
    return narrow - narrow != 0 and value - value == 0


cdef inline object library_of(object thing):
    """Return the library that a value comes from if its arrays have labels, missing values, or no numbers yet: None for
    all others."""
    cdef object kind, name
    if cnp.PyArray_Check(thing):
        return None
    for kind in type(thing).__mro__:
        name = str(kind.__module__).partition(".")[0]
        if name in ("pandas", "polars", "pyarrow", "xarray", "dask"):
            return name
    return None


cdef inline bint holds_symbol(object thing, int depth):
    """Whether a value is a symbol or a list with one in it, of which NumPy would make Python objects, and warn."""
    if type(thing) is list or type(thing) is tuple:
        for part in thing:
            if depth and holds_symbol(part, depth - 1):
                return True
        return False
    # classes of C, such as those of numbers, are told apart at a glance
    if not Py_TYPE(thing).tp_flags & Py_TPFLAGS_HEAPTYPE:
        return False
    return type(thing).__module__ == "symdiff.frontend.array"


cdef inline object plain(object thing):
    """Return an array of float64 or float32 of the same numbers, or None where there is none, or a mask or labels would be
    lost."""
    cdef cnp.ndarray array
    cdef int kind
    if cnp.PyArray_CheckExact(thing):
        array = thing
    else:
        try:
            if holds_symbol(thing, 64):
                return None
            if type(thing) is not list and type(thing) is not tuple:
                if library_of(thing) is not None:
                    return None
                from numpy.ma import MaskedArray
                if isinstance(thing, MaskedArray):
                    return None
            array = cnp.PyArray_FROM_OF(thing, cnp.NPY_ARRAY_ENSUREARRAY)
        except Exception:  # whose words arguments.py has
            return None
        if is_plain(array):
            return array
    kind = cnp.PyArray_TYPE(array)
    if kind == cnp.NPY_FLOAT32:  # in the other order of bytes
        return sd_cast(array, cnp.NPY_FLOAT32)
    if cnp.PyTypeNum_ISINTEGER(kind) or kind in (cnp.NPY_BOOL, cnp.NPY_FLOAT16, cnp.NPY_FLOAT64):
        return sd_cast(array, cnp.NPY_FLOAT64)
    return None


cdef inline bint broadcast(const sd_given *given, int inputs, const int *ranks, const cnp.npy_intp *extents,
                           const char *batched, bint behind, long *letters, sd_call *call) noexcept:
    """Tell the batch of arrays whose samples have the shapes of the inputs; false if there is none.

    ``extents`` are the lengths of the samples' axes, input after input, -1 - k for the named size k, which is -1 in
    ``letters`` until an array tells it; ``batched`` says which inputs may have a batch.
    """
    cdef const cnp.npy_intp *own
    cdef const cnp.npy_intp *sample
    cdef cnp.ndarray array
    cdef int p, axis, rank, extra, at
    cdef double about = 1.0
    call.axes = call.kept = 0
    call.count = 1
    for p in range(inputs):
        if given.arrays[p] == NULL:
            continue
        array = <cnp.ndarray>given.arrays[p]
        rank = ranks[p]
        extra = cnp.PyArray_NDIM(array) - rank
        if extra < 0 or extra > SD_AXES or (extra > 0 and not batched[p]):
            return False
        sample = cnp.PyArray_DIMS(array) + (0 if behind else extra)
        for axis in range(rank):
            if sample[axis] == extents[axis]:
                continue
            if extents[axis] >= 0:
                return False
            at = <int>(-1 - extents[axis])
            if letters[at] == -1:
                letters[at] = sample[axis]
            elif letters[at] != sample[axis]:
                return False
        extents += rank
        own = cnp.PyArray_DIMS(array) + (rank if behind else 0)
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
                return False
    for axis in range(call.axes):
        about *= call.lengths[axis]
    if about == 0.0 or about > SD_MOST:
        return False
    for axis in range(call.axes):
        call.count *= call.lengths[axis]
    return True


cdef extern from "batch/arguments.h":
    bint sd_is_declared(const char *data, int axes, const Py_ssize_t *lengths, const Py_ssize_t *strides, int at,
                        int facts, int single) noexcept nogil
    bint sd_are_within(const char *data, int axes, const Py_ssize_t *lengths, const Py_ssize_t *strides,
                       double size) noexcept nogil
    bint sd_is_whole(PyObject *thing) noexcept


ctypedef struct sd_facts:
    int bits[512]  # of arguments.h, one for each input
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
