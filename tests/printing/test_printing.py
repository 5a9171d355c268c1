"""Formulas as text, Unicode and LaTeX: tables of forms, definitions of what is shared, and text read back."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

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
    delta,
    label,
    onehot,
    pad,
    placeholder,
    postorder,
    reshape,
    scatter,
    slicing,
    swap,
)
from symdiff.graph import input as variable
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.scalars.functions import apply, compare, where
from symdiff.graph.sizes import named
from symdiff.printing import latex, text, unicode
from symdiff.printing.notation import spelled
from tests.support.effort import calls
from tests.support.strategies import Formula, formulas, sample

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


# ---------------------------------------------------------------------------- definitions
# What a formula shares is printed as a definition, and printing takes linear time.


def _constant(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(["0", "2", "-1", "1e200", "radians(0)", "radians(1e308)", "degrees(1e305)", "negative(3)"])
    a, b = _constant(rng, depth - 1), _constant(rng, depth - 1)
    call = rng.choice(["add", "subtract", "multiply", "divide", "mod", "floor_divide", "power"])
    return f"{call}({a}, {b})"


@pytest.mark.parametrize("seed", range(60))
def test_arithmetic_of_constants_is_read_again_whatever_it_comes_to(seed: int) -> None:
    rng = random.Random(seed)
    form = rng.choice(["{a}", "{a} * x", "x / {a}", "{a} + x - {b}", "{a} / ({b} * x)", "-{a} % {b}", "x * {a} * {b}"])
    written = form.format(a=_constant(rng, 2), b=_constant(rng, 2))
    shapes = {"x": ()} if "x " in f"{written} ".replace(")", " ") else {}
    formula = parse_graph(written, shapes).result
    again = parse_graph(str(formula), shapes).result
    at = {"x": 0.7} if shapes else {}
    values = (evaluate([one.node], at)[0] for one in (again, formula))
    np.testing.assert_allclose(*values, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize(
    "written", ["(w * y)[[1, 0]]", "(w / y)[[0, 1]]", "-(y * w)[[1, 1]]", "(w * x * y)[[0, 1]]", "(w - y)[[0, 1]]"]
)
def test_a_vector_of_one_element_is_taken_from_as_it_is(written: str) -> None:
    shapes = {"w": 2, "y": 1, "x": ()}
    formula = parse_graph(written, {name: shapes[name] for name in shapes if name in written}).result
    again = parse_graph(str(formula), {name: shapes[name] for name in shapes if name in written}).result
    at = {"w": [2.0, 3.0], "y": [5.0], "x": 7.0}
    np.testing.assert_array_equal(*(evaluate([one.node], at)[0] for one in (formula, again)))


def test_what_is_shared_is_defined_once() -> None:
    gate = apply("sigmoid", apply("add", ops.matmul(v, w), x))
    node = gate
    for factor in range(2, 9):
        node = apply("multiply", apply("sin", apply("add", node, gate)), float(factor))
    lines = text(node).split("\n")
    assert lines[0] == "t1 = sigmoid(v @ w + x)"
    assert "sigmoid" not in "".join(lines[1:])


def test_definitions_avoid_the_names_of_inputs() -> None:
    node = variable("t1")
    for _ in range(90):
        node = apply("sin", node)
    assert text(node).startswith("t2 = ")
    assert_text_means(node, {"t1": np.array(0.5)}, {"t1": ()})


def test_a_named_formula_is_a_definition() -> None:
    z = label(ops.matmul(A, v), "z")
    assert text(apply("multiply", z, z)) == "z = A @ v\nz * z"
    assert text(z) == "z = A @ v\nz"
    assert latex(apply("sin", z)).startswith(r"\begin{aligned}z &= A \, v")


def test_constants_yield_to_inputs_of_their_name() -> None:
    assert text(apply("multiply", np.pi, x)) == "pi * x"
    assert text(apply("multiply", np.pi, variable("pi"))) == f"{np.pi!r} * pi"


def test_placeholders_of_rules_are_printable() -> None:
    assert text(apply("sin", placeholder(0, ()))) == "sin(_0)"


def _deep(count: int) -> Node:
    node = x
    for k in range(count):
        node = apply("sin", node) if k % 2 else apply("add", node, apply("multiply", node, 2.0))
    return node


def _wide(count: int) -> Node:
    node = x
    for k in range(count):
        node = apply("add", node, apply("multiply", float(k), x))
    return node


@pytest.mark.counted
@pytest.mark.parametrize("build", [_deep, _wide])
@pytest.mark.parametrize("style", [text, unicode, latex])
def test_a_large_formula_is_printed_in_linear_time(build: Callable[[int], Node], style: Callable[[Node], str]) -> None:
    few, short = calls(style, build(1_000))
    many, long = calls(style, build(8_000))
    assert len(long) < 12 * len(short)
    assert many < 10 * few


def test_repeated_squaring_does_not_explode() -> None:
    node = A
    for _ in range(60):
        node = ops.matmul(node, node)
    assert len(text(node)) < 1_000
    assert len(latex(node)) < 2_000


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1 / 3, (1, "", 3)),
        (2 * np.pi, (2, "pi", 1)),
        (np.log(10.0), (1, "log(10)", 1)),
        (2 / np.sqrt(np.pi), (2, "/sqrt(pi)", 1)),
        (float("nan"), (0, "", 0)),
        (-0.0, (0, "", 0)),
        (0.1234567890123, (0, "", 0)),
    ],
)
def test_numbers_are_spelled_only_when_exact(value: float, expected: tuple[int, str, int]) -> None:
    assert spelled(value) == expected


def test_identity_is_delta_in_tensor_products_only() -> None:
    assert unicode(apply("subtract", A, delta(3, 3))) == "A - I"
    assert unicode(contract([delta(3, 3), A], [(0, 2), (1, 3)], (0, 1, 2, 3))) == "[i, j, k, l] ↦ δ[i, k] A[j, l]"


def test_a_fraction_bar_needs_no_parentheses() -> None:
    x, y = apply("add", variable("x"), constant(1.0)), variable("y")
    assert latex(apply("divide", x, y)) == r"\frac{x + 1}{y}"
    assert unicode(apply("divide", x, y)) == "(x + 1) / y"


@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        ((3, 3), "eye(3)"),
        ((3, 5, 2), "eye(5)[2:]"),
        ((3, 1), "eye(3, 1)"),
        ((3, 2, -1), "eye(3, 2, -1)"),
        ((2, 3, 2), "eye(2, 3, 2)"),
        ((3, 3, 4, -2), "eye(5, 3)[::-2]"),
        ((3, 5, 4, -2), "eye(5)[::-2]"),
        ((3, 5, 0, 3), "eye(7, 5)[::3]"),
        ((2, 5, -1, 3), "eye(4, 5, -1)[::3]"),
        ((n - 1, n, 1), "eye(n)[1:]"),
    ],
    ids=str,
)
def test_deltas_are_written_as_what_they_are(payload: tuple[Any, ...], shown: str) -> None:
    node = delta(*payload)
    assert text(node) == shown
    again = parse_graph(f"{shown} + 0 * u[0]", {"u": ("n",)}).result.node
    for size in (2, 5):
        point = {"u": np.ones(size)}
        np.testing.assert_array_equal(evaluate([again], point)[0], evaluate([node], point, [u])[0])


def test_what_has_one_column_or_one_row_is_not_square() -> None:
    z = variable("z", (3, 1))
    column = reshape(contract([v, w], [(0,), (0,)], (0,)), (3, 1))
    rectangle = contract([delta(1, 2), slicing(v, ((0, 1, 1),))], [(0, 1), (0,)], (1, 0))
    point = {"v": np.array([2.0, 3.0, 5.0]), "w": np.array([7.0, 11.0, 13.0]), "z": np.array([[1.0], [2.0], [4.0]])}
    stack = contract([v, v, delta(3, 3)], [(0,), (1,), (2, 1)], (0, 1, 2))
    diagonal = contract([apply("exp", stack), w], [(0, 1, 1), (1,)], (0, 1))
    for node in (apply("multiply", z, column), rectangle, diagonal):
        again = parse_graph(text(node), {"v": 3, "w": 3, "z": (3, 1)}).result.node
        np.testing.assert_array_equal(evaluate([again], point)[0], evaluate([node], point)[0])


@pytest.mark.parametrize("text", ["[x][1:]", "[[x][1:]] + x", "[[x, x]][1:]", "sin([x])[:0] * [[x]]"])
def test_an_array_without_elements_is_shown_as_one(text: str) -> None:
    made = sd.asarray(parse_graph(text, {"x": ()}).result)
    assert made.size == 0
    assert parse_graph(str(made), {"x": ()}).result.shape == made.shape


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("arange(0)", "zeros((0,))"),
        ("sum(arange(0)) + w", "sum(zeros((0,))) + w"),
        ("solve(M, 2*ones(1))", "solve(M, [[2]])[:, 0]"),
        ("solve(M, w[:1])", "solve(M, w[:1])"),
        ("where(True, w, 0)", None),
        ("where([True, False, True], w, 0)", None),
        ("ediff1d(w, to_begin=True)", None),
        ("tensorsolve(M, 3)", None),
        ("correlate(u, u)", None),
    ],
)
def test_short_arrays_are_printed_with_their_shape(written: str, shown: str | None) -> None:
    shapes: dict[str, Any] = {"w": 3, "M": (1, 1), "u": ("n",)}
    made = parse_graph(written, shapes).result
    assert shown is None or str(made) == shown
    again = parse_graph(str(made), shapes).result
    assert again.shape == made.shape
    point: dict[str, Any] = {"w": np.arange(3.0), "M": np.array([[4.0]]), "u": np.arange(3.0)}
    values = [np.asarray(evaluate([array.node], point)[0], float) for array in (again, made)]
    np.testing.assert_allclose(*values, rtol=1e-15)


@pytest.mark.parametrize(
    "written",
    [
        "sum(arctan(cos(erf(A))))",
        "sum(cos(erf(A))) / sqrt(pi) * 2 / sqrt(pi)",
        "sum(erf(erf(A)) * erf(A))",
        "sum(arctan(cos(erf(maximum(A, 0.2*A)))))",
        "sum(sin(A - mean(A)) / std(A) / std(A))",
        "sum(erfc(A)**3)",
        "sum(1 / sqrt(pi) * exp(-A) * erf(A) / sqrt(pi))",
    ],
)
def test_equal_numbers_in_products_are_shown_as_often_as_they_are_there(written: str) -> None:
    at = np.array([[0.3, -0.5], [0.7, 1.2]])
    for derivative in (sd.gradient(written, "A", A=(2, 2)), sd.hessian(written, "A", A=(2, 2))):
        again = sd.compile(str(derivative), A=(2, 2), backend="numpy")
        np.testing.assert_allclose(again(at), sd.compile(derivative, backend="numpy")(at), rtol=1e-9, atol=1e-12)


def test_standard_deviations_are_read_once() -> None:
    x = variable("x", (3,))
    centre = apply("subtract", x, apply("multiply", 1 / 3, contract([x], [(0,)], (), {})))
    length = apply("sqrt", contract([centre, centre], [(0,), (0,)], (), {}))
    for node in (3.0**0.5 / length / length, 3.0**0.5 * apply("exp", length) * 3.0**0.5 / length):
        again = parse_graph(text(node, derived=True), {"x": 3}).result.node
        at = {"x": np.array([0.2, 0.9, 0.4])}
        np.testing.assert_allclose(evaluate([again], at)[0], evaluate([node], at)[0], rtol=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_signs_and_factors_of_remainders_are_read_again(seed: int) -> None:
    rng = random.Random(seed)
    part = rng.choice(["x % 1.7", "x % y", "x % 2 % y", "-x % y", "y // x", "abs(x) % 3"])
    forms = ["-({0})", "-({0}) * y", "-({0}) / y", "-(({0}) / 2)", "({0}) * y % 3", "y - ({0}) / x", "-(-({0}))"]
    forms += ["2 / ({0}) * x", "-({0}) ** 2", "-({0}) * (x % 3) / y", "({0}) % ({0} + 1)"]
    written = rng.choice(forms).format(part)
    shapes = {"x": (), "y": ()}
    own = parse_graph(written, {name: () for name in shapes if name in written}).result
    shown = [own, *(sd.gradient(own * sd.scalar("z"), name) for name in ("x", "z") if name in f"{written} z")]
    for formula in shown:
        names = [leaf.payload for leaf in postorder([formula.node]) if leaf.op == "input"]
        again = parse_graph(str(formula), dict.fromkeys(names, ())).result
        for first, second in ((3.3, -1.2), (-0.4, 2.6)):
            at = {"x": first, "y": second, "z": 0.7}
            got, want = (float(evaluate([one.node], {name: at[name] for name in names})[0]) for one in (again, formula))
            assert got == pytest.approx(want, nan_ok=True), str(formula)
