"""Products of sparse matrices with vectors, and factors of those that are symmetric positive definite.

Products are in SciPy's order, written where the result is to be. Of a pattern an analysis is made once: the positions
of the factor, for an order of rows and columns that comes. sparse.h has the factors.
"""

from libc.stdlib cimport free, malloc, realloc

import numpy as np

cdef extern from "matrix/sparse.h":
    ctypedef struct sd_sparse_pattern:
        long n, panels
        const int *first
        const long *rows_at
        const int *row
        const long *at
        const int *panel_of
        long most
    long sd_sparse_factor(const sd_sparse_pattern *p, double *value, long *head, long *next, long *reached, int *place,
                          double *work) nogil
    void sd_sparse_solve(const sd_sparse_pattern *p, const double *value, double *x, double *work) nogil
    void sd_sparse_inverse(const sd_sparse_pattern *p, const double *value, double *inverse, int *place, double *work,
                           double *turned) nogil

ctypedef fused Position:
    int
    long long

ctypedef fused Number:
    float
    double


def product(const Position[::1] pointers, const Position[::1] indices, const Number[::1] data, const Number[::1] x,
            Number[::1] y):
    """Write ``A @ x`` of a matrix by rows, whose positions are within its shape."""
    cdef Py_ssize_t i, k = 0, end
    cdef double total
    with nogil:
        for i in range(y.shape[0]):
            total, end = 0.0, pointers[i + 1]
            while k < end:
                total += <double>data[k] * x[indices[k]]
                k += 1
            y[i] = <Number>total


def transposed_product(const Position[::1] pointers, const Position[::1] indices, const Number[::1] data,
                       const Number[::1] x, Number[::1] y):
    """Write ``A.T @ x`` of a matrix by rows, whose positions are within its shape."""
    cdef Py_ssize_t i, k = 0, end
    cdef Number own
    with nogil:
        for i in range(y.shape[0]):
            y[i] = 0
        for i in range(x.shape[0]):
            own, end = x[i], pointers[i + 1]
            while k < end:
                y[indices[k]] += data[k] * own
                k += 1


cdef class Analysis:
    """The positions of Cholesky's factor of symmetric matrices with one pattern.

    Parameters
    ----------
    pointers, indices : ndarray of int32
        The lower triangle by columns, with rows in any order, and with or without the diagonal.

    Attributes
    ----------
    first, panel_of, rows_at, row, at : ndarray
        See sparse.h.
    count : int
        Numbers of the factor.
    """

    cdef readonly object first, panel_of, rows_at, row, at
    cdef readonly long count
    cdef sd_sparse_pattern pattern

    def __init__(self, const int[::1] pointers, const int[::1] indices):
        cdef long n = pointers.shape[0] - 1, j, s, p, k
        begin, row = filled(pointers, indices)
        count = np.diff(begin)
        parent = np.full(n, n)
        below = np.flatnonzero(count)
        parent[below] = row[begin[below]]
        # a panel goes on while each column's rows are those of the next one
        begins = np.ones(n, bool)
        last = max(n - 1, 0)
        begins[1:] = (parent[:last] != np.arange(1, n)) | (count[:last] != count[1:] + 1)
        first = np.append(np.flatnonzero(begins), n)
        width = np.diff(first)
        rows = width + count[first[1:] - 1] if n else width
        self.first = first.astype(np.int32)
        self.panel_of = np.repeat(np.arange(len(width), dtype=np.int32), width)
        self.rows_at = np.concatenate([[0], np.cumsum(rows)]).astype("l")
        self.at = np.concatenate([[0], np.cumsum(rows * width)]).astype("l")
        self.row = np.empty(np.sum(rows), np.int32)
        self.count = np.sum(rows * width)
        cdef const long[::1] places = self.rows_at, numbers = self.at, starts = begin
        cdef const int[::1] firsts = self.first, panels = self.panel_of, given = row
        cdef int[::1] every = self.row
        for s in range(firsts.shape[0] - 1):
            p, j = places[s], firsts[s]
            every[p] = j
            for k in range(starts[j], starts[j + 1]):
                p += 1
                every[p] = given[k]
        self.pattern.n, self.pattern.panels = n, len(width)
        self.pattern.most = max(rows, default=0)
        if n:
            self.pattern.first, self.pattern.panel_of, self.pattern.row = &firsts[0], &panels[0], &every[0]
            self.pattern.rows_at, self.pattern.at = &places[0], &numbers[0]

    def slots(self, rows, columns):
        """Return where elements of the lower triangle are among the numbers of the factor."""
        panel = self.panel_of[columns]
        start, height = self.rows_at[panel], self.rows_at[panel + 1] - self.rows_at[panel]
        # rows rise within a panel, so positions of all panels together do
        n = self.pattern.n
        keys = np.repeat(np.arange(len(self.first) - 1), np.diff(self.rows_at)) * n + self.row
        place = np.searchsorted(keys, panel.astype(np.int_) * n + rows) - start
        return self.at[panel] + (columns - self.first[panel]) * height + place

    def diagonal(self):
        """Return where the pivots are among the numbers of the factor."""
        columns = np.arange(self.pattern.n)
        return self.slots(columns, columns)

    def factor(self, double[::1] values):
        """Put the factor where the lower triangle is: -1, or the column whose pivot is not positive."""
        cdef long failed, panels = self.pattern.panels, most = self.pattern.most
        if values.shape[0] != self.count:
            raise ValueError(f"{values.shape[0]} numbers; expected {self.count}")
        if not panels:
            return -1
        cdef long[::1] lists = np.empty(3 * panels, "l")
        cdef int[::1] place = np.empty(self.pattern.n, np.int32)
        cdef double[::1] work = np.empty(most * most)
        with nogil:
            failed = sd_sparse_factor(&self.pattern, &values[0], &lists[0], &lists[panels], &lists[2 * panels],
                                      &place[0], &work[0])
        return failed

    def solve(self, const double[::1] factor, double[:, ::1] x):
        """Solve for right sides in the order of the factor, a row each, in place."""
        cdef long k
        if factor.shape[0] != self.count or x.shape[1] != self.pattern.n:
            raise ValueError(f"{factor.shape[0]} numbers and {x.shape[1]} rows")
        if not self.pattern.panels:
            return
        cdef double[::1] work = np.empty(self.pattern.most)
        with nogil:
            for k in range(x.shape[0]):
                sd_sparse_solve(&self.pattern, &factor[0], &x[k, 0], &work[0])

    def inverse(self, const double[::1] factor):
        """Return the elements of the inverse at the positions of the factor."""
        cdef long most = self.pattern.most
        if factor.shape[0] != self.count:
            raise ValueError(f"{factor.shape[0]} numbers; expected {self.count}")
        result = np.empty(factor.shape[0])
        if not self.pattern.panels:
            return result
        cdef double[::1] found = result, work = np.empty(3 * most * most)
        cdef int[::1] place = np.empty(most, np.int32)
        with nogil:
            sd_sparse_inverse(&self.pattern, &factor[0], &found[0], &place[0], &work[0], &work[most * most])
        return result


cdef filled(const int[::1] pointers, const int[::1] indices):
    """Return the positions below the diagonal that elimination fills: where columns begin, and rows in order."""
    cdef long n = pointers.shape[0] - 1, j, p, begin, most = 2 * pointers[n] + n + 1, count = 0, child
    cdef int i, parent
    cdef void *grown
    cdef int *row = <int *>malloc(sizeof(int) * most)
    cdef bint failed = row == NULL
    starts = np.zeros(n + 1, "l")
    cdef long[::1] start = starts
    # children of a column are those whose first position is its row
    cdef long[::1] child_of = np.full(n + 1, -1, "l"), next_child = np.full(n + 1, -1, "l"), mark = np.full(n + 1, -1, "l")
    for j in range(n if not failed else 0):
        if count + n - j > most:
            most = 2 * most + n
            grown = realloc(row, sizeof(int) * most)
            if grown == NULL:
                failed = True
                break
            row = <int *>grown
        begin, parent, mark[j] = count, <int>n, j
        for p in range(pointers[j], pointers[j + 1]):
            i = indices[p]
            if i > j and mark[i] != j:
                mark[i], row[count], count = j, i, count + 1
                parent = min(parent, i)
        child = child_of[j]
        while child >= 0:
            for p in range(start[child], start[child + 1]):
                i = row[p]
                if mark[i] != j:
                    mark[i], row[count], count = j, i, count + 1
                    parent = min(parent, i)
            child = next_child[child]
        start[j + 1] = count
        if parent < n:
            next_child[j] = child_of[parent]
            child_of[parent] = j
    if failed:
        free(row)
        raise MemoryError
    found = np.empty(count, np.int32)
    cdef int[::1] to = found
    for p in range(count):
        to[p] = row[p]
    free(row)
    columns = np.repeat(np.arange(n), np.diff(starts))
    return starts, found[np.lexsort((found, columns))]
