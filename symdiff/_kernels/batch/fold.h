/* Sums in a unit's lanes: two vectors for each element, which samples fill in turns, and the one number that they become.

   Needs unit.h. */

#ifndef SD_FOLD_H
#define SD_FOLD_H
#include <string.h>

#include "unit.h"

/* Bytes of the sum of one block: two vectors for each element. */
static long sd_sum_bytes(const sd_unit *u, long total) { return 2 * total * u->lanes * (u->single ? 4 : 8); }

/* A sum is two vectors for each of its `total` elements, which are added to in turns. Add `count` lanes of another
   sum's first vectors, from lane `skip` on, to those of its first or second ones from `lane` on. */
static void sd_add(const sd_unit *u, long total, char *to, long turn, long lane, const char *from, long skip, long count) {
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
static void sd_fold(const sd_unit *u, long count, const char *from, double *to) {
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
