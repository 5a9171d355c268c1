"""The variables of a derivative: inputs, parts of inputs (``X[0]``), or sub-formulas.

A sub-formula is treated as if it were an input, so one stands in its place while the formula is
differentiated, and it is put back into the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ..errors import ArgumentError, DisconnectedInputError
from ..graph import Node, inputs_of, placeholder, postorder, substitute
from ..graph.sizes import show
from ..printing import text
from ..simplify import join_cosines, simplify, stabilize
from .linear import LINEAR

__all__ = ["Cut", "InputPart", "Known", "Orders", "disconnection"]

#: What simplification made of nodes, for derivatives of one formula by several arrays.
Known: TypeAlias = dict[Node, Node]
_VIEWS = ("slice", "gather", "reshape", "contract")


class InputPart:
    """A part of an independent array: the array, and the linear steps from it to the part."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.steps: list[Node] = []
        base = node
        while base.op in _VIEWS and len(base.args) == 1 and _is_choice(base):
            self.steps.append(base)
            base = base.args[0]
        if base.op not in ("input", "named"):
            base, self.steps = node, []
        self.base = base

    def push(self, tangent: Node, prefix: int) -> Node:
        """Return the tangent of the whole array when the part moves along ``tangent``."""
        for step in self.steps:
            tangent = LINEAR[step.op].pull(step, 0, tangent, prefix)
        return tangent

    def pull(self, cotangent: Node, prefix: int) -> Node:
        """Return the part of a cotangent of the whole array."""
        for step in reversed(self.steps):
            cotangent = LINEAR[step.op].push(step, 0, cotangent, prefix)
        return cotangent


def _is_choice(node: Node) -> bool:
    """Tell whether a step takes each element at most once, so that it is a part and not a formula."""
    if node.op == "gather":
        return len(set(node.payload.indices)) == len(node.payload.indices)
    if node.op == "contract":
        labels, out, repeated = node.payload
        return not repeated and set(labels[0]) == set(out)
    return True


class Cut:
    """The formula with its variables made inputs, stabilised; and the way back."""

    def __init__(self, node: Node, group: Sequence[Node], disconnected: str) -> None:
        if disconnected not in ("error", "zero"):
            raise ArgumentError(f"disconnected={disconnected!r}; expected 'error' or 'zero'")
        views = [InputPart(w) for w in group]
        below = {view.base for view in views}.intersection(postorder([node]))
        for view in views:
            if disconnected == "error" and view.base not in below:
                raise DisconnectedInputError(disconnection(node, view.node))
        self.views = views
        bases = list(dict.fromkeys(view.base for view in views))
        stand_in = {b: placeholder(("wrt", i), b.shape) for i, b in enumerate(bases) if b.op != "input"}
        self._check_nested(bases)
        self.back = {s: b for b, s in stand_in.items()}
        (cut,) = substitute([node], stand_in) if stand_in else [node]
        for view in views:
            view.base = stand_in.get(view.base, view.base)
        self.rewrites: list[str] = []
        (self.node,) = join_cosines(stabilize([cut], self.rewrites), self.rewrites)

    @staticmethod
    def _check_nested(bases: list[Node]) -> None:
        several, above = set(bases), set[Node]()
        for node in postorder(bases) if len(several) > 1 else ():
            if any(arg in several or arg in above for arg in node.args):
                above.add(node)
        if not above.isdisjoint(several):
            raise ArgumentError(
                "one of the variables is computed from another; expected independent ones "
                "(differentiate with respect to each in a call of its own)"
            )

    def finish(self, results: Sequence[Node], known: Known | None = None) -> list[Node]:
        """Simplify results and put the sub-formulas back."""
        return _put_back(simplify(results, known=known), self.back)


class Orders:
    """A formula and the variables of repeated derivatives: sub-formulas are inputs until the end.

    A simplified first derivative need not contain a sub-formula any more: with respect to ``z = -x``, that of
    ``1 / z`` is ``-1 / x ** 2``, from which the second with respect to ``z`` cannot be found.
    """

    def __init__(self, f: Node, group: Sequence[Node], disconnected: str) -> None:
        self._back: dict[Node, Node] = {}
        if any(InputPart(w).base.op != "input" for w in group):
            self._back = Cut(f, group, disconnected).back
            stand_in = {base: stand for stand, base in self._back.items()}
            f, *group = substitute([f, *group], stand_in)
        self.formula, self.wrt = f, list(group)

    def finish(self, results: Sequence[Node]) -> list[Node]:
        """Put the sub-formulas back."""
        return _put_back(results, self._back)


def _put_back(results: Sequence[Node], back: Mapping[Node, Node]) -> list[Node]:
    """Put sub-formulas back as they were written, so that they may be variables of the result again."""
    if back:
        known = {base: base for base in back.values()}
        return simplify(substitute(results, back), known=known, stability=False)
    return list(results)


def disconnection(f: Node, w: Node) -> str:
    """Say that a formula does not depend on a variable."""
    known = ", ".join(n.payload for n in inputs_of([f]) if isinstance(n.payload, str)) or "no input"
    return (
        f"the formula of shape {show(f.shape)} does not depend on {_name(w)} (it depends on: {known}); differentiate "
        "with respect to one of those, or pass disconnected='zero' for zeros"
    )


def _name(node: Node) -> str:
    if node.op in ("input", "named") and isinstance(node.payload, str):
        return repr(node.payload)
    shown = text(node)
    return f"the sub-formula {shown if len(shown) <= 60 else shown[:57] + '...'}"
