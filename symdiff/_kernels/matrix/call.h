/* What the kernels of matrices take: small and medium matrices, a batch of them at a time.

   Matrices are n rows of n, in C order, sample after sample; strides are from sample to sample, in elements. Matrices,
   right-hand sides and results are float64, or float32 where ``single``. Factors are always float64, and so is the
   computation: what float32 loses to the condition of a matrix is soon all of its digits. A sample's bits
   depend neither on its place in the batch nor on the samples beside it. */

#ifndef SD_MATRIX_CALL_H
#define SD_MATRIX_CALL_H

typedef struct {
  long n, count;         /* rows of a matrix, 1 to SD_MATRIX_MOST; matrices */
  long columns;          /* of right-hand sides */
  int single, transposed; /* transposed: the solution with A', the inverse of A' */
  const void *a;         /* matrices */
  long a_stride;
  double *factors;       /* P A = L U: L, which has ones on its diagonal, below that of U; or L of A = L L', then 0; may
                            be where ``a`` is */
  long factors_stride;   /* 0 where right-hand sides share a matrix, then also that of pivots */
  int *pivots;           /* as LAPACK's, from 0 on: row k changed places with row pivots[k] >= k, in this order */
  long pivots_stride;
  const void *b;         /* right-hand sides: n rows of ``columns`` */
  long b_stride;
  void *x;               /* inverses, solutions or determinants; may be b */
  long x_stride;
  void *sign;            /* of determinants: 1, -1, 0 or nan; where it is asked for, x has logarithms of sizes */
  long sign_stride;
  char *definite;        /* cholesky: whether A is exactly symmetric, with pivots that are positive and finite; others may
                            have no factor. May be 0: then A's lower triangle is read, and nothing else */
} sd_matrix_call;

/* Runs a batch, in a workspace of sd_matrix_workspace bytes that begins at a multiple of 64. Returns -1, or the first
   sample with a pivot that is 0, whose elements below stay as they are; or, of cholesky, that is not ``definite``, or,
   where that is not asked for, has a pivot that is 0 or less. Other samples are computed in any case. */
typedef long sd_matrix_function(const sd_matrix_call *call, void *workspace);

/* The eigenvalues, in rising order, of up to twice as many matrices as a vector has lanes, n rows of finite numbers each, and unless
   ``vectors`` is 0 the eigenvectors as columns, which may be written over the matrices. Only upper triangles are read;
   squares of numbers are to be neither too large nor too small. The workspace, at a multiple of 64, holds 4 n (n + 2)
   vectors. */
typedef void sd_matrix_spectrum(long n, long count, const double *matrices, double *values, double *vectors, double *workspace);

typedef struct {
  sd_matrix_function *lu;               /* a: factors, pivots */
  sd_matrix_function *inverse;          /* a: x, without factors */
  sd_matrix_function *inverse_lu;       /* factors, pivots: x */
  sd_matrix_function *solve_lu;         /* factors, pivots, b: x */
  sd_matrix_function *determinant_lu;   /* factors, pivots: x, and sign */
  sd_matrix_function *cholesky;         /* a: factors, definite */
  sd_matrix_function *inverse_cholesky; /* factors: x, symmetric to the bit */
  sd_matrix_function *solve_cholesky;   /* factors, b: x */
  sd_matrix_spectrum *spectrum;
  long lanes;                           /* matrices that it takes together */
} sd_matrix_functions;

/* Rows of a matrix, at most; and up to which plans take these kernels, as LAPACK's threads gain little there. */
enum { SD_MATRIX_MOST = 1024, SD_MATRIX_USUAL = 512 };

/* Rows up to which eigenvalues, and eigenvectors, are found in lanes, and lanes at most. LAPACK divides matrices of more
   than 25 rows in two, which gives eigenvectors other signs. */
enum { SD_SPECTRUM_MOST = 32, SD_EIGENVECTORS_MOST = 25, SD_SPECTRUM_LANES = 16 };
static inline long sd_spectrum_most(int vectors) { return vectors ? SD_EIGENVECTORS_MOST : SD_SPECTRUM_MOST; }

#endif
