"""Find the sines and cosines of one angle, which one function computes together.

Derivatives have both of nearly every angle. Whichever of the two comes first in the program computes them, so the
order of other operations does not change; the bits are those of either function alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...lowering.program import Program

__all__ = ["sines_and_cosines", "together"]


def sines_and_cosines(program: Program, near: Callable[[int, int], bool] = lambda i, j: True) -> dict[int, int]:
    """Return the second value of each pair by its first.

    Parameters
    ----------
    program : Program
    near : callable, optional
        Whether two values may be computed at one place.
    """
    first: dict[int, int] = {}
    pairs: dict[int, int] = {}
    for i, op in enumerate(program.ops):
        if op in ("sin", "cos"):
            other = first.setdefault(program.args[i][0], i)
            if other not in pairs and program.ops[other] != op and near(other, i):
                pairs[other] = i
    return pairs


def together(program: Program, pair: tuple[int, int], names: Sequence[str], otherwise: Mapping[int, str]) -> str:
    """Print both values of a pair.

    Parameters
    ----------
    program : Program
    pair : tuple of int
        The two values, the first one first.
    names : sequence of str
        What values are called, by their numbers.
    otherwise : mapping of int to str
        What both are where the second of two vectors is the first once more; empty for a first vector.
    """
    sine, cosine = sorted(pair, key=lambda i: program.ops[i] == "cos")
    starts = [f"{names[i]}={otherwise[i]}" if otherwise else names[i] for i in (sine, cosine)]
    call = f"{names[sine]}=do_sin_cos({names[program.args[sine][0]]},&{names[cosine]});"
    return f"V {','.join(starts)};{'if(j!=i)' if otherwise else ''}{call}"
