"""Values of a sparse result put in order: each entry is an element that was computed, or the sum of several."""

cimport numpy as cnp
from libc.stdint cimport int64_t

cnp.import_array()

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
