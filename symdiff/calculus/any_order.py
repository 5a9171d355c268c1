"""Order statistics in formulas that are the same for every order of the elements.

``max(x) * median(x) * min(x)`` is the product of x: a smooth function, whose derivatives at elements that tie are
those of the product. Where the elements are eigenvalues, it has derivatives at equal ones as well, though no single
eigenvalue has. So the extrema and the sorted array are taken for elements of x as it stands, if the formula that is
then made has the same values for every order of x: that is decided at random points, by two permutations that all
others are made of.
"""

from __future__ import annotations

from math import prod
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import SymdiffError
from ..graph import INT, Node, inputs_of, placeholder, postorder, slicing, substitute
from ..graph.scalars.arithmetic import peel

__all__ = ["in_any_order"]

_ORDERS = frozenset(("max", "min", "sort"))
#: Nodes and elements up to which a formula is tried at points.
_NODES, _ELEMENTS = 400, 10_000
#: Least and largest sizes of the elements at a point, and whether they have either sign.
_RANGES = ((0.5, 2.0, False), (0.1, 0.9, False), (0.1, 0.9, True), (1.0, 5.0, True))
#: The difference of values by the order, in units of that by the elements, which is rounding.
_ROUNDED = 1e-10


def in_any_order(root: Node) -> Node:
    """Write elements of an array for its order statistics, where a formula is the same for every order of them.

    Examples
    --------
    >>> from symdiff.graph import input, reduce
    >>> x = input("x", (2,))
    >>> largest, least = (reduce(name, x, (0,)) for name in ("max", "min"))
    >>> in_any_order(largest * least) is slicing(x, ((1, 1, None),)) * slicing(x, ((0, 1, None),))
    True
    >>> in_any_order(largest - least) is largest - least
    True
    """
    order = postorder([root])
    sorts: dict[Node, list[Node]] = {}
    for node in order:
        if node.op in _ORDERS and _axes_of(node) == (-1,) and all(isinstance(n, int) for n in node.args[0].shape):
            sorts.setdefault(peel(node.args[0]), []).append(node)
    for x, statistics in sorts.items():
        n = x.shape[-1]
        whole = {node.op for node in statistics}
        if len(order) > _NODES or x.dtype is INT or n < 2 or not ("sort" in whole or (n == 2 and len(whole) == 2)):
            continue
        stand_in = placeholder(("order", n), x.shape)
        (made,) = substitute([root], {node: _element(node.op, stand_in) for node in statistics})
        if _is_in_any_order(made, stand_in):
            (root,) = substitute([made], {stand_in: x})
    return root


def _axes_of(node: Node) -> tuple[int, ...]:
    return (node.payload.axis,) if node.op == "sort" else tuple(node.payload.axes)


def _element(op: str, x: Node) -> Node:
    if op == "sort":
        return x
    at = x.shape[-1] - 1 if op == "max" else 0
    return slicing(x, (*((0, 1, n) for n in x.shape[:-1]), (at, 1, None)))


def _is_in_any_order(formula: Node, x: Node) -> bool:
    """Tell whether a formula has the same values for x and for all its permutations along the last axis."""
    from ..graph.reference.interpret import evaluate  # not needed by most formulas

    inputs = inputs_of([formula, x])
    if sum(_count(node) for node in inputs) > _ELEMENTS:
        return False
    rng, agreed = Random(_count(x)), 0  # noqa: S311 -- no secret
    for least, largest, signed in _RANGES:
        at = {node.name: _draw(node, rng, least, largest, signed) for node in inputs}
        own, other = at[x.name], _draw(x, rng, least, largest, signed)
        swapped = own[..., [1, 0, *range(2, own.shape[-1])]]
        try:
            here, *there, beside = (
                evaluate([formula], at | {x.name: values})[0] for values in (own, swapped, np.roll(own, 1, -1), other)
            )
        except (SymdiffError, ArithmeticError, ValueError):  # nothing is known there
            return False
        if np.isfinite([here, *there, beside]).all():
            moved = np.abs(beside - here)
            if any((np.abs(one - here) > _ROUNDED * moved).any() for one in there):
                return False
            agreed += 1
    return agreed > 1


def _count(node: Node) -> int:
    """Return the number of elements, more than any bound where letters stand for sizes."""
    return prod(n if isinstance(n, int) else _ELEMENTS + 1 for n in node.shape)


def _draw(node: Node, rng: Random, least: float, largest: float, signed: bool) -> npt.NDArray[Any]:
    """Return numbers for an input, of a square matrix a positive definite one."""
    if node.dtype is INT:
        return np.zeros(node.shape, dtype=int)
    numbers = [rng.uniform(least, largest) * (rng.choice((-1, 1)) if signed else 1) for _ in range(_count(node))]
    drawn = np.reshape(numbers, node.shape)
    if node.ndim > 1 and node.shape[-1] == node.shape[-2]:
        return drawn @ np.swapaxes(drawn, -1, -2) + np.eye(node.shape[-1])
    return drawn
