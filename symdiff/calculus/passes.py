"""The passes from a graph as it was written to the one that is lowered."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Node, postorder
from ..graph.dump import listing
from ..graph.kinds import TAKEN, WRAPPER
from ..graph.primitives import OF_MATRICES
from ..ground.tracing import record as trace
from ..rewrite import finish, inline, join_cosines, simplify, stabilize
from ..rewrite.balanced import balance_products
from ..rewrite.counting import count_from_whole
from ..rewrite.narrowing import narrow
from .demand import mask_matrices
from .lifted import join_recurrences, lift_products

__all__ = ["settle"]


def settle(
    graph: Sequence[Node], rewrites: list[str], *, derived: Sequence[bool] = (), is_sparse: bool = False
) -> list[Node]:
    """Run the passes from a graph as it was written to the one that is lowered; ``rewrites`` gets those made.

    ``derived`` says which are derivatives, whose products nobody wrote. What is sparse keeps parts at positions: a
    pattern is exact for these, and not for a choice between parts.
    """
    trace("graph.txt", lambda: listing(graph))
    inlined = inline(_narrowed_functions(graph, rewrites))
    trace("inlined.txt", lambda: listing(inlined))
    simplified = finish(join_cosines(inline(simplify(inlined, rewrites, written=True)), rewrites))  # they make barriers
    trace("simplified.txt", lambda: [*(f"rewritten: {line}" for line in rewrites), *listing(simplified)])
    nodes = mask_matrices(lift_products(join_recurrences(narrow(balance_products(simplified, derived)))))
    nodes = nodes if is_sparse else count_from_whole(nodes)
    trace("guarded.txt", lambda: listing(nodes))
    return nodes


def _narrowed_functions(graph: Sequence[Node], rewrites: list[str]) -> Sequence[Node]:
    """Narrow what holds functions of matrices: inlining writes these as loops, into which no index moves."""
    if not any(root.below & WRAPPER and root.below & TAKEN for root in graph):
        return graph
    if not any(node.op in OF_MATRICES for node in postorder(graph)):
        return graph
    return narrow(stabilize(inline(graph, ("named",)), rewrites))
