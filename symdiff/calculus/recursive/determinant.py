"""The third differential of a determinant, right at singular matrices too.

The second differential of det has a closed form in singular values at every rank (see
:mod:`symdiff.graph.reference.interpret`). For the third there is none without division, so the
determinant is expanded over subsets of columns, up to 8×8, and differentiated as the
polynomial it is; larger matrices are refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import NotDifferentiableError
from ...graph import (
    Node,
    broadcast_to,
    concatenate,
    constant,
    elementwise,
    matrix,
    placeholder,
    postorder,
    reshape,
    slicing,
    whole,
)
from ...graph.deltas.affine import ONE
from ...graph.primitives import complete
from ...graph.sizes import show
from ..linear import Law
from ..modes import pullback, pushforward
from ..rules import DIFFERENTIALS, LAWS, NONLINEAR

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
    """Add the rule to the table; it needs the differentiator, which itself reads the table."""
    DIFFERENTIALS["adjugate_differential"] = _adjugate_differential
    LAWS["adjugate_differential"] = Law(
        "third differential of a determinant", "d² adj(A), by Laplace's expansion", "MN 8.3 differentiated twice more"
    )
    complete(DIFFERENTIALS, __name__, NONLINEAR)
    complete(LAWS, __name__, NONLINEAR)
