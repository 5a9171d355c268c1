/* Adjugates of stacks of matrices and their derivatives, right at every rank; nan where a matrix is not finite.

   Elimination with complete pivoting gives P A Q = L D U, where L and U have ones on the diagonal and nothing larger
   elsewhere. Then adj A = det(P) det(Q) Q U^-1 adj(D) L^-1 P, and nothing is divided by a pivot in the end; numeric.py
   has the same with its sources. Matrices of up to 3 rows have cofactors as they are defined.

   Needs stack.h. */

#ifndef SD_ADJUGATE_H
#define SD_ADJUGATE_H
#include "stack.h"

/* A matrix in its factors, in scratch memory as checks.h counts it. */
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
#endif
