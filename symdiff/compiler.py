"""The whole way from a formula to a kernel, one stage a line.

    text ────parse──▶┐
    SymPy ───read────▶ graph ──inline──▶ graph ──simplify──▶ graph ──mask──▶ graph
    symbols ─────────▶┘                                                        │
             ┌─────────────────────────────────────────────────────────────────┘
             ├──unroll──▶ program ───┬──emit C──▶ build ──▶ Kernel
             ├──plan────▶ programs ──┴──assemble (bytecode)──▶ Kernel
             └──emit NumPy────────────────────────────────────▶ Kernel

Derivatives are formulas, so they enter like any other (see :mod:`symdiff.frontend.derivatives`).
Which of the ways a formula takes on the right is decided in :mod:`symdiff.runtime.choose`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any, Literal

from .calculus.cost import array_time
from .errors import ArgumentError
from .frontend.array import Array
from .frontend.formula import by_name, merge_shapes, order_inputs, order_names, read_formula
from .frontend.numpy.operands import find_spans
from .frontend.outputs import leaves, names, pack, template_of
from .frontend.provenance import join
from .frontend.sympy import listed_symbols
from .graph import INT, Node, flatten, postorder, survey, surveyed, unflatten
from .graph.size_equations import check_told
from .graph.sizes import Shape, Span
from .ground.budget import STEP_TIME, balance, budgeted, charge, spend
from .ground.guard import guarded
from .ground.limits import Budget
from .ground.pickles import refuse_unnumbered, written
from .ground.progress import begin, note, reported
from .ground.tracing import record as trace
from .ground.tracing import traced
from .lowering.sparse.formats import Format, FormatName, read_formats
from .runtime.calls.arguments import Parameter, parameters_of
from .runtime.calls.declared import PositionRange, ranges_of
from .runtime.calls.resources import refuse_beyond_memory
from .runtime.choose import Choice, choose, choose_for, request_of, run_lowered
from .runtime.kept.encoding import Graph
from .runtime.kept.lookup import (
    FormulaRecord,
    Kept,
    Known,
    LateNodes,
    Problem,
    facts_of,
    find_graph,
    find_text,
    hessians_of,
    in_budget,
    kept_in,
    outputs_of,
    spent_since,
)
from .runtime.kernel import Kernel
from .runtime.options import Backend, Options, group_inputs
from .runtime.origin import Origin, applied, cause_in, shown
from .runtime.runners import BACKENDS

#: Keywords of :func:`compile`; any other is the shape of an input.
OPTIONS = (
    "inputs",
    "batch",
    "reduce",
    "batch_axis",
    "backend",
    "threads",
    "accuracy",
    "build_seconds",
    "nonfinite",
    "validate",
    "reproducible",
    "sparse",
    "triangle",
    "shapes",
    "functions",
    "budget",
    "verbose",
    "full_output",
)

#: Stages that are told of: reading, simplifying, lowering, making what runs, keeping it.
STAGES = 5


@guarded
@budgeted
def compile(
    formula: Any,
    /,
    inputs: Sequence[Any] | None = None,
    *,
    batch: Sequence[Any] | None = None,
    reduce: Literal["sum"] | None = None,
    batch_axis: Literal[0, -1] = 0,
    backend: Backend = "auto",
    threads: int | None = None,
    accuracy: Literal["default", "high"] = "default",
    build_seconds: float | None = None,
    nonfinite: Literal["keep", "raise"] = "keep",
    validate: bool = False,
    reproducible: bool = False,
    sparse: FormatName | Mapping[Any, Any] | list[Any] | tuple[Any, ...] | None = None,
    triangle: Literal["lower", "upper"] | None = None,
    shapes: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    budget: Literal["default", "strict"] | Budget | None = None,
    verbose: bool = False,
    full_output: bool = False,
    **named_shapes: Any,
) -> Kernel:
    """Compile a formula to a kernel that runs over NumPy arrays.

    Parameters
    ----------
    formula : str, SymPy expression, Array, callable, or list, tuple or dict of them
        What to compute. A dict's keys name the outputs; results come back in the structure
        the formula has. A name is the same input in several texts.
    inputs : sequence of Array, SymPy symbol or str, optional
        Order of the kernel's arguments; a dict, list, tuple or dataclass of inputs in it is one argument, of this
        structure. It must hold what the formula depends on, and may hold more.
        By default the order of the shapes given, wherever they were given; without shapes, the
        order of first use in the formula as it was written. A derivative takes the arguments of
        the formula it was made of, those that vanished from it among them, and behind these the
        inputs of a seed, tangent or vector.
    batch : sequence of Array, SymPy symbol or str, optional
        Inputs that may have batch axes; by default all.
    reduce : {None, "sum"}
        Sum every output over the batch, inside the kernel. A mean is ``k(x) / len(x)``.
    batch_axis : {0, -1}
        Where the batch axes stand: before a sample's axes, or behind them (columns).
    backend : {"auto", "native", "interpreter", "numpy", "cython"}
        "native" builds C with the system's compiler, and fails where that cannot be;
        "interpreter" runs the same operations without a compiler, with the same bits; "numpy"
        runs NumPy, for formulas of any size. "auto" answers from the interpreter at once, builds
        native code in the background and switches to it between calls; long arrays, large matrices,
        symbolic sizes and calls that share inputs run as plans of several steps. "cython" builds and
        runs the module that :func:`symdiff.export` writes. ``kernel.backend`` and ``kernel.stats`` say what serves
        now and why, ``kernel.wait()`` waits for the build.
    threads : int, optional
        Threads that one call of the kernel may take for a large batch; the bits of the results
        do not depend on it. By default what ``SYMDIFF_NUM_THREADS`` says, else one.
    accuracy : {"default", "high"}
        "high" takes libm's functions (errors below one unit in the last place) instead of the
        vector library's (below four), in native code and for float64.
    build_seconds : float, optional
        Seconds that the compiler may take for a program of the kernel. By default 60 for "auto", whose interpreter
        serves on when they would not suffice, and no bound for "native", which raises then. What the cache has
        takes none.
    nonfinite : {"keep", "raise"}
        "raise" looks at all results, and raises :class:`symdiff.NonfiniteError` with what
        :meth:`symdiff.Kernel.explain` says where one is nan or infinite; ``out`` then holds anything.
    validate : bool
        Look in each call at inputs declared orthogonal or positive definite too, which takes the third power of their
        size. That a matrix is symmetric, skew, diagonal or triangular, or a number positive, is checked in any case.
    reproducible : bool
        Give a sample the same bits alone and in any batch, as long as calls share the same inputs: what only NumPy or
        LAPACK computes is refused by name. Without it ``kernel.stats["bits"]`` says what holds.
    sparse : {None, "csr", "csc", "coo", "bsr", "values"}, or dict or tuple of them, optional
        Compute and store the nonzeros of a result alone. One word is for all results of two axes or more; the others
        stay dense. A dict or tuple in the structure of the outputs has a word, or None, for each. Rows are the shape of
        the formula and columns that of the variable, flattened, of a Jacobian or Hessian as it was derived; any other
        result needs two axes. "csr", "csc", "coo" and "bsr" (where nonzeros are equal dense blocks) are arrays of
        ``scipy.sparse`` for one sample, or for a sum over the batch; "values" is the data of "csr", (..., nonzeros).
        ``kernel.pattern()`` says where they stand.
    triangle : {None, "lower", "upper"}
        Keep one triangle of sparse Hessians.
    shapes : mapping of str to shape, optional
        Shapes of the inputs of text or of a callable, for names that are also options here.
    functions : mapping of str to callable, optional
        What text may call besides the functions of the language, by name: functions of symbols and numbers, those of
        :func:`symdiff.custom` and :func:`symdiff.external` among them.
    budget : {None, "default", "strict"} or Budget, optional
        How much work the formula may take: "strict" for text from strangers, see
        :class:`symdiff.Budget`. By default text has "default" and anything else no bound.
    verbose : bool
        Tell on standard error how far the compilation is: a bar on a terminal, elsewhere a line for each stage. It may
        be interrupted (Ctrl-C) at any time: compilers end, and what is not complete is not kept.
    full_output : bool
        Give a pair: the results, and a dict of "iterations", "residuals" and "converged" (1 or 0), each a tuple with an
        array for each solution (:func:`symdiff.root` and the like) in the formula, in the order of the formula.
    **named_shapes
        Shapes by keyword: ``X=(2, 4)``, ``y=4``, ``t=()``, ``A=("n", "n")``. A shape is refused
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
    given = merge_shapes(shapes, named_shapes)
    given_options = (reduce, batch_axis, threads, accuracy, build_seconds)
    checks = (nonfinite, validate, reproducible)

    def read() -> Problem:
        read = read_formula(formula, given, OPTIONS, functions)
        order = by_name(listed_symbols(inputs))
        arguments = order_inputs(read, order)
        batched = None if batch is None else frozenset(order_names(read, batch))
        read.refuse_unused()
        outputs, structure = leaves(read.value), template_of(read.value)
        if not outputs:
            raise ArgumentError("no outputs; expected at least one formula")
        if full_output:
            from .frontend.functions.solutions import solutions_in  # few formulas have them

            told = solutions_in([output.node for output in outputs])
            outputs, structure = [*outputs, *leaves(told)], template_of((read.value, told))
        check_told(arguments, [output.node for output in outputs])
        options = Options(batched, *given_options, group_inputs(read, order, arguments), *checks)
        formats = read_formats(sparse, triangle, structure, outputs) if is_sparse else None
        if formats is None:
            refuse_beyond_memory(names(structure), [output.node.shape for output in outputs])
        return Problem(arguments, outputs, structure, options, backend, formats)

    is_sparse = sparse is not None or triangle is not None
    with traced("compile", formula), reported(verbose, STAGES), surveyed():
        begin("read")
        start, before, known = time.perf_counter(), balance(), (reduce, batch_axis, accuracy, backend)
        record = None if is_sparse or functions or full_output else find_text(formula, given, inputs, batch, known)
        if record is None:
            return build_kernel(read())
        kept = kept_in(record)
        if kept is None:
            return run_pipeline(read(), record, start, before)
        batched = None if batch is None else frozenset([batch] if isinstance(batch, str) else batch)
        options = Options(batched, *given_options, None, *checks)
        # what the caller gave may change before the formula is read
        formula, given, inputs, batch = deepcopy((formula, given, inputs, batch))
        return restore_kernel(kept, record, options, backend, in_budget(read), start)


def build_kernel(problem: Problem) -> Kernel:
    """Take what the cache has of a formula, or run the pipeline on its graph."""
    start, before = time.perf_counter(), balance()
    record = find_graph(problem)
    kept = None if record is None else kept_in(record)
    if kept is None or record is None:
        return run_pipeline(problem, record, start, before)
    return restore_kernel(kept, record, problem.options, problem.backend, lambda: problem, start)


def run_pipeline(
    problem: Problem, record: FormulaRecord | None, start: float, before: tuple[int, int, int] | None
) -> Kernel:
    """Run the pipeline on a graph, and keep what it gives.

    Parameters
    ----------
    problem : Problem
    record : FormulaRecord or None
        Where it is to be kept; None for what cannot be.
    start : float
        When the call began.
    before : tuple of int, optional
        What the budget held then.
    """
    arguments, outputs, structure, options, backend, formats = problem
    graph = [output.node for output in outputs]
    rewrites = list(join(output.provenance for output in outputs).facts.rewrites)
    begin("simplify")
    from .calculus.passes import settle  # not needed by a value that is known

    nodes = settle(graph, rewrites, derived=_are_derived(outputs), is_sparse=formats is not None)
    count = survey(nodes).length
    note(f"{count} nodes")
    if balance() is not None:  # a run on one sample is work that the text asks for as well
        spend(int(array_time(nodes) / STEP_TIME))
    seconds = time.perf_counter() - start
    hessians, spans = hessians_of(outputs), find_spans(outputs)
    if formats is not None:
        from .runtime.sparse_kernel import build_sparse

        told = {"nodes": count, "simplify_seconds": seconds, "cached": False}

        def origin_of(choice: Choice) -> Origin:
            stats = {**told, **choice.stats, "seconds": time.perf_counter() - start}
            return _origin(choice, lambda: problem, structure, tuple(rewrites), stats)

        return build_sparse(problem, nodes, choose_for, origin_of)
    if record is not None:
        record.collect()
    choice = choose(request_of(list(arguments.values()), nodes, hessians, options), options, backend, count, record)
    stats = {"nodes": count, "simplify_seconds": seconds, **choice.stats, "cached": False}
    shapes = [(name, node.shape) for name, node in zip(names(structure), graph, strict=True)]
    if record is not None:
        begin("keep")
        kept = Kept(
            choice.name,
            choice.reason,
            choice.lowered,
            Graph(tuple(arguments.values())),
            Graph(tuple(nodes)) if choice.lowered is None else None,
            shapes,
            structure,
            hessians,
            tuple(rewrites),
            count,
            spans,
            spent_since(before),
        )
        record.write(kept._asdict())
    stats["seconds"] = time.perf_counter() - start
    trace("kernel.txt", lambda: [f"backend: {backend}", *(f"{key}: {value}" for key, value in stats.items())])
    return _kernel(choice, lambda: problem, structure, options, shapes, spans, tuple(rewrites), stats)


def restore_kernel(
    kept: Kept, record: FormulaRecord, options: Options, backend: str, problem: Callable[[], Problem], start: float
) -> Kernel:
    """Make a kernel of what the cache has.

    Parameters
    ----------
    kept : Kept
    record : FormulaRecord
        Where it was found.
    options : Options
    backend : str
    problem : callable
        Reads the formula, when somebody asks for it.
    start : float
        When the call began.
    """
    note("known")
    if kept.spent is not None:
        charge(*kept.spent)
    late, inputs = cache(problem), list(kept.inputs.roots)

    def derived() -> Sequence[Node]:
        from .calculus.passes import settle

        outputs = late().outputs
        return settle([output.node for output in outputs], [], derived=_are_derived(outputs))

    nodes = LateNodes(derived) if kept.nodes is None else kept.nodes.roots
    request = request_of(inputs, nodes, kept.hessians, options)
    choice = run_lowered(request, kept.lowered, options, BACKENDS[kept.backend], kept.reason, kept.length, record)
    seconds = time.perf_counter() - start
    stats = {"nodes": kept.length, "simplify_seconds": 0.0, **choice.stats, "cached": True, "seconds": seconds}
    return _kernel(choice, late, kept.structure, options, kept.results, kept.spans, kept.rewrites, stats)


def _kernel(
    choice: Choice,
    problem: Callable[[], Problem],
    structure: Any,
    options: Options,
    shapes: Sequence[tuple[str, Shape]],
    spans: tuple[Span, ...],
    rewrites: tuple[str, ...],
    stats: Mapping[str, Any],
) -> Kernel:
    """Put a kernel together; ``problem`` is called when somebody asks for the formula."""
    inputs = choice.request.inputs
    has_positions = any(node.dtype is INT for node in inputs)
    ranges: Sequence[PositionRange] = ()
    if has_positions:
        from .rewrite import inline

        ranges = ranges_of(inline([output.node for output in problem().outputs], ("custom",)))
    return Kernel(
        parameters_of(inputs),
        [Parameter(name, shape) for name, shape in shapes],
        choice.runner,
        _origin(choice, problem, structure, rewrites, stats),
        structure=structure,
        options=options,
        plans=choice.plans,
        ranges=ranges,
        spans=spans,
    )


def _origin(
    choice: Choice,
    problem: Callable[[], Problem],
    structure: Any,
    rewrites: tuple[str, ...],
    stats: Mapping[str, Any],
) -> Origin:
    """Return what a kernel tells about itself, when somebody asks."""
    return Origin(
        backend=choice.backend.serves,
        source=choice.runner.source,
        sympy=lambda: pack(structure, (array.sympy for array in shown(problem().outputs))),
        latex=lambda: "\\\\\n".join(array.latex() for array in shown(problem().outputs)),
        texts=lambda: [str(array) for array in shown(problem().outputs)],
        request=lambda: choice.request,
        named=lambda: _named(problem()),
        apply=lambda given: applied(problem(), given),
        cause=lambda number, values: cause_in(problem(), number, values),
        rebuild=lambda: written(rebuild_kernel, *_packed(problem())),
        problem=problem,
        rewrites=rewrites,
        stats=stats,
    )


def _are_derived(outputs: Sequence[Array]) -> list[bool]:
    return [output.provenance.facts.derived for output in outputs]


def _named(problem: Problem) -> Kernel:
    """Compile the named sub-formulas."""
    found: dict[str, Node] = {}
    for node in postorder(output.node for output in problem.outputs):
        if node.is_named and found.setdefault(node.payload, node) is not node:
            raise ArgumentError(f"two sub-formulas are called {node.payload!r}; expected different names")
    if not found:
        raise ArgumentError("the formula has no named parts; name one with sd.name(part, 'z') or a line 'z = ...'")
    plain = replace(problem.options, reduce=None)
    outputs = list(map(Array, found.values()))
    return build_kernel(Problem(problem.arguments, outputs, template_of(found), plain, "numpy"))


def _packed(problem: Problem) -> tuple[Any, ...]:
    from .rewrite import inline

    arguments, outputs, structure, options, backend, formats = problem
    # a custom function's rule holds Python functions, and its value alone is needed again
    kept = inline([output.node for output in outputs], ("custom",))
    rows, symbols = flatten([*arguments.values(), *kept]), join(output.provenance for output in outputs).facts.symbols
    return rows, tuple(arguments), structure, options, backend, facts_of(outputs), formats, symbols


#: Names in pickles of kernels of earlier versions.
_rebuild = refuse_unnumbered


def rebuild_kernel(
    rows: list[tuple[Any, ...]],
    inputs: tuple[str, ...],
    structure: Any,
    options: Options,
    backend: str,
    known: Sequence[Known],
    formats: Sequence[Format | None] | None = None,
    symbols: Sequence[tuple[str, Any]] = (),
) -> Kernel:
    """Compile a kernel from what its pickle holds."""
    nodes = unflatten(rows)
    arguments = dict(zip(inputs, nodes[: len(inputs)], strict=True))
    outputs = outputs_of(nodes[len(inputs) :], known, symbols)
    return build_kernel(Problem(arguments, outputs, structure, options, backend, formats))
