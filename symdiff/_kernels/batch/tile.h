/* A range of samples, tile by tile. Arrays that are in a unit's layout and type are read where they are. Others
   (strided or unaligned samples, another type, partly broadcast batches) are packed into a buffer that stays in
   the cache; so are the last samples of a batch, padded with copies of the last one. The bits of a sample do not
   depend on any of this: each lane computes from its own sample alone.

   sums.h and run.h use it. Needs copy.h and fold.h. */

#ifndef SD_TILE_H
#define SD_TILE_H
#include <stdlib.h>
#include <string.h>

#include "copy.h"
#include "fold.h"

/* Arrays of which runs go on evenly; bytes of the buffers of a tile, and bytes for which a thread needs no allocation: of a few hundred arrays. Memory that is
   given back at each call makes malloc put together all that is free. */
enum { SD_EVEN = 24, SD_BUFFER = 1 << 17, SD_LOCAL = 1 << 15 };
/* Bytes of results beyond what caches keep, and bytes of one sample's that are wide, in rows and in columns. Wide
   ones are written with non-temporal stores; a cache would read every line before it is overwritten. Such stores
   need whole lines in order, so results pass through a buffer: in rows of a few samples, that the first
   cache holds; in columns of many, so that a run of each is written. Nothing is computed while that is written,
   and of narrow results the lines are read in time. */
enum { SD_LARGE = 1 << 25, SD_WIDE_ROWS = 512, SD_WIDE_COLUMNS = 2048 };
enum { SD_LARGE_ROWS = 1 << 15, SD_LARGE_COLUMNS = 1 << 18 };

/* What a thread needs besides the arrays; one allocation. */
typedef struct {
  const char **in;
  char **out, **buffer, *work, *sums, *rests, *memory;
  long *stride, *where, *rows; /* rows: samples that a port's buffer holds */
  long tile, total;            /* tile: samples that are packed at once, or 0 when none need it */
  int large;                   /* results are written with non-temporal stores */
  long together;               /* blocks in sums, and in rests: what is left over after whole vectors */
  int direct;                  /* all inputs are read where they are */
} sd_room;

static long sd_padded(long bytes) { return (bytes + SD_VECTOR - 1) / SD_VECTOR * SD_VECTOR; }

/* Whether results are columns: in a unit of columns, or where each has one number a sample. */
static int sd_writes_columns(const sd_call *c) {
  const sd_unit *u = c->unit;
  for (int p = u->inputs; !u->columns && p < u->inputs + u->outputs; p++)
    if (c->ports[p].size > 1) return 0;
  return 1;
}

/* Whether results are written with non-temporal stores. Columns that begin within a line would be written in
   halves. */
static int sd_large(const sd_call *c) {
  const sd_unit *u = c->unit;
  long bytes = u->total * (u->single ? 4 : 8);
  if (u->reduce || !c->count || bytes < SD_LARGE / c->count) return 0;
  if (bytes < (sd_writes_columns(c) ? SD_WIDE_COLUMNS : SD_WIDE_ROWS)) return 0;
  for (int p = u->inputs; u->columns && p < u->inputs + u->outputs; p++)
    if (c->ports[p].size > 1 && c->ports[p].step % SD_LINE) return 0;
  return 1;
}

/* Lay out what a thread needs in `local`, or in memory of its own; 0 without memory. `together` is how many sums of
   blocks it holds, of units that sum. */
static int sd_make_room(const sd_call *c, sd_room *r, char *local, long together) {
  const sd_unit *u = c->unit;
  int ports = u->inputs + u->outputs, moved = u->inputs + (u->reduce ? 0 : u->outputs), packed = 0;
  long widest = 1, item = u->single ? 4 : 8, pointers = sd_padded((long)sizeof(void *) * (ports + 1)), bytes, vectors, usual;
  char *next;
  memset(r, 0, sizeof *r);
  for (int p = 0; p < ports; p++) {
    widest += c->ports[p].size;
    if (p < moved) packed |= !sd_lies(u, c->ports + p, p);
  }
  r->direct = !packed;
  r->total = u->total;
  r->large = sd_large(c);
  packed |= r->large || u->reduce;
  if (packed) { /* a power of two of samples, so that tiles divide the blocks of a sum, and of both its vectors */
    long least = u->reduce ? 2 * u->lanes : r->large ? u->samples : u->lanes;
    long most = !r->large ? SD_BUFFER : sd_writes_columns(c) ? SD_LARGE_COLUMNS : SD_LARGE_ROWS;
    for (r->tile = SD_BLOCK; r->tile > least && (r->tile * widest * item > most || r->tile >= 2 * c->count);)
      r->tile /= 2;
  }
  r->together = together;
  vectors = sd_padded(together * sd_sum_bytes(u, r->total));
  bytes = 3 * pointers + 2 * sd_padded(8L * ports) + sd_padded(8L * (packed ? r->tile : u->lanes)) +
          u->workspace * SD_VECTOR;
  if (u->reduce) bytes += 2 * vectors;
  usual = c->count > 1 || u->columns ? u->lanes : 0;
#define SD_HELD(p) \
  (packed && (!sd_lies(u, c->ports + (p), p) || (r->large && (p) >= u->inputs)) ? r->tile : usual)
  if (packed)
    for (int p = 0; p < moved; p++) bytes += sd_padded(SD_HELD(p) * c->ports[p].size * item);
  else /* at most */
    bytes += usual * widest * item + moved * SD_VECTOR;
  if (bytes > SD_LOCAL && !(local = r->memory = malloc((size_t)bytes + SD_VECTOR))) return 0;
  next = (char *)(((size_t)local + SD_VECTOR - 1) / SD_VECTOR * SD_VECTOR);
#define SD_TAKE(type, size) (type)next, next += sd_padded(size)
  r->in = SD_TAKE(const char **, pointers);
  r->out = SD_TAKE(char **, pointers);
  r->buffer = SD_TAKE(char **, pointers);
  r->stride = SD_TAKE(long *, 8L * ports);
  r->rows = SD_TAKE(long *, 8L * ports);
  r->where = SD_TAKE(long *, 8L * (packed ? r->tile : u->lanes));
  r->work = SD_TAKE(char *, u->workspace * SD_VECTOR);
  if (u->reduce) {
    r->sums = SD_TAKE(char *, vectors);
    r->rests = SD_TAKE(char *, vectors);
  }
  for (int p = 0; p < moved; p++) {
    r->rows[p] = SD_HELD(p);
    r->buffer[p] = SD_TAKE(char *, r->rows[p] * c->ports[p].size * item);
  }
#undef SD_HELD
#undef SD_TAKE
  return 1;
}

/* Give up what a thread needed, and complete the non-temporal stores. */
static void sd_leave_room(const sd_room *r) {
#ifdef __SSE2__
  if (r->large) _mm_sfence();
#endif
  free(r->memory);
}

/* Run samples first .. first + count: a multiple of the lanes, or fewer than them. */
static long sd_tile(const sd_call *c, const sd_room *r, long first, long count, char *sum, long *which) {
  const sd_unit *u = c->unit;
  long rows = (count + u->lanes - 1) & -u->lanes, item = u->single ? 4 : 8, failed;
  int ports = u->inputs + (u->reduce ? 0 : u->outputs);
  for (int p = 0; p < ports; p++) {
    const sd_port *port = c->ports + p;
    int constant = p < u->inputs && u->constant && u->constant[p];
    /* One sample of rows fills all lanes, and all of them write the same numbers to the same place. */
    int alone = !u->columns && count == 1;
    int lies = sd_lies(u, port, p) && (p < u->inputs || !r->large);
    int direct = lies && (rows == count || alone || (p < u->inputs && port->stride == 0));
    char *at = direct ? port->data + sd_place(c, port, first) : r->buffer[p];
    if (direct)
      r->stride[p] = port->size > 1 && u->columns ? port->step : rows != count ? 0 : port->stride;
    else
      r->stride[p] = item * (port->size > 1 && u->columns ? r->rows[p] : port->size);
    if (p >= u->inputs) {
      r->out[p - u->inputs] = at;
      continue;
    }
    if (!direct && !constant && sd_picks(c, port))
      sd_pick(c, port, first, count, rows, at, r->rows[p]);
    else if (!direct && !constant && port->scattered && port->scattered != SD_LISTED && port->size == 1 && port->single == u->single)
      sd_gather(c, port, first, count, rows, item, at);
    else if (!direct && (rows != count || constant || !sd_convert(u, port, first, count, at, r->rows[p], 0))) {
      long n = constant ? 1 : rows;
      sd_places(c, port, first, constant ? 1 : count, n, r->where);
      if (constant) { /* one sample, its elements as neighbours */
        sd_unit one = *u;
        one.columns = 0;
        sd_move(&one, port, r->where, 1, at, 1, 0);
      } else
        sd_move(u, port, r->where, n, at, r->rows[p], 0);
    }
    r->in[p] = at;
  }
  if (u->reduce) r->out[0] = sum;
  failed = u->kernel(0, rows, r->in, r->stride, r->out, r->stride + u->inputs, r->work, u->functions, which);
  if (failed >= 0) return first + failed;
  for (int p = u->inputs; p < ports; p++)
    if (r->out[p - u->inputs] == r->buffer[p] && r->large && sd_lies(u, c->ports + p, p))
      sd_flush(u, c->ports + p, sd_place(c, c->ports + p, first), count, r->buffer[p], r->rows[p]);
    else if (r->out[p - u->inputs] == r->buffer[p] &&
             !sd_convert(u, c->ports + p, first, count, r->buffer[p], r->rows[p], 1)) {
      sd_places(c, c->ports + p, first, count, count, r->where);
      sd_move(u, c->ports + p, r->where, count, r->buffer[p], r->rows[p], 1);
    }
  return -1;
}

/* Whether whole runs along the last axis can be run where they lie: what does not fill a vector is run with samples before
   it, and only where runs begin differs from one to the next. */
static int sd_in_place(const sd_call *c, const sd_room *r) {
  long lanes = c->unit->lanes;
  return r->direct && !r->tile && c->run >= lanes && (c->again || c->run % lanes == 0) && !c->unit->reduce;
}

/* The same of a batch of two axes, where each array goes on equally far from run to run. */
static __attribute__((noinline)) long sd_even_runs(const sd_call *c, const sd_room *r, long first, long runs, long *which) {
  const sd_unit *u = c->unit;
  int ports = u->inputs + u->outputs;
  long whole = c->run & -u->lanes, rest = c->run - whole, forth[SD_EVEN], on[SD_EVEN], failed;
  char *at[SD_EVEN];
  for (int p = 0; p < ports; p++) {
    const sd_port *port = c->ports + p;
    r->stride[p] = port->size > 1 && u->columns ? port->step : port->stride;
    at[p] = port->data + sd_place(c, port, first);
    forth[p] = (c->run - u->lanes) * port->stride;
    on[p] = (port->scattered == SD_RUNS ? port->strides[0] : c->run * port->stride) - (rest ? forth[p] : 0);
  }
  for (; runs > 0; runs--, first += c->run) {
    failed = u->kernel(0, whole, (const char *const *)at, r->stride, at + u->inputs, r->stride + u->inputs, r->work,
                       u->functions, which);
    if (failed >= 0) return first + failed;
    if (rest) {
      for (int p = 0; p < ports; p++) at[p] += forth[p];
      failed = u->kernel(0, u->lanes, (const char *const *)at, r->stride, at + u->inputs, r->stride + u->inputs, r->work,
                         u->functions, which);
      if (failed >= 0) return first + c->run - u->lanes + failed;
    }
    for (int p = 0; p < ports; p++) at[p] += on[p];
  }
  return -1;
}

/* Run whole runs from a sample on that begins one. */
static __attribute__((noinline)) long sd_whole_runs(const sd_call *c, const sd_room *r, long first, long runs, long *which) {
  const sd_unit *u = c->unit;
  int ports = u->inputs + u->outputs, last = c->axes - 1;
  long whole = c->run & -u->lanes, rest = c->run - whole, at[SD_AXES], begun = first / c->run, failed;
  if (c->axes == 2 && ports <= SD_EVEN) return sd_even_runs(c, r, first, runs, which);
  for (int a = last - 1; a >= 0; a--) at[a] = begun % c->lengths[a], begun /= c->lengths[a];
  for (int p = 0; p < ports; p++) {
    const sd_port *port = c->ports + p;
    r->stride[p] = port->size > 1 && u->columns ? port->step : port->stride;
    *(p < u->inputs ? (char **)r->in + p : r->out + (p - u->inputs)) = port->data + sd_place(c, port, first);
  }
  for (; runs > 0; runs--, first += c->run) {
    int carry = last - 1;
    failed = u->kernel(0, whole, r->in, r->stride, r->out, r->stride + u->inputs, r->work, u->functions, which);
    if (failed >= 0) return first + failed;
    if (rest) {
      for (int p = 0; p < ports; p++)
        *(p < u->inputs ? (char **)r->in + p : r->out + (p - u->inputs)) += (c->run - u->lanes) * c->ports[p].stride;
      failed = u->kernel(0, u->lanes, r->in, r->stride, r->out, r->stride + u->inputs, r->work, u->functions, which);
      if (failed >= 0) return first + c->run - u->lanes + failed;
    }
    for (; carry > 0 && at[carry] == c->lengths[carry] - 1; carry--) at[carry] = 0;
    if (carry >= 0) at[carry]++;
    for (int p = 0; p < ports; p++) {
      const sd_port *port = c->ports + p;
      long on = rest ? (u->lanes - c->run) * port->stride : 0;
      if (port->scattered != SD_RUNS)
        on += c->run * port->stride;
      else
        for (int a = carry; a >= 0 && a < last; a++)
          on += a == carry ? port->strides[a] : (1 - c->lengths[a]) * port->strides[a];
      *(p < u->inputs ? (char **)r->in + p : r->out + (p - u->inputs)) += on;
    }
  }
  return -1;
}

/* Run samples begin .. end. */
static long sd_range(const sd_call *c, const sd_room *r, long begin, long end, long *which) {
  int in_place = sd_in_place(c, r);
  for (long i = begin; i < end;) {
    if (in_place && end - i >= c->run && i % c->run == 0) {
      long runs = (end - i) / c->run, wrong = sd_whole_runs(c, r, i, runs, which);
      if (wrong >= 0) return wrong;
      i += runs * c->run;
      continue;
    }
    long count = r->tile && r->tile < end - i ? r->tile : end - i, failed;
    if (c->run && count > c->run - i % c->run) count = c->run - i % c->run;
    if (count > c->unit->lanes)
      count &= -c->unit->lanes;
    else if (c->again && count < c->unit->lanes) { /* with some of those before, which give the same bits again */
      long before = c->run ? i % c->run : LONG_MAX;
      if (before > i - begin) before = i - begin;
      if (count + before >= c->unit->lanes) i -= c->unit->lanes - count, count = c->unit->lanes;
    }
    if ((failed = sd_tile(c, r, i, count, 0, which)) >= 0) return failed;
    i += count;
  }
  return -1;
}

#endif
