/* The exponential of whole vectors, of float64: the same text in the interpreter and in generated code,
   hence the same bits. The C library's looks numbers up in a table lane by lane, which takes most of its
   time, and is called through a pointer, which registers do not survive.

   x = n log 2 + r with |r| <= log(2) / 2; e^r = 1 + r + r^2 q(r), where q is of degree 9 and such that the
   largest relative error is 0.05 units in the last place (weighted least squares, Lawson's iteration, at 50
   digits). The product of n and the first part of log 2, which has 42 bits, is exact. What is beyond
   the ends of float64 is taken at the ends.

   B(x) is a vector of copies, and these are functions of whole vectors: fma; least and most, which are the
   second operand where either is NaN; and scale(p, n), which is p 2^n rounded once. */

#define EXPONENTIAL(declared, V, B, fma, least, most, scale) \
  declared(V x) { \
    x = least(B(0x1.63p9), most(B(-0x1.75p9), x)); \
    V n = fma(x, B(0x1.71547652b82fep0), B(0x1.8p52)) - B(0x1.8p52); \
    V r = fma(n, B(-0x1.ef35793c7673p-45), fma(n, B(-0x1.62e42fefa38p-1), x)), s = r * r; \
    V a = fma(B(0x1.5555555555501p-3), r, B(0x1p-1)), b = fma(B(0x1.111111112896ep-7), r, B(0x1.55555555531ffp-5)); \
    V c = fma(B(0x1.a01a011bd9dbfp-13), r, B(0x1.6c16c17cc5ed3p-10)); \
    V d = fma(B(0x1.71df55ce620c9p-19), r, B(0x1.a019ab23ceea5p-16)); \
    V e = fma(B(0x1.ad1f5d1be9cb7p-26), r, B(0x1.289f94f364097p-22)), u = s * s; \
    V q = fma(fma(e, u, fma(d, s, c)), u, fma(b, s, a)); \
    return scale(B(1.0) + fma(q, s, r), n); \
  }
