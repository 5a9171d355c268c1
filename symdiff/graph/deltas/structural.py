"""Deltas kept as factors through slices, paddings and masks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .. import Item, Labels, Node, concatenate, delta, onehot, pad, reshape, scatter, slicing
from ..scalars.functions import where
from ..sizes import Dim, Shape, product
from .affine import ONE, is_identity, stays
from .einsum import einsum, is_structured


def take_items(node: Node, items: tuple[Item, ...]) -> Node:
    """Slice ``node``, through a product with deltas when it is one."""
    if not is_structured(node):
        return slicing(node, items)
    own = tuple(range(node.ndim))
    operands, labels, out = [node], [own], []
    for axis, ((start, step, length), size) in enumerate(zip(items, node.shape, strict=True)):
        if length is None:
            operands.append(onehot(size, start))
            labels.append((axis,))
        elif (start, step, length) == (0, 1, size):
            out.append(axis)
        else:
            operands.append(delta(length, size, start, step))
            labels.append((-1 - axis, axis))
            out.append(-1 - axis)
    return einsum(operands, labels, tuple(out))


def put_items(node: Node, items: tuple[Item, ...], shape: Shape) -> Node:
    """Pad ``node`` with zeros, as a product with deltas when it is one or fills a single index."""
    if not is_structured(node) and all(length is not None for _, _, length in items):
        return pad(node, items, shape)
    operands, labels, out = [node], [tuple(range(node.ndim))], []
    axis = 0
    for place, ((start, step, length), size) in enumerate(zip(items, shape, strict=True)):
        if length is None:
            operands.append(onehot(size, start))
            labels.append((-1 - place,))
            out.append(-1 - place)
            continue
        if (start, step, length) == (0, 1, size):
            out.append(axis)
        else:
            operands.append(delta(length, size, start, step))
            labels.append((axis, -1 - place))
            out.append(-1 - place)
        axis += 1
    return einsum(operands, labels, tuple(out))


def transposed(x: Node) -> Node:
    """Exchange the last two axes, of a product with deltas, too."""
    own = tuple(range(x.ndim))
    return einsum([x], [own], (*own[:-2], own[-1], own[-2]))


def mask_product(mask: Node, x: Node) -> Node:
    """Return ``x`` where ``mask`` holds and a strong zero elsewhere, keeping deltas as factors."""
    if not is_structured(x):
        return where(mask, x, 0.0)
    labels, out, repeated = x.payload if x.is_contraction else ((tuple(range(x.ndim)),), tuple(range(x.ndim)), ())
    pairs = list(zip(x.args if x.is_contraction else (x,), labels, strict=True))
    offset = x.ndim - mask.ndim
    spread = {out[a + offset] for a, n in enumerate(mask.shape) if n != 1}
    # an identity makes two labels one: factors take the mask's, so that both stay on its axes
    same = {k: i for n, own in pairs if n.is_delta and is_identity(n) for i, k in (own, own[::-1]) if i in spread}
    names = {k: i for k, i in same.items() if k not in spread}
    dense = [(n, tuple(names.get(k, k) for k in own)) for n, own in pairs if not stays(n)]
    union = tuple(sorted({label for _, own in dense for label in own}))
    if not set(union) <= set(out):
        return where(mask, x, 0.0)  # a sum inside: the mask belongs to its result
    # the dense factors, spread over the mask's own axes, carry the mask for the product
    sizes = {**dict(repeated), **dict(zip(out, x.shape, strict=True))}
    axes = tuple(label for label in out if label in spread or label in union)
    body = einsum([n for n, _ in dense] or [ONE], [own for _, own in dense] or [()], axes, sizes)
    own = tuple(label if label in spread else -1 - label for label in out[offset:])
    kept = tuple(label for label in own if label in spread)
    small = _drop_ones(mask, own, kept)
    lifted = tuple(i for i, label in enumerate(axes) if label in spread)
    aligned = _align(small, lifted, len(axes))
    masked = where(aligned, body, 0.0)
    structure = [(n, o) for n, o in pairs if stays(n)]
    return einsum([masked, *(n for n, _ in structure)], [axes, *(o for _, o in structure)], out, dict(repeated))


def _drop_ones(mask: Node, own: Labels, kept: Labels) -> Node:
    items = tuple((0, 1, n) if label in kept else (0, 1, None) for label, n in zip(own, mask.shape, strict=True))
    return slicing(mask, items)


def _align(mask: Node, places: Sequence[int], rank: int) -> Node:
    shape: list[Dim] = [1] * rank
    for place, size in zip(places, mask.shape, strict=True):
        shape[place] = size
    return reshape(mask, tuple(shape))


# ---------------------------------------------------------------------------- arrays read entry by entry

#: Arrays read at more single places than this get their cotangent in one piece.
_MANY = 16


def single_entries(order: Iterable[Node]) -> dict[Node, tuple[int, int]]:
    """Find arrays read entry by entry, as a Python loop over indices does.

    Returns
    -------
    dict
        For each such slice the number of leading axes it takes one index of, and the position
        along those axes together.
    """
    found: dict[tuple[Node, int], list[tuple[Node, int]]] = {}
    for node in order:
        if not node.is_slice:
            continue
        base = node.args[0]
        count = sum(1 for _, _, length in node.payload.items if length is None)
        position = 0
        for axis, ((start, step, length), size) in enumerate(zip(node.payload.items, base.shape, strict=True)):
            if axis < count:
                if length is not None or not isinstance(start, int) or not isinstance(size, int):
                    break
                position = position * size + start
            elif (start, step, length) != (0, 1, size):
                break
        else:
            if count:
                found.setdefault((base, count), []).append((node, position))
    return {
        node: (count, position)
        for (_, count), parts in found.items()
        if len(parts) > _MANY
        for node, position in parts
    }


def assemble_entries(
    parts: Sequence[tuple[Node, Node]], places: Mapping[Node, tuple[int, int]], prefix: int
) -> list[Node]:
    """Return the cotangents of an array from those of its entries, in time linear in their number.

    One per number of axes that are taken; axes of size 1 of all entries stay that.
    """
    base = parts[0][0].args[0]
    whole = []
    for count in sorted({places[node][0] for node, _ in parts}):
        own = sorted(
            ((places[node][1], value) for node, value in parts if places[node][0] == count), key=lambda part: part[0]
        )
        seed = own[0][1].shape[:prefix]
        rest = own[0][1].shape[prefix:]
        stacked = concatenate([reshape(value, (*seed, 1, *rest)) for _, value in own], prefix)
        positions = tuple(position for position, _ in own)
        size = product(base.shape[:count])
        if positions != tuple(range(len(positions))) or size != len(positions):
            stacked = scatter(stacked, prefix, positions, size)
        whole.append(reshape(stacked, (*seed, *base.shape[:count], *rest)))
    return whole


def identity(shape: Shape) -> Node:
    """Return the identity map of arrays of ``shape``, as an array of shape ``shape + shape``."""
    n = len(shape)
    pairs = [delta(size, size) for size in shape]
    if not pairs:
        return ONE
    return einsum(pairs, [(a, a + n) for a in range(n)], tuple(range(2 * n)))
