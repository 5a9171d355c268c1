"""Functions that move, join and add up parts of arrays, at many sizes: what NumPy makes of the same numbers.

A case is a chain of NumPy's functions. It is called with symbols, whose sizes are letters or numbers, and with arrays;
the kernel has the value that NumPy has, and a derivative along a direction that differences confirm. Where NumPy's
result has another shape at a small size, or none, the kernel refuses the size.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import symdiff as sd
from symdiff.errors import ShapeError, SymdiffError, UnsupportedError

Numbers: TypeAlias = npt.NDArray[np.float64]
#: What is drawn: steps of a name and the numbers of the arrays it takes, and how the kernel is called.
SizeCase: TypeAlias = dict[str, Any]

#: Functions of one array. All are smooth, and grow little, so that differences tell derivatives.
ONE: dict[str, Callable[[Any], Any]] = {
    "negative": lambda B: -B,
    "tanh": np.tanh,
    "sine": np.sin,
    "squash": lambda B: B / (1 + B * B),
    "transpose": lambda B: B.T,
    "reverse": lambda B: B[::-1],
    "reverse columns": lambda B: B[:, ::-1],
    "but the first": lambda B: B[1:],
    "but the last": lambda B: B[..., :-1],
    "inner": lambda B: B[1:-1],
    "three": lambda B: B[:3],
    "last two": lambda B: B[..., -2:],
    "some": lambda B: B[2:5],
    "element": lambda B: B[1],
    "last but one": lambda B: B[-2],
    "places": lambda B: B[np.array([0, 2, 1, 0])],
    "new axis": lambda B: B[None],
    "new column": lambda B: B[:, None],
    "ones like it": np.ones_like,
    "roll": lambda B: np.roll(B, 1, axis=0),
    "roll columns": lambda B: np.roll(B, -2, axis=-1),
    "pad": lambda B: np.pad(B, [(1, 2), *[(0, 1)] * (B.ndim - 1)], constant_values=0.25),
    "edge": lambda B: np.pad(B, [(0, 1), *[(1, 0)] * (B.ndim - 1)], mode="edge"),
    "repeat": lambda B: np.repeat(B, 2, axis=0),
    "twice": lambda B: np.concatenate([B, np.cos(B)]),
    "beside": lambda B: np.concatenate([B, B[..., ::-1]], axis=-1),
    "stack": lambda B: np.stack([B, B * 0.5, 1.0 - B]),
    "stack behind": lambda B: np.stack([B, np.sin(B)], axis=-1),
    "ravel": np.ravel,
    "diagonal": np.diag,
    "upper": np.triu,
    "lower": lambda B: np.tril(B, -1),
    "trace": np.trace,
    "mean of rows": lambda B: np.mean(B, axis=0),
    "mean of columns": lambda B: np.mean(B, axis=-1),
    "centred": lambda B: B - np.mean(B, axis=0, keepdims=True),
    "centred columns": lambda B: B - np.mean(B, axis=-1, keepdims=True),
    "length": lambda B: np.sqrt(1 + np.mean(B * B, axis=-1)),
    "variance": lambda B: np.var(B, axis=0),
    "softmax": lambda B: np.exp(np.tanh(B)) / np.sum(np.exp(np.tanh(B)), axis=-1, keepdims=True),
    "differences": lambda B: np.diff(B, axis=0),
    "running sum": lambda B: np.tanh(np.cumsum(B, axis=0)),
    "running product": lambda B: np.cumprod(1 + 0.1 * np.sin(B), axis=-1),
    "product": lambda B: np.prod(1 + 0.1 * np.sin(B[:4]), axis=0),
    "outer": lambda B: np.outer(B, np.cos(B)),
    "squares": lambda B: B @ B.T / B.shape[-1],
    "contraction": lambda B: np.einsum("ij,kj->ik", B, np.sin(B)) * 0.1,
}
#: Functions of two arrays.
TWO: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda B, C: B + C,
    "product of elements": lambda B, C: np.sin(B) * C,
    "quotient": lambda B, C: B / (1 + C * C),
    "join": lambda B, C: np.concatenate([B, C]),
    "join columns": lambda B, C: np.concatenate([B, C], axis=-1),
    "product of matrices": lambda B, C: np.tanh(B @ C),
}
#: Sizes that a formula in letters is called with, beside the one it is drawn for.
SMALL = (1, 2, 3, 4, 5, 7)
_OF_MATRICES = {"upper", "lower"}
_DRAWN = 20
_MOST_ELEMENTS = 3_000


def _value(steps: list[Any], leaves: list[Any]) -> Any:
    """Return the last array of a chain; those that it does not need are not made."""
    needed = {len(leaves) + len(steps) - 1}
    for k in reversed(range(len(steps))):
        if len(leaves) + k in needed:
            needed.update(steps[k][1])
    made = list(leaves)
    for k, (name, places) in enumerate(steps):
        given = [made[place] for place in places]
        made.append((ONE.get(name) or TWO[name])(*given) if len(leaves) + k in needed else None)
    return made[-1]


def _leaves(n: int, seed: int, samples: int = 0) -> list[Numbers]:
    rng = np.random.default_rng(seed)
    lead = (samples,) if samples else ()
    return [rng.uniform(0.1, 0.9, (*lead, *shape)) for shape in ((n, n), (n,), (n,))]


def draw(rng: random.Random) -> SizeCase:
    """Draw a chain that NumPy takes at some size."""
    letters = rng.random() < 0.7
    n = _DRAWN if letters else rng.choice((2, 3, 6, 17, 33, 50))
    values: list[Any] = list(_leaves(n, 1))
    steps: list[Any] = []
    length = rng.randint(2, 6)
    for _ in range(100):
        if len(steps) == length:
            break
        last = len(values) - 1 if rng.random() < 0.8 else rng.randrange(len(values))
        places = [last] if rng.random() < 0.75 else [last, rng.randrange(len(values))]
        name = rng.choice([*(ONE if len(places) == 1 else TWO)])
        try:
            made = np.asarray((ONE.get(name) or TWO[name])(*[values[place] for place in places]))
        except (IndexError, TypeError, ValueError):
            continue
        # what NumPy makes of an axis that is not there, and of triangles of a vector, symbols refuse by name
        has_axes = all(values[place].ndim > (name in _OF_MATRICES) for place in places)
        if has_axes and made.ndim <= 3 and 0 < made.size <= _MOST_ELEMENTS:
            values.append(made)
            steps.append((name, places))
    return {
        "steps": steps or [("tanh", [0])],
        "n": n,
        "letters": letters,
        "backend": rng.choice(("interpreter", "auto", "numpy")),
        "samples": rng.choice((0, 0, 1, 3)),
        "shared": [rng.random() < 0.5 for _ in range(3)],
        "seed": rng.randrange(10**6),
    }


def run(case: SizeCase) -> str:
    """Compare the kernel with NumPy at each size."""
    steps, n = case["steps"], case["n"]
    size = "n" if case["letters"] else n
    symbols = [sd.matrix("A", size, size), sd.vector("x", size), sd.vector("y", size)]
    try:
        formula = sd.asarray(_value(steps, symbols))
        total = (formula * formula).sum()
        slopes = sd.gradient(total, tuple(symbols), disconnected="zero")
        kernel = sd.compile([formula, *slopes], inputs=symbols, backend=case["backend"])
    except UnsupportedError:
        return ""
    except SymdiffError as error:
        return "" if case["letters"] else f"NumPy takes it, symdiff does not: {error}"
    for each in (n, *SMALL) if case["letters"] else (n,):
        found = _compared(kernel, case, each)
        if found:
            return f"at n = {each}: {found}"
    return ""


def _compared(kernel: sd.Kernel, case: SizeCase, n: int) -> str:
    steps, samples, seed = case["steps"], case["samples"], case["seed"]
    alone, several = _leaves(n, seed), _leaves(n, seed + 1, samples)
    shared = [own or not samples for own in case["shared"]]
    given = [one if own else more for one, more, own in zip(alone, several, shared, strict=True)]
    has_batch = not all(shared)
    try:
        results = kernel(*given)
    except ShapeError as error:
        return "" if n != case["n"] else f"refused: {error}"
    for k in range(samples if has_batch else 1):
        own = [one if alike else one[k] for one, alike in zip(given, shared, strict=True)]
        value, *slopes = [np.asarray(part[k] if has_batch else part) for part in results]
        try:
            wanted = np.asarray(_value(steps, own))
        except (IndexError, TypeError, ValueError) as error:
            return f"NumPy refuses what the kernel takes: {error}"
        if value.shape != wanted.shape:
            return f"shape {value.shape}; NumPy has {wanted.shape}"
        if not np.isfinite(wanted).all():
            return ""  # a mean of nothing
        if not np.allclose(value, wanted, rtol=1e-9, atol=1e-10):
            return f"value off by {np.abs(value - wanted).max():.3g}"
        found = _slope_is_off(steps, own, slopes, seed)
        if found:
            return found
    return ""


def _slope_is_off(steps: list[Any], at: list[Numbers], slopes: list[Numbers], seed: int) -> str:
    directions = [np.cos(np.arange(1.0, one.size + 1) * (seed % 7 + 1)).reshape(one.shape) for one in at]

    def along(h: float) -> float:
        moved = [one + h * way for one, way in zip(at, directions, strict=True)]
        return float(np.sum(np.square(_value(steps, moved))))

    near, far = (
        (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h) for h in (5e-4, 1e-3)
    )
    found = sum(float(np.sum(slope * way)) for slope, way in zip(slopes, directions, strict=True))
    scale = 1 + abs(along(0.0)) + max(abs(along(1e-3)), abs(along(-1e-3)))
    if abs(near - far) > 1e-4 * (scale + abs(near)):
        return ""  # differences tell nothing of a function that bends so much, as running products of many numbers do
    off = 1e-6 * (scale + abs(near)) + 2 * abs(near - far)
    return "" if abs(found - near) <= off else f"slope {found:.12g}; differences {near:.12g}"


def smaller(case: SizeCase) -> Iterator[SizeCase]:
    """Give shorter chains, and plainer calls."""
    steps = case["steps"]
    for k in range(len(steps) - 1, 0, -1):
        yield {**case, "steps": steps[:k]}
    for k in range(len(steps)):
        place = 3 + k
        rest = [*steps[:k], *steps[k + 1 :]]
        for instead in steps[k][1][:1]:
            moved = [
                (name, [instead if one == place else one - (one > place) for one in places]) for name, places in rest
            ]
            if moved:
                yield {**case, "steps": moved}
    for plain in ({"samples": 0}, {"backend": "numpy"}, {"backend": "interpreter"}):
        if any(case[key] != value for key, value in plain.items()):
            yield {**case, **plain}
