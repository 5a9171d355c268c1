"""Bytecode as data, which the embedded interpreter runs."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Bytecode"]


class Bytecode(NamedTuple):
    """Code for the interpreter.

    Parameters
    ----------
    code : array of int
        Instructions: an opcode, then operands. Operands are distances in bytes from the
        workspace, or below 0 from the end of the numbers; those of the form "k", from the
        beginning of the vectors.
    numbers : sequence of float
        Constants read as tiles, the last one first in memory: number ``k`` is ``k + 1`` tiles
        before the end.
    vectors : sequence of float
        Constants read as one vector.
    rows : sequence of float
        Rows of eight constants that are stored as they are, one after another.
    functions : sequence of str
        Functions called, by their names in the vector library or among our own, or the operation's
        own name where both lack them.
    checks : sequence of int
        Operands that must not be zero.
    lanes : int
        Numbers in one vector.
    workspace : int
        Bytes.
    """

    code: array[int]
    numbers: Sequence[float]
    vectors: Sequence[float]
    rows: Sequence[float]
    functions: Sequence[str]
    checks: Sequence[int]
    lanes: int
    workspace: int
