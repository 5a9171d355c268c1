"""Numbers of a compiled kernel beside those of the formula as it is written, in many digits.

Derivatives are one-sided differences in many digits, in two directions: where both agree the formula is smooth, where
they differ there is a kink. Nothing of the simplified derivative has a part in them. A difference of the kernel's
number is explained by the condition of the function whose number it is, the sum of abs(x dF/dx), or is a loss. Of a nan
or inf whose exact value is a number, the operation that makes it is named.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import mpmath
import numpy as np

from ...errors import SymdiffError, UnsupportedError
from ...frontend import array_derivatives as derivatives
from ...frontend.array import Array
from ...graph import BOOL, REAL, Node, dependents, inputs_of, label_sizes, postorder
from ...graph.reference.interpret import Bindings, evaluate
from ...graph.reference.many_digits import SCALARS
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import value
from ...ground.budget import spend
from ...printing import text
from ...rewrite import inline, simplify
from .differences import Numbers
from .multiprecision import CHECKED, exact_values, limit, slope, spread_of
from .points import projected

__all__ = ["EXPLAINED", "TINY", "Exact", "Sides", "find_loss"]


#: An error of at most so many roundings of the condition is explained by it.
EXPLAINED = 64.0
_UNIT = 2.0**-53
#: Elementary operations in many digits that a check may take.
_WORK = 4e5
#: Operations that a special function counts for.
_SPECIAL = 100
#: Digits of the attempts, and their steps as powers of ten. Rounding shrinks from one to the next by more than
#: differences do, so that what stays is a number, however small.
_ATTEMPTS = ((160, -40), (320, -60), (900, -90))
_CURVES = ((240, -35), (400, -50))
#: The same for numbers that are 0 in so many digits: what rounding leaves is below the least double then.
_FINEST = ((560, -170), (720, -230), (1100, -280))
_FINEST_CURVES = ((720, -170), (1000, -220))
TINY, _NEARLY_ZERO = 2.3e-308, 1e-60
#: Numbers below are 0 as doubles.
_NO_DOUBLE = mpmath.mpf(10) ** -330
#: Up to this size a number may be where 0 is exact, if rounding of the point changes it as much.
_NOISE = 1e-9
_CHEAP = frozenset(("add", "subtract", "multiply", "divide", "negative", "where", "abs", "maximum", "minimum"))


class Sides(NamedTuple):
    """A derivative along a direction, element by element.

    Parameters
    ----------
    left, right : ndarray of float
        One-sided derivatives, nan where there is none.
    smooth : ndarray of bool
        Where both are one number.
    jumps : ndarray of bool
        Where the value is another than beside the point.
    """

    left: Numbers
    right: Numbers
    smooth: Any
    jumps: Any

    def nearest(self, got: Numbers) -> Numbers:
        """Return the derivative, the number that is nearest to the one given between one-sided ones, or nan.

        At the end of a domain there is one side alone; beside an infinite slope of one side no number is right.
        """
        low, high = np.minimum(self.left, self.right), np.maximum(self.left, self.right)
        between = np.where(np.isnan(got), low, np.clip(got, low, high))
        kinked = np.where(np.isfinite(self.left) & np.isfinite(self.right), between, np.nan)
        endless = np.isinf(self.left) & (self.left == self.right)
        one = np.where(np.isnan(self.left), self.right, np.where(np.isnan(self.right), self.left, kinked))
        return np.where(self.smooth | endless, self.right, one)

    def endless(self) -> str:
        """Say on which sides slopes are infinite, "" if on none."""
        told = [
            f"{name} ({', '.join(sorted({f'{one:+}' for one in side[np.isinf(side)]}))})"
            for name, side in (("left", self.left), ("right", self.right))
            if np.isinf(side).any()
        ]
        return " and on the ".join(told)


class Exact:
    """Some formulas at a point, in many digits.

    Parameters
    ----------
    point : mapping of str to ndarray
    inputs : mapping of str to Node
    sizes : mapping of str to int
    roots : sequence of Node
        The formulas, whose constants have sizes as the point has.
    """

    def __init__(
        self, point: Mapping[str, Numbers], inputs: Mapping[str, Node], sizes: Bindings, roots: Sequence[Node] = ()
    ) -> None:
        self.point = dict(point)
        self.sizes = sizes
        self.moving = [name for name, node in inputs.items() if node.dtype is REAL]
        self.left = _WORK
        constants = [node.value for node in postorder(inline(list(roots))) if node.is_constant]
        self.spread = spread_of([*point.values(), *constants])
        #: Digits of the largest value before the point.
        self.before_point = 0

    def digits(self, least: float, order: int = 1) -> int:
        """Return how many digits hold steps of ``order`` derivatives beside the numbers that they change."""
        return int(least) + order * self.spread.decades + self.before_point

    def step(self, power: int) -> Any:
        """Return a step that is 10**power of the least number."""
        return mpmath.mpf(self.spread.least) * mpmath.mpf(10) ** power

    def refill(self) -> None:
        """Grant the work of second derivatives."""
        self.left = max(self.left, 5 * _WORK)

    def affordable(self, moved: Sequence[Node]) -> int:
        """Return along how many directions derivatives can be compared, with half of the work that is left."""
        one = 14 * max(1.0, sum(map(self._work, postorder(inline(list(moved))))))
        return max(int(self.left / 2 / one), int(self.left >= one))

    def evaluate(self, roots: Sequence[Node], more: Mapping[str, Any], digits: int) -> Any:
        """Return formulas as one flat array."""
        work = sum(map(self._work, postorder(roots))) * (digits / 160)
        self.left -= work
        if self.left < 0:
            raise UnsupportedError("more work in many digits than a check takes")
        spend(20 + int(work) // 50)
        found = exact_values(roots, {**self.point, **more}, self.sizes, digits)
        return np.concatenate([np.ravel(one) for one in found])

    def _work(self, node: Node) -> float:
        size = math.prod(value(n, self.sizes) for n in node.shape)
        if node.op in SCALARS:
            row = FUNCTIONS.get(node.op)
            special = row is not None and row.numpy.startswith("special.")
            return size * (1 if node.op in _CHEAP else _SPECIAL if special else 8)
        if node.op in ("det", "logdet", "logabsdet", "inv", "solve", "cholesky", "adjugate", "expm", "pinv"):
            return float(max(size, 1) * 10 * value(node.args[0].shape[-1], self.sizes) ** 2)
        if node.is_contraction:
            return 3.0 * len(node.args) * math.prod(value(n, self.sizes) for n in label_sizes(node).values())
        return float(size + sum(math.prod(value(n, self.sizes) for n in arg.shape) for arg in node.args))

    def values(self, roots: Sequence[Node]) -> Numbers:
        """Return the exact value; the limit where the formula as written has none."""
        plain = inline(list(roots))

        def near(t: Any) -> Any:
            return self.evaluate(plain, self._all_moved(t) if t else {}, self.digits(160))

        found = self.evaluate(plain, {}, self.digits(160))
        if not all(map(mpmath.isfinite, found)):
            found = limit(near, self.spread)
        elif any(abs(one) < _NEARLY_ZERO for one in found):
            # what rounding leaves of 0 shrinks with each further digit, and numbers stay
            finer, finest = (self.evaluate(plain, {}, self.digits(least)) for least in (560, 720))
            both = zip(finer, finest, strict=True)
            found = np.array([b if abs(a - b) <= abs(b) / 2 else mpmath.mpf(0) for a, b in both])
        largest = max((abs(one) for one in found if mpmath.isfinite(one)), default=mpmath.mpf(0))
        self.before_point = max(0, int(mpmath.log10(largest))) if largest else 0
        return as_doubles(found)

    def _all_moved(self, t: Any) -> dict[str, Any]:
        return {name: _moved(self.point[name], t) for name in self.moving}

    def slopes(self, moved: Sequence[Node], along: str, row: Mapping[str, Numbers]) -> Sides:
        """Return one-sided derivatives by the input ``along``, at 0, of formulas that move with it."""
        plain = inline(list(moved))

        def at(t: Any, digits: int) -> Any:
            return self.evaluate(plain, {**row, along: _one(t)}, digits)

        sides = self._settled(at, _ATTEMPTS)
        none = (sides.left == 0) & (sides.right == 0)
        if none.any():
            least, power = _FINEST[0]
            digits = self.digits(least)
            with mpmath.workdps(digits):
                h = self.step(power)
                changes = np.abs(at(h, digits) - at(-h, digits))[none] / (2 * h)
            if not all(change <= _NO_DOUBLE for change in changes):
                sides = self._settled(at, _FINEST)
        return sides

    def _settled(self, at: Callable[[Any, int], Any], attempts: Sequence[tuple[int, int]]) -> Sides:
        before: Any = None
        for least, power in attempts:
            digits = self.digits(least)
            with mpmath.workdps(digits):
                h = self.step(power)
                f = {k: at(k * h, digits) for k in range(-3, 4)}
                # of differences: what does not change gives 0, and not the rounding of its multiples
                right = (5 * (f[2] - f[1]) - 3 * (f[3] - f[2])) / (2 * h)
                left = (5 * (f[-1] - f[-2]) - 3 * (f[-2] - f[-3])) / (2 * h)
                largest = np.max([np.abs(f[k]) for k in (-3, -2, -1, 1, 2, 3)], axis=0)
                noise = largest * (mpmath.mpf(10) ** (20 - digits) / h)
                jumps = [_is_apart(*ends) for ends in zip(f[0], f[-1], f[1], strict=True)]
                here = _Attempt(left, right, noise, np.array(jumps, dtype=bool))
                if before is None and here.agrees and not here.is_tiny:
                    return here.sides(np.ones(len(left), dtype=bool))
                if before is not None:
                    settled, smooth = here.settle(before)
                    if settled:
                        return here.sides(smooth)
                before = here
        raise UnsupportedError("differences in many digits that do not settle")

    def mixed(self, bent: Sequence[Node], along: tuple[str, str], row: Mapping[str, Numbers]) -> Any:
        """Return the least and the largest one-sided second derivative along two inputs at 0, equal if smooth.

        Infinite ones are nan.
        """
        plain = inline(list(bent))

        def at(a: Any, b: Any, digits: int) -> Any:
            return self.evaluate(plain, {**row, along[0]: _one(a), along[1]: _one(b)}, digits)

        hulls = self._hulls(at, _CURVES)
        none = (hulls == 0).all(axis=0)
        if not (hulls[0] == hulls[1]).all():
            hulls = self._hulls(at, _FINEST_CURVES)
        elif none.any():
            least, power = _FINEST_CURVES[0]
            digits = self.digits(least, 2)
            with mpmath.workdps(digits):
                h = self.step(power)
                ahead, behind = (at(h, s * h, digits) - at(-h, s * h, digits) for s in (1, -1))
                changes = np.abs(ahead - behind)[none] / (4 * h * h)
            if not all(change <= _NO_DOUBLE for change in changes):
                hulls = self._hulls(at, _FINEST_CURVES)
        return hulls

    def _hulls(self, at: Callable[[Any, Any, int], Any], attempts: Sequence[tuple[int, int]]) -> Any:
        before: list[Any] = []
        small: Any = 0
        for least, power in attempts:
            digits = self.digits(least, 2)
            with mpmath.workdps(digits):
                h = self.step(power)
                grid = {(a, b): at(a * h, b * h, digits) for a, b in itertools.product((-2, -1, 1, 2), repeat=2)}
                found = [
                    ((grid[2 * s, 2 * t] - grid[s, 2 * t]) - (grid[2 * s, t] - grid[s, t])) / (s * t * h * h)
                    for s, t in itertools.product((-1, 1), repeat=2)
                ]
                largest = np.max([np.abs(g) for g in grid.values()], axis=0)
                noise = mpmath.mpf(10) ** (20 - digits) * largest / (h * h)
                if not before:
                    before, small = found, noise
                    sides = [_hull(parts, own) for *parts, own in zip(*found, noise, strict=True)]
                    if all(low == high and (not low or abs(low) > 1e-20) for low, high in sides):
                        return np.array(sides).reshape(-1, 2).T
        sides = []
        with mpmath.workdps(digits):
            for first, last, own, larger in zip(
                zip(*before, strict=True), zip(*found, strict=True), noise, np.maximum(noise, small), strict=True
            ):
                if any(abs(now) > 100 * abs(then) + larger > larger for then, now in zip(first, last, strict=True)):
                    sides.append((math.nan, math.nan))
                    continue
                settled = [
                    mpmath.mpf(0) if abs(now) <= mpmath.mpf(10) ** -5 * abs(then) else now
                    for then, now in zip(first, last, strict=True)
                ]
                sides.append(_hull(settled, own))
        return np.array(sides).reshape(-1, 2).T

    def mixed_condition(
        self, bent: Sequence[Node], along: tuple[str, str], row: Mapping[str, Numbers], least: Numbers
    ) -> Numbers:
        """Return the sum of abs(x dF/dx) of a second derivative along two inputs at 0, which are ``least`` at least."""
        plain = inline(list(bent))
        digits = self.digits(300 + _places(least), 2)

        def second(point: Mapping[str, Any]) -> Any:
            t = self.step(-60)
            found: Any = 0
            for a, b in itertools.product((1, -1), repeat=2):
                ends = {along[0]: _one(a * t), along[1]: _one(b * t)}
                found = found + a * b * self.evaluate(plain, {**row, **point, **ends}, digits)
            return found / (4 * t * t)

        with mpmath.workdps(digits):
            return self._moving(second)

    def smoothness(self, roots: Sequence[Node], names: Sequence[str], rng: np.random.Generator) -> tuple[bool, bool]:
        """Tell whether formulas have one first and one second derivative at the point, by the inputs given.

        They are looked at along two random lines, their sum and their difference: slopes of what is smooth add up, and
        curves keep the parallelogram law, which those of ``abs(x) * abs(y)`` do not, though each line is smooth.
        """
        plain = inline(list(roots))
        digits = self.digits(160)
        one, other = ({name: _moved(rng.normal(size=self.point[name].shape), 0) for name in names} for _ in range(2))
        with mpmath.workdps(digits):
            h = self.step(-40)
            here = self.evaluate(plain, {}, digits)

            def along(share: int, more: int) -> tuple[Any, Any, bool, bool]:
                """Return slope and curve along a line, and whether both sides have one."""
                f = {
                    k: self.evaluate(
                        plain,
                        {
                            name: _one(_moved(self.point[name], 0) + k * h * (share * one[name] + more * other[name]))
                            for name in names
                        },
                        digits,
                    )
                    for k in (-2, -1, 1, 2)
                }
                slopes = (here - f[-1]) / h, (f[1] - here) / h
                curves = (here - 2 * f[-1] + f[-2]) / h**2, (f[2] - 2 * f[1] + here) / h**2
                return slopes[1], curves[1], _are_near(*slopes), _are_near(*curves)

            (s, c, *_), (t, d, *_), (plus, plus_curve, *_), (minus, minus_curve, *_) = lines = [
                along(*shares) for shares in ((1, 0), (0, 1), (1, 1), (1, -1))
            ]
            straight = all(line[2] for line in lines) and _are_near(s + t, plus) and _are_near(s - t, minus)
            bent = all(line[3] for line in lines) and _are_near(plus_curve + minus_curve, 2 * c + 2 * d)
            return straight, bent

    def condition(
        self, roots: Sequence[Node], found: Numbers, along: str = "", row: Mapping[str, Any] | None = None
    ) -> Numbers:
        """Return the sum of abs(x dF/dx) over all inputs; F is the derivative by ``along`` at 0, if there is one.

        ``found`` are the numbers of F, whose least needs most digits.
        """
        plain = inline(list(roots))
        digits = self.digits(200 + _places(found))
        with mpmath.workdps(digits):
            t = self.step(-60)

            def number(more: Mapping[str, Any]) -> Any:
                if not along:
                    return self.evaluate(plain, more, digits)
                ahead, behind = (
                    self.evaluate(plain, {**(row or {}), **more, along: _one(s * t)}, digits) for s in (1, -1)
                )
                return (ahead - behind) / (2 * t)

            return self._moving(number)

    def _moving(self, number: Callable[[Mapping[str, Any]], Any]) -> Numbers:
        h, total = mpmath.mpf(10) ** -30, np.zeros(1)
        for name in self.moving:
            array = np.asarray(self.point[name], dtype=float)
            for place in map(tuple, np.argwhere(array)):
                ends = []
                for sign in (1, -1):
                    moved = _moved(array, 0)
                    moved[place] = moved[place] * (1 + sign * h)
                    ends.append(number({name: moved}))
                total = total + np.abs((ends[0] - ends[1]) / (2 * h))
        return np.nan_to_num(as_doubles(total), nan=0.0, posinf=0.0)


class _Attempt:
    def __init__(self, left: Any, right: Any, noise: Any, jumps: Any) -> None:
        def without(x: Any) -> Any:
            return np.array([mpmath.mpf(0) if abs(one) <= small else one for one, small in zip(x, noise, strict=True)])

        self.left, self.right = without(left), without(right)
        self.jumps = jumps
        self.gap = np.abs(self.right - self.left)
        self.size = np.abs(self.right) + np.abs(self.left)

    @property
    def agrees(self) -> bool:
        small = mpmath.mpf(10) ** -20
        return all(gap <= small * size for gap, size in zip(self.gap, self.size, strict=True))

    @property
    def is_tiny(self) -> bool:
        """Tell whether a number may be what is left of 0 in so many digits."""
        return any(0 < size < _NEARLY_ZERO for size in self.size)

    def settle(self, before: _Attempt) -> tuple[bool, Any]:
        """Tell whether each element is known, and where both sides are one number."""
        smooth, settled = [], True
        for k in range(len(self.gap)):
            gap, size = self.gap[k], self.size[k]
            one = gap <= mpmath.mpf(10) ** -20 * size or gap <= before.gap[k] * mpmath.mpf(10) ** -5
            one = one or all(
                abs(now) <= mpmath.mpf(10) ** -5 * abs(then)
                for now, then in ((self.left[k], before.left[k]), (self.right[k], before.right[k]))
            )
            smooth.append(bool(one))
            if one and max(abs(self.left[k]), abs(self.right[k])) <= mpmath.mpf(10) ** -5 * before.size[k]:
                self.left[k] = self.right[k] = mpmath.mpf(0)  # what is left are the differences' own errors
            for side, old in ((self.left, before.left), (self.right, before.right)):
                now, then = side[k], old[k]
                same = abs(now - then) <= mpmath.mpf(10) ** -8 * abs(now)
                endless = mpmath.isfinite(now) and abs(now) > 1000 * abs(then) > 0
                vanishes = abs(now) <= mpmath.mpf(10) ** -5 * abs(then)
                settled = settled and bool(one or same or endless or vanishes or not mpmath.isfinite(now))
                if not one and (endless or vanishes):
                    side[k] = now * mpmath.inf if endless else mpmath.mpf(0)
        return settled, np.array(smooth, dtype=bool)

    def sides(self, smooth: Any) -> Sides:
        return Sides(as_doubles(self.left), as_doubles(self.right), smooth, self.jumps)


def _is_apart(here: Any, *beside: Any) -> bool:
    """Tell whether a value is another than those beside it."""
    small = mpmath.mpf(10) ** -8
    return bool(
        all(map(mpmath.isfinite, (here, *beside)))
        and any(abs(here - one) > small * max(abs(here), abs(one)) for one in beside)
        and abs(here - beside[0]) + abs(here - beside[1]) > mpmath.mpf(10) ** -15
    )


def _hull(parts: Sequence[Any], noise: Any) -> tuple[float, float]:
    """Return the least and the largest of one-sided numbers, one number twice where they agree."""
    if not all(map(mpmath.isfinite, parts)):
        return math.nan, math.nan
    if max(parts) - min(parts) <= mpmath.mpf(10) ** -12 * sum(map(abs, parts)) + noise:
        middle = sum(parts) / len(parts)
        return (0.0 if abs(middle) <= noise else float(middle),) * 2
    return float(min(parts)), float(max(parts))


def _are_near(one: Any, other: Any) -> bool:
    """Tell whether numbers are the same up to what steps change; what is not finite is near to nothing."""
    return all(abs(a - b) <= mpmath.mpf(10) ** -15 * (1 + abs(a) + abs(b)) for a, b in zip(one, other, strict=True))


def _places(numbers: Numbers) -> int:
    """Return how many zeros are between the point and the first digit of the least number."""
    least = np.min(np.abs(numbers), where=(numbers != 0) & np.isfinite(numbers), initial=1.0)
    return int(-math.log10(least))


def _one(number: Any) -> Any:
    return np.asarray(number, dtype=object)


def _moved(array: Any, t: Any) -> Any:
    array = np.asarray(array, dtype=float)
    found = np.empty(array.shape, dtype=object)
    for place in np.ndindex(*array.shape):
        found[place] = mpmath.mpf(float(array[place])) + t
    return found


def as_doubles(array: Any) -> Numbers:
    """Return mpmath's numbers as doubles."""
    return np.array([float(one) for one in np.ravel(array)], dtype=float)


def allowed(got: Numbers, wanted: Numbers, digits: float, condition: Callable[[], Numbers]) -> tuple[Numbers, bool]:
    """Return the error that each number may have, and whether the condition was needed for it."""
    with np.errstate(all="ignore"):
        free = 10.0**-digits * np.abs(wanted) + TINY
        bad = (np.abs(got - wanted) > free) & ~(got == wanted)
        if not bad.any():
            return free, False
        return np.maximum(free, EXPLAINED * _UNIT * (condition() + np.abs(wanted))), True


def is_noise(got: Numbers, wanted: Numbers, near: Callable[[], Sequence[Numbers]]) -> Any:
    """Tell which numbers, exactly 0, are rounding alone: what rounds the point changes them as much."""
    small = (wanted == 0) & (got != 0) & (np.abs(got) <= _NOISE)
    if small.any():
        small &= np.max([np.abs(there - got) for there in near()], axis=0) >= np.abs(got) / 100
    return small


def correct_digits(got: Numbers, wanted: Numbers) -> float:
    """Return how many digits of all numbers are correct."""
    with np.errstate(all="ignore"):
        error = np.abs(got - wanted)
        known = np.isfinite(wanted)
        relative = np.where(error <= TINY, 0.0, error / np.abs(wanted))
        worst = float(np.max(np.where(np.isnan(relative), np.inf, relative), initial=0.0, where=known))
    return max(0.0, min(16.0, -math.log10(worst))) if worst > 0 else 16.0


def find_loss(roots: Sequence[Node], point: Mapping[str, Any], sizes: Bindings) -> str:
    """Name the operation of formulas whose digits are lost, though those of its arguments are not."""
    order = [n for n in postorder(inline(list(roots))) if n.dtype is not BOOL and n.args]
    order = [node for node in order if node in dependents(order, set(inputs_of(order)))]
    every = list(dict.fromkeys([*order, *(arg for node in order for arg in node.args)]))
    try:
        got = dict(zip(every, evaluate(every, point, inputs_of(roots)), strict=True))
        wanted = dict(zip(every, exact_values(every, point, sizes, 160), strict=True))
    except SymdiffError:
        return ""

    def error(node: Node) -> float:
        if node.dtype is BOOL:
            return 0.0
        return math.pow(10.0, -correct_digits(np.ravel(got[node]).astype(float), as_doubles(wanted[node])))

    for node in order:
        own = error(node)
        if own > 1e-11 and all(error(arg) < 1e-2 * own for arg in node.args):
            shown = text(node).rpartition("\n")[2]
            return shown if len(shown) <= 60 else shown[:57] + "..."
    return ""


#: Most elements of an output, and of a variable, that are examined.
_ELEMENTS = 16


def find_overflow(
    outputs: Sequence[Node],
    wrt: Sequence[Node],
    point: Mapping[str, Any],
    sizes: Bindings,
    results: Sequence[Any],
) -> Iterator[str]:
    """Say where a value or a first derivative is nan or inf, though the exact one is finite.

    Parameters
    ----------
    outputs, wrt : sequence of Node
    point : mapping of str to ndarray
    sizes : mapping of str to int
    results : sequence of ndarray
        The outputs as they were computed.

    Yields
    ------
    str
        At most one sentence for the value and one for each derivative.
    """
    barred = any(node.op in ("stop_gradient", "custom") for node in postorder(outputs))
    for output, result in zip(outputs, results, strict=True):
        (plain,) = inline([output])
        yield from _look([plain], "the value", np.asarray(result), partial(_value, plain, point, sizes), point)
        for w in wrt if not barred else ():
            if not w.is_input or math.prod(value(size, sizes) for size in w.shape) > _ELEMENTS:
                continue
            derivative = derivatives.jacobian(Array(output), Array(w), disconnected="zero").node
            (got,) = evaluate(inline(simplify([derivative])), point, inputs_of([output]))
            name = f"the derivative with respect to {w.name}"
            yield from _look([derivative], name, got, partial(_slopes, plain, w, point, sizes), point)


def _look(roots: Sequence[Node], name: str, got: Any, exact: Any, point: Mapping[str, Any]) -> Iterator[str]:
    odd = np.argwhere(~np.isfinite(got))
    if not len(odd) or got.size > _ELEMENTS**2:
        return
    try:
        wanted = exact()
    except SymdiffError:  # an operation that is not known in many digits: nothing to compare with
        return
    for place in map(tuple, odd):
        number = float(wanted[place])
        if math.isfinite(number):
            at = f" at element {[int(i) for i in place]}" if place else ""
            yield f"{name} is {got[place]}{at}, but the exact one is {number:.6g}: {_culprit(roots, point)}"
            return


def _value(plain: Node, point: Mapping[str, Any], sizes: Bindings) -> Any:
    spread = spread_of(point.values())
    many = CHECKED + spread.decades
    return limit(lambda t: exact_values([plain], _moved_point(point, t), sizes, many)[0], spread)


def _moved_point(point: Mapping[str, Any], t: Any) -> dict[str, Any]:
    """Return the point with each number that is not a condition moved by t."""
    if not t:
        return dict(point)
    with np.errstate(invalid="ignore"):  # a nan stays one
        return {name: np.frompyfunc(lambda x: t + float(x), 1, 1)(np.asarray(a)) for name, a in point.items()}


def _slopes(plain: Node, w: Node, point: Mapping[str, Any], sizes: Bindings) -> Any:
    array = np.asarray(point[str(w.name)], dtype=float)
    spread = spread_of(point.values())
    many = CHECKED + spread.decades
    columns = []
    for place in np.ndindex(*array.shape):
        direction = np.zeros(array.shape)
        direction[place] = 1.0
        direction = projected(w.assumptions.space, direction)

        def along(t: Any, direction: Any = direction) -> Any:
            moved = array.astype(object)
            for own in map(tuple, np.argwhere(direction)):
                moved[own] = t * float(direction[own]) + float(array[own])
            return exact_values([plain], {**point, str(w.name): moved}, sizes, many)[0]

        columns.append(slope(along, spread))
    stacked = np.stack([np.asarray(column, dtype=object) for column in columns], axis=-1)
    return stacked.reshape((*stacked.shape[:-1], *array.shape))


def _culprit(roots: Sequence[Node], point: Mapping[str, Any]) -> str:
    """Name the first operation whose arguments are finite and whose result is not."""
    plain = simplify(inline(roots), written=True)
    order = [node for node in postorder(plain) if node.dtype is not BOOL]
    carriers = inputs_of(plain)
    active = dependents(order, carriers)
    for node in order:
        if node.args and node in active:
            result, *args = evaluate([node, *node.args], point, carriers)
            if not np.isfinite(result).all() and all(np.isfinite(arg).all() for arg in args):
                shown = text(node).rpartition("\n")[2]
                shown = shown if len(shown) <= 60 else shown[:57] + "..."
                kind = "0 / 0" if node.is_division and not np.all(args[1]) else "overflow"
                return f"{kind} in {shown}; {_ADVICE[kind]}"
    return "its terms overflow; write it with smaller ones"


_ADVICE = {
    "overflow": "divide above and below the line by what grows, so that exponents are negative",
    "0 / 0": "write where(x == 0, limit, ...), or a series near that point",
}
