/* Factorizations of batches of small and medium matrices, and what is made of them, for every instruction set that a
   processor of this architecture may have. call.h says what they take. Needs libm. */

#include <stddef.h>
#include <string.h>

#include "../system/sets.h"
#include "call.h"

/* Rows up to which lanes hold samples where these are enough; columns that begin together. */
enum { SD_TOGETHER = 48, SD_BLOCK = 8 };

/* Numbers of a row of a matrix by itself: whole blocks. Rows a multiple of 1024 bytes apart would share few places of the
   first cache; from 128 rows on, one more block is no work to speak of. */
static long sd_matrix_width(long n) {
  long width = (n + SD_BLOCK - 1) / SD_BLOCK * SD_BLOCK;
  return width >= 128 && width % 128 == 0 ? width + SD_BLOCK : width;
}

/* What a tile makes of its sums. */
enum { SD_SUMS, SD_UNIT, SD_DIVIDE, SD_MULTIPLY };

/* Determinants are made one by one: taking logarithms and exponents apart is no work for lanes. */
static long sd_determinant_lu(const sd_matrix_call *call, void *workspace) {
  const int single = call->single;
  (void)workspace;
  for (long s = 0; s < call->count; s++) {
    const double *lu = call->factors + s * call->factors_stride;
    const int *pivots = call->pivots + s * call->pivots_stride;
    double sign, value = call->sign ? sd_log_product(call->n, lu, pivots, &sign) : sd_product(call->n, lu, pivots);
    if (single)
      ((float *)call->x)[s * call->x_stride] = (float)value;
    else
      ((double *)call->x)[s * call->x_stride] = value;
    if (call->sign && single)
      ((float *)call->sign)[s * call->sign_stride] = (float)sign;
    else if (call->sign)
      ((double *)call->sign)[s * call->sign_stride] = sign;
  }
  return -1;
}

#ifndef __has_builtin
#define __has_builtin(x) 0
#endif
#define SD_JOIN_(a, b) a##b
#define SD_JOIN(a, b) SD_JOIN_(a, b)
#define SINGLE 0

#if defined __x86_64__
SD_BEGIN_AVX512
#define W 8
#include "kind.h"
#undef W
SD_END_SET
SD_BEGIN_AVX2
#define W 4
#include "kind.h"
#undef W
SD_END_SET
#endif
/* SSE2 and NEON, which every x86-64 and every AArch64 has; elsewhere what the compiler makes of two lanes */
#define W 2
#include "kind.h"
#undef W
#undef SINGLE

/* The kernels for vectors of this many float64, or 0. */
static const sd_matrix_functions *sd_matrix_kernels(long lanes) {
#if defined __x86_64__
  if (lanes == 8) return &sd_matrices_d8;
  if (lanes == 4) return &sd_matrices_d4;
#endif
  return lanes == 2 ? &sd_matrices_d2 : 0;
}

/* Bytes that the kernels need, for vectors of any kind: three matrices in lanes or one by one, and what stands beside
   them. */
static size_t sd_matrix_workspace(long n, long columns) {
  const size_t lanes = 8, width = (size_t)sd_matrix_width(n), wide = (size_t)(columns + 7) / 8 * 8;
  const size_t few = columns < 8 ? columns : 0, together = n <= SD_TOGETHER ? n * (2 * n + 10 + few) * lanes : 0;
  const size_t one = width * (3 * width + 2 * lanes + 4 + wide), shared = width * width + n * (4 + 2 * few) * lanes;
  const size_t most = together > one ? together : one;
  return (most > shared ? most : shared) * sizeof(double);
}
