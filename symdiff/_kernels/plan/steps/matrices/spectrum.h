/* Eigenvalues and eigenvectors of the symmetric parts of stacks of matrices: nan where a matrix is not finite. Small
   matrices are taken as many at a time as vectors have lanes, others one by one by LAPACK.

   Needs factor.h. */

#ifndef SD_SPECTRUM_H
#define SD_SPECTRUM_H
#include "factor.h"

/* Numbers and integers that syevd takes beside the matrix and the eigenvalues. */
static long sd_spectrum_numbers(long n, int vectors) { return vectors ? 1 + 6 * n + 2 * n * n : 1 + 2 * n; }
static long sd_spectrum_integers(long n, int vectors) { return vectors ? 3 + 5 * n : 1; }

/* The symmetric part of a matrix in its place; whether all of it is finite. */
static int sd_symmetrize(double *x, long n) {
  double outside = 0;
  for (long i = 0; i < n; i++)
    for (long j = 0; j <= i; j++) {
      double one = 0.5 * x[i * n + j] + 0.5 * x[j * n + i];
      outside += one - one;
      x[i * n + j] = x[j * n + i] = one;
    }
  return outside == 0;
}

/* What a matrix is multiplied by, a power of two, so that squares of its elements are neither too large nor too small. */
static double sd_spectrum_scale(const double *x, long n) {
  double largest = 0;
  int exponent;
  for (long e = 0; e < n * n; e++) largest = __builtin_fabs(x[e]) > largest ? __builtin_fabs(x[e]) : largest;
  if (largest == 0 || (largest > 0x1p-300 && largest < 0x1p300)) return 1;
  (void)__builtin_frexp(largest, &exponent);
  return __builtin_ldexp(1, exponent < -1000 ? 1000 : -exponent);
}

static void sd_run_small_spectrum(sd_state *s, const sd_step *step, long n, long count) {
  const sd_matrix_functions *kernels = s->job->plan->matrices;
  const long lanes = kernels->lanes;
  double *room = (double *)s->scratch, *x = room + 2 * n * (n + 2) * lanes, *values = x + n * n * lanes;
  const int vectors = step->c >= 0;
  double scales[SD_SPECTRUM_LANES];
  for (long first = 0; first < count; first += lanes) {
    const long some = count - first < lanes ? count - first : lanes;
    for (long l = 0; l < some; l++) {
      double *own = x + l * n * n;
      sd_move_matrix(s, step->a, 2, sd_stack_at(s, step->a, 2, first + l), own, n, n, 0);
      scales[l] = sd_symmetrize(own, n) ? sd_spectrum_scale(own, n) : NAN;
      if (scales[l] != scales[l])
        for (long e = 0; e < n * n; e++) own[e] = 0;
      else if (scales[l] != 1)
        for (long e = 0; e < n * n; e++) own[e] *= scales[l];
    }
    kernels->spectrum(n, some, x, values, vectors ? x : 0, room);
    for (long l = 0; l < some; l++) {
      double *each = values + l * n, *own = x + l * n * n;
      for (long k = 0; k < n; k++) each[k] /= scales[l];
      for (long e = 0; vectors && scales[l] != scales[l] && e < n * n; e++) own[e] = NAN;
      if (step->b >= 0) sd_move_matrix(s, step->b, 1, sd_stack_at(s, step->b, 1, first + l), each, n, 1, 1);
      if (vectors) sd_move_matrix(s, step->c, 2, sd_stack_at(s, step->c, 2, first + l), own, n, n, 1);
    }
  }
}

static long sd_run_spectrum(sd_state *s, const sd_step *step, long *which) {
  const sd_array *a = s->job->plan->arrays + step->a;
  const long n = a->shape[a->rank - 1], count = sd_stack_count(s, step->a, 2);
  const int vectors = step->c >= 0;
  int order = (int)n, numbers = (int)sd_spectrum_numbers(n, vectors), info = 0;
  int integers = (int)sd_spectrum_integers(n, vectors);
  double *x = (double *)s->scratch, *values = x + n * n, *room = values + n;
  int *rest = (int *)(room + numbers);
  (void)which;
  if (!n) return -1;
  if (n <= sd_spectrum_most(vectors)) {
    sd_run_small_spectrum(s, step, n, count);
    return -1;
  }
  for (long i = 0; i < count; i++) {
    sd_move_matrix(s, step->a, 2, sd_stack_at(s, step->a, 2, i), x, n, n, 0);
    if (sd_symmetrize(x, n))
      sd_blas.syevd(vectors ? "V" : "N", "L", &order, x, &order, values, room, &numbers, rest, &integers, &info);
    else
      info = 1;
    if (info) {
      for (long k = 0; k < n * n; k++) x[k] = NAN;
      for (long k = 0; k < n; k++) values[k] = NAN;
    }
    if (step->b >= 0) sd_move_matrix(s, step->b, 1, sd_stack_at(s, step->b, 1, i), values, n, 1, 1);
    if (!vectors) continue;
    sd_transpose(x, n); /* LAPACK's columns are rows here */
    sd_move_matrix(s, step->c, 2, sd_stack_at(s, step->c, 2, i), x, n, n, 1);
  }
  return -1;
}
#endif
