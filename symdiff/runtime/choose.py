"""Choice of the backend that serves a formula: the one that was asked for, the one behind it, or none."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from ..codegen import Request
from ..errors import UnsupportedError
from ..graph import Node, postorder
from ..graph.dump import record_text
from ..ground.progress import begin, note
from ..ground.tracing import record as trace
from ..lowering.program import Program
from .kept.lookup import FormulaRecord
from .options import Options
from .runners import BACKENDS, Backend, Lowered, begin_units, plans_of
from .runners.interfaces import Planned, Runner
from .runners.programs import target_of
from .toolchain.build import compiler_in_sight

__all__ = ["Choice", "choose", "choose_for", "request_of", "run_lowered"]

class Choice(NamedTuple):
    """A formula and what computes it.

    Parameters
    ----------
    request : Request
    backend : Backend
    lowered : Program, Plan or None
    runner : Runner
    reason : str
        Why it is that backend.
    plans : Planned or None
        What plans calls.
    is_reproducible : bool
        Whether libraries compute nothing.
    """

    request: Request
    backend: Backend
    lowered: Lowered
    runner: Runner
    reason: str
    plans: Planned | None = None
    is_reproducible: bool = False

    def __repr__(self) -> str:
        return record_text(self)

    @property
    def name(self) -> str:
        """The name of the backend."""
        return next(name for name, row in BACKENDS.items() if row is self.backend)

    @property
    def stats(self) -> dict[str, Any]:
        """Facts known when it is made."""
        told: dict[str, Any] = {"reason": self.reason, "bits": self.bits}
        if isinstance(self.lowered, Program):
            told["operations"] = self.lowered.operations
        seconds = getattr(self.runner, "build_seconds", None)
        return told if seconds is None else {**told, "build_seconds": seconds}

    @property
    def bits(self) -> str:
        """Dependence of the bits of a sample, as :attr:`symdiff.Kernel.stats` tells it of a kernel without plans."""
        if self.backend is BACKENDS["numpy"]:
            return "library"
        return "sample" if self.plans is None or self.is_reproducible else "sharing"


def choose(request: Request, options: Options, backend: str, count: int, record: FormulaRecord | None = None) -> Choice:
    """Make the runner of a formula.

    Parameters
    ----------
    request : Request
    options : Options
    backend : str
        A key of :data:`symdiff.runtime.runners.BACKENDS`.
    count : int
        Nodes of the formula.
    record : FormulaRecord, optional
        What is kept of the formula between processes.

    Raises
    ------
    UnsupportedError
        If the backend cannot serve the formula, and none is to serve instead.
    BuildError
        If the build fails.
    """
    row, reason = BACKENDS[backend], "asked for"
    begin("lower")
    while True:
        try:
            lowered = row.lower(request)
            break
        except UnsupportedError as error:
            if row.instead is None:
                raise UnsupportedError(
                    f"no {backend} code for this formula: {error}; backend='numpy' runs it"
                ) from None
            row, reason = BACKENDS[row.instead], str(error)
    if isinstance(lowered, Program):
        note(f"{len(lowered.ops)} operations")
    elif lowered is not None:
        note(f"{len(lowered.steps)} steps")
    if lowered is not None:
        trace("program.txt" if isinstance(lowered, Program) else "plan.txt", lowered.lines)
    return run_lowered(request, lowered, options, row, reason, count, record)


def run_lowered(
    request: Request,
    lowered: Lowered,
    options: Options,
    row: Backend,
    reason: str,
    count: int,
    record: FormulaRecord | None,
) -> Choice:
    """Make the runner of what a formula was lowered to, as :func:`choose` does."""
    if options.reproducible and row is BACKENDS["numpy"]:
        raise UnsupportedError(f"reproducible=True, and NumPy is what computes this formula: {reason}")
    if row is BACKENDS["auto"] and not compiler_in_sight():
        warn_no_compiler()
    begin("build")
    runner = row.make(request, lowered, options, record)
    trace(f"source.{row.suffix}", runner.source)
    plans = plans_of(request, lowered, runner, options, count, record)
    begin_units(lowered, runner, plans)
    return Choice(request, row, lowered, runner, reason, plans, options.reproducible)


@cache
def warn_no_compiler() -> None:
    """Say once what serves instead of native code."""
    warnings.warn(
        "no C compiler was found (looked for $CC, gcc, cc and clang); kernels run on the embedded interpreter, about "
        "half as fast. Install one, or pass backend='interpreter' to say that this is meant",
        RuntimeWarning,
        stacklevel=7,  # whoever called compile, which is guarded and budgeted
    )


def request_of(
    inputs: Sequence[Node], nodes: Sequence[Node], hessians: Sequence[int], options: Options
) -> Request:
    """Return what emitters and runners ask for."""
    names_of = [str(node.name) for node in inputs]

    def lower(limit: int) -> Program:
        from ..lowering.unroll import unroll  # not needed by a value that is known

        return unroll(inputs, nodes, limit, hessians=hessians)

    return Request(
        inputs,
        nodes,
        lower=lower,
        machine=partial(target_of, options.accuracy),
        batched=[options.is_batched(name) for name in names_of],
        reduce=options.is_reduced,
        columns=options.in_columns,
        usual=[options.batch is not None and name in options.batch for name in names_of],
    )


def choose_for(arguments: Sequence[Node], nodes: Sequence[Node], options: Options, backend: str) -> Choice:
    """Choose what runs some formulas, of which nothing is kept."""
    return choose(request_of(arguments, nodes, [], options), options, backend, len(postorder(nodes)), None)
