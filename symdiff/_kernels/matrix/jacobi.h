/* Eigenvalues of small symmetric matrices by Jacobi's rotations, W samples in the lanes of vectors.

   A lane whose element is negligible is turned by no angle, which changes nothing: a sample has the same bits beside any
   others. Golub and Van Loan, Matrix Computations, 8.5. Needs moves.h. */

INLINE V NAME(size_of)(V x) { return (V)((M)x & ~SIGN); }

INLINE int NAME(any_lane)(M lanes) {
  long long any = 0;
  for (int l = 0; l < W; l++) any |= (long long)lanes[l];
  return any != 0;
}

INLINE void NAME(turn_pair)(V *x, V *y, V c, V s) {
  const V a = *x, b = *y;
  *x = c * a - s * b;
  *y = s * a + c * b;
}

/* The eigenvalues of ``matrices``, W of n rows of finite numbers one after the other, in no order. */
SLOW void NAME(rotate)(long n, const double *matrices, double *values, double *workspace) {
  V *x = (V *)workspace, largest = B(0.0);
  const char *at[W];
  for (int l = 0; l < W; l++) at[l] = (const char *)(matrices + l * n * n);
  NAME(to_lanes)(n * n, at, 0, x);
  for (long e = 0; e < n * n; e++) {
    const V size = NAME(size_of)(x[e]);
    largest = NAME(do_pick)((M)(size > largest), size, largest);
  }
  const V least = largest * B(0x1p-58);
  for (int turned = 1, sweeps = 0; turned && sweeps < 60; sweeps++) {
    turned = 0;
    for (long p = 0; p < n; p++)
      for (long q = p + 1; q < n; q++) {
        const V a = x[p * n + q];
        const M active = (M)(NAME(size_of)(a) > least);
        if (!NAME(any_lane)(active)) continue;
        turned = 1;
        const V h = x[q * n + q] - x[p * n + p], twice = NAME(do_pick)(active, a + a, B(1.0));
        /* the tangent of the smaller angle: 2 a / (h ± sqrt(h² + 4 a²)) with the sign of h */
        const V root = NAME(do_sqrt)(h * h + twice * twice), whole = h + NAME(do_copysign)(root, h);
        const V t = (V)((M)(twice / whole) & active), c = B(1.0) / NAME(do_sqrt)(t * t + B(1.0)), s = t * c;
        x[p * n + p] -= t * a;
        x[q * n + q] += t * a;
        x[p * n + q] = NAME(do_pick)(active, B(0.0), a);
        for (long j = 0; j < p; j++) NAME(turn_pair)(x + j * n + p, x + j * n + q, c, s);
        for (long j = p + 1; j < q; j++) NAME(turn_pair)(x + p * n + j, x + j * n + q, c, s);
        for (long j = q + 1; j < n; j++) NAME(turn_pair)(x + p * n + j, x + q * n + j, c, s);
      }
  }
  for (long k = 0; k < n; k++)
    for (int l = 0; l < W; l++) values[l * n + k] = x[k * n + k][l];
}
