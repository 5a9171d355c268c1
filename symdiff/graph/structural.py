"""Operations that move elements or fold axes: reductions, slices and transposes, joins, names; recurrences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import DtypeError, InternalError, ShapeError
from ..ground.budget import reserve, spend
from .nodes import BOOL, INT, REAL, Node, broadcast_shapes, intern, placeholder
from .primitives import Along, Authored, Axes, Body, Half, Item, Items, Joint, Opaque, Picks, Recurrence, Taken
from .sizes import Dim, Shape, product, show

#: Bytes of a whole number in a tuple.
INDEX_BYTES = 40


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
    return intern(op, (x,), Axes(tuple(a - x.ndim for a in axes)), kept)


def normalize(op: str, x: Node, axes: tuple[int, ...]) -> Node:
    """Take the softmax, log_softmax or unit (x / norm(x), 0 at 0) over ``axes`` (non-negative, sorted)."""
    for axis in axes:
        _check_axis(x, axis)
    return intern(op, (x,), Axes(tuple(a - x.ndim for a in axes)), x.shape)


def cumulative(op: str, x: Node, axis: int, reverse: bool = False) -> Node:
    """Apply cumsum, cumprod, cummax, cummin or sort along ``axis`` (non-negative), from the end when ``reverse``.

    A "sort" is the elements in ascending order, nan last; of the turned axis, turned, when ``reverse``.
    """
    _check_axis(x, axis)
    return intern(op, (x,), Along(axis - x.ndim, reverse), x.shape)


def arrange(x: Node, key: Node, axis: int, back: bool = False) -> Node:
    """Put elements into the ascending order of others, or back to where they came from.

    Parameters
    ----------
    x : Node, shape (..., *K)
    key : Node, shape K
        Whose order along the axis it is, nan last. Where some of it tie, each of their places gets the mean of their
        elements: the mean over all orders of the tie.
    axis : int
        That of ``key`` (non-negative).
    back : bool
        The transpose: elements at the places of the order go back, and those of a tie get the mean of their places.
    """
    _check_axis(key, axis)
    if x.ndim < key.ndim or x.shape[x.ndim - key.ndim :] != key.shape:
        raise ShapeError(f"an array of shape {show(x.shape)} in the order of one of shape {show(key.shape)}")
    return intern("arrange", (x, key), Along(axis - key.ndim, back), x.shape)


def triangle(x: Node, upper: bool, offset: int = 0) -> Node:
    """Keep the part of each matrix (last two axes) on and above, or below, the diagonal ``offset``."""
    if x.ndim < 2:
        raise ShapeError(f"a triangle of an array of shape {show(x.shape)}; expected at least two axes")
    return intern("triangle", (x,), Half(upper, offset), x.shape)


def reshape(x: Node, shape: Shape) -> Node:
    """Read the elements of ``x`` in C order as an array of ``shape``."""
    if x.shape == shape:
        return x
    if product(shape) != x.size:
        told = f"{x.size} elements against {product(shape)}; expected as many"
        raise ShapeError(f"cannot reshape {show(x.shape)} to {show(shape)}: {told}")
    if x.is_reshape:
        return reshape(x.args[0], shape)
    return intern("reshape", (x,), None, shape, x.dtype)


def whole(size: Dim) -> Item:
    """Return the slice that takes all of an axis."""
    return (0, 1, size)


def part_of_part(items: Sequence[Item], inner: Sequence[Item]) -> tuple[Item, ...]:
    """Return where a part of a part is, from where the part is and where the inner one is within it."""
    rest = iter(inner)
    joined: list[Item] = []
    for start, step, length in items:
        if length is None:
            joined.append((start, step, None))
        else:
            begin, pace, count = next(rest)
            joined.append((start + begin * step, step * pace, count))
    return tuple(joined)


def slicing(x: Node, items: tuple[Item, ...]) -> Node:
    """Take a regular part of each axis; see :data:`symdiff.graph.primitives.Item`."""
    if len(items) != x.ndim:
        raise ShapeError(f"{len(items)} slices for an array with {x.ndim} axes")
    if all(item == (0, 1, size) for item, size in zip(items, x.shape, strict=True)):
        return x
    for (start, step, length), size in zip(items, x.shape, strict=True):
        last = start if length is None else start + (length - 1) * step
        for at in (start, last):
            if length != 0 and isinstance(at, int) and (at < 0 or (isinstance(size, int) and at >= size)):
                raise ShapeError(f"index {at} is out of range for an axis of size {size}; expected less")
    return intern("slice", (x,), Items(items), tuple(n for _, _, n in items if n is not None), x.dtype)


def pad(x: Node, items: tuple[Item, ...], shape: Shape) -> Node:
    """Put ``x`` into zeros of ``shape`` where ``items`` would take it from: slicing's transpose."""
    if tuple(n for _, _, n in items if n is not None) != x.shape or len(items) != len(shape):
        raise ShapeError(f"an array of shape {show(x.shape)} does not fit the slices of {show(shape)}")
    if x.shape == shape and all(item == (0, 1, size) for item, size in zip(items, shape, strict=True)):
        return x
    return intern("pad", (x,), Items(items), shape)


def gather(x: Node, axis: int, indices: tuple[int, ...]) -> Node:
    """Take the given positions of ``axis`` (all non-negative), with repeats."""
    _check_axis(x, axis)
    reserve(INDEX_BYTES * len(indices))
    size = x.shape[axis]
    if isinstance(size, int) and indices and not 0 <= min(indices) <= max(indices) < size:
        raise ShapeError(f"index {max(indices)} is out of range for an axis of size {size}; expected less")
    if indices == tuple(range(len(indices))) and size == len(indices):
        return x
    shape = (*x.shape[:axis], len(indices), *x.shape[axis + 1 :])
    return intern("gather", (x,), Picks(axis - x.ndim, indices), shape, x.dtype)


def scatter(x: Node, axis: int, indices: tuple[int, ...], size: Dim) -> Node:
    """Add the slices of ``x`` into zeros at ``indices`` of ``axis``: gather's transpose."""
    _check_axis(x, axis)
    reserve(INDEX_BYTES * len(indices))
    if x.shape[axis] != len(indices):
        raise ShapeError(f"{len(indices)} indices for an axis of size {x.shape[axis]}")
    return intern("scatter", (x,), Picks(axis - x.ndim, indices), (*x.shape[:axis], size, *x.shape[axis + 1 :]))


def take(x: Node, at: Node, axis: int, shared: int = 0) -> Node:
    """Take positions of ``axis`` (non-negative) that the integers ``at`` say when they are known.

    Parameters
    ----------
    x : Node, shape (..., *M, N, ...)
    at : Node, shape (*M, *K)
        Integers from 0 to N - 1.
    axis : int
        That of length N.
    shared : int
        How many axes M stand before it along which each place has positions of its own.

    Returns
    -------
    Node, shape (..., *M, *K, ...)
    """
    _check_axis(x, axis)
    _check_positions(at)
    if x.dtype is INT:
        raise DtypeError("an integer input in the index of another; pass the positions of positions")
    if at.ndim < shared or x.shape[axis - shared : axis] != at.shape[:shared] or shared > axis:
        raise ShapeError(
            f"positions of shape {show(at.shape)} do not fit the {shared} axes before axis {axis} of an array of shape "
            f"{show(x.shape)}"
        )
    shape = (*x.shape[:axis], *at.shape[shared:], *x.shape[axis + 1 :])
    return intern("take", (x, at), Taken(axis - x.ndim, shared), shape, x.dtype)


def put(x: Node, at: Node, axis: int, size: Dim, shared: int = 0) -> Node:
    """Add the slices of ``x`` into zeros of length ``size`` along ``axis``, at positions ``at``: take's transpose.

    Parameters
    ----------
    x : Node, shape (..., *M, *K, ...)
    at : Node, shape (*M, *K)
    axis : int
        That of length ``size`` in the result, and the first of K in ``x``.
    size : int or Size
    shared : int
        How many axes M stand before it along which each place has positions of its own.

    Returns
    -------
    Node, shape (..., *M, size, ...)
    """
    _check_positions(at)
    behind = axis - shared + at.ndim
    if shared > min(axis, at.ndim) or x.shape[axis - shared : behind] != at.shape:
        raise ShapeError(
            f"positions of shape {show(at.shape)} do not fit axis {axis} of an array of shape {show(x.shape)}"
        )
    shape = (*x.shape[:axis], size, *x.shape[behind:])
    return intern("put", (x, at), Taken(axis - len(shape), shared), shape)


def _check_positions(at: Node) -> None:
    if at.dtype is not INT:
        raise DtypeError("positions that are no integers; expected an input made by sd.indices or sd.index")


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
    if any(part.dtype is INT for part in parts):
        raise DtypeError("integer inputs cannot be joined; index with each of them")
    total: Dim = 0
    spend(len(parts))
    for part in parts:
        total = total + part.shape[axis]
    dtype = BOOL if all(part.dtype is BOOL for part in parts) else REAL
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    return intern("concatenate", tuple(parts), Joint(axis - first.ndim), shape, dtype)


def stop_gradient(x: Node) -> Node:
    """Return ``x`` as something whose derivative is zero by decree."""
    return intern("stop_gradient", (x,), None, x.shape, x.dtype)


def label(x: Node, name: str) -> Node:
    """Return ``x`` under a name of its own: readable, and differentiable with respect to."""
    return intern("named", (x,), name, x.shape, x.dtype)


def custom(rule: Any, args: Sequence[Node], body: Node) -> Node:
    """Return a function with a derivative given by its author; see :mod:`symdiff.calculus.rules`."""
    return intern("custom", tuple(args), Authored(rule, body), body.shape)


def external(opaque: Opaque, args: Sequence[Node]) -> Node:
    """Return the value of a function that Python calls with numbers; axes in front of its arguments' are calls.

    Raises
    ------
    ShapeError
        If an argument has fewer axes than the function takes.
    """
    lead: Shape = ()
    for arg, axes in zip(args, opaque.axes, strict=True):
        if arg.ndim < axes:
            raise ShapeError(f"an argument of {opaque.name} of shape {show(arg.shape)}; expected {axes} axes or more")
        lead = broadcast_shapes((lead, arg.shape[: arg.ndim - axes]))
    return intern("external", tuple(args), opaque, (*lead, *opaque.shape))


# ---------------------------------------------------------------------------- recurrences


def step_number() -> Node:
    """Return the placeholder that bodies have for the number of the step, which counts rows from 0 on."""
    return placeholder(("step",), ())


def recurrence(body: Body, args: Sequence[Node], length: Dim, reverse: bool = False) -> Node:
    """Run a body ``length`` times, each step on what the step before gave.

    The value is one vector: what is carried out of the last step, then what was written down in all steps, each array
    in C order. Parts of it are slices, as of any other vector, so that no pass needs to know operations with several
    results.

    Parameters
    ----------
    body : Body
    args : sequence of Node
        What is carried into the first step, arrays of ``length`` rows, and what each step reads the same.
    length : int or Size
    reverse : bool
        Go from the last row to the first.
    """
    own = (*body.carried, *body.read, *body.held)
    wanted = [*(node.shape for node in body.carried), *((length, *node.shape) for node in body.read)]
    wanted += [node.shape for node in body.held]
    if [arg.shape for arg in args] != wanted or [arg.dtype for arg in args] != [node.dtype for node in own]:
        raise InternalError("a recurrence of arrays that its body is not for")
    if [node.shape for node in body.results[: len(body.carried)]] != wanted[: len(body.carried)]:
        raise InternalError("a recurrence whose body carries on other shapes than it takes")
    sizes = [part.size for part in _parts_of(body, length)]
    total: Dim = 0
    for size in sizes:
        total = total + size
    return intern("recurrence", tuple(args), Recurrence(body, length, reverse), (total,))


class Part(NamedTuple):
    """Place of one result in a recurrence's value."""

    start: Dim
    size: Dim
    shape: Shape


def _parts_of(body: Body, length: Dim) -> list[Part]:
    found: list[Part] = []
    start: Dim = 0
    for k, node in enumerate(body.results):
        shape = node.shape if k < len(body.carried) else (length, *node.shape)
        size = product(shape)
        found.append(Part(start, size, shape))
        start = start + size
    return found


def parts_of(node: Node) -> list[Part]:
    """Return where each result of a recurrence stands: what is carried last, then what each step wrote."""
    return _parts_of(node.payload.body, node.payload.length)


def result_of(node: Node, part: Part) -> Node:
    """Return one result of a recurrence."""
    return reshape(slicing(node, ((part.start, 1, part.size),)), part.shape)


def results_of(node: Node) -> list[Node]:
    """Return the results of a recurrence: what is carried last, then what each step wrote."""
    return [result_of(node, part) for part in parts_of(node)]


def joined_results(node: Node, results: Sequence[Node]) -> Node:
    """Return the value of a recurrence that has these results."""
    return concatenate([reshape(x, (part.size,)) for x, part in zip(results, parts_of(node), strict=True)], 0)
