"""Derivatives of symbolic arrays: gradient, Jacobian, Hessian, and products with them.

The variable may be an input, a part of one (``X[0]``), or any sub-formula, which is then
treated as if it were an input. Results have the shape of the formula followed by the shape
of the variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ..calculus import derivatives as nodes
from ..errors import ArgumentError, DtypeError, LimitError, ShapeError
from ..graph import BOOL, Node
from ..graph.sizes import Shape, show
from .array import Array, asarray
from .numpy.operands import as_node, provenance_of
from .outputs import leaves, pack, template_of, unpack
from .provenance import Facts, Provenance

#: What to differentiate with respect to: an array, or several in a tuple, list, dict or dataclass.
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
    trail = _Trail(f)
    return _as_given(wrt, trail.arrays(nodes.gradient(_formula(f), _group(wrt), disconnected, trail)))


def value_and_gradient(f: Any, wrt: Wrt, *, disconnected: str = "error") -> tuple[Array, Any]:
    """Return a scalar formula and its gradient: compiled together, they share what they have in common.

    Parameters
    ----------
    f : Array
        Shape ``()`` (a 1×1 matrix counts as a scalar).
    wrt : Array, or tuple, list, dict or dataclass of Array
        Inputs, parts of inputs, or sub-formulas.
    disconnected : {"error", "zero"}
        What to do where ``f`` does not depend on ``wrt``.

    Returns
    -------
    value : Array
    slope : Array, or a structure of them like ``wrt``
        What :func:`gradient` returns.

    Raises
    ------
    ShapeError, DisconnectedInputError, NotDifferentiableError
        As of :func:`gradient`.

    Examples
    --------
    >>> from symdiff import compile, value_and_gradient, vector
    >>> x = vector("x", 2)
    >>> k = compile(value_and_gradient(x @ x, x))
    >>> k([3.0, 4.0])
    (np.float64(25.0), array([6., 8.]))
    """
    return asarray(f), gradient(f, wrt, disconnected=disconnected)


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
    return _as_given(wrt, trail.arrays(nodes.vjp(node, cotangent, _group(wrt), disconnected, trail)))


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
    return trail.arrays([nodes.jvp(node, group, directions, disconnected, trail)])[0]


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
    known: dict[Node, Node] = {}
    trail = _Trail(f)
    return _as_given(wrt, trail.arrays([nodes.jacobian(node, w, disconnected, known, trail) for w in _group(wrt)]))


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
    trail = _Trail(f)
    rows = nodes.hessian(_formula(f), _group(wrt), disconnected, trail)
    return _as_given(wrt, [_as_given(wrt, trail.arrays(row)) for row in rows])


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
    trail = _Trail(f, vector)
    return _as_given(wrt, trail.arrays(nodes.hvp(_formula(f), group, directions, disconnected, trail)))


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
    (by,), trail = _group([wrt]), _Trail(f)
    result = nodes.derivative(_formula(f), by, order, disconnected, trail)
    return trail.arrays([result])[0] if order else Array(result, trail.before)


def _formula(f: Any) -> Node:
    node = as_node(f)
    if node.dtype is BOOL:
        raise DtypeError("the derivative of a condition; expected a formula of real numbers")
    return node


def _group(wrt: Wrt) -> list[Node]:
    several = leaves(wrt)
    if not several:
        raise ArgumentError("no variable to differentiate with respect to; expected an array or a tuple of them")
    for one in several:
        if not isinstance(one, Array):
            raise ArgumentError(f"wrt of type {type(one).__name__}; expected a symbolic array, or a tuple of them")
        if one.node.dtype is BOOL:
            raise DtypeError("a derivative with respect to a condition; expected real numbers")
    return [one.node for one in several]


class _Trail(nodes.Trail):
    """What leads to the derivatives of one call: what they are made of, and what is rewritten on the way."""

    def __init__(self, *sources: Any) -> None:
        super().__init__()
        self.before = provenance_of(*sources)

    def arrays(self, results: Sequence[Node]) -> list[Array]:
        """Return the results as users hold them."""
        own = Provenance(Facts((), tuple(self.rewrites), self.hessians, True))
        provenance = self.before.joined(own)
        return [Array(result, provenance) for result in results]


def _as_given(wrt: Wrt, results: Sequence[Any]) -> Any:
    """Return results in the structure of the variables; those of a list come in a tuple."""
    template = template_of(wrt)
    return pack(tuple(template) if isinstance(template, list) else template, iter(results))


def _directions(wrt: Wrt, group: Sequence[Node], tangent: Any) -> list[Node]:
    if isinstance(wrt, tuple | list) and len(group) == len(wrt):
        given = list(tangent) if isinstance(tangent, tuple | list) else [tangent]
    else:
        given = unpack(template_of(wrt), tangent, "the tangent")
    if len(given) != len(group):
        raise ArgumentError(f"{len(given)} tangents for {len(group)} variables; expected one each")
    return [_direction(t, w.shape, "tangent", "wrt") for t, w in zip(given, group, strict=True)]


def _direction(value: Any, shape: Shape, what: str, of: str) -> Node:
    node = as_node(value)
    if node.dtype is BOOL:
        raise DtypeError(f"the {what} is a condition; expected real numbers")
    if node.shape != shape:
        raise ShapeError(f"the {what} has shape {show(node.shape)}; expected {show(shape)}, the shape of {of}")
    return node
