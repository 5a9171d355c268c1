"""Second derivatives: a product of two directions with them is one number, whichever direction comes first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...compiler import compile
from ...errors import LimitError, NotDifferentiableError, SingularMatrixError
from ...frontend.array import Array
from ...frontend.array_derivatives import hvp
from ...frontend.symbols import array
from ...graph import Node, postorder
from ...graph.sizes import Shape
from .differences import Numbers, Tally

__all__ = ["compare_second"]

#: Pairs of directions that are tried.
_PAIRS = 3


def compare_second(
    outputs: Sequence[Node],
    inputs: Mapping[str, Node],
    w: Node,
    point: Mapping[str, Numbers],
    fixed: Callable[[Shape], tuple[int, ...]],
    rng: np.random.Generator,
    tally: Tally,
) -> None:
    """Compare v·H u with u·H v, for a random weighted sum of the outputs with the Hessian H.

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
    tally : Tally
        Counts; nothing is added for custom functions, whose rules need not be derivatives of anything, and for formulas
        without second derivatives.
    """
    if any(node.op == "custom" for node in postorder(outputs)):
        return
    drawn: dict[str, Numbers] = {}
    symbols: list[Array] = []

    def symbol(name: str, shape: Shape) -> Array:
        while name in inputs:
            name += "_"
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
        kernel = compile(products, [*map(Array, inputs.values()), *symbols])
        for _ in range(_PAIRS):
            one, other = kernel(inputs={**point, **drawn})
            tally.add(np.atleast_1d(one), np.atleast_1d(other), np.atleast_1d(1e-9 * np.abs(one)))
            drawn.update({name: rng.normal(size=drawn[name].shape) for name in names})
    except (NotDifferentiableError, LimitError, SingularMatrixError):
        return
