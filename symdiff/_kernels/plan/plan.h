/* A bound plan as it runs (arrays, views of them, steps, what a call in flight has), and what its steps may reach.

   bind.pyx fills these structures from the tuples of symdiff/lowering/plan/bound.py, which say what each step means, and
   checks them: whatever is here may be trusted. The headers in their order: plan.h, nest.h, programs.h, products.h,
   matrices.h, positions.h, run.h. */

#ifndef SD_PLAN_H
#define SD_PLAN_H
#include <string.h>

#include "../batch/unit.h"
#include "../matrix/call.h"

/* Axes of an array, at most. A step has at most SD_AXES loops. */
enum { SD_RANK = 16 };
enum { SD_INPUT, SD_OUTPUT, SD_ARENA, SD_CONSTANT, SD_LENGTH, SD_WINDOW };
enum { SD_BEFORE, SD_TILE, SD_AFTER, SD_PHASES };
enum {
  SD_PROGRAM,
  SD_PRODUCT,
  SD_REDUCE,
  SD_SCAN,
  SD_GATHER,
  SD_COPY,
  SD_FILL,
  SD_FACTOR,
  SD_USE,
  SD_TAKE,
  SD_PUT,
  SD_ARRANGE,
  SD_RESHAPE,
  SD_TRIANGLE,
  SD_SORT,
  SD_SPECTRUM,
  SD_ADJUGATE,
  SD_PYTHON,
  SD_REPEAT,
  SD_IN_PARTS,
  SD_KINDS
};
/* How a step in the body of a loop runs without a layout: a program for one sample or over neighbours, a copy, a
   reduction to one number. 0 stands for all other steps. */
enum { SD_ONE = 1, SD_NEIGHBOURS, SD_COPY_NEIGHBOURS, SD_REDUCE_NEIGHBOURS };
/* Units of a program, and what the place of one among them is made of. */
enum { SD_UNITS = 16, SD_OF_COLUMNS = 1, SD_OF_SINGLE = 2, SD_OF_SUMS = 4, SD_OF_PACKED = 8 };
/* Arrays of a wiring that are no carried ones. */
enum { SD_IN_MEMORY = -1, SD_HELD = -2, SD_COUNTER = -3 };
/* Limits: arrays of such a program; arrays of a program that is the whole body; sums of a program over neighbours. */
enum { SD_MOST_PORTS = 128, SD_FEW_PORTS = 64, SD_MOST_SUMS = 16 };
/* How numbers are combined: by sums (of programs and products), or as reductions and scans say. */
enum { SD_ADD, SD_MULTIPLY, SD_MAX, SD_MIN };
/* What may be asked of a factorization, in the order of bound.py. */
enum {
  SD_LOGDET,
  SD_LOGABSDET,
  SD_DET,
  SD_INVERSE,
  SD_INVERSE_TRANSPOSED,
  SD_SOLVE,
  SD_SOLVE_TRANSPOSED,
  SD_CHOLESKY
};
/* Tiles whose sums are added up one after the other; the sums of such groups are added in their order. */
enum { SD_GROUP = 8 };

static inline int sd_properties(const sd_unit *u) {
  return (u->packed ? SD_OF_PACKED : 0) | (u->reduce ? SD_OF_SUMS : 0) | (u->single ? SD_OF_SINGLE : 0) |
         (u->columns ? SD_OF_COLUMNS : 0);
}

typedef struct {
  int kind, tiled, integer, rank;
  long number, item;      /* item: bytes of an element; number: of a window the array that it is a part of */
  long offset;            /* of a window: where in it, in bytes, before any loop moves it */
  long shape[SD_RANK], strides[SD_RANK]; /* strides of arrays that are the plan's own */
  char *data;             /* of a constant */
} sd_array;

typedef struct {
  int loop, listed; /* loop: or -1; listed: the view's list tells the positions */
  long start, step, length;
} sd_axis;

typedef struct {
  int array, rank, known;  /* known: the array's strides are the plan's, and with them the four below */
  long size;               /* elements of its own, of each place in the loops */
  long offset, strides[SD_AXES], pace;
  long *offsets;           /* bytes to each of its own elements, where one pace does not tell them, or null */
  const long *list;        /* positions along one axis and runs of them, as sd_port has them, or null */
  int goes_on, lists_on;   /* in a block: whether the array, and the list, are the whole axis's, not those of a part */
  sd_axis axes[SD_RANK];
} sd_view;

/* The start of a view that is accessed in place. A view takes hundreds of bytes, so those of a body would not fit the
   first cache. */
typedef struct {
  long array, offset, size, row; /* row: bytes from a row to the next */
  int roomy; /* whether the array has room for a whole last vector */
} sd_start;

/* What one output is summed up in over the tiles: its elements in C order, without gaps. */
typedef struct {
  long count, strides[SD_AXES]; /* in elements, along each loop */
  long slot, total;             /* where: in bytes in a slot, in numbers among the totals */
} sd_dense;

typedef struct {
  int kind, phase, tiled, loops, number; /* number: its place in the plan */
  int shared;      /* whether one failure is all samples' */
  long lengths[SD_AXES];
  int inputs, outputs;
  sd_view *views;  /* inputs, then outputs */
  sd_dense *dense; /* one for each output of a step that accumulates */
  int accumulate, op;
  long item;       /* bytes of an element of a slot */
  int units, sums, kept;                  /* programs */
  double value;                           /* of products a factor; what is filled in */
  int symmetric, tiny, uses[SD_AXES];     /* products: which arrays have each label, as bits; symmetric also of
                                             factorizations */
  int reverse, scatter, listed;           /* scans; gathers: the loop that counts positions */
  const long *indices;                    /* positions and runs of them, as sd_port has them */
  int a, factor, pivots, state, b, c, checked; /* factorizations: arrays, and whether failure has a message */
  int axis, own; /* routines on a, b and c: which axis, and how many before it have positions of their own, or the
                    diagonal of a triangle */
  int span, windows, swaps, counter; /* loops: how many steps after it are its body, and the array of the turn or -1 */
  int tight;             /* whether the body of a loop is one such program, and copies; */
  const long *wiring;    /* and how it hands its arrays over, as lowering/plan/plan.py has it, or null */
  int direct;            /* SD_ONE and so on, or 0 */
  long count, rows;      /* if direct: neighbours in a row, and rows */
  int copied;            /* if SD_NEIGHBOURS: outputs that are not roomy, */
  int packed;            /* and whether the unit may be a packed one */
  char *constant;        /* of programs: whether all samples share an input */
  sd_start *starts;      /* of programs: the start of each view, */
  long *along;           /* and its stride from neighbour to neighbour; 0 where they share one element */
  long turns; /* of a block: the length of its axis */
  const long *moved; /* windows: (array, bytes of a turn); then swaps: (array, array); of a loop of samples then an array of
                        results for each swap, and those that turns read */
  int held;          /* how many these are */
  int lasting, sign, strict; /* of a loop of samples: the swap whose number tells which go on, or -1: those where the sign
                                times it is above ``value``, or at it unless strict */
  int given; /* of a copy: whether what is copied may be read where it is, if it has no gaps */
  long cost; /* operations, about: once, or for each sample */
  int fused; /* whether the only use of a factorization is an inverse, which is made without factors where it can be */
} sd_step;

typedef struct sd_plan {
  sd_array *arrays;
  sd_step *steps[SD_PHASES];
  int array_count, inputs, step_count[SD_PHASES], single, callbacks, accumulates;
  long tile, tile_bytes, kept_bytes, scratch_bytes, slot_bytes, totals;
  long fixed_cost, row_cost; /* operations, about: once, and for each sample */
  long most_rows;            /* of matrices that the kernels take, and not LAPACK */
  int padded;                /* whether no two arrays of the arena, tiles apart, share a line of the cache */
  int one_order;             /* whether vectors are multiplied in the order of matrices */
  const sd_matrix_functions *matrices;
} sd_plan;

/* What the modules around this one do: run a batch, let several threads work, make a unit, call Python, and tell whether
   a signal has raised. */
typedef struct {
  long (*run_batch)(const sd_call *, long *);
  void (*run_parts)(void *(*)(void *), char *, long, int);
  const sd_unit *(*make_unit)(void *, int, int);
  long (*call_python)(void *, const sd_step *, char *const *, const long *const *, long, long);
  int (*ask)(void);
} sd_hooks;

/* A call in flight. */
typedef struct {
  const sd_plan *plan;
  const sd_hooks *hooks;
  void *self;                   /* the caller's, for the hooks */
  const sd_unit *const *units;  /* of program n from SD_UNITS * n on */
  const char *usual;            /* of each program: columns where both layouts suit */
  char *const *data;            /* of each array, but those of the tile; before a call begins, of what it is given: */
  const long *const *strides;   /* of each array, in bytes; inputs, then outputs */
  long count;
  int threads;
  char *kept;
  double *totals;
  int *raised; /* a signal has: nothing more is begun */
} sd_job;

/* Whether a signal has raised, of which any thread of a call learns here. */
static inline int sd_is_raised(const sd_job *job) {
#ifndef _WIN32
  if (__atomic_load_n(job->raised, __ATOMIC_RELAXED)) return 1;
  if (!job->hooks->ask()) return 0;
  __atomic_store_n(job->raised, 1, __ATOMIC_RELAXED);
  return 1;
#else
  return job->hooks->ask() ? *job->raised = 1 : *job->raised;
#endif
}

/* One thread's part of it: a tile. */
typedef struct {
  const sd_job *job;
  char **data;       /* of each array, from the tile's first sample on */
  long first, rows;  /* samples of the tile */
  int fresh, last;   /* whether it is its group's first, and last */
  int threads;       /* that a step may use */
  char *scratch, *slots, *own; /* slots: null where steps accumulate in their outputs; own: the tile's arrays */
} sd_state;

/* The place in an array of the first element of a view, and the way along each loop in bytes. */
typedef struct {
  char *data;
  long strides[SD_AXES], item;
} sd_seen;

static inline long sd_rounded(long bytes) { return (bytes + SD_LINE - 1) / SD_LINE * SD_LINE; }

static inline char *sd_line_up(char *at) { return at + (size_t)(-(size_t)at % SD_LINE); }

/* Copy numbers of float64 to numbers of ``item`` bytes. */
static inline void sd_put_numbers(char *to, const char *data, long count, long item) {
  for (long k = 0; k < count; k++) {
    double x;
    float y;
    memcpy(&x, data + 8 * k, 8);
    y = (float)x;
    memcpy(to + k * item, item == 8 ? (void *)&x : (void *)&y, (size_t)item);
  }
}

/* Matrices of so many numbers that are copied together for the kernels of matrices. */
static inline long sd_chunk(long each) {
  return each > 8192 ? 1 : each > 2048 ? 8 : each > 256 ? 16384 / each : 64;
}

/* Leave factorizations to their uses, where that is one inverse of each of their small matrices. */
static inline void sd_fuse(sd_plan *plan) {
  for (int phase = 0; phase < SD_PHASES; phase++)
    for (sd_step *f = plan->steps[phase], *end = f + plan->step_count[phase]; f < end; f++) {
      const sd_array *factor = plan->arrays + f->factor;
      sd_step *found = 0;
      int uses = 0;
      if (f->kind != SD_FACTOR || f->symmetric == 2 || factor->shape[factor->rank - 1] > plan->most_rows) continue;
      for (int p = 0; p < SD_PHASES; p++)
        for (sd_step *use = plan->steps[p]; use < plan->steps[p] + plan->step_count[p]; use++) {
          if (use->kind != SD_USE || use->factor != f->factor) continue;
          uses++;
          if (p == phase && (use->op == SD_INVERSE || use->op == SD_INVERSE_TRANSPOSED)) found = use;
        }
      if (uses != 1 || !found) continue;
      f->fused = found->fused = 1;
      found->symmetric = f->symmetric;
    }
}

/* Length of a loop. */
static inline long sd_length(const sd_state *s, const sd_step *step, int loop) {
  return step->tiled && loop == 0 ? s->rows : step->lengths[loop];
}

/* Distances of a view for an array's strides: known ones of the plan's arrays, those of a call for others. */
static inline void sd_resolve(const sd_view *v, const long *strides, long *offset, long *along) {
  *offset = 0;
  for (int l = 0; l < SD_AXES; l++) along[l] = 0;
  for (int x = 0; x < v->rank; x++) {
    *offset += v->axes[x].start * strides[x];
    if (v->axes[x].loop >= 0 && !v->axes[x].listed) along[v->axes[x].loop] += v->axes[x].step * strides[x];
  }
}

/* Fill an array with zeros. */
static inline void sd_zero_array(char *at, int rank, const long *shape, const long *strides, long item) {
  if (rank == 0) {
    memset(at, 0, (size_t)item);
    return;
  }
  if (rank == 1 && strides[0] == item) {
    memset(at, 0, (size_t)(shape[0] * item));
    return;
  }
  for (long i = 0; i < shape[0]; i++) sd_zero_array(at + i * strides[0], rank - 1, shape + 1, strides + 1, item);
}

static inline void sd_see(const sd_state *s, const sd_view *v, sd_seen *seen) {
  long offset = v->offset;
  if (v->known)
    memcpy(seen->strides, v->strides, sizeof seen->strides);
  else
    sd_resolve(v, s->job->strides[v->array], &offset, seen->strides);
  seen->data = s->data[v->array] + offset + (v->goes_on ? s->first * seen->strides[0] : 0);
  seen->item = s->job->plan->arrays[v->array].item;
}

/* Where an output of a step that accumulates goes in this tile. */
static inline void sd_see_sum(const sd_state *s, const sd_step *step, int output, sd_seen *seen) {
  const sd_dense *dense = step->dense + output;
  if (!step->accumulate || !s->slots) {
    sd_see(s, step->views + step->inputs + output, seen);
    return;
  }
  seen->data = s->slots + dense->slot;
  seen->item = step->item;
  for (int l = 0; l < SD_AXES; l++) seen->strides[l] = dense->strides[l] * step->item;
}

/* Put a listed position before those after it, with how many go on from there as sd_port has it. */
static inline void sd_list_position(long *pairs, long k, long position, long count) {
  long more = k < count - 1 ? pairs[2 * k + 3] : 0;
  pairs[2 * k] = position, pairs[2 * k + 1] = 1;
  if (more && more <= 1 && pairs[2 * k + 2] == position)
    pairs[2 * k + 1] = more < 0 ? more - 1 : -2;
  else if (more > 0 && pairs[2 * k + 2] == position + 1)
    pairs[2 * k + 1] = more + 1;
}

/* What steps may reach: windows of loops stay within their arrays in every turn, bodies within their phase, and the
   arrays of a routine fit each other. Each function tells what is wrong with a plan, or null. Memory safety depends on
   them. */

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
  if (s->lasting >= s->swaps) return "a loop that no number ends";
  for (int k = 0; k < 3 * s->swaps + s->held; k++) {
    const sd_array *a = arrays + moved[k], *b;
    if (moved[k] == -1 && k >= 2 * s->swaps && k < 3 * s->swaps) continue; /* a result that nothing reads */
    if (moved[k] < 0 || moved[k] >= plan->array_count) return "a loop that moves no array";
    if (a->kind != SD_ARENA || !a->tiled || a->integer) return "a loop of samples over arrays of others";
    if (k >= 3 * s->swaps) continue;
    if (k == 2 * s->lasting && sd_bytes(a) != a->shape[0] * a->item) return "a loop that several numbers end";
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
  if (outer && s->count == 1) return 0; /* each element would be a vector */
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

/* Whether a step reads or writes an array, or a window of it, in another way than loops with a wiring read their rows. */
static inline int sd_has_otherwise(const sd_plan *plan, const sd_step *s, const sd_step *loop, long array) {
  if (s->kind == SD_REPEAT) {
    for (int w = 0; w < s->swaps; w++)
      if (sd_base(plan, (int)s->moved[2 * (s->windows + w)]) == array) return 1;
    return 0;
  }
  if (!s->views) return 1;
  for (int p = 0; p < s->inputs + s->outputs; p++) {
    int in_turns = loop && s == loop + 1 && p < s->inputs;
    if (!in_turns && sd_base(plan, s->views[p].array) == array) return 1;
  }
  return 0;
}

/* Whether a copy is one of a whole array that a call brings, which only loops with a wiring read: they may read it where
   it is. */
static inline int sd_is_for_turns(const sd_plan *plan, const sd_step *copy) {
  const sd_view *from = copy->views, *to = from + 1;
  const sd_array *array = plan->arrays + to->array;
  if (copy->tiled || plan->arrays[from->array].kind != SD_INPUT || array->kind != SD_ARENA || array->tiled) return 0;
  if (from->rank != copy->loops || to->rank != copy->loops) return 0;
  for (int x = 0; x < copy->loops; x++) {
    const sd_axis *a = from->axes + x, *b = to->axes + x;
    if (a->loop != x || b->loop != x || a->start || b->start || a->step != 1 || b->step != 1) return 0;
    if (copy->lengths[x] != array->shape[x]) return 0;
  }
  for (int phase = 0; phase < SD_PHASES; phase++) {
    const sd_step *steps = plan->steps[phase], *loop = 0;
    for (int k = 0; k < plan->step_count[phase]; k++) {
      if (steps[k].kind == SD_REPEAT) loop = steps[k].wiring ? steps + k : 0;
      if (steps + k != copy && sd_has_otherwise(plan, steps + k, loop, to->array)) return 0;
    }
  }
  return 1;
}

/* Mark the copies of what a call brings to loops that may read it where it is. */
static inline void sd_find_given(sd_plan *plan) {
  for (int phase = 0; phase < SD_PHASES; phase++)
    for (sd_step *s = plan->steps[phase]; s < plan->steps[phase] + plan->step_count[phase]; s++)
      s->given = s->kind == SD_COPY && sd_is_for_turns(plan, s);
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
