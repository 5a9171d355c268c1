"""SymPy to graph: the readers of all classes, those of :mod:`.forms` among them, put to work on one expression."""

from __future__ import annotations

from typing import Any

from ...errors import UnsupportedError
from ...graph import Node, matrix, reshape, substitute
from ...ground.stages import later
from . import read_derivatives, read_indices, read_matrices
from .forms import Adjugate, AdjugateDifferential, ArrayOperation, Definitions, MatrixOperation
from .inputs import Inputs, Scope
from .read_scalars import READERS, Reading, Steps, each, reads

#: The modules whose readers make up the table.
SOURCES = (read_matrices, read_indices, read_derivatives)


def read(expr: Any, inputs: Inputs) -> Node:
    """Return the graph of a SymPy expression; see :func:`symdiff.frontend.sympy.from_sympy`."""
    before = len(inputs)
    reading = Reading(inputs, READERS)
    if isinstance(expr, Definitions):
        for symbol, value in expr.definitions:
            reading.defined[symbol] = reading.read(value)
        expr = expr.result
    node = reading.read(expr)
    unknown = sorted(reading.ranged - inputs.known_sizes())
    if unknown:
        raise UnsupportedError(
            f"a range up to {unknown[0]!r} came, a symbolic size that no matrix of the formula has; expected whole "
            "numbers"
        )
    replace = inputs.settle(before)
    return substitute([node], replace)[0] if replace else node


@reads(Adjugate)
def _adjugate(run: Reading, expr: Any, scope: Scope) -> Steps:
    return matrix("adjugate", (yield expr.arg, scope))


@reads(AdjugateDifferential)
def _adjugate_differential(run: Reading, expr: Any, scope: Scope) -> Steps:
    return matrix("adjugate_differential", *(yield from each(expr.args, scope)))


@reads(MatrixOperation, ArrayOperation)
def _operation(run: Reading, expr: Any, scope: Scope) -> Steps:
    text, ranks, size, *operands = expr.args
    nodes = yield from each(operands, scope)
    shape = tuple(run.inputs.size(one, scope) for one in size.args)
    stands: dict[Node, Node] = {}
    text_front = later.text
    known = {"_sizes_": text_front.make_input("_sizes_", shape)}
    for place, (node, rank) in enumerate(zip(nodes, ranks.args, strict=True)):
        own = reshape(node, node.shape[: int(rank)]) if node.ndim != rank else node
        held = known[f"_a{place}_"] = text_front.make_input(f"_a{place}_", own.shape)
        stands[held.node] = own
    made: Node = text_front.parse_within(str(text), known).result.node
    (result,) = substitute([made], stands)
    return reshape(result, shape)
