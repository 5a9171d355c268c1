"""Columns of eigenvectors: which they are, and the function of the matrix that a sum over them is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from ...graph import (
    Item,
    Node,
    constant,
    contract,
    elementwise,
    gather,
    matrix,
    postorder,
    rebuild,
    reshape,
    slicing,
    whole,
)
from ...graph.contractions import parameter
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import Dim
from .recognition import OfEigenvalues, as_function, within
from .spectral import function_of


class EvenColumns(NamedTuple):
    """Columns from one at an even step: those of an axis of symbolic size."""

    start: Dim
    step: int
    length: Dim


#: Which columns are taken, in their order: their numbers, where these are known.
Picked: TypeAlias = "EvenColumns | tuple[int, ...]"


class Columns(NamedTuple):
    """Some columns of eigenvectors."""

    vectors: Node
    picked: Picked


def all_of(size: Dim) -> Picked:
    """Return all columns of a matrix."""
    return tuple(range(size)) if isinstance(size, int) else EvenColumns(0, 1, size)


def part_of(picked: Picked, item: Item) -> Picked | None:
    """Return a regular part of some columns; that of one place is the column there."""
    start, step, length = item
    length = 1 if length is None else length
    if isinstance(picked, EvenColumns):
        return _plain(picked.start + start * picked.step, step * picked.step, length)
    if not (isinstance(start, int) and isinstance(length, int)):
        return None
    return tuple([picked[start + k * step] for k in range(length)])


def _plain(start: Dim, step: int, length: Dim) -> Picked:
    if isinstance(start, int) and isinstance(length, int):
        return tuple(range(start, start + step * length, step))
    return EvenColumns(start, step, length)


def gathered_of(picked: Picked, indices: Sequence[int]) -> Picked | None:
    """Return the columns at some places of those given."""
    if not isinstance(picked, EvenColumns):
        return tuple([picked[k] for k in indices])
    if not isinstance(picked.start, int):
        return None
    return tuple([picked.start + k * picked.step for k in indices])


def along_last(x: Node, picked: Picked) -> Node:
    """Take the places of some columns from the last axis of an array."""
    if not isinstance(picked, EvenColumns):
        step = picked[1] - picked[0] if len(picked) > 1 else 1
        if picked != tuple(range(picked[0], picked[0] + step * len(picked), step or 1)):
            return gather(x, x.ndim - 1, picked)
        picked = EvenColumns(picked[0], step, len(picked))
    return slicing(x, (*map(whole, x.shape[:-1]), (picked.start, picked.step, picked.length)))


def _taken_as(node: Node, base: Node) -> Picked | None:
    """Return which places of ``base``'s last axis a node has, if it is that and nothing else."""
    steps = []
    while node is not base:
        if not (node.is_slice or node.is_gather) or node.ndim != base.ndim:
            return None
        steps.append(node)
        (node,) = node.args
    found: Picked | None = all_of(base.shape[-1])
    for step in reversed(steps):
        if found is None:
            return None
        if step.is_gather:
            found = gathered_of(found, step.payload.indices) if step.payload.axis == -1 else None
            continue
        *lead, last = step.payload.items
        if any(item != whole(size) for item, size in zip(lead, base.shape, strict=False)):
            return None
        found = part_of(found, last)
    return found


def _inward(weight: Node) -> Node:
    """Move what takes places of a formula's values, or their shape, to the eigenvalues inside."""
    if not (weight.is_reshape or (weight.ndim == 1 and (weight.is_slice or weight.is_gather))):
        return weight
    (arg,) = weight.args
    if arg.op not in FUNCTIONS:
        return weight
    new: dict[Node, Node] = {}
    for node in postorder([arg], lambda node: node.op not in FUNCTIONS or node.shape != arg.shape):
        for one in node.args:
            if one not in new:
                new[one] = _placed(weight, one) if one.shape == arg.shape else one
        new[node] = elementwise(node.op, tuple([new[one] for one in node.args]), node.dtype)
    return new[arg]


def _placed(taking: Node, x: Node) -> Node:
    return reshape(x, taking.shape) if taking.is_reshape else rebuild(taking, (x,))


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Give the first and the end of each run of neighbours."""
    rising = sorted(numbers)
    first = rising[0]
    for number, following in zip(rising, [*rising[1:], -1], strict=True):
        if following != number + 1:
            yield first, number + 1
            first = following


def _parts(picked: Picked, weights: Sequence[Node]) -> list[tuple[float, Dim, Dim]] | None:
    """Return runs of neighbouring columns, each with its number in the product of constant weights."""
    if isinstance(picked, EvenColumns):
        if weights or abs(picked.step) != 1:
            return None
        last = picked.start + picked.step * (picked.length - 1)
        first, end = (picked.start, last + 1) if picked.step > 0 else (last, picked.start + 1)
        return [(1.0, first, end)]
    if len(set(picked)) < len(picked):
        return None
    by_weight: dict[float, list[int]] = {}
    for place, column in enumerate(picked):
        weight = 1.0
        for one in weights:
            weight *= float(one.value[place])
        if weight:
            by_weight.setdefault(weight, []).append(column)
    return [(weight, *run) for weight, numbers in by_weight.items() for run in _runs(numbers)]


def weighted(columns: Columns, weights: Sequence[Node]) -> Node | None:
    """Return V diag(w) V^T of some columns V, as a function of the matrix; None if the weights are none.

    Parameters
    ----------
    columns : Columns
    weights : sequence of Node
        Their product is w: vectors of numbers, or formulas of the eigenvalues of the columns.
    """
    (a,) = columns.vectors.args
    x = matrix("eigvalsh", a)
    fixed = [w for w in weights if w.is_constant]
    parts = _parts(columns.picked, fixed)
    if parts is None:
        return None
    rest = [_inward(w) for w in weights if not w.is_constant]
    found = OfEigenvalues(constant(1.0), [])
    if rest:
        own = along_last(x, columns.picked)
        if any(w.shape != own.shape for w in rest):
            return None
        axes = tuple(range(own.ndim))
        product = contract(rest, [axes] * len(rest), axes)
        leaves = [node for node in postorder([product]) if _taken_as(node, x) == columns.picked]
        function = as_function(product, own, leaves)
        if function is None:
            return None
        found = function
    parameters = list(found.parameters)

    def taken(node: Node) -> Node:
        if node not in parameters:
            parameters.append(node)
        return parameter(parameters.index(node))

    total: Node | None = None
    for weight, first, end in parts:
        part = within(found.formula if weight == 1.0 else weight * found.formula, first, end, x, taken)
        total = part if total is None else total + part
    return function_of(constant(0.0) if total is None else total, a, parameters)
