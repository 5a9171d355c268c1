"""Matrices that are symmetric, by construction (``X @ X.T``, its inverse, sums and functions of such) or declared so.

A derivative is full of transposes that change nothing. Without them ``logdet(X @ X.T)`` has
the gradient ``2 * inv(X @ X.T) @ X`` in place of two terms.
"""

from __future__ import annotations

from ...graph import Node, axes_of, constant, contract, matrix
from ...graph.deltas.einsum import add_terms, einsum
from ...graph.scalars.arithmetic import SUMS, scaled, terms_of
from ..facts import is_symmetric, transposed
from ..rewriter import make, rule, settle
from .chains import word_of

#: Comes after every summed label.
_LAST = 1_000


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
    """Return where a label stands from the result's first axis to its last: summed labels are between the two."""
    place = rank.get(label)
    if place is None:
        return 1 + label
    return place if place == 0 else _LAST + place


#: Most terms of a sum that are turned over together.
_WINDOW = 9


@rule("contract", "(Xᵀ - Yᵀ) A, (Xᵀ - Y) A", "(X - Y)ᵀ A, (X - Yᵀ)ᵀ A", inside="add subtract negative")
def _transposed_operand(node: Node) -> Node | None:
    """Turn a factor over that is a sum of transposes, so that a sum and its transpose are one node."""
    if len(node.args) < 2:
        return None
    labels, out, repeated = node.payload
    operands, places = list(node.args), list(labels)
    for i, arg in enumerate(node.args):
        found = _upright_sum(arg) if arg.ndim == 2 and arg.op in SUMS else None
        if found is not None:
            operands[i], places[i] = found, labels[i][::-1]
    return None if places == list(labels) else einsum(operands, places, out, dict(repeated))


def _upright_sum(node: Node) -> Node | None:
    """Return the transpose of a sum, where that has fewer transposes, or has them later in it."""
    terms, whole = terms_of(node, _WINDOW)
    parts = [(sign, *scaled(term)) for sign, term in terms]
    insides = [transposed(x) for *_, x in parts]
    if not whole or not any(insides) or any(x.shape != node.shape for *_, x in parts) or is_symmetric(node):
        return None
    kinds = [_leaning(x, inside) for inside, (*_, x) in zip(insides, parts, strict=True)]
    if sum(kinds) < 0 or (sum(kinds) == 0 and (1 not in kinds or kinds.index(1) > kinds.index(-1))):
        return None
    return settle(add_terms([(sign, make("multiply", constant(c), _turned_over(x))) for sign, c, x in parts]))


def _leaning(x: Node, inside: Node | None) -> int:
    """Return 1 for a transpose, -1 for what would become one, and 0 for products and symmetric matrices."""
    if _is_product(x if inside is None else inside) or is_symmetric(x):
        return 0
    return -1 if inside is None else 1


def _is_product(x: Node) -> bool:
    return x.is_contraction and len(x.args) > 1 and not x.payload.repeated


def _turned_over(x: Node) -> Node:
    """Return the transpose of a matrix; a product of transposes becomes one of matrices, from the last to the first."""
    inside = transposed(x)
    if inside is not None or is_symmetric(x):
        return x if inside is None else inside
    word = word_of(x)
    if len(word) == 1 or 2 * sum(link.turned for link in word) <= len(word):
        return settle(contract([x], [(0, 1)], (1, 0)))
    labels, out, _ = x.payload
    return settle(einsum(x.args[::-1], labels[::-1], out[::-1]))


@rule("prod", "prod(eigvalsh(A))", "det(A)", "form", inside="eigvalsh")
def _product_of_eigenvalues(node: Node) -> Node | None:
    """Replace the product of all eigenvalues by the determinant, which has derivatives at equal eigenvalues as well."""
    (values,) = node.args
    (a,) = values.args
    if axes_of(node, values) != (values.ndim - 1,):
        return None
    if a.ndim == 2 and is_symmetric(a):
        return matrix("det", a)
    labels = tuple(range(a.ndim))
    turned = contract([a], [labels], (*labels[:-2], labels[-1], labels[-2]))
    return matrix("det", 0.5 * (a + turned))  # the part of a that has these eigenvalues
