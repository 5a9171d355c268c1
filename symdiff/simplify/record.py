"""What was rewritten for stability on the way to a formula, kept beside its nodes.

A derivative is taken of the stable form of a formula, so its own graph no longer shows what
was rewritten; the kernel compiled from it should tell all the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from ..graph import Node

_lines: WeakKeyDictionary[Node, tuple[str, ...]] = WeakKeyDictionary()


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
