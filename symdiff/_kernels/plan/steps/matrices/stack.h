/* Stacks of matrices and their factors, as the steps on them see these: elements, states, determinants.

   Needs ../nest.h and ../../../matrix/determinant.h. */

#ifndef SD_STACK_H
#define SD_STACK_H
#include <math.h>

#include "../../../matrix/determinant.h"
#include "../nest.h"

/* States: PLU, U'U, no factorization, none because of a nan, PLU of a matrix with a nan. */
enum { SD_LU, SD_CHOLESKY_FACTOR, SD_FAILED, SD_FAILED_BY_NAN, SD_LU_WITH_NAN };

/* Matrices of a stack: `count`, of which one follows another. */
static long sd_stack_count(const sd_state *s, int array, int own) {
  const sd_array *a = s->job->plan->arrays + array;
  long count = 1;
  for (int x = 0; x < a->rank - own; x++) count *= a->tiled && x == 0 ? s->rows : a->shape[x];
  return count;
}

/* Where the element of a stack with some flat index stands; `own` axes are the element's. */
static char *sd_stack_at(const sd_state *s, int array, int own, long index) {
  const sd_array *a = s->job->plan->arrays + array;
  char *at = s->data[array];
  for (int x = a->rank - own - 1; x >= 0; x--) {
    long length = a->tiled && x == 0 ? s->rows : a->shape[x];
    at += index % length * s->job->strides[array][x];
    index /= length;
  }
  return at;
}

/* Copy a matrix between an array and memory without gaps. */
static void sd_move_matrix(const sd_state *s, int array, int own, char *at, double *memory, long rows, long columns,
                           int out) {
  const sd_array *a = s->job->plan->arrays + array;
  const long *strides = s->job->strides[array] + a->rank - own;
  long lengths[] = {rows, columns};
  if (a->item == 8 && strides[own - 1] == 8 && (own < 2 || strides[0] == 8 * columns)) {
    if (out)
      memcpy(at, memory, (size_t)(rows * columns) * 8);
    else
      memcpy(memory, at, (size_t)(rows * columns) * 8);
    return;
  }
  sd_seen here = {at, {strides[0], own > 1 ? strides[1] : 0}, a->item}, there = {(char *)memory, {8 * columns, 8}, 8};
  if (out)
    sd_copy_seen(&here, &there, 2, lengths);
  else
    sd_copy_seen(&there, &here, 2, lengths);
}

/* Whether one of so many numbers is a nan: sums of sizes are, then, and else never. */
static int sd_has_nan(const double *x, long count) {
  double sums[8] = {0}, sum = 0;
  long i = 0;
  for (; i + 8 <= count; i += 8)
    for (int k = 0; k < 8; k++) sums[k] += fabs(x[i + k]);
  for (; i < count; i++) sum += fabs(x[i]);
  for (int k = 0; k < 8; k++) sum += sums[k];
  return sum != sum;
}

/* The determinant, or the logarithm of its size; without overflow on the way. Pivots are from ``base`` on. */
static double sd_determinant(int op, const double *factor, const int *pivots, int base, int state, long n) {
  long exponent;
  int negative;
  double size, logarithm;
  if (state == SD_FAILED_BY_NAN || state == SD_LU_WITH_NAN) return NAN;
  if (state == SD_FAILED) return op == SD_DET ? 0.0 : -INFINITY;
  size = sd_split_product(n, factor, n + 1, &exponent, &negative);
  if (state == SD_CHOLESKY_FACTOR) negative = 0;
  for (long k = 0; k < n && state == SD_LU; k++) negative ^= pivots[k] != k + base;
  if (op == SD_DET) {
    if (state == SD_CHOLESKY_FACTOR) size *= size, exponent *= 2;
    size = sd_scaled(size, exponent);
    return negative ? -size : size;
  }
  if (op == SD_LOGDET && negative) return NAN;
  logarithm = sd_logarithm(size, exponent);
  return state == SD_CHOLESKY_FACTOR ? 2 * logarithm : logarithm;
}

/* A use as it runs: matrices to make, of n by k numbers, and factors for these; ``own`` axes are an element's. */
typedef struct {
  long n, k, count, factors, samples; /* samples: elements of one sample of the batch */
  int own;
} sd_use;
#endif
