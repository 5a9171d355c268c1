/* A bound plan as it runs: arrays, views of them, steps, and what a call in flight has. executor.pyx fills these
   structures from the tuples of symdiff/lowering/plan/bound.py, which say what each step means, and checks them: whatever is
   here may be trusted.

   The headers in their order: plan.h; nest.h, rows.h, ports.h, short_sums.h, program.h, share.h, product.h, reduce.h,
   turns.h, direct.h, samples.h in steps/; stack.h, adjugate.h, small.h, blas.h, factor.h, spectrum.h in steps/matrices/;
   positions.h, order.h and, for the binder, checks.h in steps/; run.h. */

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

#endif
