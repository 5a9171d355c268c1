/* Sums, maxima, minima and products over loops, and running sums, products, maxima and minima along one. A nan wins over
   every number, as in NumPy.

   Needs rows.h. */

#ifndef SD_REDUCE_H
#define SD_REDUCE_H
#include "rows.h"

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
