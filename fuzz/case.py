"""What the kinds have in common: cases, which are plain data, and how they are drawn, run and made smaller."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

#: Plain data (numbers, text, bytes, lists, tuples, dicts): it is sent to a worker and printed.
Case = Any


@dataclass(frozen=True)
class Kind:
    """One kind of case.

    Parameters
    ----------
    name : str
    draw : callable
        Makes a case from random numbers.
    run : callable
        Returns what is wrong in a few words, or "". Exceptions are findings as well.
    smaller : callable
        Gives cases that are simpler, the simplest first.
    seconds : float
        What a case may take.
    megabytes : int
        Memory that the worker may take.
    """

    name: str
    draw: Callable[[random.Random], Case]
    run: Callable[[Case], str]
    smaller: Callable[[Case], Iterator[Case]]
    seconds: float = 10.0
    megabytes: int = 4096


def case_of(kind: Kind, seed: int, number: int) -> Case:
    """Return case ``number`` of a seed: the same at any time and on any machine."""
    return kind.draw(random.Random(f"{kind.name} {seed} {number}"))


def shorter(text: str) -> Iterator[str]:
    """Give ``text`` without some of its characters, large pieces first."""
    size = len(text) // 2
    while size:
        for start in range(0, len(text), size):
            yield text[:start] + text[start + size :]
        size //= 2
