"""The kernels of matrices over NumPy's arrays: one function of arrays for each, and their addresses.

Plans call the kernels by address (``batches.pxd``). The functions of arrays take matrices of any batch axes; they
are the same kernels with memory of their own.
"""

cimport numpy as cnp
from libc.stdlib cimport free, malloc
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
