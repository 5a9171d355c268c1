/* The machine of interpreter.h for vectors of W numbers, float32 if SD_SINGLE and float64 if not.
   Included once for each, under the options of an instruction set that has such registers; all names
   end in W or are undefined at the end. */

#if SD_SINGLE
#define NAME(x) SD_JOIN(SD_JOIN(x, _f), W)
#define T float
#define SD_INTEGER int
#else
#define NAME(x) SD_JOIN(SD_JOIN(x, _d), W)
#define T double
#define SD_INTEGER long long
#endif
#if SD_SINGLE
#define SD_BITS (32 * W)
#define SD_KIND(before, after) SD_JOIN(SD_JOIN(before, s), after)
#else
#define SD_BITS (64 * W)
#define SD_KIND(before, after) SD_JOIN(SD_JOIN(before, d), after)
#endif
#define V NAME(sd_v)
#define U NAME(sd_u)
#define M NAME(sd_m)
#define INLINE static inline __attribute__((always_inline, unused))

typedef T V __attribute__((vector_size(sizeof(T) * W), may_alias));
typedef T U __attribute__((vector_size(sizeof(T) * W), aligned(sizeof(T)), may_alias));
typedef SD_INTEGER M __attribute__((vector_size(sizeof(T) * W)));

#if W == 16
#define ALL(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x
#elif W == 8
#define ALL(x) x, x, x, x, x, x, x, x
#elif W == 4
#define ALL(x) x, x, x, x
#else
#define ALL(x) x, x
#endif
#define B(x) ((V){ALL(x)})
#define SIGN ((M)B(-0.0))

/* ---- functions of one vector, to the letter those of generated code (codegen/operations.py) */

INLINE V NAME(sd_where)(M m, V a, V b) { return (V)((m & (M)a) | (~m & (M)b)); }
INLINE V NAME(sd_rint)(V x) {
  V c = B(sizeof(T) == 4 ? 0x1p23 : 0x1p52), a = (V)((M)x & ~SIGN);
  return NAME(sd_where)((M)(a < c), (V)((M)((a + c) - c) | ((M)x & SIGN)), x);
}
INLINE V NAME(sd_floor)(V x) {
  V r = NAME(sd_rint)(x);
  return r - (V)((M)(r > x) & (M)B(1.0));
}
INLINE V NAME(sd_ceil)(V x) {
  V r = NAME(sd_rint)(x);
  return (V)((M)(r + (V)((M)(r < x) & (M)B(1.0))) | ((M)x & SIGN));
}
INLINE V NAME(sd_trunc)(V x) {
  V a = (V)((M)x & ~SIGN), r = NAME(sd_rint)(a);
  return (V)((M)(r - (V)((M)(r > a) & (M)B(1.0))) | ((M)x & SIGN));
}
INLINE V NAME(sd_sign)(V x) {
  M p = (M)(x > B(0.0)), n = (M)(x < B(0.0));
  return (V)((p & (M)B(1.0)) | (n & (M)B(-1.0)) | ((M)(x != x) & (M)x));
}
INLINE V NAME(sd_sqrt)(V x) {
#if defined __clang__ && __has_builtin(__builtin_elementwise_sqrt)
  return __builtin_elementwise_sqrt(x);
#elif defined __x86_64__ && defined __clang__ && SD_BITS == 512
  return (V)SD_KIND(__builtin_ia32_sqrtp, 512)(x, 4);
#elif defined __x86_64__ && SD_BITS == 512
  return (V)SD_KIND(__builtin_ia32_sqrtp, 512_mask)(x, x, -1, 4);
#elif defined __x86_64__ && SD_BITS == 256
  return (V)SD_KIND(__builtin_ia32_sqrtp, 256)(x);
#elif defined __x86_64__
  return (V)SD_KIND(__builtin_ia32_sqrtp, )(x);
#else
  for (int l = 0; l < W; l++) x[l] = __builtin_sqrt(x[l]);
  return x;
#endif
}
INLINE V NAME(sd_fma)(V a, V b, V c) {
#if defined __clang__ && __has_builtin(__builtin_elementwise_fma)
  return __builtin_elementwise_fma(a, b, c);
#elif defined __x86_64__ && SD_BITS == 512
  return (V)SD_KIND(__builtin_ia32_vfmaddp, 512_mask)(a, b, c, -1, 4);
#elif defined __x86_64__ && SD_BITS == 256
  return (V)SD_KIND(__builtin_ia32_vfmaddp, 256)(a, b, c);
#else
  for (int l = 0; l < W; l++) a[l] = sizeof(T) == 4 ? __builtin_fmaf(a[l], b[l], c[l]) : __builtin_fma(a[l], b[l], c[l]);
  return a;
#endif
}

/* The same for our own functions of whole vectors, which are called. */
#if !SD_SINGLE && W >= 4
#if defined __x86_64__ && !defined __clang__ && W == 8
INLINE V NAME(sd_least)(V a, V b) { return __builtin_ia32_minpd512_mask(a, b, a, -1, 4); }
INLINE V NAME(sd_most)(V a, V b) { return __builtin_ia32_maxpd512_mask(a, b, a, -1, 4); }
#elif defined __x86_64__ && !defined __clang__ && W == 4
INLINE V NAME(sd_least)(V a, V b) { return __builtin_ia32_minpd256(a, b); }
INLINE V NAME(sd_most)(V a, V b) { return __builtin_ia32_maxpd256(a, b); }
#else
INLINE V NAME(sd_least)(V a, V b) { return NAME(sd_where)((M)(a < b), a, b); }
INLINE V NAME(sd_most)(V a, V b) { return NAME(sd_where)((M)(a > b), a, b); }
#endif
#if defined __x86_64__ && W == 8
INLINE V NAME(sd_scale)(V p, V n) { return __builtin_ia32_scalefpd512_mask(p, n, p, -1, 4); }
#else
INLINE V NAME(sd_scale)(V p, V n) {
  M k = (M)(n + B(0x1.8p52)), h = k >> 1;
  return p * (V)((h << 52) + (M)B(1.0)) * (V)(((k - h) << 52) + (M)B(1.0));
}
#endif
EXPONENTIAL(static V NAME(sd_exp), V, B, NAME(sd_fma), NAME(sd_least), NAME(sd_most), NAME(sd_scale))
#endif

#define F_add(x, y) ((x) + (y))
#define F_subtract(x, y) ((x) - (y))
#define F_multiply(x, y) ((x) * (y))
#define F_divide(x, y) ((x) / (y))
#define F_minimum(x, y) NAME(sd_where)((M)(x <= y) | (M)(x != x), x, y)
#define F_maximum(x, y) NAME(sd_where)((M)(x >= y) | (M)(x != x), x, y)
#define F_copysign(x, y) ((V)(((M)x & ~SIGN) | ((M)y & SIGN)))
#define F_less(x, y) ((V)(M)(x < y))
#define F_less_equal(x, y) ((V)(M)(x <= y))
#define F_equal(x, y) ((V)(M)(x == y))
#define F_not_equal(x, y) ((V)(M)(x != y))
#define F_logical_and(x, y) ((V)((M)x & (M)y))
#define F_logical_or(x, y) ((V)((M)x | (M)y))
#define F_negative(x) (-(x))
#define F_abs(x) ((V)((M)x & ~SIGN))
#define F_sqrt(x) NAME(sd_sqrt)(x)
#define F_floor(x) NAME(sd_floor)(x)
#define F_ceil(x) NAME(sd_ceil)(x)
#define F_rint(x) NAME(sd_rint)(x)
#define F_trunc(x) NAME(sd_trunc)(x)
#define F_sign(x) NAME(sd_sign)(x)
#define F_logical_not(x) ((V) ~(M)x)
#define F_to_mask(x) ((V)(M)(x != B(0.0)))
#define F_to_real(x) ((V)((M)x & (M)B(1.0)))

/* ---- moves between rows and vectors: transposes of blocks, by shuffles of whole registers */

typedef T NAME(sd_number) __attribute__((may_alias));
typedef T NAME(sd_two) __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));
typedef T NAME(sd_four) __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
typedef T NAME(sd_row) __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));
#define LANE(p) (*(NAME(sd_number) *)(p))
#define ROW2(p, s, r) (*(NAME(sd_two) *)((p) + (r) * (s)))
#define ROW4(p, s, r) (*(NAME(sd_four) *)((p) + (r) * (s)))
#define ROWV(p, s, r) (*(U *)((p) + (r) * (s)))
#define AT2(p, s, r) LANE(p + (r) * s), LANE(p + (r + 1) * s)
#define AT4(p, s, r) AT2(p, s, r), AT2(p, s, r + 2)
#define AT8(p, s, r) AT4(p, s, r), AT4(p, s, r + 4)
#if W == 16
#define GATHER(p, s) ((V){AT8(p, s, 0), AT8(p, s, 8)})
#elif W == 8
#define GATHER(p, s) ((V){AT8(p, s, 0)})
#elif W == 4
#define GATHER(p, s) ((V){AT4(p, s, 0)})
#else
#define GATHER(p, s) ((V){AT2(p, s, 0)})
#endif
#if defined __clang__ || __GNUC__ >= 12
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (M){__VA_ARGS__})
#endif

#if !SD_SINGLE
#if defined __clang__ || __GNUC__ >= 12
#define JOIN2(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3)
#define JOIN4(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#define PART2(v, k) __builtin_shufflevector(v, v, 2 * (k), 2 * (k) + 1)
#define PART4(v, k) __builtin_shufflevector(v, v, 4 * (k), 4 * (k) + 1, 4 * (k) + 2, 4 * (k) + 3)
#else
#define JOIN2(a, b) ((NAME(sd_four)){(a)[0], (a)[1], (b)[0], (b)[1]})
#define JOIN4(a, b) ((V){(a)[0], (a)[1], (a)[2], (a)[3], (b)[0], (b)[1], (b)[2], (b)[3]})
#define PART2(v, k) ((NAME(sd_two)){(v)[2 * (k)], (v)[2 * (k) + 1]})
#define PART4(v, k) ((NAME(sd_four)){(v)[4 * (k)], (v)[4 * (k) + 1], (v)[4 * (k) + 2], (v)[4 * (k) + 3]})
#endif
#if W == 8
#define LOW(a, b) SHUFFLE(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define HIGH(a, b) SHUFFLE(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#define EVEN(a, b) SHUFFLE(a, b, 0, 1, 4, 5, 8, 9, 12, 13)
#define ODD(a, b) SHUFFLE(a, b, 2, 3, 6, 7, 10, 11, 14, 15)
#define LEFT(a, b) SHUFFLE(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define RIGHT(a, b) SHUFFLE(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#elif W == 4
#define LOW(a, b) SHUFFLE(a, b, 0, 4, 2, 6)
#define HIGH(a, b) SHUFFLE(a, b, 1, 5, 3, 7)
#define LEFT(a, b) SHUFFLE(a, b, 0, 1, 4, 5)
#define RIGHT(a, b) SHUFFLE(a, b, 2, 3, 6, 7)
#else
#define LOW(a, b) SHUFFLE(a, b, 0, 2)
#define HIGH(a, b) SHUFFLE(a, b, 1, 3)
#endif

/* W rows of 2, 4 or 8 elements, s bytes apart, to as many vectors at t. */
INLINE void NAME(sd_load2)(const char *p, long s, V *t) {
#if W == 8
  const V a = JOIN4(JOIN2(ROW2(p, s, 0), ROW2(p, s, 2)), JOIN2(ROW2(p, s, 4), ROW2(p, s, 6)));
  const V b = JOIN4(JOIN2(ROW2(p, s, 1), ROW2(p, s, 3)), JOIN2(ROW2(p, s, 5), ROW2(p, s, 7)));
#elif W == 4
  const V a = JOIN2(ROW2(p, s, 0), ROW2(p, s, 2)), b = JOIN2(ROW2(p, s, 1), ROW2(p, s, 3));
#else
  const V a = ROW2(p, s, 0), b = ROW2(p, s, 1);
#endif
  t[0] = LOW(a, b), t[1] = HIGH(a, b);
}
INLINE void NAME(sd_load4)(const char *p, long s, V *t) {
#if W == 2
  NAME(sd_load2)(p, s, t), NAME(sd_load2)(p + 16, s, t + 2);
#else
#if W == 8
  const V a = JOIN4(ROW4(p, s, 0), ROW4(p, s, 4)), b = JOIN4(ROW4(p, s, 1), ROW4(p, s, 5));
  const V c = JOIN4(ROW4(p, s, 2), ROW4(p, s, 6)), d = JOIN4(ROW4(p, s, 3), ROW4(p, s, 7));
#else
  const V a = ROWV(p, s, 0), b = ROWV(p, s, 1), c = ROWV(p, s, 2), d = ROWV(p, s, 3);
#endif
  const V e = LOW(a, b), f = HIGH(a, b), g = LOW(c, d), h = HIGH(c, d);
  t[0] = LEFT(e, g), t[1] = LEFT(f, h), t[2] = RIGHT(e, g), t[3] = RIGHT(f, h);
#endif
}
INLINE void NAME(sd_load8)(const char *p, long s, V *t) {
  /* halves of rows: whole ones seldom lie in one line of the cache */
  NAME(sd_load4)(p, s, t), NAME(sd_load4)(p + 32, s, t + 4);
}

/* And back: a block of vectors to rows. */
INLINE void NAME(sd_store2)(char *p, long s, V x, V y) {
  const V a = LOW(x, y), b = HIGH(x, y);
#if W == 2
  ROW2(p, s, 0) = a, ROW2(p, s, 1) = b;
#else
  ROW2(p, s, 0) = PART2(a, 0), ROW2(p, s, 1) = PART2(b, 0), ROW2(p, s, 2) = PART2(a, 1), ROW2(p, s, 3) = PART2(b, 1);
#if W == 8
  ROW2(p, s, 4) = PART2(a, 2), ROW2(p, s, 5) = PART2(b, 2), ROW2(p, s, 6) = PART2(a, 3), ROW2(p, s, 7) = PART2(b, 3);
#endif
#endif
}
INLINE void NAME(sd_store4)(char *p, long s, V x, V y, V z, V w) {
#if W == 2
  NAME(sd_store2)(p, s, x, y), NAME(sd_store2)(p + 16, s, z, w);
#else
  const V a = LOW(x, y), b = HIGH(x, y), c = LOW(z, w), d = HIGH(z, w);
  const V e = LEFT(a, c), f = LEFT(b, d), g = RIGHT(a, c), h = RIGHT(b, d);
#if W == 4
  ROWV(p, s, 0) = e, ROWV(p, s, 1) = f, ROWV(p, s, 2) = g, ROWV(p, s, 3) = h;
#else
  ROW4(p, s, 0) = PART4(e, 0), ROW4(p, s, 1) = PART4(f, 0), ROW4(p, s, 2) = PART4(g, 0), ROW4(p, s, 3) = PART4(h, 0);
  ROW4(p, s, 4) = PART4(e, 1), ROW4(p, s, 5) = PART4(f, 1), ROW4(p, s, 6) = PART4(g, 1), ROW4(p, s, 7) = PART4(h, 1);
#endif
#endif
}
INLINE void NAME(sd_store8)(char *p, long s, V a, V b, V c, V d, V e, V f, V g, V h) {
#if W == 8
  const V i = LOW(a, b), j = HIGH(a, b), k = LOW(c, d), l = HIGH(c, d);
  const V m = LOW(e, f), n = HIGH(e, f), o = LOW(g, h), q = HIGH(g, h);
  const V i0 = EVEN(i, k), i1 = EVEN(j, l), i2 = ODD(i, k), i3 = ODD(j, l);
  const V i4 = EVEN(m, o), i5 = EVEN(n, q), i6 = ODD(m, o), i7 = ODD(n, q);
  ROWV(p, s, 0) = EVEN(i0, i4), ROWV(p, s, 1) = EVEN(i1, i5), ROWV(p, s, 2) = EVEN(i2, i6);
  ROWV(p, s, 3) = EVEN(i3, i7), ROWV(p, s, 4) = ODD(i0, i4), ROWV(p, s, 5) = ODD(i1, i5);
  ROWV(p, s, 6) = ODD(i2, i6), ROWV(p, s, 7) = ODD(i3, i7);
#else
  NAME(sd_store4)(p, s, a, b, c, d), NAME(sd_store4)(p + 32, s, e, f, g, h);
#endif
}
#else
/* float32: vectors hold four neighbours of W / 4 rows in each 128 bits; turning transposes these. */
#define FOURS_LOW(k) k, W + k, k + 1, W + k + 1
#define FOURS_HIGH(k) k + 2, W + k + 2, k + 3, W + k + 3
#define FOURS_LEFT(k) k, k + 1, W + k, W + k + 1
#define FOURS_RIGHT(k) k + 2, k + 3, W + k + 2, W + k + 3
#define EVENS(k) 2 * (k), 2 * (k) + 2, 2 * (k) + 4, 2 * (k) + 6
#define ODDS(k) 2 * (k) + 1, 2 * (k) + 3, 2 * (k) + 5, 2 * (k) + 7
#define ZIP(k) (k) / 2, W + (k) / 2, (k) / 2 + 1, W + (k) / 2 + 1
#define ZIP_BACK(k) W / 2 + (k) / 2, W + W / 2 + (k) / 2, W / 2 + (k) / 2 + 1, W + W / 2 + (k) / 2 + 1
#define OF(v, k) (v)[k], (v)[k + 1], (v)[k + 2], (v)[k + 3]
#if W == 16
#define FOURS(f) f(0), f(4), f(8), f(12)
#define ROWS4(p, s, r) \
  ((V){OF(ROW2(p, s, r), 0), OF(ROW2(p, s, r + 4), 0), OF(ROW2(p, s, r + 8), 0), OF(ROW2(p, s, r + 12), 0)})
#elif W == 8
#define FOURS(f) f(0), f(4)
#define ROWS4(p, s, r) ((V){OF(ROW2(p, s, r), 0), OF(ROW2(p, s, r + 4), 0)})
#else
#define FOURS(f) f(0)
#define ROWS4(p, s, r) ((V)ROW2(p, s, r))
#endif
typedef double NAME(sd_pairs) __attribute__((vector_size(4 * W), may_alias));
typedef double NAME(sd_pair) __attribute__((aligned(4), may_alias));
#define PAIR(p, s, r) (*(NAME(sd_pair) *)((p) + (r) * (s)))

INLINE void NAME(sd_turn)(V a, V b, V c, V d, V *t) {
  const V e = SHUFFLE(a, b, FOURS(FOURS_LOW)), f = SHUFFLE(c, d, FOURS(FOURS_LOW));
  const V g = SHUFFLE(a, b, FOURS(FOURS_HIGH)), h = SHUFFLE(c, d, FOURS(FOURS_HIGH));
  t[0] = SHUFFLE(e, f, FOURS(FOURS_LEFT)), t[1] = SHUFFLE(e, f, FOURS(FOURS_RIGHT));
  t[2] = SHUFFLE(g, h, FOURS(FOURS_LEFT)), t[3] = SHUFFLE(g, h, FOURS(FOURS_RIGHT));
}
INLINE void NAME(sd_load2)(const char *p, long s, V *t) {
  NAME(sd_pairs) a, b;
#pragma GCC unroll 16
  for (int r = 0; r < W / 2; r++) a[r] = PAIR(p, s, r), b[r] = PAIR(p, s, W / 2 + r);
  t[0] = SHUFFLE((V)a, (V)b, FOURS(EVENS)), t[1] = SHUFFLE((V)a, (V)b, FOURS(ODDS));
}
INLINE void NAME(sd_load4)(const char *p, long s, V *t) {
  NAME(sd_turn)(ROWS4(p, s, 0), ROWS4(p, s, 1), ROWS4(p, s, 2), ROWS4(p, s, 3), t);
}
INLINE void NAME(sd_load8)(const char *p, long s, V *t) {
  NAME(sd_load4)(p, s, t), NAME(sd_load4)(p + 16, s, t + 4);
}
INLINE void NAME(sd_store2)(char *p, long s, V x, V y) {
  const NAME(sd_pairs) a = (NAME(sd_pairs))SHUFFLE(x, y, FOURS(ZIP)), b = (NAME(sd_pairs))SHUFFLE(x, y, FOURS(ZIP_BACK));
#pragma GCC unroll 16
  for (int r = 0; r < W / 2; r++) PAIR(p, s, r) = a[r], PAIR(p, s, W / 2 + r) = b[r];
}
INLINE void NAME(sd_store4)(char *p, long s, V x, V y, V z, V w) {
  V t[4];
  NAME(sd_turn)(x, y, z, w, t);
#pragma GCC unroll 4
  for (int k = 0; k < 4; k++)
#pragma GCC unroll 4
    for (int r = 0; r < W; r += 4) ROW2(p, s, r + k) = (NAME(sd_two)){OF(t[k], r)};
}
INLINE void NAME(sd_store8)(char *p, long s, V a, V b, V c, V d, V e, V f, V g, V h) {
  NAME(sd_store4)(p, s, a, b, c, d), NAME(sd_store4)(p + 16, s, e, f, g, h);
}
#undef FOURS_LOW
#undef FOURS_HIGH
#undef FOURS_LEFT
#undef FOURS_RIGHT
#undef EVENS
#undef ODDS
#undef ZIP
#undef ZIP_BACK
#undef OF
#undef FOURS
#undef ROWS4
#undef PAIR
#endif
INLINE void NAME(sd_store1)(char *p, long s, V x) {
#pragma GCC unroll 16
  for (int r = 0; r < W; r++) LANE(p + r * s) = x[r];
}

/* Rows of two or three elements without gaps: whole vectors of memory, taken apart and put together
   in two steps of two operands each. Number k of memory is element k % n of row k / n. */
#if W == 16
#define LANES_(f, n, j) \
  f(0, n, j), f(1, n, j), f(2, n, j), f(3, n, j), f(4, n, j), f(5, n, j), f(6, n, j), f(7, n, j), f(8, n, j), \
      f(9, n, j), f(10, n, j), f(11, n, j), f(12, n, j), f(13, n, j), f(14, n, j), f(15, n, j)
#elif W == 8
#define LANES_(f, n, j) \
  f(0, n, j), f(1, n, j), f(2, n, j), f(3, n, j), f(4, n, j), f(5, n, j), f(6, n, j), f(7, n, j)
#elif W == 4
#define LANES_(f, n, j) f(0, n, j), f(1, n, j), f(2, n, j), f(3, n, j)
#else
#define LANES_(f, n, j) f(0, n, j), f(1, n, j)
#endif
#define OUT_OF(r, n, j) ((n) * (r) + (j))
#define OUT_OF_TWO(r, n, j) ((n) * (r) + (j) < 2 * W ? (n) * (r) + (j) : 0)
#define OUT_OF_LAST(r, n, j) ((n) * (r) + (j) < 2 * W ? (r) : (n) * (r) + (j) - W)
#define INTO(l, n, q) (((q) * W + (l)) % (n) * W + ((q) * W + (l)) / (n))
#define INTO_TWO(l, n, q) (((q) * W + (l)) % (n) < 2 ? ((q) * W + (l)) % (n) * W + ((q) * W + (l)) / (n) : 0)
#define INTO_LAST(l, n, q) (((q) * W + (l)) % (n) < 2 ? (l) : W + ((q) * W + (l)) / (n))
INLINE void NAME(sd_load_dense2)(const char *p, V *t) {
  const V a = ROWV(p, (long)sizeof(V), 0), b = ROWV(p, (long)sizeof(V), 1);
  t[0] = SHUFFLE(a, b, LANES_(OUT_OF, 2, 0)), t[1] = SHUFFLE(a, b, LANES_(OUT_OF, 2, 1));
}
INLINE void NAME(sd_store_dense2)(char *p, V x, V y) {
  ROWV(p, (long)sizeof(V), 0) = SHUFFLE(x, y, LANES_(INTO, 2, 0));
  ROWV(p, (long)sizeof(V), 1) = SHUFFLE(x, y, LANES_(INTO, 2, 1));
}
INLINE void NAME(sd_load_dense3)(const char *p, V *t) {
  const V a = ROWV(p, (long)sizeof(V), 0), b = ROWV(p, (long)sizeof(V), 1), c = ROWV(p, (long)sizeof(V), 2);
  const V x = SHUFFLE(a, b, LANES_(OUT_OF_TWO, 3, 0)), y = SHUFFLE(a, b, LANES_(OUT_OF_TWO, 3, 1));
  const V z = SHUFFLE(a, b, LANES_(OUT_OF_TWO, 3, 2));
  t[0] = SHUFFLE(x, c, LANES_(OUT_OF_LAST, 3, 0)), t[1] = SHUFFLE(y, c, LANES_(OUT_OF_LAST, 3, 1));
  t[2] = SHUFFLE(z, c, LANES_(OUT_OF_LAST, 3, 2));
}
INLINE void NAME(sd_store_dense3)(char *p, V x, V y, V z) {
  const V a = SHUFFLE(x, y, LANES_(INTO_TWO, 3, 0)), b = SHUFFLE(x, y, LANES_(INTO_TWO, 3, 1));
  const V c = SHUFFLE(x, y, LANES_(INTO_TWO, 3, 2));
  ROWV(p, (long)sizeof(V), 0) = SHUFFLE(a, z, LANES_(INTO_LAST, 3, 0));
  ROWV(p, (long)sizeof(V), 1) = SHUFFLE(b, z, LANES_(INTO_LAST, 3, 1));
  ROWV(p, (long)sizeof(V), 2) = SHUFFLE(c, z, LANES_(INTO_LAST, 3, 2));
}
#undef LANES_

#define AT(operand) ((char *)((operand) < 0 ? consts : w) + (operand))
#define VECTOR(p, g) (((const V *)(p))[g])

/* The first sample of the tile that has a checked value of zero, or -1. */
static __attribute__((noinline)) long NAME(sd_failed)(const sd_bytecode *b, char *w, long groups, long *which) {
  const char *consts = b->consts;
  for (long g = 0; g < groups; g++) {
    M bad = (M){0};
    long long any = 0;
    for (long k = 0; k < b->checked; k++) bad |= (M)(VECTOR(AT(b->checks[k]), g) == B(0.0));
    for (int l = 0; l < W; l++) any |= bad[l];
    for (int l = 0; any && l < W; l++)
      for (long k = 0; k < b->checked; k++)
        if (VECTOR(AT(b->checks[k]), g)[l] == 0) {
          *which = k;
          return g * W + l;
        }
  }
  return -1;
}

/* ---- the machine */

/* Eight times the same, for the registers of the accumulator and the vectors of operands. */
#define EIGHT(X, ...)                                                                              \
  X(0, __VA_ARGS__) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__) X(4, __VA_ARGS__)        \
  X(5, __VA_ARGS__) X(6, __VA_ARGS__) X(7, __VA_ARGS__)
#define NEXT goto *table[*ip]
/* What reads operands from the code, and the operands by their names in interpreter.h. */
#define NONE ip += 1
#define ONE p = AT(ip[1]), ip += 2
#define TWO p = AT(ip[1]), q = AT(ip[2]), ip += 3
#define THREE p = AT(ip[1]), q = AT(ip[2]), r = AT(ip[3]), ip += 4
#define NUMBER_AT(k) const V number = VECTOR(consts + ip[k], 0)
#define NUMBER NUMBER_AT(1); ip += 2
#define ONE_NUMBER NUMBER_AT(2); p = AT(ip[1]), ip += 3
#define TWO_NUMBER NUMBER_AT(3); p = AT(ip[1]), q = AT(ip[2]), ip += 4
#define NUMBER_ONE NUMBER_AT(1); p = AT(ip[2]), ip += 3
#define OF_A(k) a##k
#define OF_B(k) b##k
#define OF_C(k) c##k
#define OF_K(k) number
#define OF_P(k) VECTOR(p, k)
#define OF_Q(k) VECTOR(q, k)
#define OF_R(k) VECTOR(r, k)

#define MOVE_TO(k, to, from) to(k) = from(k);
#define SAVE(k, to) ((V *)to)[k] = a##k;
#define SAVE_ROW(k, to) ROWV(to, (long)sizeof(V), k) = a##k;
#define SAVE_FIRST(k, to) if (k < groups) ROWV(to, (long)sizeof(V), k) = a##k;
#define ADD_FIRST(k, to) if (k < groups) to[k & 1] += a##k;
#define DO_UNARY(k, f, x) { const V x_ = x(k); a##k = f(x_); }
#define DO_BINARY(k, f, x, y) { const V x_ = x(k), y_ = y(k); a##k = f(x_, y_); }
#define DO_OUTER(k, f, g, x, y) { const V x_ = x(k), y_ = y(k), z_ = g(x_, y_); a##k = f(a##k, z_); }
#define DO_LATER(k, f, g, x, y) { const V x_ = x(k), y_ = y(k), z_ = g(x_, y_); a##k = f(z_, a##k); }
#define WHERE(k, m, x, y) a##k = NAME(sd_where)((M)m(k), x(k), y(k));
#define FMA(k, x, y, z) a##k = NAME(sd_fma)(x(k), y(k), z(k));
#define CODE(name)
#define CODE_UNARY(name, form, x, read) \
  do_##name##_##form : { read; EIGHT(DO_UNARY, F_##name, OF_##x) } NEXT;
#define CODE_BINARY(name, form, x, y, read) \
  do_##name##_##form : { read; EIGHT(DO_BINARY, F_##name, OF_##x, OF_##y) } NEXT;
#define CODE_OUTER(name, inner, form, x, y, read) \
  do_##name##_##inner##_a##form : { read; EIGHT(DO_OUTER, F_##name, F_##inner, OF_##x, OF_##y) } NEXT;
#define CODE_LATER(name, inner, form, x, y, read) \
  do_##name##_##inner##_##form##a : { read; EIGHT(DO_LATER, F_##name, F_##inner, OF_##x, OF_##y) } NEXT;
/* Give up what is in registers, so that the compiler need not keep it over a call or a loop. */
#define ZERO(k, to) to(k) = B(0.0);
#if SD_REGISTERS
#define FORGET EIGHT(ZERO, OF_A) EIGHT(ZERO, OF_B) EIGHT(ZERO, OF_C)
#else
#define FORGET EIGHT(ZERO, OF_A)
#endif


static long NAME(sd_interpret)(long begin, long end, const char *const *in, const long *si, char *const *out,
                               const long *so, void *work, void *const *fn, long *which) {
  static const void *const labels[] = {
      SD_EACH_ROW(SD_INSTRUCTIONS, SD_LABEL)
#if SD_REGISTERS
      SD_EACH_ROW(SD_REGISTER_INSTRUCTIONS, SD_LABEL)
#endif
  };
  const sd_bytecode *code = fn[0];
  /* in a register, and not an address that every instruction makes anew: a tenth of the time of long programs */
  const void *const *table = labels;
  __asm__("" : "+r"(table));
  const char *consts = code->consts;
  char *w = work;
  for (long first = begin; first < end; first += SD_VECTORS * W) {
    const long left = (end - first) / W, groups = left < SD_VECTORS ? left : SD_VECTORS;
    const int32_t *ip = code->code;
    const char *p, *q, *r;
    V a0, a1, a2, a3, a4, a5, a6, a7;
#if SD_REGISTERS
    V b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5, c6, c7;
#endif
    FORGET
    NEXT;

    SD_EACH_ROW(SD_INSTRUCTIONS, CODE)
#if SD_REGISTERS
    SD_EACH_ROW(SD_REGISTER_INSTRUCTIONS, CODE)
  do_put_b:
    ip += 1;
    EIGHT(MOVE_TO, OF_B, OF_A)
    NEXT;
  do_put_c:
    ip += 1;
    EIGHT(MOVE_TO, OF_C, OF_A)
    NEXT;
  do_load_b:
    ONE;
    EIGHT(MOVE_TO, OF_B, OF_P)
    NEXT;
  do_load_c:
    ONE;
    EIGHT(MOVE_TO, OF_C, OF_P)
    NEXT;
#endif
  do_load:
    ONE;
    EIGHT(MOVE_TO, OF_A, OF_P)
    NEXT;
  do_save: {
    char *to = w + ip[1];
    ip += 2;
    EIGHT(SAVE, to)
    NEXT;
  }

  do_where_amm:
    TWO;
    EIGHT(WHERE, OF_A, OF_P, OF_Q)
    NEXT;
  do_where_mam:
    TWO;
    EIGHT(WHERE, OF_P, OF_A, OF_Q)
    NEXT;
  do_where_mma:
    TWO;
    EIGHT(WHERE, OF_P, OF_Q, OF_A)
    NEXT;
  do_where_mmm:
    THREE;
    EIGHT(WHERE, OF_P, OF_Q, OF_R)
    NEXT;
  do_fma_amm:
    TWO;
    EIGHT(FMA, OF_A, OF_P, OF_Q)
    NEXT;
  do_fma_mma:
    TWO;
    EIGHT(FMA, OF_P, OF_Q, OF_A)
    NEXT;
  do_fma_mmm:
    THREE;
    EIGHT(FMA, OF_P, OF_Q, OF_R)
    NEXT;
  do_fma_amk: {
    ONE_NUMBER;
    EIGHT(FMA, OF_A, OF_P, OF_K)
    NEXT;
  }
  do_fma_mmk: {
    TWO_NUMBER;
    EIGHT(FMA, OF_P, OF_Q, OF_K)
    NEXT;
  }

  /* Calls go from memory to memory: registers do not survive them. Only samples that exist are
     computed, because the time is spent here. */
  do_call1: {
    V (*const f)(V) = (V(*)(V))code->functions[ip[1]];
    V *to = (V *)(w + ip[2]);
    p = AT(ip[3]), ip += 4;
    FORGET
    for (long g = 0; g < groups; g++) to[g] = f(VECTOR(p, g));
    p = (const char *)to;
    EIGHT(MOVE_TO, OF_A, OF_P)
    NEXT;
  }
  do_call2: {
    V (*const f)(V, V) = (V(*)(V, V))code->functions[ip[1]];
    V *to = (V *)(w + ip[2]);
    p = AT(ip[3]), q = AT(ip[4]), ip += 5;
    FORGET
    for (long g = 0; g < groups; g++) to[g] = f(VECTOR(p, g), VECTOR(q, g));
    p = (const char *)to;
    EIGHT(MOVE_TO, OF_A, OF_P)
    NEXT;
  }
  do_lanes1: {
    double (*const f)(double) = (double (*)(double))code->functions[ip[1]];
    char *to = w + ip[2];
    p = AT(ip[3]), ip += 4;
    FORGET
    for (long l = 0; l < groups * W; l++) LANE(to + sizeof(T) * l) = f(LANE(p + sizeof(T) * l));
    p = to;
    EIGHT(MOVE_TO, OF_A, OF_P)
    NEXT;
  }
  do_lanes2: {
    double (*const f)(double, double) = (double (*)(double, double))code->functions[ip[1]];
    char *to = w + ip[2];
    p = AT(ip[3]), q = AT(ip[4]), ip += 5;
    FORGET
    for (long l = 0; l < groups * W; l++)
      LANE(to + sizeof(T) * l) = f(LANE(p + sizeof(T) * l), LANE(q + sizeof(T) * l));
    p = to;
    EIGHT(MOVE_TO, OF_A, OF_P)
    NEXT;
  }

    /* Inputs go to memory. What is in registers is lost, but for columns. */
#define ROWS(width) \
  const long s = si[ip[1]]; \
  const char *from = in[ip[1]] + first * s + ip[2]; \
  const int32_t *const to = ip + 3; \
  V t[width]; \
  FORGET \
  ip += 3 + width; \
  for (long g = 0; g < groups; g++, from += W * s)
#define TO(e) ((V *)(w + to[e]))[g] = t[e]
  do_rows8: {
    ROWS(8) {
      NAME(sd_load8)(from, s, t);
      TO(0), TO(1), TO(2), TO(3), TO(4), TO(5), TO(6), TO(7);
    }
    NEXT;
  }
  do_rows4: {
    ROWS(4) {
      NAME(sd_load4)(from, s, t);
      TO(0), TO(1), TO(2), TO(3);
    }
    NEXT;
  }
  do_rows3: {
    ROWS(3) {
      if (s == 3 * (long)sizeof(T))
        NAME(sd_load_dense3)(from, t);
      else
        NAME(sd_load2)(from, s, t), t[2] = GATHER((from + 2 * sizeof(T)), s);
      TO(0), TO(1), TO(2);
    }
    NEXT;
  }
  do_rows2: {
    ROWS(2) {
      if (s == 2 * (long)sizeof(T))
        NAME(sd_load_dense2)(from, t);
      else
        NAME(sd_load2)(from, s, t);
      TO(0), TO(1);
    }
    NEXT;
  }
  do_rows1: {
    ROWS(1) {
      t[0] = s == sizeof(T) ? (V)ROWV(from, s, 0) : GATHER(from, s);
      TO(0);
    }
    NEXT;
  }
  do_column: {
    const char *from = in[ip[1]] + ip[2] * si[ip[1]] + first * (long)sizeof(T);
    V *to = (V *)(w + ip[3]);
    ip += 4;
    for (long g = 0; g < groups; g++) to[g] = ROWV(from, (long)sizeof(V), g);
    NEXT;
  }
  do_shared: {
    const V same = B(LANE(in[ip[1]] + ip[2]));
    V *to = (V *)(w + ip[3]);
    for (long g = 0; g < groups; g++) to[g] = same;
    ip += 4;
    NEXT;
  }

    /* Outputs, from memory or from the accumulator. */
  do_columns: {
    const int32_t *const stop = ip + 2 + 3 * ip[1];
    FORGET
    for (ip += 2; ip < stop; ip += 3) {
      char *to = out[ip[0]] + ip[1] * so[ip[0]] + first * (long)sizeof(T);
      p = AT(ip[2]);
      for (long g = 0; g < groups; g++) ROWV(to, (long)sizeof(V), g) = VECTOR(p, g);
    }
    NEXT;
  }
  /* Blocks, all of one row after another: a block's width, port and place in the row, and its operands; or
     0 for one row of eight numbers, how often and which. */
  do_stores: {
    const int32_t count = ip[1], *const begin = ip + 2;
    FORGET
    for (long g = 0; g < groups; g++) {
      ip = begin;
      for (int32_t block = 0; block < count; block++) {
        const int32_t width = ip[0];
        const long s = so[ip[1]];
        char *to = out[ip[1]] + (first + g * W) * s + ip[2];
        ip += 3;
#define FROM(e) VECTOR(AT(ip[e]), g)
        switch (width) {
          case 8:
            NAME(sd_store8)(to, s, FROM(0), FROM(1), FROM(2), FROM(3), FROM(4), FROM(5), FROM(6), FROM(7));
            break;
          case 4:
            NAME(sd_store4)(to, s, FROM(0), FROM(1), FROM(2), FROM(3));
            break;
          case 3:
            if (s == 3 * (long)sizeof(T))
              NAME(sd_store_dense3)(to, FROM(0), FROM(1), FROM(2));
            else
              NAME(sd_store2)(to, s, FROM(0), FROM(1)), NAME(sd_store1)(to + 2 * sizeof(T), s, FROM(2));
            break;
          case 2:
            if (s == 2 * (long)sizeof(T))
              NAME(sd_store_dense2)(to, FROM(0), FROM(1));
            else
              NAME(sd_store2)(to, s, FROM(0), FROM(1));
            break;
          case 1:
            if (s == sizeof(T))
              ROWV(to, s, 0) = FROM(0);
            else
              NAME(sd_store1)(to, s, FROM(0));
            break;
          default: {
            const NAME(sd_row) row = *(const NAME(sd_row) *)(code->rows + 8 * sizeof(T) * ip[1]);
            const long length = 8 * sizeof(T) * ip[0];
            for (int k = 0; k < W; k++, to += s)
              for (char *at = to; at < to + length; at += sizeof row) *(NAME(sd_row) *)at = row;
            ip += 2;
          }
        }
        ip += width;
      }
    }
    NEXT;
  }
  do_to_column: {
    char *to = out[ip[1]] + ip[2] * so[ip[1]] + first * (long)sizeof(T);
    ip += 3;
    if (groups == SD_VECTORS) {
      EIGHT(SAVE_ROW, to)
    } else {
      EIGHT(SAVE_FIRST, to)
    }
    NEXT;
  }
  do_to_number: {
    const long s = so[ip[1]];
    char *to = out[ip[1]] + first * s;
    ip += 2;
    if (s == sizeof(T)) {
      EIGHT(SAVE_FIRST, to)
    } else {
      V tile[SD_VECTORS];
      EIGHT(SAVE, tile)
      for (long l = 0; l < groups * W; l++) LANE(to + l * s) = LANE((char *)tile + l * (long)sizeof(T));
    }
    NEXT;
  }
  /* Sums: as generated code does it, each lane by itself, vectors to the one and the other sum in turns. */
  do_to_sum: {
    V *sum = (V *)out[0] + 2 * ip[1], s[2] = {sum[0], sum[1]};
    ip += 2;
    EIGHT(ADD_FIRST, s)
    sum[0] = s[0], sum[1] = s[1];
    NEXT;
  }
  do_sums: {
    V *sum = (V *)out[0] + 2 * ip[1];
    const int32_t count = ip[2];
    ip += 3;
    for (int32_t e = 0; e < count; e++, ip++)
      for (long g = 0; g < groups; g++) sum[2 * e + (g & 1)] += VECTOR(AT(*ip), g);
    NEXT;
  }

    /* Ask for SD_LINES lines of what is read or written SD_AHEAD tiles later. The processor's own prefetchers
       lose streams that are read a tile at a time; a tile at a time is more than it can ask for, too. */
#define ASK(k, at, step) __builtin_prefetch((at) + (k) * (step), 0, 2);
  do_ask_rows: {
    const long s = ip[1] < 0 ? so[~ip[1]] : si[ip[1]], step = s < SD_LINE ? SD_LINE : s;
    p = (ip[1] < 0 ? out[~ip[1]] : in[ip[1]]) + (first + SD_AHEAD * SD_VECTORS * W) * s + ip[2] + ip[3] * step;
    ip += 4;
    if (left > SD_AHEAD * SD_VECTORS && s <= SD_FAR) {
      EIGHT(ASK, p, step)
      p += 8 * step;
      EIGHT(ASK, p, step)
    }
    NEXT;
  }
  do_ask_column: {
    p = (ip[1] < 0 ? out[~ip[1]] + ip[2] * so[~ip[1]] : in[ip[1]] + ip[2] * si[ip[1]]) +
        (first + SD_AHEAD * SD_VECTORS * W) * (long)sizeof(T);
    ip += 3;
    if (left > SD_AHEAD * SD_VECTORS) { EIGHT(ASK, p, (long)sizeof(V)) }
    NEXT;
  }
  do_end:
    if (code->checked) {
      const long failed = NAME(sd_failed)(code, w, groups, which);
      if (failed >= 0) return first + failed;
    }
  }
  return -1;
}

#undef NAME
#undef T
#undef SD_INTEGER
#undef SD_BITS
#undef SD_KIND
#undef V
#undef U
#undef M
#undef INLINE
#undef ALL
#undef B
#undef SIGN
#undef SHUFFLE
#undef LOW
#undef HIGH
#undef EVEN
#undef ODD
#undef LEFT
#undef RIGHT
#undef GATHER
#undef AT2
#undef AT4
#undef AT8
#undef JOIN2
#undef JOIN4
#undef PART2
#undef PART4
#undef ROW2
#undef ROW4
#undef ROWV
#undef LANE
#undef AT
#undef VECTOR
#undef FORGET
