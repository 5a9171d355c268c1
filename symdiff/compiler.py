"""The whole way from a formula to a kernel, one stage a line.

    text ────parse──▶┐
    SymPy ───read────▶ graph ──inline──▶ graph ──simplify──▶ graph ──guard──▶ graph
    symbols ─────────▶┘                                                         │
             ┌──────────────────────────────────────────────────────────────────┘
             ├──unroll──▶ program ───┬──emit C──▶ build ──▶ Kernel
             ├──plan────▶ programs ──┴──assemble (bytecode)──▶ Kernel
             └──emit NumPy────────────────────────────────────▶ Kernel

Derivatives are formulas, so they enter like any other (see :mod:`symdiff.frontend.derivatives`).
Which of the ways a formula takes on the right is decided in :mod:`symdiff.runtime.choose`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from .calculus.demand import guard
from .codegen import Request
from .errors import ArgumentError
from .frontend.array import Array
from .frontend.formula import Formula, merge_shapes, order_inputs, read_formula
from .frontend.numpy.operands import as_node, provenance_of
from .frontend.outputs import LEAF, is_structure, leaves, names, pack, template_of
from .frontend.provenance import Facts, Provenance, join
from .frontend.sympy import is_sympy
from .graph import Node, flatten, postorder, resize, unflatten
from .graph.dump import listing
from .graph.size_equations import match
from .ground.budget import budgeted
from .ground.guard import guarded
from .ground.limits import Budget
from .ground.pickles import refuse_unnumbered, written
from .ground.tracing import record, traced
from .lower import unroll
from .runtime.arguments import Parameter
from .runtime.choose import choose
from .runtime.groups import Group, Groups
from .runtime.kernel import Kernel
from .runtime.options import Options
from .runtime.origin import Origin
from .runtime.runners import BACKENDS
from .runtime.runners.native import target_of
from .simplify import inline, join_cosines, simplify

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
    "shapes",
    "budget",
)


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
    build_seconds: float | None = None,
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
        Order of the kernel's arguments; a dict, list, tuple or dataclass of inputs in it is one argument, of this
        structure. It must hold what the formula depends on, and may hold more.
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
    with traced("compile", formula):
        read = read_formula(formula, merge_shapes(shapes, named_shapes), OPTIONS)
        arguments = order_inputs(read, inputs)
        batched = None if batch is None else frozenset(order_names(read, batch))
        read.refuse_unused()
        groups = group_inputs(read, inputs, arguments)
        options = Options(batched, reduce, batch_axis, threads, accuracy, build_seconds, groups)
        outputs = leaves(read.value)
        if not outputs:
            raise ArgumentError("no outputs; expected at least one formula")
        return build_kernel(arguments, outputs, template_of(read.value), options, backend)


def order_names(formula: Formula, wanted: Sequence[Any]) -> list[str]:
    """Return the names of some of the inputs."""
    several = [wanted] if isinstance(wanted, str | Array) else leaves(wanted)
    found = [
        part
        for one in several
        for part in ([one] if isinstance(one, str) and one not in formula.groups else leaves(formula.read(one)))
    ]
    for one in found:
        if not isinstance(one, str | Array):
            raise ArgumentError(f"batch= holds a {type(one).__name__}; expected inputs, or names of them")
    wanted_names = [one if isinstance(one, str) else str(one.node.payload) for one in found]
    formula.unused.difference_update(wanted_names)
    return wanted_names


def group_inputs(formula: Formula, inputs: Sequence[Any] | None, arguments: Mapping[str, Node]) -> Groups | None:
    """Return which inputs each argument of the kernel holds, or None where each is one."""
    known = formula.groups
    wanted: list[Any] = [inputs] if isinstance(inputs, str | Array) or is_sympy(inputs) else list(inputs or ())
    if inputs is None:
        held = {name: group for group, own in known.items() for name in map(_name_of, leaves(own))}
        wanted = list(dict.fromkeys(held.get(name, name) for name in arguments))
    groups = []
    for one in wanted:
        own = known.get(one, one) if isinstance(one, str) else one
        parts = [part if isinstance(part, str) else _name_of(formula.read(part)) for part in leaves(own, is_sympy)]
        name = one if isinstance(one, str) else None if is_structure(one) and not is_sympy(one) else parts[0]
        groups.append(Group(name, template_of(own, is_sympy), tuple(parts)))
    return Groups(tuple(groups)) if any(group.template != LEAF for group in groups) else None


def _name_of(symbol: Any) -> str:
    return str(symbol.node.payload)


def build_kernel(
    arguments: Mapping[str, Node], outputs: Sequence[Array], structure: Any, options: Options, backend: str
) -> Kernel:
    """Run the pipeline on a graph."""
    start = time.perf_counter()
    graph = [output.node for output in outputs]
    facts = join(output.provenance for output in outputs).facts
    rewrites = list(facts.rewrites)

    record("graph.txt", lambda: listing(graph))
    inlined = inline(graph)
    record("inlined.txt", lambda: listing(inlined))
    simplified = join_cosines(simplify(inlined, rewrites), rewrites)
    record("simplified.txt", lambda: [*(f"rewritten: {line}" for line in rewrites), *listing(simplified)])
    nodes = guard(simplified)
    record("guarded.txt", lambda: listing(nodes))
    stats: dict[str, Any] = {"nodes": len(postorder(nodes)), "simplify_seconds": time.perf_counter() - start}
    hessians = [k for k, output in enumerate(outputs) if output.node in output.provenance.facts.hessians]
    inputs = list(arguments.values())
    request = Request(
        inputs,
        nodes,
        lower=partial(unroll, inputs, nodes, hessians=hessians),
        machine=partial(target_of, options.accuracy),
        batched=[options.is_batched(name) for name in arguments],
        reduce=options.is_reduced,
        columns=options.in_columns,
        usual=[options.batch is not None and name in options.batch for name in arguments],
    )
    choice = choose(request, options, backend)
    stats |= {**choice.stats, "seconds": time.perf_counter() - start}
    record("kernel.txt", lambda: [f"backend: {backend}", *(f"{key}: {value}" for key, value in stats.items())])

    origin = Origin(
        backend=choice.backend.serves,
        source=choice.source,
        sympy=lambda: pack(structure, (array.sympy for array in _shown(outputs))),
        latex=lambda: "\\\\\n".join(array.latex() for array in _shown(outputs)),
        named=lambda: _named(arguments, graph, options),
        apply=partial(_applied, list(arguments.values()), outputs, structure),
        rebuild=lambda: written(rebuild_kernel, *_packed(arguments, outputs, structure, options, backend)),
        rewrites=tuple(rewrites),
        stats=stats,
    )
    parameters = [Parameter(name, node.shape) for name, node in arguments.items()]
    results = [Parameter(name, node.shape) for name, node in zip(names(structure), graph, strict=True)]
    return Kernel(parameters, results, choice.runner, origin, structure=structure, options=options, plans=choice.plans)


def _applied(inputs: Sequence[Node], outputs: Sequence[Array], structure: Any, given: Sequence[Any]) -> Any:
    """Return the formula with other arrays in place of its inputs, of the shapes that they have."""
    nodes = [as_node(one) for one in given]
    sizes = match([str(own.payload) for own in inputs], [own.shape for own in inputs], [one.shape for one in nodes])
    made = resize([output.node for output in outputs], dict(zip(inputs, nodes, strict=True)), sizes)
    return pack(structure, (Array(node, provenance_of(*given)) for node in made))


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
    plain = replace(options, reduce=None)
    return build_kernel(arguments, list(map(Array, found.values())), template_of(found), plain, "numpy")


def _packed(
    arguments: Mapping[str, Node], outputs: Sequence[Array], structure: Any, options: Options, backend: str
) -> tuple[Any, ...]:
    # a custom function's rule holds Python functions, and its value alone is needed again
    kept = inline([output.node for output in outputs], ("custom",))
    facts = [(output.node, output.provenance.facts) for output in outputs]
    known = [(own.rewrites, node in own.hessians, own.derived) for node, own in facts]
    return (flatten([*arguments.values(), *kept]), tuple(arguments), structure, options, backend, known)


#: What kernels of earlier versions name in their pickles.
_rebuild = refuse_unnumbered


def rebuild_kernel(
    rows: list[tuple[Any, ...]],
    inputs: tuple[str, ...],
    structure: Any,
    options: Options,
    backend: str,
    known: Sequence[tuple[tuple[str, ...], bool, bool]],
) -> Kernel:
    """Compile a kernel from what its pickle holds."""
    nodes = unflatten(rows)
    arguments = dict(zip(inputs, nodes[: len(inputs)], strict=True))
    outputs = [
        Array(node, Provenance(Facts((), rewrites, (node,) if is_hessian else (), derived)))
        for node, (rewrites, is_hessian, derived) in zip(nodes[len(inputs) :], known, strict=True)
    ]
    return build_kernel(arguments, outputs, structure, options, backend)
