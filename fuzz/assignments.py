"""Formulas of several lines, whose names come again and again: values and gradients against NumPy over complex numbers.

Trees have each part once. Here parts are shared, sums have equal terms and products equal factors, which is where
rewriting finds what to do: ``t0 = x + x``, ``t1 = sin(x) - sin(t0)``, ``t1 / t0``. The imaginary part at x + ih,
divided by h, is the derivative at x to the last digits (Squire and Trapp 1998).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

import symdiff as sd

#: An operation, and the places of its operands among inputs and lines.
Line: TypeAlias = tuple[str, int, int]
#: Values of the inputs, and the lines.
AssignmentCase: TypeAlias = tuple[tuple[float, ...], tuple[Line, ...]]

#: Operations as text and as NumPy has them; whatever is analytic.
OPERATIONS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "add": ("{0} + {1}", lambda a, b: a + b),
    "subtract": ("{0} - {1}", lambda a, b: a - b),
    "multiply": ("{0} * {1}", lambda a, b: a * b),
    "divide": ("{0} / {1}", lambda a, b: a / b),
    "twice": ("{0} + {0}", lambda a, b: a + a),
    "square": ("{0}**2", lambda a, b: a * a),
    "cube": ("{0}**3", lambda a, b: a * a * a),
    "inverse": ("1 / {0}", lambda a, b: 1 / a),
    "double": ("2 * {0}", lambda a, b: 2 * a),
    "more": ("{0} + 1", lambda a, b: a + 1),
    "less": ("1 - {0}", lambda a, b: 1 - a),
    "sin": ("sin({0})", lambda a, b: np.sin(a)),
    "cos": ("cos({0})", lambda a, b: np.cos(a)),
    "exp": ("exp({0})", lambda a, b: np.exp(a)),
    "falling": ("exp(-{0})", lambda a, b: np.exp(-a)),
    "expm1": ("exp({0}) - 1", lambda a, b: np.exp(a) - 1),
    "log": ("log(1 + {0}**2)", lambda a, b: np.log(1 + a * a)),
    "tanh": ("tanh({0})", lambda a, b: np.tanh(a)),
    "slope": ("1 - tanh({0})**2", lambda a, b: 1 - np.tanh(a) ** 2),
    "root": ("sqrt(1 + {0}**2)", lambda a, b: np.sqrt(1 + a * a)),
    "softplus": ("log(1 + exp({0}))", lambda a, b: np.log(1 + np.exp(a))),
    "share": ("{0} / (1 + exp({1}))", lambda a, b: a / (1 + np.exp(b))),
    "ratio": ("({0} - {1}) / ({0} + {1})", lambda a, b: (a - b) / (a + b)),
    "difference": ("sin({0}) - sin({1})", lambda a, b: np.sin(a) - np.sin(b)),
    "rise": ("exp({0}) - exp({1})", lambda a, b: np.exp(a) - np.exp(b)),
}
#: Numbers between which partial results keep digits enough to compare.
_LEAST, _LARGEST = 1e-3, 1e4
#: The step along the imaginary axis.
_STEP = 1e-30


def draw(rng: random.Random) -> AssignmentCase:
    """Draw inputs and lines, which mostly take the last ones before them."""
    count = rng.randint(1, 3)
    lines: list[Line] = []
    for place in range(count, count + rng.randint(4, 14)):
        a, b = (rng.randrange(max(0, place - 5), place) if rng.random() < 0.6 else rng.randrange(place) for _ in "ab")
        lines.append((rng.choice([*OPERATIONS]), a, b))
    return tuple(rng.uniform(-2.0, 2.0) for _ in range(count)), tuple(lines)


def written(case: AssignmentCase) -> str:
    """Return the formula, which adds up the last three lines."""
    point, lines = case
    names = [f"x{k}" for k in range(len(point))] + [f"t{k}" for k in range(len(lines))]
    text = [f"t{k} = {OPERATIONS[op][0].format(names[a], names[b])}" for k, (op, a, b) in enumerate(lines)]
    return "\n".join([*text, " + ".join(names[-3:])])


def _computed(point: tuple[complex, ...], lines: tuple[Line, ...]) -> list[Any]:
    values: list[Any] = [np.complex128(x) for x in point]
    for op, a, b in lines:
        values.append(OPERATIONS[op][1](values[a], values[b]))
    return values


def run(case: AssignmentCase) -> str:
    """Compare value and gradient; return which one is wrong."""
    point, lines = case
    with np.errstate(all="ignore"):
        sides = [
            _computed(tuple(x + 1j * _STEP * (k == place) for k, x in enumerate(point)), lines)
            for place in range(len(point))
        ]
    sizes = [abs(number) for side in sides for value in side for number in (value.real, value.imag / _STEP)]
    small = min(abs(value.real) for value in sides[0])
    if not np.isfinite(sizes).all() or max(sizes) > _LARGEST or small < _LEAST:
        return ""  # digits are lost on the way, whoever computes
    right = [sum(value.real for value in sides[0][-3:])]
    right += [sum(value.imag for value in side[-3:]) / _STEP for side in sides]
    names = [f"x{k}" for k in range(len(point))]
    text = written(case)
    shapes: dict[str, Any] = dict.fromkeys(names, ())
    slopes = sd.gradient(text, names, disconnected="zero", **shapes)
    found = sd.compile((text, *map(str, slopes)), names, backend="interpreter", **shapes)(*point)
    for key, one, other in zip(("value", *names), found, right, strict=True):
        if not abs(float(one) - other) <= 1e-6 * max(sizes):
            return f"{key} is wrong: {float(one)!r}, expected {float(other)!r}"
    return ""


def smaller(case: AssignmentCase) -> Iterator[AssignmentCase]:
    """Give cases without one line, whose first operand stands for it."""
    point, lines = case
    for gone in range(len(lines) - 1, -1, -1):
        place = len(point) + gone
        instead = lines[gone][1]

        def moved(k: int, place: int = place, instead: int = instead) -> int:
            return instead if k == place else k - (k > place)

        rest = tuple((op, moved(a), moved(b)) for op, a, b in (*lines[:gone], *lines[gone + 1 :]))
        if rest:
            yield point, rest
