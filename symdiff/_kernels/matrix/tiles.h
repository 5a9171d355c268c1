/* Sums of products of rows, in tiles of registers, and what consists of these alone: substitution, inverses, and
   Cholesky's factorization. */

/* Sums of products of rows, in tiles of registers: what elimination, substitution and inverses consist of.

   Included twice for each kind of vector. Where lanes hold samples (SPREAD 0), a coefficient is a vector; where they
   hold columns of one matrix (SPREAD 1), it is a number, copied to all lanes. The order of operations for
   each element is the same: a sum of products from the first row on, then one element less that sum, then a
   quotient. So are the bits. Coefficient (i, k) is c[i * rs + k * cs]; negative strides run from the end. */

#if SPREAD
#define LAY(x) NAME(x##_of_columns)
#define COEFFICIENT D
#define GET(c) B(*(c))
#else
#define LAY(x) NAME(x##_of_samples)
#define COEFFICIENT V
#define GET(c) (*(c))
#endif

/* R rows and C vectors of y: the sums of ``depth`` products of coefficients and rows of x, or what substitution makes
   of y, whose rows follow those of x. */
INLINE void LAY(tile)(const int R, const int C, int how, long depth, const COEFFICIENT *c, long rs, long cs, const V *x,
                      long xs, V *y, long ys, const COEFFICIENT *d, long ds) {
  V s[4][4];
#pragma GCC unroll 4
  for (int r = 0; r < R; r++)
#pragma GCC unroll 4
    for (int q = 0; q < C; q++) s[r][q] = B(0.0);
  for (long k = 0; k < depth; k++) {
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
      V l = GET(c + r * rs + k * cs);
#pragma GCC unroll 4
      for (int q = 0; q < C; q++) s[r][q] += l * x[k * xs + q];
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; r++) {
    if (how == SD_SUMS) {
#pragma GCC unroll 4
      for (int q = 0; q < C; q++) y[r * ys + q] = s[r][q];
      continue;
    }
    V v[4], f = how == SD_UNIT ? B(1.0) : GET(d + r * ds);
#pragma GCC unroll 4
    for (int q = 0; q < C; q++) v[q] = y[r * ys + q] - s[r][q];
    if (how == SD_DIVIDE)
#pragma GCC unroll 4
      for (int q = 0; q < C; q++) v[q] /= f;
    if (how == SD_MULTIPLY)
#pragma GCC unroll 4
      for (int q = 0; q < C; q++) v[q] *= f;
#pragma GCC unroll 4
    for (int q = 0; q < C; q++) y[r * ys + q] = v[q];
#pragma GCC unroll 4
    for (int p = r + 1; p < R; p++) {
      V l = GET(c + p * rs + (depth + r) * cs);
#pragma GCC unroll 4
      for (int q = 0; q < C; q++) s[p][q] += l * v[q];
    }
  }
}

/* As tile, for C vectors of n rows. */
INLINE void LAY(strip)(const int C, int how, long n, long depth, const COEFFICIENT *c, long rs, long cs, const V *x,
                       long xs, V *y, long ys, const COEFFICIENT *d, long ds) {
  long grow = how != SD_SUMS, i = 0;
  for (; i + 4 <= n; i += 4)
    LAY(tile)(4, C, how, depth + grow * i, c + i * rs, rs, cs, x, xs, y + i * ys, ys, d + i * ds, ds);
  if ((n - i) & 2) {
    LAY(tile)(2, C, how, depth + grow * i, c + i * rs, rs, cs, x, xs, y + i * ys, ys, d + i * ds, ds);
    i += 2;
  }
  if ((n - i) & 1) LAY(tile)(1, C, how, depth + grow * i, c + i * rs, rs, cs, x, xs, y + i * ys, ys, d + i * ds, ds);
}

/* As tile, for n rows of m vectors. */
SLOW void LAY(block)(int how, long n, long m, long depth, const COEFFICIENT *c, long rs, long cs, const V *x, long xs,
                     V *y, long ys, const COEFFICIENT *d, long ds) {
  long q = 0;
#if MANY
  for (; q + 4 <= m; q += 4) LAY(strip)(4, how, n, depth, c, rs, cs, x + q, xs, y + q, ys, d, ds);
#endif
  for (; q + 2 <= m; q += 2) LAY(strip)(2, how, n, depth, c, rs, cs, x + q, xs, y + q, ys, d, ds);
  if (q < m) LAY(strip)(1, how, n, depth, c, rs, cs, x + q, xs, y + q, ys, d, ds);
}

/* The sums of products of rows: y(i) = c(i, 0) x(0) + ... + c(i, depth - 1) x(depth - 1). */
INLINE void LAY(sums)(long n, long m, long depth, const COEFFICIENT *c, long rs, long cs, const V *x, long xs, V *y,
                      long ys) {
  LAY(block)(SD_SUMS, n, m, depth, c, rs, cs, x, xs, y, ys, c, 0);
}

/* Solve for n rows of x in place: x(i) less the sum of c(i, k) x(k), k < i, and then divided or multiplied by d(i). */
INLINE void LAY(substitute)(int how, long n, long m, const COEFFICIENT *c, long rs, long cs, V *x, long xs,
                            const COEFFICIENT *d, long ds) {
  LAY(block)(how, n, m, 0, c, rs, cs, x, xs, x, xs, d, ds);
}

/* P A = L U is in ``lu``, whose rows are ``width`` apart: the solution of L U x = b in place of n rows of m vectors. */
INLINE void LAY(solve)(long n, long width, long m, const COEFFICIENT *lu, V *x) {
  long last = n - 1, end = last * width + last;
  LAY(substitute)(SD_UNIT, n, m, lu, width, 1, x, m, lu, 0);
  LAY(substitute)(SD_DIVIDE, n, m, lu + end, -width, -1, x + last * m, -m, lu + end, -width - 1);
}

/* The same of (L U)' x = b. */
INLINE void LAY(solve_transposed)(long n, long width, long m, const COEFFICIENT *lu, V *x) {
  long last = n - 1, end = last * width + last;
  LAY(substitute)(SD_DIVIDE, n, m, lu, 1, width, x, m, lu, width + 1);
  LAY(substitute)(SD_UNIT, n, m, lu + end, -1, -width, x + last * m, -m, lu, 0);
}

/* The same of L L' x = b. */
INLINE void LAY(solve_cholesky)(long n, long width, long m, const COEFFICIENT *l, V *x) {
  long last = n - 1, end = last * width + last;
  LAY(substitute)(SD_DIVIDE, n, m, l, width, 1, x, m, l, width + 1);
  LAY(substitute)(SD_DIVIDE, n, m, l + end, -1, -width, x + last * m, -m, l + end, -width - 1);
}

/* Inverts a lower triangle T, coefficient (i, k) of which is t[i * rs + k * cs]: w becomes 1 / T, of m vectors
   a row, rows of which are ``ws`` apart. Blocks of SD_BLOCK columns begin at their first row that is not 0. */
INLINE void LAY(invert_triangle)(long n, long m, const COEFFICIENT *t, long rs, long cs, const COEFFICIENT *inverses,
                                 V *w, long ws) {
  const long step = SPREAD ? SD_BLOCK / W : SD_BLOCK;
  for (long i = 0; i < n; i++) {
    for (long q = 0; q < m; q++) w[i * ws + q] = B(0.0);
#if SPREAD
    ((D *)(w + i * ws))[i] = 1;
#else
    w[i * ws + i] = B(1.0);
#endif
  }
  for (long q = 0, k = 0; q < m; q += step, k += SD_BLOCK) {
    if (k >= n) break;
    LAY(substitute)(SD_MULTIPLY, n - k, m - q < step ? m - q : step, t + k * rs + k * cs, rs, cs, w + k * ws + q, ws,
                    inverses + k, 1);
  }
}

/* (L U)'^-1, from which P takes the inverse of A': as LAPACK's getri has it, U is inverted first (Higham, Accuracy and
   Stability of Numerical Algorithms, 2002, section 14.3.2, method B). */
INLINE void LAY(invert)(long n, long width, long m, const COEFFICIENT *lu, const COEFFICIENT *inverses, V *w,
                        long ws) {
  long last = n - 1, end = last * width + last;
  LAY(invert_triangle)(n, m, lu, 1, width, inverses, w, ws);
  LAY(substitute)(SD_UNIT, n, m, lu + end, -1, -width, w + last * ws, -ws, lu, 0);
}

/* (L L')^-1 = w' w with w = 1 / L, to the bit symmetric: sums begin where both factors do. */
INLINE void LAY(invert_cholesky)(long n, long width, long m, const COEFFICIENT *l, const COEFFICIENT *inverses, V *w,
                                 long ws, V *y) {
  const long step = SPREAD ? SD_BLOCK / W : SD_BLOCK, pitch = SPREAD ? ws * W : ws;
  LAY(invert_triangle)(n, m, l, width, 1, inverses, w, ws);
  for (long i = 0; i < n; i += SD_BLOCK)
    for (long q = 0, j = 0; q < m && j < n; q += step, j += SD_BLOCK) {
      long k = i > j ? i : j;
      LAY(sums)(n - i < SD_BLOCK ? n - i : SD_BLOCK, m - q < step ? m - q : step, n - k,
                (const COEFFICIENT *)w + k * pitch + i, 1, pitch, w + k * ws + q, ws, y + i * ws + q, ws);
    }
}

/* Cholesky factors: A = R' R with R = L', row by row, without pivoting.

   Included as tiles.h is. The element of R is the element of A less one sum of products, over the root on the
   diagonal. */

/* ``a`` has A' in its upper triangle, where lanes hold columns; where they hold samples, it has A. Its rows are ``width``
   apart, those of ``r`` too. Below the diagonal, r becomes 0. ``sums`` has room for four rows. ``not_positive`` and
   ``refused`` get the lanes with a pivot that is no positive number, and one that is 0 or less. */
SLOW void LAY(factor)(long n, long width, const COEFFICIENT *a, COEFFICIENT *r, V *sums, M *not_positive, M *refused) {
  const long m = SPREAD ? width / W : n, step = SPREAD ? m : width;
  V *rows = (V *)r;
  for (long i0 = 0; i0 < n; i0 += 4) {
    const long many = n - i0 < 4 ? n - i0 : 4, first = SPREAD ? i0 / W : i0;
    LAY(sums)(many, m - first, i0, r + i0, 1, width, rows + first, step, sums + first, m);
    for (long i = i0; i < i0 + many; i++) {
      const long begin = SPREAD ? i / W : i;
      const V *s = sums + (i - i0) * m;
      V *row = rows + i * step, d;
      for (long q = 0; q < begin; q++) row[q] = B(0.0);
      for (long q = begin; q < m; q++) {
        V t = s[q];
        for (long k = i0; k < i; k++) t += GET(r + k * width + i) * rows[k * step + q];
#if SPREAD
        row[q] = *(const V *)(a + i * width + q * W) - t;
#else
        row[q] = a[q * width + i] - t;
#endif
      }
      d = GET(r + i * width + i);
      *not_positive |= ~((M)(d > B(0.0)) & (M)(d < B(__builtin_inf())));
      *refused |= (M)(d <= B(0.0));
      d = NAME(do_sqrt)(d);
      for (long q = begin; q < m; q++) row[q] /= d;
#if SPREAD
      for (long q = begin * W; q < i; q++) r[i * width + q] = 0;
      r[i * width + i] = d[0];
#else
      row[i] = d;
#endif
    }
  }
}
