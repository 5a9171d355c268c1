"""Inverses that only multiply something are solutions of linear systems: half the work, and the smaller error."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ...graph import Node, contract, intern, matrix, postorder, rebuild, reshape, swap
from ...graph.primitives import MATRIX_OPS, Labels
from ...graph.sizes import Dim, product
from ..matrices import ELIMINATION_LIMIT
from .access import BATCH, is_long
from .bound import USES

__all__ = [
    "FACTORED",
    "is_factored",
    "is_large_matrix",
    "is_transpose",
    "shared_matrices",
    "solve_inverses",
    "solve_vectors",
    "turned_inverses",
]

#: Functions of matrices that a factorization gives.
FACTORED = MATRIX_OPS & set(USES)


def is_large_matrix(node: Node) -> bool:
    """Tell whether a node is a function of matrices too large for scalar programs."""
    if node.op not in FACTORED:
        return False
    rows = node.args[0].shape[-1]
    return not isinstance(rows, int) or rows > ELIMINATION_LIMIT


def shared_matrices(node: Node) -> Node:
    """Return the matrices that are repeated for all samples, where they are; else the node."""
    if node.is_contraction and len(node.args) == 1 and node.args[0].ndim == node.ndim - 1:
        (own,) = node.payload.labels
        if node.payload.out[1:] == own and node.shape[0] == BATCH:
            return node.args[0]
    return node


def is_factored(node: Node) -> bool:
    """Tell whether a node is a function of large matrices, or a solution with many right sides or shared matrices."""
    if node.op != "solve":
        return is_large_matrix(node)
    many = node.ndim == node.args[0].ndim and is_long(node.shape[-1])
    return many or is_large_matrix(node) or shared_matrices(node.args[0]) is not node.args[0]


def is_transpose(node: Node) -> bool:
    """Tell whether a node is other matrices with rows and columns exchanged."""
    if not node.is_contraction or len(node.args) != 1 or node.args[0].ndim != node.ndim:
        return False
    (own,) = node.payload.labels
    return bool(own == (*node.payload.out[:-2], node.payload.out[-1], node.payload.out[-2]))


def turned_inverses(roots: Sequence[Node]) -> set[Node]:
    """Return the transposes of large inverses that nothing else needs: the kernels write them as they are."""
    users: dict[Node, set[Node]] = defaultdict(set)
    for node in postorder(roots):
        for arg in node.args:
            if arg.op == "inv":
                users[arg].add(node)
    return {
        node
        for inverse, several in users.items()
        if len(several) == 1 and inverse not in roots and is_large_matrix(inverse)
        for node in several
        if is_transpose(node)
    }


def solve_vectors(roots: Sequence[Node]) -> list[Node]:
    """Make vectors of solutions that are written as matrices of one column: the last pass, which others do not know."""
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        made = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        if made.op == "solve" and is_factored(made):
            a, b = made.args
            if b.is_reshape and b.shape[-1] == 1 and b.args[0].shape == b.shape[:-1]:
                made = reshape(intern("solve", (a, b.args[0]), None, b.args[0].shape), made.shape)
        new[node] = made
    return [new[root] for root in roots]


def solve_inverses(roots: Sequence[Node], needed: int | None = None) -> list[Node]:
    """Write products with inverses of large matrices as solutions, where nothing else needs the inverse.

    Parameters
    ----------
    roots : sequence of Node
    needed : int, optional
        How many of them are computed, the first ones; by default all. The others are kept in step.
    """
    users: dict[Node, list[Node]] = defaultdict(list)
    order = postorder(roots)
    for node in postorder(roots[:needed]):
        for arg in set(node.args):
            if arg.op == "inv":
                users[arg].append(node)
    kept = {node for node in roots[:needed] if node.op == "inv"}
    replaced = {
        inverse
        for inverse, several in users.items()
        if inverse not in kept and is_large_matrix(inverse) and all(_solved(node, inverse) for node in several)
    }
    if not replaced:
        return list(roots)
    new: dict[Node, Node] = {}
    for node in order:
        made = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        for old, arg in zip(node.args, made.args, strict=True):
            if old in replaced:
                made = _solved(made, arg) or made
                break
        new[node] = made
    return [new[root] for root in roots]


def _solved(node: Node, inverse: Node) -> Node | None:
    """Return a product of an inverse and another array as a solution, None where it is not such a product."""
    if not node.is_contraction or len(node.args) != 2 or node.args[0] is node.args[1]:
        return None
    which = node.args.index(inverse)
    other = node.args[1 - which]
    labels, out, repeated = node.payload
    own, rest = labels[which], labels[1 - which]
    *lead, row, column = own
    summed = [label for label in own if label not in out]
    if repeated or len(set(own)) < len(own) or len(set(rest)) < len(rest) or len(summed) != 1:
        return None
    (inner,) = summed
    if inner not in (row, column) or inner not in rest or any(label not in out for label in rest if label != inner):
        return None
    stays = row if inner == column else column
    if stays in rest:
        return None
    sizes = {**dict(zip(own, inverse.shape, strict=True)), **dict(zip(rest, other.shape, strict=True))}
    # one solution for each sample, whether the matrices or the right sides have the samples' axis, or both
    lead = [*lead, *(label for label in rest if sizes[label] == BATCH and label not in own)]
    return _solution(inverse, other, (tuple(lead), inner, stays), rest, out, inner == row, sizes)


def _solution(
    inverse: Node,
    other: Node,
    places: tuple[Labels, int, int],
    rest: Labels,
    out: Labels,
    transposed: bool,
    sizes: Mapping[int, Dim],
) -> Node:
    lead, inner, stays = places
    columns = tuple(label for label in rest if label != inner and label not in lead)
    start = tuple(sizes[label] for label in lead)
    right = contract([other], [rest], (*lead, inner, *columns), sizes)
    right = reshape(right, (*start, sizes[inner], product(sizes[label] for label in columns)))
    (a,) = inverse.args
    found = matrix("solve", swap(a) if transposed else a, right)
    found = reshape(found, (*start, a.shape[-1], *(sizes[label] for label in columns)))
    return contract([found], [(*lead, stays, *columns)], out)
