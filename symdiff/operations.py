"""Array operations with NumPy's meaning, built from the graph's few primitives.

Text, SymPy and symbols all come through here, so a formula means the same whichever door
it enters by. Every function takes and returns nodes; axes, shapes and indices are plain
Python values and follow NumPy's conventions (negative axes, ``keepdims``).
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

from .errors import ArgumentError, DtypeError, LimitError, ShapeError, UnsupportedError
from .functions import apply, compare, to_real, where
from .graph import (
    BOOL,
    REAL,
    Item,
    Node,
    as_node,
    broadcast_shapes,
    broadcast_to,
    concatenate,
    constant,
    contract,
    cumsum,
    delta,
    elementwise,
    extent,
    gather,
    matrix,
    normalize,
    pad,
    reduce,
    reshape,
    slicing,
    sum_axes,
    transpose,
    triangle,
    whole,
)
from .graph import matmul as stack_matmul
from .options import LIMITS
from .sizes import Dim, Shape, Size, divide, named, product, show

Axis: TypeAlias = int | Sequence[int] | None


def axis_of(x: Node, axis: SupportsIndex) -> int:
    """Return one axis counted from the front."""
    try:
        number = operator.index(axis)
    except TypeError:
        raise ArgumentError(f"axis={axis!r}; expected a whole number") from None
    if not -x.ndim <= number < x.ndim:
        raise ShapeError(f"axis {number} of an array of shape {show(x.shape)}; expected -{x.ndim} to {x.ndim - 1}")
    return number % x.ndim


def axes_of(x: Node, axis: Axis) -> tuple[int, ...]:
    """Return axes counted from the front, sorted; all of them for None."""
    if axis is None:
        return tuple(range(x.ndim))
    if isinstance(axis, Iterable):
        found = [axis_of(x, a) for a in axis]
        if len(set(found)) != len(found):
            raise ShapeError(f"axis={tuple(axis)} names an axis twice")
        return tuple(sorted(found))
    return (axis_of(x, axis),)


def _real(x: Node) -> Node:
    return to_real(x)


def _kept(x: Node, result: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    if not keepdims:
        return result
    return reshape(result, tuple(1 if a in axes else n for a, n in enumerate(x.shape)))


def parse_shape(shape: Any) -> Shape:
    """Return a shape given as a size or a sequence of sizes (whole numbers, names or Size)."""
    sizes = list(shape) if isinstance(shape, Iterable) and not isinstance(shape, str) else [shape]
    return tuple(parse_size(size) for size in sizes)


def parse_size(size: Any) -> Dim:
    """Return one size: a whole number not below 0, or a name known at call time."""
    if isinstance(size, Size):
        return size
    if isinstance(size, str):
        if not size.isidentifier() or len(size) > 64:
            raise ShapeError(f"the size {size[:40]!r} is not a name; expected letters, digits and _, e.g. 'n'")
        return named(size)
    if isinstance(size, bool) or not isinstance(size, SupportsIndex):
        raise ShapeError(f"the size {size!r} is neither a whole number nor a name")
    number = operator.index(size)
    if number < 0:
        raise ShapeError(f"the size {number} is negative; expected 0 or more")
    return number


# ---------------------------------------------------------------------------- sums and other reductions


def sum(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Sum over axes."""
    axes = axes_of(x, axis)
    return _kept(x, sum_axes(_real(x), axes), axes, keepdims)


def count(x: Node, axes: tuple[int, ...]) -> Node:
    """Return how many elements a reduction over ``axes`` takes together, as a number."""
    return extent(product(x.shape[a] for a in axes))


def mean(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Take the mean over axes."""
    return apply("divide", sum(x, axis, keepdims), count(x, axes_of(x, axis)))


def var(x: Node, axis: Axis = None, ddof: float = 0, keepdims: bool = False) -> Node:
    """Take the variance over axes, divided by the count less ``ddof``."""
    gap = apply("subtract", x, mean(x, axis, keepdims=True))
    total = sum(apply("power", gap, 2.0), axis, keepdims)
    n = count(x, axes_of(x, axis))
    return apply("divide", total, apply("subtract", n, float(ddof)) if ddof else n)


def std(x: Node, axis: Axis = None, ddof: float = 0, keepdims: bool = False) -> Node:
    """Take the standard deviation over axes."""
    return apply("sqrt", var(x, axis, ddof, keepdims))


def _reduction(op: str) -> Callable[..., Node]:
    def call(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
        axes = axes_of(x, axis)
        return _kept(x, reduce(op, _real(x), axes), axes, keepdims)

    call.__name__, call.__doc__ = op, f"Take the {op} over axes."
    return call


max, min, prod, logsumexp = _reduction("max"), _reduction("min"), _reduction("prod"), _reduction("logsumexp")


def any(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Tell whether a condition holds anywhere over axes."""
    return compare("not_equal", max(x if x.dtype is BOOL else compare("not_equal", x, 0.0), axis, keepdims), 0.0)


def all(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Tell whether a condition holds everywhere over axes."""
    return compare("not_equal", min(x if x.dtype is BOOL else compare("not_equal", x, 0.0), axis, keepdims), 0.0)


def norm(x: Node, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Node:
    """Take a norm: Frobenius (Euclid for a vector) by default, 1 and inf of a vector too."""
    if ord in (None, "fro", 2, 2.0):
        if ord is None or (ord == "fro" and (x.ndim == 2 or axis is not None)):
            return _reduction("norm")(x, axis, keepdims)
    axes = axes_of(x, axis)
    if len(axes) == 1:
        if ord in (2, 2.0):
            return _reduction("norm")(x, axis, keepdims)
        if ord in (1, 1.0):
            return sum(apply("abs", x), axis, keepdims)
        if ord == float("inf"):
            return max(apply("abs", x), axis, keepdims)
        if ord == float("-inf"):
            return min(apply("abs", x), axis, keepdims)
    raise UnsupportedError(
        f"norm with ord={ord!r} over {len(axes)} axes; known: Frobenius for any number of axes (ord=None), 1, 2 and "
        "inf over one axis"
    )


def softmax(x: Node, axis: Axis = -1) -> Node:
    """Exponentials that sum to 1 over an axis (the last one), shifted so as not to overflow."""
    return _over("softmax", x, axis)


def log_softmax(x: Node, axis: Axis = -1) -> Node:
    """Logarithm of the softmax over an axis (the last one)."""
    return _over("log_softmax", x, axis)


def unit(x: Node, axis: Axis = None) -> Node:
    """Divide by the norm over all elements, or over axes; 0 where that is 0."""
    return _over("unit", x, axis)


def _over(op: str, x: Node, axis: Axis) -> Node:
    if x.ndim == 0:
        raise ShapeError(f"{op} of a scalar; expected an array with at least one axis")
    return normalize(op, _real(x), axes_of(x, axis))


def cumulative_sum(x: Node, axis: int | None = None) -> Node:
    """Sum cumulatively along an axis, or over all elements in C order."""
    if axis is None:
        x = ravel(x)
        axis = 0
    return cumsum(_real(x), axis_of(x, axis))


# ---------------------------------------------------------------------------- products


def matmul(a: Node, b: Node) -> Node:
    """Multiply matrices as ``@`` does: vectors, matrices, stacks of matrices."""
    a, b = _real(a), _real(b)
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
        )


def _inner(a: Node, b: Node, what: str) -> Node:
    _same(a, 0, b, 0, what)
    return contract([a, b], [(0,), (0,)], ())


def dot(a: Node, b: Node) -> Node:
    """Multiply as ``numpy.dot``: the last axis of ``a`` with the second-to-last of ``b``."""
    a, b = _real(a), _real(b)
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
    return _inner(ravel(_real(a)), ravel(_real(b)), "vdot")


def outer(a: Node, b: Node) -> Node:
    """Return all products of the elements of two vectors (arrays are read in C order)."""
    return contract([_real(ravel(a)), _real(ravel(b))], [(0,), (1,)], (0, 1))


def tensordot(a: Node, b: Node, axes: Any = 2) -> Node:
    """Multiply and sum over the given axes of each."""
    if isinstance(axes, SupportsIndex):
        n = operator.index(axes)
        if not 0 <= n <= builtins.min(a.ndim, b.ndim):
            raise ShapeError(f"tensordot over {n} axes of shapes {show(a.shape)} and {show(b.shape)}")
        first, second = list(range(a.ndim - n, a.ndim)), list(range(n))
    else:
        first, second = ([axis_of(x, i) for i in ([own] if isinstance(own, int) else own)]
                         for x, own in zip((a, b), axes, strict=True))
    if len(first) != len(second):
        raise ShapeError(f"tensordot over {len(first)} axes of one array and {len(second)} of the other")
    for i, j in zip(first, second, strict=True):
        _same(a, i, b, j, "tensordot")
    lb = list(range(a.ndim, a.ndim + b.ndim))
    for i, j in zip(first, second, strict=True):
        lb[j] = i
    out = [i for i in range(a.ndim) if i not in first] + [lb[j] for j in range(b.ndim) if j not in second]
    return contract([_real(a), _real(b)], [tuple(range(a.ndim)), tuple(lb)], tuple(out))


def einsum(subscripts: str, *operands: Node) -> Node:
    """Multiply and sum by Einstein's notation, as ``numpy.einsum``; ``...`` stands for leading axes."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ArgumentError(f"einsum({subscripts!r}) names {len(terms)} operands; {len(operands)} came")
    if builtins.any(not c.isalpha() for term in [*terms, right] for c in term.replace("...", "", 1)):
        raise ArgumentError(f"einsum({subscripts!r}); expected letters, commas, '...' and one '->'")
    extra = builtins.max([x.ndim - len(t.replace("...", "")) for t, x in zip(terms, operands, strict=True) if "..." in t] or [0])
    dots = list(range(-extra, 0))
    labels, nodes = [], []
    sizes: dict[int, Dim] = {}
    for term, x in zip(terms, operands, strict=True):
        named_axes = len(term.replace("...", ""))
        head, mark, tail = term.partition("...")
        if x.ndim < named_axes or (not mark and x.ndim != named_axes):
            raise ShapeError(f"einsum({subscripts!r}): {term!r} against an array of shape {show(x.shape)}")
        own = [ord(c) for c in head] + (dots[extra - (x.ndim - named_axes):] if mark and x.ndim > named_axes else []) + [ord(c) for c in tail]
        drop = [axis for axis, name in enumerate(own) if name < 0 and x.shape[axis] == 1]
        labels.append(tuple(name for axis, name in enumerate(own) if axis not in drop))
        nodes.append(slicing(_real(x), tuple((0, 1, None) if a in drop else whole(n) for a, n in enumerate(x.shape))))
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


def kron(a: Node, b: Node) -> Node:
    """Return the Kronecker product of two matrices or two vectors."""
    if a.ndim != b.ndim or a.ndim > 2:
        raise ShapeError(f"kron of shapes {show(a.shape)} and {show(b.shape)}; expected two vectors or two matrices")
    n = a.ndim
    whole_product = contract([a, b], [tuple(range(0, 2 * n, 2)), tuple(range(1, 2 * n, 2))], tuple(range(2 * n)))
    return reshape(whole_product, tuple(p * q for p, q in zip(a.shape, b.shape, strict=True)))


def cross(a: Node, b: Node) -> Node:
    """Return the cross product of vectors with three elements (along the last axis)."""
    if not a.ndim or not b.ndim or a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ShapeError(f"cross of shapes {show(a.shape)} and {show(b.shape)}; expected 3 elements on the last axis")

    def turn(x: Node, first: int) -> Node:
        return gather(x, x.ndim - 1, (first, (first + 1) % 3, (first + 2) % 3))

    return apply("subtract", apply("multiply", turn(a, 1), turn(b, 2)), apply("multiply", turn(a, 2), turn(b, 1)))


def trace(x: Node, offset: int = 0) -> Node:
    """Sum the diagonal of the first two axes."""
    return sum(diagonal(x, offset), -1)


def diagonal(x: Node, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    """Take the diagonal over two axes; it becomes the last axis."""
    if x.ndim < 2:
        raise ShapeError(f"the diagonal of an array of shape {show(x.shape)}; expected at least two axes")
    p, q = axis_of(x, axis1), axis_of(x, axis2)
    rows, columns = x.shape[p], x.shape[q]
    down, right = (0, offset) if offset >= 0 else (-offset, 0)
    if rows == columns:
        length: Dim = rows - builtins.max(down, right)
    elif isinstance(rows, int) and isinstance(columns, int):
        length = builtins.max(0, builtins.min(rows - down, columns - right))
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
    n = x.shape[0]
    square = contract([delta(n, n), _real(x)], [(0, 1), (0,)], (0, 1))
    if k == 0:
        return square
    size, at = n + abs(k), (0, k) if k > 0 else (-k, 0)
    return pad(square, ((at[0], 1, n), (at[1], 1, n)), (size, size))


# ---------------------------------------------------------------------------- matrices


def _square(op: str) -> Callable[[Node], Node]:
    def call(x: Node) -> Node:
        return matrix(op, _real(x))

    call.__name__, call.__doc__ = op, f"Return the {op} of a square matrix or a stack of them."
    return call


det, logdet, logabsdet, inv = _square("det"), _square("logdet"), _square("logabsdet"), _square("inv")
adjugate, cholesky = _square("adjugate"), _square("cholesky")


def slogdet(x: Node) -> tuple[Node, Node]:
    """Return the sign of the determinant and the logarithm of its magnitude."""
    return apply("sign", det(x)), logabsdet(x)


def solve(a: Node, b: Node) -> Node:
    """Return the x with a x = b, for a vector or a matrix of right-hand sides."""
    if b.ndim == 1:
        return reshape(matrix("solve", _real(a), reshape(_real(b), (b.shape[0], 1))), (*a.shape[:-2], b.shape[0]))
    return matrix("solve", _real(a), _real(b))


def matrix_power(x: Node, n: int) -> Node:
    """Multiply a square matrix by itself; negative powers use the inverse."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"matrix_power of an array of shape {show(x.shape)}; expected a square matrix")
    if abs(n) > 10_000:
        raise LimitError(f"matrix_power with exponent {n}; the limit is 10000")
    if n < 0:
        return matrix_power(inv(x), -n)
    if n == 0:
        return broadcast_to(delta(x.shape[-1], x.shape[-1]), x.shape)
    result: Node | None = None
    while n:
        if n & 1:
            result = x if result is None else stack_matmul(result, x)
        n >>= 1
        x = stack_matmul(x, x) if n else x
    assert result is not None
    return result


def tril(x: Node, k: int = 0) -> Node:
    """Keep the lower triangle, up to diagonal ``k``."""
    return triangle(_real(x), False, operator.index(k))


def triu(x: Node, k: int = 0) -> Node:
    """Keep the upper triangle, from diagonal ``k``."""
    return triangle(_real(x), True, operator.index(k))


# ---------------------------------------------------------------------------- shapes


def ravel(x: Node) -> Node:
    """Return the elements in C order as a vector."""
    return reshape(x, (x.size,))


def reshape_to(x: Node, shape: Any) -> Node:
    """Reshape; one size may be -1 and follows from the others."""
    asked = list(shape) if isinstance(shape, Iterable) and not isinstance(shape, str) else [shape]
    unknown = [i for i, n in enumerate(asked) if isinstance(n, int) and n == -1]
    if len(unknown) > 1:
        raise ShapeError(f"reshape to {tuple(asked)}: only one size may be -1")
    known = [parse_size(n) for i, n in enumerate(asked) if i not in unknown]
    if unknown:
        rest = divide(x.size, product(known))
        if rest is None:
            raise ShapeError(f"cannot reshape {show(x.shape)} to {tuple(asked)}: the sizes do not divide")
        known.insert(unknown[0], rest)
    return reshape(x, tuple(known))


def permute(x: Node, axes: Sequence[int] | None = None) -> Node:
    """Permute the axes; reverse them by default."""
    if axes is None:
        return transpose(x)
    order = [axis_of(x, a) for a in axes]
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(f"transpose with axes={tuple(axes)} of an array with {x.ndim} axes; expected each axis once")
    return transpose(x, order)


def swapaxes(x: Node, axis1: int, axis2: int) -> Node:
    """Exchange two axes."""
    order = list(range(x.ndim))
    p, q = axis_of(x, axis1), axis_of(x, axis2)
    order[p], order[q] = order[q], order[p]
    return transpose(x, order)


def moveaxis(x: Node, source: Any, destination: Any) -> Node:
    """Move axes to other places, the rest keeping their order."""
    src = [axis_of(x, a) for a in ([source] if isinstance(source, int) else source)]
    dst = [axis_of(x, a) for a in ([destination] if isinstance(destination, int) else destination)]
    if len(src) != len(dst):
        raise ShapeError(f"moveaxis of {len(src)} axes to {len(dst)} places")
    order = [a for a in range(x.ndim) if a not in src]
    for place, axis in sorted(zip(dst, src, strict=True)):
        order.insert(place, axis)
    return transpose(x, order)


def expand_dims(x: Node, axis: Axis) -> Node:
    """Add axes of size 1."""
    places = [operator.index(p) for p in (axis if isinstance(axis, Iterable) else [axis])]
    rank = x.ndim + len(places)
    at = {p % rank for p in places if -rank <= p < rank}
    if len(at) != len(places):
        raise ShapeError(f"expand_dims at {axis} of an array with {x.ndim} axes; expected different axes within {rank}")
    rest = iter(x.shape)
    return reshape(x, tuple(1 if a in at else next(rest) for a in range(rank)))


def squeeze(x: Node, axis: Axis = None) -> Node:
    """Drop axes of size 1."""
    gone = axes_of(x, axis) if axis is not None else tuple(a for a, n in enumerate(x.shape) if n == 1)
    for a in gone:
        if x.shape[a] != 1:
            raise ShapeError(f"squeeze of axis {a} with size {x.shape[a]}; expected size 1")
    return reshape(x, tuple(n for a, n in enumerate(x.shape) if a not in gone))


def join(parts: Sequence[Node], axis: int | None = 0) -> Node:
    """Concatenate along an axis (flattened for None)."""
    if not parts:
        raise ArgumentError("concatenate of no arrays; expected at least one")
    if axis is None:
        return join([ravel(p) for p in parts])
    if parts[0].ndim == 0:
        raise ShapeError("concatenate of scalars; use stack to make a vector of them")
    if builtins.any(p.dtype is REAL for p in parts):
        parts = [to_real(p) for p in parts]
    return concatenate(parts, axis_of(parts[0], axis))


def stack(parts: Sequence[Node], axis: int = 0) -> Node:
    """Join arrays of one shape along a new axis."""
    if not parts:
        raise ArgumentError("stack of no arrays; expected at least one")
    for part in parts:
        if part.shape != parts[0].shape:
            raise ShapeError(f"stack of shapes {show(parts[0].shape)} and {show(part.shape)}; expected equal shapes")
    return join([expand_dims(p, axis) for p in parts], axis)


def hstack(parts: Sequence[Node]) -> Node:
    """Join along the second axis, or the first of vectors."""
    wide = [ravel(p) if p.ndim == 0 else p for p in parts]
    return join(wide, 0 if wide and wide[0].ndim == 1 else 1)


def vstack(parts: Sequence[Node]) -> Node:
    """Join along the first axis, vectors becoming rows."""
    return join([reshape(p, (1, *(p.shape or (1,)))) if p.ndim < 2 else p for p in parts], 0)


def column_stack(parts: Sequence[Node]) -> Node:
    """Join along the second axis, vectors becoming columns."""
    return join([reshape(p, (p.size, 1)) if p.ndim < 2 else p for p in parts], 1)


def block(rows: Any) -> Node:
    """Join a nested list of arrays, the innermost along the last axis."""
    if not isinstance(rows, list):
        return as_node(rows)
    depth, probe = 0, rows
    while isinstance(probe, list):
        if not probe:
            raise ArgumentError("block of an empty list")
        depth, probe = depth + 1, probe[0]

    def build(part: Any, level: int) -> Node:
        if not isinstance(part, list):
            node = as_node(part)
            return reshape(node, (*([1] * (depth - node.ndim)), *node.shape)) if node.ndim < depth else node
        return join([build(p, level + 1) for p in part], level - depth)

    return build(rows, 0)


def take(x: Node, indices: Any, axis: int | None = None) -> Node:
    """Take positions along an axis (of the flattened array for None)."""
    if axis is None:
        return take(ravel(x), indices, 0)
    at = axis_of(x, axis)
    return _gather_array(x, at, np.asarray(indices))


def flip(x: Node, axis: Axis = None) -> Node:
    """Reverse the order along axes."""
    for a in axes_of(x, axis):
        size = x.shape[a]
        x = slicing(x, tuple((size - 1, -1, size) if b == a else whole(n) for b, n in enumerate(x.shape)))
    return x


def roll(x: Node, shift: int, axis: int | None = None) -> Node:
    """Shift elements along an axis, the last ones coming back first."""
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    at = axis_of(x, axis)
    size = x.shape[at]
    if not isinstance(size, int):
        raise UnsupportedError(f"roll along an axis of symbolic size {size}; expected a fixed size")
    k = operator.index(shift) % size if size else 0
    return join([getitem(x, (*[slice(None)] * at, slice(size - k, None))), getitem(x, (*[slice(None)] * at, slice(0, size - k)))], at) if k else x


def repeat(x: Node, repeats: int, axis: int | None = None) -> Node:
    """Repeat each element along an axis."""
    if axis is None:
        return repeat(ravel(x), repeats, 0)
    at = axis_of(x, axis)
    n = operator.index(repeats)
    wide = broadcast_to(reshape(x, (*x.shape[: at + 1], 1, *x.shape[at + 1 :])), (*x.shape[: at + 1], n, *x.shape[at + 1 :]))
    return reshape(wide, (*x.shape[:at], x.shape[at] * n, *x.shape[at + 1 :]))


def tile(x: Node, reps: Any) -> Node:
    """Repeat the whole array along each axis."""
    counts = [operator.index(r) for r in (reps if isinstance(reps, Iterable) else [reps])]
    rank = builtins.max(x.ndim, len(counts))
    counts = [1] * (rank - len(counts)) + counts
    shape = (1,) * (rank - x.ndim) + x.shape
    x = reshape(x, tuple(m for n in shape for m in (1, n)))
    x = broadcast_to(x, tuple(m for r, n in zip(counts, shape, strict=True) for m in (r, n)))
    return reshape(x, tuple(r * n for r, n in zip(counts, shape, strict=True)))


def diff(x: Node, n: int = 1, axis: int = -1) -> Node:
    """Return differences of neighbours along an axis."""
    at = axis_of(x, axis)
    head = (slice(None),) * at
    times = operator.index(n)
    if times < 0:
        raise ArgumentError(f"diff of order {times}; expected 0 or more")
    size = x.shape[at]
    if times > 100 and not (isinstance(size, int) and size <= 100):
        raise LimitError("diff of an order over 100, which is the limit")
    for _ in range(builtins.min(times, 100)):
        x = apply("subtract", getitem(x, (*head, slice(1, None))), getitem(x, (*head, slice(None, -1))))
    return x


def full(shape: Any, value: float) -> Node:
    """Return an array with one value everywhere."""
    return broadcast_to(constant(value), parse_shape(shape))


def eye(n: Any, m: Any = None, k: int = 0) -> Node:
    """Return a matrix with ones on diagonal ``k``."""
    rows, columns = parse_size(n), parse_size(n if m is None else m)
    if k == 0 and rows == columns:
        return delta(rows, columns)
    if isinstance(rows, int) and isinstance(columns, int):
        if rows * columns > LIMITS.elements:
            raise LimitError(f"eye of shape {str((rows, columns)):.60} has more than {LIMITS.elements} elements, the limit")
        return constant(np.eye(rows, columns, operator.index(k)))
    raise UnsupportedError("eye of symbolic sizes off the main diagonal; expected fixed sizes")


def like(x: Node, value: float) -> Node:
    """Return an array of the shape of ``x`` with one value everywhere."""
    return broadcast_to(constant(value), x.shape)


def select(condition: Node, a: Node, b: Node) -> Node:
    """Choose element by element, as ``numpy.where`` with three arguments."""
    if condition.dtype is not BOOL:
        condition = compare("not_equal", condition, 0.0)
    if a.dtype is BOOL and b.dtype is BOOL:
        yes = elementwise("logical_and", (condition, a), BOOL)
        no = elementwise("logical_and", (elementwise("logical_not", (condition,), BOOL), b), BOOL)
        return elementwise("logical_or", (yes, no), BOOL)
    return where(condition, to_real(a), to_real(b))


def clip(x: Node, lower: Node | None, upper: Node | None) -> Node:
    """Limit elements to [lower, upper]."""
    if lower is not None:
        x = apply("maximum", x, lower)
    return x if upper is None else apply("minimum", x, upper)


# ---------------------------------------------------------------------------- indexing


def getitem(x: Node, key: Any) -> Node:
    """Index as NumPy does: whole numbers, slices, None, Ellipsis, constant index arrays.

    Raises
    ------
    ShapeError
        If there are too many indices or one is out of range.
    UnsupportedError
        If an index is not known when the formula is built.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    keys = [k.item() if isinstance(k, np.generic) or (isinstance(k, np.ndarray) and k.ndim == 0) else k for k in keys]
    keys = [np.asarray(k) if isinstance(k, (list, tuple)) else k for k in keys]
    used = builtins.sum(k.ndim if isinstance(k, np.ndarray) and k.dtype == bool else 1 for k in keys if k is not None and k is not Ellipsis)
    if used > x.ndim:
        raise ShapeError(f"{used} indices for an array of shape {show(x.shape)}; expected at most {x.ndim}")
    dots = [i for i, k in enumerate(keys) if k is Ellipsis]
    if len(dots) > 1:
        raise ShapeError("more than one '...' in an index")
    at = dots[0] if dots else len(keys)
    keys[at : at + len(dots)] = [slice(None)] * (x.ndim - used)
    items: list[Item] = []
    shape: list[Dim] = []
    arrays: list[tuple[int, np.ndarray[Any, Any]]] = []
    axis = 0
    for k in keys:
        if k is None:
            shape.append(1)
            continue
        size = x.shape[axis]
        if isinstance(k, np.ndarray):
            if k.dtype == bool:
                k = _mask_index(k, x, axis)
            arrays.append((len(shape), k))
            items.append(whole(size))
            shape.append(size)
        elif isinstance(k, slice):
            items.append(_slice_item(k, size))
            length = items[-1][2]
            assert length is not None
            shape.append(length)
        elif isinstance(k, SupportsIndex) and not isinstance(k, bool):
            items.append((_index(operator.index(k), size), 1, None))
        else:
            raise UnsupportedError(
                f"an index of type {type(k).__name__}; expected whole numbers, slices, None, '...' or constant arrays "
                "of them (to choose by a condition, write where)"
            )
        axis += 1
    result = slicing(x, tuple(items))
    result = reshape(result, tuple(shape))
    return _gather_arrays(result, arrays) if arrays else result


def _index(i: int, size: Dim) -> Dim:
    if isinstance(size, int):
        if not -size <= i < size:
            raise ShapeError(f"index {i} is out of range for an axis of size {size}")
        return i % size
    return i if i >= 0 else size + i


def _slice_item(key: slice, size: Dim) -> Item:
    try:
        start, stop, step = (None if v is None else operator.index(v) for v in (key.start, key.stop, key.step))
    except TypeError:
        raise UnsupportedError(f"the slice {key}; expected whole numbers known when the formula is built") from None
    if step == 0:
        raise ShapeError("a slice with step 0")
    if isinstance(size, int):
        first, last, pace = key.indices(size)
        length = len(range(first, last, pace))
        return (first if length else 0, pace, length)
    if step not in (None, 1, -1) or (step == -1 and (start is not None or stop is not None)):
        raise UnsupportedError(f"a slice with step {step} along an axis of symbolic size {size}; expected step 1")
    if step == -1:
        return (size - 1, -1, size)
    begin: Dim = 0 if start is None else start if start >= 0 else size + start
    end: Dim = size if stop is None else stop if stop >= 0 else size + stop
    length_: Dim = end - begin
    if isinstance(length_, int) and length_ < 0:
        length_ = 0
    return (begin, 1, length_)


def _mask_index(mask: np.ndarray[Any, Any], x: Node, axis: int) -> np.ndarray[Any, Any]:
    if mask.ndim != 1 or mask.shape[0] != x.shape[axis]:
        raise ShapeError(f"a mask of shape {mask.shape} for axis {axis} of an array of shape {show(x.shape)}")
    return np.flatnonzero(mask)


def _gather_array(x: Node, axis: int, indices: np.ndarray[Any, Any]) -> Node:
    if indices.dtype.kind not in "iu" and indices.size:
        raise DtypeError(f"an index array of dtype {indices.dtype}; expected whole numbers")
    size = x.shape[axis]
    if not isinstance(size, int) and (indices < 0).any():
        raise UnsupportedError(f"negative positions along an axis of symbolic size {size}; count from the front")
    flat = tuple(int(i) for i in indices.ravel())
    if isinstance(size, int):
        flat = tuple(_index(i, size) for i in flat)  # type: ignore[misc]
    taken = gather(x, axis, flat)
    return reshape(taken, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def _gather_arrays(x: Node, arrays: list[tuple[int, np.ndarray[Any, Any]]]) -> Node:
    if len(arrays) == 1:
        return _gather_array(x, *arrays[0])
    # several index arrays broadcast together and pick points: flatten their axes into one
    places = [axis for axis, _ in arrays]
    try:
        points = np.broadcast_arrays(*(a for _, a in arrays))
    except ValueError:
        raise ShapeError(f"index arrays of shapes {[a.shape for _, a in arrays]} do not broadcast") from None
    sizes = [x.shape[a] for a in places]
    if not builtins.all(isinstance(n, int) for n in sizes):
        raise UnsupportedError("several index arrays along axes of symbolic size; expected fixed sizes")
    together = places == list(range(places[0], places[0] + len(places)))
    rest = [a for a in range(x.ndim) if a not in places]
    front = transpose(x, [*places, *rest])
    line = reshape(front, (product(sizes), *(x.shape[a] for a in rest)))
    whole_sizes = [int(n) for n in sizes if isinstance(n, int)]
    wrapped = [np.where(p < 0, p + n, p) for p, n in zip(points, whole_sizes, strict=True)]
    for p, n in zip(wrapped, whole_sizes, strict=True):
        if p.size and not (0 <= p.min() <= p.max() < n):
            raise ShapeError(f"an index is out of range for an axis of size {n}")
    picked = _gather_array(line, 0, np.ravel_multi_index([w.astype(int) for w in wrapped], whole_sizes))
    k = points[0].ndim
    if not together:
        return picked  # NumPy puts the points first when the index arrays are apart
    before = places[0]
    order = [*range(k, k + before), *range(k), *range(k + before, picked.ndim)]
    return transpose(picked, order)
