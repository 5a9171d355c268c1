"""The call path of generated kernels: from NumPy's arrays to the machine's addresses and back.

Nothing here is done once a sample. A call looks at each array, decides whether the kernel can
read it where it lies or needs it packed tile by tile, lets go of the GIL, and runs. What a
call needs it allocates, so threads may share a kernel.
"""

cimport numpy as cnp
from libc.stdlib cimport calloc, free, malloc

import numpy as np

cnp.import_array()

cdef extern from "pack.h":
    ctypedef long (*sd_kernel)(long, long, const char **, const long *, char **, const long *, void *,
                               void **, long *) noexcept nogil
    ctypedef struct sd_port:
        char *data
        long stride
        long size
        const long *offsets
        int single
    ctypedef struct sd_call:
        sd_kernel kernel
        void **functions
        long lanes
        long workspace
        int inputs
        int outputs
        int reduce
        sd_port *ports
    long sd_run(const sd_call *call, long count, long *which) noexcept nogil


cdef enum:
    QUICK_PORTS = 16
    QUICK_AXES = 8


cdef class NativeCall:
    """A loaded kernel, ready to run batches.

    Parameters
    ----------
    address : int
        Address of the generated function.
    functions : sequence of int
        Addresses of the vector library's functions it calls.
    lanes, workspace : int
        As :class:`symdiff.codegen.c.CSource` says.
    inputs, outputs : sequence of int
        Elements of one sample of each port.
    reduce : bool
        Whether the function sums over the batch.
    library : object
        Kept alive for as long as this object.
    """

    cdef sd_call call
    cdef void **functions
    cdef long *sizes
    cdef readonly object library
    cdef int *ranks  # axes of one sample of each port; null until direct() is asked for
    cdef cnp.npy_intp *extents  # their lengths, port after port
    cdef char *batched
    cdef bint single

    def __cinit__(self, size_t address, functions, long lanes, long workspace, inputs, outputs, bint reduce, library):
        self.library = library
        self.functions = <void **>calloc(len(functions) + 1, sizeof(void *))
        self.sizes = <long *>calloc(len(inputs) + len(outputs) + 1, sizeof(long))
        if self.functions == NULL or self.sizes == NULL:
            raise MemoryError
        for i, function in enumerate(functions):
            self.functions[i] = <void *><size_t>function
        for i, size in enumerate((*inputs, *outputs)):
            self.sizes[i] = size
        self.call = sd_call(<sd_kernel>address, self.functions, lanes, workspace,
                            len(inputs), len(outputs), reduce, NULL)

    def __dealloc__(self):
        free(self.functions)
        free(self.sizes)
        free(self.ranks)
        free(self.extents)
        free(self.batched)

    def run(self, inputs, outputs, Py_ssize_t count):
        """Run ``count`` samples.

        Parameters
        ----------
        inputs : sequence of ndarray of float64 or float32
            Each of shape ``(count, ...)`` or ``(1, ...)``, the latter read by every sample. Any strides.
        outputs : sequence of ndarray of float64 or float32
            Each of shape ``(count, ...)``, or ``(1, ...)`` when summing. They overlap nothing.

        Returns
        -------
        tuple of (int, int) or None
            The first sample in which a check failed, and the number of that check.
        """
        cdef int ports = self.call.inputs + self.call.outputs
        cdef sd_call call = self.call
        cdef long failed, which = 0
        cdef int p = 0
        arrays = (*inputs, *outputs)
        if len(inputs) != call.inputs or len(outputs) != call.outputs:
            raise ValueError(f"{len(inputs)} inputs and {len(outputs)} outputs for a kernel of "
                             f"{call.inputs} and {call.outputs}")
        call.ports = <sd_port *>calloc(ports + 1, sizeof(sd_port))
        if call.ports == NULL:
            raise MemoryError
        try:
            for p in range(ports):
                describe(&call.ports[p], arrays[p], self.sizes[p],
                         1 if call.reduce and p >= call.inputs else count, p < call.inputs)
            with nogil:
                failed = sd_run(&call, count, &which)
        finally:
            for p in range(ports):
                free(<void *>call.ports[p].offsets)
            free(call.ports)
        if failed == -2:
            raise MemoryError
        return None if failed < 0 else (failed, which)


    def direct(self, inputs, outputs, batched, bint single):
        """Return a function for calls whose arrays can be read as they are; see :meth:`quick`.

        Parameters
        ----------
        inputs, outputs : sequence of tuple of int
            Shape of one sample of each port.
        batched : sequence of bool
            Whether each input may have batch axes.
        single : bool
            Return the only output itself, not a list.
        """
        cdef int p = 0, k = 0
        shapes = (*inputs, *outputs)
        if len(shapes) > QUICK_PORTS or self.call.reduce or self.ranks != NULL:
            return None
        if max(map(len, shapes), default=0) > QUICK_AXES:
            return None
        self.ranks = <int *>calloc(len(shapes) + 1, sizeof(int))
        self.extents = <cnp.npy_intp *>calloc(sum(map(len, shapes)) + 1, sizeof(cnp.npy_intp))
        self.batched = <char *>calloc(len(inputs) + 1, 1)
        if self.ranks == NULL or self.extents == NULL or self.batched == NULL:
            raise MemoryError
        for p, shape in enumerate(shapes):
            self.ranks[p] = len(shape)
            for length in shape:
                self.extents[k] = length
                k += 1
        for p, allowed in enumerate(batched):
            self.batched[p] = allowed
        self.single = single
        return self.quick

    def quick(self, tuple arguments, out):
        """Run on float64 arrays that lie as the kernel reads them, all of one batch or of none.

        Parameters
        ----------
        arguments : tuple
            One for each input.
        out : ndarray or None
            Where to write, for a single output.

        Returns
        -------
        ndarray, numpy scalar or list of them, or None
            None when anything is out of the ordinary: nothing is computed or, when a check
            failed, nothing is to be used. The call that looks at everything then tells why.
        """
        cdef sd_port ports[QUICK_PORTS]
        cdef double numbers[QUICK_PORTS]
        cdef cnp.npy_intp batch[2 * QUICK_AXES]
        cdef cnp.npy_intp *extents = self.extents
        cdef cnp.npy_intp *shape
        cdef cnp.ndarray array
        cdef object thing
        cdef sd_call call = self.call
        cdef int p, axis, rank, extra, lead = 0
        cdef long count = 1, failed, which = 0
        cdef list results

        if len(arguments) != call.inputs or (out is not None and call.outputs != 1):
            return None
        call.ports = ports
        for p in range(call.inputs):
            thing = arguments[p]
            rank = self.ranks[p]
            ports[p].offsets = NULL
            ports[p].single = 0
            ports[p].size = self.sizes[p]
            ports[p].stride = 0
            if rank == 0 and isinstance(thing, float):
                numbers[p] = thing
                ports[p].data = <char *>&numbers[p]
                continue
            if not cnp.PyArray_CheckExact(thing):
                return None
            array = thing
            if cnp.PyArray_TYPE(array) != cnp.NPY_FLOAT64 or not cnp.PyArray_ISCARRAY_RO(array):
                return None
            extra = cnp.PyArray_NDIM(array) - rank
            shape = cnp.PyArray_DIMS(array)
            if extra < 0 or extra > QUICK_AXES or (extra > 0 and not self.batched[p]):
                return None
            for axis in range(rank):
                if shape[extra + axis] != extents[axis]:
                    return None
            extents += rank
            ports[p].data = <char *>cnp.PyArray_DATA(array)
            if extra > 0:
                if lead == 0:
                    lead = extra
                    for axis in range(extra):
                        batch[axis] = shape[axis]
                        count *= shape[axis]
                elif lead != extra:
                    return None
                for axis in range(extra):
                    if shape[axis] != batch[axis]:
                        return None
                ports[p].stride = ports[p].size * 8
        if count == 0:
            return None

        results = []
        for p in range(call.inputs, call.inputs + call.outputs):
            rank = self.ranks[p]
            for axis in range(rank):
                batch[lead + axis] = extents[axis]
            extents += rank
            if out is None:
                array = cnp.PyArray_EMPTY(lead + rank, batch, cnp.NPY_FLOAT64, 0)
            else:
                if not cnp.PyArray_CheckExact(out):
                    return None
                array = out
                if not fits(array, lead + rank, batch) or overlaps(array, ports, call.inputs, count):
                    return None
            results.append(array)
            ports[p].data = <char *>cnp.PyArray_DATA(array)
            ports[p].offsets = NULL
            ports[p].single = 0
            ports[p].size = self.sizes[p]
            ports[p].stride = ports[p].size * 8
        with nogil:
            failed = sd_run(&call, count, &which)
        if failed != -1:
            return None
        if out is not None:
            return out
        if lead == 0:
            results = [result if result.ndim else result[()] for result in results]
        return results[0] if self.single else results


cdef bint fits(cnp.ndarray array, int ndim, const cnp.npy_intp *wanted) noexcept:
    """Whether an array can be written to as it lies."""
    cdef int axis
    if cnp.PyArray_TYPE(array) != cnp.NPY_FLOAT64 or not cnp.PyArray_ISCARRAY(array) or cnp.PyArray_NDIM(array) != ndim:
        return False
    for axis in range(ndim):
        if cnp.PyArray_DIMS(array)[axis] != wanted[axis]:
            return False
    return True


cdef bint overlaps(cnp.ndarray array, const sd_port *ports, int inputs, long count) noexcept:
    """Whether an array shares memory with an input."""
    cdef size_t begin = <size_t>cnp.PyArray_DATA(array), end = begin + <size_t>cnp.PyArray_NBYTES(array), first
    cdef int p
    for p in range(inputs):
        first = <size_t>ports[p].data
        if first < end and begin < first + <size_t>(ports[p].size * 8 * (count if ports[p].stride else 1)):
            return True
    return False


cdef int describe(sd_port *port, object thing, long size, Py_ssize_t count, bint is_input) except -1:
    """Fill ``port`` from an array; its offsets, if it has any, belong to the caller."""
    if not isinstance(thing, np.ndarray):
        raise TypeError(f"a {type(thing).__name__} where an ndarray was expected")
    cdef cnp.ndarray array = thing
    cdef int kind = cnp.PyArray_TYPE(array)
    cdef int ndim = cnp.PyArray_NDIM(array)
    cdef cnp.npy_intp *shape = cnp.PyArray_DIMS(array)
    cdef cnp.npy_intp *strides = cnp.PyArray_STRIDES(array)
    cdef long expected, elements = 1
    cdef int axis
    cdef bint neighbours
    if kind not in (cnp.NPY_FLOAT64, cnp.NPY_FLOAT32) or not cnp.PyArray_ISBEHAVED_RO(array):
        raise TypeError(f"an array of {thing.dtype}, or unaligned, where aligned float64 or float32 was expected")
    if ndim == 0 or (shape[0] != count and not (is_input and shape[0] == 1)):
        raise ValueError(f"an array of shape {thing.shape} for {count} samples")
    if not is_input and not cnp.PyArray_ISWRITEABLE(array):
        raise ValueError("an output array that is read-only")
    for axis in range(1, ndim):
        elements *= shape[axis]
    if elements != size:
        raise ValueError(f"an array of shape {thing.shape} for samples of {size} elements")
    port.data = <char *>cnp.PyArray_DATA(array)
    port.stride = 0 if shape[0] == 1 else strides[0]
    port.size = size
    port.single = kind == cnp.NPY_FLOAT32
    neighbours = not port.single
    expected = 8
    for axis in range(ndim - 1, 0, -1):
        if shape[axis] != 1 and strides[axis] != expected:
            neighbours = False
        expected *= shape[axis]
    if not neighbours and size > 0:
        port.offsets = offsets(array, size)
    return 0


cdef long *offsets(cnp.ndarray array, long size) except NULL:
    """Return the distance in bytes of each element of a sample, in C order, from its start."""
    cdef int ndim = cnp.PyArray_NDIM(array)
    cdef cnp.npy_intp *shape = cnp.PyArray_DIMS(array)
    cdef cnp.npy_intp *strides = cnp.PyArray_STRIDES(array)
    cdef long *result = <long *>malloc(size * sizeof(long))
    cdef long filled = 1, k, i
    cdef int axis
    if result == NULL:
        raise MemoryError
    # Backwards through the axes: what is filled is repeated for each index of the axis before it.
    # Within result the elements of the axes handled so far are neighbours, hence in C order.
    result[0] = 0
    for axis in range(ndim - 1, 0, -1):
        for k in range(shape[axis] - 1, 0, -1):
            for i in range(filled):
                result[k * filled + i] = result[i] + k * strides[axis]
        filled *= shape[axis]
    return result
