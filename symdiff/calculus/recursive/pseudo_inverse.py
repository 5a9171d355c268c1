"""The differential of a pseudo-inverse of full column rank."""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Node, broadcast_to, delta, elementwise
from ...graph.deltas.einsum import MINUS_ONE, scale_by
from ...graph.deltas.structural import transposed
from ..linear import Law
from ..rules import DIFFERENTIALS, LAWS, matmul


def _pinv(node: Node, tangents: Sequence[Node | None]) -> Node:
    (a,), (da,) = node.args, tangents
    assert da is not None
    along = scale_by(MINUS_ONE, matmul(matmul(node, da), node))
    m, n = a.shape[-2:]
    if m == n:
        return along
    rest = elementwise("subtract", (broadcast_to(delta(m, m), (*a.shape[:-2], m, m)), matmul(a, node)))
    return along + matmul(matmul(matmul(node, transposed(node)), transposed(da)), rest)


def register() -> None:
    """Add the rule to the tables."""
    DIFFERENTIALS["pinv"] = _pinv
    LAWS["pinv"] = Law(
        "differential of a pseudo-inverse",
        "d pinv(A) = -pinv(A) dA pinv(A) + inv(AᵀA) dAᵀ (I - A pinv(A))",
        "Golub and Pereyra 1973, 4.12, of full column rank",
    )
