/* The kernels of matrices for vectors of W float64, which kernels.h includes once for each instruction set: matrices to
   vectors and back, and batches of matrices. Needs call.h and what ../machine/vectors.h needs. */

#include "../machine/vectors.h"
/* registers for tiles of 4 by 4 vectors */
#if X86 == 512 || defined __aarch64__
#define MANY 1
#else
#define MANY 0
#endif

/* Matrices to vectors and back: blocks of W rows of W numbers are transposed in registers.

   Numbers in memory are float64, or float32 where ``single``, at any address; computed is in float64, as NumPy does. */

typedef float NAME(sd_narrow) __attribute__((vector_size(4 * W), aligned(4), may_alias));
typedef float NAME(sd_single) __attribute__((may_alias));

INLINE V NAME(get)(const char *p, int single) {
  if (!single) return *(const U *)p;
  return __builtin_convertvector(*(const NAME(sd_narrow) *)p, V);
}

#if W == 8
/* Four numbers at each of two addresses. */
INLINE V NAME(get_fours)(const char *p, const char *q, int single) {
  if (!single) return JOIN_4(*(const H *)p, *(const H *)q);
  typedef float fours __attribute__((vector_size(16), aligned(4), may_alias));
  H a = __builtin_convertvector(*(const fours *)p, H), b = __builtin_convertvector(*(const fours *)q, H);
  return JOIN_4(a, b);
}
#endif

INLINE void NAME(put)(char *p, int single, V v) {
  if (single)
    *(NAME(sd_narrow) *)p = __builtin_convertvector(v, NAME(sd_narrow));
  else
    *(U *)p = v;
}

INLINE T NAME(get_one)(const char *p, int single) { return single ? *(const NAME(sd_single) *)p : *(const D *)p; }

INLINE void NAME(put_one)(char *p, int single, T x) {
  if (single)
    *(NAME(sd_single) *)p = (float)x;
  else
    *(D *)p = x;
}

/* Transposes W vectors: exchanges of blocks of 1, 2, 4 lanes. */
#define TURN_LOW(l, h) ((l) & (h) ? (l) - (h) + W : (l))
#define TURN_HIGH(l, h) ((l) & (h) ? (l) + W : (l) + (h))
#define TURN_STEPS(h, rows) \
  _Pragma("GCC unroll 8") for (int r = 0; r < (rows); r++) if (!(r & (h))) { \
    V a = c[r], b = c[r + (h)]; \
    c[r] = SHUFFLE(a, b, EACH(TURN_LOW, h)); \
    c[r + (h)] = SHUFFLE(a, b, EACH(TURN_HIGH, h)); \
  }
INLINE void NAME(turn)(V *c) {
  TURN_STEPS(1, W)
#if W >= 4
  TURN_STEPS(2, W)
#endif
#if W >= 8
  TURN_STEPS(4, W)
#endif
}
/* x(e) = number e of each of W samples, of which ``from`` has the addresses. */
SLOW void NAME(to_lanes)(long length, const char *const *from, int single, V *x) {
  const long size = single ? 4 : 8;
  if (length < W) {
    for (long e = 0; e < length; e++)
      for (int l = 0; l < W; l++) ((D *)(x + e))[l] = NAME(get_one)(from[l] + e * size, single);
    return;
  }
  for (long e = 0; e < length; e += W) {
    long at = e + W <= length ? e : length - W;
    V c[W];
#pragma GCC unroll 8
    for (int l = 0; l < W; l++) c[l] = NAME(get)(from[l] + at * size, single);
    NAME(turn)(c);
#pragma GCC unroll 8
    for (int l = 0; l < W; l++) x[at + l] = c[l];
  }
}

/* x(j) = number j of each of W rows of n numbers, from ``begin`` on, before ``end``: at most four. */
INLINE void NAME(four_to_lanes)(long n, long begin, long end, const char *const *rows, int single, V *x) {
  const long size = single ? 4 : 8, first = begin + 4 <= n ? begin : n - 4;
  V c[4];
  if (n < 4) {
    NAME(to_lanes)(end - begin, rows, single, x + begin);
    return;
  }
#if W == 8
#pragma GCC unroll 4
  for (int l = 0; l < 4; l++) c[l] = NAME(get_fours)(rows[l] + first * size, rows[l + 4] + first * size, single);
  TURN_STEPS(1, 4)
  TURN_STEPS(2, 4)
#elif W == 4
#pragma GCC unroll 4
  for (int l = 0; l < 4; l++) c[l] = NAME(get)(rows[l] + first * size, single);
  NAME(turn)(c);
#else
#pragma GCC unroll 4
  for (int l = 0; l < 4; l++) c[l] = NAME(get)(rows[l % 2] + (first + l / 2 * 2) * size, single);
  NAME(turn)(c);
  NAME(turn)(c + 2);
#endif
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++)
    if (first + q >= begin) x[first + q] = c[q];
}

/* The same of at most SD_BLOCK numbers. */
INLINE void NAME(columns_to_lanes)(long n, long begin, long end, const char *const *rows, int single, V *x) {
  if (end - begin == SD_BLOCK)
    for (long j = begin; j < end; j += W) {
      V c[W];
#pragma GCC unroll 8
      for (int l = 0; l < W; l++) c[l] = NAME(get)(rows[l] + j * (single ? 4 : 8), single);
      NAME(turn)(c);
#pragma GCC unroll 8
      for (int l = 0; l < W; l++) x[j + l] = c[l];
    }
  else
    for (long j = begin; j < end; j += 4) NAME(four_to_lanes)(n, j, end - j < 4 ? end : j + 4, rows, single, x);
}

/* The reverse of to_lanes, for the first ``count`` samples. */
SLOW void NAME(from_lanes)(long length, const V *x, char *const *to, int single, long count) {
  const long size = single ? 4 : 8;
  if (length < W) {
    for (long e = 0; e < length; e++)
      for (int l = 0; l < count; l++) NAME(put_one)(to[l] + e * size, single, ((const D *)(x + e))[l]);
    return;
  }
  for (long e = 0; e < length; e += W) {
    long at = e + W <= length ? e : length - W;
    V c[W];
#pragma GCC unroll 8
    for (int l = 0; l < W; l++) c[l] = x[at + l];
    NAME(turn)(c);
#pragma GCC unroll 8
    for (int l = 0; l < W; l++)
      if (l < count) NAME(put)(to[l] + at * size, single, c[l]);
  }
}

/* A row of memory to one of whole vectors, with zeros behind. */
INLINE void NAME(to_row)(long length, const char *from, int single, D *x) {
  const long size = single ? 4 : 8;
  long e = 0;
  for (; e + W <= length; e += W) *(U *)(x + e) = NAME(get)(from + e * size, single);
  if (e == length) return;
  for (long l = 0; l < W; l++) x[e + l] = e + l < length ? NAME(get_one)(from + (e + l) * size, single) : 0;
}

INLINE void NAME(from_row)(long length, const D *x, char *to, int single) {
  const long size = single ? 4 : 8;
  long e = 0;
  for (; e + W <= length; e += W) NAME(put)(to + e * size, single, *(const U *)(x + e));
  if (e < length && length >= W) NAME(put)(to + (length - W) * size, single, *(const U *)(x + length - W));
  for (; e < length && length < W; e++) NAME(put_one)(to + e * size, single, x[e]);
}

/* to(j, i) = x(rows[i], j): the transpose of n rows that are ``width`` apart in x, and ``pitch`` in ``to``; where there
   are no ``rows``, of x as it is. */
SLOW void NAME(flip)(long n, const D *x, long width, const int *rows, char *to, long pitch, int single) {
  const long size = single ? 4 : 8;
  if (n < W) {
    for (long i = 0; i < n; i++)
      for (long j = 0; j < n; j++) NAME(put_one)(to + (j * pitch + i) * size, single, x[(rows ? rows[i] : i) * width + j]);
    return;
  }
  for (long i = 0; i < n; i += W) {
    long first = i + W <= n ? i : n - W;
    for (long j = 0; j < n; j += W) {
      long column = j + W <= n ? j : n - W;
      V c[W];
#pragma GCC unroll 8
      for (int l = 0; l < W; l++) c[l] = *(const U *)(x + (rows ? rows[first + l] : first + l) * width + column);
      NAME(turn)(c);
#pragma GCC unroll 8
      for (int l = 0; l < W; l++) NAME(put)(to + ((column + l) * pitch + first) * size, single, c[l]);
    }
  }
}
#undef TURN_LOW
#undef TURN_HIGH
#undef TURN_STEPS

#define SPREAD 0
#include "tiles.h"
#undef SPREAD
#undef LAY
#undef COEFFICIENT
#undef GET
#define SPREAD 1
#include "tiles.h"
#undef SPREAD
#undef LAY
#undef COEFFICIENT
#undef GET
#include "factorizations.h"

/* Batches of matrices: W samples in the lanes of vectors, or one matrix at a time with its columns in them.

   Which of both depends on the number of rows and on how many samples are left; the bits are the same. */

/* A group of samples: their number, whether they are in lanes, and their addresses. */
typedef struct {
  long first, count;
  int together;
} NAME(sd_group);

/* A vector whose lanes are not all used takes as long as a full one; a matrix by itself waits for each pivot, and the
   larger it is, the less. Right-hand sides that fill vectors are columns in any case. */
INLINE NAME(sd_group) NAME(group)(const sd_matrix_call *call, long first, long columns) {
  const long left = call->count - first;
  NAME(sd_group) g = {first, left < W ? left : W, 0};
  g.together = call->n <= SD_TOGETHER && columns < W && (g.count == W || g.count >= 2 + W * call->n / 96);
  if (!g.together) g.count = 1;
  return g;
}

INLINE char *NAME(address)(const void *data, long stride, int single, long sample) {
  return (char *)data + sample * stride * (single ? 4 : 8);
}

/* Lanes without a sample compute the last one again, and store nothing. */
INLINE void NAME(addresses)(NAME(sd_group) g, const void *data, long stride, int single, char **to) {
  for (long l = 0; l < W; l++) to[l] = NAME(address)(data, stride, single, g.first + (l < g.count ? l : g.count - 1));
}

/* The distance of rows of a matrix in lanes, in vectors. Rows a multiple of 1024 bytes apart would share few sets of the
   first-level cache, so there is a gap between them; rows with gaps are moved one by one. */
INLINE long NAME(pitch)(long n) { return n >= 16 && n % 8 == 0 ? n + 1 : n; }

INLINE void NAME(load)(NAME(sd_group) g, long n, const void *data, long stride, int single, V *x) {
  const long pitch = NAME(pitch)(n), rows = pitch == n ? 1 : n;
  char *from[W];
  NAME(addresses)(g, data, stride, single, from);
  for (long i = 0; i < rows; i++) {
    NAME(to_lanes)(n * n / rows, (const char *const *)from, single, x + i * pitch);
    for (int l = 0; l < W; l++) from[l] += n * (single ? 4 : 8);
  }
}

INLINE void NAME(store)(NAME(sd_group) g, long n, const V *x, void *data, long stride, int single) {
  const long pitch = NAME(pitch)(n), rows = pitch == n ? 1 : n;
  char *to[W];
  NAME(addresses)(g, data, stride, single, to);
  for (long i = 0; i < rows; i++) {
    NAME(from_lanes)(n * n / rows, x + i * pitch, to, single, g.count);
    for (int l = 0; l < W; l++) to[l] += n * (single ? 4 : 8);
  }
}

INLINE long NAME(width)(long n) { return sd_matrix_width(n); }

/* The first of the lanes that are set, as a sample, or -1. */
INLINE long NAME(first_of)(NAME(sd_group) g, M lanes) {
  for (long l = 0; l < g.count; l++)
    if (lanes[l]) return g.first + l;
  return -1;
}

/* Rows of one matrix to whole vectors, and zeros in the rows behind. */
INLINE void NAME(load_rows)(long n, const char *from, int single, D *to) {
  const long width = NAME(width)(n), size = single ? 4 : 8;
  for (long i = 0; i < n; i++) NAME(to_row)(n, from + i * n * size, single, to + i * width);
  for (long e = n * width; e < width * width; e += W) *(V *)(to + e) = B(0.0);
  for (long e = (n + W - 1) / W * W; e < width; e += W)
    for (long i = 0; i < n; i++) *(V *)(to + i * width + e) = B(0.0);
}

/* order[k]: which row of x is row k of P x, of pivots ``step`` apart. Without pivots, P is 1. */
INLINE void NAME(permute)(long n, const int *pivots, long step, int *order) {
  for (long k = 0; k < n; k++) order[k] = (int)k;
  for (long k = 0; pivots && k < n; k++) {
    int row = order[k], p = pivots[k * step];
    order[k] = order[p];
    order[p] = row;
  }
}

/* x = z' P or, transposed, P' z; z has rows that are ``width`` apart. */
INLINE void NAME(store_inverse)(const sd_matrix_call *call, const D *z, long width, const int *order, long sample) {
  const long n = call->n, size = call->single ? 4 : 8;
  char *to = NAME(address)(call->x, call->x_stride, call->single, sample);
  int rows[SD_MATRIX_MOST];
  if (call->transposed)
    for (long k = 0; k < n; k++) NAME(from_row)(n, z + k * width, to + order[k] * n * size, call->single);
  else {
    for (long k = 0; k < n; k++) rows[order[k]] = (int)k;
    NAME(flip)(n, z, width, rows, to, n, call->single);
  }
}

static long NAME(lu)(const sd_matrix_call *call, void *workspace) {
  const long n = call->n, width = NAME(width)(n), pitch = NAME(pitch)(n);
  V *x = workspace, *sums = x + n * pitch;
  D *a = workspace, *panel = a + width * width;
  int pivots[SD_TOGETHER * W];
  char *from[W];
  long failed = -1, found;
  NAME(sd_group) g;
  for (long s = 0; s < call->count; s += g.count) {
    int *to = call->pivots + s * call->pivots_stride;
    g = NAME(group)(call, s, 0);
    if (g.together) {
      NAME(addresses)(g, call->a, call->a_stride, call->single, from);
      found = NAME(first_of)(g, NAME(eliminate_samples)(n, pitch, from, call->single, x, sums, pivots));
      NAME(store)(g, n, x, call->factors, call->factors_stride, 0);
      for (long l = 0; l < g.count; l++)
        for (long k = 0; k < n; k++) to[l * call->pivots_stride + k] = pivots[k * W + l];
    } else {
      NAME(load_rows)(n, NAME(address)(call->a, call->a_stride, call->single, s), call->single, a);
      found = NAME(eliminate_columns)(n, width, a, to, panel) ? s : -1;
      for (long i = 0; i < n; i++)
        NAME(from_row)(n, a + i * width, (char *)(call->factors + s * call->factors_stride + i * n), 0);
    }
    if (failed < 0) failed = found;
  }
  return failed;
}

/* Inverses of what is in ``a``, or in ``factors`` where ``factored``. */
INLINE long NAME(invert)(const sd_matrix_call *call, void *workspace, const int factored) {
  const long n = call->n, width = NAME(width)(n), m = width / W, pitch = NAME(pitch)(n);
  V *x = workspace, *w = x + n * pitch, *inverses = w + n * pitch, *sums = inverses + n;
  D *a = workspace, *z = a + width * width, *over = z + width * width, *panel = over + width;
  int pivots[SD_MATRIX_MOST], rows[SD_MATRIX_MOST]; /* of W matrices, or of one */
  char *from[W];
  long failed = -1, found = -1;
  NAME(sd_group) g;
  for (long s = 0; s < call->count; s += g.count) {
    const int *chosen = call->pivots + s * call->pivots_stride;
    g = NAME(group)(call, s, 0);
    if (g.together) {
      if (factored)
        NAME(load)(g, n, call->factors, call->factors_stride, 0, x);
      else {
        NAME(addresses)(g, call->a, call->a_stride, call->single, from);
        found = NAME(first_of)(g, NAME(eliminate_samples)(n, pitch, from, call->single, x, sums, pivots));
      }
      for (long k = 0; k < n; k++) inverses[k] = B(1.0) / x[k * pitch + k];
      NAME(invert_of_samples)(n, pitch, n, x, inverses, w, pitch);
      NAME(sd_group) here = {0, g.count, 1};
      NAME(store)(here, n, w, x, n * n, 0);
      for (long l = 0; l < g.count; l++) {
        NAME(permute)(n, factored ? chosen + l * call->pivots_stride : pivots + l, factored ? 1 : W, rows);
        NAME(store_inverse)(call, (D *)x + l * n * n, n, rows, s + l);
      }
    } else {
      if (factored)
        NAME(load_rows)(n, (char *)(call->factors + s * call->factors_stride), 0, a);
      else {
        NAME(load_rows)(n, NAME(address)(call->a, call->a_stride, call->single, s), call->single, a);
        found = NAME(eliminate_columns)(n, width, a, pivots, panel) ? s : -1;
      }
      for (long k = 0; k < n; k++) over[k] = 1 / a[k * width + k];
      NAME(invert_of_columns)(n, width, m, a, over, (V *)z, m);
      NAME(permute)(n, factored ? chosen : pivots, 1, rows);
      NAME(store_inverse)(call, z, width, rows, s);
    }
    if (failed < 0) failed = found;
  }
  return failed;
}

static long NAME(inverse)(const sd_matrix_call *call, void *workspace) { return NAME(invert)(call, workspace, 0); }
static long NAME(inverse_lu)(const sd_matrix_call *call, void *workspace) { return NAME(invert)(call, workspace, 1); }

/* Solutions with one matrix for all samples, of few columns: lanes hold samples, and coefficients are scalars. Each row
   waits for the one before; four vectors, interleaved, hide that latency. */
SLOW void NAME(solve_shared)(const sd_matrix_call *call, void *workspace, const int pivoted) {
  const long n = call->n, c = call->columns, width = NAME(width)(n), most = (c < 4 ? 4 / c : 1) * W;
  const int before = pivoted && !call->transposed, behind = pivoted && call->transposed;
  D *a = workspace;
  V *turned = (V *)(a + width * width), *x = turned + n * c;
  int order[SD_MATRIX_MOST];
  char *at[W];
  NAME(load_rows)(n, (char *)call->factors, 0, a);
  NAME(permute)(n, pivoted ? call->pivots : 0, 1, order);
  for (long s = 0; s < call->count; s += most) {
    const long left = call->count - s < most ? call->count - s : most, m = (left + W - 1) / W * c;
    for (long g = 0; g < left; g += W) {
      NAME(sd_group) here = {s + g, left - g < W ? left - g : W, 1};
      V *to = x + g / W * c;
      NAME(addresses)(here, call->b, call->b_stride, call->single, at);
      NAME(to_lanes)(n * c, (const char *const *)at, call->single, turned);
      for (long i = 0; i < n; i++)
        for (long j = 0; j < c; j++) to[i * m + j] = turned[(before ? order[i] : i) * c + j];
    }
    if (!pivoted)
      NAME(solve_cholesky_of_columns)(n, width, m, a, x);
    else if (call->transposed)
      NAME(solve_transposed_of_columns)(n, width, m, a, x);
    else
      NAME(solve_of_columns)(n, width, m, a, x);
    for (long g = 0; g < left; g += W) {
      NAME(sd_group) here = {s + g, left - g < W ? left - g : W, 1};
      const V *from = x + g / W * c;
      for (long i = 0; i < n; i++)
        for (long j = 0; j < c; j++) turned[(behind ? order[i] : i) * c + j] = from[i * m + j];
      NAME(addresses)(here, call->x, call->x_stride, call->single, at);
      NAME(from_lanes)(n * c, turned, at, call->single, here.count);
    }
  }
}

/* Solutions with L U, or L L' where there are no pivots. */
INLINE long NAME(solve)(const sd_matrix_call *call, void *workspace, const int pivoted) {
  const long n = call->n, c = call->columns, width = NAME(width)(n), pitch = NAME(pitch)(n), m = (c + W - 1) / W;
  const long size = call->single ? 4 : 8;
  V *f = workspace, *x = f + n * pitch;
  D *a = workspace, *rows = a + width * width;
  const int before = pivoted && !call->transposed, behind = pivoted && call->transposed;
  int order[SD_MATRIX_MOST];
  NAME(sd_group) g;
  if (call->factors_stride == 0 && call->count > 1 && c < W) {
    NAME(solve_shared)(call, workspace, pivoted);
    return -1;
  }
  for (long s = 0; s < call->count; s += g.count) {
    g = NAME(group)(call, s, c);
    V *at = g.together ? x : (V *)rows;
    const long row = (g.together ? c : m) * W, step = g.together ? W : 1;
    if (g.together)
      NAME(load)(g, n, call->factors, call->factors_stride, 0, f);
    else if (s == 0 || call->factors_stride)
      NAME(load_rows)(n, (char *)(call->factors + s * call->factors_stride), 0, a);
    for (long l = 0; l < (g.together ? W : 1); l++) {
      const long sample = s + (l < g.count ? l : g.count - 1);
      const char *from = NAME(address)(call->b, call->b_stride, call->single, sample);
      NAME(permute)(n, before ? call->pivots + sample * call->pivots_stride : 0, 1, order);
      for (long i = 0; i < n; i++) {
        if (!g.together)
          NAME(to_row)(c, from + order[i] * c * size, call->single, (D *)at + i * row);
        else
          for (long j = 0; j < c; j++)
            ((D *)at)[i * row + j * step + l] = NAME(get_one)(from + (order[i] * c + j) * size, call->single);
      }
    }
    if (g.together && !pivoted)
      NAME(solve_cholesky_of_samples)(n, pitch, c, f, at);
    else if (g.together && call->transposed)
      NAME(solve_transposed_of_samples)(n, pitch, c, f, at);
    else if (g.together)
      NAME(solve_of_samples)(n, pitch, c, f, at);
    else if (!pivoted)
      NAME(solve_cholesky_of_columns)(n, width, m, a, at);
    else if (call->transposed)
      NAME(solve_transposed_of_columns)(n, width, m, a, at);
    else
      NAME(solve_of_columns)(n, width, m, a, at);
    for (long l = 0; l < g.count; l++) {
      char *to = NAME(address)(call->x, call->x_stride, call->single, s + l);
      NAME(permute)(n, behind ? call->pivots + (s + l) * call->pivots_stride : 0, 1, order);
      for (long i = 0; i < n; i++) {
        if (!g.together)
          NAME(from_row)(c, (D *)at + i * row, to + order[i] * c * size, call->single);
        else
          for (long j = 0; j < c; j++)
            NAME(put_one)(to + (order[i] * c + j) * size, call->single, ((D *)at)[i * row + j * step + l]);
      }
    }
  }
  return -1;
}

static long NAME(solve_lu)(const sd_matrix_call *call, void *workspace) { return NAME(solve)(call, workspace, 1); }
static long NAME(solve_cholesky)(const sd_matrix_call *call, void *workspace) {
  return NAME(solve)(call, workspace, 0);
}

/* The lanes whose matrix is exactly symmetric. */
INLINE M NAME(symmetric)(long n, long pitch, const V *x) {
  M same = (M)(B(0.0) == B(0.0));
  for (long i = 0; i < n; i++)
    for (long j = 0; j < i; j++) same &= (M)(x[i * pitch + j] == x[j * pitch + i]);
  return same;
}

/* Whether one matrix is the same as its transpose; rows are whole vectors, with zeros behind. */
INLINE int NAME(same)(long n, long width, const D *x, const D *y) {
  M same = (M)(B(0.0) == B(0.0));
  int all = 1;
  for (long e = 0; e < n * width; e += W) same &= (M)(*(const V *)(x + e) == *(const V *)(y + e));
  for (int l = 0; l < W; l++) all &= same[l] != 0;
  return all;
}

static long NAME(cholesky)(const sd_matrix_call *call, void *workspace) {
  const long n = call->n, width = NAME(width)(n), pitch = NAME(pitch)(n);
  V *x = workspace, *r = x + n * pitch, *sums = r + n * pitch;
  D *a = workspace, *turned = a + width * width, *rows = turned + width * width;
  long failed = -1;
  NAME(sd_group) g;
  for (long s = 0; s < call->count; s += g.count) {
    M same = (M)(B(0.0) == B(0.0)), not_positive = (M)B(0.0), refused = (M)B(0.0);
    g = NAME(group)(call, s, 0);
    if (g.together) {
      NAME(load)(g, n, call->a, call->a_stride, call->single, x);
      if (call->definite) same = NAME(symmetric)(n, pitch, x);
      if (NAME(first_of)(g, same) >= 0) {
        NAME(factor_of_samples)(n, pitch, x, r, sums, &not_positive, &refused);
        for (long i = 0; i < n; i++)
          for (long j = 0; j < n; j++) x[i * pitch + j] = r[j * pitch + i];
        NAME(store)(g, n, x, call->factors, call->factors_stride, 0);
      }
    } else {
      NAME(load_rows)(n, NAME(address)(call->a, call->a_stride, call->single, s), call->single, a);
      for (long e = 0; e < n * width; e++) turned[e] = 0;
      NAME(flip)(n, a, width, 0, (char *)turned, width, 0);
      if (call->definite && !NAME(same)(n, width, a, turned)) same = (M)B(0.0);
      if (same[0]) {
        NAME(factor_of_columns)(n, width, turned, a, (V *)rows, &not_positive, &refused);
        NAME(flip)(n, a, width, 0, (char *)(call->factors + s * call->factors_stride), n, 0);
      }
    }
    M good = call->definite ? same & ~not_positive : ~refused;
    for (long l = 0; call->definite && l < g.count; l++) call->definite[s + l] = good[l] != 0;
    if (failed < 0) failed = NAME(first_of)(g, ~good);
  }
  return failed;
}

static long NAME(inverse_cholesky)(const sd_matrix_call *call, void *workspace) {
  const long n = call->n, width = NAME(width)(n), m = width / W, pitch = NAME(pitch)(n);
  V *l = workspace, *w = l + n * pitch, *inverses = w + n * pitch;
  D *a = workspace, *z = a + width * width, *over = z + width * width, *y = over + width;
  NAME(sd_group) g;
  for (long s = 0; s < call->count; s += g.count) {
    g = NAME(group)(call, s, 0);
    if (g.together) {
      NAME(load)(g, n, call->factors, call->factors_stride, 0, l);
      for (long k = 0; k < n; k++) inverses[k] = B(1.0) / l[k * pitch + k];
      NAME(invert_cholesky_of_samples)(n, pitch, n, l, inverses, w, pitch, l);
      NAME(store)(g, n, l, call->x, call->x_stride, call->single);
    } else {
      NAME(load_rows)(n, (char *)(call->factors + s * call->factors_stride), 0, a);
      for (long k = 0; k < n; k++) over[k] = 1 / a[k * width + k];
      NAME(invert_cholesky_of_columns)(n, width, m, a, over, (V *)z, m, (V *)y);
      char *to = NAME(address)(call->x, call->x_stride, call->single, s);
      for (long i = 0; i < n; i++) NAME(from_row)(n, y + i * width, to + i * n * (call->single ? 4 : 8), call->single);
    }
  }
  return -1;
}

static const sd_matrix_functions NAME(sd_matrices) = {
    NAME(lu),       NAME(inverse),          NAME(inverse_lu),     NAME(solve_lu), sd_determinant_lu,
    NAME(cholesky), NAME(inverse_cholesky), NAME(solve_cholesky),
    NAME(spectrum), 2 * W,
};
#undef MANY
#define SD_END
#include "../machine/vectors.h"
#undef SD_END
