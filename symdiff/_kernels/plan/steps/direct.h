/* Steps in the body of a loop that read and write arrays in place: a turn is short, so copying operands into another
   layout would take longer than the computation.

   Needs program.h, reduce.h, turns.h and ../../batch/fold.h. */

#ifndef SD_DIRECT_H
#define SD_DIRECT_H
#include <stdlib.h>

#include "../../batch/fold.h"
#include "checks.h"
#include "program.h"
#include "reduce.h"
#include "turns.h"

/* Bytes of a unit's workspace that need no scratch memory, and of results that are copied. */
enum { SD_DIRECT = 4096, SD_COPIED = 8192 };

/* Run a program for one sample in rows, in place, in one turn of a loop. All lanes compute that sample. */
static long sd_run_direct(sd_state *s, const sd_step *step, long *which) {
  static const long still[SD_MOST_PORTS];
  const sd_job *job = s->job;
  const sd_unit *unit = sd_unit_at(s, step, 0);
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
    sd_add(unit, total, sums, whole / lanes % 2, 0, rests, whole ? lanes - left : 0, left);
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
  int packed = step->packed ? SD_OF_PACKED | SD_OF_COLUMNS : 0;
  const sd_unit *unit = sd_unit_at(s, step, packed | (step->sums ? SD_OF_SUMS : 0));
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

/* Begin a turn of a loop: windows move to its row, and its number is written. */
static inline void sd_begin_turn(const sd_state *s, const sd_step *loop, long turn) {
  const sd_array *arrays = s->job->plan->arrays;
  long row = loop->reverse ? loop->turns - 1 - turn : turn;
  for (int w = 0; w < loop->windows; w++) {
    const sd_array *window = arrays + loop->moved[2 * w];
    s->data[loop->moved[2 * w]] = s->data[window->number] + window->offset + row * loop->moved[2 * w + 1];
  }
  if (loop->counter >= 0) sd_set_number(s->data[loop->counter], arrays[loop->counter].item, (double)row);
}

/* Let what a turn made, and what it was made of, change places. */
static inline void sd_swap(const sd_state *s, const long *swap) {
  char *made = s->data[swap[0]];
  s->data[swap[0]] = s->data[swap[1]];
  s->data[swap[1]] = made;
}

/* Whether a turn has changed nothing of all that the next depends on, so that all further ones change nothing. */
static inline int sd_is_settled(const sd_state *s, const sd_step *loop) {
  const sd_array *arrays = s->job->plan->arrays;
  const long *swaps = loop->moved + 2 * loop->windows;
  if (loop->windows || loop->counter >= 0) return 0;
  for (int k = loop->swaps - 1; k >= 0; k--)
    if (memcmp(s->data[swaps[2 * k]], s->data[swaps[2 * k + 1]], (size_t)sd_bytes(arrays + swaps[2 * k]))) return 0;
  return 1;
}

static inline long sd_padded_lanes(long size, long lanes, long item) {
  return (size * lanes * item + SD_VECTOR - 1) / SD_VECTOR * SD_VECTOR;
}

/* Copy elements of a row to all lanes of columns, or the first lanes of columns to a row. A copy of as many bytes as are
   known is one instruction. */
static void sd_to_lanes(char *columns, const char *row, long size, long lanes, long item) {
  for (long e = 0; e < size; e++, columns += lanes * item)
    if (item == 8)
      for (long l = 0; l < lanes; l++) memcpy(columns + 8 * l, row + 8 * e, 8);
    else
      for (long l = 0; l < lanes; l++) memcpy(columns + 4 * l, row + 4 * e, 4);
}

static inline void sd_from_lanes(char *row, const char *columns, long size, long lanes, long item) {
  for (long e = 0; e < size; e++)
    if (item == 8)
      memcpy(row + 8 * e, columns + 8 * e * lanes, 8);
    else
      memcpy(row + 4 * e, columns + 4 * e * lanes, 4);
}

/* A loop whose body is one program for one sample, and copies. All lanes hold the sample. */
typedef struct {
  const sd_unit *unit;
  long item;
  int number, kept[SD_FEW_PORTS]; /* swaps; a port of one that is kept in columns and counted from 1, or 0 */
  int swap[SD_FEW_PORTS];         /* which of these a port is of, or -1 */
  char *columns[SD_FEW_PORTS][2]; /* of each port: in even turns, and in odd ones */
  const char *in[2][SD_FEW_PORTS];
  char *out[2][SD_FEW_PORTS];
  long si[SD_FEW_PORTS], so[SD_FEW_PORTS];
  /* Ports with work in every turn: inputs that move or are copied into columns, outputs that are copied out of them. */
  int moved, written, moves[SD_FEW_PORTS], writes[SD_FEW_PORTS];
  char *memory, *work;
} sd_tight;

/* Which end of a swap an array is: 0 for what a turn reads, 1 for what it writes, -1 for neither. */
static inline int sd_end_of(const long *swap, int array) { return array == swap[0] ? 0 : array == swap[1] ? 1 : -1; }

/* Decide which swaps are kept in columns: those whose whole array the program reads and writes, in vectors. Others go
   through memory in each turn. */
static void sd_keep_swaps(sd_tight *t, const sd_job *job, const sd_step *loop, const sd_step *step) {
  const long *swaps = loop->moved + 2 * loop->windows;
  t->number = loop->swaps < SD_FEW_PORTS ? loop->swaps : 0;
  for (int w = 0; w < t->number; w++) {
    int read = 0, written = 0, whole = 1, port = 0;
    for (int p = 0; p < step->inputs + step->outputs; p++) {
      const sd_view *view = step->views + p;
      if (view->array != swaps[2 * w + (p >= step->inputs)]) continue;
      whole &= !view->offset && view->size == sd_elements(job->plan->arrays + view->array);
      whole &= p >= step->inputs || !step->constant[p];
      *(p < step->inputs ? &read : &written) += 1;
      port = p;
    }
    for (int i = 2; i <= loop->span; i++) {
      const sd_view *from = loop[i].views, *to = from + 1;
      if (sd_end_of(swaps + 2 * w, to->array) >= 0) whole = 0;
      if (sd_end_of(swaps + 2 * w, from->array) >= 0)
        whole &= !from->offset && loop[i].count == sd_elements(job->plan->arrays + from->array);
    }
    t->kept[w] = whole && read && written == 1 ? port + 1 : 0;
  }
  for (int p = 0; p < step->inputs + step->outputs; p++) {
    t->swap[p] = -1;
    for (int w = 0; w < t->number; w++)
      if (t->kept[w] && step->views[p].array == swaps[2 * w + (p >= step->inputs)]) t->swap[p] = w;
  }
}

/* Give each port its columns, and the program its workspace; 0 without memory. */
static int sd_make_columns(sd_tight *t, const sd_step *step) {
  int ports = step->inputs + step->outputs;
  long lanes = t->unit->lanes, bytes = SD_VECTOR * (1 + t->unit->workspace);
  char *at, *of_swap[SD_FEW_PORTS][2] = {{0}};
  for (int p = 0; p < ports; p++) bytes += 2 * sd_padded_lanes(step->views[p].size, lanes, t->item);
  if (!(t->memory = malloc((size_t)bytes))) return 0;
  t->work = t->memory + (size_t)(-(size_t)t->memory % SD_VECTOR);
  at = t->work + SD_VECTOR * t->unit->workspace;
  for (int p = 0; p < ports; p++) {
    long size = step->views[p].size, apart = size == 1 ? t->item : lanes * t->item; /* of one element: from lane to lane */
    int w = t->swap[p];
    *(p < step->inputs ? t->si + p : t->so + p - step->inputs) = apart;
    for (int k = 0; k < 2; k++) {
      if (w >= 0 && of_swap[w][k]) {
        t->columns[p][k] = of_swap[w][k];
        continue;
      }
      t->columns[p][k] = at, at += sd_padded_lanes(size, lanes, t->item);
      if (w >= 0) of_swap[w][k] = t->columns[p][k];
    }
  }
  return 1;
}

/* Whether the data of an array are elsewhere in each turn. */
static int sd_is_moved(const sd_tight *t, const sd_step *loop, int array) {
  const long *swaps = loop->moved + 2 * loop->windows;
  for (int w = 0; w < loop->windows; w++)
    if (loop->moved[2 * w] == array) return 1;
  for (int w = 0; w < loop->swaps; w++)
    if ((w >= t->number || !t->kept[w]) && sd_end_of(swaps + 2 * w, array) >= 0) return 1;
  return 0;
}

/* Find the address of each port in even and in odd turns, and the ports that move or are copied in each turn. */
static void sd_find_addresses(sd_tight *t, const sd_state *s, const sd_step *loop) {
  const sd_step *step = loop + 1;
  t->moved = t->written = 0;
  for (int p = 0; p < step->inputs; p++) {
    const sd_start *start = step->starts + p;
    for (int k = 0; k < 2; k++)
      t->in[k][p] = step->constant[p] ? s->data[start->array] + start->offset : t->columns[p][t->swap[p] < 0 ? 0 : k];
    if (t->swap[p] < 0 && (!step->constant[p] || sd_is_moved(t, loop, (int)start->array))) t->moves[t->moved++] = p;
    if (t->swap[p] >= 0) sd_to_lanes(t->columns[p][0], s->data[start->array], start->size, t->unit->lanes, t->item);
  }
  for (int o = 0; o < step->outputs; o++) {
    int p = step->inputs + o;
    for (int k = 0; k < 2; k++) t->out[k][o] = t->columns[p][t->swap[p] < 0 ? 0 : !k];
    if (t->swap[p] < 0) t->writes[t->written++] = p;
  }
}

/* Copy an array, from its columns where it is kept in some. */
static void sd_copy_tight(sd_state *s, const sd_tight *t, const sd_step *loop, const sd_step *copy, long turn) {
  const long *swaps = loop->moved + 2 * loop->windows;
  const sd_view *from = copy->views, *to = from + 1;
  for (int w = 0; w < t->number; w++) {
    int end = sd_end_of(swaps + 2 * w, from->array);
    if (end < 0 || !t->kept[w]) continue;
    sd_from_lanes(s->data[to->array] + to->offset, t->columns[t->kept[w] - 1][(turn + end) & 1], copy->count, t->unit->lanes,
                  t->item);
    return;
  }
  sd_run_copy_neighbours(s, copy, 0);
}

/* Whether a turn of such a loop has changed nothing, as sd_is_settled tells of others. */
static int sd_is_settled_tight(const sd_tight *t, const sd_state *s, const sd_step *loop) {
  const long *swaps = loop->moved + 2 * loop->windows;
  if (loop->windows || loop->counter >= 0) return 0;
  for (int w = loop->swaps - 1; w >= 0; w--) {
    const sd_array *array = s->job->plan->arrays + swaps[2 * w];
    int p = w < t->number ? t->kept[w] - 1 : -1;
    if (p >= 0 ? memcmp(t->columns[p][0], t->columns[p][1], (size_t)(sd_elements(array) * t->unit->lanes * t->item))
               : memcmp(s->data[swaps[2 * w]], s->data[swaps[2 * w + 1]], (size_t)sd_bytes(array)))
      return 0;
  }
  return 1;
}

/* Run such a loop. Carried values stay in columns, so that each turn reads whole vectors that the turn before wrote.
   Returns -1, the sample that failed, or SD_ELSEWHERE_LOOP where the loop has to run step by step. */
enum { SD_ELSEWHERE_LOOP = -5 };
/* Its turns between two looks for a signal. */
enum { SD_LOOK_TIGHT = 4096 };
static long sd_run_tight(sd_state *s, const sd_step *loop, long *which) {
  const sd_step *step = loop + 1;
  const long *swaps = loop->moved + 2 * loop->windows;
  long failed = -1;
  sd_tight t;
  if (!(t.unit = sd_unit_at(s, step, SD_OF_PACKED | SD_OF_COLUMNS))) return SD_RAISED;
  if (t.unit->single != s->job->plan->single) return SD_ELSEWHERE_LOOP;
  if (t.unit->turns)
    return loop->wiring && t.unit->workspace <= SD_FEW_PORTS ? sd_run_turns(s, loop, t.unit, which) : SD_ELSEWHERE_LOOP;
  t.item = t.unit->single ? 4 : 8;
  sd_keep_swaps(&t, s->job, loop, step);
  if (!sd_make_columns(&t, step)) return SD_ELSEWHERE_LOOP;
  sd_find_addresses(&t, s, loop);
  for (long turn = 0; turn < loop->turns && failed == -1; turn++) {
    int odd = turn & 1;
    if (turn % SD_LOOK_TIGHT == SD_LOOK_TIGHT - 1 && sd_is_raised(s->job)) {
      failed = SD_RAISED;
      break;
    }
    sd_begin_turn(s, loop, turn);
    for (int m = 0; m < t.moved; m++) {
      const sd_start *start = step->starts + t.moves[m];
      const char *at = s->data[start->array] + start->offset;
      if (step->constant[t.moves[m]])
        t.in[0][t.moves[m]] = t.in[1][t.moves[m]] = at;
      else
        sd_to_lanes(t.columns[t.moves[m]][0], at, start->size, t.unit->lanes, t.item);
    }
    if (t.unit->kernel(0, t.unit->lanes, t.in[odd], t.si, t.out[odd], t.so, t.work, t.unit->functions, which) >= 0) failed = 0;
    for (int m = 0; m < t.written; m++) {
      const sd_start *start = step->starts + t.writes[m];
      sd_from_lanes(s->data[start->array] + start->offset, t.columns[t.writes[m]][0], start->size, t.unit->lanes, t.item);
    }
    for (int i = 2; i <= loop->span && failed == -1; i++) sd_copy_tight(s, &t, loop, loop + i, turn);
    if (failed == -1 && sd_is_settled_tight(&t, s, loop)) break;
    for (int w = 0; w < loop->swaps; w++)
      if (w >= t.number || !t.kept[w]) sd_swap(s, swaps + 2 * w);
  }
  for (int p = step->inputs; p < step->inputs + step->outputs; p++)
    if (t.swap[p] >= 0)
      sd_from_lanes(s->data[swaps[2 * t.swap[p]]], t.columns[p][loop->turns & 1], step->views[p].size, t.unit->lanes, t.item);
  free(t.memory);
  return failed;
}
#endif
