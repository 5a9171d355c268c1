/* Matrix products that several threads share, outside of tiles: each takes the rows of the result, or its columns, that
   are next, of the place that is next. An element's bits depend on no other element, so they do not depend on how many
   threads there are, nor on which of them computes what.

   Needs nest.h and ../../matrix/products. */

#ifndef SD_SHARE_PRODUCT_H
#define SD_SHARE_PRODUCT_H
#include <stdlib.h>

#include "../../matrix/products/gemm.h"
#include "nest.h"

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
#endif
