"""What rows of the table of scalar functions are written with: makers of rows, functions by name, usual domains."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._kernels.system.unique import assign_alike
from ...errors import UnsupportedError
from .. import Node, as_node, constant, elementwise
from ..kinds import BRANCHING, BY_ARGUMENTS, EXPANDED, note
from .functions import FUNCTIONS, Function, Interval, Partial, Range, Slope, scalar_constant
from .known import EXACT, INVERSES, LOGARITHMS, TOTAL

ZERO, NONE, ABSENT = Partial.ZERO, Partial.NONE, Partial.ABSENT

ANY: Interval = (-3.0, 3.0)
POSITIVE: Interval = (0.1, 4.0)
UNIT: Interval = (-0.95, 0.95)
TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)


def named(name: str) -> Callable[..., Node]:
    """Return a function of the table as one of nodes and numbers."""

    def call(*args: Node | float) -> Node:
        return elementwise(name, tuple([as_node(a) for a in args]))

    call.__name__ = name
    return call


def order_of(n: Node) -> float:
    """Return the order of a family of functions, which simplification may have repeated or reshaped."""
    order = scalar_constant(n)
    if order is None:
        raise UnsupportedError("an order that is no number known beforehand")
    return order


def next_order(n: Node) -> Node:
    """Return the order of a derivative after this one."""
    order = scalar_constant(n)
    return n + 1.0 if order is None else constant(order + 1.0)


def row(name: str, partials: tuple[Slope | Partial, ...], domain: tuple[Interval, ...], **rest: Any) -> None:
    """Add a row: :class:`~symdiff.graph.scalars.functions.Function` has the columns.

    A range is written as an interval; a parity or monotony that is not one an argument is that by each of them.
    """
    rest |= {"inverse": INVERSES.get(name, ""), "logarithm": LOGARITHMS.get(name, "")}
    rest |= {"total": name in TOTAL, "exact": EXACT.get(name, ())}
    rest.setdefault("numpy", f"np.{name}")
    rest.setdefault("c", "" if "expansion" in rest else name)
    rest["range"] = Range.read(rest.get("range", ""))
    for column in ("parity", "monotone"):
        fact = rest.get(column, "")
        rest[column] = (fact,) * len(partials) if isinstance(fact, str) else fact
    FUNCTIONS[name] = made = Function(name, partials, domain, **rest)
    if name not in BY_ARGUMENTS:
        assign_alike(name)
    if made.expansion is not None and not made.c:
        note(name, EXPANDED)
    if made.supports:
        note(name, BRANCHING)


def unary(name: str, partial: Slope | Partial, domain: Interval = ANY, **rest: Any) -> None:
    """Add the row of a function of one argument."""
    row(name, (partial,), (domain,), **rest)
