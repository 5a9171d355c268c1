/* A call of a unit: all samples, by threads and tiles, and sums over them. */

#ifndef SD_RUN_H
#define SD_RUN_H
#include <stdlib.h>
#include <string.h>

#include "pool.h"
#include "tile.h"

/* Sums over a batch, or over all of its axes but the first. They follow one order whatever the layout, the tiles
   and the number of threads: within each 1024 samples, lane by lane of two vectors that samples fill in turns,
   then the halves of these lanes onto each other; the sums of 1024 in pairs, pairs of pairs, and so on. */

/* Sums of blocks that are added up at once, and elements of these. */
enum { SD_TOGETHER = 16, SD_SUMS = 64 };

/* How sums are made of sums of up to 1024: `groups` of `each` samples, `blocks` of 1024 and less in each. */
typedef struct {
  long groups, each, blocks;
} sd_groups;

static sd_groups sd_grouping(const sd_call *c) {
  sd_groups g = {c->kept ? c->lengths[0] : 1, 0, 1};
  if (g.groups) g.each = c->count / g.groups;
  if (g.each > SD_BLOCK) g.blocks = (g.each + SD_BLOCK - 1) / SD_BLOCK;
  return g;
}

/* Sums of blocks that are in memory at once: a vector that was cleared in smaller parts cannot be read at once, nor
   the other way round, so there is something else to do between. */
static long sd_together(const sd_call *c, long total) {
  sd_groups g = sd_grouping(c);
  long together = g.groups * g.blocks < SD_TOGETHER ? g.groups * g.blocks : SD_TOGETHER;
  while (together > 1 && together * total > SD_SUMS) together /= 2;
  return together;
}

/* Add up to 1024 samples to a sum; `rest` is zero. */
static long sd_block(const sd_call *c, const sd_room *r, long begin, long end, char *sum, char *rest, long *which) {
  const sd_unit *u = c->unit;
  long lanes = u->lanes, failed;
  for (long i = begin; i < end;) {
    long count = end - i < r->tile ? end - i : r->tile;
    if (count >= lanes) {
      count &= -lanes;
      if ((failed = sd_tile(c, r, i, count, sum, which)) >= 0) return failed;
    } else { /* the padding's lanes are left out */
      if ((failed = sd_tile(c, r, i, count, rest, which)) >= 0) return failed;
      sd_add(u, r->total, sum, (i - begin) / lanes % 2, 0, rest, 0, count);
    }
    i += count;
  }
  return -1;
}

/* The same for samples that are read where they are: those from begin on of a group. What is left over after whole
   vectors is at the end of the last vector that there is, whose beginning is left out; it needs no buffer either. */
static long sd_direct_block(const sd_call *c, const sd_room *r, long group, long begin, long end, char *sum, char *rest,
                            long *which) {
  const sd_unit *u = c->unit;
  long lanes = u->lanes, whole = (end - begin) & -lanes, left = end - begin - whole, failed;
  for (int p = 0; p < u->inputs; p++) {
    const sd_port *port = c->ports + p;
    r->in[p] = port->data + (c->kept ? group * port->strides[0] : 0) + begin * port->stride;
    r->stride[p] = port->size > 1 && u->columns ? port->step : port->stride;
  }
#define SD_RUN_KERNEL(count, to) \
  (r->out[0] = to, u->kernel(0, count, r->in, r->stride, r->out, r->stride + u->inputs, r->work, u->functions, which))
  if (whole && (failed = SD_RUN_KERNEL(whole, sum)) >= 0) return begin + failed;
  if (!left) return -1;
  for (int p = 0; p < u->inputs; p++) r->in[p] += (whole + left - lanes) * c->ports[p].stride;
  if ((failed = SD_RUN_KERNEL(lanes, rest)) >= 0) return end - lanes + failed;
#undef SD_RUN_KERNEL
  sd_add(u, r->total, sum, whole / lanes % 2, 0, rest, lanes - left, left);
  return -1;
}

/* Let the sums that are added to first, and those that are added to second, change places. */
static inline void sd_exchange_turns(const sd_unit *u, long total, char *sum) {
  long bytes = sd_sum_bytes(u, 1) / 2;
  for (long k = 0; k < total; k++, sum += 2 * bytes)
    for (long l = 0; l < bytes; l += 8) {
      double first, second;
      memcpy(&first, sum + l, 8);
      memcpy(&second, sum + bytes + l, 8);
      memcpy(sum + l, &second, 8);
      memcpy(sum + bytes + l, &first, 8);
    }
}

/* Add `count` samples of a run, from the one at place `at` in it on, to a sum in which `before` samples precede them: whole
   vectors of both. `starts` has where the run begins in each array. */
static inline long sd_whole_part(const sd_call *c, const sd_room *r, char *const *starts, long at, long count, long before,
                                 char *sum, long *which) {
  const sd_unit *u = c->unit;
  int odd = before / u->lanes & 1;
  long failed;
  for (int p = 0; p < u->inputs; p++) r->in[p] = starts[p] + at * c->ports[p].stride;
  r->out[0] = sum;
  if (odd) sd_exchange_turns(u, r->total, sum);
  failed = u->kernel(0, count, r->in, r->stride, r->out, r->stride + u->inputs, r->work, u->functions, which);
  if (odd) sd_exchange_turns(u, r->total, sum);
  return failed;
}

/* The same as sd_block for samples that are read where they are, a run along the last axis at a time. Samples that are not
   a whole vector of the sum are computed with others of the run, which are left out. */
static long sd_block_of_runs(const sd_call *c, const sd_room *r, long begin, long end, char *sum, char *rest, long *which) {
  const sd_unit *u = c->unit;
  long lanes = u->lanes, at = begin % c->run, failed = -1, some, left, from;
  int fresh = 1;
  for (int p = 0; p < u->inputs; p++)
    r->stride[p] = c->ports[p].size > 1 && u->columns ? c->ports[p].step : c->ports[p].stride;
  for (long i = begin; i < end; i += left, at += left) {
    if (at == c->run) at = 0, fresh = 1;
    for (int p = 0; fresh && p < u->inputs; p++)
      r->buffer[p] = c->ports[p].data + sd_place(c, c->ports + p, i - at);
    fresh = 0;
    left = c->run - at < end - i ? c->run - at : end - i;
    some = (begin - i) & (lanes - 1); /* up to the sum's next vector */
    if (!some && left >= lanes) {
      failed = sd_whole_part(c, r, r->buffer, at, left &= -lanes, i - begin, sum, which);
      if (failed >= 0) return i + failed;
      continue;
    }
    if (some && left > some) left = some;
    from = at < c->run - lanes ? at : c->run - lanes;
    memset(rest, 0, (size_t)sd_sum_bytes(u, r->total));
    failed = sd_whole_part(c, r, r->buffer, from, lanes, 0, rest, which);
    if (failed >= 0) return i - at + from + failed;
    sd_add(u, r->total, sum, (i - begin) / lanes & 1, (i - begin) & (lanes - 1), rest, at - from, left);
  }
  return -1;
}

/* The blocks from .. to, into one row of `to_sums` each. */
static long sd_blocks(const sd_call *c, const sd_room *r, long from, long to, double *to_sums, long *which) {
  const sd_unit *u = c->unit;
  sd_groups g = sd_grouping(c);
  long group = from / g.blocks, block = from % g.blocks, bytes = sd_sum_bytes(u, r->total), failed;
  while (from < to) {
    long count = to - from < r->together ? to - from : r->together;
    memset(r->sums, 0, (size_t)(count * bytes));
    memset(r->rests, 0, (size_t)(count * bytes));
    for (long k = 0; k < count; k++) {
      long first = group * g.each, begin = block * SD_BLOCK, left = g.each - begin;
      long end = left < SD_BLOCK ? g.each : begin + SD_BLOCK;
      char *sum = r->sums + k * bytes, *rest = r->rests + k * bytes;
      if (c->run)
        failed = sd_block_of_runs(c, r, first + begin, first + end, sum, rest, which);
      else if (!r->direct || (end < u->lanes && end > begin))
        failed = sd_block(c, r, first + begin, first + end, sum, rest, which);
      else if ((failed = sd_direct_block(c, r, group, begin, end, sum, rest, which)) >= 0)
        failed += first;
      if (failed >= 0) return failed;
      if (++block == g.blocks) block = 0, group++;
    }
    sd_fold(u, count * r->total, r->sums, to_sums);
    from += count, to_sums += count * r->total;
  }
  return -1;
}

/* Sum the blocks that a thread takes. */
static long sd_sum_worker(sd_part *part, long *which) {
  const sd_work *work = part->work;
  const sd_call *c = work->call;
  char local[SD_LOCAL + SD_VECTOR];
  sd_room r;
  long from, to, failed = -1;
  if (!sd_make_room(c, &r, local, sd_together(c, c->unit->total))) return SD_NO_MEMORY;
  while (failed < 0 && sd_take(part, &from, &to))
    failed = sd_blocks(c, &r, from, to, work->sums + (from - work->begin) * r.total, which);
  sd_leave_room(&r);
  return failed;
}

/* Write one sum. */
static void sd_put(const sd_port *p, char *sample, const double *from) {
  for (long e = 0; e < p->size; e++) {
    char *to = sample + (p->offsets ? p->offsets[e] : e * p->step);
    float single = (float)from[e];
    if (p->single)
      memcpy(to, &single, sizeof single);
    else
      memcpy(to, from + e, sizeof *from);
  }
}

/* Find a stride that tells an input's samples along all axes but the one kept, if there is one. */
static void sd_find_run(const sd_call *c, sd_port *p) {
  long stride;
  if (!sd_find_stride(p->strides, c->lengths, c->kept, c->axes, &stride)) return;
  p->scattered = SD_RUNS;
  p->stride = stride;
}

/* Arrays for each sum from which on short runs of them are read where they lie: to pack so many takes longer than what does
   not fill a vector of the sum. */
enum { SD_MANY_PACKED = 8 };

/* Samples of a run along the last axis if arrays with a stride of their own along each axis are read where they lie, such
   a run at a time; else 0. */
static long sd_run_of_sums(const sd_call *c) {
  const sd_unit *u = c->unit;
  long run = c->axes > 1 ? c->lengths[c->axes - 1] : 0;
  int scattered = 0, inputs = u->inputs;
  for (int p = 0; p < inputs; p++) scattered += c->ports[p].scattered == 1;
  if (!scattered || run < (scattered < SD_MANY_PACKED * u->total ? SD_LONG_RUN : 2 * u->lanes)) return 0;
  for (int p = 0; p < inputs; p++) {
    sd_port port = c->ports[p];
    if (port.scattered == 1) port.scattered = SD_RUNS, port.stride = port.strides[c->axes - 1];
    if (!sd_lies(u, &port, p)) return 0;
  }
  for (int p = 0; p < inputs; p++)
    if (c->ports[p].scattered == 1) c->ports[p].scattered = SD_RUNS, c->ports[p].stride = c->ports[p].strides[c->axes - 1];
  return run;
}

/* Sum all samples into the outputs, or those of each place along the first axis. */
static long sd_sum(const sd_call *of, long *which) {
  sd_call call = *of;
  const sd_call *c = &call;
  const sd_unit *u = c->unit;
  sd_groups g = sd_grouping(c);
  long total = u->total, levels = 2, items = g.groups * g.blocks, round;
  long depth = 0, block = 0, group = 0, failed = -1;
  double *memory, *sums;
  for (int p = 0; p < u->inputs; p++)
    if (c->kept && c->ports[p].scattered == 1) sd_find_run(c, c->ports + p);
  call.run = sd_run_of_sums(c);
  for (long b = g.blocks; b > 0; b /= 2) levels++;
  /* as many blocks at once as some megabytes of sums hold */
  round = (1 << 22) / (8 * (total + 1)) + c->threads;
  if (round > items) round = items;
  if (!(memory = malloc((size_t)((levels + round) * total + 1) * 8))) return SD_NO_MEMORY;
  sums = memory + levels * total;
  for (long first = 0; first < items; first += round) {
    long last = first + round < items ? first + round : items;
    failed = sd_share(c, sd_sum_worker, first, last, 1, u->cost * (g.each < SD_BLOCK ? g.each : SD_BLOCK), sums, which);
    if (failed != -1) break;
    for (long item = first; item < last; item++) {
      const double *sum = sums + (item - first) * total;
      block++;
      if (g.blocks > 1) {
        memcpy(memory + depth++ * total, sum, (size_t)total * 8);
        /* as many pairs are complete as the number of blocks so far has factors of two; at last, all there are */
        for (long pairs = block; depth > 1 && (pairs % 2 == 0 || block == g.blocks); pairs /= 2, depth--)
          for (long k = 0; k < total; k++) memory[(depth - 2) * total + k] += memory[(depth - 1) * total + k];
        if (block < g.blocks) continue;
        sum = memory;
      }
      for (int p = u->inputs; p < u->inputs + u->outputs; sum += c->ports[p++].size)
        sd_put(c->ports + p, c->ports[p].data + (c->kept ? group * c->ports[p].strides[0] : 0), sum);
      group++, block = 0, depth = 0;
    }
  }
  free(memory);
  return failed;
}

/* A call: one sample, a batch or the sum over one. unit.pyx compiles this header, and with it all others of this
   folder, into one module, which owns the threads.

   Calls share nothing, so several Python threads may call one kernel at any time; the threads of one call are
   those of pool.h. */

enum { SD_ELSEWHERE = -3 };
/* Arrays and bytes of workspace for which one sample needs nothing to be laid out. What a long program takes fits on any
   thread's stack, where it is in the cache from the call before. */
enum { SD_FEW = 24, SD_ROOM = 1 << 16 };
/* The same as SD_LONG_RUN where each sample has one number of an array, or all have the same, and several arrays would be
   packed otherwise. */
enum { SD_SHORT_RUN = 16 };
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
  int packed = 0, lie_so = 1;
  for (int p = 0; p < u->inputs + u->outputs; p++) {
    sd_port port = c->ports[p];
    if (port.scattered == 1) {
      port.scattered = SD_RUNS, port.stride = port.strides[c->axes - 1];
      packed += p < u->inputs ? 1 : 2;
    }
    lie_so &= (port.size == 1 || (p < u->inputs && u->constant && u->constant[p])) && sd_lies(u, &port, p);
  }
  return lie_so && packed > 1 ? SD_SHORT_RUN : SD_LONG_RUN;
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
