"""Determinants and inverses as a book writes them: of small matrices by their entries, and in place of adjugates.

``det([[cos(t), -sin(t)], [sin(t), b]])`` is a sum of two products, and its derivative is that of the sum.

The adjugate is right at every matrix. A book writes det(A) inv(A), which is right where A has an inverse, and raises
where it has none. So this is done for matrices that are declared definite, and for a whole derivative where the
reader asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import permutations
from math import isfinite

import numpy as np
import numpy.typing as npt

from ...graph import (
    REAL,
    Item,
    Node,
    concatenate,
    constant,
    contract,
    elementwise,
    matrix,
    postorder,
    rebuild,
    reshape,
    slicing,
    zeros,
)
from ...graph import reduce as reduce_axes
from ...graph.deltas.einsum import einsum, is_structured
from ...graph.scalars.arithmetic import ARITHMETIC, powers_of, without_numbers
from ...graph.scalars.functions import scalar_constant
from ...graph.sizes import fixed
from ..arrays import uniform
from ..facts import is_definite
from ..rewriter import MOST_TERMS, make, multiplied, rule, settle, spread
from .chains import without_inverses

__all__ = ["by_inverses"]


#: Rows of the largest determinant that is expanded.
_ROWS = 3
#: Numbers of the largest array that is put together.
_NUMBERS = 64
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
    if node.is_pad:
        return _padded(node)
    if not node.is_concatenation:
        return None
    parts = [entries_of(arg) for arg in node.args]
    known = [part for part in parts if part is not None]
    return np.concatenate(known, axis=node.payload.axis) if len(known) == len(parts) else None


def _padded(node: Node) -> npt.NDArray[np.object_] | None:
    inside, items = entries_of(node.args[0]), node.payload.items
    if inside is None or not all(isinstance(start, int) and isinstance(step, int) for start, step, _ in items):
        return None
    found = np.full(fixed(node.shape) or (), constant(0.0), dtype=object)
    for index, value in np.ndenumerate(inside):
        places = iter(index)
        found[tuple(start if n is None else start + step * next(places) for start, step, n in items)] = value
    return found


@rule("concatenate", "concatenate([[0], [1]])", "[0, 1]", "arrays", inside="constant")
def _joined_numbers(node: Node) -> Node | None:
    """Write a few numbers that are joined as one array."""
    few = fixed(node.shape) is not None and node.size <= _NUMBERS
    if not few or node.dtype is not REAL or not all(arg.is_constant for arg in node.args):
        return None
    return constant(np.concatenate([arg.value for arg in node.args], axis=node.payload.axis))


@rule("scatter", "eye(3)[[2, 0]].T @ [1, 2]", "[2, 0, 1]")
def _scattered_numbers(node: Node) -> Node | None:
    """Write a few numbers that are put among zeros as one array."""
    (x,) = node.args
    shape, repeated = fixed(node.shape), uniform(x)
    value = x.value if x.is_constant else None if repeated is None else scalar_constant(repeated)
    if shape is None or node.size > _NUMBERS or value is None:
        return None
    made = np.zeros(shape)
    places = (slice(None),) * (node.payload.axis + node.ndim)
    np.add.at(made, (*places, list(node.payload.indices)), value)
    return constant(made)


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


@rule("inv", "inv([[a, b], [c, d]])", "[[d, -b], [-c, a]] / (a d - b c)", "shown", inside="concatenate reshape")
def _explicit_inverse(node: Node) -> Node | None:
    """Write the inverse of a matrix of two rows by its determinant, which is shown and may leave the range."""
    return _inverse(node.args[0])


@rule("solve", "solve([[a, b], [c, d]], x)", "[[d, -b], [-c, a]] @ x / (a d - b c)", "shown",
      inside="concatenate reshape")
def _explicit_solution(node: Node) -> Node | None:
    """Solve two equations by the inverse."""
    a, b = node.args
    inverse = _inverse(a)
    if inverse is None:
        return None
    labels = [(0, 1), (1, 2)[: b.ndim]]
    return settle(contract([inverse, b], labels, (0, 2)[: b.ndim]))


def _inverse(matrix: Node) -> Node | None:
    entries = entries_of(matrix) if matrix.shape == (2, 2) else None
    if entries is None:
        return None
    ((a, b), (c, d)) = entries
    whole = _sum(_product([a, d]), make("negative", _product([b, c])))
    adjugate = [[d, make("negative", b)], [make("negative", c), a]]
    return make("divide", array_of(np.array(adjugate, dtype=object)), whole)


def _shown_entries(node: Node) -> npt.NDArray[np.object_] | None:
    """Return the entries of arithmetic and of directions of small arrays, whose own are known."""
    op, args = node.op, node.args
    if op == "unit" and len(node.payload.axes) == node.ndim:
        op, args = "divide", (*args, reduce_axes("norm", args[0], tuple(range(node.ndim))))
    elif node.is_contraction and {*node.payload.labels} <= {(), node.payload.out} and not node.payload.repeated:
        op = "multiply"
    elif op not in ARITHMETIC or not all(arg.size == 1 or arg.shape == node.shape for arg in args):
        return entries_of(node)
    parts = [entries_of(arg) if arg.size == 1 else _shown_entries(arg) for arg in args]
    known = [part for part in parts if part is not None]
    return _entrywise(op, *known) if len(known) == len(parts) else None


def _entrywise(op: str, *parts: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    found = np.empty(np.broadcast_shapes(*[part.shape for part in parts]), dtype=object)
    spread_out = [np.broadcast_to(part, found.shape) for part in parts]
    for place in np.ndindex(found.shape):
        args: list[Node] = [part.item(*place) for part in spread_out]
        found[place] = _product(args) if op == "multiply" else make(op, *args)
    return found


@rule("slice", "[[a, b], [c, d]][0, 1]", "b", "shown", inside="concatenate multiply divide unit add subtract contract")
def _entries_taken(node: Node) -> Node | None:
    """Take entries from a small array of explicit ones."""
    factors, array = _multiple_of(node.args[0])
    entries = _shown_entries(array)
    items = node.payload.items
    if entries is None or not all(isinstance(start, int) and isinstance(step, int) for start, step, _ in items):
        return None
    places = [start if n is None else start + step * np.arange(n) for start, step, n in items]
    found = entries[np.ix_(*[np.atleast_1d(place) for place in places])].reshape(fixed(node.shape) or ())
    return spread(multiplied(array_of(found), factors), node.shape)


@rule("contract", "[[a, b], [c, d]] @ [[1, 0], [0, 0]]", "[[a, 0], [c, 0]]", "shown",
      inside="concatenate multiply divide unit")
def _product_of_entries(node: Node) -> Node | None:
    """Multiply small arrays of explicit entries."""
    labels, out, repeated = node.payload
    if repeated or any(size not in range(1, _ROWS + 1) for arg in node.args for size in arg.shape):
        return None
    pairs = [_multiple_of(arg) for arg in node.args]
    arrays = [_shown_entries(array) for _, array in pairs]
    known = [array for array in arrays if array is not None]
    if len(known) < len(arrays) or not any(array.size != 1 and not array.is_constant for _, array in pairs):
        return None
    sizes = {k: n for array, own in zip(known, labels, strict=True) for k, n in zip(own, array.shape, strict=True)}
    summed = sorted(sizes.keys() - set(out))
    found = np.empty([sizes[label] for label in out], dtype=object)
    for index in np.ndindex(found.shape):
        total = constant(0.0)
        for others in np.ndindex(*[sizes[label] for label in summed]):
            at = {**dict(zip(out, index, strict=True)), **dict(zip(summed, others, strict=True))}
            term = _product([array[tuple(at[k] for k in own)] for array, own in zip(known, labels, strict=True)])
            total = total if scalar_constant(term) == 0.0 else _sum(total, term)
        found[index] = total
    return multiplied(array_of(found), [factor for factors, _ in pairs for factor in factors])


def _multiple_of(node: Node) -> tuple[list[tuple[Node, float]], Node]:
    """Return the scalars that multiply and divide an array, and the array."""
    factors: list[tuple[Node, float]] = []
    while node.ndim and node.is_multiplicative:
        a, b = node.args
        if b.ndim == 0:
            factors.append((b, 1.0 if node.is_multiplication else -1.0))
            node = a
        elif a.ndim == 0 and node.is_multiplication:
            factors.append((a, 1.0))
            node = b
        else:
            break
    return factors, node


def _product(factors: Sequence[Node]) -> Node:
    """Multiply real numbers; 0 of a matrix is 0 whatever it is multiplied by."""
    if any(scalar_constant(factor) == 0.0 for factor in factors):
        return constant(0.0)
    return reduce(lambda a, b: make("multiply", a, b), factors)


def _sum(total: Node, term: Node) -> Node:
    return term if scalar_constant(total) == 0.0 else make("add", total, term)


def array_of(entries: npt.NDArray[np.object_]) -> Node:
    """Return the array of explicit entries."""
    if not entries.ndim:
        entry: Node = entries.item()
        return entry
    if not len(entries):
        return zeros(entries.shape)
    rows = [array_of(entries[k, ...]) for k in range(len(entries))]
    return settle(concatenate([reshape(row, (1, *row.shape)) for row in rows], 0))


def by_inverses(roots: Sequence[Node]) -> list[Node]:
    """Write adjugates, and their differentials, as determinants and inverses; cancel matrices beside inverses.

    Parameters
    ----------
    roots : sequence of Node

    Returns
    -------
    list of Node
        Equal where all matrices of which there was an adjugate have an inverse; elsewhere they raise.

    Examples
    --------
    >>> from symdiff.graph import input
    >>> A = input("A", (2, 2))
    >>> by_inverses([matrix("adjugate", A)])[0] is matrix("det", A) * matrix("inv", A)
    True
    """
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        made = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        if made.op == "adjugate":
            made = _times_determinant(made.args[0], matrix("inv", made.args[0]))
        elif made.op == "adjugate_differential":
            made = _differential(*made.args)
        elif made.is_contraction:
            made = without_inverses(made)
        new[node] = made
    return [new[root] for root in roots]


def _times_determinant(a: Node, x: Node) -> Node:
    det = matrix("det", a)
    return elementwise("multiply", (reshape(det, (*det.shape, 1, 1)) if det.shape else det, x))


def _differential(a: Node, da: Node) -> Node:
    """Return d(det(A) inv(A)) = det(A) (tr(inv(A) dA) inv(A) - inv(A) dA inv(A)); dA may have axes in front."""
    inverse = matrix("inv", a)
    rank = da.ndim
    front, (i, j, k, m) = tuple(range(rank - 2)), range(rank - 2, rank + 2)
    stack = front[rank - a.ndim :]
    first, last = (*stack, i, j), (*stack, k, m)
    along = einsum([inverse, da, inverse], [(*stack, j, i), (*front, i, j), last], (*front, k, m))
    across = einsum([inverse, da, inverse], [first, (*front, j, k), last], (*front, i, m))
    return _times_determinant(a, elementwise("subtract", (along, across)))


@rule("inv", "inv(2 A)", "inv(A) / 2", inside="multiply divide")
def _inverse_of_multiple(node: Node) -> Node | None:
    """Write a number in front of a matrix in front of its inverse."""
    scale, inside = without_numbers(node.args[0])
    if scale == 1.0 or inside.shape != node.shape or not isfinite(scale):
        return None
    return make("divide", matrix("inv", inside), constant(scale))


@rule("adjugate", "adjugate(S), S definite", "det(S) inv(S)")
def _adjugate_of_definite(node: Node) -> Node | None:
    (s,) = node.args
    return _times_determinant(s, matrix("inv", s)) if is_definite(s) else None


@rule("contract", "adjugate(A) / det(A)", "inv(A)", "derived", inside="adjugate")
def _adjugate_over_determinant(node: Node) -> Node | None:
    """Write the adjugate by the inverse where the determinant divides it: there is an inverse, or no value."""
    args, labels = list(node.args), node.payload.labels
    for i, adjugate in enumerate(node.args):
        det = matrix("det", adjugate.args[0]) if adjugate.op == "adjugate" else None
        for j, weight in enumerate(node.args):
            if det is not None and labels[j] == labels[i][:-2] and _divides(det, weight):
                args[i], args[j] = matrix("inv", adjugate.args[0]), settle(make("multiply", weight, det))
                return contract(args, labels, node.payload.out, dict(node.payload.repeated))
    return None


def _divides(det: Node, weight: Node) -> bool:
    return ((powers_of(weight, MOST_TERMS) or {}).get(det) or 0.0) < 0.0
