"""Kronecker products: a sum along their long axes is a sum along the axes of their factors.

``kron(A, X)`` is an outer product with four axes, two and two of which are merged. Where a contraction sums along a
merged axis, the axis is split again, so that ``trace(kron(A, X))`` is ``trace(A) * trace(X)`` and
``kron(A, X) @ y`` is made of products with A and X alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...graph import REAL, Labels, Node, constant, delta, matrix, reshape
from ...graph.deltas.affine import STRUCTURE
from ...graph.deltas.einsum import einsum
from ...graph.sizes import Dim, Shape, fixed, product
from ..rewriter import rule, settle


def merged_axes(node: Node) -> list[tuple[int, ...]] | None:
    """Return, for each axis of a reshape, the axes of its argument that it is made of; None where it splits one."""
    return _groups(node.args[0].shape, node.shape)


def _groups(many: Shape, few: Shape) -> list[tuple[int, ...]] | None:
    """Return which axes of one shape make up each axis of another."""
    groups: list[tuple[int, ...]] = []
    begin = 0
    for size in few:
        end = begin
        while end < len(many) and (end == begin or product(many[begin:end]) != size):
            end += 1
        if product(many[begin:end]) != size or 1 in many[begin:end]:
            return None
        groups.append(tuple(range(begin, end)))
        begin = end
    return groups if begin == len(many) else None


@rule("reshape", "the identity of m n rows, as m×n×m×n", "the product of two identities", inside="delta")
def _split_identity(node: Node) -> Node | None:
    (x,) = node.args
    half = node.ndim // 2
    if x.payload != (0, 1) or x.shape[0] != x.shape[1] or node.shape[:half] != node.shape[half:]:
        return None
    if node.ndim < 4 or 1 in node.shape:  # axes of size 1 are left to what broadcasts
        return None
    return _identities(node.shape[:half])


def _identities(shape: Shape) -> Node:
    half = len(shape)
    labels = [(axis, axis + half) for axis in range(half)]
    return einsum([delta(size, size) for size in shape], labels, tuple(range(2 * half)))


def _split(labels: Labels, names: Mapping[int, Labels]) -> Labels:
    """Return labels with several names in the place of each that was split."""
    return tuple(name for label in labels for name in names.get(label, (label,)))


@rule("contract", "trace(kron(A, X)), kron(A, X) @ y", "trace(A) trace(X), products with A and X", inside="reshape")
def _split_axes(node: Node) -> Node | None:
    """Split the axes of products with merged axes, if there is a sum along one of them."""
    labels, out, repeated = node.payload
    if node.dtype is not REAL or repeated:
        return None
    groups: dict[int, Shape] = {}
    for arg, own in zip(node.args, labels, strict=True):
        axes = merged_axes(arg) if _is_outer(arg) else None
        for label, group in zip(own, axes or (), strict=False):
            sizes = tuple(arg.args[0].shape[axis] for axis in group)
            if len(sizes) > 1 and groups.setdefault(label, sizes) != sizes:
                return None
    if not set(groups).difference(out):
        return None
    fresh = 1 + max(label for own in labels for label in own)
    names: dict[int, Labels] = {}
    for label, sizes in groups.items():
        names[label] = tuple(range(fresh, fresh + len(sizes)))
        fresh += len(sizes)

    operands = []
    for arg, own in zip(node.args, labels, strict=True):
        shape: tuple[Dim, ...] = tuple(
            size for label, whole in zip(own, arg.shape, strict=True) for size in groups.get(label, (whole,))
        )
        operands.append(arg if shape == arg.shape else settle(reshape(arg, shape)))
    found = settle(einsum(operands, [_split(own, names) for own in labels], _split(out, names)))
    return settle(reshape(found, node.shape))


@rule("reshape", "reshape(outer(x, y), (m, n, m, n)), reshape(kron(A, X).T, (m, n, m, n))",
      "products of reshaped factors", inside="contract")
def _split_product(node: Node) -> Node | None:
    """Split the axes of a product of vectors, or of arrays with axes that were merged in this way."""
    (x,) = node.args
    if node.dtype is not REAL or x.payload.repeated or node.ndim <= x.ndim or 1 in node.shape:
        return None
    groups = _groups(node.shape, x.shape)
    if groups is None:
        return None
    labels, out, _ = x.payload
    sizes = {label: tuple(node.shape[axis] for axis in group) for label, group in zip(out, groups, strict=True)}
    operands: list[Node] = []
    for arg, own in zip(x.args, labels, strict=True):
        shape = tuple(size for label, whole in zip(own, arg.shape, strict=True) for size in sizes.get(label, (whole,)))
        if shape != arg.shape and not (
            (arg.is_reshape and arg.args[0].shape == shape) or (arg.ndim == 1 and len(x.args) > 1)
        ):
            return None
        operands.append(arg if shape == arg.shape else settle(reshape(arg, shape)))
    fresh = 1 + max(label for own in labels for label in own)
    names: dict[int, Labels] = {}
    for label in out:
        names[label] = tuple(range(fresh, fresh + len(sizes[label])))
        fresh += len(sizes[label])

    return settle(einsum(operands, [_split(own, names) for own in labels], _split(out, names)))


@rule("inv", "inv(kron(A, X))", "kron(inv(A), inv(X))", inside="reshape")
def _inverse_of_kronecker_product(node: Node) -> Node | None:
    (x,) = node.args
    outer = x.args[0] if _is_outer(x) and x.ndim == 2 else None
    if outer is None or len(outer.args) != 2 or outer.payload.repeated:
        return None
    labels, out, _ = outer.payload
    for own, arg in zip(labels, outer.args, strict=True):
        if arg.ndim != 2 or arg.shape[0] != arg.shape[1] or not {*own} <= {*out}:
            return None
    if [*out] not in ([labels[0][a], labels[1][b], labels[0][1 - a], labels[1][1 - b]] for a in (0, 1) for b in (0, 1)):
        return None
    inverses = [settle(matrix("inv", arg)) for arg in outer.args]
    return reshape(settle(einsum(inverses, labels, out)), x.shape)


def _is_outer(node: Node) -> bool:
    """Tell whether a node is a reshape of a product of several arrays."""
    return node.is_reshape and node.args[0].is_contraction and len(node.args[0].args) > 1


@rule("reshape", "reshape([1])", "1", inside="constant")
def _reshaped_numbers(node: Node) -> Node | None:
    (x,) = node.args
    shape = fixed(node.shape)
    return constant(x.value.reshape(shape)) if x.is_constant and shape is not None else None


@rule("reshape", "(x y)[:, 0], y of one row", "x y[0]", inside="contract")
def _without_axes_of_one(node: Node) -> Node | None:
    """Leave axes of one element out of a product's factors where they are dropped from the product."""
    (x,) = node.args
    if not x.is_contraction or x.payload.repeated or node.shape != tuple([n for n in x.shape if n != 1]):
        return None
    labels, out, _ = x.payload
    gone = {label for label, n in zip(out, x.shape, strict=True) if n == 1}
    operands, kept = [], []
    for arg, own in zip(x.args, labels, strict=True):
        rest = [axis for axis, label in enumerate(own) if label not in gone]
        if len(rest) < len(own) and arg.op in STRUCTURE:
            return None
        shape = tuple([arg.shape[axis] for axis in rest])
        operands.append(arg if len(rest) == len(own) else settle(reshape(arg, shape)))
        kept.append(tuple([own[axis] for axis in rest]))
    return settle(einsum(operands, kept, tuple([label for label in out if label not in gone])))
