"""The derivatives of a formula by one input, one kernel per mode, and its second derivatives.

A product of two directions with the second derivatives is one number, whichever direction comes first; it is also the
change of the first derivative along one of them, in the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...calculus.cost import cost, extent
from ...calculus.modes import pushforward
from ...calculus.wrt import InputPart
from ...compiler import compile
from ...errors import LimitError, NotDifferentiableError, SingularMatrixError
from ...frontend import array_derivatives as derivatives
from ...frontend.array import Array
from ...frontend.array_derivatives import gradient, hvp
from ...frontend.symbols import array
from ...graph import Node, postorder, rebuild, substitute
from ...graph.sizes import Shape
from ...ground.budget import require, spend
from ...rewrite import inline
from .differences import STEPS, Numbers, Tally, extrapolate, nudged

__all__ = ["Ways", "charge", "compare_second", "fresh", "moved_body"]


def charge(operations: float) -> None:
    """Charge a run of a kernel: some hundred operations are a step, and a call takes some."""
    spend(20 + int(operations) // 200)


def move(roots: Sequence[Node], base: Node, change: Node) -> list[Node]:
    """Return formulas with one array changed, as derivatives see them.

    What stands behind a barrier stays, and a custom function whose rule is approximate by its author's word
    goes along the slope that the rule gives.
    """
    new = {base: base + change}
    for node in postorder(roots):
        if node not in new:
            args = tuple([new[arg] for arg in node.args])
            if node.is_barrier or args == node.args:
                new[node] = node
            elif not node.is_custom:
                new[node] = rebuild(node, args)
            elif node.payload.rule.approximate:
                (slope,) = pushforward([node], {base: change})
                new[node] = node if slope is None else node + slope
            else:
                rule, body = node.payload
                new[node] = moved_body(body, rule.parameters, node.args, args)
    return [new[root] for root in roots]


def moved_body(body: Node, parameters: Sequence[Node], at: Sequence[Node], to: Sequence[Node]) -> Node:
    """Return the value of a function's body at ``to``, with what its barriers hold fixed at ``at``."""
    (plain,) = inline([body], ("custom",))
    barriers = [node for node in postorder([plain]) if node.is_barrier]
    held = substitute(barriers, dict(zip(parameters, at, strict=True)))
    return substitute([plain], dict(zip((*parameters, *barriers), (*to, *held), strict=True)))[0]


class Ways:
    """The outputs as one flat vector, and every way to its change with one array: compiled."""

    def __init__(
        self, outputs: list[Node], inputs: dict[str, Node], w: Node, fixed: Callable[[Shape], tuple[int, ...]]
    ) -> None:
        self.sizes = [math.prod(fixed(node.shape)) for node in outputs]
        self.size = sum(self.sizes)
        self.shapes = [fixed(node.shape) for node in outputs]
        self.wrt_shape = fixed(w.shape)
        known = list(map(Array, inputs.values()))
        self._direction = array(fresh("direction", inputs), w.shape)
        self._step = array(fresh("step", inputs), ())
        self._seeds = [array(fresh(f"seed{i}", inputs), node.shape) for i, node in enumerate(outputs)]
        # the array moves along the direction
        view = InputPart(w)
        change = view.push((self._step * self._direction).node, 0)
        self.moves = moved = move(outputs, view.base, change)
        self.along, self.toward = str(self._step.node.name), str(self._direction.node.name)
        other, turn = array(fresh("turn", inputs), w.shape), array(fresh("pace", inputs), ())
        both = (self._step * self._direction + turn * other).node
        self.bends = move(outputs, view.base, view.push(both, 0))
        self.paces = self.along, str(turn.node.name)
        self.turns = self.toward, str(other.node.name)
        arrays, by = list(map(Array, outputs)), Array(w)
        slopes = [derivatives.jvp(f, by, self._direction, disconnected="zero") for f in arrays]
        pulls = [derivatives.vjp(f, by, seed, disconnected="zero") for f, seed in zip(arrays, self._seeds, strict=True)]
        self._blocks = [derivatives.jacobian(f, by, disconnected="zero") for f in arrays]
        self._known = known
        self._costs = [cost([a.node for a in group]) for group in (slopes, pulls, self._blocks)]
        self._costs.append(cost(moved))
        require(8 * max(extent([a.node for a in group]) for group in (slopes, pulls, self._blocks)))
        require(8 * STEPS * extent(moved))
        self._moved = compile(list(map(Array, moved)), [*known, self._direction, self._step], batch=[self._step])
        self._forward = compile(slopes, [*known, self._direction])
        self._reverse = compile(pulls, [*known, *self._seeds])

    def moved(self, point: Mapping[str, Numbers], direction: Numbers, steps: Numbers) -> Numbers:
        """Return the outputs at each step along a direction, (steps, size)."""
        charge(self._costs[3] * len(steps))
        along = {str(self._direction.node.name): direction.reshape(self.wrt_shape), str(self._step.node.name): steps}
        try:
            return self._flat(self._moved(inputs={**point, **along}), len(steps))
        except SingularMatrixError:
            return np.full((len(steps), self.size), np.nan)

    def forward(self, point: Mapping[str, Numbers], direction: Numbers) -> Numbers:
        """Return the Jacobian times a direction."""
        charge(self._costs[0])
        along = {str(self._direction.node.name): direction.reshape(self.wrt_shape)}
        flat: Numbers = self._flat(self._forward(inputs={**point, **along}), 1)[0]
        return flat

    def reverse(self, point: Mapping[str, Numbers], seed: Numbers) -> Numbers:
        """Return a seed times the Jacobian."""
        charge(self._costs[1])
        parts = np.split(seed, np.cumsum(self.sizes)[:-1])
        seeds = {
            str(symbol.node.name): part.reshape(shape)
            for symbol, part, shape in zip(self._seeds, parts, self.shapes, strict=True)
        }
        pulled: Numbers = np.sum([np.ravel(part) for part in self._reverse(inputs={**point, **seeds})], axis=0)
        return pulled

    def slope_nodes(self) -> list[Node]:
        """Return the nodes of the Jacobian's blocks."""
        return [block.node for block in self._blocks]

    def jacobian(self, point: Mapping[str, Numbers]) -> Numbers:
        """Return the Jacobian, (size of the output, size of the variable)."""
        charge(self._costs[2])
        blocks = compile(self._blocks, self._known)(inputs=point)
        width = math.prod(self.wrt_shape)
        return np.concatenate([np.reshape(b, (n, width)) for b, n in zip(blocks, self.sizes, strict=True)])

    @staticmethod
    def _flat(results: list[Any], lead: int) -> Numbers:
        return np.concatenate([np.reshape(result, (lead, -1)) for result in results], axis=1)


def fresh(name: str, taken: Mapping[str, Any]) -> str:
    """Return a name that no input has."""
    while name in taken:
        name += "_"
    return name


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
