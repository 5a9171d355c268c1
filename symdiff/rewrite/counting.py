"""Positions that a call brings, counted along whole arrays, and products computed where something stands alone.

A part, a joint or a padding of arrays would be copied to be read at positions, and an array that is 0 but at positions
would be multiplied by all of another. Here positions are computed with in place of that. No rule knows such positions,
so this is the last of all passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from ..graph import (
    BOOL,
    INT,
    Item,
    Node,
    constant,
    contract,
    elementwise,
    extent,
    label_sizes,
    pad,
    postorder,
    put,
    rebuild,
    reshape,
    slicing,
    take,
    whole,
)
from ..graph.kinds import TAKEN
from ..graph.scalars.functions import where
from ..graph.sizes import Dim, product, same_elements
from .inward import is_open, narrowed
from .narrowing import takes_few

__all__ = ["count_from_whole"]


#: Turns of counting and narrowing: one for each array within another. Some parts would change from turn to turn.
_TURNS = 8


def count_from_whole(roots: Sequence[Node]) -> list[Node]:
    """Count positions that a call brings along whole arrays in place of parts, which would be copied to be read.

    What stands at a position of arrays that are joined, padded or merged is chosen, and computed there alone.
    Afterwards positions are computed with, so no rule may come behind it.
    """
    current = _at_positions(roots)
    for _ in range(_TURNS):
        if not any(root.below & TAKEN for root in current):
            break
        new: dict[Node, Node] = {}
        for node in postorder(current):
            again = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
            count_ = _COUNTED.get((again.op, again.args[0].op)) if again.args else None
            new[node] = again if count_ is None else count_(again)
        counted = [new[root] for root in current]
        if counted == current:
            break
        current = narrowed(counted)
    return current


def _taken_of_part(node: Node) -> Node:
    part, at = node.args
    axis, shared = node.payload.axis + part.ndim, node.payload.shared
    items = part.payload.items
    spots = [spot for spot, item in enumerate(items) if item[2] is not None]
    spot, (x,) = spots[axis], part.args
    apart = spots[axis - shared : axis] != list(range(spot - shared, spot))
    if items[spot] == whole(x.shape[spot]) or not is_open(part) or apart:
        return node
    rest = slicing(x, (*items[:spot], whole(x.shape[spot]), *items[spot + 1 :]))
    return take(rest, _along_whole(at, items[spot]), axis, shared)


def _taken_of_joint(node: Node) -> Node:
    joint, at = node.args
    axis, sizes = node.payload.axis, [arg.shape[joint.payload.axis] for arg in joint.args]
    if not _is_chosen(node) or axis != joint.payload.axis or not all(isinstance(size, int) and size for size in sizes):
        return node
    place, ends = axis + joint.ndim, list(accumulate(sizes))
    found = [
        take(arg, _within_axis(at, end - size, size), place)
        for arg, size, end in zip(joint.args, sizes, ends, strict=True)
    ]
    made = found.pop()
    for piece, end in zip(reversed(found), reversed(ends[:-1]), strict=True):
        made = where(_spread(_compared(at, end), made, place), piece, made)
    return made


def _taken_of_padding(node: Node) -> Node:
    padding, at = node.args
    axis, (x,) = node.payload.axis + padding.ndim, padding.args
    items = padding.payload.items
    start, step, size = items[axis]
    if not _is_chosen(node) or step != 1 or not isinstance(start, int) or not isinstance(size, int) or not size:
        return node
    rest = pad(
        x, (*items[:axis], whole(size), *items[axis + 1 :]), (*padding.shape[:axis], size, *padding.shape[axis + 1 :])
    )
    found = take(rest, _within_axis(at, start, size), axis)
    return where(_spread(_inside(at, start, size), found, axis), found, 0.0)


def _taken_of_merged(node: Node) -> Node:
    merged, at = node.args
    axis, (x,) = node.payload.axis + merged.ndim, merged.args
    old = next(old for old, new in same_elements(x.shape, merged.shape) if axis in new)
    rest = product([x.shape[a] for a in old[1:]])
    alone = [new for _, new in same_elements(x.shape, merged.shape) if axis in new] == [[axis]]
    if not _is_chosen(node) or not alone or len(old) < 2 or not isinstance(rest, int) or not rest:
        return node
    rows = reshape(x, (*x.shape[: old[0]], x.shape[old[0]], rest, *x.shape[old[-1] + 1 :]))
    chosen = take(rows, _counted("floor_divide", at, rest), old[0])
    return take(chosen, _counted("mod", at, rest), old[0] + at.ndim, at.ndim)


def _is_chosen(node: Node) -> bool:
    """Tell whether what is taken is clearly less than the array, and read at the same positions everywhere."""
    return not node.payload.shared and takes_few(node)


def _put_into_part(node: Node) -> Node:
    (inner,) = node.args
    axis, items = inner.payload.axis + inner.ndim, node.payload.items
    spots = [spot for spot, item in enumerate(items) if item[2] is not None]
    size = node.shape[spots[axis]]
    if items[spots[axis]] == whole(size):
        return node
    x, at = inner.args
    rest = put(x, _along_whole(at, items[spots[axis]]), axis, size, inner.payload.shared)
    return pad(rest, (*items[: spots[axis]], whole(size), *items[spots[axis] + 1 :]), node.shape)


def _along_whole(at: Node, item: Item) -> Node:
    """Return positions of a regular part as those of the whole axis."""
    start, step, _ = item
    paced = _counted("multiply", at, step) if step != 1 else at
    return _counted("add", paced, start)


def _counted(op: str, at: Node, by: Dim) -> Node:
    """Return positions computed by a whole number."""
    return elementwise(op, (at, constant(float(by)) if isinstance(by, int) else extent(by)), INT)


def _within_axis(at: Node, start: int, size: int) -> Node:
    """Return positions counted from ``start``, those outside of an axis of so many elements moved to its ends."""
    counted = _counted("subtract", at, start) if start else at
    return _counted("minimum", _counted("maximum", counted, 0), size - 1)


def _compared(at: Node, end: int) -> Node:
    """Return which positions are below ``end``."""
    return elementwise("less", (at, constant(float(end))), BOOL)


def _inside(at: Node, start: int, size: int) -> Node:
    """Return which positions are among so many from ``start`` on."""
    below = _compared(at, start + size)
    behind = elementwise("logical_not", (_compared(at, start),), BOOL)
    return elementwise("logical_and", (below, behind), BOOL) if start else below


def _spread(condition: Node, x: Node, axis: int) -> Node:
    """Return a condition of positions, which are some axes of ``x`` from one on, with the axes behind them."""
    return reshape(condition, (*condition.shape, *[1] * (x.ndim - axis - condition.ndim)))


#: Other ways to count positions, by what takes or moves and of what.
_COUNTED = {
    ("take", "slice"): _taken_of_part,
    ("take", "concatenate"): _taken_of_joint,
    ("take", "pad"): _taken_of_padding,
    ("take", "reshape"): _taken_of_merged,
    ("pad", "put"): _put_into_part,
}


# ---------------------------------------------------------------------------- products


class Placed(NamedTuple):
    """An array that is 0 but at positions of one axis, as what is added up there.

    ``behind`` are the axes behind that one, which has ``size`` elements. Terms are values and their positions.
    """

    terms: tuple[tuple[Node, Node], ...]
    behind: int
    size: int

    @property
    def is_few(self) -> bool:
        """True where positions are clearly fewer than elements of the axis."""
        sizes = [at.size for _, at in self.terms]
        return all(isinstance(size, int) for size in sizes) and 2 * sum(map(int, sizes)) <= self.size


    def array(self) -> Node:
        """Return the array itself."""
        total: Node | None = None
        for y, at in self.terms:
            one = put(y, at, y.ndim - at.ndim - self.behind, self.size)
            total = one if total is None else elementwise("add", (total, one))
        assert total is not None
        return total


def _at_positions(roots: Sequence[Node]) -> list[Node]:
    """Return ``roots`` with sums of products computed where a factor is not 0 by construction."""
    if not any(node.op == "put" for node in postorder(roots)):
        return list(roots)
    found: dict[Node, Placed | None] = {}
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        again = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        product_ = _product_of(again, found) if again.is_contraction else None
        placed = _placed(again, found) if product_ is None else product_ if isinstance(product_, Placed) else None
        if isinstance(product_, Node):
            again = product_
        elif placed is not None and placed.is_few and again.op != "put":
            again = placed.array()
        new[node], found[again] = again, placed
    return narrowed([new[root] for root in roots])


def _placed(node: Node, found: Mapping[Node, Placed | None]) -> Placed | None:
    """Return an array as what is added up at positions, None where it is nothing of the kind."""
    if node.op == "put":
        size = node.shape[node.payload.axis]
        if node.payload.shared or not isinstance(size, int):
            return None
        return Placed(((node.args[0], node.args[1]),), -1 - node.payload.axis, size)
    several = [found.get(arg) for arg in node.args]
    first = several[0] if several else None
    if node.op in ("slice", "pad") and first is not None:
        return _moved(node, first)
    if node.is_reshape and first is not None:
        return _split(node, first)
    if node.is_negation and first is not None:
        return first._replace(terms=tuple([(elementwise("negative", (y,)), at) for y, at in first.terms]))
    if node.is_additive and first is not None and several[1] is not None:
        second = several[1]
        if [arg.shape for arg in node.args] != [node.shape] * 2 or first[1:] != second[1:]:
            return None
        signed = tuple([(y if node.is_addition else elementwise("negative", (y,)), at) for y, at in second.terms])
        return first._replace(terms=first.terms + signed)
    if node.is_multiplicative:
        for k, own in enumerate(several):
            if own is not None and node.args[k].shape == node.shape and not (k and node.is_division):
                return _scaled(node, k, own)
    return None


def _moved(node: Node, placed: Placed) -> Placed | None:
    """Return a part or a padding along the axis of what is placed."""
    (x,), items = node.args, node.payload.items
    axis = x.ndim - 1 - placed.behind
    larger = x if node.is_slice else node
    others = [item == whole(n) for item, n in zip(items, larger.shape, strict=True)]
    start, step, count = items[axis] if node.ndim == x.ndim else (0, 0, None)
    size = node.shape[axis] if node.ndim == x.ndim else None
    if (
        step != 1
        or not all(others[:axis] + others[axis + 1 :])
        or not isinstance(start, int)
        or not isinstance(size, int)
    ):
        return None
    if node.is_pad:
        terms = [(y, _along_whole(at, items[axis])) for y, at in placed.terms]
    elif count == 0:
        return None
    else:
        terms = [
            (where(_spread(_inside(at, start, size), y, axis), y, 0.0), _within_axis(at, start, size))
            for y, at in placed.terms
        ]
    return Placed(tuple(terms), placed.behind, size)


def _split(node: Node, placed: Placed) -> Placed | None:
    """Return what is placed along an axis that is split: along the first part, and 0 but at one place of the others."""
    (x,) = node.args
    axis = x.ndim - 1 - placed.behind
    groups = same_elements(x.shape, node.shape)
    new = next(new for old, new in groups if axis in old)
    rest, size = product([node.shape[a] for a in new[1:]]), node.shape[new[0]]
    kept = all(
        old == [axis] or (len(old) == len(new) == 1) for old, new in groups if axis in old or len(old) + len(new) > 2
    )
    if not kept or len(new) < 2 or not isinstance(rest, int) or not isinstance(size, int) or not rest:
        return None
    terms = []
    for y, at in placed.terms:
        inner = put(y, _counted("mod", at, rest), axis + at.ndim, rest, at.ndim)
        shape = (*inner.shape[: axis + at.ndim], *[node.shape[a] for a in new[1:]], *inner.shape[axis + at.ndim + 1 :])
        terms.append((reshape(inner, shape), _counted("floor_divide", at, rest)))
    return Placed(tuple(terms), placed.behind + len(new) - 1, size)


def _scaled(node: Node, k: int, placed: Placed) -> Placed | None:
    """Return a product or quotient of what is placed and another array."""
    other = node.args[1 - k]
    axis = other.ndim - 1 - placed.behind
    terms = []
    for y, at in placed.terms:
        if axis < 0:
            own = other
        elif other.shape[axis] == placed.size:
            own = take(other, at, axis)
        else:
            own = reshape(other, (*other.shape[:axis], *[1] * at.ndim, *other.shape[axis + 1 :]))
        terms.append((elementwise(node.op, (y, own) if k == 0 else (own, y)), at))
    return placed._replace(terms=tuple(terms))


def _product_of(node: Node, found: Mapping[Node, Placed | None]) -> Node | Placed | None:
    """Return a product with a placed factor, summed along its axis or placed itself; None for others."""
    labels, out, repeated = node.payload
    for k, (arg, own) in enumerate(zip(node.args, labels, strict=True)):
        placed = found.get(arg)
        if placed is None or not placed.is_few:
            continue
        label = own[len(own) - 1 - placed.behind]
        if any(each.count(label) > 1 for each in (*labels, out)) or label in dict(repeated):
            continue
        terms = []
        for y, at in placed.terms:
            free = 1 + max(label_sizes(node))
            fresh = tuple(range(free, free + at.ndim))
            args = [
                y if i == k else take(other, at, each.index(label)) if label in each else other
                for i, (other, each) in enumerate(zip(node.args, labels, strict=True))
            ]
            names = [tuple([n for i in each for n in (fresh if i == label else (i,))]) for each in (*labels, out)]
            terms.append((contract(args, names[:-1], names[-1], dict(repeated)), at))
        if label in out:
            return Placed(tuple(terms), len(out) - 1 - out.index(label), placed.size)
        total = terms[0][0]
        for term, _ in terms[1:]:
            total = elementwise("add", (total, term))
        return total
    return None
