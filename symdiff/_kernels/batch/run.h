/* A call: one sample, a batch or the sum over one. unit.pyx compiles this header, and with it all others of this
   folder, into one module, which owns the threads.

   Calls share nothing, so several Python threads may call one kernel at any time; the threads of one call are
   share.h's. Needs tile.h, sums.h and share.h. */

#ifndef SD_RUN_H
#define SD_RUN_H
#include "share.h"
#include "sums.h"
#include "tile.h"

enum { SD_ELSEWHERE = -3 };
/* Arrays and bytes of workspace for which one sample needs nothing to be laid out. What a long program takes fits on any
   thread's stack, where it is in the cache from the call before. */
enum { SD_FEW = 24, SD_ROOM = 1 << 16 };
/* The same as SD_LONG_RUN where none has more than one element and all can be read and written so: where one is written, and
   where none is, and what is read is packed in less time than a unit takes to begin. */
enum { SD_SHORT_RUN = 16, SD_LONG_READ = 96 };
/* Samples from which it is worth beginning at lines of the cache, and elements of rows that are short. */
enum { SD_MANY = 8192, SD_SHORT = 3 };

/* Run one sample of rows, read and written where it lies; -3 if it does not lie so. All lanes hold
   the same sample and write the same numbers to the same place. */
static long sd_single(const sd_call *c, long *which) {
  const sd_unit *u = c->unit;
  static const long strides[SD_FEW]; /* every lane reads and writes at the same place */
  const char *in[SD_FEW];
  char *out[SD_FEW];
  if (u->columns || u->inputs + u->outputs > SD_FEW || u->workspace * SD_VECTOR > SD_ROOM) return SD_ELSEWHERE;
  for (int p = 0; p < u->inputs + u->outputs; p++) {
    const sd_port *port = c->ports + p;
    if (!sd_lies(u, port, p)) return SD_ELSEWHERE;
    if (p < u->inputs)
      in[p] = port->data;
    else
      out[p - u->inputs] = port->data;
  }
  char work[(u->workspace + 1) * SD_VECTOR];
  return u->kernel(0, u->lanes, in, strides, out, strides, work + (size_t)(-(size_t)work % SD_VECTOR), u->functions,
                   which) < 0
             ? -1
             : 0;
}

/* Samples of a long batch that are run by themselves, so that the others begin at lines of the cache in as many
   arrays as can be: what lies across two lines is written and read twice. Results count twice. Only short rows
   are moved by whole vectors, and of others each begins somewhere else. */
static long sd_uneven(const sd_call *c) {
  const sd_unit *u = c->unit;
  long best = 0, most = 0;
  if (c->count < SD_MANY && !sd_large(c)) return 0;
  for (long k = 0; k < u->lanes && k < c->count; k++) {
    long even = 0;
    for (int p = 0; p < u->inputs + u->outputs; p++) {
      const sd_port *port = c->ports + p;
      if (port->scattered || !sd_lies(u, port, p)) continue;
      if (port->size > 1 && (u->columns ? port->step % SD_LINE : port->size > SD_SHORT)) continue;
      if (((size_t)port->data + (size_t)(k * port->stride)) % SD_LINE == 0) even += port->size << (p >= u->inputs);
    }
    if (even > most) most = even, best = k;
  }
  return best;
}

/* Run the samples that a thread takes. */
static long sd_range_worker(sd_part *part, long *which) {
  const sd_call *c = part->work->call;
  char local[SD_LOCAL + SD_VECTOR];
  sd_room r;
  long from, to, failed = -1;
  if (!sd_make_room(c, &r, local, 0)) return SD_NO_MEMORY;
  while (failed < 0 && sd_take(part, &from, &to)) failed = sd_range(c, &r, from, to, which);
  sd_leave_room(&r);
  return failed;
}

/* Samples of the last axis from which arrays with a stride of their own along each axis are read where they lie. */
static long sd_least_run(const sd_call *c) {
  const sd_unit *u = c->unit;
  int are_written = 0, lie_so = 1;
  for (int p = 0; p < u->inputs + u->outputs; p++) {
    sd_port port = c->ports[p];
    are_written |= p >= u->inputs && port.scattered == 1;
    if (port.scattered == 1) port.scattered = SD_RUNS, port.stride = port.strides[c->axes - 1];
    lie_so &= port.size == 1 && sd_lies(u, &port, p);
  }
  return !lie_so ? SD_LONG_RUN : are_written ? SD_SHORT_RUN : SD_LONG_READ;
}

/* Whether the unit reads an input from one sample of each run along the last axis: no tile goes past the end of one. */
static int sd_by_runs(const sd_call *c) {
  const sd_unit *u = c->unit;
  for (int p = 0; u->constant && p < u->inputs; p++)
    if (u->constant[p] && (c->ports[p].scattered || c->ports[p].stride)) return 1;
  return 0;
}

/* Pack what is read by whole runs along the last axis, the same for each of them, as the unit reads it: columns. Returns
   the memory, or null where there is nothing to pack. */
static char *sd_pack_runs(const sd_call *c) {
  const sd_unit *u = c->unit;
  long item = u->single ? 4 : 8, bytes = 0, run = c->lengths[c->axes - 1];
  char *memory = 0, *at;
  for (int pass = 0; pass < 2; pass++) {
    if (pass && (!bytes || !(memory = malloc((size_t)bytes + SD_VECTOR)))) break;
    at = memory + (size_t)(-(size_t)memory % SD_VECTOR);
    for (int p = 0; p < u->inputs; p++) {
      sd_port *port = c->ports + p;
      if (!sd_packs_runs(port, c->axes, c->count) || port->single != u->single || u->constant[p]) continue;
      if (!pass) {
        bytes += port->size * sd_padded(run * item);
        continue;
      }
      for (long e = 0; e < port->size; e++)
        sd_copy_run(at + e * sd_padded(run * item), port->data + (port->offsets ? port->offsets[e] : e * port->step),
                    port->strides[c->axes - 1], run, item);
      port->data = at;
      port->offsets = 0;
      port->unaligned = 0;
      port->step = sd_padded(run * item);
      port->strides[c->axes - 1] = item;
      at += port->size * port->step;
    }
  }
  return memory;
}

/* Run a whole batch. Returns the first failing sample, -1 for none, SD_NO_MEMORY, or SD_RAISED where a signal has. */
static long sd_run(const sd_call *c, long *which) {
  if (c->unit->reduce) return sd_sum(c, which);
  if (c->count == 1) {
    long failed = sd_single(c, which);
    if (failed != SD_ELSEWHERE) return failed;
  }
  sd_call call = *c;
  char *packed = 0;
  call.run = 0;
  if (sd_by_runs(c)) {
    call.run = c->lengths[c->axes - 1];
    if (c->unit->columns) packed = sd_pack_runs(c);
  }
  if (c->axes > 1 && (call.run || c->lengths[c->axes - 1] >= sd_least_run(c)))
    for (int p = 0; p < c->unit->inputs + c->unit->outputs; p++)
      if (c->ports[p].scattered == 1) {
        call.run = c->lengths[c->axes - 1];
        c->ports[p].scattered = SD_RUNS;
        c->ports[p].stride = c->ports[p].strides[c->axes - 1];
      }
  call.again = !sd_in_its_place(c);
  long head = sd_uneven(&call), cost = c->unit->cost, failed = -1;
  if (head) failed = sd_share(&call, sd_range_worker, 0, head, head, cost, 0, which);
  if (failed == -1) failed = sd_share(&call, sd_range_worker, head, c->count, c->unit->lanes, cost, 0, which);
  free(packed);
  return failed;
}
#endif
