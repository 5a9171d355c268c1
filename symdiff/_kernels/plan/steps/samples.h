/* Loops of the samples of a tile, each of which ends with its first turn that changes nothing: rows of arrays that samples
   have, which go on move to the front, so that turns go over these alone.

   Needs plan.h and checks.h. */

#ifndef SD_SAMPLES_H
#define SD_SAMPLES_H
#include <stdint.h>
#include <stdlib.h>

#include "checks.h"

/* Rows up to which none move, the part of the rows, in eighths, of which fewer go on when they move, the most turns
   between two looks for rows that have ended, as long as there is none, and the rows that are looked at at once. */
enum { SD_FEW_ROWS = 16, SD_GOING = 6, SD_WAIT = 8, SD_LOOK_ROWS = 64 };

/* The samples of a loop: the first rows of its arrays, which sample each is, and which go on: as flags, and as the numbers of
   these rows and of the others, which no branch has to guess. */
typedef struct {
  long rows, *sample, *on, *ended;
  char *going;
} sd_going_rows;

static inline long sd_row_bytes(const sd_state *s, long array) {
  const sd_array *a = s->job->plan->arrays + array;
  return a->shape[0] ? sd_bytes(a) / a->shape[0] : 0;
}

static int sd_begin_samples(sd_going_rows *of, long rows) {
  of->rows = rows;
  if (!(of->sample = malloc((size_t)rows * (3 * sizeof(long) + 1) + 2 * sizeof(long)))) return 0;
  of->on = of->sample + rows, of->ended = of->on + rows + 1;
  of->going = (char *)(of->ended + rows + 1);
  for (long i = 0; i < rows; i++) of->sample[i] = i;
  return 1;
}

/* Find the rows that the last turn changed, block by block, from the last array on, which often counts the turns; returns
   how many these are. */
static long sd_find_going(const sd_state *s, const sd_step *loop, const sd_going_rows *of) {
  long found = 0;
  for (long begin = 0; begin < of->rows; begin += SD_LOOK_ROWS) {
    long rows = of->rows - begin < SD_LOOK_ROWS ? of->rows - begin : SD_LOOK_ROWS, count = 0;
    int64_t changed[SD_LOOK_ROWS] = {0};
    for (int k = loop->swaps - 1; k >= 0 && count < rows; k--) {
      long bytes = sd_row_bytes(s, loop->moved[2 * k]);
      const char *now = s->data[loop->moved[2 * k]] + begin * bytes, *before = s->data[loop->moved[2 * k + 1]] + begin * bytes;
      const int64_t *a = (const int64_t *)now, *b = (const int64_t *)before;
      count = 0;
      for (long i = 0; i < rows; i++) {
        if (bytes == 8) changed[i] |= a[i] ^ b[i];
        else if (!changed[i]) changed[i] = memcmp(now + i * bytes, before + i * bytes, (size_t)bytes) != 0;
        count += changed[i] != 0;
      }
    }
    for (long i = 0; i < rows; i++) of->going[begin + i] = changed[i] != 0;
    found += count;
  }
  return found;
}

/* Move rows to the front, in their order. */
static void sd_close_up(char *data, long bytes, const long *from, long count) {
  int64_t *at = (int64_t *)data;
  if (bytes == 8)
    for (long k = 0; k < count; k++) at[k] = at[from[k]];
  else
    for (long k = 0; k < count; k++) memmove(data + bytes * k, data + bytes * from[k], (size_t)bytes);
}

/* Write the rows that have ended to their places in the results, and move the others up. */
static void sd_leave_samples(const sd_state *s, const sd_step *loop, sd_going_rows *of) {
  const long *results = loop->moved + 2 * loop->swaps, *held = results + loop->swaps;
  long on = 0, ended = 0;
  for (long i = 0; i < of->rows; i++) {
    of->on[on] = of->ended[ended] = i;
    on += of->going[i], ended += !of->going[i];
  }
  for (int k = 0; k < loop->swaps; k++) {
    long bytes = sd_row_bytes(s, results[k]);
    char *now = s->data[loop->moved[2 * k]], *result = s->data[results[k]];
    if (bytes == 8)
      for (long e = 0; e < ended; e++) ((int64_t *)result)[of->sample[of->ended[e]]] = ((int64_t *)now)[of->ended[e]];
    else
      for (long e = 0; e < ended; e++)
        memcpy(result + bytes * of->sample[of->ended[e]], now + bytes * of->ended[e], (size_t)bytes);
    sd_close_up(now, bytes, of->on, on);
  }
  for (int k = 0; k < loop->held; k++) sd_close_up(s->data[held[k]], sd_row_bytes(s, held[k]), of->on, on);
  for (long k = 0; k < on; k++) of->sample[k] = of->sample[of->on[k]];
  of->rows = on;
}

/* Write what is left. */
static void sd_end_samples(const sd_state *s, const sd_step *loop, sd_going_rows *of) {
  memset(of->going, 0, (size_t)of->rows);
  sd_leave_samples(s, loop, of);
  free(of->sample);
}
#endif
