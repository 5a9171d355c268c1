/* Between NumPy's arrays and a unit: a function, generated or interpreting, that takes whole vectors
   of samples in one layout and one type. Arrays that lie so already are read where they are. Others
   (strided or unaligned samples, another type, partly broadcast batches) are packed tile by tile into
   a buffer that stays in the cache; so are the last samples of a batch, padded with copies of the last
   one. A sample's bits do not depend on any of it: each lane computes from its own sample alone.

   How numbers are copied is in copy.h; sums over a batch are in sums.h.

   A call shares nothing with another, so several Python threads may call one kernel at any time;
   threads are another matter (pool.h). */

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "pool.h"

/* in[p] is where the port's data of sample 0 stand. In a unit of rows the elements of a sample are
   neighbours and si[p] is the distance in bytes from sample to sample; in a unit of columns the samples
   are neighbours and si[p] is the distance from element to element. A port of one element has the
   distance from sample to sample in both (an item's size, or 0 for a number that all samples share). */
typedef long (*sd_kernel)(long begin, long end, const char *const *in, const long *si, char *const *out,
                          const long *so, void *w, void *const *fn, long *which);

enum { SD_BLOCK = 1024, SD_BUFFER = 1 << 17, SD_VECTOR = 64, SD_AXES = 8, SD_LOCAL = 8192, SD_THREADS = 64 };
/* Operations for which a thread is worth its while. */
enum { SD_WORTH = 500000 };
enum { SD_NO_MEMORY = -2, SD_ELSEWHERE = -3 };
/* Samples of a call, at most. Arrays that samples share take no memory, so there may be any number; beyond the
   last of them threads still count on by a few pieces. */
#define SD_MOST (LONG_MAX / 64)
/* Arrays and bytes of workspace for which one sample needs nothing to be laid out. */
enum { SD_FEW = 24, SD_ROOM = 4096 };
/* Samples of the last batch axis from which arrays with a stride of their own along each axis are read
   and written where they lie, a run along that axis at a time. Sums run along all axes but the one kept. */
enum { SD_RUNS = 2, SD_LONG_RUN = 64 };
/* Bytes of results beyond what caches keep, and bytes of one sample's that are wide, in rows and in columns. Wide
   ones are written past the caches, which would otherwise read every line before it is overwritten; lines must
   come whole and in order for that, so results pass through a buffer: in rows of a few samples, that the first
   cache holds; in columns of many, so that a run of each is written. Nothing is computed while that is written,
   and of narrow results the lines are read in time. */
enum { SD_LARGE = 1 << 25, SD_WIDE_ROWS = 512, SD_WIDE_COLUMNS = 2048, SD_LINE = 64 };
enum { SD_LARGE_ROWS = 1 << 15, SD_LARGE_COLUMNS = 1 << 18 };
/* Samples from which it is worth beginning at lines of the cache, and elements of rows that are short. */
enum { SD_MANY = 8192, SD_SHORT = 3 };

typedef struct {
  char *data;
  long size;             /* elements of one sample */
  long stride;           /* bytes from one sample to the next; 0 without a batch axis */
  long step;             /* bytes from one element to the next */
  const long *offsets;   /* bytes from a sample to each element, where one step does not tell them, or null */
  long strides[SD_AXES]; /* bytes along each batch axis, where one stride does not tell them */
  int scattered;         /* whether strides holds; if SD_RUNS, stride tells them along a run */
  int single;            /* elements are float32 */
  int unaligned;
} sd_port;

typedef struct {
  sd_kernel kernel;
  void *const *functions;
  long lanes, workspace; /* a power of two; in vectors */
  long samples;          /* that it takes at once: a power of two, the lanes or more */
  long cost;             /* about the operations of one sample; decides how many threads are worth it */
  int inputs, outputs, reduce;
  int columns, single;      /* what the unit reads and writes */
  const char *constant;     /* inputs that the unit reads from one sample, or null for none */
} sd_unit;

typedef struct {
  const sd_unit *unit;
  sd_port *ports; /* inputs, then outputs */
  long count, lengths[SD_AXES];
  int axes, threads;
  int kept; /* when summing: the first axis is not summed over, 0 or 1 */
  long run; /* sd_run's own: samples along the last axis, past which no tile goes; 0 for no such bound */
} sd_call;

/* What a thread needs besides the arrays; one allocation. */
typedef struct {
  const char **in;
  char **out, **buffer, *work, *sums, *rests, *memory;
  long *stride, *where, *rows; /* rows: samples that a port's buffer holds */
  long tile, total;            /* tile: samples that are packed at once, or 0 when none need it */
  int large;                   /* results are written past the caches */
  long together;               /* blocks in sums, and in rests: what is left over after whole vectors */
  int direct;                  /* all inputs are read where they are */
} sd_room;

static long sd_padded(long bytes) { return (bytes + SD_VECTOR - 1) / SD_VECTOR * SD_VECTOR; }

/* Whether the unit reads or writes a port's samples as they lie. */
static int sd_lies(const sd_unit *u, const sd_port *p, int number) {
  long item = u->single ? 4 : 8;
  if (p->offsets || (p->scattered && p->scattered != SD_RUNS) || p->unaligned || p->single != u->single) return 0;
  if (number < u->inputs && u->constant && u->constant[number]) return p->stride == 0 && p->step == item;
  if (p->size == 1) return 1;
  return u->columns ? p->stride == item : p->step == item;
}

/* Numbers of one sample's results. */
static long sd_total(const sd_call *c) {
  long total = 0;
  for (int p = c->unit->inputs; p < c->unit->inputs + c->unit->outputs; p++) total += c->ports[p].size;
  return total;
}

#include "copy.h"

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
    if (!direct && !constant && port->scattered && port->size == 1 && port->single == u->single)
      sd_gather(c, port, first, count, rows, item, at);
    else if (!direct) {
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
    else if (r->out[p - u->inputs] == r->buffer[p]) {
      sd_places(c, c->ports + p, first, count, count, r->where);
      sd_move(u, c->ports + p, r->where, count, r->buffer[p], r->rows[p], 1);
    }
  return -1;
}

static long sd_range(const sd_call *c, const sd_room *r, long begin, long end, long *which) {
  for (long i = begin; i < end;) {
    long count = r->tile && r->tile < end - i ? r->tile : end - i, failed;
    if (c->run && count > c->run - i % c->run) count = c->run - i % c->run;
    if (count > c->unit->lanes) count &= -c->unit->lanes;
    if ((failed = sd_tile(c, r, i, count, 0, which)) >= 0) return failed;
    i += count;
  }
  return -1;
}

#include "sums.h"

/* Whether results are written past the caches. Columns that begin in the midst of lines would be written by halves. */
static int sd_large(const sd_call *c) {
  const sd_unit *u = c->unit;
  long bytes = sd_total(c) * (u->single ? 4 : 8), wide = u->columns ? SD_WIDE_COLUMNS : SD_WIDE_ROWS;
  if (u->reduce || !c->count || bytes < wide || bytes < SD_LARGE / c->count) return 0;
  for (int p = u->inputs; u->columns && p < u->inputs + u->outputs; p++)
    if (c->ports[p].size > 1 && c->ports[p].step % SD_LINE) return 0;
  return 1;
}

/* Lay out what a thread needs in `local`, or in memory of its own; 0 without memory. */
static int sd_make_room(const sd_call *c, sd_room *r, char *local) {
  const sd_unit *u = c->unit;
  int ports = u->inputs + u->outputs, moved = u->inputs + (u->reduce ? 0 : u->outputs), packed = 0;
  long widest = 1, item = u->single ? 4 : 8, pointers = sd_padded((long)sizeof(void *) * (ports + 1)), bytes, vectors;
  char *next;
  memset(r, 0, sizeof *r);
  for (int p = 0; p < ports; p++) {
    widest += c->ports[p].size;
    if (p < moved) packed |= !sd_lies(u, c->ports + p, p);
  }
  r->direct = !packed;
  r->total = sd_total(c);
  r->large = sd_large(c);
  packed |= r->large || u->reduce;
  if (packed) { /* a power of two of samples, so that tiles divide the blocks of a sum, and of both its vectors */
    long least = u->reduce ? 2 * u->lanes : r->large ? u->samples : u->lanes;
    long most = !r->large ? SD_BUFFER : u->columns ? SD_LARGE_COLUMNS : SD_LARGE_ROWS;
    for (r->tile = SD_BLOCK; r->tile > least && (r->tile * widest * item > most || r->tile >= 2 * c->count);)
      r->tile /= 2;
  }
  if (u->reduce) r->together = sd_together(c, r->total);
  vectors = sd_padded(r->together * sd_sum_bytes(u, r));
  bytes = 3 * pointers + 2 * sd_padded(8L * ports) + sd_padded(8L * (packed ? r->tile : u->lanes)) +
          u->workspace * SD_VECTOR;
  if (u->reduce) bytes += 2 * vectors;
#define SD_HELD(p) \
  (!sd_lies(u, c->ports + (p), p) || (r->large && (p) >= u->inputs) ? r->tile : c->count > 1 || u->columns ? u->lanes : 0)
  for (int p = 0; p < moved; p++) bytes += sd_padded(SD_HELD(p) * c->ports[p].size * item);
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

/* Samples begin .. end or, when summing, blocks of them, which threads take from piece by piece: one that is
   slower takes fewer. */
typedef struct {
  const sd_call *call;
  long begin, end, piece;
  double *sums; /* when summing, the sum of each block */
  long next;    /* the first that nobody has taken */
  int stop;     /* one has failed: what is taken will be finished, and nothing more is taken */
} sd_work;

typedef struct {
  sd_work *work;
  long failed, which;
} sd_worker;

static void *sd_labour(void *argument) {
  sd_worker *me = argument;
  sd_work *work = me->work;
  const sd_call *c = work->call;
  char local[SD_LOCAL + SD_VECTOR];
  sd_room r;
  me->failed = SD_NO_MEMORY;
  if (!sd_make_room(c, &r, local)) return 0;
  me->failed = -1;
  while (me->failed < 0) {
    long from = work->begin, to = work->end;
    if (work->piece) {
#ifndef _WIN32
      if (__atomic_load_n(&work->stop, __ATOMIC_RELAXED)) break;
      from = __atomic_fetch_add(&work->next, work->piece, __ATOMIC_RELAXED);
#endif
      if (from >= work->end) break;
      if (work->end - from > work->piece) to = from + work->piece;
    }
    me->failed = c->unit->reduce
                     ? sd_blocks(c, &r, from, to, work->sums + (from - work->begin) * r.total, &me->which)
                     : sd_range(c, &r, from, to, &me->which);
    if (!work->piece) break;
  }
#ifndef _WIN32
  if (me->failed >= 0) __atomic_store_n(&work->stop, 1, __ATOMIC_RELAXED);
#endif
#ifdef __SSE2__
  if (r.large) _mm_sfence();
#endif
  free(r.memory);
  return 0;
}

/* Run samples or blocks begin .. end in as many threads as are wanted and worth it, in pieces of whole `unit`s,
   where each takes about `cost` operations. */
static long sd_share(const sd_call *c, long begin, long end, long unit, long cost, double *sums, long *which) {
  sd_work work = {c, begin, end, 0, sums, begin, 0};
  sd_worker workers[SD_THREADS];
  long threads = 1, failed = -1;
#ifndef _WIN32
  sd_thread *hired[SD_THREADS];
  if (c->threads > 1 && end - begin > unit) {
    /* below some tens of microseconds each, sharing costs more than it gains */
    long least = 1 + SD_WORTH / (cost + 1), most = (end - begin) / least;
    threads = c->threads < most ? c->threads : most;
    if (threads > SD_THREADS) threads = SD_THREADS;
    if (threads < 1) threads = 1;
    work.piece = (end - begin) / (8 * threads);
    if (work.piece < least / 4) work.piece = least / 4;
    work.piece = (work.piece + unit) / unit * unit;
    if (threads == 1) work.piece = 0;
  }
#endif
  for (long t = 0; t < threads; t++) workers[t] = (sd_worker){&work, -1, 0};
#ifndef _WIN32
  for (long t = 1; t < threads; t++) hired[t] = sd_hire(sd_labour, &workers[t]);
#endif
  sd_labour(&workers[0]);
#ifndef _WIN32
  for (long t = 1; t < threads; t++)
    if (hired[t]) sd_dismiss(hired[t]); /* what others would have taken was taken all the same */
#endif
  for (long t = 0; t < threads; t++) {
    if (workers[t].failed == SD_NO_MEMORY) return SD_NO_MEMORY;
    /* the first in the order of samples: pieces are taken in that order */
    if (workers[t].failed >= 0 && (failed < 0 || workers[t].failed < failed))
      failed = workers[t].failed, *which = workers[t].which;
  }
  return failed;
}

/* Run one sample of rows, read and written where it lies; -3 if it does not lie so. All lanes hold
   the same sample and write the same numbers to the same place. */
static long sd_single(const sd_call *c, long *which) {
  const sd_unit *u = c->unit;
  static const long strides[SD_FEW]; /* every lane reads and writes at the same place */
  const char *in[SD_FEW];
  char *out[SD_FEW], work[SD_ROOM + SD_VECTOR];
  if (u->columns || u->inputs + u->outputs > SD_FEW || u->workspace * SD_VECTOR > SD_ROOM) return SD_ELSEWHERE;
  for (int p = 0; p < u->inputs + u->outputs; p++) {
    const sd_port *port = c->ports + p;
    if (!sd_lies(u, port, p)) return SD_ELSEWHERE;
    if (p < u->inputs)
      in[p] = port->data;
    else
      out[p - u->inputs] = port->data;
  }
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

/* Run a whole batch. Returns the first failing sample, -1 for none, SD_NO_MEMORY. */
static long sd_run(const sd_call *c, long *which) {
  if (c->unit->reduce) return sd_sum(c, which);
  if (c->count == 1) {
    long failed = sd_single(c, which);
    if (failed != SD_ELSEWHERE) return failed;
  }
  sd_call call = *c;
  call.run = 0;
  if (c->axes > 1 && c->lengths[c->axes - 1] >= SD_LONG_RUN)
    for (int p = 0; p < c->unit->inputs + c->unit->outputs; p++)
      if (c->ports[p].scattered) {
        call.run = c->lengths[c->axes - 1];
        c->ports[p].scattered = SD_RUNS;
        c->ports[p].stride = c->ports[p].strides[c->axes - 1];
      }
  long head = sd_uneven(&call), failed = head ? sd_share(&call, 0, head, head, c->unit->cost, 0, which) : -1;
  return failed != -1 ? failed : sd_share(&call, head, c->count, c->unit->lanes, c->unit->cost, 0, which);
}

/* Threads of a call whose kernel does not say how many. Found by name, by threadpoolctl for one. */
static int sd_threads = 1;
#ifdef _WIN32
#define SD_PUBLIC __declspec(dllexport)
#else
#define SD_PUBLIC __attribute__((visibility("default")))
#endif
SD_PUBLIC int symdiff_get_num_threads(void);
SD_PUBLIC void symdiff_set_num_threads(int count);
int symdiff_get_num_threads(void) { return sd_threads; }
void symdiff_set_num_threads(int count) { sd_threads = count < 1 ? 1 : count > SD_THREADS ? SD_THREADS : count; }
