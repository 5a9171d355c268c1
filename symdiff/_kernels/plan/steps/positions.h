/* Elements taken at positions that a call brings, or added up at them, arrays in other shapes, and triangles.

   An array is seen as groups of its axes, each of which is gone through in C order: those before, those that have
   positions or an order of their own, the axis itself, and those behind. Positions are checked before a call; one that
   is out of range all the same reads nan, and is not written.

   Needs nest.h and matrices/stack.h. */

#ifndef SD_POSITIONS_H
#define SD_POSITIONS_H
#include <math.h>
#include <stdint.h>

#include "nest.h"
#include "matrices/stack.h"

/* Some axes of an array, as few as its strides allow. */
typedef struct {
  int rank;
  long count, shape[SD_RANK], strides[SD_RANK];
} sd_group;

static void sd_see_group(const sd_state *s, int array, int first, int last, sd_group *group) {
  const sd_array *a = s->job->plan->arrays + array;
  const long *strides = s->job->strides[array];
  group->rank = 0, group->count = 1;
  for (int x = first; x < last; x++) {
    long length = a->tiled && x == 0 ? s->rows : a->shape[x];
    int before = group->rank - 1;
    group->count *= length;
    if (length == 1) continue;
    if (before >= 0 && group->strides[before] == strides[x] * length) {
      group->shape[before] *= length;
      group->strides[before] = strides[x];
    } else {
      group->shape[group->rank] = length;
      group->strides[group->rank++] = strides[x];
    }
  }
}

/* Bytes to the k-th place of a group. */
static inline long sd_group_at(const sd_group *group, long k) {
  long at = 0;
  if (group->rank == 1) return k * group->strides[0];
  for (int x = group->rank - 1; x >= 0; x--) {
    at += k % group->shape[x] * group->strides[x];
    k /= group->shape[x];
  }
  return at;
}

/* Whether the places of a group stand one after the other, each of some bytes. */
static inline int sd_is_line(const sd_group *group, long item) {
  return group->rank == 0 || (group->rank == 1 && group->strides[0] == item);
}

/* The groups of the arrays of a step: before, own, the axis or the positions' axes, behind. */
typedef struct {
  sd_group before, own, along, behind;
} sd_groups;

static void sd_see_groups(const sd_state *s, int array, int own, int axis, int along, sd_groups *groups) {
  int rank = s->job->plan->arrays[array].rank;
  sd_see_group(s, array, 0, axis - own, &groups->before);
  sd_see_group(s, array, axis - own, axis, &groups->own);
  sd_see_group(s, array, axis, axis + along, &groups->along);
  sd_see_group(s, array, axis + along, rank, &groups->behind);
}

/* A position as a call brings it, -1 for what is none. */
static inline long sd_position(const char *at, long item, long size) {
  double x = sd_get(at, item);
  return x >= 0 && x < (double)size ? (long)x : -1;
}

/* Copy a row of neighbours; few are copied in less time than a call takes. */
static inline void sd_copy_neighbours(char *to, const char *from, long bytes) {
  enum { FEW = 128, PAIR = sizeof(sd_pair) };
  long b = 0;
  if (bytes > FEW) {
    memcpy(to, from, (size_t)bytes);
    return;
  }
  for (; b + PAIR <= bytes; b += PAIR) memcpy(to + b, from + b, PAIR);
  for (; b < bytes; b += 4) memcpy(to + b, from + b, 4);
}

/* Add a row of neighbours to sums. */
static inline void sd_add_neighbours(double *sums, const char *from, long count) {
  long r = 0;
  for (; r + 2 <= count; r += 2) *(sd_pair *)(sums + r) += *(const sd_pair *)(from + 8 * r);
  for (; r < count; r++) sums[r] += sd_get(from + 8 * r, 8);
}

static long sd_run_take(sd_state *s, const sd_step *step, long *which) {
  const sd_array *arrays = s->job->plan->arrays, *list = arrays + step->b;
  const long from_item = arrays[step->a].item, item = arrays[step->c].item, own = step->own;
  const char *from = s->data[step->a], *at = s->data[step->b];
  char *to = s->data[step->c];
  sd_groups x, y;
  sd_group lines, places;
  (void)which;
  sd_see_groups(s, step->a, (int)own, step->axis, 1, &x);
  sd_see_groups(s, step->c, (int)own, step->axis, list->rank - (int)own, &y);
  sd_see_group(s, step->b, 0, (int)own, &lines);
  sd_see_group(s, step->b, (int)own, list->rank, &places);
  const int rows = item == from_item && sd_is_line(&x.behind, item) && sd_is_line(&y.behind, item);
  for (long l = 0; l < y.before.count; l++)
    for (long m = 0; m < y.own.count; m++) {
      const char *row = from + sd_group_at(&x.before, l) + sd_group_at(&x.own, m);
      const char *positions = at + sd_group_at(&lines, m);
      char *target = to + sd_group_at(&y.before, l) + sd_group_at(&y.own, m);
      for (long k = 0; k < y.along.count; k++) {
        long p = sd_position(positions + sd_group_at(&places, k), list->item, x.along.count);
        const char *here = row + (p < 0 ? 0 : sd_group_at(&x.along, p));
        char *there = target + sd_group_at(&y.along, k);
        if (rows && p >= 0) {
          sd_copy_neighbours(there, here, y.behind.count * item);
          continue;
        }
        for (long r = 0; r < y.behind.count; r++)
          sd_set_number(there + sd_group_at(&y.behind, r), item,
                        p < 0 ? NAN : sd_get(here + sd_group_at(&x.behind, r), from_item));
      }
    }
  return -1;
}

/* Sums are of float64, in the order of the positions. */
static long sd_run_put(sd_state *s, const sd_step *step, long *which) {
  const sd_array *arrays = s->job->plan->arrays, *list = arrays + step->b;
  const long from_item = arrays[step->a].item, item = arrays[step->c].item, own = step->own;
  const char *from = s->data[step->a], *at = s->data[step->b];
  char *to = s->data[step->c];
  sd_groups x, y;
  sd_group lines, places;
  (void)which;
  sd_see_groups(s, step->a, (int)own, step->axis, list->rank - (int)own, &x);
  sd_see_groups(s, step->c, (int)own, step->axis, 1, &y);
  const int direct = item == 8 && sd_is_line(&y.behind, 8) && sd_is_line(&y.along, y.behind.count * 8);
  sd_see_group(s, step->b, 0, (int)own, &lines);
  sd_see_group(s, step->b, (int)own, list->rank, &places);
  const int rows = from_item == 8 && sd_is_line(&x.behind, 8);
  for (long l = 0; l < y.before.count; l++)
    for (long m = 0; m < y.own.count; m++) {
      const char *row = from + sd_group_at(&x.before, l) + sd_group_at(&x.own, m);
      const char *positions = at + sd_group_at(&lines, m);
      char *target = to + sd_group_at(&y.before, l) + sd_group_at(&y.own, m);
      double *sums = direct ? (double *)target : (double *)s->scratch;
      memset(sums, 0, (size_t)(y.along.count * y.behind.count) * 8);
      for (long k = 0; k < x.along.count; k++) {
        long p = sd_position(positions + sd_group_at(&places, k), list->item, y.along.count);
        const char *here = row + sd_group_at(&x.along, k);
        if (rows && p >= 0) {
          sd_add_neighbours(sums + p * y.behind.count, here, y.behind.count);
          continue;
        }
        for (long r = 0; p >= 0 && r < y.behind.count; r++)
          sums[p * y.behind.count + r] += sd_get(here + sd_group_at(&x.behind, r), from_item);
      }
      for (long p = 0; p < y.along.count && !direct; p++)
        for (long r = 0; r < y.behind.count; r++)
          sd_set_number(target + sd_group_at(&y.along, p) + sd_group_at(&y.behind, r), item,
                        sums[p * y.behind.count + r]);
    }
  return -1;
}

/* Copy an array to one of another shape, in C order. */
static long sd_run_reshape(sd_state *s, const sd_step *step, long *which) {
  const sd_array *a = s->job->plan->arrays + step->a, *c = s->job->plan->arrays + step->c;
  const char *from = s->data[step->a];
  char *to = s->data[step->c];
  sd_group x, y;
  (void)which;
  sd_see_group(s, step->a, 0, a->rank, &x);
  sd_see_group(s, step->c, 0, c->rank, &y);
  for (long k = 0; k < y.count; k++)
    sd_set_number(to + sd_group_at(&y, k), c->item, sd_get(from + sd_group_at(&x, k), a->item));
  return -1;
}

/* Keep a part of each matrix, from the `own`-th diagonal on upwards or downwards. */
static long sd_run_triangle(sd_state *s, const sd_step *step, long *which) {
  const sd_array *arrays = s->job->plan->arrays, *a = arrays + step->a, *c = arrays + step->c;
  const long rows = c->shape[c->rank - 2], columns = c->shape[c->rank - 1];
  const long *in = s->job->strides[step->a] + a->rank - 2, *out = s->job->strides[step->c] + c->rank - 2;
  (void)which;
  for (long k = 0, count = sd_stack_count(s, step->c, 2); k < count; k++) {
    const char *from = sd_stack_at(s, step->a, 2, k);
    char *to = sd_stack_at(s, step->c, 2, k);
    for (long i = 0; i < rows; i++)
      for (long j = 0; j < columns; j++) {
        int kept = step->reverse ? j - i >= step->own : j - i <= step->own;
        sd_set_number(to + i * out[0] + j * out[1], c->item, kept ? sd_get(from + i * in[0] + j * in[1], a->item) : 0.0);
      }
  }
  return -1;
}
#endif
