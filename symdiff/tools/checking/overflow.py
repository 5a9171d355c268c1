"""Why a value or a derivative is nan or inf where the exact one is a number, and which operation is to blame."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...errors import SymdiffError
from ...frontend import array_derivatives as derivatives
from ...frontend.array import Array
from ...graph import BOOL, Node, dependents, inputs_of, postorder
from ...graph.reference.interpret import Bindings, evaluate
from ...graph.sizes import value
from ...printing import text
from ...rewrite import inline, simplify
from .declared import projected

#: Most elements of an output, and of a variable, that are examined.
_ELEMENTS = 16


def find_overflow(
    outputs: Sequence[Node],
    wrt: Sequence[Node],
    point: Mapping[str, Any],
    sizes: Bindings,
    results: Sequence[Any],
) -> Iterator[str]:
    """Say where a value or a first derivative is nan or inf, though the exact one is finite.

    Parameters
    ----------
    outputs, wrt : sequence of Node
    point : mapping of str to ndarray
    sizes : mapping of str to int
    results : sequence of ndarray
        The outputs as they were computed.

    Yields
    ------
    str
        At most one sentence for the value and one for each derivative.
    """
    barred = any(node.op in ("stop_gradient", "custom") for node in postorder(outputs))
    for output, result in zip(outputs, results, strict=True):
        (plain,) = inline([output])
        yield from _look([plain], "the value", np.asarray(result), partial(_value, plain, point, sizes), point)
        for w in wrt if not barred else ():
            if not w.is_input or math.prod(value(size, sizes) for size in w.shape) > _ELEMENTS:
                continue
            derivative = derivatives.jacobian(Array(output), Array(w), disconnected="zero").node
            (got,) = evaluate(inline(simplify([derivative])), point, inputs_of([output]))
            name = f"the derivative with respect to {w.name}"
            yield from _look([derivative], name, got, partial(_slopes, plain, w, point, sizes), point)


def _look(roots: Sequence[Node], name: str, got: Any, exact: Any, point: Mapping[str, Any]) -> Iterator[str]:
    odd = np.argwhere(~np.isfinite(got))
    if not len(odd) or got.size > _ELEMENTS**2:
        return
    try:
        wanted = exact()
    except SymdiffError:  # an operation that is not known in many digits: nothing to compare with
        return
    for place in map(tuple, odd):
        number = float(wanted[place])
        if math.isfinite(number):
            at = f" at element {[int(i) for i in place]}" if place else ""
            yield f"{name} is {got[place]}{at}, but the exact one is {number:.6g}: {_culprit(roots, point)}"
            return


def _multiprecision() -> Any:
    """Return the module that computes in many digits; mpmath is loaded when it is needed."""
    from . import multiprecision

    return multiprecision


def _value(plain: Node, point: Mapping[str, Any], sizes: Bindings) -> Any:
    digits = _multiprecision()
    spread = digits.spread_of(point.values())
    many = digits.CHECKED + spread.decades
    return digits.limit(lambda t: digits.exact_values([plain], _moved(point, t), sizes, many)[0], spread)


def _moved(point: Mapping[str, Any], t: Any) -> dict[str, Any]:
    """Return the point with each number that is not a condition moved by t."""
    if not t:
        return dict(point)
    return {name: np.frompyfunc(lambda x: t + float(x), 1, 1)(np.asarray(a)) for name, a in point.items()}


def _slopes(plain: Node, w: Node, point: Mapping[str, Any], sizes: Bindings) -> Any:
    digits = _multiprecision()
    array = np.asarray(point[str(w.name)], dtype=float)
    spread = digits.spread_of(point.values())
    many = digits.CHECKED + spread.decades
    columns = []
    for place in np.ndindex(*array.shape):
        direction = np.zeros(array.shape)
        direction[place] = 1.0
        direction = projected(w.assumptions.space, direction)

        def along(t: Any, direction: Any = direction) -> Any:
            moved = array.astype(object)
            for own in map(tuple, np.argwhere(direction)):
                moved[own] = t * float(direction[own]) + float(array[own])
            return digits.exact_values([plain], {**point, str(w.name): moved}, sizes, many)[0]

        columns.append(digits.slope(along, spread))
    stacked = np.stack([np.asarray(column, dtype=object) for column in columns], axis=-1)
    return stacked.reshape((*stacked.shape[:-1], *array.shape))


def _culprit(roots: Sequence[Node], point: Mapping[str, Any]) -> str:
    """Name the first operation whose arguments are finite and whose result is not."""
    plain = simplify(inline(roots), written=True)
    order = [node for node in postorder(plain) if node.dtype is not BOOL]
    carriers = inputs_of(plain)
    active = dependents(order, carriers)
    for node in order:
        if node.args and node in active:
            result, *args = evaluate([node, *node.args], point, carriers)
            if not np.isfinite(result).all() and all(np.isfinite(arg).all() for arg in args):
                shown = text(node).rpartition("\n")[2]
                shown = shown if len(shown) <= 60 else shown[:57] + "..."
                kind = "0 / 0" if node.is_division and not np.all(args[1]) else "overflow"
                return f"{kind} in {shown}; {_ADVICE[kind]}"
    return "its terms overflow; write it with smaller ones"


_ADVICE = {
    "overflow": "divide above and below the line by what grows, so that exponents are negative",
    "0 / 0": "write where(x == 0, limit, ...), or a series near that point",
}
