"""Matrices that are symmetric by construction: ``X @ X.T``, its inverse, sums and functions of such.

A derivative is full of transposes that change nothing. Without them ``logdet(X @ X.T)`` has
the gradient ``2 * inv(X @ X.T) @ X`` in place of two terms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np

from ..graph import Labels, Node, contract
from ..graph.scalars.functions import FUNCTIONS
from .rewriter import rule

#: How deep is looked, at how many factors, and how many summed labels are tried in every order.
_DEPTH, _FACTORS, _SUMMED = 6, 8, 4


def is_symmetric(node: Node, depth: int = _DEPTH) -> bool:
    """Tell whether a matrix equals its transpose, by its form and as far as a short look goes.

    Parameters
    ----------
    node : Node
    depth : int
        How many operations down to look.

    Examples
    --------
    >>> from symdiff.graph import input, matmul, matrix, swap
    >>> X = input("X", (2, 3))
    >>> is_symmetric(matrix("inv", matmul(X, swap(X)))), is_symmetric(input("A", (2, 2)))
    (True, False)
    """
    if node.ndim != 2 or node.shape[0] != node.shape[1] or depth == 0:
        return False
    if node.op == "constant":
        return bool(np.array_equal(node.value, node.value.T))
    if node.op == "delta":
        return bool(node.payload == (0, 1))
    if node.op in ("inv", "adjugate", "named", "stop_gradient"):
        return is_symmetric(node.args[0], depth - 1)
    if node.op == "add" and _is_transpose(*node.args):
        return True
    if node.op in FUNCTIONS:
        return all(arg.shape == () or is_symmetric(arg, depth - 1) for arg in node.args)
    return node.op == "contract" and len(node.args) > 1 and _same_when_turned(node, depth - 1)


def _is_transpose(a: Node, b: Node) -> bool:
    """Tell whether one of two matrices is the other, turned over."""
    return any(
        turned.op == "contract" and turned.args == (other,) and turned.payload == (((0, 1),), (1, 0), ())
        for turned, other in ((a, b), (b, a))
    )


def _same_when_turned(node: Node, depth: int) -> bool:
    """Tell whether a contraction is the same with the two labels of its result exchanged."""
    factors = _flat(node)
    if len(factors) > _FACTORS:
        return False
    first, second = node.payload.out
    even = [is_symmetric(arg, depth) for arg, _ in factors]
    summed = sorted({label for _, own in factors for label in own} - {first, second})
    if len(summed) > _SUMMED:
        return False
    wanted = _renamed(factors, even, {})
    return any(
        _renamed(factors, even, {first: second, second: first, **dict(zip(summed, order, strict=True))}) == wanted
        for order in permutations(summed)
    )


def _flat(node: Node) -> list[tuple[Node, Labels]]:
    """Return the factors of a product of products, with labels of their own where they are summed."""
    factors = list(zip(node.args, node.payload.labels, strict=True))
    fresh = 1 + max((label for _, own in factors for label in own), default=0)
    for _ in range(_FACTORS):
        products = (i for i, (arg, _) in enumerate(factors) if arg.op == "contract" and not arg.payload.repeated)
        place = next(products, None)
        if place is None:
            break
        arg, own = factors[place]
        labels, out, _ = arg.payload
        names = dict(zip(out, own, strict=True))
        for label in {label for row in labels for label in row} - set(out):
            names[label] = fresh
            fresh += 1
        inner = [(part, tuple(names[label] for label in row)) for part, row in zip(arg.args, labels, strict=True)]
        factors[place : place + 1] = inner
    return factors


def _renamed(factors: Sequence[tuple[Node, Labels]], even: Sequence[bool], names: Mapping[int, int]) -> Counter[object]:
    """Return the factors under other labels; what stands along one label of an identity stands along both."""
    renamed = [(arg, tuple(names.get(label, label) for label in own)) for arg, own in factors]
    least = {max(own): min(own) for arg, own in renamed if arg.op == "delta" and arg.payload == (0, 1)}
    return Counter(
        (arg, tuple(sorted(own)) if same else tuple(least.get(label, label) for label in own))
        for (arg, own), same in zip(renamed, even, strict=True)
    )


def upright(node: Node) -> Node:
    """Write the labels of symmetric operands in the order of the result, and of a symmetric result in theirs."""
    labels, out, repeated = node.payload
    if len(out) == 2 and out[0] > out[1] and is_symmetric(node):
        out = out[::-1]
    rank = {label: place for place, label in enumerate(out)}
    turned = tuple(
        own[::-1] if len(own) == 2 and _place(rank, own[0]) > _place(rank, own[1]) and is_symmetric(arg) else own
        for arg, own in zip(node.args, labels, strict=True)
    )
    return node if (turned, out) == (labels, node.payload.out) else contract(node.args, turned, out, dict(repeated))


@rule("contract", "Sᵀ with S = X Xᵀ, its inverse, ...", "S", "arrays")
def _symmetric_operand(node: Node) -> Node | None:
    found = upright(node)
    return None if found is node else found


def _place(rank: dict[int, int], label: int) -> int:
    return rank.get(label, len(rank) + label)
