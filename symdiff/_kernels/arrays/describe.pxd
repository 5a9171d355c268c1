"""NumPy's arrays as ``batch/unit.h`` sees them: where an array's samples and their elements are.

Functions for ``call.pyx`` and ``unit.pyx``, compiled into both. They hold no Python object and raise nothing.
"""

cimport numpy as cnp
from libc.stdlib cimport labs, malloc
from libc.string cimport memmove

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
