"""Jobs in the background go behind calls that work on formulas, unless somebody waits for them."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import symdiff as sd
from symdiff.ground.budget import budgeted, calls
from symdiff.runtime.toolchain import processes as background
from tests.support.waiting import until


class Job:
    """A job that tells when it is done."""

    def __init__(self) -> None:
        self.done = threading.Event()

    def __call__(self) -> None:
        self.done.set()

    def is_wanted(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have a moment last longer than any test, so that nothing hangs on how fast a machine is."""
    monkeypatch.setattr(background, "MOMENT", 600.0)
    monkeypatch.setattr(background, "LONGEST", 600.0)
    yield
    background._worker.hold()
    background._worker.jobs.clear()
    calls.done = 0.0
    background._worker.resume()


def test_a_job_waits_for_a_call_and_a_moment_longer() -> None:
    job = Job()

    @budgeted
    def works() -> None:
        background.submit(job)
        assert not job.done.wait(0.1)

    works()
    assert not job.done.wait(0.1)
    assert background.busy()
    background.urge()
    assert job.done.wait(60)


def test_a_call_that_takes_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "LONGEST", 0.05)
    first, second = Job(), Job()

    @budgeted
    def works() -> None:
        background.submit(first)
        assert first.done.wait(60)

    works()
    background.submit(second)
    background.urge()
    assert second.done.wait(60)
    assert not calls.now


def test_a_call_that_fails_is_done() -> None:
    @budgeted
    def works() -> None:
        raise sd.ShapeError("a vector came; expected a matrix")

    with pytest.raises(sd.ShapeError, match="a vector came"):
        works()
    assert not calls.now


def test_whoever_waits_for_native_code_does_not_wait_for_the_moment() -> None:
    x = sd.vector("x", 3)
    kernel = sd.compile((sd.sin(x) * 1.0625).sum(), [x])
    before = kernel(np.arange(3.0))
    assert kernel.stats["building"]
    assert kernel.wait(300)
    assert kernel.backend == "c"
    assert kernel(np.arange(3.0)) == before


def test_no_thread_is_left_when_there_is_nothing_to_build(monkeypatch: pytest.MonkeyPatch) -> None:
    class Last(Job):
        def __call__(self) -> None:
            calls.done = float("inf")  # a next job would wait
            super().__call__()

    monkeypatch.setattr(background, "MOMENT", 0.0)
    job = Last()
    background.submit(job)
    until(lambda: job.done.is_set() and not background.busy())


def test_a_waiting_thread_ends_before_a_fork() -> None:
    calls.done = float("inf")
    background.submit(Job())
    thread = background._worker.thread
    assert thread is not None
    background._worker.hold()
    assert not thread.is_alive()


@pytest.mark.parametrize("begun", [False, True])
def test_an_interrupt_within_the_start_of_the_thread_leaves_one_that_works(
    begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the interrupt leaves, each job is done once: a thread that nobody knows takes none."""
    monkeypatch.setattr(background, "MOMENT", 0.0)
    start = threading.Thread.start
    count = [0]

    def interrupted(self: threading.Thread) -> None:
        count[0] += 1
        if count[0] == 1:
            if begun:
                start(self)
            raise KeyboardInterrupt
        start(self)

    class Counted(Job):
        times = 0

        def __call__(self) -> None:
            self.times += 1
            super().__call__()

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    failed: list[object] = []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    jobs = [Counted() for _ in range(20)]
    with pytest.raises(KeyboardInterrupt):
        background.submit(jobs[0])
    for job in jobs[1:]:
        background.submit(job)
    assert background.urge()
    assert all(job.done.wait(60) for job in jobs)
    until(lambda: not background.busy())
    assert [job.times for job in jobs] == [1] * len(jobs)
    assert not failed


def test_a_thread_that_nobody_knows_takes_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "MOMENT", 0.0)
    job = Job()
    monkeypatch.setattr(background._worker, "start", lambda: None)
    background.submit(job)
    stray = threading.Thread(target=background._worker.work)
    stray.start()
    stray.join(60)
    assert not stray.is_alive()
    assert not job.done.is_set()
