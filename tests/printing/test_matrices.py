"""Matrices as derivatives show them: products as words, and matrices of a few entries, lists and padded arrays."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.frontend.formula import read_formula
from symdiff.frontend.text.parse import parse_graph
from symdiff.graph import Node, inputs_of
from symdiff.graph.reference.interpret import evaluate
from symdiff.printing import text

SHAPES = {"A": (3, 3), "B": (3, 3), "C": (3, 3), "x": (3,), "y": (3,), "s": ()}
MATRICES = ["A", "B", "C", "A.T", "diag(x)", "outer(x, y)", "(A + B)", "(x[:, None] * C)", "(C * y)"]
SCALARS = ["", "2 * ", "s * ", "-3 * ", "-"]


def read(formula: str) -> Node:
    node: Node = read_formula(formula, SHAPES, ("shapes",)).value.node
    return node


def value(node: Node) -> np.ndarray:
    rng = np.random.default_rng(5)
    point = {name: rng.normal(size=shape) for name, shape in SHAPES.items()}
    inputs = inputs_of([node])
    return np.asarray(evaluate([node], {str(x.name): point[str(x.name)] for x in inputs}, inputs)[0])


@pytest.mark.parametrize(("formula", "shown"), [
    ("A @ B + A @ C", "A @ (B + C)"),
    ("B @ A - C @ A", "(B - C) @ A"),
    ("A @ B @ x + A @ C @ x", "A @ (B + C) @ x"),
    ("A @ x + A.T @ x + y", "(A + A.T) @ x + y"),
    ("A - A @ B", "A @ (eye(3) - B)"),
    ("A * x + 2 * A", "A * (x + 2)"),
    ("outer(x, y) + s * outer(x, A @ y) + B", "outer(x, y + s * (A @ y)) + B"),
    ("outer(x - y, x) + outer(y - x, A @ x)", "outer(x - y, x - A @ x)"),
    ("A * x - outer(A @ x, x)", "A @ (diag(x) - outer(x, x))"),
    ("A + A @ B + C", "A + A @ B + C"),
])
def test_what_terms_have_in_common_is_written_once(formula: str, shown: str) -> None:
    assert text(read(formula), derived=True) == shown


@pytest.mark.parametrize("seed", range(150))
def test_random_sums_of_products_keep_their_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    end = rng.choice(["", "x", "(x - y)", "outer"])
    terms = []
    for _ in range(rng.integers(2, 6)):
        chain = " @ ".join(rng.choice(MATRICES, size=rng.integers(1, 4)))
        if end == "outer":
            chain = f"outer({chain} @ {rng.choice(['x', '(x - y)', '(y - x)'])}, {rng.choice(MATRICES)} @ y)"
        elif end:
            chain = f"{chain} @ {end}"
        terms.append(f"{rng.choice(SCALARS)}({chain})")
    node = read(" + ".join(terms))
    shown = text(node, derived=True)
    lines = shown.splitlines()
    again = read("\n".join(lines))
    np.testing.assert_allclose(value(again), value(node), rtol=1e-9, atol=1e-9, err_msg=shown)


# ---------------------------------------------------------------------------- matrices of entries
# Matrices of a few entries, lists and padded arrays, as derivatives show them.


@pytest.mark.parametrize(
    ("formula", "wrt", "shapes", "shown"),
    [
        ("stack([x[0]*x[1], x[1]**2])", "x", {"x": 2}, "[[x[1], x[0]], [0, 2 * x[1]]]"),
        ("stack([a*y[1]*y[2] - y[0], y[0]])", "y", {"a": (), "y": 3}, "[[-1, a * y[2], a * y[1]], [1, 0, 0]]"),
        (
            "gradient((1 - x[0])**2 + 100*(x[1] - x[0]**2)**2, x)",
            "x",
            {"x": 2},
            "[[2 - 400 * x[1] + 1200 * x[0] ** 2, -400 * x[0]], [-400 * x[0], 200]]",
        ),
        ("stack([r*cos(p), r*sin(p)]) * v", "v", {"r": (), "p": (), "v": 2}, "diag([r * cos(p), r * sin(p)])"),
    ],
)
def test_matrices_of_a_few_entries(formula: str, wrt: str, shapes: dict[str, Any], shown: str) -> None:
    assert str(sd.jacobian(formula, wrt, **shapes)) == shown


PARTS: list[Callable[..., Any]] = [
    lambda x, a, i, j: x[i] * x[j],
    lambda x, a, i, j: a * x[i],
    lambda x, a, i, j: np.sin(x[i]),
    lambda x, a, i, j: x[i] ** 2 / x[j],
    lambda x, a, i, j: 3.0 * x[i],
    lambda x, a, i, j: a,
]


@pytest.mark.parametrize("seed", range(12))
def test_entries_are_those_of_the_matrix(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n = (int(size) for size in rng.integers(2, 5, 2))
    kinds, places = rng.integers(0, len(PARTS), (m, 2)), rng.integers(0, n, (m, 2, 2))
    drawn: list[list[Any]] = [[(PARTS[kinds[i, k]], *places[i, k]) for k in range(2)] for i in range(m)]

    def values(x: Any, a: Any) -> list[Any]:
        return [first[0](x, a, *first[1:]) - second[0](x, a, *second[1:]) for first, second in drawn]

    x, a = sd.vector("x", n), sd.scalar("a")
    formula = sd.jacobian(sd.stack([sd.asarray(value) for value in values(x, a)]), x, disconnected="zero")
    point: dict[str, Any] = {"x": rng.uniform(0.5, 2.0, n), "a": 0.7}
    got = sd.compile(formula, [x, a], backend="interpreter")(**point)
    text = f"{formula} + 0 * outer([{', '.join('a' * m)}], x)"  # which has both inputs
    again = sd.compile(text, x=n, a=(), backend="interpreter")(**point)
    np.testing.assert_allclose(again, got, rtol=1e-14)
    moved = point["x"] + 1e-30j * np.eye(n)
    want = np.stack([np.array(values(row, 0.7)).imag / 1e-30 for row in moved], 1)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


def _chain(joints: int) -> tuple[sd.Array, Any]:
    """Return the pose of a chain of joints, as robots have it: products of matrices of sines, cosines and numbers."""
    q: Any = sd.vector("q", joints)
    pose: Any = np.eye(3)
    for k in range(joints):
        c, s = np.cos(q[k]), np.sin(q[k])
        pose = pose @ sd.array([[c, -0.5 * s, 0.25 * c], [s, c, 0.0 * s], [0, 0, 1]])
    return pose, q


def test_matrices_of_formulas_and_numbers_are_written_by_entries() -> None:
    pose, _ = _chain(1)
    rows = "[[cos(q[0]), -0.5 * sin(q[0]), 0.25 * cos(q[0])], [sin(q[0]), cos(q[0]), 0 * sin(q[0])], [0, 0, 1]]"
    assert str(pose) == f"eye(3) @ {rows}"
    first = "[cos(q[0]), -½ sin(q[0]), ¼ cos(q[0])]"
    assert pose.unicode() == f"I [{first}, [sin(q[0]), cos(q[0]), 0 sin(q[0])], [0, 0, 1]]"
    assert r"\begin{bmatrix}" in pose.latex()
    assert "stack" not in pose.latex()


@pytest.mark.rows(1)
@pytest.mark.parametrize("joints", [1, 2, 3])
def test_derivatives_of_chains_show_matrices_and_read_back(joints: int) -> None:
    pose, q = _chain(joints)
    at = np.linspace(0.3, 1.1, joints)
    tip = pose[:2, 2]
    results: list[Any] = [pose, tip, sd.jacobian(tip, q), sd.jacobian(pose, q), sd.hessian(tip[0], q)]
    for result in results:
        shown = str(result)
        assert not re.search(r"(?<![\w\]])\[[-\d.]+\]\[0\]", shown)  # [0.5][0] is 0.5
        again = sd.compile(shown, q=joints, backend="numpy")
        assert np.allclose(again(at), sd.compile(result, [q], backend="numpy")(at), rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (lambda x: np.concatenate([np.stack([x[0], x[1]]), [1.0, 2.0]]), "[x[0], x[1], 1, 2]"),
        (lambda x: np.stack([x[0], x[1]])[1], "x[1]"),
        (lambda x: np.stack([x, np.ones(3)])[:, 1], "[x[1], 1]"),
        (lambda x: np.stack([x, 2 * x, np.zeros(3)])[::2, 0], "[x[0], 0]"),
        (lambda x: np.stack([x, np.ones(3)], axis=1)[2], "[x[2], 1]"),
        (lambda x: np.concatenate([x, [1.0, 2.0]]), "concatenate([x, [1, 2]])"),
        (lambda x: np.concatenate([x[None], np.ones((1, 3)), np.eye(3)[:2]]), "[x, ones((3,)), [1, 0, 0], [0, 1, 0]]"),
        (lambda x: np.concatenate([np.zeros((9, 3)), x[None]]), "concatenate([zeros((9, 3)), x[None, :]])"),
    ],
)
def test_lists_are_joined_and_their_parts_taken(make: Any, shown: str) -> None:
    x = sd.vector("x", 3)
    made = make(x)
    assert str(made) == shown
    at = np.array([0.5, 2.0, -1.0])
    assert np.array_equal(sd.compile(shown, x=3, backend="numpy")(at), make(at))


@pytest.mark.parametrize(
    ("text", "wrt", "shown", "book"),
    [
        ("solve(A, b) @ x", "A", "-outer(solve(A.T, x), solve(A, b))", "-(A⁻ᵀ x) (A⁻¹ b)ᵀ"),
        (
            "y @ solve(t * A + eye(n), y)",
            "t",
            "-y @ solve(t * A + eye(n), A @ solve(t * A + eye(n), y))",
            "-yᵀ ((t A + I)⁻¹ A ((t A + I)⁻¹ y))",
        ),
        ("sum(solve(A, b)**2)", "A", "-2 * outer(solve(A.T, solve(A, b)), solve(A, b))", "-2 (A⁻ᵀ (A⁻¹ b)) (A⁻¹ b)ᵀ"),
        ("A @ solve(A, -(A @ b))", None, "A @ solve(A, -A @ b)", None),
    ],
)
def test_solutions_for_vectors_are_vectors(text: str, wrt: str | None, shown: str, book: str | None) -> None:
    shapes: Any = {"A": ("n", "n"), "b": "n", "x": "n", "y": "n", "t": ()}
    shapes = {name: shape for name, shape in shapes.items() if re.search(rf"\b{name}\b", text)}
    result: Any = sd.gradient(text, wrt, shapes=shapes) if wrt else parse_graph(text, shapes).result
    assert str(result) == shown
    assert book is None or result.unicode() == book
    rng = np.random.default_rng(3)
    at = {"A": rng.normal(size=(3, 3)) + 3 * np.eye(3), "b": rng.normal(size=3), "x": rng.normal(size=3)}
    at |= {"y": rng.normal(size=3), "t": np.array(0.4)}
    own = sd.compile(result, backend="numpy")
    again = sd.compile(str(result), shapes=shapes, backend="numpy")
    given = {p.name: at[p.name] for p in own.inputs}
    assert np.allclose(again(inputs={name: at[name] for name in shapes}), own(inputs=given), rtol=1e-13)


def test_padded_arrays_of_numbers_beside_each_other_are_shown() -> None:
    B = sd.matrix("B", 3, 3)
    rolled = np.roll(B / sd.logsumexp(1 + B * B, axis=0, keepdims=True), 1, axis=0)
    weights = np.arange(9.0).reshape(3, 3)
    shown = str(sd.gradient((rolled * weights).sum(), B))
    at = np.linspace(-1, 1, 9).reshape(3, 3)
    again = sd.compile(shown, B=(3, 3))(at)
    np.testing.assert_allclose(again, sd.compile(sd.gradient((rolled * weights).sum(), B))(at), rtol=1e-12)


def test_a_vector_repeated_in_a_sum_of_matrices_is_no_matrix() -> None:
    q, h = sd.vector("q", 4), sd.vector("h", 3)
    slope = sd.gradient(np.sum(np.interp(q, [0.0, 1.0, 3.0], h) ** 2), q)
    at = np.array([-0.5, 0.3, 2.0, 4.0]), np.array([1.0, -2.0, 5.0])
    read = sd.compile(str(slope), q=4, h=3)
    np.testing.assert_allclose(read(*at), sd.compile(slope, [q, h])(*at), rtol=1e-14)


@pytest.mark.parametrize(
    ("formula", "shapes", "latex", "unicode"),
    [
        ("sum((x - y)**2)", {"x": "n", "y": "n"}, r"\left\lVert x - y \right\rVert^{2}", "‖x - y‖²"),
        ("exp(-sum(A**2))", {"A": (2, 3)}, r"\exp\left(-\left\lVert A \right\rVert^{2}\right)", "exp(-‖A‖²)"),
        ("sum(A**2, axis=0)", {"A": (2, 3)}, r"\left(A^{\circ 2}\right)^{\top} \, \mathbf{1}", "(A∘²)ᵀ 𝟏"),
        ("sum(x**3)", {"x": "n"}, r"\operatorname{sum}\left(x^{\circ 3}\right)", "sum(x∘³)"),
    ],
)
def test_sums_of_squares_are_set_as_norms(formula: str, shapes: dict[str, Any], latex: str, unicode: str) -> None:
    read = parse_graph(formula, shapes).result
    assert (read.latex(), read.unicode()) == (latex, unicode)
    assert str(read) == formula.replace("**", " ** ")


def test_a_vector_for_every_row_is_not_turned_over_alone() -> None:
    rng = np.random.default_rng(3)
    B, C = rng.uniform(0.2, 1.4, (2, 3, 3))
    slope = sd.gradient("sum((inv(C @ C.T) - mean(B, axis=0))**2)", "C", B=(3, 3), C=(3, 3))
    shown = sd.compile(str(slope), ["B", "C"], B=(3, 3), C=(3, 3))
    np.testing.assert_allclose(shown(B, C), sd.compile(slope, ["B", "C"])(B, C), rtol=1e-9)
