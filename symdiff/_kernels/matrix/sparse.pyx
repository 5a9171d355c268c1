"""Elements of the inverse of a sparse symmetric matrix, from its factors.

Takahashi, Fagan and Chin (1973): with A = L D L', the elements of inv(A) at the positions of L follow from each other,
column by column from the last one, without a column of the inverse. They take about as long as the factors.
"""

from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

import numpy as np


cdef struct Columns:
    # positions below the diagonal, column after column, and what is there
    long n
    long *begin
    int *row
    double *factor
    double *inverse
    double *diagonal


def inverse_elements(int[::1] pointers, int[::1] indices, double[::1] lower, double[::1] pivots,
                     const int[::1] rows, const int[::1] columns):
    """Return elements of the inverse of L D L'.

    Parameters
    ----------
    pointers, indices, lower : ndarray
        L by columns, whose diagonal is 1; elements may be missing where L has zeros by chance.
    pivots : ndarray, shape (n,)
        D.
    rows, columns : ndarray, shape (count,)
        Where L + L' may have a nonzero.

    Returns
    -------
    ndarray, shape (count,)
    """
    cdef Columns c
    cdef long n = pivots.shape[0], k
    cdef int failed
    if pointers.shape[0] != n + 1 or rows.shape[0] != columns.shape[0] or pointers[n] > min(indices.shape[0], lower.shape[0]):
        raise ValueError(f"factors of {pointers.shape[0] - 1} columns and {n} pivots")
    for k in range(pointers[n]):
        if not 0 <= indices[k] < n:
            raise ValueError(f"row {indices[k]} of {n}")
    for k in range(rows.shape[0]):
        if not (0 <= rows[k] < n and 0 <= columns[k] < n):
            raise ValueError(f"element ({rows[k]}, {columns[k]}) of a matrix of {n} rows")
    result = np.empty(rows.shape[0])
    cdef double[::1] found = result
    memset(&c, 0, sizeof(c))
    c.n = n
    with nogil:
        failed = closed(&c, pointers, indices, lower) or inverted(&c, pivots) or read(&c, rows, columns, found)
    free(c.begin)
    free(c.row)
    free(c.factor)
    free(c.inverse)
    free(c.diagonal)
    if failed:
        raise MemoryError
    return result


cdef int closed(Columns *c, int[::1] pointers, int[::1] indices, double[::1] lower) noexcept nogil:
    """Find the positions that elimination fills, and put the factors there: zeros where L has none."""
    cdef long n = c.n, j, p, begin, most = 2 * pointers[n] + n + 1, count = 0
    cdef long child
    cdef int i, parent
    cdef void *grown
    # children of a column are those whose first position is its row
    cdef long *child_of = <long *>malloc(sizeof(long) * (n + 1))
    cdef long *next_child = <long *>malloc(sizeof(long) * (n + 1))
    cdef long *mark = <long *>malloc(sizeof(long) * (n + 1))
    cdef double *column = <double *>malloc(sizeof(double) * (n + 1))
    c.begin = <long *>malloc(sizeof(long) * (n + 1))
    c.row = <int *>malloc(sizeof(int) * most)
    cdef bint failed = not (child_of and next_child and mark and column and c.begin and c.row)
    if not failed:
        for j in range(n):
            child_of[j] = mark[j] = -1
            column[j] = 0.0
        c.begin[0] = 0
        for j in range(n):
            if count + n - j > most:
                most = 2 * most + n
                grown = realloc(c.row, sizeof(int) * most)
                if grown == NULL:
                    failed = True
                    break
                c.row = <int *>grown
            begin, parent, mark[j] = count, <int>n, j
            for p in range(pointers[j], pointers[j + 1]):
                i = indices[p]
                if i > j and mark[i] != j:
                    mark[i], c.row[count], count = j, i, count + 1
                    parent = min(parent, i)
            child = child_of[j]
            while child >= 0:
                for p in range(c.begin[child], c.begin[child + 1]):
                    i = c.row[p]
                    if mark[i] != j:
                        mark[i], c.row[count], count = j, i, count + 1
                        parent = min(parent, i)
                child = next_child[child]
            c.begin[j + 1] = count
            if parent < n:
                next_child[j] = child_of[parent]
                child_of[parent] = j
    if not failed:
        c.factor = <double *>malloc(sizeof(double) * (count + 1))
        failed = c.factor == NULL
    if not failed:
        for j in range(n):
            for p in range(pointers[j], pointers[j + 1]):
                column[indices[p]] = lower[p]
            for p in range(c.begin[j], c.begin[j + 1]):
                c.factor[p] = column[c.row[p]]
            for p in range(pointers[j], pointers[j + 1]):
                column[indices[p]] = 0.0
    free(child_of)
    free(next_child)
    free(mark)
    free(column)
    return failed


cdef int inverted(Columns *c, double[::1] pivots) noexcept nogil:
    """Find the elements of the inverse at all positions of the factors, from the last column to the first."""
    cdef long n = c.n, j, p, q
    cdef int i, k
    cdef double factor, own
    cdef char *inside = <char *>malloc(n + 1)
    cdef double *column = <double *>malloc(sizeof(double) * (n + 1))
    cdef double *sums = <double *>malloc(sizeof(double) * (n + 1))
    c.inverse = <double *>malloc(sizeof(double) * (c.begin[n] + 1))
    c.diagonal = <double *>malloc(sizeof(double) * (n + 1))
    cdef bint failed = not (inside and column and sums and c.inverse and c.diagonal)
    if not failed:
        memset(inside, 0, n + 1)
        for j in range(n - 1, -1, -1):
            for p in range(c.begin[j], c.begin[j + 1]):
                i = c.row[p]
                inside[i], column[i], sums[i] = 1, c.factor[p], 0.0
            # sums = inv(A) at the rows of this column, times this column of L
            for p in range(c.begin[j], c.begin[j + 1]):
                k, factor = c.row[p], c.factor[p]
                own = c.diagonal[k] * factor
                for q in range(c.begin[k], c.begin[k + 1]):
                    i = c.row[q]
                    if inside[i]:
                        sums[i] += c.inverse[q] * factor
                        own += c.inverse[q] * column[i]
                sums[k] += own
            own = 1.0 / pivots[j]
            for p in range(c.begin[j], c.begin[j + 1]):
                i = c.row[p]
                c.inverse[p] = -sums[i]
                own += c.factor[p] * sums[i]
                inside[i] = 0
            c.diagonal[j] = own
    free(inside)
    free(column)
    free(sums)
    return failed


cdef int read(Columns *c, const int[::1] rows, const int[::1] columns, double[::1] found) noexcept nogil:
    """Read elements of the inverse, on either side of the diagonal: zeros where there is no position."""
    cdef long n = c.n, j, p, k
    # elements asked for, by the column of their lower twin
    cdef long *first = <long *>malloc(sizeof(long) * (n + 1))
    cdef long *next = <long *>malloc(sizeof(long) * (rows.shape[0] + 1))
    cdef double *column = <double *>malloc(sizeof(double) * (n + 1))
    cdef bint failed = not (first and next and column)
    if not failed:
        for j in range(n):
            first[j] = -1
            column[j] = 0.0
        for k in range(rows.shape[0]):
            j = min(rows[k], columns[k])
            next[k], first[j] = first[j], k
        for j in range(n):
            if first[j] < 0:
                continue
            column[j] = c.diagonal[j]
            for p in range(c.begin[j], c.begin[j + 1]):
                column[c.row[p]] = c.inverse[p]
            k = first[j]
            while k >= 0:
                found[k] = column[max(rows[k], columns[k])]
                k = next[k]
            for p in range(c.begin[j], c.begin[j + 1]):
                column[c.row[p]] = 0.0
            column[j] = 0.0
    free(first)
    free(next)
    free(column)
    return failed
