"""Functions of a caller's that are called once, on symbols of their own, and closed.

What such a function takes from outside is found in what it gives, and becomes an argument: whatever looks at a formula
sees all that it depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar

from ..._kernels.system.scopes import Bound
from ...errors import ArgumentError, LimitError
from ...graph import Node, dependents, inputs_of, placeholder, postorder
from ...graph.primitives import Placeholder
from ...graph.sizes import Shape

__all__ = ["Own", "Scope", "called", "captured_by", "entered", "refuse_strays", "scopes"]

#: Functions within each other.
DEPTH_LIMIT = 100


class Scope:
    """One call of a function while it is written out; its placeholders are known in it alone.

    ``made`` keeps the custom functions called in it. A rule that calls one as the function did gets the same, so
    that functions within functions are not written out twice as often at each level.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.in_rule = False
        self.made: dict[tuple[object, tuple[Node, ...]], Node] = {}

    def stand_in(self, what: str, shape: Shape, dtype: str) -> Node:
        """Return a placeholder of this call, for what messages call ``what``."""
        return placeholder(Own(self, what), shape, dtype)


class Own:
    """The function that a placeholder belongs to, and what it stands for."""

    def __init__(self, scope: Scope, what: str) -> None:
        self.scope = scope
        self.what = what

    def __str__(self) -> str:
        return self.what.replace(" ", "_")

    @staticmethod
    def of(node: Node) -> Own | None:
        """Return whose placeholder a node is, None for any other node."""
        key = node.name.key if node.is_input and isinstance(node.name, Placeholder) else None
        return key if isinstance(key, Own) else None

    def title(self) -> str:
        """Return how messages call it."""
        return f"{self.what} of {self.scope.name}"


scopes: ContextVar[tuple[Scope, ...]] = ContextVar("scopes", default=())


def entered(name: str, endless: Callable[[str], LimitError]) -> Bound[tuple[Scope, ...]]:
    """Open the scope of one call, the last of those it gives; ``endless`` is the error of what calls itself."""
    outer = scopes.get()
    if len(outer) >= DEPTH_LIMIT:
        raise endless(f"over {DEPTH_LIMIT} deep, which is the limit")
    return Bound(scopes, (*outer, Scope(name)))


def captured_by(roots: Sequence[Node], own: Sequence[Node]) -> list[Node]:
    """Return the largest arrays below ``roots`` that are computed from symbols, and not from ``own``.

    They are the largest, so that named parts and sub-formulas that are variables can be found in them; but absolute
    values and opposites, which take less time than an array more.
    """
    order = postorder(roots)
    inside = dependents(order, own)
    outside = dependents(order, [node for node in order if node.is_input and node not in inside])
    refuse_strays(outside)
    found: dict[Node, None] = {}
    for node in order:
        if node in inside:
            found.update((arg, None) for arg in node.args if arg in outside and arg not in inside)
    found.update((root, None) for root in roots if root in outside and root not in inside)
    return list(dict.fromkeys(map(_below_signs, found)))


def _below_signs(node: Node) -> Node:
    while node.op in ("abs", "negative"):
        (node,) = node.args
    return node


def refuse_strays(nodes: Iterable[Node]) -> None:
    """Refuse what a custom function was called with, outside of it.

    Raises
    ------
    ArgumentError
        If one of the nodes is an argument or a seed of a custom function that has been left.
    """
    for node in nodes:
        own = Own.of(node)
        if own is not None and own.scope not in scopes.get():
            name = own.scope.name
            raise ArgumentError(
                f"{own.title()} is used outside of it, where it has no value; expected symbols, or what {name} returned"
            )


def called(node: Node) -> str:
    """Return how messages call an array from outside: by its name or its symbols."""
    if node.is_named:
        return repr(node.payload)
    names = []
    for symbol in inputs_of([node]):
        key = Own.of(symbol)
        names.append(repr(symbol.name) if key is None else key.title())
    shown = " and ".join(names) if len(names) < 4 else f"{', '.join(names[:3])} and others"
    return shown if node.is_input else f"a formula of {shown}"
