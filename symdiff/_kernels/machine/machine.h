/* The machine of interpreter.h for vectors of W numbers, float32 if SINGLE and float64 if not: one function that
   runs bytecode. Included once for each kind of vector, under the options of an instruction set that has such
   registers; all names end in W or are undefined at the end.

   Needs interpreter.h, which includes it, vectors.h and handlers.h. */

#include "vectors.h"

#define AT(operand) ((char *)((operand) < 0 ? consts : w) + (operand))
#define VECTOR(p, g) (((const V *)(p))[g])

/* Give up what is in registers, so that the compiler need not keep it over a call or a loop. */
#if SD_REGISTERS
#define FORGET EIGHT(ZERO, OF_A) EIGHT(ZERO, OF_B) EIGHT(ZERO, OF_C)
#else
#define FORGET EIGHT(ZERO, OF_A)
#endif

/* The first sample of the tile that has a checked value of zero, or -1. */
static __attribute__((noinline)) long NAME(sd_failed)(const sd_bytecode *b, char *w, long groups, long *which) {
  const char *consts = b->consts;
  for (long g = 0; g < groups; g++) {
    M bad = (M){0};
    long long any = 0;
    for (long k = 0; k < b->checked; k++) bad |= (M)(VECTOR(AT(b->checks[k]), g) == B(0.0));
    for (int l = 0; l < W; l++) any |= bad[l];
    for (int l = 0; any && l < W; l++)
      for (long k = 0; k < b->checked; k++)
        if (VECTOR(AT(b->checks[k]), g)[l] == 0) {
          *which = k;
          return g * W + l;
        }
  }
  return -1;
}

static long NAME(sd_interpret)(long begin, long end, const char *const *in, const long *si, char *const *out,
                               const long *so, void *work, void *const *fn, long *which) {
  static const void *const labels[] = {
      SD_EACH_ROW(SD_INSTRUCTIONS, SD_LABEL)
#if SD_REGISTERS
      SD_EACH_ROW(SD_REGISTER_INSTRUCTIONS, SD_LABEL)
#endif
  };
  const sd_bytecode *code = fn[0];
  /* in a register, and not an address that every instruction makes anew: a tenth of the time of long programs */
  const void *const *table = labels;
  __asm__("" : "+r"(table));
  const char *consts = code->consts;
  char *w = work;
  for (long first = begin; first < end; first += SD_VECTORS * W) {
    const long left = (end - first) / W, groups = left < SD_VECTORS ? left : SD_VECTORS;
    const int32_t *ip = code->code;
    const char *p, *q, *r;
    V a0, a1, a2, a3, a4, a5, a6, a7;
#if SD_REGISTERS
    V b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5, c6, c7;
#endif
    FORGET
    NEXT;

    SD_EACH_ROW(SD_INSTRUCTIONS, CODE)
#if SD_REGISTERS
    SD_EACH_ROW(SD_REGISTER_INSTRUCTIONS, CODE)
  do_put_b:
    ip += 1;
    EIGHT(MOVE_TO, OF_B, OF_A)
    NEXT;
  do_put_c:
    ip += 1;
    EIGHT(MOVE_TO, OF_C, OF_A)
    NEXT;
  do_load_b:
    ONE;
    EIGHT(MOVE_TO, OF_B, OF_P)
    NEXT;
  do_load_c:
    ONE;
    EIGHT(MOVE_TO, OF_C, OF_P)
    NEXT;
#endif
  do_load:
    ONE;
    EIGHT(MOVE_TO, OF_A, OF_P)
    NEXT;
  do_save: {
    char *to = w + ip[1];
    ip += 2;
    EIGHT(SAVE, to)
    NEXT;
  }

  do_where_amm:
    TWO;
    EIGHT(WHERE, OF_A, OF_P, OF_Q)
    NEXT;
  do_where_mam:
    TWO;
    EIGHT(WHERE, OF_P, OF_A, OF_Q)
    NEXT;
  do_where_mma:
    TWO;
    EIGHT(WHERE, OF_P, OF_Q, OF_A)
    NEXT;
  do_where_mmm:
    THREE;
    EIGHT(WHERE, OF_P, OF_Q, OF_R)
    NEXT;
  do_fma_amm:
    TWO;
    EIGHT(FMA, OF_A, OF_P, OF_Q)
    NEXT;
  do_fma_mma:
    TWO;
    EIGHT(FMA, OF_P, OF_Q, OF_A)
    NEXT;
  do_fma_mmm:
    THREE;
    EIGHT(FMA, OF_P, OF_Q, OF_R)
    NEXT;
  do_fma_amk: {
    ONE_NUMBER;
    EIGHT(FMA, OF_A, OF_P, OF_K)
    NEXT;
  }
  do_fma_mmk: {
    TWO_NUMBER;
    EIGHT(FMA, OF_P, OF_Q, OF_K)
    NEXT;
  }

  /* Calls go from memory to memory: registers do not survive them. Only samples that exist are
     computed, because the time is spent here. */
  do_call1: {
    V (*const f)(V) = (V(*)(V))code->functions[ip[1]];
    V *to = (V *)(w + ip[2]);
    p = AT(ip[3]), ip += 4;
    FORGET
    for (long g = 0; g < groups; g++) to[g] = f(VECTOR(p, g));
    p = (const char *)to;
    EIGHT(MOVE_TO, OF_A, OF_P)
    NEXT;
  }
  do_call2: {
    V (*const f)(V, V) = (V(*)(V, V))code->functions[ip[1]];
    V *to = (V *)(w + ip[2]);
    p = AT(ip[3]), q = AT(ip[4]), ip += 5;
    FORGET
    for (long g = 0; g < groups; g++) to[g] = f(VECTOR(p, g), VECTOR(q, g));
    p = (const char *)to;
    EIGHT(MOVE_TO, OF_A, OF_P)
    NEXT;
  }
  do_lanes1: {
    double (*const f)(double) = (double (*)(double))code->functions[ip[1]];
    char *to = w + ip[2];
    p = AT(ip[3]), ip += 4;
    FORGET
    for (long l = 0; l < groups * W; l++) *(D *)(to + sizeof(T) * l) = f(*(D *)(p + sizeof(T) * l));
    p = to;
    EIGHT(MOVE_TO, OF_A, OF_P)
    NEXT;
  }
  do_lanes2: {
    double (*const f)(double, double) = (double (*)(double, double))code->functions[ip[1]];
    char *to = w + ip[2];
    p = AT(ip[3]), q = AT(ip[4]), ip += 5;
    FORGET
    for (long l = 0; l < groups * W; l++)
      *(D *)(to + sizeof(T) * l) = f(*(D *)(p + sizeof(T) * l), *(D *)(q + sizeof(T) * l));
    p = to;
    EIGHT(MOVE_TO, OF_A, OF_P)
    NEXT;
  }

    /* Inputs go to memory. What is in registers is lost, but for columns. */
#define ROWS(width) \
  const long s = si[ip[1]]; \
  const char *from = in[ip[1]] + first * s + ip[2]; \
  const int32_t *const to = ip + 3; \
  V t[width]; \
  FORGET \
  ip += 3 + width; \
  for (long g = 0; g < groups; g++, from += W * s)
#define TO(e) ((V *)(w + to[e]))[g] = t[e]
  do_rows8: {
    ROWS(8) {
      LOAD8(from, s, t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7])
      TO(0), TO(1), TO(2), TO(3), TO(4), TO(5), TO(6), TO(7);
    }
    NEXT;
  }
  do_rows4: {
    ROWS(4) {
      LOAD4(from, s, t[0], t[1], t[2], t[3])
      TO(0), TO(1), TO(2), TO(3);
    }
    NEXT;
  }
  do_rows3: {
    ROWS(3) {
      LOADROW3(from, s, t[0], t[1], t[2])
      TO(0), TO(1), TO(2);
    }
    NEXT;
  }
  do_rows2: {
    ROWS(2) {
      LOADROW2(from, s, t[0], t[1])
      TO(0), TO(1);
    }
    NEXT;
  }
  do_rows1: {
    ROWS(1) {
      if (s == sizeof(T))
        t[0] = V_AT(from, s, 0);
      else
        GATHER(from, s, t[0])
      TO(0);
    }
    NEXT;
  }
  do_column: {
    const char *from = in[ip[1]] + ip[2] * si[ip[1]] + first * (long)sizeof(T);
    V *to = (V *)(w + ip[3]);
    ip += 4;
    for (long g = 0; g < groups; g++) to[g] = V_AT(from, (long)sizeof(V), g);
    NEXT;
  }
  do_shared: {
    const V same = B(*(D *)(in[ip[1]] + ip[2]));
    V *to = (V *)(w + ip[3]);
    for (long g = 0; g < groups; g++) to[g] = same;
    ip += 4;
    NEXT;
  }

    /* Outputs, from memory or from the accumulator. */
  do_columns: {
    const int32_t *const stop = ip + 2 + 3 * ip[1];
    FORGET
    for (ip += 2; ip < stop; ip += 3) {
      char *to = out[ip[0]] + ip[1] * so[ip[0]] + first * (long)sizeof(T);
      p = AT(ip[2]);
      for (long g = 0; g < groups; g++) V_AT(to, (long)sizeof(V), g) = VECTOR(p, g);
    }
    NEXT;
  }
  /* Blocks, all of one row after another: a block's width, port and place in the row, and its operands; or
     0 for one row of eight numbers, how often and which. */
  do_stores: {
    const int32_t count = ip[1], *const begin = ip + 2;
    FORGET
    for (long g = 0; g < groups; g++) {
      ip = begin;
      for (int32_t block = 0; block < count; block++) {
        const int32_t width = ip[0];
        const long s = so[ip[1]];
        char *to = out[ip[1]] + (first + g * W) * s + ip[2];
        ip += 3;
#define FROM(e) VECTOR(AT(ip[e]), g)
        switch (width) {
          case 8:
            STORE8(to, s, FROM(0), FROM(1), FROM(2), FROM(3), FROM(4), FROM(5), FROM(6), FROM(7))
            break;
          case 4:
            STORE4(to, s, FROM(0), FROM(1), FROM(2), FROM(3))
            break;
          case 3:
            STOREROW3(to, s, FROM(0), FROM(1), FROM(2))
            break;
          case 2:
            STOREROW2(to, s, FROM(0), FROM(1))
            break;
          case 1:
            if (s == sizeof(T))
              V_AT(to, s, 0) = FROM(0);
            else
              SCATTER(to, s, FROM(0))
            break;
          default: {
            const NAME(sd_row) row = *(const NAME(sd_row) *)(code->rows + 8 * sizeof(T) * ip[1]);
            const long length = 8 * sizeof(T) * ip[0];
            for (int k = 0; k < W; k++, to += s)
              for (char *at = to; at < to + length; at += sizeof row) *(NAME(sd_row) *)at = row;
            ip += 2;
          }
        }
        ip += width;
      }
    }
    NEXT;
  }
  do_to_column: {
    char *to = out[ip[1]] + ip[2] * so[ip[1]] + first * (long)sizeof(T);
    ip += 3;
    if (groups == SD_VECTORS) {
      EIGHT(SAVE_ROW, to)
    } else {
      EIGHT(SAVE_FIRST, to)
    }
    NEXT;
  }
  do_to_number: {
    const long s = so[ip[1]];
    char *to = out[ip[1]] + first * s;
    ip += 2;
    if (s == sizeof(T)) {
      EIGHT(SAVE_FIRST, to)
    } else {
      V tile[SD_VECTORS];
      EIGHT(SAVE, tile)
      for (long l = 0; l < groups * W; l++) *(D *)(to + l * s) = *(D *)((char *)tile + l * (long)sizeof(T));
    }
    NEXT;
  }
  /* Sums: as generated code does it, each lane by itself, vectors to the one and the other sum in turns. */
  do_to_sum: {
    V *sum = (V *)out[0] + 2 * ip[1], s[2] = {sum[0], sum[1]};
    ip += 2;
    EIGHT(ADD_FIRST, s)
    sum[0] = s[0], sum[1] = s[1];
    NEXT;
  }
  do_sums: {
    V *sum = (V *)out[0] + 2 * ip[1];
    const int32_t count = ip[2];
    ip += 3;
    for (int32_t e = 0; e < count; e++, ip++)
      for (long g = 0; g < groups; g++) sum[2 * e + (g & 1)] += VECTOR(AT(*ip), g);
    NEXT;
  }

    /* Ask for SD_LINES lines of what is read or written SD_AHEAD tiles later. The processor's own prefetchers
       lose streams that are read a tile at a time; a tile at a time is more than it can ask for, too. */
#define ASK(k, at, step) __builtin_prefetch((at) + (k) * (step), 0, 2);
  do_ask_rows: {
    const long s = ip[1] < 0 ? so[~ip[1]] : si[ip[1]], step = s < SD_LINE ? SD_LINE : s;
    p = (ip[1] < 0 ? out[~ip[1]] : in[ip[1]]) + (first + SD_AHEAD * SD_VECTORS * W) * s + ip[2] + ip[3] * step;
    ip += 4;
    if (left > SD_AHEAD * SD_VECTORS && s <= SD_FAR) {
      EIGHT(ASK, p, step)
      p += 8 * step;
      EIGHT(ASK, p, step)
    }
    NEXT;
  }
  do_ask_column: {
    p = (ip[1] < 0 ? out[~ip[1]] + ip[2] * so[~ip[1]] : in[ip[1]] + ip[2] * si[ip[1]]) +
        (first + SD_AHEAD * SD_VECTORS * W) * (long)sizeof(T);
    ip += 3;
    if (left > SD_AHEAD * SD_VECTORS) { EIGHT(ASK, p, (long)sizeof(V)) }
    NEXT;
  }
  do_end:
    if (code->checked) {
      const long failed = NAME(sd_failed)(code, w, groups, which);
      if (failed >= 0) return first + failed;
    }
  }
  return -1;
}

#include "undefine.h"
