/* Loops whose code has all turns in it: what is carried is in registers, and rows are read and written in place.

   Needs program.h. */

#ifndef SD_TURNS_H
#define SD_TURNS_H
#include "program.h"

/* Turns between two looks for a signal. */
enum { SD_LOOK_TURNS_OF_UNIT = 4096 };

/* Where an array stands in the first turn, and the bytes from turn to turn. */
static inline char *sd_first_row(const sd_state *s, const sd_step *loop, long array, long *pace) {
  for (int w = 0; w < loop->windows; w++) {
    const sd_array *window = s->job->plan->arrays + array;
    long bytes = loop->moved[2 * w + 1];
    if (loop->moved[2 * w] != array) continue;
    *pace = loop->reverse ? -bytes : bytes;
    return s->data[window->number] + window->offset + (loop->reverse ? (loop->turns - 1) * bytes : 0);
  }
  *pace = 0;
  return s->data[array];
}

/* Run a loop by a unit of turns, which takes the places of its arrays in the order of codegen/c/emit.py. Returns -1, the
   sample that failed, or SD_RAISED. */
static long sd_run_turns(sd_state *s, const sd_step *loop, const sd_unit *unit, long *which) {
  const sd_step *step = loop + 1;
  const long *swaps = loop->moved + 2 * loop->windows;
  const char *in[2 * SD_FEW_PORTS];
  char *out[3 * SD_FEW_PORTS], work[SD_VECTOR * (SD_FEW_PORTS + 1)];
  long si[2 * SD_FEW_PORTS + 2], so[3 * SD_FEW_PORTS];
  int inputs = 0, outputs = 0;
  for (int p = 0; p < step->inputs + step->outputs; p++) {
    const sd_start *start = step->starts + p;
    if (p < step->inputs)
      in[inputs] = sd_first_row(s, loop, start->array, si + inputs) + start->offset, inputs++;
    else
      out[outputs] = sd_first_row(s, loop, start->array, so + outputs) + start->offset, outputs++;
  }
  for (int i = 2; i <= loop->span; i++) {
    const sd_view *from = loop[i].views, *to = from + 1;
    in[inputs] = sd_first_row(s, loop, from->array, si + inputs) + from->offset, inputs++;
    out[outputs] = sd_first_row(s, loop, to->array, so + outputs) + to->offset, outputs++;
  }
  for (int k = 0; k < loop->swaps; k++) out[outputs++] = s->data[swaps[2 * k]];
  si[inputs] = loop->reverse ? -1 : 1, si[inputs + 1] = loop->reverse ? loop->turns - 1 : 0;
  for (long turn = 0, end; turn < loop->turns; turn = end) {
    end = loop->turns - turn < SD_LOOK_TURNS_OF_UNIT ? loop->turns : turn + SD_LOOK_TURNS_OF_UNIT;
    if (turn && sd_is_raised(s->job)) return SD_RAISED;
    if (unit->kernel(turn, end, in, si, out, so, work + (size_t)(-(size_t)work % SD_VECTOR), unit->functions, which) >= 0)
      return 0;
  }
  return -1;
}
#endif
