"""Small matrices of explicit entries: their determinants are sums of products, as a book writes them.

``det([[cos(t), -sin(t)], [sin(t), b]])`` is a sum of two products, and its derivative is that of the sum.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import numpy.typing as npt

from ...graph import Item, Node, concatenate, constant, reshape, slicing
from ...graph.deltas.einsum import is_structured
from ...graph.scalars.functions import scalar_constant
from ...graph.sizes import fixed
from ..rewriter import make, rule, settle

#: Rows of the largest determinant that is expanded.
_ROWS = 3
#: Terms of the longest sum of parts.
_TERMS = 8


def entries_of(node: Node) -> npt.NDArray[np.object_] | None:
    """Return the entries of a small array that is built from scalars, None for any other."""
    shape = fixed(node.shape)
    if shape is None or node.size == 0 or int(np.prod(shape)) > _ROWS**2:
        return None
    found = np.empty(shape, dtype=object)
    if node.is_constant:
        for place in np.ndindex(shape):
            found[place] = constant(float(node.value[place]))
        return found
    if node.size == 1:
        found[...] = settle(reshape(node, ()))
        return found
    if node.is_reshape:
        inside = entries_of(node.args[0])
        return None if inside is None else inside.reshape(shape)
    if not node.is_concatenation:
        return None
    parts = [entries_of(arg) for arg in node.args]
    known = [part for part in parts if part is not None]
    return np.concatenate(known, axis=node.payload.axis) if len(known) == len(parts) else None


@rule("slice", "[[A, B], [C, D]][:, :k]", "[[A], [C]]", "reading", inside="concatenate")
def _slice_of_blocks(node: Node) -> Node | None:
    """Slice joined arrays each by itself, along the axes that do not join them, where each slice is known."""
    (x,), items = node.args, node.payload.items
    at = x.payload.axis % x.ndim
    whole = [(0, 1, size) for size in x.shape]
    if any(length is None for _, _, length in items) or all(items[k] == whole[k] for k in range(x.ndim) if k != at):
        return None
    parts = []
    for part in x.args:
        own = tuple((0, 1, part.shape[at]) if k == at else item for k, item in enumerate(items))
        parts.append(settle(slicing(part, own)))
        if parts[-1].is_slice:
            return None
    blocks = settle(concatenate(parts, at))
    rest = tuple(items[at] if k == at else (0, 1, size) for k, size in enumerate(blocks.shape))
    return settle(slicing(blocks, rest)) if rest[at] != (0, 1, blocks.shape[at]) else blocks


@rule("slice", "(2 [A, B])[:k], (eye(n) - 2 eye(n))[i]", "2 A, e_i - 2 e_i", "reading",
      inside="multiply divide negative add subtract")
def _slice_of_multiple(node: Node) -> Node | None:
    """Take a part of an array before a number multiplies it, where that part has a form of its own."""
    return _part_of(node.args[0], node.payload.items, _TERMS)


def _part_of(x: Node, items: tuple[Item, ...], depth: int) -> Node | None:
    """Return a part of multiples and sums of arrays, None where one of their parts has no form of its own."""
    if is_structured(x) or x.is_concatenation:
        part = settle(slicing(x, items))
        return None if part.is_slice else part
    is_multiple = x.is_negation or (x.is_multiplicative and not all(arg.ndim for arg in x.args))
    if depth == 0 or not (is_multiple or (x.is_additive and x.ndim == 1)):  # of matrices sums show differences
        return None
    parts = []
    for arg in x.args:
        is_number = not arg.ndim and x.is_multiplicative
        found: Node | None = arg if is_number else _part_of(arg, items, depth - 1) if arg.shape == x.shape else None
        if found is None or (x.is_additive and arg.is_concatenation):
            return None
        parts.append(found)
    return make(x.op, *parts)


@rule("det", "det([[a, b], [c, d]])", "a d - b c", "form", inside="concatenate")
def _explicit_determinant(node: Node) -> Node | None:
    """Expand a determinant, unless an entry would vanish, which could hide a nan."""
    (x,) = node.args
    if x.ndim != 2 or not isinstance(x.shape[0], int) or x.shape[0] > _ROWS:
        return None
    entries = entries_of(x)
    if entries is None:
        return None
    n = x.shape[0]
    terms: list[tuple[int, list[Node]]] = []
    for order in permutations(range(n)):
        product: list[Node] = [entries[row, column] for row, column in enumerate(order)]
        if not any(scalar_constant(entry) == 0.0 for entry in product):
            turns = sum(order[i] > order[j] for i in range(n) for j in range(i + 1, n))
            terms.append((-1 if turns % 2 else 1, product))
    kept = {entry for _, product in terms for entry in product}
    several: list[Node] = entries.ravel().tolist()
    if not terms or any(entry not in kept and scalar_constant(entry) is None for entry in several):
        return None
    total: Node | None = None
    for sign, product in terms:
        term = product[0]
        for entry in product[1:]:
            term = make("multiply", term, entry)
        if total is None:
            total = term if sign > 0 else make("negative", term)
        else:
            total = make("add" if sign > 0 else "subtract", total, term)
    return total
