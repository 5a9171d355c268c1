/* Matrices to vectors and back: blocks of W rows of W numbers are transposed in registers.

   Numbers in memory are float64, or float32 where ``single``, at any address; computed is in float64, as NumPy does.
   Needs ../machine/vectors.h. */

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
