"""The kernels of matrices over NumPy's arrays: one function of arrays for each, and their addresses.

Plans call the kernels by address (``batches.pxd``). The functions of arrays take matrices of any batch axes; they
are the same kernels with memory of their own.

Of a sparse symmetric matrix, elements of the inverse are made of its factors. Takahashi, Fagan and Chin (1973): with
A = L D L', the elements of inv(A) at the positions of L follow from each other, column by column from the last one,
without a column of the inverse. They take about as long as the factors.
"""

cimport numpy as cnp
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

import numpy as np

cnp.import_array()

cdef extern from "matrix/kernels.h":
    const sd_matrix_functions *sd_matrix_kernels(long lanes) noexcept nogil
    size_t sd_matrix_workspace(long n, long columns) noexcept nogil

#: Rows of a matrix, at most.
MOST = SD_MATRIX_MOST
#: ... up to which plans take no LAPACK.
USUAL = SD_MATRIX_USUAL
#: Rows up to which plans take them for spectra, without eigenvectors and with them; LAPACK has others.
MOST_EIGENVALUES, MOST_EIGENVECTORS = SD_SPECTRUM_MOST, SD_EIGENVECTORS_MOST


cdef const sd_matrix_functions *matrix_kernels(long lanes) noexcept nogil:
    return sd_matrix_kernels(lanes)


cdef size_t matrix_workspace(long n, long columns) noexcept nogil:
    return sd_matrix_workspace(n, columns)


cdef class Matrices:
    """The kernels for vectors of some width.

    Matrices and right-hand sides are arrays of float64 or float32 with n × n or n × m numbers in their last two axes,
    and the same batch axes before; factors without batch axes are those of all right-hand sides. Factors are float64, pivots int32; failures are told as the first sample whose
    matrix has a pivot of zero (in Cholesky's factorization: not above zero), or -1.

    Parameters
    ----------
    lanes : int
        Numbers of float64 in a vector: 8 need AVX-512, 4 AVX2; 2 run everywhere.
    """

    cdef const sd_matrix_functions *kernels

    def __init__(self, long lanes):
        self.kernels = sd_matrix_kernels(lanes)
        if self.kernels == NULL:
            raise ValueError(f"vectors of {lanes} numbers on a machine that has none")

    def lu(self, a):
        """Factor P A = L U: factors, pivots, the first failure."""
        cdef Arguments given = Arguments(a)
        factors, pivots = given.new_factors(), given.new((given.call.n,), np.int32)
        given.factored(factors, pivots)
        return factors, pivots, given.run(self.kernels.lu)

    def inverse(self, a, bint transposed=False):
        """Invert: inverses, or their transposes, and the first failure."""
        cdef Arguments given = Arguments(a)
        given.call.transposed = transposed
        x = given.result(given.square, given.call.single)
        return x, given.run(self.kernels.inverse)

    def inverse_lu(self, factors, pivots, bint transposed=False, bint single=False):
        """Invert what was factored."""
        cdef Arguments given = Arguments(factors)
        given.factored(given.a, pivots)
        given.call.transposed = transposed
        x = given.result(given.square, single)
        given.run(self.kernels.inverse_lu)
        return x

    def solve_lu(self, factors, pivots, b, bint transposed=False):
        """Solve A x = b, or A' x = b."""
        cdef Arguments given = Arguments(factors)
        given.factored(given.a, pivots)
        given.call.transposed = transposed
        x = given.right(b)
        given.run(self.kernels.solve_lu)
        return x

    def determinant_lu(self, factors, pivots, bint single=False):
        """Return determinants."""
        cdef Arguments given = Arguments(factors)
        given.factored(given.a, pivots)
        x = given.result((), single)
        given.run(self.kernels.determinant_lu)
        return x

    def log_determinant_lu(self, factors, pivots, bint single=False):
        """Return logarithms of absolute determinants, and the signs of determinants."""
        cdef Arguments given = Arguments(factors)
        given.factored(given.a, pivots)
        x = given.result((), single)
        sign = np.empty_like(x)
        given.call.sign, given.call.sign_stride = cnp.PyArray_DATA(sign), 1
        given.run(self.kernels.determinant_lu)
        return x, sign

    def cholesky(self, a, bint symmetric=True):
        """Factor A = L L': factors, where matrices are symmetric and positive definite, the first failure.

        Without ``symmetric``, only the lower triangle is read.
        """
        cdef Arguments given = Arguments(a)
        factors, definite = given.new_factors(), given.new((), np.bool_)
        given.factored(factors, None)
        if symmetric:
            given.call.definite = <char *>cnp.PyArray_DATA(definite)
        return factors, definite, given.run(self.kernels.cholesky)

    def inverse_cholesky(self, factors, bint single=False):
        """Invert what was factored."""
        cdef Arguments given = Arguments(factors)
        given.factored(given.a, None)
        x = given.result(given.square, single)
        given.run(self.kernels.inverse_cholesky)
        return x

    def solve_cholesky(self, factors, b):
        """Solve A x = b."""
        cdef Arguments given = Arguments(factors)
        given.factored(given.a, None)
        x = given.right(b)
        given.run(self.kernels.solve_cholesky)
        return x


cdef class Arguments:
    """Arguments of a kernel, and the arrays that it points to."""

    cdef sd_matrix_call call
    cdef cnp.ndarray a
    cdef tuple batch
    cdef tuple square
    cdef list kept

    def __init__(self, a):
        self.a = contiguous(a)
        self.kept = [self.a]
        shape = np.shape(a)
        self.batch, self.square = apart(shape)
        if len(self.square) < 2 or self.square[0] != self.square[1] or not 0 < self.square[0] <= SD_MATRIX_MOST:
            raise ValueError(f"matrices of shape {shape}: square ones of 1 to {SD_MATRIX_MOST} rows are taken")
        memset(&self.call, 0, sizeof(self.call))
        self.call.n, self.call.count = self.square[0], np.prod(self.batch, dtype=int)
        self.call.single = self.a.dtype == np.float32
        self.call.a, self.call.a_stride = cnp.PyArray_DATA(self.a), self.call.n * self.call.n

    cdef new(self, tuple shape, dtype):
        return np.zeros((*self.batch, *shape), dtype)

    cdef new_factors(self):
        return self.new(self.square, np.float64)

    cdef factored(self, cnp.ndarray factors, pivots):
        """Take the factors and pivots, which may still have to be made."""
        if factors.dtype != np.float64:
            raise ValueError(f"factors of {factors.dtype}: they are float64")
        self.call.factors, self.call.factors_stride = <double *>cnp.PyArray_DATA(factors), self.call.n * self.call.n
        if pivots is None:
            return
        chosen = np.ascontiguousarray(pivots, np.int32)
        if chosen.shape != (*self.batch, self.call.n):
            raise ValueError(f"pivots of shape {chosen.shape} for factors of shape {(*self.batch, *self.square)}")
        if ((chosen < 0) | (chosen >= self.call.n)).any():
            raise ValueError("pivots that are no rows")
        self.kept.append(chosen)
        self.call.pivots, self.call.pivots_stride = <int *>cnp.PyArray_DATA(chosen), self.call.n

    cdef result(self, tuple shape, bint single):
        """Make the array that the kernel writes."""
        x = self.new(shape, np.float32 if single else np.float64)
        self.call.single = single
        self.call.x, self.call.x_stride = cnp.PyArray_DATA(x), np.prod(shape, dtype=int)
        return x

    cdef right(self, b):
        """Take right-hand sides, and make the array of solutions."""
        cdef cnp.ndarray sides = contiguous(b)
        batch, shape = apart(np.shape(b))
        if not self.batch and batch:  # one matrix for all
            self.batch, self.call.count = batch, np.prod(batch, dtype=int)
            self.call.factors_stride = self.call.pivots_stride = 0
        if len(shape) < 2 or (*batch, shape[0]) != (*self.batch, self.call.n):
            raise ValueError(f"right-hand sides of shape {np.shape(b)} for matrices of {(*self.batch, *self.square)}")
        self.kept.append(sides)
        self.call.columns = shape[1]
        x = self.result(shape, sides.dtype == np.float32)
        self.call.b, self.call.b_stride = cnp.PyArray_DATA(sides), self.call.x_stride
        return x

    cdef run(self, sd_matrix_function *function):
        """Run a kernel in a workspace of its own: the first failure."""
        cdef long failed
        cdef char *memory = <char *>malloc(sd_matrix_workspace(self.call.n, self.call.columns) + 64)
        if memory == NULL:
            raise MemoryError
        with nogil:
            failed = function(&self.call, memory + (64 - <size_t>memory % 64))
        free(memory)
        return failed


cdef contiguous(a):
    """Return an array of float64 or float32 without gaps."""
    array = np.ascontiguousarray(a)
    if array.dtype != np.float64 and array.dtype != np.float32:
        raise ValueError(f"an array of {array.dtype}: float64 and float32 are taken")
    return array


cdef apart(tuple shape):
    """Return the batch axes, and the last two."""
    cdef Py_ssize_t rank = max(len(shape) - 2, 0)
    return shape[:rank], shape[rank:]


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
