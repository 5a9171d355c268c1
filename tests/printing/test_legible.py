"""Derivatives as short as a book's: what is shown, how many nodes, and the value against two references."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg
from numpy.linalg import det, inv, norm

import symdiff as sd
from symdiff.frontend.formula import read_formula
from symdiff.graph import Node, constant, contract, input, inputs_of, matmul, matrix, postorder, swap
from symdiff.graph.reference.interpret import evaluate
from symdiff.rewrite import simplify
from symdiff.tools.checking.multiprecision import directional

Floats = npt.NDArray[np.float64]
N, M, K = 3, 4, 2
SIZES = {"n": N, "m": M, "k": K}


class Row(NamedTuple):
    """A formula, its variable, the shapes, what is shown, the book's form, and options."""

    text: str
    wrt: str
    shapes: dict[str, Any]
    shown: str
    book: Callable[..., Any]
    options: Mapping[str, Any] = MappingProxyType({})


def unit(x: Floats) -> Floats:
    return np.asarray(x / norm(x))


S, PD, POS = sd.symmetric, sd.positive_definite, sd.positive
XX = {"X": ("n", "n")}
ROWS = [
    Row("log(det(X.T @ X))", "X", {"X": ("n", "k")}, "2 * (X @ inv(X.T @ X))", lambda X: 2 * X @ inv(X.T @ X)),
    Row(
        "det(X.T @ A @ X)", "X", {"X": ("n", "k"), "A": ("n", "n")},
        "det(X.T @ A @ X) * (A.T @ X @ inv(X.T @ A @ X).T + A @ X @ inv(X.T @ A @ X))",
        lambda X, A: det(X.T @ A @ X) * (A @ X @ inv(X.T @ A @ X) + A.T @ X @ inv(X.T @ A.T @ X)),
        {"invertible": True},
    ),
    Row(
        "det(X.T @ A @ X)", "X", {"X": ("n", "k"), "A": S("n")},
        "2 * det(X.T @ A @ X) * (A @ X @ inv(X.T @ A @ X))",
        lambda X, A: 2 * det(X.T @ A @ X) * A @ X @ inv(X.T @ A @ X),
        {"invertible": True},
    ),
    Row("det(X @ X @ X)", "X", XX, "3 * det(X) ** 2 * adjugate(X).T", lambda X: 3 * det(X) ** 3 * inv(X).T),
    Row(
        "det(X @ X @ X)", "X", XX, "3 * det(X) ** 3 * inv(X).T", lambda X: 3 * det(X) ** 3 * inv(X).T,
        {"invertible": True},
    ),
    Row("det(inv(X))", "X", XX, "-det(inv(X)) * inv(X).T", lambda X: -inv(X).T / det(X)),
    Row("log(abs(det(inv(X))))", "X", XX, "-inv(X).T", lambda X: -inv(X).T),
    Row("log(det(A)**2 / det(X)**2) / 2", "X", {**XX, "A": ("m", "m")}, "-inv(X).T", lambda X, A: -inv(X).T),
    Row("1 / det(X)", "X", XX, "-inv(X).T / det(X)", lambda X: -inv(X).T / det(X)),
    Row(
        "trace(X) / det(X)", "X", XX, "(eye(n) - trace(X) * inv(X).T) / det(X)",
        lambda X: (np.eye(N) - np.trace(X) * inv(X).T) / det(X),
    ),
    Row(
        "w @ (A @ w) / sqrt(w @ A @ w)", "w", {"w": "n", "A": PD("n")}, "A @ w / sqrt(w @ A @ w)",
        lambda w, A: A @ w / np.sqrt(w @ A @ w),
    ),
    Row("log(abs(det(X @ X)))", "X", XX, "2 * inv(X).T", lambda X: 2 * inv(X).T),
    Row("log(det(X.T @ X))", "X", XX, "2 * inv(X).T", lambda X: 2 * inv(X).T),
    Row(
        "log(abs(det(A @ X @ B)))", "X", {**XX, "A": ("n", "n"), "B": ("n", "n")}, "inv(X).T", lambda X, A, B: inv(X).T,
        {"invertible": True},
    ),
    Row("det(S)", "S", {"S": PD("n")}, "det(S) * inv(S)", lambda S: det(S) * inv(S)),
    Row("trace(X @ X @ X @ X)", "X", XX, "4 * (X.T @ X.T @ X.T)", lambda X: 4 * np.linalg.matrix_power(X.T, 3)),
    Row("trace(X.T @ X @ X.T @ X)", "X", {"X": ("n", "k")}, "4 * (X @ X.T @ X)", lambda X: 4 * X @ X.T @ X),
    Row("trace(kron(A, X))", "X", {**XX, "A": ("m", "m")}, "trace(A) * eye(n)", lambda X, A: np.trace(A) * np.eye(N)),
    Row("trace(kron(X, X))", "X", XX, "2 * trace(X) * eye(n)", lambda X: 2 * np.trace(X) * np.eye(N)),
    Row(
        "trace(inv(kron(A, X)))", "X", {"X": ("k", "k"), "A": ("k", "k")}, "-trace(inv(A)) * (inv(X).T @ inv(X).T)",
        lambda X, A: -np.trace(inv(A)) * inv(X @ X).T,
    ),
    Row(
        "trace(inv(X.T @ C @ X) @ X.T @ B @ X)", "X", {"X": ("n", "k"), "C": S("n"), "B": S("n")},
        "2 * ((eye(n) - C @ X @ inv(X.T @ C @ X) @ X.T) @ B @ X @ inv(X.T @ C @ X))",
        lambda X, C, B: 2 * B @ X @ inv(X.T @ C @ X) - 2 * C @ X @ inv(X.T @ C @ X) @ X.T @ B @ X @ inv(X.T @ C @ X),
    ),
    Row(
        "(x - a) / norm(x - a)", "x", {"x": "n", "a": "n"},
        "u = unit(x - a)\n(eye(n) - outer(u, u)) / norm(x - a)",
        lambda x, a: (np.eye(N) - np.outer(unit(x - a), unit(x - a))) / norm(x - a),
    ),
    *(
        Row(
            text, "x", {"x": "n", "y": "n"}, "(y - (unit(x) @ y) * unit(x)) / (norm(x) * norm(y))",
            lambda x, y: (unit(y) - (unit(x) @ unit(y)) * unit(x)) / norm(x),
        )
        for text in (
            "x @ y / (norm(x) * norm(y))", "x @ y / (sqrt(x @ x) * sqrt(y @ y))", "x @ y / sqrt(x @ x * (y @ y))"
        )
    ),
    Row("-sum(p * log(p))", "p", {"p": POS("n")}, "-(1 + log(p))", lambda p: -1 - np.log(p)),
    Row("-sum(p * log(p))", "p", {"p": "n"}, "-(log(p) + 1)", lambda p: -1 - np.log(p)),
    Row("sum(p * log(p / q))", "p", {"p": "n", "q": "n"}, "log(p / q) + 1", lambda p, q: np.log(p / q) + 1),
    Row("sum(p * log(p / q))", "q", {"p": POS("n"), "q": POS("n")}, "-p / q", lambda p, q: -p / q),
    Row("var(x)", "x", {"x": "n"}, "2 * (x - mean(x)) / n", lambda x: 2 * (x - x.mean()) / N),
    Row("mean((x - mean(x)) ** 2)", "x", {"x": "n"}, "2 * (x - mean(x)) / n", lambda x: 2 * (x - x.mean()) / N),
    Row("std(x)", "x", {"x": "n"}, "unit(x - mean(x)) / sqrt(n)", lambda x: (x - x.mean()) / (N * x.std())),
    Row(
        "sum((X - mean(X, axis=0)) ** 2)", "X", {"X": ("m", "n")}, "2 * (X - mean(X, axis=0))",
        lambda X: 2 * (X - X.mean(axis=0)),
    ),
    Row(
        "(1 + norm(x - y)) * exp(-norm(x - y))", "x", {"x": "n", "y": "n"}, "-exp(-norm(x - y)) * (x - y)",
        lambda x, y: -np.exp(-norm(x - y)) * (x - y),
    ),
    Row(
        "x @ A @ x / (x @ x)", "x", {"x": "n", "A": S("n")}, "q = x @ A @ x / (x @ x)\n2 * (A @ x - q * x) / (x @ x)",
        lambda x, A: 2 * (A @ x - (x @ A @ x) / (x @ x) * x) / (x @ x),
    ),
    Row(
        "trace((eye(n) - K @ H) @ P @ (eye(n) - K @ H).T + K @ R @ K.T)", "K",
        {"K": ("n", "m"), "H": ("m", "n"), "P": S("n"), "R": S("m")},
        "2 * (K @ R - (eye(n) - K @ H) @ P @ H.T)",
        lambda K, H, P, R: -2 * (np.eye(N) - K @ H) @ P @ H.T + 2 * K @ R,
    ),
    Row(
        "where(norm(x - y) < d, norm(x - y) ** 2 / 2, d * (norm(x - y) - d / 2))", "x", {"x": "n", "y": "n", "d": ()},
        "where(norm(x - y) < d, x - y, d * unit(x - y))",
        lambda x, y, d: x - y if norm(x - y) < d else d * unit(x - y),
    ),
    Row("sum(log(diagonal(cholesky(S))))", "S", {"S": PD("n")}, "0.5 * inv(S)", lambda S: inv(S) / 2),
    Row(
        "det([[cos(a), -sin(a)], [sin(a), b]])", "a", {"a": (), "b": ()}, "sin(a) * (2 * cos(a) - b)",
        lambda a, b: 2 * np.sin(a) * np.cos(a) - b * np.sin(a),
    ),
    Row(
        "det([[cos(a), -sin(a)], [1, b]])", "a", {"a": (), "b": ()}, "cos(a) - b * sin(a)",
        lambda a, b: np.cos(a) - b * np.sin(a),
    ),
    Row("sum(log(eigvalsh(S)))", "S", {"S": PD("n")}, "inv(S)", lambda S: 1.0 * inv(S)),
    Row("trace(logm((S + S.T) / 2))", "S", {"S": PD("n")}, "inv(S)", lambda S: 1.0 * inv(S)),
    Row("sum(exp(eigvalsh(S)))", "S", {"S": S("n")}, "expm(S)", lambda S: 1.0 * scipy.linalg.expm(S)),
    Row(
        "sum(eigvalsh(S) ** 3)", "S", {"S": S("n")}, "3 * (S @ S)", lambda S: 3 * S @ S,
    ),
    Row(
        "t * trace(funm((S + S.T) / 2, x -> exp(t * x)))", "S", {"S": S("n"), "t": ()},
        "t * funm(S, x -> exp(t * x) * t)",
        lambda S, t: t * t * scipy.linalg.expm(t * S),
    ),
    Row(
        "(x - mean(x)) / std(x)", "x", {"x": "n"},
        "u = unit(x - mean(x))\n(eye(n) - outer(u, u) - 1 / n) / std(x)",
        lambda x: (np.eye(N) - 1 / N - np.outer(x - x.mean(), x - x.mean()) / (N * x.var())) / x.std(),
    ),
    Row("trace(X @ A @ X.T)", "X", {"X": ("m", "n"), "A": ("n", "n")}, "X @ (A + A.T)", lambda X, A: X @ (A + A.T)),
    Row("(x - 1) * exp(x)", "x", {"x": ()}, "x * exp(x)", lambda x: x * np.exp(x)),
    Row("x @ A @ x", "x", {"x": "n", "A": ("n", "n")}, "(A.T + A) @ x", lambda x, A: (A + A.T) @ x),
    Row(
        "(x - s) @ W @ (x - s)", "x", {"x": "n", "s": "n", "W": ("n", "n")}, "(W.T + W) @ (x - s)",
        lambda x, s, W: (W + W.T) @ (x - s),
    ),
    Row(
        "sum(log(1 + exp(X @ w))) - y @ X @ w", "w", {"X": ("m", "n"), "w": "n", "y": "m"},
        "X.T @ (sigmoid(X @ w) - y)", lambda X, w, y: X.T @ (1 / (1 + np.exp(-X @ w)) - y),
    ),
    Row("x ** 2 / (1 + x ** 2)", "x", {"x": ()}, "2 * x / (1 + x ** 2) ** 2", lambda x: 2 * x / (1 + x**2) ** 2),
    Row("log(x / (4 - x))", "x", {"x": ()}, "4 / (x * (4 - x))", lambda x: 4 / (x * (4 - x))),
    Row(
        "(x - mean(x)) / sqrt(var(x) + e)", "x", {"x": 4, "e": POS()},
        "c = x - mean(x)\n(eye(4) - 0.25 - 0.25 * outer(c, c) / (var(x) + e)) / sqrt(var(x) + e)",
        lambda x, e: (np.eye(4) - 1 / 4 - np.outer(x - x.mean(), x - x.mean()) / (4 * (x.var() + e)))
        / np.sqrt(x.var() + e),
    ),
]
IDS = [f"{row.text} {row.wrt} {'invertible' if row.options else ''}" for row in ROWS]


def values(shapes: Mapping[str, Any], seed: int = 0) -> dict[str, Floats]:
    """Return numbers that are what was declared."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, shape in shapes.items():
        facts = getattr(shape, "assumptions", None)
        plain = getattr(shape, "shape", shape)
        sizes = [SIZES.get(s, s) for s in (plain if isinstance(plain, tuple) else (plain,))]
        x = rng.uniform(0.3, 1.5, size=sizes)
        if facts is not None and facts.definite:
            x = x @ x.T + np.eye(len(x))
        elif facts is not None and facts.symmetric:
            x = x + x.T
        found[name] = x
    return found


def computed(node: Node, point: Mapping[str, Floats], inputs: list[Node]) -> Floats:
    return np.asarray(evaluate([node], point, inputs)[0], dtype=float)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_derivatives_are_as_short_as_in_a_book(row: Row) -> None:
    derivative = sd.jacobian(row.text, row.wrt, shapes=row.shapes, **row.options)
    assert str(derivative) == row.shown


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_values_are_those_of_the_book_and_of_differences(row: Row) -> None:
    f = read_formula(row.text, row.shapes, ("shapes",)).value
    inputs = inputs_of([f.node])
    plain = {name: getattr(shape, "shape", shape) for name, shape in row.shapes.items()}
    by_itself = read_formula(row.text, plain, ("shapes",)).value.node
    derivative = sd.jacobian(f, next(sd.Array(n) for n in inputs if n.name == row.wrt), **row.options)
    again = read_formula(str(derivative), row.shapes, ("shapes",)).value
    for seed in range(2):
        point = values(row.shapes, seed)
        got = computed(derivative.node, point, inputs)
        np.testing.assert_allclose(got, row.book(**point), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(computed(again.node, point, inputs), got, rtol=1e-9, atol=1e-10)
        way = np.random.default_rng(seed + 9).normal(size=point[row.wrt].shape)
        if getattr(row.shapes[row.wrt], "assumptions", None) is not None and way.ndim == 2:
            way = way + way.T
        want = np.asarray(directional([by_itself], point, [{row.wrt: way}])[0], dtype=float)
        along = np.tensordot(got, way, axes=way.ndim)
        np.testing.assert_allclose(along, want, rtol=1e-9, atol=1e-10)


# ---------------------------------------------------------------------------- random members of each class


def products(rng: np.random.Generator, pool: list[Node], depth: int) -> Node:
    """Return a random product of square matrices, their transposes and inverses, associated at random."""
    if depth == 0 or rng.random() < 0.2:
        return pool[rng.integers(len(pool))]
    kind = rng.integers(6)
    a = products(rng, pool, depth - 1)
    if kind == 0:
        return swap(a)
    if kind == 1:
        return matrix("inv", a)
    return matmul(a, products(rng, pool, depth - 1))


def scalar_of(rng: np.random.Generator, x: Node) -> Node:
    kind = rng.integers(3)
    if kind == 0:
        return contract([x], [(0, 0)], ())
    if kind == 1:
        return matrix("det", x)
    v = input("v", (N,))
    return contract([v, x, v], [(0,), (0, 1), (1,)], ())


@pytest.mark.parametrize("seed", range(40))
def test_random_products_keep_their_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool = [input("A", (N, N)), input("B", (N, N)), matmul(input("A", (N, N)), swap(input("A", (N, N))))]
    x, y, z = (products(rng, pool, 3) for _ in range(3))
    s, t = scalar_of(rng, x), scalar_of(rng, matmul(y, x))
    roots = [x + y - 2.0 * x + matmul(x, y) + swap(z), s * x + t * x, s + t - scalar_of(rng, swap(x))]
    roots.append(matrix("det", matmul(x, x)))
    point = {name: np.eye(N) + 0.3 * rng.normal(size=(N, N)) for name in "AB"}
    point["v"] = rng.normal(size=N)
    inputs = [input("A", (N, N)), input("B", (N, N)), input("v", (N,))]
    before = evaluate(roots, point, inputs)
    for old, new in zip(before, evaluate(simplify(roots), point, inputs), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-8, atol=1e-8 * max(1.0, float(np.abs(old).max())))


@pytest.mark.parametrize("seed", range(20))
def test_a_number_beside_a_quotient_keeps_its_value(seed: int) -> None:
    """``c - k a / b``, where all of a cancels against b, is a number over b: with its value, nan, and limits."""
    rng = np.random.default_rng(seed)
    x, y = input("x", ()), input("y", ())
    c, k, p, q, r = (float(number) for number in rng.integers(1, 6, size=5))
    minus = bool(rng.integers(2))
    top = p * x + q * y
    bottom = constant(r * k) + (1.0 if minus else -1.0) * (top * k) if rng.integers(2) else r * k + y - top * k
    node = (c - c * k * top / bottom) if minus else (c + c * k * top / bottom)
    if rng.integers(2):
        node = node / (y * y + 1.0)
    (new,) = simplify([node])
    for at in (*rng.normal(size=(5, 2)), (np.nan, 1.0), (1.0, np.nan)):
        point = {"x": np.array(at[0]), "y": np.array(at[1])}
        np.testing.assert_allclose(computed(new, point, [x, y]), computed(node, point, [x, y]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("text", ["1 - x / (1 + x)", "2 + 2 * (x / (3 - x))", "(1 / y) - ((x / (1 + x)) / y)"])
def test_a_number_beside_a_quotient_goes_into_it(text: str) -> None:
    node = read_formula(text, {"x": (), "y": ()}, ("shapes",)).value.node
    (new,) = simplify([node])
    assert len(postorder([new])) < len(postorder([node]))
    assert sum(arg.op == "input" and arg.name == "x" for part in postorder([new]) for arg in part.args) == 1
    far = {"x": np.array(1e300), "y": np.array(2.0)}
    assert abs(float(computed(new, far, [input("x", ()), input("y", ())]))) < 1e-290


def test_a_mean_of_a_few_elements_is_named() -> None:
    """Of four elements the quotient by their count is a factor; half a sum of two stays one."""
    assert str(sd.gradient("mean(x) * y", "y", x=4, y=())) == "mean(x)"
    assert str(sd.gradient("sum(x) * y / 8", "y", x=8, y=())) == "mean(x)"
    assert str(sd.gradient("y * sum(x) / 4", "y", x=8, y=())) == "0.25 * sum(x)"
    assert str(sd.gradient("y * (x @ x) / 2", "y", x=2, y=())) == "0.5 * (x @ x)"


# ---------------------------------------------------------------------------- what must not be cancelled


def test_a_matrix_that_is_inverted_in_vain_stays() -> None:
    """``inv(A) @ A`` raises where A is singular, unless another inverse tells of that, or the reader says otherwise."""
    shapes = {"A": (2, 2), "X": (2, 2)}
    assert "inv(A)" in str(sd.gradient("trace(inv(A) @ A @ X)", "X", shapes=shapes))
    assert str(sd.gradient("trace(inv(A) @ A @ X)", "X", shapes=shapes, invertible=True)) == "eye(2)"
    assert str(sd.gradient("trace(inv(A) @ A @ X)", "X", A=PD(2), X=(2, 2))) == "eye(2)"


def test_determinants_stay_right_at_singular_matrices() -> None:
    X = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [1.0, 0.0, 1.0]])
    for text in ("det(X)", "det(X @ X)", "det(X @ X.T @ X)", "det(X.T @ A @ X)"):
        f = read_formula(text, {"X": (3, 3), "A": (3, 3)}, ("shapes",)).value
        inputs = [input("X", (3, 3)), input("A", (3, 3))]
        point = {"X": X, "A": np.arange(9.0).reshape(3, 3) + np.eye(3)}
        got = computed(sd.gradient(f, sd.Array(inputs[0])).node, point, inputs)
        way = np.random.default_rng(1).normal(size=(3, 3))
        want = np.asarray(directional([f.node], point, [{"X": way}])[0], dtype=float)
        np.testing.assert_allclose((got * way).sum(), want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("sum(p / p)", {"p": [0.0, 1.0]}),
        ("mean(p - mean(p))", {"p": [np.nan, 1.0]}),
        ("sum(p * (p / p))", {"p": [np.nan, 1.0]}),
        ("sum(p - p)", {"p": [np.inf, 1.0]}),
    ],
)
def test_nan_stays(text: str, point: dict[str, list[float]]) -> None:
    node = read_formula(text, {"p": 2}, ("shapes",)).value.node
    (new,) = simplify([node], written=True)
    assert np.isnan(computed(new, {"p": np.array(point["p"])}, inputs_of([node])))


@pytest.mark.parametrize("at", [[0.0, 1.0, 2.0], [np.nan, 1.0, 2.0], [np.inf, 1.0, 2.0]])
@pytest.mark.parametrize("text", ["-sum(p * log(p))", "var(p)", "std(p)", "sum(p * log(p / sum(p)))"])
def test_what_is_left_out_hides_no_nan(text: str, at: list[float]) -> None:
    """Where the derivative as it is derived is nan, the simplified one is not finite, or is the limit."""
    gradient = sd.gradient(text, "p", p=3)
    got = computed(gradient.node, {"p": np.array(at)}, [input("p", (3,))])
    if not np.isfinite(at).all():
        assert not np.isfinite(got).all()
    elif "log" in text:
        assert not np.isfinite(got[0])


# ---------------------------------------------------------------------------- arrays of numbers


@pytest.mark.parametrize(
    ("array", "shown"),
    [
        (np.eye(200), "eye(200)"),
        (2.5 * np.eye(30), "2.5 * eye(30)"),
        (np.zeros((40, 2)), "zeros((40, 2))"),
        (np.ones(300), "ones((300,))"),
        (np.eye(2)[::-1], "[[0, 1], [1, 0]]"),
    ],
)
def test_arrays_of_numbers_are_recognized(array: Floats, shown: str) -> None:
    read = sd.asarray(array)
    assert str(read) == shown
    np.testing.assert_array_equal(evaluate([read.node], {})[0], array)
    again = read_formula(shown, {}, ("shapes",)).value
    np.testing.assert_array_equal(evaluate([again.node], {})[0], array)
