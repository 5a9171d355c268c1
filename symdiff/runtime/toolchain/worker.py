"""Builds in the background: one worker thread, which exists only while there is something to build.

The thread must not hinder its process. A job is Python code for a while, which takes turns with that of public calls,
so it begins when none has derived or compiled a formula for a moment, unless somebody waits for it. At exit, the
running compiler is killed and the thread joined. A fork does the same first, because a copy of a process with a second
thread may find locks held for ever; the build restarts afterwards in the parent, and in a child on demand.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections import deque
from typing import Protocol

from ...ground.budget import calls
from . import processes

__all__ = ["Job", "broken_off", "busy", "ended", "submit", "urge"]


class Job(Protocol):
    """A build to be done in the background."""

    def __call__(self) -> None:
        """Build, or return at once if the result is not needed any more."""

    def is_wanted(self) -> bool:
        """Whether the result is still needed."""


#: Jobs from which on the queue is looked through for those that nobody wants any more.
MANY = 100
#: Seconds for which no public call has derived or compiled when a job begins, and the most that a job waits for that.
MOMENT, LONGEST = 0.03, 0.5
#: Seconds between two looks at whether the thread has gone, and how many there are.
PAUSE, TRIES = 0.02, 500


class _Worker:
    """The jobs of this process, and the thread that does them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.jobs: deque[Job] = deque()
        self.many = MANY
        self.thread: threading.Thread | None = None
        self.held = False
        self.over = False
        self.urged = threading.Event()

    def add(self, job: Job) -> None:
        with self.lock:
            self.jobs.append(job)
            if len(self.jobs) > self.many:
                self.forget()
        self.start()

    def forget(self) -> None:
        """Remove jobs that are not needed any more, as a queue may wait for long. The lock is held."""
        first = self.jobs.popleft()  # may be under way
        for _ in range(len(self.jobs)):
            job = self.jobs.popleft()
            if job.is_wanted():
                self.jobs.append(job)
        self.jobs.appendleft(first)
        self.many = max(MANY, 2 * len(self.jobs))

    def start(self) -> None:
        """Start the thread if there are jobs and no thread runs."""
        with self.lock:
            if not self.runs() and self.jobs and not self.held:
                thread = threading.Thread(target=self.work, name="symdiff-build", daemon=True)
                # Before it starts: a thread that an interrupt leaves behind within start() is the one that is known, or
                # finds that it is not, and ends.
                self.thread = thread
                # At shutdown, or beyond the system's limit, no thread can be started; the jobs then stay undone.
                with contextlib.suppress(RuntimeError):
                    thread.start()

    def runs(self) -> bool:
        """Tell whether the thread is there; one that was interrupted before it began is not."""
        return self.thread is not None and self.thread.is_alive()

    def give_way(self) -> None:
        """Wait until no public call has worked on a formula for a moment."""
        end = time.monotonic() + LONGEST
        while self.jobs and not self.urged.is_set():
            now = time.monotonic()
            if now >= end:
                calls.now.clear()  # no further job waits for calls that take so long
                break
            left = MOMENT if calls.now else calls.done + MOMENT - now
            if left <= 0.0:
                break
            self.urged.wait(min(left, end - now))

    def work(self) -> None:
        own = threading.current_thread()
        while self.thread is own:
            self.give_way()
            with self.lock:
                if self.thread is not own:
                    return
                if self.held or not self.jobs:
                    self.thread = None
                    self.urged.clear()
                    return
                job = self.jobs[0]
            job()
            with self.lock:
                # A cancelled job stays the first in the queue.
                if not self.held:
                    self.jobs.popleft()

    def hold(self) -> None:
        """Cancel the running job, and join the thread."""
        with self.lock:
            self.held = True
            thread = self.thread
            self.urged.set()
        for _ in range(TRIES):
            if thread is None or not thread.is_alive() or thread is threading.current_thread():
                break
            # Again and again: it may have been just about to start its compiler.
            processes.stop(thread.ident or 0)
            thread.join(PAUSE)

    def end(self) -> None:
        self.over = True
        self.hold()

    def resume(self) -> None:
        self.held = self.over
        self.urged.clear()
        self.start()

    def renew(self) -> None:
        """Begin a child process: its parent's thread and locks do not exist here."""
        self.lock = threading.Lock()
        self.thread = None
        self.held = False
        calls.now.clear()
        self.urged = threading.Event()


_worker = _Worker()


def submit(job: Job) -> None:
    """Have something done in the background, after what was submitted before.

    Parameters
    ----------
    job : Job
        Raises nothing. It may be called again when it was cancelled, which
        :func:`broken_off` tells it.
    """
    _worker.add(job)


def busy() -> bool:
    """Whether there is a job that is not done, so that a further one starts no thread."""
    return _worker.runs() and not _worker.held


def broken_off() -> bool:
    """Whether a failed job was cancelled and will be done later."""
    return _worker.held


def urge() -> bool:
    """Begin with the jobs at once; tell whether they will be done, which takes a thread to be had."""
    with _worker.lock:
        if _worker.jobs:
            _worker.urged.set()
    _worker.start()
    return _worker.runs() or _worker.held or not _worker.jobs


def ended() -> bool:
    """Whether the process is about to end, so that nothing more will be done."""
    return _worker.over


os.register_at_fork(before=_worker.hold, after_in_parent=_worker.resume, after_in_child=_worker.renew)
atexit.register(_worker.end)
