"""One way of timing for everything: warm, repeat, and report the median."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Seconds of repeated calls.

    Parameters
    ----------
    median, least : float
    calls : int
        How many were timed.
    """

    median: float
    least: float
    calls: int


def measure(call: Callable[[], object], seconds: float = 0.5, fewest: int = 5, most: int = 20_000) -> Timing:
    """Call again and again for some seconds, at least ``fewest`` times."""
    call()
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while len(taken) < fewest or (len(taken) < most and time.perf_counter() < end):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return Timing(statistics.median(taken), min(taken), len(taken))
