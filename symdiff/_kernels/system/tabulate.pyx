"""Graphs of unique objects as tables: what tells the objects apart, and how they are put together."""

from cpython cimport array
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_SIZE
from libc.stdint cimport uint32_t

from symdiff._kernels.system.unique cimport Unique, arg_of, count_args, kind_of, walk

from array import array as _array

cdef array.array _ints = _array("i")


cdef class _Rows:
    """Rows of a table, of which objects with arguments and without shape and payload share those of equal operations."""

    cdef list rows
    cdef dict shared
    #: The operation and kind of elements that was met last, and its row.
    cdef PyObject *op
    cdef int kind
    cdef uint32_t row

    def __cinit__(self):
        self.rows, self.shared = [], {}
        self.op = NULL

    cdef uint32_t add(self, Unique node) except? 0xFFFFFFFF:
        """Return the number of the row of an object."""
        if count_args(node) == 0 or PyTuple_GET_SIZE(node.shape) != 0 or node.payload is not None:
            self.rows.append((node.op, node.payload, node.shape, node.dtype))
            return <uint32_t>(len(self.rows) - 1)
        if <PyObject *>node.op != self.op or kind_of(node) != self.kind:
            key = (node.op, node.dtype)
            row = self.shared.get(key)
            if row is None:
                row = self.shared[key] = len(self.rows)
                self.rows.append((node.op, None, (), node.dtype))
            self.op, self.kind, self.row = <PyObject *>node.op, kind_of(node), <uint32_t>row
        return self.row


def tabulate(roots):
    """Return what tells the objects below ``roots`` apart, and in which order they are put together.

    Returns
    -------
    rows : list of tuple
        Operation, payload, shape and kind of elements. Functions of numbers, of which a formula may have a million,
        share rows.
    order : bytes
        Numbers of 32 bits. For each object, arguments before uses: that of its row, how many arguments it has, and
        which objects they are; then the roots.
    """
    cdef list tops = list(roots), order = walk(tops)
    cdef Py_ssize_t i, k, count = PyList_GET_SIZE(order), length = PyList_GET_SIZE(tops)
    cdef _Rows rows = _Rows()
    cdef uint32_t *of = <uint32_t *>PyMem_Malloc((count or 1) * sizeof(uint32_t))
    cdef uint32_t *at
    cdef Unique node
    if of == NULL:
        raise MemoryError
    try:
        for i in range(count):
            node = <Unique>PyList_GET_ITEM(order, i)
            of[i] = rows.add(node)
            length += 2 + count_args(node)
        told = PyBytes_FromStringAndSize(NULL, length * sizeof(uint32_t))
        at = <uint32_t *>PyBytes_AS_STRING(told)
        for i in range(count):  # from here on no other code runs, which might note places of its own
            node = <Unique>PyList_GET_ITEM(order, i)
            node.place = <uint32_t>i
            at[0], at[1] = of[i], <uint32_t>count_args(node)
            for k in range(count_args(node)):
                at[2 + k] = (<Unique>arg_of(node, k)).place
            at += 2 + count_args(node)
        for i in range(PyList_GET_SIZE(tops)):
            at[i] = (<Unique>PyList_GET_ITEM(tops, i)).place
    finally:
        PyMem_Free(of)
    return rows.rows, told


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
        total += count_args(<Unique>PyList_GET_ITEM(order, i))
    cdef array.array starts = array.clone(_ints, count + 1, False), args = array.clone(_ints, total, False)
    cdef array.array top = array.clone(_ints, PyList_GET_SIZE(tops), False)
    cdef int *begin = starts.data.as_ints
    cdef int *places = args.data.as_ints
    total = 0
    for i in range(count):
        node = <Unique>PyList_GET_ITEM(order, i)
        node.place, begin[i] = <uint32_t>i, <int>total
        for k in range(count_args(node)):
            places[total] = <int>(<Unique>arg_of(node, k)).place
            total += 1
    begin[count] = <int>total
    for i in range(PyList_GET_SIZE(tops)):
        top.data.as_ints[i] = <int>(<Unique>PyList_GET_ITEM(tops, i)).place
    return order, starts, args, top
