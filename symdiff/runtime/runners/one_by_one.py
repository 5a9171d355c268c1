"""Samples of a batch that are computed one after the other, each as if it were alone, or several at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..._kernels.plan.executor import Plan as Executor
from ...errors import SingularMatrixError, UnsupportedError
from ...graph import Node
from ...lowering.plan.calls import plan_together
from ...lowering.plan.steps import Call, nested
from .numpy import NumpyRunner
from .pattern import Kind, Pattern

__all__ = ["SEVERAL", "Sampled", "Together", "by_numpy", "one_by_one"]

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
#: Computes the sample of a number into arrays of one sample each.
Sampled: TypeAlias = Callable[[int, list[Floats]], None]
#: Samples of a loop from which on they are computed together, how many at once, and bytes of what is kept of them.
SEVERAL, AT_ONCE, ROOM = 8, 1024, 1 << 24


def one_by_one(compute: Sampled, outs: Sequence[Floats], count: int, total: bool, dtype: Any = None) -> None:
    """Fill results of a batch, or their sums where ``total``.

    Parameters
    ----------
    compute : callable
    outs : sequence of ndarray, shape (N, ...), or (1, ...) for sums
    count : int
        Samples.
    total : bool
    dtype : dtype, optional
        Of the arrays that are computed into; by default that of the results.

    Raises
    ------
    SingularMatrixError
        With the index of the sample that has such a matrix.
    """
    totals = [np.zeros(out.shape) for out in outs] if total else []
    for k in range(count):
        results = [np.empty((1, *out.shape[1:]), dtype or out.dtype) for out in outs]
        try:
            compute(k, results)
        except SingularMatrixError as error:
            raise SingularMatrixError(str(error), (k,)) from None
        for place, result in enumerate(results):
            if total:
                totals[place] += result
            else:
                outs[place][k : k + 1] = result
    for out, whole in zip(outs, totals, strict=False):
        out[...] = whole


class Together:
    """Computes several samples of a loop at once: they become an axis of one sample, over which each step runs.

    Parameters
    ----------
    inputs, outputs : sequence of Node
        The formula of one sample.
    kind : type
        What runs scalar programs.
    options : mapping
        Of the runner of plans.
    """

    def __init__(
        self, inputs: Sequence[Node], outputs: Sequence[Node], kind: Kind, options: Mapping[str, Any]
    ) -> None:
        self.inputs, self.outputs, self.kind, self.options = inputs, outputs, kind, options
        #: For each way of sharing inputs; None where there is no plan.
        self.patterns: dict[tuple[bool, ...], Pattern | None] = {}

    def _pattern(self, batched: tuple[bool, ...]) -> Pattern | None:
        if batched not in self.patterns:
            made, options = None, self.options
            with suppress(UnsupportedError):
                plan = plan_together(self.inputs, self.outputs, batched, options["limit"], total=options["reduce"])
                if not any(isinstance(step, Call) for step in nested(plan.steps)):
                    made = Pattern(plan, self.kind, options["accuracy"], options["build_limit"])
            self.patterns.setdefault(batched, made)
        return self.patterns[batched]

    def run(
        self, given: Sequence[Floats], outs: Sequence[Floats], batched: tuple[bool, ...], single: bool, threads: int
    ) -> bool:
        """Fill results of a batch, or their sums; tell whether that could be.

        Parameters
        ----------
        given : sequence of ndarray, shape (N, ...), or (...) of what samples share
        outs : sequence of ndarray, shape (N, ...), or (1, ...) for sums
        batched : sequence of bool
            Which inputs have the batch.
        single : bool
            Whether the call computes with float32.
        threads : int
        """
        pattern = self._pattern(batched)
        if pattern is None:
            return False
        count = next(len(array) for array, has in zip(given, batched, strict=True) if has)

        def bound(first: int, end: int) -> tuple[list[Floats], Executor | None]:
            own = [array[first:end] if has else array for array, has in zip(given, batched, strict=True)]
            return own, pattern.bound(tuple([array.shape for array in own]), single)

        groups = -(-count // AT_ONCE)
        while count // groups > SEVERAL:  # what a loop keeps of its steps grows with the samples
            executor = bound(0, count // groups)[1]
            if executor is None or executor.arena_bytes <= ROOM:
                break
            groups *= 2
        dtype, total = np.float32 if single else np.float64, self.options["reduce"]
        totals = [np.zeros(out.shape[1:], dtype) for out in outs] if total else []
        for group in range(groups):
            first, end = count * group // groups, count * (group + 1) // groups
            parts = [out[first:end] for out in outs]
            if total:
                results = [np.empty_like(one) for one in totals]
            else:
                results = [part if part.dtype == dtype else np.empty(part.shape, dtype) for part in parts]
            own, executor = bound(first, end)
            if executor is None or executor.run(own, results, 1, threads) is not None:
                return False  # another way tells which sample it is that fails
            for place, result in enumerate(results):
                if total:
                    totals[place] += result
                elif result is not parts[place]:
                    parts[place][...] = result
        for out, whole in zip(outs, totals, strict=False):
            out[...] = whole
        return True


def by_numpy(runner: NumpyRunner, inputs: Sequence[Floats], k: int, results: list[Floats]) -> None:
    """Compute one sample with NumPy."""
    runner.run([np.array(array[k : k + 1] if len(array) > 1 else array) for array in inputs], results, False)
