"""Jacobians of formulas whose rows depend on rows taken at positions: ``f(cams[ci], pts[pi])`` over many observations.

Row n of such a formula depends on row n of ``cams[ci]`` alone. So a Jacobian is known from its sum over n, which needs
as many seeds as one row has elements, and no identity along the rows: D[n, ...], placed at the positions. A general
Jacobian carries that identity through every operation, and loses it in long sums.

Source: Curtis, Powell and Reid (1974): columns that share no row may have one seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..graph import Node, axes_of, dependents, placeholder, postorder, substitute, zeros
from ..graph.deltas.einsum import einsum
from ..graph.deltas.structural import identity, rows_of
from ..graph.primitives import CUMULATIVE, DETERMINANTS, LISTED, MATRIX_OPS, NORMALIZATIONS, REDUCTIONS
from ..graph.scalars.functions import FUNCTIONS
from ..graph.sizes import Shape, product
from .modes import pullback, pushforward

__all__ = ["by_rows", "row_axis"]


def by_rows(f: Node, x: Node) -> list[Node]:
    """Return the Jacobian of ``f`` with respect to ``x``, which it takes rows of, in forward and in reverse mode.

    Returns
    -------
    list of Node, shape ``f.shape + x.shape``
        Empty if ``x`` is used in another way, or rows depend on each other.
    """
    order = postorder([f])
    uses = [node for node in order if x in node.args]
    if not uses or f is x or not all(n.op == "take" and n.args[0] is x and not n.payload.shared for n in uses):
        return []
    if any(not use.args[1].ndim for use in uses):
        return []
    stand_in = {use: placeholder(("rows", k), use.shape) for k, use in enumerate(uses)}
    (cut,) = substitute([f], stand_in)
    starts = {stand_in[use]: use.payload.axis + x.ndim for use in uses}
    row = row_axis(cut, starts)
    if row is None:
        return []
    back = {start: use for use, start in stand_in.items()}
    return substitute([mode(cut, row, starts, uses, x) for mode in (_forward, _reverse)], back)


def _reverse(f: Node, row: int, starts: dict[Node, int], uses: Sequence[Node], x: Node) -> Node:
    # the seed's axes are those of a row of the result
    pulled = pullback({f: _seed(f.shape, row)}, list(starts), f.ndim - 1)
    total: Node | None = None
    for place, use, part in zip(starts.values(), uses, pulled, strict=True):
        if part is not None:
            outer, own = _axes(f, row, use, place)
            labels = (*(outer[a] for a in range(f.ndim) if a != row), *own)
            total = _add(total, _placed(part, labels, outer, own, place, use, x))
    return zeros((*f.shape, *x.shape)) if total is None else total


def _forward(f: Node, row: int, starts: dict[Node, int], uses: Sequence[Node], x: Node) -> Node:
    total: Node | None = None
    for (start, place), use in zip(starts.items(), uses, strict=True):
        # the seed's axes are those of a row that is taken
        (part,) = pushforward([f], {start: _seed(start.shape, place)}, start.ndim - 1)
        if part is not None:
            outer, own = _axes(f, row, use, place)
            labels = (*(own[a] for a in range(use.ndim) if a != place), *outer)
            total = _add(total, _placed(part, labels, outer, own, place, use, x))
    return zeros((*f.shape, *x.shape)) if total is None else total


def _axes(f: Node, row: int, use: Node, place: int) -> tuple[list[int], list[int]]:
    """Label the axes of the result and of the rows that are taken; the rows stand along one axis of both."""
    outer = [100 + a for a in range(f.ndim)]
    own = [200 + a for a in range(use.ndim)]
    own[place] = outer[row]
    return outer, own


def _seed(shape: Shape, row: int) -> Node:
    """Return the identity of one row for each row, shape ``rest + shape``."""
    rest = tuple(n for a, n in enumerate(shape) if a != row)
    one = identity(rest)
    count = len(rest)
    inner = [count + a for a in range(count)]
    out = (*range(count), *inner[:row], 2 * count, *inner[row:])
    return einsum([one], [tuple(range(2 * count))], out, {2 * count: shape[row]})


def _placed(
    part: Node, labels: tuple[int, ...], outer: list[int], own: list[int], place: int, use: Node, x: Node
) -> Node:
    """Put the derivatives of rows where the positions say."""
    at = use.args[1]
    column = 300
    behind = place + at.ndim
    result = (*outer, *own[:place], column, *own[behind:])
    rows = rows_of(at, x.shape[place])
    return einsum([part, rows], [labels, (*own[place:behind], column)], result, {column: x.shape[place]})


def _add(a: Node | None, b: Node) -> Node:
    return b if a is None else a + b


# ---------------------------------------------------------------------------- which axis rows stand along


def row_axis(f: Node, starts: dict[Node, int]) -> int | None:
    """Return the axis of ``f`` along which its rows stand, None if some depends on more than one row."""
    order = postorder([f])
    moving = dependents(order, starts)
    if f not in moving:
        return None
    at: dict[Node, int] = {}
    for node in order:
        if node in starts:
            at[node] = starts[node]
        elif node in moving and not node.is_barrier:
            args = [arg for arg in node.args if arg in at]
            if not args:
                continue
            found = _axis(node, args, at)
            if found is None:
                return None
            at[node] = found
    return at.get(f)


def _axis(node: Node, args: Sequence[Node], at: dict[Node, int]) -> int | None:
    if node.op in FUNCTIONS:
        found = {at[arg] - arg.ndim for arg in args}
        axis = found.pop() + node.ndim
        return axis if not found and all(arg.shape[axis - node.ndim] == node.shape[axis] for arg in args) else None
    rule = _RULES.get(node.op)
    return None if rule is None else rule(node, args, at)


def _contract(node: Node, args: Sequence[Node], at: dict[Node, int]) -> int | None:
    labels, out, _ = node.payload
    found = {own[at[arg]] for arg, own in zip(node.args, labels, strict=True) if arg in at}
    label = found.pop()
    return out.index(label) if not found and label in out else None


def _slice(node: Node, args: Sequence[Node], at: dict[Node, int]) -> int | None:
    (arg,) = args
    row, items = at[arg], node.payload.items
    if items[row] != (0, 1, arg.shape[row]):
        return None
    return sum(1 for _, _, length in items[:row] if length is not None)


def _pad(node: Node, args: Sequence[Node], at: dict[Node, int]) -> int | None:
    kept = [axis for axis, (_, _, length) in enumerate(node.payload.items) if length is not None]
    row = kept[at[args[0]]]
    return row if node.payload.items[row] == (0, 1, node.shape[row]) else None


def _reshape(node: Node, args: Sequence[Node], at: dict[Node, int]) -> int | None:
    (arg,) = args
    row = at[arg]
    before = product(arg.shape[:row])
    for axis, size in enumerate(node.shape):
        if size == arg.shape[row] and product(node.shape[:axis]) == before:
            return axis
    return None


def _reduction(node: Node, args: Sequence[Node], at: dict[Node, int]) -> int | None:
    (arg,) = args
    over = set(axes_of(node, arg))
    return None if at[arg] in over else sum(1 for axis in range(at[arg]) if axis not in over)


def _beside(axes: Callable[[Node], set[int]]) -> Callable[[Node, Sequence[Node], dict[Node, int]], int | None]:
    """Return the rule of an operation that leaves all axes but some, counted from the end, as they are."""

    def rule(node: Node, args: Sequence[Node], at: dict[Node, int]) -> int | None:
        found = {at[arg] - arg.ndim for arg in args}
        axis = found.pop()
        return None if found or axis in axes(node) else axis + node.ndim

    return rule


def _folded_matrix(node: Node, args: Sequence[Node], at: dict[Node, int]) -> int | None:
    (arg,) = args
    return at[arg] if at[arg] < arg.ndim - 2 else None


_MATRIX = _beside(lambda node: {-1, -2})
_RULES: dict[str, Callable[[Node, Sequence[Node], dict[Node, int]], int | None]] = {
    "contract": _contract,
    "slice": _slice,
    "pad": _pad,
    "reshape": _reshape,
    "named": _beside(lambda node: set()),
    "triangle": _MATRIX,
    **dict.fromkeys((*CUMULATIVE, *LISTED, "concatenate", "arrange"), _beside(lambda node: {node.payload.axis})),
    **dict.fromkeys(REDUCTIONS, _reduction),
    **dict.fromkeys(NORMALIZATIONS, _beside(lambda node: set(node.payload.axes))),
    **dict.fromkeys(MATRIX_OPS, _MATRIX),
    **dict.fromkeys(DETERMINANTS, _folded_matrix),
}
