"""Every way to the change of some formulas with one array, compiled: moved values, both modes, the Jacobian."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...calculus.cost import cost, extent
from ...calculus.wrt import InputPart
from ...compiler import compile
from ...errors import SingularMatrixError
from ...frontend import array_derivatives as derivatives
from ...frontend.array import Array
from ...frontend.symbols import array
from ...graph import Node
from ...graph.sizes import Shape
from ...ground.budget import require, spend
from .custom_rules import move
from .differences import STEPS, Numbers

__all__ = ["Ways", "charge", "fresh"]


def charge(operations: float) -> None:
    """Charge a run of a kernel: some hundred operations are a step, and a call takes some."""
    spend(20 + int(operations) // 200)


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
