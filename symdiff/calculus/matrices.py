"""Differentials of functions of matrices that take the differentiator: determinants, exponentials, pseudo-inverses.

**The third differential of a determinant** is right at singular matrices too. The second differential of det has a
closed form in singular values at every rank (see :mod:`symdiff.graph.reference.interpret`). For the third there is
none without division, so the determinant is expanded over subsets of columns, up to 8×8, and differentiated as the
polynomial it is; larger matrices are refused by name.

**The exponential of any square matrix**: its derivative in a direction is an operation of its own. The derivative
L(A, E) is the corner of exp([[A, E], [0, A]]), and linear in E. The one after it, in a direction F, is the corner of
L([[A, E], [0, A]], [[F, 0], [0, F]]), and so on (Higham 2008, sections 3.2 and 10.2).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import NotDifferentiableError
from ..graph import (
    Node,
    broadcast_to,
    concatenate,
    constant,
    delta,
    elementwise,
    exponential,
    matrix,
    placeholder,
    postorder,
    reshape,
    slicing,
    swap,
    whole,
    zeros,
)
from ..graph.deltas.affine import ONE
from ..graph.deltas.einsum import MINUS_ONE, scale_by
from ..graph.deltas.structural import transposed
from ..graph.nodes import broadcast_shapes
from ..graph.primitives import complete
from ..graph.sizes import show
from .linear import PULLS, Law
from .modes import pullback, pushforward
from .rules import DIFFERENTIALS, LAWS, NONLINEAR, matmul
from .spectra.isotropic import gathered
from .spectra.spectral import behind, of_trace


def _pinv(node: Node, tangents: Sequence[Node | None]) -> Node:
    (a,), (da,) = node.args, tangents
    assert da is not None
    along = scale_by(MINUS_ONE, matmul(matmul(node, da), node))
    m, n = a.shape[-2:]
    if m == n:
        return along
    rest = elementwise("subtract", (broadcast_to(delta(m, m), (*a.shape[:-2], m, m)), matmul(a, node)))
    return along + matmul(matmul(matmul(node, transposed(node)), transposed(da)), rest)


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


#: Largest matrix whose determinant is expanded.
EXPANSION_LIMIT = 8


def expand(rows: Sequence[Sequence[Node]]) -> Node:
    """Return the determinant as a polynomial of its entries, row by row over subsets of columns.

    Takes n 2^(n-1) products and no division (Laplace's expansion with shared minors).
    """
    table: dict[tuple[int, ...], Node] = {(): ONE}
    for row in rows:
        following: dict[tuple[int, ...], Node] = {}
        for used, value in table.items():
            for column in range(len(row)):
                if column in used:
                    continue
                behind = sum(1 for other in used if other > column)
                term = row[column] if not used else value * row[column]
                term = -term if behind % 2 else term
                key = tuple(sorted((*used, column)))
                following[key] = following[key] + term if key in following else term
        table = following
    return next(iter(table.values()))


def adjugate_second(a: Node, e: Node, f: Node) -> Node:
    """Return d² adj(a)[e, f] by expansion; leading axes broadcast.

    Raises
    ------
    NotDifferentiableError
        If the matrix is larger than 8×8, or its size is symbolic.
    """
    n = a.shape[-1]
    if not isinstance(n, int) or n > EXPANSION_LIMIT:
        raise NotDifferentiableError(
            f"the third derivative of det of a matrix of shape {show(a.shape[-2:])}; known up to {EXPANSION_LIMIT}×"
            f"{EXPANSION_LIMIT}, at singular matrices too. For a regular matrix write exp(logdet(A))"
        )
    shape = max((a.shape, e.shape, f.shape), key=len)
    if n == 0:
        return broadcast_to(constant(0.0), shape)
    names = [[[placeholder(("entry", k, i, j), ()) for j in range(n)] for i in range(n)] for k in range(3)]
    here, first, second = ([node for row in names[k] for node in row] for k in range(3))
    cofactors = [c if c is not None else constant(0.0) for c in pullback({expand(names[0]): ONE}, here)]
    once = _push_all(cofactors, dict(zip(here, first, strict=True)))
    twice = _push_all(once, dict(zip(here, second, strict=True)))
    lead = shape[:-2]
    values = {
        names[k][i][j]: slicing(x, (*(whole(m) for m in x.shape[:-2]), (i, 1, None), (j, 1, None)))
        for k, x in enumerate((a, e, f))
        for i in range(n)
        for j in range(n)
    }
    entries = _lift(twice, values)
    columns = [reshape(broadcast_to(entries[j * n + i], lead), (*lead, 1)) for i in range(n) for j in range(n)]
    return reshape(concatenate(columns, len(lead)), (*lead, n, n))


def _push_all(roots: Sequence[Node], tangents: dict[Node, Node]) -> list[Node]:
    return [constant(0.0) if t is None else t for t in pushforward(roots, tangents)]


def _lift(roots: Sequence[Node], values: dict[Node, Node]) -> list[Node]:
    """Put arrays in for the scalar entries: every operation below works element by element."""
    new: dict[Node, Node] = dict(values)
    for node in postorder(roots):
        if node not in new:
            new[node] = elementwise(node.op, tuple(new[a] for a in node.args), node.dtype) if node.args else node
    return [new[root] for root in roots]


def _adjugate_differential(node: Node, tangents: Sequence[Node | None]) -> Node:
    a, e = node.args
    da, de = tangents
    parts = []
    if de is not None:
        parts.append(matrix("adjugate_differential", a, de))
    if da is not None:
        parts.append(adjugate_second(a, e, da))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def register() -> None:
    """Add the rules to the tables; they need the differentiator, which itself reads the tables."""
    DIFFERENTIALS["expm"] = _expm
    LAWS["expm"] = Law(
        "differential of the exponential", "d exp(A) = ∫₀¹ exp(s A) dA exp((1 - s) A) ds", "Higham 2008, 10.2"
    )
    PULLS["expm"] = _pull_direction
    DIFFERENTIALS["pinv"] = _pinv
    LAWS["pinv"] = Law(
        "differential of a pseudo-inverse",
        "d pinv(A) = -pinv(A) dA pinv(A) + inv(AᵀA) dAᵀ (I - A pinv(A))",
        "Golub and Pereyra 1973, 4.12, of full column rank",
    )
    DIFFERENTIALS["adjugate_differential"] = _adjugate_differential
    LAWS["adjugate_differential"] = Law(
        "third differential of a determinant", "d² adj(A), by Laplace's expansion", "MN 8.3 differentiated twice more"
    )
    complete(DIFFERENTIALS, __name__, NONLINEAR)
    complete(LAWS, __name__, NONLINEAR)
