"""Lowering of contractions, in an order of factors that counts only products without structural zeros."""

from __future__ import annotations

from functools import partial
from typing import TypeAlias

import numpy as np

from ..graph import Node
from ..graph.deltas.contraction_order import Step, cheapest_step
from .builder import ZERO, Ids, ProgramBuilder, fixed_shape

__all__ = ["lower_contract"]


def lower_contract(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    """Multiply and sum the factors' elements."""
    labels, out, _ = node.payload
    shape = fixed_shape(node.shape)
    if len(args) == 1 and set(labels[0]) <= set(out) and len(set(labels[0])) == len(labels[0]):
        own = labels[0]  # a transpose or a repetition
        order = [own.index(label) for label in out if label in own]
        view = args[0].transpose(order)[tuple(slice(None) if label in own else None for label in out)]
        is_zero = node.args[0].is_constant and not own and node.args[0].value == 0.0
        return np.full(shape, ZERO, np.int64) if is_zero else np.broadcast_to(view, shape).copy()
    pinned = _pinned(node)
    parts = zip(args, labels, strict=True)
    factors = [_sparse(ids, own) for ids, own in parts if len(own) != 1 or own[0] not in pinned]
    if not factors:
        factors = [({(): builder.number(1.0)}, ())]
    while len(factors) > 1:
        step = cheapest_step([own for _, own in factors], out, partial(_terms, factors))
        assert step is not None
        if len(factors[step.first][0]) * len(factors[step.second][0]) > builder.most:
            builder.expect(_terms(factors, step))
        second, first = factors.pop(step.second), factors.pop(step.first)
        factors.insert(step.first, _multiply_sparse(builder, first, second, step.kept))
    entries, own = _sum_sparse(builder, factors[0], set(out))
    # a sum of nothing is a number, which may be divided by 0, as a mean of nothing is
    result = np.full(shape, builder.number(0.0) if any(not ids.size for ids in args) else ZERO, np.int64)
    if own == out:
        for index, value in entries.items():
            result[index] = value
        return result
    axes = [own.index(label) if label in own else None for label in out]
    places = [pinned.get(label, slice(None)) for label in out]
    for index, value in entries.items():
        result[tuple([place if a is None else index[a] for a, place in zip(axes, places, strict=True)])] = value
    return result


def _pinned(node: Node) -> dict[int, int]:
    """Return the labels of a contraction's result that a onehot alone has, and where they are 1."""
    labels, out, _ = node.payload
    pinned = {}
    for arg, own in zip(node.args, labels, strict=True):
        alone = arg.is_onehot and own[0] in out and sum([own[0] in other for other in labels]) == 1
        if alone and isinstance(arg.payload.at, int):
            pinned[own[0]] = arg.payload.at
    return pinned


_Sparse: TypeAlias = tuple[dict[tuple[int, ...], int], tuple[int, ...]]
#: What a product of factors without a common label counts as many times: it makes more elements, and sums none.
_APART = 1.5


def _sparse(ids: Ids, own: tuple[int, ...]) -> _Sparse:
    """Return the elements that are not structural zeros, on the diagonal of repeated labels."""
    entries: dict[tuple[int, ...], int]
    if ids.ndim <= 1:
        values = [int(ids)] if ids.ndim == 0 else ids.tolist()
        entries = {(place,) if own else (): value for place, value in enumerate(values) if value != ZERO}
    else:
        there = np.nonzero(ids != ZERO)
        entries = dict(zip(zip(*[axis.tolist() for axis in there], strict=True), ids[there].tolist(), strict=True))
    unique = tuple(dict.fromkeys(own))
    if len(unique) == len(own):
        return entries, own
    first = [own.index(label) for label in own]
    axes = [own.index(label) for label in unique]
    diagonal = {
        tuple([index[axis] for axis in axes]): value
        for index, value in entries.items()
        if all(index[axis] == index[at] for axis, at in enumerate(first))
    }
    return diagonal, unique


def _terms(factors: list[_Sparse], step: Step) -> float:
    """Return how many products of elements that are not structural zeros a step takes."""
    (p, a), (q, b) = factors[step.first], factors[step.second]
    shared = [(a.index(label), b.index(label)) for label in a if label in b]
    if not shared:
        return float(len(p) * len(q)) * _APART
    keys: dict[tuple[int, ...], int] = {}
    for index in q:
        key = tuple(index[j] for _, j in shared)
        keys[key] = keys.get(key, 0) + 1
    return float(sum(keys.get(tuple(index[i] for i, _ in shared), 0) for index in p))


def _multiply_sparse(builder: ProgramBuilder, first: _Sparse, second: _Sparse, own: tuple[int, ...]) -> _Sparse:
    """Multiply two factors and sum over the labels that are not in ``own``."""
    (p, a), (q, b) = first, second
    both = (*a, *b)
    places = [both.index(label) for label in own]
    whole = own == both
    left = [i for i, label in enumerate(a) if label in b]
    right = [b.index(a[i]) for i in left]
    buckets: dict[tuple[int, ...], list[tuple[tuple[int, ...], int]]] = {}
    for index, value in q.items():
        buckets.setdefault(tuple([index[j] for j in right]), []).append((index, value))
    terms: dict[tuple[int, ...], int] = {}
    for index, value in p.items():
        for other, factor in buckets.get(tuple([index[i] for i in left]), ()):
            key = index + other
            if not whole:
                key = tuple([key[i] for i in places])
            product = builder.multiply(value, factor)
            terms[key] = builder.add(terms[key], product) if key in terms else product
    return terms, own


def _sum_sparse(builder: ProgramBuilder, factor: _Sparse, kept: set[int]) -> _Sparse:
    entries, own = factor
    axes = [i for i, label in enumerate(own) if label in kept]
    if len(axes) == len(own):
        return factor
    terms: dict[tuple[int, ...], int] = {}
    for index, value in entries.items():
        key = tuple(index[i] for i in axes)
        terms[key] = builder.add(terms[key], value) if key in terms else value
    return terms, tuple(own[i] for i in axes)
