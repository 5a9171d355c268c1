/* The function that runs bytecode, for tiles of TILE vectors, 8 or 1. EVERY repeats a statement for each vector of the
   tile; PLACE turns a distance in the code, which is for tiles of eight, into a place in the workspace. machine.h
   includes this file between its two parts, once for each length of tiles, and names of this file are undefined at its
   end. */

#if TILE == 8
#define INTERPRET sd_interpret
#define FAILED sd_failed
#define PLACE(operand) (w + (operand))
#define EVERY SD_EIGHT
#define EVERY_NAME(x) x##0, x##1, x##2, x##3, x##4, x##5, x##6, x##7
#else
#define INTERPRET sd_interpret_one
#define FAILED sd_failed_one
#define PLACE(operand) (w + ((operand) >> 3))
#define EVERY SD_ONCE
#define EVERY_NAME(x) x##0
#endif
#define AT(operand) ((operand) < 0 ? consts + (operand) : (const char *)PLACE(operand))

/* The first sample of the tile that has a checked value of zero, or -1. */
static __attribute__((noinline)) long NAME(FAILED)(const sd_bytecode *b, char *w, long groups, long *which) {
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

/* Give up what is in registers, so that the compiler need not keep it over a call or a loop. */
#if SD_REGISTERS
#define FORGET EVERY(ZERO, OF_A) EVERY(ZERO, OF_B) EVERY(ZERO, OF_C)
#else
#define FORGET EVERY(ZERO, OF_A)
#endif

static long NAME(INTERPRET)(long begin, long end, const char *const *in, const long *si, char *const *out,
                            const long *so, void *work, void *const *fn, long *which) {
  static const void *const labels[] = {
      SD_EACH_ROW(SD_INSTRUCTIONS, SD_LABEL)
#if SD_REGISTERS
      SD_EACH_ROW(SD_REGISTER_INSTRUCTIONS, SD_LABEL)
#endif
  };
#if TILE > 1
  if (end - begin <= W) return NAME(sd_interpret_one)(begin, end, in, si, out, so, work, fn, which);
#endif
  const sd_bytecode *code = fn[0];
  /* in a register: an address made anew by every instruction takes a tenth of the time of long programs */
  const void *const *table = labels;
  __asm__("" : "+r"(table));
  const char *consts = code->consts;
  char *w = work;
  for (long first = begin; first < end; first += TILE * W) {
    const long left = (end - first) / W, groups = left < TILE ? left : TILE;
    const int32_t *ip = code->code;
    const char *p, *q, *r;
    V EVERY_NAME(a);
#if SD_REGISTERS
    V EVERY_NAME(b), EVERY_NAME(c);
#endif
    FORGET
    NEXT;

    SD_EACH_ROW(SD_INSTRUCTIONS, CODE)
#if SD_REGISTERS
    SD_EACH_ROW(SD_REGISTER_INSTRUCTIONS, CODE)
  do_put_b:
    ip += 1;
    EVERY(MOVE_TO, OF_B, OF_A)
    NEXT;
  do_put_c:
    ip += 1;
    EVERY(MOVE_TO, OF_C, OF_A)
    NEXT;
  do_load_b:
    ONE;
    EVERY(MOVE_TO, OF_B, OF_P)
    NEXT;
  do_load_c:
    ONE;
    EVERY(MOVE_TO, OF_C, OF_P)
    NEXT;
#endif
  do_load:
    ONE;
    EVERY(MOVE_TO, OF_A, OF_P)
    NEXT;
  do_save: {
    char *to = PLACE(ip[1]);
    ip += 2;
    EVERY(SAVE, to)
    NEXT;
  }

  do_where_amm:
    TWO;
    EVERY(WHERE, OF_A, OF_P, OF_Q)
    NEXT;
  do_where_mam:
    TWO;
    EVERY(WHERE, OF_P, OF_A, OF_Q)
    NEXT;
  do_where_mma:
    TWO;
    EVERY(WHERE, OF_P, OF_Q, OF_A)
    NEXT;
  do_where_mmm:
    THREE;
    EVERY(WHERE, OF_P, OF_Q, OF_R)
    NEXT;
  do_fma_amm:
    TWO;
    EVERY(FMA, OF_A, OF_P, OF_Q)
    NEXT;
  do_fma_mma:
    TWO;
    EVERY(FMA, OF_P, OF_Q, OF_A)
    NEXT;
  do_fma_mmm:
    THREE;
    EVERY(FMA, OF_P, OF_Q, OF_R)
    NEXT;
  do_fma_amk: {
    ONE_NUMBER;
    EVERY(FMA, OF_A, OF_P, OF_K)
    NEXT;
  }
  do_fma_mmk: {
    TWO_NUMBER;
    EVERY(FMA, OF_P, OF_Q, OF_K)
    NEXT;
  }

  /* Calls go from memory to memory: registers do not survive them. Only samples that exist are
     computed, because the time is spent here. */
  do_call1: {
    V (*const f)(V) = (V(*)(V))code->functions[ip[1]];
    V *to = (V *)PLACE(ip[2]);
    p = AT(ip[3]), ip += 4;
    FORGET
    for (long g = 0; g < groups; g++) to[g] = f(VECTOR(p, g));
    p = (const char *)to;
    EVERY(MOVE_TO, OF_A, OF_P)
    NEXT;
  }
  do_call2: {
    V (*const f)(V, V) = (V(*)(V, V))code->functions[ip[1]];
    V *to = (V *)PLACE(ip[2]);
    p = AT(ip[3]), q = AT(ip[4]), ip += 5;
    FORGET
    for (long g = 0; g < groups; g++) to[g] = f(VECTOR(p, g), VECTOR(q, g));
    p = (const char *)to;
    EVERY(MOVE_TO, OF_A, OF_P)
    NEXT;
  }
/* One sample fills all lanes: its value is computed once. */
#define ALIKE(p) !__builtin_memcmp(p, p + sizeof(T), sizeof(T) * (groups * W - 1))
#define LANES(places, alike, ...) \
  char *to = PLACE(ip[2]); \
  places; \
  FORGET \
  const long few = alike ? 1 : groups * W; \
  APART(w) \
  for (long l = 0; l < few; l++) *(D *)(to + sizeof(T) * l) = f(__VA_ARGS__); \
  for (long l = few; l < groups * W; l++) *(D *)(to + sizeof(T) * l) = *(D *)to; \
  p = to; \
  EVERY(MOVE_TO, OF_A, OF_P) \
  NEXT
#define LANE(p) *(D *)(p + sizeof(T) * l)
  do_lanes1: {
    double (*const f)(double) = (double (*)(double))code->functions[ip[1]];
    LANES((p = AT(ip[3]), ip += 4), ALIKE(p), LANE(p));
  }
  do_lanes2: {
    double (*const f)(double, double) = (double (*)(double, double))code->functions[ip[1]];
    LANES((p = AT(ip[3]), q = AT(ip[4]), ip += 5), ALIKE(p) && ALIKE(q), LANE(p), LANE(q));
  }
  do_lanes3: {
    double (*const f)(double, double, double) = (double (*)(double, double, double))code->functions[ip[1]];
    LANES((p = AT(ip[3]), q = AT(ip[4]), r = AT(ip[5]), ip += 6), ALIKE(p) && ALIKE(q) && ALIKE(r), LANE(p), LANE(q), LANE(r));
  }
  do_lanes4: {
    double (*const f)(double, double, double, double) =
        (double (*)(double, double, double, double))code->functions[ip[1]];
    const char *last;
    LANES((p = AT(ip[3]), q = AT(ip[4]), r = AT(ip[5]), last = AT(ip[6]), ip += 7),
          ALIKE(p) && ALIKE(q) && ALIKE(r) && ALIKE(last), LANE(p), LANE(q), LANE(r), LANE(last));
  }

  /* SciPy's functions take one more argument, which is Cython's and has no meaning. */
  do_library1: {
    double (*const f)(double, int) = (double (*)(double, int))code->functions[ip[1]];
    LANES((p = AT(ip[3]), ip += 4), ALIKE(p), LANE(p), 0);
  }
  do_library2: {
    double (*const f)(double, double, int) = (double (*)(double, double, int))code->functions[ip[1]];
    LANES((p = AT(ip[3]), q = AT(ip[4]), ip += 5), ALIKE(p) && ALIKE(q), LANE(p), LANE(q), 0);
  }
  do_library3: {
    double (*const f)(double, double, double, int) = (double (*)(double, double, double, int))code->functions[ip[1]];
    LANES((p = AT(ip[3]), q = AT(ip[4]), r = AT(ip[5]), ip += 6), ALIKE(p) && ALIKE(q) && ALIKE(r), LANE(p), LANE(q), LANE(r), 0);
  }
  do_library4: {
    double (*const f)(double, double, double, double, int) =
        (double (*)(double, double, double, double, int))code->functions[ip[1]];
    const char *last;
    LANES((p = AT(ip[3]), q = AT(ip[4]), r = AT(ip[5]), last = AT(ip[6]), ip += 7),
          ALIKE(p) && ALIKE(q) && ALIKE(r) && ALIKE(last), LANE(p), LANE(q), LANE(r), LANE(last), 0);
  }
#undef ALIKE
#undef LANES
#undef LANE

    /* Inputs go to memory. What is in registers is lost, but for columns. */
#define ROWS(width) \
  const long s = si[ip[1]]; \
  const char *from = in[ip[1]] + first * s + ip[2]; \
  const int32_t *const to = ip + 3; \
  V t[width]; \
  FORGET \
  ip += 3 + width; \
  for (long g = 0; g < groups; g++, from += W * s)
#define TO(e) ((V *)PLACE(to[e]))[g] = t[e]
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
    if (si[ip[1]] == sizeof(T)) {
      const char *from = in[ip[1]] + first * (long)sizeof(T) + ip[2];
      V *to = (V *)PLACE(ip[3]);
      ip += 4;
      for (long g = 0; g < groups; g++) to[g] = V_AT(from, (long)sizeof(V), g);
    } else {
      ROWS(1) {
        GATHER(from, s, t[0])
        TO(0);
      }
    }
    NEXT;
  }
  do_column: {
    const char *from = in[ip[1]] + ip[2] * si[ip[1]] + first * (long)sizeof(T);
    V *to = (V *)PLACE(ip[3]);
    ip += 4;
    for (long g = 0; g < groups; g++) to[g] = V_AT(from, (long)sizeof(V), g);
    NEXT;
  }
  do_shared: {
    const V same = B(*(D *)(in[ip[1]] + ip[2]));
    V *to = (V *)PLACE(ip[3]);
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
  do_fill_columns: {
    const long step = so[ip[1]];
    char *to = out[ip[1]] + ip[2] * step + first * (long)sizeof(T);
    const int32_t count = ip[3];
    p = AT(ip[4]), ip += 5;
    FORGET
    for (int32_t e = 0; e < count; e++, to += step)
      for (long g = 0; g < groups; g++) V_AT(to, (long)sizeof(V), g) = VECTOR(p, g);
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
            for (int k = 0; k < (s ? W : 1); k++, to += s)
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
    if (groups == TILE) {
      EVERY(SAVE_ROW, to)
    } else {
      EVERY(SAVE_FIRST, to)
    }
    NEXT;
  }
  do_to_number: {
    const long s = so[ip[1]];
    char *to = out[ip[1]] + first * s;
    ip += 2;
    if (s == sizeof(T) && groups == TILE) {
      EVERY(SAVE_ROW, to)
    } else if (s == sizeof(T)) {
      EVERY(SAVE_FIRST, to)
    } else {
      V tile[TILE];
      EVERY(SAVE, tile)
      for (long l = 0; l < groups * W; l++) *(D *)(to + l * s) = *(D *)((char *)tile + l * (long)sizeof(T));
    }
    NEXT;
  }
  /* Sums: as generated code does it, each lane by itself, vectors to the one and the other sum in turns. */
  do_to_sum: {
    V *sum = (V *)out[0] + 2 * ip[1], s[2] = {sum[0], sum[1]};
    ip += 2;
    EVERY(ADD_FIRST, s)
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
    p = (ip[1] < 0 ? out[~ip[1]] : in[ip[1]]) + (first + SD_AHEAD * TILE * W) * s + ip[2] + ip[3] * step;
    ip += 4;
    if (left > SD_AHEAD * TILE && s <= SD_FAR) {
      SD_EIGHT(ASK, p, step)
      p += 8 * step;
      if (s * TILE * W > 8 * SD_LINE) { SD_EIGHT(ASK, p, step) }
    }
    NEXT;
  }
  do_ask_column: {
    p = (ip[1] < 0 ? out[~ip[1]] + ip[2] * so[~ip[1]] : in[ip[1]] + ip[2] * si[ip[1]]) +
        (first + SD_AHEAD * TILE * W) * (long)sizeof(T);
    ip += 3;
    if (left > SD_AHEAD * TILE) { SD_EIGHT(ASK, p, (long)sizeof(V)) }
    NEXT;
  }
  do_end:
    if (code->checked) {
      const long failed = NAME(FAILED)(code, w, groups, which);
      if (failed >= 0) return first + failed;
    }
  }
  return -1;
}

#undef FORGET
#undef PLACE
#undef AT
#undef INTERPRET
#undef FAILED
#undef EVERY
#undef EVERY_NAME
#undef ROWS
#undef TO
#undef FROM
#undef ASK
#undef TILE
