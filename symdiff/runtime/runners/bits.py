"""What a plan leaves to libraries, whose bits are not symdiff's own.

LAPACK and NumPy may give a sample other bits beside other samples, with other numbers of threads and in other versions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from ..._kernels.matrix.batches import MOST, MOST_EIGENVALUES, MOST_EIGENVECTORS, USUAL
from ...errors import UnsupportedError
from ...graph import Node
from ...graph.sizes import value
from ...lowering.plan.plan import Plan
from ...lowering.plan.steps import Call, MatrixFunction, Routine, nested

__all__ = ["bits_of", "refuse_others"]


def bits_of(plan: Plan, *, reproducible: bool) -> str:
    """Return what the bits of a sample depend on, as :attr:`symdiff.Kernel.stats` tells it."""
    if reproducible:
        return "sample"
    return "library" if any(rows is None or rows > USUAL for rows, _ in _others(plan, None)) else "sharing"


def refuse_others(plan: Plan, sizes: Mapping[str, int] | None = None) -> None:
    """Refuse a plan of which a library computes a part even if it is to be reproducible.

    Parameters
    ----------
    plan : Plan
    sizes : mapping of str to int, optional
        Numbers of letters; without them matrices of such sizes are let pass.

    Raises
    ------
    UnsupportedError
    """
    for rows, what in _others(plan, sizes):
        if rows is None or (rows > MOST and (sizes is not None or rows < math.inf)):
            raise UnsupportedError(
                f"reproducible=True, and a part of this formula is computed by a library: {what}; compile without it"
            )


def _others(plan: Plan, sizes: Mapping[str, int] | None) -> Iterator[tuple[float | None, str]]:
    """Yield the steps that a library runs: from how many rows on, None for any number, and what the step is."""
    for step in nested(plan.steps):
        if isinstance(step, Call):
            yield None, f"{step.formula.op} by NumPy"
        elif isinstance(step, Routine) and step.op == "spectrum":
            count = _rows(step.operands[0], sizes)
            if count > (MOST_EIGENVALUES if step.made[1] is None else MOST_EIGENVECTORS):
                yield count if count == math.inf else None, "eigenvalues by LAPACK"
        elif isinstance(step, MatrixFunction):
            what = f"{step.op} of matrices of {step.matrix.shape[-1]} rows by LAPACK"
            yield _rows(step.matrix, sizes), what


def _rows(matrix: Node, sizes: Mapping[str, int] | None) -> float:
    """Return the rows of a matrix, of which letters have no number yet."""
    rows = matrix.shape[-1]
    return rows if isinstance(rows, int) else math.inf if sizes is None else value(rows, sizes)
