"""Nodes in order, and their arguments by numbers."""

from cpython cimport array
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport uint32_t

from symdiff._kernels.system.unique cimport Unique

from array import array as _array

from symdiff._kernels.system.unique import walk

cdef array.array _ints = _array("i")


def numbered(roots):
    """Return every object below ``roots`` once, as ``walk`` does, and their arguments by numbers.

    Returns
    -------
    order : list of Unique
    starts : array of int
        Where the arguments of each object begin, and where those of the last one end.
    args : array of int
        The place of each argument in ``order``.
    tops : array of int
        The places of the roots.
    """
    cdef list tops = list(roots), order = walk(tops)
    cdef Py_ssize_t i, k, count = PyList_GET_SIZE(order), total = 0
    cdef Unique node
    for i in range(count):
        total += PyTuple_GET_SIZE((<Unique>PyList_GET_ITEM(order, i)).args)
    cdef array.array starts = array.clone(_ints, count + 1, False), args = array.clone(_ints, total, False)
    cdef array.array top = array.clone(_ints, PyList_GET_SIZE(tops), False)
    cdef int *begin = starts.data.as_ints
    cdef int *places = args.data.as_ints
    total = 0
    for i in range(count):
        node = <Unique>PyList_GET_ITEM(order, i)
        node.place, begin[i] = <uint32_t>i, <int>total
        for k in range(PyTuple_GET_SIZE(node.args)):
            places[total] = <int>(<Unique>PyTuple_GET_ITEM(node.args, k)).place
            total += 1
    begin[count] = <int>total
    for i in range(PyList_GET_SIZE(tops)):
        top.data.as_ints[i] = <int>(<Unique>PyList_GET_ITEM(tops, i)).place
    return order, starts, args, top
