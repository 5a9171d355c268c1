"""How an array is computed by loops: over which axes, and whether it is a sum over some of them."""

from __future__ import annotations

from typing import NamedTuple

from ...graph import Node, label_sizes
from ...graph.primitives import DELTAS
from ...graph.sizes import Dim
from .access import BATCH, Access, AxisIndex, all_of, is_long, over_long_axes
from .element import Elements

__all__ = ["Task", "element_of", "kept_label", "sums_rows", "task_of"]


class Task(NamedTuple):
    """How an array is computed by loops, before steps are made one of several.

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
    return _over_all(node)


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
