"""What check says, beside numbers in many digits that symdiff has no part in.

A formula is a tree of plain tuples, computed here by mpmath and differentiated by differences in many digits. Half of
the points are near a singular point, a tie or a cancellation, or far out. "ok" is wrong where the value or a first
derivative has an error above 1e-6, unless a change of the point by rounding changes the number as much.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import mpmath
import numpy as np

import symdiff as sd
from symdiff.frontend.formula import read_formula

#: ("x",) an input, ("2.5",) a number, or (operation, argument, ...).
Tree: TypeAlias = tuple[Any, ...]
CertificateCase: TypeAlias = tuple[Tree, dict[str, float]]

INPUTS = ("x", "y")
DIGITS = 120
STEP, ROUNDED, WRONG = mpmath.mpf(10) ** -40, mpmath.mpf(2) ** -53, 1e-6


def _choice(a: Any, b: Any, c: Any) -> Any:
    return b if a < c else c


FUNCTIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    "sin": ("sin({0})", mpmath.sin),
    "cos": ("cos({0})", mpmath.cos),
    "exp": ("exp({0})", mpmath.exp),
    "log": ("log({0})", mpmath.log),
    "log1": ("log(1 + {0})", lambda a: mpmath.log(1 + a)),
    "sqrt": ("sqrt({0})", mpmath.sqrt),
    "abs": ("abs({0})", abs),
    "tanh": ("tanh({0})", mpmath.tanh),
    "cosh": ("cosh({0})", mpmath.cosh),
    "square": ("({0})**2", lambda a: a * a),
    "power": ("({0})**1.5", lambda a: mpmath.power(a, mpmath.mpf("1.5"))),
    "reciprocal": ("1/({0})", lambda a: 1 / a),
    "negative": ("-({0})", lambda a: -a),
    "arctan": ("arctan({0})", mpmath.atan),
    "arcsin": ("arcsin({0})", mpmath.asin),
    "softplus": ("log(1 + exp({0}))", lambda a: mpmath.log(1 + mpmath.exp(a))),
    "add": ("({0}) + ({1})", lambda a, b: a + b),
    "subtract": ("({0}) - ({1})", lambda a, b: a - b),
    "multiply": ("({0}) * ({1})", lambda a, b: a * b),
    "divide": ("({0}) / ({1})", lambda a, b: a / b),
    "maximum": ("maximum({0}, {1})", max),
    "hypot": ("hypot({0}, {1})", mpmath.hypot),
    "choice": ("where({0} < {2}, {1}, {2})", _choice),
}
ARITY = {name: 3 if "{2}" in text else 2 if "{1}" in text else 1 for name, (text, _) in FUNCTIONS.items()}
#: Places where functions above are singular, tied, or lose digits.
SPECIAL = (0.0, 1.0, -1.0, 2.0, 1.5707963267948966, 1.4142135623730951)


def draw(rng: random.Random) -> CertificateCase:
    """Draw a formula and a point."""
    point = {name: rng.uniform(-2, 2) for name in INPUTS}
    if rng.random() < 0.5:
        for name in INPUTS:
            way = rng.random()
            near = rng.choice(SPECIAL) + rng.choice((0.0, 1.0, -1.0)) * 10.0 ** -rng.uniform(3, 17)
            far = rng.choice((1.0, -1.0)) * 10.0 ** rng.uniform(1, 9)
            point[name] = near if way < 0.6 else far if way < 0.8 else point[name]
        if rng.random() < 0.3:
            point["y"] = point["x"] * (1 + rng.choice((0.0, 1e-15, 1e-9, -1e-6)))
    return _tree(rng, rng.randint(1, 4)), point


def _tree(rng: random.Random, depth: int) -> Tree:
    if depth <= 0 or rng.random() < 0.1:
        return (rng.choice(("x", "x", "y", "y", "1", "2", "0.5")),)
    name = rng.choice([*FUNCTIONS])
    return (name, *(_tree(rng, depth - 1) for _ in range(ARITY[name])))


def written(tree: Tree) -> str:
    """Return a tree as formula text."""
    return FUNCTIONS[tree[0]][0].format(*map(written, tree[1:])) if len(tree) > 1 else str(tree[0])


def computed(tree: Tree, point: dict[str, Any]) -> Any:
    """Compute a tree with mpmath; nan where it is no real number."""
    if len(tree) == 1:
        return point[tree[0]] if tree[0] in point else mpmath.mpf(tree[0])
    args = [computed(arg, point) for arg in tree[1:]]
    if any(map(mpmath.isnan, args)):
        return mpmath.nan
    try:
        found = FUNCTIONS[tree[0]][1](*args)
    except (ZeroDivisionError, ValueError, OverflowError):
        return mpmath.nan
    return found if isinstance(found, mpmath.mpf) else mpmath.nan


def _step(point: dict[str, Any], step: Any = STEP) -> Any:
    return step * min([mpmath.mpf(1), *(abs(one) for one in point.values() if one)])


def _numbers(tree: Tree, point: dict[str, Any], step: Any = STEP) -> dict[str, tuple[Any, Any]]:
    """Return the value and slopes, each as the least and the largest of both sides, nan where there is none."""

    def at(name: str, t: Any) -> Any:
        return computed(tree, {**point, name: point[name] + t})

    here = computed(tree, point)
    found = {"value": (here, here)}
    h = _step(point, step)
    for name in INPUTS:
        # of differences: what does not change gives 0, and not the rounding of its multiples
        sides = [(4 * (at(name, s * h) - here) - (at(name, 2 * s * h) - here)) / (2 * s * h) for s in (-1, 1)]
        found[name] = (min(sides), max(sides)) if not any(map(mpmath.isnan, sides)) else (mpmath.nan, mpmath.nan)
    return found


def run(case: CertificateCase) -> str:
    """Compare the verdict with errors in many digits; return what it overlooks."""
    tree, point = case
    text = written(tree)
    used = [name for name in INPUTS if name in _leaves(tree)]
    if not used:
        return ""
    try:
        read = read_formula(text, dict.fromkeys(used, ()))
    except sd.ParseError as error:
        # a power of numbers may be complex, where many digits have no real value either
        is_complex = "is complex" in str(error) and mpmath.isnan(computed(tree, dict(point)))
        return "" if is_complex else f"refused: {error}"
    report = sd.check(text, at={name: point[name] for name in read.inputs})
    if report.verdict not in ("ok", "ok to first order"):
        return ""
    with mpmath.workdps(DIGITS):
        exact: dict[str, Any] = {name: mpmath.mpf(own) for name, own in point.items()}
        wanted = _numbers(tree, exact)
        outputs = {"value": read.value}
        outputs |= {name: sd.gradient(read.value, read.inputs[name]) for name in read.inputs}
        kernel = sd.compile(outputs, [*read.inputs.values()])
        got = kernel(*(point[name] for name in read.inputs))
        # a slope of 0 is what the value's own digits leave of it
        noise = abs(wanted["value"][0]) * mpmath.mpf(10) ** (5 - DIGITS) / _step(exact)
        doubt = dict.fromkeys(wanted, mpmath.mpf(0) if mpmath.isnan(noise) else noise)
        near = [_numbers(tree, exact, 2 * STEP)]  # what differences lose
        for name in read.inputs:
            near += [_numbers(tree, {**exact, name: exact[name] * (1 + sign * ROUNDED)}) for sign in (1, -1)]
        for beside in near:
            for key, (low, high) in beside.items():
                change = max(abs(low - wanted[key][0]), abs(high - wanted[key][1]))
                doubt[key] += 0 if mpmath.isnan(change) else change
        for key in outputs:
            low, high = wanted[key]
            number = float(np.ravel(got[key])[0])
            size = max(abs(low), abs(high))
            if mpmath.isnan(low) or mpmath.isnan(high) or size > 1e300 or size < 1e-300:
                continue
            if size > 1 / mpmath.sqrt(STEP) or (not np.isfinite(number) and low != high):
                continue  # an infinite slope
            off = 0 if low <= number <= high else min(abs(number - low), abs(number - high))
            if key != "value" and size <= noise:  # of a slope that is 0 rounding leaves a share of its terms
                doubt[key] += ROUNDED * abs(wanted["value"][0]) / min(1, abs(exact[key]) or 1)
            if not off <= WRONG * size + 200 * doubt[key]:
                right = mpmath.nstr(low, 17)
                return f"{report.verdict}, but {key} is {number!r} where {right} is right, of {text} at {point}"
    return ""


def _leaves(tree: Tree) -> set[str]:
    return {str(tree[0])} if len(tree) == 1 else set().union(*map(_leaves, tree[1:]))


def smaller(case: CertificateCase) -> Iterator[CertificateCase]:
    """Give formulas with a part left out."""
    tree, point = case
    for other in _less(tree):
        yield other, point


def _less(tree: Tree) -> Iterator[Tree]:
    if len(tree) == 1:
        return
    yield from tree[1:]
    for k, arg in enumerate(tree[1:], 1):
        for other in _less(arg):
            yield (*tree[:k], other, *tree[k + 1 :])
