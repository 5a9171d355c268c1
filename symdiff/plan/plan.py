"""The plan of a formula: steps over whole arrays, in an order in which they can run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..graph import Node
from ..lower.dump import Listed
from .cost import Estimate, estimate
from .dump import plan_lines
from .loops.access import BATCH, Check, NoLoopError
from .steps import LoopStep, Step, is_tiled, nested, sources

__all__ = ["Plan", "check_phases"]


@dataclass(frozen=True, repr=False)
class Plan(Listed):
    """Steps that compute a formula.

    Parameters
    ----------
    inputs, outputs : tuple of Node
        Of the whole; outputs are results of steps, inputs or constants.
    steps : tuple of Step
    checks : tuple of Check
        Slices to be checked when sizes are known.
    """

    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    steps: tuple[Step, ...]
    checks: tuple[Check, ...]

    @property
    def is_cut(self) -> bool:
        """Whether a loop has several pieces, whose order counts on sizes not being small."""
        return any(isinstance(step, LoopStep) and len(step.pieces) > 1 for step in nested(self.steps))

    @property
    def estimate(self) -> Estimate:
        """What all steps take, with nominal numbers for letters."""
        each = [estimate(step) for step in self.steps]
        return Estimate(sum(one.once for one in each), sum(one.sample for one in each))

    def lines(self) -> Iterator[str]:
        """Give each step, with the program of an element."""
        return plan_lines(self.inputs, self.outputs, self.steps, self.checks)


def check_phases(steps: Sequence[Step]) -> None:
    """Refuse steps of a tile that read what is known after all tiles: a tile is gone through once.

    Raises
    ------
    NoLoopError
        If there is one.
    """
    late: set[Node] = set()
    for step in steps:
        tiled = is_tiled(step)
        if any(BATCH in node.shape[1:] for node in step.results):
            raise NoLoopError("the axis of tiles is not the first of an array")
        reads_late = not late.isdisjoint(sources(step))
        if tiled and reads_late:
            raise NoLoopError("a step of tiles reads what all tiles give")
        if reads_late or (tiled and not any(BATCH in node.shape for node in step.results)):
            late.update(step.results)
