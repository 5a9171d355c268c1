"""Minima within constraints as formulas: a loop finds one, and the equations that hold there have its derivatives.

The loop is the method of multipliers (Nocedal and Wright, Numerical Optimization, 2006, 17.4): minima without
constraints, or within bounds, of f and the squares of what violates a constraint, each begun where the one before
ended. What it finds begins a search of the equations of Karush, Kuhn and Tucker, in which the constraints that hold
something are equations and the others have no multiplier.
"""

from __future__ import annotations

from typing import Any

import numpy
import numpy.typing as npt

from ...calculus.derivatives import Trail, jacobian
from ...graph import Node, placeholder, substitute
from ...rewrite import simplify
from ..array import Array, asarray
from ..symbols import array as make_input
from .newton import EDGE, Equations, descended, largest, magnitude
from .recurrence import while_loop
from .solutions import Search, minimizer

__all__ = ["least_within"]

#: NumPy over symbols: its stubs know arrays of numbers alone.
np: Any = numpy
#: Turns of the loop, and the steps of the search within each.
TURNS, STEPS = 40, 50
#: The first weight of what is violated, its growth where that does not shrink to a quarter, and its end.
WEIGHT, GROWTH, MOST = 10.0, 10.0, 1e8
#: Violation, relative to the terms of the constraints, at which the loop ends; and steps within it.
CLOSE, SHORT = 2.0**-28, 2.0**-26
#: The same up to which constraints hold at a solution.
HOLDS = 2.0**-40
#: Part of the largest curvature that a negative one is at least; its inverse stands for a curvature without bound.
FORBIDDEN = 2.0**-20
#: Relative size of a multiplier and of the distance to its constraint which together are none.
QUIET = 2.0**-24


def least_within(
    f: Node, constraints: Node, is_equation: npt.NDArray[np.bool_], x: Node, start: Any, ends: Any
) -> Array:
    """Return the minimizer of f, with the multipliers behind it.

    Parameters
    ----------
    f : Node
        A scalar.
    constraints : Node
        Of shape (m,): what has to be at most 0, or 0 where ``is_equation`` is set.
    x : Node
        The unknown, a symbol of shape (n,).
    start : array
    ends : pair of arrays or None
        Bounds.

    Returns
    -------
    Array
        Of shape (n + m,): nan where no such point was found. Derivatives are nan where a constraint or a bound is about
        to be left.
    """
    m = len(is_equation)
    if not m:
        return minimizer(Array(f), Array(x), start, ends, at_most=TURNS * STEPS)
    n, sign = x.size, numpy.where(is_equation, numpy.inf, 0.0)  # equations hold whatever the sign of a multiplier is
    begin = _by_multipliers(f, constraints, -sign, x, asarray(start), ends)
    z = make_input("solution", (n + m,))
    lagrange = z[n:]
    whole, sides = (Array(node) for node in substitute([f, constraints], {x: z[:n].node}))
    slope = Array(jacobian((whole + np.sum(lagrange * sides)).node, z.node, "zero", {}, Trail()))[:n]
    terms = Array(magnitude(jacobian(whole.node, z.node, "zero", {}, Trail())))[:n]
    by_x = Array(jacobian(sides.node, z.node, "zero", {}, Trail()))
    if ends is None:
        held, quiet = slope, False
    else:
        # a bound holds an element where the slope is more than a multiple of the distance to it, negative outside
        steep = np.max(terms) / EDGE
        below, above = steep * (z[:n] - ends[0]) < slope, steep * (z[:n] - ends[1]) > slope
        held = np.where(below, z[:n] - ends[0], np.where(above, z[:n] - ends[1], slope))
        at_end = (z[:n] <= ends[0]) | (z[:n] >= ends[1])
        quiet = np.any(at_end & (abs(slope) <= QUIET * np.max(terms)))
    # an inequality holds something where its multiplier is more than the distance to it
    equations = np.concatenate([held, np.where(lagrange + sign > -sides, sides, lagrange)])
    loose = abs(lagrange) * np.max(abs(by_x), axis=1) + sign <= QUIET * np.max(terms)
    settled = ~(quiet | np.any(loose & (abs(sides) <= QUIET * Array(magnitude(sides.node)))))
    # beside multipliers of any size, a violation may be their rounding
    violated = np.where(numpy.isinf(sign), abs(sides), sides)
    valid = np.all(violated <= HOLDS * Array(magnitude(sides.node)))
    curvature = Array(jacobian(slope.node, z.node, "zero", {}, Trail()))[:, :n]
    active, kept = lagrange + sign > -sides, 0.0 if ends is None else np.diag(np.where(below | above, 1.0, 0.0))
    valid = valid & _is_lowest(curvature, np.where(active[:, None], by_x[:, :n], 0.0), kept)
    asked = Search("root", z, np.concatenate([start, numpy.zeros(m)]), None, STEPS, None)
    system, still, holds = substitute([equations.node, settled.node, valid.node], {z.node: asked.unknown})
    return asked.solution(system, settled=still, valid=holds, begin=begin.node)


def _is_lowest(curvature: Array, rows: Array, held: Any) -> Any:
    """Tell whether a form curves upward, or not at all, along what neither rows nor held elements forbid."""
    lengths = np.sqrt(np.sum(rows * rows, axis=1))
    normal = rows / np.where(lengths == 0.0, 1.0, lengths)[:, None]
    most = largest(curvature)
    values = np.linalg.eigvalsh(curvature + most / FORBIDDEN * (normal.T @ normal + held))
    return np.min(values) >= -FORBIDDEN * most


def _by_multipliers(f: Node, constraints: Node, lowest: npt.NDArray[Any], x: Node, start: Array, ends: Any) -> Array:
    """Return a point near a minimum with its multipliers, none of which is below the ``lowest``."""
    c, m = Array(constraints), len(lowest)
    multipliers, weight = placeholder(("multipliers",), (m,)), placeholder(("weight",), ())
    moved = Array(multipliers) + Array(weight) * c
    moved = np.maximum(moved, lowest)
    whole = (Array(f) + np.sum(moved**2) / (2.0 * Array(weight))).node
    slope = jacobian(whole, x, "zero", {}, Trail())
    curvature = jacobian(slope, x, "zero", {}, Trail())
    # the first turn may leave a violation of the size of what constraints are sums of
    (terms,) = simplify([magnitude(constraints)])

    def turn(state: tuple[Array, ...]) -> tuple[Array, ...]:
        at, own, size, least, _ = state
        given = {multipliers: own.node, weight: size.node}
        value, first, second = substitute([whole, slope, curvature], given)
        found = descended(value, Equations(x, first, second, SHORT), at, ends, STEPS).x
        after, scale = (Array(node) for node in substitute([moved.node, terms], {**given, x: found.node}))
        # a multiplier that stays has a constraint that holds, or one that is not needed
        violated = largest(after - own) / size
        closer = violated <= least
        grown = np.where(violated <= 0.25 * least, size, np.minimum(GROWTH * size, MOST))
        going = np.where(violated <= CLOSE * largest(scale), 0.0, 1.0)
        found, after = np.where(closer, found, at), np.where(closer, after, own)
        return found, after, grown, np.where(closer, violated, least), going

    first = largest(Array(substitute([terms], {x: start.node})[0]))
    begun = (start, numpy.zeros(m), WEIGHT, np.where(first == 0.0, numpy.inf, first), 1.0)
    found, own, *_ = while_loop(lambda s: s[4] > 0.0, turn, begun, TURNS)
    both: Array = np.concatenate([found, own])
    return both
