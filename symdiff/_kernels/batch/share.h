/* Threads that share the work of one call: how many are worth it, and who does what. Work is samples or blocks of
   samples, which threads take piece by piece: a slower thread takes fewer. What is done with a piece is the
   worker's, a function pointer.

   Needs unit.h and the threads of pool.h. */

#ifndef SD_SHARE_H
#define SD_SHARE_H
#include "pool.h"
#include "unit.h"

/* Threads of one call, at most. */
enum { SD_THREADS = 64 };
/* Operations for which a thread is worth its while, those of the first piece, and nanoseconds up to which pieces grow. */
enum { SD_WORTH = 500000, SD_FIRST = 65536, SD_QUICK = 4000000 };

typedef struct {
  const sd_call *call;
  long begin, end, most; /* most: the largest piece; 0 for one thread, which takes all at once */
  double *sums;          /* when summing, the sum of each block */
  long next;             /* the first that nobody has taken */
  int stop;              /* one has failed: what is taken will be finished, and nothing more is taken */
  int raised;            /* the handler of a signal has raised */
} sd_work;

typedef struct sd_part sd_part;
/* Takes pieces until there is none. Returns the first failing sample, -1 for none, SD_NO_MEMORY. */
typedef long (*sd_worker)(sd_part *part, long *which);

/* One thread's part of the work. */
struct sd_part {
  sd_work *work;
  sd_worker worker;
  long failed, which;
  long piece;      /* the next one */
  long long since; /* when the one before was taken, in nanoseconds; 0 for none */
};

/* Run the handlers of signals that have arrived; whether one has raised. Always 0 in threads that run no handlers. */
static int (*sd_ask)(void);

/* Take the next piece, from .. to; 0 if there is none, or a handler has raised. Signals are looked for between pieces,
   which grow while they take less than SD_QUICK. */
static inline int sd_take(sd_part *part, long *from, long *to) {
  sd_work *work = part->work;
#ifndef _WIN32
  if (work->most) {
    if (__atomic_load_n(&work->stop, __ATOMIC_RELAXED)) return 0;
    if (__atomic_load_n(&work->next, __ATOMIC_RELAXED) >= work->end) return 0;
    long long now = sd_now();
    if (part->since && now - part->since < SD_QUICK && part->piece <= work->most / 2) part->piece *= 2;
    if (part->since && sd_ask && sd_ask()) {
      __atomic_store_n(&work->raised, 1, __ATOMIC_RELAXED);
      __atomic_store_n(&work->stop, 1, __ATOMIC_RELAXED);
      return 0;
    }
    part->since = now;
    *from = __atomic_fetch_add(&work->next, part->piece, __ATOMIC_RELAXED);
    *to = work->end - *from > part->piece ? *from + part->piece : work->end;
    return *from < work->end;
  }
#endif
  *from = work->next;
  *to = work->next = work->end;
  return *from < *to;
}

static void *sd_labour(void *argument) {
  sd_part *part = argument;
  part->failed = part->worker(part, &part->which);
#ifndef _WIN32
  if (part->failed >= 0) __atomic_store_n(&part->work->stop, 1, __ATOMIC_RELAXED);
#endif
  return 0;
}

/* Do work(parts + t * size) for each t below `threads`, each in a thread of its own while there are threads to be had. */
static void sd_run_parts(void *(*work)(void *), char *parts, long size, int threads) {
#ifndef _WIN32
  sd_thread *hired[SD_THREADS];
  for (int t = 1; t < threads; t++) hired[t] = sd_hire(work, parts + t * size);
  work(parts);
  for (int t = 1; t < threads; t++)
    if (hired[t]) sd_dismiss(hired[t]); /* what others would have taken was taken all the same */
#else
  (void)size, (void)threads;
  work(parts);
#endif
}

/* Run samples or blocks begin .. end in as many threads as are wanted and worth it, in pieces of whole `unit`s,
   where each takes about `cost` operations. */
static long sd_share(const sd_call *c, sd_worker worker, long begin, long end, long unit, long cost, double *sums,
                     long *which) {
  sd_work work = {c, begin, end, 0, sums, begin, 0, 0};
  sd_part parts[SD_THREADS];
  long threads = 1, failed = -1, piece = 0;
#ifndef _WIN32
  piece = (SD_FIRST / (cost + 1) + unit) / unit * unit;
  if (c->threads > 1 && end - begin > unit) {
    /* below some tens of microseconds each, sharing costs more than it gains */
    long least = 1 + SD_WORTH / (cost + 1), most = (end - begin) / least;
    threads = c->threads < most ? c->threads : most;
    if (threads > SD_THREADS) threads = SD_THREADS;
    if (threads < 1) threads = 1;
    work.most = (end - begin) / (8 * threads);
    if (work.most < least / 4) work.most = least / 4;
    work.most = (work.most + unit) / unit * unit;
    if (piece > work.most) piece = work.most;
  }
  if (threads == 1) work.most = end - begin > 2 * piece ? end - begin : 0;
#endif
  for (long t = 0; t < threads; t++) parts[t] = (sd_part){&work, worker, -1, 0, piece, 0};
  sd_run_parts(sd_labour, (char *)parts, sizeof *parts, (int)threads);
  if (work.raised) return SD_RAISED;
  for (long t = 0; t < threads; t++) {
    if (parts[t].failed == SD_NO_MEMORY) return SD_NO_MEMORY;
    /* the first in the order of samples: pieces are taken in that order */
    if (parts[t].failed >= 0 && (failed < 0 || parts[t].failed < failed))
      failed = parts[t].failed, *which = parts[t].which;
  }
  return failed;
}

/* Threads of calls whose kernel does not say how many. Found by name, by threadpoolctl for one. */
static int sd_threads = 1;
#ifdef _WIN32
#define SD_PUBLIC __declspec(dllexport)
#else
#define SD_PUBLIC __attribute__((visibility("default")))
#endif
SD_PUBLIC int symdiff_get_num_threads(void);
SD_PUBLIC void symdiff_set_num_threads(int count);
int symdiff_get_num_threads(void) { return sd_threads; }
void symdiff_set_num_threads(int count) { sd_threads = count < 1 ? 1 : count > SD_THREADS ? SD_THREADS : count; }
#endif
