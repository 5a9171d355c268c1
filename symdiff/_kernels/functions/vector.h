/* Functions of one vector: the same text in the interpreter and in generated code, hence the same bits.

   Each paragraph defines one function. The interpreter includes this file once for each kind of vector;
   the emitter of C takes the paragraphs that a kernel needs (codegen/c/spelling.py), in this order. Both
   define before it what it needs: T, a number, and W, how many of them make a vector; V, a vector, and M, a vector of
   whole numbers as wide; B(x), copies of x; SIGN, the bits of the signs; NAME(x), what a function is
   called; X86, the bits of the vector instructions of x86-64 that are there, or 0; KIND(a, b), a builtin's
   name with the letter of the type of its numbers between a and b. */

INLINE V NAME(do_pick)(M m, V a, V b) { return (V)((m & (M)a) | (~m & (M)b)); }

/* To whole numbers, the sign of zero is kept. Where there is no instruction for it: adding 2^52 (2^23 to float32) leaves
   no room for a fraction; larger numbers have none. */
INLINE V NAME(do_rint)(V x) {
#if X86 == 512 && !defined __clang__
  return KIND(__builtin_ia32_rndscalep, _mask)(x, 8, x, -1, 4);
#elif X86 == 256 && !defined __clang__
  return KIND(__builtin_ia32_roundp, 256)(x, 8);
#else
  V c = B(sizeof(T) == 4 ? 0x1p23 : 0x1p52), a = (V)((M)x & ~SIGN);
  return NAME(do_pick)((M)(a < c), (V)((M)((a + c) - c) | ((M)x & SIGN)), x);
#endif
}

INLINE V NAME(do_floor)(V x) {
#if X86 == 512 && !defined __clang__
  return KIND(__builtin_ia32_rndscalep, _mask)(x, 9, x, -1, 4);
#elif X86 == 256 && !defined __clang__
  return KIND(__builtin_ia32_roundp, 256)(x, 9);
#else
  V r = NAME(do_rint)(x);
  return r - (V)((M)(r > x) & (M)B(1.0));
#endif
}

INLINE V NAME(do_ceil)(V x) {
#if X86 == 512 && !defined __clang__
  return KIND(__builtin_ia32_rndscalep, _mask)(x, 10, x, -1, 4);
#elif X86 == 256 && !defined __clang__
  return KIND(__builtin_ia32_roundp, 256)(x, 10);
#else
  V r = NAME(do_rint)(x);
  return (V)((M)(r + (V)((M)(r < x) & (M)B(1.0))) | ((M)x & SIGN));
#endif
}

INLINE V NAME(do_trunc)(V x) {
#if X86 == 512 && !defined __clang__
  return KIND(__builtin_ia32_rndscalep, _mask)(x, 11, x, -1, 4);
#elif X86 == 256 && !defined __clang__
  return KIND(__builtin_ia32_roundp, 256)(x, 11);
#else
  V a = (V)((M)x & ~SIGN), r = NAME(do_rint)(a);
  return (V)((M)(r - (V)((M)(r > a) & (M)B(1.0))) | ((M)x & SIGN));
#endif
}

INLINE V NAME(do_sign)(V x) {
  M p = (M)(x > B(0.0)), n = (M)(x < B(0.0));
  return (V)((p & (M)B(1.0)) | (n & (M)B(-1.0)) | ((M)(x != x) & (M)x));
}

INLINE V NAME(do_copysign)(V x, V y) { return (V)(((M)x & ~SIGN) | ((M)y & SIGN)); }

/* clang drops a processor's own builtins where its general ones came to say the same. */
INLINE V NAME(do_sqrt)(V x) {
#if defined __clang__ && __has_builtin(__builtin_elementwise_sqrt)
  return __builtin_elementwise_sqrt(x);
#elif X86 == 512 && defined __clang__
  return (V)KIND(__builtin_ia32_sqrtp, 512)(x, 4);
#elif X86 == 512
  return (V)KIND(__builtin_ia32_sqrtp, 512_mask)(x, x, -1, 4);
#elif X86 == 256
  return (V)KIND(__builtin_ia32_sqrtp, 256)(x);
#elif X86 == 128
  return (V)KIND(__builtin_ia32_sqrtp, )(x);
#else
  for (int l = 0; l < W; l++) x[l] = __builtin_sqrt(x[l]);
  return x;
#endif
}

INLINE V NAME(do_fma)(V a, V b, V c) {
#if defined __clang__ && __has_builtin(__builtin_elementwise_fma)
  return __builtin_elementwise_fma(a, b, c);
#elif X86 == 512
  return (V)KIND(__builtin_ia32_vfmaddp, 512_mask)(a, b, c, -1, 4);
#elif X86 == 256
  return (V)KIND(__builtin_ia32_vfmaddp, 256)(a, b, c);
#else
  for (int l = 0; l < W; l++) a[l] = sizeof(T) == 4 ? __builtin_fmaf(a[l], b[l], c[l]) : __builtin_fma(a[l], b[l], c[l]);
  return a;
#endif
}

/* The fraction and the exponent of x = f 2^e with 1 <= |f| < 2: of 0 they are 1 and -inf, of inf 1 and inf, with the
   sign of x. */
INLINE V NAME(do_fraction)(V x) {
#if X86 == 512
  return (V)KIND(__builtin_ia32_getmantp, 512_mask)(x, 0, x, -1, 4);
#else
  int few = sizeof(T) == 4;
  V a = (V)((M)x & ~SIGN), n = NAME(do_pick)((M)(a < B(few ? 0x1p-126 : 0x1p-1022)), a * B(few ? 0x1p25 : 0x1p54), a);
  V f = (V)(((M)n & (M)B(few ? 0x0.fffffep-126 : 0x0.fffffffffffffp-1022)) | (M)B(1.0));
  f = NAME(do_pick)((M)(a > B(0.0)) & (M)(a < B((T)__builtin_inf())), f, B(1.0));
  return NAME(do_pick)((M)(x == x), (V)((M)f | ((M)x & SIGN)), x);
#endif
}

INLINE V NAME(do_exponent)(V x) {
#if X86 == 512
  return (V)KIND(__builtin_ia32_getexpp, 512_mask)(x, x, -1, 4);
#else
  int few = sizeof(T) == 4;
  V a = (V)((M)x & ~SIGN), c = B(few ? 0x1.8p23 : 0x1.8p52);
  M tiny = (M)(a < B(few ? 0x1p-126 : 0x1p-1022));
  V n = NAME(do_pick)(tiny, a * B(few ? 0x1p25 : 0x1p54), a);
  V e = (V)(((M)n >> (few ? 23 : 52)) + (M)c) - c;
  e = e - NAME(do_pick)(tiny, B(few ? 127 + 25 : 1023 + 54), B(few ? 127 : 1023));
  e = NAME(do_pick)((M)(a > B(0.0)), e, B(-(T)__builtin_inf()));
  return NAME(do_pick)((M)(a < B((T)__builtin_inf())), e, a);
#endif
}

#if !SINGLE && W >= 4

/* The exponential, the hyperbolic tangent and the logarithm of whole vectors, of float64 where a product and a sum are
   one instruction: the same text in the interpreter and in generated code, as vector.h has it. The C library's look
   numbers up in tables lane by lane, which takes most of their time, and are called through a pointer, which registers
   do not survive. */

/* The smaller and the larger, and b where either is NaN. */
INLINE V NAME(do_least)(V a, V b) {
#if X86 == 512 && !defined __clang__
  return __builtin_ia32_minpd512_mask(a, b, a, -1, 4);
#elif X86 == 256 && !defined __clang__
  return __builtin_ia32_minpd256(a, b);
#else
  return NAME(do_pick)((M)(a < b), a, b);
#endif
}

INLINE V NAME(do_most)(V a, V b) {
#if X86 == 512 && !defined __clang__
  return __builtin_ia32_maxpd512_mask(a, b, a, -1, 4);
#elif X86 == 256 && !defined __clang__
  return __builtin_ia32_maxpd256(a, b);
#else
  return NAME(do_pick)((M)(a > b), a, b);
#endif
}

/* Whether the bits of any lane are set. */
INLINE int NAME(do_any)(M m) {
#if X86 == 512 && !defined __clang__
  typedef long long N __attribute__((vector_size(64)));
  return __builtin_ia32_ptestmq512((N)m, (N)m, -1) != 0;
#elif X86 == 256 && !defined __clang__
  typedef double N __attribute__((vector_size(32)));
  return __builtin_ia32_movmskpd256((N)m) != 0;
#else
  long long any = 0;
  for (int l = 0; l < W; l++) any |= m[l];
  return any != 0;
#endif
}

/* p 2^n, rounded once. */
INLINE V NAME(do_scale)(V p, V n) {
#if X86 == 512
  return __builtin_ia32_scalefpd512_mask(p, n, p, -1, 4);
#else
  M k = (M)(n + B(0x1.8p52)), h = k >> 1;
  return p * (V)((h << 52) + (M)B(1.0)) * (V)(((k - h) << 52) + (M)B(1.0));
#endif
}

/* q of e^r = 1 + r + r^2 q(r) for |r| <= log(2) / 2, of degree 9 and such that the largest relative error of e^r is
   0.05 units in the last place (weighted least squares, Lawson's iteration, at 50 digits). */
INLINE V NAME(do_exp_rest)(V r) {
  V s = r * r, u = s * s;
  V a = NAME(do_fma)(B(0x1.5555555555501p-3), r, B(0x1p-1));
  V b = NAME(do_fma)(B(0x1.111111112896ep-7), r, B(0x1.55555555531ffp-5));
  V c = NAME(do_fma)(B(0x1.a01a011bd9dbfp-13), r, B(0x1.6c16c17cc5ed3p-10));
  V d = NAME(do_fma)(B(0x1.71df55ce620c9p-19), r, B(0x1.a019ab23ceea5p-16));
  V e = NAME(do_fma)(B(0x1.ad1f5d1be9cb7p-26), r, B(0x1.289f94f364097p-22));
  return NAME(do_fma)(NAME(do_fma)(e, u, NAME(do_fma)(d, s, c)), u, NAME(do_fma)(b, s, a));
}

/* x = n log 2 + r, where the product of n and the first part of log 2, which has 42 bits, is exact. What is beyond the
   ends of float64 is taken at the ends. */
SLOW V NAME(do_exp)(V x) {
  x = NAME(do_least)(B(0x1.63p9), NAME(do_most)(B(-0x1.75p9), x));
  V n = NAME(do_fma)(x, B(0x1.71547652b82fep0), B(0x1.8p52)) - B(0x1.8p52);
  V r = NAME(do_fma)(n, B(-0x1.62e42fefa38p-1), x);
  r = NAME(do_fma)(n, B(-0x1.ef35793c7673p-45), r);
  return NAME(do_scale)(B(1.0) + NAME(do_fma)(NAME(do_exp_rest)(r), r * r, r), n);
}

/* tanh |x|, of a = |x|. From 0.7 on it is 1 - 2 / (e^y + 1) with y = 2 a = n log 2 + r, and 1 from 19.07 on; below it is
   a + a s p(s) / q(s) with s = a^2, where p is of degree 2, q of degree 3 and the largest relative error 0.03 units in
   the last place (found as above). One division serves both. */
SLOW V NAME(do_tanh)(V x) {
  V a = (V)((M)x & ~SIGN), y = NAME(do_least)(B(40.0), a + a), s = a * a;
  V t = NAME(do_fma)(y, B(0x1.71547652b82fep0), B(0x1.8p52)), n = t - B(0x1.8p52);
  V r = NAME(do_fma)(n, B(-0x1.62e42fefa38p-1), y);
  r = NAME(do_fma)(n, B(-0x1.ef35793c7673p-45), r);
  V e = NAME(do_fma)(NAME(do_exp_rest)(r), r * r, r), power = (V)(((M)t << 52) + (M)B(1.0));
  V p = NAME(do_fma)(NAME(do_fma)(B(-0x1.edc975e924b9cp-1), s, B(-0x1.8d71209c9affcp+6)), s, B(-0x1.940c2b672e9dep+10));
  V q = NAME(do_fma)(s + B(0x1.c38fda779f0a0p+6), s, B(0x1.17b04eb2fd951p+11));
  M small = (M)(a < B(0.7));
  V above = NAME(do_pick)(small, a * s * p, B(-2.0));
  V below = NAME(do_pick)(small, NAME(do_fma)(q, s, B(0x1.2f09208d62f6cp+12)), NAME(do_fma)(power, e, power + B(1.0)));
  a = NAME(do_pick)(small, a, B(1.0)) + above / below;
  return (V)((M)a | ((M)x & SIGN));
}

/* x = 2^k (1 + f) with 3/4 <= 1 + f < 3/2, s = f / (2 + f) and log(1 + f) = 2 s + s z q(z) with z = s^2, where q is of
   degree 7 and such that the largest relative error is 0.001 units in the last place (weighted least squares, Lawson's
   iteration, at 60 digits). Put together as in FreeBSD's e_log.c, such that only f, f^2 / 2 and k log 2 count; the
   product of k and the first part of log 2, which has 32 bits, is exact. */
SLOW V NAME(do_log)(V x) {
#if X86 == 512
  V m = __builtin_ia32_getmantpd512_mask(x, 3 + 8, x, -1, 4), k = __builtin_ia32_getexppd512_mask(x, x, -1, 4);
  k = k + (V)((M)(m < B(1.0)) & (M)B(1.0));
#else
  M tiny = (M)(x < B(0x1p-1022)), n = (M)NAME(do_pick)(tiny, x * B(0x1p54), x);
  M e = (n - (M)B(0.75)) >> 52;
  V m = (V)(n - (e << 52)), k = (V)(e + (M)B(0x1.8p52)) - B(0x1.8p52);
  k = k - (V)(tiny & (M)B(54.0));
#endif
  V f = m - B(1.0), s = f / (B(2.0) + f), z = s * s, w = z * z, h = B(0.5) * f * f;
  V a = NAME(do_fma)(B(0x1.999999999c0f8p-2), z, B(0x1.555555555554fp-1));
  V b = NAME(do_fma)(B(0x1.c71c7488df537p-3), z, B(0x1.24924921ec045p-2));
  V c = NAME(do_fma)(B(0x1.3b358bd0e3e9cp-3), z, B(0x1.745c4c79ac91dp-3));
  V d = NAME(do_fma)(B(0x1.1b69f84731c71p-3), z, B(0x1.0dcf11c5efec4p-3));
  V q = NAME(do_fma)(NAME(do_fma)(d, w, c), w * w, NAME(do_fma)(b, w, a));
  V r = NAME(do_fma)(s, NAME(do_fma)(q, z, h), k * B(0x1.a39ef35793c76p-33));
  r = NAME(do_fma)(k, B(0x1.62e42feep-1), f - (h - r));
#if X86 != 512
  r = NAME(do_pick)((M)(x < B(__builtin_inf())) & (M)(x > B(0.0)), r, x + x);
  r = NAME(do_pick)((M)(x == B(0.0)), B(-__builtin_inf()), r);
  r = NAME(do_pick)((M)(x < B(0.0)), B(__builtin_nan("")), r);
#endif
  return r;
}

/* Numbers of a table of 16 for lanes that are below, and 16 for the others, at the last four bits of i. */
INLINE V NAME(do_at)(const double *table, M i, M below) {
#if X86 == 512 && !defined __clang__
  const V *t = (const V *)table;
  return NAME(do_pick)(below, __builtin_shuffle(t[0], t[1], i), __builtin_shuffle(t[2], t[3], i));
#else
  i = (i & 15) + (~below & 16);
#if X86 == 256 && !defined __clang__
  return __builtin_ia32_gatherdiv4df(B(0.0), table, i, (V)~(M)B(0.0), 8);
#else
  V v;
  for (int l = 0; l < W; l++) v[l] = table[i[l]];
  return v;
#endif
#endif
}

/* a = 2^k m with 3/4 <= m < 3/2, of which the first bits tell c near 1 / m and r = c m - 1 is exact: r, and the first part
   of k log(2) - log(c), a multiple of 2^-42. -0.0206 <= r <= 1/32; c is 1 on both sides of 1. As in ARM's optimized
   routines. Of a below 0, NaN and infinities, that part is infinite or NaN where there are instructions for m and k. */
INLINE V NAME(do_near_1)(V a, V *first, V *k, M *i, M *below) {
  static const double __attribute__((aligned(64))) c[32] = {
    0x1.5p+0, 0x1.48p+0, 0x1.48p+0, 0x1.4p+0, 0x1.38p+0, 0x1.3p+0, 0x1.3p+0, 0x1.28p+0, 0x1.2p+0, 0x1.2p+0,
    0x1.18p+0, 0x1.1p+0, 0x1.1p+0, 0x1.08p+0, 0x1.08p+0, 0x1p+0, 0x1p+0, 0x1.e8p-1, 0x1.d8p-1, 0x1.dp-1, 0x1.cp-1,
    0x1.b8p-1, 0x1.a8p-1, 0x1.ap-1, 0x1.98p-1, 0x1.88p-1, 0x1.8p-1, 0x1.78p-1, 0x1.7p-1, 0x1.68p-1, 0x1.6p-1,
    0x1.58p-1};
  static const double __attribute__((aligned(64))) c_log[32] = {
    -0x1.1675cababap-2, -0x1.fb9186d5e4p-3, -0x1.fb9186d5e4p-3, -0x1.c8ff7c79aap-3, -0x1.9525a9cf46p-3,
    -0x1.5ff3070a7ap-3, -0x1.5ff3070a7ap-3, -0x1.29552f82p-3, -0x1.e27076e2bp-4, -0x1.e27076e2bp-4,
    -0x1.6f0d28ae58p-4, -0x1.f0a30c0118p-5, -0x1.f0a30c0118p-5, -0x1.f829b0e78p-6, -0x1.f829b0e78p-6, 0, 0,
    0x1.894aa149f8p-5, 0x1.4d3115d208p-4, 0x1.9335e5d594p-4, 0x1.1178e8227ep-3, 0x1.365fcb015ap-3, 0x1.823c16551ap-3,
    0x1.a93ed3c8aep-3, 0x1.d1037f2656p-3, 0x1.1178e8227ep-2, 0x1.269621134ep-2, 0x1.3c25277333p-2, 0x1.522ae0738ap-2,
    0x1.68ac83e9c7p-2, 0x1.7fafa3bd81p-2, 0x1.973a343135p-2};
#if X86 == 512
  V m = __builtin_ia32_getmantpd512_mask(a, 3 + 8, a, -1, 4), e = __builtin_ia32_getexppd512_mask(a, a, -1, 4);
  *below = (M)(m < B(1.0));
  *k = e + (V)(*below & (M)B(1.0));
#else
  M tiny = (M)(a < B(0x1p-1022)), n = (M)NAME(do_pick)(tiny, a * B(0x1p54), a), e = (n - (M)B(0.75)) >> 52;
  V m = (V)(n - (e << 52));
  *k = (V)(e + (M)B(0x1.8p52)) - B(0x1.8p52) - (V)(tiny & (M)B(54.0));
  *below = (M)(m < B(1.0));
#endif
  *i = (M)m >> 47;
  *first = NAME(do_fma)(*k, B(0x1.62e42fefa38p-1), NAME(do_at)(c_log, *i, *below));
  return NAME(do_fma)(m, NAME(do_at)(c, *i, *below), B(-1.0));
}

/* log(a) of finite a above 0 as a sum of two, of which the second is less than a unit in the last place of the first:
   k log(2) - log(c) + r - r^2 / 2 + r^3 p(r), where p is of degree 8 (interpolated at Chebyshev's points, at 60 digits).
   All but p has twice the digits, and the relative error is 2^-64. */
INLINE V NAME(do_log_parts)(V a, V *low) {
  static const double __attribute__((aligned(64))) c_rest[32] = {
    -0x1.8380e731f55c4p-44, 0x1.d572aab993c87p-47, 0x1.d572aab993c87p-47, 0x1.7794f689f8434p-45,
    0x1.297137d9f158fp-44, 0x1.8586f183bebf2p-44, 0x1.8586f183bebf2p-44, 0x1.5b967f4471dfcp-44,
    0x1.a342c2af0003cp-45, 0x1.a342c2af0003cp-45, 0x1.4b4641b664613p-44, 0x1.d599e83368e91p-45,
    0x1.d599e83368e91p-45, -0x1.980267c7e09e4p-45, -0x1.980267c7e09e4p-45, 0, 0, 0x1.9a19a8be97661p-44,
    -0x1.53a2582f4e1efp-48, 0x1.3115c3abd47dap-45, 0x1.1ef78ce2d07f2p-45, -0x1.fd3a0afb9691bp-44,
    0x1.e0ddb9a631e83p-46, -0x1.8724350562169p-45, -0x1.84a7e75b6f6e4p-47, 0x1.1ef78ce2d07f2p-44,
    -0x1.1b61f10522625p-44, 0x1.83b54b606bd5cp-46, 0x1.ebe708164c759p-45, -0x1.7af966c548a3p-44,
    0x1.46fb79bf6d4cbp-44, 0x1.ab73b16bf4984p-44};
  M i, below;
  V first, k, r = NAME(do_near_1)(a, &first, &k, &i, &below), s = r * r, half = B(0.5) * r, q = r * half, w = s * s;
  V next = first + r, sum = next - q;
  V rest = NAME(do_fma)(k, B(0x1.ef35793c7673p-45), NAME(do_at)(c_rest, i, below)) + ((first - next) + r);
  V a0 = NAME(do_fma)(B(-0x1.0000000000003p-2), r, B(0x1.5555555555555p-2));
  V a1 = NAME(do_fma)(B(-0x1.555555553d17fp-3), r, B(0x1.999999999a778p-3));
  V a2 = NAME(do_fma)(B(-0x1.0000006bfe05bp-3), r, B(0x1.249249019c36ep-3));
  V a3 = NAME(do_fma)(B(-0x1.99c429e325695p-4), r, B(0x1.c7201971573bcp-4));
  V p = NAME(do_fma)(NAME(do_fma)(NAME(do_fma)(B(0x1.64b7162d320e5p-4), s, a3), s, a2), w, NAME(do_fma)(a1, s, a0));
  rest = NAME(do_fma)(s * r, p, (((next - sum) - q) + rest) - NAME(do_fma)(r, half, -q));
  first = sum + rest;
  *low = (sum - first) + rest;
  return first;
}

/* e^(p + e) of |p| <= 746 and an e that is less than a unit in the last place of p. */
INLINE V NAME(do_exp_parts)(V p, V e) {
  V n = NAME(do_fma)(p, B(0x1.71547652b82fep0), B(0x1.8p52)) - B(0x1.8p52);
  V more = NAME(do_fma)(n, B(-0x1.ef35793c7673p-45), e), part = NAME(do_fma)(n, B(-0x1.62e42fefa38p-1), p);
  V r = part + more;
  more = (part - r) + more;
  return NAME(do_scale)(B(1.0) + (NAME(do_fma)(NAME(do_exp_rest)(r), r * r, more) + r), n);
}

/* x^y, as below: |x|^y with the sign of (-1)^y where x is below 0, and no value there unless y is whole. What is 1 for all
   x or all y, even NaN, is as in C. */
SLOW V NAME(do_any_power)(V x, V y) {
  V a = (V)((M)x & ~SIGN), inf = B(__builtin_inf()), low, h = NAME(do_log_parts)(a, &low);
  h = NAME(do_pick)((M)(a < inf), NAME(do_pick)((M)(a > B(0.0)), h, -inf), a + a);
  V p = y * h, e = NAME(do_fma)(y, low, NAME(do_fma)(y, h, -p));
  e = (V)((M)e & (M)((V)((M)p & ~SIGN) < B(750.0)));
  V value = NAME(do_exp_parts)(NAME(do_least)(B(0x1.63p9), NAME(do_most)(B(-0x1.75p9), p)), e);
  M whole = (M)(NAME(do_rint)(y) == y), odd = whole & (M)(NAME(do_rint)(B(0.5) * y) != B(0.5) * y);
  M none = (M)(x < B(0.0)) & ~whole & (M)(a < inf), always = (M)(a == B(1.0)) & (M)((V)((M)y & ~SIGN) == inf);
  value = NAME(do_pick)(none, B(__builtin_nan("")), (V)((M)value | (odd & (M)x & SIGN)));
  return NAME(do_pick)(always | (M)(x == B(1.0)) | (M)(y == B(0.0)), B(1.0), value);
}

/* x^y as exp(y log(x)), with twice the digits up to the exponential: errors are below 1 unit in the last place. */
SLOW V NAME(do_power)(V x, V y) {
  V low, h = NAME(do_log_parts)(x, &low), p = y * h;
  V value = NAME(do_exp_parts)(p, NAME(do_fma)(y, low, NAME(do_fma)(y, h, -p)));
  M usual = (M)((V)((M)p & ~SIGN) < B(700.0));
#if X86 != 512
  usual = usual & (M)(x > B(0.0)) & (M)(x < B(__builtin_inf()));
#endif
  return __builtin_expect(NAME(do_any)(~usual), 0) ? NAME(do_any_power)(x, y) : value;
}

/* x^y of numbers of float32, in float64: the logarithm has a relative error of 2^-37, and the exponential of 2^-32. */
SLOW V NAME(do_short_power)(V x, V y) {
  M i, below;
  V first, k, r = NAME(do_near_1)(x, &first, &k, &i, &below), s = r * r;
  V q = NAME(do_fma)(B(0x1.99c3391f88aaap-3), r, B(-0x1.00006eb59076fp-2));
  V b = NAME(do_fma)(B(0x1.555554a2076cbp-2), r, B(-0x1.fffffffe7f274p-2));
  q = NAME(do_fma)(NAME(do_fma)(B(-0x1.4de119ccb8c1ep-3), s, q), s, b);
  V p = y * (first + NAME(do_fma)(s, q, r));
  V n = NAME(do_fma)(p, B(0x1.71547652b82fep0), B(0x1.8p52)) - B(0x1.8p52);
  V e = NAME(do_fma)(n, B(-0x1.62e42fefa39efp-1), p), u = e * e;
  V a0 = NAME(do_fma)(B(0x1.5555552727bb8p-3), e, B(0x1.0000000b8291cp-1));
  V a1 = NAME(do_fma)(B(0x1.11114bdbfe98fp-7), e, B(0x1.5554e946b40a9p-5));
  V a2 = NAME(do_fma)(B(0x1.a072d39983e67p-13), e, B(0x1.6d42dd6f6ede8p-10));
  V value = NAME(do_fma)(NAME(do_fma)(NAME(do_fma)(a2, u, a1), u, a0), u, e) + B(1.0);
  M usual = (M)((V)((M)p & ~SIGN) < B(80.0));
#if X86 != 512
  usual = usual & (M)(x > B(0.0)) & (M)(x < B(__builtin_inf()));
#endif
  value = NAME(do_scale)(value, n);
  return __builtin_expect(NAME(do_any)(~usual), 0) ? NAME(do_pick)(usual, value, NAME(do_any_power)(x, y)) : value;
}

/* The sine and the cosine of whole vectors, of float64 where a product and a sum are one instruction: the same text in
   the interpreter and in generated code, as vector.h has it. Both are made of one reduction and of the same two
   polynomials, so they are computed together. Errors are below 1.5 units in the last place. */

/* Whether no lane is beyond 2^20 or NaN. */
INLINE int NAME(do_are_near)(V a) {
#if X86 == 512 && !defined __clang__
  return __builtin_ia32_cmppd512_mask(a, B(0x1p20), 2, -1, 4) == 255;
#elif X86 == 256
  return __builtin_ia32_movmskpd256((V)(M)(a <= B(0x1p20))) == 15;
#else
  long long near = -1;
  for (int l = 0; l < W; l++) near &= ((M)(a <= B(0x1p20)))[l];
  return near != 0;
#endif
}

/* Lanes beyond 2^20, infinite or NaN: by the C library, one by one. */
SLOW V NAME(do_far)(V x, V s, V *c) {
  for (int l = 0; l < W; l++)
    if (!(__builtin_fabs(x[l]) <= 0x1p20)) s[l] = __builtin_sin(x[l]), (*c)[l] = __builtin_cos(x[l]);
  return s;
}

/* |x| = n pi/2 + r for |r| <= pi/4. Of the three parts of pi/2 the first has 33 bits, so its product is exact, and so is
   what it leaves, even where that is small. The polynomials are those of FreeBSD's k_sin.c and k_cos.c. An odd n
   exchanges them; its second bit and the sign of x turn the signs. */
SLOW V NAME(do_sin_cos)(V x, V *c) {
  V a = (V)((M)x & ~SIGN), t = NAME(do_fma)(a, B(0x1.45f306dc9c883p-1), B(0x1.8p52)), n = t - B(0x1.8p52);
  V r = NAME(do_fma)(n, B(-0x1.921fb544p+0), a);
  r = NAME(do_fma)(n, B(-0x1.1701b839a252p-88), NAME(do_fma)(n, B(-0x1.0b4611a626331p-34), r));
  V z = r * r, y = z * z;
  V p = NAME(do_fma)(NAME(do_fma)(B(0x1.5d93a5acfd57cp-33), z, B(-0x1.ae5e68a2b9cebp-26)), y,
                     NAME(do_fma)(B(0x1.71de357b1fe7dp-19), z, B(-0x1.a01a019c161d5p-13)));
  V q = NAME(do_fma)(NAME(do_fma)(B(-0x1.8fae9be8838d4p-37), z, B(0x1.1ee9ebdb4b1c4p-29)), y,
                     NAME(do_fma)(B(-0x1.27e4f809c52adp-22), z, B(0x1.a01a019cb159p-16)));
  p = NAME(do_fma)(p, y, NAME(do_fma)(B(0x1.111111110f8a6p-7), z, B(-0x1.5555555555549p-3)));
  q = NAME(do_fma)(q, y, NAME(do_fma)(B(-0x1.6c16c16c15177p-10), z, B(0x1.555555555554cp-5)));
  V s = NAME(do_fma)(r * z, p, r), k = NAME(do_fma)(NAME(do_fma)(q, z, B(-0.5)), z, B(1.0));
  M m = (M)t, odd = -(m & 1), turn = m << 62;
  *c = (V)((M)NAME(do_pick)(odd, s, k) ^ ((turn ^ (m << 63)) & SIGN));
  s = (V)((M)NAME(do_pick)(odd, k, s) ^ ((turn ^ (M)x) & SIGN));
  return __builtin_expect(NAME(do_are_near)(a), 1) ? s : NAME(do_far)(x, s, c);
}

INLINE V NAME(do_sin)(V x) {
  V c;
  return NAME(do_sin_cos)(x, &c);
}

INLINE V NAME(do_cos)(V x) {
  V c;
  NAME(do_sin_cos)(x, &c);
  return c;
}

#endif
