"""Formulas with numbers: values and derivatives, by every backend, against references that symdiff has no part in.

A formula is a tree of plain tuples. It is written as text for symdiff, and computed here with
NumPy, over complex numbers too: the imaginary part at x + ih, divided by h, is the derivative at
x to the last digits (Squire and Trapp 1998). Second derivatives are differences of these.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import symdiff as sd
from symdiff.frontend.formula import read_formula
from symdiff.graph.reference.interpret import evaluate
from symdiff.runtime.options import Backend

Numbers: TypeAlias = npt.NDArray[Any]
#: ("x",) an input, ("2.5",) a number, or (operation, argument, ...).
Tree: TypeAlias = tuple[Any, ...]
ValueCase: TypeAlias = tuple[Tree, int]

N = 3
INPUTS: dict[str, tuple[int, ...]] = {"x": (), "y": (), "u": (N,), "v": (N,), "A": (N, N)}
_S, _V, _M = (), (N,), (N, N)
_EYE = np.eye(N)


def _softmax(v: Numbers) -> Numbers:
    powers: Numbers = np.exp(v)
    total: Numbers = powers / powers.sum()
    return total


def _softplus(x: Numbers) -> Numbers:
    return np.log(1.0 + np.exp(x))


#: Smooth functions of numbers, tame enough that two ways of computing them agree: text, and NumPy's way.
UNARY: dict[str, tuple[str, Callable[[Numbers], Numbers]]] = {
    "sin": ("sin({0})", np.sin),
    "cos": ("cos({0})", np.cos),
    "tanh": ("tanh({0})", np.tanh),
    "exp": ("exp(tanh({0}))", lambda x: np.exp(np.tanh(x))),
    "log": ("log(1.5 + tanh({0}))", lambda x: np.log(1.5 + np.tanh(x))),
    "sqrt": ("sqrt(1.5 + sin({0}))", lambda x: np.sqrt(1.5 + np.sin(x))),
    "square": ("(tanh({0}))**2", lambda x: np.tanh(x) * np.tanh(x)),
    "cube": ("(sin({0}))**3", lambda x: np.sin(x) ** 3),
    "inverse": ("1/(2 + sin({0}))", lambda x: 1 / (2 + np.sin(x))),
    "power": ("(1.5 + tanh({0}))**(-1.5)", lambda x: (1.5 + np.tanh(x)) ** -1.5),
    "arctan": ("arctan({0})", np.arctan),
    "sigmoid": ("sigmoid({0})", lambda x: 1 / (1 + np.exp(-x))),
    "softplus": ("log(1 + exp({0}))", _softplus),
    "negative": ("-({0})", lambda x: -x),
    "choice": ("where({0} < {0}, 1/({0} - {0} + 0*x), sin({0}))", np.sin),
}
#: Other operations: text, NumPy's way, shapes of the arguments, shape of the result.
OTHERS: dict[str, tuple[str, Callable[..., Numbers], tuple[tuple[int, ...], ...], tuple[int, ...]]] = {
    "sum": ("sum({0})", np.sum, (_V,), _S),
    "total": ("sum(tanh({0}))", lambda a: np.tanh(a).sum(), (_M,), _S),
    "dot": ("({0}) @ ({1})", np.matmul, (_V, _V), _S),
    "norm": ("norm(2 + sin({0}))", lambda v: np.sqrt(np.sum((2 + np.sin(v)) ** 2)), (_V,), _S),
    "logsumexp": ("logsumexp({0})", lambda v: np.log(np.exp(v).sum()), (_V,), _S),
    "det": ("det(eye(3) + 0.2*tanh({0}))", lambda a: np.linalg.det(_EYE + 0.2 * np.tanh(a)), (_M,), _S),
    "logdet": ("logdet(eye(3) + 0.2*tanh({0}))", lambda a: np.log(np.linalg.det(_EYE + 0.2 * np.tanh(a))), (_M,), _S),
    "trace": ("trace({0})", np.trace, (_M,), _S),
    "item": ("({0})[1]", lambda v: v[1], (_V,), _S),
    "prod": ("prod(1.5 + sin({0}))", lambda v: np.prod(1.5 + np.sin(v)), (_V,), _S),
    "mean": ("mean({0})", np.mean, (_V,), _S),
    "var": ("var({0})", lambda v: ((v - v.mean()) ** 2).mean(), (_V,), _S),
    "matvec": ("({0}) @ ({1})", np.matmul, (_M, _V), _V),
    "vecmat": ("({1}) @ ({0})", lambda a, v: v @ a, (_M, _V), _V),
    "scale": ("({0}) * ({1})", np.multiply, (_S, _V), _V),
    "softmax": ("softmax({0})", _softmax, (_V,), _V),
    "cumsum": ("cumsum({0})", np.cumsum, (_V,), _V),
    "reverse": ("({0})[::-1]", lambda v: v[::-1], (_V,), _V),
    "roll": ("roll({0}, 1)", lambda v: np.roll(v, 1), (_V,), _V),
    "row": ("({0})[1]", lambda a: a[1], (_M,), _V),
    "sums": ("sum({0}, axis=0)", lambda a: a.sum(axis=0), (_M,), _V),
    "stack": ("stack([{0}, {1}, 0.5])", lambda x, y: np.array([x, y, 0.5]), (_S, _S), _V),
    "solve": ("solve(eye(3) + 0.2*tanh({0}), {1})", lambda a, v: np.linalg.solve(_EYE + 0.2 * np.tanh(a), v),
              (_M, _V), _V),
    "outer": ("outer({0}, {1})", np.outer, (_V, _V), _M),
    "transpose": ("({0}).T", np.transpose, (_M,), _M),
    "matmul": ("({0}) @ ({1})", np.matmul, (_M, _M), _M),
    "inv": ("inv(eye(3) + 0.2*tanh({0}))", lambda a: np.linalg.inv(_EYE + 0.2 * np.tanh(a)), (_M,), _M),
    "rows": ("({0}) * ({1})", np.multiply, (_M, _V), _M),
    "diag": ("diag({0})", np.diag, (_V,), _M),
    "lower": ("tril({0})", np.tril, (_M,), _M),
}  # fmt: skip
_BINARY: dict[str, tuple[str, Callable[[Numbers, Numbers], Numbers]]] = {
    "add": ("({0}) + ({1})", np.add),
    "subtract": ("({0}) - ({1})", np.subtract),
    "multiply": ("tanh({0}) * tanh({1})", lambda a, b: np.tanh(a) * np.tanh(b)),
    "divide": ("({0}) / (2 + sin({1}))", lambda a, b: a / (2 + np.sin(b))),
    "power": ("(1.5 + tanh({0})) ** tanh({1})", lambda a, b: (1.5 + np.tanh(a)) ** np.tanh(b)),
    "hypot": ("hypot(2 + sin({0}), {1})", lambda a, b: np.sqrt((2 + np.sin(a)) ** 2 + b * b)),
}


def draw(rng: random.Random) -> ValueCase:
    """Draw a formula, and the seed of its numbers."""
    return _tree(rng, rng.choice((_S, _S, _V, _M)), rng.randint(2, 5)), rng.randrange(10**6)


def _tree(rng: random.Random, shape: tuple[int, ...], depth: int) -> Tree:
    if depth <= 0:
        leaf = rng.choice([name for name, own in INPUTS.items() if own == shape])
        return (leaf,) if shape or rng.random() < 0.8 else (rng.choice(("0.5", "2", "-1.5", "0")),)
    way = rng.random()
    if way < 0.35:
        return (f"1{rng.choice([*UNARY])}", _tree(rng, shape, depth - 1))
    if way < 0.6:
        return (f"2{rng.choice([*_BINARY])}", _tree(rng, shape, depth - 1), _tree(rng, shape, depth - 1))
    name = rng.choice([name for name, row in OTHERS.items() if row[3] == shape])
    return (name, *(_tree(rng, own, depth - 1) for own in OTHERS[name][2]))


def _row(name: str) -> tuple[str, Callable[..., Numbers]]:
    if name[0] in "12" and name[1:] in (UNARY if name[0] == "1" else _BINARY):
        return (UNARY if name[0] == "1" else _BINARY)[name[1:]]
    return OTHERS[name][:2]


def written(tree: Tree) -> str:
    """Return a tree as formula text."""
    return _row(tree[0])[0].format(*map(written, tree[1:])) if len(tree) > 1 else str(tree[0])


def computed(tree: Tree, point: dict[str, Numbers]) -> Numbers:
    """Compute a tree with NumPy, over real or complex numbers."""
    if len(tree) == 1:
        return point[tree[0]] if tree[0] in point else np.asarray(float(tree[0]))
    return np.asarray(_row(tree[0])[1](*(computed(arg, point) for arg in tree[1:])))


def _slopes(tree: Tree, point: dict[str, Numbers], name: str) -> Numbers:
    """Return the Jacobian by complex steps, which lose no digits."""
    columns = []
    for k in range(point[name].size):
        moved = {key: np.array(own, complex) for key, own in point.items()}
        moved[name].ravel()[k] += 1e-30j
        columns.append(computed(tree, moved).imag / 1e-30)
    shape = (*np.shape(columns[0]), *point[name].shape)
    return np.stack(columns, axis=-1).reshape(shape)


def run(case: ValueCase) -> str:
    """Compare values and derivatives; return which one is wrong."""
    tree, seed = case
    text = written(tree)
    rng = np.random.default_rng(seed)
    point = {name: np.asarray(rng.uniform(-1.5, 1.5, shape)) for name, shape in INPUTS.items()}
    value = np.asarray(computed(tree, point))
    read = read_formula(text, INPUTS)
    f, names = read.value, list(read.inputs)
    wrt = [name for name in INPUTS if _holds(tree, name)]
    expected: dict[str, Numbers] = {"value": value}
    outputs = {"value": f}
    for name in wrt:
        expected[f"d/d{name}"] = _slopes(tree, point, name)
        outputs[f"d/d{name}"] = sd.jacobian(f, read.inputs[name], disconnected="zero")
    if wrt:
        name = wrt[seed % len(wrt)]
        seeds = np.asarray(rng.normal(size=value.shape))
        slope = np.tensordot(seeds, expected[f"d/d{name}"], value.ndim)
        expected["vjp"] = slope
        outputs["vjp"] = sd.vjp(f, read.inputs[name], seeds, disconnected="zero")
        turn = np.asarray(rng.normal(size=point[name].shape))
        bent = sd.jvp(outputs["vjp"], read.inputs[name], turn, disconnected="zero")
        step = 1e-5
        sides = [_slopes(tree, {**point, name: point[name] + way * turn}, name) for way in (step, -step)]
        change = np.tensordot(seeds, (sides[0] - sides[1]) / (2 * step), value.ndim)
        outputs["second"], expected["second"] = bent, change
    arrays = [point[name] for name in names]
    kernels = {way: sd.compile(outputs, [*read.inputs.values()], backend=way) for way in _BACKENDS}
    results: dict[str, Any] = {way: kernel(*arrays) for way, kernel in kernels.items()}
    known = evaluate([a.node for a in outputs.values()], {name: point[name] for name in names})
    results["definition"] = dict(zip(outputs, known, strict=True))
    for way, found in results.items():
        for key, right in expected.items():
            loose = 1e-4 if key == "second" else 1e-8
            if not np.allclose(found[key], right, rtol=loose, atol=loose * (1 + np.abs(right).max(initial=0.0))):
                return f"{key} of {way} is wrong: {np.ravel(found[key])[:4]}, expected {np.ravel(right)[:4]} of {text}"
    for key in outputs:
        if np.asarray(results["native"][key]).tobytes() != np.asarray(results["interpreter"][key]).tobytes():
            return f"{key} has other bits in native code than in the interpreter, of {text}"
    return ""


_BACKENDS: tuple[Backend, ...] = ("native", "interpreter", "numpy")


def _holds(tree: Tree, name: str) -> bool:
    return tree == (name,) or any(_holds(arg, name) for arg in tree[1:])


def smaller(case: ValueCase) -> Iterator[ValueCase]:
    """Give formulas with a part left out: the part itself, or an input in its place."""
    tree, seed = case
    for other in _less(tree, shape_of(tree)):
        yield other, seed


def shape_of(tree: Tree) -> tuple[int, ...]:
    """Return the shape of a tree's value."""
    if len(tree) == 1:
        return INPUTS.get(tree[0], ())
    return OTHERS[tree[0]][3] if tree[0] in OTHERS else shape_of(tree[1])


def _less(tree: Tree, shape: tuple[int, ...]) -> Iterator[Tree]:
    if len(tree) == 1:
        return
    yield (next(name for name, own in INPUTS.items() if own == shape),)
    for arg in tree[1:]:
        if shape_of(arg) == shape:
            yield arg
    for k, arg in enumerate(tree[1:], 1):
        for other in _less(arg, shape_of(arg)):
            yield (*tree[:k], other, *tree[k + 1 :])
