/* Sparse symmetric positive definite matrices: Cholesky's factor A = L L', solutions, and elements of the inverse.

   Columns of L with the same rows below them lie together in a panel: its own columns first, then the rows below, in
   rising order, column after column. A panel takes what the panels before it give by products of dense blocks (Ng and
   Peyton 1993). Elements of the inverse at the positions of L follow from each other, from the last panel to the
   first, without a column of the inverse (Takahashi, Fagan and Chin 1973). */

#ifndef SD_SPARSE_H
#define SD_SPARSE_H
#include <math.h>
#include <string.h>

#include "../system/sets.h"

/* The positions of L. */
typedef struct {
  long n, panels;
  const int *first;      /* the first column of each panel, then n */
  const long *rows_at;   /* where the rows of each panel begin, then their number */
  const int *row;        /* its own columns, then those below */
  const long *at;        /* where the numbers of each panel begin, then how many there are */
  const int *panel_of;   /* of each column */
  long most;             /* rows of a panel, at most */
} sd_sparse_pattern;

#define SD_WIDTH(p, s) ((p)->first[(s) + 1] - (p)->first[s])
#define SD_ROWS(p, s) ((p)->rows_at[(s) + 1] - (p)->rows_at[s])

/* c -= a b: m rows and n columns, ``depth`` products each, in order; a and c by columns, b by any strides. */
#define SD_SUBTRACT(NAME, W) \
  static void NAME(long m, long n, long depth, const double *a, long as, const double *b, long bk, long bj, double *c, \
                   long cs) { \
    typedef double V __attribute__((vector_size(8 * W), aligned(8), may_alias)); \
    long j = 0; \
    for (; j + 4 <= n; j += 4) { \
      const double *own = b + j * bj; \
      double *to = c + j * cs; \
      long i = 0; \
      for (; i + W <= m; i += W) { \
        V s0 = *(V *)(to + i), s1 = *(V *)(to + cs + i), s2 = *(V *)(to + 2 * cs + i), s3 = *(V *)(to + 3 * cs + i); \
        for (long k = 0; k < depth; k++) { \
          const V x = *(const V *)(a + k * as + i); \
          const double *y = own + k * bk; \
          s0 -= x * y[0], s1 -= x * y[bj], s2 -= x * y[2 * bj], s3 -= x * y[3 * bj]; \
        } \
        *(V *)(to + i) = s0, *(V *)(to + cs + i) = s1, *(V *)(to + 2 * cs + i) = s2, *(V *)(to + 3 * cs + i) = s3; \
      } \
      for (; i < m; i++) { \
        double s0 = to[i], s1 = to[cs + i], s2 = to[2 * cs + i], s3 = to[3 * cs + i]; \
        for (long k = 0; k < depth; k++) { \
          const double x = a[k * as + i], *y = own + k * bk; \
          s0 -= x * y[0], s1 -= x * y[bj], s2 -= x * y[2 * bj], s3 -= x * y[3 * bj]; \
        } \
        to[i] = s0, to[cs + i] = s1, to[2 * cs + i] = s2, to[3 * cs + i] = s3; \
      } \
    } \
    for (; j < n; j++) { \
      const double *own = b + j * bj; \
      double *to = c + j * cs; \
      long i = 0; \
      for (; i + W <= m; i += W) { \
        V s = *(V *)(to + i); \
        for (long k = 0; k < depth; k++) s -= *(const V *)(a + k * as + i) * own[k * bk]; \
        *(V *)(to + i) = s; \
      } \
      for (; i < m; i++) { \
        double s = to[i]; \
        for (long k = 0; k < depth; k++) s -= a[k * as + i] * own[k * bk]; \
        to[i] = s; \
      } \
    } \
  }

#if defined __x86_64__
SD_BEGIN_AVX512
SD_SUBTRACT(sd_subtract_avx512, 8)
SD_END_SET
SD_BEGIN_AVX2
SD_SUBTRACT(sd_subtract_avx2, 4)
SD_END_SET
#endif
SD_SUBTRACT(sd_subtract_base, 2)

typedef void sd_subtract(long m, long n, long depth, const double *a, long as, const double *b, long bk, long bj,
                         double *c, long cs);

static sd_subtract *sd_best_subtract(void) {
#if defined __x86_64__
  if (sd_best_set() == SD_SET_AVX512) return sd_subtract_avx512;
  if (sd_best_set() == SD_SET_AVX2) return sd_subtract_avx2;
#endif
  return sd_subtract_base;
}

/* Columns that are eliminated one by one, before others take their products together. */
enum { SD_SPARSE_BLOCK = 8 };

/* The factor of a panel whose products with panels before are taken: 0, or 1 + the column whose pivot is not positive. */
static long sd_sparse_own(sd_subtract *subtract, long rows, long width, double *x) {
  for (long b = 0; b < width; b += SD_SPARSE_BLOCK) {
    const long end = b + SD_SPARSE_BLOCK < width ? b + SD_SPARSE_BLOCK : width;
    subtract(rows - b, end - b, b, x + b, rows, x + b, rows, 1, x + b * rows + b, rows);
    for (long j = b; j < end; j++) {
      double *column = x + j * rows;
      for (long k = b; k < j; k++) {
        const double *before = x + k * rows, factor = before[j];
        for (long i = j; i < rows; i++) column[i] -= factor * before[i];
      }
      if (!(column[j] > 0.0 && column[j] < INFINITY)) return 1 + j;
      column[j] = sqrt(column[j]);
      for (long i = j + 1; i < rows; i++) column[i] /= column[j];
    }
  }
  return 0;
}

/* Put L where the lower triangle of A is: -1, or the column whose pivot is not positive.

   ``head`` and ``next`` hold a number for each panel, ``reached`` too, ``place`` one for each column, and ``work`` as
   many as a panel of the most rows and as many columns. */
static long sd_sparse_factor(const sd_sparse_pattern *p, double *value, long *head, long *next, long *reached,
                             int *place, double *work) {
  sd_subtract *subtract = sd_best_subtract();
  for (long s = 0; s < p->panels; s++) head[s] = -1;
  for (long s = 0; s < p->panels; s++) {
    const long begin = p->first[s], width = SD_WIDTH(p, s), rows = SD_ROWS(p, s);
    const int *row = p->row + p->rows_at[s];
    double *own = value + p->at[s];
    for (long i = 0; i < rows; i++) place[row[i]] = (int)i;
    for (long d = head[s], after; d >= 0; d = after) { /* panels whose next row is a column of this one */
      const long count = SD_ROWS(p, d), from = reached[d];
      const int *below = p->row + p->rows_at[d];
      const double *given = value + p->at[d] + from;
      long to = from;
      after = next[d];
      while (to < count && below[to] < begin + width) to++;
      const long m = count - from, n = to - from;
      memset(work, 0, sizeof *work * m * n);
      subtract(m, n, SD_WIDTH(p, d), given, count, given, count, 1, work, m);
      for (long j = 0; j < n; j++) {
        double *column = own + (below[from + j] - begin) * rows;
        for (long i = j; i < m; i++) column[place[below[from + i]]] += work[j * m + i];
      }
      reached[d] = to;
      if (to < count) {
        const long t = p->panel_of[below[to]];
        next[d] = head[t], head[t] = d;
      }
    }
    const long failed = sd_sparse_own(subtract, rows, width, own);
    if (failed) return begin + failed - 1;
    reached[s] = width;
    if (rows > width) {
      const long t = p->panel_of[row[width]];
      next[s] = head[t], head[t] = s;
    }
  }
  return -1;
}

/* Solve L L' x = b in place, for one right side in the order of L; ``work`` has as many numbers as a panel rows. */
static void sd_sparse_solve(const sd_sparse_pattern *p, const double *value, double *x, double *work) {
  for (long s = 0; s < p->panels; s++) {
    const long width = SD_WIDTH(p, s), rows = SD_ROWS(p, s);
    const int *row = p->row + p->rows_at[s];
    for (long j = 0; j < width; j++) {
      const double *column = value + p->at[s] + j * rows, found = x[row[j]] / column[j];
      x[row[j]] = found;
      for (long i = j + 1; i < rows; i++) x[row[i]] -= column[i] * found;
    }
  }
  for (long s = p->panels - 1; s >= 0; s--) {
    const long width = SD_WIDTH(p, s), rows = SD_ROWS(p, s);
    const int *row = p->row + p->rows_at[s];
    for (long i = width; i < rows; i++) work[i] = x[row[i]];
    for (long j = width - 1; j >= 0; j--) {
      const double *column = value + p->at[s] + j * rows;
      double left = x[row[j]];
      for (long i = j + 1; i < rows; i++) left -= column[i] * work[i];
      x[row[j]] = work[j] = left / column[j];
    }
  }
}

/* The elements of inv(A) at the positions of L. ``place`` has a number for each row of a panel, ``work`` as many as a
   square of the most rows, and ``turned`` twice as many. */
static void sd_sparse_inverse(const sd_sparse_pattern *p, const double *value, double *inverse, int *place,
                              double *work, double *turned) {
  sd_subtract *subtract = sd_best_subtract();
  double *const left = turned + p->most * p->most;
  for (long s = p->panels - 1; s >= 0; s--) {
    const long width = SD_WIDTH(p, s), rows = SD_ROWS(p, s), below = rows - width;
    const int *row = p->row + p->rows_at[s];
    const double *own = value + p->at[s];
    double *z = inverse + p->at[s];
    /* the elements among the rows below, which later panels have: a square, both triangles */
    for (long q = 0; q < below;) {
      const long t = p->panel_of[row[width + q]], begin = p->first[t], count = SD_ROWS(p, t);
      const int *others = p->row + p->rows_at[t];
      for (long i = q, k = 0; i < below; i++) {
        while (others[k] < row[width + i]) k++;
        place[i] = (int)k;
      }
      for (; q < below && p->panel_of[row[width + q]] == t; q++) {
        const double *column = inverse + p->at[t] + (row[width + q] - begin) * count;
        for (long i = q; i < below; i++) work[q * below + i] = column[place[i]];
      }
    }
    for (long j = 0; j < below; j++)
      for (long i = j + 1; i < below; i++) work[i * below + j] = work[j * below + i];
    /* left = [1; L21] inv(L11), z = [-inv(L11); inv(A) at the rows below times -L21 inv(L11)] */
    for (long j = 0; j < width; j++) {
      double *column = left + j * rows;
      for (long i = 0; i < width; i++) column[i] = i == j;
      memcpy(column + width, own + j * rows + width, sizeof *column * below);
    }
    for (long j = width - 1; j >= 0; j--) {
      double *column = left + j * rows;
      subtract(rows - j, 1, width - 1 - j, left + (j + 1) * rows + j, rows, own + j * rows + j + 1, 1, 0, column + j,
               rows);
      for (long i = j; i < rows; i++) column[i] /= own[j * rows + j];
    }
    for (long j = 0; j < width; j++) {
      for (long i = 0; i < width; i++) z[j * rows + i] = -left[j * rows + i];
      for (long i = width; i < rows; i++) z[j * rows + i] = 0.0;
    }
    subtract(below, width, below, work, below, left + width, 1, rows, z + width, rows);
    for (long i = 0; i < rows; i++)
      for (long j = 0; j < width; j++) turned[i * width + j] = left[j * rows + i];
    memset(work, 0, sizeof *work * width * width);
    subtract(width, width, rows, turned, width, z, 1, rows, work, width);
    for (long j = 0; j < width; j++) memcpy(z + j * rows, work + j * width, sizeof *z * width);
  }
}

#endif
