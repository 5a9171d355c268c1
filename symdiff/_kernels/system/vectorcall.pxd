"""Calls of objects without a tuple of their arguments."""

from cpython.object cimport PyObject

cdef extern from "system/vectorcall.h":
    ctypedef PyObject *(*sd_vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *)
    Py_ssize_t sd_vectorcall_count(size_t nargsf) noexcept nogil
    void sd_enable_vectorcall(object cls, Py_ssize_t offset) noexcept
    PyObject *const *sd_items(object arguments) noexcept
    Py_ssize_t sd_offset(object self, void *member) noexcept
