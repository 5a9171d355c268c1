"""Rules of custom functions, compared with differences of the functions at a point.

Each is compared alone, argument by argument, so that what is wrong is named where it is, and not
only seen in the whole formula. Functions within functions and within rules are looked at as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...calculus.demand import mask_matrices
from ...calculus.modes import pullback, pushforward
from ...calculus.rules import CustomRule, ImplicitRule
from ...errors import SingularMatrixError
from ...graph import BOOL, REAL, Node, inputs_of, placeholder, postorder
from ...graph import custom as custom_node
from ...graph.reference.interpret import bind_sizes, evaluate
from ...graph.sizes import Shape, value
from ...rewrite import inline, simplify
from .differences import Numbers, Tally, extrapolate
from .kinks import find_kinks
from .ways import moved_body

#: Elements of an array up to which each is a direction; of larger ones some random directions are tried.
SMALL, RANDOM = 6, 3


class Verdict(NamedTuple):
    """The result of comparing one rule at one point."""

    kind: str
    message: str
    wrong: bool = False


def compare_rules(roots: Sequence[Node], point: Mapping[str, Numbers], rng: np.random.Generator) -> Iterator[Verdict]:
    """Compare the rule of every custom function below ``roots`` with differences of its value.

    Parameters
    ----------
    roots : sequence of Node
    point : mapping
        An array for each input, by the input's name.
    rng : Generator
        Of the directions.

    Yields
    ------
    Verdict
        For each rule that is wrong, approximate by its author's word, or could not be compared.
    """
    inputs = [node for node in inputs_of(roots) if node.name in point]
    sizes = bind_sizes(inputs, [np.shape(point[node.name]) for node in inputs])
    todo: list[tuple[list[Node], dict[Any, Numbers]]] = [(list(roots), dict(point))]
    seen: set[CustomRule] = set()
    while todo:
        formulas, here = todo.pop()
        nodes = [n for n in postorder(formulas) if n.is_custom and n.payload.rule not in seen]
        # arguments of a solution may be parts of each other, which do not change alone
        nodes = [n for n in nodes if not isinstance(n.payload.rule, ImplicitRule)]
        # nor does the pattern of a sparse matrix, among the arguments of symdiff's own functions
        nodes = [n for n in nodes if n.payload.body.op != "external" or not n.payload.body.payload.reads]
        seen.update(node.payload.rule for node in nodes)
        for node in nodes:
            own = _Placed(node, here, inputs, sizes, rng)
            yield from own.compare()
            todo.append(own.inside())


class _Placed:
    """One custom function at the numbers that its arguments have."""

    def __init__(
        self,
        node: Node,
        here: Mapping[Any, Numbers],
        inputs: Sequence[Node],
        sizes: Mapping[str, int],
        rng: np.random.Generator,
    ) -> None:
        self.rule, self.body = node.payload
        self.inputs = inputs
        self.sizes = sizes
        self.rng = rng
        self.here = {node.name: here[node.name] for node in inputs}
        numbers = self._values(inline(node.args), here)
        self.here |= {p.name: n for p, n in zip(self.rule.parameters, numbers, strict=True)}

    def _fixed(self, shape: Shape) -> tuple[int, ...]:
        return tuple(value(size, self.sizes) for size in shape)

    def _values(self, nodes: Sequence[Node], more: Mapping[Any, Numbers] | None = None) -> list[Numbers]:
        try:
            return evaluate(mask_matrices(nodes), {**self.here, **(more or {})}, self.inputs)
        except SingularMatrixError:
            return [np.full(self._fixed(node.shape), np.nan) for node in nodes]

    def inside(self) -> tuple[list[Node], dict[Any, Numbers]]:
        """Return the formulas that the function is made of, and numbers for what they are written with."""
        seeds = {seed.name: self.rng.normal(size=self._fixed(seed.shape)) for seed in self.rule.seeds}
        return [self.body, *self.rule.images], self.here | seeds

    # ------------------------------------------------------------ comparing

    def compare(self) -> Iterator[Verdict]:
        """Compare the rule, argument by argument; beside the point, if that is a kink of the value."""
        rule = self.rule
        if self._is_finite() and find_kinks(simplify(inline([self.body]), written=True), rule.parameters, self.here):
            for p in rule.parameters:
                if p.dtype is REAL:
                    self.here[p.name] = self.here[p.name] + self.rng.uniform(0.01, 0.03, self._fixed(p.shape))
        if not self._is_finite():
            yield Verdict("unsettled", f"the rule of {rule.name} was not compared: its value is not finite here")
            return
        agrees = True
        for i in range(rule.arity):
            tally = self._tally(i)
            agrees = agrees and not tally.wrong
            if tally.wrong:
                yield self._disagreement(i, tally)
            if tally.unsettled:
                message = (
                    f"the rule of {rule.name} with respect to argument {i + 1}: differences of its value do not settle"
                )
                yield Verdict("unsettled", message)
        if rule.approximate and agrees:
            yield Verdict("approximate", f"the rule of {rule.name}, by its author's word; here it meets differences")

    def _is_finite(self) -> bool:
        numbers = [self.here[p.name] for p in self.rule.parameters] + self._values(inline([self.body]))
        return all(bool(np.isfinite(n).all()) for n in numbers)

    def _disagreement(self, i: int, tally: Tally) -> Verdict:
        name = self.rule.name
        off = f"{f'off by {100 * tally.worst:.3g} %, ' if np.isfinite(tally.worst) else ''}{tally.example}"
        if self.rule.approximate:
            message = f"the rule of {name}, by its author's word; with respect to argument {i + 1} {off}"
            return Verdict("approximate", message)
        message = f"the rule of {name} is not the derivative of its function with respect to argument {i + 1}: {off}"
        return Verdict("custom", message, wrong=True)

    def _tally(self, i: int) -> Tally:
        """Compare the rule by one argument: rows of its Jacobian for a vjp, columns for the other forms."""
        rule, parameter = self.rule, self.rule.parameters[i]
        tally = Tally("")
        node = custom_node(rule, rule.parameters, self.body)
        if parameter.dtype is BOOL:
            return tally
        if rule.form == "vjp":
            seed = placeholder("checked seed", self.body.shape)
            (image,) = pullback({node: seed}, [parameter])
            seeds = self._rows(seed)
            pulled = [self._flat(image, parameter, {seed.name: one}) for one in seeds]
            for row in self._rows(parameter):
                slope, error = self._differences(i, row)
                for one, slopes in zip(seeds, pulled, strict=True):
                    with np.errstate(invalid="ignore"):
                        weighted = np.where(one, one * slope, 0.0).sum()
                        doubt = np.where(one, np.abs(one) * error, 0.0).sum()
                    tally.add(np.array([slopes.ravel() @ row.ravel()]), np.array([weighted]), np.array([doubt]))
            return tally
        direction = placeholder("checked direction", parameter.shape)
        (image,) = pushforward([node], {parameter: direction})
        for row in self._rows(parameter):
            slope, error = self._differences(i, row)
            tally.add(self._flat(image, self.body, {direction.name: row}).ravel(), slope.ravel(), error.ravel())
        return tally

    def _flat(self, image: Node | None, like: Node, more: Mapping[Any, Numbers]) -> Numbers:
        """Return the numbers of a derivative, zeros where there is none."""
        if image is None:
            return np.zeros(self._fixed(like.shape))
        return self._values(inline([image]), more)[0]

    def _rows(self, node: Node) -> list[Numbers]:
        """Return directions of an array, each element for small ones."""
        shape = self._fixed(node.shape)
        size = math.prod(shape)
        if size <= SMALL:
            return [row.reshape(shape) for row in np.eye(size)]
        return [self.rng.normal(size=shape) for _ in range(RANDOM)]

    def _differences(self, i: int, row: Numbers) -> tuple[Numbers, Numbers]:
        """Return the derivative of the value along a direction of one argument, and an estimate of its error."""
        parameters = self.rule.parameters
        change = placeholder("checked change", parameters[i].shape)
        to = [p + change if k == i else p for k, p in enumerate(parameters)]
        moved = [moved_body(self.body, parameters, parameters, to)]

        def values(steps: Numbers) -> Numbers:
            return np.stack([self._values(moved, {change.name: step * row})[0] for step in steps])

        return extrapolate(values)
