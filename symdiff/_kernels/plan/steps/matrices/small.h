/* Stacks of matrices of up to a plan's most rows by the kernels of ../../matrix: a tile at a time.

   A factor is P A = L U, with pivots from 0 on, or A = L L', in C's order. The kernels read and write arrays whose
   matrices have no gaps; others are copied, a few at a time.

   Needs stack.h. */

#ifndef SD_SMALL_H
#define SD_SMALL_H
#include "stack.h"

/* Whether the matrices of an array have no gaps, and one pace, in elements, leads from each to the next. */
static int sd_pace(const sd_state *s, int array, int own, long *pace) {
  const sd_array *a = s->job->plan->arrays + array;
  const long *strides = s->job->strides[array];
  long span = a->item, count = 1;
  *pace = 0;
  for (int x = a->rank - 1; x >= a->rank - own; x--) {
    if (a->shape[x] != 1 && strides[x] != span) return 0;
    span *= a->shape[x];
  }
  for (int x = a->rank - own - 1; x >= 0; x--) {
    long length = a->tiled && x == 0 ? s->rows : a->shape[x];
    if (length == 1) continue;
    if (count == 1) *pace = strides[x];
    if (strides[x] != *pace * count) return 0;
    count *= length;
  }
  if (*pace % a->item) return 0;
  *pace /= a->item;
  return 1;
}

/* Whether a matrix in memory of any strides has a nan. */
static int sd_matrix_has_nan(const sd_state *s, int array, long index, long n) {
  const sd_array *a = s->job->plan->arrays + array;
  const long *strides = s->job->strides[array] + a->rank - 2;
  const char *at = sd_stack_at(s, array, 2, index);
  for (long r = 0; r < n; r++)
    for (long c = 0; c < n; c++) {
      double x = sd_get(at + r * strides[0] + c * strides[1], a->item);
      if (x != x) return 1;
    }
  return 0;
}

/* Whether it is worth a trial of Cholesky's factorization: the diagonal and the edges of a matrix. */
static int sd_looks_definite(const sd_state *s, int array, long index, long n) {
  const sd_array *a = s->job->plan->arrays + array;
  const long *strides = s->job->strides[array] + a->rank - 2;
  const char *at = sd_stack_at(s, array, 2, index);
  for (long k = 0; k < n; k++) {
    if (!(sd_get(at + k * strides[0] + k * strides[1], a->item) > 0)) return 0;
    if (sd_get(at + k * strides[0], a->item) != sd_get(at + k * strides[1], a->item)) return 0;
  }
  return 1;
}

/* The end of the run of matrices from ``first`` on that are in one state. */
static long sd_run_end(const int *states, long first, long count, int state) {
  while (first < count && states[first] == state) first++;
  return first;
}

/* What the kernels read: matrices from ``first`` to ``end``, which are copied to the factors where they have gaps. */
static void sd_read_stack(const sd_state *s, const sd_step *step, long first, long end, sd_matrix_call *call) {
  const sd_array *a = s->job->plan->arrays + step->a;
  const long n = call->n;
  double *factors = (double *)s->data[step->factor];
  call->count = end - first;
  call->factors = factors + first * n * n;
  call->pivots = (int *)s->data[step->pivots] + first * n;
  call->single = a->item == 4;
  if (sd_pace(s, step->a, 2, &call->a_stride)) {
    call->a = s->data[step->a] + first * call->a_stride * a->item;
    return;
  }
  for (long i = first; i < end; i++)
    sd_move_matrix(s, step->a, 2, sd_stack_at(s, step->a, 2, i), factors + i * n * n, n, n, 0);
  call->a = call->factors, call->a_stride = n * n, call->single = 0;
}

/* The state of a matrix that LU gave. */
static int sd_pivoted_state(const sd_state *s, const sd_step *step, long index, long n) {
  const double *factor = (const double *)s->data[step->factor] + index * n * n;
  int nan = sd_has_nan(factor, n * n) && sd_matrix_has_nan(s, step->a, index, n);
  for (long k = 0; k < n; k++)
    if (factor[k * (n + 1)] == 0) return nan ? SD_FAILED_BY_NAN : SD_FAILED;
  return nan ? SD_LU_WITH_NAN : SD_LU;
}

/* The state of a matrix that was declared definite. */
static int sd_declared_state(const sd_state *s, const sd_step *step, long index, long n) {
  const double *factor = (const double *)s->data[step->factor] + index * n * n;
  for (long k = 0; k < n; k++)
    if (!(factor[k * (n + 1)] > 0)) return sd_matrix_has_nan(s, step->a, index, n) ? SD_FAILED_BY_NAN : SD_FAILED;
  return SD_CHOLESKY_FACTOR;
}

/* Factorize a stack. What looks definite is tried first; what the trial refuses has LU. */
static void sd_factor_small(sd_state *s, const sd_step *step, long n, long count) {
  const sd_matrix_functions *kernels = s->job->plan->matrices;
  int *states = (int *)s->data[step->state];
  char *definite = s->scratch, *room = sd_line_up(definite + count);
  sd_matrix_call call = {.n = n, .factors_stride = n * n, .pivots_stride = n};
  for (long i = 0; i < count; i++)
    states[i] = step->symmetric == 2 || (step->symmetric && sd_looks_definite(s, step->a, i, n)) ? SD_CHOLESKY_FACTOR
                                                                                                 : SD_LU;
  for (long i = 0, end; i < count; i = end) {
    end = sd_run_end(states, i, count, states[i]);
    if (states[i] == SD_LU) continue;
    sd_read_stack(s, step, i, end, &call);
    call.definite = step->symmetric == 2 ? 0 : definite;
    kernels->cholesky(&call, room);
    for (long k = i; k < end; k++)
      states[k] = step->symmetric == 2 ? sd_declared_state(s, step, k, n) : definite[k - i] ? SD_CHOLESKY_FACTOR : SD_LU;
  }
  call.definite = 0;
  for (long i = 0, end; i < count && step->symmetric != 2; i = end) {
    end = sd_run_end(states, i, count, states[i]);
    if (states[i] != SD_LU) continue;
    sd_read_stack(s, step, i, end, &call);
    kernels->lu(&call, room);
    for (long k = i; k < end; k++) states[k] = sd_pivoted_state(s, step, k, n);
  }
}

/* Inverses without factors, of matrices none of which looks definite or is singular: whether that was done. */
static int sd_invert_small(sd_state *s, const sd_step *step, long n, long count) {
  sd_matrix_call call = {.n = n, .transposed = step->op == SD_INVERSE_TRANSPOSED};
  for (long i = 0; i < count && step->symmetric; i++)
    if (sd_looks_definite(s, step->a, i, n)) return 0;
  if (!sd_pace(s, step->a, 2, &call.a_stride) || !sd_pace(s, step->c, 2, &call.x_stride)) return 0;
  call.count = count;
  call.single = s->job->plan->single;
  call.a = s->data[step->a], call.x = s->data[step->c];
  return s->job->plan->matrices->inverse(&call, sd_line_up(s->scratch)) == -1;
}

static void sd_call_small(const sd_state *s, const sd_step *step, int state, sd_matrix_call *call, char *room) {
  const sd_matrix_functions *kernels = s->job->plan->matrices;
  int cholesky = state == SD_CHOLESKY_FACTOR;
  if (step->op == SD_SOLVE || step->op == SD_SOLVE_TRANSPOSED)
    (cholesky ? kernels->solve_cholesky : kernels->solve_lu)(call, room);
  else
    (cholesky ? kernels->inverse_cholesky : kernels->inverse_lu)(call, room);
}

/* Make inverses, solutions or factors of ``count`` matrices, none of which has failed but by a nan; ``k`` columns. */
static void sd_use_small(sd_state *s, const sd_step *step, const sd_use *use) {
  const sd_array *arrays = s->job->plan->arrays;
  const int *states = (const int *)s->data[step->state];
  const long n = use->n, k = use->k, each = n * k;
  double *some = (double *)sd_line_up(s->scratch);
  char *room = sd_line_up((char *)(some + sd_chunk(each) * each));
  long b_stride = 0, x_stride;
  int plain = sd_pace(s, step->c, use->own, &x_stride) && step->op != SD_CHOLESKY;
  if (plain && step->b >= 0)
    plain = sd_pace(s, step->b, use->own, &b_stride) && (arrays[step->b].tiled || !step->tiled || use->samples == 1);
  for (long i = 0, end; i < use->count; i = end) {
    const long f = use->factors == 1 ? 0 : i % use->factors;
    const int state = states[f];
    double *factors = (double *)s->data[step->factor] + f * n * n;
    sd_matrix_call call = {.n = n, .columns = k, .factors = factors, .pivots = (int *)s->data[step->pivots] + f * n};
    long most = use->count - i;
    if (use->factors > 1) {
      if (most > use->factors - f) most = use->factors - f;
      most = sd_run_end(states + f, 0, most, state);
      call.factors_stride = n * n, call.pivots_stride = n;
    }
    if ((!plain || state == SD_FAILED_BY_NAN) && most > sd_chunk(each)) most = sd_chunk(each);
    end = i + most;
    call.count = most;
    call.transposed = step->op == SD_SOLVE_TRANSPOSED || step->op == SD_INVERSE_TRANSPOSED;
    if (plain && state != SD_FAILED_BY_NAN) {
      call.single = arrays[step->c].item == 4;
      call.x = s->data[step->c] + i * x_stride * arrays[step->c].item, call.x_stride = x_stride;
      if (step->b >= 0) call.b = s->data[step->b] + i * b_stride * arrays[step->b].item;
      call.b_stride = b_stride;
      sd_call_small(s, step, state, &call, room);
      continue;
    }
    call.x = some, call.b = some, call.x_stride = call.b_stride = each;
    for (long t = 0; t < most && step->b >= 0; t++) {
      long at = arrays[step->b].tiled || !step->tiled ? i + t : (i + t) % use->samples;
      sd_move_matrix(s, step->b, use->own, sd_stack_at(s, step->b, use->own, at), some + t * each, n, k, 0);
    }
    if (state == SD_FAILED_BY_NAN)
      for (long e = 0; e < most * each; e++) some[e] = NAN;
    else if (step->op == SD_CHOLESKY)
      for (long t = 0; t < most; t++) memcpy(some + t * each, factors + t * call.factors_stride, (size_t)each * 8);
    else
      sd_call_small(s, step, state, &call, room);
    for (long t = 0; t < most; t++)
      sd_move_matrix(s, step->c, use->own, sd_stack_at(s, step->c, use->own, i + t), some + t * each, n, k, 1);
  }
}
#endif
