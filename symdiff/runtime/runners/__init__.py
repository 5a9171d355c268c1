"""What runs a formula: one runner for each backend, with ``run(inputs, outs, reduce)``.

Takes
    a program, loops or NumPy source
Gives
    results in arrays that the kernel allocated
Invariants
    * A unit is a function for one layout (rows or columns) and one type (float64 or float32).
    * A kernel has the usual unit at first, and others when a long batch wants one.
    * Interpreter and native code give the same bits, so one may replace the other between two calls.
Files
    interfaces    what a kernel asks of a runner
    variants      units of one program, and which of them a batch takes
    native        C, built and loaded
    interpreter   bytecode, without a compiler
    tiered        the interpreter at once, native code when it is built
    numpy         NumPy source, in tiles of the batch
    loops         loops over long arrays, by one of the runners above
    cython        the module that a user would ship
Add
    a backend: a file with a runner (:class:`~.interfaces.Runner`), and a row of :data:`BACKENDS`, which lowers a
    formula to what the runner takes, or says why it cannot serve
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from ...calculus.cost import extent
from ...codegen import TARGETS, Request
from ...codegen.numpy.emit import emit_numpy
from ...errors import UnsupportedError
from ...ground.budget import limits
from ...lower import Loops, plan_loops
from ...lower.program import Program
from ..options import Options
from .cython import CythonRunner
from .interfaces import Runner
from .interpreter import InterpreterRunner
from .loops import LoopRunner
from .native import NativeRunner
from .numpy import NumpyRunner
from .tiered import TieredRunner

__all__ = ["BACKENDS", "Backend", "Lowered"]

#: What a runner takes besides the graph: a program, loops, or nothing.
Lowered: TypeAlias = Program | Loops | None


class Backend(NamedTuple):
    """One way to run kernels.

    Parameters
    ----------
    serves : str
        What ``kernel.backend`` says, unless the runner changes while it is in use.
    language : str
        Of the source that runs, a key of :data:`symdiff.codegen.TARGETS`.
    lower : callable
        Lowers a formula to what the runner takes; raises ``UnsupportedError`` to say why it cannot serve.
    make : callable
        Makes the runner.
    instead : str or None
        The backend that takes what this one refuses; None where the refusal stands.
    """

    serves: str
    language: str
    lower: Callable[[Request], Lowered]
    make: Callable[[Request, Lowered, Options], Runner]
    instead: str | None = None


def lower(request: Request, *, insist: bool) -> Program | Loops:
    """Lower a small formula to scalar code, and a large one to loops.

    A formula of fixed sizes within the limit becomes scalar code, and a call of it runs no Python.
    The long axes of larger formulas, and of those with symbolic sizes, become loops, whose code does
    not grow with them. A formula without loops is scalarized all the same where ``insist`` asks for it.
    """
    limit = limits().unrolled_operations
    try:
        if extent(request.nodes) > 20.0 * limit:  # the rest is counted while it is done
            raise UnsupportedError(f"the formula takes more than {limit} scalar operations")
        return request.lower(limit)
    except UnsupportedError as error:
        why = str(error)  # the error itself would hold this frame, and the frame it
    try:
        loops = plan_loops(request.inputs, request.nodes, limit)
        if not insist or loops.is_whole:
            return loops
        no_loops = "a part of it is no loop"
    except UnsupportedError as error:
        no_loops = str(error)
    try:
        if insist:
            return request.program()
    except UnsupportedError as error:
        why = str(error)
    raise UnsupportedError(f"{why}; as loops: {no_loops}")


def _nothing(request: Request) -> None:
    """Lower nothing: what is emitted takes the graph, and refuses for itself."""


def _scalar(
    kind: type[TieredRunner] | type[NativeRunner] | type[InterpreterRunner],
    request: Request,
    lowered: Lowered,
    options: Options,
) -> Runner:
    if isinstance(lowered, Loops):
        return LoopRunner(lowered, request.nodes, kind, options.accuracy, options.threads)
    assert lowered is not None
    return kind(
        lowered,
        reduce=request.reduce,
        columns=request.columns,
        constant=[not batched for batched in request.batched],
        accuracy=options.accuracy,
    )


def _numpy(request: Request, *_: Any) -> Runner:
    return NumpyRunner(emit_numpy(request.inputs, request.nodes))


def _cython(request: Request, *_: Any) -> Runner:
    return CythonRunner(TARGETS["cython"].emit(request))


_insisting = partial(lower, insist=True)

#: Every backend that :func:`symdiff.compile` offers, by name.
BACKENDS: dict[str, Backend] = {
    "auto": Backend("interpreter", "c", partial(lower, insist=False), partial(_scalar, TieredRunner), instead="numpy"),
    "native": Backend("c", "c", _insisting, partial(_scalar, NativeRunner)),
    "interpreter": Backend("interpreter", "c", _insisting, partial(_scalar, InterpreterRunner)),
    "numpy": Backend("numpy", "numpy", _nothing, _numpy),
    "cython": Backend("cython", "cython", _nothing, _cython),
}
