/* Threads that wait for work. A thread that is there already takes up work in a few microseconds, also
   on a machine with other things to do; a new one is often put behind its maker, on the same core.

   A call has its threads for itself from sd_hire to sd_dismiss, so several may be under way at once;
   one that has not begun when everything is done is not waited for. Threads without work spin for 20 µs,
   since calls come in rows, then sleep, and leave after a second of sleep. Threads without work are
   sent away before a fork, because a copy of this process has none of them, and at the end of the
   process. The lock guards the list of these threads and going to sleep; a call and its thread tell
   each other by `state` alone what they can see at once.

   share.h hires them. Needs POSIX threads; elsewhere there are none. */

#ifndef SD_POOL_H
#define SD_POOL_H
#include <time.h>

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
#endif
