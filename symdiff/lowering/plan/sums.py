"""Sums of arrays: which terms are added up once, and where a sum is a step of its own.

**Opposite arrays are added up once**: the forces on both ends of a pair are one array, added here and subtracted there.
A sign is moved out of a sum, which is exact but for the sign of a zero.

**Sums of arrays stand in place of sums of formulas** where a step makes most of each term as well, or terms share rows:
a value and its gradient go over the same pairs, so that one loop computes both.

**Arrays that are added up in many places are padded once.** The gradient of a stencil adds up multiples of one array,
padded with zeros, each in another place. That array among enough zeros is a step; the sum reads it in all places, and
is a stencil again. Along borders each term is a choice, since a factor may be infinite where there is a zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence, Set
from functools import reduce
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np

from ...graph import (
    BOOL,
    Node,
    concatenate,
    constant,
    contract,
    elementwise,
    label_sizes,
    number,
    pad,
    postorder,
    rebuild,
    reshape,
    slicing,
    substitute,
)
from ...graph.primitives import LISTED, Item
from ...graph.scalars.arithmetic import scaled
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import Dim, nominal
from .access import is_long
from .cost import NOMINAL
from .element import task_of
from .steps import LoopStep, Step

__all__ = ["are_shared", "moved_arrays", "padded_once", "subtract_opposites", "sum_arrays"]

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


#: Terms of a sum from which their arrays are padded once (of fewer, a loop has pieces), and terms for each array.
PADDED, EACH = 9, 3
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


class _Block(NamedTuple):
    """A multiple of an array in zeros: its factors, of one number each, the array, and where that begins."""

    factors: tuple[Node, ...]
    array: Node
    at: tuple[int, ...]


def padded_once(roots: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """Write sums of arrays that are padded in many places as sums of parts of arrays that are padded once.

    Returns
    -------
    list of Node
        The roots.
    list of Node
        The arrays among zeros, and of these arrays and their sums what is read several times: each is to be a step.
    """
    order = postorder(roots)
    if sum(map(_is_block, order)) < PADDED:
        return list(roots), []
    sums: set[Node] = set()
    for node in order:
        if not node.is_additive or any(arg.shape != node.shape for arg in node.args):
            continue
        if any(_is_block(x) or x in sums for _, x in map(_factors, node.args)):
            sums.add(node)
    found: dict[Node, list[_Block]] = {}
    read = {_factors(arg)[1] for node in order if node in sums for arg in node.args}
    for node in order:
        if node in sums and node not in read:
            blocks = _blocks(node, sums)
            if len(blocks) >= max(PADDED, EACH * len({block.array for block in blocks})):
                found[node] = blocks
    new: dict[Node, Node] = {}
    apart: list[Node] = []
    for node in order:
        if node in found:
            blocks = [block._replace(array=new[block.array]) for block in found[node]]
            new[node], padded = _from_padded(node, blocks)
            apart += padded
        else:
            new[node] = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
    made = [new[root] for root in roots]
    users = Counter(arg for node in postorder(made) for arg in set(node.args))
    several = dict.fromkeys((*(node.args[0] for node in apart), *(new[node] for node in found)))
    return made, [*apart, *(node for node in several if users[node] > 1)]


def _is_block(node: Node) -> bool:
    """Tell whether a node is an array of fixed sizes, without gaps, in zeros; the samples' axis it has whole."""
    return node.is_pad and all(
        (step == 1 and isinstance(start, int) and isinstance(count, int) and isinstance(size, int))
        or (start == 0 and count == size)
        for (start, step, count), size in zip(node.payload.items, node.shape, strict=True)
    )


def _factors(node: Node) -> tuple[tuple[Node, ...], Node]:
    """Return the factors of one number each, and what they multiply."""
    factors: list[Node] = []
    while node.is_negation or (node.is_multiplication and 0 in (node.args[0].ndim, node.args[1].ndim)):
        if node.is_negation:
            factors.append(constant(-1.0))
            (node,) = node.args
        else:
            first, second = node.args if node.args[0].ndim == 0 else node.args[::-1]
            factors.append(first)
            node = second
    return tuple(factors), node


def _blocks(total: Node, sums: Set[Node]) -> list[_Block]:
    """Return the multiples of arrays that a sum adds up, also of sums that are padded in turn."""
    found: list[_Block] = []
    waiting = [_Block((), total, (0,) * total.ndim)]
    while waiting:
        before, node, at = waiting.pop()
        own, node = _factors(node)
        factors = (*before, *own)
        if node in sums:
            negative = (*factors, constant(-1.0)) if node.is_subtraction else factors
            waiting += [_Block(negative, node.args[1], at), _Block(factors, node.args[0], at)]
        elif _is_block(node):
            starts = [start for start, _, _ in node.payload.items]
            inner = tuple([a + b for a, b in zip(at, starts, strict=True)])
            waiting.append(_Block(factors, node.args[0], inner))
        else:
            found.append(_Block(factors, node, at))
    return found


def _from_padded(total: Node, blocks: Sequence[_Block]) -> tuple[Node, list[Node]]:
    """Return a sum of parts of padded arrays, and these."""
    padded: dict[Node, tuple[Node, tuple[int, ...]]] = {}
    for array in dict.fromkeys(block.array for block in blocks):
        places = [block.at for block in blocks if block.array is array]
        first, last = (tuple(map(f, zip(*places, strict=True))) for f in (min, max))
        shape = tuple([n + high - low for n, low, high in zip(total.shape, first, last, strict=True)])
        items = tuple([(at, 1, n) for at, n in zip(last, array.shape, strict=True)])
        padded[array] = (pad(array, items, shape), last)
    inside = []
    for axis, size in enumerate(total.shape):
        low = max(block.at[axis] for block in blocks)
        ends = [block.at[axis] + block.array.shape[axis] for block in blocks]
        inside.append((low, min(ends)) if isinstance(size, int) else (0, size))
    if any(isinstance(high, int) and high - low < 1 for low, high in inside):
        inside = []

    cut = [not inside or inside[axis] != (0, size) for axis, size in enumerate(total.shape)]
    masks = {array: _inside(array, *padded[array], cut) for array in padded}

    def within(box: Sequence[tuple[int, Dim]], *, border: bool) -> Node:
        terms = []
        for factors, array, at in blocks:
            source, last = padded[array]
            items = tuple([(b - a + low, 1, high - low) for a, b, (low, high) in zip(at, last, box, strict=True)])
            term = slicing(source, items)
            for factor in factors:
                term = elementwise("multiply", (factor, term))
            terms.append(_where_there_is(term, masks[array], items) if border else term)
        return reduce(lambda x, y: elementwise("add", (x, y)), terms)

    def parts(box: tuple[tuple[int, Dim], ...]) -> Node:
        axis = len(box)
        if axis == total.ndim:
            return within(box, border=False)
        (low, high), size = inside[axis], total.shape[axis]
        rest = tuple([(0, other) for other in total.shape[axis + 1 :]])
        ends = [(0, low), (high, size)] if isinstance(size, int) else []
        made = [within((*box, end, *rest), border=True) if end[1] > end[0] else None for end in ends]
        made.insert(1, parts((*box, (low, high))))
        there = [part for part in made if part is not None]
        return concatenate(there, axis) if len(there) > 1 else there[0]

    if not inside:
        return within([(0, size) for size in total.shape], border=True), [node for node, _ in padded.values()]
    return parts(()), [node for node, _ in padded.values()]


def _inside(array: Node, padded: Node, at: Sequence[int], cut: Sequence[bool]) -> list[Node | None]:
    """Return for each axis that is cut, and of fixed size, 1 where an array stands within zeros, and 0 elsewhere."""
    masks: list[Node | None] = []
    for size, length, start, chosen in zip(array.shape, padded.shape, at, cut, strict=True):
        mask = None
        if chosen and isinstance(size, int) and isinstance(length, int):
            places = np.arange(length)
            mask = constant(((places >= start) & (places < start + size)).astype(float))
        masks.append(mask)
    return masks


def _where_there_is(term: Node, masks: Sequence[Node | None], items: Sequence[Item]) -> Node:
    """Return zeros where a part of a term lies beside its array.

    A part that lies within it along an axis has a choice along that axis all the same, so that one program serves all
    borders.
    """
    there = None
    for axis, (mask, item) in enumerate(zip(masks, items, strict=True)):
        if mask is not None:
            part = slicing(mask, (item,))
            along = reshape(part, (1,) * axis + part.shape + (1,) * (term.ndim - 1 - axis))
            there = along if there is None else elementwise("multiply", (there, along))
    if there is None:
        return term
    return elementwise("where", (elementwise("less", (constant(0.0), there)), term, constant(0.0)))
