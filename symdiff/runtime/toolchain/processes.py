"""Compilers run as child processes, none of which outlives this process.

A build may be under way when the interpreter ends, and a process may also end without a word
(killed, or by a signal nobody handles). So each compiler runs under a shell that reads from a
pipe; the other end is held here alone, and when it closes, whoever closed it, the shell kills
its whole group of processes.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import subprocess
    from concurrent.futures import Future

__all__ = ["StoppedError", "run", "stop", "uninterrupted"]

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
