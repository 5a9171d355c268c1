"""Deltas kept as factors: through slices, paddings and masks, and beside rows of the identity.

What ``take`` makes of an identity, ``take(delta(N, N), at)``, has a 1 in each row at the position that ``at`` says.
A Jacobian of a gather carries it as a factor beside its deltas, so that these are eliminated as ever. It is
never multiplied: simplification makes ``put`` of it (:mod:`symdiff.rewrite.positions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from .. import Item, Labels, Node, broadcast_to, concatenate, delta, onehot, pad, put, reshape, scatter, slicing, take
from ..scalars.arithmetic import SUMS, terms_of
from ..scalars.functions import where
from ..sizes import Dim, Shape, product
from .affine import ONE, STRUCTURE, is_identity, stays
from .einsum import MINUS_ONE, add_terms, einsum, is_structured, scale_by

__all__ = ["put_rows", "rows_of", "take_rows"]


#: Terms of a sum that are looked at one by one, at most.
_TERMS = 64


def rows_of(at: Node, size: Dim) -> Node:
    """Return rows of the identity, shape ``(*at.shape, size)``: contracted over ``size`` they take elements."""
    return take(delta(size, size), at, 0)


def take_rows(node: Node, at: Node, axis: int, shared: int) -> Node:
    """Take positions of an axis, as :func:`symdiff.graph.take` does, through a product with deltas when it is one."""
    terms = _terms(node)
    if terms is not None:
        return add_terms([(sign, take_rows(term, at, axis, shared)) for sign, term in terms])
    if not is_structured(node):
        return take(node, at, axis, shared)
    args, labels, out, sizes = _factors(node)
    label, own = out[axis], out[axis - shared : axis]
    fresh = tuple(range(1000, 1000 + at.ndim - shared))
    result = (*out[:axis], *fresh, *out[axis + 1 :])
    fixed = any(label in each and arg.op in STRUCTURE for arg, each in zip(args, labels, strict=True))
    if shared or fixed or any(each.count(label) > 1 for each in labels):
        return einsum([*args, rows_of(at, node.shape[axis])], [*labels, (*own, *fresh, label)], result, sizes)
    # what has the axis is dense: positions of each factor are taken
    taken = [take(arg, at, each.index(label)) if label in each else arg for arg, each in zip(args, labels, strict=True)]
    names = [tuple(k for i in each for k in (fresh if i == label else (i,))) for each in labels]
    return einsum(taken, names, result, {**sizes, **dict(zip(fresh, at.shape, strict=True))})


def put_rows(node: Node, at: Node, axis: int, size: Dim, shared: int) -> Node:
    """Add slices into zeros, as :func:`symdiff.graph.put` does, through a product with deltas when it is one."""
    terms = _terms(node)
    if terms is not None:
        return add_terms([(sign, put_rows(term, at, axis, size, shared)) for sign, term in terms])
    if not is_structured(node):
        return put(node, at, axis, size, shared)
    args, labels, out, sizes = _factors(node)
    end = axis + at.ndim - shared
    places, fresh = out[axis - shared : end], 1000
    result = (*out[:axis], fresh, *out[end:])
    fixed = [k for k, arg in enumerate(args) if arg.op in STRUCTURE]
    if shared or not at.ndim or any(not set(places).isdisjoint(labels[k]) for k in fixed):
        return einsum([*args, rows_of(at, size)], [*labels, (*places, fresh)], result, {**sizes, fresh: size})
    # what has the positions' axes is dense, and added up before the deltas come to it
    dense = [k for k in range(len(args)) if k not in fixed]
    outside = {label for k in fixed for label in labels[k]}.union(out).difference(places)
    kept = tuple(dict.fromkeys(i for k in dense for i in labels[k] if i in outside))
    body = einsum([args[k] for k in dense], [labels[k] for k in dense], (*places, *kept), sizes)
    added = put(body, at, 0, size)
    given = [*(labels[k] for k in fixed), (fresh, *kept)]
    return einsum([*(args[k] for k in fixed), added], given, result, {**sizes, fresh: size})


def _terms(node: Node) -> list[tuple[float, Node]] | None:
    """Return the terms of a sum, or of what is linear in one, some of which hold deltas; None for anything else."""
    if node.op in SUMS:
        return _structured_terms(node)
    for k, arg in enumerate(node.args if node.op in _LINEAR else ()):
        terms = _terms(arg)
        if terms is not None:
            return [(sign, _LINEAR[node.op](node, (*node.args[:k], term, *node.args[k + 1 :]))) for sign, term in terms]
    return None


def _product(node: Node, args: Sequence[Node]) -> Node:
    labels, out, repeated = node.payload
    return einsum(args, labels, out, dict(repeated))


#: Application of an operation that is linear in a sum to one term of it.
_LINEAR: dict[str, Callable[[Node, Sequence[Node]], Node]] = {
    "contract": _product,
    "slice": lambda node, args: take_items(args[0], node.payload.items),
    "pad": lambda node, args: put_items(args[0], node.payload.items, node.shape),
    "negative": lambda node, args: scale_by(MINUS_ONE, args[0]),
}


def _structured_terms(node: Node) -> list[tuple[float, Node]] | None:
    """Return the terms of a sum, one of which at least holds a delta; an array read in parts has a long one."""
    terms, whole = terms_of(node, _TERMS)
    if not whole or not any(is_structured(term) or _terms(term) is not None for _, term in terms):
        return None
    return [(sign, broadcast_to(term, node.shape)) for sign, term in terms]


def _factors(node: Node) -> tuple[list[Node], list[Labels], Labels, dict[int, Dim]]:
    """Return a node as a product: factors, their labels, those of the result, and sizes."""
    if not node.is_contraction:
        own = tuple(range(node.ndim))
        return [node], [own], own, dict(zip(own, node.shape, strict=True))
    labels, out, repeated = node.payload
    return list(node.args), list(labels), out, {**dict(repeated), **dict(zip(out, node.shape, strict=True))}


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
