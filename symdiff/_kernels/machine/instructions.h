/* The instructions of the interpreter, one table: opcodes, their names for the assembler and the code of machine.h
   are all made of its rows. Needs nothing. */

#ifndef SD_INSTRUCTIONS_H
#define SD_INSTRUCTIONS_H
/* Every instruction, by where its operands are: a, b and c are tiles in registers, a the accumulator;
   m is a tile in memory, s the one before it once more, k a number, one vector for all of the tile.
   What is computed goes to the accumulator. A row has the name, the form, the operands by their names
   in handlers.h, and what reads them from the code. Operands that may change places are in the order
   a, m, b, c, k. OUTER and LATER are two operations in one, the second on the result of the first;
   LATER has the accumulator behind it. */
#define SD_FORMS(X, name) \
  X(name, am, A, P, ONE) X(name, ma, P, A, ONE) X(name, mm, P, Q, TWO) X(name, aa, A, A, NONE)
#define SD_SYMMETRIC(X, name) \
  X(name, am, A, P, ONE) X(name, mm, P, Q, TWO) X(name, aa, A, A, NONE) \
  X(name, ms, P, P, ONE) X(name, ak, A, K, NUMBER) X(name, mk, P, K, ONE_NUMBER)
#define SD_ORDERED(X, name) \
  SD_FORMS(X, name) X(name, ak, A, K, NUMBER) X(name, ka, K, A, NUMBER) \
  X(name, mk, P, K, ONE_NUMBER) X(name, km, K, P, NUMBER_ONE)
#define SD_UNARY(X, name) X(name, a, A, NONE) X(name, m, P, ONE)
#define SD_PAIR(X, name, inner) X(name, inner, mm, P, Q, TWO)
#define SD_PAIRS(X, name) SD_PAIR(X, name, multiply) SD_PAIR(X, name, add) SD_PAIR(X, name, subtract)
#define SD_PRODUCT(X, name) X(name, multiply, ms, P, P, ONE) X(name, multiply, mk, P, K, ONE_NUMBER)
#define SD_INSTRUCTIONS(MOVE, UNARY, BINARY, OUTER, LATER) \
  MOVE(end) MOVE(load) MOVE(save) \
  MOVE(rows1) MOVE(rows2) MOVE(rows3) MOVE(rows4) MOVE(rows8) MOVE(column) MOVE(shared) \
  MOVE(stores) MOVE(columns) MOVE(fill_columns) MOVE(sums) \
  MOVE(to_column) MOVE(to_number) MOVE(to_sum) MOVE(ask_rows) MOVE(ask_column) \
  MOVE(call1) MOVE(call2) MOVE(lanes1) MOVE(lanes2) MOVE(lanes3) MOVE(lanes4) \
  MOVE(library1) MOVE(library2) MOVE(library3) MOVE(library4) \
  SD_SYMMETRIC(BINARY, add) SD_ORDERED(BINARY, subtract) \
  SD_SYMMETRIC(BINARY, multiply) SD_ORDERED(BINARY, divide) \
  SD_FORMS(BINARY, minimum) SD_FORMS(BINARY, maximum) SD_FORMS(BINARY, copysign) \
  SD_FORMS(BINARY, less) SD_FORMS(BINARY, less_equal) SD_FORMS(BINARY, equal) SD_FORMS(BINARY, not_equal) \
  SD_FORMS(BINARY, logical_and) SD_FORMS(BINARY, logical_or) \
  SD_PAIRS(OUTER, add) SD_PAIRS(OUTER, subtract) SD_PAIRS(OUTER, multiply) SD_PAIRS(OUTER, divide) \
  SD_PAIRS(LATER, subtract) SD_PAIRS(LATER, divide) \
  SD_PRODUCT(OUTER, add) SD_PRODUCT(OUTER, subtract) SD_PRODUCT(LATER, subtract) \
  SD_UNARY(UNARY, negative) SD_UNARY(UNARY, abs) SD_UNARY(UNARY, sqrt) SD_UNARY(UNARY, floor) \
  SD_UNARY(UNARY, ceil) SD_UNARY(UNARY, rint) SD_UNARY(UNARY, trunc) SD_UNARY(UNARY, sign) \
  SD_UNARY(UNARY, fraction) SD_UNARY(UNARY, exponent) SD_UNARY(UNARY, logical_not) SD_UNARY(UNARY, to_real) \
  MOVE(where_amm) MOVE(where_mam) MOVE(where_mma) MOVE(where_mmm) \
  MOVE(fma_amm) MOVE(fma_mma) MOVE(fma_mmm) MOVE(fma_amk) MOVE(fma_mmk)

/* Those that only machines with 32 vector registers have. */
#define SD_SYMMETRIC_REGISTERS(X, name) \
  X(name, ab, A, B, NONE) X(name, ac, A, C, NONE) X(name, mb, P, B, ONE) X(name, mc, P, C, ONE) \
  X(name, bb, B, B, NONE) X(name, bc, B, C, NONE) X(name, cc, C, C, NONE) \
  X(name, bk, B, K, NUMBER) X(name, ck, C, K, NUMBER)
#define SD_ORDERED_REGISTERS(X, name) \
  SD_SYMMETRIC_REGISTERS(X, name) X(name, ba, B, A, NONE) X(name, ca, C, A, NONE) \
  X(name, bm, B, P, ONE) X(name, cm, C, P, ONE) X(name, cb, C, B, NONE) \
  X(name, kb, K, B, NUMBER) X(name, kc, K, C, NUMBER)
#define SD_PRODUCT_REGISTERS(X, name) \
  X(name, multiply, mb, P, B, ONE) X(name, multiply, mc, P, C, ONE) X(name, multiply, bb, B, B, NONE) \
  X(name, multiply, bc, B, C, NONE) X(name, multiply, cc, C, C, NONE) \
  X(name, multiply, bk, B, K, NUMBER) X(name, multiply, ck, C, K, NUMBER)
#define SD_REGISTER_INSTRUCTIONS(MOVE, UNARY, BINARY, OUTER, LATER) \
  MOVE(put_b) MOVE(put_c) MOVE(load_b) MOVE(load_c) \
  SD_SYMMETRIC_REGISTERS(BINARY, add) SD_ORDERED_REGISTERS(BINARY, subtract) \
  SD_SYMMETRIC_REGISTERS(BINARY, multiply) SD_ORDERED_REGISTERS(BINARY, divide) \
  SD_PRODUCT_REGISTERS(OUTER, add) SD_PRODUCT_REGISTERS(OUTER, subtract) SD_PRODUCT_REGISTERS(LATER, subtract)

/* What to make of a row: its number, its name as text, and in machine.h its code. */
#define SD_NUMBER(name) SD_OP_##name,
#define SD_STRING(name) #name,
#define SD_LABEL(name) &&do_##name,
#define SD_EACH_ROW(LIST, X) LIST(X, X##_UNARY, X##_BINARY, X##_OUTER, X##_LATER)
#define SD_NUMBER_UNARY(name, form, x, read) SD_NUMBER(name##_##form)
#define SD_NUMBER_BINARY(name, form, x, y, read) SD_NUMBER(name##_##form)
#define SD_NUMBER_OUTER(name, inner, form, x, y, read) SD_NUMBER(name##_##inner##_a##form)
#define SD_NUMBER_LATER(name, inner, form, x, y, read) SD_NUMBER(name##_##inner##_##form##a)
#define SD_STRING_UNARY(name, form, x, read) SD_STRING(name##_##form)
#define SD_STRING_BINARY(name, form, x, y, read) SD_STRING(name##_##form)
#define SD_STRING_OUTER(name, inner, form, x, y, read) SD_STRING(name##_##inner##_a##form)
#define SD_STRING_LATER(name, inner, form, x, y, read) SD_STRING(name##_##inner##_##form##a)
#define SD_LABEL_UNARY(name, form, x, read) SD_LABEL(name##_##form)
#define SD_LABEL_BINARY(name, form, x, y, read) SD_LABEL(name##_##form)
#define SD_LABEL_OUTER(name, inner, form, x, y, read) SD_LABEL(name##_##inner##_a##form)
#define SD_LABEL_LATER(name, inner, form, x, y, read) SD_LABEL(name##_##inner##_##form##a)
enum {
  SD_EACH_ROW(SD_INSTRUCTIONS, SD_NUMBER) SD_EACH_ROW(SD_REGISTER_INSTRUCTIONS, SD_NUMBER) SD_OPCODE_COUNT
};
static const char *const sd_opcodes[] = {
    SD_EACH_ROW(SD_INSTRUCTIONS, SD_STRING) SD_EACH_ROW(SD_REGISTER_INSTRUCTIONS, SD_STRING)};
#endif
