"""Exponentials, spectra and differences along axes: what is shown, read back, and its value against differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.frontend.formula import read_formula
from symdiff.graph import inputs_of
from symdiff.graph.reference.interpret import evaluate
from symdiff.tools.checking.multiprecision import directional
from tests.support.legible_rows import SIZES, Row

S, PD = sd.symmetric, sd.positive_definite
SQUARE: Mapping[str, Any] = {"X": ("n", "n"), "A": ("n", "n"), "B": ("n", "n"), "t": (), "b": "n", "c": "n", "s": ()}
KNOWN: Mapping[str, Any] = {"A": S("n"), "P": PD("n"), "C": ("n", "n"), "y": (), "s": ()}
TALL: Mapping[str, Any] = {"A": ("m", "n"), "b": "m", "C": ("n", "m"), "c": "n"}
ROWS = [
    Row("sum(pinv(A) * C)", "A", TALL, "((eye(m) - A @ pinv(A)) @ C.T @ pinv(A) - pinv(A).T @ C) @ pinv(A).T"),
    Row("c @ pinv(A) @ b", "b", TALL, "pinv(A).T @ c"),
    Row("c @ pinv(A) @ b", "b", {"A": (2, 4), "b": 2, "c": 4}, "pinv(A).T @ c"),
    Row("trace(pinv(X))", "X", SQUARE, "-pinv(X).T @ pinv(X).T"),
    Row("trace(expm(X))", "X", SQUARE, "expm(X).T"),
    Row("trace(expm(-2*X))", "X", SQUARE, "-2 * expm(-2 * X).T"),
    Row("trace(A @ expm(X))", "X", SQUARE, "expm_differential(X.T, A.T)"),
    Row("trace(expm(X.T @ A @ X))", "X", SQUARE, "A.T @ X @ expm(X.T @ A @ X).T + A @ X @ expm(X.T @ A @ X)"),
    Row("trace(expm(t*X))", "t", SQUARE, "trace(X @ expm(t * X))"),
    Row("c @ expm(t*X) @ b", "t", SQUARE, "c @ X @ expm(t * X) @ b"),
    Row("c @ expm(t*X) @ b", "t", SQUARE, "c @ X @ X @ expm(t * X) @ b", 2),
    Row("expm(t*X) @ b", "t", SQUARE, "X @ expm(t * X) @ b"),
    Row("c @ expm(t*X) @ b", "X", SQUARE, "t * expm_differential(t * X.T, outer(c, b))"),
    Row("c @ expm(t*X) @ b", "b", SQUARE, "expm(t * X).T @ c"),
    Row("log(det(expm(X)))", "X", SQUARE, "eye(n)"),
    Row("det(expm(s*X))", "X", SQUARE, "s * exp(s * trace(X)) * eye(n)"),
    Row("t * trace(A @ B)", "t", SQUARE, "trace(A @ B)"),
    Row("eigvalsh(A)[-1]", "A", KNOWN, "v = simple_eigenvectors(A)[:, -1]\nouter(v, v)"),
    Row("y * eigvalsh(A)[0]", "A", KNOWN, "v = simple_eigenvectors(A)[:, 0]\ny * outer(v, v)"),
    Row("log(eigvalsh(P)[-1])", "P", KNOWN,
        "v = simple_eigenvectors(P)[:, -1]\nouter(v, v) / eigvalsh(P)[-1]"),
    Row("sum(funm(A, x -> sin(s*x)) * C)", "A", KNOWN,
        "0.5 * (funm_differential(A, x -> sin(s * x), C) + funm_differential(A, x -> sin(s * x), C).T)"),
    Row("(1 + norm(x - y)**2 / (2*a*l**2))**(-a)", "a", {"x": "n", "y": "n", "a": sd.positive(), "l": sd.positive()},
        "q = 0.5 * sum((x - y) ** 2) / (a * l ** 2)\n(1 + q) ** -(a + 1) * (q - (1 + q) * log1p(q))"),
    Row("sum(w*x**2)/sum(w) - (sum(w*x)/sum(w))**2", "w", {"w": "n", "x": "n"},
        "q = w @ x / sum(w)\n((x - q) ** 2 + q ** 2 - sum(w * x ** 2) / sum(w)) / sum(w)"),
    Row("sum(w*x**2)/sum(w) - (sum(w*x)/sum(w))**2", "x", {"w": "n", "x": "n"},
        "2 * w * (x - w @ x / sum(w)) / sum(w)"),
    Row("s / (s*sqrt(t))**2", "s", {"s": (), "t": sd.positive()}, "-1 / (t * s ** 2)"),
    Row("sum(diff(X, axis=0)**2)", "X", {"X": ("m", "n")}, "-2 * diff(pad(diff(X, axis=0), ((1, 1), (0, 0))), axis=0)"),
    Row("sum(diff(X, 2, axis=0)**2)", "X", {"X": ("m", "n")},
        "2 * diff(pad(diff(X, 2, axis=0), ((2, 2), (0, 0))), 2, axis=0)"),
    Row("sum((x[2:] - 2*x[1:-1] + x[:-2])**2)", "x", {"x": "m"}, "2 * diff(pad(diff(x, 2), (2, 2)), 2)"),
    Row("sum(exp(x[2:] - 2*x[1:-1] + x[:-2]))", "x", {"x": "m"}, "diff(pad(exp(diff(x, 2)), (2, 2)), 2)"),
    Row("x[2:] - 2*x[1:-1] + x[:-2]", "x", {"x": "m"}, "diff(eye(m), 2).T"),
    Row("4*x[1:-1] - 2*x[2:] - 2*x[:-2]", "x", {"x": "m"}, "-2 * diff(eye(m), 2).T"),
    Row("y @ (X[2:] - 2*X[1:-1] + X[:-2])", "y", {"X": (5, "n"), "y": 3}, "diff(X, 2, axis=0).T"),
]  # fmt: skip


def points(shapes: Mapping[str, Any], seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    found = {}
    for name, shape in shapes.items():
        plain = getattr(shape, "shape", shape)
        x = rng.normal(size=[SIZES.get(n, n) for n in (plain if isinstance(plain, tuple) else (plain,))])
        facts = getattr(shape, "assumptions", None)
        if facts is not None:
            x = abs(x) + 0.1 if facts.positive else x @ x.T + np.eye(len(x)) if facts.definite else x + x.T
        found[name] = x
    return found


def used(shapes: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {name: shape for name, shape in shapes.items() if name in set(filter(str.isidentifier, _words(text)))}


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "_" else " " for c in text).split()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.text} {row.wrt} {row.order}")
def test_what_is_shown_read_back_and_its_value(row: Row) -> None:
    shapes = used(row.shapes, row.text)
    found: Any = read_formula(row.text, shapes, ("shapes",)).value
    leaf = next(node for node in inputs_of([found.node]) if node.name == row.wrt)
    for _ in range(row.order):
        before, found = found, sd.jacobian(found, sd.Array(leaf))
    assert str(found) == row.shown
    again = read_formula(row.shown, shapes, ("shapes",)).value.node
    for seed in range(2):
        point = points(shapes, seed)
        inputs = inputs_of([before.node, found.node, again])
        here = {name: value for name, value in point.items() if name in {node.name for node in inputs}}
        (got,), (back,) = (evaluate([node], here, inputs) for node in (found.node, again))
        np.testing.assert_allclose(back, got, rtol=1e-11, atol=1e-11)
        way = np.random.default_rng(seed + 7).normal(size=point[row.wrt].shape)
        if len(way.shape) < 2 or getattr(shapes[row.wrt], "assumptions", None) is None:
            plain = {name: getattr(shape, "shape", shape) for name, shape in shapes.items()}
            by_itself = before.node if row.order > 1 else read_formula(row.text, plain, ("shapes",)).value.node
            want = np.asarray(directional([by_itself], here, [{row.wrt: way}])[0], dtype=float)
            np.testing.assert_allclose(np.tensordot(got, way, axes=way.ndim), want, rtol=1e-9, atol=1e-9)
            continue
        way, h = way + way.T, 1e-5  # matrices that are declared symmetric have no other neighbours
        far, near = (evaluate([before.node], {**here, row.wrt: here[row.wrt] + s * way}, inputs)[0] for s in (h, -h))
        np.testing.assert_allclose(np.tensordot(got, way, axes=2), (far - near) / (2 * h), rtol=1e-6, atol=1e-7)


def test_a_name_is_given_to_nothing_with_a_letter_of_a_function_in_it() -> None:
    """What holds the x of ``x -> ...`` means nothing outside."""
    text = "sum(funm(A, x -> exp(-x**2 / (1 + s**2)) * sin(x + s) / (1 + exp(-x**2 / (1 + s**2)))) * C)"
    shapes = {"A": S(3), "C": (3, 3), "s": ()}
    for order in (sd.gradient, sd.hessian):
        shown = str(order(text, "A", shapes=shapes))
        point = points(shapes, 1)
        got = sd.compile(shown, shapes=used(shapes, shown))(inputs={k: point[k] for k in used(shapes, shown)})
        np.testing.assert_allclose(got, sd.compile(order(text, "A", shapes=shapes))(inputs=point), rtol=1e-9, atol=1e-9)


def test_exponentials_share_their_work() -> None:
    """A kernel of the value and its slope has one approximant; text gives it as well as symbols do."""
    point = points(used(SQUARE, "X A"), 3)
    both = sd.compile(["trace(A @ expm(X))", "gradient(trace(A @ expm(X)), X)"], shapes=used(SQUARE, "X A"))
    value, slope = both(inputs=point)
    h = 1e-6
    moved = {**point, "X": point["X"] + h * np.eye(3)}
    assert abs((both(inputs=moved)[0] - value) / h - np.trace(slope)) < 1e-3 * abs(value)


@pytest.mark.parametrize("seed", range(12))
def test_random_products_with_exponentials(seed: int) -> None:
    """Gradients by numbers and by matrices of random traces with exponentials, against differences."""
    rng = np.random.default_rng(seed)

    def product(depth: int) -> str:
        kind = rng.integers(5)
        if depth == 0 or kind == 0:
            return str(rng.choice(["X", "A", "X.T", "(A + A.T)"]))
        if kind == 1:
            return f"expm({rng.choice(['', '-', 't*', '0.3*'])}{rng.choice(['X', 'A', 'X.T', '(X + A)', '(X - X.T)'])})"
        if kind == 2:
            return f"({product(depth - 1)} + t*{product(depth - 1)})"
        return f"{product(depth - 1)} @ {product(depth - 1)}"

    text = f"trace({product(2)} @ expm(t*X/2) @ ({product(1)}))"
    shapes: dict[str, Any] = {"X": (2, 2), "A": (2, 2), "t": ()}
    point = {name: 0.4 * value for name, value in points(shapes, seed).items()}
    node = read_formula(text, used(shapes, text), ("shapes",)).value.node
    for wrt in used({"X": (2, 2), "t": ()}, text):
        slope = sd.gradient(text, wrt, shapes=used(shapes, text))
        inputs = inputs_of([node])
        here = {leaf.name: point[leaf.name] for leaf in inputs}
        (got,) = evaluate([slope.node], here, inputs)
        again = read_formula(str(slope), used(shapes, str(slope)), ("shapes",)).value.node
        np.testing.assert_allclose(evaluate([again], here, inputs)[0], got, rtol=1e-9, atol=1e-10)
        way = rng.normal(size=point[wrt].shape)
        want = np.asarray(directional([node], here, [{wrt: way}])[0], dtype=float)
        np.testing.assert_allclose((got * way).sum(), want, rtol=1e-8, atol=1e-9)
