/* What machine.h makes of the rows of instructions.h: the code of each instruction. The macros are the same for
   every kind of vector, so they are defined once; what they name (V, M, B, NAME, AT, VECTOR, the registers) is
   defined where they are used. */

#ifndef SD_HANDLERS_H
#define SD_HANDLERS_H
/* Operations on vectors. */
#define F_add(x, y) ((x) + (y))
#define F_subtract(x, y) ((x) - (y))
#define F_multiply(x, y) ((x) * (y))
#define F_divide(x, y) ((x) / (y))
#define F_minimum(x, y) NAME(do_pick)((M)(x <= y) | (M)(x != x), x, y)
#define F_maximum(x, y) NAME(do_pick)((M)(x >= y) | (M)(x != x), x, y)
#define F_copysign(x, y) NAME(do_copysign)(x, y)
#define F_less(x, y) ((V)(M)(x < y))
#define F_less_equal(x, y) ((V)(M)(x <= y))
#define F_equal(x, y) ((V)(M)(x == y))
#define F_not_equal(x, y) ((V)(M)(x != y))
#define F_logical_and(x, y) ((V)((M)x & (M)y))
#define F_logical_or(x, y) ((V)((M)x | (M)y))
#define F_negative(x) (-(x))
#define F_abs(x) ((V)((M)x & ~SIGN))
#define F_sqrt(x) NAME(do_sqrt)(x)
#define F_floor(x) NAME(do_floor)(x)
#define F_ceil(x) NAME(do_ceil)(x)
#define F_rint(x) NAME(do_rint)(x)
#define F_trunc(x) NAME(do_trunc)(x)
#define F_sign(x) NAME(do_sign)(x)
#define F_fraction(x) NAME(do_fraction)(x)
#define F_exponent(x) NAME(do_exponent)(x)
#define F_logical_not(x) ((V) ~(M)x)
#define F_to_real(x) ((V)((M)x & (M)B(1.0)))

/* The same for every vector of a tile: the registers of the accumulator and the vectors of operands. */
#define SD_ONCE(X, ...) X(0, __VA_ARGS__)
#define SD_EIGHT(X, ...)                                                                           \
  X(0, __VA_ARGS__) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__) X(4, __VA_ARGS__)        \
  X(5, __VA_ARGS__) X(6, __VA_ARGS__) X(7, __VA_ARGS__)
#define NEXT goto *table[*ip]
/* What reads operands from the code, and the operands by their names in instructions.h. */
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
#define SAVE_ROW(k, to) V_AT(to, (long)sizeof(V), k) = a##k;
#define SAVE_FIRST(k, to) if (k < groups) V_AT(to, (long)sizeof(V), k) = a##k;
#define ADD_FIRST(k, to) if (k < groups) to[k & 1] += a##k;
#define DO_UNARY(k, f, x) { const V x_ = x(k); a##k = f(x_); }
#define DO_BINARY(k, f, x, y) { const V x_ = x(k), y_ = y(k); a##k = f(x_, y_); }
#define DO_OUTER(k, f, g, x, y) { const V x_ = x(k), y_ = y(k), z_ = g(x_, y_); a##k = f(a##k, z_); }
#define DO_LATER(k, f, g, x, y) { const V x_ = x(k), y_ = y(k), z_ = g(x_, y_); a##k = f(z_, a##k); }
#define WHERE(k, m, x, y) a##k = NAME(do_pick)((M)m(k), x(k), y(k));
#define FMA(k, x, y, z) a##k = NAME(do_fma)(x(k), y(k), z(k));
#define CODE(name)
#define CODE_UNARY(name, form, x, read) \
  do_##name##_##form : { read; EVERY(DO_UNARY, F_##name, OF_##x) } NEXT;
#define CODE_BINARY(name, form, x, y, read) \
  do_##name##_##form : { read; EVERY(DO_BINARY, F_##name, OF_##x, OF_##y) } NEXT;
#define CODE_OUTER(name, inner, form, x, y, read) \
  do_##name##_##inner##_a##form : { read; EVERY(DO_OUTER, F_##name, F_##inner, OF_##x, OF_##y) } NEXT;
#define CODE_LATER(name, inner, form, x, y, read) \
  do_##name##_##inner##_##form##a : { read; EVERY(DO_LATER, F_##name, F_##inner, OF_##x, OF_##y) } NEXT;
#define ZERO(k, to) to(k) = B(0.0);
#endif
