/* The logarithm of whole vectors, of float64 where a product and a sum are one instruction: the same text in the
   interpreter and in generated code, as vector.h has it. The C library's
   is called through a pointer, which registers do not survive.

   Needs vector.h, and what that needs. */

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
