"""Interfaces of runners, as kernels use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt

from ..._kernels.plan.executor import Plan
from ..._kernels.unit import NativeCall
from ...lowering.program import Program

__all__ = ["Changing", "Planned", "Runner", "UnitRunner"]


class Runner(Protocol):
    """Runner of one kernel."""

    def source(self) -> str:
        """Return the source of what runs."""

    def run(self, inputs: Sequence[npt.NDArray[Any]], outs: Sequence[npt.NDArray[Any]], reduce: bool) -> None:
        """Compute all samples: ``inputs`` of shape (N, ...) or (1, ...), ``outs`` (N, ...), or (1, ...) summed."""


@runtime_checkable
class UnitRunner(Protocol):
    """A runner of units, which calls reach without Python on the way."""

    program: Program

    def bind(self, install: Callable[[NativeCall], None], reduce: bool) -> None:
        """Hand every unit there is, and each later one as soon as it is there, to ``install``."""

    def run(
        self,
        inputs: Sequence[npt.NDArray[Any]],
        outs: Sequence[npt.NDArray[Any]],
        reduce: bool,
        batch: tuple[int, ...] | None = None,
        threads: int = 1,
    ) -> None:
        """Compute all samples of a batch of any shape; its axes stand in front, those of length 1 broadcast."""


class Planned(Protocol):
    """Planner of a kernel's calls, by the inputs that have the batch.

    Attributes
    ----------
    serves_alone : bool
        Whether a plan serves calls of one sample.
    """

    serves_alone: bool

    @property
    def backend(self) -> str:
        """Backend of the programs of its plans now."""

    def run(
        self,
        inputs: Sequence[npt.NDArray[Any]],
        outs: Sequence[npt.NDArray[Any]],
        reduce: bool,
        batched: tuple[bool, ...] | None = None,
    ) -> None:
        """Compute all samples, as a runner does; ``batched`` says which inputs have the batch."""

    def lines(self) -> Iterator[str]:
        """Give the steps of each plan."""

    def programs(self) -> list[tuple[Program, str]]:
        """Return every program with its C text."""

    def entry(
        self, batched: tuple[bool, ...], shapes: Sequence[tuple[int, ...]], single: bool
    ) -> tuple[Plan | None, int] | None:
        """Return the bound plan of a call and which input has the axis of tiles; None where there is no plan.

        In place of the bound plan stands None where the kernel's units are as good.
        """

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is being built; tell whether that is so."""

    @property
    def arena_bytes(self) -> int:
        """Bytes of the arrays between the steps of a call."""


@runtime_checkable
class Changing(Protocol):
    """A runner that makes room for a faster one while the kernel is in use."""

    @property
    def backend(self) -> str:
        """Name of the backend that serves now."""

    @property
    def stats(self) -> Mapping[str, Any]:
        """State of the builds, and their errors."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until no change is under way; tell whether that is so."""
