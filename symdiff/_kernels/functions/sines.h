/* The sine and the cosine of whole vectors, of float64 where a product and a sum are one instruction: the same text in
   the interpreter and in generated code, as vector.h has it. Both are made of one reduction and of the same two
   polynomials, so they are computed together. Errors are below 1.5 units in the last place.

   Needs vector.h, and what that needs. */

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
