"""Sums of arrays: which terms are added up once, and where a sum is a step of its own.

**Opposite arrays are added up once**: the forces on both ends of a pair are one array, added here and subtracted there.
A sign is moved out of a sum, which is exact but for the sign of a zero.

**Sums of arrays stand in place of sums of formulas** where a step makes most of each term as well, or terms share rows:
a value and its gradient go over the same pairs, so that one loop computes both.

**Stencils have their borders apart from the inside.** The gradient of a stencil adds up arrays that are padded with
zeros, each in another place. Inside, where all of them have elements, the sum is a stencil again and needs no zeros.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from functools import reduce
from math import prod
from typing import TypeAlias

from ...graph import (
    BOOL,
    Node,
    concatenate,
    contract,
    elementwise,
    label_sizes,
    number,
    pad,
    postorder,
    rebuild,
    slicing,
    substitute,
    zeros,
)
from ...graph.primitives import LISTED
from ...graph.scalars.arithmetic import scaled
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import nominal
from .access import is_long
from .cost import NOMINAL
from .element import task_of
from .steps import LoopStep, Step

__all__ = ["are_shared", "moved_arrays", "subtract_opposites", "sum_arrays", "with_borders_apart"]

#: Terms that caches keep until they are added up.
MOST_TERMS = 1 << 19


def sum_arrays(roots: Sequence[Node], steps: Sequence[Step]) -> tuple[list[Node], frozenset[Node]]:
    """Write the sums of a plan that are worth it as sums of arrays.

    Returns
    -------
    list of Node
        The roots.
    frozenset of Node
        The arrays of terms, which are to be there; empty where no sum is worth it.
    """
    maps = {step.loops for step in steps if isinstance(step, LoopStep) and not (step.total or step.fills)}
    # pieces of loops run one after the other, so that all terms are there before they are added up
    maps -= {
        step.loops
        for step in steps
        if isinstance(step, LoopStep)
        and len(step.pieces) > 1
        and prod(nominal(size, NOMINAL) for size in step.loops) > MOST_TERMS
    }
    new: dict[Node, Node] = {}
    terms: set[Node] = set()
    for step in steps:
        if isinstance(step, LoopStep) and step.total and (step.loops in maps or (step.repeats_rows and not step.kept)):
            for node in step.results:
                own, total = _sum_of(node)
                if own.args:
                    terms.add(own)
                    new[node] = total
    if not terms:
        return list(roots), frozenset()
    # a sum may stand within the terms of another one
    made = substitute(roots, new)
    return made, frozenset(terms)


def are_shared(terms: frozenset[Node], steps: Sequence[Step]) -> bool:
    """Tell whether each array of terms is made beside other arrays, or of rows that terms share."""
    return all(
        isinstance(step, LoopStep) and (step.repeats_rows or not terms.issuperset(step.results))
        for step in steps
        if not terms.isdisjoint(step.results)
    )


def _sum_of(node: Node) -> tuple[Node, Node]:
    """Return the terms of a sum as an array, and the sum of that."""
    labels, out, _ = node.payload
    task = task_of(node)
    assert task is not None
    sizes = label_sizes(node)
    kept = (*task.over, *(label for label in out if label not in task.over))
    terms = contract(node.args, labels, kept, {k: sizes[k] for k in kept})
    return terms, contract([terms], [kept], out)


#: A sign, and what is the same for a node and its negative.
Form: TypeAlias = tuple[int, Hashable]
#: Operations that leave the elements of their first argument as they are.
_ONE_TO_ONE = frozenset({"reshape", "slice", "gather"})


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
        if node.op in _ONE_TO_ONE:
            return forms[0][0], (node.op, node.payload, node.shape, forms[0][1])
        return 1, node


#: Padded arrays from which their sum has its borders apart (of fewer, a loop has pieces), and the least part of an axis
#: that is inside.
PADDED, INSIDE = 9, 0.5
#: An array, and where it begins among zeros.
Block: TypeAlias = tuple[Node, tuple[int, ...]]

#: Operations that move elements along an axis.
_MOVES = frozenset({"slice", "pad", "concatenate", *LISTED})


def moved_arrays(roots: Sequence[Node]) -> frozenset[Node]:
    """Return the computed arrays of which parts are moved: each may be a step of its own.

    Fused, an element of a stencil of a stencil reads the neighbours of its neighbours, and the ranges at the edges
    multiply. Where that costs too much, the inner stencil becomes a step.
    """
    return frozenset(
        arg
        for node in postorder(roots)
        if node.op in _MOVES
        for arg in node.args
        if arg.op in FUNCTIONS and arg.dtype is not BOOL and any(map(is_long, arg.shape))
    )


def with_borders_apart(roots: Sequence[Node]) -> list[Node]:
    """Write sums of many padded arrays as their inner part, without zeros, and strips around it."""
    order = postorder(roots)
    if sum(map(_is_block, order)) < PADDED:
        return list(roots)
    sums: set[Node] = set()
    for node in order:
        if node.is_addition and any(_is_block(arg) or arg in sums for arg in node.args):
            sums.add(node)
    within = {arg for node in order if node in sums or _is_block(node) for arg in node.args}
    new: dict[Node, Node] = {}
    for node in order:
        if node in sums and node not in within:
            new[node] = _apart(node, _blocks(node, sums), new)
        else:
            new[node] = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
    return [new[root] for root in roots]


def _is_block(node: Node) -> bool:
    """Tell whether a node is an array of fixed sizes, without gaps, in zeros."""
    if not node.is_pad or not all(isinstance(size, int) for size in node.shape):
        return False
    return all(
        step == 1 and isinstance(start, int) and isinstance(count, int) for start, step, count in node.payload.items
    )


def _blocks(total: Node, sums: Set[Node]) -> list[Block]:
    """Return the arrays that a sum adds up, and where they begin, also of sums that are padded in turn."""
    found: list[Block] = []
    waiting = [(total, (0,) * total.ndim)]
    while waiting:
        node, at = waiting.pop()
        if node in sums:
            waiting += [(arg, at) for arg in reversed(node.args)]
        elif _is_block(node):
            starts = [start for start, _, _ in node.payload.items]
            waiting.append((node.args[0], tuple([a + b for a, b in zip(at, starts, strict=True)])))
        else:
            found.append((node, at))
    return found


def _apart(total: Node, blocks: Sequence[Block], new: Mapping[Node, Node]) -> Node:
    inside = []
    for axis, size in enumerate(total.shape):
        low = max(at[axis] for _, at in blocks)
        high = min(at[axis] + x.shape[axis] for x, at in blocks)
        if len(blocks) < PADDED or high - low < INSIDE * size:
            return rebuild(total, tuple([new[arg] for arg in total.args]))
        inside.append((low, high))
    made = [(new[x], at) for x, at in blocks]

    def parts(box: tuple[tuple[int, int], ...]) -> Node:
        axis = len(box)
        if axis == total.ndim:
            return _within(made, box)
        low, high = inside[axis]
        rest = tuple([(0, size) for size in total.shape[axis + 1 :]])
        ends = [_within(made, (*box, end, *rest)) for end in ((0, low), (high, total.shape[axis]))]
        return concatenate([ends[0], parts((*box, (low, high))), ends[1]], axis)

    return parts(())


def _within(blocks: Sequence[Block], box: Sequence[tuple[int, int]]) -> Node:
    """Return a block of a sum of arrays in zeros."""
    shape = tuple([high - low for low, high in box])
    found = []
    for x, at in blocks:
        taken, placed = [], []
        for start, size, (low, high) in zip(at, x.shape, box, strict=True):
            first, last = max(start, low), min(start + size, high)
            taken.append((first - start, 1, last - first))
            placed.append((first - low, 1, last - first))
        if all(count > 0 for _, _, count in taken):
            found.append(pad(_part(x, tuple(taken)), tuple(placed), shape))
    return reduce(lambda x, y: elementwise("add", (x, y)), found) if found else zeros(shape)


def _part(x: Node, items: tuple[tuple[int, int, int], ...]) -> Node:
    """Return a part of an array, of a multiple as the multiple of a part: so multiples of one array stay such."""
    if x.is_multiplication and 0 in (x.args[0].ndim, x.args[1].ndim):
        return elementwise("multiply", tuple([_part(arg, items) if arg.ndim else arg for arg in x.args]))
    return slicing(x, items)
