/* Steps that run a scalar program: views become the ports of a unit, and the loops its batch. The unit's threads,
   tiles, strides and order of sums are those of ../batch.

   Needs ports.h and short_sums.h. */

#ifndef SD_PROGRAM_H
#define SD_PROGRAM_H
#include <stdlib.h>

#include "ports.h"
#include "short_sums.h"

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
#endif
