/* Steps that run a scalar program: views become the ports of a unit, and the loops its batch. */

#ifndef SD_PROGRAMS_H
#define SD_PROGRAMS_H
#include <stdlib.h>

#include "nest.h"

/* The ports of a unit that runs a step's program: where the elements of a view are, and how samples follow each other. */

/* Ports that need no scratch memory. */
enum { SD_PORTS = 24 };

/* Fill in where a port's own elements stand: a step from one to the next, or an offset for each in `offsets`, of
   which room is given. Returns how many of these were used. */
static long sd_own_elements(sd_port *port, const sd_view *v, const long *strides, long item, long *offsets) {
  long span = 1, filled = 1;
  int found = 0, even = 1;
  port->step = item;
  port->offsets = 0;
  for (int x = v->rank - 1; x >= 0; x--) {
    const sd_axis *axis = v->axes + x;
    if (axis->loop >= 0 || axis->length < 0 || axis->length == 1) continue;
    if (!found)
      port->step = axis->step * strides[x], found = 1;
    else if (axis->step * strides[x] != port->step * span)
      even = 0;
    span *= axis->length;
  }
  if (even || span == 0) return 0;
  offsets[0] = 0; /* backwards through the axes: what is filled is repeated for each place along the one before */
  for (int x = v->rank - 1; x >= 0; x--) {
    const sd_axis *axis = v->axes + x;
    if (axis->loop >= 0 || axis->length <= 1) continue;
    for (long k = axis->length - 1; k > 0; k--)
      for (long i = 0; i < filled; i++) offsets[k * filled + i] = offsets[i] + k * axis->step * strides[x];
    filled *= axis->length;
  }
  port->offsets = offsets;
  return span;
}

/* Fill in how samples follow each other. */
static inline void sd_samples(sd_port *port, const long *along, int axes, const long *lengths) {
  memcpy(port->strides, along, (size_t)axes * sizeof *along);
  port->scattered = !sd_find_stride(along, lengths, 0, axes, &port->stride);
}

/* Fill in which samples a list tells. */
static void sd_list_samples(const sd_state *s, const sd_view *v, sd_port *port) {
  port->scattered = SD_LISTED;
  port->listed = v->list + (v->lists_on ? 2 * s->first : 0);
  for (int x = 0; x < v->rank; x++)
    if (v->axes[x].listed) port->along = v->axes[x].loop, port->pace = s->job->strides[v->array][x];
}

/* The unit of a step's program that computes in the plan's type and has some properties; null if it could not be made. */
static inline const sd_unit *sd_unit_at(const sd_state *s, const sd_step *step, int properties) {
  int place = SD_UNITS * step->units + (s->job->plan->single ? SD_OF_SINGLE : 0) + properties;
  const sd_unit *unit = s->job->units[place];
  return unit ? unit : s->job->hooks->make_unit(s->job->self, step->units, place);
}

/* Make the port of a view. Returns how many offsets were used. */
static inline long sd_make_port(const sd_state *s, const sd_view *v, sd_port *port, int axes, const long *lengths,
                                long *offsets) {
  const sd_array *array = s->job->plan->arrays + v->array;
  long used = 0;
  port->size = v->size;
  port->single = array->item == 4;
  if (v->known) {
    port->data = s->data[v->array] + v->offset;
    port->step = v->pace;
    port->offsets = v->offsets;
    port->unaligned = 0;
    sd_samples(port, v->strides, axes, lengths);
  } else {
    const long *strides = s->job->strides[v->array];
    long offset, along[SD_AXES];
    size_t odd = (size_t)s->data[v->array];
    sd_resolve(v, strides, &offset, along);
    port->data = s->data[v->array] + offset;
    for (int x = 0; x < v->rank; x++) odd |= (size_t)strides[x];
    port->unaligned = odd % (size_t)array->item != 0;
    used = sd_own_elements(port, v, strides, array->item, offsets);
    sd_samples(port, along, axes, lengths);
  }
  if (v->goes_on) port->data += s->first * port->strides[0];
  if (v->list) sd_list_samples(s, v, port);
  return used;
}

/* Make one loop of two, where each port goes on along the outer one where the inner one ends, or one has a single turn.
   Returns the number of loops. */
static int sd_join_loops(sd_port *ports, int number, int axes, long *lengths, int kept) {
  for (int l = axes - 2; l >= kept; l--) {
    int one = 1, within = lengths[l + 1] != 1, single = lengths[l] == 1 || !within;
    for (int p = 0; p < number && one; p++) {
      const sd_port *port = ports + p;
      if (port->scattered == SD_LISTED) one = port->along != l && port->along != l + 1;
      one &= single || port->strides[l] == port->strides[l + 1] * lengths[l + 1];
    }
    if (!one) continue;
    lengths[l] *= lengths[l + 1];
    for (int k = l + 1; k < axes - 1; k++) lengths[k] = lengths[k + 1];
    for (int p = 0; p < number; p++) {
      sd_port *port = ports + p;
      if (within) port->strides[l] = port->strides[l + 1];
      for (int k = l + 1; k < axes - 1; k++) port->strides[k] = port->strides[k + 1];
      if (port->scattered == SD_LISTED && port->along > l) port->along--;
    }
    axes--;
  }
  return axes;
}

/* Sums of many short rows by a program: a unit that sums begins and ends anew for each row, so the elements of many rows
   are computed at once, and added up after that. The order of a row's sum is that of ../batch/run.h, so that bits
   do not depend on which of the two it was. */

/* Elements of a row that is short, and numbers that are computed at once; lanes of a vector, at most. */
enum { SD_SHORT_ROW = 64, SD_SHORT_SUMS = 2048, SD_MOST_LANES = 16 };
/* Returned where a unit adds up such rows as nothing here does. */
enum { SD_ELSEWHERE_SUMS = -6 };

typedef long long sd_mask __attribute__((vector_size(16), may_alias));

/* Add up rows of `inner` neighbours, of which as many more may be read as two vectors have: the two vectors are filled
   in turns, and their halves added to each other. Results are `apart` bytes from each other. */
#define SD_ADD_SHORT_ROWS(LANES)                                                                                      \
  static void sd_add_short_rows_##LANES(const double *row, long rows, long inner, char *to, long apart, long item) {  \
    const long whole = (inner - 1) / (2 * LANES) * (2 * LANES);                                                       \
    sd_mask last[LANES];                                                                                              \
    _Pragma("GCC unroll 32") for (int l = 0; l < 2 * LANES; l++) last[l / 2][l % 2] = whole + l < inner ? -1 : 0;     \
    for (; rows > 0; rows--, row += inner, to += apart) {                                                             \
      sd_pair turns[LANES];                                                                                           \
      _Pragma("GCC unroll 32") for (int q = 0; q < LANES; q++) turns[q] = (sd_pair){0, 0};                            \
      for (long k = 0; k < whole; k += 2 * LANES)                                                                     \
        _Pragma("GCC unroll 32") for (int q = 0; q < LANES; q++) turns[q] += *(const sd_pair *)(row + k + 2 * q);     \
      _Pragma("GCC unroll 32") for (int q = 0; q < LANES; q++)                                                        \
        turns[q] += (sd_pair)((sd_mask) * (const sd_pair *)(row + whole + 2 * q) & last[q]);                          \
      _Pragma("GCC unroll 4") for (int count = LANES / 2; count; count /= 2)                                          \
        _Pragma("GCC unroll 32") for (int q = 0; q < count; q++) turns[q] += turns[count + q];                        \
      sd_set_number(to, item, turns[0][0] + turns[0][1]);                                                             \
    }                                                                                                                 \
  }
SD_ADD_SHORT_ROWS(2)
SD_ADD_SHORT_ROWS(4)
SD_ADD_SHORT_ROWS(8)
SD_ADD_SHORT_ROWS(16)
#undef SD_ADD_SHORT_ROWS

typedef void (*sd_add_short_rows)(const double *, long, long, char *, long, long);

/* What adds up rows as a unit would, or null: of float32 only what needs no sum in that type. */
static sd_add_short_rows sd_find_short_rows(const sd_unit *u, long inner) {
  if (u->single && inner > 2 * u->lanes) return 0;
  switch (u->lanes) {
    case 2: return sd_add_short_rows_2;
    case 4: return sd_add_short_rows_4;
    case 8: return sd_add_short_rows_8;
    case 16: return sd_add_short_rows_16;
    default: return 0;
  }
}

/* Whether the rows of a call are short enough, and there are several. */
static int sd_has_short_rows(const sd_step *step, const sd_port *ports, const sd_call *call) {
  long total = 0, rows = call->lengths[0], inner = rows ? call->count / rows : 0;
  if (!step->kept || inner < 1 || inner > SD_SHORT_ROW || rows < 2) return 0;
  for (int p = 0; p < step->inputs; p++)
    if (ports[p].scattered == SD_LISTED) return 0;
  for (int p = step->inputs; p < step->inputs + step->outputs; p++) total += ports[p].size;
  return step->inputs + step->outputs <= SD_PORTS && inner * total <= SD_SHORT_SUMS;
}

/* Run a program over rows, and write the sum of each. */
static long sd_run_short_sums(sd_state *s, const sd_step *step, const sd_port *ports, const sd_call *call, long *which) {
  const sd_job *job = s->job;
  const int number = step->inputs + step->outputs;
  const long rows = call->lengths[0], inner = call->count / rows;
  int columns = sd_lie_in_columns(ports, step->inputs, call->count, job->usual[step->units]);
  sd_call part = *call;
  sd_port own[SD_PORTS];
  sd_add_short_rows add;
  long total = 0, some;
  double room[SD_SHORT_SUMS + 2 * SD_MOST_LANES];
  part.unit = sd_unit_at(s, step, columns ? SD_OF_COLUMNS : 0);
  if (!part.unit) return SD_RAISED;
  if (!(add = sd_find_short_rows(part.unit, inner))) return SD_ELSEWHERE_SUMS;
  part.ports = own, part.kept = 0, part.threads = 1;
  for (int p = step->inputs; p < number; p++) total += ports[p].size;
  some = SD_SHORT_SUMS / (inner * total);
  for (long first = 0; first < rows; first += some) {
    double *at = room;
    long failed;
    part.lengths[0] = rows - first < some ? rows - first : some;
    part.count = part.lengths[0] * inner;
    for (int p = 0; p < number; p++) {
      long along[SD_AXES], span = 8;
      own[p] = ports[p];
      memcpy(along, ports[p].strides, sizeof along);
      if (p < step->inputs) {
        own[p].data += first * along[0];
      } else {
        own[p].data = (char *)at, own[p].offsets = 0, own[p].unaligned = own[p].single = 0;
        own[p].step = 8 * part.count;
        for (int l = part.axes - 1; l >= 0; l--) along[l] = span, span *= part.lengths[l];
        at += part.count * ports[p].size;
      }
      sd_samples(own + p, along, part.axes, part.lengths);
    }
    if ((failed = job->hooks->run_batch(&part, which)) != -1) return failed < 0 ? failed : first + failed / inner;
    for (int p = step->inputs; p < number; p++) {
      const sd_port *to = ports + p;
      for (long e = 0; e < to->size; e++)
        add((const double *)own[p].data + e * part.count, part.lengths[0], inner,
            to->data + first * to->strides[0] + (to->offsets ? to->offsets[e] : e * to->step), to->strides[0],
            to->single ? 4 : 8);
    }
  }
  return -1;
}

/* Steps that run a scalar program: views become the ports of a unit, and the loops its batch. The unit's threads,
   tiles, strides and order of sums are those of ../batch. */

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
  return sd_unit_at(s, step, (step->sums ? SD_OF_SUMS : 0) | (columns ? SD_OF_COLUMNS : 0));
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

/* Loops whose code has all turns in it: what is carried is in registers, and rows are read and written in place. */

/* Turns between two looks for a signal. */
enum { SD_LOOK_TURNS_OF_UNIT = 4096 };

/* Where an array stands in the first turn, and the bytes from turn to turn. */
static inline char *sd_first_row(const sd_state *s, const sd_step *loop, long array, long *pace) {
  for (int w = 0; w < loop->windows; w++) {
    const sd_array *window = s->job->plan->arrays + array;
    long bytes = loop->moved[2 * w + 1];
    if (loop->moved[2 * w] != array) continue;
    *pace = loop->reverse ? -bytes : bytes;
    return s->data[window->number] + window->offset + (loop->reverse ? (loop->turns - 1) * bytes : 0);
  }
  *pace = 0;
  return s->data[array];
}

/* Run a loop by a unit of turns, which takes the places of its arrays in the order of codegen/c/emit.py. Returns -1, the
   sample that failed, or SD_RAISED. */
static long sd_run_turns(sd_state *s, const sd_step *loop, const sd_unit *unit, long *which) {
  const sd_step *step = loop + 1;
  const long *swaps = loop->moved + 2 * loop->windows;
  const char *in[2 * SD_FEW_PORTS];
  char *out[3 * SD_FEW_PORTS], work[SD_VECTOR * (SD_FEW_PORTS + 1)];
  long si[2 * SD_FEW_PORTS + 2], so[3 * SD_FEW_PORTS];
  int inputs = 0, outputs = 0;
  for (int p = 0; p < step->inputs + step->outputs; p++) {
    const sd_start *start = step->starts + p;
    if (p < step->inputs)
      in[inputs] = sd_first_row(s, loop, start->array, si + inputs) + start->offset, inputs++;
    else
      out[outputs] = sd_first_row(s, loop, start->array, so + outputs) + start->offset, outputs++;
  }
  for (int i = 2; i <= loop->span; i++) {
    const sd_view *from = loop[i].views, *to = from + 1;
    in[inputs] = sd_first_row(s, loop, from->array, si + inputs) + from->offset, inputs++;
    out[outputs] = sd_first_row(s, loop, to->array, so + outputs) + to->offset, outputs++;
  }
  for (int k = 0; k < loop->swaps; k++) out[outputs++] = s->data[swaps[2 * k]];
  si[inputs] = loop->reverse ? -1 : 1, si[inputs + 1] = loop->reverse ? loop->turns - 1 : 0;
  for (long turn = 0, end; turn < loop->turns; turn = end) {
    end = loop->turns - turn < SD_LOOK_TURNS_OF_UNIT ? loop->turns : turn + SD_LOOK_TURNS_OF_UNIT;
    if (turn && sd_is_raised(s->job)) return SD_RAISED;
    if (unit->kernel(turn, end, in, si, out, so, work + (size_t)(-(size_t)work % SD_VECTOR), unit->functions, which) >= 0)
      return 0;
  }
  return -1;
}

/* Steps in the body of a loop that read and write arrays in place: a turn is short, so copying operands into another
   layout would take longer than the computation. */

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

/* Sum over neighbours, in the order of ../batch/run.h. */
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
