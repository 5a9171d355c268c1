"""Processes that run cases within limits; what takes too long or dies is a finding.

A worker serves one kind. It gets a case, answers with what is wrong, and is killed and replaced
when the answer does not come in time.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType

from .case import Case, Kind

#: Seconds that a worker may take to begin, on a busy machine.
_BEGIN = 120.0


class Worker:
    """A process that runs the cases of one kind, one after the other; replaced when it is lost."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(self.kind.run, self.kind.megabytes, there), daemon=True)
        self._process.start()
        there.close()
        if not self._here.poll(_BEGIN):
            raise RuntimeError("a worker did not begin")
        self._here.recv()

    def run(self, case: Case) -> str:
        """Return what is wrong with a case, or ""."""
        self._here.send(case)
        try:
            if self._here.poll(self.kind.seconds):
                answer: str = self._here.recv()
                return answer
            found = f"no end within {self.kind.seconds:.3g} seconds"
        except EOFError:
            self._process.join(60)
            status = self._process.exitcode
            named = status is not None and status < 0 and -status in {*signal.Signals}
            found = f"the process died ({signal.Signals(-status).name if named and status else status})"
        self.stop()
        self._start()
        return found

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._here.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _serve(run: Callable[[Case], str], megabytes: int, there: Connection) -> None:
    _limit(megabytes)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.chdir(folder)
        with contextlib.redirect_stderr(nowhere), contextlib.suppress(EOFError, KeyboardInterrupt):
            there.send("")
            while True:
                there.send(outcome(run, there.recv()))


def _limit(megabytes: int) -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on this system, or a lower limit already
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 2**20,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def outcome(run: Callable[[Case], str], case: Case) -> str:
    """Run a case in this process; an exception is told by its kind and place."""
    try:
        return run(case)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        lines = str(error).splitlines() or [""]
        return f"{type(error).__name__}: {lines[0]:.300} ({os.path.basename(place.filename)}:{place.lineno})"
