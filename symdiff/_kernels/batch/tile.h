/* A range of samples, tile by tile: arrays that a unit cannot read where they are, packed and unpacked. */

#ifndef SD_TILE_H
#define SD_TILE_H
#include <stdlib.h>
#include <string.h>

#include "../system/sets.h"
#include "unit.h"

/* Copies between NumPy's arrays and buffers in a unit's layout: where samples are, and moves in both directions,
   with non-temporal stores for results that no cache keeps.

   tile.h decides what has to be copied. */

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* A way through the samples of a port that has a stride of its own along each axis. */
typedef struct {
  long at[SD_AXES], here; /* where the next sample is among them, and where it stands */
} sd_walk;

static sd_walk sd_walk_from(const sd_call *c, const sd_port *p, long first) {
  sd_walk w;
  w.here = 0;
  for (int a = c->axes - 1; a >= 0; first /= c->lengths[a--]) {
    w.at[a] = first % c->lengths[a];
    w.here += w.at[a] * p->strides[a];
  }
  return w;
}

/* Where a sample stands that begins a tile. */
static long sd_place(const sd_call *c, const sd_port *p, long sample) {
  if (p->scattered != SD_RUNS) return sample * p->stride;
  if (c->axes == 2) return sample / c->lengths[1] * p->strides[0] + sample % c->lengths[1] * p->strides[1];
  return sd_walk_from(c, p, sample).here;
}

/* Go on along the last axis, up to its end; tell how many of `most` samples that is, and where the first stands. */
static long sd_walk_on(const sd_call *c, const sd_port *p, sd_walk *w, long most, long *from) {
  int last = c->axes - 1;
  long run = c->lengths[last] - w->at[last] < most ? c->lengths[last] - w->at[last] : most;
  *from = w->here;
  w->at[last] += run;
  w->here += run * p->strides[last];
  for (int a = last; w->at[a] == c->lengths[a]; a--) { /* one further along the axis before */
    w->here -= w->at[a] * p->strides[a];
    w->at[a] = 0;
    if (a == 0) break;
    w->here += p->strides[a - 1];
    w->at[a - 1]++;
  }
  return run;
}

/* Where the samples first .. first + count stand, and copies of the last up to rows. */
static void sd_places(const sd_call *c, const sd_port *p, long first, long count, long rows, long *where) {
  long i = 0;
  if (!p->scattered) {
    for (; i < count; i++) where[i] = (first + i) * p->stride;
  } else {
    sd_walk w = sd_walk_from(c, p, first);
    int listed = p->scattered == SD_LISTED, each = listed && p->along == c->axes - 1;
    while (i < count) {
      long k = listed ? w.at[p->along] : 0;
      long here, run = sd_walk_on(c, p, &w, count - i, &here), step = p->strides[c->axes - 1];
      for (long j = 0; j < run; j++) where[i + j] = here + j * step;
      for (long j = 0; listed && j < run; j++) where[i + j] += p->pace * p->listed[2 * (each ? k + j : k)];
      i += run;
    }
  }
  for (i = count; i < rows; i++) where[i] = where[count - 1];
}

/* Write one element n times. */
static inline void sd_repeat(char *to, const char *one, long n, long item) {
  long i = 0, bytes = n * item;
#ifdef __SSE2__
  if (bytes >= 16) {
    double x;
    float y;
    __m128i all;
    if (item == 8)
      memcpy(&x, one, 8), all = _mm_castpd_si128(_mm_set1_pd(x));
    else
      memcpy(&y, one, 4), all = _mm_castps_si128(_mm_set1_ps(y));
    for (; i + 16 <= bytes; i += 16) _mm_storeu_si128((__m128i *)(to + i), all);
  }
#endif
  for (; i < bytes; i += item) memcpy(to + i, one, (size_t)item);
}

/* Copy n elements that stand `step` bytes apart. */
static inline void sd_copy_run(char *to, const char *from, long step, long n, long item) {
  if (step == 0)
    sd_repeat(to, from, n, item);
  else if (step == item)
    memcpy(to, from, (size_t)(n * item));
  else if (item == 8)
    for (long j = 0; j < n; j++) memcpy(to + 8 * j, from + j * step, 8);
  else
    for (long j = 0; j < n; j++) memcpy(to + 4 * j, from + j * step, 4);
}

/* Copy n rows that stand `step` bytes apart; the compiler knows the length of those of few elements. */
static inline void sd_copy_rows(char *to, const char *from, long step, long n, long row) {
#define SD_ROWS_OF(bytes) \
  case bytes: \
    for (long j = 0; j < n; j++) memcpy(to + (bytes) * j, from + j * step, bytes); \
    break;
  if (step == row)
    memcpy(to, from, (size_t)(n * row));
  else
    switch (row) {
      SD_ROWS_OF(4) SD_ROWS_OF(8) SD_ROWS_OF(12) SD_ROWS_OF(16) SD_ROWS_OF(24) SD_ROWS_OF(32)
      default:
        for (long j = 0; j < n; j++) memcpy(to + row * j, from + j * step, (size_t)row);
    }
#undef SD_ROWS_OF
}

/* Copies of short rows at listed positions, of which some are asked for ahead. */
enum { SD_LISTED_SOON = 8 };
#if defined __x86_64__
SD_BEGIN_AVX512
#define SD_WIDE 64
#include "listed.h"
#undef SD_WIDE
SD_END_SET
SD_BEGIN_AVX2
#define SD_WIDE 32
#include "listed.h"
#undef SD_WIDE
SD_END_SET
#endif
#define SD_WIDE 16
#include "listed.h"
#undef SD_WIDE

static inline int sd_copy_listed(char *to, const char *from, long step, long pace, const long *listed, long n, long row) {
#if defined __x86_64__
  if (sd_best_set() == SD_SET_AVX512) return sd_copy_listed_64(to, from, step, pace, listed, n, row);
  if (sd_best_set() == SD_SET_AVX2) return sd_copy_listed_32(to, from, step, pace, listed, n, row);
#endif
  return sd_copy_listed_16(to, from, step, pace, listed, n, row);
}

/* Numbers that follow each other in a list, from which on they are copied at once. */
enum { SD_LISTED_RUN = 16 };

/* Whether sd_pick serves a port. */
static inline int sd_picks(const sd_call *c, const sd_port *p) {
  return p->scattered == SD_LISTED && p->along == c->axes - 1 && p->single == c->unit->single && !p->offsets;
}

/* Copy numbers at listed positions, `pace` bytes from one to the next, of samples `step` bytes apart: short runs one at a
   time, since their lengths are not foreseen. */
#define SD_PICK_NUMBERS(NAME, TYPE)                                                                                   \
  static void NAME(char *to, const char *from, long step, long pace, const long *listed, long count) {                \
    const int plain = step == 0 && pace == sizeof(TYPE);                                                              \
    for (long k = 0; k < count;) {                                                                                    \
      long run, n;                                                                                                    \
      for (; plain && k < count && SD_IS_SHORT(listed[2 * k + 1]); k++)                                               \
        memcpy(to + (long)sizeof(TYPE) * k, from + (long)sizeof(TYPE) * listed[2 * k], sizeof(TYPE));                 \
      for (; k < count && SD_IS_SHORT(listed[2 * k + 1]); k++)                                                        \
        memcpy(to + (long)sizeof(TYPE) * k, from + k * step + pace * listed[2 * k], sizeof(TYPE));                    \
      if (k == count) return;                                                                                         \
      run = listed[2 * k + 1], n = run < 0 ? -run : run;                                                              \
      if (n > count - k) n = count - k;                                                                               \
      sd_copy_run(to + k * (long)sizeof(TYPE), from + k * step + pace * listed[2 * k], run < 0 ? step : step + pace, n, \
                  sizeof(TYPE));                                                                                      \
      k += n;                                                                                                         \
    }                                                                                                                 \
  }
#define SD_IS_SHORT(run) ((unsigned long)((run) + SD_LISTED_RUN - 1) < 2 * SD_LISTED_RUN - 1)
SD_PICK_NUMBERS(sd_pick_numbers_d, double)
SD_PICK_NUMBERS(sd_pick_numbers_f, float)
#undef SD_IS_SHORT
#undef SD_PICK_NUMBERS

/* Copy samples whose places along the last axis are listed to a buffer in the unit's layout, whose columns are `tile`
   apart: as many at once as follow each other, or are one. The last is there once more up to rows. */
static void sd_pick(const sd_call *c, const sd_port *p, long first, long count, long rows, char *to, long tile) {
  sd_walk w = sd_walk_from(c, p, first);
  int last = c->axes - 1, whole = !c->unit->columns && p->step == (p->single ? 4 : 8);
  long item = p->single ? 4 : 8, size = p->size, step = p->strides[last];
  long row = c->unit->columns ? item : size * item, element = c->unit->columns ? tile * item : item;
  for (long i = 0; i < count;) {
    long k = w.at[last], here, end = k + sd_walk_on(c, p, &w, count - i, &here);
    if (size == 1) {
      (item == 8 ? sd_pick_numbers_d : sd_pick_numbers_f)(to + i * item, p->data + here, step, p->pace, p->listed + 2 * k,
                                                          end - k);
      i += end - k, k = end;
    }
    if (whole && sd_copy_listed(to + i * row, p->data + here, step, p->pace, p->listed + 2 * k, end - k, row))
      i += end - k, k = end;
    while (k < end) {
      long run = p->listed[2 * k + 1], n = run < 0 ? -run : run, way = run < 0 ? step : step + p->pace;
      const char *from = p->data + here + p->pace * p->listed[2 * k];
      char *at = to + i * row;
      if (n > end - k) n = end - k;
      if (whole)
        sd_copy_rows(at, from, way, n, row);
      else if (row == item)
        for (long e = 0; e < size; e++) sd_copy_run(at + e * element, from + e * p->step, way, n, item);
      else
        for (long j = 0; j < n; j++)
          for (long e = 0; e < size; e++)
            memcpy(at + j * row + e * item, from + j * way + e * p->step, (size_t)item);
      i += n, k += n, here += n * step;
    }
  }
  for (long i = count; i < rows; i++)
    for (long e = 0; e < size; e++) memcpy(to + i * row + e * element, to + (count - 1) * row + e * element, (size_t)item);
}

/* Copy samples of one element of `item` bytes, and the last once more up to rows. */
static void sd_gather(const sd_call *c, const sd_port *p, long first, long count, long rows, long item, char *to) {
  long step = p->strides[c->axes - 1];
  if (c->axes == 2) {
    long length = c->lengths[1], at = first % length, done = 0, run;
    const char *row = p->data + first / length * p->strides[0];
    for (; done < count; done += run, at = 0, row += p->strides[0]) {
      run = length - at < count - done ? length - at : count - done;
      if (p->strides[0] == 0 && done >= length) { /* what is there already, once more */
        run = count - done < done / length * length ? count - done : done / length * length;
        memcpy(to + done * item, to + done % length * item, (size_t)(run * item));
      } else
        sd_copy_run(to + done * item, row + at * step, step, run, item);
    }
  }
  sd_walk w = sd_walk_from(c, p, first);
  for (long i = c->axes == 2 ? count : 0; i < count;) {
    long here, run = sd_walk_on(c, p, &w, count - i, &here);
    sd_copy_run(to + i * item, p->data + here, step, run, item);
    i += run;
  }
  for (long i = count; i < rows; i++) memcpy(to + i * item, to + (count - 1) * item, (size_t)item);
}

/* Copies with a change of type; memcpy of one element is a move that needs no alignment. */
#define SD_EACH(NAME, FROM, TO)                                                                               \
  static void NAME(const char *from, const long *places, const long *offsets, long step, long n, long size,   \
                   char *to, long row, long element, int out) {                                               \
    for (long i = 0; i < n; i++)                                                                              \
      for (long e = 0; e < size; e++) {                                                                       \
        long outer = places[i] + (offsets ? offsets[e] : e * step), inner = i * row + e * element;            \
        FROM x;                                                                                               \
        TO y;                                                                                                 \
        if (!out) {                                                                                           \
          memcpy(&x, from + outer, sizeof x);                                                                 \
          y = (TO)x;                                                                                          \
          memcpy(to + inner, &y, sizeof y);                                                                   \
        } else {                                                                                              \
          memcpy(&y, to + inner, sizeof y);                                                                   \
          x = (FROM)y;                                                                                        \
          memcpy((char *)from + outer, &x, sizeof x);                                                         \
        }                                                                                                     \
      }                                                                                                       \
  }
SD_EACH(sd_move_dd, double, double)
SD_EACH(sd_move_df, double, float)
SD_EACH(sd_move_fd, float, double)
SD_EACH(sd_move_ff, float, float)
#undef SD_EACH

/* Copies of n neighbours with a change of type. */
#if defined __x86_64__
SD_BEGIN_AVX512
#define SD_CONVERTED 8
#include "convert.h"
#undef SD_CONVERTED
SD_END_SET
SD_BEGIN_AVX2
#define SD_CONVERTED 4
#include "convert.h"
#undef SD_CONVERTED
SD_END_SET
#endif
#define SD_CONVERTED 2
#include "convert.h"
#undef SD_CONVERTED
typedef void sd_converter(const char *from, char *to, long n);

static sd_converter *sd_converter_of(int widens) {
#if defined __x86_64__
  if (sd_best_set() == SD_SET_AVX512) return widens ? sd_widen_8 : sd_narrow_8;
  if (sd_best_set() == SD_SET_AVX2) return widens ? sd_widen_4 : sd_narrow_4;
#endif
  return widens ? sd_widen_2 : sd_narrow_2;
}

/* Move n samples from `first` on between a port of the other type and a buffer in the unit's layout, as sd_move does,
   where they lie as in the buffer; tell whether they do. */
static int sd_convert(const sd_unit *u, const sd_port *p, long first, long n, char *buffer, long tile, int out) {
  long item = u->single ? 4 : 8, outer = p->single ? 4 : 8, columns = u->columns && p->size > 1;
  long runs = columns ? p->size : n, length = columns ? n : p->size, apart = columns ? p->step : p->stride;
  char *at = p->data + first * p->stride;
  sd_converter *convert = sd_converter_of(out ? u->single : p->single);
  if (p->single == u->single || p->scattered || p->offsets) return 0;
  if (columns ? p->stride != outer : p->size > 1 && p->step != outer) return 0;
  if (!columns && apart == outer * length) runs = 1, length *= n;
  for (long k = 0; k < runs; k++) {
    char *inner = buffer + k * item * (columns ? tile : length), *place = at + k * apart;
    convert(out ? inner : place, out ? place : inner, length);
  }
  return 1;
}

/* Move n samples between a port and a buffer in the unit's layout, whose columns are `tile` apart. */
static void sd_move(const sd_unit *u, const sd_port *p, const long *where, long n, char *buffer, long tile, int out) {
  long item = u->single ? 4 : 8, row = u->columns ? item : item * p->size, element = u->columns ? item * tile : item;
  void (*move)(const char *, const long *, const long *, long, long, long, char *, long, long, int) =
      p->single ? (u->single ? sd_move_ff : sd_move_fd) : (u->single ? sd_move_df : sd_move_dd);
  if (p->size > 1 && !u->columns && !p->offsets && p->step == item && p->single == u->single)
    for (long i = 0; i < n; i++)
      if (out)
        memcpy(p->data + where[i], buffer + i * row, (size_t)row);
      else
        memcpy(buffer + i * row, p->data + where[i], (size_t)row);
  else
    move(p->data, where, p->offsets, p->step, n, p->size, buffer, row, element, out);
}

/* Copy whole lines of 64 bytes with non-temporal stores, and the rest as usual. */
static void sd_stream(char *to, const char *from, long bytes) {
#ifdef __SSE2__
  long head = (long)(-(size_t)to % SD_LINE);
  if (head < bytes && bytes >= SD_LINE) {
    memcpy(to, from, (size_t)head);
    for (to += head, from += head, bytes -= head; bytes >= SD_LINE; to += SD_LINE, from += SD_LINE, bytes -= SD_LINE) {
      /* the whole line is read before it is written */
      __m128i a = _mm_loadu_si128((const __m128i *)from), b = _mm_loadu_si128((const __m128i *)(from + 16));
      __m128i c = _mm_loadu_si128((const __m128i *)(from + 32)), d = _mm_loadu_si128((const __m128i *)(from + 48));
      _mm_stream_si128((__m128i *)to, a);
      _mm_stream_si128((__m128i *)(to + 16), b);
      _mm_stream_si128((__m128i *)(to + 32), c);
      _mm_stream_si128((__m128i *)(to + 48), d);
    }
  }
#endif
  memcpy(to, from, (size_t)bytes);
}

/* Copy n results from the buffer to memory of the same layout. */
static void sd_flush(const sd_unit *u, const sd_port *p, long place, long n, const char *buffer, long tile) {
  long item = u->single ? 4 : 8, row = p->size * item;
  char *to = p->data + place;
  if (u->columns || p->size == 1)
    if (p->stride == item)
      for (long e = 0; e < p->size; e++) sd_stream(to + e * p->step, buffer + e * tile * item, n * item);
    else
      for (long i = 0; i < n; i++) memcpy(to + i * p->stride, buffer + i * item, (size_t)item);
  else if (p->stride == row)
    sd_stream(to, buffer, n * row);
  else
    for (long i = 0; i < n; i++) sd_stream(to + i * p->stride, buffer + i * row, row);
}

/* A range of samples, tile by tile. Arrays that are in a unit's layout and type are read where they are. Others
   (strided or unaligned samples, another type, partly broadcast batches) are packed into a buffer that stays in
   the cache; so are the last samples of a batch, padded with copies of the last one. The bits of a sample do not
   depend on any of this: each lane computes from its own sample alone. */

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

/* Run whole runs along the last axis but one, where each array goes on equally far from run to run. */
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
    on[p] = (port->scattered == SD_RUNS ? port->strides[c->axes - 2] : c->run * port->stride) - (rest ? forth[p] : 0);
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
  while (last > 0 && ports <= SD_EVEN && runs > 0) {
    long left = c->lengths[last - 1] - first / c->run % c->lengths[last - 1], some = runs < left ? runs : left;
    if ((failed = sd_even_runs(c, r, first, some, which)) >= 0) return failed;
    first += some * c->run, runs -= some;
  }
  if (!runs) return -1;
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
