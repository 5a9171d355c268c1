"""Runners of a formula, one for each backend, with ``run(inputs, outs, reduce)``.

Takes
    a program, a plan or NumPy source
Gives
    results in arrays that the kernel allocated
Invariants
    * A unit is a function for one layout (rows or columns) and one type (float64 or float32).
    * A kernel has the usual unit at first, and others when a long batch wants one.
    * Interpreter and native code give the same bits, so one may replace the other between two calls.
Files
    interfaces  methods that a kernel asks of a runner
    variants    units of one program, and which of them a batch takes
    programs    native code, the interpreter, and the one after the other
    numpy       NumPy source, in tiles of the batch
    lowering    which form a formula takes: a program, a plan or array operations, by estimated cost
    plans       plans of several steps, by the executor; samples one by one
    pattern     the plan for one way of sharing inputs, its programs, and steps of libraries
    cython      the module that a user would ship
Add
    a backend: a file with a runner (:class:`~.interfaces.Runner`), and a row of :data:`BACKENDS`, which lowers a
    formula to what the runner takes, or says why it cannot serve
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from ...codegen import TARGETS, Request
from ...graph.dump import record_text
from ...ground.budget import limits
from ...lowering.plan.calls import FEWER
from ...lowering.plan.cost import alone_cost
from ...lowering.plan.plan import Plan
from ...lowering.program import Program
from ..kept.lookup import FormulaRecord
from ..options import Options
from .cython import CythonRunner
from .interfaces import Planned, Runner
from .lowering import lower, usual_of
from .numpy import NumpyRunner
from .plans import PlanRunner, SharingPlans
from .programs import InterpreterRunner, NativeRunner, TieredRunner

__all__ = ["BACKENDS", "Backend", "Lowered", "begin_units", "plans_of"]

#: Nanoseconds of a call of one sample by a program from which on there may be a plan for such calls.
LEAST_ALONE = 700.0
#: Operations from which on a program waits for a batch where a plan serves single samples: half a second to build.
LONG = 5_000
#: Nodes of a formula that is planned when a call first shares inputs: such a call waits for it.
SHARED_NODES = 1_000

#: Input of a runner besides the graph: a program, a plan, or nothing.
Lowered: TypeAlias = Program | Plan | None


class Backend(NamedTuple):
    """One way to run kernels.

    Parameters
    ----------
    serves : str
        What ``kernel.backend`` says, unless the runner changes while it is in use.
    suffix : str
        Suffix of a file with the source that runs.
    lower : callable
        Lowers a formula to what the runner takes; raises ``UnsupportedError`` to say why it cannot serve.
    make : callable
        Makes the runner, with what is kept of the formula between processes, if anything is.
    instead : str or None
        The backend that takes what this one refuses; None where the refusal stands.
    """

    serves: str
    suffix: str
    lower: Callable[[Request], Lowered]
    make: Callable[[Request, Lowered, Options, FormulaRecord | None], Runner]
    instead: str | None = None

    def __repr__(self) -> str:
        return record_text(self)


def _nothing(request: Request) -> None:
    """Lower nothing: what is emitted takes the graph, and refuses for itself."""


def _scalar(
    kind: type[TieredRunner] | type[NativeRunner] | type[InterpreterRunner],
    request: Request,
    lowered: Lowered,
    options: Options,
    record: FormulaRecord | None,
) -> Runner:
    limit = options.build_limit(background=kind is TieredRunner)
    if isinstance(lowered, Plan):
        return PlanRunner(
            request.inputs,
            request.nodes,
            kind,
            limit=limits().unrolled_operations,
            usual=usual_of(request, lowered),
            inner=None,
            reduce=request.reduce,
            accuracy=options.accuracy,
            threads=options.threads,
            plan=lowered,
            reproducible=options.reproducible,
            build_limit=limit,
            record=record,
        )
    assert lowered is not None
    # a plan beside a long program may be all that calls want
    late: dict[str, Any] = {"now": False} if _is_long(lowered) and kind is not InterpreterRunner else {}
    return kind(
        lowered,
        **late,
        reduce=request.reduce,
        columns=request.columns,
        constant=[not batched for batched in request.batched],
        accuracy=options.accuracy,
        build_limit=limit,
        kept=None if record is None else record.unit(),
    )


def _is_long(lowered: Lowered) -> bool:
    """Tell whether the program of a formula takes a compiler clearly longer than the plan of one sample."""
    return isinstance(lowered, Program) and lowered.operations > LONG


def begin_units(lowered: Lowered, runner: Runner, plans: Planned | None) -> None:
    """Build the usual unit of a long program, unless a plan serves calls of one sample: a batch builds it then."""
    serves_alone = plans is not None and plans.serves_alone
    if isinstance(runner, NativeRunner | TieredRunner) and _is_long(lowered) and not serves_alone:
        runner.call(*runner.usual)


def plans_of(
    request: Request, lowered: Lowered, runner: Runner, options: Options, count: int, record: FormulaRecord | None
) -> Planned | None:
    """Return what plans calls of a formula of so many nodes: a runner of plans itself, or plans beside units."""
    if isinstance(runner, PlanRunner):
        return runner
    if not isinstance(lowered, Program) or count > SHARED_NODES:
        return None
    enough = alone_cost(lowered) if _has_axes(request) else 0.0
    alone = 0.0 if request.reduce or request.columns or options.reproducible or enough < LEAST_ALONE else enough
    shares = request.reduce or len(request.inputs) > 1
    if not (shares or alone):
        return None
    made = SharingPlans(
        lowered,
        request.inputs,
        request.nodes,
        type(runner),
        limit=limits().unrolled_operations,
        reduce=request.reduce,
        accuracy=options.accuracy,
        threads=options.threads,
        reproducible=options.reproducible,
        build_limit=options.build_limit(background=isinstance(runner, TieredRunner)),
        record=record,
        alone=alone,
    )
    return made if shares or made.serves_alone else None


def _has_axes(request: Request) -> bool:
    """Tell whether an input has an axis along which a plan of one sample has lanes to fill."""
    return any(isinstance(size, int) and size >= FEWER[0] for node in request.inputs for size in node.shape)


def _numpy(request: Request, *_: Any) -> Runner:
    from ...codegen.numpy.emit import emit_numpy  # not needed by other backends

    return NumpyRunner(emit_numpy(request.inputs, request.nodes))


def _cython(request: Request, *_: Any) -> Runner:
    return CythonRunner(TARGETS["cython"].emit(request))


_insisting = partial(lower, insist=True)

#: Every backend that :func:`symdiff.compile` offers, by name.
BACKENDS: dict[str, Backend] = {
    "auto": Backend("interpreter", "c", partial(lower, insist=False), partial(_scalar, TieredRunner), instead="numpy"),
    "native": Backend("c", "c", _insisting, partial(_scalar, NativeRunner)),
    "interpreter": Backend("interpreter", "c", _insisting, partial(_scalar, InterpreterRunner)),
    "numpy": Backend("numpy", "py", _nothing, _numpy),
    "cython": Backend("cython", "pyx", _nothing, _cython),
}
