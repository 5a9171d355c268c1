/* The exponential of whole vectors, of float64 where a product and a sum are one instruction: the same text in
   the interpreter and in generated code, as vector.h has it. The C library's looks numbers up in a table lane
   by lane, which takes most of its time, and is called through a pointer, which registers do not survive.

   Needs vector.h, and what that needs. */

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

/* p 2^n, rounded once. */
INLINE V NAME(do_scale)(V p, V n) {
#if X86 == 512
  return __builtin_ia32_scalefpd512_mask(p, n, p, -1, 4);
#else
  M k = (M)(n + B(0x1.8p52)), h = k >> 1;
  return p * (V)((h << 52) + (M)B(1.0)) * (V)(((k - h) << 52) + (M)B(1.0));
#endif
}

/* x = n log 2 + r with |r| <= log(2) / 2; e^r = 1 + r + r^2 q(r), where q is of degree 9 and such that the
   largest relative error is 0.05 units in the last place (weighted least squares, Lawson's iteration, at 50
   digits). The product of n and the first part of log 2, which has 42 bits, is exact. What is beyond
   the ends of float64 is taken at the ends. */
SLOW V NAME(do_exp)(V x) {
  x = NAME(do_least)(B(0x1.63p9), NAME(do_most)(B(-0x1.75p9), x));
  V n = NAME(do_fma)(x, B(0x1.71547652b82fep0), B(0x1.8p52)) - B(0x1.8p52);
  V r = NAME(do_fma)(n, B(-0x1.62e42fefa38p-1), x);
  r = NAME(do_fma)(n, B(-0x1.ef35793c7673p-45), r);
  V s = r * r, u = s * s;
  V a = NAME(do_fma)(B(0x1.5555555555501p-3), r, B(0x1p-1));
  V b = NAME(do_fma)(B(0x1.111111112896ep-7), r, B(0x1.55555555531ffp-5));
  V c = NAME(do_fma)(B(0x1.a01a011bd9dbfp-13), r, B(0x1.6c16c17cc5ed3p-10));
  V d = NAME(do_fma)(B(0x1.71df55ce620c9p-19), r, B(0x1.a019ab23ceea5p-16));
  V e = NAME(do_fma)(B(0x1.ad1f5d1be9cb7p-26), r, B(0x1.289f94f364097p-22));
  V q = NAME(do_fma)(NAME(do_fma)(e, u, NAME(do_fma)(d, s, c)), u, NAME(do_fma)(b, s, a));
  return NAME(do_scale)(B(1.0) + NAME(do_fma)(q, s, r), n);
}
