/* Copies between NumPy's arrays and buffers in a unit's layout: where samples are, and moves in both directions,
   with non-temporal stores for results that no cache keeps.

   tile.h decides what has to be copied. Needs unit.h, and SSE2 for the non-temporal stores. */

#ifndef SD_COPY_H
#define SD_COPY_H
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "unit.h"

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
  return p->scattered == SD_RUNS ? sd_walk_from(c, p, sample).here : sample * p->stride;
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
    while (i < count) {
      long here, run = sd_walk_on(c, p, &w, count - i, &here), step = p->strides[c->axes - 1];
      for (long j = 0; j < run; j++) where[i + j] = here + j * step;
      i += run;
    }
  }
  for (i = count; i < rows; i++) where[i] = where[count - 1];
}

/* Copy samples of one element of `item` bytes, and the last once more up to rows. */
static void sd_gather(const sd_call *c, const sd_port *p, long first, long count, long rows, long item, char *to) {
  sd_walk w = sd_walk_from(c, p, first);
  long step = p->strides[c->axes - 1];
  for (long i = 0; i < count;) {
    long here, run = sd_walk_on(c, p, &w, count - i, &here);
    const char *from = p->data + here;
    char *next = to + i * item;
    if (step == item)
      memcpy(next, from, (size_t)(run * item));
    else if (item == 8)
      for (long j = 0; j < run; j++) memcpy(next + 8 * j, from + j * step, 8);
    else
      for (long j = 0; j < run; j++) memcpy(next + 4 * j, from + j * step, 4);
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
      /* all of a line before it is written, as one */
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

/* Write n results that lie as the unit wrote them to the buffer. */
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
#endif
