/* Stacks of matrices: adjugates, factorizations and what is asked of them, eigenvalues. */

#ifndef SD_MATRICES_H
#define SD_MATRICES_H
#include <limits.h>
#include <math.h>

#include "nest.h"

/* Stacks of matrices and their factors, as the steps on them see these: elements, states, determinants. */

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
  if (strides[own - 1] == a->item && (own < 2 || strides[0] == a->item * columns)) {
    const long count = rows * columns;
    if (a->item == 8)
      memcpy(out ? at : (char *)memory, out ? (const char *)memory : at, (size_t)count * 8);
    else if (out)
      sd_run_df(at, 4, (const char *)memory, 8, count);
    else
      sd_run_fd((char *)memory, 8, at, 4, count);
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

/* Adjugates of stacks of matrices and their derivatives, right at every rank; nan where a matrix is not finite.

   Elimination with complete pivoting gives P A Q = L D U, where L and U have ones on the diagonal and nothing larger
   elsewhere. Then adj A = det(P) det(Q) Q U^-1 adj(D) L^-1 P, and nothing is divided by a pivot in the end; numeric.py
   has the same with its sources. Matrices of up to 3 rows have cofactors as they are defined. */

/* A matrix in its factors, in scratch memory as plan.h counts it. */
typedef struct {
  long n;
  double *given, *of, *factors, *middle, *result;     /* of: what is factorized, into L - 1, D and U - 1 in one square */
  double *pivots, *diagonal, *line, *mantissas;
  long *exponents;
  int *rows, *columns;
  int known, negative; /* known: whether all of it is finite */
} sd_revealed;

static void sd_give_memory(sd_revealed *r, long n, char *memory) {
  r->n = n;
  r->given = (double *)memory, r->of = r->given + n * n, r->factors = r->of + n * n;
  r->middle = r->factors + n * n, r->result = r->middle + n * n;
  r->pivots = r->result + n * n, r->diagonal = r->pivots + n, r->line = r->diagonal + n, r->mantissas = r->line + n;
  r->exponents = (long *)(r->mantissas + n);
  r->rows = (int *)(r->exponents + n), r->columns = r->rows + n;
}

static int sd_all_finite(const double *x, long count) {
  double outside = 0;
  for (long i = 0; i < count; i++) outside += x[i] - x[i];
  return outside == 0;
}

/* The first of the largest sizes of so many numbers, where it is larger than what was found before: its place or -1. */
static inline long sd_larger(const double *x, long count, double *largest) {
  double sizes[8] = {0}, most;
  long i = 0;
  for (; i + 8 <= count; i += 8)
    for (int k = 0; k < 8; k++) sizes[k] = fabs(x[i + k]) > sizes[k] ? fabs(x[i + k]) : sizes[k];
  for (; i < count; i++) sizes[0] = fabs(x[i]) > sizes[0] ? fabs(x[i]) : sizes[0];
  most = sizes[0];
  for (int k = 1; k < 8; k++) most = sizes[k] > most ? sizes[k] : most;
  if (!(most > *largest)) return -1;
  *largest = most;
  for (i = 0; fabs(x[i]) != most; i++) continue;
  return i;
}

static void sd_swap_lines(double *x, double *y, long count, long step) {
  for (long i = 0; i < count * step; i += step) {
    double one = x[i];
    x[i] = y[i], y[i] = one;
  }
}

/* Factorize what is in `of`. */
static void sd_reveal(sd_revealed *r) {
  const long n = r->n;
  double *work = r->factors;
  r->known = sd_all_finite(r->of, n * n), r->negative = 0;
  if (!r->known) return;
  memcpy(work, r->of, (size_t)(n * n) * 8);
  for (int k = 0; k < n; k++) r->rows[k] = r->columns[k] = k, r->pivots[k] = 0;
  for (long k = 0; k < n; k++) {
    double largest = 0, pivot;
    long i = k, j = k;
    int other;
    for (long row = k; row < n; row++) {
      long column = sd_larger(work + row * n + k, n - k, &largest);
      if (column >= 0) i = row, j = k + column;
    }
    if (largest == 0) return; /* what is left is 0 */
    sd_swap_lines(work + k * n, work + i * n, n, 1);
    sd_swap_lines(work + k, work + j, n, n);
    other = r->rows[k], r->rows[k] = r->rows[i], r->rows[i] = other;
    other = r->columns[k], r->columns[k] = r->columns[j], r->columns[j] = other;
    r->negative ^= (i == k) != (j == k);
    r->pivots[k] = pivot = work[k * n + k];
    for (i = k + 1; i < n; i++) {
      double *row = work + i * n, by = row[k] /= pivot;
      for (j = k + 1; j < n; j++) row[j] -= by * work[k * n + j];
    }
    for (j = k + 1; j < n; j++) work[k * n + j] /= pivot;
  }
}

/* For each pivot the product of the others, in `line`, that of number `but` taken as 1; without overflow on the way. */
static void sd_others(sd_revealed *r, long but) {
  double product = 1;
  long sum = 0;
  int exponent;
  for (long i = 0; i < r->n; i++) {
    r->mantissas[i] = product, r->exponents[i] = sum;
    if (i == but) continue;
    product *= frexp(r->pivots[i], &exponent), sum += exponent;
    product = frexp(product, &exponent), sum += exponent;
  }
  product = 1, sum = 0;
  for (long i = r->n - 1; i >= 0; i--) {
    r->line[i] = sd_scaled(r->mantissas[i] * product, r->exponents[i] + sum);
    if (i == but) continue;
    product *= frexp(r->pivots[i], &exponent), sum += exponent;
    product = frexp(product, &exponent), sum += exponent;
  }
}

/* Take `by` times one row from another. */
static inline void sd_take_row(double *x, const double *y, double by, long count) {
  for (long j = 0; j < count; j++) x[j] -= by * y[j];
}

/* Put L^-1 X in the place of X, U^-1 X, X U^-1 and X L^-1. */
static void sd_below(const sd_revealed *r, double *x) {
  const long n = r->n;
  for (long i = 0; i < n; i++)
    for (long k = 0; k < i; k++) sd_take_row(x + i * n, x + k * n, r->factors[i * n + k], n);
}

static void sd_above(const sd_revealed *r, double *x) {
  const long n = r->n;
  for (long i = n - 1; i >= 0; i--)
    for (long k = i + 1; k < n; k++) sd_take_row(x + i * n, x + k * n, r->factors[i * n + k], n);
}

static void sd_over_above(const sd_revealed *r, double *x) {
  const long n = r->n;
  for (double *row = x; row < x + n * n; row += n)
    for (long k = 0; k < n; k++) sd_take_row(row + k + 1, r->factors + k * n + k + 1, row[k], n - k - 1);
}

static void sd_over_below(const sd_revealed *r, double *x) {
  const long n = r->n;
  for (double *row = x; row < x + n * n; row += n)
    for (long k = n - 1; k >= 0; k--) sd_take_row(row, r->factors + k * n, row[k], k);
}

/* Write det(P) det(Q) Q X P. */
static void sd_put_back(const sd_revealed *r, const double *x, double *result) {
  const long n = r->n;
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      result[r->columns[i] * n + r->rows[j]] = r->negative ? -x[i * n + j] : x[i * n + j];
}

static void sd_adjugate_of(sd_revealed *r, double *result) {
  const long n = r->n;
  double *x = r->middle;
  memset(x, 0, (size_t)(n * n) * 8);
  for (long i = 0; i < n; i++) x[i * n + i] = 1;
  sd_below(r, x);
  sd_others(r, -1);
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++) x[i * n + j] *= r->line[i];
  sd_above(r, x);
  sd_put_back(r, x, result);
}

/* The derivative in the direction that `result` holds: the adjugate of D + B to first order, B = L^-1 P E Q U^-1. */
static void sd_adjugate_along(sd_revealed *r, double *result) {
  const long n = r->n;
  double *x = r->middle;
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++) x[i * n + j] = result[r->rows[i] * n + r->columns[j]];
  sd_below(r, x);
  sd_over_above(r, x);
  for (long i = 0; i < n; i++) r->diagonal[i] = x[i * n + i];
  for (long i = 0; i < n; i++) {
    double sum = 0;
    sd_others(r, i); /* the products of all pivots but i and j */
    for (long j = 0; j < n; j++) {
      if (j != i) sum += r->line[j] * r->diagonal[j];
      x[i * n + j] *= -r->line[j];
    }
    x[i * n + i] = sum;
  }
  sd_above(r, x);
  sd_over_below(r, x);
  sd_put_back(r, x, result);
}

/* Up to 3 rows: the adjugate, or its derivative in a direction, by cofactors as they are defined. */
static void sd_small_adjugate(const double *a, const double *along, long n, double *result) {
  double found[9] = {0};
  if (n == 1) found[0] = !along ? 1 : a[0] != a[0] || along[0] != along[0] ? NAN : 0;
  if (n == 2) {
    const double *x = along ? along : a;
    const int unknown = along && sd_has_nan(a, 4);
    found[0] = x[3], found[1] = -x[1], found[2] = -x[2], found[3] = x[0];
    for (int k = 0; unknown && k < 4; k++) found[k] = NAN;
  }
  for (int i = 0; n == 3 && i < 3; i++)
    for (int j = 0; j < 3; j++) {
      const int r = (i + 1) % 3 * 3, s = (i + 2) % 3 * 3, c = (j + 1) % 3, d = (j + 2) % 3;
      found[j * 3 + i] = along ? (a[r + c] * along[s + d] - a[r + d] * along[s + c]) +
                                     (along[r + c] * a[s + d] - along[r + d] * a[s + c])
                               : a[r + c] * a[s + d] - a[r + d] * a[s + c];
    }
  memcpy(result, found, (size_t)(n * n) * 8);
}

/* Matrices that follow one another and are the same, as those of all directions of a Jacobian are, are factorized
   once. */
static long sd_run_adjugate(sd_state *s, const sd_step *step, long *which) {
  const sd_array *a = s->job->plan->arrays + step->a;
  const long n = a->shape[a->rank - 1], count = sd_stack_count(s, step->a, 2);
  const int along = step->b >= 0;
  sd_revealed r;
  double *result, *given;
  (void)which;
  if (!n) return -1;
  sd_give_memory(&r, n, s->scratch);
  result = r.result, given = r.given;
  for (long i = 0; i < count; i++) {
    sd_move_matrix(s, step->a, 2, sd_stack_at(s, step->a, 2, i), given, n, n, 0);
    if (along) sd_move_matrix(s, step->b, 2, sd_stack_at(s, step->b, 2, i), result, n, n, 0);
    if (n <= 3)
      sd_small_adjugate(given, along ? result : 0, n, result);
    else {
      if (!i || memcmp(given, r.of, (size_t)(n * n) * 8)) {
        memcpy(r.of, given, (size_t)(n * n) * 8);
        sd_reveal(&r);
      }
      if (!r.known || (along && !sd_all_finite(result, n * n)))
        for (long k = 0; k < n * n; k++) result[k] = NAN;
      else if (along)
        sd_adjugate_along(&r, result);
      else
        sd_adjugate_of(&r, result);
    }
    sd_move_matrix(s, step->c, 2, sd_stack_at(s, step->c, 2, i), result, n, n, 1);
  }
  return -1;
}

/* LAPACK, and of BLAS what factorizations need: SciPy's functions, whose addresses executor.pyx puts into the table
   when the first plan that needs them is made. Fortran's conventions: columns, pointers to everything, integers of 32
   bits, no empty sizes. */

typedef void (*sd_trsm)(char *, char *, char *, char *, int *, int *, double *, const double *, int *, double *, int *);
typedef void (*sd_getrf)(int *, int *, double *, int *, int *, int *);
typedef void (*sd_getri)(int *, double *, int *, int *, double *, int *, int *);
typedef void (*sd_getrs)(char *, int *, int *, const double *, int *, int *, double *, int *, int *);
typedef void (*sd_potrf)(char *, int *, double *, int *, int *);
typedef void (*sd_potri)(char *, int *, double *, int *, int *);
typedef void (*sd_syevd)(char *, char *, int *, double *, int *, double *, double *, int *, int *, int *, int *);
typedef void (*sd_potrs)(char *, int *, int *, const double *, int *, double *, int *, int *);

/* All are of float64. */
static struct {
  sd_trsm trsm;
  sd_getrf getrf;
  sd_getri getri;
  sd_getrs getrs;
  sd_potrf potrf;
  sd_potri potri;
  sd_potrs potrs;
  sd_syevd syevd;
} sd_blas;

/* The names of SciPy's functions, and their places in the table. */
typedef struct {
  const char *name;
  void **place;
} sd_blas_entry;
static const sd_blas_entry sd_blas_names[] = {
    {"dtrsm", (void **)&sd_blas.trsm},      {"dgetrf", (void **)&sd_blas.getrf},
    {"dgetri", (void **)&sd_blas.getri},    {"dgetrs", (void **)&sd_blas.getrs},
    {"dpotrf", (void **)&sd_blas.potrf},    {"dpotri", (void **)&sd_blas.potri},
    {"dpotrs", (void **)&sd_blas.potrs},    {"dsyevd", (void **)&sd_blas.syevd},    {0, 0}};

/* Stacks of matrices of up to a plan's most rows by the kernels of ../../matrix: a tile at a time.

   A factor is P A = L U, with pivots from 0 on, or A = L L', in C's order. The kernels read and write arrays whose
   matrices have no gaps; others are copied, a few at a time. */

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

/* Factorizations of stacks of matrices, and what is asked of them: by LAPACK where our own kernels take no such matrices.

   LAPACK reads a matrix A in C's order as its transpose, and that is what is factorized: A' = P L U, or A = U'U where
   the lower triangle of A is U'. So nothing is transposed on the way; what a factor's array holds is known here alone.
   A factorization that fails raises nothing: its state tells, and each use decides. */

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

/* Eigenvalues and eigenvectors of the symmetric parts of stacks of matrices: nan where a matrix is not finite. Small
   matrices are taken as many at a time as vectors have lanes, others one by one by LAPACK. */

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
