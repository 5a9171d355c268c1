"""Derivatives are shown in forms that are not computed, mean what the kernel computes, and are read back."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from fuzz import sizes
from symdiff.frontend.formula import read_formula
from symdiff.graph import inputs_of, postorder
from symdiff.graph.reference.interpret import evaluate

SHOWN = [
    ("(x**2 - 1) / (x - 1)", "x", "1"),
    ("x**2 / x - y / x", "x", "1 + y / x ** 2"),
    ("sqrt(x*y) / x", "x", "-0.5 * y / (x * sqrt(x * y))"),
    ("sqrt(1 + x**2) / x", "x", "-1 / (sqrt(1 + x ** 2) * x ** 2)"),
    ("lgamma(y + 1/a) - lgamma(1/a) - (y + 1/a) * log1p(a*m) + y * log(a*m)", "m", "(y / m - 1) / (1 + a * m)"),
    ("log(x) - log(1 + x)", "x", "1 / (x * (1 + x))"),
    ("x / (1 + x) - log(1 + x)", "x", "-x / (1 + x) ** 2"),
    ("1 / (1/x + 1/y)", "x", "y ** 2 / (x + y) ** 2"),
    ("(x - 1) * (y - 2) / (x - 1)**2", "x", "(2 - y) / (x - 1) ** 2"),
    ("a / (x - y) - b / (x - y)", "x", "(b - a) / (x - y) ** 2"),
    ("1 / (x * (1 - x))", "x", "(2 * x - 1) / (x * (1 - x)) ** 2"),
    ("exp(-a*t) / (x + y * exp(-a*t))", "x", "-exp(a * t) / (y + x * exp(a * t)) ** 2"),
    ("-log(g * (1 + ((x - m) / g)**2))", "m", "2 * (x - m) / ((x - m) ** 2 + g ** 2)"),
]


@pytest.mark.parametrize(("text", "wrt", "shown"), SHOWN, ids=[text for text, _, _ in SHOWN])
def test_quotients_are_shown_in_lowest_terms(text: str, wrt: str, shown: str) -> None:
    assert str(sd.gradient(text, wrt)) == shown


CLOSED: list[tuple[str, str, dict[str, Any], str]] = [
    ("x**n", "x", {}, "n * x ** (n - 1)"),
    ("x**a * y**b", "x", {}, "a * y ** b * x ** (a - 1)"),
    ("x**x", "x", {}, "x ** x * (1 + log(x))"),
    ("x**n / (k**n + x**n)", "x", {}, "n * x ** (n - 1) * k ** n / (k ** n + x ** n) ** 2"),
    ("log(x**a)", "x", {}, "a / x"),
    ("trace(inv([[x, 1], [1, y]]))", "x", {}, "-(y ** 2 + 1) / (x * y - 1) ** 2"),
    ("[1, 2] @ inv([[x, 1], [1, y]]) @ [1, 2]", "x", {}, "-(y - 2) ** 2 / (x * y - 1) ** 2"),
    ("solve([[x, 1], [1, y]], [1, 2])[0]", "x", {}, "y * (2 - y) / (x * y - 1) ** 2"),
    ("where(x * s <= 0, 1, y**2)", "y", {"x": sd.positive(), "s": sd.positive(), "y": ()}, "2 * y"),
    ("where(exp(x) <= 0, 1, x**2)", "x", {}, "2 * x"),
    ("a * exp(x[0] * x[1])", "x", {"x": 2, "a": ()}, "a * exp(x[0] * x[1]) * [x[1], x[0]]"),
    ("sum(concatenate([[0], [1]]) * x)", "x", {"x": 2}, "[0, 1]"),
]


@pytest.mark.parametrize(("text", "wrt", "shapes", "shown"), CLOSED, ids=[text for text, _, _, _ in CLOSED])
def test_what_is_decided_is_not_shown(text: str, wrt: str, shapes: dict[str, Any], shown: str) -> None:
    assert str(sd.gradient(text, wrt, **shapes)) == shown


def test_a_kernel_keeps_what_is_not_shown() -> None:
    slope = sd.compile(sd.gradient("x**n", "x"))
    assert slope(x=0.0, n=0.0) == 0.0
    assert slope(x=0.0, n=1.0) == 1.0
    rounded = sd.compile(sd.gradient("where(exp(x) <= 0, 1, x**2)", "x"))
    assert rounded(x=-1000.0) == 0.0


def test_conditions_of_ones_own_are_shown() -> None:
    text = "where((x != 0) | (y != 0), x * y / (x**2 + y**2), 0)"
    assert str(sd.gradient(text, "x")).startswith("where((x != 0) | (y != 0), ")


def test_negative_binomial_regression_is_shown_as_in_books() -> None:
    text = "sum(y * (X @ b) - (y + 1/a) * log(1 + a * exp(X @ b)))"
    shown = str(sd.gradient(text, "b", X=("n", "d"), y="n", b="d", a=()))
    assert shown == "X.T @ ((y - exp(X @ b)) / (1 + a * exp(X @ b)))"


@pytest.mark.parametrize("seed", range(40))
def test_small_matrices_are_shown_in_closed_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    entries = [str(rng.choice(["x", "y", "1", "x*y", "exp(x)", "0", "2", "cos(y)"])) for _ in range(4)]
    matrix = f"([[{entries[0]} + 3, {entries[1]}], [{entries[2]}, {entries[3]} + 4]] + 0 * x)"
    form = ["trace(inv({}))", "[x, 1] @ inv({}) @ [1, y]", "solve({}, [x, y])[1]", "det(inv({}))"][seed % 4]
    f = read_formula("x * " + form.format(matrix), {"x": (), "y": ()}, ("shapes",)).value
    leaf = next(node for node in inputs_of([f.node]) if node.name == "x")
    gradient = sd.gradient(f, sd.Array(leaf))
    again = read_formula(str(gradient), {"x": (), "y": ()}, ("shapes",)).value.node
    inputs = inputs_of([gradient.node, again])
    for _ in range(3):
        point = {str(node.name): rng.uniform(0.3, 1.2) for node in inputs}
        (got,), (back,) = (evaluate([node], point, inputs) for node in (gradient.node, again))
        np.testing.assert_allclose(back, got, rtol=1e-10, atol=1e-12)


ATOMS = ("x", "y", "a", "2", "1", "exp(x)", "exp(-x)", "exp(x*y)", "sqrt(x*y)", "log(y)", "sin(x)", "abs(x)", "x**a")


def _random_formula(rng: np.random.Generator, depth: int) -> str:
    """Return sums, products and quotients, some with terms that cancel or are alike."""
    if depth == 0:
        return str(rng.choice(ATOMS))
    one, other = (_random_formula(rng, int(rng.integers(0, depth))) for _ in range(2))
    kind = rng.choice(["+", "-", "*", "/", "cancel", "alike"])
    if kind == "cancel":
        third = _random_formula(rng, 1)
        return f"({one} + ({third}) * ({other}) - ({other}) * ({third}))"
    if kind == "alike":
        return f"(({one}) * ({other}) + 2 * ({one}) - ({one}) * 3)"
    return f"({one}) {kind} ({other})"


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(150))
def test_what_is_shown_is_what_the_kernel_computes(seed: int, order: int) -> None:
    rng = np.random.default_rng(seed)
    text = f"x**3 * ({_random_formula(rng, 4)}) / (y + {_random_formula(rng, 2)})"
    shapes: dict[str, Any] = dict.fromkeys(("x", "y", "a"), ())
    f = read_formula(text, shapes, ("shapes",)).value
    leaf = next(node for node in inputs_of([f.node]) if node.name == "x")
    gradient = sd.gradient(f, sd.Array(leaf)) if order == 1 else sd.hessian(f, sd.Array(leaf))
    again = read_formula(str(gradient), shapes, ("shapes",)).value.node
    for _ in range(5):
        inputs = inputs_of([gradient.node, again])
        point = {str(node.name): rng.uniform(0.3, 2.0) for node in inputs}
        (got,), (back,) = (evaluate([node], point, inputs) for node in (gradient.node, again))
        if np.isfinite(got):
            np.testing.assert_allclose(back, got, rtol=1e-8, atol=1e-8 * max(1.0, abs(float(got))))


def test_exponentials_that_cancel_leave_a_quotient() -> None:
    k = sd.compile(sd.gradient("(a * exp(x) - 2) / (y + exp(x) * z - exp(x) * z)", "x"))
    assert k(a=0.9, x=0.7, y=1.3, z=0.6) == pytest.approx(0.9 * np.exp(0.7) / 1.3, rel=1e-14)


# ---------------------------------------------------------------------------- shown values
# What is printed of a derivative is the derivative: compiled again as text, it has the same values.


def chain(rng: random.Random, n: int) -> list[tuple[str, list[int]]]:
    """Draw a chain of functions that move, join and add up parts of small arrays."""
    made: list[Any] = list(sizes._leaves(n, 1))
    steps: list[tuple[str, list[int]]] = []
    length = rng.randint(1, 4)
    for _ in range(60):
        if len(steps) == length:
            break
        last = len(made) - 1 if rng.random() < 0.8 else rng.randrange(len(made))
        places = [last] if rng.random() < 0.7 else [last, rng.randrange(len(made))]
        name = rng.choice([*(sizes.ONE if len(places) == 1 else sizes.TWO)])
        if any(made[place].ndim <= (name in sizes._OF_MATRICES) for place in places):
            continue
        try:
            value = np.asarray((sizes.ONE.get(name) or sizes.TWO[name])(*[made[place] for place in places]))
        except (IndexError, TypeError, ValueError):
            continue
        if value.ndim <= 2 and 0 < value.size <= 40:
            made.append(value)
            steps.append((name, places))
    return steps or [("tanh", [0])]


def derivatives(formula: sd.Array, wrt: sd.Array) -> list[sd.Array]:
    shown = [formula, sd.gradient((formula * np.cos(formula)).sum(), wrt, disconnected="zero")]
    shown.append(sd.jacobian(formula, wrt, disconnected="zero"))
    if wrt.ndim == 1:
        shown.append(sd.hessian((formula * formula * 0.5).sum(), wrt, disconnected="zero"))
    return shown


def compare(shown: sd.Array, symbols: list[sd.Array], given: list[Any]) -> None:
    shapes = {str(symbol): symbol.shape for symbol in symbols}
    value = sd.compile(shown, inputs=symbols, backend="numpy")(*given)
    again = sd.compile(str(shown), inputs=list(shapes), backend="numpy", **shapes)(*given)
    assert np.shape(again) == np.shape(value), str(shown)
    np.testing.assert_allclose(again, value, rtol=1e-9, atol=1e-11, err_msg=str(shown))


@pytest.mark.parametrize("seed", range(12))
def test_what_is_printed_of_chains_has_their_values(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(12):
        n = rng.choice((3, 4))
        steps = chain(rng, n)
        symbols = [sd.matrix("A", n, n), sd.vector("x", n), sd.vector("y", n)]
        formula = sd.asarray(sizes._value(steps, symbols))
        for shown in derivatives(formula, symbols[rng.randrange(3)]):
            compare(shown, symbols, sizes._leaves(n, rng.randrange(1000)))


def test_numbers_that_terms_have_in_common_are_taken_out_as_often_as_all_have_them() -> None:
    x = sd.vector("x", 4)
    stacked = np.stack([x, x * 0.5, 1 - x])
    squares = stacked @ stacked.T / 4
    shown = sd.gradient((squares * np.cos(squares)).sum(), x)
    assert str(shown).endswith("0.25 * t3[1] - 0.5 * t3[2] + 0.5 * t3[0]")
    compare(shown, [x], [np.array([0.3, 0.5, 0.9, 0.2])])


def test_terms_that_cancel_hide_no_others() -> None:
    y = sd.vector("y", 3)
    centred = y - np.mean(y, axis=0, keepdims=True)
    formula = -centred + centred
    assert str(sd.hessian((formula * formula * 0.5).sum(), y)) == "zeros((3, 3))"


def test_entries_of_a_row_that_is_broadcast_are_no_entries_of_the_whole() -> None:
    y = sd.vector("y", 3)
    padded = np.pad(y[2:], [(1, 2)], constant_values=0.25)
    shown = sd.jacobian(padded - np.mean(padded, axis=0, keepdims=True), y)
    assert str(shown) == "outer(eye(4)[1], eye(3)[2]) + [0, 0, -0.25]"


def test_vectors_on_a_diagonal_that_is_no_square_stay_apart() -> None:
    x = sd.vector("x", 4)
    compare(sd.hessian(np.sqrt(x)[1:] @ np.cos(x[1:]), x), [x], [np.array([0.3, 0.5, 0.9, 0.2])])
    compare(sd.hessian((np.sqrt(x)[1:] * np.cos(x[:-1])).sum(), x), [x], [np.array([0.3, 0.5, 0.9, 0.2])])


def test_a_number_on_a_diagonal_stays_a_vector() -> None:
    x = sd.scalar("x")
    number = sd.gradient(x * x, x)
    assert str(np.diagflat(number, 1)) == "[[0, 2 * x], [0, 0]]"
    assert str(np.diagflat(np.exp(sd.gradient(x, x)), 1)) == "[[0, exp(1)], [0, 0]]"


NUMBERS = [
    ([X := sd.vector("x", 3), Y := sd.scalar("y")], [X @ [1.0, 2, 3], Y], "[[1, 2, 3, 0], [0, 0, 0, 1]]"),
    ([X, Y], [2 * X, 3 * Y], "diag([2, 2, 2, 3])"),
    ([X], [2 * X[:2], X[1:] * [3.0, 4.0]], "[[2, 0, 0], [0, 2, 0], [0, 3, 0], [0, 0, 4]]"),
    ([X], [np.array([[1.0, 2], [3, 4]]) @ X[:2], X[2]], "[[1, 2, 0], [3, 4, 0], [0, 0, 1]]"),
    ([X], [X * np.sqrt(2.0)], "sqrt(2) * eye(3)"),
    ([X, Y], [X * Y], "concatenate([y * eye(3), x[:, None]], axis=1)"),
]


@pytest.mark.parametrize(("wrt", "formulas", "shown"), NUMBERS)
def test_joined_numbers_are_shown_as_such(wrt: list[sd.Array], formulas: list[sd.Array], shown: str) -> None:
    jacobian = sd.jacobian(formulas, wrt)
    assert str(jacobian) == shown
    compare(jacobian, wrt, [np.array([0.3, 0.5, 0.9]), 0.7][: len(wrt)])


def test_numbers_that_a_person_joined_are_shown_as_written() -> None:
    assert str(sd.concatenate([sd.asarray([1.0, 2]), sd.asarray([3.0, 4])])) == "concatenate([[1, 2], [3, 4]])"


# ---------------------------------------------------------------------------- read back
# What is shown of a derivative is text of the same derivative: random formulas, sizes with letters and without.


N, M = 4, 3
LEAVES = {
    "s": "a|b|2.5|x[0]|x[1]",
    "v": "x|y|A[0]|A[:, 1]|diag(A)",
    "Q": "A|B|S|P|eye(n)",
    "R": "R",
    "u": "z|R[:, 0]",
}
#: Formulas by their shape: a number, n, n×n, m×n and m; letters stand for formulas of these.
GRAMMAR = {
    "s": "sum({v})|{v} @ {v}|norm({v})|trace({Q})|sin({s})|{s} * {s}|{s} - {s}|log(1 + {s}**2)|{v} @ {Q} @ {v}|"
    "logsumexp({v})|sum({Q}**2)|mean({v})|var({v})|max({v})|norm({R})|exp(-norm({v})**2)|prod(2 + sin({v}))|"
    "where({s} > 0.3, {s}, {s})|{s} / (2 + {s}**2)|sum({u})|trace(expm(S * {s} / 9) @ {Q})",
    "v": "{v} * {v}|{v} + {v}|{Q} @ {v}|{s} * {v}|softmax({v})|tanh({v})|cumsum({v})|solve(P, {v})|{v}[::-1]|"
    "concatenate([{v}[1:], {v}[:1]])|sum({Q}, axis=0)|diag({Q})|maximum({v}, {v})|{u} @ {R}|sort({v})|"
    "where({v} > 0.2, {v}, {v})|abs({v})|{v} - mean({v})|cumprod(1.5 + sin({v}))|roll({v}, 1)|unit({v})|"
    "pad(diff({v}), (1, 0))|pad(diff({v}, 2), (1, 1))|{v} / (1.5 + {v}**2)|log_softmax({v})",
    "Q": "{Q} @ {Q}|{Q}.T|{Q} * {Q}|outer({v}, {v})|diag({v})|inv(P + {s}**2 * eye(n))|{R}.T @ {R}|{Q} - {Q}|tril({Q})|"
    "{v}[:, None] * {Q}|{s} * {Q}|sin({Q})|solve(P, {Q})|exp(-{Q}**2)|cholesky(P)|matrix_power({Q}, 2)|expm(S / 4)|"
    "sqrtm(P)|logm(P)|softmax({Q}, axis=1)",
    "R": "{R} @ {Q}|outer({u}, {v})|{R} * {R}|{R} + {v}|tanh({R})|{R} * {s}",
    "u": "{R} @ {v}|sum({R}, axis=1)|{u} * {u}|sigmoid({u})|logsumexp({R}, axis=1)|norm({R}, axis=1)|max({R}, axis=1)",
}


def _drawn(rng: np.random.Generator, kind: str, depth: int) -> str:
    if depth == 0:
        return str(rng.choice(LEAVES[kind].split("|")))
    form = str(rng.choice(GRAMMAR[kind].split("|")))
    less = depth - 1 if rng.random() < 0.8 else 0
    return "(" + re.sub(r"\{(\w)\}", lambda found: _drawn(rng, found[1], less), form) + ")"


def _shapes(n: Any, m: Any) -> dict[str, Any]:
    known = {"a": (), "b": (), "x": n, "y": n, "z": m, "A": (n, n), "B": (n, n), "R": (m, n)}
    return {**known, "S": sd.symmetric(n), "P": sd.positive_definite(n)}


def _point(rng: np.random.Generator) -> dict[str, Any]:
    sizes = {"a": (), "b": (), "x": N, "y": N, "z": M, "A": (N, N), "B": (N, N), "R": (M, N), "S": (N, N), "P": (N, N)}
    point: dict[str, Any] = {name: np.asarray(rng.normal(size=size)) for name, size in sizes.items()}
    return {**point, "S": point["S"] + point["S"].T, "P": point["P"] @ point["P"].T + np.eye(N)}


@pytest.mark.parametrize("seed", range(120))
def test_what_is_shown_is_the_same_derivative(seed: int) -> None:
    rng = np.random.default_rng(seed)
    letters = seed % 2 == 0
    kind = str(rng.choice(list("sssvQRu")))
    text = _drawn(rng, kind, int(rng.integers(1, 4))) + (" + x[0]" if letters else " + a")
    if not letters:
        text = text.replace("eye(n)", f"eye({N})")
    shapes = {
        name: shape
        for name, shape in _shapes(*(("n", "m") if letters else (N, M))).items()
        if re.search(rf"(?<![A-Za-z_]){name}(?![A-Za-z_0-9])", text)
    }
    wrt = str(rng.choice(list(shapes)))
    second = kind == "s" and rng.random() < 0.35
    derivative = (sd.hessian if second else sd.jacobian)(text, wrt, shapes=shapes)
    inputs = inputs_of([read_formula(text, shapes, ("shapes",)).value.node])
    again = read_formula(str(derivative), shapes, ("shapes",)).value.node
    for _ in range(2):
        point = {node.name: value for node in inputs for name, value in _point(rng).items() if node.name == name}
        with np.errstate(all="ignore"):
            want, got = evaluate([derivative.node, again], point, inputs)
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("text", ["True", "False", "array_equal(5, x)", "any(zeros(2) > 1)", "inf > 1"])
def test_a_condition_that_is_decided_is_a_formula(text: str) -> None:
    shown = str(read_formula(text, {"x": "n"}).value)
    assert str(read_formula(shown).value) == shown


def _chain(terms: int, seed: int) -> sd.Array:
    """Return a formula of which each line uses lines before it."""
    draw, parts = random.Random(seed), [sd.scalar("x"), sd.scalar("y")]
    for _ in range(terms):
        a, b = draw.choice(parts[-3:]), draw.choice(parts)
        parts.append(sd.sin(a) * b + sd.cos(b) / (2 + a**2))
    return parts[-1]


@pytest.mark.parametrize(("terms", "whole"), [(40, True), (300, False)])
def test_a_formula_too_long_to_be_read_is_summarized(terms: int, whole: bool) -> None:
    slope = sd.gradient(_chain(terms, terms), "x")
    brief, text = str(slope), slope.text()
    back = sd.compile(text, ["x", "y"])
    np.testing.assert_allclose(back(0.3, -0.2), sd.compile(slope, ["x", "y"])(0.3, -0.2), rtol=1e-9)
    if whole:
        assert brief == text
        return
    operations = sum(bool(node.args) for node in postorder([slope.node]))
    assert brief == f"... {operations:,} operations, which .text() shows by definitions"
    assert len(slope._repr_latex_()) < 200 < len(slope.latex())
    with pytest.raises(sd.ParseError, match=r"\.text\(\) has the whole"):
        sd.compile(brief)


def test_an_array_of_numbers_that_comes_again_is_a_definition() -> None:
    x, c = sd.vector("x", 64), np.arange(64) * 0.37 + 0.001
    f = np.exp(x * c) @ np.sin(c + x) + np.cos(x @ c) * (x / c).sum()
    text = str(sd.gradient(f, x))
    assert text.count("0.371") == 1
    back = sd.compile(text, x=64)
    at = np.linspace(-0.5, 0.5, 64)
    np.testing.assert_allclose(back(at), sd.compile(sd.gradient(f, x), "x")(at), rtol=1e-13)
