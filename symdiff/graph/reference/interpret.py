"""The reference interpreter: the meaning of every graph operation, in plain NumPy, one sample.

Slow and obvious on purpose. Whatever else computes a formula (emitted NumPy, C) is tested
against :func:`evaluate`, and every operation is one short function here. Sizes that are
symbolic take their numbers from the shapes of the inputs, by :func:`bind_sizes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from ..._kernels.system.scopes import Bound
from ...errors import ArgumentError, DtypeError, LimitError, ShapeError, SingularMatrixError
from ...ground.guard import users
from .. import (
    BOOL,
    INT,
    REAL,
    Item,
    Node,
    inputs_of,
    label_sizes,
    parts_of,
    placeholder,
    postorder,
    settles,
    step_number,
)
from ..contractions import spectrum, spectrum_parameter
from ..primitives import DELTAS, PRIMITIVES, Isotropic, Opaque, complete
from ..scalars.functions import FUNCTIONS, expanded
from ..size_equations import bind
from ..sizes import show, value
from . import numeric
from . import scipy_special as special
from .numeric import arrange

__all__ = ["call_each", "with_failures_as_nan"]


Numbers = npt.NDArray[Any]
P = ParamSpec("P")
T = TypeVar("T")

_fails_as_nan: ContextVar[bool] = ContextVar("fails_as_nan", default=False)


def with_failures_as_nan(function: Callable[P, T]) -> Callable[P, T]:
    """Let functions be nan where they fail, while a function runs that tries points of its own; a decorator."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with Bound(_fails_as_nan, True):
            return function(*args, **kwargs)

    return run


def call_each(opaque: Opaque, *given: Numbers) -> Numbers:
    """Return the values of a function, for arguments with axes in front of their own.

    Parameters
    ----------
    opaque : Opaque
    *given : ndarray
        Their axes in front broadcast.

    Raises
    ------
    ShapeError, DtypeError
        If a value has another shape than the function was made for, or holds no real numbers.

    Examples
    --------
    >>> call_each(Opaque("norm", np.linalg.norm, (), (1,)), np.array([[3.0, 4.0], [6.0, 8.0]]))
    array([ 5., 10.])
    """
    leads = [one.shape[: one.ndim - axes] for one, axes in zip(given, opaque.axes, strict=True)]
    lead = np.broadcast_shapes(*leads)
    own = [one.shape[len(front) :] for one, front in zip(given, leads, strict=True)]
    every = [
        np.broadcast_to(one.reshape((*(1,) * (len(lead) - len(front)), *one.shape)), (*lead, *shape))
        for one, front, shape in zip(given, leads, own, strict=True)
    ]
    call = _tolerant(opaque, lead) if _fails_as_nan.get() else users(opaque.function)
    if opaque.batched:  # the function may write to what it is given
        return _checked(opaque, call(*[np.array(one, np.float64) for one in every]), lead)
    result: Numbers | None = None
    for place in np.ndindex(*lead):
        args = [(np.asarray if opaque.reads else np.array)(one[place], np.float64)[()] for one in every]
        value = _checked(opaque, call(*args), ())
        if not lead:
            return value
        if result is None:
            result = np.empty((*lead, *value.shape))
        result[place] = value
    sizes = [size if isinstance(size, int) else 0 for size in opaque.shape]
    return np.empty((*lead, *sizes)) if result is None else result


def _tolerant(opaque: Opaque, lead: tuple[int, ...]) -> Callable[..., Any]:
    shape = [size if isinstance(size, int) else 1 for size in opaque.shape]

    def call(*args: Any) -> Any:
        try:
            return opaque.function(*args)
        except Exception:  # whatever it has against a point
            return np.full((*(lead if opaque.batched else ()), *shape), np.nan)

    return call


def _checked(opaque: Opaque, value: Any, lead: tuple[int, ...]) -> Numbers:
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "buif":
        raise DtypeError(f"{opaque.name} gave {type(value).__name__} of dtype {numbers.dtype}; expected real numbers")
    wanted = (*lead, *opaque.shape)
    fits = [not isinstance(size, int) or size == length for size, length in zip(wanted, numbers.shape, strict=False)]
    if numbers.ndim != len(wanted) or not all(fits):
        raise ShapeError(f"{opaque.name} gave a value of shape {numbers.shape}; expected {show(wanted)}")
    return numbers


Values = npt.NDArray[Any]
Bindings = Mapping[str, int]
#: np.einsum's names of indices.
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

#: NumPy's type for each kind of elements.
_KINDS: dict[str, type[np.generic]] = {REAL: np.float64, BOOL: np.bool_, INT: np.int64}

# ---------------------------------------------------------------------------- sizes


def bind_sizes(inputs: Sequence[Node], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """Return the numbers of the named sizes, from the shapes that came at call time.

    Parameters
    ----------
    inputs : sequence of Node
        Input nodes; their shapes may hold symbolic sizes.
    shapes : sequence of tuple of int
        Shape of one sample of each input, without batch axes.

    Raises
    ------
    ShapeError
        If a shape does not fit its input, or two inputs give one size two numbers.

    Examples
    --------
    >>> from symdiff.graph import input
    >>> from symdiff.graph.sizes import named
    >>> bind_sizes([input("A", (named("n"), named("n") + 1))], [(3, 4)])
    {'n': 3}
    """
    for node, shape in zip(inputs, shapes, strict=True):
        if len(shape) != node.ndim or any(
            isinstance(want, int) and want != got for want, got in zip(node.shape, shape, strict=True)
        ):
            raise ShapeError(f"{_title(node)} has shape {show(shape)}; expected {show(node.shape)}")
    return bind([_title(node) for node in inputs], [node.shape for node in inputs], shapes)


def _title(node: Node) -> str:
    return f"input {node.name!r}" if isinstance(node.name, str) else "an argument of a custom function"


# ---------------------------------------------------------------------------- evaluation


def evaluate(roots: Sequence[Node], values: Mapping[Any, npt.ArrayLike], inputs: Sequence[Node] = ()) -> list[Values]:
    """Compute ``roots`` at one point.

    Parameters
    ----------
    roots : sequence of Node
    values : mapping
        An array for each input, by the input's name.
    inputs : sequence of Node, optional
        Inputs that the formula may lack, for the symbolic sizes that only they carry.

    Returns
    -------
    list of ndarray
        float64, or bool for conditions; one for each root.

    Raises
    ------
    ArgumentError
        If an input has no value.
    ShapeError, DtypeError
        If a value does not fit its input.
    SingularMatrixError
        If a matrix has no inverse, or no Cholesky factor.

    Examples
    --------
    >>> from symdiff.graph import input
    >>> x = input("x")
    >>> float(evaluate([x * x + 1], {"x": 3.0})[0])
    10.0
    """
    needed = list(dict.fromkeys([*inputs, *inputs_of(roots)]))
    given: dict[Node, Values] = {}
    for node in needed:
        if node.name not in values:
            raise ArgumentError(f"{_title(node)} has no value; values came for {sorted(map(str, values)) or 'none'}")
        given[node] = _as_values(node, values[node.name])
    sizes = bind_sizes(needed, [given[node].shape for node in needed])
    with np.errstate(all="ignore"):
        try:
            return _evaluate(expanded(roots), given, sizes)
        except SingularMatrixError as error:
            raise SingularMatrixError(str(error)) from None


def _as_values(node: Node, data: npt.ArrayLike) -> Values:
    array = np.asarray(data)
    if array.dtype.kind not in "biuf":
        raise DtypeError(f"{_title(node)} came with dtype {array.dtype}; expected real numbers")
    if node.dtype is INT and array.dtype.kind not in "iu":
        raise DtypeError(f"{_title(node)} came with dtype {array.dtype}; expected integers")
    return array.astype(_KINDS[node.dtype])


def _evaluate(roots: Sequence[Node], given: Mapping[Node, Values], sizes: Bindings) -> list[Values]:
    done: dict[Node, Values] = dict(given)
    for node in postorder(roots):
        if node not in done:
            result = _compute(node, [done[arg] for arg in node.args], sizes)
            done[node] = np.asarray(result, dtype=_KINDS[node.dtype])
            expected = tuple(value(size, sizes) for size in node.shape)
            if done[node].shape != expected:
                raise AssertionError(f"{node!r} was computed with shape {done[node].shape}; expected {expected}")
    return [done[root] for root in roots]


def _compute(node: Node, args: list[Values], sizes: Bindings) -> Any:
    if node.op in FUNCTIONS:
        return find_function(FUNCTIONS[node.op].numpy)(*_of_their_kind(node, args))
    own = STRUCTURE.get(node.op)
    if own is not None:
        return own(node, args, sizes)
    args = [_real(arg) for arg in args]
    return _MEANINGS[node.op](*(_same_rank(args) if len(args) > 1 else args), *(node.payload or ()))


def _real(array: Values) -> Values:
    return array.astype(np.float64)


def _of_their_kind(node: Node, args: list[Values]) -> list[Values]:
    """Return the arguments as the row takes them: reals, conditions, or for ``where`` one and two."""
    takes = FUNCTIONS[node.op].takes
    return [
        arg.astype(np.bool_ if takes is BOOL or (node.is_choice and i == 0) else np.float64)
        for i, arg in enumerate(args)
    ]


def _same_rank(args: list[Values]) -> list[Values]:
    rank = max(arg.ndim for arg in args)
    return [arg.reshape((1,) * (rank - arg.ndim) + arg.shape) for arg in args]


@cache
def find_function(spelling: str) -> Callable[..., Any]:
    """Return the function that a row's NumPy spelling stands for: ``np.exp``, ``special.erf``, ``softplus``."""
    scope, _, name = spelling.rpartition(".")
    function: Callable[..., Any] = getattr({"np": np, "special": special, "": numeric}[scope], name)
    return function


# ---------------------------------------------------------------------------- structure, one function an operation


def _contract(node: Node, args: list[Values], sizes: Bindings) -> Any:
    labels, out, repeated = node.payload
    if len(label_sizes(node)) > len(_LETTERS):
        raise LimitError(
            f"a product over {len(label_sizes(node))} different indices; at most {len(_LETTERS)} are "
            "supported: multiply in smaller groups"
        )
    names = _LETTERS
    ones = [np.ones(value(size, sizes)) for _, size in repeated]
    own = ["".join(names[i] for i in each) for each in labels] + [names[i] for i, _ in repeated]
    result = "".join(names[i] for i in out)
    if not own:
        return np.ones(())
    parts = dict(enumerate([*map(_real, args), *ones]))
    choosing = [i for i, arg in enumerate(node.args) if arg.op in DELTAS]
    if not choosing or len(choosing) == len(parts):
        return np.einsum(f"{','.join(own)}->{result}", *parts.values())
    # a delta chooses: what it leaves out may be infinite and is not seen, so nothing is multiplied by its zeros
    chosen = [parts.pop(i) for i in choosing]
    kept = "".join(dict.fromkeys("".join([result, *(own[i] for i in choosing)])))
    dense = [own[i] for i in parts]
    free = "".join(name for name in kept if name not in "".join(dense))
    length = {names[label]: value(size, sizes) for label, size in label_sizes(node).items()}
    values = np.einsum(
        f"{','.join([*dense, *free])}->{kept}", *parts.values(), *(np.ones(length[name]) for name in free)
    )
    pattern = ",".join(own[i] for i in choosing)
    axes = "".join(name for name in kept if name in pattern)
    choice = np.einsum(f"{pattern}->{axes}", *chosen)
    choice = choice.reshape([length[name] if name in axes else 1 for name in kept])
    return np.einsum(f"{kept}->{result}", np.where(choice != 0.0, values, 0.0))


def _delta(node: Node, args: list[Values], sizes: Bindings) -> Any:
    start, step = node.payload
    rows, columns = (value(size, sizes) for size in node.shape)
    return numeric.shifted_identity(rows, columns, value(start, sizes), step)


def _onehot(node: Node, args: list[Values], sizes: Bindings) -> Any:
    result = np.zeros(value(node.shape[0], sizes))
    result[numeric.at(value(node.payload.at, sizes), len(result))] = 1.0
    return result


def _extreme(node: Node, args: list[Values], sizes: Bindings) -> Any:
    function = np.max if node.op == "max" else np.min
    return function(numeric.nonempty(_real(args[0]), node.payload.axes), axis=node.payload.axes)


def _cumsum(node: Node, args: list[Values], sizes: Bindings) -> Any:
    axis, reverse = node.payload
    x = _real(args[0])
    return np.flip(np.cumsum(np.flip(x, axis), axis), axis) if reverse else np.cumsum(x, axis)


def _arrange(node: Node, args: list[Values], sizes: Bindings) -> Any:
    return arrange(_real(args[0]), _real(args[1]), *node.payload)


def _places(items: tuple[Item, ...], shape: tuple[int, ...], sizes: Bindings) -> tuple[slice | int, ...]:
    places: list[slice | int] = []
    for (start, step, length), size in zip(items, shape, strict=True):
        first = value(start, sizes)
        places.append(
            numeric.at(first, size) if length is None else numeric.span(first, step, value(length, sizes), size)
        )
    return tuple(places)


def _slice(node: Node, args: list[Values], sizes: Bindings) -> Any:
    return args[0][_places(node.payload.items, args[0].shape, sizes)]


def _pad(node: Node, args: list[Values], sizes: Bindings) -> Any:
    result = np.zeros([value(size, sizes) for size in node.shape])
    result[_places(node.payload.items, result.shape, sizes)] = args[0]
    return result


def _gather(node: Node, args: list[Values], sizes: Bindings) -> Any:
    axis, indices = node.payload
    chosen = numeric.positions(indices, args[0].shape[axis])
    return np.take(args[0], np.array(chosen, dtype=np.intp), axis=axis)


def _scatter(node: Node, args: list[Values], sizes: Bindings) -> Any:
    axis, indices = node.payload
    result = np.zeros([value(size, sizes) for size in node.shape])
    chosen = numeric.positions(indices, result.shape[axis])
    np.add.at(np.moveaxis(result, axis, 0), np.array(chosen, dtype=np.intp), np.moveaxis(args[0], axis, 0))
    return result


def _take(node: Node, args: list[Values], sizes: Bindings) -> Any:
    x, at = args[0], args[1].astype(np.int64)
    place, shared = node.payload.axis + x.ndim, node.payload.shared
    numeric.positions([int(i) for i in at.flat], x.shape[place])
    result = np.zeros([value(size, sizes) for size in node.shape], x.dtype)
    for own in np.ndindex(at.shape):
        lead = (slice(None),) * (place - shared) + own[:shared]
        result[(*lead, *own[shared:])] = x[(*lead, at[own])]
    return result


def _put(node: Node, args: list[Values], sizes: Bindings) -> Any:
    x, at = args[0], args[1].astype(np.int64)
    result = np.zeros([value(size, sizes) for size in node.shape])
    place, shared = node.payload.axis + node.ndim, node.payload.shared
    numeric.positions([int(i) for i in at.flat], result.shape[place])
    for own in np.ndindex(at.shape):
        lead = (slice(None),) * (place - shared) + own[:shared]
        result[(*lead, at[own])] += x[(*lead, *own[shared:])]
    return result


def _triangle(node: Node, args: list[Values], sizes: Bindings) -> Any:
    upper, offset = node.payload
    return np.triu(_real(args[0]), offset) if upper else np.tril(_real(args[0]), offset)


def _custom(node: Node, args: list[Values], sizes: Bindings) -> Any:
    rule, body = node.payload
    given = dict(zip(rule.parameters, args, strict=True))
    return _evaluate([body], given, sizes)[0]


def _external(node: Node, args: Sequence[Values], sizes: Bindings) -> Values:
    return call_each(node.payload, *args)


def _recurrence(node: Node, args: list[Values], sizes: Bindings) -> Any:
    body, length, reverse = node.payload
    first = len(body.carried)
    carried, given = list(args[:first]), args[first : first + len(body.read)]
    held = dict(zip(body.held, args[first + len(given) :], strict=True))
    parts, formulas = parts_of(node), expanded(body.results)
    count, may_settle = value(length, sizes), settles(body)
    written = [np.zeros([value(size, sizes) for size in part.shape]) for part in parts[first:]]
    for k in range(count)[:: -1 if reverse else 1]:
        rows = {own: rows[k] for own, rows in zip(body.read, given, strict=True)}
        state = dict(zip(body.carried, carried, strict=True))
        results = _evaluate(formulas, {**state, **rows, **held, step_number(): np.array(float(k))}, sizes)
        before, carried = carried, results[:first]
        if may_settle and all(map(np.array_equal, before, carried)):
            break
        for rows_of, row in zip(written, results[first:], strict=True):
            rows_of[k] = row
    return np.concatenate([np.zeros(0), *(_real(part).ravel() for part in (*carried, *written))])


def _isotropic(node: Node, args: list[Values], sizes: Bindings) -> Any:
    """Turn g, or its change, into the basis of eigenvectors, with quotients where eigenvalues are not equal."""
    payload: Isotropic = node.payload
    a, given, directions = args[0], args[1 : 1 + payload.parameters], args[1 + payload.parameters :]
    x, v = numeric.eigvalsh(a), numeric.eigenvectors(a)
    at = {spectrum(node.args[0].shape[:-1]): x}
    at |= {spectrum_parameter(k, own.shape, own.dtype): value
           for k, (own, value) in enumerate(zip(node.args[1:], given, strict=False))}  # fmt: skip
    g, slopes = _evaluate(expanded([payload.function, payload.slopes]), at, sizes)
    stack = x.ndim - 1
    front = g.ndim - stack - 1
    if not directions:
        return np.einsum("...ik,...k,...jk->...ij", v, g, v)
    inside = np.swapaxes(v, -1, -2) @ directions[0] @ v
    gap = x[..., :, None] - x[..., None, :]
    k = np.where(gap == 0, 0.0, (g[..., :, None] - g[..., None, :]) / np.where(gap == 0, 1.0, gap))
    dx = np.diagonal(inside, axis1=-2, axis2=-1)
    if payload.is_by_matrix:
        moved = ((np.swapaxes(slopes, -1, -2) if payload.transposed else slopes) @ dx[..., None])[..., 0]
    else:
        if payload.transposed:
            slopes = np.moveaxis(slopes, range(front, front + stack + 1), range(-stack - 1, 0))
        flat = slopes.reshape(*slopes.shape[: front + stack + 1], -1)
        dx = dx.reshape(*dx.shape[: dx.ndim - stack - 1], *(1,) * (stack + 1), -1)
        moved = np.where(flat == 0, 0.0, flat * dx).sum(-1)
    return v @ (k * inside + moved[..., None] * np.eye(x.shape[-1])) @ np.swapaxes(v, -1, -2)


def _spectral(node: Node, args: list[Values], sizes: Bindings) -> Any:
    """Sum over all chains of eigenvalues, each with its own weight."""
    weights, count = node.payload.weights, node.payload.parameters
    order = len(args) - 1 - count
    lead = tuple(value(size, sizes) for size in node.shape[:-2])
    matrices = [np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (args[0], *args[1 + count :])]
    numbers = [np.broadcast_to(x, lead) for x in args[1 : 1 + count]]
    result = np.zeros([value(size, sizes) for size in node.shape])
    for own in np.ndindex(*lead):
        x, v = numeric.eigvalsh(matrices[0][own]), numeric.eigenvectors(matrices[0][own])
        inside = [v.T @ e[own] @ v for e in matrices[1:]]
        given: dict[Node, Values] = {
            placeholder(("parameter", k), ()): np.asarray(number[own]) for k, number in enumerate(numbers)
        }
        for chain in np.ndindex(*[len(x)] * (order + 1)):
            at = {placeholder(("eigenvalue", k), ()): np.asarray(x[i]) for k, i in enumerate(chain)}
            term = _evaluate(expanded([weights]), {**given, **at}, sizes)[0]
            for e, i, j in zip(inside, chain, chain[1:], strict=False):
                term = term * e[i, j]
            result[own] += term * np.outer(v[:, chain[0]], v[:, chain[-1]])
    return result


STRUCTURE: dict[str, Callable[[Node, list[Values], Bindings], Any]] = {
    "constant": lambda node, args, sizes: node.value,
    "size": lambda node, args, sizes: float(value(node.payload.size, sizes)),
    "contract": _contract,
    "delta": _delta,
    "onehot": _onehot,
    "max": _extreme,
    "min": _extreme,
    "cumsum": _cumsum,
    "slice": _slice,
    "pad": _pad,
    "gather": _gather,
    "scatter": _scatter,
    "take": _take,
    "put": _put,
    "arrange": _arrange,
    "triangle": _triangle,
    "reshape": lambda node, args, sizes: args[0].reshape([value(size, sizes) for size in node.shape]),
    "concatenate": lambda node, args, sizes: np.concatenate(args, axis=node.payload.axis),
    "stop_gradient": lambda node, args, sizes: args[0],
    "named": lambda node, args, sizes: args[0],
    "isotropic": _isotropic,
    "spectral": _spectral,
    "pinv": lambda node, args, sizes: numeric.pinv(args[0]),
    "expm": lambda node, args, sizes: numeric.expm(*args),
    "custom": _custom,
    "external": _external,
    "recurrence": _recurrence,
}
#: Meanings of operations that the table has.
_MEANINGS = {name: find_function(row.numpy) for name, row in PRIMITIVES.items() if row.numpy}
complete((*STRUCTURE, *_MEANINGS), __name__, without=("input",))
