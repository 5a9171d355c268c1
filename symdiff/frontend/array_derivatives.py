"""Derivatives of symbolic arrays: gradient, Jacobian, Hessian, and products with them.

The variable may be an input, a part of one (``X[0]``), or any sub-formula, which is then
treated as if it were an input. Results have the shape of the formula followed by the shape
of the variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ..calculus import derivatives as nodes
from ..calculus.wrt import InputPart, refuse_disconnected
from ..errors import ArgumentError, DtypeError, LimitError, ShapeError
from ..graph import BOOL, INT, Node, concatenate, reshape
from ..graph.scalars.functions import to_real
from ..graph.sizes import Dim, Shape, show
from ..rewrite import simplify
from .array import Array, asarray
from .display import FormulaTuple, shown
from .numpy.operands import as_node, find_spans, provenance_of
from .outputs import is_structure, leaves, pack, template_of, transform, unpack
from .provenance import Facts, Provenance, of_spans

#: Variables of a derivative: an array, or several in a tuple, list, dict or dataclass.
Wrt: TypeAlias = Any


def gradient(
    f: Any,
    wrt: Wrt,
    *,
    disconnected: str = "error",
    convention: str = "projected",
    invertible: bool = False,
    joined: bool = False,
) -> Any:
    """Return the gradient of a scalar formula.

    Parameters
    ----------
    f : Array
        Shape ``()`` (a 1×1 matrix counts as a scalar).
    wrt : Array, or tuple or list of Array
        Inputs, parts of inputs, or sub-formulas.
    disconnected : {"error", "zero"}
        What to do where ``f`` does not depend on ``wrt``.
    convention : {"projected", "entries"}
        With respect to a matrix declared symmetric or skew: the projection of the derivative with respect to free
        entries, or the derivative with respect to independent entries, which for a symmetric matrix is 2 G - diag(G).
    invertible : bool
        Whether every matrix of which a determinant is taken has an inverse. The derivative of ``det(A)`` is then
        ``det(A) * inv(A).T`` in place of ``adjugate(A).T``, and raises where A has none.
    joined : bool
        Return one vector, with an element for each of each input, in order.

    Returns
    -------
    Array or tuple of Array
        Of the shape of ``wrt``. Joined: a vector.

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
    group, trail = _group(wrt), _Trail(f, invertible=invertible)
    parts = _by(convention, nodes.gradient(formula := _formula(f), group, disconnected, trail), group, 0)
    if joined:
        return trail.arrays([_flat(parts)])[0]
    return _as_given(wrt, trail.arrays(parts, of=convention == "projected" and (formula, group)))


def value_and_gradient(
    f: Any, wrt: Wrt, *, disconnected: str = "error", convention: str = "projected", invertible: bool = False
) -> tuple[Array, Any]:
    """Return a scalar formula and its gradient: compiled together, they share what they have in common.

    Parameters
    ----------
    f : Array
        Shape ``()`` (a 1×1 matrix counts as a scalar).
    wrt : Array, or tuple, list, dict or dataclass of Array
        Inputs, parts of inputs, or sub-formulas.
    disconnected, convention, invertible
        As for :func:`gradient`.

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
    slope = gradient(f, wrt, disconnected=disconnected, convention=convention, invertible=invertible)
    return FormulaTuple((asarray(f), slope))


def vjp(
    f: Any, wrt: Wrt, seed: Any, *, disconnected: str = "error", convention: str = "projected", invertible: bool = False
) -> Any:
    """Return the product of a cotangent with the Jacobian: sum over k of ``seed[k] * d f[k] / d wrt``.

    Parameters
    ----------
    f : Array, or a structure of Array
        Of several formulas the products are added up.
    wrt : Array, or tuple or list of Array
    seed : Array or array_like, or a structure of them like ``f``
        Cotangent, of the shape of ``f``: numbers, a symbol or another formula.
    disconnected : {"error", "zero"}
    convention : {"projected", "entries"}
        As for :func:`gradient`.

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
    >>> vjp([x * x, x @ x], x, [x, 3])
    6 * x + 2 * x ** 2
    """
    if is_structure(f):
        outputs = _several(f)
        seeds = zip(unpack(template_of(f), seed, "the seed"), outputs, strict=True)
        parts = [_direction(one, own.shape, "seed", "its formula") for one, own in seeds]
        node, cotangent = _flat(outputs), _flat(parts)
    else:
        node = _formula(f)
        cotangent = _direction(seed, node.shape, "seed", "the formula")
    group, trail = _group(wrt), _Trail(f, seed, invertible=invertible)
    results = nodes.vjp(node, cotangent, group, disconnected, trail)
    return _as_given(wrt, trail.arrays(_by(convention, results, group, 0)))


def jvp(f: Any, wrt: Wrt, tangent: Any, *, disconnected: str = "error", invertible: bool = False) -> Any:
    """Return the directional derivative: the product of the Jacobian with a tangent.

    Parameters
    ----------
    f : Array, or a structure of Array
    wrt : Array, or tuple or list of Array
    tangent : Array or array_like, or a tuple or list of them
        Direction, of the shape of ``wrt`` (one for each, if there are several).
    disconnected : {"error", "zero"}
    invertible : bool
        As for :func:`gradient`.

    Returns
    -------
    Array, or a structure of Array
        Of the shape of ``f``, for each formula of a structure.

    Examples
    --------
    >>> from symdiff import jvp, vector
    >>> x, v = vector("x", 3), vector("v", 3)
    >>> jvp([x * x, x @ x], x, v)
    [2 * x * v, 2 * (v @ x)]
    """
    group = _group(wrt)
    if is_structure(f):
        if disconnected == "error":
            refuse_disconnected(_flat(_several(f)), [InputPart(w) for w in group])
            disconnected = "zero"
        return shown(transform(f, lambda one: jvp(one, wrt, tangent, disconnected=disconnected, invertible=invertible)))
    node, directions = _formula(f), _directions(wrt, group, tangent)
    trail = _Trail(f, tangent, invertible=invertible)
    return trail.arrays([nodes.jvp(node, group, directions, disconnected, trail)])[0]


def jacobian(
    f: Any,
    wrt: Wrt,
    *,
    disconnected: str = "error",
    convention: str = "projected",
    invertible: bool = False,
    joined: bool | None = None,
) -> Any:
    """Return all partial derivatives of every output.

    Parameters
    ----------
    f : Array, or list of Array
        Of any shape.
    wrt : Array, or tuple or list of Array
    disconnected : {"error", "zero"}
        What to do where ``f`` does not depend on ``wrt``. Blocks of a joined matrix are zeros either way.
    convention : {"projected", "entries"}
        As for :func:`gradient`, along the axes of ``wrt``.
    joined : bool, optional
        Return one matrix for all outputs by all inputs, as SymPy's ``Matrix.jacobian`` does: a row for each element of
        each output, a column for each element of each input, in order. By default so if ``f`` is a list, or a SymPy
        matrix and ``wrt`` a list.

    Returns
    -------
    Array or tuple of Array
        Of shape ``f.shape + wrt.shape``: first the output's axes, then the input's. Joined: a matrix.

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
    >>> from symdiff import scalar
    >>> x, y = scalar("x"), scalar("y")
    >>> jacobian([x * y, x**2], [x, y])
    [[y, x], [2 * x, 0]]
    """
    if joined is None:
        joined = isinstance(f, list | tuple) and isinstance(wrt, list | tuple)
    if joined:
        outputs = f if isinstance(f, list | tuple) else [f]
        return _joined_jacobian(outputs, wrt, disconnected, convention, invertible)
    node = _formula(f)
    known: dict[Node, Node] = {}
    group, trail = _group(wrt), _Trail(f, invertible=invertible)
    results = [nodes.jacobian(node, w, disconnected, known, trail) for w in group]
    parts = _by(convention, results, group, node.ndim)
    return _as_given(wrt, trail.arrays(parts, [node.ndim] * len(parts), convention == "projected" and (node, group)))


def _joined_jacobian(outputs: Sequence[Any], wrt: Wrt, disconnected: str, convention: str, invertible: bool) -> Array:
    """Return one matrix, a row for each element of the outputs, a column for each of the inputs."""
    formulas = _several(outputs)
    if disconnected not in ("error", "zero"):
        raise ArgumentError(f"disconnected={disconnected!r}; expected 'error' or 'zero'")
    group, trail = _group(wrt), _Trail(*outputs, invertible=invertible)
    rows = []
    for node in formulas:
        known = dict[Node, Node]()
        row = [nodes.jacobian(node, w, "zero", known, trail) for w in group]
        rows.append(_by(convention, row, group, node.ndim))
    lengths = [node.size for node in formulas]
    return trail.arrays([_joined(rows, lengths, [w.size for w in group])], [1])[0]


def _joined(blocks: Sequence[Sequence[Node]], rows: Sequence[Dim], columns: Sequence[Dim]) -> Node:
    """Return blocks as one matrix, each flattened to as many rows and columns as it has elements along them."""
    flat = []
    for row, m in zip(blocks, rows, strict=True):
        if m == 1:  # a vector, which is written as such
            line = concatenate([reshape(block, (n,)) for block, n in zip(row, columns, strict=True)], 0)
            flat.append(reshape(line, (1, line.size)))
        else:
            flat.append(concatenate([reshape(block, (m, n)) for block, n in zip(row, columns, strict=True)], 1))
    return concatenate(flat, 0)


def hessian(
    f: Any,
    wrt: Wrt,
    *,
    disconnected: str = "error",
    convention: str = "projected",
    invertible: bool = False,
    joined: bool = False,
) -> Any:
    """Return the second derivatives of a scalar formula.

    Parameters
    ----------
    f : Array
        Shape ``()``.
    wrt : Array, or tuple or list of Array
    disconnected : {"error", "zero"}
        What to do where ``f`` does not depend on ``wrt``. Mixed blocks that are zero are
        zeros either way.
    convention : {"projected", "entries"}
        As for :func:`gradient`, along the axes of both variables.
    joined : bool
        Return one matrix, with a row and a column for each element of each input, in order.

    Returns
    -------
    Array or tuple of tuple of Array
        Of shape ``wrt.shape + wrt.shape``; for several, a block for each pair. Joined: a matrix.

    Examples
    --------
    >>> from symdiff import matrix, vector, hessian
    >>> A, x = matrix("A", "n", "n"), vector("x", "n")
    >>> hessian(x @ A @ x, x)
    A.T + A
    """
    group, trail = _group(wrt), _Trail(f, invertible=invertible)
    rows = nodes.hessian(_formula(f), group, disconnected, trail)
    if convention != "projected":
        rows = [
            _by(convention, _by(convention, row, [w] * len(row), 0), group, w.ndim)
            for w, row in zip(group, rows, strict=True)
        ]
        trail.hessians = tuple(row[k] for k, row in enumerate(rows)) if trail.hessians else ()
    if joined:
        lengths = [w.size for w in group]
        return trail.arrays([_joined(rows, lengths, lengths)], [1])[0]
    blocks = [trail.arrays(row, [w.ndim] * len(row)) for w, row in zip(group, rows, strict=True)]
    return _as_given(wrt, [_as_given(wrt, row) for row in blocks])


def hvp(f: Any, wrt: Wrt, vector: Any, *, disconnected: str = "error", invertible: bool = False) -> Any:
    """Return the product of the Hessian of a scalar formula with a vector.

    Parameters
    ----------
    f : Array
        Shape ``()``.
    wrt : Array, or tuple or list of Array
    vector : Array or array_like, or a tuple or list of them
        Of the shape of ``wrt``.
    disconnected : {"error", "zero"}
    invertible : bool
        As for :func:`gradient`.

    Returns
    -------
    Array or tuple of Array
        Of the shape of ``wrt``.
    """
    group = _group(wrt)
    directions = _directions(wrt, group, vector)
    trail = _Trail(f, vector, invertible=invertible)
    return _as_given(wrt, trail.arrays(nodes.hvp(_formula(f), group, directions, disconnected, trail)))


def derivative(f: Any, wrt: Array, order: int = 1, *, disconnected: str = "error", invertible: bool = False) -> Array:
    """Return the derivative of any order: the Jacobian taken ``order`` times.

    Parameters
    ----------
    f : Array
    wrt : Array
    order : int
        From 0 up.
    disconnected : {"error", "zero"}
    invertible : bool
        As for :func:`gradient`.

    Returns
    -------
    Array
        Of shape ``f.shape + order * wrt.shape``.

    Examples
    --------
    >>> from symdiff import scalar, derivative
    >>> x = scalar("x")
    >>> derivative(x**3, x, 2)
    6 * x
    """
    if isinstance(order, bool) or not isinstance(order, int) or order < 0:
        mixed = "; a mixed derivative is a gradient of a gradient" if isinstance(order, str | Array) else ""
        raise ArgumentError(f"order={order!r:.60}; expected a whole number from 0 up{mixed}")
    if order > 20:
        raise LimitError("a derivative of an order over 20, which is the limit")
    by, *others = _group([wrt])
    if others:
        raise ArgumentError(f"a derivative by {1 + len(others)} variables; expected one (sd.gradient takes several)")
    trail = _Trail(f, invertible=invertible)
    result = nodes.derivative(_formula(f), by, order, disconnected, trail)
    return trail.arrays([result])[0] if order else Array(result, trail.before)


def _formula(f: Any) -> Node:
    node = as_node(f)
    if node.dtype is BOOL:
        raise DtypeError("the derivative of a condition; expected a formula of real numbers")
    return to_real(node)


def _several(f: Any) -> list[Node]:
    """Return the formulas of a structure."""
    formulas = [_formula(one) for one in leaves(f)]
    if not formulas:
        raise ArgumentError("no formula to differentiate; expected an array or a list of them")
    return formulas


def _flat(parts: Sequence[Node]) -> Node:
    """Return the elements of arrays as one vector."""
    return concatenate([reshape(part, (part.size,)) for part in parts], 0)


def _group(wrt: Wrt) -> list[Node]:
    several = leaves(wrt)
    if not several:
        raise ArgumentError("no variable to differentiate with respect to; expected an array or a tuple of them")
    for one in several:
        if not isinstance(one, Array):
            raise ArgumentError(f"wrt of type {type(one).__name__}; expected a symbolic array, or a tuple of them")
        if one.node.dtype is BOOL:
            raise DtypeError("a derivative with respect to a condition; expected real numbers")
        if one.node.dtype is INT:
            raise DtypeError("a derivative with respect to positions, which are whole numbers; expected real numbers")
    return [one.node for one in several]


def _by(convention: str, results: Sequence[Node], group: Sequence[Node], axis: int) -> list[Node]:
    """Return derivatives with respect to the variables of ``group``, whose axes begin at ``axis``, in a convention."""
    if convention == "projected":
        return list(results)
    if convention != "entries":
        raise ArgumentError(f"convention={convention!r:.60}; expected 'projected' or 'entries'")
    return simplify([InputPart(w).by_entries(one, axis) for w, one in zip(group, results, strict=True)])


class _Trail(nodes.Trail):
    """The way to the derivatives of one call: their parts, and the rewrites on the way."""

    def __init__(self, *sources: Any, invertible: bool) -> None:
        super().__init__()
        if not isinstance(invertible, bool):
            raise ArgumentError(f"invertible={invertible!r:.60}; expected True or False")
        self.invertible = invertible
        self.before = provenance_of(*sources).joined(of_spans(find_spans(sources)))

    def arrays(self, results: Sequence[Node], rows: Sequence[int] = (), of: Any = None) -> list[Array]:
        """Return results as users hold them: ``rows`` counts a formula's axes, ``of`` is a formula and variables."""
        matrices = tuple(zip(results, rows, strict=True)) if rows else ()
        derivations = tuple((r, of[0], w) for r, w in zip(results, of[1], strict=True)) if of else ()
        own = Provenance(Facts((), tuple(self.rewrites), self.hessians, True, matrices, derivations))
        provenance = self.before.joined(own)
        return [Array(result, provenance) for result in results]


def _as_given(wrt: Wrt, results: Sequence[Any]) -> Any:
    """Return results in the structure of the variables; those of a list come in a tuple."""
    template = template_of(wrt)
    return shown(pack(tuple(template) if isinstance(template, list) else template, iter(results)))


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
