"""What is known of the numbers of any node: symmetric, triangular, definite, positive, ...

A fact follows from the form of a formula (``X @ X.T`` is symmetric) and from what is declared of its inputs. Each
function looks down a few operations and says yes only where a fact holds whatever the numbers are, for inputs that are
what was declared. A fact about a matrix is one about each matrix in the last two axes.

Positive numbers may be rounded to 0 (``exp(-800)``), and a nan is neither above nor below 0: a rewrite may rely on
neither. Orthogonality is no property of a linear space, so a formula that was rewritten by it has other derivatives:
:func:`is_orthogonal` is for rules of the kind *values* alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations

import numpy as np

from ..graph import REAL, Labels, Node
from ..graph.kinds import BRANCHING, CHOICE, WRAPPER, holds
from ..graph.primitives import Assumptions
from ..graph.scalars.arithmetic import SUMS, terms_of
from ..graph.scalars.functions import FUNCTIONS, scalar_constant

__all__ = [
    "are_transposes",
    "factors_along",
    "hides_nan",
    "is_definite",
    "is_diagonal",
    "is_lower",
    "is_not_negative",
    "is_orthogonal",
    "is_positive",
    "is_skew",
    "is_surely_positive",
    "is_symmetric",
    "is_upper",
    "lacks",
    "transposed",
]

#: How deep is looked, at how many factors, and how many summed labels are tried in every order.
_DEPTH, _FACTORS, _SUMMED = 6, 8, 4
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
    if op == "spectral":  # of one direction, as symmetric as that; of several, their orders are not all there
        directions = node.args[1 + node.payload.parameters :]
        return len(directions) < 2 and all(is_symmetric(e, depth - 1) for e in directions)
    if op in FUNCTIONS:
        return all(_is_even(arg, node, depth - 1) for arg in node.args)
    return node.is_contraction and are_transposes(node, node, depth - 1)


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


_ABOVE = frozenset(("exp", "cosh", "sech", "sigmoid", "softplus", "softmax"))
_MOVED = frozenset(("slice", "gather", "reshape", "concatenate", "named", "max", "min", "prod", "stop_gradient"))
_KEPT = frozenset(("add", "multiply", "divide", "sqrt", "hypot", "log1p", "expm1", "cumsum", "norm", "minimum"))


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
    op = node.op
    if node.is_input:
        return node.assumptions.positive
    if node.is_constant:
        return node.dtype is REAL and bool((node.value > 0).all())
    if op in _ABOVE:
        return True
    if depth == 0:
        return False
    if node.is_choice:
        return all(is_positive(arg, depth - 1) for arg in node.args[1:])
    if op == "maximum":
        return any(arg.shape == node.shape and is_positive(arg, depth - 1) for arg in node.args)
    if node.is_power:
        return is_positive(node.args[0], depth - 1)
    if op == "det":
        return is_definite(node.args[0], depth - 1)
    if node.is_contraction:
        if _is_diagonal_of(node) and is_definite(node.args[0], depth - 1):
            return True
        return all(is_positive(arg, depth - 1) for arg in node.args)
    return op in _MOVED | _KEPT and all(is_positive(arg, depth - 1) for arg in node.args)


def is_not_negative(node: Node, depth: int = _DEPTH) -> bool:
    """Tell whether no number of a node is below 0: magnitudes, even powers, and sums and products of such."""
    if node.is_constant:
        return node.dtype is REAL and bool((node.value >= 0).all())
    if depth == 0:
        return False
    if node.op in ("abs", "norm", "sqrt", "exp", "exp2", "hypot"):
        return True
    if node.is_power:
        n = scalar_constant(node.args[1])
        return (n is not None and n % 2.0 == 0.0) or is_not_negative(node.args[0], depth - 1)
    if node.is_contraction:
        times = Counter(zip(node.args, node.payload.labels, strict=True))
        return all(count % 2 == 0 or is_not_negative(factor, depth - 1) for (factor, _), count in times.items())
    if node.is_multiplication and node.args[0] is node.args[1]:
        return True
    if node.op in ("add", "multiply", "divide", "reshape", "slice", "concatenate", "named", "maximum"):
        return all(is_not_negative(arg, depth - 1) for arg in node.args) or is_positive(node)
    return is_positive(node)


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
}
