"""Formulas as text, Unicode and LaTeX: tables of forms, and text that means what it was printed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from strategies import Formula, formulas, sample

import symdiff as sd
from symdiff.errors import SymdiffError
from symdiff.frontend.numpy import indexing, linalg, reductions, spectra
from symdiff.frontend.numpy import operations as ops
from symdiff.frontend.numpy import shaping as layout
from symdiff.frontend.text.parse import parse_graph
from symdiff.graph import (
    Node,
    constant,
    contract,
    onehot,
    pad,
    postorder,
    scatter,
    swap,
)
from symdiff.graph import input as variable
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.scalars.functions import apply, compare, where
from symdiff.graph.sizes import named
from symdiff.printing import latex, text, unicode

n = named("n")
A, B, C = variable("A", (3, 3)), variable("B", (3, 3)), variable("C", (n, n))
X, T, Q = variable("X", (2, 4)), variable("T", (2, 3, 4)), variable("Q", (4, 5))
v, w, u, x, y = variable("v", (3,)), variable("w", (3,)), variable("u", (n,)), variable("x"), variable("y")
negative_x = apply("negative", x)

FORMS: list[tuple[Node, str, str]] = [
    # products of matrices
    (ops.matmul(A, B), "A @ B", "A B"),
    (ops.matmul(A, swap(B)), "A @ B.T", "A Bᵀ"),
    (ops.matmul(swap(ops.matmul(A, B)), v), "B.T @ A.T @ v", "Bᵀ Aᵀ v"),
    (ops.matmul(v, A), "A.T @ v", "Aᵀ v"),
    (ops.matmul(v, w), "v @ w", "vᵀ w"),
    (ops.matmul(v, ops.matmul(A, w)), "v @ A @ w", "vᵀ A w"),
    (ops.outer(v, w), "outer(v, w)", "v wᵀ"),
    (ops.trace(A), "trace(A)", "tr(A)"),
    (ops.matmul(T, Q), "T @ Q", "T Q"),
    (ops.matmul(T, variable("q", (4,))), "T @ q", "T q"),
    (contract([A, v, B], [(0, 1), (1,), (1, 2)], (0, 2)), "(A * v) @ B", "A diag(v) B"),
    (contract([A, B], [(0, 1), (0, 1)], ()), "sum(A * B)", "sum(A ⊙ B)"),
    (contract([A, B], [(0, 1), (1, 0)], ()), "sum(A * B.T)", "sum(A ⊙ Bᵀ)"),
    (linalg.kron(A, B), "kron(A, B)", "kron(A, B)"),
    # tensors
    (contract([A, B], [(0, 2), (1, 3)], (0, 1, 2, 3)), "[i, j, k, l] -> A[i, k] * B[j, l]",
     "[i, j, k, l] ↦ A[i, k] B[j, l]"),
    (contract([A, B], [(0, 1), (2, 3)], (0, 1, 2, 3)), "[i, j, k, l] -> A[i, j] * B[k, l]",
     "[i, j, k, l] ↦ A[i, j] B[k, l]"),
    (contract([A, v], [(0, 1), (2,)], (0, 1, 2)), "[i, j, k] -> A[i, j] * v[k]", "[i, j, k] ↦ A[i, j] v[k]"),
    # sums, diagonals, scaling, broadcasting
    (reductions.sum(A, 1), "sum(A, axis=1)", "A 𝟏"),
    (reductions.sum(A, 0), "sum(A, axis=0)", "Aᵀ 𝟏"),
    (reductions.sum(A), "sum(A)", "sum(A)"),
    (reductions.mean(v), "mean(v)", "mean(v)"),
    (reductions.var(v), "var(v)", "var(v)"),
    (reductions.var(A, 1), "var(A, axis=1)", "var(A, axis=1)"),
    (reductions.mean(u), "mean(u)", "mean(u)"),
    (ops.diag(v), "diag(v)", "diag(v)"),
    (ops.diag(A), "diag(A)", "diag(A)"),
    (apply("multiply", A, v), "A * v", "A diag(v)"),
    (apply("multiply", A, layout.expand_dims(v, 1)), "v[:, None] * A", "diag(v) A"),
    (apply("add", A, v), "A + v", "A + 𝟏 vᵀ"),
    (apply("add", A, layout.expand_dims(v, 1)), "A + v[:, None]", "A + v 𝟏ᵀ"),
    (contract([constant(1.0)], [()], (0, 1), {0: 2, 1: 3}), "ones((2, 3))", "𝟏 𝟏ᵀ"),
    (contract([v], [(1,)], (0, 1), {0: 4}), "broadcast_to(v, (4, 3))", "𝟏 vᵀ"),
    (pad(v, ((0, 1, None), (0, 1, 3)), (2, 3)), "outer(eye(2)[0], v)", "e₀ vᵀ"),
    (pad(v, ((1, 1, 3),), (5,)), "pad(v, (1, 1))", "pad(v, (1, 1))"),
    (scatter(v, 0, (0, 2, 0), 4), "eye(4)[[0, 2, 0]].T @ v", "I[[0, 2, 0]]ᵀ v"),
    (onehot(4, 2), "eye(4)[2]", "e₂"),
    # functions of matrices
    (swap(linalg.inv(C)), "inv(C).T", "C⁻ᵀ"),
    (ops.solve(A, v), "solve(A, v)", "A⁻¹ v"),
    (ops.det(A), "det(A)", "det(A)"),
    (ops.adjugate(A), "adjugate(A)", "adj(A)"),
    (spectra.norm(v), "norm(v)", "‖v‖"),
    (reductions.softmax(ops.matmul(X, variable("q", (4,)))), "softmax(X @ q)", "softmax(X q)"),
    (reductions.softmax(A, 0), "softmax(A, axis=0)", "softmax(A, axis=0)"),
    (reductions.logsumexp(A, 1), "logsumexp(A, axis=1)", "logsumexp(A, axis=1)"),
    (ops.tril(A, -1), "tril(A, -1)", "tril(A, -1)"),
    # arithmetic
    (apply("subtract", x, apply("multiply", -2.0, y)), "x + 2 * y", "x + 2 y"),
    (apply("add", negative_x, y), "y - x", "y - x"),
    (apply("subtract", x, apply("subtract", y, x)), "x - y + x", "x - y + x"),
    (apply("divide", 1.0, apply("power", x, 2.0)), "1 / x ** 2", "1 / x²"),
    (apply("multiply", y, apply("power", x, -0.5)), "y / x ** 0.5", "y / √x"),
    (apply("divide", x, apply("multiply", y, y)), "x / (y * y)", "x / (y y)"),
    (apply("power", negative_x, 2.0), "(-x) ** 2", "(-x)²"),
    (apply("negative", apply("power", x, 2.0)), "-x ** 2", "-x²"),
    (apply("power", apply("power", x, 2.0), 3.0), "(x ** 2) ** 3", "(x²)³"),
    (apply("power", x, negative_x), "x ** -x", "x^(-x)"),
    (apply("power", v, 2.0), "v ** 2", "v∘²"),
    (apply("multiply", v, ops.matmul(A, w)), "v * (A @ w)", "v ⊙ A w"),
    (apply("multiply", 1 / 3, x), "1 / 3 * x", "⅓ x"),
    (apply("multiply", 2 * np.pi, x), "2 * pi * x", "2 π x"),
    (constant(np.log(2.0)), "log(2)", "log(2)"),
    (constant(0.1), "0.1", "0.1"),
    (constant(np.arange(4.0).reshape(2, 2)), "[[0, 1], [2, 3]]", "[[0, 1], [2, 3]]"),
    (where(compare("less", x, 0.0), x, y), "where(x < 0, x, y)", "{x if x < 0, else y}"),
    (apply("logical_and", compare("less", x, y), compare("equal", x, y)), "(x < y) & (x == y)", "(x < y) ∧ (x = y)"),
    (apply("mod", x, 2.0), "x % 2", "mod(x, 2)"),
    (apply("abs", x), "abs(x)", "|x|"),
    (apply("sigmoid", x), "sigmoid(x)", "σ(x)"),
    # parts
    (indexing.getitem(A, (slice(None), 0)), "A[:, 0]", "A[:, 0]"),
    (indexing.getitem(v, slice(None, None, -1)), "v[::-1]", "v[::-1]"),
    (indexing.getitem(v, slice(None, None, 2)), "v[::2]", "v[::2]"),
    (indexing.getitem(C, (slice(1, None), -1)), "C[1:, -1]", "C[1:, -1]"),
    (indexing.getitem(C, (slice(None, -2), 0)), "C[:-2, 0]", "C[:-2, 0]"),
    (layout.stack([x, apply("sin", x)]), "[x, sin(x)]", "[x, sin(x)]"),
    (layout.stack([layout.stack([x, y]), layout.stack([y, x])]), "[[x, y], [y, x]]", "[[x, y], [y, x]]"),
    (layout.join([v, w]), "concatenate([v, w])", "concatenate(v, w, axis=0)"),
]


@pytest.mark.parametrize(("node", "as_text", "as_unicode"), FORMS, ids=[form[1] for form in FORMS])
def test_known_forms(node: Node, as_text: str, as_unicode: str) -> None:
    assert text(node) == as_text
    assert unicode(node) == as_unicode


LATEX: list[tuple[Node, str]] = [
    (swap(linalg.inv(A)), r"A^{-\top}"),
    (ops.matmul(A, swap(B)), r"A \, B^{\top}"),
    (apply("divide", apply("sin", x), y), r"\frac{\sin\left(x\right)}{y}"),
    (apply("power", v, 2.0), r"v^{\circ 2}"),
    (apply("sqrt", x), r"\sqrt{x}"),
    (spectra.norm(v), r"\left\lVert v \right\rVert"),
    (indexing.getitem(A, (0, 1)), r"A_{01}"),
    (layout.stack([x, y]), r"\begin{bmatrix}x \\ y\end{bmatrix}"),
    (
        where(compare("less_equal", x, y), x, y),
        r"\begin{cases}x & \text{if } x \le y \\ y & \text{otherwise}\end{cases}",
    ),
    (variable("alpha_1"), r"\alpha_{1}"),
    (variable("loss"), r"\mathrm{loss}"),
    (constant(1e-30), r"1 \cdot 10^{-30}"),
]


@pytest.mark.parametrize(("node", "expected"), LATEX, ids=[form[1] for form in LATEX])
def test_latex_forms(node: Node, expected: str) -> None:
    assert latex(node) == expected


@pytest.mark.parametrize("name", ['x; system("rm")', r"$\input{secret}$", "a\nb", "%", "^~#&_{}", ""])
def test_names_of_any_kind_are_quoted_or_escaped(name: str) -> None:
    node = apply("sin", variable(name))
    assert text(node) == f"sin({name!r})"
    shown = latex(node)
    inside = shown[shown.index(r"\text{") + 6 : -len(r"}\right)")]
    stripped = inside
    for command in (r"\textbackslash{}", r"\textasciitilde{}", r"\textasciicircum{}"):
        stripped = stripped.replace(command, "")
    for sign in "{}$&#_%":
        stripped = stripped.replace("\\" + sign, "")
    assert not set(stripped) & set("\\{}$&#_%~^\n")


# ---------------------------------------------------------------------------- closed forms of derivatives


def _gradient_of_logdet() -> sd.Array:
    a = sd.matrix("A", "n", "n")
    slope: sd.Array = sd.gradient(np.log(np.linalg.det(a)), a)
    return slope


def _row_of_a_product() -> sd.Array:
    data, weights = sd.matrix("X", "m", 3), sd.matrix("W", 5, 3)
    row: sd.Array = sd.jacobian((data @ weights.T)[0], data[0])
    return row


def _factorisation_hessian() -> sd.Array:
    t, a, b = sd.matrix("T", "m", "n"), sd.matrix("U", "m", "k"), sd.matrix("V", "n", "k")
    curvature: sd.Array = sd.hessian(np.sum((t - a @ b.T) ** 2), a)
    return curvature


CLOSED_FORMS: list[tuple[Callable[[], sd.Array], str, str]] = [
    (_gradient_of_logdet, "inv(A).T", "A⁻ᵀ"),
    (_row_of_a_product, "W", "W"),
    (
        _factorisation_hessian,
        "[i, j, l, p] -> 2 * eye(m)[i, l] * (V.T @ V)[j, p]",
        "[i, j, l, p] ↦ 2 δ[i, l] (Vᵀ V)[j, p]",
    ),
]


@pytest.mark.parametrize(("build", "as_text", "as_unicode"), CLOSED_FORMS)
def test_derivatives_read_as_in_a_book(build: Callable[[], sd.Array], as_text: str, as_unicode: str) -> None:
    node = build().node
    assert text(node) == as_text
    assert unicode(node) == as_unicode


# ---------------------------------------------------------------------------- meaning


def _value(node: Node, values: dict[str, np.ndarray]) -> np.ndarray:
    return np.asarray(evaluate([node], values)[0])


def assert_text_means(node: Node, values: dict[str, np.ndarray], shapes: Mapping[str, object]) -> None:
    again = parse_graph(text(node), shapes).result.node
    assert again.shape == node.shape
    np.testing.assert_allclose(
        np.asarray(_value(again, values), float), np.asarray(_value(node, values), float), rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize("node", [form[0] for form in FORMS], ids=[form[1] for form in FORMS])
def test_text_of_known_forms_means_the_same(node: Node) -> None:
    rng = np.random.default_rng(3)
    inputs = [leaf for leaf in postorder([node]) if leaf.op == "input"]
    numbers = [[k if isinstance(k, int) else 4 for k in leaf.shape] for leaf in inputs]
    values = {leaf.payload: rng.uniform(0.2, 1.0, own) for leaf, own in zip(inputs, numbers, strict=True)}
    shapes = {leaf.payload: tuple(k if isinstance(k, int) else str(k) for k in leaf.shape) for leaf in inputs}
    assert_text_means(node, values, shapes)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(formulas())
def test_text_of_random_formulas_means_the_same(formula: Formula) -> None:
    data = sample(formula.inputs, (1,) * len(formula.inputs), 0)
    values = {leaf.payload: array[0] for leaf, array in zip(formula.inputs, data, strict=True)}
    shapes = {leaf.payload: leaf.shape for leaf in formula.inputs}
    for root in formula.roots:
        assume(all(node.op != "adjugate_differential" for node in postorder([root])))  # has no name in text
        try:
            evaluate([root], values)
        except SymdiffError:
            assume(False)
        assert_text_means(root, values, shapes)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(formulas(symbolic=True))
def test_every_formula_has_all_three_forms(formula: Formula) -> None:
    for root in formula.roots:
        for style in (text, unicode, latex):
            shown = style(root)
            assert shown
            assert shown.count("(") == shown.count(")")
