/* Loops over strided arrays: copies, fills, sums and other reductions. */

#ifndef SD_LOOPS_H
#define SD_LOOPS_H
#include <math.h>

#include "../system/sets.h"
#include "plan.h"

/* Loops over strided arrays: as few and as long as strides allow, the shortest way innermost. Copies, fills, and
   the sums of tiles go through these. Elements are read and written by memcpy, since a caller's arrays may be unaligned. */

enum { SD_OPERANDS = 3 };

typedef struct {
  int loops, operands;
  long lengths[SD_AXES], strides[SD_OPERANDS][SD_AXES];
  long at[SD_AXES];
} sd_nest;

static inline long sd_far(long stride) { return stride < 0 ? -stride : stride; }

/* Make the nest of some loops; 0 if it has no element. The first operand's strides tell the order, the others' where
   they are equal. */
static int sd_make_nest(sd_nest *nest, int loops, const long *lengths, int operands, const long *const *strides) {
  nest->loops = 0;
  nest->operands = operands;
  for (int l = 0; l < loops; l++) {
    int at = nest->loops;
    if (lengths[l] == 0) return 0;
    if (lengths[l] == 1) continue;
    for (; at > 0; at--) { /* from the longest way to the shortest */
      int o = 0;
      while (o < operands - 1 && sd_far(strides[o][l]) == sd_far(nest->strides[o][at - 1])) o++;
      if (sd_far(strides[o][l]) <= sd_far(nest->strides[o][at - 1])) break;
      nest->lengths[at] = nest->lengths[at - 1];
      for (int q = 0; q < operands; q++) nest->strides[q][at] = nest->strides[q][at - 1];
    }
    nest->lengths[at] = lengths[l];
    for (int o = 0; o < operands; o++) nest->strides[o][at] = strides[o][l];
    nest->loops++;
  }
  for (int l = nest->loops - 2; l >= 0; l--) { /* a loop that goes on where the one inside it ends is one with it */
    int one = 1;
    for (int o = 0; o < operands; o++) one &= nest->strides[o][l] == nest->strides[o][l + 1] * nest->lengths[l + 1];
    if (!one) continue;
    nest->lengths[l] *= nest->lengths[l + 1];
    nest->loops--;
    for (int o = 0; o < operands; o++) nest->strides[o][l] = nest->strides[o][l + 1];
    for (int k = l + 1; k < nest->loops; k++) {
      nest->lengths[k] = nest->lengths[k + 1];
      for (int o = 0; o < operands; o++) nest->strides[o][k] = nest->strides[o][k + 1];
    }
  }
  if (nest->loops == 0) {
    nest->loops = 1;
    nest->lengths[0] = 1;
    for (int o = 0; o < operands; o++) nest->strides[o][0] = 0;
  }
  memset(nest->at, 0, sizeof nest->at);
  return 1;
}

/* Go on to the next run along the innermost loop; 0 after the last. */
static inline int sd_next(sd_nest *nest, char **at) {
  for (int l = nest->loops - 2; l >= 0; l--) {
    for (int o = 0; o < nest->operands; o++) at[o] += nest->strides[o][l];
    if (++nest->at[l] < nest->lengths[l]) return 1;
    for (int o = 0; o < nest->operands; o++) at[o] -= nest->at[l] * nest->strides[o][l];
    nest->at[l] = 0;
  }
  return 0;
}

static inline double sd_get(const char *at, long item) {
  double x;
  float y;
  if (item == 4) {
    memcpy(&y, at, sizeof y);
    return y;
  }
  memcpy(&x, at, sizeof x);
  return x;
}

static inline void sd_set_number(char *at, long item, double x) {
  float y = (float)x;
  if (item == 4)
    memcpy(at, &y, sizeof y);
  else
    memcpy(at, &x, sizeof x);
}

#define SD_RUN_OF(NAME, FROM, TO)                                                             \
  static inline void NAME(char *to, long step, const char *from, long stride, long count) {   \
    for (long i = 0; i < count; i++) {                                                        \
      FROM x;                                                                                 \
      TO y;                                                                                   \
      memcpy(&x, from + i * stride, sizeof x);                                                \
      y = (TO)x;                                                                              \
      memcpy(to + i * step, &y, sizeof y);                                                    \
    }                                                                                         \
  }
SD_RUN_OF(sd_run_dd, double, double)
SD_RUN_OF(sd_run_df, double, float)
SD_RUN_OF(sd_run_fd, float, double)
SD_RUN_OF(sd_run_ff, float, float)
#undef SD_RUN_OF

/* Copy along the loops of a nest, of which the first operand is written. */
static void sd_copy_nest(sd_nest *nest, char *to, long item, const char *from, long other) {
  char *at[SD_OPERANDS] = {to, (char *)from, 0};
  int last = nest->loops - 1;
  long count = nest->lengths[last], step = nest->strides[0][last], stride = nest->strides[1][last];
  memset(nest->at, 0, sizeof nest->at);
  do {
    if (item == other && step == item && stride == item)
      memcpy(at[0], at[1], (size_t)(count * item));
    else if (item == 8)
      (other == 8 ? sd_run_dd : sd_run_fd)(at[0], step, at[1], stride, count);
    else
      (other == 8 ? sd_run_df : sd_run_ff)(at[0], step, at[1], stride, count);
  } while (sd_next(nest, at));
}

static void sd_copy_seen(const sd_seen *to, const sd_seen *from, int loops, const long *lengths) {
  const long *strides[] = {to->strides, from->strides};
  sd_nest nest;
  if (sd_make_nest(&nest, loops, lengths, 2, strides)) sd_copy_nest(&nest, to->data, to->item, from->data, from->item);
}

static void sd_fill_seen(const sd_seen *to, int loops, const long *lengths, double value) {
  const long *strides[] = {to->strides};
  char *at[SD_OPERANDS] = {to->data, 0, 0};
  static const double nothing = 0.0;
  int last, zero = memcmp(&value, &nothing, sizeof value) == 0; /* and not -0 */
  sd_nest nest;
  if (!sd_make_nest(&nest, loops, lengths, 1, strides)) return;
  last = nest.loops - 1;
  do
    if (zero && nest.strides[0][last] == to->item)
      memset(at[0], 0, (size_t)(nest.lengths[last] * to->item));
    else
      for (long i = 0; i < nest.lengths[last]; i++) sd_set_number(at[0] + i * nest.strides[0][last], to->item, value);
  while (sd_next(&nest, at));
}

static inline double sd_combine(int op, double x, double y) {
  switch (op) {
    case SD_MULTIPLY: return x * y;
    case SD_MAX: return x > y || x != x ? x : y;
    case SD_MIN: return x < y || x != x ? x : y;
    default: return x + y;
  }
}

/* Combine what is in `to` with what is in `from`. */
static void sd_combine_seen(const sd_seen *to, const sd_seen *from, int loops, const long *lengths, int op) {
  const long *strides[] = {to->strides, from->strides};
  char *at[SD_OPERANDS] = {to->data, from->data, 0};
  sd_nest nest;
  int last;
  if (!sd_make_nest(&nest, loops, lengths, 2, strides)) return;
  last = nest.loops - 1;
  do
    for (long i = 0; i < nest.lengths[last]; i++) {
      char *here = at[0] + i * nest.strides[0][last];
      const char *there = at[1] + i * nest.strides[1][last];
      sd_set_number(here, to->item, sd_combine(op, sd_get(here, to->item), sd_get(there, from->item)));
    }
  while (sd_next(&nest, at));
}

/* Lengths of a step's loops, in this tile. */
static inline const long *sd_lengths(const sd_state *s, const sd_step *step, long *lengths) {
  if (!step->tiled) return step->lengths;
  memcpy(lengths, step->lengths, sizeof step->lengths);
  lengths[0] = s->rows;
  return lengths;
}

/* Whether an array with the given strides has its elements in order, without gaps. */
static int sd_has_no_gaps(const sd_array *array, const long *strides) {
  for (int x = 0; x < array->rank; x++)
    if (array->shape[x] > 1 && strides[x] != array->strides[x]) return 0;
  return 1;
}

static long sd_run_copy(sd_state *s, const sd_step *step, long *which) {
  long room[SD_AXES];
  sd_seen from, to;
  (void)which;
  if (step->given && sd_has_no_gaps(s->job->plan->arrays + step->views[1].array, s->job->strides[step->views->array])) {
    /* the steps after all tiles find it in the job */
    ((char **)s->job->data)[step->views[1].array] = s->data[step->views[1].array] = s->data[step->views->array];
    return -1;
  }
  if (!step->views->rank && !step->views[1].rank) { /* one number: most that a loop is given */
    const sd_array *one = s->job->plan->arrays + step->views->array, *other = s->job->plan->arrays + step->views[1].array;
    if (one->item == other->item) {
      memcpy(s->data[step->views[1].array], s->data[step->views->array], (size_t)one->item);
      return -1;
    }
  }
  sd_see(s, step->views, &from);
  sd_see(s, step->views + 1, &to);
  sd_copy_seen(&to, &from, step->loops, sd_lengths(s, step, room));
  return -1;
}

static long sd_run_fill(sd_state *s, const sd_step *step, long *which) {
  long room[SD_AXES];
  sd_seen to;
  (void)which;
  sd_see(s, step->views, &to);
  sd_fill_seen(&to, step->loops, sd_lengths(s, step, room), step->value);
  return -1;
}

typedef double sd_loose_double __attribute__((aligned(1), may_alias));
typedef float sd_loose_float __attribute__((aligned(1), may_alias));
typedef double sd_pair __attribute__((vector_size(16), aligned(1), may_alias));
typedef float sd_four __attribute__((vector_size(16), aligned(1), may_alias));

/* Add `rows` rows of `count` neighbours to as many, or, where `apart` is 0, all to one; `stride` and `apart` bytes are
   from row to row. The order of the sums is that of the rows. */
#define SD_ADD_ROWS(NAME, TYPE, VECTOR)                                                            \
  static void NAME(char *to, long apart, const char *from, long stride, long rows, long count) {   \
    enum { LANES = sizeof(VECTOR) / sizeof(TYPE) };                                                \
    if (apart == count * (long)sizeof(TYPE) && stride == apart) count *= rows, rows = 1;           \
    for (long r = 0; apart && r < rows; r++, to += apart, from += stride) {                        \
      long e = 0;                                                                                  \
      for (; e + LANES <= count; e += LANES)                                                       \
        *(VECTOR *)(to + e * sizeof(TYPE)) += *(const VECTOR *)(from + e * sizeof(TYPE));          \
      for (; e < count; e++) {                                                                     \
        TYPE x, y;                                                                                 \
        memcpy(&x, to + e * sizeof x, sizeof x), memcpy(&y, from + e * sizeof y, sizeof y);        \
        x += y;                                                                                    \
        memcpy(to + e * sizeof x, &x, sizeof x);                                                   \
      }                                                                                            \
    }                                                                                              \
    for (long e = 0, n; !apart && e < count; e += n) {                                         \
      n = count - e < 4 ? count - e : 4;                                                       \
      if (n == 4) {                                                                            \
        SD_SUM_ROWS(TYPE, 4)                                                                   \
      } else if (n == 3) {                                                                     \
        SD_SUM_ROWS(TYPE, 3)                                                                   \
      } else if (n == 2) {                                                                     \
        SD_SUM_ROWS(TYPE, 2)                                                                   \
      } else {                                                                                 \
        SD_SUM_ROWS(TYPE, 1)                                                                   \
      }                                                                                        \
    }                                                                                          \
  }
/* Add up to four elements of each row in variables of their own, which the compiler keeps in registers. */
#define SD_SUM_ROWS(TYPE, N)                                                                   \
  TYPE a = SD_TERM(TYPE, to, e, 0, N), b = SD_TERM(TYPE, to, e, 1, N);                         \
  TYPE c = SD_TERM(TYPE, to, e, 2, N), d = SD_TERM(TYPE, to, e, 3, N);                         \
  const char *at = from;                                                                       \
  for (long r = 0; r < rows; r++, at += stride) {                                              \
    a += SD_TERM(TYPE, at, e, 0, N), b += SD_TERM(TYPE, at, e, 1, N);                          \
    c += SD_TERM(TYPE, at, e, 2, N), d += SD_TERM(TYPE, at, e, 3, N);                          \
  }                                                                                            \
  SD_TERM(TYPE, to, e, 0, N) = a;                                                              \
  if (N > 1) SD_TERM(TYPE, to, e, 1, N) = b;                                                   \
  if (N > 2) SD_TERM(TYPE, to, e, 2, N) = c;                                                   \
  if (N > 3) SD_TERM(TYPE, to, e, 3, N) = d;
/* Element e + k of a row, or again element e where there is no such; unaligned. */
#define SD_TERM(TYPE, row, e, k, N) ((sd_loose_##TYPE *)(row))[(e) + ((k) < (N) ? (k) : 0)]
SD_ADD_ROWS(sd_add_rows_d, double, sd_pair)
SD_ADD_ROWS(sd_add_rows_f, float, sd_four)
#undef SD_TERM
#undef SD_SUM_ROWS
#undef SD_ADD_ROWS

/* Add numbers to those at listed positions, in their order: one at a time, since lengths of runs are not foreseen. */
#define SD_ADD_LISTED(NAME, TYPE)                                                                          \
  static void NAME(char *to, long apart, const char *from, long stride, const long *indices, long count) { \
    for (long k = 0; k < count; k++, from += stride) {                                                     \
      char *at = to + indices[2 * k] * apart;                                                              \
      TYPE x, y;                                                                                           \
      memcpy(&x, at, sizeof x), memcpy(&y, from, sizeof y);                                                \
      x += y;                                                                                              \
      memcpy(at, &x, sizeof x);                                                                            \
    }                                                                                                      \
  }
SD_ADD_LISTED(sd_add_listed_d, double)
SD_ADD_LISTED(sd_add_listed_f, float)
#undef SD_ADD_LISTED

/* Rows of neighbouring elements combined by whole vectors: the largest or smallest of one, and rows onto each other.
   Each function is there for each set of vector instructions, of which the processor's widest runs. */

#if defined __x86_64__ && defined __GNUC__
#include <immintrin.h>
#define SD_X86
#endif

/* Bytes ahead that long rows are prefetched. */
enum { SD_STREAMED = 8192 };

/* The largest or smallest of at least eight vectors of neighbours; nan if there is one. The instructions pass over
   nan in their first operand, so two vectors at a time are compared for that. */
#define SD_EXTREME(NAME, TYPE, VECTOR, ODD, LOAD, STORE, BETTER, UNORDERED, ANY, OP)                     \
  static TYPE NAME(const TYPE *x, long count) {                                                          \
    enum { LANES = sizeof(VECTOR) / sizeof(TYPE) };                                                      \
    VECTOR a = LOAD(x), b = LOAD(x + LANES), c = LOAD(x + 2 * LANES), d = LOAD(x + 3 * LANES);           \
    VECTOR e = LOAD(x + 4 * LANES), f = LOAD(x + 5 * LANES), g = LOAD(x + 6 * LANES);                    \
    VECTOR h = LOAD(x + 7 * LANES);                                                                      \
    ODD odd = UNORDERED(a, b) | UNORDERED(c, d) | UNORDERED(e, f) | UNORDERED(g, h);                     \
    TYPE lanes[LANES], best;                                                                             \
    for (long i = 8 * LANES; i < count; i += 8 * LANES) {                                                \
      const TYPE *at = x + (i + 8 * LANES <= count ? i : count - 8 * LANES); /* some of them once more */ \
      for (int k = 0; k < 8 * (int)sizeof(VECTOR); k += SD_LINE)                                         \
        __builtin_prefetch((const char *)at + SD_STREAMED + k);                                          \
      VECTOR p = LOAD(at), q = LOAD(at + LANES), r = LOAD(at + 2 * LANES), s = LOAD(at + 3 * LANES);     \
      VECTOR t = LOAD(at + 4 * LANES), u = LOAD(at + 5 * LANES), v = LOAD(at + 6 * LANES);               \
      VECTOR w = LOAD(at + 7 * LANES);                                                                   \
      odd |= UNORDERED(p, q) | UNORDERED(r, s);                                                          \
      odd |= UNORDERED(t, u) | UNORDERED(v, w);                                                          \
      a = BETTER(p, a), b = BETTER(q, b), c = BETTER(r, c), d = BETTER(s, d);                            \
      e = BETTER(t, e), f = BETTER(u, f), g = BETTER(v, g), h = BETTER(w, h);                            \
    }                                                                                                    \
    if (ANY(odd)) return NAN;                                                                            \
    a = BETTER(BETTER(a, b), BETTER(c, d)), e = BETTER(BETTER(e, f), BETTER(g, h));                      \
    STORE(lanes, BETTER(a, e));                                                                          \
    best = lanes[0];                                                                                     \
    for (int l = 1; l < LANES; l++)                                                                      \
      if (lanes[l] OP best) best = lanes[l];                                                             \
    return best;                                                                                         \
  }

/* Combine `rows` rows, `stride` bytes apart, with what is in `to`, in their order; a few vectors of each at a time,
   which stay in registers. */
#define SD_COMBINE_ROWS(NAME, TYPE, VECTOR, WHOLE, COMBINE)                                              \
  static void NAME(TYPE *to, const char *from, long stride, long rows, long count) {                     \
    enum { LANES = sizeof(VECTOR) / sizeof(TYPE) };                                                      \
    typedef VECTOR loose __attribute__((aligned(1), may_alias));                                         \
    typedef TYPE one __attribute__((aligned(1), may_alias));                                             \
    long i = 0;                                                                                          \
    for (; i + 4 * LANES <= count; i += 4 * LANES) {                                                     \
      loose *at = (loose *)((one *)to + i);                                                              \
      VECTOR a = at[0], b = at[1], c = at[2], d = at[3];                                                 \
      for (long r = 0; r < rows; r++) {                                                                  \
        const loose *x = (const loose *)((const one *)(from + r * stride) + i);                          \
        COMBINE(VECTOR, WHOLE, a, x[0]) COMBINE(VECTOR, WHOLE, b, x[1])                                  \
        COMBINE(VECTOR, WHOLE, c, x[2]) COMBINE(VECTOR, WHOLE, d, x[3])                                  \
      }                                                                                                  \
      at[0] = a, at[1] = b, at[2] = c, at[3] = d;                                                        \
    }                                                                                                    \
    for (; i + LANES <= count; i += LANES) {                                                             \
      VECTOR a = *(loose *)((one *)to + i);                                                              \
      for (long r = 0; r < rows; r++) {                                                                  \
        const loose *x = (const loose *)((const one *)(from + r * stride) + i);                          \
        COMBINE(VECTOR, WHOLE, a, x[0])                                                                  \
      }                                                                                                  \
      *(loose *)((one *)to + i) = a;                                                                     \
    }                                                                                                    \
    for (; i < count; i++) {                                                                             \
      VECTOR a = {((one *)to)[i]};                                                                       \
      for (long r = 0; r < rows; r++) {                                                                  \
        VECTOR x = {((const one *)(from + r * stride))[i]};                                              \
        COMBINE(VECTOR, WHOLE, a, x)                                                                     \
      }                                                                                                  \
      ((one *)to)[i] = a[0];                                                                             \
    }                                                                                                    \
  }

/* Rows of a run, from which on runs are added up as such, and rows ahead that are asked for. */
enum { SD_ROWS_RUN = 4, SD_ROWS_SOON = 8 };

/* Add rows of `bytes` neighbours to those at listed positions, in their order, one at a time up to a run of many; returns how
   many that were. */
#define SD_ADD_LISTED_ROWS(NAME, TYPE, VECTOR)                                                            \
  static long NAME(char *to, long apart, const char *from, long stride, const long *indices, long rows,   \
                   long bytes) {                                                                          \
    typedef VECTOR loose __attribute__((aligned(1), may_alias));                                          \
    typedef TYPE half __attribute__((vector_size(sizeof(VECTOR) / 2), aligned(1), may_alias));            \
    typedef TYPE least __attribute__((vector_size(16), aligned(1), may_alias));                           \
    typedef TYPE one __attribute__((aligned(1), may_alias));                                              \
    enum { WHOLE = sizeof(VECTOR), HALF = WHOLE / 2, LEAST = sizeof(least) };                             \
    for (long k = 0; k < rows; k++, from += stride) {                                                     \
      char *at = to + indices[2 * k] * apart;                                                             \
      long b = 0, run = indices[2 * k + 1];                                                               \
      if (run >= SD_ROWS_RUN || run <= -SD_ROWS_RUN) return k;                                            \
      if (bytes >= SD_LINE && k + SD_ROWS_SOON < rows) {                                                  \
        const char *soon = to + indices[2 * (k + SD_ROWS_SOON)] * apart;                                  \
        for (long line = 0; line < bytes; line += SD_LINE) __builtin_prefetch(soon + line, 1);            \
      }                                                                                                   \
      for (; b + WHOLE <= bytes; b += WHOLE) *(loose *)(at + b) += *(const loose *)(from + b);            \
      if (b + HALF <= bytes) *(half *)(at + b) += *(const half *)(from + b), b += HALF;                   \
      if (b + LEAST <= bytes) *(least *)(at + b) += *(const least *)(from + b), b += LEAST;               \
      for (; b < bytes; b += (long)sizeof(TYPE)) *(one *)(at + b) += *(const one *)(from + b);            \
    }                                                                                                     \
    return rows;                                                                                          \
  }
#define SD_PLUS(VECTOR, WHOLE, a, x) a += x;
#define SD_TIMES(VECTOR, WHOLE, a, x) a *= x;
#define SD_BETTER(VECTOR, WHOLE, a, x, OP)                          \
  {                                                                 \
    VECTOR y = x;                                                   \
    WHOLE keep = (WHOLE)(a OP y) | (WHOLE)(a != a);                 \
    a = (VECTOR)((keep & (WHOLE)a) | (~keep & (WHOLE)y));           \
  }
#define SD_LARGER(VECTOR, WHOLE, a, x) SD_BETTER(VECTOR, WHOLE, a, x, >)
#define SD_SMALLER(VECTOR, WHOLE, a, x) SD_BETTER(VECTOR, WHOLE, a, x, <)

typedef struct sd_row_functions {
  double (*largest_d)(const double *, long), (*smallest_d)(const double *, long);
  float (*largest_f)(const float *, long), (*smallest_f)(const float *, long);
  void (*rows_d[4])(double *, const char *, long, long, long); /* as operations are numbered */
  void (*rows_f[4])(float *, const char *, long, long, long);
  long (*listed_d)(char *, long, const char *, long, const long *, long, long);
  long (*listed_f)(char *, long, const char *, long, const long *, long, long);
  long extreme;                          /* bytes of which there is a largest by vectors, at least */
  const struct sd_row_functions *narrower; /* or null */
} sd_row_functions;

#define SD_ROWS_SET(SET, BYTES)                                                                          \
  typedef double sd_d_##SET __attribute__((vector_size(BYTES)));                                         \
  typedef float sd_f_##SET __attribute__((vector_size(BYTES)));                                          \
  typedef long long sd_l_##SET __attribute__((vector_size(BYTES)));                                      \
  typedef int sd_i_##SET __attribute__((vector_size(BYTES)));                                            \
  SD_COMBINE_ROWS(sd_plus_d_##SET, double, sd_d_##SET, sd_l_##SET, SD_PLUS)                              \
  SD_COMBINE_ROWS(sd_times_d_##SET, double, sd_d_##SET, sd_l_##SET, SD_TIMES)                            \
  SD_COMBINE_ROWS(sd_larger_d_##SET, double, sd_d_##SET, sd_l_##SET, SD_LARGER)                          \
  SD_COMBINE_ROWS(sd_smaller_d_##SET, double, sd_d_##SET, sd_l_##SET, SD_SMALLER)                        \
  SD_COMBINE_ROWS(sd_plus_f_##SET, float, sd_f_##SET, sd_i_##SET, SD_PLUS)                               \
  SD_COMBINE_ROWS(sd_times_f_##SET, float, sd_f_##SET, sd_i_##SET, SD_TIMES)                             \
  SD_COMBINE_ROWS(sd_larger_f_##SET, float, sd_f_##SET, sd_i_##SET, SD_LARGER)                           \
  SD_COMBINE_ROWS(sd_smaller_f_##SET, float, sd_f_##SET, sd_i_##SET, SD_SMALLER)                         \
  SD_ADD_LISTED_ROWS(sd_add_listed_rows_d_##SET, double, sd_d_##SET)                                     \
  SD_ADD_LISTED_ROWS(sd_add_listed_rows_f_##SET, float, sd_f_##SET)
#define SD_ROWS_OF_SET(SET)                                                                              \
  {sd_plus_d_##SET, sd_times_d_##SET, sd_larger_d_##SET, sd_smaller_d_##SET},                            \
  {sd_plus_f_##SET, sd_times_f_##SET, sd_larger_f_##SET, sd_smaller_f_##SET},                            \
  sd_add_listed_rows_d_##SET, sd_add_listed_rows_f_##SET
#define SD_EXTREMES_OF_SET(SET) sd_largest_d_##SET, sd_smallest_d_##SET, sd_largest_f_##SET, sd_smallest_f_##SET

SD_ROWS_SET(narrow, 16)
#ifdef SD_X86
#define SD_ODD_D(a, b) _mm_castpd_si128(_mm_cmpunord_pd(a, b))
#define SD_ODD_F(a, b) _mm_castps_si128(_mm_cmpunord_ps(a, b))
SD_EXTREME(sd_largest_d_narrow, double, __m128d, __m128i, _mm_loadu_pd, _mm_storeu_pd, _mm_max_pd,
           SD_ODD_D, _mm_movemask_epi8, >)
SD_EXTREME(sd_smallest_d_narrow, double, __m128d, __m128i, _mm_loadu_pd, _mm_storeu_pd, _mm_min_pd,
           SD_ODD_D, _mm_movemask_epi8, <)
SD_EXTREME(sd_largest_f_narrow, float, __m128, __m128i, _mm_loadu_ps, _mm_storeu_ps, _mm_max_ps,
           SD_ODD_F, _mm_movemask_epi8, >)
SD_EXTREME(sd_smallest_f_narrow, float, __m128, __m128i, _mm_loadu_ps, _mm_storeu_ps, _mm_min_ps,
           SD_ODD_F, _mm_movemask_epi8, <)
#undef SD_ODD_D
#undef SD_ODD_F
static const sd_row_functions sd_rows_narrow = {SD_EXTREMES_OF_SET(narrow), SD_ROWS_OF_SET(narrow), 128, 0};
#else
static const sd_row_functions sd_rows_narrow = {0, 0, 0, 0, SD_ROWS_OF_SET(narrow), LONG_MAX, 0};
#endif

#ifdef SD_X86
SD_BEGIN_AVX2
SD_ROWS_SET(avx2, 32)
#define SD_ODD_D(a, b) _mm256_castpd_si256(_mm256_cmp_pd(a, b, _CMP_UNORD_Q))
#define SD_ODD_F(a, b) _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_UNORD_Q))
SD_EXTREME(sd_largest_d_avx2, double, __m256d, __m256i, _mm256_loadu_pd, _mm256_storeu_pd,
           _mm256_max_pd, SD_ODD_D, _mm256_movemask_epi8, >)
SD_EXTREME(sd_smallest_d_avx2, double, __m256d, __m256i, _mm256_loadu_pd, _mm256_storeu_pd,
           _mm256_min_pd, SD_ODD_D, _mm256_movemask_epi8, <)
SD_EXTREME(sd_largest_f_avx2, float, __m256, __m256i, _mm256_loadu_ps, _mm256_storeu_ps,
           _mm256_max_ps, SD_ODD_F, _mm256_movemask_epi8, >)
SD_EXTREME(sd_smallest_f_avx2, float, __m256, __m256i, _mm256_loadu_ps, _mm256_storeu_ps,
           _mm256_min_ps, SD_ODD_F, _mm256_movemask_epi8, <)
#undef SD_ODD_D
#undef SD_ODD_F
static const sd_row_functions sd_rows_avx2 = {SD_EXTREMES_OF_SET(avx2), SD_ROWS_OF_SET(avx2), 256, &sd_rows_narrow};
SD_END_SET
SD_BEGIN_AVX512
SD_ROWS_SET(avx512, 64)
#define SD_ODD_D(a, b) _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q)
#define SD_ODD_F(a, b) _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q)
SD_EXTREME(sd_largest_d_avx512, double, __m512d, int, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_max_pd, SD_ODD_D, , >)
SD_EXTREME(sd_smallest_d_avx512, double, __m512d, int, _mm512_loadu_pd, _mm512_storeu_pd,
           _mm512_min_pd, SD_ODD_D, , <)
SD_EXTREME(sd_largest_f_avx512, float, __m512, int, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_max_ps, SD_ODD_F, , >)
SD_EXTREME(sd_smallest_f_avx512, float, __m512, int, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_min_ps, SD_ODD_F, , <)
#undef SD_ODD_D
#undef SD_ODD_F
static const sd_row_functions sd_rows_avx512 = {SD_EXTREMES_OF_SET(avx512), SD_ROWS_OF_SET(avx512), 512, &sd_rows_avx2};
SD_END_SET
#endif

/* The functions for this processor. */
static const sd_row_functions *sd_find_rows(void) {
#ifdef SD_X86
  const int set = sd_best_set();
  if (set == SD_SET_AVX512) return &sd_rows_avx512;
  if (set == SD_SET_AVX2) return &sd_rows_avx2;
#endif
  return &sd_rows_narrow;
}

/* Add rows of `count` neighbours to those at listed positions, in their order: many that go on, or are of one position, at
   once. */
static void sd_add_listed_rows(char *to, long apart, const char *from, long stride, const long *indices, long rows,
                               long count, long item) {
  const sd_row_functions *by = sd_find_rows();
  for (long k = 0, n; k < rows; k += n) {
    long run;
    k += (item == 8 ? by->listed_d : by->listed_f)(to, apart, from + k * stride, stride, indices + 2 * k, rows - k,
                                                   count * item);
    if (k == rows) return;
    run = indices[2 * k + 1], n = run < 0 ? -run : run;
    if (n > rows - k) n = rows - k;
    (item == 8 ? sd_add_rows_d : sd_add_rows_f)(to + indices[2 * k] * apart, run < 0 ? 0 : apart, from + k * stride, stride,
                                                n, count);
  }
}

static long sd_run_gather(sd_state *s, const sd_step *step, long *which) {
  long room[SD_AXES], others[SD_AXES], count, listed_in, listed_out;
  const long *indices = step->indices + (step->tiled && step->listed == 0 ? 2 * s->first : 0); /* of a part of an axis */
  const long *lengths = sd_lengths(s, step, room), *strides[2];
  sd_seen from, to;
  sd_nest nest;
  char *at[SD_OPERANDS];
  int last, neighbours;
  (void)which;
  sd_see(s, step->views, &from);
  sd_see(s, step->views + 1, &to);
  at[0] = to.data, at[1] = from.data;
  strides[0] = to.strides, strides[1] = from.strides;
  count = lengths[step->listed];
  listed_in = from.strides[step->listed], listed_out = to.strides[step->listed];
  memcpy(others, lengths, sizeof others);
  others[step->listed] = 1;
  if (step->scatter) { /* the array's own axes, all of them */
    const sd_view *v = step->views + 1;
    const sd_array *array = s->job->plan->arrays + v->array;
    long shape[SD_RANK];
    memcpy(shape, array->shape, sizeof shape);
    if (array->tiled) shape[0] = s->rows;
    if (s->fresh || step->listed > 0 || !step->tiled)
      sd_zero_array(s->data[v->array], array->rank, shape, s->job->strides[v->array], to.item);
    if (!sd_make_nest(&nest, step->loops, others, 2, strides)) return -1;
    last = nest.loops - 1;
    if (nest.loops == 1 && nest.lengths[0] == 1) {
      (to.item == 8 ? sd_add_listed_d : sd_add_listed_f)(at[0], listed_out, at[1], listed_in, indices, count);
      return -1;
    }
    neighbours = nest.lengths[last] == 1 || (nest.strides[0][last] == to.item && nest.strides[1][last] == from.item);
    if (neighbours && nest.loops == 1 && nest.lengths[last] > 1) {
      sd_add_listed_rows(at[0], listed_out, at[1], listed_in, indices, count, nest.lengths[last], to.item);
      return -1;
    }
    do
      for (long k = 0, n; k < count; k += n) {
        long run = indices[2 * k + 1];
        n = run < 0 ? -run : run;
        if (n > count - k) n = count - k;
        for (long i = 0; i < (neighbours ? 1 : nest.lengths[last]); i++)
          (to.item == 8 ? sd_add_rows_d : sd_add_rows_f)(
              at[0] + i * nest.strides[0][last] + indices[2 * k] * listed_out, run < 0 ? 0 : listed_out,
              at[1] + i * nest.strides[1][last] + k * listed_in, listed_in, n, neighbours ? nest.lengths[last] : 1);
      }
    while (sd_next(&nest, at));
    return -1;
  }
  if (!sd_make_nest(&nest, step->loops, others, 2, strides)) return -1;
  last = nest.loops - 1;
  if (nest.strides[0][last] == to.item && nest.strides[1][last] == from.item) {
    for (long k = 0; k < count; k++) /* rows at a time */
      sd_copy_nest(&nest, to.data + k * listed_out, to.item, from.data + indices[2 * k] * listed_in, from.item);
  } else {
    do
      for (long i = 0; i < nest.lengths[last]; i++)
        for (long k = 0; k < count; k++)
          sd_set_number(at[0] + i * nest.strides[0][last] + k * listed_out, to.item,
                        sd_get(at[1] + i * nest.strides[1][last] + indices[2 * k] * listed_in, from.item));
    while (sd_next(&nest, at));
  }
  return -1;
}

/* Sums, maxima, minima and products over loops, and running sums, products, maxima and minima along one. A nan wins over
   every number, as in NumPy. */

/* Numbers that are combined in turns, and those of which sums are added in pairs. */
enum { SD_TURNS = 8, SD_PAIRED = 1024 };

/* Combine neighbours with one number, in turns with eight so that none waits for another. */
static inline double sd_combine_run(int op, double start, const char *from, long stride, long item, long count) {
  double turns[SD_TURNS];
  long i = 0;
  if (count >= 2 * SD_TURNS) {
    for (int t = 0; t < SD_TURNS; t++) turns[t] = sd_get(from + t * stride, item);
    for (i = SD_TURNS; i + SD_TURNS <= count; i += SD_TURNS)
      for (int t = 0; t < SD_TURNS; t++) turns[t] = sd_combine(op, turns[t], sd_get(from + (i + t) * stride, item));
    for (int t = 0; t < SD_TURNS; t++) start = sd_combine(op, start, turns[t]);
  }
  for (; i < count; i++) start = sd_combine(op, start, sd_get(from + i * stride, item));
  return start;
}

/* A sum of neighbours: halves of halves, so that errors do not grow with its length. */
static double sd_add_run(const char *from, long stride, long item, long count) {
  long half = count / 2 / SD_TURNS * SD_TURNS;
  if (count > SD_PAIRED)
    return sd_add_run(from, stride, item, half) + sd_add_run(from + half * stride, stride, item, count - half);
  if (stride == 8 && item == 8) return sd_combine_run(SD_ADD, 0.0, from, 8, 8, count);
  return sd_combine_run(SD_ADD, 0.0, from, stride, item, count);
}

static double sd_combine_neighbours(int op, double start, const char *from, long stride, long item, long count) {
  const sd_row_functions *rows = 0;
  if (stride == item && (op == SD_MAX || op == SD_MIN))
    for (rows = sd_find_rows(); rows && count * item < rows->extreme;) rows = rows->narrower;
  if (rows) {
    double best;
    if (item == 8)
      best = (op == SD_MAX ? rows->largest_d : rows->smallest_d)((const double *)from, count);
    else
      best = (op == SD_MAX ? rows->largest_f : rows->smallest_f)((const float *)from, count);
    return sd_combine(op, start, best);
  }
  switch (op) {
    case SD_ADD: return start + sd_add_run(from, stride, item, count);
    case SD_MULTIPLY: return sd_combine_run(SD_MULTIPLY, start, from, stride, item, count);
    case SD_MAX: return sd_combine_run(SD_MAX, start, from, stride, item, count);
    default: return sd_combine_run(SD_MIN, start, from, stride, item, count);
  }
}

/* Combine rows, `apart` bytes from each other, with the row `to`: sums as halves of halves, some columns at a time. */
static void sd_combine_rows(int op, char *to, long item, const char *from, long apart, long rows, long count) {
  enum { ROWS = 256, COLUMNS = 2048 };
  char room[COLUMNS];
  if (op == SD_ADD && rows > ROWS && count * item > COLUMNS) {
    for (long i = 0; i < count; i += COLUMNS / item) {
      long wide = count - i < COLUMNS / item ? count - i : COLUMNS / item;
      sd_combine_rows(op, to + i * item, item, from + i * item, apart, rows, wide);
    }
  } else if (op == SD_ADD && rows > ROWS) {
    sd_combine_rows(op, to, item, from, apart, rows / 2, count);
    memset(room, 0, (size_t)(count * item));
    sd_combine_rows(op, room, item, from + rows / 2 * apart, apart, rows - rows / 2, count);
    sd_combine_rows(op, to, item, room, 0, 1, count);
  } else if (item == 8) {
    sd_find_rows()->rows_d[op]((double *)to, from, apart, rows, count);
  } else {
    sd_find_rows()->rows_f[op]((float *)to, from, apart, rows, count);
  }
}

static double sd_neutral(int op) { return op == SD_MAX ? -INFINITY : op == SD_MIN ? INFINITY : op == SD_MULTIPLY; }

static long sd_run_reduce(sd_state *s, const sd_step *step, long *which) {
  long room[SD_AXES], kept[SD_AXES];
  const long *lengths = sd_lengths(s, step, room), *strides[2];
  sd_seen from, to;
  sd_nest nest;
  char *at[SD_OPERANDS];
  long rows = 1, apart = 0;
  int last, whole;
  (void)which;
  sd_see(s, step->views, &from);
  sd_see_sum(s, step, 0, &to);
  for (int l = 0; l < step->loops; l++) kept[l] = step->uses[l] >> 1 & 1 ? lengths[l] : 1;
  if (!step->accumulate || s->fresh) sd_fill_seen(&to, step->loops, kept, sd_neutral(step->op));
  strides[0] = from.strides, strides[1] = to.strides;
  if (!sd_make_nest(&nest, step->loops, lengths, 2, strides)) return -1;
  at[0] = from.data, at[1] = to.data;
  last = nest.loops - 1;
  whole = from.item == to.item && nest.strides[0][last] == from.item && nest.strides[1][last] == to.item;
  if (whole && last > 0 && nest.strides[1][last - 1] == 0) { /* the loop around is one over rows */
    rows = nest.lengths[last - 1], apart = nest.strides[0][last - 1];
    nest.lengths[last - 1] = nest.lengths[last];
    for (int o = 0; o < 2; o++) nest.strides[o][last - 1] = nest.strides[o][last];
    last = --nest.loops - 1;
  }
  do {
    long count = nest.lengths[last], stride = nest.strides[0][last], pace = nest.strides[1][last];
    if (whole)
      sd_combine_rows(step->op, at[1], to.item, at[0], apart, rows, count);
    else if (pace == 0)
      sd_set_number(at[1], to.item,
                    sd_combine_neighbours(step->op, sd_get(at[1], to.item), at[0], stride, from.item, count));
    else
      for (long i = 0; i < count; i++)
        sd_set_number(at[1] + i * pace, to.item,
                      sd_combine(step->op, sd_get(at[1] + i * pace, to.item), sd_get(at[0] + i * stride, from.item)));
  } while (sd_next(&nest, at));
  return -1;
}

static long sd_run_scan(sd_state *s, const sd_step *step, long *which) {
  long room[SD_AXES], others[SD_AXES];
  const long *lengths = sd_lengths(s, step, room), *strides[2];
  int along = step->loops - 1, last;
  long count = lengths[along], in, out;
  sd_seen from, to;
  sd_nest nest;
  char *at[SD_OPERANDS];
  (void)which;
  sd_see(s, step->views, &from);
  sd_see(s, step->views + 1, &to);
  in = from.strides[along], out = to.strides[along];
  if (count == 0) return -1;
  if (step->reverse) {
    from.data += (count - 1) * in, to.data += (count - 1) * out;
    in = -in, out = -out;
  }
  memcpy(others, lengths, sizeof others);
  others[along] = 1;
  strides[0] = to.strides, strides[1] = from.strides;
  if (!sd_make_nest(&nest, step->loops, others, 2, strides)) return -1;
  at[0] = to.data, at[1] = from.data;
  last = nest.loops - 1;
  do
    for (long i = 0; i < nest.lengths[last]; i++) {
      char *written = at[0] + i * nest.strides[0][last];
      const char *read = at[1] + i * nest.strides[1][last];
      double so_far = sd_get(read, from.item);
      sd_set_number(written, to.item, so_far);
      for (long k = 1; k < count; k++) {
        so_far = sd_combine(step->op, so_far, sd_get(read + k * in, from.item));
        sd_set_number(written + k * out, to.item, so_far);
      }
    }
  while (sd_next(&nest, at));
  return -1;
}
#endif
