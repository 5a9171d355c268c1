"""Factorizations of small and medium matrices, a batch at a time, and what is made of them; and of sparse ones.

Takes
    n×n matrices, n from 1 to 1024 (plans leave those of more than 512 to LAPACK), sample after sample; right-hand sides
Gives
    LU and Cholesky factors; inverses, solutions, determinants; eigenvalues and eigenvectors of small symmetric matrices
Invariants
    * A sample's bits depend neither on its place in the batch, nor on the samples beside it, nor on whether the lanes
      of vectors hold samples or columns: each element has one order of operations.
    * nan and inf in one sample never reach another.
    * Everything is computed in float64; matrices and results may be float32 in memory.
    * Nothing is allocated, and nothing is kept between calls.
Files
    call.h         what the kernels take, and the table of them; determinants of factors; memory of products
    kernels.h      the kernels for every instruction set
    kind.h         the kernels for one kind of vector: matrices to vectors and back; batches, samples in lanes or one
                   matrix at a time
    tiles.h        sums of products in registers; substitution, inverses and Cholesky's factorization, which consist
                   of these
    factorizations.h  LU with partial pivoting; eigenvalues and eigenvectors of symmetric matrices
    gemm.h         products of matrices and vectors, of any size
    gemm_kernels.h  these for one type and instruction set
    batches.pxd    the kernels as other modules call them
    batches.pyx    the kernels over NumPy's arrays
    sparse.h       Cholesky's factor of a sparse matrix, solutions, and elements of the inverse
    sparse.pyx     these over NumPy's arrays, the positions of a factor, and products with vectors
Add
    an operation: a function in ``kind.h``, its place in the table of ``call.h``, its function of arrays in
    ``batches.pyx``
"""
