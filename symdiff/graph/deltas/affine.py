"""Parts of deltas: slices and paddings of an index pair are index pairs, by arithmetic on their numbers."""

from __future__ import annotations

from .. import Item, Node, constant, contract, delta, onehot, pad, slicing, zeros
from ..primitives import Cost, costing
from ..sizes import Dim

ONE = constant(1.0)
#: Operations that stand for an array of zeros and ones by arithmetic on indices.
STRUCTURE = costing(Cost.STRUCTURE)


def is_identity(node: Node) -> bool:
    """Tell whether a delta is the whole identity matrix."""
    rows, columns = node.shape
    return bool(node.payload == (0, 1) and rows == columns)


def is_rows(node: Node) -> bool:
    """Tell whether a node is rows of the identity, at positions that a call brings."""
    return node.op == "take" and node.args[0].is_delta and node.payload == (-2, 0) and is_identity(node.args[0])


def stays(node: Node) -> bool:
    """Tell whether a factor is a choice of elements, and so is never multiplied with others."""
    return node.op in STRUCTURE or is_rows(node)


def _items(node: Node, axis: int, item: Item) -> tuple[Item, ...]:
    return tuple(item if a == axis else (0, 1, size) for a, size in enumerate(node.shape))


def put(node: Node, axis: int, item: Item, size: Dim) -> Node:
    """Put ``node`` into zeros along one axis, a whole delta by arithmetic on its indices."""
    start, step, rows = item
    if node.is_delta and is_identity(node) and rows is not None:
        moved = delta(rows, size, start, step)
        return moved if axis == 1 else contract([moved], [(0, 1)], (1, 0))
    composed = _put_delta(node, axis, item, size) if node.is_delta else None
    if composed is not None:
        return composed
    shape = tuple(size if a == axis else n for a, n in enumerate(node.shape))
    return pad(node, _items(node, axis, item) if item[2] is not None else (item,), shape)


def _put_delta(node: Node, axis: int, item: Item, size: Dim) -> Node | None:
    """Put one axis of a delta into a longer or reversed one where the result is a delta again."""
    first, pace = node.payload
    rows, columns = node.shape
    start, step, length = item
    if length is None:
        return None
    if axis == 0:  # only a reversal puts every row somewhere
        return delta(rows, columns, first + pace * (rows - 1), -pace) if item == (rows - 1, -1, size) else None
    last = first + pace * (rows - 1)
    inside = all(isinstance(k, int) and isinstance(columns, int) and 0 <= k < columns for k in (first, last))
    return delta(rows, size, start + step * first, step * pace) if inside else None


def take(node: Node, axis: int, item: Item) -> Node:
    """Take a part of one axis, of a delta or onehot by arithmetic on its indices."""
    start, step, length = item
    if item == (0, 1, node.shape[axis]):
        return node
    if node.is_onehot:
        return _take_onehot(node, item)
    if node.is_delta:
        first, pace = node.payload
        rows, columns = node.shape
        if axis == 0:
            if length is None:
                return onehot(columns, first + start * pace)
            return delta(length, columns, first + start * pace, step * pace)
        if is_identity(node):
            if length is None:
                return onehot(rows, start)
            return contract([delta(length, rows, start, step)], [(0, 1)], (1, 0))
        if node.payload == (start, step) and length == rows:
            return delta(rows, rows)
        if length is None and all(isinstance(v, int) for v in (first, start, rows)):
            row, rest = divmod(int(str(start)) - int(str(first)), pace)
            return onehot(rows, row) if rest == 0 and 0 <= row < int(str(rows)) else zeros((rows,))
        if length is None:
            # a column is written as a part of a unit vector: with two spellings, two rules would undo each other
            return _take_onehot(onehot(columns, start), (first, pace, rows))
        if _disjoint((first, pace, rows), item):
            return zeros((rows, length))
    return slicing(node, _items(node, axis, item))


def _take_onehot(node: Node, item: Item) -> Node:
    start, step, length = item
    hot = node.payload.at
    if length is None:
        if hot == start:
            return ONE
        if isinstance(hot, int) and isinstance(start, int):
            return constant(0.0)
        # e_a[b] is e_b[a]: one spelling, or two rules would take turns
        hot, start = sorted((hot, start), key=str)
        return slicing(onehot(node.shape[0], hot), ((start, 1, None),))
    if isinstance(hot, int) and isinstance(start, int) and isinstance(length, int):
        row, rest = divmod(hot - start, step)
        return onehot(length, row) if rest == 0 and 0 <= row < length else zeros((length,))
    return slicing(node, (item,))


def _disjoint(a: Item, b: Item) -> bool:
    spans = []
    for start, step, length in (a, b):
        if not (isinstance(start, int) and isinstance(length, int)):
            return False
        spans.append(set(range(start, start + step * length, step)) if length else set())
    return not spans[0] & spans[1]
