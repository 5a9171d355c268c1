"""Arrays for tests of rules, and an example of every array operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import symdiff as sd
from symdiff import Array, graph
from symdiff.calculus.spectra.isotropic import isotropic_function
from symdiff.calculus.spectra.spectral import function_of
from symdiff.graph.contractions import point
from symdiff.graph.primitives import Body
from symdiff.graph.reference.interpret import evaluate

M33, M23, M34, V3, S = (3, 3), (2, 3), (3, 4), (3,), ()


def _isotropic(a: graph.Node, g: graph.Node) -> graph.Node:
    x = graph.matrix("eigvalsh", a)
    return isotropic_function(a, g * x * graph.reduce("prod", x, (0,)))


def bend(x: Array) -> Array:
    """A smooth function without symmetries, so that linear operations have second derivatives."""
    return x + 0.3 * np.sin(x) * x


def draw(shape: tuple[int, ...], seed: int, low: float = -1.2, high: float = 1.2) -> Any:
    return np.random.default_rng(seed).uniform(low, high, shape)


def regular(seed: int, n: int = 3, lead: tuple[int, ...] = ()) -> Any:
    return draw((*lead, n, n), seed, -0.5, 0.5) + 1.5 * np.eye(n)


# ---------------------------------------------------------------------------- the two tables of rules


class Rule(NamedTuple):
    op: str
    make: Callable[..., graph.Node]
    values: tuple[Any, ...]


def repeated(*args: Any) -> graph.Node:
    """A loop that carries a vector through rows, with a number that it holds, and writes the vectors' products."""
    c, x, p = (graph.placeholder((what, 0), shape) for what, shape in (("carried", (2,)), ("read", (2,)), ("held", ())))
    new = graph.elementwise("sin", (c * p,)) + x * c
    return graph.recurrence(Body((c,), (x,), (p,), (new, new * x)), args[:3], 3, *args[3:])


#: A key whose elements tie along both axes.
ORDER = np.array([[0.5, 0.1, 0.5], [0.5, 0.7, -0.3]])

RULES = [
    Rule("det", lambda a: graph.matrix("det", a), (draw(M33, 1),)),
    Rule("det", lambda a: graph.matrix("det", a), (draw((2, 3, 3), 2),)),
    Rule("logdet", lambda a: graph.matrix("logdet", a), (regular(3),)),
    Rule("logdet", lambda a: graph.matrix("logdet", a), (regular(4, 2, (3,)),)),
    Rule("logabsdet", lambda a: graph.matrix("logabsdet", a), (regular(5)[::-1],)),
    Rule("inv", lambda a: graph.matrix("inv", a), (regular(6),)),
    Rule("inv", lambda a: graph.matrix("inv", a), (regular(7, 2, (2,)),)),
    Rule("solve", lambda a, b: graph.matrix("solve", a, b), (regular(8), draw((3, 2), 9))),
    Rule("solve", lambda a, b: graph.matrix("solve", a, b), (regular(10, 2, (2,)), draw((2, 1), 11))),
    Rule("solve", lambda a, b: graph.matrix("solve", a, b), (regular(12, 2), draw((2, 2, 1), 13))),
    Rule("cholesky", lambda a: graph.matrix("cholesky", a), (regular(14) @ regular(14).T,)),
    Rule(
        "cholesky",
        lambda a: graph.matrix("cholesky", a),
        (np.stack([regular(s, 2) @ regular(s, 2).T for s in (1, 2)]),),
    ),
    Rule("eigvalsh", lambda a: graph.matrix("eigvalsh", a), (draw(M33, 15),)),
    Rule("eigvalsh", lambda a: graph.matrix("eigvalsh", a), (draw((2, 2, 2), 16),)),
    Rule("eigenvectors", lambda a: graph.matrix("eigenvectors", a), (draw((2, 2), 15),)),
    Rule("isotropic", _isotropic, (draw((2, 2), 15), draw((2,), 16))),
    Rule("spectral", lambda a: function_of(graph.elementwise("exp", (point(0),)), a), (draw((2, 2), 15),)),
    Rule("expm", graph.exponential, (draw(M33, 15),)),
    Rule("pinv", graph.pseudo_inverse, (draw((3, 2), 19),)),
    Rule("expm", graph.exponential, (draw((2, 2), 17), draw((2, 2, 2), 18))),
    Rule("adjugate", lambda a: graph.matrix("adjugate", a), (draw(M33, 15),)),
    Rule("adjugate", lambda a: graph.matrix("adjugate", a), (draw((2, 2, 2), 16),)),
    Rule(
        "adjugate_differential",
        lambda a, e: graph.matrix("adjugate_differential", a, e),
        (draw(M33, 17), draw(M33, 18)),
    ),
    Rule("logsumexp", lambda x: graph.reduce("logsumexp", x, (1,)), (draw(M34, 19),)),
    Rule("logsumexp", lambda x: graph.reduce("logsumexp", x, (0, 1)), (draw(M23, 20),)),
    Rule("logsumexp", lambda x: graph.reduce("logsumexp", x, (1,)), (draw((2, 3, 2), 21),)),
    Rule("softmax", lambda x: graph.normalize("softmax", x, (1,)), (draw(M34, 22),)),
    Rule("softmax", lambda x: graph.normalize("softmax", x, (0, 1)), (draw(M23, 23),)),
    Rule("softmax", lambda x: graph.normalize("softmax", x, (0,)), (draw((3, 2), 24),)),
    Rule("log_softmax", lambda x: graph.normalize("log_softmax", x, (0,)), (draw(M34, 25),)),
    Rule("log_softmax", lambda x: graph.normalize("log_softmax", x, (0, 1)), (draw(M23, 26),)),
    Rule("norm", lambda x: graph.reduce("norm", x, (0, 1)), (draw(M23, 27),)),
    Rule("norm", lambda x: graph.reduce("norm", x, (1,)), (draw((2, 3, 2), 28),)),
    Rule("unit", lambda x: graph.normalize("unit", x, (0, 1)), (draw(M23, 58),)),
    Rule("unit", lambda x: graph.normalize("unit", x, (1,)), (draw((2, 3), 59),)),
    Rule("max", lambda x: graph.reduce("max", x, (0,)), (draw(M34, 29),)),
    Rule("max", lambda x: graph.reduce("max", x, (0, 1)), (draw(M34, 30),)),
    Rule("min", lambda x: graph.reduce("min", x, (1,)), (draw((2, 3, 2), 31),)),
    Rule("prod", lambda x: graph.reduce("prod", x, (0, 1)), (draw(M23, 32),)),
    Rule("prod", lambda x: graph.reduce("prod", x, (1,)), (draw((2, 4, 2), 33),)),
    Rule("prod", lambda x: graph.reduce("prod", x, (0,)), (np.array([0.0, 2.0, 0.0, -1.0]),)),
    Rule("prod", lambda x: graph.reduce("prod", x, (0,)), (np.array([0.0, 2.0, 3.0, -1.0]),)),
    Rule("contract", lambda a, b: graph.contract([a, b], [(0, 1), (1, 2)], (0, 2)), (draw(M23, 34), draw((3, 2), 35))),
    Rule("contract", lambda a: graph.contract([a], [(0, 0)], ()), (draw(M33, 36),)),
    Rule("contract", lambda a: graph.contract([a], [(0, 0)], (0,)), (draw(M33, 37),)),
    Rule("contract", lambda a: graph.contract([a, a], [(0, 0), (0, 1)], (1,)), (draw(M33, 38),)),
    Rule(
        "contract",
        lambda a, b: graph.contract([a, b, a], [(0, 1), (1,), (2, 1)], (2, 0)),
        (draw(M23, 39), draw(V3, 40)),
    ),
    Rule("contract", lambda a: graph.contract([a], [(0, 1)], (1, 7, 0), {7: 2}), (draw(M23, 41),)),
    Rule("contract", lambda a: graph.contract([a, a], [(0, 1, 1), (2, 2, 0)], (1,)), (draw((2, 2, 2), 42),)),
    Rule("slice", lambda x: graph.slicing(x, ((1, 1, None), (3, -2, 2))), (draw(M34, 43),)),
    Rule("slice", lambda x: graph.slicing(x, ((0, 1, 2), (1, 2, 2))), (draw(M34, 44),)),
    Rule("pad", lambda x: graph.pad(x, ((1, 2, 2), (4, -1, 3)), (4, 5)), (draw(M23, 45),)),
    Rule("pad", lambda x: graph.pad(x, ((1, 1, None), (0, 1, 3)), (3, 3)), (draw(V3, 46),)),
    Rule("gather", lambda x: graph.gather(x, 1, (2, 0, 0, 2)), (draw(M23, 47),)),
    Rule("scatter", lambda x: graph.scatter(x, 0, (3, 0, 3), 5), (draw((3, 2), 48),)),
    Rule("take", lambda x, at: graph.take(x, at, 1), (draw(M23, 60), np.array([2, 0, 0, 2]))),
    Rule("take", lambda x, at: graph.take(x, at, 1, 1), (draw((2, 3, 2), 61), np.array([[2, 0], [1, 1]]))),
    Rule("put", lambda x, at: graph.put(x, at, 1, 4), (draw(M23, 62), np.array([3, 0, 3]))),
    Rule("put", lambda x, at: graph.put(x, at, 1, 3, 1), (draw((2, 2, 2), 63), np.array([[2, 0], [1, 1]]))),
    Rule("reshape", lambda x: graph.reshape(x, (3, 2)), (draw(M23, 49),)),
    Rule("reshape", lambda x: graph.reshape(x, (1, 2, 1, 3)), (draw(M23, 50),)),
    Rule("concatenate", lambda a, b: graph.concatenate([a, b, a], 1), (draw((2, 1), 51), draw(M23, 52))),
    Rule("cumsum", lambda x: graph.cumulative("cumsum", x, 1), (draw(M23, 53),)),
    Rule("cumsum", lambda x: graph.cumulative("cumsum", x, 0, reverse=True), (draw(M23, 54),)),
    *(
        Rule(name, partial(graph.cumulative, name, axis=axis, reverse=axis == 0), (draw(M23, 64 + axis),))
        for name in ("cumprod", "cummax", "cummin", "sort")
        for axis in (0, 1)
    ),
    Rule("arrange", lambda x: graph.arrange(x, graph.constant(ORDER), 1), (draw(M23, 66),)),
    Rule("arrange", lambda x: graph.arrange(x, graph.constant(ORDER), 0, True), (draw((2, 2, 3), 67),)),
    Rule("triangle", lambda x: graph.triangle(x, True, 1), (draw(M33, 55),)),
    Rule("triangle", lambda x: graph.triangle(x, False, -1), (draw((2, 3, 2), 56),)),
    Rule("named", lambda x: graph.label(x, "z"), (draw(V3, 57),)),
    Rule("recurrence", repeated, (draw((2,), 71), draw((3, 2), 72), draw(S, 73))),
    Rule("recurrence", lambda c, x, p: repeated(c, x, p, True), (draw((2,), 74), draw((3, 2), 75), draw(S, 76))),
]


def inputs_of(values: Sequence[Any]) -> dict[str, Array]:
    """Return an input for each array of numbers; whole numbers are positions."""
    return {
        f"x{i}": sd.indices(f"x{i}", np.shape(v)) if np.asarray(v).dtype.kind == "i" else sd.array(f"x{i}", np.shape(v))
        for i, v in enumerate(values)
    }


def real(symbols: Mapping[str, Array]) -> dict[str, Array]:
    """Return the inputs that there are derivatives by."""
    return {name: x for name, x in symbols.items() if x.node.dtype is not graph.INT}


a23, a34, a33, b33, v3, w3 = draw(M23, 1), draw(M34, 2), draw(M33, 3), draw(M33, 4), draw(V3, 5), draw(V3, 6)
s0, t0 = draw(S, 7), draw(S, 8)
spd = regular(9) @ regular(9).T


# ---------------------------------------------------------------------------- determinants of any rank


def of_rank(n: int, rank: int, seed: int = 0) -> Any:
    """An integer matrix of exactly this rank."""
    rng = np.random.default_rng([seed, n, rank])
    while True:
        a = (rng.integers(-3, 4, (n, rank)) @ rng.integers(-3, 4, (rank, n))).astype(float)
        if np.linalg.matrix_rank(a) == rank:
            return a


# ---------------------------------------------------------------------------- kinks


def compute(node: Array, **values: Any) -> Any:
    """Evaluate by every means there is, which must agree, nan and inf included."""
    known = evaluate([node.node], values)[0]
    inputs = [sd.array(name, np.shape(v)) for name, v in values.items()]
    for backend in ("numpy", "native"):
        got = sd.compile(node, inputs, backend=backend)(*values.values())
        np.testing.assert_allclose(got, known, rtol=1e-12, atol=1e-15, err_msg=backend)
    return known


AT = np.array([0.0, -1.0, 2.0])
