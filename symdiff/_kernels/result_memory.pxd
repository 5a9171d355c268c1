"""New arrays for results: small ones from NumPy, large ones from memory that earlier results freed.

That memory is kept by ``batch/result_memory.h``. Functions for ``call.pyx``, compiled into it.
"""

cimport numpy as cnp
from cpython.object cimport PyObject

cdef extern from "batch/result_memory.h":
    enum: SD_KEEPS
    cnp.PyDataMem_Handler sd_result_memory
    void sd_keep(size_t most) noexcept
    size_t sd_kept_bytes() noexcept


cdef enum:
    #: Bytes from which an array is large.
    SD_LARGE_RESULT = 1 << 20


cdef inline object fresh(object handler, int ndim, cnp.npy_intp *shape, bint single):
    """Return an array of float64 or float32 whose numbers are to be written."""
    cdef double size = 4 if single else 8
    cdef int axis, kind = cnp.NPY_FLOAT32 if single else cnp.NPY_FLOAT64
    cdef object usual
    for axis in range(ndim):
        size *= shape[axis]
    if not SD_KEEPS or size < SD_LARGE_RESULT:
        return cnp.PyArray_EMPTY(ndim, shape, kind, 0)
    usual = cnp.PyDataMem_SetHandler(handler)
    try:
        return cnp.PyArray_EMPTY(ndim, shape, kind, 0)
    finally:
        cnp.PyDataMem_SetHandler(usual)
