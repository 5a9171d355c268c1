"""The plan of a call: the batch is the axis of tiles, or a long axis of the one sample.

Rows of data along a long axis of one sample are handled as samples of a batch are. A formula of a data matrix reads
its rows again and again. Where an axis is the first of every array that has it, and elements along it meet in sums
and maxima alone, a tile of rows goes through all steps while it is in the cache, and intermediate arrays are as long
as a tile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

from ...errors import SymdiffError, UnsupportedError
from ...graph import (
    Node,
    axes_of,
    constant,
    contract,
    elementwise,
    extent,
    pad,
    placeholder,
    postorder,
    rebuild,
    reshape,
    slicing,
    substitute,
    survey,
    whole,
    within,
)
from ...graph.primitives import CUMULATIVE, DELTAS, LISTED, NORMALIZATIONS, REDUCTIONS
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import LEAST, Dim, Size, named, same_elements, sizes_from
from ...graph.traversal import resize
from .access import BATCH, INNER, OrderError, inner_axes, inner_limit, is_iterated, is_long
from .batch import Lifted
from .plan import Plan
from .steps import LoopStep, nested

__all__ = ["FEWER", "has_many", "has_steps", "inner_of", "plan_call", "plan_shorter", "plan_together", "tile_rows"]


#: The shortest axis of fixed length that is worth tiles.
LONG_AXIS = 512
#: Operations that may fold the axis, and those that leave elements along the axes that they keep where they are.
_FOLDS = frozenset({"contract", "max", "min", "prod"})
_KEEPS = frozenset((*FUNCTIONS, "contract", *REDUCTIONS))
#: An axis of a node.
Axis: TypeAlias = tuple[Node, int]


def tile_rows(inputs: Sequence[Node], outputs: Sequence[Node]) -> Lifted | None:
    """Make the longest axis that may be one the axis of tiles; None where there is none.

    Parameters
    ----------
    inputs, outputs : sequence of Node
        The formula of one sample.
    """
    order = postorder(outputs)
    if any(BATCH in node.shape or node.is_recurrence for node in order):
        return None
    same = _Classes()
    for node in order:
        if node.args:
            (_elementwise if node.op in FUNCTIONS else _RULES.get(node.op, _nothing))(same, node)
    candidates: dict[Axis, Dim] = {}
    for node in inputs:
        if node.ndim and _is_long(node.shape[0]) and node in same.nodes:
            candidates.setdefault(same.find((node, 0)), node.shape[0])
    for axis in sorted(candidates, key=lambda axis: _length(candidates[axis]), reverse=True):
        members = same.members(axis)
        if _may_be_tiles(order, members):
            try:
                return _renamed(inputs, outputs, order, members)
            except SymdiffError:  # sizes that are equal by chance
                continue
    return None


def _is_long(size: Dim) -> bool:
    return isinstance(size, Size) or size >= LONG_AXIS


def _length(size: Dim) -> float:
    return float("inf") if isinstance(size, Size) else size


def _may_be_tiles(order: Sequence[Node], members: set[Axis]) -> bool:
    """Tell whether a class of axes is the first of all arrays that have it, and nothing moves along it."""
    for node in order:
        own = [axis for axis in range(node.ndim) if (node, axis) in members]
        if len(own) > 1 or (own and (node.is_constant or node.op in DELTAS)):
            return False
        below = [axis for arg in node.args for axis in range(arg.ndim) if (arg, axis) in members]
        if not node.is_contraction and any([*own, *below]):
            return False
        if node.is_contraction and len(_labels(node, members)) > 1:
            return False  # each element along the axis meets each
        if below and node.op not in _FOLDS and not own:
            return False
        if node.op in ("take", "put", "sort", "arrange") and (own or below):
            return False  # NumPy moves whole arrays, and would be asked for each tile
        if own and node.args and node.op not in _KEEPS and not _stays(node, bool(below)):
            return False
    return True


def _labels(node: Node, members: set[Axis]) -> set[int]:
    """Return the indices of a contraction that run along a class of axes."""
    labels, out, _ = node.payload
    pairs = ((node, out), *zip(node.args, labels, strict=True))
    return {label for each, own in pairs for axis, label in enumerate(own) if (each, axis) in members}


def _stays(node: Node, below: bool) -> bool:
    """Tell whether an operation leaves elements along the first axis where they are."""
    if not below:
        return False
    if node.is_slice:
        return bool(node.payload.items[0] == whole(node.args[0].shape[0]))
    if node.is_pad:
        return bool(node.payload.items[0] == whole(node.shape[0]))
    if node.op in NORMALIZATIONS:
        return -node.ndim not in node.payload.axes
    if node.is_concatenation or node.op in CUMULATIVE | LISTED:
        return bool(node.payload.axis != -node.ndim)
    if node.is_reshape:
        return same_elements(node.args[0].shape, node.shape)[0] == ([0], [0])
    return node.ndim > 2


class _Classes:
    """Axes that go together: elements of one are made of elements at the same place along the other."""

    def __init__(self) -> None:
        self.parent: dict[Axis, Axis] = {}
        self.nodes: set[Node] = set()

    def find(self, axis: Axis) -> Axis:
        """Return the axis that stands for a class."""
        path = []
        while (above := self.parent.get(axis, axis)) != axis:
            path.append(axis)
            axis = above
        for each in path:
            self.parent[each] = axis
        return axis

    def join(self, a: Axis, b: Axis) -> None:
        """Make the classes of two axes one."""
        for node, axis in (a, b):
            self.nodes.add(node)
            self.parent.setdefault((node, axis), (node, axis))
        self.parent[self.find(a)] = self.find(b)

    def members(self, axis: Axis) -> set[Axis]:
        """Return all axes of a class."""
        root = self.find(axis)
        return {each for each in self.parent if self.find(each) == root}


Rule: TypeAlias = Callable[[_Classes, Node], None]


def _elementwise(same: _Classes, node: Node) -> None:
    for arg in node.args:
        offset = node.ndim - arg.ndim
        for axis, size in enumerate(arg.shape):
            if offset + axis >= 0 and size == node.shape[offset + axis]:
                same.join((arg, axis), (node, offset + axis))


def _contract(same: _Classes, node: Node) -> None:
    labels, out, _ = node.payload
    first: dict[int, Axis] = {}
    for target, own in ((node, out), *zip(node.args, labels, strict=True)):
        for axis, label in enumerate(own):
            same.join((target, axis), first.setdefault(label, (target, axis)))


def _slice(same: _Classes, node: Node) -> None:
    (arg,) = node.args
    kept = 0
    for axis, (item, size) in enumerate(zip(node.payload.items, arg.shape, strict=True)):
        if item == whole(size):
            same.join((arg, axis), (node, kept))
        kept += item[2] is not None


def _pad(same: _Classes, node: Node) -> None:
    (arg,) = node.args
    kept = 0
    for axis, (item, size) in enumerate(zip(node.payload.items, node.shape, strict=True)):
        if item == whole(size):
            same.join((node, axis), (arg, kept))
        kept += item[2] is not None


def _reshape(same: _Classes, node: Node) -> None:
    (arg,) = node.args
    for old, new in same_elements(arg.shape, node.shape):
        if len(old) == 1 and len(new) == 1:
            same.join((arg, old[0]), (node, new[0]))


def _reduction(same: _Classes, node: Node) -> None:
    (arg,) = node.args
    axes = set(axes_of(node, arg))
    kept = [axis for axis in range(arg.ndim) if axis not in axes]
    for at, axis in enumerate(kept):
        same.join((arg, axis), (node, at))


def _beside(axes: Callable[[Node], set[int]]) -> Rule:
    """Return the rule of an operation that leaves all axes but some as they are."""

    def rule(same: _Classes, node: Node) -> None:
        for arg in node.args:
            for axis in range(arg.ndim):
                if axis not in axes(node) and arg.shape[axis] == node.shape[axis]:
                    same.join((arg, axis), (node, axis))

    return rule


def _nothing(same: _Classes, node: Node) -> None:
    """Join no axes: what goes along them is not known."""


_MATRIX = _beside(lambda node: {node.args[0].ndim - 2, node.args[0].ndim - 1})
_RULES: dict[str, Rule] = {
    "contract": _contract,
    "slice": _slice,
    "pad": _pad,
    "reshape": _reshape,
    **dict.fromkeys(REDUCTIONS, _reduction),
    **dict.fromkeys(NORMALIZATIONS, _beside(lambda n: set(axes_of(n, n)))),
    **dict.fromkeys((*CUMULATIVE, *LISTED, "concatenate"), _beside(lambda n: {n.payload.axis + n.ndim})),
    **dict.fromkeys(("triangle", "inv", "cholesky", "solve", "adjugate", "eigenvectors"), _MATRIX),
}


def _renamed(
    inputs: Sequence[Node], outputs: Sequence[Node], order: Sequence[Node], members: set[Axis]
) -> Lifted:
    """Build a formula again in which an axis has the length of the batch."""
    new: dict[Node, Node] = {}
    letters = {str(size) for node, axis in members if isinstance(size := node.shape[axis], Size)}

    def shape_of(node: Node) -> tuple[Dim, ...]:
        return tuple(BATCH if (node, axis) in members else size for axis, size in enumerate(node.shape))

    def item_of(node: Node, axis: int, item: tuple[Dim, int, Dim | None]) -> tuple[Dim, int, Dim | None]:
        return whole(BATCH) if (node, axis) in members else item

    for number, node in enumerate(inputs):
        shape = shape_of(node)
        new[node] = node if shape == node.shape else placeholder(("rows", number, node.name), shape, node.dtype)
    for node in order:
        if node in new:
            continue
        args = tuple([new[arg] for arg in node.args])
        if all(new[arg] is arg for arg in node.args) and shape_of(node) == node.shape:
            new[node] = node
        elif node.is_contraction:
            labels, out, repeated = node.payload
            sizes = {**dict(repeated), **dict(zip(out, shape_of(node), strict=True))}
            new[node] = contract(args, labels, out, sizes)
        elif node.is_slice:
            (arg,) = node.args
            new[node] = slicing(args[0], tuple(item_of(arg, k, item) for k, item in enumerate(node.payload.items)))
        elif node.is_pad:
            items = tuple(item_of(node, k, item) for k, item in enumerate(node.payload.items))
            new[node] = pad(args[0], items, shape_of(node))
        elif node.is_reshape:
            new[node] = reshape(args[0], shape_of(node))
        else:
            new[node] = rebuild(node, args)
    lifted = Lifted(tuple(new[node] for node in inputs), tuple(new[node] for node in outputs))
    return _counted(lifted, letters)


def _counted(lifted: Lifted, letters: set[str]) -> Lifted:
    """Count rows where the number of them is asked for by a letter that no input has any more.

    Raises
    ------
    UnsupportedError
        If something else depends on the letter.
    """
    left = {name for node in lifted.inputs for size in node.shape for name in _names_of(size)}
    gone = letters - left
    order = postorder(lifted.outputs)
    counts = {
        node: _count(node.payload.size, gone) for node in order if node.is_size and gone & _names_of(node.payload)
    }
    outputs = substitute(lifted.outputs, counts)
    if any(gone & _names_of((node.shape, node.payload)) for node in postorder(outputs)):
        raise UnsupportedError(f"a size that depends on {', '.join(sorted(gone))}")
    return Lifted(lifted.inputs, tuple(outputs))


def _count(size: Size, letters: set[str]) -> Node:
    """Return a size as a number, in which letters stand for the number of rows."""
    total: Node = constant(0.0)
    for names, coefficient in size.terms:
        term: Node = constant(float(coefficient))
        for name in names:
            term = elementwise("multiply", (term, extent(BATCH if name in letters else named(name))))
        total = elementwise("add", (total, term))
    return total


def _names_of(part: object) -> set[str]:
    """Return the letters in sizes, or in tuples that contain such."""
    if isinstance(part, Size):
        return set(part.names)
    if isinstance(part, tuple) and set(map(type, part)) == {int}:
        return set()  # a list of positions, which may be long
    return set().union(*map(_names_of, part)) if isinstance(part, tuple) else set()


#: Number of samples of a plan that takes them as an axis of one.
SAMPLES: Size = named("(samples)")

#: Elements of an array along short axes that one element of a loop may have to itself, and axes that it has where there
#: are more.
MOST_ELEMENTS, FEWER = 4096, (7, 2)
#: Operations of the programs of a plan from which on another one may take less, and is built sooner.
LONG = 1000
#: Least values of letters, tried one after the other until it is known how places in arrays follow each other.
LARGER = LEAST, 4 * LEAST, 16 * LEAST, 64 * LEAST


def has_steps(inputs: Sequence[Node], outputs: Sequence[Node]) -> bool:
    """Tell whether a formula has long axes, many elements, large products, functions of matrices, or recurrences."""
    from .products import (
        is_factored,  # not needed by a plan that is known
        is_product,
    )

    apart = is_product, is_factored, is_iterated  # they have steps of their own, however few elements there are
    nodes = [*inputs, *survey(outputs).apart]
    return has_many(nodes) or any(
        node.is_recurrence or any(is_what(node) for is_what in apart) or any(map(is_long, node.shape))
        for node in nodes
        if node.shape or node.op not in FUNCTIONS  # functions of numbers, of which a formula may have a million
    )


def inner_of(inputs: Sequence[Node], outputs: Sequence[Node]) -> int:
    """Return the longest axis that an element has to itself: less where all axes are short, and would all be."""
    return INNER if has_steps(inputs, outputs) else FEWER[0]


def has_many(nodes: Sequence[Node]) -> bool:
    """Tell whether an array has many elements along axes of which each is short."""
    return any(
        len(node.shape) > 2
        and math.prod(size for size in node.shape if isinstance(size, int) and size <= INNER) > MOST_ELEMENTS
        for node in nodes
    )


def plan_call(
    inputs: Sequence[Node], outputs: Sequence[Node], batched: Sequence[bool], limit: int, *, total: bool = False
) -> Plan:
    """Plan a call: the axis of tiles is the batch or, for one sample, a long axis that allows it.

    Parameters
    ----------
    inputs, outputs : sequence of Node
        The formula of one sample.
    batched : sequence of bool
        Which inputs have the batch's axis.
    limit : int
        Scalar operations of one element, at most.
    total : bool
        Outputs are summed over the batch.

    Raises
    ------
    UnsupportedError
        If a part of it cannot be planned; the message says why.
    """
    from .planner import check_length  # not needed by a plan that is known

    check_length(outputs)
    return _with_letters(inputs, outputs, batched, limit, total=total)


def plan_shorter(
    inputs: Sequence[Node], outputs: Sequence[Node], batched: Sequence[bool], limit: int, *, total: bool = False
) -> Plan:
    """Plan a call as :func:`plan_call` does, with loops along shorter axes where the plan is estimated to take less.

    That is also where an element would be too long without them.
    """
    try:
        plan = plan_call(inputs, outputs, batched, limit, total=total)
    except UnsupportedError:
        if inner_limit() <= FEWER[0]:
            raise
        with inner_axes(FEWER[0]):
            return plan_call(inputs, outputs, batched, limit, total=total)
    if inner_limit() <= FEWER[0] or _operations(plan) < LONG:
        return plan
    with inner_axes(FEWER[0]), suppress(UnsupportedError):
        other = plan_call(inputs, outputs, batched, limit, total=total)
        return min(plan, other, key=lambda one: sum(one.estimate))
    return plan


def _operations(plan: Plan) -> int:
    """Count the operations of one element of each step, in its longest piece: borders have pieces of their own."""
    loops = [step for step in nested(plan.steps) if isinstance(step, LoopStep)]
    return sum(max(len(piece.program.ops) for piece in step.pieces) for step in loops)


def plan_together(
    inputs: Sequence[Node], outputs: Sequence[Node], batched: Sequence[bool], limit: int, *, total: bool = False
) -> Plan:
    """Plan a call whose samples are a long axis of one sample, as loops take it: each of their steps goes over all.

    Parameters
    ----------
    inputs, outputs, batched, limit, total
        As :func:`plan_call` takes them.

    Raises
    ------
    UnsupportedError
        If a part of it cannot be planned.
    """
    from .batch import lift
    from .planner import check_length

    check_length(outputs)
    lifted = lift(inputs, outputs, batched, total=total)
    fresh = {
        node: placeholder(("samples", k), (SAMPLES, *node.shape[1:]), node.dtype, node.assumptions)
        for k, (node, has) in enumerate(zip(lifted.inputs, batched, strict=True))
        if has
    }
    several = resize(lifted.outputs, {**{node: node for node in lifted.inputs}, **fresh}, {str(BATCH): SAMPLES})
    own = [fresh.get(node, node) for node in lifted.inputs]
    return _with_letters(own, several, [False] * len(own), limit, total=False)


def _with_letters(
    inputs: Sequence[Node], outputs: Sequence[Node], batched: Sequence[bool], limit: int, *, total: bool
) -> Plan:
    """Plan a call, for the least that letters may be at which it can be."""
    outputs = _looped(outputs)
    if has_many([*inputs, *survey(outputs).apart]):
        for most in FEWER:
            with inner_axes(most), sizes_from(LEAST), suppress(UnsupportedError):
                return _planned(inputs, outputs, batched, limit, total=total)
    for least in LARGER:
        with sizes_from(least), suppress(OrderError):
            return _planned(inputs, outputs, batched, limit, total=total)
    return _planned(inputs, outputs, batched, limit, total=total)


def _looped(roots: Sequence[Node]) -> list[Node]:
    """Write running operations along long axes as loops, where no step of a plan is for them."""
    from ..expand import FOLDS, as_recurrence
    from .bound import SCANS

    looped = FOLDS.keys() - set(SCANS)  # no step of a plan is for them
    roots = within(roots, _looped)
    order = postorder(roots)
    if looped.isdisjoint([node.op for node in order]):
        return list(roots)
    new: dict[Node, Node] = {}
    for node in order:
        made = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        new[node] = as_recurrence(made) if node.op in looped and is_long(node.shape[node.payload.axis]) else made
    return [new[root] for root in roots]


def _planned(
    inputs: Sequence[Node], outputs: Sequence[Node], batched: Sequence[bool], limit: int, *, total: bool
) -> Plan:
    """Plan a call, for one limit of the axes that an element has to itself."""
    from .batch import lift
    from .planner import make_plan
    if any(batched):
        lifted = lift(inputs, outputs, batched, total=total)
        return make_plan(lifted.inputs, lifted.outputs, limit)
    rows = tile_rows(inputs, outputs)
    if rows is not None:
        try:
            return make_plan(rows.inputs, rows.outputs, limit)
        except UnsupportedError:  # tiles would have to be gone through twice
            pass
    return make_plan(inputs, outputs, limit)
