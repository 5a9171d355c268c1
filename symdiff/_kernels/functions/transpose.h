/* Blocks of rows to vectors and back, by shuffles of whole registers: the same text in the interpreter and
   in generated code.

   A sample's numbers are neighbours in memory and a vector holds one number of W samples, so moving them is
   transposing. LOADn(p, s, c0, ...) reads n numbers of W rows that are s bytes apart, from p on, into as many
   vectors; STOREn writes them. LOADROWn and STOREROWn move whole rows of n, which may stand without
   gaps. Needs T, W, V, M as vector.h does; U, V at any address; D, a number, Q and H, vectors of
   16 and 32 bytes, at any address; and of float32 (SINGLE) F, two numbers as one of float64, and G, a
   vector of these of half the length of V. Where arrays are float32 and vectors float64 (NARROW), all but T, V and M
   are what arrays hold, and N is a vector of whole numbers as wide as U. */

#if NARROW
#define LAID U
#define MASK N
#if X86 == 512 && !defined __clang__
/* one instruction, where gcc converts halves */
#define WIDENED(x) ((V)__builtin_ia32_cvtps2pd512_mask((float __attribute__((vector_size(32))))(x), (V){0}, -1, 4))
#else
#define WIDENED(x) __builtin_convertvector(x, V)
#endif
#define NARROWED(x) __builtin_convertvector(x, LAID)
#else
#define LAID V
#define MASK M
#define WIDENED(x) x
#define NARROWED(x) x
#endif

#if defined __clang__ || __GNUC__ >= 12
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (MASK){__VA_ARGS__})
#endif
#define D_AT(p, s, r) (*(D *)((p) + (r) * (s)))
#define Q_AT(p, s, r) (*(Q *)((p) + (r) * (s)))
#define H_AT(p, s, r) (*(H *)((p) + (r) * (s)))
#define V_AT(p, s, r) (*(U *)((p) + (r) * (s)))
#define V_GET(p) WIDENED(V_AT(p, 0, 0))
#define V_PUT(p, x) V_AT(p, 0, 0) = NARROWED(x);

/* f(0, ...), f(1, ...), ... for each of the W lanes */
#if W == 16
#define EACH(f, ...) EACH_8_LANES(f, 0, __VA_ARGS__), EACH_8_LANES(f, 8, __VA_ARGS__)
#elif W == 8
#define EACH(f, ...) EACH_8_LANES(f, 0, __VA_ARGS__)
#elif W == 4
#define EACH(f, ...) EACH_4_LANES(f, 0, __VA_ARGS__)
#else
#define EACH(f, ...) EACH_2_LANES(f, 0, __VA_ARGS__)
#endif
#define EACH_8_LANES(f, k, ...) EACH_4_LANES(f, k, __VA_ARGS__), EACH_4_LANES(f, k + 4, __VA_ARGS__)
#define EACH_4_LANES(f, k, ...) EACH_2_LANES(f, k, __VA_ARGS__), EACH_2_LANES(f, k + 2, __VA_ARGS__)
#define EACH_2_LANES(f, k, ...) f(k, __VA_ARGS__), f(k + 1, __VA_ARGS__)
#define GATHERED(r, p, s) D_AT(p, s, r)
#define SCATTERED(r, p, s, v) (D_AT(p, s, r) = (v)[r])
#define GATHER(p, s, c0) { c0 = (V){EACH(GATHERED, p, s)}; }
#define SCATTER(p, s, c0) { V v_ = c0; (void)(EACH(SCATTERED, p, s, v_)); }

#if NARROW && W == 2
#define LOAD2(p, s, c0, c1) { GATHER(p, s, c0) GATHER((p) + sizeof(D), s, c1) }
#define STORE2(p, s, c0, c1) { SCATTER(p, s, c0) SCATTER((p) + sizeof(D), s, c1) }

#elif !SINGLE && !NARROW
#if defined __clang__ || __GNUC__ >= 12
#define JOIN_2(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3)
#define JOIN_4(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#define PART_2(v, k) __builtin_shufflevector(v, v, 2 * (k), 2 * (k) + 1)
#define PART_4(v, k) __builtin_shufflevector(v, v, 4 * (k), 4 * (k) + 1, 4 * (k) + 2, 4 * (k) + 3)
#else
#define JOIN_2(a, b) ((H){(a)[0], (a)[1], (b)[0], (b)[1]})
#define JOIN_4(a, b) ((V){(a)[0], (a)[1], (a)[2], (a)[3], (b)[0], (b)[1], (b)[2], (b)[3]})
#define PART_2(v, k) ((Q){(v)[2 * (k)], (v)[2 * (k) + 1]})
#define PART_4(v, k) ((H){(v)[4 * (k)], (v)[4 * (k) + 1], (v)[4 * (k) + 2], (v)[4 * (k) + 3]})
#endif
#if W == 8
/* LOW and HIGH pair neighbouring rows; the others collect parts of 128 bits. */
#define LOW(a, b) SHUFFLE(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define HIGH(a, b) SHUFFLE(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#define EVEN(a, b) SHUFFLE(a, b, 0, 1, 4, 5, 8, 9, 12, 13)
#define ODD(a, b) SHUFFLE(a, b, 2, 3, 6, 7, 10, 11, 14, 15)
#define LEFT(a, b) SHUFFLE(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define RIGHT(a, b) SHUFFLE(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define LOAD2(p, s, c0, c1) { \
  V a_ = JOIN_4(JOIN_2(Q_AT(p, s, 0), Q_AT(p, s, 2)), JOIN_2(Q_AT(p, s, 4), Q_AT(p, s, 6))); \
  V b_ = JOIN_4(JOIN_2(Q_AT(p, s, 1), Q_AT(p, s, 3)), JOIN_2(Q_AT(p, s, 5), Q_AT(p, s, 7))); \
  c0 = LOW(a_, b_); c1 = HIGH(a_, b_); }
#define LOAD4(p, s, c0, c1, c2, c3) { \
  V a_ = JOIN_4(H_AT(p, s, 0), H_AT(p, s, 2)), b_ = JOIN_4(H_AT(p, s, 1), H_AT(p, s, 3)); \
  V c_ = JOIN_4(H_AT(p, s, 4), H_AT(p, s, 6)), d_ = JOIN_4(H_AT(p, s, 5), H_AT(p, s, 7)); \
  V e_ = LOW(a_, b_), f_ = HIGH(a_, b_), g_ = LOW(c_, d_), h_ = HIGH(c_, d_); \
  c0 = EVEN(e_, g_); c1 = EVEN(f_, h_); c2 = ODD(e_, g_); c3 = ODD(f_, h_); }
#define STORE2(p, s, c0, c1) { V a_ = LOW(c0, c1), b_ = HIGH(c0, c1); \
  Q_AT(p, s, 0) = PART_2(a_, 0); Q_AT(p, s, 2) = PART_2(a_, 1); \
  Q_AT(p, s, 4) = PART_2(a_, 2); Q_AT(p, s, 6) = PART_2(a_, 3); \
  Q_AT(p, s, 1) = PART_2(b_, 0); Q_AT(p, s, 3) = PART_2(b_, 1); \
  Q_AT(p, s, 5) = PART_2(b_, 2); Q_AT(p, s, 7) = PART_2(b_, 3); }
#define STORE4(p, s, c0, c1, c2, c3) { \
  V a_ = LOW(c0, c1), b_ = HIGH(c0, c1), c_ = LOW(c2, c3), d_ = HIGH(c2, c3); \
  V e_ = LEFT(a_, c_), f_ = LEFT(b_, d_), g_ = RIGHT(a_, c_), h_ = RIGHT(b_, d_); \
  H_AT(p, s, 0) = PART_4(e_, 0); H_AT(p, s, 4) = PART_4(e_, 1); \
  H_AT(p, s, 1) = PART_4(f_, 0); H_AT(p, s, 5) = PART_4(f_, 1); \
  H_AT(p, s, 2) = PART_4(g_, 0); H_AT(p, s, 6) = PART_4(g_, 1); \
  H_AT(p, s, 3) = PART_4(h_, 0); H_AT(p, s, 7) = PART_4(h_, 1); }
#define STORE8(p, s, c0, c1, c2, c3, c4, c5, c6, c7) { \
  V a_ = LOW(c0, c1), b_ = HIGH(c0, c1), c_ = LOW(c2, c3), d_ = HIGH(c2, c3); \
  V e_ = LOW(c4, c5), f_ = HIGH(c4, c5), g_ = LOW(c6, c7), h_ = HIGH(c6, c7); \
  V i_ = EVEN(a_, c_), j_ = EVEN(b_, d_), k_ = ODD(a_, c_), l_ = ODD(b_, d_); \
  V m_ = EVEN(e_, g_), n_ = EVEN(f_, h_), o_ = ODD(e_, g_), q_ = ODD(f_, h_); \
  V_AT(p, s, 0) = EVEN(i_, m_); V_AT(p, s, 1) = EVEN(j_, n_); V_AT(p, s, 2) = EVEN(k_, o_); \
  V_AT(p, s, 3) = EVEN(l_, q_); V_AT(p, s, 4) = ODD(i_, m_); V_AT(p, s, 5) = ODD(j_, n_); \
  V_AT(p, s, 6) = ODD(k_, o_); V_AT(p, s, 7) = ODD(l_, q_); }
#elif W == 4
#define LOW(a, b) SHUFFLE(a, b, 0, 4, 2, 6)
#define HIGH(a, b) SHUFFLE(a, b, 1, 5, 3, 7)
#define LEFT(a, b) SHUFFLE(a, b, 0, 1, 4, 5)
#define RIGHT(a, b) SHUFFLE(a, b, 2, 3, 6, 7)
#define LOAD2(p, s, c0, c1) { \
  V a_ = JOIN_2(Q_AT(p, s, 0), Q_AT(p, s, 2)), b_ = JOIN_2(Q_AT(p, s, 1), Q_AT(p, s, 3)); \
  c0 = LOW(a_, b_); c1 = HIGH(a_, b_); }
#define LOAD4(p, s, c0, c1, c2, c3) { \
  V a_ = H_AT(p, s, 0), b_ = H_AT(p, s, 1), c_ = H_AT(p, s, 2), d_ = H_AT(p, s, 3); \
  V e_ = LOW(a_, b_), f_ = HIGH(a_, b_), g_ = LOW(c_, d_), h_ = HIGH(c_, d_); \
  c0 = LEFT(e_, g_); c1 = LEFT(f_, h_); c2 = RIGHT(e_, g_); c3 = RIGHT(f_, h_); }
#define STORE2(p, s, c0, c1) { V a_ = LOW(c0, c1), b_ = HIGH(c0, c1); \
  Q_AT(p, s, 0) = PART_2(a_, 0); Q_AT(p, s, 2) = PART_2(a_, 1); \
  Q_AT(p, s, 1) = PART_2(b_, 0); Q_AT(p, s, 3) = PART_2(b_, 1); }
#define STORE4(p, s, c0, c1, c2, c3) { \
  V a_ = LOW(c0, c1), b_ = HIGH(c0, c1), c_ = LOW(c2, c3), d_ = HIGH(c2, c3); \
  V_AT(p, s, 0) = LEFT(a_, c_); V_AT(p, s, 1) = LEFT(b_, d_); \
  V_AT(p, s, 2) = RIGHT(a_, c_); V_AT(p, s, 3) = RIGHT(b_, d_); }
#else
#define LOW(a, b) SHUFFLE(a, b, 0, 2)
#define HIGH(a, b) SHUFFLE(a, b, 1, 3)
#define LOAD2(p, s, c0, c1) { V a_ = Q_AT(p, s, 0), b_ = Q_AT(p, s, 1); c0 = LOW(a_, b_); c1 = HIGH(a_, b_); }
#define STORE2(p, s, c0, c1) { V a_ = LOW(c0, c1), b_ = HIGH(c0, c1); V_AT(p, s, 0) = a_; V_AT(p, s, 1) = b_; }
#endif

#else
/* The vectors a_ to d_ hold four neighbours of W / 4 rows in each 128 bits, and TURN transposes these: what it
   gives from rows are columns, and the other way round. */
#if W == 16
#define FOURS(f) f(0), f(4), f(8), f(12)
#elif W == 8
#define FOURS(f) f(0), f(4)
#else
#define FOURS(f) f(0)
#endif
#define LOW_4(k) k, W + k, k + 1, W + k + 1
#define HIGH_4(k) k + 2, W + k + 2, k + 3, W + k + 3
#define LEFT_4(k) k, k + 1, W + k, W + k + 1
#define RIGHT_4(k) k + 2, k + 3, W + k + 2, W + k + 3
#define EVENS_4(k) 2 * (k), 2 * (k) + 2, 2 * (k) + 4, 2 * (k) + 6
#define ODDS_4(k) 2 * (k) + 1, 2 * (k) + 3, 2 * (k) + 5, 2 * (k) + 7
#define FRONT_4(k) (k) / 2, W + (k) / 2, (k) / 2 + 1, W + (k) / 2 + 1
#define BACK_4(k) W / 2 + (k) / 2, W + W / 2 + (k) / 2, W / 2 + (k) / 2 + 1, W + W / 2 + (k) / 2 + 1
#define TURN(a, b, c, d, c0, c1, c2, c3) { \
  LAID e_ = SHUFFLE(a, b, FOURS(LOW_4)), f_ = SHUFFLE(c, d, FOURS(LOW_4)); \
  LAID g_ = SHUFFLE(a, b, FOURS(HIGH_4)), h_ = SHUFFLE(c, d, FOURS(HIGH_4)); \
  c0 = SHUFFLE(e_, f_, FOURS(LEFT_4)); c1 = SHUFFLE(e_, f_, FOURS(RIGHT_4)); \
  c2 = SHUFFLE(g_, h_, FOURS(LEFT_4)); c3 = SHUFFLE(g_, h_, FOURS(RIGHT_4)); }
#if defined __clang__ || __GNUC__ >= 12
#if X86 > 128 && !defined __clang__
/* the second from memory, where gcc loads both and shuffles */
typedef float FOUR __attribute__((vector_size(16)));
#define JOIN_2(a, b) ((H)__builtin_ia32_vinsertf128_ps256(__builtin_ia32_ps256_ps((FOUR)(a)), (FOUR)(b), 1))
#else
#define JOIN_2(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#endif
#define JOIN_4(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define PART_4(v, k) __builtin_shufflevector(v, v, 4 * (k), 4 * (k) + 1, 4 * (k) + 2, 4 * (k) + 3)
#else
#define FOUR_OF(a, k) (a)[k], (a)[k + 1], (a)[k + 2], (a)[k + 3]
#define JOIN_2(a, b) ((H){FOUR_OF(a, 0), FOUR_OF(b, 0)})
#define JOIN_4(a, b) ((LAID){FOUR_OF(a, 0), FOUR_OF(a, 4), FOUR_OF(b, 0), FOUR_OF(b, 4)})
#define PART_4(v, k) ((Q){FOUR_OF(v, 4 * (k))})
#endif
#if W == 16
#define ROWS_4(p, s, r) \
  JOIN_4(JOIN_2(Q_AT(p, s, r), Q_AT(p, s, r + 4)), JOIN_2(Q_AT(p, s, r + 8), Q_AT(p, s, r + 12)))
#define PARTS_4(p, s, r, v) \
  Q_AT(p, s, r) = PART_4(v, 0); Q_AT(p, s, r + 4) = PART_4(v, 1); \
  Q_AT(p, s, r + 8) = PART_4(v, 2); Q_AT(p, s, r + 12) = PART_4(v, 3);
#elif W == 8
#define ROWS_4(p, s, r) JOIN_2(Q_AT(p, s, r), Q_AT(p, s, r + 4))
#define PARTS_4(p, s, r, v) Q_AT(p, s, r) = PART_4(v, 0); Q_AT(p, s, r + 4) = PART_4(v, 1);
#else
#define ROWS_4(p, s, r) Q_AT(p, s, r)
#define PARTS_4(p, s, r, v) Q_AT(p, s, r) = v;
#endif
#define LOAD4(p, s, c0, c1, c2, c3) { \
  LAID a_ = (LAID)ROWS_4(p, s, 0), b_ = (LAID)ROWS_4(p, s, 1), c_ = (LAID)ROWS_4(p, s, 2), d_ = (LAID)ROWS_4(p, s, 3); \
  LAID i_, j_, k_, l_; TURN(a_, b_, c_, d_, i_, j_, k_, l_) \
  c0 = WIDENED(i_); c1 = WIDENED(j_); c2 = WIDENED(k_); c3 = WIDENED(l_); }
#define STORE4(p, s, c0, c1, c2, c3) { \
  LAID a_, b_, c_, d_, i_ = NARROWED(c0), j_ = NARROWED(c1), k_ = NARROWED(c2), l_ = NARROWED(c3); \
  TURN(i_, j_, k_, l_, a_, b_, c_, d_) \
  PARTS_4(p, s, 0, a_) PARTS_4(p, s, 1, b_) PARTS_4(p, s, 2, c_) PARTS_4(p, s, 3, d_) }
/* Two numbers are one of float64: half of the rows come to one vector, half to the other. */
#if W == 16
#define HALF(f, k, ...) EACH_8_LANES(f, k, __VA_ARGS__)
#elif W == 8
#define HALF(f, k, ...) EACH_4_LANES(f, k, __VA_ARGS__)
#else
#define HALF(f, k, ...) EACH_2_LANES(f, k, __VA_ARGS__)
#endif
#define PAIR_OF(r, p, s) (*(F *)((p) + (r) * (s)))
#define PAIR_TO(r, p, s, v) (*(F *)((p) + (r) * (s)) = (v)[(r) % (W / 2)])
#define LOAD2(p, s, c0, c1) { G a_ = {HALF(PAIR_OF, 0, p, s)}, b_ = {HALF(PAIR_OF, W / 2, p, s)}; \
  LAID i_ = SHUFFLE((LAID)a_, (LAID)b_, FOURS(EVENS_4)), j_ = SHUFFLE((LAID)a_, (LAID)b_, FOURS(ODDS_4)); \
  c0 = WIDENED(i_); c1 = WIDENED(j_); }
#define STORE2(p, s, c0, c1) { LAID i_ = NARROWED(c0), j_ = NARROWED(c1); \
  G a_ = (G)SHUFFLE(i_, j_, FOURS(FRONT_4)), b_ = (G)SHUFFLE(i_, j_, FOURS(BACK_4)); \
  (void)(HALF(PAIR_TO, 0, p, s, a_)); (void)(HALF(PAIR_TO, W / 2, p, s, b_)); }
#endif

/* Rows of two or three numbers without gaps are whole vectors of memory, taken apart and put together in
   two steps of two operands each. Number k of memory is number k % n of row k / n. */
#define OUT_OF(r, n, j) ((n) * (r) + (j))
#define OUT_OF_TWO(r, n, j) ((n) * (r) + (j) < 2 * W ? (n) * (r) + (j) : 0)
#define OUT_OF_LAST(r, n, j) ((n) * (r) + (j) < 2 * W ? (r) : (n) * (r) + (j) - W)
#define INTO(l, n, q) (((q) * W + (l)) % (n) * W + ((q) * W + (l)) / (n))
#define INTO_TWO(l, n, q) (((q) * W + (l)) % (n) < 2 ? ((q) * W + (l)) % (n) * W + ((q) * W + (l)) / (n) : 0)
#define INTO_LAST(l, n, q) (((q) * W + (l)) % (n) < 2 ? (l) : W + ((q) * W + (l)) / (n))
#define LOADROW2(p, s, c0, c1) if ((s) == 2 * sizeof(D)) { \
  LAID a_ = V_AT(p, sizeof(LAID), 0), b_ = V_AT(p, sizeof(LAID), 1); \
  c0 = WIDENED(SHUFFLE(a_, b_, EACH(OUT_OF, 2, 0))); c1 = WIDENED(SHUFFLE(a_, b_, EACH(OUT_OF, 2, 1))); \
  } else LOAD2(p, s, c0, c1)
#define STOREROW2(p, s, c0, c1) if ((s) == 2 * sizeof(D)) { \
  LAID i_ = NARROWED(c0), j_ = NARROWED(c1); \
  LAID a_ = SHUFFLE(i_, j_, EACH(INTO, 2, 0)), b_ = SHUFFLE(i_, j_, EACH(INTO, 2, 1)); \
  V_AT(p, sizeof(LAID), 0) = a_; V_AT(p, sizeof(LAID), 1) = b_; \
  } else STORE2(p, s, c0, c1)
#define LOADROW3(p, s, c0, c1, c2) if ((s) == 3 * sizeof(D)) { \
  LAID a_ = V_AT(p, sizeof(LAID), 0), b_ = V_AT(p, sizeof(LAID), 1), c_ = V_AT(p, sizeof(LAID), 2); \
  LAID d_ = SHUFFLE(a_, b_, EACH(OUT_OF_TWO, 3, 0)), e_ = SHUFFLE(a_, b_, EACH(OUT_OF_TWO, 3, 1)); \
  LAID f_ = SHUFFLE(a_, b_, EACH(OUT_OF_TWO, 3, 2)); \
  c0 = WIDENED(SHUFFLE(d_, c_, EACH(OUT_OF_LAST, 3, 0))); c1 = WIDENED(SHUFFLE(e_, c_, EACH(OUT_OF_LAST, 3, 1))); \
  c2 = WIDENED(SHUFFLE(f_, c_, EACH(OUT_OF_LAST, 3, 2))); \
  } else { LOAD2(p, s, c0, c1) GATHER((p) + 2 * sizeof(D), s, c2) }
#define STOREROW3(p, s, c0, c1, c2) if ((s) == 3 * sizeof(D)) { \
  LAID i_ = NARROWED(c0), j_ = NARROWED(c1), d_ = NARROWED(c2); \
  LAID a_ = SHUFFLE(i_, j_, EACH(INTO_TWO, 3, 0)), b_ = SHUFFLE(i_, j_, EACH(INTO_TWO, 3, 1)); \
  LAID c_ = SHUFFLE(i_, j_, EACH(INTO_TWO, 3, 2)); \
  V_AT(p, sizeof(LAID), 0) = SHUFFLE(a_, d_, EACH(INTO_LAST, 3, 0)); \
  V_AT(p, sizeof(LAID), 1) = SHUFFLE(b_, d_, EACH(INTO_LAST, 3, 1)); \
  V_AT(p, sizeof(LAID), 2) = SHUFFLE(c_, d_, EACH(INTO_LAST, 3, 2)); \
  } else { STORE2(p, s, c0, c1) SCATTER((p) + 2 * sizeof(D), s, c2) }
