"""One delta of a product at a time: its index renamed, its row taken, or the delta kept as structure.

A product is a list of factors with labels on their axes, which these functions change in place;
:mod:`symdiff.graph.deltas.einsum` makes the list and writes down what is left of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from .. import Item, Labels, Node, broadcast_to, constant, onehot
from ..sizes import Dim
from .affine import ONE, STRUCTURE, is_identity, put, take


@dataclass(slots=True)
class Factor:
    """A factor of a product, and the label of each of its axes."""

    node: Node
    labels: list[int]


def users_of(factors: list[Factor], label: int, but: Factor) -> list[Factor]:
    """Return the other factors that have an index."""
    return [f for f in factors if f is not but and label in f.labels]


def eliminate(factors: list[Factor], out: Labels, extra: dict[int, Dim]) -> bool:
    """Remove or simplify one delta; tell whether anything changed."""
    for factor in factors:
        if factor.node.is_delta and is_identity(factor.node) and _drop_identity(factor, factors, out, extra):
            return True
    for factor in factors:
        if factor.node.is_onehot and _drop_onehot(factor, factors, out):
            return True
        if factor.node.is_delta and not is_identity(factor.node) and _drop_affine(factor, factors, out, extra):
            return True
    return False


def _drop_identity(factor: Factor, factors: list[Factor], out: Labels, extra: dict[int, Dim]) -> bool:
    i, k = factor.labels
    if i == k:
        if i in out or users_of(factors, i, factor):
            factors.remove(factor)
            extra.setdefault(i, factor.node.shape[0])
            return True
        if isinstance(factor.node.shape[0], int):  # the trace of the identity
            factor.node, factor.labels = constant(float(factor.node.shape[0])), []
            return True
        return False
    if i in out and k in out:
        if any(
            f is not factor and f.node.is_delta and is_identity(f.node) and set(f.labels) == {i, k}
            for f in factors
        ):
            factors.remove(factor)  # said twice
            return True
        if out.index(k) < out.index(i):  # always towards the first, or two deltas would take turns
            i, k = k, i
        users = users_of(factors, k, factor)
        users = [f for f in users if f.node.op not in STRUCTURE]
        for user in users:
            user.labels = [i if label == k else label for label in user.labels]
        return bool(users)
    gone, kept = (i, k) if i not in out else (k, i)
    if kept not in out and not users_of(factors, kept, factor) and not users_of(factors, gone, factor):
        if isinstance(factor.node.shape[0], int):
            factor.node, factor.labels = constant(float(factor.node.shape[0])), []
            return True
        return False
    factors.remove(factor)
    extra.setdefault(kept, factor.node.shape[0])
    for user in factors:
        user.labels = [kept if label == gone else label for label in user.labels]
    return True


def _drop_onehot(factor: Factor, factors: list[Factor], out: Labels) -> bool:
    (k,) = factor.labels
    users = users_of(factors, k, factor)
    if k in out and not [f for f in users if not f.node.is_onehot]:
        return False
    if k not in out:
        factors.remove(factor)
    for user in users:
        while k in user.labels:
            user.node = take(user.node, user.labels.index(k), (factor.node.payload.at, 1, None))
            user.labels.remove(k)
    return True


def _drop_affine(factor: Factor, factors: list[Factor], out: Labels, extra: dict[int, Dim]) -> bool:
    i, k = factor.labels
    if i == k:
        return False
    rows, columns = factor.node.shape
    start, step = factor.node.payload
    item: Item = (start, step, rows)
    if k not in out:
        factors.remove(factor)
        extra.setdefault(i, rows)
        for user in users_of(factors, k, factor):
            while k in user.labels:
                axis = user.labels.index(k)
                user.node = take(user.node, axis, item)
                user.labels[axis] = i
        if i not in out and not users_of(factors, i, factor):
            factors.append(Factor(broadcast_to(ONE, (rows,)), [i]))
        return True
    if i not in out:
        users = users_of(factors, i, factor)
        factors.remove(factor)
        extra.setdefault(k, columns)
        if rows == 1 and not (isinstance(start, int) and isinstance(columns, int) and not 0 <= start < columns):
            # a single row is one position of k
            factors.append(Factor(onehot(columns, start), [k]))
            for user in users:
                while i in user.labels:
                    axis = user.labels.index(i)
                    user.node = take(user.node, axis, (0, 1, None))
                    user.labels.remove(i)
            return True
        if not users:
            factors.append(Factor(put(broadcast_to(ONE, (rows,)), 0, item, columns), [k]))
        for user in users:
            while i in user.labels:
                axis = user.labels.index(i)
                user.node = put(user.node, axis, item, columns)
                user.labels[axis] = k
        return True
    return False
