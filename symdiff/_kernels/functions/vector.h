/* Functions of one vector: the same text in the interpreter and in generated code, hence the same bits.

   Each paragraph defines one function. The interpreter includes this file once for each kind of vector;
   the emitter of C takes the paragraphs that a kernel needs (codegen/c/spelling.py), in this order. Both
   define before it what it needs: T, a number, and W, how many of them make a vector; V, a vector, and M, a vector of
   whole numbers as wide; B(x), copies of x; SIGN, the bits of the signs; NAME(x), what a function is
   called; X86, the bits of the vector instructions of x86-64 that are there, or 0; KIND(a, b), a builtin's
   name with the letter of the type of its numbers between a and b. */

INLINE V NAME(do_pick)(M m, V a, V b) { return (V)((m & (M)a) | (~m & (M)b)); }

/* Adding 2^52 (2^23 to float32) leaves no room for a fraction; larger numbers have none. The sign of zero is kept. */
INLINE V NAME(do_rint)(V x) {
  V c = B(sizeof(T) == 4 ? 0x1p23 : 0x1p52), a = (V)((M)x & ~SIGN);
  return NAME(do_pick)((M)(a < c), (V)((M)((a + c) - c) | ((M)x & SIGN)), x);
}

INLINE V NAME(do_floor)(V x) {
  V r = NAME(do_rint)(x);
  return r - (V)((M)(r > x) & (M)B(1.0));
}

INLINE V NAME(do_ceil)(V x) {
  V r = NAME(do_rint)(x);
  return (V)((M)(r + (V)((M)(r < x) & (M)B(1.0))) | ((M)x & SIGN));
}

INLINE V NAME(do_trunc)(V x) {
  V a = (V)((M)x & ~SIGN), r = NAME(do_rint)(a);
  return (V)((M)(r - (V)((M)(r > a) & (M)B(1.0))) | ((M)x & SIGN));
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
