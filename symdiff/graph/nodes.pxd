"""C types of what makes nodes: read where the module is compiled, and by nothing else."""

cimport cython

from symdiff._kernels.system.unique cimport Unique, unique


cpdef Unique intern(op, tuple args, payload, tuple shape, dtype=*)

cpdef number(Unique node)

cpdef scalar_constant(Unique node)

cpdef Unique as_node(value)

@cython.locals(shape=tuple, arg=Unique)
cpdef Unique elementwise(op, tuple args, dtype=*)
