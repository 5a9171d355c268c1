"""Second derivatives: a product of two directions with them is one number, whichever direction comes first.

It is also the change of the first derivative along one of them, in the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...calculus.wrt import InputPart
from ...compiler import compile
from ...errors import LimitError, NotDifferentiableError, SingularMatrixError
from ...frontend.array import Array
from ...frontend.array_derivatives import gradient, hvp
from ...frontend.symbols import array
from ...graph import Node, postorder
from ...graph.sizes import Shape
from .custom_rules import move
from .differences import Numbers, Tally, extrapolate, nudged
from .ways import charge, fresh

__all__ = ["compare_second"]

#: Pairs of directions that are tried.
_PAIRS = 3
#: Up to this share of a difference its doubt may be for it to count; a gradient may have kinks near by.
_SETTLED = 1e-5
#: Differences of a gradient that is noise are so many times as large, at the shortest steps.
_LOST = 1e5
#: A longest step that goes over few jumps.
_CLOSER = 2.0**-11


def compare_second(
    outputs: Sequence[Node],
    inputs: Mapping[str, Node],
    w: Node,
    point: Mapping[str, Numbers],
    fixed: Callable[[Shape], tuple[int, ...]],
    rng: np.random.Generator,
    tally: Tally,
    moved: Tally,
    certain: Callable[[Numbers, Numbers, Numbers, tuple[float, float]], tuple[float, float] | None] | None = None,
) -> None:
    """Compare v·H u with u·H v, and with the change of v·g along u, for a random weighted sum of the outputs.

    H is the sum's Hessian and g its gradient. An H that is wrong and symmetric is told by the change alone.

    Parameters
    ----------
    outputs : sequence of Node
    inputs : mapping of str to Node
    w : Node
        The variable.
    point : mapping of str to ndarray
    fixed : callable
        Gives the numbers of a shape with letters.
    rng : Generator
    tally, moved : Tally
        Count the two comparisons; nothing is added for custom functions, whose rules need not be derivatives of
        anything, and for formulas without second derivatives.
    """
    if any(node.is_custom for node in postorder(outputs)):
        return
    drawn: dict[str, Numbers] = {}
    symbols: list[Array] = []

    def symbol(name: str, shape: Shape) -> Array:
        name = fresh(name, inputs)
        drawn[name] = rng.normal(size=fixed(shape))
        symbols.append(array(name, shape))
        return symbols[-1]

    weighted = [np.sum(symbol(f"weight{i}", node.shape) * Array(node)) for i, node in enumerate(outputs)]
    total = sum(weighted[1:], start=weighted[0])
    weights = list(drawn)
    u, v = symbol("first", w.shape), symbol("second", w.shape)
    names = [name for name in drawn if name not in weights]
    try:
        products = [np.sum(left * hvp(total, Array(w), right, disconnected="zero")) for left, right in ((v, u), (u, v))]
        known = [*map(Array, inputs.values()), *symbols]
        kernel = compile(products, known)
        slope = np.sum(v * gradient(total, Array(w), disconnected="zero"))
        step = array(fresh("step", inputs), ())
        view = InputPart(w)
        (along,) = move([slope.node], view.base, view.push((step * u).node, 0))
        sloping = compile([Array(along)], [*known, step], batch=[step])
        for _ in range(_PAIRS):
            one, other = kernel(inputs={**point, **drawn})
            if certain is not None:
                flat = np.concatenate([np.ravel(drawn[name]) for name in weights])
                u_name, v_name = [name for name in drawn if name not in weights][:2]
                found = certain(
                    flat,
                    np.asarray(drawn[u_name]),
                    np.asarray(drawn[v_name]),
                    (float(np.ravel(one)[0]), float(np.ravel(other)[0])),
                )
                if found is not None:
                    moved.judge(np.atleast_1d(one), np.atleast_1d(found[0]), np.atleast_1d(found[1]))
                    moved.judge(np.atleast_1d(other), np.atleast_1d(found[0]), np.atleast_1d(found[1]))
                    tally.judge(np.atleast_1d(one), np.atleast_1d(other), np.atleast_1d(2 * found[1]))
                    drawn.update({name: rng.normal(size=drawn[name].shape) for name in names})
                    continue
            values = {**point, **drawn}
            name = str(step.node.name)
            change, error = extrapolate(at_steps := partial(_at_steps, sloping, values, name))
            again = [partial(_product, kernel, {**near, **drawn}) for near in nudged(point, inputs)]
            points = point, *nudged(point, inputs)
            here, *there = (_at_steps(sloping, {**at, **drawn}, name, np.zeros(1)) for at in points)
            with np.errstate(invalid="ignore"):
                noise = max(float(np.abs(other - here).max()) for other in there)
            settled = (error <= _SETTLED * np.abs(change) + 1e-12).all() and (np.abs(change) >= _LOST * noise).all()
            if np.isfinite(change).all() and settled:
                closer, doubt = extrapolate(at_steps, _CLOSER)  # long steps go over jumps of the gradient
                if (np.abs(closer - change) <= 1e-3 * np.abs(change) + 10 * (error + doubt)).all():
                    moved.add(np.atleast_1d(one), change, error, again)
            tally.add(np.atleast_1d(one), np.atleast_1d(other), np.atleast_1d(1e-9 * np.abs(one)), again)
            drawn.update({name: rng.normal(size=drawn[name].shape) for name in names})
    except (NotDifferentiableError, LimitError, SingularMatrixError):
        return


def _product(kernel: Callable[..., Any], values: Mapping[str, Numbers]) -> Numbers:
    return np.atleast_1d(kernel(inputs=values)[0])


def _at_steps(kernel: Callable[..., Any], values: Mapping[str, Numbers], name: str, steps: Numbers) -> Numbers:
    """Return the value at each step, (steps, 1)."""
    charge(len(steps))
    found: Numbers = np.reshape(kernel(inputs={**values, name: steps})[0], (len(steps), 1))
    return found
