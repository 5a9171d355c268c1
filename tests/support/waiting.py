"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(condition: Callable[[], bool], seconds: int = 30) -> None:
    """Wait for a condition, and fail where it does not come to hold."""
    for _ in range(100 * seconds):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come to pass")
