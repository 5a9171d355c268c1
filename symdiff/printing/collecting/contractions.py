"""Contractions as a person writes them: without axes of length 1, upright, numbers apart from arrays."""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Labels, Node, contract
from ...simplify.matrices.symmetry import upright


def without_unit_axes(node: Node) -> Node:
    """Return a contraction that a reshape frees of axes of length 1, as one without them; or the node."""
    if not node.is_reshape or not node.args[0].is_contraction:  # a reshape of a reshape may be neither
        return node
    (inner,) = node.args
    labels, out, repeated = inner.payload
    lone = {label for label, size in repeated if size == 1}
    kept = [axis for axis, label in enumerate(out) if label not in lone]
    if tuple(inner.shape[axis] for axis in kept) != node.shape:
        return node
    sizes = {label: size for label, size in repeated if label not in lone}
    return contract(inner.args, labels, tuple(out[axis] for axis in kept), sizes)


def turned(node: Node) -> Node:
    """Write the transpose of a product as a product, and symmetric matrices without a transpose."""
    (inner, *others), (labels, out, repeated) = node.args, node.payload
    if inner.is_contraction and not others and not repeated and sorted(labels[0]) == sorted(out):
        place = dict(zip(labels[0], inner.payload.out, strict=True))
        node = contract(
            inner.args, inner.payload.labels, tuple(place[label] for label in out), dict(inner.payload.repeated)
        )
    return upright(node) if node.is_contraction else node


def components(labels: Sequence[Labels], out: Labels) -> list[tuple[list[int], Labels]]:
    """Return the operands that make up numbers of their own, each group with no labels, and the rest with ``out``."""
    groups: list[tuple[list[int], set[int]]] = []
    for i, own in enumerate(labels):
        joined, places = [i], set(own)
        for group in [group for group in groups if group[1] & places]:
            groups.remove(group)
            joined, places = group[0] + joined, places | group[1]
        groups.append((joined, places))
    numbers: list[tuple[list[int], Labels]] = [(g, ()) for g, places in groups if places and places.isdisjoint(out)]
    rest = sorted(i for g, places in groups if not places or not places.isdisjoint(out) for i in g)
    return [*numbers, (rest, out)] if rest else [(list(range(len(labels))), out)]
