/* Threads that wait for work, and how they share that of one call. */

#ifndef SD_SHARED_THREADS_H
#define SD_SHARED_THREADS_H
#include <time.h>

#include "unit.h"

/* Threads that wait for work. A thread that is there already takes up work in a few microseconds, also
   on a machine with other things to do; a new one is often put behind its maker, on the same core.

   A call has its threads for itself from sd_hire to sd_dismiss, so several may be under way at once;
   one that has not begun when everything is done is not waited for. Threads without work spin for 20 µs,
   since calls come in rows, then sleep, and leave after a second of sleep. Threads without work are
   sent away before a fork, because a copy of this process has none of them, and at the end of the
   process. The lock guards the list of these threads and going to sleep; a call and its thread tell
   each other by `state` alone what they can see at once. */

/* Nanoseconds from some moment on. */
static inline long long sd_now(void) {
  struct timespec now;
#ifndef _WIN32
  clock_gettime(CLOCK_MONOTONIC, &now);
#else
  timespec_get(&now, TIME_UTC);
#endif
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

#ifndef _WIN32
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

enum { SD_WAITING, SD_CALLED, SD_WORKING, SD_FINISHED, SD_LEAVING };
/* Nanoseconds for which one looks, and seconds for which a thread sleeps before it leaves. */
enum { SD_LOOK = 20000, SD_SLEEP = 1 };

typedef struct sd_thread {
  pthread_t id;
  pthread_cond_t called, finished;
  int state, awaited; /* awaited: its call sleeps */
  void *(*work)(void *);
  void *argument;
  struct sd_thread *next;
} sd_thread;

static struct {
  pthread_mutex_t lock;
  sd_thread *waiting; /* those that belong to no call */
  int prepared, ended;
} sd_pool = {PTHREAD_MUTEX_INITIALIZER, 0, 0, 0};

static int sd_state(sd_thread *t) { return __atomic_load_n(&t->state, __ATOMIC_SEQ_CST); }

static void sd_set(sd_thread *t, int state) { __atomic_store_n(&t->state, state, __ATOMIC_SEQ_CST); }

/* Go from one state to another, unless it is not in that one. */
static int sd_change(sd_thread *t, int from, int to) {
  return __atomic_compare_exchange_n(&t->state, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Look for a while whether a thread's state is one of two, and return it. Others may go first: it is
   they who are waited for, if there is one core for all. */
static int sd_look(sd_thread *t, int first, int second) {
  long long start = sd_now();
  do {
    for (int k = 0; k < 32; k++) {
      int state = sd_state(t);
      if (state == first || state == second) return state;
#if defined __x86_64__ || defined __i386__
      __builtin_ia32_pause();
#elif defined __aarch64__
      __asm__ volatile("yield");
#endif
    }
    sched_yield();
  } while (sd_now() - start < SD_LOOK);
  return sd_state(t);
}

/* Take a thread out of those that wait; whether it was there. With the lock held. */
static int sd_withdraw(sd_thread *t) {
  for (sd_thread **at = &sd_pool.waiting; *at; at = &(*at)->next)
    if (*at == t) {
      *at = t->next;
      return 1;
    }
  return 0;
}

static void sd_forget(sd_thread *t) {
  pthread_cond_destroy(&t->called);
  pthread_cond_destroy(&t->finished);
  free(t);
}

/* Wait for work until called, sent away, or tired of it; in the last case nobody knows of the thread any more. */
static int sd_wait(sd_thread *t) {
  struct timespec until;
  int late = 0, state = sd_look(t, SD_CALLED, SD_LEAVING);
  if (state == SD_CALLED || state == SD_LEAVING) return state;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += SD_SLEEP;
  pthread_mutex_lock(&sd_pool.lock);
  while ((state = sd_state(t)) != SD_CALLED && state != SD_LEAVING) {
    if (late == ETIMEDOUT && sd_withdraw(t)) break;
    if (late == ETIMEDOUT) until.tv_sec += SD_SLEEP; /* its call has not let go of it yet */
    late = pthread_cond_timedwait(&t->called, &sd_pool.lock, &until);
  }
  pthread_mutex_unlock(&sd_pool.lock);
  return state;
}

static void *sd_serve(void *argument) {
  sd_thread *t = argument;
  int state;
  while ((state = sd_wait(t)) == SD_CALLED) {
    if (!sd_change(t, SD_CALLED, SD_WORKING)) continue;
    t->work(t->argument);
    sd_set(t, SD_FINISHED);
    if (__atomic_load_n(&t->awaited, __ATOMIC_SEQ_CST)) {
      pthread_mutex_lock(&sd_pool.lock);
      pthread_cond_signal(&t->finished);
      pthread_mutex_unlock(&sd_pool.lock);
    }
  }
  if (state != SD_LEAVING) {
    pthread_detach(t->id);
    sd_forget(t);
  }
  return 0;
}

/* Send away all that wait. */
static void sd_send_away(void) {
  sd_thread *leaving;
  pthread_mutex_lock(&sd_pool.lock);
  leaving = sd_pool.waiting;
  sd_pool.waiting = 0;
  for (sd_thread *t = leaving; t; t = t->next) {
    sd_set(t, SD_LEAVING);
    pthread_cond_signal(&t->called);
  }
  pthread_mutex_unlock(&sd_pool.lock);
  while (leaving) {
    sd_thread *t = leaving;
    leaving = t->next;
    pthread_join(t->id, 0);
    sd_forget(t);
  }
}

static void sd_before_fork(void) {
  sd_send_away();
  pthread_mutex_lock(&sd_pool.lock);
}

static void sd_after_fork(void) { pthread_mutex_unlock(&sd_pool.lock); }

static void sd_in_child(void) {
  sd_pool.waiting = 0;
  pthread_mutex_unlock(&sd_pool.lock);
}

/* Start a thread that has its work already, or return null. With the lock held. */
static sd_thread *sd_start(void *(*work)(void *), void *argument) {
  sd_thread *t = malloc(sizeof *t);
  sigset_t all, before;
  int failed;
  if (!t) return 0;
  t->work = work;
  t->argument = argument;
  t->state = SD_CALLED;
  t->awaited = 0;
  pthread_cond_init(&t->called, 0);
  pthread_cond_init(&t->finished, 0);
  /* signals are for the program's own threads */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  failed = pthread_create(&t->id, 0, sd_serve, t);
  pthread_sigmask(SIG_SETMASK, &before, 0);
  if (!failed) return t;
  sd_forget(t);
  return 0;
}

/* Have a thread do work(argument); null if there is none to be had. */
static sd_thread *sd_hire(void *(*work)(void *), void *argument) {
  sd_thread *t;
  pthread_mutex_lock(&sd_pool.lock);
  if (!sd_pool.prepared) sd_pool.prepared = pthread_atfork(sd_before_fork, sd_after_fork, sd_in_child) == 0;
  t = sd_pool.waiting;
  if (sd_pool.ended || !sd_pool.prepared) {
    t = 0;
  } else if (t) {
    sd_pool.waiting = t->next;
    t->work = work;
    t->argument = argument;
    sd_set(t, SD_CALLED);
    pthread_cond_signal(&t->called);
  } else {
    t = sd_start(work, argument);
  }
  pthread_mutex_unlock(&sd_pool.lock);
  return t;
}

/* Let go of a hired thread, once it has finished what it has begun. */
static void sd_dismiss(sd_thread *t) {
  int idle = sd_change(t, SD_CALLED, SD_WAITING) || sd_look(t, SD_FINISHED, SD_FINISHED) == SD_FINISHED;
  pthread_mutex_lock(&sd_pool.lock);
  if (!idle) {
    __atomic_store_n(&t->awaited, 1, __ATOMIC_SEQ_CST);
    while (sd_state(t) != SD_FINISHED) pthread_cond_wait(&t->finished, &sd_pool.lock);
    __atomic_store_n(&t->awaited, 0, __ATOMIC_SEQ_CST);
  }
  sd_set(t, SD_WAITING);
  t->next = sd_pool.waiting;
  sd_pool.waiting = t;
  pthread_mutex_unlock(&sd_pool.lock);
}

/* No more threads from now on. */
static void sd_end_threads(void) {
  pthread_mutex_lock(&sd_pool.lock);
  sd_pool.ended = 1;
  pthread_mutex_unlock(&sd_pool.lock);
  sd_send_away();
}
#else
static void sd_end_threads(void) {}
#endif

/* Threads that share the work of one call: how many are worth it, and who does what. Work is samples or blocks of
   samples, which threads take piece by piece: a slower thread takes fewer. What is done with a piece is the
   worker's, a function pointer. */

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
