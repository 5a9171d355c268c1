/* Steps that run a scalar program: views become the ports of a unit, and the loops its batch. The unit's threads,
   tiles, strides and order of sums are those of ../batch.

   Needs ports.h and short_sums.h. */

#ifndef SD_PROGRAM_H
#define SD_PROGRAM_H
#include <stdlib.h>

#include "ports.h"
#include "short_sums.h"

/* Bytes of a unit's workspace that need no scratch memory. */
enum { SD_DIRECT = 4096 };
/* Elements of a run, runs, and numbers of what all runs read, for which it is worth packing that. */
enum { SD_RUN = 16, SD_RUNS_EACH = 4, SD_PACKED = 1 << 15 };

/* Whether a step goes over runs in which a row of one array stays, and the rows of another are the same for each run: these
   are packed once then, as columns, and no run begins with transposing them. */
static int sd_runs_in_columns(const sd_step *step, const sd_port *ports, const long *lengths, long count) {
  int found = 0, last = step->loops - 1;
  if (step->sums || last < 1 || lengths[last] < SD_RUN || count / lengths[last] < SD_RUNS_EACH) return 0;
  for (int p = 0; p < step->inputs + step->outputs; p++) {
    const sd_port *port = ports + p;
    int packs = p < step->inputs && sd_packs_runs(port, step->loops, count);
    if (port->size == 1) continue;
    if (p < step->inputs && port->strides[last] == 0)
      found |= port->scattered == 1;
    else if (!(packs && port->size * lengths[last] <= SD_PACKED) &&
             (port->offsets || port->strides[last] != (port->single ? 4 : 8)))
      return 0;
  }
  return found;
}

/* The unit of a step, in the layout that suits most of its arrays; null if it could not be made. */
static const sd_unit *sd_find_unit(const sd_state *s, const sd_step *step, const sd_port *ports, const long *lengths,
                                   long count) {
  const sd_job *job = s->job;
  int moved = step->inputs + (step->sums ? 0 : step->outputs), last = step->loops - 1, columns;
  sd_port runs[SD_PORTS];
  int packed = sd_runs_in_columns(step, ports, lengths, count);
  if (!step->sums && last > 0 && moved <= SD_PORTS && lengths[last] >= SD_LONG_RUN) { /* a run at a time, see run.h */
    memcpy(runs, ports, (size_t)moved * sizeof *ports);
    for (int p = 0; p < moved; p++)
      if (runs[p].scattered == 1) runs[p].scattered = SD_RUNS, runs[p].stride = runs[p].strides[last];
    ports = runs;
  }
  columns = packed || sd_lie_in_columns(ports, moved, count, job->usual[step->units]);
  int place = 8 * step->units + 4 * step->sums + 2 * job->plan->single + columns;
  return job->units[place] ? job->units[place] : job->hooks->make_unit(job->self, step->units, place);
}

/* Run a program over the loops. Sums over the batch are made tile by tile: those of later tiles in scratch memory
   first, and then added. */
static long sd_run_program(sd_state *s, const sd_step *step, long *which) {
  long room[SD_AXES], inner = 1, failed, *offsets = (long *)s->scratch;
  const long *lengths = sd_lengths(s, step, room);
  sd_port few[SD_PORTS], *ports = few;
  int number = step->inputs + step->outputs, more = step->accumulate && !s->fresh;
  double *sums;
  sd_call call;
  call.ports = 0;
  if (number > SD_PORTS) {
    ports = (sd_port *)s->scratch;
    offsets = (long *)(s->scratch + sd_rounded(number * (long)sizeof(sd_port)));
  }
  call.count = 1;
  for (int l = 0; l < step->loops; l++) {
    call.lengths[l] = lengths[l];
    call.count *= lengths[l];
    if (l > 0 || !step->tiled) inner *= lengths[l];
  }
  if (call.count == 0 && !step->sums) return -1;
  for (int p = 0; p < number; p++)
    offsets += sd_make_port(s, step->views + p, ports + p, step->loops, lengths, offsets);
  sums = (double *)offsets;
  for (int p = step->inputs; step->accumulate && p < number; p++) {
    if (more)
      ports[p].data = (char *)sums, sums += ports[p].size;
    else if (s->slots)
      ports[p].data = s->slots + step->dense[p - step->inputs].slot;
    else
      continue;
    ports[p].single = ports[p].unaligned = 0;
    ports[p].step = 8;
    ports[p].offsets = 0;
  }
  call.ports = ports;
  call.axes = step->loops;
  call.threads = s->threads;
  if (call.axes > 2)
    call.axes = sd_join_loops(ports, step->sums ? step->inputs : number, call.axes, call.lengths, step->kept);
  if (sd_has_short_rows(step, ports, &call) && (failed = sd_run_short_sums(s, step, ports, &call, which)) != SD_ELSEWHERE_SUMS)
    return failed;
  if (!(call.unit = sd_find_unit(s, step, ports, lengths, call.count))) return SD_RAISED;
  call.kept = step->kept;
  if ((failed = s->job->hooks->run_batch(&call, which)) != -1) return failed < 0 || inner == 0 ? failed : failed / inner;
  for (int p = step->inputs; more && p < number; p++) {
    sd_port to;
    if (s->slots) {
      to.data = s->slots + step->dense[p - step->inputs].slot;
      to.single = 0, to.step = 8, to.offsets = 0;
    } else /* offsets are used no more */
      sd_make_port(s, step->views + p, &to, step->loops, lengths, (long *)sums);
    for (long e = 0; e < ports[p].size; e++) {
      char *at = to.data + (to.offsets ? to.offsets[e] : e * to.step);
      sd_set_number(at, to.single ? 4 : 8, sd_get(at, to.single ? 4 : 8) + ((const double *)ports[p].data)[e]);
    }
  }
  return -1;
}

/* Run a program for one sample that lies in rows, in a turn of a loop: nothing is laid out. All lanes hold the sample. */
static long sd_run_direct(sd_state *s, const sd_step *step, long *which) {
  static const long still[SD_PORTS];
  const sd_job *job = s->job;
  int place = 8 * step->units + 2 * job->plan->single;
  const sd_unit *unit = job->units[place];
  const char *in[SD_PORTS];
  char *out[SD_PORTS], work[SD_DIRECT + SD_VECTOR];
  if (!unit && !(unit = job->hooks->make_unit(job->self, step->units, place))) return SD_RAISED;
  if (unit->single != job->plan->single || unit->workspace * SD_VECTOR > SD_DIRECT) return sd_run_program(s, step, which);
  for (int p = 0; p < step->inputs; p++) in[p] = s->data[step->views[p].array] + step->views[p].offset;
  for (int p = 0; p < step->outputs; p++) {
    const sd_view *view = step->views + step->inputs + p;
    out[p] = s->data[view->array] + view->offset;
  }
  return unit->kernel(0, unit->lanes, in, still, out, still, work + (size_t)(-(size_t)work % SD_VECTOR), unit->functions,
                      which) < 0
             ? -1
             : 0;
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
    if (item == 8) /* a copy of as many bytes as are known is one instruction */
      memcpy(row + 8 * e, columns + 8 * e * lanes, 8);
    else
      memcpy(row + 4 * e, columns + 4 * e * lanes, 4);
}

/* Run a loop whose body is one program that is run directly. What is carried stays in columns, the same in all lanes, so
   that a turn reads as vectors what the turn before has written as such. Returns -1, the sample that failed, or
   SD_ELSEWHERE_LOOP where it cannot be so. */
enum { SD_ELSEWHERE_LOOP = -5 };
static long sd_run_tight(sd_state *s, const sd_step *loop, long *which) {
  const sd_job *job = s->job;
  const sd_step *step = loop + 1;
  const sd_array *arrays = job->plan->arrays;
  const long *swaps = loop->moved + 2 * loop->windows;
  int place = 8 * step->units + 2 * job->plan->single + 1, ports = step->inputs + step->outputs, carried[SD_PORTS];
  const sd_unit *unit;
  long item = job->plan->single ? 4 : 8, lanes, bytes = SD_VECTOR, failed = -1, si[SD_PORTS], so[SD_PORTS];
  const char *in[SD_PORTS];
  char *out[SD_PORTS], *memory, *at, *kept[SD_PORTS][2], work[SD_DIRECT + SD_VECTOR];
  if (!(unit = job->units[place]) && !(unit = job->hooks->make_unit(job->self, step->units, place))) return SD_RAISED;
  if (!unit->columns || unit->single != job->plan->single || unit->workspace * SD_VECTOR > SD_DIRECT)
    return SD_ELSEWHERE_LOOP;
  lanes = unit->lanes;
  for (int p = 0; p < ports; p++) { /* which of the swaps a port is of */
    const sd_view *view = step->views + p;
    carried[p] = -1;
    for (int w = 0; w < loop->swaps; w++)
      if (view->array == swaps[2 * w + (p >= step->inputs)]) carried[p] = w;
    if (carried[p] >= 0 && (view->offset || view->size != sd_elements(arrays + view->array))) return SD_ELSEWHERE_LOOP;
    if (p < step->inputs && carried[p] < 0 && !(unit->constant && unit->constant[p])) return SD_ELSEWHERE_LOOP;
    if (p < step->inputs && carried[p] >= 0 && unit->constant && unit->constant[p]) return SD_ELSEWHERE_LOOP;
    bytes += 2 * sd_padded_lanes(view->size, lanes, item);
  }
  if (loop->swaps > SD_PORTS || !(memory = malloc((size_t)bytes))) return SD_ELSEWHERE_LOOP;
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
  for (int p = 0; p < ports; p++) { /* of a port of one element it is the distance from lane to lane */
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
