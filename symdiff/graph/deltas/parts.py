"""Cotangents that stand in a part of an array, and are zero in the rest: only what meets the part is computed.

What a slice leaves out is not observed. Its cotangent is zeros around a part, and a product with it is zeros around the
product with a part of the factor: what the factor is elsewhere, infinite or nan, does not matter, and is not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import (
    Item,
    Labels,
    Node,
    broadcast_to,
    constant,
    elementwise,
    gather,
    label_sizes,
    pad,
    part_of_part,
    rebuild,
    reshape,
    scatter,
    slicing,
    whole,
    zeros,
)
from ..sizes import Dim
from .affine import STRUCTURE
from .einsum import einsum, is_structured, is_zero, scale_by

__all__ = ["as_pad", "is_part", "narrowed", "plain", "scaled_part", "summed", "support"]


def is_part(value: Node) -> bool:
    """Tell whether an array is zeros around a part, or around rows at some positions."""
    return value.op in ("pad", "scatter") or as_pad(value) is not None


def as_pad(value: Node) -> Node | None:
    """Return zeros around a part, also for a row of another array, and times numbers; None for others."""
    return value if value.is_pad else _around(value, 1)


def _around(value: Node, least: int) -> Node | None:
    """Return unit vectors times numbers, and times zeros around a part unless ``least`` is 0 of them, as one pad."""
    if not value.is_contraction:
        return None
    labels, out, repeated = value.payload
    pads = [k for k, arg in enumerate(value.args) if arg.is_pad]
    units = {labels[k][0]: arg.payload.at for k, arg in enumerate(value.args) if arg.is_onehot}
    numbers = [arg for arg in value.args if arg.shape == ()]
    if not least <= len(pads) <= 1 or len(pads) + len(units) + len(numbers) < len(value.args):
        return None
    inner = value.args[pads[0]] if pads else None
    own = labels[pads[0]] if pads else ()
    places = [*own, *units]
    if repeated or not places or len(set(places)) < len(places) or sorted(places) != sorted(out):
        return None
    items = dict(zip(own, inner.payload.items, strict=True)) if inner is not None else {}
    rest = [label for label in own if items[label][2] is not None]
    parts = numbers if inner is None else [*numbers, inner.args[0]]
    kept = [()] * len(numbers) + ([tuple(rest)] if inner is not None else [])
    part = einsum(parts or [constant(1.0)], kept or [()], tuple(label for label in out if label in rest), {})
    return pad(part, tuple(items.get(label, (units.get(label, 0), 1, None)) for label in out), value.shape)


def scaled_part(factor: Node, value: Node) -> Node:
    """Return a factor, which may be broadcast, times zeros around a part: zeros around a product."""
    value = as_pad(value) or value
    if value.op == "scatter":
        axis, indices = value.payload
        own = factor.ndim + axis
        if own >= 0 and factor.shape[own] != 1:
            factor = gather(factor, own, indices)
        return scatter(scale_by(factor, value.args[0]), value.ndim + axis, indices, value.shape[axis])
    items = value.payload.items
    picks: list[Item] = []
    gap = value.ndim - factor.ndim
    for item, size, n in zip(items[gap:], factor.shape, value.shape[gap:], strict=True):
        repeats = size == 1 and n != 1
        picks.append((0, 1, None if item[2] is None else 1) if repeats else item)
    return pad(scale_by(slicing(factor, tuple(picks)), value.args[0]), items, value.shape)


def summed(a: Node, b: Node) -> Node:
    """Return the sum of two arrays: of zeros around two parts, zeros around the least part that holds both."""
    if a.op != b.op and "pad" in (a.op, b.op):  # an element beside a part
        a, b = (_as_part(one) or one for one in (a, b))
    joined = _least_part(a, b) if a.is_pad and b.is_pad else None
    if joined is None:
        return elementwise("add", (a, b))
    shape = tuple(count for _, _, count in joined if count is not None)
    inside = []
    for one in (a, b):
        moved = [(item[0] - low, 1, item[2]) for item, (low, _, _) in zip(one.payload.items, joined, strict=True)]
        inside.append(pad(one.args[0], tuple(moved), shape))
    return pad(elementwise("add", (inside[0], inside[1])), joined, a.shape)


def _as_part(value: Node, depth: int = 4) -> Node | None:
    """Return elements and parts, also some that are added up, as zeros around one part; None for others."""
    if not value.is_addition:
        return value if value.is_pad else _around(value, 0)
    a, b = [_as_part(arg, depth - 1) if depth else None for arg in value.args]
    joined = summed(a, b) if a is not None and b is not None else None
    return joined if joined is not None and joined.is_pad else None


def _least_part(a: Node, b: Node) -> tuple[Item, ...] | None:
    """Return the least part that holds two, None where that is not known, or all."""
    found: list[Item] = []
    for one, other, size in zip(a.payload.items, b.payload.items, a.shape, strict=True):
        (start, step, many), (first, pace, few) = one, other
        count, number = 1 if many is None else many, 1 if few is None else few
        if step != 1 or pace != 1:
            return None
        ahead, ends = first - start, (start + count, first + number)
        behind = ends[1] - ends[0]
        if not isinstance(ahead, int) or not (isinstance(behind, int) or size in ends):
            return None
        low = start if ahead >= 0 else first
        # what reaches the end of the axis reaches as far as any
        high = size if size in ends else ends[isinstance(behind, int) and behind >= 0]
        found.append((low, 1, high - low))
    is_all = all(item == whole(size) for item, size in zip(found, a.shape, strict=True))
    return None if is_all else tuple(found)


#: Operations that move elements, and zeros to zeros.
_MOVING = frozenset(("pad", "slice", "scatter", "gather", "reshape"))


def plain(value: Node) -> Node:
    """Return zeros around zeros around a part, or a slice of such, as zeros around a part where that can be told."""
    if value.is_reshape and value.args[0].is_pad:
        return _squeezed(value)
    if value.op not in ("pad", "slice") or not value.args[0].is_pad:
        return zeros(value.shape) if value.args and value.op in _MOVING and is_zero(value.args[0]) else value
    return _taken(value) if value.is_slice else _joined(value)


def _squeezed(value: Node) -> Node:
    """Return zeros around a part, less axes of size 1, as that."""
    (padded,) = value.args
    kept = [(item, size) for item, size in zip(padded.payload.items, padded.shape, strict=True) if size != 1]
    shape = tuple(size for _, size in kept)
    if shape != value.shape or any(item[2] is None for item, _ in kept) or 0 in padded.args[0].shape:
        return value
    items = tuple(item for item, _ in kept)
    counts = tuple(count for _, _, count in items if count is not None)
    return pad(reshape(padded.args[0], counts), items, shape)


def _joined(value: Node) -> Node:
    (inner,) = value.args
    return pad(inner.args[0], part_of_part(value.payload.items, inner.payload.items), value.shape)


def _taken(value: Node) -> Node:
    (padded,) = value.args
    placed: list[Item] = []
    inner: list[Item] = []
    met: list[Item] = []
    for outer, item in zip(padded.payload.items, value.payload.items, strict=True):
        found = _met(outer, item)
        if found is None:
            return value
        mine, where_put = found
        if mine[2] == 0:
            return zeros(value.shape)
        if outer[2] is not None:
            inner.append(mine)
        elif item[2] is not None:
            return value  # an axis of the slice that the part has not
        if item[2] is not None:
            placed.append(where_put)
        met.append(mine)
    return pad(slicing(padded.args[0], tuple(inner)), tuple(placed), value.shape)


def _met(outer: Item, item: Item) -> tuple[Item, Item] | None:
    """Return which elements of a part a slice takes, and where in the slice they are; None where that is not known.

    Where they do not meet, no element is.
    """
    start, pace, count = outer
    first, step, length = item
    if pace not in (1, -1) or step not in (1, -1):
        return None
    many, few = 1 if count is None else count, 1 if length is None else length
    nothing: tuple[Item, Item] = ((0, 1, 0), (0, 1, 0))
    low = start if pace == 1 else start - (many - 1)
    begin = first if step == 1 else first - (few - 1)
    ahead, behind = begin - low, (low + many) - (begin + few)
    if _at_least(begin - (low + many), 0) or _at_least(low - (begin + few), 0):
        return nothing
    if not isinstance(ahead, int) or not isinstance(behind, int):
        return None
    if isinstance(few, int):
        before, past = max(0, -ahead), max(0, -behind)
        kept: Dim = few - before - past
    elif ahead >= 0 and behind >= 0:
        before, past, kept = 0, 0, few
    else:
        return None
    skipped = before if step == 1 else past  # places of the slice in front of those that meet the part
    at = first + skipped * step
    own = (at - start) * pace
    return (own, step * pace, None if length is None else kept), (skipped, 1, None if length is None else kept)


def _at_least(size: Dim, least: int) -> bool:
    return isinstance(size, int) and size >= least


def narrowed(
    operands: Sequence[Node], labels: Sequence[Labels], out: Labels, sizes: Mapping[int, Dim], at: int
) -> Node | None:
    """Return a contraction with zeros around a part, in which only the part is summed over; None where it is no such.

    Parameters
    ----------
    operands, labels, out, sizes : sequence of Node, sequence of tuple of int, tuple of int, mapping of int to Dim
        As :func:`symdiff.graph.deltas.einsum.einsum` takes them.
    at : int
        The operand that may be zeros around a part.
    """
    found, own = as_pad(operands[at]), labels[at]
    if found is None:
        return None
    value = found
    if len(set(own)) < len(own) or len(set(out)) < len(out):
        return None
    places = zip(own, value.payload.items, value.shape, strict=True)
    cuts = {label: item for label, item, size in places if item != whole(size)}
    known: dict[int, Dim] = dict(sizes)
    parts: list[Node] = []
    for i, (operand, mine) in enumerate(zip(operands, labels, strict=True)):
        known.update(zip(mine, operand.shape, strict=True))
        if i == at:
            parts.append(value.args[0])
        elif cuts.keys().isdisjoint(mine):
            parts.append(operand)
        elif is_structured(operand) or len(set(mine)) < len(mine):
            return None
        else:
            items = tuple(cuts.get(label, whole(size)) for label, size in zip(mine, operand.shape, strict=True))
            parts.append(slicing(operand, items))
    gone = {label for label, item in cuts.items() if item[2] is None}
    kept = [tuple(label for label in mine if label not in gone) for mine in labels]
    left = {label: cuts[label][2] if label in cuts else size for label, size in sizes.items()}
    result = einsum(
        parts,
        kept,
        tuple(label for label in out if label not in gone),
        {label: size for label, size in left.items() if size is not None},
    )
    if cuts.keys().isdisjoint(out):
        return result
    shape = tuple(known[label] for label in out)
    return pad(result, tuple(cuts.get(label, whole(known[label])) for label in out), shape)


def support(value: Node, depth: int = 8) -> Node | None:
    """Return an array of numbers that are 0 where one is zero by structure, and above it elsewhere; None where none is.

    Structure is what stands around a part, or beside a row or an element of the identity.
    """
    op = value.op
    if is_zero(value):
        return zeros(value.shape)
    if not depth or not value.ndim:
        return None
    if op in STRUCTURE:
        return value
    if value.is_constant:
        return None if value.value.all() else constant((value.value != 0.0).astype(float))
    if op in ("pad", "scatter", "slice", "reshape"):
        (inner,) = value.args
        found = support(inner, depth - 1)
        if op in ("slice", "reshape"):
            return None if found is None else rebuild(value, (found,))
        return rebuild(value, (broadcast_to(constant(1.0), inner.shape) if found is None else found,))
    if value.is_multiplicative or value.is_negation:
        first = support(value.args[0], depth - 1) if value.args[0].shape == value.shape else None
        if not value.is_multiplication or value.args[1].shape != value.shape:
            return first
        second = support(value.args[1], depth - 1)
        return second if first is None else first if second is None else scale_by(first, second)
    if value.is_additive:
        both = [support(arg, depth - 1) if arg.shape == value.shape else None for arg in value.args]
        return None if both[0] is None or both[1] is None else both[0] + both[1]
    return _support_of_product(value, depth) if value.is_contraction else None


def _support_of_product(value: Node, depth: int) -> Node | None:
    labels, out, _ = value.payload
    parts: list[Node] = []
    kept: list[Labels] = []
    for arg, own in zip(value.args, labels, strict=True):
        found = arg if arg.op in STRUCTURE else support(arg, depth - 1)
        if found is not None:
            parts.append(found)
            kept.append(own)
    return einsum(parts, kept, out, label_sizes(value)) if parts else None
