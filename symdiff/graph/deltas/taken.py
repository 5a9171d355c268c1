"""Positions that a call brings, and deltas: rows of the identity stay a factor of a product.

What ``take`` makes of an identity, ``take(delta(N, N), at)``, has a 1 in each row at the position that ``at`` says.
A Jacobian of a gather carries it as a factor beside its deltas, so that these are eliminated as ever. It is
never multiplied: simplification makes ``put`` of it (:mod:`symdiff.rewrite.positions`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import Labels, Node, broadcast_to, delta, put, take
from ..scalars.arithmetic import SUMS, terms_of
from ..sizes import Dim
from .affine import STRUCTURE
from .einsum import MINUS_ONE, add_terms, einsum, is_structured, scale_by
from .structural import put_items, take_items

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


#: How an operation that is linear in a sum is applied to one term of it.
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
