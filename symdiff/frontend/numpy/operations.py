"""Products, diagonals, matrices, choices, and elements at the positions of integer inputs.

Every function takes and returns nodes; axes, shapes and indices are plain Python values and follow NumPy's conventions
(negative axes, ``keepdims``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from ...errors import ArgumentError, DtypeError, ShapeError, UnsupportedError
from ...graph import (
    BOOL,
    INT,
    Node,
    broadcast_to,
    constant,
    contract,
    delta,
    matrix,
    pad,
    put,
    reshape,
    scatter,
    slicing,
    take,
    triangle,
    whole,
)
from ...graph import matmul as stack_matmul
from ...graph.scalars.functions import apply, compare, scalar_constant, to_real
from ...graph.sizes import Dim, fixed, hint_of, show
from . import reductions
from .indexing import getitem
from .shaping import arange, axis_of, members, parse_size, ravel, several, shown, whole_number

#: Functions of the library that integer inputs may go through: what moves elements alone.
MOVING = frozenset(
    ("reshape", "ravel", "transpose", "matrix_transpose", "swapaxes", "moveaxis", "expand_dims", "squeeze", "flip")
) | {"take", "take_at", "add_at", "one_hot"}


def take_at(x: Node, idx: Node, axis: Any = 0, shared: Any = 0) -> Node:
    """Take positions of an axis; along ``shared`` axes before it each place has positions of its own."""
    place, known = axis_of(x, axis), _shared(shared, idx)
    return take(x, _positions(idx, "take_at"), place, known)


def add_at(x: Node, idx: Node, n: Any, axis: Any = 0, shared: Any = 0) -> Node:
    """Add parts of an array into zeros of length ``n`` along an axis, at positions: the transpose of ``take_at``."""
    known = _shared(shared, idx)
    place, most = whole_number("axis", axis), x.ndim - idx.ndim + known
    if not known <= place <= most:
        raise ShapeError(
            f"axis {place} of add_at of shapes {show(x.shape)} and {show(idx.shape)}; expected {known} to {most}"
        )
    size = parse_size(n)
    given = None if idx.dtype is INT or known else numbers_in(idx)
    if given is None:
        return put(x, _positions(idx, "add_at"), place, size, known)
    places = _places(given, size)
    lead, trail = x.shape[:place], x.shape[place + idx.ndim :]
    if x.shape[place : place + idx.ndim] != idx.shape:
        raise ShapeError(f"positions of shape {show(idx.shape)} do not fit axis {place} of shape {show(x.shape)}")
    return scatter(to_real(reshape(x, (*lead, len(places), *trail))), place, places, size)


def _places(given: Any, size: Dim) -> tuple[int, ...]:
    """Return positions that are known numbers."""
    numbers = np.ravel(given)
    if not (numbers == np.floor(numbers)).all():
        raise DtypeError("add_at at numbers that are not whole; expected positions, or sd.indices('idx', n)")
    wrong = (numbers < 0) | (numbers >= (size if isinstance(size, int) else np.inf))
    if wrong.any():
        raise ShapeError(f"add_at at {numbers[wrong][0]:.0f} of an axis of length {size}; expected 0 or more, below it")
    return tuple(map(int, numbers))


def one_hot(x: Node, num_classes: Any) -> Node:
    """Return rows of zeros with a one at the position that each element of ``x`` is; rows of zeros beyond them.

    ``x`` is an integer input, or whole numbers. ``num_classes`` is the length of a row.
    """
    n = parse_size(num_classes)
    if x.dtype is INT:
        return take(delta(n, n), x, 0, 0)
    if not isinstance(n, int):
        raise ShapeError(f"one_hot of numbers with {n} classes; expected a whole number, or an integer input")
    column = reshape(x, (*x.shape, 1))
    return to_real(compare("equal", column, arange(n)))


def _positions(idx: Node, name: str) -> Node:
    if idx.dtype is not INT:
        raise DtypeError(f"{name} at positions that are no integer input; expected sd.indices('idx', n), or (int, n)")
    return idx


def _shared(shared: Any, idx: Node) -> int:
    known = whole_number("shared", shared)
    if not 0 <= known <= idx.ndim:
        raise ShapeError(f"shared={known} for positions of shape {show(idx.shape)}; expected 0 to {idx.ndim}")
    return known


# ---------------------------------------------------------------------------- products


def matmul(a: Node, b: Node) -> Node:
    """Multiply matrices as ``@`` does: vectors, matrices, stacks of matrices."""
    a, b = to_real(a), to_real(b)
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError(
            f"@ of shapes {show(a.shape)} and {show(b.shape)}; expected vectors or matrices, write * to scale"
        )
    if a.ndim == 1 and b.ndim == 1:
        return _inner(a, b, "@")
    if a.ndim == 1:
        _same(a, 0, b, b.ndim - 2, "@")
        own = tuple(range(b.ndim))
        return contract([a, b], [(own[-2],), own], (*own[:-2], own[-1]))
    if b.ndim == 1:
        _same(a, a.ndim - 1, b, 0, "@")
        own = tuple(range(a.ndim))
        return contract([a, b], [own, (own[-1],)], own[:-1])
    return stack_matmul(a, b)


def _same(a: Node, i: int, b: Node, j: int, what: str) -> None:
    if a.shape[i] != b.shape[j]:
        raise ShapeError(
            f"{what} of shapes {show(a.shape)} and {show(b.shape)}: size {a.shape[i]} against {b.shape[j]}; expected "
            "equal inner sizes (transpose one with .T, or use outer(v, w) for all products of two vectors)"
            f"{hint_of(a.shape[i], b.shape[j])}"
        )


def _inner(a: Node, b: Node, what: str) -> Node:
    _same(a, 0, b, 0, what)
    return contract([a, b], [(0,), (0,)], ())


def dot(a: Node, b: Node) -> Node:
    """Multiply as ``numpy.dot``: the last axis of ``a`` with the second-to-last of ``b``."""
    a, b = to_real(a), to_real(b)
    if a.ndim == 0 or b.ndim == 0:
        return apply("multiply", a, b)
    if b.ndim == 1 or (a.ndim <= 2 and b.ndim <= 2):
        return matmul(a, b)
    _same(a, a.ndim - 1, b, b.ndim - 2, "dot")
    la, lb = tuple(range(a.ndim)), tuple(range(a.ndim, a.ndim + b.ndim))
    return contract([a, b], [(*la[:-1], lb[-2]), lb], (*la[:-1], *lb[:-2], lb[-1]))


def inner(a: Node, b: Node) -> Node:
    """Multiply and sum over the last axes of both."""
    if a.ndim == 0 or b.ndim == 0:
        return apply("multiply", a, b)
    return tensordot(a, b, ([-1], [-1]))


def vdot(a: Node, b: Node) -> Node:
    """Multiply and sum over all elements of both."""
    return _inner(ravel(to_real(a)), ravel(to_real(b)), "vdot")


def outer(a: Node, b: Node) -> Node:
    """Return all products of the elements of two vectors (arrays are read in C order)."""
    return contract([to_real(ravel(a)), to_real(ravel(b))], [(0,), (1,)], (0, 1))


def tensordot(a: Node, b: Node, axes: Any = 2) -> Node:
    """Multiply and sum over the given axes of each."""
    if isinstance(axes, SupportsIndex):
        n = operator.index(axes)
        if not 0 <= n <= min(a.ndim, b.ndim):
            raise ShapeError(f"tensordot over {n} axes of shapes {show(a.shape)} and {show(b.shape)}")
        first, second = list(range(a.ndim - n, a.ndim)), list(range(n))
    else:
        pair = several(axes)
        if len(pair) != 2:
            raise ShapeError(f"tensordot with axes={shown(axes)}; expected a number, or axes of each array in a pair")
        first, second = ([axis_of(x, i) for i in several(own)] for x, own in zip((a, b), pair, strict=True))
    if len(first) != len(second):
        raise ShapeError(f"tensordot over {len(first)} axes of one array and {len(second)} of the other")
    for i, j in zip(first, second, strict=True):
        _same(a, i, b, j, "tensordot")
    lb = list(range(a.ndim, a.ndim + b.ndim))
    for i, j in zip(first, second, strict=True):
        lb[j] = i
    out = [i for i in range(a.ndim) if i not in first] + [lb[j] for j in range(b.ndim) if j not in second]
    return contract([to_real(a), to_real(b)], [tuple(range(a.ndim)), tuple(lb)], tuple(out))


def einsum(subscripts: str, *operands: Node) -> Node:
    """Multiply and sum by Einstein's notation, as ``numpy.einsum``; ``...`` stands for leading axes."""
    if not isinstance(subscripts, str):
        raise ArgumentError(f"einsum with a {type(subscripts).__name__} first; expected subscripts such as 'ij,jk->ik'")
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ArgumentError(f"einsum({subscripts!r}) names {len(terms)} operands; {len(operands)} came")
    if any(not c.isalpha() for term in [*terms, right] for c in term.replace("...", "", 1)):
        raise ArgumentError(f"einsum({subscripts!r}); expected letters, commas, '...' and one '->'")
    extra = max(
        [x.ndim - len(t.replace("...", "")) for t, x in zip(terms, operands, strict=True) if "..." in t], default=0
    )
    dots = list(range(-extra, 0))
    labels, nodes = [], []
    sizes: dict[int, Dim] = {}
    for term, x in zip(terms, operands, strict=True):
        named_axes = len(term.replace("...", ""))
        head, mark, tail = term.partition("...")
        if x.ndim < named_axes or (not mark and x.ndim != named_axes):
            told = f"{term!r} against an array of shape {show(x.shape)}; expected a letter for each axis"
            raise ShapeError(f"einsum({subscripts!r}): {told}")
        lead = dots[extra - (x.ndim - named_axes) :] if mark and x.ndim > named_axes else []
        own = [*(ord(c) for c in head), *lead, *(ord(c) for c in tail)]
        drop = [axis for axis, name in enumerate(own) if name < 0 and x.shape[axis] == 1]
        labels.append(tuple(name for axis, name in enumerate(own) if axis not in drop))
        nodes.append(slicing(to_real(x), tuple((0, 1, None) if a in drop else whole(n) for a, n in enumerate(x.shape))))
        for name, size in zip(own, x.shape, strict=True):
            if sizes.setdefault(name, size) == 1:
                sizes[name] = size
    used = [ord(c) for term in terms for c in term.replace("...", "")]
    if arrow:
        head, mark, tail = right.partition("...")
        out = [ord(c) for c in head] + (dots if mark else []) + [ord(c) for c in tail]
        for name in out:
            if name >= 0 and name not in used:
                raise ArgumentError(f"einsum({subscripts!r}): {chr(name)!r} is in the result and in no operand")
    else:
        out = dots + sorted(name for name in set(used) if used.count(name) == 1)
    return contract(nodes, labels, tuple(out), sizes)


def multi_dot(parts: Sequence[Node] | Node) -> Node:
    """Multiply several matrices; the first and last may be vectors."""
    parts = members("multi_dot", parts, "give a list")
    if len(parts) < 2:
        raise ArgumentError(f"multi_dot of {len(parts)} arrays; expected two or more")
    for part in parts:
        if not 1 <= part.ndim <= 2:
            raise ShapeError(f"multi_dot of an array of shape {show(part.shape)}; expected matrices or vectors")
    result = parts[0]
    for part in parts[1:]:
        result = matmul(result, part)
    return result


def polyval(coefficients: Node, x: Node) -> Node:
    """Evaluate a polynomial by Horner's rule, the highest power first."""
    if coefficients.ndim != 1 or not isinstance(coefficients.shape[0], int):
        shape = show(coefficients.shape)
        raise ShapeError(f"polyval with coefficients of shape {shape}; expected a vector of fixed size")
    known = numbers_in(coefficients)
    parts = [] if known is None else [constant(float(c)) for c in known]
    total: Node | None = None
    leading = True  # all coefficients so far are 0, and so is their polynomial wherever x is a number
    for i in range(coefficients.shape[0]):
        zero = known is not None and known[i] == 0.0
        if total is None:
            total = getitem(coefficients, 0) if known is None else parts[0]
        elif not (zero and leading and i > 1):
            total = apply("multiply", total, x)
            if not zero:
                total = apply("add", total, getitem(coefficients, i) if known is None else parts[i])
        leading = leading and zero
    if total is None:
        return broadcast_to(constant(0.0), x.shape)
    return total if total.shape == x.shape else broadcast_to(total, x.shape)


def numbers_in(x: Node) -> Any:
    """Return the numbers of a constant array, also of one number repeated; None for anything else."""
    if x.is_contraction and len(x.args) == 1 and not x.args[0].shape:
        only, sizes = scalar_constant(x.args[0]), fixed(x.shape)
        return None if only is None or sizes is None else np.full(sizes, only)
    return x.value if x.is_constant else None


def trace(x: Node, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    """Sum the diagonal over two axes, the first two by default."""
    return reductions.sum(diagonal(x, offset, axis1, axis2), -1)


def diagonal(x: Node, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    """Take the diagonal over two axes; it becomes the last axis."""
    if x.ndim < 2:
        raise ShapeError(f"the diagonal of an array of shape {show(x.shape)}; expected at least two axes")
    p, q, offset = axis_of(x, axis1), axis_of(x, axis2), operator.index(offset)
    rows, columns = x.shape[p], x.shape[q]
    down, right = (0, offset) if offset >= 0 else (-offset, 0)
    if rows == columns:
        length: Dim = rows - max(down, right)
    elif isinstance(rows, int) and isinstance(columns, int):
        length = max(0, min(rows - down, columns - right))
    else:
        raise UnsupportedError(f"the diagonal of a matrix of shape {show((rows, columns))}; slice it to a square first")
    items = [whole(n) for n in x.shape]
    items[p], items[q] = (down, 1, length), (right, 1, length)
    part = slicing(x, tuple(items))
    own = [p if a == q else a for a in range(x.ndim)]
    return contract([part], [tuple(own)], (*(a for a in range(x.ndim) if a not in (p, q)), p))


def diag(x: Node, k: int = 0) -> Node:
    """Return the diagonal of a matrix, or a matrix with a vector on its diagonal."""
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ShapeError(f"diag of an array of shape {show(x.shape)}; expected a vector or a matrix")
    n, k = x.shape[0], operator.index(k)
    square = contract([delta(n, n), to_real(x)], [(0, 1), (0,)], (0, 1))
    if k == 0:
        return square
    size, at = n + abs(k), (0, k) if k > 0 else (-k, 0)
    return pad(square, ((at[0], 1, n), (at[1], 1, n)), (size, size))


# ---------------------------------------------------------------------------- matrices


def _square(op: str) -> Callable[[Node], Node]:
    def call(x: Node) -> Node:
        return matrix(op, to_real(x))

    call.__name__, call.__doc__ = op, f"Return the {op} of a square matrix or a stack of them."
    return call


det, logdet, logabsdet = _square("det"), _square("logdet"), _square("logabsdet")
adjugate = _square("adjugate")


def solve(a: Node, b: Node) -> Node:
    """Return the x with a x = b, for a vector or a matrix of right-hand sides."""
    if b.ndim == 1:
        if a.ndim > 1 and a.shape[-2] != b.shape[0]:
            raise ShapeError(f"solve of shapes {show(a.shape)} and {show(b.shape)}; expected as many rows in both")
        return reshape(matrix("solve", to_real(a), reshape(to_real(b), (b.shape[0], 1))), (*a.shape[:-2], b.shape[0]))
    return matrix("solve", to_real(a), to_real(b))


def tril(x: Node, k: int = 0) -> Node:
    """Keep the lower triangle, up to diagonal ``k``."""
    return triangle(to_real(x), False, operator.index(k))


def triu(x: Node, k: int = 0) -> Node:
    """Keep the upper triangle, from diagonal ``k``."""
    return triangle(to_real(x), True, operator.index(k))


# ---------------------------------------------------------------------------- choices


def select(condlist: Sequence[Node], choicelist: Sequence[Node], default: Node | None = None) -> Node:
    """Choose element by element by the first condition that holds, as ``numpy.select``; else the default, 0.

    What is not chosen is not observed.
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ArgumentError(
            f"select of {len(condlist)} conditions and {len(choicelist)} choices; expected as many of both, and one at "
            "least"
        )
    for place, condition in enumerate(condlist):
        if condition.dtype is not BOOL:
            raise DtypeError(f"select's condition {place} is of real numbers; expected one such as x > 0")
    result = constant(0.0) if default is None else default
    if any(choice.dtype is not BOOL for choice in (*choicelist, result)):
        choicelist, result = [to_real(choice) for choice in choicelist], to_real(result)
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = reductions.choose(condition, choice, result)
    return result


def clip(x: Node, lower: Node | None = None, upper: Node | None = None) -> Node:
    """Limit elements to [lower, upper]."""
    if lower is not None:
        x = apply("maximum", x, lower)
    return x if upper is None else apply("minimum", x, upper)
