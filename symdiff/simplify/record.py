"""What is known of a formula beside its graph: how it came about.

A derivative is taken of the stable form of a formula, so its own graph no longer shows what
was rewritten; the kernel compiled from it should tell all the same. And it is a derivative,
which is shown collected, while what a person wrote is shown as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary, WeakSet

from ..graph import Node

_lines: WeakKeyDictionary[Node, tuple[str, ...]] = WeakKeyDictionary()
_derivatives: WeakSet[Node] = WeakSet()


def remember(node: Node, lines: Iterable[str]) -> None:
    """Keep what was rewritten to reach ``node``."""
    new = tuple(lines)
    if new and node.op not in ("input", "constant"):
        _lines[node] = tuple(dict.fromkeys([*_lines.get(node, ()), *new]))


def recall(nodes: Iterable[Node]) -> list[str]:
    """Return what was rewritten to reach any of ``nodes``, each line once."""
    if not _lines:
        return []
    return list(dict.fromkeys(line for node in nodes for line in _lines.get(node, ())))


def mark_derivative(node: Node) -> None:
    """Keep that ``node`` is a derivative."""
    if node.args:
        _derivatives.add(node)


def holds_derivative(nodes: Iterable[Node]) -> bool:
    """Tell whether any of ``nodes`` is a derivative."""
    return any(node in _derivatives for node in nodes)
