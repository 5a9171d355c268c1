"""Whether elements of an array are multiples of one another, as those of ``[x, -x]`` and of ``x - x[::-1]``.

Such elements vanish together, so that their signs jump together: the product of two of them is no product of means.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import SymdiffError
from ...graph import REAL, Node, constant, inputs_of, postorder, substitute
from ...graph.reference.interpret import evaluate
from ...graph.scalars.functions import FUNCTIONS
from ...ground.budget import uncounted

__all__ = ["has_multiples", "multiples_of_first"]

#: Most nodes and elements of a formula that is computed, and at how many points.
_NODES, _ELEMENTS, _DRAWS = 400, 4096, 4
#: Digits to which ratios agree.
_DIGITS = 8


def has_multiples(x: Node) -> bool:
    """Tell whether two elements are multiples of one another, none of them constant; False where sizes are letters.

    Examples
    --------
    >>> from symdiff.graph import constant, input
    >>> x, y = input("x", (3,)), input("y")
    >>> has_multiples(x * x), has_multiples(y * constant(np.ones(2)))
    (False, True)
    """
    order = postorder([x], most=_NODES)
    is_apart = any(node.shape == x.shape for node in order if node.is_input)
    if is_apart and all(node.op in FUNCTIONS or not node.args for node in order):
        return False
    values = _values(x)
    if values is None:
        return False
    values = values[:, np.isfinite(values).all(axis=0) & (np.ptp(values, axis=0) > 1e-9)]
    return len({*map(tuple, np.round(values / values[0], _DIGITS).T.tolist())}) < len(values[0])


def multiples_of_first(x: Node) -> list[float] | None:
    """Return c with ``x[k] = c[k] * x[0]``; None where elements of a vector are no multiples of the first one."""
    values = _values(x)
    if values is None or not np.isfinite(values).all() or not values[:, 0].all():
        return None
    ratios = values / values[:, :1]
    return np.round(ratios[0], 12).tolist() if np.allclose(ratios, ratios[0], rtol=0.1**_DIGITS) else None


def _values(x: Node) -> np.ndarray[Any, Any] | None:
    """Return the elements at some points, one in a row; None where they are too many or cannot be computed."""
    inputs = inputs_of([x])
    sizes = [size for node in (x, *inputs) for size in node.shape]
    if not x.shape or not all(isinstance(size, int) for size in sizes) or math.prod(x.shape) > _ELEMENTS:
        return None
    if len(postorder([x], most=_NODES)) > _NODES or any(node.dtype is not REAL for node in inputs):
        return None
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(_DRAWS):
        drawn = {node: constant(rng.uniform(0.5, 2.0, node.shape)) for node in inputs}
        try:
            with uncounted(), np.errstate(all="ignore"):
                rows.append(np.asarray(evaluate(substitute([x], drawn), {})[0], dtype=float).ravel())
        except SymdiffError:  # a matrix that has no inverse
            return None
    return np.array(rows)
