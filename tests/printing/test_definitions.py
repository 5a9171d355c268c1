"""What a formula shares is printed as a definition, and printing takes linear time."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.frontend.numpy import operations as ops
from symdiff.frontend.text.parse import parse_graph
from symdiff.graph import (
    Node,
    constant,
    contract,
    delta,
    label,
    placeholder,
    postorder,
    reshape,
    slicing,
)
from symdiff.graph import input as variable
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.scalars.functions import apply
from symdiff.printing import latex, text, unicode
from symdiff.printing.notation import spelled
from tests.printing.test_printing import A, assert_text_means, n, u, v, w, x
from tests.support.effort import calls


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
