"""Parts of arrays, and what an operation has to read of its arguments to give a part of its result.

A slice, a list of positions or positions that a call brings move inward: through functions element by element,
products, reductions and all else whose elements depend on a part of an argument.
One walk from the results down finds which parts of each node are read, a second one builds these from the leaves up.
So a node is computed whole where it is read whole, or where its parts together would be more work; parts that fill a
larger one are taken from that one. Nothing is computed twice that was computed once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import gcd
from typing import TypeAlias

from ..graph import (
    BOOL,
    Item,
    Node,
    concatenate,
    contract,
    cumulative,
    elementwise,
    gather,
    normalize,
    pad,
    part_of_part,
    postorder,
    put,
    rebuild,
    reduce,
    remake,
    reshape,
    scatter,
    slicing,
    stop_gradient,
    sum_axes,
    take,
    triangle,
    whole,
    zeros,
)
from ..graph.deltas.affine import STRUCTURE
from ..graph.deltas.einsum import einsum
from ..graph.primitives import CUMULATIVE, MATRIX_OPS, NORMALIZATIONS, REDUCTIONS
from ..graph.scalars.functions import FUNCTIONS
from ..graph.sizes import Dim, Shape, nominal, product, same_elements
from .rewriter import settle


@dataclass(frozen=True)
class ListedPlaces:
    """Positions of one axis, as numbers."""

    indices: tuple[int, ...]


@dataclass(frozen=True)
class CalledPlaces:
    """Positions that a call brings, counted along a regular part of an axis.

    ``width`` is that of blocks of neighbours, which are counted and read in place of elements, if there are any.
    """

    at: Node
    start: Dim
    step: int
    count: Dim
    width: Dim | None = None

    def within(self, item: Item) -> CalledPlaces:
        """Return them along the axis of which theirs is a regular part."""
        ((start, step, count),) = part_of_part((item,), ((self.start, self.step, self.count),))
        assert count is not None
        return CalledPlaces(self.at, start, step, count, self.width)


#: Part of an axis that is read: a regular part, a list of positions, or positions that a call brings.
Entry: TypeAlias = "Item | ListedPlaces | CalledPlaces"
#: Parts of each axis that are read.
Part: TypeAlias = tuple[Entry, ...]
#: An argument's part for each argument, None where none of it is read, and what is made of these.
Inward: TypeAlias = tuple[list["Part | None"], Callable[[list[Node]], Node]]

#: A letter counts as so many where parts are compared with the whole.
_LETTER = 64
#: Most parts of a node that are computed one by one.
_PARTS = 16
#: Most places that are listed to read single ones of axes that are merged.
_LISTED = 4096
SELECTIONS = frozenset(("slice", "gather", "take"))
_BY_MATRIX = MATRIX_OPS | {"expm", "pinv", "spectral"}


def narrowed(roots: Sequence[Node]) -> list[Node]:
    """Return ``roots`` with parts computed that are clearly less than the arrays of which nothing else is read."""
    found = _Narrowed(roots, postorder(roots))
    return found.results() if found.found else list(roots)


def is_open(x: Node) -> bool:
    """Tell whether parts of a node may be computed without the rest."""
    if x.is_slice and x.args[0].is_recurrence:
        return False  # one of its results
    return bool(x.args) and not (x.is_recurrence or x.is_custom)


class _Narrowed:
    """Parts of nodes that are read, and what is computed for them."""

    def __init__(self, roots: Sequence[Node], order: Sequence[Node]) -> None:
        self._roots, self._order = roots, order
        #: True where anything is computed in part.
        self.found = False
        #: Nodes that are read whole.
        self._whole = set(roots)
        #: Parts of other nodes that are read: the part that is computed for it, None for all, and what is read of that.
        self._read: dict[Node, dict[Part, tuple[Part | None, Part]]] = {}
        for node in reversed(order):
            if node.args:
                self._decide(node)

    def _decide(self, node: Node) -> None:
        """Find what is computed for a node, and note what that reads of its arguments."""
        parts = self._read.get(node)
        is_whole = node in self._whole
        if node.op in SELECTIONS and is_open(node.args[0]):
            if is_whole:
                self._pass_on(node, _all(node))
            for part in parts or ():
                inner = _reach(node, part)
                self._keep(node, part, inner)
                self._pass_on(node, inner)
            return
        if parts is not None and not is_whole and is_open(node):
            inners = _joined(node, {part: _reach(node, part) for part in parts})
            if _is_less(node, dict.fromkeys(inners.values())):
                self.found = True
                for part, inner in inners.items():
                    self._keep(node, part, inner)
                for inner in dict.fromkeys(inners.values()):
                    self._pass_on(node, inner)
                return
        if parts is not None:
            parts.update({part: (None, part) for part in parts})
            is_whole = True
            self._whole.add(node)
        if is_whole:
            self._whole.update(node.args)

    def _keep(self, node: Node, part: Part, inner: Part) -> None:
        self._read[node][part] = inner, within_part(inner, part)

    def _pass_on(self, node: Node, part: Part) -> None:
        for arg, own in zip(node.args, _INWARD[_kind(node.op)](node, part)[0], strict=True):
            if own is None:
                continue
            if own == _all(arg):
                self._whole.add(arg)
            elif arg.args:
                self._read.setdefault(arg, {})[own] = None, own

    def results(self) -> list[Node]:
        """Build what is read, from the leaves up."""
        self._made: dict[tuple[Node, Part | None], Node] = {}
        for node in self._order:
            parts = self._read.get(node, {})
            if node in self._whole:
                self._made[node, None] = self._build_whole(node)
            for inner in dict.fromkeys([inner for inner, _ in parts.values()]):
                if inner is not None:
                    self._made[node, inner] = self._build(node, inner)
        return [self._made[root, None] for root in self._roots]

    def _build_whole(self, node: Node) -> Node:
        if node.op in SELECTIONS and is_open(node.args[0]):
            x = node.args[0]
            own = _INWARD[node.op](node, _all(node))[0][0]
            assert own is not None
            computed = self._read.get(x, {}).get(own)
            if computed is not None and computed[0] is None and self._made[x, None] is x:
                return node
            return self._build(node, _all(node))
        return rebuild(node, tuple([self._made[arg, None] for arg in node.args])) if node.args else node

    def _build(self, node: Node, part: Part) -> Node:
        parts, make = _INWARD[_kind(node.op)](node, part)
        return make(
            [arg if own is None else self._value(arg, own) for arg, own in zip(node.args, parts, strict=True)]
        )

    def _value(self, node: Node, part: Part) -> Node:
        if part == _all(node):
            return self._made[node, None]
        if not node.args:
            return taken(node, part)
        inner, rest = self._read[node][part]
        return taken(self._made[node, inner], rest)


# ---------------------------------------------------------------------------- parts


def _all(node: Node) -> Part:
    return tuple([whole(size) for size in node.shape])


def sizes_of(entry: Entry) -> Shape:
    """Return the axes that an entry leaves of one."""
    if isinstance(entry, CalledPlaces):
        return entry.at.shape if entry.width is None else (*entry.at.shape, entry.width)
    if isinstance(entry, ListedPlaces):
        return (len(entry.indices),)
    return () if entry[2] is None else (entry[2],)


def shape_of(part: Part) -> Shape:
    """Return the shape of a part."""
    return tuple([size for entry in part for size in sizes_of(entry)])


def _place(part: Part, axis: int) -> int:
    """Return where an axis stands once a part of those before it is taken."""
    return sum(len(sizes_of(entry)) for entry in part[:axis])


def taken(x: Node, part: Part) -> Node:
    """Return a part of an array."""
    if part == _all(x):
        return x
    result = settle(slicing(x, tuple(map(regular, part, x.shape))))
    # positions that a call brings first, and lists of what is left
    for axis in reversed([axis for axis, entry in enumerate(part) if isinstance(entry, CalledPlaces)]):
        entry = part[axis]
        assert isinstance(entry, CalledPlaces)
        at = sum(not isinstance(one, tuple) or one[2] is not None for one in part[:axis])
        if entry.width is not None:
            blocks = (entry.count, entry.width)
            result = reshape(result, (*result.shape[:at], *blocks, *result.shape[at + 1 :]))
        result = take(result, entry.at, at)
    for axis, entry in reversed(list(enumerate(part))):
        if isinstance(entry, ListedPlaces):
            result = gather(result, _place(part, axis), entry.indices)
    return result


def regular(entry: Entry, size: Dim) -> Item:
    """Return the regular part of an axis that positions are counted along."""
    if isinstance(entry, tuple):
        return entry
    if isinstance(entry, ListedPlaces):
        return whole(size)
    return (entry.start, entry.step if entry.width is None else 1, entry.count * (entry.width or 1))


def within_part(inner: Part, part: Part) -> Part:
    """Return what a part is of a larger one: regular axes, or the same."""
    rest: list[Entry] = []
    for held, entry in zip(inner, part, strict=True):
        if held == entry:
            rest += [whole(size) for size in sizes_of(entry)]
        elif isinstance(held, tuple) and held[:2] == (0, 1):
            rest.append(entry)
        elif isinstance(held, ListedPlaces):
            assert isinstance(entry, ListedPlaces)
            rest.append(ListedPlaces(tuple([held.indices.index(i) for i in entry.indices])))
        else:
            assert isinstance(held, tuple)
            assert isinstance(entry, tuple)
            start, step, _ = held
            shift = entry[0] - start
            if isinstance(shift, int):  # a step other than 1 is one of numbers
                shift //= step
            rest.append((shift, 1 if entry[2] in (None, 1) else entry[1] // step, entry[2]))
    return tuple(rest)


def part_taken(node: Node) -> Part | None:
    """Return the part of its array that a node takes, None for what takes none."""
    return _INWARD[node.op](node, _all(node))[0][0] if node.op in SELECTIONS else None


def hull_of(parts: Iterable[Part], shape: Shape) -> Part | None:
    """Return one part that holds some parts of an array of a shape, None for none."""
    several = list(parts)
    if not several:
        return None
    hull = []
    for size, *entries in zip(shape, *several, strict=True):
        one = entries[0] if len(set(entries)) == 1 else _hull(entries)
        hull.append(whole(size) if one is None else one)
    return tuple(hull)


def _joined(node: Node, parts: dict[Part, Part]) -> dict[Part, Part]:
    """Return the regular part that holds all, where it is no more than they are together."""
    several = list(dict.fromkeys(parts.values()))
    if len(several) < 2:
        return parts
    hull: list[Entry] = []
    for entries in zip(*several, strict=True):
        one = entries[0] if len(set(entries)) == 1 else _hull(entries)
        if one is None:
            return parts
        hull.append(one)
    found = _reach(node, tuple(hull))
    if count(shape_of(found)) > sum(count(shape_of(part)) for part in several):
        return parts
    return dict.fromkeys(parts, found)


def ends_of(item: Item) -> tuple[int, int] | None:
    """Return the first and the last place of a regular part, None where it has none or where letters say."""
    start, step, length = item
    if not isinstance(start, int) or not isinstance(length, int | None) or length == 0:
        return None
    last = start if length is None else start + (length - 1) * step
    return min(start, last), max(start, last)


def _hull(entries: Iterable[Entry]) -> Item | None:
    """Return the least regular part of an axis that holds some of its parts."""
    ends: list[int] = []
    apart = 0
    for entry in entries:
        if not isinstance(entry, tuple):
            return None
        own = ends_of(entry)
        if own is None:
            return None
        ends += own
        apart = gcd(apart, entry[1] if own[0] < own[1] else 0)
    first = min(ends)
    apart = gcd(apart, *[end - first for end in ends]) or 1
    return (first, apart, (max(ends) - first) // apart + 1)


def count(shape: Shape) -> int:
    """Return how many elements an array has, about where letters are sizes."""
    return nominal(product(shape), _LETTER)


def _is_less(node: Node, parts: Iterable[Part]) -> bool:
    """Tell whether to compute some parts of a node is clearly less than to compute all of it."""
    several = list(parts)
    if _all(node) in several or len(several) > _PARTS:
        return False
    if len(several) > 1 and node.is_contraction and len(node.args) > 2:
        return False  # what two of the factors give would be computed for each
    return 2 * sum(count(shape_of(part)) for part in several) <= count(node.shape)


# ---------------------------------------------------------------------------- what moves through


def _reach(node: Node, part: Part) -> Part:
    """Return the part to compute of a node to read another: larger along axes through which that cannot move."""
    kind = _kind(node.op)
    if kind == "reshape":
        return _reach_reshape(node, part)
    open_ = _OPEN.get(kind)
    if open_ is None:
        return _all(node)
    return tuple(
        [
            entry if entry == whole(size) else open_(node, axis, entry)
            for axis, (entry, size) in enumerate(zip(part, node.shape, strict=True))
        ]
    )


def _kind(op: str) -> str:
    if op in FUNCTIONS or op == "stop_gradient":
        return "function"
    if op in REDUCTIONS:
        return "reduce"
    if op in NORMALIZATIONS:
        return "normalize"
    if op in CUMULATIVE:
        return "cumulative"
    return "matrix" if op in _BY_MATRIX else op


def _open_function(node: Node, axis: int, entry: Entry) -> Entry:
    size = node.shape[axis]
    if len(sizes_of(entry)) > 1 and any(
        axis >= node.ndim - arg.ndim and arg.shape[axis - node.ndim + arg.ndim] != size for arg in node.args
    ):
        return whole(size)
    return entry


def _function(node: Node, part: Part) -> Inward:
    parts: list[Part | None] = []
    for arg in node.args:
        gap = node.ndim - arg.ndim
        own: list[Entry] = []
        for size, full, entry in zip(arg.shape, node.shape[gap:], part[gap:], strict=True):
            own.append(entry if size == full else (0, 1, 1 if sizes_of(entry) else None))
        parts.append(tuple(own))
    if node.is_barrier:
        return parts, lambda args: stop_gradient(args[0])
    return parts, lambda args: elementwise(node.op, tuple(args), node.dtype)


def _open_contract(node: Node, axis: int, entry: Entry) -> Entry:
    labels, out, _ = node.payload
    if not isinstance(entry, tuple):
        for arg, own in zip(node.args, labels, strict=True):
            count = own.count(out[axis])
            if count > 1 or (count and arg.op in STRUCTURE):
                return whole(node.shape[axis])
    return entry


def _contract(node: Node, part: Part) -> Inward:
    labels, out, repeated = node.payload
    wanted = dict(zip(out, part, strict=True))
    fresh = 1 + max((label for own in (*labels, out) for label in own), default=0)
    names: dict[int, tuple[int, ...]] = {}
    sizes: dict[int, Dim] = {}
    for label, entry in wanted.items():
        own = sizes_of(entry)
        names[label] = (label,) if len(own) == 1 else tuple(range(fresh, fresh + len(own)))
        fresh += len(own)
        sizes.update(zip(names[label], own, strict=True))
    parts: list[Part | None] = [
        tuple([wanted.get(label) or whole(size) for label, size in zip(own, arg.shape, strict=True)])
        for arg, own in zip(node.args, labels, strict=True)
    ]
    renamed = [tuple([name for label in own for name in names.get(label, (label,))]) for own in labels]
    result = tuple([name for label in out for name in names[label]])
    again = {name for label, _ in repeated for name in names[label]}
    known = {name: size for name, size in sizes.items() if name in again}

    def make(args: list[Node]) -> Node:
        if node.dtype is BOOL or args[0].dtype is BOOL:
            return contract(args, renamed, result, known)
        return einsum(args, renamed, result, known)

    return parts, make


def _along(node: Node, x: Node, part: Part) -> Part:
    """Return the part of an argument that is reduced along some axes."""
    rest = iter(part)
    own = node.payload.axes
    return tuple([whole(size) if axis - x.ndim in own else next(rest) for axis, size in enumerate(x.shape)])


def _reduce(node: Node, part: Part) -> Inward:
    (x,) = node.args
    own = _along(node, x, part)
    axes = tuple([_place(own, axis + x.ndim) for axis in node.payload.axes])
    return [own], lambda args: reduce(node.op, args[0], axes)


def _open_but(axes: Callable[[Node], Iterable[int]]) -> Callable[[Node, int, Entry], Entry]:
    """Return what opens all axes but some (negative)."""

    def open_(node: Node, axis: int, entry: Entry) -> Entry:
        return whole(node.shape[axis]) if axis - node.ndim in axes(node) else entry

    return open_


def _normalize(node: Node, part: Part) -> Inward:
    axes = tuple([_place(part, axis + node.ndim) for axis in node.payload.axes])
    return [part], lambda args: normalize(node.op, args[0], axes)


def _open_cumulative(node: Node, axis: int, entry: Entry) -> Entry:
    size = node.shape[axis]
    if axis - node.ndim != node.payload.axis:
        return entry
    if node.op == "sort" or not isinstance(entry, tuple):
        return whole(size)
    if entry[2] is None:
        return entry
    ends = ends_of(entry)
    if ends is None:
        return whole(size)
    return (ends[0], 1, size - ends[0]) if node.payload.reverse else (0, 1, ends[1] + 1)


def _cumulative(node: Node, part: Part) -> Inward:
    axis, back = node.payload.axis + node.ndim, node.payload.reverse
    at, entry = _place(part, axis), part[axis]
    if not isinstance(entry, tuple) or entry[2] is not None:
        return [part], lambda args: cumulative(node.op, args[0], at, back)
    start = entry[0]
    so_far: Item = (start, 1, node.shape[axis] - start) if back else (0, 1, start + 1)
    return [(*part[:axis], so_far, *part[axis + 1 :])], lambda args: _FOLDS[node.op](args[0], at)


#: All of what is added, multiplied or compared so far at one place.
_FOLDS: dict[str, Callable[[Node, int], Node]] = {
    "cumsum": lambda x, axis: settle(sum_axes(x, (axis,))),
    "cumprod": lambda x, axis: reduce("prod", x, (axis,)),
    "cummax": lambda x, axis: reduce("max", x, (axis,)),
    "cummin": lambda x, axis: reduce("min", x, (axis,)),
}


def _open_matrix(node: Node, axis: int, entry: Entry) -> Entry:
    lead = node.args[0].ndim - 2
    alike = all(arg.shape[:-2] == node.shape[:lead] for arg in node.args)
    if node.op == "spectral" and node.payload.parameters:
        alike = False
    return entry if axis < lead and alike else whole(node.shape[axis])


def _matrix(node: Node, part: Part) -> Inward:
    parts: list[Part | None] = [(*part[: arg.ndim - 2], *map(whole, arg.shape[-2:])) for arg in node.args]
    return parts, lambda args: remake(node, tuple(args))


def _open_triangle(node: Node, axis: int, entry: Entry) -> Entry:
    if axis < node.ndim - 2 or (isinstance(entry, tuple) and entry[1] == 1 and isinstance(entry[0], int)):
        return entry
    return whole(node.shape[axis])


def _triangle(node: Node, part: Part) -> Inward:
    upper, offset = node.payload
    lead, kept = part[:-2], [entry for entry in part[-2:] if isinstance(entry, tuple)]
    (row, _, rows), (column, _, columns) = kept
    assert isinstance(row, int)
    assert isinstance(column, int)
    own = (*lead, (row, 1, 1 if rows is None else rows), (column, 1, 1 if columns is None else columns))

    def make(args: list[Node]) -> Node:
        made = triangle(args[0], upper, offset + row - column)
        items = [(0, 1, None if entry[2] is None else size) for entry, size in zip(kept, made.shape[-2:], strict=True)]
        return settle(slicing(made, (*map(whole, made.shape[:-2]), *items)))

    return [own], make


def _pieces(node: Node, entry: Entry) -> list[Entry | None] | None:
    """Return what a part of the joint axis takes of each array that is joined, None where it is not of whole ones."""
    axis = node.payload.axis
    begin: Dim = 0
    found: list[Entry | None] = []
    hit = 0
    for arg in node.args:
        size = arg.shape[axis]
        found.append(_piece(entry, begin, size))
        hit += found[-1] is not None
        begin = begin + size
    if hit == 0:
        return None
    if isinstance(entry, CalledPlaces) or (isinstance(entry, tuple) and entry[2] is None):
        return found if hit == 1 else None
    total: Dim = 0
    for piece in found:
        for size in sizes_of(piece) if piece is not None else ():
            total = total + size
    return found if total == sizes_of(entry)[0] else None


def _piece(entry: Entry, begin: Dim, size: Dim) -> Entry | None:
    if isinstance(entry, CalledPlaces):
        item = regular(entry, size)
        held = _piece(item, begin, size)
        return replace(entry, start=entry.start - begin) if held and sizes_of(held) == (item[2],) else None
    if isinstance(entry, ListedPlaces):
        if not isinstance(begin, int) or not isinstance(size, int):
            return None
        inside = tuple([at - begin for at in entry.indices if begin <= at < begin + size])
        return ListedPlaces(inside) if inside else None
    start, step, length = entry
    shift = start - begin
    if shift == 0 and length == size and step == 1:
        return whole(size)
    if not isinstance(shift, int) or not isinstance(size, int) or not isinstance(length, int | None):
        return None
    if length is None:
        return (shift, 1, None) if 0 <= shift < size else None
    if step > 0:
        first, last = -(shift // step), (size - 1 - shift) // step
    else:
        first, last = -((size - 1 - shift) // -step), shift // -step
    first, last = max(0, first), min(length - 1, last)
    return (shift + first * step, step, last - first + 1) if first <= last else None


def _open_concatenate(node: Node, axis: int, entry: Entry) -> Entry:
    if axis - node.ndim == node.payload.axis and _pieces(node, entry) is None:
        return whole(node.shape[axis])
    return entry


def _concatenate(node: Node, part: Part) -> Inward:
    axis = node.payload.axis + node.ndim
    entry = part[axis]
    pieces = [whole(arg.shape[axis]) for arg in node.args] if entry == whole(node.shape[axis]) else _pieces(node, entry)
    assert pieces is not None
    parts: list[Part | None] = [None if p is None else (*part[:axis], p, *part[axis + 1 :]) for p in pieces]

    def make(args: list[Node]) -> Node:
        own = [arg for arg, one in zip(args, parts, strict=True) if one is not None]
        if len(own) == 1:
            return own[0]
        back = isinstance(entry, tuple) and entry[1] < 0
        at = _place(part, axis)
        joined = concatenate(own[::-1] if back else own, at)
        return gather(joined, at, _order_of(node, entry.indices)) if isinstance(entry, ListedPlaces) else joined

    return parts, make


def _order_of(node: Node, indices: Sequence[int]) -> tuple[int, ...]:
    """Return where listed places of a joint axis stand, once those of each array stand together."""
    sizes = [nominal(arg.shape[node.payload.axis], _LETTER) for arg in node.args]
    ends = list(accumulate(sizes))
    arranged = sorted(range(len(indices)), key=lambda k: bisect_right(ends, indices[k]))
    return tuple(sorted(range(len(indices)), key=arranged.__getitem__))


def _overlap(item: Item, entry: Entry) -> tuple[Entry, Item] | None:
    """Return which part of what is padded stands in a part of the padding, and where in that; None if unknown."""
    if not isinstance(entry, tuple):
        return None
    (at, pace, count), (start, step, length) = item, entry
    if length is None:
        shift = start - at
        if not isinstance(shift, int) or not isinstance(count, int | None):
            return None
        index, off = divmod(shift, pace)
        inside = off == 0 and 0 <= index < (1 if count is None else count)
        return ((index, 1, None) if inside else (0, 1, 0)), (0, 1, None)
    shift = at - start
    if pace != 1 or step != 1 or count is None or not isinstance(shift, int):
        return None
    if not isinstance(count, int) or not isinstance(length, int):
        return None
    first, last = max(0, shift), min(length, shift + count)
    if first >= last:
        return (0, 1, 0), (0, 1, 0)
    return (first - shift, 1, last - first), (first, 1, last - first)


def _open_pad(node: Node, axis: int, entry: Entry) -> Entry:
    item = node.payload.items[axis]
    if item == whole(node.shape[axis]) or _overlap(item, entry) is not None:
        return entry
    return whole(node.shape[axis])


def _pad(node: Node, part: Part) -> Inward:
    own: list[Entry] = []
    items: list[Item] = []
    empty = False
    for item, entry, size in zip(node.payload.items, part, node.shape, strict=True):
        if item == whole(size):
            own.append(entry)
            items += [whole(n) for n in sizes_of(entry)]
        elif entry == whole(size):
            items.append(item)
            if item[2] is not None:
                own.append(whole(item[2]))
        else:
            found = _overlap(item, entry)
            assert found is not None
            inner, outer = found
            empty = empty or inner == (0, 1, 0)
            if item[2] is not None:
                own.append(inner)
            if outer[2] is not None:
                items.append(outer)
    shape = shape_of(part)
    if empty:
        return [None], lambda args: zeros(shape)
    return [tuple(own)], lambda args: pad(args[0], tuple(items), shape)


def _scatter(node: Node, part: Part) -> Inward:
    axis = node.payload.axis + node.ndim
    own = (*part[:axis], whole(node.args[0].shape[axis]), *part[axis + 1 :])
    at, size = _place(part, axis), node.shape[axis]
    return [own], lambda args: scatter(args[0], at, node.payload.indices, size)


def _put(node: Node, part: Part) -> Inward:
    at = node.args[1]
    axis, shared = node.payload.axis + node.ndim, node.payload.shared
    own = (*part[: axis - shared], *map(whole, at.shape), *part[axis + 1 :])
    place, size = _place(part, axis), node.shape[axis]
    return [own, _all(at)], lambda args: put(args[0], args[1], place, size, shared)


def _slice(node: Node, part: Part) -> Inward:
    rest = iter(part)
    own: list[Entry] = []
    for start, step, length in node.payload.items:
        if length is None:
            own.append((start, step, None))
            continue
        entry = next(rest)
        if isinstance(entry, ListedPlaces):
            own.append(ListedPlaces(tuple([start + step * i for i in entry.indices])))
        elif isinstance(entry, CalledPlaces):
            own.append(entry.within((start, step, length)))
        else:
            begin, pace, count = entry
            own.append((start + begin * step, step * pace if count is not None else 1, count))
    return [tuple(own)], lambda args: args[0]


def _open_slice(node: Node, axis: int, entry: Entry) -> Entry:
    kept = [pair for pair in zip(node.payload.items, node.args[0].shape, strict=True) if pair[0][2] is not None]
    (start, step, _), _ = kept[axis]
    if isinstance(entry, CalledPlaces):
        return entry if step == 1 or entry.width is None else whole(node.shape[axis])
    return entry if isinstance(entry, tuple) or isinstance(start, int) else whole(node.shape[axis])


def _gather(node: Node, part: Part) -> Inward:
    axis = node.payload.axis + node.ndim
    indices, entry = node.payload.indices, part[axis]
    own: Entry
    if isinstance(entry, ListedPlaces):
        own = ListedPlaces(tuple([indices[i] for i in entry.indices]))
    else:
        assert isinstance(entry, tuple)
        start, step, length = entry
        assert isinstance(start, int)
        assert isinstance(length, int | None)
        if length is None:
            own = (indices[start], 1, None)
        else:
            own = ListedPlaces(tuple([indices[start + step * i] for i in range(length)]))
    return [(*part[:axis], own, *part[axis + 1 :])], lambda args: args[0]


def _open_gather(node: Node, axis: int, entry: Entry) -> Entry:
    if axis - node.ndim == node.payload.axis and isinstance(entry, CalledPlaces):
        return whole(node.shape[axis])
    return entry


def _take(node: Node, part: Part) -> Inward:
    x, at = node.args
    axis, shared = node.payload.axis + x.ndim, node.payload.shared
    behind = axis - shared + at.ndim
    places = part[axis - shared : behind]
    if not shared:
        own = CalledPlaces(at if places == _all(at) else taken(at, places), 0, 1, x.shape[axis])
        return [(*part[:axis], own, *part[behind:]), None], lambda args: args[0]
    first = part[axis - shared : axis]
    parts: list[Part | None] = [(*part[:axis], whole(x.shape[axis]), *part[behind:]), places]
    kept = sum(len(sizes_of(entry)) for entry in first)
    return parts, lambda args: take(args[0], args[1], _place(part, axis), kept)


def _open_take(node: Node, axis: int, entry: Entry) -> Entry:
    x, at = node.args
    start = node.payload.axis + x.ndim - node.payload.shared
    if start <= axis < start + at.ndim and not isinstance(entry, tuple):
        return whole(node.shape[axis])
    return entry


def _groups(node: Node) -> list[tuple[list[int], list[int]]]:
    return same_elements(node.args[0].shape, node.shape)


def _reach_reshape(node: Node, part: Part) -> Part:
    """Return what is read of axes that stay, and the block of an axis that is split or merged that holds what is."""
    x = node.args[0]
    found = list(map(whole, node.shape))
    reached: list[Entry] = [*found]
    for old, new in same_elements(x.shape, node.shape):
        entries = [part[a] for a in new]
        if not old and not (isinstance(entries[0], tuple) and entries[0][2] in (None, 1)):
            continue  # an axis that was put in is there once
        if len(old) <= 1 and len(new) == 1:
            reached[new[0]] = entries[0]
        elif len(old) == 1:
            for k, (a, entry) in enumerate(zip(new, entries, strict=True)):  # single places, and then neighbours
                if isinstance(entry, CalledPlaces):
                    behind = new[k + 1 :]
                    if all(_is_single(part[b]) and isinstance(node.shape[b], int) for b in behind):
                        reached[a : new[-1] + 1] = [part[b] for b in new[k:]]
                    elif entry.step == 1 and entry.width is None:
                        reached[a] = entry
                elif isinstance(entry, tuple) and (entry[2] is None or entry[1] == 1):
                    reached[a] = entry
                if not _is_single(entry):
                    break
        elif len(new) == 1:
            reached[new[0]] = _rows_of_merged([x.shape[a] for a in old], entries[0])
        elif _box([x.shape[a] for a in old], node.shape, new, part) is not None:
            reached[new[0] : new[-1] + 1] = entries
    return tuple(reached)


def _box(sizes: Sequence[Dim], shape: Shape, axes: Sequence[int], part: Part) -> list[Entry] | None:
    """Return the parts of axes that hold what is read of others with the same elements; None if these are no box."""
    entries = [part[a] for a in axes]
    items = [entry for entry in entries if isinstance(entry, tuple)]
    inner = [*sizes[1:], *[shape[a] for a in axes[1:]], *[item[2] or 1 for item in items]]
    if len(items) < len(entries) or not all(isinstance(size, int) for size in inner):
        return None
    several = [k for k, item in enumerate(items) if item[2] not in (None, 1)]
    for k in several[:1]:  # single places, then neighbours, then all
        if items[k][1] != 1 or any(part[a] != whole(shape[a]) for a in axes[k + 1 :]):
            return None
    start, _, count = _block(shape, axes, part)  # type: ignore[misc]
    if not isinstance(start, int):
        return None
    found: list[Entry] = []
    for size in reversed(sizes[1:]):
        start, at = divmod(start, size)
        if count is None or at + count <= size:
            found.append((at, 1, count))
            count = None
        elif at == 0 and count % size == 0:
            found.append(whole(size))
            count //= size
        else:
            return None
    return [(start, 1, count), *reversed(found)]


def _is_single(entry: Entry) -> bool:
    return isinstance(entry, tuple) and entry[2] is None


def _rows_of_merged(sizes: Sequence[Dim], entry: Entry) -> Entry:
    """Return what is read of axes that are merged to one: one place, or all along the axes behind the first."""
    every = whole(product(sizes))
    rest = product(sizes[1:])
    if isinstance(entry, ListedPlaces) and isinstance(rest, int) and len(entry.indices) * rest <= _LISTED:
        rows = sorted({at // rest for at in entry.indices})
        return ListedPlaces(tuple([row * rest + k for row in rows for k in range(rest)]))
    if not isinstance(entry, tuple):
        return every
    ends = ends_of(entry)
    if ends is None or not isinstance(rest, int):
        return every
    if entry[2] is None:
        return entry if all(isinstance(size, int) for size in sizes[1:]) else every
    first, last = ends[0] // rest, ends[1] // rest
    return (first * rest, 1, (last - first + 1) * rest)


def _reshape(node: Node, part: Part) -> Inward:
    x = node.args[0]
    own: list[Entry] = [*map(whole, x.shape)]
    for old, new in same_elements(x.shape, node.shape):
        if all(part[a] == whole(node.shape[a]) for a in new):
            continue
        if len(old) == 1:
            own[old[0]] = part[new[0]] if len(new) == 1 else _block(node.shape, new, part)
        elif old and isinstance(part[new[0]], ListedPlaces):
            rest = product(x.shape[old[0] + 1 : old[-1] + 1])
            own[old[0]] = ListedPlaces(tuple([at // rest for at in part[new[0]].indices[::rest]]))  # type: ignore
        elif len(new) > 1:
            found = _box([x.shape[a] for a in old], node.shape, new, part)
            assert found is not None
            own[old[0] : old[-1] + 1] = found
        elif old:
            start, _, length = part[new[0]]  # type: ignore[misc]
            for a in reversed(old[1:]):
                start, at = divmod(start, x.shape[a])
                if length is None:
                    own[a] = (at, 1, None)
                else:
                    length //= x.shape[a]
            own[old[0]] = (start, 1, length)
    shape = shape_of(part)
    return [tuple(own)], lambda args: settle(reshape(args[0], shape))


def _block(shape: Shape, axes: Sequence[int], part: Part) -> Entry:
    """Return where the places stand, one after the other, that a part has of axes which are one axis."""
    start: Dim = 0
    length: Dim | None = None
    called: CalledPlaces | None = None
    for a in axes:
        entry = part[a]
        if isinstance(entry, CalledPlaces):
            called, begin, length = entry, entry.start, entry.width
        else:
            assert isinstance(entry, tuple)
            begin, _, count = entry
            if count is not None:
                length = count if length is None else length * count
            elif called is not None:
                called = replace(called, step=called.step * nominal(shape[a], _LETTER))
        start = start * shape[a] + begin
    return (start, 1, length) if called is None else replace(called, start=start, width=length)


_OPEN: dict[str, Callable[[Node, int, Entry], Entry]] = {
    "function": _open_function,
    "contract": _open_contract,
    "reduce": lambda node, axis, entry: entry,
    "normalize": _open_but(lambda node: node.payload.axes),
    "cumulative": _open_cumulative,
    "matrix": _open_matrix,
    "triangle": _open_triangle,
    "concatenate": _open_concatenate,
    "pad": _open_pad,
    "scatter": _open_but(lambda node: (node.payload.axis,)),
    "put": _open_but(lambda node: range(node.payload.axis - node.payload.shared, node.payload.axis + 1)),
    "slice": _open_slice,
    "gather": _open_gather,
    "take": _open_take,
}
_INWARD: dict[str, Callable[[Node, Part], Inward]] = {
    "function": _function,
    "contract": _contract,
    "reduce": _reduce,
    "normalize": _normalize,
    "cumulative": _cumulative,
    "matrix": _matrix,
    "triangle": _triangle,
    "concatenate": _concatenate,
    "pad": _pad,
    "scatter": _scatter,
    "put": _put,
    "slice": _slice,
    "gather": _gather,
    "take": _take,
    "reshape": _reshape,
}
