"""What is computed, without names, barriers and custom functions: the last step before scheduling."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Node, postorder, rebuild, substitute
from .record import recall, remember


def inline(roots: Sequence[Node]) -> list[Node]:
    """Drop names and barriers, and put custom functions' bodies in place: what is computed is left."""
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        if node.op in ("named", "stop_gradient"):
            new[node] = new[node.args[0]]
        elif node.op == "custom":
            rule, body = node.payload
            (plain,) = inline([body])
            stand_in = {b: new[a] for b, a in zip(rule.parameters, node.args, strict=True)}
            (new[node],) = substitute([plain], stand_in)
        else:
            new[node] = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        if new[node] is not node:
            remember(new[node], recall([node]))
    return [new[root] for root in roots]
