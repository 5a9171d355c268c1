"""The array graph: the one representation of a formula between front doors and kernels.

A :class:`Node` is frozen and hash-consed: equal nodes are the same object, so common
sub-formulas are shared from birth and passes memoise by node. Arrays, not scalars, are the
unit, and a shape may hold symbolic sizes. Nodes are made by the functions below, each of
which refuses what would break the graph's rules; nothing here knows derivatives.

    element by element   any scalar function of :mod:`symdiff.functions`, with broadcasting
    contract             Einstein notation: matmul, outer, trace, diagonal, transpose, sum, broadcast
    delta, onehot        the identity as an index pair k = start + step*i, and one row of it
    reduce               max, min, prod, logsumexp, norm over axes
    normalize            softmax, log_softmax, unit over axes    cumsum     along one axis
    slicing, pad         and its transpose                 gather, scatter   and its transpose
    triangle, reshape, concatenate, matrix (det, inv, ...), stop_gradient, named, custom
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias
from weakref import ref

import numpy as np

from .errors import DtypeError, LimitError, ShapeError
from .sizes import Dim, Shape, Size, fixed, product, show

REAL = "real"
BOOL = "bool"

Label: TypeAlias = int
Labels: TypeAlias = tuple[int, ...]
#: One axis of a slice: (start, step, length); a length of None takes one index and drops the axis.
Item: TypeAlias = tuple[Dim, int, Dim | None]
Number: TypeAlias = float | int | bool

REDUCTIONS = ("max", "min", "prod", "logsumexp", "norm")
NORMALIZATIONS = ("softmax", "log_softmax", "unit")
#: Functions of a square matrix, with the number of axes the result keeps of the last two.
MATRIX_OPS = {
    "det": 0,
    "logdet": 0,
    "logabsdet": 0,
    "inv": 2,
    "adjugate": 2,
    "cholesky": 2,
    "adjugate_differential": 2,
    "solve": 2,
}


class _Fresh:
    """A node while it is being filled; :func:`intern` freezes it by making it a Node."""

    __slots__ = ("__weakref__", "args", "dtype", "op", "payload", "shape")

    def __init__(self, op: str, args: tuple[Node, ...], payload: Any, shape: Shape, dtype: str) -> None:
        self.op = op
        self.args = args
        self.payload = payload
        self.shape = shape
        self.dtype = dtype


class Node(_Fresh):
    """One array of a formula: an operation, its arguments, and what else defines it.

    Parameters
    ----------
    op : str
        Name of the primitive, or of a scalar function.
    args : tuple of Node
    payload : hashable
        What else identifies the node: a name, labels, axes, ...
    shape : tuple of int or Size
    dtype : {"real", "bool"}

    Notes
    -----
    Do not construct directly: the functions of this module intern their result.
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Node is frozen; build another instead of setting {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return unflatten, (flatten([self]), 0)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Dim:
        """Number of elements."""
        return product(self.shape)

    @property
    def value(self) -> Any:
        """The numbers of a constant, as a read-only array of its shape."""
        kind = np.float64 if self.dtype is REAL else np.bool_
        return np.frombuffer(self.payload, kind).reshape(fixed(self.shape) or ())

    def __repr__(self) -> str:
        inner = "" if self.op in ("input", "constant") else f" of {len(self.args)}"
        return f"<{self.op}{inner} {show(self.shape)} {self.dtype}>"

    # The arithmetic below keeps rules readable; equality stays identity.
    def __add__(self, other: Node | Number) -> Node:
        return elementwise("add", (self, as_node(other)))

    def __radd__(self, other: Number) -> Node:
        return elementwise("add", (as_node(other), self))

    def __sub__(self, other: Node | Number) -> Node:
        return elementwise("subtract", (self, as_node(other)))

    def __rsub__(self, other: Number) -> Node:
        return elementwise("subtract", (as_node(other), self))

    def __mul__(self, other: Node | Number) -> Node:
        return elementwise("multiply", (self, as_node(other)))

    def __rmul__(self, other: Number) -> Node:
        return elementwise("multiply", (as_node(other), self))

    def __truediv__(self, other: Node | Number) -> Node:
        return elementwise("divide", (self, as_node(other)))

    def __rtruediv__(self, other: Number) -> Node:
        return elementwise("divide", (as_node(other), self))

    def __neg__(self) -> Node:
        return elementwise("negative", (self,))


class _Entry(ref[Node]):
    """A weak reference that knows its place in the table, so that a dead node can leave it."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


_table: dict[tuple[Any, ...], _Entry] = {}
_lock = threading.RLock()


def _forget(entry: _Entry) -> None:
    if _table.get(entry.key) is entry:
        del _table[entry.key]


def intern(op: str, args: tuple[Node, ...], payload: Any, shape: Shape, dtype: str = REAL) -> Node:
    """Return the one node of this description, making it when it is new."""
    key = (op, payload, shape, dtype, args)
    entry = _table.get(key)
    if entry is not None:
        found = entry()
        if found is not None:
            return found
    with _lock:
        entry = _table.get(key)
        found = entry() if entry is not None else None
        if found is not None:
            return found
        fresh: Any = _Fresh(op, args, payload, shape, dtype)
        fresh.__class__ = Node
        entry = _Entry(fresh, _forget)
        entry.key = key
        _table[key] = entry
    node: Node = fresh
    return node


# ---------------------------------------------------------------------------- leaves


def input(name: str, shape: Shape = (), dtype: str = REAL) -> Node:
    """Return the input called ``name``."""
    return intern("input", (), name, shape, dtype)


def placeholder(key: object, shape: Shape) -> Node:
    """Return an input that no user can name, told apart by ``key``."""
    return intern("input", (), ("placeholder", key), shape)


def constant(value: Any) -> Node:
    """Return a constant array of reals or bools.

    Raises
    ------
    DtypeError
        If the values are neither real numbers nor bools.
    """
    if type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            raise LimitError(f"the whole number {str(value)[:20]}... is beyond the range of a double") from None
    if type(value) is float:
        return intern("constant", (), _pack(value), ())
    array = np.asarray(value)
    if array.dtype.kind == "b":
        return intern("constant", (), array.tobytes(), array.shape, BOOL)
    if array.dtype.kind not in "iuf":
        raise DtypeError(f"a constant of dtype {array.dtype} came; expected real numbers or bools")
    return intern("constant", (), array.astype(np.float64).tobytes(), array.shape)


_pack = struct.Struct("=d").pack  # told apart by bits: 0.0 and -0.0 differ, a nan equals itself


def as_node(value: Node | Number) -> Node:
    """Return ``value`` itself if it is a node, else a constant."""
    return value if isinstance(value, Node) else constant(value)


def delta(rows: Dim, columns: Dim, start: Dim = 0, step: int = 1) -> Node:
    """Return the matrix with E[i, start + step*i] = 1 and 0 elsewhere."""
    return intern("delta", (), (start, step), (rows, columns))


def onehot(size: Dim, index: Dim) -> Node:
    """Return the vector with a 1 at ``index`` and 0 elsewhere."""
    return intern("onehot", (), index, (size,))


def extent(size: Dim) -> Node:
    """Return a size as a number of the formula (symbolic ones are known at call time)."""
    return constant(float(size)) if isinstance(size, int) else intern("size", (), size, ())


def zeros(shape: Shape) -> Node:
    """Return an array of zeros."""
    return broadcast_to(constant(0.0), shape)


# ---------------------------------------------------------------------------- element by element


def broadcast_shapes(shapes: Iterable[Shape], what: str = "operands") -> Shape:
    """Return the shape that all of ``shapes`` broadcast to, by NumPy's rule.

    Raises
    ------
    ShapeError
        If two sizes differ and neither is 1.
    """
    known = list(shapes)
    rank = max(map(len, known), default=0)
    result: list[Dim] = [1] * rank
    for shape in known:
        for axis, size in enumerate(shape, rank - len(shape)):
            if size != 1 and result[axis] != size:
                if result[axis] != 1:
                    raise ShapeError(
                        f"{what} of shapes {' and '.join(map(show, known))} do not broadcast: size {result[axis]} "
                        f"against {size} on axis {axis - rank}; equal sizes or 1 were expected"
                    )
                result[axis] = size
    return tuple(result)


def elementwise(op: str, args: tuple[Node, ...], dtype: str = REAL) -> Node:
    """Apply the scalar function ``op`` element by element, with broadcasting."""
    shape = args[0].shape
    for arg in args:
        if arg.shape is not shape and arg.shape != shape:
            shape = broadcast_shapes([a.shape for a in args], f"operands of {op}")
            break
    return intern(op, args, None, shape, dtype)


# ---------------------------------------------------------------------------- contraction


def contract(
    operands: Sequence[Node], labels: Sequence[Labels], out: Labels, sizes: Mapping[int, Dim] | None = None
) -> Node:
    """Multiply ``operands`` and sum over the labels that ``out`` lacks (Einstein notation).

    Parameters
    ----------
    operands : sequence of Node
    labels : sequence of tuple of int
        One label an axis of each operand; a label twice in one operand takes the diagonal.
    out : tuple of int
        Labels of the result, each once.
    sizes : mapping, optional
        Sizes of the labels of ``out`` that no operand has; the result is repeated along them.

    Raises
    ------
    ShapeError
        If one label stands for two sizes, or labels and axes differ in number.
    """
    number: dict[int, int] = {}
    extent: list[Dim] = []
    renamed = []
    for node, own in zip(operands, labels, strict=True):
        if len(own) != len(node.shape):
            raise ShapeError(f"an operand of shape {show(node.shape)} came with {len(own)} labels, not {node.ndim}")
        for name, size in zip(own, node.shape, strict=True):
            if name not in number:
                number[name] = len(extent)
                extent.append(size)
            elif extent[number[name]] != size:
                raise ShapeError(
                    f"sizes {extent[number[name]]} and {size} are to be multiplied and summed together; "
                    f"operands have shapes {', '.join(show(o.shape) for o in operands)}; expected equal sizes"
                )
        renamed.append(tuple([number[name] for name in own]))
    repeated = []
    for name in out:
        if name not in number:
            number[name] = len(extent)
            extent.append((sizes or {})[name])
            repeated.append((number[name], extent[-1]))
    result = tuple([number[name] for name in out])
    if len(set(result)) != len(result):
        raise ShapeError("a label occurs twice in the result; expected each once (use a delta for a diagonal)")
    if len(operands) == 1 and renamed[0] == result:
        return operands[0]
    shape = tuple([extent[name] for name in result])
    dtype = REAL
    if any(node.dtype is BOOL for node in operands):
        if len(operands) > 1 or not set(renamed[0]) <= set(result):
            raise DtypeError("conditions cannot be multiplied or summed as they are; write where(c, 1, 0) first")
        dtype = BOOL
    return intern("contract", tuple(operands), (tuple(renamed), result, tuple(repeated)), shape, dtype)


def label_sizes(node: Node) -> dict[int, Dim]:
    """Return the size of every label of a contraction."""
    labels, _, repeated = node.payload
    sizes = dict(repeated)
    for arg, own in zip(node.args, labels, strict=True):
        sizes.update(zip(own, arg.shape, strict=True))
    return sizes


def transpose(x: Node, axes: Sequence[int] | None = None) -> Node:
    """Permute the axes; reverse them when ``axes`` is not given."""
    own = tuple(range(x.ndim))
    return contract([x], [own], tuple(axes) if axes is not None else own[::-1])


def swap(x: Node) -> Node:
    """Exchange the last two axes: the transpose of a matrix or of a stack of them."""
    own = tuple(range(x.ndim))
    return contract([x], [own], (*own[:-2], own[-1], own[-2]))


def broadcast_to(x: Node, shape: Shape) -> Node:
    """Repeat ``x`` to ``shape`` by NumPy's rule."""
    if x.shape == shape:
        return x
    if len(x.shape) > len(shape) or broadcast_shapes([x.shape, shape], "array and target") != shape:
        raise ShapeError(f"an array of shape {show(x.shape)} cannot be broadcast to {show(shape)}")
    offset = len(shape) - x.ndim
    axes = tuple(range(len(shape)))
    if x.dtype is BOOL:  # conditions cannot be summed, not even over one element
        stays = [a for a in range(x.ndim) if x.shape[a] != 1 or shape[a + offset] == 1]
        line = slicing(x, tuple(whole(n) if a in stays else (0, 1, None) for a, n in enumerate(x.shape)))
        return contract([line], [tuple(a + offset for a in stays)], axes, dict(enumerate(shape)))
    own = tuple(-1 - a if x.shape[a] == 1 and shape[a + offset] != 1 else a + offset for a in range(x.ndim))
    return contract([x], [own], axes, dict(enumerate(shape)))


def unbroadcast(x: Node, shape: Shape, prefix: int = 0) -> Node:
    """Sum ``x`` down to ``(*x.shape[:prefix], *shape)``: the transpose of broadcasting."""
    if x.shape[prefix:] == shape:
        return x
    offset = x.ndim - len(shape)
    own = tuple(range(x.ndim))
    out = list(own[:prefix])
    sizes: dict[int, Dim] = {}
    for axis, size in enumerate(shape, offset):
        if size == x.shape[axis]:
            out.append(axis)
        else:
            out.append(-1 - axis)
            sizes[-1 - axis] = 1
    return contract([x], [own], tuple(out), sizes)


def sum_axes(x: Node, axes: Iterable[int]) -> Node:
    """Sum over the axes given (non-negative)."""
    drop = set(axes)
    own = tuple(range(x.ndim))
    return contract([x], [own], tuple(a for a in own if a not in drop))


def matmul(a: Node, b: Node) -> Node:
    """Multiply matrices, or stacks of them with broadcasting; at least two axes each."""
    if a.shape[-1] != b.shape[-2]:
        raise ShapeError(
            f"matmul of shapes {show(a.shape)} and {show(b.shape)}: size {a.shape[-1]} against {b.shape[-2]}; expected "
            "the last axis of the first to be as long as the second-to-last of the second"
        )
    lead = broadcast_shapes([a.shape[:-2], b.shape[:-2]], "matrix stacks")
    i, j, k = len(lead), len(lead) + 1, len(lead) + 2
    out = (*range(len(lead)), i, k)
    unique = iter(range(k + 1, k + 1 + 2 * len(lead)))

    def stack(x: Node) -> Labels:
        offset = len(lead) - (x.ndim - 2)
        return tuple(
            axis + offset if size == lead[axis + offset] else next(unique) for axis, size in enumerate(x.shape[:-2])
        )

    return contract([a, b], [(*stack(a), i, j), (*stack(b), j, k)], out, dict(enumerate(lead)))


# ---------------------------------------------------------------------------- structure


def _check_axis(x: Node, axis: int) -> None:
    if not 0 <= axis < x.ndim:
        raise ShapeError(f"axis {axis} of an array with {x.ndim} axes")


def reduce(op: str, x: Node, axes: tuple[int, ...]) -> Node:
    """Take the max, min, prod, logsumexp or norm (Frobenius, Euclid) over ``axes`` (non-negative, sorted)."""
    if not axes and op in ("max", "min", "prod"):
        return x
    for axis in axes:
        _check_axis(x, axis)
        if x.shape[axis] == 0 and op in ("max", "min"):
            raise ShapeError(f"{op} over axis {axis} of size 0 has no value; expected at least one element")
    kept = tuple(size for a, size in enumerate(x.shape) if a not in axes)
    return intern(op, (x,), tuple(a - x.ndim for a in axes), kept)


def normalize(op: str, x: Node, axes: tuple[int, ...]) -> Node:
    """Take the softmax, log_softmax or unit (x / norm(x), 0 at 0) over ``axes`` (non-negative, sorted)."""
    for axis in axes:
        _check_axis(x, axis)
    return intern(op, (x,), tuple(a - x.ndim for a in axes), x.shape)


def cumsum(x: Node, axis: int, reverse: bool = False) -> Node:
    """Sum cumulatively along ``axis`` (non-negative), from the end when ``reverse``."""
    _check_axis(x, axis)
    return intern("cumsum", (x,), (axis - x.ndim, reverse), x.shape)


def triangle(x: Node, upper: bool, offset: int = 0) -> Node:
    """Keep the part of each matrix (last two axes) on and above, or below, the diagonal ``offset``."""
    if x.ndim < 2:
        raise ShapeError(f"a triangle of an array of shape {show(x.shape)}; expected at least two axes")
    return intern("triangle", (x,), (upper, offset), x.shape)


def reshape(x: Node, shape: Shape) -> Node:
    """Read the elements of ``x`` in C order as an array of ``shape``."""
    if x.shape == shape:
        return x
    if product(shape) != x.size:
        raise ShapeError(f"cannot reshape {show(x.shape)} to {show(shape)}: {x.size} elements against {product(shape)}")
    if x.op == "reshape":
        return reshape(x.args[0], shape)
    return intern("reshape", (x,), None, shape, x.dtype)


def whole(size: Dim) -> Item:
    """Return the slice that takes all of an axis."""
    return (0, 1, size)


def slicing(x: Node, items: tuple[Item, ...]) -> Node:
    """Take a regular part of each axis; see :data:`Item`."""
    if len(items) != x.ndim:
        raise ShapeError(f"{len(items)} slices for an array with {x.ndim} axes")
    if all(item == (0, 1, size) for item, size in zip(items, x.shape, strict=True)):
        return x
    for (start, step, length), size in zip(items, x.shape, strict=True):
        last = start if length is None else start + (length - 1) * step
        for at in (start, last):
            if length != 0 and isinstance(at, int) and (at < 0 or (isinstance(size, int) and at >= size)):
                raise ShapeError(f"index {at} is out of range for an axis of size {size}")
    return intern("slice", (x,), items, tuple(n for _, _, n in items if n is not None), x.dtype)


def index_axis(x: Node, axis: int, index: Dim) -> Node:
    """Take one index of one axis and drop the axis."""
    return slicing(x, tuple((index, 1, None) if a == axis else whole(n) for a, n in enumerate(x.shape)))


def pad(x: Node, items: tuple[Item, ...], shape: Shape) -> Node:
    """Put ``x`` into zeros of ``shape`` where ``items`` would take it from: slicing's transpose."""
    if tuple(n for _, _, n in items if n is not None) != x.shape or len(items) != len(shape):
        raise ShapeError(f"an array of shape {show(x.shape)} does not fit the slices of {show(shape)}")
    if x.shape == shape and all(item == (0, 1, size) for item, size in zip(items, shape, strict=True)):
        return x
    return intern("pad", (x,), items, shape)


def gather(x: Node, axis: int, indices: tuple[int, ...]) -> Node:
    """Take the given positions of ``axis`` (all non-negative), with repeats."""
    _check_axis(x, axis)
    size = x.shape[axis]
    if isinstance(size, int) and indices and not 0 <= min(indices) <= max(indices) < size:
        raise ShapeError(f"index {max(indices)} is out of range for an axis of size {size}")
    shape = (*x.shape[:axis], len(indices), *x.shape[axis + 1 :])
    return intern("gather", (x,), (axis - x.ndim, indices), shape, x.dtype)


def scatter(x: Node, axis: int, indices: tuple[int, ...], size: Dim) -> Node:
    """Add the slices of ``x`` into zeros at ``indices`` of ``axis``: gather's transpose."""
    _check_axis(x, axis)
    if x.shape[axis] != len(indices):
        raise ShapeError(f"{len(indices)} indices for an axis of size {x.shape[axis]}")
    return intern("scatter", (x,), (axis - x.ndim, indices), (*x.shape[:axis], size, *x.shape[axis + 1 :]))


def concatenate(parts: Sequence[Node], axis: int) -> Node:
    """Join arrays along ``axis`` (non-negative)."""
    first = parts[0]
    _check_axis(first, axis)
    for part in parts[1:]:
        if part.ndim != first.ndim or any(
            p != q for a, (p, q) in enumerate(zip(part.shape, first.shape, strict=True)) if a != axis
        ):
            raise ShapeError(
                f"cannot concatenate shapes {', '.join(show(p.shape) for p in parts)} along axis {axis}; "
                "expected equal sizes on every other axis"
            )
    if len(parts) == 1:
        return first
    total: Dim = 0
    for part in parts:
        total = total + part.shape[axis]
    dtype = BOOL if all(part.dtype is BOOL for part in parts) else REAL
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    return intern("concatenate", tuple(parts), axis - first.ndim, shape, dtype)


def matrix(op: str, *args: Node) -> Node:
    """Apply a function of square matrices, or of stacks of them (the last two axes).

    ``solve(A, B)`` and ``adjugate_differential(A, E)`` take a second matrix.
    """
    a = args[0]
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"{op} of an array of shape {show(a.shape)}; expected a square matrix (or a stack of them)")
    if len(args) == 2:
        b = args[1]
        if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
            raise ShapeError(f"{op} of shapes {show(a.shape)} and {show(b.shape)}; expected as many rows in both")
        lead = broadcast_shapes([a.shape[:-2], b.shape[:-2]], "matrix stacks")
        pair = (broadcast_to(a, (*lead, *a.shape[-2:])), broadcast_to(b, (*lead, *b.shape[-2:])))
        return intern(op, pair, None, (*lead, *b.shape[-2:]))
    return intern(op, args, None, a.shape if MATRIX_OPS[op] == 2 else a.shape[:-2])


def stop_gradient(x: Node) -> Node:
    """Return ``x`` as something whose derivative is zero by decree."""
    return intern("stop_gradient", (x,), None, x.shape, x.dtype)


def label(x: Node, name: str) -> Node:
    """Return ``x`` under a name of its own: readable, and differentiable with respect to."""
    return intern("named", (x,), name, x.shape, x.dtype)


def custom(rule: Any, args: Sequence[Node], body: Node) -> Node:
    """Return a function with a derivative given by its author; see :mod:`symdiff.rules`."""
    return intern("custom", tuple(args), (rule, body), body.shape)


# ---------------------------------------------------------------------------- walking


def postorder(roots: Iterable[Node]) -> list[Node]:
    """Return every node below ``roots`` once, arguments before uses, without recursion.

    The order depends on the formula alone, not on what was built before it.
    """
    done: set[Node] = set()
    order: list[Node] = []
    stack: list[Node | None] = [*roots]
    stack.reverse()
    path: list[Node] = []
    while stack:
        node = stack.pop()
        if node is None:
            node = path.pop()
            if node not in done:
                done.add(node)
                order.append(node)
        elif node not in done:
            if node.args:
                path.append(node)
                stack.append(None)
                stack.extend(node.args[::-1])
            else:
                done.add(node)
                order.append(node)
    return order


def dependents(order: Iterable[Node], on: Iterable[Node]) -> set[Node]:
    """Return the nodes of ``order`` (a postorder) that depend on any of ``on``, themselves included."""
    found = set(on)
    for node in order:
        if node not in found:
            for arg in node.args:
                if arg in found:
                    found.add(node)
                    break
    return found


def rebuild(node: Node, args: tuple[Node, ...]) -> Node:
    """Return ``node`` with other arguments, through its constructor."""
    return node if args == node.args else remake(node, args)


def remake(node: Node, args: tuple[Node, ...]) -> Node:
    """Make ``node`` again from its description and ``args``."""
    op, payload = node.op, node.payload
    if op == "contract":
        labels, out, repeated = payload
        return contract(args, labels, out, dict(repeated))
    if op in _REMAKE:
        return _REMAKE[op](node, args)
    if op in MATRIX_OPS:
        return matrix(op, *args)
    return elementwise(op, args, node.dtype)


def _axes(node: Node, x: Node) -> tuple[int, ...]:
    return tuple(axis + x.ndim for axis in node.payload)


_REMAKE: dict[str, Callable[[Node, tuple[Node, ...]], Node]] = {
    **dict.fromkeys(REDUCTIONS, lambda n, a: reduce(n.op, a[0], _axes(n, a[0]))),
    **dict.fromkeys(NORMALIZATIONS, lambda n, a: normalize(n.op, a[0], _axes(n, a[0]))),
    "cumsum": lambda n, a: cumsum(a[0], n.payload[0] + a[0].ndim, n.payload[1]),
    "triangle": lambda n, a: triangle(a[0], *n.payload),
    "reshape": lambda n, a: reshape(a[0], n.shape),
    "slice": lambda n, a: slicing(a[0], n.payload),
    "pad": lambda n, a: pad(a[0], n.payload, n.shape),
    "gather": lambda n, a: gather(a[0], n.payload[0] + a[0].ndim, n.payload[1]),
    "scatter": lambda n, a: scatter(a[0], n.payload[0] + a[0].ndim, n.payload[1], n.shape[n.payload[0]]),
    "concatenate": lambda n, a: concatenate(a, n.payload + n.ndim),
    "stop_gradient": lambda n, a: stop_gradient(a[0]),
    "named": lambda n, a: label(a[0], n.payload),
    "custom": lambda n, a: custom(n.payload[0], a, n.payload[1]),
}


def substitute(roots: Sequence[Node], replace: Mapping[Node, Node]) -> list[Node]:
    """Return ``roots`` with nodes exchanged for others of the same shape."""
    new: dict[Node, Node] = dict(replace)
    for node in postorder(roots):
        if node not in new:
            new[node] = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
    return [new[root] for root in roots]


def inputs_of(roots: Iterable[Node]) -> list[Node]:
    """Return the inputs below ``roots`` in order of first use."""
    return [node for node in postorder(roots) if node.op == "input"]


def verify(roots: Iterable[Node]) -> None:
    """Check that every node below ``roots`` is one its constructor would make.

    Raises
    ------
    AssertionError
        Naming the first node that is not. Passes are tested with this after every run.
    """
    for node in postorder(roots):
        again = intern(node.op, node.args, node.payload, node.shape, node.dtype)
        assert again is node, f"{node!r} is not interned"
        assert node.dtype in (REAL, BOOL), node
        assert all(isinstance(n, Size) or n >= 0 for n in node.shape), node
        if node.args:
            fresh = remake(node, node.args)
            assert fresh is node, f"{node!r} would be made as {fresh!r}"


# ---------------------------------------------------------------------------- flat form, for pickling


def flatten(roots: Iterable[Node]) -> list[tuple[Any, ...]]:
    """Return the nodes below ``roots`` as plain tuples, arguments as positions; the roots last."""
    tops = list(roots)
    order = postorder(tops)
    position = {node: i for i, node in enumerate(order)}
    rows: list[tuple[Any, ...]] = [
        (n.op, tuple(position[a] for a in n.args), n.payload, n.shape, n.dtype) for n in order
    ]
    return [*rows, tuple(position[root] for root in tops)]


def unflatten(rows: list[tuple[Any, ...]], which: int | None = None) -> Any:
    """Return the nodes that :func:`flatten` wrote (or only number ``which`` of them)."""
    made: list[Node] = []
    for op, args, payload, shape, dtype in rows[:-1]:
        made.append(intern(str(op), tuple(made[i] for i in args), payload, shape, REAL if dtype == REAL else BOOL))
    tops = [made[i] for i in rows[-1]]
    return tops if which is None else tops[which]


def walk_sizes(roots: Iterable[Node]) -> Iterator[str]:
    """Yield the names of the symbolic sizes that the inputs below ``roots`` carry."""
    for node in inputs_of(roots):
        for size in node.shape:
            if isinstance(size, Size):
                yield from sorted(size.names)
