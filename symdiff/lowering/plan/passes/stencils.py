"""Stencils: borders apart from the inside, and arrays where a fused element would read too many neighbours.

The gradient of a stencil adds up arrays that are padded with zeros, each in another place. Inside, where all of them
have elements, the sum is a stencil again and needs no zeros.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import reduce
from typing import TypeAlias

from ....graph import BOOL, Node, concatenate, elementwise, pad, postorder, rebuild, slicing, zeros
from ....graph.primitives import LISTED
from ....graph.scalars.functions import FUNCTIONS
from ..loops.access import is_long

__all__ = ["moved_arrays", "with_borders_apart"]

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
