/* Lanes that are not as the others: the same text in the interpreter and in generated code, as vector.h has it.

   Needs what vector.h needs; D, a number that may be an alias; APART(a), which has lanes at a stored and the upper parts
   of registers clear, before functions of numbers are called. */

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

/* f(x) in the lanes of m, whose numbers are few, and r in the others. */
SLOW V NAME(do_rare)(double (*f)(double), M m, V x, V r) {
  V x_[1] = {x}, r_[1] = {r};
  M m_[1] = {m};
  APART(x_) APART(r_) APART(m_)
  for (int l = 0; l < W; l++)
    if (((D *)m_)[l] != 0) ((D *)r_)[l] = f(((D *)x_)[l]);
  return *r_;
}
