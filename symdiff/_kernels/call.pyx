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
