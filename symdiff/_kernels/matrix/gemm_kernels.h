/* Matrix products of one type on one instruction set: the text that gemm.h includes for each.

   Each element is the sum over k of fma(a, b, sum) from the first to the last of a block of SD_GEMM_DEPTH, from zero
   on; alpha times the sums of the blocks are added in order. Nothing else enters it: not its place, not the sizes, not
   how an operand lies in memory. What differs below is only what is read where. */

#if SINGLE
#define T float
#define NAME(x) SD_GEMM_JOIN(SD_GEMM_JOIN(x, _s), W)
#else
#define T double
#define NAME(x) SD_GEMM_JOIN(SD_GEMM_JOIN(x, _d), W)
#endif
#define V NAME(sd_gemm_v)
#define U NAME(sd_gemm_u)
#define D NAME(sd_gemm_number)
#define M NAME(sd_gemm_m)

typedef T V __attribute__((vector_size(sizeof(T) * W), may_alias));
typedef T U __attribute__((vector_size(sizeof(T) * W), aligned(sizeof(T)), may_alias));
typedef T D __attribute__((may_alias));
#if SINGLE
typedef int M __attribute__((vector_size(sizeof(T) * W)));
#else
typedef long long M __attribute__((vector_size(sizeof(T) * W)));
#endif

/* Rows and vectors of a tile: as many sums as registers hold beside what is read. */
#if SET == 2 || defined __aarch64__
#define ROWS 8
#define VECTORS 3
#else
#define ROWS 4
#define VECTORS (SET == 1 ? 3 : 2)
#endif
/* Vectors of a single row, and of eight rows of a matrix times a vector. */
#define LONG_ROW 8
#define TURNS 4

#if W == 16
#define ALL(x) ((V){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x})
#define LOW(a, b) SD_GEMM_SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH(a, b) SD_GEMM_SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif W == 8
#define ALL(x) ((V){x, x, x, x, x, x, x, x})
#define LOW(a, b) SD_GEMM_SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH(a, b) SD_GEMM_SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#elif W == 4
#define ALL(x) ((V){x, x, x, x})
#define LOW(a, b) SD_GEMM_SHUFFLE(a, b, 0, 4, 1, 5)
#define HIGH(a, b) SD_GEMM_SHUFFLE(a, b, 2, 6, 3, 7)
#else
#define ALL(x) ((V){x, x})
#define LOW(a, b) SD_GEMM_SHUFFLE(a, b, 0, 2)
#define HIGH(a, b) SD_GEMM_SHUFFLE(a, b, 1, 3)
#endif

#if SET == 2 && SINGLE
#define FMA(x, y, z) ((V)_mm512_fmadd_ps(x, y, z))
#elif SET == 2
#define FMA(x, y, z) ((V)_mm512_fmadd_pd(x, y, z))
#elif SET == 1 && SINGLE
#define FMA(x, y, z) ((V)_mm256_fmadd_ps(x, y, z))
#elif SET == 1
#define FMA(x, y, z) ((V)_mm256_fmadd_pd(x, y, z))
#elif defined __aarch64__ && SINGLE
#define FMA(x, y, z) ((V)vfmaq_f32((float32x4_t)(z), (float32x4_t)(x), (float32x4_t)(y)))
#elif defined __aarch64__
#define FMA(x, y, z) ((V)vfmaq_f64((float64x2_t)(z), (float64x2_t)(x), (float64x2_t)(y)))
#else
#define FMA(x, y, z) ((x) * (y) + (z))
#endif

/* Add the first lanes of a vector to numbers in memory, or put them there. */
SD_GEMM_INLINE void NAME(sd_gemm_part)(D *to, V x, long lanes, int add) {
#if SET == 2 && SINGLE
  __mmask16 mask = (__mmask16)((1u << lanes) - 1);
  if (add) x += (V)_mm512_maskz_loadu_ps(mask, to);
  _mm512_mask_storeu_ps(to, mask, x);
#elif SET == 2
  __mmask8 mask = (__mmask8)((1u << lanes) - 1);
  if (add) x += (V)_mm512_maskz_loadu_pd(mask, to);
  _mm512_mask_storeu_pd(to, mask, x);
#else
  for (long l = 0; l < lanes; l++) to[l] = add ? to[l] + x[l] : x[l];
#endif
}

/* A tile of R rows and N vectors, `last` lanes of whose last vector there are. */
SD_GEMM_INLINE void NAME(sd_gemm_tile)(const int R, const int N, const long *depth, const D *a, const D *b, D *c,
                                       double factor, long last, int add) {
  long k = depth[0], ar = depth[1], ak = depth[2], bk = depth[3], cr = depth[4];
  V s[8 * 8], alpha = ALL((T)factor);
  SD_GEMM_UNROLL for (int r = 0; r < R; r++) SD_GEMM_UNROLL for (int v = 0; v < N; v++) s[r * N + v] = ALL(0);
  SD_GEMM_UNROLL for (int r = 0; N == 1 && r < R; r++) __builtin_prefetch(c + r * cr, 1); /* wider tiles last longer */
  for (long i = 0; i < k; i++, a += ak, b += bk) {
    const D *more = a + 4 * ar; /* few registers tell eight rows */
    V y[8];
    SD_GEMM_UNROLL for (int v = 0; v < N; v++) y[v] = *(const U *)(b + v * W);
    SD_GEMM_UNROLL for (int r = 0; r < R; r++) {
      T number = r < 4 ? a[r * ar] : more[(r - 4) * ar];
      V x = ALL(number);
      SD_GEMM_UNROLL for (int v = 0; v < N; v++) s[r * N + v] = FMA(x, y[v], s[r * N + v]);
    }
  }
  SD_GEMM_UNROLL for (int r = 0; r < R; r++) {
    SD_GEMM_UNROLL for (int v = 0; v < N; v++) {
      D *to = c + r * cr + v * W;
      V x = alpha * s[r * N + v];
      if (v < N - 1 || last == W) {
        if (add) x += *(U *)to;
        *(U *)to = x;
      } else {
        NAME(sd_gemm_part)(to, x, last, add);
      }
    }
  }
}

#define SD_GEMM_TILE(R, N)                                                                                          \
  static void NAME(sd_gemm_tile_##R##_##N)(const long *depth, const D *a, const D *b, D *c, double factor, long last, \
                                           int add) {                                                               \
    NAME(sd_gemm_tile)(R, N, depth, a, b, c, factor, last, add);                                                    \
  }
#define SD_GEMM_TILES(R) SD_GEMM_TILE(R, 1) SD_GEMM_TILE(R, 2) SD_GEMM_TILE(R, 3)
SD_GEMM_TILES(1) SD_GEMM_TILES(2) SD_GEMM_TILES(4) SD_GEMM_TILE(1, 8)
#if ROWS == 8
SD_GEMM_TILES(8)
#endif
#undef SD_GEMM_TILES
#undef SD_GEMM_TILE

typedef void (*NAME(sd_gemm_tiles))(const long *, const D *, const D *, D *, double, long, int);
#define SD_GEMM_ROW(R) {NAME(sd_gemm_tile_##R##_1), NAME(sd_gemm_tile_##R##_2), NAME(sd_gemm_tile_##R##_3)}
static const NAME(sd_gemm_tiles) NAME(sd_gemm_table)[][3] = {SD_GEMM_ROW(1), SD_GEMM_ROW(2), SD_GEMM_ROW(4),
#if ROWS == 8
                                                             SD_GEMM_ROW(8)
#endif
};
#undef SD_GEMM_ROW

/* Exchange rows and columns of W vectors. */
SD_GEMM_INLINE void NAME(sd_gemm_turn)(V *r) {
  SD_GEMM_UNROLL for (int stage = 1; stage < W; stage *= 2) {
    V t[W];
    SD_GEMM_UNROLL for (int i = 0; i < W / 2; i++) {
      t[2 * i] = LOW(r[i], r[i + W / 2]);
      t[2 * i + 1] = HIGH(r[i], r[i + W / 2]);
    }
    SD_GEMM_UNROLL for (int i = 0; i < W; i++) r[i] = t[i];
  }
}

/* The first lanes of a vector, `step` apart; zeros after them. */
SD_GEMM_INLINE V NAME(sd_gemm_head)(const D *from, long step, long lanes) {
  D x[W] = {0};
#if SET == 2 && SINGLE
  if (step == 1) return (V)_mm512_maskz_loadu_ps((__mmask16)((1u << lanes) - 1), from);
#elif SET == 2
  if (step == 1) return (V)_mm512_maskz_loadu_pd((__mmask8)((1u << lanes) - 1), from);
#endif
  for (long l = 0; l < lanes; l++) x[l] = from[l * step];
  return *(U *)x;
}

/* Pack the n columns of a panel: k rows of whole vectors, filled up with zeros to `width` numbers. */
static void NAME(sd_gemm_panel)(long k, long n, const D *b, long bk, long bn, long width, D *to) {
  long i = 0, whole = n / W * W;
  if (bn == 1) {
    for (; i < k; i++, b += bk, to += width) {
      for (long j = 0; j < whole; j += W) *(U *)(to + j) = *(const U *)(b + j);
      if (whole < n) *(U *)(to + whole) = NAME(sd_gemm_head)(b + whole, 1, n - whole);
    }
    return;
  }
  if (bk == 1)
    for (; i + W <= k; i += W)
      for (long j = 0; j < width; j += W) {
        V r[W];
        SD_GEMM_UNROLL for (int l = 0; l < W; l++)
          r[l] = j + l < n ? (V) * (const U *)(b + (j + l) * bn + i) : ALL(0);
        NAME(sd_gemm_turn)(r);
        SD_GEMM_UNROLL for (int l = 0; l < W; l++) *(U *)(to + (i + l) * width + j) = r[l];
      }
  for (; i < k; i++)
    for (long j = 0; j < width; j++) to[i * width + j] = j < n ? b[i * bk + j * bn] : 0;
}

/* Pack rows: those of a tile one behind the other, or where neighbours are in a column, its columns. */
static void NAME(sd_gemm_rows)(long m, long k, const D *a, long am, long ak, D *to) {
  if (am == 1)
    for (long i = 0; i < m; i += ROWS, to += ROWS * k) {
      long rows = m - i < ROWS ? m - i : ROWS;
      for (long l = 0; l < k; l++)
        if (rows == ROWS)
          memcpy(to + l * ROWS, a + l * ak + i, ROWS * sizeof(T));
        else
          for (long r = 0; r < rows; r++) to[l * ROWS + r] = a[l * ak + i + r];
    }
  else
    for (long i = 0; i < m; i++, to += k)
      if (ak == 1)
        memcpy(to, a + i * am, (size_t)k * sizeof(T));
      else
        for (long l = 0; l < k; l++) to[l] = a[i * am + l * ak];
}

/* A row times a matrix whose rows lie in memory as they are. */
static void NAME(sd_gemm_row)(long n, long k, double alpha, const D *a, long ak, const D *b, long bk, D *c, int add,
                              D *scratch) {
  for (long i = 0; i < k; i += SD_GEMM_DEPTH) {
    long depth[] = {k - i < SD_GEMM_DEPTH ? k - i : SD_GEMM_DEPTH, 0, ak, bk, 0}, j = 0;
    int more = add || i > 0;
    for (; j + LONG_ROW * W <= n; j += LONG_ROW * W)
      NAME(sd_gemm_tile_1_8)(depth, a + i * ak, b + i * bk + j, c + j, alpha, W, more);
    for (; j + W <= n; j += W) NAME(sd_gemm_tile_1_1)(depth, a + i * ak, b + i * bk + j, c + j, alpha, W, more);
    if (j == n) continue;
    NAME(sd_gemm_panel)(depth[0], n - j, b + i * bk + j, bk, 1, W, scratch);
    depth[3] = W;
    NAME(sd_gemm_tile_1_1)(depth, a + i * ak, scratch, c + j, alpha, n - j, more);
  }
}

/* Add W × W numbers times W numbers to sums whose lanes are rows. Rows after the first `left` are read as the last. */
SD_GEMM_INLINE V NAME(sd_gemm_square)(const D *a, long am, long left, const D *x, V sum) {
  V r[W];
  SD_GEMM_UNROLL for (int p = 0; p < W; p++) {
    r[p] = *(const U *)a;
    if (p + 1 < left) a += am;
  }
  NAME(sd_gemm_turn)(r);
  SD_GEMM_UNROLL for (int p = 0; p < W; p++) {
    T number = x[p];
    sum = FMA(r[p], ALL(number), sum);
  }
  return sum;
}

/* Rows that lie in memory as they are times a vector: blocks of W × W are turned in registers, and a lane is a row.
   Several groups of rows take turns, since each sum waits for the one before. */
static void NAME(sd_gemm_column)(long m, long k, double alpha, const D *a, long am, const D *b, long bk, D *c, long cm,
                                 int add) {
  V factor = ALL((T)alpha);
  for (long first = 0; first < k; first += SD_GEMM_DEPTH, a += SD_GEMM_DEPTH, b += SD_GEMM_DEPTH * bk) {
    long depth = k - first < SD_GEMM_DEPTH ? k - first : SD_GEMM_DEPTH;
    int more = add || first > 0;
    D x[SD_GEMM_DEPTH];
    for (long l = 0; l < depth; l++) x[l] = b[l * bk];
    for (long i = 0, rows; i < m; i += rows) {
      long turns = m - i >= TURNS * W ? TURNS : 1, l = 0;
      const D *at = a + i * am;
      V s[TURNS];
      rows = m - i < turns * W ? m - i : turns * W;
      SD_GEMM_UNROLL for (int t = 0; t < TURNS; t++) s[t] = ALL(0);
      if (turns == TURNS)
        for (; l + W <= depth; l += W)
          SD_GEMM_UNROLL for (int t = 0; t < TURNS; t++)
            s[t] = NAME(sd_gemm_square)(at + t * W * am + l, am, W, x + l, s[t]);
      else
        for (; l + W <= depth; l += W) s[0] = NAME(sd_gemm_square)(at + l, am, rows, x + l, s[0]);
      for (; l < depth; l++)
        for (long t = 0; t < turns; t++) {
          V r = ALL(0);
          for (long p = 0; p < W && t * W + p < rows; p++) r[p] = at[(t * W + p) * am + l];
          s[t] = FMA(r, ALL(x[l]), s[t]);
        }
      for (long t = 0; t < turns; t++) {
        V y = factor * s[t];
        for (long p = 0; p < W && t * W + p < rows; p++) {
          D *to = c + (i + t * W + p) * cm;
          *to = more ? *to + y[p] : y[p];
        }
      }
    }
  }
}

/* The tiles of some rows of a: `first` is the first row, and `rows` of them are in a. `half` leaves out tiles above
   the diagonal. */
static void NAME(sd_gemm_band)(const long *depth, long rows, long n, long row, long column, double alpha, const D *a,
                               long skip, const D *b, D *c, long cm, long cn, int add, int half) {
  long vectors = (n + W - 1) / W, last = n - (vectors - 1) * W;
  for (long i = 0; i < rows;) {
    int level = rows - i >= ROWS ? (ROWS == 8 ? 3 : 2) : rows - i >= 4 ? 2 : rows - i >= 2;
    long count = 1L << level;
    const D *from = a + (skip ? i / ROWS * skip + i % ROWS * depth[1] : i * depth[1]);
    NAME(sd_gemm_tiles) tile = NAME(sd_gemm_table)[level][vectors - 1];
    if (half && column > row + i + count - 1) {
      i += count;
      continue;
    }
    if (cn == 1) {
      tile(depth, from, b, c + i * cm, alpha, last, add);
    } else {
      D out[ROWS * VECTORS * W];
      long inside[] = {depth[0], depth[1], depth[2], depth[3], vectors * W};
      tile(inside, from, b, out, alpha, W, 0);
      for (long r = 0; r < count; r++)
        for (long j = 0; j < n; j++) {
          D *to = c + (i + r) * cm + j * cn;
          *to = add ? *to + out[r * vectors * W + j] : out[r * vectors * W + j];
        }
    }
    i += count;
  }
}

/* Columns of the next panel: a single vector that would be left is shared, as tiles of one read more than they compute. */
SD_GEMM_INLINE long NAME(sd_gemm_columns)(long left) {
  const long most = (left + W - 1) / W == VECTORS + 1 && VECTORS > 2 ? (VECTORS - 1) * W : VECTORS * W;
  return left < most ? left : most;
}

static void NAME(sd_gemm_run)(const sd_gemm_sizes *s, double alpha, const void *from, const void *other, void *into,
                              int add, int half, char *scratch) {
  long m = s->m, n = s->n, k = s->k, am = s->am, ak = s->ak, bk = s->bk, bn = s->bn, cm = s->cm, cn = s->cn;
  enum { WIDTH = VECTORS * W, ACROSS = SD_GEMM_ACROSS / WIDTH * WIDTH };
  const D *a = from, *b = other;
  D *c = into, *panels = (D *)(scratch + (size_t)(-(size_t)scratch % SD_GEMM_LINE)), *packed;
  long deepest = k < SD_GEMM_DEPTH ? k : SD_GEMM_DEPTH;
  if (n == 1 && ak == 1) {
    NAME(sd_gemm_column)(m, k, alpha, a, am, b, bk, c, cm, add);
    return;
  }
  if (n == 1 && am == 1 && cm == 1) {
    NAME(sd_gemm_row)(m, k, alpha, b, bk, a, ak, c, add, panels);
    return;
  }
  if (m == 1 && bk == 1) {
    NAME(sd_gemm_column)(n, k, alpha, b, bn, a, ak, c, cn, add);
    return;
  }
  if (m == 1 && bn == 1 && cn == 1) {
    NAME(sd_gemm_row)(n, k, alpha, a, ak, b, bk, c, add, panels);
    return;
  }
  if (bn == 1 && cn == 1 && n <= WIDTH && n % W == 0 && k <= SD_GEMM_DEPTH && m <= 2 * ROWS && !half) {
    const long depth[] = {k, am, ak, bk, cm}; /* what the loops below come to, sooner */
    NAME(sd_gemm_band)(depth, m, n, 0, 0, alpha, a, 0, b, c, cm, 1, add, 0);
    return;
  }
  packed = panels + (deepest * ((n < ACROSS ? n : ACROSS) + W - 1) / SD_GEMM_WIDEST + 1) * SD_GEMM_WIDEST;
  for (long j = 0; j < n; j += ACROSS)
    for (long l = 0; l < k; l += SD_GEMM_DEPTH) {
      long width = n - j < ACROSS ? n - j : ACROSS, deep = k - l < SD_GEMM_DEPTH ? k - l : SD_GEMM_DEPTH;
      int near = m <= 2 * ROWS || deep * bk * (long)sizeof(T) <= SD_GEMM_NEAR;
      int in_place = bn == 1 && near, copied = width > 2 * WIDTH && m >= ROWS && !(near && ak == 1);
      for (long p = 0, columns; p < width; p += columns) {
        long wide = ((columns = NAME(sd_gemm_columns)(width - p)) + W - 1) / W * W;
        if (!in_place || columns % W)
          NAME(sd_gemm_panel)(deep, columns, b + l * bk + (j + p) * bn, bk, bn, wide, panels + p * deep);
      }
      for (long i = half ? j / SD_GEMM_DOWN * SD_GEMM_DOWN : 0; i < m; i += SD_GEMM_DOWN) {
        long rows = m - i < SD_GEMM_DOWN ? m - i : SD_GEMM_DOWN;
        const D *here = a + i * am + l * ak;
        if (copied) NAME(sd_gemm_rows)(rows, deep, here, am, ak, packed);
        for (long p = 0, columns; p < width; p += columns) {
          columns = NAME(sd_gemm_columns)(width - p);
          long direct = in_place && columns % W == 0;
          long depth[] = {deep, am, ak, direct ? bk : (columns + W - 1) / W * W, cm}, skip = 0;
          if (copied) {
            depth[1] = am == 1 ? 1 : deep, depth[2] = am == 1 ? ROWS : 1;
            skip = ROWS * deep;
          }
          NAME(sd_gemm_band)(depth, rows, columns, i, j + p, alpha, copied ? packed : here, skip,
                             direct ? b + l * bk + j + p : panels + p * deep, c + i * cm + (j + p) * cn, cm, cn,
                             add || l > 0, half);
        }
      }
    }
}

/* Products with a vector, of one type on one instruction set. A row's sums are in the W
   lanes of a vector, in the order of the row whatever the strides, and are folded by halves. */

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

#undef T
#undef NAME
#undef V
#undef U
#undef D
#undef M
#undef ROWS
#undef VECTORS
#undef LONG_ROW
#undef TURNS
#undef ALL
#undef LOW
#undef HIGH
#undef FMA
