"""Progress of a long call, told on standard error where that was asked for: a bar on a terminal, else a line a stage.

A public call opens the report (:class:`reported`), and every stage that it runs says when it begins. The report
belongs to the context of its call, as traces do; without one, saying so looks at one context variable.
"""

from __future__ import annotations

import sys
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING

from .._kernels.system.scopes import Bound

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["begin", "note", "parts", "reported"]


class _Report:
    """The stages of one call so far."""

    def __init__(self, stages: int) -> None:
        self.stages = stages
        self.done = 0
        self.start = self.began = time.perf_counter()
        self.stage = ""
        self.notes: list[str] = []
        self.bar: Progress | None = None
        self.task: TaskID
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
            self.bar = Progress(*columns, console=Console(stderr=True), refresh_per_second=4, transient=True)
            self.task = self.bar.add_task("compile", total=stages)
            self.bar.start()

    def begin(self, stage: str) -> None:
        self.end()
        self.stage, self.began = stage, time.perf_counter()
        if self.bar is not None:
            self.bar.update(self.task, description=stage, completed=self.done)

    def parts(self, done: int, total: int) -> None:
        if self.bar is not None:
            said = f"{self.stage}: {done} of {total} parts"
            self.bar.update(self.task, description=said, completed=self.done + done / total)

    def end(self) -> None:
        """Say what the stage took that is over now."""
        if self.stage:
            self.done = min(self.done + 1, self.stages)
            self.say(self.stage, time.perf_counter() - self.began)
        self.stage, self.notes = "", []

    def say(self, what: str, seconds: float) -> None:
        if self.bar is None:
            print(f"symdiff: {what}: {', '.join([*self.notes, _time(seconds)])}", file=sys.stderr)

    def close(self) -> None:
        self.end()
        if self.bar is not None:
            self.bar.stop()
        self.say("compiled", time.perf_counter() - self.start)


_current: ContextVar[_Report | None] = ContextVar("symdiff_report", default=None)


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


class reported(Bound[_Report | None]):  # noqa: N801 (it is used as a function is)
    """Tell how far the block is.

    Parameters
    ----------
    wanted : bool
    stages : int
        How many there are, about.
    """

    def __init__(self, wanted: bool, stages: int) -> None:
        report = _Report(stages) if wanted and _current.get() is None else None
        super().__init__(_current, report, report is not None)

    def left(self, error: BaseException | None) -> None:
        """Say what all of it took."""
        if self.value is not None:
            self.value.close()


def begin(stage: str) -> None:
    """Say that a stage begins, and the one before is over."""
    report = _current.get()
    if report is not None:
        report.begin(stage)


def note(text: str) -> None:
    """Add a count to what is said of the stage."""
    report = _current.get()
    if report is not None:
        report.notes.append(text)


def parts(done: int, total: int) -> None:
    """Say how many parts of the stage are done."""
    report = _current.get()
    if report is not None:
        report.parts(done, total)
