/* Cholesky factors: A = R' R with R = L', row by row, without pivoting.

   Included as tiles.h is. The element of R is the element of A less one sum of products, over the root on the
   diagonal. Needs tiles.h. */

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
