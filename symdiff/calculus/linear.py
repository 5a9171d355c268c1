"""Linear operations: how each acts on a tangent, and its transpose.

A tangent of a linear operation is the operation itself applied to the tangent of its argument; a
cotangent goes the other way through the transpose. Differentials (:mod:`symdiff.calculus.rules`) are
built from these operations, so that they need no transpose of their own.

Tangents and cotangents carry the axes of their seed in front: ``prefix`` counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..graph import Labels, Node, arrange, cumulative, delta, gather, label_sizes, reshape, scatter, triangle, whole
from ..graph.deltas.einsum import einsum, is_structured
from ..graph.deltas.structural import put_items, put_rows, take_items, take_rows
from ..graph.dump import record_text
from ..graph.primitives import EACH, FIRST, TOGETHER, complete
from ..graph.sizes import Dim, Shape


class Law(NamedTuple):
    """Name of a rule in books, its equation, and where it stands in print.

    Sources: Magnus and Neudecker, Matrix Differential Calculus (2019), "MN"; Giles, Collected matrix derivative
    results for forward and reverse mode (2008), "Giles"; Petersen and Pedersen, The Matrix Cookbook (2012), "MC";
    the NIST Digital Library of Mathematical Functions, "DLMF".
    """

    name: str
    equation: str
    source: str


LINEARITY = Law("linearity", "d L(u) = L(du) for a linear L", "MN 8.2; MC 34-36, 44")


class Linear(NamedTuple):
    """A linear operation: how it acts on a tangent, its transpose, and its rule.

    ``push(node, i, tangent, prefix)`` and ``pull(node, i, cotangent, prefix)`` act on argument
    ``i``; ``prefix`` counts the seed's axes in front. ``law`` is the rule where several arguments move.
    """

    push: Callable[[Node, int, Node, int], Node]
    pull: Callable[[Node, int, Node, int], Node]
    law: Law = LINEARITY

    def __repr__(self) -> str:
        return record_text(self)


class LinearProduct(NamedTuple):
    """Factors of a contraction's tangent or cotangent, as :func:`einsum` takes them.

    Operand ``at`` is the tangent or cotangent itself; ``own`` and ``result`` label the axes of it
    and of the product that stand behind the seed's.
    """

    operands: list[Node]
    labels: list[Labels]
    out: Labels
    sizes: dict[int, Dim]
    at: int
    own: Labels
    result: Labels


def pushed_product(node: Node, i: int, t: Node, prefix: int) -> LinearProduct:
    """Return the product that pushes the tangent of argument ``i`` through a contraction."""
    labels, out, _ = node.payload
    sizes = label_sizes(node)
    lead = tuple(range(len(sizes), len(sizes) + prefix))
    operands = [*node.args[:i], t, *node.args[i + 1 :]]
    given = [*labels[:i], (*lead, *labels[i]), *labels[i + 1 :]]
    return LinearProduct(operands, given, (*lead, *out), sizes, i, labels[i], out)


def pulled_product(node: Node, i: int, ct: Node, prefix: int) -> LinearProduct:
    """Return the product that pulls a cotangent back to argument ``i`` of a contraction."""
    labels, out, _ = node.payload
    sizes = label_sizes(node)
    fresh = len(sizes)
    lead = tuple(range(fresh, fresh + prefix))
    fresh += prefix
    operands = [ct, *node.args[:i], *node.args[i + 1 :]]
    given = [(*lead, *out), *labels[:i], *labels[i + 1 :]]
    result: list[int] = []
    for own in labels[i]:
        if own in result:  # a diagonal: the second index equals the first
            operands.append(delta(sizes[own], sizes[own]))
            given.append((own, fresh))
            result.append(fresh)
            fresh += 1
        else:
            result.append(own)
    return LinearProduct(operands, given, (*lead, *result), sizes, 0, out, tuple(result))


def _contract_push(node: Node, i: int, t: Node, prefix: int) -> Node:
    product = pushed_product(node, i, t, prefix)
    return einsum(product.operands, product.labels, product.out, product.sizes)


def _contract_pull(node: Node, i: int, ct: Node, prefix: int) -> Node:
    product = pulled_product(node, i, ct, prefix)
    return einsum(product.operands, product.labels, product.out, product.sizes)


def _items_with(prefix: int, node: Node, lead: Shape) -> tuple[Any, ...]:
    return (*(whole(n) for n in lead[:prefix]), *node.payload.items)


def _slice_push(node: Node, i: int, t: Node, prefix: int) -> Node:
    return take_items(t, _items_with(prefix, node, t.shape))


def _slice_pull(node: Node, i: int, ct: Node, prefix: int) -> Node:
    return put_items(ct, _items_with(prefix, node, ct.shape), (*ct.shape[:prefix], *node.args[0].shape))


def _pad_push(node: Node, i: int, t: Node, prefix: int) -> Node:
    return put_items(t, _items_with(prefix, node, t.shape), (*t.shape[:prefix], *node.shape))


def _gather_push(node: Node, i: int, t: Node, prefix: int) -> Node:
    axis, indices = node.payload
    return gather(t, axis + t.ndim, indices)


def _gather_pull(node: Node, i: int, ct: Node, prefix: int) -> Node:
    axis, indices = node.payload
    return scatter(ct, axis + ct.ndim, indices, node.args[0].shape[axis])


def _scatter_push(node: Node, i: int, t: Node, prefix: int) -> Node:
    axis, indices = node.payload
    return scatter(t, axis + t.ndim, indices, node.shape[axis])


def _take_push(node: Node, i: int, t: Node, prefix: int) -> Node:
    return take_rows(t, node.args[1], node.payload.axis + t.ndim, node.payload.shared)


def _take_pull(node: Node, i: int, ct: Node, prefix: int) -> Node:
    x, at = node.args
    axis, shared = node.payload
    return put_rows(ct, at, prefix + axis + x.ndim, x.shape[axis], shared)


def _put_push(node: Node, i: int, t: Node, prefix: int) -> Node:
    axis, shared = node.payload
    return put_rows(t, node.args[1], prefix + axis + node.ndim, node.shape[axis], shared)


def _reshape_to(x: Node, prefix: int, shape: Shape) -> Node:
    """Reshape behind the prefix; axes of size 1 come and go as labels, so deltas survive that."""
    own = x.shape[prefix:]
    if is_structured(x) and tuple(n for n in own if n != 1) == tuple(n for n in shape if n != 1):
        labels = tuple(range(x.ndim))
        wide = iter(a for a in labels[prefix:] if x.shape[a] != 1)
        sizes: dict[int, Dim] = {}
        out = list(labels[:prefix])
        for place, size in enumerate(shape):
            out.append(next(wide) if size != 1 else -1 - place)
            sizes[-1 - place] = 1
        return einsum([x], [labels], tuple(out), sizes)
    return reshape(x, (*x.shape[:prefix], *shape))


def _concatenate_push(node: Node, i: int, t: Node, prefix: int) -> Node:
    return put_items(t, part_items(node, i, t.shape[:prefix]), (*t.shape[:prefix], *node.shape))


def _concatenate_pull(node: Node, i: int, ct: Node, prefix: int) -> Node:
    return take_items(ct, part_items(node, i, ct.shape[:prefix]))


def part_items(node: Node, i: int, lead: Shape) -> tuple[Any, ...]:
    """Return the slices that take argument ``i`` out of a concatenation, behind axes ``lead``."""
    axis = node.payload.axis + node.ndim
    start: Dim = 0
    for part in node.args[:i]:
        start = start + part.shape[axis]
    shape = node.args[i].shape
    own = tuple((start, 1, shape[a]) if a == axis else whole(n) for a, n in enumerate(node.shape))
    return (*(whole(n) for n in lead), *own)


def _arranged(node: Node, t: Node, back: bool) -> Node:
    key = node.args[1]
    return arrange(t, key, node.payload.axis + key.ndim, back)


LINEAR: dict[str, Linear] = {
    "contract": Linear(
        _contract_push, _contract_pull, Law("product rule", "d(U V) = dU V + U dV", "MN 8.2; MC 37, 38")
    ),
    "slice": Linear(_slice_push, _slice_pull),
    "pad": Linear(_pad_push, _slice_push),
    "gather": Linear(_gather_push, _gather_pull),
    "scatter": Linear(_scatter_push, _gather_push),
    "take": Linear(_take_push, _take_pull),
    "put": Linear(_put_push, _take_push),
    "reshape": Linear(
        lambda node, i, t, prefix: _reshape_to(t, prefix, node.shape),
        lambda node, i, ct, prefix: _reshape_to(ct, prefix, node.args[0].shape),
    ),
    "concatenate": Linear(_concatenate_push, _concatenate_pull),
    "cumsum": Linear(
        lambda node, i, t, prefix: cumulative("cumsum", t, node.payload.axis + t.ndim, node.payload.reverse),
        lambda node, i, ct, prefix: cumulative("cumsum", ct, node.payload.axis + ct.ndim, not node.payload.reverse),
    ),
    "arrange": Linear(
        lambda node, i, t, prefix: _arranged(node, t, node.payload.reverse),
        lambda node, i, ct, prefix: _arranged(node, ct, not node.payload.reverse),
    ),
    "triangle": Linear(
        lambda node, i, t, prefix: triangle(t, *node.payload), lambda node, i, ct, prefix: triangle(ct, *node.payload)
    ),
    "named": Linear(lambda node, i, t, prefix: t, lambda node, i, ct, prefix: ct),
}

complete(LINEAR, __name__, TOGETHER | EACH | FIRST)

#: Operations whose transpose has a form of its own for some arguments, with the value of the transposed differential:
#: takes what LINEAR_IN does, and gives None where there is none.
PULLS: dict[str, Callable[[Node, int, Node, int], Node | None]] = {}

#: Kinds of operations through which formulas are pushed as wholes: takes what
#: :func:`symdiff.calculus.modes.pushforward` does, and gives None where there is no such operation.
WHOLES: dict[int, Callable[[Sequence[Node], Mapping[Node, Node], int], list[Node | None] | None]] = {}


def push_whole(roots: Sequence[Node], tangents: Mapping[Node, Node], prefix: int) -> list[Node | None] | None:
    """Return the tangents of formulas that are pushed as wholes, None for others."""
    below = 0
    for root in roots:
        below |= root.below
    for kind, push in WHOLES.items():
        whole = push(roots, tangents, prefix) if below & kind else None
        if whole is not None:
            return whole
    return None
