"""Matrices of one column, or one row, as vectors: a derivative is collected without axes of length 1.

What is an n x 1 matrix to SymPy, and to many a book, has two readings: ``w.T @ A`` and ``A.T @ w`` hold
the same numbers, and only vectors show that they are alike. So a derivative is read without axes of
length 1, and products of matrices with columns are put back as such: the text has NumPy's meaning for
the shapes as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ..graph import Labels, Node, contract, elementwise, label_sizes, postorder, rebuild, reshape, slicing
from ..graph.deltas.einsum import einsum
from ..graph.scalars.functions import FUNCTIONS
from ..graph.sizes import Shape

__all__ = ["as_columns", "has_unit_axes", "without_axes_of_one"]


def has_unit_axes(order: Sequence[Node]) -> bool:
    """Tell whether any array of a graph is a matrix of one row or column, or has another axis of length 1."""
    return any(1 in node.shape for node in order)


def _tight(shape: Shape) -> Shape:
    return tuple(size for size in shape if size != 1)


def without_axes_of_one(order: Sequence[Node]) -> Node:
    """Return the formula, whose nodes come in order, calculated with arrays that have no axes of length 1.

    Parameters
    ----------
    order : sequence of Node
        The last is the formula.

    Returns
    -------
    Node
        Of the same shape and value.
    """
    cores: dict[Node, Node] = {}
    for node in order:
        cores[node] = _core(node, cores)
    return reshape(cores[order[-1]], order[-1].shape)


def _core(node: Node, cores: dict[Node, Node]) -> Node:
    """Return a node without its axes of length 1."""
    shape = _tight(node.shape)
    if node.is_contraction:
        return _contraction(node, cores)
    if node.is_reshape and cores[node.args[0]].shape == shape:
        return cores[node.args[0]]
    if node.op in FUNCTIONS and all(cores[arg].shape in ((), shape) for arg in node.args):
        return elementwise(node.op, tuple(cores[arg] for arg in node.args), node.dtype)
    if node.is_slice and 0 not in node.shape:  # nothing of an axis of length 1 is not the whole of it
        (x,) = node.args
        items = [
            (start, step, None if length == 1 else length)
            for (start, step, length), size in zip(node.payload.items, x.shape, strict=True)
            if size != 1
        ]
        return slicing(cores[x], tuple(items)) if items else cores[x]
    if not node.args:
        return reshape(node, shape)
    args = tuple(reshape(cores[arg], arg.shape) for arg in node.args)
    return reshape(node if args == node.args else rebuild(node, args), shape)


def _contraction(node: Node, cores: dict[Node, Node]) -> Node:
    labels, out, repeated = node.payload
    sizes = {**label_sizes(node), **dict(repeated)}

    def kept(own: Labels) -> Labels:
        return tuple(label for label in own if sizes[label] != 1)

    lasting = {label: size for label, size in repeated if size != 1}
    factors = [(cores[arg], kept(own)) for arg, own in zip(node.args, labels, strict=True)]
    if len(kept(out)) == 1:  # xᵀ A, a row, is Aᵀ x, a column: the same vector
        factors.sort(key=lambda factor: -factor[0].ndim)
    return einsum([x for x, _ in factors], [own for _, own in factors], kept(out), lasting)


def as_columns(root: Node) -> Node:
    """Return a formula in which columns that become vectors and columns again stay columns.

    Parameters
    ----------
    root : Node

    Returns
    -------
    Node
        Of the same shape and value: where a vector is reshaped to an n x 1 matrix, the formula of the
        vector is that of the matrix as far as its operations allow.
    """
    order = postorder([root])
    columns: dict[Node, Node] = {}
    new: dict[Node, Node] = {}
    for node in order:
        if node.ndim == 1:
            columns[node] = _column(node, columns)
    for node in order:
        args = tuple(new[arg] for arg in node.args)
        made = node if args == node.args else rebuild(node, args)
        if node.is_reshape and node.args[0].ndim == 1 and node.shape == (*node.args[0].shape, 1):
            column = columns[node.args[0]]
            made = made if column.is_reshape else column
        new[node] = made
    return new[root]


def _column(node: Node, columns: dict[Node, Node]) -> Node:
    """Return a vector as a matrix of one column."""
    shape = (*node.shape, 1)
    if node.is_reshape and node.args[0].shape == shape:
        return node.args[0]
    if node.op in FUNCTIONS and all(arg.shape in ((), node.shape) for arg in node.args):
        return elementwise(node.op, tuple(columns[arg] if arg.ndim else arg for arg in node.args), node.dtype)
    if node.is_contraction and not node.payload.repeated:
        labels, out, _ = node.payload
        vectors = {own for own in labels if len(own) == 1}
        matrices = [(arg, own) for arg, own in zip(node.args, labels, strict=True) if len(own) == 2]
        if len(vectors) == 1 and matrices and out not in vectors and all(map(len, labels)):
            (own,) = vectors
            parts = [columns[arg] for arg, mine in zip(node.args, labels, strict=True) if mine == own]
            if any(not part.is_reshape for part in parts):
                column = reduce(lambda a, b: elementwise("multiply", (a, b)), parts)
                last = max(label for mine in labels for label in mine) + 1
                operands = [*(arg for arg, _ in matrices), column]
                return contract(operands, [*(mine for _, mine in matrices), (*own, last)], (*out, last))
    return reshape(node, shape)
