"""Determinants and inverses in place of adjugates, for matrices that have an inverse.

The adjugate is right at every matrix. A book writes det(A) inv(A), which is right where A has an inverse, and raises
where it has none. So this is done for matrices that are declared definite, and for a whole derivative where the reader
asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from ...graph import Node, constant, elementwise, matrix, postorder, rebuild, reshape
from ...graph.deltas.einsum import einsum
from ...graph.scalars.arithmetic import without_numbers
from ..facts import is_definite
from ..rewriter import make, rule
from .chains import without_inverses

__all__ = ["by_inverses"]


def by_inverses(roots: Sequence[Node]) -> list[Node]:
    """Write adjugates, and their differentials, as determinants and inverses; cancel matrices beside inverses.

    Parameters
    ----------
    roots : sequence of Node

    Returns
    -------
    list of Node
        Equal where all matrices of which there was an adjugate have an inverse; elsewhere they raise.

    Examples
    --------
    >>> from symdiff.graph import input
    >>> A = input("A", (2, 2))
    >>> by_inverses([matrix("adjugate", A)])[0] is matrix("det", A) * matrix("inv", A)
    True
    """
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        made = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        if made.op == "adjugate":
            made = _times_determinant(made.args[0], matrix("inv", made.args[0]))
        elif made.op == "adjugate_differential":
            made = _differential(*made.args)
        elif made.is_contraction:
            made = without_inverses(made)
        new[node] = made
    return [new[root] for root in roots]


def _times_determinant(a: Node, x: Node) -> Node:
    det = matrix("det", a)
    return elementwise("multiply", (reshape(det, (*det.shape, 1, 1)) if det.shape else det, x))


def _differential(a: Node, da: Node) -> Node:
    """Return d(det(A) inv(A)) = det(A) (tr(inv(A) dA) inv(A) - inv(A) dA inv(A)); dA may have axes in front."""
    inverse = matrix("inv", a)
    rank = da.ndim
    front, (i, j, k, m) = tuple(range(rank - 2)), range(rank - 2, rank + 2)
    stack = front[rank - a.ndim :]
    first, last = (*stack, i, j), (*stack, k, m)
    along = einsum([inverse, da, inverse], [(*stack, j, i), (*front, i, j), last], (*front, k, m))
    across = einsum([inverse, da, inverse], [first, (*front, j, k), last], (*front, i, m))
    return _times_determinant(a, elementwise("subtract", (along, across)))


@rule("inv", "inv(2 A)", "inv(A) / 2", inside="multiply divide")
def _inverse_of_multiple(node: Node) -> Node | None:
    """Write a number in front of a matrix in front of its inverse."""
    scale, inside = without_numbers(node.args[0])
    if scale == 1.0 or inside.shape != node.shape or not isfinite(scale):
        return None
    return make("divide", matrix("inv", inside), constant(scale))


@rule("adjugate", "adjugate(S), S definite", "det(S) inv(S)")
def _adjugate_of_definite(node: Node) -> Node | None:
    (s,) = node.args
    return _times_determinant(s, matrix("inv", s)) if is_definite(s) else None
