"""What is known of a formula beside its graph: how it came about.

A derivative is taken of the stable form of a formula, so its own graph no longer shows what
was rewritten; the kernel compiled from it should tell all the same. And it is a derivative,
which is shown collected, while what a person wrote is shown as it was written.

Equal formulas are one node, so a node tells of the last derivation that led to it, and nothing
of what other derivations made of its parts.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..graph import Node, mark_origin


def remember(node: Node, lines: Iterable[str]) -> None:
    """Keep that ``node`` is a derivative, and what was rewritten to reach it, each line once."""
    if node.args:
        mark_origin(node, tuple(dict.fromkeys(lines)))


def recall(roots: Iterable[Node]) -> list[str]:
    """Return what was rewritten to reach the derivatives that ``roots`` are or are made of, each line once."""
    lines: dict[str, None] = {}
    seen: set[Node] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            if node.origin is None:
                stack.extend(node.args)
            else:
                lines.update(dict.fromkeys(node.origin))
    return list(lines)


def holds_derivative(nodes: Iterable[Node]) -> bool:
    """Tell whether any of ``nodes`` is a derivative."""
    return any(node.origin is not None for node in nodes)
