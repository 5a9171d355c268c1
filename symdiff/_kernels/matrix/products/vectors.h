/* Products with a vector, of one type on one instruction set: the second part of kernels.h. A row's sums are in the W
   lanes of a vector, in the order of the row whatever the strides, and are folded by halves.

   Needs what kernels.h has defined. */

/* A product of two vectors, summed in the lanes of eight vectors, block by block. */
static double NAME(sd_gemm_dot)(long k, const void *from, long ak, const void *other, long bk) {
  enum { TOGETHER = 8, BLOCK = 4096 };
  const D *a = from, *b = other;
  double sum = 0;
  for (long first = 0; first < k; first += BLOCK) {
    long end = k - first < BLOCK ? k : first + BLOCK, i = first;
    V s[TOGETHER];
    T rest = 0;
    SD_GEMM_UNROLL for (int t = 0; t < TOGETHER; t++) s[t] = ALL(0);
    if (ak == 1 && bk == 1)
      for (; i + TOGETHER * W <= end; i += TOGETHER * W)
        SD_GEMM_UNROLL for (int t = 0; t < TOGETHER; t++)
          s[t] = FMA((V) * (const U *)(a + i + t * W), (V) * (const U *)(b + i + t * W), s[t]);
    else
      for (; i + TOGETHER * W <= end; i += TOGETHER * W)
        SD_GEMM_UNROLL for (int t = 0; t < TOGETHER; t++) {
          V x, y;
          SD_GEMM_UNROLL for (int l = 0; l < W; l++) x[l] = a[(i + t * W + l) * ak], y[l] = b[(i + t * W + l) * bk];
          s[t] = FMA(x, y, s[t]);
        }
    for (; i < end; i++) rest += a[i * ak] * b[i * bk];
    SD_GEMM_UNROLL for (int half = TOGETHER / 2; half > 0; half /= 2)
      SD_GEMM_UNROLL for (int t = 0; t < half; t++) s[t] += s[t + half];
    for (int half = W / 2; half > 0; half /= 2)
      for (int l = 0; l < half; l++) s[0][l] += s[0][l + half];
    sum += (double)(s[0][0] + rest);
  }
  return sum;
}

/* Add halves of W vectors onto each other until one is left: each lane's sum. */
SD_GEMM_INLINE V NAME(sd_gemm_fold)(V *s) {
  SD_GEMM_UNROLL for (int half = W / 2; half > 0; half /= 2)
    SD_GEMM_UNROLL for (int p = 0; p < half; p++) s[p] += s[p + half];
  return s[0];
}

/* W rows times a vector, lanes along the rows. Rows after the first `left` are read as the last. */
SD_GEMM_INLINE V NAME(sd_gemm_lanes)(const int R, long left, long k, const D *a, long am, long ak, const D *x) {
  enum { AHEAD = 512 };
  V s[W];
  long l = 0;
  SD_GEMM_UNROLL for (int r = 0; r < W; r++) s[r] = ALL(0);
  for (; l + W <= k; l += W) {
    V y = *(const U *)(x + l);
    const D *at = a + l * ak;
    SD_GEMM_UNROLL for (int r = 0; r < R; r++) {
      s[r] = FMA(ak == 1 ? (V) * (const U *)at : NAME(sd_gemm_head)(at, ak, W), y, s[r]);
      if (ak == 1) __builtin_prefetch((const char *)at + AHEAD); /* so many rows at once are more than processors follow */
      if (R == W || r + 1 < left) at += am;
    }
  }
  if (l < k) {
    V y = NAME(sd_gemm_head)(x + l, 1, k - l);
    const D *at = a + l * ak;
    SD_GEMM_UNROLL for (int r = 0; r < R; r++) {
      s[r] = FMA(NAME(sd_gemm_head)(at, ak, k - l), y, s[r]);
      if (R == W || r + 1 < left) at += am;
    }
  }
  NAME(sd_gemm_turn)(s);
  return NAME(sd_gemm_fold)(s);
}

/* Rows whose neighbours are neighbours in memory times a vector: vectors hold one lane's sums of W rows each. Columns
   are read some vectors long, so that pages are not changed at each. */
SD_GEMM_INLINE void NAME(sd_gemm_across)(long vectors, long k, const D *a, long ak, const D *x, V *sums) {
  enum { CHUNK = 8 * W };
  V all[TURNS * W];
  for (long i = 0; i < vectors * W; i++) all[i] = ALL(0);
  for (long first = 0; first < k; first += CHUNK) {
    long end = k - first < CHUNK ? k : first + CHUNK;
    for (long i = 0; i < vectors; i++) {
      const D *at = a + i * W + first * ak;
      long l = first;
      V s[W];
      SD_GEMM_UNROLL for (int p = 0; p < W; p++) s[p] = all[i * W + p];
      for (; l + W <= end; l += W)
        SD_GEMM_UNROLL for (int p = 0; p < W; p++, at += ak) s[p] = FMA((V) * (const U *)at, ALL(x[l + p]), s[p]);
      SD_GEMM_UNROLL for (int p = 0; p < W - 1; p++, at += ak)
        if (l + p < end) s[p] = FMA((V) * (const U *)at, ALL(x[l + p]), s[p]);
      SD_GEMM_UNROLL for (int p = 0; p < W; p++) all[i * W + p] = s[p];
    }
  }
  for (long i = 0; i < vectors; i++) sums[i] = NAME(sd_gemm_fold)(all + i * W);
}

/* A matrix times a vector: the sums of a row are in the W lanes of a vector, whatever the strides. */
static void NAME(sd_gemm_vector)(long m, long k, double alpha, const void *matrix, long am, long ak, const void *vector,
                                 long bk, void *into, long cm, int add) {
  enum { DEPTH = 1024 };
  const D *a = matrix, *b = vector;
  D *c = into, room[DEPTH];
  V factor = ALL((T)alpha), sums[TURNS];
  for (long first = 0; first < k; first += DEPTH, a += DEPTH * ak, b += DEPTH * bk) {
    long depth = k - first < DEPTH ? k - first : DEPTH;
    int more = add || first > 0;
    const D *x = b;
    if (bk != 1) {
      for (long l = 0; l < depth; l++) room[l] = b[l * bk];
      x = room;
    }
    for (long i = 0, rows; i < m; i += rows) {
      const D *at = a + i * am;
      long whole = (m - i) / W < TURNS ? (m - i) / W : TURNS;
      rows = m - i < W ? m - i : W;
      if (am == 1 && ak != 1 && whole) {
        NAME(sd_gemm_across)(whole, depth, at, ak, x, sums);
        rows = whole * W;
      } else if (ak == 1 && rows == W) {
        sums[0] = NAME(sd_gemm_lanes)(W, W, depth, at, am, 1, x);
      } else if (ak == 1 && rows > 1) {
        sums[0] = NAME(sd_gemm_lanes)(W - 1, rows, depth, at, am, 1, x);
      } else {
        rows = 1;
        sums[0] = NAME(sd_gemm_lanes)(1, 1, depth, at, am, ak, x);
      }
      for (long first_row = 0; first_row < rows; first_row += W) {
        V y = factor * sums[first_row / W];
        D *to = c + (i + first_row) * cm;
        if (cm == 1 && rows >= W) {
          if (more) y += *(U *)to;
          *(U *)to = y;
          continue;
        }
        for (long r = 0; r < W && first_row + r < rows; r++) to[r * cm] = more ? to[r * cm] + y[r] : y[r];
      }
    }
  }
}
