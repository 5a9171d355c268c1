"""C types of masked values: read where the module is compiled, and by nothing else."""

cimport cython

from symdiff._kernels.system.unique cimport Unique
from symdiff.graph.deltas.einsum cimport is_structured, is_zero, scale_by
from symdiff.graph.nodes cimport elementwise


cdef class Masked:
    cdef readonly Unique value, mask
    cdef readonly bint settled

    cpdef settle(self)


@cython.locals(made=Masked)
cdef Masked _plain(Unique value, bint settled)

cpdef Masked add(Masked a, Masked b, bint kept)

cpdef Masked scaled_by(Unique node, Unique factor, Masked slope, condition, bint kept)
