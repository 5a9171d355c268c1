"""The kernels of matrices as other modules call them: by address, without the interpreter lock."""

cdef extern from "matrix/call.h":
    enum: SD_MATRIX_MOST, SD_MATRIX_USUAL, SD_SPECTRUM_MOST, SD_EIGENVECTORS_MOST
    ctypedef struct sd_matrix_call:
        long n
        long count
        long columns
        int single
        int transposed
        const void *a
        long a_stride
        double *factors
        long factors_stride
        int *pivots
        long pivots_stride
        const void *b
        long b_stride
        void *x
        long x_stride
        void *sign
        long sign_stride
        char *definite
    ctypedef long sd_matrix_function(const sd_matrix_call *call, void *workspace) noexcept nogil
    ctypedef struct sd_matrix_functions:
        sd_matrix_function *lu
        sd_matrix_function *inverse
        sd_matrix_function *inverse_lu
        sd_matrix_function *solve_lu
        sd_matrix_function *determinant_lu
        sd_matrix_function *cholesky
        sd_matrix_function *inverse_cholesky
        sd_matrix_function *solve_cholesky

#: The kernels for vectors of so many float64, or NULL.
cdef const sd_matrix_functions *matrix_kernels(long lanes) noexcept nogil
#: Bytes of a workspace that is enough for every kernel of n rows and so many columns of right-hand sides.
cdef size_t matrix_workspace(long n, long columns) noexcept nogil
