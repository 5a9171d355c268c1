"""Isotropic functions of symmetric matrices: V diag(g(x)) V^T with a vector g of all eigenvalues x at once.

The cotangent of eigenvalues is such a g, and the cotangent of the matrix the isotropic function of it. How g is written
does not matter: by elements, slices, sums or products. The differential, right where eigenvalues are equal, is that of
:mod:`symdiff.rewrite.matrices.functions`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import (
    Node,
    broadcast_to,
    constant,
    dependents,
    inputs_of,
    isotropic,
    matrix,
    placeholder,
    postorder,
    reshape,
    substitute,
    swap,
    zeros,
)
from ...graph.contractions import spectrum, spectrum_parameter
from ...graph.deltas.einsum import einsum
from ...graph.deltas.structural import identity
from ...graph.primitives import Isotropic
from ...graph.scalars.functions import scalar_constant
from ...rewrite import simplify
from ...rewrite.facts import are_transposes
from ...rewrite.matrices.functions import isotropic_of
from ..modes import pushforward
from ..row_jacobians import row_axis

__all__ = ["differential", "gathered", "isotropic_differential", "isotropic_function", "pulled", "zeros_of"]


def zeros_of(a: Node) -> int | None:
    """Return how many zeros are eigenvalues of each matrix of the form [[0, B], [B^T, 0]]; None for another form."""
    if not (a.is_concatenation and a.payload.axis == -2 and len(a.args) == 2):
        return None
    upper, lower = a.args
    if not all(row.is_concatenation and row.payload.axis == -1 and len(row.args) == 2 for row in a.args):
        return None
    (first, b), (turned, last) = upper.args, lower.args
    if not (scalar_constant(first) == scalar_constant(last) == 0.0 and b.ndim >= 2):
        return None
    m, n = b.shape[-2:]
    if not (turned is swap(b) or are_transposes(turned, b) or (turned is b and m == n == 1)):
        return None
    return abs(m - n) if isinstance(m, int) and isinstance(n, int) else None


def isotropic_function(a: Node, g: Node) -> Node:
    """Return V diag(g) V^T for a matrix with eigenvectors V and a vector g, a formula of ``eigvalsh(a)``."""
    x = matrix("eigvalsh", a)
    order = postorder([g])
    moving, fed = dependents(order, [x]), dependents(order, inputs_of([g]))
    new: dict[Node, Node] = {x: spectrum(x.shape)}
    parameters: list[Node] = []
    for node in order if g in moving else ():
        for arg in node.args if node in moving and node is not x else ():
            if arg not in new and arg not in moving and arg in fed:
                new[arg] = spectrum_parameter(len(parameters), arg.shape, arg.dtype)
                parameters.append(arg)
    if g not in moving and g in fed:
        new[g] = spectrum_parameter(0, g.shape, g.dtype)
        parameters.append(g)
    (function,) = substitute([g], new)
    if function.shape[-1] != x.shape[-1] or function.ndim < x.ndim:
        lead = function.shape[:-1] if function.ndim >= x.ndim else x.shape[:-1]
        function = broadcast_to(function, (*lead, x.shape[-1]))
    return _applied(function, (a, *parameters), zeros_of(a), x)


def _applied(
    function: Node,
    args: Sequence[Node],
    nulls: int | None,
    x: Node,
    directions: Sequence[Node] = (),
    transposed: bool = False,
) -> Node:
    """Apply a function, whose slopes are derived, without those parameters that are not in it."""
    a, *parameters = args
    met = set(postorder([function]))
    stand_in = [spectrum_parameter(k, one.shape, one.dtype) for k, one in enumerate(parameters)]
    used = [k for k, one in enumerate(stand_in) if one in met]
    if len(used) < len(parameters):
        new = {stand_in[k]: spectrum_parameter(place, parameters[k].shape, parameters[k].dtype)
               for place, k in enumerate(used)}  # fmt: skip
        (function,) = substitute([function], new)
    payload = Isotropic(function, _slopes(function, spectrum(x.shape)), len(used), nulls, transposed)
    return isotropic(payload, (a, *(parameters[k] for k in used), *directions))


def _slopes(function: Node, x: Node) -> Node:
    """Return the slopes: of rows that depend on rows, without the zeros between them, which are no zeros beside nan."""
    start = function.ndim - x.ndim
    by = x.shape
    if all(row_axis(function, {x: axis}) == start + axis for axis in range(x.ndim - 1)):
        by = x.shape[-1:]
    seed = identity(by)
    if by != x.shape:
        seed = broadcast_to(reshape(seed, (*by, *(1,) * (x.ndim - 1), *by)), (*by, *x.shape))
    (pushed,) = pushforward([function], {x: seed}, len(by))
    if pushed is None:
        return zeros((*function.shape, *by))
    own = tuple(range(pushed.ndim))
    return einsum([pushed], [own], (*own[len(by) :], *own[: len(by)]))


def _parts(node: Node) -> tuple[Node, list[Node], list[Node]]:
    a, *rest = node.args
    count = node.payload.parameters
    return a, rest[:count], rest[count:]


def _widened(x: Node, rank: int, missing: int) -> Node:
    """Put axes of size 1 in front of the last ``rank`` axes."""
    at = x.ndim - rank
    return reshape(x, (*x.shape[:at], *(1,) * missing, *x.shape[at:])) if missing and at else x


def isotropic_differential(node: Node, change: Node, transposed: bool = False) -> Node:
    """Return the differential of an isotropic function along a change of its matrix, as wide as the result."""
    payload = node.payload._replace(transposed=transposed and not _is_even(node))
    return isotropic(payload, (*node.args[: 1 + payload.parameters], change))


def _is_even(node: Node) -> bool:
    """Tell whether the slopes are symmetric by their form, as those of a gradient are."""
    slopes = node.payload.slopes
    rank = 1 if node.payload.is_by_matrix else node.args[0].ndim - 1
    own = tuple(range(slopes.ndim))
    at = slopes.ndim - 2 * rank
    turned = einsum([slopes], [own], (*own[:at], *own[at + rank :], *own[at : at + rank]))
    return turned is slopes or simplify([turned])[0] is simplify([slopes])[0]


def differential(node: Node, tangents: Sequence[Node | None]) -> Node:
    """Return the differential of an isotropic function, or of its differential along a direction."""
    a, parameters, directions = _parts(node)
    payload: Isotropic = node.payload
    count, x = len(parameters), matrix("eigvalsh", a)
    total: Node | None = None

    def add(term: Node | None) -> None:
        nonlocal total
        total = term if total is None or term is None else total + term

    if tangents[0] is not None:
        if directions:
            add(_second(node, tangents[0]))
        else:
            change = 0.5 * (tangents[0] + swap(tangents[0]))
            add(isotropic_differential(node, _widened(change, a.ndim, node.ndim - a.ndim)))
    for k, (own, tangent) in enumerate(zip(parameters, tangents[1 : 1 + count], strict=True)):
        if tangent is not None:
            moved = spectrum_parameter(count, tangent.shape, tangent.dtype)
            add(_with_slope(node, k, moved, tangent.ndim - own.ndim, (a, *parameters, tangent), x))
    for tangent in tangents[1 + count :]:
        if tangent is not None:
            change = _widened(tangent, directions[0].ndim, node.ndim - directions[0].ndim)
            add(isotropic(payload, (a, *parameters, change)))
    return zeros(node.shape) if total is None else total


def _with_slope(node: Node, k: int, tangent: Node, prefix: int, args: Sequence[Node], x: Node) -> Node | None:
    """Return a node with the slope of its function by parameter ``k`` in its place, along ``tangent``."""
    payload: Isotropic = node.payload
    own = args[1 + k]
    (slope,) = pushforward([payload.function], {spectrum_parameter(k, own.shape, own.dtype): tangent}, prefix)
    if slope is None:
        return None
    slope = _widened(slope, payload.function.ndim, node.ndim - 1 - payload.function.ndim)
    return _applied(slope, args, payload.nulls, x, node.args[1 + payload.parameters :], payload.transposed)


def _second(node: Node, tangent: Node) -> Node:
    """Return the change of a differential with its matrix: nan where eigenvalues are equal."""
    stand_in = [placeholder(("isotropic", k), arg.shape, arg.dtype) for k, arg in enumerate(node.args)]
    written = isotropic_of(isotropic(node.payload, stand_in), stand_in)
    (pushed,) = pushforward([written], {stand_in[0]: tangent}, tangent.ndim - node.args[0].ndim)
    if pushed is None:
        return zeros((*tangent.shape[: tangent.ndim - node.args[0].ndim], *node.shape))
    return substitute([pushed], dict(zip(stand_in, node.args, strict=True)))[0]


def gathered(x: Node, prefix: int, own: Node) -> Node:
    """Sum over the axes along which an argument was broadcast."""
    start = x.ndim - own.ndim
    gone = [*range(prefix, start)]
    gone += [start + k for k, n in enumerate(own.shape) if n == 1 and x.shape[start + k] != 1]
    labels = tuple(range(x.ndim))
    kept = tuple(label for label in labels if label not in gone)
    summed = einsum([x], [labels], kept)
    return reshape(summed, (*x.shape[:prefix], *own.shape)) if summed.shape[prefix:] != own.shape else summed


def pulled(node: Node, i: int, ct: Node, prefix: int) -> Node | None:
    """Pull a cotangent back to a direction, or to a parameter; None for the matrix, by the differential."""
    a, parameters, directions = _parts(node)
    if i == 0:
        return None
    if i > len(parameters):
        return gathered(isotropic_differential(node, ct, not node.payload.transposed), prefix, directions[0])
    own = parameters[i - 1]
    seed = identity(own.shape) if own.ndim else constant(1.0)
    along = _with_slope(node, i - 1, seed, own.ndim, (a, *parameters), matrix("eigvalsh", a))
    if along is None:
        return zeros((*ct.shape[:prefix], *own.shape))
    lead, mine = tuple(range(prefix)), tuple(range(100, 100 + own.ndim))
    axes = tuple(range(200, 200 + node.ndim))
    if along.ndim < own.ndim + node.ndim or along.shape[own.ndim :] != node.shape:
        along = broadcast_to(along, (*own.shape, *node.shape))
    return einsum([ct, along], [(*lead, *axes), (*mine, *axes)], (*lead, *mine))
