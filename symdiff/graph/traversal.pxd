"""C types of what walks over nodes and makes them again: read where the module is compiled, and by nothing else."""

cimport cython

from symdiff._kernels.system.unique cimport Unique, walk
from symdiff.graph.nodes cimport elementwise, intern


@cython.locals(order=list)
cpdef list postorder(roots, skip=*, int settled=*, int most=*)

@cython.locals(node=Unique, arg=Unique, found=set)
cpdef set dependents(order, on)

cpdef Unique rebuild(Unique node, tuple args)

@cython.locals(arg=Unique)
cpdef Unique remake(Unique node, tuple args)
