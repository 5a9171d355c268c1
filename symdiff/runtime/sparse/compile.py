"""Making kernels that compute and store the nonzeros of results alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ...frontend.array import Array
from ...frontend.numpy.operands import find_spans
from ...frontend.outputs import LEAF, names
from ...graph import Node, constant, postorder, resize
from ...graph.sizes import value
from ...lowering.sparse.layouts import lay_out_result
from ...rewrite import inline, simplify
from ..about.origin import Origin
from ..calls.arguments import Parameter, parameters_of
from ..calls.positions import ranges_of
from ..choose import Choice
from ..kept.lookup import Problem
from ..kernel import Kernel
from ..options import Options
from .kernel import SparseKernel
from .result import Result

__all__ = ["build_sparse"]


def build_sparse(
    problem: Problem,
    nodes: Sequence[Node],
    choose: Callable[[Sequence[Node], Sequence[Node], Options, str], Choice],
    origin_of: Callable[[Choice], Origin],
) -> SparseKernel:
    """Make a kernel of which some results are their nonzeros.

    Parameters
    ----------
    problem : Problem
        With formats.
    nodes : sequence of Node
        Its outputs after simplification.
    choose : callable
        Takes inputs, formulas, options and a backend, and returns what runs them.
    origin_of : callable
        Returns what the kernel tells about itself.
    """
    assert problem.formats is not None
    inputs = list(problem.arguments.values())
    parameters = parameters_of(inputs)
    ranges = ranges_of(inline([output.node for output in problem.outputs], ("custom",)))
    spans = find_spans(problem.outputs)
    plain = replace(problem.options, groups=None)
    results = [
        Result(title, node, form, None if form is None else lay_out_result(title, node, form))
        for title, node, form in zip(names(problem.structure), nodes, problem.formats, strict=True)
    ]
    outputs = [Parameter(result.name, result.shape) for result in results]

    def computed(values: Sequence[Node], direct: bool) -> Kernel:
        choice = choose(inputs, simplify(list(values)), problem.options, problem.backend)
        own = [Parameter(f"values{k}", node.shape) for k, node in enumerate(values)]
        return Kernel(
            parameters,
            own,
            choice.runner,
            origin_of(choice),
            structure=problem.structure if direct else [LEAF] * len(own),
            options=plain if direct else replace(plain, nonfinite=Options.nonfinite),
            plans=choice.plans,
            ranges=ranges,
            spans=spans,
        )

    def fixed(sizes: Mapping[str, int]) -> SparseKernel:
        numbers = {node: constant(value(node.payload.size, sizes)) for node in postorder(nodes) if node.is_size}
        made = resize([*inputs, *nodes], numbers, sizes)
        # what it computes has the same bits, and need not be built for each number
        backend = {"auto": "interpreter", "native": "interpreter"}.get(problem.backend, problem.backend)
        own = problem._replace(
            arguments=dict(zip(problem.arguments, made[: len(inputs)], strict=True)),
            outputs=[*map(Array, made[len(inputs) :])],
            options=plain,
            backend=backend,
        )
        return build_sparse(own, made[len(inputs) :], choose, origin_of)

    return SparseKernel(
        parameters,
        outputs,
        results,
        computed,
        fixed,
        structure=problem.structure,
        options=problem.options,
        ranges=ranges,
        spans=spans,
    )
