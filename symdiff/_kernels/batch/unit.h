/* A call (its arrays, the unit that computes, and the batch), and the sums in a unit's lanes.

   A unit is a function, generated or interpreting, that takes whole vectors of samples in one layout and one
   type. This header has the structures that the other headers of this folder and the Cython modules share, and
   the one question that all of them ask: whether a unit can read an array where it is. It needs nothing of
   this package. The headers in their order: unit.h, tile.h, pool.h, run.h. */

#ifndef SD_UNIT_H
#define SD_UNIT_H
#include <limits.h>
#include <string.h>

/* in[p] is where the port's data of sample 0 stand. In a unit of rows the elements of a sample are
   neighbours and si[p] is the distance in bytes from sample to sample; in a unit of columns the samples
   are neighbours and si[p] is the distance from element to element. A port of one element has the
   distance from sample to sample in both (an item's size, or 0 for a number that all samples share).
   A packed unit is one of columns whose strides are constants of its code: consecutive samples are adjacent, and a port
   of several elements holds one vector of samples for each element, one after the other.
   A unit of turns is the body of a loop with the loop: begin to end are turns, as ../plan/programs.h says. */
typedef long (*sd_kernel)(long begin, long end, const char *const *in, const long *si, char *const *out,
                          const long *so, void *w, void *const *fn, long *which);

/* Samples of a block of a sum, axes of a batch, bytes of the widest vector and of a line of the cache. */
enum { SD_BLOCK = 1024, SD_AXES = 8, SD_VECTOR = 64, SD_LINE = 64 };
enum { SD_NO_MEMORY = -2, SD_RAISED = -4 };
/* Samples of a call, at most. Arrays that samples share take no memory, so there may be any number; beyond the
   last of them threads still count on by a few pieces. */
#define SD_MOST (LONG_MAX / 64)
/* Samples from which it pays to build code for another layout. */
enum { SD_MANY_SAMPLES = 1000 };
/* In place of 1 as sd_port.scattered: the array is read and written where it is, a run of samples at a time; or a
   list tells where along one axis of the batch its samples are read. */
enum { SD_RUNS = 2, SD_LISTED };
/* Samples of the last batch axis from which arrays with a stride of their own along each axis are read
   and written where they lie, a run along that axis at a time. Sums run along all axes but the one kept. */
enum { SD_LONG_RUN = 64 };

typedef struct {
  char *data;
  long size;             /* elements of one sample */
  long stride;           /* bytes from one sample to the next; 0 without a batch axis */
  long step;             /* bytes from one element to the next */
  const long *offsets;   /* bytes from a sample to each element, where one step does not tell them, or null */
  long strides[SD_AXES]; /* bytes along each batch axis, where one stride does not tell them */
  int scattered;         /* whether strides holds; if SD_RUNS, stride tells them along a run */
  int along;             /* if SD_LISTED: the axis, */
  long pace;             /* bytes from one position to the next, */
  const long *listed;    /* and for each place along the axis the position, and how many places from there on have
                            the next ones each; or the same one, as a number below 0 */
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
  long total; /* numbers of one sample's results */
  int columns, single, packed; /* what the unit reads and writes */
  const char *constant;     /* inputs that the unit reads from one sample, of all or of each run along the last axis
                               of a call, or null for none */
  int turns;
} sd_unit;

typedef struct {
  const sd_unit *unit;
  sd_port *ports; /* inputs, then outputs */
  long count, lengths[SD_AXES];
  int axes, threads;
  int kept; /* when summing: the first axis is not summed over, 0 or 1 */
  long run; /* sd_run's own: samples along the last axis, past which no tile goes; 0 for no such bound */
  int again; /* sd_run's own: a sample may be run twice, since no result is written where an input is */
} sd_call;

/* Find one stride for the axes from `first` on, the last of which is the innermost; whether there is one. */
static inline int sd_find_stride(const long *strides, const long *lengths, int first, int axes, long *stride) {
  long span = 1;
  *stride = 0;
  for (int a = axes - 1; a >= first; a--) {
    if (lengths[a] == 1) continue;
    if (span == 1)
      *stride = strides[a];
    else if (strides[a] != *stride * span)
      return 0;
    span *= lengths[a];
  }
  return 1;
}

/* Whether the unit reads or writes a port's samples as they lie. */
static inline int sd_lies(const sd_unit *u, const sd_port *p, int number) {
  long item = u->single ? 4 : 8;
  if (p->offsets || (p->scattered && p->scattered != SD_RUNS) || p->unaligned || p->single != u->single) return 0;
  if (number < u->inputs && u->constant && u->constant[number]) return p->stride == 0 && p->step == item;
  if (p->size == 1) return 1;
  return u->columns ? p->stride == item : p->step == item;
}

/* Whether more of the arrays' elements lie in columns than in rows; few samples are taken as usual. */
static inline int sd_lie_in_columns(const sd_port *ports, int number, long count, int usual) {
  sd_unit rows = {0}, columns = {0};
  long in_rows = 0, in_columns = 0;
  if (count < SD_MANY_SAMPLES) return usual;
  rows.inputs = columns.inputs = number;
  columns.columns = 1;
  for (int p = 0; p < number; p++) {
    rows.single = columns.single = ports[p].single; /* a change of type is for both layouts */
    in_rows += sd_lies(&rows, &ports[p], p) * ports[p].size;
    in_columns += sd_lies(&columns, &ports[p], p) * ports[p].size;
  }
  return in_rows == in_columns ? usual : in_columns > in_rows;
}

/* Whether a port of several elements has the same ones again for each run along the last axis. */
static inline int sd_packs_runs(const sd_port *p, int axes, long count) {
  if (p->size == 1 || p->scattered != 1 || p->strides[axes - 1] == 0) return 0;
  for (int a = 0; a < axes - 1; a++)
    if (p->strides[a]) return 0;
  return count * p->size > 0;
}

/* Whether a result is written where an input begins. */
static inline int sd_in_its_place(const sd_call *c) {
  const sd_port *inputs = c->ports, *outputs = inputs + c->unit->inputs;
  const char *low = 0, *high = 0;
  for (int q = 0; q < c->unit->outputs; q++) {
    if (!q || outputs[q].data < low) low = outputs[q].data;
    if (!q || outputs[q].data > high) high = outputs[q].data;
  }
  for (int p = 0; p < c->unit->inputs; p++)
    if (inputs[p].data >= low && inputs[p].data <= high) /* of a hundred results few are looked at */
      for (int q = 0; q < c->unit->outputs; q++)
        if (inputs[p].data == outputs[q].data) return 1;
  return 0;
}

/* Sums in a unit's lanes: two vectors for each element, which samples fill in turns, and the one number that they become. */

/* Bytes of the sum of one block: two vectors for each element. */
static __attribute__((unused)) long sd_sum_bytes(const sd_unit *u, long total) { return 2 * total * u->lanes * (u->single ? 4 : 8); }

/* A sum is two vectors for each of its `total` elements, which are added to in turns. Add `count` lanes of another
   sum's first vectors, from lane `skip` on, to those of its first or second ones from `lane` on. */
static __attribute__((unused)) void sd_add(const sd_unit *u, long total, char *to, long turn, long lane, const char *from, long skip, long count) {
  for (long k = 0; k < total; k++)
    for (long l = 0; l < count; l++) {
      long at = (2 * k + turn) * u->lanes + lane + l, other = 2 * k * u->lanes + skip + l;
      if (u->single)
        ((float *)to)[at] += ((const float *)from)[other];
      else
        ((double *)to)[at] += ((const double *)from)[other];
    }
}

typedef double sd_doubles __attribute__((vector_size(16), aligned(8), may_alias));
typedef float sd_floats __attribute__((vector_size(8), aligned(4), may_alias));

/* Add halves onto each other, until one number is left. */
static inline __attribute__((always_inline)) double sd_halve(const char *from, long count, int single) {
#define SD_TWO(l) \
  (single ? __builtin_convertvector(((const sd_floats *)from)[l], sd_doubles) : ((const sd_doubles *)from)[l])
  sd_doubles s[8];
  count /= 4;
#pragma GCC unroll 8
  for (long l = 0; l < count; l++) s[l] = SD_TWO(l) + SD_TWO(count + l);
#pragma GCC unroll 4
  while (count > 1) {
    count /= 2;
#pragma GCC unroll 4
    for (long l = 0; l < count; l++) s[l] += s[count + l];
  }
  return s[0][0] + s[0][1];
#undef SD_TWO
}

/* Add up the lanes of `count` elements of sums. */
static __attribute__((unused)) void sd_fold(const sd_unit *u, long count, const char *from, double *to) {
#define SD_FOLD(lanes, single) \
  case lanes: \
    for (long k = 0; k < count; k++) to[k] = sd_halve(from + k * 2 * lanes * (single ? 4 : 8), 2 * lanes, single); \
    break;
  if (u->single)
    switch (u->lanes) { SD_FOLD(4, 1) SD_FOLD(8, 1) SD_FOLD(16, 1) }
  else
    switch (u->lanes) { SD_FOLD(2, 0) SD_FOLD(4, 0) SD_FOLD(8, 0) }
#undef SD_FOLD
}
#endif
