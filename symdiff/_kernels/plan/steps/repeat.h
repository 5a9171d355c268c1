/* What loops may reach: windows stay within their arrays in every turn, and bodies within their phase. Each function
   tells what is wrong with a plan, or null. Memory safety depends on them.

   Needs plan.h. */

#ifndef SD_REPEAT_H
#define SD_REPEAT_H
#include "../plan.h"

/* Arrays of a step that is run so. */
enum { SD_FEW_PORTS = 24 };

/* Bytes of an array that has a shape, at most 2^60 as the binder checks before. */
static inline long sd_bytes(const sd_array *a) {
  long bytes = a->item;
  for (int x = 0; x < a->rank; x++) bytes *= a->shape[x];
  return bytes;
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

/* Check what a loop moves; windows move by elements, which are turned to bytes. */
static inline const char *sd_bad_repeat(sd_plan *plan, sd_step *s, long *moved) {
  const sd_array *arrays = plan->arrays;
  int count = plan->array_count;
  if (s->tiled || s->phase == SD_TILE) return "a loop in a tile";
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
static inline int sd_is_direct(const sd_plan *plan, const sd_step *s) {
  long item = plan->single ? 4 : 8;
  if (s->kind != SD_PROGRAM || s->loops || s->sums || s->tiled || s->inputs + s->outputs > SD_FEW_PORTS) return 0;
  for (int p = 0; p < s->inputs + s->outputs; p++) {
    const sd_view *v = s->views + p;
    if (!v->known || v->offsets || v->list || plan->arrays[v->array].item != item) return 0;
    if (v->size > 1 && v->pace != item) return 0;
  }
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
      if (steps[i].tiled) return "a loop over tiles";
      steps[i].direct = sd_is_direct(plan, steps + i);
      steps[k].tight = steps[k].span == 1 && steps[i].direct;
      if (steps[i].kind == SD_REPEAT && steps[i].span > k + steps[k].span - i) return "a loop that ends behind another";
    }
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
#endif
