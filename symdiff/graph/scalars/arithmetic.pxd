"""C types of what sums and products are decomposed with: read where the module is compiled, and by nothing else."""

cimport cython

from symdiff._kernels.system.unique cimport Unique
from symdiff.graph.nodes cimport number, scalar_constant


@cython.locals(found=list, todo=list, signs=list, part=Unique, sign=double, count=Py_ssize_t, more=bint, many=bint,
               whole=bint)
cdef _terms(Unique node, Py_ssize_t most, Py_ssize_t longest, enter, look, multiple)

@cython.locals(found=list, todo=list, exponents=list, part=Unique, power=double, sign=int, count=Py_ssize_t, two=bint,
               inside=bint, long=bint, whole=bint)
cdef _factors(Unique node, Py_ssize_t most, Py_ssize_t steps, double powers, enter, look)

cpdef Unique peel(Unique node)

cpdef tuple scaled(Unique node)

@cython.locals(scale=double)
cpdef tuple without_numbers(Unique part, int most=*)
