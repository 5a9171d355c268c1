"""What the embedded interpreter runs, as data."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Bytecode"]


class Bytecode(NamedTuple):
    """Code for the interpreter.

    Parameters
    ----------
    code : tuple of int
        Instructions: an opcode, then operands. Operands are distances in bytes from the
        workspace, or below 0 from the end of the numbers; those of the form "k", from the
        beginning of the vectors.
    numbers : tuple of float
        Constants read as tiles, the last one first in memory: number ``k`` is ``k + 1`` tiles
        before the end.
    vectors : tuple of float
        Constants read as one vector.
    rows : tuple of float
        Rows of eight constants that are stored as they are, one after another.
    functions : tuple of str
        Functions called, by their names in the vector library or among our own, or the operation's
        own name where both lack them.
    checks : tuple of int
        Operands that must not be zero.
    lanes : int
        Numbers in one vector.
    workspace : int
        Bytes.
    """

    code: tuple[int, ...]
    numbers: tuple[float, ...]
    vectors: tuple[float, ...]
    rows: tuple[float, ...]
    functions: tuple[str, ...]
    checks: tuple[int, ...]
    lanes: int
    workspace: int
