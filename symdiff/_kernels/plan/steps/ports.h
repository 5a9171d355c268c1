/* The ports of a unit that runs a step's program: where the elements of a view are, and how samples follow each other.

   Needs nest.h. */

#ifndef SD_PORTS_H
#define SD_PORTS_H
#include "nest.h"

/* Ports that need no scratch memory. */
enum { SD_PORTS = 24 };

/* Fill in where a port's own elements stand: a step from one to the next, or an offset for each in `offsets`, of
   which room is given. Returns how many of these were used. */
static long sd_own_elements(sd_port *port, const sd_view *v, const long *strides, long item, long *offsets) {
  long span = 1, filled = 1;
  int found = 0, even = 1;
  port->step = item;
  port->offsets = 0;
  for (int x = v->rank - 1; x >= 0; x--) {
    const sd_axis *axis = v->axes + x;
    if (axis->loop >= 0 || axis->length < 0 || axis->length == 1) continue;
    if (!found)
      port->step = axis->step * strides[x], found = 1;
    else if (axis->step * strides[x] != port->step * span)
      even = 0;
    span *= axis->length;
  }
  if (even || span == 0) return 0;
  offsets[0] = 0; /* backwards through the axes: what is filled is repeated for each place along the one before */
  for (int x = v->rank - 1; x >= 0; x--) {
    const sd_axis *axis = v->axes + x;
    if (axis->loop >= 0 || axis->length <= 1) continue;
    for (long k = axis->length - 1; k > 0; k--)
      for (long i = 0; i < filled; i++) offsets[k * filled + i] = offsets[i] + k * axis->step * strides[x];
    filled *= axis->length;
  }
  port->offsets = offsets;
  return span;
}

/* Fill in how samples follow each other. */
static inline void sd_samples(sd_port *port, const long *along, int axes, const long *lengths) {
  memcpy(port->strides, along, (size_t)axes * sizeof *along);
  port->scattered = !sd_find_stride(along, lengths, 0, axes, &port->stride);
}

/* Fill in which samples a list tells. */
static void sd_list_samples(const sd_state *s, const sd_view *v, sd_port *port) {
  port->scattered = SD_LISTED;
  port->listed = v->list + (v->lists_on ? 2 * s->first : 0);
  for (int x = 0; x < v->rank; x++)
    if (v->axes[x].listed) port->along = v->axes[x].loop, port->pace = s->job->strides[v->array][x];
}

/* The unit of a step's program that computes in the plan's type and has some properties; null if it could not be made. */
static inline const sd_unit *sd_unit_at(const sd_state *s, const sd_step *step, int properties) {
  int place = SD_UNITS * step->units + (s->job->plan->single ? SD_OF_SINGLE : 0) + properties;
  const sd_unit *unit = s->job->units[place];
  return unit ? unit : s->job->hooks->make_unit(s->job->self, step->units, place);
}

/* Make the port of a view. Returns how many offsets were used. */
static inline long sd_make_port(const sd_state *s, const sd_view *v, sd_port *port, int axes, const long *lengths,
                                long *offsets) {
  const sd_array *array = s->job->plan->arrays + v->array;
  long used = 0;
  port->size = v->size;
  port->single = array->item == 4;
  if (v->known) {
    port->data = s->data[v->array] + v->offset;
    port->step = v->pace;
    port->offsets = v->offsets;
    port->unaligned = 0;
    sd_samples(port, v->strides, axes, lengths);
  } else {
    const long *strides = s->job->strides[v->array];
    long offset, along[SD_AXES];
    size_t odd = (size_t)s->data[v->array];
    sd_resolve(v, strides, &offset, along);
    port->data = s->data[v->array] + offset;
    for (int x = 0; x < v->rank; x++) odd |= (size_t)strides[x];
    port->unaligned = odd % (size_t)array->item != 0;
    used = sd_own_elements(port, v, strides, array->item, offsets);
    sd_samples(port, along, axes, lengths);
  }
  if (v->goes_on) port->data += s->first * port->strides[0];
  if (v->list) sd_list_samples(s, v, port);
  return used;
}

/* Make one loop of two, where each port goes on along the outer one where the inner one ends. Returns the number of
   loops. */
static int sd_join_loops(sd_port *ports, int number, int axes, long *lengths, int kept) {
  for (int l = axes - 2; l >= kept; l--) {
    int one = 1;
    for (int p = 0; p < number && one; p++) {
      const sd_port *port = ports + p;
      if (port->scattered == SD_LISTED) one = port->along != l && port->along != l + 1;
      one &= port->strides[l] == port->strides[l + 1] * lengths[l + 1];
    }
    if (!one) continue;
    lengths[l] *= lengths[l + 1];
    for (int k = l + 1; k < axes - 1; k++) lengths[k] = lengths[k + 1];
    for (int p = 0; p < number; p++) {
      sd_port *port = ports + p;
      port->strides[l] = port->strides[l + 1];
      for (int k = l + 1; k < axes - 1; k++) port->strides[k] = port->strides[k + 1];
      if (port->scattered == SD_LISTED && port->along > l) port->along--;
    }
    axes--;
  }
  return axes;
}
#endif
