"""Formulas without names, barriers, custom functions and functions of matrices: the last step before lowering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from ..graph import (
    Labels,
    Node,
    broadcast_to,
    label,
    matrix,
    placeholder,
    postorder,
    rebuild,
    reshape,
    substitute,
    swap,
    with_results,
)
from ..graph.deltas.einsum import einsum
from ..graph.kinds import WRAPPER
from ..graph.scalars.functions import scalar_constant
from .matrices.functions import isotropic_of

#: Operations that are written in terms of others.
WRAPPERS = ("named", "stop_gradient", "custom")


def inline(roots: Sequence[Node], wrappers: Sequence[str] = WRAPPERS, kept: Sequence[str] = ()) -> list[Node]:
    """Drop names and barriers, and put the bodies of custom functions and functions of matrices in place.

    ``wrappers`` are the kinds to drop; functions of matrices go with custom functions, but for those ``kept``. Names in
    a custom function are its own and go with it.
    """
    if not any(root.below & WRAPPER for root in roots):
        return list(roots)
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        if node.is_custom and node.op in wrappers:
            rule, body = node.payload
            (plain,) = inline([body], (*wrappers, "named"), kept)
            stand_in = {b: new[a] for b, a in zip(rule.parameters, node.args, strict=True)}
            (new[node],) = substitute([plain], stand_in)
        elif node.is_recurrence:
            args = tuple([new[arg] for arg in node.args])
            new[node] = with_results(node, args, inline(node.payload.body.results, wrappers, kept))
        elif node.op in kept:
            new[node] = rebuild(node, tuple([new[arg] for arg in node.args]))
        elif node.op == "spectral" and "custom" in wrappers:
            new[node] = _by_eigenvalues(node, [new[arg] for arg in node.args])
        elif node.op == "isotropic" and "custom" in wrappers:
            new[node] = isotropic_of(node, [new[arg] for arg in node.args])
        elif node.op == "expm" and "custom" in wrappers:
            new[node] = _by_squaring(*[new[arg] for arg in node.args])
        elif node.op == "pinv" and "custom" in wrappers:
            from .matrices.functions import of_full_rank  # few formulas have it

            new[node] = of_full_rank(new[node.args[0]])
        elif node.op in WRAPPERS and node.op in wrappers:
            new[node] = new[node.args[0]]
        else:
            new[node] = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
    return [new[root] for root in roots]


def without_names(root: Node) -> tuple[Node, dict[Node, str]]:
    """Drop the names in a formula, and return them by what they stand for."""
    if not root.below & WRAPPER:
        return root, {}
    bare: dict[Node, Node] = {}
    names: dict[Node, str] = {}
    for node in postorder([root]):
        if node.is_named:
            inside = bare[node] = bare[node.args[0]]
            if inside.args:
                names.setdefault(inside, node.payload)
            continue
        args = tuple([bare[arg] for arg in node.args])
        if node.is_recurrence:
            bare[node] = with_results(node, args, inline(node.payload.body.results, ("named",)))
        else:
            bare[node] = rebuild(node, args) if args else node
    return bare[root], names


def with_names(roots: Sequence[Node], names: Mapping[Node, str]) -> list[Node]:
    """Write names wherever what they stand for occurs; numbers, which are orders of functions too, have none."""
    names = {node: name for node, name in names.items() if scalar_constant(node) is None}
    if not names:
        return list(roots)
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        made = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        new[node] = label(made, names[node]) if node in names else made
    return [new[root] for root in roots]


def _by_squaring(x: Node, *direction: Node) -> Node:
    """Return an exponential, or its derivative; that of a transpose by the matrix, whose exponential may be there."""
    from .matrices.functions import exponential_of  # few formulas have it

    turned = swap(x)
    if len(postorder([turned])) < len(postorder([x])):
        return swap(exponential_of(turned, *map(swap, direction)))
    return exponential_of(x, *direction)


def _by_eigenvalues(node: Node, args: Sequence[Node]) -> Node:
    """Return V (w(x_i, .., x_j) * (V^T E V)_i. ..) V^T, the sum over the inner indices."""
    payload = node.payload
    a, numbers, directions = args[0], args[1 : 1 + payload.parameters], args[1 + payload.parameters :]
    order = len(directions)
    lead = node.ndim - 2
    x, v = matrix("eigvalsh", a), matrix("eigenvectors", a)
    weights = _weights(payload.weights, x, numbers, order)
    chain = tuple(range(lead, lead + order + 1))
    row, column = lead + order + 1, lead + order + 2

    def stack(part: Node, own: Labels) -> Labels:
        """Label the axes of the stack; those of size 1 are summed over, and broadcast so."""
        free = part.ndim - len(own)
        start = lead - free
        ones = [part.shape[k] == 1 != node.shape[start + k] for k in range(free)]
        return (*(-1 - k if one else k for k, one in enumerate(ones, start)), *own)

    def product(parts: Sequence[Node], labels: Sequence[Labels], out: Labels) -> Node:
        sizes = dict(enumerate(node.shape[:lead]))
        return einsum(parts, [stack(p, own) for p, own in zip(parts, labels, strict=True)], (*range(lead), *out), sizes)

    inside = [product([v, e, v], [(row, i), (row, column), (column, j)], (i, j))
              for e, (i, j) in zip(directions, pairwise(chain), strict=True)]  # fmt: skip
    if order:
        middle = product([weights, *inside], [chain, *pairwise(chain)], (chain[0], chain[-1]))
        return product([v, middle, v], [(row, chain[0]), (chain[0], chain[-1]), (column, chain[-1])], (row, column))
    return product([v, weights, v], [(row, chain[0]), chain, (column, chain[0])], (row, column))


def _weights(formula: Node, x: Node, numbers: Sequence[Node], order: int) -> Node:
    """Return a formula of several eigenvalues at all of them, an axis for each."""
    n, ones = x.shape[-1], (1,)
    new: dict[Node, Node] = {
        placeholder(("eigenvalue", k), ()): reshape(x, (*x.shape[:-1], *ones * k, n, *ones * (order - k)))
        for k in range(order + 1)
    }
    for k, number in enumerate(numbers):
        new[placeholder(("parameter", k), ())] = reshape(number, (*number.shape, *ones * (order + 1)))
    (result,) = substitute([formula], new)
    free = max(result.ndim - order - 1, 0)
    return broadcast_to(result, (*result.shape[:free], *[n] * (order + 1)))
