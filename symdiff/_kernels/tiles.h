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
#if defined __x86_64__ && !defined __clang__ && SD_BITS == 512
  return (V)SD_KIND(__builtin_ia32_vfmaddp, 512_mask)(a, b, c, -1, 4);
#elif defined __x86_64__ && !defined __clang__ && SD_BITS == 256
  return (V)SD_KIND(__builtin_ia32_vfmaddp, 256)(a, b, c);
#else
  for (int l = 0; l < W; l++) a[l] = sizeof(T) == 4 ? __builtin_fmaf(a[l], b[l], c[l]) : __builtin_fma(a[l], b[l], c[l]);
  return a;
#endif
}

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
#define NUMBER(p) (*(NAME(sd_number) *)(p))
#define ROW2(p, s, r) (*(NAME(sd_two) *)((p) + (r) * (s)))
#define ROW4(p, s, r) (*(NAME(sd_four) *)((p) + (r) * (s)))
#define ROWV(p, s, r) (*(U *)((p) + (r) * (s)))
#define AT2(p, s, r) NUMBER(p + (r) * s), NUMBER(p + (r + 1) * s)
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
#if W == 8
  const V a = ROWV(p, s, 0), b = ROWV(p, s, 1), c = ROWV(p, s, 2), d = ROWV(p, s, 3);
  const V e = ROWV(p, s, 4), f = ROWV(p, s, 5), g = ROWV(p, s, 6), h = ROWV(p, s, 7);
  const V i = LOW(a, b), j = HIGH(a, b), k = LOW(c, d), l = HIGH(c, d);
  const V m = LOW(e, f), n = HIGH(e, f), o = LOW(g, h), q = HIGH(g, h);
  const V i0 = EVEN(i, k), i1 = EVEN(j, l), i2 = ODD(i, k), i3 = ODD(j, l);
  const V i4 = EVEN(m, o), i5 = EVEN(n, q), i6 = ODD(m, o), i7 = ODD(n, q);
  t[0] = EVEN(i0, i4), t[1] = EVEN(i1, i5), t[2] = EVEN(i2, i6), t[3] = EVEN(i3, i7);
  t[4] = ODD(i0, i4), t[5] = ODD(i1, i5), t[6] = ODD(i2, i6), t[7] = ODD(i3, i7);
#else
  NAME(sd_load4)(p, s, t), NAME(sd_load4)(p + 32, s, t + 4);
#endif
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
  for (int r = 0; r < W; r++) NUMBER(p + r * s) = x[r];
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

/* Ask for what will be moved two tiles later, while this one is moved: the processor's own prefetchers
   lose a stream that is read a tile at a time. Into the second cache, since what is computed with
   fills the first. */
#define FETCH(at) __builtin_prefetch((at) + ahead, 0, 2)
#define LATER(step) (left > 2 * SD_VECTORS && (step) <= SD_FAR ? 2 * SD_VECTORS * W * (step) : 0)
INLINE void NAME(sd_fetch_rows)(const char *p, long s, long ahead) {
#pragma GCC unroll 16
  for (int r = 0; r < W; r++) FETCH(p + r * s);
}
INLINE void NAME(sd_fetch_vectors)(const char *p, int n, long ahead) {
#pragma GCC unroll 16
  for (int k = 0; k < n; k++) FETCH(p + k * (long)sizeof(V));
}

#define AT(operand) ((char *)((operand) < 0 ? consts : w) + (operand))
#define VECTOR(p, g) (((const V *)(p))[g])

/* Load a block of width columns of each row into the tiles that ip tells. */
static __attribute__((noinline)) void NAME(sd_load_rows)(const char *p, long s, long ahead, int width, long groups,
                                                         char *w, const int32_t *ip) {
  V t[8];
#define TO(e) ((V *)(w + ip[e]))[g] = t[e]
#define ROWS for (long g = 0; g < groups; g++, p += W * s) 
  switch (width) {
    case 8:
      ROWS {
        NAME(sd_fetch_rows)(p, s, ahead);
        NAME(sd_load8)(p, s, t);
        TO(0), TO(1), TO(2), TO(3), TO(4), TO(5), TO(6), TO(7);
      }
      break;
    case 4:
      ROWS {
        NAME(sd_fetch_rows)(p, s, ahead);
        NAME(sd_load4)(p, s, t);
        TO(0), TO(1), TO(2), TO(3);
      }
      break;
    case 3:
      if (s == 3 * (long)sizeof(T))
        ROWS {
          NAME(sd_fetch_vectors)(p, 3, ahead);
          NAME(sd_load_dense3)(p, t);
          TO(0), TO(1), TO(2);
        }
      else
        ROWS {
          NAME(sd_load2)(p, s, t);
          t[2] = GATHER((p + 2 * sizeof(T)), s);
          TO(0), TO(1), TO(2);
        }
      break;
    case 2:
      if (s == 2 * (long)sizeof(T))
        ROWS {
          NAME(sd_fetch_vectors)(p, 2, ahead);
          NAME(sd_load_dense2)(p, t);
          TO(0), TO(1);
        }
      else
        ROWS {
          NAME(sd_load2)(p, s, t);
          TO(0), TO(1);
        }
      break;
    default:
      if (s == sizeof(T))
        ROWS {
          FETCH(p);
          ((V *)(w + ip[0]))[g] = ROWV(p, s, 0);
        }
      else
        ROWS((V *)(w + ip[0]))[g] = GATHER(p, s);
  }
#undef TO
#undef ROWS
}

/* Store blocks, all of one row after another: a block's width, port and place in the row, and its
   operands; or 0 for one row of eight numbers, how often and which. */
static __attribute__((noinline)) const int32_t *NAME(sd_store_rows)(const sd_bytecode *b, long first, long left,
                                                                    char *const *out, const long *so, char *w,
                                                                    const int32_t *begin) {
  const long groups = left < SD_VECTORS ? left : SD_VECTORS;
  const int32_t count = *begin++, *ip = begin;
  const char *consts = b->consts;
#define OF(e) VECTOR(AT(ip[e]), g)
  for (long g = 0; g < groups; g++) {
    ip = begin;
    for (int32_t block = 0; block < count; block++) {
      const int32_t width = ip[0];
      const long s = so[ip[1]], ahead = LATER(s);
      char *p = out[ip[1]] + (first + g * W) * s + ip[2];
      ip += 3;
      switch (width) {
        case 8:
          NAME(sd_fetch_rows)(p, s, ahead);
          NAME(sd_store8)(p, s, OF(0), OF(1), OF(2), OF(3), OF(4), OF(5), OF(6), OF(7));
          break;
        case 4:
          NAME(sd_fetch_rows)(p, s, ahead);
          NAME(sd_store4)(p, s, OF(0), OF(1), OF(2), OF(3));
          break;
        case 3:
          if (s == 3 * (long)sizeof(T)) {
            NAME(sd_fetch_vectors)(p, 3, ahead);
            NAME(sd_store_dense3)(p, OF(0), OF(1), OF(2));
          } else {
            NAME(sd_store2)(p, s, OF(0), OF(1));
            NAME(sd_store1)(p + 2 * sizeof(T), s, OF(2));
          }
          break;
        case 2:
          if (s == 2 * (long)sizeof(T)) {
            NAME(sd_fetch_vectors)(p, 2, ahead);
            NAME(sd_store_dense2)(p, OF(0), OF(1));
          } else
            NAME(sd_store2)(p, s, OF(0), OF(1));
          break;
        case 1:
          if (s == sizeof(T)) {
            FETCH(p);
            ROWV(p, s, 0) = OF(0);
          } else
            NAME(sd_store1)(p, s, OF(0));
          break;
        default: {
          const NAME(sd_row) row = *(const NAME(sd_row) *)(b->rows + 8 * sizeof(T) * ip[1]);
          const long length = 8 * sizeof(T) * ip[0];
          for (int r = 0; r < W; r++, p += s)
            for (char *to = p; to < p + length; to += sizeof row) *(NAME(sd_row) *)to = row;
          ip += 2;
        }
      }
      ip += width;
    }
  }
#undef OF
  return ip;
}

/* Store values as columns: port, element and operand of each. */
static __attribute__((noinline)) const int32_t *NAME(sd_store_columns)(const sd_bytecode *b, long first, long left,
                                                                       char *const *out, const long *so, char *w,
                                                                       const int32_t *ip) {
  const long groups = left < SD_VECTORS ? left : SD_VECTORS, ahead = LATER((long)sizeof(T));
  const char *consts = b->consts;
  const int32_t *const end = ip + 1 + 3 * *ip;
  for (ip++; ip < end; ip += 3) {
    char *to = out[ip[0]] + ip[1] * so[ip[0]] + first * (long)sizeof(T);
    const V *from = (const V *)AT(ip[2]);
    for (long g = 0; g < groups; g++, to += sizeof(V)) {
      FETCH(to);
      ROWV(to, 0, 0) = from[g];
    }
  }
  return ip;
}

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
#define NEXT goto *labels[*ip]
#define ONE p = AT(ip[1]), ip += 2
#define TWO p = AT(ip[1]), q = AT(ip[2]), ip += 3
#define THREE p = AT(ip[1]), q = AT(ip[2]), r = AT(ip[3]), ip += 4
#define P(k) VECTOR(p, k)
#define Q(k) VECTOR(q, k)
#define R(k) VECTOR(r, k)
#define LOAD(k, from) a##k = from(k);
#define SAVE(k, to) ((V *)to)[k] = a##k;
#define UNARY_A(k, f) a##k = f(a##k);
#define UNARY_M(k, f) { const V x = P(k); a##k = f(x); }
#define BINARY_AM(k, f) { const V y = P(k); a##k = f(a##k, y); }
#define BINARY_MA(k, f) { const V x = P(k); a##k = f(x, a##k); }
#define BINARY_MM(k, f) { const V x = P(k), y = Q(k); a##k = f(x, y); }
#define BINARY_AA(k, f) a##k = f(a##k, a##k);
#define PAIR_AM(k, f, g) { const V x = P(k), y = Q(k), z = g(x, y); a##k = f(a##k, z); }
#define PAIR_MA(k, f, g) { const V x = P(k), y = Q(k), z = g(x, y); a##k = f(z, a##k); }
#define WHERE(k, m, x, y) a##k = NAME(sd_where)((M)m(k), x(k), y(k));
#define FMA(k, x, y, z) a##k = NAME(sd_fma)(x(k), y(k), z(k));
#define UNARY(name)                               \
  do_##name##_a : ip += 1;                        \
  EIGHT(UNARY_A, F_##name)                        \
  NEXT;                                           \
  do_##name##_m : ONE;                            \
  EIGHT(UNARY_M, F_##name)                        \
  NEXT;
#define BINARY(name)                              \
  do_##name##_am : ONE;                           \
  EIGHT(BINARY_AM, F_##name)                      \
  NEXT;                                           \
  do_##name##_ma : ONE;                           \
  EIGHT(BINARY_MA, F_##name)                      \
  NEXT;                                           \
  do_##name##_mm : TWO;                           \
  EIGHT(BINARY_MM, F_##name)                      \
  NEXT;                                           \
  do_##name##_aa : ip += 1;                       \
  EIGHT(BINARY_AA, F_##name)                      \
  NEXT;
#define TWICE(name, inner)                        \
  do_##name##_##inner##_am : TWO;                 \
  EIGHT(PAIR_AM, F_##name, F_##inner)             \
  NEXT;                                           \
  do_##name##_##inner##_ma : TWO;                 \
  EIGHT(PAIR_MA, F_##name, F_##inner)             \
  NEXT;
#define LABEL(name) &&do_##name,

static long NAME(sd_interpret)(long begin, long end, const char *const *in, const long *si, char *const *out,
                               const long *so, void *work, void *const *fn, long *which) {
  static const void *const labels[] = {SD_OPCODES(LABEL)};
  const sd_bytecode *b = fn[0];
  const char *consts = b->consts;
  char *w = work;
  for (long first = begin; first < end; first += SD_VECTORS * W) {
    const long left = (end - first) / W, groups = left < SD_VECTORS ? left : SD_VECTORS;
    const int32_t *ip = b->code;
    const char *p, *q, *r;
    V a0 = B(0.0), a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0;
#define A(k) a##k
    NEXT;

  do_load:
    ONE;
    EIGHT(LOAD, P)
    NEXT;
  do_save:
    ONE;
    EIGHT(SAVE, p)
    NEXT;

    BINARY(add)
    BINARY(subtract)
    BINARY(multiply)
    BINARY(divide)
    BINARY(minimum)
    BINARY(maximum)
    BINARY(copysign)
    BINARY(less)
    BINARY(less_equal)
    BINARY(equal)
    BINARY(not_equal)
    BINARY(logical_and)
    BINARY(logical_or)
    TWICE(add, multiply)
    TWICE(add, add)
    TWICE(add, subtract)
    TWICE(subtract, multiply)
    TWICE(subtract, add)
    TWICE(subtract, subtract)
    TWICE(multiply, multiply)
    TWICE(multiply, add)
    TWICE(multiply, subtract)
    TWICE(divide, multiply)
    TWICE(divide, add)
    TWICE(divide, subtract)
    UNARY(negative)
    UNARY(abs)
    UNARY(sqrt)
    UNARY(floor)
    UNARY(ceil)
    UNARY(rint)
    UNARY(trunc)
    UNARY(sign)
    UNARY(logical_not)
    UNARY(to_mask)
    UNARY(to_real)

  do_where_amm:
    TWO;
    EIGHT(WHERE, A, P, Q)
    NEXT;
  do_where_mam:
    TWO;
    EIGHT(WHERE, P, A, Q)
    NEXT;
  do_where_mma:
    TWO;
    EIGHT(WHERE, P, Q, A)
    NEXT;
  do_where_mmm:
    THREE;
    EIGHT(WHERE, P, Q, R)
    NEXT;
  do_fma_amm:
    TWO;
    EIGHT(FMA, A, P, Q)
    NEXT;
  do_fma_mma:
    TWO;
    EIGHT(FMA, P, Q, A)
    NEXT;
  do_fma_mmm:
    THREE;
    EIGHT(FMA, P, Q, R)
    NEXT;

    /* Calls go from memory to memory: registers do not survive them. Only samples that exist are
       computed, because the time is spent here. */
  do_call1: {
    V (*const f)(V) = (V(*)(V))b->functions[ip[1]];
    V *to = (V *)(w + ip[2]);
    p = AT(ip[3]), ip += 4;
    for (long g = 0; g < groups; g++) to[g] = f(P(g));
    p = (const char *)to;
    EIGHT(LOAD, P)
    NEXT;
  }
  do_call2: {
    V (*const f)(V, V) = (V(*)(V, V))b->functions[ip[1]];
    V *to = (V *)(w + ip[2]);
    p = AT(ip[3]), q = AT(ip[4]), ip += 5;
    for (long g = 0; g < groups; g++) to[g] = f(P(g), Q(g));
    p = (const char *)to;
    EIGHT(LOAD, P)
    NEXT;
  }
  do_lanes1: {
    double (*const f)(double) = (double (*)(double))b->functions[ip[1]];
    char *to = w + ip[2];
    p = AT(ip[3]), ip += 4;
    for (long l = 0; l < groups * W; l++) NUMBER(to + sizeof(T) * l) = f(NUMBER(p + sizeof(T) * l));
    p = to;
    EIGHT(LOAD, P)
    NEXT;
  }
  do_lanes2: {
    double (*const f)(double, double) = (double (*)(double, double))b->functions[ip[1]];
    char *to = w + ip[2];
    p = AT(ip[3]), q = AT(ip[4]), ip += 5;
    for (long l = 0; l < groups * W; l++) 
      NUMBER(to + sizeof(T) * l) = f(NUMBER(p + sizeof(T) * l), NUMBER(q + sizeof(T) * l));
    p = to;
    EIGHT(LOAD, P)
    NEXT;
  }

    /* These leave nothing in the accumulator. */
  do_rows: {
    const int32_t width = ip[1], port = ip[2];
    NAME(sd_load_rows)(in[port] + first * si[port] + ip[3], si[port], LATER(si[port]), width, groups, w, ip + 4);
    ip += 4 + width;
    NEXT;
  }
  do_column: {
    const char *from = in[ip[1]] + ip[2] * si[ip[1]] + first * (long)sizeof(T);
    V *to = (V *)(w + ip[3]);
    const long ahead = LATER((long)sizeof(T));
    for (long g = 0; g < groups; g++, from += sizeof(V)) {
      FETCH(from);
      to[g] = ROWV(from, 0, 0);
    }
    ip += 4;
    NEXT;
  }
  do_shared: {
    const V same = B(NUMBER(in[ip[1]] + ip[2]));
    V *to = (V *)(w + ip[3]);
    for (long g = 0; g < groups; g++) to[g] = same;
    ip += 4;
    NEXT;
  }
  do_columns:
    ip = NAME(sd_store_columns)(b, first, left, out, so, w, ip + 1);
    NEXT;
  do_stores:
    ip = NAME(sd_store_rows)(b, first, left, out, so, w, ip + 1);
    NEXT;
  do_sums: {
    /* as generated code does: each lane by itself, sample after sample */
    V *sum = (V *)out[0] + ip[1];
    const int32_t count = ip[2];
    ip += 3;
    for (int32_t e = 0; e < count; e++, ip++)
      for (long g = 0; g < groups; g++) sum[e] += VECTOR(AT(*ip), g);
    NEXT;
  }
  do_end:
    if (b->checked) {
      const long failed = NAME(sd_failed)(b, w, groups, which);
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
#undef NUMBER
#undef AT
#undef FETCH
#undef LATER
#undef VECTOR
#undef P
#undef Q
#undef R
#undef A
