/* What the kernels of matrices take, determinants of factors, and the memory of products. */

#ifndef SD_MATRIX_CALL_H
#define SD_MATRIX_CALL_H
#include <math.h>
#include <string.h>

/* What the kernels of matrices take: small and medium matrices, a batch of them at a time.

   Matrices are n rows of n, in C order, sample after sample; strides are from sample to sample, in elements. Matrices,
   right-hand sides and results are float64, or float32 where ``single``. Factors are always float64, and so is the
   computation: what float32 loses to the condition of a matrix is soon all of its digits. A sample's bits
   depend neither on its place in the batch nor on the samples beside it. */

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

/* Determinants of triangular factors, one matrix at a time, without overflow or underflow on the way: mantissas are
   multiplied, exponents added. */

/* x = mantissa 2^exponent with 0.5 <= mantissa < 1, as frexp has it, for x that is finite and not negative. */
static inline double sd_mantissa(double x, long *exponent) {
  unsigned long long bits;
  *exponent = 0;
  if (x < 0x1p-1022) {
    if (x == 0) return 0;
    x *= 0x1p54;
    *exponent = -54;
  }
  memcpy(&bits, &x, sizeof bits);
  *exponent += (long)(bits >> 52) - 1022;
  bits = (bits & 0xfffffffffffffULL) | 1022ULL << 52;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* |det U| = mantissa 2^exponent, 0.7 < mantissa < 1.5, or the mantissa is 0, inf or nan; ``step`` is from one
   element of the diagonal to the next. A product has 0 for a factor, or inf and 0: then it is 0, or nan. */
static inline double sd_split_product(long n, const double *u, long step, long *exponent, int *negative) {
  double product = 1, infinite = 1;
  long sum = 0, e;
  int sign = 0;
  for (long k = 0; k < n; k++) {
    double x = u[k * step], size = __builtin_fabs(x);
    sign ^= __builtin_signbit(x) != 0;
    if (!(size < __builtin_inf()))
      infinite *= size;
    else {
      product *= sd_mantissa(size, &e);
      sum += e;
    }
    if (k % 32 == 31) {
      product = sd_mantissa(product, &e);
      sum += e;
    }
  }
  if (product > 0) {
    product = sd_mantissa(product, &e);
    sum += e;
    if (product < 0.70710678118654752) {
      product *= 2;
      sum -= 1;
    }
  }
  *exponent = sum;
  *negative = sign;
  return infinite == 1 ? product : infinite * product;
}

/* The parity of exchanges of rows. */
static inline int sd_parity(long n, const int *pivots) {
  int odd = 0;
  for (long k = 0; k < n; k++) odd ^= pivots[k] != k;
  return odd;
}

/* The number mantissa 2^exponent. */
static inline double sd_scaled(double mantissa, long exponent) {
  if (exponent > 4000) exponent = 4000;
  if (exponent < -4000) exponent = -4000;
  return __builtin_ldexp(mantissa, (int)exponent);
}

/* Its logarithm. log 2 is in two parts, the first of which has 32 bits. */
static inline double sd_logarithm(double mantissa, long exponent) {
  if (mantissa == 0 || !(mantissa < __builtin_inf())) return __builtin_log(mantissa);
  return exponent * 0x1.62e42feep-1 + (exponent * 0x1.a39ef35793c76p-33 + __builtin_log(mantissa));
}

static inline double sd_product(long n, const double *lu, const int *pivots) {
  long exponent;
  int negative;
  double size = sd_split_product(n, lu, n + 1, &exponent, &negative);
  size = sd_scaled(size, exponent);
  if (size == 0) return 0;
  return negative ^ sd_parity(n, pivots) ? -size : size;
}

/* log |det A|, and the sign of det A: 0 where that is 0. */
static inline double sd_log_product(long n, const double *lu, const int *pivots, double *sign) {
  long exponent;
  int negative;
  double size = sd_split_product(n, lu, n + 1, &exponent, &negative);
  *sign = size == 0 ? 0 : size != size ? size : negative ^ sd_parity(n, pivots) ? -1 : 1;
  return sd_logarithm(size, exponent);
}

/* Sizes of the blocks of a matrix product, and the memory that it takes. */

/* SD_GEMM_DEPTH products are summed in registers, and these sums are added in order. The bits of a result depend on that,
   hence one number for all machines. A tile's columns of that depth lie in the first-level cache, SD_GEMM_ACROSS columns
   and SD_GEMM_DOWN rows in the second. A matrix of SD_GEMM_NEAR bytes is read as it stands: the first-level cache has it. */
enum { SD_GEMM_DEPTH = 192, SD_GEMM_ACROSS = 288, SD_GEMM_DOWN = 96, SD_GEMM_WIDEST = 16, SD_GEMM_NEAR = 32768, SD_GEMM_LINE = 64 };

/* Bytes of scratch memory of a product of m × k and k × n numbers of so many bytes each. */
static inline long sd_gemm_bytes(long m, long n, long k, long item) {
  long side = m > n ? m : n, depth = k < SD_GEMM_DEPTH ? k : SD_GEMM_DEPTH;
  long across = (side < SD_GEMM_ACROSS ? side : SD_GEMM_ACROSS) + SD_GEMM_WIDEST;
  long down = (side < SD_GEMM_DOWN ? side : SD_GEMM_DOWN) + SD_GEMM_WIDEST;
  return item * (depth * (across + down) + SD_GEMM_WIDEST) + SD_GEMM_LINE;
}
#endif
