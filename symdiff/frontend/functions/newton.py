"""Newton's method as formulas: loops that end by themselves, for one equation, for systems and for minima.

An iteration has converged where its step is below four units in the last place of x, or the residual below the
rounding of the terms that it is a sum of. Both are asked as "is the sum with it the same number", so that a loop in
float32 or in multiprecision ends at its own rounding.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy

from ...calculus.cost import cost
from ...calculus.modes import pushforward
from ...errors import NotDifferentiableError
from ...graph import Node, constant, elementwise, rebuild, reshape, substitute, zeros
from ...graph.primitives import EACH, TOGETHER
from ...graph.scalars.arithmetic import terms_of
from ...rewrite import simplify
from ..array import Array
from ..numpy.shaping import eye
from .recurrence import while_loop

__all__ = [
    "EDGE",
    "Equations",
    "Found",
    "attracted",
    "bracketed",
    "descended",
    "largest",
    "magnitude",
    "searched",
    "solved",
]


#: Factor of four units in the last place below which steps need not shrink, since the residual is rounding.
NOISE = 1024.0
#: Part of the step before up to which steps of an order of convergence are so short that the next one is told.
SHORT = {2: 2.0**-14, 3: 2.0**-12}
#: Part of the cost of a turn up to which the second derivative is taken, which saves about a quarter of the turns; and
#: the operations of a turn beside the equation and its slope.
BENT, OTHERS = 0.25, 50.0
#: Part of the slope that the second derivative changes on half of the way, at most, and the range of squared slopes.
TURN, SQUARES = 0.5, (1e-290, 1e290)
#: Quarters of a step after which points farther away are tried; an even number.
HALVES = 6.0
#: Steps of a fixed point that are repeated, the part of the largest residual at which these end, and how often the
#: derivative is squared that tells where they lead.
REPEATS, FALLEN, SQUARINGS = 64, 2.0**-24, 6
#: Multiple of a step of Newton's to a minimum that the next one is at most.
LONGER = 4.0
#: Relative distance to a bound within which an element may be held by it.
EDGE = 1e-7
#: Part of each square that Levenberg and Marquardt's first step adds to it.
DAMPING = 1e-3
#: NumPy over symbols: its stubs know arrays of numbers alone.
np: Any = numpy
#: Sums and products within each other, and terms of one sum, whose rounding is looked at.
DEPTH, TERMS = 6, 64


class Found(NamedTuple):
    """A solution, whether it converged, and the steps that were taken."""

    x: Array
    converged: Array
    steps: Array


class Equations:
    """Formulas g of an unknown x, as many as x has elements, with their derivative.

    Parameters
    ----------
    letter : Node
        The unknown, a placeholder.
    formula, slope : Node
        g, of the shape of the unknown, and its derivative.
    tolerance : float or None
        Steps relative to x that are small; None for four units in the last place.
    """

    def __init__(self, letter: Node, formula: Node, slope: Node, tolerance: float | None) -> None:
        self.letter, self.formula, self.slope, self.tolerance = letter, formula, slope, tolerance
        (self.terms,) = simplify([magnitude(formula)])

    def at(self, node: Node, x: Array) -> Array:
        """Return a formula of the unknown at x."""
        return Array(substitute([node], {self.letter: x.node})[0])

    def value(self, x: Array) -> Array:
        """Return g(x)."""
        return self.at(self.formula, x)

    def derivative(self, x: Array) -> Array:
        """Return the derivative of g; of an array a matrix, both with flat axes."""
        slope, n = self.slope, self.letter.size
        return self.at(reshape(slope, (n, n)) if self.letter.ndim else slope, x)

    def near(self, x: Array, step: Array) -> Any:
        """Tell whether a step is within the tolerance of x."""
        if self.tolerance is not None:
            return abs(step) <= self.tolerance * abs(x)
        return x + step / 8.0 == x

    @cached_property
    def second(self) -> Node | None:
        """Half of the second derivative of one equation; None where it costs much."""
        try:
            second = 0.5 * pushed(self.slope, self.letter, constant(1.0))
        except NotDifferentiableError:
            return None
        plain = cost([self.formula, self.slope])
        return second if cost([self.formula, self.slope, second]) - plain <= BENT * (plain + OTHERS) else None

    def step(self, x: Array, residual: Array) -> Any:
        """Return the step to the root of one equation: Halley's where that costs little more, else Newton's."""
        slope = self.derivative(x)
        if self.second is None:
            return -residual / slope
        square, turn = slope * slope, residual * self.at(self.second, x)
        # where the slope changes much along the step, the second derivative tells nothing
        most = TURN * square
        halley = (turn <= most) & (-turn <= most) & (square > SQUARES[0]) & (square < SQUARES[1])
        return np.where(halley, -residual * slope, -residual) / np.where(halley, square - turn, slope)

    @property
    def order(self) -> int:
        """The order of convergence of steps: errors are squared or cubed."""
        return 2 if self.second is None else 3

    def ends(self, x: Array, step: Array, before: Array, order: int) -> Any:
        """Tell behind which of two full steps of an order the next one would be within the tolerance."""
        return (abs(step) <= SHORT[order] * abs(before)) & self.near(x, 16.0 * SHORT[order] ** order * step)

    def small(self, x: Array, residual: Array) -> Any:
        """Tell which residuals are rounding."""
        terms = self.at(self.terms, x)
        return (terms + abs(residual) / 2.0 == terms) & (abs(residual) < np.inf)

    def uncertainty(self, x: Array) -> Any:
        """Return the residual, or its rounding where that is more."""
        return np.maximum(abs(self.value(x)), 2.0**-51 * self.at(self.terms, x))

    def bent(self, x: Array, step: Array) -> Array | None:
        """Return the second derivative along a step twice; None where there is none."""
        direction = step.node
        try:
            first = pushed(self.formula, self.letter, direction)
            second = pushed(first, self.letter, direction)
        except NotDifferentiableError:
            return None
        return self.at(second, x)


def pushed(formula: Node, letter: Node, direction: Node) -> Node:
    """Return the derivative of a formula along a direction that does not depend on the letter."""
    (slope,) = pushforward([formula], {letter: direction})
    return zeros(formula.shape) if slope is None else simplify([slope])[0]


def magnitude(formula: Node, depth: int = DEPTH) -> Node:
    """Return the sum of the absolute terms that a formula is a sum of, within products and joined arrays too."""
    if formula.is_named:
        return magnitude(formula.args[0], depth)
    if depth and formula.is_choice:
        chosen, *branches = formula.args
        return rebuild(formula, (chosen, *(magnitude(arg, depth - 1) for arg in branches)))
    if depth and (formula.is_multiplication or formula.op in TOGETHER | EACH):
        return rebuild(formula, tuple([magnitude(arg, depth - 1) for arg in formula.args]))
    terms = terms_of(formula, TERMS).parts if depth else ()
    if len(terms) < 2:
        return elementwise("abs", (formula,))
    first, *rest = (magnitude(term, depth - 1) for _, term in terms)
    for part in rest:
        first = first + part
    return first


# ---------------------------------------------------------------------------- one equation


def bracketed(g: Equations, start: Array | None, ends: tuple[Array, Array], at_most: int) -> Found:
    """Find a root between two points where g has different signs, and never leave them.

    A step is Newton's where it stays inside and shrinks to half of the one before the last, and halves the bracket
    elsewhere (Press et al., Numerical Recipes, 2007, 9.4). Sizes of steps that halve are negative.
    """
    low, high = np.minimum(*ends), np.maximum(*ends)
    below, above = g.value(low), g.value(high)
    side = np.sign(below)
    known = (below == 0.0) | (above == 0.0)
    valid = side * np.sign(above) < 0.0
    begin = _middle(low, high) if start is None else np.minimum(np.maximum(start, low), high)
    going = np.where(valid & ~known, 1.0, 0.0)
    width = high - low

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        x, a, b, _, before, last, _, count = state
        residual = g.value(x)
        same = residual * side > 0.0
        a, b = np.where(same, x, a), np.where(same, b, x)
        change = g.step(x, residual)
        newton = x + change
        inside = (newton >= a) & (newton <= b)
        shrinks = 2.0 * abs(change) <= abs(before)
        taken = inside & shrinks
        following = np.where(taken, newton, _middle(a, b))
        small = g.small(x, residual)
        # steps of rounding shrink no more
        stuck = inside & ~shrinks & g.near(x, change / NOISE)
        quick = taken & (last > 0.0) & g.ends(x, change, last, g.order)
        done = small | stuck | quick | (taken & g.near(x, change)) | g.near(following, b - a)
        following = np.where(small | stuck, np.where(inside, newton, x), following)
        size = np.where(taken, abs(change), -abs(following - x))
        return following, a, b, abs(residual), last, size, np.where(done, 0.0, 1.0), count + 1.0

    begun = (begin, low, high, 0.0, -width, -width, going, 0.0)
    x, _, _, residual, _, _, still, count = while_loop(lambda s: s[6] > 0.0, step, begun, at_most)
    # at a pole the signs differ, too
    is_root = residual <= np.maximum(abs(below), abs(above))
    converged = known | (valid & (still == 0.0) & is_root)
    return Found(np.where(below == 0.0, low, np.where(above == 0.0, high, x)), converged, count)


def _middle(a: Array, b: Array) -> Any:
    """Return a number between two: 0, if that is one, and in the middle of the exponents where these are far apart."""
    small, large = np.minimum(abs(a), abs(b)), np.maximum(abs(a), abs(b))
    sign = np.sign(a + b)
    even = np.where(small < 1e-3 * large, sign * np.sqrt(small) * np.sqrt(large), 0.5 * a + 0.5 * b)
    return np.where((a < 0.0) & (b > 0.0), 0.0, np.where(small == 0.0, sign * 1e-3 * large, even))


def searched(g: Equations, start: Array, at_most: int, wanted: Array | None = None) -> Found:
    """Find a root of one equation or of several from a start; ``wanted`` tells who searches, by default all."""
    return (_solved_systems if start.shape else _damped)(g, start, at_most, wanted)


def _damped(g: Equations, start: Array, at_most: int, wanted: Array | None = None) -> Found:
    """Find a root from a start: a quarter of a step of Newton's is taken until the residual is less than before.

    Where several quarters are not enough, as at a least residual that is none, points farther and farther away on both
    sides are tried, until the residual is less or has another sign; the search goes on from there.
    """

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        base, least, change, before, failed, count = state
        x = base + change
        residual = g.value(x)
        size = abs(residual)
        own = g.step(x, residual)
        better = (size < abs(least)) | ((failed > HALVES) & (residual * least < 0.0))
        base, least = np.where(better, x, base), np.where(better, residual, least)
        newton, tries = np.where(better, own, before), np.where(better, 0.0, failed + 1.0)
        quick = better & (failed == 0.0) & g.ends(x, newton, before, g.order)
        away = np.where(
            tries == HALVES + 1.0,
            np.maximum(abs(base), 1.0),
            -1.5 * change,
        )
        change = np.where(better, own, np.where(tries <= HALVES, 0.25 * change, away))
        stuck = ~better & (abs(least) < np.inf) & g.near(base, newton / NOISE)
        done = (better & (g.small(x, residual) | g.near(x, own))) | stuck | quick
        # a last step beyond the rounding of the residual costs nothing
        change = np.where(stuck | (done & ~(abs(change) < np.inf)), 0.0, change)
        return base, least, change, newton, tries, np.where(done, -1.0 - count, count + 1.0)

    # the steps of a search that has ended are negative; the first point is no step of Newton's
    begun = (start, np.inf, 0.0, np.inf, 1.0, 0.0 if wanted is None else np.where(wanted, 0.0, -1.0))
    base, _, change, _, _, count = while_loop(lambda s: s[5] >= 0.0, step, begun, at_most)
    return Found(base + change, count < 0.0, abs(count))


def attracted(g: Equations, start: Array, at_most: int) -> Found:
    """Find the fixed point that iterating the step reaches from a start; another one if the iteration diverges.

    The residual g is x - step(x). An equation such as Riccati's has several fixed points, and Newton's method finds any
    of them. If the one found does not attract the iteration, the step is iterated until the residual has fallen far
    below its largest value, and Newton's method begins again at the point of least residual.
    """
    found = searched(g, start, at_most)
    again = ~(found.converged & _attracts(g, found.x))

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        x, best, least, peak, _ = state
        residual = g.value(x)
        size = largest(residual)
        better, peak = size < least, np.maximum(size, peak)
        going = np.where((size > FALLEN * peak) & (size < np.inf), 1.0, 0.0)
        return x - residual, np.where(better, x, best), np.where(better, size, least), peak, going

    begun = (start, start, np.inf, 0.0, np.where(again, 1.0, 0.0))
    best = while_loop(lambda s: s[4] > 0.0, step, begun, REPEATS)[1]
    other = searched(g, best, at_most, again)
    x = np.where(again & other.converged, other.x, found.x)
    return Found(x, found.converged | other.converged, found.steps + np.where(again, other.steps, 0.0))


def _attracts(g: Equations, x: Array) -> Any:
    """Tell whether x - g leads back to its fixed point x: whether the powers of its derivative become small."""
    power = (Array(eye(x.size)) if x.shape else 1.0) - g.derivative(x)
    if not x.shape:
        return abs(power) < 1.0
    for _ in range(SQUARINGS):
        power = power @ power
    return np.max(np.sum(abs(power), axis=1)) < 1.0


# ---------------------------------------------------------------------------- systems


def _solved_systems(g: Equations, start: Array, at_most: int, wanted: Array | None = None) -> Found:
    """Find a root of several equations from a start, by damped steps; where the matrix is singular, downhill."""
    shape = start.shape

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        x, base, least, change, newton, _, count = state
        residual = np.reshape(g.value(x), (-1,))
        length = np.linalg.norm(residual)
        own = np.reshape(-solved(g.derivative(x), residual), shape)
        better = length < least
        base, least = np.where(better, x, base), np.where(better, length, least)
        newton = np.where(better, own, newton)
        change = np.where(better, own, 0.5 * change)
        small = np.all(g.small(x, g.value(x)))
        # steps are short at a least residual that is none, too, and a start without a value is no point to be stuck at
        terms = largest(g.at(g.terms, x))
        rounding = (terms + least / NOISE**2 == terms) & (least < np.inf)
        stuck = ~better & rounding & g.near(largest(base), largest(newton) / NOISE)
        done = (better & (small | g.near(largest(x), largest(own)))) | stuck
        following = np.where(stuck, base, base + change)
        return following, base, least, change, newton, np.where(done, 0.0, 1.0), count + 1.0

    nothing = Array(zeros(start.node.shape))
    begun = (start, start, np.inf, nothing, nothing, 1.0 if wanted is None else np.where(wanted, 1.0, 0.0), 0.0)
    x, *_, still, count = while_loop(lambda s: s[5] > 0.0, step, begun, at_most)
    return Found(x, still == 0.0, count)


def largest(x: Array) -> Array:
    """Return the largest size of an element."""
    return np.max(abs(x)) if x.ndim else abs(x)


def solved(matrix: Array, right: Array) -> Any:
    """Return the solution, and for a singular matrix a step along which the residual falls."""
    regular = abs(np.linalg.slogdet(matrix)[1]) < np.inf
    n = matrix.shape[0]
    down = right @ matrix
    moved = matrix @ down
    scale = (down @ down) / (moved @ moved)
    return np.linalg.solve(np.where(regular, matrix, Array(eye(n))), np.where(regular, right, scale * down))


# ---------------------------------------------------------------------------- minima


def descended(
    f: Node, g: Equations, start: Array, ends: tuple[Array, Array] | None, at_most: int, squares: bool = False
) -> Found:
    """Find a minimum from a start: a quarter of a step downhill is taken until f falls.

    Parameters
    ----------
    f : Node
        The formula.
    g : Equations
        Its gradient, with the Hessian, or the matrix of Gauss and Newton that stands for it.
    start : Array
    ends : pair of Array, optional
        Bounds, which no iterate leaves.
    at_most : int
    squares : bool
        f is a sum of squares, with the matrix of Gauss and Newton: steps are Levenberg and Marquardt's. Others are
        Newton's, downhill along each eigenvector.
    """
    shape = start.shape
    (terms,) = simplify([magnitude(f)])

    def within(x: Array) -> Array:
        return x if ends is None else np.minimum(np.maximum(x, ends[0]), ends[1])

    def free(x: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian among the elements that no bound holds; for the others the way to it and 1.

        A step that leads elements beyond their bounds need not lead downhill, so those beside one are held, too
        (Bertsekas, SIAM J. Control Optim. 20, 1982).
        """
        slope, matrix = g.value(x), g.derivative(x)
        if ends is None:
            return slope, matrix
        low, high = x - ends[0], x - ends[1]
        beside = EDGE * np.maximum(abs(x), 1.0)
        below, above = (low <= beside) & (low < slope), (high >= -beside) & (high > slope)
        held = below | above
        flat = np.reshape(held, (-1,)) if shape else held
        one = Array(eye(matrix.shape[0])) if shape else 1.0
        slope = np.where(below, low, np.where(above, high, slope))
        return slope, np.where((flat[:, None] | flat) if shape else held, one, matrix)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        x, base, least, steepest, change, newton, damping, along, count = state
        value, (slope, matrix) = g.at(f, x), free(x)
        steep = largest(slope)
        own = damped_step(matrix, slope, damping) if squares else downhill(matrix, slope)
        # where f is the same up to rounding, the gradient tells
        same = abs(value - least) <= 2.0**-49 * g.at(terms, x)
        # a point from which no step leads on is none
        better = ((value < least) | (same & (steep < steepest))) & (largest(own) < np.inf)
        # the slope along the step, of that at its begin: negative beyond a minimum
        turned = np.sum(slope * change) / along
        # two full steps of Newton's tell that the next one would be rounding
        full = np.all(change == newton)
        full = full if ends is None else full & np.all(x == base + change)
        quick = better & full & g.ends(largest(x), largest(own), largest(newton), 2)
        # a step is no longer than a multiple of the one before, where many quarters were taken of that
        moved = largest(x - base)
        longest = np.where(moved > 0.0, LONGER * moved / largest(own), 1.0)
        taken = own if squares else np.where(longest < 1.0, longest * own, own)
        base, least = np.where(better, x, base), np.where(better, value, least)
        steepest, newton = np.where(better, steep, steepest), np.where(better, own, newton)
        change = np.where(better, taken, 0.25 * change)
        small = np.all(g.small(x, slope))
        # a start without a value is no point to be stuck at
        stuck = ~better & (least < np.inf) & g.near(largest(base), largest(newton) / NOISE)
        done = (better & (small | g.near(largest(x), largest(own)))) | stuck
        done = done if squares else done | quick
        following = np.where(stuck, base, within(base + change))
        count = np.where(done, -1.0 - count, count + 1.0)
        if squares:
            more = np.minimum(np.maximum(4.0 * damping, 0.0625), 4.0)
            beyond = ~better | (turned < -0.25)
            damping = np.where(beyond, more, np.where(turned > -0.1, 0.1 * damping, damping))
            along = np.where(better, np.sum(slope * own), 0.25 * along)
        return following, base, least, steepest, change, newton, damping, along, count

    begin, nothing = within(start), Array(zeros(start.node.shape))
    # the steps of a search that has ended are negative
    begun = (begin, begin, np.inf, np.inf, nothing, nothing, DAMPING, -1.0, 0.0)
    x, *_, count = while_loop(lambda s: s[8] >= 0.0, step, begun, at_most)
    ended = count < 0.0
    if squares:
        return Found(x, ended, abs(count))
    curved = free(x)[1]
    if shape:
        values = np.linalg.eigvalsh((curved + curved.T) / 2.0)
        convex = np.min(values) >= -(2.0**-30) * np.max(abs(values))
    else:
        convex = curved >= 0.0
    return Found(x, ended & convex, abs(count))


def downhill(matrix: Array, slope: Array) -> Any:
    """Return Newton's step with the absolute values of the eigenvalues, along which f falls.

    Without curvature that is the negative slope.
    """
    if not slope.ndim:
        return -slope / np.where(matrix == 0.0, 1.0, abs(matrix))
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    size = abs(values)
    most = np.max(size)
    size = np.maximum(size, np.where(most == 0.0, 1.0, 2.0**-40 * most))
    flat = np.reshape(slope, (-1,))
    return np.reshape(-(vectors @ ((flat @ vectors) / size)), slope.shape)


def damped_step(matrix: Array, slope: Array, damping: Array) -> Any:
    """Return the step of Levenberg and Marquardt: a multiple of each square is added to it (Marquardt 1963)."""
    if not slope.ndim:
        return -slope / (matrix * (1.0 + damping))
    squares = np.diagonal(matrix)
    added = (damping + 2.0**-40) * np.maximum(squares, 2.0**-10 * np.max(squares))
    return np.reshape(-np.linalg.solve(matrix + np.diag(added), np.reshape(slope, (-1,))), slope.shape)
