"""C types of what the rewriter reads of nodes: read where the module is compiled, and by nothing else."""

cimport cython
from libc.stdint cimport uint64_t

from symdiff._kernels.system.unique cimport Unique, mark as mark_settled, mark_tried
from symdiff.graph.nodes cimport elementwise
from symdiff.graph.traversal cimport postorder, rebuild


cdef class _Table:
    cdef public dict rows, known, by_term, asked
    cdef uint64_t in_terms

    @cython.locals(rows=list, args=tuple, known=dict, found=dict, both=tuple, every=list, alone=list, arg=Unique, below=uint64_t)
    cpdef list fitting(self, Unique node)

    @cython.locals(found=list, keys=list, rows=list)
    cpdef list of_sums(self, Unique node)


cdef class _Rules:
    cdef public int level
    cdef public bint ranged
    cdef object _rows
    cdef list _rest
    cdef public _Table scalars, arrays

    @cython.locals(noted=int)
    cdef tuple _left(self, int noted)

    @cython.locals(settled=int, tried=int, table=_Table)
    cpdef list fitting(self, Unique node)


@cython.locals(seen=list, arg=Unique, part=Unique, first=Unique, second=Unique)
cpdef bint is_linked(Unique node) except -1

@cython.locals(rules=_Rules, several=bint, result=Unique, node=Unique, arg=Unique, table=_Table)
cpdef list _run(
    roots, todo, int level, dict new, rewrites, bint stability=*, bint mark=*
)

@cython.locals(arg=Unique, part=Unique)
cpdef _mark_made(Unique node, _Rules rules, int depth=*)

@cython.locals(seen=set, found=Unique, turn=int, rows=list)
cpdef Unique _settle(Unique node, _Rules rules, rewrites)
