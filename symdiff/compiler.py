"""The whole way from a formula to a kernel, one stage a line.

    text ─────parse───▶┐
    SymPy ────read─────▶ graph ──inline──▶ graph ──simplify──▶ graph ─┬─unroll──▶ program ──emit C──▶ build ──▶ Kernel
    symbols ───────────▶┘                                             ├─loops───▶ programs ─emit C──▶ build ──▶ Kernel
                                                                      └───────────────────emit NumPy──────────▶ Kernel

Derivatives are formulas, so they enter like any other (see :mod:`symdiff.frontend.derivatives`).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, TypeAlias

from .calculus.cost import extent
from .calculus.demand import guard
from .codegen.c.emit import emit_c
from .codegen.cython.emit import emit_cython
from .codegen.numpy.emit import emit_numpy
from .errors import ArgumentError, UnsupportedError
from .frontend.array import Array
from .frontend.formula import Formula, merge_shapes, order_inputs, read_formula
from .frontend.outputs import leaves, names, pack, template_of
from .frontend.provenance import Facts, Provenance, join
from .graph import Node, flatten, postorder, unflatten
from .graph.budget import budgeted, limits
from .graph.limits import Budget
from .guard import guarded
from .lower import Loops, plan_loops, unroll
from .lower.program import Program
from .printing import text
from .runtime.arguments import Parameter
from .runtime.kernel import Kernel, Options, Origin, Runner
from .runtime.runners.cython import CythonRunner
from .runtime.runners.interpreter import InterpreterRunner
from .runtime.runners.loops import LoopRunner
from .runtime.runners.native import NativeRunner
from .runtime.runners.numpy import NumpyRunner
from .runtime.runners.tiered import AutoRunner
from .runtime.toolchain.build import compiler_in_sight, native_target
from .simplify import inline, join_cosines, simplify

BACKENDS = ("auto", "native", "interpreter", "numpy", "cython")
#: Keywords of :func:`compile`; any other is the shape of an input.
OPTIONS = ("inputs", "batch", "reduce", "batch_axis", "backend", "threads", "accuracy", "shapes", "budget")
#: Takes the formula apart into at most so many scalar operations.
Lower: TypeAlias = Callable[[int], Program]


@guarded
@budgeted
def compile(
    formula: Any,
    inputs: Sequence[Any] | None = None,
    *,
    batch: Sequence[Any] | None = None,
    reduce: str | None = None,
    batch_axis: int = 0,
    backend: str = "auto",
    threads: int | None = None,
    accuracy: str = "default",
    shapes: Mapping[str, Any] | None = None,
    budget: str | Budget | None = None,
    **named_shapes: Any,
) -> Kernel:
    """Compile a formula to a kernel that runs over NumPy arrays.

    Parameters
    ----------
    formula : str, SymPy expression, Array, callable, or list, tuple or dict of them
        What to compute. A dict's keys name the outputs; results come back in the structure
        the formula has. A name is the same input in several texts.
    inputs : sequence of Array, SymPy symbol or str, optional
        Order of the kernel's arguments: must hold what the formula depends on, and may hold more.
        By default the order of the shapes given, wherever they were given; without shapes, the
        order of first use in the formula as it was written. A derivative takes the arguments of
        the formula it was made of, those that vanished from it among them, and behind these the
        inputs of a seed, tangent or vector.
    batch : sequence of Array, SymPy symbol or str, optional
        Inputs that may have batch axes; by default all.
    reduce : {None, "sum"}
        Sum every output over the batch, inside the kernel.
    batch_axis : {0, -1}
        Where the batch axes stand: before a sample's axes, or behind them (columns).
    backend : {"auto", "native", "interpreter", "numpy", "cython"}
        "native" builds C with the system's compiler, and fails where that cannot be;
        "interpreter" runs the same operations without a compiler, with the same bits; "numpy"
        runs NumPy, for formulas of any size. "auto" answers from the interpreter at once, builds
        native code in the background and switches to it between calls; large formulas and
        those of symbolic size run as loops, or in NumPy. "cython" builds and runs the module that
        :func:`symdiff.export` writes. ``kernel.backend`` and ``kernel.stats`` say what serves
        now and why, ``kernel.wait()`` waits for the build.
    threads : int, optional
        Threads that one call of the kernel may take for a large batch; the bits of the results
        do not depend on it. By default what ``SYMDIFF_NUM_THREADS`` says, else one.
    accuracy : {"default", "high"}
        "high" takes libm's functions (errors below one unit in the last place) instead of the
        vector library's (below four), in native code and for float64.
    shapes : mapping of str to shape, optional
        Shapes of the inputs of text or of a callable, for names that are also options here.
    budget : {None, "default", "strict"} or Budget, optional
        How much work the formula may take: "strict" for text from strangers, see
        :class:`symdiff.Budget`. By default text has "default" and anything else no bound.
    **named_shapes
        The same by keyword: ``X=(2, 4)``, ``y=4``, ``t=()``, ``A=("n", "n")``. A shape is refused
        whose name is neither in the formula nor in ``inputs`` nor in ``batch``.

    Returns
    -------
    Kernel

    Raises
    ------
    SymdiffError
        Its subclasses: a formula that is not sound, an option that is not offered, a build that
        fails.

    Examples
    --------
    >>> import numpy as np
    >>> k = compile("jacobian(log(softmax(X @ y)), X)", X=(2, 4), y=4)
    >>> k(np.ones((2, 4)), np.ones(4)).shape
    (2, 2, 4)
    """
    if backend not in BACKENDS:
        raise ArgumentError(f"backend={backend!r}; expected one of {', '.join(map(repr, BACKENDS))}")
    read = read_formula(formula, merge_shapes(shapes, named_shapes), OPTIONS)
    arguments = order_inputs(read, inputs)
    batched = None if batch is None else frozenset(order_names(read, batch))
    read.refuse_unused()
    options = Options(batched, reduce, batch_axis, threads, accuracy)
    outputs = leaves(read.value)
    if not outputs:
        raise ArgumentError("no outputs; expected at least one formula")
    return build_kernel(arguments, outputs, template_of(read.value), options, backend)


def order_names(formula: Formula, wanted: Sequence[Any]) -> list[str]:
    """Return the names of some of the inputs."""
    several = [wanted] if isinstance(wanted, str | Array) else wanted
    found = [one if isinstance(one, str) else formula.read(one) for one in several]
    for one in found:
        if not isinstance(one, str | Array):
            raise ArgumentError(f"batch= holds a {type(one).__name__}; expected inputs, or names of them")
    wanted_names = [one if isinstance(one, str) else str(one.node.payload) for one in found]
    formula.unused.difference_update(wanted_names)
    return wanted_names


def build_kernel(
    arguments: Mapping[str, Node], outputs: Sequence[Array], structure: Any, options: Options, backend: str
) -> Kernel:
    """Run the pipeline on a graph."""
    start = time.perf_counter()
    graph = [output.node for output in outputs]
    rewrites = list(join(output.provenance for output in outputs).facts.rewrites)
    nodes = guard(join_cosines(simplify(inline(graph), rewrites), rewrites))
    inputs = list(arguments.values())
    stats: dict[str, Any] = {"nodes": len(postorder(nodes)), "simplify_seconds": time.perf_counter() - start}
    hessians = [k for k, output in enumerate(outputs) if output.node in output.provenance.facts.hessians]
    lower = partial(unroll, inputs, nodes, hessians=hessians)
    runner, language = _choose(inputs, nodes, lower, options, backend, stats)
    stats["seconds"] = time.perf_counter() - start
    origin = Origin(
        backend=language,
        source=lambda wanted: _source(wanted, inputs, nodes, lower, options, runner),
        sympy=lambda: pack(structure, (array.sympy for array in _shown(outputs))),
        latex=lambda: "\\\\\n".join(array.latex() for array in _shown(outputs)),
        named=lambda: _named(arguments, graph, options),
        rebuild=lambda: (_rebuild, _packed(arguments, outputs, structure, options, backend)),
        rewrites=tuple(rewrites),
        stats=stats,
    )
    parameters = [Parameter(name, node.shape) for name, node in arguments.items()]
    results = [Parameter(name, node.shape) for name, node in zip(names(structure), graph, strict=True)]
    return Kernel(parameters, results, runner, origin, structure=structure, options=options)


def _choose(
    inputs: list[Node], nodes: list[Node], lower: Lower, options: Options, backend: str, stats: dict[str, Any]
) -> tuple[Runner, str]:
    """Return the runner, and put into ``stats`` why it is that one."""
    if backend == "numpy":
        stats["reason"] = "asked for"
        return NumpyRunner(emit_numpy(inputs, nodes)), "numpy"
    if backend == "cython":
        stats["reason"] = "asked for"
        made = CythonRunner(_cython_source(nodes, lower, options))
        stats["build_seconds"] = made.build_seconds
        return made, "cython"
    try:
        program = _schedule(inputs, nodes, lower, backend)
    except UnsupportedError as error:
        if backend != "auto":
            raise UnsupportedError(f"no {backend} code for this formula: {error}; backend='numpy' runs it") from None
        stats["reason"] = str(error)
        return NumpyRunner(emit_numpy(inputs, nodes)), "numpy"
    if backend == "auto" and not compiler_in_sight():
        _warn_no_compiler()
    if isinstance(program, Loops):
        stats["reason"] = "asked for"
        kind = AutoRunner if backend == "auto" else NativeRunner if backend == "native" else InterpreterRunner
        return LoopRunner(program, nodes, kind, options.accuracy, options.threads), "loops"
    stats["operations"] = sum(1 for op in program.ops if op not in ("load", "const"))
    choice: dict[str, Any] = {
        "reduce": options.reduce is not None,
        "columns": options.batch_axis == -1,
        "constant": [options.batch is not None and str(n.payload) not in options.batch for n in inputs],
        "accuracy": options.accuracy,
    }
    if backend == "auto":
        return AutoRunner(program, **choice), "interpreter"
    stats["reason"] = "asked for"
    if backend == "interpreter":
        return InterpreterRunner(program, **choice), "interpreter"
    runner = NativeRunner(program, **choice)
    stats["build_seconds"] = runner.build_seconds
    return runner, "c"


@cache
def _warn_no_compiler() -> None:
    """Say once what serves instead of native code."""
    warnings.warn(
        "no C compiler was found (looked for $CC, gcc, cc and clang); kernels run on the embedded interpreter, about "
        "half as fast. Install one, or pass backend='interpreter' to say that this is meant",
        RuntimeWarning,
        stacklevel=6,
    )


def _schedule(inputs: list[Node], nodes: list[Node], lower: Lower, backend: str) -> Program | Loops:
    """Take the formula apart where it is small, else find its loops.

    A formula of fixed sizes within the limit is taken apart: one call of it has no Python on the
    way. Beyond that, and with letters for sizes, its long axes become loops, whose code does not
    grow with them. What has no loops is taken apart all the same where that is insisted on.
    """
    limit = limits().unrolled_operations
    try:
        if extent(nodes) > 20.0 * limit:  # the rest is counted while it is done
            raise UnsupportedError(f"the formula takes more than {limit} scalar operations")
        return lower(limit)
    except UnsupportedError as error:
        why = str(error)  # the error itself would hold this frame, and the frame it
    try:
        loops = plan_loops(inputs, nodes, limit)
        if backend == "auto" or loops.is_whole:
            return loops
        no_loops = "a part of it is no loop"
    except UnsupportedError as error:
        no_loops = str(error)
    try:
        if backend != "auto":
            return lower(limits().native_operations)
    except UnsupportedError as error:
        why = str(error)
    raise UnsupportedError(f"{why}; as loops: {no_loops}")


def _source(
    language: str, inputs: list[Node], nodes: list[Node], lower: Lower, options: Options, runner: Runner
) -> str:
    if language == "numpy":
        return emit_numpy(inputs, nodes).text
    if language in ("c", "interpreter"):  # the interpreter does what the C text says
        if isinstance(runner, LoopRunner):
            return runner.source()
        if isinstance(runner, NativeRunner | AutoRunner):
            return runner.source(options.reduce is not None, options.batch_axis == -1)
        program = lower(limits().native_operations)
        return emit_c(
            program, native_target(), reduce=options.reduce is not None, columns=options.batch_axis == -1
        ).text
    if language == "cython":
        return _cython_source(nodes, lower, options)
    raise ArgumentError(f"source({language!r}); expected 'c', 'cython' or 'numpy'")


def _cython_source(nodes: list[Node], lower: Lower, options: Options) -> str:
    if options.batch_axis != 0:
        raise UnsupportedError("a Cython module takes batch axes in front; compile with batch_axis=0")
    program = lower(limits().native_operations)
    shown = "\n".join(text(node) for node in nodes)
    batched = [options.batch is None or port.name in options.batch for port in program.inputs]
    return emit_cython(program, formula=shown, batched=batched, reduce=options.reduce is not None)


def _shown(outputs: Sequence[Array]) -> list[Array]:
    """Return the outputs as they are shown."""
    nodes = simplify([output.node for output in outputs])
    return [Array(node, output.provenance) for node, output in zip(nodes, outputs, strict=True)]


def _named(arguments: Mapping[str, Node], outputs: Sequence[Node], options: Options) -> Kernel:
    """Compile the named sub-formulas."""
    found: dict[str, Node] = {}
    for node in postorder(outputs):
        if node.op == "named" and found.setdefault(node.payload, node) is not node:
            raise ArgumentError(f"two sub-formulas are called {node.payload!r}; expected different names")
    if not found:
        raise ArgumentError("the formula has no named parts; name one with sd.name(part, 'z') or a line 'z = ...'")
    plain = Options(options.batch, None, options.batch_axis, options.threads, options.accuracy)
    return build_kernel(arguments, list(map(Array, found.values())), template_of(found), plain, "numpy")


def _packed(
    arguments: Mapping[str, Node], outputs: Sequence[Array], structure: Any, options: Options, backend: str
) -> tuple[Any, ...]:
    # a custom function's rule holds Python functions, and its value alone is needed again
    kept = inline([output.node for output in outputs], ("custom",))
    facts = [(output.node, output.provenance.facts) for output in outputs]
    known = [(own.rewrites, node in own.hessians, own.derived) for node, own in facts]
    return (flatten([*arguments.values(), *kept]), tuple(arguments), structure, options, backend, known)


def _rebuild(
    rows: list[tuple[Any, ...]],
    inputs: tuple[str, ...],
    structure: Any,
    options: Options,
    backend: str,
    known: Sequence[tuple[tuple[str, ...], bool, bool]],
) -> Kernel:
    nodes = unflatten(rows)
    arguments = dict(zip(inputs, nodes[: len(inputs)], strict=True))
    outputs = [
        Array(node, Provenance(Facts((), rewrites, (node,) if is_hessian else (), derived)))
        for node, (rewrites, is_hessian, derived) in zip(nodes[len(inputs) :], known, strict=True)
    ]
    return build_kernel(arguments, outputs, structure, options, backend)
