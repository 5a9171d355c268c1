/* Elements at positions that a call brings, in other shapes, and in ascending order. */

#ifndef SD_POSITIONS_H
#define SD_POSITIONS_H
#include <math.h>
#include <stdint.h>

#include "matrices.h"

/* Elements taken at positions that a call brings, or added up at them, arrays in other shapes, and triangles.

   An array is seen as groups of its axes, each of which is gone through in C order: those before, those that have
   positions or an order of their own, the axis itself, and those behind. Positions are checked before a call; one that
   is out of range all the same reads nan, and is not written. */

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

/* Elements in ascending order, and in the order of others. */

/* NumPy's sort of float64, nan last; executor.pyx puts its address here. The array that it takes may be null. */
static int (*sd_sorter)(void *numbers, intptr_t count, void *array);

static long sd_run_sort(sd_state *s, const sd_step *step, long *which) {
  const sd_array *a = s->job->plan->arrays + step->a, *c = s->job->plan->arrays + step->c;
  const int axis = step->axis;
  const long n = a->shape[axis];
  sd_groups x, y;
  (void)which;
  if (!n) return -1;
  sd_see_groups(s, step->a, 0, axis, 1, &x);
  sd_see_groups(s, step->c, 0, axis, 1, &y);
  for (long l = 0; l < y.before.count; l++)
    for (long r = 0; r < y.behind.count; r++) {
      const char *from = s->data[step->a] + sd_group_at(&x.before, l) + sd_group_at(&x.behind, r);
      char *to = s->data[step->c] + sd_group_at(&y.before, l) + sd_group_at(&y.behind, r);
      const int there = c->item == 8 && !step->reverse && y.along.strides[0] == 8 && y.along.rank == 1;
      double *line = there ? (double *)to : (double *)s->scratch;
      for (long k = 0; k < n; k++) line[k] = sd_get(from + sd_group_at(&x.along, k), a->item);
      sd_sorter(line, n, 0);
      for (long k = 0; !there && k < n; k++)
        sd_set_number(to + sd_group_at(&y.along, k), c->item, line[step->reverse ? n - 1 - k : k]);
    }
  return -1;
}

/* A number of a key, whose sizes as whole numbers have the order of the key: zeros are equal, nan is last. */
typedef struct {
  uint64_t key;
  long place;
} sd_ranked;

static inline uint64_t sd_rank_of(double x) {
  uint64_t bits;
  if (x != x) return ~(uint64_t)0;
  if (x == 0) x = 0;
  memcpy(&bits, &x, 8);
  return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* Sort by key, equal ones as they stood; by bytes, of which those that all keys share are left out. */
static sd_ranked *sd_sort_ranked(sd_ranked *x, sd_ranked *other, long n) {
  enum { FEW = 40 };
  static const int digits = 8;
  long counts[8][256];
  if (n <= FEW) {
    for (long i = 1; i < n; i++) {
      sd_ranked one = x[i];
      long j = i;
      for (; j > 0 && x[j - 1].key > one.key; j--) x[j] = x[j - 1];
      x[j] = one;
    }
    return x;
  }
  memset(counts, 0, sizeof counts);
  for (long i = 0; i < n; i++)
    for (int d = 0; d < digits; d++) counts[d][x[i].key >> 8 * d & 255]++;
  for (int d = 0; d < digits; d++) {
    long total = 0;
    sd_ranked *sorted = other;
    if (counts[d][x[0].key >> 8 * d & 255] == n) continue;
    for (int v = 0; v < 256; v++) {
      long here = counts[d][v];
      counts[d][v] = total;
      total += here;
    }
    for (long i = 0; i < n; i++) other[counts[d][x[i].key >> 8 * d & 255]++] = x[i];
    other = x;
    x = sorted;
  }
  return x;
}

/* Give each place of a tie the mean of its values. */
static void sd_mean_of_ties(const sd_ranked *order, double *values, long n) {
  for (long i = 0, end; i < n; i = end) {
    double sum = values[i];
    for (end = i + 1; end < n && order[end].key == order[i].key; end++) sum += values[end];
    for (long j = i; end > i + 1 && j < end; j++) values[j] = sum / (double)(end - i);
  }
}

static long sd_run_arrange(sd_state *s, const sd_step *step, long *which) {
  const sd_array *arrays = s->job->plan->arrays, *a = arrays + step->a, *key = arrays + step->b;
  const long to_item = arrays[step->c].item;
  const int axis = step->axis, more = a->rank - key->rank;
  sd_groups ranks, x, y;
  const long n = key->shape[axis];
  sd_ranked *memory = (sd_ranked *)s->scratch;
  double *values = (double *)(memory + 2 * n);
  (void)which;
  if (!n) return -1;
  /* of the values: more axes before, then those of the key */
  sd_see_groups(s, step->b, axis, axis, 1, &ranks);
  sd_see_groups(s, step->a, axis, axis + more, 1, &x);
  sd_see_groups(s, step->c, axis, axis + more, 1, &y);
  for (long m = 0; m < ranks.own.count; m++)
    for (long r = 0; r < ranks.behind.count; r++) {
      const char *line = s->data[step->b] + sd_group_at(&ranks.own, m) + sd_group_at(&ranks.behind, r);
      const sd_ranked *order;
      for (long k = 0; k < n; k++)
        memory[k] = (sd_ranked){sd_rank_of(sd_get(line + sd_group_at(&ranks.along, k), key->item)), k};
      order = sd_sort_ranked(memory, memory + n, n);
      for (long l = 0; l < x.before.count; l++) {
        const char *from = s->data[step->a] + sd_group_at(&x.before, l) + sd_group_at(&x.own, m) +
                           sd_group_at(&x.behind, r);
        char *to = s->data[step->c] + sd_group_at(&y.before, l) + sd_group_at(&y.own, m) + sd_group_at(&y.behind, r);
        for (long k = 0; k < n; k++)
          values[k] = sd_get(from + sd_group_at(&x.along, step->reverse ? k : order[k].place), a->item);
        sd_mean_of_ties(order, values, n);
        for (long k = 0; k < n; k++)
          sd_set_number(to + sd_group_at(&y.along, step->reverse ? order[k].place : k), to_item, values[k]);
      }
    }
  return -1;
}
#endif
