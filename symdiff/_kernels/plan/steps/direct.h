/* Steps in the body of a loop that read and write arrays in place: a turn is short, so copying operands into another
   layout would take longer than the computation.

   Needs program.h, reduce.h and ../../batch/fold.h. */

#ifndef SD_DIRECT_H
#define SD_DIRECT_H
#include <stdlib.h>

#include "../../batch/fold.h"
#include "program.h"
#include "reduce.h"

/* Bytes of a unit's workspace that need no scratch memory, and of results that are copied. */
enum { SD_DIRECT = 4096, SD_COPIED = 8192 };

/* Run a program for one sample in rows, in place, in one turn of a loop. All lanes compute that sample. */
static long sd_run_direct(sd_state *s, const sd_step *step, long *which) {
  static const long still[SD_MOST_PORTS];
  const sd_job *job = s->job;
  int place = 8 * step->units + 2 * job->plan->single;
  const sd_unit *unit = sd_unit_at(s, step, place);
  const char *in[SD_MOST_PORTS];
  char *out[SD_MOST_PORTS], work[SD_DIRECT + SD_VECTOR];
  if (!unit) return SD_RAISED;
  if (unit->single != job->plan->single || unit->workspace * SD_VECTOR > SD_DIRECT) return sd_run_program(s, step, which);
  for (int p = 0; p < step->inputs; p++) in[p] = s->data[step->starts[p].array] + step->starts[p].offset;
  for (int p = 0; p < step->outputs; p++) {
    const sd_start *start = step->starts + step->inputs + p;
    out[p] = s->data[start->array] + start->offset;
  }
  return unit->kernel(0, unit->lanes, in, still, out, still, work + (size_t)(-(size_t)work % SD_VECTOR), unit->functions,
                      which) < 0
             ? -1
             : 0;
}

/* The longest row that runs in one call, where the last vector extends beyond the row. */
enum { SD_FEW_NEIGHBOURS = 64 };

/* What a program over neighbours is run with. */
typedef struct {
  const sd_unit *unit;
  const char *in[SD_MOST_PORTS];
  char *out[SD_MOST_PORTS], *work;
  const long *si, *so;
} sd_neighbours;

static inline long sd_run_lanes(sd_neighbours *n, long count, long *which) {
  return n->unit->kernel(0, count, n->in, n->si, n->out, n->so, n->work, n->unit->functions, which);
}

/* Move to the last whole vector of the row; its first lanes are computed a second time. */
static inline void sd_to_last(sd_neighbours *n, const sd_step *step) {
  for (int p = 0; p < step->inputs; p++) n->in[p] += (step->count - n->unit->lanes) * n->si[p];
  for (int p = 0; p < step->outputs && !step->sums; p++) n->out[p] += (step->count - n->unit->lanes) * n->so[p];
}

/* Sum over neighbours, in the order of ../../batch/sums.h. */
static long sd_sum_neighbours(sd_state *s, const sd_step *step, sd_neighbours *n, long *which) {
  const sd_unit *unit = n->unit;
  long lanes = unit->lanes, whole = step->count & -lanes, left = step->count - whole, total = 0, failed;
  char sums[2 * SD_MOST_SUMS * SD_VECTOR] __attribute__((aligned(SD_VECTOR)));
  char rests[2 * SD_MOST_SUMS * SD_VECTOR] __attribute__((aligned(SD_VECTOR)));
  double numbers[SD_MOST_SUMS], *number = numbers;
  for (int p = step->inputs; p < step->inputs + step->outputs; p++) total += step->views[p].size;
  memset(sums, 0, (size_t)sd_sum_bytes(unit, total));
  n->out[0] = sums;
  if (whole && sd_run_lanes(n, whole, which) >= 0) return 0;
  if (left) {
    memset(rests, 0, (size_t)sd_sum_bytes(unit, total));
    n->out[0] = rests;
    if (whole) sd_to_last(n, step);
    if ((failed = sd_run_lanes(n, lanes, which)) >= 0) return whole || failed < left ? 0 : sd_run_program(s, step, which);
    sd_add(unit, total, sums, whole / lanes % 2, rests, whole ? lanes - left : 0, left);
  }
  sd_fold(unit, total, sums, numbers);
  for (int p = step->inputs; p < step->inputs + step->outputs; p++) {
    const sd_view *view = step->views + p;
    char *to = s->data[view->array] + view->offset;
    for (long e = 0; e < view->size; e++)
      sd_set_number(to + (view->offsets ? view->offsets[e] : e * view->pace), unit->single ? 4 : 8, *number++);
  }
  return -1;
}

/* Run a row. In a short row the last vector extends beyond the end: its extra lanes read what follows in memory, and
   results without room are computed in a buffer and copied. In a long row the last vector ends where the row does, and
   repeats some elements. */
static long sd_run_row(const sd_step *step, sd_neighbours *n, char *room, long *which) {
  long item = n->unit->single ? 4 : 8, count = step->count, lanes = n->unit->lanes, full = (count + lanes - 1) & -lanes;
  char *next = room, *to[SD_MOST_PORTS];
  long failed;
  if (count == full) return sd_run_lanes(n, count, which);
  if (count > SD_FEW_NEIGHBOURS) {
    if ((failed = sd_run_lanes(n, full - lanes, which)) >= 0) return failed;
    sd_to_last(n, step);
    return sd_run_lanes(n, lanes, which);
  }
  for (int p = 0; p < step->outputs; p++) {
    to[p] = n->out[p];
    if (step->starts[step->inputs + p].roomy) continue;
    n->out[p] = next, next += full * item;
  }
  if ((failed = sd_run_lanes(n, full, which)) >= 0) return failed;
  for (int p = 0; p < step->outputs; p++)
    if (to[p] != n->out[p]) memcpy(to[p], n->out[p], (size_t)(count * item));
  return -1;
}

/* Run a program over neighbours, row by row. */
static long sd_run_neighbours(sd_state *s, const sd_step *step, long *which) {
  const sd_job *job = s->job;
  int place = 8 * step->units + 4 * step->sums + 2 * job->plan->single + job->usual[step->units];
  const sd_unit *unit = sd_unit_at(s, step, place);
  char work[SD_DIRECT + SD_VECTOR], room[SD_COPIED + SD_VECTOR];
  long failed;
  sd_neighbours n;
  if (!unit) return SD_RAISED;
  if (unit->single != job->plan->single || unit->workspace * SD_VECTOR > SD_DIRECT ||
      (step->count <= SD_FEW_NEIGHBOURS && step->copied * (step->count + unit->lanes) * (unit->single ? 4 : 8) > SD_COPIED))
    return sd_run_program(s, step, which);
  n.unit = unit;
  n.work = work + (size_t)(-(size_t)work % SD_VECTOR);
  n.si = step->along;
  n.so = step->along + step->inputs;
  for (long row = 0; row < step->rows; row++) {
    for (int p = 0; p < step->inputs; p++) {
      const sd_start *start = step->starts + p;
      int constant = unit->constant && unit->constant[p];
      if (constant ? step->along[p] || start->row : unit->columns && start->size > 1) return sd_run_program(s, step, which);
      n.in[p] = s->data[start->array] + start->offset + row * start->row;
    }
    if (step->sums) return sd_sum_neighbours(s, step, &n, which);
    for (int p = 0; p < step->outputs; p++) {
      const sd_start *start = step->starts + step->inputs + p;
      n.out[p] = s->data[start->array] + start->offset + row * start->row;
    }
    failed = sd_run_row(step, &n, room + (size_t)(-(size_t)room % SD_VECTOR), which);
    if (failed >= 0) return failed < step->count || step->count > SD_FEW_NEIGHBOURS ? 0 : sd_run_program(s, step, which);
  }
  return -1;
}

static long sd_run_copy_neighbours(sd_state *s, const sd_step *step, long *which) {
  const sd_view *from = step->views, *to = step->views + 1;
  (void)which;
  memcpy(s->data[to->array] + to->offset, s->data[from->array] + from->offset,
         (size_t)(step->count * s->job->plan->arrays[from->array].item));
  return -1;
}

static long sd_run_reduce_neighbours(sd_state *s, const sd_step *step, long *which) {
  const sd_view *from = step->views, *to = step->views + 1;
  long item = s->job->plan->arrays[from->array].item;
  (void)which;
  sd_set_number(s->data[to->array] + to->offset, item,
                sd_combine_neighbours(step->op, sd_neutral(step->op), s->data[from->array] + from->offset, item, item,
                                      step->count));
  return -1;
}

static inline long sd_elements(const sd_array *a) {
  long count = 1;
  for (int x = 0; x < a->rank; x++) count *= a->shape[x];
  return count;
}

static inline long sd_padded_lanes(long size, long lanes, long item) {
  return (size * lanes * item + SD_VECTOR - 1) / SD_VECTOR * SD_VECTOR;
}

/* Copy elements of a row to all lanes of columns, or the first lanes of columns to a row. */
static void sd_to_lanes(char *columns, const char *row, long size, long lanes, long item) {
  for (long e = 0; e < size; e++)
    for (long l = 0; l < lanes; l++) memcpy(columns + (e * lanes + l) * item, row + e * item, (size_t)item);
}

static inline void sd_from_lanes(char *row, const char *columns, long size, long lanes, long item) {
  for (long e = 0; e < size; e++)
    if (item == 8) /* a copy of a constant number of bytes is one instruction */
      memcpy(row + 8 * e, columns + 8 * e * lanes, 8);
    else
      memcpy(row + 4 * e, columns + 4 * e * lanes, 4);
}

/* Run a loop whose body is one program that is run in place. Carried values stay in columns, equal in all lanes, so that
   each turn reads whole vectors that the turn before wrote. Returns -1, the sample that failed, or SD_ELSEWHERE_LOOP
   where the loop has to run step by step. */
enum { SD_ELSEWHERE_LOOP = -5 };
static long sd_run_tight(sd_state *s, const sd_step *loop, long *which) {
  const sd_job *job = s->job;
  const sd_step *step = loop + 1;
  const sd_array *arrays = job->plan->arrays;
  const long *swaps = loop->moved + 2 * loop->windows;
  int place = 8 * step->units + 2 * job->plan->single + 1, ports = step->inputs + step->outputs, carried[SD_FEW_PORTS];
  const sd_unit *unit;
  long item = job->plan->single ? 4 : 8, lanes, bytes = SD_VECTOR, failed = -1, si[SD_FEW_PORTS], so[SD_FEW_PORTS];
  const char *in[SD_FEW_PORTS];
  char *out[SD_FEW_PORTS], *memory, *at, *kept[SD_FEW_PORTS][2], work[SD_DIRECT + SD_VECTOR];
  if (!(unit = sd_unit_at(s, step, place))) return SD_RAISED;
  if (!unit->columns || unit->single != job->plan->single || unit->workspace * SD_VECTOR > SD_DIRECT)
    return SD_ELSEWHERE_LOOP;
  lanes = unit->lanes;
  for (int p = 0; p < ports; p++) { /* the swap that a port belongs to, or -1 */
    const sd_view *view = step->views + p;
    carried[p] = -1;
    for (int w = 0; w < loop->swaps; w++)
      if (view->array == swaps[2 * w + (p >= step->inputs)]) carried[p] = w;
    if (carried[p] >= 0 && (view->offset || view->size != sd_elements(arrays + view->array))) return SD_ELSEWHERE_LOOP;
    if (p < step->inputs && carried[p] < 0 && !(unit->constant && unit->constant[p])) return SD_ELSEWHERE_LOOP;
    if (p < step->inputs && carried[p] >= 0 && unit->constant && unit->constant[p]) return SD_ELSEWHERE_LOOP;
    bytes += 2 * sd_padded_lanes(view->size, lanes, item);
  }
  if (loop->swaps > SD_FEW_PORTS || !(memory = malloc((size_t)bytes))) return SD_ELSEWHERE_LOOP;
  at = memory + (size_t)(-(size_t)memory % SD_VECTOR);
  for (int w = 0; w < loop->swaps; w++) {
    kept[w][0] = kept[w][1] = 0;
    for (int p = 0; p < ports; p++)
      if (carried[p] == w && !kept[w][0]) {
        long size = step->views[p].size;
        for (int k = 0; k < 2; k++, at += sd_padded_lanes(size, lanes, item)) kept[w][k] = at;
        sd_to_lanes(kept[w][0], s->data[swaps[2 * w]], size, lanes, item);
      }
  }
  for (int p = 0; p < ports; p++) { /* strides from element to element; with one element, from lane to lane */
    long apart = step->views[p].size == 1 ? item : lanes * item;
    if (p < step->inputs)
      si[p] = apart;
    else
      so[p - step->inputs] = apart;
  }
  for (int p = step->inputs; p < ports; p++)
    if (carried[p] < 0) out[p - step->inputs] = at, at += sd_padded_lanes(step->views[p].size, lanes, item);
  for (long turn = 0; turn < loop->turns && failed == -1; turn++) {
    long row = loop->reverse ? loop->turns - 1 - turn : turn;
    int now = turn & 1;
    for (int w = 0; w < loop->windows; w++) {
      const sd_array *window = arrays + loop->moved[2 * w];
      s->data[loop->moved[2 * w]] = s->data[window->number] + window->offset + row * loop->moved[2 * w + 1];
    }
    if (loop->counter >= 0) sd_set_number(s->data[loop->counter], item, (double)row);
    for (int p = 0; p < step->inputs; p++)
      in[p] = carried[p] >= 0 ? kept[carried[p]][now] : s->data[step->views[p].array] + step->views[p].offset;
    for (int p = step->inputs; p < ports; p++)
      if (carried[p] >= 0) out[p - step->inputs] = kept[carried[p]][!now];
    if (unit->kernel(0, lanes, in, si, out, so, work + (size_t)(-(size_t)work % SD_VECTOR), unit->functions, which) >= 0)
      failed = 0;
    for (int p = step->inputs; p < ports; p++)
      if (carried[p] < 0)
        sd_from_lanes(s->data[step->views[p].array] + step->views[p].offset, out[p - step->inputs], step->views[p].size,
                      lanes, item);
  }
  for (int w = 0; w < loop->swaps; w++)
    for (int p = 0; p < ports; p++)
      if (carried[p] == w) {
        sd_from_lanes(s->data[swaps[2 * w]], kept[w][loop->turns & 1], step->views[p].size, lanes, item);
        break;
      }
  free(memory);
  return failed;
}
#endif
