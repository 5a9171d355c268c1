"""The machine that C is written for, known without what writes it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Target"]


class Target(NamedTuple):
    """The vector length and functions of a machine, as generated code may use them.

    Parameters
    ----------
    lanes : int
        Doubles in one vector register: 2, 4 or 8.
    prefix : str
        First part of the vector library's names for this instruction set ("_ZGVe"), or "".
    vector_math : frozenset of str
        The vector library's functions that were found.
    """

    lanes: int = 2
    prefix: str = ""
    vector_math: frozenset[str] = frozenset()
