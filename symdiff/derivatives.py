"""Derivatives of symbolic arrays: gradient, Jacobian, Hessian, and products with them.

What to differentiate by may be an input, a part of one (``X[0]``), or any sub-formula,
which is then treated as if it were an input. Results have the shape of the formula
followed by the shape of what is differentiated by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from . import determinant
from .array import Array, as_node, provenance_of
from .budget import current
from .contraction import einsum, is_zero
from .cost import cost
from .deltas import ONE
from .differentiate import identity, pullback, pushforward
from .errors import ArgumentError, DisconnectedInputError, DtypeError, LimitError, ShapeError
from .graph import BOOL, Node, postorder, reshape, zeros
from .provenance import Facts, Provenance
from .shapes import check_elements
from .simplify import as_polynomial
from .sizes import Shape, Size, show
from .wrt import Cut, Known, Orders, View, disconnection

determinant.register()

#: What to differentiate by: an array, or several in a tuple or list.
Wrt: TypeAlias = Any


def gradient(f: Any, wrt: Wrt, *, disconnected: str = "error") -> Any:
    """Return the gradient of a scalar formula.

    Parameters
    ----------
    f : Array
        Shape ``()`` (a 1×1 matrix counts as a scalar).
    wrt : Array, or tuple or list of Array
        Inputs, parts of inputs, or sub-formulas.
    disconnected : {"error", "zero"}
        What to do where ``f`` does not depend on ``wrt``.

    Returns
    -------
    Array or tuple of Array
        Of the shape of ``wrt``.

    Raises
    ------
    ShapeError
        If ``f`` is not a scalar.
    DisconnectedInputError
        If ``f`` does not depend on ``wrt``.
    NotDifferentiableError
        If an operation on the way has no derivative.

    Examples
    --------
    >>> from symdiff import matrix, gradient
    >>> import numpy as np
    >>> A = matrix("A", "n", "n")
    >>> gradient(np.log(np.linalg.det(A)), A)
    inv(A).T
    """
    node, trail = _formula(f), _Trail(f)
    return _as_given(wrt, trail.arrays(_gradient(node, _group(wrt), disconnected, trail)))


def vjp(f: Any, wrt: Wrt, seed: Any, *, disconnected: str = "error") -> Any:
    """Return the product of a cotangent with the Jacobian: sum over k of ``seed[k] * d f[k] / d wrt``.

    Parameters
    ----------
    f : Array
    wrt : Array, or tuple or list of Array
    seed : Array or array_like
        Cotangent, of the shape of ``f``: numbers, a symbol or another formula.
    disconnected : {"error", "zero"}

    Returns
    -------
    Array or tuple of Array
        Of the shape of ``wrt``.

    Examples
    --------
    >>> from symdiff import vector, vjp
    >>> x = vector("x", 2)
    >>> vjp(x * x, x, [2, 3]).shape
    (2,)
    """
    node = _formula(f)
    cotangent = _direction(seed, node.shape, "seed", "the formula")
    trail = _Trail(f, seed)
    return _as_given(wrt, trail.arrays(_pull(node, cotangent, _group(wrt), disconnected, trail)))


def jvp(f: Any, wrt: Wrt, tangent: Any, *, disconnected: str = "error") -> Array:
    """Return the directional derivative: the product of the Jacobian with a tangent.

    Parameters
    ----------
    f : Array
    wrt : Array, or tuple or list of Array
    tangent : Array or array_like, or a tuple or list of them
        Direction, of the shape of ``wrt`` (one for each, if there are several).
    disconnected : {"error", "zero"}

    Returns
    -------
    Array
        Of the shape of ``f``.
    """
    node = _formula(f)
    group = _group(wrt)
    directions = _directions(wrt, group, tangent)
    trail = _Trail(f, tangent)
    return trail.arrays([_push(node, group, directions, disconnected, trail)])[0]


def jacobian(f: Any, wrt: Wrt, *, disconnected: str = "error") -> Any:
    """Return all partial derivatives of every output.

    Parameters
    ----------
    f : Array
        Of any shape.
    wrt : Array, or tuple or list of Array
    disconnected : {"error", "zero"}

    Returns
    -------
    Array or tuple of Array
        Of shape ``f.shape + wrt.shape``: first the output's axes, then the input's.

    Notes
    -----
    Forward and reverse mode are seeded with the identity, whose deltas are then eliminated
    (Laue, Mitterreiter and Giesen 2018); the cheaper of the two results is kept.

    Examples
    --------
    >>> from symdiff import matrix, jacobian
    >>> X, W = matrix("X", "m", "k"), matrix("W", "n", "k")
    >>> jacobian((X @ W.T)[0], X[0])
    W
    """
    node = _formula(f)
    known: Known = {}
    trail = _Trail(f)
    return _as_given(wrt, trail.arrays([_jacobian(node, w, disconnected, known, trail) for w in _group(wrt)]))


def hessian(f: Any, wrt: Wrt, *, disconnected: str = "error") -> Any:
    """Return the second derivatives of a scalar formula.

    Parameters
    ----------
    f : Array
        Shape ``()``.
    wrt : Array, or tuple or list of Array
    disconnected : {"error", "zero"}
        What to do where ``f`` does not depend on ``wrt``. Mixed blocks that are zero are
        zeros either way.

    Returns
    -------
    Array or tuple of tuple of Array
        Of shape ``wrt.shape + wrt.shape``; for several, a block for each pair.

    Examples
    --------
    >>> from symdiff import matrix, vector, hessian
    >>> A, x = matrix("A", "n", "n"), vector("x", "n")
    >>> hessian(x @ A @ x, x)
    A + A.T
    """
    orders, trail = Orders(_formula(f), _group(wrt), disconnected), _Trail(f)
    slopes = _gradient(orders.formula, orders.wrt, disconnected, trail)
    known: Known = {}
    rows = [orders.finish([_jacobian(s, w, "zero", known, trail) for w in orders.wrt]) for s in slopes]
    # a custom function's own derivative need not be one of any function
    if not any(part.op == "custom" for part in postorder([orders.formula])):
        trail.hessians = tuple(row[k] for k, row in enumerate(rows))
    blocks = [tuple(trail.arrays(row)) for row in rows]
    return tuple(blocks) if isinstance(wrt, tuple | list) else blocks[0][0]


def hvp(f: Any, wrt: Wrt, vector: Any, *, disconnected: str = "error") -> Any:
    """Return the product of the Hessian of a scalar formula with a vector.

    Parameters
    ----------
    f : Array
        Shape ``()``.
    wrt : Array, or tuple or list of Array
    vector : Array or array_like, or a tuple or list of them
        Of the shape of ``wrt``.
    disconnected : {"error", "zero"}

    Returns
    -------
    Array or tuple of Array
        Of the shape of ``wrt``.
    """
    group = _group(wrt)
    directions = _directions(wrt, group, vector)
    orders, trail = Orders(_formula(f), group, disconnected), _Trail(f, vector)
    slopes = _gradient(orders.formula, orders.wrt, disconnected, trail)
    products = [_push(s, orders.wrt, directions, "zero", trail) for s in slopes]
    return _as_given(wrt, trail.arrays(orders.finish(products)))


def derivative(f: Any, wrt: Array, order: int = 1, *, disconnected: str = "error") -> Array:
    """Return the derivative of any order: the Jacobian taken ``order`` times.

    Parameters
    ----------
    f : Array
    wrt : Array
    order : int
        From 0 up.
    disconnected : {"error", "zero"}

    Returns
    -------
    Array
        Of shape ``f.shape + order * wrt.shape``.

    Examples
    --------
    >>> from symdiff import scalar, derivative
    >>> x = scalar("x")
    >>> derivative(x**3, x, 2)
    6*x
    """
    if isinstance(order, bool) or not isinstance(order, int) or order < 0:
        raise ArgumentError(f"order={order!r}; expected a whole number from 0 up")
    if order > 20:
        raise LimitError("a derivative of an order over 20, which is the limit")
    orders, trail = Orders(_formula(f), _group([wrt]), disconnected), _Trail(f)
    (by,), result = orders.wrt, orders.formula
    _check_size((*result.shape, *(by.shape * order)))
    start = result, 0
    longest = max(_LONGEST, 2 * len(postorder([result])))
    for step in range(order):
        if step > 1 and len(postorder([result])) > longest:
            result = _repeated(*start, by, order, trail)
            break
        result = _jacobian(result, by, disconnected if step == 0 else "zero", {}, trail)
        if step == 0 and _magnitude(by.shape) != 1:
            start = result, 1  # of many numbers reverse mode takes the first derivative
    finished = orders.finish([result])
    return trail.arrays(finished)[0] if order else Array(finished[0], trail.before)


# ---------------------------------------------------------------------------- pieces


#: A derivative of more nodes, and of twice as many as the formula, is not simplified between further orders.
_LONGEST = 60


def _repeated(f: Node, done: int, by: Node, order: int, trail: _Trail) -> Node:
    """Return the derivative of order ``order`` of a formula differentiated ``done`` times.

    Forward mode again and again, and nothing simplified in between: the k-th derivative of each
    part is one node, met wherever a product or a chain rule asks for it, so that the formula grows
    as a polynomial of the order. Simplified forms of sums of products have no such parts in common,
    and would grow exponentially.
    """
    cut = Cut(f, [by], "zero")
    (view,) = cut.views
    whole = postorder([cut.node])
    for step in range(order - done):
        cut.node = _forward(cut, view, (*cut.node.shape, *by.shape))
        if step == 0:
            whole += postorder(_summands(cut.node))
    (result,) = trail.finish(cut, [cut.node])
    if result.shape == ():
        collected = as_polynomial(cut.node, {node for node in whole if node.op in ("add", "subtract")})
        if collected is not None:
            (shorter,) = trail.finish(cut, [collected])
            if len(postorder([shorter])) < len(postorder([result])):
                return shorter
    return result


def _summands(node: Node) -> list[Node]:
    """Return the terms of a sum; of anything else the node itself."""
    terms, todo = [], [node]
    while todo:
        part = todo.pop()
        if part.op in ("add", "subtract"):
            todo += part.args
        else:
            terms.append(part)
    return terms

def _formula(f: Any) -> Node:
    node = as_node(f)
    if node.dtype is BOOL:
        raise DtypeError("the derivative of a condition; expected a formula of real numbers")
    return node


def _group(wrt: Wrt) -> list[Node]:
    several = wrt if isinstance(wrt, tuple | list) else [wrt]
    if not several:
        raise ArgumentError("nothing to differentiate by; expected an array or a tuple of them")
    for one in several:
        if not isinstance(one, Array):
            raise ArgumentError(f"wrt of type {type(one).__name__}; expected a symbolic array, or a tuple of them")
        if one.node.dtype is BOOL:
            raise DtypeError("a derivative with respect to a condition; expected real numbers")
    return [one.node for one in several]


class _Trail:
    """What leads to the derivatives of one call: what they are made of, and what is rewritten on the way."""

    def __init__(self, *sources: Any) -> None:
        self.before = provenance_of(*sources)
        self.rewrites: dict[str, None] = {}
        self.hessians: tuple[Node, ...] = ()

    def finish(self, cut: Cut, results: Sequence[Node], known: Known | None = None) -> list[Node]:
        """Simplify results, put the sub-formulas back, and note what was rewritten."""
        self.rewrites.update(dict.fromkeys(cut.rewrites))
        return cut.finish(results, known)

    def arrays(self, results: Sequence[Node]) -> list[Array]:
        """Return the results as users hold them."""
        own = Provenance(Facts((), tuple(self.rewrites), self.hessians, True))
        provenance = self.before.joined(own)
        return [Array(result, provenance) for result in results]


def _as_given(wrt: Wrt, results: Sequence[Array]) -> Any:
    return tuple(results) if isinstance(wrt, tuple | list) else results[0]


def _directions(wrt: Wrt, group: Sequence[Node], tangent: Any) -> list[Node]:
    given = list(tangent) if isinstance(wrt, tuple | list) and isinstance(tangent, tuple | list) else [tangent]
    if len(given) != len(group):
        raise ArgumentError(f"{len(given)} tangents for {len(group)} arrays to differentiate by; expected one each")
    return [_direction(t, w.shape, "tangent", "wrt") for t, w in zip(given, group, strict=True)]


def _direction(value: Any, shape: Shape, what: str, of: str) -> Node:
    node = as_node(value)
    if node.dtype is BOOL:
        raise DtypeError(f"the {what} is a condition; expected real numbers")
    if node.shape != shape:
        raise ShapeError(f"the {what} has shape {show(node.shape)}; expected {show(shape)}, the shape of {of}")
    return node


def _gradient(node: Node, group: list[Node], disconnected: str, trail: _Trail) -> list[Node]:
    if node.shape not in ((), (1, 1)):
        raise ShapeError(
            f"the gradient of a formula of shape {show(node.shape)}; expected a scalar. Write jacobian(f, wrt) for all "
            "outputs, vjp(f, wrt, seed) for a weighted sum of them, or gradient(sum(f), wrt)"
        )
    node = reshape(node, ())
    if len(group) == 1 and _magnitude(group[0].shape) == 1:  # by one number forward mode may be the cheaper
        return [_jacobian(node, group[0], disconnected, {}, trail)]
    return _pull(node, ONE, group, disconnected, trail)


def _push(node: Node, group: list[Node], directions: list[Node], disconnected: str, trail: _Trail) -> Node:
    cut = Cut(node, group, disconnected)
    tangents: dict[Node, Node] = {}
    for view, direction in zip(cut.views, directions, strict=True):
        whole = view.push(direction, 0)
        known = tangents.get(view.base)
        tangents[view.base] = whole if known is None else known + whole
    (result,) = pushforward([cut.node], tangents)
    return trail.finish(cut, [zeros(node.shape) if result is None else result])[0]


def _pull(node: Node, cotangent: Node, group: list[Node], disconnected: str, trail: _Trail) -> list[Node]:
    cut = Cut(node, group, disconnected)
    bases = list(dict.fromkeys(view.base for view in cut.views))
    pulled = dict(zip(bases, pullback({cut.node: cotangent}, bases), strict=True))
    results = []
    for view in cut.views:
        slope = pulled[view.base]
        results.append(zeros(view.node.shape) if slope is None else view.pull(slope, 0))
    finished = trail.finish(cut, results)
    for w, result in zip(group, finished, strict=True):
        _check_part(node, w, result, disconnected, trail)
    return finished


def _jacobian(node: Node, w: Node, disconnected: str, known: Known, trail: _Trail) -> Node:
    if node.shape == () and _magnitude(w.shape) != 1:
        return _pull(node, ONE, [w], disconnected, trail)[0]
    cut = Cut(node, [w], disconnected)
    (view,) = cut.views
    shape = (*node.shape, *w.shape)
    _check_size(shape)
    if view.base not in postorder([cut.node]):
        return trail.finish(cut, [zeros(shape)])[0]
    candidates = [mode(cut, view, shape) for mode in _modes(node.shape, w.shape)]
    finished = [trail.finish(cut, [c], known)[0] for c in _promising(candidates)]
    best = min(finished, key=lambda result: cost([result])) if len(finished) > 1 else finished[0]
    _check_part(node, w, best, disconnected, trail)
    return best


def _check_size(shape: Shape) -> None:
    """Refuse a derivative of text that is too large, before it is made."""
    account = current()
    if account is not None:
        check_elements(shape, account.budget.limits)


#: Of two results that have more nodes than the first, the dearer is dropped as it is; up to the second,
#: unless it costs at most so many times as much.
_LONG, _VERY_LONG, _CLOSE = 100, 200, 1.05


def _promising(candidates: list[Node]) -> list[Node]:
    """Return the results that may be the cheapest once they are simplified.

    Short ones may change a lot, and whose cost they are is seen then; of long ones, simplifying
    the dearer would take most of the time of the whole derivative.
    """
    lengths = [len(postorder([result])) for result in candidates]
    if min(lengths) <= _LONG:
        return candidates
    costs = [cost([result]) for result in candidates]
    most = min(costs) * (_CLOSE if max(lengths) <= _VERY_LONG else 1.0)
    return [result for result, own in zip(candidates, costs, strict=True) if own <= most]


def _check_part(node: Node, w: Node, result: Node, disconnected: str, trail: _Trail) -> None:
    """Refuse a part of an input that the formula leaves out, as an input left out is refused."""
    if disconnected == "error" and is_zero(result):
        view = View(w)
        if view.steps and not is_zero(_jacobian(node, view.base, "zero", {}, trail)):
            raise DisconnectedInputError(disconnection(node, w))


def _modes(outputs: Shape, inputs: Shape) -> list[Callable[[Cut, View, Shape], Node]]:
    """Return the modes worth trying: one of them where the shapes decide."""
    m, n = _magnitude(outputs), _magnitude(inputs)
    if n > 8 * m:
        return [_reverse]
    if m > 8 * n:
        return [_forward]
    return [_reverse, _forward] if m == n == 1 else [_forward, _reverse]


def _magnitude(shape: Shape) -> float:
    total = 1.0
    for size in shape:
        total *= 20.0 if isinstance(size, Size) else float(size)
    return total


def _forward(cut: Cut, view: View, shape: Shape) -> Node:
    n = view.node.ndim
    if n and all(size == 1 for size in view.node.shape):
        # by one number: without axes of its own, which would be everywhere in the result
        (moved,) = pushforward([cut.node], {view.base: view.push(reshape(ONE, view.node.shape), 0)})
        return zeros(shape) if moved is None else reshape(moved, shape)
    seed = view.push(identity(view.node.shape), n)
    (pushed,) = pushforward([cut.node], {view.base: seed}, n)
    if pushed is None:
        return zeros(shape)
    own = tuple(range(len(shape)))
    return einsum([pushed], [own], (*own[n:], *own[:n]))


def _reverse(cut: Cut, view: View, shape: Shape) -> Node:
    m = cut.node.ndim
    (pulled,) = pullback({cut.node: identity(cut.node.shape)}, [view.base], m)
    return zeros(shape) if pulled is None else view.pull(pulled, m)
