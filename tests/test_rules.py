"""Every array operation and every entry of the library, to third order, in both modes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest
import sympy as sp
from calculus import check_backends, check_calculus, inner, numbers
from exact import adjugate, directional
from scipy import linalg, special

import symdiff as sd
from symdiff import Array, graph
from symdiff.calculus.linear import LINEAR
from symdiff.calculus.recursive.spectral import function_of
from symdiff.calculus.rules import DIFFERENTIALS, LAWS
from symdiff.errors import NotDifferentiableError, UnsupportedError
from symdiff.frontend.numpy.library import LIBRARY
from symdiff.graph.contractions import point
from symdiff.graph.primitives import Body
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.scalars.functions import FUNCTIONS

M33, M23, M34, V3, S = (3, 3), (2, 3), (3, 4), (3,), ()


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
    Rule("spectral", lambda a: function_of(graph.elementwise("exp", (point(0),)), a), (draw((2, 2), 15),)),
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


def test_every_rule_is_here() -> None:
    assert {*(rule.op for rule in RULES), "recurrence"} == {*DIFFERENTIALS, *LINEAR}  # of loops, see test_loops.py
    assert set(LAWS) == set(DIFFERENTIALS)
    assert all(all(law) for law in LAWS.values())


def inputs_of(values: Sequence[Any]) -> dict[str, Array]:
    """Return an input for each array of numbers; whole numbers are positions."""
    return {
        f"x{i}": sd.indices(f"x{i}", np.shape(v)) if np.asarray(v).dtype.kind == "i" else sd.array(f"x{i}", np.shape(v))
        for i, v in enumerate(values)
    }


def real(symbols: Mapping[str, Array]) -> dict[str, Array]:
    """Return the inputs that there are derivatives by."""
    return {name: x for name, x in symbols.items() if x.node.dtype is not graph.INT}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.op}-{'-'.join(str(np.shape(v)) for v in rule.values)}")
def test_rule_to_third_order(rule: Rule) -> None:
    symbols = inputs_of(rule.values)
    variables = real(symbols)
    straight = rule.op in DIFFERENTIALS
    bent = {} if straight else {name: bend(x) for name, x in variables.items()}
    out = Array(rule.make(*(x.node for x in (symbols | bent).values())))
    f = out if straight else out + 0.25 * out * out
    values = dict(zip(symbols, rule.values, strict=True))
    check_calculus(f, variables, values, blocks=int(f.size) <= 12, order=2 if rule.op == "spectral" else 3)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.op}-{'-'.join(str(np.shape(v)) for v in rule.values)}")
def test_rule_in_kernels(rule: Rule) -> None:
    symbols = inputs_of(rule.values)
    variables = real(symbols)
    out = Array(rule.make(*(x.node for x in (symbols | {name: bend(x) for name, x in variables.items()}).values())))
    total = (out * out).sum() if out.ndim else out * out
    group = tuple(variables.values())
    slopes = sd.gradient(total, group)
    ones: list[Any] = [np.ones(np.shape(rule.values[list(symbols).index(name)])) for name in variables]
    second = sd.hvp(total, group, tuple(ones))
    check_backends([out, *slopes, *second], list(symbols.values()), list(rule.values), 1e-10)


# ---------------------------------------------------------------------------- the library


def factors(a: Any) -> tuple[Any, Any]:
    """Return the orthogonal and the triangular factor, of which the diagonal is positive."""
    q, r = np.linalg.qr(a)
    signs = np.sign(np.diagonal(r))
    return q * signs, signs[:, None] * r


def minors(a: Any) -> Any:
    """The adjugate of a regular matrix, by its inverse."""
    return np.linalg.inv(a) * np.linalg.det(a)


class Call(NamedTuple):
    """One way to call an entry: over symbols, over NumPy arrays, and the values to do it at."""

    name: str
    symbolic: Callable[..., Array]
    numpy: Callable[..., Any]
    values: tuple[Any, ...]


def both(name: str, values: tuple[Any, ...], *args: Any, reference: Any = None, **kwargs: Any) -> Call:
    """An entry that NumPy (or ``reference``) has under its name, with plain arguments behind the arrays."""
    library = reference or getattr(np, name, None) or getattr(np.linalg, name, None) or getattr(special, name)
    return Call(
        name,
        lambda *xs: getattr(sd, name)(*xs, *args, **kwargs),
        lambda *xs: library(*xs, *args, **kwargs),
        values,
    )


def listed(name: str, values: tuple[Any, ...], **kwargs: Any) -> Call:
    return Call(
        name,
        lambda *xs: getattr(sd, name)(list(xs), **kwargs),
        lambda *xs: getattr(np, name)(list(xs), **kwargs),
        values,
    )


a23, a34, a33, b33, v3, w3 = draw(M23, 1), draw(M34, 2), draw(M33, 3), draw(M33, 4), draw(V3, 5), draw(V3, 6)
s0, t0 = draw(S, 7), draw(S, 8)
spd = regular(9) @ regular(9).T

CALLS = [
    both("square", (a23,)),
    both("reciprocal", (2.0 + a23,)),
    both("positive", (a23,)),
    both("greater", (a23, v3)),
    both("greater_equal", (a23, v3)),
    both("floor_divide", (a23, 2.0 + v3)),
    both("degrees", (v3,)),
    both("radians", (v3,)),
    Call("relu", sd.relu, lambda x: np.maximum(x, 0), (a23,)),
    both("isnan", (np.array([1.0, np.nan, np.inf]),)),
    both("isinf", (np.array([1.0, np.nan, np.inf, -np.inf]),)),
    both("isfinite", (np.array([1.0, np.nan, np.inf, -np.inf]),)),
    both("heaviside", (np.array([-1.0, 0.2, 2.0]), np.array([0.3, 0.4, 0.5]))),
    Call("sec", sd.sec, lambda x: 1 / np.cos(x), (v3,)),
    Call("csc", sd.csc, lambda x: 1 / np.sin(x), (1.5 + 0.5 * v3,)),
    Call("cot", sd.cot, lambda x: 1 / np.tan(x), (1.5 + 0.5 * v3,)),
    both("logit", (0.5 + 0.3 * v3,)),
    both("xlog1py", (v3, 2.0 + w3)),
    both("copysign", (a23, v3)),
    both("fmod", (3 * a23, 2.0 + v3)),
    both("fmax", (a23, v3)),
    both("fmin", (a23, v3)),
    both("logaddexp2", (a23, v3)),
    both("isposinf", (np.array([1.0, np.nan, np.inf, -np.inf]),)),
    both("isneginf", (np.array([1.0, np.nan, np.inf, -np.inf]),)),
    Call("exp10", sd.exp10, special.exp10, (a23,)),
    Call("huber", sd.huber, special.huber, (np.array([0.3, 0.5, 0.7]), a23)),
    *(
        Call(name, getattr(sd, name), reference, (a23 + 0.01,))
        for name, reference in {
            "relu6": lambda x: np.clip(x, 0, 6),
            "silu": lambda x: x * special.expit(x),
            "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
            "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
            "hard_tanh": lambda x: np.clip(x, -1, 1),
            "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
            "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
            "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x < 1, (x + 1) ** 2 / 4, x)),
            "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
            "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
            "celu": lambda x: np.where(x > 0, x, np.expm1(x)),
            "gelu": lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
            "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
            "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2,
            "logmeanexp": lambda x: np.log(np.mean(np.exp(x))),
            "standardize": lambda x: (
                (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
            ),
        }.items()
    ),
    Call("glu", lambda x: sd.glu(x, axis=0), lambda x: x[:1] * special.expit(x[1:]), (a23,)),
    Call("one_hot", lambda x: sd.one_hot([2, 0], 3) @ x, lambda x: np.eye(3)[[2, 0]] @ x, (v3,)),
    Call("polygamma", lambda x: sd.polygamma(2, x), lambda x: special.polygamma(2, x), (2.0 + v3,)),
    Call("polygamma", lambda x: sd.polygamma(0, x), special.digamma, (2.0 + v3,)),
    both("round", (3 * a23,)),
    both("round", (3 * a23,), 1),
    both("round", (300 * a23,), -2),
    both("rint", (3 * a23,)),
    Call("where", lambda x, y: sd.where(x > 0, x, y), lambda x, y: np.where(x > 0, x, y), (a23, v3)),
    both("clip", (a23, np.array(-0.4), np.array(0.5))),
    Call("clip", lambda x: sd.clip(x, None, 0.5), lambda x: np.clip(x, None, 0.5), (a23,)),
    Call("clip", lambda x: sd.clip(x, a_min=0.1, a_max=None), lambda x: np.clip(x, 0.1, None), (a23,)),
    Call("stop_gradient", lambda x: sd.stop_gradient(x) * x, lambda x: x * x, (v3,)),
    *(both(name, (a23,), reference=f) for name, f in (("sum", np.sum), ("mean", np.mean), ("prod", np.prod))),
    *(both(name, (a23,), axis=0) for name in ("sum", "mean", "prod", "max", "min", "var", "std")),
    *(both(name, (a23,), axis=-1, keepdims=True) for name in ("sum", "mean", "prod", "max", "min", "var", "std")),
    both("sum", (draw((2, 3, 2), 10),), axis=(0, 2)),
    both("mean", (draw((2, 3, 2), 10),), axis=(-1, 0)),
    both("var", (a23,)),
    both("var", (a23,), axis=1, ddof=1),
    both("std", (a23,), ddof=1),
    *(
        both("logsumexp", (a23,), reference=special.logsumexp, **kw)
        for kw in ({}, {"axis": 1}, {"axis": 0, "keepdims": True})
    ),
    *(both(name, (np.array([[1.0, 0.0], [2.0, 3.0]]),), axis=1) for name in ("any", "all")),
    Call("softmax", sd.softmax, lambda x: special.softmax(x, -1), (a23,)),
    both("softmax", (a23,), axis=0),
    both("softmax", (a23,), axis=None),
    Call("log_softmax", sd.log_softmax, lambda x: special.log_softmax(x, -1), (a23,)),
    both("log_softmax", (a23,), axis=0),
    Call("unit", lambda x: sd.unit(x, axis=None), lambda x: x / np.linalg.norm(x), (a23,)),
    both("unit", (a23,), axis=-1, reference=lambda x, axis: x / np.linalg.norm(x, axis=axis, keepdims=True)),
    both("norm", (a23,)),
    both("norm", (v3,), ord=1),
    both("norm", (v3,), ord=2),
    both("norm", (v3,), ord=np.inf),
    both("norm", (v3,), ord=-np.inf),
    both("norm", (a23,), axis=1, keepdims=True),
    both("norm", (a23,), ord="fro"),
    both("cumsum", (a23,)),
    both("cumsum", (a23,), axis=1),
    both("cumprod", (a23,)),
    both("cumprod", (a23,), axis=0),
    both("cummax", (a23,), axis=1, reference=np.maximum.accumulate),
    both("cummin", (a23,), axis=0, reference=np.minimum.accumulate),
    both("matmul", (a23, a34)),
    both("matmul", (v3, a34)),
    both("matmul", (a23, v3)),
    both("matmul", (v3, w3)),
    both("matmul", (draw((2, 1, 2, 3), 11), draw((3, 3, 2), 12))),
    both("matmul", (draw((2, 2, 3), 11), v3)),
    both("matmul", (draw((2,), 13), draw((3, 2, 2), 14))),
    both("dot", (a23, a34)),
    both("dot", (v3, w3)),
    both("dot", (s0, a23)),
    both("dot", (a23, draw((2, 3, 2), 12))),
    both("inner", (a23, a33)),
    both("inner", (v3, w3)),
    both("inner", (s0, v3)),
    both("vdot", (a23, draw((3, 2), 15))),
    both("outer", (v3, draw((2,), 16))),
    both("outer", (draw((2, 2), 17), draw((2,), 16))),
    both("kron", (draw((2, 2), 18), draw((1, 3), 19))),
    both("kron", (draw((2,), 18), draw((3,), 19))),
    both("cross", (v3, w3)),
    both("cross", (a23, v3)),
    both("solve", (regular(20), draw((3, 2), 21))),
    both("solve", (regular(20), v3)),
    both("tensordot", (a23, a34), 1),
    both("tensordot", (a23, draw((2, 3), 22))),
    both("tensordot", (a23, draw((2, 4), 22)), axes=([0], [0])),
    both("tensordot", (v3, draw((2,), 22)), axes=0),
    *(
        Call("einsum", lambda *xs, t=text: sd.einsum(t, *xs), lambda *xs, t=text: np.einsum(t, *xs), values)
        for text, values in (
            ("ij,jk->ki", (a23, a34)),
            ("ii", (a33,)),
            ("ii->i", (a33,)),
            ("ij,ij", (a23, draw(M23, 23))),
            ("...i,i->...", (draw((2, 2, 3), 24), v3)),
            ("i...,i...->...", (draw((2, 3), 24), draw((2, 1), 25))),
            ("ba", (a23,)),
            ("i,j,ij->", (draw((2,), 25), v3, a23)),
            ("iij->j", (draw((2, 2, 3), 26),)),
        )
    ),
    both("det", (a33,)),
    Call("logdet", sd.logdet, lambda a: np.log(np.linalg.det(a)), (regular(27),)),
    Call("logabsdet", sd.logabsdet, lambda a: np.linalg.slogdet(a)[1], (regular(28)[::-1],)),
    both("inv", (regular(29),)),
    Call("adjugate", sd.adjugate, minors, (a33,)),
    Call(  # the adjugate of a 3×3 matrix is quadratic, so a difference is exact
        "adjugate_differential",
        sd.adjugate_differential,
        lambda a, e: (minors(a + e) - minors(a - e)) / 2,
        (a33, b33),
    ),
    both("cholesky", (spd,)),
    Call(
        "slogdet",
        lambda a: sd.slogdet(a)[0] * sd.slogdet(a)[1],
        lambda a: np.linalg.slogdet(a)[0] * np.linalg.slogdet(a)[1],
        (regular(30)[::-1],),
    ),
    *(both("matrix_power", (regular(31),), n) for n in (0, 1, 3, -2)),
    Call("multi_dot", lambda *xs: sd.multi_dot(list(xs)), lambda *xs: np.linalg.multi_dot(list(xs)), (a23, a34, a34.T)),
    both("kron", (v3, draw((2, 2), 18))),
    both("kron", (draw((2, 1, 2), 18), draw((2, 2), 19))),
    both("cross", (draw((3, 2), 18), a23), axisa=0, axisc=0),
    both("cross", (draw((3, 2), 18), draw((3, 2), 19)), axis=0),
    both("vecdot", (draw((2, 1, 3), 18), a23)),
    both("vecdot", (draw((3, 2), 18), draw((3, 1), 19)), axis=0),
    both("matvec", (draw((2, 2, 3), 18), a23)),
    both("vecmat", (draw((2, 1, 3), 18), draw((2, 3, 2), 19))),
    *(both("norm", (v3,), ord=p) for p in (3, 2.5, -1, 0.5, 0)),
    *(both("norm", (a23,), ord=p) for p in (1, -1, np.inf, -np.inf)),
    both("norm", (draw((2, 2, 3), 18),), 1, (2, 0)),
    both("norm", (draw((2, 2, 3), 18),), ord=np.inf, axis=(0, -1), keepdims=True),
    both("norm", (a23,), ord=3, axis=0, keepdims=True),
    both("vector_norm", (draw((2, 2, 3), 18),), axis=(0, 2), ord=3, keepdims=True),
    both("vector_norm", (a23,)),
    both("matrix_norm", (draw((2, 2, 3), 18),), ord=1),
    both("matrix_norm", (a23,)),
    *(both("cond", (regular(32),), p=p) for p in (1, -1, np.inf, "fro")),
    Call("cholesky", lambda a: sd.cholesky(a, upper=True), lambda a: np.linalg.cholesky(a).T, (spd,)),
    *(
        Call(
            "solve_triangular",
            lambda a, b, kw=kw: sd.solve_triangular(a, b, **kw),
            lambda a, b, kw=kw: linalg.solve_triangular(a, b, **kw),
            (regular(33), draw((3, 2), 34)),
        )
        for kw in ({}, {"lower": True}, {"trans": 1}, {"trans": "T", "lower": True, "unit_diagonal": True})
    ),
    *(
        Call(
            "cho_solve",
            lambda a, b, lower=lower: sd.cho_solve(sd.cho_factor(a, lower), b),
            np.linalg.solve,
            (spd, b),
        )
        for lower, b in ((True, v3), (False, draw((3, 2), 34)))
    ),
    Call("cho_factor", lambda a: sd.cho_factor(a)[0], lambda a: np.triu(linalg.cho_factor(a)[0]), (spd,)),
    *(
        Call("qr", lambda a, k=k: sd.qr(a)[k], lambda a, k=k: factors(a)[k], (values,))
        for k in (0, 1)
        for values in (draw((4, 2), 35), draw((2, 3), 36))
    ),
    Call("qr", lambda a: sd.qr(a, mode="r"), lambda a: factors(a)[1], (draw((3, 2), 35),)),
    both("pinv", (draw((3, 2), 35),)),
    both("pinv", (draw((2, 2, 3), 35),)),
    both("tensorinv", (regular(36, 4).reshape(2, 2, 2, 2),)),
    both("tensorinv", (regular(36, 4).reshape(4, 2, 2),), ind=1),
    both("tensorsolve", (regular(36, 4).reshape(2, 2, 2, 2), draw((2, 2), 37))),
    both("tensorsolve", (regular(36, 4).reshape(2, 2, 4), draw((4,), 37)), axes=(0, 1)),
    Call("block_diag", sd.block_diag, linalg.block_diag, (a23, v3, s0, draw((2, 1), 38))),
    Call("toeplitz", sd.toeplitz, linalg.toeplitz, (v3,)),
    Call("toeplitz", sd.toeplitz, linalg.toeplitz, (v3, draw((2,), 38))),
    both("vander", (v3,)),
    both("vander", (v3,), 2, increasing=True),
    Call("eigvalsh", sd.eigvalsh, lambda a: np.linalg.eigvalsh((a + a.mT) / 2), (regular(38, 2, (2,)),)),
    Call("eigh", lambda a: sd.eigh(a)[0], lambda a: np.linalg.eigvalsh((a + a.T) / 2), (regular(38, 2),)),
    Call("eigenvectors", sd.eigenvectors, lambda a: np.linalg.eigh((a + a.T) / 2).eigenvectors, (regular(38, 2),)),
    *(
        Call(
            name,
            lambda a, name=name: getattr(sd, name)((a + a.T) / 2),
            lambda a, name=name: getattr(linalg, name)((a + a.T) / 2),
            (regular(39, 2),),
        )
        for name in ("expm", "logm", "sqrtm")
    ),
    Call(
        "funm",
        lambda a, t: sd.funm((a + a.T) / 2, lambda x: np.sin(t * x)),
        lambda a, t: linalg.sinm(t * (a + a.T) / 2),
        (regular(39, 2), s0),
    ),
    both("svdvals", (draw((2, 1), 40),)),
    both("svdvals", (draw((2, 2), 40),)),
    *(
        Call(
            "svd",
            lambda a, k=k: sd.svd(a, full_matrices=False)[k] ** 2,
            lambda a, k=k: np.linalg.svd(a, full_matrices=False)[k] ** 2,
            (draw(shape, 41),),
        )
        for k in range(3)
        for shape in ((2, 2), (1, 3))
    ),
    *(
        Call("lstsq", lambda a, b, k=k: sd.lstsq(a, b)[k], lambda a, b, k=k: np.linalg.lstsq(a, b)[k], (x, y))
        for k in (0, 1)
        for x, y in ((draw((3, 2), 42), v3), (draw((3, 1), 42), draw((3, 2), 43)))
    ),
    *(both("norm", (draw((2, 2), 44),), ord=p) for p in (2, -2, "nuc")),
    both("norm", (draw((2, 1, 3), 44),), ord="nuc", axis=(2, 0), keepdims=True),
    *(both("cond", (draw((2, 2), 44),), p=p) for p in (None, -2)),
    both("polyval", (v3, a23)),
    both("ptp", (a23,), axis=1),
    both("average", (a23,), axis=0),
    Call("average", lambda a, w: sd.average(a, 1, weights=w), lambda a, w: (a @ w) / np.sum(w), (a23, np.abs(v3) + 1)),
    both("atleast_1d", (s0,)),
    both("atleast_2d", (v3,)),
    both("atleast_3d", (a23,)),
    both("trace", (draw((2, 3, 3), 33),), axis1=1, axis2=2),
    both("trace", (a33,)),
    both("trace", (a34,), 1),
    both("trace", (draw((3, 3, 2), 32),), offset=-1),
    both("diag", (a34,)),
    both("diag", (a34,), k=-1),
    both("diag", (v3,)),
    both("diag", (v3,), k=1),
    both("diag", (v3,), k=-2),
    both("diagonal", (a34,), offset=2),
    both("diagonal", (draw((2, 3, 3), 33),), 0, 1, 2),
    both("tril", (a34,)),
    both("tril", (a34,), k=-1),
    both("triu", (draw((2, 3, 3), 34),), k=1),
    both("reshape", (a23,), (3, 2)),
    both("reshape", (a23,), -1),
    both("reshape", (draw((2, 3, 2), 35),), (4, -1)),
    both("ravel", (a23,)),
    both("transpose", (a23,)),
    both("transpose", (draw((2, 3, 2), 35),), (1, 2, 0)),
    Call("matrix_transpose", sd.matrix_transpose, lambda a: np.swapaxes(a, -1, -2), (draw((2, 3, 2), 35),)),
    both("swapaxes", (draw((2, 3, 1), 35),), 0, 2),
    both("moveaxis", (draw((2, 3, 4), 35),), 0, -1),
    both("moveaxis", (draw((2, 3, 4), 35),), [0, 2], [1, 0]),
    both("expand_dims", (a23,), 1),
    both("expand_dims", (a23,), (0, -1)),
    both("squeeze", (draw((1, 3, 1), 36),)),
    both("squeeze", (draw((1, 3, 1), 36),), axis=0),
    both("broadcast_to", (draw((3, 1), 37),), (2, 3, 2)),
    listed("concatenate", (a23, draw((1, 3), 38))),
    listed("concatenate", (a23, draw((2, 1), 38)), axis=-1),
    listed("concatenate", (a23, v3), axis=None),
    listed("stack", (v3, w3)),
    listed("stack", (v3, w3), axis=-1),
    listed("stack", (s0, t0)),
    listed("hstack", (v3, w3)),
    listed("hstack", (a23, draw((2, 1), 38))),
    listed("hstack", (s0, v3)),
    listed("vstack", (v3, a23)),
    listed("column_stack", (v3, a33)),
    Call(
        "block",
        lambda a, b, c, d: sd.block([[a, b], [c, d]]),
        lambda a, b, c, d: np.block([[a, b], [c, d]]),
        (a23, draw((2, 1), 38), draw((1, 3), 39), draw((1, 1), 40)),
    ),
    Call("block", lambda a, b: sd.block([a, b]), lambda a, b: np.block([a, b]), (v3, w3)),
    both("take", (a34,), [3, 0, -1, 0], axis=1),
    both("take", (a34,), [[0, 5], [11, 0]]),
    both("flip", (a23,)),
    both("flip", (a23,), axis=1),
    both("roll", (a23,), 2),
    both("roll", (a23,), -1, axis=1),
    both("repeat", (a23,), 2),
    both("repeat", (a23,), 2, axis=1),
    both("tile", (a23,), 2),
    both("tile", (a23,), (2, 1, 2)),
    both("diff", (a34,)),
    both("diff", (a34,), n=2, axis=0),
    *(
        Call(
            name,
            lambda x, n=name, args=args, kw=kw: getattr(sd, n)(*args, **kw) * x,
            lambda x, n=name, args=args, kw=kw: getattr(np, n)(*args, **kw) * x,
            (s0,),
        )
        for name, args, kw in (
            ("eye", (3,), {}),
            ("eye", (2, 3), {}),
            ("eye", (3,), {"k": 1}),
            ("zeros", ((2, 3),), {}),
            ("ones", (3,), {}),
        )
    ),
    Call("zeros_like", lambda x: sd.zeros_like(x) + x, lambda x: np.zeros_like(x) + x, (a23,)),
    Call("ones_like", lambda x: sd.ones_like(x) * x, lambda x: np.ones_like(x) * x, (a23,)),
    Call("full_like", lambda x, y: sd.full_like(x, y) * x, lambda x, y: np.full_like(x, y) * x, (a23, s0)),
    *(
        Call(
            name,
            lambda x, y, n=name: sd.where(getattr(sd, n)(x > 0, y > 0), x, y),
            lambda x, y, n=name: np.where(getattr(np, n)(x > 0, y > 0), x, y),
            (v3, w3),
        )
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
    ),
    Call("invert", lambda x: sd.where(sd.invert(x > 0), x, 2 * x), lambda x: np.where(~(x > 0), x, 2 * x), (v3,)),
    Call(
        "select",
        lambda x, y: sd.select([x > 0, y > 0], [x, 2 * y], 7.0),
        lambda x, y: np.select([x > 0, y > 0], [x, 2 * y], 7.0),
        (v3, w3),
    ),
    both("pad", (a23,), ((1, 2), (0, 3))),
    both("pad", (a23,), 1),
    *(
        Call("shift", lambda x, k=k: sd.shift(x, k), lambda x, k=k: np.eye(3, k=-k) @ x, (a34,))
        for k in (-4, -1, 0, 2)
    ),
    Call("shift", lambda x: sd.shift(x, 1, axis=-1), lambda x: x @ np.eye(3, k=1), (a23,)),
    Call("skew", sd.skew, lambda x: np.cross(x, np.eye(3)).T, (v3,)),
    Call("skew", sd.skew, lambda x: np.stack([np.cross(row, np.eye(3)).T for row in x]), (a23,)),
    *(
        Call(
            "arange",
            lambda x, args=args: sd.arange(*args) * x,
            lambda x, args=args: np.arange(*args) * x,
            (v3,),
        )
        for args in ((3,), (2, 5), (7, 0, -3))
    ),
    Call("take_at", lambda x, at: sd.take_at(x, at, 1), lambda x, at: x[:, at], (a23, np.array([2, 0, 0, 2]))),
    Call(
        "take_at",
        lambda x, at: sd.take_at(x, at, axis=1, shared=1),
        lambda x, at: np.take_along_axis(x, at, 1),
        (a34, np.array([[3, 0], [1, 1], [0, 2]])),
    ),
    Call("add_at", lambda x, at: sd.add_at(x, at, 4), lambda x, at: np.eye(4)[at].T @ x, (a34, np.array([3, 0, 3]))),
    Call(
        "add_at",
        lambda x, at: sd.add_at(x, at, 4, axis=1, shared=1),
        lambda x, at: np.einsum("ij,ijk->ik", x, np.eye(4)[at]),
        (a23, np.array([[3, 0, 3], [1, 1, 1]])),
    ),
    *(
        Call(
            name,
            lambda x, name=name, degree=degree: getattr(sd, name)(degree, x),
            lambda x, name=name, degree=degree: getattr(special, name)(degree, x),
            (v3,),
        )
        for name in ("eval_legendre", "eval_chebyt", "eval_chebyu", "eval_hermite", "eval_hermitenorm", "eval_laguerre")
        for degree in (0, 1, 4)
    ),
    Call(
        "eval_genlaguerre",
        lambda x: sd.eval_genlaguerre(3, 0.5, x),
        lambda x: special.eval_genlaguerre(3, 0.5, x),
        (v3,),
    ),
    Call("factorial", sd.factorial, special.factorial, (v3,)),
    Call("multigammaln", lambda x: sd.multigammaln(x, 3), lambda x: special.multigammaln(x, 3), (2.0 + v3,)),
    Call("airy", lambda x: sum(sd.airy(x)), lambda x: sum(special.airy(x)), (v3,)),
    Call("sici", lambda x: sum(sd.sici(x * x)), lambda x: sum(special.sici(x * x)), (v3,)),
    Call("fresnel", lambda x: sum(sd.fresnel(x)), lambda x: sum(special.fresnel(x)), (v3,)),
    Call("divmod", lambda x: sum(sd.divmod(x, 2.0)), lambda x: sum(np.divmod(x, 2.0)), (v3,)),
]

SCALAR_ENTRIES = {name for name in LIBRARY if name in FUNCTIONS} - {"where"}


def test_every_entry_of_the_library_is_called() -> None:
    called = {id(LIBRARY[call.name]) for call in CALLS}
    missing = {name for name, entry in LIBRARY.items() if id(entry) not in called} - SCALAR_ENTRIES
    # those of the folder have tests of their own, which see that each is called
    missing = {name for name in missing if ".routines." not in LIBRARY[name].call.__module__}
    assert not {name for name in missing if LIBRARY[name].name not in SCALAR_ENTRIES}


def identify(call: Call) -> str:
    return f"{call.name}-{CALLS.index(call)}"


@pytest.mark.parametrize("call", CALLS, ids=[f"{call.name}-{i}" for i, call in enumerate(CALLS)])
def test_entry_means_what_numpy_means(call: Call) -> None:
    symbols = list(inputs_of(call.values).values())
    out = call.symbolic(*symbols)
    point = {f"x{i}": v for i, v in enumerate(call.values)}
    want = np.asarray(call.numpy(*call.values))
    assert out.shape == want.shape
    got = evaluate([out.node], point, [s.node for s in symbols])[0]
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-14)
    assert (out.dtype == bool) == (want.dtype == bool)
    kernel = sd.compile(out, symbols, backend="numpy")
    stacked = kernel(*(np.stack([numbers(x, v)] * 2) for x, v in zip(symbols, call.values, strict=True)))
    np.testing.assert_allclose(stacked, np.stack([want, want]), rtol=1e-12, atol=1e-13)


DIFFERENTIABLE = [
    call
    for call in CALLS
    if call.name not in ("greater", "greater_equal", "isnan", "isinf", "isfinite", "any", "all", "stop_gradient")
]


@pytest.mark.parametrize("call", DIFFERENTIABLE, ids=identify)
def test_entry_to_third_order(call: Call) -> None:
    symbols = inputs_of(call.values)
    out = call.symbolic(*symbols.values())
    f = out + 0.25 * out * out
    values = dict(zip(symbols, call.values, strict=True))
    order = 2 if call.name in ("expm", "logm", "sqrtm", "funm") else 3
    check_calculus(f, real(symbols), values, blocks=int(f.size) <= 6, tolerance=1e-9, order=order)


@pytest.mark.parametrize("call", [c for c in CALLS if hasattr(np, c.name) or hasattr(np.linalg, c.name)], ids=identify)
def test_numpys_own_function_on_symbols(call: Call) -> None:
    """``np.f(symbol)`` and ``sd.f(symbol)`` are one formula."""
    symbols = [sd.array(f"x{i}", np.shape(v)) for i, v in enumerate(call.values)]
    mine, theirs = call.symbolic(*symbols), call.numpy(*symbols)
    if isinstance(theirs, Array):
        point = {f"x{i}": v for i, v in enumerate(call.values)}
        got = evaluate([mine.node, theirs.node], point, [s.node for s in symbols])
        np.testing.assert_array_equal(*got)


# ---------------------------------------------------------------------------- determinants of any rank


def of_rank(n: int, rank: int, seed: int = 0) -> Any:
    """An integer matrix of exactly this rank."""
    rng = np.random.default_rng([seed, n, rank])
    while True:
        a = (rng.integers(-3, 4, (n, rank)) @ rng.integers(-3, 4, (rank, n))).astype(float)
        if np.linalg.matrix_rank(a) == rank:
            return a


def cofactors(a: Any) -> list[list[Fraction]]:
    """The cofactor matrix in exact arithmetic."""
    n = len(a)
    whole = [[Fraction(int(x)) for x in row] for row in a]

    def determinant(rows: list[list[Fraction]]) -> Fraction:
        if not rows:
            return Fraction(1)
        return sum(
            (
                (-1) ** c * rows[0][c] * determinant([r[:c] + r[c + 1 :] for r in rows[1:]])
                for c in range(len(rows))
                if rows[0][c]
            ),
            Fraction(0),
        )

    return [
        [(-1) ** (i + j) * determinant([r[:j] + r[j + 1 :] for k, r in enumerate(whole) if k != i]) for j in range(n)]
        for i in range(n)
    ]


RANKS = [(n, rank) for n in range(1, 7) for rank in range(n + 1)]


@pytest.mark.parametrize(
    ("n", "rank", "backend"), [(*size, b) for size in RANKS for b in ("numpy", "native") if b == "numpy" or size[0] < 5]
)
def test_determinant_to_second_order_at_every_rank(n: int, rank: int, backend: str) -> None:
    A = sd.matrix("A", n, n)
    e = draw((n, n), 7)
    a = of_rank(n, rank)
    f = sd.det(A)
    slope, push = sd.gradient(f, A), sd.hvp(f, A, e)
    value, gradient, second = sd.compile([f, slope, push], [A], backend=backend)(a)
    want = np.array(cofactors(a), dtype=float)
    scale = max(1.0, float(np.linalg.norm(a, 2)))
    np.testing.assert_allclose(value, float(round(np.linalg.det(a))), atol=1e-13 * scale**n)
    np.testing.assert_allclose(gradient, want, rtol=0, atol=2e-13 * scale ** (n - 1))
    slope_of_slope = directional([graph.matrix("adjugate", A.node)], {"A": a}, [{"A": e}])[0].T
    np.testing.assert_allclose(second, slope_of_slope, rtol=0, atol=2e-13 * n * scale ** max(n - 2, 0))


@pytest.mark.parametrize(("n", "rank"), [(n, rank) for n in range(1, 5) for rank in range(n + 1)])
def test_hessian_of_determinant_at_every_rank(n: int, rank: int) -> None:
    A = sd.matrix("A", n, n)
    a = of_rank(n, rank, 1)
    hessian = evaluate([sd.hessian(sd.det(A), A).node], {"A": a}, [A.node])[0]
    np.testing.assert_allclose(
        hessian, hessian.transpose(2, 3, 0, 1), rtol=0, atol=1e-12 * max(1.0, np.abs(a).max()) ** n
    )
    u, v = draw((n, n), 8), draw((n, n), 9)
    want = directional([sd.det(A).node], {"A": a}, [{"A": u}, {"A": v}])[0]
    got = np.einsum("ijkl,ij,kl", hessian, u, v)
    assert got == pytest.approx(float(want), rel=1e-12, abs=1e-11 * max(1.0, np.abs(a).max()) ** n)


@pytest.mark.parametrize(
    ("n", "rank"),
    [(n, rank) for n in (1, 2, 3, 5, 8) for rank in sorted({0, 1, n // 2, n - 2, n - 1, n}) if 0 <= rank <= n],
)
def test_determinant_to_third_order_at_every_rank(n: int, rank: int) -> None:
    A = sd.matrix("A", n, n)
    ways = [draw((n, n), seed) for seed in (10, 11, 12)]
    a = of_rank(n, rank, 2)
    f = sd.det(A)
    for way in ways:
        f = sd.jvp(f, A, way, disconnected="zero")
    back = sd.gradient(sd.jvp(sd.jvp(sd.det(A), A, ways[0]), A, ways[1], disconnected="zero"), A, disconnected="zero")
    got, slope = evaluate([f.node, back.node], {"A": a}, [A.node])
    want = float(directional([sd.det(A).node], {"A": a}, [{"A": way} for way in ways])[0])
    scale = max(1.0, float(np.linalg.norm(a, 2))) ** max(n - 3, 0) * n**3
    assert got == pytest.approx(want, rel=1e-12, abs=1e-12 * scale)
    assert inner(slope, ways[2]) == pytest.approx(want, rel=1e-12, abs=1e-12 * scale)


def test_fourth_order_of_a_determinant() -> None:
    A = sd.matrix("A", 4, 4)
    a, way = of_rank(4, 1, 3), draw((4, 4), 13)
    f = sd.det(A)
    for _ in range(4):
        f = sd.jvp(f, A, way, disconnected="zero")
    assert evaluate([f.node], {"A": a}, [A.node])[0] == pytest.approx(24 * np.linalg.det(way), rel=1e-12)


def test_third_order_of_a_large_determinant_is_refused_by_name() -> None:
    for size in (9, "n"):
        A = sd.matrix("A", size, size)
        second = sd.hvp(sd.det(A), A, sd.matrix("E", size, size))
        with pytest.raises(NotDifferentiableError, match=r"third derivative of det.*known up to 8"):
            sd.gradient(second.sum(), A)


@pytest.mark.parametrize("rank", range(5))
def test_adjugate_is_exact_at_every_rank(rank: int) -> None:
    A = sd.matrix("A", 4, 4)
    a = of_rank(4, rank, 4)
    for backend in ("numpy", "native"):
        got = sd.compile(sd.adjugate(A), [A], backend=backend)(a)
        np.testing.assert_allclose(got, np.array(cofactors(a), dtype=float).T, atol=1e-11)
        np.testing.assert_allclose(got, np.array(adjugate(a.astype(int).astype(object)), dtype=float), atol=1e-11)


def test_power_and_product_of_singular_determinants() -> None:
    A = sd.matrix("A", 3, 3)
    a = of_rank(3, 2, 5)
    want = np.array(cofactors(a), dtype=float)
    square, cube = sd.compile([sd.gradient(sd.det(A) ** 2, A), sd.gradient(sd.det(A) * sd.trace(A), A)], [A])(a)
    np.testing.assert_allclose(square, 2 * round(np.linalg.det(a)) * want, atol=1e-11)
    np.testing.assert_allclose(cube, want * np.trace(a), atol=1e-11)


# ---------------------------------------------------------------------------- kinks


def compute(node: Array, **values: Any) -> Any:
    """Evaluate by every means there is, which must agree, nan and inf included."""
    known = evaluate([node.node], values)[0]
    inputs = [sd.array(name, np.shape(v)) for name, v in values.items()]
    for backend in ("numpy", "native"):
        got = sd.compile(node, inputs, backend=backend)(*values.values())
        np.testing.assert_allclose(got, known, rtol=1e-12, atol=1e-15, err_msg=backend)
    return known


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("mode", ["reverse", "forward", "jacobian"])
def test_ties_share_equally(op: str, mode: str) -> None:
    x = sd.vector("x", 4)
    f = getattr(sd, op)(x)
    value = np.array([1.0, 3.0, 3.0, 2.0]) * (1 if op == "max" else -1)
    if mode == "forward":
        got = np.array([float(compute(sd.jvp(f, x, row), x=value)) for row in np.eye(4)])
    elif mode == "reverse":
        got = compute(sd.gradient(f, x), x=value)
    else:
        got = compute(sd.jacobian(f.reshape(1), x), x=value)[0]
    np.testing.assert_array_equal(got, [0, 0.5, 0.5, 0])


def test_ties_along_an_axis() -> None:
    X = sd.matrix("X", 2, 3)
    got = compute(sd.gradient(X.max(axis=1).sum(), X), X=[[1.0, 1.0, 1.0], [0.0, 2.0, 2.0]])
    np.testing.assert_allclose(got, [[1 / 3] * 3, [0, 0.5, 0.5]])


def test_ties_at_infinity_share_too() -> None:
    x = sd.vector("x", 3)
    np.testing.assert_array_equal(compute(sd.gradient(sd.max(x), x), x=[np.inf, 0.0, np.inf]), [0.5, 0, 0.5])


@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_norm_at_zero(shape: tuple[int, ...]) -> None:
    x = sd.array("x", shape)
    zero = np.zeros(shape)
    assert compute(sd.norm(x), x=zero) == 0
    np.testing.assert_array_equal(compute(sd.gradient(sd.norm(x), x), x=zero), zero)
    assert compute(sd.jvp(sd.norm(x), x, np.ones(shape)), x=zero) == 0
    np.testing.assert_array_equal(compute(sd.gradient(sd.norm(x) ** 2, x), x=zero), zero)


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
def test_products_with_zeros(zeros: int) -> None:
    x = sd.vector("x", 4)
    value = np.array([2.0, -3.0, 0.5, 4.0])
    value[:zeros] = 0
    want = [np.prod(np.delete(value, i)) for i in range(4)]
    np.testing.assert_array_equal(compute(sd.gradient(sd.prod(x), x), x=value), want)
    hessian = compute(sd.hessian(sd.prod(x), x), x=value)
    second = [[0.0 if i == j else np.prod(np.delete(value, [i, j])) for j in range(4)] for i in range(4)]
    np.testing.assert_array_equal(hessian, second)


# ---------------------------------------------------------------------------- branches not taken


class Branch(NamedTuple):
    """A formula of x (3,) and the index where something not taken is infinite or undefined."""

    name: str
    build: Callable[[Array], Array]
    value: tuple[float, float, float]
    gradient: tuple[float, float, float]
    second: tuple[float, float, float]


BRANCHES = [
    Branch("log", lambda x: sd.where(x > 0, np.log(x), 0.0), (0.0, 0.0, np.log(2)), (0, 0, 0.5), (0, 0, -0.25)),
    Branch(
        "sqrt",
        lambda x: sd.where(x > 0, np.sqrt(x), 0.0),
        (0.0, 0.0, np.sqrt(2)),
        (0, 0, 0.5**1.5),
        (0, 0, -0.25 * 0.5**1.5),
    ),
    Branch("division", lambda x: sd.where(x != 0, 1 / x, 3.0), (3.0, -1.0, 0.5), (0, -1, -0.25), (0, -2, 0.25)),
    Branch(
        "x log x",
        lambda x: sd.where(x > 0, x * np.log(x), 0.0),
        (0, 0, 2 * np.log(2)),
        (0, 0, np.log(2) + 1),
        (0, 0, 0.5),
    ),
    Branch(
        "overflow", lambda x: sd.where(x < 1, x**2, np.exp(1e4 * np.abs(x) - 2e4)), (0, 1, 1), (0, -2, 1e4), (2, 2, 1e8)
    ),
    Branch(
        "nested",
        lambda x: sd.where(x > 0, sd.where(x > 1, np.log(x - 1), np.sqrt(x)), x * 2),
        (0, -2, 0),
        (2, 2, 1),
        (0, 0, -1),
    ),
    Branch(
        "maximum",
        lambda x: np.log(np.maximum(x, 0.5)),
        (np.log(0.5), np.log(0.5), np.log(2)),
        (0, 0, 0.5),
        (0, 0, -0.25),
    ),
    Branch("clip infinite", lambda x: np.clip(1 / x, -0.5, 0.25), (0.25, -0.5, 0.25), (0, 0, 0), (0, 0, 0)),
    Branch(
        "minimum infinite",
        lambda x: np.minimum(-np.log(np.abs(x)), 5.0),
        (5, 0, -np.log(2)),
        (0, 1, -0.5),
        (0, 1, 0.25),
    ),
    Branch(
        "sqrt outside",
        lambda x: np.sqrt(sd.where(x > 0, x, 1.0)),
        (1, 1, np.sqrt(2)),
        (0, 0, 0.5**1.5),
        (0, 0, -0.25 * 0.5**1.5),
    ),
    Branch(
        "sqrt outside at zero",
        lambda x: np.sqrt(sd.where(x > 0, x, 0.0)),
        (0, 0, np.sqrt(2)),
        (0, 0, 0.5**1.5),
        (0, 0, -0.25 * 0.5**1.5),
    ),
    Branch(
        "log outside",
        lambda x: sd.where(x > 1, np.log(sd.where(x > 1, x, 0.0)), 0.0),
        (0, 0, np.log(2)),
        (0, 0, 0.5),
        (0, 0, -0.25),
    ),
    Branch(
        "safe quotient",
        lambda x: sd.where(x == 0, 1.0, np.sin(x) / x),
        (1, np.sin(1), np.sin(2) / 2),
        (0, -(np.cos(1) - np.sin(1)), (2 * np.cos(2) - np.sin(2)) / 4),
        (0, np.sin(1) - 2 * np.cos(1), (-4 * np.sin(2) - 4 * np.cos(2) + 2 * np.sin(2)) / 8),
    ),
]
AT = np.array([0.0, -1.0, 2.0])


@pytest.mark.parametrize("branch", BRANCHES, ids=lambda b: b.name)
def test_untaken_branches_never_show(branch: Branch) -> None:
    x = sd.vector("x", 3)
    f = branch.build(x)
    same = {"rtol": 1e-13, "atol": 1e-13}
    np.testing.assert_allclose(compute(f, x=AT), branch.value, **same)
    # element by element, through a sum, a product with a matrix, and a weighted square
    weights = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])
    np.testing.assert_allclose(compute(sd.gradient(f.sum(), x), x=AT), branch.gradient, **same)
    np.testing.assert_allclose(
        compute(sd.vjp(weights @ f, x, [2.0, -1.0]), x=AT), np.array([2.0, -1.0]) @ weights * branch.gradient, **same
    )
    for way in np.eye(3):
        np.testing.assert_allclose(compute(sd.jvp(f, x, way), x=AT), way * branch.gradient, **same)
        np.testing.assert_allclose(
            compute(sd.jvp(weights @ f, x, way), x=AT), weights @ (way * branch.gradient), **same
        )
    np.testing.assert_allclose(compute(sd.jacobian(f, x), x=AT), np.diag(branch.gradient), **same)
    np.testing.assert_allclose(compute(sd.jacobian(weights @ f, x), x=AT), weights * branch.gradient, **same)
    np.testing.assert_allclose(compute(sd.hessian(f.sum(), x), x=AT), np.diag(branch.second), **same)
    square = np.diag(np.square(branch.gradient) + np.array(branch.value) * branch.second)
    np.testing.assert_allclose(compute(sd.hessian(0.5 * f @ f, x), x=AT), square, **same)
    np.testing.assert_allclose(
        compute(sd.hvp(f.sum(), x, [1.0, 2.0, 3.0]), x=AT), np.array(branch.second) * [1, 2, 3], **same
    )


def test_branches_by_a_scalar_condition() -> None:
    s, v = sd.scalar("s"), sd.vector("v", 2)
    f = sd.where(s > 0, np.log(s) * v, v).sum()
    np.testing.assert_array_equal(compute(sd.gradient(f, v), s=0.0, v=[1.0, 2.0]), [1.0, 1.0])
    assert compute(sd.gradient(f, s), s=0.0, v=[1.0, 2.0]) == 0
    assert compute(sd.derivative(f, s, 2), s=0.0, v=[1.0, 2.0]) == 0


def test_a_matrix_inverted_in_one_branch_only() -> None:
    A, t = sd.matrix("A", 2, 2), sd.scalar("t")
    f = sd.where(t > 0, sd.logdet(A), 0.0)
    got = compute(sd.gradient(f, t, disconnected="zero"), t=-1.0, A=-np.eye(2))
    assert got == 0


def test_broadcast_branches() -> None:
    x, y = sd.vector("x", 2), sd.matrix("Y", 2, 2)
    f = sd.where(y > 0, np.sqrt(x) * y, 0.0).sum()
    got = compute(sd.gradient(f, x), x=[0.0, 4.0], Y=[[-1.0, 1.0], [-2.0, 3.0]])
    np.testing.assert_array_equal(got, [0.0, 1.0])


LINEAR_WAYS: dict[str, Callable[[Any], Any]] = {
    "scale": lambda r: r * 2.0,
    "reverse twice": lambda r: r[::-1][::-1],
    "stack": lambda r: sd.stack([r[0], r[1], r[2]]),
    "repeat": lambda r: np.repeat(r, 2)[::2],
    "gather": lambda r: r[[2, 1, 0]][[2, 1, 0]],
    "diagonal": lambda r: np.diag(sd.diag(r)),
    "triangle": lambda r: sd.tril(sd.eye(3) * r).sum(axis=0),
    "pad": lambda r: sd.concatenate([r, np.zeros(2)])[:3],
    "reshape": lambda r: r.reshape(3, 1).reshape(3),
    "max": lambda r: sd.max(sd.stack([r, r - 1]), axis=0),
    "norm": lambda r: sd.norm(r.reshape(3, 1), axis=1),
    "prod": lambda r: sd.prod(sd.stack([r, np.ones(3)]), axis=0),
    "logsumexp": lambda r: sd.logsumexp(r.reshape(3, 1), axis=1),
}


@pytest.mark.parametrize("way", LINEAR_WAYS)
def test_strong_zeros_pass_through_array_operations(way: str) -> None:
    """sqrt has an infinite slope at 0; a where behind other operations still silences it."""
    x = sd.vector("x", 3)
    f = sd.where(x > 0, LINEAR_WAYS[way](np.sqrt(x)), 0.0)
    want = np.array([0.0, 0.5, 0.25]) * (2.0 if way == "scale" else 1.0)
    at = [0.0, 1.0, 4.0]
    np.testing.assert_allclose(compute(sd.gradient(f.sum(), x), x=at), want)
    np.testing.assert_allclose(compute(sd.jacobian(f, x), x=at), np.diag(want))
    for i, direction in enumerate(np.eye(3)):
        np.testing.assert_allclose(compute(sd.jvp(f, x, direction), x=at)[i], want[i])


@pytest.mark.parametrize("outer", ["sqrt", "norm", "log", "divide"])
def test_a_branch_outside_which_something_is_infinite(outer: str) -> None:
    """Where no element is taken, the sum does not depend on x, whatever the slope outside is."""
    x = sd.vector("x", 3)
    taken = sd.where(x > 0, x, 0.0)
    total = (taken * np.array([1.0, 2.0, 3.0])).sum()
    choices: dict[str, Any] = {
        "sqrt": lambda: np.sqrt(total),
        "norm": lambda: sd.norm(sd.stack([np.sqrt(total), np.sqrt(total)])),
        "log": lambda: np.log(total),
        "divide": lambda: 1 / total,
    }
    f = choices[outer]()
    at = [0.0, -1.0, -2.0]
    np.testing.assert_array_equal(compute(sd.gradient(f, x), x=at), np.zeros(3))
    assert compute(sd.jvp(f, x, [1.0, 2.0, 3.0]), x=at) == 0
    np.testing.assert_array_equal(compute(sd.hessian(f, x), x=at), np.zeros((3, 3)))


@pytest.mark.parametrize("op", ["max", "min"])
def test_what_a_maximum_passes_over_does_not_show(op: str) -> None:
    x = sd.vector("x", 3)
    sign = 1.0 if op == "max" else -1.0
    f = getattr(sd, op)(sign * np.sqrt(x))
    np.testing.assert_allclose(compute(sd.gradient(f, x), x=[0.0, 1.0, 4.0]), [0, 0, sign * 0.25])
    assert compute(sd.jvp(f, x, [1.0, 1.0, 1.0]), x=[0.0, 1.0, 4.0]) == sign * 0.25
    np.testing.assert_allclose(compute(sd.hessian(f, x), x=[0.0, 1.0, 4.0]), np.diag([0, 0, -sign / 32]))


GAPS = [(0.0, -30.0, -31.0), (1.0, 31.0, 2.0), (-700.0, 0.0, -650.0), (0.0, -36.0, -36.0), (5.0, 5.0, 4.0)]


@pytest.mark.parametrize("at", GAPS, ids=str)
def test_what_stands_beside_a_large_share_keeps_its_digits(at: tuple[float, ...]) -> None:
    """log(softmax) is -1e-13 where a gap is 30, and 1 - softmax is 1e-13: not what 1 rounds to."""
    x = sd.vector("x", 3)
    with mpmath.workdps(700):
        powers = [mpmath.exp(v) for v in at]
        s = [power / mpmath.fsum(powers) for power in powers]
        rest = [mpmath.fsum(powers[:i] + powers[i + 1 :]) / mpmath.fsum(powers) for i in range(3)]
        logs = [float(mpmath.log(v)) for v in s]
        total = float(mpmath.log(mpmath.fsum(powers)))
        left = [[float(rest[i] if i == j else -s[j]) for j in range(3)] for i in range(3)]
        slope = [[float(s[i] * (rest[i] if i == j else -s[j])) for j in range(3)] for i in range(3)]
    for backend in ("numpy", "native"):
        values = sd.compile([sd.log(sd.softmax(x)), sd.log_softmax(x), sd.logsumexp(x)], [x], backend=backend)(at)
        for got, want in zip(values, (logs, logs, total), strict=True):
            np.testing.assert_allclose(got, want, rtol=4e-15, atol=0)
    native = sd.compile(
        [sd.jacobian(sd.log(sd.softmax(x)), x), sd.jacobian(sd.softmax(x), x), sd.hessian(sd.logsumexp(x), x)],
        [x],
        backend="native",
    )
    for got, want in zip(native(at), (left, slope, slope), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14, atol=0)


def test_log_of_softmax_is_exact_in_every_spelling() -> None:
    a, b, c = sp.symbols("a b c")
    X, y = sd.matrix("X", 2, 4), sd.vector("y", 4)
    data = (np.array([[1.0, 2, 3, 4], [0.5, -1, 2, -3]]), np.array([3.0, 2, 4, 2.5]))
    gap = float(data[0][1] @ data[1] - data[0][0] @ data[1])
    for formula in ("log(softmax(X @ y))", sd.log(sd.softmax(X @ y)), lambda X, y: np.log(sd.softmax(X @ y))):
        kernel = sd.compile(formula, X=(2, 4), y=4) if not isinstance(formula, Array) else sd.compile(formula, [X, y])
        np.testing.assert_allclose(kernel(*data)[0], -np.log1p(np.exp(gap)), rtol=1e-14)
    two = sp.log(sp.exp(a) / (sp.exp(a) + sp.exp(b)))
    np.testing.assert_allclose(sd.compile(two)(0.0, -30.0), -np.log1p(np.exp(-30.0)), rtol=1e-14)
    three = sp.log(sp.exp(a) / (sp.exp(a) + sp.exp(b) + sp.exp(c)))
    want = -np.log1p(np.exp(-30.0) + np.exp(-31.0))
    np.testing.assert_allclose(sd.compile(three)(0.0, -30.0, -31.0), want, rtol=1e-14)


def test_a_kink_is_the_mean_of_the_sides() -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    assert compute(sd.gradient(abs(x), x), x=0.0) == 0
    assert compute(sd.gradient(np.maximum(x, y), x), x=1.0, y=1.0) == 0.5
    assert compute(sd.gradient(np.minimum(x, y), y), x=1.0, y=1.0) == 0.5
    assert compute(sd.gradient(sd.relu(x), x), x=0.0) == 0.5
    assert compute(sd.gradient(np.clip(x, 0.0, 1.0), x), x=1.0) == 0.5
    assert compute(sd.gradient(sd.where(x >= 0, x, 3 * x), x), x=0.0) == 1.0


def test_what_is_not_offered_is_refused_by_name() -> None:
    A = sd.matrix("A", 3, 3)
    with pytest.raises(UnsupportedError, match="norm with ord=3"):
        sd.norm(A, ord=3)
    with pytest.raises(UnsupportedError, match="eigenvalues"):
        np.linalg.eigvals(A)
    x = sd.scalar("x")
    with pytest.raises(NotDifferentiableError, match="polygamma"):
        sd.gradient(Array(graph.elementwise("polygamma", (x.node, graph.constant(2.0)))), x)


def test_cholesky_reads_what_its_derivative_says() -> None:
    """Value and derivative read the lower triangle alone, whatever stands above it."""
    A = sd.matrix("A", 3, 3)
    e = draw(M33, 50)
    got = compute(sd.jvp(sd.cholesky(A), A, e), A=spd)
    h = 1e-6
    want = (linalg.cholesky(spd + h * e, lower=True) - linalg.cholesky(spd - h * e, lower=True)) / (2 * h)
    np.testing.assert_allclose(got, want, atol=1e-8)
