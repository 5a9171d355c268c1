"""Opposite arrays are added up once: the forces on both ends of a pair are one array, added here and subtracted there.

A sign is moved out of a sum, which is exact but for the sign of a zero.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

from ....graph import Node, elementwise, label_sizes, number, postorder, rebuild
from ....graph.scalars.arithmetic import scaled
from ..loops.access import is_long

__all__ = ["subtract_opposites"]

#: A sign, and what is the same for a node and its negative.
Form: TypeAlias = tuple[int, Hashable]
#: Operations that leave the elements of their first argument as they are.
_MOVES = frozenset({"reshape", "slice", "gather"})


def subtract_opposites(roots: Sequence[Node]) -> list[Node]:
    """Write sums along long axes of x and of -x, in whatever form, as sums of x alone."""
    order = postorder(roots)
    if sum(map(_adds_up, order)) < 2:
        return list(roots)
    forms = _Forms()
    first: dict[Hashable, tuple[int, Node]] = {}
    new: dict[Node, Node] = {}
    for node in order:
        made = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        if _adds_up(made):
            sign, form = forms.of(made.args[0])
            own, x = first.setdefault(form, (sign, made.args[0]))
            if x is not made.args[0] and x.shape == made.args[0].shape:
                made = rebuild(made, (x,))
                made = made if own == sign else elementwise("negative", (made,))
        new[node] = made
    return [new[root] for root in roots]


def _adds_up(node: Node) -> bool:
    """Tell whether a node adds up elements of one array along a long axis."""
    if node.op == "scatter":
        return is_long(node.args[0].shape[node.payload.axis])
    if not node.is_contraction or len(node.args) != 1 or scaled(node)[1] is not node:
        return False
    sizes = label_sizes(node)
    return any(is_long(sizes[label]) for label in sizes if label not in node.payload.out)


class _Forms:
    """Forms of nodes, and numbers for these, so that a form is as long as its operation."""

    def __init__(self) -> None:
        self.known: dict[Node, Form] = {}
        self.numbers: dict[Hashable, int] = {}
        self.place: dict[Node, int] = {}

    def of(self, root: Node) -> Form:
        """Return the form of a node."""
        for node in postorder([root]):
            if node not in self.known:
                self.place[node] = len(self.place)
                sign, form = self._form(node)
                number_of = form if isinstance(form, int) else self.numbers.setdefault(form, len(self.numbers))
                self.known[node] = sign, number_of
        return self.known[root]

    def _form(self, node: Node) -> Form:
        forms = [self.known[arg] for arg in node.args]
        value = number(node)
        if value is not None:
            return (-1 if value < 0 else 1), ("number", abs(value))
        if node.is_negation:
            ((sign, form),) = forms
            return -sign, form
        if node.is_multiplication:
            (a, x), (b, y) = forms
            return a * b, (node.op, frozenset((x, y)), x == y)
        if node.is_division:  # of a divisor, the sign of a zero counts
            return forms[0][0], (node.op, forms[0][1], node.args[1])
        if node.is_subtraction:
            first, second = sorted(node.args, key=self.place.__getitem__)
            return (1 if first is node.args[0] else -1), (node.op, first, second)
        if node.is_choice and number(node.args[2]) == 0:
            return forms[1][0], (node.op, node.args[0], forms[1][1], node.shape)
        if node.is_contraction:
            sign = -1 if sum(each < 0 for each, _ in forms) % 2 else 1
            return sign, (node.op, node.payload, *(form for _, form in forms))
        if node.op in _MOVES:
            return forms[0][0], (node.op, node.payload, node.shape, forms[0][1])
        return 1, node
