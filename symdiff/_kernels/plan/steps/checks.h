/* What steps may reach: windows of loops stay within their arrays in every turn, bodies within their phase, and the
   arrays of a routine fit each other. Each function tells what is wrong with a plan, or null. Memory safety depends on
   them.

   Needs plan.h. */

#ifndef SD_CHECKS_H
#define SD_CHECKS_H
#include "../plan.h"

/* Bytes of an array that has a shape, at most 2^60 as the binder checks before. */
static inline long sd_bytes(const sd_array *a) {
  long bytes = a->item;
  for (int x = 0; x < a->rank; x++) bytes *= a->shape[x];
  return bytes;
}

/* Whether arrays of the arena, but a tile's, begin at lines and end in lines of their own: none begins in another's last
   line then. */
static inline int sd_is_padded(const sd_plan *plan, long room) {
  for (int k = 0; k < plan->array_count; k++) {
    const sd_array *a = plan->arrays + k;
    if (a->kind != SD_ARENA || a->tiled) continue;
    if (a->number % SD_LINE || a->number + sd_rounded(sd_bytes(a)) > room) return 0;
  }
  return 1;
}

/* Whether a step may write to an array: it is the plan's own or an output, or a window of such a one. */
static inline int sd_may_write(const sd_plan *plan, const sd_array *a) {
  while (a->kind == SD_WINDOW) a = plan->arrays + a->number;
  return a->kind == SD_OUTPUT || a->kind == SD_ARENA;
}

/* Check a window, the k-th array, whose offset is in elements, and turn that to bytes. */
static inline const char *sd_bad_window(sd_plan *plan, int k) {
  sd_array *a = plan->arrays + k;
  const sd_array *base;
  if (a->number < 0 || a->number >= k || a->tiled || a->integer) return "a window of no array before it";
  base = plan->arrays + a->number;
  if ((base->kind != SD_ARENA && base->kind != SD_CONSTANT && base->kind != SD_WINDOW) || base->tiled || base->integer)
    return "a window of an array that has none";
  if (base->item != a->item) return "a window of other numbers";
  if (a->offset < 0 || a->offset > sd_bytes(base) / a->item) return "a window that begins outside its array";
  a->offset *= a->item;
  return a->offset + sd_bytes(a) > sd_bytes(base) ? "a window that leads out of its array" : 0;
}

/* Check a loop of samples: what it moves are arrays of the tile, in rows without gaps. */
static inline const char *sd_bad_loop_of_samples(const sd_plan *plan, const sd_step *s) {
  const sd_array *arrays = plan->arrays;
  const long *moved = s->moved;
  if (s->phase != SD_TILE || s->windows || s->counter >= 0) return "a loop of samples that is none";
  if (s->turns < 0 || s->span < 0) return "a loop of a negative number of turns";
  for (int k = 0; k < 3 * s->swaps + s->held; k++) {
    const sd_array *a = arrays + moved[k], *b;
    if (moved[k] < 0 || moved[k] >= plan->array_count) return "a loop that moves no array";
    if (a->kind != SD_ARENA || !a->tiled || a->integer) return "a loop of samples over arrays of others";
    if (k >= 3 * s->swaps) continue;
    b = arrays + moved[k < 2 * s->swaps ? k ^ 1 : 2 * (k - 2 * s->swaps)];
    if (sd_bytes(a) != sd_bytes(b) || a->item != b->item) return "a swap of arrays that differ";
  }
  return 0;
}

/* Check what a loop moves; windows move by elements, which are turned to bytes. */
static inline const char *sd_bad_repeat(sd_plan *plan, sd_step *s, long *moved) {
  const sd_array *arrays = plan->arrays;
  int count = plan->array_count;
  if (s->tiled) return sd_bad_loop_of_samples(plan, s);
  if (s->phase == SD_TILE) return "a loop in a tile";
  if (s->turns < 0 || s->span < 0) return "a loop of a negative number of turns";
  for (int k = 0; k < s->windows + s->swaps; k++) {
    long first = moved[2 * k], second = moved[2 * k + 1], room;
    const sd_array *a, *b;
    if (first < 0 || first >= count) return "a loop that moves no array";
    a = arrays + first;
    if (k < s->windows) {
      if (a->kind != SD_WINDOW || second < 0) return "a loop that moves what is no window";
      room = (sd_bytes(arrays + a->number) - a->offset - sd_bytes(a)) / a->item;
      if (second && s->turns > 1 && room / second < s->turns - 1) return "a window that leaves its array";
      moved[2 * k + 1] = second * a->item;
      continue;
    }
    if (second < 0 || second >= count) return "a swap of no array";
    b = arrays + second;
    if (a->kind != SD_ARENA || b->kind != SD_ARENA || a->tiled || b->tiled || a->integer || b->integer)
      return "a swap of arrays that are not the plan's";
    if (sd_bytes(a) != sd_bytes(b) || a->item != b->item) return "a swap of arrays that differ";
  }
  if (s->counter >= 0) {
    const sd_array *a = arrays + s->counter;
    if (s->counter >= count || a->kind != SD_ARENA || a->rank || a->integer) return "a loop that counts in no number";
  }
  return 0;
}

/* Whether a program runs for one sample, and each of its arrays has the elements of that next to each other. */
static inline int sd_is_one(const sd_plan *plan, const sd_step *s) {
  long item = plan->single ? 4 : 8;
  if (s->loops || s->sums) return 0;
  for (int p = 0; p < s->inputs + s->outputs; p++) {
    const sd_view *v = s->views + p;
    if (!v->known || v->offsets || v->list || plan->arrays[v->array].item != item) return 0;
    if (v->size > 1 && v->pace != item) return 0;
  }
  return 1;
}

/* The array that a window is a part of, others themselves. */
static inline int sd_base(const sd_plan *plan, int array) {
  while (plan->arrays[array].kind == SD_WINDOW) array = (int)plan->arrays[array].number;
  return array;
}

/* Whether each array of a program has one distance along the loops from `rows` on, which is that of neighbours, or 0. */
static inline int sd_has_neighbours(const sd_step *s, int rows, long item) {
  int one = 1; /* whether a row has one element, which is next to none */
  for (int l = rows; l < s->loops; l++) one &= s->lengths[l] == 1;
  for (int p = 0; p < s->inputs + s->outputs; p++) {
    const sd_view *v = s->views + p;
    int written = p >= s->inputs;
    if (!sd_find_stride(v->strides, s->lengths, rows, s->loops, s->along + p)) return 0;
    if (one && written && !s->sums) s->along[p] = item;
    if (s->along[p] != item && (s->along[p] || (written && !s->sums))) return 0;
    if (v->size > 1 && s->along[p] && !written) return 0;
  }
  return 1;
}

/* Whether a program goes over elements that are next to each other in each of its arrays, or the same for all of them, or
   over a few rows of such; and writes to no array that it reads, since elements may be computed twice. */
static inline int sd_is_over_neighbours(const sd_plan *plan, sd_step *s) {
  long item = plan->single ? 4 : 8, sums = 0, all = 1;
  int outer = 0;
  if (!s->loops || s->kept || s->accumulate) return 0;
  for (int l = 0; l < s->loops; l++)
    if ((all *= s->lengths[l]) >= SD_MANY_SAMPLES) return 0;
  if (all == 0) return 0;
  for (int p = 0; p < s->inputs + s->outputs; p++) {
    const sd_view *v = s->views + p;
    const sd_array *array = plan->arrays + v->array;
    int written = p >= s->inputs, adds = written && s->sums;
    if (!v->known || v->list || array->item != item) return 0;
    if (v->size > 1 && !adds && (written || v->offsets || v->pace != item)) return 0;
    if (adds && (sums += v->size) > SD_MOST_SUMS) return 0;
    for (int q = 0; written && q < s->inputs; q++)
      if (sd_base(plan, s->views[q].array) == sd_base(plan, v->array)) return 0;
  }
  if (!sd_has_neighbours(s, 0, item) && (s->sums || !sd_has_neighbours(s, outer = 1, item))) return 0;
  s->rows = outer ? s->lengths[0] : 1;
  s->count = all / s->rows;
  s->copied = 0;
  s->packed = 1;
  for (int p = 0; p < s->inputs + s->outputs; p++) {
    const sd_view *v = s->views + p;
    const sd_array *array = plan->arrays + v->array;
    s->starts[p].row = outer ? v->strides[0] : 0;
    s->starts[p].roomy = plan->padded && !outer && array->kind == SD_ARENA && v->offset == 0 &&
                         s->count * item == sd_bytes(array);
    s->copied += p >= s->inputs && !s->starts[p].roomy;
    if (p >= s->inputs) continue;
    if (s->constant[p] && (s->along[p] || s->starts[p].row)) return 0;
    s->packed &= s->constant[p] || (v->size == 1 && (s->along[p] == item || s->count == 1));
  }
  return 1;
}

/* Whether elements that are next to each other are copied, or combined to one number. */
static inline int sd_moves_neighbours(const sd_plan *plan, sd_step *s) {
  long along[2];
  s->count = 1;
  for (int l = 0; l < s->loops; l++) s->count *= s->lengths[l];
  for (int p = 0; p < 2; p++) {
    const sd_view *v = s->views + p;
    if (!v->known || plan->arrays[v->array].item != plan->arrays[s->views->array].item) return 0;
    if (!sd_find_stride(v->strides, s->lengths, 0, s->loops, along + p)) return 0;
  }
  if (s->count == 1) return s->kind == SD_COPY;
  return along[0] == plan->arrays[s->views->array].item && along[1] == (s->kind == SD_COPY) * along[0];
}

/* How a step in the body of a loop runs where its arrays lie, 0 for one that does not. */
static inline int sd_find_direct(const sd_plan *plan, sd_step *s) {
  if (s->tiled || s->accumulate) return 0;
  if (s->kind == SD_COPY) return sd_moves_neighbours(plan, s) ? SD_COPY_NEIGHBOURS : 0;
  if (s->kind == SD_REDUCE) return sd_moves_neighbours(plan, s) ? SD_REDUCE_NEIGHBOURS : 0;
  if (s->kind != SD_PROGRAM || s->inputs + s->outputs > SD_MOST_PORTS) return 0;
  for (int p = 0; p < s->inputs + s->outputs; p++)
    s->starts[p] = (sd_start){s->views[p].array, s->views[p].offset, s->views[p].size, 0, 0};
  return sd_is_one(plan, s) ? SD_ONE : sd_is_over_neighbours(plan, s) ? SD_NEIGHBOURS : 0;
}

/* Whether the body of a loop is one program for one sample, and copies after it. */
static inline int sd_is_tight(const sd_step *loop) {
  const sd_step *step = loop + 1;
  if (loop->span < 1 || step->direct != SD_ONE || step->inputs + step->outputs > SD_FEW_PORTS) return 0;
  for (int i = 2; i <= loop->span; i++)
    if (loop[i].direct != SD_COPY_NEIGHBOURS) return 0;
  return 1;
}

/* Which carried array an array is: 2 k as a turn finds it, 2 k + 1 as the turn leaves it; -1 for others. */
static inline long sd_carried(const sd_step *loop, long array) {
  const long *swaps = loop->moved + 2 * loop->windows;
  for (int k = 0; k < 2 * loop->swaps; k++)
    if (swaps[k] == array) return k;
  return SD_IN_MEMORY;
}

static inline int sd_is_window(const sd_step *loop, long array) {
  for (int w = 0; w < loop->windows; w++)
    if (loop->moved[2 * w] == array) return 1;
  return 0;
}

/* Whether a view is all of a carried array, or, for -1, of no such array and not the number of the row. */
static inline int sd_is_end(const sd_step *loop, const sd_view *v, long size, long end, const long *sizes) {
  if (sd_carried(loop, v->array) != end) return 0;
  return end < 0 ? v->array != loop->counter : !v->offset && size == sizes[end / 2];
}

/* Whether a tight loop hands its arrays over as a wiring says, which has as many carried arrays and copies. */
static inline int sd_is_wired(const sd_plan *plan, const sd_step *loop, const long *wiring) {
  const sd_step *step = loop + 1;
  const long *sizes = wiring, *ports = sizes + loop->swaps, *copies = ports + step->inputs + step->outputs;
  long written[SD_FEW_PORTS] = {0};
  if (loop->swaps > SD_FEW_PORTS || loop->span - 1 > SD_FEW_PORTS) return 0;
  for (int k = 0; k < loop->swaps; k++)
    if (sizes[k] != sd_bytes(plan->arrays + loop->moved[2 * (loop->windows + k)]) / (plan->single ? 4 : 8)) return 0;
  for (int w = 0; w < loop->windows; w++)
    if (sd_is_window(loop, plan->arrays[loop->moved[2 * w]].number)) return 0;
  for (int p = 0; p < step->inputs + step->outputs; p++) {
    const sd_view *v = step->views + p;
    int output = p >= step->inputs;
    long end = ports[p] < 0 ? SD_IN_MEMORY : 2 * ports[p] + output;
    if (!output && ports[p] == SD_COUNTER) {
      if (v->array != loop->counter) return 0;
      continue;
    }
    if (!sd_is_end(loop, v, v->size, end, sizes)) return 0;
    if (output && end >= 0) written[end / 2]++;
    if (output || ports[p] != SD_HELD) continue;
    /* what is read before the loop is written by no turn */
    if (sd_is_window(loop, v->array)) return 0;
    for (int q = step->inputs; q < step->inputs + step->outputs; q++)
      if (sd_base(plan, step->views[q].array) == sd_base(plan, v->array)) return 0;
    for (int i = 2; i <= loop->span; i++)
      if (sd_base(plan, loop[i].views[1].array) == sd_base(plan, v->array)) return 0;
  }
  for (int i = 2; i <= loop->span; i++, copies += 3) {
    const sd_step *copy = loop + i;
    if (copy->count != copies[0] || (copies[2] >= 0 && copies[2] % 2 == 0)) return 0;
    for (int end = 0; end < 2; end++)
      if (!sd_is_end(loop, copy->views + end, copy->count, copies[1 + end], sizes)) return 0;
    if (copies[2] >= 0) written[copies[2] / 2]++;
  }
  for (int k = 0; k < loop->swaps; k++)
    if (written[k] != 1) return 0;
  return 1;
}

/* Check that the body of each loop of a phase is behind it, and ends where that of a loop around it does or before; mark
   what of it runs without being laid out. */
static inline const char *sd_bad_bodies(const sd_plan *plan, int phase) {
  sd_step *steps = plan->steps[phase];
  int count = plan->step_count[phase];
  for (int k = 0; k < count; k++) {
    if (steps[k].kind != SD_REPEAT) continue;
    if (steps[k].span > count - 1 - k) return "a loop whose body ends behind its phase";
    for (int i = k + 1; i <= k + steps[k].span; i++) {
      if (steps[i].tiled != steps[k].tiled) return "a loop over tiles";
      steps[i].direct = sd_find_direct(plan, steps + i);
      if (steps[i].kind == SD_REPEAT && steps[i].span > k + steps[k].span - i) return "a loop that ends behind another";
    }
    steps[k].tight = !steps[k].tiled && sd_is_tight(steps + k);
  }
  return 0;
}

/* Check that nothing else is where integers are: pivots lead to memory. */
static inline const char *sd_bad_integers(const sd_plan *plan) {
  for (int j = 0; j < plan->array_count; j++) {
    const sd_array *a = plan->arrays + j;
    if (!a->integer) continue;
    for (int k = 0; k < plan->array_count; k++) {
      const sd_array *b = plan->arrays + k;
      if (j == k || b->kind != SD_ARENA || a->tiled != b->tiled) continue;
      if (a->number + sd_bytes(a) > b->number && b->number + sd_bytes(b) > a->number)
        return "numbers where integers are";
    }
  }
  return 0;
}

/* Tell where a view's own elements stand, several in C order: by one pace, or by the bytes to each, which are then kept
   in `places`; whether they are. */
static inline int sd_own_places(sd_view *v, const sd_array *a, long *places) {
  long count = 1;
  places[0] = 0;
  for (int x = v->rank - 1; x >= 0; x--) {
    const sd_axis *axis = v->axes + x;
    if (axis->loop >= 0 || axis->length < 2) continue;
    for (long k = 1; k < axis->length; k++)
      for (long i = 0; i < count; i++) places[k * count + i] = k * axis->step * a->strides[x] + places[i];
    count *= axis->length;
  }
  v->pace = places[1];
  for (long i = 0; i < count; i++)
    if (places[i] != i * v->pace) {
      v->offsets = places;
      return 1;
    }
  return 0;
}

/* Rows of matrices whose eigenvectors LAPACK finds with integers of 32 bits. */
enum { SD_MOST_SPECTRUM = 32000 };

/* The shape of an array, its tile as -1. */
typedef struct {
  int rank;
  long lengths[2 * SD_RANK];
} sd_shape;

static inline void sd_add_axes(sd_shape *shape, const sd_array *a, int first, int last) {
  for (int x = first; x < last; x++) shape->lengths[shape->rank++] = a->tiled && x == 0 ? -1 : a->shape[x];
}

/* Whether an array has a shape, in which a tile may only be the first axis. */
static inline int sd_has_shape(const sd_array *a, const sd_shape *shape) {
  sd_shape own = {0};
  sd_add_axes(&own, a, 0, a->rank);
  if (own.rank != shape->rank) return 0;
  for (int x = 0; x < own.rank; x++)
    if (own.lengths[x] != shape->lengths[x]) return 0;
  return 1;
}

static inline int sd_same_axes(const sd_array *a, int first, int last, const sd_array *b, int from) {
  sd_shape one = {0}, other = {0};
  sd_add_axes(&one, a, first, last);
  sd_add_axes(&other, b, from, from + last - first);
  return !memcmp(one.lengths, other.lengths, sizeof one.lengths);
}

/* Check positions: `indexed` has the axis, and `listed` the axes of the positions in its place. */
static inline const char *sd_bad_positions(const sd_array *indexed, const sd_array *at, const sd_array *listed, int axis,
                                           int own) {
  sd_shape shape = {0};
  if (own < 0 || own > at->rank || axis < own || axis >= indexed->rank) return "positions of no axis";
  if (indexed->tiled && axis == 0) return "positions of the batch";
  if (indexed->rank - 1 + at->rank - own > SD_RANK) return "positions of too many axes";
  if (!sd_same_axes(indexed, axis - own, axis, at, 0)) return "positions of another shape";
  sd_add_axes(&shape, indexed, 0, axis);
  sd_add_axes(&shape, at, own, at->rank);
  sd_add_axes(&shape, indexed, axis + 1, indexed->rank);
  return sd_has_shape(listed, &shape) ? 0 : "elements at positions in another shape";
}

static inline const char *sd_bad_order(const sd_array *x, const sd_array *key, const sd_array *result, int axis) {
  sd_shape shape = {0};
  if (axis < 0 || axis >= key->rank || (key->tiled && axis == 0)) return "an order along no axis";
  if (x->rank < key->rank || !sd_same_axes(x, x->rank - key->rank, x->rank, key, 0)) return "an order of another shape";
  sd_add_axes(&shape, x, 0, x->rank);
  return sd_has_shape(result, &shape) ? 0 : "ordered elements in another shape";
}

static inline const char *sd_bad_spectrum(const sd_array *a, const sd_array *values, const sd_array *vectors) {
  sd_shape shape = {0};
  long n = a->rank < 2 ? 0 : a->shape[a->rank - 1];
  if (a->rank < 2 + a->tiled || a->shape[a->rank - 2] != n || n > SD_MOST_SPECTRUM) return "a spectrum of no matrices";
  if (!values && !vectors) return "a spectrum that gives nothing";
  sd_add_axes(&shape, a, 0, a->rank - 1);
  if (values && !sd_has_shape(values, &shape)) return "eigenvalues in another shape";
  sd_add_axes(&shape, a, a->rank - 1, a->rank);
  return vectors && !sd_has_shape(vectors, &shape) ? "eigenvectors in another shape" : 0;
}

static inline const char *sd_bad_triangle(const sd_array *a, const sd_array *c) {
  sd_shape shape = {0};
  sd_add_axes(&shape, a, 0, a->rank);
  if (a->rank < 2 + a->tiled) return "a triangle of no matrix";
  return sd_has_shape(c, &shape) ? 0 : "a triangle in another shape";
}

static inline const char *sd_bad_sort(const sd_array *a, const sd_array *c, int axis) {
  sd_shape shape = {0};
  if (axis < 0 || axis >= a->rank || (a->tiled && axis == 0)) return "a sort along no axis";
  sd_add_axes(&shape, a, 0, a->rank);
  return sd_has_shape(c, &shape) ? 0 : "sorted elements in another shape";
}

static inline const char *sd_bad_adjugate(const sd_array *a, const sd_array *along, const sd_array *c) {
  sd_shape shape = {0};
  long n = a->rank < 2 ? 0 : a->shape[a->rank - 1];
  if (a->rank < 2 + a->tiled || a->shape[a->rank - 2] != n || n > SD_MOST_SPECTRUM) return "an adjugate of no matrix";
  sd_add_axes(&shape, a, 0, a->rank);
  if (along && !sd_has_shape(along, &shape)) return "directions of another shape";
  return sd_has_shape(c, &shape) ? 0 : "adjugates in another shape";
}

static inline const char *sd_bad_reshape(const sd_array *a, const sd_array *c) {
  long elements = 1, others = 1;
  for (int x = a->tiled; x < a->rank; x++) elements *= a->shape[x];
  for (int x = c->tiled; x < c->rank; x++) others *= c->shape[x];
  return a->tiled != c->tiled || elements != others ? "as many elements in another shape" : 0;
}

/* Whether a routine may have no second array. */
static inline int sd_may_lack(int kind) {
  return kind == SD_TRIANGLE || kind == SD_SORT || kind == SD_RESHAPE || kind == SD_ADJUGATE;
}

/* Check a step that is a routine on whole arrays a, b and c, of which -1 is none; a spectrum gives b and c. */
static inline const char *sd_bad_routine(const sd_plan *plan, const sd_step *s, long *scratch, double *cost) {
  const int numbers[] = {s->a, s->b, s->c};
  const sd_array *given[3] = {0}, *a, *b, *c;
  const char *wrong;
  int tiled = 0;
  long n;
  for (int k = 0; k < 3; k++) {
    int written = s->kind == SD_SPECTRUM ? k > 0 : k == 2;
    if (numbers[k] == -1 && ((s->kind == SD_SPECTRUM && k) || (k == 1 && sd_may_lack(s->kind)))) continue;
    if (numbers[k] < 0 || numbers[k] >= plan->array_count) return "a routine with no array";
    given[k] = plan->arrays + numbers[k];
    if (given[k]->integer) return "a routine with integers";
    if (written && !sd_may_write(plan, given[k])) return "a routine that writes what is given";
    for (int j = 0; written && j < k; j++)
      if (numbers[j] == numbers[k]) return "a routine that writes what it reads";
    tiled |= given[k]->tiled;
    if (written && given[k]->tiled != s->tiled) return "a routine with the batch and without";
  }
  a = given[0], b = given[1], c = given[2];
  if (tiled != s->tiled || (s->phase == SD_TILE && !s->tiled)) return "a routine for each tile of what tiles share";
  *scratch = 0;
  *cost = 1;
  if (s->kind == SD_SPECTRUM) {
    if ((wrong = sd_bad_spectrum(a, b, c))) return wrong;
    n = a->shape[a->rank - 1];
    *scratch = 8 * (3 * n * n + 8 * n + 8) + 4 * (5 * n + 4);
    if (n <= sd_spectrum_most(s->c >= 0)) *scratch = 8 * SD_SPECTRUM_LANES * (3 * n * n + 5 * n);
    *cost = (double)n;
  } else if (s->kind == SD_ADJUGATE) {
    if ((wrong = sd_bad_adjugate(a, b, c))) return wrong;
    n = a->shape[a->rank - 1];
    *scratch = 8 * (5 * n * n + 6 * n) + 8 * n;
    *cost = 3 * (double)n;
  } else if (s->kind == SD_SORT) {
    if ((wrong = sd_bad_sort(a, c, s->axis))) return wrong;
    *scratch = 8 * a->shape[s->axis];
    *cost = 4;
  } else if (s->kind == SD_RESHAPE) {
    if ((wrong = sd_bad_reshape(a, c))) return wrong;
  } else if (s->kind == SD_TRIANGLE) {
    if ((wrong = sd_bad_triangle(a, c))) return wrong;
  } else if (s->kind == SD_ARRANGE) {
    if ((wrong = sd_bad_order(a, b, c, s->axis))) return wrong;
    *scratch = 40 * b->shape[s->axis];
    *cost = 8;
  } else {
    const sd_array *indexed = s->kind == SD_TAKE ? a : c, *listed = s->kind == SD_TAKE ? c : a;
    if ((wrong = sd_bad_positions(indexed, b, listed, s->axis, s->own))) return wrong;
    *scratch = 8;
    for (int x = s->axis; s->kind == SD_PUT && x < c->rank; x++) *scratch *= c->shape[x];
    if (listed->tiled) listed = a;
    for (int x = listed->tiled; x < listed->rank; x++) *cost *= (double)listed->shape[x];
    return 0;
  }
  for (int x = a->tiled; x < a->rank; x++) *cost *= (double)a->shape[x];
  return 0;
}
#endif
