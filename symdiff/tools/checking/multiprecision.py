"""What a formula is worth in many digits: the exact value beside a double's nan or inf.

The graph is evaluated on arrays of mpmath's numbers, whose exponents have no end, so that nothing
overflows; what cancels has digits to lose. Slow and obvious: it is asked at one point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mpmath as mp
import numpy as np

from ...errors import UnsupportedError
from ...graph import Node, label_sizes, postorder
from ...graph.reference.interpret import STRUCTURE, Bindings
from ...graph.reference.many_digits import DIGITS_OF
from ...graph.scalars.functions import FUNCTIONS, as_written
from ...graph.sizes import value

#: Decimal digits, the step of differences, and how far beside a point its limit is looked for.
DIGITS = 120
STEP, BESIDE = mp.mpf(10) ** -40, mp.mpf(10) ** -30
#: Elements up to which an array is computed here.
MOST = 400


def _real(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give nan where a function has no real value."""

    def call(*args: Any) -> Any:
        try:
            result = function(*args)
        except (ZeroDivisionError, ValueError, OverflowError, mp.libmp.NoConvergence):
            return mp.nan
        if isinstance(result, mp.mpc):
            return result.real if result.imag == 0 else mp.nan
        return result

    return call


def exact_values(roots: Sequence[Node], point: Mapping[Any, Any], sizes: Bindings) -> list[Any]:
    """Evaluate nodes in many digits.

    Parameters
    ----------
    roots : sequence of Node
        Without names, barriers and custom functions (see :func:`symdiff.simplify.inline`).
    point : mapping
        An array for each input, by the input's name: of floats or of mpmath's numbers.
    sizes : mapping of str to int
        What named sizes are.

    Returns
    -------
    list of ndarray of objects
        nan where there is no real value.

    Raises
    ------
    UnsupportedError
        If an operation is not known here, or an array is too large.
    """
    done: dict[Node, Any] = {}
    written = as_written(roots)
    with mp.workdps(DIGITS):
        for node in postorder(written):
            if math.prod(value(size, sizes) for size in node.shape) > MOST:
                raise UnsupportedError(f"an array of more than {MOST} elements in many digits")
            done[node] = _compute(node, [done[arg] for arg in node.args], point, sizes)
    return [done[root] for root in written]


def _objects(array: Any) -> Any:
    """Return an array of mpmath's numbers; conditions stay what they are."""
    array = np.asarray(array)
    if array.dtype.kind == "f":
        return np.frompyfunc(mp.mpf, 1, 1)(array) if array.ndim else np.asarray(mp.mpf(float(array)), dtype=object)
    return np.asarray(array, dtype=object)


def _compute(node: Node, args: list[Any], point: Mapping[Any, Any], sizes: Bindings) -> Any:
    if node.is_input:
        return _objects(point[node.name])
    if node.op in FUNCTIONS:
        if node.op not in DIGITS_OF:
            raise UnsupportedError(f"{node.op} in many digits")
        return np.asarray(np.frompyfunc(_real(DIGITS_OF[node.op]), len(args), 1)(*args), dtype=object)
    if node.op in _REDUCED:
        return np.asarray(_REDUCED[node.op](node, args), dtype=object)
    if node.is_contraction:
        return _contract(node, args, sizes)
    if node.op in _AS_THEY_ARE:
        return _objects(STRUCTURE[node.op](node, args, sizes))
    raise UnsupportedError(f"{node.op} in many digits")


def _contract(node: Node, args: list[Any], sizes: Bindings) -> Any:
    """Add up products, one combination of indices at a time."""
    labels, out, _ = node.payload
    length = {label: value(size, sizes) for label, size in label_sizes(node).items()}
    summed = [label for label in length if label not in out]
    if math.prod(length.values()) > MOST * 10:
        raise UnsupportedError("a product of arrays that are large in many digits")
    result = np.empty([length[label] for label in out], dtype=object)
    for place in np.ndindex(*result.shape):
        at = dict(zip(out, place, strict=True))
        total = mp.mpf(0)
        for inner in np.ndindex(*[length[label] for label in summed]):
            at.update(zip(summed, inner, strict=True))
            factors = [arg[tuple(at[label] for label in own)] for arg, own in zip(args, labels, strict=True)]
            total += mp.mpf(0) if 0 in factors else mp.fprod(factors)
        result[place] = total
    return result


def _each(function: Callable[[Any], Any], x: Any) -> Any:
    return np.asarray(np.frompyfunc(_real(function), 1, 1)(x), dtype=object)


def _total(x: Any, axes: tuple[int, ...], keep: bool = False) -> Any:
    return np.asarray(np.sum(x, axis=axes, keepdims=keep), dtype=object)


def _softmax(node: Node, args: list[Any]) -> Any:
    powers = _each(mp.exp, args[0])
    return powers / _total(powers, node.payload.axes, keep=True)


def _unit(node: Node, args: list[Any]) -> Any:
    length = _each(mp.sqrt, _total(args[0] * args[0], node.payload.axes, keep=True))
    return np.frompyfunc(lambda x, r: x / r if r else mp.mpf(0), 2, 1)(args[0], length)


def _by_matrix(function: Callable[..., Any]) -> Callable[[Node, list[Any]], Any]:
    def call(node: Node, args: list[Any]) -> Any:
        if args[0].ndim != 2:
            raise UnsupportedError(f"a stack of matrices in {node.op} in many digits")
        try:
            return function(*[mp.matrix(arg.tolist()) for arg in args])
        except ZeroDivisionError:
            return np.full([len(args[-1])] * (node.ndim > 0) + [args[-1].shape[-1]] * (node.ndim > 1), mp.nan, object)

    return call


def _array(m: Any) -> Any:
    return np.array(m.tolist(), dtype=object).reshape(m.rows, m.cols)


#: Operations that move numbers, or make them, as the interpreter does.
_AS_THEY_ARE = frozenset(("constant", "size", "delta", "onehot", "slice", "reshape", "concatenate"))

_REDUCED: dict[str, Callable[[Node, list[Any]], Any]] = {
    "max": lambda node, args: np.max(args[0], axis=node.payload.axes),
    "min": lambda node, args: np.min(args[0], axis=node.payload.axes),
    "prod": lambda node, args: np.prod(args[0], axis=node.payload.axes),
    "norm": lambda node, args: _each(mp.sqrt, _total(args[0] * args[0], node.payload.axes)),
    "logsumexp": lambda node, args: _each(mp.log, _total(_each(mp.exp, args[0]), node.payload.axes)),
    "softmax": _softmax,
    "log_softmax": lambda node, args: _each(mp.log, _softmax(node, args)),
    "unit": _unit,
    "det": _by_matrix(mp.det),
    "logdet": _by_matrix(lambda a: mp.log(mp.det(a))),
    "logabsdet": _by_matrix(lambda a: mp.log(abs(mp.det(a)))),
    "inv": _by_matrix(lambda a: _array(a**-1)),
    "solve": _by_matrix(lambda a, b: _array(mp.lu_solve(a, b) if b.cols == 1 else a**-1 * b)),
}


def limit(f: Callable[[Any], Any], smooth: bool = False) -> Any:
    """Return f(0) in many digits, or the number that f is close to on both sides of 0; nan where there is none.

    Parameters
    ----------
    f : callable
        Takes a number of mpmath, gives an array of such.
    smooth : bool
        Whether f(0) itself counts only where f is close to it on both sides.
    """

    def choose(here: Any, *beside: Any) -> Any:
        if mp.isfinite(here) and not smooth:
            return here
        if not all(map(mp.isfinite, beside)):
            return mp.nan
        near = [x for x in (here, *beside) if mp.isfinite(x)]
        middle = (beside[-2] + beside[-1]) / 2
        close = all(abs(x - middle) <= mp.mpf(10) ** -8 * (1 + abs(middle)) for x in near)
        return (here if mp.isfinite(here) else middle) if close else mp.nan

    with mp.workdps(DIGITS):
        steps = (mp.mpf(0), -1000 * BESIDE, 1000 * BESIDE, -BESIDE, BESIDE)
        found = [np.asarray(f(t), dtype=object) for t in steps]
        return np.asarray(np.frompyfunc(choose, len(steps), 1)(*found), dtype=object)


def slope(f: Callable[[Any], Any]) -> Any:
    """Return the derivative of f at 0 by central differences in many digits; nan where f is not smooth."""
    with mp.workdps(DIGITS):
        return limit(lambda t: (np.asarray(f(t + STEP)) - np.asarray(f(t - STEP))) / (2 * STEP), smooth=True)
