/* Elements in ascending order, and in the order of others.

   Needs positions.h. */

#ifndef SD_ORDER_H
#define SD_ORDER_H
#include "positions.h"

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
