"""C types of what the modes keep for each node: read where the module is compiled, and by nothing else."""

cimport cython

from symdiff._kernels.system.unique cimport Unique
from symdiff.calculus.masking cimport Masked, add, scaled_by
from symdiff.graph.deltas.einsum cimport is_structured, is_zero
from symdiff.graph.nodes cimport elementwise


@cython.locals(
    order=list, active=set, independent=set, slopes=dict, single=dict, pending=dict, node=Unique, arg=Unique,
    seen=Unique, slope=Masked, whole=Masked, part=Masked, known=Masked,
)
cpdef list pull(cotangents, wrt, int prefix, outer=*)

@cython.locals(arg=Unique, part=Masked, known=Masked, constants=tuple)
cdef _pull_number(Unique node, Masked slope, set active, dict slopes, walk)
