/* Products of two arrays, summed over labels, and the threads that share them. */

#ifndef SD_PRODUCTS_H
#define SD_PRODUCTS_H
#include <stdlib.h>

#include "../matrix/gemm.h"
#include "nest.h"

/* Matrix products that several threads share, outside of tiles: each takes the rows of the result, or its columns, that
   are next, of the place that is next. An element's bits depend on no other element, so they do not depend on how many
   threads there are, nor on which of them computes what. */

/* Threads of one call at most; multiplications worth a thread; rows in a part, of which packing the other factor again
   is a few percent, are multiples of those that a vector's kernels take together. */
enum { SD_MOST_THREADS = 64, SD_WORTH_A_THREAD = 500000, SD_PART_ROWS = 192 };
/* Times a thread's worth of work within which nobody looks for a signal. */
enum { SD_PATIENT = 4000 };
/* What makes a product: gemm.h's functions. */
enum { SD_BY_DOT, SD_BY_VECTOR, SD_BY_MATRIX, SD_BY_HALF };

/* The product of one place: c = alpha * a b, or of SD_BY_VECTOR a times a vector. */
typedef struct {
  sd_gemm_sizes sizes;
  const char *a, *b;
  char *c;
  double alpha;
  int by, single, add;
} sd_one_product;

/* Rows first .. end of a product; of SD_BY_HALF, their part of the triangle. */
static void sd_multiply_rows(const sd_one_product *p, long first, long end, char *scratch) {
  sd_gemm_sizes s = p->sizes;
  const long item = p->single ? 4 : 8;
  const char *a = p->a + first * s.am * item;
  char *c = p->c + first * s.cm * item;
  s.m = end - first;
  if (p->by == SD_BY_VECTOR) {
    sd_gemv(p->single, s.m, s.k, p->alpha, a, s.am, s.ak, p->b, s.bk, c, s.cm, p->add);
  } else if (p->by == SD_BY_MATRIX) {
    sd_gemm(p->single, &s, p->alpha, a, p->b, c, p->add, scratch);
  } else {
    if (first > 0) {
      s.n = first;
      sd_gemm(p->single, &s, p->alpha, a, p->b, c, p->add, scratch);
    }
    s.n = end - first;
    sd_gemm_half(p->single, &s, p->alpha, a, p->b + first * s.bn * item, c + first * s.cn * item, p->add, scratch);
  }
}

/* The whole of it, in one thread. */
static void sd_multiply_one(const sd_one_product *p, char *scratch) {
  const sd_gemm_sizes *s = &p->sizes;
  if (p->by == SD_BY_DOT) {
    double sum = p->alpha * sd_gemm_dot(p->single, s->k, p->a, s->ak, p->b, s->bk);
    long item = p->single ? 4 : 8;
    sd_set_number(p->c, item, p->add ? sd_get(p->c, item) + sum : sum);
  } else if (p->by == SD_BY_HALF) {
    sd_gemm_half(p->single, s, p->alpha, p->a, p->b, p->c, p->add, scratch);
  } else if (p->by == SD_BY_MATRIX) {
    sd_gemm(p->single, s, p->alpha, p->a, p->b, p->c, p->add, scratch);
  } else {
    sd_multiply_rows(p, 0, s->m, scratch);
  }
}

/* The products of several places, whose addresses a function tells. */
typedef struct {
  sd_one_product product;
  int turned;
  const void *places; /* what `at` reads */
  void (*at)(const void *, long, sd_one_product *);
  long parts, rows, end, next; /* parts of a place, rows of a part; parts of all places */
  const sd_job *job;
} sd_shared_product;

/* The product of no place yet: with rows and columns exchanged where the factors are to be. */
static sd_one_product sd_product_of(const sd_shared_product *shared) {
  sd_one_product own = shared->product;
  const sd_gemm_sizes s = own.sizes;
  if (shared->turned) own.sizes = (sd_gemm_sizes){s.n, s.m, s.k, s.bn, s.bk, s.ak, s.am, s.cn, s.cm};
  return own;
}

static void sd_go_to_place(const sd_shared_product *shared, long place, sd_one_product *own) {
  shared->at(shared->places, place, own);
  if (shared->turned) {
    const char *a = own->a;
    own->a = own->b, own->b = a;
  }
}

typedef struct {
  sd_shared_product *shared;
  char *scratch;
} sd_product_hand;

static void *sd_share_product(void *argument) {
  const sd_product_hand *hand = argument;
  sd_shared_product *shared = hand->shared;
  sd_one_product own = sd_product_of(shared);
  for (;;) {
#ifndef _WIN32
    long part = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);
#else
    long part = shared->next++;
#endif
    long first, end;
    if (part >= shared->end || (part && sd_is_raised(shared->job))) return 0;
    sd_go_to_place(shared, part / shared->parts, &own);
    /* the last rows of a triangle take longest, so they come first */
    first = (shared->parts - 1 - part % shared->parts) * shared->rows;
    end = first + shared->rows < own.sizes.m ? first + shared->rows : own.sizes.m;
    if (own.by == SD_BY_DOT)
      sd_multiply_one(&own, hand->scratch);
    else
      sd_multiply_rows(&own, first, end, hand->scratch);
  }
}

/* Make the products of all places; whether a signal has raised. ``threads`` is how many there may be; scratch is memory for one. */
static int sd_multiply_places(sd_shared_product *shared, long places, int threads, const sd_job *job,
                               char *scratch) {
  const sd_one_product *p = &shared->product;
  const sd_gemm_sizes *s = &p->sizes;
  sd_product_hand hands[SD_MOST_THREADS];
  const double worth = (double)s->m * (double)s->n * (double)s->k * (double)places / SD_WORTH_A_THREAD;
  const long room = sd_rounded(sd_gemm_bytes(s->m, s->n, s->k, p->single ? 4 : 8));
  char *memory = 0;
  shared->job = job;
  if (threads > SD_MOST_THREADS) threads = SD_MOST_THREADS;
  if (threads > worth) threads = (int)worth;
  if (threads > 1 || worth > SD_PATIENT) {
    long m;
    /* the longer side is shared, or of half a product the side below whose diagonal it is */
    if (p->by == SD_BY_MATRIX ? s->n > s->m : p->by == SD_BY_HALF && sd_gemm_turns(s->cm, s->cn))
      shared->turned = !shared->turned;
    m = shared->turned ? s->n : s->m;
    shared->rows = threads == 1 ? m : m / (4 * threads);
    if (shared->rows > SD_PATIENT * places * m / worth) shared->rows = (long)(SD_PATIENT * places * m / worth);
    shared->rows = (shared->rows + SD_PART_ROWS) / SD_PART_ROWS * SD_PART_ROWS;
    shared->parts = p->by == SD_BY_DOT ? 1 : (m + shared->rows - 1) / shared->rows;
    shared->end = shared->parts * places, shared->next = 0;
    if (threads > shared->end) threads = (int)shared->end;
  }
  if (threads > 1 && !(memory = malloc((size_t)(SD_LINE + (threads - 1) * room)))) threads = 1;
  if (threads <= 1 && worth <= SD_PATIENT) {
    sd_one_product own = sd_product_of(shared);
    for (long place = 0; place < places; place++) {
      sd_go_to_place(shared, place, &own);
      sd_multiply_one(&own, scratch);
    }
    return 0;
  }
  for (int t = 0; t < threads; t++)
    hands[t] = (sd_product_hand){shared, t ? sd_line_up(memory) + (t - 1) * room : scratch};
  if (threads <= 1)
    sd_share_product(hands);
  else
    job->hooks->run_parts(sd_share_product, (char *)hands, sizeof *hands, threads);
  free(memory);
  return *job->raised;
}

/* Products of two arrays, summed over labels. Labels fall into four groups: in a and c (rows), in b and c (columns),
   absent from c (inner), and the rest (places: there is one matrix product for each). Where strides allow, the
   labels of a group are one axis of a matrix; an array where they do not, or which is unaligned, is copied
   first. Then one call makes the product of each place. A sample has the same bits alone and among others, where
   samples are rows, columns or places.

   Whether a product is a plain loop is decided by the sizes of one sample alone, when the plan is made: small matrices
   take longer to begin than to multiply. */

/* Rows of a matrix times its transpose from which computing one triangle and copying it is quicker than both. */
enum { SD_TWINS_BY_HALF = 80 };

enum { SD_ROWS, SD_COLUMNS, SD_INNER, SD_PLACES, SD_LABEL_GROUPS };
enum { SD_A, SD_B, SD_C };

typedef struct {
  sd_seen array[3];
  long lengths[SD_AXES], item;
  int loops, count[SD_LABEL_GROUPS], label[SD_LABEL_GROUPS][SD_AXES]; /* of each group, the longest way first */
} sd_factors;

/* One axis of the matrices: its length, and its stride in each array. */
typedef struct {
  long length, stride[3];
} sd_side;

/* The groups that are rows and columns of each array. */
static const int sd_sides[3][2] = {{SD_ROWS, SD_INNER}, {SD_INNER, SD_COLUMNS}, {SD_ROWS, SD_COLUMNS}};

/* The group of a label. */
static int sd_group_of(const sd_step *step, int label) {
  int a = step->uses[label] >> SD_A & 1, b = step->uses[label] >> SD_B & 1, c = step->uses[label] >> SD_C & 1;
  return !c ? SD_INNER : a && !b ? SD_ROWS : b && !a ? SD_COLUMNS : SD_PLACES;
}

/* The group of the samples; without any, as if each were a place. */
static int sd_group_of_batch(const sd_step *step) { return step->tiled ? sd_group_of(step, 0) : SD_PLACES; }

/* Put the labels into groups, in the order in which the largest array that has them has them; but the order of a sum
   does not depend on the number of samples. */
static void sd_group_labels(sd_factors *f, const sd_step *step) {
  long rows = 1, columns = 1;
  int batch = sd_group_of_batch(step), group[SD_AXES], by[SD_LABEL_GROUPS] = {SD_C, SD_C, SD_A, SD_C};
  for (int l = 0; l < f->loops; l++) {
    group[l] = sd_group_of(step, l);
    if (group[l] == SD_ROWS) rows *= f->lengths[l];
    if (group[l] == SD_COLUMNS) columns *= f->lengths[l];
  }
  if (batch == SD_COLUMNS || (columns > rows && batch != SD_ROWS)) by[SD_INNER] = SD_B;
  for (int g = 0; g < SD_LABEL_GROUPS; g++) f->count[g] = 0;
  for (int l = 0; l < f->loops; l++) {
    int g = group[l], at = f->count[g];
    const long *strides = f->array[by[g]].strides;
    if (f->lengths[l] == 1 && !(l == 0 && step->tiled)) continue; /* one sample is seen as many are */
    for (; at > 0 && sd_far(strides[l]) > sd_far(strides[f->label[g][at - 1]]); at--)
      f->label[g][at] = f->label[g][at - 1];
    f->label[g][at] = l;
    f->count[g]++;
  }
}

/* Whether the labels of a group are one axis of an array. */
static int sd_is_axis(const sd_factors *f, int array, int group) {
  const long *strides = f->array[array].strides;
  for (int i = 1; i < f->count[group]; i++) {
    int l = f->label[group][i];
    if (strides[f->label[group][i - 1]] != strides[l] * f->lengths[l]) return 0;
  }
  return 1;
}

/* The axis that the labels of a group are, where they are one in each array. */
static sd_side sd_axis_of(const sd_factors *f, int group) {
  sd_side side = {1, {0, 0, 0}};
  for (int i = 0; i < f->count[group]; i++) side.length *= f->lengths[f->label[group][i]];
  for (int x = 0; f->count[group] && x < 3; x++)
    side.stride[x] = f->array[x].strides[f->label[group][f->count[group] - 1]];
  return side;
}

/* Whether a matrix, or a vector, is read and written as it stands. */
static int sd_is_matrix(const sd_factors *f, int array) {
  size_t odd = (size_t)f->array[array].data;
  if (f->array[array].item != f->item) return 0;
  for (int k = 0; k < 2; k++)
    if (!sd_is_axis(f, array, sd_sides[array][k])) return 0;
  for (int l = 0; l < f->loops; l++)
    if (f->lengths[l] > 1) odd |= (size_t)f->array[array].strides[l];
  return odd % (size_t)f->item == 0;
}

/* Give an array room in scratch memory, without gaps: places, rows, columns. Returns what is left of the memory. */
static char *sd_pack(sd_factors *f, int array, char *scratch, int copy) {
  int groups[3] = {sd_sides[array][1], sd_sides[array][0], SD_PLACES};
  sd_seen to = {scratch, {0}, f->item};
  long span = f->item;
  for (int g = 0; g < 3; g++)
    for (int i = f->count[groups[g]] - 1; i >= 0; i--) {
      int l = f->label[groups[g]][i];
      to.strides[l] = span;
      span *= f->lengths[l];
    }
  if (copy) {
    long lengths[SD_AXES];
    for (int l = 0; l < f->loops; l++) lengths[l] = to.strides[l] ? f->lengths[l] : 1;
    sd_copy_seen(&to, &f->array[array], f->loops, lengths);
  }
  f->array[array] = to;
  return scratch + sd_rounded(span);
}

/* Products of neighbours, one sum each. */
#define SD_SCALED(NAME, TYPE)                                                                                     \
  static inline void NAME(char *c, long cs, const char *a, long as, const char *b, long bs, long n, double alpha, \
                          int add) {                                                                             \
    for (long i = 0; i < n; i++) {                                                                               \
      TYPE x, y, z = 0;                                                                                          \
      memcpy(&x, a + i * as, sizeof x);                                                                          \
      memcpy(&y, b + i * bs, sizeof y);                                                                          \
      if (add) memcpy(&z, c + i * cs, sizeof z);                                                                 \
      x = (TYPE)alpha * x * y;                                                                                   \
      if (add) x += z;                                                                                           \
      memcpy(c + i * cs, &x, sizeof x);                                                                          \
    }                                                                                                            \
  }
SD_SCALED(sd_times_d, double)
SD_SCALED(sd_times_f, float)
#undef SD_SCALED

/* Multiply where nothing is summed. */
static void sd_multiply_outer(sd_nest *nest, char **at, long item, double alpha, int add) {
  int last = nest->loops - 1;
  long n = nest->lengths[last], cs = nest->strides[0][last], as = nest->strides[1][last], bs = nest->strides[2][last];
  do
    if (item == 4)
      sd_times_f(at[0], cs, at[1], as, at[2], bs, n, alpha, add);
    else if (cs == 8 && as == 0 && bs == 8 && !add)
      sd_times_d(at[0], 8, at[1], 0, at[2], 8, n, alpha, 0);
    else if (cs == 8 && as == 0 && bs == 8)
      sd_times_d(at[0], 8, at[1], 0, at[2], 8, n, alpha, 1);
    else
      sd_times_d(at[0], cs, at[1], as, at[2], bs, n, alpha, add);
  while (sd_next(nest, at));
}

/* Multiply element by element, along the loops themselves. */
static void sd_multiply_plainly(const sd_factors *f, double alpha, int add) {
  const long *outer_strides[] = {f->array[SD_C].strides, f->array[SD_A].strides, f->array[SD_B].strides};
  const long *inner_strides[] = {f->array[SD_A].strides, f->array[SD_B].strides};
  long outer_lengths[SD_AXES], inner_lengths[SD_AXES], items[3];
  sd_nest outer, inner;
  char *at[SD_OPERANDS] = {f->array[SD_C].data, f->array[SD_A].data, f->array[SD_B].data};
  int last, deep, any;
  for (int l = 0; l < f->loops; l++) outer_lengths[l] = f->lengths[l], inner_lengths[l] = 1;
  for (int i = 0; i < f->count[SD_INNER]; i++) {
    int l = f->label[SD_INNER][i];
    outer_lengths[l] = 1, inner_lengths[l] = f->lengths[l];
  }
  for (int x = 0; x < 3; x++) items[x] = f->array[x].item;
  if (!sd_make_nest(&outer, f->loops, outer_lengths, 3, outer_strides)) return;
  any = sd_make_nest(&inner, f->loops, inner_lengths, 2, inner_strides);
  last = outer.loops - 1, deep = inner.loops - 1;
  if (any && inner.loops == 1 && inner.lengths[0] == 1 && items[SD_A] == items[SD_C] && items[SD_B] == items[SD_C]) {
    sd_multiply_outer(&outer, at, items[SD_C], alpha, add);
    return;
  }
  do
    for (long i = 0; i < outer.lengths[last]; i++) {
      char *c = at[0] + i * outer.strides[0][last];
      char *from[SD_OPERANDS] = {at[1] + i * outer.strides[1][last], at[2] + i * outer.strides[2][last], 0};
      double sum = 0;
      memset(inner.at, 0, sizeof inner.at);
      if (any) do
          for (long k = 0; k < inner.lengths[deep]; k++)
            sum += sd_get(from[0] + k * inner.strides[0][deep], items[SD_A]) *
                   sd_get(from[1] + k * inner.strides[1][deep], items[SD_B]);
        while (sd_next(&inner, from));
      sum *= alpha;
      sd_set_number(c, items[SD_C], add ? sd_get(c, items[SD_C]) + sum : sum);
    }
  while (sd_next(&outer, at));
}

/* Whether b is a with rows and columns exchanged. */
static int sd_is_twin(const sd_factors *f) {
  const sd_seen *a = &f->array[SD_A], *b = &f->array[SD_B];
  if (a->data != b->data || f->count[SD_ROWS] != f->count[SD_COLUMNS] || !f->count[SD_ROWS]) return 0;
  for (int i = 0; i < f->count[SD_ROWS]; i++) {
    int row = f->label[SD_ROWS][i], column = f->label[SD_COLUMNS][i];
    if (f->lengths[row] != f->lengths[column] || a->strides[row] != b->strides[column]) return 0;
  }
  for (int g = SD_INNER; g <= SD_PLACES; g++)
    for (int i = 0; i < f->count[g]; i++)
      if (a->strides[f->label[g][i]] != b->strides[f->label[g][i]]) return 0;
  return 1;
}

/* Let b be a with rows and columns exchanged, wherever that is. */
static void sd_make_twin(sd_factors *f) {
  f->array[SD_B] = f->array[SD_A];
  for (int i = 0; i < f->count[SD_ROWS]; i++) {
    f->array[SD_B].strides[f->label[SD_COLUMNS][i]] = f->array[SD_A].strides[f->label[SD_ROWS][i]];
    f->array[SD_B].strides[f->label[SD_ROWS][i]] = 0;
  }
}

/* How the products of all places are made. One row, or one column, is a vector if it is for any number of samples; but
   where samples are what is summed over, an order that suits the layout is as good. */
static void sd_choose_product(sd_shared_product *shared, const sd_side *rows, const sd_side *columns,
                              const sd_side *inner, long item, double alpha, int add, int half, int batch,
                              int one_order) {
  sd_gemm_sizes s = {rows->length,
                     columns->length,
                     inner->length,
                     rows->stride[SD_A] / item,
                     inner->stride[SD_A] / item,
                     inner->stride[SD_B] / item,
                     columns->stride[SD_B] / item,
                     rows->stride[SD_C] / item,
                     columns->stride[SD_C] / item};
  sd_one_product *p = &shared->product;
  *p = (sd_one_product){s, 0, 0, 0, alpha, half ? SD_BY_HALF : SD_BY_MATRIX, item == 4, add};
  shared->turned = 0;
  if (one_order) return;
  if (s.m == 1 && s.n == 1 && (batch == SD_PLACES || batch == SD_INNER))
    p->by = SD_BY_DOT;
  else if (s.n == 1 && batch != SD_COLUMNS && !(batch == SD_INNER && s.am == 1))
    p->by = SD_BY_VECTOR;
  else if (s.m == 1 && batch != SD_ROWS && !(batch == SD_INNER && s.bn == 1))
    p->by = SD_BY_VECTOR, shared->turned = 1;
}

/* The addresses of a place. */
static void sd_factors_at(const void *factors, long place, sd_one_product *p) {
  const sd_factors *f = factors;
  char *at[3] = {f->array[SD_A].data, f->array[SD_B].data, f->array[SD_C].data};
  for (int i = f->count[SD_PLACES] - 1; i >= 0; i--) {
    int l = f->label[SD_PLACES][i];
    const long own = i ? place % f->lengths[l] : place;
    for (int x = 0; x < 3; x++) at[x] += own * f->array[x].strides[l];
    if (i) place /= f->lengths[l];
  }
  p->a = at[SD_A], p->b = at[SD_B], p->c = at[SD_C];
}

/* Copy a triangle to the other one. The size of a number is a constant where this is inlined. */
static inline __attribute__((always_inline)) void sd_mirror_items(char *c, long n, long down, long across,
                                                                  const size_t item) {
  enum { BLOCK = 16 };
  for (long i = 0; i < n; i += BLOCK)
    for (long j = 0; j <= i; j += BLOCK)
      for (long r = i; r < n && r < i + BLOCK; r++)
        for (long s = j; s < r && s < j + BLOCK; s++)
          memcpy(c + s * down + r * across, c + r * down + s * across, item);
}

/* Copy the triangle of c that is computed to the other one. */
static void sd_mirror(char *c, const sd_side *rows, const sd_side *columns, long item) {
  long n = rows->length, down = rows->stride[SD_C], across = columns->stride[SD_C];
  if (sd_gemm_turns(down / item, across / item)) down = columns->stride[SD_C], across = rows->stride[SD_C];
  if (item == 4)
    sd_mirror_items(c, n, down, across, 4);
  else
    sd_mirror_items(c, n, down, across, 8);
}

/* Go on to the next place; 0 after the last. */
static int sd_next_place(const sd_factors *f, char **at, long *place) {
  for (int i = f->count[SD_PLACES] - 1; i >= 0; i--) {
    int l = f->label[SD_PLACES][i];
    for (int x = 0; x < 3; x++) at[x] += f->array[x].strides[l];
    if (++place[i] < f->lengths[l]) return 1;
    for (int x = 0; x < 3; x++) at[x] -= place[i] * f->array[x].strides[l];
    place[i] = 0;
  }
  return 0;
}

static void sd_mirror_places(const sd_factors *f, const sd_side *rows, const sd_side *columns) {
  char *at[3] = {f->array[SD_A].data, f->array[SD_B].data, f->array[SD_C].data};
  long place[SD_AXES] = {0};
  do sd_mirror(at[SD_C], rows, columns, f->array[SD_C].item);
  while (sd_next_place(f, at, place));
}

static long sd_run_product(sd_state *s, const sd_step *step, long *which) {
  long room[SD_AXES];
  const long *lengths = sd_lengths(s, step, room);
  int add = step->accumulate && !s->fresh, packed = 0, half, twins;
  sd_factors f;
  sd_seen result;
  sd_side rows, columns, inner;
  sd_shared_product shared;
  char *scratch = s->scratch;
  long places = 1;
  (void)which;
  f.loops = step->loops;
  f.item = s->job->plan->single ? 4 : 8;
  sd_see(s, step->views, &f.array[SD_A]);
  sd_see(s, step->views + 1, &f.array[SD_B]);
  sd_see_sum(s, step, 0, &f.array[SD_C]);
  for (int l = 0; l < f.loops; l++) f.lengths[l] = lengths[l];
  sd_group_labels(&f, step);
  for (int g = 0; g < SD_LABEL_GROUPS; g++)
    for (int i = 0; i < f.count[g]; i++)
      if (f.lengths[f.label[g][i]] == 0) {
        if (g != SD_INNER) return -1;
        sd_multiply_plainly(&f, step->value, add); /* zero */
        return -1;
      }
  if (step->tiny || step->value == 0) {
    sd_multiply_plainly(&f, step->value, add);
    return -1;
  }
  result = f.array[SD_C];
  twins = step->symmetric && sd_is_twin(&f);
  half = step->symmetric && (twins || (f.count[SD_ROWS] == 1 && f.count[SD_COLUMNS] == 1));
  if (!sd_is_matrix(&f, SD_C)) scratch = sd_pack(&f, SD_C, scratch, 0), packed = 1;
  if (!sd_is_matrix(&f, SD_A)) scratch = sd_pack(&f, SD_A, scratch, 1);
  if (twins)
    sd_make_twin(&f);
  else if (!sd_is_matrix(&f, SD_B))
    scratch = sd_pack(&f, SD_B, scratch, 1);
  rows = sd_axis_of(&f, SD_ROWS), columns = sd_axis_of(&f, SD_COLUMNS), inner = sd_axis_of(&f, SD_INNER);
  half &= !twins || rows.length >= SD_TWINS_BY_HALF; /* the whole of it is symmetric, too */
  if (inner.length == 1) {
    if (packed) f.array[SD_C] = result;
    sd_multiply_plainly(&f, step->value, add);
    if (half && step->accumulate && s->last) sd_mirror_places(&f, &rows, &columns);
    return -1;
  }
  sd_choose_product(&shared, &rows, &columns, &inner, f.item, step->value, add && !packed, half, sd_group_of_batch(step),
                    s->job->plan->one_order);
  shared.places = &f, shared.at = sd_factors_at;
  for (int i = 0; i < f.count[SD_PLACES]; i++) places *= f.lengths[f.label[SD_PLACES][i]];
  if (sd_multiply_places(&shared, places, s->threads, s->job, scratch)) return SD_RAISED;
  if (half && (packed || !step->accumulate || s->last)) sd_mirror_places(&f, &rows, &columns);
  if (packed) {
    for (int l = 0; l < f.loops; l++)
      if (!(step->uses[l] >> SD_C & 1)) room[l] = 1;
      else room[l] = f.lengths[l];
    if (add)
      sd_combine_seen(&result, &f.array[SD_C], f.loops, room, SD_ADD);
    else
      sd_copy_seen(&result, &f.array[SD_C], f.loops, room);
  }
  return -1;
}
#endif
