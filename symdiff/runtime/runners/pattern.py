"""A plan for one way of sharing inputs, bound to sizes when these come, and the functions that run its steps.

Steps left to libraries have bits that are not symdiff's own: LAPACK and NumPy may give a sample other bits beside
other samples, with other numbers of threads and in other versions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias
from weakref import ref

import numpy as np
import numpy.typing as npt

from ..._kernels.matrix.batches import MOST, MOST_EIGENVALUES, MOST_EIGENVECTORS, USUAL
from ..._kernels.plan.executor import Plan as Executor
from ..._kernels.plan.executor import PlanUnits
from ..._kernels.unit import NativeCall
from ...errors import UnsupportedError
from ...graph import Node
from ...graph.reference.interpret import bind_sizes
from ...graph.sizes import value
from ...lowering.plan.access import BATCH
from ...lowering.plan.plan import Plan, programs_of
from ...lowering.plan.steps import Call, MatrixFunction, Routine, nested
from ..kept.lookup import UnitRecord
from ..toolchain.load import native_target
from .programs import InterpreterRunner, NativeRunner, TieredRunner
from .variants import ProgramRunner

__all__ = ["Kind", "Pattern", "bits_of", "refuse_others"]


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


Floats: TypeAlias = npt.NDArray[np.floating[Any]]
Kind: TypeAlias = type[TieredRunner] | type[NativeRunner] | type[InterpreterRunner]
#: Sizes for which a plan is kept bound.
BOUND = 8


class Pattern:
    """The plan for one way of sharing inputs, and what runs its steps.

    Parameters
    ----------
    plan : Plan
        Its inputs have the axis of tiles in front where they have it, be it the batch or an axis of one sample.
    kind : type
        What runs scalar programs.
    accuracy : {"default", "high"}
    build_limit : float
        Seconds that the compiler may take for one program.
    unit : callable, optional
        Returns what is kept of the units of a program, by its number.
    reproducible : bool, optional
        No bit depends on LAPACK, or on whether there is one sample.

    Raises
    ------
    UnsupportedError
        If it is to be reproducible and has a step in Python, or of LAPACK for any sizes.
    """

    def __init__(
        self,
        plan: Plan,
        kind: Kind,
        accuracy: str,
        build_limit: float,
        unit: Callable[[int], UnitRecord | None] = lambda number: None,
        reproducible: bool = False,
    ) -> None:
        if reproducible:
            refuse_others(plan)
        self.plan = plan
        self.reproducible = reproducible
        self.runners: list[ProgramRunner] = [
            kind(
                program,
                reduce=total,
                packed=packed,
                wiring=wiring,
                constant=shared,
                accuracy=accuracy,
                build_limit=build_limit,
                kept=unit(number),
            )
            for number, (program, total, shared, packed, wiring) in enumerate(programs_of(plan))
        ]
        self.functions = {step.result: _function(plan, step) for step in plan.steps if isinstance(step, Call)}
        runners = self.runners
        self.units = PlanUnits(
            lambda number, *properties: runners[number].call(*properties),
            [
                ([port.size for port in runner.program.inputs], [port.size for port in runner.program.outputs])
                for runner in self.runners
            ],
            [runner.usual.columns and not runner.usual.packed for runner in self.runners],
            [runner.constant for runner in self.runners],
            [runner.wiring for runner in self.runners],
        )
        for number, runner in enumerate(self.runners):
            # the runners hold no reference to the plan, which ends with its last one
            for reduce in {runner.usual.reduce, False}:  # sums of short rows compute their elements first
                runner.bind(partial(_install, ref(self), number), reduce)
        self._bound: dict[tuple[Any, ...], Executor | None] = {}

    def plans(self) -> list[Executor]:
        """Return the plans that are bound to sizes."""
        return [plan for plan in list(self._bound.values()) if plan is not None]

    @property
    def tiled(self) -> int:
        """The first input that has the axis of tiles, -1 where none has."""
        return next((k for k, node in enumerate(self.plan.inputs) if node.shape[:1] == (BATCH,)), -1)

    def rows(self, inputs: Sequence[Floats]) -> int:
        """Return the length of the axis of tiles, 1 where there is none."""
        return 1 if self.tiled < 0 else len(inputs[self.tiled])

    def bound(self, shapes: tuple[tuple[int, ...], ...], single: bool) -> Executor | None:
        """Return the plan for arrays of some shapes; None where they are too small for it."""
        if self.tiled >= 0 and not shapes[self.tiled][0]:
            return None
        # the length of the axis of tiles is open
        own = [shape[node.shape[:1] == (BATCH,) :] for node, shape in zip(self.plan.inputs, shapes, strict=True)]
        key = (*own, single)
        if key in self._bound:
            return self._bound[key]
        from ...lowering.plan.bind import bind  # not needed where no plan runs

        plan = self.plan
        sizes = bind_sizes(plan.inputs, shapes)
        sizes.pop(str(BATCH), None)
        made = bind(plan, sizes, single, self.functions)
        if self.reproducible:
            refuse_others(plan, sizes)
        executor = None
        if made is not None:
            executor = Executor(
                inputs=len(plan.inputs),
                outputs=len(plan.outputs),
                arrays=made.arrays,
                steps=made.steps,
                tile=made.tile,
                tile_bytes=made.tile_bytes,
                kept_bytes=made.kept_bytes,
                single=single,
                lanes=native_target().lanes,
                units=self.units,
                reproducible=self.reproducible,
            )
        while len(self._bound) >= BOUND:
            self._bound.pop(next(iter(self._bound)))
        self._bound[key] = executor
        return executor


def _install(owner: ref[Pattern], number: int, unit: NativeCall) -> None:
    """Use a unit for a program from now on, if the plan is still there."""
    pattern = owner()
    if pattern is not None:
        pattern.units.install(number, unit)


def _function(plan: Plan, step: Call) -> Callable[..., npt.NDArray[Any]]:
    """Return a function of the plan's inputs, which tell the sizes, and of the step's operands."""
    places = step.direct(plan.inputs)
    if places is not None:
        own: Callable[..., npt.NDArray[Any]] = step.formula.payload.function
        return lambda *arrays, out: own(*[arrays[place] for place in places], out=out)
    from ...codegen.numpy.emit import emit_numpy, load_numpy  # few plans have such steps

    function = load_numpy(emit_numpy([*step.sized(plan.inputs), *step.inputs], [step.formula]))

    def call(*arrays: npt.NDArray[Any]) -> npt.NDArray[Any]:
        with np.errstate(all="ignore"):
            (result,) = function(*(np.asarray(array, np.float64)[None] for array in arrays))
        found: npt.NDArray[Any] = result[0]
        return found

    return call
