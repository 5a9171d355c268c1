"""Formulas without names, barriers and custom functions: the last step before lowering."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Node, postorder, rebuild, substitute, with_results
from ..graph.kinds import WRAPPER

#: What stands in a formula and computes nothing of its own.
WRAPPERS = ("named", "stop_gradient", "custom")


def inline(roots: Sequence[Node], wrappers: Sequence[str] = WRAPPERS) -> list[Node]:
    """Drop names and barriers, and put custom functions' bodies in place: what is computed is left.

    ``wrappers`` are the kinds to drop. Names in a custom function are its own and go with it.
    """
    if not any(root.below & WRAPPER for root in roots):
        return list(roots)
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        if node.op == "custom" and node.op in wrappers:
            rule, body = node.payload
            (plain,) = inline([body], (*wrappers, "named"))
            stand_in = {b: new[a] for b, a in zip(rule.parameters, node.args, strict=True)}
            (new[node],) = substitute([plain], stand_in)
        elif node.op == "recurrence":
            args = tuple([new[arg] for arg in node.args])
            new[node] = with_results(node, args, inline(node.payload.body.results, wrappers))
        elif node.op in WRAPPERS and node.op in wrappers:
            new[node] = new[node.args[0]]
        else:
            new[node] = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
    return [new[root] for root in roots]
