"""Arrays of a few numbers by their elements, which a book writes where products of small matrices are short so.

The metric ``J.T @ J`` of a sphere is ``[[r**2, 0], [0, r**2 * sin(q)**2]]``, which no rule of matrices tells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..graph import BOOL, REAL, Node, constant, inputs_of, label_sizes, postorder, reshape, slicing, zeros
from ..graph.deltas.affine import STRUCTURE
from ..graph.reference.interpret import evaluate
from ..graph.scalars.arithmetic import PRODUCTS, factors_of
from ..graph.scalars.functions import FUNCTIONS, scalar_constant
from ..graph.sizes import fixed
from ..rewrite.matrices.entries import array_of
from ..rewrite.rewriter import make, multiplied

__all__ = ["by_elements"]

#: Elements of the largest array that is looked at, and of all results together.
_LARGEST = 64
_ALL = 2000
#: Rows of the largest inverse that is written by cofactors.
_ROWS = 3

#: Most factors of a product that are multiplied one by one.
_FACTORS = 16

Elements: TypeAlias = npt.NDArray[Any]


def by_elements(root: Node, shortest: Callable[[Node], Node]) -> Node | None:
    """Return an array as a list of formulas, each simplified by itself.

    Parameters
    ----------
    root : Node
    shortest : callable
        Returns the form in which an element is shown.

    Returns
    -------
    Node or None
        None where an array is large, or an operation has no formula for each element.
    """
    known: dict[Node, Elements] = {}
    count = 0
    for node in postorder([root]):
        shape = fixed(node.shape)
        if shape is None or math.prod(shape) > _LARGEST:
            return None
        count += math.prod(shape)
        found = _elements(node, shape, known, shortest)
        if found is None or count > _ALL:
            return None
        known[node] = found
    shown = _shown(known[root], shortest)
    nothing = all(scalar_constant(one) == 0.0 for one in shown.flat)
    return zeros(root.shape) if nothing else array_of(shown)


def _shown(elements: Elements, shortest: Callable[[Node], Node]) -> Elements:
    return _filled(elements.shape, [shortest(one) for one in elements.flat])


def _filled(shape: tuple[int, ...], values: Sequence[Node]) -> Elements:
    found = np.empty(shape, dtype=object)
    for place, value in zip(np.ndindex(shape), values, strict=True):
        found[place] = value
    return found


def _elements(
    node: Node, shape: tuple[int, ...], known: Mapping[Node, Elements], shortest: Callable[[Node], Node]
) -> Elements | None:
    """Return the elements of a node, by those of its arguments."""
    args = [known[arg] for arg in node.args]
    if not inputs_of([node]) and (node.is_constant or node.op in STRUCTURE or node.dtype is BOOL):
        (value,) = evaluate([node], {})
        return _filled(shape, [constant(x) for x in np.ravel(value)])
    if node.is_input and node.dtype is REAL:
        places = [tuple((k, 1, 1) for k in index) for index in np.ndindex(shape)]
        return _filled(shape, [reshape(slicing(node, place), ()) if place else node for place in places])
    if node.op in FUNCTIONS:
        spread = [np.broadcast_to(arg, shape) for arg in args]
        rows = zip(*[arg.flat for arg in spread], strict=True)
        return _filled(shape, [_applied(node.op, list(row)) for row in rows])
    if node.is_contraction:
        return _summed(node, shape, args)
    if node.op == "prod":
        summed = [axis % args[0].ndim for axis in node.payload.axes]
        factors = np.moveaxis(args[0], summed, range(-len(summed), 0)).reshape(math.prod(shape), -1)
        return _filled(shape, [reduce(lambda a, b: _applied("multiply", [a, b]), row) for row in factors])
    if node.is_reshape:
        return args[0].reshape(shape)
    if node.is_concatenation:
        return np.concatenate(args, axis=node.payload.axis)
    if node.is_slice:
        steps = [(start, step, 1 if n is None else n) for start, step, n in node.payload.items]
        if all(isinstance(part, int) for item in steps for part in item):
            taken = np.ix_(*[start + step * np.arange(n) for start, step, n in steps])
            return args[0][taken].reshape(shape)
    if node.op in ("inv", "det") and node.args[0].shape[-1] in range(1, _ROWS + 1) and node.args[0].ndim == 2:
        matrix = _shown(args[0], shortest)
        return _inverse(matrix, shortest) if node.op == "inv" else _filled((), [_determinant(matrix)])
    return _filled((), [node]) if not shape else None


def _applied(op: str, args: Sequence[Node]) -> Node:
    """Apply a function; 0 of a matrix is 0 whatever it is multiplied by, as where it is multiplied whole."""
    nothing = [scalar_constant(arg) == 0.0 for arg in args]
    if op in PRODUCTS and (nothing[0] or (any(nothing) and op != "divide")):
        return constant(0.0)
    if op in ("add", "subtract") and scalar_constant(args[1]) == 0.0:
        return args[0]
    if op == "add" and scalar_constant(args[0]) == 0.0:
        return args[1]
    return make(op, *args)


def _summed(node: Node, shape: tuple[int, ...], args: Sequence[Elements]) -> Elements | None:
    labels, out, repeated = node.payload
    sizes = {**label_sizes(node), **dict(repeated)}
    summed = sorted({label for own in labels for label in own} - set(out))
    if not all(isinstance(sizes[label], int) for label in (*summed, *out)):
        return None
    totals = []
    for index in np.ndindex(shape):
        total = constant(0.0)
        for others in np.ndindex(*[int(sizes[label]) for label in summed]):
            at = {**dict(zip(out, index, strict=True)), **dict(zip(summed, others, strict=True))}
            total = _applied("add", [total, _product([arg[tuple(at[k] for k in own)] for arg, own in zip(
                args, labels, strict=True)])])  # fmt: skip
        totals.append(total)
    return _filled(shape, totals)


def _product(elements: Sequence[Node]) -> Node:
    """Multiply numbers factor by factor, so that like terms are seen: of ``r sin(q)`` the square is a product."""
    if len(elements) == 1 or any(scalar_constant(one) == 0.0 for one in elements):
        return elements[0] if len(elements) == 1 else constant(0.0)
    sign, powers = 1, dict[Node, float]()
    for one in elements:
        found = factors_of(one, _FACTORS)
        sign *= found.sign
        for base, power in found.parts:
            powers[base] = powers.get(base, 0.0) + power
    if any(power != int(power) for power in powers.values()):
        return reduce(lambda a, b: make("multiply", a, b), elements)
    return multiplied(constant(float(sign)), [*powers.items()])


def _determinant(matrix: Elements) -> Node:
    if len(matrix) == 1:
        (only,) = matrix.flat
        assert isinstance(only, Node)
        return only
    terms = [_applied("multiply", [matrix[0, k], _minor(matrix, 0, k)]) for k in range(len(matrix))]
    total = terms[0]
    for k, term in enumerate(terms[1:], 1):
        total = _applied("subtract" if k % 2 else "add", [total, term])
    return total


def _minor(matrix: Elements, row: int, column: int) -> Node:
    return _determinant(np.delete(np.delete(matrix, row, 0), column, 1))


def _inverse(matrix: Elements, shortest: Callable[[Node], Node]) -> Elements:
    n, whole = len(matrix), shortest(_determinant(matrix))
    if n == 1:
        return _filled((1, 1), [make("divide", constant(1.0), whole)])
    signed = [
        minor if (i + j) % 2 == 0 else _applied("subtract", [constant(0.0), minor])
        for i in range(n) for j in range(n) for minor in [_minor(matrix, j, i)]
    ]  # fmt: skip
    return _filled((n, n), [x if scalar_constant(x) == 0.0 else make("divide", x, whole) for x in signed])
