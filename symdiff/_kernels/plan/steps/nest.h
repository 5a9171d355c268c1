/* Loops over strided arrays: as few and as long as strides allow, the shortest way innermost. Copies, fills, and
   the sums of tiles go through these. Elements are read and written by memcpy, since a caller's arrays may be unaligned.

   Needs plan.h. */

#ifndef SD_NEST_H
#define SD_NEST_H
#include "../plan.h"

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

static long sd_run_copy(sd_state *s, const sd_step *step, long *which) {
  long room[SD_AXES];
  sd_seen from, to;
  (void)which;
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
#endif
