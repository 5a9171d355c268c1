"""Functions of constants as the numbers they are: for a reader who would compute them without end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import SymdiffError
from ...ground.budget import spend
from .. import INT, REAL, Node, constant, postorder, rebuild
from ..scalars.arithmetic import ARITHMETIC
from ..scalars.functions import FUNCTIONS
from ..sizes import fixed
from .interpret import Values, evaluate

#: Arithmetic, and functions whose digits any library computes at once for arguments up to ``MODERATE``.
ELEMENTARY = frozenset(
    (
        *ARITHMETIC,
        *("power", "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "hypot"),
        *("sin", "cos", "tan", "sinh", "cosh", "tanh"),
        *("arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh", "arctanh"),
    )
)
MODERATE = 1e6
#: Elements up to which a constant array is computed.
ELEMENTS = 4096


def constants_computed(roots: Sequence[Node]) -> list[Node]:
    """Put numbers in the place of functions of constants, but for elementary ones of moderate arguments and values.

    ``sqrt(2)`` and ``exp(-1)`` stay as they are read, and ``zeta(108, inf)`` and ``exp(exp(exp(9)))`` do not: whoever
    asks SymPy for their digits, or for their sign, waits without end.

    Examples
    --------
    >>> from symdiff.graph import elementwise
    >>> constants_computed([elementwise("gamma", (constant(4.0),))]) == [constant(6.0)]
    True
    """
    order = postorder(roots)
    varies: set[Node] = set()
    for node in order:
        if node.op in _LEAVES or node.dtype is INT or any(arg in varies for arg in node.args):
            varies.add(node)
    if not any(node.op in FUNCTIONS and node not in varies for node in order):
        return list(roots)
    values: dict[Node, Values] = {}
    new: dict[Node, Node] = {}
    for node in order:
        made = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        if node not in varies and all(arg in values for arg in node.args):
            value = _value(node, values)
            if value is not None:
                values[node] = value
                made = made if node.op not in FUNCTIONS or _stays(node, values) else constant(value)
        new[node] = made
    return [new[root] for root in roots]


def _value(node: Node, values: Mapping[Node, Values]) -> Values | None:
    """Return the numbers of a constant, or None where there are none or too many."""
    shape = fixed(node.shape)
    if shape is None or math.prod(shape) > ELEMENTS:
        return None
    spend(math.prod(shape))
    alone = rebuild(node, tuple([constant(values[arg]) for arg in node.args])) if node.args else node
    try:
        (value,) = evaluate([alone], {})
    except SymdiffError:  # a matrix without an inverse
        return None
    return value


def _stays(node: Node, values: Mapping[Node, Values]) -> bool:
    """Tell whether a function of constants is as good as its number."""
    if node.dtype is not REAL:
        return True
    if node.op not in ELEMENTARY or not np.isfinite(values[node]).all():
        return False
    return node.op in ARITHMETIC or all((np.abs(values[arg]) <= MODERATE).all() for arg in node.args)


_LEAVES = ("input", "placeholder", "recurrence", "custom", "external")
