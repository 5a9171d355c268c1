/* A call of a plan: the steps before all tiles, the steps of each tile, and those after all tiles.

   Threads share tiles, and large products before and after all tiles by themselves (products.h). Steps that
   accumulate go over the tiles of a group in order, and the sums of the groups are added in order, so results do not
   depend on the number of threads. Of the samples that fail, the lowest is told. */

#ifndef SD_RUN_PLAN_H
#define SD_RUN_PLAN_H
#include <stdint.h>
#include <stdlib.h>

#include "positions.h"
#include "products.h"
#include "programs.h"

/* Loops of the samples of a tile, each of which ends where a number tells, or with its first turn that changes nothing: rows
   of arrays that samples have, which go on move to the front, so that turns go over these alone. */

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

/* Flag the rows whose number tells that they go on; returns how many these are. */
#define SD_FIND_LASTING(NAME, T)                                                      \
  static long NAME(const T *now, long rows, T sign, T bound, int strict, char *going) { \
    long found = 0;                                                                    \
    for (long i = 0; i < rows; i++) {                                                  \
      going[i] = strict ? sign * now[i] > bound : sign * now[i] >= bound;              \
      found += going[i];                                                               \
    }                                                                                  \
    return found;                                                                      \
  }
SD_FIND_LASTING(sd_find_lasting, double)
SD_FIND_LASTING(sd_find_lasting_single, float)

/* Find the rows that the last turn changed, block by block, from the last array on, which often counts the turns; returns
   how many these are. */
static long sd_find_going(const sd_state *s, const sd_step *loop, const sd_going_rows *of) {
  long found = 0;
  if (loop->lasting >= 0) {
    const long array = loop->moved[2 * loop->lasting];
    if (s->job->plan->arrays[array].item == 8)
      return sd_find_lasting((const double *)s->data[array], of->rows, loop->sign, loop->value, loop->strict, of->going);
    return sd_find_lasting_single((const float *)s->data[array], of->rows, loop->sign, (float)loop->value, loop->strict,
                                  of->going);
  }
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
    long bytes = sd_row_bytes(s, loop->moved[2 * k]);
    char *now = s->data[loop->moved[2 * k]], *result = results[k] < 0 ? 0 : s->data[results[k]];
    if (!result) {
    } else if (bytes == 8)
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

/* Groups of tiles that each thread has at once; turns of a loop, and operations of steps, between two looks for a
   signal, each of which reads the clock. */
enum { SD_AHEAD = 2, SD_LOOK_TURNS = 16, SD_LOOK_WORK = 100000 };

/* Where and why a call failed. */
typedef struct {
  long sample; /* the lowest that did; -1 for none, -2 without memory, SD_RAISED */
  int step;    /* number of the step */
  int whole;   /* whether all samples share what failed */
  long which;  /* of its checks */
} sd_failure;

static long sd_run_python(sd_state *s, const sd_step *step, long *which) {
  const sd_job *job = s->job;
  (void)which;
  return job->hooks->call_python(job->self, step, s->data, job->strides, s->first, s->rows);
}

/* What runs a step: the first sample of the tile that failed, or -1. */
static long (*const sd_step_runs[SD_KINDS])(sd_state *, const sd_step *, long *) = {
    [SD_PROGRAM] = sd_run_program, [SD_PRODUCT] = sd_run_product, [SD_REDUCE] = sd_run_reduce,
    [SD_SCAN] = sd_run_scan,       [SD_GATHER] = sd_run_gather,   [SD_COPY] = sd_run_copy,
    [SD_FILL] = sd_run_fill,       [SD_FACTOR] = sd_run_factor,   [SD_USE] = sd_run_use,
    [SD_TAKE] = sd_run_take,       [SD_PUT] = sd_run_put,         [SD_ARRANGE] = sd_run_arrange,
    [SD_SORT] = sd_run_sort,       [SD_RESHAPE] = sd_run_reshape, [SD_TRIANGLE] = sd_run_triangle,
    [SD_SPECTRUM] = sd_run_spectrum, [SD_ADJUGATE] = sd_run_adjugate, [SD_PYTHON] = sd_run_python};

/* What runs a step of a body where its arrays lie. */
static long (*const sd_body_runs[])(sd_state *, const sd_step *, long *) = {
    [SD_ONE] = sd_run_direct,
    [SD_NEIGHBOURS] = sd_run_neighbours,
    [SD_COPY_NEIGHBOURS] = sd_run_copy_neighbours,
    [SD_REDUCE_NEIGHBOURS] = sd_run_reduce_neighbours};

static int sd_run_repeat(sd_state *s, const sd_step *step, sd_failure *failure);

/* Run a turn of a loop: its body, the steps behind it, and let what is carried change places with what the turn made of
   it. Returns 1, 0 after a failure, -1 where nothing of all that the next turn depends on has changed. */
static int sd_run_turn(sd_state *s, const sd_step *step, sd_failure *failure) {
  const long *swaps = step->moved + 2 * step->windows;
  for (int i = 1; i <= step->span; i++) {
    const sd_step *own = step + i;
    long which = 0, sample = -1;
    if (own->kind == SD_REPEAT) {
      if (!sd_run_repeat(s, own, failure)) return 0;
      i += own->span;
      continue;
    }
    sample = sd_body_runs[own->direct] ? sd_body_runs[own->direct](s, own, &which)
                                       : sd_step_runs[own->kind](s, own, &which);
    if (sample == -1) continue;
    *failure = (sd_failure){sample < 0 ? sample : s->first + sample, own->number, own->shared, which};
    return 0;
  }
  if (!step->tiled && sd_is_settled(s, step)) return -1;
  for (int w = 0; w < step->swaps; w++) sd_swap(s, swaps + 2 * w);
  return 1;
}

/* Run the loops of the samples of a tile. */
static int sd_run_samples(sd_state *s, const sd_step *step, sd_failure *failure) {
  long rows = s->rows, going = rows, look = 0, wait = 1;
  sd_going_rows of;
  int done = 1;
  if (!sd_begin_samples(&of, rows)) {
    *failure = (sd_failure){-2, step->number, 1, 0};
    return 0;
  }
  for (long turn = 0; turn < step->turns && going && done; turn++) {
    if (turn % SD_LOOK_TURNS == SD_LOOK_TURNS - 1 && sd_is_raised(s->job)) {
      *failure = (sd_failure){SD_RAISED, step->number, 1, 0};
      done = 0;
    } else if (!(done = sd_run_turn(s, step, failure))) {
      if (failure->sample >= s->first) failure->sample = s->first + of.sample[failure->sample - s->first];
    } else if (turn == look) {
      going = sd_find_going(s, step, &of);
      wait = going < of.rows || step->lasting >= 0 ? 1 : wait < SD_WAIT ? 2 * wait : wait;
      look += wait;
      if (going >= of.rows / 8 * SD_GOING || of.rows <= SD_FEW_ROWS) continue;
      sd_leave_samples(s, step, &of);
      s->rows = of.rows;
    }
  }
  sd_end_samples(s, step, &of);
  s->rows = rows;
  return done;
}

/* Run a loop, turn by turn. Windows move to the row of the turn. A loop ends with a turn that changes nothing. */
static int sd_run_repeat(sd_state *s, const sd_step *step, sd_failure *failure) {
  if (step->tiled) return sd_run_samples(s, step, failure);
  if (step->tight) {
    long which = 0, sample = sd_run_tight(s, step, &which);
    if (sample == -1) return 1;
    if (sample != SD_ELSEWHERE_LOOP) {
      *failure = (sd_failure){sample, step[1].number, step[1].shared, which};
      return 0;
    }
  }
  for (long turn = 0; turn < step->turns; turn++) {
    int done;
    if (turn % SD_LOOK_TURNS == SD_LOOK_TURNS - 1 && sd_is_raised(s->job)) {
      *failure = (sd_failure){SD_RAISED, step->number, 1, 0};
      return 0;
    }
    sd_begin_turn(s, step, turn);
    if ((done = sd_run_turn(s, step, failure)) <= 0) return -done;
  }
  return 1;
}

/* Run a block: its steps for one part of an axis after the other. */
static int sd_run_block(sd_state *s, const sd_step *block, sd_failure *failure) {
  long tile = s->job->plan->tile, which = 0, sample = -1;
  const sd_step *own = block;
  for (s->first = 0; s->first < block->turns && sample == -1; s->first += tile) {
    s->rows = block->turns - s->first < tile ? block->turns - s->first : tile;
    s->fresh = s->first == 0;
    if (s->first && sd_is_raised(s->job)) sample = SD_RAISED;
    for (int i = 1; i <= block->span && sample == -1; i++) {
      own = block + i;
      sample = sd_step_runs[own->kind](s, own, &which);
    }
  }
  s->first = 0, s->rows = 1, s->fresh = 1;
  if (sample != -1) *failure = (sd_failure){sample, own->number, 1, which};
  return sample == -1;
}

/* Run the steps of a phase. After a failure those samples are run again that are before it, since a later step may
   fail for one of them: what is told is the first failure of the lowest sample. */
static void sd_run_phase(sd_state *s, int phase, sd_failure *failure) {
  const sd_plan *plan = s->job->plan;
  long work = 0;
  failure->sample = -1;
  for (int i = 0; i < plan->step_count[phase]; i++) {
    const sd_step *step = plan->steps[phase] + i;
    long which = 0, sample = -1;
    if (step->kind == SD_REPEAT) {
      work += step->cost;
      if (sd_run_repeat(s, step, failure)) {
        i += step->span;
        continue;
      }
      if (failure->sample <= s->first || !step->tiled) return;
      s->rows = failure->sample - s->first;
      i = -1;
      continue;
    }
    if (step->kind == SD_IN_PARTS) {
      if (!sd_run_block(s, step, failure)) return;
      i += step->span;
      continue;
    }
    if (phase != SD_TILE && work > SD_LOOK_WORK) {
      work = 0;
      if (sd_is_raised(s->job)) sample = SD_RAISED;
    }
    work += step->cost;
    if (sample == -1) sample = sd_step_runs[step->kind](s, step, &which);
    if (sample == -1) continue;
    *failure = (sd_failure){sample < 0 ? sample : s->first + sample, step->number, step->shared, which};
    if (sample <= 0 || !step->tiled) return;
    s->rows = sample;
    i = -1;
  }
}

/* Bytes of what a thread has for itself: addresses of arrays, arrays of a tile, scratch memory. */
static long sd_room_bytes(const sd_plan *plan) {
  return sd_rounded(plan->array_count * (long)sizeof(char *)) + sd_rounded(plan->tile_bytes) +
         sd_rounded(plan->scratch_bytes);
}

/* Bytes of a whole call: what is kept, totals, and the room of the first thread. */
static long sd_call_bytes(const sd_plan *plan) {
  return SD_LINE + sd_rounded(plan->kept_bytes) + sd_rounded(plan->totals * 8) + sd_rounded(plan->slot_bytes) +
         2 * sd_rounded(plan->array_count * (long)sizeof(char *)) + sd_room_bytes(plan);
}

/* Give a thread its memory. */
static void sd_enter(sd_state *s, const sd_job *job, char *memory, int threads) {
  const sd_plan *plan = job->plan;
  s->job = job;
  s->data = (char **)memory;
  memory += sd_rounded(plan->array_count * (long)sizeof(char *));
  memcpy(s->data, job->data, (size_t)plan->array_count * sizeof(char *));
  for (int a = 0; a < plan->array_count; a++)
    if (plan->arrays[a].kind == SD_ARENA && plan->arrays[a].tiled) s->data[a] = memory + plan->arrays[a].number;
  s->scratch = memory + sd_rounded(plan->tile_bytes);
  s->slots = 0;
  s->threads = threads;
  s->first = 0, s->rows = 1;
  s->fresh = s->last = 1;
}

/* Run one tile. */
static void sd_run_tile(sd_state *s, long first, long rows, sd_failure *failure) {
  const sd_job *job = s->job;
  const sd_plan *plan = job->plan;
  for (int a = 0; a < plan->array_count; a++)
    if (plan->arrays[a].tiled && plan->arrays[a].kind != SD_ARENA)
      s->data[a] = job->data[a] + first * job->strides[a][0];
  s->first = first;
  s->rows = rows;
  sd_run_phase(s, SD_TILE, failure);
}

/* What threads share: groups of tiles, begin .. end. */
typedef struct {
  const sd_job *job;
  long begin, end, tiles, next; /* tiles: in a group */
  int stop, threads;
  char *slots; /* one for each group from begin on, or null */
} sd_round;

typedef struct {
  sd_round *round;
  char *memory;
  sd_failure failure;
} sd_hand;

static long sd_take_group(sd_round *round) {
#ifndef _WIN32
  if (__atomic_load_n(&round->stop, __ATOMIC_RELAXED)) return round->end;
  return __atomic_fetch_add(&round->next, 1, __ATOMIC_RELAXED);
#else
  return round->stop ? round->end : round->next++;
#endif
}

/* Run groups of tiles until there is none. */
static void *sd_lend_hand(void *argument) {
  sd_hand *hand = argument;
  sd_round *round = hand->round;
  const sd_plan *plan = round->job->plan;
  long group;
  sd_state s;
  sd_enter(&s, round->job, hand->memory, round->threads);
  hand->failure.sample = -1;
  while ((group = sd_take_group(round)) < round->end) {
    long first = group * round->tiles * plan->tile, end = first + round->tiles * plan->tile;
    if (end > round->job->count) end = round->job->count;
    if (round->slots) s.slots = round->slots + (group - round->begin) * sd_rounded(plan->slot_bytes);
    for (long at = first; at < end; at += plan->tile) {
      s.fresh = at == first;
      s.last = end - at <= plan->tile;
      if ((at != first || group != round->begin) && sd_is_raised(round->job))
        hand->failure.sample = SD_RAISED;
      else
        sd_run_tile(&s, at, s.last ? end - at : plan->tile, &hand->failure);
      if (hand->failure.sample == -1) continue;
#ifndef _WIN32
      __atomic_store_n(&round->stop, 1, __ATOMIC_RELAXED);
#else
      round->stop = 1;
#endif
      return 0;
    }
  }
  return 0;
}

/* Add the sums of a group to the totals, or of the totals to the outputs. */
static void sd_add_group(const sd_job *job, const char *slots, int first) {
  const sd_plan *plan = job->plan;
  for (int i = 0; i < plan->step_count[SD_TILE]; i++) {
    const sd_step *step = plan->steps[SD_TILE] + i;
    for (int p = 0; step->accumulate && p < step->outputs; p++) {
      const sd_dense *dense = step->dense + p;
      double *total = job->totals + dense->total;
      const char *from = slots + dense->slot;
      int op = step->kind == SD_REDUCE ? step->op : SD_ADD;
      for (long e = 0; e < dense->count; e++) {
        double x = sd_get(from + e * step->item, step->item);
        total[e] = first ? x : sd_combine(op, total[e], x);
      }
    }
  }
}

static void sd_write_totals(sd_state *s) {
  const sd_plan *plan = s->job->plan;
  for (int i = 0; i < plan->step_count[SD_TILE]; i++) {
    const sd_step *step = plan->steps[SD_TILE] + i;
    for (int p = 0; step->accumulate && p < step->outputs; p++) {
      const sd_view *view = step->views + step->inputs + p;
      const sd_dense *dense = step->dense + p;
      const double *from = s->job->totals + dense->total;
      if (step->kind == SD_PROGRAM) {
        sd_port to;
        sd_make_port(s, view, &to, 0, 0, (long *)s->scratch);
        for (long e = 0; e < dense->count; e++)
          sd_set_number(to.data + (to.offsets ? to.offsets[e] : e * to.step), to.single ? 4 : 8, from[e]);
      } else {
        long lengths[SD_AXES];
        sd_seen to, total = {(char *)from, {0}, 8};
        sd_see(s, view, &to);
        for (int l = 0; l < step->loops; l++) {
          lengths[l] = dense->strides[l] ? step->lengths[l] : 1;
          total.strides[l] = dense->strides[l] * 8;
        }
        sd_copy_seen(&to, &total, step->loops, lengths);
      }
    }
  }
}

/* Threads that are worth it. */
static int sd_hands(const sd_job *job, long groups) {
  double worth = (double)job->plan->row_cost * (double)job->count / SD_WORTH_A_THREAD;
  int threads = job->threads < SD_MOST_THREADS ? job->threads : SD_MOST_THREADS;
  if (job->plan->callbacks) return 1;
  if (threads > groups) threads = (int)groups;
  if (threads > worth) threads = (int)worth;
  return threads < 1 ? 1 : threads;
}

/* Run all tiles: groups of them in rounds, as many as there are slots for their sums. */
static void sd_run_tiles(const sd_job *job, sd_state *s, char *slot, sd_failure *failure) {
  const sd_plan *plan = job->plan;
  long tiles = plan->accumulates ? SD_GROUP : 1, span = tiles * plan->tile;
  long groups = (job->count + span - 1) / span, at_once = groups, room = sd_room_bytes(plan);
  int threads = sd_hands(job, groups), summed = plan->accumulates && groups > 1;
  sd_hand hands[SD_MOST_THREADS];
  char *memory = 0;
  sd_round round = {job, 0, 0, tiles, 0, 0, threads > 1 ? 1 : job->threads, summed ? slot : 0};
  if (summed) at_once = threads == 1 ? 1 : SD_AHEAD * threads;
  if (threads > 1) {
    long bytes = SD_LINE + (threads - 1) * room + (summed ? at_once * sd_rounded(plan->slot_bytes) : 0);
    if (!(memory = malloc((size_t)bytes))) {
      failure->sample = SD_NO_MEMORY;
      return;
    }
    if (summed) round.slots = sd_line_up(memory) + (threads - 1) * room;
  }
  failure->sample = -1;
  for (round.begin = 0; round.begin < groups && failure->sample == -1; round.begin = round.end) {
    round.end = groups - round.begin < at_once ? groups : round.begin + at_once;
    round.next = round.begin;
    for (int t = 0; t < threads; t++) {
      hands[t].round = &round;
      hands[t].memory = t ? sd_line_up(memory) + (t - 1) * room : (char *)s->data;
      hands[t].failure.sample = -1;
    }
    if (threads == 1)
      sd_lend_hand(hands);
    else
      job->hooks->run_parts(sd_lend_hand, (char *)hands, sizeof *hands, threads);
    for (int t = 0; t < threads; t++) {
      const sd_failure *one = &hands[t].failure;
      if (one->sample == -1) continue;
      if (failure->sample == -1 || one->sample < failure->sample) *failure = *one;
    }
    for (long g = round.begin; summed && g < round.end && failure->sample == -1; g++)
      sd_add_group(job, round.slots + (g - round.begin) * sd_rounded(plan->slot_bytes), g == 0);
  }
  free(memory);
  if (summed && failure->sample == -1) sd_write_totals(s);
}

/* The result of no samples: nothing, and sums of nothing. */
static void sd_run_empty(const sd_job *job) {
  const sd_plan *plan = job->plan;
  for (int a = 0; a < plan->array_count; a++) {
    const sd_array *array = plan->arrays + a;
    if (array->kind == SD_OUTPUT && !array->tiled)
      sd_zero_array(job->data[a], array->rank, array->shape, job->strides[a], array->item);
  }
}

/* Run a plan in memory of sd_call_bytes: the lowest sample that failed, -1 for none. */
static void sd_run_plan(sd_job *job, char *memory, sd_failure *failure) {
  const sd_plan *plan = job->plan;
  long pointers = sd_rounded(plan->array_count * (long)sizeof(char *));
  char **base, *slot;
  const long **ways;
  int raised = 0;
  sd_state s;
  memory = sd_line_up(memory);
  base = (char **)memory, ways = (const long **)(memory + pointers);
  job->kept = memory + 2 * pointers;
  job->totals = (double *)(job->kept + sd_rounded(plan->kept_bytes));
  slot = (char *)job->totals + sd_rounded(plan->totals * 8);
  for (int a = 0; a < plan->array_count; a++) {
    const sd_array *array = plan->arrays + a;
    int given = array->kind == SD_INPUT || array->kind == SD_OUTPUT;
    long port = array->number + (array->kind == SD_OUTPUT ? plan->inputs : 0);
    ways[a] = given ? job->strides[port] : array->strides;
    base[a] = given ? job->data[port] : array->kind == SD_CONSTANT ? array->data : job->kept + array->number;
    if (array->kind == SD_LENGTH) sd_set_number(base[a], array->item, (double)job->count);
    if (array->kind == SD_WINDOW) base[a] = base[array->number] + array->offset; /* what it is a part of stands before */
  }
  job->data = base;
  job->strides = ways;
  job->raised = &raised;
  sd_enter(&s, job, slot + sd_rounded(plan->slot_bytes), job->threads);
  failure->sample = -1;
  if (job->count == 0) {
    sd_run_empty(job);
    return;
  }
  sd_run_phase(&s, SD_BEFORE, failure);
  if (failure->sample == -1 && plan->step_count[SD_TILE]) sd_run_tiles(job, &s, slot, failure);
  if (failure->sample != -1 || !plan->step_count[SD_AFTER]) return;
  sd_enter(&s, job, slot + sd_rounded(plan->slot_bytes), job->threads);
  sd_run_phase(&s, SD_AFTER, failure);
}
#endif
