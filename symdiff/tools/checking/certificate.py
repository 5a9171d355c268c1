"""Numbers of a compiled kernel beside those of the formula as it is written, in many digits.

Derivatives are one-sided differences in many digits, in two directions: where both agree the formula is smooth, where
they differ there is a kink. Nothing of the simplified derivative has a part in them. A difference of the kernel's
number is explained by the condition of the function whose number it is, the sum of abs(x dF/dx), or is a loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import mpmath
import numpy as np

from ...errors import SymdiffError, UnsupportedError
from ...graph import BOOL, REAL, Node, dependents, inputs_of, label_sizes, postorder
from ...graph.reference.interpret import Bindings, evaluate
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import value
from ...ground.budget import spend
from ...printing import text
from ...simplify import inline
from .differences import Numbers
from .multiprecision import SCALARS, exact_values, limit

__all__ = ["EXPLAINED", "Exact", "Sides", "find_loss"]

#: An error of at most so many roundings of the condition is explained by it.
EXPLAINED = 64.0
_UNIT = 2.0**-53
#: Elementary operations in many digits that a check may take.
_WORK = 2e5
#: Operations that a special function counts for.
_SPECIAL = 100
#: Digits of the attempts, and their steps as powers of ten.
_ATTEMPTS = ((160, -40), (320, -60), (900, -90))
_TINY, _HUGE = 2.3e-308, 1.7976931348623157e308
_CHEAP = frozenset(("add", "subtract", "multiply", "divide", "negative", "where", "abs", "maximum", "minimum"))


class Sides(NamedTuple):
    """A derivative along a direction, element by element.

    Parameters
    ----------
    left, right : ndarray of float
        One-sided derivatives, nan where there is none.
    smooth : ndarray of bool
        Where both are one number.
    """

    left: Numbers
    right: Numbers
    smooth: Any

    def nearest(self, got: Numbers) -> Numbers:
        """Return the derivative; at a kink the number between the one-sided ones that is nearest, nan if none is."""
        low, high = np.fmin(self.left, self.right), np.fmax(self.left, self.right)
        both = np.isfinite(self.left) & np.isfinite(self.right)
        return np.where(self.smooth, self.right, np.where(both, np.clip(got, low, high), np.nan))


class Exact:
    """Some formulas at a point, in many digits.

    Parameters
    ----------
    point : mapping of str to ndarray
    inputs : mapping of str to Node
    sizes : mapping of str to int
    """

    def __init__(self, point: Mapping[str, Numbers], inputs: Mapping[str, Node], sizes: Bindings) -> None:
        self.point = dict(point)
        self.sizes = sizes
        self.moving = [name for name, node in inputs.items() if node.dtype is REAL]
        self.left = _WORK

    def affordable(self, moved: Sequence[Node]) -> int:
        """Return along how many directions derivatives can be compared, with half of the work that is left."""
        one = 6 * max(1.0, sum(map(self._work, postorder(inline(list(moved))))))
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
        (plain) = inline(list(roots))

        def near(t: Any) -> Any:
            return self.evaluate(plain, self._all_moved(t) if t else {}, 160)

        found = self.evaluate(plain, {}, 160)
        if not all(map(mpmath.isfinite, found)):
            found = limit(near)
        return as_doubles(found)

    def _all_moved(self, t: Any) -> dict[str, Any]:
        return {name: _moved(self.point[name], t) for name in self.moving}

    def slopes(self, moved: Sequence[Node], along: str, row: Mapping[str, Numbers], scale: float) -> Sides:
        """Return one-sided derivatives by the input ``along``, at 0, of formulas that move with it."""
        plain = inline(list(moved))
        before: Any = None
        for digits, power in _ATTEMPTS:
            digits += 2 * max(0, int(-math.log10(scale)))
            with mpmath.workdps(digits):
                h = mpmath.mpf(scale) * mpmath.mpf(10) ** power
                f = {k: self.evaluate(plain, {**row, along: _one(k * h)}, digits) for k in (-3, -2, -1, 1, 2, 3)}
                right = (-5 * f[1] + 8 * f[2] - 3 * f[3]) / (2 * h)
                left = (5 * f[-1] - 8 * f[-2] + 3 * f[-3]) / (2 * h)
                largest = np.max([np.abs(one) for one in f.values()], axis=0)
                here = _Attempt(left, right, largest * (mpmath.mpf(10) ** (20 - digits) / h))
                if before is None and here.agrees:
                    return here.sides(np.ones(len(left), dtype=bool))
                if before is not None:
                    settled, smooth = here.settle(before)
                    if settled:
                        return here.sides(smooth)
                before = here
        raise UnsupportedError("differences in many digits that do not settle")

    def mixed(
        self, moved: Sequence[Node], along: str, row: Mapping[str, Numbers], name: str, other: Numbers, scale: float
    ) -> Any:
        """Return the least and the largest one-sided second derivative along two directions, equal where it is smooth."""
        plain = inline(list(moved))
        digits, h = 200 + 4 * max(0, int(-math.log10(scale))), mpmath.mpf(scale) * mpmath.mpf(10) ** -35
        with mpmath.workdps(digits):
            grid = {}
            for b in (-2, -1, 1, 2):
                there = np.asarray(_moved(self.point[name], 0) + _moved(other, 0) * _one(b * h), dtype=object)
                for a in (-2, -1, 1, 2):
                    grid[a, b] = self.evaluate(plain, {**row, name: there, along: _one(a * h)}, digits)
            found = [
                (grid[2 * s, 2 * t] - grid[s, 2 * t] - grid[2 * s, t] + grid[s, t]) / (s * t * h * h)
                for s in (-1, 1)
                for t in (-1, 1)
            ]
            noise = mpmath.mpf(10) ** (20 - digits) * np.max([np.abs(one) for one in grid.values()], axis=0) / (h * h)
            sides = [_hull(parts, small) for *parts, small in zip(*found, noise, strict=True)]
            return np.array(sides).reshape(-1, 2).T

    def mixed_condition(
        self, moved: Sequence[Node], along: str, row: Mapping[str, Numbers], name: str, other: Numbers
    ) -> Numbers:
        """Return the sum of abs(x dF/dx) of a second derivative along two directions."""
        plain = inline(list(moved))

        def second(point: Mapping[str, Any]) -> Any:
            t = mpmath.mpf(10) ** -60
            found: Any = 0
            for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                there = np.asarray(
                    point.get(name, _moved(self.point[name], 0)) + _moved(other, 0) * _one(b * t), dtype=object
                )
                found = found + a * b * self.evaluate(plain, {**row, **point, name: there, along: _one(a * t)}, 300)
            return found / (4 * t * t)

        with mpmath.workdps(300):
            return self._moving(second)

    def condition(self, roots: Sequence[Node], along: str = "", row: Mapping[str, Any] | None = None) -> Numbers:
        """Return the sum of abs(x dF/dx) over all inputs; F is the derivative by ``along`` at 0, if there is one."""
        plain = inline(list(roots))
        digits = 200
        with mpmath.workdps(digits):
            t = mpmath.mpf(10) ** -60

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
    def __init__(self, left: Any, right: Any, noise: Any) -> None:
        def without(x: Any) -> Any:
            return np.array([mpmath.mpf(0) if abs(one) <= small else one for one, small in zip(x, noise, strict=True)])

        self.left, self.right = without(left), without(right)
        self.gap = np.abs(self.right - self.left)
        self.size = np.abs(self.right) + np.abs(self.left)

    @property
    def agrees(self) -> bool:
        small = mpmath.mpf(10) ** -20
        return all(gap <= small * size for gap, size in zip(self.gap, self.size, strict=True))

    def settle(self, before: _Attempt) -> tuple[bool, Any]:
        """Tell whether each element is known, and where both sides are one number."""
        smooth, settled = [], True
        for k in range(len(self.gap)):
            gap, size = self.gap[k], self.size[k]
            one = gap <= mpmath.mpf(10) ** -20 * size or gap <= before.gap[k] * mpmath.mpf(10) ** -5
            smooth.append(bool(one))
            if one and max(abs(self.left[k]), abs(self.right[k])) <= mpmath.mpf(10) ** -5 * before.size[k]:
                self.left[k] = self.right[k] = mpmath.mpf(0)  # what is left are the differences' own errors
            for now, then in ((self.left[k], before.left[k]), (self.right[k], before.right[k])):
                same = abs(now - then) <= mpmath.mpf(10) ** -8 * abs(now)
                endless = not mpmath.isfinite(now) or abs(now) > 1000 * abs(then)
                settled = settled and bool(one or same or endless)
                if endless and not one:
                    now *= mpmath.inf
        return settled, np.array(smooth, dtype=bool)

    def sides(self, smooth: Any) -> Sides:
        return Sides(as_doubles(self.left), as_doubles(self.right), smooth)


def _hull(parts: Sequence[Any], noise: Any) -> tuple[float, float]:
    """Return the least and the largest of one-sided numbers, one number twice where they agree."""
    if not all(map(mpmath.isfinite, parts)):
        return math.nan, math.nan
    if max(parts) - min(parts) <= mpmath.mpf(10) ** -12 * sum(map(abs, parts)) + noise:
        middle = sum(parts) / len(parts)
        return (0.0 if abs(middle) <= noise else float(middle),) * 2
    return float(min(parts)), float(max(parts))


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
        free = 10.0**-digits * np.abs(wanted) + _TINY
        bad = (np.abs(got - wanted) > free) & ~(got == wanted)
        if not bad.any():
            return free, False
        return np.maximum(free, EXPLAINED * _UNIT * (condition() + np.abs(wanted))), True


def correct_digits(got: Numbers, wanted: Numbers) -> float:
    """Return how many digits of all numbers are correct."""
    with np.errstate(all="ignore"):
        error = np.abs(got - wanted)
        known = np.isfinite(wanted)
        relative = np.where(error <= _TINY, 0.0, error / np.abs(wanted))
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
        return 10.0 ** -correct_digits(np.ravel(got[node]).astype(float), as_doubles(wanted[node]))

    for node in order:
        own = error(node)
        if own > 1e-11 and all(error(arg) < 1e-2 * own for arg in node.args):
            shown = text(node).rpartition("\n")[2]
            return shown if len(shown) <= 60 else shown[:57] + "..."
    return ""
