"""How a kernel is called and treats batches, as ``compile`` was told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Literal, TypeAlias

from ..errors import ArgumentError
from .groups import Groups

__all__ = ["BUILD_SECONDS", "Backend", "Options"]

#: What may run a kernel; "auto" answers from the interpreter until native code is built.
Backend: TypeAlias = Literal["auto", "native", "interpreter", "numpy", "cython"]

#: Seconds that building native code in the background may take, unless ``build_seconds=`` says otherwise: enough for
#: some 10⁵ operations on one core.
BUILD_SECONDS = 60.0


@dataclass(frozen=True)
class Options:
    """How a kernel is called and treats batches.

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
    build_seconds : float, optional
        Seconds that the compiler may take for a program; None for :data:`BUILD_SECONDS` in the background, and for
        no bound where native code is asked for.
    groups : Groups, optional
        Which inputs one argument holds together; None where each is an argument of its own.
    nonfinite : {"keep", "raise"}
        Return results that are nan or infinite, or raise an error that says where they come from.
    validate : bool
        Whether matrices that are declared definite or orthogonal are looked at in each call.
    reproducible : bool
        Whether a sample's bits depend on the sample, and on which inputs are shared, alone.

    Raises
    ------
    ArgumentError
        If ``build_seconds`` is no number of seconds.
    """

    batch: frozenset[str] | None = None
    reduce: str | None = None
    batch_axis: int = 0
    threads: int | None = None
    accuracy: str = "default"
    build_seconds: float | None = None
    groups: Groups | None = None
    nonfinite: str = "keep"
    validate: bool = False
    reproducible: bool = False

    def __post_init__(self) -> None:
        seconds = self.build_seconds
        known = isinstance(seconds, Real) and not isinstance(seconds, bool) and not math.isnan(seconds)
        if seconds is not None and not (known and seconds >= 0):
            raise ArgumentError(f"build_seconds={seconds!r}; expected a number of seconds from 0 on, or None")
        if not isinstance(self.validate, bool):
            raise ArgumentError(f"validate={self.validate!r:.60}; expected True or False")
        if not isinstance(self.reproducible, bool):
            raise ArgumentError(f"reproducible={self.reproducible!r:.60}; expected True or False")

    def build_limit(self, *, background: bool) -> float:
        """Return the seconds that the compiler may take for a program."""
        if self.build_seconds is not None:
            return float(self.build_seconds)
        return BUILD_SECONDS if background else math.inf

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
