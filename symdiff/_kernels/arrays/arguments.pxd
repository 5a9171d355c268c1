"""Arguments of a call as numbers and plain arrays of floats, whatever a caller passed for them.

NumPy says what a list, a tuple or a foreign array holds, so that nothing differs from
``symdiff/runtime/calls/arguments.py``, which serves what is refused here and says what is wrong with it.
Functions for ``call.pyx``, compiled into it.
"""

cimport numpy as cnp
from cpython.object cimport PyObject

from .describe cimport SD_AXES, SD_MOST, sd_call

cdef extern from "arrays/numbers.h":
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


cdef inline object plain(object thing):
    """Return an array of float64 or float32 of the same numbers, or None where there is none, or a mask or labels would be
    lost."""
    cdef cnp.ndarray array
    cdef int kind
    if cnp.PyArray_CheckExact(thing):
        array = thing
    else:
        try:
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
