"""The forms of instructions: which one an operation is whose operands are in registers, in memory or numbers."""

from __future__ import annotations

from functools import cache

from ..._kernels.interpreter import OPCODES
from .select import ABLE, ACCUMULATOR

__all__ = ["form_of"]

#: Operations whose two operands may change places.
_SYMMETRIC = frozenset(("add", "multiply"))
#: Operations that have instructions for operands of every kind.
_ARITHMETIC = frozenset(("add", "subtract", "multiply", "divide"))


@cache
def form_of(name: str, kinds: str, same: tuple[int, ...]) -> tuple[int, tuple[tuple[int, bool], ...]]:
    """Return the instruction for an operation on operands of some kinds.

    Parameters
    ----------
    name : str
        The operation, or two in one.
    kinds : str
        Where each operand is: in the accumulator, in a register, in memory ("m"), or a number ("n").
    same : tuple of int
        For each operand the first one that is the same; empty where all differ.

    Returns
    -------
    opcode : int
    operands : tuple of (int, bool)
        Those that are words of the instruction, in its order, and whether they are read among the vectors.
    """
    operands: list[tuple[str, int]] = []
    for i, kind in enumerate(kinds):
        able = i == 2 if name == "fma" else name in ABLE and "k" not in _form(operands)
        operands.append(("k" if kind == "n" and able else "m" if kind == "n" else kind, i))
    outer, _, inner = name.partition("_")
    if outer in _ARITHMETIC and inner:
        pair = [operand for operand in operands if operand[0] != "a"]
        if inner in _SYMMETRIC:
            pair.sort(key=_by_kind)
        first = outer in _SYMMETRIC or operands[0][0] == "a"
        operands = [("a", ACCUMULATOR), *pair] if first else [*pair, ("a", ACCUMULATOR)]
    elif name in _SYMMETRIC:
        operands.sort(key=_by_kind)
    for k in range(1, len(operands)):
        (kind, i), (before, j) = operands[k], operands[k - 1]
        again = bool(same) and kind == before == "m" and same[i] == same[j]
        if again and f"{name}_{_form(operands[:k])}s{_form(operands[k + 1 :])}" in OPCODES:
            operands[k] = "s", ACCUMULATOR
    order = tuple([(i, kind == "k") for kind, i in operands if kind in "mk"])
    return OPCODES[f"{name}_{_form(operands)}"], order


def _by_kind(operand: tuple[str, int]) -> int:
    return "ambck".index(operand[0])


def _form(operands: list[tuple[str, int]]) -> str:
    return "".join([kind for kind, _ in operands])
