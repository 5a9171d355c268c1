"""Builds in the background by one worker thread, and compilers as child processes that end with this process.

The thread must not hinder its process. A job is Python code for a while, which takes turns with that of public calls,
so it begins when none has derived or compiled a formula for a moment, unless somebody waits for it. At exit, the
running compiler is killed and the thread joined. A fork does the same first, because a copy of a process with a second
thread may find locks held for ever; the build restarts afterwards in the parent, and in a child on demand.

A build may be under way when the interpreter ends, and a process may also end without a word
(killed, or by a signal nobody handles). So each compiler runs under a shell that reads from a
pipe; the other end is held here alone, and when it closes, whoever closed it, the shell kills
its whole group of processes.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from ...ground.budget import calls

if TYPE_CHECKING:
    import subprocess
    from concurrent.futures import Future

__all__ = ["Job", "StoppedError", "broken_off", "busy", "ended", "run", "stop", "submit", "uninterrupted", "urge"]


Result = TypeVar("Result")

# The watcher waits for the pipe's end; the command itself reads nothing. When it ends, so does
# what it left in the background, which would keep what we listen to open. A status above 128
# says that the command was ended by a signal.
_SCRIPT = """
exec 3<&0 </dev/null
(read -r _ <&3; kill -9 0) >/dev/null 2>&1 &
exec 3<&-
"$@"
status=$?
trap "" TERM
kill 0
exit $status
"""

#: By the thread that waits for it; what was stopped is not there any more.
_running: dict[int, subprocess.Popen[bytes]] = {}


class StoppedError(Exception):
    """A command was killed because :func:`stop` was called; this says nothing about the command."""


def run(
    command: Sequence[str], *, folder: Path | None, environment: Mapping[str, str], timeout: float | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command that reads nothing, and keep what it writes.

    Parameters
    ----------
    command : sequence of str
        An absolute path, and arguments.
    folder : Path or None
        Where it runs.
    environment : mapping of str to str
    timeout : float, optional
        Seconds after which it is killed.

    Raises
    ------
    OSError
        When it cannot be run.
    subprocess.TimeoutExpired
        When it took longer.
    StoppedError
        When another thread stopped it, or a signal the caller.
    """
    return uninterrupted(lambda: _run(command, folder, environment, timeout))


def uninterrupted(work: Callable[[], Result]) -> Result:
    """Return the result of work that is stopped, and never interrupted, by a signal.

    Python calls the handlers of signals in the main thread, between any two of its steps: also between the start of a
    child and the note of it, or while a folder is removed. So the main thread has the work done by another one. When a
    handler raises, the child of the other thread is killed, and the exception goes on when that thread has cleaned up.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    from concurrent.futures import Future

    outcome: Future[Result] = Future()
    thread = threading.Thread(target=_fulfil, args=(outcome, work), daemon=True)
    try:
        thread.start()
        return outcome.result()
    finally:
        if not outcome.cancel():
            while not outcome.done():
                stop(thread.ident or 0)  # again and again: its child may start only now
                time.sleep(0.001)


def _fulfil(outcome: Future[Result], work: Callable[[], Result]) -> None:
    if not outcome.set_running_or_notify_cancel():
        return
    try:
        outcome.set_result(work())
    except BaseException as error:
        outcome.set_exception(error)


def _run(
    command: Sequence[str], folder: Path | None, environment: Mapping[str, str], timeout: float | None
) -> subprocess.CompletedProcess[bytes]:
    import subprocess

    if not os.access(command[0], os.X_OK):
        raise PermissionError(f"{command[0]} is no program that may be run")
    child = subprocess.Popen(
        ["/bin/sh", "-c", _SCRIPT, "sh", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment,
        process_group=0,
    )
    me = threading.get_ident()
    _running[me] = child
    try:
        said, complained = _listen(child, timeout)
    finally:
        stopped = _running.pop(me, None) is None
        _end(child)
    if stopped:
        raise StoppedError(f"{command[0]} was stopped")
    status = child.returncode
    return subprocess.CompletedProcess(command, 128 - status if status > 128 else status, said, complained)


def _listen(child: subprocess.Popen[bytes], timeout: float | None) -> tuple[bytes, bytes]:
    """Read what a child writes until it ends; its input stays open for as long."""
    guard, child.stdin = child.stdin, None
    try:
        return child.communicate(timeout=timeout)
    finally:
        if guard is not None:
            guard.close()


def stop(thread: int) -> None:
    """Kill what a thread is running, with everything that started in turn."""
    child = _running.pop(thread, None)
    if child is not None and child.returncode is None:
        _kill(child)


def _kill(child: subprocess.Popen[bytes]) -> None:
    import signal

    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        _kill(child)
        child.wait()
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()


# A forked process has no part in what its parent was running.
os.register_at_fork(after_in_child=_running.clear)


class Job(Protocol):
    """A build to be done in the background."""

    def __call__(self) -> None:
        """Build, or return at once if the result is not needed any more."""

    def is_wanted(self) -> bool:
        """Tell if the result is needed."""


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
            stop(thread.ident or 0)
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
    """Tell if there is a job that is not done, so that a further one starts no thread."""
    return _worker.runs() and not _worker.held


def broken_off() -> bool:
    """Tell if a failed job was cancelled and will be done later."""
    return _worker.held


def urge() -> bool:
    """Begin with the jobs at once; tell whether they will be done, which takes a thread to be had."""
    with _worker.lock:
        if _worker.jobs:
            _worker.urged.set()
    _worker.start()
    return _worker.runs() or _worker.held or not _worker.jobs


def ended() -> bool:
    """Tell if the process is about to end, so that nothing more will be done."""
    return _worker.over


os.register_at_fork(before=_worker.hold, after_in_parent=_worker.resume, after_in_child=_worker.renew)
atexit.register(_worker.end)
