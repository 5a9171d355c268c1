/* Elimination with partial pivoting, P A = L U, as symdiff/lowering/matrices.py has it: an element of L or U is the
   element of A less one sum of products; elements of L are quotients, and what they would be divided by is not 0.

   The pivot of a column is its largest element, the first of equals; nan is never larger and never smaller. Columns
   are eliminated a panel at a time, from the left: all that panels before add to one is one sum of
   products. Needs tiles.h, with lanes that hold samples and columns, and moves.h. */

enum { NAME(SD_PANEL) = 4 };

/* Rows of W samples change places: row j, which is ``row``, with the rows below it in the lanes of ``where``. */
INLINE void NAME(exchange)(V *row, long count, long others, const long *below, const M *where) {
  long q = 0;
  for (; q + 4 <= count; q += 4) {
    V a[4];
#pragma GCC unroll 4
    for (int e = 0; e < 4; e++) a[e] = row[q + e];
    for (long k = 0; k < others; k++) {
      V *other = row + below[k] + q;
      M m = where[k];
#pragma GCC unroll 4
      for (int e = 0; e < 4; e++) {
        V b = other[e];
        other[e] = NAME(do_pick)(m, a[e], b);
        a[e] = NAME(do_pick)(m, b, a[e]);
      }
    }
#pragma GCC unroll 4
    for (int e = 0; e < 4; e++) row[q + e] = a[e];
  }
  for (; q < count; q++) {
    V a = row[q];
    for (long k = 0; k < others; k++) {
      V b = row[below[k] + q];
      row[below[k] + q] = NAME(do_pick)(where[k], a, b);
      a = NAME(do_pick)(where[k], b, a);
    }
    row[q] = a;
  }
}

/* Where ``larger`` holds, the length and the place of another element. */
#define TAKE(larger, best, place, length, at) { \
  M m_ = larger; \
  best = NAME(do_pick)(m_, length, best); \
  place = NAME(do_pick)(m_, at, place); }

/* Column j of x less its sums, and the row of its largest element. */
INLINE V NAME(largest)(long n, long j, V *x, long pitch, const V *s, long wide) {
  V best, place = B((T)j), at = place;
  x[j * pitch] -= s[j * wide];
  best = (V)((M)x[j * pitch] & ~SIGN);
  for (long i = j + 1; i < n; i++) {
    V t = x[i * pitch] - s[i * wide], length = (V)((M)t & ~SIGN);
    x[i * pitch] = t;
    at += B(1.0);
    TAKE((M)(best < length), best, place, length, at)
  }
  return place;
}

/* W matrices, from addresses to lanes; rows of x are ``pitch`` apart. SD_BLOCK columns are read when their panels come, whole
   lines of the cache, in the order that rows have by then: so rows to the right never change places in x. ``pivots`` gets W
   numbers a row: the rows it changes places with. ``sums`` has room for SD_PANEL vectors a row. Returns the lanes with
   a pivot that is 0. */
SLOW M NAME(eliminate_samples)(long n, long pitch, char *const *from, int single, V *x, V *sums, int *pivots) {
  const long wide = NAME(SD_PANEL), size = single ? 4 : 8;
  const char *rows[SD_TOGETHER * W];
  M failed = (M)B(0.0);
  for (long i = 0; i < n; i++)
    for (int l = 0; l < W; l++) rows[i * W + l] = from[l] + i * n * size;
  for (long j0 = 0, read = 0; j0 < n; j0 += wide) {
    const long end = n - j0 < wide ? n : j0 + wide;
    if (read == j0) {
      read = n - j0 < SD_BLOCK ? n : j0 + SD_BLOCK;
      for (long i = 0; i < n; i++) NAME(columns_to_lanes)(n, j0, read, rows + i * W, single, x + i * pitch);
    }
    NAME(substitute_of_samples)(SD_UNIT, j0, end - j0, x, pitch, 1, x + j0, pitch, x, 0);
    NAME(sums_of_samples)(n - j0, end - j0, j0, x + j0 * pitch, pitch, 1, x + j0, pitch, sums + j0 * wide, wide);
    for (long j = j0; j < end; j++) {
      V *s = sums + (j - j0), *row = x + j * pitch;
      const V place = NAME(largest)(n, j, x + j, pitch, s, wide);
      unsigned long long chosen = 0;
      M where[W];
      long below[W], beside[W], others = 0;
      for (int l = 0; l < W; l++) {
        const int p = (int)place[l];
        const char *kept = rows[j * W + l];
        pivots[j * W + l] = p;
        rows[j * W + l] = rows[p * W + l];
        rows[p * W + l] = kept;
        chosen |= 1ULL << p;
      }
      for (chosen &= ~(1ULL << j); chosen; chosen &= chosen - 1) {
        const long p = __builtin_ctzll(chosen);
        where[others] = (M)(place == B((T)p));
        below[others] = (p - j) * pitch;
        beside[others++] = (p - j) * wide;
      }
      NAME(exchange)(x + j * pitch, read, others, below, where);
      NAME(exchange)(s + j * wide + 1, end - j - 1, others, beside, where);
      V pivot = row[j];
      M zero = (M)(pivot == B(0.0));
      failed |= zero;
      for (long q = j + 1; q < end; q++) row[q] -= sums[j * wide + q - j0];
      for (long i = j + 1; i < n; i++) {
        V t = x[i * pitch + j], l = NAME(do_pick)(zero, t, t / pivot);
        x[i * pitch + j] = l;
        for (long q = j + 1; q < end; q++) sums[i * wide + q - j0] += l * row[q];
      }
    }
  }
  return failed;
}

/* The largest of the lanes and its place, the smallest of equals. */
#define OTHER_LANE(l, h) ((l) ^ (h))
#define LARGER_LANES(h) { \
  V size = SHUFFLE(best, best, EACH(OTHER_LANE, h)), at = SHUFFLE(place, place, EACH(OTHER_LANE, h)); \
  TAKE((M)(best < size) | ((M)(best == size) & (M)(at < place)), best, place, size, at) }
INLINE long NAME(first_of_largest)(V best, V place) {
#if W >= 8
  LARGER_LANES(4)
#endif
#if W >= 4
  LARGER_LANES(2)
#endif
  LARGER_LANES(1)
  return (long)place[0];
}
#undef OTHER_LANE
#undef LARGER_LANES

/* Numbers in W columns of a panel, turned: column q of them is the vectors from q * rows on. */
INLINE void NAME(turn_panel)(long rows, const V *from, long step, D *to) {
  for (long i = 0; i < rows; i += W) {
    V c[W];
#pragma GCC unroll 8
    for (int l = 0; l < W; l++) c[l] = from[(i + l) * step];
    NAME(turn)(c);
#pragma GCC unroll 8
    for (int l = 0; l < W; l++) *(V *)(to + l * rows + i) = c[l];
  }
}

/* One column j of the panel from j0 on: the row that its pivot stands in. ``x`` and ``s`` are the panel and the sums,
   turned, from row j0 on. */
INLINE long NAME(search)(long n, long rows, long j0, long j, D *x, const D *s) {
  V best = B(-1.0), place = B((T)j), lane;
  for (int l = 0; l < W; l++) lane[l] = l;
  for (long i = (j - j0) / W * W; i < rows; i += W) {
    V t = *(const V *)(x + i) - *(const V *)(s + i), at = lane + B((T)(j0 + i));
    V size = NAME(do_pick)((M)(at >= B((T)j)) & (M)(at < B((T)n)) & (M)(t == t), (V)((M)t & ~SIGN), B(-1.0));
    *(V *)(x + i) = t;
    TAKE((M)(best < size), best, place, size, at)
  }
  return x[j - j0] == x[j - j0] ? NAME(first_of_largest)(best, place) : j;
}

/* One matrix, in place; its rows are whole vectors, ``width`` numbers apart, and there are ``width`` of them. ``panel``
   has room for 2 W + 1 rows. Returns whether a pivot is 0. */
SLOW int NAME(eliminate_columns)(long n, long width, D *a, int *pivots, D *panel) {
  const long m = width / W;
  int failed = 0;
  for (long j0 = 0; j0 < n; j0 += W) {
    const long rows = width - j0, columns = n - j0 < W ? n - j0 : W;
    D *x = panel, *s = panel + W * rows, u[W][W];
    V *here = (V *)(a + j0), *below = (V *)(a + j0 * width + j0), *sums = (V *)(s + W * rows);
    NAME(substitute_of_columns)(SD_UNIT, j0, 1, a, width, 1, here, m, a, 0);
    NAME(sums_of_columns)(rows, 1, j0, a + j0 * width, width, 1, here, m, sums, 1);
    NAME(turn_panel)(rows, sums, 1, s);
    NAME(turn_panel)(rows, below, m, x);
    for (long q = 0; q < columns; q++) {
      const long j = j0 + q, p = NAME(search)(n, rows, j0, j, x + q * rows, s + q * rows);
      pivots[j] = (int)p;
      if (p != j) {
        V *one = (V *)(a + j * width), *other = (V *)(a + p * width);
        for (long e = 0; e < m; e++) {
          V v = one[e];
          one[e] = other[e];
          other[e] = v;
        }
        for (long e = q; e < 2 * W * rows; e += rows) {
          T v = panel[e];
          panel[e] = panel[e + p - j];
          panel[e + p - j] = v;
        }
      }
      const T pivot = u[q][q] = x[q * rows + q];
      const M zero = (M)(B(pivot) == B(0.0));
      failed |= pivot == 0;
      for (long e = q + 1; e < columns; e++) u[q][e] = x[e * rows + q] - s[e * rows + q];
      for (long i = (q + 1) / W * W; i < rows; i += W) {
        V t = *(V *)(x + q * rows + i), l = NAME(do_pick)(zero, t, t / B(pivot));
        *(V *)(x + q * rows + i) = l;
        for (long e = q + 1; e < columns; e++) *(V *)(s + e * rows + i) += l * B(u[q][e]);
      }
    }
    for (long q = 0; q < columns; q++)
      for (long e = q; e < columns; e++) x[e * rows + q] = u[q][e];
    for (long i = 0; i < rows; i += W) {
      V c[W];
#pragma GCC unroll 8
      for (int l = 0; l < W; l++) c[l] = *(V *)(x + l * rows + i);
      NAME(turn)(c);
#pragma GCC unroll 8
      for (int l = 0; l < W; l++) below[(i + l) * m] = c[l];
    }
  }
  return failed;
}
