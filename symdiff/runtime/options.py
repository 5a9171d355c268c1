"""How a kernel treats batches, as ``compile`` was told."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """How a kernel treats batches.

    Parameters
    ----------
    batch : frozenset of str, optional
        Names of the inputs that may have batch axes; None for all.
    reduce : {None, "sum"}
        Sum each output over the batch.
    batch_axis : {0, -1}
        Batch axes before a sample's own axes, or behind them.
    threads : int, optional
        Threads of one call, at most; None for the number in force when it is called.
    accuracy : {"default", "high"}
        The vector library's functions, or libm's.
    """

    batch: frozenset[str] | None = None
    reduce: str | None = None
    batch_axis: int = 0
    threads: int | None = None
    accuracy: str = "default"

    def is_batched(self, name: str) -> bool:
        """Tell whether an input may have batch axes."""
        return self.batch is None or name in self.batch

    @property
    def is_reduced(self) -> bool:
        """Whether each output is summed over the batch."""
        return self.reduce is not None

    @property
    def in_columns(self) -> bool:
        """Whether batch axes stand behind a sample's own."""
        return self.batch_axis == -1
