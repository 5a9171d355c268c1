"""The exponential of any square matrix: its derivative in a direction is an operation of its own.

The derivative L(A, E) is the corner of exp([[A, E], [0, A]]), and linear in E. The one after it, in a direction F, is
the corner of L([[A, E], [0, A]], [[F, 0], [0, F]]), and so on (Higham 2008, sections 3.2 and 10.2).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Node, broadcast_to, concatenate, exponential, slicing, swap, whole, zeros
from ...graph.deltas.einsum import scale_by
from ...graph.nodes import broadcast_shapes
from ..linear import PULLS, Law
from ..rules import DIFFERENTIALS, LAWS
from ..spectra.isotropic import gathered
from ..spectra.spectral import behind, of_trace


def _expm(node: Node, tangents: Sequence[Node | None]) -> Node:
    a, *rest = node.args
    if not rest:
        (change,) = tangents
        assert change is not None
        return exponential(a, change)
    (e,), (change, turn) = rest, tangents
    along = None if turn is None else exponential(a, behind(turn, e, node.ndim - e.ndim))
    if change is None:
        assert along is not None
        return along
    change = behind(change, a, node.ndim - a.ndim)
    n = a.shape[-1]
    both = exponential(_blocks(a, e), _blocks(change, zeros(change.shape)))
    corner = slicing(both, (*map(whole, both.shape[:-2]), (0, 1, n), (n, 1, n)))
    return corner if along is None else corner + along


def _blocks(a: Node, e: Node) -> Node:
    """Return [[a, e], [0, a]]."""
    lead = broadcast_shapes([a.shape[:-2], e.shape[:-2]], "matrix stacks")
    a, e = (broadcast_to(x, (*lead, *x.shape[-2:])) for x in (a, e))
    axis = len(lead)
    upper, lower = concatenate([a, e], axis + 1), concatenate([zeros(a.shape), a], axis + 1)
    return concatenate([upper, lower], axis)


def _pull_direction(node: Node, i: int, ct: Node, prefix: int) -> Node | None:
    """Transpose in the direction: <C, L(A, E)> = <L(A^T, C), E>."""
    if i == 0:
        return None
    a, e = node.args
    scale = of_trace(ct) if ct.ndim == 2 else None
    if scale is not None:
        return scale_by(scale, swap(exponential(a)))
    return gathered(exponential(swap(a), ct), prefix, e)


def register() -> None:
    """Add the rules to the tables."""
    DIFFERENTIALS["expm"] = _expm
    LAWS["expm"] = Law(
        "differential of the exponential", "d exp(A) = ∫₀¹ exp(s A) dA exp((1 - s) A) ds", "Higham 2008, 10.2"
    )
    PULLS["expm"] = _pull_direction
