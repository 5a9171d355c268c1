/* Factorizations of stacks of matrices, and what is asked of them: by LAPACK where small.h takes no such matrices.

   LAPACK reads a matrix A in C's order as its transpose, and that is what is factorized: A' = P L U, or A = U'U where
   the lower triangle of A is U'. So nothing is transposed on the way; what a factor's array holds is known here alone.
   A factorization that fails raises nothing: its state tells, and each use decides.

   Needs blas.h, stack.h and small.h. */

#ifndef SD_FACTOR_H
#define SD_FACTOR_H
#include <limits.h>

#include "blas.h"
#include "small.h"

/* Numbers that getri takes for each row. */
enum { SD_INVERSE_ROOM = 64 };

/* Whether a matrix equals its transpose and has a positive diagonal. */
static int sd_may_be_definite(const double *x, long n) {
  enum { BLOCK = 16 };
  for (long i = 0; i < n; i++)
    if (!(x[i * n + i] > 0)) return 0;
  for (long i = 0; i < n; i += BLOCK)
    for (long j = 0; j <= i; j += BLOCK)
      for (long r = i; r < n && r < i + BLOCK; r++)
        for (long c = j; c < r && c < j + BLOCK; c++)
          if (x[r * n + c] != x[c * n + r]) return 0;
  return 1;
}

static void sd_factor_large(sd_state *s, const sd_step *step, long n, long count) {
  int order = (int)n, info;
  for (long i = 0; i < count; i++) {
    char *at = sd_stack_at(s, step->a, 2, i);
    double *factor = (double *)s->data[step->factor] + i * n * n;
    int *pivots = (int *)s->data[step->pivots] + i * n, *state = (int *)s->data[step->state] + i, nan;
    sd_move_matrix(s, step->a, 2, at, factor, n, n, 0);
    nan = sd_has_nan(factor, n * n);
    if (step->symmetric == 2 || (step->symmetric && !nan && sd_may_be_definite(factor, n))) {
      sd_blas.potrf("U", &order, factor, &order, &info);
      *state = info == 0 ? SD_CHOLESKY_FACTOR : nan ? SD_FAILED_BY_NAN : SD_FAILED;
      if (info == 0 || step->symmetric == 2) continue;
      sd_move_matrix(s, step->a, 2, at, factor, n, n, 0);
    }
    sd_blas.getrf(&order, &order, factor, &order, pivots, &info);
    *state = info ? (nan ? SD_FAILED_BY_NAN : SD_FAILED) : nan ? SD_LU_WITH_NAN : SD_LU;
  }
}

static void sd_factor_stack(sd_state *s, const sd_step *step, long n) {
  long count = sd_stack_count(s, step->factor, 2);
  if (n > s->job->plan->most_rows)
    sd_factor_large(s, step, n, count);
  else if (n)
    sd_factor_small(s, step, n, count);
  else
    for (long i = 0; i < count; i++) ((int *)s->data[step->state])[i] = SD_LU;
}

static long sd_run_factor(sd_state *s, const sd_step *step, long *which) {
  const sd_array *array = s->job->plan->arrays + step->factor;
  (void)which;
  if (!step->fused) sd_factor_stack(s, step, array->shape[array->rank - 1]);
  return -1;
}

/* The inverse in the place of a factor. */
static void sd_invert(double *x, int *pivots, int state, long n, double *room) {
  int order = (int)n, info, size = (int)(n * SD_INVERSE_ROOM);
  if (state != SD_CHOLESKY_FACTOR) {
    sd_blas.getri(&order, x, &order, pivots, room, &size, &info);
    return;
  }
  sd_blas.potri("U", &order, x, &order, &info);
  for (long i = 0; i < n; i++)
    for (long j = 0; j < i; j++) x[j * n + i] = x[i * n + j];
}

/* Transpose in place, by blocks whose lines the cache holds. */
static void sd_transpose(double *x, long n) {
  enum { BLOCK = 16 };
  for (long i = 0; i < n; i += BLOCK)
    for (long j = 0; j <= i; j += BLOCK)
      for (long r = i; r < n && r < i + BLOCK; r++)
        for (long c = j; c < r && c < j + BLOCK; c++) {
          double one = x[r * n + c];
          x[r * n + c] = x[c * n + r], x[c * n + r] = one;
        }
}

static void sd_exchange(double *x, const int *pivots, long n, long k, int back) {
  for (long step = 0; step < n; step++) {
    long i = back ? n - 1 - step : step;
    double *one = x + i * k, *other = x + (pivots[i] - 1) * k;
    for (long c = 0; one != other && c < k; c++) {
      double y = one[c];
      one[c] = other[c], other[c] = y;
    }
  }
}

/* Solve for k right sides in the place of these: x is n by k. */
static void sd_solve_matrix(const double *factor, const int *pivots, int state, long n, long k, double *x,
                            int transposed) {
  int order = (int)n, sides = (int)k;
  double one = 1;
#define SD_TRSM(uplo, trans, diag) sd_blas.trsm("R", uplo, trans, diag, &sides, &order, &one, factor, &order, x, &sides)
  if (state == SD_CHOLESKY_FACTOR) {
    SD_TRSM("U", "N", "N");
    SD_TRSM("U", "T", "N");
  } else if (!transposed) { /* x' = b' / (P L U) */
    SD_TRSM("U", "N", "N");
    SD_TRSM("L", "N", "U");
    sd_exchange(x, pivots, n, k, 1);
  } else { /* x' = b' P / L' / U' */
    sd_exchange(x, pivots, n, k, 0);
    SD_TRSM("L", "T", "U");
    SD_TRSM("U", "T", "N");
  }
#undef SD_TRSM
}

/* Solve for vectors that are rows of x. */
static void sd_solve_vectors(const double *factor, int *pivots, int state, long n, long vectors, double *x,
                             int transposed) {
  enum { AT_ONCE = 1 << 20 };
  int order = (int)n, info;
  for (long done = 0; done < vectors; done += AT_ONCE) {
    int sides = (int)(vectors - done < AT_ONCE ? vectors - done : AT_ONCE);
    if (state == SD_CHOLESKY_FACTOR)
      sd_blas.potrs("U", &order, &sides, factor, &order, x + done * n, &order, &info);
    else
      sd_blas.getrs(transposed ? "N" : "T", &order, &sides, factor, &order, pivots, x + done * n, &order, &info);
  }
}

static int sd_is_plain(const sd_state *s, int array, int own) {
  const sd_array *a = s->job->plan->arrays + array;
  long span = 8;
  if (a->item != 8 || (size_t)s->data[array] % 8) return 0;
  for (int x = a->rank - 1; x >= a->rank - own; x--) {
    if (s->job->strides[array][x] != span) return 0;
    span *= a->shape[x];
  }
  return 1;
}

/* Make a use's results. Of several results that one factor serves, vectors are solved for at once. */
static void sd_use_large(sd_state *s, const sd_step *step, const sd_use *use) {
  const sd_array *arrays = s->job->plan->arrays;
  const int own = use->own;
  const long n = use->n, k = use->k, each = n * k;
  long together = own == 1 && use->factors == 1 ? use->count : 1;
  int plain = sd_is_plain(s, step->c, own);
  for (long i = 0; i < use->count; i += together) {
    long f = i % use->factors;
    const double *factor = (const double *)s->data[step->factor] + f * n * n;
    int *pivots = (int *)s->data[step->pivots] + f * n, state = ((const int *)s->data[step->state])[f];
    double *x = (double *)s->scratch, *room = x + together * each;
    char *to = sd_stack_at(s, step->c, own, i);
    if (plain && together == 1) x = (double *)to;
    if (state == SD_FAILED_BY_NAN) {
      for (long e = 0; e < together * each; e++) x[e] = NAN;
    } else if (step->op == SD_INVERSE || step->op == SD_INVERSE_TRANSPOSED) {
      memcpy(x, factor, (size_t)(n * n) * 8);
      sd_invert(x, pivots, state, n, room);
      if (step->op == SD_INVERSE_TRANSPOSED && state != SD_CHOLESKY_FACTOR) sd_transpose(x, n);
    } else if (step->op == SD_CHOLESKY) {
      for (long r = 0; r < n; r++)
        for (long q = 0; q < n; q++) x[r * n + q] = q <= r ? factor[r * n + q] : 0.0;
    } else {
      for (long t = 0; t < together; t++) {
        long at = arrays[step->b].tiled || !step->tiled ? i + t : (i + t) % use->samples;
        sd_move_matrix(s, step->b, own, sd_stack_at(s, step->b, own, at), x + t * each, n, k, 0);
      }
      if (own == 1)
        sd_solve_vectors(factor, pivots, state, n, together, x, step->op == SD_SOLVE_TRANSPOSED);
      else
        sd_solve_matrix(factor, pivots, state, n, k, x, step->op == SD_SOLVE_TRANSPOSED);
    }
    for (long t = 0; t < together && (char *)x != to; t++)
      sd_move_matrix(s, step->c, own, sd_stack_at(s, step->c, own, i + t), x + t * each, n, k, 1);
  }
}

static void sd_use_determinants(sd_state *s, const sd_step *step, const sd_use *use) {
  const long n = use->n, item = s->job->plan->arrays[step->c].item;
  for (long i = 0; i < use->count; i++) {
    long f = use->factors == 1 ? 0 : i % use->factors;
    const double *factor = (const double *)s->data[step->factor] + f * n * n;
    const int *pivots = (const int *)s->data[step->pivots] + f * n, state = ((const int *)s->data[step->state])[f];
    sd_set_number(sd_stack_at(s, step->c, 0, i), item,
                  sd_determinant(step->op, factor, pivots, n > s->job->plan->most_rows, state, n));
  }
}

/* The lowest sample whose matrix has failed, or -1. */
static long sd_failed_sample(const sd_state *s, const sd_step *step, const sd_use *use) {
  const int *states = (const int *)s->data[step->state];
  for (long i = 0; i < (use->factors < use->count ? use->factors : use->count); i++)
    if (states[i] == SD_FAILED) return i / use->samples;
  return -1;
}

static long sd_run_use(sd_state *s, const sd_step *step, long *which) {
  const sd_array *arrays = s->job->plan->arrays, *a = arrays + step->factor, *c = arrays + step->c;
  int lead = a->rank - 2 + (step->tiled && !a->tiled), own = c->rank - lead, scalar = step->op <= SD_DET;
  sd_use use = {.n = a->shape[a->rank - 1], .k = own == 2 ? c->shape[c->rank - 1] : 1, .own = own};
  long failed = -1;
  *which = 0;
  use.count = sd_stack_count(s, step->c, own), use.factors = sd_stack_count(s, step->factor, 2);
  use.samples = step->tiled ? use.count / s->rows : use.count;
  if (use.count == 0) return -1;
  if (step->fused) {
    if (use.n && sd_invert_small(s, step, use.n, use.count)) return -1;
    sd_factor_stack(s, step, use.n);
  }
  if (step->checked || !scalar) failed = sd_failed_sample(s, step, &use);
  if (failed >= 0) return failed;
  if (scalar)
    sd_use_determinants(s, step, &use);
  else if (use.n > s->job->plan->most_rows && use.k)
    sd_use_large(s, step, &use);
  else if (use.n && use.k)
    sd_use_small(s, step, &use);
  return -1;
}
#endif
