"""Facts about the numbers of any node: symmetric, triangular, definite, positive, ...

A fact follows from the form of a formula (``X @ X.T`` is symmetric) and from what is declared of its inputs. Each
function looks down a few operations and says yes only where a fact holds whatever the numbers are, for inputs that
are what was declared. A fact about a matrix is one about each matrix in the last two axes.

Positive numbers may be rounded to 0 (``exp(-800)``), and a nan is neither above nor below 0: a rewrite may rely on
neither. Orthogonality is no property of a linear space, so a formula that was rewritten by it has other derivatives:
:func:`is_orthogonal` is for rules of the kind *values* alone.

Functions of pairs are equal, or opposite, when two of their axes are exchanged. ``X[:, None, :] - X[None, :, :]`` is
the negative of itself with its first two axes exchanged, so the sum of its squares along the last one is a symmetric
matrix, and so is any function of that: of the distances between points, say.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from ..graph import REAL, Labels, Node, constant, elementwise
from ..graph.kinds import BRANCHING, CHOICE, WRAPPER, holds
from ..graph.primitives import Assumptions
from ..graph.scalars.arithmetic import SUMS, factors_of, peel, terms_of, without_numbers
from ..graph.scalars.functions import FUNCTIONS, Range, scalar_constant
from ..graph.sizes import fixed

__all__ = [
    "are_transposes",
    "bounds_of",
    "exchanged",
    "factors_along",
    "has_sign_of_argument",
    "hides_nan",
    "is_definite",
    "is_diagonal",
    "is_lower",
    "is_orthogonal",
    "is_positive",
    "is_real",
    "is_semidefinite",
    "is_skew",
    "is_surely_positive",
    "is_symmetric",
    "is_upper",
    "lacks",
    "sign_of",
    "transposed",
]


#: Operations of two arguments that may come in either order.
_EITHER = frozenset(("add", "multiply", "maximum", "minimum", "hypot", "logaddexp", "equal", "not_equal"))
_REDUCING = frozenset(("norm", "max", "min", "prod", "logsumexp"))


def exchanged(node: Node, i: int, j: int, depth: int) -> int:
    """Return 1 where an array is equal to itself with two axes exchanged, -1 where it is opposite, 0 for unknown.

    Parameters
    ----------
    node : Node
    i, j : int
        The axes, counted from the last one, which is -1: an array that lacks one is repeated along it.
    depth : int
        How many operations down to look.

    Examples
    --------
    >>> from symdiff.graph import input, reshape
    >>> x = input("x", (3,))
    >>> distance = reshape(x, (3, 1)) - x
    >>> exchanged(distance, -2, -1, 4), exchanged(distance * distance, -2, -1, 4), exchanged(x, -2, -1, 4)
    (-1, 1, 0)
    """
    node = peel(node)
    if not _has(node, i) and not _has(node, j):
        return 1
    if depth == 0 or node.ndim < 2:
        return 0
    if node.is_delta:
        return int(node.payload == (0, 1) and (i, j) == (-2, -1))
    if node.is_input:
        return int(node.assumptions.symmetric and (i, j) == (-2, -1))
    if node.is_contraction or node.op in _REDUCING:
        inside = _exchanged_inside(node, i, j, depth - 1)
        return inside if node.is_contraction else abs(inside) if node.op == "norm" else max(inside, 0)
    row = FUNCTIONS.get(node.op)
    if row is None:
        return 0
    n = scalar_constant(node.args[1]) if node.is_power else None
    if n is not None:
        inside = exchanged(node.args[0], i, j, depth - 1)
        return inside if n % 2.0 == 1.0 else abs(inside) if n % 2.0 == 0.0 else max(inside, 0)
    if node.op in _EITHER or node.is_subtraction:
        one, other = node.args
        if _are_mirrored(one, other, i, j, depth - 1):
            return -1 if node.is_subtraction else 1
    parts = [exchanged(arg, i, j, depth - 1) for arg in node.args]
    if 0 in parts:
        return 0
    if node.is_additive:
        return parts[0] if parts[0] == parts[1] else 0
    if node.is_multiplicative:
        return parts[0] * parts[1]
    if len(parts) == 1 and row.parity[0:1] in (("even",), ("odd",)):
        return 1 if row.parity[0] == "even" else parts[0]
    return 1 if min(parts) == 1 else 0


def _has(node: Node, axis: int) -> bool:
    return node.ndim >= -axis and node.shape[axis] != 1


def _exchanged_inside(node: Node, i: int, j: int, depth: int) -> int:
    """Return the same of a sum, or another reduction, along other axes."""
    if len(node.args) != 1 or node.ndim < max(-i, -j):
        return 0
    (arg,) = node.args
    if node.is_contraction:
        (own,), out, repeated = node.payload
        wanted = (out[i], out[j])
        if repeated or len({*own}) < len(own):
            return 0
        places = [own.index(label) for label in wanted]
        rest = [label for label in own if label in out and label not in wanted]
        if rest != [label for label in out if label not in wanted]:
            return 0
    else:
        kept = [axis for axis in range(arg.ndim) if axis - arg.ndim not in node.payload.axes]
        places = [kept[i], kept[j]]
    first, second = (place - arg.ndim for place in places)
    return exchanged(arg, first, second, depth)


def _are_mirrored(a: Node, b: Node, i: int, j: int, depth: int) -> bool:
    """Tell whether one of two arrays is the other with two axes exchanged."""
    a, b = peel(a), peel(b)
    (first, own), (second, other) = _placed(a), _placed(b)
    if first is second:
        turned = {i: j, j: i}
        return {turned.get(axis, axis): place for axis, place in own.items()} == other
    if depth == 0 or a.op != b.op or a.op not in FUNCTIONS or len(a.args) != len(b.args):
        return False
    return all(
        _are_mirrored(one, two, i, j, depth - 1) or (one is two and exchanged(one, i, j, depth - 1) == 1)
        for one, two in zip(a.args, b.args, strict=True)
    )


def _placed(node: Node) -> tuple[Node, dict[int, int]]:
    """Return an array without axes of size 1 that were put into it, and by axis of the result that of the array."""
    inside = node.args[0] if node.is_reshape else node
    places: dict[int, int] = {}
    k = 0
    for axis, size in enumerate(node.shape):
        if k < inside.ndim and size == inside.shape[k]:
            places[axis - node.ndim] = k
            k += 1
        elif size != 1:
            return node, {axis - node.ndim: axis for axis in range(node.ndim)}
    return (inside, places) if k == inside.ndim else (node, {axis - node.ndim: axis for axis in range(node.ndim)})


#: Depth of a look, most factors of it, and most summed labels that are tried in every order.
_DEPTH, _FACTORS, _SUMMED = 6, 8, 4
#: Depth to which functions of pairs are looked into.
_PAIRS = 12
#: Operations whose result is skew, triangular or orthogonal where their argument is.
_KEEPING = frozenset(("negative", "inv", "named"))


def _is_square(node: Node) -> bool:
    return node.ndim >= 2 and bool(node.shape[-1] == node.shape[-2])


def transposed(node: Node) -> Node | None:
    """Return A with node = Aᵀ, where the node turns the matrices in the last two axes over and does nothing else."""
    if not node.is_contraction or len(node.args) != 1 or node.payload.repeated:
        return None
    (own,), out = node.payload.labels, node.payload.out
    is_turned = len(own) >= 2 and len({*own}) == len(own) and (*own[:-2], own[-1], own[-2]) == tuple(out)
    return node.args[0] if is_turned else None


# ---------------------------------------------------------------------------- symmetric and skew


def is_symmetric(node: Node, depth: int = _DEPTH) -> bool:
    """Tell whether a matrix equals its transpose, by its form and as far as a short look goes.

    Parameters
    ----------
    node : Node
    depth : int
        How many operations down to look.

    Examples
    --------
    >>> from symdiff.graph import input, matmul, matrix, swap
    >>> X = input("X", (2, 3))
    >>> is_symmetric(matrix("inv", matmul(X, swap(X)))), is_symmetric(input("A", (2, 2)))
    (True, False)
    """
    if not _is_square(node) or depth == 0:
        return False
    op = node.op
    if node.is_input:
        return node.assumptions.symmetric
    if node.is_constant:
        return bool(np.array_equal(node.value, node.value.swapaxes(-1, -2)))
    if node.is_delta:
        return bool(node.payload == (0, 1))
    if op in ("inv", "adjugate", "named", "stop_gradient"):
        return is_symmetric(node.args[0], depth - 1)
    if op in SUMS and _is_even_sum(node, depth):
        return True
    if op in ("spectral", "isotropic"):  # of one direction, as symmetric as that; of several, one order is there
        directions = node.args[1 + node.payload.parameters :]
        return len(directions) < 2 and all(is_symmetric(e, depth - 1) for e in directions)
    if op in FUNCTIONS and all(_is_even(arg, node, depth - 1) for arg in node.args):
        return True
    if node.is_contraction and are_transposes(node, node, depth - 1):
        return True
    if node.is_concatenation or node.is_reshape:
        rows = fixed(node.shape)
        return rows is not None and rows[0] <= _ROWS and len(rows) == 2 and all(
            _entry(node, (i, j)) == _entry(node, (j, i)) for j in range(rows[0]) for i in range(j))
    return exchanged(node, -2, -1, _PAIRS) == 1


#: Rows of the largest matrix of joined entries that is looked at.
_ROWS = 8


def _entry(node: Node, index: tuple[int, ...]) -> tuple[Node, tuple[int, ...]]:
    """Return what an entry of joined arrays is an entry of, and where it stands there."""
    while node.is_reshape or node.is_concatenation:
        shape, inside = fixed(node.shape), [fixed(arg.shape) for arg in node.args]
        known = [one for one in inside if one is not None]
        if shape is None or len(known) < len(inside):
            break
        if node.is_reshape:
            flat = np.ravel_multi_index(index, shape)
            index = tuple(map(int, np.unravel_index(flat, known[0]))) if known[0] else ()
            (node,) = node.args
            continue
        axis = node.payload.axis % node.ndim
        place, part = index[axis], 0
        while place >= known[part][axis]:
            place, part = place - known[part][axis], part + 1
        index = (*index[:axis], place, *index[axis + 1 :])
        node = node.args[part]
    return (constant(node.value[index]), ()) if node.is_constant else (node, index)


def _is_even_sum(node: Node, depth: int) -> bool:
    """Tell whether the terms of a sum are symmetric, or come with their transposes."""
    terms, whole = terms_of(node, _FACTORS)
    rest = [(sign, term) for sign, term in terms if not _is_even(term, node, depth - 1)]
    while whole and rest:
        sign, term = rest.pop()
        pairs = (k for k, (c, other) in enumerate(rest) if c == sign and are_transposes(term, other, depth - 1))
        place = next(pairs, None)
        if term.shape != node.shape or place is None:
            return False
        del rest[place]
    return whole


def _is_even(arg: Node, whole: Node, depth: int) -> bool:
    """Tell whether an argument of an elementwise function changes nothing when the result is turned over."""
    if arg.ndim < 2:
        return arg.shape in ((), (1,))
    return arg.shape[-2:] == (1, 1) or is_symmetric(arg, depth)


def _is_transpose(a: Node, b: Node) -> bool:
    """Tell whether one of two matrices is the other, turned over."""
    return transposed(a) is b or transposed(b) is a


def are_transposes(a: Node, b: Node, depth: int = _DEPTH) -> bool:
    """Tell whether one of two products is the other, turned over in the last two axes, by their factors."""
    if a.shape[:-2] != b.shape[:-2] or a.shape[-2:] != b.shape[-2:][::-1]:
        return False
    if _is_transpose(a, b):
        return True
    rank = a.ndim
    own = factors_along(a, tuple(range(rank)))
    other = own if a is b else factors_along(b, tuple(range(rank)))
    if max(len(own), len(other)) > _FACTORS or len(own) != len(other):
        return False
    even = [is_symmetric(arg, depth) for arg, _ in own]
    summed = sorted({label for _, labels in own for label in labels if label >= rank})
    if len(summed) > _SUMMED:
        return False
    wanted = _renamed(other, even if a is b else [is_symmetric(arg, depth) for arg, _ in other], {})
    there = sorted({label for _, labels in other for label in labels if label >= rank})
    turned = {rank - 2: rank - 1, rank - 1: rank - 2}
    return len(summed) == len(there) and any(
        _renamed(own, even, {**turned, **dict(zip(summed, order, strict=True))}) == wanted
        for order in permutations(there)
    )


def factors_along(node: Node, out: Labels) -> list[tuple[Node, Labels]]:
    """Return the factors of a product of products along the labels ``out``, with further labels where they sum.

    Labels of the whole that no factor has stand for repetition.
    """
    factors = [(node, out)]
    fresh = len(out)
    for _ in range(2 * _FACTORS):
        place = next((i for i, (arg, own) in enumerate(factors) if _is_product_of(arg, own, arg is node)), None)
        if place is None:
            break
        arg, own = factors[place]
        scalar = None if arg.is_contraction else _scalar_of(arg)
        if scalar is not None:
            factors[place : place + 1] = [(scalar[0], ()), (scalar[1], own)]
            continue
        labels, inside, _ = arg.payload
        names = dict(zip(inside, own, strict=True))
        for label in sorted({label for row in labels for label in row} - {*inside}):
            names[label] = fresh
            fresh += 1
        inner = [(part, tuple(names[label] for label in row)) for part, row in zip(arg.args, labels, strict=True)]
        factors[place : place + 1] = inner
    return factors


def _is_product_of(node: Node, own: Labels, whole: bool) -> bool:
    if node.is_contraction:
        return whole or not node.payload.repeated
    return bool(own) and _scalar_of(node) is not None


def _scalar_of(node: Node) -> tuple[Node, Node] | None:
    """Return (c, A) with node = c A for a number c."""
    if not node.is_multiplication:
        return None
    a, b = node.args
    if a.ndim == 0 and b.shape == node.shape:
        return a, b
    return (b, a) if b.ndim == 0 and a.shape == node.shape else None


def _renamed(factors: Sequence[tuple[Node, Labels]], even: Sequence[bool], names: Mapping[int, int]) -> Counter[object]:
    """Return the factors under other labels; what stands along one label of an identity stands along both."""
    renamed = [(arg, tuple(names.get(label, label) for label in own)) for arg, own in factors]
    least = {max(own): min(own) for arg, own in renamed if arg.is_delta and arg.payload == (0, 1)}
    return Counter(
        (arg, (*own[:-2], *sorted(own[-2:])) if same else tuple(least.get(label, label) for label in own))
        for (arg, own), same in zip(renamed, even, strict=True)
    )


def is_skew(node: Node, depth: int = _DEPTH) -> bool:
    """Tell whether a matrix is the negative of its transpose."""
    if not _is_square(node) or depth == 0:
        return False
    op = node.op
    if node.is_input:
        return node.assumptions.skew
    if node.is_constant:
        return bool(np.array_equal(node.value, -node.value.swapaxes(-1, -2)))
    if node.is_subtraction and _is_transpose(*node.args):
        return True
    if node.is_additive:
        return all(arg.shape == node.shape and is_skew(arg, depth - 1) for arg in node.args)
    if op in _KEEPING:
        return is_skew(node.args[0], depth - 1)
    if node.is_multiplicative:
        a, b = node.args
        by_number = node.is_multiplication and a.ndim == 0
        return (b.ndim == 0 and is_skew(a, depth - 1)) or (by_number and is_skew(b, depth - 1))
    inside = transposed(node)
    return inside is not None and is_skew(inside, depth - 1)


# ---------------------------------------------------------------------------- triangular, diagonal and orthogonal


def is_lower(node: Node, depth: int = _DEPTH) -> bool:
    """Tell whether a matrix has zeros above its diagonal."""
    return _is_triangular(node, False, depth)


def is_upper(node: Node, depth: int = _DEPTH) -> bool:
    """Tell whether a matrix has zeros below its diagonal."""
    return _is_triangular(node, True, depth)


def is_diagonal(node: Node, depth: int = _DEPTH) -> bool:
    """Tell whether a matrix has zeros beside its diagonal."""
    return is_lower(node, depth) and is_upper(node, depth)


def _is_triangular(node: Node, upper: bool, depth: int) -> bool:
    if not _is_square(node) or depth == 0:
        return False
    op = node.op

    def inside(arg: Node) -> bool:
        return _is_triangular(arg, upper, depth - 1)

    if node.is_input:
        return node.assumptions.upper if upper else node.assumptions.lower
    if node.is_constant:
        return bool(np.array_equal(node.value, (np.triu if upper else np.tril)(node.value)))
    if node.is_delta:
        return bool(node.payload == (0, 1))
    if op == "cholesky":
        return not upper
    if op == "triangle":
        is_own = node.payload.upper == upper and (node.payload.offset >= 0 if upper else node.payload.offset <= 0)
        return is_own or inside(node.args[0])
    if op in _KEEPING:
        return inside(node.args[0])
    if node.is_additive:
        return all(arg.shape == node.shape and inside(arg) for arg in node.args)
    if node.is_multiplicative:  # by a number: what a matrix holds may be infinite where the other holds 0
        a, b = node.args
        return (b.ndim == 0 and inside(a)) or (node.is_multiplication and a.ndim == 0 and inside(b))
    turned = transposed(node)
    if turned is not None:
        return _is_triangular(turned, not upper, depth - 1)
    if node.is_contraction:
        return _is_kept_diagonal(node) or (_is_product(node) and all(inside(arg) for arg in node.args))
    return False


def _is_product(node: Node) -> bool:
    """Tell whether a contraction is the product of two matrices."""
    if len(node.args) != 2 or node.payload.repeated:
        return False
    (a, b), out = node.payload.labels, node.payload.out
    return len(a) == len(b) == len(out) == 2 and a[1] == b[0] and (a[0], b[1]) == tuple(out) and len({*a, *b}) == 3


def _is_kept_diagonal(node: Node) -> bool:
    """Tell whether a contraction has an identity along the last two axes of its result as a factor."""
    last = {*node.payload.out[-2:]}
    return len(last) == 2 and any(
        arg.is_delta and arg.payload == (0, 1) and {*own} == last
        for arg, own in zip(node.args, node.payload.labels, strict=True)
    )


def is_orthogonal(node: Node, depth: int = _DEPTH) -> bool:
    """Tell whether a matrix times its transpose is the identity; for rules of the kind *values* alone."""
    if not _is_square(node) or depth == 0:
        return False
    if node.is_input:
        return node.assumptions.orthogonal
    if node.is_delta:
        return bool(node.payload == (0, 1))
    if node.op in _KEEPING:
        return is_orthogonal(node.args[0], depth - 1)
    turned = transposed(node)
    if turned is not None:
        return is_orthogonal(turned, depth - 1)
    return node.is_contraction and _is_product(node) and all(is_orthogonal(arg, depth - 1) for arg in node.args)


# ---------------------------------------------------------------------------- definite and positive


def is_definite(node: Node, depth: int = _DEPTH) -> bool:
    """Tell whether a matrix is symmetric and positive definite: declared so, or composed of such matrices.

    A formula alone proves nothing: ``X @ X.T`` is singular for some X.
    """
    if not _is_square(node) or depth == 0:
        return False
    op = node.op
    if node.is_input:
        return node.assumptions.definite
    if node.is_delta:
        return bool(node.payload == (0, 1))
    if op in ("inv", "named"):
        return is_definite(node.args[0], depth - 1)
    if node.is_addition:
        return all(arg.shape == node.shape and is_definite(arg, depth - 1) for arg in node.args)
    if node.is_choice and node.args[0].ndim == 0:
        return all(arg.shape == node.shape and is_definite(arg, depth - 1) for arg in node.args[1:])
    if node.is_multiplicative:
        a, b = node.args
        return any(
            factor.ndim == 0 and is_definite(part, depth - 1) and is_positive(factor, depth - 1)
            for part, factor in ((a, b), (b, a))[: 2 if node.is_multiplication else 1]
        )
    turned = transposed(node)
    return turned is not None and is_definite(turned, depth - 1)


def is_semidefinite(node: Node, depth: int = _DEPTH) -> bool:
    """Tell whether a matrix is symmetric and has no eigenvalue below 0: a sum of definite ones, x xᵀ, c 1 1ᵀ, c >= 0.

    Examples
    --------
    >>> from symdiff.graph import delta, input, matmul, swap
    >>> X, A = input("X", (2, 3)), input("A", (2, 2))
    >>> is_semidefinite(matmul(X, swap(X)) + delta(2, 2)), is_semidefinite(A + delta(2, 2))
    (True, False)
    """
    if not _is_square(node) or depth == 0:
        return False
    if is_definite(node, depth):
        return True
    if node.is_constant:
        known = node.value
        small = known.ndim == 2 and len(known) <= _FACTORS and bool(np.isfinite(known).all())
        return small and np.array_equal(known, known.T) and _has_no_negative_pivot(known.tolist())
    scale, inner = without_numbers(peel(node))
    if inner is not node:
        return scale > 0.0 and is_semidefinite(inner, depth - 1)
    if node.is_addition:
        return all(arg.shape == node.shape and is_semidefinite(arg, depth - 1) for arg in node.args)
    own = (0, 1)
    factors = factors_along(node, own) if node.ndim == 2 else [(node, own)]
    numbers = [arg for arg, labels in factors if not {*labels}.intersection(own)]
    rest = [(arg, labels) for arg, labels in factors if {*labels}.intersection(own)]
    if not all(arg.ndim == 0 and sign_of(arg, depth - 1) > 0 for arg in numbers):
        return False
    if len(rest) == 1 and rest[0][0] is not node:
        return rest[0][1] == own and is_semidefinite(rest[0][0], depth - 1)
    if len(rest) == 2:
        (a, first), (b, second) = rest
        return a is b and first != second and tuple({0: 1, 1: 0}.get(label, label) for label in first) == tuple(second)
    return not rest and bool(numbers)


def _has_no_negative_pivot(rows: Sequence[Sequence[float]]) -> bool:
    """Tell whether a symmetric matrix of numbers is semidefinite, by elimination in fractions."""
    from fractions import Fraction  # not needed by most programs

    left = [[Fraction(value) for value in row] for row in rows]
    while left:
        (pivot, *row), *rest = left
        if pivot < 0 or (pivot == 0 and any(row)):
            return False
        left = [
            [value - (line[0] * first / pivot if pivot else 0) for value, first in zip(line[1:], row, strict=True)]
            for line in rest
        ]
    return True


def is_positive(node: Node, depth: int = _DEPTH) -> bool:
    """Tell whether every element is above 0, or was rounded to 0.

    Examples
    --------
    >>> from symdiff.graph import input
    >>> from symdiff.graph.primitives import Assumptions
    >>> s, x = input("s", (), assumptions=Assumptions(positive=True)), input("x")
    >>> is_positive(s / (1 + s * s)), is_positive(s - 1), is_positive(x * x)
    (True, False, False)
    """
    return _above(bounds_of(node, depth))


def sign_of(node: Node, depth: int = _DEPTH) -> int:
    """Return 1 where no element is below 0, -1 where none is above 0, and 0 where that is not known.

    Examples
    --------
    >>> from symdiff.graph import elementwise, input
    >>> x, y = input("x"), input("y")
    >>> sign_of(x * x + y * y), sign_of(elementwise("cos", (x,)) - 1), sign_of(elementwise("exp", (x,)) - 1 - x)
    (1, -1, 1)
    """
    found = bounds_of(node, depth)
    return 1 if found.low >= 0.0 else -1 if found.high <= 0.0 else 0


def has_sign_of_argument(node: Node) -> bool:
    """Tell whether a function of the table has the sign of its argument: it increases, and is 0 at 0."""
    row = FUNCTIONS.get(node.op)
    return row is not None and row.monotone == ("increasing",) and row.at_zero is not None and row.at_zero[0] == 0.0


# ---------------------------------------------------------------------------- what numbers lie between

_EVERYTHING = Range()
_ZERO = Range(0.0, 0.0, True, True)
#: Operations whose elements are elements of their arguments, and those whose elements are these or 0.
_MOVED = frozenset(("slice", "gather", "reshape", "concatenate", "named", "max", "min", "sort", "cummax", "cummin",
                    "take", "stop_gradient", "triangle", "pad"))  # fmt: skip
_PADDED = frozenset(("triangle", "pad"))
#: Operations on arrays by what their elements lie between, whatever those of their arguments are.
_OF_ARRAYS = {"norm": "[0, inf)", "softmax": "(0, 1)", "log_softmax": "(-inf, 0]", "unit": "[-1, 1]",
              "delta": "[0, 1]", "onehot": "[0, 1]"}  # fmt: skip
_ARRAY_BOUNDS = {op: Range.read(text) for op, text in _OF_ARRAYS.items()}


def bounds_of(node: Node, depth: int = _DEPTH) -> Range:
    """Return what the elements of a node lie between, wherever they are numbers.

    Functions of the table have the columns range, monotone and curvature for this; products of equal factors are
    squares, and a function that is convex lies above its tangent at 0.

    Parameters
    ----------
    node : Node
    depth : int
        How many operations down to look.
    """
    if node.dtype is not REAL:
        return _EVERYTHING
    op = node.op
    if node.is_input:
        known = node.assumptions
        return Range(*known.between) if known.between else Range(0.0) if known.positive else _EVERYTHING
    if node.is_constant:
        return _of_numbers(node.value)
    if node.is_size:
        return _of_size(node)
    if depth <= 0:
        return _by_table(node)
    if op in SUMS:
        return _of_sum(node, depth)
    if op in ("multiply", "divide"):
        return _of_factors(node, depth)
    if node.is_contraction:
        return _of_contraction(node, depth)
    if node.is_power:
        return _of_power(node, depth)
    if op in FUNCTIONS:
        return _of_function(node, depth)
    if op in _MOVED:
        found = [bounds_of(arg, depth - 1) for arg in node.args[:1] if op == "take"] or [
            bounds_of(arg, depth - 1) for arg in node.args
        ]
        return reduce(_either, found + [_ZERO] * (op in _PADDED))
    if op == "arrange":
        return bounds_of(node.args[0], depth - 1)
    if op == "prod" and not node.shape and _is_even_power(node.args[0]):
        return Range(0.0, has_low=True)
    if op in ("prod", "cumprod", "cumsum"):
        low = bounds_of(node.args[0], depth - 1)
        return Range(0.0, has_low=not _above(low)) if low.low >= 0.0 else _EVERYTHING
    if op == "det":
        return _of_determinant(node.args[0], depth)
    if op == "norm" and _above(bounds_of(node.args[0], depth - 1)):
        return Range(0.0)
    return _ARRAY_BOUNDS.get(op, _EVERYTHING)


def _is_even_power(x: Node) -> bool:
    """Tell whether an even number of elements are all the same, so that their product is never negative."""
    factors = factors_along(x, tuple(range(x.ndim)))
    same = all(not own or (arg.is_delta and len({*own}) == 1) for arg, own in factors)
    return same and all(isinstance(size, int) for size in x.shape) and math.prod(x.shape) % 2 == 0


def _of_size(node: Node) -> Range:
    """Return the bounds of a number made of sizes, each of which is never negative: n + 2, but also -n."""
    numbers = [c for _, c in node.payload.size.terms]
    below, above = all(c >= 0 for c in numbers), all(c <= 0 for c in numbers)
    return Range(0.0 if below else -math.inf, 0.0 if above else math.inf, below, above)


def _above(found: Range) -> bool:
    return found.low > 0.0 or (found.low == 0.0 and not found.has_low)


def _by_table(node: Node) -> Range:
    row = FUNCTIONS.get(node.op)
    return _ARRAY_BOUNDS.get(node.op, _EVERYTHING) if row is None else row.range


def _of_numbers(values: np.ndarray[Any, Any]) -> Range:
    if not values.size or np.isnan(values).any():
        return _EVERYTHING
    return Range(float(values.min()), float(values.max()), True, True)


def _either(a: Range, b: Range) -> Range:
    low, high = min(a.low, b.low), max(a.high, b.high)
    ends = [(one.low == low and one.has_low, one.high == high and one.has_high) for one in (a, b)]
    return Range(low, high, ends[0][0] or ends[1][0], ends[0][1] or ends[1][1])


def _both(a: Range, b: Range) -> Range:
    """Return the bounds of what lies between both."""
    low, high = max(a.low, b.low), min(a.high, b.high)
    return Range(
        low, high, all(one.has_low for one in (a, b) if one.low == low),
        all(one.has_high for one in (a, b) if one.high == high),
    )  # fmt: skip


def _plus(a: Range, b: Range) -> Range:
    low, high = a.low + b.low, a.high + b.high
    if math.isnan(low) or math.isnan(high):  # infinite numbers of both signs
        return _EVERYTHING
    return Range(low, high, a.has_low and b.has_low, a.has_high and b.has_high)


def _times(a: Range, c: float) -> Range:
    if not math.isfinite(c):
        return _EVERYTHING
    if c < 0:
        return Range(c * a.high, c * a.low, a.has_high, a.has_low)
    return Range(c * a.low, c * a.high, a.has_low, a.has_high) if c else _ZERO


def _product(a: Range, b: Range) -> Range:
    """Return the bounds of a product by the signs of its factors, and of shares by their sizes."""
    for one, other in ((a, b), (b, a)):
        if one.high <= 0.0 and one.low < 0.0:
            return _times(_product(_times(one, -1.0), other), -1.0)
    if a.low < 0.0 or b.low < 0.0:
        size = max(abs(a.low), abs(a.high)) * max(abs(b.low), abs(b.high))
        return Range(-size, size, True, True) if size < math.inf else _EVERYTHING
    low, high = (x * y if x and y else 0.0 for x, y in ((a.low, b.low), (a.high, b.high)))
    return Range(low, high, not (_above(a) and _above(b)) or low > 0.0, high < math.inf)


def _of_sum(node: Node, depth: int) -> Range:
    terms, whole = terms_of(node, _FACTORS, multiple=_multiple)
    if not whole:
        return _EVERYTHING
    rest: dict[Node, float] = {}
    for c, term in terms:
        rest[term] = rest.get(term, 0.0) + c
    total = _above_tangents(rest)
    for term, c in rest.items():
        total = _plus(total, _times(bounds_of(term, depth - 1), c))
    if total.low < 0.0 < total.high:
        for side in (1.0, -1.0):
            if _is_sum_of_squares([(side * c, term) for c, term in terms]):
                return _times(Range(0.0, has_low=True), side)
    return total


def _is_sum_of_squares(terms: Sequence[tuple[float, Node]]) -> bool:
    """Tell whether a sum is a polynomial of the second degree that is nowhere below 0, as x**2 - 2 x y + y**2."""
    entries: dict[tuple[object, object], float] = {}
    for c, term in terms:
        scale, inner = without_numbers(term)
        number = scalar_constant(inner)
        _, parts, whole = factors_of(inner, 2 * _FACTORS, powers=_FACTORS)
        powers: Counter[Node] = Counter()
        for base, n in parts:
            value = scalar_constant(base)
            if value is None:
                powers[base] += int(n)
            else:
                scale *= _raised(value, n)
        factors: list[object] = [*powers.items()]
        if number is not None:
            factors = [None, None]
        elif len(powers) == 1:
            ((base, n),) = powers.items()
            factors = [(base, n // 2)] * 2 if n % 2 == 0 else [(base, n), None]
        if not whole or len(factors) != 2 or min(powers.values(), default=1) < 1 or not math.isfinite(scale):
            return False
        a, b = factors
        for pair in ((a, b), (b, a)):
            entries[pair] = entries.get(pair, 0.0) + 0.5 * c * scale
    atoms = [*dict.fromkeys(a for a, _ in entries)]
    if len(atoms) > _FACTORS:
        return False
    return _has_no_negative_pivot([[entries.get((a, b), 0.0) for b in atoms] for a in atoms])


def _multiple(node: Node) -> tuple[float, Node] | None:
    """Return c and x for a node that is c times x of the same shape."""
    if node.is_multiplication:
        for c, x in (node.args, node.args[::-1]):
            value = scalar_constant(c)
            if value is not None and math.isfinite(value) and x.shape == node.shape:
                return value, x
    return None


class _Tangent(NamedTuple):
    """The tangent at 0 of a term c f(u): on which side the term is (1 above), the value, and the multiples of u."""

    side: float
    value: float
    slopes: Mapping[Node, float]


def _tangent_of(term: Node, c: float) -> _Tangent | None:
    """Return the tangent of c f(u) at u = 0, if f has a slope there and is convex or concave."""
    row = FUNCTIONS.get(term.op)
    if row is None or row.at_zero is None or row.arity != 1 or not row.at_zero[1] or not row.curvature or not c:
        return None
    value, slope = row.at_zero
    slopes: dict[Node, float] = {}
    parts, whole = terms_of(term.args[0], _FACTORS, multiple=_multiple)
    for times, base in parts:
        slopes[base] = slopes.get(base, 0.0) + times * c * slope
    side = math.copysign(1.0, c if row.curvature == "convex" else -c)
    return _Tangent(side, c * value, slopes) if whole else None


def _above_tangents(rest: dict[Node, float]) -> Range:
    """Take terms out of a sum whose tangents cancel with what is left: exp(x) - x is at least 1, exp(x) + exp(-x) 2."""
    found = {term: tangent for term, c in rest.items() if (tangent := _tangent_of(term, c)) is not None}
    total = _ZERO
    for side in (1.0, -1.0):
        own = {term: tangent for term, tangent in found.items() if tangent.side == side}
        for group in [[term] for term in own] + [[*own]] * (len(own) > 1):
            slopes: Counter[Node] = Counter()
            for term in group:
                slopes.update(own[term].slopes)
            if all(term in rest for term in group) and all(slopes[base] == -rest.get(base, 0.0) for base in slopes):
                for term in (*group, *slopes):
                    rest.pop(term, None)
                value = sum(own[term].value for term in group)
                total = _plus(total, Range(value, math.inf, True) if side > 0 else Range(-math.inf, value, False, True))
    return total


def _of_factors(node: Node, depth: int) -> Range:
    sign, parts, whole = factors_of(node, _FACTORS)
    if not whole:
        return _EVERYTHING
    powers: dict[Node, float] = {}
    for base, n in parts:
        powers[base] = powers.get(base, 0.0) + n
    found = Range(1.0, 1.0, True, True)
    for base, n in powers.items():
        found = _product(found, _power_of(bounds_of(base, depth - 1), n))
    if found.low < 0.0 < found.high:
        found = _both(found, _by_signs_alike(powers, depth))
    return _times(found, float(sign))


def _by_signs_alike(powers: Mapping[Node, float], depth: int) -> Range:
    """Return the bounds of a product by its factors that have the same sign, as x and tanh(x) have."""
    signs: dict[Node, float] = {}
    total = Range(1.0, 1.0, True, True)
    for base, n in powers.items():
        if not n.is_integer():
            return _EVERYTHING
        inner = base
        while has_sign_of_argument(inner):
            scale, inner = without_numbers(inner.args[0])
            total = _times(total, math.copysign(1.0, scale) if n % 2 else 1.0)
        signs[inner] = signs.get(inner, 0.0) + n
    for base, n in signs.items():
        sign = sign_of(base, depth - 1) if n % 2 else 1
        if not sign:
            return _EVERYTHING
        total = _times(total, float(sign))
    return Range(0.0, has_low=True) if total.low > 0.0 else Range(high=0.0, has_high=True)


def _of_power(node: Node, depth: int) -> Range:
    n = scalar_constant(node.args[1])
    base = bounds_of(node.args[0], depth - 1)
    if n is None:
        return Range(0.0) if _above(base) else _EVERYTHING
    return _power_of(base, n)


def _power_of(base: Range, n: float) -> Range:
    """Return the bounds of a power by a number; where the power is none the value is no number."""
    if math.isnan(n):
        return _EVERYTHING
    if n < 0.0:
        found = _power_of(base, -n)
        if found.low < 0.0:
            return _times(_power_of(_times(base, -1.0), n), -1.0) if found.high <= 0.0 and n % 2 else _EVERYTHING
        low = 1.0 / found.high if found.high and found.high < math.inf else 0.0
        high = 1.0 / found.low if found.low else math.inf
        return Range(low, high, low > 0.0, high < math.inf)
    if n % 2 == 1.0 and base.low < 0.0:
        if base.high <= 0.0:
            return _times(_power_of(_times(base, -1.0), n), -1.0)
        return Range(_raised(base.low, n), _raised(base.high, n), base.has_low, base.has_high)
    if base.low < 0.0:  # an even power, or one that is no number below 0
        size = max(-base.low, base.high) if n % 2 == 0.0 else base.high
        return Range(0.0, _raised(max(size, 0.0), n), base.high >= 0.0 or n == 0.0 or not base.has_high, True)
    return Range(_raised(base.low, n), _raised(base.high, n), base.has_low, base.has_high)


def _raised(x: float, n: float) -> float:
    try:
        return float(x**n)
    except (OverflowError, ZeroDivisionError):
        return math.copysign(math.inf, x)


def _of_contraction(node: Node, depth: int) -> Range:
    if _is_diagonal_of(node) and is_definite(node.args[0], depth - 1):
        return Range(0.0)
    out = tuple(range(node.ndim))
    factors = factors_along(node, out)
    pairs = Counter(factors)
    if _is_quadratic(factors, out, depth) or _is_mirrored(factors, out, depth):
        return Range(0.0, has_low=True)
    found = Range(1.0, 1.0, True, True)
    for (arg, own), times in pairs.items():
        whole = bounds_of(arg, depth - 1) if times % 2 or len({*own}) == len(own) else _EVERYTHING
        found = _product(found, _power_of(whole, float(times)))
    if {label for _, own in factors for label in own} <= {*out}:
        return found
    if found.low >= 0.0:  # a sum of them
        return Range(0.0, has_low=not _above(found))
    return Range(high=0.0, has_high=True) if found.high <= 0.0 else _EVERYTHING


def _is_quadratic(factors: Sequence[tuple[Node, Labels]], out: Labels, depth: int) -> bool:
    """Tell whether a contraction is x A x for a matrix A without eigenvalues below 0."""
    numbers = Counter(arg for arg, own in factors if not own)
    rest = [(arg, own) for arg, own in factors if own]
    if len(rest) != 3 or out or any(times % 2 and sign_of(arg, depth - 1) <= 0 for arg, times in numbers.items()):
        return False
    for i, (arg, own) in enumerate(rest):
        (a, x), (b, y) = [factor for k, factor in enumerate(rest) if k != i]
        if len(own) == 2 and a is b and {*x, *y} == {*own} and len(x) == len(y) == 1 and x != y:
            return is_semidefinite(arg, depth - 1)
    return False


def _is_mirrored(factors: Sequence[tuple[Node, Labels]], out: Labels, depth: int) -> bool:
    """Tell whether a contraction is a sum of squares: of x B.T B x, say, one half mirrors the other.

    An exchange of labels that sums run over maps the factors to each other. What hangs together by exchanged labels
    must be mapped to something else: ``trace(A @ A)`` may be below 0.
    """
    kinds = Counter(arg for arg, own in factors)
    inner = {label for _, own in factors for label in own} - {*out}
    if not inner or len(factors) > _FACTORS:
        return False
    present = Counter(factors)
    numbers = [arg for arg, own in factors if {*own} <= {*out}]
    first = next((factor for factor in factors if factor[0] not in numbers and kinds[factor[0]] % 2 == 0), None)
    if first is None:
        return False
    for other in factors:
        if other[0] is not first[0] or len(other[1]) != len(first[1]):
            continue
        swap = _exchange_of(factors, first, other, inner)
        if swap is None:
            continue
        mapped = Counter((arg, tuple(swap.get(label, label) for label in own)) for arg, own in factors)
        if mapped == present and _halves(factors, swap, depth):
            return True
    return False


def _exchange_of(
    factors: Sequence[tuple[Node, Labels]], first: tuple[Node, Labels], other: tuple[Node, Labels], inner: set[int]
) -> dict[int, int] | None:
    """Return the exchange of labels that maps one factor to another, and the rest as far as it follows from that."""
    swap: dict[int, int] = {}
    todo = [(first, other)]
    while todo:
        (_, own), (_, theirs) = todo.pop()
        for a, b in zip(own, theirs, strict=True):
            if swap.get(a, b) != b or swap.get(b, a) != a or (a != b and not {a, b} <= inner):
                return None
            if a in swap:
                continue
            swap[a], swap[b] = b, a
            if a == b:
                continue
            # what has one of the two is mapped to what has the other in the same place
            for part, labels in factors:
                if a in labels:
                    place = labels.index(a)
                    images = {other for other in factors if other[0] is part and other[1][place] == b}
                    if len(images) != 1:
                        return None
                    todo.append(((part, labels), images.pop()))
    return swap if any(a != b for a, b in swap.items()) else None


def _halves(factors: Sequence[tuple[Node, Labels]], swap: Mapping[int, int], depth: int) -> bool:
    """Tell whether what hangs together by exchanged labels is mapped to something else; the rest must be positive."""
    moved = {a for a, b in swap.items() if a != b}
    groups: list[set[int]] = []
    rest = Counter[tuple[Node, Labels]]()
    for arg, own in factors:
        labels = moved & {*own}
        if not labels:
            rest[arg, own] += 1
            continue
        touching = [group for group in groups if group & labels]
        groups = [group for group in groups if not group & labels] + [labels.union(*touching)]
    if any(group & {swap[label] for label in group} for group in groups):
        return False
    return all(times % 2 == 0 or bounds_of(arg, depth - 1).low >= 0.0 for (arg, _), times in rest.items())


def _of_determinant(matrix: Node, depth: int) -> Range:
    """Return the bounds of a determinant: above 0, or not below 0, or not below 1 for 1 + A."""
    if is_definite(matrix, depth - 1):
        return Range(0.0)
    terms, whole = terms_of(matrix, _FACTORS)
    if whole and matrix.ndim == 2 and all(sign > 0 and is_semidefinite(term, depth - 1) for sign, term in terms):
        return Range(1.0 if len(terms) > 1 and any(term.is_delta for _, term in terms) else 0.0, has_low=True)
    factors = factors_along(matrix, (0, 1)) if matrix.ndim == 2 else []
    rest = [(arg, own) for arg, own in factors if own]
    is_even = isinstance(matrix.shape[-1], int) and matrix.shape[-1] % 2 == 0
    if is_even and len(rest) == 1 and rest[0][0] is not matrix and rest[0][1] == (0, 1):
        return Range(0.0, has_low=True) if is_semidefinite(rest[0][0], depth - 1) else _EVERYTHING
    return _EVERYTHING


def _of_function(node: Node, depth: int) -> Range:
    row, args = FUNCTIONS[node.op], node.args
    if node.is_choice:
        return _either(*(bounds_of(arg, depth - 1) for arg in args[1:]))
    if node.op in ("maximum", "minimum"):
        a, b = (bounds_of(arg, depth - 1) for arg in args)
        most = max if node.op == "maximum" else min
        low, high = most(a.low, b.low), most(a.high, b.high)
        has_low = all(one.has_low for one in (a, b) if one.low == low)
        return Range(low, high, has_low if node.op == "maximum" else a.has_low or b.has_low, True)
    if node.op == "mod":
        return Range(0.0, has_low=True) if bounds_of(args[1], depth - 1).low >= 0.0 else row.range
    if node.op == "hypot":
        found = [bounds_of(arg, depth - 1) for arg in args]
        low = math.hypot(*(max(one.low, -one.high, 0.0) for one in found))
        return Range(low, has_low=low > 0.0 or not any(map(_above, found)))
    if node.op == "pseudo_huber_loss" and bounds_of(args[0], depth - 1).low >= 0.0:
        return Range(0.0, has_low=True)
    if node.op == "root_gap" and (added := bounds_of(args[1], depth - 1)).low >= 0.0:  # sqrt(b**2 + d) - b
        return Range(0.0, has_low=not _above(added))
    if node.op == "exp_share":
        return Range(0.0) if all(bounds_of(arg, depth - 1).low >= 0.0 for arg in args[:2]) else row.range
    if row.arity != 1 or not row.monotone[0]:
        return row.range
    return _both(row.range, _between_ends(node.op, row.monotone[0], bounds_of(args[0], depth - 1)))


def _between_ends(name: str, way: str, inside: Range) -> Range:
    """Return the bounds of a monotone function by its values at the ends of its argument's."""
    ends = [_value_at(name, end) if math.isfinite(end) else math.nan for end in inside[:2]]
    has = [one and way != "not decreasing" for one in inside[2:]] if way != "not decreasing" else [True, True]
    if way == "decreasing":
        ends, has = ends[::-1], has[::-1]
    low = -math.inf if math.isnan(ends[0]) else ends[0]
    high = math.inf if math.isnan(ends[1]) else ends[1]
    return Range(low, high, has[0], has[1])


@lru_cache(maxsize=1024)
def _value_at(name: str, x: float) -> float:
    from ..graph.reference.interpret import evaluate  # not needed by most programs
    from ..ground.budget import uncounted

    with uncounted(), np.errstate(all="ignore"):
        return float(evaluate([elementwise(name, (constant(x),))], {})[0])


#: Operations on arrays that have a value wherever their arguments have one.
_EVERYWHERE = frozenset(("concatenate", "contract", "gather", "named", "norm", "reshape", "slice", "unit"))


def is_real(node: Node, depth: int = _DEPTH) -> bool:
    """Tell whether every element has a value in real arithmetic, whatever the inputs are.

    Examples
    --------
    >>> from symdiff.graph import elementwise, input
    >>> x = input("x")
    >>> is_real(2 * x - 1), is_real(elementwise("log", (x,))), is_real(x / (1 + x))
    (True, False, False)
    """
    if node.is_constant:
        return node.dtype is not REAL or bool(np.isfinite(node.value).all())
    if node.is_input or node.is_size:
        return True
    if depth == 0:
        return False
    if node.is_power:
        n = scalar_constant(node.args[1])
        return n is not None and n >= 0.0 and n.is_integer() and is_real(node.args[0], depth - 1)
    if node.is_division:
        return bool(scalar_constant(node.args[1])) and is_real(node.args[0], depth - 1)
    row = FUNCTIONS.get(node.op)
    total = node.op in _EVERYWHERE if row is None else row.total
    return total and all(is_real(arg, depth - 1) for arg in node.args)


def is_surely_positive(node: Node) -> bool:
    """Tell whether every element is one of an input whose numbers are checked to be above 0 and finite, or its root."""
    while node.op in ("slice", "gather", "reshape", "named", "sqrt") or (node.is_contraction and len(node.args) == 1):
        if node.is_contraction and {*node.payload.labels[0]} - {*node.payload.out}:
            return False
        node = node.args[0]
    return node.is_input and node.assumptions.positive


def _is_diagonal_of(node: Node) -> bool:
    """Tell whether a contraction takes or sums the diagonal of one matrix."""
    if len(node.args) != 1 or node.ndim > 1:
        return False
    (own,) = node.payload.labels
    return len(own) == 2 and own[0] == own[1]


# ---------------------------------------------------------------------------- all of them


def hides_nan(node: Node) -> bool:
    """Tell whether a node may be a number where an argument is nan: choices, ``x**0``, Python functions."""
    if node.is_power and scalar_constant(node.args[1]):
        return False
    return not node.is_named and bool(holds(node.op) & (CHOICE | BRANCHING | WRAPPER))


def lacks(node: Node, wanted: Assumptions) -> bool:
    """Tell whether a node is not known to be what is wanted; of numbers, it is looked at those.

    Examples
    --------
    >>> from symdiff.graph import constant, input
    >>> wanted = Assumptions(symmetric=True)
    >>> lacks(input("A", (2, 2)), wanted), lacks(constant(np.eye(2)), wanted)
    (True, False)
    """
    return any(holds and not _KNOWN[name](node) for name, holds in wanted._asdict().items())


_KNOWN: dict[str, Callable[[Node], bool]] = {
    "symmetric": is_symmetric,
    "skew": is_skew,
    "diagonal": is_diagonal,
    "lower": is_lower,
    "upper": is_upper,
    "definite": is_definite,
    "orthogonal": is_orthogonal,
    "positive": is_positive,
    **dict.fromkeys(("between", "simplex", "ordered", "correlation"), lambda node: False),
}
