"""One element of an array formula, at a position that is an index of a loop.

The position is substituted at the result and carried down: an element of ``exp(a) * b`` is made of
elements of ``a`` and ``b``, one of ``x[1:]`` is one of ``x`` further on, one of a transpose has
its indices exchanged. It ends at arrays that exist (inputs, and what is computed before the
loop): these become ports, read at an affine function of the loop's index, which to a machine is
an address and a stride. What is left between ports and result is a formula without the loop's
axes, small and of fixed size, whatever the sizes of the arrays are.

An operation whose elements depend on each other along such an axis (a maximum, a cumulative
sum, a large product of matrices) has no rule here; its result becomes a port.

A task is how an array is computed by loops: over which axes, and whether it is a sum over some of them.

Some terms fill a part of an array: diagonals, blocks and bands among zeros. A Jacobian of functions of one element
each is a diagonal; the Hessian of a chain is three. The array is filled with zeros once, and each term is a loop over
its own elements, whatever the size of the array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from ...graph import (
    BOOL,
    Item,
    Node,
    axes_of,
    concatenate,
    constant,
    contract,
    cumulative,
    elementwise,
    gather,
    label_sizes,
    matrix,
    normalize,
    pad,
    reduce,
    reshape,
    scatter,
    slicing,
    triangle,
    whole,
    zeros,
)
from ...graph.dump import record_text
from ...graph.primitives import CUMULATIVE, DELTAS, MATRIX_OPS, NORMALIZATIONS, REDUCTIONS
from ...graph.scalars.arithmetic import scaled
from ...graph.scalars.functions import FUNCTIONS, to_real
from ...graph.sizes import Dim, same_elements, sign
from .access import (
    BATCH,
    Access,
    Allowance,
    AxisIndex,
    Build,
    CutError,
    LoopInput,
    NoLoopError,
    OrderError,
    Place,
    Range,
    Rule,
    all_of,
    axis_within,
    inner,
    is_iterated,
    is_long,
    is_whole,
    listed_along,
    over_long_axes,
    port_node,
    spread,
    without_leading_ones,
)

__all__ = ["PlacedTerm", "Task", "element_of", "kept_label", "padded_term", "placed_terms", "sums_rows", "task_of"]


class Task(NamedTuple):
    """Loops that compute an array, before steps are made one of several.

    Parameters
    ----------
    node : Node
    loops : tuple of int or Size
    place : Access
        Where in it an element stands.
    over : tuple of int
        For a sum over the loops, their labels.
    kept : bool
        A sum is made for each place along the first loop.
    """

    node: Node
    loops: tuple[Dim, ...]
    place: Access
    over: tuple[int, ...] = ()
    kept: bool = False


def task_of(node: Node) -> Task | None:
    """Return the loops that could compute a node."""
    if node.is_contraction:
        sizes = label_sizes(node)
        over = tuple(label for label in sizes if label not in node.payload.out and is_long(sizes[label]))
        if over:
            kept = kept_label(node)
            if kept is None and any(is_long(size) for size in node.shape):
                return _over_all(node) if node.payload.repeated else None
            over = tuple(sorted(over, key=lambda label: sizes[label] != BATCH))
            loops = over if kept is None else (kept, *over)
            place = tuple(
                AxisIndex(0, 0, 1, None) if label == kept else all_of(sizes[label]) for label in node.payload.out
            )
            return Task(node, tuple(sizes[label] for label in loops), place, loops, kept is not None)
    if joins_many(node):
        return _over_others(node)
    return _over_all(node)


#: Short parts of a concatenation from which on an element has all of them: a loop would have a piece for each.
MANY_PARTS = 8


def joins_many(node: Node) -> bool:
    """Tell whether a long axis is joined of many short parts, such as a vector of sums that a list gives."""
    if not node.is_concatenation or len(node.args) <= MANY_PARTS:
        return False
    axis = node.payload.axis
    return is_long(node.shape[axis]) and not any(is_long(arg.shape[axis]) for arg in node.args)


def _over_others(node: Node) -> Task:
    """Return loops over the long axes of a concatenation that it does not join."""
    joined = node.payload.axis + node.ndim
    loops, place = over_long_axes(tuple(1 if axis == joined else size for axis, size in enumerate(node.shape)))
    return Task(node, loops, (*place[:joined], all_of(node.shape[joined]), *place[joined + 1 :]))


def _over_all(node: Node) -> Task:
    """Return loops over all long axes of a node."""
    return Task(node, *over_long_axes(node.shape))


def element_of(elements: Elements, task: Task) -> Node | None:
    """Return one element of what a task computes."""
    node = task.node
    if not task.over:
        return elements.make(node, task.place)
    at = {label: all_of(size) for label, size in label_sizes(node).items()}
    at |= {label: AxisIndex(loop, 0, 1, None) for loop, label in enumerate(task.over)}
    places, build = elements.product(node, at)
    return build([elements.at(place) for place in places])


def kept_label(node: Node) -> int | None:
    """Return the label along which a sum is made for each place, where the summed axes are the inner ones."""
    sizes = label_sizes(node)
    labels, out, _ = node.payload
    long = [label for label in out if is_long(sizes[label])]
    over = [label for label in sizes if label not in out and is_long(sizes[label])]
    if len(long) != 1 or not over or BATCH in [sizes[label] for label in over]:
        return None
    widest = max(zip(node.args, labels, strict=True), key=lambda pair: pair[0].ndim)[1]
    inner = [label for label in widest if is_long(sizes[label])]  # short axes an element has to itself
    return long[0] if inner and inner[-1] in over else None


def sums_rows(node: Node) -> bool:
    """Tell whether a contraction sums along a long axis and leaves another: no loop's element is such a sum."""
    sizes = label_sizes(node)
    long = {label for label in sizes if is_long(sizes[label])}
    if any(arg.op in DELTAS for arg in node.args) or node.payload.repeated:
        return False
    return not long.issubset(node.payload.out) and not long.isdisjoint(node.payload.out)


class Elements:
    """Makes elements over one range of the loops; equal places are made once.

    Parameters
    ----------
    ranges : sequence of Range
        From where to where each loop goes.
    kept : set of Node
        Arrays that are computed before the loop in any case, and so are read.
    room : Allowance, optional
        How many elements may be made.
    apart : callable, optional
        Tells of a node whether it is a step of its own, and so is read.
    lists : bool
        Whether positions may be listed, as a loop can read them.
    """

    def __init__(
        self,
        ranges: Sequence[Range],
        kept: frozenset[Node] = frozenset(),
        room: Allowance | None = None,
        apart: Callable[[Node], bool] | None = None,
        lists: bool = True,
    ) -> None:
        self.lists = lists
        self.room = Allowance() if room is None else room
        self.apart = apart
        self.ranges = tuple(ranges)
        self.kept = kept
        self.ports: dict[LoopInput, Node] = {}
        self._known: dict[Place, Node] = {}
        self._timely: dict[Node, bool] = {}

    def make(self, node: Node, access: Access) -> Node | None:
        """Return the element of ``node`` at a place, or None where the node is no loop's work."""
        if not node.args and node.op not in DELTAS:
            return self.at((node, access))
        first = self._rule(node, access, top=True)
        return None if first is None else first[1]([self.at(place) for place in first[0]])

    def at(self, wanted: Place) -> Node:
        """Return the element that stands at a place."""
        known = self._known
        waiting: dict[Place, Rule] = {}
        stack = [wanted]
        while stack:
            place = stack[-1]
            if place in known:
                stack.pop()
                continue
            rule = waiting.get(place) or self._rule(*place)
            if rule is None:
                known[place] = self.port(*place)
                stack.pop()
                continue
            missing = [each for each in rule[0] if each not in known]
            if missing:
                waiting[place] = rule
                stack.extend(reversed(missing))
                continue
            known[place] = rule[1]([known[each] for each in rule[0]])
            stack.pop()
            self.room.take()
        return known[wanted]

    def port(self, node: Node, access: Access) -> Node:
        """Return what is read of an array that exists."""
        if node.dtype is BOOL:
            raise NoLoopError("a condition would have to be kept as an array")
        lengths = [index.length for index in access if index.length is not None]
        if any(is_long(length) for length in lengths):
            raise NoLoopError(f"one element depends on an axis of {max(lengths, key=str)}")
        port = LoopInput(node, access)
        if port not in self.ports:
            self.ports[port] = port_node(len(self.ports), port, tuple(lengths))
        return self.ports[port]

    def _rule(self, node: Node, access: Access, top: bool = False) -> Rule | None:
        """Return what an element is made of, or None where the array is to be read."""
        if not top and (node in self.kept or self._invariant(node, access)):
            return None
        if not top and self.apart is not None and self.apart(node):
            return None
        if node.op in FUNCTIONS:
            return self._function(node, access)
        rule = _RULES.get(node.op)
        return rule(self, node, access) if rule is not None else None

    def _invariant(self, node: Node, access: Access) -> bool:
        """Tell whether it pays to compute a node before the loops: it takes time, and is the same along one of them."""
        if not self.ranges or not node.args or node.dtype is BOOL:
            return False
        same = all(is_whole(index, size) for index, size in zip(access, node.shape, strict=True))
        if node.op in _FREE:
            # with what is computed before the loops in any case, it takes no time within them
            return same and node.op in FUNCTIONS and any(self._takes_time(arg) for arg in node.args)
        if same:
            return not (node.is_contraction and len(node.args) == 1 and len(node.payload.labels[0]) <= node.ndim)
        if node.op not in FUNCTIONS or any(index.length is None and index.loop is None for index in access):
            return False
        return len({index.loop for index in access if index.loop is not None}) < len(self.ranges)

    def _takes_time(self, node: Node) -> bool:
        known = self._timely.get(node)
        if known is None:
            known = node.op in FUNCTIONS and (node.op not in _FREE or any(self._takes_time(arg) for arg in node.args))
            self._timely[node] = known
        return known

    # ------------------------------------------------------------------ element by element, products

    def _function(self, node: Node, access: Access) -> Rule:
        places = []
        for arg in node.args:
            own = access[node.ndim - arg.ndim :]
            lengths = node.shape[node.ndim - arg.ndim :]
            places.append((arg, tuple(spread(i, n, m) for i, n, m in zip(own, arg.shape, lengths, strict=True))))
        return places, lambda args: elementwise(node.op, without_leading_ones(args), node.dtype)

    def _contract(self, node: Node, access: Access) -> Rule | None:
        labels, out, _ = node.payload
        sizes = label_sizes(node)
        where = dict(zip(out, access, strict=True))
        for label, size in sizes.items():
            if label not in where:
                if is_long(size):
                    return self._repeated(node, access) if node.payload.repeated else None
                where[label] = all_of(size)
        if any(own.count(label) > 1 and where[label].listed is not None for own in labels for label in own):
            return None  # an array is read by one list
        return self.product(node, where)

    def _repeated(self, node: Node, access: Access) -> Rule:
        """Read a sum that is no loop's work, and is the same along some axes, without these."""
        labels, out, repeated = node.payload
        own = tuple(label for label in out if label not in dict(repeated))
        where = dict(zip(out, access, strict=True))
        stays = {label: index.length for label, index in where.items() if index.length is not None}
        inner = tuple(label for label in own if label in stays)
        result = tuple(label for label in out if label in stays)
        place = (contract(node.args, labels, own), tuple(where[label] for label in own))
        return [place], lambda args: contract(args, [inner], result, stays)

    def product(self, node: Node, where: dict[int, AxisIndex]) -> Rule:
        """Return what an element of a contraction is made of, each label at a place of its own."""
        labels, out, _ = node.payload
        stays = {label: index.length for label, index in where.items() if index.length is not None}
        places = []
        for arg, own in zip(node.args, labels, strict=True):
            at = tuple(where[label] for label in own)
            places.append((arg, at))
        inner = [tuple(label for label in own if label in stays) for own in labels]
        result = tuple(label for label in out if label in stays)
        return places, lambda args: contract(args, inner, result, stays)

    # ------------------------------------------------------------------ leaves

    def _constant(self, node: Node, access: Access) -> Rule | None:
        if all(is_whole(index, size) for index, size in zip(access, node.shape, strict=True)):
            return [], lambda args: node
        return None

    def _structure(self, node: Node, access: Access) -> Rule | None:
        if not _is_short(node, access):
            return None  # it is made before, as an array that is mostly zeros
        items = tuple((index.start, index.step, index.length) for index in access)
        return [], lambda args: slicing(node, items)

    # ------------------------------------------------------------------ parts and pieces

    def _slice(self, node: Node, access: Access) -> Rule:
        (arg,) = node.args
        below: list[AxisIndex] = []
        items: list[Item] = []
        rest = list(access)
        for (start, step, length), size in zip(node.payload.items, arg.shape, strict=True):
            index = rest.pop(0) if length is not None else AxisIndex(None, 0, 1, None)
            if not is_long(size) and index.loop is None and (length is None or index.length is not None):
                below.append(all_of(size))  # short: its part is taken afterwards
                items.append((start, step, length))
                continue
            below.append(AxisIndex(index.loop, start + step * index.start, step * index.step, index.length))
            if index.length is not None:
                items.append(whole(index.length))
        return [(arg, tuple(below))], lambda args: slicing(args[0], tuple(items))

    def _pad(self, node: Node, access: Access) -> Rule | None:
        (arg,) = node.args
        below: list[AxisIndex] = []
        items: list[Item] = []
        outside = False
        for item, index, size in zip(node.payload.items, access, node.shape, strict=True):
            start, step, length = item
            if index.length is not None:
                if not is_whole(index, size) or is_long(size):
                    return None
                below += [all_of(length)] if length is not None else []
                items.append(item)
                continue
            if abs(step) != 1 or abs(index.step) > 1:
                return None
            count = 1 if length is None else length
            first = start if step == 1 else start - count + 1
            found = self._within(index, [first, first + count])
            outside = outside or found != 1
            at = step * (index.start - start)
            below += [index._replace(start=at, step=step * index.step)] if length is not None else []
        shape = inner(access)
        if outside:
            return [], lambda args: zeros(shape)
        return [(arg, tuple(below))], lambda args: pad(to_real(args[0]), tuple(items), shape)

    def _concatenate(self, node: Node, access: Access) -> Rule | None:
        axis = node.payload.axis + node.ndim
        index = access[axis]
        sizes = [arg.shape[axis] for arg in node.args]
        if index.length is not None:
            if not is_whole(index, node.shape[axis]) or (is_long(node.shape[axis]) and not joins_many(node)):
                return None
            at = axis_within(access, axis)
            before, behind = access[:axis], access[axis + 1 :]
            places = [(arg, (*before, all_of(n), *behind)) for arg, n in zip(node.args, sizes, strict=True)]
            return places, lambda args: concatenate(_alike(args, node), at)
        if abs(index.step) > 1 or joins_many(node):
            return None
        edges: list[Dim] = [0]
        for size in sizes:
            edges.append(edges[-1] + size)
        found = self._within(index, edges)
        if not 1 <= found <= len(sizes):
            raise NoLoopError("it is not known which part of a concatenation an element comes from")
        moved = index._replace(start=index.start - edges[found - 1])
        place = (node.args[found - 1], (*access[:axis], moved, *access[axis + 1 :]))
        return [place], lambda args: _alike(args, node)[0]

    def _within(self, index: AxisIndex, edges: list[Dim]) -> int:
        """Return how many of ``edges`` (ascending) stand at or before all places of an index.

        Raises
        ------
        CutError, OrderError
            Where that is not the same number for all of them, or depends on sizes.
        """
        first = last = index.start
        if index.loop is not None:
            low, high = self.ranges[index.loop]
            first, last = index.start + index.step * low, index.start + index.step * (high - 1)
            first, last = (last, first) if index.step < 0 else (first, last)
        for number, edge in enumerate(edges):
            if sign(edge - 1 - last) == 1:  # all of them before this edge
                return number
            if sign(first - edge) == 1:
                continue
            if index.loop is None:
                break
            # of the places up to the edge and those from it on, which the loop comes to in either order
            places = [e - index.start if index.step == 1 else index.start - e + 1 for e in edges]
            raise CutError(index.loop, places)
        else:
            return len(edges)
        raise OrderError

    def _reshape(self, node: Node, access: Access) -> Rule | None:
        (arg,) = node.args
        below: list[AxisIndex] = []
        for own, new in same_elements(arg.shape, node.shape):
            if len(own) == 1 and len(new) == 1:
                below.append(access[new[0]])
            elif len(own) == 1 and not new:
                below.append(AxisIndex(None, 0, 1, None))
            elif own:
                short = not any(is_long(arg.shape[axis]) for axis in own)  # a long one is there as a whole
                if not (short and all(is_whole(access[axis], node.shape[axis]) for axis in new)):
                    return None
                below += [all_of(arg.shape[axis]) for axis in own]
        shape = inner(access)
        return [(arg, tuple(below))], lambda args: reshape(args[0], shape)

    # ------------------------------------------------------------------ along axes that an element has to itself

    def _rest(self, access: Access, arg: Node, axes: Sequence[int]) -> Access | None:
        """Return how ``arg`` is accessed: ``axes`` whole, and the others as in ``access``."""
        if any(is_long(arg.shape[axis]) for axis in axes):
            return None
        rest = iter(access)
        return tuple(all_of(size) if axis in axes else next(rest) for axis, size in enumerate(arg.shape))

    def _reduction(self, node: Node, access: Access) -> Rule | None:
        (arg,) = node.args
        axes = axes_of(node, arg)
        below = self._rest(access, arg, axes)
        if below is None:
            return None
        own = tuple(axis_within(below, axis) for axis in axes)
        return [(arg, below)], lambda args: reduce(node.op, args[0], own)

    def _along(self, node: Node, access: Access, axes: Sequence[int], build: Build) -> Rule | None:
        """Serve an operation that keeps its axes and needs all of some of them."""
        (arg,) = node.args
        if any(is_long(node.shape[a]) or is_long(arg.shape[a]) or not is_whole(access[a], node.shape[a]) for a in axes):
            return None
        below = tuple(all_of(arg.shape[a]) if a in axes else index for a, index in enumerate(access))
        own = tuple(axis_within(below, axis) for axis in axes)
        return [(arg, below)], lambda args: build(args[0], own)

    def _normalization(self, node: Node, access: Access) -> Rule | None:
        return self._along(node, access, axes_of(node, node), lambda x, own: normalize(node.op, x, own))

    def _cumulative(self, node: Node, access: Access) -> Rule | None:
        axis, reverse = node.payload
        return self._along(node, access, [axis + node.ndim], lambda x, own: cumulative(node.op, x, own[0], reverse))

    def _gather(self, node: Node, access: Access) -> Rule | None:
        (arg,) = node.args
        axis, indices = node.payload
        index = access[axis]
        if index.loop is None or not self.lists:
            return self._along(node, access, [axis + node.ndim], lambda x, own: gather(x, own[0], indices))
        low, high = self.ranges[index.loop]
        if not isinstance(index.start, int) or not isinstance(low, int) or not isinstance(high, int):
            return None
        listed = listed_along(indices, index.start, index.step, range(low, high))
        at = axis + node.ndim
        below = (*access[:at], AxisIndex(index.loop, 0, 1, None, listed), *access[at + 1 :])
        return [], lambda args: self.port(arg, below)

    def _scatter(self, node: Node, access: Access) -> Rule | None:
        axis, indices = node.payload
        return self._along(node, access, [axis + node.ndim], lambda x, o: scatter(x, o[0], indices, node.shape[axis]))

    def _triangle(self, node: Node, access: Access) -> Rule | None:
        upper, offset = node.payload
        return self._along(node, access, [node.ndim - 2, node.ndim - 1], lambda x, own: triangle(x, upper, offset))

    def _matrix(self, node: Node, access: Access) -> Rule | None:
        if is_iterated(node) or any(is_long(size) for arg in node.args for size in arg.shape[-2:]):
            return None
        lead = access[: node.args[0].ndim - 2]
        if not all(is_whole(i, n) for i, n in zip(access[len(lead) :], node.shape[len(lead) :], strict=True)):
            return None
        places = [(arg, (*lead, *map(all_of, arg.shape[-2:]))) for arg in node.args]
        return places, lambda args: matrix(node.op, *args)


def _is_short(node: Node, access: Access) -> bool:
    """Tell whether a diagonal, or an element of it, is the same in all loops."""
    fixed = all(isinstance(size, int) for size in node.shape)
    return fixed and all(
        index.loop is None and isinstance(index.start, int) and isinstance(index.length, int | None) for index in access
    )


def _alike(args: Sequence[Node], node: Node) -> Sequence[Node]:
    return args if node.dtype is BOOL else [to_real(arg) for arg in args]


#: Operations that cost or move so little that they may be done again for every element.
_FREE = frozenset(
    (
        *("add", "subtract", "multiply", "negative", "where", "abs", "minimum", "maximum", "to_real"),
        *("less", "less_equal", "equal", "not_equal"),
        *("slice", "reshape", "concatenate", "pad", "gather", "triangle"),
    )
)

_RULES: dict[str, Callable[[Elements, Node, Access], Rule | None]] = {
    "contract": Elements._contract,
    "constant": Elements._constant,
    "delta": Elements._structure,
    "onehot": Elements._structure,
    "slice": Elements._slice,
    "pad": Elements._pad,
    "concatenate": Elements._concatenate,
    "reshape": Elements._reshape,
    "gather": Elements._gather,
    "scatter": Elements._scatter,
    "triangle": Elements._triangle,
    **dict.fromkeys(REDUCTIONS, Elements._reduction),
    **dict.fromkeys(CUMULATIVE, Elements._cumulative),
    **dict.fromkeys(NORMALIZATIONS, Elements._normalization),
    **dict.fromkeys(MATRIX_OPS, Elements._matrix),
}


#: Most terms of one array.
TERMS = 32
#: Makes the element of a term, or None where it is no loop's work.
Element: TypeAlias = Callable[[Elements], Node | None]
#: Takes the place of an element in a part to its place in the whole.
Frame: TypeAlias = Callable[[Access], Access]


class PlacedTerm(NamedTuple):
    """A term of a sum.

    Parameters
    ----------
    loops : tuple of int or Size
    place : Access
        Where an element of it stands in the array; two axes may go along one loop.
    element : callable
        Makes the element, or None where it is no loop's work.
    whole : bool
        Whether it fills all of the array.
    """

    loops: tuple[Dim, ...]
    place: Access
    element: Callable[[Elements], Node | None]
    whole: bool

    def __repr__(self) -> str:
        return record_text(self)

    @property
    def ranges(self) -> list[Range]:
        """From where to where each loop goes."""
        return [(0, size) for size in self.loops]


def placed_terms(node: Node) -> list[PlacedTerm] | None:
    """Return the terms of an array, those that fill all of it first; None where no term is a diagonal or has gaps.

    Raises
    ------
    NoLoopError
        If where a term stands depends on sizes that are known at call time only.
    """
    parts = _parts(node)
    if parts is None or not (_has_gaps(node) or any(_is_diagonal(part) for _, part, _ in parts)):
        return None  # bands of vectors are loops in pieces, which write every element once
    whole = [(scale, part) for scale, part, frame in parts if frame is _here and not _is_diagonal(part)]
    made = [_dense(whole, node)] if whole else []
    # terms that stand at the same place are one
    groups: dict[tuple[tuple[Dim, ...], Access], list[Element]] = {}
    for scale, part, frame in parts:
        if frame is not _here or _is_diagonal(part):
            loops, place, element = _diagonal(part) if _is_diagonal(part) else _block(part)
            groups.setdefault((loops, frame(place)), []).append(_times(scale, element))
    return made + [PlacedTerm(loops, place, _sum(several), False) for (loops, place), several in groups.items()]


def padded_term(node: Node) -> PlacedTerm:
    """Return what an array in zeros is: one term, its elements as they are."""
    loops, place, element = _block(node.args[0])
    return PlacedTerm(loops, _within(node, _here)(place), element, False)


def _parts(node: Node) -> list[tuple[float, Node, Frame]] | None:
    """Return the terms of a sum, the number each is multiplied by, and where it stands."""
    terms: list[tuple[float, Node, Frame]] = []
    stack: list[tuple[float, Node, Frame]] = [(1.0, node, _here)]
    while stack:
        scale, part, frame = stack.pop()
        if part.is_additive and all(arg.shape == part.shape for arg in part.args):
            second = -scale if part.is_subtraction else scale
            stack += [(second, part.args[1], frame), (scale, part.args[0], frame)]
        elif part.is_pad:
            stack.append((scale, part.args[0], _within(part, frame)))
        else:
            factor, rest = scaled(part)
            if rest is part:
                terms.append((scale, part, frame))
            else:
                stack.append((scale * factor, rest, frame))
        if len(terms) + len(stack) > TERMS:
            return None
    return terms


def _here(place: Access) -> Access:
    return place


def _within(node: Node, frame: Frame) -> Frame:
    """Return where an element of what is padded stands."""

    def placed(access: Access) -> Access:
        rest = iter(access)
        place = []
        for start, step, length in node.payload.items:
            if length is None:
                place.append(AxisIndex(None, start, 1, None))
            else:
                index = next(rest)
                place.append(index._replace(start=start + step * index.start, step=step * index.step))
        return frame(tuple(place))

    return placed


def _has_gaps(node: Node) -> bool:
    """Tell whether an array has zeros between what is padded, so that no piece of a loop is like the next element."""
    return node.is_pad and any(
        abs(step) != 1 and length is not None and is_long(size)
        for (_, step, length), size in zip(node.payload.items, node.shape, strict=True)
    )


def _is_diagonal(node: Node) -> bool:
    """Tell whether a node is a long delta, or a product with one whose rows and columns it has."""
    if node.op in DELTAS:
        return any(map(is_long, node.shape))
    if not node.is_contraction:
        return False
    labels, out, _ = node.payload
    return any(
        arg.op in DELTAS and any(map(is_long, arg.shape)) and set(own) <= set(out)
        for arg, own in zip(node.args, labels, strict=True)
    )


def _times(scale: float, element: Element) -> Element:
    def product(elements: Elements) -> Node | None:
        value = element(elements)
        if value is None or scale == 1.0:
            return value
        return elementwise("negative", (value,)) if scale == -1.0 else elementwise("multiply", (constant(scale), value))

    return product


def _sum(several: list[Element]) -> Element:
    def total(elements: Elements) -> Node | None:
        result = None
        for element in several:
            value = element(elements)
            if value is None:
                return None
            result = value if result is None else elementwise("add", (result, value))
        return result

    return total


def _dense(terms: list[tuple[float, Node]], node: Node) -> PlacedTerm:
    loops, place = over_long_axes(node.shape)
    return PlacedTerm(loops, place, _sum([_times(scale, _at(part, place)) for scale, part in terms]), True)


def _at(node: Node, place: Access) -> Element:
    return lambda elements: elements.at((node, place))


def _block(node: Node) -> tuple[tuple[Dim, ...], Access, Element]:
    """Return a loop over all of an array."""
    loops, place = over_long_axes(node.shape)
    return loops, place, _at(node, place)


def _diagonal(node: Node) -> tuple[tuple[Dim, ...], Access, Element]:
    """Return a product with deltas as a loop over the elements that are not zero."""
    if node.op in DELTAS:
        args: tuple[Node, ...] = (node,)
        out = tuple(range(node.ndim))
        labels, sizes = (out,), dict(zip(out, node.shape, strict=True))
    else:
        (labels, out, _), args, sizes = node.payload, node.args, label_sizes(node)
    dense: list[tuple[Node, tuple[int, ...]]] = []
    structure: list[tuple[Node, tuple[int, ...]]] = []
    for arg, own in zip(args, labels, strict=True):  # what is summed is no place, but a number
        (structure if arg.op in DELTAS and set(own) <= set(out) else dense).append((arg, own))
    if any(label not in out for _, own in dense for label in own):
        # a product of its own, which is summed before it is placed
        kept = tuple(dict.fromkeys(label for _, own in dense for label in own if label in out))
        kept = tuple(sorted(kept, key=lambda label: sizes[label] != BATCH))
        dense = [(contract([arg for arg, _ in dense], [own for _, own in dense], kept), kept)]
    free = list(out)
    where: dict[int, AxisIndex] = {}
    for arg, own in sorted(structure, key=lambda each: not each[0].is_onehot):
        if arg.is_onehot:
            if own[0] in where:
                raise NoLoopError("two places along one axis")
            where[own[0]] = AxisIndex(None, arg.payload.at, 1, None)
            free.remove(own[0])
            continue
        row, column = own
        start, step = arg.payload
        last = start + step * (arg.shape[0] - 1)
        inside = [start, last, arg.shape[1] - 1 - start, arg.shape[1] - 1 - last]
        if any(sign(each) < 1 for each in inside) or row in where or column in where:
            raise NoLoopError("a diagonal that leaves its array, or crosses another one")
        where[column] = AxisIndex(row, start, step, None)
        free.remove(column)
    rows = {index.loop for index in where.values()}  # a loop goes along them, be they few
    order = [label for label in free if is_long(sizes[label]) or label in rows]
    order.sort(key=lambda label: sizes[label] != BATCH)
    loops = {label: AxisIndex(loop, 0, 1, None) for loop, label in enumerate(order)}
    for label in free:
        where.setdefault(label, loops[label] if label in loops else all_of(sizes[label]))
    for label, index in where.items():
        if index.loop is not None and label not in loops:
            if index.loop not in loops:
                raise NoLoopError("a diagonal at one place of an axis")
            where[label] = index._replace(loop=loops[index.loop].loop)

    def element(elements: Elements) -> Node | None:
        parts = [elements.at((arg, tuple(where[label] for label in own))) for arg, own in dense]
        own = [tuple(label for label in each if where[label].length is not None) for _, each in dense]
        result = tuple(label for label in out if where[label].length is not None)
        if not parts and not result:
            return constant(1.0)
        lengths = {label: where[label].length for label in result}
        return contract(parts, own, result, {k: v for k, v in lengths.items() if v is not None})

    return tuple(sizes[label] for label in order), tuple(where[label] for label in out), element
