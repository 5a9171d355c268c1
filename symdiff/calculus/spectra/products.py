"""Products with columns of eigenvectors, as factors with labels, and sums over the numbers of these columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from ...graph import Item, Labels, Node, constant, reshape, slicing, whole
from ...graph import gather as gathering
from ...graph.deltas.affine import is_identity
from ...graph.deltas.einsum import einsum
from ...graph.sizes import Dim
from .chosen_columns import Columns, gathered_of, part_of, weighted

Factor: TypeAlias = tuple["Node | Columns", Labels]


class ColumnProduct(NamedTuple):
    """A node as a product: its factors with labels, the labels of its own axes, and the sizes of all."""

    factors: list[Factor]
    out: Labels
    sizes: dict[int, Dim]


def sizes_of(labels: Labels, node: Node) -> dict[int, Dim]:
    """Return the sizes of a node's labels."""
    return dict(zip(labels, node.shape, strict=True))


def columns_of(product: ColumnProduct) -> list[tuple[Columns, Labels]]:
    """Return the columns among the factors, with their labels."""
    return [(part, own) for part, own in product.factors if isinstance(part, Columns)]


def value_of(product: ColumnProduct) -> Node:
    """Return a product without columns as a node."""
    parts = [part for part, _ in product.factors if isinstance(part, Node)]
    return einsum(parts, [own for _, own in product.factors], product.out, product.sizes)


def is_column(label: int, factors: Sequence[Factor]) -> bool:
    """Tell whether a label is that of the numbers of columns."""
    return any(isinstance(part, Columns) and own[-1] == label for part, own in factors)


def taken_from(
    factors: Sequence[Factor], label: int, item: Item | None, indices: Sequence[int] = ()
) -> list[Factor] | None:
    """Take some columns, and their places in what they are multiplied by: a part of the axis, or some indices."""
    result: list[Factor] = []
    for part, own in factors:
        if label not in own:
            result.append((part, own))
        elif isinstance(part, Columns):
            picked = gathered_of(part.picked, indices) if item is None else part_of(part.picked, item)
            if picked is None:
                return None
            result.append((part._replace(picked=picked), own))
        else:
            kept = part
            for axis in [axis for axis, name in enumerate(own) if name == label]:
                kept = gathering(kept, axis, tuple(indices)) if item is None else _kept(kept, axis, item)
            result.append((kept, own))
    return result


def _kept(x: Node, axis: int, item: Item) -> Node:
    start, step, length = item
    kept = (start, step, 1 if length is None else length)
    return slicing(x, tuple([kept if a == axis else whole(n) for a, n in enumerate(x.shape)]))


# ---------------------------------------------------------------------------- sums over columns


def closed(product: ColumnProduct) -> ColumnProduct | None:
    """Put functions of the matrix for pairs of the same columns that are summed over; None if other sums are left."""
    product = _without_deltas(product)
    for label in dict.fromkeys(own[-1] for _, own in columns_of(product)):
        if label in product.out:
            continue
        own = [factor for factor in product.factors if label in factor[1]]
        pair = [(part, names) for part, names in own if isinstance(part, Columns)]
        if len(pair) == 1 and len(own) == 1 and product.sizes[label] == 1:
            continue  # one column, which has no axis
        if len(pair) != 2 or pair[0][0] != pair[1][0] or pair[0][1][:-2] != pair[1][1][:-2]:
            return None
        (columns, (*lead, row, _)), (_, other) = pair
        weights: list[Node] = []
        for part, names in own:
            if isinstance(part, Node):
                weight, axes = _without_unit_axes(part, names, product)
                if axes not in ((label,), (*lead, label)):
                    return None
                weights.append(weight)
        function = weighted(columns, weights)
        if function is None:
            return None
        rest = [factor for factor in product.factors if label not in factor[1]]
        sizes = {name: size for name, size in product.sizes.items() if name != label}
        product = ColumnProduct([*rest, (function, (*lead, row, other[-2]))], product.out, sizes)
    return product


def _without_unit_axes(part: Node, own: Labels, product: ColumnProduct) -> tuple[Node, Labels]:
    """Leave axes of size 1 out that nothing else has."""
    met = [*product.out, *[label for _, names in product.factors for label in names]]
    kept = [axis for axis, label in enumerate(own) if part.shape[axis] != 1 or met.count(label) > 1]
    return reshape(part, tuple([part.shape[a] for a in kept])), tuple([own[a] for a in kept])


def _without_deltas(product: ColumnProduct) -> ColumnProduct:
    """Give the two indices of a diagonal matrix one label, where one of them is that of a column."""
    factors, out, sizes = product
    place = 0
    while place < len(factors):
        part, own = factors[place]
        place += 1
        if not isinstance(part, Node) or len(own) != 2 or own[0] == own[1] or not _is_diagonal(part):
            continue
        if not any(is_column(label, factors) for label in own) or set(own) <= set(out):
            continue
        kept, gone = own if own[0] in out else own[::-1]
        rest = [*factors[: place - 1], *factors[place:]]
        if part.is_constant:
            rest.append((constant(np.diagonal(part.value).copy()), (kept,)))
        factors = [(x, tuple([kept if n == gone else n for n in names])) for x, names in rest]
        sizes = {label: size for label, size in sizes.items() if label != gone}
        place = 0
    return ColumnProduct(factors, out, sizes)


def _is_diagonal(node: Node) -> bool:
    if node.is_delta:
        return is_identity(node)
    if not node.is_constant or node.shape[0] != node.shape[1]:
        return False
    values = node.value
    return not np.any(values - np.diag(np.diagonal(values)))
