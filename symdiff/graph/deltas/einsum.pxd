"""C types of what products are asked first: read where the module is compiled, and by nothing else."""

from symdiff._kernels.system.unique cimport Unique
from symdiff.graph.nodes cimport elementwise


cpdef bint is_structured(Unique node) except -1

cpdef bint is_zero(Unique node) except -1

cpdef Unique scale_by(Unique factor, Unique x)
