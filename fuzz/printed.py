"""Derivatives of random formulas as they are printed: text that is read again has the kernel's values.

What is printed goes through rules of its own, for reading, which no kernel goes through.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

import symdiff as sd
from symdiff.errors import SymdiffError

from .case import shorter

#: A formula, the input that it is differentiated by, how often, and the seed of a point.
PrintedCase: TypeAlias = tuple[str, str, int, int]

#: Inputs by what they are: numbers, vectors, matrices, of which C is added to its transpose where it is to be regular.
SHAPES: dict[str, Any] = {
    **dict.fromkeys("abc", ()), **dict.fromkeys("xyz", (3,)), **dict.fromkeys("ABC", (3, 3)),
}  # fmt: skip
#: Formulas of each kind, with s, v and m for a number, a vector and a matrix.
_NUMBERS = (
    "sum({v})", "({v}) @ ({v})", "norm({v})", "sqrt(1 + sum(({v})**2))", "exp(-norm({v})**2)", "log(1 + sum(({v})**2))",
    "(({v}) @ ({m}) @ ({v}))", "{s} * {s}", "({s} + {s})", "({s} - {s})", "({s}) / ({s})", "1 / (1 + norm({v}))",
    "trace({m})", "sum({m})", "logdet(5*eye(3) + ({m}) @ ({m}).T)", "norm({m})", "sum(({m})**2)", "mean({v})",
    "det({m} + 2*eye(3))", "logsumexp({v})", "prod({v})", "std({v})", "max({v})", "({s})**2", "exp({s})", "exp(-({s}))",
    "sin({s})", "cos({s})", "sinh({s})", "cosh({s})", "tanh({s})", "sech({s})", "sigmoid({s})", "log(1 + ({s})**2)",
    "sqrt(1 + ({s})**2)", "(1 + ({s})**2)**c", "(exp({s}) - 1)", "(1 - exp({s}))**2", "arctan({s})", "erf({s})",
)  # fmt: skip
_VECTORS = (
    "({v} + {v})", "({v} - {v})", "{v} * {v}", "({m}) @ {v}", "({m}).T @ {v}", "{s} * {v}", "cross({v}, {v})",
    "exp(-{v})", "sin({v})", "softmax({v})", "({v} - mean({v}))", "tanh({v})", "{v} / norm({v})", "sum({m}, axis=0)",
    "diag({m})", "cumsum({v})", "maximum({v}, {v})", "({v})[::-1]", "where({v} < {v}, {v}, {v})",
    "solve(C @ C.T + 4*eye(3), {v})",
)  # fmt: skip
_MATRICES = (
    "({m} + {m})", "({m} - ({m}).T)", "({m} @ {m})", "{m} * {m}", "outer({v}, {v})", "{s} * {m}", "diag({v})",
    "({m}).T", "inv(C @ C.T + {m} @ ({m}).T + 3*eye(3))", "exp(-({m}))", "({m} - mean({m}, axis=0))", "skew({v})",
)  # fmt: skip
_KINDS = {"s": (_NUMBERS, "aabbc"), "v": (_VECTORS, "xyz"), "m": (_MATRICES, "ABC")}


def draw(rng: random.Random) -> PrintedCase:
    """Draw a formula, mostly a number."""
    kind = rng.choice("ssssv")
    text = _formula(rng, kind, rng.choice((2, 3)))
    names = _inputs(text)
    wrt = rng.choice(names or ["x"])
    order = 2 if kind == "s" and SHAPES[wrt] != (3, 3) and rng.random() < 0.4 else 1
    return text, wrt, order, rng.randrange(1_000)


def _formula(rng: random.Random, kind: str, depth: int) -> str:
    forms, letters = _KINDS[kind]
    if depth <= 0 or rng.random() < 0.1:
        return rng.choice(letters)
    form = rng.choice(forms)
    for place in ("{s}", "{v}", "{m}"):
        while place in form:
            form = form.replace(place, _formula(rng, place[1], depth - 1), 1)
    return form


def _inputs(text: str) -> list[str]:
    return sorted(set(re.findall(r"\b[abcxyzABC]\b", text)))


def run(case: PrintedCase) -> str:
    """Compare what is printed with what it is printed of; say where they differ."""
    text, wrt, order, seed = case
    shapes = {name: SHAPES[name] for name in _inputs(text)}
    try:
        found: Any = sd.jacobian(text, wrt, **shapes)
        for _ in range(order - 1):
            found = sd.jacobian(found, wrt)
        shown = str(found)
        names = [name for name in shapes if name in {str(one) for one in found.inputs}]
    except SymdiffError:
        return ""
    rng = np.random.default_rng(seed)
    point = [rng.uniform(0.2, 1.4, size=shapes[name]) for name in names]
    kept = {name: shapes[name] for name in names}
    with np.errstate(all="ignore"):
        right = np.asarray(sd.compile(found, names, backend="numpy")(*point))
        if not np.isfinite(right).all() or np.abs(right).max(initial=0.0) > 1e12:
            return ""  # such as a length of x - x that divides
        again = np.asarray(sd.compile(shown, names, backend="numpy", **kept)(*point))
    if again.shape != right.shape:
        return f"of shape {again.shape}, expected {right.shape}: {shown}"
    scale = 1.0 + np.abs(right).max(initial=0.0)
    if not np.abs(again - right).max(initial=0.0) <= 1e-7 * scale:
        return f"differs by {np.abs(again - right).max():.3g}: {shown}"
    return ""


def smaller(case: PrintedCase) -> Iterator[PrintedCase]:
    """Give cases of shorter texts."""
    text, wrt, order, seed = case
    if order > 1:
        yield text, wrt, 1, seed
    for other in shorter(text):
        yield other, wrt, order, seed
