/* Sums of many short rows by a program: a unit that sums begins and ends anew for each row, so the elements of many rows
   are computed at once, and added up after that. The order of a row's sum is that of ../../batch/sums.h, so that bits
   do not depend on which of the two it was.

   Needs ports.h. */

#ifndef SD_SHORT_SUMS_H
#define SD_SHORT_SUMS_H
#include "ports.h"

/* Elements of a row that is short, and numbers that are computed at once; lanes of a vector, at most. */
enum { SD_SHORT_ROW = 64, SD_SHORT_SUMS = 2048, SD_MOST_LANES = 16 };
/* Returned where a unit adds up such rows as nothing here does. */
enum { SD_ELSEWHERE_SUMS = -6 };

typedef long long sd_mask __attribute__((vector_size(16), may_alias));

/* Add up rows of `inner` neighbours, of which as many more may be read as two vectors have: the two vectors are filled
   in turns, and their halves added to each other. Results are `apart` bytes from each other. */
#define SD_ADD_SHORT_ROWS(LANES)                                                                                      \
  static void sd_add_short_rows_##LANES(const double *row, long rows, long inner, char *to, long apart, long item) {  \
    const long whole = (inner - 1) / (2 * LANES) * (2 * LANES);                                                       \
    sd_mask last[LANES];                                                                                              \
    _Pragma("GCC unroll 32") for (int l = 0; l < 2 * LANES; l++) last[l / 2][l % 2] = whole + l < inner ? -1 : 0;     \
    for (; rows > 0; rows--, row += inner, to += apart) {                                                             \
      sd_pair turns[LANES];                                                                                           \
      _Pragma("GCC unroll 32") for (int q = 0; q < LANES; q++) turns[q] = (sd_pair){0, 0};                            \
      for (long k = 0; k < whole; k += 2 * LANES)                                                                     \
        _Pragma("GCC unroll 32") for (int q = 0; q < LANES; q++) turns[q] += *(const sd_pair *)(row + k + 2 * q);     \
      _Pragma("GCC unroll 32") for (int q = 0; q < LANES; q++)                                                        \
        turns[q] += (sd_pair)((sd_mask) * (const sd_pair *)(row + whole + 2 * q) & last[q]);                          \
      _Pragma("GCC unroll 4") for (int count = LANES / 2; count; count /= 2)                                          \
        _Pragma("GCC unroll 32") for (int q = 0; q < count; q++) turns[q] += turns[count + q];                        \
      sd_set_number(to, item, turns[0][0] + turns[0][1]);                                                             \
    }                                                                                                                 \
  }
SD_ADD_SHORT_ROWS(2)
SD_ADD_SHORT_ROWS(4)
SD_ADD_SHORT_ROWS(8)
SD_ADD_SHORT_ROWS(16)
#undef SD_ADD_SHORT_ROWS

typedef void (*sd_add_short_rows)(const double *, long, long, char *, long, long);

/* What adds up rows as a unit would, or null: of float32 only what needs no sum in that type. */
static sd_add_short_rows sd_find_short_rows(const sd_unit *u, long inner) {
  if (u->single && inner > 2 * u->lanes) return 0;
  switch (u->lanes) {
    case 2: return sd_add_short_rows_2;
    case 4: return sd_add_short_rows_4;
    case 8: return sd_add_short_rows_8;
    case 16: return sd_add_short_rows_16;
    default: return 0;
  }
}

/* Whether the rows of a call are short enough, and there are several. */
static int sd_has_short_rows(const sd_step *step, const sd_port *ports, const sd_call *call) {
  long total = 0, rows = call->lengths[0], inner = rows ? call->count / rows : 0;
  if (!step->kept || inner < 1 || inner > SD_SHORT_ROW || rows < 2) return 0;
  for (int p = 0; p < step->inputs; p++)
    if (ports[p].scattered == SD_LISTED) return 0;
  for (int p = step->inputs; p < step->inputs + step->outputs; p++) total += ports[p].size;
  return step->inputs + step->outputs <= SD_PORTS && inner * total <= SD_SHORT_SUMS;
}

/* Run a program over rows, and write the sum of each. */
static long sd_run_short_sums(sd_state *s, const sd_step *step, const sd_port *ports, const sd_call *call, long *which) {
  const sd_job *job = s->job;
  const int number = step->inputs + step->outputs;
  const long rows = call->lengths[0], inner = call->count / rows;
  int columns = sd_lie_in_columns(ports, step->inputs, call->count, job->usual[step->units]);
  sd_call part = *call;
  sd_port own[SD_PORTS];
  sd_add_short_rows add;
  long total = 0, some;
  double room[SD_SHORT_SUMS + 2 * SD_MOST_LANES];
  part.unit = sd_unit_at(s, step, columns ? SD_OF_COLUMNS : 0);
  if (!part.unit) return SD_RAISED;
  if (!(add = sd_find_short_rows(part.unit, inner))) return SD_ELSEWHERE_SUMS;
  part.ports = own, part.kept = 0, part.threads = 1;
  for (int p = step->inputs; p < number; p++) total += ports[p].size;
  some = SD_SHORT_SUMS / (inner * total);
  for (long first = 0; first < rows; first += some) {
    double *at = room;
    long failed;
    part.lengths[0] = rows - first < some ? rows - first : some;
    part.count = part.lengths[0] * inner;
    for (int p = 0; p < number; p++) {
      long along[SD_AXES], span = 8;
      own[p] = ports[p];
      memcpy(along, ports[p].strides, sizeof along);
      if (p < step->inputs) {
        own[p].data += first * along[0];
      } else {
        own[p].data = (char *)at, own[p].offsets = 0, own[p].unaligned = own[p].single = 0;
        own[p].step = 8 * part.count;
        for (int l = part.axes - 1; l >= 0; l--) along[l] = span, span *= part.lengths[l];
        at += part.count * ports[p].size;
      }
      sd_samples(own + p, along, part.axes, part.lengths);
    }
    if ((failed = job->hooks->run_batch(&part, which)) != -1) return failed < 0 ? failed : first + failed / inner;
    for (int p = step->inputs; p < number; p++) {
      const sd_port *to = ports + p;
      for (long e = 0; e < to->size; e++)
        add((const double *)own[p].data + e * part.count, part.lengths[0], inner,
            to->data + first * to->strides[0] + (to->offsets ? to->offsets[e] : e * to->step), to->strides[0],
            to->single ? 4 : 8);
    }
  }
  return -1;
}
#endif
