"""The rewriting machine: a table of rules, and one bottom-up pass that applies them.

Each rule is one row: a name, the pattern it looks for and what it puts there, and a
function that does so for one node whose arguments are simplified already. Rules run in the
order of the table, and each makes the formula smaller or more regular, so the pass ends.
Values are kept where they are finite: nothing is cancelled that could hide a NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from ..collector import paused
from ..functions import FUNCTIONS, scalar_constant
from ..graph import REAL, Node, broadcast_to, elementwise, postorder, rebuild
from ..sizes import Shape
from .record import recall

Rewrite: TypeAlias = Callable[[Node], Node | None]


@dataclass(frozen=True)
class Rule:
    """One rewrite.

    Parameters
    ----------
    name : str
        How the documentation and ``kernel.rewrites`` call it.
    ops : tuple of str
        Operations it looks at.
    pattern, result : str
        What it finds and what it puts there, as a person writes it.
    rewrite : callable
        Takes a node, gives the new one or None.
    kind : {"algebra", "stability", "arrays", "reading"}
        "stability" rules also run before differentiation, "arrays" rules have nothing to do
        with scalars, and "reading" rules only serve formulas small enough to be read.
    """

    name: str
    ops: tuple[str, ...]
    pattern: str
    result: str
    rewrite: Rewrite
    kind: str = "algebra"


RULES: list[Rule] = []
Table: TypeAlias = dict[str, tuple[Rule, ...]]

#: Formulas up to so many nodes are simplified for reading, until nothing changes, so many times at most.
_SMALL, _PASSES = 2_000, 5


def rule(ops: str, pattern: str, result: str, kind: str = "algebra") -> Callable[[Rewrite], Rewrite]:
    """Add a row to the table; ``ops`` lists the operations it looks at, separated by spaces."""

    def register(rewrite: Rewrite) -> Rewrite:
        RULES.append(Rule(rewrite.__name__.strip("_"), tuple(ops.split()), pattern, result, rewrite, kind))
        _tables.cache_clear()
        return rewrite

    return register


@cache
def _tables(*kinds: str) -> tuple[Table, Table]:
    """Return the rules of some kinds by operation: for scalars, and for arrays."""
    scalars: dict[str, list[Rule]] = {}
    arrays: dict[str, list[Rule]] = {}
    for row in RULES:
        if row.kind in kinds:
            for op in row.ops:
                arrays.setdefault(op, []).append(row)
                if row.kind != "arrays":
                    scalars.setdefault(op, []).append(row)
    return {op: tuple(rows) for op, rows in scalars.items()}, {op: tuple(rows) for op, rows in arrays.items()}


@paused
def simplify(roots: Sequence[Node], rewrites: list[str] | None = None) -> list[Node]:
    """Apply every rule everywhere.

    Parameters
    ----------
    roots : sequence of Node
    rewrites : list of str, optional
        Receives a line for each kind of stability rewrite that was made.
    """
    order = postorder(roots)
    if rewrites is not None:
        rewrites.extend(line for line in recall(order) if line not in rewrites)
    if len(order) > _SMALL:
        return _run(roots, _tables("stability", "algebra", "arrays"), rewrites)
    current = list(roots)
    for _ in range(_PASSES):
        following = _run(current, _tables("stability", "algebra", "arrays", "reading"), rewrites)
        if following == current:
            break
        current = following
    return current


@paused
def stabilize(roots: Sequence[Node], rewrites: list[str] | None = None) -> list[Node]:
    """Apply the stability rules alone."""
    return _run(roots, _tables("stability"), rewrites)


def _run(roots: Sequence[Node], tables: tuple[Table, Table], rewrites: list[str] | None) -> list[Node]:
    scalars, arrays = tables
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        old = node.args
        if old:
            args = tuple([new[arg] for arg in old])
            result = node if args == old else rebuild(node, args)
            table = arrays if result.shape else scalars
            new[node] = _settle(result, tables, rewrites) if result.op in table else result
        else:
            new[node] = node
    return [new[root] for root in roots]


def _settle(node: Node, tables: tuple[Table, Table], rewrites: list[str] | None) -> Node:
    """Apply rules to one node until none fits."""
    while True:
        for row in tables[1 if node.shape else 0].get(node.op, ()):
            found = row.rewrite(node)
            if found is not None and found is not node:
                if rewrites is not None and row.kind == "stability":
                    line = f"{row.pattern} → {row.result}"
                    if line not in rewrites:
                        rewrites.append(line)
                node = found
                break
        else:
            return node


def settle(node: Node) -> Node:
    """Simplify one node whose arguments are simplified already."""
    return _settle(node, _tables("stability", "algebra", "arrays"), None)


def make(op: str, *args: Node) -> Node:
    """Apply a scalar function and simplify the result."""
    return settle(elementwise(op, args, FUNCTIONS[op].gives))


def spread(node: Node, shape: Shape) -> Node:
    """Repeat a node to ``shape`` if it is smaller."""
    return node if node.shape == shape else broadcast_to(node, shape)


def peel(node: Node) -> Node:
    """Look through names at what is named."""
    while node.op == "named":
        node = node.args[0]
    return node


def is_number(node: Node, value: float) -> bool:
    """Tell whether every element of ``node`` is the constant ``value``."""
    return scalar_constant(node) == value


def number(node: Node) -> float | None:
    """Return the value of a constant without axes."""
    return float(node.value) if node.op == "constant" and node.shape == () and node.dtype is REAL else None


def scaled(node: Node) -> tuple[float, Node]:
    """Return (c, x) with node = c x."""
    if node.op == "multiply":
        c = number(node.args[0])
        if c is not None:
            return c, node.args[1]
    if node.op == "negative":
        return -1.0, node.args[0]
    return 1.0, node
